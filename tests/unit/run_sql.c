/*
 * run_sql.c - SQL on a run file as its readers see it, rows in chunks included: run_sql FILE SQL.
 * For tests, in place of `sqlite3 -batch FILE SQL`, and with its output.
 */
#include <sqlite3.h>
#include <stdio.h>

#include "schema/wt_rows.h"

static void print_row(sqlite3_stmt *s)
{
	for (int i = 0; i < sqlite3_column_count(s); i++) {
		const unsigned char *text = sqlite3_column_text(s, i);
		char number[64];

		if (sqlite3_column_type(s, i) == SQLITE_FLOAT) {
			sqlite3_snprintf(sizeof(number), number, "%!.15g",
			                 sqlite3_column_double(s, i));
			text = (unsigned char *)number;
		}
		printf("%s%s", i ? "|" : "", text ? (const char *)text : "");
	}
	putchar('\n');
}

static int fail(sqlite3 *db)
{
	fprintf(stderr, "run_sql: %s\n", sqlite3_errmsg(db));
	return 1;
}

int main(int argc, char **argv)
{
	const char *sql = argc == 3 ? argv[2] : "";
	sqlite3 *db;
	int code;

	if (argc != 3) {
		fprintf(stderr, "usage: run_sql FILE SQL\n");
		return 2;
	}
	code = sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READWRITE, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_busy_timeout(db, 10000);
	if (code == SQLITE_OK)
		code = wt_rows_attach(db, NULL, NULL);
	if (code == SQLITE_OK)
		code = wt_rows_hide(db);
	while (code == SQLITE_OK && *sql) {
		sqlite3_stmt *s = NULL;

		code = sqlite3_prepare_v2(db, sql, -1, &s, &sql);
		while (code == SQLITE_OK && s && sqlite3_step(s) == SQLITE_ROW)
			print_row(s);
		if (code == SQLITE_OK)
			code = sqlite3_finalize(s);
	}
	if (code != SQLITE_OK)
		return fail(db);
	return sqlite3_close(db) == SQLITE_OK ? 0 : 1;
}
