/*
 * trace_row.h - slices of one kind as tracks of a trace: on one track they lie one after the other (or,
 * of a thread, within one another); what overlaps otherwise goes to a further track beside it. So
 * kernels that run beside each other on one stream (programmatic launches, branches of graphs) are all
 * seen, each with its own times.
 *
 * Slices come in the order of their starts, of equal ones the longer first. Ends are written when a
 * later slice needs the place, and by wt_trace_row_finish(). Single-threaded; blocks as the trace does.
 */
#ifndef WT_CLI_TRACE_ROW_H
#define WT_CLI_TRACE_ROW_H

#include "cli/trace.h"

#define WT_TRACE_LANES_MAX 256 /* a GPU runs 128 kernels at once */

struct wt_trace_lane {
	uint64_t track;
	int64_t *ends; /* of what is open, the innermost last */
	size_t depth, room;
};

struct wt_trace_row {
	struct wt_trace *trace;
	uint64_t parent;
	uint64_t
	        first_track; /* that is there already, and the parent of those beside it; 0: made */
	const char *name, *description; /* of the first; others have a number behind it */
	int rank;
	bool nests;
	struct wt_trace_lane *lanes;
	size_t lane_count;
	int64_t refused; /* no track was left for them */
};

/*
 * The track for a slice; 0: there is none, and it is counted. Its start is then to be written. `name`
 * must live until it has been written.
 */
uint64_t wt_trace_row_place(struct wt_trace_row *row, int64_t start_ns, int64_t end_ns);
/* Writes the ends of what is open, and frees the lanes. */
void wt_trace_row_finish(struct wt_trace_row *row);

#endif /* WT_CLI_TRACE_ROW_H */
