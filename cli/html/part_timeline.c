/*
 * part_timeline.c - the ledger over time: a drawing, a table, and the buckets themselves for the script
 * that zooms. The same lines as `wavetap timeline`. Single-threaded; blocks as the FILE does.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/html/report.h"
#include "cli/sm_activity.h"

/* What a stretch is split into, from the bottom of the drawing up; then the causes of gaps. */
#define KERNEL_TERMS 7
#define TERMS (KERNEL_TERMS + WT_GAP_CAUSE_MAX)

static const struct {
	const char *name;
	size_t offset;
} kernel_terms[KERNEL_TERMS] = {
        {"active", offsetof(struct wt_sweep_share, active_sm_ns)},
        {"underfill", offsetof(struct wt_sweep_share, underfill_sm_ns)},
        {"wave", offsetof(struct wt_sweep_share, wave_sm_ns)},
        {"straggle", offsetof(struct wt_sweep_share, straggle_sm_ns)},
        {"ramp", offsetof(struct wt_sweep_share, ramp_sm_ns)},
        {"unjudged", offsetof(struct wt_sweep_share, unjudged_sm_ns)},
        {"comm", offsetof(struct wt_sweep_share, comm_sm_ns)},
};

static const char *term_name(int term)
{
	return term < KERNEL_TERMS ? kernel_terms[term].name
	                           : wt_gap_cause_name((enum wt_gap_cause)(term - KERNEL_TERMS));
}

static int64_t term_sm_ns(const struct wt_ledger_device *device, size_t at, int term)
{
	const struct wt_ledger_bucket *bucket = &device->buckets[at];

	if (term >= KERNEL_TERMS)
		return bucket->gap_ns[term - KERNEL_TERMS] * device->sms;
	return *(const int64_t *)((const char *)&bucket->share + kernel_terms[term].offset);
}

/* Of buckets first to end. */
static int64_t sum_sm_ns(const struct wt_ledger_device *device, size_t first, size_t end, int term)
{
	int64_t sum = 0;

	for (size_t at = first; at < end; at++)
		sum += term_sm_ns(device, at, term);
	return sum;
}

static int64_t end_ns_of(const struct wt_ledger *time, size_t end)
{
	int64_t end_ns = time->start_ns + (int64_t)end * time->bucket_ns;

	return end_ns < time->end_ns ? end_ns : time->end_ns;
}

/* A stretch of the drawing or the table: so many buckets. */
static size_t group_of(const struct wt_ledger *time, size_t most)
{
	return (time->bucket_count + most - 1) / most;
}

static size_t group_end(const struct wt_ledger *time, size_t first, size_t group)
{
	return first + group < time->bucket_count ? first + group : time->bucket_count;
}

/* Mean share of SMs active where samples say so; not a number elsewhere. */
static double sampled_share(const struct wt_html_samples *samples, size_t first, size_t end)
{
	double active_ns = 0, sampled_ns = 0;

	for (size_t at = first; at < end; at++) {
		active_ns += samples->sums[at].active_ns;
		sampled_ns += samples->sums[at].sampled_ns;
	}
	return sampled_ns > 0 ? active_ns / sampled_ns : NAN;
}

/* ---- the drawing */

struct drawing {
	const struct wt_ledger *time;
	const struct wt_ledger_device *device;
	size_t group;
	double *base; /* of each column, what is drawn already: shares */
};

/* One term in all columns. */
static void put_term(FILE *out, struct drawing *drawing, int term)
{
	const struct wt_ledger *time = drawing->time;
	double wall_ns = (double)(time->end_ns - time->start_ns);

	fprintf(out, "<path class=\"c-%s\" d=\"", term_name(term));
	for (size_t first = 0, column = 0; first < time->bucket_count;
	     first += drawing->group, column++) {
		size_t end = group_end(time, first, drawing->group);
		int64_t start_ns = end_ns_of(time, first), stop_ns = end_ns_of(time, end);
		double share = (double)sum_sm_ns(drawing->device, first, end, term) /
		               ((double)(stop_ns - start_ns) * (double)drawing->device->sms);
		double x = 1000 * (double)(start_ns - time->start_ns) / wall_ns;
		double width = 1000 * (double)(stop_ns - start_ns) / wall_ns;

		if (!(share > 0.0005))
			continue;
		fprintf(out, "M%.1f %.1fh%.1fV%.1fh-%.1fz", x, 200 * (1 - drawing->base[column]),
		        width, 200 * (1 - drawing->base[column] - share), width);
		drawing->base[column] += share;
	}
	fputs("\"></path>", out);
}

/* As samples have it, over the same columns: a line that is broken where nothing was sampled. */
static void put_sampled(FILE *out, const struct drawing *drawing,
                        const struct wt_html_samples *samples)
{
	const struct wt_ledger *time = drawing->time;
	double wall_ns = (double)(time->end_ns - time->start_ns);
	bool is_broken = true;

	fputs("<path class=\"sampled\" d=\"", out);
	for (size_t first = 0; first < time->bucket_count; first += drawing->group) {
		size_t end = group_end(time, first, drawing->group);
		double share = sampled_share(samples, first, end);
		double middle = (double)(end_ns_of(time, first) + end_ns_of(time, end)) / 2 -
		                (double)time->start_ns;

		if (isfinite(share))
			fprintf(out, "%c%.1f %.1f", is_broken ? 'M' : 'L', 1000 * middle / wall_ns,
			        200 * (1 - fmin(share, 1)));
		is_broken = !isfinite(share);
	}
	fputs("\"></path>", out);
}

static int put_drawing(FILE *out, const struct wt_html_report *report, size_t at)
{
	const struct wt_ledger *time = &report->time;
	const struct wt_ledger_device *device = &time->devices[at];
	struct drawing drawing = {time, device, group_of(time, wt_html_columns(report)), NULL};
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];
	int64_t origin_ns = wt_html_origin_ns(report);

	drawing.base = calloc(time->bucket_count + 1, sizeof(*drawing.base));
	if (!drawing.base)
		return -ENOMEM;
	fprintf(out,
	        "<div class=\"timeline\" data-device=\"%" PRId64 "\">\n"
	        "<svg class=\"stack\" viewBox=\"0 0 1000 200\" preserveAspectRatio=\"none\" "
	        "role=\"img\"><title>",
	        device->device_id);
	wt_html_format(out,
	               "SMs of device %" PRId64
	               " over time: active at the bottom, idle in kernels above, "
	               "no kernel at the top; the table below has the figures",
	               device->device_id);
	fputs("</title>\n", out);
	for (int term = 0; term < TERMS && !time->is_samples_alone; term++)
		if (sum_sm_ns(device, 0, time->bucket_count, term) > 0)
			put_term(out, &drawing, term);
	if (report->samples[at].has_any)
		put_sampled(out, &drawing, &report->samples[at]);
	fprintf(out,
	        "</svg>\n<div "
	        "class=\"axis\"><span>%s</span><span></span><span>%s</span></div>\n</div>\n",
	        wt_text_ns(a, time->start_ns - origin_ns), wt_text_ns(b, time->end_ns - origin_ns));
	free(drawing.base);
	return 0;
}

/* ---- the table */

static void put_row(FILE *out, const struct wt_html_report *report, size_t at, size_t first,
                    size_t end)
{
	const struct wt_ledger *time = &report->time;
	const struct wt_ledger_device *device = &time->devices[at];
	int64_t start_ns = end_ns_of(time, first), stop_ns = end_ns_of(time, end);
	int64_t origin_ns = wt_html_origin_ns(report), idle_sm_ns = 0, gap_sm_ns = 0,
	        most_sm_ns = 0;
	int64_t active_sm_ns = sum_sm_ns(device, first, end, 0);
	double total = (double)(stop_ns - start_ns) * (double)device->sms;
	double sampled = sampled_share(&report->samples[at], first, end);
	const char *most = NULL;
	char a[WT_TEXT_NUMBER_BYTES];

	for (int term = 1; term < TERMS; term++) {
		int64_t sm_ns = sum_sm_ns(device, first, end, term);

		*(term < KERNEL_TERMS ? &idle_sm_ns : &gap_sm_ns) += sm_ns;
		if (term >= KERNEL_TERMS && sm_ns > most_sm_ns) {
			most_sm_ns = sm_ns;
			most = term_name(term);
		}
	}
	wt_html_row_begin(out, "start", start_ns, NULL);
	wt_html_int(out, start_ns, wt_text_ns(a, start_ns - origin_ns));
	wt_html_int(out, stop_ns - start_ns, wt_text_ns(a, stop_ns - start_ns));
	if (time->is_samples_alone) {
		for (int i = 0; i < 4; i++)
			wt_html_unknown(out, "no program was recorded");
	} else {
		wt_html_int(out, active_sm_ns, wt_html_percent(a, (double)active_sm_ns, total));
		wt_html_int(out, idle_sm_ns, wt_html_percent(a, (double)idle_sm_ns, total));
		wt_html_int(out, gap_sm_ns, wt_html_percent(a, (double)gap_sm_ns, total));
		wt_html_words(out, most ? most : "");
	}
	wt_html_double(out, sampled, wt_html_percent(a, sampled, 1), "not sampled");
	wt_html_row_end(out);
}

static void put_table(FILE *out, const struct wt_html_report *report, size_t at)
{
	static const struct wt_html_column columns[] = {
	        {"start_ns", "From", NULL, false},
	        {"width_ns", "Length", NULL, false},
	        {"active_sm_ns", "Active", "of SMs x time", false},
	        {"idle_sm_ns", "Idle in kernels", "or not judged", false},
	        {"gap_sm_ns", "No kernel", NULL, false},
	        {NULL, "Mostly", "the cause of most of the time without a kernel", true},
	        {"sampled_active_share", "Sampled", "SMs active as samples have it", false}};
	const struct wt_ledger *time = &report->time;
	size_t group = group_of(time, WT_HTML_TIME_ROWS);
	char id[40], caption[120], a[WT_TEXT_NUMBER_BYTES];

	snprintf(id, sizeof(id), "timeline-%" PRId64, time->devices[at].device_id);
	snprintf(caption, sizeof(caption), "Device %" PRId64 " in stretches of %s",
	         time->devices[at].device_id, wt_text_ns(a, (int64_t)group * time->bucket_ns));
	fprintf(out, "<details><summary>Device %" PRId64 " as a table</summary>\n",
	        time->devices[at].device_id);
	wt_html_table_begin(out, id, caption, columns, sizeof(columns) / sizeof(columns[0]),
	                    WT_HTML_SORTABLE);
	for (size_t first = 0; first < time->bucket_count; first += group)
		put_row(out, report, at, first, group_end(time, first, group));
	wt_html_table_end(out);
	fputs("</details>\n", out);
}

/* ---- for the script */

static void put_terms(struct wt_json *json, const struct wt_ledger *time,
                      const struct wt_ledger_device *device)
{
	wt_json_key(json, "terms");
	wt_json_array_begin(json);
	for (int term = 0; term < TERMS && !time->is_samples_alone; term++) {
		if (sum_sm_ns(device, 0, time->bucket_count, term) <= 0)
			continue;
		wt_json_object_begin(json);
		wt_json_key(json, "name");
		wt_json_string(json, term_name(term));
		wt_json_key(json, "sm_ns");
		wt_json_array_begin(json);
		for (size_t at = 0; at < time->bucket_count; at++)
			wt_json_int(json, term_sm_ns(device, at, term));
		wt_json_array_end(json);
		wt_json_object_end(json);
	}
	wt_json_array_end(json);
}

static void put_device_data(struct wt_json *json, const struct wt_html_report *report, size_t at)
{
	const struct wt_ledger *time = &report->time;
	const struct wt_html_samples *samples = &report->samples[at];

	wt_json_object_begin(json);
	wt_json_key(json, "device_id");
	wt_json_int(json, time->devices[at].device_id);
	wt_json_key(json, "sms");
	wt_json_int(json, time->devices[at].sms);
	put_terms(json, time, &time->devices[at]);
	wt_json_key(json, "sampled");
	if (samples->has_any) {
		wt_json_array_begin(json);
		for (size_t i = 0; i < time->bucket_count; i++)
			wt_json_fixed(json, sampled_share(samples, i, i + 1), 4);
		wt_json_array_end(json);
	} else {
		wt_json_null(json);
	}
	wt_json_object_end(json);
}

static int put_data(FILE *out, const struct wt_html_report *report)
{
	const struct wt_ledger *time = &report->time;
	char *text = NULL;
	size_t bytes = 0;
	FILE *stream = open_memstream(&text, &bytes);
	struct wt_json json;
	int rc;

	if (!stream)
		return -ENOMEM;
	wt_json_init(&json, stream, false);
	wt_json_object_begin(&json);
	wt_json_key(&json, "start_ns"); /* as --from counts */
	wt_json_int(&json, time->start_ns - wt_html_origin_ns(report));
	wt_json_key(&json, "wall_ns");
	wt_json_int(&json, time->end_ns - time->start_ns);
	wt_json_key(&json, "bucket_ns");
	wt_json_int(&json, time->bucket_ns);
	wt_json_key(&json, "buckets");
	wt_json_int(&json, (int64_t)time->bucket_count);
	wt_json_key(&json, "devices");
	wt_json_array_begin(&json);
	for (size_t i = 0; i < report->device_count; i++)
		put_device_data(&json, report, i);
	wt_json_array_end(&json);
	wt_json_object_end(&json);
	rc = wt_json_finish(&json);
	if (fclose(stream) && !rc)
		rc = -ENOMEM;
	if (!rc) {
		fputs("<script type=\"application/json\" id=\"timeline-data\">", out);
		wt_html_json(out, text, bytes);
		fputs("</script>\n", out);
	}
	free(text);
	return rc;
}

/* Which colour is what; terms that no device has are left out. */
static void put_legend(FILE *out, const struct wt_html_report *report)
{
	bool has_samples = false;
	char class[24];

	fputs("<ul class=\"legend\">\n", out);
	for (int term = 0; term < TERMS && !report->time.is_samples_alone; term++) {
		int64_t sm_ns = 0;

		for (size_t i = 0; i < report->device_count; i++)
			sm_ns |= sum_sm_ns(&report->time.devices[i], 0, report->time.bucket_count,
			                   term);
		if (!sm_ns)
			continue;
		snprintf(class, sizeof(class), "c-%.20s", term_name(term));
		fputs("<li>", out);
		wt_html_swatch(out, class);
		fprintf(out, "%s%s</li>\n", term < KERNEL_TERMS ? "" : "gap: ", term_name(term));
	}
	for (size_t i = 0; i < report->device_count; i++)
		has_samples |= report->samples[i].has_any;
	if (has_samples) {
		fputs("<li>", out);
		wt_html_swatch(out, "c-sampled");
		fputs("SMs active, sampled (line)</li>\n", out);
	}
	fputs("</ul>\n", out);
}

int wt_html_put_timeline(FILE *out, const struct wt_html_report *report)
{
	const struct wt_ledger *time = &report->time;
	char a[WT_TEXT_NUMBER_BYTES];
	int rc = 0;

	fprintf(out,
	        "<p>The whole height is all SMs. The file holds %zu stretches of %s a device; what "
	        "is shorter is in "
	        "their sums. <span class=\"js-only\">Drag over the drawing or use the buttons to "
	        "zoom; with the "
	        "drawing in focus, arrow keys move, + and - zoom, 0 shows all.</span></p>\n",
	        time->bucket_count, wt_text_ns(a, time->bucket_ns));
	put_legend(out, report);
	for (size_t i = 0; i < report->device_count && !rc; i++) {
		if (report->device_count > 1)
			fprintf(out, "<h3>Device %" PRId64 "</h3>\n", time->devices[i].device_id);
		rc = put_drawing(out, report, i);
		if (!rc)
			put_table(out, report, i);
	}
	return rc ? rc : put_data(out, report);
}
