/*
 * test_pack.c - packed rows are the rows. A recording of a real run is imported without chunks, and with
 * chunks of several sizes; the latter are taken apart here, chunk by chunk, and have the same rows of all
 * tables then. Also what a chunk's row of the table says of it, and how few bytes it takes.
 */
#include "tests/tap.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/replay.h"
#include "schema/wt_chunk.h"

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
