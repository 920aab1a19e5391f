/*
 * part_findings.c - what costs most, why, and what to try: `wavetap diagnose`. Single-threaded; blocks as
 * the FILE does.
 */
#include <inttypes.h>
#include <string.h>

#include "cli/html/report.h"

static void put_words(FILE *out, const char *what, const char *text)
{
	fprintf(out, "<dt>%s</dt><dd>", what);
	wt_html_text(out, text ? text : "", 0);
	fputs("</dd>\n", out);
}

/* Is there a part of the page about this kernel? */
static bool has_details(const struct wt_html_report *report, int64_t kernel_id)
{
	for (size_t i = 0; i < wt_html_details_count(report); i++)
		if (report->kernels.rows[i].kernel_id == kernel_id)
			return true;
	return false;
}

static void put_finding(FILE *out, const struct wt_html_report *report,
                        const struct wt_finding *finding)
{
	const struct wt_diagnosis *diagnosis = report->diagnosis;
	char least[WT_TEXT_NUMBER_BYTES], most[WT_TEXT_NUMBER_BYTES];

	wt_html_percent(least, finding->stake_sm_ns, diagnosis->total_sm_ns);
	wt_html_percent(most, finding->stake_max_sm_ns, diagnosis->total_sm_ns);
	fprintf(out, "<li class=\"finding\" data-finding=\"%s\" data-v=\"%.3f\">\n<h3>",
	        finding->kind, finding->stake_max_sm_ns / 1e3);
	wt_html_text(out, finding->title, 0);
	fputs("</h3>\n<p class=\"stake\">", out);
	if (strcmp(least, most) != 0)
		fprintf(out, "%s to ", least);
	fprintf(out, "%s of SMs &#215; wall, evidence: %s", most, finding->grade);
	if (has_details(report, finding->kernel_id))
		fprintf(out, ", <a href=\"#kernel-%" PRId64 "\">its kernel</a>",
		        finding->kernel_id);
	fputs("</p>\n<dl>\n", out);
	put_words(out, "seen", finding->evidence);
	put_words(out, "why", finding->explanation);
	put_words(out, "try", finding->advice);
	fputs("</dl>\n</li>\n", out);
}

static void put_left(FILE *out, const struct wt_diagnosis *diagnosis)
{
	char a[WT_TEXT_NUMBER_BYTES];

	fputs("<h3>Left in peace</h3>\n<p>They look wasteful and may be as they "
	      "should.</p>\n<ul>\n",
	      out);
	for (size_t i = 0; i < diagnosis->left_count; i++) {
		const struct wt_left *left = &diagnosis->left[i];

		fprintf(out, "<li data-left=\"%" PRId64 "\">", left->kernel_id);
		wt_html_text(out, left->kernel, 0);
		fprintf(out, ", %s of SMs &#215; wall: ",
		        wt_html_percent(a, left->kernel_sm_ns, diagnosis->total_sm_ns));
		wt_html_text(out, left->reason, 0);
		fputs("</li>\n", out);
	}
	fputs("</ul>\n", out);
}

int wt_html_put_findings(FILE *out, const struct wt_html_report *report)
{
	const struct wt_diagnosis *diagnosis = report->diagnosis;
	char a[WT_TEXT_NUMBER_BYTES];
	double sum = 0;

	if (!diagnosis) {
		fputs("<p>Not without kernels.</p>\n", out);
		return 0;
	}
	if (!diagnosis->count)
		fprintf(out, "<p>Nothing above %.4g %% of SM-time.</p>\n",
		        WT_DIAGNOSE_THRESHOLD_PERCENT);
	else
		fputs("<ol class=\"findings\">\n", out);
	for (size_t i = 0; i < diagnosis->count; i++) {
		put_finding(out, report, &diagnosis->findings[i]);
		sum += diagnosis->findings[i].stake_max_sm_ns;
	}
	if (diagnosis->count)
		fprintf(out,
		        "</ol>\n<p class=\"note\">Stakes are bounds of SM-time, and no two count "
		        "the same: "
		        "together at most %s of SMs &#215; wall. What one gives up another may "
		        "show.</p>\n",
		        wt_html_percent(a, sum, diagnosis->total_sm_ns));
	if (diagnosis->left_count)
		put_left(out, diagnosis);
	if (diagnosis->measured_share > 0)
		fprintf(out,
		        "<p class=\"note\">Blocks of unequal length: measured for %s of the "
		        "kernels&#8217; "
		        "SM-time, not known of the rest.</p>\n",
		        wt_html_percent(a, diagnosis->measured_share, 1));
	else
		fputs("<p class=\"note\">Blocks of unequal length: not known without a "
		      "measurement; a "
		      "kernel&#8217;s times that vary hint at them.</p>\n",
		      out);
	return 0;
}
