/*
 * trace_steps.c - see trace_impl.h: the steps that are found in each process, as a track of it.
 * Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/steps.h"
#include "cli/trace_impl.h"
#include "schema/wt_db.h"

static void put_step(struct wt_trace_work *work, struct wt_trace_row *row,
                     const struct wt_run_steps *steps, size_t i)
{
	struct wt_trace *trace = &work->trace;
	const struct wt_run_step *step = &steps->steps[i];
	struct wt_trace_slice slice = {.start_ns = step->start_ns, .category = WT_CATEGORY_STEP};
	char name[40];

	slice.track = wt_trace_row_place(row, step->start_ns, step->end_ns);
	if (!slice.track)
		return;
	snprintf(name, sizeof(name), "step %zu", i + 1);
	slice.name = wt_trace_text(trace, WT_TRACE_NAME, name);
	wt_trace_slice(trace, &slice);
	wt_trace_note_text(trace, WT_NOTE_KIND,
	                   wt_trace_text(trace, WT_TRACE_TEXT, wt_run_step_kind(steps, i)));
	wt_trace_note_int(trace, WT_NOTE_LAUNCHES, step->launches);
	if (steps->is_gpu_time)
		wt_trace_note_int(trace, WT_NOTE_BUSY, step->busy_ns);
	wt_trace_slice_done(trace);
	work->steps++;
}

static int put_process(struct wt_trace_work *work, const struct wt_trace_process *process)
{
	const struct wt_steps_query query = {process->process_id, -1, NULL};
	struct wt_trace_row row = {
	        .trace = &work->trace,
	        .parent = process->track,
	        .name = "steps (found)",
	        .description =
	                "steps that wavetap found in the pattern of launches: from the start "
	                "of the first kernel of one to that of the next",
	        .rank = WT_RANK_STEPS};
	struct wt_run_steps *steps = calloc(1, sizeof(*steps));
	int rc = steps ? wt_run_steps_load(work->db, &query, steps) : -ENOMEM;

	for (size_t i = 0; !rc && steps->found.reason == WT_STEPS_FOUND && i < steps->count; i++) {
		const struct wt_run_step *step = &steps->steps[i];

		/* The one before a window of steps ends where that begins. */
		if (step->start_ns < work->high_ns && step->end_ns > work->low_ns &&
		    step->end_ns > step->start_ns && step->start_ns >= 0)
			put_step(work, &row, steps, i);
	}
	wt_trace_row_finish(&row);
	if (steps)
		wt_run_steps_fini(steps);
	free(steps);
	return rc == -ENOENT ? 0 : rc ? rc : work->trace.error;
}

int wt_trace_steps(struct wt_trace_work *work)
{
	int rc = 0;

	if (wt_db_int(work->db, "SELECT sum(launches) FROM main.config_stat", 0) >
	            WT_SELECT_STEADY_LAUNCHES_MAX &&
	    !work->query->select->words.steps) {
		work->steps_reason = "not looked for: over 250,000 launches are searched only for "
		                     "wavetap steps and --steps";
		return 0;
	}
	for (size_t i = 0; !rc && i < work->process_count; i++)
		rc = put_process(work, &work->processes[i]);
	return rc;
}
