/*
 * part_kernels.c - kernels by idle SM-time, as `wavetap top` ranks them. Single-threaded; blocks as the
 * FILE does.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "cli/html/report.h"
#include "cli/kernel_name.h"
#include "cli/measured.h"

#define MEASURED 2 /* columns that only a measurement fills: left out where there is none */
#define MEASURED_AT 11

static const struct wt_html_column columns[] = {
        {NULL, "#", "rank by idle SM-time", false},
        {"kernel", "Kernel", NULL, true},
        {"idle_sm_ns", "Lost", "idle inside its launches: underfill + wave + straggle + ramp",
         false},
        {"idle_share", "All", "of SMs x time of the window", false},
        {NULL, "", NULL, true},
        {"time_ns", "Time", "the kernel ran", false},
        {"launches", "Launches", NULL, false},
        {"mean_ns", "Each", "mean time of a launch", false},
        {"underfill_sm_ns", "Underfill", "SMs that never got a block", false},
        {"wave_sm_ns", "Wave", "partial last waves; from the model the least", false},
        {"wave_max_sm_ns", "Wave \u2264", "the greatest that the models allow", false},
        {"straggle_sm_ns", "Straggle", "unequal blocks: needs a measurement", false},
        {"ramp_sm_ns", "Ramp", "launch and drain: needs a measurement", false},
        {"waves", "Waves", "grid / (SMs x blocks per SM)", false},
        {NULL, "Bound", "compute, memory or latency, where counters tell", true},
        {NULL, "Evidence", "of all its SM-time", true},
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

/* What rows are compared with. */
struct frame {
	double total_sm_ns; /* of the window, all devices */
	double most_gpu_ns; /* idle, of the first row */
	bool has_measured;
};

static const char unjudged[] = "no model fits it, and nothing is measured";
static const char needs_measurement[] = "needs a measurement (run --sample or --profile)";

static void put_sm(FILE *out, bool is_known, int64_t sm_ns, double gpu_ns, const char *reason)
{
	char text[WT_TEXT_NUMBER_BYTES];

	if (is_known)
		wt_html_int(out, sm_ns, wt_text_ns(text, (int64_t)gpu_ns));
	else
		wt_html_unknown(out, reason);
}

/* How its loss compares with that of the first row, by what it is made of. */
static void put_mini(FILE *out, const struct wt_report_row *row, double most_gpu_ns)
{
	const struct {
		const char *class;
		double gpu_ns;
	} parts[] = {{"c-underfill", row->underfill_gpu_ns},
	             {"c-wave", row->wave_gpu_ns},
	             {"c-straggle", row->straggle_gpu_ns},
	             {"c-ramp", row->ramp_gpu_ns}};
	double at = 0;

	fputs("<td class=\"t mini\">", out);
	if (most_gpu_ns > 0 && row->idle_gpu_ns > 0) {
		fputs("<svg viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" "
		      "aria-hidden=\"true\" "
		      "focusable=\"false\">",
		      out);
		for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
			double width = 100 * parts[i].gpu_ns / most_gpu_ns;

			if (width < 0.05)
				continue;
			fprintf(out,
			        "<rect class=\"%s\" x=\"%.1f\" width=\"%.1f\" "
			        "height=\"10\"></rect>",
			        parts[i].class, at, width);
			at += width;
		}
		fputs("</svg>", out);
	}
	fputs("</td>", out);
}

static void put_waves(FILE *out, const struct wt_report_row *row)
{
	char text[WT_TEXT_NUMBER_BYTES];

	if (!row->has_waves) {
		wt_html_unknown(out, row->configs > 1    ? "several configurations"
		                     : row->model_reason ? row->model_reason
		                                         : unjudged);
		return;
	}
	wt_html_double(out, row->waves,
	               row->is_persistent ? "persistent" : wt_html_waves(text, row->waves), NULL);
}

/* From idle SM-time to the end of the row. */
static void put_figures(FILE *out, const struct wt_report_row *row, const struct frame *frame,
                        bool is_sum)
{
	const char *reason = row->model_reason ? row->model_reason : unjudged;
	bool has_idle = row->has_wave || row->underfill_sm_ns || row->has_measured;
	char a[WT_TEXT_NUMBER_BYTES], evidence[WT_MEASURED_TEXT_BYTES];
	int64_t parts_sm_ns[WT_EVIDENCE_MAX];
	int64_t whole_sm_ns = wt_report_row_sm_ns(row, parts_sm_ns);

	put_sm(out, has_idle, row->idle_sm_ns, row->idle_gpu_ns, reason);
	wt_html_double(out, has_idle ? (double)row->idle_sm_ns / frame->total_sm_ns : NAN,
	               wt_html_percent(a, (double)row->idle_sm_ns, frame->total_sm_ns), reason);
	put_mini(out, row, is_sum ? 0 : frame->most_gpu_ns);
	wt_html_int(out, row->time_ns, wt_text_ns(a, row->time_ns));
	wt_html_int(out, row->launches, NULL);
	wt_html_double(out, row->launches ? (double)row->time_ns / (double)row->launches : NAN,
	               wt_text_ns(a, row->launches ? row->time_ns / row->launches : 0), NULL);
	put_sm(out, has_idle, row->underfill_sm_ns, row->underfill_gpu_ns, reason);
	put_sm(out, row->has_wave, row->wave_sm_ns, row->wave_gpu_ns, reason);
	put_sm(out, row->has_wave, row->wave_max_sm_ns, row->wave_max_gpu_ns, reason);
	if (frame->has_measured) {
		put_sm(out, row->has_measured, row->straggle_sm_ns, row->straggle_gpu_ns,
		       needs_measurement);
		put_sm(out, row->has_measured, row->ramp_sm_ns, row->ramp_gpu_ns,
		       needs_measurement);
	}
	put_waves(out, row);
	wt_html_words(out, wt_bound_name(row->bound));
	wt_html_words(out, wt_measured_text(evidence, whole_sm_ns, parts_sm_ns));
}

/* The whole name goes along: a search looks into it, and a pointer at rest shows it. */
static void put_name(FILE *out, const struct wt_report_row *row, bool has_details)
{
	char *full = row->kernel ? wt_kernel_name_demangle(row->kernel) : NULL;

	fputs("<th scope=\"row\" class=\"t name\"", out);
	if (full) {
		fputs(" title=\"", out);
		wt_html_text(out, full, WT_HTML_TITLE_BYTES);
		fputc('"', out);
	}
	fputc('>', out);
	if (has_details)
		fprintf(out, "<a href=\"#kernel-%" PRId64 "\">", row->kernel_id);
	wt_html_text(out, row->kernel_shown ? row->kernel_shown : "?", WT_HTML_NAME_BYTES);
	if (has_details)
		fputs("</a>", out);
	fputs("</th>", out);
	free(full);
}

static void put_row(FILE *out, const struct wt_report_row *row, size_t number, bool has_details,
                    const struct frame *frame)
{
	char text[WT_TEXT_NUMBER_BYTES];

	wt_html_row_begin(out, "kernel", row->kernel_id, NULL);
	wt_html_int(out, (int64_t)number, wt_text_count(text, (int64_t)number));
	put_name(out, row, has_details);
	put_figures(out, row, frame, false);
	wt_html_row_end(out);
}

/* A sum of several: "the other 612", "all 812". */
static void put_sum(FILE *out, const char *id, const char *name, const struct wt_report_row *row,
                    const struct frame *frame)
{
	fprintf(out, "<tr id=\"%s\" class=\"sum\"><td></td><th scope=\"row\" class=\"t\">", id);
	wt_html_text(out, name, 0);
	fputs("</th>", out);
	put_figures(out, row, frame, true);
	wt_html_row_end(out);
}

static double window_sm_ns(const struct wt_report *report)
{
	double sum = 0;

	for (size_t i = 0; report->has_window && i < report->device_count; i++)
		sum += (double)(report->end_ns - report->start_ns) *
		       (double)report->devices[i].sm_count;
	return sum;
}

static void put_notes(FILE *out, const struct wt_html_report *report, size_t shown)
{
	const struct wt_report *kernels = &report->kernels;
	const char *reason = wt_report_shares_reason(kernels);

	if (shown < kernels->row_count)
		fprintf(out,
		        "<p class=\"limit\">The top %zu of %zu kernels; the rest is one row. "
		        "<code>wavetap "
		        "top --limit 0</code> has all.</p>\n",
		        shown, kernels->row_count);
	if (reason) {
		fputs("<p class=\"note\">Kernels that overlap count as if alone: these are upper "
		      "bounds. ",
		      out);
		wt_html_text(out, reason, 0);
		fputs("</p>\n", out);
	}
	if (kernels->device_count > 1)
		fputs("<p class=\"note\">Times are of one whole GPU each, summed over the "
		      "devices.</p>\n",
		      out);
}

static void begin_table(FILE *out, const struct frame *frame)
{
	struct wt_html_column shown[COLUMNS];
	size_t count = 0;

	for (size_t i = 0; i < COLUMNS; i++)
		if (frame->has_measured || i < MEASURED_AT || i >= MEASURED_AT + MEASURED)
			shown[count++] = columns[i];
	wt_html_table_begin(out, "kernels", "Kernels by idle SM-time", shown, count,
	                    WT_HTML_SORTABLE | WT_HTML_SEARCHED);
}

int wt_html_put_kernels(FILE *out, const struct wt_html_report *report)
{
	const struct wt_report *kernels = &report->kernels;
	size_t details = wt_html_details_count(report), shown = kernels->row_count;
	struct wt_report_row rest = {.kernel_id = -1, .config_id = -1};
	const struct frame frame = {window_sm_ns(kernels),
	                            kernels->row_count ? kernels->rows[0].idle_gpu_ns : 0,
	                            kernels->total.has_measured};
	char name[80];

	if (!kernels->row_count) {
		fputs("<p>No kernel with a usable time.</p>\n", out);
		return 0;
	}
	if (shown > WT_HTML_KERNELS)
		shown = WT_HTML_KERNELS;
	fputs("<p>Ranked by the SM-time that their launches left idle. Times are of the whole GPU: "
	      "1 ms "
	      "lost is what all SMs do in 1 ms.</p>\n",
	      out);
	begin_table(out, &frame);
	for (size_t i = 0; i < kernels->row_count; i++) {
		if (i < shown)
			put_row(out, &kernels->rows[i], i + 1, i < details, &frame);
		else
			wt_report_row_add(&rest, &kernels->rows[i]);
	}
	fputs("</tbody>\n<tfoot>\n", out);
	if (shown < kernels->row_count) {
		snprintf(name, sizeof(name), "the other %zu", kernels->row_count - shown);
		put_sum(out, "kernels-rest", name, &rest, &frame);
	}
	snprintf(name, sizeof(name), "all %zu", kernels->row_count);
	put_sum(out, "kernels-total", name, &kernels->total, &frame);
	fputs("</tfoot>\n</table>\n</div>\n", out);
	put_notes(out, report, shown);
	return 0;
}
