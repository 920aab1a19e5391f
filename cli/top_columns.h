/*
 * top_columns.h - the columns that the text of `top` can have, and the table made of them.
 * Single-threaded; blocks as the FILE does.
 */
#ifndef WT_CLI_TOP_COLUMNS_H
#define WT_CLI_TOP_COLUMNS_H

#include "cli/top_text.h"

/* One unit for all times of a table, so that they compare at a glance. */
struct wt_top_unit {
	const char *name;
	double ns;
};

/* What the columns need beside their row. */
struct wt_top_view {
	const struct wt_report *report;
	struct wt_top_unit unit;
	double total_sm_ns; /* the SMs of all devices over the window */
	bool is_more; /* the sum of the rows that are not shown */
	bool is_total; /* is_more too: the sum of all */
	bool has_persistent; /* set when a row says so */
	size_t number; /* of the row, from 1 */
};

/* Of a whole report, before its rows are added. */
void wt_top_view_init(struct wt_top_view *view, const struct wt_report *report);

/* The unit in which times up to `largest_ns` read well. */
struct wt_top_unit wt_top_choose_unit(double largest_ns);

/* `ns` in that unit with three digits, without its name; returns `text`. */
char *wt_top_format(char text[WT_TEXT_NUMBER_BYTES], const struct wt_top_unit *unit, double ns);

/* What must be read for the columns that will be shown; style->columns is known to be right. */
void wt_top_needs(const struct wt_top_style *style, enum wt_report_need *gaps,
                  enum wt_report_need *latency);

/* 0, or -EINVAL after a message: style->columns has a name that doesn't exist. */
int wt_top_check_columns(const struct wt_top_style *style);

/* The first style->limit rows, the sum of the rest, and of all. 0 or -errno. */
int wt_top_print_table(FILE *out, const struct wt_text_terminal *terminal,
                       const struct wt_report *report, const struct wt_top_style *style,
                       struct wt_top_view *view);

/* Lists the columns that --columns knows. */
void wt_top_list_columns(FILE *out);

#endif /* WT_CLI_TOP_COLUMNS_H */
