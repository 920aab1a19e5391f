/*
 * html.h - what the parts of an HTML report are written with: text made harmless, cells of tables that
 * carry the figure itself beside its text, bars of SVG.
 *
 * Names come from the recorded program and may hold anything: whatever is not text of ours goes
 * through wt_html_text(). Write errors stay in the FILE (ferror). Single-threaded; blocks as the FILE
 * does.
 */
#ifndef WT_CLI_HTML_HTML_H
#define WT_CLI_HTML_HTML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/phrase.h"

/*
 * For text and for attribute values in quotes, as at most `bytes_max` of it (0: all) and an ellipsis.
 * Control characters, direction marks and bytes that are no UTF-8 become visible (wt_text_escape).
 */
void wt_html_text(FILE *out, const char *text, size_t bytes_max);

/* The same of what is formatted; at most 1,000 bytes. */
void wt_html_format(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* JSON as the content of a script element: nothing in it ends the element or a line of JavaScript. */
void wt_html_json(FILE *out, const char *json, size_t bytes);

/* ---- tables */

struct wt_html_column {
	const char *
	        key; /* of its figures, as in --json: what scripts and tests know it by; NULL: none */
	const char *title;
	const char *help; /* a tooltip, or NULL */
	bool is_text; /* to the left; else a figure */
};

#define WT_HTML_SORTABLE 0x1u
#define WT_HTML_SEARCHED 0x2u

/* Opens a table with caption and head in a frame that scrolls; the caption is escaped. */
void wt_html_table_begin(FILE *out, const char *id, const char *caption,
                         const struct wt_html_column *columns, size_t count, unsigned flags);
void wt_html_table_end(FILE *out);

/* `key` and `id`: what the row is of, as data-KEY="id"; key NULL: nothing. `class` may be NULL. */
void wt_html_row_begin(FILE *out, const char *key, int64_t id, const char *class);
void wt_html_row_end(FILE *out);

/* Cells: the figure in data-v, `shown` for people. */
void wt_html_int(FILE *out, int64_t value, const char *shown);
/* Not finite: as wt_html_unknown(). */
void wt_html_double(FILE *out, double value, const char *shown, const char *reason);
/* Not known, and why; the reason may be NULL. */
void wt_html_unknown(FILE *out, const char *reason);
/* NULL: as wt_html_unknown() without a reason. */
void wt_html_words(FILE *out, const char *text);
/* The head of a row. */
void wt_html_row_head(FILE *out, const char *text);

/* ---- lines that the commands write for a terminal, as paragraphs */

struct wt_html_lines {
	FILE *stream; /* what writes for a terminal writes here */
	char *text;
	size_t bytes;
	struct wt_text_terminal terminal; /* endless lines, UTF-8 */
	struct wt_phrase line; /* into the stream */
};

/* 0 or -ENOMEM; then `stream` is NULL and the next may not be called. */
int wt_html_lines_begin(struct wt_html_lines *lines);
/* A paragraph for each line that has something, and frees all. `class` may be NULL. */
void wt_html_lines_end(struct wt_html_lines *lines, FILE *out, const char *class);

/* ---- drawings */

/* A part of a stacked bar; `class` gives its colour. */
struct wt_html_part {
	const char *class, *name;
	double share; /* of the whole bar */
};

/* A whole bar as a drawing of its own, with `title` for those who don't see it. */
void wt_html_bar(FILE *out, const char *title, const struct wt_html_part *parts, size_t count);

/* A sample of the colour beside the name of a line. */
void wt_html_swatch(FILE *out, const char *class);

/* "12.3 %", or "–" where the whole is not above 0. */
const char *wt_html_percent(char text[WT_TEXT_NUMBER_BYTES], double part, double whole);

/* "7.76", "<0.01". */
const char *wt_html_waves(char text[WT_TEXT_NUMBER_BYTES], double waves);

#endif /* WT_CLI_HTML_HTML_H */
