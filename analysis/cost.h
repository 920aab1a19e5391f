/*
 * cost.h - what wavetap itself took in a process, from what its hooks timed of themselves. Pure.
 *
 * One hooked call in WT_COST_PERIOD is timed (schema/wt_cost.h): sums of all follow from
 * the mean of those timed. Hooks over WT_COST_LONG_NS, whose thread was off its CPU or waited for a page,
 * are in the quantiles and not in the mean: a single one would stand for 256.
 */
#ifndef WT_ANALYSIS_COST_H
#define WT_ANALYSIS_COST_H

#include <stdint.h>

#include "schema/wt_cost.h"

#define WT_COST_UNKNOWN (-1)
#define WT_COST_P50_LEAST 10 /* timed launches; of fewer the quantile is not known */
#define WT_COST_P99_LEAST 100

/* Launches timed, long ones too, and those that were long. */
uint64_t wt_cost_timed(const uint64_t hook_time[WT_COST_BUCKETS]);
uint64_t wt_cost_long(const uint64_t hook_time[WT_COST_BUCKETS]);

/*
 * The time that so many percent of the timed launches don't exceed, within 12.5 %: as if they lay evenly
 * in their bucket. WT_COST_LONG_NS stands for that and more. WT_COST_UNKNOWN: too few were timed.
 */
int64_t wt_cost_quantile_ns(const uint64_t hook_time[WT_COST_BUCKETS], unsigned percent,
                            uint64_t least_timed);

/* Of all `launches`, from the sum over those timed that were not long; WT_COST_UNKNOWN: none was. */
int64_t wt_cost_launches_ns(const uint64_t hook_time[WT_COST_BUCKETS], uint64_t timed_ns,
                            uint64_t launches);

/* Of all other hooked calls, from the sum over those timed. */
int64_t wt_cost_calls_ns(uint64_t timed_ns);

#endif /* WT_ANALYSIS_COST_H */
