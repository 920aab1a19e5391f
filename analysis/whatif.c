/*
 * whatif.c - see whatif.h. Pure: no I/O, no clock, no allocation.
 */
#include <errno.h>
#include <string.h>

#include "analysis/whatif.h"

/* value * part / whole, rounded, none of them negative and whole > 0; INT64_MAX where it doesn't fit. */
static int64_t scale(int64_t value, int64_t part, int64_t whole)
{
	__int128 scaled = ((__int128)value * part + whole / 2) / whole;

	return scaled > INT64_MAX ? INT64_MAX : (int64_t)scaled;
}

static int64_t divide_up(int64_t value, int64_t divisor)
{
	return value / divisor + (value % divisor != 0);
}

static int64_t greatest(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* ---- what one launch would take */

static void widen(struct wt_whatif_range *range, int64_t ns)
{
	range->least_ns = least(range->least_ns, ns);
	range->greatest_ns = greatest(range->greatest_ns, ns);
}

/* C on another number of SMs: whole blocks per SM; whole clusters, at least one of them. */
static int64_t resident_then(const struct wt_whatif_launch *launch, int64_t sms_then)
{
	int64_t sms = launch->sms, clusters;

	if (launch->cluster_blocks <= 1)
		return scale(launch->resident_blocks / sms, sms_then, 1);
	clusters = launch->resident_blocks / launch->cluster_blocks;
	clusters = (int64_t)((__int128)clusters * sms_then / sms);
	return scale(greatest(clusters, 1), launch->cluster_blocks, 1);
}

bool wt_whatif_on_sms(const struct wt_whatif_launch *launch, uint32_t sms_then,
                      struct wt_whatif_range *ret_then)
{
	int64_t time = launch->duration_ns, blocks = launch->blocks;
	int64_t resident = launch->resident_blocks, then;

	*ret_then = (struct wt_whatif_range){time, time};
	if (!launch->is_judged || time <= 0 || blocks <= 0 || !launch->sms || !sms_then)
		return false;
	/* Every block has an SM of its own, now and then: known without C. */
	if (launch->cluster_blocks <= 1 && blocks <= launch->sms && blocks <= sms_then)
		return true;
	if (resident < launch->cluster_blocks || resident <= 0 ||
	    (launch->cluster_blocks <= 1 && resident < launch->sms))
		return false;
	then = resident_then(launch, sms_then);
	/* Blocks that share an SM. */
	ret_then->least_ns = ret_then->greatest_ns =
	        scale(time, divide_up(blocks, sms_then), divide_up(blocks, launch->sms));
	/* Equal blocks that end together. */
	widen(ret_then, scale(time, divide_up(blocks, then), divide_up(blocks, resident)));
	/* Blocks that end at uneven times: as one fraction, so that it is rounded once. */
	widen(ret_then, scale(time, least(blocks, resident), least(blocks, then)));
	return true;
}

bool wt_whatif_full_waves(const struct wt_whatif_launch *launch, struct wt_whatif_range *ret_then)
{
	int64_t time = launch->duration_ns, sms = launch->sms, idle, idle_max;

	*ret_then = (struct wt_whatif_range){time, time};
	if (!launch->is_judged || time <= 0 || !sms)
		return false;
	idle = wt_whatif_sum(launch->underfill_sm_ns, launch->wave_sm_ns);
	idle_max = wt_whatif_sum(launch->underfill_sm_ns, launch->wave_max_sm_ns);
	if (idle < 0 || idle_max < idle || idle_max / sms > time)
		return false;
	/* Down: never more than the idle SM-time. */
	ret_then->greatest_ns = time - idle / sms;
	ret_then->least_ns = time - idle_max / sms;
	return true;
}

/* ---- the replay */

void wt_whatif_init(struct wt_whatif *whatif, int64_t start_ns, const struct wt_intervals *copies,
                    const struct wt_whatif_output *output)
{
	memset(whatif, 0, sizeof(*whatif));
	whatif->output = *output;
	whatif->copies = *copies;
	whatif->start_ns = whatif->now_ns = start_ns;
}

static struct wt_whatif_range sum(struct wt_whatif_range range, int64_t ns)
{
	return (struct wt_whatif_range){wt_whatif_sum(range.least_ns, ns),
	                                wt_whatif_sum(range.greatest_ns, ns)};
}

/* Kernel i ends, or the window does. */
static void put_out(struct wt_whatif *whatif, uint32_t i, int64_t end_ns)
{
	const struct wt_whatif_resident *resident = &whatif->resident[i];
	const struct wt_whatif_kernel *kernel = &resident->kernel;
	struct wt_whatif_share share = {.time_ns = end_ns - kernel->start_ns};
	int64_t alone_ns = kernel->is_modelled ? resident->alone_ns : 0;
	struct wt_whatif_range change = {
	        scale(alone_ns, kernel->then.least_ns, kernel->duration_ns) - alone_ns,
	        scale(alone_ns, kernel->then.greatest_ns, kernel->duration_ns) - alone_ns};

	share.unmodelled_ns = share.time_ns - alone_ns;
	share.then = sum(change, share.time_ns);
	whatif->change.least_ns = wt_whatif_sum(whatif->change.least_ns, change.least_ns);
	whatif->change.greatest_ns = wt_whatif_sum(whatif->change.greatest_ns, change.greatest_ns);
	whatif->late.least_ns = wt_whatif_sum(whatif->late.least_ns, change.least_ns);
	whatif->late.greatest_ns = wt_whatif_sum(whatif->late.greatest_ns, change.greatest_ns);
	whatif->output.kernel(whatif->output.arg, kernel->id, &share);
	whatif->resident[i] = whatif->resident[--whatif->resident_count];
}

/* Lets the time up to until_ns pass; kernels that end by then are put out. */
static void pass(struct wt_whatif *whatif, int64_t until_ns)
{
	while (whatif->resident_count && whatif->now_ns < until_ns) {
		int64_t slice_end_ns = until_ns, slice_ns;
		struct wt_whatif_resident *first = &whatif->resident[0];

		for (uint32_t i = 0; i < whatif->resident_count; i++)
			slice_end_ns = least(slice_end_ns, whatif->resident[i].kernel.end_ns);
		slice_ns = slice_end_ns - whatif->now_ns;
		whatif->busy_ns += slice_ns;
		if (whatif->resident_count == 1)
			first->alone_ns += slice_ns;
		if (whatif->resident_count > 1 || !first->kernel.is_modelled)
			whatif->unmodelled_ns += slice_ns;
		whatif->now_ns = slice_end_ns;
		for (uint32_t i = whatif->resident_count; i-- > 0;)
			if (whatif->resident[i].kernel.end_ns <= slice_end_ns)
				put_out(whatif, i, slice_end_ns);
	}
}

/* No kernel is resident; the next one is `id`, or -1. */
static void take_gap(struct wt_whatif *whatif, int64_t until_ns, int64_t id)
{
	int64_t gap_ns = until_ns - whatif->now_ns, copy_ns;

	if (gap_ns <= 0)
		return;
	copy_ns = wt_intervals_overlap_ns(&whatif->copies, whatif->now_ns, until_ns);
	whatif->gap_ns += gap_ns;
	whatif->copy_gap_ns += copy_ns;
	/* What comes does not come earlier than it did, and later by what the gap can't take up. */
	whatif->late.least_ns = greatest(0, wt_whatif_sum(whatif->late.least_ns, -gap_ns));
	whatif->late.greatest_ns = greatest(0, wt_whatif_sum(whatif->late.greatest_ns, -gap_ns));
	whatif->output.gap(whatif->output.arg, id, gap_ns, copy_ns);
	whatif->now_ns = until_ns;
}

int wt_whatif_add(struct wt_whatif *whatif, const struct wt_whatif_kernel *kernel)
{
	const struct wt_whatif_range *then = &kernel->then;

	if (kernel->start_ns < whatif->now_ns || kernel->end_ns <= kernel->start_ns ||
	    kernel->duration_ns < kernel->end_ns - kernel->start_ns || then->least_ns < 0 ||
	    then->greatest_ns < then->least_ns)
		return -EINVAL;
	pass(whatif, kernel->start_ns);
	if (whatif->resident_count == WT_WHATIF_RESIDENT_MAX)
		return -EBUSY;
	if (!whatif->resident_count)
		take_gap(whatif, kernel->start_ns, kernel->id);
	whatif->now_ns = kernel->start_ns;
	whatif->resident[whatif->resident_count++] = (struct wt_whatif_resident){.kernel = *kernel};
	return 0;
}

int wt_whatif_finish(struct wt_whatif *whatif, int64_t end_ns, struct wt_whatif_result *ret_result)
{
	struct wt_whatif_result result = {0};
	int64_t now_ns;

	if (end_ns < whatif->now_ns)
		return -EINVAL;
	pass(whatif, end_ns);
	while (whatif->resident_count)
		put_out(whatif, whatif->resident_count - 1, end_ns);
	take_gap(whatif, end_ns, -1);
	now_ns = end_ns - whatif->start_ns;
	result.now_ns = now_ns;
	result.busy_ns = whatif->busy_ns;
	result.unmodelled_ns = whatif->unmodelled_ns;
	result.gap_ns = whatif->gap_ns;
	result.copy_gap_ns = whatif->copy_gap_ns;
	result.then.least_ns =
	        wt_whatif_sum(now_ns, least(whatif->change.least_ns, whatif->late.least_ns));
	result.then.greatest_ns = wt_whatif_sum(
	        now_ns, greatest(whatif->change.greatest_ns, whatif->late.greatest_ns));
	result.then_no_gaps = sum(whatif->change, whatif->busy_ns);
	result.then_no_gaps.greatest_ns =
	        wt_whatif_sum(result.then_no_gaps.greatest_ns, whatif->copy_gap_ns);
	*ret_result = result;
	return 0;
}
