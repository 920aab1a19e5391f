/*
 * steps_anchor.c - what comes back at nearly the same distance (steps.h). Pure, any thread.
 *
 * All runs of 1, 2, 4 and 8 signatures are hashed and sorted by hash; each group of equal ones is
 * judged by the distances between its members. Per period (classes 5 % wide) the best group is
 * kept, the shortest run if equal: a launch that is lost or added spoils the fewest of those.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/steps_internal.h"

#define BINS 512
#define BINS_EXACT 32 /* periods that have a class each */
#define REGULAR_PART 8 /* a distance is regular within this part of the median */
#define COVER_LEAST_PERCENT 15 /* of the items: even the loop inside a part of a step has more */

struct place {
	uint64_t hash;
	uint32_t at;
};

struct search {
	struct place *places;
	uint64_t *hashes;
	uint32_t *distances;
	struct wt_step_anchor bins[BINS];
	const struct wt_step_item *items;
	size_t count;
	bool has_graphs;
};

static int by_hash(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

static int by_value(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return a < b ? -1 : a > b;
}

static size_t bin_of(size_t period)
{
	size_t bin = period;

	if (period > BINS_EXACT)
		bin = BINS_EXACT + (size_t)(log((double)period / BINS_EXACT) / log(1.05));
	return bin < BINS ? bin : BINS - 1;
}

/* One kernel in a row says nothing, but a graph may be a step. */
static bool is_possible(const struct search *search, const struct place *group, size_t period)
{
	return period > 1 || (period == 1 && search->items[group->at].flags & WT_STEP_ITEM_GRAPH);
}

static int keep(struct search *search, const struct place *group, size_t count,
                const struct wt_step_anchor *found)
{
	struct wt_step_anchor *best = &search->bins[bin_of(found->period)];
	uint32_t *at;

	if (best->at && found->score <= best->score)
		return 0;
	at = reallocarray(best->at, count, sizeof(*at));
	if (!at)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		at[i] = group[i].at;
	*best = *found;
	best->at = at;
	return 0;
}

/*
 * The share of the run in regular distances, times the share of the distances that are: a kernel
 * that comes twice a step, close together, covers as much as one that comes once.
 */
static double score_of(const struct search *search, const struct place *group, size_t count,
                       size_t period)
{
	int64_t total_ns = search->items[search->count - 1].time_ns - search->items[0].time_ns;
	double items = 0, ns = 0, share;
	size_t regular = 0;

	for (size_t i = 0; i + 1 < count; i++) {
		uint32_t from = group[i].at, to = group[i + 1].at;

		if (!wt_steps_is_near(to - from, period, REGULAR_PART))
			continue;
		regular++;
		items += to - from;
		ns += (double)(search->items[to].time_ns - search->items[from].time_ns);
	}
	share = items / (double)search->count;
	/* One item may be a whole model: then it is time that counts. */
	if (search->has_graphs && total_ns > 0 && ns / (double)total_ns > share)
		share = ns / (double)total_ns;
	if (share * 100 < COVER_LEAST_PERCENT)
		return 0;
	return share * (double)regular / (double)(count - 1);
}

/* The group as an anchor of its own. *ret_longest: its longest distance. */
static int judge_group(struct search *search, const struct place *group, size_t count,
                       unsigned width, size_t *ret_longest)
{
	struct wt_step_anchor found = {.count = count, .width = width};

	*ret_longest = 0;
	if (count <= WT_STEPS_LEAST)
		return 0;
	for (size_t i = 0; i + 1 < count; i++)
		search->distances[i] = group[i + 1].at - group[i].at;
	qsort(search->distances, count - 1, sizeof(*search->distances), by_value);
	found.period = search->distances[(count - 1) / 2];
	*ret_longest = search->distances[count - 2];
	if (!is_possible(search, group, found.period))
		return 0;
	found.score = score_of(search, group, count, found.period);
	return found.score > 0 ? keep(search, group, count, &found) : 0;
}

/*
 * Of something that comes in bursts (an optimizer that takes one tensor after the other), where a
 * burst begins: after a distance of at least half the longest. Reorders the group.
 */
static int judge_bursts(struct search *search, struct place *group, size_t count, size_t longest)
{
	size_t kept = 0, previous = 0, unused;

	for (size_t i = 0; i < count; i++) {
		size_t at = group[i].at;

		if (i && at - previous >= longest / 2)
			group[kept++].at = (uint32_t)at;
		previous = at;
	}
	return judge_group(search, group, kept, 1, &unused);
}

static int judge_width(struct search *search, size_t places, unsigned width)
{
	size_t longest;
	int rc = 0;

	for (size_t i = 0; i < places; i++)
		search->places[i] = (struct place){search->hashes[i], (uint32_t)i};
	qsort(search->places, places, sizeof(*search->places), by_hash);
	for (size_t i = 0, end; i < places && !rc; i = end) {
		for (end = i + 1;
		     end < places && search->places[end].hash == search->places[i].hash;)
			end++;
		rc = judge_group(search, search->places + i, end - i, width, &longest);
		if (!rc && width == 1 && longest)
			rc = judge_bursts(search, search->places + i, end - i, longest);
	}
	return rc;
}

static int search_all(struct search *search)
{
	size_t places = search->count;
	int rc = 0;

	for (size_t i = 0; i < places; i++)
		search->hashes[i] = wt_steps_mix(search->items[i].signature);
	for (unsigned width = 1; width <= 8 && !rc; width *= 2) {
		rc = judge_width(search, places, width);
		if (places <= width)
			break;
		/* Of a run twice as long: both halves. */
		places -= width;
		for (size_t i = 0; i < places; i++)
			search->hashes[i] =
			        wt_steps_mix(search->hashes[i] * 31 + search->hashes[i + width]);
	}
	return rc;
}

static int by_score(const void *left, const void *right)
{
	const struct wt_step_anchor *a = left, *b = right;

	if (a->score > b->score || a->score < b->score)
		return a->score > b->score ? -1 : 1;
	return a->period < b->period ? -1 : a->period > b->period;
}

static int by_period(const void *left, const void *right)
{
	const struct wt_step_anchor *a = left, *b = right;

	return a->period > b->period ? -1 : a->period < b->period;
}

/* Moves the best ones out of the bins, longest period first. */
static int take_best(struct search *search, struct wt_step_anchor **ret_anchors, size_t *ret_count)
{
	struct wt_step_anchor *anchors = calloc(BINS, sizeof(*anchors));
	size_t count = 0;

	if (!anchors)
		return -ENOMEM;
	for (size_t bin = BINS; bin-- > 0;) {
		struct wt_step_anchor *one = &search->bins[bin];

		if (!one->at)
			continue;
		/* Two classes side by side are one period on both sides of their border. */
		if (count && one->period * 10 > anchors[count - 1].period * 9) {
			if (one->score <= anchors[count - 1].score)
				continue;
			free(anchors[--count].at);
		}
		anchors[count++] = *one;
		one->at = NULL;
	}
	qsort(anchors, count, sizeof(*anchors), by_score);
	while (count > WT_STEPS_LEVELS_MAX)
		free(anchors[--count].at);
	qsort(anchors, count, sizeof(*anchors), by_period);
	*ret_anchors = anchors;
	*ret_count = count;
	return 0;
}

int wt_steps_anchors(const struct wt_step_data *data, struct wt_step_anchor **ret_anchors,
                     size_t *ret_count)
{
	size_t count = data->count;
	struct search *search = calloc(1, sizeof(*search));
	int rc = -ENOMEM;

	if (!search)
		return rc;
	search->items = data->items;
	search->count = count;
	search->has_graphs = data->has_graphs;
	search->places = calloc(count, sizeof(*search->places));
	search->hashes = calloc(count, sizeof(*search->hashes));
	search->distances = calloc(count, sizeof(*search->distances));
	if (search->places && search->hashes && search->distances)
		rc = search_all(search);
	if (!rc)
		rc = take_best(search, ret_anchors, ret_count);
	for (size_t bin = 0; bin < BINS; bin++)
		free(search->bins[bin].at);
	free(search->places);
	free(search->hashes);
	free(search->distances);
	free(search);
	return rc;
}
