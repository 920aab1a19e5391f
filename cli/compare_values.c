/*
 * compare_values.c - what a row of a comparison is in one run: of kernels, configurations, lines of the ledger and ranks.
 * Single-threaded; never blocks.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare_impl.h"

/* ---- values of a run */

struct wt_mean wt_compare_mean_of_times(const struct wt_compare *compare,
                                        const struct wt_compare_run *run, const double *times,
                                        const double *launches, double *values)
{
	size_t count = 0;

	if (compare->is_per_step)
		return wt_noise_mean(times, run->blocks);
	for (size_t i = 0; i < run->blocks; i++)
		if (launches[i] > 0)
			values[count++] = times[i] / launches[i];
	return wt_noise_mean(values, count);
}

/* A run in which it did not happen: 0, and that is sure. */
static struct wt_mean nothing(const struct wt_compare_run *run)
{
	return (struct wt_mean){
	        .freedom = (double)run->blocks - 1, .count = run->blocks, .batch = 1};
}

static void set_sides(struct wt_compare *compare, struct wt_compare_row *row)
{
	row->contrast.before = (struct wt_contrast_side){row->means, compare->before.count};
	row->contrast.after =
	        (struct wt_contrast_side){row->means + compare->before.count, compare->after.count};
}

int wt_compare_fill(struct wt_compare *compare, struct wt_compare_row *row,
                    wt_compare_values_fn *values)
{
	int rc = 0;

	set_sides(compare, row);
	for (size_t i = 0; !rc && i < compare->before.count; i++)
		rc = values(compare, &compare->before, i, row, &row->means[i]);
	for (size_t i = 0; !rc && i < compare->after.count; i++)
		rc = values(compare, &compare->after, i, row,
		            &row->means[compare->before.count + i]);
	return rc;
}

int wt_compare_kernel_values(const struct wt_compare *compare, const struct wt_compare_side *side,
                             size_t at, const struct wt_compare_row *row, struct wt_mean *ret_mean)
{
	const struct wt_compare_run *run = &side->runs[at];
	const struct wt_compare_unit *unit = side == &compare->before ? row->before : row->after;
	const struct wt_compare_kernel *kernel = unit ? unit->of_run[at] : NULL;
	double *values = calloc(run->blocks + 1, sizeof(*values));

	if (!values)
		return -ENOMEM;
	*ret_mean = kernel ? wt_compare_mean_of_times(compare, run, kernel->time_ns_of,
	                                              kernel->launches_of, values)
	                   : nothing(run);
	free(values);
	return 0;
}

/* The configuration of another run that is the same: all of its geometry. */
const struct wt_compare_config *wt_compare_find_config(const struct wt_compare_run *run,
                                                       const struct wt_compare_kernel *kernel,
                                                       const struct wt_compare_config *like)
{
	for (size_t i = 0; kernel && i < run->config_count; i++) {
		const struct wt_compare_config *one = &run->configs[i];

		if (&run->kernels[one->kernel] == kernel && one->device_id == like->device_id &&
		    !memcmp(one->grid, like->grid, sizeof(one->grid)) &&
		    !memcmp(one->block, like->block, sizeof(one->block)) &&
		    one->regs == like->regs && one->smem_bytes == like->smem_bytes &&
		    one->cluster == like->cluster && one->sms == like->sms)
			return one;
	}
	return NULL;
}

int wt_compare_config_values(const struct wt_compare *compare, const struct wt_compare_side *side,
                             size_t at, const struct wt_compare_row *row, struct wt_mean *ret_mean)
{
	const struct wt_compare_run *run = &side->runs[at];
	bool is_before = side == &compare->before;
	const struct wt_compare_unit *unit = is_before ? row->before : row->after;
	const struct wt_compare_config *like = is_before ? row->config_before : row->config_after;
	const struct wt_compare_config *config =
	        like ? wt_compare_find_config(run, unit->of_run[at], like) : NULL;
	double *values = calloc(run->blocks + 1, sizeof(*values));

	if (!values)
		return -ENOMEM;
	*ret_mean = config ? wt_compare_mean_of_times(compare, run, config->time_ns_of,
	                                              config->launches_of, values)
	                   : nothing(run);
	free(values);
	return 0;
}

static double idle_of(const struct wt_compare_run *run, size_t block)
{
	double idle = 0;

	for (int line = 0; line < WT_COMPARE_LINE_MAX; line++)
		if (line != WT_COMPARE_ACTIVE && line != WT_COMPARE_UNJUDGED)
			idle += run->line_of[line][block];
	return idle;
}

int wt_compare_line_values(const struct wt_compare *compare, const struct wt_compare_side *side,
                           size_t at, const struct wt_compare_row *row, struct wt_mean *ret_mean)
{
	const struct wt_compare_run *run = &side->runs[at];
	double *values = calloc(run->blocks + 1, sizeof(*values));

	(void)compare;
	if (!values)
		return -ENOMEM;
	for (size_t i = 0; i < run->blocks; i++)
		values[i] = row->kind == WT_COMPARE_STEP   ? run->step_ns_of[i]
		            : row->kind == WT_COMPARE_IDLE ? idle_of(run, i)
		                                           : run->line_of[row->line][i];
	*ret_mean = wt_noise_mean(values, run->blocks);
	free(values);
	return 0;
}

int wt_compare_rank_values(const struct wt_compare *compare, const struct wt_compare_side *side,
                           size_t at, const struct wt_compare_row *row, struct wt_mean *ret_mean)
{
	const struct wt_compare_run *run = &side->runs[at];

	(void)compare;
	/* Not 0: whether the others waited for it is not known. */
	*ret_mean = (struct wt_mean){.mean = NAN, .error = -1};
	for (size_t i = 0; !run->ranks_reason && i < run->rank_count; i++)
		if (run->ranks[i].rank == row->rank)
			*ret_mean = wt_noise_mean(run->ranks[i].late_ns_of, run->blocks);
	return 0;
}
