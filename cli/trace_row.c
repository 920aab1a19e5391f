/*
 * trace_row.c - see trace_row.h. Single-threaded; blocks as the trace does.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/report_sql.h"
#include "cli/trace_row.h"

static void close_until(struct wt_trace_row *row, struct wt_trace_lane *lane, int64_t until_ns)
{
	while (lane->depth && lane->ends[lane->depth - 1] <= until_ns)
		wt_trace_slice_end(row->trace, lane->track, lane->ends[--lane->depth]);
}

static int push(struct wt_trace_lane *lane, int64_t end_ns)
{
	if (lane->depth == lane->room) {
		size_t room = lane->room ? 2 * lane->room : 4;
		int64_t *grown = reallocarray(lane->ends, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		lane->ends = grown;
		lane->room = room;
	}
	lane->ends[lane->depth++] = end_ns;
	return 0;
}

static struct wt_trace_lane *add_lane(struct wt_trace_row *row)
{
	struct wt_trace_track track = {.parent = row->parent,
	                               .name = row->name,
	                               .description = row->description,
	                               .rank = row->rank};
	struct wt_trace_lane *lane;
	char name[200];

	if (row->lane_count == WT_TRACE_LANES_MAX)
		return NULL;
	lane = wt_report_append(&row->lanes, &row->lane_count, sizeof(*lane));
	if (!lane) {
		row->trace->error = -ENOMEM;
		return NULL;
	}
	if (row->lane_count > 1) {
		snprintf(name, sizeof(name), "%.160s, beside (%zu)", row->name, row->lane_count);
		track.name = name;
		track.description = "what overlaps with slices of the tracks above";
		if (row->first_track)
			track.parent = row->first_track;
	}
	lane->track = row->lane_count == 1 && row->first_track ? row->first_track
	                                                       : wt_trace_track(row->trace, &track);
	return lane;
}

uint64_t wt_trace_row_place(struct wt_trace_row *row, int64_t start_ns, int64_t end_ns)
{
	struct wt_trace_lane *lane = NULL;

	for (size_t i = 0; i < row->lane_count && !lane; i++) {
		struct wt_trace_lane *at = &row->lanes[i];

		close_until(row, at, start_ns);
		if (!at->depth || (row->nests && at->ends[at->depth - 1] >= end_ns))
			lane = at;
	}
	if (!lane)
		lane = add_lane(row);
	if (!lane) {
		row->refused++;
		return 0;
	}
	if (push(lane, end_ns)) {
		row->trace->error = -ENOMEM;
		return 0;
	}
	return lane->track;
}

void wt_trace_row_finish(struct wt_trace_row *row)
{
	for (size_t i = 0; i < row->lane_count; i++) {
		close_until(row, &row->lanes[i], INT64_MAX);
		free(row->lanes[i].ends);
	}
	free(row->lanes);
	row->lanes = NULL;
	row->lane_count = 0;
}
