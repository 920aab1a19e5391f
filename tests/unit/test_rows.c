/*
 * test_rows.c - the rows of a file, packed or not, as tables: whatever is asked of them gives what the
 * same question gives of a plain copy of all rows that was made before any was packed.
 */
#include <sqlite3.h>
#include <unistd.h>

#include "schema/wt_db.h"
#include "schema/wt_rows.h"
#include "tests/tap.h"
#include "tests/unit/pack_rows.h"

static uint64_t state = 1442695040888963407;
static sqlite3 *db;
static int told_count;
static char told_text[WT_ROWS_TEXT_BYTES];

static uint32_t draw(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 16) % below;
}

static void run(const char *sql)
{
	char *message = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) {
		printf("Bail out! %s: %s\n", sql, message);
		exit(1);
	}
}

static void told(void *arg, const struct wt_rows_damage *damage)
{
	(void)arg;
	told_count++;
	wt_rows_describe(damage, told_text);
}

/* ---- a file */

/* Rows of three processes and two devices, by turns; ids with holes, some without times. */
static void make_rows(int count)
{
	char sql[1024];
	int64_t at_ns = 1000000, seq[4] = {0};

	run("BEGIN; INSERT INTO config (config_id, kernel_id, device_id, grid_x, grid_y, grid_z, "
	    "block_x, block_y, block_z, cluster_x, cluster_y, cluster_z, regs_per_thread, "
	    "static_smem_bytes, dynamic_smem_bytes, cooperative, max_active_clusters, sm_count, "
	    "blocks) WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 9) "
	    "SELECT i, 1, 1 + i % 2, i, 1, 1, 32, 1, 1, 0, 0, 0, 16, 0, 0, 0, 0, 132, i FROM n");
	for (int i = 1, id = 0; i <= count; i++) {
		int process = 1 + i / 50 % 3, config = 1 + (int)draw(9);
		int64_t entry_ns = at_ns += 1 + draw(5000), ns = 100 + draw(9000);
		bool has_time = draw(50) != 0, is_graph = draw(8) == 0;

		id += 1 + (draw(6) == 0) * (int)draw(5);
		seq[process] += 1 + (draw(9) == 0);
		snprintf(sql, sizeof(sql),
		         "INSERT INTO kernel_exec VALUES (%d,%d,%d,%s,%s,1,%u,%d,%s,%s,%lld,%u,"
		         "iif(%d,%lld,NULL),iif(%d,%lld,NULL),iif(%d,%lld,NULL))",
		         id, process, config, has_time ? "?1" : "NULL", has_time ? "?2" : "NULL",
		         7 + draw(2), i, is_graph ? "0" : "NULL", is_graph ? "99" : "NULL",
		         (long long)seq[process], draw(4), has_time, (long long)ns * 10, has_time,
		         (long long)ns * 20 / 3, has_time, (long long)ns * 30 / 7);
		sqlite3_stmt *s = NULL;
		sqlite3_prepare_v2(db, sql, -1, &s, NULL);
		wt_db_bind(s, has_time ? "ii" : "", entry_ns + 3000, entry_ns + 3000 + ns);
		if (sqlite3_step(s) != SQLITE_DONE)
			printf("Bail out! %s\n", sqlite3_errmsg(db));
		sqlite3_finalize(s);
		snprintf(sql, sizeof(sql),
		         "INSERT INTO launch_call VALUES (%d,%lld,%lld,%lld,3,%d,%d,0,%d,%d,1,1,"
		         "32,1,1,0,0,0)",
		         process, (long long)seq[process], (long long)entry_ns,
		         (long long)entry_ns + 2000 + draw(900), 100 + process, 200 + process,
		         config, config);
		run(sql);
		snprintf(sql, sizeof(sql),
		         "INSERT INTO api_call VALUES (%d,%d,70,%s,%lld,%lld,1,2,%u,0,%u,0,0)", id,
		         process, draw(3) ? "NULL" : "5", (long long)entry_ns + 10,
		         (long long)entry_ns + 40, draw(90), draw(4));
		if (draw(3) == 0)
			run(sql);
		snprintf(sql, sizeof(sql), "INSERT INTO kernel_share VALUES (%d,%u,%u,%u,0,0,%u,7)",
		         id, draw(1000), draw(1000), draw(1000), draw(100));
		if (draw(4) == 0)
			run(sql);
	}
	run("COMMIT");
}

/* What they were, under the names that questions have for them. */
static void keep_copy(void)
{
	run("CREATE TEMP TABLE want_kernel_row AS SELECT * FROM main.kernel_exec ORDER BY exec_id;"
	    "CREATE TEMP TABLE want_launch_row AS SELECT * FROM main.launch_call ORDER BY "
	    "process_id, seq;"
	    "CREATE TEMP TABLE want_call_row AS SELECT * FROM main.api_call ORDER BY call_id;"
	    "CREATE TEMP TABLE want_share_row AS SELECT * FROM main.kernel_share ORDER BY exec_id;"
	    "CREATE INDEX temp.want_kernel ON want_kernel_row (exec_id);"
	    "CREATE INDEX temp.want_launch ON want_launch_row (process_id, seq);"
	    "CREATE INDEX temp.want_share ON want_share_row (exec_id)");
}

/* ---- questions */

/* `pattern` with %1 where the prefix of the tables goes; a hash of all rows, in their order. */
static uint64_t answer(const char *pattern, const char *prefix, int64_t *ret_rows)
{
	uint64_t hash = 1469598103934665603;
	char sql[2000], *to = sql;
	sqlite3_stmt *s = NULL;
	int code;

	for (const char *at = pattern; *at; at++)
		if (at[0] == '%' && at[1] == '1') {
			to += sprintf(to, "%s", prefix);
			at++;
		} else {
			*to++ = *at;
		}
	*to = '\0';
	*ret_rows = 0;
	code = sqlite3_prepare_v2(db, sql, -1, &s, NULL);
	while (code == SQLITE_OK || code == SQLITE_ROW) {
		code = sqlite3_step(s);
		if (code != SQLITE_ROW)
			break;
		++*ret_rows;
		for (int c = 0; c < sqlite3_column_count(s); c++) {
			const unsigned char *text = sqlite3_column_text(s, c);

			for (; text && *text; text++)
				hash = (hash ^ *text) * 1099511628211u;
			hash = (hash ^ 0xff) * 1099511628211u + (text == NULL);
		}
	}
	if (code != SQLITE_DONE) {
		printf("# %s: %s\n", sql, sqlite3_errmsg(db));
		*ret_rows = -1;
	}
	sqlite3_finalize(s);
	return hash;
}

static bool is_same(const char *pattern)
{
	int64_t rows, want_rows;
	uint64_t hash = answer(pattern, "", &rows), want = answer(pattern, "want_", &want_rows);

	if (hash == want && rows == want_rows && rows >= 0)
		return true;
	printf("# %s: %" PRId64 " rows, want %" PRId64 "\n", pattern, rows, want_rows);
	return false;
}

static const char *const questions[] = {
        "SELECT * FROM %1kernel_row",
        "SELECT * FROM %1launch_row",
        "SELECT * FROM %1call_row",
        "SELECT * FROM %1share_row",
        "SELECT count(*), sum(exec_id), max(exec_id), min(exec_id) FROM %1kernel_row",
        "SELECT exec_id FROM %1kernel_row ORDER BY exec_id DESC",
        "SELECT * FROM %1kernel_row ORDER BY start_ns, exec_id",
        "SELECT * FROM %1launch_row ORDER BY process_id, seq",
        "SELECT * FROM %1launch_row ORDER BY seq, process_id",
        "SELECT * FROM %1launch_row WHERE process_id = 2 ORDER BY seq",
        "SELECT * FROM %1launch_row WHERE process_id = 2 ORDER BY process_id, seq DESC",
        "SELECT max(seq), process_id FROM %1launch_row GROUP BY process_id",
        "SELECT * FROM %1kernel_row WHERE start_ns IS NULL",
        "SELECT * FROM %1kernel_row WHERE exec_id = NULL",
        "SELECT * FROM %1kernel_row WHERE exec_id = 'x' OR exec_id = '17'",
        "SELECT * FROM %1kernel_row WHERE exec_id = 17.0 OR start_ns > 1e99",
        "SELECT * FROM %1kernel_row WHERE exec_id > 16.5 AND exec_id < 40.5",
        "SELECT * FROM %1kernel_row WHERE exec_id > -1e300 AND start_ns < 1e300",
        "SELECT * FROM %1kernel_row WHERE exec_id >= 9223372036854775807",
        "SELECT * FROM %1kernel_row WHERE exec_id > 9223372036854775807 OR exec_id < "
        "-9223372036854775808",
        "SELECT * FROM %1kernel_row WHERE config_id IN (SELECT config_id FROM config WHERE "
        "device_id = 1)",
        "SELECT * FROM %1kernel_row WHERE exec_id IN (5, 900, 3, 901, 77777)",
        "SELECT * FROM %1kernel_row WHERE config_id = 4 AND link = 1",
        "SELECT * FROM %1kernel_row WHERE config_id = 4 AND config_id = 5",
        "SELECT * FROM %1kernel_row WHERE process_id = 2 AND process_id = 3",
        "SELECT * FROM %1launch_row WHERE (process_id = 1 AND seq = 30) OR (process_id = 3 AND "
        "seq = 31) ORDER BY process_id, seq",
        "SELECT e.*, s.* FROM %1kernel_row e LEFT JOIN %1share_row s USING (exec_id)",
        "SELECT e.exec_id, l.* FROM %1kernel_row e LEFT JOIN %1launch_row l ON l.process_id = "
        "e.process_id AND l.seq = e.launch_seq ORDER BY e.exec_id",
        "SELECT l.seq, e.* FROM %1launch_row l JOIN %1kernel_row e ON e.exec_id = l.seq + 5",
        "SELECT a.exec_id, b.exec_id FROM %1kernel_row a JOIN %1kernel_row b ON b.exec_id = "
        "a.exec_id + 1",
        "SELECT a.exec_id, b.exec_id FROM %1kernel_row a JOIN %1kernel_row b ON b.exec_id "
        "BETWEEN a.exec_id - 3 AND a.exec_id + 2 WHERE a.exec_id % 40 = 0",
        "SELECT count(*) FROM %1launch_row l JOIN %1kernel_row e ON e.start_ns >= l.entry_ns AND "
        "e.start_ns < l.return_ns + 3000 WHERE l.seq % 60 = 0 AND l.process_id = 1",
        "SELECT process_id, count(*), count(DISTINCT config_id) FROM %1kernel_row GROUP BY 1",
        "SELECT exec_id FROM %1kernel_row LIMIT 10 OFFSET 700",
        "SELECT (SELECT count(*) FROM %1call_row c WHERE c.process_id = p.x AND c.seq IS NULL) "
        "FROM (SELECT 1 AS x UNION SELECT 2 UNION SELECT 3) p",
};

static void test_questions(const char *what)
{
	size_t count = sizeof(questions) / sizeof(questions[0]), bad = 0;

	for (size_t i = 0; i < count; i++)
		bad += !is_same(questions[i]);
	is_i64(bad, 0, what);
}

/* Comparisons of every column that chunks are skipped by, with values near those that there are. */
static void test_random(const char *what)
{
	static const struct {
		const char *table, *columns[5];
	} tables[] = {
	        {"kernel_row", {"exec_id", "start_ns", "end_ns", "config_id", "process_id"}},
	        {"launch_row", {"seq", "entry_ns", "return_ns", "process_id", "process_id"}},
	        {"call_row", {"call_id", "entry_ns", "return_ns", "process_id", "api"}},
	        {"share_row", {"exec_id", "exec_id", "exec_id", "wave_sm_ns", "exec_id"}},
	};
	static const char *const ops[] = {"=", "<", ">", "<=", ">=", "=", ">"};
	unsigned bad = 0;

	for (int round = 0; round < 600; round++) {
		unsigned t = draw(4);
		char sql[600];
		int n = sprintf(sql, "SELECT * FROM %%1%s WHERE 1", tables[t].table);

		for (unsigned k = 1 + draw(3); k > 0; k--) {
			unsigned c = draw(5);

			n += sprintf(sql + n,
			             " AND %s %s (SELECT %s + %d FROM want_%s LIMIT 1 OFFSET %u)",
			             tables[t].columns[c], ops[draw(7)], tables[t].columns[c],
			             (int)draw(3) - 1, tables[t].table, draw(t < 2 ? 2000 : 400));
		}
		bad += !is_same(sql);
	}
	is_i64(bad, 0, what);
}

/* One statement, asked again and again, with rows that come and go in between. */
static void test_again(void)
{
	sqlite3_stmt *s = NULL, *want = NULL;
	unsigned bad = 0;

	sqlite3_prepare_v2(db,
	                   "SELECT seq, entry_ns FROM launch_row WHERE process_id = ?1 AND "
	                   "seq >= ?2 AND seq <= ?3",
	                   -1, &s, NULL);
	sqlite3_prepare_v2(db,
	                   "SELECT seq, entry_ns FROM want_launch_row WHERE process_id = ?1 AND "
	                   "seq >= ?2 AND seq <= ?3 ORDER BY seq",
	                   -1, &want, NULL);
	for (int i = 0; i < 400; i++) {
		int64_t process = 1 + draw(3), seq = draw(800), last = seq + draw(5);

		wt_db_bind(s, "iii", process, seq, last);
		wt_db_bind(want, "iii", process, seq, last);
		while (sqlite3_step(want) == SQLITE_ROW)
			bad += sqlite3_step(s) != SQLITE_ROW ||
			       sqlite3_column_int64(s, 0) != sqlite3_column_int64(want, 0) ||
			       sqlite3_column_int64(s, 1) != sqlite3_column_int64(want, 1);
		bad += sqlite3_step(s) != SQLITE_DONE;
		sqlite3_reset(s);
		sqlite3_reset(want);
		if (i % 50 == 49)
			run("UPDATE want_launch_row SET entry_ns = entry_ns + 1 WHERE (process_id, "
			    "seq) "
			    "IN (SELECT process_id, seq FROM main.launch_call WHERE seq % 3 = 0); "
			    "UPDATE main.launch_call SET entry_ns = entry_ns + 1 WHERE seq % 3 = "
			    "0");
	}
	sqlite3_finalize(s);
	sqlite3_finalize(want);
	is_i64(bad, 0, "a statement asked again");
}

static int64_t count_of(const char *sql)
{
	return wt_db_int(db, sql, -1);
}

/* ---- the whole */

static void open_file(const char *path, bool is_new)
{
	char error[WT_DB_ERROR_BYTES];
	bool is_wal;

	if (wt_db_open_write(path, is_new, &db, &is_wal, error)) {
		printf("Bail out! %s\n", error);
		exit(1);
	}
}

static void test_packed(const char *path, uint64_t seed, const char *what)
{
	char name[200];

	unlink(path);
	open_file(path, true);
	make_rows(3000);
	keep_copy();
	run("ATTACH ':memory:' AS other"); /* more than one database, as exports have */
	if (seed != UINT64_MAX)
		pack_rows(db, seed);
	is_i64(wt_rows_attach(db, NULL, NULL), SQLITE_OK, what);
	ok(wt_rows_has_chunks(db), "  tables of chunks");
	test_questions("  questions");
	test_random("  comparisons");
	if (seed)
		snprintf(name, sizeof(name), "  %" PRId64 " chunks, %" PRId64 " rows in tables",
		         count_of("SELECT count(*) FROM chunk"),
		         count_of("SELECT count(*) FROM main.kernel_exec"));
	else
		snprintf(name, sizeof(name), "  all packed");
	ok(seed || !count_of("SELECT count(*) FROM main.kernel_exec"), "%s", name);
	test_again();
	is_i64(wt_rows_hide(db), SQLITE_OK, "  views");
	is_i64(count_of("SELECT count(*) FROM kernel_exec"),
	       count_of("SELECT count(*) FROM want_kernel_row"), "  kernel_exec is all of them");
	ok(is_same("SELECT exec_id, launch_seq FROM %1kernel_row ORDER BY exec_id"),
	   "  and the tables stay");
	sqlite3_close(db);
}

/* A reader beside a writer that packs: at any row of its statement, and again, nothing is missing or twice. */
static void test_beside(const char *path)
{
	int64_t count, sum, bad = 0;
	char error[WT_DB_ERROR_BYTES];
	sqlite3 *reader;

	unlink(path);
	open_file(path, true);
	make_rows(2000);
	count = count_of("SELECT count(*) FROM main.kernel_exec");
	sum = count_of("SELECT sum(exec_id) FROM main.kernel_exec");
	if (wt_db_open(path, &reader, error)) {
		printf("Bail out! %s\n", error);
		exit(1);
	}
	sqlite3_exec(reader, "PRAGMA query_only = OFF", NULL, NULL, NULL);
	wt_rows_attach(reader, NULL, NULL);
	for (int round = 0; round < 12; round++) {
		int64_t rows = 0, ids = 0;
		sqlite3_stmt *s = NULL;

		sqlite3_prepare_v2(reader, "SELECT exec_id FROM kernel_row", -1, &s, NULL);
		while (sqlite3_step(s) == SQLITE_ROW) {
			ids += sqlite3_column_int64(s, 0);
			if (++rows == 1 + 150 * round)
				pack_rows(db, 3 + (unsigned)round);
		}
		bad += rows != count || ids != sum;
		sqlite3_finalize(s);
	}
	is_i64(bad, 0, "rows read while they are packed");
	is_i64(count_of("SELECT count(*) FROM main.kernel_exec") < count / 2, 1, "  and they were");
	sqlite3_close(reader);
	sqlite3_close(db);
}

/* Of each chunk a byte is changed, one at a time: the rest can be read, and it is told. */
static void test_damage(const char *path)
{
	int64_t all, chunks, bad_all = 0, bad_told = 0;
	char sql[300];

	unlink(path);
	open_file(path, true);
	make_rows(2000);
	pack_rows(db, 7);
	all = count_of(
	        "SELECT (SELECT sum(row_count) FROM chunk WHERE kind = 1) + (SELECT count(*) "
	        "FROM main.kernel_exec)");
	chunks = count_of("SELECT max(chunk_id) FROM chunk WHERE kind = 1");
	sqlite3_close(db);
	open_file(path, false);
	wt_rows_attach(db, told, NULL);
	for (int64_t id = 1; id <= chunks; id++) {
		int64_t rows;

		snprintf(sql, sizeof(sql), "SELECT row_count FROM chunk WHERE chunk_id = %" PRId64,
		         id);
		rows = count_of(sql);
		snprintf(sql, sizeof(sql),
		         "SAVEPOINT s; UPDATE chunk SET data = substr(data, 1, length(data) - %d) "
		         "WHERE chunk_id = %" PRId64,
		         1 + (int)draw(30), id);
		run(sql);
		told_count = 0;
		bad_all += count_of("SELECT count(*) FROM kernel_row") != all - rows;
		bad_all += count_of("SELECT count(*) FROM kernel_row") != all - rows;
		bad_told += told_count != 1 ||
		            !strstr(told_text, " is damaged: kernel_exec of process ");
		run("ROLLBACK TO s; RELEASE s");
		bad_all += count_of("SELECT count(*) FROM kernel_row") != all;
	}
	ok(chunks > 3, "%" PRId64 " chunks are damaged, one at a time", chunks);
	is_i64(bad_all, 0, "  the others are read");
	is_i64(bad_told, 0, "  and it is told, once");
	printf("# %s\n", told_text);
	sqlite3_close(db);
	open_file(path, false);
	wt_rows_attach(db, NULL, NULL);
	run("UPDATE chunk SET row_count = row_count + 1 WHERE chunk_id = 2");
	is_i64(sqlite3_exec(db, "SELECT sum(exec_id) FROM kernel_row", NULL, NULL, NULL) & 0xff,
	       SQLITE_CORRUPT, "nobody to tell: the statement fails");
	ok(strstr(sqlite3_errmsg(db), "chunk 2 is damaged: kernel_exec of process ") != NULL,
	   "  and says why");
	is_i64(count_of("SELECT count(*) FROM launch_row") > 0, 1, "  others go on");
	sqlite3_close(db);
}

/* A directory that lies: whatever comes of it, statements end. */
static void test_lies(const char *path)
{
	static const char *const lies[] = {
	        "UPDATE chunk SET first_id = 5",
	        "UPDATE chunk SET first_id = -9223372036854775808",
	        "UPDATE chunk SET last_id = 9223372036854775807",
	        "UPDATE chunk SET last_id = first_id - 1",
	        "UPDATE chunk SET row_count = 0",
	        "UPDATE chunk SET row_count = -1",
	        "UPDATE chunk SET row_count = 9223372036854775807",
	        "UPDATE chunk SET process_id = 9223372036854775807",
	        "UPDATE chunk SET device_id = NULL",
	        "UPDATE chunk SET kind = 1 + kind % 4",
	        "UPDATE chunk SET data = x''",
	        "UPDATE chunk SET configs = x'ffffff'",
	        "INSERT INTO chunk SELECT chunk_id + 1000, kind, process_id, device_id, first_id, "
	        "last_id, row_count, start_ns, end_ns, configs, data FROM chunk",
	        "UPDATE chunk SET data = (SELECT data FROM chunk c WHERE c.chunk_id = "
	        "1 + chunk.chunk_id % 3)",
	};
	int64_t ended = 0;

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		open_file(path, false);
		wt_rows_attach(db, told, NULL);
		run("BEGIN");
		run(lies[i]);
		for (size_t k = 0; k < sizeof(questions) / sizeof(questions[0]); k++) {
			int64_t rows;

			if (!strstr(questions[k], "l.seq"))
				answer(questions[k], "", &rows);
		}
		ended++;
		run("ROLLBACK");
		sqlite3_close(db);
	}
	is_i64(ended, sizeof(lies) / sizeof(lies[0]), "directories that lie");
}

int main(void)
{
	char folder[] = "/tmp/wt-rows.XXXXXX", path[64];

	if (!mkdtemp(folder))
		return 1;
	snprintf(path, sizeof(path), "%s/run.db", folder);
	test_packed(path, UINT64_MAX, "nothing is packed");
	test_packed(path, 0, "everything is packed");
	for (uint64_t seed = 1; seed < 6; seed++)
		test_packed(path, seed * 7919, "some is packed");
	test_beside(path);
	test_damage(path);
	test_lies(path);
	unlink(path);
	snprintf(path, sizeof(path), "rm -r %s", folder);
	return system(path) ? 1 : tap_done();
}
