/*
 * text_lines.c - see text_lines.h. Single-threaded; never blocks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text_lines.h"

FILE *wt_lines_begin(struct wt_lines *lines)
{
	wt_lines_fini(lines);
	lines->out = open_memstream(&lines->text, &lines->text_bytes);
	return lines->out;
}

int wt_lines_end(struct wt_lines *lines)
{
	size_t count = 0;

	if (!lines->out)
		return -ENOMEM;
	if (fclose(lines->out)) {
		lines->out = NULL;
		wt_lines_fini(lines);
		return -ENOMEM;
	}
	lines->out = NULL;
	for (const char *at = lines->text; (at = strchr(at, '\n')); at++)
		count++;
	lines->line = calloc(count + 2, sizeof(*lines->line));
	if (!lines->line) {
		wt_lines_fini(lines);
		return -ENOMEM;
	}
	for (char *at = lines->text; *at;) {
		char *end = strchr(at, '\n');

		lines->line[lines->count++] = at;
		if (!end)
			break;
		*end = '\0';
		at = end + 1;
	}
	return 0;
}

void wt_lines_fini(struct wt_lines *lines)
{
	if (lines->out)
		fclose(lines->out);
	free(lines->line);
	free(lines->text);
	memset(lines, 0, sizeof(*lines));
}
