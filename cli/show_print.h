/*
 * show_print.h - one kernel as text and as JSON. Single-threaded; blocks as the FILE does.
 */
#ifndef WT_CLI_SHOW_PRINT_H
#define WT_CLI_SHOW_PRINT_H

#include <stdio.h>

#include "cli/run_file.h"
#include "cli/show.h"
#include "cli/text.h"

/* 0 or -errno. `run_option`: " -r RUN" as it was typed, or "". */
int wt_show_print(FILE *out, const struct wt_text_terminal *terminal, const struct wt_run_file *run,
                  const struct wt_show *show, const char *run_option);
/* show_measured.c: what was measured; nothing where nothing was. 0 or -errno. */
int wt_show_print_measured(FILE *out, const struct wt_text_terminal *terminal,
                           const struct wt_show *show);
/* Members of a configuration: `model`, `measured`, `profile`, `profiled_launches`. */
void wt_show_put_measured(struct wt_json *json, const struct wt_show_config *config);

int wt_show_print_json(FILE *out, const struct wt_run_file *run, const struct wt_show *show);

/*
 * show_curve.c: a curve for each set of configurations that differ in their grid alone. `points` has room
 * for all of them. 0 or -errno.
 */
int wt_show_print_curves(FILE *out, const struct wt_text_terminal *terminal,
                         const struct wt_show *show, const struct wt_show_config **points);

/*
 * The configurations from `first` on that are not done and differ from it in their grid alone, by blocks,
 * into `points`; they are done then. Their number; 0: too few for a curve.
 */
size_t wt_show_take_curve(const struct wt_show *show, size_t first, bool *is_done,
                          const struct wt_show_config **points);

#endif /* WT_CLI_SHOW_PRINT_H */
