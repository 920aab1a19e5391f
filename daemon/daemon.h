/*
 * daemon.h - the parts of wavetapd.
 *
 *   main.c        signals, the loop
 *   start.c       options, settings, lock: everything before it
 *   log.c lock.c  words; one daemon per user, host and data directory
 *   samplers.c    starts and ends wavetap-sampler
 *   scan.c        finds segments and attaches them
 *   segment_map.c opens and checks one segment; the only code that touches its memory
 *   liveness.c    is the process behind a segment still there?
 *   process.c     one observed process: load, save, end
 *   drain.c       rings -> rows; drain_cell.c, drain_kernel.c one record
 *   record.c      rings -> a recording, beside that
 *   replay.c      recordings -> rows, for `wavetap import`
 *   pack.h        rows and small chunks -> chunks
 *   drop.h        the oldest rows go, beyond a limit
 *   configs.c     kernel names, devices, launch configurations
 *   ranges.c      named ranges
 *   sampled.c     segments of samplers
 *   profiled.c    launches under the range profiler
 *   folds.c       samples over kernels: what was measured
 *   process_stat.c  rollups
 *   shares.c      kernels that overlap: what each had
 *   ledger_sums.h gaps by cause, summed up
 *   rederive.c    all derived columns again, for `wavetap analyze`
 *   runs.c        run key -> run file
 *   store.c       statements
 *   batch.h       rows of a batch: into chunks, or plain
 *   control.c     status socket
 *   keep.c        limits on the recorded runs
 *
 * One thread, but for what fold_task.c and ledger_sums_task.c do beside it. It may block on the disk and for nothing else. All times named now_ns are
 * CLOCK_MONOTONIC.
 *
 * FAILURE IS RESTART. Every batch is one transaction: rows, rollups, counters and cursors.
 * Whenever it can't be committed, everything held in memory about that run is thrown away and
 * read again from the file, exactly as after a kill. There is no second path to get wrong.
 */
#ifndef WT_DAEMON_H
#define WT_DAEMON_H

#include <dirent.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "analysis/derive.h"
#include "analysis/link.h"
#include "analysis/map.h"
#include "analysis/wave.h"
#include "daemon/drop.h"
#include "daemon/pack.h"
#include "schema/wt_api.h"
#include "schema/wt_db.h"
#include "schema/wt_keep.h"
#include "schema/wt_paths.h"
#include "schema/wt_segment.h"

#define WT_VERSION_TEXT PACKAGE_VERSION

static inline int64_t wt_clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

#define WT_MS INT64_C(1000000)
#define WT_SECOND INT64_C(1000000000)

/* ---- log.c */

/* To stderr, or once a path is given to that file, which is kept under 2 MiB. */
void wt_log_open(const char *path);
void wt_log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- lock.c */

/* Takes the lock: *ret_fd, or -EWOULDBLOCK if another daemon has it, or -errno. */
int wt_lock_take(const char *path, int *ret_fd);
/* Removes the file and gives the lock up. */
void wt_lock_drop(const char *path, int fd);

/* ---- liveness.c */

enum wt_life { WT_LIFE_ALIVE, WT_LIFE_DEAD, WT_LIFE_UNKNOWN };

struct wt_liveness {
	int pidfd; /* -1: see below */
	int32_t pid; /* in the daemon's namespace; 0 = not known */
	uint64_t start_ticks;
	int file_fd; /* its segment, where that alone tells; the caller's; -1 = not */
	int64_t asked_ns;
	enum wt_life life; /* without a pidfd: what is known */
};

/*
 * Finds the process of a segment, which the caller has open, and nobody else of ours: `fd`, or -1.
 * Never fails: at worst its life is unknown.
 */
void wt_liveness_open(struct wt_liveness *liveness, uint64_t pid_namespace, int32_t pid,
                      uint64_t start_ticks, int fd);
/* Does anybody beside us have the file of `fd` open or mapped? Dead: nobody. */
enum wt_life wt_liveness_by_file(int fd);
enum wt_life wt_liveness_poll(struct wt_liveness *liveness);
void wt_liveness_close(struct wt_liveness *liveness);
/* The pid here of a process of that namespace; 0: it is gone, or can't be seen from here. */
int32_t wt_liveness_find(uint64_t pid_namespace, int32_t pid, uint64_t start_ticks);
/* The daemon's own pid namespace; 0: not known. */
uint64_t wt_liveness_namespace(void);
/* Is it surely the daemon's own pid namespace? */
bool wt_liveness_is_here(uint64_t pid_namespace);

/* Parent and start time from /proc/PID/stat. 0 or -errno. */
int wt_proc_stat(int32_t pid, int32_t *ret_ppid, uint64_t *ret_start_ticks, char *ret_state);

/* ---- segment_map.c */

/* What the producer counts, in one snapshot. */
struct wt_counters {
	uint64_t launch_attempted, graph_launch_attempted, launch_dropped, call_dropped;
	uint64_t kernels_dropped_ring, links_dropped_ring, other_dropped_ring;
	uint64_t capture, reason, detail, armed_ns, finished_ns, cupti_version, driver_version;
	uint64_t kernels_seen, kernels_dropped_cupti, records_unknown, names_dropped;
	uint64_t entries_unknown, flush_cpu_ns, cupti_callback_ns;
	uint64_t app_profiler_sessions, app_records_forwarded, arena_used_bytes, device_count;
	uint64_t ranges_begun, ranges_dropped, ranges_early, ranges_untracked, ranges_unbalanced;
	uint64_t samples_taken, samples_dropped, sample_overflows, sample_interval_ns;
	uint64_t sampler_state, sampler_detail, sampler_cpu_ns;
	uint64_t profiled_launches, profile_dropped, profile_cost_ns, profile_state, profile_detail;
	uint64_t hook_launch_ns, hook_calls_timed, hook_calls_ns, hook_long_ns;
	uint64_t launching_threads, launching_thread_ns, hook_time[WT_COST_BUCKETS];
	uint64_t hook_start_ns, cupti_callbacks, cupti_bytes, app_callback_ns;
	uint64_t budget_ppm, budget_state, budget_stepped_ns, budget_cost_ppm;
};

struct wt_mapped {
	int fd;
	dev_t dev;
	ino_t ino;
	struct wt_segment_header header; /* our copy: the only one that is used */
	const struct wt_producer *producer;
	struct wt_consumer *consumer;
	struct wt_ring ring[WT_RING_MAX]; /* cells are mapped read-only */
	const uint8_t *arena;
};

void wt_segment_guard_install(void);

/* Text as SQLite takes it: bytes that are not UTF-8 become '?'. The length stays. */
void wt_text_mend(char *text);

/*
 * Opens, locks and checks a segment. 0, or with `why`:
 *   -EAGAIN       still being made       -EBUSY    another daemon drains it
 *   -EPROTO       of another version     -EPERM    not ours
 *   -EBADMSG      not a sound segment    other     -errno
 */
int wt_segment_open(int dir_fd, const char *name, struct wt_mapped *ret_mapped, char *why,
                    size_t why_bytes);
void wt_segment_close(struct wt_mapped *mapped);

/* These survive a file that was cut short: -EFAULT. */
int wt_segment_tails(const struct wt_mapped *mapped, uint64_t ret_tails[WT_RING_MAX]);
int wt_segment_heads(const struct wt_mapped *mapped, uint64_t ret_heads[WT_RING_MAX]);
/* What is committed: cells before `heads`, and the producer's end, 0 if it has not told it. */
int wt_segment_release(const struct wt_mapped *mapped, const uint64_t heads[WT_RING_MAX],
                       uint64_t finished_ns, int64_t now_ns);
/* The run key that a daemon settled for the segment: 0, or -ENOENT if none did. */
int wt_segment_run_key(const struct wt_mapped *mapped, char ret_key[WT_RUN_KEY_BYTES]);
int wt_segment_settle_run_key(const struct wt_mapped *mapped, const char *key);
int wt_segment_counters(const struct wt_mapped *mapped, struct wt_counters *ret_counters);
int wt_segment_device(const struct wt_mapped *mapped, uint64_t index, struct wt_device *ret_device);
int wt_segment_cupti_path(const struct wt_mapped *mapped, char ret_path[WT_TEXT_BYTES]);
/* Copies whole cells from `pos` on, at most `count`; *ret_count < count: a hole is there. */
int wt_segment_cells(const struct wt_mapped *mapped, enum wt_ring_index ring, uint64_t pos,
                     size_t count, struct wt_cell *cells, size_t *ret_count);
/* A kernel name into `name` (WT_NAME_BYTES_MAX + 1); -ENOENT: the id leads nowhere. */
int wt_segment_name(const struct wt_mapped *mapped, uint32_t id, char *name);

/* ---- runs.c */

enum wt_statement {
	WT_SQL_BEGIN,
	WT_SQL_COMMIT,
	WT_SQL_ROLLBACK,
	WT_SQL_PROC_NEW,
	WT_SQL_PROC_UPDATE,
	WT_SQL_LAUNCH,
	WT_SQL_LAUNCHES, /* WT_ROWS_AT_ONCE of them */
	WT_SQL_EXEC,
	WT_SQL_EXECS,
	WT_SQL_EXEC_LINK,
	WT_SQL_CALL,
	WT_SQL_CALLS,
	WT_SQL_PACKED,
	WT_SQL_PACKED_END,
	WT_SQL_PACKED_FIND,
	WT_SQL_COPY,
	WT_SQL_SYNC,
	WT_SQL_OVERHEAD,
	WT_SQL_CLOCK,
	WT_SQL_CONTEXT,
	WT_SQL_GPU,
	WT_SQL_PROCESS_GPU,
	WT_SQL_KERNEL,
	WT_SQL_CONFIG,
	WT_SQL_STAT,
	WT_SQL_STAT_ADJUST,
	WT_SQL_SHARE,
	WT_SQL_SHARES,
	WT_SQL_SWEEP,
	WT_SQL_LINK_SAVE,
	WT_SQL_LINK_FORGET,
	WT_SQL_RANGE,
	WT_SQL_RANGE_NAME,
	WT_SQL_RANGE_COUNT,
	WT_SQL_SAMPLER_NEW,
	WT_SQL_SAMPLER,
	WT_SQL_CHUNK,
	WT_SQL_CHUNK_REMOVE,
	WT_SQL_FOLD,
	WT_SQL_MEASURED,
	WT_SQL_MEASURED_PROFILE,
	WT_SQL_BUCKET,
	WT_SQL_GPU_STATE,
	WT_SQL_PROFILE,
	WT_SQL_PROFILE_COUNT,
	WT_SQL_OWN_COST,
	WT_SQL_HOOK_TIME,
	WT_SQL_GRAPH_UNOBSERVED,
	WT_SQL_DROP_MARK,
	WT_SQL_MAX
};

/* A launch configuration. */
struct wt_config {
	struct wt_config_key key;
	int64_t config_id;
	uint32_t next; /* same hash */
	struct wt_wave_launch launch; /* all but the duration */
	struct wt_sweep_facts sweep;
};

struct wt_kernel_name {
	char *name;
	int64_t kernel_id;
	uint32_t next; /* same hash */
};

struct wt_range_name {
	char *text; /* domain, newline, name; no newline: it has none */
	int64_t name_id;
	uint32_t next; /* same hash */
};

struct wt_gpu {
	struct wt_device device;
	int64_t device_id;
};

/* Kernels of a device, by time: see shares.c. */
struct wt_device_sweep {
	struct wt_device_sweep *next;
	struct wt_run *run;
	struct wt_overlap *overlap;
	int64_t device_id, kernels_late, kernels_refused;
};

/* What a kernel had more than by itself, and beside others. */
typedef int wt_shares_tell(void *arg, int64_t config_id, const struct wt_idle *more,
                           const struct wt_beside *beside);

enum wt_store_state { WT_STORE_CLOSED, WT_STORE_OK, WT_STORE_FULL, WT_STORE_ERROR };

struct wt_run {
	struct wt_run *next;
	char key[WT_RUN_KEY_BYTES];
	char path[WT_PATH_BYTES];
	int process_count; /* attached processes; of an import those that come yet, too */
	struct wt_process *loaded; /* of them */
	struct wt_daemon *daemon; /* NULL: an import */
	enum wt_store_state state;
	char error[WT_DB_ERROR_BYTES];
	int64_t retry_ns, backoff_ns;

	/* only while open */
	sqlite3 *db;
	bool is_wal;
	sqlite3_stmt *statement[WT_SQL_MAX];
	int64_t next_exec_id, next_call_id;
	struct wt_kernel_name *names;
	size_t names_count, names_room;
	struct wt_map name_of;
	struct wt_config *configs;
	size_t configs_count, configs_room;
	struct wt_map config_of;
	struct wt_gpu *gpus;
	size_t gpus_count;
	struct wt_device_sweep *sweeps;
	wt_shares_tell *tell_share; /* NULL but for wt_shares_rest() */
	void *tell_share_arg;
	struct wt_batch batch[WT_BATCH_MAX]; /* no rows but while a batch is drained */
	void *batch_order;
	size_t batch_order_room;
	struct wt_pack pack;
	struct wt_drop drop;
	int64_t loose[WT_BATCH_MAX]; /* rows that could be packed, or packed better */
	struct wt_range_name *range_names;
	size_t range_names_count, range_names_room;
	struct wt_map range_name_of;
	int64_t sample_bytes; /* of sample_chunk.data */
	bool has_damage; /* rows of a damaged chunk were passed over */
	bool is_measured; /* there are samples, or profiled launches */
	struct wt_folds *folds; /* see folds.h; NULL: not begun */
	int64_t watermark_ns; /* no kernel that starts before is missing, in what was committed last */
	struct wt_ledger_work *ledger; /* ledger_sums_task.c; NULL: not begun */
	int64_t batches;
};

struct wt_daemon;
struct wt_process;

/*
 * The run key of a segment: its own, the one settled for it, or one made from its ancestors, which
 * is settled then. `pid` as seen here, or 0.
 */
void wt_run_key(const struct wt_mapped *mapped, int32_t pid, char key[WT_RUN_KEY_BYTES]);
/* The environment that a process was started with: on the heap, each variable ended by NUL but perhaps
 * the last. NULL: not ours to read. */
char *wt_environ_read(int32_t pid, size_t *ret_bytes);
/* The known run of a key, added if new; not opened yet. NULL: no memory. */
struct wt_run *wt_run_get(struct wt_daemon *daemon, const char *key);
/* Opens the run file if it is time to try. 0 or -errno. */
int wt_run_open(struct wt_daemon *daemon, struct wt_run *run,
                const struct wt_segment_header *header, int64_t now_ns);
/* Forgets all that is in memory and tries again later. `err` is why (-errno). */
void wt_run_fail(struct wt_daemon *daemon, struct wt_run *run, int err, int64_t now_ns);
/* Makes a run file that is not in the data directory, or not yet: for an import. 0 or -errno. */
int wt_run_create(const struct wt_daemon *daemon, struct wt_run *run, const char *path,
                  const struct wt_segment_header *header);
/* What a run is called by: its id, and the end of its file's name. */
unsigned wt_run_hash(const struct wt_daemon *daemon, const char *key);
/* <data dir>/runs, with what leads to it. 0 or -errno. */
int wt_run_make_folder(const char *data_dir);
/* One row of `meta`, replaced. 0 or -errno. */
int wt_run_set_meta(struct wt_run *run, const char *key, const char *value);
/* This daemon's file of a key: 0, -ENOENT or another -errno. */
int wt_run_find_file(const struct wt_daemon *daemon, const char *key, char path[WT_PATH_BYTES]);
/* Where this daemon is, such that no other writes the same run files: into daemon->place. */
void wt_run_set_place(struct wt_daemon *daemon);
void wt_run_destroy(struct wt_run *run);

/* ---- store.c */

/*
 * kernel_row, launch_row, call_row and share_row: all rows, packed or not. What reads kernel_exec, launch_call,
 * api_call and kernel_share has them, too; who writes says main.kernel_exec. 0 or -errno.
 */
int wt_store_open_rows(struct wt_run *run);
int wt_store_prepare(struct wt_run *run);
void wt_store_finalize(struct wt_run *run);
/* 0 or -errno, and the reason in run->error. */
int wt_store_check(struct wt_run *run, int sqlite_code);
/* wt_db_run() for one of the run's statements, through wt_store_check(). */
#define wt_store_run(run, id, ...)                                                                 \
	wt_store_check((run), wt_db_run((run)->statement[(id)], __VA_ARGS__))
/* ---- configs.c */

int wt_configs_load(struct wt_run *run);
void wt_configs_fini(struct wt_run *run);
/* 0 or -errno; each adds a row where it is new. */
int wt_configs_kernel(struct wt_run *run, const char *name, int64_t *ret_kernel_id);
int wt_configs_device(struct wt_run *run, const struct wt_device *device, uint32_t *ret_gpu_idx);
int wt_configs_config(struct wt_run *run, const struct wt_config_key *key, uint32_t gpu_idx,
                      uint32_t *ret_config_idx);
/* The limits of a device of this run; all 0 for an unknown id. */
const struct wt_device *wt_configs_device_of(const struct wt_run *run, int64_t device_id);
/* The ten derived columns of `config`, in their order, as parameters `first` to `first` + 9. */
int wt_configs_bind(sqlite3_stmt *statement, int first, const struct wt_config_values *values);

/* ---- ranges.c: named ranges of the application */

/* The dictionary of a run, read when it is opened. 0 or -errno. */
int wt_ranges_load(struct wt_run *run);
void wt_ranges_fini(struct wt_run *run);
/* Counters of one process: read back, and written with each batch that has any. */
int wt_ranges_load_count(struct wt_process *process);
int wt_ranges_save_count(struct wt_process *process);
int wt_ranges_drain(struct wt_process *process, const struct wt_range *range);

/* ---- sampled.c: instead of what process.c and drain.c do for processes */

struct wt_sampled {
	int64_t sampler_id, device_id; /* WT_DB_NULL: not told */
	uint32_t sm_count; /* 0: not known */
	int64_t first_ns, last_ns, start_ns; /* 0 = none; start of the last sample */
	int64_t stored, bad; /* samples; bad: all of the next, and records of the device's state */
	int64_t bad_order, bad_time, bad_value, bad_device,
	        bad_told; /* why; those that the log has */
	struct wt_sample *samples; /* of the batch */
	size_t count, room;
};

int wt_sampled_load(struct wt_process *process);
void wt_sampled_unload(struct wt_process *process);
int wt_sampled_read_device(struct wt_process *process);
/* As least_length() of drain.c: 0, not a kind of samplers. */
uint32_t wt_sampled_least_length(const struct wt_cell *cell);
int wt_sampled_drain(struct wt_process *process, const struct wt_cell *cell);
int wt_sampled_save(struct wt_process *process, bool is_over);

#define WT_BUCKET_NS (10 * WT_MS)

/* Sums of a row of sm_bucket: time x share of SMs, and so on. */
struct wt_bucket {
	int64_t start_ns, sampled_ns, samples;
	double active, active_min, active_max, cycles, warps, tensor, read_bytes, write_bytes;
	/* Where an SM was active; and of that, where least and most are known, with their sums. */
	int64_t busy_ns, extremes_ns;
	double min_share_ns, max_share_ns;
	bool has_warps, has_tensor, has_read, has_write;
};

/* Is it in a bucket? Where its cycles are not known, nobody looked. */
bool wt_bucket_takes(const struct wt_sample *sample);
void wt_bucket_begin(struct wt_bucket *bucket, int64_t start_ns);
/* The part of a sample that lies in the bucket; `is_begin`: it begins there. */
void wt_bucket_add(struct wt_bucket *bucket, const struct wt_sample *sample, int64_t part_ns,
                   bool is_begin);

/* ---- profiled.c */

uint32_t wt_profiled_least_length(const struct wt_cell *cell);
int wt_profiled_drain(struct wt_process *process, const struct wt_cell *cell);
int wt_profiled_save_count(struct wt_process *process);
int wt_profiled_load_count(struct wt_process *process);

/* ---- cost.c */

/* What wavetap took in the process; of a live one at most once a second. */
int wt_cost_save(struct wt_process *process, bool is_live);
/* Into its segment, as far as it is drained. */
int64_t wt_cost_bytes_written(const struct wt_process *process);

/* ---- process.c */

/* Counted here, stored in `proc`. */
struct wt_tally {
	int64_t cells_torn, cells_bad, cells_gap;
	int64_t launches_stored, launches_failed, launches_captured, launches_linked;
	int64_t launches_linked_by_order, launches_unobserved, launches_unlinked;
	int64_t graph_launches_stored, graph_launches_failed, graph_launches_unobserved;
	int64_t kernels_stored, kernels_graph, kernels_device, kernels_cupti_only, kernels_no_time;
	int64_t ranges_stored, profiles_stored;
};

struct wt_context_info {
	uint32_t context_id;
	int32_t sm_count; /* 0 = all of the device */
};

/* Where exec ids stood when launches up to `end_seq` had come: see process.c. */
struct wt_exec_mark {
	uint64_t end_seq;
	int64_t exec_id;
};

struct wt_process {
	struct wt_process *next;
	char name[NAME_MAX + 1]; /* of the segment file */
	struct wt_mapped mapped;
	struct wt_liveness liveness;
	struct wt_run *run;
	bool is_superseded; /* the process went on by exec, with a newer segment */
	bool is_lost; /* segment cut short or corrupt: nothing more can be read */
	char lost_why[80];
	bool is_lost_saved; /* the file says so */
	bool is_done; /* ended and committed: to be unlinked */
	bool is_graph_unobserved_told; /* the file has a row of it */
	bool has_work; /* more waits in the rings */
	bool has_more; /* an import feeds it, and knows that more will come: not the end */
	struct wt_record *record; /* NULL: not asked for, or not begun */
	struct wt_sampled *sampled; /* of a sampler, while loaded: see sampled.c */

	bool is_loaded; /* everything below is valid */
	struct wt_process *next_loaded; /* of the run */
	bool is_stat_loaded; /* its rollups are here */
	bool is_complete; /* nothing comes any more */
	int64_t clock_ns; /* CLOCK_REALTIME of the last clock record; 0 = none */
	int64_t process_id;
	uint64_t cursor[WT_RING_MAX];
	struct wt_counters counters, saved_counters;
	struct wt_tally tally;
	int64_t first_ns, last_ns; /* 0 = none */
	struct wt_linker *linker;
	uint64_t seq_end; /* highest launch seq + 1 */
	int64_t packed_seq; /* pack.c looked at launch calls up to here; -1 = none */
	uint64_t last_entry_ns; /* of the last call that was drained; 0 = none */
	uint64_t calls_until_ns; /* see drain.c; 0 = all are known */
	struct wt_drop_ticket drop_ticket;
	struct wt_exec_mark *marks;
	size_t marks_count, marks_room, marks_first;
	uint32_t gpu_of[WT_DEVICES_MAX]; /* ordinal -> index in run->gpus; WT_MAP_NONE */
	uint64_t devices_read;
	struct wt_context_info *contexts;
	size_t contexts_count;
	struct wt_map kernel_of; /* name id -> kernel id */
	struct wt_stat *stats;
	size_t stats_count, stats_room;
	struct wt_map stat_of; /* 2 * config index + in_graph */
	uint32_t *dirty;
	size_t dirty_count, dirty_room;

	int64_t drained_ns, hole_since_ns, device_since_ns, active_ns;
	uint64_t hole_pos;
	uint64_t tails[WT_RING_MAX]; /* last seen, for status */
	int64_t cost_saved_ns; /* CLOCK_MONOTONIC; 0 = not yet */
	bool is_stalled;
	bool is_timeless; /* the last kernels came without times: see drain_kernel.c */
	uint32_t timed_window, timeless_window; /* of the last kernels, so many without times */
};

/* The segment of a sampler: none of the processes of the run. */
static inline bool wt_process_is_sampler(const struct wt_process *process)
{
	return process->mapped.header.producer == WT_PRODUCER_SAMPLER;
}

/* Reads or makes the row of a process and everything in memory. 0 or -errno. */
int wt_process_load(struct wt_process *process, int64_t now_ns);
/* Throws away what load made. */
void wt_process_unload(struct wt_process *process);
/* The library is in the process without its hooks: no kernel will ever find its call. */
static inline bool wt_process_is_unhooked(const struct wt_process *process)
{
	return process->counters.capture == WT_CAPTURE_KERNELS_ONLY &&
	       !process->counters.launch_attempted && !process->counters.graph_launch_attempted;
}

/* Flags of a call with what is known since: what returned after the step down wasn't recorded, though a
 * thread may have slept since it looked. */
uint32_t wt_process_call_flags(const struct wt_process *process, uint32_t flags,
                               uint64_t return_ns);

/* A graph launch (with such flags) whose kernels CUPTI did not record, as far as is known. */
bool wt_process_is_graph_unobserved(const struct wt_process *process, const struct wt_call *r);

/* Writes counters and cursors, inside the open transaction. `state` as in proc. */
int wt_process_save(struct wt_process *process, const char *state);
int wt_process_restore_links(struct wt_process *process, int64_t now_ns);
int wt_process_add_context(struct wt_process *process, uint32_t context_id, int32_t sm_count);
int wt_process_read_devices(struct wt_process *process);
void wt_process_span(struct wt_process *process, uint64_t start_ns, uint64_t end_ns);
/* Can a device of the process have worked then? One record far from all others would stretch the run. */
bool wt_process_is_time(const struct wt_process *process, uint64_t start_ns, uint64_t end_ns);
void wt_process_destroy(struct wt_process *process);
const char *wt_process_end_state(const struct wt_process *process);
extern const struct wt_linker_output wt_process_linker_output;

/* rollups, in process_stat.c */
int wt_process_stat_load(struct wt_process *process);
int wt_process_stat_add(struct wt_process *process, uint32_t config_idx, bool in_graph,
                        int64_t start_ns, int64_t end_ns, const struct wt_wave_result *wave);
int wt_process_stat_adjust(struct wt_process *process, uint32_t config_idx, bool in_graph,
                           const struct wt_idle *more, const struct wt_beside *beside);
int wt_process_stat_flush(struct wt_process *process);

/* ---- shares.c: inside a transaction */

/* Reads what a former daemon left unsettled. */
int wt_shares_load(struct wt_run *run);
void wt_shares_fini(struct wt_run *run);
/* A kernel was stored, as if it had its device to itself. */
int wt_shares_add(struct wt_process *process, uint32_t config_idx, bool in_graph, int64_t exec_id,
                  int64_t start_ns, int64_t end_ns, const struct wt_wave_result *wave);
/*
 * For a reader, in its transaction: kernels that are not settled, as if nothing came any more. Rollups and what
 * is told sum to the ledger. 0, -ERANGE: one has impossible times, or -errno.
 */
int wt_shares_rest(sqlite3 *db, wt_shares_tell *tell, void *arg);
/* Settles what can be, of all processes of the run, and writes it with their rollups. */
int wt_shares_settle(struct wt_run *run);

/* ---- ledger_sums_task.c */

/* The sums of the ledger, when they are due, beside the drain. 0 or -errno of the run file. */
int wt_ledger_work_step(struct wt_run *run, bool is_over, int64_t now_ns);
/* Has a run that is over all of them, or will it have none? */
bool wt_ledger_work_is_done(const struct wt_run *run);
/* Are rows needed for more of them? */
bool wt_ledger_work_is_wanted(const struct wt_run *run);
void wt_ledger_work_fini(struct wt_run *run);

/* ---- drain.c */

/* One round for one process. 0, or -errno of the run file (then the run has failed). */
int wt_drain(struct wt_process *process, struct wt_cell *cells, int64_t now_ns, bool is_last);

/* drain_cell.c: whole, and of a kind of this ring? What is beyond its length is zeroed. */
bool wt_drain_is_sound(const struct wt_process *process, enum wt_ring_index ring,
                       struct wt_cell *cell);
/* The record in a sound cell into rows. 0 or -errno of the run file. */
int wt_drain_cell(struct wt_process *process, const struct wt_cell *cell, int64_t now_ns);
/* drain_kernel.c: one kernel record -> config, idle, link, row. */
int wt_drain_kernel(struct wt_process *process, const struct wt_kernel *kernel, int64_t now_ns);

#define WT_BATCH_CELLS 16384u

/* ---- record.c: all of them do nothing for a process that wants no recording */

/* At the start of a batch, before any cell is drained. */
void wt_record_begin(struct wt_process *process);
/* What was drained: whole cells from `pos` on, or one that is torn. */
void wt_record_cells(struct wt_process *process, enum wt_ring_index ring, uint64_t pos,
                     const struct wt_cell *cells, size_t count);
void wt_record_torn(struct wt_process *process, enum wt_ring_index ring, uint64_t pos);
/* Just before the commit. 0, or -errno of the run file; a recording that fails is no error. */
int wt_record_commit(struct wt_process *process, int64_t now_ns, bool is_dead, bool is_over);
/* The batch was rolled back. */
void wt_record_drop(struct wt_process *process);
void wt_record_close(struct wt_process *process);
/* For status: NULL = none. */
const char *wt_record_path(const struct wt_process *process);
const char *wt_record_problem(const struct wt_process *process);

/* ---- scan.c */

/* A daemon in the namespace of a segment's maker takes milliseconds to find it. */
#define WT_FOREIGN_NS (5 * WT_SECOND)

struct wt_refused {
	struct wt_refused *next;
	char name[NAME_MAX + 1];
	char why[160];
	ino_t ino;
	bool is_making; /* still without its magic */
	bool is_useless; /* nobody will ever read it: not sound, or never finished */
	bool is_foreign; /* of another user id that is ours here: see scan.c */
	int64_t first_ns, since_ns; /* first and last tried */
	struct wt_liveness liveness;
};

/* Looks for new segments; `is_forced`: also again at those just refused. 0 or -errno of the folder. */
int wt_scan(struct wt_daemon *daemon, int64_t now_ns, bool is_forced);
void wt_scan_fini(struct wt_daemon *daemon);
/* A segment of this data directory, whoever made it? */
bool wt_scan_is_segment_name(const struct wt_daemon *daemon, const char *name);
/* Removes the file of a process that is done, if it is still the same file. */
void wt_scan_unlink(struct wt_daemon *daemon, const struct wt_process *process);

/* ---- samplers.c */

struct wt_sampler_child;

/* Starts and ends what is due; before the processes that are done are let go. */
void wt_samplers_step(struct wt_daemon *daemon, int64_t now_ns);
void wt_samplers_close(struct wt_daemon *daemon);
/* Did we start it? Then it is ended with its run, and killed where it does not end. */
bool wt_samplers_is_child(const struct wt_daemon *daemon, pid_t pid);

/* For status. */
struct wt_sampler_view {
	const char *run_key;
	struct wt_device device; /* of one by hand perhaps not known: all 0 */
	pid_t pid; /* 0: not running */
	const struct wt_counters *counters; /* NULL: its segment is gone, or not there yet */
	const char *problem; /* "" = none */
};
void wt_samplers_each(const struct wt_daemon *daemon,
                      void (*tell_one)(void *opaque, const struct wt_sampler_view *view),
                      void *opaque);

/* ---- control.c */

struct wt_client;

int wt_control_open(struct wt_daemon *daemon);
void wt_control_close(struct wt_daemon *daemon);
/* Accepts, reads and answers what is ready. */
void wt_control_poll(struct wt_daemon *daemon, int64_t now_ns);

/* ---- keep.c */

struct wt_keeper {
	struct wt_keep limits;
	bool is_due; /* a run has ended since they were applied */
	char **ended; /* paths of the runs that did: they stay */
	size_t ended_count;
	DIR *dir; /* while the runs are listed, one a step */
	struct wt_db_run_file *runs;
	size_t count, room;
};

/* Reads WAVETAP_KEEP. */
void wt_keep_open(struct wt_daemon *daemon);
void wt_keep_close(struct wt_daemon *daemon);
/* A run has ended: its file. */
void wt_keep_due(struct wt_daemon *daemon, const char *path);
/* Does a little of what is due; false: nothing is. */
bool wt_keep_step(struct wt_daemon *daemon);
/* Removes a run file by its name. 0, -EBUSY: it is being written, or another -errno. */
int wt_keep_request(struct wt_daemon *daemon, const char *name, char error[WT_DB_ERROR_BYTES]);

/* ---- start.c */

/*
 * Reads the options, leaves the surroundings of whoever started us, takes the lock (lock_fd).
 * 0: go on; else the exit code plus one, said on stderr or in the log where there is something
 * to say. Once, before any other thread or descriptor.
 */
int wt_start(int argc, char **argv, struct wt_daemon *daemon);

/* ---- main.c */

struct wt_daemon {
	char data_dir[WT_PATH_BYTES];
	char lock_path[WT_PATH_BYTES];
	char sock_path[WT_PATH_BYTES];
	char prefix[NAME_MAX + 1]; /* of segment names */
	char dirhash[20]; /* in them, with dashes around it */
	char place[80]; /* boot and shared-memory folder */
	int64_t idle_ns;
	int64_t started_ns;
	bool is_foreground, is_spawned, is_stopping;
	int dir_fd, lock_fd, epoll_fd, signal_fd, inotify_fd, listen_fd;
	struct wt_process *processes;
	struct wt_run *runs;
	struct wt_refused *refused;
	struct wt_client *clients;
	struct wt_keeper keeper;
	struct wt_sampler_child *samplers;
	struct wt_cell *cells; /* WT_BATCH_CELLS */
	void (*find_processes)(struct wt_daemon *daemon); /* looks for segments, now */
	int64_t scanned_ns;
	bool is_scan_wanted;
};

/* One pass over all processes; true if something moved. Used by control.c for `drain`. */
bool wt_daemon_round(struct wt_daemon *daemon, int64_t now_ns, bool is_last);

#endif /* WT_DAEMON_H */
