/*
 * steps.c - see steps.h. Pure: any thread, never blocks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/steps_internal.h"

#define COVER_LEAST 0.5 /* of a level's region in alike segments */
#define REGION_LEAST 0.3 /* of the items in the region */
#define TIME_MAX_NS ((int64_t)1 << 61) /* year 2043 as CLOCK_REALTIME */
#define CONFIDENCE_LEAST 0.5
#define ORDER_LEAST 0.4 /* of launches in the same order as in the step before */
#define SCORE_LEAST 0.25 /* of an anchor: less comes back by chance */
#define STRANGE_SCORE 0.7 /* of an anchor whose segments are not alike */
#define LAST_PARTS 4
#define LAST_PART_LEAST 1000u /* items: in fewer, much comes back by chance */
#define LAST_STEPS_LEAST 16u
#define KNOWN_BEFORE_MOST 0.4
#define SLOW_RATIO 1.5 /* alike steps at the start that take so much longer still warm up */

static double cover_of(const struct wt_step_level *level)
{
	return level->region_weight ? (double)level->alike_weight / (double)level->region_weight
	                            : 0;
}

static bool is_usable(const struct wt_step_level *level, size_t count)
{
	/* Alike ones that take turns with others are half of something. */
	return level->anchor.score >= SCORE_LEAST && level->alike >= WT_STEPS_LEAST &&
	       cover_of(level) >= COVER_LEAST && level->in_a_row * 2 >= level->alike - 1 &&
	       (double)level->region_items >= REGION_LEAST * (double)count;
}

static double confidence_of(const struct wt_step_level *level, int points)
{
	double number = (double)level->alike / 8;
	double exact = (double)level->exact / (0.9 * (double)level->alike);
	double doubt = points >= 4 ? 1 : points == 3 ? 0.9 : points == 2 ? 0.75 : 0.4;

	/* Two lengths that take turns are two halves of something. */
	if (level->exact * 10 < level->alike * 6 || level->alike == 0)
		return 0;
	return cover_of(level) * (number < 1 ? number : 1) * (exact < 1 ? exact : 1) * doubt;
}

/* ---- where in a segment the step begins */

/* After the update that is followed by the most items without one; 0: none in the segment. */
static size_t after_update(const struct wt_step_item *items, size_t count, size_t first, size_t end,
                           size_t period)
{
	size_t best = 0, longest = 0;

	for (size_t i = first ? first : 1; i < end; i++) {
		size_t quiet = 0;

		if (!(items[i - 1].flags & WT_STEP_ITEM_UPDATE))
			continue;
		while (i + quiet < count && quiet < period &&
		       !(items[i + quiet].flags & WT_STEP_ITEM_UPDATE))
			quiet++;
		if (i + quiet == count)
			quiet = period; /* the data end: who knows what would have come */
		if (quiet > longest) {
			longest = quiet;
			best = i;
		}
	}
	return best;
}

static size_t at_gap(const struct wt_step_level *level, const struct wt_step_item *items,
                     size_t first, size_t end)
{
	size_t best = 0;

	for (size_t i = first ? first : 1; i < end; i++)
		if (wt_steps_place(items, i) == level->gap_place &&
		    (!best || wt_steps_gap_ns(items, i) > wt_steps_gap_ns(items, best)))
			best = i;
	return best;
}

/*
 * Where the step of each segment begins, the open one after the last anchor included; where the
 * sign is missing, where it usually is. The number of places put into `at`, ascending.
 */
static size_t find_beginnings(const struct wt_step_level *level, const struct wt_step_item *items,
                              size_t count, uint32_t *at)
{
	size_t period = level->anchor.period, usual = 0, kept = 0;

	for (size_t i = 0; i <= level->segments; i++) {
		size_t first = level->anchor.at[i], begin = 0;
		size_t end = i < level->segments ? level->anchor.at[i + 1] : first + period;

		if (end > count)
			end = count;
		if (level->update_items)
			begin = after_update(items, count, first, end, period);
		else if (level->has_gap)
			begin = at_gap(level, items, first, end);
		if (begin)
			usual = begin - first;
		else
			begin = first + usual;
		if (begin < end && (!kept || begin > at[kept - 1]))
			at[kept++] = (uint32_t)begin;
	}
	return kept;
}

/* `level` becomes one whose segments begin where steps do. The ends of data may be ends of steps. */
static int rephase(struct wt_step_level *level, const struct wt_step_data *data)
{
	size_t count = data->count;
	struct wt_step_anchor anchor = level->anchor;
	bool has_gap = level->has_gap;
	int rc;

	anchor.at = calloc(level->segments + 3, sizeof(*anchor.at));
	if (!anchor.at)
		return -ENOMEM;
	anchor.count = find_beginnings(level, data->items, count, anchor.at + 1);
	if (anchor.count < 2) {
		free(anchor.at);
		return 0;
	}
	if (wt_steps_is_near(anchor.at[1], anchor.period, 200))
		anchor.count++; /* at[0] is 0 */
	else
		memmove(anchor.at, anchor.at + 1, anchor.count * sizeof(*anchor.at));
	if (wt_steps_is_near(count - anchor.at[anchor.count - 1], anchor.period, 200))
		anchor.at[anchor.count++] = (uint32_t)count;
	wt_step_level_fini(level);
	rc = wt_step_level_init(level, data, &anchor);
	level->has_gap = has_gap;
	return rc;
}

/* ---- the result */

static int by_time(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return a < b ? -1 : a > b;
}

/* From its first launch to that of the next step; the last in the data: to its own last launch. */
static int64_t time_of(const struct wt_step_item *items, size_t count, const struct wt_step *step)
{
	return items[step->end < count ? step->end : count - 1].time_ns -
	       items[step->first].time_ns;
}

/* Alike steps are steady, but for those at the start that are slow: something is loaded there. */
static int mark_steady(const struct wt_step_item *items, size_t count, struct wt_steps *steps)
{
	int64_t *times_ns = calloc(steps->count + 1, sizeof(*times_ns));
	size_t alike = 0, first = 0, middle;
	double limit_ns;

	if (!times_ns)
		return -ENOMEM;
	for (size_t i = 0; i < steps->count; i++)
		if (steps->steps[i].is_alike)
			times_ns[alike++] = time_of(items, count, &steps->steps[i]);
	qsort(times_ns, alike, sizeof(*times_ns), by_time);
	middle = alike / 2;
	limit_ns = alike ? SLOW_RATIO * (double)times_ns[middle] : 0;
	free(times_ns);
	for (size_t i = 0; i < steps->count / 2; i++)
		if (!steps->steps[i].is_alike ||
		    (double)time_of(items, count, &steps->steps[i]) > limit_ns)
			first = i + 1;
		else
			break;
	for (size_t i = first; i < steps->count; i++) {
		if (!steps->steps[i].is_alike)
			continue;
		steps->steps[i].is_steady = true;
		if (steps->steady_count++ == 0)
			steps->steady_first = i;
		steps->steady_end = i + 1;
	}
	return 0;
}

static int by_length(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return a < b ? -1 : a > b;
}

/* Steps [from, to] of the level. */
static int take_steps(const struct wt_step_level *level, size_t from, size_t to,
                      struct wt_steps *steps)
{
	uint32_t *lengths = calloc(to - from + 1, sizeof(*lengths));
	size_t alike = 0;

	steps->steps = calloc(to - from + 1, sizeof(*steps->steps));
	if (!lengths || !steps->steps) {
		free(lengths);
		return -ENOMEM;
	}
	for (size_t i = from; i <= to; i++) {
		struct wt_step *step = &steps->steps[steps->count++];

		step->first = level->anchor.at[i];
		step->end = level->anchor.at[i + 1];
		step->is_alike = level->is_alike[i];
		if (step->is_alike)
			lengths[alike++] = (uint32_t)(step->end - step->first);
	}
	qsort(lengths, alike, sizeof(*lengths), by_length);
	steps->period_items = alike ? lengths[alike / 2] : level->anchor.period;
	free(lengths);
	return 0;
}

/* ---- which level */

struct choice {
	struct wt_step_level *level;
	size_t outer_items;
	int points;
	bool is_ambiguous;
};

/*
 * Something comes back regularly inside, but what is between isn't alike: anything may be. So it is
 * with a graph that is launched again and again inside: each launch may be a step.
 */
static bool has_strange_loop(const struct wt_step_level *chosen, const struct wt_step_level *levels,
                             size_t level_count)
{
	if (chosen->graph_repeats >= WT_STEPS_LEAST)
		return true;
	for (size_t i = 0; i < level_count; i++) {
		const struct wt_step_level *one = &levels[i];

		if (one->anchor.period * 2 > chosen->anchor.period + chosen->anchor.period / 8 ||
		    cover_of(one) >= COVER_LEAST)
			continue;
		if (one->anchor.score >= STRANGE_SCORE ||
		    (one->update_items && one->region_items * 2 >= chosen->region_items))
			return true;
	}
	return false;
}

/* From the outermost usable level inwards, as long as the next one is a step rather. */
static struct choice choose(const struct wt_step_data *data, struct wt_step_level *levels,
                            size_t level_count)
{
	struct choice choice = {0};

	for (size_t i = 0; i < level_count; i++) {
		int points;

		if (!is_usable(&levels[i], data->count))
			continue;
		if (!choice.level) {
			choice.level = &levels[i];
			choice.points =
			        wt_steps_points(data, &levels[i], NULL, levels, level_count);
			continue;
		}
		points = wt_steps_points(data, &levels[i], choice.level, levels, level_count);
		if (points <= -3)
			continue; /* of a part of the step; another part may be the steps */
		choice.outer_items = choice.level->anchor.period;
		choice.level = &levels[i];
		choice.points = points;
		if (points < 2) {
			choice.is_ambiguous = true;
			break;
		}
	}
	if (choice.level && has_strange_loop(choice.level, levels, level_count))
		choice.is_ambiguous = true;
	return choice;
}

static bool is_one_kernel(const struct wt_step_item *items, size_t count)
{
	size_t same = 0;

	for (size_t i = 1; i < count; i++)
		same += items[i].signature == items[i - 1].signature;
	return same * 10 > count * 9;
}

static int settle(const struct wt_step_data *data, struct choice *choice, struct wt_steps *steps)
{
	struct wt_step_level *level = choice->level;
	int rc;

	steps->period_items = level->anchor.period;
	steps->outer_items = choice->outer_items;
	steps->confidence = confidence_of(level, choice->points);
	if (wt_step_level_order(level, data) < ORDER_LEAST)
		return 0; /* the same launches in any order: no loop */
	if (choice->is_ambiguous || choice->points < 2) {
		steps->reason = WT_STEPS_AMBIGUOUS;
		return 0;
	}
	steps->is_at_update = level->update_items > 0;
	steps->is_at_gap = !steps->is_at_update && level->has_gap;
	rc = rephase(level, data);
	if (rc)
		return rc;
	steps->confidence = confidence_of(level, choice->points);
	if (steps->confidence < CONFIDENCE_LEAST) {
		steps->reason = WT_STEPS_UNSURE;
		return 0;
	}
	steps->reason = WT_STEPS_FOUND;
	rc = take_steps(level, level->first_alike, level->last_alike, steps);
	return rc ? rc : mark_steady(data->items, data->count, steps);
}

static int find(const struct wt_step_data *data, struct wt_step_anchor *anchors,
                size_t anchor_count, struct wt_steps *steps)
{
	struct wt_step_level *levels = calloc(anchor_count + 1, sizeof(*levels));
	size_t level_count = 0;
	struct choice choice;
	int rc = levels ? 0 : -ENOMEM;

	for (size_t i = 0; i < anchor_count && !rc; i++)
		rc = wt_step_level_init(&levels[level_count++], data, &anchors[i]);
	if (!rc) {
		choice = choose(data, levels, level_count);
		if (choice.level)
			rc = settle(data, &choice, steps);
		else if (is_one_kernel(data->items, data->count))
			steps->reason = WT_STEPS_ONE_KERNEL;
	}
	for (size_t i = 0; i < level_count; i++)
		wt_step_level_fini(&levels[i]);
	free(levels);
	return rc;
}

static int by_signature(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

/* Signatures, sorted and each once, to find the class of one. */
static size_t sort_signatures(const struct wt_step_item *items, size_t count, uint64_t *sorted)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		sorted[i] = items[i].signature;
	qsort(sorted, count, sizeof(*sorted), by_signature);
	for (size_t i = 0; i < count; i++)
		if (i == 0 || sorted[i] != sorted[i - 1])
			sorted[kept++] = sorted[i];
	return kept;
}

/* Differences and sums of times are safe. */
static bool are_times_fine(const struct wt_step_item *items, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (items[i].time_ns < -TIME_MAX_NS || items[i].time_ns > TIME_MAX_NS)
			return false;
	return true;
}

/* 0 or -ENOMEM. Free data->classes in either case. */
static int prepare(const struct wt_step_item *items, size_t count, struct wt_step_data *data)
{
	uint64_t *sorted = calloc(count, sizeof(*sorted));
	size_t distinct;

	*data = (struct wt_step_data){.items = items, .count = count};
	data->classes = calloc(count, sizeof(*data->classes));
	if (!sorted || !data->classes) {
		free(sorted);
		return -ENOMEM;
	}
	distinct = sort_signatures(items, count, sorted);
	data->class_count = distinct < WT_STEPS_CLASSES_MAX ? distinct : WT_STEPS_CLASSES_MAX;
	for (size_t i = 0; i < count; i++) {
		const uint64_t *at = bsearch(&items[i].signature, sorted, distinct, sizeof(*sorted),
		                             by_signature);

		data->classes[i] = (uint16_t)((size_t)(at - sorted) % WT_STEPS_CLASSES_MAX);
		data->has_graphs = data->has_graphs || items[i].flags & WT_STEP_ITEM_GRAPH;
	}
	free(sorted);
	return 0;
}

static int find_in(const struct wt_step_item *items, size_t count, struct wt_steps *ret_steps)
{
	struct wt_step_anchor *anchors = NULL;
	size_t anchor_count = 0;
	struct wt_step_data data;
	int rc;

	memset(ret_steps, 0, sizeof(*ret_steps));
	ret_steps->reason = WT_STEPS_TOO_FEW;
	if (count <= WT_STEPS_LEAST || count >= UINT32_MAX)
		return 0;
	ret_steps->reason = WT_STEPS_BAD_TIMES;
	if (!are_times_fine(items, count))
		return 0;
	ret_steps->reason = WT_STEPS_NO_LOOP;
	rc = prepare(items, count, &data);
	if (!rc)
		rc = wt_steps_anchors(&data, &anchors, &anchor_count);
	if (!rc)
		rc = find(&data, anchors, anchor_count, ret_steps);
	for (size_t i = 0; i < anchor_count; i++)
		free(anchors[i].at);
	free(anchors);
	free(data.classes);
	return rc;
}

/* Of the items before the first step, the share that steps launch, too; -1: no memory. */
static double share_known_before(const struct wt_step_item *items, const struct wt_steps *steps)
{
	size_t first = steps->steps[0].first, known = 0;
	size_t count = steps->steps[steps->count - 1].end - first;
	uint64_t *sorted = calloc(count, sizeof(*sorted));
	size_t distinct;

	if (!sorted)
		return -1;
	distinct = sort_signatures(items + first, count, sorted);
	for (size_t i = 0; i < first; i++)
		known += bsearch(&items[i].signature, sorted, distinct, sizeof(*sorted),
		                 by_signature) != NULL;
	free(sorted);
	return first ? (double)known / (double)first : 0;
}

/*
 * A program that compiles and tunes first can launch more before its steps than in them. Where the
 * whole has no loop, its last half may be one, or its last quarter; but only if what came before
 * was something else, or it is a stretch of something irregular.
 */
int wt_steps_find(const struct wt_step_item *items, size_t count, struct wt_steps *ret_steps)
{
	int rc = find_in(items, count, ret_steps);

	for (size_t part = 2; part <= LAST_PARTS && !rc && ret_steps->reason == WT_STEPS_NO_LOOP &&
	                      count / part >= LAST_PART_LEAST;
	     part *= 2) {
		size_t from = count - count / part;
		struct wt_steps late;
		double known = 1;

		rc = find_in(items + from, count - from, &late);
		for (size_t i = 0; i < late.count; i++) {
			late.steps[i].first += from;
			late.steps[i].end += from;
		}
		late.searched_from = from;
		if (!rc && late.reason == WT_STEPS_FOUND && late.count >= LAST_STEPS_LEAST)
			known = share_known_before(items, &late);
		if (known < 0)
			rc = -ENOMEM;
		if (known >= 0 && known <= KNOWN_BEFORE_MOST)
			*ret_steps = late;
		else
			wt_steps_fini(&late);
	}
	return rc;
}

/* The marks as an anchor; what follows the last one may be a step too. 0 or -ENOMEM. */
static int anchor_of_marks(const uint32_t *marks, size_t mark_count, size_t count,
                           struct wt_step_anchor *anchor)
{
	uint32_t *lengths = calloc(mark_count, sizeof(*lengths));

	*anchor = (struct wt_step_anchor){.count = mark_count, .width = 1};
	anchor->at = calloc(mark_count + 1, sizeof(*anchor->at));
	if (!anchor->at || !lengths) {
		free(anchor->at);
		free(lengths);
		return -ENOMEM;
	}
	memcpy(anchor->at, marks, mark_count * sizeof(*marks));
	for (size_t i = 0; i + 1 < mark_count; i++)
		lengths[i] = marks[i + 1] - marks[i];
	qsort(lengths, mark_count - 1, sizeof(*lengths), by_length);
	anchor->period = lengths[(mark_count - 2) / 2];
	free(lengths);
	if (wt_steps_is_near(count - marks[mark_count - 1], anchor->period, 32))
		anchor->at[anchor->count++] = (uint32_t)count;
	return 0;
}

int wt_steps_from_marks(const struct wt_step_item *items, size_t count, const uint32_t *marks,
                        size_t mark_count, struct wt_steps *ret_steps)
{
	struct wt_step_level level = {0};
	struct wt_step_anchor anchor = {0};
	struct wt_step_data data;
	int rc;

	memset(ret_steps, 0, sizeof(*ret_steps));
	ret_steps->reason = WT_STEPS_TOO_FEW;
	if (mark_count < 2 || count >= UINT32_MAX)
		return 0;
	ret_steps->reason = WT_STEPS_BAD_TIMES;
	if (!are_times_fine(items, count))
		return 0;
	rc = prepare(items, count, &data);
	if (!rc)
		rc = anchor_of_marks(marks, mark_count, count, &anchor);
	if (!rc)
		rc = wt_step_level_init(&level, &data, &anchor);
	if (!rc) {
		/* The last one is a guess: a step if it is like the others. */
		if (level.segments == mark_count && !level.is_alike[level.segments - 1])
			level.segments--;
		ret_steps->reason = WT_STEPS_FOUND;
		ret_steps->confidence = cover_of(&level);
		rc = take_steps(&level, 0, level.segments - 1, ret_steps);
	}
	if (!rc)
		rc = mark_steady(items, count, ret_steps);
	wt_step_level_fini(&level);
	free(data.classes);
	return rc;
}

void wt_steps_fini(struct wt_steps *steps)
{
	free(steps->steps);
	steps->steps = NULL;
	steps->count = 0;
}

const char *wt_steps_reason_text(enum wt_steps_reason reason)
{
	switch (reason) {
	case WT_STEPS_FOUND:
		return NULL;
	case WT_STEPS_TOO_FEW:
		return "too few launches";
	case WT_STEPS_NO_LOOP:
		return "no sequence of launches comes back regularly for most of the run";
	case WT_STEPS_ONE_KERNEL:
		return "one kernel over and over: nothing tells where a step begins";
	case WT_STEPS_AMBIGUOUS:
		return "there is a loop, which may be the steps or a loop inside a step";
	case WT_STEPS_BAD_TIMES:
		return "launches have times that can't be";
	case WT_STEPS_UNSURE:
		return "there is a loop, but it is too irregular to be sure";
	}
	return "not looked for";
}
