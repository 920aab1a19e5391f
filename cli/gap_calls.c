/*
 * gap_calls.c - see gap_calls.h. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/gap_calls.h"
#include "cli/report_sql.h"

/* A hooked call of a thread. */
struct call {
	int64_t entry_ns, return_ns;
	int64_t reach_ns; /* latest return of the thread's calls up to this one */
	int32_t api;
};

/* Its calls, in order of entry. */
struct thread {
	size_t first, count;
	int64_t tid; /* -1: several that had the same thread32 */
};

struct api {
	int32_t api;
	char *name;
};

struct wt_gap_threads {
	struct call *calls;
	size_t call_count;
	struct thread *at;
	size_t count;
	struct wt_map thread_at; /* process and thread32 -> index */
	struct api *apis;
	size_t api_count;
};

/* How much of a row came before a kernel. */
struct wt_gap_before {
	size_t row;
	int64_t kernel_id, sm_ns;
};

const char *wt_gap_where_name(enum wt_gap_where where)
{
	static const char *const names[] = {"call", "own-code", "launched", "unknown", "end"};

	return where <= WT_GAP_IN_END ? names[where] : "";
}

/* ---- calls of threads */

static uint64_t thread_key(int64_t process_id, uint32_t thread32)
{
	return (uint64_t)process_id << 32 | thread32;
}

static int take_call(struct wt_gap_threads *threads, sqlite3_stmt *s)
{
	uint64_t key = thread_key(sqlite3_column_int64(s, 0), (uint32_t)sqlite3_column_int64(s, 1));
	struct call *call = wt_report_append(&threads->calls, &threads->call_count, sizeof(*call));
	uint32_t at = wt_map_get(&threads->thread_at, key);
	int64_t tid = sqlite3_column_int64(s, 5);
	struct thread *thread;

	if (!call)
		return -ENOMEM;
	call->entry_ns = sqlite3_column_int64(s, 2);
	call->return_ns = sqlite3_column_int64(s, 3);
	call->reach_ns = call->return_ns;
	call->api = (int32_t)sqlite3_column_int64(s, 4);
	if (at == WT_MAP_NONE) {
		thread = wt_report_append(&threads->at, &threads->count, sizeof(*thread));
		if (!thread || wt_map_set(&threads->thread_at, key, (uint32_t)threads->count - 1))
			return -ENOMEM;
		thread->first = threads->call_count - 1;
		thread->tid = tid;
	} else {
		thread = &threads->at[at];
		if (call[-1].reach_ns > call->reach_ns)
			call->reach_ns = call[-1].reach_ns;
		if (thread->tid != tid)
			thread->tid = -1;
	}
	thread->count++;
	return 0;
}

static int load_calls(struct wt_gap_threads *threads, sqlite3 *db)
{
	static const char sql[] =
	        "SELECT process_id, thread32, entry_ns, return_ns, api, tid FROM launch_call"
	        " UNION ALL SELECT process_id, thread32, entry_ns, return_ns, api, tid"
	        " FROM api_call ORDER BY 1, 2, 3";
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, sql, &s);

	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		rc = take_call(threads, s);
		if (rc)
			break;
	}
	sqlite3_finalize(s);
	return rc;
}

static const struct thread *find_thread(const struct wt_gap_threads *threads,
                                        const struct wt_ledger_row *row)
{
	uint32_t at =
	        wt_map_get(&threads->thread_at, thread_key(row->process_id, row->call.thread32));

	return at == WT_MAP_NONE ? NULL : &threads->at[at];
}

/*
 * The innermost call that the thread is in at time_ns, or NULL; *ret_until_ns: until when that
 * stays so, at the most.
 */
static const struct call *call_at(const struct wt_gap_threads *threads, const struct thread *thread,
                                  int64_t time_ns, int64_t *ret_until_ns)
{
	const struct call *calls = threads->calls + thread->first;
	size_t low = 0, high = thread->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (calls[middle].entry_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_until_ns = low < thread->count ? calls[low].entry_ns : INT64_MAX;
	/* Calls lie in each other where one makes another. */
	while (low > 0 && calls[low - 1].return_ns <= time_ns && calls[low - 1].reach_ns > time_ns)
		low--;
	if (low == 0 || calls[low - 1].return_ns <= time_ns)
		return NULL;
	if (calls[low - 1].return_ns < *ret_until_ns)
		*ret_until_ns = calls[low - 1].return_ns;
	return &calls[low - 1];
}

/* ---- rows */

/* Exact keys in two steps: who, and what. */
static struct wt_gap_call *row_of(struct wt_gap_calls *calls, const struct wt_gap_call *want,
                                  uint32_t thread_at)
{
	uint64_t who = (uint64_t)want->process_id << 32 | thread_at;
	uint32_t at = wt_map_get(&calls->row_at[0], who);
	int64_t *last_gap;
	uint64_t what;
	struct wt_gap_call *row;

	if (at == WT_MAP_NONE) {
		at = (uint32_t)calls->row_at[0].count;
		if (wt_map_set(&calls->row_at[0], who, at))
			return NULL;
	}
	what = (uint64_t)at << 32 | (uint64_t)want->where << 24 |
	       (uint64_t)(want->api & 0xfff) << 12 | (uint64_t)(want->launch_api & 0xfff);
	at = wt_map_get(&calls->row_at[1], what);
	if (at != WT_MAP_NONE)
		return &calls->rows[at];
	row = wt_report_append(&calls->rows, &calls->count, sizeof(*row));
	last_gap =
	        row ? wt_report_append(&calls->last_gap, &calls->last_gap_count, sizeof(*last_gap))
	            : NULL;
	if (!last_gap || wt_map_set(&calls->row_at[1], what, (uint32_t)calls->count - 1))
		return NULL;
	*row = *want;
	return row;
}

static int note_kernel(struct wt_gap_calls *calls, size_t row, int64_t kernel_id, int64_t sm_ns)
{
	uint64_t pair = (uint64_t)row << 32 | (uint32_t)kernel_id;
	uint32_t at = wt_map_get(&calls->kernel_at, pair);

	if (at == WT_MAP_NONE) {
		struct wt_gap_before *before =
		        wt_report_append(&calls->before, &calls->before_count, sizeof(*before));

		at = (uint32_t)calls->before_count - 1;
		if (!before || wt_map_set(&calls->kernel_at, pair, at))
			return -ENOMEM;
		before->row = row;
		before->kernel_id = kernel_id;
	}
	wt_report_add(&calls->before[at].sm_ns, sm_ns);
	return 0;
}

/* What the thread does from time_ns on, and until when. */
static int64_t find_part(const struct wt_gap_calls *calls, const struct thread *thread,
                         const struct wt_ledger_row *next, int64_t time_ns,
                         struct wt_gap_call *part)
{
	int64_t until_ns = INT64_MAX;
	const struct call *call;

	part->api = 0;
	if (!next || !next->has_call || !thread) {
		part->where = next ? WT_GAP_IN_UNKNOWN : WT_GAP_IN_END;
		return until_ns;
	}
	if (time_ns >= next->call.return_ns) {
		part->where = WT_GAP_IN_NONE;
		return until_ns;
	}
	call = call_at(calls->threads, thread, time_ns, &until_ns);
	part->where = call ? WT_GAP_IN_CALL : WT_GAP_IN_OWN_CODE;
	if (call)
		part->api = call->api;
	return until_ns < next->call.return_ns ? until_ns : next->call.return_ns;
}

static int add_part(struct wt_gap_calls *calls, const struct wt_ledger_gap *gap,
                    const struct wt_gap_facts *facts, const struct wt_gap_call *part,
                    uint32_t thread_at)
{
	struct wt_gap_call *row = row_of(calls, part, thread_at);
	int64_t ns[WT_GAP_CAUSE_MAX] = {0}, length_ns = facts->end_ns - facts->start_ns;
	size_t at;

	if (!row)
		return -ENOMEM;
	at = (size_t)(row - calls->rows);
	wt_gap_classify(facts, ns);
	for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++)
		wt_report_add(&row->cause_sm_ns[cause], ns[cause] * gap->device->sms);
	wt_report_add(&row->gap_sm_ns, length_ns * gap->device->sms);
	if (row->stream_id != part->stream_id)
		row->stream_id = -1;
	row->gaps += calls->last_gap[at] != calls->gap_number;
	calls->last_gap[at] = calls->gap_number;
	if (!gap->next)
		return 0;
	return note_kernel(calls, at, gap->next->kernel_id, length_ns * gap->device->sms);
}

static bool is_selected(const struct wt_gap_calls *calls, const struct wt_ledger_row *next)
{
	if (!calls->select || !calls->select->words.kernel)
		return true;
	return next && wt_map_get(&calls->selected, (uint64_t)next->kernel_id) != WT_MAP_NONE;
}

static int on_gap(void *arg, const struct wt_ledger_gap *gap)
{
	struct wt_gap_calls *calls = arg;
	const struct wt_ledger_row *next = gap->next;
	const struct thread *thread =
	        next && next->has_call ? find_thread(calls->threads, next) : NULL;
	struct wt_gap_facts facts = *gap->facts;
	struct wt_gap_call part = {
	        .process_id = next ? next->process_id : 0,
	        .pid = -1,
	        .tid = thread ? thread->tid : -1,
	        .stream_id = next ? next->stream_id : -1,
	        .launch_api = thread ? next->call.api : 0,
	        .kernel_id = -1,
	};
	int rc = 0;

	if (!is_selected(calls, next))
		return 0;
	calls->gap_number++;
	while (!rc && facts.start_ns < gap->facts->end_ns) {
		int64_t until_ns = find_part(calls, thread, next, facts.start_ns, &part);

		facts.end_ns = until_ns < gap->facts->end_ns ? until_ns : gap->facts->end_ns;
		rc = add_part(calls, gap, &facts, &part,
		              thread ? (uint32_t)(thread - calls->threads->at) : UINT32_MAX);
		facts.start_ns = facts.end_ns;
	}
	return rc;
}

/* ---- the whole */

static int load_selected(struct wt_gap_calls *calls, sqlite3 *db)
{
	sqlite3_stmt *s;
	int rc;

	if (!calls->select || !calls->select->words.kernel)
		return 0;
	rc = wt_report_prepare(db, "SELECT kernel_id FROM temp.wt_kernel", &s);
	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		rc = wt_map_set(&calls->selected, (uint64_t)sqlite3_column_int64(s, 0), 1);
		if (rc)
			break;
	}
	sqlite3_finalize(s);
	return rc;
}

static int on_begin(void *arg, sqlite3 *db, const struct wt_ledger *ledger)
{
	struct wt_gap_calls *calls = arg;
	int rc = load_selected(calls, db);

	(void)ledger;
	if (rc)
		return rc;
	calls->threads = calloc(1, sizeof(*calls->threads));
	return calls->threads ? load_calls(calls->threads, db) : -ENOMEM;
}

struct wt_ledger_observer wt_gap_calls_observer(struct wt_gap_calls *calls)
{
	return (struct wt_ledger_observer){.begin = on_begin, .gap = on_gap, .arg = calls};
}

static int load_names(struct wt_gap_threads *threads, sqlite3 *db)
{
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, "SELECT api, name FROM api", &s);

	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		struct api *api =
		        wt_report_append(&threads->apis, &threads->api_count, sizeof(*api));

		rc = api ? wt_report_copy_name(s, 1, &api->name) : -ENOMEM;
		if (rc)
			break;
		api->api = (int32_t)sqlite3_column_int64(s, 0);
	}
	sqlite3_finalize(s);
	return rc;
}

static const char *name_of(const struct wt_gap_threads *threads, int32_t api)
{
	for (size_t i = 0; api && threads && i < threads->api_count; i++)
		if (threads->apis[i].api == api)
			return threads->apis[i].name;
	return NULL;
}

static int load_pids(struct wt_gap_calls *calls, sqlite3 *db)
{
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, "SELECT process_id, pid FROM main.proc", &s);

	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0)
		for (size_t i = 0; i < calls->count; i++)
			if (calls->rows[i].process_id == sqlite3_column_int64(s, 0))
				calls->rows[i].pid = sqlite3_column_int64(s, 1);
	sqlite3_finalize(s);
	return rc;
}

static int by_time(const void *left, const void *right)
{
	const struct wt_gap_call *a = left, *b = right;

	if (a->gap_sm_ns != b->gap_sm_ns)
		return a->gap_sm_ns > b->gap_sm_ns ? -1 : 1;
	if (a->process_id != b->process_id)
		return a->process_id < b->process_id ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->where != b->where)
		return a->where < b->where ? -1 : 1;
	if (a->api != b->api)
		return a->api < b->api ? -1 : 1;
	return a->launch_api < b->launch_api ? -1 : a->launch_api > b->launch_api;
}

int wt_gap_calls_finish(struct wt_gap_calls *calls, sqlite3 *db)
{
	int rc = calls->threads ? load_names(calls->threads, db) : 0;

	if (!rc)
		rc = load_pids(calls, db);
	if (rc)
		return rc;
	for (size_t i = 0; i < calls->before_count; i++) {
		const struct wt_gap_before *before = &calls->before[i];
		struct wt_gap_call *row = &calls->rows[before->row];

		if (before->sm_ns <= row->kernel_sm_ns)
			continue;
		row->kernel_sm_ns = before->sm_ns;
		row->kernel_id = before->kernel_id;
	}
	for (size_t i = 0; i < calls->count; i++) {
		calls->rows[i].api_name = name_of(calls->threads, calls->rows[i].api);
		calls->rows[i].launch_api_name = name_of(calls->threads, calls->rows[i].launch_api);
	}
	if (calls->count)
		qsort(calls->rows, calls->count, sizeof(*calls->rows), by_time);
	return 0;
}

void wt_gap_calls_fini(struct wt_gap_calls *calls)
{
	if (calls->threads) {
		for (size_t i = 0; i < calls->threads->api_count; i++)
			free(calls->threads->apis[i].name);
		free(calls->threads->apis);
		free(calls->threads->calls);
		free(calls->threads->at);
		wt_map_fini(&calls->threads->thread_at);
	}
	free(calls->threads);
	free(calls->rows);
	free(calls->last_gap);
	free(calls->before);
	wt_map_fini(&calls->row_at[0]);
	wt_map_fini(&calls->row_at[1]);
	wt_map_fini(&calls->kernel_at);
	wt_map_fini(&calls->selected);
	memset(calls, 0, sizeof(*calls));
}
