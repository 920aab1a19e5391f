/*
 * fold_align.c - see fold_internal.h: the offset from the samples' clock to the kernels'.
 *
 * The one with the smallest residual of a fit as in the main part, on some thousand samples: every
 * COARSE_NS of the range, then around the best minima in steps that halve down to FINE_NS. Where
 * another minimum fits nearly as well (a periodic program, shifted by a period), what the two make of
 * the kernels decides: the same, and it doesn't matter; else there is no alignment.
 *
 * Kernels with long thin tails fit nearly as well when shifted by a bin: the first one takes 0, and what
 * falls off the end is little. Bins of other widths would have to be shifted by something else, while the
 * true offset stays: the sum over some widths decides.
 *
 * Along the run each sample's residual is also taken a little before and after the offset, by the
 * solution so far: a parabola through the three sums shows where the minimum went.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/fold_internal.h"

#define COARSE_NS 2000
#define FINE_NS 15
#define COARSE_ROWS 1500
#define FINE_ROWS 4000
#define ALL_ROWS 12000 /* for the last steps, if there are many configurations */
#define EXACT_NS 60 /* no better than this: time stamps are not */
#define MISFIT 3 /* bins are no kernel's true course: larger errors than noise alone makes */
#define MISFIT_NS 400 /* what the search may be off, were the course of kernels left out */
#define STILL_NS 60 /* moves that are not worth it */
#define CANDIDATES 5
#define UNKNOWNS_PER_ROW 0.25
#define TOLERANCE 1e-4
#define NEARLY 1.05 /* residuals that don't tell two offsets apart */
#define SPREAD_MAX 0.02 /* of SM-time: what two offsets may differ by and be the same */
#define CHECK_ROWS 500
#define SHIFTS 3 /* bins, to either side */
#define SHIFTED 2 /* residuals of those that are looked at, over the best one's */

static const double widths[] = {1, 0.8, 0.62}; /* of bins */

struct chosen {
	uint32_t stretch;
	uint32_t sample;
};

struct search {
	struct wt_fold *fold;
	struct fold_segments *segments; /* by stretch */
	struct chosen *rows; /* by time */
	size_t row_count, stride;
	struct fold_place *places; /* by block */
	double *block_ns;
	double width; /* of bins, over what it will be */
	size_t columns, wanted; /* unknowns; if there were samples enough */
	struct fold_row row;
	struct fold_normal normal;
	double *x, *b, *times; /* columns */
	double variance, length_ns; /* of the rows taken last */
	size_t rows_taken;
};

struct candidate {
	int64_t offset_ns;
	double square, widths_square;
	double *x;
};

/* ---- what is fitted */

static bool is_active(const struct wt_fold *fold, const struct wt_fold_sample *sample)
{
	return sample->mean[WT_FOLD_ACTIVE] > 0.005 * fold->options.sm_count;
}

/* Samples with activity, or beside one that has: silence tells as much. Evenly thinned. */
static int choose_rows(struct search *search)
{
	const struct wt_fold *fold = search->fold;
	size_t active = 0, count = 0;

	for (int pass = 0; pass < 2; pass++) {
		for (size_t s = 0; s < fold->waiting_count; s++) {
			const struct fold_waiting *stretch = &fold->waiting[s];

			for (size_t i = 0; i < stretch->sample_count; i++) {
				const struct wt_fold_sample *sample = &stretch->samples[i];

				if (sample->mean[WT_FOLD_ACTIVE] < 0 ||
				    !(is_active(fold, sample) ||
				      (i && is_active(fold, sample - 1)) ||
				      (i + 1 < stretch->sample_count &&
				       is_active(fold, sample + 1))))
					continue;
				if (pass &&
				    count * ALL_ROWS / active != (count + 1) * ALL_ROWS / active)
					search->rows[search->row_count++] =
					        (struct chosen){(uint32_t)s, (uint32_t)i};
				count++;
			}
		}
		if (pass)
			break;
		active = count > ALL_ROWS ? count : ALL_ROWS;
		count = 0;
		search->rows = malloc((ALL_ROWS + 1) * sizeof(*search->rows));
		if (!search->rows)
			return -ENOMEM;
	}
	return 0;
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

static void release_places(struct search *search)
{
	free(search->places);
	free(search->x);
	free(search->b);
	free(search->times);
	search->places = NULL;
	search->x = search->b = search->times = NULL;
}

/* One unknown for each block by its time, as far as they go, then more bins likewise. */
static void share_unknowns(struct search *search, const struct ranked *ranked, size_t budget)
{
	const struct fold_blocks *blocks = &search->fold->blocks;
	size_t used = 1, own = 0;
	uint32_t next = 1;

	for (; own < blocks->count && used < budget; own++, used++)
		search->places[ranked[own].block].bins = 1;
	search->wanted = 1;
	for (size_t i = 0; i < blocks->count; i++) {
		const struct fold_block *block = &blocks->all[ranked[i].block];
		struct fold_place *place = &search->places[ranked[i].block];
		uint32_t bins = 1;

		if (block->config != FOLD_NONE && block->durations)
			bins = fold_bins(&search->fold->options, block->duration_ns /
			                                                 (double)block->durations /
			                                                 search->width);
		search->wanted += bins;
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
	search->columns = next;
}

/* For a search in about so many rows: a quarter as many unknowns. */
static int begin_phase(struct search *search, size_t rows)
{
	const struct fold_blocks *blocks = &search->fold->blocks;
	struct ranked *ranked = malloc(blocks->count * sizeof(*ranked));

	release_places(search);
	search->stride = (search->row_count + rows - 1) / rows;
	if (!search->stride)
		search->stride = 1;
	search->places = calloc(blocks->count, sizeof(*search->places));
	if (!ranked || !search->places) {
		free(ranked);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < blocks->count; i++)
		ranked[i] = (struct ranked){search->block_ns[i], i};
	qsort(ranked, blocks->count, sizeof(*ranked), compare_ranked);
	rows = search->row_count / search->stride;
	share_unknowns(search, ranked, (size_t)(UNKNOWNS_PER_ROW * (double)rows));
	free(ranked);
	search->x = calloc(search->columns, sizeof(double));
	search->b = calloc(search->columns, sizeof(double));
	search->times = calloc(search->columns, sizeof(double));
	return search->x && search->b && search->times ? 0 : -ENOMEM;
}

static int begin(struct search *search)
{
	struct wt_fold *fold = search->fold;
	int err = fold_normal_init(&search->normal, 1);

	search->segments = calloc(fold->waiting_count + 1, sizeof(*search->segments));
	if (err || !search->segments)
		return -ENOMEM;
	for (size_t s = 0; s < fold->waiting_count && !err; s++)
		err = fold_segments_build(&search->segments[s], &fold->blocks,
		                          fold->waiting[s].kernels, fold->waiting[s].kernel_count,
		                          &fold->options);
	if (!err)
		err = choose_rows(search);
	if (err)
		return err;
	for (size_t i = 0; i < fold->blocks.count; i++) { /* earlier tries */
		fold->blocks.all[i].duration_ns = 0;
		fold->blocks.all[i].durations = 0;
	}
	for (size_t s = 0; s < fold->waiting_count; s++)
		fold_tally(fold, fold->waiting[s].kernels, fold->waiting[s].kernel_count);
	search->block_ns = calloc(fold->blocks.count + 1, sizeof(*search->block_ns));
	if (!search->block_ns)
		return -ENOMEM;
	for (size_t s = 0; s < fold->waiting_count; s++)
		for (size_t i = 0; i < search->segments[s].count; i++) {
			const struct fold_segment *segment = &search->segments[s].all[i];

			search->block_ns[segment->block] +=
			        (double)(segment->end_ns - segment->start_ns);
		}
	return begin_phase(search, ALL_ROWS);
}

static void end(struct search *search)
{
	for (size_t s = 0; search->segments && s < search->fold->waiting_count; s++)
		fold_segments_fini(&search->segments[s]);
	free(search->segments);
	free(search->rows);
	release_places(search);
	free(search->block_ns);
	fold_row_fini(&search->row);
	fold_normal_fini(&search->normal);
}

/* ---- one offset */

static int add_rows(struct search *search, int64_t offset_ns, double *ret_square)
{
	double square = 0, sum = 0, length = 0, cross = 0, length_square = 0, rate;
	uint32_t stretch = UINT32_MAX;
	size_t position = 0;

	search->rows_taken = 0;
	fold_normal_clear(&search->normal);
	if (fold_normal_grow(&search->normal, search->columns) == FOLD_NONE)
		return -ENOMEM;
	for (size_t i = 0; i < search->row_count; i += search->stride) {
		const struct fold_waiting *waiting =
		        &search->fold->waiting[search->rows[i].stretch];
		const struct wt_fold_sample *sample = &waiting->samples[search->rows[i].sample];
		double ns = (double)(sample->end_ns - sample->start_ns);
		double y = sample->mean[WT_FOLD_ACTIVE] * ns;

		if (search->rows[i].stretch != stretch)
			position = 0;
		stretch = search->rows[i].stretch;
		if (fold_row_build(&search->row, &search->segments[stretch], &search->fold->blocks,
		                   search->places, sample->start_ns + offset_ns,
		                   sample->end_ns + offset_ns, &position) ||
		    fold_normal_add(&search->normal, &search->row, &y, false))
			return -ENOMEM;
		square += y * y;
		sum += y;
		length += ns;
		cross += y * ns;
		length_square += ns * ns;
		search->rows_taken++;
	}
	rate = length > 0 ? sum / length : 0;
	search->variance = square - 2 * rate * cross + rate * rate * length_square;
	search->length_ns = length;
	*ret_square = square;
	return 0;
}

/* As in fold_solution.c: what hardly any sample tells is not far from 0, and needs no exact solution. */
static void add_prior(const struct search *search, struct fold_matrix *matrix)
{
	double prior = FOLD_NOISE * search->length_ns / (double)search->rows_taken;

	for (size_t i = 0; i < matrix->count; i++) {
		for (size_t k = matrix->row[i]; k < matrix->row[i + 1]; k++)
			if (matrix->column[k] == i)
				matrix->value[k] += prior * prior;
		matrix->diagonal[i] += prior * prior;
	}
}

/* The sum of squares that the best fit leaves. */
static int try_offset(struct search *search, int64_t offset_ns, double *ret_square)
{
	struct fold_matrix matrix;
	int err = add_rows(search, offset_ns, ret_square);

	if (!err)
		err = fold_matrix_init(&matrix, &search->normal, NULL, search->columns);
	if (err)
		return err;
	add_prior(search, &matrix);
	for (size_t i = 0; i < search->columns; i++)
		search->b[i] = search->normal.rhs[i];
	err = fold_solve_bounded(&matrix, search->b, search->fold->options.sm_count, TOLERANCE,
	                         search->x);
	fold_matrix_times(&matrix, search->x, search->times, 1);
	for (size_t i = 0; i < search->columns; i++)
		*ret_square += search->x[i] * (search->times[i] - 2 * search->b[i]);
	fold_matrix_fini(&matrix);
	return err;
}

/* ---- the search */

static int scan(struct search *search, struct candidate *candidates, size_t *ret_count)
{
	int64_t max_ns = search->fold->options.offset_max_ns;
	size_t steps = (size_t)(2 * max_ns / COARSE_NS) + 1, count = 0;
	double *square = malloc(steps * sizeof(*square));
	int err = square ? begin_phase(search, COARSE_ROWS) : -ENOMEM;

	for (size_t i = 0; i < steps && !err; i++)
		err = try_offset(search, (int64_t)i * COARSE_NS - max_ns, &square[i]);
	for (size_t i = 0; i < steps && !err; i++) {
		struct candidate found = {.offset_ns = (int64_t)i * COARSE_NS - max_ns,
		                          .square = square[i]};
		size_t at = count;

		if ((i && square[i - 1] < square[i]) ||
		    (i + 1 < steps && square[i + 1] <= square[i]))
			continue;
		while (at && candidates[at - 1].square > found.square)
			at--;
		if (at == CANDIDATES)
			continue;
		if (count == CANDIDATES)
			count--;
		memmove(candidates + at + 1, candidates + at, (count - at) * sizeof(*candidates));
		candidates[at] = found;
		count++;
	}
	free(square);
	*ret_count = count;
	return err;
}

/* Down to the minimum beside it, in steps that halve. */
static int refine(struct search *search, struct candidate *candidate, int64_t from_ns,
                  int64_t to_ns)
{
	int err = try_offset(search, candidate->offset_ns, &candidate->square);

	for (int64_t step_ns = from_ns; step_ns >= to_ns && !err; step_ns /= 2) {
		for (int way = -1; way <= 1 && !err; way += 2) {
			for (int moves = 0; moves < 4 && !err; moves++) {
				int64_t offset_ns = candidate->offset_ns + way * step_ns;
				double square = 0;

				err = try_offset(search, offset_ns, &square);
				if (err || square >= candidate->square)
					break;
				candidate->offset_ns = offset_ns;
				candidate->square = square;
				way = 2; /* the other way is up */
			}
			if (way == 2)
				break;
		}
	}
	return err;
}

static int keep_solution(struct search *search, struct candidate *candidate)
{
	double square;
	int err = try_offset(search, candidate->offset_ns, &square);

	candidate->x = err ? NULL : malloc(search->columns * sizeof(*candidate->x));
	if (!err && !candidate->x)
		err = -ENOMEM;
	if (!err)
		memcpy(candidate->x, search->x, search->columns * sizeof(*candidate->x));
	return err;
}

/* By how much of the SM-time two solutions differ in what they give to whom. */
static double spread(const struct search *search, const double *a, const double *b)
{
	double differ = 0, all = 0;

	for (size_t i = 0; i < search->fold->blocks.count; i++) {
		const struct fold_place *place = &search->places[i];
		double sum_a = 0, sum_b = 0;

		for (uint32_t bin = 0; bin < place->bins; bin++) {
			sum_a += a[place->first + bin];
			sum_b += b[place->first + bin];
		}
		differ += fabs(sum_a - sum_b) * search->block_ns[i] / place->bins;
		all += sum_a * search->block_ns[i] / place->bins;
	}
	return all > 0 ? differ / all : 0;
}

/* How sharp the minimum is: where the noise alone could have put it. */
static int measure(struct search *search, struct candidate *best, double *ret_sigma_ns)
{
	const double step_ns = 120;
	double before = 0, after = 0, curve, noise;
	double free_rows = (double)search->rows_taken - (double)search->columns;
	int err = try_offset(search, best->offset_ns - (int64_t)step_ns, &before);

	if (!err)
		err = try_offset(search, best->offset_ns + (int64_t)step_ns, &after);
	curve = before + after - 2 * best->square;
	noise = best->square / (free_rows > 1 ? free_rows : 1);
	*ret_sigma_ns = (double)search->fold->options.offset_max_ns;
	if (curve > 0) {
		double move_ns = step_ns * (before - after) / (2 * curve);
		double sigma_ns = MISFIT * step_ns * sqrt(2 * noise / curve);

		if (fabs(move_ns) < step_ns)
			best->offset_ns += (int64_t)floor(move_ns + 0.5);
		if (sigma_ns < *ret_sigma_ns)
			*ret_sigma_ns = hypot(sigma_ns, EXACT_NS);
	}
	return err;
}

/* Is one of the others as good, and does it matter? */
static int judge(struct search *search, struct candidate *all, size_t count, bool *ret_ambiguous)
{
	double noise = all[0].square / (double)(search->rows_taken ? search->rows_taken : 1);
	int err = keep_solution(search, &all[0]);

	size_t nearest = 0; /* clocks are not far apart: of equals, the least offset */

	*ret_ambiguous = false;
	for (size_t i = 1; i < count && !err; i++) {
		if (llabs(all[i].offset_ns - all[0].offset_ns) < COARSE_NS ||
		    all[i].square > NEARLY * all[0].square + 30 * noise)
			continue;
		err = keep_solution(search, &all[i]);
		if (!err && spread(search, all[0].x, all[i].x) > SPREAD_MAX)
			*ret_ambiguous = true;
		else if (!err && llabs(all[i].offset_ns) < llabs(all[nearest].offset_ns))
			nearest = i;
	}
	if (!*ret_ambiguous && nearest) {
		struct candidate swap = all[0];

		all[0] = all[nearest];
		all[nearest] = swap;
	}
	return err;
}

/* Sum of squares over bins of some widths. */
static int sum_widths(struct search *search, struct candidate *all, size_t count)
{
	int err = 0;

	for (size_t i = 0; i < count; i++)
		all[i].widths_square = 0;
	for (size_t w = 0; w < sizeof(widths) / sizeof(*widths) && !err; w++) {
		search->width = widths[w];
		err = begin_phase(search, ALL_ROWS);
		for (size_t i = 0; i < count && !err; i++) {
			double square;

			err = try_offset(search, all[i].offset_ns, &square);
			all[i].widths_square += square;
		}
	}
	search->width = 1;
	return err;
}

/* Is it shifted by some bins? *ret_doubt_ns: how far off the offset may be, for all that can be told. */
static int unshift(struct search *search, struct candidate *best, double *ret_doubt_ns)
{
	struct candidate all[2 * SHIFTS + 1] = {*best};
	size_t count = 1, chosen = 0;
	double least;
	int err = 0;

	for (int shift = -SHIFTS; shift <= SHIFTS && !err; shift++) {
		struct candidate *next = &all[count];

		if (!shift)
			continue;
		*next = (struct candidate){.offset_ns = best->offset_ns +
		                                        shift * search->fold->options.bin_ns};
		err = refine(search, next, 250, 125);
		if (next->square <= SHIFTED * best->square &&
		    llabs(next->offset_ns - best->offset_ns) > search->fold->options.bin_ns / 2)
			count++;
	}
	*ret_doubt_ns = 0;
	if (err || count == 1)
		return err;
	err = sum_widths(search, all, count);
	least = all[0].widths_square;
	for (size_t i = 1; i < count; i++)
		least = fmin(least, all[i].widths_square);
	for (size_t i = 0; i < count; i++)
		if (all[i].widths_square <= NEARLY * least &&
		    (all[chosen].widths_square > NEARLY * least ||
		     llabs(all[i].offset_ns) < llabs(all[chosen].offset_ns)))
			chosen = i;
	for (size_t i = 0; i < count; i++)
		if (all[i].widths_square <= NEARLY * least)
			*ret_doubt_ns =
			        fmax(*ret_doubt_ns,
			             fabs((double)(all[i].offset_ns - all[chosen].offset_ns)));
	best->offset_ns = all[chosen].offset_ns;
	best->square = all[chosen].square;
	return err;
}

static int find(struct search *search)
{
	struct wt_fold *fold = search->fold;
	struct candidate candidates[CANDIDATES + 1] = {{0}};
	size_t count = 0;
	bool is_ambiguous = false;
	double doubt_ns = 0;
	int err = scan(search, candidates, &count);

	if (!err)
		err = begin_phase(search, FINE_ROWS);
	for (size_t i = 0; i < count && !err; i++) {
		if (i && candidates[i].square > 3 * candidates[0].square && i > 1)
			candidates[i].square = INFINITY;
		else
			err = refine(search, &candidates[i], 1000, 250);
	}
	for (size_t i = 1; i < count; i++)
		if (candidates[i].square < candidates[0].square) {
			struct candidate swap = candidates[0];

			candidates[0] = candidates[i];
			candidates[i] = swap;
		}
	if (!err && count)
		err = judge(search, candidates, count, &is_ambiguous);
	if (!err && count && !is_ambiguous)
		err = unshift(search, &candidates[0], &doubt_ns);
	if (!err)
		err = begin_phase(search, ALL_ROWS);
	if (!err && count)
		err = refine(search, &candidates[0], 125, FINE_NS);
	if (!err && count)
		err = measure(search, &candidates[0], &fold->offset_sigma_ns);
	fold->offset_sigma_ns = hypot(fold->offset_sigma_ns, doubt_ns / 2);
	fold->is_ambiguous = is_ambiguous;
	fold->is_aligned = !err && count && !is_ambiguous;
	fold->offset_ns = fold->offset_min_ns = fold->offset_max_ns = candidates[0].offset_ns;
	if (count && search->variance > 0)
		fold->residual = candidates[0].square / search->variance;
	for (size_t i = 0; i < count; i++)
		free(candidates[i].x);
	return err;
}

int fold_align(struct wt_fold *fold, bool must, size_t *ret_need)
{
	struct search search = {.fold = fold, .stride = 1, .width = 1};
	int err = begin(&search);
	double left_out, joint_ns = 0, all_ns = 0;

	*ret_need = (size_t)((double)search.wanted / UNKNOWNS_PER_ROW);
	if (*ret_need > ALL_ROWS)
		*ret_need = ALL_ROWS;
	if (!err && !must && search.row_count < *ret_need) {
		end(&search);
		return 0;
	}
	if (!err)
		err = find(&search);
	left_out = 1 - (double)search.columns / (double)(search.wanted ? search.wanted : 1);
	for (size_t i = 0; !err && i < fold->blocks.count; i++) {
		all_ns += search.block_ns[i];
		joint_ns += fold->blocks.all[i].config == FOLD_NONE ? search.block_ns[i] : 0;
	}
	if (all_ns > 0) /* joint time has no course either */
		left_out = fmax(left_out, 0) + joint_ns / all_ns;
	if (left_out > 0)
		fold->offset_sigma_ns = hypot(fold->offset_sigma_ns, MISFIT_NS * left_out);
	end(&search);
	return err;
}

/* ---- along the run */

void fold_align_check(struct wt_fold *fold, const double residuals[3])
{
	for (int i = 0; i < 3; i++)
		fold->check_square[i] += residuals[i] * residuals[i];
	fold->check_rows++;
}

void fold_align_move(struct wt_fold *fold)
{
	const double *square = fold->check_square;
	double curve = square[0] + square[2] - 2 * square[1], move_ns = 0, sigma_ns;

	if (fold->check_rows < CHECK_ROWS || !(curve > 0))
		return;
	sigma_ns = FOLD_CHECK_NS * sqrt(2 * square[1] / (double)fold->check_rows / curve);
	move_ns = FOLD_CHECK_NS * (square[0] - square[2]) / (2 * curve);
	if (sigma_ns > FOLD_CHECK_NS / 4.0)
		return; /* more of them will tell */
	if (fabs(move_ns) > FOLD_CHECK_NS)
		move_ns = move_ns > 0 ? FOLD_CHECK_NS : -FOLD_CHECK_NS;
	if (fabs(move_ns) > 3 * sigma_ns && fabs(move_ns) > STILL_NS) {
		fold->offset_ns += (int64_t)move_ns;
		if (fold->offset_ns < fold->offset_min_ns)
			fold->offset_min_ns = fold->offset_ns;
		if (fold->offset_ns > fold->offset_max_ns)
			fold->offset_max_ns = fold->offset_ns;
	}
	fold->moved_square_sum += move_ns * move_ns;
	fold->moves++;
	fold->check_rows = 0;
	memset(fold->check_square, 0, sizeof(fold->check_square));
}
