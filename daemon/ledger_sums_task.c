/*
 * ledger_sums_task.c - when wavetapd sums up the gaps of a run (ledger_sums.h): every two seconds or so, and when it is
 * over. Rows are read on a thread, through a connection of its own, up to the watermark of what was committed; the
 * main thread, which starts it and looks whether it is done, writes what came out in a transaction of its own. A round
 * that is not written is made again: what it began with is in the file.
 *
 * Where the journal is no WAL a reader would hold up the writer: the sums are made at the end, by the main thread.
 * Signals are blocked in the thread: they are in wavetapd.
 */
#include "daemon/daemon.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "daemon/ledger_sums.h"
#include "schema/wt_rows.h"

#define ROUND_NS (2 * WT_SECOND) /* also of kernels that are new */
#define ROUND_REST 4 /* times what the last round took, at least, from one to the next */

enum { IDLE, WORKING, DONE, LEFT };

struct task {
	pthread_t thread;
	_Atomic int state;
	char path[WT_PATH_BYTES];
	int64_t until_ns, took_ns;
	struct wt_ledger_sums *sums;
	int err;
};

struct wt_ledger_work {
	struct task *task; /* NULL: none is at work */
	int64_t until_ns; /* of the last round */
	int64_t began_ns, took_ns; /* CLOCK_MONOTONIC */
	int64_t batches; /* of the run, when the last round began */
	bool is_given_up, is_final;
};

static void free_task(struct task *task)
{
	wt_ledger_sums_free(task->sums);
	free(task);
}

static int make(struct task *task, sqlite3 *db)
{
	int rc = wt_ledger_sums_load(db, &task->sums);

	return rc ? rc : wt_ledger_sums_advance(task->sums, task->until_ns);
}

/* Rows in chunks are among all others. Where a chunk is damaged all fails, and nothing is summed. */
static int attach_rows(sqlite3 *db)
{
	int code = sqlite3_exec(db, "PRAGMA query_only = OFF", NULL, NULL, NULL);

	if (code == SQLITE_OK)
		code = wt_rows_attach(db, NULL, NULL);
	if (code == SQLITE_OK)
		code = wt_rows_hide(db);
	if (code == SQLITE_OK)
		code = sqlite3_exec(db, "PRAGMA query_only = ON", NULL, NULL, NULL);
	return code == SQLITE_OK || wt_db_errno(code) ? wt_db_errno(code) : -EIO;
}

static void *run_thread(void *arg)
{
	int64_t began_ns = wt_clock_ns(CLOCK_MONOTONIC);
	char error[WT_DB_ERROR_BYTES];
	struct task *task = arg;
	sqlite3 *db = NULL;

	task->err = wt_db_open(task->path, &db, error);
	if (!task->err)
		task->err = attach_rows(db);
	if (!task->err && sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK)
		task->err = -EIO;
	if (!task->err)
		task->err = make(task, db);
	sqlite3_close(db);
	task->took_ns = wt_clock_ns(CLOCK_MONOTONIC) - began_ns;
	if (atomic_exchange(&task->state, DONE) == LEFT)
		free_task(task);
	return NULL;
}

/* False: there is no thread for it. */
static bool begin_round(struct wt_run *run, struct wt_ledger_work *work, int64_t until_ns,
                        int64_t now_ns)
{
	struct task *task = calloc(1, sizeof(*task));

	work->began_ns = now_ns;
	if (!task)
		return false;
	snprintf(task->path, sizeof(task->path), "%s", run->path);
	task->until_ns = until_ns;
	atomic_store(&task->state, WORKING);
	if (pthread_create(&task->thread, NULL, run_thread, task)) {
		free(task);
		return false;
	}
	work->task = task;
	work->batches = run->batches;
	return true;
}

/* Writes what a round has made: 0, -EBUSY: later, or another -errno of the run file. */
static int save(struct wt_run *run, const struct wt_ledger_sums *sums)
{
	int err = wt_store_run(run, WT_SQL_BEGIN, "");

	if (err)
		return err;
	if (wt_ledger_sums_save(sums, run->db)) {
		wt_store_check(run, sqlite3_errcode(run->db));
		wt_store_run(run, WT_SQL_ROLLBACK, "");
		return -EIO;
	}
	return wt_store_run(run, WT_SQL_COMMIT, "");
}

static int end_round(struct wt_run *run, struct wt_ledger_work *work)
{
	struct task *task = work->task;
	int err = 0;

	if (!task->err && !task->sums->why_not)
		err = save(run, task->sums);
	if (err == -EBUSY)
		return 0; /* next time */
	if (task->err)
		wt_log_line("%s: gaps are not summed: %s", run->path, strerror(-task->err));
	if (task->err || task->sums->why_not)
		work->is_given_up = true; /* reports read all rows */
	work->is_final = !err && !work->is_given_up && task->until_ns == INT64_MAX &&
	                 work->batches == run->batches;
	work->until_ns = task->until_ns;
	work->took_ns = task->took_ns;
	pthread_join(task->thread, NULL);
	free_task(task);
	work->task = NULL;
	return err;
}

/* By the main thread. As on the other, nothing is summed where rows of a damaged chunk are missing. */
static int make_here(struct wt_run *run, struct wt_ledger_work *work)
{
	int err = wt_store_run(run, WT_SQL_BEGIN, ""), rc;

	if (err)
		return err == -EBUSY ? 0 : err;
	work->is_final = true;
	work->batches = run->batches;
	rc = wt_ledger_sums_make(run->db, false);
	if (!rc && !run->has_damage)
		return wt_store_run(run, WT_SQL_COMMIT, "");
	if (rc)
		wt_store_check(run, sqlite3_errcode(run->db));
	else
		wt_log_line("%s: gaps are not summed: a chunk is damaged", run->path);
	work->is_given_up = !rc;
	err = wt_store_run(run, WT_SQL_ROLLBACK, "");
	return rc ? -EIO : err;
}

static bool is_due(const struct wt_run *run, const struct wt_ledger_work *work, int64_t now_ns)
{
	int64_t until_ns = run->watermark_ns;

	if (until_ns == INT64_MIN || work->batches == run->batches ||
	    now_ns - work->began_ns < ROUND_NS ||
	    now_ns - work->began_ns < ROUND_REST * work->took_ns)
		return false;
	return until_ns == INT64_MAX || work->until_ns == INT64_MAX ||
	       until_ns - work->until_ns >= ROUND_NS;
}

int wt_ledger_work_step(struct wt_run *run, bool is_over, int64_t now_ns)
{
	struct wt_ledger_work *work = run->ledger;

	if (!work) {
		work = run->ledger = calloc(1, sizeof(*work));
		if (!work)
			return -ENOMEM;
		work->batches = -1;
		work->began_ns = now_ns;
	}
	if (work->task)
		return atomic_load(&work->task->state) == DONE ? end_round(run, work) : 0;
	if (work->is_given_up || (work->is_final && work->batches == run->batches))
		return 0;
	if (is_over && (!run->is_wal || !begin_round(run, work, INT64_MAX, now_ns)))
		return make_here(run, work);
	if (!is_over && run->is_wal && is_due(run, work, now_ns))
		(void)begin_round(run, work, run->watermark_ns, now_ns);
	return 0;
}

bool wt_ledger_work_is_done(const struct wt_run *run)
{
	const struct wt_ledger_work *work = run->ledger;

	if (!run->db)
		return true;
	return work && !work->task &&
	       (work->is_given_up || (work->is_final && work->batches == run->batches));
}

bool wt_ledger_work_is_wanted(const struct wt_run *run)
{
	return run->is_wal && !wt_ledger_work_is_done(run);
}

void wt_ledger_work_fini(struct wt_run *run)
{
	struct task *task = run->ledger ? run->ledger->task : NULL;
	pthread_t thread;

	if (task) {
		thread = task->thread;
		if (atomic_exchange(&task->state, LEFT) == DONE) {
			pthread_join(thread, NULL);
			free_task(task);
		} else {
			pthread_detach(thread); /* it frees itself */
		}
	}
	free(run->ledger);
	run->ledger = NULL;
}
