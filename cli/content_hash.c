/*
 * content_hash.c - see content_hash.h. Single-threaded; blocks on the file.
 *
 * A table counts with its name, the names of its columns and its rows in the order of its key; one without
 * rows does not count, so that a file of the same version that lacks it is the same. Values: their
 * SQLite type, and zigzag varints, the bits of doubles, or length and bytes.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/content_hash.h"
#include "schema/wt_rows.h"

/* Where rows of tables that may be packed are all to be read. */
static const char *rows_of(const char *table)
{
	static const char *const packed[][2] = {{"kernel_exec", "temp.kernel_row"},
	                                        {"launch_call", "temp.launch_row"},
	                                        {"api_call", "temp.call_row"},
	                                        {"kernel_share", "temp.share_row"}};

	for (size_t i = 0; i < sizeof(packed) / sizeof(packed[0]); i++)
		if (!strcmp(table, packed[i][0]))
			return packed[i][1];
	return NULL;
}

static void add_number(struct wt_digest *digest, char type, uint64_t value)
{
	uint8_t bytes[12];
	size_t n = 0;

	bytes[n++] = (uint8_t)type;
	for (; value > 0x7f; value >>= 7)
		bytes[n++] = (uint8_t)(value | 0x80);
	bytes[n++] = (uint8_t)value;
	wt_digest_add(digest, bytes, n);
}

static void add_bytes(struct wt_digest *digest, char type, const void *bytes, size_t count)
{
	add_number(digest, type, count);
	if (count)
		wt_digest_add(digest, bytes, count);
}

static void add_value(struct wt_digest *digest, sqlite3_stmt *s, int column)
{
	int64_t integer;
	uint64_t bits;
	double real;

	switch (sqlite3_column_type(s, column)) {
	case SQLITE_INTEGER:
		integer = sqlite3_column_int64(s, column);
		add_number(digest, 'i', (uint64_t)integer << 1 ^ (uint64_t)(integer >> 63));
		break;
	case SQLITE_FLOAT:
		real = sqlite3_column_double(s, column);
		memcpy(&bits, &real, sizeof(bits));
		add_number(digest, 'r', bits);
		break;
	case SQLITE_NULL:
		add_number(digest, 'n', 0);
		break;
	case SQLITE_TEXT:
		add_bytes(digest, 't', sqlite3_column_text(s, column),
		          (size_t)sqlite3_column_bytes(s, column));
		break;
	default:
		add_bytes(digest, 'b', sqlite3_column_blob(s, column),
		          (size_t)sqlite3_column_bytes(s, column));
	}
}

static void add_heading(struct wt_digest *digest, const char *table, sqlite3_stmt *s)
{
	add_bytes(digest, 'T', table, strlen(table));
	for (int i = 0, n = sqlite3_column_count(s); i < n; i++) {
		const char *name = sqlite3_column_name(s, i);

		add_bytes(digest, 'C', name ? name : "", name ? strlen(name) : 0);
	}
}

/* "a, b": columns of its key; by rowid if it has none. The caller frees with sqlite3_free. */
static char *key_of(sqlite3 *db, const char *table)
{
	static const char sql[] =
	        "SELECT coalesce(group_concat('\"' || name || '\"', ', '), 'rowid') FROM"
	        " (SELECT name FROM pragma_table_info(?1, 'main') WHERE pk > 0 ORDER BY pk)";
	sqlite3_stmt *s = NULL;
	char *key = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK &&
	    wt_db_bind(s, "t", table) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
		key = sqlite3_mprintf("%s", (const char *)sqlite3_column_text(s, 0));
	sqlite3_finalize(s);
	return key;
}

/* An SQLite code. */
static int add_table(sqlite3 *db, struct wt_digest *digest, const char *table)
{
	const char *rows = rows_of(table);
	char *key = key_of(db, table);
	char *sql = !key    ? NULL
	            : !rows ? sqlite3_mprintf("SELECT * FROM main.\"%w\" ORDER BY %s", table, key)
	                    : sqlite3_mprintf("SELECT * FROM %s ORDER BY %s", rows, key);
	sqlite3_stmt *s = NULL;
	int code = sql ? sqlite3_prepare_v2(db, sql, -1, &s, NULL) : SQLITE_NOMEM;
	int64_t count = 0;

	while (code == SQLITE_OK || code == SQLITE_ROW) {
		code = sqlite3_step(s);
		if (code != SQLITE_ROW)
			break;
		if (!count++)
			add_heading(digest, table, s);
		for (int i = 0, n = sqlite3_column_count(s); i < n; i++)
			add_value(digest, s, i);
	}
	sqlite3_finalize(s);
	sqlite3_free(sql);
	sqlite3_free(key);
	return code == SQLITE_DONE ? SQLITE_OK : code;
}

static int add_all(sqlite3 *db, struct wt_digest *digest)
{
	static const char sql[] = "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND "
	                          "name NOT LIKE 'sqlite_%'"
	                          " AND name NOT GLOB 'ledger_*' AND name NOT IN ('chunk', "
	                          "'drop_mark') ORDER BY name";
	sqlite3_stmt *s = NULL;
	int code = sqlite3_prepare_v2(db, sql, -1, &s, NULL);

	while (code == SQLITE_OK && (code = sqlite3_step(s)) == SQLITE_ROW)
		code = add_table(db, digest, (const char *)sqlite3_column_text(s, 0));
	sqlite3_finalize(s);
	return code == SQLITE_DONE ? SQLITE_OK : code;
}

int wt_content_hash(const char *path, char hex[WT_DIGEST_HEX_BYTES], char error[WT_DB_ERROR_BYTES])
{
	struct wt_digest digest;
	sqlite3 *db = NULL;
	int code, rc = wt_db_open(path, &db, error);

	if (rc)
		return rc;
	sqlite3_exec(db, "PRAGMA query_only = OFF; BEGIN", NULL, NULL, NULL);
	wt_digest_init(&digest);
	/* Without anybody to tell, damaged rows make a statement fail: no hash of a part. */
	code = wt_rows_attach(db, NULL, NULL);
	if (code == SQLITE_OK)
		code = add_all(db, &digest);
	if (code == SQLITE_OK) {
		wt_digest_finish(&digest, hex);
	} else {
		snprintf(error, WT_DB_ERROR_BYTES, "%.300s: %.200s", path, sqlite3_errmsg(db));
		rc = wt_db_errno(code) ? wt_db_errno(code) : -EIO;
	}
	sqlite3_close(db);
	return rc;
}
