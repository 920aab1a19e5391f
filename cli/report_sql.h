/*
 * report_sql.h - the parts of report.c and report_loss.c that read SQLite.
 */
#ifndef WT_CLI_REPORT_SQL_H
#define WT_CLI_REPORT_SQL_H

#include "cli/report.h"

/* 0 or -EIO. */
int wt_report_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret_statement);

/* A row: 1, the end: 0, else -EIO. */
int wt_report_step(sqlite3_stmt *statement);

/* 0, or -EIO for what SQLite did not do (any code but OK, ROW and DONE), whose words are kept. */
int wt_report_note(sqlite3 *db, int code);

/* What SQLite said of the failure: also after whatever was done since then to clean up. */
const char *wt_report_problem(sqlite3 *db);

/* A copy of a text column, malloc'd; NULL stays NULL. 0 or -ENOMEM. */
int wt_report_copy_text(sqlite3_stmt *statement, int column, char **ret_text);

/* The same for a text that the schema promises: in a damaged file NULL is "". 0 or -ENOMEM. */
int wt_report_copy_name(sqlite3_stmt *statement, int column, char **ret_text);

/* Room for one more element of the array at `array_at`, zeroed; NULL when out of memory. */
void *wt_report_append(void *array_at, size_t *count, size_t element_bytes);

/*
 * What times are shares of: the selected window, or that of the run (wt_select_span). Sets
 * has_window, start_ns, end_ns, and select where one is applied. 0 or -EIO.
 */
int wt_report_read_window(sqlite3 *db, const struct wt_select *select, struct wt_report *report);

/* report_device.c: the devices with all that is known of them, in the window. 0 or -errno. */
int wt_report_load_devices(sqlite3 *db, struct wt_report *report);

/* report_group.c: rows and total of a query by device, process, rank or class. 0 or -errno. */
int wt_report_load_groups(sqlite3 *db, const struct wt_report_query *query,
                          struct wt_report *report);

/* A sum that stays at the greatest number instead of wrapping: a damaged file may have any. */
void wt_report_add(int64_t *sum, int64_t value);

/* Nothing is known of it yet: -1 where that means none. */
void wt_report_row_init(struct wt_report_row *row, enum wt_report_group group);

/* Names of the one process and one device that a row has, if its counts say so. 0 or -errno. */
int wt_report_identify(sqlite3 *db, struct wt_report_row *row, int64_t process_id,
                       int64_t device_id);

struct wt_report_key;
struct wt_report_measure;

/* report_scan.c: rows and total where launches must be read for them, and latencies. 0 or -errno. */
int wt_report_scan(sqlite3 *db, const struct wt_select *select, bool has_latency,
                   struct wt_report_key *key, struct wt_report_measure *measure,
                   struct wt_report *report);

/* report_gap.c: the same from sums, without reading launches: 1, 0: there are none, or -errno. */
int wt_report_sum_gaps(sqlite3 *db, const struct wt_select *select, struct wt_report_key *key,
                       struct wt_report *report);

/* The ledger, and the gaps before the kernels of each row. 0 or -errno. */
int wt_report_load_gaps(sqlite3 *db, const struct wt_select *select, struct wt_report_key *key,
                        struct wt_report *report);

/* report_loss.c: within the caller's transaction. 0 or -errno. */
int wt_report_read_loss(sqlite3 *db, struct wt_report *report);
int wt_report_read_processes(sqlite3 *db, struct wt_report *report);

/* Has the file the tables kernel_share and sweep, and config_stat.comm_sm_ns? Not in version 1. */
bool wt_report_has_shares(sqlite3 *db);

/* Has it kernel_share.alone_ns, config_stat.beside_ns and `measured`? Not before version 3. */
bool wt_report_has_measured(sqlite3 *db);
/* Shares of issue slots, why a class is not known, and waves of classes. */
bool wt_report_has_classes(sqlite3 *db);

#endif /* WT_CLI_REPORT_SQL_H */
