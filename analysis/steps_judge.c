/*
 * steps_judge.c - is a level the step, or a loop inside it? (steps.h) Pure, any thread.
 *
 * Ten layers and a head, ten micro-batches and an optimizer, ten steps and a log line are all "ten
 * times A, then B": only what is known of such programs tells them apart.
 */
#include <stdlib.h>

#include "analysis/steps_internal.h"

#define LARGE_ITEMS 64 /* no layer launches so many kernels, most steps do */
#define MANY_REPEATS 512 /* more than four steps of 126 layers, which are too few to be seen */
#define COUNTED_REPEATS 64 /* layers and micro-batches are at most about so many */
#define REPEATS_SHOWN 5u

/* What the outer loop has beside the inner ones, per turn of it. */
struct rest {
	double all_items, new_items; /* new: of signatures that the inner one lacks */
	double repeats; /* of the inner one, alike */
	double segments; /* of it, alike or not */
	bool is_constant; /* number of repeats */
	bool is_known; /* there is an outer loop, or something like it */
};

static int by_value(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return a < b ? -1 : a > b;
}

/* Sorts. At least 7 of 10 are the median, give or take an eighth and one that noise cost. */
static bool is_constant(uint32_t *numbers, size_t count, double *ret_median)
{
	size_t near = 0, middle = count / 2;

	*ret_median = 0;
	if (count == 0)
		return true;
	qsort(numbers, count, sizeof(*numbers), by_value);
	for (size_t i = 0; i < count; i++)
		near += numbers[i] + 1 + numbers[middle] / 8 >= numbers[middle] &&
		        numbers[i] <= numbers[middle] + 1 + numbers[middle] / 8;
	*ret_median = numbers[middle];
	return near * 10 >= count * 7;
}

/* How many alike inner segments begin in each alike segment of the outer level. */
static int count_repeats(const struct wt_step_level *inner, const struct wt_step_level *outer,
                         struct rest *rest)
{
	uint32_t *numbers = calloc(2 * outer->segments + 1, sizeof(*numbers));
	uint32_t *others;
	size_t at = 0, count = 0;

	if (!numbers)
		return -1;
	others = numbers + outer->segments;
	for (size_t i = outer->first_alike; i <= outer->last_alike; i++) {
		uint32_t number = 0, all = 0;

		while (at < inner->anchor.count && inner->anchor.at[at] < outer->anchor.at[i])
			at++;
		for (; at < inner->anchor.count && inner->anchor.at[at] < outer->anchor.at[i + 1];
		     at++, all++)
			number += at < inner->segments && inner->is_alike[at];
		if (!outer->is_alike[i])
			continue;
		others[count] = all;
		numbers[count++] = number;
	}
	(void)is_constant(others, count, &rest->segments);
	rest->is_constant = is_constant(numbers, count, &rest->repeats);
	free(numbers);
	return 0;
}

static int compare_outer(size_t class_count, const struct wt_step_level *inner,
                         const struct wt_step_level *outer, struct rest *rest)
{
	rest->is_known = true;
	if (count_repeats(inner, outer, rest))
		return -1;
	/* What varies from turn to turn (kernels chosen by the length of a sequence) says nothing. */
	for (size_t c = 0; c < class_count; c++) {
		double more = outer->constant[c] - rest->segments * inner->typical[c];

		if (more > 0)
			rest->all_items += more;
		if (inner->often[c] == 0)
			rest->new_items += outer->constant[c];
	}
	if (rest->all_items < rest->new_items)
		rest->all_items = rest->new_items;
	return 0;
}

/* Of signatures that the typical segment lacks. */
static size_t new_in_segment(const struct wt_step_data *data, const struct wt_step_level *level,
                             size_t segment)
{
	size_t new_items = 0;

	for (size_t i = level->anchor.at[segment]; i < level->anchor.at[segment + 1]; i++)
		new_items += level->often[data->classes[i]] == 0;
	return new_items;
}

/* No outer level is known: segments in which something else comes now and then tell of one. */
static int look_for_outer(const struct wt_step_data *data, const struct wt_step_level *inner,
                          bool is_large, struct rest *rest)
{
	size_t period = inner->anchor.period, last = inner->first_alike, count = 0;
	uint32_t *numbers = calloc(inner->segments + 1, sizeof(*numbers));

	if (!numbers)
		return -1;
	for (size_t i = inner->first_alike; i <= inner->last_alike; i++) {
		size_t new_items = new_in_segment(data, inner, i);
		size_t length = inner->anchor.at[i + 1] - inner->anchor.at[i];

		if (new_items == 0 || new_items * 10 < period)
			continue;
		if (count)
			numbers[count - 1] = (uint32_t)(i - last);
		last = i;
		count++;
		rest->new_items += (double)new_items;
		rest->all_items +=
		        (double)(length > period + new_items ? length - period : new_items);
	}
	/*
	 * A single one is no loop, unless the inner one looks like a part of something; and what
	 * most segments have is not of an outer loop.
	 */
	rest->is_known = count * 2 <= inner->alike + 1 && (count > 1 || (count == 1 && !is_large));
	if (rest->is_known) {
		rest->new_items /= (double)count;
		rest->all_items /= (double)count;
		rest->is_constant = is_constant(numbers, count - 1, &rest->repeats);
		if (count == 1)
			rest->repeats = (double)inner->segments;
	}
	free(numbers);
	return 0;
}

/* Does a loop of at least REPEATS_SHOWN turns take a good part of it? */
static bool has_loop_inside(const struct wt_step_level *level, const struct wt_step_level *all,
                            size_t all_count)
{
	for (size_t l = 0; l < all_count; l++) {
		const struct wt_step_level *one = &all[l];
		uint64_t in_runs = 0;

		if (one->anchor.period < 2 ||
		    one->anchor.period * REPEATS_SHOWN > level->anchor.period)
			continue;
		for (size_t i = 0, run = 0; i < one->segments; i++) {
			run = one->is_alike[i] ? run + 1 : 0;
			if (run >= REPEATS_SHOWN - 1)
				in_runs += one->anchor.period;
		}
		if (in_runs * 10 >= level->region_items)
			return true;
	}
	return false;
}

/* An optimizer runs now and then: after so many micro-batches, say. */
static bool has_updates_inside(const struct wt_step_data *data, const struct wt_step_level *level)
{
	size_t first = level->anchor.at[level->first_alike], bursts = 0;

	for (size_t i = first; i < first + level->region_items && bursts < 2; i++)
		bursts += data->items[i].flags & WT_STEP_ITEM_UPDATE &&
		          (i == first || !(data->items[i - 1].flags & WT_STEP_ITEM_UPDATE));
	return bursts > 1;
}

static int points_of_gaps(const struct wt_step_level *inner, const struct wt_step_level *outer,
                          const struct rest *rest, bool is_like_step)
{
	double period = (double)inner->anchor.period;

	if (inner->has_gap)
		return outer && outer->has_gap && outer->gap_ns >= 3 * inner->gap_ns ? 1 : 2;
	/* The host waits once per turn of the outer loop only. */
	return outer && outer->has_gap && !is_like_step && rest->new_items * 4 >= period ? -3 : 0;
}

static int points_of_rest(const struct wt_step_level *inner, const struct rest *rest,
                          bool is_like_step)
{
	double period = (double)inner->anchor.period;
	int points = 0;

	/* Nothing of its own: evaluation runs the forward kernels again. Heads of models have. */
	if (rest->new_items < 0.5 ||
	    (rest->new_items * 5 <= rest->all_items && rest->all_items * 5 >= period))
		return 3;
	if (!is_like_step && rest->new_items * 4 >= period)
		points -= 2;
	if (!rest->is_constant)
		points += is_like_step ? 2 : 1;
	else if (rest->repeats > COUNTED_REPEATS)
		points += is_like_step ? 1 : -1;
	else
		points -= 2;
	return points;
}

int wt_steps_points(const struct wt_step_data *data, const struct wt_step_level *inner,
                    const struct wt_step_level *outer, const struct wt_step_level *all,
                    size_t all_count)
{
	bool has_loop = inner->has_graph || has_loop_inside(inner, all, all_count);
	bool is_large = inner->anchor.period >= LARGE_ITEMS;
	bool is_like_step = has_loop || is_large;
	struct rest rest = {0};
	int points = has_loop, rc;

	rc = outer ? compare_outer(data->class_count, inner, outer, &rest)
	           : look_for_outer(data, inner, is_like_step, &rest);
	if (rc)
		return 0;
	if (outer && rest.repeats < 2)
		return -4; /* it doesn't repeat inside */
	if (inner->update_items && rest.new_items < (double)inner->anchor.period)
		return 4;
	if (!inner->update_items && has_updates_inside(data, inner))
		return -4;
	points += points_of_gaps(inner, outer, &rest, is_like_step);
	if (rest.is_known)
		return points + points_of_rest(inner, &rest, is_like_step);
	if (inner->alike >= MANY_REPEATS || is_like_step || inner->has_gap)
		points += 2;
	return points;
}
