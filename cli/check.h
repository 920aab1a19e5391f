/*
 * check.h - is a run file sound? What `wavetap check` asks of one file.
 *
 *	check.c       the order of the checks; SQLite's own, the schema, text
 *	check_sql.c   checks that are one query: references, times, books
 *	check_rows.c  one pass over the kernels and one over the calls: counters, rollups, order
 *	check_ledger.c    the sums of the ledger, against the rows
 *	check_samples.c   samples: chunks, and what they sum to
 *	check_measured.c  measured numbers: can they be? (bounds.h)
 *
 * All of it reads within one transaction, so that a file that is being written is seen as it was
 * at one instant. Single-threaded; blocks on the disk.
 */
#ifndef WT_CLI_CHECK_H
#define WT_CLI_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/wt_db.h"

struct wt_check_problem {
	const char *check; /* static: "references" */
	char table[48];
	int64_t count; /* rows, or 1 */
	char text[400];
};

struct wt_check {
	sqlite3 *db;
	bool is_live; /* some process is still being recorded */
	/* By the version of the file, set by wt_check_run(): what an older one lacks is not asked for. */
	bool has_shares; /* 2 or later: kernel_share, sweep, comm_sm_ns */
	bool has_measured; /* 3 or later: alone_ns, beside_ns, tables of samples and `measured` */
	bool has_classes; /* 4 or later: issue slots, waves of classes, extremes of sm_bucket */
	bool has_chunks; /* 5 or later: chunk */
	bool has_drops; /* rows were dropped: WAVETAP_KEEP_ROWS */
	/* Called before each check and now and then within one: `done` of wt_check_count(). */
	void (*progress)(void *arg, int done);
	void *progress_arg;
	const volatile int *is_interrupted; /* ends the work early; NULL: never */

	int done; /* checks made */
	struct wt_check_problem *problems;
	size_t count, room;
	char error[WT_DB_ERROR_BYTES]; /* for -EIO */
};

/* How many checks there are. */
int wt_check_count(void);

/*
 * Makes all checks on check->db, which was opened read-only. 0 and the problems in the struct;
 * -EINTR, -ENOMEM, or -EIO with check->error: SQLite couldn't go on (a damaged file is a problem,
 * not an error). The caller frees with wt_check_fini.
 */
int wt_check_run(struct wt_check *check);
void wt_check_fini(struct wt_check *check);

/* ---- between the files */

/* A problem: `count` rows of `table` ("": the file) are what the text says. 0 or -ENOMEM. */
int wt_check_add(struct wt_check *check, const char *name, const char *table, int64_t count,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));

/* 0 for SQLITE_OK, ROW and DONE; else -errno, with check->error. */
int wt_check_code(struct wt_check *check, int sqlite_code);

/* A query that is one check: the first column counts rows that are wrong, the second is NULL or
 * names the first of them. */
struct wt_check_query {
	const char *check, *table;
	const char *text; /* what is wrong with these rows */
	const char *sql;
};
extern const struct wt_check_query wt_check_queries[];
extern const int wt_check_query_count;

/* Over rows of `clock`: was CLOCK_REALTIME set while they were written? */
#define WT_CHECK_CLOCK_SET                                                                         \
	"max(realtime_ns - monotonic_ns - bracket_ns) - min(realtime_ns - monotonic_ns + "         \
	"bracket_ns) > 10000"

/* One check each, of several things; 0, or as wt_check_run(). */
int wt_check_kernels(struct wt_check *check);
int wt_check_calls(struct wt_check *check);
int wt_check_ledger(struct wt_check *check);
int wt_check_chunks(struct wt_check *check);
int wt_check_samples(struct wt_check *check);
int wt_check_bounds(struct wt_check *check);

#endif /* WT_CLI_CHECK_H */
