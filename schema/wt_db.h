/*
 * wt_db.h - run files: opening, checking, listing; and a helper for statements.
 *
 * A run file is one SQLite database (schema.sql). wavetapd is the only writer; the
 * CLI and everybody else open read-only. Nothing here keeps state between calls; a
 * connection belongs to one thread. Functions may block on the disk, and for at most
 * WT_DB_BUSY_MS on another connection's lock.
 */
#ifndef WT_DB_H
#define WT_DB_H

#include <sqlite3.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WT_DB_APPLICATION_ID 0x57544150 /* "WTAP" */
/* 1: no kernel_share, no sweep, no config_stat.comm_sm_ns. 2: no alone_ns, no beside_ns.
 * 3: no sums of the least and most active SM, no issue slots. 4: no chunks */
#define WT_DB_VERSION 5
#define WT_DB_LATEST_KERNEL_NS INT64_C(1000000000) /* of `latest`: at least this much */
#define WT_DB_BUSY_MS 2000
#define WT_DB_ERROR_BYTES 512

/* schema.sql, embedded at build time. */
extern const char wt_schema_sql[];
/* Tables and views that were added since the first files of this version. */
extern const char wt_schema_added_sql[];

/*
 * Opens an existing run file read-only. 0, or with one clear line in `error`:
 *   -ENOENT   no such file
 *   -EACCES   not readable
 *   -EBADMSG  not an SQLite database, or a damaged one
 *   -EINVAL   a database, but not wavetap's
 *   -ENOTSUP  made by a newer wavetap
 *   -EIO      anything else that SQLite reports
 * Works beside a live writer, and on read-only media when no journal was left behind.
 */
int wt_db_open(const char *path, sqlite3 **ret_db, char error[WT_DB_ERROR_BYTES]);

/*
 * Opens or (`create`) makes a run file for writing: the daemon only. Write-ahead
 * journal where the file system carries it; *ret_is_wal says so. Errors as above, and
 * -EEXIST: `create` and the file is there already, not empty.
 */
int wt_db_open_write(const char *path, bool create, sqlite3 **ret_db, bool *ret_is_wal,
                     char error[WT_DB_ERROR_BYTES]);

/*
 * Brings a file of an earlier version to this one, inside the caller's transaction. Opening for
 * writing does it. An SQLite code.
 */
int wt_db_upgrade(sqlite3 *db);

/*
 * For a file in which rows are dropped for the first time: its view `loss` may be of before that was possible. In the
 * caller's transaction. An SQLite code.
 */
int wt_db_renew_loss(sqlite3 *db);

/*
 * Makes a run file that nobody else knows of yet, without a journal: after any failure it is to
 * be thrown away. `path` may be an empty file, or ":memory:". Errors as above.
 */
int wt_db_make_private(const char *path, sqlite3 **ret_db, char error[WT_DB_ERROR_BYTES]);

/* What an SQLite result code means as -errno; 0 for SQLITE_OK, ROW and DONE. */
int wt_db_errno(int sqlite_code);

/* One row of `meta` into `value`; false if absent (value is then ""). */
bool wt_db_meta(sqlite3 *db, const char *key, char *value, size_t value_bytes);

/* ---- statements */

/*
 * Binds, steps once and resets. `types` has one letter per parameter:
 *   i  int64_t
 *   n  int64_t, INT64_MIN is NULL
 *   r  double
 *   t  const char *, NULL is NULL (bytes that are not UTF-8 are the caller's to mend)
 *   b  const void *, size_t
 * The text and blobs must live until the call returns. Returns an SQLite code:
 * SQLITE_DONE, SQLITE_ROW (only that there was one) or an error.
 */
int wt_db_run(sqlite3_stmt *statement, const char *types, ...);

/* The same binding without a step, for queries: SQLITE_OK or an error. */
int wt_db_bind(sqlite3_stmt *statement, const char *types, ...);

#define WT_DB_NULL INT64_MIN

/* The integer in the first column of a query without parameters, or `otherwise`. */
int64_t wt_db_int(sqlite3 *db, const char *sql, int64_t otherwise);

/* A statement: 0, or -EIO and sqlite3_errmsg() says why. */
int wt_db_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret_statement);
/* A row: 1, the end: 0, else -EIO. */
int wt_db_step(sqlite3_stmt *statement);
/* Is there a table or view of that name in the file? */
bool wt_db_has_table(sqlite3 *db, const char *name);
/* Statements with the formats of sqlite3_mprintf(). An SQLite code. */
int wt_db_vexecute(sqlite3 *db, const char *format, va_list ap);

/* ---- the data directory */

struct wt_db_run_file {
	char path[1024];
	char id[16]; /* run_id: 8 hex digits */
	char name[256]; /* "" = none */
	char key[256];
	char hostname[72];
	int64_t created_ns;
	int64_t file_bytes; /* with its journal */
	int64_t processes;
	int64_t processes_live;
	int64_t first_ns; /* 0 = nothing recorded */
	int64_t last_ns;
	int64_t launches; /* launch calls stored */
	int64_t kernels; /* kernel records stored */
	int64_t kernel_ns; /* summed kernel time */
	int error; /* 0, or why it can't be read (-errno of wt_db_open) */
	char error_text[WT_DB_ERROR_BYTES];
};

/*
 * Every *.db in <data_dir>/runs, oldest first; unreadable ones too, with `error` set
 * (created_ns is then what the name says, or when it was last written). *ret_runs is on the heap: free() it. 0 also when
 * the folder does not exist; -ENOMEM, or -errno of opendir.
 */
int wt_db_list(const char *data_dir, struct wt_db_run_file **ret_runs, size_t *ret_count);

/* One entry of such a list, from its path: `error` says if it can't be read. */
void wt_db_describe_file(const char *path, struct wt_db_run_file *ret_run);
/* The order of such a list. */
void wt_db_sort(struct wt_db_run_file *runs, size_t count);

/* Fills one entry from an open file. 0 or -errno. */
int wt_db_describe(sqlite3 *db, const char *path, struct wt_db_run_file *ret_run);

#endif /* WT_DB_H */
