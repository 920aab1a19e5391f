/*
 * report_part.h - the named part of the program that each kernel was launched in: its innermost
 * range, or its phase. Memory: 24 bytes a kernel, beside what loading takes (ranges.h, phases.h).
 * Single-threaded; blocks on the file.
 */
#ifndef WT_CLI_REPORT_PART_H
#define WT_CLI_REPORT_PART_H

#include <sqlite3.h>
#include <stddef.h>

#include "analysis/map.h"

/* All zero is empty. */
struct wt_report_parts {
	struct wt_map part_of; /* exec_id -> number from 1; no entry: of none */
	char **names; /* by number - 1 */
	size_t count;
};

/* By the innermost range around the launch call. 0 or -errno; empty: the run has none. */
int wt_report_parts_load_ranges(sqlite3 *db, struct wt_report_parts *parts);

/* By phase. 0 or -errno; empty: nothing tells any. */
int wt_report_parts_load_phases(sqlite3 *db, struct wt_report_parts *parts);
void wt_report_parts_fini(struct wt_report_parts *parts);

#endif /* WT_CLI_REPORT_PART_H */
