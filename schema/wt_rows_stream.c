/*
 * wt_rows_stream.c - see wt_rows_impl.h: streams of rows, and merging them. One thread; blocks on the
 * file.
 */
#include <stdlib.h>
#include <string.h>

#include "schema/wt_rows_impl.h"

/* Ids of launches begin again in each process. */
static bool is_by_process(const struct rows_table *table)
{
	return table->shape->process == 0;
}

static struct rows_key key_of(const struct rows_table *table, const struct rows_stream *stream,
                              int64_t id)
{
	return (struct rows_key){is_by_process(table) ? stream->source.process_id : 0, id};
}

/* ---- the directory */

/* May a row of the chunk at the statement be what is looked for? */
static bool is_wanted(const struct rows_filter *filter, sqlite3_stmt *s)
{
	bool has_start = sqlite3_column_type(s, 4) != SQLITE_NULL;
	bool has_end = sqlite3_column_type(s, 5) != SQLITE_NULL;
	int64_t start_ns = sqlite3_column_int64(s, 4), end_ns = sqlite3_column_int64(s, 5);

	if (filter->has_times && has_start != has_end)
		return true;
	if (filter->has_times && !has_start)
		return false;
	if (filter->has_times && (end_ns < filter->start_low || start_ns > filter->start_high ||
	                          end_ns < filter->end_low || start_ns > filter->end_high))
		return false;
	if (!filter->has_config || sqlite3_column_type(s, 6) == SQLITE_NULL)
		return true;
	return wt_chunk_has_config(sqlite3_column_blob(s, 6), (size_t)sqlite3_column_bytes(s, 6),
	                           filter->config_id);
}

/* One row of the directory: SQLITE_ROW, SQLITE_DONE or what went wrong. */
static int step_directory(struct rows_table *table, const struct rows_stream *stream,
                          const struct rows_filter *filter, enum rows_sql which, int64_t first_id,
                          int64_t chunk_id, struct rows_directory *ret_directory,
                          bool *ret_is_wanted)
{
	sqlite3_stmt *s;
	int code = wt_rows_statement(table, which, &s), end;

	if (code != SQLITE_OK)
		return code;
	sqlite3_bind_int64(s, 1, table->kind);
	sqlite3_bind_int64(s, 2, stream->source.process_id);
	if (stream->source.has_device)
		sqlite3_bind_int64(s, 3, stream->source.device_id);
	else
		sqlite3_bind_null(s, 3);
	sqlite3_bind_int64(s, 4, first_id);
	if (which == ROWS_SQL_AFTER)
		sqlite3_bind_int64(s, 5, chunk_id);
	code = sqlite3_step(s);
	if (code == SQLITE_ROW) {
		*ret_directory = (struct rows_directory){
		        sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1),
		        sqlite3_column_int64(s, 2), sqlite3_column_int64(s, 3)};
		*ret_is_wanted = is_wanted(filter, s);
	} else if (code != SQLITE_DONE) {
		wt_rows_fail(table, code, "%s", sqlite3_errmsg(table->db));
	}
	end = sqlite3_reset(s);
	return code == SQLITE_ROW || code == SQLITE_DONE ? code : end;
}

/* The next chunk that is wanted, behind that one, or the end. It is not loaded. */
static int go_behind(struct rows_table *table, struct rows_stream *stream,
                     const struct rows_filter *filter, int64_t first_id, int64_t chunk_id)
{
	struct rows_directory next = {chunk_id, first_id, 0, 0};
	bool wanted = false;
	int code;

	do
		code = step_directory(table, stream, filter, ROWS_SQL_AFTER, next.first_id,
		                      next.chunk_id, &next, &wanted);
	while (code == SQLITE_ROW && !wanted && next.first_id <= filter->id_high);
	if (code != SQLITE_ROW && code != SQLITE_DONE)
		return code;
	stream->is_at_end = code == SQLITE_DONE;
	if (!stream->is_at_end && !wanted) {
		/* Beyond what is looked for now: whoever looks further finds it anew. */
		stream->is_at_end = true;
		stream->is_placed = false;
	}
	stream->directory = next;
	stream->key = key_of(table, stream, next.first_id);
	return SQLITE_OK;
}

static void leave_chunk(struct rows_table *table, struct rows_stream *stream)
{
	if (stream->chunk)
		wt_rows_give_back(table, stream->chunk);
	stream->chunk = NULL;
}

/* The first row of the stream's chunk from id on, which it has. */
static void find_row(const struct rows_table *table, struct rows_stream *stream, int64_t id)
{
	const int64_t *ids = stream->chunk->values[table->shape->id];
	uint32_t low = 0, high = (uint32_t)stream->directory.rows - 1;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (ids[middle] < id)
			low = middle + 1;
		else
			high = middle;
	}
	stream->row = low;
	stream->key = key_of(table, stream, ids[low]);
}

/* Decodes the chunk that the stream is at; a damaged one is passed over. */
static int load_chunk(struct rows_table *table, struct rows_cursor *cursor,
                      struct rows_stream *stream)
{
	int code = wt_rows_get(table, &stream->source, &stream->directory, cursor->columns,
	                       &stream->chunk);

	if (code != SQLITE_OK)
		return code;
	if (!stream->chunk)
		return go_behind(table, stream, &cursor->filter, stream->directory.first_id,
		                 stream->directory.chunk_id);
	find_row(table, stream, stream->from_id);
	return SQLITE_OK;
}

/* ---- rows of the table itself */

/* Reads where the statement is. */
static int take_plain(struct rows_table *table, struct rows_stream *stream, int code)
{
	stream->is_at_end = code == SQLITE_DONE;
	if (code == SQLITE_ROW) {
		stream->key.id = sqlite3_column_int64(stream->plain, 0);
		stream->key.process_id =
		        is_by_process(table) ? sqlite3_column_int64(stream->plain, 1) : 0;
	}
	return code == SQLITE_ROW || code == SQLITE_DONE
	               ? SQLITE_OK
	               : wt_rows_fail(table, code, "%s", sqlite3_errmsg(table->db));
}

static int place_plain(struct rows_table *table, struct rows_cursor *cursor,
                       struct rows_stream *stream, int64_t id)
{
	sqlite3_reset(stream->plain);
	if (cursor->plain_has_low)
		sqlite3_bind_int64(stream->plain, 1, id);
	if (is_by_process(table) && cursor->filter.has_process)
		sqlite3_bind_int64(stream->plain, 2, cursor->filter.process_id);
	return take_plain(table, stream, sqlite3_step(stream->plain));
}

/* ---- any stream */

/* Of chunks, from nowhere: in the last one that begins up to there, or behind it. */
static int place_chunks(struct rows_table *table, struct rows_cursor *cursor,
                        struct rows_stream *stream, int64_t id)
{
	struct rows_directory at = {0};
	bool wanted = false;
	int code = step_directory(table, stream, &cursor->filter, ROWS_SQL_AT, id, 0, &at, &wanted);

	leave_chunk(table, stream);
	if (code == SQLITE_ROW && wanted && at.last_id >= id) {
		stream->directory = at;
		stream->key = key_of(table, stream, id);
		stream->is_at_end = false;
		return SQLITE_OK;
	}
	if (code == SQLITE_ROW)
		return go_behind(table, stream, &cursor->filter, at.first_id, at.chunk_id);
	return code == SQLITE_DONE ? go_behind(table, stream, &cursor->filter, INT64_MIN, INT64_MIN)
	                           : code;
}

/* To the first row from id on, forward if it can be. */
static int place(struct rows_table *table, struct rows_cursor *cursor, struct rows_stream *stream,
                 int64_t id)
{
	bool is_forward = stream->is_placed && id >= stream->from_id;
	int code = SQLITE_OK;

	stream->from_id = id;
	stream->is_placed = true;
	if (is_forward && (stream->is_at_end || stream->key.id >= id))
		return SQLITE_OK;
	if (stream->plain) {
		/* The next row may well be it. */
		if (is_forward)
			code = take_plain(table, stream, sqlite3_step(stream->plain));
		if (code != SQLITE_OK ||
		    (is_forward && (stream->is_at_end || stream->key.id >= id)))
			return code;
		return place_plain(table, cursor, stream, id);
	}
	if (is_forward && stream->directory.last_id >= id) {
		if (stream->chunk)
			find_row(table, stream, id);
		else
			stream->key.id = id;
		return SQLITE_OK;
	}
	return place_chunks(table, cursor, stream, id);
}

/* To the row behind. */
static int step_stream(struct rows_table *table, struct rows_cursor *cursor,
                       struct rows_stream *stream)
{
	int code;

	if (stream->plain) {
		if (stream->key.id < INT64_MAX)
			stream->from_id = stream->key.id + 1;
		return take_plain(table, stream, sqlite3_step(stream->plain));
	}
	if (++stream->row < stream->directory.rows) {
		stream->key.id = stream->chunk->values[table->shape->id][stream->row];
		stream->from_id = stream->key.id;
		return SQLITE_OK;
	}
	leave_chunk(table, stream);
	code = go_behind(table, stream, &cursor->filter, stream->directory.first_id,
	                 stream->directory.chunk_id);
	/* As a rule what was passed and one more; where chunks overlap their rows are all there. */
	stream->from_id = stream->is_at_end ? stream->from_id : stream->directory.first_id;
	return code;
}

/* ---- all of them */

/* The stream with the least row is the one to read, until another's comes before its own. */
static int choose(struct rows_table *table, struct rows_cursor *cursor)
{
	struct rows_stream *best;
	int code;

	for (;;) {
		best = NULL;
		cursor->limit = (struct rows_key){INT64_MAX, INT64_MAX};
		for (size_t i = 0; i < cursor->stream_count; i++) {
			struct rows_stream *stream = &cursor->streams[i];

			if (stream->is_at_end)
				continue;
			if (best && !is_below(stream->key, best->key)) {
				if (is_below(stream->key, cursor->limit))
					cursor->limit = stream->key;
				continue;
			}
			if (best)
				cursor->limit = best->key;
			best = stream;
		}
		cursor->is_eof = !best;
		if (!best)
			return SQLITE_OK;
		cursor->at = (size_t)(best - cursor->streams);
		if (best->plain || best->chunk)
			break;
		code = load_chunk(table, cursor, best);
		if (code != SQLITE_OK)
			return code;
		if (!best->is_at_end && best->chunk && !is_below(cursor->limit, best->key))
			break;
	}
	cursor->is_eof = best->key.id > cursor->filter.id_high &&
	                 (!is_by_process(table) || cursor->filter.has_process);
	return SQLITE_OK;
}

int wt_rows_advance(struct rows_table *table, struct rows_cursor *cursor)
{
	struct rows_stream *stream = &cursor->streams[cursor->at];
	int code = step_stream(table, cursor, stream);

	if (code != SQLITE_OK)
		return code;
	if (!stream->is_at_end && (stream->plain || stream->chunk) &&
	    !is_below(cursor->limit, stream->key) && stream->key.id <= cursor->filter.id_high)
		return SQLITE_OK;
	return choose(table, cursor);
}

static int load_sources(struct rows_table *table)
{
	sqlite3_stmt *s;
	int code = wt_rows_statement(table, ROWS_SQL_SOURCES, &s);

	if (code != SQLITE_OK || table->has_sources)
		return code;
	table->source_count = 0;
	sqlite3_bind_int64(s, 1, table->kind);
	while ((code = sqlite3_step(s)) == SQLITE_ROW) {
		struct rows_source *more = reallocarray(table->sources, table->source_count + 1,
		                                        sizeof(table->sources[0]));

		if (!more) {
			code = SQLITE_NOMEM;
			break;
		}
		table->sources = more;
		more[table->source_count++] =
		        (struct rows_source){sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1),
		                             sqlite3_column_type(s, 1) != SQLITE_NULL};
	}
	sqlite3_reset(s);
	table->has_sources = code == SQLITE_DONE;
	return code == SQLITE_DONE ? SQLITE_OK
	                           : wt_rows_fail(table, code, "%s", sqlite3_errmsg(table->db));
}

/* The statement for rows of the table itself: the id first, launches with their process next. */
static int prepare_plain(struct rows_table *table, struct rows_cursor *cursor,
                         sqlite3_stmt **ret_statement)
{
	const struct wt_chunk_table *shape = table->shape;
	const char *id = shape->columns[shape->id];
	bool has_process = is_by_process(table) && cursor->filter.has_process;
	sqlite3_str *sql = sqlite3_str_new(table->db);
	int at = 1, code;

	sqlite3_str_appendf(sql, "SELECT %s%s", id, is_by_process(table) ? ", process_id" : "");
	at += is_by_process(table);
	for (unsigned c = 0; c < shape->column_count; c++) {
		cursor->plain_column[c] = c == shape->id                                     ? 0
		                          : is_by_process(table) && (int)c == shape->process ? 1
		                                                                             : -1;
		if (cursor->plain_column[c] >= 0 || !(cursor->columns >> c & 1))
			continue;
		sqlite3_str_appendf(sql, ", %s", shape->columns[c]);
		cursor->plain_column[c] = at++;
	}
	cursor->plain_has_low = !is_by_process(table) || has_process;
	sqlite3_str_appendf(sql, " FROM main.%s", shape->name);
	if (cursor->plain_has_low)
		sqlite3_str_appendf(sql, " WHERE %s >= ?1%s", id,
		                    has_process ? " AND process_id = ?2" : "");
	sqlite3_str_appendf(sql, " ORDER BY %s%s", is_by_process(table) ? "process_id, " : "", id);
	sqlite3_free(cursor->plain_sql);
	cursor->plain_sql = sqlite3_str_finish(sql);
	if (!cursor->plain_sql)
		return SQLITE_NOMEM;
	if (table->spare && !strcmp(table->spare_sql, cursor->plain_sql)) {
		*ret_statement = table->spare;
		table->spare = NULL;
		return SQLITE_OK;
	}
	code = sqlite3_prepare_v3(table->db, cursor->plain_sql, -1, SQLITE_PREPARE_PERSISTENT,
	                          ret_statement, NULL);
	return code == SQLITE_OK ? SQLITE_OK
	                         : wt_rows_fail(table, code, "%s", sqlite3_errmsg(table->db));
}

/* Those that the filter leaves: of launches maybe only those of a process. */
static int open_streams(struct rows_table *table, struct rows_cursor *cursor)
{
	const struct rows_filter *filter = &cursor->filter;
	int code = load_sources(table);

	if (code != SQLITE_OK)
		return code;
	cursor->streams = calloc(table->source_count + 1, sizeof(cursor->streams[0]));
	if (!cursor->streams)
		return SQLITE_NOMEM;
	code = prepare_plain(table, cursor, &cursor->streams[0].plain);
	if (code != SQLITE_OK)
		return code;
	cursor->stream_count = 1;
	for (size_t i = 0; i < table->source_count; i++)
		if (table->shape->process < 0 || !filter->has_process ||
		    table->sources[i].process_id == filter->process_id)
			cursor->streams[cursor->stream_count++].source = table->sources[i];
	return SQLITE_OK;
}

void wt_rows_end_streams(struct rows_table *table, struct rows_cursor *cursor)
{
	for (size_t i = 0; i < cursor->stream_count; i++)
		leave_chunk(table, &cursor->streams[i]);
	if (cursor->stream_count) {
		sqlite3_reset(cursor->streams[0].plain);
		sqlite3_finalize(table->spare);
		sqlite3_free(table->spare_sql);
		table->spare = cursor->streams[0].plain;
		table->spare_sql = cursor->plain_sql;
		cursor->plain_sql = NULL;
	}
	free(cursor->streams);
	cursor->streams = NULL;
	cursor->stream_count = 0;
}

/* May the streams go on from where they are? Else they are opened anew, or looked for from nowhere. */
static void keep_streams(struct rows_table *table, struct rows_cursor *cursor,
                         const struct rows_filter *filter)
{
	struct rows_filter old = cursor->filter;

	if (cursor->generation != table->generation || old.has_process != filter->has_process ||
	    old.process_id != filter->process_id)
		wt_rows_end_streams(table, cursor);
	old.id_low = filter->id_low;
	old.id_high = filter->id_high;
	if (memcmp(&old, filter, sizeof(old)))
		for (size_t i = 0; i < cursor->stream_count; i++)
			cursor->streams[i].is_placed = false;
	cursor->generation = table->generation;
	cursor->filter = *filter;
}

int wt_rows_begin(struct rows_table *table, struct rows_cursor *cursor,
                  const struct rows_filter *filter)
{
	int64_t from_id = INT64_MIN;
	int code = SQLITE_OK;

	keep_streams(table, cursor, filter);
	if (!cursor->stream_count)
		code = open_streams(table, cursor);
	if (!is_by_process(table) || filter->has_process)
		from_id = filter->id_low;
	for (size_t i = 0; i < cursor->stream_count && code == SQLITE_OK; i++)
		code = place(table, cursor, &cursor->streams[i], from_id);
	return code == SQLITE_OK ? choose(table, cursor) : code;
}
