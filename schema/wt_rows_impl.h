/*
 * wt_rows_impl.h - what the parts of wt_rows share: wt_rows.c is the module, wt_rows_plan.c what it
 * says to SQLite's planner, wt_rows_stream.c where rows come from, wt_rows_cache.c chunks that are
 * decoded, wt_rows_view.c the tables and views of a connection. Not for others.
 *
 * A cursor merges streams: one for the chunks of each process and device, and one for the rows that
 * are in the table itself. A stream stands at its first row from some id on; looking for a later one
 * moves it forward, mostly without a question to SQLite.
 */
#ifndef WT_ROWS_IMPL_H
#define WT_ROWS_IMPL_H

#include "schema/wt_rows.h"

#define ROWS_KEPT 8 /* decoded chunks of a table that no cursor stands in */

/* Of a connection. */
struct rows_shared {
	void (*told)(void *arg, const struct wt_rows_damage *damage);
	void *arg;
	int64_t *told_ids; /* chunks that somebody was told of */
	size_t told_count, told_room;
};

/* What `chunk` says of one. */
struct rows_directory {
	int64_t chunk_id, first_id, last_id, rows;
};

struct rows_chunk {
	struct rows_directory directory;
	struct wt_chunk *chunk;
	const int64_t *values[WT_CHUNK_COLUMNS]; /* NULL: not decoded yet */
	const uint8_t *nulls[WT_CHUNK_COLUMNS];
	int64_t used_at; /* of the table's clock */
	int users;
	bool is_stale; /* the file has changed: goes with its last user */
	struct rows_chunk *next;
};

/* The chunks of a process and device. */
struct rows_source {
	int64_t process_id, device_id;
	bool has_device;
};

enum rows_sql { ROWS_SQL_SOURCES, ROWS_SQL_AT, ROWS_SQL_AFTER, ROWS_SQL_DATA, ROWS_SQL_MAX };

struct rows_table {
	sqlite3_vtab base;
	sqlite3 *db;
	enum wt_chunk_kind kind;
	const struct wt_chunk_table *shape;
	struct rows_shared *shared;
	sqlite3_stmt *statements[ROWS_SQL_MAX]; /* never left at a row */
	sqlite3_stmt *spare; /* of a cursor that was closed: its rows of the table itself */
	char *spare_sql;
	/* What follows holds while the file does not change. */
	uint32_t data_version;
	int total_changes;
	struct rows_source *sources;
	size_t source_count;
	bool has_sources;
	int64_t generation; /* one more with each change */
	struct rows_chunk *chunks;
	int64_t clock;
};

/* What a cursor looks for. Bounds are within, and may be wider than what was asked. */
struct rows_filter {
	int64_t id_low, id_high;
	int64_t start_low, start_high, end_low, end_high;
	int64_t process_id, config_id;
	bool has_process, has_config, has_times;
	bool is_empty; /* no row can be it */
};

struct rows_key {
	int64_t process_id; /* 0 where ids are of the whole file */
	int64_t id;
};

struct rows_stream {
	struct rows_source source;
	sqlite3_stmt *plain; /* rows of the table itself; NULL: of chunks */
	bool is_placed, is_at_end;
	int64_t from_id; /* it stands at its first row from here on */
	struct rows_key key; /* of that row, or with a chunk not loaded yet one that is not above */
	struct rows_directory directory; /* of its chunk */
	struct rows_chunk *chunk; /* NULL: not loaded */
	uint32_t row;
};

struct rows_cursor {
	sqlite3_vtab_cursor base;
	uint32_t columns; /* bits: those that are asked for */
	char *plain_sql;
	int plain_column[WT_CHUNK_COLUMNS]; /* where it is in the plain statement; -1: not there */
	bool plain_has_low; /* its statement takes the least id */
	struct rows_filter filter;
	bool is_reading; /* since it was opened */
	int64_t generation; /* of the table, that its streams are of */
	struct rows_stream *streams;
	size_t stream_count;
	size_t at; /* the stream that the row is of */
	struct rows_key limit; /* its rows up to here come before those of the others */
	bool is_eof;
};

static inline bool is_below(struct rows_key a, struct rows_key b)
{
	return a.process_id != b.process_id ? a.process_id < b.process_id : a.id < b.id;
}

/* ---- wt_rows_plan.c */

int wt_rows_best_index(sqlite3_vtab *base, sqlite3_index_info *info);
/* The plan that best_index made, with its values. */
void wt_rows_take_plan(const struct wt_chunk_table *shape, const char *plan, int count,
                       sqlite3_value **values, uint32_t *ret_columns,
                       struct rows_filter *ret_filter);

/* ---- wt_rows_cache.c. All: SQLite codes */

/*
 * Forgets what does not hold any more, and counts the table's generation. Once SQLite keeps to one
 * state of the file (`is_reading`), only the connection itself can change it.
 */
int wt_rows_look(struct rows_table *table, bool is_reading);
int wt_rows_statement(struct rows_table *table, enum rows_sql which, sqlite3_stmt **ret_statement);
/*
 * The chunk with `columns` decoded, to be given back; *ret_chunk is NULL where it is damaged and
 * somebody was told.
 */
int wt_rows_get(struct rows_table *table, const struct rows_source *source,
                const struct rows_directory *directory, uint32_t columns,
                struct rows_chunk **ret_chunk);
void wt_rows_give_back(struct rows_table *table, struct rows_chunk *chunk);
void wt_rows_forget(struct rows_table *table); /* all of it; nothing is in use */

/* ---- wt_rows_stream.c. All: SQLite codes */

/* To the first row for `filter`. */
int wt_rows_begin(struct rows_table *table, struct rows_cursor *cursor,
                  const struct rows_filter *filter);
int wt_rows_advance(struct rows_table *table, struct rows_cursor *cursor);
void wt_rows_end_streams(struct rows_table *table, struct rows_cursor *cursor);

/* ---- wt_rows.c */

/* Sets the message of a table that failed, and returns `code`. */
__attribute__((format(printf, 3, 4))) int wt_rows_fail(struct rows_table *table, int code,
                                                       const char *format, ...);
extern const sqlite3_module wt_rows_module;

#endif /* WT_ROWS_IMPL_H */
