/*
 * show_measured.c - what was measured of the configurations of a kernel, beside the model, as text and
 * JSON. Single-threaded; blocks as the FILE does.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/phrase.h"
#include "cli/plot.h"
#include "cli/show_print.h"
#include "cli/table.h"

#define CONFIGS_SHOWN 8 /* --json has all */
#define NOTES_SHOWN 5
#define STRAGGLE_WORTH 0.03 /* of the SMs: less gets no words */

static const struct wt_table_column columns[] = {
        {"grid", "GRID", WT_TABLE_RIGHT, 0, 0, 0},
        {"evidence", "EVIDENCE", WT_TABLE_LEFT, 0, 0, 0},
        {"launches", "N", WT_TABLE_RIGHT, WT_TABLE_DROP(3), 0, 0},
        {"active", "ACTIVE", WT_TABLE_RIGHT, 0, 0, 0},
        {"error", "+-", WT_TABLE_RIGHT, 0, 0, 0},
        {"under", "UNDER", WT_TABLE_RIGHT, WT_TABLE_DROP(7), 0, 0},
        {"wave", "WAVE", WT_TABLE_RIGHT, WT_TABLE_DROP(4), 0, 0},
        {"wave_max", "WAVE<=", WT_TABLE_RIGHT, WT_TABLE_DROP(2), 0, 0},
        {"straggle", "STRAGGLE", WT_TABLE_RIGHT, WT_TABLE_DROP(5), 0, 0},
        {"ramp", "RAMP", WT_TABLE_RIGHT, WT_TABLE_DROP(1), 0, 0},
        {"bound", "BOUND BY", WT_TABLE_LEFT, WT_TABLE_DROP(6), 0, 0},
};

/* Two digits where SMs are few. */
static int digits_of(const struct wt_show_config *config)
{
	return config->sm_count < 10 ? 2 : 1;
}

static void add_rate(struct wt_table *table, const struct wt_show_config *config, double sms)
{
	wt_table_add_double(table, sms, digits_of(config), NULL); /* not a number: null */
}

static void add_measured(struct wt_table *table, const struct wt_show_config *config,
                         const struct wt_rates_row *row)
{
	char text[WT_TEXT_NUMBER_BYTES], evidence[sizeof(row->evidence) + 2];

	snprintf(evidence, sizeof(evidence), "%s%s", row->evidence, row->is_used ? " *" : "");
	wt_table_row(table, 0);
	wt_table_add_int(table, config->blocks, NULL);
	wt_table_add_string(table, row->evidence, evidence);
	wt_table_add_int(table, row->launches, wt_text_count(text, row->launches));
	add_rate(table, config, row->active_sms);
	add_rate(table, config, row->error_sms);
	add_rate(table, config, row->underfill_sms);
	add_rate(table, config, row->wave_sms);
	add_rate(table, config, row->wave_max_sms);
	add_rate(table, config, row->straggle_sms);
	add_rate(table, config, row->ramp_sms);
	wt_table_add_string(table, row->bound[0] ? row->bound : NULL, NULL);
}

static void add_model(struct wt_table *table, const struct wt_show_config *config, bool is_used)
{
	const struct wt_show_model *model = &config->model;

	wt_table_row(table, 0);
	wt_table_add_int(table, config->blocks, "");
	wt_table_add_string(table, "model", is_used ? "model *" : "model");
	wt_table_add_string(table, NULL, "");
	add_rate(table, config, model->is_judged ? model->active_sms : NAN);
	wt_table_add_string(table, NULL, "");
	add_rate(table, config, model->underfill_sms);
	add_rate(table, config, model->is_judged ? model->wave_sms : NAN);
	add_rate(table, config, model->is_judged ? model->wave_max_sms : NAN);
	wt_table_add_null(table);
	wt_table_add_null(table);
	wt_table_add_string(table, NULL, "");
}

/* ---- notes */

/* "6.0 +- 0.1" */
static const char *with_error(char text[WT_TEXT_NUMBER_BYTES], const struct wt_show_config *config,
                              double value, double error)
{
	snprintf(text, WT_TEXT_NUMBER_BYTES, "%.*f +- %.*f", digits_of(config), value,
	         digits_of(config), error);
	return text;
}

static bool do_measurements_differ(const struct wt_rates *measured)
{
	const struct wt_rates_row *a = &measured->at[0], *b = &measured->at[1];

	return measured->count == 2 &&
	       fabs(a->active_sms - b->active_sms) > a->error_sms + b->error_sms;
}

/* No promise for what waits for memory. */
static size_t print_straggle(struct wt_phrase *line, const struct wt_show_config *config)
{
	const struct wt_rates_row *used = wt_rates_used(&config->measured);
	double share =
	        used && config->sm_count > 0 ? used->straggle_sms / (double)config->sm_count : 0;
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES], win[160];

	if (!used || !(share >= STRAGGLE_WORTH))
		return 0;
	if (!strcmp(used->bound, "memory"))
		snprintf(win, sizeof(win), "idle SMs are not time lost while DRAM is saturated");
	else
		snprintf(win, sizeof(win),
		         "at most %s of it to win with smaller or evenly cut blocks, or blocks "
		         "that fetch their work",
		         wt_text_ns(b, (int64_t)(share * (double)config->row.time_ns)));
	wt_phrase_words(line, 2,
	                "grid %" PRId64 ": unequal blocks leave %.*f SMs idle, %s%% of the GPU "
	                "meanwhile: %s",
	                config->blocks, digits_of(config), used->straggle_sms,
	                wt_text_percent(a, share, 1), win);
	wt_phrase_end(line);
	return 1;
}

/* The class of a configuration whose measurement does not stand: what the model makes of it. */
static size_t print_class(struct wt_phrase *line, const struct wt_show_config *config,
                          const struct wt_rates_row *row)
{
	if (row->is_used || wt_rates_used(&config->measured) || !row->bound[0] ||
	    !isfinite(row->class_wave_sms))
		return 0;
	wt_phrase_words(line, 2,
	                "grid %" PRId64 ": too coarse to stand, but bound by %s: the model's wave "
	                "in that form, %.*f SMs (%s)",
	                config->blocks, row->bound, digits_of(config), row->class_wave_sms,
	                row->wave_form);
	wt_phrase_end(line);
	return 1;
}

/* Why something is missing, and what does not agree. */
static size_t print_notes(struct wt_phrase *line, const struct wt_show_config *config)
{
	const struct wt_rates *measured = &config->measured;
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];
	size_t notes = 0;

	for (size_t i = 0; i < measured->count; i++) {
		const struct wt_rates_row *row = &measured->at[i];

		if (row->reason[0]) {
			wt_phrase_words(line, 2, "grid %" PRId64 ", %s: %s", config->blocks,
			                row->evidence, row->reason);
			wt_phrase_end(line);
			notes++;
		}
		notes += print_class(line, config, row);
		if (row->joint_time_ns > 0 && isfinite(row->joint_active_sms)) {
			wt_phrase_words(
			        line, 2,
			        "grid %" PRId64 ": beside other kernels for %s, %s SMs of "
			        "the device active meanwhile",
			        config->blocks, wt_text_ns(a, row->joint_time_ns),
			        with_error(b, config, row->joint_active_sms, row->joint_error_sms));
			wt_phrase_end(line);
			notes++;
		}
	}
	notes += print_straggle(line, config);
	if (do_measurements_differ(measured)) {
		wt_phrase_words(line, 2,
		                "grid %" PRId64 ": %s and %s differ by %.*f SMs, beyond their "
		                "errors: launches under the profiler run alone, with the clock and "
		                "caches it leaves",
		                config->blocks, measured->at[0].evidence, measured->at[1].evidence,
		                digits_of(config),
		                fabs(measured->at[0].active_sms - measured->at[1].active_sms));
		wt_phrase_end(line);
		notes++;
	} else if (measured->count && measured->at[0].disagrees && config->model.is_judged) {
		wt_phrase_words(line, 2,
		                "grid %" PRId64 ": the model is beyond the error of the "
		                "measurement, which stands",
		                config->blocks);
		wt_phrase_end(line);
		notes++;
	}
	return notes;
}

/* ---- one configuration in full */

static const char *form_meaning(const char *form)
{
	static const struct {
		const char *form, *meaning;
	} known[] = {
	        {"independent", "blocks don't slow each other down"},
	        {"shared", "blocks share an SM's throughput"},
	        {"jitter", "blocks end at uneven times"},
	        {"grouped", "the blocks of an SM end together"},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(form, known[i].form))
			return known[i].meaning;
	return NULL;
}

static void print_pipes(struct wt_phrase *line, const struct wt_show_config *config,
                        const struct wt_rates_row *row)
{
	const struct wt_show_model *model = &config->model;
	char a[WT_TEXT_NUMBER_BYTES];

	wt_phrase_add(line, "grid %" PRId64 ", %s", config->blocks, row->evidence);
	if (isfinite(row->warps_per_sm) && model->max_warps > 0)
		wt_phrase_add(line, "%.1f of %.0f warps resident on an SM", row->warps_per_sm,
		              model->max_warps);
	if (isfinite(row->warps_per_sm) && model->occupancy_warps >= 0)
		wt_phrase_add(line, "(its limits allow %.0f)", model->occupancy_warps);
	if (isfinite(row->tensor_share))
		wt_phrase_add(line, "tensor pipe %s%%", wt_text_percent(a, row->tensor_share, 1));
	/* Bytes per ns are GB per s. */
	if (isfinite(row->dram_bytes_per_ns) && model->dram_peak_bytes_per_ns > 0)
		wt_phrase_add(
		        line, "DRAM %.0f GB/s, %s%% of its peak", row->dram_bytes_per_ns,
		        wt_text_percent(a, row->dram_bytes_per_ns, model->dram_peak_bytes_per_ns));
	else if (isfinite(row->dram_bytes_per_ns))
		wt_phrase_add(line, "DRAM %.0f GB/s", row->dram_bytes_per_ns);
	if (isfinite(row->issue_share))
		wt_phrase_add(line, "issue slots %s%%", wt_text_percent(a, row->issue_share, 1));
	if (isfinite(row->sm_clock_mhz))
		wt_phrase_add(line, "SM clock %.0f MHz", row->sm_clock_mhz);
	if (row->bound[0])
		wt_phrase_add(line, "bound by %s", row->bound);
	else if (row->bound_reason[0])
		wt_phrase_add(line, "what bounds it is not known: %s", row->bound_reason);
	if (form_meaning(row->wave_form))
		wt_phrase_add(line, "of the wave's forms: %s (%s)", row->wave_form,
		              form_meaning(row->wave_form));
	wt_phrase_end(line);
}

static int compare_double(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return a < b ? -1 : a > b;
}

/* "+- 0.1 to 2.3 SMs, median 0.4" */
static void say_errors(struct wt_phrase *line, const struct wt_show_config *config)
{
	const struct wt_rates *measured = &config->measured;
	double *sorted = calloc(measured->bin_count, sizeof(*sorted));

	if (!sorted)
		return;
	for (size_t i = 0; i < measured->bin_count; i++)
		sorted[i] = measured->bins[i].error_sms;
	qsort(sorted, measured->bin_count, sizeof(*sorted), compare_double);
	wt_phrase_add(line, "+- %.*f to %.*f SMs, median %.*f", digits_of(config), sorted[0],
	              digits_of(config), sorted[measured->bin_count - 1], digits_of(config),
	              sorted[measured->bin_count / 2]);
	free(sorted);
}

static const struct wt_rates_row *sampled_row(const struct wt_rates *measured)
{
	for (size_t i = 0; i < measured->count; i++)
		if (!strcmp(measured->at[i].evidence, "sampled"))
			return &measured->at[i];
	return NULL;
}

/* SMs active in the course of a launch; light: within the error. */
static int print_profile(FILE *out, const struct wt_text_terminal *terminal,
                         const struct wt_show_config *config)
{
	const struct wt_rates *measured = &config->measured;
	const struct wt_rates_row *row = sampled_row(measured);
	struct wt_plot_bar *bars = calloc(measured->bin_count + 1, sizeof(*bars));
	char top[24], middle[24], last[WT_TEXT_NUMBER_BYTES], width[WT_TEXT_NUMBER_BYTES];
	char count[WT_TEXT_NUMBER_BYTES];
	const struct wt_plot_axes axes = {top, middle, "0", last};
	int64_t mean_ns = config->row.time_ns / config->row.launches;
	double sms = config->sm_count > 0 ? (double)config->sm_count : 1;
	struct wt_phrase line;

	if (!bars)
		return -ENOMEM;
	if (row && row->launches > 0 && row->time_ns > 0)
		mean_ns = row->time_ns / row->launches;
	for (size_t i = 0; i < measured->bin_count; i++) {
		const struct wt_rates_bin *bin = &measured->bins[i];
		double error = bin->error_sms * 2 * WT_PLOT_ROWS > sms / 2 ? bin->error_sms : 0;

		bars[i].least = fmax(0, bin->active_sms) / sms;
		bars[i].greatest = fmin(1, (bin->active_sms + error) / sms);
	}
	snprintf(top, sizeof(top), "%.0f", sms);
	snprintf(middle, sizeof(middle), "%.0f", sms / 2);
	wt_text_ns(last, mean_ns);
	wt_phrase_init(&line, out, terminal);
	fputc('\n', out);
	wt_phrase_add(&line, "grid %" PRId64 ": SMs active in the course of the kernel",
	              config->blocks);
	if (row)
		wt_phrase_add(&line, "%s, %s launch%s", row->evidence,
		              wt_text_count(count, row->launches), row->launches == 1 ? "" : "es");
	wt_phrase_add(&line, "%zu bins of %s", measured->bin_count,
	              wt_text_ns(width, mean_ns / (int64_t)measured->bin_count));
	say_errors(&line, config);
	wt_phrase_end(&line);
	wt_plot_bars(out, terminal, &axes, bars, measured->bin_count);
	free(bars);
	return 0;
}

/* ---- the whole */

enum part { PART_RATES, PART_PROFILE };

/* The configuration with most time that has it: they are sorted by time. NULL: none. */
static const struct wt_show_config *first_with(const struct wt_show *show, enum part part)
{
	for (size_t i = 0; i < show->config_count; i++) {
		const struct wt_rates *measured = &show->configs[i].measured;

		if (part == PART_RATES ? measured->count > 0
		                       : measured->bin_count > 1) /* one is the mean */
			return &show->configs[i];
	}
	return NULL;
}

static int print_table(FILE *out, const struct wt_text_terminal *terminal,
                       const struct wt_show *show, int64_t sms)
{
	struct wt_table *table = wt_table_create(columns, sizeof(columns) / sizeof(columns[0]));
	size_t shown = 0;
	int rc;

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < show->config_count && shown < CONFIGS_SHOWN; i++) {
		const struct wt_show_config *config = &show->configs[i];

		if (!config->measured.count)
			continue;
		for (size_t j = 0; j < config->measured.count; j++)
			add_measured(table, config, &config->measured.at[j]);
		add_model(table, config, !wt_rates_used(&config->measured));
		shown++;
	}
	fputc('\n', out);
	wt_phrase_line(out, terminal,
	               "measured in the whole run: SMs of %" PRId64
	               ", mean over a launch (* stands)",
	               sms);
	rc = wt_table_print_text(table, out, terminal);
	wt_table_destroy(table);
	return rc;
}

int wt_show_print_measured(FILE *out, const struct wt_text_terminal *terminal,
                           const struct wt_show *show)
{
	const struct wt_show_config *rates = first_with(show, PART_RATES);
	const struct wt_show_config *profile = first_with(show, PART_PROFILE);
	struct wt_phrase line;
	size_t notes = 0;
	int rc = 0;

	wt_phrase_init(&line, out, terminal);
	if (rates) {
		rc = print_table(out, terminal, show, rates->sm_count);
		for (size_t i = 0; i < show->config_count && notes < NOTES_SHOWN; i++)
			notes += print_notes(&line, &show->configs[i]);
		if (wt_rates_used(&rates->measured) || rates->measured.at[0].bound[0])
			print_pipes(&line, rates, &rates->measured.at[0]);
		if (wt_rates_say_profiled(&line, &rates->measured.profiled))
			wt_phrase_end(&line);
	}
	if (!rc && profile)
		rc = print_profile(out, terminal, profile);
	return rc;
}

/* ---- for programs */

static void put_double(struct wt_json *json, const char *key, double value)
{
	wt_json_key(json, key);
	wt_json_double(json, value);
}

static void put_string(struct wt_json *json, const char *key, const char *text)
{
	wt_json_key(json, key);
	wt_json_string(json, text && *text ? text : NULL);
}

static void put_int(struct wt_json *json, const char *key, int64_t value)
{
	wt_json_key(json, key);
	wt_json_int(json, value);
}

static void put_row(struct wt_json *json, const struct wt_rates_row *row)
{
	wt_json_object_begin(json);
	put_string(json, "evidence", row->evidence);
	wt_json_key(json, "is_used");
	wt_json_bool(json, row->is_used);
	wt_json_key(json, "disagrees");
	wt_json_bool(json, row->disagrees);
	put_int(json, "launches", row->launches);
	put_int(json, "time_ns", row->time_ns);
	put_double(json, "active_sms", row->active_sms);
	put_double(json, "active_error_sms", row->error_sms);
	put_double(json, "underfill_sms", row->underfill_sms);
	put_double(json, "wave_sms", row->wave_sms);
	put_double(json, "wave_max_sms", row->wave_max_sms);
	put_double(json, "straggle_sms", row->straggle_sms);
	put_double(json, "ramp_sms", row->ramp_sms);
	put_double(json, "warps_per_sm", row->warps_per_sm);
	put_double(json, "tensor_share", row->tensor_share);
	put_double(json, "dram_bytes_per_ns", row->dram_bytes_per_ns);
	put_double(json, "issue_share", row->issue_share);
	put_double(json, "sm_clock_mhz", row->sm_clock_mhz);
	put_string(json, "bound", row->bound);
	put_string(json, "bound_reason", row->bound_reason);
	put_string(json, "wave_form", row->wave_form);
	put_double(json, "class_wave_sms", row->class_wave_sms);
	put_int(json, "joint_time_ns", row->joint_time_ns);
	put_double(json, "joint_active_sms", row->joint_active_sms);
	put_double(json, "joint_error_sms", row->joint_error_sms);
	put_string(json, "reason", row->reason);
	wt_json_object_end(json);
}

static void put_profile(struct wt_json *json, const struct wt_rates *measured)
{
	wt_json_key(json, "profile");
	if (!measured->bin_count) {
		wt_json_null(json);
		return;
	}
	wt_json_array_begin(json);
	for (size_t i = 0; i < measured->bin_count; i++) {
		wt_json_object_begin(json);
		put_double(json, "active_sms", measured->bins[i].active_sms);
		put_double(json, "error_sms", measured->bins[i].error_sms);
		wt_json_object_end(json);
	}
	wt_json_array_end(json);
}

void wt_show_put_measured(struct wt_json *json, const struct wt_show_config *config)
{
	const struct wt_show_model *model = &config->model;

	wt_json_key(json, "model");
	wt_json_object_begin(json);
	put_double(json, "active_sms", model->is_judged ? model->active_sms : NAN);
	put_double(json, "underfill_sms", model->underfill_sms);
	put_double(json, "wave_sms", model->is_judged ? model->wave_sms : NAN);
	put_double(json, "wave_max_sms", model->is_judged ? model->wave_max_sms : NAN);
	wt_json_object_end(json);
	wt_json_key(json, "measured");
	wt_json_array_begin(json);
	for (size_t i = 0; i < config->measured.count; i++)
		put_row(json, &config->measured.at[i]);
	wt_json_array_end(json);
	put_profile(json, &config->measured);
	wt_rates_put_profiled(json, &config->measured.profiled);
}
