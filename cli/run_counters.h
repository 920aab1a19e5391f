/*
 * run_counters.h - a line on what was sampled in a run, and one on what was profiled, for the summary of
 * `wavetap run`.
 * Single-threaded; blocks on the run file.
 */
#ifndef WT_CLI_RUN_COUNTERS_H
#define WT_CLI_RUN_COUNTERS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

/* `is_asked`: the run was to be sampled. */
void wt_run_counters(sqlite3 *db, bool is_asked, char *line, size_t line_bytes);

/* False: no process was to be profiled. */
bool wt_run_profiled(sqlite3 *db, char *line, size_t line_bytes);

#endif /* WT_CLI_RUN_COUNTERS_H */
