/*
 * sampler_policy.c - see sampler_policy.h. Pure.
 */
#include "daemon/sampler_policy.h"

#include "schema/wt_segment.h"

#define MS UINT64_C(1000000)
#define AUTO_NS UINT64_C(50000)
#define AUTO_NS_MAX (1 * MS)
#define STEP_NS UINT64_C(5000) /* intervals of auto are multiples of it */
#define FINE_NS UINT64_C(20000)
#define STRETCH_NS (1000 * MS)
#define FINE_STRETCH_NS (250 * MS)
#define CYCLE_NS (10000 * MS) /* a burst, and the rest after it */
#define FINE_EVERY 6u /* bursts */
#define STEADY_NS (30000 * MS) /* of kernels, until bursts will do */
#define OVERFLOWS_MAX 3u
#define SAMPLES_MIN 1000u /* fewer say nothing of the cost of one */

void wt_sampler_policy_init(struct wt_sampler_policy *policy, uint64_t asked_ns)
{
	*policy = (struct wt_sampler_policy){.asked_ns = asked_ns};
	policy->base_ns = asked_ns == WT_SAMPLE_AUTO ? AUTO_NS : asked_ns;
}

/* The other interval: 6 % shorter, or longer where the shorter one is not allowed. */
static uint64_t beside(uint64_t interval_ns)
{
	uint64_t shorter = interval_ns - interval_ns * 6 / 100;

	return shorter < WT_SAMPLE_INTERVAL_NS_MIN ? interval_ns + interval_ns * 6 / 100 : shorter;
}

struct wt_sampler_plan wt_sampler_policy_next(struct wt_sampler_policy *policy)
{
	bool is_auto = policy->asked_ns == WT_SAMPLE_AUTO;
	bool is_burst = is_auto && policy->active_ns >= STEADY_NS;
	struct wt_sampler_plan plan = {.interval_ns = policy->base_ns, .stretch_ns = STRETCH_NS};

	policy->is_fine = is_burst && ++policy->bursts % FINE_EVERY == 0 &&
	                  !policy->is_fine_refused && policy->base_ns > FINE_NS;
	if (policy->is_fine) {
		plan.interval_ns = FINE_NS;
		plan.stretch_ns = FINE_STRETCH_NS;
	}
	if (is_burst)
		plan.pause_ns = CYCLE_NS - plan.stretch_ns;
	/* Fine ones take turns among themselves: they come every sixth time. */
	if ((policy->is_fine ? policy->bursts / FINE_EVERY : policy->turn++) % 2)
		plan.interval_ns = beside(plan.interval_ns);
	return plan;
}

/* Keeps to a third of a core: `cost_ns` of CPU time for one sample. */
static void adapt(struct wt_sampler_policy *policy, uint64_t cost_ns)
{
	uint64_t wanted_ns = 3 * cost_ns;

	wanted_ns += STEP_NS - 1;
	wanted_ns -= wanted_ns % STEP_NS;
	if (wanted_ns < AUTO_NS)
		wanted_ns = AUTO_NS;
	if (wanted_ns > AUTO_NS_MAX)
		wanted_ns = AUTO_NS_MAX;
	/* Near enough is left alone: intervals that change all the time compare badly. */
	if (wanted_ns * 10 > policy->base_ns * 12 || wanted_ns * 10 < policy->base_ns * 7)
		policy->base_ns = wanted_ns;
}

bool wt_sampler_policy_learn(struct wt_sampler_policy *policy,
                             const struct wt_sampler_stretch *stretch)
{
	bool is_auto = policy->asked_ns == WT_SAMPLE_AUTO;

	policy->active_ns += stretch->active_ns;
	if (stretch->is_overflow && policy->is_fine) {
		policy->is_fine_refused = true;
		return true;
	}
	if (stretch->is_overflow) {
		if (is_auto)
			policy->base_ns = 2 * policy->base_ns < AUTO_NS_MAX ? 2 * policy->base_ns
			                                                    : AUTO_NS_MAX;
		return ++policy->overflows_in_row < OVERFLOWS_MAX;
	}
	policy->overflows_in_row = 0;
	if (is_auto && !policy->is_fine && stretch->samples >= SAMPLES_MIN)
		adapt(policy, stretch->cpu_ns / stretch->samples);
	return true;
}
