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
#define RICH_NS UINT64_C(200000)
#define RICH_NS_MAX (4 * MS)
#define RICH_STRETCH_NS (500 * MS)
#define RICH_FIRST_NS (1000 * MS) /* of kernels in plain samples, before the first rich stretch */
#define RICH_EVERY_NS (8000 * MS) /* and before each other */
#define RICH_FIRST_STRETCHES 2u /* where kernels are few: or so many stretches that saw some */
#define RICH_EVERY_STRETCHES 12u
#define RICH_BURST_EVERY 6u
#define STRETCH_NS (1000 * MS)
#define FINE_STRETCH_NS (250 * MS)
#define CYCLE_NS (10000 * MS) /* a burst, and the rest after it */
#define FINE_EVERY 6u /* bursts */
#define STEADY_NS (30000 * MS) /* of kernels, until bursts will do */
#define OVERFLOWS_MAX 3u
#define SAMPLES_MIN 1000u /* fewer say nothing of the cost of one */

void wt_sampler_policy_init(struct wt_sampler_policy *policy, uint64_t asked_ns, bool has_rich)
{
	*policy = (struct wt_sampler_policy){.asked_ns = asked_ns, .has_rich = has_rich};
	policy->base_ns = asked_ns == WT_SAMPLE_AUTO ? AUTO_NS : asked_ns;
	policy->rich_ns = policy->base_ns > RICH_NS ? policy->base_ns : RICH_NS;
}

/* The other interval: 6 % shorter, or longer where the shorter one is not allowed. */
static uint64_t beside(uint64_t interval_ns)
{
	uint64_t shorter = interval_ns - interval_ns * 6 / 100;

	return shorter < WT_SAMPLE_INTERVAL_NS_MIN ? interval_ns + interval_ns * 6 / 100 : shorter;
}

/* Which of the two intervals it is this time. */
static uint64_t take_turns(uint64_t interval_ns, uint32_t turn)
{
	return turn % 2 ? beside(interval_ns) : interval_ns;
}

/* Did plain samples see enough kernels since the last rich stretch? */
static bool is_rich_due(const struct wt_sampler_policy *policy)
{
	bool is_first = policy->riches == 0;

	return policy->plain_active_ns >= (is_first ? RICH_FIRST_NS : RICH_EVERY_NS) ||
	       policy->plain_stretches >= (is_first ? RICH_FIRST_STRETCHES : RICH_EVERY_STRETCHES);
}

static struct wt_sampler_plan next_rich(struct wt_sampler_policy *policy)
{
	policy->riches++;
	policy->plain_active_ns = policy->plain_stretches = 0;
	return (struct wt_sampler_plan){.interval_ns =
	                                        take_turns(policy->rich_ns, policy->rich_turn++),
	                                .stretch_ns = RICH_STRETCH_NS,
	                                .is_rich = true};
}

struct wt_sampler_plan wt_sampler_policy_next(struct wt_sampler_policy *policy)
{
	bool is_burst = policy->asked_ns == WT_SAMPLE_AUTO && policy->active_ns >= STEADY_NS;
	struct wt_sampler_plan plan = {.stretch_ns = STRETCH_NS};
	uint32_t burst = is_burst ? ++policy->bursts : 0;

	policy->is_fine = is_burst && burst % FINE_EVERY == 0 && !policy->is_fine_refused &&
	                  policy->base_ns > FINE_NS;
	policy->is_rich = policy->has_rich &&
	                  (is_burst ? burst % RICH_BURST_EVERY == 1 : is_rich_due(policy));
	if (policy->is_fine) {
		plan.interval_ns = take_turns(FINE_NS, burst / FINE_EVERY);
		plan.stretch_ns = FINE_STRETCH_NS;
	} else if (policy->is_rich) {
		plan = next_rich(policy);
	} else {
		plan.interval_ns = take_turns(policy->base_ns, policy->turn++);
	}
	if (is_burst)
		plan.pause_ns = CYCLE_NS - plan.stretch_ns;
	return plan;
}

/* Keeps to a third of a core, with `cost_ns` of CPU time for one sample. */
static uint64_t adapt(uint64_t now_ns, uint64_t cost_ns, uint64_t least_ns, uint64_t most_ns)
{
	uint64_t wanted_ns = 3 * cost_ns;

	wanted_ns += STEP_NS - 1;
	wanted_ns -= wanted_ns % STEP_NS;
	wanted_ns = wanted_ns < least_ns ? least_ns : wanted_ns;
	wanted_ns = wanted_ns > most_ns ? most_ns : wanted_ns;
	/* Near enough is left alone: intervals that change all the time compare badly. */
	return wanted_ns * 10 > now_ns * 11 || wanted_ns * 10 < now_ns * 7 ? wanted_ns : now_ns;
}

static uint64_t doubled(uint64_t now_ns, uint64_t most_ns)
{
	return 2 * now_ns < most_ns ? 2 * now_ns : most_ns;
}

bool wt_sampler_policy_learn(struct wt_sampler_policy *policy,
                             const struct wt_sampler_stretch *stretch)
{
	bool is_auto = policy->asked_ns == WT_SAMPLE_AUTO;
	uint64_t cost_ns;

	policy->active_ns += stretch->active_ns;
	if (!policy->is_rich) {
		policy->plain_active_ns += stretch->active_ns;
		policy->plain_stretches += stretch->active_ns > 0;
	}
	if (stretch->is_overflow && policy->is_fine) {
		policy->is_fine_refused = true;
		return true;
	}
	if (stretch->is_overflow) {
		if (policy->is_rich)
			policy->rich_ns = doubled(policy->rich_ns, RICH_NS_MAX);
		else if (is_auto)
			policy->base_ns = doubled(policy->base_ns, AUTO_NS_MAX);
		return ++policy->overflows_in_row < OVERFLOWS_MAX;
	}
	policy->overflows_in_row = 0;
	if (policy->is_fine || stretch->samples < SAMPLES_MIN)
		return true;
	cost_ns = stretch->cpu_ns / stretch->samples;
	if (policy->is_rich)
		policy->rich_ns =
		        adapt(policy->rich_ns, cost_ns,
		              policy->base_ns > RICH_NS ? policy->base_ns : RICH_NS, RICH_NS_MAX);
	else if (is_auto)
		policy->base_ns = adapt(policy->base_ns, cost_ns, AUTO_NS, AUTO_NS_MAX);
	return true;
}
