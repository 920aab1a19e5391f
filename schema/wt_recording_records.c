/*
 * wt_recording_records.c - one record to or from its columns, for wt_recording_codec.c: what of each kind
 * varies, and from what it is predicted.
 *
 * Any thread, one at a time per codec; does not block.
 */
#include "schema/wt_recording_impl.h"

#define RECENT_STEPS 64 /* a longer search would let a hostile file burn time */

/* ---- predictions of links */

static uint64_t *recent_at(const struct wt_recording_codec *codec, uint64_t pos)
{
	return &codec->recent[pos & (WT_RECORDING_RECENT - 1)];
}

static void remember_call(struct wt_recording_codec *codec, uint64_t entry_ns)
{
	*recent_at(codec, codec->recent_count++) = entry_ns;
	if (codec->recent_count - codec->recent_pos > WT_RECORDING_RECENT)
		codec->recent_pos = codec->recent_count - WT_RECORDING_RECENT;
}

static uint64_t next_call(const struct wt_recording_codec *codec)
{
	if (codec->recent_pos < codec->recent_count)
		return *recent_at(codec, codec->recent_pos);
	return codec->recent_count ? *recent_at(codec, codec->recent_count - 1) : 0;
}

/* A link lies within its call or begins a little before: the call nearest to it is the one. */
static void pass_call(struct wt_recording_codec *codec, uint64_t start_ns)
{
	uint64_t oldest = codec->recent_count > WT_RECORDING_RECENT
	                          ? codec->recent_count - WT_RECORDING_RECENT
	                          : 0;
	uint64_t pos = codec->recent_pos;

	for (int i = 0; i < RECENT_STEPS && pos > oldest && *recent_at(codec, pos - 1) > start_ns;
	     i++)
		pos--;
	for (int i = 0;
	     i < RECENT_STEPS && pos < codec->recent_count && *recent_at(codec, pos) <= start_ns;
	     i++)
		pos++;
	/* Here pos is the first call after the start. */
	if (pos < codec->recent_count &&
	    (pos == oldest ||
	     *recent_at(codec, pos) - start_ns < start_ns - *recent_at(codec, pos - 1)))
		pos++;
	codec->link_offset_ns = pos > oldest ? start_ns - *recent_at(codec, pos - 1) : 0;
	codec->recent_pos = pos;
}

/* ---- records */

static void code_launch(struct wt_recording_codec *codec, struct wt_recording_shape *shape,
                        struct wt_launch *r)
{
	uint64_t time_ns = r->return_ns - r->entry_ns;

	wt_codec_value(codec, WT_COLUMN_SEQ, &r->seq, codec->launch_seq);
	wt_codec_time(codec, WT_COLUMN_ENTRY, &r->entry_ns, codec->call_end_ns);
	wt_codec_time(codec, WT_COLUMN_RETURN, &time_ns, shape->time_ns);
	r->return_ns = r->entry_ns + time_ns;
	codec->launch_seq = r->seq + 1;
	codec->call_end_ns = r->return_ns;
	shape->time_ns = time_ns;
	remember_call(codec, r->entry_ns);
}

static void code_call(struct wt_recording_codec *codec, struct wt_recording_shape *shape,
                      struct wt_call *r)
{
	uint64_t time_ns = r->return_ns - r->entry_ns;

	wt_codec_ordinal(codec, WT_COLUMN_GRAPH_SEQ, &r->seq, &codec->graph_seq);
	wt_codec_time(codec, WT_COLUMN_ENTRY, &r->entry_ns, codec->call_end_ns);
	wt_codec_time(codec, WT_COLUMN_RETURN, &time_ns, shape->time_ns);
	wt_codec_value(codec, WT_COLUMN_HANDLE, &r->handle, shape->handle);
	wt_codec_value(codec, WT_COLUMN_OTHER, &r->other, shape->other);
	wt_codec_value(codec, WT_COLUMN_BYTES, &r->bytes, shape->bytes);
	r->return_ns = r->entry_ns + time_ns;
	codec->call_end_ns = r->return_ns;
	shape->time_ns = time_ns;
	shape->handle = r->handle;
	shape->other = r->other;
	shape->bytes = r->bytes;
	if (r->seq)
		remember_call(codec, r->entry_ns);
}

/* In the columns of calls, since it comes between them, at its end. */
static void code_range(struct wt_recording_codec *codec, struct wt_recording_shape *shape,
                       struct wt_range *r)
{
	uint64_t time_ns = r->end_ns - r->start_ns;

	wt_codec_time(codec, WT_COLUMN_ENTRY, &r->end_ns, codec->call_end_ns);
	wt_codec_time(codec, WT_COLUMN_RETURN, &time_ns, shape->time_ns);
	r->start_ns = r->end_ns - time_ns;
	shape->time_ns = time_ns;
}

enum { SPAN_KERNEL, SPAN_COPY, SPAN_SYNC, SPAN_OVERHEAD };

/* Start, end and correlation id of what CUPTI timed. `from_ns`: where the start is expected. */
static void code_span(struct wt_recording_codec *codec, struct wt_recording_shape *shape, int span,
                      uint64_t *start_ns, uint64_t *end_ns, uint64_t from_ns)
{
	uint64_t time_ns = *end_ns - *start_ns;

	wt_codec_time(codec, WT_COLUMN_START + 2 * span, start_ns, from_ns);
	wt_codec_time(codec, WT_COLUMN_END + 2 * span, &time_ns, shape->time_ns);
	*end_ns = *start_ns + time_ns;
	shape->time_ns = time_ns;
	if (*end_ns)
		codec->start_end_ns[span] = *end_ns;
}

static void code_correlation(struct wt_recording_codec *codec, int span, uint32_t *id)
{
	wt_codec_u32(codec, WT_COLUMN_CORRELATION + span, id, codec->correlation_id[span] + 1);
	codec->correlation_id[span] = *id;
}

static struct wt_recent_link *link_of(const struct wt_recording_codec *codec, uint32_t id)
{
	return &codec->links[id & (WT_RECORDING_RECENT - 1)];
}

static void code_kernel(struct wt_recording_codec *codec, struct wt_recording_shape *shape,
                        struct wt_kernel *r)
{
	uint64_t from_ns = codec->start_end_ns[SPAN_KERNEL];
	const struct wt_recent_link *link;

	code_correlation(codec, SPAN_KERNEL, &r->correlation_id);
	link = link_of(codec, r->correlation_id);
	/* The device was idle and waited for the launch, or it was busy until just now. */
	if (link->correlation_id == r->correlation_id &&
	    link->start_ns + codec->latency_ns > from_ns)
		from_ns = link->start_ns + codec->latency_ns;
	code_span(codec, shape, SPAN_KERNEL, &r->start_ns, &r->end_ns, from_ns);
	wt_codec_ordinal(codec, WT_COLUMN_NODE, &r->graph_node_id, &codec->node_id);
	if (link->correlation_id == r->correlation_id && r->start_ns > link->start_ns &&
	    r->start_ns - link->start_ns < 20000)
		codec->latency_ns = r->start_ns - link->start_ns;
}

static void code_copy(struct wt_recording_codec *codec, struct wt_recording_shape *shape,
                      struct wt_copy *r)
{
	code_span(codec, shape, SPAN_COPY, &r->start_ns, &r->end_ns,
	          codec->start_end_ns[SPAN_COPY]);
	code_correlation(codec, SPAN_COPY, &r->correlation_id);
	wt_codec_ordinal(codec, WT_COLUMN_NODE, &r->graph_node_id, &codec->node_id);
	wt_codec_value(codec, WT_COLUMN_BYTES, &r->bytes, shape->bytes);
	shape->bytes = r->bytes;
}

static void code_sync(struct wt_recording_codec *codec, struct wt_recording_shape *shape,
                      struct wt_sync *r)
{
	code_span(codec, shape, SPAN_SYNC, &r->start_ns, &r->end_ns,
	          codec->start_end_ns[SPAN_SYNC]);
	code_correlation(codec, SPAN_SYNC, &r->correlation_id);
	wt_codec_u32(codec, WT_COLUMN_EVENT, &r->event_id, codec->event_id);
	codec->event_id = r->event_id;
}

static void code_overhead(struct wt_recording_codec *codec, struct wt_recording_shape *shape,
                          struct wt_overhead *r)
{
	code_span(codec, shape, SPAN_OVERHEAD, &r->start_ns, &r->end_ns,
	          codec->start_end_ns[SPAN_OVERHEAD]);
	code_correlation(codec, SPAN_OVERHEAD, &r->correlation_id);
}

static void code_link(struct wt_recording_codec *codec, struct wt_link *r)
{
	uint64_t time_ns = r->duration_ns;

	wt_codec_time(codec, WT_COLUMN_LINK_START, &r->start_ns,
	              next_call(codec) + codec->link_offset_ns);
	wt_codec_time(codec, WT_COLUMN_LINK_TIME, &time_ns, codec->link_time_ns);
	wt_codec_u32(codec, WT_COLUMN_LINK_CORRELATION, &r->correlation_id,
	             codec->link_correlation_id + 1);
	if (time_ns > UINT32_MAX)
		wt_codec_keep_error(codec, -EBADMSG);
	r->duration_ns = (uint32_t)time_ns;
	codec->link_time_ns = time_ns;
	codec->link_correlation_id = r->correlation_id;
	*link_of(codec, r->correlation_id) =
	        (struct wt_recent_link){r->start_ns, r->correlation_id};
	pass_call(codec, r->start_ns);
}

static void code_clock(struct wt_recording_codec *codec, struct wt_clock *r)
{
	uint64_t *const values[4] = {&r->realtime_ns, &r->monotonic_ns, &r->cupti_ns, &r->boot_ns};
	uint64_t bracket_ns = r->bracket_ns;

	for (int i = 0; i < 4; i++) {
		wt_codec_value(codec, WT_COLUMN_CLOCK, values[i], codec->clock[i]);
		codec->clock[i] = *values[i];
	}
	wt_codec_value(codec, WT_COLUMN_CLOCK, &bracket_ns, codec->clock_bracket_ns);
	if (bracket_ns > UINT32_MAX)
		wt_codec_keep_error(codec, -EBADMSG);
	r->bracket_ns = (uint32_t)bracket_ns;
	codec->clock_bracket_ns = bracket_ns;
}

/* A number of 32 bits as its difference from the one before. */
static void code_step(struct wt_recording_codec *codec, int column, uint32_t *value, uint32_t *last)
{
	uint32_t step = *value - *last, code = step << 1 ^ (step >> 31 ? UINT32_MAX : 0);

	wt_codec_bytes(codec, column, &code);
	if (codec->is_reading)
		*value = *last + (code >> 1 ^ (code & 1 ? UINT32_MAX : 0));
	*last = *value;
}

static void code_sample(struct wt_recording_codec *codec, struct wt_sample *r)
{
	float *const values[] = {
	        &r->active_avg, &r->active_min,      &r->active_max,       &r->warps,
	        &r->tensor,     &r->dram_read_bytes, &r->dram_write_bytes, &r->instructions};
	/* What is not known has no bytes: blocks of version 3 lack the last columns. */
	size_t count = sizeof(values) / sizeof(values[0]) - !(r->flags & WT_SAMPLE_INSTRUCTIONS);
	int column = WT_COLUMN_SAMPLE;

	_Static_assert(sizeof(values) / sizeof(values[0]) + 2 == WT_RECORDING_SAMPLE_VALUES,
	               "values of a sample");
	wt_codec_time(codec, WT_COLUMN_SAMPLE_START, &r->start_ns, codec->sample_end_ns);
	code_step(codec, column, &r->duration_ns, &codec->sample_duration_ns);
	code_step(codec, column += 4, &r->elapsed_cycles, &codec->sample_elapsed);
	for (size_t i = 0; i < count; i++) {
		uint32_t bits;

		memcpy(&bits, values[i], sizeof(bits));
		wt_codec_bytes(codec, column += 4, &bits);
		memcpy(values[i], &bits, sizeof(bits));
	}
	codec->sample_end_ns = r->start_ns + r->duration_ns;
}

/* ---- all kinds */

_Static_assert(sizeof(union wt_codec_record) == WT_CELL_PAYLOAD_BYTES, "a record is a payload");

static int link_count(const struct wt_recording_shape_key *key)
{
	return key->count <= WT_LINKS_PER_CELL ? key->count : 0;
}

static int sample_count(const struct wt_recording_shape_key *key)
{
	return key->count <= WT_SAMPLES_PER_CELL ? key->count : 0;
}

void wt_codec_clear_varying(const struct wt_recording_shape_key *key, union wt_codec_record *r)
{
	switch (key->kind) {
	case WT_KIND_LAUNCH:
		r->launch.seq = r->launch.entry_ns = r->launch.return_ns = 0;
		break;
	case WT_KIND_CALL:
		memset(r, 0, offsetof(struct wt_call, result));
		break;
	case WT_KIND_RANGE:
		r->range.start_ns = r->range.end_ns = 0;
		break;
	case WT_KIND_KERNEL:
		memset(r, 0, offsetof(struct wt_kernel, context_id));
		break;
	case WT_KIND_COPY:
		memset(r, 0, offsetof(struct wt_copy, context_id));
		break;
	case WT_KIND_SYNC:
		memset(r, 0, offsetof(struct wt_sync, context_id));
		r->sync.event_id = 0;
		break;
	case WT_KIND_OVERHEAD:
		r->overhead.start_ns = r->overhead.end_ns = r->overhead.correlation_id = 0;
		break;
	case WT_KIND_LINK:
		for (int i = 0; i < link_count(key); i++)
			memset(&r->link[i], 0, offsetof(struct wt_link, thread32));
		break;
	case WT_KIND_CLOCK:
		memset(r, 0, offsetof(struct wt_clock, reserved));
		break;
	case WT_KIND_SAMPLE:
		for (int i = 0; i < sample_count(key); i++)
			memset(&r->sample[i], 0,
			       r->sample[i].flags & WT_SAMPLE_INSTRUCTIONS
			               ? offsetof(struct wt_sample, flags)
			               : offsetof(struct wt_sample, instructions));
		break;
	default:
		break; /* not known: all of it is shape */
	}
}

void wt_codec_record(struct wt_recording_codec *codec, struct wt_recording_shape *shape,
                     union wt_codec_record *r)
{
	switch (shape->key.kind) {
	case WT_KIND_LAUNCH:
		code_launch(codec, shape, &r->launch);
		break;
	case WT_KIND_CALL:
		code_call(codec, shape, &r->call);
		break;
	case WT_KIND_RANGE:
		code_range(codec, shape, &r->range);
		break;
	case WT_KIND_KERNEL:
		code_kernel(codec, shape, &r->kernel);
		break;
	case WT_KIND_COPY:
		code_copy(codec, shape, &r->copy);
		break;
	case WT_KIND_SYNC:
		code_sync(codec, shape, &r->sync);
		break;
	case WT_KIND_OVERHEAD:
		code_overhead(codec, shape, &r->overhead);
		break;
	case WT_KIND_LINK:
		for (int i = 0; i < link_count(&shape->key); i++)
			code_link(codec, &r->link[i]);
		break;
	case WT_KIND_CLOCK:
		code_clock(codec, &r->clock);
		break;
	case WT_KIND_SAMPLE:
		for (int i = 0; i < sample_count(&shape->key); i++)
			code_sample(codec, &r->sample[i]);
		break;
	default:
		break;
	}
}
