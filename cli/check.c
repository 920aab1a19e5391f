/*
 * check.c - the order of the checks of a run file; SQLite's own check, the schema, text.
 * See check.h.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/check.h"
#include "cli/text.h"
#include "schema/wt_rows.h"

#define INTEGRITY_LINES_MAX 20 /* a damaged file has thousands of errors */
#define PROGRESS_STEPS 20000 /* of SQLite's machine: a few times a second at least */

int wt_check_add(struct wt_check *check, const char *name, const char *table, int64_t count,
                 const char *format, ...)
{
	struct wt_check_problem *problem;
	va_list ap;

	if (check->count == check->room) {
		size_t room = check->room ? 2 * check->room : 16;

		problem = realloc(check->problems, room * sizeof(*problem));
		if (!problem)
			return -ENOMEM;
		check->problems = problem;
		check->room = room;
	}
	problem = &check->problems[check->count++];
	problem->check = name;
	problem->count = count;
	snprintf(problem->table, sizeof(problem->table), "%s", table);
	va_start(ap, format);
	vsnprintf(problem->text, sizeof(problem->text), format, ap);
	va_end(ap);
	return 0;
}

int wt_check_code(struct wt_check *check, int sqlite_code)
{
	int err = wt_db_errno(sqlite_code);

	if (!err)
		return 0;
	if ((sqlite_code & 0xff) == SQLITE_INTERRUPT)
		return -EINTR;
	if (err == -ENOMEM)
		return err;
	snprintf(check->error, sizeof(check->error), "%s", sqlite3_errmsg(check->db));
	return err;
}

/* ---- SQLite's own */

static int check_integrity(struct wt_check *check)
{
	sqlite3_stmt *row = NULL;
	char sql[64];
	int code, err = 0;

	snprintf(sql, sizeof(sql), "PRAGMA integrity_check(%d)", INTEGRITY_LINES_MAX);
	code = sqlite3_prepare_v2(check->db, sql, -1, &row, NULL);
	while (code == SQLITE_OK && !err && (code = sqlite3_step(row)) == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(row, 0);

		if (!text || strcmp(text, "ok") != 0)
			err = wt_check_add(check, "integrity", "", 1, "%s", text ? text : "?");
		code = SQLITE_OK;
	}
	sqlite3_finalize(row);
	return err ? err : wt_check_code(check, code);
}

/* ---- the schema */

/* Columns and their types, as one text. Not the SQL itself: its comments may differ. */
static const char want_sql[] = "SELECT type, name, (SELECT group_concat(name || ' ' || type) FROM "
                               "pragma_table_info(s.name)) FROM sqlite_schema s "
                               "WHERE sql IS NOT NULL";
static const char have_sql[] = "SELECT count(*), (SELECT group_concat(name || ' ' || type) FROM "
                               "pragma_table_info(?2, 'main')) FROM main.sqlite_schema "
                               "WHERE type = ?1 AND name = ?2";

/* What earlier versions had not, or had otherwise. */
static bool is_of_later_version(const struct wt_check *check, const char *name)
{
	static const char *const names[] = {
	        "config_stat",      "kernel_share",   "config_idle", "kernel_idle",   "sampler",
	        "sample_chunk",     "sm_bucket",      "gpu_state",   "fold",          "measured",
	        "measured_profile", "profile_launch", "sm_active",   "profile_count", "sweep",
	        "launch",
	};
	size_t count = sizeof(names) / sizeof(names[0]) - (check->has_shares ? 2 : 0);

	if (!check->has_chunks && !strncmp(name, "chunk", strlen("chunk")))
		return true;
	if (!check->has_classes && !strcmp(name, "sm_bucket"))
		return true;
	for (size_t i = 0; !check->has_measured && i < count; i++)
		if (!strcmp(name, names[i]))
			return true;
	return !check->has_classes && (!strcmp(name, "measured") || !strcmp(name, "config_idle"));
}

static bool is_of_measuring(const char *table)
{
	static const char *const names[] = {"sampler",          "sample_chunk",   "sm_bucket",
	                                    "gpu_state",        "fold",           "measured",
	                                    "measured_profile", "profile_launch", "profile_count"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(table, names[i]))
			return true;
	return false;
}

/*
 * Files made before ranges, or wavetap's own cost, were recorded, or gaps were summed, have nothing
 * of them.
 */
static bool is_added_later(sqlite3 *db, const char *name)
{
	bool is_of_cost =
	        !strcmp(name, "own_cost") || !strcmp(name, "hook_time") || !strcmp(name, "cost");

	bool is_of_ranges = !strcmp(name, "range") || !strncmp(name, "range_", 6) ||
	                    !strcmp(name, "kernel_range");

	if (!strncmp(name, "drop", 4))
		return !wt_db_int(db,
		                  "SELECT count(*) FROM sqlite_schema WHERE name IN ('dropped', "
		                  "'dropped_thread', 'drop_mark')",
		                  1);
	if (!strcmp(name, "graph_unobserved"))
		return !wt_db_int(
		        db, "SELECT count(*) FROM sqlite_schema WHERE name = 'graph_unobserved'",
		        1);
	if (!strncmp(name, "ledger_", 7))
		return !wt_db_int(db,
		                  "SELECT count(*) FROM sqlite_schema WHERE name LIKE "
		                  "'ledger\\_%' ESCAPE '\\'",
		                  1);
	if (is_of_cost)
		return !wt_db_int(db,
		                  "SELECT count(*) FROM sqlite_schema WHERE name IN ('own_cost', "
		                  "'hook_time', 'cost')",
		                  1);
	return is_of_ranges && !wt_db_int(db,
	                                  "SELECT count(*) FROM sqlite_schema WHERE name = 'range' "
	                                  "OR name LIKE 'range\\_%' ESCAPE '\\'",
	                                  1);
}

static int compare_schema(struct wt_check *check, sqlite3_stmt *want, sqlite3_stmt *have)
{
	const char *type = (const char *)sqlite3_column_text(want, 0);
	const char *name = (const char *)sqlite3_column_text(want, 1);
	const char *columns = (const char *)sqlite3_column_text(want, 2);
	const char *found;
	int code =
	        is_of_later_version(check, name) ? SQLITE_DONE : wt_db_bind(have, "tt", type, name);
	int err = 0;

	if (code == SQLITE_OK)
		code = sqlite3_step(have);
	if (code != SQLITE_ROW)
		return wt_check_code(check, code);
	found = (const char *)sqlite3_column_text(have, 1);
	if (!sqlite3_column_int(have, 0) && is_added_later(check->db, name))
		err = 0;
	else if (!sqlite3_column_int(have, 0))
		err = wt_check_add(check, "schema", name, 1, "the %s is missing", type);
	else if (strcmp(found ? found : "", columns ? columns : "") != 0)
		err = wt_check_add(check, "schema", name, 1,
		                   "the %s has not the columns that wavetap gives it", type);
	code = sqlite3_reset(have);
	return err ? err : wt_check_code(check, code);
}

/* Is each table, view and index of schema.sql there? What a user has added is no concern of ours. */
static int check_schema(struct wt_check *check)
{
	sqlite3 *model = NULL;
	sqlite3_stmt *want = NULL, *have = NULL;
	int code = sqlite3_open(":memory:", &model);
	int err = 0;

	if (code == SQLITE_OK)
		code = sqlite3_exec(model, wt_schema_sql, NULL, NULL, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_prepare_v2(model, want_sql, -1, &want, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_prepare_v2(check->db, have_sql, -1, &have, NULL);
	while (code == SQLITE_OK && !err && (code = sqlite3_step(want)) == SQLITE_ROW) {
		err = compare_schema(check, want, have);
		code = SQLITE_OK;
	}
	sqlite3_finalize(have);
	sqlite3_finalize(want);
	sqlite3_close(model);
	return err ? err : wt_check_code(check, code);
}

/* ---- text */

static void is_utf8(sqlite3_context *context, int count, sqlite3_value **values)
{
	const char *text = (const char *)sqlite3_value_text(values[0]);
	size_t bytes = (size_t)sqlite3_value_bytes(values[0]);
	uint32_t code = 0;

	(void)count;
	for (size_t at = 0; text && at < bytes && code != UINT32_MAX;)
		at += wt_text_decode(text + at, bytes - at, &code);
	sqlite3_result_int(context, code != UINT32_MAX);
}

static int check_column(struct wt_check *check, const char *table, const char *column)
{
	char *sql =
	        sqlite3_mprintf("SELECT count(*), min(rowid_text) FROM (SELECT quote(hex(\"%w\")) "
	                        "AS rowid_text FROM \"%w\" WHERE typeof(\"%w\") = 'text' "
	                        "AND NOT wt_is_utf8(\"%w\"))",
	                        column, table, column, column);
	sqlite3_stmt *row = NULL;
	int code = sql ? sqlite3_prepare_v2(check->db, sql, -1, &row, NULL) : SQLITE_NOMEM;
	int err = 0;

	if (code == SQLITE_OK)
		code = sqlite3_step(row);
	if (code == SQLITE_ROW && sqlite3_column_int64(row, 0))
		err = wt_check_add(check, "text", table, sqlite3_column_int64(row, 0),
		                   "%s is not UTF-8 (first, in hexadecimal: %.60s)", column,
		                   (const char *)sqlite3_column_text(row, 1));
	sqlite3_finalize(row);
	sqlite3_free(sql);
	return err ? err : wt_check_code(check, code);
}

static int check_text(struct wt_check *check)
{
	static const char sql[] = "SELECT t.name, c.name FROM sqlite_schema t, "
	                          "pragma_table_info(t.name) c WHERE t.type = 'table' "
	                          "AND t.name NOT LIKE 'sqlite%' AND upper(c.type) = 'TEXT'";
	sqlite3_stmt *row = NULL;
	int code = sqlite3_create_function(check->db, "wt_is_utf8", 1,
	                                   SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, is_utf8, NULL,
	                                   NULL);
	int err = 0;

	if (code == SQLITE_OK)
		code = sqlite3_prepare_v2(check->db, sql, -1, &row, NULL);
	while (code == SQLITE_OK && !err && (code = sqlite3_step(row)) == SQLITE_ROW) {
		err = check_column(check, (const char *)sqlite3_column_text(row, 0),
		                   (const char *)sqlite3_column_text(row, 1));
		code = SQLITE_OK;
	}
	sqlite3_finalize(row);
	return err ? err : wt_check_code(check, code);
}

/* ---- queries */

static int check_query(struct wt_check *check, const struct wt_check_query *query)
{
	sqlite3_stmt *row = NULL;
	int code, err = 0;

	if (is_added_later(check->db, query->table))
		return 0;
	code = sqlite3_prepare_v2(check->db, query->sql, -1, &row, NULL);

	if (code == SQLITE_OK)
		code = sqlite3_step(row);
	if (code == SQLITE_ROW && sqlite3_column_int64(row, 0)) {
		const char *first = (const char *)sqlite3_column_text(row, 1);

		err = wt_check_add(check, query->check, query->table, sqlite3_column_int64(row, 0),
		                   "%s%s%s%s", query->text, first ? " (first: " : "",
		                   first ? first : "", first ? ")" : "");
	}
	sqlite3_finalize(row);
	return err ? err : wt_check_code(check, code);
}

/* ---- all of them */

typedef int check_fn(struct wt_check *check);
static check_fn *const checks[] = {check_integrity,  check_schema,     check_text,
                                   wt_check_chunks,  wt_check_kernels, wt_check_calls,
                                   wt_check_samples, wt_check_ledger,  wt_check_bounds};
#define CHECK_COUNT ((int)(sizeof(checks) / sizeof(checks[0])))

int wt_check_count(void)
{
	return CHECK_COUNT + wt_check_query_count;
}

static int on_progress(void *arg)
{
	struct wt_check *check = arg;

	if (check->progress)
		check->progress(check->progress_arg, check->done);
	return check->is_interrupted && *check->is_interrupted;
}

/* A table that is missing or damaged ends one check; that was told already or is told here. */
static int make_check(struct wt_check *check, int number)
{
	const struct wt_check_query *query =
	        number < CHECK_COUNT ? NULL : &wt_check_queries[number - CHECK_COUNT];
	int err;

	check->done = number;
	if (on_progress(check))
		return -EINTR;
	if (query && !check->has_measured && is_of_measuring(query->table))
		return 0; /* a file of version 2 */
	if (query && !check->has_shares &&
	    (!strcmp(query->table, "kernel_share") || !strcmp(query->table, "sweep")))
		return 0; /* a file of version 1 */
	err = query ? check_query(check, query) : checks[number](check);
	if (!err || err == -EINTR || err == -ENOMEM)
		return err;
	return wt_check_add(check, query ? query->check : "integrity", query ? query->table : "", 1,
	                    "can't be read: %.300s", check->error);
}

/* Of damaged chunks wt_check_chunks() tells; the other checks go on without their rows. */
static void ignore_damage(void *arg, const struct wt_rows_damage *damage)
{
	(void)arg;
	(void)damage;
}

static int begin(struct wt_check *check)
{
	int code =
	        sqlite3_exec(check->db, "PRAGMA temp_store=DEFAULT; PRAGMA query_only=OFF; BEGIN",
	                     NULL, NULL, NULL);

	if (code == SQLITE_OK)
		code = wt_rows_attach(check->db, ignore_damage, NULL);
	if (code == SQLITE_OK)
		code = wt_rows_hide(check->db);
	if (code == SQLITE_OK)
		code = sqlite3_exec(
		        check->db,
		        wt_db_has_table(check->db, "dropped")
		                ? "CREATE TEMP VIEW wt_dropped AS SELECT * FROM "
		                  "main.dropped"
		                : "CREATE TEMP TABLE wt_dropped (process_id, device_id, "
		                  "kind, row_count, bytes, first_ns, last_ns, last_id, "
		                  "dropped_ns)",
		        NULL, NULL, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_exec(check->db, "PRAGMA query_only=ON", NULL, NULL, NULL);
	return wt_check_code(check, code);
}

int wt_check_run(struct wt_check *check)
{
	int err = begin(check);

	if (err)
		return err == -ENOMEM ? err : -EIO;
	sqlite3_progress_handler(check->db, PROGRESS_STEPS, on_progress, check);
	check->has_shares = wt_db_int(check->db, "PRAGMA user_version", 0) > 1;
	check->has_measured = wt_db_int(check->db, "PRAGMA user_version", 0) > 2;
	check->has_classes = wt_db_int(check->db, "PRAGMA user_version", 0) > 3;
	check->has_chunks = wt_db_int(check->db, "PRAGMA user_version", 0) > 4;
	check->has_drops = wt_db_has_table(check->db, "dropped") &&
	                   wt_db_int(check->db, "SELECT 1 FROM dropped LIMIT 1", 0);
	check->is_live =
	        wt_db_int(check->db, "SELECT count(*) FROM proc WHERE state = 'live'", 0) > 0;
	for (int i = 0; i < wt_check_count() && !err; i++)
		err = make_check(check, i);
	if (!err)
		check->done = wt_check_count();
	sqlite3_progress_handler(check->db, 0, NULL, NULL);
	sqlite3_exec(check->db, "ROLLBACK", NULL, NULL, NULL);
	return err;
}

void wt_check_fini(struct wt_check *check)
{
	free(check->problems);
	check->problems = NULL;
	check->count = check->room = 0;
}
