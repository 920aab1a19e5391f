/*
 * cmd_preload.c - `wavetap preload`: the value for LD_PRELOAD, or for CUDA_INJECTION64_PATH.
 * Single-threaded.
 */
#include <stdbool.h>
#include <stdio.h>
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/client.h"
#include "schema/wt_paths.h"

struct preload_values {
	bool is_injection;
};

static const struct wt_option preload_options[] = {
        {"injection", 0, WT_OPTION_FLAG, NULL, offsetof(struct preload_values, is_injection), NULL,
         "the value for CUDA_INJECTION64_PATH instead"},
        {0}};

static int run_preload(void *values, int operand_count, char **operands)
{
	const struct preload_values *preload = values;
	char path[WT_PATH_BYTES];
	char whole[PATH_MAX];

	(void)operand_count;
	(void)operands;
	if (wt_client_find_library(path)) {
		wt_cli_error("libwavetap.so is neither beside this program nor in " WT_LIBDIR);
		return WT_EXIT_FAILED;
	}
	/* The driver opens it from wherever the program then is. */
	if (preload->is_injection && !realpath(path, whole)) {
		wt_cli_error("%s: %s", path, strerror(errno));
		return WT_EXIT_FAILED;
	}
	puts(preload->is_injection ? whole : path);
	return WT_EXIT_FINE;
}

const struct wt_command wt_cmd_preload = {
        .name = "preload",
        .summary = "print the value for LD_PRELOAD",
        .details = "Where nothing can be preloaded, the CUDA driver itself can load the "
                   "library: CUDA_INJECTION64_PATH=$(wavetap preload --injection) "
                   "./program",
        .example = "LD_PRELOAD=$(wavetap preload) python train.py",
        .theme = WT_THEME_RECORD,
        .options = preload_options,
        .values_bytes = sizeof(struct preload_values),
        .run = run_preload,
};
