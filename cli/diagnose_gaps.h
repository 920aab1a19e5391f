/*
 * diagnose_gaps.h - which finding each nanosecond without a kernel belongs to.
 *
 * The ledger knows the cause of each part of a gap; here the parts are shared among findings by what
 * went on around the gap, each to one finding only, so that findings can be added:
 *
 *   copies by memory; profiler, unknown, startup, after, dependency, graph: as the causes
 *   before the first launch of a kernel: what its process did then is start-up, or late loading
 *   between two launches of graphs by one thread or into one stream, without a wait: a graph break
 *   after a wait of the thread, if it waits after many of its launches: the waiting
 *   in a chain of small kernels: the chain
 *   host and launch: data loading (at the start of a step), the host, launch-bound, by length
 *
 * Time within the clocks' error goes to what has most of the gap, at the greatest only.
 *
 * An observer of the ledger (ledger.h). Single-threaded; blocks on the file.
 * Memory: 8 x WT_FAMILY_MAX bytes a kernel name, 24 bytes for each gap in which the program waited,
 * allocated or loaded code, 16 for each pageable copy.
 */
#ifndef WT_CLI_DIAGNOSE_GAPS_H
#define WT_CLI_DIAGNOSE_GAPS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "analysis/interval.h"
#include "analysis/map.h"
#include "cli/diagnose_steps.h"
#include "cli/ledger.h"

enum wt_family {
	WT_FAMILY_COPY, /* copies and memsets, but not pageable memory */
	WT_FAMILY_COPY_PAGEABLE,
	WT_FAMILY_GRAPH,
	WT_FAMILY_PROFILER,
	WT_FAMILY_DEPENDENCY,
	WT_FAMILY_TURNAROUND,
	WT_FAMILY_UNKNOWN,
	WT_FAMILY_STARTUP,
	WT_FAMILY_AFTER,
	WT_FAMILY_SYNC,
	WT_FAMILY_SYNC_EACH,
	WT_FAMILY_ALLOC,
	WT_FAMILY_LOAD,
	WT_FAMILY_COLD,
	WT_FAMILY_LATE,
	WT_FAMILY_GRAPH_BREAK,
	WT_FAMILY_SMALL_KERNELS,
	WT_FAMILY_LAUNCH_BOUND,
	WT_FAMILY_DATA,
	WT_FAMILY_HOST,
	WT_FAMILY_MAX
};

/* SM-time, or time while a gap is judged. Greatest beside least, not on top of it. */
struct wt_family_share {
	double least, most;
};

struct wt_family_sum {
	struct wt_family_share sm_ns;
	int64_t gaps; /* that have a part in it */
};

struct wt_family_kernel {
	int64_t kernel_id;
	double sm_ns[WT_FAMILY_MAX]; /* greatest, of gaps before it */
	struct wt_family_share chain[2]; /* of the chain under way: launch-bound, turnaround */
	uint64_t chain_at; /* which chain; others are over */
};

/* What the chain of small kernels under way has. */
struct wt_chain {
	uint64_t at; /* ordinal */
	int64_t count;
	int64_t busy_ns, idle_ns, gaps;
	int64_t family_gaps[2]; /* launch-bound, turnaround */
	uint32_t *touched; /* kernels that have a part in it */
	size_t touched_count, touched_capacity;
};

/* What a thread did since its last launch, and what waiting after launches would cost it. */
struct wt_gaps_thread {
	int64_t device_id;
	int64_t entry_ns; /* of its last launch; INT64_MIN: none on this device yet */
	int64_t launches, launches_after_wait;
	int64_t gaps;
	struct wt_family_share waiting[WT_FAMILY_MAX];
	int64_t waiting_gaps[WT_FAMILY_MAX];
};

/* What gaps before a kernel have of that. */
struct wt_waiting_kernel {
	uint32_t thread, kernel; /* indices */
	double sm_ns[WT_FAMILY_MAX];
};

/* A kernel that was new to a device after the start-up. */
struct wt_late_kernel {
	int64_t kernel_id, device_id, at_ns;
	double sm_ns;
};

struct wt_gaps_found {
	int64_t breaks, chains, chain_kernels, chain_busy_ns, chain_idle_ns;
	int64_t launches, launches_after_wait; /* of the threads that wait after many */
	int64_t late_kernels; /* on each device by itself */
	struct wt_late_kernel late[3]; /* most SM-time first */
};

/* A gap in which calls held the launching thread up. */
struct wt_call_gap {
	struct wt_interval interval;
	enum wt_family family; /* COLD, LATE, or MAX: the kernel after it was not new */
};

struct wt_gaps {
	int64_t graph_gap_ns; /* longer idle time between two graph launches is a break */
	struct wt_steps_known steps;
	struct wt_family_sum sum[WT_FAMILY_MAX];
	struct wt_gaps_found found;
	struct wt_family_kernel *kernels;
	size_t kernel_count;
	struct wt_map kernel_at; /* kernel_id -> index */
	struct wt_gaps_thread *threads;
	size_t thread_count;
	struct wt_map thread_at;
	struct wt_waiting_kernel *waiting;
	size_t waiting_count;
	struct wt_map waiting_at; /* thread << 32 | kernel -> index */
	struct wt_call_gap *call_gaps; /* of all devices */
	size_t call_gap_count;
	struct wt_interval *pageable; /* copies, of the device in work, united */
	size_t pageable_count;
	sqlite3 *db;
	/* of the device in work */
	const struct wt_ledger_device *device;
	struct wt_chain chain;
	struct wt_ledger_row graph; /* a node of the graph launched last */
	bool has_graph;
	int64_t eager_since; /* kernels since that were no nodes */
};

void wt_gaps_init(struct wt_gaps *gaps, int64_t graph_gap_ns);

/* For wt_ledger_load_observed(); `gaps` must outlive it. */
void wt_gaps_observe(struct wt_gaps *gaps, struct wt_ledger_observer *ret_observer);

/* After the last device: decides what is still open. */
void wt_gaps_finish(struct wt_gaps *gaps);
void wt_gaps_fini(struct wt_gaps *gaps);

/* ---- between diagnose_gaps.c and diagnose_chain.c */

/* What families have of one gap, in time. */
struct wt_gap_parts {
	struct wt_family_share of[WT_FAMILY_MAX];
};

/* A kernel's index in `kernels`, made on first need; or a negative errno. */
int64_t wt_gaps_kernel(struct wt_gaps *gaps, int64_t kernel_id);

/* Moves launch-bound and turnaround parts of the gap before `next` into the chain. 0 or -errno. */
int wt_chain_take(struct wt_gaps *gaps, struct wt_gap_parts *parts,
                  const struct wt_ledger_row *next);

/*
 * The chain is over: what it has goes to `family`, or, with WT_FAMILY_MAX, to small kernels if it is such a
 * chain, else to what it is by itself.
 */
void wt_chain_end(struct wt_gaps *gaps, enum wt_family family);

#endif /* WT_CLI_DIAGNOSE_GAPS_H */
