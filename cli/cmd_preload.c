/*
 * cmd_preload.c - `wavetap preload`: the value for LD_PRELOAD. Single-threaded.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/client.h"
#include "schema/wt_paths.h"

static const struct wt_option preload_options[] = {{0}};

static int run_preload(void *values, int operand_count, char **operands)
{
	char path[WT_PATH_BYTES];

	(void)values;
	(void)operand_count;
	(void)operands;
	if (wt_client_find_library(path)) {
		wt_cli_error("libwavetap.so is neither beside this program nor in " WT_LIBDIR);
		return WT_EXIT_FAILED;
	}
	puts(path);
	return WT_EXIT_FINE;
}

const struct wt_command wt_cmd_preload = {
        .name = "preload",
        .summary = "print the value for LD_PRELOAD",
        .details = "LD_PRELOAD=$(wavetap preload) python train.py records without `wavetap run`.\n",
        .options = preload_options,
        .run = run_preload,
};
