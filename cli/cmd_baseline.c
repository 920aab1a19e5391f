/*
 * cmd_baseline.c - `wavetap baseline`: runs kept under a name, for `compare`. Single-threaded; blocks on files.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/baseline.h"
#include "cli/baseline_store.h"
#include "cli/cli.h"
#include "cli/copy_db.h"
#include "cli/json_run.h"
#include "cli/phrase.h"
#include "cli/run_file.h"
#include "cli/table.h"

#define RUNS_MOST 999

struct baseline_values {
	bool is_json;
};

static const struct wt_option baseline_options[] = {
        {"json", 0, WT_OPTION_FLAG, NULL, offsetof(struct baseline_values, is_json), NULL,
         "with list: one JSON object; fields in doc/json.md"},
        {0},
};

static int check_name(const char *name)
{
	if (wt_baseline_is_name(name))
		return WT_EXIT_FINE;
	return wt_cli_usage_error("baseline",
	                          "\"%s\" is no name for a baseline: letters, digits, . - and _,"
	                          " at most 64, and nothing that a run is asked for by (latest, an"
	                          " id)",
	                          name);
}

static void tell_problem(const char *name, int err)
{
	char path[WT_BASELINE_PATH_BYTES];

	if (!wt_baseline_path(name, path))
		wt_cli_error("%s: %s", path, wt_baseline_problem(err));
}

/* ---- rm */

static int remove_baselines(int count, char **names)
{
	int code = WT_EXIT_FINE;

	if (!count)
		return wt_cli_usage_error("baseline", "rm needs the name of a baseline");
	for (int i = 0; i < count; i++) {
		int rc;

		if (check_name(names[i]))
			return WT_EXIT_USAGE;
		rc = wt_baseline_remove(names[i]);
		if (rc == -ENOENT)
			wt_cli_error("there is no baseline \"%s\" (wavetap baseline list)",
			             names[i]);
		else if (rc)
			tell_problem(names[i], rc);
		if (rc)
			code = WT_EXIT_FAILED;
	}
	return code;
}

/* ---- set */

/* One run into the folder, as its n-th. Live ones are none to compare with. */
static int copy_run(const char *spec, const char *folder, int n)
{
	struct wt_run_file run;
	char path[WT_BASELINE_PATH_BYTES + 64];
	int code = wt_run_file_open(spec, &run);

	if (code)
		return code;
	snprintf(path, sizeof(path), "%s/%03d-%s.db", folder, n, run.info.id);
	if (run.info.processes_live) {
		wt_cli_error("run %s goes on: a baseline is of runs that have ended", run.info.id);
		code = WT_EXIT_FAILED;
	} else {
		code = wt_copy_db(&run, path, path, "baseline");
	}
	if (!code) {
		struct wt_text_terminal terminal;
		struct wt_phrase line;

		wt_text_terminal_probe(STDOUT_FILENO, &terminal);
		wt_phrase_init(&line, stdout, &terminal);
		wt_phrase_add(&line, "run %s", run.info.id);
		if (run.info.name[0])
			wt_phrase_add(&line, "%s", run.info.name);
		wt_phrase_end(&line);
	}
	wt_run_file_close(&run);
	return code;
}

static int set_baseline(int count, char **words)
{
	struct wt_baseline_new new_one;
	int rc, code;

	if (count < 2)
		return wt_cli_usage_error("baseline", "set needs a name and at least one run");
	if (count - 1 > RUNS_MOST)
		return wt_cli_usage_error("baseline", "at most %d runs", RUNS_MOST);
	code = check_name(words[0]);
	if (code)
		return code;
	rc = wt_baseline_new_begin(words[0], &new_one);
	for (int i = 1; !rc && !code && i < count; i++)
		code = copy_run(words[i], new_one.path, i);
	if (!rc && !code)
		rc = wt_baseline_new_keep(&new_one, words[0]);
	wt_baseline_new_end(&new_one);
	if (rc)
		tell_problem(words[0], rc);
	return rc ? WT_EXIT_FAILED : code;
}

/* ---- list */

static const struct wt_table_column columns[] = {
        {"baseline", "BASELINE", WT_TABLE_LEFT, 0, 0, 0},
        {"runs", "RUNS", WT_TABLE_RIGHT, 0, 0, 0},
        {"file_bytes", "SIZE", WT_TABLE_RIGHT, WT_TABLE_DROP(1), 0, 0},
        {"created_ns", "MADE", WT_TABLE_LEFT, 0, 0, 0},
        {"ids", "IDS", WT_TABLE_LEFT, WT_TABLE_FLEXIBLE, 8, 0},
};

static void add_row(struct wt_table *table, const char *name, const struct wt_baseline_files *files)
{
	char number[WT_TEXT_NUMBER_BYTES], when[32] = "", ids[256] = "";
	int64_t bytes = 0, created_ns = 0;
	size_t used = 0;
	struct tm local;
	time_t seconds;

	for (size_t i = 0; i < files->count; i++) {
		const char *file = strrchr(files->paths[i], '/') + 1;
		struct stat st;

		if (!stat(files->paths[i], &st)) {
			bytes += st.st_size;
			created_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
		}
		if (strlen(file) > 7 && used < sizeof(ids))
			used += (size_t)snprintf(ids + used, sizeof(ids) - used, "%s%.*s",
			                         i ? "," : "", (int)(strlen(file) - 7), file + 4);
	}
	seconds = (time_t)(created_ns / 1000000000);
	if (localtime_r(&seconds, &local))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M", &local);
	wt_table_row(table, 0);
	wt_table_add_string(table, name, NULL);
	wt_table_add_int(table, (int64_t)files->count, NULL);
	wt_table_add_int(table, bytes, wt_text_bytes(number, (uint64_t)bytes));
	wt_table_add_int(table, created_ns, when);
	wt_table_add_string(table, ids, NULL);
}

static int print_list(struct wt_table *table, bool is_json)
{
	struct wt_text_terminal terminal;
	struct wt_json json;

	if (!is_json) {
		wt_text_terminal_probe(STDOUT_FILENO, &terminal);
		return wt_table_print_text(table, stdout, &terminal);
	}
	wt_json_init(&json, stdout, true);
	wt_json_object_begin(&json);
	wt_json_key(&json, "schema");
	wt_json_int(&json, WT_JSON_SCHEMA);
	wt_json_key(&json, "baselines");
	(void)wt_table_print_json(table, &json);
	wt_json_object_end(&json);
	return wt_json_finish(&json);
}

static int list_baselines(bool is_json)
{
	struct wt_table *table = wt_table_create(columns, sizeof(columns) / sizeof(columns[0]));
	struct dirent **entries = NULL;
	char folder[WT_BASELINE_PATH_BYTES];
	int count, rc;

	if (!table)
		return wt_cli_output_result(-ENOMEM);
	if (wt_baseline_path("", folder)) {
		wt_table_destroy(table);
		return WT_EXIT_FAILED;
	}
	count = scandir(folder, &entries, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		struct wt_baseline_files files = {0};

		if (!wt_baseline_files(entries[i]->d_name, &files))
			add_row(table, entries[i]->d_name, &files);
		wt_baseline_files_fini(&files);
		free(entries[i]);
	}
	free(entries);
	if (!is_json && !wt_table_row_count(table)) {
		wt_cli_error("there is no baseline in %s; make one with: wavetap baseline set NAME "
		             "RUN...",
		             folder);
		wt_table_destroy(table);
		return WT_EXIT_NO_DATA;
	}
	rc = print_list(table, is_json);
	wt_table_destroy(table);
	return wt_cli_output_result(rc);
}

/* ---- the command */

static int run_baseline(void *opaque, int operand_count, char **operands)
{
	const struct baseline_values *values = opaque;
	const char *verb = operands[0];

	if (!strcmp(verb, "list")) {
		if (operand_count > 1)
			return wt_cli_usage_error("baseline", "list takes no words");
		return list_baselines(values->is_json);
	}
	if (values->is_json)
		return wt_cli_usage_error("baseline", "--json is of list");
	if (!strcmp(verb, "set"))
		return set_baseline(operand_count - 1, operands + 1);
	if (!strcmp(verb, "rm"))
		return remove_baselines(operand_count - 1, operands + 1);
	return wt_cli_usage_error("baseline", "%s: set, list or rm", verb);
}

const struct wt_command wt_cmd_baseline = {
        .name = "baseline",
        .operands = "set NAME RUN... | list | rm NAME...",
        .summary = "runs kept under a name, for compare",
        .details = "Copies of run files, which neither gc nor a later run of the name changes. "
                   "compare "
                   "takes their names for runs.",
        .example = "wavetap baseline list",
        .theme = WT_THEME_KEEP,
        .options = baseline_options,
        .operand_count_min = 1,
        .operand_count_max = -1,
        .values_bytes = sizeof(struct baseline_values),
        .run = run_baseline,
};
