/*
 * top_text.c - see top_text.h. Single-threaded; blocks as the FILE does.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ledger_lines.h"
#include "cli/measured.h"
#include "cli/phrase.h"
#include "cli/select.h"
#include "cli/top_cells.h"
#include "cli/top_columns.h"
#include "cli/top_text.h"

#define TIMELESS_MIN 100

static const char *const by_text[] = {
        [WT_REPORT_BY_IDLE] = "idle SM-time",
        [WT_REPORT_BY_TAIL_IDLE] = "tail idle (wave + straggle)",
        [WT_REPORT_BY_UNDERFILL] = "underfill",
        [WT_REPORT_BY_WAVE] = "wave",
        [WT_REPORT_BY_TIME] = "time",
        [WT_REPORT_BY_LAUNCHES] = "launches",
        [WT_REPORT_BY_STRAGGLE] = "straggle",
        [WT_REPORT_BY_GAP] = "gaps before its kernels",
        [WT_REPORT_BY_LATENCY] = "mean time from launch call to start",
        [WT_REPORT_BY_CV] = "variation of the durations",
};

const char *wt_top_by_text(enum wt_report_by by)
{
	return by_text[by];
}

/* "steps 20-420 of 431 (found)  12.4s  31.0ms/step" */
static void print_steps_window(struct wt_phrase *line, const struct wt_select_steps *steps,
                               int64_t wall_ns)
{
	char number[WT_TEXT_NUMBER_BYTES], of[64] = "", how[64] = "";
	int64_t steps_in = steps->last_step - steps->first_step + 1;

	if (steps->process_id)
		snprintf(of, sizeof(of), " of process %" PRId64, steps->process_id);
	if (steps->confidence < 0.995)
		snprintf(how, sizeof(how), ", confidence %.2f", steps->confidence);
	wt_phrase_add(line, "steps %" PRId64 "-%" PRId64 " of %" PRId64 "%s (found%s)",
	              steps->first_step, steps->last_step, steps->count, of, how);
	wt_phrase_add(line, "%s", wt_text_ns(number, wall_ns));
	wt_phrase_add(line, "%s/step", wt_text_ns(number, wall_ns / steps_in));
}

void wt_top_print_apart(struct wt_phrase *line, const struct wt_select_steps *steps)
{
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];

	if (!steps || (!steps->is_found && !steps->reason))
		return;
	if (steps->is_found)
		wt_phrase_add(line, "apart: start-up %s  after-run %s",
		              wt_text_ns(a, steps->startup_ns), wt_text_ns(b, steps->after_ns));
	else
		wt_phrase_add(line, "no steady steps: %s", steps->reason);
	if (steps->unobserved_ns)
		wt_phrase_add(line, "unobserved before it %s", wt_text_ns(a, steps->unobserved_ns));
	if (steps->is_found)
		wt_phrase_add(line, "--all has the whole run");
	wt_phrase_end(line);
}

void wt_top_print_window(struct wt_phrase *line, const struct wt_select *select,
                         const struct wt_select_steps *steps, int64_t wall_ns)
{
	char from[WT_TEXT_NUMBER_BYTES], to[WT_TEXT_NUMBER_BYTES], all[WT_TEXT_NUMBER_BYTES];

	if (select && steps && steps->is_found)
		print_steps_window(line, steps, select->end_ns - select->start_ns);
	else if (select && select->has_window)
		wt_phrase_add(line, "%s to %s of %s",
		              wt_text_ns(from, select->start_ns - select->run_start_ns),
		              wt_text_ns(to, select->end_ns - select->run_start_ns),
		              wt_text_ns(all, select->run_end_ns - select->run_start_ns));
	else
		wt_phrase_add(line, "whole run %s", wt_text_ns(all, wall_ns));
}

void wt_top_print_selection(struct wt_phrase *line, const struct wt_select *select)
{
	char what[400];

	if (!select)
		return;
	wt_select_describe(select, what, sizeof(what));
	if (!what[0])
		return;
	wt_phrase_add(line, "selected: %s", what);
	wt_phrase_end(line);
}

static bool is_alike(const struct wt_report_device *a, const struct wt_report_device *b)
{
	return a->sm_count == b->sm_count && !strcmp(a->name, b->name);
}

/* "8x NVIDIA H200 132 SMs"; of mixed devices each kind, in the order of their ids. */
void wt_top_print_devices(struct wt_phrase *line, const struct wt_report *report)
{
	const struct wt_report_device *devices = report->devices;

	for (size_t i = 0; i < report->device_count; i++) {
		size_t before = 0, count = 1;

		while (before < i && !is_alike(&devices[before], &devices[i]))
			before++;
		if (before < i)
			continue; /* counted with the first of its kind */
		for (size_t k = i + 1; k < report->device_count; k++)
			count += is_alike(&devices[k], &devices[i]);
		wt_phrase_add(line, "%s%zux %s %" PRId64 " SMs", i ? "+ " : "", count,
		              devices[i].name, devices[i].sm_count);
	}
}

void wt_top_print_run(struct wt_phrase *line, const struct wt_run_file *run,
                      const struct wt_report *report)
{
	char number[WT_TEXT_NUMBER_BYTES], all[WT_TEXT_NUMBER_BYTES];
	char evidence[WT_MEASURED_TEXT_BYTES];
	int64_t parts_sm_ns[WT_EVIDENCE_MAX], sm_ns;

	wt_phrase_add(line, "run %s", run->info.id);
	if (run->info.name[0])
		wt_phrase_add(line, "%s", run->info.name);
	wt_top_print_devices(line, report);
	if (report->has_window)
		wt_top_print_window(line, report->select, report->steps,
		                    report->end_ns - report->start_ns);
	if (report->select)
		wt_phrase_add(line, "%s of %s kernels",
		              wt_text_count(number, report->total.launches),
		              wt_text_count(all, report->select->run_launches));
	else
		wt_phrase_add(line, "%s kernels", wt_text_count(number, report->total.launches));
	if (report->processes > 1)
		wt_phrase_add(line, "%" PRId64 " processes", report->processes);
	if (report->processes_live)
		wt_phrase_add(line, "still running");
	sm_ns = wt_report_row_sm_ns(&report->total, parts_sm_ns);
	wt_phrase_add(line, "evidence: %s%s", wt_measured_text(evidence, sm_ns, parts_sm_ns),
	              strcmp(wt_measured_word(sm_ns, parts_sm_ns), "mixed") ? "" : ", else model");
	wt_phrase_end(line);
}

/* Time of a device that its kernels left idle, in ns of the whole device. */
struct lost_time {
	double under, wave, wave_max, straggle, ramp, unjudged, comm;
	char mark; /* "~", or 0 */
	bool is_measured;
};

/* What in kernels is measured is one figure; the model has a range. */
static void add_lost(struct wt_phrase *line, double wall, const struct lost_time *lost)
{
	double sum = lost->under + lost->wave + lost->straggle + lost->ramp;
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES], c[WT_TEXT_NUMBER_BYTES];
	char d[WT_TEXT_NUMBER_BYTES];

	if (lost->is_measured) {
		wt_phrase_add(line, "lost in kernels %s%s%% of the GPU",
		              lost->mark == '*' ? "*" : "", wt_text_percent(a, sum, wall));
		wt_phrase_add(line, "= under %s wave %s strag %s ramp %s",
		              wt_text_percent(a, lost->under, wall),
		              wt_text_percent(b, lost->wave, wall),
		              wt_text_percent(c, lost->straggle, wall),
		              wt_text_percent(d, lost->ramp, wall));
		return;
	}
	wt_phrase_add(line, "lost in kernels ~%s%% to %s%% of the GPU",
	              wt_text_percent(a, sum, wall),
	              wt_text_percent(b, lost->under + lost->wave_max, wall));
	wt_phrase_add(line, "= under ~%s wave ~%s to %s", wt_text_percent(a, lost->under, wall),
	              wt_text_percent(b, lost->wave, wall),
	              wt_text_percent(c, lost->wave_max, wall));
}

/* Loss as shares of S x window; for one device or all of them. */
static void print_loss_line(struct wt_phrase *line, const char *who, bool is_partial,
                            int64_t busy_ns, int64_t wall_ns, const struct lost_time *lost)
{
	char a[WT_TEXT_NUMBER_BYTES];
	double wall = (double)wall_ns;

	if (busy_ns < 0)
		wt_phrase_add(line, "%show long a kernel ran is not known: rows are gone", who);
	else
		wt_phrase_add(line,
		              is_partial
		                      ? "%sa selected kernel ran %s%% of the time"
		                      : "%sa kernel ran %s%% of the time (what nvidia-smi shows)",
		              who, wt_text_percent(a, (double)busy_ns, wall));
	add_lost(line, wall, lost);
	if (lost->unjudged >= 0.0005 * wall)
		wt_phrase_add(line, "unjudged %s%%", wt_text_percent(a, lost->unjudged, wall));
	if (lost->comm >= 0.0005 * wall)
		wt_phrase_add(line, "idle beside collectives %s%%",
		              wt_text_percent(a, lost->comm, wall));
	wt_phrase_end(line);
}

/*
 * Of a device: what the sweep gave its kernels, where the ledger was loaded; else the sum of the rows.
 */
static struct lost_time lost_of(const struct wt_report_device *device,
                                const struct wt_ledger *ledger)
{
	double sms = (double)(device->sm_count ? device->sm_count : 1);
	struct lost_time lost = {
	        .under = (double)device->underfill_sm_ns / sms,
	        .wave = (double)device->wave_sm_ns / sms,
	        .wave_max = (double)device->wave_max_sm_ns / sms,
	        .straggle = (double)device->straggle_sm_ns / sms,
	        .ramp = (double)device->ramp_sm_ns / sms,
	        .unjudged = (double)device->unjudged_sm_ns / sms,
	        .is_measured = device->measured_sm_ns > 0,
	        .mark = wt_top_mark("mixed", device->kernel_sm_ns, device->measured_sm_ns),
	};

	for (size_t i = 0; ledger && i < ledger->device_count; i++) {
		const struct wt_sweep_share *share = &ledger->devices[i].share;

		if (ledger->devices[i].device_id != device->device_id)
			continue;
		lost.under = (double)share->underfill_sm_ns / sms;
		lost.wave = (double)share->wave_sm_ns / sms;
		lost.wave_max = (double)share->wave_max_sm_ns / sms;
		lost.straggle = (double)share->straggle_sm_ns / sms;
		lost.ramp = (double)share->ramp_sm_ns / sms;
		lost.unjudged = (double)share->unjudged_sm_ns / sms;
		lost.comm = (double)share->comm_sm_ns / sms;
	}
	return lost;
}

/* Only a part of the kernels that share the devices is shown. */
static bool is_partial(const struct wt_report *report)
{
	return report->select && wt_select_is_partial(report->select);
}

static void print_device_lines(struct wt_phrase *line, const struct wt_report *report)
{
	const struct wt_ledger *ledger = is_partial(report) ? NULL : report->ledger;
	int64_t wall_ns = report->end_ns - report->start_ns;

	for (size_t i = 0; report->has_window && i < report->device_count; i++) {
		const struct wt_report_device *device = &report->devices[i];
		struct lost_time lost = lost_of(device, ledger);
		char who[160] = "";

		if (report->device_count > 1)
			snprintf(who, sizeof(who),
			         "device %" PRId64 " %.64s %" PRId64 " SMs: ", device->device_id,
			         device->name, device->sm_count);
		print_loss_line(line, who, is_partial(report), device->busy_ns, wall_ns, &lost);
	}
}

/* Gaps by cause, largest first, as shares of the whole; those that round to 0.0 are left out. */
static void add_causes(struct wt_phrase *line, const double cause_sm_ns[WT_GAP_CAUSE_MAX],
                       double gap_sm_ns, double total_sm_ns)
{
	char percent[WT_TEXT_NUMBER_BYTES];
	double above = 1e300;

	wt_phrase_add(line, "gaps %s%%", wt_text_percent(percent, gap_sm_ns, total_sm_ns));
	for (int told = 0; told < WT_GAP_CAUSE_MAX; told++) {
		int most = -1;

		for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++)
			if (cause_sm_ns[cause] < above &&
			    (most < 0 || cause_sm_ns[cause] > cause_sm_ns[most]))
				most = cause;
		if (most < 0 || cause_sm_ns[most] < 0.0005 * total_sm_ns)
			break;
		above = cause_sm_ns[most];
		wt_phrase_item(line, "%s%s %s", told ? "" : "= ",
		               wt_gap_cause_name((enum wt_gap_cause)most),
		               wt_text_percent(percent, above, total_sm_ns));
	}
}

/* Whole devices for some time: then there is a ledger of it. */
static bool is_whole_devices(const struct wt_report *report)
{
	return !report->select || (!is_partial(report) && !report->select->words.device);
}

/* The rest of SMs x wall. */
static void print_ledger_line(struct wt_phrase *line, const struct wt_report *report)
{
	const struct wt_ledger *ledger = report->ledger;
	double cause_sm_ns[WT_GAP_CAUSE_MAX] = {0}, gap_sm_ns = 0, active = 0, total = 0;
	int64_t kernel_sm_us = 0, measured_sm_us = 0;
	char percent[WT_TEXT_NUMBER_BYTES], mark;

	if (!ledger || !ledger->device_count || is_partial(report)) {
		if (is_whole_devices(report) && report->has_window) {
			wt_phrase_add(line, "gaps by cause: wavetap ledger");
			wt_phrase_end(line);
		}
		return;
	}
	for (size_t i = 0; i < ledger->device_count; i++) {
		const struct wt_ledger_device *device = &ledger->devices[i];
		int64_t parts_sm_ns[WT_EVIDENCE_MAX];

		active += (double)device->share.active_sm_ns;
		kernel_sm_us += wt_ledger_measured(device, parts_sm_ns) / 1000;
		for (int k = WT_EVIDENCE_SAMPLED; k < WT_EVIDENCE_MAX; k++)
			measured_sm_us += parts_sm_ns[k] / 1000;
		total += (double)device->total_sm_ns;
		for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++) {
			double sm_ns = (double)device->gap_ns[cause] * (double)device->sms;

			cause_sm_ns[cause] += sm_ns;
			gap_sm_ns += sm_ns;
		}
	}
	mark = (char)(measured_sm_us ? wt_top_mark("mixed", kernel_sm_us, measured_sm_us) : '~');
	wt_phrase_add(line, "active %s%s%%",
	              mark == '~' ? "~"
	              : mark      ? "*"
	                          : "",
	              wt_text_percent(percent, active, total));
	add_causes(line, cause_sm_ns, gap_sm_ns, total);
	wt_phrase_end(line);
}

/* So many kernels without times are not some that ran when the program ended. */
static bool is_timeless(const struct wt_report *report, int64_t count)
{
	return count >= TIMELESS_MIN && count >= report->loss.kernels / 100;
}

/* No loss of the sums, but of what is read row by row. */
static void print_dropped(struct wt_phrase *line, const struct wt_report *report)
{
	char text[WT_DROPPED_TEXT_BYTES], number[WT_TEXT_NUMBER_BYTES];

	if (!report->dropped.is_any)
		return;
	wt_dropped_text(&report->dropped, text);
	wt_phrase_add(line, "%s; sums of the whole run have them", text);
	if (report->dropped.gaps_mended)
		wt_phrase_add(line,
		              "gaps among them stay as they were summed, though clocks or "
		              "processes changed %s times later",
		              wt_text_count(number, report->dropped.gaps_mended));
	wt_phrase_end(line);
}

void wt_top_print_losses(FILE *out, const struct wt_text_terminal *terminal,
                         const struct wt_report *report)
{
	char number[WT_TEXT_NUMBER_BYTES];
	struct wt_phrase line;

	wt_phrase_init(&line, out, terminal);
	for (const struct wt_report_loss_field *f = wt_report_loss_fields; f->name; f++) {
		int64_t count = wt_report_loss_get(&report->loss, f);
		bool is_profiled =
		        f->offset == offsetof(struct wt_report_loss, kernels_no_time_profiled);

		if (f->offset == offsetof(struct wt_report_loss, kernels_no_time))
			count -= report->loss.kernels_no_time_profiled; /* a line of their own */
		if (!f->text || count <= 0)
			continue;
		wt_phrase_add(&line, "%s%s %s", is_profiled ? "" : "lost ",
		              wt_text_count(number, count), f->text);
		if (f->offset == offsetof(struct wt_report_loss, kernels_no_time) &&
		    is_timeless(report, count))
			wt_phrase_add(&line, "CUPTI's buffers on the GPU may have been used up: "
			                     "WAVETAP_CUPTI_BUFFERS=250 gives it more (else 64)");
		wt_phrase_end(&line);
	}
	for (size_t i = 0; i < report->capture_count; i++) {
		const struct wt_report_capture *c = &report->captures[i];

		wt_phrase_add(&line, "%s: %s", c->capture,
		              c->reason ? c->reason : "CUPTI was not armed");
		wt_phrase_add(&line, "%" PRId64 " process%s (pid %" PRId64 "%s)", c->processes,
		              c->processes == 1 ? "" : "es", c->first_pid,
		              c->processes == 1 ? "" : ", ...");
		wt_phrase_add(&line, "%s launches", wt_text_count(number, c->launches_attempted));
		wt_phrase_end(&line);
	}
	wt_cost_print_budgets(&line, &report->cost);
	print_dropped(&line, report);
}

/* What single launches were read for, and what the figures then are of. */
static void print_read(struct wt_phrase *line, const struct wt_report *report,
                       const struct wt_top_style *style)
{
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];

	if (report->has_latency)
		wt_phrase_add(line,
		              "latency of %s of %s launches: those with a call of their own,"
		              " queueing included",
		              wt_text_count(a, report->total.latency_launches),
		              wt_text_count(b, report->total.launches));
	if (style->group == WT_REPORT_GROUP_CLASS)
		wt_phrase_add(line, "classes go by words in the kernels' names");
	if (style->group == WT_REPORT_GROUP_RANGE)
		wt_phrase_add(line, "a kernel is of the innermost range around its launch call");
	if (style->group == WT_REPORT_GROUP_PHASE)
		wt_phrase_add(line, "phases: by ranges' names, optimizers' kernels, or threads");
	if (style->group == WT_REPORT_GROUP_STEP)
		wt_phrase_add(line, "a kernel is of the step in which it starts");
	if (report->launches_read > WT_REPORT_LAUNCHES_CHEAP)
		wt_phrase_add(line, "%s launches read one by one",
		              wt_text_count(a, report->launches_read));
}

void wt_top_print_marks(struct wt_phrase *line, const struct wt_report *report)
{
	bool is_mixed = wt_top_lost_mark(&report->total) == '*', has_model = !report->row_count;

	for (size_t i = 0; i < report->row_count; i++) {
		char mark = wt_top_lost_mark(&report->rows[i]);

		is_mixed = is_mixed || mark == '*';
		has_model = has_model || mark == '~';
	}
	if (has_model)
		wt_phrase_add(line, "~ model only");
	if (is_mixed)
		wt_phrase_add(line, "* in part");
	if (report->total.disagrees)
		wt_phrase_add(line, "! measured, and beyond what the model allows");
}

static void print_foot(FILE *out, const struct wt_text_terminal *terminal,
                       const struct wt_report *report, const struct wt_top_style *style,
                       const struct wt_top_view *view)
{
	const char *whole = report->select ? " in the whole run" : "";
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];
	int64_t overlap_ns = 0, launches = report->total.launches;
	struct wt_phrase line;

	for (size_t i = 0; i < report->device_count; i++)
		if (report->devices[i].busy_ns >= 0)
			overlap_ns += report->devices[i].time_ns - report->devices[i].busy_ns;
	wt_phrase_init(&line, out, terminal);
	wt_top_print_marks(&line, report);
	wt_phrase_add(&line, ". none or not knowable");
	if (view->has_persistent)
		wt_phrase_add(&line, "pers persistent, by its name");
	if (report->total.unjudged_gpu_ns >= 0.005 * view->unit.ns)
		wt_phrase_add(&line, "unjudged %s %s",
		              wt_top_format(a, &view->unit, report->total.unjudged_gpu_ns),
		              view->unit.name);
	/* When something was lost is not known, so it can't be told how much of a selection. */
	if (report->select)
		launches = report->select->run_launches;
	wt_phrase_add(&line, "lost %s of %s%s",
	              wt_text_count(a, wt_report_kernels_lost(&report->loss)),
	              wt_text_count(b, launches + wt_report_kernels_lost(&report->loss)), whole);
	if (overlap_ns > 0 && wt_report_shares_reason(report))
		wt_phrase_words(
		        &line, 2, "upper bound where kernels overlap (%s%% of TIME): %s",
		        wt_text_percent(a, (double)overlap_ns, (double)report->total.time_ns),
		        wt_report_shares_reason(report));
	wt_cost_add(&line, &report->cost, whole);
	print_read(&line, report, style);
	if (style->problem)
		wt_phrase_add(&line, "%s", style->problem);
	if (view->is_more)
		wt_phrase_add(&line, "--limit 0 shows all");
	if (style->next)
		wt_phrase_command(&line, "next: %s", style->next);
	if (style->next && style->then)
		wt_phrase_command(&line, "or: %s", style->then);
	wt_phrase_end(&line);
}

int wt_top_print(FILE *out, const struct wt_text_terminal *terminal, const struct wt_run_file *run,
                 const struct wt_report *report, const struct wt_top_style *wanted)
{
	struct wt_top_style measured_style = *wanted, *style = &measured_style;
	struct wt_top_view view;
	struct wt_phrase line;
	const char *what;
	int rc = wt_top_check_columns(style);

	if (rc)
		return rc;
	style->has_measured = report->total.has_measured;
	wt_top_view_init(&view, report);
	wt_phrase_init(&line, out, terminal);
	wt_top_print_run(&line, run, report);
	wt_top_print_selection(&line, report->select);
	wt_top_print_apart(&line, report->steps);
	print_device_lines(&line, report);
	print_ledger_line(&line, report);
	what = report->select && report->select->has_window ? "window" : "run";
	if (report->device_count > 1)
		wt_phrase_add(
		        &line,
		        "LOST..TIME: %s of a whole GPU over the %s, ALL%% of the SMs of all %zu",
		        view.unit.name, what, report->device_count);
	else
		wt_phrase_add(&line, "LOST..TIME: %s of the whole GPU over the %s", view.unit.name,
		              what);
	wt_phrase_add(&line, "ranked by %s", by_text[style->by]);
	wt_phrase_end(&line);
	rc = wt_top_print_table(out, terminal, report, style, &view);
	if (rc)
		return rc;
	print_foot(out, terminal, report, style, &view);
	wt_top_print_losses(out, terminal, report);
	return 0;
}
