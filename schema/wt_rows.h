/*
 * wt_rows.h - the rows of a run file, packed or not, as tables of a connection: temp.kernel_row,
 * launch_row, call_row and share_row have the columns and all rows of kernel_exec, launch_call,
 * api_call and kernel_share. Files without chunks (version 4 and before) get plain views of those.
 *
 * A statement sees one state of the file, as with any table. Rows come in the order of exec_id,
 * (process_id, seq) or call_id. Comparisons of those, of times and of config_id with constants skip
 * chunks. The connection that reads them must not change those tables or `chunk` while a statement on
 * them is at a row.
 *
 * A connection belongs to one thread; functions block on the file.
 */
#ifndef WT_ROWS_H
#define WT_ROWS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/wt_chunk.h"

/* A chunk whose rows can't be read. */
struct wt_rows_damage {
	enum wt_chunk_kind kind;
	int64_t chunk_id, process_id, first_id, last_id, rows; /* as the file says */
};

#define WT_ROWS_TEXT_BYTES 256

/*
 * Makes the four tables; main.kernel_exec and so on stay what they are. Needs a connection that may
 * write to temp. In a transaction that lasts as long as they are read, a file that has no chunk yet gets
 * plain views, which are faster. `told` hears of damaged chunks, once of each; then statements go on without their
 * rows. NULL: they fail, and sqlite3_errmsg() says so. Once a connection. An SQLite code.
 */
int wt_rows_attach(sqlite3 *db, void (*told)(void *arg, const struct wt_rows_damage *damage),
                   void *arg);

/*
 * After wt_rows_attach(), for readers: temp.kernel_exec, launch_call, api_call and kernel_share are
 * views of all rows and stand before the tables, and so do the views of the file that use those
 * (launch, kernel_range, loss). Nothing where all rows are in the tables. An SQLite code.
 */
int wt_rows_hide(sqlite3 *db);

/* Are tables of chunks attached? Plain views: every row is in its table. */
bool wt_rows_has_chunks(sqlite3 *db);

/* One line. */
void wt_rows_describe(const struct wt_rows_damage *damage, char text[WT_ROWS_TEXT_BYTES]);

#endif /* WT_ROWS_H */
