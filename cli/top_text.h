/*
 * top_text.h - a report as people read it: two or three lines on the run, the ranking,
 * what to know about the numbers. `top` writes it to stdout, the summary of `run` to
 * stderr. Single-threaded; blocks as the FILE does.
 */
#ifndef WT_CLI_TOP_TEXT_H
#define WT_CLI_TOP_TEXT_H

#include <stdio.h>

#include "cli/phrase.h"
#include "cli/report.h"
#include "cli/run_file.h"
#include "cli/text.h"

struct wt_top_style {
	enum wt_report_by by;
	enum wt_report_group group;
	const char *columns; /* names with commas, or NULL: as many as fit */
	int64_t limit; /* rows; 0: all */
	const char *next, *then; /* commands to go on with, or NULL */
	const char *problem; /* one line about kernel names, or NULL */
	bool has_measured; /* set by wt_top_print() */
};

/* 0, -EINVAL: `columns` has an unknown name (message given), or another -errno. */
int wt_top_print(FILE *out, const struct wt_text_terminal *terminal, const struct wt_run_file *run,
                 const struct wt_report *report, const struct wt_top_style *wanted);

/* A line: run, devices, window, kernels, evidence. */
void wt_top_print_run(struct wt_phrase *line, const struct wt_run_file *run,
                      const struct wt_report *report);

/* What was lost and who was not recorded in full, a line each; nothing if nothing was. */
void wt_top_print_losses(FILE *out, const struct wt_text_terminal *terminal,
                         const struct wt_report *report);

/* "idle SM-time": what is ranked by, static. */
const char *wt_top_by_text(enum wt_report_by by);

/* Phrases: "8x NVIDIA H200 132 SMs"; what the marks before numbers mean, as far as there are any. */
void wt_top_print_devices(struct wt_phrase *line, const struct wt_report *report);
void wt_top_print_marks(struct wt_phrase *line, const struct wt_report *report);

/* A phrase: how long, and of a window (`select`, `steps` may be NULL) which part of the run. */
void wt_top_print_window(struct wt_phrase *line, const struct wt_select *select,
                         const struct wt_select_steps *steps, int64_t wall_ns);

/* A line: what the steady steps leave out, or why the window is not theirs. Nothing if they are not the default. */
void wt_top_print_apart(struct wt_phrase *line, const struct wt_select_steps *steps);

/* A line: what else is selected, if anything is. */
void wt_top_print_selection(struct wt_phrase *line, const struct wt_select *select);

#endif /* WT_CLI_TOP_TEXT_H */
