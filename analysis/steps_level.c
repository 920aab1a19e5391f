/*
 * steps_level.c - the segments between anchors, and how alike they are (steps.h). Pure, any thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/steps_internal.h"

enum { SEEN_KERNEL = 1, SEEN_GRAPH };

#define SAMPLES 33u /* segments that make the typical one */
#define LENGTH_PART 4 /* alike: length within this part */
#define CONTENT_TENTHS 6 /* and this much of the content the same */
#define ORDER_REACH 8 /* launches that may be lost or added at once */
#define ORDER_ITEMS_MAX 4096 /* of a segment are compared */
#define GAP_SHARE_TENTHS 7 /* a recurring gap is at the same place in so many */
#define GAP_RATIO 2 /* and so much longer than the next */

static int by_value(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return a < b ? -1 : a > b;
}

static int by_time(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return a < b ? -1 : a > b;
}

static size_t length_of(const struct wt_step_level *level, size_t segment)
{
	return level->anchor.at[segment + 1] - level->anchor.at[segment];
}

/*
 * Segments of regular length: one of each of SAMPLES stretches, but not always the same of each, or
 * else a loop of two would show only one of them.
 */
static size_t pick_samples(const struct wt_step_level *level, size_t picked[SAMPLES])
{
	size_t regular = 0, seen = 0, count = 0, next;

	for (size_t i = 0; i < level->segments; i++)
		regular += wt_steps_is_near(length_of(level, i), level->anchor.period, 8);
	next = 0;
	for (size_t i = 0; i < level->segments && count < SAMPLES; i++) {
		if (!wt_steps_is_near(length_of(level, i), level->anchor.period, 8))
			continue;
		if (seen++ < next)
			continue;
		picked[count++] = i;
		next = count * regular / SAMPLES;
		if (regular > SAMPLES)
			next += wt_steps_mix(count) % (regular / SAMPLES);
	}
	return count;
}

/* What the samples consist of. */
static int find_typical(struct wt_step_level *level, const struct wt_step_data *data)
{
	const struct wt_step_item *items = data->items;
	size_t classes = data->class_count;
	size_t picked[SAMPLES];
	size_t count = pick_samples(level, picked);
	uint32_t *counts = calloc(classes * SAMPLES, sizeof(*counts));
	uint8_t *is_seen = calloc(classes, sizeof(*is_seen));
	uint32_t updates[SAMPLES] = {0};

	level->typical = calloc(3 * classes, sizeof(*level->typical));
	if (!counts || !is_seen || !level->typical) {
		free(counts);
		free(is_seen);
		return -ENOMEM;
	}
	for (size_t s = 0; s < count; s++) {
		for (size_t i = level->anchor.at[picked[s]]; i < level->anchor.at[picked[s] + 1];
		     i++) {
			counts[data->classes[i] * SAMPLES + s]++;
			is_seen[data->classes[i]] =
			        items[i].flags & WT_STEP_ITEM_GRAPH ? SEEN_GRAPH : SEEN_KERNEL;
			updates[s] += (items[i].flags & WT_STEP_ITEM_UPDATE) != 0;
			level->has_graph = level->has_graph || items[i].flags & WT_STEP_ITEM_GRAPH;
		}
	}
	level->often = level->typical + classes;
	level->constant = level->often + classes;
	for (size_t c = 0; count && c < classes; c++) {
		uint32_t *sorted = counts + c * SAMPLES;

		if (!is_seen[c])
			continue;
		qsort(sorted, count, sizeof(*sorted), by_value);
		level->typical[c] = sorted[count / 2];
		level->often[c] = sorted[count * 4 / 10];
		if (wt_steps_is_near(sorted[count / 10], sorted[count / 2], 8) &&
		    wt_steps_is_near(sorted[count - 1 - count / 10], sorted[count / 2], 8))
			level->constant[c] = sorted[count / 2];
		if (is_seen[c] == SEEN_GRAPH && level->typical[c] > level->graph_repeats)
			level->graph_repeats = level->typical[c];
	}
	qsort(updates, count, sizeof(*updates), by_value);
	level->update_items = count ? updates[count / 4] : 0;
	free(counts);
	free(is_seen);
	return 0;
}

/* `counts` is zero, and is again when done. */
static bool is_alike(const struct wt_step_level *level, const uint16_t *classes, size_t first,
                     size_t end, uint32_t *counts)
{
	size_t same = 0, typical = 0;

	if (!wt_steps_is_near(end - first, level->anchor.period, LENGTH_PART))
		return false;
	for (size_t i = first; i < end; i++)
		same += counts[classes[i]]++ < level->typical[classes[i]];
	for (size_t i = first; i < end; i++)
		counts[classes[i]] = 0;
	typical = end - first > level->anchor.period ? end - first : level->anchor.period;
	return same * 10 >= typical * CONTENT_TENTHS;
}

/* How much a segment counts: its items, but its time where an item may be a whole graph. */
static int64_t weight_of(const struct wt_step_level *level, const struct wt_step_data *data,
                         size_t segment)
{
	size_t first = level->anchor.at[segment], end = level->anchor.at[segment + 1];
	int64_t ns;

	if (!data->has_graphs)
		return (int64_t)(end - first);
	ns = data->items[end < data->count ? end : end - 1].time_ns - data->items[first].time_ns;
	return ns > 0 ? ns : 1;
}

static bool has_update(const struct wt_step_level *level, const struct wt_step_data *data,
                       size_t segment)
{
	for (size_t i = level->anchor.at[segment]; i < level->anchor.at[segment + 1]; i++)
		if (data->items[i].flags & WT_STEP_ITEM_UPDATE)
			return true;
	return false;
}

/*
 * The stretch with the most weight in alike segments less that in others: what comes before it is
 * start-up or something else, even if by chance a segment there is alike. (Kadane.)
 */
static void find_region(struct wt_step_level *level, const struct wt_step_data *data)
{
	int64_t sum = 0, best = 0;
	size_t from = 0, with_update = 0;

	for (size_t i = 0; i < level->segments; i++) {
		int64_t weight = weight_of(level, data, i);

		if (sum <= 0) {
			sum = 0;
			from = i;
		}
		sum += level->is_alike[i] ? weight : -weight;
		if (sum <= best)
			continue;
		best = sum;
		level->first_alike = from;
		level->last_alike = i;
	}
	if (best == 0)
		return;
	for (size_t i = level->first_alike; i <= level->last_alike; i++) {
		level->region_weight += weight_of(level, data, i);
		if (!level->is_alike[i])
			continue;
		level->alike++;
		with_update += has_update(level, data, i);
		level->in_a_row += i > level->first_alike && level->is_alike[i - 1];
		level->exact += wt_steps_is_near(length_of(level, i), level->anchor.period, 50);
		level->alike_weight += weight_of(level, data, i);
	}
	level->region_items =
	        level->anchor.at[level->last_alike + 1] - level->anchor.at[level->first_alike];
}

static int compare_segments(struct wt_step_level *level, const struct wt_step_data *data)
{
	uint32_t *counts = calloc(data->class_count + 1, sizeof(*counts));

	level->is_alike = calloc(level->segments + 1, sizeof(*level->is_alike));
	if (!counts || !level->is_alike) {
		free(counts);
		return -ENOMEM;
	}
	for (size_t i = 0; i < level->segments; i++)
		level->is_alike[i] = is_alike(level, data->classes, level->anchor.at[i],
		                              level->anchor.at[i + 1], counts);
	find_region(level, data);
	free(counts);
	return 0;
}

/* Of one segment: the longest gap before one of its items, where, and the next longest. */
struct longest {
	int64_t ns, second_ns;
	uint64_t place;
};

static struct longest find_longest(const struct wt_step_item *items, size_t first, size_t end)
{
	struct longest longest = {0};

	for (size_t i = first ? first : 1; i < end; i++) {
		int64_t ns = wt_steps_gap_ns(items, i);

		if (ns > longest.ns) {
			longest.second_ns = longest.ns;
			longest.ns = ns;
			longest.place = wt_steps_place(items, i);
		} else if (ns > longest.second_ns) {
			longest.second_ns = ns;
		}
	}
	return longest;
}

/* Boyer and Moore: the only place that can be that of more than half. */
static uint64_t majority_place(const struct longest *gaps, size_t count)
{
	uint64_t place = 0;
	size_t votes = 0;

	for (size_t i = 0; i < count; i++) {
		if (votes == 0)
			place = gaps[i].place;
		if (gaps[i].place == place)
			votes++;
		else
			votes--;
	}
	return place;
}

static int find_gap(struct wt_step_level *level, const struct wt_step_item *items)
{
	struct longest *gaps = calloc(level->alike + 1, sizeof(*gaps));
	int64_t *ns = calloc(level->alike + 1, sizeof(*ns));
	size_t count = 0, same = 0;

	if (!gaps || !ns) {
		free(gaps);
		free(ns);
		return -ENOMEM;
	}
	for (size_t i = level->first_alike; level->alike && i <= level->last_alike; i++)
		if (level->is_alike[i])
			gaps[count++] =
			        find_longest(items, level->anchor.at[i], level->anchor.at[i + 1]);
	level->gap_place = majority_place(gaps, count);
	for (size_t i = 0; i < count; i++)
		if (gaps[i].place == level->gap_place)
			ns[same++] = gaps[i].ns;
	qsort(ns, same, sizeof(*ns), by_time);
	level->gap_ns = same ? ns[same / 2] : 0;
	for (size_t i = 0; i < count; i++)
		ns[i] = gaps[i].second_ns;
	qsort(ns, count, sizeof(*ns), by_time);
	level->has_gap = count && level->anchor.period > 1 &&
	                 same * 10 >= count * GAP_SHARE_TENTHS && level->gap_ns > 0 &&
	                 level->gap_ns >= GAP_RATIO * ns[count / 2];
	free(gaps);
	free(ns);
	return 0;
}

int wt_step_level_init(struct wt_step_level *level, const struct wt_step_data *data,
                       struct wt_step_anchor *anchor)
{
	int rc;

	memset(level, 0, sizeof(*level));
	level->anchor = *anchor;
	anchor->at = NULL;
	level->segments = level->anchor.count - 1;
	rc = find_typical(level, data);
	if (!rc)
		rc = compare_segments(level, data);
	if (!rc)
		rc = find_gap(level, data->items);
	return rc;
}

/* ---- order */

static bool is_same_run(const struct wt_step_data *data, size_t a, size_t b, size_t run)
{
	if (a + run > data->count || b + run > data->count)
		return false;
	return !memcmp(data->classes + a, data->classes + b, run * sizeof(*data->classes));
}

/*
 * How many of the `length` launches from `second` on begin a run that is also at about the same
 * place from `first` on. What was lost or added moves the place.
 */
static size_t count_ordered(const struct wt_step_data *data, size_t first, size_t second,
                            size_t length, size_t run)
{
	int64_t shift = 0;
	size_t found = 0;

	for (size_t i = 0; i < length; i++) {
		int64_t at = (int64_t)(first + i) + shift;

		for (int64_t d = 0; d <= 2 * ORDER_REACH; d++) {
			int64_t by = d & 1 ? -(d + 1) / 2 : d / 2; /* 0, -1, 1, -2, ... */

			if (at + by < 0 || !is_same_run(data, (size_t)(at + by), second + i, run))
				continue;
			shift += by;
			found++;
			break;
		}
	}
	return found;
}

double wt_step_level_order(const struct wt_step_level *level, const struct wt_step_data *data)
{
	/* With few kernels short runs are the same by chance. */
	size_t run = data->class_count < 8 ? 12 : 4;
	size_t every = level->in_a_row / SAMPLES + 1, seen = 0, found = 0, all = 0;

	for (size_t i = level->first_alike + 1; i <= level->last_alike; i++) {
		size_t length = length_of(level, i);

		if (!level->is_alike[i] || !level->is_alike[i - 1] || seen++ % every)
			continue;
		if (length > ORDER_ITEMS_MAX)
			length = ORDER_ITEMS_MAX;
		/* The last ones have no whole run after them where the data end. */
		if (level->anchor.at[i] + length + run > data->count)
			length = length > run ? length - run : 1;
		found += count_ordered(data, level->anchor.at[i - 1], level->anchor.at[i], length,
		                       run);
		all += length;
	}
	return all ? (double)found / (double)all : 0;
}

void wt_step_level_fini(struct wt_step_level *level)
{
	free(level->anchor.at);
	free(level->typical);
	free(level->is_alike);
	memset(level, 0, sizeof(*level));
}
