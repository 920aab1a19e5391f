/*
 * fuzz_chunk.c - packed rows, as `chunk.data` may hold them: wt_chunk_open() and all columns. What can be
 * read is packed again and read again: it must be the same.
 *
 * The first byte: bits 0 and 1 are the kind; bit 2: the rest is the chunk, and with bit 3 its checksum is
 * set right. Else the rest is a number of rows, what they are made of, and changes of the chunk that they
 * become: "offset (2 bytes) value", with a checksum that holds again.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "schema/wt_chunk.h"
#include "tests/fuzz/fuzz.h"

#define BYTES_MAX (1 << 20)

static void seal(uint8_t *data, size_t bytes)
{
	uLong crc = crc32(0, NULL, 0);

	if (bytes < 8)
		return;
	crc = crc32(crc32(crc, data, 4), data + 8, (uInt)(bytes - 8));
	for (int i = 0; i < 4; i++)
		data[4 + i] = (uint8_t)(crc >> 8 * i);
}

/* Values of few bits, steps and noise, by what the input says of each column. */
static size_t pack_input(struct fuzz_input *input, struct wt_chunk_builder *builder,
                         const struct wt_chunk_table *shape, uint8_t *data)
{
	int64_t row[WT_CHUNK_COLUMNS] = {0}, id = 0;
	unsigned count = 1 + (unsigned)fuzz_integer(input, 1);
	uint8_t how[WT_CHUNK_COLUMNS];
	struct wt_chunk_meta meta;
	const void *packed, *configs;
	size_t bytes, configs_bytes;

	for (unsigned c = 0; c < shape->column_count; c++)
		how[c] = (uint8_t)fuzz_integer(input, 1);
	for (unsigned i = 0; i < count; i++) {
		uint32_t nulls = 0;

		for (unsigned c = 0; c < shape->column_count; c++) {
			uint64_t more = i * (uint64_t)how[c] * how[c] % (1 + (how[c] & 0x3fu));

			row[c] = (int64_t)((uint64_t)row[c] * (how[c] >> 7) +
			                   (more << (how[c] & 0x38)));
			nulls |= (uint32_t)(how[c] % 5 == 4 && i % 3 == 1) << c;
		}
		row[shape->id] = id += 1 + i % 3;
		nulls &= ~(UINT32_C(1) << shape->id);
		if (shape->process >= 0) {
			row[shape->process] = 7;
			nulls &= ~(UINT32_C(1) << shape->process);
		}
		fuzz_check(wt_chunk_add(builder, row, nulls) == 0, "a row is taken");
	}
	fuzz_check(!wt_chunk_encode(builder, &meta, &packed, &bytes, &configs, &configs_bytes) &&
	                   bytes < BYTES_MAX,
	           "rows are packed");
	memcpy(data, packed, bytes);
	return bytes;
}

/* The rows of one chunk are packed into another: they must be those. */
static void pack_again(struct wt_chunk *chunk, struct wt_chunk_builder *builder,
                       enum wt_chunk_kind kind, const struct wt_chunk_table *shape)
{
	const int64_t *values[WT_CHUNK_COLUMNS], *other;
	const uint8_t *nulls[WT_CHUNK_COLUMNS], *other_nulls;
	struct wt_chunk *again = NULL;
	struct wt_chunk_meta meta;
	const void *packed, *configs;
	size_t bytes, configs_bytes;
	uint32_t rows = wt_chunk_row_count(chunk);
	int64_t row[WT_CHUNK_COLUMNS];

	for (unsigned c = 0; c < shape->column_count; c++)
		if (wt_chunk_column(chunk, c, &values[c], &nulls[c]))
			return;
	for (uint32_t i = 0; i < rows; i++) {
		uint32_t bits = 0;

		for (unsigned c = 0; c < shape->column_count; c++) {
			row[c] = values[c][i];
			bits |= (uint32_t)(nulls[c] && nulls[c][i]) << c;
		}
		if (wt_chunk_add(builder, row, bits))
			break; /* of several processes: not what the builder makes */
	}
	rows = wt_chunk_rows(builder);
	if (!rows)
		return;
	fuzz_check(!wt_chunk_encode(builder, &meta, &packed, &bytes, &configs, &configs_bytes) &&
	                   !wt_chunk_open(kind, packed, bytes, &again),
	           "they are packed again");
	for (unsigned c = 0; c < shape->column_count; c++) {
		fuzz_check(!wt_chunk_column(again, c, &other, &other_nulls), "and read");
		for (uint32_t i = 0; i < rows; i++) {
			bool is_null = nulls[c] && nulls[c][i];

			fuzz_check(is_null == (other_nulls && other_nulls[i]) &&
			                   (is_null || other[i] == values[c][i]),
			           "and the same");
		}
	}
	wt_chunk_close(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct wt_chunk_builder *builders[WT_CHUNK_KIND_MAX];
	static uint8_t chunk_bytes[BYTES_MAX];
	struct fuzz_input input = {data, size};
	unsigned how = (unsigned)fuzz_integer(&input, 1);
	enum wt_chunk_kind kind = (enum wt_chunk_kind)(1 + (how & 3));
	const struct wt_chunk_table *shape = wt_chunk_table(kind);
	struct wt_chunk *chunk = NULL;
	uint8_t *exact;
	size_t bytes;

	if (!builders[kind] && wt_chunk_builder_new(kind, &builders[kind]))
		abort();
	if (how & 4) {
		bytes = input.left < BYTES_MAX ? input.left : BYTES_MAX;
		if (bytes)
			memcpy(chunk_bytes, input.at, bytes);
	} else {
		bytes = pack_input(&input, builders[kind], shape, chunk_bytes);
		while (input.left) {
			size_t at = fuzz_integer(&input, 2) % bytes;

			chunk_bytes[at] = (uint8_t)fuzz_integer(&input, 1);
		}
	}
	if (!(how & 4) || how & 8)
		seal(chunk_bytes, bytes);
	exact = malloc(bytes ? bytes : 1); /* so that ASan sees its end */
	memcpy(exact, chunk_bytes, bytes);
	if (!wt_chunk_open(kind, exact, bytes, &chunk))
		pack_again(chunk, builders[kind], kind, shape);
	wt_chunk_close(chunk);
	free(exact);
	return 0;
}
