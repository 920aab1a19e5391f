/*
 * expand_rows.c - see expand_rows.h. Memory: one chunk, and 8 bytes for each.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/report.h"
#include "cli/expand_rows.h"
#include "cli/progress.h"
#include "schema/wt_db.h"
#include "schema/wt_rows.h"

struct expansion {
	sqlite3 *db;
	const char *shown_path;
	struct wt_progress progress;
	int64_t rows_done;
	sqlite3_stmt *insert[WT_CHUNK_KIND_MAX];
	sqlite3_stmt *find, *remove;
};

static int prepare(struct expansion *x)
{
	int code = SQLITE_OK;

	for (int kind = WT_CHUNK_KERNEL; kind < WT_CHUNK_KIND_MAX && code == SQLITE_OK; kind++) {
		const struct wt_chunk_table *shape = wt_chunk_table((enum wt_chunk_kind)kind);
		char sql[120];
		int n = snprintf(sql, sizeof(sql), "INSERT INTO %s VALUES (?", shape->name);

		for (unsigned c = 1; c < shape->column_count; c++)
			n += snprintf(sql + n, sizeof(sql) - (size_t)n, ",?");
		snprintf(sql + n, sizeof(sql) - (size_t)n, ")");
		code = sqlite3_prepare_v2(x->db, sql, -1, &x->insert[kind], NULL);
	}
	if (code == SQLITE_OK)
		code = sqlite3_prepare_v2(
		        x->db,
		        "SELECT kind, process_id, first_id, last_id, row_count, data "
		        "FROM chunk WHERE chunk_id = ?1",
		        -1, &x->find, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_prepare_v2(x->db, "DELETE FROM chunk WHERE chunk_id = ?1", -1,
		                          &x->remove, NULL);
	return code;
}

static int insert_rows(struct expansion *x, enum wt_chunk_kind kind, struct wt_chunk *chunk)
{
	unsigned columns = wt_chunk_table(kind)->column_count;
	const int64_t *values[WT_CHUNK_COLUMNS];
	const uint8_t *nulls[WT_CHUNK_COLUMNS];
	sqlite3_stmt *s = x->insert[kind];

	for (unsigned c = 0; c < columns; c++)
		if (wt_chunk_column(chunk, c, &values[c], &nulls[c]))
			return SQLITE_NOMEM; /* all were decoded before */
	for (uint32_t i = 0; i < wt_chunk_row_count(chunk); i++) {
		int code;

		for (unsigned c = 0; c < columns; c++)
			if (nulls[c] && nulls[c][i])
				sqlite3_bind_null(s, (int)c + 1);
			else
				sqlite3_bind_int64(s, (int)c + 1, values[c][i]);
		sqlite3_step(s);
		code = sqlite3_reset(s);
		if (code != SQLITE_OK)
			return code;
	}
	x->rows_done += wt_chunk_row_count(chunk);
	wt_progress_set(&x->progress, x->rows_done);
	return SQLITE_OK;
}

/* The chunk at x->find. It stays if it is damaged. */
static int expand_chunk(struct expansion *x, int64_t chunk_id)
{
	const struct wt_rows_damage damage = {
	        .kind = (enum wt_chunk_kind)sqlite3_column_int64(x->find, 0),
	        .chunk_id = chunk_id,
	        .process_id = sqlite3_column_int64(x->find, 1),
	        .first_id = sqlite3_column_int64(x->find, 2),
	        .last_id = sqlite3_column_int64(x->find, 3),
	        .rows = sqlite3_column_int64(x->find, 4),
	};
	const void *data = sqlite3_column_blob(x->find, 5);
	char text[WT_ROWS_TEXT_BYTES];
	struct wt_chunk *chunk = NULL;
	int code = SQLITE_OK;
	int err = wt_chunk_open(damage.kind, data ? data : "",
	                        (size_t)sqlite3_column_bytes(x->find, 5), &chunk);

	if (!err)
		err = wt_chunk_check_ids(chunk, damage.kind, damage.first_id, damage.last_id,
		                         damage.rows);
	if (!err)
		err = wt_chunk_decode_all(chunk);
	sqlite3_reset(x->find);
	if (!err) {
		code = insert_rows(x, damage.kind, chunk);
		if (code == SQLITE_OK && wt_db_run(x->remove, "i", chunk_id) != SQLITE_DONE)
			code = sqlite3_errcode(x->db);
	} else if (err == -ENOMEM) {
		code = SQLITE_NOMEM;
	} else {
		wt_rows_describe(&damage, text);
		wt_report_note_damage(&damage);
		wt_cli_error("%s: %s", x->shown_path, text);
	}
	wt_chunk_close(chunk);
	return code;
}

/* Of chunks in the order in which they were made. */
static int expand_all(struct expansion *x)
{
	int64_t last = INT64_MIN;
	sqlite3_stmt *next = NULL;
	int code = sqlite3_prepare_v2(x->db, "SELECT min(chunk_id) FROM chunk WHERE chunk_id > ?1",
	                              -1, &next, NULL);

	while (code == SQLITE_OK) {
		bool is_end;

		wt_db_bind(next, "i", last);
		code = sqlite3_step(next);
		is_end = code != SQLITE_ROW || sqlite3_column_type(next, 0) == SQLITE_NULL;
		last = sqlite3_column_int64(next, 0);
		code = sqlite3_reset(next);
		if (is_end || code != SQLITE_OK)
			break;
		if (wt_db_bind(x->find, "i", last) == SQLITE_OK &&
		    sqlite3_step(x->find) == SQLITE_ROW)
			code = expand_chunk(x, last);
		else
			code = sqlite3_errcode(x->db);
	}
	sqlite3_finalize(next);
	return code;
}

int wt_expand_rows(const char *path, const char *shown_path, const char *what)
{
	struct expansion x = {.shown_path = shown_path};
	int code = sqlite3_open_v2(path, &x.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	int64_t rows = 0;

	if (code == SQLITE_OK)
		rows = wt_db_int(x.db, "SELECT sum(row_count) FROM chunk", 0);
	if (code == SQLITE_OK && rows > 0) {
		wt_progress_begin(&x.progress, what, "rows", rows);
		code = sqlite3_exec(x.db,
		                    "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA "
		                    "cache_size=-16384; BEGIN",
		                    NULL, NULL, NULL);
		if (code == SQLITE_OK)
			code = prepare(&x);
		if (code == SQLITE_OK)
			code = expand_all(&x);
		if (code == SQLITE_OK)
			code = sqlite3_exec(x.db, "COMMIT; PRAGMA incremental_vacuum", NULL, NULL,
			                    NULL);
		wt_progress_end(&x.progress);
	}
	if (code != SQLITE_OK)
		wt_cli_error("can't write %s: %s", shown_path,
		             x.db ? sqlite3_errmsg(x.db) : "out of memory");
	for (int kind = 0; kind < WT_CHUNK_KIND_MAX; kind++)
		sqlite3_finalize(x.insert[kind]);
	sqlite3_finalize(x.find);
	sqlite3_finalize(x.remove);
	sqlite3_close(x.db);
	return code == SQLITE_OK ? WT_EXIT_FINE : WT_EXIT_FAILED;
}
