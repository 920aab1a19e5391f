/*
 * fold_fit.c - see fold_fit.h: which samples are fitted, by how many unknowns, and what the best fit leaves.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/fold_fit.h"

#define TOLERANCE 1e-4

/* ---- rows */

static bool is_active(const struct wt_fold *fold, const struct wt_fold_sample *sample)
{
	return sample->mean[WT_FOLD_ACTIVE] > 0.005 * fold->options.sm_count;
}

/* With activity, or beside one that has: silence tells as much. */
static bool is_telling(const struct wt_fold *fold, const struct fold_waiting *stretch, size_t i)
{
	const struct wt_fold_sample *sample = &stretch->samples[i];

	return sample->mean[WT_FOLD_ACTIVE] >= 0 &&
	       (is_active(fold, sample) || (i && is_active(fold, sample - 1)) ||
	        (i + 1 < stretch->sample_count && is_active(fold, sample + 1)));
}

/* Evenly thinned. */
static int choose_rows(struct fold_fit *fit)
{
	const struct wt_fold *fold = fit->fold;
	size_t active = 0, count = 0;

	for (int pass = 0; pass < 2; pass++) {
		for (size_t s = 0; s < fold->waiting_count; s++) {
			const struct fold_waiting *stretch = &fold->waiting[s];

			for (size_t i = 0; i < stretch->sample_count; i++) {
				if (!is_telling(fold, stretch, i))
					continue;
				if (pass && count * FOLD_FIT_ROWS / active !=
				                    (count + 1) * FOLD_FIT_ROWS / active)
					fit->rows[fit->row_count++] =
					        (struct fold_fit_row){(uint32_t)s, (uint32_t)i};
				count++;
			}
		}
		if (pass)
			break;
		active = count > FOLD_FIT_ROWS ? count : FOLD_FIT_ROWS;
		count = 0;
		fit->rows = malloc((FOLD_FIT_ROWS + 1) * sizeof(*fit->rows));
		if (!fit->rows)
			return -ENOMEM;
	}
	return 0;
}

static int choose_alone_of(struct fold_fit *fit, uint32_t stretch, int64_t offset_ns,
                           int64_t margin_ns)
{
	const struct wt_fold *fold = fit->fold;
	const struct fold_waiting *waiting = &fold->waiting[stretch];
	size_t position = 0;

	for (uint32_t i = 0; i < waiting->sample_count; i++) {
		const struct wt_fold_sample *sample = &waiting->samples[i];

		if (!is_telling(fold, waiting, i) || fit->row_count == FOLD_FIT_ROWS)
			continue;
		if (fold_row_build(&fit->row, &fit->segments[stretch], &fold->blocks, fit->places,
		                   sample->start_ns + offset_ns - margin_ns,
		                   sample->end_ns + offset_ns + margin_ns, &position))
			return -ENOMEM;
		if (fit->row.is_alone)
			fit->rows[fit->row_count++] = (struct fold_fit_row){stretch, i};
	}
	return 0;
}

int fold_fit_choose_alone(struct fold_fit *fit, int64_t offset_ns, int64_t margin_ns,
                          size_t *ret_rows)
{
	const struct fold_blocks *blocks = &fit->fold->blocks;
	int err = 0;

	fit->row_count = 0;
	for (size_t s = 0; s < fit->fold->waiting_count && !err; s++)
		err = choose_alone_of(fit, (uint32_t)s, offset_ns, margin_ns);
	for (size_t i = 0; i < blocks->count; i++)
		if (blocks->all[i].config == FOLD_NONE)
			fit->block_ns[i] = 0;
	*ret_rows = fit->row_count;
	return err;
}

struct ranked {
	double ns;
	uint32_t block;
};

static int compare_ranked(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return a->block < b->block ? -1 : a->block > b->block;
}

static void release_places(struct fold_fit *fit)
{
	free(fit->places);
	free(fit->x);
	free(fit->b);
	free(fit->times);
	fit->places = NULL;
	fit->x = fit->b = fit->times = NULL;
}

/* One unknown for each block by its time, as far as they go, then more bins likewise. */
static void share_unknowns(struct fold_fit *fit, const struct ranked *ranked, size_t budget)
{
	const struct fold_blocks *blocks = &fit->fold->blocks;
	size_t used = 1, own = 0;
	uint32_t next = 1;

	for (; own < blocks->count && used < budget && ranked[own].ns > 0; own++, used++)
		fit->places[ranked[own].block].bins = 1;
	fit->wanted = 1;
	for (size_t i = 0; i < blocks->count; i++) {
		const struct fold_block *block = &blocks->all[ranked[i].block];
		struct fold_place *place = &fit->places[ranked[i].block];
		uint32_t bins = fold_block_search_bins(&fit->fold->options, block, fit->width);

		fit->wanted += ranked[i].ns > 0 ? bins : 0;
		if (i >= own) { /* the rest shares unknown 0 */
			*place = (struct fold_place){0, 1};
			continue;
		}
		if (used + bins - 1 <= budget) {
			used += bins - 1;
			place->bins = bins;
		}
		place->first = next;
		next += place->bins;
	}
	fit->columns = next;
}

/* For a search in about so many rows: a quarter as many unknowns. */
int fold_fit_phase(struct fold_fit *fit, size_t rows)
{
	const struct fold_blocks *blocks = &fit->fold->blocks;
	struct ranked *ranked = malloc(blocks->count * sizeof(*ranked));

	release_places(fit);
	fit->stride = (fit->row_count + rows - 1) / rows;
	if (!fit->stride)
		fit->stride = 1;
	fit->places = calloc(blocks->count, sizeof(*fit->places));
	if (!ranked || !fit->places) {
		free(ranked);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < blocks->count; i++)
		ranked[i] = (struct ranked){fit->block_ns[i], i};
	qsort(ranked, blocks->count, sizeof(*ranked), compare_ranked);
	rows = fit->row_count / fit->stride;
	share_unknowns(fit, ranked, (size_t)(FOLD_FIT_UNKNOWNS * (double)rows));
	free(ranked);
	fit->x = calloc(fit->columns, sizeof(double));
	fit->b = calloc(fit->columns, sizeof(double));
	fit->times = calloc(fit->columns, sizeof(double));
	return fit->x && fit->b && fit->times ? 0 : -ENOMEM;
}

int fold_fit_begin(struct fold_fit *fit)
{
	struct wt_fold *fold = fit->fold;
	int err = fold_normal_init(&fit->normal, 1);

	fit->segments = calloc(fold->waiting_count + 1, sizeof(*fit->segments));
	if (err || !fit->segments)
		return -ENOMEM;
	for (size_t s = 0; s < fold->waiting_count && !err; s++)
		err = fold_segments_build(&fit->segments[s], &fold->blocks,
		                          fold->waiting[s].kernels, fold->waiting[s].kernel_count,
		                          &fold->options);
	if (!err)
		err = choose_rows(fit);
	if (err)
		return err;
	for (size_t i = 0; i < fold->blocks.count; i++) { /* earlier tries */
		fold->blocks.all[i].duration_ns = fold->blocks.all[i].alone_ns = 0;
		fold->blocks.all[i].durations = fold->blocks.all[i].alones = 0;
		fold->blocks.all[i].alone_busy_ns = 0;
	}
	for (size_t s = 0; s < fold->waiting_count; s++)
		fold_tally(fold, fold->waiting[s].kernels, fold->waiting[s].kernel_count);
	fit->block_ns = calloc(fold->blocks.count + 1, sizeof(*fit->block_ns));
	if (!fit->block_ns)
		return -ENOMEM;
	for (size_t s = 0; s < fold->waiting_count; s++)
		for (size_t i = 0; i < fit->segments[s].count; i++) {
			const struct fold_segment *segment = &fit->segments[s].all[i];

			fit->block_ns[segment->block] +=
			        (double)(segment->end_ns - segment->start_ns);
		}
	return fold_fit_phase(fit, FOLD_FIT_ROWS);
}

void fold_fit_end(struct fold_fit *fit)
{
	for (size_t s = 0; fit->segments && s < fit->fold->waiting_count; s++)
		fold_segments_fini(&fit->segments[s]);
	free(fit->segments);
	free(fit->rows);
	release_places(fit);
	free(fit->block_ns);
	fold_row_fini(&fit->row);
	fold_normal_fini(&fit->normal);
}

/* ---- one offset */

static int add_rows(struct fold_fit *fit, int64_t offset_ns, double *ret_square)
{
	double square = 0, sum = 0, length = 0, cross = 0, length_square = 0, rate;
	uint32_t stretch = UINT32_MAX;
	size_t position = 0;

	fit->rows_taken = 0;
	fold_normal_clear(&fit->normal);
	if (fold_normal_grow(&fit->normal, fit->columns) == FOLD_NONE)
		return -ENOMEM;
	for (size_t i = 0; i < fit->row_count; i += fit->stride) {
		const struct fold_waiting *waiting = &fit->fold->waiting[fit->rows[i].stretch];
		const struct wt_fold_sample *sample = &waiting->samples[fit->rows[i].sample];
		double ns = (double)(sample->end_ns - sample->start_ns);
		double y = sample->mean[WT_FOLD_ACTIVE] * ns;

		if (fit->rows[i].stretch != stretch)
			position = 0;
		stretch = fit->rows[i].stretch;
		if (fold_row_build(&fit->row, &fit->segments[stretch], &fit->fold->blocks,
		                   fit->places, sample->start_ns + offset_ns,
		                   sample->end_ns + offset_ns, &position) ||
		    fold_normal_add(&fit->normal, &fit->row, &y, false))
			return -ENOMEM;
		square += y * y;
		sum += y;
		length += ns;
		cross += y * ns;
		length_square += ns * ns;
		fit->rows_taken++;
	}
	rate = length > 0 ? sum / length : 0;
	fit->variance = square - 2 * rate * cross + rate * rate * length_square;
	fit->length_ns = length;
	*ret_square = square;
	return 0;
}

/* As in fold_solution.c: what hardly any sample tells is not far from 0, and needs no exact solution. */
static void add_prior(const struct fold_fit *fit, struct fold_matrix *matrix)
{
	double prior = FOLD_NOISE * fit->length_ns / (double)fit->rows_taken;

	for (size_t i = 0; i < matrix->count; i++) {
		for (size_t k = matrix->row[i]; k < matrix->row[i + 1]; k++)
			if (matrix->column[k] == i)
				matrix->value[k] += prior * prior;
		matrix->diagonal[i] += prior * prior;
	}
}

/* The sum of squares that the best fit leaves. */
int fold_fit_try(struct fold_fit *fit, int64_t offset_ns, double *ret_square)
{
	struct fold_matrix matrix;
	int err = add_rows(fit, offset_ns, ret_square);

	if (!err)
		err = fold_matrix_init(&matrix, &fit->normal, NULL, fit->columns);
	if (err)
		return err;
	add_prior(fit, &matrix);
	for (size_t i = 0; i < fit->columns; i++)
		fit->b[i] = fit->normal.rhs[i];
	err = fold_solve_bounded(&matrix, fit->b, fit->fold->options.sm_count, TOLERANCE, fit->x);
	fold_matrix_times(&matrix, fit->x, fit->times, 1);
	for (size_t i = 0; i < fit->columns; i++)
		*ret_square += fit->x[i] * (fit->times[i] - 2 * fit->b[i]);
	fold_matrix_fini(&matrix);
	return err;
}
