/*
 * wt_db_upgrade.c - run files of an earlier version become files of this one: see wt_db.h. May block
 * on the disk.
 *
 * Version 1 had no shares: every kernel counted as if alone. Its kernels were never swept; they stand
 * in `sweep` as late, so that readers say it and `wavetap analyze` mends it.
 *
 * Version 2 did not know how long a kernel that others ran beside was by itself. Not at all, until
 * `wavetap analyze` sweeps again: then no measurement is taken for more than it saw.
 */
#include "schema/wt_db.h"

#include <stdio.h>
#include <string.h>

/* The statement of schema.sql that begins so. An SQLite code. */
static int run_of_schema(sqlite3 *db, const char *begin)
{
	const char *sql = strstr(wt_schema_sql, begin);
	sqlite3_stmt *statement = NULL;
	int code = sql ? sqlite3_prepare_v2(db, sql, -1, &statement, NULL) : SQLITE_INTERNAL;

	if (code == SQLITE_OK)
		code = sqlite3_step(statement);
	sqlite3_finalize(statement);
	return code == SQLITE_DONE ? SQLITE_OK : code;
}

static int from_1(sqlite3 *db)
{
	static const char *const anew[] = {
	        "CREATE TABLE kernel_share",
	        "CREATE TABLE sweep",
	        "CREATE VIEW launch",
	};
	static const char late_sql[] =
	        "INSERT INTO sweep SELECT c.device_id, max(e.end_ns), max(e.exec_id) + 1, 0, "
	        "count(*), 0 FROM kernel_exec e JOIN config c USING (config_id) JOIN gpu g USING "
	        "(device_id) WHERE e.end_ns > e.start_ns AND g.sm_count > 0 GROUP BY c.device_id";
	int code = sqlite3_exec(db,
	                        "DROP VIEW IF EXISTS launch; "
	                        "ALTER TABLE config_stat ADD COLUMN comm_sm_ns INTEGER NOT NULL "
	                        "DEFAULT 0",
	                        NULL, NULL, NULL);

	for (size_t i = 0; i < sizeof(anew) / sizeof(anew[0]) && code == SQLITE_OK; i++)
		code = run_of_schema(db, anew[i]);
	if (code == SQLITE_OK)
		code = sqlite3_exec(db, late_sql, NULL, NULL, NULL);
	return code;
}

/* Those of version 1 have the table of shares from the schema, and nothing in it. */
static int from_2(sqlite3 *db, bool has_share_columns)
{
	static const char shares_sql[] =
	        "ALTER TABLE kernel_share ADD COLUMN alone_ns INTEGER NOT NULL DEFAULT 0; "
	        "ALTER TABLE kernel_share ADD COLUMN active_sm_ns INTEGER NOT NULL DEFAULT 0";
#define BESIDE(name)                                                                               \
	"ALTER TABLE config_stat ADD COLUMN beside_" name " INTEGER NOT NULL DEFAULT 0; "
	static const char stat_sql[] = BESIDE("ns") BESIDE("active_sm_ns") BESIDE("underfill_sm_ns")
	        BESIDE("wave_sm_ns") BESIDE("wave_max_sm_ns")
	                BESIDE("unjudged_sm_ns") "UPDATE config_stat AS t SET (beside_ns, "
	                                         "beside_underfill_sm_ns, beside_wave_sm_ns, "
	                                         "beside_wave_max_sm_ns, beside_unjudged_sm_ns) = "
	                                         "(s.time, s.u, s.w, s.wm, s.n) FROM "
	                                         "(SELECT e.process_id AS p, e.config_id AS c, "
	                                         "e.graph_id IS NOT NULL AS g, "
	                                         "sum(e.end_ns - e.start_ns) AS time, "
	                                         "sum(k.underfill_sm_ns) AS u, "
	                                         "sum(k.wave_sm_ns) AS w, sum(k.wave_max_sm_ns) AS "
	                                         "wm, sum(k.unjudged_sm_ns) AS n "
	                                         "FROM kernel_share k JOIN kernel_exec e USING "
	                                         "(exec_id) GROUP BY 1, 2, 3) s "
	                                         "WHERE s.p = t.process_id AND s.c = t.config_id "
	                                         "AND s.g = t.in_graph; "
	                                         "DROP VIEW IF EXISTS kernel_idle; DROP VIEW IF "
	                                         "EXISTS config_idle";
#undef BESIDE
	int code = has_share_columns ? SQLITE_OK : sqlite3_exec(db, shares_sql, NULL, NULL, NULL);

	if (code == SQLITE_OK)
		code = sqlite3_exec(db, stat_sql, NULL, NULL, NULL);
	if (code == SQLITE_OK)
		code = run_of_schema(db, "CREATE VIEW config_idle");
	if (code == SQLITE_OK)
		code = run_of_schema(db, "CREATE VIEW kernel_idle");
	return code == SQLITE_OK ? sqlite3_exec(db, wt_schema_added_sql, NULL, NULL, NULL) : code;
}

/*
 * Version 3 had no sums for means of the least and most active SM: not known of its buckets. It knew no
 * issue slots, and kept the wave of a class where that of the measurement is.
 */
static int from_3(sqlite3 *db)
{
	static const char sql[] =
	        "ALTER TABLE sm_bucket ADD COLUMN busy_ns INTEGER; "
	        "ALTER TABLE sm_bucket ADD COLUMN extremes_ns INTEGER; "
	        "ALTER TABLE sm_bucket ADD COLUMN min_share_ns REAL; "
	        "ALTER TABLE sm_bucket ADD COLUMN max_share_ns REAL; "
	        "ALTER TABLE measured ADD COLUMN issue_share REAL; "
	        "ALTER TABLE measured ADD COLUMN bound_reason TEXT; "
	        "ALTER TABLE measured ADD COLUMN class_wave_sms REAL; "
	        "UPDATE measured SET class_wave_sms = wave_sms WHERE wave_form IS NOT NULL; "
	        "DROP VIEW IF EXISTS kernel_idle; DROP VIEW IF EXISTS config_idle";
	int code = sqlite3_exec(db, sql, NULL, NULL, NULL);

	if (code == SQLITE_OK)
		code = run_of_schema(db, "CREATE VIEW config_idle");
	if (code == SQLITE_OK)
		code = run_of_schema(db, "CREATE VIEW kernel_idle");
	return code == SQLITE_OK ? sqlite3_exec(db, wt_schema_added_sql, NULL, NULL, NULL) : code;
}

/* Version 4 had no chunks: its rows stay where they are. */
static int from_4(sqlite3 *db)
{
	int code = run_of_schema(db, "CREATE TABLE IF NOT EXISTS chunk");

	return code == SQLITE_OK ? run_of_schema(db, "CREATE INDEX IF NOT EXISTS chunk_find")
	                         : code;
}

int wt_db_renew_loss(sqlite3 *db)
{
	int code;

	if (wt_db_int(db,
	              "SELECT instr(sql, 'dropped_thread') FROM main.sqlite_schema WHERE name = "
	              "'loss'",
	              0))
		return SQLITE_OK;
	code = sqlite3_exec(db, "DROP VIEW IF EXISTS main.loss", NULL, NULL, NULL);
	return code == SQLITE_OK ? run_of_schema(db, "CREATE VIEW loss") : code;
}

int wt_db_upgrade(sqlite3 *db)
{
	char sql[48];
	int code = SQLITE_OK;
	int64_t version = wt_db_int(db, "PRAGMA user_version", 0);

	if (version == WT_DB_VERSION)
		return SQLITE_OK;
	if (version == 1)
		code = from_1(db);
	if (code == SQLITE_OK && (version == 1 || version == 2))
		code = from_2(db, version == 1);
	if (code == SQLITE_OK && version == 3)
		code = from_3(db);
	if (code == SQLITE_OK)
		code = from_4(db);
	snprintf(sql, sizeof(sql), "PRAGMA user_version = %d", WT_DB_VERSION);
	return code == SQLITE_OK ? sqlite3_exec(db, sql, NULL, NULL, NULL) : code;
}
