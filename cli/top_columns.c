/*
 * top_columns.c - see top_columns.h. Single-threaded; blocks as the FILE does.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/top_cells.h"
#include "cli/top_columns.h"

#define KERNEL_COLUMNS_MIN 12

struct wt_top_unit wt_top_choose_unit(double largest_ns)
{
	if (largest_ns < 10e6)
		return (struct wt_top_unit){"us", 1e3};
	if (largest_ns < 100e9)
		return (struct wt_top_unit){"ms", 1e6};
	return (struct wt_top_unit){"s", 1e9};
}

void wt_top_view_init(struct wt_top_view *view, const struct wt_report *report)
{
	*view = (struct wt_top_view){.report = report};
	view->unit = wt_top_choose_unit((double)report->total.time_ns);
	for (size_t i = 0; report->has_window && i < report->device_count; i++)
		view->total_sm_ns += (double)(report->end_ns - report->start_ns) *
		                     (double)report->devices[i].sm_count;
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

void wt_top_list_columns(FILE *out)
{
	for (size_t i = 0; i < WT_TOP_COLUMN_COUNT; i++)
		fprintf(out, "  %-9s %-9s %s\n", wt_top_columns[i].name, wt_top_columns[i].title,
		        wt_top_columns[i].help);
}

static bool is_named(const struct wt_top_column *column, const char *name)
{
	return !strcmp(column->name, name);
}

/* The width from which a row that sums several kernels has the column; 0: not by default. */
static unsigned sum_from(const struct wt_top_column *column)
{
	if (is_named(column, "kernels"))
		return 68;
	return is_named(column, "waves") || is_named(column, "us") ? 0 : column->kernel_from;
}

/* Columns that say more of what is ranked by are shown in any terminal. */
static bool is_ranked(const struct wt_top_column *column, enum wt_report_by by)
{
	switch (by) {
	case WT_REPORT_BY_GAP:
		return is_named(column, "gap") || is_named(column, "gapall");
	case WT_REPORT_BY_LATENCY:
		return is_named(column, "latency") || is_named(column, "call") ||
		       is_named(column, "queued");
	case WT_REPORT_BY_STRAGGLE:
		return is_named(column, "straggle");
	case WT_REPORT_BY_CV:
		return is_named(column, "cv") || is_named(column, "min") || is_named(column, "max");
	default:
		return false;
	}
}

/* What goes first where a terminal is too narrow still: WT_TABLE_DROP, or 0. */
static unsigned drop_of(const struct wt_top_column *column, const struct wt_top_style *style)
{
	static const char *const order[] = {"wavemax", "ramp",  "straggle", "issue", "tensor",
	                                    "warps",   "smem",  "occ",      "regs",  "wave",
	                                    "under",   "bound", "mem",      "us",    "waves",
	                                    "kernels", "block", "all",      "time",  "n"};

	/* What was asked for by name is shown. */
	for (size_t i = 0; !style->columns && i < sizeof(order) / sizeof(order[0]); i++)
		if (is_named(column, order[i]) && !is_ranked(column, style->by))
			return WT_TABLE_DROP(i + 1);
	return 0;
}

/* The width from which a column is shown if something is measured; 0: not by default. */
static unsigned measured_from(const struct wt_top_column *column)
{
	static const struct {
		const char *name;
		unsigned from;
	} columns[] = {{"straggle", 76}, {"mem", 84},     {"ramp", 100}, {"warps", 110},
	               {"bound", 116},   {"tensor", 124}, {"issue", 130}};

	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		if (is_named(column, columns[i].name))
			return columns[i].from;
	return 0;
}

/* Where something else is ranked by, what LOST is made of has to wait for wide terminals. */
static unsigned shown_from(const struct wt_top_column *column, const struct wt_top_style *style)
{
	unsigned from = wt_report_is_sum(style->group)           ? sum_from(column)
	                : style->group == WT_REPORT_GROUP_CONFIG ? column->config_from
	                                                         : column->kernel_from;
	bool is_part = is_named(column, "under") || is_named(column, "wave") ||
	               is_named(column, "wavemax") || is_named(column, "straggle") ||
	               is_named(column, "ramp");

	/* The greatest form is of little interest beside a measurement. */
	if (style->has_measured && is_named(column, "wavemax"))
		return 140;
	if (!from && style->has_measured)
		from = measured_from(column);
	if (from && is_part && style->by >= WT_REPORT_BY_GAP)
		return 120;
	return from;
}

/* Indices of the columns to show; their number, or -EINVAL after a message. */
static int choose_columns(const struct wt_top_style *style, const struct wt_text_terminal *terminal,
                          size_t chosen[WT_TOP_COLUMN_COUNT])
{
	unsigned width = terminal->width_columns ? terminal->width_columns : UINT_MAX;
	int count = 0;

	for (size_t i = 0; !style->columns && i < WT_TOP_COLUMN_COUNT; i++) {
		unsigned from = shown_from(&wt_top_columns[i], style);

		if ((from && width >= from) || is_ranked(&wt_top_columns[i], style->by))
			chosen[count++] = i;
	}
	for (const char *at = style->columns; at;) {
		size_t length = strcspn(at, ",");
		size_t i = 0;

		while (i < WT_TOP_COLUMN_COUNT && (strlen(wt_top_columns[i].name) != length ||
		                                   strncmp(wt_top_columns[i].name, at, length)))
			i++;
		if (i == WT_TOP_COLUMN_COUNT || count == (int)WT_TOP_COLUMN_COUNT) {
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
static const char *title_of(const struct wt_top_column *column, enum wt_report_group group)
{
	if (!is_named(column, "kernel"))
		return column->title;
	switch (group) {
	case WT_REPORT_GROUP_DEVICE:
		return "DEVICE";
	case WT_REPORT_GROUP_PROCESS:
		return "PROCESS";
	case WT_REPORT_GROUP_RANK:
		return "RANK";
	case WT_REPORT_GROUP_STEP:
		return "STEP";
	case WT_REPORT_GROUP_RANGE:
		return "RANGE";
	case WT_REPORT_GROUP_STREAM:
		return "STREAM";
	case WT_REPORT_GROUP_GRAPH:
		return "GRAPH";
	case WT_REPORT_GROUP_PHASE:
		return "PHASE";
	case WT_REPORT_GROUP_DURATION:
		return "DURATION";
	case WT_REPORT_GROUP_CLASS:
		return "CLASS";
	default:
		return column->title;
	}
}

static void add_row(struct wt_table *table, const size_t *chosen, int count,
                    const struct wt_report_row *row, const struct wt_top_view *view)
{
	wt_table_row(table, 0);
	for (int i = 0; i < count; i++)
		wt_top_columns[chosen[i]].add(table, row, view);
}

int wt_top_print_table(FILE *out, const struct wt_text_terminal *terminal,
                       const struct wt_report *report, const struct wt_top_style *style,
                       struct wt_top_view *view)
{
	struct wt_table_column shown[WT_TOP_COLUMN_COUNT];
	size_t chosen[WT_TOP_COLUMN_COUNT];
	size_t limit = style->limit > 0 ? (size_t)style->limit : SIZE_MAX;
	struct wt_report_row more = {.config_id = -1};
	struct wt_table *table;
	int count = choose_columns(style, terminal, chosen);
	int rc;

	if (count < 0)
		return count;
	for (int i = 0; i < count; i++)
		shown[i] = (struct wt_table_column){
		        .key = wt_top_columns[chosen[i]].name,
		        .title = title_of(&wt_top_columns[chosen[i]], style->group),
		        .align = wt_top_columns[chosen[i]].align,
		        .flags = wt_top_columns[chosen[i]].flags |
		                 drop_of(&wt_top_columns[chosen[i]], style),
		        .min_width = wt_top_columns[chosen[i]].flags ? KERNEL_COLUMNS_MIN : 0,
		};
	table = wt_table_create(shown, (size_t)count);
	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < report->row_count; i++) {
		view->number = i + 1;
		for (int k = 0; i < limit && k < count; k++)
			view->has_persistent = view->has_persistent ||
			                       (report->rows[i].is_persistent &&
			                        is_named(&wt_top_columns[chosen[k]], "waves"));
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
	size_t chosen[WT_TOP_COLUMN_COUNT];
	int count = choose_columns(style, &terminal, chosen);

	return count < 0 ? count : 0;
}

void wt_top_needs(const struct wt_top_style *style, enum wt_report_need *gaps,
                  enum wt_report_need *latency)
{
	const struct wt_text_terminal terminal = {0};
	size_t chosen[WT_TOP_COLUMN_COUNT];
	int count = choose_columns(style, &terminal, chosen);

	*gaps = WT_REPORT_IF_CHEAP; /* the ledger's line */
	*latency = WT_REPORT_NOT_NEEDED;
	for (int i = 0; i < count; i++) {
		const struct wt_top_column *column = &wt_top_columns[chosen[i]];

		if (is_named(column, "gap") || is_named(column, "gapall"))
			*gaps = WT_REPORT_NEEDED;
		if (is_named(column, "latency") || is_named(column, "call") ||
		    is_named(column, "queued"))
			*latency = WT_REPORT_NEEDED;
	}
	if (style->by == WT_REPORT_BY_GAP)
		*gaps = WT_REPORT_NEEDED;
	if (style->by == WT_REPORT_BY_LATENCY)
		*latency = WT_REPORT_NEEDED;
}
