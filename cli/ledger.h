/*
 * ledger.h - the ledger of SM-time of a run: where SMs x wall went, per device.
 *
 *   SMs x wall = active + underfill + wave + straggle + ramp + unjudged + comm + gaps + residual
 *
 * The sweep (analysis/sweep.h) gives the first ones, the causes of gaps (analysis/gap.h) the last.
 * Where the run has measured a configuration, that stands in place of the model's share
 * (analysis/measure.h) of the time in which its kernels had the device to themselves; all shares
 * here, also those that observers see, have it in. Straggle and ramp need it. The residual is
 * what the terms leave of the whole; 0 unless something is wrong.
 *
 * Time: O(n log n) for n kernels, sorted by SQLite. Memory: ledger_facts.h, and one row per kernel
 * name. Single-threaded; blocks on the file.
 */
#ifndef WT_CLI_LEDGER_H
#define WT_CLI_LEDGER_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "analysis/evidence.h"
#include "analysis/gap.h"
#include "analysis/sweep.h"
#include "daemon/ledger_sums.h"

/*
 * What a stretch of the window had; all of them sum to the device's lines. Where kernels share SMs and
 * joint measurement tells which were active, to some SM-ns: the cuts round otherwise.
 */
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
	struct wt_sweep_share measured[WT_EVIDENCE_MAX]; /* of it; the rest is the model's */
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
	struct wt_sweep_share measured[WT_EVIDENCE_MAX]; /* of `share` */
	int64_t launches_underfilled; /* that left SMs without a block */
	int64_t gap_sm_ns[WT_GAP_CAUSE_MAX];
	int64_t short_gap_sm_ns[WT_GAP_CAUSE_MAX]; /* of gaps of at most WT_LEDGER_SHORT_GAP_NS */
};

/* A gap: what is known of it, and what its causes have of it. */
struct wt_ledger_gap {
	const struct wt_ledger_device *device;
	const struct wt_ledger_row *next; /* the kernel that ended it; NULL: none came any more */
	size_t next_at; /* that kernel's index in wt_ledger.kernels, as long as it is loaded */
	const struct wt_gap_facts *facts;
	const int64_t *cause_ns;
};

struct wt_ledger;

/*
 * Who wants to see what a ledger is made of, device after device, each in order of time. A
 * callback may be NULL; what it returns but 0 ends the loading with that -errno.
 */
struct wt_ledger_observer {
	/* Before the first device, within the same read transaction; the window is known. */
	int (*begin)(void *arg, sqlite3 *db, const struct wt_ledger *ledger);
	/* A kernel in the window, before its shares are known. */
	int (*row)(void *arg, const struct wt_ledger_device *device,
	           const struct wt_ledger_row *row, bool is_collective);
	int (*gap)(void *arg, const struct wt_ledger_gap *gap);
	/*
	 * Time in which no kernel ran but collectives, before a kernel that is none, as if collectives
	 * were no kernels: what the host and copies did beside them. Before that kernel's `row`.
	 */
	int (*compute_gap)(void *arg, const struct wt_ledger_gap *gap);
	/* What a kernel had, in the order of their ends. */
	int (*share)(void *arg, const struct wt_ledger_device *device, int64_t process_id,
	             const struct wt_sweep_share *share);
	/* A stretch in which kernels can occupy sms_wanted SMs, which may be more than there are. */
	void (*slice)(void *arg, const struct wt_ledger_device *device, int64_t length_ns,
	              uint64_t sms_wanted);
	void *arg;
};

struct wt_select;
struct wt_select_steps;

struct wt_ledger {
	struct wt_ledger_device *devices;
	size_t device_count;
	int64_t kernels_without_sms; /* of the run, on devices whose SMs are not known: no devices here */
	struct wt_ledger_kernel *kernels; /* only those in the window; by kernel_id */
	size_t kernel_count;
	struct wt_ledger_kernel after_last; /* gaps that no kernel ended; kernel_id 0, name NULL */
	int64_t bucket_ns; /* 0: no buckets; the last one may be shorter */
	size_t bucket_count;
	bool is_samples_alone; /* no kernels: of the devices only SMs and time are known */
	int64_t start_ns, end_ns; /* the window; equal: nothing ran */
	const struct wt_select *select; /* what it is of; NULL: all of the run */
	const struct wt_select_steps *steps; /* the default window; NULL: not looked for */
	int64_t clock_error_ns; /* CPU against GPU */
	char problem[200]; /* after -EIO: what SQLite said */
	struct wt_ledger_sums *sums; /* that it is from; NULL: from rows */
};

/*
 * In one read transaction; `select` is applied to devices (wt_select_apply_devices) or NULL. A gap that
 * the window's start cuts is judged as if it began there. 0 or -errno. Free with
 * wt_ledger_fini() in either case.
 */
int wt_ledger_load(sqlite3 *db, const struct wt_select *select, struct wt_ledger *ledger);

/*
 * The same for the lines of devices alone: where all of the run is asked for and its file has sums, from those,
 * without reading its launches. Then there are no kernels in it.
 */
int wt_ledger_load_devices(sqlite3 *db, const struct wt_select *select, struct wt_ledger *ledger);

/* The same if there are such sums: 1; 0: there are none, or -errno. */
int wt_ledger_load_summed(sqlite3 *db, const struct wt_select *select, struct wt_ledger *ledger);

/* The sums themselves, if they can be used: 1, and the caller frees them; 0 or -errno. */
/* Of a run of which rows were dropped: are there sums of all of it? */
bool wt_ledger_has_sums(sqlite3 *db);
int wt_ledger_load_sums(sqlite3 *db, const struct wt_select *select,
                        struct wt_ledger_sums **ret_sums);

/*
 * The same in buckets of bucket_ns; < 0: as many as that, of equal length, is the most. At most
 * WT_LEDGER_BUCKETS_MAX: -E2BIG.
 */
#define WT_LEDGER_BUCKETS_MAX 100000
int wt_ledger_load_buckets(sqlite3 *db, const struct wt_select *select, int64_t bucket_ns,
                           struct wt_ledger *ledger);

/* The same as wt_ledger_load(), seen by `observer`. */
int wt_ledger_load_observed(sqlite3 *db, const struct wt_select *select,
                            const struct wt_ledger_observer *observer, struct wt_ledger *ledger);
void wt_ledger_fini(struct wt_ledger *ledger);

#endif /* WT_CLI_LEDGER_H */
