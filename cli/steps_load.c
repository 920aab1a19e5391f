/*
 * steps_load.c - see steps_load.h. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/map.h"
#include "analysis/optimizer.h"
#include "cli/dropped.h"
#include "cli/progress.h"
#include "cli/ranges.h"
#include "cli/report_sql.h"
#include "cli/steps_load.h"

/* What tells launches apart: kernels by id, graphs and functions by handle. */
enum { TAG_KERNEL, TAG_GRAPH, TAG_FUNCTION };

static const char kernels_sql[] =
        "SELECT l.entry_ns, l.thread32, c.kernel_id, e.start_ns, e.end_ns FROM kernel_row e"
        " JOIN config c USING (config_id) JOIN launch_call l ON l.process_id = e.process_id"
        " AND l.seq = e.launch_seq WHERE e.process_id = ?1 AND e.graph_id IS NULL";

/* Hooks only: no kernel is known, but the handle of the function is. Not those in capture. */
static const char calls_sql[] =
        "SELECT entry_ns, thread32, function FROM launch_call WHERE process_id = ?1"
        " AND result = 0 AND flags & 12 = 0";

static const char graphs_sql[] =
        "SELECT a.entry_ns, a.thread32, a.other, a.seq FROM api_call a JOIN api USING (api)"
        " WHERE a.process_id = ?1 AND api.class = 2 AND a.result = 0";

static const char nodes_sql[] =
        "SELECT launch_seq, min(start_ns), max(end_ns) FROM kernel_row WHERE process_id = ?1"
        " AND graph_id IS NOT NULL AND launch_seq IS NOT NULL AND end_ns >= start_ns GROUP BY 1";

static const char busy_sql[] =
        "SELECT start_ns, end_ns FROM kernel_row WHERE process_id = ?1 AND end_ns > start_ns";

/* Runs `sql` for the process and calls `take` on each row. */
static int for_rows(sqlite3 *db, const char *sql, int64_t process_id,
                    int (*take)(sqlite3_stmt *s, void *arg), void *arg)
{
	struct wt_progress progress;
	int64_t rows = 0;
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, sql, &s);

	if (rc)
		return rc;
	wt_progress_begin(&progress, "steps", "rows", 0);
	sqlite3_bind_int64(s, 1, process_id);
	while ((rc = wt_report_step(s)) > 0) {
		wt_progress_set(&progress, ++rows);
		rc = take(s, arg);
		if (rc)
			break;
	}
	wt_progress_end(&progress);
	sqlite3_finalize(s);
	return rc;
}

struct loading {
	int64_t kept_ns; /* launches before are not all there */
	struct wt_step_launches *launches;
	struct wt_map updates; /* kernel_id of optimizers' kernels */
	struct wt_map graph_at; /* seq of a graph launch -> index in launches */
};

static struct wt_step_launch *append(struct wt_step_launches *launches, sqlite3_stmt *s, int tag,
                                     uint64_t what)
{
	struct wt_step_launch *launch =
	        wt_report_append(&launches->at, &launches->count, sizeof(*launch));

	if (!launch)
		return NULL;
	launch->item.time_ns = sqlite3_column_int64(s, 0);
	launch->item.signature = what * 4 + (uint64_t)tag;
	launch->thread32 = (uint32_t)sqlite3_column_int64(s, 1);
	return launch;
}

static int take_update(sqlite3_stmt *s, void *arg)
{
	struct loading *load = arg;
	const char *name = (const char *)sqlite3_column_text(s, 1);

	if (!name || !wt_is_optimizer_kernel(name))
		return 0;
	return wt_map_set(&load->updates, (uint64_t)sqlite3_column_int64(s, 0), 1);
}

/* In columns `at` and the next: in order, and such that differences can be formed. */
static bool has_times(sqlite3_stmt *s, int at)
{
	int64_t start_ns = sqlite3_column_int64(s, at), end_ns = sqlite3_column_int64(s, at + 1);

	return start_ns > 0 && end_ns >= start_ns && end_ns < INT64_MAX / 2;
}

static bool is_kept(const struct loading *load, sqlite3_stmt *s)
{
	return sqlite3_column_int64(s, 0) >= load->kept_ns;
}

static int take_kernel(sqlite3_stmt *s, void *arg)
{
	struct loading *load = arg;
	int64_t kernel_id = sqlite3_column_int64(s, 2);
	struct wt_step_launch *launch;

	if (!is_kept(load, s))
		return 0;
	launch = append(load->launches, s, TAG_KERNEL, (uint64_t)kernel_id);
	if (!launch)
		return -ENOMEM;
	launch->kernel_id = kernel_id;
	if (wt_map_get(&load->updates, (uint64_t)kernel_id) != WT_MAP_NONE)
		launch->item.flags = WT_STEP_ITEM_UPDATE;
	if (!has_times(s, 3))
		return 0;
	launch->start_ns = sqlite3_column_int64(s, 3);
	launch->end_ns = sqlite3_column_int64(s, 4);
	return 0;
}

static int take_call(sqlite3_stmt *s, void *arg)
{
	struct loading *load = arg;

	if (!is_kept(load, s))
		return 0;
	return append(load->launches, s, TAG_FUNCTION, (uint64_t)sqlite3_column_int64(s, 2))
	               ? 0
	               : -ENOMEM;
}

static int take_graph(sqlite3_stmt *s, void *arg)
{
	struct loading *load = arg;
	struct wt_step_launch *launch;

	if (!is_kept(load, s))
		return 0;
	launch = append(load->launches, s, TAG_GRAPH, (uint64_t)sqlite3_column_int64(s, 2));
	if (!launch)
		return -ENOMEM;
	launch->item.flags = WT_STEP_ITEM_GRAPH;
	return wt_map_set(&load->graph_at, (uint64_t)sqlite3_column_int64(s, 3),
	                  (uint32_t)load->launches->count - 1);
}

static int take_nodes(sqlite3_stmt *s, void *arg)
{
	struct loading *load = arg;
	uint32_t at = wt_map_get(&load->graph_at, (uint64_t)sqlite3_column_int64(s, 0));

	if (at == WT_MAP_NONE || !has_times(s, 1))
		return 0;
	load->launches->at[at].start_ns = sqlite3_column_int64(s, 1);
	load->launches->at[at].end_ns = sqlite3_column_int64(s, 2);
	return 0;
}

static int take_busy(sqlite3_stmt *s, void *arg)
{
	struct loading *load = arg;
	struct wt_step_launches *launches = load->launches;
	struct wt_interval *one;

	if (!has_times(s, 0))
		return 0;
	one = wt_report_append(&launches->busy, &launches->busy_count, sizeof(*one));
	if (!one)
		return -ENOMEM;
	*one = (struct wt_interval){sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1)};
	return 0;
}

static int by_time(const void *left, const void *right)
{
	const struct wt_step_launch *a = left, *b = right;

	return a->item.time_ns < b->item.time_ns ? -1 : a->item.time_ns > b->item.time_ns;
}

int wt_step_launches_load(sqlite3 *db, int64_t process_id, struct wt_step_launches *launches)
{
	struct loading load = {.launches = launches, .kept_ns = wt_dropped_kept_ns(db)};
	int rc;

	memset(launches, 0, sizeof(*launches));
	rc = for_rows(db, "SELECT kernel_id, name FROM kernel WHERE ?1 NOTNULL", process_id,
	              take_update, &load);
	if (!rc)
		rc = for_rows(db, kernels_sql, process_id, take_kernel, &load);
	if (!rc && launches->count == 0)
		rc = for_rows(db, calls_sql, process_id, take_call, &load);
	if (!rc)
		rc = for_rows(db, graphs_sql, process_id, take_graph, &load);
	if (!rc)
		rc = for_rows(db, nodes_sql, process_id, take_nodes, &load);
	if (!rc)
		rc = for_rows(db, busy_sql, process_id, take_busy, &load);
	wt_map_fini(&load.updates);
	wt_map_fini(&load.graph_at);
	if (rc)
		return rc;
	if (launches->count)
		qsort(launches->at, launches->count, sizeof(*launches->at), by_time);
	launches->busy_count = wt_intervals_unite(launches->busy, launches->busy_count);
	for (size_t i = 0; i < launches->count; i++)
		launches->timed += launches->at[i].start_ns != 0;
	return 0;
}

static int by_start(const void *left, const void *right)
{
	const struct wt_run_range *a = left, *b = right;

	return a->start_ns < b->start_ns ? -1 : a->start_ns > b->start_ns;
}

static int add_mark(struct wt_step_launches *launches, int64_t at_ns)
{
	int64_t *one = wt_report_append(&launches->mark_ns, &launches->mark_count, sizeof(*one));

	if (!one)
		return -ENOMEM;
	*one = at_ns;
	return 0;
}

int wt_step_marks_load(sqlite3 *db, int64_t process_id, const char *word,
                       struct wt_step_launches *launches)
{
	struct wt_run_ranges ranges;
	int64_t end_ns = INT64_MIN;
	int rc = wt_run_ranges_load(db, word, &ranges);

	if (!rc && ranges.count)
		qsort(ranges.ranges, ranges.count, sizeof(*ranges.ranges), by_start);
	for (size_t i = 0; !rc && i < ranges.count; i++) {
		const struct wt_run_range *range = &ranges.ranges[i];

		if (range->process_id != process_id || range->start_ns < end_ns)
			continue;
		end_ns = range->end_ns;
		rc = add_mark(launches, range->start_ns);
	}
	/* What comes after the last one is not of its step. */
	if (!rc && launches->mark_count && end_ns < INT64_MAX)
		rc = add_mark(launches, end_ns);
	wt_run_ranges_fini(&ranges);
	return rc;
}

void wt_step_launches_fini(struct wt_step_launches *launches)
{
	free(launches->at);
	free(launches->busy);
	free(launches->mark_ns);
	memset(launches, 0, sizeof(*launches));
}
