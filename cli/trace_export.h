/*
 * trace_export.h - a run, or a part of it, as a trace that ui.perfetto.dev opens (cli/trace.h;
 * doc/trace.md has what is in it).
 *
 * Rows stream from the run file, sorted by SQLite, which uses files where they are many. Memory grows
 * with kernel names, configurations, streams and threads; two bits for each launch in the trace; and
 * what the ledger takes for the causes of gaps (ledger.h). Single-threaded; blocks on files.
 */
#ifndef WT_CLI_TRACE_EXPORT_H
#define WT_CLI_TRACE_EXPORT_H

#include <stdint.h>

#include "cli/run_file.h"
#include "cli/select.h"
#include "cli/sink.h"

#define WT_TRACE_EVENTS_MAX 1000000 /* slices, if nothing else is asked for: some 200 MB */
#define WT_TRACE_EVENTS_LEAST 1000

struct wt_trace_query {
	const struct wt_run_file *run;
	const struct wt_select *select; /* applied (wt_select_apply) */
	int64_t max_events; /* slices at most, beside steps and holes of samples; the trace ends before there are more */
};

/*
 * Writes it, and says on stderr what was left out. An enum wt_exit, after a message but for failures of
 * the sink, which the caller closes and tells: WT_EXIT_FINE.
 */
int wt_trace_export(const struct wt_trace_query *query, struct wt_sink *sink);

#endif /* WT_CLI_TRACE_EXPORT_H */
