/*
 * wt_rows_view.c - see wt_rows.h: the tables and views of a connection. One thread; blocks on the file.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "schema/wt_db.h"
#include "schema/wt_rows_impl.h"

/* Indices are kinds. */
static const char *const row_names[WT_CHUNK_KIND_MAX] = {
        [WT_CHUNK_KERNEL] = "kernel_row",
        [WT_CHUNK_LAUNCH] = "launch_row",
        [WT_CHUNK_CALL] = "call_row",
        [WT_CHUNK_SHARE] = "share_row",
};
/* Views of the file that read the tables of packed rows. */
static const char *const view_names[] = {"launch", "kernel_range", "loss"};

static int execute(sqlite3 *db, const char *format, ...)
{
	va_list ap;
	int code;

	va_start(ap, format);
	code = wt_db_vexecute(db, format, ap);
	va_end(ap);
	return code;
}

static void free_shared(void *opaque)
{
	struct rows_shared *shared = opaque;

	free(shared->told_ids);
	free(shared);
}

static int attach_chunks(sqlite3 *db, void (*told)(void *arg, const struct wt_rows_damage *damage),
                         void *arg)
{
	struct rows_shared *shared = calloc(1, sizeof(*shared));
	int code;

	if (!shared)
		return SQLITE_NOMEM;
	shared->told = told;
	shared->arg = arg;
	/* Frees it, also where it fails. */
	code = sqlite3_create_module_v2(db, "wt_rows", &wt_rows_module, shared, free_shared);
	for (int kind = WT_CHUNK_KERNEL; kind < WT_CHUNK_KIND_MAX && code == SQLITE_OK; kind++)
		code = execute(db, "CREATE VIRTUAL TABLE temp.%s USING wt_rows(%d)",
		               row_names[kind], kind);
	return code;
}

/* To a reader in a transaction the file stays as it is. */
static bool may_have_chunks(sqlite3 *db)
{
	if (wt_db_int(db, "PRAGMA main.user_version", 0) < 5 || !wt_db_has_table(db, "chunk"))
		return false;
	return sqlite3_get_autocommit(db) || !sqlite3_db_readonly(db, "main") ||
	       wt_db_int(db, "SELECT 1 FROM main.chunk LIMIT 1", 0);
}

int wt_rows_attach(sqlite3 *db, void (*told)(void *arg, const struct wt_rows_damage *damage),
                   void *arg)
{
	int code = SQLITE_OK;

	if (may_have_chunks(db))
		return attach_chunks(db, told, arg);
	for (int kind = WT_CHUNK_KERNEL; kind < WT_CHUNK_KIND_MAX && code == SQLITE_OK; kind++) {
		const char *name = wt_chunk_table((enum wt_chunk_kind)kind)->name;

		if (wt_db_has_table(db, name))
			code = execute(db, "CREATE TEMP VIEW %s AS SELECT * FROM main.%s",
			               row_names[kind], name);
	}
	return code;
}

bool wt_rows_has_chunks(sqlite3 *db)
{
	return wt_db_int(db,
	                 "SELECT 1 FROM temp.sqlite_schema WHERE type = 'table' AND name = "
	                 "'kernel_row'",
	                 0) == 1;
}

/* The view of the file again, in temp, where its names mean all rows. Only its first statement. */
static int make_view(sqlite3 *db, const char *name)
{
	static const char begin[] = "CREATE VIEW ";
	const char *sql = NULL;
	sqlite3_stmt *s = NULL, *make = NULL;
	char *temporary = NULL;
	int code = sqlite3_prepare_v2(
	        db, "SELECT sql FROM main.sqlite_schema WHERE type = 'view' AND name = ?1", -1, &s,
	        NULL);

	if (code == SQLITE_OK)
		code = wt_db_bind(s, "t", name);
	if (code == SQLITE_OK)
		code = sqlite3_step(s);
	if (code == SQLITE_ROW)
		sql = (const char *)sqlite3_column_text(s, 0);
	if (sql && !strncmp(sql, begin, strlen(begin)))
		temporary = sqlite3_mprintf("CREATE TEMP VIEW %s", sql + strlen(begin));
	sqlite3_finalize(s);
	/* A file that lacks it: whoever asks for it is told. */
	if (!temporary)
		return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
	code = sqlite3_prepare_v2(db, temporary, -1, &make, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_step(make);
	sqlite3_finalize(make);
	sqlite3_free(temporary);
	return code == SQLITE_DONE ? SQLITE_OK : code;
}

int wt_rows_hide(sqlite3 *db)
{
	int code = SQLITE_OK;

	if (!wt_rows_has_chunks(db))
		return SQLITE_OK;
	for (int kind = WT_CHUNK_KERNEL; kind < WT_CHUNK_KIND_MAX && code == SQLITE_OK; kind++)
		code = execute(db, "CREATE TEMP VIEW %s AS SELECT * FROM temp.%s",
		               wt_chunk_table((enum wt_chunk_kind)kind)->name, row_names[kind]);
	for (size_t i = 0; i < sizeof(view_names) / sizeof(view_names[0]) && code == SQLITE_OK; i++)
		code = make_view(db, view_names[i]);
	return code;
}
