/*
 * overlap.h - what each kernel of a device had of its SM-time where kernels overlap, as records
 * come: wt_sweep for a stream that is not in order.
 *
 * Kernels are added in any order. wt_overlap_settle() says up to when nothing is missing; what
 * started before that is swept in the order of (start, id), and a kernel that has ended by then is
 * put out with its share, once and for ever. The shares of all kernels, with the gaps, are S * wall
 * to the last SM-nanosecond, in whatever order they came.
 *
 * A kernel that starts before what was swept is late: refused, for the caller to count.
 *
 * RESTART. Shares depend on the kernels around: to go on where a former one stopped, give a new one
 * every kernel that ends after the start of the first one that was not put out. Those have ids from
 * wt_overlap_low_id() on. wt_overlap_restore() takes them, and puts out nothing.
 *
 * Memory: 64 bytes for each kernel that was added and not swept yet; the caller bounds it. Time:
 * O(log n) each where order is lost, O(1) where it is not, and the sweep's.
 *
 * Pure but for memory; not thread-safe; never blocks.
 */
#ifndef WT_OVERLAP_H
#define WT_OVERLAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/sweep.h"

struct wt_overlap_kernel {
	int64_t id; /* rises with every kernel that is added */
	int64_t start_ns, end_ns;
	int64_t wave_sm_ns, wave_max_sm_ns; /* of the kernel by itself; 0 if not judged */
	int64_t owner; /* the caller's, like `tag` */
	uint32_t tag;
	uint32_t blocks, blocks_per_sm; /* as in wt_sweep_kernel */
	uint16_t sms; /* it can occupy: 1 to the device's */
	bool is_judged, is_collective, is_tagged; /* the last one is the caller's too */
	bool is_context; /* private: put out by a former one */
};

/*
 * A kernel that is final. `share` is NULL where the sweep refuses it: its times can't be, or it is
 * one too many at a time. Anything but 0 stops and is returned; then only destroying is left.
 */
typedef int wt_overlap_output(void *arg, const struct wt_overlap_kernel *kernel,
                              const struct wt_sweep_share *share);

struct wt_overlap;

/* -EINVAL: no device has so many SMs, or none. */
int wt_overlap_create(uint32_t sm_count, wt_overlap_output *output, void *arg,
                      struct wt_overlap **ret_overlap);
void wt_overlap_destroy(struct wt_overlap *overlap); /* NULL is fine */

/* 0, -ENOMEM, or -ERANGE: it is late, and not taken. `end_ns` is after `start_ns`. */
int wt_overlap_add(struct wt_overlap *overlap, const struct wt_overlap_kernel *kernel);

/* No kernel that starts before until_ns is missing; INT64_MAX: none at all. */
int wt_overlap_settle(struct wt_overlap *overlap, int64_t until_ns);

/* Kernels that have ended by then are out, and none that starts before it is taken. INT64_MIN: none. */
int64_t wt_overlap_settled_ns(const struct wt_overlap *overlap);

/* Added, and not put out yet; of these those that are not swept yet, and take memory. */
size_t wt_overlap_waiting(const struct wt_overlap *overlap);
size_t wt_overlap_held(const struct wt_overlap *overlap);

/* The time until which settling leaves at most `count` of those held. */
int64_t wt_overlap_until_held(struct wt_overlap *overlap, size_t count);

/* The caller notes now and then, from which id on the kernels are that come yet. 0 or -ENOMEM. */
int wt_overlap_mark(struct wt_overlap *overlap, int64_t next_id);
/* All kernels that a restart needs have this id or a higher one. */
int64_t wt_overlap_low_id(struct wt_overlap *overlap);

/* For a new one: kernels in any order, then what was settled, with the low id of then. */
int wt_overlap_restore(struct wt_overlap *overlap, const struct wt_overlap_kernel *kernel,
                       int64_t settled_ns);
int wt_overlap_restore_end(struct wt_overlap *overlap, int64_t settled_ns, int64_t low_id);

#endif /* WT_OVERLAP_H */
