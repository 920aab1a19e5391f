/*
 * top_json.h - a report for programs: one JSON envelope, or CSV with the same fields.
 * Single-threaded; blocks as the FILE does.
 */
#ifndef WT_CLI_TOP_JSON_H
#define WT_CLI_TOP_JSON_H

#include <stdio.h>

#include "cli/json.h"
#include "cli/report.h"
#include "cli/run_file.h"

/* Each writes at most `limit` rows. An enum wt_exit, after a message. */
int wt_top_print_json(FILE *out, const struct wt_run_file *run, const struct wt_report *report,
                      size_t limit);
int wt_top_print_csv(FILE *out, const struct wt_report *report, size_t limit);

#endif /* WT_CLI_TOP_JSON_H */
