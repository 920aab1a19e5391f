/*
 * table_text.c - tables for people: aligned text that fits the terminal. See table.h.
 *
 * Threads: one per table. Printing blocks as the FILE does.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/table_impl.h"
#include "cli/wrap.h"

#define BELOW_INDENT 4

/* What people see, escaped: row_count * column_count texts, and of each column its width. */
struct sheet {
	char **texts;
	size_t *widths;
	bool *is_shown;
	size_t flexible, last_column; /* column_count: none */
	bool is_cut; /* columns were left out for want of room */
};

static char *shown_text(const struct wt_cell *cell, bool is_utf8)
{
	char *raw = cell->text ? strdup(cell->text) : wt_cell_value_text(cell, ".");
	char *safe = raw ? wt_text_escape(raw, is_utf8) : NULL;

	free(raw);
	return safe;
}

static void sheet_fini(struct sheet *sheet, size_t text_count)
{
	for (size_t i = 0; sheet->texts && i < text_count; i++)
		free(sheet->texts[i]);
	free(sheet->texts);
	free(sheet->widths);
	free(sheet->is_shown);
}

/* Room for the headings; which columns are shown at all. */
static void sheet_columns(struct sheet *sheet, const struct wt_table *table)
{
	sheet->flexible = table->column_count;
	for (size_t c = 0; c < table->column_count; c++) {
		const struct wt_table_column *column = &table->columns[c];
		size_t title = wt_text_width(column->title);

		sheet->widths[c] = title > column->min_width ? title : column->min_width;
		sheet->is_shown[c] = !(column->flags & WT_TABLE_NO_TEXT);
		if (sheet->is_shown[c] && (column->flags & WT_TABLE_FLEXIBLE) &&
		    sheet->flexible == table->column_count)
			sheet->flexible = c;
	}
}

static int sheet_init(struct sheet *sheet, const struct wt_table *table, bool is_utf8)
{
	size_t count = table->row_count * table->column_count;
	size_t columns = table->column_count ? table->column_count : 1;

	sheet->texts = calloc(count ? count : 1, sizeof(*sheet->texts));
	sheet->widths = calloc(columns, sizeof(*sheet->widths));
	sheet->is_shown = calloc(columns, sizeof(*sheet->is_shown));
	if (!sheet->texts || !sheet->widths || !sheet->is_shown)
		return -ENOMEM;
	sheet_columns(sheet, table);
	for (size_t i = 0; i < count; i++) {
		size_t c = i % table->column_count, width;

		sheet->texts[i] = shown_text(&table->cells[i], is_utf8);
		if (!sheet->texts[i])
			return -ENOMEM;
		if (table->row_flags[i / table->column_count] & WT_TABLE_ROW_NO_TEXT)
			continue;
		width = wt_text_width(sheet->texts[i]);
		if (table->columns[c].max_width && width > table->columns[c].max_width)
			width = table->columns[c].max_width;
		if (width > sheet->widths[c])
			sheet->widths[c] = width;
	}
	return 0;
}

/* The least width of the flexible column. */
static size_t least_width(const struct sheet *sheet, const struct wt_table *table)
{
	const struct wt_table_column *column = &table->columns[sheet->flexible];
	size_t title = wt_text_width(column->title);
	size_t least = title > column->min_width ? title : column->min_width;

	return least < sheet->widths[sheet->flexible] ? least : sheet->widths[sheet->flexible];
}

/* Columns of a line whose flexible column has `flexible_width`. */
static size_t line_width(const struct sheet *sheet, const struct wt_table *table,
                         size_t flexible_width)
{
	size_t total = 0;

	for (size_t c = 0; c < table->column_count; c++)
		if (sheet->is_shown[c])
			total += (c == sheet->flexible ? flexible_width : sheet->widths[c]) +
			         (total ? 2 : 0);
	return total;
}

/* Left out of its row, it is under it. */
static bool is_below(const struct wt_table_column *column)
{
	return (column->flags & WT_TABLE_WRAPS) && !(column->flags & WT_TABLE_NO_TEXT);
}

static unsigned drop_rank(const struct wt_table_column *column)
{
	return column->flags >> 8 & 0xff;
}

/* Leaves out the column that is to go first; false: there is none. */
static bool drop_column(struct sheet *sheet, const struct wt_table *table)
{
	size_t found = table->column_count;

	for (size_t c = 0; c < table->column_count; c++)
		if (sheet->is_shown[c] && drop_rank(&table->columns[c]) &&
		    (found == table->column_count ||
		     drop_rank(&table->columns[c]) < drop_rank(&table->columns[found])))
			found = c;
	if (found == table->column_count)
		return false;
	sheet->is_shown[found] = false;
	sheet->is_cut |= !is_below(&table->columns[found]);
	if (found == sheet->flexible)
		sheet->flexible = table->column_count;
	return true;
}

/* Makes lines of at most `limit` columns, as far as that goes; 0: no limit. */
static void fit_lines(struct sheet *sheet, const struct wt_table *table, size_t limit)
{
	size_t least = 0, total;

	do
		if (sheet->flexible < table->column_count)
			least = least_width(sheet, table);
	while (limit && line_width(sheet, table, least) > limit && drop_column(sheet, table));
	for (size_t c = 0; c < table->column_count; c++)
		if (sheet->is_shown[c])
			sheet->last_column = c;
	if (!limit || sheet->flexible == table->column_count)
		return;
	total = line_width(sheet, table, sheet->widths[sheet->flexible]);
	if (total > limit) {
		size_t excess = total - limit, spare = sheet->widths[sheet->flexible] - least;

		sheet->widths[sheet->flexible] -= excess < spare ? excess : spare;
	}
}

static int print_cell(const struct sheet *sheet, const struct wt_table *table, size_t c,
                      const char *text, FILE *out, bool is_utf8)
{
	char *fitted = wt_text_fit(text, sheet->widths[c], is_utf8);
	bool is_left = table->columns[c].align == WT_TABLE_LEFT;
	int padding;

	if (!fitted)
		return -ENOMEM;
	padding = (int)(sheet->widths[c] - wt_text_width(fitted));
	fprintf(out, "%*s%s", is_left ? 0 : padding, "", fitted);
	if (c != sheet->last_column)
		fprintf(out, "%*s  ", is_left ? padding : 0, "");
	free(fitted);
	return 0;
}

/* A text that is longer than its column goes on in further lines: the cursor is where it begins. */
static void print_wrapped(const struct sheet *sheet, const struct wt_table *table, size_t c,
                          const char *text, FILE *out)
{
	size_t width = sheet->widths[c];
	size_t column = line_width(sheet, table, width) - width;

	wt_wrap_words(out, text, column, column, column + width);
}

/* A text that its row has no room for. */
static void print_below(const struct sheet *sheet, const struct wt_table *table, size_t row,
                        FILE *out, const struct wt_text_terminal *terminal)
{
	for (size_t c = 0; c < table->column_count; c++) {
		const char *text = sheet->texts[row * table->column_count + c];

		if (sheet->is_shown[c] || !is_below(&table->columns[c]) || !*text)
			continue;
		fprintf(out, "%*s", BELOW_INDENT, "");
		wt_wrap_words(out, text, BELOW_INDENT, BELOW_INDENT, terminal->width_columns);
		fputc('\n', out);
	}
}

/* Row `row`, or the headings for SIZE_MAX. */
static int print_line(const struct sheet *sheet, const struct wt_table *table, size_t row,
                      FILE *out, const struct wt_text_terminal *terminal)
{
	bool is_heading = row == SIZE_MAX;
	const char *bold = is_heading && terminal->has_colour ? "\033[1m" : "";
	char *line = NULL;
	size_t bytes = 0;
	FILE *buffer = open_memstream(&line, &bytes);
	int error = buffer ? 0 : -ENOMEM;

	for (size_t c = 0; c < table->column_count && !error; c++) {
		const char *text = is_heading ? table->columns[c].title
		                              : sheet->texts[row * table->column_count + c];

		if (!sheet->is_shown[c])
			continue;
		if (c == sheet->flexible && c == sheet->last_column && !is_heading &&
		    (table->columns[c].flags & WT_TABLE_WRAPS))
			print_wrapped(sheet, table, c, text, buffer);
		else
			error = print_cell(sheet, table, c, text, buffer, terminal->is_utf8);
	}
	if (buffer && fclose(buffer) != 0)
		error = -ENOMEM;
	while (!error && bytes && line[bytes - 1] == ' ')
		bytes--;
	if (!error)
		fprintf(out, "%s%.*s%s\n", bold, (int)bytes, line, *bold ? "\033[0m" : "");
	free(line);
	if (!error && !is_heading)
		print_below(sheet, table, row, out, terminal);
	return error;
}

/* What can't be seen is named. */
static int print_left_out(const struct sheet *sheet, const struct wt_table *table, FILE *out,
                          const struct wt_text_terminal *terminal)
{
	char *text = NULL;
	size_t bytes = 0, count = 0;
	FILE *buffer = open_memstream(&text, &bytes);
	int error = buffer ? 0 : -ENOMEM;

	if (buffer)
		fputs("(too narrow for", buffer);
	for (size_t c = 0; c < table->column_count && buffer; c++) {
		const struct wt_table_column *column = &table->columns[c];

		if (!sheet->is_shown[c] && !(column->flags & WT_TABLE_NO_TEXT) && !is_below(column))
			fprintf(buffer, "%s %s", count++ ? "," : "",
			        column->title[0] ? column->title : column->key);
	}
	if (buffer) {
		fputc(')', buffer);
		if (fclose(buffer) != 0)
			error = -ENOMEM;
	}
	if (!error) {
		wt_wrap_words(out, text, 0, 2, terminal->width_columns);
		fputc('\n', out);
	}
	free(text);
	return error;
}

int wt_table_print_text(struct wt_table *table, FILE *out, const struct wt_text_terminal *terminal)
{
	struct sheet sheet = {0};
	int error = table->error;

	if (!error)
		error = sheet_init(&sheet, table, terminal->is_utf8);
	if (!error) {
		fit_lines(&sheet, table, terminal->width_columns);
		error = print_line(&sheet, table, SIZE_MAX, out, terminal);
	}
	for (size_t row = 0; row < table->row_count && !error; row++)
		if (!(table->row_flags[row] & WT_TABLE_ROW_NO_TEXT))
			error = print_line(&sheet, table, row, out, terminal);
	if (!error && sheet.is_cut)
		error = print_left_out(&sheet, table, out, terminal);
	sheet_fini(&sheet, table->row_count * table->column_count);
	return error ? error : wt_table_flush(out);
}
