/*
 * noise.h - how well is a mean known from the values that it was made of, in the order in which they
 * came? For values that hang together: a slow step is followed by slow ones more often than not.
 *
 * Batch means: the series is cut into batches, as many as may be, so long that their means no longer
 * show that they hang together; these are then taken as independent. Sources:
 *   batch means, choice of the batch     G. S. Fishman, L. S. Yarberry, "An implementation of the batch
 *                                        means method", INFORMS J. Computing 9 (1997) 296-310
 *   whether they hang together           J. von Neumann, "Distribution of the ratio of the mean square
 *                                        successive difference to the variance", Ann. Math. Stat. 12
 *                                        (1941) 367-395; L. C. Young, ibid. 293-300, for the variance
 *                                        (b - 2) / (b^2 - 1) of C = 1 - sum d^2 / (2 sum (x - mean)^2)
 *   what is left where batches run out   variance x (1 + C) / (1 - C), of an autoregression of the first
 *                                        order: A. M. Law, W. D. Kelton, Simulation Modeling, 9.5.3
 *   parts of another kind                an analysis of variance of the quarters of the run, R. A. Fisher,
 *                                        Statistical Methods for Research Workers (1925): beyond the 5 % point
 *                                        of F the quarters are the batches
 *   Student's distribution               by the incomplete beta function: Abramowitz, Stegun 26.5.8
 *                                        (continued fraction), 26.7.1
 * No chance is in it: the same values give the same numbers.
 *
 * Pure: no I/O, no clock, no allocation; any thread.
 */
#ifndef WT_NOISE_H
#define WT_NOISE_H

#include <stddef.h>

#define WT_NOISE_LEAST 8 /* values; fewer say nothing of their noise */
#define WT_NOISE_BATCHES_MAX 64 /* a longer series begins with batches of several */
#define WT_NOISE_BATCHES_LEAST 10

struct wt_mean {
	double mean;
	double error; /* its standard error; < 0: not known, fewer than WT_NOISE_LEAST values */
	double freedom; /* degrees of freedom of the error: batches - 1 */
	size_t count, batch; /* values, and of these in a batch */
	double deviation; /* of single values, of the population */
};

/* All values are finite. Of no values the mean is 0 and nothing is known. */
struct wt_mean wt_noise_mean(const double *values, size_t count);

/* Chance that Student's t of that many degrees of freedom is beyond |t|, on both sides. */
double wt_student_tails(double t, double freedom);

/* The t that is exceeded on both sides together with that chance (0 < tails < 1). */
double wt_student_quantile(double tails, double freedom);

#endif /* WT_NOISE_H */
