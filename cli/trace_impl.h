/*
 * trace_impl.h - what the parts of trace_export.c share. Single-threaded; functions block on files.
 */
#ifndef WT_CLI_TRACE_IMPL_H
#define WT_CLI_TRACE_IMPL_H

#include <sqlite3.h>
#include <stdbool.h>

#include "cli/progress.h"
#include "cli/trace.h"
#include "cli/trace_export.h"
#include "cli/trace_row.h"

/* A bit for each of many numbers, by process: pages of those that are near each other. */
struct wt_trace_bits {
	struct wt_map page_at;
	uint64_t (*pages)[64];
	size_t page_count;
};

struct wt_trace_process {
	int64_t process_id, pid, rank; /* rank -1: none */
	int64_t shown_pid; /* in the trace, where each has its own */
	char *name, *command; /* "python rank 0 (pid 7)" */
	uint64_t track;
};

struct wt_trace_device {
	int64_t device_id, sms;
	char *name, *uuid;
	uint64_t track;
};

/* A launch configuration, as far as notes tell it. Texts are numbers in the trace; 0: none. */
struct wt_trace_config {
	int64_t kernel_id, config_id, device_at;
	uint64_t name, full_name, grid, block, cluster, limiter, reason, evidence;
	int64_t regs, smem_bytes, blocks_per_sm; /* the last: -1 unknown */
	double waves, occupancy, active_sms; /* < 0: unknown */
};

struct wt_trace_work {
	const struct wt_trace_query *query;
	sqlite3 *db;
	struct wt_trace trace;
	struct wt_select select; /* the query's, with the window of the trace; not to be freed */
	bool has_window; /* of less than the run */
	bool is_cut; /* by the limit of events */
	bool is_partial; /* kernels of the window are left out: launches of those, too */
	int64_t start_ns, end_ns; /* of the trace */
	int64_t run_start_ns, run_end_ns;
	int64_t low_ns, high_ns; /* rows that end before, or start at or after, are not in it */
	struct wt_trace_process *processes;
	size_t process_count;
	struct wt_map process_at;
	struct wt_trace_device *devices;
	size_t device_count;
	struct wt_map device_at;
	struct wt_trace_config *configs;
	size_t config_count;
	struct wt_map config_at, kernel_at;
	char **names, **raw_names; /* of kernels, by kernel_at */
	size_t kernel_count;
	sqlite3_stmt *find_config, *find_measured;
	struct wt_trace_bits launched; /* launches that have a kernel in the trace */
	struct wt_trace_bits graph_called,
	        graph_launched; /* graph launches that are in it; with a kernel */
	struct wt_progress progress;
	/* written */
	int64_t kernels, copies, gaps, calls, steps, ranges, waits;
	/* left out */
	int64_t no_time, refused;
	const char *steps_reason; /* why there are none; NULL: there are, or none were found */
};

/* ---- trace_bits.c; numbers that can't be are in no set. */
bool wt_trace_bits_get(const struct wt_trace_bits *bits, size_t process_at, int64_t number);
int wt_trace_bits_set(struct wt_trace_bits *bits, size_t process_at, int64_t number);
void wt_trace_bits_fini(struct wt_trace_bits *bits);
/* The number of a flow from a launch, or graph launch; 0: it can't have one. */
uint64_t wt_trace_flow(size_t process_at, int64_t seq, bool is_graph);

/* ---- trace_plan.c: where the trace ends, so that it has at most so many slices. 0 or -errno. */
int wt_trace_plan(struct wt_trace_work *work);

/* ---- trace_names.c: processes and devices with their tracks, kernels, configurations. 0 or -errno. */
int wt_trace_load(struct wt_trace_work *work);
void wt_trace_unload(struct wt_trace_work *work);
/* NULL: none such, or no memory (work->trace.error). Good until the next. */
const struct wt_trace_config *wt_trace_config(struct wt_trace_work *work, int64_t config_id);
/* Index, or SIZE_MAX. */
size_t wt_trace_process_at(const struct wt_trace_work *work, int64_t process_id);
size_t wt_trace_device_at(const struct wt_trace_work *work, int64_t device_id);

/* ---- the parts of it, each 0 or -errno */
int wt_trace_kernels(struct wt_trace_work *work); /* trace_kernels.c: and copies; before calls */
int wt_trace_graphs(struct wt_trace_work *work); /* trace_graphs.c */
int wt_trace_graph_calls(struct wt_trace_work *work); /* before kernels */
int wt_trace_calls(struct wt_trace_work *work); /* trace_calls.c */
int wt_trace_waits(struct wt_trace_work *work); /* trace_spans.c */
int wt_trace_overhead(struct wt_trace_work *work);
int wt_trace_ranges(struct wt_trace_work *work);
int wt_trace_steps(struct wt_trace_work *work); /* trace_steps.c */
int wt_trace_ledger(struct wt_trace_work *work); /* trace_ledger.c: gaps, SMs by the model, waves */
int wt_trace_samples(struct wt_trace_work *work); /* trace_samples.c */
int wt_trace_about(struct wt_trace_work *work); /* trace_about.c: last */

/* A statement with ?1 and ?2 as the bounds of the trace. 0 or -EIO. */
int wt_trace_prepare(const struct wt_trace_work *work, const char *sql, sqlite3_stmt **ret);
/* Rows of these processes alone; "1" for all. */
const char *wt_trace_process_condition(const struct wt_trace_work *work);

/* Ranks of tracks under a device, and under a process: the order in which they are shown. */
enum {
	WT_RANK_SMS = 1,
	WT_RANK_WAVES,
	WT_RANK_SAMPLED,
	WT_RANK_NVML = 10,
	WT_RANK_GAPS = 20,
	WT_RANK_GRAPHS,
	WT_RANK_STREAMS = 30,
	WT_RANK_STEPS = 1,
	WT_RANK_RANGES,
	WT_RANK_WAITS,
	WT_RANK_OVERHEAD,
};

#endif /* WT_CLI_TRACE_IMPL_H */
