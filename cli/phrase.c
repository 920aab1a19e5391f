/*
 * phrase.c - see phrase.h. Single-threaded; blocks as the FILE does.
 */
#include <stdarg.h>
#include <stdlib.h>

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

void wt_phrase_end(struct wt_phrase *line)
{
	fputc('\n', line->out);
	line->used_columns = 0;
}
