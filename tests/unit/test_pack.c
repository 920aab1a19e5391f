/*
 * test_pack.c - packed rows are the rows. A recording of a real run is imported without chunks, and with
 * chunks of several sizes; the latter are taken apart here, chunk by chunk, and have the same rows of all
 * tables then. So has a file of plain rows that is packed afterwards, once a full disk has room again. Also
 * what a chunk's row of the table says of it, and how few bytes it takes.
 */
#include "tests/tap.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/rederive.h"
#include "daemon/replay.h"
#include "schema/wt_chunk.h"
#include "schema/wt_rows.h"

static char folder[512];

static void import(const char *path, const char *rows, const char *const *recordings)
{
	struct wt_replay *replay = wt_replay_create();
	char why[WT_REPLAY_WHY_BYTES] = "";
	int rc = replay ? 0 : -1;

	if (rows)
		setenv("WAVETAP_TEST_PACK", rows, 1);
	else
		unsetenv("WAVETAP_TEST_PACK");
	for (; *recordings && !rc; recordings++)
		rc = wt_replay_add(replay, *recordings, why);
	if (!rc)
		rc = wt_replay_begin(replay, path, NULL, why);
	while (!rc && (rc = wt_replay_step(replay, why)) > 0)
		rc = 0;
	if (!rc)
		rc = wt_replay_finish(replay, why);
	is_i64(rc, 0, "imported");
	if (rc)
		fprintf(stderr, "# %s\n", why);
	wt_replay_destroy(replay);
}

static int64_t number(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *s = NULL;
	int64_t value = INT64_MIN;

	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
		value = sqlite3_column_int64(s, 0);
	else
		fprintf(stderr, "# %s: %s\n", sql, sqlite3_errmsg(db));
	sqlite3_finalize(s);
	return value;
}

/* ---- taken apart */

struct apart {
	sqlite3 *db;
	int64_t chunks, rows, wrong; /* wrong: what the table says is not so */
};

/* The device of a configuration, or of a kernel's. */
static int64_t device_of(sqlite3 *db, enum wt_chunk_kind kind, const int64_t *row)
{
	char sql[160];

	if (kind == WT_CHUNK_KERNEL)
		snprintf(sql, sizeof(sql), "SELECT device_id FROM config WHERE config_id = %lld",
		         (long long)row[2]);
	else
		snprintf(sql, sizeof(sql),
		         "SELECT device_id FROM config JOIN kernel_exec USING (config_id) WHERE "
		         "exec_id = %lld",
		         (long long)row[0]);
	return number(db, sql);
}

static void insert(struct apart *a, sqlite3_stmt *s, const struct wt_chunk_table *table,
                   const int64_t *row, uint32_t nulls)
{
	for (unsigned i = 0; i < table->column_count; i++) {
		if (nulls >> i & 1)
			sqlite3_bind_null(s, (int)i + 1);
		else
			sqlite3_bind_int64(s, (int)i + 1, row[i]);
	}
	a->wrong +=
	        sqlite3_step(s) != SQLITE_DONE; /* there is one already, or a NULL that can't be */
	sqlite3_reset(s);
}

/* One chunk: its rows into their table. `r` is its row of `chunk`. */
static void take_apart(struct apart *a, sqlite3_stmt *r)
{
	enum wt_chunk_kind kind = (enum wt_chunk_kind)sqlite3_column_int(r, 0);
	const struct wt_chunk_table *table = wt_chunk_table(kind);
	int64_t row[WT_CHUNK_COLUMNS] = {0}, least = INT64_MAX, most = INT64_MIN;
	const int64_t *values[WT_CHUNK_COLUMNS];
	const uint8_t *nulls[WT_CHUNK_COLUMNS];
	struct wt_chunk *chunk = NULL;
	sqlite3_stmt *s = NULL;
	char sql[200], places[64] = "?";
	uint32_t count = 0;
	bool has_device = kind == WT_CHUNK_KERNEL || kind == WT_CHUNK_SHARE;

	a->chunks++;
	for (unsigned i = 1; i < table->column_count; i++)
		strcat(places, ",?");
	snprintf(sql, sizeof(sql), "INSERT INTO %s VALUES (%s)", table->name, places);
	if (wt_chunk_open(kind, sqlite3_column_blob(r, 8), (size_t)sqlite3_column_bytes(r, 8),
	                  &chunk) ||
	    sqlite3_prepare_v2(a->db, sql, -1, &s, NULL) != SQLITE_OK) {
		a->wrong++;
		return;
	}
	count = wt_chunk_row_count(chunk);
	for (unsigned i = 0; i < table->column_count; i++)
		a->wrong += wt_chunk_column(chunk, i, &values[i], &nulls[i]) != 0;
	for (uint32_t at = 0; at < count; at++) {
		uint32_t null = 0;

		for (unsigned i = 0; i < table->column_count; i++) {
			row[i] = values[i][at];
			null |= (uint32_t)(nulls[i] && nulls[i][at]) << i;
		}
		insert(a, s, table, row, null);
		a->wrong += at == 0 && row[table->id] != sqlite3_column_int64(r, 3);
		a->wrong +=
		        table->process >= 0 && row[table->process] != sqlite3_column_int64(r, 1);
		for (int i = 0; i < 2 && table->start >= 0; i++) {
			int column = i ? table->end : table->start;

			if (null >> column & 1)
				continue;
			least = row[column] < least ? row[column] : least;
			most = row[column] > most ? row[column] : most;
		}
		if (has_device && at % 16 == 0)
			a->wrong += device_of(a->db, kind, row) != sqlite3_column_int64(r, 2);
	}
	a->wrong += row[table->id] != sqlite3_column_int64(r, 4);
	a->wrong += (int64_t)count != sqlite3_column_int64(r, 5);
	if (table->start >= 0 && least <= most)
		a->wrong +=
		        least != sqlite3_column_int64(r, 6) || most != sqlite3_column_int64(r, 7);
	else
		a->wrong += sqlite3_column_type(r, 6) != SQLITE_NULL;
	a->wrong += (sqlite3_column_type(r, 2) == SQLITE_NULL) == has_device;
	a->rows += count;
	sqlite3_finalize(s);
	wt_chunk_close(chunk);
}

static struct apart expand(const char *path)
{
	/* Kernels first: shares are looked up in them. */
	static const char sql[] =
	        "SELECT kind, process_id, device_id, first_id, last_id, row_count, "
	        "start_ns, end_ns, data FROM chunk ORDER BY kind, first_id";
	static const char overlaps[] =
	        "SELECT count(*) FROM (SELECT first_id, lag(last_id) OVER (PARTITION BY kind, "
	        "process_id, device_id ORDER BY first_id) AS before FROM chunk) WHERE first_id <= "
	        "before";
	struct apart a = {0};
	sqlite3_stmt *r = NULL;

	sqlite3_open(path, &a.db);
	is_i64(number(a.db, overlaps), 0, "chunks do not overlap");
	sqlite3_exec(a.db, "BEGIN", NULL, NULL, NULL);
	sqlite3_prepare_v2(a.db, sql, -1, &r, NULL);
	while (sqlite3_step(r) == SQLITE_ROW)
		take_apart(&a, r);
	sqlite3_finalize(r);
	return a;
}

static void compare(sqlite3 *db, const char *plain)
{
	static const char *const tables[] = {"kernel_exec",  "launch_call", "api_call",
	                                     "kernel_share", "config_stat", "loss",
	                                     "sweep",        "pending_link"};
	char sql[300];

	snprintf(sql, sizeof(sql), "COMMIT; ATTACH '%s' AS plain", plain);
	is_i64(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK, "both open");
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		const char *t = tables[i];

		snprintf(sql, sizeof(sql),
		         "SELECT count(*) FROM (SELECT * FROM (SELECT * FROM main.%s EXCEPT SELECT "
		         "* "
		         "FROM plain.%s) UNION ALL SELECT * FROM (SELECT * FROM plain.%s EXCEPT "
		         "SELECT * FROM main.%s))",
		         t, t, t, t);
		is_i64(number(db, sql), 0, t);
		snprintf(sql, sizeof(sql),
		         "SELECT (SELECT count(*) FROM main.%s) - (SELECT count(*) FROM plain.%s)",
		         t, t);
		is_i64(number(db, sql), 0, "as many");
	}
}

static int64_t bytes_of(const char *path)
{
	struct stat status;

	return stat(path, &status) ? 0 : status.st_size;
}

/* `rows`: of a chunk; NULL: as usual. */
static void check(const char *plain, const char *rows, const char *const *recordings,
                  int64_t chunks_min)
{
	char path[600];
	struct apart a;
	int64_t bytes;

	snprintf(path, sizeof(path), "%s/packed.db", folder);
	import(path, rows, recordings);
	bytes = bytes_of(path);
	a = expand(path);
	printf("# %s rows a chunk: %lld chunks, %lld rows, %lld bytes; plain %lld\n",
	       rows ? rows : "4096", (long long)a.chunks, (long long)a.rows, (long long)bytes,
	       (long long)bytes_of(plain));
	ok(a.chunks >= chunks_min, "there are chunks");
	is_i64(a.wrong, 0, "as the table says");
	compare(a.db, plain);
	if (!rows)
		ok(bytes < bytes_of(plain) / 3, "a third of the bytes at most");
	sqlite3_close(a.db);
	unlink(path);
}

/* ---- plain rows, packed afterwards */

static sqlite3 *open_copy(const char *plain, const char *path)
{
	char command[1300];
	sqlite3 *db = NULL;

	snprintf(command, sizeof(command), "cp %s %s", plain, path);
	if (system(command) || sqlite3_open(path, &db) != SQLITE_OK ||
	    wt_rows_attach(db, NULL, NULL) != SQLITE_OK)
		printf("# %s: %s\n", path, sqlite3_errmsg(db));
	return db;
}

/* No page is left: all stays as it is, and is packed when there is room. A damaged chunk stays, too. */
static void test_packer(const char *plain)
{
	char path[600], sql[80], error[WT_DB_ERROR_BYTES];
	struct apart a;
	sqlite3 *db;
	int64_t pages;

	snprintf(path, sizeof(path), "%s/late.db", folder);
	setenv("WAVETAP_TEST_PACK", "4096", 1);
	db = open_copy(plain, path);
	sqlite3_exec(db, "VACUUM", NULL, NULL, NULL);
	pages = number(db, "PRAGMA page_count");
	snprintf(sql, sizeof(sql), "PRAGMA max_page_count = %lld", (long long)pages);
	number(db, sql);
	is_i64(wt_pack_file(db, error), 0, "no room: no failure");
	is_i64(number(db, "SELECT count(*) FROM chunk"), 0, "nothing is packed");
	is_i64(number(db,
	              "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"),
	       1, "the file is whole");
	number(db, "PRAGMA max_page_count = 1000000");
	setenv("WAVETAP_TEST_PACK", "100", 1);
	is_i64(wt_pack_file(db, error), 0, "there is room");
	ok(number(db, "SELECT count(*) > 100 FROM chunk"), "all is packed");
	ok(number(db, "SELECT (SELECT count(*) FROM main.kernel_exec) + (SELECT count(*) FROM "
	              "main.launch_call) < 100"),
	   "hardly a row is left");
	sqlite3_exec(
	        db,
	        "CREATE TABLE whole AS SELECT * FROM chunk WHERE chunk_id = 3; UPDATE chunk SET "
	        "data = zeroblob(50) WHERE chunk_id = 3; INSERT INTO kernel_exec SELECT "
	        "exec_id + 1000000, process_id, config_id, start_ns, end_ns, context_id, "
	        "stream_id, correlation_id, graph_id, graph_node_id, launch_seq, link, "
	        "underfill_sm_ns, wave_sm_ns, wave_max_sm_ns FROM kernel_row WHERE exec_id > 300 "
	        "LIMIT 20",
	        NULL, NULL, NULL);
	is_i64(wt_pack_file(db, error), 0, "a chunk is damaged: no failure");
	is_i64(number(db, "SELECT count(*) FROM chunk WHERE data = zeroblob(50)"), 1, "it stays");
	sqlite3_exec(
	        db,
	        "UPDATE chunk SET data = (SELECT data FROM whole) WHERE chunk_id = 3; DROP TABLE "
	        "whole; DELETE FROM kernel_exec WHERE exec_id > 1000000",
	        NULL, NULL, NULL);
	sqlite3_close(db);
	a = expand(path);
	is_i64(a.wrong, 0, "as the table says");
	compare(a.db, plain);
	sqlite3_close(a.db);
	unlink(path);
}

static void test_recording(const char *const *names, int64_t chunks_min)
{
	const char *data = getenv("top_srcdir");
	const char *recordings[3] = {NULL};
	char paths[2][700], plain[600];

	for (int i = 0; i < 2 && names[i]; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s/tests/data/%s", data ? data : ".",
		         names[i]);
		recordings[i] = paths[i];
	}
	snprintf(plain, sizeof(plain), "%s/plain.db", folder);
	import(plain, "0", recordings);
	check(plain, NULL, recordings, chunks_min);
	check(plain, "512", recordings, 20);
	check(plain, "64", recordings, 200);
	test_packer(plain);
	unlink(plain);
}

int main(void)
{
	const char *base = getenv("TMPDIR");

	snprintf(folder, sizeof(folder), "%s/wt-pack-XXXXXX", base ? base : "/tmp");
	if (!mkdtemp(folder))
		return 1;
	test_recording((const char *const[]){"h200-infer-tiny.wtrec", NULL}, 12);
	test_recording((const char *const[]){"h200-train-compile.wtrec", NULL}, 10);
	test_recording((const char *const[]){"h200x2-ddp-rank0.wtrec", "h200x2-ddp-rank1.wtrec"},
	               4);
	rmdir(folder);
	return tap_done();
}
