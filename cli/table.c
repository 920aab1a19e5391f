/*
 * table.c - see table.h. Cells lie in one array, row after row, so that a table
 * of many rows costs one allocation per growth and one per text.
 *
 * Threads: one per table. Printing blocks as the FILE does.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/table_impl.h"

static void fail(struct wt_table *table, int error)
{
	if (!table->error)
		table->error = error;
}

struct wt_table *wt_table_create(const struct wt_table_column *columns, size_t column_count)
{
	struct wt_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->columns = columns;
	table->column_count = column_count;
	return table;
}

void wt_table_destroy(struct wt_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->row_count * table->column_count; i++) {
		free(table->cells[i].text);
		if (table->cells[i].kind == WT_CELL_STRING)
			free(table->cells[i].value.s);
	}
	free(table->cells);
	free(table->row_flags);
	free(table);
}

static bool grow(struct wt_table *table)
{
	size_t capacity = table->row_capacity ? table->row_capacity * 2 : 16;
	struct wt_cell *cells =
	        reallocarray(table->cells, capacity * table->column_count, sizeof(*cells));
	unsigned *flags;

	if (cells)
		table->cells = cells;
	flags = reallocarray(table->row_flags, capacity, sizeof(*flags));
	if (flags)
		table->row_flags = flags;
	if (!cells || !flags) {
		fail(table, -ENOMEM);
		return false;
	}
	table->row_capacity = capacity;
	return true;
}

void wt_table_row(struct wt_table *table, unsigned row_flags)
{
	if (table->error || (table->row_count == table->row_capacity && !grow(table)))
		return;
	memset(&table->cells[table->row_count * table->column_count], 0,
	       table->column_count * sizeof(*table->cells));
	table->row_flags[table->row_count++] = row_flags;
	table->filled = 0;
}

/* The next cell of the last row, null so far; NULL after an error. */
static struct wt_cell *next_cell(struct wt_table *table, const char *text)
{
	struct wt_cell *cell;

	if (!table->row_count || table->filled == table->column_count)
		fail(table, -EOVERFLOW);
	if (table->error)
		return NULL;
	cell = &table->cells[(table->row_count - 1) * table->column_count + table->filled++];
	if (text && !(cell->text = strdup(text)))
		fail(table, -ENOMEM);
	return table->error ? NULL : cell;
}

void wt_table_add_null(struct wt_table *table)
{
	next_cell(table, NULL);
}

void wt_table_add_int(struct wt_table *table, int64_t value, const char *text)
{
	struct wt_cell *cell = next_cell(table, text);

	if (cell) {
		cell->kind = WT_CELL_INT;
		cell->value.i = value;
	}
}

void wt_table_add_double(struct wt_table *table, double value, int digits, const char *text)
{
	struct wt_cell *cell = next_cell(table, text);

	if (cell && isfinite(value)) {
		cell->kind = WT_CELL_DOUBLE;
		cell->digits = digits < 0 ? 0 : digits > 17 ? 17 : digits;
		cell->value.d = value;
	}
}

void wt_table_add_string(struct wt_table *table, const char *value, const char *text)
{
	struct wt_cell *cell = next_cell(table, text);
	char *copy;

	if (!cell || !value)
		return;
	copy = strdup(value);
	if (!copy) {
		fail(table, -ENOMEM);
		return;
	}
	cell->kind = WT_CELL_STRING;
	cell->value.s = copy;
}

size_t wt_table_row_count(const struct wt_table *table)
{
	return table->row_count;
}

char *wt_cell_value_text(const struct wt_cell *cell, const char *null_text)
{
	char *text = NULL;
	int n = 0;

	switch (cell->kind) {
	case WT_CELL_INT:
		n = asprintf(&text, "%" PRId64, cell->value.i);
		break;
	case WT_CELL_DOUBLE:
		n = asprintf(&text, "%.*f", cell->digits, cell->value.d);
		break;
	case WT_CELL_STRING:
		text = strdup(cell->value.s);
		break;
	default:
		text = strdup(null_text);
	}
	return n < 0 ? NULL : text;
}

int wt_table_flush(FILE *out)
{
	errno = 0;
	if (fflush(out) != 0 || ferror(out))
		return errno ? -errno : -EIO;
	return 0;
}

/* ---- for programs */

static void put_csv_field(const char *text, FILE *out)
{
	if (!strpbrk(text, ",\"\r\n")) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

static int put_csv_cell(const struct wt_cell *cell, FILE *out)
{
	char *text = wt_cell_value_text(cell, "");

	if (!text)
		return -ENOMEM;
	put_csv_field(text, out);
	free(text);
	return 0;
}

int wt_table_print_csv(struct wt_table *table, FILE *out)
{
	int error = table->error;
	bool is_first = true;

	for (size_t c = 0; c < table->column_count && !error; c++) {
		if (table->columns[c].flags & WT_TABLE_TEXT_ONLY)
			continue;
		fputs(is_first ? "" : ",", out);
		put_csv_field(table->columns[c].key, out);
		is_first = false;
	}
	for (size_t row = 0; row < table->row_count && !error; row++) {
		if (table->row_flags[row] & WT_TABLE_ROW_TEXT_ONLY)
			continue;
		fputc('\n', out);
		is_first = true;
		for (size_t c = 0; c < table->column_count && !error; c++) {
			if (table->columns[c].flags & WT_TABLE_TEXT_ONLY)
				continue;
			fputs(is_first ? "" : ",", out);
			error = put_csv_cell(&table->cells[row * table->column_count + c], out);
			is_first = false;
		}
	}
	if (!error)
		fputc('\n', out);
	return error ? error : wt_table_flush(out);
}

static void put_json_cell(const struct wt_cell *cell, struct wt_json *json)
{
	switch (cell->kind) {
	case WT_CELL_INT:
		wt_json_int(json, cell->value.i);
		break;
	case WT_CELL_DOUBLE:
		wt_json_fixed(json, cell->value.d, cell->digits);
		break;
	case WT_CELL_STRING:
		wt_json_string(json, cell->value.s);
		break;
	default:
		wt_json_null(json);
	}
}

int wt_table_print_json(struct wt_table *table, struct wt_json *json)
{
	if (table->error)
		return table->error;
	wt_json_array_begin(json);
	for (size_t row = 0; row < table->row_count; row++) {
		if (table->row_flags[row] & WT_TABLE_ROW_TEXT_ONLY)
			continue;
		wt_json_object_begin(json);
		for (size_t c = 0; c < table->column_count; c++) {
			if (table->columns[c].flags & WT_TABLE_TEXT_ONLY)
				continue;
			wt_json_key(json, table->columns[c].key);
			put_json_cell(&table->cells[row * table->column_count + c], json);
		}
		wt_json_object_end(json);
	}
	wt_json_array_end(json);
	return json->error;
}
