/*
 * sm_activity.h - what samples say of the SMs of a device over time, and how far the ledger agrees.
 *
 * SM activity is what DCGM calls it (DCGM_FI_PROF_SM_ACTIVE): the share of SMs x time in which a warp
 * was resident, all of the device, busy or not, whoever's kernels they are. Times are those of the
 * kernels: the samples' clock is moved by what the fold found. Single-threaded; blocks on the file.
 */
#ifndef WT_CLI_SM_ACTIVITY_H
#define WT_CLI_SM_ACTIVITY_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/json.h"
#include "cli/ledger.h"
#include "cli/phrase.h"
#include "cli/run_file.h"

/* A stretch with its means. Not known: not a number. */
struct wt_sm_piece {
	int64_t start_ns, end_ns; /* 0 in the mean of a sum */
	double sampled_ns; /* of it; the rest nobody looked at */
	double active_avg; /* share of SMs x sampled_ns */
	double active_min, active_max; /* the same of the least and of the most active SM */
	double busy_ns; /* of sampled_ns, with an SM active */
	double extremes_ns; /* of busy_ns, where the least and most active one are known */
	double warps_per_sm, tensor_share, sm_clock_mhz;
	double dram_bytes; /* while sampled */
};

/*
 * Pieces are single samples where there are at most so many in the window and none was removed (the
 * oldest go first), else buckets of about 10 ms. The first is enough for means, the second for a map of how
 * often how much was active, of which buckets know less.
 */
#define WT_SM_SAMPLES_FOR_MEANS 200000
#define WT_SM_SAMPLES_FOR_MAP 4000000

typedef int wt_sm_piece_fn(void *arg, const struct wt_sm_piece *piece);

/* Its part in [start_ns, end_ns), with which it must overlap: times and bytes in proportion, the same means. */
struct wt_sm_piece wt_sm_piece_cut(const struct wt_sm_piece *piece, int64_t start_ns,
                                   int64_t end_ns);

/*
 * The pieces that lie in [start_ns, end_ns), cut to it, by time. 0, -errno, or what `each` returned;
 * -EBADMSG: samples are damaged.
 */
int wt_sm_activity_read(sqlite3 *db, int64_t device_id, int64_t start_ns, int64_t end_ns,
                        int64_t samples_max, wt_sm_piece_fn *each, void *arg);

/* Sums of pieces, each weighed by the time that was sampled. Starts as zeros. */
struct wt_sm_sum {
	double sampled_ns;
	double active_ns, min_ns, max_ns; /* shares x time */
	double busy_ns; /* with an SM active */
	double min_known_ns, max_known_ns; /* of busy_ns: where the two are known */
	double warps_ns, tensor_ns,
	        clock_ns; /* values x time, and of how much time they are known: */
	double warps_known_ns, tensor_known_ns, clock_known_ns, dram_known_ns;
	double dram_bytes;
};

void wt_sm_sum_add(struct wt_sm_sum *sum, const struct wt_sm_piece *piece);
/* The means over all that was added, as of one piece; all not known where nothing was sampled. */
void wt_sm_sum_mean(const struct wt_sm_sum *sum, struct wt_sm_piece *ret_mean);

/*
 * The same in buckets of bucket_ns from start_ns on, for readers with rows of time. Pieces that reach
 * into several are shared out by time. `sums` has bucket_count entries, zeroed by the caller.
 */
int wt_sm_activity_buckets(sqlite3 *db, int64_t device_id, int64_t start_ns, int64_t end_ns,
                           int64_t bucket_ns, size_t bucket_count, struct wt_sm_sum *sums);

/* Says why reading failed: an enum wt_exit for a command to end with. */
int wt_sm_activity_failed(const struct wt_run_file *run, int rc);

/* ---- agreement with the ledger */

/* Differences of less are not explained: shares of SMs x time. */
#define WT_SM_AGREEMENT_POINTS 0.01

struct wt_sm_agreement {
	bool has_samples; /* of this device and window; false: all else is 0 */
	double sampled_share; /* mean SM activity over the time that was sampled */
	bool has_ledger; /* there are kernels; false: nothing to compare with, no share and no reason */
	double ledger_share; /* active of SMs x wall */
	double coverage; /* of the window, sampled: 0 to 1 */
	char reason[280]; /* of a difference of a point and more, likely; "": there is none */
};

/* Over the window of the ledger. 0, or as wt_sm_activity_read(). */
int wt_sm_activity_agree(sqlite3 *db, const struct wt_ledger *ledger,
                         const struct wt_ledger_device *device, struct wt_sm_agreement *ret);

/*
 * Of what samples saw active in the whole run, the share that none of its kernels explains: other
 * programs, or kernels without records. 0: nothing, or not known.
 */
double wt_sm_unexplained_share(sqlite3 *db, int64_t device_id);

/* A line for people, with its end; nothing without samples. */
void wt_sm_agreement_print(struct wt_phrase *line, const struct wt_sm_agreement *agreement);
/* Of each device of the ledger; says which where there are several. 0 or -errno. */
int wt_sm_activity_print(FILE *out, const struct wt_text_terminal *terminal, sqlite3 *db,
                         const struct wt_ledger *ledger);

/* The member `sm_activity` of a device: null without samples. 0 or -errno. */
int wt_sm_activity_put_json(struct wt_json *json, sqlite3 *db, const struct wt_ledger *ledger,
                            const struct wt_ledger_device *device);

#endif /* WT_CLI_SM_ACTIVITY_H */
