/*
 * phrase.h - a line of several phrases that breaks between them where the terminal ends.
 *
 * Phrases are joined by two blanks; after a break the line goes on indented by indent_columns (2 unless
 * set). A phrase that no line
 * has room for breaks between its words. Text is escaped (wt_text_escape). Single-threaded; blocks as
 * the FILE does.
 */
#ifndef WT_CLI_PHRASE_H
#define WT_CLI_PHRASE_H

#include <stdio.h>

#include "cli/text.h"

struct wt_phrase {
	FILE *out;
	struct wt_text_terminal terminal;
	size_t used_columns;
	unsigned indent_columns; /* where it goes on after a break */
};

void wt_phrase_init(struct wt_phrase *line, FILE *out, const struct wt_text_terminal *terminal);
void wt_phrase_add(struct wt_phrase *line, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
/* The same, after one blank: a list whose elements don't break, "host 75.3". */
void wt_phrase_item(struct wt_phrase *line, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
/*
 * Prose: breaks between words too, and goes on indented by indent_columns. Begins a line of its own
 * or follows what is there after two blanks.
 */
void wt_phrase_words(struct wt_phrase *line, unsigned indent_columns, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
/*
 * Something to be copied, as "next: wavetap top": never broken. What has no room in any line gets one that is
 * longer than the terminal, for itself.
 */
void wt_phrase_command(struct wt_phrase *line, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
void wt_phrase_end(struct wt_phrase *line);
/* A whole line of prose, which goes on indented by two columns. */
void wt_phrase_line(FILE *out, const struct wt_text_terminal *terminal, const char *format, ...)
        __attribute__((format(printf, 3, 4)));

#endif /* WT_CLI_PHRASE_H */
