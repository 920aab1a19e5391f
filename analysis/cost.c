/*
 * cost.c - see cost.h. Pure; any thread.
 */
#include "analysis/cost.h"

/* Not beyond what SQLite and JSON hold. */
static int64_t bounded(double value)
{
	return value < 9e18 ? (int64_t)(value + 0.5) : INT64_MAX;
}

uint64_t wt_cost_long(const uint64_t hook_time[WT_COST_BUCKETS])
{
	return hook_time[WT_COST_BUCKETS - 1];
}

uint64_t wt_cost_timed(const uint64_t hook_time[WT_COST_BUCKETS])
{
	uint64_t timed = 0;

	for (unsigned i = 0; i < WT_COST_BUCKETS; i++)
		timed += hook_time[i];
	return timed;
}

int64_t wt_cost_quantile_ns(const uint64_t hook_time[WT_COST_BUCKETS], unsigned percent,
                            uint64_t least_timed)
{
	uint64_t timed = wt_cost_timed(hook_time), before = 0;
	double rank = (double)percent / 100 * (double)timed;

	if (!timed || timed < least_timed)
		return WT_COST_UNKNOWN;
	for (unsigned i = 0; i + 1 < WT_COST_BUCKETS; i++) {
		double low = (double)wt_cost_bucket_low_ns(i);
		double high = (double)wt_cost_bucket_low_ns(i + 1);

		if (hook_time[i] && rank <= (double)(before + hook_time[i]))
			return bounded(low + (high - low) * (rank - (double)before) /
			                             (double)hook_time[i]);
		before += hook_time[i];
	}
	return (int64_t)WT_COST_LONG_NS;
}

int64_t wt_cost_launches_ns(const uint64_t hook_time[WT_COST_BUCKETS], uint64_t timed_ns,
                            uint64_t launches)
{
	uint64_t timed = wt_cost_timed(hook_time) - wt_cost_long(hook_time);

	if (!timed)
		return WT_COST_UNKNOWN;
	return bounded((double)timed_ns / (double)timed * (double)launches);
}

int64_t wt_cost_calls_ns(uint64_t timed_ns)
{
	return bounded((double)timed_ns * WT_COST_PERIOD);
}
