/*
 * align.h - two clocks set beside each other by what happened on both: runs of several hosts, each with a
 * clock of its own.
 *
 * A collective ends on all ranks at about the same time. So the n-th collective of one and of the other give the
 * difference of their clocks, and a line through these the offset and the drift:
 *
 *   time by the reference = t + offset + drift x (t - middle)
 *
 * A line of three medians first; then least squares over what lies near it. Drift that is within twice its own error is none.
 * error_ns is what 95 of 100 ends are off by, at least the two microseconds that CUPTI's conversions may be off, and what the line itself is unsure of at
 * the ends of the run. What is the same in all collectives (one rank always leaves later) no residual shows: but nobody
 * can leave before the last has come, and that bounds it: limit_ns.
 *
 * Where one has more collectives than the other (half a run) the shift that fits is taken, if no other fits
 * nearly as well. What does not fit, or can't be told, is a reason instead of numbers.
 *
 * Pure: no I/O, no clock; any thread. Memory: 40 bytes an event. Time: O(n log n) for a shift, over a
 * sample of events where there are several.
 */
#ifndef WT_ALIGN_H
#define WT_ALIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WT_ALIGN_EVENTS_MIN 4
#define WT_ALIGN_ERROR_LEAST_NS 2000 /* what CUPTI's conversions of two devices may be off */
#define WT_ALIGN_APART_PERCENT_MAX 5

/* A collective of one rank, or (is_instant) a launch: start and end are the same. By time. */
struct wt_align_event {
	int64_t start_ns, end_ns;
	uint32_t name; /* the same for the same kernel on both */
};

struct wt_align_run {
	const struct wt_align_event *events;
	size_t count;
};

struct wt_align {
	const char *reason; /* why there is none; static text, NULL: there is */
	int64_t offset_ns; /* to add, at middle_ns of the other clock */
	int64_t middle_ns;
	double drift; /* ns per ns */
	int64_t error_ns, limit_ns; /* limit_ns < 0: not known (launches) */
	int64_t events; /* that were set beside each other */
	int64_t shift; /* the other's first is the reference's shift-th; negative: the other has more before */
};

/*
 * Of `other` to `reference`. is_instant: by launches, which nothing holds together: without limit_ns and
 * without the check that they overlap. 0 or -ENOMEM.
 */
int wt_align_find(const struct wt_align_run *reference, const struct wt_align_run *other,
                  bool is_instant, struct wt_align *ret_align);

/* A time of the other clock by the reference. It never goes back where t_ns does not. */
int64_t wt_align_time(const struct wt_align *align, int64_t t_ns);

#endif /* WT_ALIGN_H */
