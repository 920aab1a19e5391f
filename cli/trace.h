/*
 * trace.h - a writer of traces that ui.perfetto.dev and its trace_processor open: tracks, slices on
 * them, values of counters, flows from one slice to another.
 *
 * The format is Perfetto's own, a stream of TracePacket (protocol buffers), and not the older JSON of
 * trace events, since
 *  - its times are integers of ns. In JSON they are microseconds in a double, and a time of
 *    CLOCK_REALTIME to the ns has 61 bits: it would be rounded to 256 ns
 *  - names are written once and then meant by a number: a kernel takes a fifth of its JSON
 *  - tracks have parents, counters units, and flows end at one slice for certain
 *  - packets are written one after the other, and a file that was cut opens up to there
 * The few messages that are needed are written by cli/proto.h; doc/trace.md has the layout.
 *
 * All times are of one clock, CLOCK_REALTIME, which the trace declares its own, so that readers show
 * what the run file has. Slices on one track must lie one after the other or within one another:
 * cli/trace_row.h sees to that.
 *
 * The first failure (memory, file) stays in `error`; write without checks. Single-threaded; blocks as
 * the sink does.
 */
#ifndef WT_CLI_TRACE_H
#define WT_CLI_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/map.h"
#include "cli/proto.h"
#include "cli/sink.h"

/* What is told of slices; the texts are in trace.c. */
enum wt_trace_note {
	WT_NOTE_NONE,
	WT_NOTE_EXEC_ID,
	WT_NOTE_KERNEL,
	WT_NOTE_KERNEL_ID,
	WT_NOTE_CONFIG_ID,
	WT_NOTE_GRID,
	WT_NOTE_BLOCK,
	WT_NOTE_CLUSTER,
	WT_NOTE_REGS,
	WT_NOTE_SMEM,
	WT_NOTE_WAVES,
	WT_NOTE_BLOCKS_PER_SM,
	WT_NOTE_OCCUPANCY,
	WT_NOTE_LIMITER,
	WT_NOTE_UNDERFILL,
	WT_NOTE_WAVE,
	WT_NOTE_WAVE_MAX,
	WT_NOTE_UNJUDGED_REASON,
	WT_NOTE_MEASURED_SMS,
	WT_NOTE_EVIDENCE,
	WT_NOTE_LATENCY,
	WT_NOTE_LINK,
	WT_NOTE_GRAPH_ID,
	WT_NOTE_GRAPH_NODE_ID,
	WT_NOTE_SEQ,
	WT_NOTE_RESULT,
	WT_NOTE_FLAGS,
	WT_NOTE_BYTES,
	WT_NOTE_HANDLE,
	WT_NOTE_STREAM,
	WT_NOTE_FROM,
	WT_NOTE_TO,
	WT_NOTE_IS_ASYNC,
	WT_NOTE_COPY_ID,
	WT_NOTE_KERNELS,
	WT_NOTE_LAUNCHES,
	WT_NOTE_KIND,
	WT_NOTE_BUSY,
	WT_NOTE_DOMAIN,
	WT_NOTE_RANGE_ID,
	WT_NOTE_NEVER_ENDED,
	WT_NOTE_END_TID,
	WT_NOTE_GAP_SM_NS,
	WT_NOTE_NEXT_KERNEL,
	WT_NOTE_NEXT_EXEC,
	WT_NOTE_CAUSE_COPY, /* and the other causes, in the order of enum wt_gap_cause */
	WT_NOTE_MAX = WT_NOTE_CAUSE_COPY + 14
};

/* Categories of slices. */
enum wt_trace_category {
	WT_CATEGORY_NONE,
	WT_CATEGORY_KERNEL,
	WT_CATEGORY_LAUNCH,
	WT_CATEGORY_GRAPH,
	WT_CATEGORY_WAIT,
	WT_CATEGORY_CALL,
	WT_CATEGORY_COPY,
	WT_CATEGORY_GAP,
	WT_CATEGORY_STEP,
	WT_CATEGORY_RANGE,
	WT_CATEGORY_OVERHEAD,
	WT_CATEGORY_RUN,
	WT_CATEGORY_MAX
};

/* Texts that are written once. */
enum wt_trace_text { WT_TRACE_NAME, WT_TRACE_TEXT, WT_TRACE_TEXT_MAX };

struct wt_trace_strings {
	struct wt_map at; /* hash -> index */
	char **texts; /* index + 1 is the number in the trace */
	size_t count;
};

struct wt_trace {
	struct wt_sink *sink;
	struct wt_proto packet, interned;
	struct wt_trace_strings strings[WT_TRACE_TEXT_MAX];
	uint64_t tracks;
	int64_t slices, values; /* written */
	size_t event_at; /* where the event began in `packet` */
	bool is_within; /* notes go into notes */
	int error;
};

/* A point in time on clocks; 0: not known. */
struct wt_trace_clocks {
	int64_t realtime_ns, monotonic_ns, boot_ns;
};

/* The sink is the caller's. Writes what comes first. */
void wt_trace_init(struct wt_trace *trace, struct wt_sink *sink,
                   const struct wt_trace_clocks *clocks);
void wt_trace_fini(struct wt_trace *trace);

/* The number of a text in the trace, from 1. Bytes that are no UTF-8 become U+FFFD. */
uint64_t wt_trace_text(struct wt_trace *trace, enum wt_trace_text kind, const char *text);

struct wt_trace_track {
	uint64_t parent; /* 0: none */
	const char *name, *description; /* NULL: none */
	int rank; /* among those of the same parent: lower ones are above */
	bool is_process, is_thread, is_counter;
	int64_t pid, tid;
	const char *process_name, *command;
	const char *unit; /* of a counter; NULL: a count */
};

/* Its number, from 1. */
uint64_t wt_trace_track(struct wt_trace *trace, const struct wt_trace_track *track);

struct wt_trace_slice {
	uint64_t track;
	int64_t start_ns;
	uint64_t name; /* wt_trace_text() */
	enum wt_trace_category category;
	uint64_t flow_from, flow_to; /* numbers of flows that begin, and end, at it; 0: none */
};

/* Begins a slice; notes follow, then wt_trace_slice_done(). Its end is written apart. */
void wt_trace_slice(struct wt_trace *trace, const struct wt_trace_slice *slice);
void wt_trace_note_int(struct wt_trace *trace, enum wt_trace_note note, int64_t value);
void wt_trace_note_double(struct wt_trace *trace, enum wt_trace_note note, double value);
void wt_trace_note_text(struct wt_trace *trace, enum wt_trace_note note, uint64_t text);
/* Under a key of its own, for what comes once; `text` NULL: left out. */
void wt_trace_note_key_int(struct wt_trace *trace, const char *key, int64_t value);
void wt_trace_note_key_double(struct wt_trace *trace, const char *key, double value);
void wt_trace_note_key_text(struct wt_trace *trace, const char *key, const char *text);
/* Notes with keys up to the end belong to `key`; one level. */
size_t wt_trace_notes_begin(struct wt_trace *trace, const char *key);
void wt_trace_notes_end(struct wt_trace *trace, size_t at);
void wt_trace_slice_done(struct wt_trace *trace);
void wt_trace_slice_end(struct wt_trace *trace, uint64_t track, int64_t end_ns);

void wt_trace_value_int(struct wt_trace *trace, uint64_t track, int64_t time_ns, int64_t value);
void wt_trace_value_double(struct wt_trace *trace, uint64_t track, int64_t time_ns, double value);

#endif /* WT_CLI_TRACE_H */
