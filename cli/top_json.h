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

#define WT_JSON_SCHEMA 1 /* of all envelopes; a field that changes its meaning raises it */

/* Each writes at most `limit` rows. An enum wt_exit, after a message. */
int wt_top_print_json(FILE *out, const struct wt_run_file *run, const struct wt_report *report,
                      size_t limit);
int wt_top_print_csv(FILE *out, const struct wt_report *report, size_t limit);

/* The members of the envelope that every command has: schema and run. */
void wt_json_put_run(struct wt_json *json, const struct wt_run_file *run);

/* The object `loss`: all counters. */
void wt_json_put_loss(struct wt_json *json, const struct wt_report_loss *loss);

/* The member `incomplete`: processes that were not recorded in full, and why. */
void wt_json_put_incomplete(struct wt_json *json, const struct wt_report *report);

#endif /* WT_CLI_TOP_JSON_H */
