/*
 * wt_recording_read.c - reads recordings: see wt_recording.h. The file is hostile until proven
 * otherwise: sizes are bounds for loops, never for allocations made in advance.
 *
 * Any thread, one at a time per reader; blocks as the caller's read function does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "schema/wt_recording_impl.h"

#define TIME_MAX_NS (INT64_C(1) << 62)

struct wt_recording_reader {
	wt_recording_read_fn read;
	void *arg;
	struct wt_recording_head head;
	struct wt_recording_process process;
	struct wt_recording_codec codec;
	z_stream stream;
	bool is_stream_open, is_begun, is_ended;
	uint32_t block_idx; /* of the next block */
	uint32_t device_count; /* told since the last reset */
	uint64_t told_pos[WT_RING_MAX];
	uint64_t good_bytes;
	char cupti_path[WT_TEXT_BYTES];

	struct wt_bytes packed, raw;
	struct wt_cell *cells[WT_RING_MAX];
	size_t cell_room[WT_RING_MAX];
	struct wt_recording_name *names;
	size_t name_room;
	struct wt_device *devices;
};

/* ---- reader */

int wt_recording_reader_create(wt_recording_read_fn read, void *arg,
                               struct wt_recording_reader **ret_reader, char *why, size_t why_bytes)
{
	struct wt_recording_reader *reader = calloc(1, sizeof(*reader));
	int err;

	if (!reader)
		return wt_recording_say(why, why_bytes, -ENOMEM, "out of memory");
	reader->read = read;
	reader->arg = arg;
	err = wt_recording_read_head(read, arg, &reader->head, why, why_bytes);
	if (!err && (wt_codec_init(&reader->codec, true) || inflateInit(&reader->stream) != Z_OK))
		err = wt_recording_say(why, why_bytes, -ENOMEM, "out of memory");
	else if (!err)
		reader->is_stream_open = true;
	if (err) {
		wt_recording_reader_destroy(reader);
		return err;
	}
	reader->good_bytes = sizeof(reader->head);
	*ret_reader = reader;
	return 0;
}

void wt_recording_reader_destroy(struct wt_recording_reader *reader)
{
	if (!reader)
		return;
	if (reader->is_stream_open)
		inflateEnd(&reader->stream);
	wt_codec_fini(&reader->codec);
	for (int i = 0; i < WT_RING_MAX; i++)
		free(reader->cells[i]);
	free(reader->packed.at);
	free(reader->raw.at);
	free(reader->names);
	free(reader->devices);
	free(reader);
}

const struct wt_recording_process *wt_recording_process_of(const struct wt_recording_reader *reader)
{
	return &reader->process;
}

const struct wt_recording_head *wt_recording_head_of(const struct wt_recording_reader *reader)
{
	return &reader->head;
}

uint64_t wt_recording_good_bytes(const struct wt_recording_reader *reader)
{
	return reader->good_bytes;
}

/* ---- a block */

/* Exactly raw_bytes must come out of exactly packed_bytes. NULL, or what is wrong. */
static const char *unpack(struct wt_recording_reader *reader,
                          const struct wt_recording_block_head *head)
{
	z_stream *stream = &reader->stream;
	uint8_t piece[16384];
	int code = Z_OK;

	reader->raw.length = reader->raw.read = 0;
	stream->next_in = reader->packed.at;
	stream->avail_in = head->packed_bytes;
	while (code == Z_OK) {
		size_t got;

		stream->next_out = piece;
		stream->avail_out = sizeof(piece);
		code = inflate(stream, Z_SYNC_FLUSH);
		got = sizeof(piece) - stream->avail_out;
		if (got > head->raw_bytes - reader->raw.length)
			return "a block is larger than it says";
		if (wt_bytes_put(&reader->raw, piece, got))
			return "out of memory";
		if (stream->avail_in == 0 && stream->avail_out > 0)
			break;
	}
	if ((code != Z_OK && code != Z_BUF_ERROR) || stream->avail_in ||
	    reader->raw.length != head->raw_bytes)
		return "a block can't be unpacked";
	return NULL;
}

/* The columns become views of `raw`. */
static const char *split_columns(struct wt_recording_reader *reader)
{
	for (int i = 0; i < WT_COLUMN_MAX; i++) {
		struct wt_bytes *column = &reader->codec.column[i];
		uint64_t length;

		/* A block made by an earlier version: it has no further columns. */
		if (i >= WT_COLUMNS_V2 && !wt_bytes_left(&reader->raw)) {
			*column = (struct wt_bytes){0};
			continue;
		}
		if (wt_bytes_take_varint(&reader->raw, &length) ||
		    length > wt_bytes_left(&reader->raw))
			return "a column is longer than its block";
		*column = (struct wt_bytes){.at = reader->raw.at + reader->raw.read,
		                            .length = length};
		reader->raw.read += length;
	}
	return wt_bytes_left(&reader->raw) ? "a block is longer than its columns" : NULL;
}

#define END(text) ((text)[sizeof(text) - 1] = '\0')

static const char *take_process(struct wt_recording_reader *reader, bool is_reset)
{
	const struct wt_bytes *column = &reader->codec.column[WT_COLUMN_PROCESS];
	struct wt_recording_process *process = &reader->process;

	if (column->length != (is_reset ? sizeof(*process) : 0) &&
	    (!is_reset || column->length != WT_RECORDING_PROCESS_BYTES_V2))
		return "the process is not told as it should";
	if (!is_reset)
		return NULL;
	memset(process, 0, sizeof(*process));
	memcpy(process, column->at, column->length);
	END(process->boot_id);
	END(process->hostname);
	END(process->library_version);
	END(process->run_key);
	END(process->run_name);
	END(process->run_tags);
	END(process->executable);
	END(process->command);
	if (process->pid <= 0 || process->arena_bytes < 8 ||
	    process->arena_bytes > WT_SEGMENT_BYTES_MAX || process->producer > WT_PRODUCER_SAMPLER)
		return "a process that can't be";
	return NULL;
}

static const char *take_text(const struct wt_bytes *column, char *text, size_t text_bytes)
{
	if (column->length >= text_bytes)
		return "a text is too long";
	if (column->length) {
		memcpy(text, column->at, column->length);
		text[column->length] = '\0';
	}
	return NULL;
}

static const char *take_devices(struct wt_recording_reader *reader,
                                struct wt_recording_block *block)
{
	const struct wt_bytes *column = &reader->codec.column[WT_COLUMN_DEVICES];
	size_t count = column->length / sizeof(struct wt_device);

	if (column->length % sizeof(struct wt_device) ||
	    count > WT_DEVICES_MAX - reader->device_count)
		return "more devices than there can be";
	if (!reader->devices)
		reader->devices = calloc(WT_DEVICES_MAX, sizeof(*reader->devices));
	if (!reader->devices)
		return "out of memory";
	if (count)
		memcpy(reader->devices, column->at, column->length);
	for (size_t i = 0; i < count; i++)
		END(reader->devices[i].name);
	block->devices = reader->devices;
	block->device_first = reader->device_count;
	block->device_count = (uint32_t)count;
	reader->device_count += (uint32_t)count;
	return NULL;
}

#undef END

/* Names stay where they are: in `raw`. */
static const char *take_names(struct wt_recording_reader *reader, struct wt_recording_block *block)
{
	struct wt_bytes *column = &reader->codec.column[WT_COLUMN_NAMES];
	size_t count = 0;

	while (wt_bytes_left(column)) {
		struct wt_recording_name *more;
		uint64_t id, length;

		if (wt_bytes_take_varint(column, &id) || wt_bytes_take_varint(column, &length) ||
		    length > wt_bytes_left(column))
			return "a kernel name is longer than its column";
		if (length == 0 || length > WT_NAME_BYTES_MAX || id == 0 ||
		    id * 8 + sizeof(struct wt_name_entry) + length > reader->process.arena_bytes ||
		    id > UINT32_MAX)
			return "a kernel name that can't be";
		if (count == WT_RECORDING_NAMES_MAX)
			return "more kernel names than there can be";
		if (count == reader->name_room) {
			size_t room = count ? 2 * count : 64;

			more = realloc(reader->names, room * sizeof(*more));
			if (!more)
				return "out of memory";
			reader->names = more;
			reader->name_room = room;
		}
		reader->names[count++] = (struct wt_recording_name){
		        (uint32_t)id, (uint32_t)length, (const char *)column->at + column->read};
		column->read += length;
	}
	block->names = reader->names;
	block->name_count = count;
	return NULL;
}

static struct wt_cell *room_for(struct wt_recording_reader *reader, int ring, size_t count)
{
	if (count > reader->cell_room[ring]) {
		size_t room = reader->cell_room[ring] ? 2 * reader->cell_room[ring] : 1024;
		struct wt_cell *more;

		while (room < count)
			room *= 2;
		more = realloc(reader->cells[ring], room * sizeof(*more));
		if (!more)
			return NULL;
		reader->cells[ring] = more;
		reader->cell_room[ring] = room;
	}
	return &reader->cells[ring][count - 1];
}

/* The next torn position at or after `from`; `end` if none. */
static uint64_t next_torn(struct wt_recording_reader *reader, int ring, uint64_t from, uint64_t end)
{
	struct wt_bytes *column = &reader->codec.column[WT_COLUMN_TORN + ring];
	uint64_t cells;

	if (!wt_bytes_left(column))
		return end;
	if (wt_bytes_take_varint(column, &cells) || cells >= end - from) {
		reader->codec.error = -EBADMSG;
		return end;
	}
	return from + cells;
}

/* All cells of a ring; those at positions that were told before are decoded and left out. */
static const char *take_cells(struct wt_recording_reader *reader, int ring,
                              struct wt_recording_block *block)
{
	struct wt_recording_codec *codec = &reader->codec;
	uint64_t end = block->facts.end_pos[ring];
	uint64_t torn = next_torn(reader, ring, block->facts.start_pos[ring], end);
	size_t count = 0;

	for (uint64_t pos = block->facts.start_pos[ring]; pos < end && !codec->error; pos++) {
		struct wt_cell *cell;

		if (pos == torn) {
			torn = next_torn(reader, ring, pos + 1, end);
			continue;
		}
		cell = room_for(reader, ring, count + 1);
		if (!cell)
			return "out of memory";
		wt_codec_cell(codec, (enum wt_ring_index)ring, cell);
		atomic_init(&cell->stamp, pos + 1);
		count += pos >= reader->told_pos[ring];
	}
	if (codec->error || wt_bytes_left(&codec->column[WT_COLUMN_TORN + ring]))
		return "the cells of a block make no sense";
	block->cells[ring] = reader->cells[ring];
	block->cell_count[ring] = count;
	return NULL;
}

static const char *take_block(struct wt_recording_reader *reader,
                              const struct wt_recording_block_head *head,
                              struct wt_recording_block *block)
{
	struct wt_recording_codec *codec = &reader->codec;
	const char *wrong = unpack(reader, head);

	if (!wrong)
		wrong = split_columns(reader);
	if (!wrong)
		wrong = take_process(reader, (head->flags & WT_RECORDING_RESET) != 0);
	if (!wrong)
		wrong = take_text(&codec->column[WT_COLUMN_CUPTI_PATH], reader->cupti_path,
		                  sizeof(reader->cupti_path));
	if (!wrong)
		wrong = take_text(&codec->column[WT_COLUMN_WHY], block->facts.why,
		                  sizeof(block->facts.why));
	if (!wrong)
		wrong = take_devices(reader, block);
	if (!wrong)
		wrong = take_names(reader, block);
	for (int ring = 0; ring < WT_RING_MAX && !wrong; ring++)
		wrong = take_cells(reader, ring, block);
	if (wrong)
		return wrong;
	wt_codec_facts(codec, &block->facts);
	for (int i = 0; i < WT_COLUMN_MAX; i++)
		if (wt_bytes_left(&codec->column[i]) && i != WT_COLUMN_PROCESS &&
		    i != WT_COLUMN_CUPTI_PATH && i != WT_COLUMN_WHY && i != WT_COLUMN_DEVICES)
			return "a block holds more than its cells";
	if (codec->error || block->facts.now_ns < 1 || block->facts.now_ns > TIME_MAX_NS)
		return "the counters of a block make no sense";
	return NULL;
}

/* Views of `raw` are no memory of the codec's. */
static void drop_views(struct wt_recording_reader *reader)
{
	memset(reader->codec.column, 0, sizeof(reader->codec.column));
}

static const char *begin_block(struct wt_recording_reader *reader,
                               const struct wt_recording_block_head *head,
                               struct wt_recording_block *block)
{
	if (head->block_idx != reader->block_idx)
		return "a block is missing or out of order";
	if (head->flags & WT_RECORDING_RESET) {
		wt_codec_reset(&reader->codec);
		inflateReset(&reader->stream);
		reader->device_count = 0;
		reader->cupti_path[0] = '\0';
	} else if (!reader->is_begun) {
		return "the first block refers to one before it";
	}
	memset(block, 0, sizeof(*block));
	block->block_idx = head->block_idx;
	block->facts.flags = head->flags;
	memcpy(block->facts.start_pos, head->start_pos, sizeof(head->start_pos));
	memcpy(block->facts.end_pos, head->end_pos, sizeof(head->end_pos));
	return NULL;
}

int wt_recording_next(struct wt_recording_reader *reader, struct wt_recording_block *ret_block,
                      char *why, size_t why_bytes)
{
	struct wt_recording_block_head head;
	const char *wrong;
	int rc;

	if (reader->is_ended)
		return 0;
	rc = wt_recording_read_block(reader->read, reader->arg, &head, &reader->packed, why,
	                             why_bytes);
	if (rc <= 0) {
		reader->is_ended = true;
		return rc;
	}
	wrong = begin_block(reader, &head, ret_block);
	if (!wrong)
		wrong = take_block(reader, &head, ret_block);
	drop_views(reader);
	if (wrong) {
		reader->is_ended = true;
		return wt_recording_say(why, why_bytes,
		                        strcmp(wrong, "out of memory") ? -EBADMSG : -ENOMEM, "%s",
		                        wrong);
	}
	memcpy(ret_block->facts.cupti_path, reader->cupti_path, sizeof(reader->cupti_path));
	for (int i = 0; i < WT_RING_MAX; i++) {
		if (ret_block->facts.start_pos[i] < reader->told_pos[i])
			ret_block->facts.start_pos[i] = reader->told_pos[i];
		if (ret_block->facts.end_pos[i] < reader->told_pos[i])
			ret_block->facts.end_pos[i] = reader->told_pos[i];
		reader->told_pos[i] = ret_block->facts.end_pos[i];
	}
	reader->is_begun = true;
	reader->block_idx++;
	reader->good_bytes += sizeof(head) + head.packed_bytes;
	return 1;
}
