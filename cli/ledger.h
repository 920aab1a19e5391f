/*
 * ledger.h - the ledger of SM-time of a run: where SMs x wall went, per device.
 *
 *   SMs x wall = active + underfill + wave + straggle + ramp + unjudged + comm + gaps + residual
 *
 * The sweep (analysis/sweep.h) gives the first ones, the causes of gaps (analysis/gap.h) the last.
 * Evidence is the model: straggle and ramp need a measurement and are unknown. The residual is
 * what the terms leave of the whole; 0 for pure model evidence.
 *
 * Time: O(n log n) for n kernels, sorted by SQLite. Memory: ledger_facts.h, and one row per kernel
 * name. Single-threaded; blocks on the file.
 */
#ifndef WT_CLI_LEDGER_H
#define WT_CLI_LEDGER_H

#include <sqlite3.h>
#include <stdint.h>

#include "analysis/gap.h"
#include "analysis/sweep.h"

/*
 * Shorter gaps look like a program that launches all the time, only slower than the kernels run;
 * longer ones like a program that does something else. Eager PyTorch on the measured machine: half
 * of the gaps between kernels were above 31 us, two in a thousand above 1 ms (tests/data).
 */
#define WT_LEDGER_SHORT_GAP_NS 1000000

/* What a stretch of the window had; all of them sum to the device's lines. */
struct wt_ledger_bucket {
	struct wt_sweep_share share;
	int64_t gap_ns[WT_GAP_CAUSE_MAX];
};

struct wt_ledger_device {
	int64_t device_id;
	char *name, *uuid;
	int64_t sms;
	int64_t wall_ns;
	int64_t total_sm_ns;
	int64_t kernels; /* swept */
	int64_t kernels_refused; /* their times can't be: not in the ledger */
	int64_t gaps; /* number of them */
	struct wt_sweep_share share;
	int64_t busy_ns;
	int64_t gap_ns[WT_GAP_CAUSE_MAX]; /* by cause; x sms: SM-time */
	int64_t short_gaps; /* of at most WT_LEDGER_SHORT_GAP_NS */
	int64_t short_gap_ns[WT_GAP_CAUSE_MAX];
	int64_t residual_sm_ns;
	struct wt_ledger_bucket *buckets; /* wt_ledger.bucket_count, or NULL */
};

/* Gaps before the launches of one kernel, all devices. */
struct wt_ledger_kernel {
	int64_t kernel_id;
	char *name; /* mangled */
	int64_t launches;
	int64_t gaps;
	struct wt_sweep_share share;
	int64_t launches_underfilled; /* that left SMs without a block */
	int64_t gap_sm_ns[WT_GAP_CAUSE_MAX];
	int64_t short_gap_sm_ns[WT_GAP_CAUSE_MAX]; /* of gaps of at most WT_LEDGER_SHORT_GAP_NS */
};

struct wt_select;
struct wt_select_steps;

struct wt_ledger {
	struct wt_ledger_device *devices;
	size_t device_count;
	struct wt_ledger_kernel *kernels; /* only those in the window; by kernel_id */
	size_t kernel_count;
	struct wt_ledger_kernel after_last; /* gaps that no kernel ended; kernel_id 0, name NULL */
	int64_t bucket_ns; /* 0: no buckets; the last one may be shorter */
	size_t bucket_count;
	int64_t start_ns, end_ns; /* the window; equal: nothing ran */
	const struct wt_select *select; /* what it is of; NULL: all of the run */
	const struct wt_select_steps *steps; /* the default window; NULL: not looked for */
	int64_t clock_error_ns; /* CPU against GPU */
	char problem[200]; /* after -EIO: what SQLite said */
};

/*
 * In one read transaction; `select` is applied to devices (wt_select_apply_devices) or NULL. A gap that
 * the window's start cuts is judged as if it began there. 0 or -errno. Free with
 * wt_ledger_fini() in either case.
 */
int wt_ledger_load(sqlite3 *db, const struct wt_select *select, struct wt_ledger *ledger);

/*
 * The same in buckets of bucket_ns; < 0: as many as that, of equal length, is the most. At most
 * WT_LEDGER_BUCKETS_MAX: -E2BIG.
 */
#define WT_LEDGER_BUCKETS_MAX 100000
int wt_ledger_load_buckets(sqlite3 *db, const struct wt_select *select, int64_t bucket_ns,
                           struct wt_ledger *ledger);
void wt_ledger_fini(struct wt_ledger *ledger);

#endif /* WT_CLI_LEDGER_H */
