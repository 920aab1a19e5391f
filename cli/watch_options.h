/*
 * watch_options.h - the options that `top` and `status` share for what they show again and again.
 * Pure but for messages.
 */
#ifndef WT_CLI_WATCH_OPTIONS_H
#define WT_CLI_WATCH_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/options.h"

/* Entries of a command's option array; the fields are bool, const char * and bool. */
#define WT_WATCH_OPTIONS(values, is_watched, interval, has_no_colour)                              \
	{"watch",                                                                                  \
	 'w',                                                                                      \
	 WT_OPTION_FLAG,                                                                           \
	 NULL,                                                                                     \
	 offsetof(values, is_watched),                                                             \
	 NULL,                                                                                     \
	 "on the whole screen, again and again; q ends it"},                                       \
	        {"interval",                                                                       \
	         0,                                                                                \
	         WT_OPTION_TEXT,                                                                   \
	         "T",                                                                              \
	         offsetof(values, interval),                                                       \
	         NULL,                                                                             \
	         "with --watch: how often, 100ms to 1h (default: 1s)"},                            \
	{                                                                                          \
		"no-color", 0, WT_OPTION_FLAG, NULL, offsetof(values, has_no_colour), NULL,        \
		        "with --watch: no colours, as with NO_COLOR"                               \
	}

/* An enum wt_exit, after a message: the time makes no sense, or there is one without --watch. */
int wt_watch_parse(const char *command, bool is_watched, const char *interval, bool has_no_colour,
                   int64_t *ret_interval_ns);

#endif /* WT_CLI_WATCH_OPTIONS_H */
