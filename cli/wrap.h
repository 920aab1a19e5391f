/*
 * wrap.h - a text broken between words, all its lines beginning in the same column.
 */
#ifndef WT_CLI_WRAP_H
#define WT_CLI_WRAP_H

#include <stdio.h>

#include "cli/text.h"

/*
 * Writes `text` and the end of the line. The cursor stands in `column`, where the lines after a
 * break begin too. Escaped (wt_text_escape); blocks as the FILE does.
 */
void wt_wrap_print(FILE *out, const char *text, size_t column,
                   const struct wt_text_terminal *terminal);

#endif /* WT_CLI_WRAP_H */
