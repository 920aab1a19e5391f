/*
 * folds.h - what was measured of a run: samples folded over kernels, and launches under the profiler.
 *
 *   folds.c       the pass: which chunks are ready, and when results are written; the raw samples' limit
 *   fold_task.c   the long work, beside the main thread
 *   fold_zones.c  kernels and memsets of a span of time, without an index over time
 *   measured.c    results -> rows of `fold`, `measured`, `measured_profile`
 *
 * All of it lives beside the drain: it reads the run file, keeps its state in memory and writes its
 * results in a transaction of its own. FAILURE IS RESTART: the state is thrown away with all else of the
 * run and built again from the file. The same code runs for wavetapd, `wavetap import` and
 * `wavetap analyze`. A step is bounded work, so that rings are drained in between.
 *
 * Main thread, but for fold_task.c; may block on the disk.
 */
#ifndef WT_FOLDS_H
#define WT_FOLDS_H

#include <pthread.h>

#include "analysis/fold.h"
#include "daemon/daemon.h"

/* ---- fold_zones.c: which ids lie in which time. Rows come nearly in order, so zones of ids do, too. */

#define WT_ZONE_ROWS 16384

struct wt_zone {
	int64_t first_ns, last_ns; /* first start, last end; empty: INT64_MAX, INT64_MIN */
};

struct wt_zones {
	const char *table, *id; /* of rows with start_ns and end_ns; ids from 1 */
	struct wt_zone *at;
	size_t count, room;
};

/* Reads on, at most `zones_max` zones; *ret_more: there is more to read. */
int wt_zones_update(struct wt_run *run, struct wt_zones *zones, size_t zones_max, bool *ret_more);
void wt_zones_fini(struct wt_zones *zones);
static inline int64_t wt_zone_first_id(size_t zone)
{
	return (int64_t)zone * WT_ZONE_ROWS + 1;
}

struct wt_kernels {
	struct wt_fold_kernel *at; /* by start */
	size_t count, room;
};

/* ---- folds.c */

struct wt_fold_stretch {
	size_t kernel, kernel_count, sample, sample_count; /* in the arrays of the task */
};

/* Work on a fold that may take long, on a thread of its own while wavetapd drains: fold_task.c. */
struct wt_fold_task {
	struct wt_fold *fold; /* its own */
	bool is_solve; /* else: adds the stretches */
	struct wt_kernels kernels;
	struct wt_fold_sample *samples; /* WT_SAMPLES_MAX */
	size_t sample_count;
	struct wt_fold_stretch *stretches;
	size_t stretch_count, stretch_room;
	bool is_begun; /* the main thread's: between begin and end */
	bool has_thread;
	pthread_t thread;
	_Atomic int state; /* enum in fold_task.c */
	int err; /* of it, once it is done */
	int64_t refused; /* samples */
};

/* For a fold, which it owns from then on. NULL: no memory; the fold is still the caller's. */
struct wt_fold_task *wt_fold_task_create(struct wt_fold *fold);
/* A copy of kernels and samples. 0 or -ENOMEM. */
int wt_fold_task_add(struct wt_fold_task *task, const struct wt_fold_kernel *kernels,
                     size_t kernel_count, const struct wt_fold_sample *samples,
                     size_t sample_count);
/* Begins it; `is_beside`: on a thread, if there can be one. */
void wt_fold_task_begin(struct wt_fold_task *task, bool is_beside);
/* True: it is over, and err and refused tell; false: it goes on, or was not begun. */
bool wt_fold_task_end(struct wt_fold_task *task);
/* With its fold; never waits: what is at work frees itself when it is done. NULL is fine. */
void wt_fold_task_destroy(struct wt_fold_task *task);

struct wt_device_fold {
	struct wt_device_fold *next;
	struct wt_fold *fold; /* of the task; not while that is at work */
	struct wt_fold_task *task;
	bool is_solved; /* for what is in it */
	int64_t device_id, chunk_id; /* of the last chunk that is in it; 0: none */
	int64_t until_ns; /* INT64_MIN: nothing is in it */
	int64_t skipped; /* samples that were not given to it */
	struct wt_map
	        dense_of; /* index of a configuration + 1 -> its number in the fold; 0: memsets */
	uint32_t *config_of; /* and back */
	size_t dense_count, dense_room;
	bool has_kernels; /* before the first one samples are not given to it */
	bool is_broken; /* there was no memory for it: nothing more is given to it */
	bool is_saved; /* the file has what it says */
};

/* A profiled launch whose kernel is known. */
struct wt_profiled {
	uint32_t config_idx;
	double active_sum, elapsed, warps, tensor, dram_bytes; /* the last two < 0: not known */
};

struct wt_folds {
	struct wt_device_fold *devices;
	struct wt_zones kernel_zones, copy_zones;
	struct wt_map config_of; /* config_id -> index in run->configs */
	size_t configs_known;
	struct wt_profiled *profiled;
	size_t profiled_count, profiled_room, zones_joined;
	bool is_profile_saved;
	bool is_over; /* the last results are written */
	int64_t stepped_ns, saved_ns, save_takes_ns; /* CLOCK_MONOTONIC */
	int64_t sample_keep_bytes;
	struct wt_sample *samples; /* WT_SAMPLES_MAX */
	struct wt_fold_sample *fold_samples; /* of a stretch */
	struct wt_kernels kernels, touching;
};

/* The number of a configuration in the fold of a device. */
int wt_device_fold_dense(struct wt_device_fold *device, uint32_t config_idx_plus_1,
                         uint32_t *ret_dense);
/* All kernels and memsets of a device that touch a span, by start, into folds->kernels. */
int wt_folds_read_kernels(struct wt_run *run, struct wt_device_fold *device, int64_t from_ns,
                          int64_t until_ns);
/* Finds the kernels of profiled launches in the zones up to `until_ns`, some at a time. */
int wt_folds_join_profiles(struct wt_run *run, int64_t until_ns, bool *ret_more);

/*
 * One piece of work for a run that is open. `is_over`: nothing comes any more, all of it is to be done.
 * *ret_more: there is more to do at once. 0 or -errno of the run file.
 */
int wt_folds_step(struct wt_run *run, bool is_over, int64_t now_ns, bool *ret_more);
/* Kernels that ended before are folded, or nobody asks for them; INT64_MIN: all may be needed. */
int64_t wt_folds_need_ns(struct wt_run *run);
/* Has a run that is over its last results, or nothing that was measured? */
bool wt_folds_are_done(const struct wt_run *run);
void wt_folds_fini(struct wt_run *run);

/* ---- measured.c: in an open transaction */

int wt_measured_save(struct wt_run *run);

#endif /* WT_FOLDS_H */
