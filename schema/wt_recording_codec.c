/*
 * wt_recording_codec.c - cells to columns and back, by their shapes; the records themselves:
 * wt_recording_records.c. See wt_recording.h.
 *
 * One walk serves both directions: every wt_codec_value() is called in the same order with the
 * same prediction by writer and reader, because predictions come only from cells that both have
 * seen. A prediction may be wrong, never unsound: it costs bytes, nothing else.
 *
 * Any thread, one at a time per codec; does not block.
 */
#include "schema/wt_recording_impl.h"

#include <stdlib.h>

#define HASH_SLOTS (2 * WT_RECORDING_SHAPES_MAX)

/* ---- shapes */

static uint32_t hash_key(const struct wt_recording_shape_key *key)
{
	uint64_t words[sizeof(*key) / 8], hash = 0;

	memcpy(words, key, sizeof(words));
	for (size_t i = 0; i < sizeof(words) / 8; i++) {
		hash = (hash ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 29;
	}
	return (uint32_t)(hash & (HASH_SLOTS - 1));
}

static void forget_shapes(struct wt_recording_codec *codec)
{
	codec->shape_count = 0;
	if (codec->shape_of)
		memset(codec->shape_of, 0, HASH_SLOTS * sizeof(*codec->shape_of));
}

static int add_shape(struct wt_recording_codec *codec, const struct wt_recording_shape_key *key)
{
	struct wt_recording_shape *shape;

	if (codec->shape_count == codec->shape_room) {
		uint32_t room = codec->shape_room ? 2 * codec->shape_room : 64;

		shape = realloc(codec->shapes, room * sizeof(*shape));
		if (!shape)
			return -ENOMEM;
		codec->shapes = shape;
		codec->shape_room = room;
	}
	shape = &codec->shapes[codec->shape_count++];
	memset(shape, 0, sizeof(*shape));
	shape->key = *key;
	return 0;
}

/* The index of a shape, new or not; writer. */
static int find_shape(struct wt_recording_codec *codec, const struct wt_recording_shape_key *key,
                      uint64_t *ret_index)
{
	uint32_t hash = hash_key(key), at;
	int err;

	for (at = codec->shape_of[hash]; at; at = codec->shapes[at - 1].next) {
		if (!memcmp(&codec->shapes[at - 1].key, key, sizeof(*key))) {
			*ret_index = at - 1;
			return 0;
		}
	}
	*ret_index = codec->shape_count;
	err = wt_bytes_put(&codec->column[WT_COLUMN_NEW_SHAPES], key, sizeof(*key));
	if (!err)
		err = add_shape(codec, key);
	if (err)
		return err;
	codec->shapes[codec->shape_count - 1].next = codec->shape_of[hash];
	codec->shape_of[hash] = codec->shape_count;
	return 0;
}

/* The shape that the reader was told to take. */
static int take_shape(struct wt_recording_codec *codec, uint64_t index)
{
	struct wt_bytes *column = &codec->column[WT_COLUMN_NEW_SHAPES];
	struct wt_recording_shape_key key;

	if (index < codec->shape_count)
		return 0;
	if (index > codec->shape_count || wt_bytes_left(column) < sizeof(key))
		return -EBADMSG;
	memcpy(&key, column->at + column->read, sizeof(key));
	column->read += sizeof(key);
	return add_shape(codec, &key);
}

void wt_codec_cell(struct wt_recording_codec *codec, enum wt_ring_index ring, struct wt_cell *cell)
{
	struct wt_recording_shape_key key;
	uint64_t index = 0;
	union wt_codec_record r;

	if (codec->error)
		return;
	/* Both sides forget at the same cell. */
	if (codec->shape_count == WT_RECORDING_SHAPES_MAX)
		forget_shapes(codec);
	if (!codec->is_reading) {
		memset(&r, 0, sizeof(r));
		memset(&key, 0, sizeof(key));
		key.kind = cell->kind;
		key.count = cell->count;
		key.length = cell->length;
		memcpy(&r, cell->payload, cell->length < sizeof(r) ? cell->length : sizeof(r));
		memcpy(cell->payload, &r, sizeof(r));
		wt_codec_clear_varying(&key, &r);
		memcpy(key.payload, &r, sizeof(r));
		wt_codec_keep_error(codec, find_shape(codec, &key, &index));
	}
	wt_codec_plain(codec, WT_COLUMN_SHAPE + (int)ring, &index);
	if (codec->is_reading && !codec->error)
		wt_codec_keep_error(codec, take_shape(codec, index));
	if (codec->error)
		return;
	if (codec->is_reading) {
		const struct wt_recording_shape_key *from = &codec->shapes[index].key;

		cell->kind = from->kind;
		cell->count = from->count;
		cell->length = from->length;
		memcpy(&r, from->payload, sizeof(r));
	} else {
		memcpy(&r, cell->payload, sizeof(r));
	}
	wt_codec_record(codec, &codec->shapes[index], &r);
	memcpy(cell->payload, &r, sizeof(r));
}

/* ---- the rest */

/* Buckets of the timed hooks; `is_told`: the block has them. */
static void code_hook_times(struct wt_recording_codec *codec, struct wt_recording_facts *facts,
                            bool is_told)
{
	uint64_t count = is_told ? WT_COST_BUCKETS : 0;

	if (is_told)
		wt_codec_plain(codec, WT_COLUMN_FACTS, &count);
	if (is_told && count != WT_COST_BUCKETS)
		wt_codec_keep_error(codec, -EBADMSG);
	for (unsigned i = 0; i < WT_COST_BUCKETS && !codec->error; i++) {
		if (is_told)
			wt_codec_value(codec, WT_COLUMN_FACTS, &facts->hook_time[i],
			               codec->hook_time[i]);
		else
			facts->hook_time[i] = 0;
		codec->hook_time[i] = facts->hook_time[i];
	}
}

void wt_codec_facts(struct wt_recording_codec *codec, struct wt_recording_facts *facts)
{
	uint64_t now_ns = (uint64_t)facts->now_ns, count = WT_RECORDING_COUNTER_MAX;

	wt_codec_value(codec, WT_COLUMN_FACTS, &now_ns, (uint64_t)codec->now_ns);
	facts->now_ns = codec->now_ns = (int64_t)now_ns;
	wt_codec_plain(codec, WT_COLUMN_FACTS, &count);
	/* Counted block by block: a new daemon may go on with an old file. */
	if (count != WT_RECORDING_COUNTER_MAX && count != WT_RECORDING_COUNTERS_V1 &&
	    count != WT_RECORDING_COUNTERS_V2 && count != WT_RECORDING_COUNTERS_V3)
		wt_codec_keep_error(codec, -EBADMSG);
	for (int i = 0; i < WT_RECORDING_COUNTER_MAX && !codec->error; i++) {
		if ((uint64_t)i < count)
			wt_codec_value(codec, WT_COLUMN_FACTS, &facts->counters[i],
			               codec->counters[i]);
		else
			facts->counters[i] = 0;
		codec->counters[i] = facts->counters[i];
	}
	code_hook_times(codec, facts, count > WT_RECORDING_COUNTERS_V3);
}

int wt_codec_init(struct wt_recording_codec *codec, bool is_reading)
{
	memset(codec, 0, sizeof(*codec));
	codec->is_reading = is_reading;
	codec->recent = calloc(WT_RECORDING_RECENT, sizeof(*codec->recent));
	codec->links = calloc(WT_RECORDING_RECENT, sizeof(*codec->links));
	if (!is_reading)
		codec->shape_of = calloc(HASH_SLOTS, sizeof(*codec->shape_of));
	if (codec->recent && codec->links && (is_reading || codec->shape_of))
		return 0;
	wt_codec_fini(codec);
	return -ENOMEM;
}

void wt_codec_fini(struct wt_recording_codec *codec)
{
	for (int i = 0; i < WT_COLUMN_MAX; i++)
		free(codec->column[i].at);
	free(codec->shapes);
	free(codec->shape_of);
	free(codec->recent);
	free(codec->links);
	memset(codec, 0, sizeof(*codec));
}

void wt_codec_clear_columns(struct wt_recording_codec *codec)
{
	for (int i = 0; i < WT_COLUMN_MAX; i++)
		codec->column[i].length = codec->column[i].read = 0;
}

void wt_codec_reset(struct wt_recording_codec *codec)
{
	struct wt_recording_codec fresh = {.is_reading = codec->is_reading,
	                                   .shapes = codec->shapes,
	                                   .shape_room = codec->shape_room,
	                                   .shape_of = codec->shape_of,
	                                   .recent = codec->recent,
	                                   .links = codec->links};

	memcpy(fresh.column, codec->column, sizeof(fresh.column));
	*codec = fresh;
	forget_shapes(codec);
	memset(codec->recent, 0, WT_RECORDING_RECENT * sizeof(*codec->recent));
	memset(codec->links, 0, WT_RECORDING_RECENT * sizeof(*codec->links));
}
