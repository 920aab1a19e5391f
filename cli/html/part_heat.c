/*
 * part_heat.c - how many SMs were active over time, as samples have it: the map of `wavetap sms`.
 * Single-threaded; blocks as the FILE does.
 */
#include <inttypes.h>
#include <math.h>

#include "cli/html/report.h"
#include "cli/sm_activity.h"

#define LEVELS 4
#define COVERAGE_LEAST 0.01 /* less of a column is not worth a colour */

/* Up to 10, 25, 50 and 100 % of a column's time, as the map of the terminal. */
static int level_of(double share)
{
	return share <= 0 ? -1 : share <= 0.1 ? 0 : share <= 0.25 ? 1 : share <= 0.5 ? 2 : 3;
}

static bool is_sampled(const struct wt_sms_heat *heat, size_t column)
{
	return heat->columns[column].sum.sampled_ns >= COVERAGE_LEAST * (double)heat->width_ns;
}

/* All cells of one level; level -1: columns without samples, in full height. */
static void put_level(FILE *out, const struct wt_sms_heat *heat, int level)
{
	if (level < 0)
		fputs("<path class=\"unsampled\" d=\"", out);
	else
		fprintf(out, "<path class=\"h%d\" d=\"", level);
	for (size_t i = 0; i < heat->column_count; i++) {
		const struct wt_sms_column *column = &heat->columns[i];

		if (level < 0 && !is_sampled(heat, i))
			fprintf(out, "M%zu 0h1v10h-1z", i);
		for (int row = 0; level >= 0 && is_sampled(heat, i) && row < WT_SMS_HEAT_ROWS;
		     row++)
			if (level_of(column->ns[row] / column->sum.sampled_ns) == level)
				fprintf(out, "M%zu %dh1v1h-1z", i, WT_SMS_HEAT_ROWS - 1 - row);
	}
	fputs("\"></path>", out);
}

static void put_map(FILE *out, const struct wt_html_report *report, const struct wt_sms_heat *heat)
{
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES], c[WT_TEXT_NUMBER_BYTES];
	int64_t origin_ns = wt_html_origin_ns(report);

	fprintf(out,
	        "<figure class=\"plot wide\">\n<svg class=\"heat\" viewBox=\"0 0 %zu 10\" "
	        "preserveAspectRatio=\"none\" role=\"img\"><title>",
	        heat->column_count);
	wt_html_format(out,
	               "Share of the SMs of device %" PRId64
	               " active over time; the table below sums it up",
	               heat->device_id);
	fputs("</title>", out);
	for (int level = -1; level < LEVELS; level++)
		put_level(out, heat, level);
	fprintf(out,
	        "</svg>\n<div class=\"axis\"><span>%s</span><span>bottom to top: 0 to 100 %% of "
	        "the SMs</span>"
	        "<span>%s</span></div>\n",
	        wt_text_ns(a, heat->start_ns - origin_ns), wt_text_ns(b, heat->end_ns - origin_ns));
	fprintf(out,
	        "<figcaption>A column is %s, a row a tenth of the SMs; the stronger the colour, "
	        "the "
	        "more of the column&#8217;s time: up to ",
	        wt_text_ns(c, heat->width_ns));
	for (int level = 0; level < LEVELS; level++) {
		static const char *const names[LEVELS] = {"10", "25", "50", "100 %"};
		char class[8];

		snprintf(class, sizeof(class), "h%d", level);
		wt_html_swatch(out, class);
		fprintf(out, "%s%s", names[level], level + 1 < LEVELS ? ", " : "");
	}
	fputs("; grey: not sampled</figcaption>\n</figure>\n", out);
}

static void put_mean(FILE *out, const char *key, const char *name, double value, const char *shown)
{
	fprintf(out, "<tr data-line=\"%s\">", key);
	wt_html_row_head(out, name);
	wt_html_double(out, value, shown, "no counter measured it");
	wt_html_row_end(out);
}

static void put_means(FILE *out, const struct wt_sms_heat *heat)
{
	static const struct wt_html_column columns[] = {{NULL, "Over the time sampled", NULL, true},
	                                                {"value", "", NULL, false}};
	double wall_ns = (double)(heat->end_ns - heat->start_ns);
	struct wt_sm_piece mean;
	char id[40], a[WT_TEXT_NUMBER_BYTES];

	wt_sm_sum_mean(&heat->total, &mean);
	snprintf(id, sizeof(id), "samples-%" PRId64, heat->device_id);
	wt_html_table_begin(out, id, "What samples say of the whole", columns, 2, 0);
	put_mean(out, "active_avg", "SMs active, mean", mean.active_avg,
	         wt_html_percent(a, mean.active_avg, 1));
	put_mean(out, "active_min", "the least active SM of each sample", mean.active_min,
	         wt_html_percent(a, mean.active_min, 1));
	put_mean(out, "active_max", "the most active one", mean.active_max,
	         wt_html_percent(a, mean.active_max, 1));
	snprintf(a, sizeof(a), "%.1f", mean.warps_per_sm);
	put_mean(out, "warps_per_sm", "warps resident on an SM", mean.warps_per_sm, a);
	put_mean(out, "tensor_share", "tensor pipe at work", mean.tensor_share,
	         wt_html_percent(a, mean.tensor_share, 1));
	snprintf(a, sizeof(a), "%.0f GB/s", mean.dram_bytes / heat->total.dram_known_ns);
	put_mean(out, "dram_bytes_per_ns", "DRAM traffic",
	         mean.dram_bytes / heat->total.dram_known_ns, a);
	snprintf(a, sizeof(a), "%.0f MHz", mean.sm_clock_mhz);
	put_mean(out, "sm_clock_mhz", "clock of the SMs", mean.sm_clock_mhz, a);
	put_mean(out, "sampled_ns", "of the window sampled", heat->total.sampled_ns,
	         wt_html_percent(a, heat->total.sampled_ns, wall_ns));
	wt_html_table_end(out);
}

static void put_shares(FILE *out, const struct wt_sms_heat *heat)
{
	static const struct wt_html_column columns[] = {
	        {NULL, "SMs active", NULL, true},
	        {"time_ns", "Time", NULL, false},
	        {"share", "Share", "of the time sampled", false}};
	char id[40], name[40], a[WT_TEXT_NUMBER_BYTES];

	snprintf(id, sizeof(id), "shares-%" PRId64, heat->device_id);
	wt_html_table_begin(out, id, "For how long so many SMs were active", columns, 3, 0);
	for (int row = 0; row < WT_SMS_HEAT_ROWS; row++) {
		double ns = 0;

		for (size_t i = 0; i < heat->column_count; i++)
			ns += heat->columns[i].ns[row];
		snprintf(name, sizeof(name), "%d to %d %%", row * 100 / WT_SMS_HEAT_ROWS,
		         (row + 1) * 100 / WT_SMS_HEAT_ROWS);
		wt_html_row_begin(out, "row", row, NULL);
		wt_html_row_head(out, name);
		wt_html_double(out, ns, wt_text_ns(a, (int64_t)ns), NULL);
		wt_html_double(out, ns / heat->total.sampled_ns,
		               wt_html_percent(a, ns, heat->total.sampled_ns), NULL);
		wt_html_row_end(out);
	}
	wt_html_table_end(out);
}

int wt_html_put_heat(FILE *out, const struct wt_html_report *report)
{
	size_t shown = 0;

	for (size_t i = 0; i < report->device_count; i++) {
		const struct wt_sms_heat *heat = &report->samples[i].measured.heat;

		if (!(heat->total.sampled_ns > 0))
			continue;
		if (report->device_count > 1)
			fprintf(out, "<h3>Device %" PRId64 "</h3>\n", heat->device_id);
		put_map(out, report, heat);
		fputs("<div class=\"pair\">\n", out);
		put_means(out, heat);
		put_shares(out, heat);
		fputs("</div>\n", out);
		shown++;
	}
	if (!shown)
		fputs("<p>Not sampled: " WT_SMS_NEEDS_SAMPLES ".</p>\n", out);
	fputs("<p class=\"note\">Which single SM was active the hardware does not say.</p>\n", out);
	return 0;
}
