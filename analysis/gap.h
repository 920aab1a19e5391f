/*
 * gap.h - why did no kernel run? One cause for each nanosecond of a gap.
 *
 * The gap before kernel K starts at p, where no kernel of the device runs any more, and ends where
 * K starts. K's call was entered at e and returned at l (a graph node's: the graph launch). The
 * first cause that applies to a nanosecond is its cause:
 *
 *   copy         a copy or memset ran on the device
 *   unknown      a kernel that was lost may have run here
 *   graph        K and the kernel before are nodes of one graph launch
 *   after        there is no K: the program had no more work for this device
 *   startup      K's process had not launched its first kernel
 *   load         the application compiled or loaded code (JIT, modules, lazy loading)
 *   profiler     CUPTI was at work: buffers, flushes, instrumentation
 *   unknown      K's call isn't known
 *   sync         before e: K's thread waited for the GPU
 *   alloc        before e: it allocated or freed
 *   host         before e: neither; the program had not asked yet
 *   launch       between e and l, or after l if nothing else holds K up and e is in the gap or no
 *                kernel ran before it
 *   dependency   after l: K's stream had an event wait or a host function before K
 *   turnaround   after l: K was queued before the gap began (e < p), back to back
 *   undecided    the clocks of CPU and GPU aren't known well enough to tell
 *
 * Copies, kernels and the gap are on the GPU's clock, all else on the CPU's. With a clock error
 * c > 0, time whose cause would differ if the CPU's stamps were off by at most c is undecided.
 *
 * Pure: no I/O, no clock, no allocation; any thread. O((n + 1) log N) for n intervals in the gap.
 */
#ifndef WT_GAP_H
#define WT_GAP_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/interval.h"

/* Stored and printed by name; append only. */
enum wt_gap_cause {
	WT_GAP_COPY,
	WT_GAP_GRAPH,
	WT_GAP_LOAD,
	WT_GAP_PROFILER,
	WT_GAP_SYNC,
	WT_GAP_ALLOC,
	WT_GAP_HOST,
	WT_GAP_LAUNCH,
	WT_GAP_DEPENDENCY,
	WT_GAP_TURNAROUND,
	WT_GAP_UNKNOWN,
	WT_GAP_UNDECIDED,
	WT_GAP_STARTUP,
	WT_GAP_AFTER,
	WT_GAP_CAUSE_MAX
};

struct wt_gap_facts {
	/* What to classify: the gap, or a part of it. */
	int64_t start_ns;
	int64_t end_ns; /* at most K's start */
	int64_t began_ns; /* p: when the gap began; start_ns unless that is a later part */
	int64_t entry_ns; /* e and l, valid with has_call */
	int64_t return_ns;
	int64_t clock_error_ns; /* >= 0 */
	int64_t first_launch_ns; /* of K's process; INT64_MIN: not known */
	bool has_call;
	bool has_kernel_after; /* there is a K */
	bool has_kernel_before; /* without one nothing is back to back */
	bool is_same_graph_launch;
	bool has_dependency; /* a wait or host function in K's stream, before K and after the
	                        kernel before it in that stream */
	struct wt_intervals copies; /* of the device */
	struct wt_intervals
	        lost; /* in which kernels may have run that were lost; with the error added */
	struct wt_intervals loads; /* of K's process */
	struct wt_intervals profiler; /* of K's process */
	struct wt_intervals syncs; /* of the thread that called */
	struct wt_intervals allocs; /* of that thread */
};

/*
 * Adds the nanoseconds of the gap to ret_ns by cause: they sum to end - start. A gap that ends
 * before it starts has none.
 */
void wt_gap_classify(const struct wt_gap_facts *facts, int64_t ret_ns[WT_GAP_CAUSE_MAX]);

/* "copy", "host", ...: static text, also the name in JSON. */
const char *wt_gap_cause_name(enum wt_gap_cause cause);

#endif /* WT_GAP_H */
