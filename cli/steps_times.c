/*
 * steps_times.c - see steps_times.h. Pure but for memory; single-threaded.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "cli/steps_times.h"

static int by_value(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return a < b ? -1 : a > b;
}

static int64_t time_of(const struct wt_run_step *step)
{
	return step->end_ns - step->start_ns;
}

static int64_t busy_of(const struct wt_run_step *step)
{
	return step->busy_ns;
}

static int64_t launches_of(const struct wt_run_step *step)
{
	return step->launches;
}

/* Nearest rank of the steady ones; sorts them into `values`. */
static int64_t median_of(const struct wt_run_steps *steps,
                         int64_t (*get)(const struct wt_run_step *), int64_t *values)
{
	size_t count = 0;

	for (size_t i = 0; i < steps->count; i++)
		if (steps->steps[i].is_steady)
			values[count++] = get(&steps->steps[i]);
	qsort(values, count, sizeof(*values), by_value);
	return count ? values[(count - 1) / 2] : 0;
}

int wt_step_times_compute(const struct wt_run_steps *steps, struct wt_step_times *times)
{
	int64_t *values = calloc(steps->count + 1, sizeof(*values));
	double squares = 0;

	*times = (struct wt_step_times){0};
	if (!values)
		return -ENOMEM;
	times->count = (int64_t)steps->found.steady_count;
	times->median_busy_ns = median_of(steps, busy_of, values);
	times->median_launches = median_of(steps, launches_of, values);
	times->median_ns = median_of(steps, time_of, values);
	if (times->count) {
		times->min_ns = values[0];
		times->max_ns = values[times->count - 1];
		for (int64_t i = 0; i < times->count; i++)
			times->mean_ns += (double)values[i] / (double)times->count;
		for (int64_t i = 0; i < times->count; i++)
			squares += ((double)values[i] - times->mean_ns) *
			           ((double)values[i] - times->mean_ns);
		times->deviation_ns = sqrt(squares / (double)times->count);
	}
	free(values);
	return 0;
}
