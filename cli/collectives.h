/*
 * collectives.h - the collectives of a run, and who waited for whom in them: what `ranks` and
 * `diagnose` both tell. What waiting is: analysis/waits.h.
 *
 * Of the whole run, so that a window does not shift who is set beside whom; waits are those of
 * collectives whose last start is in the ledger's window. Memory: 56 bytes a collective kernel. Single-threaded; blocks
 * on the file.
 */
#ifndef WT_CLI_COLLECTIVES_H
#define WT_CLI_COLLECTIVES_H

#include <sqlite3.h>

#include "analysis/waits.h"
#include "cli/ledger.h"

/* A process on a device that ran collectives. */
struct wt_collective_member {
	int64_t process_id, device_id;
	int64_t pid, rank; /* -1: not given */
	int64_t waited_ns;
	int64_t transfer_ns; /* from when the last had come on: the rest of its time in them */
	int64_t late_ns; /* all that the others waited for it */
	int64_t last; /* collectives for which it came late */
};

/* Of a run that was merged: how well its clocks are aligned. Of hosts that are not, nothing is. */
struct wt_collectives {
	int64_t clocks_error_ns; /* of two runs of it at most; 0: one clock */
	struct wt_wait *waits; /* wt_wait.member: index in members */
	size_t count;
	struct wt_collective_member *members;
	size_t member_count;
	struct wt_waits found;
};

/* 0 or -errno; wt_collectives_fini() in either case. */
int wt_collectives_load(sqlite3 *db, const struct wt_ledger *ledger,
                        struct wt_collectives *collectives);
void wt_collectives_fini(struct wt_collectives *collectives);

/* Index of a process on a device, or SIZE_MAX. */
size_t wt_collectives_member(const struct wt_collectives *collectives, int64_t process_id,
                             int64_t device_id);
/* For whom the others waited most; NULL: nobody, or not known. */
const struct wt_collective_member *wt_collectives_latest(const struct wt_collectives *collectives);

#endif /* WT_CLI_COLLECTIVES_H */
