/*
 * watch_ledger.h - bars of where the SM-time of each device went. Single-threaded; blocks as the terminal does.
 */
#ifndef WT_CLI_WATCH_LEDGER_H
#define WT_CLI_WATCH_LEDGER_H

#include <stdio.h>

#include "cli/report.h"
#include "cli/watch_view.h"

/* From `row` on: a bar for each device, and what the parts are of all of them. Returns the row below. */
unsigned wt_watch_draw_ledger(unsigned row, const struct wt_report *report, size_t most_devices);

/* The letters of the parts, a line each. */
void wt_watch_print_letters(FILE *out, const struct wt_text_terminal *terminal);

#endif /* WT_CLI_WATCH_LEDGER_H */
