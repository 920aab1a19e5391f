/*
 * ranges_sum.c - see ranges_sum.h. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/interval.h"
#include "cli/dropped.h"
#include "cli/ranges_sum.h"
#include "cli/report_sql.h"
#include "schema/wt_db.h"

static void add(int64_t *sum, int64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = INT64_MAX;
}

static struct wt_range_row *row_of(struct wt_range_sums *sums, size_t range)
{
	const struct wt_run_range *one = &sums->ranges.ranges[range];

	return &sums->rows[2 * wt_run_ranges_name(&sums->ranges, one->name_id) +
	                   (one->type != WT_RUN_RANGE_PUSH)];
}

static int add_kernel(void *arg, size_t at, size_t range)
{
	struct wt_range_sums *sums = arg;
	const struct wt_run_range_kernel *kernel = &sums->ranges.kernels[at];
	struct wt_range_row *row = row_of(sums, range);
	int64_t sm_ns;

	if (row->last_kernel == at)
		return 0;
	row->last_kernel = at;
	row->kernels++;
	if (kernel->time_ns < 0) {
		row->without_time++;
		return 0;
	}
	if (__builtin_mul_overflow(kernel->time_ns, kernel->sm_count, &sm_ns))
		sm_ns = INT64_MAX;
	add(&row->kernel_time_ns, kernel->time_ns);
	add(&row->kernel_sm_ns, sm_ns);
	if (kernel->idle_sm_ns < 0) {
		add(&row->unjudged_sm_ns, sm_ns);
	} else {
		add(&row->idle_sm_ns, kernel->idle_sm_ns);
		if (kernel->sm_count > 0)
			row->idle_gpu_ns += (double)kernel->idle_sm_ns / (double)kernel->sm_count;
	}
	return 0;
}

/* How many there would be with those of other threads. */
static int count_any(void *arg, size_t at, size_t range)
{
	struct wt_range_row *row = row_of(arg, range);

	row->kernels_any += row->last_any != at;
	row->last_any = at;
	return 0;
}

/* When kernels of a process ran, as a set. */
static int load_busy(sqlite3 *db, int64_t process_id, struct wt_interval **ret_at,
                     size_t *ret_count)
{
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db,
	                           "SELECT start_ns, end_ns FROM kernel_row WHERE process_id "
	                           "= ?1 AND start_ns >= 0 AND end_ns > start_ns",
	                           &s);

	*ret_at = NULL;
	*ret_count = 0;
	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, process_id);
	while ((rc = wt_report_step(s)) > 0) {
		struct wt_interval *one = wt_report_append(ret_at, ret_count, sizeof(*one));

		if (!one) {
			rc = -ENOMEM;
			break;
		}
		*one = (struct wt_interval){sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1)};
	}
	sqlite3_finalize(s);
	if (!rc)
		*ret_count = wt_intervals_unite(*ret_at, *ret_count);
	return rc;
}

/* Times and gaps of the ranges of one process. */
static int add_ranges(sqlite3 *db, struct wt_range_sums *sums, int64_t process_id)
{
	struct wt_intervals busy = {0};
	struct wt_interval *at;
	int rc = load_busy(db, process_id, &at, &busy.count);

	busy.at = at;
	for (size_t i = 0; !rc && i < sums->ranges.count; i++) {
		const struct wt_run_range *range = &sums->ranges.ranges[i];
		struct wt_range_row *row = row_of(sums, i);
		int64_t time_ns = range->end_ns - range->start_ns;

		if (range->process_id != process_id)
			continue;
		row->count++;
		if (range->end_ns == INT64_MAX) {
			row->open++;
			continue;
		}
		if (row->count - row->open == 1 || time_ns < row->min_ns)
			row->min_ns = time_ns;
		if (time_ns > row->max_ns)
			row->max_ns = time_ns;
		add(&row->time_ns, time_ns);
		add(&row->gap_ns,
		    time_ns - wt_intervals_overlap_ns(&busy, range->start_ns, range->end_ns));
	}
	free(at);
	return rc;
}

static int add_processes(sqlite3 *db, struct wt_range_sums *sums)
{
	sqlite3_stmt *s;
	int rc = wt_report_prepare(
	        db, "SELECT DISTINCT process_id FROM main.range_event ORDER BY 1", &s);

	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		rc = add_ranges(db, sums, sqlite3_column_int64(s, 0));
		if (rc)
			break;
	}
	sqlite3_finalize(s);
	return rc;
}

static int load_counts(sqlite3 *db, struct wt_range_sums *sums)
{
	/* lost: only of processes that have ended; before, they are just open. */
	static const char sql[] =
	        "SELECT total(begun), total(recorded), total(dropped), total(early),"
	        " total(untracked), total(unbalanced), total(iif(state = 'live', 0, max(0, begun -"
	        " recorded - dropped - early - untracked))) FROM main.range_count JOIN main.proc"
	        " USING (process_id)";
	int64_t *const fields[] = {&sums->counts.begun,     &sums->counts.recorded,
	                           &sums->counts.dropped,   &sums->counts.early,
	                           &sums->counts.untracked, &sums->counts.unbalanced,
	                           &sums->counts.lost};
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, sql, &s);

	if (rc)
		return rc;
	rc = wt_report_step(s);
	for (int i = 0; rc > 0 && i < (int)(sizeof(fields) / sizeof(fields[0])); i++)
		*fields[i] = (int64_t)sqlite3_column_double(s, i);
	sqlite3_finalize(s);
	return rc < 0 ? rc : 0;
}

/* Of ranges that began earlier kernels may have been dropped: their time would read as a gap. */
static void forget_dropped(struct wt_run_ranges *ranges, int64_t kept_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < ranges->count; i++)
		if (ranges->ranges[i].start_ns >= kept_ns)
			ranges->ranges[kept++] = ranges->ranges[i];
	ranges->count = kept;
}

int wt_range_sums_load(sqlite3 *db, bool is_any_thread, struct wt_range_sums *sums)
{
	int rc;

	memset(sums, 0, sizeof(*sums));
	rc = wt_run_ranges_load(db, NULL, &sums->ranges);
	if (rc || !wt_run_has_ranges(db))
		return rc;
	forget_dropped(&sums->ranges, wt_dropped_kept_ns(db));
	rc = load_counts(db, sums);
	if (!rc)
		rc = wt_run_ranges_load_kernels(db, false, &sums->ranges);
	if (rc)
		return rc;
	sums->kernels_unlinked = wt_db_int(db, "SELECT count(*) FROM kernel_row", 0) -
	                         (int64_t)sums->ranges.kernel_count;
	sums->row_count = 2 * sums->ranges.name_count;
	sums->rows = calloc(sums->row_count + 1, sizeof(*sums->rows));
	if (!sums->rows)
		return -ENOMEM;
	for (size_t i = 0; i < sums->row_count; i++) {
		sums->rows[i].name = i / 2;
		sums->rows[i].type = i % 2 ? WT_RUN_RANGE_START : WT_RUN_RANGE_PUSH;
		sums->rows[i].last_kernel = sums->rows[i].last_any = SIZE_MAX;
	}
	rc = add_processes(db, sums);
	if (!rc)
		rc = wt_run_ranges_assign(&sums->ranges, is_any_thread, add_kernel, sums);
	return rc ? rc : wt_run_ranges_assign(&sums->ranges, true, count_any, sums);
}

void wt_range_sums_fini(struct wt_range_sums *sums)
{
	wt_run_ranges_fini(&sums->ranges);
	free(sums->rows);
	memset(sums, 0, sizeof(*sums));
}
