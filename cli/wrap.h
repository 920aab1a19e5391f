/*
 * wrap.h - a text broken between words, its lines beginning in one column. Single-threaded.
 */
#ifndef WT_CLI_WRAP_H
#define WT_CLI_WRAP_H

#include <stdio.h>

#include "cli/text.h"

/*
 * Writes `text` and the end of the line. The cursor stands in `column`, where the lines after a
 * break begin too; where that leaves too little room, all of it is below, indented. Escaped
 * (wt_text_escape); blocks as the FILE does.
 */
void wt_wrap_print(FILE *out, const char *text, size_t column,
                   const struct wt_text_terminal *terminal);

/*
 * `left`, plain text, with `text` beside it from `column` on; below, if there is no room. With the end of
 * the line.
 */
void wt_wrap_beside(FILE *out, const char *left, const char *text, size_t column,
                    const struct wt_text_terminal *terminal);

/*
 * Writes `text`, which is escaped already, without an end of line: from `column` on, further lines
 * from `indent` on, none beyond `width` columns (0: no limit). A word that no line has room for is
 * broken as a terminal would, but for one with a "/": a path is left whole, to be copied.
 * Returns the column behind it.
 */
size_t wt_wrap_words(FILE *out, const char *text, size_t column, size_t indent, size_t width);

/* The same for one word after `gap` blanks, or on a new line. */
size_t wt_wrap_word(FILE *out, const char *word, size_t gap, size_t column, size_t indent,
                    size_t width);

#endif /* WT_CLI_WRAP_H */
