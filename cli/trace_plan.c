/*
 * trace_plan.c - see trace_impl.h: where a trace ends so that it has at most so many slices. All tracks
 * end together, for a trace with calls up to one time and kernels up to another would mislead.
 *
 * Starts are counted by stretches of time, 65,536 of the window, and the stretch in which the limit falls
 * is looked at again, until the first stretch itself is few enough. What is counted is the most that a
 * row can become: a kernel, and a gap before it; of a graph also the launch. So there may be fewer slices
 * than the limit, never more. Memory is fixed. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ranges.h"
#include "cli/report_sql.h"
#include "cli/trace_impl.h"
#include "schema/wt_db.h"

#define STRETCHES 65536

struct plan {
	struct wt_trace_work *work;
	int64_t from_ns, to_ns; /* what is counted now */
	int64_t width_ns;
	int64_t counts[STRETCHES];
	int64_t before; /* started before from_ns */
};

/* Start, and how many slices it may become. ?1 to ?2: the trace. */
static const char kernels_sql[] =
        "SELECT start_ns, iif(graph_id IS NULL, 2, 3) FROM kernel_exec WHERE end_ns >= start_ns"
        " AND start_ns < ?2 AND end_ns >= ?1 AND start_ns >= 0";

/* The condition on processes follows. */
static const char *const others_sql[] = {
        "SELECT entry_ns, 1 FROM launch_call WHERE entry_ns < ?2 AND return_ns >= ?1",
        "SELECT entry_ns, 1 FROM api_call WHERE entry_ns < ?2 AND return_ns >= ?1",
        "SELECT start_ns, 1 FROM main.copy WHERE start_ns < ?2 AND end_ns >= ?1",
        "SELECT start_ns, 1 FROM main.sync WHERE start_ns < ?2 AND end_ns >= ?1",
        "SELECT start_ns, 1 FROM main.overhead WHERE start_ns < ?2 AND end_ns >= ?1",
        "SELECT start_ns, 1 FROM main.range_event WHERE start_ns < ?2 AND ifnull(end_ns, ?1) >= ?1",
};
#define OTHERS (sizeof(others_sql) / sizeof(others_sql[0]))

/* Of the whole run, from what it counts: without looking at rows that are packed. */
static int64_t count_all(sqlite3 *db)
{
	static const char *const sql[] = {
	        "SELECT 3 * total(kernels_stored) + total(launches_stored) FROM main.proc",
	        "SELECT count(*) FROM main.api_call",
	        "SELECT count(*) FROM main.copy",
	        "SELECT count(*) FROM main.sync",
	        "SELECT count(*) FROM main.overhead",
	};
	int64_t count = 0;

	for (size_t i = 0; i < sizeof(sql) / sizeof(sql[0]); i++)
		wt_report_add(&count, wt_db_int(db, sql[i], 0));
	if (wt_db_has_table(db, "chunk"))
		wt_report_add(
		        &count,
		        wt_db_int(db, "SELECT total(row_count) FROM chunk WHERE kind = 3", 0));
	if (wt_run_has_ranges(db))
		wt_report_add(&count, wt_db_int(db, "SELECT count(*) FROM main.range_event", 0));
	return count;
}

static int count_rows(struct plan *plan, const char *sql)
{
	sqlite3_stmt *s;
	int rc = wt_trace_prepare(plan->work, sql, &s);

	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		int64_t start_ns = sqlite3_column_int64(s, 0), slices = sqlite3_column_int64(s, 1);

		if (start_ns < plan->from_ns)
			plan->before += slices;
		else if (start_ns < plan->to_ns)
			plan->counts[(start_ns - plan->from_ns) / plan->width_ns] += slices;
	}
	sqlite3_finalize(s);
	return rc;
}

static int count_stretches(struct plan *plan)
{
	const char *condition = wt_trace_process_condition(plan->work);
	char sql[600];
	int rc;

	memset(plan->counts, 0, sizeof(plan->counts));
	plan->before = 0;
	plan->width_ns = (plan->to_ns - plan->from_ns - 1) / STRETCHES + 1;
	rc = count_rows(plan, kernels_sql);
	for (size_t i = 0; !rc && i < OTHERS; i++) {
		if (i == OTHERS - 1 && !wt_run_has_ranges(plan->work->db))
			break;
		snprintf(sql, sizeof(sql), "%s AND %s", others_sql[i], condition);
		rc = count_rows(plan, sql);
	}
	return rc;
}

/*
 * The last stretch that is wholly within the limit ends there: *ret_end_ns. 0: that is it; 1: the first
 * one is too much, and is what to look at next.
 */
static int find_end(const struct plan *plan, int64_t limit, int64_t *ret_end_ns)
{
	int64_t sum = plan->before;

	for (int i = 0; i < STRETCHES; i++) {
		sum += plan->counts[i];
		if (sum <= limit)
			continue;
		*ret_end_ns = plan->from_ns + i * plan->width_ns;
		return i == 0 && plan->width_ns > 1;
	}
	*ret_end_ns = plan->to_ns;
	return 0;
}

static int find_limit(struct plan *plan, int64_t limit, int64_t *ret_end_ns)
{
	int rc;

	do {
		rc = count_stretches(plan);
		if (rc)
			return rc;
		/* What came before the first launch of a run goes first. */
		if (plan->before > limit && !plan->work->low_ns) {
			plan->work->low_ns = plan->from_ns;
			rc = 1;
			continue;
		}
		rc = find_end(plan, limit, ret_end_ns);
		plan->to_ns = plan->from_ns + plan->width_ns;
	} while (rc > 0);
	return rc;
}

int wt_trace_plan(struct wt_trace_work *work)
{
	/* A gap at the end of each device, and the slice of the run itself. */
	int64_t limit = work->query->max_events - 1 -
	                wt_db_int(work->db, "SELECT count(*) FROM main.gpu", 0);
	struct plan *plan;
	int64_t end_ns;
	int rc;

	if (count_all(work->db) <= limit || work->end_ns <= work->start_ns)
		return 0;
	plan = calloc(1, sizeof(*plan));
	if (!plan)
		return -ENOMEM;
	plan->work = work;
	/* What lies before or after the window of a whole run belongs to it. */
	plan->from_ns = work->low_ns > 0 ? work->low_ns : work->start_ns;
	plan->to_ns = work->high_ns < INT64_MAX ? work->high_ns : work->end_ns + 1;
	rc = find_limit(plan, limit, &end_ns);
	free(plan);
	if (rc || end_ns >= work->end_ns)
		return rc;
	if (end_ns <= work->start_ns)
		end_ns = work->start_ns + 1; /* so many that start at once */
	work->is_cut = true;
	work->end_ns = work->high_ns = end_ns;
	return 0;
}
