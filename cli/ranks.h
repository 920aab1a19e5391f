/*
 * ranks.h - what each process of a run did on each of its devices, side by side: `wavetap ranks`.
 *
 * One ledger of all devices, told apart by process. A gap is that of the process whose kernel ended
 * it. Who waits for whom, and why: analysis/waits.h, by the steps of the process with most launches.
 * Memory beside the ledger's: for each process and device a row, 128 bytes a step, 16 bytes a kernel, 32
 * more a kernel beside a collective, 48 bytes a configuration and 24 bytes a kernel's name; what
 * collectives.h says; and what finding the steps of one process takes.
 * Single-threaded; blocks on the file.
 */
#ifndef WT_CLI_RANKS_H
#define WT_CLI_RANKS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "analysis/map.h"
#include "cli/collectives.h"
#include "cli/ledger.h"
#include "cli/report.h"

/* Time in which some of a process' kernels ran on a device: the union, as they come by start. */
struct wt_rank_union {
	int64_t ns, end_ns;
};

/* Launches of one kernel that begin in wt_ranks.steps_ns. */
struct wt_rank_kernel {
	int64_t kernel_id, time_ns, launches;
};

/* Launches of a configuration that no collective of their process ran beside. */
struct wt_rank_pace {
	int64_t kernel_id, blocks, resident_blocks;
	int64_t time_ns, launches;
	double alone_ns; /* their mean; < 0: not known. Set in the end */
};

/* A launch of a kernel that is no collective, until it is known what ran beside it. */
struct wt_rank_launch {
	int64_t start_ns, end_ns;
	int64_t fresh_start_ns; /* from here on it is counted: no earlier one still ran */
	uint32_t pace; /* index of its configuration in wt_rank_row.paces */
	bool is_beside; /* a collective of its process ran meanwhile */
};

/* A process on a device. */
struct wt_rank_row {
	int64_t process_id, device_id, sms;
	int64_t pid, rank, local_rank, world_size; /* -1: not given */
	char *command, *hostname;
	int64_t kernels, time_ns; /* in the window; summed durations */
	struct wt_rank_union busy, compute, comm; /* all; without collectives; collectives */
	struct wt_sweep_share share;
	int64_t gaps, gap_sm_ns[WT_GAP_CAUSE_MAX]; /* those that its kernels ended */
	struct wt_interval *compute_at; /* time of its kernels but collectives, united */
	size_t compute_count;
	int64_t wait_ns; /* in collectives, for the last to come; < 0: not known */
	int64_t wait_exposed_ns; /* of it, while no other kernel of it ran; < 0: not known */
	int64_t transfer_ns; /* in collectives after all had come; < 0: not known */
	int64_t late_ns; /* all that others waited for it; < 0: not known */
	/* What it spent in each step of wt_ranks.steps_ns, by class. */
	int64_t (*spent_ns)[WT_LATE_MAX];
	struct wt_rank_kernel *kernels_in_steps;
	size_t kernels_in_steps_count;
	struct wt_map kernel_at; /* kernel_id -> index */
	struct wt_rank_pace *paces;
	size_t pace_count;
	struct wt_map pace_at; /* config_id -> index */
	struct wt_rank_launch *running, *beside; /* as far as they have come; beside collectives */
	size_t running_count, beside_count;
	int64_t collective_end_ns; /* of those that have come, the last */
	struct wt_late late; /* with wt_ranks.late_reason NULL */
	int64_t late_kernel_id; /* of late.cause kernels: the one with the greatest excess; -1 */
	int64_t late_kernel_ns; /* that excess, over all steps */
	char *late_kernel; /* its name, short */
	bool has_steps;
	int64_t steps, step_ns; /* of the process: steady ones, and their median */
};

struct wt_ranks {
	const struct wt_ledger *ledger; /* the one that is loaded */
	struct wt_rank_row *rows; /* by rank, process, device */
	size_t count;
	struct wt_map row_at; /* process and device -> index */
	int64_t processes;
	struct wt_collectives collectives;
	/* step_count + 1 times: where the steady steps of the process with most launches begin, and the last ends. */
	int64_t *steps_ns;
	size_t step_count;
	bool has_steps; /* false: the window is the one step */
	/* Pageable copies of the device that is being loaded, united. */
	struct wt_intervals pageable;
	struct wt_interval *pageable_at;
	int64_t pageable_device_id;
	sqlite3 *db;
	const char *wait_reason; /* why it is not known how long each waited; static text */
	const char *late_reason; /* why it is not known what made them late; static text */
};

/* ranks_late.c: 0 or -errno. Before the ledger's rows come: sets steps_ns, step_count, has_steps. */
int wt_ranks_find_steps(struct wt_ranks *ranks, sqlite3 *db);
/* Its part from fresh_start_ns on, where no earlier one of the row ran, to end_ns: to the steps it lies in. */
int wt_ranks_spend_kernel(struct wt_ranks *ranks, struct wt_rank_row *row,
                          const struct wt_ledger_row *kernel, int64_t fresh_start_ns,
                          int64_t end_ns);
/* A gap between its kernels that are no collectives, by cause. */
int wt_ranks_spend_gap(struct wt_ranks *ranks, struct wt_rank_row *row,
                       const struct wt_ledger_gap *gap);
/* Takes a share of the launch's time off what its kernels took. */
void wt_ranks_take_off(const struct wt_ranks *ranks, struct wt_rank_row *row,
                       const struct wt_rank_launch *launch, int64_t kernel_id, double share);
/* In the end: sets late and late_kernel.. of each row, or late_reason. */
int wt_ranks_judge(struct wt_ranks *ranks);

/* ranks_pace.c: kernels and collectives as they come by start; then the sums are put right. 0 or -errno. */
int wt_ranks_pace_collective(struct wt_rank_row *row, const struct wt_ledger_row *kernel);
int wt_ranks_pace_kernel(struct wt_rank_row *row, const struct wt_ledger_row *kernel,
                         int64_t fresh_start_ns);
int wt_ranks_pace_finish(struct wt_ranks *ranks);
void wt_ranks_pace_fini(struct wt_rank_row *row);

/* What to load a ledger with: fills `ranks`, which is all zero. */
struct wt_ledger_observer wt_ranks_observer(struct wt_ranks *ranks);

/* After the ledger is loaded: who they are, waits, steps. 0 or -errno. */
int wt_ranks_finish(struct wt_ranks *ranks, sqlite3 *db);
void wt_ranks_fini(struct wt_ranks *ranks);

#endif /* WT_CLI_RANKS_H */
