/*
 * status_samplers.c - see status_samplers.h. The daemon's fields: daemon/status.c.
 */
#include <errno.h>
#include <stdio.h>

#include "cli/phrase.h"
#include "cli/status_samplers.h"
#include "cli/table.h"

static const struct wt_table_column columns[] = {
        {"pid", "SAMPLER", WT_TABLE_RIGHT, 0, 0, 0},
        {"state", "STATE", WT_TABLE_LEFT, 0, 0, 0},
        {"interval", "EVERY", WT_TABLE_RIGHT, 0, 0, 0},
        {"samples", "SAMPLES", WT_TABLE_RIGHT, WT_TABLE_DROP(4), 0, 0},
        {"dropped", "DROPPED", WT_TABLE_RIGHT, WT_TABLE_DROP(3), 0, 0},
        {"overflows", "OVERFLOWS", WT_TABLE_RIGHT, WT_TABLE_DROP(2), 0, 0},
        {"cpu", "CPU", WT_TABLE_RIGHT, WT_TABLE_DROP(1), 0, 0},
        {"device", "DEVICE", WT_TABLE_LEFT, WT_TABLE_FLEXIBLE, 12, 0},
};
#define COLUMN_COUNT ((int)(sizeof(columns) / sizeof(columns[0])))

/* In the order of the columns. */
static const char rows_sql[] =
        "SELECT json_extract(value, '$.pid'), json_extract(value, '$.state'),"
        " json_extract(value, '$.interval_ns'), json_extract(value, '$.samples'),"
        " json_extract(value, '$.dropped'), json_extract(value, '$.overflows'),"
        " json_extract(value, '$.cpu_ns'), json_extract(value, '$.device')"
        " FROM json_each(?1, '$.samplers')";

static const char problems_sql[] =
        "SELECT coalesce(json_extract(value, '$.device'), 'a device')"
        " || ' is not sampled: ' || json_extract(value, '$.reason')"
        " FROM json_each(?1, '$.samplers') WHERE json_extract(value, '$.reason') IS NOT NULL";

static sqlite3_stmt *query(sqlite3 *db, const char *sql, const char *json)
{
	sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK)
		sqlite3_bind_text(s, 1, json, -1, SQLITE_STATIC);
	return s;
}

static void add_cell(struct wt_table *table, sqlite3_stmt *s, int column)
{
	char number[WT_TEXT_NUMBER_BYTES];
	int64_t value = sqlite3_column_int64(s, column);

	if (sqlite3_column_type(s, column) == SQLITE_NULL)
		wt_table_add_null(table);
	else if (column == 2 || column == 6)
		wt_table_add_int(table, value, wt_text_ns(number, value));
	else if (sqlite3_column_type(s, column) == SQLITE_INTEGER)
		wt_table_add_int(table, value, column ? wt_text_count(number, value) : NULL);
	else
		wt_table_add_string(table, (const char *)sqlite3_column_text(s, column), NULL);
}

int wt_status_samplers(FILE *out, sqlite3 *db, const char *json,
                       const struct wt_text_terminal *terminal)
{
	sqlite3_stmt *s = query(db, rows_sql, json);
	struct wt_table *table = wt_table_create(columns, COLUMN_COUNT);
	struct wt_phrase line;
	int rc = s && table ? 0 : -ENOMEM;

	while (!rc && sqlite3_step(s) == SQLITE_ROW) {
		wt_table_row(table, 0);
		for (int i = 0; i < COLUMN_COUNT; i++)
			add_cell(table, s, i);
	}
	if (!rc && wt_table_row_count(table))
		rc = wt_table_print_text(table, out, terminal);
	wt_table_destroy(table);
	sqlite3_finalize(s);
	wt_phrase_init(&line, out, terminal);
	s = query(db, problems_sql, json);
	while (s && sqlite3_step(s) == SQLITE_ROW) {
		wt_phrase_add(&line, "%s", (const char *)sqlite3_column_text(s, 0));
		wt_phrase_end(&line);
	}
	sqlite3_finalize(s);
	return rc;
}
