/*
 * ledger_sums_basis.c - see ledger_sums.h: what sums rest on, and why there are none. Single-threaded; blocks on
 * the file.
 */
#include "daemon/ledger_sums_impl.h"
#include "schema/wt_db.h"

/* The clocks are read together once a second: see cli/ledger.c, which has the same over all readings. */
static const char clock_sql[] =
        "WITH c AS (SELECT clock_id, process_id, bracket_ns, monotonic_ns AS t,"
        "   realtime_ns - monotonic_ns AS r, cupti_ns - realtime_ns AS u FROM clock"
        "   WHERE clock_id >= ?1),"
        "  p AS (SELECT process_id, t, t - lag(t) OVER w AS dt, r - lag(r) OVER w AS dr,"
        "   u - lag(u) OVER w AS du FROM c WINDOW w AS (PARTITION BY process_id ORDER BY t)),"
        "  q AS (SELECT *, lag(dt) OVER w AS dt1, lag(dr) OVER w AS dr1, lag(du) OVER w AS du1"
        "   FROM p WINDOW w AS (PARTITION BY process_id ORDER BY t))"
        " SELECT max(ifnull((SELECT max(bracket_ns) FROM c), 0), ifnull((SELECT CAST(max(max("
        "   abs(dr - 1.0 * dr1 * dt / dt1)), ifnull(max(abs(du - 1.0 * du1 * dt / dt1)), 0))"
        "   AS INTEGER) FROM q WHERE dt > 500000000 AND dt1 > 500000000), 0)),"
        /* Of those that go on two readings more are needed. */
        " ifnull((SELECT min(clock_id) FROM (SELECT clock_id, row_number() OVER (PARTITION BY"
        "   process_id ORDER BY clock_id DESC) AS n FROM c JOIN proc USING (process_id)"
        "   WHERE state = 'live') WHERE n <= 3), (SELECT max(clock_id) + 1 FROM clock))";

int wt_ledger_sums_read_clock(struct wt_ledger_sums *sums)
{
	sqlite3_stmt *s;
	int rc = wt_db_prepare(sums->db, clock_sql, &s);

	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, sums->mark.clock_id);
	rc = wt_db_step(s);
	if (rc > 0) {
		int64_t error_ns = sqlite3_column_int64(s, 0);

		if (error_ns > sums->mark.clock_error_ns)
			sums->mark.clock_error_ns = error_ns;
		if (sqlite3_column_type(s, 1) != SQLITE_NULL)
			sums->mark.clock_id = sqlite3_column_int64(s, 1);
	}
	sqlite3_finalize(s);
	return rc < 0 ? rc : 0;
}

int64_t wt_ledger_sums_clock_error(const struct wt_ledger_mark *mark)
{
	int64_t error_ns = WT_LEDGER_CLOCK_LEAST_NS;

	if (mark->clock_error_ns > error_ns)
		error_ns = mark->clock_error_ns;
	return mark->lead_ns > error_ns ? mark->lead_ns : error_ns;
}

int64_t wt_ledger_sums_basis(const struct wt_ledger_sums *sums, int64_t from_ns,
                             int64_t clock_error_ns)
{
	uint64_t hash = wt_facts_basis(sums->facts) ^ (uint64_t)from_ns;

	hash = hash * UINT64_C(0xff51afd7ed558ccd) ^ (uint64_t)clock_error_ns;
	hash *= UINT64_C(0x9e3779b97f4a7c15);
	return (int64_t)(hash >> 2) + 1;
}

int wt_ledger_sums_load_facts(struct wt_ledger_sums *sums)
{
	struct wt_facts_from from = {INT64_MAX, INT64_MAX, INT64_MAX, sums->mark.capture_id};

	for (size_t i = 0; i < sums->place_count; i++) {
		const struct wt_facts_from *at = &sums->places[i].from;

		if (!sums->places[i].has_rows)
			continue;
		from.call_id = at->call_id < from.call_id ? at->call_id : from.call_id;
		from.copy_id = at->copy_id < from.copy_id ? at->copy_id : from.copy_id;
		from.overhead_id =
		        at->overhead_id < from.overhead_id ? at->overhead_id : from.overhead_id;
	}
	if (from.capture_id > from.call_id)
		from.capture_id = from.call_id;
	wt_facts_free(sums->facts);
	sums->facts = NULL;
	return wt_facts_load_from(sums->db, sums->clock_error_ns, &from, &sums->facts);
}

int wt_ledger_sums_find_work(struct wt_ledger_sums *sums)
{
	sqlite3_stmt *s;
	int rc = wt_db_prepare(sums->db,
	                       "SELECT DISTINCT c.device_id FROM (SELECT DISTINCT config_id FROM "
	                       "kernel_row WHERE exec_id >= ?1) JOIN config c USING (config_id)",
	                       &s);

	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, sums->mark.low_exec);
	while ((rc = wt_db_step(s)) > 0) {
		struct wt_ledger_place *place =
		        wt_ledger_sums_place(sums, sqlite3_column_int64(s, 0));

		if (place)
			place->has_rows = true;
	}
	sqlite3_finalize(s);
	return rc;
}

static bool is_summed(const struct wt_ledger_sums *sums, int64_t device_id, int64_t process_id,
                      int64_t since_ns)
{
	for (size_t i = 0; i < sums->owner_count; i++) {
		const struct wt_ledger_owner *owner = &sums->owners[i];

		if ((device_id < 0 || owner->device_id == device_id) &&
		    (process_id < 0 || owner->process_id == process_id) &&
		    owner->last_ns > since_ns)
			return true;
	}
	return false;
}

int wt_ledger_sums_find_late(struct wt_ledger_sums *sums)
{
	static const char sql[] =
	        "SELECT device_id, -1, min(start_ns) FROM copy WHERE copy_id > ?1 AND "
	        "device_id IS NOT NULL AND end_ns > start_ns GROUP BY device_id"
	        " UNION ALL SELECT -1, process_id, min(entry_ns) FROM call_row JOIN api USING (api)"
	        " WHERE call_id > ?2 AND class = 8 AND api < 130 GROUP BY process_id"
	        " UNION ALL SELECT -1, process_id, min(start_ns) FROM overhead WHERE overhead_id > "
	        "?3"
	        " AND type IN (1, 65536, 131072, 196608, 262144, 327680, 458752) AND end_ns > "
	        "start_ns"
	        " GROUP BY process_id";
	const struct wt_ledger_mark *mark = &sums->mark;
	sqlite3_stmt *s;
	int rc;

	if (mark->seen_exec == INT64_MIN)
		return 0;
	rc = wt_db_prepare(sums->db, sql, &s);
	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, mark->seen_copy);
	sqlite3_bind_int64(s, 2, mark->seen_call);
	sqlite3_bind_int64(s, 3, mark->seen_overhead);
	while ((rc = wt_db_step(s)) > 0)
		if (is_summed(sums, sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1),
		              sqlite3_column_int64(s, 2) - wt_ledger_sums_clock_error(mark)))
			sums->mark.is_late = 1;
	sqlite3_finalize(s);
	return rc;
}

const char *wt_ledger_sums_find_drops(struct wt_ledger_sums *sums, int64_t from_ns)
{
	int64_t last_id = INT64_MIN;

	if (wt_db_has_table(sums->db, "dropped"))
		last_id =
		        wt_db_int(sums->db, "SELECT max(last_id) FROM main.dropped WHERE kind = 1",
		                  INT64_MIN);
	sums->has_drops = last_id != INT64_MIN;
	if (!sums->has_drops)
		return NULL;
	/* Nor can a window be summed that begins elsewhere. */
	return sums->mark.from_ns == from_ns && sums->mark.low_exec > last_id ? NULL
	                                                                      : WT_LEDGER_DROPPED;
}

/*
 * Kernels that may have run in a gap that is summed, by what is known now. Launches without kernels yet are not
 * among them: no time is summed that is later than the first of those.
 */
const char *wt_ledger_sums_obstacle(const struct wt_ledger_sums *sums)
{
	static const char lost_sql[] =
	        "SELECT EXISTS (SELECT 1 FROM loss WHERE launches_unlinked + launches_unobserved"
	        " + kernels_no_time + kernels_dropped_ring + kernels_dropped_cupti"
	        " + iif(state = 'live' OR graph_launches = 0, 0, kernels_torn) > 0)";

	if (wt_db_int(sums->db, lost_sql, 1))
		return "kernels were lost";
	if (wt_db_int(sums->db, "SELECT EXISTS (SELECT 1 FROM profile_count WHERE launches > 0)",
	              1))
		return "launches were profiled";
	return NULL;
}
