/*
 * top_cells_config.h - the cells of `top` that are of one launch configuration: what top_cells.c lists
 * among its columns. Single-threaded; never blocks.
 */
#ifndef WT_CLI_TOP_CELLS_CONFIG_H
#define WT_CLI_TOP_CELLS_CONFIG_H

#include "cli/table.h"
#include "cli/top_columns.h"

void wt_top_add_grid(struct wt_table *table, const struct wt_report_row *row,
                     const struct wt_top_view *view);
void wt_top_add_block(struct wt_table *table, const struct wt_report_row *row,
                      const struct wt_top_view *view);
void wt_top_add_cluster(struct wt_table *table, const struct wt_report_row *row,
                        const struct wt_top_view *view);
void wt_top_add_regs(struct wt_table *table, const struct wt_report_row *row,
                     const struct wt_top_view *view);
void wt_top_add_smem(struct wt_table *table, const struct wt_report_row *row,
                     const struct wt_top_view *view);
void wt_top_add_occupancy(struct wt_table *table, const struct wt_report_row *row,
                          const struct wt_top_view *view);
void wt_top_add_limiter(struct wt_table *table, const struct wt_report_row *row,
                        const struct wt_top_view *view);
void wt_top_add_device(struct wt_table *table, const struct wt_report_row *row,
                       const struct wt_top_view *view);

#endif /* WT_CLI_TOP_CELLS_CONFIG_H */
