/*
 * text_lines.h - what a printing function writes to a FILE, as lines in memory.
 *
 *	FILE *out = wt_lines_begin(&lines);
 *
 *	if (out)
 *		wt_show_print(out, ...);
 *	rc = wt_lines_end(&lines);
 *
 * Single-threaded; never blocks.
 */
#ifndef WT_CLI_TEXT_LINES_H
#define WT_CLI_TEXT_LINES_H

#include <stddef.h>
#include <stdio.h>

/* All zero: no lines. */
struct wt_lines {
	const char **line; /* without their ends */
	size_t count;
	char *text; /* private */
	size_t text_bytes;
	FILE *out;
};

/* Frees what `lines` had. NULL: out of memory, which wt_lines_end() says too. */
FILE *wt_lines_begin(struct wt_lines *lines);
/* 0 or -ENOMEM. */
int wt_lines_end(struct wt_lines *lines);
void wt_lines_fini(struct wt_lines *lines);

#endif /* WT_CLI_TEXT_LINES_H */
