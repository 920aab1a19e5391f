/*
 * part_losses.c - what was lost and what the figures rest on. Single-threaded; blocks as the FILE does.
 */
#include <inttypes.h>

#include "cli/html/report.h"
#include "cli/top_text.h"

static void put_counters(FILE *out, const struct wt_report_loss *loss)
{
	static const struct wt_html_column columns[] = {{NULL, "Counter", NULL, true},
	                                                {"count", "Count", NULL, false},
	                                                {NULL, "What is lost", NULL, true}};

	fputs("<details><summary>All counters</summary>\n", out);
	wt_html_table_begin(out, "loss", "Counters of the whole run", columns, 3, 0);
	for (const struct wt_report_loss_field *f = wt_report_loss_fields; f->name; f++) {
		fprintf(out, "<tr data-line=\"%s\">", f->name);
		wt_html_row_head(out, f->name);
		wt_html_int(out, wt_report_loss_get(loss, f), NULL);
		wt_html_words(out, f->text ? f->text : "a count, no loss");
		wt_html_row_end(out);
	}
	wt_html_table_end(out);
	fputs("</details>\n", out);
}

int wt_html_put_losses(FILE *out, const struct wt_html_report *report)
{
	const struct wt_report *losses =
	        report->has_ledger ? &report->view.losses : &report->kernels;
	struct wt_html_lines lines;
	int rc = wt_html_lines_begin(&lines);

	if (rc)
		return rc;
	if (report->has_ledger && report->view.ledger.is_samples_alone) {
		wt_ledger_print_samples_alone(lines.stream, &lines.terminal, losses);
	} else {
		if (report->has_ledger)
			wt_ledger_say_losses(&lines.line, &report->view.ledger, losses);
		wt_top_print_losses(lines.stream, &lines.terminal, losses);
	}
	wt_html_lines_end(&lines, out, NULL);
	if (losses->processes_live)
		fprintf(out,
		        "<p>%" PRId64 " of %" PRId64
		        " processes still ran when this was written; its parts "
		        "were read one after the other and may be moments apart.</p>\n",
		        losses->processes_live, losses->processes);
	put_counters(out, &losses->loss);
	return 0;
}
