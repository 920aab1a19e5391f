/*
 * status_samplers.h - what `wavetap status` says of samplers. Single-threaded.
 */
#ifndef WT_CLI_STATUS_SAMPLERS_H
#define WT_CLI_STATUS_SAMPLERS_H

#include <sqlite3.h>
#include <stdio.h>

#include "cli/text.h"

/* A table of the samplers in the daemon's answer, and why some don't sample. 0 or -errno. */
int wt_status_samplers(FILE *out, sqlite3 *db, const char *json,
                       const struct wt_text_terminal *terminal);

#endif /* WT_CLI_STATUS_SAMPLERS_H */
