/*
 * run_summary.h - a run in a few numbers, for tables that set runs beside each other: `sweep`, and
 * `runs --history`. Of its steady steps where these are found, else of all of it.
 * Time and memory: as `wavetap ledger` and `wavetap steps` of that run. Single-threaded; blocks on the file.
 */
#ifndef WT_CLI_RUN_SUMMARY_H
#define WT_CLI_RUN_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/gap.h"
#include "analysis/sweep.h"
#include "schema/wt_db.h"

#define WT_RUN_TAGS_MAX 32

struct wt_run_tag {
	char *key, *value;
};

struct wt_run_summary {
	struct wt_db_run_file info;
	struct wt_run_tag tags[WT_RUN_TAGS_MAX];
	size_t tag_count;
	char *gpus; /* "1x NVIDIA H200 132 SMs" */
	const char *reason; /* why there are no steady steps; NULL: there are. Static text */
	int64_t window_ns;
	/* Steady steps of the process with most launches; unknown (-1) where there are none. */
	int64_t steps, step_ns; /* their number, their median */
	int64_t step_low_ns, step_high_ns; /* 95 of 100 medians are within; -1: under 6 steps */
	int64_t launches_per_step; /* median; of kernels and of graphs */
	/* In the window, all devices, SM-microseconds: those of many devices fit. */
	int64_t total_sm_us, active_sm_us, underfill_sm_us, wave_sm_us, straggle_sm_us, ramp_sm_us;
	int64_t unjudged_sm_us, comm_sm_us, gap_sm_us[WT_GAP_CAUSE_MAX], measured_sm_us;
	int64_t busy_ns, wall_ns; /* summed over devices */
	double occupancy; /* theoretical, mean over the time of kernels of all of the run; < 0: not known */
	int64_t kernels_lost; /* of the whole run */
	bool is_live;
};

/* What no kernel's SMs had: all but active and unjudged. */
int64_t wt_run_summary_idle_sm_us(const struct wt_run_summary *summary);
int64_t wt_run_summary_gap_sm_us(const struct wt_run_summary *summary);
/* "host": what most of the gaps are; NULL: there are none. */
const char *wt_run_summary_main_cause(const struct wt_run_summary *summary);
/* The value of a tag, or NULL. */
const char *wt_run_summary_tag(const struct wt_run_summary *summary, const char *key);

/* An enum wt_exit, after a message; fini in either case. NULL: the last run. */
int wt_run_summary_load(const char *spec, struct wt_run_summary *summary);
void wt_run_summary_fini(struct wt_run_summary *summary);

#endif /* WT_CLI_RUN_SUMMARY_H */
