/*
 * top_cells.h - the columns that the table of `top` can have. Single-threaded; never blocks.
 */
#ifndef WT_CLI_TOP_CELLS_H
#define WT_CLI_TOP_CELLS_H

#include "cli/table.h"
#include "cli/top_columns.h"

struct wt_top_column {
	const char *name; /* as --columns has it */
	const char *title;
	/* By default shown in terminals of that width and more; 0: not. */
	unsigned kernel_from, config_from;
	unsigned flags;
	enum wt_table_align align;
	void (*add)(struct wt_table *, const struct wt_report_row *, const struct wt_top_view *);
	const char *help;
};

#define WT_TOP_COLUMN_COUNT 41
extern const struct wt_top_column wt_top_columns[WT_TOP_COLUMN_COUNT];

/* '~': the model's alone, '*': in part, 0: measured. */
char wt_top_mark(const char *evidence, int64_t sm_ns, int64_t measured_sm_ns);
/* Of all idle SM-time of a row. */
char wt_top_lost_mark(const struct wt_report_row *row);

#endif /* WT_CLI_TOP_CELLS_H */
