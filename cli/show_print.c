/*
 * show_print.c - the text of `wavetap show`. Single-threaded; blocks as the FILE does.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/measured.h"
#include "cli/phrase.h"
#include "cli/plot.h"
#include "cli/select.h"
#include "cli/show_print.h"
#include "cli/table.h"
#include "cli/top_text.h"

#define BIN_COLUMNS 31 /* before the bar of a bin of durations */
#define CONFIGS_SHOWN 20 /* --json has all */
#define ADVICE_SHOWN 5

/* ---- head */

/* ~: the model alone knows. */
static void print_lost(struct wt_phrase *line, const struct wt_report_row *total)
{
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES], c[WT_TEXT_NUMBER_BYTES];
	char evidence[WT_MEASURED_TEXT_BYTES], wave[2 * WT_TEXT_NUMBER_BYTES + 8];
	int64_t parts_sm_ns[WT_EVIDENCE_MAX];
	int64_t whole_sm_ns = wt_report_row_sm_ns(total, parts_sm_ns);
	const char *about = total->has_measured ? "" : "~";

	wt_text_ns(b, (int64_t)total->wave_gpu_ns);
	wt_text_ns(c, (int64_t)total->wave_max_gpu_ns);
	if (strcmp(b, c) != 0) /* a range only where it is one */
		snprintf(wave, sizeof(wave), "%s%s to %s", about, b, c);
	else
		snprintf(wave, sizeof(wave), "%s%s", total->wave_gpu_ns > 0 ? about : "", b);
	wt_phrase_add(line, "lost %s%s of the GPU to underfill, %s to waves",
	              total->underfill_gpu_ns > 0 ? about : "",
	              wt_text_ns(a, (int64_t)total->underfill_gpu_ns), wave);
	if (total->has_measured)
		wt_phrase_add(line, "%s to unequal blocks, %s to launch and drain",
		              wt_text_ns(a, (int64_t)total->straggle_gpu_ns),
		              wt_text_ns(b, (int64_t)total->ramp_gpu_ns));
	if (total->unjudged_sm_ns)
		wt_phrase_add(line, "unjudged %s of the GPU",
		              wt_text_ns(a, (int64_t)total->unjudged_gpu_ns));
	wt_phrase_add(line, "evidence: %s", wt_measured_text(evidence, whole_sm_ns, parts_sm_ns));
}

static void print_head(FILE *out, const struct wt_text_terminal *terminal,
                       const struct wt_run_file *run, const struct wt_show *show)
{
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];
	const struct wt_report *report = &show->report;
	double wall = (double)(report->end_ns - report->start_ns) * (double)report->device_count;
	bool is_window = report->select && report->select->has_window;
	struct wt_phrase line;

	wt_phrase_init(&line, out, terminal);
	wt_phrase_add(&line, "run %s", run->info.id);
	if (run->info.name[0])
		wt_phrase_add(&line, "%s", run->info.name);
	wt_phrase_add(&line, "kernel id:%" PRId64, show->total.kernel_id);
	wt_phrase_add(&line, "%s", show->total.kernel_shown);
	wt_phrase_end(&line);
	if (strcmp(show->demangled, show->total.kernel_shown)) {
		wt_phrase_words(&line, 2, "%s", show->demangled);
		wt_phrase_end(&line);
	}
	wt_top_print_selection(&line, report->select);
	wt_phrase_add(&line, "%s launch%s", wt_text_count(a, show->total.launches),
	              show->total.launches == 1 ? "" : "es");
	if (show->total.launches_in_graph)
		wt_phrase_add(&line, "%s of them nodes of graphs",
		              wt_text_count(a, show->total.launches_in_graph));
	wt_phrase_add(&line, "%s, %s%% of the %s", wt_text_ns(a, show->total.time_ns),
	              wt_text_percent(b, (double)show->total.time_ns, wall),
	              is_window ? "window" : "run");
	if (is_window)
		wt_top_print_window(&line, report->select, report->steps, 0);
	print_lost(&line, &show->total);
	wt_phrase_end(&line);
}

/* ---- times */

static void add_times(struct wt_table *table, const char *what, const struct wt_show_times *times)
{
	char text[6][WT_TEXT_NUMBER_BYTES];

	wt_table_row(table, 0);
	wt_table_add_string(table, what, NULL);
	if (!times->count) {
		wt_table_add_string(table, NULL, "no launch call is known");
		return;
	}
	wt_table_add_int(table, times->min_ns, wt_text_ns(text[0], times->min_ns));
	wt_table_add_double(table, times->mean_ns, 1, wt_text_ns(text[1], (int64_t)times->mean_ns));
	wt_table_add_int(table, times->median_ns, wt_text_ns(text[2], times->median_ns));
	wt_table_add_int(table, times->p99_ns, wt_text_ns(text[3], times->p99_ns));
	wt_table_add_int(table, times->max_ns, wt_text_ns(text[4], times->max_ns));
	wt_table_add_double(table, times->deviation_ns, 1,
	                    wt_text_ns(text[5], (int64_t)times->deviation_ns));
}

static int print_times(FILE *out, const struct wt_text_terminal *terminal,
                       const struct wt_show *show)
{
	static const struct wt_table_column columns[] = {
	        {"what", "", WT_TABLE_LEFT, 0, 0, 0},
	        {"min", "MIN", WT_TABLE_RIGHT, 0, 7, 0},
	        {"mean", "MEAN", WT_TABLE_RIGHT, WT_TABLE_DROP(2), 7, 0},
	        {"median", "MEDIAN", WT_TABLE_RIGHT, 0, 7, 0},
	        {"p99", "P99", WT_TABLE_RIGHT, WT_TABLE_DROP(3), 7, 0},
	        {"max", "MAX", WT_TABLE_RIGHT, 0, 7, 0},
	        {"deviation", "DEVIATION", WT_TABLE_RIGHT, WT_TABLE_DROP(1), 7, 0},
	};
	struct wt_table *table = wt_table_create(columns, sizeof(columns) / sizeof(columns[0]));
	int rc;

	if (!table)
		return -ENOMEM;
	add_times(table, "ran", &show->durations);
	if (show->call.count) {
		add_times(table, "launch call", &show->call);
		add_times(table, "call to start", &show->start);
	}
	fputc('\n', out);
	rc = wt_table_print_text(table, out, terminal);
	wt_table_destroy(table);
	return rc;
}

static void print_bins(FILE *out, const struct wt_text_terminal *terminal,
                       const struct wt_show *show)
{
	char low[WT_TEXT_NUMBER_BYTES], high[WT_TEXT_NUMBER_BYTES], count[WT_TEXT_NUMBER_BYTES];
	int64_t most = 0;

	if (!show->bin_count)
		return;
	for (size_t i = 0; i < show->bin_count; i++)
		if (show->bins[i].count > most)
			most = show->bins[i].count;
	fputc('\n', out);
	for (size_t i = 0; i < show->bin_count; i++) {
		fprintf(out, "%8s .. %-8s %9s", wt_text_ns(low, show->bins[i].low_ns),
		        wt_text_ns(high, show->bins[i].high_ns),
		        wt_text_count(count, show->bins[i].count));
		wt_plot_bar(out, terminal, BIN_COLUMNS, show->bins[i].count, most);
		fputc('\n', out);
	}
}

/* ---- configurations */

static const struct wt_table_column config_columns[] = {
        {"device", "DEV", WT_TABLE_RIGHT, 0, 0, 0},
        {"grid", "GRID", WT_TABLE_RIGHT, 0, 0, 0},
        {"block", "BLOCK", WT_TABLE_RIGHT, WT_TABLE_DROP(7), 0, 0},
        {"regs", "REGS", WT_TABLE_RIGHT, WT_TABLE_DROP(2), 0, 0},
        {"smem", "SMEM", WT_TABLE_RIGHT, WT_TABLE_DROP(1), 0, 0},
        {"per_sm", "B/SM", WT_TABLE_RIGHT, WT_TABLE_DROP(6), 0, 0},
        {"limiter", "LIMITED BY", WT_TABLE_LEFT, WT_TABLE_FLEXIBLE | WT_TABLE_DROP(8), 6, 0},
        {"waves", "WAVES", WT_TABLE_RIGHT, 0, 0, 0},
        {"launches", "N", WT_TABLE_RIGHT, 0, 0, 0},
        {"us", "US", WT_TABLE_RIGHT, 0, 0, 0},
        {"under", "UNDER", WT_TABLE_RIGHT, WT_TABLE_DROP(9), 0, 0},
        {"wave", "WAVE", WT_TABLE_RIGHT, WT_TABLE_DROP(4), 0, 0},
        {"wave_max", "WAVE<=", WT_TABLE_RIGHT, WT_TABLE_DROP(5), 0, 0},
        {"straggle", "STRAG", WT_TABLE_RIGHT, WT_TABLE_DROP(3), 0,
         0}, /* in text where something is measured */
};

#define CONFIG_COLUMNS (sizeof(config_columns) / sizeof(config_columns[0]))

static void add_dims(struct wt_table *table, const int64_t dims[3])
{
	char text[3 * WT_TEXT_NUMBER_BYTES];

	if (dims[1] == 1 && dims[2] == 1)
		snprintf(text, sizeof(text), "%" PRId64, dims[0]);
	else if (dims[2] == 1)
		snprintf(text, sizeof(text), "%" PRId64 "x%" PRId64, dims[0], dims[1]);
	else
		snprintf(text, sizeof(text), "%" PRId64 "x%" PRId64 "x%" PRId64, dims[0], dims[1],
		         dims[2]);
	wt_table_add_string(table, text, NULL);
}

static void add_share(struct wt_table *table, const struct wt_show_config *config, int64_t sm_ns,
                      bool is_known)
{
	char text[WT_TEXT_NUMBER_BYTES];
	int64_t sms = config->sm_count > 0 ? config->sm_count : 1;

	if (is_known)
		wt_table_add_int(table, sm_ns, wt_text_ns(text, sm_ns / sms));
	else
		wt_table_add_null(table);
}

static void add_config(struct wt_table *table, const struct wt_show_config *config)
{
	const struct wt_report_row *row = &config->row;
	char text[WT_TEXT_NUMBER_BYTES];

	wt_table_row(table, 0);
	wt_table_add_int(table, row->device_id, NULL);
	add_dims(table, row->grid);
	add_dims(table, row->block);
	wt_table_add_int(table, row->regs_per_thread, NULL);
	wt_table_add_int(table, row->smem_bytes, NULL);
	if (row->blocks_per_sm)
		wt_table_add_int(table, row->blocks_per_sm, NULL);
	else
		wt_table_add_null(table);
	wt_table_add_string(table, row->limiter ? row->limiter : row->model_reason, NULL);
	if (row->has_waves)
		wt_table_add_double(table, row->waves, 2, NULL);
	else
		wt_table_add_null(table);
	wt_table_add_int(table, row->launches, wt_text_count(text, row->launches));
	wt_table_add_double(table, (double)row->time_ns / (double)row->launches / 1e3, 1, NULL);
	add_share(table, config, row->underfill_sm_ns, row->has_wave || row->underfill_sm_ns);
	add_share(table, config, row->wave_sm_ns, row->has_wave);
	add_share(table, config, row->wave_max_sm_ns, row->has_wave);
	add_share(table, config, row->straggle_sm_ns, row->has_measured);
}

static bool is_one_device(const struct wt_show *show)
{
	for (size_t i = 1; i < show->config_count; i++)
		if (show->configs[i].row.device_id != show->configs[0].row.device_id)
			return false;
	return true;
}

static struct wt_table *make_config_table(const struct wt_show *show,
                                          struct wt_table_column columns[CONFIG_COLUMNS])
{
	memcpy(columns, config_columns, sizeof(config_columns));
	if (is_one_device(show))
		columns[0].flags |= WT_TABLE_NO_TEXT;
	for (size_t i = 0; i < CONFIG_COLUMNS; i++) {
		const char *key = columns[i].key;

		if (!show->total.has_measured && !strcmp(key, "straggle"))
			columns[i].flags |= WT_TABLE_NO_TEXT;
		/* Beside a measurement the greatest form is of less interest than the least. */
		if (show->total.has_measured && !strcmp(key, "wave_max"))
			columns[i].flags = WT_TABLE_DROP(1);
	}
	return wt_table_create(columns, CONFIG_COLUMNS);
}

static int print_configs(FILE *out, const struct wt_text_terminal *terminal,
                         const struct wt_show *show)
{
	struct wt_table_column columns[CONFIG_COLUMNS];
	struct wt_table *table = make_config_table(show, columns);
	int rc;

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < show->config_count && i < CONFIGS_SHOWN; i++)
		add_config(table, &show->configs[i]);
	fputc('\n', out);
	wt_phrase_line(out, terminal, "%zu configuration%s%s (UNDER to %s: time of the whole GPU)",
	               show->config_count, show->config_count == 1 ? "" : "s",
	               show->config_count > CONFIGS_SHOWN ? ", the 20 with most time" : "",
	               show->total.has_measured ? "STRAG" : "WAVE<=");
	rc = wt_table_print_text(table, out, terminal);
	wt_table_destroy(table);
	return rc;
}

static int64_t bound_sm_ns(const struct wt_show_config *config)
{
	return config->row.underfill_sm_ns + config->row.wave_max_sm_ns;
}

static int by_bound(const void *left, const void *right)
{
	const struct wt_show_config *const *a = left, *const *b = right;

	return bound_sm_ns(*a) > bound_sm_ns(*b) ? -1 : bound_sm_ns(*a) < bound_sm_ns(*b);
}

/* Another device, another shape, and the words are the same. */
static bool is_told_before(const struct wt_show_config *const *sorted, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (!strcmp(sorted[i]->advice, sorted[at]->advice) &&
		    (sorted[at]->is_collective || sorted[i]->blocks == sorted[at]->blocks))
			return true;
	return false;
}

static void print_config_advice(struct wt_phrase *line, const struct wt_show_config *config,
                                bool has_devices)
{
	char device[40] = "";

	if (has_devices)
		snprintf(device, sizeof(device), "device %" PRId64 ", ", config->row.device_id);
	if (config->is_collective)
		wt_phrase_words(line, 2, "%s", config->advice);
	else
		wt_phrase_words(line, 2, "%sgrid %" PRId64 ": %s", device, config->blocks,
		                config->advice);
	wt_phrase_end(line);
}

/* What waiting for memory means for what a grid could win. */
static const char *memory_words(const struct wt_show_config *config)
{
	/* That of a measurement too coarse to stand, too. */
	const struct wt_rates_row *used = config->measured.count ? &config->measured.at[0] : NULL;

	if (!used || !used->bound[0])
		return "A kernel that waits for memory may win nothing: that needs counters.";
	if (!strcmp(used->bound, "memory"))
		return "Bound by memory: idle SMs are not time lost while DRAM is saturated.";
	return "Not bound by memory, as measured.";
}

/* What could be won, most first, and what would lift occupancy. `sorted` has room for all. */
static void print_advice(FILE *out, const struct wt_text_terminal *terminal,
                         const struct wt_show *show, const struct wt_show_config **sorted)
{
	struct wt_phrase line;
	size_t told = 0, more = 0;

	for (size_t i = 0; i < show->config_count; i++)
		sorted[i] = &show->configs[i];
	qsort(sorted, show->config_count, sizeof(*sorted), by_bound);
	wt_phrase_init(&line, out, terminal);
	for (size_t i = 0; i < show->config_count; i++) {
		if (!sorted[i]->advice[0] || is_told_before(sorted, i))
			continue;
		if (told == ADVICE_SHOWN) {
			more++;
			continue;
		}
		if (told++ == 0)
			fputc('\n', out);
		print_config_advice(&line, sorted[i], !is_one_device(show));
	}
	if (told && !sorted[0]->is_collective) {
		wt_phrase_add(&line, "%s%s", more ? "(more with --json) " : "",
		              memory_words(sorted[0]));
		wt_phrase_end(&line);
	}
	for (size_t i = 0; i < show->config_count; i++) {
		const char *lift = show->configs[i].lift;
		bool is_told = false;

		for (size_t j = 0; j < i; j++)
			is_told |= !strcmp(show->configs[j].lift, lift);
		if (!lift[0] || is_told)
			continue;
		wt_phrase_words(&line, 2, "occupancy: %s", lift);
		wt_phrase_end(&line);
	}
}

int wt_show_print(FILE *out, const struct wt_text_terminal *terminal, const struct wt_run_file *run,
                  const struct wt_show *show, const char *run_option)
{
	char lost[WT_TEXT_NUMBER_BYTES], all[WT_TEXT_NUMBER_BYTES];
	const struct wt_show_config **configs;
	struct wt_phrase line;
	int rc;

	print_head(out, terminal, run, show);
	rc = print_times(out, terminal, show);
	if (rc)
		return rc;
	print_bins(out, terminal, show);
	rc = print_configs(out, terminal, show);
	if (!rc)
		rc = wt_show_print_measured(out, terminal, show);
	configs = calloc(show->config_count, sizeof(*configs));
	if (!rc)
		rc = configs ? wt_show_print_curves(out, terminal, show, configs) : -ENOMEM;
	if (!rc)
		print_advice(out, terminal, show, configs);
	free(configs);
	if (rc)
		return rc;
	wt_phrase_init(&line, out, terminal);
	if (show->ncu) {
		fputc('\n', out);
		wt_phrase_command(&line, "next: wavetap show%s id:%" PRId64 " --ncu", run_option,
		                  show->total.kernel_id);
		wt_phrase_add(&line, "prints the ncu command for one launch");
		wt_phrase_end(&line);
	}
	wt_phrase_add(&line, "lost %s of %s kernels in the whole run",
	              wt_text_count(lost, wt_report_kernels_lost(&show->report.loss)),
	              wt_text_count(all, show->report.loss.kernels -
	                                         show->report.loss.kernels_no_time +
	                                         wt_report_kernels_lost(&show->report.loss)));
	wt_phrase_end(&line);
	wt_top_print_losses(out, terminal, &show->report);
	return 0;
}
