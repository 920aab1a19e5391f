/*
 * top_cells_config.c - see top_cells_config.h. Single-threaded; never blocks.
 */
#include <inttypes.h>
#include <stdio.h>

#include "cli/top_cells_config.h"

/* Where a row has several configurations, none of it is known; where it sums several rows, empty. */
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

void wt_top_add_grid(struct wt_table *table, const struct wt_report_row *row,
                     const struct wt_top_view *view)
{
	if (is_one_config(table, row, view))
		add_extent(table, row->grid);
}

void wt_top_add_block(struct wt_table *table, const struct wt_report_row *row,
                      const struct wt_top_view *view)
{
	if (is_one_config(table, row, view))
		add_extent(table, row->block);
}

void wt_top_add_cluster(struct wt_table *table, const struct wt_report_row *row,
                        const struct wt_top_view *view)
{
	if (!is_one_config(table, row, view))
		return;
	if (row->cluster[0])
		add_extent(table, row->cluster);
	else
		wt_table_add_string(table, "-", NULL);
}

void wt_top_add_regs(struct wt_table *table, const struct wt_report_row *row,
                     const struct wt_top_view *view)
{
	if (is_one_config(table, row, view))
		wt_table_add_int(table, row->regs_per_thread, NULL);
}

void wt_top_add_smem(struct wt_table *table, const struct wt_report_row *row,
                     const struct wt_top_view *view)
{
	char text[WT_TEXT_NUMBER_BYTES];

	if (is_one_config(table, row, view))
		wt_table_add_int(table, row->smem_bytes,
		                 wt_text_bytes(text, (uint64_t)row->smem_bytes));
}

void wt_top_add_occupancy(struct wt_table *table, const struct wt_report_row *row,
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

void wt_top_add_limiter(struct wt_table *table, const struct wt_report_row *row,
                        const struct wt_top_view *view)
{
	if (is_one_config(table, row, view))
		wt_table_add_string(table, row->limiter, NULL);
}

void wt_top_add_device(struct wt_table *table, const struct wt_report_row *row,
                       const struct wt_top_view *view)
{
	if (!view->is_more && wt_report_is_sum(row->group) && row->device_id >= 0)
		wt_table_add_int(table, row->device_id, NULL);
	else if (is_one_config(table, row, view))
		wt_table_add_int(table, row->device_id, NULL);
}
