/*
 * interval.c - see interval.h. Pure: any thread, never blocks.
 */
#include <stdlib.h>

#include "analysis/interval.h"

static int by_start(const void *left, const void *right)
{
	const struct wt_interval *a = left, *b = right;

	return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

size_t wt_intervals_unite(struct wt_interval *at, size_t count)
{
	size_t kept = 0;

	if (count)
		qsort(at, count, sizeof(*at), by_start);
	for (size_t i = 0; i < count; i++) {
		if (at[i].end_ns <= at[i].start_ns)
			continue;
		if (kept == 0 || at[i].start_ns > at[kept - 1].end_ns)
			at[kept++] = at[i];
		else if (at[i].end_ns > at[kept - 1].end_ns)
			at[kept - 1].end_ns = at[i].end_ns;
	}
	return kept;
}

size_t wt_intervals_after(const struct wt_intervals *set, int64_t t_ns)
{
	size_t low = 0, high = set->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (set->at[middle].end_ns > t_ns)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

bool wt_intervals_contain(const struct wt_intervals *set, int64_t t_ns)
{
	size_t i = wt_intervals_after(set, t_ns);

	return i < set->count && set->at[i].start_ns <= t_ns;
}

int64_t wt_intervals_next_edge(const struct wt_intervals *set, int64_t t_ns)
{
	size_t i = wt_intervals_after(set, t_ns);

	if (i == set->count)
		return INT64_MAX;
	return set->at[i].start_ns > t_ns ? set->at[i].start_ns : set->at[i].end_ns;
}

int64_t wt_intervals_overlap_ns(const struct wt_intervals *set, int64_t start_ns, int64_t end_ns)
{
	int64_t sum_ns = 0;

	for (size_t i = wt_intervals_after(set, start_ns);
	     i < set->count && set->at[i].start_ns < end_ns; i++) {
		int64_t low = set->at[i].start_ns > start_ns ? set->at[i].start_ns : start_ns;
		int64_t high = set->at[i].end_ns < end_ns ? set->at[i].end_ns : end_ns;

		sum_ns += high - low;
	}
	return sum_ns;
}
