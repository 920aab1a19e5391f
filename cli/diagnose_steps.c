/*
 * diagnose_steps.c - see diagnose_steps.h. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/diagnose_steps.h"
#include "cli/report_sql.h"
#include "cli/steps.h"

#define STARTUP_SHARE 10 /* one launch in so many is start-up, where no steps are found */

/* ---- loading */

/* A tenth of the launches that the process made: when the call of that one was entered. */
static int load_tenth(sqlite3 *db, struct wt_steps_process *process, int64_t launches)
{
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db,
	                           "SELECT entry_ns FROM launch_row WHERE process_id = ?1"
	                           " AND seq >= ?2 ORDER BY seq LIMIT 1",
	                           &s);

	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, process->process_id);
	sqlite3_bind_int64(s, 2, (launches + STARTUP_SHARE - 1) / STARTUP_SHARE);
	rc = wt_report_step(s);
	if (rc > 0)
		process->warm_ns = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return rc < 0 ? rc : 0;
}

static int load_steps(sqlite3 *db, struct wt_steps_process *process)
{
	const struct wt_steps_query query = {.process_id = process->process_id,
	                                     .marker_kernel_id = -1};
	struct wt_run_steps steps;
	int rc = wt_run_steps_load(db, &query, &steps);

	if (!rc && steps.count && steps.is_gpu_time) {
		process->starts_ns = calloc(steps.count, sizeof(*process->starts_ns));
		rc = process->starts_ns ? 0 : -ENOMEM;
		for (size_t i = 0; !rc && i < steps.count; i++)
			process->starts_ns[process->start_count++] = steps.steps[i].start_ns;
		if (steps.found.steady_count)
			process->warm_ns = steps.steady_start_ns;
	}
	wt_run_steps_fini(&steps);
	return rc == -ENOENT ? 0 : rc;
}

static int load_processes(sqlite3 *db, struct wt_steps_known *known)
{
	static const char sql[] = "SELECT process_id, launches_attempted FROM main.proc"
	                          " WHERE kernels_stored > 0 ORDER BY kernels_stored DESC";
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, sql, &s);

	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		struct wt_steps_process *process = wt_report_append(
		        &known->processes, &known->process_count, sizeof(*process));

		if (!process) {
			rc = -ENOMEM;
			break;
		}
		process->process_id = sqlite3_column_int64(s, 0);
		process->warm_ns = INT64_MAX;
		rc = load_tenth(db, process, sqlite3_column_int64(s, 1));
		if (!rc && known->process_count <= WT_STEPS_PROCESSES_MAX)
			rc = load_steps(db, process);
		if (rc)
			break;
	}
	sqlite3_finalize(s);
	return rc;
}

static int load_firsts(sqlite3 *db, struct wt_steps_known *known)
{
	static const char sql[] =
	        "SELECT s.process_id, c.device_id, c.kernel_id, min(s.first_ns)"
	        " FROM main.config_stat s JOIN config c USING (config_id) GROUP BY 1, 2, 3"
	        " ORDER BY 1, 2, 3";
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, sql, &s);

	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		struct wt_steps_first *first =
		        wt_report_append(&known->firsts, &known->first_count, sizeof(*first));

		if (!first) {
			rc = -ENOMEM;
			break;
		}
		*first = (struct wt_steps_first){
		        sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1),
		        sqlite3_column_int64(s, 2), sqlite3_column_int64(s, 3)};
	}
	sqlite3_finalize(s);
	return rc;
}

static int by_process(const void *left, const void *right)
{
	const struct wt_steps_process *a = left, *b = right;

	return a->process_id < b->process_id ? -1 : a->process_id > b->process_id;
}

int wt_steps_known_load(sqlite3 *db, struct wt_steps_known *known)
{
	int rc = load_processes(db, known);

	if (!rc && known->process_count)
		qsort(known->processes, known->process_count, sizeof(*known->processes),
		      by_process);
	return rc ? rc : load_firsts(db, known);
}

void wt_steps_known_fini(struct wt_steps_known *known)
{
	for (size_t i = 0; i < known->process_count; i++)
		free(known->processes[i].starts_ns);
	free(known->processes);
	free(known->firsts);
	memset(known, 0, sizeof(*known));
}

/* ---- asking */

static const struct wt_steps_process *find_process(const struct wt_steps_known *known,
                                                   int64_t process_id)
{
	const struct wt_steps_process key = {.process_id = process_id};

	if (!known->process_count)
		return NULL;
	return bsearch(&key, known->processes, known->process_count, sizeof(key), by_process);
}

static int by_first(const void *left, const void *right)
{
	const struct wt_steps_first *a = left, *b = right;

	if (a->process_id != b->process_id)
		return a->process_id < b->process_id ? -1 : 1;
	if (a->device_id != b->device_id)
		return a->device_id < b->device_id ? -1 : 1;
	return a->kernel_id < b->kernel_id ? -1 : a->kernel_id > b->kernel_id;
}

bool wt_steps_is_first(const struct wt_steps_known *known, int64_t process_id, int64_t device_id,
                       int64_t kernel_id, int64_t start_ns)
{
	const struct wt_steps_first key = {process_id, device_id, kernel_id, 0};
	const struct wt_steps_first *first = NULL;

	if (known->first_count)
		first = bsearch(&key, known->firsts, known->first_count, sizeof(key), by_first);
	return first && start_ns <= first->first_ns;
}

static int by_time(const void *left, const void *right)
{
	const int64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

bool wt_steps_is_start(const struct wt_steps_known *known, int64_t process_id, int64_t start_ns)
{
	const struct wt_steps_process *process = find_process(known, process_id);

	return process && process->start_count &&
	       bsearch(&start_ns, process->starts_ns, process->start_count, sizeof(start_ns),
	               by_time);
}

bool wt_steps_is_warm(const struct wt_steps_known *known, int64_t process_id, int64_t at_ns)
{
	const struct wt_steps_process *process = find_process(known, process_id);

	return process && at_ns >= process->warm_ns;
}
