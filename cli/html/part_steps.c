/*
 * part_steps.c - the steps of the run, as `wavetap steps` finds them. Single-threaded; blocks as the FILE
 * does.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "cli/html/report.h"

static int64_t time_of(const struct wt_run_step *step)
{
	return step->end_ns - step->start_ns;
}

/* ---- the drawing */

/* What is full height: the longest steady step, and a tenth more; else the longest of all. */
static int64_t height_ns(const struct wt_run_steps *steps)
{
	int64_t most_ns = 1, steady_ns = 0;

	for (size_t i = 0; i < steps->count; i++) {
		int64_t time_ns = time_of(&steps->steps[i]);

		if (time_ns > most_ns)
			most_ns = time_ns;
		if (steps->steps[i].is_steady && time_ns > steady_ns)
			steady_ns = time_ns;
	}
	return steady_ns > 0 && steady_ns + steady_ns / 10 < most_ns ? steady_ns + steady_ns / 10
	                                                             : most_ns;
}

static void put_bar(FILE *out, const char *class, double x, double width, double height)
{
	fprintf(out, "<path class=\"%s\" d=\"M%.2f 160v-%.1fh%.2fv%.1fz\"></path>", class, x,
	        height, width, height);
}

/* One step, or the longest of several. True: it is cut. */
static bool put_step_bar(FILE *out, const struct wt_run_steps *steps, size_t slow, double x,
                         double width, int64_t high_ns)
{
	const struct wt_run_step *step = &steps->steps[slow];
	bool is_cut = time_of(step) > high_ns;
	double all = 160 * (is_cut ? 1 : (double)time_of(step) / (double)high_ns);
	double busy = 160 * (double)step->busy_ns / (double)high_ns;

	put_bar(out,
	        is_cut            ? "step-cut"
	        : step->is_steady ? "step-gap"
	                          : "step-odd",
	        x, width, all);
	if (steps->is_gpu_time && busy > 0)
		put_bar(out, "c-active", x, width, busy < all ? busy : all);
	return is_cut;
}

static void put_legend(FILE *out, const struct wt_run_steps *steps, size_t group, size_t cut)
{
	bool has_odd = false;

	for (size_t i = 0; i < steps->count; i++)
		has_odd |= !steps->steps[i].is_steady;
	fputs("<figcaption>", out);
	if (steps->is_gpu_time) {
		wt_html_swatch(out, "c-active");
		fputs("a kernel ran ", out);
	}
	wt_html_swatch(out, "step-gap");
	fputs(steps->is_gpu_time ? "none did " : "steady ", out);
	if (has_odd) {
		wt_html_swatch(out, "step-odd");
		fputs("of steps that are not steady ", out);
	}
	if (cut) {
		wt_html_swatch(out, "step-cut");
		fprintf(out, "longer than that, cut: %zu bar%s", cut, cut == 1 ? "" : "s");
	}
	if (group > 1)
		fprintf(out, "; a bar is the longest of %zu steps", group);
	fputs("</figcaption>\n", out);
}

static void put_bars(FILE *out, const struct wt_run_steps *steps)
{
	size_t group = (steps->count + WT_HTML_STEPS - 1) / WT_HTML_STEPS;
	size_t bars = (steps->count + group - 1) / group, cut = 0;
	double width = 1000 / (double)bars;
	int64_t high_ns = height_ns(steps);
	char a[WT_TEXT_NUMBER_BYTES];

	fputs("<figure class=\"plot wide\">\n<svg class=\"steps\" viewBox=\"0 0 1000 160\" "
	      "preserveAspectRatio=\"none\" role=\"img\"><title>",
	      out);
	wt_html_format(out, "How long each of %zu steps took; the table below has the slowest",
	               steps->count);
	fputs("</title>\n", out);
	for (size_t bar = 0; bar < bars; bar++) {
		size_t slow = bar * group;

		for (size_t i = slow; i < (bar + 1) * group && i < steps->count; i++)
			if (time_of(&steps->steps[i]) > time_of(&steps->steps[slow]))
				slow = i;
		cut += put_step_bar(out, steps, slow, width * (double)bar, width * 0.85, high_ns);
	}
	fprintf(out,
	        "</svg>\n<div class=\"axis\"><span>step 1</span><span>top: %s</span><span>step "
	        "%zu</span></div>\n",
	        wt_text_ns(a, high_ns), steps->count);
	put_legend(out, steps, group, cut);
	fputs("</figure>\n", out);
}

/* ---- tables */

static void put_value(FILE *out, const char *key, const char *name, double value, const char *shown)
{
	fprintf(out, "<tr data-line=\"%s\">", key);
	wt_html_row_head(out, name);
	wt_html_double(out, value, shown, "kernels have no times");
	wt_html_row_end(out);
}

static void put_steady(FILE *out, const struct wt_html_report *report)
{
	static const struct wt_html_column columns[] = {{NULL, "A steady step", NULL, true},
	                                                {"value", "", NULL, false}};
	const struct wt_run_steps *steps = &report->steps;
	const struct wt_step_times *times = &report->step_times;
	char a[WT_TEXT_NUMBER_BYTES];

	wt_html_table_begin(out, "steady", "Steady steps", columns, 2, 0);
	put_value(out, "steps", "steady steps", (double)times->count,
	          wt_text_count(a, times->count));
	put_value(out, "mean_ns", "mean", times->mean_ns, wt_text_ns(a, (int64_t)times->mean_ns));
	put_value(out, "median_ns", "median", (double)times->median_ns,
	          wt_text_ns(a, times->median_ns));
	put_value(out, "min_ns", "shortest", (double)times->min_ns, wt_text_ns(a, times->min_ns));
	put_value(out, "max_ns", "longest", (double)times->max_ns, wt_text_ns(a, times->max_ns));
	put_value(out, "deviation_ns", "deviation", times->deviation_ns,
	          wt_text_ns(a, (int64_t)times->deviation_ns));
	put_value(out, "median_busy_ns", "median time in kernels",
	          steps->is_gpu_time ? (double)times->median_busy_ns : NAN,
	          wt_text_ns(a, times->median_busy_ns));
	put_value(out, "median_launches", "median launches", (double)times->median_launches,
	          wt_text_count(a, times->median_launches));
	wt_html_table_end(out);
}

static int by_slowness(const void *left, const void *right, void *arg)
{
	const struct wt_run_step *steps = arg;
	size_t a = *(const size_t *)left, b = *(const size_t *)right;
	int64_t x = time_of(&steps[a]), y = time_of(&steps[b]);

	if (x != y)
		return x > y ? -1 : 1;
	return a < b ? -1 : a > b;
}

static void put_more(FILE *out, bool is_known, int64_t ns)
{
	char number[WT_TEXT_NUMBER_BYTES], text[WT_TEXT_NUMBER_BYTES + 4];

	if (!is_known) {
		wt_html_unknown(out, "kernels have no times");
		return;
	}
	snprintf(text, sizeof(text), "%s%s",
	         ns > 0   ? "+"
	         : ns < 0 ? "\u2212"
	                  : "",
	         wt_text_ns(number, ns < 0 ? -ns : ns));
	wt_html_int(out, ns, text);
}

static void put_step(FILE *out, const struct wt_html_report *report, size_t i)
{
	const struct wt_run_steps *steps = &report->steps;
	const struct wt_run_step *step = &steps->steps[i];
	int64_t more_ns = time_of(step) - report->step_times.median_ns;
	int64_t more_busy_ns = step->busy_ns - report->step_times.median_busy_ns;
	char a[WT_TEXT_NUMBER_BYTES];

	wt_html_row_begin(out, "step", (int64_t)i + 1, NULL);
	wt_html_int(out, (int64_t)i + 1, NULL);
	wt_html_words(out, wt_run_step_kind(steps, i));
	wt_html_int(out, time_of(step), wt_text_ns(a, time_of(step)));
	wt_html_int(out, step->launches, NULL);
	if (steps->is_gpu_time)
		wt_html_int(out, step->busy_ns, wt_text_ns(a, step->busy_ns));
	else
		wt_html_unknown(out, "kernels have no times");
	put_more(out, true, more_ns);
	put_more(out, steps->is_gpu_time, more_busy_ns);
	put_more(out, steps->is_gpu_time, more_ns - more_busy_ns);
	wt_html_row_end(out);
}

static int put_slowest(FILE *out, const struct wt_html_report *report)
{
	static const struct wt_html_column columns[] = {
	        {"step", "Step", NULL, false},
	        {NULL, "Kind", NULL, true},
	        {"time_ns", "Time", NULL, false},
	        {"launches", "Launches", NULL, false},
	        {"busy_ns", "In kernels", NULL, false},
	        {"more_ns", "More", "than the median of the steady ones", false},
	        {"more_busy_ns", "in kernels", NULL, false},
	        {"more_gap_ns", "else", NULL, false}};
	const struct wt_run_steps *steps = &report->steps;
	size_t *order = calloc(steps->count + 1, sizeof(*order)), shown = steps->count;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < steps->count; i++)
		order[i] = i;
	qsort_r(order, steps->count, sizeof(*order), by_slowness, steps->steps);
	if (shown > WT_HTML_STEPS_SLOWEST)
		shown = WT_HTML_STEPS_SLOWEST;
	wt_html_table_begin(out, "steps-slowest", "The slowest steps", columns, 8,
	                    WT_HTML_SORTABLE);
	for (size_t i = 0; i < shown; i++)
		put_step(out, report, order[i]);
	wt_html_table_end(out);
	if (shown < steps->count)
		fprintf(out,
		        "<p class=\"limit\">The slowest %zu of %zu steps; <code>wavetap steps "
		        "--slowest "
		        "0</code> has all.</p>\n",
		        shown, steps->count);
	free(order);
	return 0;
}

int wt_html_put_steps(FILE *out, const struct wt_html_report *report)
{
	const struct wt_run_steps *steps = &report->steps;

	if (report->steps_reason) {
		fputs("<p>No steps: ", out);
		wt_html_text(out, report->steps_reason, 0);
		fputs(".</p>\n", out);
		return 0;
	}
	fprintf(out, "<p>%zu steps of the whole run", steps->count);
	if (steps->processes > 1)
		fprintf(out, ", of process %" PRId64 " (pid %" PRId64 ") of %" PRId64,
		        steps->process_id, steps->pid, steps->processes);
	fprintf(out, ", found with confidence %.2f, %zu launch%s each.</p>\n",
	        steps->found.confidence, steps->found.period_items,
	        steps->found.period_items == 1 ? "" : "es");
	if (steps->count)
		put_bars(out, steps);
	if (report->step_times.count)
		put_steady(out, report);
	return put_slowest(out, report);
}
