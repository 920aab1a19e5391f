/*
 * fold.c - see fold.h and fold_internal.h: stretches on their way to the normal equations.
 *
 * Until there is an offset, stretches wait as they came. Then each is cut into segments, its samples
 * become rows, and nothing of it stays but their sums. A solution is made whenever the samples have
 * doubled: residuals by it tell how noisy each configuration is, and where the offset drifts to.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/fold_internal.h"

#define BUSY_ENOUGH 4000 /* samples with kernels, for an offset */
#define BUSY_LEAST 200 /* when somebody wants a solution now */
#define WAITING_BYTES_MAX ((size_t)64 << 20)
#define MOVE_SAMPLES 256

int wt_fold_create(const struct wt_fold_options *options, struct wt_fold **ret_fold)
{
	const struct wt_fold_options none = {.sm_count = 132};
	struct wt_fold *fold;
	int err;

	if (!options)
		options = &none;
	if (!options->sm_count || options->bin_ns < 0 || options->offset_max_ns < 0 ||
	    options->split_ns < 0 || options->ramp_ns < 0 || options->bins_max > 4096)
		return -EINVAL;
	fold = calloc(1, sizeof(*fold));
	if (!fold)
		return -ENOMEM;
	fold->options = *options;
	fold->align_at = BUSY_ENOUGH;
	if (!options->bin_ns)
		fold->options.bin_ns = 2000;
	if (!options->bins_max)
		fold->options.bins_max = 64;
	if (!options->offset_max_ns)
		fold->options.offset_max_ns = 60000;
	if (!options->split_ns)
		fold->options.split_ns = 200;
	if (!options->bytes_max)
		fold->options.bytes_max = (size_t)256 << 20;
	fold->rows = fold->options;
	fold->finer = 1;
	err = fold_normal_init(&fold->normal, FOLD_RHS_COUNT);
	for (int i = 0; i < FOLD_SOLVED_CHANNELS && !err; i++)
		err = fold_normal_init(&fold->channels[i], i ? 1 : FOLD_SOLVED_CHANNELS);
	if (!err)
		err = fold_blocks_init(&fold->blocks);
	if (err) {
		wt_fold_destroy(fold);
		return err;
	}
	*ret_fold = fold;
	return 0;
}

static void forget_waiting(struct wt_fold *fold)
{
	for (size_t i = 0; i < fold->waiting_count; i++) {
		free(fold->waiting[i].kernels);
		free(fold->waiting[i].samples);
	}
	fold->waiting_count = fold->waiting_bytes = fold->waiting_busy = 0;
}

void wt_fold_destroy(struct wt_fold *fold)
{
	if (!fold)
		return;
	forget_waiting(fold);
	free(fold->waiting);
	free(fold->owner);
	fold_blocks_fini(&fold->blocks);
	fold_segments_fini(&fold->segments);
	fold_row_fini(&fold->row);
	fold_row_fini(&fold->row_before);
	fold_row_fini(&fold->row_after);
	fold_normal_fini(&fold->normal);
	for (int i = 0; i < FOLD_SOLVED_CHANNELS; i++)
		fold_normal_fini(&fold->channels[i]);
	fold_solution_fini(&fold->solution);
	free(fold);
}

/* ---- unknowns */

static int give_unknowns(struct wt_fold *fold, uint32_t idx)
{
	struct fold_block *block = &fold->blocks.all[idx];
	uint32_t bins = 1, first;
	void *grown;

	if (!fold->is_crowded)
		bins = fold_block_bins(&fold->options, block) *
		       (fold_block_is_course(block) ? fold->finer : 1);
	grown = fold_room(fold->owner, &fold->owner_room, fold->normal.unknowns + bins,
	                  sizeof(*fold->owner));
	if (!grown)
		return -ENOMEM;
	fold->owner = grown;
	first = fold_normal_grow(&fold->normal, bins);
	if (first == FOLD_NONE)
		return -ENOMEM;
	for (int i = 0; i < FOLD_SOLVED_CHANNELS; i++)
		if (fold_normal_grow(&fold->channels[i], bins) == FOLD_NONE)
			return -ENOMEM;
	for (uint32_t i = 0; i < bins; i++)
		fold->owner[first + i] = idx;
	block->first = first;
	block->bins = bins;
	return 0;
}

/* Segments that samples will see have unknowns; kernels are counted, once each, if asked for. */
static int prepare(struct wt_fold *fold, const struct wt_fold_kernel *kernels, size_t count,
                   int64_t start_ns, int64_t end_ns, bool do_count)
{
	int err = fold_segments_build(&fold->segments, &fold->blocks, kernels, count, &fold->rows);

	if (err)
		return err;
	fold_tally(fold, kernels, count);
	for (size_t i = 0; i < fold->segments.count && !err && !fold->is_full; i++) {
		const struct fold_segment *segment = &fold->segments.all[i];

		if (segment->end_ns > start_ns && segment->start_ns < end_ns &&
		    !fold->blocks.all[segment->block].bins)
			err = give_unknowns(fold, segment->block);
	}
	for (size_t i = 0; do_count && i < count && !err; i++) {
		struct fold_block *block;

		if (kernels[i].end_ns <= start_ns || kernels[i].start_ns >= end_ns ||
		    kernels[i].end_ns <= kernels[i].start_ns)
			continue;
		block = &fold->blocks.all[fold->blocks.of_config[kernels[i].config]];
		if (kernels[i].start_ns > block->last_start_ns) {
			block->launches++;
			block->recorded_ns += (double)(kernels[i].end_ns - kernels[i].start_ns);
			block->busy_ns += (double)fold_busy_ns(&fold->rows, &kernels[i]);
			block->last_start_ns = kernels[i].start_ns;
		}
	}
	return err;
}

/* ---- samples */

/* What the solution makes of a row; false: it doesn't know all of it. */
static bool predict(const struct wt_fold *fold, const struct fold_row *row, double *ret_sm_ns)
{
	const struct fold_solution *solution = &fold->solution;

	*ret_sm_ns = 0;
	if (!row->is_whole)
		return false;
	for (size_t i = 0; i < row->count; i++) {
		if (row->column[i] >= solution->unknowns)
			return false;
		*ret_sm_ns += row->ns[i] * solution->bounded[solution->map[row->column[i]]];
	}
	return true;
}

/* By the solution so far: the noise of the blocks, the drift, and what a wrong offset would add. */
static int look_back(struct wt_fold *fold, const struct wt_fold_sample *sample, double sm_ns,
                     size_t positions[2])
{
	int64_t start_ns = sample->start_ns + fold->offset_ns;
	int64_t end_ns = sample->end_ns + fold->offset_ns;
	double length_ns = (double)(end_ns - start_ns), now, before, after;

	if (fold_row_build(&fold->row_before, &fold->segments, &fold->blocks, NULL,
	                   start_ns - FOLD_CHECK_NS, end_ns - FOLD_CHECK_NS, &positions[0]) ||
	    fold_row_build(&fold->row_after, &fold->segments, &fold->blocks, NULL,
	                   start_ns + FOLD_CHECK_NS, end_ns + FOLD_CHECK_NS, &positions[1]))
		return -ENOMEM;
	if (!predict(fold, &fold->row, &now) || !predict(fold, &fold->row_before, &before) ||
	    !predict(fold, &fold->row_after, &after))
		return 0;
	fold_normal_add_rhs(&fold->normal, &fold->row, FOLD_RHS_SHIFT,
	                    (after - before) / (2.0 * FOLD_CHECK_NS));
	if (fold->row.is_alone || !fold->is_aligned_alone)
		fold_align_check(fold, (double[3]){sm_ns - before, sm_ns - now, sm_ns - after});
	for (size_t i = 0; i < fold->row.blocks; i++) {
		struct fold_block *block = &fold->blocks.all[fold->row.block[i]];
		double weight = fold->row.block_ns[i] / length_ns;

		block->square_sum += weight * (sm_ns - now) * (sm_ns - now);
		block->square_weight += weight;
	}
	return 0;
}

static void count_sample(struct wt_fold *fold, const struct wt_fold_sample *sample, const double *y,
                         double length_ns)
{
	const struct fold_row *row = &fold->row;
	double clock = sample->mean[WT_FOLD_CLOCK];

	for (int i = 0; i < FOLD_SOLVED_CHANNELS; i++) {
		fold->square[i] += y[i] * y[i];
		fold->busy_square[i] += row->count ? y[i] * y[i] : 0;
	}
	if (sample->mean[WT_FOLD_ACTIVE] < 0)
		return; /* for the channels alone */
	fold->samples++;
	fold->busy += row->count > 0;
	fold->active_sm_ns += y[WT_FOLD_ACTIVE];
	fold->sample_ns += length_ns;
	fold->cross += y[WT_FOLD_ACTIVE] * length_ns;
	fold->length_square += length_ns * length_ns;
	for (size_t i = 0; i < row->blocks; i++) {
		struct fold_block *block = &fold->blocks.all[row->block[i]];

		block->rows += !i || row->block[i] != row->block[i - 1];
		block->time_ns += row->block_ns[i];
		if (clock > 0) {
			block->clock_sum += clock * row->block_ns[i];
			block->clock_ns += row->block_ns[i];
		}
	}
}

static uint32_t channels_of(const struct wt_fold_sample *sample)
{
	uint32_t channels = 0;

	for (int i = 1; i < FOLD_SOLVED_CHANNELS; i++)
		channels |= sample->mean[i] >= 0 ? UINT32_C(1) << i : 0;
	return channels;
}

/* To the equations of channel i, or [0], of all together; *ret_is_added: there was room. */
static int add_channel(struct wt_fold *fold, int i, const double *rhs, bool *ret_is_added)
{
	int err = fold_normal_add(&fold->channels[i], &fold->row, &rhs[i], fold->is_full);

	*ret_is_added = !err;
	fold->channel_busy[i] += !err;
	return err == -ENOSPC ? 0 : err;
}

/* To the matrix that its channels share, or to one of each. What there is no room for has 0 in rhs. */
static int add_channels(struct wt_fold *fold, const struct wt_fold_sample *sample, double *rhs)
{
	uint32_t channels = channels_of(sample);
	bool is_added = false;
	int err = 0;

	if (!channels || !fold->row.count)
		return 0;
	if (!fold->together)
		fold->together = channels;
	if (channels == fold->together) {
		err = add_channel(fold, 0, rhs, &is_added);
		for (int i = 1; i < FOLD_SOLVED_CHANNELS; i++) {
			rhs[i] = is_added ? rhs[i] : 0;
			fold->together_square[i] += rhs[i] * rhs[i];
		}
		return err;
	}
	for (int i = 1; i < FOLD_SOLVED_CHANNELS && !err; i++) {
		if (!(channels >> i & 1))
			continue;
		err = add_channel(fold, i, rhs, &is_added);
		rhs[i] = is_added ? rhs[i] : 0;
	}
	return err;
}

/* Adds the row to the normal equations; -ENOSPC: not, since there is no room. */
static int add_row(struct wt_fold *fold, const struct wt_fold_sample *sample)
{
	double length_ns = (double)(sample->end_ns - sample->start_ns);
	double rhs[FOLD_RHS_COUNT] = {0};
	uint64_t signs = fold_signs((uint64_t)fold->samples);
	int err = 0;

	for (int i = 0; i < FOLD_SOLVED_CHANNELS; i++) {
		if (sample->mean[i] >= 0)
			rhs[i] = sample->mean[i] * length_ns;
	}
	for (int i = 0; i < FOLD_PROBES; i++)
		rhs[FOLD_RHS_PROBE + i] = signs >> i & 1 ? 1 : -1;
	if (sample->mean[WT_FOLD_ACTIVE] >= 0)
		err = fold_normal_add(&fold->normal, &fold->row, rhs, fold->is_full);
	if (!err)
		err = add_channels(fold, sample, rhs);
	if (!err)
		count_sample(fold, sample, rhs, length_ns);
	return err;
}

/* do_add, do_look: the first stretches are added, and looked back at once there is a solution. */
static int one_sample(struct wt_fold *fold, const struct wt_fold_sample *sample,
                      size_t positions[3], bool do_add, bool do_look)
{
	double length_ns = (double)(sample->end_ns - sample->start_ns);
	int err = fold_row_build(&fold->row, &fold->segments, &fold->blocks, NULL,
	                         sample->start_ns + fold->offset_ns,
	                         sample->end_ns + fold->offset_ns, &positions[0]);
	bool is_good = sample->mean[WT_FOLD_ACTIVE] >= 0 && fold->row.is_whole;
	bool is_of_use = fold->row.is_whole && (is_good || channels_of(sample));

	if (!err && do_add) {
		err = is_of_use ? add_row(fold, sample) : -ENOSPC;
		if (err == -ENOSPC) {
			fold->skipped++;
			return 0;
		}
	}
	if (!err && do_look && is_good && fold->row.count)
		err = look_back(fold, sample, sample->mean[WT_FOLD_ACTIVE] * length_ns,
		                positions + 1);
	return err;
}

/* ---- the limit of memory */

static int compare_rows(const void *left, const void *right)
{
	const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return a < b ? -1 : a > b;
}

/*
 * Blocks with at most so many rows have one unknown from now on; all others, if they are of a course, for each
 * of theirs, one of `finer` that they had.
 */
static int merge_bins(struct wt_fold *fold, int64_t rows, uint32_t finer)
{
	uint32_t *map = malloc((fold->normal.unknowns + 1) * sizeof(*map)), next = 0;
	int err;

	if (!map)
		return -ENOMEM;
	for (size_t u = 0; u < fold->normal.unknowns;) {
		uint32_t owner = fold->owner[u];
		struct fold_block *block = &fold->blocks.all[owner];
		uint32_t each = fold_block_is_course(block) ? finer : 1;
		uint32_t bins = block->bins, first = next;

		if (block->rows <= rows)
			block->bins = 1;
		else if (bins > 1)
			block->bins = bins / each;
		block->first = first;
		next += block->bins;
		for (uint32_t bin = 0; bin < bins; bin++)
			map[u++] = first + (block->bins > 1 ? bin / each : 0);
		for (uint32_t bin = 0; bin < block->bins; bin++)
			fold->owner[first + bin] = owner;
	}
	err = fold_normal_merge(&fold->normal, map, next);
	for (int i = 0; i < FOLD_SOLVED_CHANNELS && !err; i++)
		err = fold_normal_merge(&fold->channels[i], map, next);
	free(map);
	return err ? err : fold_solution_make(fold, false);
}

static int keep_within(struct wt_fold *fold)
{
	int64_t *rows, middle;
	size_t count = 0;
	int err;

	if (fold->is_full || fold_all_bytes(fold) <= fold->options.bytes_max)
		return 0;
	if (fold->finer > 1) {
		err = merge_bins(fold, -1, fold->finer);
		fold->finer = 1;
		fold->rows = fold->options;
		if (err || fold_all_bytes(fold) <= fold->options.bytes_max)
			return err;
	}
	rows = malloc((fold->blocks.count + 1) * sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < fold->blocks.count; i++)
		if (fold->blocks.all[i].bins > 1)
			rows[count++] = fold->blocks.all[i].rows;
	qsort(rows, count, sizeof(*rows), compare_rows);
	middle = count ? rows[count / 2] : 0;
	free(rows);
	fold->is_crowded = true;
	err = count ? merge_bins(fold, middle, 1) : 0;
	if (!err && fold_all_bytes(fold) > fold->options.bytes_max / 4 * 3)
		err = merge_bins(fold, INT64_MAX, 1);
	if (!err && fold_all_bytes(fold) > fold->options.bytes_max / 4 * 3)
		fold->is_full = true;
	return err;
}

/* ---- stretches */

static int add_stretch(struct wt_fold *fold, const struct wt_fold_kernel *kernels,
                       size_t kernel_count, const struct wt_fold_sample *samples,
                       size_t sample_count, bool do_add, bool do_look)
{
	size_t positions[3] = {0};
	bool has_active = false;
	int err = 0;

	if (!sample_count)
		return 0;
	for (size_t i = 0; i < sample_count && !has_active; i++)
		has_active = samples[i].mean[WT_FOLD_ACTIVE] >= 0;
	err = prepare(fold, kernels, kernel_count, samples[0].start_ns + fold->offset_ns,
	              samples[sample_count - 1].end_ns + fold->offset_ns, has_active);
	for (size_t i = 0; i < sample_count && !err; i++) {
		err = one_sample(fold, &samples[i], positions, do_add,
		                 do_look && fold->solution.map);
		if (err || i % MOVE_SAMPLES)
			continue;
		err = keep_within(fold);
		if (!err && do_add && do_look) {
			fold_align_move(fold);
			memset(positions, 0, sizeof(positions)); /* the offset may have gone back */
		}
		if (!err && do_look && fold->samples >= fold->solve_at) {
			fold->solve_at = 2 * fold->samples;
			err = fold_solution_make(fold, false);
		}
	}
	return err;
}

static int add_waiting(struct wt_fold *fold)
{
	int err = 0;

	for (int pass = 0; pass < 2 && !err; pass++) {
		for (size_t i = 0; i < fold->waiting_count && !err; i++) {
			const struct fold_waiting *stretch = &fold->waiting[i];

			err = add_stretch(fold, stretch->kernels, stretch->kernel_count,
			                  stretch->samples, stretch->sample_count, pass == 0,
			                  pass == 1);
		}
		if (!err && pass == 0) {
			fold->solve_at = 2 * fold->samples;
			err = fold_solution_make(fold, false);
		}
	}
	if (!err)
		forget_waiting(fold);
	return err;
}

static int try_align(struct wt_fold *fold, bool must)
{
	size_t need;
	int err = fold_align(fold, must, &need);

	fold->align_at = need > fold->waiting_busy ? need : 2 * fold->waiting_busy;

	if (!err && fold->is_aligned)
		return add_waiting(fold);
	if (!err && fold->waiting_bytes > WAITING_BYTES_MAX)
		forget_waiting(fold);
	return err;
}

static int keep_waiting(struct wt_fold *fold, const struct wt_fold_kernel *kernels,
                        size_t kernel_count, const struct wt_fold_sample *samples,
                        size_t sample_count)
{
	struct fold_waiting stretch = {malloc((kernel_count + 1) * sizeof(*kernels)), kernel_count,
	                               malloc((sample_count + 1) * sizeof(*samples)), sample_count};
	void *grown = fold_room(fold->waiting, &fold->waiting_room, fold->waiting_count + 1,
	                        sizeof(*fold->waiting));

	if (grown)
		fold->waiting = grown;
	if (!grown || !stretch.kernels || !stretch.samples) {
		free(stretch.kernels);
		free(stretch.samples);
		return -ENOMEM;
	}
	if (kernel_count)
		memcpy(stretch.kernels, kernels, kernel_count * sizeof(*kernels));
	memcpy(stretch.samples, samples, sample_count * sizeof(*samples));
	fold->waiting[fold->waiting_count++] = stretch;
	fold->waiting_bytes += kernel_count * sizeof(*kernels) + sample_count * sizeof(*samples);
	for (size_t i = 0; i < sample_count; i++) {
		fold->waiting_busy +=
		        samples[i].mean[WT_FOLD_ACTIVE] > 0.005 * fold->options.sm_count;
		fold->waiting_blind +=
		        samples[i].mean[WT_FOLD_ACTIVE] < 0 && samples[i].mean[WT_FOLD_WARPS] > 0;
	}
	return 0;
}

static bool is_in_order(const struct wt_fold_kernel *kernels, size_t kernel_count,
                        const struct wt_fold_sample *samples, size_t sample_count)
{
	for (size_t i = 0; i < kernel_count; i++)
		if (kernels[i].end_ns < kernels[i].start_ns || kernels[i].config >= 1u << 24 ||
		    (i && kernels[i].start_ns < kernels[i - 1].start_ns))
			return false;
	for (size_t i = 0; i < sample_count; i++)
		if (samples[i].end_ns <= samples[i].start_ns ||
		    (i && samples[i].start_ns < samples[i - 1].end_ns))
			return false;
	return true;
}

int wt_fold_add(struct wt_fold *fold, const struct wt_fold_kernel *kernels, size_t kernel_count,
                const struct wt_fold_sample *samples, size_t sample_count)
{
	int err;

	if (!is_in_order(kernels, kernel_count, samples, sample_count))
		return -EINVAL;
	if (!sample_count)
		return 0;
	if (fold->is_aligned)
		return add_stretch(fold, kernels, kernel_count, samples, sample_count, true, true);
	err = keep_waiting(fold, kernels, kernel_count, samples, sample_count);
	if (!err && fold->waiting_busy >= fold->align_at)
		err = try_align(fold, false);
	return err;
}

int wt_fold_solve(struct wt_fold *fold)
{
	int err = 0;

	if (!fold->is_aligned && fold->waiting_busy >= BUSY_LEAST)
		err = try_align(fold, true);
	if (!err && fold->is_aligned)
		err = fold_solution_make(fold, true);
	return err;
}
