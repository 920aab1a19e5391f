/*
 * cmd_history.c - `wavetap history`: the runs of one name over time. Single-threaded; blocks on files.
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/json_run.h"
#include "cli/phrase.h"
#include "cli/plot.h"
#include "cli/run_file.h"
#include "cli/summary_cells.h"
#include "schema/wt_paths.h"

#define RUNS_DEFAULT 20

struct history_values {
	int64_t limit;
	bool is_json, is_csv;
};

static const struct wt_option history_options[] = {
        {"limit", 0, WT_OPTION_NUMBER, "N", offsetof(struct history_values, limit), NULL,
         "the last N runs, 0 for all (default: 20)"},
        {"json", 0, WT_OPTION_FLAG, NULL, offsetof(struct history_values, is_json), NULL,
         "one JSON object; fields in doc/json.md"},
        {"csv", 0, WT_OPTION_FLAG, NULL, offsetof(struct history_values, is_csv), NULL,
         "rows as CSV"},
        {0},
};

static const struct wt_table_column columns[] = {
        {"id", "ID", WT_TABLE_LEFT, 0, 0, 0},
        {"created_ns", "WHEN", WT_TABLE_LEFT, WT_TABLE_DROP(1), 0, 0},
        WT_SUMMARY_COLUMNS,
        {"file", "", WT_TABLE_LEFT, WT_TABLE_NO_TEXT, 0, 0},
};

struct history {
	const char *name;
	struct wt_run_summary *runs; /* oldest first */
	size_t count, passed_over; /* those that can't be shown */
};

/* ---- which runs */

static int load(struct history *history, const struct wt_db_run_file *files, size_t count,
                int64_t limit)
{
	size_t named = 0, skip;

	for (size_t i = 0; i < count; i++)
		named += !files[i].error && !strcmp(files[i].name, history->name);
	skip = limit > 0 && named > (size_t)limit ? named - (size_t)limit : 0;
	history->runs = calloc(named + 1, sizeof(*history->runs));
	if (!history->runs)
		return WT_EXIT_FAILED;
	for (size_t i = 0; i < count; i++) {
		struct wt_run_summary *run = &history->runs[history->count];

		if (files[i].error || strcmp(files[i].name, history->name) != 0)
			continue;
		if (skip) {
			skip--;
			continue;
		}
		if (wt_run_summary_load(files[i].path, run)) {
			wt_run_summary_fini(run);
			history->passed_over++;
			continue;
		}
		history->count++;
	}
	return WT_EXIT_FINE;
}

/* ---- output */

static struct wt_table *make_table(const struct history *history)
{
	struct wt_table *table = wt_table_create(columns, sizeof(columns) / sizeof(columns[0]));

	for (size_t i = 0; table && i < history->count; i++) {
		const struct wt_run_summary *run = &history->runs[i];

		wt_table_row(table, 0);
		wt_table_add_string(table, run->info.id, NULL);
		wt_summary_add_when(table, run->info.created_ns);
		wt_summary_add(table, run);
		wt_table_add_string(table, run->info.path, NULL);
	}
	return table;
}

static double step_of(const struct wt_run_summary *run)
{
	return run->step_ns > 0 ? (double)run->step_ns : NAN;
}

static double idle_of(const struct wt_run_summary *run)
{
	double share = wt_summary_idle_share(run);

	return share >= 0 ? 100 * share : NAN;
}

static double launches_of(const struct wt_run_summary *run)
{
	return run->launches_per_step >= 0 ? (double)run->launches_per_step : NAN;
}

/* "step 12.1ms to 12.9ms" and a cell a run, between the least and the greatest. */
static void print_trend(struct wt_phrase *line, const struct wt_text_terminal *terminal,
                        const struct history *history, const char *what,
                        double (*get)(const struct wt_run_summary *run), bool is_time)
{
	double least = NAN, greatest = NAN;
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES], cells[4 * 64 + 1] = "";
	size_t first = history->count > 64 ? history->count - 64 : 0, used = 0;

	for (size_t i = first; i < history->count; i++) {
		least = fmin(least, get(&history->runs[i]));
		greatest = fmax(greatest, get(&history->runs[i]));
	}
	if (isnan(least))
		return;
	for (size_t i = first; i < history->count; i++) {
		double value = get(&history->runs[i]);
		double height = greatest > least ? (value - least) / (greatest - least) : 0.5;
		/* The least shows, too: nothing is where nothing is known. */
		const char *cell =
		        isnan(value) ? "." : wt_plot_level(0.1 + 0.9 * height, terminal->is_utf8);

		used += (size_t)snprintf(cells + used, sizeof(cells) - used, "%s", cell);
	}
	if (is_time) {
		wt_text_ns(a, (int64_t)least);
		wt_text_ns(b, (int64_t)greatest);
	} else {
		snprintf(a, sizeof(a), "%.4g", least);
		snprintf(b, sizeof(b), "%.4g", greatest);
	}
	if (strcmp(a, b) != 0)
		wt_phrase_add(line, "%s %s %s to %s", what, cells, a, b);
	else
		wt_phrase_add(line, "%s %s all %s", what, cells, a);
}

static int print_text(const struct history *history, struct wt_table *table)
{
	struct wt_text_terminal terminal;
	struct wt_phrase line;
	char a[WT_TEXT_NUMBER_BYTES];
	int rc;

	wt_text_terminal_probe(STDOUT_FILENO, &terminal);
	wt_phrase_init(&line, stdout, &terminal);
	wt_phrase_add(&line, "%s", history->name);
	wt_phrase_add(&line, "%s run%s, the last one at the end",
	              wt_text_count(a, (int64_t)history->count), history->count == 1 ? "" : "s");
	wt_phrase_add(&line, "of steady steps where there are any, else of all");
	wt_phrase_end(&line);
	rc = wt_table_print_text(table, stdout, &terminal);
	if (rc || history->count < 2)
		return rc;
	print_trend(&line, &terminal, history, "step", step_of, true);
	print_trend(&line, &terminal, history, "idle %", idle_of, false);
	print_trend(&line, &terminal, history, "launches", launches_of, false);
	wt_phrase_end(&line);
	return 0;
}

static int print_json(const struct history *history, struct wt_table *table)
{
	struct wt_json json;

	wt_json_init(&json, stdout, true);
	wt_json_object_begin(&json);
	wt_json_key(&json, "schema");
	wt_json_int(&json, WT_JSON_SCHEMA);
	wt_json_key(&json, "name");
	wt_json_string(&json, history->name);
	wt_json_key(&json, "runs_passed_over");
	wt_json_int(&json, (int64_t)history->passed_over);
	wt_json_key(&json, "rows");
	(void)wt_table_print_json(table, &json);
	wt_json_object_end(&json);
	return wt_json_finish(&json);
}

static int print(const struct history_values *values, const struct history *history)
{
	struct wt_table *table = make_table(history);
	int rc = table ? 0 : -ENOMEM;

	if (!rc)
		rc = values->is_json  ? print_json(history, table)
		     : values->is_csv ? wt_table_print_csv(table, stdout)
		                      : print_text(history, table);
	wt_table_destroy(table);
	return wt_cli_output_result(rc);
}

static int show(const struct history_values *values, struct history *history)
{
	struct wt_db_run_file *files = NULL;
	char data_dir[WT_PATH_BYTES];
	size_t count = 0;
	int rc, code;

	if (wt_run_data_dir(data_dir))
		return WT_EXIT_FAILED;
	rc = wt_db_list(data_dir, &files, &count);
	if (rc) {
		wt_cli_error("%s/runs: %s", data_dir, strerror(-rc));
		return WT_EXIT_FAILED;
	}
	code = load(history, files, count, values->limit < 0 ? RUNS_DEFAULT : values->limit);
	free(files);
	if (code) {
		wt_cli_error("out of memory");
		return code;
	}
	if (!history->count && !history->passed_over)
		wt_cli_error("no run is called \"%s\" in %s (see wavetap runs)", history->name,
		             data_dir);
	return history->count ? print(values, history) : WT_EXIT_NO_DATA;
}

static int run_history(void *opaque, int operand_count, char **operands)
{
	const struct history_values *values = opaque;
	struct history history = {.name = operands[0]};
	int code;

	(void)operand_count;
	if (values->is_json && values->is_csv)
		return wt_cli_usage_error("history", "--json and --csv exclude each other");
	if (!history.name[0])
		return wt_cli_usage_error("history", "the name is empty");
	code = show(values, &history);
	for (size_t i = 0; i < history.count; i++)
		wt_run_summary_fini(&history.runs[i]);
	free(history.runs);
	return code;
}

const struct wt_command wt_cmd_history = {
        .name = "history",
        .operands = "NAME",
        .summary = "the runs of one name over time: step, idle, launches",
        .details = "Runs that were recorded with run --name NAME, one a line, in order of time.",
        .example = "wavetap history gpt",
        .theme = WT_THEME_PLAN,
        .options = history_options,
        .operand_count_min = 1,
        .operand_count_max = 1,
        .values_bytes = sizeof(struct history_values),
        .run = run_history,
};
