/*
 * drop.c - when rows of a run go (WAVETAP_KEEP_ROWS): beside the drain, a few chunks at a time, once the file has
 * grown beyond the limit of its size, or rows beyond that of their age.
 *
 * SIZE is that of the file's pages in use. What rows leave is used again by what comes (SQLite's free list), so the
 * file stays about as large, and is cut when the run is over. Only packed rows and what lies between them go:
 * copies, ranges and sums count, and stay.
 *
 * Rows that something still needs stay, too: what a restart reads again (shares, links), samples that are not folded
 * yet, gaps that are not summed yet. The latter hold rows up to a quarter, and 64 MiB, beyond the limit; then they go,
 * and the sums of gaps with them (ledger_sums.h).
 *
 * Each piece is one transaction, with the note in `dropped` of what went: a daemon that is killed has either.
 * Main thread; a step blocks on the disk for some milliseconds.
 */
#include "daemon/folds.h"

#include <errno.h>

#define LOOK_NS (100 * WT_MS)
#define RETRY_NS (60 * WT_SECOND)
#define FOLD_SLACK_NS (2 * WT_SECOND)
/* Beyond the limit by one part of so many, and so much, nothing waits for the sums of gaps. */
#define PRESS 4
#define PRESS_BYTES (INT64_C(64) << 20)

void wt_drop_load(struct wt_run *run, const struct wt_segment_header *header)
{
	char text[WT_KEEP_ROWS_BYTES], error[WT_DB_ERROR_BYTES];

	snprintf(text, sizeof(text), "%.*s", WT_KEEP_ROWS_BYTES - 1, header->keep_rows);
	run->drop = (struct wt_drop){.keep = WT_KEEP_ALL};
	if (wt_keep_rows_parse(text, &run->drop.keep, error))
		wt_log_line("%s: WAVETAP_KEEP_ROWS: %s; " WT_KEEP_ROWS_DEFAULT " are kept",
		            run->path, error);
}

static int64_t used_bytes(struct wt_run *run)
{
	return (wt_db_int(run->db, "PRAGMA page_count", 0) -
	        wt_db_int(run->db, "PRAGMA freelist_count", 0)) *
	       wt_db_int(run->db, "PRAGMA page_size", 0);
}

static void lower(int64_t *limit, int64_t value)
{
	if (value < *limit)
		*limit = value;
}

/* By what a statement says, NULL: nothing. What can't be read may be anything: all is held then. */
static void lower_by(struct wt_run *run, const char *sql, int64_t *limit)
{
	sqlite3_stmt *s = NULL;
	int rc = wt_db_prepare(run->db, sql, &s);

	if (!rc)
		rc = wt_db_step(s);
	if (rc < 0)
		lower(limit, INT64_MIN);
	else if (rc && sqlite3_column_type(s, 0) != SQLITE_NULL)
		lower(limit, sqlite3_column_int64(s, 0));
	sqlite3_finalize(s);
}

/* What a daemon that is started again reads, and what this one has still to do. */
static struct wt_drop_until find_until(struct wt_run *run, bool is_pressing)
{
	struct wt_drop_until until = {.exec_id = run->next_exec_id,
	                              .call_id = run->next_call_id,
	                              .kernel_ns = INT64_MAX,
	                              .end_ns = INT64_MAX,
	                              .now_ns = wt_clock_ns(CLOCK_REALTIME)};
	int64_t folded_ns = wt_folds_need_ns(run);

	lower_by(run, "SELECT min(low_exec) FROM sweep", &until.exec_id);
	lower_by(run, "SELECT min(link_low_exec) FROM proc WHERE state = 'live'", &until.exec_id);
	if (folded_ns != INT64_MAX)
		lower(&until.kernel_ns,
		      folded_ns == INT64_MIN ? folded_ns : folded_ns - FOLD_SLACK_NS);
	if (is_pressing || !wt_ledger_work_is_wanted(run))
		return until;
	lower(&until.exec_id, wt_db_int(run->db, "SELECT low_exec FROM ledger_mark", 0));
	lower(&until.call_id,
	      wt_db_int(
	              run->db,
	              "SELECT min(ifnull((SELECT min(ifnull(low_call, 0)) FROM ledger_device), 0),"
	              " ifnull((SELECT capture_id FROM ledger_mark), 9223372036854775807))",
	              0));
	return until;
}

static void tell(struct wt_run *run)
{
	char since[32] = "";

	if (run->drop.is_told)
		return;
	run->drop.is_told = true;
	if (run->drop.keep.bytes >= 0)
		snprintf(since, sizeof(since), " of %lld bytes", (long long)run->drop.keep.bytes);
	wt_log_line("%s: its oldest rows are dropped: WAVETAP_KEEP_ROWS%s; sums stay", run->path,
	            since);
}

/* The views of files that were made before rows could go. */
static int renew(struct wt_run *run)
{
	int code = run->drop.is_renewed ? SQLITE_OK : wt_db_renew_loss(run->db);

	return wt_store_check(run, code);
}

static int drop_in_transaction(struct wt_run *run, const struct wt_drop_until *until,
                               int64_t *ret_rows)
{
	int err = wt_store_run(run, WT_SQL_BEGIN, "");

	*ret_rows = 0;
	if (err == -EBUSY)
		return 0;
	if (!err)
		err = renew(run);
	if (!err)
		err = wt_drop_rows(run, until, ret_rows);
	if (!err)
		err = wt_store_run(run, WT_SQL_COMMIT, "");
	if (!err) {
		run->drop.is_renewed = true;
		return 0;
	}
	if (!sqlite3_get_autocommit(run->db))
		sqlite3_exec(run->db, "ROLLBACK", NULL, NULL, NULL);
	*ret_rows = 0;
	return err;
}

/* By size, else by age. 0 or -errno. */
static int drop_some(struct wt_run *run, int64_t *ret_rows)
{
	const struct wt_keep *keep = &run->drop.keep;
	int64_t bytes = keep->bytes >= 0 ? used_bytes(run) : 0;
	bool is_over_size = keep->bytes >= 0 && bytes > keep->bytes;
	struct wt_drop_until until;
	int err = 0;

	*ret_rows = 0;
	if (!is_over_size && keep->age_ns < 0)
		return 0;
	until = find_until(run, is_over_size && bytes - keep->bytes > keep->bytes / PRESS &&
	                                bytes - keep->bytes > PRESS_BYTES);
	if (!is_over_size)
		until.end_ns = until.now_ns - keep->age_ns;
	err = drop_in_transaction(run, &until, ret_rows);
	if (!err && *ret_rows)
		tell(run);
	return err;
}

void wt_drop_step(struct wt_run *run, bool is_over, int64_t now_ns, bool *ret_more)
{
	struct wt_drop *drop = &run->drop;
	int64_t rows;
	int err;

	*ret_more = false;
	if (is_over != drop->is_over)
		drop->is_done = false;
	drop->is_over = is_over;
	if (!run->db || !wt_keep_is_limited(&drop->keep) || drop->is_done) {
		drop->is_done = is_over;
		return;
	}
	if (now_ns < drop->retry_ns || (!is_over && now_ns - drop->looked_ns < LOOK_NS)) {
		drop->is_done = is_over;
		return;
	}
	/* Gaps first: then nothing of them is in the way. */
	if (is_over && !wt_ledger_work_is_done(run))
		return;
	err = drop_some(run, &rows);
	if (err) {
		wt_log_line("%s: rows can't be dropped: %s", run->path,
		            err == -ENOMEM ? "out of memory" : run->error);
		drop->retry_ns = now_ns + RETRY_NS;
	}
	*ret_more = !err && rows > 0;
	if (!*ret_more)
		drop->looked_ns = now_ns;
	else if (is_over)
		run->pack.is_done = false; /* what they leave is given back */
	drop->is_done = is_over && !*ret_more;
}

bool wt_drop_is_done(const struct wt_run *run)
{
	return !run->db || !wt_keep_is_limited(&run->drop.keep) || run->drop.is_done;
}
