/*
 * fold_result.c - see fold_internal.h: what callers read: means over the bins of a configuration, by the
 * time that samples saw of them, their errors, and the verdict.
 */
#include <math.h>

#include "analysis/fold_internal.h"

#define WIDTH (1 + FOLD_PROBES)
#define FEW_ROWS 16
/*
 * What hardware showed beyond noise, against the clocks of blocks: an SM is active before its first block
 * reads a clock and after its last one did, and by how much is not the same for all kernels: EDGE_NS of
 * all SMs that it keeps active at its widest, however few they are on average. And the shares of samples
 * are not exact (tests/data/fold: shapes of 5 to 78 us).
 */
#define EDGE_NS 150.0
#define EXACT 0.005
/*
 * Kernels that always follow each other meet the samples alike: their noise is APART times what it would be
 * if each were the only one, or more, and what is wrong in one is made up for by another. Then LEAK of all
 * SMs' edges, two neighbours' and a little, may be in either, and the solution is the bounded one: beyond
 * all SMs there is none. In random order it is 1 or so, and bounds would be a bias: noise cut off on one side.
 */
#define APART 3.0
#define LEAK 1.5
#define OPEN 0.5 /* of what is known beforehand: an unknown that samples leave as wide is open */
#define JOINT_SHARE 0.1 /* of its time by itself, below which it is JOINT */
#define JOINT_EDGE_NS (2 * EDGE_NS)
/*
 * Kernels beside each other, and what is left of one after that, do this or that, as they happened to meet;
 * unknowns have the mean of all of it, and samples don't weigh it as time does. So far off it was on hardware
 * (tests/gpu/RESULTS.md), the same in each half of a run: noise knows nothing of it.
 */
#define MIXED 0.03
#define BLURRED 0.25 /* error of the offset, over its duration */

size_t fold_all_bytes(const struct wt_fold *fold)
{
	size_t bytes = fold_normal_bytes(&fold->normal);

	for (int i = 0; i < FOLD_SOLVED_CHANNELS; i++)
		bytes += fold_normal_bytes(&fold->channels[i]);
	return bytes;
}

static enum wt_fold_state state_of(const struct wt_fold *fold)
{
	if (!fold->is_aligned) {
		if (!fold->is_ambiguous)
			return fold->waiting_blind > fold->waiting_busy ? WT_FOLD_NO_ACTIVE
			                                                : WT_FOLD_NO_SAMPLES;
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
	        .bytes = sizeof(*fold) + fold_blocks_bytes(&fold->blocks) + fold_all_bytes(fold) +
	                 fold->waiting_bytes,
	};
}

/* Weights of unknowns, and with them a mean and its error. */
struct mean {
	const struct wt_fold *fold;
	double time_ns, sum[FOLD_SOLVED_CHANNELS], shift, probe[FOLD_PROBES];
	double told_ns, told[FOLD_PROBES]; /* of unknowns that samples tell, by open_square */
	double open_square; /* mean square of probes from which on an unknown is open */
	double sigma_factor; /* of its own samples, over that of all */
	double widest; /* bin of ACTIVE */
	double bounded; /* sum of ACTIVE, of the bounded solution */
};

static void add_unknown(struct mean *mean, uint32_t i, double time_ns)
{
	const struct fold_solution *solution = &mean->fold->solution;
	double square = 0;

	mean->time_ns += time_ns;
	mean->widest = fmax(mean->widest,
	                    fmin(solution->x[WT_FOLD_ACTIVE][i], mean->fold->options.sm_count));
	for (int channel = 0; channel < FOLD_SOLVED_CHANNELS; channel++)
		if (solution->x[channel])
			mean->sum[channel] += time_ns * solution->x[channel][i];
	mean->bounded += time_ns * solution->bounded[i];
	mean->shift += time_ns * solution->probe[i * WIDTH];
	for (size_t k = 0; k < FOLD_PROBES; k++) {
		double probe = solution->probe[i * WIDTH + 1 + k];

		mean->probe[k] += time_ns * probe;
		square += probe * probe / FOLD_PROBES;
	}
	if (square >= mean->open_square)
		return;
	mean->told_ns += time_ns;
	for (size_t k = 0; k < FOLD_PROBES; k++)
		mean->told[k] += time_ns * solution->probe[i * WIDTH + 1 + k];
}

static void add_block(struct mean *mean, const struct fold_block *block)
{
	const struct fold_solution *solution = &mean->fold->solution;
	double square = block->square_weight > 0 ? block->square_sum / block->square_weight : 0;
	double factor = sqrt(square) / mean->fold->sigma[WT_FOLD_ACTIVE];

	double wide = mean->fold->options.sm_count / mean->fold->sigma[WT_FOLD_ACTIVE];
	uint32_t bins =
	        solution->map[block->first + block->bins - 1] - solution->map[block->first] + 1;

	if (factor > mean->sigma_factor)
		mean->sigma_factor = factor;
	mean->open_square = OPEN * OPEN * wide * wide * bins;
	for (uint32_t u = block->first; u < block->first + block->bins; u++)
		add_unknown(mean, solution->map[u], mean->fold->normal.time_ns[u]);
}

/*
 * What samples leave open is as wide as the device, by ACTIVE's noise, and launches that differ are told by
 * their active SMs: of another channel's noise that would say nothing. Its error is that of what samples
 * tell; it is no more certain than active SMs are, by their error, which whoever uses it has to heed.
 */
static double error_of(const struct mean *mean, int channel)
{
	bool is_told = channel != WT_FOLD_ACTIVE && mean->told_ns > 0;
	const double *probe = is_told ? mean->told : mean->probe;
	double square = 0, noise, shift;

	for (size_t k = 0; k < FOLD_PROBES; k++)
		square += probe[k] * probe[k];
	noise = FOLD_STUDENT * mean->fold->sigma[channel] * sqrt(square / FOLD_PROBES) /
	        (is_told ? mean->told_ns : mean->time_ns);
	if (!is_told)
		noise *= mean->sigma_factor;
	shift = channel == WT_FOLD_ACTIVE ? mean->shift * align_error_ns(mean->fold) / mean->time_ns
	                                  : 0;
	return sqrt(noise * noise + shift * shift);
}

/* Sum of squares that the block has by itself. */
static double own_of(const struct wt_fold *fold, const struct fold_block *block)
{
	const struct fold_solution *solution = &fold->solution;
	uint32_t last = solution->map[block->first + block->bins - 1];
	double own = 0;

	for (uint32_t i = solution->map[block->first]; i <= last; i++)
		own += solution->own[i];
	return own;
}

/* Share of neighbours' edges that it may have; mean: of its time as solved. */
static double leak_of(const struct mean *mean, const struct fold_block *block)
{
	double square = 0, times;

	for (size_t k = 0; k < FOLD_PROBES; k++)
		square += mean->probe[k] * mean->probe[k];
	times = sqrt(square / FOLD_PROBES * own_of(mean->fold, block)) / mean->time_ns;
	return times > APART ? LEAK * sqrt(1 - APART / times) : 0;
}

/*
 * What kernels do beside each other differs from time to time, and bins have their mean: what is left over
 * drives some beyond the SMs there are. By how much holding them to those moves the mean, that may be wrong.
 */
static double misfit_of(const struct mean *mean)
{
	return fabs(mean->sum[WT_FOLD_ACTIVE] - mean->bounded) / mean->time_ns;
}

/* With what no number of samples makes better. */
static double whole_error(const struct mean *mean, int channel, double value, double launch_ns,
                          double leak)
{
	double noise = error_of(mean, channel);
	bool is_active = channel == WT_FOLD_ACTIVE;
	double edge = (is_active ? mean->widest : value) * EDGE_NS / launch_ns;
	double others =
	        (is_active ? mean->fold->options.sm_count : value) * leak * EDGE_NS / launch_ns;
	double exact = value * EXACT;

	return sqrt(noise * noise + edge * edge + others * others + exact * exact);
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
	double error = FOLD_STUDENT * sigma_factor * fold->sigma[WT_FOLD_ACTIVE] /
	               sqrt(own_of(fold, block));

	return block->rows >= FEW_ROWS && error <= fold->options.sm_count / 10.0;
}

/* How often the configuration is in a set. */
static uint32_t times_in(const struct fold_blocks *blocks, const struct fold_block *block,
                         uint32_t config)
{
	uint32_t times = 0;

	for (uint32_t k = 0; k < block->set_count; k++)
		times += blocks->members[block->set_pos + k] == config;
	return times;
}

static void add_joint(const struct wt_fold *fold, uint32_t config, struct mean *mean)
{
	const struct fold_blocks *blocks = &fold->blocks;
	double square = 0, weight = 0;

	for (size_t i = 0; i < blocks->count; i++) {
		const struct fold_block *block = &blocks->all[i];
		uint32_t times = 0;

		if (is_solved(fold, block) && block->config == FOLD_NONE)
			times = times_in(blocks, block, config);
		if (!times)
			continue;
		for (uint32_t u = block->first; u < block->first + block->bins; u++)
			add_unknown(mean, fold->solution.map[u], times * fold->normal.time_ns[u]);
		square += times * block->square_sum;
		weight += times * block->square_weight;
	}
	if (weight > 0)
		mean->sigma_factor = fmax(1, sqrt(square / weight) / fold->sigma[WT_FOLD_ACTIVE]);
}

/* `launches`: each has an edge between its time alone and that beside others, or two. */
static void joint_result(const struct wt_fold *fold, uint32_t config, int64_t launches,
                         struct wt_fold_result *result)
{
	struct mean mean = {.fold = fold, .sigma_factor = 1, .open_square = INFINITY};
	double noise, edge, value, misfit;

	add_joint(fold, config, &mean);
	result->joint_time_ns = (int64_t)mean.time_ns;
	result->joint_active_sms = result->joint_error_sms = -1;
	if (mean.time_ns <= 0)
		return;
	value = fmin(mean.sum[WT_FOLD_ACTIVE] / mean.time_ns, fold->options.sm_count);
	noise = error_of(&mean, WT_FOLD_ACTIVE);
	edge = value * JOINT_EDGE_NS * (double)launches / mean.time_ns;
	misfit = misfit_of(&mean);
	result->joint_active_sms = value;
	result->joint_error_sms =
	        sqrt(noise * noise + edge * edge + misfit * misfit + value * MIXED * value * MIXED);
}

/*
 * Mean of a channel over the time that samples with it saw: what they did not see is not 0. Of two blocks,
 * either may be NULL. *ret_share: how much of their time that is.
 */
static double seen_mean(const struct fold_block *const blocks[2], const struct wt_fold *fold,
                        int channel, double *ret_share)
{
	const struct fold_normal *normal =
	        channel ? fold_channel_of(fold, channel).normal : &fold->normal;
	double seen_ns = 0, all_ns = 0, sum = 0;

	for (int i = 0; i < 2; i++) {
		const struct fold_block *block = blocks[i];

		for (uint32_t bin = 0; block && bin < block->bins; bin++) {
			uint32_t u = block->first + bin;

			all_ns += fold->normal.time_ns[u];
			seen_ns += normal->time_ns[u];
			sum += normal->time_ns[u] *
			       fold->solution.x[channel][fold->solution.map[u]];
		}
	}
	*ret_share = all_ns > 0 ? seen_ns / all_ns : 0;
	return seen_ns > 0 ? sum / seen_ns : 0;
}

/* By how much the recorded time of a block exceeds that without ramps. */
static double stretch_of(const struct fold_block *block)
{
	return block->busy_ns > 0 ? block->recorded_ns / block->busy_ns : 1;
}

static uint32_t solved_bins(const struct wt_fold *fold, const struct fold_block *block)
{
	return fold->solution.map[block->first + block->bins - 1] -
	       fold->solution.map[block->first] + 1;
}

/* As many as were asked for, or as there are. */
static uint32_t told_bins(const struct wt_fold *fold, const struct fold_block *block)
{
	uint32_t solved = solved_bins(fold, block), wanted = solved;

	if (block->launches)
		wanted = fold_bins(&fold->options, block->recorded_ns / (double)block->launches);
	return wanted < solved ? wanted : solved;
}

/* The offset is too uncertain for so short a kernel: what follows from it is no small error. */
static bool is_blurred(const struct wt_fold *fold, const struct fold_block *block)
{
	return block->launches &&
	       align_error_ns(fold) * (double)block->launches > BLURRED * block->recorded_ns;
}

/* What the config has to itself: `rest`, of launches that others disturbed, or NULL. */
static void own_result(const struct wt_fold *fold, const struct fold_block *block,
                       const struct fold_block *rest, struct wt_fold_result *result)
{
	struct mean mean = {.fold = fold, .sigma_factor = 1, .open_square = INFINITY};
	double wide = fold->options.sm_count / 10.0, stretch = stretch_of(block), launch_ns;
	const struct fold_block *const both[] = {is_solved(fold, block) ? block : NULL, rest};
	double leak = 0, misfit = 0;

	if (is_solved(fold, block)) {
		add_block(&mean, block);
		leak = mean.time_ns > 0 ? leak_of(&mean, block) : 0;
		result->bins = told_bins(fold, block);
	}
	if (rest) {
		double course = mean.sum[WT_FOLD_ACTIVE];

		add_block(&mean, rest);
		if (mean.time_ns > 0)
			misfit = hypot(misfit_of(&mean),
			               MIXED * (mean.sum[WT_FOLD_ACTIVE] - course) / mean.time_ns);
	}
	if (leak > 0)
		mean.sum[WT_FOLD_ACTIVE] = mean.bounded;
	mean.time_ns *= stretch;
	mean.told_ns *= stretch;
	launch_ns = mean.time_ns;
	result->time_ns = (int64_t)mean.time_ns;
	if (mean.time_ns <= 0)
		return;
	if (block->launches)
		launch_ns = mean.time_ns / (double)block->launches;
	for (int channel = 0; channel < FOLD_SOLVED_CHANNELS; channel++) {
		double value, seen;

		if (!fold->solution.x[channel])
			continue;
		value = seen_mean(both, fold, channel, &seen) / stretch;
		if (seen <= 0.01)
			continue;
		if (channel == WT_FOLD_ACTIVE) /* seen by all, and bounded or not */
			value = mean.sum[channel] / mean.time_ns;
		result->mean[channel] = value;
		result->error[channel] =
		        whole_error(&mean, channel, value, launch_ns, leak) / sqrt(seen);
	}
	if (block->clock_ns > 0)
		result->mean[WT_FOLD_CLOCK] = block->clock_sum / block->clock_ns;
	else if (rest && rest->clock_ns > 0)
		result->mean[WT_FOLD_CLOCK] = rest->clock_sum / rest->clock_ns;
	result->active_sms = result->mean[WT_FOLD_ACTIVE];
	result->error_sms = result->error[WT_FOLD_ACTIVE] =
	        hypot(result->error[WT_FOLD_ACTIVE], misfit);
	if (result->error_sms <= wide)
		result->verdict = is_blurred(fold, block) ? WT_FOLD_BLURRED : WT_FOLD_MEASURED;
	else if (is_solved(fold, block) && is_known_alone(fold, block, mean.sigma_factor))
		result->verdict = WT_FOLD_INSEPARABLE;
}

void wt_fold_result(const struct wt_fold *fold, uint32_t config, struct wt_fold_result *ret_result)
{
	const struct fold_blocks *blocks = &fold->blocks;
	const struct fold_block *block, *rest = NULL;
	double alone;

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
	joint_result(fold, config, block->launches, ret_result);
	if (is_blurred(fold, block)) /* nor what ran beside it */
		ret_result->joint_active_sms = ret_result->joint_error_sms = -1;
	if (blocks->of_rest[config] != FOLD_NONE)
		rest = &blocks->all[blocks->of_rest[config]];
	if (rest && !is_solved(fold, rest))
		rest = NULL;
	if (rest || is_solved(fold, block))
		own_result(fold, block, rest, ret_result);
	alone = (double)ret_result->time_ns /
	        (double)(ret_result->time_ns + ret_result->joint_time_ns + 1);
	if (ret_result->joint_time_ns > 0 &&
	    (alone < JOINT_SHARE || (alone < 0.5 && ret_result->verdict != WT_FOLD_MEASURED &&
	                             ret_result->verdict != WT_FOLD_BLURRED)))
		ret_result->verdict = WT_FOLD_JOINT;
}

/*
 * Bins of the solution may be finer than those that are told, and leave the ramps out, where nothing is
 * active. Here positions are in bins of the solution, from the beginning of what was recorded.
 */
void wt_fold_profile(const struct wt_fold *fold, uint32_t config, double *active_sms,
                     double *error_sms)
{
	const struct fold_blocks *blocks = &fold->blocks;
	const struct fold_block *block;
	struct mean whole = {.fold = fold, .sigma_factor = 1, .open_square = INFINITY};
	uint32_t first, bins, told;
	double ramp, width;
	bool is_bounded;

	if (config >= blocks->configs || blocks->of_config[config] == FOLD_NONE)
		return;
	block = &blocks->all[blocks->of_config[config]];
	if (!is_solved(fold, block))
		return;
	first = fold->solution.map[block->first];
	bins = solved_bins(fold, block);
	told = told_bins(fold, block);
	ramp = (stretch_of(block) - 1) / 2 * bins;
	width = (bins + 2 * ramp) / told;
	add_block(&whole, block);
	is_bounded = whole.time_ns > 0 && leak_of(&whole, block) > 0;
	for (uint32_t to = 0; to < told; to++) {
		struct mean mean = {
		        .fold = fold, .sigma_factor = whole.sigma_factor, .open_square = INFINITY};

		for (uint32_t from = 0; from < bins; from++) {
			double begin = fmax(from + ramp, to * width);
			double end = fmin(from + 1 + ramp, (to + 1) * width);

			if (end > begin)
				add_unknown(&mean, first + from, (end - begin) / width);
		}
		mean.time_ns = 1;
		active_sms[to] = is_bounded ? mean.bounded : mean.sum[WT_FOLD_ACTIVE];
		error_sms[to] = error_of(&mean, WT_FOLD_ACTIVE);
	}
}
