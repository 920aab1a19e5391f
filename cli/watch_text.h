/*
 * watch_text.h - a text that is made again and again, on the whole screen. Single-threaded; blocks on the terminal
 * and as the text does.
 */
#ifndef WT_CLI_WATCH_TEXT_H
#define WT_CLI_WATCH_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/text.h"

struct wt_watch_text {
	const char *command; /* for messages */
	const char *title;
	/* Writes the text for that terminal. 0 or -errno; messages (wt_cli_error) are shown below it. */
	int (*print)(void *arg, FILE *out, const struct wt_text_terminal *terminal);
	void *arg;
	int64_t interval_ns;
	bool has_no_colour;
};

/* Until somebody ends it. An enum wt_exit. */
int wt_watch_text(const struct wt_watch_text *text);

/* Opens the screen for a command, or says why not. An enum wt_exit. */
int wt_watch_open_screen(const char *command, bool has_no_colour);

#endif /* WT_CLI_WATCH_TEXT_H */
