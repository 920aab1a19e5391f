/*
 * gap_calls_table.h - gaps by call as a table for people and programs. Single-threaded; never
 * blocks.
 */
#ifndef WT_CLI_GAP_CALLS_TABLE_H
#define WT_CLI_GAP_CALLS_TABLE_H

#include "cli/gap_calls.h"
#include "cli/table.h"
#include "cli/top_columns.h"

struct wt_gap_calls_style {
	struct wt_top_unit unit;
	double total_sm_ns, sms; /* of all devices */
	size_t limit; /* rows; the rest is summed in one more, for people */
	char *const *names; /* as people see them, of the ledger's kernels */
};

/* NULL: out of memory. */
struct wt_table *wt_gap_calls_table(const struct wt_gap_calls *calls,
                                    const struct wt_ledger *ledger,
                                    const struct wt_gap_calls_style *style);

#endif /* WT_CLI_GAP_CALLS_TABLE_H */
