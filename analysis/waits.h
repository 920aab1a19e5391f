/*
 * waits.h - who waits for whom in collectives, and what made the late one late.
 *
 * A member is one process on one device. The n-th launch of a collective kernel by one member, in order of
 * start, is the same collective as the n-th by every other. It can't end before the last has come:
 *
 *   waiting   of each member: from its start to the start of the last one
 *
 * and all of that is charged to the last, unless the first came at most error_ns before it: then
 * nobody is late. Counts that differ, or more than one in a hundred that don't lie at the same time, mean
 * several groups, or lost records: no waits then, rather than wrong ones.
 *
 * Why: each member's time in a step is what its kernels but collectives took, and the time without any
 * of these, by cause (gap.h), as if collectives were no kernels: while a member waits in one, its host
 * may be slow, too. Steps are the same stretch of time for all, so whoever is late has more of what
 * made it late than the others, who have waited meanwhile (dependency, sync, turnaround). The step's excess
 * of a member is that difference, class by class, to the mean of the others. What differs from step to
 * step by more than it is altogether is no cause: twice the standard error, from ..ERROR_STEPS_MIN steps on.
 *
 * Pure: no I/O, no clock; any thread. wt_waits_find allocates 8 bytes a collective.
 */
#ifndef WT_WAITS_H
#define WT_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/gap.h"

/* Of a hundred collectives so many may not lie at the same time before they are others. */
#define WT_WAITS_APART_PERCENT_MAX 1
#define WT_WAITS_NOBODY UINT32_MAX
/*
 * From so many collectives on, their ends say how well the clocks of the devices agree, whatever the error
 * of the CPU's clock is; but no error below the second is believed.
 */
#define WT_WAITS_ENDS_MIN 16
#define WT_WAITS_ERROR_LEAST_NS 2000

struct wt_wait {
	int64_t kernel_id;
	int64_t start_ns, end_ns;
	int64_t wait_until_ns; /* found: the last one's start; start_ns: it did not wait */
	int64_t ordinal; /* found: of its kernel and member, from 0 */
	uint32_t member;
	uint32_t late_member; /* found: whom it waited for, or WT_WAITS_NOBODY */
};

struct wt_waits {
	int64_t collectives; /* each of all members, its last start in the window; apart included */
	int64_t apart; /* of these, not at the same time: nobody waits in them */
	/* The median of last end less first end: what the clocks of the devices differ by, at most. */
	int64_t ends_apart_ns;
	/* What was given, with ..ENDS_MIN ends at most ..ERROR_LEAST_NS; or ends_apart_ns, if that is greater. */
	int64_t error_ns;
	const char *reason; /* why it is not known who waits; static text, or NULL */
};

/*
 * Of `waits`, which it sorts by kernel, ordinal and start; those that the window [start_ns, end_ns) lacks
 * wait for nobody. 0 or -ENOMEM.
 */
int wt_waits_find(struct wt_wait *waits, size_t count, uint32_t member_count, int64_t start_ns,
                  int64_t end_ns, int64_t error_ns, struct wt_waits *ret_waits);

/* What a member's time goes to: causes of gaps as enum wt_gap_cause (copy: not pageable), and more. */
enum {
	WT_LATE_COPY_PAGEABLE = WT_GAP_CAUSE_MAX,
	WT_LATE_KERNELS, /* but collectives; those beside collectives at the pace they have without */
	WT_LATE_MAX
};

#define WT_LATE_ERROR_STEPS_MIN 8

struct wt_late_query {
	size_t members, steps;
	/* [member * steps + step]: what the others waited for it, and the ns of each class. */
	const int64_t *late_ns;
	const int64_t (*spent_ns)[WT_LATE_MAX];
};

/* Of one member, over the steps in which the others waited more for it than for anybody else. */
struct wt_late {
	int64_t steps;
	int64_t longest_steps; /* of them, one after the other, at most */
	int64_t late_ns; /* what the others waited for it in these, on the mean of the others */
	int64_t excess_ns[WT_LATE_MAX]; /* summed; negative: it had less of it than the others */
	/* Of these sums: 95 of 100 are within. < 0: not known, in fewer than ..ERROR_STEPS_MIN steps. */
	int64_t error_ns[WT_LATE_MAX];
	int cause; /* the greatest excess beyond its error; -1: there is none */
};

/* Without another member, or a step in which it was the latest: steps is 0, cause -1. */
void wt_late_judge(const struct wt_late_query *query, size_t member, struct wt_late *ret_late);

/* "host", ..., "copy_pageable", "kernels": static text, also in JSON. */
const char *wt_late_name(int late_class);

#endif /* WT_WAITS_H */
