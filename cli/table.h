/*
 * table.h - rows and columns for people (aligned text) and programs (CSV, JSON).
 *
 * A cell holds a value and, where people should read it differently, a text.
 * Programs get the value: raw numbers, units in the column's key. People get the
 * text. Unknown is null for programs and "." for people, never 0.
 *
 * Adding cells keeps the first error (out of memory, too many cells); the print
 * functions return it. So rows are added without checks.
 *
 * Threads: one per table. Printing blocks as the FILE does.
 */
#ifndef WT_CLI_TABLE_H
#define WT_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/json.h"
#include "cli/text.h"

enum wt_table_align { WT_TABLE_RIGHT, WT_TABLE_LEFT };

enum wt_table_column_flags {
	WT_TABLE_FLEXIBLE = 1 << 0, /* takes the rest of the line; the first one so marked */
	WT_TABLE_NO_TEXT = 1 << 1, /* for programs only */
	WT_TABLE_TEXT_ONLY = 1 << 2, /* for people only */
	/* Flexible, and the last: breaks between words, nothing is cut; left out, it is under its row. */
	WT_TABLE_WRAPS = 1 << 3,
};

/* One of the flags: left out of lines too long for the terminal, least rank (1 to 255) first. */
#define WT_TABLE_DROP(rank) ((unsigned)(rank) << 8)

struct wt_table_column {
	const char *key; /* name in CSV and JSON, with its unit: "time_ns" */
	const char *title; /* heading in text; "": the key stands for it where it is left out */
	enum wt_table_align align;
	unsigned flags;
	unsigned min_width, max_width; /* in columns of text; max_width 0: no limit */
};

enum wt_table_row_flags {
	WT_TABLE_ROW_TEXT_ONLY = 1 << 0, /* a sum or remark that programs can make themselves */
	WT_TABLE_ROW_NO_TEXT = 1 << 1, /* says nothing to people, such as one of noughts */
};

struct wt_table;

/* `columns` (and its texts) must outlive the table. NULL when out of memory. */
struct wt_table *wt_table_create(const struct wt_table_column *columns, size_t column_count);
void wt_table_destroy(struct wt_table *table); /* NULL is fine */

/* Begins a row; cells follow from left to right, missing ones are null. */
void wt_table_row(struct wt_table *table, unsigned row_flags);

/*
 * One cell each. `text` is what people see, copied; NULL: the value as it is.
 * `digits` (0 to 17) counts digits after the point; a number that isn't finite
 * is null, and so is a NULL `value` of a string.
 */
void wt_table_add_null(struct wt_table *table);
void wt_table_add_int(struct wt_table *table, int64_t value, const char *text);
void wt_table_add_double(struct wt_table *table, double value, int digits, const char *text);
void wt_table_add_string(struct wt_table *table, const char *value, const char *text);

/* Rows so far, those for people only included. */
size_t wt_table_row_count(const struct wt_table *table);

/*
 * Aligned text within terminal->width_columns: the flexible column shrinks, with
 * an ellipsis in the middle of what is too long, but not below its min_width or
 * heading. If that isn't enough, columns marked WT_TABLE_DROP are left out, and a
 * line under the table names them; without such, lines are longer than the
 * terminal. All text is escaped (wt_text_escape). Nothing ends in a blank. 0 or a
 * negative errno.
 */
int wt_table_print_text(struct wt_table *table, FILE *out, const struct wt_text_terminal *terminal);

/*
 * Fields quoted as RFC 4180 says, under a heading of keys; null is an empty field. Lines end in LF
 * alone, so that awk and cut see no CR. 0 or a negative errno.
 */
int wt_table_print_csv(struct wt_table *table, FILE *out);

/* An array of one object per row, as one value of `json`. 0 or a negative errno. */
int wt_table_print_json(struct wt_table *table, struct wt_json *json);

#endif /* WT_CLI_TABLE_H */
