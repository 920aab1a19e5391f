/*
 * ranges.c - see ranges.h. Single-threaded; blocks on the file.
 */
#include "cli/ranges.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report_sql.h"
#include "schema/wt_db.h"

bool wt_range_matches(const char *word, const char *domain, const char *name)
{
	char both[400];

	if (!name)
		name = "";
	if (!strcmp(word, name) || !fnmatch(word, name, 0))
		return true;
	if (!domain[0])
		return false;
	snprintf(both, sizeof(both), "%s/%s", domain, name);
	return !strcmp(word, both) || !fnmatch(word, both, 0);
}

bool wt_run_has_ranges(sqlite3 *db)
{
	return wt_db_int(db, "SELECT count(*) FROM main.sqlite_schema WHERE name = 'range_event'",
	                 0) > 0;
}

size_t wt_run_ranges_name(const struct wt_run_ranges *ranges, int64_t name_id)
{
	size_t low = 0, high = ranges->name_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges->names[middle].name_id < name_id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < ranges->name_count && ranges->names[low].name_id == name_id ? low : SIZE_MAX;
}

/* In the order of their ids, only those wanted. */
static int load_names(sqlite3 *db, const char *word, struct wt_run_ranges *ranges)
{
	sqlite3_stmt *s;
	int rc = wt_report_prepare(
	        db, "SELECT name_id, domain, name FROM main.range_name ORDER BY name_id", &s);

	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		const char *domain = (const char *)sqlite3_column_text(s, 1);
		const char *name = (const char *)sqlite3_column_text(s, 2);
		struct wt_run_range_name *one;

		if (word && !wt_range_matches(word, domain ? domain : "", name))
			continue;
		one = wt_report_append(&ranges->names, &ranges->name_count, sizeof(*one));
		rc = one ? wt_report_copy_name(s, 1, &one->domain) : -ENOMEM;
		if (!rc)
			rc = wt_report_copy_text(s, 2, &one->name);
		if (rc)
			break;
		one->name_id = sqlite3_column_int64(s, 0);
	}
	sqlite3_finalize(s);
	return rc;
}

static int load_events(sqlite3 *db, struct wt_run_ranges *ranges)
{
	static const char sql[] =
	        "SELECT range_id, name_id, process_id, tid, start_ns, end_ns, depth, type"
	        " FROM main.range_event ORDER BY range_id";
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, sql, &s);

	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		int64_t name_id = sqlite3_column_int64(s, 1), start_ns = sqlite3_column_int64(s, 4);
		struct wt_run_range *one;

		/* A damaged file: nothing may overflow. */
		if (wt_run_ranges_name(ranges, name_id) == SIZE_MAX || start_ns <= 0 ||
		    start_ns > INT64_MAX / 2)
			continue;
		one = wt_report_append(&ranges->ranges, &ranges->count, sizeof(*one));
		if (!one) {
			rc = -ENOMEM;
			break;
		}
		one->range_id = sqlite3_column_int64(s, 0);
		one->name_id = name_id;
		one->process_id = sqlite3_column_int64(s, 2);
		one->tid = sqlite3_column_int64(s, 3);
		one->start_ns = start_ns;
		one->end_ns = sqlite3_column_type(s, 5) == SQLITE_NULL ? INT64_MAX
		                                                       : sqlite3_column_int64(s, 5);
		if (one->end_ns < start_ns)
			one->end_ns = start_ns;
		one->depth = sqlite3_column_int64(s, 6);
		one->type = sqlite3_column_int(s, 7);
	}
	sqlite3_finalize(s);
	return rc;
}

int wt_run_ranges_load(sqlite3 *db, const char *word, struct wt_run_ranges *ret_ranges)
{
	int rc;

	memset(ret_ranges, 0, sizeof(*ret_ranges));
	if (!wt_run_has_ranges(db))
		return 0;
	rc = load_names(db, word, ret_ranges);
	return rc ? rc : load_events(db, ret_ranges);
}

/* ---- kernels */

#define COLUMNS                                                                                    \
	"SELECT e.exec_id, e.process_id, l.entry_ns, l.tid, e.start_ns, e.end_ns, c.sm_count,"     \
	" e.underfill_sm_ns + e.wave_sm_ns FROM %s e JOIN main.config c USING"                     \
	" (config_id) JOIN "

static int load_kernels(sqlite3 *db, const char *sql, struct wt_run_ranges *ranges)
{
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, sql, &s);

	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		struct wt_run_range_kernel *one =
		        wt_report_append(&ranges->kernels, &ranges->kernel_count, sizeof(*one));
		int64_t start_ns = sqlite3_column_int64(s, 4), end_ns = sqlite3_column_int64(s, 5);

		if (!one) {
			rc = -ENOMEM;
			break;
		}
		one->exec_id = sqlite3_column_int64(s, 0);
		one->process_id = sqlite3_column_int64(s, 1);
		one->entry_ns = sqlite3_column_int64(s, 2);
		one->tid = sqlite3_column_int64(s, 3);
		one->time_ns = sqlite3_column_type(s, 4) == SQLITE_NULL || start_ns < 0 ||
		                               end_ns < start_ns
		                       ? -1
		                       : end_ns - start_ns;
		one->sm_count = sqlite3_column_int64(s, 6);
		one->idle_sm_ns =
		        sqlite3_column_type(s, 7) == SQLITE_NULL ? -1 : sqlite3_column_int64(s, 7);
	}
	sqlite3_finalize(s);
	return rc;
}

int wt_run_ranges_load_kernels(sqlite3 *db, bool is_selected, struct wt_run_ranges *ranges)
{
	const char *kernels = is_selected ? "temp.kernel_exec" : "kernel_row";
	char sql[600];
	int rc;

	snprintf(sql, sizeof(sql),
	         COLUMNS "launch_row l ON l.process_id = e.process_id AND l.seq = "
	                 "e.launch_seq WHERE e.graph_id IS NULL",
	         kernels);
	rc = load_kernels(db, sql, ranges);
	if (rc)
		return rc;
	snprintf(sql, sizeof(sql),
	         COLUMNS "(SELECT * FROM call_row WHERE seq IS NOT NULL LIMIT -1) l ON "
	                 "l.process_id = e.process_id AND l.seq = e.launch_seq "
	                 "WHERE e.graph_id IS NOT NULL",
	         kernels);
	return load_kernels(db, sql, ranges);
}

void wt_run_ranges_fini(struct wt_run_ranges *ranges)
{
	for (size_t i = 0; i < ranges->name_count; i++) {
		free(ranges->names[i].domain);
		free(ranges->names[i].name);
	}
	free(ranges->names);
	free(ranges->ranges);
	free(ranges->kernels);
	memset(ranges, 0, sizeof(*ranges));
}

int wt_run_ranges_assign(const struct wt_run_ranges *ranges, bool is_any_thread,
                         wt_range_hit_fn hit, void *arg)
{
	struct wt_range_span *spans = calloc(ranges->count + 1, sizeof(*spans));
	struct wt_range_launch *launches = calloc(ranges->kernel_count + 1, sizeof(*launches));
	int rc = spans && launches ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < ranges->count; i++) {
		const struct wt_run_range *one = &ranges->ranges[i];

		spans[i] = (struct wt_range_span){.process_id = one->process_id,
		                                  .start_ns = one->start_ns,
		                                  .end_ns = one->end_ns,
		                                  .tid = one->tid,
		                                  .is_of_thread = !is_any_thread &&
		                                                  one->type == WT_RUN_RANGE_PUSH,
		                                  .id = i};
	}
	for (size_t i = 0; !rc && i < ranges->kernel_count; i++) {
		const struct wt_run_range_kernel *one = &ranges->kernels[i];

		launches[i] = (struct wt_range_launch){one->process_id, one->entry_ns, one->tid, i};
	}
	if (!rc)
		rc = wt_ranges_assign(spans, ranges->count, launches, ranges->kernel_count, hit,
		                      arg);
	free(spans);
	free(launches);
	return rc;
}
