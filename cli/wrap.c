/*
 * wrap.c - see wrap.h. Single-threaded; blocks as the FILE does.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/wrap.h"

#define LEAST_WIDTH 30 /* less is no room for a text: it gets lines of its own */
#define INDENT_WITHOUT_ROOM 4

static size_t new_line(FILE *out, size_t indent)
{
	fprintf(out, "\n%*s", (int)indent, "");
	return indent;
}

/* A word too long for any line, from `column` on. */
static size_t put_pieces(FILE *out, const char *word, size_t column, size_t indent, size_t width)
{
	size_t bytes = strlen(word);

	while (bytes) {
		uint32_t code;
		size_t length = wt_text_decode(word, bytes, &code), columns;
		char character[8];

		memcpy(character, word, length);
		character[length] = '\0';
		columns = wt_text_width(character);
		if (column + columns > width && column > indent)
			column = new_line(out, indent);
		fputs(character, out);
		column += columns;
		word += length;
		bytes -= length;
	}
	return column;
}

size_t wt_wrap_word(FILE *out, const char *word, size_t gap, size_t column, size_t indent,
                    size_t width)
{
	size_t columns = wt_text_width(word);
	bool is_too_long = width && indent + columns > width && !strchr(word, '/');

	if (width && column > indent && column + gap + columns > width &&
	    !(is_too_long && column + gap + 2 < width)) {
		column = new_line(out, indent);
	} else {
		fprintf(out, "%*s", (int)gap, "");
		column += gap;
	}
	if (is_too_long)
		return put_pieces(out, word, column, indent, width);
	fputs(word, out);
	return column + columns;
}

size_t wt_wrap_words(FILE *out, const char *text, size_t column, size_t indent, size_t width)
{
	char *words, *save = NULL;
	size_t gap = 0;

	if (!width) { /* as it is */
		fputs(text, out);
		return column + wt_text_width(text);
	}
	words = strdup(text);
	for (char *word = words ? strtok_r(words, " ", &save) : NULL; word;
	     word = strtok_r(NULL, " ", &save)) {
		column = wt_wrap_word(out, word, gap, column, indent, width);
		gap = 1;
	}
	free(words);
	return column;
}

static bool has_room(size_t column, const struct wt_text_terminal *terminal)
{
	return !terminal->width_columns || column + LEAST_WIDTH <= terminal->width_columns;
}

void wt_wrap_print(FILE *out, const char *text, size_t column,
                   const struct wt_text_terminal *terminal)
{
	char *safe = wt_text_escape(text, terminal->is_utf8);

	if (column && !has_room(column, terminal))
		column = new_line(out, INDENT_WITHOUT_ROOM);
	if (safe)
		wt_wrap_words(out, safe, column, column, terminal->width_columns);
	fputc('\n', out);
	free(safe);
}

void wt_wrap_beside(FILE *out, const char *left, const char *text, size_t column,
                    const struct wt_text_terminal *terminal)
{
	char *safe = wt_text_escape(text, terminal->is_utf8);
	size_t used = wt_text_width(left), at = used + 2 > column ? used + 2 : column;

	fputs(left, out);
	if (has_room(at, terminal))
		fprintf(out, "%*s", (int)(at - used), "");
	else
		at = column =
		        new_line(out, has_room(column, terminal) ? column : INDENT_WITHOUT_ROOM);
	if (safe)
		wt_wrap_words(out, safe, at, column, terminal->width_columns);
	fputc('\n', out);
	free(safe);
}
