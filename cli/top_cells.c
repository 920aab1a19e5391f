/*
 * top_cells.c - the columns that the table of `top` can have, and what stands in them. Single-
 * threaded; never blocks.
 */
#include <inttypes.h>

#include "cli/top_cells.h"

static void add_gpu_time(struct wt_table *table, const struct wt_top_view *view, double gpu_ns,
                         bool is_model)
{
	char text[WT_TEXT_NUMBER_BYTES + 1] = "~";

	if (gpu_ns == 0) {
		wt_table_add_string(table, "0", NULL);
		return;
	}
	wt_top_format(text + 1, &view->unit, gpu_ns);
	wt_table_add_string(table, is_model ? text : text + 1, NULL);
}

static void add_number(struct wt_table *table, const struct wt_report_row *row,
                       const struct wt_top_view *view)
{
	(void)row;
	if (view->is_more)
		wt_table_add_string(table, "", NULL);
	else
		wt_table_add_int(table, (int64_t)view->number, NULL);
}

/* Known in part is shown: underfill is right even where the wave is not judged. */
static bool has_idle(const struct wt_report_row *row)
{
	return row->has_wave || row->underfill_sm_ns;
}

static void add_lost(struct wt_table *table, const struct wt_report_row *row,
                     const struct wt_top_view *view)
{
	if (has_idle(row))
		add_gpu_time(table, view, row->idle_gpu_ns, true);
	else
		wt_table_add_null(table);
}

static void add_share(struct wt_table *table, const struct wt_report_row *row,
                      const struct wt_top_view *view)
{
	char text[WT_TEXT_NUMBER_BYTES];

	if (has_idle(row))
		wt_table_add_string(
		        table, wt_text_percent(text, (double)row->idle_sm_ns, view->total_sm_ns),
		        NULL);
	else
		wt_table_add_null(table);
}

static void add_underfill(struct wt_table *table, const struct wt_report_row *row,
                          const struct wt_top_view *view)
{
	if (has_idle(row))
		add_gpu_time(table, view, row->underfill_gpu_ns, true);
	else
		wt_table_add_null(table);
}

static void add_wave(struct wt_table *table, const struct wt_report_row *row,
                     const struct wt_top_view *view)
{
	if (row->has_wave)
		add_gpu_time(table, view, row->wave_gpu_ns, true);
	else
		wt_table_add_null(table);
}

static void add_wave_max(struct wt_table *table, const struct wt_report_row *row,
                         const struct wt_top_view *view)
{
	if (row->has_wave)
		add_gpu_time(table, view, row->wave_max_gpu_ns, true);
	else
		wt_table_add_null(table);
}

static void add_unjudged(struct wt_table *table, const struct wt_report_row *row,
                         const struct wt_top_view *view)
{
	add_gpu_time(table, view, row->unjudged_gpu_ns, false);
}

static void add_time(struct wt_table *table, const struct wt_report_row *row,
                     const struct wt_top_view *view)
{
	add_gpu_time(table, view, (double)row->time_ns, false);
}

static void add_launches(struct wt_table *table, const struct wt_report_row *row,
                         const struct wt_top_view *view)
{
	char text[WT_TEXT_NUMBER_BYTES];

	(void)view;
	wt_table_add_int(table, row->launches, wt_text_count(text, row->launches));
}

static void add_in_graph(struct wt_table *table, const struct wt_report_row *row,
                         const struct wt_top_view *view)
{
	char text[WT_TEXT_NUMBER_BYTES];

	(void)view;
	wt_table_add_int(table, row->launches_in_graph,
	                 wt_text_count(text, row->launches_in_graph));
}

/* Of one launch, in us: not in the unit of the sums. */
static void add_us(struct wt_table *table, const struct wt_top_view *view, double ns)
{
	char text[WT_TEXT_NUMBER_BYTES];

	if (view->is_more)
		wt_table_add_string(table, "", NULL);
	else {
		snprintf(text, sizeof(text), "%.*f", ns < 100e3 ? 1 : 0, ns / 1e3);
		wt_table_add_string(table, text, NULL);
	}
}

static void add_mean(struct wt_table *table, const struct wt_report_row *row,
                     const struct wt_top_view *view)
{
	add_us(table, view, (double)row->time_ns / (double)row->launches);
}

static void add_min(struct wt_table *table, const struct wt_report_row *row,
                    const struct wt_top_view *view)
{
	add_us(table, view, (double)row->min_ns);
}

static void add_max(struct wt_table *table, const struct wt_report_row *row,
                    const struct wt_top_view *view)
{
	add_us(table, view, (double)row->max_ns);
}

static void add_waves(struct wt_table *table, const struct wt_report_row *row,
                      const struct wt_top_view *view)
{
	char text[WT_TEXT_NUMBER_BYTES];

	if (view->is_more)
		wt_table_add_string(table, "", NULL);
	else if (row->is_persistent)
		wt_table_add_string(table, "pers", NULL);
	else if (!row->has_waves)
		wt_table_add_null(table);
	else {
		snprintf(text, sizeof(text), "%.*f",
		         row->waves < 0.0095 ? 4
		         : row->waves < 100  ? 2
		                             : 0,
		         row->waves);
		wt_table_add_string(table, text, NULL);
	}
}

/* Needs a measurement, which no run has. */
static void add_unmeasured(struct wt_table *table, const struct wt_report_row *row,
                           const struct wt_top_view *view)
{
	(void)row;
	(void)view;
	wt_table_add_null(table);
}

static void add_gap(struct wt_table *table, const struct wt_report_row *row,
                    const struct wt_top_view *view)
{
	if (view->report->has_gaps)
		add_gpu_time(table, view, row->gap_before_gpu_ns, false);
	else
		wt_table_add_null(table);
}

static void add_gap_share(struct wt_table *table, const struct wt_report_row *row,
                          const struct wt_top_view *view)
{
	char text[WT_TEXT_NUMBER_BYTES];

	if (view->report->has_gaps)
		wt_table_add_string(
		        table,
		        wt_text_percent(text, (double)row->gap_before_sm_ns, view->total_sm_ns),
		        NULL);
	else
		wt_table_add_null(table);
}

static void add_latency(struct wt_table *table, const struct wt_report_row *row,
                        const struct wt_top_view *view)
{
	if (!view->is_more && !row->latency_launches)
		wt_table_add_null(table);
	else
		add_us(table, view, row->latency_mean_ns);
}

static void add_call(struct wt_table *table, const struct wt_report_row *row,
                     const struct wt_top_view *view)
{
	if (!view->is_more && !row->latency_launches)
		wt_table_add_null(table);
	else
		add_us(table, view, row->call_mean_ns);
}

static void add_queued(struct wt_table *table, const struct wt_report_row *row,
                       const struct wt_top_view *view)
{
	char text[WT_TEXT_NUMBER_BYTES];

	if (view->is_more)
		wt_table_add_string(table, "", NULL);
	else if (!row->latency_launches || !view->report->has_queued)
		wt_table_add_null(table);
	else
		wt_table_add_string(table,
		                    wt_text_percent(text, (double)row->queued_launches,
		                                    (double)row->latency_launches),
		                    NULL);
}

static void add_cv(struct wt_table *table, const struct wt_report_row *row,
                   const struct wt_top_view *view)
{
	char text[WT_TEXT_NUMBER_BYTES];

	if (view->is_more) {
		wt_table_add_string(table, "", NULL);
	} else if (row->cv < 0) {
		wt_table_add_null(table);
	} else {
		snprintf(text, sizeof(text), "%.1f", 100 * row->cv);
		wt_table_add_string(table, text, NULL);
	}
}

static void add_configs(struct wt_table *table, const struct wt_report_row *row,
                        const struct wt_top_view *view)
{
	(void)view;
	wt_table_add_int(table, row->configs, NULL);
}

static void add_kernels(struct wt_table *table, const struct wt_report_row *row,
                        const struct wt_top_view *view)
{
	if (view->is_more)
		wt_table_add_string(table, "", NULL);
	else
		wt_table_add_int(table, wt_report_is_sum(row->group) ? row->kernels : 1, NULL);
}

/* The rest belongs to one configuration; where a row has several, it is unknown. */
static bool is_one_config(struct wt_table *table, const struct wt_report_row *row,
                          const struct wt_top_view *view)
{
	if (!view->is_more && row->configs == 1 && !wt_report_is_sum(row->group))
		return true;
	if (view->is_more)
		wt_table_add_string(table, "", NULL);
	else
		wt_table_add_null(table);
	return false;
}

/* 16x1x1 as 16, 16x4x1 as 16x4. */
static void add_extent(struct wt_table *table, const int64_t extent[3])
{
	char text[80];

	if (extent[2] > 1)
		snprintf(text, sizeof(text), "%" PRId64 "x%" PRId64 "x%" PRId64, extent[0],
		         extent[1], extent[2]);
	else if (extent[1] > 1)
		snprintf(text, sizeof(text), "%" PRId64 "x%" PRId64, extent[0], extent[1]);
	else
		snprintf(text, sizeof(text), "%" PRId64, extent[0]);
	wt_table_add_string(table, text, NULL);
}

static void add_grid(struct wt_table *table, const struct wt_report_row *row,
                     const struct wt_top_view *view)
{
	if (is_one_config(table, row, view))
		add_extent(table, row->grid);
}

static void add_block(struct wt_table *table, const struct wt_report_row *row,
                      const struct wt_top_view *view)
{
	if (is_one_config(table, row, view))
		add_extent(table, row->block);
}

static void add_cluster(struct wt_table *table, const struct wt_report_row *row,
                        const struct wt_top_view *view)
{
	if (!is_one_config(table, row, view))
		return;
	if (row->cluster[0])
		add_extent(table, row->cluster);
	else
		wt_table_add_string(table, "-", NULL);
}

static void add_regs(struct wt_table *table, const struct wt_report_row *row,
                     const struct wt_top_view *view)
{
	if (is_one_config(table, row, view))
		wt_table_add_int(table, row->regs_per_thread, NULL);
}

static void add_smem(struct wt_table *table, const struct wt_report_row *row,
                     const struct wt_top_view *view)
{
	char text[WT_TEXT_NUMBER_BYTES];

	if (is_one_config(table, row, view))
		wt_table_add_int(table, row->smem_bytes,
		                 wt_text_bytes(text, (uint64_t)row->smem_bytes));
}

static void add_occupancy(struct wt_table *table, const struct wt_report_row *row,
                          const struct wt_top_view *view)
{
	char text[WT_TEXT_NUMBER_BYTES];

	if (!is_one_config(table, row, view))
		return;
	if (row->has_occupancy) {
		snprintf(text, sizeof(text), "%.0f", 100 * row->occupancy);
		wt_table_add_string(table, text, NULL);
	} else {
		wt_table_add_null(table);
	}
}

static void add_limiter(struct wt_table *table, const struct wt_report_row *row,
                        const struct wt_top_view *view)
{
	if (is_one_config(table, row, view))
		wt_table_add_string(table, row->limiter, NULL);
}

static void add_device(struct wt_table *table, const struct wt_report_row *row,
                       const struct wt_top_view *view)
{
	if (!view->is_more && wt_report_is_sum(row->group) && row->device_id >= 0)
		wt_table_add_int(table, row->device_id, NULL);
	else if (is_one_config(table, row, view))
		wt_table_add_int(table, row->device_id, NULL);
}

static void add_kernel_id(struct wt_table *table, const struct wt_report_row *row,
                          const struct wt_top_view *view)
{
	if (view->is_more)
		wt_table_add_string(table, "", NULL);
	else if (row->kernel_id < 0)
		wt_table_add_null(table);
	else
		wt_table_add_int(table, row->kernel_id, NULL);
}

static void add_kernel(struct wt_table *table, const struct wt_report_row *row,
                       const struct wt_top_view *view)
{
	char text[64];

	if (view->is_more) {
		snprintf(text, sizeof(text), view->is_total ? "all %zu" : "%zu more", view->number);
		wt_table_add_string(table, text, NULL);
	} else {
		wt_table_add_string(table, row->kernel_shown, NULL);
	}
}

/* The columns in their order. */
const struct wt_top_column wt_top_columns[] = {
        {"rank", "#", 1, 1, 0, WT_TABLE_RIGHT, add_number, "row number"},
        {"lost", "LOST", 1, 1, 0, WT_TABLE_RIGHT, add_lost,
         "idle inside its kernels: under + wave, whole-GPU time"},
        {"all", "ALL%", 1, 1, 0, WT_TABLE_RIGHT, add_share, "LOST as a share of the window"},
        {"under", "UNDER", 76, 100, 0, WT_TABLE_RIGHT, add_underfill, "SMs that never got a block"},
        {"wave", "WAVE", 76, 100, 0, WT_TABLE_RIGHT, add_wave,
         "partial last wave, least of the model's forms"},
        {"wavemax", "WAVE<=", 100, 120, 0, WT_TABLE_RIGHT, add_wave_max,
         "partial last wave, greatest of the model's forms"},
        {"straggle", "STRAG", 0, 0, 0, WT_TABLE_RIGHT, add_unmeasured,
         "unequal blocks: needs a measurement"},
        {"ramp", "RAMP", 0, 0, 0, WT_TABLE_RIGHT, add_unmeasured,
         "launch and drain in a kernel: needs a measurement"},
        {"unjudged", "UNJUDGED", 0, 0, 0, WT_TABLE_RIGHT, add_unjudged,
         "whole-GPU time that no model fits"},
        {"gap", "GAP", 0, 0, 0, WT_TABLE_RIGHT, add_gap,
         "no kernel ran, up to one of these; whole-GPU time"},
        {"gapall", "GAP%", 0, 0, 0, WT_TABLE_RIGHT, add_gap_share, "GAP as a share of the window"},
        {"time", "TIME", 1, 1, 0, WT_TABLE_RIGHT, add_time, "summed durations"},
        {"n", "N", 1, 1, 0, WT_TABLE_RIGHT, add_launches, "kernels that ran"},
        {"graph", "GRAPH", 0, 0, 0, WT_TABLE_RIGHT, add_in_graph, "of these, nodes of CUDA graphs"},
        {"us", "US", 68, 76, 0, WT_TABLE_RIGHT, add_mean, "mean duration, us"},
        {"min", "MIN", 0, 0, 0, WT_TABLE_RIGHT, add_min, "shortest, us"},
        {"max", "MAX", 0, 0, 0, WT_TABLE_RIGHT, add_max, "longest, us"},
        {"cv", "CV%", 0, 0, 0, WT_TABLE_RIGHT, add_cv, "deviation of the durations by their mean"},
        {"latency", "LATENCY", 0, 0, 0, WT_TABLE_RIGHT, add_latency,
         "from launch call to start of the kernel, mean, us"},
        {"call", "CALL", 0, 0, 0, WT_TABLE_RIGHT, add_call, "the launch call, mean, us"},
        {"queued", "QUEUED%", 0, 0, 0, WT_TABLE_RIGHT, add_queued,
         "launches for which a kernel of their stream still ran"},
        {"waves", "WAVES", 1, 1, 0, WT_TABLE_RIGHT, add_waves,
         "blocks / blocks that the GPU holds at once"},
        {"configs", "CONFIGS", 0, 0, 0, WT_TABLE_RIGHT, add_configs, "launch configurations"},
        {"kernels", "KERNELS", 0, 0, 0, WT_TABLE_RIGHT, add_kernels, "different kernels"},
        {"grid", "GRID", 0, 1, 0, WT_TABLE_RIGHT, add_grid, "blocks"},
        {"block", "BLOCK", 0, 1, 0, WT_TABLE_RIGHT, add_block, "threads"},
        {"cluster", "CLUSTER", 0, 0, 0, WT_TABLE_RIGHT, add_cluster, "blocks of a cluster"},
        {"regs", "REGS", 0, 120, 0, WT_TABLE_RIGHT, add_regs, "registers per thread"},
        {"smem", "SMEM", 0, 140, 0, WT_TABLE_RIGHT, add_smem, "shared memory per block"},
        {"occ", "OCC%", 0, 120, 0, WT_TABLE_RIGHT, add_occupancy, "theoretical occupancy"},
        {"limiter", "LIMITER", 0, 0, 0, WT_TABLE_LEFT, add_limiter, "what limits occupancy"},
        {"device", "DEV", 0, 0, 0, WT_TABLE_RIGHT, add_device, "device id"},
        {"id", "ID", 0, 0, 0, WT_TABLE_RIGHT, add_kernel_id, "kernel id"},
        {"kernel", "KERNEL", 1, 1, WT_TABLE_FLEXIBLE, WT_TABLE_LEFT, add_kernel,
         "kernel name, short; or what else a row sums"},
};
_Static_assert(sizeof(wt_top_columns) / sizeof(wt_top_columns[0]) == WT_TOP_COLUMN_COUNT,
               "as many as the header says");
