/*
 * phases.c - see phases.h. Single-threaded; blocks on the file.
 */
#include "cli/phases.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/map.h"
#include "analysis/optimizer.h"
#include "analysis/phase.h"
#include "cli/ranges.h"
#include "cli/report_sql.h"
#include "schema/wt_db.h"

/* A thread of some process. */
struct thread {
	int64_t process_id;
	struct wt_phase_thread counts;
};

struct work {
	struct wt_run_ranges ranges;
	enum wt_phase *of_name; /* by index of the name */
	size_t *innermost; /* by kernel: range that says something, SIZE_MAX: none */
	bool *is_update; /* by kernel */
	struct thread *threads;
	size_t thread_count;
};

static enum wt_phase phase_of(const struct work *work, size_t range)
{
	size_t name = wt_run_ranges_name(&work->ranges, work->ranges.ranges[range].name_id);

	return work->of_name[name];
}

/* The one that began last is the innermost; those of one launch come in the order of their starts. */
static int see(void *arg, size_t kernel, size_t range)
{
	struct work *work = arg;

	if (phase_of(work, range) != WT_PHASE_NONE)
		work->innermost[kernel] = range;
	return 0;
}

/* Which kernels update parameters, by exec_id. */
static int load_updates(sqlite3 *db, struct wt_map *updates)
{
	sqlite3_stmt *s;
	struct wt_map kernels = {0};
	int rc = wt_report_prepare(db, "SELECT kernel_id, name FROM main.kernel", &s);

	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		const char *name = (const char *)sqlite3_column_text(s, 1);

		rc = name && wt_is_optimizer_kernel(name)
		             ? wt_map_set(&kernels, (uint64_t)sqlite3_column_int64(s, 0), 1)
		             : 0;
		if (rc)
			break;
	}
	sqlite3_finalize(s);
	if (!rc)
		rc = wt_report_prepare(db,
		                       "SELECT e.exec_id, c.kernel_id FROM kernel_row e JOIN "
		                       "main.config c USING (config_id)",
		                       &s);
	if (rc) {
		wt_map_fini(&kernels);
		return rc;
	}
	while ((rc = wt_report_step(s)) > 0) {
		rc = 0;
		if (wt_map_get(&kernels, (uint64_t)sqlite3_column_int64(s, 1)) != WT_MAP_NONE)
			rc = wt_map_set(updates, (uint64_t)sqlite3_column_int64(s, 0), 1);
		if (rc)
			break;
	}
	sqlite3_finalize(s);
	wt_map_fini(&kernels);
	return rc;
}

static int count_thread(struct work *work, const struct wt_run_range_kernel *kernel, bool is_update)
{
	struct thread *thread = NULL;

	for (size_t i = 0; i < work->thread_count && !thread; i++)
		if (work->threads[i].process_id == kernel->process_id &&
		    work->threads[i].counts.tid == kernel->tid)
			thread = &work->threads[i];
	if (!thread) {
		thread = wt_report_append(&work->threads, &work->thread_count, sizeof(*thread));
		if (!thread)
			return -ENOMEM;
		thread->process_id = kernel->process_id;
		thread->counts.tid = kernel->tid;
	}
	thread->counts.launches++;
	thread->counts.updates += is_update;
	return 0;
}

/* The thread of a process that goes backward, or -1. */
static int64_t backward_of(const struct work *work, int64_t process_id)
{
	struct wt_phase_thread *counts = calloc(work->thread_count + 1, sizeof(*counts));
	size_t count = 0;
	int64_t tid = -1;

	for (size_t i = 0; counts && i < work->thread_count; i++)
		if (work->threads[i].process_id == process_id)
			counts[count++] = work->threads[i].counts;
	if (counts)
		tid = wt_phase_backward_thread(counts, count);
	free(counts);
	return tid;
}

static int load(sqlite3 *db, struct work *work)
{
	struct wt_map updates = {0};
	int rc = wt_run_ranges_load(db, NULL, &work->ranges);

	if (!rc)
		rc = wt_run_ranges_load_kernels(db, false, &work->ranges);
	if (!rc)
		rc = load_updates(db, &updates);
	work->of_name = calloc(work->ranges.name_count + 1, sizeof(*work->of_name));
	work->innermost = calloc(work->ranges.kernel_count + 1, sizeof(*work->innermost));
	work->is_update = calloc(work->ranges.kernel_count + 1, sizeof(*work->is_update));
	if (!rc && (!work->of_name || !work->innermost || !work->is_update))
		rc = -ENOMEM;
	for (size_t i = 0; !rc && i < work->ranges.name_count; i++)
		work->of_name[i] = wt_phase_of_range(work->ranges.names[i].name);
	for (size_t i = 0; !rc && i < work->ranges.kernel_count; i++) {
		const struct wt_run_range_kernel *kernel = &work->ranges.kernels[i];

		work->innermost[i] = SIZE_MAX;
		work->is_update[i] = wt_map_get(&updates, (uint64_t)kernel->exec_id) != WT_MAP_NONE;
		rc = count_thread(work, kernel, work->is_update[i]);
	}
	wt_map_fini(&updates);
	return rc ? rc : wt_run_ranges_assign(&work->ranges, false, see, work);
}

static int insert(sqlite3 *db, const struct work *work)
{
	int64_t process_id = INT64_MIN, backward_tid = -1;
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, "INSERT INTO temp.wt_phase VALUES (?1, ?2, ?3)", &s);

	if (rc)
		return rc;
	for (size_t i = 0; !rc && i < work->ranges.kernel_count; i++) {
		const struct wt_run_range_kernel *kernel = &work->ranges.kernels[i];
		enum wt_phase_evidence evidence;
		enum wt_phase phase;

		if (kernel->process_id != process_id) {
			process_id = kernel->process_id;
			backward_tid = backward_of(work, process_id);
		}
		phase = work->innermost[i] == SIZE_MAX ? WT_PHASE_NONE
		                                       : phase_of(work, work->innermost[i]);
		phase = wt_phase_of_launch(phase, work->is_update[i], kernel->tid, backward_tid,
		                           &evidence);
		if (phase != WT_PHASE_NONE && wt_db_run(s, "iii", kernel->exec_id, (int64_t)phase,
		                                        (int64_t)evidence) != SQLITE_DONE)
			rc = -EIO;
	}
	sqlite3_finalize(s);
	return rc;
}

int wt_phases_make(sqlite3 *db)
{
	struct work work = {0};
	int rc = wt_report_note(
	        db, sqlite3_exec(db,
	                         "DROP TABLE IF EXISTS temp.wt_phase; CREATE TEMP TABLE wt_phase "
	                         "(exec_id INTEGER PRIMARY KEY, phase INTEGER, evidence INTEGER)",
	                         NULL, NULL, NULL));

	if (!rc)
		rc = load(db, &work);
	if (!rc)
		rc = insert(db, &work);
	wt_run_ranges_fini(&work.ranges);
	free(work.of_name);
	free(work.innermost);
	free(work.is_update);
	free(work.threads);
	return rc;
}
