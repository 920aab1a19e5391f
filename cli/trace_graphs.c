/*
 * trace_graphs.c - see trace_impl.h: launches of graphs, as calls that flows may begin at, and as what ran
 * of each on a device. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <stdlib.h>

#include "cli/report_sql.h"
#include "cli/trace_impl.h"

/* Which of them are in the trace is known before kernels are written. */
int wt_trace_graph_calls(struct wt_trace_work *work)
{
	sqlite3_stmt *s;
	int rc = wt_trace_prepare(work,
	                          "SELECT process_id, seq FROM api_call WHERE seq IS NOT NULL AND"
	                          " entry_ns < ?2 AND return_ns >= ?1 AND return_ns >= entry_ns"
	                          " AND entry_ns >= 0",
	                          &s);

	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		size_t at = wt_trace_process_at(work, sqlite3_column_int64(s, 0));

		rc = at == SIZE_MAX ? 0
		                    : wt_trace_bits_set(&work->graph_called, at,
		                                        sqlite3_column_int64(s, 1));
		if (rc)
			break;
	}
	sqlite3_finalize(s);
	return rc;
}

static const char graphs_sql[] =
        "SELECT c.device_id, e.process_id, e.launch_seq, min(e.start_ns), max(e.end_ns), count(*),"
        " min(e.graph_id), min(e.stream_id) FROM kernel_exec e JOIN main.config c USING (config_id)"
        " WHERE e.graph_id IS NOT NULL AND e.launch_seq IS NOT NULL AND e.end_ns >= e.start_ns"
        " AND e.start_ns < ?2 AND e.end_ns >= ?1 AND e.start_ns >= 0"
        " GROUP BY 1, 2, 3 ORDER BY 1, 4, 5 DESC";

static void put_graph(struct wt_trace_work *work, struct wt_trace_row *row, sqlite3_stmt *s)
{
	struct wt_trace *trace = &work->trace;
	struct wt_trace_slice slice = {.start_ns = sqlite3_column_int64(s, 3),
	                               .category = WT_CATEGORY_GRAPH};

	slice.track = wt_trace_row_place(row, slice.start_ns, sqlite3_column_int64(s, 4));
	if (!slice.track)
		return;
	slice.name = wt_trace_text(trace, WT_TRACE_NAME, "graph launch");
	wt_trace_slice(trace, &slice);
	wt_trace_note_int(trace, WT_NOTE_GRAPH_ID, sqlite3_column_int64(s, 6));
	wt_trace_note_int(trace, WT_NOTE_SEQ, sqlite3_column_int64(s, 2));
	wt_trace_note_int(trace, WT_NOTE_KERNELS, sqlite3_column_int64(s, 5));
	wt_trace_note_int(trace, WT_NOTE_STREAM, sqlite3_column_int64(s, 7));
	wt_trace_slice_done(trace);
}

int wt_trace_graphs(struct wt_trace_work *work)
{
	struct wt_trace_row row = {0};
	size_t device_at = SIZE_MAX;
	sqlite3_stmt *s;
	int rc = wt_trace_prepare(work, graphs_sql, &s);

	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		size_t at = wt_trace_device_at(work, sqlite3_column_int64(s, 0));

		if (at == SIZE_MAX ||
		    wt_trace_process_at(work, sqlite3_column_int64(s, 1)) == SIZE_MAX)
			continue;
		if (at != device_at) {
			wt_trace_row_finish(&row);
			device_at = at;
			row = (struct wt_trace_row){
			        .trace = &work->trace,
			        .parent = work->devices[at].track,
			        .name = "graph launches",
			        .description = "from the start of the first kernel of a graph "
			                       "launch to the end of its last",
			        .rank = WT_RANK_GRAPHS,
			};
		}
		put_graph(work, &row, s);
		if (work->trace.error)
			break;
	}
	wt_trace_row_finish(&row);
	work->refused += row.refused;
	sqlite3_finalize(s);
	return rc < 0 ? rc : work->trace.error;
}
