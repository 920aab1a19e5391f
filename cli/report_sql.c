/*
 * report_sql.c - see report_sql.h. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report_sql.h"
#include "schema/wt_db.h"

static char noted[WT_DB_ERROR_BYTES]; /* of the last failure; one thread */

static bool is_failure(int code)
{
	return code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE;
}

int wt_report_note(sqlite3 *db, int code)
{
	if (!is_failure(code))
		return 0;
	snprintf(noted, sizeof(noted), "%s",
	         is_failure(sqlite3_errcode(db)) ? sqlite3_errmsg(db) : sqlite3_errstr(code));
	return -EIO;
}

const char *wt_report_problem(sqlite3 *db)
{
	if (is_failure(sqlite3_errcode(db)))
		return sqlite3_errmsg(db);
	return noted[0] ? noted : "it can't be read";
}

int wt_report_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret_statement)
{
	return wt_report_note(db, sqlite3_prepare_v2(db, sql, -1, ret_statement, NULL));
}

/* SQLITE_ROW: 1, SQLITE_DONE: 0. */
int wt_report_step(sqlite3_stmt *statement)
{
	int code = sqlite3_step(statement);

	return code == SQLITE_ROW ? 1 : wt_report_note(sqlite3_db_handle(statement), code);
}

/* A copy of a text column; NULL stays NULL. */
int wt_report_copy_text(sqlite3_stmt *statement, int column, char **ret_text)
{
	const unsigned char *text = sqlite3_column_text(statement, column);

	*ret_text = NULL;
	if (!text)
		return sqlite3_column_type(statement, column) == SQLITE_NULL ? 0 : -ENOMEM;
	*ret_text = strdup((const char *)text);
	return *ret_text ? 0 : -ENOMEM;
}

int wt_report_copy_name(sqlite3_stmt *statement, int column, char **ret_text)
{
	int rc = wt_report_copy_text(statement, column, ret_text);

	if (!rc && !*ret_text)
		*ret_text = strdup("");
	return *ret_text ? rc : -ENOMEM;
}

/* Room for one more element, zeroed; NULL when out of memory. */
void *wt_report_append(void *array_at, size_t *count, size_t element_bytes)
{
	char *array;

	memcpy(&array, array_at, sizeof(array)); /* whatever it points to */
	/* Doubles at each power of two. */
	if ((*count & (*count - 1)) == 0) {
		array = reallocarray(array, *count ? *count * 2 : 1, element_bytes);
		if (!array)
			return NULL;
		memcpy(array_at, &array, sizeof(array));
	}
	array += (*count)++ * element_bytes;
	memset(array, 0, element_bytes);
	return array;
}

bool wt_report_has_measured(sqlite3 *db)
{
	return wt_db_int(db, "PRAGMA user_version", 0) > 2;
}

bool wt_report_has_classes(sqlite3 *db)
{
	return wt_db_int(db, "PRAGMA user_version", 0) > 3;
}

bool wt_report_has_shares(sqlite3 *db)
{
	return wt_db_int(db, "PRAGMA user_version", 0) > 1;
}
