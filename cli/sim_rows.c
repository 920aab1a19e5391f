/*
 * sim_rows.c - one row of `wavetap simulate`: from the options to a schedule. See simulate.h.
 *
 * Single-threaded, never blocks but for messages.
 */
#include <errno.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/simulate.h"

static uint64_t divide_up(uint64_t value, uint64_t divisor)
{
	return value / divisor + (value % divisor != 0);
}

/* The axes count like the digits of a number, the tile's or grid's fastest. */
static void choose(const struct wt_sim *sim, size_t row_idx, struct wt_sim_row *row)
{
	size_t tile_count = wt_sim_axis_count(sim, WT_SIM_TILE);
	size_t grid_count = wt_sim_axis_count(sim, WT_SIM_GRID);
	size_t per_sm_count = wt_sim_axis_count(sim, WT_SIM_BLOCKS_PER_SM);

	*row = (struct wt_sim_row){.items = sim->time_count};
	if (sim->tile_count)
		row->tile = &sim->tiles[row_idx % tile_count];
	row_idx /= tile_count;
	if (sim->grids.count)
		row->items = sim->grids.values[row_idx % grid_count];
	row_idx /= grid_count;
	row->blocks_per_sm = (uint32_t)sim->blocks_per_sm.values[row_idx % per_sm_count];
	row->sms = (uint32_t)sim->sms.values[row_idx / per_sm_count];
}

/* ---- GEMM */

/* Steps along K, and how much K each has: 1 where the tile doesn't say. */
static uint64_t k_steps(const struct wt_sim *sim, const struct wt_sim_tile *tile,
                        uint64_t *ret_step)
{
	*ret_step = tile->k ? tile->k : 1;
	return divide_up(sim->gemm[2], *ret_step);
}

/* 0 or -EOVERFLOW. */
static int set_gemm(const struct wt_sim *sim, struct wt_sim_row *row, struct wt_schedule_work *work)
{
	const struct wt_sim_tile *tile = row->tile;
	uint64_t step, steps = k_steps(sim, tile, &step);
	/* Below 2^30 each, so the product of two fits. */
	uint64_t area = (uint64_t)tile->m * tile->n, time;

	row->tiles_m =
	        divide_up(divide_up(sim->gemm[0], tile->m), sim->cluster[0]) * sim->cluster[0];
	row->tiles_n =
	        divide_up(divide_up(sim->gemm[1], tile->n), sim->cluster[1]) * sim->cluster[1];
	row->items = row->tiles_m * row->tiles_n;
	if (sim->is_stream_k) {
		if (__builtin_mul_overflow(row->items, steps, &row->items))
			return -EOVERFLOW;
		steps = 1;
	} else {
		if (__builtin_mul_overflow(row->items, sim->split_k, &row->items))
			return -EOVERFLOW;
		steps = divide_up(steps, sim->split_k);
	}
	if (!sim->has_times_of_tile)
		return 0;
	if (__builtin_mul_overflow(area, steps * step, &time) || time > INT64_MAX)
		return -EOVERFLOW;
	for (int i = 0; i < sim->scale.digits; i++)
		if (__builtin_mul_overflow(time, (uint64_t)10, &time) || time > INT64_MAX)
			return -EOVERFLOW;
	work->times.a = (int64_t)time;
	return 0;
}

double wt_sim_useful_share(const struct wt_sim *sim, const struct wt_sim_row *row)
{
	uint64_t step, steps;
	double done;

	if (!row->tile)
		return 1;
	steps = k_steps(sim, row->tile, &step);
	if (!sim->is_stream_k)
		steps = divide_up(steps, sim->split_k) * sim->split_k;
	done = (double)row->tiles_m * (double)row->tiles_n * (double)row->tile->m *
	       (double)row->tile->n * (double)steps * (double)step;
	return (double)sim->gemm[0] * (double)sim->gemm[1] * (double)sim->gemm[2] / done;
}

/* ---- machine */

/* Sizes of the GPCs, malloc'd: all alike and a smaller last one, or as given. */
static uint32_t *make_groups(const struct wt_sim *sim, uint32_t sms, uint32_t *ret_count)
{
	bool is_uniform = sim->gpcs.count == 1;
	uint64_t size = sim->gpcs.values[0];
	size_t count = is_uniform ? (size_t)divide_up(sms, size) : sim->gpcs.count;
	uint32_t *groups = calloc(count, sizeof(*groups));

	for (size_t i = 0; groups && i < count; i++)
		groups[i] = (uint32_t)(is_uniform ? size : sim->gpcs.values[i]);
	if (groups && is_uniform && sms % size)
		groups[count - 1] = (uint32_t)(sms % size);
	*ret_count = (uint32_t)count;
	return groups;
}

const char *wt_sim_error_text(int error)
{
	switch (error) {
	case -EDOM:
		return "the grid is not a multiple of the cluster";
	case -ENOSPC:
		return "a cluster does not fit into any GPC";
	case -EINVAL:
		return "more persistent blocks than fit at the same time";
	default:
		return "can't be scheduled";
	}
}

/* Errors that are not one row's own. */
static int explain(int rc)
{
	if (rc == -EOVERFLOW)
		return wt_cli_usage_error("simulate",
		                          "these times sum up to more than 64 bits hold");
	if (rc == -E2BIG)
		return wt_cli_usage_error("simulate",
		                          "more than %d unequal blocks or %d slots: too many",
		                          WT_SCHEDULE_BLOCKS_MAX, WT_SCHEDULE_SLOTS_MAX);
	if (rc == -ENOTSUP)
		return wt_cli_usage_error("simulate", "--share with --cluster is known for "
		                                      "--blocks-per-sm 1 only");
	if (rc == -ENOMEM) {
		wt_cli_error("out of memory");
		return WT_EXIT_FAILED;
	}
	return WT_EXIT_FINE;
}

uint64_t wt_sim_items(const struct wt_sim *sim, size_t row_idx)
{
	struct wt_schedule_work work = {0};
	struct wt_sim_row row;

	choose(sim, row_idx, &row);
	if (row.tile && set_gemm(sim, &row, &work))
		return UINT64_MAX;
	return row.items;
}

int wt_sim_compute(const struct wt_sim *sim, size_t row_idx, wt_schedule_observer *observer,
                   void *context, int64_t *sm_active, struct wt_sim_row *row)
{
	struct wt_schedule_machine machine = {.cluster_blocks = sim->cluster_blocks,
	                                      .is_shared = sim->is_shared,
	                                      .is_packed = sim->is_packed};
	struct wt_schedule_work work = {
	        .deal = sim->deal, .times = sim->times, .setup = sim->setup};
	uint32_t *groups = NULL;
	int rc = 0;

	choose(sim, row_idx, row);
	machine.sm_count = row->sms;
	machine.blocks_per_sm = row->blocks_per_sm;
	if (row->tile)
		rc = set_gemm(sim, row, &work);
	work.item_count = row->items;
	work.grid = sim->deal == WT_SCHEDULE_BLOCKS ? row->items : sim->workers;
	if (!rc && sim->gpcs.count) {
		groups = make_groups(sim, row->sms, &machine.group_count);
		machine.group_sms = groups;
		rc = groups ? 0 : -ENOMEM;
	}
	if (!rc)
		rc = wt_schedule_compute(&machine, &work, observer, context, sm_active,
		                         &row->result);
	free(groups);
	row->error = rc;
	return explain(rc);
}
