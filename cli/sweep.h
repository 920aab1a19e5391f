/*
 * sweep.h - runs by parameter: `wavetap sweep`. A parameter is a tag of the run (run --tag batch=8).
 *
 *   cmd_sweep.c   which runs, which parameters, the front; table and JSON
 *   sweep_run.c   makes the runs: `sweep --run`
 *   sweep_html.c  the plot as a page
 *
 * On the front is a run if no other one takes less time and leaves less idle. Single-threaded; blocks on files.
 */
#ifndef WT_CLI_SWEEP_H
#define WT_CLI_SWEEP_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/run_summary.h"

struct wt_sweep_point {
	struct wt_run_summary run;
	char *label; /* "batch=8 tile=64" */
	double per_ns; /* step by the value of --per, else the step; < 0: not known */
	double idle_share; /* < 0: not known */
	bool is_on_front;
};

struct wt_run_sweep {
	struct wt_sweep_point *points; /* by parameters */
	size_t count, room;
	const char *keys[WT_RUN_TAGS_MAX]; /* the parameters: of the first run's tags */
	size_t key_count;
	const char *per; /* time is divided by this parameter; NULL: not */
	size_t failed; /* runs that are not there, or can't be read */
};

/* Which no other one beats in both. Unknown ones are on no front. */
void wt_sweep_find_front(struct wt_run_sweep *sweep);

/* A page of its own, with the plot and the table. 0 or -errno. */
int wt_sweep_write_html(FILE *out, const struct wt_run_sweep *sweep);

/*
 * Runs `command` once for each combination of "key=v1,v2" under `wavetap run`, {key} replaced. What of it was recorded
 * and ended well is handed to `take`. *ret_failed: how many did not. An enum wt_exit, after a message.
 */
int wt_sweep_run(const char *command, const char *name, char **parameters, size_t count,
                 int (*take)(void *arg, const char *path), void *arg, size_t *ret_failed);

#endif /* WT_CLI_SWEEP_H */
