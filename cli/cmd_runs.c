/*
 * cmd_runs.c - `wavetap runs`: what has been recorded. Single-threaded; blocks on files.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/content_hash.h"
#include "cli/dropped.h"
#include "cli/json.h"
#include "cli/json_run.h"
#include "cli/run_file.h"
#include "cli/table.h"
#include "schema/wt_paths.h"

struct runs_values {
	bool has_hash, is_json, is_csv;
};

static const struct wt_option runs_options[] = {
        {"hash", 0, WT_OPTION_FLAG, NULL, offsetof(struct runs_values, has_hash), NULL,
         "with a hash of what each holds: reads all rows; the same rows, the same hash"},
        {"json", 0, WT_OPTION_FLAG, NULL, offsetof(struct runs_values, is_json), NULL,
         "one JSON object"},
        {"csv", 0, WT_OPTION_FLAG, NULL, offsetof(struct runs_values, is_csv), NULL, "rows as CSV"},
        {0},
};

static const struct wt_table_column columns[] = {
        {"id", "ID", WT_TABLE_LEFT, 0, 0, 0},
        {"name", "NAME", WT_TABLE_LEFT, WT_TABLE_FLEXIBLE, 8, 0},
        {"created_ns", "WHEN", WT_TABLE_LEFT, WT_TABLE_DROP(7), 0, 0},
        {"wall_ns", "LENGTH", WT_TABLE_RIGHT, WT_TABLE_DROP(4), 0, 0},
        {"processes", "PROCS", WT_TABLE_RIGHT, WT_TABLE_DROP(2), 0, 0},
        {"devices", "GPUS", WT_TABLE_RIGHT, WT_TABLE_DROP(3), 0, 0},
        {"kernels", "KERNELS", WT_TABLE_RIGHT, WT_TABLE_DROP(6), 0, 0},
        {"kernels_dropped", "DROPPED", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"kernel_ns", "TIME", WT_TABLE_RIGHT, WT_TABLE_DROP(5), 0, 0},
        {"file_bytes", "SIZE", WT_TABLE_RIGHT, WT_TABLE_DROP(1), 0, 0},
        {"content_hash", "CONTENT", WT_TABLE_LEFT, 0, 0, 0},
        {"state", "STATE", WT_TABLE_LEFT, 0, 0, 0},
        {"file", "FILE", WT_TABLE_LEFT, WT_TABLE_NO_TEXT, 0, 0},
        {"reason", "REASON", WT_TABLE_LEFT, WT_TABLE_NO_TEXT, 0, 0},
};
#define COLUMN_COUNT (sizeof(columns) / sizeof(columns[0]))
#define CONTENT_COLUMN (COLUMN_COUNT - 4)
#define CONTENT_SHOWN 12 /* hex digits, as `check` shows */

/* GPUs on which kernels ran, or -1; and what rows of the run are gone. */
static int64_t count_devices(const char *path, struct wt_dropped *ret_dropped)
{
	char error[WT_DB_ERROR_BYTES];
	sqlite3 *db;
	int64_t count;

	if (wt_db_open(path, &db, error))
		return -1;
	count = wt_db_int(db, "SELECT count(DISTINCT device_id) FROM config_idle", -1);
	(void)wt_dropped_load(db, ret_dropped);
	sqlite3_close(db);
	return count;
}

static void add_when(struct wt_table *table, int64_t created_ns)
{
	time_t seconds = (time_t)(created_ns / 1000000000);
	char text[32] = "";
	struct tm local;

	if (localtime_r(&seconds, &local))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &local);
	wt_table_add_int(table, created_ns, text);
}

/* All but its state, file and reason is unknown. */
static void add_unreadable(struct wt_table *table, const struct wt_db_run_file *run)
{
	for (size_t i = 0; i < COLUMN_COUNT - 3; i++)
		wt_table_add_null(table);
	wt_table_add_string(table, "unreadable", NULL);
	wt_table_add_string(table, run->path, NULL);
	wt_table_add_string(table, run->error_text, NULL);
}

/* Of a run that goes on there is none; nor of rows that can't be read, which `check` tells. */
static void add_hash(struct wt_table *table, const struct wt_db_run_file *run)
{
	char hex[WT_DIGEST_HEX_BYTES], shown[CONTENT_SHOWN + 1], error[WT_DB_ERROR_BYTES];

	if (run->processes_live || wt_content_hash(run->path, hex, error)) {
		wt_table_add_null(table);
		return;
	}
	snprintf(shown, sizeof(shown), "%.*s", CONTENT_SHOWN, hex);
	wt_table_add_string(table, hex, shown);
}

static void add_run(struct wt_table *table, const struct wt_db_run_file *run, bool has_hash)
{
	char text[WT_TEXT_NUMBER_BYTES];
	int64_t wall_ns = run->last_ns - run->first_ns;
	struct wt_dropped dropped = {0};
	int64_t devices = run->error ? -1 : count_devices(run->path, &dropped);
	char state[64];

	wt_table_row(table, 0);
	if (run->error) {
		add_unreadable(table, run);
		return;
	}
	wt_table_add_string(table, run->id, NULL);
	wt_table_add_string(table, run->name[0] ? run->name : NULL, NULL);
	add_when(table, run->created_ns);
	if (run->first_ns && wall_ns >= 0)
		wt_table_add_int(table, wall_ns, wt_text_ns(text, wall_ns));
	else
		wt_table_add_null(table);
	wt_table_add_int(table, run->processes, NULL);
	if (devices >= 0)
		wt_table_add_int(table, devices, NULL);
	else
		wt_table_add_null(table);
	wt_table_add_int(table, run->kernels, wt_text_count(text, run->kernels));
	wt_table_add_int(table, dropped.kernels, NULL);
	wt_table_add_int(table, run->kernel_ns, wt_text_ns(text, run->kernel_ns));
	wt_table_add_int(table, run->file_bytes, wt_text_bytes(text, (uint64_t)run->file_bytes));
	if (has_hash)
		add_hash(table, run);
	else
		wt_table_add_null(table);
	snprintf(state, sizeof(state), "%s%s", run->processes_live ? "running" : "finished",
	         dropped.is_any ? ", oldest rows dropped" : "");
	wt_table_add_string(table, run->processes_live ? "running" : "finished", state);
	wt_table_add_string(table, run->path, NULL);
}

static int print_json(struct wt_table *table)
{
	struct wt_json json;
	int rc;

	wt_json_init(&json, stdout, true);
	wt_json_object_begin(&json);
	wt_json_key(&json, "schema");
	wt_json_int(&json, WT_JSON_SCHEMA);
	wt_json_key(&json, "runs");
	rc = wt_table_print_json(table, &json);
	wt_json_object_end(&json);
	return rc == -ENOMEM ? rc : wt_json_finish(&json);
}

static int print_runs(const struct runs_values *values, const struct wt_db_run_file *runs,
                      size_t count)
{
	struct wt_table_column shown[COLUMN_COUNT];
	struct wt_table *table;
	struct wt_text_terminal terminal;
	int rc;

	memcpy(shown, columns, sizeof(shown));
	if (!values->has_hash)
		shown[CONTENT_COLUMN].flags |= WT_TABLE_NO_TEXT;
	table = wt_table_create(shown, COLUMN_COUNT);
	rc = table ? 0 : -ENOMEM;

	wt_text_terminal_probe(STDOUT_FILENO, &terminal);
	for (size_t i = 0; table && i < count; i++)
		add_run(table, &runs[i], values->has_hash);
	if (!rc && values->is_json)
		rc = print_json(table);
	else if (!rc && values->is_csv)
		rc = wt_table_print_csv(table, stdout);
	else if (!rc)
		rc = wt_table_print_text(table, stdout, &terminal);
	wt_table_destroy(table);
	for (size_t i = 0; i < count; i++)
		if (runs[i].error)
			wt_cli_error("%s", runs[i].error_text);
	return rc;
}

static int run_runs(void *opaque, int operand_count, char **operands)
{
	const struct runs_values *values = opaque;
	struct wt_db_run_file *runs = NULL;
	char data_dir[WT_PATH_BYTES];
	size_t count = 0;
	int rc;

	(void)operand_count;
	(void)operands;
	if (values->is_json && values->is_csv)
		return wt_cli_usage_error("runs", "--json and --csv exclude each other");
	if (wt_run_data_dir(data_dir))
		return WT_EXIT_FAILED;
	rc = wt_db_list(data_dir, &runs, &count);
	if (rc) {
		wt_cli_error("%s/runs: %s", data_dir, strerror(-rc));
		return WT_EXIT_FAILED;
	}
	if (count || values->is_json)
		rc = print_runs(values, runs, count);
	free(runs);
	if (rc)
		return wt_cli_output_result(rc);
	if (count)
		return WT_EXIT_FINE;
	wt_cli_error("no run has been recorded in %s yet; start with: wavetap run -- COMMAND",
	             data_dir);
	return WT_EXIT_NO_DATA;
}

const struct wt_command wt_cmd_runs = {
        .name = "runs",
        .summary = "list the recorded runs, the last one at the end",
        .example = "wavetap runs",
        .theme = WT_THEME_KEEP,
        .options = runs_options,
        .values_bytes = sizeof(struct runs_values),
        .run = run_runs,
};
