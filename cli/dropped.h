/*
 * dropped.h - rows of a run that are gone, because it had a limit (WAVETAP_KEEP_ROWS): readers of single rows begin
 * where none is missing, and say so; what rests on sums has all of the run.
 *
 * Single-threaded; blocks on the file.
 */
#ifndef WT_CLI_DROPPED_H
#define WT_CLI_DROPPED_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/json.h"

#define WT_DROPPED_TEXT_BYTES 320

struct wt_dropped {
	bool is_any; /* else all below is 0 */
	int64_t kept_ns; /* from here on no row is missing */
	int64_t first_ns; /* the first time that is gone */
	int64_t after_ns; /* from the begin of the run to kept_ns; -1: not known */
	int64_t kernels, launches, calls; /* rows that are gone */
	int64_t bytes; /* that they took */
	int64_t dropped_ns; /* when rows went last */
	int64_t gaps_mended; /* see daemon/ledger_sums.h */
};

/* 0 or -EIO. */
int wt_dropped_load(sqlite3 *db, struct wt_dropped *ret_dropped);

/* kept_ns, or INT64_MIN: all rows are there. */
int64_t wt_dropped_kept_ns(sqlite3 *db);

/* "rows before 12:03:04 (2h 3min after the first launch; 1,234,567 kernels) were dropped (WAVETAP_KEEP_ROWS)" */
void wt_dropped_text(const struct wt_dropped *dropped, char text[WT_DROPPED_TEXT_BYTES]);

/* On stderr, for readers of single rows: that, and that what they show is of what is left. Nothing where all is there. */
void wt_dropped_tell(sqlite3 *db, const char *run_id);

/* The member `dropped` of `run`: null where nothing is. `db` may be NULL. */
void wt_dropped_put_json(struct wt_json *json, sqlite3 *db);

#endif /* WT_CLI_DROPPED_H */
