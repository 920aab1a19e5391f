/*
 * ranges.h - which launches were made inside which named ranges.
 *
 * A launch is inside a range if its call was entered from the range's start on and before its end:
 * for ranges that nest (pushed and popped) by the same thread, for others by any thread of the
 * process. A range that never ended lasts to the end of time.
 *
 * Pure: no I/O, no clock; any thread. O((ranges + launches) log + hits).
 */
#ifndef WT_ANALYSIS_RANGES_H
#define WT_ANALYSIS_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wt_range_span {
	int64_t process_id;
	int64_t start_ns, end_ns; /* end INT64_MAX: it never ended */
	int64_t tid; /* that began it */
	bool is_of_thread; /* only that thread's launches are inside */
	size_t id; /* the caller's */
};

struct wt_range_launch {
	int64_t process_id;
	int64_t entry_ns;
	int64_t tid;
	size_t id; /* the caller's */
};

/* One range around one launch; what is not 0 ends the work and is returned. */
typedef int (*wt_range_hit_fn)(void *arg, size_t launch_id, size_t range_id);

/*
 * Calls `hit` for every pair; those of one launch come together. Sorts both arrays in place. 0,
 * -ENOMEM, or what `hit` returned.
 */
int wt_ranges_assign(struct wt_range_span *ranges, size_t range_count,
                     struct wt_range_launch *launches, size_t launch_count, wt_range_hit_fn hit,
                     void *arg);

#endif /* WT_ANALYSIS_RANGES_H */
