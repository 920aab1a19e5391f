/*
 * whatif.h - the recorded kernels of a window, replayed (analysis/whatif.h): what `wavetap whatif`
 * shows. Loads on top of a ledger, whose window, devices and kernels it is about.
 *
 * Time: O(n log n) for n kernels, sorted by SQLite. Memory: as the ledger (ledger_facts.h).
 * Single-threaded; blocks on the file.
 */
#ifndef WT_CLI_WHATIF_H
#define WT_CLI_WHATIF_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "analysis/whatif.h"
#include "cli/ledger.h"

/* What is to be different. */
struct wt_whatif_query {
	int64_t sms; /* of every device; 0: as many as it has */
	bool is_full_waves, is_without_gaps;
};

struct wt_whatif_device {
	const struct wt_ledger_device *device;
	struct wt_whatif_result result;
	struct wt_whatif_range then; /* of the window, by the query */
	int64_t kernels_refused; /* impossible times: not replayed */
	bool has_measured; /* underfill and waves of some kernels are those that were measured */
};

/* Over the devices. */
struct wt_whatif_row {
	const struct wt_ledger_kernel *kernel; /* NULL: what comes after the last one */
	int64_t launches;
	struct wt_whatif_share share; /* its time, now and then */
	int64_t gap_ns, copy_gap_ns; /* before its launches */
	int64_t change_ns; /* the greatest there can be, gaps included if they go; ranks */
};

struct wt_whatif_run {
	struct wt_whatif_device *devices;
	size_t device_count;
	struct wt_whatif_row *rows; /* most change first */
	size_t row_count;
};

/* 0 or -errno (-EIO: sqlite3_errmsg(db)); wt_whatif_run_fini() in either case. */
int wt_whatif_run_load(sqlite3 *db, const struct wt_ledger *ledger,
                       const struct wt_whatif_query *query, struct wt_whatif_run *run);
void wt_whatif_run_fini(struct wt_whatif_run *run);

#endif /* WT_CLI_WHATIF_H */
