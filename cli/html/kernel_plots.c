/*
 * kernel_plots.c - drawings of one kernel: SMs active from its start to its end, time against grid with
 * the edges of waves, durations. Letters stand beside the drawings, which stretch, not in them.
 * Single-threaded; blocks as the FILE does.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "cli/html/report.h"
#include "cli/show.h"
#include "cli/show_print.h"

#define WIDTH 600.0
#define HEIGHT 160.0

static void begin_figure(FILE *out, const char *class)
{
	fprintf(out,
	        "<figure class=\"plot\">\n<svg class=\"%s\" viewBox=\"0 0 600 160\" "
	        "preserveAspectRatio=\"none\" role=\"img\"><title>",
	        class);
}

/* Under a drawing: what stands at its two ends. */
static void put_axis(FILE *out, const char *first, const char *middle, const char *last)
{
	fputs("<div class=\"axis\"><span>", out);
	wt_html_text(out, first, 0);
	fputs("</span><span>", out);
	wt_html_text(out, middle, 0);
	fputs("</span><span>", out);
	wt_html_text(out, last, 0);
	fputs("</span></div>\n", out);
}

/* ---- tail profile */

static double height_of(double value, double most)
{
	double share = most > 0 && isfinite(value) ? value / most : 0;

	return HEIGHT * (1 - (share < 0 ? 0 : share > 1 ? 1 : share));
}

/* Steps from bin to bin at `value(i)`, back along `base` or the bottom. */
static void put_steps(FILE *out, const struct wt_rates *rates, double sms, double sign,
                      bool is_back)
{
	size_t n = rates->bin_count;

	for (size_t k = 0; k < n; k++) {
		size_t i = is_back ? n - 1 - k : k;
		double left = WIDTH * (double)i / (double)n,
		       right = WIDTH * (double)(i + 1) / (double)n;
		double error = isfinite(rates->bins[i].error_sms) ? rates->bins[i].error_sms : 0;
		double y = height_of(rates->bins[i].active_sms + sign * error, sms);

		fprintf(out, "L%.1f %.1f L%.1f %.1f", is_back ? right : left, y,
		        is_back ? left : right, y);
	}
}

void wt_html_put_profile(FILE *out, const struct wt_show_config *config)
{
	const struct wt_rates *rates = &config->measured;
	const struct wt_rates_row *used = wt_rates_used(rates);
	double sms = (double)config->sm_count;
	char first[64];

	if (!rates->bin_count || !(sms > 0))
		return;
	begin_figure(out, "profile");
	wt_html_format(out, "SMs active from start to end of a launch of %" PRId64 " blocks:",
	               config->blocks);
	for (size_t i = 0; i < rates->bin_count; i += 1 + rates->bin_count / 16)
		wt_html_format(out, " %.0f", rates->bins[i].active_sms);
	wt_html_format(out, " of %.0f", sms);
	fprintf(out, "</title>\n<path class=\"area\" d=\"M0 160");
	put_steps(out, rates, sms, 0, false);
	fputs("L600 160Z\"></path><path class=\"error\" d=\"M0 160", out);
	put_steps(out, rates, sms, 1, false);
	put_steps(out, rates, sms, -1, true);
	fputs("Z\"></path>", out);
	if (config->model.is_judged)
		fprintf(out, "<path class=\"model\" d=\"M0 %.1fH600\"></path>",
		        height_of(config->model.active_sms, sms));
	fputs("</svg>\n", out);
	snprintf(first, sizeof(first), "start, top: %.0f SMs", sms);
	put_axis(out, first, "", "end of the launch");
	fprintf(out, "<figcaption>Tail profile, grid %" PRId64 ": SMs active, with the error",
	        config->blocks);
	if (used && isfinite(used->active_sms))
		fprintf(out, "; mean %.1f &#177; %.1f of %.0f", used->active_sms, used->error_sms,
		        sms);
	if (config->model.is_judged)
		fprintf(out, "; dashed: the model&#8217;s mean, %.1f", config->model.active_sms);
	fputs("</figcaption>\n</figure>\n", out);
}

/* ---- time against grid */

static int64_t mean_of(const struct wt_show_config *config)
{
	return config->row.launches > 0 ? config->row.time_ns / config->row.launches : 0;
}

/* Each grid at which one more wave begins, or every n-th of them. */
static void put_edges(FILE *out, int64_t resident, int64_t most_blocks, int64_t every)
{
	fputs("<path class=\"edge\" d=\"", out);
	for (int64_t wave = every; resident > 0 && wave <= most_blocks / resident; wave += every)
		fprintf(out, "M%.1f 0V160",
		        WIDTH * (double)wave * (double)resident / (double)most_blocks);
	fputs("\"></path>", out);
}

static void put_points(FILE *out, const struct wt_show_config *const *points, size_t count,
                       int64_t most_blocks, int64_t most_ns, bool is_line)
{
	fprintf(out, "<path class=\"%s\" d=\"", is_line ? "line" : "dots");
	for (size_t i = 0; i < count; i++)
		fprintf(out, "%c%.1f %.1f%s", is_line && i ? 'L' : 'M',
		        WIDTH * (double)points[i]->blocks / (double)most_blocks,
		        height_of((double)mean_of(points[i]), (double)most_ns),
		        is_line ? "" : "h0");
	fputs("\"></path>", out);
}

static void put_curve_table(FILE *out, const struct wt_show_config *const *points, size_t count)
{
	static const struct wt_html_column columns[] = {{"blocks", "Blocks", NULL, false},
	                                                {"waves", "Waves", NULL, false},
	                                                {"mean_ns", "Each", NULL, false},
	                                                {"launches", "Launches", NULL, false}};
	char id[64], a[WT_TEXT_NUMBER_BYTES];

	snprintf(id, sizeof(id), "curve-%" PRId64, points[0]->row.config_id);
	fputs("<details><summary>as a table</summary>\n", out);
	wt_html_table_begin(out, id, "Mean time by grid", columns, 4, 0);
	for (size_t i = 0; i < count; i++) {
		wt_html_row_begin(out, "config", points[i]->row.config_id, NULL);
		wt_html_int(out, points[i]->blocks, NULL);
		wt_html_double(out, points[i]->row.has_waves ? points[i]->row.waves : NAN,
		               wt_html_waves(a, points[i]->row.waves), NULL);
		wt_html_int(out, mean_of(points[i]), wt_text_ns(a, mean_of(points[i])));
		wt_html_int(out, points[i]->row.launches, NULL);
		wt_html_row_end(out);
	}
	wt_html_table_end(out);
	fputs("</details>\n", out);
}

static void put_curve(FILE *out, const struct wt_show_config *const *points, size_t all)
{
	size_t count = all < WT_HTML_POINTS ? all : WT_HTML_POINTS;
	int64_t most_blocks = points[count - 1]->blocks, most_ns = 0;
	int64_t resident = points[0]->resident_blocks, waves, every;
	char last[64], top[WT_TEXT_NUMBER_BYTES], middle[80];

	for (size_t i = 0; i < count; i++)
		if (mean_of(points[i]) > most_ns)
			most_ns = mean_of(points[i]);
	if (most_blocks <= 0 || most_ns <= 0)
		return;
	waves = resident > 0 ? most_blocks / resident : 0;
	every = waves / WT_HTML_WAVE_EDGES + 1;
	begin_figure(out, "curve");
	wt_html_format(out,
	               "Mean time of a launch against its blocks, %zu grids up to %" PRId64
	               " blocks and %s",
	               count, most_blocks, wt_text_ns(top, most_ns));
	fputs("</title>\n", out);
	put_edges(out, resident, most_blocks, every);
	put_points(out, points, count, most_blocks, most_ns, true);
	put_points(out, points, count, most_blocks, most_ns, false);
	fputs("</svg>\n", out);
	snprintf(middle, sizeof(middle), "top: %s", wt_text_ns(top, most_ns));
	snprintf(last, sizeof(last), "%" PRId64 " blocks", most_blocks);
	put_axis(out, "0", middle, last);
	fprintf(out, "<figcaption>Time against grid, blocks of %" PRId64 " threads",
	        points[0]->row.block[0] * points[0]->row.block[1] * points[0]->row.block[2]);
	if (resident > 0 && every == 1)
		fprintf(out,
		        "; an upright line where one more wave begins, every %" PRId64 " blocks",
		        resident);
	else if (resident > 0)
		fprintf(out, "; an upright line every %" PRId64 " waves of %" PRId64 " blocks",
		        every, resident);
	if (count < all)
		fprintf(out, "; the smallest %zu of %zu grids", count, all);
	fputs("</figcaption>\n", out);
	put_curve_table(out, points, count);
	fputs("</figure>\n", out);
}

int wt_html_put_curves(FILE *out, const struct wt_show *show)
{
	const struct wt_show_config **points = calloc(show->config_count + 1, sizeof(*points));
	bool *is_done = calloc(show->config_count + 1, sizeof(*is_done));
	size_t shown = 0;

	for (size_t i = 0; points && is_done && i < show->config_count; i++) {
		size_t count = wt_show_take_curve(show, i, is_done, points);

		if (count && shown++ < WT_HTML_CURVES)
			put_curve(out, points, count);
	}
	if (shown > WT_HTML_CURVES)
		fprintf(out,
		        "<p class=\"limit\">The first %d of %zu curves of time against grid.</p>\n",
		        WT_HTML_CURVES, shown);
	if (!points || !is_done)
		shown = SIZE_MAX;
	free(points);
	free(is_done);
	return shown == SIZE_MAX ? -ENOMEM : 0;
}

/* ---- durations */

void wt_html_put_durations(FILE *out, const struct wt_show *show)
{
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES], c[WT_TEXT_NUMBER_BYTES];
	char top[WT_TEXT_NUMBER_BYTES + 24];
	size_t n = show->bin_count;
	int64_t most = 0;

	for (size_t i = 0; i < n; i++)
		if (show->bins[i].count > most)
			most = show->bins[i].count;
	if (!most)
		return;
	begin_figure(out, "durations");
	wt_html_format(out, "Durations, %zu ranges:", n);
	for (size_t i = 0; i < n; i++)
		wt_html_format(out, " %s from %s;", wt_text_count(a, show->bins[i].count),
		               wt_text_ns(b, show->bins[i].low_ns));
	fputs("</title>\n", out);
	for (size_t i = 0; i < n; i++) {
		double height = HEIGHT * (double)show->bins[i].count / (double)most;

		if (show->bins[i].count && height < 1.5)
			height = 1.5; /* few are not none */
		fprintf(out,
		        "<rect class=\"area\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\">"
		        "<title>%s launches, %s to %s</title></rect>",
		        WIDTH * (double)i / (double)n, HEIGHT - height, WIDTH / (double)n - 3,
		        height, wt_text_count(a, show->bins[i].count),
		        wt_text_ns(b, show->bins[i].low_ns), wt_text_ns(c, show->bins[i].high_ns));
	}
	fputs("</svg>\n", out);
	snprintf(top, sizeof(top), "top: %s launches", wt_text_count(a, most));
	put_axis(out, wt_text_ns(a, show->bins[0].low_ns), top,
	         wt_text_ns(b, show->bins[n - 1].high_ns));
	fprintf(out,
	        "<figcaption>Durations of its launches: median %s, 99 of 100 within "
	        "%s</figcaption>\n</figure>\n",
	        wt_text_ns(a, show->durations.median_ns), wt_text_ns(b, show->durations.p99_ns));
}
