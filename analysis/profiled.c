/*
 * profiled.c - see profiled.h. Pure.
 */
#include "analysis/profiled.h"

#include <math.h>
#include <stdlib.h>

#define ERROR_MIN 0.003 /* of active SMs: h200-facts, range profiler against truth */
#define ERROR_ONE 0.01 /* of a single launch, whose spread is not known */
/*
 * A kernel that finds the device idle is that much shorter than one that follows another (H200, kernels of
 * 5 to 62 us: 180 SM cycles less from first to last block, each).
 */
#define EDGE_NS 100.0
#define PAD_CYCLES_MAX 5000.0 /* 1,650 to 2,200 were seen (H200) */
#define SLACK_CYCLES 400.0 /* what pads of one device differ by */
#define LEAD_NS 1500.0 /* 1.3 to 1.4 were seen, kernels with 200 KB of shared memory (H200) */
#define SLOPE_CONFIGS_MIN 4
#define SLOPE_ERROR_MAX 0.03
#define SLOPE_SPREAD_MIN 4.0 /* longest by shortest */

/* ---- sums */

void wt_profiled_add(struct wt_profiled_sums *sums, double active_sum, double elapsed)
{
	sums->launches++;
	sums->active += active_sum;
	sums->active2 += active_sum * active_sum;
	sums->elapsed += elapsed;
	sums->elapsed2 += elapsed * elapsed;
	sums->active_elapsed += active_sum * elapsed;
}

void wt_profiled_add_times(struct wt_profiled_sums *sums, int64_t launches, int64_t time_ns,
                           double m2_ns2)
{
	double n = (double)launches, ns = (double)time_ns;

	if (launches <= 0)
		return;
	sums->timed += n;
	sums->time_ns += ns;
	sums->time2_ns2 += m2_ns2 + ns * ns / n;
}

double wt_profiled_duration_ns(const struct wt_profiled_sums *sums)
{
	return sums->timed > 0 ? sums->time_ns / sums->timed : 0;
}

/* ---- the clock */

static int compare_points(const void *left, const void *right)
{
	const struct wt_profiled_point *a = left, *b = right;

	if (a->x != b->x)
		return a->x < b->x ? -1 : 1;
	return a->y < b->y ? -1 : a->y > b->y;
}

/*
 * The slope of a line through points, by x, and what it may be off: two standard deviations, as a share.
 * Durations vary in proportion to themselves, so weights fall with their square.
 */
static struct wt_profiled_clock slope_of(const struct wt_profiled_point *points, size_t count)
{
	double sum = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0, slope, left;

	for (size_t i = 0; i < count; i++) {
		double weight = points[i].launches / (points[i].x * points[i].x);

		sum += weight;
		x += weight * points[i].x;
		y += weight * points[i].y;
	}
	for (size_t i = 0; i < count; i++) {
		double weight = points[i].launches / (points[i].x * points[i].x);
		double dx = points[i].x - x / sum, dy = points[i].y - y / sum;

		xx += weight * dx * dx;
		xy += weight * dx * dy;
		yy += weight * dy * dy;
	}
	slope = xy / xx;
	left = fmax(0, yy - slope * xy) / (double)(count - 2);
	return (struct wt_profiled_clock){slope, 2 * sqrt(left / xx) / slope, 0};
}

/* The median of y - f x, weighted as above; 0: it is none. Changes the order of the points. */
static double pad_of(struct wt_profiled_point *points, size_t count, double f)
{
	double sum = 0, below = 0, pad = 0;

	for (size_t i = 0; i < count; i++) {
		double weight = points[i].launches / (points[i].x * points[i].x);

		points[i] = (struct wt_profiled_point){points[i].y - f * points[i].x, weight, 0};
		sum += weight;
	}
	qsort(points, count, sizeof(*points), compare_points);
	for (size_t i = 0; i < count && 2 * below < sum; i++) {
		pad = points[i].x;
		below += points[i].y;
	}
	return pad > 0 && pad <= PAD_CYCLES_MAX ? pad : 0;
}

struct wt_profiled_clock wt_profiled_clock_of(struct wt_profiled_point *points, size_t count,
                                              double most)
{
	struct wt_profiled_clock slope = {0, 0, 0}, ret = {most, 0, 0};

	/* Configurations of a run that was read again have another order: sums must not depend on it. */
	qsort(points, count, sizeof(*points), compare_points);
	if (count >= SLOPE_CONFIGS_MIN && points[count - 1].x >= SLOPE_SPREAD_MIN * points[0].x)
		slope = slope_of(points, count);
	if (most > 0)
		ret.pad_cycles = pad_of(points, count, most);
	if (ret.pad_cycles <= 0 && slope.cycles_per_ns > 0 && slope.error <= SLOPE_ERROR_MAX &&
	    (most <= 0 ||
	     (slope.cycles_per_ns <= 1.02 * most && slope.cycles_per_ns >= 0.1 * most)))
		return slope;
	return ret;
}

/* ---- a configuration */

/* What a launch takes, and the share of it that is in doubt. */
struct cycles {
	double of_launch, doubt;
};

static struct cycles cycles_of(const struct wt_profiled_sums *sums,
                               const struct wt_profiled_clock *clock)
{
	double f = clock->cycles_per_ns, in_line = f * wt_profiled_duration_ns(sums), beyond;
	double alone = sums->elapsed / (double)sums->launches - clock->pad_cycles;
	struct cycles ret = {in_line, 0};

	if (!(in_line > 0) || clock->pad_cycles <= 0 || alone <= 0)
		return ret;
	ret.of_launch = fmin(fmax(in_line, alone - SLACK_CYCLES), alone + SLACK_CYCLES);
	beyond = in_line - ret.of_launch;
	ret.doubt = fmin(fabs(in_line - alone), SLACK_CYCLES) + fmax(0, fmin(beyond, LEAD_NS * f));
	ret.doubt /= ret.of_launch;
	return ret;
}

/* Square of the standard deviation of sum(active) / sum(alone), over itself. */
static double share_spread2(const struct wt_profiled_sums *sums,
                            const struct wt_profiled_clock *clock)
{
	double n = (double)sums->launches, pad = clock->pad_cycles;
	double alone = sums->elapsed - n * pad, ratio = alone > 0 ? sums->active / alone : 0;
	double alone2 = sums->elapsed2 - 2 * pad * sums->elapsed + n * pad * pad;
	double both = sums->active_elapsed - pad * sums->active;
	double left = sums->active2 - 2 * ratio * both + ratio * ratio * alone2;

	if (n < 2 || !(sums->active > 0))
		return ERROR_ONE * ERROR_ONE / 4;
	return fmax(0, left) * n / (n - 1) / (sums->active * sums->active);
}

/* As much of D, where nobody knows what those very launches took. */
static double time_spread2(const struct wt_profiled_sums *sums,
                           const struct wt_profiled_clock *clock)
{
	double n = sums->timed, mean = wt_profiled_duration_ns(sums);

	if (clock->pad_cycles > 0 || n <= 1 || mean <= 0)
		return 0;
	return fmax(0, sums->time2_ns2 - n * mean * mean) / (n - 1) / (mean * mean) *
	       (1 / (double)sums->launches + 1 / n);
}

/* Of the mean, as a share of it. */
static double error_of(const struct wt_profiled_sums *sums, const struct wt_profiled_clock *clock,
                       double doubt)
{
	double edge = EDGE_NS / wt_profiled_duration_ns(sums);
	double spread2 = share_spread2(sums, clock) + time_spread2(sums, clock);

	return fmax(ERROR_MIN,
	            sqrt(4 * spread2 + edge * edge + doubt * doubt + clock->error * clock->error));
}

struct wt_profiled_result wt_profiled_result_of(const struct wt_profiled_sums *sums,
                                                const struct wt_profiled_clock *clock)
{
	struct wt_profiled_result ret = {0};
	struct cycles one;

	if (!sums->launches)
		return ret;
	one = cycles_of(sums, clock);
	if (!(one.of_launch > 0))
		return ret;
	ret.cycles = one.of_launch;
	ret.active_sms = sums->active / (one.of_launch * (double)sums->launches);
	ret.error_sms = ret.active_sms * error_of(sums, clock, one.doubt);
	return ret;
}
