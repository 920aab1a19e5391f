/*
 * contrast.c - see contrast.h. Pure but for memory; any thread.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/contrast.h"

#define SPREAD_ERRORS 3 /* of few runs that differ: so many errors of their difference are margin */

/* What the runs of a side say: their mean, its variance by steps, and by how much they differ. */
struct side {
	double mean, variance; /* of the mean, by the steps within */
	double part; /* sum of variance_i^2 / freedom_i, for Satterthwaite */
	double squares; /* of run means about their mean */
	bool is_known; /* each run's noise is */
};

static struct side sum_side(const struct wt_contrast_side *runs, bool is_ratio)
{
	struct side side = {.is_known = runs->count > 0};
	double n = (double)runs->count;

	for (size_t i = 0; i < runs->count; i++)
		side.mean += (is_ratio ? log(runs->runs[i].mean) : runs->runs[i].mean) / n;
	for (size_t i = 0; i < runs->count; i++) {
		const struct wt_mean *run = &runs->runs[i];
		double error = is_ratio ? run->error / run->mean : run->error;
		double mean = is_ratio ? log(run->mean) : run->mean;
		double variance = error * error / (n * n);

		side.squares += (mean - side.mean) * (mean - side.mean);
		if (run->error < 0 || !(run->freedom > 0)) {
			side.is_known = false;
			continue;
		}
		side.variance += variance;
		side.part += variance * variance / run->freedom;
	}
	return side;
}

static bool has_all(const struct wt_contrast_side *runs)
{
	for (size_t i = 0; i < runs->count; i++)
		if (!(runs->runs[i].mean > 0))
			return false;
	return true;
}

static double plain_mean(const struct wt_contrast_side *runs)
{
	double sum = 0;

	for (size_t i = 0; i < runs->count; i++)
		sum += runs->runs[i].mean / (double)runs->count;
	return sum;
}

/* Error, degrees of freedom and margin of one quantity. False: nothing is known of its noise. */
static bool measure(struct wt_contrast *one)
{
	bool is_log = one->is_ratio && has_all(&one->before) && has_all(&one->after);
	struct side before = sum_side(&one->before, is_log), after = sum_side(&one->after, is_log);
	double na = (double)one->before.count, nb = (double)one->after.count;
	double between = na + nb - 2, within = before.variance + after.variance, spread = 0;

	one->mean_before = is_log ? exp(before.mean) : plain_mean(&one->before);
	one->mean_after = is_log ? exp(after.mean) : plain_mean(&one->after);
	one->change = one->mean_after - one->mean_before;
	one->shift = after.mean - before.mean;
	one->is_repeated = between >= WT_CONTRAST_FREEDOM_LEAST;
	if (!one->why && one->is_ratio && !is_log)
		one->why = "some of the runs have none of it";
	if (!one->why && is_log &&
	    sqrt(fmax(before.variance, after.variance)) > WT_CONTRAST_ERROR_MOST)
		one->why = "it differs too much from step to step";
	if (one->why || !before.is_known || !after.is_known)
		return false;
	if (between > 0)
		spread = (before.squares + after.squares) / between * (1 / na + 1 / nb);
	one->used_margin = one->resolution;
	if (one->is_repeated) {
		one->error = sqrt(spread > within ? spread : within);
		one->freedom = between;
		return true;
	}
	one->used_margin += one->margin;
	if (SPREAD_ERRORS * sqrt(spread) > one->used_margin)
		one->used_margin = SPREAD_ERRORS * sqrt(spread);
	one->error = sqrt(within);
	one->freedom = within > 0 ? within * within / (before.part + after.part) : 1;
	return true;
}

static double chance_of(const struct wt_contrast *one)
{
	double beyond = fabs(one->shift) - one->used_margin;

	if (beyond <= 0)
		return 1;
	return one->error > 0 ? wt_student_tails(beyond / one->error, one->freedom) : 0;
}

static double half_width(const struct wt_contrast *one, double level)
{
	double noise = one->error > 0 ? wt_student_quantile(level, one->freedom) * one->error : 0;

	return one->used_margin + noise;
}

/* The change that a shift is. */
static double amount(const struct wt_contrast *one, double shift)
{
	return one->is_ratio ? one->mean_before * expm1(shift) : shift;
}

static int by_chance(const void *left, const void *right)
{
	const struct wt_contrast *const *a = left, *const *b = right;

	if ((*a)->chance != (*b)->chance)
		return (*a)->chance < (*b)->chance ? -1 : 1;
	return *a < *b ? -1 : *a > *b; /* of one array */
}

/* Holm: the least chance by alpha / m, the next by alpha / (m - 1), until one is not below. */
static void judge_in_order(struct wt_contrast **order, size_t count, double alpha)
{
	bool is_over = false;
	size_t left = count;

	for (size_t i = 0; i < count; i++) {
		struct wt_contrast *one = order[i];
		double width;

		one->level = alpha / (double)left;
		is_over = is_over || !(one->chance < one->level);
		if (!is_over)
			left--;
		width = half_width(one, one->level);
		one->low = amount(one, one->shift - width);
		one->high = amount(one, one->shift + width);
		one->has_interval = true;
		one->verdict = is_over          ? WT_CONTRAST_SAME
		               : one->shift > 0 ? WT_CONTRAST_MORE
		                                : WT_CONTRAST_LESS;
	}
}

int wt_contrast_judge(struct wt_contrast *family, size_t count, double alpha)
{
	struct wt_contrast **order = calloc(count + 1, sizeof(*order));
	size_t judged = 0;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct wt_contrast *one = &family[i];
		bool is_known = measure(one);

		one->chance = 1;
		one->verdict = WT_CONTRAST_UNJUDGED;
		one->has_interval = false;
		if (!is_known && !one->why)
			one->why = "too few steps to tell noise";
		if (one->why)
			continue;
		one->chance = chance_of(one);
		order[judged++] = one;
	}
	qsort(order, judged, sizeof(struct wt_contrast *), by_chance);
	judge_in_order(order, judged, alpha > 0 ? alpha : WT_CONTRAST_ALPHA);
	free(order);
	return 0;
}

enum wt_contrast_gate wt_contrast_between(const struct wt_contrast *contrast, double by,
                                          double alpha, double *ret_low, double *ret_high)
{
	double width;

	*ret_low = *ret_high = NAN;
	if (!contrast->has_interval || !contrast->is_ratio)
		return WT_CONTRAST_OPEN;
	width = half_width(contrast, alpha > 0 ? alpha : WT_CONTRAST_ALPHA);
	*ret_low = expm1(contrast->shift - width);
	*ret_high = expm1(contrast->shift + width);
	if (*ret_low > by)
		return WT_CONTRAST_YES;
	return *ret_high <= by ? WT_CONTRAST_NO : WT_CONTRAST_OPEN;
}
