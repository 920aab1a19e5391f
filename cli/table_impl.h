/*
 * table_impl.h - what table.c (rows, CSV, JSON) and table_text.c (aligned text) share.
 */
#ifndef WT_CLI_TABLE_IMPL_H
#define WT_CLI_TABLE_IMPL_H

#include "cli/table.h"

enum wt_cell_kind { WT_CELL_NULL, WT_CELL_INT, WT_CELL_DOUBLE, WT_CELL_STRING };

struct wt_cell {
	enum wt_cell_kind kind;
	int digits;
	union {
		int64_t i;
		double d;
		char *s;
	} value;
	char *text; /* NULL: made from the value */
};

struct wt_table {
	const struct wt_table_column *columns;
	size_t column_count;
	struct wt_cell *cells; /* row_count * column_count */
	unsigned *row_flags;
	size_t row_count, row_capacity;
	size_t filled; /* cells of the last row */
	int error;
};

/* The value as plain text: malloc'd, NULL when out of memory. Null is `null_text`. */
char *wt_cell_value_text(const struct wt_cell *cell, const char *null_text);

/* What came of writing: 0 or -errno. */
int wt_table_flush(FILE *out);

#endif /* WT_CLI_TABLE_IMPL_H */
