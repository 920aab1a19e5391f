/*
 * ledger_facts.c - see ledger_facts.h. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/ledger_facts.h"
#include "schema/wt_api.h"
#include "schema/wt_db.h"

struct fact {
	int64_t process_id;
	uint64_t key;
	struct wt_interval interval;
	enum wt_fact_kind kind;
};

/* Neighbours in `intervals` that belong together. */
struct group {
	int64_t process_id;
	uint64_t key;
	size_t first, count;
	enum wt_fact_kind kind;
};

struct process {
	int64_t process_id;
	int64_t first_launch_ns;
	bool has_devices; /* more than one */
};

struct wt_facts {
	struct process *processes; /* by process_id */
	size_t process_count;
	struct wt_interval *intervals;
	struct group *groups;
	size_t group_count;
	struct wt_fact_graph_launch *graph_launches;
	size_t graph_launch_count;
};

/* The statements below name kinds and classes by these numbers. */
_Static_assert(WT_API_CLASS_GRAPH == 2 && WT_API_CLASS_SYNC == 4 && WT_API_CLASS_DEPEND == 5 &&
                       WT_API_CLASS_ALLOC == 7 && WT_API_CLASS_MODULE == 8,
               "classes as stored");
_Static_assert(WT_FACT_COPY == 0 && WT_FACT_LOAD == 1 && WT_FACT_PROFILER == 2 &&
                       WT_FACT_SYNC == 3 && WT_FACT_ALLOC == 4 && WT_FACT_DEPEND == 5 &&
                       WT_FACT_LOST_CALL == 6 && WT_FACT_LOST == 7,
               "kinds as in the statements");

/*
 * Calls `c` that were captured into a graph, and so did nothing then: the stream was in capture (flag 4),
 * or some capture was open (8) that this thread had begun: its stream joined it. Begun by entries below 76.
 */
#define WITH_CAPTURES                                                                              \
	"WITH capture AS MATERIALIZED (SELECT process_id, tid, api, entry_ns AS from_ns,"          \
	" lead(return_ns) OVER (PARTITION BY process_id, tid ORDER BY entry_ns) AS to_ns"          \
	" FROM call_row WHERE api BETWEEN 70 AND 77 AND call_id >= ?4)"
#define WAS_CAPTURED                                                                               \
	"(c.flags & 4 OR (c.flags & 8 AND EXISTS (SELECT 1 FROM capture x WHERE x.api < 76"        \
	" AND x.process_id = c.process_id AND x.tid = c.tid AND x.from_ns <= c.entry_ns"           \
	" AND ifnull(x.to_ns > c.entry_ns, 1))))"

/*
 * kind, process, key, start, end. Entries from 130 on build graphs, MODULE entries below load code
 * (wt_hooks.def). The key of a dependency is wt_fact_stream_key(). Overhead types are
 * CUpti_ActivityOverheadKind: 1 compiler, 4 and 5 << 16 module and function loading; 1 to 3 and
 * 7 << 16 CUPTI's own work, and what --profile does before and after a launch call; the call itself is
 * between them (flag 128).
 */
static const char facts_sql[] = WITH_CAPTURES
        "SELECT 0, 0, device_id, start_ns, end_ns FROM copy"
        " WHERE copy_id >= ?2 AND device_id IS NOT NULL AND end_ns > start_ns"
        " UNION ALL SELECT CASE a.class WHEN 4 THEN 3 WHEN 7 THEN 4 WHEN 5 THEN 5"
        "  ELSE iif(c.api < 130, 1, 4) END, c.process_id,"
        " CASE WHEN a.class = 8 AND c.api < 130 THEN 0"
        "  WHEN a.class = 5 AND c.handle BETWEEN 0 AND 2 THEN ~(c.thread32 * 4 + c.handle)"
        "  WHEN a.class = 5 THEN c.handle ELSE c.thread32 END,"
        " c.entry_ns, max(c.return_ns, c.entry_ns + 1)"
        " FROM call_row c JOIN api a USING (api) WHERE c.call_id >= ?1 AND (a.class IN (4, 7, 8)"
        " OR (a.class = 5 AND c.result = 0 AND NOT " WAS_CAPTURED "))"
        " UNION ALL SELECT iif(type IN (1, 262144, 327680), 1, 2), process_id,"
        " iif(type IN (1, 262144, 327680), 0, thread32), start_ns, end_ns FROM overhead"
        " WHERE overhead_id >= ?3"
        " AND type IN (1, 65536, 131072, 196608, 262144, 327680, 458752) AND end_ns > start_ns";

/* What --profile does, where it was asked for. */
static const char profiled_sql[] =
        "SELECT 2, process_id, thread32, entry_ns, return_ns FROM launch_row"
        " WHERE flags & 128 AND return_ns > entry_ns";
/*
 * Launches that went well, not into a graph, and have no kernel with a time; graph launches of
 * processes that lost kernels. Asked for only where something is lost. The key is that of the stream, the
 * interval that of the call.
 *
 * A profiled launch has a kernel without times, which is not lost: it ran while its thread was held up by
 * the profiler, from its call to the end of the overhead that begins where the call returned (kind 6).
 */
#define KERNELS_LOST                                                                               \
	"kernels_no_time - %s + kernels_dropped_ring + kernels_dropped_cupti + kernels_torn"
#define PROFILED                                                                                   \
	"min(kernels_no_time, ifnull((SELECT p.launches FROM main.profile_count p"                 \
	" WHERE p.process_id = loss.process_id), 0))"
static const char any_lost_sql[] =
        "SELECT 1 FROM loss WHERE launches_unlinked + launches_unobserved"
        " + launches_in_flight + kernels_no_time + kernels_dropped_ring + kernels_dropped_cupti"
        " + kernels_torn > 0 LIMIT 1";
static const char lost_sql[] = WITH_CAPTURES
        "SELECT iif(is_profiled, 6, 7), process_id,"
        " iif(stream BETWEEN 0 AND 2, ~(thread32 * 4 + stream), stream), entry_ns, return_ns FROM"
        " (SELECT c.process_id, c.stream, c.thread32, c.entry_ns, c.return_ns,"
        "   o.start_ns IS NOT NULL AS is_profiled FROM launch_row c"
        "  LEFT JOIN (SELECT process_id, launch_seq FROM kernel_row"
        "   WHERE graph_id IS NULL AND launch_seq IS NOT NULL AND start_ns IS NOT NULL) e"
        "  ON e.process_id = c.process_id AND e.launch_seq = c.seq"
        "  LEFT JOIN (SELECT DISTINCT process_id, thread32, start_ns FROM overhead"
        "   WHERE type = 131072) o ON o.process_id = c.process_id AND c.flags & 128"
        "   AND o.thread32 = c.thread32 AND o.start_ns = c.return_ns"
        "  WHERE c.result = 0 AND e.launch_seq IS NULL AND c.entry_ns >= %lld AND NOT " WAS_CAPTURED
        " UNION ALL SELECT c.process_id, c.handle, c.thread32, c.entry_ns, c.return_ns, 0"
        "  FROM call_row c JOIN api a USING (api) JOIN loss USING (process_id)"
        "  WHERE a.class = 2 AND c.result = 0 AND c.entry_ns >= %lld AND " KERNELS_LOST " > 0)";

/* The same where nothing is lost but launches whose kernels may come yet, or never: of each process the last ones. */
static const char open_sql[] = WITH_CAPTURES
        ", open AS MATERIALIZED (SELECT process_id, link_low_seq, link_low_exec FROM proc"
        "  JOIN loss USING (process_id) WHERE launches_in_flight > 0)"
        "SELECT 7, c.process_id,"
        " iif(c.stream BETWEEN 0 AND 2, ~(c.thread32 * 4 + c.stream), c.stream), c.entry_ns,"
        " c.return_ns FROM open o CROSS JOIN launch_row c ON c.process_id = o.process_id"
        " AND c.seq >= o.link_low_seq"
        " LEFT JOIN (SELECT process_id, launch_seq FROM kernel_row WHERE exec_id >="
        "   (SELECT min(link_low_exec) FROM open) AND graph_id IS NULL AND launch_seq IS NOT NULL"
        "   AND start_ns IS NOT NULL) e ON e.process_id = c.process_id AND e.launch_seq = c.seq"
        " WHERE c.result = 0 AND e.launch_seq IS NULL AND NOT " WAS_CAPTURED;

/*
 * Calls after which a kernel of before has surely ended: waits for a stream (3; the key is the
 * stream's), and for the context of a process that has only one (7). Not waits for events, which may
 * be older, nor copies.
 */
static const char waits_sql[] =
        "SELECT iif(api IN (41, 42), 3, 7), process_id, CASE WHEN api IN (40, 50) THEN 0"
        "  WHEN handle BETWEEN 0 AND 2 THEN ~(thread32 * 4 + handle) ELSE handle END,"
        " entry_ns, return_ns FROM call_row c"
        " WHERE call_id >= ?1 AND result = 0 AND (api IN (41, 42) OR (api IN (40, 50) AND"
        "  (SELECT count(*) FROM main.context x WHERE x.process_id = c.process_id) <= 1))";

static const char processes_sql[] =
        "SELECT p.process_id, max(p.first_ns, coalesce(p.armed_ns, p.first_ns)),"
        " (SELECT count(DISTINCT c.device_id) FROM main.config_stat s JOIN config c USING "
        "(config_id)"
        "  WHERE s.process_id = p.process_id) FROM proc p ORDER BY p.process_id";

static const char graphs_sql[] =
        "SELECT c.process_id, c.seq, c.entry_ns, c.return_ns, c.handle, c.thread32, c.api"
        " FROM call_row c JOIN api a USING (api)"
        " WHERE c.call_id >= ?1 AND a.class = 2 AND c.seq IS NOT NULL"
        " ORDER BY c.process_id, c.seq";

static int compare_i64(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_key(enum wt_fact_kind kind, int64_t process_id, uint64_t key,
                       enum wt_fact_kind other_kind, int64_t other_process, uint64_t other_key)
{
	if (kind != other_kind)
		return kind < other_kind ? -1 : 1;
	if (process_id != other_process)
		return compare_i64(process_id, other_process);
	return key < other_key ? -1 : key > other_key;
}

static int by_group(const void *left, const void *right)
{
	const struct fact *a = left, *b = right;
	int order = compare_key(a->kind, a->process_id, a->key, b->kind, b->process_id, b->key);

	return order ? order : compare_i64(a->interval.start_ns, b->interval.start_ns);
}

/* An array that doubles. */
static int grow(void *array_at, size_t count, size_t *capacity, size_t element_bytes)
{
	void **array = array_at;
	void *grown;

	if (count < *capacity)
		return 0;
	*capacity = *capacity ? 2 * *capacity : 1024;
	grown = reallocarray(*array, *capacity, element_bytes);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	return 0;
}

/* Facts so far; grows. */
struct fact_list {
	struct fact *at;
	size_t count, capacity;
};

static int add_fact(struct fact_list *list, const struct fact *fact)
{
	int rc = grow(&list->at, list->count, &list->capacity, sizeof(*fact));

	if (!rc)
		list->at[list->count++] = *fact;
	return rc;
}

/* Parameters are those of the statements that have them: 1 to 4. */
static void bind_from(sqlite3_stmt *s, const struct wt_facts_from *from)
{
	const int64_t ids[] = {from->call_id, from->copy_id, from->overhead_id, from->capture_id};

	for (int i = 0; i < (int)(sizeof(ids) / sizeof(ids[0])); i++)
		sqlite3_bind_int64(s, i + 1, ids[i]);
}

static int read_facts(sqlite3 *db, const char *sql, const struct wt_facts_from *from,
                      struct fact_list *list)
{
	sqlite3_stmt *s;
	int rc = wt_db_prepare(db, sql, &s);

	if (rc)
		return rc;
	bind_from(s, from);
	while ((rc = wt_db_step(s)) > 0) {
		struct fact fact = {
		        .kind = (enum wt_fact_kind)sqlite3_column_int(s, 0),
		        .process_id = sqlite3_column_int64(s, 1),
		        .key = (uint64_t)sqlite3_column_int64(s, 2),
		        .interval = {sqlite3_column_int64(s, 3), sqlite3_column_int64(s, 4)}};

		rc = add_fact(list, &fact);
		if (rc)
			break;
	}
	sqlite3_finalize(s);
	return rc;
}

/* Each wait of a group ends when the first of it and those that began later does. */
static void set_first_ends(struct fact *waits, size_t count)
{
	for (size_t i = count; i-- > 1;) {
		struct fact *a = &waits[i - 1], *b = &waits[i];

		if (!compare_key(a->kind, a->process_id, a->key, b->kind, b->process_id, b->key) &&
		    b->interval.end_ns < a->interval.end_ns)
			a->interval.end_ns = b->interval.end_ns;
	}
}

/* When the first of these waits was over that began at since_ns or later; INT64_MAX: none did. */
static int64_t first_end_ns(const struct fact_list *waits, enum wt_fact_kind kind,
                            int64_t process_id, uint64_t key, int64_t since_ns)
{
	struct fact wanted = {process_id, key, {since_ns, since_ns}, kind};
	size_t low = 0, high = waits->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (by_group(&waits->at[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == waits->count || compare_key(waits->at[low].kind, waits->at[low].process_id,
	                                       waits->at[low].key, kind, process_id, key))
		return INT64_MAX;
	return waits->at[low].interval.end_ns;
}

/*
 * A kernel that was lost may have run from its launch until a wait was over that began after the call, for
 * its stream or all of its context; on whatever device. A wait that another thread had begun before, or
 * one for another stream, says nothing about it.
 */
static void set_lost_span(struct fact *lost, const struct fact_list *waits, int64_t clock_error_ns)
{
	int64_t since_ns = lost->interval.end_ns;
	int64_t stream_ns =
	        first_end_ns(waits, WT_FACT_SYNC, lost->process_id, lost->key, since_ns);
	int64_t context_ns = first_end_ns(waits, WT_FACT_LOST, lost->process_id, 0, since_ns);

	lost->interval.end_ns = stream_ns < context_ns ? stream_ns : context_ns;
	/* Calls are on the CPU's clock, and on the GPU's nothing may be missed. */
	if (__builtin_add_overflow(lost->interval.end_ns, clock_error_ns, &lost->interval.end_ns))
		lost->interval.end_ns = INT64_MAX;
	if (__builtin_sub_overflow(lost->interval.start_ns, clock_error_ns,
	                           &lost->interval.start_ns))
		lost->interval.start_ns = INT64_MIN;
	lost->process_id = 0;
	lost->key = 0;
}

static const struct wt_facts_from everything = {INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN};

/* Which launches: 0 or -errno, and none where nothing is lost. */
static int read_lost_calls(sqlite3 *db, const struct wt_facts_from *from, struct fact_list *list)
{
	char sql[sizeof(lost_sql) + sizeof(PROFILED) + 64];
	int64_t kept_ns = INT64_MIN;
	sqlite3_stmt *s;
	int rc = wt_db_prepare(db, any_lost_sql, &s);

	if (rc)
		return rc;
	rc = wt_db_step(s);
	sqlite3_finalize(s);
	if (rc <= 0)
		return rc;
	if (from != &everything)
		return read_facts(db, open_sql, from, list);
	/* Kernels of launches before were dropped (drop.h), not lost. */
	if (wt_db_has_table(db, "dropped"))
		kept_ns = wt_db_int(db, "SELECT max(last_ns) FROM main.dropped", kept_ns);
	snprintf(sql, sizeof(sql), lost_sql, kept_ns == INT64_MIN ? 0 : (long long)kept_ns,
	         kept_ns == INT64_MIN ? 0 : (long long)kept_ns,
	         wt_db_has_table(db, "profile_count") ? PROFILED : "0");
	return read_facts(db, sql, from, list);
}

static int read_lost(sqlite3 *db, int64_t clock_error_ns, const struct wt_facts_from *from,
                     struct fact_list *list)
{
	struct fact_list waits = {0};
	size_t first = list->count;
	int rc = read_lost_calls(db, from, list);

	if (rc || list->count == first)
		return rc;
	rc = read_facts(db, waits_sql, from, &waits);
	if (!rc && waits.count) {
		qsort(waits.at, waits.count, sizeof(*waits.at), by_group);
		set_first_ends(waits.at, waits.count);
	}
	for (size_t i = first, end = list->count; !rc && i < end; i++) {
		struct fact call = list->at[i];

		if (call.kind == WT_FACT_LOST_CALL)
			continue; /* profiled: it is known where the kernel was */
		call.kind = WT_FACT_LOST_CALL;
		set_lost_span(&list->at[i], &waits, clock_error_ns);
		rc = add_fact(list, &call);
	}
	free(waits.at);
	return rc;
}

/* Sorted facts become groups of united intervals. */
static int make_groups(struct wt_facts *facts, const struct fact *all, size_t count)
{
	size_t capacity = 0, used = 0;

	facts->intervals = calloc(count + 1, sizeof(*facts->intervals));
	if (!facts->intervals)
		return -ENOMEM;
	for (size_t i = 0; i < count;) {
		struct group group = {all[i].process_id, all[i].key, used, 0, all[i].kind};
		int rc = grow(&facts->groups, facts->group_count, &capacity, sizeof(group));

		if (rc)
			return rc;
		for (; i < count && compare_key(all[i].kind, all[i].process_id, all[i].key,
		                                group.kind, group.process_id, group.key) == 0;
		     i++)
			facts->intervals[group.first + group.count++] = all[i].interval;
		group.count = wt_intervals_unite(facts->intervals + group.first, group.count);
		used = group.first + group.count;
		facts->groups[facts->group_count++] = group;
	}
	return 0;
}

static int read_graph_launches(sqlite3 *db, const struct wt_facts_from *from,
                               struct wt_facts *facts)
{
	size_t capacity = 0;
	sqlite3_stmt *s;
	int rc = wt_db_prepare(db, graphs_sql, &s);

	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, from->call_id);
	while ((rc = wt_db_step(s)) > 0) {
		struct wt_fact_graph_launch launch = {
		        .process_id = sqlite3_column_int64(s, 0),
		        .seq = sqlite3_column_int64(s, 1),
		        .call = {.entry_ns = sqlite3_column_int64(s, 2),
		                 .return_ns = sqlite3_column_int64(s, 3),
		                 .stream = (uint64_t)sqlite3_column_int64(s, 4),
		                 .thread32 = (uint32_t)sqlite3_column_int64(s, 5),
		                 .api = (int32_t)sqlite3_column_int64(s, 6)}};

		rc = grow(&facts->graph_launches, facts->graph_launch_count, &capacity,
		          sizeof(launch));
		if (rc)
			break;
		facts->graph_launches[facts->graph_launch_count++] = launch;
	}
	sqlite3_finalize(s);
	return rc;
}

static int read_processes(sqlite3 *db, struct wt_facts *facts)
{
	size_t capacity = 0;
	sqlite3_stmt *s;
	int rc = wt_db_prepare(db, processes_sql, &s);

	if (rc)
		return rc;
	while ((rc = wt_db_step(s)) > 0) {
		struct process process = {.process_id = sqlite3_column_int64(s, 0),
		                          .first_launch_ns = sqlite3_column_int64(s, 1),
		                          .has_devices = sqlite3_column_int64(s, 2) > 1};

		if (sqlite3_column_type(s, 1) == SQLITE_NULL)
			process.first_launch_ns = INT64_MIN;
		rc = grow(&facts->processes, facts->process_count, &capacity, sizeof(process));
		if (rc)
			break;
		facts->processes[facts->process_count++] = process;
	}
	sqlite3_finalize(s);
	return rc;
}

static const struct process *find_process(const struct wt_facts *facts, int64_t process_id)
{
	size_t low = 0, high = facts->process_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (facts->processes[middle].process_id == process_id)
			return &facts->processes[middle];
		if (facts->processes[middle].process_id < process_id)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

int64_t wt_facts_first_launch_ns(const struct wt_facts *facts, int64_t process_id)
{
	const struct process *process = find_process(facts, process_id);

	return process ? process->first_launch_ns : INT64_MIN;
}

bool wt_facts_has_devices(const struct wt_facts *facts, int64_t process_id)
{
	const struct process *process = find_process(facts, process_id);

	return process && process->has_devices;
}

static int load(sqlite3 *db, int64_t clock_error_ns, const struct wt_facts_from *from,
                struct wt_facts **ret_facts)
{
	struct wt_facts *facts = calloc(1, sizeof(*facts));
	struct fact_list list = {0};
	int rc = facts ? read_facts(db, facts_sql, from, &list) : -ENOMEM;

	if (!rc && from == &everything)
		rc = read_facts(db, profiled_sql, from, &list);
	if (!rc)
		rc = read_lost(db, clock_error_ns, from, &list);
	if (!rc && list.count)
		qsort(list.at, list.count, sizeof(*list.at), by_group);
	if (!rc)
		rc = make_groups(facts, list.at, list.count);
	free(list.at);
	if (!rc)
		rc = read_graph_launches(db, from, facts);
	if (!rc)
		rc = read_processes(db, facts);
	if (rc) {
		wt_facts_free(facts);
		facts = NULL;
	}
	*ret_facts = facts;
	return rc;
}

int wt_facts_load(sqlite3 *db, int64_t clock_error_ns, struct wt_facts **ret_facts)
{
	return load(db, clock_error_ns, &everything, ret_facts);
}

int wt_facts_load_from(sqlite3 *db, int64_t clock_error_ns, const struct wt_facts_from *from,
                       struct wt_facts **ret_facts)
{
	return load(db, clock_error_ns, from, ret_facts);
}

void wt_facts_free(struct wt_facts *facts)
{
	if (!facts)
		return;
	free(facts->intervals);
	free(facts->groups);
	free(facts->graph_launches);
	free(facts->processes);
	free(facts);
}

struct wt_intervals wt_facts_find(const struct wt_facts *facts, enum wt_fact_kind kind,
                                  int64_t process_id, uint64_t key)
{
	size_t low = 0, high = facts->group_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct group *group = &facts->groups[middle];
		int order = compare_key(group->kind, group->process_id, group->key, kind,
		                        process_id, key);

		if (order == 0)
			return (struct wt_intervals){facts->intervals + group->first, group->count};
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return (struct wt_intervals){NULL, 0};
}

bool wt_facts_graph_launch(const struct wt_facts *facts, int64_t process_id, int64_t seq,
                           struct wt_fact_call *ret_call)
{
	size_t low = 0, high = facts->graph_launch_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct wt_fact_graph_launch *launch = &facts->graph_launches[middle];
		int order = launch->process_id != process_id
		                    ? compare_i64(launch->process_id, process_id)
		                    : compare_i64(launch->seq, seq);

		if (order == 0) {
			*ret_call = launch->call;
			return true;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

int wt_facts_each(const struct wt_facts *facts, enum wt_fact_kind kind,
                  int (*tell)(void *arg, int64_t process_id, uint64_t key,
                              const struct wt_intervals *set),
                  void *arg)
{
	for (size_t i = 0; i < facts->group_count; i++) {
		const struct group *group = &facts->groups[i];
		const struct wt_intervals set = {facts->intervals + group->first, group->count};
		int rc = group->kind == kind ? tell(arg, group->process_id, group->key, &set) : 0;

		if (rc)
			return rc;
	}
	return 0;
}

const struct wt_fact_graph_launch *wt_facts_graph_launches(const struct wt_facts *facts,
                                                           size_t *ret_count)
{
	*ret_count = facts->graph_launch_count;
	return facts->graph_launches;
}

uint64_t wt_facts_basis(const struct wt_facts *facts)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < facts->process_count; i++) {
		const struct process *p = &facts->processes[i];
		const uint64_t words[] = {(uint64_t)p->process_id, (uint64_t)p->first_launch_ns,
		                          p->has_devices};

		for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++)
			hash = (hash ^ words[k]) * UINT64_C(1099511628211);
	}
	return hash;
}
