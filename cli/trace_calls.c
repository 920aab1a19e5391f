/*
 * trace_calls.c - see trace_impl.h: the calls of each host thread, launches with the flows to their
 * kernels. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/report_sql.h"
#include "cli/trace_impl.h"
#include "schema/wt_api.h"

enum {
	CALL_PROCESS,
	CALL_TID,
	CALL_ENTRY,
	CALL_RETURN,
	CALL_API,
	CALL_SEQ,
	CALL_RESULT,
	CALL_FLAGS,
	CALL_BYTES,
	CALL_HANDLE,
	CALL_IS_LAUNCH,
};

/* The condition on processes goes in twice. */
static const char calls_sql[] =
        "SELECT * FROM (SELECT process_id, tid, entry_ns, return_ns, api, seq, result, flags,"
        " 0 AS bytes, stream, 1 AS is_launch FROM launch_call WHERE entry_ns < ?2 AND"
        " return_ns >= ?1 AND %s UNION ALL SELECT process_id, tid, entry_ns, return_ns, api, seq,"
        " result, flags, bytes, handle, 0 FROM api_call WHERE entry_ns < ?2 AND return_ns >= ?1"
        " AND %s) WHERE return_ns >= entry_ns AND entry_ns >= 0"
        " ORDER BY process_id, tid, entry_ns, return_ns DESC, is_launch, seq";

struct thread {
	size_t process_at;
	int64_t tid;
	bool is_open;
	struct wt_trace_row row;
	char name[40];
};

static void close_thread(struct wt_trace_work *work, struct thread *thread)
{
	if (!thread->is_open)
		return;
	wt_trace_row_finish(&thread->row);
	work->refused += thread->row.refused;
	thread->is_open = false;
}

static void open_thread(struct wt_trace_work *work, struct thread *thread, size_t process_at,
                        int64_t tid)
{
	const struct wt_trace_process *process = &work->processes[process_at];
	const struct wt_trace_track track = {.parent = process->track,
	                                     .is_thread = true,
	                                     .pid = process->shown_pid,
	                                     .tid = tid,
	                                     .rank = 10};

	close_thread(work, thread);
	thread->process_at = process_at;
	thread->tid = tid;
	thread->is_open = true;
	snprintf(thread->name, sizeof(thread->name), "thread %" PRId64, tid);
	thread->row = (struct wt_trace_row){.trace = &work->trace,
	                                    .first_track = wt_trace_track(&work->trace, &track),
	                                    .name = thread->name,
	                                    .nests = true};
}

static enum wt_trace_category category_of(unsigned api)
{
	switch (wt_api_class_of(api)) {
	case WT_API_CLASS_LAUNCH:
		return WT_CATEGORY_LAUNCH;
	case WT_API_CLASS_GRAPH:
		return WT_CATEGORY_GRAPH;
	case WT_API_CLASS_SYNC:
		return WT_CATEGORY_WAIT;
	default:
		return WT_CATEGORY_CALL;
	}
}

/* By the file's own numbers; of those that this version knows. */
static uint64_t name_of(struct wt_trace_work *work, int64_t api)
{
	const char *name = api > 0 ? wt_api_name((unsigned)api) : NULL;
	char text[40];

	if (!name) {
		snprintf(text, sizeof(text), "(call %" PRId64 ")", api);
		name = text;
	}
	return wt_trace_text(&work->trace, WT_TRACE_NAME, name);
}

/* 0: no kernel of it is in the trace. */
static uint64_t flow_of(const struct wt_trace_work *work, sqlite3_stmt *s, size_t process_at)
{
	int64_t seq = sqlite3_column_int64(s, CALL_SEQ);
	bool is_launch = sqlite3_column_int(s, CALL_IS_LAUNCH);

	if (sqlite3_column_type(s, CALL_SEQ) == SQLITE_NULL)
		return 0;
	if (!wt_trace_bits_get(is_launch ? &work->launched : &work->graph_launched, process_at,
	                       seq))
		return 0;
	return wt_trace_flow(process_at, seq, !is_launch);
}

static void note_call(struct wt_trace *trace, sqlite3_stmt *s)
{
	if (sqlite3_column_type(s, CALL_SEQ) != SQLITE_NULL)
		wt_trace_note_int(trace, WT_NOTE_SEQ, sqlite3_column_int64(s, CALL_SEQ));
	if (sqlite3_column_int64(s, CALL_RESULT))
		wt_trace_note_int(trace, WT_NOTE_RESULT, sqlite3_column_int64(s, CALL_RESULT));
	if (sqlite3_column_int64(s, CALL_FLAGS))
		wt_trace_note_int(trace, WT_NOTE_FLAGS, sqlite3_column_int64(s, CALL_FLAGS));
	if (sqlite3_column_int64(s, CALL_BYTES))
		wt_trace_note_int(trace, WT_NOTE_BYTES, sqlite3_column_int64(s, CALL_BYTES));
	if (sqlite3_column_int64(s, CALL_HANDLE))
		wt_trace_note_int(trace, WT_NOTE_HANDLE, sqlite3_column_int64(s, CALL_HANDLE));
}

static void put_call(struct wt_trace_work *work, struct thread *thread, sqlite3_stmt *s)
{
	struct wt_trace *trace = &work->trace;
	int64_t api = sqlite3_column_int64(s, CALL_API);
	struct wt_trace_slice slice = {.start_ns = sqlite3_column_int64(s, CALL_ENTRY),
	                               .flow_from = flow_of(work, s, thread->process_at),
	                               .category = category_of(api > 0 ? (unsigned)api : 0)};

	if (work->is_partial && sqlite3_column_int(s, CALL_IS_LAUNCH) && !slice.flow_from)
		return;
	slice.track = wt_trace_row_place(&thread->row, slice.start_ns,
	                                 sqlite3_column_int64(s, CALL_RETURN));
	if (!slice.track)
		return;
	slice.name = name_of(work, api);
	wt_trace_slice(trace, &slice);
	note_call(trace, s);
	wt_trace_slice_done(trace);
	work->calls++;
}

int wt_trace_calls(struct wt_trace_work *work)
{
	const char *condition = wt_trace_process_condition(work);
	char sql[sizeof(calls_sql) + 400];
	struct thread thread = {0};
	sqlite3_stmt *s;
	int rc;

	snprintf(sql, sizeof(sql), calls_sql, condition, condition);
	rc = wt_trace_prepare(work, sql, &s);
	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		size_t at = wt_trace_process_at(work, sqlite3_column_int64(s, CALL_PROCESS));
		int64_t tid = sqlite3_column_int64(s, CALL_TID);

		if (at == SIZE_MAX) {
			work->refused++;
			continue;
		}
		if (!thread.is_open || thread.process_at != at || thread.tid != tid)
			open_thread(work, &thread, at, tid);
		put_call(work, &thread, s);
		if (work->trace.error)
			break;
	}
	close_thread(work, &thread);
	sqlite3_finalize(s);
	return rc < 0 ? rc : work->trace.error;
}
