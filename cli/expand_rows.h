/*
 * expand_rows.h - the packed rows of a file that is ours alone go back into their tables, so that any
 * SQLite reader sees all of them. Single-threaded; blocks on the file.
 */
#ifndef WT_CLI_EXPAND_ROWS_H
#define WT_CLI_EXPAND_ROWS_H

/*
 * Of the file at `path`, which nobody else has open and which is worth nothing if this fails. What can't
 * be read stays packed, and a line of each such chunk is written. `shown_path` and `what` as in
 * wt_copy_db(). An enum wt_exit, after a message.
 */
int wt_expand_rows(const char *path, const char *shown_path, const char *what);

#endif /* WT_CLI_EXPAND_ROWS_H */
