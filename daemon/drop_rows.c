/*
 * drop_rows.c - which rows go, and the note of them in `dropped`: see drop.h.
 *
 * KERNELS go chunk by chunk, of all processes and devices the one whose last id is the lowest, and with it plain rows
 * below that. CALLS of a process go when drop_mark says that the kernels of all of them are gone; shares when their
 * kernels are. Chunks go as a whole: of a process that launches little, rows stay that are older than what went of
 * others. Readers begin where nothing is missing: behind the last end of all that went.
 *
 * A chunk that can't be read goes like any other, and counts with the rows that the file says it has.
 *
 * Main thread, in the caller's transaction; blocks on the disk.
 */
#include "daemon/daemon.h"

#include <errno.h>
#include <stdlib.h>

#define DROP_CHUNKS 16
#define LAUNCH_THREAD 6 /* launch_call.thread32 */

struct drop {
	struct wt_run *run;
	const struct wt_drop_until *until;
	int64_t rows; /* that went */
};

/* What the directory says of a chunk. */
struct chunk {
	int64_t chunk_id, process_id, device_id; /* WT_DB_NULL: the kind has none */
	int64_t first_id, last_id, rows, start_ns, end_ns, bytes;
};

static int prepare(struct drop *d, const char *sql, sqlite3_stmt **ret)
{
	*ret = NULL;
	return wt_store_check(d->run, sqlite3_prepare_v2(d->run->db, sql, -1, ret, NULL));
}

static int64_t or_null(sqlite3_stmt *s, int column)
{
	return sqlite3_column_type(s, column) == SQLITE_NULL ? WT_DB_NULL
	                                                     : sqlite3_column_int64(s, column);
}

/* Adds rows to the note of what went; `last_id` is the highest of them. */
static int note(struct drop *d, enum wt_chunk_kind kind, const struct chunk *what)
{
	static const char sql[] =
	        "INSERT INTO dropped VALUES (?,?,?,?,?,?,?,?,?) ON CONFLICT DO UPDATE SET "
	        "row_count = row_count + excluded.row_count, bytes = bytes + excluded.bytes, "
	        "first_ns = min(ifnull(first_ns, excluded.first_ns), "
	        "ifnull(excluded.first_ns, first_ns)), "
	        "last_ns = max(ifnull(last_ns, excluded.last_ns), ifnull(excluded.last_ns, "
	        "last_ns)), "
	        "last_id = max(last_id, excluded.last_id), dropped_ns = excluded.dropped_ns";
	sqlite3_stmt *s;
	int err = prepare(d, sql, &s);

	if (!err)
		err = wt_store_check(
		        d->run, wt_db_run(s, "iiiiinnii", what->process_id,
		                          what->device_id == WT_DB_NULL ? 0 : what->device_id,
		                          (int64_t)kind, what->rows, what->bytes, what->start_ns,
		                          what->end_ns, what->last_id, d->until->now_ns));
	sqlite3_finalize(s);
	d->rows += err ? 0 : what->rows;
	return err;
}

/* The first chunk of a kind, process and device: 1, 0: there is none, or -errno. */
static int first_chunk(struct drop *d, enum wt_chunk_kind kind, int64_t process_id,
                       int64_t device_id, struct chunk *ret)
{
	static const char sql[] =
	        "SELECT chunk_id, process_id, device_id, first_id, last_id, row_count, start_ns, "
	        "end_ns, length(data) FROM chunk WHERE kind = ?1 AND process_id = ?2 AND device_id "
	        "IS ?3 ORDER BY first_id LIMIT 1";
	sqlite3_stmt *s;
	int err = prepare(d, sql, &s), code = SQLITE_OK;

	if (err)
		return err;
	code = wt_db_bind(s, "iin", (int64_t)kind, process_id, device_id);
	if (code == SQLITE_OK)
		code = sqlite3_step(s);
	if (code == SQLITE_ROW)
		*ret = (struct chunk){sqlite3_column_int64(s, 0),
		                      sqlite3_column_int64(s, 1),
		                      or_null(s, 2),
		                      sqlite3_column_int64(s, 3),
		                      sqlite3_column_int64(s, 4),
		                      sqlite3_column_int64(s, 5),
		                      or_null(s, 6),
		                      or_null(s, 7),
		                      sqlite3_column_int64(s, 8)};
	sqlite3_finalize(s);
	err = wt_store_check(d->run, code);
	return err ? err : code == SQLITE_ROW;
}

/* The next process and device behind those, that have chunks of the kind: 1, 0: there is none, or -errno. */
static int next_group(struct drop *d, enum wt_chunk_kind kind, int64_t *process_id,
                      int64_t *device_id)
{
	static const char sql[] =
	        "SELECT process_id, device_id FROM chunk WHERE kind = ?1 AND (process_id, "
	        "device_id) > (?2, ?3) ORDER BY process_id, device_id LIMIT 1";
	sqlite3_stmt *s;
	int err = prepare(d, sql, &s), code = SQLITE_OK;

	if (err)
		return err;
	code = wt_db_bind(s, "iii", (int64_t)kind, *process_id, *device_id);
	if (code == SQLITE_OK)
		code = sqlite3_step(s);
	if (code == SQLITE_ROW) {
		*process_id = sqlite3_column_int64(s, 0);
		*device_id = sqlite3_column_int64(s, 1);
	}
	sqlite3_finalize(s);
	err = wt_store_check(d->run, code);
	return err ? err : code == SQLITE_ROW;
}

/* Threads of launch calls that go, as far as their chunk can be read. */
static int note_threads(struct drop *d, const struct chunk *which)
{
	struct wt_chunk *chunk = NULL;
	sqlite3_stmt *data, *insert = NULL;
	const int64_t *values = NULL;
	const uint8_t *nulls;
	int err = prepare(d, "SELECT data FROM chunk WHERE chunk_id = ?1", &data), bad;

	if (!err)
		err = prepare(d, "INSERT OR IGNORE INTO dropped_thread VALUES (?,?)", &insert);
	if (!err && wt_db_bind(data, "i", which->chunk_id) == SQLITE_OK &&
	    sqlite3_step(data) == SQLITE_ROW) {
		bad = wt_chunk_open(WT_CHUNK_LAUNCH, sqlite3_column_blob(data, 0),
		                    (size_t)sqlite3_column_bytes(data, 0), &chunk);
		if (!bad)
			bad = wt_chunk_column(chunk, LAUNCH_THREAD, &values, &nulls);
		if (bad)
			values = NULL;
		err = bad == -ENOMEM ? bad : 0;
	}
	for (uint32_t i = 0; !err && values && i < wt_chunk_row_count(chunk); i++)
		if (!i || values[i] != values[i - 1])
			err = wt_store_check(d->run,
			                     wt_db_run(insert, "ii", which->process_id, values[i]));
	wt_chunk_close(chunk);
	sqlite3_finalize(data);
	sqlite3_finalize(insert);
	return err;
}

static int remove_chunk(struct drop *d, enum wt_chunk_kind kind, const struct chunk *which)
{
	sqlite3_stmt *s = NULL;
	int err = kind == WT_CHUNK_LAUNCH ? note_threads(d, which) : 0;

	if (!err)
		err = note(d, kind, which);
	if (!err)
		err = prepare(d, "DELETE FROM chunk WHERE chunk_id = ?1", &s);
	if (!err)
		err = wt_store_check(d->run, wt_db_run(s, "i", which->chunk_id));
	sqlite3_finalize(s);
	return err;
}

/*
 * Plain rows: `select` gives process, device, rows, times and highest id, by process and device; `remove` takes
 * them away. Both have the parameters ?1 and ?2.
 */
static int remove_plain(struct drop *d, enum wt_chunk_kind kind, const char *select,
                        const char *const remove[2], int64_t first, int64_t second)
{
	sqlite3_stmt *s;
	int err = prepare(d, select, &s), code;
	bool is_any = false;

	code = err ? SQLITE_DONE : wt_db_bind(s, "ii", first, second);
	while (!err && code == SQLITE_OK && (code = sqlite3_step(s)) == SQLITE_ROW) {
		struct chunk what = {.process_id = sqlite3_column_int64(s, 0),
		                     .device_id = or_null(s, 1),
		                     .rows = sqlite3_column_int64(s, 2),
		                     .start_ns = or_null(s, 3),
		                     .end_ns = or_null(s, 4),
		                     .last_id = sqlite3_column_int64(s, 5)};

		code = SQLITE_OK;
		if (what.rows) {
			is_any = true;
			err = note(d, kind, &what);
		}
	}
	sqlite3_finalize(s);
	if (!err)
		err = wt_store_check(d->run, code);
	for (int i = 0; i < 2 && is_any && remove[i] && !err; i++) {
		err = prepare(d, remove[i], &s);
		if (!err)
			err = wt_store_check(d->run, wt_db_run(s, "ii", first, second));
		sqlite3_finalize(s);
	}
	return err;
}

/* ---- kernels */

/* Of all groups the chunk that ends first: 1, 0: none may go, or -errno. */
static int oldest_kernels(struct drop *d, struct chunk *ret)
{
	int64_t process_id = INT64_MIN, device_id = INT64_MIN;
	bool is_found = false;
	int rc;

	while ((rc = next_group(d, WT_CHUNK_KERNEL, &process_id, &device_id)) > 0) {
		struct chunk chunk = {0};

		rc = first_chunk(d, WT_CHUNK_KERNEL, process_id, device_id, &chunk);
		if (rc < 0)
			return rc;
		if (rc && (!is_found || chunk.last_id < ret->last_id)) {
			*ret = chunk;
			is_found = true;
		}
	}
	if (rc < 0 || !is_found || ret->last_id >= d->until->exec_id)
		return rc < 0 ? rc : 0;
	return ret->end_ns == WT_DB_NULL ||
	       (ret->end_ns < d->until->kernel_ns && ret->end_ns < d->until->end_ns);
}

static int drop_kernels(struct drop *d)
{
	static const char select[] =
	        "SELECT e.process_id, c.device_id, count(*), min(e.start_ns), max(e.end_ns), "
	        "max(e.exec_id) FROM main.kernel_exec e CROSS JOIN config c ON c.config_id = "
	        "e.config_id WHERE e.exec_id < ?1 AND e.link <> ?2 GROUP BY 1, 2";
	static const char *const remove[2] = {
	        "DELETE FROM main.kernel_exec WHERE exec_id < ?1 AND link <> ?2", NULL};
	struct chunk chunk = {0};
	int64_t below = 0;
	int rc = 0;

	for (int i = 0; i < DROP_CHUNKS && (rc = oldest_kernels(d, &chunk)) > 0; i++) {
		rc = remove_chunk(d, WT_CHUNK_KERNEL, &chunk);
		if (rc)
			return rc;
		below = chunk.last_id;
	}
	if (rc < 0 || !below)
		return rc;
	return remove_plain(d, WT_CHUNK_KERNEL, select, remove, below, WT_LINK_WAITING);
}

/* ---- what goes with kernels that are gone */

int wt_drop_low_exec(struct wt_run *run, int64_t process_id, int64_t *ret_exec_id)
{
	struct drop d = {.run = run};
	int64_t process = process_id < 0 ? INT64_MIN : process_id, device_id = INT64_MIN;
	int64_t low = INT64_MAX;
	sqlite3_stmt *s;
	int rc;

	while ((rc = next_group(&d, WT_CHUNK_KERNEL, &process, &device_id)) > 0) {
		struct chunk chunk = {0};

		if (process_id >= 0 && process != process_id)
			break;
		rc = first_chunk(&d, WT_CHUNK_KERNEL, process, device_id, &chunk);
		if (rc < 0)
			return rc;
		if (rc && chunk.first_id < low)
			low = chunk.first_id;
	}
	if (rc < 0)
		return rc;
	/* One without a launch needs none. */
	rc = prepare(&d,
	             "SELECT min(exec_id) FROM main.kernel_exec WHERE exec_id < ?1 AND (?2 < 0 OR "
	             "(process_id = ?2 AND launch_seq IS NOT NULL))",
	             &s);
	if (!rc)
		rc = wt_store_check(run, wt_db_bind(s, "ii", low, process_id));
	if (!rc)
		rc = wt_store_check(run, sqlite3_step(s));
	if (!rc && or_null(s, 0) != WT_DB_NULL)
		low = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	*ret_exec_id = low;
	return rc;
}

struct mark {
	int64_t process_id, exec_id, seq, call_id;
};

/* Chunks of calls of a process that end below `id`. *ret_all: none that may go is left. */
static int drop_calls(struct drop *d, enum wt_chunk_kind kind, const struct mark *mark, int64_t id,
                      bool *ret_all)
{
	struct chunk chunk = {0};
	int rc = 0;

	*ret_all = true;
	for (int i = 0; !rc; i++) {
		rc = first_chunk(d, kind, mark->process_id, WT_DB_NULL, &chunk);
		if (rc <= 0 || chunk.last_id >= id)
			return rc < 0 ? rc : 0;
		*ret_all = i < 4 * DROP_CHUNKS &&
		           (chunk.end_ns == WT_DB_NULL || chunk.end_ns < d->until->end_ns);
		if (!*ret_all)
			return 0;
		rc = remove_chunk(d, kind, &chunk);
	}
	return rc;
}

static int drop_plain_calls(struct drop *d, const struct mark *mark, int64_t call_id)
{
	static const char *const launches[2] = {
	        "INSERT OR IGNORE INTO dropped_thread SELECT DISTINCT process_id, thread32 FROM "
	        "main.launch_call WHERE process_id = ?1 AND seq < ?2",
	        "DELETE FROM main.launch_call WHERE process_id = ?1 AND seq < ?2"};
	static const char *const calls[2] = {
	        "DELETE FROM main.api_call WHERE call_id < ?2 AND process_id = ?1", NULL};
	int err = remove_plain(d, WT_CHUNK_LAUNCH,
	                       "SELECT process_id, NULL, count(*), min(entry_ns), max(return_ns), "
	                       "max(seq) FROM main.launch_call WHERE process_id = ?1 AND seq < ?2",
	                       launches, mark->process_id, mark->seq);

	return err ? err
	           : remove_plain(d, WT_CHUNK_CALL,
	                          "SELECT process_id, NULL, count(*), min(entry_ns), "
	                          "max(return_ns), max(call_id) FROM main.api_call WHERE call_id < "
	                          "?2 AND process_id = ?1",
	                          calls, mark->process_id, call_id);
}

/* Calls of a process without kernels may be of any age: 1: some in no chunk are too young to go, 0 or -errno. */
static int has_young_calls(struct drop *d, const struct mark *mark, int64_t call_id)
{
	sqlite3_stmt *s;
	int rc = prepare(d,
	                 "SELECT EXISTS (SELECT 1 FROM main.launch_call WHERE process_id = ?1 AND "
	                 "seq < ?2 AND return_ns >= ?4) OR EXISTS (SELECT 1 FROM main.api_call "
	                 "WHERE process_id = ?1 AND call_id < ?3 AND return_ns >= ?4)",
	                 &s);

	if (!rc)
		rc = wt_store_check(d->run, wt_db_bind(s, "iiii", mark->process_id, mark->seq,
		                                       call_id, d->until->end_ns));
	if (!rc)
		rc = wt_store_check(d->run, sqlite3_step(s));
	if (!rc)
		rc = sqlite3_column_int(s, 0);
	sqlite3_finalize(s);
	return rc;
}

/* *ret_spent: all that may go by it is gone, and it is, too. */
static int drop_of_mark(struct drop *d, const struct mark *mark, bool *ret_spent)
{
	int64_t call_id = mark->call_id < d->until->call_id ? mark->call_id : d->until->call_id;
	bool is_all, is_all_too = true;
	sqlite3_stmt *s = NULL;
	int err = drop_calls(d, WT_CHUNK_LAUNCH, mark, mark->seq, &is_all);

	*ret_spent = false;
	if (!err)
		err = drop_calls(d, WT_CHUNK_CALL, mark, call_id, &is_all_too);
	if (err || !is_all || !is_all_too)
		return err;
	err = has_young_calls(d, mark, call_id);
	if (err)
		return err < 0 ? err : 0;
	*ret_spent = true;
	err = drop_plain_calls(d, mark, call_id);
	if (!err)
		err = prepare(
		        d,
		        "DELETE FROM drop_mark WHERE process_id = ?1 AND exec_id = ?2 AND seq "
		        "= ?3 AND call_id = ?4",
		        &s);
	if (!err)
		err = wt_store_check(d->run, wt_db_run(s, "iiii", mark->process_id, mark->exec_id,
		                                       mark->seq, mark->call_id));
	sqlite3_finalize(s);
	return err;
}

/* The oldest mark of the next process: 1, 0: there is none, or -errno. */
static int next_mark(struct drop *d, int64_t process_id, struct mark *ret)
{
	sqlite3_stmt *s;
	int err = prepare(
	            d,
	            "SELECT process_id, exec_id, seq, call_id FROM drop_mark WHERE process_id "
	            "> ?1 ORDER BY process_id, exec_id, seq LIMIT 1",
	            &s),
	    code = SQLITE_OK;

	if (err)
		return err;
	code = wt_db_bind(s, "i", process_id);
	if (code == SQLITE_OK)
		code = sqlite3_step(s);
	if (code == SQLITE_ROW)
		*ret = (struct mark){sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1),
		                     sqlite3_column_int64(s, 2), sqlite3_column_int64(s, 3)};
	sqlite3_finalize(s);
	err = wt_store_check(d->run, code);
	return err ? err : code == SQLITE_ROW;
}

/* The first kernel of any process that stays. */
static int low_of_all(struct drop *d, int64_t *ret_exec_id)
{
	int err = wt_drop_low_exec(d->run, -1, ret_exec_id);

	if (!err && *ret_exec_id > d->until->exec_id)
		*ret_exec_id = d->until->exec_id;
	return err;
}

static int drop_all_calls(struct drop *d)
{
	int64_t done_id = INT64_MIN; /* processes up to this one are done */
	struct mark mark = {0};
	int rc;

	while ((rc = next_mark(d, done_id, &mark)) > 0) {
		int64_t low, before = d->rows;
		bool is_spent = false;

		rc = wt_drop_low_exec(d->run, mark.process_id, &low);
		/* One without kernels goes along with the others. */
		if (!rc && low == INT64_MAX)
			rc = low_of_all(d, &low);
		if (!rc && mark.exec_id <= low)
			rc = drop_of_mark(d, &mark, &is_spent);
		if (rc)
			return rc;
		/* One that moved nothing makes place for the next. */
		if (!is_spent || d->rows > before)
			done_id = mark.process_id;
	}
	return rc;
}

static int drop_shares(struct drop *d)
{
	static const char *const remove[2] = {
	        "DELETE FROM main.kernel_share WHERE exec_id < ?1 AND ?2 = 0", NULL};
	int64_t process_id = INT64_MIN, device_id = INT64_MIN, low;
	int rc;

	while ((rc = next_group(d, WT_CHUNK_SHARE, &process_id, &device_id)) > 0) {
		struct chunk chunk = {0}, kernels = {0};

		rc = first_chunk(d, WT_CHUNK_KERNEL, process_id, device_id, &kernels);
		if (rc > 0)
			low = kernels.first_id;
		else if (!rc) /* kernels that are in no chunk */
			rc = low_of_all(d, &low);
		for (int i = 0; rc >= 0 && i < DROP_CHUNKS; i++) {
			rc = first_chunk(d, WT_CHUNK_SHARE, process_id, device_id, &chunk);
			if (rc <= 0 || chunk.last_id >= low)
				break;
			rc = remove_chunk(d, WT_CHUNK_SHARE, &chunk);
		}
		if (rc < 0)
			return rc;
	}
	if (!rc)
		rc = low_of_all(d, &low);
	return rc ? rc
	          : remove_plain(d, WT_CHUNK_SHARE,
	                         "SELECT 0, 0, count(*), NULL, NULL, max(exec_id) FROM "
	                         "main.kernel_share WHERE exec_id < ?1 AND ?2 = 0",
	                         remove, low, 0);
}

int wt_drop_rows(struct wt_run *run, const struct wt_drop_until *until, int64_t *ret_rows)
{
	struct drop d = {.run = run, .until = until};
	int err = drop_all_calls(&d);

	if (!err)
		err = drop_shares(&d);
	if (!err && !d.rows)
		err = drop_kernels(&d);
	*ret_rows = err ? 0 : d.rows;
	return err;
}
