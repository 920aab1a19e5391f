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
#include "cli/cli.h"
#include "cli/copy_db.h"
#include "cli/json_run.h"
#include "cli/run_file.h"
#include "cli/table.h"
#include "schema/wt_paths.h"

#define RUNS_MOST 999
#define PATH_BYTES (2 * WT_PATH_BYTES)

struct baseline_values {
	bool is_json;
};

static const struct wt_option baseline_options[] = {
        {"json", 0, WT_OPTION_FLAG, NULL, offsetof(struct baseline_values, is_json), NULL,
         "with list: one JSON object; fields in doc/json.md"},
        {0},
};

/* Into `path`, PATH_BYTES: <data directory>/baselines/NAME. 0 or -errno after a message. */
static int folder_of(const char *name, char *path)
{
	char data_dir[WT_PATH_BYTES];
	int rc = wt_run_data_dir(data_dir);

	if (!rc)
		snprintf(path, PATH_BYTES, "%s/baselines%s%s", data_dir, name[0] ? "/" : "", name);
	return rc;
}

static int check_name(const char *name)
{
	if (wt_baseline_is_name(name))
		return WT_EXIT_FINE;
	return wt_cli_usage_error("baseline",
	                          "\"%s\" is no name for a baseline: letters, digits, . - and _,"
	                          " at most 64",
	                          name);
}

/* ---- rm */

static int remove_folder(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	int rc = 0;

	if (!dir)
		return -errno;
	while (!rc && (entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (unlinkat(dirfd(dir), entry->d_name, 0))
			rc = -errno;
	}
	closedir(dir);
	return rc ? rc : rmdir(folder) ? -errno : 0;
}

static int remove_baselines(int count, char **names)
{
	int code = WT_EXIT_FINE;

	if (!count)
		return wt_cli_usage_error("baseline", "rm needs the name of a baseline");
	for (int i = 0; i < count; i++) {
		char path[PATH_BYTES];
		int rc;

		if (check_name(names[i]))
			return WT_EXIT_USAGE;
		if (folder_of(names[i], path))
			return WT_EXIT_FAILED;
		rc = remove_folder(path);
		if (rc == -ENOENT)
			wt_cli_error("there is no baseline \"%s\" (wavetap baseline list)",
			             names[i]);
		else if (rc)
			wt_cli_error("%s: %s", path, strerror(-rc));
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
	char path[PATH_BYTES + 64];
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
	if (!code)
		printf("run %s%s%s\n", run.info.id, run.info.name[0] ? "  " : "", run.info.name);
	wt_run_file_close(&run);
	return code;
}

static int make_folders(const char *folder)
{
	char parent[PATH_BYTES], *slash;

	snprintf(parent, sizeof(parent), "%s", folder);
	slash = strrchr(parent, '/');
	*slash = '\0';
	if (mkdir(parent, 0700) && errno != EEXIST)
		return -errno;
	return mkdir(folder, 0700) ? -errno : 0;
}

/* The new one takes the name when it is whole; what had it goes. */
static int put_in_place(const char *made, const char *folder)
{
	char old[PATH_BYTES + 8];

	snprintf(old, sizeof(old), "%s~", made);
	if (rename(folder, old) && errno != ENOENT)
		return -errno;
	if (rename(made, folder)) {
		int rc = -errno;

		(void)!rename(old, folder);
		return rc;
	}
	(void)remove_folder(old);
	return 0;
}

static int set_baseline(int count, char **words)
{
	char folder[PATH_BYTES], made[PATH_BYTES], hidden[80];
	int rc, code;

	if (count < 2)
		return wt_cli_usage_error("baseline", "set needs a name and at least one run");
	if (count - 1 > RUNS_MOST)
		return wt_cli_usage_error("baseline", "at most %d runs", RUNS_MOST);
	code = check_name(words[0]);
	if (code)
		return code;
	snprintf(hidden, sizeof(hidden), ".%.64s.%d", words[0], (int)getpid());
	if (folder_of(words[0], folder) || folder_of(hidden, made))
		return WT_EXIT_FAILED;
	rc = make_folders(made);
	if (rc) {
		wt_cli_error("%s: %s", made, strerror(-rc));
		return WT_EXIT_FAILED;
	}
	for (int i = 1; !code && i < count; i++)
		code = copy_run(words[i], made, i);
	if (!code) {
		rc = put_in_place(made, folder);
		if (rc)
			wt_cli_error("%s: %s", folder, strerror(-rc));
		code = rc ? WT_EXIT_FAILED : WT_EXIT_FINE;
	}
	if (code)
		(void)remove_folder(made);
	return code;
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
	char folder[PATH_BYTES];
	int count, rc;

	if (!table)
		return wt_cli_output_result(-ENOMEM);
	if (folder_of("", folder)) {
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
