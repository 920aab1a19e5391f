/*
 * steps_times.h - statistics of the steady steps of a run. Pure but for memory; single-threaded.
 */
#ifndef WT_CLI_STEPS_TIMES_H
#define WT_CLI_STEPS_TIMES_H

#include "cli/steps.h"

/* In ns; medians by nearest rank. count 0: none is steady. */
struct wt_step_times {
	int64_t count, min_ns, median_ns, max_ns;
	double mean_ns, deviation_ns; /* of the population */
	int64_t median_busy_ns, median_launches;
};

/* 0 or -ENOMEM. */
int wt_step_times_compute(const struct wt_run_steps *steps, struct wt_step_times *times);

#endif /* WT_CLI_STEPS_TIMES_H */
