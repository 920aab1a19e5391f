/*
 * merge_align.c - see merge.h: the clocks of the runs, to that of the run with most collectives.
 * Single-threaded; never blocks.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/merge.h"

const char *wt_merge_clock_name(enum wt_merge_clock clock)
{
	static const char *const names[] = {
	        [WT_MERGE_REFERENCE] = "reference", [WT_MERGE_COLLECTIVES] = "collectives",
	        [WT_MERGE_LAUNCHES] = "launches",   [WT_MERGE_SAME_HOST] = "same host",
	        [WT_MERGE_AS_IT_WAS] = "as it was",
	};

	return names[clock];
}

static const char far_apart[] =
        "their clocks would be more than a minute apart: runs of another time?";

/* Quartz is off by tens of ppm; a clock that is disciplined hard, by 500. */
#define DRIFT_MAX 1e-3
static const char runs_apart[] =
        "their clocks would run apart by more than 1,000 ppm: not the same collectives or launches";
static const char contradicts[] =
        "its collectives contradict the clock that it shares with another of its host: a rank of "
        "another job?";

static bool is_same_host(const struct wt_merge_source *a, const struct wt_merge_source *b)
{
	return a->boot[0] && !strcmp(a->boot, b->boot);
}

/* With the offset of `leader`, whose clock it has. */
static void follow(struct wt_merge_source *source, const struct wt_merge_source *leader)
{
	int64_t events = source->align.events;

	source->align = leader->align;
	source->align.events = events;
	source->clock = WT_MERGE_SAME_HOST;
}

/* Do its collectives say that it has the clock of the leader? Yes, where they say nothing; launches never do. */
static bool agrees(const struct wt_merge_source *source, const struct wt_merge_source *leader)
{
	int64_t middle_ns = source->align.middle_ns;
	int64_t differ_ns;

	if (source->align.reason || source->clock == WT_MERGE_LAUNCHES)
		return true;
	differ_ns =
	        wt_align_time(&source->align, middle_ns) - wt_align_time(&leader->align, middle_ns);
	if (differ_ns < 0)
		differ_ns = -differ_ns;
	/* Within what the line is sure of, or what no collective contradicts. */
	return differ_ns <= source->align.error_ns + leader->align.error_ns +
	                            2 * WT_ALIGN_ERROR_LEAST_NS ||
	       (source->align.limit_ns >= 0 && differ_ns <= source->align.limit_ns);
}

static int align_one(struct wt_merge *merge, size_t at)
{
	struct wt_merge_source *source = &merge->sources[at];
	const struct wt_merge_source *reference = &merge->sources[merge->reference];
	const struct wt_align_run to = {reference->events, reference->event_count};
	const struct wt_align_run from = {source->events, source->event_count};
	int64_t offset_ns;

	if (at == merge->reference)
		return 0;
	source->clock = source->is_by_launches ? WT_MERGE_LAUNCHES : WT_MERGE_COLLECTIVES;
	if (wt_align_find(&to, &from, source->is_by_launches, &source->align))
		return -ENOMEM;
	offset_ns = source->align.offset_ns;
	if (!source->align.reason &&
	    (offset_ns > WT_MERGE_OFFSET_MAX_NS || offset_ns < -WT_MERGE_OFFSET_MAX_NS))
		source->align.reason = far_apart;
	if (!source->align.reason &&
	    (source->align.drift > DRIFT_MAX || source->align.drift < -DRIFT_MAX))
		source->align.reason = runs_apart;
	return 0;
}

int wt_merge_align(struct wt_merge *merge)
{
	int rc = 0;

	for (size_t i = 1; i < merge->count; i++)
		if (merge->sources[i].event_count > merge->sources[merge->reference].event_count)
			merge->reference = i;
	merge->sources[merge->reference].clock = WT_MERGE_REFERENCE;
	merge->sources[merge->reference].align = (struct wt_align){.error_ns = 0, .limit_ns = 0};
	for (size_t i = 0; i < merge->count && !rc; i++)
		rc = align_one(merge, i);
	/* Runs of one host have one clock: the reference's, or that of the first of them that is aligned. */
	for (size_t i = 0; i < merge->count && !rc; i++) {
		struct wt_merge_source *source = &merge->sources[i];
		const struct wt_merge_source *leader = &merge->sources[merge->reference];

		if (i == merge->reference)
			continue;
		/* One that is not aligned follows any that is; of two that are, the later one follows. */
		for (size_t k = 0; k < merge->count && !is_same_host(source, leader); k++)
			if (k != i && (k < i || source->align.reason) &&
			    is_same_host(source, &merge->sources[k]) &&
			    !merge->sources[k].align.reason)
				leader = &merge->sources[k];
		if (!is_same_host(source, leader))
			continue;
		if (agrees(source, leader))
			follow(source, leader);
		else
			source->align.reason = contradicts;
	}
	return rc;
}
