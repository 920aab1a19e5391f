/*
 * top_columns.c - see top_columns.h. Single-threaded; blocks as the FILE does.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/table.h"
#include "cli/top_columns.h"

struct wt_top_unit wt_top_choose_unit(double largest_ns)
{
	if (largest_ns < 10e6)
		return (struct wt_top_unit){"us", 1e3};
	if (largest_ns < 100e9)
		return (struct wt_top_unit){"ms", 1e6};
	return (struct wt_top_unit){"s", 1e9};
}

char *wt_top_format(char text[WT_TEXT_NUMBER_BYTES], const struct wt_top_unit *unit, double ns)
{
	double value = ns / unit->ns;

	snprintf(text, WT_TEXT_NUMBER_BYTES, "%.*f",
	         value < 9.995   ? 2
	         : value < 99.95 ? 1
	                         : 0,
	         value);
	return text;
}

/* ---- columns */

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
static const struct column {
	const char *name; /* as --columns has it */
	const char *title;
	/* By default shown in terminals of that width and more; 0: not. */
	unsigned kernel_from, config_from;
	unsigned flags;
	enum wt_table_align align;
	void (*add)(struct wt_table *, const struct wt_report_row *, const struct wt_top_view *);
	const char *help;
} columns[] = {
        {"rank", "#", 1, 1, 0, WT_TABLE_RIGHT, add_number, "row number"},
        {"lost", "LOST", 1, 1, 0, WT_TABLE_RIGHT, add_lost,
         "idle inside its kernels: under + wave, whole-GPU time"},
        {"all", "ALL%", 1, 1, 0, WT_TABLE_RIGHT, add_share, "LOST as a share of the window"},
        {"under", "UNDER", 76, 100, 0, WT_TABLE_RIGHT, add_underfill, "SMs that never got a block"},
        {"wave", "WAVE", 76, 100, 0, WT_TABLE_RIGHT, add_wave,
         "partial last wave, least of the model's forms"},
        {"wavemax", "WAVE<=", 100, 120, 0, WT_TABLE_RIGHT, add_wave_max,
         "partial last wave, greatest of the model's forms"},
        {"unjudged", "UNJUDGED", 0, 0, 0, WT_TABLE_RIGHT, add_unjudged,
         "whole-GPU time that no model fits"},
        {"time", "TIME", 1, 1, 0, WT_TABLE_RIGHT, add_time, "summed durations"},
        {"n", "N", 1, 1, 0, WT_TABLE_RIGHT, add_launches, "kernels that ran"},
        {"graph", "GRAPH", 0, 0, 0, WT_TABLE_RIGHT, add_in_graph, "of these, nodes of CUDA graphs"},
        {"us", "US", 68, 76, 0, WT_TABLE_RIGHT, add_mean, "mean duration, us"},
        {"min", "MIN", 0, 0, 0, WT_TABLE_RIGHT, add_min, "shortest, us"},
        {"max", "MAX", 0, 0, 0, WT_TABLE_RIGHT, add_max, "longest, us"},
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
         "kernel name, short; or the device, process or rank"},
};
#define COLUMN_COUNT (sizeof(columns) / sizeof(columns[0]))
#define KERNEL_COLUMNS_MIN 12

void wt_top_list_columns(FILE *out)
{
	for (size_t i = 0; i < COLUMN_COUNT; i++)
		fprintf(out, "  %-9s %-9s %s\n", columns[i].name, columns[i].title,
		        columns[i].help);
}

/* The width from which a row that sums several kernels has the column; 0: not by default. */
static unsigned sum_from(const struct column *column)
{
	if (column->add == add_kernels)
		return 68;
	return column->add == add_waves || column->add == add_mean ? 0 : column->kernel_from;
}

/* Indices of the columns to show; their number, or -EINVAL after a message. */
static int choose_columns(const struct wt_top_style *style, const struct wt_text_terminal *terminal,
                          size_t chosen[COLUMN_COUNT])
{
	unsigned width = terminal->width_columns ? terminal->width_columns : UINT_MAX;
	int count = 0;

	for (size_t i = 0; !style->columns && i < COLUMN_COUNT; i++) {
		unsigned from = wt_report_is_sum(style->group)           ? sum_from(&columns[i])
		                : style->group == WT_REPORT_GROUP_CONFIG ? columns[i].config_from
		                                                         : columns[i].kernel_from;

		if (from && width >= from)
			chosen[count++] = i;
	}
	for (const char *at = style->columns; at;) {
		size_t length = strcspn(at, ",");
		size_t i = 0;

		while (i < COLUMN_COUNT &&
		       (strlen(columns[i].name) != length || strncmp(columns[i].name, at, length)))
			i++;
		if (i == COLUMN_COUNT || count == (int)COLUMN_COUNT) {
			wt_cli_usage_error("top", "--columns: there is no column \"%.*s\"",
			                   (int)length, at);
			return -EINVAL;
		}
		chosen[count++] = i;
		at = at[length] ? at + length + 1 : NULL;
	}
	return count;
}

/* The last column says what a row is. */
static const char *title_of(const struct column *column, enum wt_report_group group)
{
	if (column->add != add_kernel)
		return column->title;
	switch (group) {
	case WT_REPORT_GROUP_DEVICE:
		return "DEVICE";
	case WT_REPORT_GROUP_PROCESS:
		return "PROCESS";
	case WT_REPORT_GROUP_RANK:
		return "RANK";
	default:
		return column->title;
	}
}

static void add_row(struct wt_table *table, const size_t *chosen, int count,
                    const struct wt_report_row *row, const struct wt_top_view *view)
{
	wt_table_row(table, 0);
	for (int i = 0; i < count; i++)
		columns[chosen[i]].add(table, row, view);
}

int wt_top_print_table(FILE *out, const struct wt_text_terminal *terminal,
                       const struct wt_report *report, const struct wt_top_style *style,
                       struct wt_top_view *view)
{
	struct wt_table_column shown[COLUMN_COUNT];
	size_t chosen[COLUMN_COUNT];
	size_t limit = style->limit > 0 ? (size_t)style->limit : SIZE_MAX;
	struct wt_report_row more = {.config_id = -1};
	struct wt_table *table;
	int count = choose_columns(style, terminal, chosen);
	int rc;

	if (count < 0)
		return count;
	for (int i = 0; i < count; i++)
		shown[i] = (struct wt_table_column){
		        .key = columns[chosen[i]].name,
		        .title = title_of(&columns[chosen[i]], style->group),
		        .align = columns[chosen[i]].align,
		        .flags = columns[chosen[i]].flags,
		        .min_width = columns[chosen[i]].flags ? KERNEL_COLUMNS_MIN : 0,
		};
	table = wt_table_create(shown, (size_t)count);
	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < report->row_count; i++) {
		view->number = i + 1;
		if (i < limit)
			add_row(table, chosen, count, &report->rows[i], view);
		else
			wt_report_row_add(&more, &report->rows[i]);
	}
	if (report->row_count > limit) {
		view->is_more = true;
		view->number = report->row_count - limit;
		add_row(table, chosen, count, &more, view);
	}
	if (report->row_count > 1) {
		bool is_more = view->is_more;

		view->number = report->row_count;
		view->is_more = view->is_total = true;
		add_row(table, chosen, count, &report->total, view);
		view->is_more = is_more;
		view->is_total = false;
	}
	rc = wt_table_print_text(table, out, terminal);
	wt_table_destroy(table);
	return rc;
}

int wt_top_check_columns(const struct wt_top_style *style)
{
	const struct wt_text_terminal terminal = {0};
	size_t chosen[COLUMN_COUNT];
	int count = choose_columns(style, &terminal, chosen);

	return count < 0 ? count : 0;
}
