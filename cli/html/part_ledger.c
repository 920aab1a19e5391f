/*
 * part_ledger.c - how much of the time a kernel ran, how many SMs were active, and where the rest went.
 * Single-threaded; blocks as the FILE does.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cli/gpu_state.h"
#include "cli/html/report.h"
#include "cli/measured.h"
#include "cli/sm_activity.h"
#include "cli/top_text.h"

/* All devices of the ledger; SM-time of many may not fit 64 bits. */
struct sums {
	double busy_ns, wall_ns;
	double active_sm_ns, gap_sm_ns, total_sm_ns;
	bool is_model; /* active is what the model allows at the most */
};

static void sum_up(const struct wt_ledger *ledger, struct sums *sums)
{
	memset(sums, 0, sizeof(*sums));
	for (size_t i = 0; i < ledger->device_count; i++) {
		const struct wt_ledger_device *device = &ledger->devices[i];
		int64_t parts_sm_ns[WT_EVIDENCE_MAX];
		int64_t whole_sm_ns = wt_ledger_measured(device, parts_sm_ns);
		const char *word = wt_measured_word(whole_sm_ns, parts_sm_ns);

		sums->busy_ns += (double)device->busy_ns;
		sums->wall_ns += (double)device->wall_ns;
		sums->active_sm_ns += (double)device->share.active_sm_ns;
		sums->total_sm_ns += (double)device->total_sm_ns;
		for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++)
			sums->gap_sm_ns += (double)device->gap_ns[cause] * (double)device->sms;
		sums->is_model |= !strcmp(word, "model");
	}
}

/* A figure in large letters, with itself as data. */
static void put_figure(FILE *out, const char *id, double part, double whole)
{
	char text[WT_TEXT_NUMBER_BYTES];

	fprintf(out, "<strong id=\"%s\" data-v=\"%.9f\">%s</strong>", id,
	        whole > 0 ? part / whole : 0, wt_html_percent(text, part, whole));
}

static void put_story(FILE *out, const struct wt_html_report *report)
{
	const struct wt_ledger *ledger = &report->view.ledger;
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];
	struct sums sums;

	sum_up(ledger, &sums);
	fputs("<p class=\"headline\">A kernel ran ", out);
	put_figure(out, "busy-share", sums.busy_ns, sums.wall_ns);
	fprintf(out, " of the time; SMs were active %s", sums.is_model ? "at most " : "");
	put_figure(out, "active-share", sums.active_sm_ns, sums.total_sm_ns);
	fputs(".</p>\n<p>The first is what <code>nvidia-smi</code> calls utilisation. ", out);
	fprintf(out,
	        "Of SMs &#215; time %s was lost inside kernels or not judged, and %s while no "
	        "kernel ran.",
	        wt_html_percent(a, sums.total_sm_ns - sums.active_sm_ns - sums.gap_sm_ns,
	                        sums.total_sm_ns),
	        wt_html_percent(b, sums.gap_sm_ns, sums.total_sm_ns));
	fputs(sums.is_model
	              ? " &#8220;At most&#8221;: SMs that held blocks by the model; blocks of "
	                "unequal length need a measurement.</p>\n"
	              : "</p>\n",
	      out);
}

/* Window, selection, evidence: as the commands say them. */
static int put_window(FILE *out, const struct wt_html_report *report)
{
	const struct wt_ledger *ledger = &report->view.ledger;
	struct wt_html_lines lines;
	int rc = wt_html_lines_begin(&lines);

	if (rc)
		return rc;
	if (report->has_ledger) {
		wt_ledger_print_run(lines.stream, &lines.terminal, &report->view.run, ledger);
	} else {
		wt_phrase_add(&lines.line, "run %s", report->run.info.id);
		wt_phrase_end(&lines.line);
	}
	if (report->has_kernels)
		wt_top_print_selection(&lines.line, report->kernels.select);
	wt_html_lines_end(&lines, out, "facts");
	return 0;
}

int wt_html_put_headline(FILE *out, const struct wt_html_report *report)
{
	if (!report->has_ledger)
		fputs("<p class=\"headline\">Kernels of some ranks.</p>\n<p>They share their "
		      "devices "
		      "with others: where SMs &#215; time went can't be told for them alone, so "
		      "what "
		      "is about whole devices is left out.</p>\n",
		      out);
	else if (report->view.ledger.is_samples_alone)
		fputs("<p class=\"headline\">SM activity, sampled; no program was recorded.</p>\n",
		      out);
	else
		put_story(out, report);
	return put_window(out, report);
}

/* ---- a device */

/* Parts of the bar: lines that sum to the whole, gaps by cause. Their number. */
static size_t bar_parts(const struct wt_ledger_line *lines, size_t count, int64_t total_sm_ns,
                        char classes[][24], struct wt_html_part *parts)
{
	bool is_gap = false;
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		bool is_sum = !strcmp(lines[i].name, "gaps");

		is_gap |= is_sum;
		if (is_sum || lines[i].reason || lines[i].sm_ns <= 0 ||
		    (lines[i].is_part && !is_gap))
			continue;
		snprintf(classes[n], 24, "c-%.20s", lines[i].name);
		parts[n] = (struct wt_html_part){classes[n], lines[i].name,
		                                 (double)lines[i].sm_ns / (double)total_sm_ns};
		n++;
	}
	return n;
}

static void put_line(FILE *out, const struct wt_ledger_device *device,
                     const struct wt_ledger_line *line)
{
	char text[WT_MEASURED_TEXT_BYTES], a[WT_TEXT_NUMBER_BYTES], class[24];
	bool is_told = line->sm_ns && line->key && strcmp(line->name, "residual") != 0;

	fprintf(out, "<tr data-line=\"%s\"%s><th scope=\"row\" class=\"t\">",
	        line->key ? line->key : line->name, line->is_part ? " class=\"part\"" : "");
	snprintf(class, sizeof(class), "c-%.20s", line->name);
	if (strcmp(line->name, "gaps") != 0 && strcmp(line->name, "residual") != 0)
		wt_html_swatch(out, class);
	fprintf(out, "%s</th>", line->name);
	if (line->reason) {
		for (int i = 0; i < 3; i++)
			wt_html_unknown(out, line->reason);
		wt_html_words(out, "");
		wt_html_words(out, line->reason);
		wt_html_row_end(out);
		return;
	}
	wt_html_double(out, (double)line->sm_ns / (double)device->total_sm_ns,
	               wt_html_percent(a, (double)line->sm_ns, (double)device->total_sm_ns), NULL);
	wt_html_int(out, line->sm_ns, wt_html_gpu_time(a, line->sm_ns, device->sms));
	if (line->max_sm_ns >= 0)
		wt_html_int(out, line->max_sm_ns,
		            wt_html_gpu_time(a, line->max_sm_ns, device->sms));
	else
		fputs("<td></td>", out);
	wt_html_words(out, is_told ? wt_measured_text(text, line->sm_ns, line->parts_sm_ns) : "");
	wt_html_words(out, line->meaning);
	wt_html_row_end(out);
}

static void put_table(FILE *out, const struct wt_ledger_device *device,
                      const struct wt_ledger_line *lines, size_t count)
{
	static const struct wt_html_column columns[] = {
	        {NULL, "Where", NULL, true},
	        {"share", "Share", "of SMs x wall", false},
	        {"sm_ns", "Time", "of the whole GPU: SM-time / SMs", false},
	        {"max_sm_ns", "At most", "the greatest that the models allow", false},
	        {NULL, "Evidence", NULL, true},
	        {NULL, "What it is", NULL, true}};
	char id[40], caption[80], a[WT_TEXT_NUMBER_BYTES];

	snprintf(id, sizeof(id), "ledger-%" PRId64, device->device_id);
	snprintf(caption, sizeof(caption), "SMs \u00d7 wall of device %" PRId64 ", line by line",
	         device->device_id);
	wt_html_table_begin(out, id, caption, columns, sizeof(columns) / sizeof(columns[0]), 0);
	for (size_t i = 0; i < count; i++)
		put_line(out, device, &lines[i]);
	fputs("<tr data-line=\"total_sm_ns\" class=\"sum\"><th scope=\"row\" class=\"t\">SMs "
	      "&#215; "
	      "wall</th><td data-v=\"1\">100.0 %</td>",
	      out);
	wt_html_int(out, device->total_sm_ns, wt_text_ns(a, device->wall_ns));
	fputs("<td></td><td></td><td></td></tr>\n", out);
	wt_html_table_end(out);
}

/* What samples and NVML say beside the ledger. */
static int put_notes(FILE *out, const struct wt_html_report *report,
                     const struct wt_ledger_device *device, size_t at)
{
	const struct wt_ledger *ledger = &report->view.ledger;
	struct wt_sm_agreement agreement;
	struct wt_gpu_states states;
	struct wt_html_lines lines;
	int rc = wt_sm_activity_agree(report->view.run.db, ledger, device, &agreement);

	if (!rc)
		rc = wt_gpu_states_load(report->view.run.db, device->device_id, ledger->start_ns,
		                        ledger->end_ns, &states);
	if (!rc)
		rc = wt_html_lines_begin(&lines);
	if (rc)
		return rc;
	if (agreement.has_samples)
		wt_sm_agreement_print(&lines.line, &agreement);
	if (wt_gpu_states_say(&lines.line, &states))
		wt_phrase_end(&lines.line);
	if (wt_rates_say_profiled(&lines.line, &report->samples[at].measured.profiled))
		wt_phrase_end(&lines.line);
	wt_html_lines_end(&lines, out, "note");
	return 0;
}

static int put_device(FILE *out, const struct wt_html_report *report, size_t at)
{
	const struct wt_ledger_device *device = &report->view.ledger.devices[at];
	struct wt_ledger_line lines[WT_LEDGER_LINES_MAX];
	struct wt_html_part parts[WT_LEDGER_LINES_MAX];
	char classes[WT_LEDGER_LINES_MAX][24], title[200], a[WT_TEXT_NUMBER_BYTES];
	size_t count = wt_ledger_lines(device, lines), part_count;

	for (size_t i = 0; i < count && report->view.ledger.is_samples_alone; i++)
		lines[i].reason = "no program was recorded";
	part_count = bar_parts(lines, count, device->total_sm_ns, classes, parts);
	fprintf(out, "<h3>Device %" PRId64 ": ", device->device_id);
	wt_html_text(out, device->name, WT_HTML_NAME_BYTES);
	fprintf(out, ", %" PRId64 " SMs</h3>\n", device->sms);
	snprintf(title, sizeof(title),
	         "SMs x wall of device %" PRId64
	         " as one bar: active %s; the table below has all parts",
	         device->device_id,
	         wt_html_percent(a, (double)device->share.active_sm_ns,
	                         (double)device->total_sm_ns));
	if (part_count)
		wt_html_bar(out, title, parts, part_count);
	put_table(out, device, lines, count);
	return put_notes(out, report, device, at);
}

int wt_html_put_ledger(FILE *out, const struct wt_html_report *report)
{
	int rc = 0;

	fputs("<p>All SMs over all of the time, split without a rest: active, idle inside kernels "
	      "(warm "
	      "colours), no kernel (blue ones, by cause). Times are of the whole GPU.</p>\n",
	      out);
	for (size_t i = 0; i < report->device_count && !rc; i++)
		rc = put_device(out, report, i);
	if (report->device_count < report->view.ledger.device_count)
		fprintf(out,
		        "<p class=\"limit\">The first %zu of %zu devices; <code>wavetap "
		        "ledger</code> has "
		        "all.</p>\n",
		        report->device_count, report->view.ledger.device_count);
	return rc;
}
