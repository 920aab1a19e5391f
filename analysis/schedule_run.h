/*
 * schedule_run.h - the event simulation inside schedule.c: one machine, empty at time
 * 0, and blocks that start in order until none is left. Not for others.
 *
 * Pure; any thread; allocates the machine's slots while it runs.
 */
#ifndef WT_SCHEDULE_RUN_H
#define WT_SCHEDULE_RUN_H

#include "analysis/schedule.h"

struct wt_schedule_run {
	/* What to run. */
	const struct wt_schedule_machine *machine;
	const struct wt_schedule_work *work; /* times, deal, grid, setup */
	uint64_t first_idx, count; /* blocks, or items with a queue */
	const uint32_t *capacity; /* slots of each SM; NULL: blocks_per_sm, and clusters hold */
	bool is_later; /* not the first wave: is_packed holds from the start, setup is over */
	wt_schedule_observer *observer;
	void *context;

	/* What came out. */
	uint64_t first_fill; /* blocks that started at time 0 */
	int64_t makespan, work_sum;
	int64_t time_min, time_max;
};

/* Per SM, owned by the caller: sm_count of them, overwritten. */
struct wt_schedule_sm {
	int64_t active, end; /* end of its last block */
	uint64_t blocks;
	uint32_t first_load; /* blocks that started at time 0 */
};

/* 0 or a negative errno as wt_schedule_compute(). Arguments are valid. */
int wt_schedule_run(struct wt_schedule_run *run, struct wt_schedule_sm *sms);

#endif /* WT_SCHEDULE_RUN_H */
