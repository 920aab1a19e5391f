/*
 * cmd_status.c - `wavetap status`: is the daemon there, what does it drain, what did the last
 * runs lose and why. Single-threaded; blocks on the daemon's socket and on files.
 *
 * The daemon answers in JSON, which SQLite reads for us.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/client.h"
#include "cli/json.h"
#include "cli/json_run.h"
#include "cli/phrase.h"
#include "cli/report.h"
#include "cli/run_file.h"
#include "cli/shm_room.h"
#include "cli/status_samplers.h"
#include "cli/table.h"
#include "cli/top_text.h"
#include "cli/watch_options.h"
#include "cli/watch_text.h"
#include "schema/wt_paths.h"

#define REQUEST_TIMEOUT_MS 5000
#define WATCH_TIMEOUT_MS 1000
#define RUNS_SHOWN 3

struct status_values {
	bool is_json, is_watched, has_no_colour;
	const char *interval;
};

static const struct wt_option status_options[] = {
        WT_WATCH_OPTIONS(struct status_values, is_watched, interval, has_no_colour),
        {"json", 0, WT_OPTION_FLAG, NULL, offsetof(struct status_values, is_json), NULL,
         "one JSON object"},
        {0},
};

/* ---- the daemon's answer as text (its fields: daemon/status.c) */

static sqlite3_stmt *query_json(sqlite3 *db, const char *sql, const char *json)
{
	sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
		return NULL;
	sqlite3_bind_text(s, 1, json, -1, SQLITE_STATIC);
	return s;
}

static const char *text_of(sqlite3_stmt *s, int column)
{
	const unsigned char *text = sqlite3_column_text(s, column);

	return text ? (const char *)text : "";
}

static const struct wt_table_column process_columns[] = {
        {"pid", "PID", WT_TABLE_RIGHT, 0, 0, 0},
        {"rank", "RANK", WT_TABLE_RIGHT, WT_TABLE_DROP(4), 0, 0},
        {"state", "STATE", WT_TABLE_LEFT, 0, 0, 0},
        {"capture", "CAPTURE", WT_TABLE_LEFT, WT_TABLE_DROP(6), 0, 0},
        {"launches", "LAUNCHES", WT_TABLE_RIGHT, WT_TABLE_DROP(7), 0, 0},
        {"kernels", "KERNELS", WT_TABLE_RIGHT, 0, 0, 0},
        {"dropped", "DROPPED", WT_TABLE_RIGHT, WT_TABLE_DROP(5), 0, 0},
        {"full", "FULL%", WT_TABLE_RIGHT, WT_TABLE_DROP(2), 0, 0},
        {"hook", "HOOK", WT_TABLE_RIGHT, WT_TABLE_DROP(1), 0, 0},
        {"own", "OWN%", WT_TABLE_RIGHT, WT_TABLE_DROP(3), 0, 0},
        {"command", "COMMAND", WT_TABLE_LEFT, WT_TABLE_FLEXIBLE, 12, 0},
};
#define HOOK_COLUMN 8
#define PROCESS_COLUMN_COUNT (sizeof(process_columns) / sizeof(process_columns[0]))

/* In the order of process_columns. FULL%: how much of its fuller ring waits. HOOK: ns of ours in a launch,
 * half take more; OWN%: hooks and callbacks, of the time since its first launch. */
static const char process_sql[] =
        "SELECT json_extract(value, '$.pid'), json_extract(value, '$.rank'),"
        " json_extract(value, '$.state'),"
        " json_extract(value, '$.capture'), json_extract(value, '$.launches_attempted'),"
        " json_extract(value, '$.kernels_stored'),"
        " json_extract(value, '$.launches_dropped') + json_extract(value, '$.kernels_dropped'),"
        " (SELECT CAST(max(100.0 * json_extract(r.value, '$.used') / json_extract(r.value, "
        "'$.cells'))"
        "   AS INTEGER) FROM json_each(p.value, '$.rings') r),"
        " json_extract(value, '$.cost.hook_p50_ns'),"
        " round(100.0 * json_extract(value, '$.cost.own_ns') / nullif(json_extract(value, "
        "'$.cost.wall_ns'), 0), 2),"
        " json_extract(value, '$.command') FROM json_each(?1, '$.processes') p";

/* What is wrong, a line each. */
static const char problem_sql[] =
        "SELECT 'process ' || json_extract(value, '$.pid') || ': ' || json_extract(value, "
        "'$.capture')"
        "  || ': ' || json_extract(value, '$.reason') FROM json_each(?1, '$.processes')"
        "  WHERE json_extract(value, '$.reason') IS NOT NULL"
        " UNION ALL SELECT 'process ' || json_extract(value, '$.pid') || ': '"
        "  || json_extract(value, '$.budget.reason') FROM json_each(?1, '$.processes')"
        "  WHERE json_extract(value, '$.budget.reason') IS NOT NULL"
        " UNION ALL SELECT 'process ' || json_extract(value, '$.pid')"
        "  || ': in a pid namespace that the daemon can''t see; its end is known only if it says "
        "so'"
        "  FROM json_each(?1, '$.processes') WHERE json_extract(value, '$.state') = 'unknown'"
        " UNION ALL SELECT 'process ' || json_extract(value, '$.pid')"
        "  || ': a record has been unfinished for seconds' FROM json_each(?1, '$.processes')"
        "  WHERE json_extract(value, '$.stalled')"
        " UNION ALL SELECT 'process ' || json_extract(value, '$.pid')"
        "  || ': CUPTI gives kernels no times (' || json_extract(value, '$.kernels_no_time')"
        "  || ' so far): its buffers on the GPU are used up, or there is no memory for them; start "
        "it '"
        "  || 'with more of them: WAVETAP_CUPTI_BUFFERS=250 (else 64)' FROM json_each(?1, "
        "'$.processes')"
        "  WHERE json_extract(value, '$.is_timeless')"
        " UNION ALL SELECT 'process ' || json_extract(value, '$.pid') || ': recording ended: '"
        "  || json_extract(value, '$.recording') || ': '"
        "  || json_extract(value, '$.recording_problem') FROM json_each(?1, '$.processes')"
        "  WHERE json_extract(value, '$.recording_problem') IS NOT NULL"
        /* without a path its file could not be made */
        " UNION ALL SELECT coalesce(nullif(json_extract(value, '$.path'), ''),"
        "  'a run is not stored') || ': '"
        "  || json_extract(value, '$.store.error') FROM json_each(?1, '$.runs')"
        "  WHERE json_extract(value, '$.store.error') IS NOT NULL"
        " UNION ALL SELECT json_extract(value, '$.path') || ': '"
        "  || json_extract(value, '$.kernels_late') || ' kernels came late: rows of top don''t sum "
        "until '"
        "  || 'wavetap analyze' FROM json_each(?1, '$.runs')"
        "  WHERE json_extract(value, '$.kernels_late') > 0"
        " UNION ALL SELECT 'segment ' || json_extract(value, '$.segment') || ' is left alone: '"
        "  || json_extract(value, '$.reason') FROM json_each(?1, '$.refused')";

static int print_processes(FILE *out, sqlite3 *db, const char *json,
                           const struct wt_text_terminal *terminal)
{
	sqlite3_stmt *s = query_json(db, process_sql, json);
	struct wt_table *table = wt_table_create(process_columns, PROCESS_COLUMN_COUNT);
	char number[WT_TEXT_NUMBER_BYTES];
	int rc = s && table ? 0 : -ENOMEM;

	while (!rc && sqlite3_step(s) == SQLITE_ROW) {
		wt_table_row(table, 0);
		for (int i = 0; i < (int)PROCESS_COLUMN_COUNT; i++) {
			if (sqlite3_column_type(s, i) == SQLITE_NULL)
				wt_table_add_null(table);
			else if (i == HOOK_COLUMN)
				wt_table_add_int(table, sqlite3_column_int64(s, i),
				                 wt_text_ns(number, sqlite3_column_int64(s, i)));
			else if (i >= 4 && i <= 6)
				wt_table_add_int(table, sqlite3_column_int64(s, i),
				                 wt_text_count(number, sqlite3_column_int64(s, i)));
			else
				wt_table_add_string(table, text_of(s, i), NULL);
		}
	}
	if (!rc && wt_table_row_count(table))
		rc = wt_table_print_text(table, out, terminal);
	wt_table_destroy(table);
	sqlite3_finalize(s);
	return rc;
}

static int print_daemon(FILE *out, sqlite3 *db, const char *json,
                        const struct wt_text_terminal *terminal)
{
	static const char head_sql[] =
	        "SELECT json_extract(?1, '$.version'), json_extract(?1, '$.pid'),"
	        " json_extract(?1, '$.uptime_s'), json_array_length(?1, '$.processes')";
	sqlite3_stmt *s = query_json(db, head_sql, json);
	char number[WT_TEXT_NUMBER_BYTES];
	struct wt_phrase line;
	int64_t up_s;
	int rc;

	wt_phrase_init(&line, out, terminal);
	if (s && sqlite3_step(s) == SQLITE_ROW) {
		wt_phrase_add(&line, "wavetapd %s runs", text_of(s, 0));
		wt_phrase_add(&line, "pid %s", text_of(s, 1));
		up_s = sqlite3_column_int64(s, 2);
		if (up_s >= 0 && up_s <= INT64_MAX / 1000000000)
			wt_phrase_add(&line, "up %s", wt_text_ns(number, 1000000000 * up_s));
		wt_phrase_add(&line, "%d process%s", sqlite3_column_int(s, 3),
		              sqlite3_column_int(s, 3) == 1 ? "" : "es");
		wt_phrase_end(&line);
	}
	sqlite3_finalize(s);
	rc = print_processes(out, db, json, terminal);
	if (!rc)
		rc = wt_status_samplers(out, db, json, terminal);
	s = query_json(db, problem_sql, json);
	while (s && sqlite3_step(s) == SQLITE_ROW) {
		wt_phrase_add(&line, "%s", text_of(s, 0));
		wt_phrase_end(&line);
	}
	sqlite3_finalize(s);
	return rc;
}

/* ---- the last runs */

static void print_run(FILE *out, sqlite3 *db, const struct wt_db_run_file *run,
                      const struct wt_report *report, const struct wt_text_terminal *terminal)
{
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES], problem[WT_PATH_BYTES];
	struct wt_phrase line;

	wt_phrase_init(&line, out, terminal);
	wt_phrase_add(&line, "run %s", run->id);
	if (run->name[0])
		wt_phrase_add(&line, "%s", run->name);
	wt_phrase_add(&line, "%s", run->processes_live ? "running" : "finished");
	wt_phrase_add(&line, "%" PRId64 " process%s", run->processes,
	              run->processes == 1 ? "" : "es");
	wt_phrase_add(&line, "%s launches, %s kernels",
	              wt_text_count(a, report->loss.launches_attempted),
	              wt_text_count(b, report->loss.kernels));
	wt_phrase_add(&line, "%s lost", wt_text_count(a, wt_report_kernels_lost(&report->loss)));
	wt_phrase_add(&line, "%s unexplained", wt_text_count(a, report->loss.unexplained));
	wt_cost_add(&line, &report->cost, "");
	wt_phrase_end(&line);
	wt_top_print_losses(out, terminal, report);
	if (wt_db_meta(db, "recording_problem", problem, sizeof(problem))) {
		wt_phrase_add(&line, "a recording is not whole: %s", problem);
		wt_phrase_end(&line);
	}
}

static void put_run(struct wt_json *json, const struct wt_run_file *run,
                    const struct wt_report *report)
{
	char problem[WT_PATH_BYTES];

	wt_json_object_begin(json);
	wt_json_put_run(json, run);
	wt_json_key(json, "processes");
	wt_json_int(json, report->processes);
	wt_json_key(json, "processes_live");
	wt_json_int(json, report->processes_live);
	wt_json_key(json, "loss");
	wt_json_put_loss(json, &report->loss);
	wt_cost_put(json, &report->cost);
	wt_json_put_incomplete(json, report);
	wt_json_key(json, "recording_problem");
	wt_json_string(json, wt_db_meta(run->db, "recording_problem", problem, sizeof(problem))
	                             ? problem
	                             : NULL);
	wt_json_object_end(json);
}

/* Shows one run, to `json` if it isn't NULL, else to `out`. */
static void show_run(FILE *out, const struct wt_db_run_file *info, struct wt_json *json,
                     const struct wt_text_terminal *terminal)
{
	struct wt_run_file run = {.info = *info};
	char error[WT_DB_ERROR_BYTES];
	struct wt_report report;
	int rc;

	if (info->error || wt_db_open(info->path, &run.db, error)) {
		wt_cli_error("%s", info->error ? info->error_text : error);
		return;
	}
	memset(&report, 0, sizeof(report));
	rc = wt_run_attach_rows(run.db);
	if (!rc)
		rc = wt_report_load_losses(run.db, &report);
	if (rc)
		wt_cli_error("%s: %s", info->path, rc == -EIO ? report.problem : strerror(-rc));
	else if (json)
		put_run(json, &run, &report);
	else
		print_run(out, run.db, info, &report, terminal);
	wt_report_fini(&report);
	wt_run_file_close(&run);
}

static int show_runs(FILE *out, const char *data_dir, struct wt_json *json,
                     const struct wt_text_terminal *terminal)
{
	struct wt_db_run_file *runs = NULL;
	size_t count = 0;
	int rc = wt_db_list(data_dir, &runs, &count);

	if (rc) {
		wt_cli_error("%s/runs: %s", data_dir, strerror(-rc));
		return WT_EXIT_FAILED;
	}
	if (!json) {
		fputc('\n', out);
		wt_phrase_line(out, terminal, "%zu run%s in %s", count, count == 1 ? "" : "s",
		               data_dir);
	}
	for (size_t i = count > RUNS_SHOWN ? count - RUNS_SHOWN : 0; i < count; i++)
		show_run(out, &runs[i], json, terminal);
	free(runs);
	return WT_EXIT_FINE;
}

/* ---- the whole */

static const char *daemon_state(int rc)
{
	if (rc == -ECONNREFUSED)
		return "wavetapd is not running (it starts with the first recorded program)";
	if (rc == -EPERM)
		return "the daemon's socket belongs to another user";
	if (rc == -ETIMEDOUT)
		return "wavetapd does not answer";
	return "wavetapd gave no answer that makes sense";
}

/* A program that found no room for its segment could leave no reason: say it here. */
static void print_room(FILE *out, const struct wt_text_terminal *terminal)
{
	char number[WT_TEXT_NUMBER_BYTES];
	struct wt_shm_room room;

	wt_shm_room_look(&room);
	if (room.is_usable)
		wt_phrase_line(out, terminal, "shared memory: %s free in %s",
		               wt_text_bytes(number, (uint64_t)room.free_bytes), room.path);
	else
		wt_phrase_line(out, terminal, "programs started now are NOT recorded: %s",
		               room.problem);
}

static void put_room(struct wt_json *json)
{
	struct wt_shm_room room;

	wt_shm_room_look(&room);
	wt_json_object_begin(json);
	wt_json_key(json, "path");
	wt_json_string(json, room.path);
	wt_json_key(json, "free_bytes");
	if (room.free_bytes < 0)
		wt_json_string(json, NULL);
	else
		wt_json_int(json, room.free_bytes);
	wt_json_key(json, "is_usable");
	wt_json_bool(json, room.is_usable);
	wt_json_key(json, "reason");
	wt_json_string(json, room.is_usable ? NULL : room.problem);
	wt_json_object_end(json);
}

/* The daemon's object goes into ours as it is: SQLite has checked it. */
static int print_json(const char *data_dir, const char *reply, int daemon_rc)
{
	struct wt_json json;
	int code;

	printf("{\"schema\": %d, \"daemon\": %s,", WT_JSON_SCHEMA, reply ? reply : "null");
	printf(" \"reason\": ");
	wt_json_init(&json, stdout, false);
	wt_json_string(&json, reply ? NULL : daemon_state(daemon_rc));
	printf(", \"shared_memory\": ");
	wt_json_init(&json, stdout, false);
	put_room(&json);
	printf(", \"runs\": ");
	wt_json_init(&json, stdout, false);
	wt_json_array_begin(&json);
	code = show_runs(stdout, data_dir, &json, NULL);
	wt_json_array_end(&json);
	printf("}\n");
	return code;
}

static bool is_object(sqlite3 *db, const char *json)
{
	sqlite3_stmt *s =
	        query_json(db, "SELECT json_valid(?1) AND json_type(?1) = 'object'", json);
	bool is_valid = s && sqlite3_step(s) == SQLITE_ROW && sqlite3_column_int(s, 0);

	sqlite3_finalize(s);
	return is_valid;
}

/* What the daemon says into *ret_reply, malloc'd; NULL, and -errno. */
static int ask(sqlite3 *db, const char *data_dir, int timeout_ms, char **ret_reply)
{
	int rc = wt_client_request(data_dir, "status", timeout_ms, ret_reply);

	if (rc) {
		*ret_reply = NULL;
	} else if (!is_object(db, *ret_reply)) {
		free(*ret_reply);
		*ret_reply = NULL;
		rc = -EBADMSG;
	}
	return rc;
}

/* All of it for people. An enum wt_exit. */
static int print_text(FILE *out, const struct wt_text_terminal *terminal, const char *data_dir,
                      sqlite3 *db, const char *reply, int daemon_rc)
{
	int code = WT_EXIT_FINE;

	if (reply)
		code = wt_cli_output_result(print_daemon(out, db, reply, terminal));
	else
		wt_phrase_line(out, terminal, "%s", daemon_state(daemon_rc));
	print_room(out, terminal);
	return code ? code : show_runs(out, data_dir, NULL, terminal);
}

/* The same, again and again; `arg` is the data directory. */
static int print_again(void *arg, FILE *out, const struct wt_text_terminal *terminal)
{
	const char *data_dir = arg;
	sqlite3 *db = NULL;
	char *reply = NULL;
	int rc;

	wt_report_forget_damage();
	if (sqlite3_open(":memory:", &db) != SQLITE_OK) {
		sqlite3_close(db);
		return -ENOMEM;
	}
	rc = ask(db, data_dir, WATCH_TIMEOUT_MS, &reply);
	(void)print_text(out, terminal, data_dir, db, reply, rc);
	free(reply);
	sqlite3_close(db);
	return 0;
}

static int watch(const struct status_values *values, char *data_dir, int64_t interval_ns)
{
	const struct wt_watch_text text = {.command = "status",
	                                   .title = "wavetap status",
	                                   .print = print_again,
	                                   .arg = data_dir,
	                                   .interval_ns = interval_ns,
	                                   .has_no_colour = values->has_no_colour};

	return wt_watch_text(&text);
}

static int run_status(void *opaque, int operand_count, char **operands)
{
	const struct status_values *values = opaque;
	struct wt_text_terminal terminal;
	char data_dir[WT_PATH_BYTES];
	char *reply = NULL;
	sqlite3 *db = NULL;
	int64_t interval_ns;
	int code, rc;

	(void)operand_count;
	(void)operands;
	code = wt_watch_parse("status", values->is_watched, values->interval, values->has_no_colour,
	                      &interval_ns);
	if (code)
		return code;
	if (values->is_watched && values->is_json)
		return wt_cli_usage_error("status", "--watch is for people: not with --json");
	if (wt_run_data_dir(data_dir))
		return WT_EXIT_FAILED;
	if (values->is_watched)
		return watch(values, data_dir, interval_ns);
	if (sqlite3_open(":memory:", &db) != SQLITE_OK) {
		wt_cli_error("out of memory");
		sqlite3_close(db);
		return WT_EXIT_FAILED;
	}
	rc = ask(db, data_dir, REQUEST_TIMEOUT_MS, &reply);
	wt_text_terminal_probe(STDOUT_FILENO, &terminal);
	code = values->is_json ? print_json(data_dir, reply, rc)
	                       : print_text(stdout, &terminal, data_dir, db, reply, rc);
	free(reply);
	sqlite3_close(db);
	return code || rc == 0 || rc == -ECONNREFUSED ? code : WT_EXIT_FAILED;
}

const struct wt_command wt_cmd_status = {
        .name = "status",
        .summary = "the daemon, what it records now, what the last runs lost and why",
        .example = "wavetap status",
        .theme = WT_THEME_RECORD,
        .options = status_options,
        .values_bytes = sizeof(struct status_values),
        .run = run_status,
};
