/*
 * read_trace.c - reads a Perfetto trace as its readers do, into a new SQLite database. A second,
 * independent implementation of the format: it shares no code with what writes traces.
 *
 *   read_trace FILE DATABASE
 *
 * Tables: track (uuid, parent, kind, name), slice (no, track, start_ns, end_ns, depth, category, name,
 * flow_from, flow_to), note (no, key, value), value (track, time_ns, value).
 *
 * Refused, with a message and status 1: packets that are no packets, fields that the .proto files do not
 * have or of another wire type, text that is no UTF-8, numbers of texts that were not said before, tracks
 * that are not described or whose parent is not, values on tracks that are no counters and slices on those
 * that are, ends without a begin, begins without an end, slices on one track that overlap without one being
 * within the other, flows with one end, times that are not of the clock that the trace calls its own.
 * Events are sorted by time, those of the same time stay in their order: as trace_processor does.
 */
#include <inttypes.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VARINT, FIXED64, BYTES, FIXED32 = 5 };

/* What a field may be; `message` NULL: no message. */
struct field {
	int number, type;
	const struct field *message;
	bool is_text;
};

static const struct field clock_fields[] = {{1, VARINT, NULL, 0}, {2, VARINT, NULL, 0}, {0}};
static const struct field snapshot_fields[] = {
        {1, BYTES, clock_fields, 0}, {2, VARINT, NULL, 0}, {0}};
static const struct field string_fields[] = {{1, VARINT, NULL, 0}, {2, BYTES, NULL, 1}, {0}};
static const struct field interned_fields[] = {{1, BYTES, string_fields, 0},
                                               {2, BYTES, string_fields, 0},
                                               {3, BYTES, string_fields, 0},
                                               {29, BYTES, string_fields, 0},
                                               {0}};
static const struct field defaults_fields[] = {{58, VARINT, NULL, 0}, {0}};
static const struct field process_fields[] = {
        {1, VARINT, NULL, 0}, {2, BYTES, NULL, 1}, {6, BYTES, NULL, 1}, {0}};
static const struct field thread_fields[] = {{1, VARINT, NULL, 0}, {2, VARINT, NULL, 0}, {0}};
static const struct field counter_fields[] = {{3, VARINT, NULL, 0}, {6, BYTES, NULL, 1}, {0}};
static const struct field track_fields[] = {{1, VARINT, NULL, 0},
                                            {2, BYTES, NULL, 1},
                                            {3, BYTES, process_fields, 0},
                                            {4, BYTES, thread_fields, 0},
                                            {5, VARINT, NULL, 0},
                                            {8, BYTES, counter_fields, 0},
                                            {11, VARINT, NULL, 0},
                                            {12, VARINT, NULL, 0},
                                            {14, BYTES, NULL, 1},
                                            {15, VARINT, NULL, 0},
                                            {0}};
static const struct field note_fields[] = {{1, VARINT, NULL, 0},  {4, VARINT, NULL, 0},
                                           {5, FIXED64, NULL, 0}, {6, BYTES, NULL, 1},
                                           {10, BYTES, NULL, 1},  {11, BYTES, note_fields, 0},
                                           {17, VARINT, NULL, 0}, {0}};
static const struct field event_fields[] = {{3, VARINT, NULL, 0},   {4, BYTES, note_fields, 0},
                                            {9, VARINT, NULL, 0},   {10, VARINT, NULL, 0},
                                            {11, VARINT, NULL, 0},  {30, VARINT, NULL, 0},
                                            {44, FIXED64, NULL, 0}, {47, FIXED64, NULL, 0},
                                            {48, FIXED64, NULL, 0}, {0}};
static const struct field packet_fields[] = {{6, BYTES, snapshot_fields, 0},
                                             {8, VARINT, NULL, 0},
                                             {10, VARINT, NULL, 0},
                                             {11, BYTES, event_fields, 0},
                                             {12, BYTES, interned_fields, 0},
                                             {13, VARINT, NULL, 0},
                                             {59, BYTES, defaults_fields, 0},
                                             {60, BYTES, track_fields, 0},
                                             {0}};
static const struct field trace_fields[] = {{1, BYTES, packet_fields, 0}, {0}};

static void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
static void fail(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	fprintf(stderr, "read_trace: ");
	vfprintf(stderr, format, ap);
	fprintf(stderr, "\n");
	va_end(ap);
	exit(1);
}

static void *grow(void *array, size_t count, size_t bytes)
{
	/* At powers of two. */
	if (count & (count - 1))
		return array;
	array = realloc(array, (count ? 2 * count : 1) * bytes);
	if (!array)
		fail("no memory");
	return array;
}

/* ---- wire format */

struct span {
	const uint8_t *at, *end;
};

struct value {
	int field;
	uint64_t number;
	struct span bytes;
	const struct field *message;
};

static uint64_t read_varint(struct span *span)
{
	uint64_t value = 0;

	for (int shift = 0; shift < 70; shift += 7) {
		uint8_t byte;

		if (span->at == span->end)
			fail("a number is cut");
		byte = *span->at++;
		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	fail("a number has more than 64 bits");
}

static bool is_utf8(const struct span *span)
{
	const uint8_t *p = span->at;

	while (p < span->end) {
		int more = *p < 0x80                 ? 0
		           : *p >= 0xc2 && *p < 0xe0 ? 1
		           : *p >= 0xe0 && *p < 0xf0 ? 2
		           : *p >= 0xf0 && *p < 0xf5 ? 3
		                                     : -1;

		if (more < 0 || span->end - p <= more)
			return false;
		for (int i = 1; i <= more; i++)
			if ((p[i] & 0xc0) != 0x80)
				return false;
		p += more + 1;
	}
	return true;
}

/* The next field of a message; false: it ends. */
static bool read_field(struct span *span, const struct field *fields, struct value *ret)
{
	const struct field *field = fields;
	uint64_t key;
	int type;

	if (span->at == span->end)
		return false;
	key = read_varint(span);
	type = (int)(key & 7);
	while (field->number && field->number != (int)(key >> 3))
		field++;
	if (!field->number)
		fail("a field %" PRIu64 " that its message does not have", key >> 3);
	if (field->type != type)
		fail("field %d is of wire type %d", field->number, type);
	*ret = (struct value){.field = field->number, .message = field->message};
	if (type == VARINT) {
		ret->number = read_varint(span);
	} else if (type == FIXED64) {
		if (span->end - span->at < 8)
			fail("a number is cut");
		for (int i = 0; i < 8; i++)
			ret->number |= (uint64_t)*span->at++ << 8 * i;
	} else {
		uint64_t length = read_varint(span);

		if (length > (uint64_t)(span->end - span->at))
			fail("a message is cut");
		ret->bytes = (struct span){span->at, span->at + length};
		span->at += length;
		if (field->is_text && !is_utf8(&ret->bytes))
			fail("a text that is no UTF-8");
	}
	return true;
}

static char *copy_text(const struct span *span)
{
	char *text = strndup((const char *)span->at, (size_t)(span->end - span->at));

	if (!text)
		fail("no memory");
	if (strlen(text) != (size_t)(span->end - span->at))
		fail("a text with a NUL");
	return text;
}

/* ---- the database */

static sqlite3 *db;
static sqlite3_stmt *put_track, *put_slice, *put_note, *put_value;

static void execute(const char *sql)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail("%s", sqlite3_errmsg(db));
}

static sqlite3_stmt *prepare(const char *sql)
{
	sqlite3_stmt *s;

	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
		fail("%s", sqlite3_errmsg(db));
	return s;
}

static void insert(sqlite3_stmt *s)
{
	if (sqlite3_step(s) != SQLITE_DONE)
		fail("%s", sqlite3_errmsg(db));
	sqlite3_reset(s);
}

static void bind_text(sqlite3_stmt *s, int at, const char *text)
{
	sqlite3_bind_text(s, at, text, -1, SQLITE_TRANSIENT);
}

static void make_database(const char *path)
{
	remove(path);
	if (sqlite3_open(path, &db) != SQLITE_OK)
		fail("%s can't be made", path);
	execute("PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF; BEGIN;"
	        "CREATE TABLE track (uuid INTEGER PRIMARY KEY, parent INTEGER, kind TEXT, name "
	        "TEXT);"
	        "CREATE TABLE slice (no INTEGER PRIMARY KEY, track INTEGER, start_ns INTEGER,"
	        " end_ns INTEGER, depth INTEGER, category TEXT, name TEXT, flow_from INTEGER,"
	        " flow_to INTEGER); CREATE TABLE note (no INTEGER, key TEXT, value);"
	        "CREATE TABLE value (track INTEGER, time_ns INTEGER, value)");
	put_track = prepare("INSERT INTO track VALUES (?, ?, ?, ?)");
	put_slice = prepare("INSERT INTO slice VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
	put_note = prepare("INSERT INTO note VALUES (?, ?, ?)");
	put_value = prepare("INSERT INTO value VALUES (?, ?, ?)");
}

static void finish_database(void)
{
	sqlite3_finalize(put_track);
	sqlite3_finalize(put_slice);
	sqlite3_finalize(put_note);
	sqlite3_finalize(put_value);
	execute("CREATE INDEX note_no ON note (no, key); COMMIT");
	if (sqlite3_close(db) != SQLITE_OK)
		fail("the database can't be closed");
}

/* ---- what the sequence knows */

enum { CATEGORIES, NAMES, NOTES, TEXTS, KINDS };

static char **texts[KINDS];
static size_t text_counts[KINDS];
static bool is_begun; /* the sequence */
static uint64_t default_clock, own_clock;

static void learn(const struct value *value)
{
	int kind = value->field == 1   ? CATEGORIES
	           : value->field == 2 ? NAMES
	           : value->field == 3 ? NOTES
	                               : TEXTS;
	struct span span = value->bytes;
	struct value v;
	uint64_t id = 0;
	char *text = NULL;

	while (read_field(&span, string_fields, &v)) {
		if (v.field == 1)
			id = v.number;
		else
			text = copy_text(&v.bytes);
	}
	if (!text || id != text_counts[kind] + 1)
		fail("text %" PRIu64 " of kind %d is not the next one", id, kind);
	texts[kind] = grow(texts[kind], text_counts[kind], sizeof(char *));
	texts[kind][text_counts[kind]++] = text;
}

static const char *known(int kind, uint64_t id)
{
	if (id < 1 || id > text_counts[kind])
		fail("text %" PRIu64 " of kind %d was not said", id, kind);
	return texts[kind][id - 1];
}

/* ---- tracks */

struct track {
	uint64_t parent;
	bool is_described, is_counter;
	/* while slices are read */
	size_t *open;
	size_t depth;
	uint64_t last;
};

static struct track *tracks;
static size_t track_count; /* uuids are 1, 2, ... */

static struct track *find_track(uint64_t uuid)
{
	if (uuid < 1 || uuid > track_count)
		fail("track %" PRIu64 " is not described", uuid);
	return &tracks[uuid - 1];
}

static void read_track(struct span span)
{
	const char *kind = "plain";
	struct track track = {.is_described = true};
	uint64_t uuid = 0;
	char *name = NULL;
	struct value v, inner;

	while (read_field(&span, track_fields, &v)) {
		if (v.field == 1)
			uuid = v.number;
		else if (v.field == 2)
			name = copy_text(&v.bytes);
		else if (v.field == 5)
			track.parent = v.number;
		else if (v.field == 3 || v.field == 4 || v.field == 8) {
			kind = v.field == 3 ? "process" : v.field == 4 ? "thread" : "counter";
			track.is_counter = v.field == 8;
			while (read_field(&v.bytes, v.message, &inner))
				;
		}
	}
	if (uuid != track_count + 1)
		fail("track %" PRIu64 " is not the next one", uuid);
	if (track.parent)
		find_track(track.parent);
	tracks = grow(tracks, track_count, sizeof(*tracks));
	tracks[track_count++] = track;
	sqlite3_bind_int64(put_track, 1, (int64_t)uuid);
	sqlite3_bind_int64(put_track, 2, (int64_t)track.parent);
	bind_text(put_track, 3, kind);
	bind_text(put_track, 4, name ? name : "");
	insert(put_track);
	free(name);
}

/* ---- events */

enum { BEGIN = 1, END = 2, COUNTER = 4 };

struct event {
	uint64_t time_ns, track, type, category, name, flow_from, flow_to;
	struct span notes; /* the whole event again */
	size_t order, end; /* end: of a begin, the event that is it */
	uint64_t depth;
	bool is_double, is_ended;
	double value;
};

static struct event *events;
static size_t event_count;

static void check_note(struct span span, bool is_within)
{
	int names = 0, values = 0;
	struct value v;

	while (read_field(&span, note_fields, &v)) {
		if (v.field == 1)
			known(NOTES, v.number);
		if (v.field == 17)
			known(TEXTS, v.number);
		if (v.field == 11) {
			if (is_within)
				fail("notes within notes within notes");
			check_note(v.bytes, true);
		}
		names += v.field == 1 || v.field == 10;
		values += v.field != 1 && v.field != 10 && v.field != 11;
	}
	if (names != 1 || values > 1)
		fail("a note with %d names and %d values", names, values);
}

static void read_event(struct span span, struct event *event)
{
	int values = 0;
	struct value v;

	event->notes = span;
	while (read_field(&span, event_fields, &v)) {
		switch (v.field) {
		case 3:
			known(CATEGORIES, v.number);
			event->category = v.number;
			break;
		case 4:
			check_note(v.bytes, false);
			break;
		case 9:
			event->type = v.number;
			break;
		case 10:
			known(NAMES, v.number);
			event->name = v.number;
			break;
		case 11:
			event->track = v.number;
			break;
		case 30:
			event->value = (double)(int64_t)v.number;
			values++;
			break;
		case 44:
			memcpy(&event->value, &v.number, 8);
			event->is_double = true;
			values++;
			break;
		case 47:
			event->flow_from = v.number;
			break;
		default:
			event->flow_to = v.number;
		}
	}
	if (event->type != BEGIN && event->type != END && event->type != COUNTER)
		fail("an event of type %" PRIu64, event->type);
	if (find_track(event->track)->is_counter != (event->type == COUNTER) ||
	    values != (event->type == COUNTER))
		fail("slices and values are mixed on track %" PRIu64, event->track);
	if (event->type == BEGIN && !event->name)
		fail("a slice without a name");
	if (event->value != event->value)
		fail("a value that is no number");
}

static void read_clocks(struct span span)
{
	struct value v, inner;

	while (read_field(&span, snapshot_fields, &v)) {
		if (v.field == 2)
			own_clock = v.number;
		else
			while (read_field(&v.bytes, clock_fields, &inner))
				;
	}
}

static void read_packet(struct span span)
{
	struct span event_span = {0}, track_span = {0};
	struct event event = {0};
	uint64_t flags = 0, sequence = 0;
	bool has_time = false;
	struct value v, inner;

	while (read_field(&span, packet_fields, &v)) {
		if (v.field == 6)
			read_clocks(v.bytes);
		else if (v.field == 8)
			event.time_ns = v.number, has_time = true;
		else if (v.field == 10)
			sequence = v.number;
		else if (v.field == 11)
			event_span = v.bytes;
		else if (v.field == 12)
			while (read_field(&v.bytes, interned_fields, &inner))
				learn(&inner);
		else if (v.field == 13)
			flags = v.number;
		else if (v.field == 59)
			while (read_field(&v.bytes, defaults_fields, &inner))
				default_clock = inner.number;
		else
			track_span = v.bytes;
	}
	if (sequence != 1)
		fail("a packet of sequence %" PRIu64, sequence);
	is_begun |= flags & 1;
	if (track_span.at)
		read_track(track_span);
	if (!event_span.at)
		return;
	if (!has_time || !(flags & 2) || !is_begun)
		fail("an event without a time, or that does not say that it needs texts");
	if (default_clock != 1 || own_clock != 1)
		fail("times are of clock %" PRIu64 ", the trace is of %" PRIu64, default_clock,
		     own_clock);
	if (event.time_ns > INT64_MAX)
		fail("a time before 1970");
	read_event(event_span, &event);
	event.order = event_count;
	events = grow(events, event_count, sizeof(*events));
	events[event_count++] = event;
}

/* ---- slices */

static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

static void match_ends(void)
{
	for (size_t i = 0; i < event_count; i++) {
		struct event *event = &events[i];
		struct track *track = find_track(event->track);

		if (event->type == BEGIN) {
			track->open = grow(track->open, track->depth, sizeof(*track->open));
			event->depth = track->depth;
			track->open[track->depth++] = i;
		} else if (event->type == END) {
			struct event *begin;

			if (!track->depth)
				fail("an end without a begin on track %" PRIu64, event->track);
			begin = &events[track->open[--track->depth]];
			begin->end = i;
			begin->is_ended = true;
		}
	}
	for (size_t i = 0; i < track_count; i++)
		if (tracks[i].depth)
			fail("a slice without an end on track %zu", i + 1);
}

/* A begin and an end of each flow, and no more. */
static int by_flow(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return x[0] != y[0] ? (x[0] < y[0] ? -1 : 1) : x[1] < y[1] ? -1 : x[1] > y[1];
}

static void match_flows(void)
{
	uint64_t(*flows)[2] = malloc((event_count + 1) * 2 * sizeof(*flows));
	size_t count = 0;

	if (!flows)
		fail("no memory");
	for (size_t i = 0; i < event_count; i++) {
		if (events[i].flow_from) {
			flows[count][0] = events[i].flow_from;
			flows[count++][1] = 1;
		}
		if (events[i].flow_to) {
			flows[count][0] = events[i].flow_to;
			flows[count++][1] = 2;
		}
	}
	qsort(flows, count, sizeof(*flows), by_flow);
	for (size_t i = 0; i < count; i += 2)
		if (i + 1 == count || flows[i][0] != flows[i + 1][0] || flows[i][1] != 1 ||
		    flows[i + 1][1] != 2 || (i + 2 < count && flows[i + 2][0] == flows[i][0]))
			fail("flow %#" PRIx64 " has not one begin and one end", flows[i][0]);
	free(flows);
}

/* ---- into the database */

static void store_note(size_t no, struct span span, const char *prefix)
{
	const char *name = "";
	char *own = NULL, *text = NULL, key[200];
	struct value v;

	while (read_field(&span, note_fields, &v)) {
		if (v.field == 1) {
			name = known(NOTES, v.number);
			continue;
		}
		if (v.field == 10) {
			name = own = copy_text(&v.bytes);
			continue;
		}
		if (v.field == 11) {
			store_note(no, v.bytes, name);
			continue;
		}
		snprintf(key, sizeof(key), "%s%s%s", prefix, prefix[0] ? "." : "", name);
		sqlite3_bind_int64(put_note, 1, (int64_t)no);
		bind_text(put_note, 2, key);
		if (v.field == 4) {
			sqlite3_bind_int64(put_note, 3, (int64_t)v.number);
		} else if (v.field == 5) {
			double number;

			memcpy(&number, &v.number, 8);
			sqlite3_bind_double(put_note, 3, number);
		} else {
			if (v.field == 6)
				text = copy_text(&v.bytes);
			bind_text(put_note, 3, text ? text : known(TEXTS, v.number));
		}
		insert(put_note);
	}
	free(own);
	free(text);
}

static void store_slice(size_t no, const struct event *event)
{
	struct span span = event->notes;
	struct value v;

	sqlite3_bind_int64(put_slice, 1, (int64_t)no);
	sqlite3_bind_int64(put_slice, 2, (int64_t)event->track);
	sqlite3_bind_int64(put_slice, 3, (int64_t)event->time_ns);
	sqlite3_bind_int64(put_slice, 4, (int64_t)events[event->end].time_ns);
	sqlite3_bind_int64(put_slice, 5, (int64_t)event->depth);
	bind_text(put_slice, 6, event->category ? known(CATEGORIES, event->category) : "");
	bind_text(put_slice, 7, known(NAMES, event->name));
	sqlite3_bind_int64(put_slice, 8, (int64_t)event->flow_from);
	sqlite3_bind_int64(put_slice, 9, (int64_t)event->flow_to);
	insert(put_slice);
	while (read_field(&span, event_fields, &v))
		if (v.field == 4)
			store_note(no, v.bytes, "");
}

static void store_all(void)
{
	for (size_t i = 0; i < event_count; i++) {
		const struct event *event = &events[i];

		if (event->type == BEGIN) {
			store_slice(i + 1, event);
		} else if (event->type == COUNTER) {
			sqlite3_bind_int64(put_value, 1, (int64_t)event->track);
			sqlite3_bind_int64(put_value, 2, (int64_t)event->time_ns);
			sqlite3_bind_double(put_value, 3, event->value);
			insert(put_value);
		}
	}
}

static struct span read_file(const char *path)
{
	FILE *in = fopen(path, "rb");
	uint8_t *bytes = NULL;
	size_t count = 0, room = 0, got;

	if (!in)
		fail("%s can't be read", path);
	do {
		if (room - count < 65536) {
			room = room ? 2 * room : 1 << 20;
			bytes = realloc(bytes, room);
			if (!bytes)
				fail("no memory");
		}
		got = fread(bytes + count, 1, room - count, in);
		count += got;
	} while (got);
	fclose(in);
	return (struct span){bytes, bytes + count};
}

int main(int argc, char **argv)
{
	struct span span;
	struct value v;

	if (argc != 3)
		fail("usage: read_trace FILE DATABASE");
	span = read_file(argv[1]);
	make_database(argv[2]);
	while (read_field(&span, trace_fields, &v))
		read_packet(v.bytes);
	if (event_count)
		qsort(events, event_count, sizeof(*events), by_time);
	match_ends();
	match_flows();
	store_all();
	finish_database();
	return 0;
}
