/*
 * part_details.c - the worst kernels one by one, as `wavetap show` has them: what they are, tail profile,
 * time against grid, durations, configurations, advice. Each reads the launches of its kernel.
 * Single-threaded; blocks on the run file.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/html/report.h"
#include "cli/measured.h"
#include "cli/show.h"

#define NAME_SHOWN_BYTES 240

static const struct wt_html_column config_columns[] = {
        {"device_id", "Device", NULL, false},
        {NULL, "Grid", NULL, true},
        {NULL, "Block", NULL, true},
        {"regs_per_thread", "Registers", "of a thread", false},
        {"smem_bytes", "Shared memory", "of a block", false},
        {"blocks_per_sm", "Blocks/SM", "that fit at the same time", false},
        {NULL, "Limited by", NULL, true},
        {"waves", "Waves", "grid / (SMs x blocks per SM)", false},
        {"launches", "Launches", NULL, false},
        {"time_ns", "Time", NULL, false},
        {"mean_ns", "Each", NULL, false},
        {"underfill_sm_ns", "Underfill", "time of the whole GPU, like the next three", false},
        {"wave_sm_ns", "Wave", NULL, false},
        {"straggle_sm_ns", "Straggle", NULL, false},
        {"ramp_sm_ns", "Ramp", NULL, false},
        {NULL, "Evidence", NULL, true},
};
#define CONFIG_COLUMNS (sizeof(config_columns) / sizeof(config_columns[0]))

static void put_extent(FILE *out, const int64_t extent[3])
{
	fprintf(out, "<td class=\"t\">%" PRId64, extent[0]);
	if (extent[1] > 1 || extent[2] > 1)
		fprintf(out, "&#215;%" PRId64, extent[1]);
	if (extent[2] > 1)
		fprintf(out, "&#215;%" PRId64, extent[2]);
	fputs("</td>", out);
}

static void put_known(FILE *out, bool is_known, int64_t value, const char *shown,
                      const char *reason)
{
	if (is_known)
		wt_html_int(out, value, shown);
	else
		wt_html_unknown(out, reason);
}

static void put_config(FILE *out, const struct wt_show_config *config)
{
	const struct wt_report_row *row = &config->row;
	char a[WT_TEXT_NUMBER_BYTES], evidence[WT_MEASURED_TEXT_BYTES];
	int64_t parts_sm_ns[WT_EVIDENCE_MAX], sms = config->sm_count;
	int64_t whole_sm_ns = wt_report_row_sm_ns(row, parts_sm_ns);
	const char *reason = row->model_reason, *needs = "needs a measurement";

	wt_html_row_begin(out, "config", row->config_id, NULL);
	wt_html_int(out, row->device_id, NULL);
	put_extent(out, row->grid);
	put_extent(out, row->block);
	wt_html_int(out, row->regs_per_thread, NULL);
	wt_html_int(out, row->smem_bytes, wt_text_bytes(a, (uint64_t)row->smem_bytes));
	put_known(out, row->blocks_per_sm > 0, row->blocks_per_sm, NULL, reason);
	wt_html_words(out, row->limiter);
	wt_html_double(out, row->has_waves ? row->waves : NAN, wt_html_waves(a, row->waves),
	               reason);
	wt_html_int(out, row->launches, NULL);
	wt_html_int(out, row->time_ns, wt_text_ns(a, row->time_ns));
	wt_html_double(out, row->launches ? (double)row->time_ns / (double)row->launches : NAN,
	               wt_text_ns(a, row->launches ? row->time_ns / row->launches : 0), NULL);
	put_known(out, row->has_wave || row->underfill_sm_ns, row->underfill_sm_ns,
	          wt_html_gpu_time(a, row->underfill_sm_ns, sms), reason);
	put_known(out, row->has_wave, row->wave_sm_ns, wt_html_gpu_time(a, row->wave_sm_ns, sms),
	          reason);
	put_known(out, row->has_measured, row->straggle_sm_ns,
	          wt_html_gpu_time(a, row->straggle_sm_ns, sms), needs);
	put_known(out, row->has_measured, row->ramp_sm_ns,
	          wt_html_gpu_time(a, row->ramp_sm_ns, sms), needs);
	wt_html_words(out, wt_measured_text(evidence, whole_sm_ns, parts_sm_ns));
	wt_html_row_end(out);
}

static void put_configs(FILE *out, const struct wt_show *show)
{
	size_t shown = show->config_count < WT_HTML_CONFIGS ? show->config_count : WT_HTML_CONFIGS;
	char id[48];

	snprintf(id, sizeof(id), "configs-%" PRId64, show->total.kernel_id);
	wt_html_table_begin(out, id, "Launch configurations, most time first", config_columns,
	                    CONFIG_COLUMNS, WT_HTML_SORTABLE);
	for (size_t i = 0; i < shown; i++)
		put_config(out, &show->configs[i]);
	wt_html_table_end(out);
	if (shown < show->config_count)
		fprintf(out, "<p class=\"limit\">The first %zu of %zu configurations.</p>\n", shown,
		        show->config_count);
}

/* Advice says the same of several configurations: each once. */
static void put_advice(FILE *out, const struct wt_show *show)
{
	size_t shown = show->config_count < WT_HTML_CONFIGS ? show->config_count : WT_HTML_CONFIGS;
	bool has_any = false;

	for (size_t i = 0; i < shown; i++) {
		const char *texts[] = {show->configs[i].advice, show->configs[i].lift};

		for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++) {
			bool is_told = !texts[k][0];

			for (size_t j = 0; j < i; j++)
				is_told |= !strcmp(texts[k], show->configs[j].advice) ||
				           !strcmp(texts[k], show->configs[j].lift);
			if (is_told)
				continue;
			fputs(has_any ? "<li>" : "<ul class=\"advice\">\n<li>", out);
			if (show->report.device_count > 1)
				fprintf(out, "device %" PRId64 ", ", show->configs[i].row.device_id);
			fprintf(out, "grid %" PRId64 ": ", show->configs[i].blocks);
			wt_html_text(out, texts[k], 0);
			fputs("</li>\n", out);
			has_any = true;
		}
	}
	if (has_any)
		fputs("</ul>\n", out);
}

/* Folded where it would fill half a screen. */
static void put_full_name(FILE *out, const char *name)
{
	bool is_long = strlen(name) > NAME_SHOWN_BYTES;

	if (is_long)
		fputs("<details><summary>whole name</summary>\n", out);
	fputs("<p class=\"fullname\">", out);
	wt_html_text(out, name, WT_HTML_FULL_NAME_BYTES);
	fputs(is_long ? "</p>\n</details>\n" : "</p>\n", out);
}

static void put_head(FILE *out, const struct wt_html_report *report, const struct wt_show *show)
{
	const struct wt_report_row *total = &show->total;
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES], c[WT_TEXT_NUMBER_BYTES];
	char d[WT_TEXT_NUMBER_BYTES];

	fprintf(out, "<h3 id=\"kernel-%" PRId64 "\">", total->kernel_id);
	wt_html_text(out, total->kernel_shown, WT_HTML_NAME_BYTES);
	fputs("</h3>\n", out);
	put_full_name(out, show->demangled);
	fprintf(out, "<p>%s launch%s, %s in all; lost to underfill %s of the GPU, to waves %s",
	        wt_text_count(a, total->launches), total->launches == 1 ? "" : "es",
	        wt_text_ns(b, total->time_ns), wt_text_ns(c, (int64_t)total->underfill_gpu_ns),
	        wt_text_ns(d, (int64_t)total->wave_gpu_ns));
	if (total->wave_max_gpu_ns > total->wave_gpu_ns)
		fprintf(out, " to %s", wt_text_ns(a, (int64_t)total->wave_max_gpu_ns));
	if (total->has_measured)
		fprintf(out, ", to unequal blocks %s, to launch and drain %s",
		        wt_text_ns(a, (int64_t)total->straggle_gpu_ns),
		        wt_text_ns(b, (int64_t)total->ramp_gpu_ns));
	fputs(". <code>wavetap show", out);
	wt_html_text(out, report->run_option, 0);
	fprintf(out, " id:%" PRId64 "</code></p>\n", total->kernel_id);
}

static int put_kernel(FILE *out, const struct wt_html_report *report, int64_t kernel_id)
{
	struct wt_show show;
	size_t profiles = 0;
	int rc = wt_show_load(report->run.db, &report->select, kernel_id, &show);

	if (!rc) {
		fputs("<article class=\"kernel\">\n", out);
		put_head(out, report, &show);
		fputs("<div class=\"plots\">\n", out);
		for (size_t i = 0; i < show.config_count && profiles < WT_HTML_PROFILES; i++)
			if (show.configs[i].measured.bin_count) {
				wt_html_put_profile(out, &show.configs[i]);
				profiles++;
			}
		rc = wt_html_put_curves(out, &show);
		wt_html_put_durations(out, &show);
		fputs("</div>\n", out);
		put_configs(out, &show);
		put_advice(out, &show);
		fputs("</article>\n", out);
	}
	wt_show_fini(&show);
	return rc;
}

int wt_html_put_details(FILE *out, const struct wt_html_report *report)
{
	size_t count = wt_html_details_count(report);
	int rc = 0;

	if (!count) {
		fputs("<p>None.</p>\n", out);
		return 0;
	}
	fprintf(out,
	        "<p class=\"limit\">The first %zu of the table above, of %zu; <code>wavetap "
	        "show</code> has any. "
	        "Tail profiles need samples.</p>\n",
	        count, report->kernels.row_count);
	for (size_t i = 0; i < count && !rc; i++)
		rc = put_kernel(out, report, report->kernels.rows[i].kernel_id);
	return rc;
}
