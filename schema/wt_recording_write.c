/*
 * wt_recording_write.c - makes blocks of a recording: see wt_recording.h. Writes no file itself.
 * Any thread, one at a time per writer; does not block.
 */
#include <stdlib.h>
#include <zlib.h>

#include "schema/wt_recording_impl.h"

#define PACK_LEVEL 6

struct wt_recording_writer {
	struct wt_recording_codec codec;
	z_stream stream;
	bool is_stream_open, is_fresh; /* fresh: the next block is a RESET */
	uint32_t block_idx;
	uint32_t devices_told;
	uint8_t *names_told; /* a bit for each name id */
	size_t names_told_bytes;
	char cupti_path[WT_TEXT_BYTES];
	uint64_t *torn[WT_RING_MAX];
	size_t torn_count[WT_RING_MAX], torn_room[WT_RING_MAX];
	struct wt_bytes raw, block;
};

struct wt_recording_writer *wt_recording_writer_create(void)
{
	struct wt_recording_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return NULL;
	writer->is_fresh = true;
	if (!wt_codec_init(&writer->codec, false) &&
	    deflateInit(&writer->stream, PACK_LEVEL) == Z_OK) {
		writer->is_stream_open = true;
		return writer;
	}
	wt_recording_writer_destroy(writer);
	return NULL;
}

void wt_recording_writer_destroy(struct wt_recording_writer *writer)
{
	if (!writer)
		return;
	if (writer->is_stream_open)
		deflateEnd(&writer->stream);
	wt_codec_fini(&writer->codec);
	for (int i = 0; i < WT_RING_MAX; i++)
		free(writer->torn[i]);
	free(writer->names_told);
	free(writer->raw.at);
	free(writer->block.at);
	free(writer);
}

void wt_recording_writer_reset(struct wt_recording_writer *writer)
{
	wt_codec_reset(&writer->codec);
	wt_codec_clear_columns(&writer->codec);
	deflateReset(&writer->stream);
	writer->is_fresh = true;
	writer->devices_told = 0;
	writer->cupti_path[0] = '\0';
	writer->torn_count[0] = writer->torn_count[1] = 0;
	if (writer->names_told)
		memset(writer->names_told, 0, writer->names_told_bytes);
}

void wt_recording_continue(struct wt_recording_writer *writer, uint32_t next_block_idx)
{
	writer->block_idx = next_block_idx;
}

/* ---- what goes in */

int wt_recording_add_cells(struct wt_recording_writer *writer, enum wt_ring_index ring,
                           const struct wt_cell *cells, size_t count)
{
	for (size_t i = 0; i < count && !writer->codec.error; i++) {
		struct wt_cell cell;

		memcpy(&cell, &cells[i], sizeof(cell)); /* what lies beyond its length goes */
		wt_codec_cell(&writer->codec, ring, &cell);
	}
	return writer->codec.error;
}

int wt_recording_add_torn(struct wt_recording_writer *writer, enum wt_ring_index ring, uint64_t pos)
{
	size_t count = writer->torn_count[ring], room = count ? 2 * count : 16;
	uint64_t *more;

	if (count == writer->torn_room[ring]) {
		more = realloc(writer->torn[ring], room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		writer->torn[ring] = more;
		writer->torn_room[ring] = room;
	}
	writer->torn[ring][writer->torn_count[ring]++] = pos;
	return 0;
}

bool wt_recording_needs_name(const struct wt_recording_writer *writer, uint32_t id)
{
	return id / 8 >= writer->names_told_bytes ||
	       !(writer->names_told[id / 8] & (1u << (id % 8)));
}

int wt_recording_add_name(struct wt_recording_writer *writer, uint32_t id, const char *name,
                          size_t length)
{
	struct wt_bytes *column = &writer->codec.column[WT_COLUMN_NAMES];
	int err = wt_bytes_put_varint(column, id);

	if (!err)
		err = wt_bytes_put_varint(column, length);
	if (!err)
		err = wt_bytes_put(column, name, length);
	if (!err && id / 8 >= writer->names_told_bytes) {
		size_t bytes = ((size_t)id / 8 + 4096) / 4096 * 4096;
		uint8_t *more = realloc(writer->names_told, bytes);

		if (!more)
			return -ENOMEM;
		memset(more + writer->names_told_bytes, 0, bytes - writer->names_told_bytes);
		writer->names_told = more;
		writer->names_told_bytes = bytes;
	}
	if (!err)
		writer->names_told[id / 8] |= (uint8_t)(1u << (id % 8));
	return err;
}

int wt_recording_add_device(struct wt_recording_writer *writer, const struct wt_device *device)
{
	int err = wt_bytes_put(&writer->codec.column[WT_COLUMN_DEVICES], device, sizeof(*device));

	writer->devices_told += !err;
	return err;
}

uint32_t wt_recording_devices_told(const struct wt_recording_writer *writer)
{
	return writer->devices_told;
}

/* ---- the block */

static int put_torn(struct wt_recording_writer *writer, const struct wt_recording_facts *facts)
{
	int err = 0;

	for (int ring = 0; ring < WT_RING_MAX; ring++) {
		uint64_t from = facts->start_pos[ring];

		for (size_t i = 0; i < writer->torn_count[ring] && !err; i++) {
			uint64_t pos = writer->torn[ring][i];

			err = wt_bytes_put_varint(&writer->codec.column[WT_COLUMN_TORN + ring],
			                          pos - from);
			from = pos + 1;
		}
		writer->torn_count[ring] = 0;
	}
	return err;
}

static int put_facts(struct wt_recording_writer *writer, const struct wt_recording_process *process,
                     const struct wt_recording_facts *facts)
{
	struct wt_bytes *column = writer->codec.column;
	struct wt_recording_facts copy = *facts;
	int err = put_torn(writer, facts);

	wt_codec_facts(&writer->codec, &copy);
	if (!err && writer->is_fresh)
		err = wt_bytes_put(&column[WT_COLUMN_PROCESS], process, sizeof(*process));
	if (!err && strcmp(writer->cupti_path, facts->cupti_path)) {
		memcpy(writer->cupti_path, facts->cupti_path, sizeof(writer->cupti_path));
		err = wt_bytes_put(&column[WT_COLUMN_CUPTI_PATH], facts->cupti_path,
		                   strnlen(facts->cupti_path, WT_TEXT_BYTES - 1));
	}
	if (!err && facts->flags & WT_RECORDING_LOST)
		err = wt_bytes_put(&column[WT_COLUMN_WHY], facts->why,
		                   strnlen(facts->why, sizeof(facts->why) - 1));
	return err ? err : writer->codec.error;
}

static int join_columns(struct wt_recording_writer *writer)
{
	int err = 0;

	writer->raw.length = 0;
	for (int i = 0; i < WT_COLUMN_MAX && !err; i++) {
		const struct wt_bytes *column = &writer->codec.column[i];

		err = wt_bytes_put_varint(&writer->raw, column->length);
		if (!err)
			err = wt_bytes_put(&writer->raw, column->at, column->length);
		if (!err && writer->raw.length > WT_RECORDING_RAW_BYTES_MAX)
			err = -E2BIG;
	}
	wt_codec_clear_columns(&writer->codec);
	return err;
}

/* Packs `raw` behind the place of the block's head. */
static int pack(struct wt_recording_writer *writer)
{
	z_stream *stream = &writer->stream;
	uint8_t piece[16384];
	int err = 0;

	stream->next_in = writer->raw.at;
	stream->avail_in = (uInt)writer->raw.length;
	do {
		stream->next_out = piece;
		stream->avail_out = sizeof(piece);
		if (deflate(stream, Z_SYNC_FLUSH) == Z_STREAM_ERROR)
			return -EIO;
		err = wt_bytes_put(&writer->block, piece, sizeof(piece) - stream->avail_out);
	} while (!err && stream->avail_out == 0);
	return err;
}

int wt_recording_make_block(struct wt_recording_writer *writer,
                            const struct wt_recording_process *process,
                            const struct wt_recording_facts *facts, const uint8_t **ret_bytes,
                            size_t *ret_length)
{
	struct wt_recording_block_head head = {
	        .magic = WT_RECORDING_BLOCK_MAGIC,
	        .flags = (facts->flags & ~WT_RECORDING_RESET) |
	                 (writer->is_fresh ? WT_RECORDING_RESET : 0),
	        .start_pos = {facts->start_pos[0], facts->start_pos[1]},
	        .end_pos = {facts->end_pos[0], facts->end_pos[1]},
	        .block_idx = writer->block_idx,
	};
	int err = put_facts(writer, process, facts);

	if (!err)
		err = join_columns(writer);
	writer->block.length = 0;
	if (!err)
		err = wt_bytes_put(&writer->block, &head, sizeof(head));
	if (!err)
		err = pack(writer);
	if (!err && writer->block.length > WT_RECORDING_PACKED_BYTES_MAX)
		err = -E2BIG;
	if (err)
		return err;
	head.raw_bytes = (uint32_t)writer->raw.length;
	head.packed_bytes = (uint32_t)(writer->block.length - sizeof(head));
	head.crc = wt_recording_block_crc(&head, writer->block.at + sizeof(head));
	memcpy(writer->block.at, &head, sizeof(head));
	writer->is_fresh = false;
	writer->block_idx++;
	*ret_bytes = writer->block.at;
	*ret_length = writer->block.length;
	return 0;
}

void wt_recording_make_head(struct wt_recording_head *head, const uint8_t uuid[16],
                            uint64_t created_ns)
{
	*head = (struct wt_recording_head){
	        .magic = WT_RECORDING_MAGIC,
	        .version = WT_RECORDING_VERSION,
	        .endian = WT_RECORDING_ENDIAN,
	        .head_bytes = sizeof(*head),
	        .block_head_bytes = sizeof(struct wt_recording_block_head),
	        .created_ns = created_ns,
	};
	memcpy(head->uuid, uuid, sizeof(head->uuid));
	head->crc = wt_recording_head_crc(head);
}
