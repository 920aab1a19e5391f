/*
 * select_window.c - the sums over a time window: each kernel counts with its part inside, in
 * time as in idle SM-time. One pass over the kernels; memory grows with the number of
 * configurations. Single-threaded; blocks on the file.
 */
#include <errno.h>

#include "analysis/rollup.h"
#include "cli/report_sql.h"
#include "cli/select_impl.h"

int64_t wt_select_part(int64_t value, int64_t part, int64_t whole)
{
	if (part == whole || whole <= 0)
		return value;
	return (int64_t)(((__int128)value * part + whole / 2) / whole);
}

void wt_select_read_part(const struct wt_select *select, sqlite3_stmt *s, int column,
                         int64_t config_sms, struct wt_select_part *ret_part)
{
	int64_t start = sqlite3_column_int64(s, column);
	int64_t end = sqlite3_column_int64(s, column + 1);
	struct wt_wave_result wave = {0};
	int64_t whole, part, all;

	if (start < 0)
		start = 0; /* a damaged file: nothing may overflow */
	whole = end - start;
	if (select && select->has_window && start < select->start_ns)
		start = select->start_ns;
	if (select && select->has_window && end > select->end_ns)
		end = select->end_ns;
	part = end - start;
	wave.underfill_sm_ns = wt_select_part(sqlite3_column_int64(s, column + 2), part, whole);
	wave.is_judged = sqlite3_column_type(s, column + 3) != SQLITE_NULL;
	/* What isn't judged is all that is not underfill: see split_sm_time() in wave.c. */
	if (wave.is_judged) {
		wave.wave_sm_ns = wt_select_part(sqlite3_column_int64(s, column + 3), part, whole);
		wave.wave_max_sm_ns =
		        wt_select_part(sqlite3_column_int64(s, column + 4), part, whole);
	} else {
		if (__builtin_mul_overflow(part, config_sms, &all))
			all = INT64_MAX;
		wave.unjudged_sm_ns = all - wave.underfill_sm_ns;
	}
	*ret_part = (struct wt_select_part){start, end, wave};
}

/* Columns of `exec_sql`. */
enum {
	COLUMN_PROCESS,
	COLUMN_CONFIG,
	COLUMN_IN_GRAPH,
	COLUMN_START,
	COLUMN_END,
	COLUMN_UNDERFILL,
	COLUMN_WAVE,
	COLUMN_WAVE_MAX,
	COLUMN_SMS,
};

/* CROSS JOIN: SQLite keeps that order, so that nothing is sorted. */
static const char exec_sql[] =
        "SELECT e.process_id, e.config_id, e.graph_id IS NOT NULL, e.start_ns, e.end_ns, "
        "e.underfill_sm_ns, e.wave_sm_ns, e.wave_max_sm_ns, c.sm_count "
        "FROM temp.kernel_exec e CROSS JOIN main.config c USING (config_id)";

static int add_kernel(const struct wt_select *select, sqlite3_stmt *s, struct wt_rollups *rollups)
{
	struct wt_select_part part;
	struct wt_stat *stat = wt_rollups_get(rollups, sqlite3_column_int64(s, COLUMN_PROCESS),
	                                      sqlite3_column_int64(s, COLUMN_CONFIG),
	                                      sqlite3_column_int(s, COLUMN_IN_GRAPH) != 0);

	if (!stat)
		return -ENOMEM;
	wt_select_read_part(select, s, COLUMN_START, sqlite3_column_int64(s, COLUMN_SMS), &part);
	wt_stat_add(stat, part.start_ns, part.end_ns, &part.wave);
	return 0;
}

static int insert_stats(sqlite3 *db, const struct wt_rollups *rollups)
{
	sqlite3_stmt *s;
	int rc = wt_report_prepare(
	        db,
	        "INSERT INTO temp.config_stat (process_id, config_id, in_graph, launches, time_ns, "
	        "min_ns, max_ns, m2_ns2, underfill_sm_ns, wave_sm_ns, wave_max_sm_ns, "
	        "unjudged_sm_ns, first_ns, last_ns) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	        &s);

	if (rc)
		return rc;
	for (size_t i = 0; i < rollups->count && !rc; i++) {
		const struct wt_stat *stat = &rollups->rows[i].stat;
		int code = wt_db_run(s, "iiiiiiiriiiiii", rollups->rows[i].process_id,
		                     stat->config_id, (int64_t)stat->in_graph, stat->launches,
		                     stat->time_ns, stat->min_ns, stat->max_ns, stat->m2_ns2,
		                     stat->underfill_sm_ns, stat->wave_sm_ns, stat->wave_max_sm_ns,
		                     stat->unjudged_sm_ns, stat->first_ns, stat->last_ns);

		rc = code == SQLITE_DONE ? 0 : -EIO;
	}
	sqlite3_finalize(s);
	return rc;
}

int wt_select_sum_window(const struct wt_select *select, sqlite3 *db)
{
	struct wt_rollups rollups = {0};
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, exec_sql, &s);

	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		rc = add_kernel(select, s, &rollups);
		if (rc)
			break;
	}
	sqlite3_finalize(s);
	if (!rc)
		rc = insert_stats(db, &rollups);
	wt_rollups_fini(&rollups);
	return rc;
}
