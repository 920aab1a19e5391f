/*
 * ledger_lines.h - the lines of a device's ledger, in the order in which they are shown, and the
 * parts of the output that `ledger` and `gaps` share.
 */
#ifndef WT_CLI_LEDGER_LINES_H
#define WT_CLI_LEDGER_LINES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/json.h"
#include "cli/ledger.h"
#include "cli/phrase.h"
#include "cli/report.h"
#include "cli/run_file.h"
#include "cli/table.h"
#include "cli/text.h"

/* Columns of a table with the SM-time of each cause, for programs; in the order of wt_gap_cause. */
#define WT_GAP_CAUSE_COLUMN(name)                                                                  \
	{                                                                                          \
#name "_sm_ns", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0                         \
	}
#define WT_GAP_CAUSE_COLUMNS                                                                       \
	WT_GAP_CAUSE_COLUMN(copy), WT_GAP_CAUSE_COLUMN(graph), WT_GAP_CAUSE_COLUMN(load),          \
	        WT_GAP_CAUSE_COLUMN(profiler), WT_GAP_CAUSE_COLUMN(sync),                          \
	        WT_GAP_CAUSE_COLUMN(alloc), WT_GAP_CAUSE_COLUMN(host),                             \
	        WT_GAP_CAUSE_COLUMN(launch), WT_GAP_CAUSE_COLUMN(dependency),                      \
	        WT_GAP_CAUSE_COLUMN(turnaround), WT_GAP_CAUSE_COLUMN(unknown),                     \
	        WT_GAP_CAUSE_COLUMN(undecided), WT_GAP_CAUSE_COLUMN(startup),                      \
	        WT_GAP_CAUSE_COLUMN(after)
_Static_assert(WT_GAP_CAUSE_MAX == 14 && WT_GAP_COPY == 0 && WT_GAP_HOST == 6 &&
                       WT_GAP_UNKNOWN == 10 && WT_GAP_AFTER == 13,
               "a column for each cause, in order");

struct wt_ledger_line {
	const char *name; /* "active", "gaps" */
	const char *key; /* in JSON: "active_sm_ns"; NULL: made of others (gaps) */
	const char *meaning;
	int64_t sm_ns;
	int64_t max_sm_ns; /* the greatest it can be, or -1 */
	const char *reason; /* why it is unknown; NULL: sm_ns is known */
	bool is_part; /* of a line above: not in the sum again */
	int64_t parts_sm_ns[WT_EVIDENCE_MAX]; /* what of it is sampled, and profiled */
};

/* Room for every line: terms, causes, residual and total. */
#define WT_LEDGER_LINES_MAX (16 + WT_GAP_CAUSE_MAX)

/* SM-time of kernels of a device that a measurement stands for, by evidence; and all of it. */
int64_t wt_ledger_measured(const struct wt_ledger_device *device,
                           int64_t ret_parts_sm_ns[WT_EVIDENCE_MAX]);

/* "evidence: sampled 97 %, else model", for a first line; of all devices. */
void wt_ledger_add_evidence(struct wt_phrase *line, const struct wt_ledger *ledger);

/* The lines of a device, causes of gaps without time left out. Their number. */
size_t wt_ledger_lines(const struct wt_ledger_device *device,
                       struct wt_ledger_line lines[WT_LEDGER_LINES_MAX]);

/* "the program had not asked yet": static text for people. */
const char *wt_gap_cause_meaning(enum wt_gap_cause cause);

/* The first line(s) of text: run, devices, window, evidence. */
void wt_ledger_print_run(FILE *out, const struct wt_text_terminal *terminal,
                         const struct wt_run_file *run, const struct wt_ledger *ledger);

/* The last ones: clock error, what was refused and lost. */
void wt_ledger_print_losses(FILE *out, const struct wt_text_terminal *terminal,
                            const struct wt_ledger *ledger, const struct wt_report *losses);

/* Its line, without the losses one by one. */
void wt_ledger_say_losses(struct wt_phrase *line, const struct wt_ledger *ledger,
                          const struct wt_report *losses);

/* Members of the envelope up to `loss` and `incomplete`. */
void wt_ledger_json_head(struct wt_json *json, const struct wt_run_file *run,
                         const struct wt_ledger *ledger, const struct wt_report *losses);

/*
 * Opens the run, applies the selection (wt_select_apply_devices), loads ledger and losses, says what is
 * wrong or missing. An enum wt_exit; the caller closes everything with wt_ledger_close, whatever
 * came back, and frees the selection after that.
 */
struct wt_ledger_view {
	struct wt_run_file run;
	struct wt_ledger ledger;
	struct wt_report losses;
	bool is_open;
	bool takes_samples; /* set before: goes on where ledger.is_samples_alone */
};
int wt_ledger_open(const char *spec, struct wt_select *select, struct wt_ledger_view *view);

/* The same for the lines of devices alone: wt_ledger_load_devices(). */
int wt_ledger_open_devices(const char *spec, struct wt_select *select, struct wt_ledger_view *view);

/* The same with the ledger in buckets: wt_ledger_load_buckets(). */
int wt_ledger_open_buckets(const char *spec, struct wt_select *select, int64_t bucket_ns,
                           struct wt_ledger_view *view);

/* The same as wt_ledger_open(), seen by `observer`. */
int wt_ledger_open_observed(const char *spec, struct wt_select *select,
                            const struct wt_ledger_observer *observer, struct wt_ledger_view *view);
/* Instead of losses where ledger.is_samples_alone: why there is no more. */
void wt_ledger_print_samples_alone(FILE *out, const struct wt_text_terminal *terminal,
                                   const struct wt_report *losses);
/* "device 1  NVIDIA H200  132 SMs" above its table, after an empty line. */
void wt_ledger_print_device(FILE *out, const struct wt_text_terminal *terminal,
                            const struct wt_ledger_device *device);
void wt_ledger_close(struct wt_ledger_view *view);

#endif /* WT_CLI_LEDGER_LINES_H */
