/*
 * sweep.h - the SM-time of one device, by time: what its kernels had, and the gaps between them.
 *
 * Kernels come in order of their start; the sweep cuts time at every start and end and gives each
 * slice to the kernels resident in it. S are the SMs of the device, O the sum over the resident
 * kernels of the SMs each can occupy (`sms`: min(G, SMs in reach); see wave.h). In a slice of dt:
 *
 *   nobody resident    a gap: S * dt, reported with the kernels around it
 *   O <= S             each kernel has its SMs to itself, so its model holds: sms * dt of each
 *                      is active, less its wave; SMs that no resident kernel can occupy,
 *                      (S - O) * dt, are underfill
 *   O > S, and all but one are collectives that leave S' > 0 SMs: they keep theirs, and that one has
 *                      the S' others. If its blocks per SM are known, the model holds for S' SMs (wave.h, of
 *                      its whole duration, in proportion to the time): S' * dt is active, less that wave
 *   O > S otherwise    kernels share SMs and no model fits: S * dt is unjudged, split by `sms`
 *
 * Wave idle is a kernel's own (wave_sm_ns of its whole duration), spread evenly over it; time
 * shared with others takes its part away. The SMs of a kernel that no model fits are unjudged
 * wherever it runs. Underfill is split evenly among the resident kernels that are not
 * collectives. While only collectives run, the SMs they leave are `comm`, not underfill; their own
 * count as active, and apart as active_comm.
 *
 * Integers throughout. For each slice, each kernel and all together exactly:
 *   active + underfill + wave + unjudged + comm = SM-time,   and with gaps   S * wall.
 * Splits are by running totals, so that a remainder is given, not lost.
 *
 * Nothing here is a measurement. What one may replace (measure.h) is told apart: alone_ns is the time
 * in which a kernel was the only one, and no collective; of its share that time has
 *   underfill (S - sms) * alone_ns,  the rest its own SMs: unjudged, or wave and active.
 *
 * Cost: O(kernels x resident kernels); memory is fixed. A GPU holds at most 128 grids at a time,
 * so a kernel that would be the 129th has a wrong time; it is refused.
 *
 * Pure: no I/O, no clock, no allocation; one thread per sweep.
 */
#ifndef WT_SWEEP_H
#define WT_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

#define WT_SWEEP_RESIDENT_MAX 128
#define WT_SWEEP_SMS_MAX 65535
/* No kernel before, or none after. */
#define WT_SWEEP_NO_KERNEL INT64_C(-1)

struct wt_sweep_kernel {
	int64_t id; /* the caller's name for it, >= 0 */
	uint64_t tag; /* the caller's: comes back with gaps */
	int64_t start_ns;
	int64_t end_ns;
	/* Of the whole kernel: also where the window cuts start_ns or end_ns. */
	int64_t duration_ns;
	int64_t wave_sm_ns; /* least of the closed forms; 0 if not judged */
	int64_t wave_max_sm_ns; /* greatest */
	uint32_t sms; /* SMs it can occupy at a time, 1..S */
	uint32_t blocks, blocks_per_sm; /* either 0: what it does on fewer SMs is not known */
	bool is_judged; /* a model fits */
	bool is_collective;
};

struct wt_sweep_share {
	int64_t alone_ns; /* beside the sum, like the next two */
	int64_t alone_wave_sm_ns, alone_wave_max_sm_ns; /* the part of wave in that time */
	int64_t active_sm_ns;
	int64_t active_comm_sm_ns; /* part of active_sm_ns: SMs of collectives */
	int64_t underfill_sm_ns;
	int64_t wave_sm_ns;
	int64_t wave_max_sm_ns; /* beside the sum: what wave would be at most, active less */
	int64_t unjudged_sm_ns;
	int64_t comm_sm_ns;
	int64_t straggle_sm_ns, ramp_sm_ns; /* 0 here: measure.h */
};

void wt_sweep_share_add(struct wt_sweep_share *sum, const struct wt_sweep_share *share);
/* `after` less `before`. */
struct wt_sweep_share wt_sweep_share_difference(const struct wt_sweep_share *after,
                                                const struct wt_sweep_share *before);

struct wt_sweep_gap {
	int64_t start_ns;
	int64_t end_ns;
	int64_t before_id; /* the kernel that ended last, or WT_SWEEP_NO_KERNEL */
	int64_t after_id; /* the first to start, or WT_SWEEP_NO_KERNEL */
	uint64_t before_tag; /* 0 without a kernel before */
};

/*
 * What comes out, in order of time; NULL: not asked for. Anything but 0 stops the sweep and is
 * returned.
 */
struct wt_sweep_output {
	int (*kernel)(void *arg, int64_t id, const struct wt_sweep_share *share);
	int (*gap)(void *arg, const struct wt_sweep_gap *gap);
	void *arg;
	/* Each slice in which somebody is resident; sms_wanted is O, which can be more than S. */
	void (*slice)(void *arg, int64_t start_ns, int64_t end_ns, uint64_t sms_wanted);
};

struct wt_sweep_resident {
	struct wt_sweep_kernel kernel;
	struct wt_sweep_share share; /* wave apart: follows from judged_ns */
	int64_t judged_ns; /* of its time with its SMs to itself */
	int64_t alone_ns; /* as in the share */
	/* Beside collectives, on the SMs that those leave: the latest number of them, and the time with it. */
	uint32_t left_sms;
	int64_t left_ns;
	int64_t left_wave_sm_ns, left_wave_max_sm_ns; /* of the times before, with other numbers */
};

/* Private to sweep.c but for `total` and the times. */
struct wt_sweep {
	struct wt_sweep_output output;
	struct wt_sweep_share total; /* of the kernels that have been put out */
	int64_t gap_ns; /* time without a kernel */
	int64_t busy_ns; /* time with one */
	int64_t now_ns;
	int64_t last_id; /* ended last */
	uint64_t last_tag;
	uint32_t sm_count;
	uint32_t resident_count;
	struct wt_sweep_resident resident[WT_SWEEP_RESIDENT_MAX]; /* in order of arrival */
};

/*
 * SMs that a kernel can occupy at a time: min(G, SMs in reach), see wave.h. Of its context, 0 if not
 * known; of the device; resident blocks and blocks, each 0 if not known.
 */
uint32_t wt_sweep_occupied_sms(int64_t context_sms, int64_t device_sms, int64_t resident_blocks,
                               int64_t blocks);

/*
 * Blocks an SM holds, for wt_sweep_kernel: 0 if not known, or if the context has not all SMs, so that those that
 * collectives leave may not be its own.
 */
uint32_t wt_sweep_blocks_per_sm(int64_t context_sms, int64_t device_sms, int64_t resident_blocks);

/*
 * A window that begins at start_ns, on a device of sm_count SMs. 0; -EINVAL: sm_count is 0 or more
 * than WT_SWEEP_SMS_MAX.
 */
int wt_sweep_init(struct wt_sweep *sweep, uint32_t sm_count, int64_t start_ns,
                  const struct wt_sweep_output *output);

/* Right after init: a kernel with this tag ended as the window begins. */
void wt_sweep_resume(struct wt_sweep *sweep, uint64_t last_tag);

/*
 * The next kernel; starts before the one before it: -EINVAL. Also -EINVAL: no time, no SMs, more
 * SMs than the device has, more wave than SM-time. -EBUSY: the 129th at a time. A kernel that is
 * refused changes nothing.
 */
int wt_sweep_add(struct wt_sweep *sweep, const struct wt_sweep_kernel *kernel);

/*
 * What the kernels had up to until_ns, those that still run with their part so far: the difference of
 * two such totals is what a stretch of time had. Not before the last start, nor before an earlier
 * until_ns at which a kernel ran: -EINVAL. A gap that goes on is put out later, whole.
 */
int wt_sweep_until(struct wt_sweep *sweep, int64_t until_ns, struct wt_sweep_share *ret_total);

/* What the kernel has so far that is resident `at`, < resident_count, and who it is. */
int64_t wt_sweep_resident_share(const struct wt_sweep *sweep, uint32_t at,
                                struct wt_sweep_share *ret_share);

/*
 * No kernel that starts before until_ns comes any more: those that have ended by then are put out.
 * Unlike wt_sweep_until() this cuts no slice, so that when it is called makes no difference to what
 * kernels get.
 */
int wt_sweep_ended(struct wt_sweep *sweep, int64_t until_ns);

/* The window ends: kernels still running are cut there. Not before the last start: -EINVAL. */
int wt_sweep_finish(struct wt_sweep *sweep, int64_t end_ns);

#endif /* WT_SWEEP_H */
