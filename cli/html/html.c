/*
 * html.c - see html.h. Single-threaded; blocks as the FILE does.
 */
#include "cli/html/html.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define FORMATTED_BYTES 1001
#define BAR_UNITS 1000.0 /* of a bar's width */

/* ---- text */

static void put_escaped(FILE *out, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		case '\'':
			fputs("&#39;", out);
			break;
		default:
			fputc(*text, out);
		}
	}
}

/* Where to cut so that no character is: at most `bytes_max`. */
static size_t cut_at(const char *text, size_t bytes_max)
{
	size_t bytes = strlen(text), at = 0;

	if (!bytes_max || bytes <= bytes_max)
		return bytes;
	for (;;) {
		uint32_t code;
		size_t next = at + wt_text_decode(text + at, bytes - at, &code);

		if (next > bytes_max)
			return at;
		at = next;
	}
}

void wt_html_text(FILE *out, const char *text, size_t bytes_max)
{
	char *plain = wt_text_escape(text, true);
	size_t end;

	if (!plain) {
		fputc('?', out);
		return;
	}
	end = cut_at(plain, bytes_max);
	if (plain[end]) {
		plain[end] = '\0';
		put_escaped(out, plain);
		fputs("\u2026", out);
	} else {
		put_escaped(out, plain);
	}
	free(plain);
}

void wt_html_format(FILE *out, const char *format, ...)
{
	char text[FORMATTED_BYTES];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	wt_html_text(out, text, 0);
}

void wt_html_json(FILE *out, const char *json, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		unsigned char c = (unsigned char)json[i];

		/* Outside of strings JSON has none of these. */
		if (c == '<' || c == '>' || c == '&') {
			fprintf(out, "\\u%04x", c);
		} else if (c == 0xe2 && i + 2 < bytes && (unsigned char)json[i + 1] == 0x80 &&
		           ((unsigned char)json[i + 2] & 0xfe) == 0xa8) {
			fprintf(out, "\\u20%02x", (unsigned char)json[i + 2] - 0x80);
			i += 2;
		} else {
			fputc(c, out);
		}
	}
}

/* ---- tables */

static void put_head(FILE *out, const struct wt_html_column *column)
{
	fputs("<th scope=\"col\"", out);
	if (column->is_text)
		fputs(" class=\"t\"", out);
	if (column->key)
		fprintf(out, " data-k=\"%s\"", column->key);
	if (column->help) {
		fputs(" title=\"", out);
		wt_html_text(out, column->help, 0);
		fputc('"', out);
	}
	fputc('>', out);
	wt_html_text(out, column->title, 0);
	fputs("</th>", out);
}

void wt_html_table_begin(FILE *out, const char *id, const char *caption,
                         const struct wt_html_column *columns, size_t count, unsigned flags)
{
	fprintf(out,
	        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
	        "aria-labelledby=\"%s-caption\">\n"
	        "<table id=\"%s\"%s%s>\n<caption id=\"%s-caption\">",
	        id, id, flags & WT_HTML_SORTABLE ? " data-sort=\"1\"" : "",
	        flags & WT_HTML_SEARCHED ? " data-search=\"1\"" : "", id);
	wt_html_text(out, caption, 0);
	fputs("</caption>\n<thead><tr>", out);
	for (size_t i = 0; i < count; i++)
		put_head(out, &columns[i]);
	fputs("</tr></thead>\n<tbody>\n", out);
}

void wt_html_table_end(FILE *out)
{
	fputs("</tbody>\n</table>\n</div>\n", out);
}

void wt_html_row_begin(FILE *out, const char *key, int64_t id, const char *class)
{
	fputs("<tr", out);
	if (key)
		fprintf(out, " data-%s=\"%" PRId64 "\"", key, id);
	if (class)
		fprintf(out, " class=\"%s\"", class);
	fputc('>', out);
}

void wt_html_row_end(FILE *out)
{
	fputs("</tr>\n", out);
}

void wt_html_int(FILE *out, int64_t value, const char *shown)
{
	char text[WT_TEXT_NUMBER_BYTES];

	if (!value && shown && !strcmp(shown, "0ns"))
		shown = "0";
	fprintf(out, "<td data-v=\"%" PRId64 "\">", value);
	wt_html_text(out, shown ? shown : wt_text_count(text, value), 0);
	fputs("</td>", out);
}

void wt_html_double(FILE *out, double value, const char *shown, const char *reason)
{
	char text[40] = "";

	if (!isfinite(value)) {
		wt_html_unknown(out, reason);
		return;
	}
	for (int digits = 6; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	fprintf(out, "<td data-v=\"%s\">", text);
	wt_html_text(out, shown, 0);
	fputs("</td>", out);
}

void wt_html_unknown(FILE *out, const char *reason)
{
	fputs("<td class=\"nil\"", out);
	if (reason) {
		fputs(" title=\"", out);
		wt_html_text(out, reason, 400);
		fputc('"', out);
	}
	fputs(">\u2013</td>", out);
}

void wt_html_words(FILE *out, const char *text)
{
	if (!text) {
		wt_html_unknown(out, NULL);
		return;
	}
	fputs("<td class=\"t\">", out);
	wt_html_text(out, text, 0);
	fputs("</td>", out);
}

void wt_html_row_head(FILE *out, const char *text)
{
	fputs("<th scope=\"row\" class=\"t\">", out);
	wt_html_text(out, text, 0);
	fputs("</th>", out);
}

/* ---- lines */

int wt_html_lines_begin(struct wt_html_lines *lines)
{
	memset(lines, 0, sizeof(*lines));
	lines->stream = open_memstream(&lines->text, &lines->bytes);
	if (!lines->stream)
		return -ENOMEM;
	lines->terminal.is_utf8 = true;
	wt_phrase_init(&lines->line, lines->stream, &lines->terminal);
	return 0;
}

/* Phrases are two blanks apart: for people a mark stands between. */
static void put_line(FILE *out, char *line)
{
	char *phrase = line + strspn(line, " ");

	for (;;) {
		char *end = strstr(phrase, "  ");

		if (end)
			*end = '\0';
		wt_html_text(out, phrase, 0);
		if (!end)
			break;
		phrase = end + 1 + strspn(end + 1, " ");
		if (!*phrase)
			break;
		fputs(" <span class=\"dot\" aria-hidden=\"true\">\u00b7</span> ", out);
	}
}

void wt_html_lines_end(struct wt_html_lines *lines, FILE *out, const char *class)
{
	char *rest = NULL;

	/* Nothing of it is left out silently: the whole report fails. */
	if (fclose(lines->stream) || !lines->text) {
		free(lines->text);
		fputs("<p>out of memory</p>\n", out);
		return;
	}
	for (char *line = strtok_r(lines->text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		if (!line[strspn(line, " ")])
			continue;
		if (class)
			fprintf(out, "<p class=\"%s\">", class);
		else
			fputs("<p>", out);
		put_line(out, line);
		fputs("</p>\n", out);
	}
	free(lines->text);
}

/* ---- drawings */

void wt_html_bar(FILE *out, const char *title, const struct wt_html_part *parts, size_t count)
{
	double at = 0;
	char percent[WT_TEXT_NUMBER_BYTES];

	fputs("<svg class=\"bar\" viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" "
	      "role=\"img\">"
	      "<title>",
	      out);
	wt_html_text(out, title, 0);
	fputs("</title>", out);
	for (size_t i = 0; i < count; i++) {
		double width = parts[i].share * BAR_UNITS;

		if (!(width > 0.01))
			continue;
		fprintf(out, "<rect class=\"%s\" x=\"%.2f\" width=\"%.2f\" height=\"10\"><title>",
		        parts[i].class, at, width);
		wt_html_text(out, parts[i].name, 0);
		fprintf(out, " %s</title></rect>", wt_html_percent(percent, parts[i].share, 1));
		at += width;
	}
	fputs("</svg>\n", out);
}

void wt_html_swatch(FILE *out, const char *class)
{
	fprintf(out,
	        "<svg class=\"swatch\" viewBox=\"0 0 10 10\" aria-hidden=\"true\" "
	        "focusable=\"false\">"
	        "<rect class=\"%s\" width=\"10\" height=\"10\"></rect></svg>",
	        class);
}

const char *wt_html_waves(char text[WT_TEXT_NUMBER_BYTES], double waves)
{
	if (waves > 0 && waves < 0.01)
		snprintf(text, WT_TEXT_NUMBER_BYTES, "<0.01");
	else
		snprintf(text, WT_TEXT_NUMBER_BYTES, "%.2f", waves);
	return text;
}

const char *wt_html_percent(char text[WT_TEXT_NUMBER_BYTES], double part, double whole)
{
	char number[WT_TEXT_NUMBER_BYTES];

	wt_text_percent(number, part, whole);
	if (!strcmp(number, "."))
		snprintf(text, WT_TEXT_NUMBER_BYTES, "\u2013");
	else
		snprintf(text, WT_TEXT_NUMBER_BYTES, "%.*s %%", WT_TEXT_NUMBER_BYTES - 4, number);
	return text;
}
