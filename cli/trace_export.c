/*
 * trace_export.c - see trace_export.h: the parts of a trace in their order. Single-threaded; blocks on
 * files.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/report_sql.h"
#include "cli/text.h"
#include "cli/trace_impl.h"
#include "schema/wt_db.h"

int wt_trace_prepare(const struct wt_trace_work *work, const char *sql, sqlite3_stmt **ret)
{
	int rc = wt_report_prepare(work->db, sql, ret);

	if (rc)
		return rc;
	sqlite3_bind_int64(*ret, 1, work->low_ns);
	sqlite3_bind_int64(*ret, 2, work->high_ns);
	return 0;
}

/* Of a run without kernels: what its processes did. */
static int find_span(struct wt_trace_work *work)
{
	int rc = wt_select_span(work->db, &work->run_start_ns, &work->run_end_ns);

	if (rc)
		return rc < 0 ? rc : 0;
	work->run_start_ns = wt_db_int(work->db, "SELECT min(first_ns) FROM main.proc", 0);
	work->run_end_ns = wt_db_int(work->db, "SELECT max(last_ns) FROM main.proc", 0);
	return 0;
}

/* The window that was asked for, or the run. */
static int find_window(struct wt_trace_work *work)
{
	const struct wt_select *select = work->query->select;
	int rc = find_span(work);

	work->select = *select;
	work->has_window = select->is_applied && select->has_window;
	work->is_partial = select->is_applied && wt_select_is_partial(select);
	work->start_ns = work->has_window ? select->start_ns : work->run_start_ns;
	work->end_ns = work->has_window ? select->end_ns : work->run_end_ns;
	/* Of a whole run all rows are in it, also what came before the first launch. */
	work->low_ns = work->has_window ? work->start_ns : 0;
	work->high_ns = work->has_window ? work->end_ns : INT64_MAX;
	return rc;
}

/* The ledger is of the window of the trace, if that is less than the run. */
static void set_ledger_window(struct wt_trace_work *work)
{
	work->select.start_ns = work->start_ns;
	work->select.end_ns = work->end_ns;
	if (!work->is_cut)
		return;
	work->select.is_applied = true;
	work->select.has_window = true;
}

static void read_clocks(const struct wt_trace_work *work, struct wt_trace_clocks *clocks)
{
	sqlite3_stmt *s;

	clocks->realtime_ns = work->start_ns;
	if (wt_report_prepare(work->db,
	                      "SELECT realtime_ns, monotonic_ns, boot_ns FROM main.clock"
	                      " ORDER BY clock_id LIMIT 1",
	                      &s))
		return;
	if (wt_report_step(s) > 0) {
		clocks->realtime_ns = sqlite3_column_int64(s, 0);
		clocks->monotonic_ns = sqlite3_column_int64(s, 1);
		clocks->boot_ns = sqlite3_column_int64(s, 2);
	}
	sqlite3_finalize(s);
}

static int put_all(struct wt_trace_work *work)
{
	static int (*const parts[])(struct wt_trace_work *) = {
	        wt_trace_graph_calls, wt_trace_kernels,  wt_trace_graphs, wt_trace_ledger,
	        wt_trace_samples,     wt_trace_calls,    wt_trace_steps,  wt_trace_ranges,
	        wt_trace_waits,       wt_trace_overhead, wt_trace_about,
	};
	int rc = 0;

	work->no_time = wt_db_int(work->db, "SELECT total(kernels_no_time) FROM main.proc", 0);
	wt_progress_begin(
	        &work->progress, "export", "kernels",
	        work->is_cut || work->has_window
	                ? 0
	                : wt_db_int(work->db, "SELECT sum(kernels_stored) FROM main.proc", 0));
	for (size_t i = 0; !rc && i < sizeof(parts) / sizeof(parts[0]); i++)
		rc = parts[i](work);
	wt_progress_end(&work->progress);
	return rc;
}

/* What is not in it, in a word. */
static void tell(const struct wt_trace_work *work)
{
	char until[WT_TEXT_NUMBER_BYTES], whole[WT_TEXT_NUMBER_BYTES], count[WT_TEXT_NUMBER_BYTES];

	if (work->is_cut)
		wt_cli_error("the trace ends %s after the first launch, of %s: more than %s slices "
		             "may follow (--max-events); --from %" PRId64 "ns goes on there",
		             wt_text_ns(until, work->end_ns - work->run_start_ns),
		             wt_text_ns(whole, (work->has_window ? work->query->select->end_ns
		                                                 : work->run_end_ns) -
		                                       work->run_start_ns),
		             wt_text_count(count, work->query->max_events),
		             work->end_ns - work->run_start_ns);
	if (work->no_time)
		wt_cli_error("%s kernels of the run have no time and are not in the trace",
		             wt_text_count(count, work->no_time));
	if (work->refused)
		wt_cli_error("%s rows could not be drawn and are not in the trace",
		             wt_text_count(count, work->refused));
}

static int export_trace(struct wt_trace_work *work, struct wt_sink *sink)
{
	struct wt_trace_clocks clocks = {0};
	int rc = find_window(work);

	if (rc)
		return rc;
	if (work->end_ns <= work->start_ns)
		return -ENODATA;
	rc = wt_trace_plan(work);
	if (rc)
		return rc;
	set_ledger_window(work);
	read_clocks(work, &clocks);
	wt_trace_init(&work->trace, sink, &clocks);
	rc = wt_trace_load(work);
	return rc ? rc : put_all(work);
}

int wt_trace_export(const struct wt_trace_query *query, struct wt_sink *sink)
{
	const struct wt_run_file *run = query->run;
	struct wt_trace_work *work = calloc(1, sizeof(*work));
	int rc = work ? 0 : -ENOMEM;

	if (work) {
		work->query = query;
		work->db = run->db;
		rc = wt_report_note(run->db,
		                    sqlite3_exec(run->db, "SAVEPOINT trace", NULL, NULL, NULL));
	}
	if (!rc) {
		rc = export_trace(work, sink);
		if (!rc)
			tell(work);
	}
	if (rc == -ENODATA)
		wt_cli_error("run %s has nothing to export", run->info.id);
	else if (rc && !sink->error)
		wt_cli_error("%s: %s", run->info.path,
		             rc == -EIO ? wt_report_problem(run->db) : strerror(-rc));
	if (work) {
		wt_trace_fini(&work->trace);
		wt_trace_unload(work);
	}
	free(work);
	sqlite3_exec(run->db, "RELEASE trace", NULL, NULL, NULL);
	return rc == -ENODATA       ? WT_EXIT_NO_DATA
	       : rc && !sink->error ? WT_EXIT_FAILED
	                            : WT_EXIT_FINE;
}
