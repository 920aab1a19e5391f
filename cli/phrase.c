/*
 * phrase.c - see phrase.h. Single-threaded; blocks as the FILE does.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/phrase.h"

void wt_phrase_init(struct wt_phrase *line, FILE *out, const struct wt_text_terminal *terminal)
{
	line->out = out;
	line->terminal = *terminal;
	line->used_columns = 0;
}

void wt_phrase_add(struct wt_phrase *line, const char *format, ...)
{
	size_t limit = line->terminal.width_columns;
	char *text = NULL;
	char *safe = NULL;
	size_t width;
	va_list ap;

	va_start(ap, format);
	if (vasprintf(&text, format, ap) < 0)
		text = NULL;
	va_end(ap);
	if (text)
		safe = wt_text_escape(text, line->terminal.is_utf8);
	free(text);
	if (!safe) /* out of memory: the numbers matter more than this remark */
		return;
	width = wt_text_width(safe);
	if (line->used_columns && limit && line->used_columns + 2 + width > limit) {
		fputs("\n  ", line->out);
		line->used_columns = 2;
	} else if (line->used_columns) {
		fputs("  ", line->out);
		line->used_columns += 2;
	}
	fputs(safe, line->out);
	line->used_columns += width;
	free(safe);
}

/* One word, after `gap` blanks or on a new line. */
static void put_word(struct wt_phrase *line, const char *word, size_t gap, unsigned indent_columns)
{
	size_t limit = line->terminal.width_columns, width = wt_text_width(word);

	if (line->used_columns > indent_columns && limit &&
	    line->used_columns + gap + width > limit) {
		fprintf(line->out, "\n%*s", (int)indent_columns, "");
		line->used_columns = indent_columns;
	} else if (line->used_columns > 0) {
		fprintf(line->out, "%*s", (int)gap, "");
		line->used_columns += gap;
	}
	fputs(word, line->out);
	line->used_columns += width;
}

void wt_phrase_words(struct wt_phrase *line, unsigned indent_columns, const char *format, ...)
{
	char *text = NULL, *safe = NULL, *rest, *word;
	size_t gap = 2, leading;
	va_list ap;

	va_start(ap, format);
	if (vasprintf(&text, format, ap) < 0)
		text = NULL;
	va_end(ap);
	if (text)
		safe = wt_text_escape(text, line->terminal.is_utf8);
	free(text);
	if (!safe)
		return;
	leading = strspn(safe, " ");
	if (line->used_columns == 0) {
		fprintf(line->out, "%*s", (int)leading, "");
		line->used_columns = leading;
		gap = 0;
	}
	for (word = strtok_r(safe, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		put_word(line, word, gap, indent_columns);
		gap = 1;
	}
	free(safe);
}

void wt_phrase_end(struct wt_phrase *line)
{
	fputc('\n', line->out);
	line->used_columns = 0;
}
