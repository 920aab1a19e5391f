/*
 * whatif.h - how long a recorded stretch of a device would have taken with other kernel times or
 * without gaps. A replay, not a prediction: bounds under assumptions that are said.
 *
 * Kernels come in order of their start. Time is cut where kernels start and end:
 *
 *   one kernel resident    its own: the slice is scaled by what its launch would take / took
 *   several                no model fits kernels that share SMs: the slice stays as it was
 *   none                   a gap
 *
 * What a kernel would take is a range (the closed forms of wave.h disagree), and so is what becomes
 * of a gap, since the record does not say whether the host waited for the GPU. Two cases bound it:
 *
 *   waiting       the host does: gaps keep their lengths, all change of the kernels shows
 *   unaware       the host launches when it did, so a kernel behind a gap does not start before it
 *                 did: what the kernels win goes into the gap, and a gap takes up what they lose
 *
 * Without gaps what is left is the time in which some kernel ran. Of gaps in which a copy ran, that
 * part may be one that the next kernel waits for: the greatest keeps it.
 * No more than the gaps and idle SMs that were seen can be won so.
 *
 * Integers; a kernel's change is rounded once. Pure: no I/O, no clock, no allocation; one thread
 * per replay. O(kernels x resident kernels), fixed memory.
 */
#ifndef WT_WHATIF_H
#define WT_WHATIF_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/interval.h"

#define WT_WHATIF_RESIDENT_MAX 128 /* a GPU holds no more grids */
#define WT_WHATIF_SMS_MAX 65535

/* Of damaged input sums may not fit: they stay at the largest number. */
static inline int64_t wt_whatif_sum(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? (b < 0 ? INT64_MIN : INT64_MAX) : sum;
}

/* Least and greatest. */
struct wt_whatif_range {
	int64_t least_ns, greatest_ns;
};

/* ---- what one launch would take */

struct wt_whatif_launch {
	int64_t duration_ns;
	int64_t blocks; /* G */
	int64_t resident_blocks; /* C on `sms`; 0: not known */
	int64_t cluster_blocks; /* 0 or 1: no clusters */
	uint32_t sms; /* S that it had */
	/* Of its whole duration; valid with is_judged. */
	int64_t underfill_sm_ns, wave_sm_ns, wave_max_sm_ns;
	bool is_judged; /* a model fits it: neither cooperative nor unknown */
};

/*
 * On a GPU of sms_then SMs that are otherwise the same: resident blocks in proportion (whole blocks per
 * SM, whole clusters). n and n' are its waves, now and then:
 *
 *   equal blocks that end together       n' / n
 *   blocks that share an SM              ceil(G/S') / ceil(G/S)
 *   blocks that end at uneven times      min(G, C) / min(G, C')
 *
 * False: no model fits; the range is its duration.
 */
bool wt_whatif_on_sms(const struct wt_whatif_launch *launch, uint32_t sms_then,
                      struct wt_whatif_range *ret_then);

/*
 * Its work spread over all SMs: less underfill and partial wave, whose greatest gives the least time.
 * False: no model fits; the range is its duration.
 */
bool wt_whatif_full_waves(const struct wt_whatif_launch *launch, struct wt_whatif_range *ret_then);

/* ---- the replay of a device */

struct wt_whatif_kernel {
	int64_t id; /* the caller's, >= 0 */
	int64_t start_ns, end_ns; /* may be cut by the window */
	int64_t duration_ns; /* whole */
	struct wt_whatif_range then; /* what the whole would take; its duration: unchanged */
	bool is_modelled;
};

/* What became of one kernel's time in the window. */
struct wt_whatif_share {
	int64_t time_ns; /* it ran */
	int64_t unmodelled_ns; /* part of it: beside others, or no model fits */
	struct wt_whatif_range then; /* time_ns as it would be */
};

struct wt_whatif_output {
	void (*kernel)(void *arg, int64_t id, const struct wt_whatif_share *share);
	/* A gap before the kernel `id`; -1: at the end. copy_ns of it a copy ran. */
	void (*gap)(void *arg, int64_t id, int64_t gap_ns, int64_t copy_ns);
	void *arg;
};

struct wt_whatif_resident {
	struct wt_whatif_kernel kernel;
	int64_t alone_ns;
};

/* Private to whatif.c. */
struct wt_whatif {
	struct wt_whatif_output output;
	struct wt_intervals copies;
	int64_t start_ns, now_ns;
	int64_t busy_ns, gap_ns, copy_gap_ns;
	int64_t unmodelled_ns; /* of busy_ns */
	/* Change of the kernels so far, and how late an unaware host's replay is, for both ends of the range. */
	struct wt_whatif_range change, late;
	uint32_t resident_count;
	struct wt_whatif_resident resident[WT_WHATIF_RESIDENT_MAX];
};

struct wt_whatif_result {
	int64_t now_ns; /* the window */
	int64_t busy_ns; /* some kernel ran */
	int64_t unmodelled_ns; /* of it: no model fits or kernels overlap; unchanged */
	int64_t gap_ns, copy_gap_ns;
	struct wt_whatif_range then; /* with gaps */
	struct wt_whatif_range then_no_gaps; /* without */
};

/* A window that begins at start_ns. `copies` (united; may be empty) are borrowed. */
void wt_whatif_init(struct wt_whatif *whatif, int64_t start_ns, const struct wt_intervals *copies,
                    const struct wt_whatif_output *output);

/*
 * The next kernel. 0; -EINVAL: starts before the one before it or the window, no time, a range
 * that is none; -EBUSY: the 129th at a time. A kernel that is refused changes nothing.
 */
int wt_whatif_add(struct wt_whatif *whatif, const struct wt_whatif_kernel *kernel);

/* The window ends: not before the last start. 0 or -EINVAL. */
int wt_whatif_finish(struct wt_whatif *whatif, int64_t end_ns, struct wt_whatif_result *ret_result);

#endif /* WT_WHATIF_H */
