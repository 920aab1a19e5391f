/*
 * story.h - what `wavetap run` ends with: about ten lines on where the SM-time of a run went. The
 * figures are those of `top`, `ledger` and `diagnose` for the same window.
 *
 * The shell waits for them: what reads every launch may take a second (three where the machine is busy with
 * other things); what is not known by then is left
 * out, and said to be so, with the command that takes its time. Before it steps are looked for, of up to
 * WT_SELECT_STEADY_LAUNCHES_MAX kernels, and rows are read from the file's sums, or of these kernels.
 *
 * Single-threaded; blocks on the file and as the FILE does.
 */
#ifndef WT_CLI_STORY_H
#define WT_CLI_STORY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/diagnose.h"
#include "cli/ledger.h"
#include "cli/report.h"
#include "cli/run_file.h"
#include "cli/select.h"
#include "cli/text.h"

struct wt_story {
	const struct wt_run_file *run;
	const char *word; /* what names the run in a later command, quoted for a shell */
	int64_t limit_ns; /* of what reads every launch; begun at, CLOCK_MONOTONIC: */
	int64_t started_ns, started_cpu_ns;
	struct wt_select select;
	struct wt_report report;
	bool has_ledger; /* false: as `report` has it, gaps without causes */
	struct wt_ledger ledger;
	double *sampled_shares; /* SM activity of each device of the ledger; NULL: not known of all */
	int64_t killed; /* processes */
	bool is_late; /* time was up before the findings were known */
	char problem[200]; /* why they are not known; "": no reason but that */
	struct wt_diagnosis *diagnosis; /* NULL: not known */
};

/* WAVETAP_SUMMARY_MS, else a second. */
int64_t wt_story_limit_ns(void);

/* Loads. 0 or -errno, as wt_report_load(). Free with wt_story_fini() in either case. */
int wt_story_load(const struct wt_run_file *run, const char *word, int64_t limit_ns,
                  struct wt_story *story);
void wt_story_fini(struct wt_story *story);

/* Both: report.row_count is not 0. */
void wt_story_print(FILE *out, const struct wt_text_terminal *terminal,
                    const struct wt_story *story);
/* The last one: what to type to know more. */
void wt_story_print_next(FILE *out, const struct wt_text_terminal *terminal,
                         const struct wt_story *story);

#endif /* WT_CLI_STORY_H */
