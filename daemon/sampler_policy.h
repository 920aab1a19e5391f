/*
 * sampler_policy.h - how often wavetap-sampler looks at a device, and when it rests.
 *
 * Time is cut into stretches of one interval each. Two intervals take turns, since a periodic
 * program sampled with one alone has phases that no sample ever begins in.
 *
 *   auto  about 50 us, wider where that took more than a third of a core. From 30 s of sampled
 *         kernels on, bursts: a second of every ten, and now and then a short one at 20 us.
 *   T     T and a little less, without rests.
 *
 * Warps, tensor pipe and DRAM cost three times what active cycles do, don't fold (design.md), and the
 * device has to be set up anew for them and again after them (0.65 s each on an H200, without samples).
 * So they have short stretches of their own, half a second at a wider interval: the first once plain
 * samples saw kernels for a second, or some in two stretches; the others after eight seconds more, or
 * twelve stretches. An idle device has none, and a phase that begins after idle time begins with plain
 * samples. Of any eight seconds three quarters at least are plain, of a long run 80 of 100 (rich ones
 * are 5): test_phases() in tests/unit/test_sampler_policy.c.
 *
 * Pure: no clock, no I/O; one thread at a time.
 */
#ifndef WT_SAMPLER_POLICY_H
#define WT_SAMPLER_POLICY_H

#include <stdbool.h>
#include <stdint.h>

/* What is to be done next. */
struct wt_sampler_plan {
	uint64_t interval_ns;
	uint64_t stretch_ns; /* so long */
	uint64_t pause_ns; /* and then nothing */
	bool is_rich; /* with all metrics */
};

/* What became of it. */
struct wt_sampler_stretch {
	uint64_t samples;
	uint64_t active_ns; /* time of samples in which an SM was active */
	uint64_t
	        cpu_ns; /* of this process since its start, decoding of all of them included, but for
	                  * what has nothing to do with them */
	bool is_overflow; /* ended by one */
};

struct wt_sampler_policy {
	uint64_t asked_ns; /* or WT_SAMPLE_AUTO */
	bool has_rich; /* there are such stretches */
	uint64_t base_ns; /* the wider one of the two intervals */
	uint64_t rich_ns; /* the same of rich stretches */
	uint64_t active_ns; /* sampled so far */
	uint64_t plain_active_ns; /* the same in plain stretches, since the last rich one */
	uint32_t plain_stretches; /* that saw kernels, since then */
	uint32_t riches; /* stretches */
	uint32_t turn, rich_turn; /* which of the two is next */
	uint32_t bursts;
	uint32_t overflows_in_row;
	bool is_fine; /* the stretch that goes on is one of the fine ones */
	bool is_rich; /* or a rich one */
	bool is_fine_refused; /* it ran over: no more of them */
};

/* `asked_ns`: an interval, or WT_SAMPLE_AUTO. `has_rich`: the device has more metrics. */
void wt_sampler_policy_init(struct wt_sampler_policy *policy, uint64_t asked_ns, bool has_rich);
struct wt_sampler_plan wt_sampler_policy_next(struct wt_sampler_policy *policy);
/* False: give up, it ran over too often. */
bool wt_sampler_policy_learn(struct wt_sampler_policy *policy,
                             const struct wt_sampler_stretch *stretch);

#endif /* WT_SAMPLER_POLICY_H */
