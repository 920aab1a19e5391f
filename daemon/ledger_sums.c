/*
 * ledger_sums.c - see ledger_sums.h. Single-threaded; blocks on the file.
 */
#include "daemon/ledger_sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "schema/wt_db.h"

#define PROCESSES_MAX (INT64_C(1) << 30) /* as in the ledger */
#define GRAPHS_MAX 65536u /* graph launches that are kept; older ones had no kernels */
#define GRAPH_AGE_NS INT64_C(60000000000)

/* ---- what there is to sum for */

static uint64_t owner_key(int64_t device_id, int64_t process_id, int64_t config_id)
{
	uint64_t hash = (uint64_t)process_id * UINT64_C(0x9e3779b97f4a7c15);

	hash = (hash ^ (uint64_t)config_id) * UINT64_C(0xff51afd7ed558ccd);
	return (hash ^ (uint64_t)device_id) * UINT64_C(0xc4ceb9fe1a85ec53);
}

struct wt_ledger_owner *wt_ledger_sums_owner(struct wt_ledger_sums *sums, int64_t device_id,
                                             int64_t process_id, int64_t config_id)
{
	uint64_t key = owner_key(device_id, process_id, config_id);
	uint32_t first = wt_map_get(&sums->owner_of, key);
	struct wt_ledger_owner *owner;

	for (uint32_t at = first; at != WT_MAP_NONE; at = sums->owners[at].next) {
		owner = &sums->owners[at];
		if (owner->device_id == device_id && owner->process_id == process_id &&
		    owner->config_id == config_id)
			return owner;
	}
	if (sums->owner_count == sums->owner_room) {
		size_t room = sums->owner_room ? 2 * sums->owner_room : 64;

		owner = reallocarray(sums->owners, room, sizeof(*owner));
		if (!owner)
			return NULL;
		sums->owners = owner;
		sums->owner_room = room;
	}
	if (wt_map_set(&sums->owner_of, key, (uint32_t)sums->owner_count))
		return NULL;
	owner = &sums->owners[sums->owner_count++];
	*owner = (struct wt_ledger_owner){.device_id = device_id,
	                                  .process_id = process_id,
	                                  .config_id = config_id,
	                                  .last_ns = INT64_MIN,
	                                  .next = first};
	return owner;
}

struct wt_ledger_place *wt_ledger_sums_place(struct wt_ledger_sums *sums, int64_t device_id)
{
	for (size_t i = 0; i < sums->place_count; i++)
		if (sums->places[i].device_id == device_id)
			return &sums->places[i];
	return NULL;
}

static const struct wt_facts_from from_begin = {INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN};

void wt_ledger_sums_reset(struct wt_ledger_sums *sums)
{
	sums->mark = (struct wt_ledger_mark){.from_ns = INT64_MIN,
	                                     .end_ns = INT64_MIN,
	                                     .low_exec = INT64_MIN,
	                                     .seen_exec = INT64_MIN,
	                                     .seen_call = INT64_MIN,
	                                     .seen_copy = INT64_MIN,
	                                     .seen_overhead = INT64_MIN,
	                                     .clock_id = INT64_MIN,
	                                     .copy_end_ns = INT64_MIN,
	                                     .capture_id = INT64_MIN};
	sums->is_anew = true;
	for (size_t i = 0; i < sums->place_count; i++) {
		struct wt_ledger_place *place = &sums->places[i];

		place->position_ns = place->position_exec = place->until_ns = INT64_MIN;
		place->last_end_ns = INT64_MIN;
		place->last_tag = 0;
		place->kernels = place->kernels_refused = 0;
		place->from = from_begin;
		place->held_count = 0;
		place->is_begun = place->has_rows = false;
		place->loaded_ns = place->loaded_exec = place->loaded_until_ns = INT64_MIN;
	}
	sums->owner_count = 0;
	wt_map_fini(&sums->owner_of);
	sums->graph_count = 0;
	wt_gap_source_forget(&sums->source);
	wt_facts_free(sums->facts);
	sums->facts = NULL;
}

void wt_ledger_sums_free(struct wt_ledger_sums *sums)
{
	if (!sums)
		return;
	for (size_t i = 0; i < sums->place_count; i++)
		free(sums->places[i].held);
	free(sums->places);
	free(sums->owners);
	free(sums->graphs);
	free(sums->configs);
	wt_map_fini(&sums->owner_of);
	wt_map_fini(&sums->config_at);
	wt_gap_source_fini(&sums->source);
	wt_facts_free(sums->facts);
	free(sums);
}

/* ---- gaps */

static int add_gap(struct wt_ledger_sums *sums, const struct wt_gap_facts *facts)
{
	const struct wt_ledger_row *next = sums->next;
	bool is_short = facts->end_ns - facts->start_ns <= WT_LEDGER_SHORT_GAP_NS;
	int64_t ns[WT_GAP_CAUSE_MAX] = {0};
	struct wt_ledger_owner *owner =
	        wt_ledger_sums_owner(sums, sums->place->device_id, next ? next->process_id : 0,
	                             next ? next->config_id : 0);

	if (!owner)
		return -ENOMEM;
	wt_gap_classify(facts, ns);
	owner->gaps++;
	owner->short_gaps += is_short;
	owner->is_dirty = true;
	if (facts->end_ns > owner->last_ns)
		owner->last_ns = facts->end_ns;
	for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++) {
		owner->ns[cause] += ns[cause];
		owner->short_ns[cause] += is_short ? ns[cause] : 0;
	}
	return 0;
}

static int on_gap(void *arg, const struct wt_sweep_gap *gap)
{
	struct wt_ledger_sums *sums = arg;
	const struct wt_gap_place place = {sums->place->device_id,
	                                   gap->start_ns,
	                                   gap->end_ns,
	                                   gap->before_id != WT_SWEEP_NO_KERNEL,
	                                   gap->before_tag,
	                                   sums->next};
	struct wt_gap_facts facts;

	if (!sums->next)
		return 0; /* between kernels that were taken before */
	facts = wt_gap_source_facts(&sums->source, &place);
	return add_gap(sums, &facts);
}

/* ---- kernels */

static int begin(struct wt_ledger_sums *sums, struct wt_ledger_place *place,
                 const struct wt_ledger_held *first)
{
	const struct wt_sweep_output output = {.gap = on_gap, .arg = sums};
	bool is_quiet = place->last_end_ns != INT64_MIN;
	int64_t start_ns = first->is_context ? first->row.start_ns : sums->mark.from_ns;

	if (is_quiet)
		start_ns = place->last_end_ns;
	if (wt_sweep_init(&place->sweep, (uint32_t)place->sms, start_ns, &output))
		return -ERANGE;
	if (is_quiet)
		wt_sweep_resume(&place->sweep, place->last_tag);
	place->is_begun = true;
	return 0;
}

static int sweep_row(struct wt_ledger_sums *sums, const struct wt_ledger_row *row, bool is_context)
{
	struct wt_ledger_place *place = sums->place;
	const struct wt_sweep_kernel kernel = {
	        .id = row->exec_id,
	        .tag = wt_ledger_graph_tag(row),
	        .start_ns = row->start_ns,
	        .end_ns = row->end_ns,
	        .duration_ns = row->end_ns - row->start_ns,
	        .wave_sm_ns = row->wave_sm_ns,
	        .wave_max_sm_ns = row->wave_max_sm_ns,
	        .sms = wt_sweep_occupied_sms(row->config_sms, place->sms, row->resident_blocks,
	                                     row->blocks),
	        .is_judged = row->is_judged,
	};
	int rc = -EINVAL;

	sums->next = is_context ? NULL : row;
	if (row->process_id >= 0 && row->process_id < PROCESSES_MAX)
		rc = wt_sweep_add(&place->sweep, &kernel);
	sums->next = NULL;
	if (rc && rc != -EINVAL && rc != -EBUSY)
		return rc;
	if (!is_context) {
		place->kernels += !rc;
		place->kernels_refused += rc != 0;
	}
	return 0;
}

static int take(struct wt_ledger_sums *sums, const struct wt_ledger_held *held)
{
	const struct wt_ledger_row *row = &held->row;
	struct wt_ledger_place *place = sums->place;
	int rc = place->is_begun ? 0 : begin(sums, place, held);

	if (rc)
		return rc;
	if (held->is_context)
		return sweep_row(sums, row, true);
	place->position_ns = row->start_ns;
	place->position_exec = row->exec_id;
	place->is_dirty = true;
	if (row->end_ns > row->start_ns)
		rc = sweep_row(sums, row, false);
	else
		place->kernels_refused++;
	return !rc && row->has_call ? wt_gap_source_note(&sums->source, row) : rc;
}

/* ---- may they be used? */

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

static int read_clock(struct wt_ledger_sums *sums)
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

static int64_t clock_error_of(const struct wt_ledger_mark *mark)
{
	int64_t error_ns = WT_LEDGER_CLOCK_LEAST_NS;

	if (mark->clock_error_ns > error_ns)
		error_ns = mark->clock_error_ns;
	return mark->lead_ns > error_ns ? mark->lead_ns : error_ns;
}

/* What all sums depend on; never 0. */
static int64_t basis_of(const struct wt_ledger_sums *sums, int64_t from_ns, int64_t clock_error_ns)
{
	uint64_t hash = wt_facts_basis(sums->facts) ^ (uint64_t)from_ns;

	hash = hash * UINT64_C(0xff51afd7ed558ccd) ^ (uint64_t)clock_error_ns;
	hash *= UINT64_C(0x9e3779b97f4a7c15);
	return (int64_t)(hash >> 2) + 1;
}

static int load_facts(struct wt_ledger_sums *sums)
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

/* Which devices have rows that are not taken yet, or run on. */
static int find_devices_at_work(struct wt_ledger_sums *sums)
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

/* New facts of a time that is summed: those of the thread that launched come before its launch. */
static int find_late_facts(struct wt_ledger_sums *sums)
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
		              sqlite3_column_int64(s, 2) - clock_error_of(mark)))
			sums->mark.is_late = 1;
	sqlite3_finalize(s);
	return rc;
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

/* ---- where the next one begins */

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

/* The lowest id of a table with what reaches keep_ns; else the next one. */
static int low_id(struct wt_ledger_sums *sums, const char *sql, int64_t from_id, int64_t keep_ns,
                  int64_t *ret_id)
{
	sqlite3_stmt *s;
	int rc = wt_db_prepare(sums->db, sql, &s);

	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, from_id);
	sqlite3_bind_int64(s, 2, keep_ns);
	rc = wt_db_step(s);
	if (rc > 0)
		*ret_id = sqlite3_column_type(s, 0) == SQLITE_NULL ? from_id
		                                                   : sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return rc < 0 ? rc : 0;
}

#define LOW_ID(table, id, end)                                                                     \
	"SELECT ifnull((SELECT min(" id ") FROM " table " WHERE " id " >= ?1 AND " end             \
	" >= ?2), (SELECT max(" id ") + 1 FROM " table " WHERE " id " >= ?1))"

static int move_marks(struct wt_ledger_sums *sums, struct wt_ledger_place *place)
{
	int64_t reach_ns = place->last_end_ns == INT64_MIN ? place->until_ns : place->last_end_ns;
	int64_t keep_ns = reach_ns < sums->low_entry_ns ? reach_ns : sums->low_entry_ns;
	int rc;

	keep_ns -= 2 * sums->clock_error_ns; /* a cause is undecided so near to another one */
	rc = low_id(sums, LOW_ID("call_row", "call_id", "max(entry_ns + 1, return_ns)"),
	            place->from.call_id, keep_ns, &place->from.call_id);
	if (!rc)
		rc = low_id(sums, LOW_ID("copy", "copy_id", "end_ns"), place->from.copy_id, keep_ns,
		            &place->from.copy_id);
	return rc ? rc
	          : low_id(sums, LOW_ID("overhead", "overhead_id", "end_ns"),
	                   place->from.overhead_id, keep_ns, &place->from.overhead_id);
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
	        sums->mark.capture_id, call_id, &sums->mark.capture_id);
}

static int see(struct wt_ledger_sums *sums)
{
	struct wt_ledger_mark *mark = &sums->mark;
	sqlite3_stmt *s;
	int rc = wt_db_prepare(sums->db,
	                       "SELECT (SELECT max(exec_id) FROM kernel_row WHERE exec_id > ?2),"
	                       " (SELECT max(call_id) FROM call_row WHERE call_id > ?3),"
	                       " ifnull((SELECT max(copy_id) FROM copy), 0),"
	                       " ifnull((SELECT max(overhead_id) FROM overhead), 0),"
	                       " (SELECT max(end_ns) FROM copy WHERE copy_id > ?1)",
	                       &s);

	if (rc)
		return rc;
	if (mark->seen_exec < 0)
		mark->seen_exec = 0;
	if (mark->seen_call < 0)
		mark->seen_call = 0;
	sqlite3_bind_int64(s, 1, mark->seen_copy);
	sqlite3_bind_int64(s, 2, mark->seen_exec);
	sqlite3_bind_int64(s, 3, mark->seen_call);
	rc = wt_db_step(s);
	if (rc > 0) {
		if (sqlite3_column_type(s, 0) != SQLITE_NULL)
			mark->seen_exec = sqlite3_column_int64(s, 0);
		if (sqlite3_column_type(s, 1) != SQLITE_NULL)
			mark->seen_call = sqlite3_column_int64(s, 1);
		mark->seen_copy = sqlite3_column_int64(s, 2);
		mark->seen_overhead = sqlite3_column_int64(s, 3);
		if (sqlite3_column_type(s, 4) != SQLITE_NULL &&
		    sqlite3_column_int64(s, 4) > mark->copy_end_ns)
			mark->copy_end_ns = sqlite3_column_int64(s, 4);
		mark->low_exec = sums->left_exec < mark->seen_exec + 1 ? sums->left_exec
		                                                       : mark->seen_exec + 1;
	}
	sqlite3_finalize(s);
	return rc < 0 ? rc : 0;
}

static int leave_behind(struct wt_ledger_sums *sums, int64_t until_ns)
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
	for (size_t i = 0; i < sums->place_count && !rc; i++) {
		if (sums->places[i].is_begun)
			rc = move_marks(sums, &sums->places[i]);
		if (sums->places[i].from.call_id < call_id)
			call_id = sums->places[i].from.call_id;
	}
	if (!rc)
		rc = find_capture(sums, call_id);
	return rc ? rc : see(sums);
}

/* ---- the end */

/* No kernel comes any more: what is left of the window, of which copies have their part. */
static int finish_device(struct wt_ledger_sums *sums, struct wt_ledger_place *place, int64_t end_ns)
{
	bool has_before = place->last_end_ns != INT64_MIN;
	struct wt_gap_facts facts = {.start_ns =
	                                     has_before ? place->last_end_ns : sums->mark.from_ns,
	                             .end_ns = end_ns,
	                             .clock_error_ns = sums->clock_error_ns,
	                             .has_kernel_before = has_before,
	                             .first_launch_ns = INT64_MIN};
	struct wt_interval *copies = NULL;
	size_t count = 0, room = 0;
	sqlite3_stmt *s;
	int rc;

	if (facts.end_ns <= facts.start_ns)
		return 0;
	facts.began_ns = facts.start_ns;
	rc = wt_db_prepare(
	        sums->db,
	        "SELECT start_ns, end_ns FROM copy WHERE copy_id >= ?1 AND device_id = ?2"
	        " AND end_ns > ?3 AND end_ns > start_ns",
	        &s);
	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, place->from.copy_id);
	sqlite3_bind_int64(s, 2, place->device_id);
	sqlite3_bind_int64(s, 3, facts.start_ns);
	while ((rc = wt_db_step(s)) > 0) {
		if (count == room) {
			struct wt_interval *grown;

			room = room ? 2 * room : 64;
			grown = reallocarray(copies, room, sizeof(*grown));
			rc = grown ? rc : -ENOMEM;
			if (!grown)
				break;
			copies = grown;
		}
		copies[count++] = (struct wt_interval){sqlite3_column_int64(s, 0),
		                                       sqlite3_column_int64(s, 1)};
	}
	sqlite3_finalize(s);
	facts.copies = (struct wt_intervals){copies, wt_intervals_unite(copies, count)};
	sums->place = place;
	if (!rc)
		rc = add_gap(sums, &facts);
	free(copies);
	return rc;
}

static int finish(struct wt_ledger_sums *sums, int64_t end_ns)
{
	int rc = 0;

	for (size_t i = 0; i < sums->place_count && !rc; i++)
		if (sums->places[i].sms)
			rc = finish_device(sums, &sums->places[i], end_ns);
	sums->mark.end_ns = end_ns;
	return rc;
}

/* ---- the pass */

/* Gaps that no kernel had ended. */
static void forget_last_gaps(struct wt_ledger_sums *sums)
{
	for (size_t i = 0; i < sums->owner_count; i++) {
		struct wt_ledger_owner *owner = &sums->owners[i];

		if (owner->config_id)
			continue;
		owner->gaps = owner->short_gaps = 0;
		owner->last_ns = INT64_MIN;
		memset(owner->ns, 0, sizeof(owner->ns));
		memset(owner->short_ns, 0, sizeof(owner->short_ns));
		owner->is_dirty = true;
	}
	sums->mark.end_ns = INT64_MIN;
}

/* 0, or 1: the basis was another one, and all has to be summed again. */
static int pass(struct wt_ledger_sums *sums, int64_t from_ns, int64_t until_ns)
{
	int64_t basis;
	int rc = find_devices_at_work(sums);

	sums->clock_error_ns = clock_error_of(&sums->mark);
	if (!rc)
		rc = load_facts(sums);
	if (rc)
		return rc;
	basis = basis_of(sums, from_ns, sums->clock_error_ns);
	if (sums->mark.from_ns != INT64_MIN && sums->mark.basis != basis)
		return 1;
	sums->mark.basis = basis;
	sums->mark.from_ns = from_ns;
	sums->left_exec = sums->low_entry_ns = INT64_MAX;
	sums->source.facts = sums->facts;
	sums->source.clock_error_ns = sums->clock_error_ns;
	rc = wt_ledger_sums_read(sums, until_ns, take);
	if (!rc && clock_error_of(&sums->mark) != sums->clock_error_ns)
		return 1;
	return rc ? rc : leave_behind(sums, until_ns);
}

/*
 * Rows whose launch is not known yet may come to have one. And a kernel that never comes may have run from its
 * launch on, give or take the clock error.
 */
static int64_t linked_until_ns(const struct wt_ledger_sums *sums, int64_t until_ns)
{
	int64_t first_ns;

	if (until_ns == INT64_MAX)
		return until_ns;
	first_ns = wt_db_int(sums->db, "SELECT min(start_ns) FROM main.kernel_exec WHERE link = 0",
	                     INT64_MAX);
	return (first_ns < until_ns ? first_ns : until_ns) - 2 * clock_error_of(&sums->mark);
}

int wt_ledger_sums_advance(struct wt_ledger_sums *sums, int64_t until_ns)
{
	int64_t from_ns, end_ns;
	int rc = wt_ledger_span(sums->db, &from_ns, &end_ns);

	if (rc <= 0)
		return rc;
	sums->why_not = wt_ledger_sums_obstacle(sums);
	if (sums->why_not)
		return 0;
	rc = find_late_facts(sums);
	if (!rc)
		rc = read_clock(sums);
	if (rc)
		return rc;
	forget_last_gaps(sums);
	until_ns = linked_until_ns(sums, until_ns);
	rc = sums->mark.is_late ? 1 : pass(sums, from_ns, until_ns);
	/* From the beginning: once for another basis or for what came late, once more for launches ahead of kernels. */
	for (int i = 0; i < 3 && (rc == 1 || (!rc && !i && sums->mark.is_late)); i++) {
		int64_t lead_ns = sums->mark.lead_ns;

		wt_ledger_sums_reset(sums);
		sums->mark.lead_ns = lead_ns;
		rc = read_clock(sums);
		if (!rc)
			rc = pass(sums, from_ns, until_ns);
	}
	if (rc == 1 || (!rc && sums->mark.is_late))
		sums->why_not = WT_LEDGER_TOO_LATE;
	else if (!rc && until_ns == INT64_MAX)
		rc = finish(sums, end_ns);
	return rc == 1 ? 0 : rc;
}
