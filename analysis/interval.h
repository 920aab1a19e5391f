/*
 * interval.h - sets of half-open intervals of time, [start, end).
 *
 * Pure: no I/O, no clock, no allocation; any thread. A set is an array of the caller's, sorted,
 * without overlaps and without empty intervals: wt_intervals_unite makes one of any array.
 */
#ifndef WT_INTERVAL_H
#define WT_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wt_interval {
	int64_t start_ns;
	int64_t end_ns;
};

/* Borrowed, never written. */
struct wt_intervals {
	const struct wt_interval *at;
	size_t count;
};

/*
 * Sorts and merges in place; intervals that touch become one, empty and reversed ones go. The
 * number of those that are left. O(n log n).
 */
size_t wt_intervals_unite(struct wt_interval *at, size_t count);

/* Index of the first interval that ends after t_ns; count if none does. O(log n). */
size_t wt_intervals_after(const struct wt_intervals *set, int64_t t_ns);

bool wt_intervals_contain(const struct wt_intervals *set, int64_t t_ns);

/* Where the set begins or stops containing time next after t_ns; INT64_MAX: nowhere. */
int64_t wt_intervals_next_edge(const struct wt_intervals *set, int64_t t_ns);

/* How much of [start_ns, end_ns) is in the set. O(log n + intervals in it). */
int64_t wt_intervals_overlap_ns(const struct wt_intervals *set, int64_t start_ns, int64_t end_ns);

#endif /* WT_INTERVAL_H */
