/*
 * ranks.h - what each process of a run did on each of its devices, side by side: `wavetap ranks`.
 *
 * One ledger of all devices, told apart by process. A gap is that of the process whose kernel ended
 * it. Memory beside the ledger's: a row for each process and device, 32 bytes for each collective
 * kernel, and what finding the steps of one process takes. Single-threaded; blocks on the file.
 */
#ifndef WT_CLI_RANKS_H
#define WT_CLI_RANKS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "analysis/map.h"
#include "cli/ledger.h"
#include "cli/report.h"

/* Time in which some of a process' kernels ran on a device: the union, as they come by start. */
struct wt_rank_union {
	int64_t ns, end_ns;
};

struct wt_rank_collective {
	int64_t kernel_id, start_ns, end_ns;
};

/* A process on a device. */
struct wt_rank_row {
	int64_t process_id, device_id, sms;
	int64_t pid, rank, local_rank, world_size; /* -1: not given */
	char *command, *hostname;
	int64_t kernels, time_ns; /* in the window; summed durations */
	struct wt_rank_union busy, compute, comm; /* all; without collectives; collectives */
	struct wt_sweep_share share;
	int64_t gaps, gap_sm_ns[WT_GAP_CAUSE_MAX];
	struct wt_rank_collective *collectives;
	size_t collective_count;
	/* Longer in collectives than the process that was in each the shortest; < 0: wt_ranks.wait_reason */
	int64_t wait_ns;
	bool has_steps;
	int64_t steps, step_ns; /* of the process: steady ones, and their median */
};

struct wt_ranks {
	const struct wt_ledger *ledger; /* the one that is loaded */
	struct wt_rank_row *rows; /* by rank, process, device */
	size_t count;
	struct wt_map row_at; /* process and device -> index */
	int64_t processes;
	int64_t collectives; /* of each, if wait_reason is NULL */
	int64_t collectives_apart; /* of these, not at the same time: not in wait_ns */
	const char *wait_reason; /* why it is not known how long each waited; static text */
};

/* What to load a ledger with: fills `ranks`, which is all zero. */
struct wt_ledger_observer wt_ranks_observer(struct wt_ranks *ranks);

/* After the ledger is loaded: who they are, waits, steps. 0 or -errno. */
int wt_ranks_finish(struct wt_ranks *ranks, sqlite3 *db);
void wt_ranks_fini(struct wt_ranks *ranks);

#endif /* WT_CLI_RANKS_H */
