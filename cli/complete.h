/*
 * complete.h - what may stand for a word of the command line: commands, options and their choices,
 * runs, kernels, ranges, devices. Asked by the shells' completion files (cli/completion/).
 *
 * Single-threaded; blocks on files.
 */
#ifndef WT_CLI_COMPLETE_H
#define WT_CLI_COMPLETE_H

#include <stddef.h>

#include "cli/cli.h"

/*
 * Prints candidates for the last of `words`, which may be empty; those before it are what was typed
 * after "wavetap". A line each: the candidate, then, where there is more to say, a tab and what it is.
 * A last line ":files", ":directories" or ":commands" says what the shell completes by itself.
 * An enum wt_exit.
 */
int wt_complete(const struct wt_command *const *commands, size_t command_count, int word_count,
                char **words);

#endif /* WT_CLI_COMPLETE_H */
