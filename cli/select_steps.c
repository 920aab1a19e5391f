/*
 * select_steps.c - see select_impl.h: steps as a window, those that were asked for and the steady
 * ones. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/report_sql.h"
#include "cli/select.h"
#include "cli/select_impl.h"
#include "cli/steps.h"

/*
 * Those of --steps; of the process with most launches, whatever else is selected. 0, an enum
 * wt_exit after a message, or -errno.
 */
static int use_asked(const struct wt_select *select, const struct wt_run_file *run, int code,
                     const struct wt_run_steps *steps, int64_t *ret_start_ns, int64_t *ret_end_ns)
{
	size_t last;

	if (code && code != -ENOENT)
		return code;
	if (code || steps->found.reason != WT_STEPS_FOUND || !steps->count) {
		wt_cli_error("--steps: run %s has no steps that could be found: %s", run->info.id,
		             code ? "no launches" : wt_steps_reason_text(steps->found.reason));
		return WT_EXIT_NO_DATA;
	}
	if (!steps->is_gpu_time) {
		wt_cli_error("--steps: the kernels of run %s have no times", run->info.id);
		return WT_EXIT_NO_DATA;
	}
	if (select->step_first > (int64_t)steps->count) {
		wt_cli_error("--steps %s: run %s has %zu steps", select->words.steps, run->info.id,
		             steps->count);
		return WT_EXIT_NO_DATA;
	}
	last = select->step_last < (int64_t)steps->count ? (size_t)select->step_last : steps->count;
	*ret_start_ns = steps->steps[select->step_first - 1].start_ns;
	*ret_end_ns = steps->steps[last - 1].end_ns;
	return WT_EXIT_FINE;
}

/* The steady ones; without them the window stays the run, and `reason` says why. */
#define STEADY_CONFIDENCE_LEAST                                                                    \
	0.8 /* less is shown by `wavetap steps`, and nothing is left out for it */
_Static_assert(WT_SELECT_STEADY_LAUNCHES_MAX == 250000, "as a reason says");

static int use_steady(struct wt_select *select, int code, const struct wt_run_steps *steps,
                      int64_t *ret_start_ns, int64_t *ret_end_ns)
{
	struct wt_select_steps *window = &select->steps;

	if (code && code != -ENOENT)
		return code;
	if (code)
		window->reason = "no launches";
	else if (steps->found.reason != WT_STEPS_FOUND)
		window->reason = wt_steps_reason_text(steps->found.reason);
	else if (!steps->is_gpu_time)
		window->reason = "kernels have no times";
	else if (!steps->found.steady_count || steps->steady_end_ns <= steps->steady_start_ns)
		window->reason = "none of the steps is steady";
	else if (steps->found.confidence < STEADY_CONFIDENCE_LEAST)
		window->reason = "those found (wavetap steps) may be a loop of something else";
	if (window->reason)
		return WT_EXIT_FINE;
	window->is_found = true;
	window->confidence = steps->found.confidence;
	window->count = (int64_t)steps->count;
	window->first_step = (int64_t)steps->found.steady_first + 1;
	window->last_step = (int64_t)steps->found.steady_end;
	window->process_id = steps->processes > 1 ? steps->process_id : 0;
	*ret_start_ns = steps->steady_start_ns;
	*ret_end_ns = steps->steady_end_ns < select->run_end_ns ? steps->steady_end_ns
	                                                        : select->run_end_ns;
	window->startup_ns = *ret_start_ns - select->run_start_ns;
	window->after_ns = select->run_end_ns - *ret_end_ns;
	return WT_EXIT_FINE;
}

/* From the first launch of any process to where the run's own window begins. */
static int64_t unobserved_ns(const struct wt_select *select, const struct wt_run_file *run)
{
	int64_t first_ns =
	        wt_db_int(run->db, "SELECT min(first_ns) FROM main.process", select->run_start_ns);

	return first_ns > 0 && first_ns < select->run_start_ns ? select->run_start_ns - first_ns
	                                                       : 0;
}

int wt_select_resolve_steps(struct wt_select *select, const struct wt_run_file *run,
                            int64_t *ret_start_ns, int64_t *ret_end_ns)
{
	const struct wt_steps_query query = {-1, -1, NULL};
	struct wt_run_steps *steps;
	int rc;

	if (!select->words.steps && !select->steps.is_looked_for)
		return WT_EXIT_FINE;
	select->steps.unobserved_ns = unobserved_ns(select, run);
	if (!select->words.steps && select->dropped.is_any) {
		select->steps.reason = "rows were dropped (WAVETAP_KEEP_ROWS)";
		return WT_EXIT_FINE;
	}
	if (!select->words.steps && select->run_launches > WT_SELECT_STEADY_LAUNCHES_MAX) {
		select->steps.reason =
		        "over 250,000 launches are searched only for wavetap steps and --steps";
		return WT_EXIT_FINE;
	}
	steps = calloc(1, sizeof(*steps));
	if (!steps)
		return -ENOMEM;
	rc = wt_run_steps_load(run->db, &query, steps);
	if (select->words.steps)
		rc = use_asked(select, run, rc, steps, ret_start_ns, ret_end_ns);
	else
		rc = use_steady(select, rc, steps, ret_start_ns, ret_end_ns);
	wt_run_steps_fini(steps);
	free(steps);
	return rc;
}
