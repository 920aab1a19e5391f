/*
 * ranges_sum.h - the named ranges of a run summed by name: what `wavetap ranges` shows.
 * Single-threaded; blocks on the file.
 *
 * A kernel counts once for a name, also where ranges of that name nest.
 */
#ifndef WT_CLI_RANGES_SUM_H
#define WT_CLI_RANGES_SUM_H

#include "cli/ranges.h"

/* All ranges of one name and kind. */
struct wt_range_row {
	size_t name; /* index in names */
	int type;
	int64_t count, open; /* open: never ended, not in the times */
	int64_t time_ns, min_ns, max_ns, gap_ns;
	int64_t kernels, kernel_time_ns, without_time;
	int64_t kernels_any; /* by whatever thread */
	int64_t kernel_sm_ns, idle_sm_ns, unjudged_sm_ns;
	double idle_gpu_ns;
	size_t last_kernel, last_any; /* that was added; SIZE_MAX: none */
};

/* Sums of range_count over the processes. */
struct wt_range_counts {
	int64_t begun, recorded, dropped, early, untracked, unbalanced, lost;
};

struct wt_range_sums {
	struct wt_run_ranges ranges;
	struct wt_range_row *rows; /* two for each name, pushed and started; some have no range */
	size_t row_count;
	struct wt_range_counts counts;
	int64_t kernels_unlinked; /* in no range, since their call is not known */
};

/*
 * Within the caller's transaction. `is_any_thread`: what other threads launched meanwhile is inside,
 * too. 0 or -errno; wt_range_sums_fini() in any case. A file without ranges: no rows.
 */
int wt_range_sums_load(sqlite3 *db, bool is_any_thread, struct wt_range_sums *sums);
void wt_range_sums_fini(struct wt_range_sums *sums);

#endif /* WT_CLI_RANGES_SUM_H */
