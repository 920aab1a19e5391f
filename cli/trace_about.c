/*
 * trace_about.c - see trace_impl.h: what the trace is of, as notes of one slice as long as the trace: run,
 * window, devices, evidence, losses, own cost, and what was left out. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report.h"
#include "cli/report_sql.h"
#include "cli/run_counters.h"
#include "cli/trace_impl.h"
#include "config.h"
#include "schema/wt_db.h"

static void note_window(struct wt_trace_work *work)
{
	struct wt_trace *trace = &work->trace;
	size_t at = wt_trace_notes_begin(trace, "window");
	char what[300] = "";

	wt_trace_note_key_int(trace, "start_ns", work->start_ns);
	wt_trace_note_key_int(trace, "end_ns", work->end_ns);
	wt_trace_note_key_int(trace, "run_start_ns", work->run_start_ns);
	wt_trace_note_key_int(trace, "run_end_ns", work->run_end_ns);
	if (work->select.is_applied)
		wt_select_describe(&work->select, what, sizeof(what));
	wt_trace_note_key_text(trace, "selection", what[0] ? what : NULL);
	wt_trace_note_key_text(trace, "steps", work->query->select->words.steps);
	wt_trace_notes_end(trace, at);
}

static void note_content(struct wt_trace_work *work)
{
	struct wt_trace *trace = &work->trace;
	size_t at = wt_trace_notes_begin(trace, "in_trace");

	wt_trace_note_key_int(trace, "kernels", work->kernels);
	wt_trace_note_key_int(trace, "copies", work->copies);
	wt_trace_note_key_int(trace, "calls", work->calls);
	wt_trace_note_key_int(trace, "gaps", work->gaps);
	wt_trace_note_key_int(trace, "steps", work->steps);
	wt_trace_note_key_text(trace, "steps_reason", work->steps_reason);
	wt_trace_note_key_int(trace, "ranges", work->ranges);
	wt_trace_note_key_int(trace, "waits", work->waits);
	wt_trace_notes_end(trace, at);
	at = wt_trace_notes_begin(trace, "left_out");
	wt_trace_note_key_text(trace, "ends_early",
	                       work->is_cut ? "yes: the limit of slices (--max-events)" : NULL);
	wt_trace_note_key_int(trace, "kernels_without_time", work->no_time);
	wt_trace_note_key_int(trace, "rows_refused", work->refused);
	if (work->is_partial)
		wt_trace_note_key_text(trace, "launches", "of kernels that are not selected");
	wt_trace_notes_end(trace, at);
}

static void note_evidence(struct wt_trace_work *work)
{
	struct wt_trace *trace = &work->trace;
	char line[600] = "";

	wt_trace_note_key_text(trace, "evidence",
	                       "idle SM-time of kernels, waves and SMs that could be busy: model; "
	                       "counters named so: sampled");
	wt_run_counters(work->db, false, line, sizeof(line));
	wt_trace_note_key_text(trace, "sampling", line);
}

static void note_losses(struct wt_trace *trace, const struct wt_report *report)
{
	size_t at = wt_trace_notes_begin(trace, "loss");

	wt_trace_note_key_int(trace, "kernels_lost", wt_report_kernels_lost(&report->loss));
	for (const struct wt_report_loss_field *f = wt_report_loss_fields; f->name; f++)
		wt_trace_note_key_int(trace, f->name, wt_report_loss_get(&report->loss, f));
	wt_trace_notes_end(trace, at);
	for (size_t i = 0; i < report->capture_count; i++) {
		const struct wt_report_capture *capture = &report->captures[i];
		char key[60];

		snprintf(key, sizeof(key), "incomplete_%zu", i + 1);
		at = wt_trace_notes_begin(trace, key);
		wt_trace_note_key_text(trace, "capture", capture->capture);
		wt_trace_note_key_text(trace, "reason", capture->reason);
		wt_trace_note_key_int(trace, "processes", capture->processes);
		wt_trace_note_key_int(trace, "first_pid", capture->first_pid);
		wt_trace_notes_end(trace, at);
	}
}

static void note_cost(struct wt_trace *trace, const struct wt_cost *cost)
{
	size_t at;

	if (cost->is_damaged)
		return;
	at = wt_trace_notes_begin(trace, "own_cost");
	wt_trace_note_key_text(trace, "hooks_reason", cost->reason);
	if (cost->launches_ns != WT_COST_UNKNOWN)
		wt_trace_note_key_int(trace, "hook_launches_ns", cost->launches_ns);
	if (cost->calls_ns != WT_COST_UNKNOWN)
		wt_trace_note_key_int(trace, "hook_calls_ns", cost->calls_ns);
	wt_trace_note_key_int(trace, "cupti_callback_ns", cost->callback_ns);
	wt_trace_note_key_int(trace, "flush_cpu_ns", cost->flush_cpu_ns);
	wt_trace_notes_end(trace, at);
}

static void note_run(struct wt_trace_work *work)
{
	const struct wt_db_run_file *info = &work->query->run->info;
	struct wt_trace *trace = &work->trace;
	char version[64] = "";

	wt_trace_note_key_text(trace, "run", info->id);
	wt_trace_note_key_text(trace, "name", info->name[0] ? info->name : NULL);
	wt_trace_note_key_text(trace, "hostname", info->hostname);
	wt_trace_note_key_int(trace, "created_ns", info->created_ns);
	if (wt_db_meta(work->db, "wavetap_version", version, sizeof(version)))
		wt_trace_note_key_text(trace, "recorded_by", version);
	wt_trace_note_key_text(trace, "written_by", PACKAGE_VERSION);
	wt_trace_note_key_text(trace, "clock", "CLOCK_REALTIME, ns");
	for (size_t i = 0; i < work->device_count; i++) {
		const struct wt_trace_device *device = &work->devices[i];
		char key[40];
		size_t at;

		snprintf(key, sizeof(key), "device_%" PRId64, device->device_id);
		at = wt_trace_notes_begin(trace, key);
		wt_trace_note_key_text(trace, "name", device->name);
		wt_trace_note_key_text(trace, "uuid", device->uuid);
		wt_trace_note_key_int(trace, "sms", device->sms);
		wt_trace_notes_end(trace, at);
	}
}

int wt_trace_about(struct wt_trace_work *work)
{
	const struct wt_db_run_file *info = &work->query->run->info;
	const struct wt_trace_track track = {
	        .name = "wavetap",
	        .description = "what this trace is of, what it rests on, and what is not in it",
	        .rank = 1};
	struct wt_trace *trace = &work->trace;
	struct wt_trace_slice slice = {.start_ns = work->start_ns, .category = WT_CATEGORY_RUN};
	struct wt_report losses;
	struct wt_cost cost;
	char name[320];
	int rc = wt_report_load_losses(work->db, &losses);

	if (!rc)
		rc = wt_cost_read(work->db, &cost);
	if (!rc) {
		snprintf(name, sizeof(name), "run %s%s%s", info->id, info->name[0] ? " " : "",
		         info->name);
		slice.track = wt_trace_track(trace, &track);
		slice.name = wt_trace_text(trace, WT_TRACE_NAME, name);
		wt_trace_slice(trace, &slice);
		note_run(work);
		note_window(work);
		note_content(work);
		note_evidence(work);
		note_losses(trace, &losses);
		note_cost(trace, &cost);
		wt_trace_slice_done(trace);
		wt_trace_slice_end(trace, slice.track, work->end_ns);
		wt_cost_fini(&cost);
	}
	wt_report_fini(&losses);
	return rc ? rc : trace->error;
}
