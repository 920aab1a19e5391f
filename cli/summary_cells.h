/*
 * summary_cells.h - the columns that tables of runs share (`sweep`, `history`): struct wt_run_summary
 * in cells. Single-threaded.
 */
#ifndef WT_CLI_SUMMARY_CELLS_H
#define WT_CLI_SUMMARY_CELLS_H

#include "cli/run_summary.h"
#include "cli/table.h"

#define WT_SUMMARY_NUMBER(key)                                                                     \
	{                                                                                          \
		(key), "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0                                  \
	}

/* Entries of a column array; wt_summary_add() fills them. Ranks of WT_TABLE_DROP are 2 to 9. */
#define WT_SUMMARY_COLUMNS                                                                         \
	{"steps", "STEPS", WT_TABLE_RIGHT, WT_TABLE_DROP(2), 0, 0},                                \
	        {"step_ns", "STEP", WT_TABLE_RIGHT, 0, 0, 0}, WT_SUMMARY_NUMBER("step_low_ns"),    \
	        WT_SUMMARY_NUMBER("step_high_ns"),                                                 \
	        {"launches_per_step", "LAUNCHES", WT_TABLE_RIGHT, WT_TABLE_DROP(8), 0, 0},         \
	        {"idle_share", "IDLE%", WT_TABLE_RIGHT, 0, 0, 0},                                  \
	        {"underfill_share", "UNDER%", WT_TABLE_RIGHT, WT_TABLE_DROP(5), 0, 0},             \
	        {"wave_share", "WAVE%", WT_TABLE_RIGHT, WT_TABLE_DROP(4), 0, 0},                   \
	        {"straggle_share", "STRAG%", WT_TABLE_RIGHT, WT_TABLE_DROP(3), 0, 0},              \
	        {"comm_share", "COMM%", WT_TABLE_RIGHT, WT_TABLE_DROP(3), 0, 0},                   \
	        {"gap_share", "GAPS%", WT_TABLE_RIGHT, WT_TABLE_DROP(9), 0, 0},                    \
	        {"main_cause", "MOSTLY", WT_TABLE_LEFT, WT_TABLE_DROP(7), 0, 0},                   \
	        {"occupancy", "OCC%", WT_TABLE_RIGHT, WT_TABLE_DROP(6), 0, 0},                     \
	        WT_SUMMARY_NUMBER("window_ns"), WT_SUMMARY_NUMBER("total_sm_us"),                  \
	        WT_SUMMARY_NUMBER("active_sm_us"), WT_SUMMARY_NUMBER("idle_sm_us"),                \
	        WT_SUMMARY_NUMBER("unjudged_sm_us"), WT_SUMMARY_NUMBER("comm_sm_us"),              \
	        WT_SUMMARY_NUMBER("copy_sm_us"), WT_SUMMARY_NUMBER("graph_sm_us"),                 \
	        WT_SUMMARY_NUMBER("load_sm_us"), WT_SUMMARY_NUMBER("profiler_sm_us"),              \
	        WT_SUMMARY_NUMBER("sync_sm_us"), WT_SUMMARY_NUMBER("alloc_sm_us"),                 \
	        WT_SUMMARY_NUMBER("host_sm_us"), WT_SUMMARY_NUMBER("launch_sm_us"),                \
	        WT_SUMMARY_NUMBER("dependency_sm_us"), WT_SUMMARY_NUMBER("turnaround_sm_us"),      \
	        WT_SUMMARY_NUMBER("unknown_sm_us"), WT_SUMMARY_NUMBER("undecided_sm_us"),          \
	        WT_SUMMARY_NUMBER("startup_sm_us"), WT_SUMMARY_NUMBER("after_sm_us"),              \
	        WT_SUMMARY_NUMBER("measured_sm_us"), WT_SUMMARY_NUMBER("kernels_lost"),            \
	        {"gpus", "", WT_TABLE_LEFT, WT_TABLE_NO_TEXT, 0, 0},                               \
	{                                                                                          \
		"reason", "", WT_TABLE_LEFT, WT_TABLE_NO_TEXT, 0, 0                                \
	}
_Static_assert(WT_GAP_CAUSE_MAX == 14 && WT_GAP_COPY == 0 && WT_GAP_HOST == 6 &&
                       WT_GAP_UNKNOWN == 10 && WT_GAP_AFTER == 13,
               "a column for each cause, in order");

/* The cells of these columns, in order. */
void wt_summary_add(struct wt_table *table, const struct wt_run_summary *summary);

/* When the run began, local time: "2026-11-30 11:02". */
void wt_summary_add_when(struct wt_table *table, int64_t created_ns);

/* Idle SM-time as a part of all, 0 to 1; < 0: not known. */
double wt_summary_idle_share(const struct wt_run_summary *summary);

#endif /* WT_CLI_SUMMARY_CELLS_H */
