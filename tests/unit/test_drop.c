/*
 * test_drop.c - which rows go first when a run is beyond its limit (daemon/drop_rows.c): a file of three processes on
 * two devices is dropped bit by bit, and after each piece counted by hand. With a number N it measures instead: what
 * dropping N launches with their kernels takes.
 */
#include "tests/tap.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <time.h>

#include "daemon/daemon.h"

#define PROCESSES 3

static int64_t number(sqlite3 *db, const char *sql)
{
	return wt_db_int(db, sql, INT64_MIN);
}

static void run_sql(sqlite3 *db, const char *sql)
{
	char *error = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &error) != SQLITE_OK)
		ok(0, "%s: %s", sql, error);
	sqlite3_free(error);
}

/*
 * Kernel n runs from 1000 n on for 500 ns; process 1 has half of them, 2 a third, 3 the rest; every fifth of process 1
 * is on device 2; every fourth has a share. Of process p launch s has its kernel; call n is of whoever has kernel n.
 */
static void fill(sqlite3 *db, int64_t kernels)
{
	char sql[2000];

	run_sql(db, "BEGIN; INSERT INTO gpu SELECT value, CAST('0123456789abcde' || value AS "
	            "BLOB), 'a device', 9, 0, 132, "
	            "32, 2048, 32, 1024, 65536, 65536, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, '' FROM "
	            "(SELECT 1 AS value UNION SELECT 2); INSERT INTO kernel VALUES (1, 'k'); "
	            "INSERT INTO config "
	            "(config_id, kernel_id, device_id, grid_x, grid_y, grid_z, block_x, block_y, "
	            "block_z, cluster_x, "
	            "cluster_y, cluster_z, regs_per_thread, static_smem_bytes, dynamic_smem_bytes, "
	            "cooperative, "
	            "max_active_clusters, sm_count, blocks) SELECT device_id, 1, device_id, 1, 1, "
	            "1, 32, 1, 1, 0, 0, 0, "
	            "1, 0, 0, 0, 0, 132, 1 FROM gpu");
	snprintf(sql, sizeof(sql),
	         "CREATE TEMP TABLE n AS WITH RECURSIVE r (i) AS (SELECT 1 UNION ALL SELECT i + 1 "
	         "FROM r WHERE i < "
	         "%lld) SELECT i, CASE WHEN i %% 2 = 0 THEN 1 WHEN i %% 3 = 0 THEN 2 ELSE 3 END AS "
	         "p FROM r; "
	         "INSERT INTO main.kernel_exec SELECT i, p, 1 + (p = 1 AND i %% 5 = 0), 1000 * i, "
	         "1000 * i + 500, 1, 1, "
	         "i, NULL, NULL, row_number() OVER (PARTITION BY p ORDER BY i) - 1, 1, 1, 1, 1 "
	         "FROM n; "
	         "INSERT INTO main.launch_call SELECT process_id, launch_seq, start_ns - 300, "
	         "start_ns - 200, 1, "
	         "process_id, process_id, 1, 1, 1, 1, 1, 32, 1, 1, 0, 0, 0 FROM main.kernel_exec; "
	         "INSERT INTO main.api_call SELECT i, p, 40, NULL, 1000 * i - 100, 1000 * i - 50, "
	         "p, p, 0, 0, 0, 0, 0 "
	         "FROM n; INSERT INTO main.kernel_share SELECT i, 1, 1, 1, 1, 1, 1, 1 FROM n WHERE "
	         "i %% 4 = 0; COMMIT",
	         (long long)kernels);
	run_sql(db, sql);
}

/* As the daemon leaves them: now and then, of a process. */
static void add_marks(sqlite3 *db, int64_t every)
{
	char sql[500];

	snprintf(sql, sizeof(sql),
	         "INSERT INTO drop_mark SELECT p.p, m.i + 5, (SELECT count(*) FROM n WHERE n.p = "
	         "p.p AND n.i < m.i), m.i "
	         "FROM (SELECT DISTINCT p FROM n) p, n m WHERE m.i %% %lld = 1",
	         (long long)every);
	run_sql(db, sql);
}

static struct wt_run *open_run(const char *rows, int64_t kernels, int64_t every)
{
	struct wt_run *run = calloc(1, sizeof(*run));
	if (!run)
		exit(1);
	if (rows)
		setenv("WAVETAP_TEST_PACK", rows, 1);
	if (sqlite3_open(":memory:", &run->db) != SQLITE_OK)
		exit(1);
	run_sql(run->db, wt_schema_sql);
	fill(run->db, kernels);
	add_marks(run->db, every);
	ok(wt_store_open_rows(run) == 0 && wt_store_prepare(run) == 0, "a run of %lld kernels",
	   (long long)kernels);
	wt_pack_load(run);
	for (bool has_more = true; has_more;)
		wt_pack_step(run, true, 0, &has_more);
	return run;
}

static void close_run(struct wt_run *run)
{
	wt_pack_fini(run);
	wt_store_finalize(run);
	sqlite3_close(run->db);
	free(run);
}

/* How many of what must hold does not, after a piece of work. */
static int64_t count_wrong(sqlite3 *db, int64_t kernels)
{
	static const char *const wrongs[] = {
	        /* all rows are there or noted */
	        "SELECT ?1 - (SELECT count(*) FROM kernel_row) - (SELECT total(row_count) FROM "
	        "dropped WHERE kind = 1)",
	        "SELECT ?1 - (SELECT count(*) FROM launch_row) - (SELECT total(row_count) FROM "
	        "dropped WHERE kind = 2)",
	        "SELECT ?1 - (SELECT count(*) FROM call_row) - (SELECT total(row_count) FROM "
	        "dropped WHERE kind = 3)",
	        "SELECT ?1 / 4 - (SELECT count(*) FROM share_row) - (SELECT total(row_count) FROM "
	        "dropped WHERE kind = 4)",
	        /* a kernel has its launch, a share that is not of before its kernel */
	        "SELECT count(*) + 0 * ?1 FROM kernel_row e LEFT JOIN launch_row l ON l.process_id "
	        "= e.process_id AND "
	        "l.seq = e.launch_seq WHERE l.seq IS NULL",
	        "SELECT count(*) + 0 * ?1 FROM share_row s LEFT JOIN kernel_row e USING (exec_id) "
	        "WHERE e.exec_id IS NULL "
	        "AND exec_id > (SELECT max(last_id) FROM dropped WHERE kind = 1)",
	        /* no row of a process goes while an older one of its device stays */
	        "SELECT count(*) + 0 * ?1 FROM dropped d JOIN chunk c USING (kind, process_id, "
	        "device_id) WHERE "
	        "c.first_id <= d.last_id AND kind = 1",
	        /* and of two groups the chunk that ends first goes first */
	        "SELECT count(*) + 0 * ?1 FROM chunk WHERE kind = 1 AND last_id < (SELECT "
	        "max(last_id) FROM dropped "
	        "WHERE kind = 1)",
	        /* times are those of what went: kernel n ends at 1000 n + 500 */
	        "SELECT count(*) + 0 * ?1 FROM dropped WHERE kind = 1 AND last_ns <> 1000 * "
	        "last_id + 500",
	        "SELECT count(*) + 0 * ?1 FROM dropped d WHERE kind = 2 AND process_id NOT IN "
	        "(SELECT thread32 FROM "
	        "dropped_thread t WHERE t.process_id = d.process_id)",
	};
	int64_t wrong = 0;

	for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
		sqlite3_stmt *s = NULL;
		int64_t count = -1;

		if (sqlite3_prepare_v2(db, wrongs[i], -1, &s, NULL) == SQLITE_OK &&
		    wt_db_bind(s, "i", kernels) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
			count = sqlite3_column_int64(s, 0);
		sqlite3_finalize(s);
		if (count)
			fprintf(stderr, "# %zu: %lld\n", i, (long long)count);
		wrong += count != 0;
	}
	return wrong;
}

static const struct wt_drop_until all = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, 77};

/* One piece, in a transaction that is kept or not. Returns how many rows went. */
static int64_t drop(struct wt_run *run, const struct wt_drop_until *until, bool is_kept)
{
	int64_t rows = -1;

	run_sql(run->db, "BEGIN");
	ok(wt_drop_rows(run, until, &rows) == 0, "a piece");
	run_sql(run->db, is_kept ? "COMMIT" : "ROLLBACK");
	return rows;
}

static void test_all(const char *rows)
{
	int64_t kernels = 3000, wrong = 0, pieces = 0;
	struct wt_run *run = open_run(rows, kernels, 50);
	sqlite3 *db = run->db;

	ok(number(db, "SELECT count(*) FROM chunk") > 50, "%lld chunks",
	   (long long)number(db, "SELECT count(*) FROM chunk"));
	is_i64(drop(run, &all, false) > 0, 1, "rows would go");
	is_i64(number(db, "SELECT count(*) FROM dropped"), 0, "undone, none did");
	while (drop(run, &all, true) > 0 && pieces < 10000) {
		pieces++;
		wrong += count_wrong(db, kernels);
	}
	ok(wrong == 0, "%lld pieces: nothing is wrong after any", (long long)pieces);
	/* Those too few for a chunk go with the next one. */
	ok(number(db, "SELECT count(*) FROM kernel_row") < 16,
	   "in the end all kernels went but %lld",
	   (long long)number(db, "SELECT count(*) FROM kernel_row"));
	ok(number(db, "SELECT count(*) FROM share_row") < 16, "and their shares");
	/* The last mark is of call 2951: what came after it may have kernels to come. */
	ok(number(db, "SELECT count(*) FROM launch_row") < 100, "and but %lld launch calls",
	   (long long)number(db, "SELECT count(*) FROM launch_row"));
	is_i64(number(db, "SELECT count(DISTINCT dropped_ns) FROM dropped WHERE dropped_ns = 77"),
	       1, "with the time");
	wt_pack_load(run);
	is_i64(run->next_exec_id, kernels + 1, "and no id is given again");
	close_run(run);
}

static void test_until(void)
{
	struct wt_drop_until until = all;
	struct wt_run *run = open_run("16", 3000, 50);
	sqlite3 *db = run->db;

	until.exec_id = 1000;
	while (drop(run, &until, true) > 0)
		;
	ok(number(db, "SELECT max(last_id) FROM dropped WHERE kind = 1") < 1000,
	   "kernels that are needed stay");
	ok(number(db, "SELECT min(exec_id) FROM kernel_row") < 1000 &&
	           number(db, "SELECT total(row_count) FROM dropped WHERE kind = 1") > 800,
	   "the others went, but for chunks that reach beyond");
	until = all;
	until.kernel_ns = 1500000;
	while (drop(run, &until, true) > 0)
		;
	ok(number(db, "SELECT max(last_ns) FROM dropped WHERE kind = 1") < 1500000 &&
	           number(db, "SELECT max(last_id) FROM dropped WHERE kind = 1") > 1300,
	   "so do those that are not folded");
	until = all;
	until.call_id = 0;
	until.end_ns = 2000000;
	while (drop(run, &until, true) > 0)
		;
	ok(number(db, "SELECT max(last_ns) FROM dropped") < 2000000 &&
	           number(db, "SELECT max(last_id) FROM dropped WHERE kind = 1") > 1800,
	   "and those that are not so old");
	ok(number(db, "SELECT max(last_id) FROM dropped WHERE kind = 3") <= 1500,
	   "calls that are needed stay");
	is_i64(count_wrong(db, 3000), 0, "nothing is wrong");
	close_run(run);
}

/* Nothing but launches: they go by their own marks. */
static void test_hooks_only(void)
{
	struct wt_run *run = open_run("16", 600, 50);
	sqlite3 *db = run->db;
	struct wt_drop_until until = all;

	run_sql(db, "DELETE FROM chunk WHERE kind IN (1, 4); DELETE FROM main.kernel_exec; DELETE "
	            "FROM main.kernel_share; "
	            "UPDATE OR IGNORE drop_mark SET exec_id = 1");
	until.exec_id = 1;
	ok(drop(run, &until, true) > 0 && number(db, "SELECT count(*) FROM launch_row") > 400,
	   "some launches go");
	while (drop(run, &until, true) > 0)
		;
	ok(number(db, "SELECT count(*) FROM launch_row") < 100, "and more, until %lld are left",
	   (long long)number(db, "SELECT count(*) FROM launch_row"));
	close_run(run);
}

/* The same, too few for chunks, with a limit of age: what is younger stays, whatever the marks say. */
static void test_young(void)
{
	struct wt_run *run = open_run("0", 600, 50);
	sqlite3 *db = run->db;
	struct wt_drop_until until = all;

	run_sql(db, "DELETE FROM main.kernel_exec; DELETE FROM main.kernel_share; UPDATE OR IGNORE "
	            "drop_mark SET exec_id = 1");
	is_i64(number(db, "SELECT count(*) FROM main.launch_call"), 600, "all rows are plain");
	until.exec_id = 1;
	until.end_ns = 0;
	while (drop(run, &until, true) > 0)
		;
	is_i64(number(db, "SELECT count(*) FROM main.launch_call"), 600, "young launches stay");
	is_i64(number(db, "SELECT count(*) FROM main.api_call"), 600, "and calls");
	until.end_ns = 300000;
	while (drop(run, &until, true) > 0)
		;
	ok(number(db, "SELECT max(return_ns) FROM (SELECT max(entry_ns) AS return_ns FROM "
	              "main.launch_call)") > 500000 &&
	           number(db, "SELECT count(*) FROM main.launch_call WHERE return_ns >= 300000") >=
	                   300,
	   "so do those that became old since, none that is young among them");
	close_run(run);
}

/* Kernels that are in no chunk, and shares that are: those stay as long as these. */
static void test_shares(void)
{
	struct wt_run *run = open_run("16", 600, 50);
	sqlite3 *db = run->db;
	struct wt_drop_until until = all;

	run_sql(db,
	        "INSERT INTO main.kernel_exec SELECT k.* FROM kernel_row k WHERE EXISTS (SELECT "
	        "1 FROM chunk c WHERE c.kind = 1 AND c.first_id > 300 AND c.process_id = "
	        "k.process_id AND c.device_id = k.config_id AND k.exec_id BETWEEN c.first_id AND "
	        "c.last_id); DELETE FROM chunk WHERE kind = 1 AND first_id > 300");
	until.end_ns = 200000;
	while (drop(run, &until, true) > 0)
		;
	is_i64(number(db, "SELECT count(*) FROM kernel_row k WHERE exec_id % 4 = 0 AND exec_id > "
	                  "300 AND NOT EXISTS (SELECT 1 FROM share_row s WHERE s.exec_id = "
	                  "k.exec_id)"),
	       0, "kernels in no chunk keep their shares");
	until.end_ns = 400000;
	while (drop(run, &until, true) > 0)
		;
	is_i64(number(db, "SELECT count(*) FROM kernel_row k WHERE exec_id % 4 = 0 AND NOT EXISTS "
	                  "(SELECT 1 FROM share_row s WHERE s.exec_id = k.exec_id)"),
	       0, "and when those in chunks are gone");
	close_run(run);
}

static int measure(int64_t kernels)
{
	struct timespec from, to;
	struct wt_run *run = open_run(NULL, kernels, 8192);
	int64_t rows = 0, more, pieces = 0;
	double seconds;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	while ((more = drop(run, &all, true)) > 0) {
		rows += more;
		pieces++;
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	seconds = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
	printf("# %lld rows of %lld launches with kernels, calls and shares in %lld pieces: %.3f s "
	       "CPU, %.1f ms a million rows\n",
	       (long long)rows, (long long)kernels, (long long)pieces, seconds,
	       1e9 * seconds / (double)rows);
	close_run(run);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return measure(strtoll(argv[1], NULL, 10));
	test_all("16");
	test_all("61");
	test_until();
	test_hooks_only();
	test_young();
	test_shares();
	return tap_done();
}
