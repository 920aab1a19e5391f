/*
 * cmd_sweep.c - `wavetap sweep`: runs by parameter, and which of them no other one beats. Single-threaded;
 * blocks on files, and on the programs that --run runs.
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/json_run.h"
#include "cli/out_file.h"
#include "cli/phrase.h"
#include "cli/plot.h"
#include "cli/report_sql.h"
#include "cli/summary_cells.h"
#include "cli/sweep.h"

struct sweep_values {
	const char *run, *name, *per, *html;
	bool is_forced, is_json, is_csv;
};

static const struct wt_option sweep_options[] = {
        {"run", 0, WT_OPTION_TEXT, "COMMAND", offsetof(struct sweep_values, run), NULL,
         "run it once for each combination of KEY=VALUE,..., {KEY} replaced (by sh)"},
        {"name", 'n', WT_OPTION_TEXT, "NAME", offsetof(struct sweep_values, name), NULL,
         "with --run: name of the runs"},
        {"per", 0, WT_OPTION_TEXT, "KEY", offsetof(struct sweep_values, per), NULL,
         "time is that of a step by the value of KEY, as of an item of a batch"},
        {"html", 0, WT_OPTION_TEXT, "FILE", offsetof(struct sweep_values, html), NULL,
         "also write the plot as a page"},
        {"force", 0, WT_OPTION_FLAG, NULL, offsetof(struct sweep_values, is_forced), NULL,
         "replace an existing FILE"},
        {"json", 0, WT_OPTION_FLAG, NULL, offsetof(struct sweep_values, is_json), NULL,
         "one JSON object; fields in doc/json.md"},
        {"csv", 0, WT_OPTION_FLAG, NULL, offsetof(struct sweep_values, is_csv), NULL,
         "rows as CSV"},
        {0},
};

/* ---- runs */

static int take(void *arg, const char *spec)
{
	struct wt_run_sweep *sweep = arg;
	struct wt_sweep_point *point =
	        wt_report_append(&sweep->points, &sweep->count, sizeof(*point));
	int code;

	if (!point) {
		wt_cli_error("out of memory");
		return WT_EXIT_FAILED;
	}
	code = wt_run_summary_load(spec, &point->run);
	if (code) {
		wt_run_summary_fini(&point->run);
		sweep->count--;
	}
	return code;
}

#define PER_LEAST 1e-6
#define PER_MOST 1e15

static bool is_number(const char *text, double *ret_value)
{
	char *end;

	*ret_value = text ? strtod(text, &end) : 0;
	/* As people write numbers: nothing like inf, nan or 0x10. */
	return text && end != text && !*end && !text[strspn(text, "0123456789.eE+-")] &&
	       isfinite(*ret_value);
}

/* Tags that not all have with the same value; if all do, all of the first one's. */
static void find_keys(struct wt_run_sweep *sweep)
{
	const struct wt_run_summary *first = &sweep->points[0].run;

	for (int pass = 0; pass < 2 && !sweep->key_count; pass++) {
		for (size_t k = 0; k < first->tag_count; k++) {
			bool differs = pass > 0;

			for (size_t i = 1; i < sweep->count && !differs; i++) {
				const char *value = wt_run_summary_tag(&sweep->points[i].run,
				                                       first->tags[k].key);

				differs = !value || strcmp(value, first->tags[k].value) != 0;
			}
			if (differs)
				sweep->keys[sweep->key_count++] = first->tags[k].key;
		}
	}
}

/* Numbers by value, and before words. */
static int compare_values(const char *a, const char *b)
{
	double x, y;
	bool is_x = is_number(a, &x), is_y = is_number(b, &y);

	if (is_x && is_y && x != y)
		return x < y ? -1 : 1;
	if (is_x != is_y)
		return is_x ? -1 : 1;
	return !a || !b ? (a != NULL) - (b != NULL) : strcmp(a, b);
}

static int by_parameters(const void *left, const void *right, void *arg)
{
	const struct wt_sweep_point *a = left, *b = right;
	const struct wt_run_sweep *sweep = arg;

	for (size_t k = 0; k < sweep->key_count; k++) {
		int order = compare_values(wt_run_summary_tag(&a->run, sweep->keys[k]),
		                           wt_run_summary_tag(&b->run, sweep->keys[k]));

		if (order)
			return order;
	}
	return a->run.info.created_ns < b->run.info.created_ns   ? -1
	       : a->run.info.created_ns > b->run.info.created_ns ? 1
	                                                         : 0;
}

static char *label_of(const struct wt_run_sweep *sweep, const struct wt_run_summary *run)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return NULL;
	for (size_t k = 0; k < sweep->key_count; k++) {
		const char *value = wt_run_summary_tag(run, sweep->keys[k]);

		fprintf(out, "%s%s=%s", k ? " " : "", sweep->keys[k], value ? value : "?");
	}
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

/* Of `per` all must have a number above 0. */
static int measure(struct wt_run_sweep *sweep)
{
	for (size_t i = 0; i < sweep->count; i++) {
		struct wt_sweep_point *point = &sweep->points[i];
		double items = 1;

		point->label = label_of(sweep, &point->run);
		if (!point->label) {
			wt_cli_error("out of memory");
			return WT_EXIT_FAILED;
		}
		if (sweep->per &&
		    (!is_number(wt_run_summary_tag(&point->run, sweep->per), &items) ||
		     items < PER_LEAST || items > PER_MOST)) {
			wt_cli_error(
			        "--per %s: run %s has no such tag with a number from 1e-6 to 1e15",
			        sweep->per, point->run.info.id);
			return WT_EXIT_NO_DATA;
		}
		point->per_ns = point->run.step_ns < 0 ? -1 : (double)point->run.step_ns / items;
		point->idle_share = wt_summary_idle_share(&point->run);
	}
	return WT_EXIT_FINE;
}

void wt_sweep_find_front(struct wt_run_sweep *sweep)
{
	for (size_t i = 0; i < sweep->count; i++) {
		struct wt_sweep_point *point = &sweep->points[i];

		point->is_on_front = point->per_ns >= 0 && point->idle_share >= 0;
		for (size_t k = 0; k < sweep->count && point->is_on_front; k++) {
			const struct wt_sweep_point *other = &sweep->points[k];

			if (other->per_ns < 0 || other->idle_share < 0)
				continue;
			if (other->per_ns <= point->per_ns &&
			    other->idle_share <= point->idle_share &&
			    (other->per_ns < point->per_ns ||
			     other->idle_share < point->idle_share))
				point->is_on_front = false;
		}
	}
}

/* ---- output */

static const struct wt_table_column columns[] = {
        {"parameters", "PARAMETERS", WT_TABLE_LEFT, WT_TABLE_FLEXIBLE, 10, 0},
        {"is_on_front", "BEST", WT_TABLE_LEFT, 0, 0, 0},
        {"per_ns", "PER", WT_TABLE_RIGHT, 0, 0, 0},
        WT_SUMMARY_COLUMNS,
        {"id", "RUN", WT_TABLE_LEFT, WT_TABLE_DROP(1), 0, 0},
        {"name", "", WT_TABLE_LEFT, WT_TABLE_NO_TEXT, 0, 0},
        {"file", "", WT_TABLE_LEFT, WT_TABLE_NO_TEXT, 0, 0},
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))
#define PER_COLUMN 2

static void add_point(struct wt_table *table, const struct wt_sweep_point *point)
{
	char text[WT_TEXT_NUMBER_BYTES];

	wt_table_row(table, 0);
	wt_table_add_string(table, point->label, NULL);
	if (point->per_ns < 0 || point->idle_share < 0)
		wt_table_add_null(table);
	else
		wt_table_add_int(table, point->is_on_front, point->is_on_front ? "*" : "");
	if (point->per_ns < 0)
		wt_table_add_null(table);
	else
		wt_table_add_double(table, point->per_ns, 1,
		                    wt_text_ns(text, (int64_t)point->per_ns));
	wt_summary_add(table, &point->run);
	wt_table_add_string(table, point->run.info.id, NULL);
	wt_table_add_string(table, point->run.info.name[0] ? point->run.info.name : NULL, NULL);
	wt_table_add_string(table, point->run.info.path, NULL);
}

/* A bar for each run; `get` < 0: not known. */
static void print_bars(const struct wt_run_sweep *sweep, const struct wt_text_terminal *terminal,
                       const char *what, double (*get)(const struct wt_sweep_point *point),
                       bool is_time)
{
	int width = 0;
	double most = 0;

	for (size_t i = 0; i < sweep->count; i++) {
		int columns_wide = (int)wt_text_width(sweep->points[i].label);

		width = columns_wide > width ? columns_wide : width;
		most = get(&sweep->points[i]) > most ? get(&sweep->points[i]) : most;
	}
	if (width > 30)
		width = 30;
	if (most <= 0)
		return;
	fprintf(stdout, "%s\n", what);
	for (size_t i = 0; i < sweep->count; i++) {
		const struct wt_sweep_point *point = &sweep->points[i];
		double value = get(point);
		char number[WT_TEXT_NUMBER_BYTES] = ".";
		char *safe = wt_text_escape(point->label, terminal->is_utf8);
		char *label = safe ? wt_text_fit(safe, (size_t)width, terminal->is_utf8) : NULL;

		if (value >= 0 && is_time)
			wt_text_ns(number, (int64_t)value);
		else if (value >= 0)
			wt_text_percent(number, value, 1);
		fprintf(stdout, "  %s%*s %8s", label ? label : "",
		        width - (int)wt_text_width(label ? label : ""), "", number);
		wt_plot_bar(stdout, terminal, width + 11, (int64_t)(1e6 * value / most), 1000000);
		fputs(point->is_on_front ? " *\n" : "\n", stdout);
		free(label);
		free(safe);
	}
}

static double time_of(const struct wt_sweep_point *point)
{
	return point->per_ns;
}

static double idle_of(const struct wt_sweep_point *point)
{
	return point->idle_share;
}

static int print_text(const struct wt_run_sweep *sweep, struct wt_table *table)
{
	struct wt_text_terminal terminal, narrower;
	struct wt_phrase line;
	char a[WT_TEXT_NUMBER_BYTES];
	int rc;

	wt_text_terminal_probe(STDOUT_FILENO, &terminal);
	narrower = terminal;
	if (narrower.width_columns > 4)
		narrower.width_columns -= 2; /* for the mark */
	wt_phrase_init(&line, stdout, &terminal);
	wt_phrase_add(&line, "%s runs", wt_text_count(a, (int64_t)sweep->count));
	if (sweep->per)
		wt_phrase_add(&line, "PER: step by %s", sweep->per);
	wt_phrase_add(&line, "*: no other takes less time and leaves less idle");
	wt_phrase_end(&line);
	rc = wt_table_print_text(table, stdout, &terminal);
	if (rc)
		return rc;
	print_bars(sweep, &narrower, sweep->per ? "time per item" : "step time", time_of, true);
	print_bars(sweep, &narrower, "idle %", idle_of, false);
	return 0;
}

static int print_json(const struct wt_run_sweep *sweep, struct wt_table *table)
{
	struct wt_json json;

	wt_json_init(&json, stdout, true);
	wt_json_object_begin(&json);
	wt_json_key(&json, "schema");
	wt_json_int(&json, WT_JSON_SCHEMA);
	wt_json_key(&json, "keys");
	wt_json_array_begin(&json);
	for (size_t k = 0; k < sweep->key_count; k++)
		wt_json_string(&json, sweep->keys[k]);
	wt_json_array_end(&json);
	wt_json_key(&json, "per");
	wt_json_string(&json, sweep->per);
	wt_json_key(&json, "runs_failed");
	wt_json_int(&json, (int64_t)sweep->failed);
	wt_json_key(&json, "rows");
	(void)wt_table_print_json(table, &json);
	wt_json_object_end(&json);
	return wt_json_finish(&json);
}

static int print(const struct sweep_values *values, const struct wt_run_sweep *sweep)
{
	struct wt_table_column shown[COLUMNS];
	struct wt_table *table;
	int rc;

	memcpy(shown, columns, sizeof(shown));
	if (!sweep->per)
		shown[PER_COLUMN].flags |= WT_TABLE_NO_TEXT;
	table = wt_table_create(shown, COLUMNS);
	rc = table ? 0 : -ENOMEM;
	for (size_t i = 0; i < sweep->count && !rc; i++)
		add_point(table, &sweep->points[i]);
	if (!rc)
		rc = values->is_json  ? print_json(sweep, table)
		     : values->is_csv ? wt_table_print_csv(table, stdout)
		                      : print_text(sweep, table);
	wt_table_destroy(table);
	return wt_cli_output_result(rc);
}

static int write_html(const struct sweep_values *values, const struct wt_run_sweep *sweep)
{
	struct wt_out_file file;
	FILE *out = NULL;
	int rc = wt_out_file_begin(&file, values->html, values->is_forced);

	if (rc) {
		wt_cli_error("%s%s%s", values->html, rc == -EEXIST ? "" : ": ",
		             rc == -EEXIST ? " exists already (--force replaces it)"
		                           : strerror(-rc));
		return WT_EXIT_FAILED;
	}
	out = fopen(file.temporary, "we");
	rc = out ? wt_sweep_write_html(out, sweep) : -errno;
	if (out && fclose(out) && !rc)
		rc = -errno;
	if (rc)
		wt_out_file_abort(&file);
	else
		rc = wt_out_file_commit(&file);
	if (rc)
		wt_cli_error("%s: %s", values->html, strerror(-rc));
	return rc ? WT_EXIT_FAILED : WT_EXIT_FINE;
}

/* ---- the whole */

static int gather(const struct sweep_values *values, struct wt_run_sweep *sweep, char **operands,
                  size_t count)
{
	if (values->run)
		return wt_sweep_run(values->run, values->name, operands, count, take, sweep,
		                    &sweep->failed);
	if (!count)
		return wt_cli_usage_error("sweep", "which runs?");
	if (values->name)
		return wt_cli_usage_error("sweep", "--name is of --run");
	for (size_t i = 0; i < count; i++)
		sweep->failed += take(sweep, operands[i]) != 0;
	return WT_EXIT_FINE;
}

static int show(const struct sweep_values *values, struct wt_run_sweep *sweep)
{
	int code;

	if (!sweep->count) {
		wt_cli_error("there is no run to show");
		return WT_EXIT_NO_DATA;
	}
	find_keys(sweep);
	if (!sweep->key_count)
		wt_cli_error("no run has a tag: which parameter they had is not known (run --tag "
		             "batch=8)");
	qsort_r(sweep->points, sweep->count, sizeof(*sweep->points), by_parameters, sweep);
	code = measure(sweep);
	if (code)
		return code;
	wt_sweep_find_front(sweep);
	code = print(values, sweep);
	if (!code && values->html)
		code = write_html(values, sweep);
	return code || !sweep->failed ? code : WT_EXIT_FAILED;
}

static int run_sweep(void *opaque, int operand_count, char **operands)
{
	const struct sweep_values *values = opaque;
	struct wt_run_sweep sweep = {.per = values->per};
	int code;

	if (values->is_json && values->is_csv)
		return wt_cli_usage_error("sweep", "--json and --csv exclude each other");
	code = gather(values, &sweep, operands, (size_t)operand_count);
	if (!code)
		code = show(values, &sweep);
	for (size_t i = 0; i < sweep.count; i++) {
		wt_run_summary_fini(&sweep.points[i].run);
		free(sweep.points[i].label);
	}
	free(sweep.points);
	return code;
}

const struct wt_command wt_cmd_sweep = {
        .name = "sweep",
        .operands = "[RUN|KEY=VALUE,...]...",
        .summary = "runs by parameter: step, idle by cause, and which no other beats",
        .details =
                "Parameters are the tags in which the runs differ (run --tag batch=8). BEST marks "
                "runs that no other one beats in both time and idle SM-time.",
        .example = "wavetap sweep --run './train.py {batch}' batch=8,16 --per batch",
        .theme = WT_THEME_PLAN,
        .options = sweep_options,
        .operand_count_max = -1,
        .flags = WT_COMMAND_KEEPS_SIGPIPE,
        .values_bytes = sizeof(struct sweep_values),
        .run = run_sweep,
};
