/*
 * ledger_sums_marks.c - see ledger_sums.h: what a pass leaves for the next one. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/ledger_sums_impl.h"
#include "schema/wt_db.h"

#define GRAPHS_MAX 65536u /* graph launches that are kept; older ones had no kernels */
#define GRAPH_AGE_NS INT64_C(60000000000)

/* Of each stream the first wait that the facts of later no longer have. */
static int keep_wait(void *arg, int64_t process_id, uint64_t key, const struct wt_intervals *set)
{
	struct wt_ledger_sums *sums = arg;
	struct wt_gap_stream *stream = wt_gap_source_stream(&sums->source, process_id, key);
	size_t first;

	if (!stream)
		return -ENOMEM;
	first = wt_intervals_after(set, stream->since_ns);
	if (first < set->count && set->at[first].start_ns < stream->wait_ns)
		stream->wait_ns = set->at[first].start_ns;
	return 0;
}

static bool is_over(struct wt_ledger_sums *sums, const struct wt_fact_graph_launch *launch)
{
	const struct wt_gap_stream *stream = wt_gap_source_stream(
	        &sums->source, launch->process_id,
	        wt_fact_stream_key(launch->call.stream, launch->call.thread32));

	return stream && stream->since_ns > launch->call.entry_ns;
}

static int by_launch(const void *left, const void *right)
{
	const struct wt_fact_graph_launch *a = left, *b = right;

	if (a->process_id != b->process_id)
		return a->process_id < b->process_id ? -1 : 1;
	return a->seq < b->seq ? -1 : a->seq > b->seq;
}

/* Graph launches whose stream has run nothing later. */
static int keep_graphs(struct wt_ledger_sums *sums, int64_t until_ns)
{
	size_t count, kept = 0;
	const struct wt_fact_graph_launch *fresh = wt_facts_graph_launches(sums->facts, &count);
	struct wt_fact_graph_launch *all =
	        reallocarray(sums->graphs, sums->graph_count + count + 1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	sums->graphs = all;
	if (count)
		memcpy(all + sums->graph_count, fresh, count * sizeof(*all));
	count += sums->graph_count;
	qsort(all, count, sizeof(*all), by_launch);
	for (size_t i = 0; i < count; i++)
		if (!is_over(sums, &all[i]) && (!kept || by_launch(&all[kept - 1], &all[i]) != 0))
			all[kept++] = all[i];
	if (kept > GRAPHS_MAX) {
		memmove(all, all + kept - GRAPHS_MAX, GRAPHS_MAX * sizeof(*all));
		kept = GRAPHS_MAX;
	}
	sums->graph_count = kept;
	for (size_t i = 0; i < kept; i++)
		if (all[i].call.entry_ns < sums->low_entry_ns &&
		    (until_ns == INT64_MAX || all[i].call.entry_ns > until_ns - GRAPH_AGE_NS))
			sums->low_entry_ns = all[i].call.entry_ns;
	return 0;
}

/* The lowest id of a table with what reaches keep_ns; else the one after those seen. */
static int low_id(struct wt_ledger_sums *sums, const char *sql, int64_t from_id, int64_t keep_ns,
                  int64_t seen_id, int64_t *ret_id)
{
	sqlite3_stmt *s;
	int rc = wt_db_prepare(sums->db, sql, &s);

	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, from_id);
	sqlite3_bind_int64(s, 2, keep_ns);
	if (seen_id != INT64_MIN)
		sqlite3_bind_int64(s, 3, seen_id + 1);
	rc = wt_db_step(s);
	if (rc > 0)
		*ret_id = sqlite3_column_type(s, 0) == SQLITE_NULL ? from_id
		                                                   : sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return rc < 0 ? rc : 0;
}

#define LOW_ID(table, id, end)                                                                     \
	"SELECT ifnull((SELECT min(" id ") FROM " table " WHERE " id " >= ?1 AND " end             \
	" >= ?2), ?3)"

static int move_marks(struct wt_ledger_sums *sums, struct wt_ledger_place *place)
{
	int64_t reach_ns = place->last_end_ns == INT64_MIN ? place->until_ns : place->last_end_ns;
	int64_t keep_ns = reach_ns < sums->low_entry_ns ? reach_ns : sums->low_entry_ns;
	int rc;

	keep_ns -= 2 * sums->clock_error_ns; /* a cause is undecided so near to another one */
	rc = low_id(sums, LOW_ID("call_row", "call_id", "max(entry_ns + 1, return_ns)"),
	            place->from.call_id, keep_ns, sums->mark.seen_call, &place->from.call_id);
	if (!rc)
		rc = low_id(sums, LOW_ID("copy", "copy_id", "end_ns"), place->from.copy_id, keep_ns,
		            sums->mark.seen_copy, &place->from.copy_id);
	return rc ? rc
	          : low_id(sums, LOW_ID("overhead", "overhead_id", "end_ns"),
	                   place->from.overhead_id, keep_ns, sums->mark.seen_overhead,
	                   &place->from.overhead_id);
}

/* Kernels that have ended are done with; the others are read again. */
static int end_device(struct wt_ledger_sums *sums, struct wt_ledger_place *place, int64_t until_ns)
{
	int rc;

	if (!place->is_begun)
		return 0;
	rc = wt_sweep_ended(&place->sweep, until_ns);
	if (rc)
		return rc;
	place->is_dirty = true;
	place->until_ns = until_ns;
	place->last_end_ns = INT64_MIN;
	if (place->sweep.resident_count == 0 && place->sweep.last_id != WT_SWEEP_NO_KERNEL) {
		place->last_end_ns = place->sweep.now_ns;
		place->last_tag = place->sweep.last_tag;
	} else if (place->sweep.resident_count == 0) {
		place->position_ns = place->position_exec = INT64_MIN; /* all were refused */
	}
	for (uint32_t i = 0; i < place->sweep.resident_count; i++)
		if (place->sweep.resident[i].kernel.id < sums->left_exec)
			sums->left_exec = place->sweep.resident[i].kernel.id;
	return 0;
}

static int find_capture(struct wt_ledger_sums *sums, int64_t call_id)
{
	return low_id(
	        sums,
	        "SELECT ifnull((SELECT min(call_id) FROM (SELECT call_id, api, lead(call_id)"
	        " OVER (PARTITION BY process_id, tid ORDER BY entry_ns) AS after FROM call_row"
	        " WHERE api BETWEEN 70 AND 77 AND call_id >= ?1) WHERE after IS NULL"
	        " AND api < 76), ?2)",
	        sums->mark.capture_id, call_id, INT64_MIN, &sums->mark.capture_id);
}

static int see(struct wt_ledger_sums *sums)
{
	struct wt_ledger_mark *mark = &sums->mark;
	sqlite3_stmt *s;
	int64_t *const seen[] = {&mark->seen_exec, &mark->seen_call, &mark->seen_copy,
	                         &mark->seen_overhead};
	int rc = wt_db_prepare(sums->db,
	                       "SELECT (SELECT max(exec_id) FROM kernel_row WHERE exec_id > ?1),"
	                       " (SELECT max(call_id) FROM call_row WHERE call_id > ?2),"
	                       " (SELECT max(copy_id) FROM copy WHERE copy_id > ?3),"
	                       " (SELECT max(overhead_id) FROM overhead WHERE overhead_id > ?4),"
	                       " (SELECT max(end_ns) FROM copy WHERE copy_id > ?3)",
	                       &s);

	if (rc)
		return rc;
	for (int i = 0; i < 4; i++)
		sqlite3_bind_int64(s, i + 1, *seen[i]);
	rc = wt_db_step(s);
	for (int i = 0; rc > 0 && i < 4; i++) {
		if (sqlite3_column_type(s, i) != SQLITE_NULL)
			*seen[i] = sqlite3_column_int64(s, i);
		else if (*seen[i] == INT64_MIN)
			*seen[i] = 0;
	}
	if (rc > 0) {
		if (sqlite3_column_type(s, 4) != SQLITE_NULL &&
		    sqlite3_column_int64(s, 4) > mark->copy_end_ns)
			mark->copy_end_ns = sqlite3_column_int64(s, 4);
		mark->low_exec = sums->left_exec < mark->seen_exec + 1 ? sums->left_exec
		                                                       : mark->seen_exec + 1;
	}
	sqlite3_finalize(s);
	return rc < 0 ? rc : 0;
}

int wt_ledger_sums_leave_behind(struct wt_ledger_sums *sums, int64_t until_ns)
{
	int64_t call_id = INT64_MAX;
	int rc = 0;

	if (until_ns < sums->low_entry_ns)
		sums->low_entry_ns = until_ns;
	for (size_t i = 0; i < sums->place_count && !rc; i++)
		rc = end_device(sums, &sums->places[i], until_ns);
	if (!rc)
		rc = wt_facts_each(sums->facts, WT_FACT_DEPEND, keep_wait, sums);
	if (!rc)
		rc = keep_graphs(sums, until_ns);
	if (!rc)
		rc = see(sums);
	for (size_t i = 0; i < sums->place_count && !rc; i++) {
		if (sums->places[i].is_begun)
			rc = move_marks(sums, &sums->places[i]);
		if (sums->places[i].from.call_id < call_id)
			call_id = sums->places[i].from.call_id;
	}
	return rc ? rc : find_capture(sums, call_id);
}
