/*
 * report_sql.c - see report_sql.h. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report_sql.h"
#include "schema/wt_db.h"

int wt_report_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret_statement)
{
	return wt_db_prepare(db, sql, ret_statement);
}

/* SQLITE_ROW: 1, SQLITE_DONE: 0. */
int wt_report_step(sqlite3_stmt *statement)
{
	return wt_db_step(statement);
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
