/*
 * fold_solution.c - see fold_internal.h: solving, and the errors of the solution.
 *
 * ERRORS. The covariance of a solution is sigma^2 G^-1. Rather than solving once for each
 * configuration, FOLD_PROBES right-hand sides are kept of what pure noise of variance 1 would have
 * added (a random sign for each sample); their solutions are draws from that covariance, for all
 * configurations at once. To each is added a draw from what is known beforehand, that a
 * configuration keeps some number of the device's SMs active (standard deviation: all of them): what the
 * samples don't tell has an error as large as the device, rather than one that solving happens not
 * to see. Each draw begins at that and is moved by the data, so that stopping early errs on the
 * side of a larger error. Unknowns that are 0 count as known only if their gradient says so clearly.
 *
 * sigma is that of all samples, or of those that a configuration was in, if that is more: kernels that
 * differ from launch to launch have larger errors. What a wrong offset would move (FOLD_RHS_SHIFT) is
 * added in squares.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/fold_internal.h"

#define TOLERANCE 1e-8
#define ROUGH_TOLERANCE 1e-5 /* of a solution that only looks back */
#define PROBE_TOLERANCE 1e-6
#define OTHER_TOLERANCE 1e-4 /* of channels that nothing else builds on */
#define WIDTH (1 + FOLD_PROBES)
#define SAMPLES_PER_BIN 3 /* in sum of their parts */

void fold_solution_fini(struct fold_solution *solution)
{
	for (int i = 0; i < FOLD_SOLVED_CHANNELS; i++)
		free(solution->x[i]);
	free(solution->bounded);
	free(solution->map);
	free(solution->probe);
	free(solution->own);
	*solution = (struct fold_solution){0};
}

/* ---- solving */

/* Fewer bins where few samples saw the block. each: of the block's are one at least. */
static int make_map(const struct wt_fold *fold, uint32_t each, struct fold_solution *solution)
{
	double length_ns = fold->samples ? fold->sample_ns / (double)fold->samples : 1;
	size_t next = 0;

	solution->unknowns = fold->normal.unknowns;
	solution->map = malloc((solution->unknowns + 1) * sizeof(*solution->map));
	if (!solution->map)
		return -ENOMEM;
	for (size_t u = 0; u < solution->unknowns;) {
		const struct fold_block *block = &fold->blocks.all[fold->owner[u]];
		int64_t bins = (int64_t)(block->time_ns / length_ns / SAMPLES_PER_BIN);

		if (bins > block->bins / each)
			bins = block->bins / each;
		if (bins < 1)
			bins = 1;
		for (int64_t bin = 0; bin < block->bins; bin++)
			solution->map[u++] = (uint32_t)(next + (size_t)(bin * bins / block->bins));
		next += (size_t)bins;
	}
	solution->count = next;
	return 0;
}

/* The old solution, where it has the unknown; else 0. */
static void warm_start(const struct fold_solution *old, const struct fold_solution *solution,
                       const double *old_x, double *x)
{
	for (size_t u = 0; u < solution->unknowns && u < old->unknowns; u++)
		x[solution->map[u]] = old_x ? old_x[old->map[u]] : 0;
}

struct fold_channel fold_channel_of(const struct wt_fold *fold, int channel)
{
	struct fold_channel own = {&fold->channels[channel], 0, fold->channel_busy[channel],
	                           fold->busy_square[channel] - fold->together_square[channel]};
	struct fold_channel together = {&fold->channels[0], (size_t)channel, fold->channel_busy[0],
	                                fold->together_square[channel]};

	return fold->together >> channel & 1 && together.busy >= own.busy ? together : own;
}

/* b of a channel, merged. */
static void take_rhs(const struct wt_fold *fold, const struct fold_solution *solution, size_t which,
                     double *b)
{
	struct fold_channel from = {.normal = &fold->normal};

	if (which != WT_FOLD_ACTIVE)
		from = fold_channel_of(fold, (int)which);
	memset(b, 0, solution->count * sizeof(*b));
	for (size_t u = 0; u < solution->unknowns; u++)
		b[solution->map[u]] += from.normal->rhs[u * from.normal->rhs_count + from.rhs];
}

/*
 * What is known beforehand, as if one more sample had said it of each unknown: that a block keeps 0 SMs
 * active, give or take all of them. Next to nothing against samples, but the only word on what they
 * leave open. Goes into the matrix; *prior: what was added.
 */
static void add_prior(const struct wt_fold *fold, const struct fold_solution *solution,
                      struct fold_matrix *matrix, double *prior)
{
	double length_ns = fold->samples ? fold->sample_ns / (double)fold->samples : 1;
	double sigma = fold->sigma[WT_FOLD_ACTIVE];

	if (!(sigma > 0))
		sigma = FOLD_NOISE * fold->options.sm_count * length_ns;
	for (size_t u = 0; u < solution->unknowns;) {
		const struct fold_block *block = &fold->blocks.all[fold->owner[u]];
		uint32_t first = solution->map[u], last;
		double wide;

		u += block->bins;
		last = solution->map[u - 1];
		wide = fold->options.sm_count / sigma * sqrt((double)(last - first + 1));
		for (uint32_t i = first; i <= last; i++)
			prior[i] = 1 / (wide * wide);
	}
	for (size_t i = 0; i < matrix->count; i++) {
		/* NOLINTNEXTLINE(clang-analyzer-*): not where there are no unknowns */
		matrix->diagonal[i] += prior[i];
		for (size_t k = matrix->row[i]; k < matrix->row[i + 1]; k++)
			if (matrix->column[k] == i)
				matrix->value[k] += prior[i];
	}
}

/* The sum of squares that x leaves, out of `square`. */
static double left_of(const struct fold_matrix *matrix, const double *prior, const double *b,
                      const double *x, double square, double *scratch)
{
	double taken = 0;

	fold_matrix_times(matrix, x, scratch, 1);
	for (size_t i = 0; i < matrix->count; i++)
		taken += x[i] * (2 * b[i] - scratch[i] + prior[i] * x[i]);
	return square > taken ? square - taken : 0;
}

/* The noise of a sample, in SM-ns or its like. */
static double sigma_of(int64_t busy, double left, size_t free_count)
{
	double rows = (double)busy, freedom = rows - (double)free_count;

	if (freedom < rows / 10)
		freedom = rows / 10; /* hardly any samples more than unknowns */
	return freedom > 0 ? sqrt(left / freedom) : 0;
}

static void explain(struct wt_fold *fold, const struct fold_solution *solution, double left)
{
	double rate = fold->sample_ns > 0 ? fold->active_sm_ns / fold->sample_ns : 0;
	double variance = fold->square[WT_FOLD_ACTIVE] - 2 * rate * fold->cross +
	                  rate * rate * fold->length_square;
	double idle = fold->square[WT_FOLD_ACTIVE] - fold->busy_square[WT_FOLD_ACTIVE];

	left += idle;
	fold->residual = variance > 0 ? left / variance : 0;
	fold->rms_share =
	        fold->square[WT_FOLD_ACTIVE] > 0 ? sqrt(left / fold->square[WT_FOLD_ACTIVE]) : 0;
	fold->explained_sm_ns = 0;
	for (size_t u = 0; u < solution->unknowns; u++)
		fold->explained_sm_ns +=
		        fold->normal.time_ns[u] * solution->x[WT_FOLD_ACTIVE][solution->map[u]];
}

/* ACTIVE, at most all SMs; *x: the same. First, since within bounds a minimum is sharper. */
static int solve_within(const struct wt_fold *fold, const struct fold_matrix *matrix,
                        const double *b, double tolerance, struct fold_solution *solution,
                        double *x)
{
	int err;

	solution->bounded = malloc((solution->count + 1) * sizeof(*x));
	if (!solution->bounded)
		return -ENOMEM;
	warm_start(&fold->solution, solution, fold->solution.bounded, x);
	err = fold_solve_bounded(matrix, b, fold->options.sm_count, tolerance, x);
	memcpy(solution->bounded, x, solution->count * sizeof(*x));
	return err;
}

static int solve_channel(struct wt_fold *fold, const struct fold_matrix *matrix,
                         const double *prior, double tolerance, struct fold_solution *solution,
                         int channel)
{
	double *b = malloc((2 * solution->count + 1) * sizeof(*b));
	double *x = calloc(solution->count + 1, sizeof(*x)), left = 0;
	struct fold_channel from = {.busy = fold->busy,
	                            .square = fold->busy_square[WT_FOLD_ACTIVE]};
	size_t free_count = 0;
	int err = b && x ? 0 : -ENOMEM;

	solution->x[channel] = x;
	if (!err) {
		take_rhs(fold, solution, (size_t)channel, b);
		if (channel == WT_FOLD_ACTIVE)
			err = solve_within(fold, matrix, b, tolerance, solution, x);
		else
			warm_start(&fold->solution, solution, fold->solution.x[channel], x);
	}
	if (!err)
		err = fold_solve_bounded(matrix, b, INFINITY, tolerance, x);
	if (!err) {
		if (channel != WT_FOLD_ACTIVE)
			from = fold_channel_of(fold, channel);
		left = left_of(matrix, prior, b, x, from.square, b + solution->count);
		for (size_t i = 0; i < solution->count; i++)
			free_count += x[i] > 0;
		fold->sigma[channel] = sigma_of(from.busy, left, free_count);
	}
	if (!err && channel == WT_FOLD_ACTIVE)
		explain(fold, solution, left);
	free(b);
	return err;
}

/* ---- errors */

/* Zero, and clearly so, is known. */
static int find_free(const struct wt_fold *fold, const struct fold_matrix *matrix,
                     const struct fold_solution *solution, bool *is_free)
{
	const double *x = solution->x[WT_FOLD_ACTIVE];
	double sigma = fold->sigma[WT_FOLD_ACTIVE];
	double *b = malloc((2 * solution->count + 1) * sizeof(*b)), *times = b + solution->count;

	if (!b)
		return -ENOMEM;
	take_rhs(fold, solution, WT_FOLD_ACTIVE, b);
	fold_matrix_times(matrix, x, times, 1);
	for (size_t i = 0; i < solution->count; i++)
		is_free[i] = matrix->row[i] < matrix->row[i + 1] && /* a sample saw it */
		             (x[i] > 0 || times[i] - b[i] < 2 * sigma * sqrt(matrix->diagonal[i]));
	free(b);
	return 0;
}

/* Right-hand sides, and where to start. */
static void draw(const struct wt_fold *fold, const struct fold_solution *solution,
                 const double *prior, double *b)
{
	for (size_t i = 0; i < solution->count; i++) {
		uint64_t signs = fold_signs(i ^ 0x5eed0000u);

		b[i * WIDTH] = solution->probe[i * WIDTH] = 0;
		for (int k = 0; k < FOLD_PROBES; k++) {
			double sign = signs >> k & 1 ? 1 : -1;

			/* NOLINTNEXTLINE(clang-analyzer-*): not where there are no unknowns */
			b[i * WIDTH + 1 + (size_t)k] = sign * sqrt(prior[i]);
			solution->probe[i * WIDTH + 1 + (size_t)k] = sign / sqrt(prior[i]);
		}
	}
	for (size_t u = 0; u < solution->unknowns; u++)
		for (size_t k = 0; k < WIDTH; k++)
			b[solution->map[u] * WIDTH + k] +=
			        fold->normal.rhs[u * FOLD_RHS_COUNT + FOLD_RHS_SHIFT + k];
}

/* What an unknown's block alone has of squares. */
static void sum_own(const struct wt_fold *fold, const struct fold_matrix *matrix,
                    struct fold_solution *solution)
{
	for (size_t u = 0; u < solution->unknowns;) {
		const struct fold_block *block = &fold->blocks.all[fold->owner[u]];
		uint32_t first = solution->map[u], last;

		u += block->bins;
		last = solution->map[u - 1];
		for (uint32_t i = first; i <= last; i++)
			for (size_t k = matrix->row[i]; k < matrix->row[i + 1]; k++)
				if (matrix->column[k] >= first && matrix->column[k] <= last)
					solution->own[i] += matrix->value[k];
	}
}

static int solve_errors(struct wt_fold *fold, const struct fold_matrix *matrix, const double *prior,
                        struct fold_solution *solution)
{
	bool *is_free = malloc(solution->count + 1);
	double *b = malloc((solution->count * WIDTH + 1) * sizeof(*b));
	int err;

	solution->probe = malloc((solution->count * WIDTH + 1) * sizeof(double));
	solution->own = calloc(solution->count + 1, sizeof(double));
	err = is_free && b && solution->probe && solution->own ? 0 : -ENOMEM;
	if (!err)
		err = find_free(fold, matrix, solution, is_free);
	if (!err) {
		draw(fold, solution, prior, b);
		sum_own(fold, matrix, solution);
		err = fold_solve_many(matrix, is_free, b, PROBE_TOLERANCE, WIDTH, solution->probe);
	}
	free(is_free);
	free(b);
	return err;
}

/* A channel of one solution, in the bins of another. */
static int spread_channel(const struct wt_fold *fold, const struct fold_solution *from, int channel,
                          struct fold_solution *to)
{
	double *x = calloc(2 * to->count + 1, sizeof(*x)), *time_ns = x + to->count;

	if (!x)
		return -ENOMEM;
	for (size_t u = 0; u < to->unknowns; u++) {
		x[to->map[u]] += fold->normal.time_ns[u] * from->x[channel][from->map[u]];
		time_ns[to->map[u]] += fold->normal.time_ns[u];
	}
	for (size_t i = 0; i < to->count; i++)
		x[i] = time_ns[i] > 0 ? x[i] / time_ns[i] : 0;
	to->x[channel] = x;
	return 0;
}

/*
 * By the samples that have the channel: fewer, and no bound holds what they say. So with bins as they are
 * told, no finer ones.
 */
static int solve_other(struct wt_fold *fold, double tolerance, struct fold_solution *solution,
                       int channel)
{
	struct fold_solution coarse = {0};
	struct fold_matrix matrix = {0};
	double *prior = NULL;
	int err = make_map(fold, fold->finer, &coarse);

	if (!err)
		err = fold_matrix_init(&matrix, fold_channel_of(fold, channel).normal, coarse.map,
		                       coarse.count);
	if (!err) {
		prior = malloc((coarse.count + 1) * sizeof(*prior));
		err = prior ? 0 : -ENOMEM;
	}
	if (!err) {
		add_prior(fold, &coarse, &matrix, prior);
		err = solve_channel(fold, &matrix, prior, tolerance, &coarse, channel);
	}
	if (!err)
		err = spread_channel(fold, &coarse, channel, solution);
	fold_matrix_fini(&matrix);
	fold_solution_fini(&coarse);
	free(prior);
	return err;
}

int fold_solution_make(struct wt_fold *fold, bool with_errors)
{
	struct fold_solution solution = {0};
	struct fold_matrix matrix = {0};
	double floor = 1e-5 * fold->options.sm_count *
	               (fold->samples ? fold->sample_ns / (double)fold->samples : 1);
	double *prior = NULL, tolerance = with_errors ? TOLERANCE : ROUGH_TOLERANCE;
	int err = make_map(fold, 1, &solution);

	if (!err)
		err = fold_matrix_init(&matrix, &fold->normal, solution.map, solution.count);
	if (!err) {
		prior = malloc((solution.count + 1) * sizeof(*prior));
		err = prior ? 0 : -ENOMEM;
	}
	if (!err)
		add_prior(fold, &solution, &matrix, prior);
	if (!err)
		err = solve_channel(fold, &matrix, prior, tolerance, &solution, WT_FOLD_ACTIVE);
	for (int channel = 1; !err && with_errors && channel < FOLD_SOLVED_CHANNELS; channel++)
		if (fold_channel_of(fold, channel).busy)
			err = solve_other(fold, OTHER_TOLERANCE, &solution, channel);
	if (fold->sigma[WT_FOLD_ACTIVE] < floor)
		fold->sigma[WT_FOLD_ACTIVE] = floor;
	if (!err && with_errors)
		err = solve_errors(fold, &matrix, prior, &solution);
	fold->pairs = matrix.pairs;
	fold_matrix_fini(&matrix);
	free(prior);
	if (err) {
		fold_solution_fini(&solution);
		return err;
	}
	fold_solution_fini(&fold->solution);
	fold->solution = solution;
	return 0;
}
