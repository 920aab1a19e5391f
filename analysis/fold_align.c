/*
 * fold_align.c - see fold_internal.h: the offset from the samples' clock to the kernels'.
 *
 * The one with the smallest residual of a fit (fold_fit.h): every COARSE_NS of the range, then around the best minima in steps that halve down to FINE_NS. Where
 * another minimum fits nearly as well (a periodic program, shifted by a period), what the two make of
 * the kernels decides: the same, and it doesn't matter; else there is no alignment.
 *
 * Kernels with long thin tails fit nearly as well when shifted by a bin: the first one takes 0, and what
 * falls off the end is little. Bins of other widths would have to be shifted by something else, while the
 * true offset stays: the sum over some widths decides.
 *
 * Along the run each sample's residual is also taken a little before and after the offset, by the
 * solution so far: a parabola through the three sums shows where the minimum went. Where kernels overlap,
 * samples that saw none of it tell: with the solution of all samples they are surer of the offset than the
 * search is, which has few of them (tests/gpu/RESULTS.md).
 *
 * BINS. What an unknown can't follow, an edge within a bin, averages out where kernels meet the samples
 * in ever other company. In a fixed order it doesn't: patterns that repeat every sample's length cancel
 * in all samples but for what is left of them, so that fitting what bins leave unexplained takes large
 * ones. Hence finer bins, where they explain more than what is noise, and their pairs are few enough; and
 * less of the ramps taken off, since such bins see themselves where activity begins and ends.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/fold_fit.h"

#define COARSE_NS 2000
#define FINE_NS 15
#define COARSE_ROWS 1500
#define FINE_ROWS 4000
#define EXACT_NS 60 /* no better than this: time stamps are not */
#define MISFIT 3 /* bins are no kernel's true course: larger errors than noise alone makes */
#define MISFIT_NS 400 /* what the search may be off, were the course of kernels left out */
#define STILL_NS 60 /* moves that are not worth it */
#define CANDIDATES 5
#define NEARLY 1.05 /* residuals that don't tell two offsets apart */
#define SPREAD_MAX 0.02 /* of SM-time: what two offsets may differ by and be the same */
#define CHECK_ROWS 500
#define CHECK_ALONE_ROWS 200 /* the same, where only those without overlap tell */
#define ALONE_SHARE                                                                                \
	0.05 /* of the time beside others, from which on samples without are looked for */
#define ALONE_ROWS 400 /* of them */
#define ALONE_LEAST 150
#define ALONE_RARE 400 /* one in so many is worth it */
#define ALONE_BYTES ((size_t)24 << 20)
#define ALONE_MARGIN_NS 2000
#define SHIFTS 3 /* bins, to either side */
#define SHIFTED 2 /* residuals of those that are looked at, over the best one's */

#define FINER 3 /* bins for each that is told */
#define FINER_RAMP 0.6
#define FINER_LEFT 0.95 /* of what the others leave, at most */
#define FINER_BYTES 8e6 /* of normal equations with them, as rows of the search share samples */
#define FINER_UNKNOWNS 3000 /* at most, as later samples may come to pair any two: 36 MB */

static const double widths[] = {1, 0.8, 0.62}; /* of bins */

struct candidate {
	int64_t offset_ns;
	double square, widths_square;
	double *x;
};

/* ---- the search */

static int scan(struct fold_fit *fit, struct candidate *candidates, size_t *ret_count)
{
	int64_t max_ns = fit->fold->options.offset_max_ns;
	size_t steps = (size_t)(2 * max_ns / COARSE_NS) + 1, count = 0;
	double *square = malloc(steps * sizeof(*square));
	int err = square ? fold_fit_phase(fit, COARSE_ROWS) : -ENOMEM;

	for (size_t i = 0; i < steps && !err; i++)
		err = fold_fit_try(fit, (int64_t)i * COARSE_NS - max_ns, &square[i]);
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
static int refine(struct fold_fit *fit, struct candidate *candidate, int64_t from_ns, int64_t to_ns)
{
	int err = fold_fit_try(fit, candidate->offset_ns, &candidate->square);

	for (int64_t step_ns = from_ns; step_ns >= to_ns && !err; step_ns /= 2) {
		for (int way = -1; way <= 1 && !err; way += 2) {
			for (int moves = 0; moves < 4 && !err; moves++) {
				int64_t offset_ns = candidate->offset_ns + way * step_ns;
				double square = 0;

				err = fold_fit_try(fit, offset_ns, &square);
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

static int keep_solution(struct fold_fit *fit, struct candidate *candidate)
{
	double square;
	int err = fold_fit_try(fit, candidate->offset_ns, &square);

	candidate->x = err ? NULL : malloc(fit->columns * sizeof(*candidate->x));
	if (!err && !candidate->x)
		err = -ENOMEM;
	if (!err)
		memcpy(candidate->x, fit->x, fit->columns * sizeof(*candidate->x));
	return err;
}

/* By how much of the SM-time two solutions differ in what they give to whom. */
static double spread(const struct fold_fit *fit, const double *a, const double *b)
{
	double differ = 0, all = 0;

	for (size_t i = 0; i < fit->fold->blocks.count; i++) {
		const struct fold_place *place = &fit->places[i];
		double sum_a = 0, sum_b = 0;

		for (uint32_t bin = 0; bin < place->bins; bin++) {
			sum_a += a[place->first + bin];
			sum_b += b[place->first + bin];
		}
		differ += fabs(sum_a - sum_b) * fit->block_ns[i] / place->bins;
		all += sum_a * fit->block_ns[i] / place->bins;
	}
	return all > 0 ? differ / all : 0;
}

/* How sharp the minimum is: where the noise alone could have put it. */
static int measure(struct fold_fit *fit, struct candidate *best, double *ret_sigma_ns)
{
	const double step_ns = 120;
	double before = 0, after = 0, curve, noise;
	double free_rows = (double)fit->rows_taken - (double)fit->columns;
	int err = fold_fit_try(fit, best->offset_ns - (int64_t)step_ns, &before);

	if (!err)
		err = fold_fit_try(fit, best->offset_ns + (int64_t)step_ns, &after);
	curve = before + after - 2 * best->square;
	noise = best->square / (free_rows > 1 ? free_rows : 1);
	*ret_sigma_ns = (double)fit->fold->options.offset_max_ns;
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
static int judge(struct fold_fit *fit, struct candidate *all, size_t count, bool *ret_ambiguous)
{
	double noise = all[0].square / (double)(fit->rows_taken ? fit->rows_taken : 1);
	int err = keep_solution(fit, &all[0]);

	size_t nearest = 0; /* clocks are not far apart: of equals, the least offset */

	*ret_ambiguous = false;
	for (size_t i = 1; i < count && !err; i++) {
		if (llabs(all[i].offset_ns - all[0].offset_ns) < COARSE_NS ||
		    all[i].square > NEARLY * all[0].square + 30 * noise)
			continue;
		err = keep_solution(fit, &all[i]);
		if (!err && spread(fit, all[0].x, all[i].x) > SPREAD_MAX)
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
static int sum_widths(struct fold_fit *fit, struct candidate *all, size_t count)
{
	int err = 0;

	for (size_t i = 0; i < count; i++)
		all[i].widths_square = 0;
	for (size_t w = 0; w < sizeof(widths) / sizeof(*widths) && !err; w++) {
		fit->width = widths[w];
		err = fold_fit_phase(fit, FOLD_FIT_ROWS);
		for (size_t i = 0; i < count && !err; i++) {
			double square;

			err = fold_fit_try(fit, all[i].offset_ns, &square);
			all[i].widths_square += square;
		}
	}
	fit->width = 1;
	return err;
}

/* Is it shifted by some bins? *ret_doubt_ns: how far off the offset may be, for all that can be told. */
static int unshift(struct fold_fit *fit, struct candidate *best, double *ret_doubt_ns)
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
		                                        shift * fit->fold->options.bin_ns};
		err = refine(fit, next, 250, 125);
		if (next->square <= SHIFTED * best->square &&
		    llabs(next->offset_ns - best->offset_ns) > fit->fold->options.bin_ns / 2)
			count++;
	}
	*ret_doubt_ns = 0;
	if (err || count == 1)
		return err;
	err = sum_widths(fit, all, count);
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

static int find(struct fold_fit *fit)
{
	struct wt_fold *fold = fit->fold;
	struct candidate candidates[CANDIDATES + 1] = {{0}};
	size_t count = 0;
	bool is_ambiguous = false;
	double doubt_ns = 0;
	int err = scan(fit, candidates, &count);

	if (!err)
		err = fold_fit_phase(fit, FINE_ROWS);
	for (size_t i = 0; i < count && !err; i++) {
		if (i && candidates[i].square > 3 * candidates[0].square && i > 1)
			candidates[i].square = INFINITY;
		else
			err = refine(fit, &candidates[i], 1000, 250);
	}
	for (size_t i = 1; i < count; i++)
		if (candidates[i].square < candidates[0].square) {
			struct candidate swap = candidates[0];

			candidates[0] = candidates[i];
			candidates[i] = swap;
		}
	if (!err && count)
		err = judge(fit, candidates, count, &is_ambiguous);
	if (!err && count && !is_ambiguous)
		err = unshift(fit, &candidates[0], &doubt_ns);
	if (!err)
		err = fold_fit_phase(fit, FOLD_FIT_ROWS);
	if (!err && count)
		err = refine(fit, &candidates[0], 125, FINE_NS);
	if (!err && count)
		err = measure(fit, &candidates[0], &fold->offset_sigma_ns);
	fold->offset_sigma_ns = hypot(fold->offset_sigma_ns, doubt_ns / 2);
	fold->is_ambiguous = is_ambiguous;
	fold->is_aligned = !err && count && !is_ambiguous;
	fold->offset_ns = fold->offset_min_ns = fold->offset_max_ns = candidates[0].offset_ns;
	if (count && fit->variance > 0)
		fold->residual = candidates[0].square / fit->variance;
	for (size_t i = 0; i < count; i++)
		free(candidates[i].x);
	return err;
}

/* ---- bins */

/* What a fit leaves, by row and degree of freedom. */
static int try_width(struct fold_fit *fit, double width, double *ret_left)
{
	double square = 0;
	int err;

	fit->width = width;
	err = fold_fit_phase(fit, FOLD_FIT_ROWS);
	if (!err)
		err = fold_fit_try(fit, fit->fold->offset_ns, &square);
	fit->width = 1;
	*ret_left = square / ((double)fit->rows_taken - (double)fit->columns);
	return err;
}

/* Finer ones, if they explain more than what is noise, and there is room. */
static int choose_bins(struct fold_fit *fit)
{
	struct wt_fold *fold = fit->fold;
	double left, finer_left = 0, bytes;
	int err = try_width(fit, 1, &left);

	fold->rows = fold->options;
	fold->finer = 1;
	if (!err)
		err = try_width(fit, 1.0 / FINER, &finer_left);
	bytes = (double)(fit->normal.tiles * sizeof(struct fold_tile));
	if (err || fit->columns < fit->wanted || finer_left > FINER_LEFT * left ||
	    fit->columns > FINER_UNKNOWNS ||
	    bytes > fmin(FINER_BYTES, (double)fold->options.bytes_max / 4))
		return err;
	fold->finer = FINER;
	fold->rows.ramp_ns = llround((double)fold->options.ramp_ns * FINER_RAMP);
	return 0;
}

/* ---- overlap */

/* Share of the time in which kernels ran beside each other, or were disturbed. */
static double joint_share(const struct fold_fit *fit)
{
	const struct fold_blocks *blocks = &fit->fold->blocks;
	double joint_ns = 0, all_ns = 0;

	for (size_t i = 0; i < blocks->count; i++) {
		all_ns += fit->block_ns[i];
		if (!fold_block_is_course(&blocks->all[i]))
			joint_ns += fit->block_ns[i];
	}
	return all_ns > 0 ? joint_ns / all_ns : 0;
}

/*
 * What kernels do beside each other is known on average only, and that misfit moves the offset. So it is
 * found again near by, from samples without, if there are enough.
 */
static int refine_alone(struct fold_fit *fit)
{
	struct wt_fold *fold = fit->fold;
	struct candidate best = {.offset_ns = fold->offset_ns};
	double sigma_ns = 0;
	size_t rows;
	int err = fold_fit_choose_alone(fit, fold->offset_ns, ALONE_MARGIN_NS, &rows);

	if (err || rows < ALONE_LEAST)
		return err;
	err = fold_fit_phase(fit, FOLD_FIT_ROWS);
	if (!err)
		err = refine(fit, &best, ALONE_MARGIN_NS / 8, FINE_NS);
	if (!err)
		err = measure(fit, &best, &sigma_ns);
	if (err || llabs(best.offset_ns - fold->offset_ns) > ALONE_MARGIN_NS ||
	    sigma_ns >= fold->offset_sigma_ns)
		return err;
	fold->is_aligned_alone = true;
	fold->offset_ns = fold->offset_min_ns = fold->offset_max_ns = best.offset_ns;
	fold->offset_sigma_ns = sigma_ns;
	return 0;
}

/*
 * Are more of them worth waiting for? Not where hardly any overlap, or where all do. Clocks are near enough
 * to count them by.
 */
static int wants_alone(const struct fold_fit *fit, size_t busy, bool *ret_wants)
{
	struct fold_fit alone = {.fold = fit->fold, .stride = 1, .width = 1};
	size_t rows = 0;
	int err;

	*ret_wants = false;
	if (joint_share(fit) < ALONE_SHARE || fit->fold->waiting_bytes > ALONE_BYTES)
		return 0;
	err = fold_fit_begin(&alone);
	if (!err)
		err = fold_fit_choose_alone(&alone, 0, ALONE_MARGIN_NS, &rows);
	*ret_wants = rows < ALONE_ROWS && rows * ALONE_RARE > busy;
	fold_fit_end(&alone);
	return err;
}

static int align(struct fold_fit *fit)
{
	struct wt_fold *fold = fit->fold;
	double share = joint_share(fit), left_out;
	int err = find(fit);

	left_out = 1 - (double)fit->columns / (double)(fit->wanted ? fit->wanted : 1);
	left_out = fmax(left_out, 0) + share;
	if (left_out > 0)
		fold->offset_sigma_ns = hypot(fold->offset_sigma_ns, MISFIT_NS * left_out);
	/* Ramps also tell time alone from time beside others: then they stay what they are. */
	if (!err && fold->is_aligned)
		err = share > ALONE_SHARE ? refine_alone(fit) : choose_bins(fit);
	return err;
}

int fold_align(struct wt_fold *fold, bool must, size_t *ret_need)
{
	struct fold_fit fit = {.fold = fold, .stride = 1, .width = 1};
	bool wants = false;
	int err = fold_fit_begin(&fit);

	*ret_need = (size_t)((double)fit.wanted / FOLD_FIT_UNKNOWNS);
	if (*ret_need > FOLD_FIT_ROWS)
		*ret_need = FOLD_FIT_ROWS;
	if (!err && !must && fit.row_count >= *ret_need)
		err = wants_alone(&fit, fold->waiting_busy, &wants);
	if (!err && (must || (fit.row_count >= *ret_need && !wants)))
		err = align(&fit);
	fold_fit_end(&fit);
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
	int64_t rows = fold->is_aligned_alone ? CHECK_ALONE_ROWS : CHECK_ROWS;

	if (fold->check_rows < rows || !(curve > 0))
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
