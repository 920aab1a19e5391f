/*
 * noise.c - see noise.h. Pure; any thread.
 */
#include <math.h>
#include <stdbool.h>

#include "analysis/noise.h"

#define FRACTION_STEPS 400
#define FRACTION_ERROR 1e-14
#define TOGETHER_Z 1.0 /* batches beyond it hang together: one in six independent series, too */
#define TOGETHER_MOST 0.8
#define QUARTERS 4
#define QUARTERS_F 2.8 /* the 5 % point of F for 3 and 20 to 60 degrees of freedom: 3.10 to 2.76 */

/* ---- Student */

/* The continued fraction of the incomplete beta function, by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), f;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	f = d;
	for (int m = 1; m <= FRACTION_STEPS; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double factor;

		d = 1 + even * d;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = 1 + even / c;
		c = fabs(c) < tiny ? tiny : c;
		f *= c * d;
		d = 1 + odd * d;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = 1 + odd / c;
		c = fabs(c) < tiny ? tiny : c;
		factor = c * d;
		f *= factor;
		if (fabs(factor - 1) < FRACTION_ERROR)
			break;
	}
	return f;
}

/* The regularised incomplete beta function. */
static double beta_share(double a, double b, double x)
{
	double front;

	if (x <= 0)
		return 0;
	if (x >= 1)
		return 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double wt_student_tails(double t, double freedom)
{
	if (!(freedom > 0))
		return 1;
	if (isinf(t))
		return 0;
	return beta_share(freedom / 2, 0.5, freedom / (freedom + t * t));
}

double wt_student_quantile(double tails, double freedom)
{
	double low = 0, high = 1;

	while (wt_student_tails(high, freedom) > tails && high < 1e150)
		high *= 2;
	for (int i = 0; i < 200 && high - low > 1e-12 * high; i++) {
		double middle = low + (high - low) / 2;

		if (wt_student_tails(middle, freedom) > tails)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* ---- batches */

struct batches {
	size_t count, size;
	double variance; /* of their means */
	double together; /* von Neumann's C: 0 for independent ones, towards 1 the more they hang together */
};

static double mean_of(const double *values, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += values[i];
	return sum / (double)count;
}

/* Batches from the end on: what does not make a whole one is left out at the beginning. */
static struct batches cut(const double *values, size_t count, size_t size)
{
	struct batches batches = {.count = count / size, .size = size};
	const double *first = values + count % size;
	double mean = mean_of(first, batches.count * size), squares = 0, steps = 0, before = 0;

	for (size_t i = 0; i < batches.count; i++) {
		double one = mean_of(first + i * size, size);

		squares += (one - mean) * (one - mean);
		if (i)
			steps += (one - before) * (one - before);
		before = one;
	}
	batches.variance = batches.count > 1 ? squares / (double)(batches.count - 1) : 0;
	batches.together = squares > 0 ? 1 - steps / (2 * squares) : 0;
	return batches;
}

static bool hangs_together(const struct batches *batches)
{
	double b = (double)batches->count;

	return batches->together > TOGETHER_Z * sqrt((b - 2) / (b * b - 1));
}

/*
 * A run that has parts of another kind hangs together for longer than batches are: then its quarters are the
 * batches, and little is known. Their variance, by what batches make of it, is Fisher's F with 3 and b - 1
 * degrees of freedom; the one tail of F is Student's only for 1, so the limit is a number that 5 % exceed.
 */
static bool use_quarters(const double *values, size_t count, double inflation,
                         struct batches *batches)
{
	struct batches quarters;
	double expected;

	if (count < (size_t)QUARTERS * WT_NOISE_BATCHES_LEAST / 2)
		return false;
	quarters = cut(values, count, count / QUARTERS);
	expected = batches->variance * inflation * (double)batches->size / (double)quarters.size;
	if (quarters.count != QUARTERS || quarters.variance <= QUARTERS_F * expected)
		return false;
	*batches = quarters;
	return true;
}

struct wt_mean wt_noise_mean(const double *values, size_t count)
{
	struct wt_mean mean = {.error = -1, .count = count, .batch = 1};
	struct batches batches;
	double squares = 0, inflation = 1;

	if (!count)
		return mean;
	mean.mean = mean_of(values, count);
	for (size_t i = 0; i < count; i++)
		squares += (values[i] - mean.mean) * (values[i] - mean.mean);
	mean.deviation = sqrt(squares / (double)count);
	if (count < WT_NOISE_LEAST)
		return mean;
	batches = cut(values, count, (count + WT_NOISE_BATCHES_MAX - 1) / WT_NOISE_BATCHES_MAX);
	while (hangs_together(&batches) && count / (batches.size * 2) >= WT_NOISE_BATCHES_LEAST)
		batches = cut(values, count, batches.size * 2);
	if (hangs_together(&batches)) {
		double c = batches.together < TOGETHER_MOST ? batches.together : TOGETHER_MOST;

		inflation = (1 + c) / (1 - c);
	}
	if (use_quarters(values, count, inflation, &batches))
		inflation = 1;
	mean.batch = batches.size;
	mean.freedom = (double)(batches.count - 1);
	mean.error = sqrt(batches.variance * inflation / (double)batches.count);
	return mean;
}
