/*
 * ranks_pace.c - kernels beside collectives, at the pace that they have without.
 *
 * A collective holds SMs while its process waits in it for another one, and the kernels beside it take
 * longer on the rest: up to twice as long, where the last wave no longer fits. That is waiting, not
 * work; counted as work it would hide that the late process has more kernels. So a launch beside a
 * collective of its process counts with the mean of the launches of its configuration that had none
 * beside them, or of its geometry on the other devices, and at least with half of what it took: what
 * depends on data is not all hidden. What never ran without collectives counts with what it took.
 * Single-threaded; never blocks.
 */
#include <errno.h>
#include <stdlib.h>

#include "cli/ranks.h"
#include "cli/report_sql.h"

/* ---- as kernels come, by start */

static uint32_t pace_of(struct wt_rank_row *row, const struct wt_ledger_row *kernel)
{
	uint32_t at = wt_map_get(&row->pace_at, (uint64_t)kernel->config_id);
	struct wt_rank_pace *pace;

	if (at != WT_MAP_NONE)
		return at;
	pace = wt_report_append(&row->paces, &row->pace_count, sizeof(*pace));
	at = (uint32_t)row->pace_count - 1;
	if (!pace || wt_map_set(&row->pace_at, (uint64_t)kernel->config_id, at))
		return WT_MAP_NONE;
	*pace = (struct wt_rank_pace){.kernel_id = kernel->kernel_id,
	                              .blocks = kernel->blocks,
	                              .resident_blocks = kernel->resident_blocks};
	return at;
}

static int settle(struct wt_rank_row *row, const struct wt_rank_launch *launch)
{
	struct wt_rank_pace *pace = &row->paces[launch->pace];
	struct wt_rank_launch *kept;

	if (!launch->is_beside) {
		wt_report_add(&pace->time_ns, launch->end_ns - launch->start_ns);
		pace->launches++;
		return 0;
	}
	kept = wt_report_append(&row->beside, &row->beside_count, sizeof(*kept));
	if (!kept)
		return -ENOMEM;
	*kept = *launch;
	return 0;
}

/* Those that ended by then have met all collectives that they can meet. */
static int settle_until(struct wt_rank_row *row, int64_t time_ns)
{
	size_t left = 0;
	int rc = 0;

	for (size_t i = 0; i < row->running_count; i++) {
		if (row->running[i].end_ns > time_ns)
			row->running[left++] = row->running[i];
		else if (!rc)
			rc = settle(row, &row->running[i]);
	}
	row->running_count = left;
	return rc;
}

int wt_ranks_pace_collective(struct wt_rank_row *row, const struct wt_ledger_row *kernel)
{
	int rc = settle_until(row, kernel->start_ns);

	for (size_t i = 0; i < row->running_count; i++)
		row->running[i].is_beside = true;
	if (row->collective_end_ns < kernel->end_ns)
		row->collective_end_ns = kernel->end_ns;
	return rc;
}

int wt_ranks_pace_kernel(struct wt_rank_row *row, const struct wt_ledger_row *kernel,
                         int64_t fresh_start_ns)
{
	uint32_t pace = pace_of(row, kernel);
	struct wt_rank_launch *launch;
	int rc;

	if (pace == WT_MAP_NONE)
		return -ENOMEM;
	rc = settle_until(row, kernel->start_ns);
	if (rc)
		return rc;
	launch = wt_report_append(&row->running, &row->running_count, sizeof(*launch));
	if (!launch)
		return -ENOMEM;
	*launch = (struct wt_rank_launch){.start_ns = kernel->start_ns,
	                                  .end_ns = kernel->end_ns,
	                                  .fresh_start_ns = fresh_start_ns,
	                                  .pace = pace,
	                                  .is_beside = row->collective_end_ns > kernel->start_ns};
	return 0;
}

/* ---- when all have come */

/* Mean of launches without a collective beside them, < 0: there are none. */
static double alone_ns(const struct wt_ranks *ranks, const struct wt_rank_pace *pace)
{
	double time_ns = (double)pace->time_ns, launches = (double)pace->launches;

	for (size_t i = 0; !pace->launches && i < ranks->count; i++) {
		const struct wt_rank_row *row = &ranks->rows[i];

		for (size_t k = 0; k < row->pace_count; k++) {
			const struct wt_rank_pace *other = &row->paces[k];

			if (other->kernel_id != pace->kernel_id || other->blocks != pace->blocks ||
			    other->resident_blocks != pace->resident_blocks)
				continue;
			time_ns += (double)other->time_ns;
			launches += (double)other->launches;
		}
	}
	return launches > 0 ? time_ns / launches : -1;
}

int wt_ranks_pace_finish(struct wt_ranks *ranks)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < ranks->count; i++)
		rc = settle_until(&ranks->rows[i], INT64_MAX);
	for (size_t i = 0; !rc && i < ranks->count; i++) {
		struct wt_rank_row *row = &ranks->rows[i];

		for (size_t k = 0; k < row->pace_count; k++)
			row->paces[k].alone_ns = alone_ns(ranks, &row->paces[k]);
		for (size_t k = 0; k < row->beside_count; k++) {
			const struct wt_rank_launch *launch = &row->beside[k];
			const struct wt_rank_pace *pace = &row->paces[launch->pace];
			double time_ns = (double)launch->end_ns - (double)launch->start_ns;
			double share = (time_ns - pace->alone_ns) / time_ns;

			if (pace->alone_ns >= 0 && share > 0)
				wt_ranks_take_off(ranks, row, launch, pace->kernel_id,
				                  share < 0.5 ? share : 0.5);
		}
	}
	return rc;
}

void wt_ranks_pace_fini(struct wt_rank_row *row)
{
	free(row->paces);
	free(row->running);
	free(row->beside);
	wt_map_fini(&row->pace_at);
}
