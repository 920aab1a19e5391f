/*
 * trace_spans.c - see trace_impl.h: what CUPTI says of waits and of its own overhead, and the named ranges
 * of the application, as tracks under their process. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/ranges.h"
#include "cli/report_sql.h"
#include "cli/trace_impl.h"
#include "schema/wt_db.h"

/* Rows of one track come one after the other: what tells one from the next. */
struct spans {
	struct wt_trace_work *work;
	bool is_open;
	size_t process_at;
	int64_t kind, tid;
	struct wt_trace_row row;
	char name[60];
};

static void close_spans(struct spans *spans)
{
	if (spans->is_open)
		wt_trace_row_finish(&spans->row);
	spans->work->refused += spans->row.refused;
	spans->row.refused = 0;
	spans->is_open = false;
}

/* The track of the row; name and the rest are set by the caller where it is new: true. */
static bool is_new_track(struct spans *spans, size_t process_at, int64_t kind, int64_t tid)
{
	if (spans->is_open && spans->process_at == process_at && spans->kind == kind &&
	    spans->tid == tid)
		return false;
	close_spans(spans);
	spans->is_open = true;
	spans->process_at = process_at;
	spans->kind = kind;
	spans->tid = tid;
	spans->row = (struct wt_trace_row){.trace = &spans->work->trace,
	                                   .parent = spans->work->processes[process_at].track,
	                                   .name = spans->name};
	return true;
}

/* Places a slice and begins it; false: it has no place. */
static bool begin(struct spans *spans, int64_t start_ns, int64_t end_ns,
                  enum wt_trace_category category, const char *name)
{
	struct wt_trace *trace = &spans->work->trace;
	struct wt_trace_slice slice = {.start_ns = start_ns, .category = category};

	slice.track = wt_trace_row_place(&spans->row, start_ns, end_ns);
	if (!slice.track)
		return false;
	slice.name = wt_trace_text(trace, WT_TRACE_NAME, name);
	wt_trace_slice(trace, &slice);
	return true;
}

/* Runs a statement whose first column is the process; each row goes to `put`. */
static int for_rows(struct spans *spans, const char *sql,
                    void (*put)(struct spans *spans, sqlite3_stmt *s, size_t process_at))
{
	struct wt_trace_work *work = spans->work;
	sqlite3_stmt *s;
	int rc = wt_trace_prepare(work, sql, &s);

	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		size_t at = wt_trace_process_at(work, sqlite3_column_int64(s, 0));

		if (at != SIZE_MAX)
			put(spans, s, at);
		if (work->trace.error)
			break;
	}
	close_spans(spans);
	sqlite3_finalize(s);
	return rc < 0 ? rc : work->trace.error;
}

/* ---- waits */

static const char *wait_name(int64_t type)
{
	static const char *const names[] = {"wait", "event wait", "stream waits for event",
	                                    "stream wait", "context wait"};

	return type > 0 && type < 5 ? names[type] : names[0];
}

static void put_wait(struct spans *spans, sqlite3_stmt *s, size_t process_at)
{
	struct wt_trace *trace = &spans->work->trace;
	int64_t stream = sqlite3_column_int64(s, 5);

	if (is_new_track(spans, process_at, 0, 0)) {
		snprintf(spans->name, sizeof(spans->name), "waits (CUPTI)");
		spans->row.description =
		        "synchronisation as CUPTI recorded it; it does not say of which thread";
		spans->row.rank = WT_RANK_WAITS;
	}
	if (!begin(spans, sqlite3_column_int64(s, 1), sqlite3_column_int64(s, 2), WT_CATEGORY_WAIT,
	           wait_name(sqlite3_column_int64(s, 3))))
		return;
	if (stream >= 0 && stream < UINT32_MAX)
		wt_trace_note_int(trace, WT_NOTE_STREAM, stream);
	wt_trace_slice_done(trace);
	spans->work->waits++;
}

int wt_trace_waits(struct wt_trace_work *work)
{
	struct spans spans = {.work = work};

	return for_rows(&spans,
	                "SELECT process_id, start_ns, end_ns, type, context_id, stream_id FROM"
	                " main.sync WHERE start_ns < ?2 AND end_ns >= ?1 AND end_ns >= start_ns AND"
	                " start_ns >= 0 ORDER BY process_id, start_ns, end_ns DESC, sync_id",
	                put_wait);
}

/* ---- CUPTI's overhead */

static const char *overhead_name(int64_t type)
{
	static const char *const names[] = {
	        "CUPTI",          "CUPTI buffer flush", "CUPTI instrumentation", "CUPTI resource",
	        "module loading", "function loading",   "command buffer full",   "CUPTI buffer",
	        "UVM activity"};

	if (type == 1)
		return "driver compiler";
	return type >= 0 && (type & 0xffff) == 0 && type >> 16 < 9 ? names[type >> 16] : names[0];
}

static void put_overhead(struct spans *spans, sqlite3_stmt *s, size_t process_at)
{
	if (is_new_track(spans, process_at, 0, 0)) {
		snprintf(spans->name, sizeof(spans->name), "overhead (CUPTI)");
		spans->row.description = "CUPTI's own work, compiling and loading, of all threads";
		spans->row.rank = WT_RANK_OVERHEAD;
	}
	if (begin(spans, sqlite3_column_int64(s, 1), sqlite3_column_int64(s, 2),
	          WT_CATEGORY_OVERHEAD, overhead_name(sqlite3_column_int64(s, 3))))
		wt_trace_slice_done(&spans->work->trace);
}

int wt_trace_overhead(struct wt_trace_work *work)
{
	struct spans spans = {.work = work};

	return for_rows(&spans,
	                "SELECT process_id, start_ns, end_ns, type FROM main.overhead WHERE"
	                " start_ns < ?2 AND end_ns >= ?1 AND end_ns >= start_ns AND start_ns >= 0"
	                " ORDER BY process_id, start_ns, end_ns DESC, overhead_id",
	                put_overhead);
}

/* ---- named ranges */

/* One that never ended is drawn to the end of its process. */
static const char ranges_sql[] =
        "SELECT r.process_id, r.start_ns, ifnull(r.end_ns, max(r.start_ns, ifnull(p.last_ns, 0)))"
        " AS until_ns, r.type, iif(r.type = 1, r.tid, 0) AS tid, n.name, n.domain, r.range_id,"
        " r.end_ns IS NULL, r.end_tid, r.tid FROM main.range_event r JOIN main.range_name n"
        " USING (name_id) JOIN main.proc p USING (process_id) WHERE r.start_ns < ?2 AND"
        " (r.end_ns IS NULL OR r.end_ns >= ?1 AND r.end_ns >= r.start_ns) AND r.start_ns >= 0"
        " ORDER BY r.process_id, r.type, 5, r.start_ns, until_ns DESC, r.range_id";

static void open_ranges(struct spans *spans, bool is_pushed, int64_t tid)
{
	if (is_pushed)
		snprintf(spans->name, sizeof(spans->name), "ranges of thread %" PRId64, tid);
	else
		snprintf(spans->name, sizeof(spans->name), "ranges, started and ended");
	spans->row.description = is_pushed ? "named ranges (NVTX) that the thread pushed and popped"
	                                   : "named ranges (NVTX) that need not nest";
	spans->row.nests = is_pushed;
	spans->row.rank = WT_RANK_RANGES;
}

static void put_range(struct spans *spans, sqlite3_stmt *s, size_t process_at)
{
	struct wt_trace *trace = &spans->work->trace;
	int64_t type = sqlite3_column_int64(s, 3), tid = sqlite3_column_int64(s, 4);
	const char *name = (const char *)sqlite3_column_text(s, 5);
	const char *domain = (const char *)sqlite3_column_text(s, 6);

	if (is_new_track(spans, process_at, type, tid))
		open_ranges(spans, type == WT_RUN_RANGE_PUSH, tid);
	if (!begin(spans, sqlite3_column_int64(s, 1), sqlite3_column_int64(s, 2), WT_CATEGORY_RANGE,
	           name ? name : "(no name)"))
		return;
	wt_trace_note_int(trace, WT_NOTE_RANGE_ID, sqlite3_column_int64(s, 7));
	if (domain && domain[0])
		wt_trace_note_text(trace, WT_NOTE_DOMAIN,
		                   wt_trace_text(trace, WT_TRACE_TEXT, domain));
	if (sqlite3_column_int(s, 8))
		wt_trace_note_int(trace, WT_NOTE_NEVER_ENDED, 1);
	else if (sqlite3_column_int64(s, 9) != sqlite3_column_int64(s, 10) &&
	         sqlite3_column_type(s, 9) != SQLITE_NULL)
		wt_trace_note_int(trace, WT_NOTE_END_TID, sqlite3_column_int64(s, 9));
	wt_trace_slice_done(trace);
	spans->work->ranges++;
}

int wt_trace_ranges(struct wt_trace_work *work)
{
	struct spans spans = {.work = work};

	return wt_run_has_ranges(work->db) ? for_rows(&spans, ranges_sql, put_range) : 0;
}
