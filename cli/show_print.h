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
int wt_show_print_json(FILE *out, const struct wt_run_file *run, const struct wt_show *show);

#endif /* WT_CLI_SHOW_PRINT_H */
