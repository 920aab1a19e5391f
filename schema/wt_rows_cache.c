/*
 * wt_rows_cache.c - see wt_rows_impl.h: decoded chunks of a table, and what else is worth keeping while
 * the file does not change. One thread; blocks on the file.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/wt_rows_impl.h"

#define DIRECTORY "SELECT chunk_id, first_id, last_id, row_count, start_ns, end_ns, configs"
#define OF_SOURCE " FROM main.chunk WHERE kind = ?1 AND process_id = ?2 AND device_id IS ?3"

static const char *const statement_sql[ROWS_SQL_MAX] = {
        [ROWS_SQL_SOURCES] =
                "SELECT DISTINCT process_id, device_id FROM main.chunk WHERE kind = ?1 "
                "ORDER BY process_id, device_id",
        /* The last that begins up to there; and the first behind one. */
        [ROWS_SQL_AT] = DIRECTORY OF_SOURCE " AND first_id <= ?4 ORDER BY first_id DESC, chunk_id "
                                            "DESC LIMIT 1",
        [ROWS_SQL_AFTER] = DIRECTORY OF_SOURCE " AND first_id >= ?4 AND (first_id > ?4 OR "
                                               "chunk_id > ?5) ORDER BY first_id, chunk_id LIMIT 1",
        [ROWS_SQL_DATA] = "SELECT data FROM main.chunk WHERE chunk_id = ?1",
};

int wt_rows_statement(struct rows_table *table, enum rows_sql which, sqlite3_stmt **ret_statement)
{
	sqlite3_stmt **s = &table->statements[which];
	int code = SQLITE_OK;

	if (!*s)
		code = sqlite3_prepare_v3(table->db, statement_sql[which], -1,
		                          SQLITE_PREPARE_PERSISTENT, s, NULL);
	*ret_statement = *s;
	return code == SQLITE_OK ? SQLITE_OK
	                         : wt_rows_fail(table, code, "%s", sqlite3_errmsg(table->db));
}

/* ---- while the file does not change */

static void free_chunk(struct rows_chunk *chunk)
{
	wt_chunk_close(chunk->chunk);
	free(chunk);
}

static void remove_chunk(struct rows_table *table, struct rows_chunk *chunk)
{
	struct rows_chunk **at = &table->chunks;

	while (*at != chunk)
		at = &(*at)->next;
	*at = chunk->next;
	free_chunk(chunk);
}

void wt_rows_forget(struct rows_table *table)
{
	struct rows_chunk *next;

	for (struct rows_chunk *chunk = table->chunks; chunk; chunk = next) {
		next = chunk->next;
		chunk->is_stale = true;
		if (!chunk->users)
			remove_chunk(table, chunk);
	}
	free(table->sources);
	table->sources = NULL;
	table->source_count = 0;
	table->has_sources = false;
}

/* Any statement on the file: from here on SQLite keeps to one state of it, and knows which. */
static int begin_reading(struct rows_table *table)
{
	sqlite3_stmt *s;
	int code = wt_rows_statement(table, ROWS_SQL_DATA, &s);

	if (code == SQLITE_OK) {
		sqlite3_bind_null(s, 1);
		sqlite3_step(s);
		code = sqlite3_reset(s);
	}
	return code;
}

int wt_rows_look(struct rows_table *table, bool is_reading)
{
	int changes = sqlite3_total_changes(table->db), code = SQLITE_OK;
	unsigned version = table->data_version;

	if (!is_reading) {
		code = begin_reading(table);
		sqlite3_file_control(table->db, "main", SQLITE_FCNTL_DATA_VERSION, &version);
	}
	if (code != SQLITE_OK)
		return wt_rows_fail(table, code, "%s", sqlite3_errmsg(table->db));
	if (table->data_version != version || table->total_changes != changes) {
		wt_rows_forget(table);
		table->generation++;
	}
	table->data_version = version;
	table->total_changes = changes;
	return SQLITE_OK;
}

/* ---- damage */

static bool was_told(const struct rows_shared *shared, int64_t chunk_id)
{
	for (size_t i = 0; i < shared->told_count; i++)
		if (shared->told_ids[i] == chunk_id)
			return true;
	return false;
}

static void remember(struct rows_shared *shared, int64_t chunk_id)
{
	size_t room = shared->told_room ? 2 * shared->told_room : 16;
	int64_t *more;

	if (shared->told_count == shared->told_room) {
		more = reallocarray(shared->told_ids, room, sizeof(*more));
		if (!more)
			return; /* told again, then */
		shared->told_ids = more;
		shared->told_room = room;
	}
	shared->told_ids[shared->told_count++] = chunk_id;
}

static int tell_damage(struct rows_table *table, const struct rows_source *source,
                       const struct rows_directory *directory)
{
	const struct wt_rows_damage damage = {table->kind,        directory->chunk_id,
	                                      source->process_id, directory->first_id,
	                                      directory->last_id, directory->rows};
	struct rows_shared *shared = table->shared;
	char text[WT_ROWS_TEXT_BYTES];

	if (!shared->told) {
		wt_rows_describe(&damage, text);
		return wt_rows_fail(table, SQLITE_CORRUPT_VTAB, "%s", text);
	}
	if (!was_told(shared, directory->chunk_id)) {
		remember(shared, directory->chunk_id);
		shared->told(shared->arg, &damage);
	}
	return SQLITE_OK;
}

void wt_rows_describe(const struct wt_rows_damage *damage, char text[WT_ROWS_TEXT_BYTES])
{
	const struct wt_chunk_table *shape = wt_chunk_table(damage->kind);

	snprintf(text, WT_ROWS_TEXT_BYTES,
	         "chunk %" PRId64 " is damaged: %s of process %" PRId64 ", %s %" PRId64
	         " to %" PRId64 " (%" PRId64 " rows) can't be read",
	         damage->chunk_id, shape ? shape->name : "rows", damage->process_id,
	         shape ? shape->columns[shape->id] : "id", damage->first_id, damage->last_id,
	         damage->rows);
}

/* ---- chunks */

/* 0, -EBADMSG and the like, or -ENOMEM. */
static int decode(struct rows_table *table, struct rows_chunk *chunk, uint32_t columns)
{
	int err = 0;

	columns |= UINT32_C(1) << table->shape->id;
	for (unsigned c = 0; c < table->shape->column_count && !err; c++)
		if (columns >> c & 1 && !chunk->values[c])
			err = wt_chunk_column(chunk->chunk, c, &chunk->values[c], &chunk->nulls[c]);
	return err;
}

/* A new one from the file, not decoded. *ret_chunk stays NULL where it can't be opened. */
static int load(struct rows_table *table, const struct rows_directory *directory,
                struct rows_chunk **ret_chunk)
{
	struct rows_chunk *chunk = calloc(1, sizeof(*chunk));
	sqlite3_stmt *s;
	int code = wt_rows_statement(table, ROWS_SQL_DATA, &s), err = 0;

	if (!chunk || code != SQLITE_OK) {
		free(chunk);
		return chunk ? code : SQLITE_NOMEM;
	}
	sqlite3_bind_int64(s, 1, directory->chunk_id);
	code = sqlite3_step(s);
	if (code == SQLITE_ROW) {
		const void *data = sqlite3_column_blob(s, 0);
		size_t bytes = (size_t)sqlite3_column_bytes(s, 0);

		err = wt_chunk_open(table->kind, data ? data : "", bytes, &chunk->chunk);
	}
	if (code == SQLITE_ROW || code == SQLITE_DONE)
		code = SQLITE_OK;
	else
		wt_rows_fail(table, code, "%s", sqlite3_errmsg(table->db));
	sqlite3_reset(s);
	if (code != SQLITE_OK || !chunk->chunk) {
		free(chunk);
		return code != SQLITE_OK ? code : err == -ENOMEM ? SQLITE_NOMEM : SQLITE_OK;
	}
	chunk->directory = *directory;
	chunk->next = table->chunks;
	table->chunks = chunk;
	*ret_chunk = chunk;
	return SQLITE_OK;
}

static void make_room(struct rows_table *table)
{
	struct rows_chunk *oldest;
	int kept;

	do {
		oldest = NULL;
		kept = 0;
		for (struct rows_chunk *c = table->chunks; c; c = c->next) {
			if (c->users)
				continue;
			kept++;
			if (!oldest || c->used_at < oldest->used_at)
				oldest = c;
		}
		if (kept > ROWS_KEPT)
			remove_chunk(table, oldest);
	} while (kept > ROWS_KEPT);
}

int wt_rows_get(struct rows_table *table, const struct rows_source *source,
                const struct rows_directory *directory, uint32_t columns,
                struct rows_chunk **ret_chunk)
{
	struct rows_chunk *chunk = table->chunks;
	int code = SQLITE_OK, err;

	*ret_chunk = NULL;
	while (chunk && (chunk->is_stale || chunk->directory.chunk_id != directory->chunk_id))
		chunk = chunk->next;
	if (!chunk)
		code = load(table, directory, &chunk);
	if (code != SQLITE_OK)
		return code;
	if (!chunk)
		return tell_damage(table, source, directory);
	err = decode(table, chunk, columns);
	if (!err)
		err = wt_chunk_check_ids(chunk->chunk, table->kind, chunk->directory.first_id,
		                         chunk->directory.last_id, chunk->directory.rows);
	if (err == -ENOMEM)
		return SQLITE_NOMEM;
	if (err) {
		if (!chunk->users)
			remove_chunk(table, chunk);
		return tell_damage(table, source, directory);
	}
	chunk->users++;
	chunk->used_at = ++table->clock;
	*ret_chunk = chunk;
	return SQLITE_OK;
}

void wt_rows_give_back(struct rows_table *table, struct rows_chunk *chunk)
{
	if (--chunk->users)
		return;
	if (chunk->is_stale)
		remove_chunk(table, chunk);
	else
		make_room(table);
}
