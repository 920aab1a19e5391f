/*
 * align.c - see align.h. Pure: any thread, never blocks.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/align.h"

#define SCORED_MAX 512 /* events that tell one shift from another */
#define SHIFT_MARGIN 2 /* beyond what the numbers of events differ by */
#define SHIFTS_MAX 100000
#define CLEARER 4 /* the best shift is by so much better than any other */
#define INLIER_DEVIATIONS 4
#define INLIERS_LEAST 0.75

/* A pair of ends: time on the other clock from the middle, and the difference of the clocks. */
struct pair {
	double t_ns, d_ns;
};

struct line {
	double offset_ns, drift; /* d = offset + drift x t */
	double mad_ns; /* median of what is left */
};

static int by_value(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return a < b ? -1 : a > b;
}

static double median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), by_value);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static double median_of(const struct pair *pairs, size_t count, bool is_t, double *scratch)
{
	for (size_t i = 0; i < count; i++)
		scratch[i] = is_t ? pairs[i].t_ns : pairs[i].d_ns;
	return median(scratch, count);
}

static double rest_of(const struct pair *pair, const struct line *line)
{
	return pair->d_ns - line->offset_ns - line->drift * pair->t_ns;
}

/* Tukey's: slope of the medians of the first and the last third. Pairs by time. */
static struct line resistant_line(const struct pair *pairs, size_t count, double *scratch)
{
	size_t third = count / 3 ? count / 3 : 1;
	const struct pair *last = &pairs[count - third];
	double dt = median_of(last, third, true, scratch) - median_of(pairs, third, true, scratch);
	double dd =
	        median_of(last, third, false, scratch) - median_of(pairs, third, false, scratch);
	struct line line = {.drift = dt > 0 ? dd / dt : 0};

	for (size_t i = 0; i < count; i++)
		scratch[i] = pairs[i].d_ns - line.drift * pairs[i].t_ns;
	line.offset_ns = median(scratch, count);
	for (size_t i = 0; i < count; i++)
		scratch[i] = fabs(rest_of(&pairs[i], &line));
	line.mad_ns = median(scratch, count);
	return line;
}

/* ---- which is which */

struct overlap {
	size_t first, count; /* events of the other; of the reference `shift` later */
};

static struct overlap overlap_of(const struct wt_align_run *reference,
                                 const struct wt_align_run *other, int64_t shift)
{
	int64_t first = shift < 0 ? -shift : 0;
	int64_t end = (int64_t)reference->count - shift;

	if (end > (int64_t)other->count)
		end = (int64_t)other->count;
	return (struct overlap){(size_t)first, end > first ? (size_t)(end - first) : 0};
}

static bool are_named_alike(const struct wt_align_run *reference, const struct wt_align_run *other,
                            int64_t shift, const struct overlap *overlap)
{
	for (size_t i = overlap->first; i < overlap->first + overlap->count; i++)
		if (other->events[i].name != reference->events[(int64_t)i + shift].name)
			return false;
	return true;
}

/* At most `most` of them, spread evenly. Their number. */
static size_t take_pairs(const struct wt_align_run *reference, const struct wt_align_run *other,
                         int64_t shift, const struct overlap *overlap, size_t most,
                         int64_t middle_ns, struct pair *pairs)
{
	size_t count = overlap->count < most ? overlap->count : most;

	for (size_t i = 0; i < count; i++) {
		size_t at = overlap->first + i * overlap->count / count;
		const struct wt_align_event *event = &other->events[at];

		pairs[i].t_ns = (double)(event->end_ns - middle_ns);
		pairs[i].d_ns =
		        (double)(reference->events[(int64_t)at + shift].end_ns - event->end_ns);
	}
	return count;
}

struct choice {
	int64_t shift;
	double mad_ns, second_ns; /* of the next best */
	bool is_any;
};

static void consider(struct choice *choice, int64_t shift, double mad_ns)
{
	if (!choice->is_any || mad_ns < choice->mad_ns) {
		choice->second_ns = choice->is_any ? choice->mad_ns : INFINITY;
		choice->mad_ns = mad_ns;
		choice->shift = shift;
		choice->is_any = true;
	} else if (mad_ns < choice->second_ns) {
		choice->second_ns = mad_ns;
	}
}

static double clearly(double mad_ns)
{
	return CLEARER * (mad_ns + WT_ALIGN_ERROR_LEAST_NS);
}

/* Of events in equal number the first of one is the first of the other, if nothing else fits clearly better. */
static const char *choose_shift(const struct wt_align_run *reference,
                                const struct wt_align_run *other, int64_t middle_ns,
                                struct pair *pairs, double *scratch, int64_t *ret_shift)
{
	int64_t differ = (int64_t)reference->count - (int64_t)other->count;
	int64_t low = (differ < 0 ? differ : 0) - SHIFT_MARGIN;
	int64_t high = (differ > 0 ? differ : 0) + SHIFT_MARGIN;
	struct choice choice = {0};
	double plain_ns = -1;

	if (high - low > SHIFTS_MAX)
		return "one has far more collectives than the other";
	for (int64_t shift = low; shift <= high; shift++) {
		struct overlap overlap = overlap_of(reference, other, shift);
		size_t count;
		struct line line;

		if (overlap.count < WT_ALIGN_EVENTS_MIN ||
		    !are_named_alike(reference, other, shift, &overlap))
			continue;
		count = take_pairs(reference, other, shift, &overlap, SCORED_MAX, middle_ns, pairs);
		line = resistant_line(pairs, count, scratch);
		consider(&choice, shift, line.mad_ns);
		if (!shift)
			plain_ns = line.mad_ns;
	}
	if (!choice.is_any)
		return "they did not launch the same ones in the same order";
	*ret_shift = choice.shift;
	if (!differ && plain_ns >= 0 && plain_ns <= clearly(choice.mad_ns)) {
		*ret_shift = 0;
		return NULL;
	}
	if (choice.second_ns <= clearly(choice.mad_ns))
		return "their numbers differ, and which is which can't be told";
	return NULL;
}

/* ---- the line */

struct fit {
	struct line line;
	double error_ns, drift_error;
	size_t inliers;
};

/* Least squares over what lies near the resistant line; pairs become those, in order. */
static void fit_line(struct pair *pairs, size_t count, double *scratch, struct fit *fit)
{
	struct line rough = resistant_line(pairs, count, scratch);
	double near_ns = fmax(INLIER_DEVIATIONS * 1.4826 * rough.mad_ns, WT_ALIGN_ERROR_LEAST_NS);
	double n = 0, t = 0, d = 0, tt = 0, td = 0, squares = 0, deviation;

	fit->inliers = 0;
	for (size_t i = 0; i < count; i++)
		if (fabs(rest_of(&pairs[i], &rough)) <= near_ns)
			pairs[fit->inliers++] = pairs[i];
	n = (double)fit->inliers;
	for (size_t i = 0; i < fit->inliers; i++) {
		t += pairs[i].t_ns / n;
		d += pairs[i].d_ns / n;
	}
	for (size_t i = 0; i < fit->inliers; i++) {
		tt += (pairs[i].t_ns - t) * (pairs[i].t_ns - t);
		td += (pairs[i].t_ns - t) * (pairs[i].d_ns - d);
	}
	fit->line.drift = tt > 0 ? td / tt : 0;
	fit->line.offset_ns = d - fit->line.drift * t;
	for (size_t i = 0; i < fit->inliers; i++)
		squares += rest_of(&pairs[i], &fit->line) * rest_of(&pairs[i], &fit->line);
	deviation = sqrt(squares / fmax(n - 2, 1));
	fit->drift_error = tt > 0 ? 2 * deviation / sqrt(tt) : 0;
	if (fabs(fit->line.drift) <= fit->drift_error) {
		fit->line.drift = 0;
		fit->line.offset_ns = d;
	}
	for (size_t i = 0; i < fit->inliers; i++)
		scratch[i] = fabs(rest_of(&pairs[i], &fit->line));
	qsort(scratch, fit->inliers, sizeof(*scratch), by_value);
	fit->error_ns = scratch[(size_t)(0.95 * (n - 1) + 0.5)];
}

/* ---- what can't be */

struct bounds {
	int64_t apart;
	double limit_ns;
};

/* No rank leaves before the last has come: by how much the other clock can be moved at most. */
static struct bounds bounds_of(const struct wt_align_run *reference,
                               const struct wt_align_run *other, const struct overlap *overlap,
                               const struct wt_align *align)
{
	double earlier_ns = INFINITY, later_ns = INFINITY;
	struct bounds bounds = {0};

	for (size_t i = overlap->first; i < overlap->first + overlap->count; i++) {
		const struct wt_align_event *b = &other->events[i];
		const struct wt_align_event *a = &reference->events[(int64_t)i + align->shift];
		double early_ns = (double)(wt_align_time(align, b->end_ns) - a->start_ns);
		double late_ns = (double)(a->end_ns - wt_align_time(align, b->start_ns));

		if (early_ns <= 0 || late_ns <= 0) {
			bounds.apart++;
			continue;
		}
		earlier_ns = fmin(earlier_ns, early_ns);
		later_ns = fmin(later_ns, late_ns);
	}
	bounds.limit_ns = fmax(earlier_ns, later_ns);
	return bounds;
}

static void judge(const struct wt_align_run *reference, const struct wt_align_run *other,
                  const struct overlap *overlap, bool is_instant, const struct fit *fit,
                  struct wt_align *align)
{
	double half_ns =
	        (double)(other->events[other->count - 1].end_ns - other->events[0].end_ns) / 2;
	struct bounds bounds;

	align->offset_ns = llround(fit->line.offset_ns);
	align->drift = fit->line.drift;
	align->events = (int64_t)overlap->count;
	align->error_ns =
	        llround(fmax(fit->error_ns, WT_ALIGN_ERROR_LEAST_NS) + fit->drift_error * half_ns);
	align->limit_ns = -1;
	if ((double)fit->inliers < INLIERS_LEAST * (double)overlap->count)
		align->reason = "the ends of their collectives lie on no line: was a clock set?";
	if (align->reason || is_instant)
		return;
	bounds = bounds_of(reference, other, overlap, align);
	if (bounds.apart * 100 > align->events * WT_ALIGN_APART_PERCENT_MAX)
		align->reason = "their collectives are not at the same time: of several groups?";
	else
		align->limit_ns = llround(fmin(bounds.limit_ns, 9e18));
	/* What can't be is no error. */
	if (align->limit_ns >= 0 && align->limit_ns < align->error_ns)
		align->error_ns = align->limit_ns;
}

int wt_align_find(const struct wt_align_run *reference, const struct wt_align_run *other,
                  bool is_instant, struct wt_align *ret_align)
{
	size_t room = other->count > SCORED_MAX ? other->count : SCORED_MAX;
	struct pair *pairs = NULL;
	double *scratch = NULL;
	struct overlap overlap;
	struct fit fit = {0};

	*ret_align = (struct wt_align){.error_ns = -1, .limit_ns = -1};
	if (reference->count < WT_ALIGN_EVENTS_MIN || other->count < WT_ALIGN_EVENTS_MIN) {
		ret_align->reason = "there are too few";
		return 0;
	}
	pairs = calloc(room, sizeof(*pairs));
	scratch = calloc(room, sizeof(*scratch));
	if (!pairs || !scratch) {
		free(pairs);
		free(scratch);
		return -ENOMEM;
	}
	ret_align->middle_ns =
	        other->events[0].end_ns / 2 + other->events[other->count - 1].end_ns / 2;
	ret_align->reason = choose_shift(reference, other, ret_align->middle_ns, pairs, scratch,
	                                 &ret_align->shift);
	if (!ret_align->reason) {
		size_t count;

		overlap = overlap_of(reference, other, ret_align->shift);
		count = take_pairs(reference, other, ret_align->shift, &overlap, overlap.count,
		                   ret_align->middle_ns, pairs);
		fit_line(pairs, count, scratch, &fit);
		judge(reference, other, &overlap, is_instant, &fit, ret_align);
	}
	free(pairs);
	free(scratch);
	return 0;
}

int64_t wt_align_time(const struct wt_align *align, int64_t t_ns)
{
	double more_ns = floor(align->drift * (double)(t_ns - align->middle_ns) + 0.5);

	return t_ns + align->offset_ns + (int64_t)more_ns;
}
