/*
 * check_chunks.c - are the packed rows of a run file sound: chunks that can be read and hold what the
 * directory says of them, in order; and is no row there twice? Memory: one chunk. See check.h.
 *
 * The rows themselves are judged with those in the tables, by the other checks.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/check.h"
#include "schema/wt_rows.h"

/* Columns of the pass over `chunk`. */
enum {
	C_ID,
	C_KIND,
	C_PROCESS,
	C_DEVICE,
	C_FIRST,
	C_LAST,
	C_ROWS,
	C_START,
	C_END,
	C_CONFIGS,
	C_DATA
};

struct problem {
	int64_t count;
	char first[WT_ROWS_TEXT_BYTES + 60];
};

struct chunks {
	struct wt_check *check;
	struct problem unreadable, untrue, unordered;
	/* The chunk before. */
	int64_t kind, process_id, device_id, last_id;
	bool has_before;
};

static void note(struct problem *problem, sqlite3_stmt *row, const char *what)
{
	const struct wt_rows_damage damage = {
	        .kind = (enum wt_chunk_kind)sqlite3_column_int64(row, C_KIND),
	        .chunk_id = sqlite3_column_int64(row, C_ID),
	        .process_id = sqlite3_column_int64(row, C_PROCESS),
	        .first_id = sqlite3_column_int64(row, C_FIRST),
	        .last_id = sqlite3_column_int64(row, C_LAST),
	        .rows = sqlite3_column_int64(row, C_ROWS),
	};

	if (problem->count++)
		return;
	if (what)
		snprintf(problem->first, sizeof(problem->first), "chunk_id %" PRId64 ": %s",
		         damage.chunk_id, what);
	else
		wt_rows_describe(&damage, problem->first);
}

/* ---- what is said of a chunk */

static bool are_times_true(struct wt_chunk *chunk, const struct wt_chunk_table *shape,
                           sqlite3_stmt *row)
{
	int columns[2] = {shape->start, shape->end};
	int64_t least = INT64_MAX, most = INT64_MIN;
	bool has_times = false;

	for (int k = 0; k < 2; k++) {
		const int64_t *values;
		const uint8_t *nulls;

		if (columns[k] < 0 || wt_chunk_column(chunk, (unsigned)columns[k], &values, &nulls))
			continue;
		for (uint32_t i = 0; i < wt_chunk_row_count(chunk); i++) {
			if (nulls && nulls[i])
				continue;
			has_times = true;
			least = values[i] < least ? values[i] : least;
			most = values[i] > most ? values[i] : most;
		}
	}
	if (!has_times)
		return sqlite3_column_type(row, C_START) == SQLITE_NULL &&
		       sqlite3_column_type(row, C_END) == SQLITE_NULL;
	return sqlite3_column_type(row, C_START) == SQLITE_INTEGER &&
	       sqlite3_column_type(row, C_END) == SQLITE_INTEGER &&
	       sqlite3_column_int64(row, C_START) == least &&
	       sqlite3_column_int64(row, C_END) == most;
}

static bool are_of_process(struct wt_chunk *chunk, int column, int64_t process_id)
{
	const int64_t *values;
	const uint8_t *nulls;

	if (column < 0)
		return true;
	if (wt_chunk_column(chunk, (unsigned)column, &values, &nulls))
		return false;
	for (uint32_t i = 0; i < wt_chunk_row_count(chunk); i++)
		if ((nulls && nulls[i]) || values[i] != process_id)
			return false;
	return true;
}

static bool are_configs_said(struct wt_chunk *chunk, int column, sqlite3_stmt *row)
{
	const void *configs = sqlite3_column_blob(row, C_CONFIGS);
	size_t bytes = (size_t)sqlite3_column_bytes(row, C_CONFIGS);
	const int64_t *values;
	const uint8_t *nulls;

	if (column < 0 || sqlite3_column_type(row, C_CONFIGS) == SQLITE_NULL)
		return true;
	if (wt_chunk_column(chunk, (unsigned)column, &values, &nulls))
		return false;
	for (uint32_t i = 0; i < wt_chunk_row_count(chunk); i++)
		if ((!i || values[i] != values[i - 1]) &&
		    !wt_chunk_has_config(configs, bytes, values[i]))
			return false;
	return true;
}

/* NULL, or what of it is not true. */
static const char *find_untrue(struct wt_chunk *chunk, const struct wt_chunk_table *shape,
                               sqlite3_stmt *row)
{
	int64_t rows = wt_chunk_row_count(chunk);
	const int64_t *ids;
	const uint8_t *nulls;

	if (wt_chunk_column(chunk, shape->id, &ids, &nulls) ||
	    rows != sqlite3_column_int64(row, C_ROWS) ||
	    ids[0] != sqlite3_column_int64(row, C_FIRST) ||
	    ids[rows - 1] != sqlite3_column_int64(row, C_LAST))
		return "it has other rows";
	if (!are_of_process(chunk, shape->process, sqlite3_column_int64(row, C_PROCESS)))
		return "its rows are of another process";
	if (!are_times_true(chunk, shape, row))
		return "its rows have other times";
	return are_configs_said(chunk, shape->config, row)
	               ? NULL
	               : "it has configurations that are not said";
}

/* 0, or -ENOMEM. */
static int check_chunk(struct chunks *c, sqlite3_stmt *row)
{
	enum wt_chunk_kind kind = (enum wt_chunk_kind)sqlite3_column_int64(row, C_KIND);
	const struct wt_chunk_table *shape = wt_chunk_table(kind);
	const void *data = sqlite3_column_blob(row, C_DATA);
	struct wt_chunk *chunk = NULL;
	const char *untrue;
	int err;

	if (!shape) {
		note(&c->untrue, row, "no kind of rows");
		return 0;
	}
	err = wt_chunk_open(kind, data ? data : "", (size_t)sqlite3_column_bytes(row, C_DATA),
	                    &chunk);
	if (!err)
		err = wt_chunk_decode_all(chunk);
	if (!err) {
		untrue = find_untrue(chunk, shape, row);
		if (untrue)
			note(&c->untrue, row, untrue);
	} else if (err != -ENOMEM) {
		note(&c->unreadable, row, NULL);
	}
	wt_chunk_close(chunk);
	return err == -ENOMEM ? err : 0;
}

static void check_order(struct chunks *c, sqlite3_stmt *row)
{
	int64_t kind = sqlite3_column_int64(row, C_KIND);
	int64_t process_id = sqlite3_column_int64(row, C_PROCESS);
	int64_t device_id = sqlite3_column_int64(row, C_DEVICE);

	if (c->has_before && kind == c->kind && process_id == c->process_id &&
	    device_id == c->device_id && sqlite3_column_int64(row, C_FIRST) <= c->last_id)
		note(&c->unordered, row, "begins before the one before it ends");
	c->has_before = true;
	c->kind = kind;
	c->process_id = process_id;
	c->device_id = device_id;
	c->last_id = sqlite3_column_int64(row, C_LAST);
}

static int tell(struct chunks *c)
{
	struct wt_check *check = c->check;
	int err = 0;

	if (c->unreadable.count)
		err = wt_check_add(check, "chunks", "chunk", c->unreadable.count,
		                   "can't be read, and not counted below (first: %s)",
		                   c->unreadable.first);
	if (!err && c->untrue.count)
		err = wt_check_add(check, "chunks", "chunk", c->untrue.count,
		                   "is not what the file says of it (first: %s)", c->untrue.first);
	if (!err && c->unordered.count)
		err = wt_check_add(check, "order", "chunk", c->unordered.count,
		                   "rows of two chunks overlap (first: %s)", c->unordered.first);
	return err;
}

/* ---- rows that are in two places */

static int check_twice(struct wt_check *check, const char *rows, const char *table,
                       const char *process, const char *id)
{
	char sql[120];
	sqlite3_stmt *row = NULL;
	int64_t twice = 0, first = 0, process_id = 0, last = 0;
	bool has_last = false;
	int code;

	snprintf(sql, sizeof(sql), "SELECT %s, %s FROM %s", process, id, rows);
	code = sqlite3_prepare_v2(check->db, sql, -1, &row, NULL);
	while (code == SQLITE_OK && (code = sqlite3_step(row)) == SQLITE_ROW) {
		if (has_last && sqlite3_column_int64(row, 0) == process_id &&
		    sqlite3_column_int64(row, 1) <= last && !twice++)
			first = sqlite3_column_int64(row, 1);
		has_last = true;
		process_id = sqlite3_column_int64(row, 0);
		last = sqlite3_column_int64(row, 1);
		code = SQLITE_OK;
	}
	sqlite3_finalize(row);
	if (code != SQLITE_DONE)
		return wt_check_code(check, code);
	return twice ? wt_check_add(
	                       check, "order", table, twice,
	                       "a row is there twice, packed and in the table or in two chunks "
	                       "(first: %s %" PRId64 ")",
	                       id, first)
	             : 0;
}

int wt_check_chunks(struct wt_check *check)
{
	static const char sql[] =
	        "SELECT chunk_id, kind, process_id, device_id, first_id, last_id, row_count, "
	        "start_ns, end_ns, configs, data FROM chunk ORDER BY kind, process_id, device_id, "
	        "first_id, chunk_id";
	struct chunks c = {.check = check};
	sqlite3_stmt *row = NULL;
	int code, err = 0;

	if (!check->has_chunks)
		return 0;
	code = sqlite3_prepare_v2(check->db, sql, -1, &row, NULL);
	while (code == SQLITE_OK && !err && (code = sqlite3_step(row)) == SQLITE_ROW) {
		code = SQLITE_OK;
		check_order(&c, row);
		err = check_chunk(&c, row);
	}
	sqlite3_finalize(row);
	if (!err)
		err = wt_check_code(check, code);
	if (!err)
		err = tell(&c);
	if (!err)
		err = check_twice(check, "kernel_row", "kernel_exec", "0", "exec_id");
	if (!err)
		err = check_twice(check, "launch_row", "launch_call", "process_id", "seq");
	if (!err)
		err = check_twice(check, "call_row", "api_call", "0", "call_id");
	return err ? err : check_twice(check, "share_row", "kernel_share", "0", "exec_id");
}
