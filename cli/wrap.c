/*
 * wrap.c - see wrap.h.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/wrap.h"

#define LEAST_WIDTH 30 /* of the text, in the narrowest terminal */

void wt_wrap_print(FILE *out, const char *text, size_t column,
                   const struct wt_text_terminal *terminal)
{
	size_t width = terminal->width_columns, at = column;
	char *safe = wt_text_escape(text, terminal->is_utf8);
	char *save = NULL;

	if (width && width < column + LEAST_WIDTH)
		width = column + LEAST_WIDTH;
	for (char *word = safe ? strtok_r(safe, " ", &save) : NULL; word;
	     word = strtok_r(NULL, " ", &save)) {
		size_t columns = wt_text_width(word);

		if (at > column && width && at + 1 + columns > width) {
			fprintf(out, "\n%*s", (int)column, "");
			at = column;
		} else if (at > column) {
			fputc(' ', out);
			at++;
		}
		fputs(word, out);
		at += columns;
	}
	fputc('\n', out);
	free(safe);
}
