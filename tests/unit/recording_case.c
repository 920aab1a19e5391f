/*
 * recording_case.c - see recording_case.h.
 */
#include "tests/unit/recording_case.h"

#include <stdlib.h>
#include <zlib.h>

#include "schema/wt_paths.h"
#include "schema/wt_recording_impl.h"

int recording_read(void *arg, void *bytes, size_t want, size_t *ret_got)
{
	struct recording_file *file = arg;
	size_t left = file->length - file->at;

	*ret_got = want < left ? want : left;
	if (*ret_got)
		memcpy(bytes, file->bytes + file->at, *ret_got);
	file->at += *ret_got;
	return 0;
}

void recording_put(struct recording_file *file, const void *bytes, size_t length)
{
	while (file->room - file->length < length) {
		file->room = file->room ? 2 * file->room : 4096;
		file->bytes = realloc(file->bytes, file->room);
		if (!file->bytes)
			abort();
	}
	if (length)
		memcpy(file->bytes + file->length, bytes, length);
	file->length += length;
}

void recording_free(struct recording_file *file)
{
	free(file->bytes);
	*file = (struct recording_file){0};
}

void recording_begin(struct recording_file *file)
{
	static const uint8_t uuid[16] = "recording case";
	struct wt_recording_head head;

	wt_recording_make_head(&head, uuid, 1);
	recording_put(file, &head, sizeof(head));
}

void recording_wrap(struct recording_file *file, uint32_t block_idx, uint32_t flags,
                    const uint64_t end_pos[WT_RING_MAX], const void *raw, size_t length)
{
	struct wt_recording_block_head head = {.magic = WT_RECORDING_BLOCK_MAGIC,
	                                       .flags = flags,
	                                       .raw_bytes = (uint32_t)length,
	                                       .end_pos = {end_pos[0], end_pos[1]},
	                                       .block_idx = block_idx};
	size_t room = compressBound((uLong)length) + 64;
	uint8_t *packed = malloc(room);
	z_stream stream = {0};

	if (!packed || deflateInit(&stream, 1) != Z_OK)
		abort();
	stream.next_in = (uint8_t *)raw;
	stream.avail_in = (uInt)length;
	stream.next_out = packed;
	stream.avail_out = (uInt)room;
	deflate(&stream, Z_SYNC_FLUSH);
	head.packed_bytes = (uint32_t)stream.total_out;
	deflateEnd(&stream);
	head.crc = wt_recording_block_crc(&head, packed);
	recording_put(file, &head, sizeof(head));
	recording_put(file, packed, head.packed_bytes);
	free(packed);
}

uint8_t *recording_unwrap(const struct recording_file *file, size_t *ret_length)
{
	struct wt_recording_block_head head;
	const uint8_t *at = file->bytes + sizeof(struct wt_recording_head);
	z_stream stream = {0};
	uint8_t *raw;

	memcpy(&head, at, sizeof(head));
	raw = malloc(head.raw_bytes + 1);
	if (!raw || inflateInit(&stream) != Z_OK)
		abort();
	stream.next_in = (uint8_t *)at + sizeof(head);
	stream.avail_in = head.packed_bytes;
	stream.next_out = raw;
	stream.avail_out = head.raw_bytes + 1;
	inflate(&stream, Z_SYNC_FLUSH);
	*ret_length = stream.total_out;
	inflateEnd(&stream);
	return raw;
}

unsigned recording_read_all(struct recording_file *file, int *ret_rc, uint64_t *ret_cells,
                            uint64_t *ret_hash)
{
	struct wt_recording_reader *reader = NULL;
	static struct wt_recording_block block; /* one thread; it has long texts */
	char why[160] = "";
	unsigned blocks = 0;

	file->at = 0;
	*ret_cells = *ret_hash = 0;
	*ret_rc = wt_recording_reader_create(recording_read, file, &reader, why, sizeof(why));
	while (!*ret_rc && (*ret_rc = wt_recording_next(reader, &block, why, sizeof(why))) > 0) {
		*ret_rc = 0;
		blocks++;
		for (int ring = 0; ring < WT_RING_MAX; ring++) {
			*ret_cells += block.cell_count[ring];
			for (size_t i = 0; i < block.cell_count[ring]; i++)
				*ret_hash = *ret_hash * 31 +
				            wt_fnv1a(&block.cells[ring][i], sizeof(struct wt_cell));
		}
		for (size_t i = 0; i < block.name_count; i++)
			*ret_hash = *ret_hash * 31 +
			            wt_fnv1a(block.names[i].name, block.names[i].length);
	}
	if (*ret_rc < 0 && !why[0])
		abort(); /* whoever stops says why */
	wt_recording_reader_destroy(reader);
	return blocks;
}
