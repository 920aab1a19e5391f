/*
 * cmd_analyze.c - `wavetap analyze`: derives a run's numbers again from what was recorded.
 *
 * In the file itself it is one transaction: killed at any instant, or out of disk, the file is
 * as it was. The name stays with the same file, since a daemon may have it open.
 * With -o a copy is made, derived and only then gets its name. Single-threaded; blocks on
 * files.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/derive.h"
#include "cli/cli.h"
#include "cli/copy_db.h"
#include "cli/dropped.h"
#include "cli/json.h"
#include "cli/json_run.h"
#include "cli/out_file.h"
#include "cli/progress.h"
#include "cli/run_file.h"
#include "cli/table.h"
#include "daemon/rederive.h"

struct analyze_values {
	const char *run, *output;
	bool is_forced, is_json, is_csv;
};

static const struct wt_option analyze_options[] = {
        {"output", 'o', WT_OPTION_TEXT, "FILE", offsetof(struct analyze_values, output), NULL,
         "a copy to make, instead of changing the run file"},
        {"force", 0, WT_OPTION_FLAG, NULL, offsetof(struct analyze_values, is_forced), NULL,
         "replace an existing FILE"},
        {"json", 0, WT_OPTION_FLAG, NULL, offsetof(struct analyze_values, is_json), NULL,
         "one JSON object; fields in doc/json.md"},
        {"csv", 0, WT_OPTION_FLAG, NULL, offsetof(struct analyze_values, is_csv), NULL,
         "rows as CSV"},
        WT_RUN_OPTION(struct analyze_values, run),
        {0},
};

/* ---- the work */

static volatile sig_atomic_t stop_signal;

static void note_signal(int number)
{
	stop_signal = number;
}

/* A transaction is better ended by us than found torn by the next who opens the file. */
static void catch_signals(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct sigaction action;

		sigaction(numbers[i], NULL, &action);
		if (action.sa_handler != SIG_DFL)
			continue;
		action.sa_handler = note_signal;
		action.sa_flags = SA_RESTART;
		sigaction(numbers[i], &action, NULL);
	}
}

static int report_progress(void *arg, int64_t kernels_done)
{
	wt_progress_set(arg, kernels_done);
	return stop_signal ? -ECANCELED : 0;
}

static int rederive(sqlite3 *db, struct wt_rederived *ret_rederived, char error[WT_DB_ERROR_BYTES])
{
	struct wt_progress progress;
	int rc;

	wt_progress_begin(&progress, "analyze", "launches",
	                  wt_db_int(db, "SELECT sum(kernels_stored) FROM proc", 0));
	rc = wt_rederive(db, report_progress, &progress, ret_rederived, error);
	wt_progress_end(&progress);
	return rc;
}

static int execute(sqlite3 *db, const char *sql, char error[WT_DB_ERROR_BYTES])
{
	int code = sqlite3_exec(db, sql, NULL, NULL, NULL);

	if (code == SQLITE_OK)
		return 0;
	snprintf(error, WT_DB_ERROR_BYTES, "%s",
	         (code & 0xff) == SQLITE_BUSY ? "another program is using it" : sqlite3_errmsg(db));
	return wt_db_errno(code) ? wt_db_errno(code) : -EIO;
}

/*
 * All or nothing. The journal is what the file has already, so that a file that was exported
 * stays one file. `is_live_fine`: of a copy, what was going on no longer matters.
 */
static int analyze_file(const char *path, bool is_live_fine, struct wt_rederived *ret_rederived,
                        char error[WT_DB_ERROR_BYTES])
{
	sqlite3 *db = NULL;
	int rc = 0;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
	    SQLITE_OK) {
		snprintf(error, WT_DB_ERROR_BYTES, "%s", db ? sqlite3_errmsg(db) : "out of memory");
		rc = -EIO;
	}
	if (!rc) {
		sqlite3_busy_timeout(db, WT_DB_BUSY_MS);
		rc = execute(db, "PRAGMA cache_size=-4096", error);
	}
	if (!rc)
		rc = execute(db, "BEGIN IMMEDIATE", error);
	/* Looked at before as well; here nobody can begin to write any more. */
	if (!rc && !is_live_fine &&
	    wt_db_int(db, "SELECT count(*) FROM proc WHERE state = 'live'", 0)) {
		snprintf(error, WT_DB_ERROR_BYTES, "a process of this run has just been attached");
		rc = -EBUSY;
	}
	if (!rc && wt_db_upgrade(db) != SQLITE_OK) {
		snprintf(error, WT_DB_ERROR_BYTES, "%s", sqlite3_errmsg(db));
		rc = -EIO;
	}
	if (!rc)
		rc = rederive(db, ret_rederived, error);
	if (!rc)
		rc = execute(db, "COMMIT", error);
	if (rc && db)
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	if (!rc && wt_db_int(db, "SELECT EXISTS (SELECT 1 FROM chunk)", 0))
		rc = wt_pack_file(db, error);
	sqlite3_close(db);
	return rc;
}

/* Ends as the signal would have ended us. */
static void raise_stop_signal(void)
{
	if (!stop_signal)
		return;
	signal(stop_signal, SIG_DFL);
	raise(stop_signal);
}

static int analyze_in_place(const struct wt_db_run_file *info, struct wt_rederived *ret_rederived)
{
	char error[WT_DB_ERROR_BYTES];
	int rc;

	if (info->processes_live) {
		wt_cli_error("run %s is still being recorded; -o FILE analyzes a copy of what is "
		             "there now",
		             info->id);
		return WT_EXIT_FAILED;
	}
	if (access(info->path, W_OK)) {
		wt_cli_error("%s: %s; -o FILE analyzes a copy", info->path, strerror(errno));
		return WT_EXIT_FAILED;
	}
	catch_signals();
	rc = analyze_file(info->path, false, ret_rederived, error);
	if (!rc)
		return WT_EXIT_FINE;
	if (rc == -ECANCELED)
		raise_stop_signal();
	wt_cli_error("%s: %s; the file is as it was", info->path, error);
	return WT_EXIT_FAILED;
}

/* ---- a copy */

static int analyze_copy(const struct analyze_values *values, const struct wt_run_file *run,
                        struct wt_rederived *ret_rederived)
{
	char error[WT_DB_ERROR_BYTES];
	struct wt_out_file file;
	int rc, code;

	if (wt_out_file_is_same(values->output, run->info.path))
		return wt_cli_usage_error("analyze",
		                          "-o %s is the run file itself: leave -o out for that",
		                          values->output);
	rc = wt_out_file_begin(&file, values->output, values->is_forced);
	if (rc) {
		wt_cli_error("%s%s%s", values->output, rc == -EEXIST ? "" : ": ",
		             rc == -EEXIST ? " exists already (--force replaces it)"
		                           : strerror(-rc));
		return WT_EXIT_FAILED;
	}
	code = wt_copy_db(run, file.temporary, values->output, "copy");
	rc = code ? 0 : analyze_file(file.temporary, true, ret_rederived, error);
	if (code || rc) {
		wt_out_file_abort(&file);
		if (rc)
			wt_cli_error("%s: %s", values->output, error);
		return WT_EXIT_FAILED;
	}
	rc = wt_out_file_commit(&file);
	if (rc) {
		wt_cli_error("%s: %s", values->output, strerror(-rc));
		return WT_EXIT_FAILED;
	}
	if (run->info.processes_live)
		wt_cli_error("run %s is still being recorded: %s has what was there", run->info.id,
		             values->output);
	return WT_EXIT_FINE;
}

/* ---- what came of it */

static const struct wt_table_column columns[] = {
        {"table", "TABLE", WT_TABLE_LEFT, 0, 0, 0},
        {"rows", "ROWS", WT_TABLE_RIGHT, 0, 0, 0},
        {"changed", "CHANGED", WT_TABLE_RIGHT, 0, 0, 0},
        {"meaning", "", WT_TABLE_LEFT,
         WT_TABLE_TEXT_ONLY | WT_TABLE_FLEXIBLE | WT_TABLE_WRAPS | WT_TABLE_DROP(1), 16, 0},
};

static void add_count(struct wt_table *table, const char *name,
                      const struct wt_rederive_count *count, const char *meaning)
{
	char text[WT_TEXT_NUMBER_BYTES];

	wt_table_row(table, 0);
	wt_table_add_string(table, name, NULL);
	wt_table_add_int(table, count->rows, wt_text_count(text, count->rows));
	wt_table_add_int(table, count->changed, wt_text_count(text, count->changed));
	wt_table_add_string(table, meaning, NULL);
}

static int print_json(const struct wt_run_file *run, const char *path, struct wt_table *table)
{
	struct wt_json json;
	int rc;

	wt_json_init(&json, stdout, true);
	wt_json_object_begin(&json);
	wt_json_put_run(&json, run);
	wt_json_key(&json, "output");
	wt_json_string(&json, path);
	wt_json_key(&json, "analysis_version");
	wt_json_int(&json, WT_ANALYSIS_VERSION);
	wt_json_key(&json, "tables");
	rc = wt_table_print_json(table, &json);
	wt_json_object_end(&json);
	return rc == -ENOMEM ? rc : wt_json_finish(&json);
}

static int print_result(const struct analyze_values *values, const struct wt_run_file *run,
                        const struct wt_rederived *rederived)
{
	struct wt_table *table = wt_table_create(columns, sizeof(columns) / sizeof(columns[0]));
	const char *path = values->output ? values->output : run->info.path;
	struct wt_text_terminal terminal;
	int rc = table ? 0 : -ENOMEM;

	if (!rc) {
		add_count(table, "config", &rederived->configs,
		          "launch configurations: occupancy, waves");
		add_count(table, "kernel_exec", &rederived->kernels,
		          "kernels that ran: underfill, wave");
		add_count(table, "kernel_share", &rederived->shares,
		          "kernels that overlap others: their share");
		add_count(table, "config_stat", &rederived->rollups, "sums per configuration");
		if (rederived->measured.rows || rederived->is_measured_kept)
			add_count(table, "measured", &rederived->measured,
			          rederived->is_measured_kept
			                  ? "as it was: raw samples are gone"
			                  : "configurations: what was measured");
	}
	wt_text_terminal_probe(STDOUT_FILENO, &terminal);
	if (!rc && values->is_json)
		rc = print_json(run, path, table);
	else if (!rc && values->is_csv)
		rc = wt_table_print_csv(table, stdout);
	else if (!rc)
		rc = wt_table_print_text(table, stdout, &terminal);
	wt_table_destroy(table);
	return wt_cli_output_result(rc);
}

/* Sums would lose what is not there any more. */
static int refuse_dropped(const struct wt_run_file *run)
{
	char text[WT_DROPPED_TEXT_BYTES];
	struct wt_dropped dropped;

	if (wt_dropped_load(run->db, &dropped) || !dropped.is_any)
		return WT_EXIT_FINE;
	wt_dropped_text(&dropped, text);
	wt_cli_error(
	        "run %s can't be analyzed again: %s; its sums, which have them, stay as they are",
	        run->info.id, text);
	return WT_EXIT_NO_DATA;
}

static int run_analyze(void *opaque, int operand_count, char **operands)
{
	const struct analyze_values *values = opaque;
	struct wt_rederived rederived = {0};
	struct wt_run_file run;
	int code;

	(void)operand_count;
	(void)operands;
	if (values->is_json && values->is_csv)
		return wt_cli_usage_error("analyze", "--json and --csv exclude each other");
	if (values->output && (!values->output[0] || !strcmp(values->output, "-")))
		return wt_cli_usage_error("analyze", "-o needs the name of a file");
	if (values->is_forced && !values->output)
		return wt_cli_usage_error("analyze", "--force is for -o FILE");
	code = wt_run_file_open(values->run, &run);
	if (code)
		return code;
	code = refuse_dropped(&run);
	if (code) {
		wt_run_file_close(&run);
		return code;
	}
	if (values->output) {
		code = analyze_copy(values, &run, &rederived);
	} else {
		wt_run_file_close(&run); /* info stays */
		code = analyze_in_place(&run.info, &rederived);
	}
	if (!code)
		code = print_result(values, &run, &rederived);
	wt_run_file_close(&run);
	return code;
}

const struct wt_command wt_cmd_analyze = {
        .name = "analyze",
        .summary = "derive a run's numbers again from what was recorded",
        .details = "For an old run after an update: occupancy, waves, idle SM-time and "
                   "their sums. What was recorded stays. All or nothing.",
        .example = "wavetap analyze -r gpt -o again.db",
        .theme = WT_THEME_KEEP,
        .options = analyze_options,
        .values_bytes = sizeof(struct analyze_values),
        .run = run_analyze,
};
