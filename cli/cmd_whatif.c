/*
 * cmd_whatif.c - `wavetap whatif`: the recorded kernels on another number of SMs, without gaps, or
 * in full waves. Single-threaded; blocks on files.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/kernel_name.h"
#include "cli/ledger_lines.h"
#include "cli/phrase.h"
#include "cli/report_sql.h"
#include "cli/select.h"
#include "cli/table.h"
#include "cli/top_columns.h"
#include "cli/whatif.h"

#define DEFAULT_LIMIT 10

struct whatif_values {
	const char *run;
	int64_t sms, limit;
	bool is_full_waves, is_without_gaps, has_full_names, is_json, is_csv;
	struct wt_select_words select;
};

static const struct wt_option whatif_options[] = {
        {"sms", 0, WT_OPTION_NUMBER, "N", offsetof(struct whatif_values, sms), NULL,
         "a GPU of N SMs that is otherwise the same"},
        {"full-waves", 0, WT_OPTION_FLAG, NULL, offsetof(struct whatif_values, is_full_waves), NULL,
         "no underfill and no partial waves"},
        {"no-gaps", 0, WT_OPTION_FLAG, NULL, offsetof(struct whatif_values, is_without_gaps), NULL,
         "a kernel always runs; also with one of the others"},
        {"limit", 'n', WT_OPTION_NUMBER, "N", offsetof(struct whatif_values, limit), NULL,
         "kernels, 0 for all (default: 10; in JSON and CSV all)"},
        {"full-names", 0, WT_OPTION_FLAG, NULL, offsetof(struct whatif_values, has_full_names),
         NULL, "whole kernel names"},
        {"json", 0, WT_OPTION_FLAG, NULL, offsetof(struct whatif_values, is_json), NULL,
         "one JSON object; fields in doc/json.md"},
        {"csv", 0, WT_OPTION_FLAG, NULL, offsetof(struct whatif_values, is_csv), NULL,
         "rows as CSV"},
        WT_SELECT_DEVICE_OPTIONS(struct whatif_values, select),
        WT_SELECT_REFUSED_OPTION(struct whatif_values, select, kernel),
        WT_SELECT_ALL_OPTION(struct whatif_values, select),
        WT_RUN_OPTION(struct whatif_values, run),
        {0},
};

#define COLUMN_COUNT 9
#define COLUMN_UNMODELLED 5
static const struct wt_table_column columns[COLUMN_COUNT] = {
        {"kernel_id", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"launches", "N", WT_TABLE_RIGHT, WT_TABLE_DROP(2), 0, 0},
        {"time_ns", "NOW", WT_TABLE_RIGHT, 0, 6, 0},
        {"then_least_ns", "THEN", WT_TABLE_RIGHT, 0, 6, 0},
        {"then_greatest_ns", "TO", WT_TABLE_RIGHT, 0, 6, 0},
        {"unmodelled_ns", "UNCHANGED", WT_TABLE_RIGHT, WT_TABLE_DROP(1), 0, 0},
        {"gap_before_ns", "GAPS", WT_TABLE_RIGHT, WT_TABLE_DROP(3), 6, 0},
        {"copy_gap_before_ns", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"kernel", "KERNEL", WT_TABLE_LEFT, WT_TABLE_FLEXIBLE, 16, 0},
};

/* ---- what it is about */

/* "264 SMs, without gaps" */
static void describe(const struct wt_whatif_query *query, char *text, size_t text_bytes)
{
	char sms[48] = "";

	if (query->sms)
		snprintf(sms, sizeof(sms), "%" PRId64 " SM%s", query->sms,
		         query->sms == 1 ? "" : "s");
	snprintf(text, text_bytes, "%s%s%s%s", sms, query->is_full_waves ? "full waves" : "",
	         query->is_without_gaps && (query->sms || query->is_full_waves) ? ", " : "",
	         query->is_without_gaps ? "no gaps" : "");
}

/* What the replay can't know, as clauses; NULL ends them. */
static size_t unknowns(const struct wt_whatif_query *query, const char *texts[8])
{
	size_t n = 0;

	if (query->sms)
		texts[n++] = "memory, L2 and clocks stay as they are: kernels that they bound do "
		             "not follow the SMs";
	if (query->is_full_waves)
		texts[n++] = "whether the work can be cut so, and for kernels bound by memory "
		             "whether idle SMs cost anything: at most this can be won";
	if (query->is_without_gaps)
		texts[n++] = "whether the host can launch in time: at most this can be won; the "
		             "greatest keeps gaps in which copies ran";
	else
		texts[n++] = "whether the host waits for the GPU: the range has both cases";
	if (query->sms || query->is_full_waves)
		texts[n++] = "blocks of unequal length";
	texts[n++] = "each device is replayed on its own";
	texts[n] = NULL;
	return n;
}

/* ---- rows */

/* Names as people see them; NULL: out of memory. */
static char **name_rows(const struct wt_whatif_run *run, bool has_full_names)
{
	const char **names = calloc(run->row_count + 1, sizeof(*names));
	char **shown = NULL;

	for (size_t i = 0; names && i < run->row_count; i++)
		names[i] = run->rows[i].kernel ? run->rows[i].kernel->name : "";
	if (names && !has_full_names)
		(void)wt_kernel_name_shorten_all(names, run->row_count, &shown);
	else if (names)
		shown = calloc(run->row_count + 1, sizeof(*shown));
	for (size_t i = 0; shown && has_full_names && i < run->row_count; i++)
		shown[i] = wt_kernel_name_demangle(names[i]);
	free(names);
	return shown;
}

static void add_time(struct wt_table *table, const struct wt_top_unit *unit, int64_t ns)
{
	char text[WT_TEXT_NUMBER_BYTES];

	wt_table_add_int(table, ns, wt_top_format(text, unit, (double)ns));
}

static void add_row(struct wt_table *table, const struct wt_whatif_row *row, const char *shown,
                    const struct wt_top_unit *unit)
{
	char *full = row->kernel ? wt_kernel_name_demangle(row->kernel->name) : NULL;
	char count[WT_TEXT_NUMBER_BYTES];

	wt_table_row(table, 0);
	if (row->kernel)
		wt_table_add_int(table, row->kernel->kernel_id, NULL);
	else
		wt_table_add_null(table);
	wt_table_add_int(table, row->launches, wt_text_count(count, row->launches));
	add_time(table, unit, row->share.time_ns);
	add_time(table, unit, row->share.then.least_ns);
	add_time(table, unit, row->share.then.greatest_ns);
	add_time(table, unit, row->share.unmodelled_ns);
	add_time(table, unit, row->gap_ns);
	wt_table_add_int(table, row->copy_gap_ns, NULL);
	wt_table_add_string(table, full, row->kernel ? shown : "(none: after the last one)");
	free(full);
}

/* What the rows that are not shown sum to, for people. */
static void add_rest(struct wt_table *table, const struct wt_whatif_run *run, size_t first,
                     const struct wt_top_unit *unit)
{
	struct wt_whatif_row sum = {0};
	char count[WT_TEXT_NUMBER_BYTES], text[WT_TEXT_NUMBER_BYTES + 32];

	for (size_t i = first; i < run->row_count; i++) {
		const struct wt_whatif_row *row = &run->rows[i];

		sum.launches = wt_whatif_sum(sum.launches, row->launches);
		sum.share.time_ns = wt_whatif_sum(sum.share.time_ns, row->share.time_ns);
		sum.share.then.least_ns =
		        wt_whatif_sum(sum.share.then.least_ns, row->share.then.least_ns);
		sum.share.then.greatest_ns =
		        wt_whatif_sum(sum.share.then.greatest_ns, row->share.then.greatest_ns);
		sum.share.unmodelled_ns =
		        wt_whatif_sum(sum.share.unmodelled_ns, row->share.unmodelled_ns);
		sum.gap_ns = wt_whatif_sum(sum.gap_ns, row->gap_ns);
	}
	snprintf(text, sizeof(text), "%zu more (--limit 0)", run->row_count - first);
	wt_table_row(table, WT_TABLE_ROW_TEXT_ONLY);
	wt_table_add_null(table);
	wt_table_add_string(table, NULL, wt_text_count(count, sum.launches));
	add_time(table, unit, sum.share.time_ns);
	add_time(table, unit, sum.share.then.least_ns);
	add_time(table, unit, sum.share.then.greatest_ns);
	add_time(table, unit, sum.share.unmodelled_ns);
	add_time(table, unit, sum.gap_ns);
	wt_table_add_null(table);
	wt_table_add_string(table, NULL, text);
}

/* Is anything scaled, so that it matters what isn't? */
static bool has_models(const struct whatif_values *values)
{
	return values->sms > 0 || values->is_full_waves;
}

/* `shown_columns` has COLUMN_COUNT and outlives the table. */
static struct wt_table *make_table(const struct whatif_values *values,
                                   const struct wt_whatif_run *run, const struct wt_top_unit *unit,
                                   struct wt_table_column *shown_columns)
{
	bool is_text = !values->is_json && !values->is_csv;
	char **shown = name_rows(run, values->has_full_names);
	size_t limit = values->limit > 0              ? (size_t)values->limit
	               : values->limit < 0 && is_text ? DEFAULT_LIMIT
	                                              : SIZE_MAX;
	struct wt_table *table;

	memcpy(shown_columns, columns, sizeof(columns));
	if (!has_models(values))
		shown_columns[COLUMN_UNMODELLED].flags |= WT_TABLE_NO_TEXT;
	table = wt_table_create(shown_columns, COLUMN_COUNT);
	for (size_t i = 0; table && shown && i < run->row_count && i < limit; i++)
		add_row(table, &run->rows[i], shown[i], unit);
	if (table && shown && run->row_count > limit)
		add_rest(table, run, limit, unit);
	if (!shown) {
		wt_table_destroy(table);
		table = NULL;
	}
	wt_kernel_name_free_all(shown, run->row_count);
	return table;
}

/* ---- text */

/* How many times as fast: 1.04x; less than 1: slower. */
static const char *ratio(char *text, int64_t now_ns, int64_t then_ns)
{
	if (then_ns > 0)
		snprintf(text, WT_TEXT_NUMBER_BYTES, "%.2fx", (double)now_ns / (double)then_ns);
	else
		snprintf(text, WT_TEXT_NUMBER_BYTES, ".");
	return text;
}

static void print_device(struct wt_phrase *line, const struct wt_whatif_run *run, size_t at,
                         const struct wt_select_steps *steps, bool is_scaled)
{
	const struct wt_whatif_device *device = &run->devices[at];
	const struct wt_whatif_result *result = &device->result;
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];

	if (run->device_count > 1)
		wt_phrase_add(line, "device %" PRId64 " %.64s", device->device->device_id,
		              device->device->name);
	wt_phrase_add(line, "now %s", wt_text_ns(a, result->now_ns));
	wt_phrase_add(line, "then %s to %s", wt_text_ns(a, device->then.least_ns),
	              wt_text_ns(b, device->then.greatest_ns));
	ratio(a, result->now_ns, device->then.greatest_ns);
	ratio(b, result->now_ns, device->then.least_ns);
	wt_phrase_add(line, "%s%s%s as fast", a, strcmp(a, b) ? " to " : "", strcmp(a, b) ? b : "");
	if (steps && steps->is_found) {
		int64_t count = steps->last_step - steps->first_step + 1;

		wt_phrase_add(line, "a step %s to %s", wt_text_ns(a, device->then.least_ns / count),
		              wt_text_ns(b, device->then.greatest_ns / count));
	}
	wt_phrase_end(line);
	wt_phrase_add(line, "  a kernel ran %s%% of it",
	              wt_text_percent(a, (double)result->busy_ns, (double)result->now_ns));
	if (is_scaled)
		wt_phrase_add(
		        line, "%s%% of that unchanged: no model fits, or kernels share SMs",
		        wt_text_percent(a, (double)result->unmodelled_ns, (double)result->busy_ns));
	if (device->kernels_refused)
		wt_phrase_add(line, "%s kernels with impossible times left out",
		              wt_text_count(a, device->kernels_refused));
	wt_phrase_end(line);
}

static int print_text(const struct whatif_values *values, const struct wt_ledger_view *view,
                      const struct wt_whatif_query *query, const struct wt_whatif_run *run)
{
	struct wt_top_unit unit =
	        wt_top_choose_unit((double)(view->ledger.end_ns - view->ledger.start_ns));
	struct wt_table_column shown_columns[COLUMN_COUNT];
	struct wt_table *table = make_table(values, run, &unit, shown_columns);
	struct wt_text_terminal terminal;
	const char *texts[8];
	struct wt_phrase line;
	char what[64];
	int rc;

	if (!table)
		return wt_cli_output_result(-ENOMEM);
	wt_text_terminal_probe(STDOUT_FILENO, &terminal);
	wt_ledger_print_run(stdout, &terminal, &view->run, &view->ledger);
	wt_phrase_init(&line, stdout, &terminal);
	describe(query, what, sizeof(what));
	wt_phrase_add(&line, "what if: %s", what);
	wt_phrase_end(&line);
	for (size_t i = 0; i < run->device_count; i++)
		print_device(&line, run, i, view->ledger.steps, has_models(values));
	wt_phrase_add(&line, "NOW..GAPS: %s over the window", unit.name);
	wt_phrase_add(&line, "GAPS before its launches%s",
	              query->is_without_gaps ? ", which go" : ", which are not in NOW");
	wt_phrase_end(&line);
	rc = wt_table_print_text(table, stdout, &terminal);
	wt_table_destroy(table);
	unknowns(query, texts);
	for (size_t i = 0; !rc && texts[i]; i++) {
		wt_phrase_words(&line, 2, "%s%s", i ? "  " : "not known: ", texts[i]);
		wt_phrase_end(&line);
	}
	if (!rc)
		wt_ledger_print_losses(stdout, &terminal, &view->ledger, &view->losses);
	return wt_cli_output_result(rc);
}

/* ---- JSON */

static void put_int(struct wt_json *json, const char *key, int64_t value)
{
	wt_json_key(json, key);
	wt_json_int(json, value);
}

static void put_device(struct wt_json *json, const struct wt_whatif_device *device)
{
	const struct wt_whatif_result *result = &device->result;

	wt_json_object_begin(json);
	put_int(json, "device_id", device->device->device_id);
	wt_json_key(json, "name");
	wt_json_string(json, device->device->name);
	put_int(json, "sms", device->device->sms);
	put_int(json, "now_ns", result->now_ns);
	put_int(json, "then_least_ns", device->then.least_ns);
	put_int(json, "then_greatest_ns", device->then.greatest_ns);
	put_int(json, "busy_ns", result->busy_ns);
	put_int(json, "unmodelled_ns", result->unmodelled_ns);
	put_int(json, "gap_ns", result->gap_ns);
	put_int(json, "copy_gap_ns", result->copy_gap_ns);
	put_int(json, "kernels_refused", device->kernels_refused);
	wt_json_key(json, "evidence");
	wt_json_string(json, device->has_measured ? "mixed" : "model");
	wt_json_object_end(json);
}

static int print_json(const struct whatif_values *values, const struct wt_ledger_view *view,
                      const struct wt_whatif_query *query, const struct wt_whatif_run *run)
{
	struct wt_top_unit unit = {"ns", 1};
	struct wt_table_column shown_columns[COLUMN_COUNT];
	struct wt_table *table = make_table(values, run, &unit, shown_columns);
	const char *texts[8];
	struct wt_json json;

	if (!table)
		return wt_cli_output_result(-ENOMEM);
	wt_json_init(&json, stdout, true);
	wt_json_object_begin(&json);
	wt_ledger_json_head(&json, &view->run, &view->ledger, &view->losses);
	wt_json_key(&json, "what");
	wt_json_object_begin(&json);
	wt_json_key(&json, "sms");
	if (query->sms)
		wt_json_int(&json, query->sms);
	else
		wt_json_null(&json);
	wt_json_key(&json, "full_waves");
	wt_json_bool(&json, query->is_full_waves);
	wt_json_key(&json, "no_gaps");
	wt_json_bool(&json, query->is_without_gaps);
	wt_json_object_end(&json);
	wt_json_key(&json, "devices");
	wt_json_array_begin(&json);
	for (size_t i = 0; i < run->device_count; i++)
		put_device(&json, &run->devices[i]);
	wt_json_array_end(&json);
	wt_json_key(&json, "rows");
	(void)wt_table_print_json(table, &json);
	wt_json_key(&json, "not_known");
	wt_json_array_begin(&json);
	unknowns(query, texts);
	for (size_t i = 0; texts[i]; i++)
		wt_json_string(&json, texts[i]);
	wt_json_array_end(&json);
	wt_json_object_end(&json);
	wt_table_destroy(table);
	return wt_cli_output_result(wt_json_finish(&json));
}

static int print_csv(const struct whatif_values *values, const struct wt_whatif_run *run)
{
	struct wt_top_unit unit = {"ns", 1};
	struct wt_table_column shown_columns[COLUMN_COUNT];
	struct wt_table *table = make_table(values, run, &unit, shown_columns);
	int rc = table ? wt_table_print_csv(table, stdout) : -ENOMEM;

	wt_table_destroy(table);
	return wt_cli_output_result(rc);
}

/* ---- the command */

static int whatif(const struct whatif_values *values, const struct wt_ledger_view *view,
                  const struct wt_whatif_query *query)
{
	struct wt_whatif_run run;
	int rc = wt_whatif_run_load(view->run.db, &view->ledger, query, &run);
	int code = WT_EXIT_FAILED;

	if (rc)
		wt_cli_error("%s: %s", view->run.info.path,
		             rc == -EIO ? wt_report_problem(view->run.db) : strerror(-rc));
	else if (values->is_json)
		code = print_json(values, view, query, &run);
	else if (values->is_csv)
		code = print_csv(values, &run);
	else
		code = print_text(values, view, query, &run);
	wt_whatif_run_fini(&run);
	return code;
}

static int check_values(const struct whatif_values *values)
{
	if (values->is_json && values->is_csv)
		return wt_cli_usage_error("whatif", "--json and --csv exclude each other");
	if (values->sms < 0 && !values->is_full_waves && !values->is_without_gaps)
		return wt_cli_usage_error("whatif", "what if what? --sms, --full-waves or "
		                                    "--no-gaps is missing");
	if (values->sms >= 0 && values->is_full_waves)
		return wt_cli_usage_error("whatif", "--sms and --full-waves exclude each other: "
		                                    "in full waves time goes as 1 / SMs");
	if (values->sms == 0 || values->sms > WT_WHATIF_SMS_MAX)
		return wt_cli_usage_error("whatif", "--sms: from 1 to %d", WT_WHATIF_SMS_MAX);
	return WT_EXIT_FINE;
}

static int run_whatif(void *opaque, int operand_count, char **operands)
{
	const struct whatif_values *values = opaque;
	const struct wt_whatif_query query = {.sms = values->sms > 0 ? values->sms : 0,
	                                      .is_full_waves = values->is_full_waves,
	                                      .is_without_gaps = values->is_without_gaps};
	struct wt_ledger_view view = {0};
	struct wt_select select;
	int code = check_values(values);

	(void)operand_count;
	(void)operands;
	if (code)
		return code;
	code = wt_select_parse("whatif", &values->select, &select);
	wt_select_prefer_steady(&select);
	if (!code && values->select.kernel) {
		wt_cli_error("--kernel: all kernels of a device are replayed together; --limit 0 "
		             "shows each");
		code = WT_EXIT_NO_DATA;
	}
	if (!code)
		code = wt_ledger_open(values->run, &select, &view);
	if (!code)
		code = whatif(values, &view, &query);
	wt_ledger_close(&view);
	wt_select_fini(&select);
	return code;
}

const struct wt_command wt_cmd_whatif = {
        .name = "whatif",
        .summary = "recorded kernels on other SMs, without gaps, or in full waves",
        .details = "Bounds on how long the recorded kernels would have taken, not a "
                   "prediction. What no model fits stays as it was.",
        .example = "wavetap whatif --full-waves --no-gaps",
        .theme = WT_THEME_PLAN,
        .options = whatif_options,
        .values_bytes = sizeof(struct whatif_values),
        .run = run_whatif,
};
