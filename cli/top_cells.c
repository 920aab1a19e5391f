/*
 * top_cells.c - the columns that the table of `top` can have, and what stands in them. Single-
 * threaded; never blocks.
 */
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "cli/measured.h"
#include "cli/top_cells.h"
#include "cli/top_cells_config.h"

/* "mixed" by less than half a percent of something else is as good as measured. */
char wt_top_mark(const char *evidence, int64_t sm_ns, int64_t measured_sm_ns)
{
	if (!strcmp(evidence, "model"))
		return '~';
	if (strcmp(evidence, "mixed") != 0)
		return 0;
	return (double)measured_sm_ns < 0.995 * (double)sm_ns ? '*' : 0;
}

/* mark: '~' or such before the number, or 0. */
static void add_gpu_time(struct wt_table *table, const struct wt_top_view *view, double gpu_ns,
                         char mark)
{
	char text[WT_TEXT_NUMBER_BYTES + 1];

	if (gpu_ns == 0) {
		wt_table_add_string(table, "0", NULL);
		return;
	}
	text[0] = mark;
	wt_top_format(text + 1, &view->unit, gpu_ns);
	wt_table_add_string(table, mark ? text : text + 1, NULL);
}

/* The mark of a number at `offset` in the shares of the row. */
static char mark_of(const struct wt_report_row *row, int64_t sm_ns, size_t offset)
{
	int64_t measured_sm_ns = 0;

	for (int i = WT_EVIDENCE_SAMPLED; i < WT_EVIDENCE_MAX; i++)
		measured_sm_ns += *(const int64_t *)((const char *)&row->measured[i] + offset);
	return wt_top_mark(wt_report_row_evidence(row, sm_ns, offset), sm_ns, measured_sm_ns);
}
#define MARK(row, field) mark_of(row, (row)->field, offsetof(struct wt_sweep_share, field))

char wt_top_lost_mark(const struct wt_report_row *row)
{
	int64_t measured_sm_ns = 0;

	for (int i = WT_EVIDENCE_SAMPLED; i < WT_EVIDENCE_MAX; i++) {
		const struct wt_sweep_share *share = &row->measured[i];

		measured_sm_ns += share->underfill_sm_ns + share->wave_sm_ns +
		                  share->straggle_sm_ns + share->ramp_sm_ns;
	}
	return wt_top_mark(wt_report_row_idle_evidence(row, false), row->idle_sm_ns,
	                   measured_sm_ns);
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
	return row->has_wave || row->underfill_sm_ns || row->has_measured;
}

static void add_lost(struct wt_table *table, const struct wt_report_row *row,
                     const struct wt_top_view *view)
{
	if (has_idle(row))
		add_gpu_time(
		        table, view, row->idle_gpu_ns,
		        (char)(row->disagrees && !view->is_more ? '!' : wt_top_lost_mark(row)));
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
		add_gpu_time(table, view, row->underfill_gpu_ns, MARK(row, underfill_sm_ns));
	else
		wt_table_add_null(table);
}

static void add_wave(struct wt_table *table, const struct wt_report_row *row,
                     const struct wt_top_view *view)
{
	if (row->has_wave)
		add_gpu_time(table, view, row->wave_gpu_ns, MARK(row, wave_sm_ns));
	else
		wt_table_add_null(table);
}

static void add_wave_max(struct wt_table *table, const struct wt_report_row *row,
                         const struct wt_top_view *view)
{
	if (row->has_wave)
		add_gpu_time(table, view, row->wave_max_gpu_ns, MARK(row, wave_max_sm_ns));
	else
		wt_table_add_null(table);
}

static void add_unjudged(struct wt_table *table, const struct wt_report_row *row,
                         const struct wt_top_view *view)
{
	add_gpu_time(table, view, row->unjudged_gpu_ns, 0);
}

static void add_time(struct wt_table *table, const struct wt_report_row *row,
                     const struct wt_top_view *view)
{
	add_gpu_time(table, view, (double)row->time_ns, 0);
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

/* Nothing of the row is measured: not known, and not 0. */
static void add_straggle(struct wt_table *table, const struct wt_report_row *row,
                         const struct wt_top_view *view)
{
	if (row->has_measured)
		add_gpu_time(table, view, row->straggle_gpu_ns, MARK(row, straggle_sm_ns));
	else
		wt_table_add_null(table);
}

static void add_ramp(struct wt_table *table, const struct wt_report_row *row,
                     const struct wt_top_view *view)
{
	if (row->has_measured)
		add_gpu_time(table, view, row->ramp_gpu_ns, MARK(row, ramp_sm_ns));
	else
		wt_table_add_null(table);
}

static void add_active(struct wt_table *table, const struct wt_report_row *row,
                       const struct wt_top_view *view)
{
	int64_t parts_sm_ns[WT_EVIDENCE_MAX], sm_ns = wt_report_row_sm_ns(row, parts_sm_ns);
	char text[WT_TEXT_NUMBER_BYTES + 1], percent[WT_TEXT_NUMBER_BYTES];
	char mark = MARK(row, active_sm_ns);

	if (!view->report->has_active || sm_ns <= 0) {
		wt_table_add_null(table);
		return;
	}
	snprintf(text, sizeof(text), "%s%s",
	         mark == '~' ? "~"
	         : mark      ? "*"
	                     : "",
	         wt_text_percent(percent, (double)row->active_sm_ns, (double)sm_ns));
	wt_table_add_string(table, text, NULL);
}

/* Of a whole, or < 0. */
static void add_counter(struct wt_table *table, const struct wt_top_view *view, double share)
{
	char text[WT_TEXT_NUMBER_BYTES];

	if (view->is_more) {
		wt_table_add_string(table, "", NULL);
	} else if (share < 0) {
		wt_table_add_null(table);
	} else {
		snprintf(text, sizeof(text), "%.0f", 100 * share);
		wt_table_add_string(table, text, NULL);
	}
}

static void add_warps(struct wt_table *table, const struct wt_report_row *row,
                      const struct wt_top_view *view)
{
	add_counter(table, view, row->warps_share);
}

static void add_tensor(struct wt_table *table, const struct wt_report_row *row,
                       const struct wt_top_view *view)
{
	add_counter(table, view, row->tensor_share);
}

static void add_dram(struct wt_table *table, const struct wt_report_row *row,
                     const struct wt_top_view *view)
{
	add_counter(table, view, row->dram_share);
}

static void add_issue(struct wt_table *table, const struct wt_report_row *row,
                      const struct wt_top_view *view)
{
	add_counter(table, view, row->issue_share);
}

static void add_bound(struct wt_table *table, const struct wt_report_row *row,
                      const struct wt_top_view *view)
{
	if (view->is_more)
		wt_table_add_string(table, "", NULL);
	else
		wt_table_add_string(table, wt_bound_name(row->bound), NULL);
}

static void add_evidence(struct wt_table *table, const struct wt_report_row *row,
                         const struct wt_top_view *view)
{
	int64_t parts_sm_ns[WT_EVIDENCE_MAX], sm_ns = wt_report_row_sm_ns(row, parts_sm_ns);
	char text[WT_MEASURED_TEXT_BYTES];

	(void)view;
	wt_table_add_string(table, wt_measured_text(text, sm_ns, parts_sm_ns), NULL);
}

static void add_gap(struct wt_table *table, const struct wt_report_row *row,
                    const struct wt_top_view *view)
{
	if (view->report->has_gaps)
		add_gpu_time(table, view, row->gap_before_gpu_ns, 0);
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
         "idle inside its kernels: under + wave + strag + ramp"},
        {"all", "ALL%", 1, 1, 0, WT_TABLE_RIGHT, add_share, "LOST as a share of the window"},
        {"under", "UNDER", 76, 100, 0, WT_TABLE_RIGHT, add_underfill, "SMs that never got a block"},
        {"wave", "WAVE", 76, 100, 0, WT_TABLE_RIGHT, add_wave,
         "partial last wave, least of the model's forms"},
        {"wavemax", "WAVE<=", 100, 120, 0, WT_TABLE_RIGHT, add_wave_max,
         "partial last wave, greatest of the model's forms"},
        {"straggle", "STRAG", 0, 0, 0, WT_TABLE_RIGHT, add_straggle,
         "unequal blocks, where measured"},
        {"ramp", "RAMP", 0, 0, 0, WT_TABLE_RIGHT, add_ramp,
         "launch and drain in a kernel, where measured"},
        {"active", "ACT%", 0, 0, 0, WT_TABLE_RIGHT, add_active,
         "SMs with a block, of the SM-time of its kernels"},
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
        {"warps", "WARPS%", 0, 0, 0, WT_TABLE_RIGHT, add_warps,
         "achieved occupancy: resident warps of the most, measured"},
        {"tensor", "TC%", 0, 0, 0, WT_TABLE_RIGHT, add_tensor,
         "of time x SMs, the tensor pipe worked, measured"},
        {"mem", "MEM%", 0, 0, 0, WT_TABLE_RIGHT, add_dram, "DRAM, of its peak bandwidth, measured"},
        {"issue", "ISS%", 0, 0, 0, WT_TABLE_RIGHT, add_issue,
         "of the issue slots of all SMs, measured"},
        {"bound", "BOUND", 0, 0, 0, WT_TABLE_LEFT, add_bound,
         "what bounds it, by the last three: compute, memory, latency"},
        {"evidence", "EVIDENCE", 0, 0, 0, WT_TABLE_LEFT, add_evidence,
         "how much of its SM-time is measured"},
        {"configs", "CONFIGS", 0, 0, 0, WT_TABLE_RIGHT, add_configs, "launch configurations"},
        {"kernels", "KERNELS", 0, 0, 0, WT_TABLE_RIGHT, add_kernels, "different kernels"},
        {"grid", "GRID", 0, 1, 0, WT_TABLE_RIGHT, wt_top_add_grid, "blocks"},
        {"block", "BLOCK", 0, 1, 0, WT_TABLE_RIGHT, wt_top_add_block, "threads"},
        {"cluster", "CLUSTER", 0, 0, 0, WT_TABLE_RIGHT, wt_top_add_cluster, "blocks of a cluster"},
        {"regs", "REGS", 0, 120, 0, WT_TABLE_RIGHT, wt_top_add_regs, "registers per thread"},
        {"smem", "SMEM", 0, 140, 0, WT_TABLE_RIGHT, wt_top_add_smem, "shared memory per block"},
        {"occ", "OCC%", 0, 120, 0, WT_TABLE_RIGHT, wt_top_add_occupancy, "theoretical occupancy"},
        {"limiter", "LIMITER", 0, 0, 0, WT_TABLE_LEFT, wt_top_add_limiter, "what limits occupancy"},
        {"device", "DEV", 0, 0, 0, WT_TABLE_RIGHT, wt_top_add_device, "device id"},
        {"id", "ID", 0, 0, 0, WT_TABLE_RIGHT, add_kernel_id, "kernel id"},
        {"kernel", "KERNEL", 1, 1, WT_TABLE_FLEXIBLE, WT_TABLE_LEFT, add_kernel,
         "kernel name, short; or what else a row sums"},
};
_Static_assert(sizeof(wt_top_columns) / sizeof(wt_top_columns[0]) == WT_TOP_COLUMN_COUNT,
               "as many as the header says");
