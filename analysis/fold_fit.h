/*
 * fold_fit.h - one trial of an offset between the clocks (fold_align.c): a fit as in the main part, on some
 * thousand of the samples that wait, with a quarter as many unknowns. Part of folding alone.
 *
 * Like fold.h: pure but for memory, one thread per fold, never blocks.
 */
#ifndef WT_FOLD_FIT_H
#define WT_FOLD_FIT_H

#include "analysis/fold_internal.h"

#define FOLD_FIT_ROWS 12000 /* at most: for the last steps, if there are many configurations */
#define FOLD_FIT_UNKNOWNS 0.25 /* per row */

struct fold_fit_row {
	uint32_t stretch;
	uint32_t sample;
};

struct fold_fit {
	struct wt_fold *fold;
	struct fold_segments *segments; /* by stretch */
	struct fold_fit_row *rows; /* by time */
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

/* From what waits in fit->fold; to be ended in any case. 0 or -ENOMEM, as all of these. */
int fold_fit_begin(struct fold_fit *fit);
void fold_fit_end(struct fold_fit *fit);
/*
 * From now on only samples that, give or take margin_ns of the offset, saw no kernels beside each other; the fit
 * is of what is left. *ret_rows: how many there are.
 */
int fold_fit_choose_alone(struct fold_fit *fit, int64_t offset_ns, int64_t margin_ns,
                          size_t *ret_rows);
/* For trials of about so many rows: a quarter as many unknowns. */
int fold_fit_phase(struct fold_fit *fit, size_t rows);
/* The sum of squares that the best fit leaves; the fit is in x. */
int fold_fit_try(struct fold_fit *fit, int64_t offset_ns, double *ret_square);

#endif /* WT_FOLD_FIT_H */
