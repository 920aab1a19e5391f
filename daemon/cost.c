/*
 * cost.c - what wavetap itself took in a process: the rows of `own_cost` and `hook_time`. Main thread;
 * may block on the disk.
 *
 * Counters of the producer, as they are. Written once a second while records come, and at the end.
 */
#include "analysis/cost.h"
#include "daemon/daemon.h"

static int64_t known(int64_t value)
{
	return value == WT_COST_UNKNOWN ? WT_DB_NULL : value;
}

int64_t wt_cost_bytes_written(const struct wt_process *process)
{
	uint64_t cells = process->cursor[WT_RING_CALLS] + process->cursor[WT_RING_ACTIVITY];

	return (int64_t)(cells * WT_CELL_BYTES + process->counters.arena_used_bytes);
}

static int save_times(const struct wt_process *process)
{
	const uint64_t *times = process->counters.hook_time;
	int err = 0;

	for (unsigned i = 0; i < WT_COST_BUCKETS && !err; i++) {
		bool is_last = i + 1 == WT_COST_BUCKETS;

		if (times[i])
			err = wt_store_run(process->run, WT_SQL_HOOK_TIME, "iini",
			                   process->process_id, (int64_t)wt_cost_bucket_low_ns(i),
			                   is_last ? WT_DB_NULL
			                           : (int64_t)wt_cost_bucket_low_ns(i + 1),
			                   (int64_t)times[i]);
	}
	return err;
}

int wt_cost_save(struct wt_process *process, bool is_live)
{
	const struct wt_counters *c = &process->counters;
	int64_t now_ns = wt_clock_ns(CLOCK_MONOTONIC);
	int err;

	if (is_live && process->cost_saved_ns && now_ns - process->cost_saved_ns < WT_SECOND)
		return 0;
	process->cost_saved_ns = now_ns;
#define I(value) (int64_t)(value)
	err = wt_store_run(
	        process->run, WT_SQL_OWN_COST, "iiinniiiiiiiiiiiiini", process->process_id,
	        I(wt_cost_timed(c->hook_time)), I(wt_cost_long(c->hook_time)),
	        known(wt_cost_quantile_ns(c->hook_time, 50, WT_COST_P50_LEAST)),
	        known(wt_cost_quantile_ns(c->hook_time, 99, WT_COST_P99_LEAST)),
	        I(c->hook_launch_ns), I(c->hook_calls_timed), I(c->hook_calls_ns),
	        I(c->hook_long_ns), I(c->hook_start_ns), I(c->launching_threads),
	        I(c->launching_thread_ns), I(c->cupti_callbacks), I(c->app_callback_ns),
	        I(c->cupti_bytes), wt_cost_bytes_written(process), I(c->budget_ppm),
	        I(c->budget_state), c->budget_stepped_ns ? I(c->budget_stepped_ns) : WT_DB_NULL,
	        I(c->budget_cost_ppm));
#undef I
	return err ? err : save_times(process);
}
