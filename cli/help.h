/*
 * help.h - what the table of commands says: help on one screen, lists for completion, and the option lists
 * of the man pages. Single-threaded; blocks on stdout.
 */
#ifndef WT_CLI_HELP_H
#define WT_CLI_HELP_H

#include <stddef.h>

#include "cli/cli.h"

/* Every command with a line, by theme. */
void wt_help_print_commands(FILE *out, const struct wt_command *const *commands, size_t count);

/*
 * One command, within the terminal's width, 80 columns at most; at 80 columns in 24 lines. Options that take a
 * part of the run are named in one entry, and so are those that the command calls minor.
 */
void wt_help_print(const struct wt_command *command);

/* The words that completion offers after `command`: one a line. */
void wt_help_print_list(const struct wt_command *command);

/*
 * The entries of the page's list of options, in mdoc(7), each after a line `.\" option NAME`: scripts/man-options.sh
 * puts them into the page.
 */
void wt_help_print_mdoc(const struct wt_command *command);

/*
 * The name of the `count` ones that `typed` was probably meant to be; NULL if none is near. `at` gives the
 * name with an index.
 */
const char *wt_help_nearest(const char *typed, size_t typed_bytes, size_t count,
                            const char *(*at)(const void *names, size_t index), const void *names);

#endif /* WT_CLI_HELP_H */
