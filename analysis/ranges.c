/* ranges.c - see ranges.h. */
#include "analysis/ranges.h"

#include <errno.h>
#include <stdlib.h>

static int compare(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_start(const void *left, const void *right)
{
	const struct wt_range_span *a = left, *b = right;
	int order = compare(a->process_id, b->process_id);

	if (!order)
		order = compare(a->start_ns, b->start_ns);
	return order ? order : compare((int64_t)a->id, (int64_t)b->id);
}

static int by_entry(const void *left, const void *right)
{
	const struct wt_range_launch *a = left, *b = right;
	int order = compare(a->process_id, b->process_id);

	if (!order)
		order = compare(a->entry_ns, b->entry_ns);
	return order ? order : compare((int64_t)a->id, (int64_t)b->id);
}

/* Indices of ranges that may be open. */
struct open {
	size_t *at;
	size_t count, room;
};

static int add(struct open *open, size_t idx)
{
	if (open->count == open->room) {
		size_t room = open->room ? 2 * open->room : 64;
		size_t *more = realloc(open->at, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		open->at = more;
		open->room = room;
	}
	open->at[open->count++] = idx;
	return 0;
}

/* All that are around the launch, in the order of their starts; those that have ended go. */
static int look(struct open *open, const struct wt_range_span *ranges,
                const struct wt_range_launch *launch, wt_range_hit_fn hit, void *arg)
{
	size_t kept = 0;
	int rc = 0;

	for (size_t i = 0; i < open->count; i++) {
		const struct wt_range_span *range = &ranges[open->at[i]];

		if (range->end_ns <= launch->entry_ns)
			continue;
		open->at[kept++] = open->at[i];
		if (!rc && (!range->is_of_thread || range->tid == launch->tid))
			rc = hit(arg, launch->id, range->id);
	}
	open->count = kept;
	return rc;
}

int wt_ranges_assign(struct wt_range_span *ranges, size_t range_count,
                     struct wt_range_launch *launches, size_t launch_count, wt_range_hit_fn hit,
                     void *arg)
{
	struct open open = {0};
	size_t next = 0;
	int rc = 0;

	if (!range_count || !launch_count)
		return 0;
	qsort(ranges, range_count, sizeof(*ranges), by_start);
	qsort(launches, launch_count, sizeof(*launches), by_entry);
	for (size_t i = 0; i < launch_count && !rc; i++) {
		const struct wt_range_launch *launch = &launches[i];

		if (i && launch->process_id != launches[i - 1].process_id)
			open.count = 0;
		while (next < range_count && ranges[next].process_id < launch->process_id)
			next++;
		for (; !rc && next < range_count && ranges[next].process_id == launch->process_id &&
		       ranges[next].start_ns <= launch->entry_ns;
		     next++)
			if (ranges[next].end_ns > launch->entry_ns)
				rc = add(&open, next);
		if (!rc)
			rc = look(&open, ranges, launch, hit, arg);
	}
	free(open.at);
	return rc;
}
