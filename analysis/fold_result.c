/*
 * fold_result.c - see fold_internal.h: solving, the errors of the solution, and what callers read.
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
#define PROBE_TOLERANCE 1e-6
#define WIDTH (1 + FOLD_PROBES)
#define ROWS_PER_BIN 4
#define FEW_ROWS 16
/*
 * What hardware showed beyond noise: the recorded interval's ends are not those of activity, and the
 * shares of samples are not exact (tests/data/fold: shapes of 5 to 78 us against truth).
 */
#define EDGE_NS 100.0
#define EXACT 0.003
#define JOINT_SHARE 0.1 /* of its time by itself, below which it is JOINT */

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

/* Fewer bins where few samples saw the block. */
static int make_map(const struct wt_fold *fold, struct fold_solution *solution)
{
	size_t next = 0;

	solution->unknowns = fold->normal.unknowns;
	solution->map = malloc((solution->unknowns + 1) * sizeof(*solution->map));
	if (!solution->map)
		return -ENOMEM;
	for (size_t u = 0; u < solution->unknowns;) {
		const struct fold_block *block = &fold->blocks.all[fold->owner[u]];
		int64_t bins = block->rows / ROWS_PER_BIN;

		if (bins > block->bins)
			bins = block->bins;
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
                       int channel, double *x)
{
	for (size_t u = 0; u < solution->unknowns && u < old->unknowns; u++)
		x[solution->map[u]] = old->x[channel] ? old->x[channel][old->map[u]] : 0;
}

/* b of one right-hand side, merged. */
static void take_rhs(const struct wt_fold *fold, const struct fold_solution *solution, size_t which,
                     double *b)
{
	memset(b, 0, solution->count * sizeof(*b));
	for (size_t u = 0; u < solution->unknowns; u++)
		b[solution->map[u]] += fold->normal.rhs[u * FOLD_RHS_COUNT + which];
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
static double sigma_of(const struct wt_fold *fold, double left, size_t free_count)
{
	double rows = (double)fold->busy, freedom = rows - (double)free_count;

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

static int solve_channel(struct wt_fold *fold, const struct fold_matrix *matrix,
                         const double *prior, struct fold_solution *solution, int channel)
{
	double *b = malloc((2 * solution->count + 1) * sizeof(*b));
	double *x = calloc(solution->count + 1, sizeof(*x)), left = 0;
	size_t free_count = 0;
	int err = b && x ? 0 : -ENOMEM;

	solution->x[channel] = x;
	if (!err) {
		warm_start(&fold->solution, solution, channel, x);
		take_rhs(fold, solution, (size_t)channel, b);
		err = fold_solve_bounded(matrix, b, INFINITY, TOLERANCE, x);
	}
	if (!err) {
		left = left_of(matrix, prior, b, x, fold->busy_square[channel],
		               b + solution->count);
		for (size_t i = 0; i < solution->count; i++)
			free_count += x[i] > 0;
		fold->sigma[channel] = sigma_of(fold, left, free_count);
	}
	if (!err && channel == WT_FOLD_ACTIVE) {
		explain(fold, solution, left);
		solution->bounded = malloc((solution->count + 1) * sizeof(*x));
		if (!solution->bounded)
			err = -ENOMEM;
		else
			memcpy(solution->bounded, x, solution->count * sizeof(*x));
		if (!err)
			err = fold_solve_bounded(matrix, b, fold->options.sm_count, TOLERANCE,
			                         solution->bounded);
	}
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
		is_free[i] = x[i] > 0 || times[i] - b[i] < 2 * sigma * sqrt(matrix->diagonal[i]);
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

int fold_solution_make(struct wt_fold *fold, bool with_errors)
{
	struct fold_solution solution = {0};
	struct fold_matrix matrix = {0};
	double floor = 1e-5 * fold->options.sm_count *
	               (fold->samples ? fold->sample_ns / (double)fold->samples : 1);
	double *prior = NULL;
	int err = make_map(fold, &solution);

	if (!err)
		err = fold_matrix_init(&matrix, &fold->normal, solution.map, solution.count);
	if (!err) {
		prior = malloc((solution.count + 1) * sizeof(*prior));
		err = prior ? 0 : -ENOMEM;
	}
	if (!err)
		add_prior(fold, &solution, &matrix, prior);
	for (int channel = 0; !err && channel < FOLD_SOLVED_CHANNELS; channel++)
		if (!fold->lacks[channel])
			err = solve_channel(fold, &matrix, prior, &solution, channel);
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

/* ---- for callers */

static enum wt_fold_state state_of(const struct wt_fold *fold)
{
	if (!fold->is_aligned) {
		if (!fold->is_ambiguous)
			return WT_FOLD_NO_SAMPLES;
		return fold->residual > WT_FOLD_RESIDUAL_MAX ? WT_FOLD_UNEXPLAINED
		                                             : WT_FOLD_NOT_ALIGNED;
	}
	if (!fold->busy)
		return WT_FOLD_NO_SAMPLES;
	/* Samples that hardly differ leave a large share of a tiny variance. */
	if (fold->residual > WT_FOLD_RESIDUAL_MAX && fold->rms_share > 0.02)
		return WT_FOLD_UNEXPLAINED;
	return WT_FOLD_OK;
}

/* Of results: 95 of 100. */
static double align_error_ns(const struct wt_fold *fold)
{
	double moved = fold->moves ? fold->moved_square_sum / (double)fold->moves : 0;

	return 2 * sqrt(fold->offset_sigma_ns * fold->offset_sigma_ns + moved);
}

void wt_fold_summary(const struct wt_fold *fold, struct wt_fold_summary *ret_summary)
{
	double range_ns = (double)(fold->offset_max_ns - fold->offset_min_ns);

	*ret_summary = (struct wt_fold_summary){
	        .state = state_of(fold),
	        .offset_ns = (double)fold->offset_ns,
	        .offset_error_ns = 2 * fold->offset_sigma_ns + range_ns,
	        .residual = fold->residual,
	        .samples_used = fold->samples,
	        .samples_skipped = fold->skipped,
	        .active_sm_ns = fold->active_sm_ns,
	        .explained_sm_ns = fold->explained_sm_ns,
	        .configs = fold->blocks.configs,
	        .unknowns = fold->normal.unknowns,
	        .pairs = fold->pairs,
	        .bytes = sizeof(*fold) + fold_blocks_bytes(&fold->blocks) +
	                 fold_normal_bytes(&fold->normal) + fold->waiting_bytes,
	};
}

/* Weights of unknowns, and with them a mean and its error. */
struct mean {
	const struct wt_fold *fold;
	double time_ns, sum[FOLD_SOLVED_CHANNELS], shift, probe[FOLD_PROBES];
	double sigma_factor; /* of its own samples, over that of all */
};

static void add_unknown(struct mean *mean, uint32_t i, double time_ns)
{
	const struct fold_solution *solution = &mean->fold->solution;

	mean->time_ns += time_ns;
	for (int channel = 0; channel < FOLD_SOLVED_CHANNELS; channel++)
		if (solution->x[channel])
			mean->sum[channel] += time_ns * solution->x[channel][i];
	mean->shift += time_ns * solution->probe[i * WIDTH];
	for (size_t k = 0; k < FOLD_PROBES; k++)
		mean->probe[k] += time_ns * solution->probe[i * WIDTH + 1 + k];
}

static void add_block(struct mean *mean, const struct fold_block *block)
{
	const struct fold_solution *solution = &mean->fold->solution;
	double square = block->square_weight > 0 ? block->square_sum / block->square_weight : 0;
	double factor = sqrt(square) / mean->fold->sigma[WT_FOLD_ACTIVE];

	if (factor > mean->sigma_factor)
		mean->sigma_factor = factor;
	for (uint32_t u = block->first; u < block->first + block->bins; u++)
		add_unknown(mean, solution->map[u], mean->fold->normal.time_ns[u]);
}

static double error_of(const struct mean *mean, int channel)
{
	double square = 0, noise, shift;

	for (size_t k = 0; k < FOLD_PROBES; k++)
		square += mean->probe[k] * mean->probe[k];
	noise = FOLD_STUDENT * mean->fold->sigma[channel] * mean->sigma_factor *
	        sqrt(square / FOLD_PROBES) / mean->time_ns;
	shift = channel == WT_FOLD_ACTIVE ? mean->shift * align_error_ns(mean->fold) / mean->time_ns
	                                  : 0;
	return sqrt(noise * noise + shift * shift);
}

/* With what no number of samples makes better. */
static double whole_error(const struct mean *mean, int channel, double launch_ns)
{
	double noise = error_of(mean, channel), value = mean->sum[channel] / mean->time_ns;
	double edge = value * EDGE_NS / launch_ns, exact = value * EXACT;

	return sqrt(noise * noise + edge * edge + exact * exact);
}

static bool is_solved(const struct wt_fold *fold, const struct fold_block *block)
{
	return block->bins && fold->solution.probe &&
	       block->first + block->bins <= fold->solution.unknowns;
}

/* Would it be known, if it were the only one? */
static bool is_known_alone(const struct wt_fold *fold, const struct fold_block *block,
                           double sigma_factor)
{
	const struct fold_solution *solution = &fold->solution;
	uint32_t first = solution->map[block->first];
	uint32_t last = solution->map[block->first + block->bins - 1];
	double own = 0, error;

	for (uint32_t i = first; i <= last; i++)
		own += solution->own[i];
	error = FOLD_STUDENT * sigma_factor * fold->sigma[WT_FOLD_ACTIVE] / sqrt(own);
	return block->rows >= FEW_ROWS && error <= fold->options.sm_count / 10.0;
}

static void add_joint(const struct wt_fold *fold, uint32_t config, struct mean *mean)
{
	const struct fold_blocks *blocks = &fold->blocks;

	for (size_t i = 0; i < blocks->count; i++) {
		const struct fold_block *block = &blocks->all[i];
		double times = 0;

		if (!is_solved(fold, block) || block->config != FOLD_NONE)
			continue;
		for (uint32_t k = 0; k < block->set_count; k++)
			times += blocks->members[block->set_pos + k] == config;
		times *= block->time_ns;
		if (i == blocks->crowd)
			times = blocks->crowd_ns[config];
		if (times > 0)
			add_unknown(mean, fold->solution.map[block->first], times);
	}
}

static void joint_result(const struct wt_fold *fold, uint32_t config, struct wt_fold_result *result)
{
	struct mean mean = {.fold = fold, .sigma_factor = 1};

	add_joint(fold, config, &mean);
	result->joint_time_ns = (int64_t)mean.time_ns;
	result->joint_active_sms = result->joint_error_sms = -1;
	if (mean.time_ns > 0) {
		result->joint_active_sms = mean.sum[WT_FOLD_ACTIVE] / mean.time_ns;
		result->joint_error_sms = error_of(&mean, WT_FOLD_ACTIVE);
	}
}

static void own_result(const struct wt_fold *fold, const struct fold_block *block,
                       struct wt_fold_result *result)
{
	struct mean mean = {.fold = fold, .sigma_factor = 1};
	double wide = fold->options.sm_count / 10.0, launch_ns = 0;

	add_block(&mean, block);
	launch_ns = mean.time_ns;
	result->bins = fold->solution.map[block->first + block->bins - 1] -
	               fold->solution.map[block->first] + 1;
	result->time_ns = (int64_t)mean.time_ns;
	if (mean.time_ns <= 0)
		return;
	if (block->launches)
		launch_ns = mean.time_ns / (double)block->launches;
	for (int channel = 0; channel < FOLD_SOLVED_CHANNELS; channel++)
		if (fold->solution.x[channel]) {
			result->mean[channel] = mean.sum[channel] / mean.time_ns;
			result->error[channel] = whole_error(&mean, channel, launch_ns);
		}
	if (block->clock_ns > 0)
		result->mean[WT_FOLD_CLOCK] = block->clock_sum / block->clock_ns;
	result->active_sms = result->mean[WT_FOLD_ACTIVE];
	result->error_sms = result->error[WT_FOLD_ACTIVE];
	if (result->error_sms <= wide)
		result->verdict = WT_FOLD_MEASURED;
	else if (is_known_alone(fold, block, mean.sigma_factor))
		result->verdict = WT_FOLD_INSEPARABLE;
}

void wt_fold_result(const struct wt_fold *fold, uint32_t config, struct wt_fold_result *ret_result)
{
	const struct fold_blocks *blocks = &fold->blocks;
	const struct fold_block *block;

	*ret_result = (struct wt_fold_result){.verdict = WT_FOLD_FEW};
	for (int channel = 0; channel < WT_FOLD_CHANNELS; channel++)
		ret_result->mean[channel] = ret_result->error[channel] = -1;
	ret_result->error_sms = fold->options.sm_count;
	ret_result->joint_active_sms = ret_result->joint_error_sms = -1;
	if (config >= blocks->configs || blocks->of_config[config] == FOLD_NONE)
		return;
	block = &blocks->all[blocks->of_config[config]];
	ret_result->launches = block->launches;
	if (!fold->solution.probe)
		return;
	joint_result(fold, config, ret_result);
	if (is_solved(fold, block))
		own_result(fold, block, ret_result);
	if (ret_result->joint_time_ns > 0 &&
	    (double)ret_result->time_ns <
	            JOINT_SHARE * (double)(ret_result->time_ns + ret_result->joint_time_ns))
		ret_result->verdict = WT_FOLD_JOINT;
}

void wt_fold_profile(const struct wt_fold *fold, uint32_t config, double *active_sms,
                     double *error_sms)
{
	const struct fold_blocks *blocks = &fold->blocks;
	const struct fold_block *block;
	uint32_t first, last;

	if (config >= blocks->configs || blocks->of_config[config] == FOLD_NONE)
		return;
	block = &blocks->all[blocks->of_config[config]];
	if (!is_solved(fold, block))
		return;
	first = fold->solution.map[block->first];
	last = fold->solution.map[block->first + block->bins - 1];
	for (uint32_t i = first; i <= last; i++) {
		struct mean mean = {.fold = fold, .sigma_factor = 1};
		double square =
		        block->square_weight > 0 ? block->square_sum / block->square_weight : 0;
		double factor = sqrt(square) / fold->sigma[WT_FOLD_ACTIVE];

		add_unknown(&mean, i, 1);
		if (factor > 1)
			mean.sigma_factor = factor;
		active_sms[i - first] = fold->solution.x[WT_FOLD_ACTIVE][i];
		error_sms[i - first] = error_of(&mean, WT_FOLD_ACTIVE);
	}
}
