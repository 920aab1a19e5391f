/*
 * sweep_html.c - see sweep.h: time against idle as an SVG in a page that needs nothing else.
 * Single-threaded; blocks as the FILE does.
 */
#include <errno.h>
#include <math.h>

#include "cli/html/html.h"
#include "cli/sweep.h"
#include "cli/text.h"

#define WIDTH 760
#define HEIGHT 420
#define LEFT 70
#define RIGHT 150 /* room for labels */
#define TOP 20
#define BOTTOM 50
#define TICKS 5

static const char head[] =
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
        "'unsafe-inline'\"><title>wavetap "
        "sweep</title>"
        "<style>\n"
        ":root { color-scheme: light dark }\n"
        "body { font: 14px/1.4 system-ui, sans-serif; margin: 2em; max-width: 70em }\n"
        "table { border-collapse: collapse; margin-top: 1.5em }\n"
        "th, td { padding: .2em .8em; text-align: right; border-bottom: 1px solid #8886 }\n"
        "th:first-child, td:first-child { text-align: left }\n"
        "svg text { font: 12px system-ui, sans-serif; fill: currentColor }\n"
        ".axis { stroke: currentColor; stroke-width: 1 }\n"
        ".grid { stroke: #8884 }\n"
        ".front { fill: none; stroke: #06c; stroke-width: 2 }\n"
        ".best { fill: #06c } .other { fill: #999 }\n"
        "tr.best td { font-weight: 600 }\n"
        "</style></head><body>\n";

struct scale {
	double low, high;
};

static bool is_known(const struct wt_sweep_point *point)
{
	return point->per_ns >= 0 && point->idle_share >= 0;
}

/* With a tenth beside it on both ends. */
static struct scale scale_of(const struct wt_run_sweep *sweep, bool is_time)
{
	struct scale scale = {INFINITY, -INFINITY};
	double margin;

	for (size_t i = 0; i < sweep->count; i++) {
		double value = is_time ? sweep->points[i].per_ns : sweep->points[i].idle_share;

		if (!is_known(&sweep->points[i]))
			continue;
		scale.low = fmin(scale.low, value);
		scale.high = fmax(scale.high, value);
	}
	margin = fmax((scale.high - scale.low) / 10, fabs(scale.high) / 100 + 1e-9);
	return (struct scale){fmax(0, scale.low - margin), scale.high + margin};
}

static double x_of(const struct scale *scale, double value)
{
	return LEFT + (value - scale->low) / (scale->high - scale->low) * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct scale *scale, double value)
{
	return HEIGHT - BOTTOM -
	       (value - scale->low) / (scale->high - scale->low) * (HEIGHT - TOP - BOTTOM);
}

static void put_axes(FILE *out, const struct wt_run_sweep *sweep, const struct scale *x,
                     const struct scale *y)
{
	char text[WT_TEXT_NUMBER_BYTES];

	for (int i = 0; i <= TICKS; i++) {
		double time_ns = x->low + (x->high - x->low) * i / TICKS;
		double share = y->low + (y->high - y->low) * i / TICKS;

		fprintf(out,
		        "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
		        "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.1f</text>\n",
		        LEFT, WIDTH - RIGHT, y_of(y, share), y_of(y, share), LEFT - 8,
		        y_of(y, share) + 4, 100 * share);
		fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
		        x_of(x, time_ns), HEIGHT - BOTTOM + 18, wt_text_ns(text, (int64_t)time_ns));
	}
	fprintf(out,
	        "<path class=\"axis\" fill=\"none\" d=\"M%d %dV%dH%d\"/>\n"
	        "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">step time",
	        LEFT, TOP, HEIGHT - BOTTOM, WIDTH - RIGHT, (WIDTH - RIGHT + LEFT) / 2, HEIGHT - 10);
	if (sweep->per) {
		fputs(" by ", out);
		wt_html_text(out, sweep->per, 0);
	}
	fprintf(out,
	        "</text>\n<text transform=\"translate(16 %d) rotate(-90)\" "
	        "text-anchor=\"middle\">idle "
	        "SM-time, %%</text>\n",
	        (HEIGHT - BOTTOM + TOP) / 2);
}

/* From one on the front to the next, by time. */
static void put_front(FILE *out, const struct wt_run_sweep *sweep, const struct scale *x,
                      const struct scale *y)
{
	double last_ns = -1;
	bool is_first = true;

	fputs("<path class=\"front\" d=\"", out);
	for (;;) {
		const struct wt_sweep_point *next = NULL;

		for (size_t i = 0; i < sweep->count; i++) {
			const struct wt_sweep_point *point = &sweep->points[i];

			if (point->is_on_front && point->per_ns > last_ns &&
			    (!next || point->per_ns < next->per_ns))
				next = point;
		}
		if (!next)
			break;
		fprintf(out, "%c%.1f %.1f", is_first ? 'M' : 'L', x_of(x, next->per_ns),
		        y_of(y, next->idle_share));
		last_ns = next->per_ns;
		is_first = false;
	}
	fputs("\"/>\n", out);
}

static void put_plot(FILE *out, const struct wt_run_sweep *sweep)
{
	struct scale x = scale_of(sweep, true), y = scale_of(sweep, false);

	fprintf(out, "<svg viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n", WIDTH,
	        HEIGHT, WIDTH, HEIGHT);
	put_axes(out, sweep, &x, &y);
	put_front(out, sweep, &x, &y);
	for (size_t i = 0; i < sweep->count; i++) {
		const struct wt_sweep_point *point = &sweep->points[i];

		if (!is_known(point))
			continue;
		fprintf(out,
		        "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"/><text x=\"%.1f\" "
		        "y=\"%.1f\">",
		        point->is_on_front ? "best" : "other", x_of(&x, point->per_ns),
		        y_of(&y, point->idle_share), x_of(&x, point->per_ns) + 9,
		        y_of(&y, point->idle_share) + 4);
		wt_html_text(out, point->label, 0);
		fputs("</text>\n", out);
	}
	fputs("</svg>\n", out);
}

static void put_row(FILE *out, const struct wt_sweep_point *point)
{
	const struct wt_run_summary *run = &point->run;
	const char *cause = wt_run_summary_main_cause(run);
	char text[WT_TEXT_NUMBER_BYTES];

	fprintf(out, "<tr%s><td>", point->is_on_front ? " class=\"best\"" : "");
	wt_html_text(out, point->label, 0);
	fprintf(out, "</td><td>%s</td>", run->step_ns < 0 ? "." : wt_text_ns(text, run->step_ns));
	fprintf(out, "<td>%s</td>",
	        point->per_ns < 0 ? "." : wt_text_ns(text, (int64_t)point->per_ns));
	fprintf(out, "<td>%s</td>",
	        run->launches_per_step < 0 ? "." : wt_text_count(text, run->launches_per_step));
	fprintf(out, "<td>%s</td>",
	        point->idle_share < 0 ? "." : wt_text_percent(text, point->idle_share, 1));
	fprintf(out, "<td>%s</td><td>%s</td>",
	        wt_text_percent(text, (double)wt_run_summary_gap_sm_us(run),
	                        (double)run->total_sm_us),
	        cause ? cause : ".");
	fprintf(out, "<td>%s</td><td>",
	        run->occupancy < 0 ? "." : wt_text_percent(text, run->occupancy, 1));
	wt_html_text(out, run->info.id, 0);
	fputs("</td></tr>\n", out);
}

int wt_sweep_write_html(FILE *out, const struct wt_run_sweep *sweep)
{
	size_t known = 0;

	errno = 0;
	fputs(head, out);
	fputs("<h1>wavetap sweep</h1>\n<p>A point is a run. Blue: no other takes less time and "
	      "leaves "
	      "less idle.</p>\n",
	      out);
	for (size_t i = 0; i < sweep->count; i++)
		known += is_known(&sweep->points[i]);
	if (known)
		put_plot(out, sweep);
	else
		fputs("<p>No run has steps that could be found: there is nothing to plot.</p>\n",
		      out);
	fputs("<table><tr><th>parameters</th><th>step</th><th>per item</th><th>launches a step</th>"
	      "<th>idle %</th><th>gaps %</th><th>mostly</th><th>occupancy "
	      "%</th><th>run</th></tr>\n",
	      out);
	for (size_t i = 0; i < sweep->count; i++)
		put_row(out, &sweep->points[i]);
	fputs("</table></body></html>\n", out);
	return ferror(out) ? -(errno ? errno : EIO) : 0;
}
