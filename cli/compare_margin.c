/*
 * compare_margin.c - what runs of the same program differ by without any change: see compare.h. Single-threaded; never blocks.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare_impl.h"

#define GAPS_WHY "what the time between kernels goes to differs from run to run: give three a side"

/* ---- margins: what runs of the same program differ by */

double wt_compare_mean_over(const double *values, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += values[i];
	return count ? sum / (double)count : 0;
}

static double busy_ns(const struct wt_compare_run *run)
{
	return wt_compare_mean_over(run->busy_ns_of, run->blocks);
}

static double gap_sm_ns(const struct wt_compare_run *run)
{
	double sum = 0;

	for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++)
		sum += wt_compare_mean_over(run->line_of[WT_COMPARE_GAP + cause], run->blocks);
	return sum;
}

static double kernel_share(const struct wt_compare *compare)
{
	double share = compare->query.between_kernels;

	return (share < 0 ? WT_COMPARE_BETWEEN_KERNELS : share) + compare->clock_shift;
}

/* By which factor the quantity of a run could be another, of its kernels and gaps. */
static double factor_of(const struct wt_compare *compare, const struct wt_compare_row *row,
                        const struct wt_compare_run *run, double mean)
{
	double share = kernel_share(compare), busy = busy_ns(run), gap;

	if (!(mean > 0))
		return 1;
	if (row->kind == WT_COMPARE_STEP) {
		gap = mean - busy;
	} else {
		gap = gap_sm_ns(run);
		busy *= compare->sms;
	}
	return 1 + (share * busy + (WT_COMPARE_BETWEEN_GAPS - 1) * gap) / mean;
}

/* Of step time and idle: the greatest of the runs. */
static double whole_margin(const struct wt_compare *compare, const struct wt_compare_row *row)
{
	double most = 1;

	for (size_t i = 0; i < compare->before.count; i++)
		most = fmax(most,
		            factor_of(compare, row, &compare->before.runs[i], row->means[i].mean));
	for (size_t i = 0; i < compare->after.count; i++)
		most = fmax(most, factor_of(compare, row, &compare->after.runs[i],
		                            row->means[compare->before.count + i].mean));
	return log(most);
}

/* Least and greatest mean of the runs. */
static void range_of(const struct wt_compare *compare, const struct wt_compare_row *row,
                     double *ret_least, double *ret_most)
{
	*ret_least = *ret_most = row->means[0].mean;
	for (size_t i = 1; i < compare->before.count + compare->after.count; i++) {
		*ret_least = fmin(*ret_least, row->means[i].mean);
		*ret_most = fmax(*ret_most, row->means[i].mean);
	}
}

static double greatest_busy_ns(const struct wt_compare *compare)
{
	double most = 0;

	for (size_t i = 0; i < compare->before.count; i++)
		most = fmax(most, busy_ns(&compare->before.runs[i]));
	for (size_t i = 0; i < compare->after.count; i++)
		most = fmax(most, busy_ns(&compare->after.runs[i]));
	return most;
}

void wt_compare_set_kernel_margin(const struct wt_compare *compare, struct wt_compare_row *row,
                                  bool is_collective)
{
	struct wt_contrast *contrast = &row->contrast;
	double least, most, launches = fmax(row->launches_before, row->launches_after);

	contrast->is_ratio = true;
	/* Ranks wait in collectives for what the hosts of others do. */
	contrast->margin =
	        is_collective ? log(WT_COMPARE_BETWEEN_GAPS) : log1p(kernel_share(compare));
	range_of(compare, row, &least, &most);
	if (least > 0)
		contrast->resolution = log1p(WT_COMPARE_RESOLUTION_NS *
		                             (compare->is_per_step ? launches : 1) / least);
}

static void set_line_margin(const struct wt_compare *compare, struct wt_compare_row *row)
{
	struct wt_contrast *contrast = &row->contrast;
	double share = kernel_share(compare), least, most;
	bool is_repeated =
	        compare->before.count + compare->after.count >= 2 + WT_CONTRAST_FREEDOM_LEAST;

	range_of(compare, row, &least, &most);
	contrast->margin = share * greatest_busy_ns(compare);
	if (row->kind == WT_COMPARE_OF_RANK) {
		contrast->margin += most * (1 - 1 / WT_COMPARE_BETWEEN_GAPS);
		return;
	}
	contrast->margin *= compare->sms;
	if (row->line >= WT_COMPARE_GAP && !is_repeated && !contrast->why)
		contrast->why = GAPS_WHY;
}

void wt_compare_set_margin(const struct wt_compare *compare, struct wt_compare_row *row)
{
	switch (row->kind) {
	case WT_COMPARE_OF_KERNEL:
	case WT_COMPARE_OF_CONFIG:
		wt_compare_set_kernel_margin(compare, row,
		                             (row->before && row->before->is_collective) ||
		                                     (row->after && row->after->is_collective));
		return;
	case WT_COMPARE_STEP:
	case WT_COMPARE_IDLE:
		row->contrast.is_ratio = true;
		row->contrast.margin = whole_margin(compare, row);
		return;
	default:
		set_line_margin(compare, row);
	}
}
