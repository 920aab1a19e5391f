/*
 * report_measured.h - what was measured, in the rows of a report.
 *
 * Rows are loaded with the model's figures. Their parts by configuration are collected here, and then
 * changed to what is known, by running totals, so that rows sum to the ledger whatever they are of.
 * Memory: about 200 bytes for each pair of row and configuration. Single-threaded; blocks on the file.
 */
#ifndef WT_CLI_REPORT_MEASURED_H
#define WT_CLI_REPORT_MEASURED_H

#include "analysis/derive.h"
#include "analysis/map.h"
#include "cli/measured.h"
#include "cli/report_key.h"

struct wt_report_pair;

/* All zero: a file that knows nothing of it. */
struct wt_report_measure {
	bool is_known; /* the file tells what its kernels had by themselves */
	struct wt_measured measured;
	struct wt_report_pair *pairs;
	size_t count;
	struct wt_map pair_at;
};

/* 0 or -errno. Free with wt_report_measure_fini() in either case. */
int wt_report_measure_init(struct wt_report_measure *measure, sqlite3 *db);
void wt_report_measure_fini(struct wt_report_measure *measure);

/* A part of row `at` (by index) that is of one configuration; numbers that can't be are left out. */
int wt_report_measure_add(struct wt_report_measure *measure, size_t at,
                          const struct wt_report_config *config, const struct wt_sweep_share *model,
                          const struct wt_beside *beside);

/* The parts of all rows, from the rollups of the file. 0 or -errno. */
int wt_report_measure_rollups(struct wt_report_measure *measure, sqlite3 *db,
                              struct wt_report_key *key);

/* Into the rows, and their total. */
void wt_report_measure_apply(struct wt_report_measure *measure, struct wt_report *report);

/* What follows from the sums of a row. */
void wt_report_measure_finish(struct wt_report_row *row);

/* The part of wt_report_row_add() that is of this. */
void wt_report_measure_sum(struct wt_report_row *sum, const struct wt_report_row *row);

#endif /* WT_CLI_REPORT_MEASURED_H */
