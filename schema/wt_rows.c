/*
 * wt_rows.c - see wt_rows.h: the module of virtual tables. One thread; blocks on the file.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "schema/wt_rows_impl.h"

int wt_rows_fail(struct rows_table *table, int code, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	sqlite3_free(table->base.zErrMsg);
	table->base.zErrMsg = sqlite3_vmprintf(format, ap);
	va_end(ap);
	return code;
}

/* ---- tables */

/* launch_row has the key of its table; ids of the others are their rowids. */
static int declare(sqlite3 *db, const struct wt_chunk_table *shape)
{
	sqlite3_str *sql = sqlite3_str_new(db);
	char *text;
	int code;

	sqlite3_str_appendall(sql, "CREATE TABLE t(");
	for (unsigned c = 0; c < shape->column_count; c++)
		sqlite3_str_appendf(sql, "%s%s INTEGER", c ? ", " : "", shape->columns[c]);
	sqlite3_str_appendall(
	        sql, shape->process == 0 ? ", PRIMARY KEY (process_id, seq)) WITHOUT ROWID" : ")");
	text = sqlite3_str_finish(sql);
	code = text ? sqlite3_declare_vtab(db, text) : SQLITE_NOMEM;
	sqlite3_free(text);
	return code;
}

/* The argument is the kind. */
static int connect_table(sqlite3 *db, void *aux, int argc, const char *const *argv,
                         sqlite3_vtab **ret_table, char **ret_error)
{
	enum wt_chunk_kind kind = argc > 3 ? (enum wt_chunk_kind)atoi(argv[3]) : 0;
	const struct wt_chunk_table *shape = wt_chunk_table(kind);
	struct rows_table *table;
	int code;

	if (!shape) {
		*ret_error = sqlite3_mprintf("no such kind of rows");
		return SQLITE_ERROR;
	}
	code = declare(db, shape);
	if (code != SQLITE_OK)
		return code;
	table = calloc(1, sizeof(*table));
	if (!table)
		return SQLITE_NOMEM;
	table->db = db;
	table->kind = kind;
	table->shape = shape;
	table->shared = aux;
	*ret_table = &table->base;
	return SQLITE_OK;
}

static int disconnect_table(sqlite3_vtab *base)
{
	struct rows_table *table = (struct rows_table *)base;

	wt_rows_forget(table);
	for (int i = 0; i < ROWS_SQL_MAX; i++)
		sqlite3_finalize(table->statements[i]);
	sqlite3_finalize(table->spare);
	sqlite3_free(table->spare_sql);
	free(table);
	return SQLITE_OK;
}

/* ---- cursors */

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **ret_cursor)
{
	struct rows_cursor *cursor = calloc(1, sizeof(*cursor));

	(void)base;
	if (!cursor)
		return SQLITE_NOMEM;
	*ret_cursor = &cursor->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct rows_cursor *cursor = (struct rows_cursor *)base;

	wt_rows_end_streams((struct rows_table *)base->pVtab, cursor);
	sqlite3_free(cursor->plain_sql);
	free(cursor);
	return SQLITE_OK;
}

static int filter_cursor(sqlite3_vtab_cursor *base, int number, const char *plan, int count,
                         sqlite3_value **values)
{
	struct rows_cursor *cursor = (struct rows_cursor *)base;
	struct rows_table *table = (struct rows_table *)base->pVtab;
	struct rows_filter filter;
	uint32_t columns;
	int code = wt_rows_look(table, cursor->is_reading);

	(void)number;
	if (code != SQLITE_OK)
		return code;
	cursor->is_reading = true;
	wt_rows_take_plan(table->shape, plan, count, values, &columns, &filter);
	if (columns != cursor->columns)
		wt_rows_end_streams(table, cursor);
	cursor->columns = columns;
	cursor->is_eof = filter.is_empty;
	return filter.is_empty ? SQLITE_OK : wt_rows_begin(table, cursor, &filter);
}

static int next_row(sqlite3_vtab_cursor *base)
{
	return wt_rows_advance((struct rows_table *)base->pVtab, (struct rows_cursor *)base);
}

static int is_at_end(sqlite3_vtab_cursor *base)
{
	return ((struct rows_cursor *)base)->is_eof;
}

static int get_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	const struct rows_cursor *cursor = (struct rows_cursor *)base;
	const struct rows_stream *stream = &cursor->streams[cursor->at];
	const struct rows_chunk *chunk = stream->chunk;
	int at;

	if (stream->plain) {
		at = cursor->plain_column[column];
		if (at >= 0 && sqlite3_column_type(stream->plain, at) == SQLITE_INTEGER)
			sqlite3_result_int64(context, sqlite3_column_int64(stream->plain, at));
		else if (at >= 0)
			sqlite3_result_value(context, sqlite3_column_value(stream->plain, at));
		return SQLITE_OK;
	}
	if (!chunk->values[column]) /* not asked for */
		return SQLITE_OK;
	if (!chunk->nulls[column] || !chunk->nulls[column][stream->row])
		sqlite3_result_int64(context, chunk->values[column][stream->row]);
	return SQLITE_OK;
}

static int get_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret_rowid)
{
	const struct rows_cursor *cursor = (struct rows_cursor *)base;

	*ret_rowid = cursor->streams[cursor->at].key.id;
	return SQLITE_OK;
}

const sqlite3_module wt_rows_module = {
        .iVersion = 1,
        .xCreate = connect_table,
        .xConnect = connect_table,
        .xBestIndex = wt_rows_best_index,
        .xDisconnect = disconnect_table,
        .xDestroy = disconnect_table,
        .xOpen = open_cursor,
        .xClose = close_cursor,
        .xFilter = filter_cursor,
        .xNext = next_row,
        .xEof = is_at_end,
        .xColumn = get_column,
        .xRowid = get_rowid,
};
