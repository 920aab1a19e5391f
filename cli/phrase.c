/*
 * phrase.c - see phrase.h. Single-threaded; blocks as the FILE does.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/phrase.h"
#include "cli/wrap.h"

#define CONTINUED_COLUMNS 2

void wt_phrase_init(struct wt_phrase *line, FILE *out, const struct wt_text_terminal *terminal)
{
	line->out = out;
	line->terminal = *terminal;
	line->used_columns = 0;
	line->indent_columns = CONTINUED_COLUMNS;
}

/* Escaped, malloc'd; NULL when out of memory: the numbers matter more than a remark. */
static char *make_text(const struct wt_phrase *line, const char *format, va_list ap)
{
	char *text = NULL, *safe = NULL;

	if (vasprintf(&text, format, ap) < 0)
		text = NULL;
	if (text)
		safe = wt_text_escape(text, line->terminal.is_utf8);
	free(text);
	return safe;
}

/* Breaks between words. */
static void add_words(struct wt_phrase *line, char *words, unsigned indent_columns)
{
	size_t gap = 2, leading = strspn(words, " ");
	char *rest;

	if (line->used_columns == 0) {
		fprintf(line->out, "%*s", (int)leading, "");
		line->used_columns = leading;
		gap = 0;
	}
	for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		line->used_columns = wt_wrap_word(line->out, word, gap, line->used_columns,
		                                  indent_columns, line->terminal.width_columns);
		gap = 1;
	}
}

/* As it is: behind what there is, or in a line of its own. */
static void put_whole(struct wt_phrase *line, const char *safe, size_t width, size_t gap)
{
	size_t limit = line->terminal.width_columns;

	if (line->used_columns && limit && line->used_columns + gap + width > limit) {
		fprintf(line->out, "\n%*s", (int)line->indent_columns, "");
		line->used_columns = line->indent_columns;
	} else {
		fprintf(line->out, "%*s", (int)gap, "");
		line->used_columns += gap;
	}
	fputs(safe, line->out);
	line->used_columns += width;
}

/* A whole one, or its words if no line has room for it. */
static void add_whole(struct wt_phrase *line, char *safe, size_t gap)
{
	size_t limit = line->terminal.width_columns, width = wt_text_width(safe);

	if (!line->used_columns)
		gap = 0;
	if (limit && line->used_columns + gap + width > limit &&
	    line->indent_columns + width > limit) {
		add_words(line, safe, line->indent_columns);
		return;
	}
	put_whole(line, safe, width, gap);
}

static void add_behind(struct wt_phrase *line, size_t gap, const char *format, va_list ap)
{
	char *safe = make_text(line, format, ap);

	if (safe)
		add_whole(line, safe, gap);
	free(safe);
}

void wt_phrase_add(struct wt_phrase *line, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	add_behind(line, 2, format, ap);
	va_end(ap);
}

void wt_phrase_item(struct wt_phrase *line, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	add_behind(line, 1, format, ap);
	va_end(ap);
}

void wt_phrase_words(struct wt_phrase *line, unsigned indent_columns, const char *format, ...)
{
	char *safe;
	va_list ap;

	va_start(ap, format);
	safe = make_text(line, format, ap);
	va_end(ap);
	if (safe)
		add_words(line, safe, indent_columns);
	free(safe);
}

void wt_phrase_command(struct wt_phrase *line, const char *format, ...)
{
	char *safe;
	va_list ap;

	va_start(ap, format);
	safe = make_text(line, format, ap);
	va_end(ap);
	if (safe)
		put_whole(line, safe, wt_text_width(safe), line->used_columns ? 2 : 0);
	free(safe);
}

void wt_phrase_end(struct wt_phrase *line)
{
	fputc('\n', line->out);
	line->used_columns = 0;
}

void wt_phrase_line(FILE *out, const struct wt_text_terminal *terminal, const char *format, ...)
{
	struct wt_phrase line;
	char *safe;
	va_list ap;

	wt_phrase_init(&line, out, terminal);
	va_start(ap, format);
	safe = make_text(&line, format, ap);
	va_end(ap);
	if (safe)
		add_words(&line, safe, CONTINUED_COLUMNS);
	free(safe);
	wt_phrase_end(&line);
}
