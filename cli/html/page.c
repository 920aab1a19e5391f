/*
 * page.c - an HTML report as a whole: head with its policy, navigation, parts, script. Single-threaded;
 * blocks as the FILE does.
 *
 * Nothing is loaded from anywhere: the policy allows this style and this script, by their hashes, and
 * nothing else. Without the script all text, tables and drawings are there.
 */
#include <string.h>

#include "cli/html/report.h"
#include "cli/html/policy_hash.h"
#include "config.h"

static const struct part {
	const char *id, *title;
	int (*put)(FILE *, const struct wt_html_report *);
	bool needs_ledger, needs_kernels;
} parts[] = {
        {"where", "Where SMs \u00d7 time went", wt_html_put_ledger, true, false},
        {"findings", "What costs most", wt_html_put_findings, true, true},
        {"ranking", "Kernels", wt_html_put_kernels, false, true},
        {"details", "The worst kernels", wt_html_put_details, false, true},
        {"time", "Over time", wt_html_put_timeline, true, false},
        {"activity", "SM activity", wt_html_put_heat, true, false},
        {"waiting", "Time without a kernel", wt_html_put_gaps, true, true},
        {"steps", "Steps", wt_html_put_steps, true, true},
        {"losses", "What was lost", wt_html_put_losses, false, false},
        {"run", "Run, devices, processes", wt_html_put_facts, false, false},
};
#define PARTS (sizeof(parts) / sizeof(parts[0]))

static bool is_shown(const struct part *part, const struct wt_html_report *report)
{
	return (report->has_ledger || !part->needs_ledger) &&
	       (report->has_kernels || !part->needs_kernels);
}

static void put_head(FILE *out, const struct wt_html_report *report)
{
	const struct wt_db_run_file *info = &report->view.run.info;
	char style[WT_POLICY_HASH_BYTES], script[WT_POLICY_HASH_BYTES];

	wt_policy_hash(wt_html_css, strlen(wt_html_css), style);
	wt_policy_hash(wt_html_js, strlen(wt_html_js), script);
	fprintf(out,
	        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	        "style-src 'sha256-%s'; script-src 'sha256-%s'; base-uri 'none'; form-action "
	        "'none'\">\n"
	        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	        "<meta name=\"color-scheme\" content=\"light dark\">\n"
	        "<meta name=\"referrer\" content=\"no-referrer\">\n<title>wavetap: ",
	        style, script);
	wt_html_text(out, info->name[0] ? info->name : info->id, 100);
	fprintf(out, "</title>\n<style>%s</style>\n</head>\n", wt_html_css);
}

static void put_top(FILE *out, const struct wt_html_report *report)
{
	const struct wt_db_run_file *info = &report->view.run.info;

	fputs("<body>\n<a class=\"skip\" href=\"#content\">To the content</a>\n<header>\n<h1>",
	      out);
	fputs(info->name[0] ? "" : "run ", out);
	wt_html_text(out, info->name[0] ? info->name : info->id, 200);
	fputs("</h1>\n<p class=\"by\">a run as <code>wavetap</code> saw it</p>\n"
	      "<button type=\"button\" id=\"theme\" class=\"js-only\">dark or light</button>\n"
	      "</header>\n<nav aria-label=\"Parts of the report\">\n<ul>\n",
	      out);
	for (size_t i = 0; i < PARTS; i++) {
		if (!is_shown(&parts[i], report))
			continue;
		fprintf(out, "<li><a href=\"#%s\">", parts[i].id);
		wt_html_text(out, parts[i].title, 0);
		fputs("</a></li>\n", out);
	}
	fputs("<li><a href=\"#reading\">How to read it</a></li>\n</ul>\n</nav>\n<main "
	      "id=\"content\">\n"
	      "<section aria-label=\"In short\">\n",
	      out);
}

int wt_html_write(FILE *out, const struct wt_html_report *report)
{
	int rc;

	put_head(out, report);
	put_top(out, report);
	rc = wt_html_put_headline(out, report);
	fputs("</section>\n", out);
	for (size_t i = 0; i < PARTS && !rc; i++) {
		if (!is_shown(&parts[i], report))
			continue;
		fprintf(out,
		        "<section id=\"%s\" aria-labelledby=\"%s-title\">\n<h2 id=\"%s-title\">",
		        parts[i].id, parts[i].id, parts[i].id);
		wt_html_text(out, parts[i].title, 0);
		fputs("</h2>\n", out);
		rc = parts[i].put(out, report);
		fputs("</section>\n", out);
	}
	if (rc)
		return rc;
	fprintf(out,
	        "%s</main>\n<footer><p>Written by wavetap " PACKAGE_VERSION
	        ". Figures are those of <code>--json</code>; cells carry them in "
	        "<code>data-v</code>.</p></footer>\n<script>%s</script>\n</body>\n</html>\n",
	        wt_html_reading, wt_html_js);
	return 0;
}
