/*
 * json_run.h - what the JSON of all commands that read a run has in common: doc/json.md.
 * Single-threaded; blocks as the FILE does.
 */
#ifndef WT_CLI_JSON_RUN_H
#define WT_CLI_JSON_RUN_H

#include "cli/json.h"
#include "cli/report.h"
#include "cli/run_file.h"

#define WT_JSON_SCHEMA 1 /* of all envelopes; a field that changes its meaning raises it */

/* The members of the envelope that every command has: schema and run. */
void wt_json_put_run(struct wt_json *json, const struct wt_run_file *run);

/* The object `loss`: all counters. */
void wt_json_put_loss(struct wt_json *json, const struct wt_report_loss *loss);

/* The member `incomplete`: processes that were not recorded in full, and why. */
void wt_json_put_incomplete(struct wt_json *json, const struct wt_report *report);

#endif /* WT_CLI_JSON_RUN_H */
