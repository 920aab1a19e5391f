/*
 * report.h - one run file as the numbers that `top` and the summary of `run` show.
 *
 * A report is loaded in one read transaction, so its parts agree even while the daemon
 * writes. SM-time is kept as the file has it (integers, SM-ns); "gpu_ns" is the same in
 * ns of the whole GPU: SM-time / SMs of its device. Unknown is a flag, never a 0.
 *
 * Single-threaded; blocks on the file.
 */
#ifndef WT_CLI_REPORT_H
#define WT_CLI_REPORT_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/evidence.h"
#include "analysis/sweep.h"
#include "cli/cost.h"
#include "cli/dropped.h"

struct wt_ledger;
struct wt_select;
struct wt_select_steps;

enum wt_report_by {
	WT_REPORT_BY_IDLE,
	WT_REPORT_BY_TAIL_IDLE,
	WT_REPORT_BY_UNDERFILL,
	WT_REPORT_BY_WAVE,
	WT_REPORT_BY_TIME,
	WT_REPORT_BY_LAUNCHES,
	WT_REPORT_BY_STRAGGLE,
	WT_REPORT_BY_GAP,
	WT_REPORT_BY_LATENCY,
	WT_REPORT_BY_CV,
};

enum wt_report_group {
	WT_REPORT_GROUP_KERNEL,
	WT_REPORT_GROUP_CONFIG,
	WT_REPORT_GROUP_DEVICE,
	WT_REPORT_GROUP_PROCESS,
	WT_REPORT_GROUP_RANK,
	WT_REPORT_GROUP_STEP,
	WT_REPORT_GROUP_RANGE,
	WT_REPORT_GROUP_STREAM,
	WT_REPORT_GROUP_GRAPH,
	WT_REPORT_GROUP_PHASE,
	WT_REPORT_GROUP_DURATION,
	WT_REPORT_GROUP_CLASS,
};

/* Rows sum several kernels, and are not kernels or their configurations. */
static inline bool wt_report_is_sum(enum wt_report_group group)
{
	return group >= WT_REPORT_GROUP_DEVICE;
}

/*
 * What single launches must be read for: gaps (with the ledger of the devices), and latencies. The
 * file's rollups have all else of kernels, configurations, devices, processes, ranks and classes.
 */
enum wt_report_need {
	WT_REPORT_NOT_NEEDED,
	WT_REPORT_IF_CHEAP, /* the run has at most WT_REPORT_LAUNCHES_CHEAP */
	WT_REPORT_NEEDED,
};
#define WT_REPORT_LAUNCHES_CHEAP 250000 /* 0.4 s: 249,000 kernels, x86-64, 2 cores, 2026-11-29 */

struct wt_report_query {
	enum wt_report_by by;
	enum wt_report_group group;
	enum wt_report_need gaps, latency;
	const struct wt_select *select; /* applied already; NULL: all of the run */
	bool has_full_names;
};

/* One kernel or one launch configuration, or a sum of them. */
struct wt_report_row {
	enum wt_report_group group;
	int64_t kernel_id; /* -1: the row is of several */
	int64_t config_id; /* grouped by configuration, else -1 */
	char *kernel; /* as recorded, mangled; NULL: the row is of several */
	char *kernel_shown; /* for people: the name, or what the row sums */
	int64_t configs;
	int64_t launches, launches_in_graph;
	int64_t time_ns, min_ns, max_ns;
	/*
	 * Measured where the run has that, else the model's (wt_report_row_evidence):
	 * kernel SM-time = active + underfill + wave + straggle + ramp + unjudged + comm.
	 */
	int64_t underfill_sm_ns, wave_sm_ns, wave_max_sm_ns, unjudged_sm_ns;
	int64_t straggle_sm_ns, ramp_sm_ns; /* with has_measured */
	int64_t active_sm_ns; /* with wt_report.has_active */
	int64_t tail_idle_sm_ns; /* wave + straggle */
	int64_t idle_sm_ns; /* underfill + wave + straggle + ramp */
	int64_t comm_sm_ns; /* idle while only collectives ran */
	double underfill_gpu_ns, wave_gpu_ns, wave_max_gpu_ns, idle_gpu_ns, unjudged_gpu_ns;
	double straggle_gpu_ns, ramp_gpu_ns;
	bool has_measured; /* of some of its kernels: then the following are known */
	bool disagrees; /* model and measurement, or two measurements, beyond their errors */
	struct wt_sweep_share
	        measured[WT_EVIDENCE_MAX]; /* what of the figures above is not the model's */
	int64_t error_sm_ns; /* of active_sm_ns, as far as measured: 95 of 100 are within; -1: unknown */
	double warps_per_sm; /* resident, mean; < 0: unknown, like the next four */
	double warps_share; /* of the most that an SM holds: achieved occupancy */
	double tensor_share; /* of time x SMs: the tensor pipe worked */
	double dram_share; /* of the device's peak bandwidth */
	double issue_share; /* of issue slots of all SMs */
	enum wt_bound bound; /* WT_BOUND_UNKNOWN: or several */
	char bound_reason[96]; /* why it is not known of one of them; "": no reason is */
	/* private to report_measured.c: what these are means of */
	struct wt_report_mean {
		double sum, time_ns;
	} warps_sum, warps_share_sum, tensor_sum, dram_sum, issue_sum;
	double error_sum_sm_ns;
	unsigned bounds;
	bool has_wave; /* at least one configuration is judged */
	bool has_waves; /* `waves` is known and one */
	double waves;
	bool is_persistent; /* by its name: waves of its grid mean nothing */
	char *model_reason; /* why something is not judged, or NULL */
	double m2_ns2; /* of the durations: sum of squared deviations from their mean */
	double cv; /* their deviation (of the population) by their mean; < 0: fewer than two */
	/* wt_report.has_gaps: time without a kernel before those of the row */
	int64_t gap_before_sm_ns;
	double gap_before_gpu_ns;
	/* wt_report.has_latency: of launches whose call is known; sums */
	int64_t latency_launches, latency_ns, call_ns;
	double latency_mean_ns, call_mean_ns; /* valid where latency_launches > 0 */
	int64_t queued_launches; /* of these: a kernel of their stream still ran as they were asked for */
	/* a sum of several; -1 or NULL where there is none, or several */
	int64_t group_id;
	int64_t context_id, stream_id, graph_id, step;
	int64_t low_ns, high_ns; /* durations from, and below; of a step high_ns is its length */
	char *part; /* name of a class, range or phase */
	int64_t kernels, devices, processes;
	int64_t sms, process_id, pid, rank, local_rank, world_size;
	char *device, *device_uuid, *process, *hostname;
	/* also grouped by configuration */
	int64_t device_id;
	/* grouped by configuration only */
	int64_t grid[3], block[3], cluster[3];
	int64_t regs_per_thread, smem_bytes, blocks_per_sm;
	bool has_occupancy;
	double occupancy;
	char *limiter;
};

struct wt_report_device {
	int64_t device_id;
	char *name, *uuid;
	int64_t sm_count;
	int64_t launches;
	int64_t time_ns; /* summed durations */
	int64_t busy_ns; /* union: some kernel ran; -1: not known */
	int64_t underfill_sm_ns, wave_sm_ns, wave_max_sm_ns, unjudged_sm_ns;
	int64_t straggle_sm_ns, ramp_sm_ns, kernel_sm_ns,
	        measured_sm_ns; /* 0 in files of version 2 */
};

/* Columns of the view `loss`, summed over the processes; and what is told of them beside it. */
struct wt_report_loss {
	int64_t launches_attempted, launches_stored, launches_dropped, launches_torn;
	int64_t launches_failed, launches_captured, launches_linked, launches_unobserved;
	int64_t launches_in_flight, launches_unlinked;
	int64_t graph_launches, graph_launches_failed, graph_launches_unobserved;
	int64_t kernels, kernels_graph, kernels_device, kernels_linked, kernels_cupti_only;
	int64_t kernels_no_time, kernels_no_time_profiled; /* of the former */
	int64_t kernels_dropped_ring, kernels_dropped_cupti, kernels_torn;
	int64_t links_dropped_ring, calls_dropped, other_dropped_ring;
	int64_t cells_torn, cells_bad, cells_gap;
	int64_t records_unknown, names_dropped, entries_unknown, unexplained;
	int64_t rows_damaged; /* not of the file: wt_report_loss_get() has what was met up to now */
};

/* Processes that were not recorded in full, one entry per way and reason. */
struct wt_report_capture {
	char *capture, *reason; /* reason may be NULL */
	int64_t processes, first_pid;
	int64_t launches_attempted;
};

/* Do the rows sum to the ledger? They do in a window, which readers sweep; else the daemon has. */
struct wt_report_shares {
	bool is_exact;
	bool is_estimated; /* in a window, of single launches that overlap others: in proportion */
	bool is_swept; /* the file has shares at all: not of version 1 */
	int64_t kernels_waiting, kernels_late, kernels_refused;
};

struct wt_report {
	struct wt_report_row *rows;
	size_t row_count;
	struct wt_report_row total; /* of all rows; texts are NULL */
	struct wt_report_device *devices;
	size_t device_count;
	bool has_window;
	int64_t start_ns, end_ns;
	const struct wt_select *select; /* what is shown of the run; NULL: all. Losses are of all */
	const struct wt_select_steps *steps; /* the default window; NULL: not looked for */
	struct wt_report_shares shares;
	struct wt_report_loss loss;
	struct wt_report_capture *captures;
	size_t capture_count;
	struct wt_ledger *ledger; /* of the devices, in the window; NULL: not loaded */
	bool has_gaps, has_latency;
	bool has_active; /* rows have active_sm_ns; not those of files of version 2 */
	bool has_queued; /* with has_latency: all kernels of the streams are selected */
	int64_t launches_read; /* single ones; 0: rollups were enough */
	bool is_of_sums; /* rows were dropped, and the whole run is shown: nothing is read one by one */
	struct wt_dropped dropped;
	bool has_samples_alone; /* no process, but what wavetap-sampler saw of a device */
	int64_t processes, processes_live;
	struct wt_cost cost; /* of the whole run */
	char problem[200]; /* after -EIO: what SQLite said; after -ENODATA: why */
};

/*
 * Loads and sorts. 0 or -errno; -EIO means that SQLite failed, -ENODATA that the run has nothing to group
 * by; `problem` says more. Launches are read in one pass, memory grows with the rows. Gaps take
 * the ledger's time and memory (ledger.h). Free with wt_report_fini() in either case.
 */
int wt_report_load(sqlite3 *db, const struct wt_report_query *query, struct wt_report *report);
void wt_report_fini(struct wt_report *report);

/* The rows of a loaded report in another order; what `by` ranks must have been loaded. */
void wt_report_sort(struct wt_report *report, enum wt_report_by by);

/* Of a run of which rows were dropped: can sums answer, whose select->takes_sums that is then? Before it is applied. */
bool wt_report_takes_sums(sqlite3 *db, const struct wt_report_query *query);

/* Only `loss`, `captures` and the counts of processes: cheap. As wt_report_load(). */
int wt_report_load_losses(sqlite3 *db, struct wt_report *report);

/* Why rows of `shares` count kernels as if alone; NULL: they do not. Static text. */
const char *wt_report_shares_reason(const struct wt_report *report);

/* "model", "sampled", "profiled", "mixed": of a number of the row, at `offset` in its shares. */
const char *wt_report_row_evidence(const struct wt_report_row *row, int64_t sm_ns, size_t offset);
/* The same of idle SM-time: all of it, or (is_tail) wave and straggle. */
const char *wt_report_row_idle_evidence(const struct wt_report_row *row, bool is_tail);

/* All SM-time of the row's kernels, and what of it is measured. */
int64_t wt_report_row_sm_ns(const struct wt_report_row *row,
                            int64_t ret_parts_sm_ns[WT_EVIDENCE_MAX]);

/* Adds the numbers of `row` to `sum`. */
void wt_report_row_add(struct wt_report_row *sum, const struct wt_report_row *row);

/* Why there is no row, as a clause for a message. `text` has text_bytes. */
void wt_report_why_empty(const struct wt_report *report, char *text, size_t text_bytes);

/* report_loss.c: counts and what they mean, for JSON and for people. */
struct wt_report_loss_field {
	const char *name; /* as in the view `loss` */
	size_t offset; /* in struct wt_report_loss */
	const char *text; /* "launch calls: ring full"; NULL: no loss, only a count */
};

/* Ends with a NULL name. */
extern const struct wt_report_loss_field wt_report_loss_fields[];

int64_t wt_report_loss_get(const struct wt_report_loss *loss,
                           const struct wt_report_loss_field *field);

/* A damaged chunk was met, and its rows are left out: counted for all of the program. */
struct wt_rows_damage;
void wt_report_note_damage(const struct wt_rows_damage *damage);
int64_t wt_report_rows_damaged(void);
/* Before a file is read again: its damage is met again. */
void wt_report_forget_damage(void);

/*
 * Kernel executions that happened, as far as known, and are not in the rows. Launches under the range
 * profiler, which have no times, are not lost: loss->kernels_no_time_profiled.
 */
int64_t wt_report_kernels_lost(const struct wt_report_loss *loss);

#endif /* WT_CLI_REPORT_H */
