/*
 * fold_solve.c - see fold_internal.h: least squares by conjugate gradients.
 *
 * Non-negative: alternately, sweeps of projected coordinate descent find out which unknowns are 0,
 * and conjugate gradients over the others go to the minimum among those, as far as none becomes
 * negative (More and Toraldo's gradient projection conjugate gradients, with coordinate descent for
 * the projection). The sum of squares falls with every step, so that it can't cycle; the minimum is
 * the only one where the matrix is definite. Where it isn't (configurations that can't be told
 * apart) any minimum will do: the errors tell.
 *
 * Preconditioned by the matrix's windows of WINDOW unknowns along the diagonal, each with its Cholesky
 * factor: bins of a configuration, and of those that come before and after it, are hard to tell apart,
 * distant ones are not.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/fold_internal.h"

#define ROUNDS_MAX 60
#define STEPS_MAX 600
#define STEPS_ALL 3000 /* of all rounds: the work is bounded where no minimum is sharp */
#define SWEEPS 3
#define WINDOW 32

/* ---- many right-hand sides, each with its own step, side by side */

struct many {
	const struct fold_matrix *matrix;
	const bool *is_free;
	size_t width;
	double *r, *z, *p, *q; /* count x width */
	double *rz, *first, *scale; /* width */
	double *factor; /* count x WINDOW: lower triangles of windows, by row */
};

/* The window's part of the matrix; unknowns that are not free have a row of the identity. */
static void take_window(const struct many *many, size_t first, size_t size)
{
	const struct fold_matrix *matrix = many->matrix;

	for (size_t i = 0; i < size; i++) {
		double *row = many->factor + (first + i) * WINDOW;
		size_t at = first + i;

		memset(row, 0, WINDOW * sizeof(*row));
		if (many->is_free[at])
			for (size_t k = matrix->row[at]; k < matrix->row[at + 1]; k++) {
				size_t column = matrix->column[k];

				if (column >= first && column <= at && many->is_free[column])
					row[column - first] = matrix->value[k];
			}
		if (!(row[i] > 0))
			row[i] = 1;
	}
}

/* Cholesky's factor, in place. An unknown that is no longer one of its own gets its diagonal alone. */
static void factor_windows(const struct many *many)
{
	for (size_t first = 0; first < many->matrix->count; first += WINDOW) {
		size_t size = many->matrix->count - first;

		if (size > WINDOW)
			size = WINDOW;
		take_window(many, first, size);
		for (size_t i = 0; i < size; i++) {
			double *row = many->factor + (first + i) * WINDOW, rest = row[i];

			for (size_t j = 0; j < i; j++) {
				const double *other = many->factor + (first + j) * WINDOW;

				for (size_t k = 0; k < j; k++)
					row[j] -= row[k] * other[k];
				row[j] /= other[j];
				rest -= row[j] * row[j];
			}
			if (rest > 1e-10 * row[i]) {
				row[i] = sqrt(rest);
				continue;
			}
			memset(row, 0, i * sizeof(*row));
			row[i] = sqrt(row[i]);
		}
	}
}

/* z = factor^-T factor^-1 z, window by window. */
static void solve_windows_one(const struct many *many, double *z)
{
	for (size_t i = 0; i < many->matrix->count; i++) {
		const double *row = many->factor + i * WINDOW;
		size_t first = i / WINDOW * WINDOW;
		double sum = z[i];

		for (size_t k = first; k < i; k++)
			sum -= row[k - first] * z[k];
		z[i] = sum / row[i - first];
	}
	for (size_t i = many->matrix->count; i-- > 0;) {
		const double *row = many->factor + i * WINDOW;
		size_t first = i / WINDOW * WINDOW;

		z[i] /= row[i - first];
		for (size_t k = first; k < i; k++)
			z[k] -= row[k - first] * z[i];
	}
}

/* The same for all at once. */
static void solve_windows(const struct many *many, double *z)
{
	size_t count = many->matrix->count, width = many->width;

	for (size_t i = 0; i < count; i++) {
		const double *row = many->factor + i * WINDOW;
		size_t first = i / WINDOW * WINDOW;

		for (size_t k = first; k < i; k++)
			for (size_t w = 0; w < width; w++)
				z[i * width + w] -= row[k - first] * z[k * width + w];
		for (size_t w = 0; w < width; w++)
			z[i * width + w] /= row[i - first];
	}
	for (size_t i = count; i-- > 0;) {
		const double *row = many->factor + i * WINDOW;
		size_t first = i / WINDOW * WINDOW;

		for (size_t w = 0; w < width; w++)
			z[i * width + w] /= row[i - first];
		for (size_t k = first; k < i; k++)
			for (size_t w = 0; w < width; w++)
				z[k * width + w] -= row[k - first] * z[i * width + w];
	}
}

/* out = M in, over the free ones. */
static void many_times(const struct many *many, const double *in, double *out)
{
	size_t width = many->width;

	fold_matrix_times(many->matrix, in, out, width);
	for (size_t i = 0; i < many->matrix->count; i++)
		for (size_t w = 0; w < width; w++) {
			if (!many->is_free[i])
				out[i * width + w] = 0;
		}
}

/* z = r, preconditioned; sums = r z */
static void many_precondition(const struct many *many, double *sums)
{
	size_t width = many->width, all = many->matrix->count * width;

	memcpy(many->z, many->r, all * sizeof(*many->z));
	if (width == 1)
		solve_windows_one(many, many->z);
	else
		solve_windows(many, many->z);
	for (size_t w = 0; w < width; w++)
		sums[w] = 0;
	for (size_t i = 0; i < all; i += width)
		for (size_t w = 0; w < width; w++)
			sums[w] += many->r[i + w] * many->z[i + w];
}

/* One step for all; false: all have arrived. */
static bool many_step(const struct many *many, double tolerance, double *x)
{
	size_t count = many->matrix->count, width = many->width;
	bool goes_on = false;

	many_times(many, many->p, many->q);
	for (size_t w = 0; w < width; w++)
		many->scale[w] = 0;
	for (size_t i = 0; i < count; i++)
		for (size_t w = 0; w < width; w++)
			many->scale[w] += many->p[i * width + w] * many->q[i * width + w];
	for (size_t w = 0; w < width; w++)
		many->scale[w] =
		        many->scale[w] > 0 && many->rz[w] > tolerance * tolerance * many->first[w]
		                ? many->rz[w] / many->scale[w]
		                : 0;
	for (size_t i = 0; i < count; i++)
		for (size_t w = 0; w < width; w++) {
			x[i * width + w] += many->scale[w] * many->p[i * width + w];
			many->r[i * width + w] -= many->scale[w] * many->q[i * width + w];
		}
	for (size_t w = 0; w < width; w++) {
		goes_on |= many->scale[w] > 0;
		many->scale[w] = many->rz[w];
	}
	if (!goes_on)
		return false;
	many_precondition(many, many->rz);
	for (size_t w = 0; w < width; w++)
		many->scale[w] = many->scale[w] > 0 ? many->rz[w] / many->scale[w] : 0;
	for (size_t i = 0; i < count; i++)
		for (size_t w = 0; w < width; w++) {
			double *p = &many->p[i * width + w];

			*p = many->z[i * width + w] + many->scale[w] * *p;
		}
	return true;
}

static void many_begin(const struct many *many, const double *b, double *x)
{
	size_t count = many->matrix->count, width = many->width;

	/* The scale of the tolerance: b, or where the start is wide of it, that. */
	for (size_t i = 0; i < count; i++)
		for (size_t w = 0; w < width; w++) {
			if (!many->is_free[i])
				x[i * width + w] = 0;
			many->r[i * width + w] = many->is_free[i] ? b[i * width + w] : 0;
		}
	many_precondition(many, many->first);
	many_times(many, x, many->q);
	for (size_t i = 0; i < count * width; i++)
		many->r[i] -= many->q[i];
	many_precondition(many, many->rz);
	for (size_t w = 0; w < width; w++)
		if (many->rz[w] > many->first[w])
			many->first[w] = many->rz[w];
	memcpy(many->p, many->z, count * width * sizeof(*many->p));
}

static int solve_many(const struct fold_matrix *matrix, const bool *is_free, const double *b,
                      double tolerance, size_t width, double *x, int *steps_left)
{
	size_t all = matrix->count * width;
	double *scratch =
	        malloc((4 * all + 3 * width + matrix->count * WINDOW + 1) * sizeof(*scratch));
	struct many many = {matrix,
	                    is_free,
	                    width,
	                    scratch,
	                    scratch + all,
	                    scratch + 2 * all,
	                    scratch + 3 * all,
	                    scratch + 4 * all,
	                    scratch + 4 * all + width,
	                    scratch + 4 * all + 2 * width,
	                    scratch + 4 * all + 3 * width};

	if (!scratch)
		return -ENOMEM;
	factor_windows(&many);
	many_begin(&many, b, x);
	for (int step = 0; step<STEPS_MAX && * steps_left> 0; step++) {
		--*steps_left;
		if (!many_step(&many, tolerance, x))
			break;
	}
	free(scratch);
	return 0;
}

int fold_solve_many(const struct fold_matrix *matrix, const bool *is_free, const double *b,
                    double tolerance, size_t width, double *x)
{
	int steps = STEPS_MAX;

	return solve_many(matrix, is_free, b, tolerance, width, x, &steps);
}

/* ---- within bounds */

struct bounded {
	const struct fold_matrix *matrix;
	const double *b;
	double upper; /* of an unknown */
	double *gradient, *down, *step,
	        *start; /* M x - b, the same with other sign, and two more */
	bool *is_free;
	double limit; /* of a gradient, squared, over the diagonal */
	int steps_left;
};

static double within(const struct bounded *bounded, double x)
{
	return x > bounded->upper ? bounded->upper : x > 0 ? x : 0;
}

static void sweep(const struct bounded *bounded, double *x)
{
	const struct fold_matrix *matrix = bounded->matrix;

	for (size_t i = 0; i < matrix->count; i++) {
		double sum = -bounded->b[i];

		if (matrix->diagonal[i] <= 0)
			continue;
		for (size_t k = matrix->row[i]; k < matrix->row[i + 1]; k++)
			sum += matrix->value[k] * x[matrix->column[k]];
		x[i] = within(bounded, x[i] - sum / matrix->diagonal[i]);
	}
}

/* x^T M x - 2 b^T x; leaves the gradient. */
static double square_of(const struct bounded *bounded, const double *x)
{
	double sum = 0;

	fold_matrix_times(bounded->matrix, x, bounded->gradient, 1);
	for (size_t i = 0; i < bounded->matrix->count; i++) {
		sum += x[i] * (bounded->gradient[i] - 2 * bounded->b[i]);
		bounded->gradient[i] -= bounded->b[i];
	}
	return sum;
}

/*
 * After square_of(): the gradient's square, over the diagonal, of all but those at a bound that want to
 * go further: they are where they belong.
 */
static double steepness(const struct bounded *bounded, const double *x)
{
	double sum = 0;

	for (size_t i = 0; i < bounded->matrix->count; i++) {
		double gradient = bounded->gradient[i];

		if (bounded->matrix->diagonal[i] > 0 && (x[i] > 0 || gradient < 0) &&
		    (x[i] < bounded->upper || gradient > 0))
			sum += gradient * gradient / bounded->matrix->diagonal[i];
	}
	return sum;
}

/* Towards the minimum over those that are at no bound, as far as the sum of squares falls. */
static int explore(struct bounded *bounded, double *x)
{
	size_t count = bounded->matrix->count;
	double before = square_of(bounded, x), part = 1, steep = 0, tolerance;
	int err;

	memcpy(bounded->start, x, count * sizeof(*x));
	for (size_t i = 0; i < count; i++) {
		bounded->is_free[i] = x[i] > 0 && x[i] < bounded->upper;
		bounded->down[i] = -bounded->gradient[i];
		bounded->step[i] = 0;
		if (bounded->is_free[i])
			steep += bounded->gradient[i] * bounded->gradient[i] /
			         bounded->matrix->diagonal[i];
	}
	tolerance = steep > 0 ? sqrt(bounded->limit / steep) / 4 : 1;
	err = solve_many(bounded->matrix, bounded->is_free, bounded->down,
	                 tolerance < 0.1 ? tolerance : 0.1, 1, bounded->step, &bounded->steps_left);
	if (err)
		return err;
	for (int halved = 0; halved < 12; halved++) {
		for (size_t i = 0; i < count; i++)
			x[i] = within(bounded, bounded->start[i] + part * bounded->step[i]);
		if (square_of(bounded, x) <= before)
			return 0;
		part /= 2;
	}
	memcpy(x, bounded->start, count * sizeof(*x));
	return 0;
}

int fold_solve_bounded(const struct fold_matrix *matrix, const double *b, double upper,
                       double tolerance, double *x)
{
	size_t count = matrix->count;
	double *scratch = malloc((4 * count + 1) * sizeof(*scratch));
	bool *is_free = malloc((count + 1) * sizeof(*is_free));
	struct bounded bounded = {matrix,
	                          b,
	                          upper,
	                          scratch,
	                          scratch + count,
	                          scratch + 2 * count,
	                          scratch + 3 * count,
	                          is_free,
	                          0,
	                          STEPS_ALL};
	int err = scratch && is_free ? 0 : -ENOMEM;

	for (size_t i = 0; i < count; i++)
		if (matrix->diagonal[i] > 0)
			bounded.limit += b[i] * b[i] / matrix->diagonal[i];
	bounded.limit *= tolerance * tolerance;
	for (int round = 0; !err && round < ROUNDS_MAX && bounded.steps_left > 0; round++) {
		for (int i = 0; i < SWEEPS; i++)
			sweep(&bounded, x);
		square_of(&bounded, x);
		if (steepness(&bounded, x) <= bounded.limit)
			break;
		err = explore(&bounded, x);
		if (!err && steepness(&bounded, x) <= bounded.limit)
			break;
	}
	free(scratch);
	free(is_free);
	return err;
}
