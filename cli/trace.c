/*
 * trace.c - see trace.h: packets. Single-threaded; blocks as the sink does.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/gap.h"
#include "cli/report_sql.h"
#include "cli/text.h"
#include "cli/trace.h"

/* Fields of Perfetto's messages, by its .proto files. */
enum { TRACE_PACKET = 1 };
enum {
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE_ID = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK_DESCRIPTOR = 60,
};
enum { SEQUENCE_CLEARED = 1, SEQUENCE_NEEDED = 2 }; /* flags */
enum { DEFAULTS_CLOCK_ID = 58 };
enum { SNAPSHOT_CLOCK = 1, SNAPSHOT_PRIMARY = 2, CLOCK_ID = 1, CLOCK_TIME = 2 };
enum { REALTIME = 1, MONOTONIC = 3, BOOTTIME = 6 }; /* numbers of clocks */
enum { INTERNED_CATEGORY = 1, INTERNED_NAME = 2, INTERNED_NOTE = 3, INTERNED_TEXT = 29 };
enum { INTERNED_ID = 1, INTERNED_STRING = 2 };
enum {
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8,
	TRACK_CHILD_ORDER = 11,
	TRACK_RANK = 12,
	TRACK_DESCRIPTION = 14,
	TRACK_MERGE = 15,
};
enum { ORDER_EXPLICIT = 3, MERGE_NONE = 2 };
enum { PROCESS_PID = 1, PROCESS_COMMAND = 2, PROCESS_NAME = 6 };
enum { THREAD_PID = 1, THREAD_TID = 2 };
enum { COUNTER_UNIT = 3, COUNTER_UNIT_NAME = 6, UNIT_COUNT = 2 };
enum {
	EVENT_CATEGORY = 3,
	EVENT_NOTE = 4,
	EVENT_TYPE = 9,
	EVENT_NAME = 10,
	EVENT_TRACK = 11,
	EVENT_INT = 30,
	EVENT_DOUBLE = 44,
	EVENT_FLOW = 47,
	EVENT_FLOW_END = 48,
};
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_COUNTER = 4 };
enum {
	NOTE_NAME_ID = 1,
	NOTE_INT = 4,
	NOTE_DOUBLE = 5,
	NOTE_STRING = 6,
	NOTE_NAME = 10,
	NOTE_ENTRIES = 11,
	NOTE_TEXT_ID = 17,
};

#define SEQUENCE 1 /* all packets are of one */

static const char *const note_names[WT_NOTE_CAUSE_COPY] = {
        [WT_NOTE_EXEC_ID] = "exec_id",
        [WT_NOTE_KERNEL] = "kernel",
        [WT_NOTE_KERNEL_ID] = "kernel_id",
        [WT_NOTE_CONFIG_ID] = "config_id",
        [WT_NOTE_GRID] = "grid",
        [WT_NOTE_BLOCK] = "block",
        [WT_NOTE_CLUSTER] = "cluster",
        [WT_NOTE_REGS] = "regs_per_thread",
        [WT_NOTE_SMEM] = "smem_bytes",
        [WT_NOTE_WAVES] = "waves",
        [WT_NOTE_BLOCKS_PER_SM] = "blocks_per_sm",
        [WT_NOTE_OCCUPANCY] = "occupancy",
        [WT_NOTE_LIMITER] = "limiter",
        [WT_NOTE_UNDERFILL] = "underfill_sm_ns",
        [WT_NOTE_WAVE] = "wave_sm_ns",
        [WT_NOTE_WAVE_MAX] = "wave_max_sm_ns",
        [WT_NOTE_UNJUDGED_REASON] = "unjudged_reason",
        [WT_NOTE_MEASURED_SMS] = "config_active_sms",
        [WT_NOTE_EVIDENCE] = "config_evidence",
        [WT_NOTE_LATENCY] = "latency_ns",
        [WT_NOTE_LINK] = "link",
        [WT_NOTE_GRAPH_ID] = "graph_id",
        [WT_NOTE_GRAPH_NODE_ID] = "graph_node_id",
        [WT_NOTE_SEQ] = "seq",
        [WT_NOTE_RESULT] = "result",
        [WT_NOTE_FLAGS] = "flags",
        [WT_NOTE_BYTES] = "bytes",
        [WT_NOTE_HANDLE] = "handle",
        [WT_NOTE_STREAM] = "stream_id",
        [WT_NOTE_FROM] = "from",
        [WT_NOTE_TO] = "to",
        [WT_NOTE_IS_ASYNC] = "is_async",
        [WT_NOTE_COPY_ID] = "copy_id",
        [WT_NOTE_KERNELS] = "kernels",
        [WT_NOTE_LAUNCHES] = "launches",
        [WT_NOTE_KIND] = "kind",
        [WT_NOTE_BUSY] = "busy_ns",
        [WT_NOTE_DOMAIN] = "domain",
        [WT_NOTE_RANGE_ID] = "range_id",
        [WT_NOTE_NEVER_ENDED] = "never_ended",
        [WT_NOTE_END_TID] = "end_tid",
        [WT_NOTE_GAP_SM_NS] = "gap_sm_ns",
        [WT_NOTE_NEXT_KERNEL] = "before_kernel",
        [WT_NOTE_NEXT_EXEC] = "before_exec_id",
};

static const char *const category_names[WT_CATEGORY_MAX] = {
        [WT_CATEGORY_KERNEL] = "kernel", [WT_CATEGORY_LAUNCH] = "launch",
        [WT_CATEGORY_GRAPH] = "graph",   [WT_CATEGORY_WAIT] = "wait",
        [WT_CATEGORY_CALL] = "call",     [WT_CATEGORY_COPY] = "copy",
        [WT_CATEGORY_GAP] = "gap",       [WT_CATEGORY_STEP] = "step",
        [WT_CATEGORY_RANGE] = "range",   [WT_CATEGORY_OVERHEAD] = "overhead",
        [WT_CATEGORY_RUN] = "run",
};

_Static_assert(WT_NOTE_MAX - WT_NOTE_CAUSE_COPY == WT_GAP_CAUSE_MAX, "a note for each cause");

/* ---- texts */

/* Its bytes, with U+FFFD for those that are no UTF-8. */
static void put_text(struct wt_proto *proto, uint32_t field, const char *text)
{
	size_t at = wt_proto_begin(proto, field), bytes = strlen(text);

	for (size_t i = 0, n; i < bytes && !proto->is_failed; i += n) {
		uint32_t code;

		n = wt_text_decode(text + i, bytes - i, &code);
		if (code == UINT32_MAX)
			wt_proto_raw(proto, "\xef\xbf\xbd", 3);
		else
			wt_proto_raw(proto, text + i, n);
	}
	wt_proto_end(proto, at);
}

static void intern(struct wt_trace *trace, uint32_t field, uint64_t id, const char *text)
{
	size_t at = wt_proto_begin(&trace->interned, field);

	wt_proto_uint(&trace->interned, INTERNED_ID, id);
	put_text(&trace->interned, INTERNED_STRING, text);
	wt_proto_end(&trace->interned, at);
}

static uint64_t hash_of(const char *text)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return hash;
}

uint64_t wt_trace_text(struct wt_trace *trace, enum wt_trace_text kind, const char *text)
{
	struct wt_trace_strings *strings = &trace->strings[kind];
	uint64_t hash = hash_of(text);
	char **room;
	uint32_t at;

	while ((at = wt_map_get(&strings->at, hash)) != WT_MAP_NONE) {
		if (!strcmp(strings->texts[at], text))
			return at + 1;
		hash++;
	}
	at = (uint32_t)strings->count;
	room = wt_report_append(&strings->texts, &strings->count, sizeof(*room));
	if (room)
		*room = strdup(text);
	if (!room || !*room || wt_map_set(&strings->at, hash, at)) {
		trace->error = trace->error ? trace->error : -ENOMEM;
		return 1;
	}
	intern(trace, kind == WT_TRACE_NAME ? INTERNED_NAME : INTERNED_TEXT, at + 1, text);
	return at + 1;
}

/* ---- packets */

static void begin_packet(struct wt_trace *trace)
{
	wt_proto_clear(&trace->packet);
}

/* With what was interned since the last one, on the file. */
static void put_packet(struct wt_trace *trace)
{
	struct wt_proto *packet = &trace->packet;
	uint8_t head[11] = {TRACE_PACKET << 3 | 2};
	size_t head_count;

	if (trace->interned.count)
		wt_proto_bytes(packet, PACKET_INTERNED_DATA, trace->interned.bytes,
		               trace->interned.count);
	if (packet->is_failed || trace->interned.is_failed)
		trace->error = trace->error ? trace->error : -ENOMEM;
	wt_proto_clear(&trace->interned);
	if (trace->error)
		return;
	head_count = 1 + wt_proto_varint(head + 1, packet->count);
	wt_sink_put(trace->sink, head, head_count);
	wt_sink_put(trace->sink, packet->bytes, packet->count);
	trace->error = trace->sink->error;
}

static void put_clock(struct wt_proto *packet, unsigned id, int64_t time_ns)
{
	size_t at;

	if (time_ns <= 0)
		return;
	at = wt_proto_begin(packet, SNAPSHOT_CLOCK);
	wt_proto_uint(packet, CLOCK_ID, id);
	wt_proto_int(packet, CLOCK_TIME, time_ns);
	wt_proto_end(packet, at);
}

/* One instant on the clocks that are known, so that traces of the same host can be laid side by side. */
static void put_clocks(struct wt_trace *trace, const struct wt_trace_clocks *clocks)
{
	struct wt_proto *packet = &trace->packet;
	size_t at;

	begin_packet(trace);
	wt_proto_uint(packet, PACKET_SEQUENCE_ID, SEQUENCE);
	at = wt_proto_begin(packet, PACKET_CLOCK_SNAPSHOT);
	put_clock(packet, REALTIME, clocks->realtime_ns);
	put_clock(packet, MONOTONIC, clocks->monotonic_ns);
	put_clock(packet, BOOTTIME, clocks->boot_ns);
	wt_proto_uint(packet, SNAPSHOT_PRIMARY, REALTIME);
	wt_proto_end(packet, at);
	put_packet(trace);
}

void wt_trace_init(struct wt_trace *trace, struct wt_sink *sink,
                   const struct wt_trace_clocks *clocks)
{
	struct wt_proto *packet = &trace->packet;
	size_t at;

	memset(trace, 0, sizeof(*trace));
	trace->sink = sink;
	put_clocks(trace, clocks);
	for (unsigned i = 1; i < WT_CATEGORY_MAX; i++)
		intern(trace, INTERNED_CATEGORY, i, category_names[i]);
	for (unsigned i = 1; i < WT_NOTE_CAUSE_COPY; i++)
		intern(trace, INTERNED_NOTE, i, note_names[i]);
	for (unsigned i = 0; i < WT_GAP_CAUSE_MAX; i++) {
		char text[40] = "";

		strncat(text, wt_gap_cause_name((enum wt_gap_cause)i), 30);
		strcat(text, "_ns");
		intern(trace, INTERNED_NOTE, WT_NOTE_CAUSE_COPY + i, text);
	}
	begin_packet(trace);
	wt_proto_uint(packet, PACKET_SEQUENCE_ID, SEQUENCE);
	wt_proto_uint(packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_CLEARED);
	at = wt_proto_begin(packet, PACKET_DEFAULTS);
	wt_proto_uint(packet, DEFAULTS_CLOCK_ID, REALTIME);
	wt_proto_end(packet, at);
	put_packet(trace);
}

void wt_trace_fini(struct wt_trace *trace)
{
	for (int kind = 0; kind < WT_TRACE_TEXT_MAX; kind++) {
		struct wt_trace_strings *strings = &trace->strings[kind];

		for (size_t i = 0; i < strings->count; i++)
			free(strings->texts[i]);
		free(strings->texts);
		wt_map_fini(&strings->at);
	}
	wt_proto_fini(&trace->packet);
	wt_proto_fini(&trace->interned);
}

/* ---- tracks */

static void put_owner(struct wt_proto *packet, const struct wt_trace_track *track)
{
	size_t at;

	if (track->is_process) {
		at = wt_proto_begin(packet, TRACK_PROCESS);
		wt_proto_int(packet, PROCESS_PID, track->pid);
		if (track->command)
			put_text(packet, PROCESS_COMMAND, track->command);
		if (track->process_name)
			put_text(packet, PROCESS_NAME, track->process_name);
		wt_proto_end(packet, at);
	} else if (track->is_thread) {
		at = wt_proto_begin(packet, TRACK_THREAD);
		wt_proto_int(packet, THREAD_PID, track->pid);
		wt_proto_int(packet, THREAD_TID, track->tid);
		wt_proto_end(packet, at);
	} else if (track->is_counter) {
		at = wt_proto_begin(packet, TRACK_COUNTER);
		if (track->unit)
			wt_proto_text(packet, COUNTER_UNIT_NAME, track->unit);
		else
			wt_proto_uint(packet, COUNTER_UNIT, UNIT_COUNT);
		wt_proto_end(packet, at);
	}
}

uint64_t wt_trace_track(struct wt_trace *trace, const struct wt_trace_track *track)
{
	struct wt_proto *packet = &trace->packet;
	uint64_t number = ++trace->tracks;
	size_t at;

	begin_packet(trace);
	wt_proto_uint(packet, PACKET_SEQUENCE_ID, SEQUENCE);
	at = wt_proto_begin(packet, PACKET_TRACK_DESCRIPTOR);
	wt_proto_uint(packet, TRACK_UUID, number);
	if (track->parent)
		wt_proto_uint(packet, TRACK_PARENT, track->parent);
	if (track->name)
		put_text(packet, TRACK_NAME, track->name);
	if (track->description)
		put_text(packet, TRACK_DESCRIPTION, track->description);
	put_owner(packet, track);
	wt_proto_uint(packet, TRACK_CHILD_ORDER, ORDER_EXPLICIT);
	wt_proto_uint(packet, TRACK_RANK, (uint64_t)track->rank);
	wt_proto_uint(packet, TRACK_MERGE, MERGE_NONE);
	wt_proto_end(packet, at);
	put_packet(trace);
	return number;
}

/* ---- events */

static void begin_event(struct wt_trace *trace, int64_t time_ns, unsigned type, uint64_t track)
{
	struct wt_proto *packet = &trace->packet;

	begin_packet(trace);
	wt_proto_int(packet, PACKET_TIMESTAMP, time_ns);
	wt_proto_uint(packet, PACKET_SEQUENCE_ID, SEQUENCE);
	wt_proto_uint(packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDED);
	trace->event_at = wt_proto_begin(packet, PACKET_TRACK_EVENT);
	wt_proto_uint(packet, EVENT_TYPE, type);
	wt_proto_uint(packet, EVENT_TRACK, track);
}

void wt_trace_slice_done(struct wt_trace *trace)
{
	wt_proto_end(&trace->packet, trace->event_at);
	put_packet(trace);
}

void wt_trace_slice(struct wt_trace *trace, const struct wt_trace_slice *slice)
{
	struct wt_proto *packet = &trace->packet;

	begin_event(trace, slice->start_ns, TYPE_BEGIN, slice->track);
	wt_proto_uint(packet, EVENT_NAME, slice->name);
	if (slice->category)
		wt_proto_uint(packet, EVENT_CATEGORY, slice->category);
	if (slice->flow_from)
		wt_proto_fixed64(packet, EVENT_FLOW, slice->flow_from);
	if (slice->flow_to)
		wt_proto_fixed64(packet, EVENT_FLOW_END, slice->flow_to);
	trace->slices++;
}

void wt_trace_slice_end(struct wt_trace *trace, uint64_t track, int64_t end_ns)
{
	begin_event(trace, end_ns, TYPE_END, track);
	wt_trace_slice_done(trace);
}

void wt_trace_value_int(struct wt_trace *trace, uint64_t track, int64_t time_ns, int64_t value)
{
	begin_event(trace, time_ns, TYPE_COUNTER, track);
	wt_proto_int(&trace->packet, EVENT_INT, value);
	wt_trace_slice_done(trace);
	trace->values++;
}

void wt_trace_value_double(struct wt_trace *trace, uint64_t track, int64_t time_ns, double value)
{
	begin_event(trace, time_ns, TYPE_COUNTER, track);
	wt_proto_double(&trace->packet, EVENT_DOUBLE, value);
	wt_trace_slice_done(trace);
	trace->values++;
}

/* ---- notes */

static size_t begin_note(struct wt_trace *trace, enum wt_trace_note note)
{
	size_t at = wt_proto_begin(&trace->packet, EVENT_NOTE);

	wt_proto_uint(&trace->packet, NOTE_NAME_ID, note);
	return at;
}

void wt_trace_note_int(struct wt_trace *trace, enum wt_trace_note note, int64_t value)
{
	size_t at = begin_note(trace, note);

	wt_proto_int(&trace->packet, NOTE_INT, value);
	wt_proto_end(&trace->packet, at);
}

void wt_trace_note_double(struct wt_trace *trace, enum wt_trace_note note, double value)
{
	size_t at = begin_note(trace, note);

	wt_proto_double(&trace->packet, NOTE_DOUBLE, value);
	wt_proto_end(&trace->packet, at);
}

void wt_trace_note_text(struct wt_trace *trace, enum wt_trace_note note, uint64_t text)
{
	size_t at = begin_note(trace, note);

	wt_proto_uint(&trace->packet, NOTE_TEXT_ID, text);
	wt_proto_end(&trace->packet, at);
}

static size_t begin_key(struct wt_trace *trace, const char *key)
{
	size_t at = wt_proto_begin(&trace->packet, trace->is_within ? NOTE_ENTRIES : EVENT_NOTE);

	wt_proto_text(&trace->packet, NOTE_NAME, key);
	return at;
}

void wt_trace_note_key_int(struct wt_trace *trace, const char *key, int64_t value)
{
	size_t at = begin_key(trace, key);

	wt_proto_int(&trace->packet, NOTE_INT, value);
	wt_proto_end(&trace->packet, at);
}

void wt_trace_note_key_double(struct wt_trace *trace, const char *key, double value)
{
	size_t at = begin_key(trace, key);

	wt_proto_double(&trace->packet, NOTE_DOUBLE, value);
	wt_proto_end(&trace->packet, at);
}

void wt_trace_note_key_text(struct wt_trace *trace, const char *key, const char *text)
{
	size_t at;

	if (!text)
		return;
	at = begin_key(trace, key);
	put_text(&trace->packet, NOTE_STRING, text);
	wt_proto_end(&trace->packet, at);
}

size_t wt_trace_notes_begin(struct wt_trace *trace, const char *key)
{
	size_t at = begin_key(trace, key);

	trace->is_within = true;
	return at;
}

void wt_trace_notes_end(struct wt_trace *trace, size_t at)
{
	wt_proto_end(&trace->packet, at);
	trace->is_within = false;
}
