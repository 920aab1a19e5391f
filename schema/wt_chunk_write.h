/*
 * wt_chunk_write.h - what the two halves of the encoder of chunks share: wt_chunk_encode.c chooses how
 * each column is stored, wt_chunk_vector.c lays vectors out. Not for others.
 */
#ifndef WT_CHUNK_WRITE_H
#define WT_CHUNK_WRITE_H

#include <zlib.h>

#include "schema/wt_chunk_impl.h"

#define CHUNK_SLOTS (4 * CHUNK_ENTRIES)

struct wt_chunk_builder {
	const struct chunk_layout *layout;
	enum wt_chunk_kind kind;
	uint32_t rows;
	uint32_t any_nulls; /* bits of all rows */
	uint32_t constant; /* bits: columns with one value. Of all below: while encoding */
	unsigned entries[CHUNK_GROUPS]; /* 0: the columns stand alone */
	uint16_t entry_row[CHUNK_GROUPS][CHUNK_ENTRIES]; /* the first row of each */
	uint16_t entry_of[CHUNK_GROUPS][WT_CHUNK_ROWS];
	uint16_t slots[CHUNK_SLOTS];
	uint32_t nulls[WT_CHUNK_ROWS];
	int64_t column[WT_CHUNK_COLUMNS][WT_CHUNK_ROWS];
	int64_t values[WT_CHUNK_ROWS], rest[WT_CHUNK_ROWS]; /* scratch */
	int64_t by_entry[CHUNK_ENTRIES];
	uint64_t residual[WT_CHUNK_ROWS]; /* of put_vector() */
	uint8_t null_bytes[WT_CHUNK_ROWS];
	uint8_t plane[WT_CHUNK_ROWS];
	z_stream deflate;
	uint8_t *blob, *configs;
};

/* Most bytes of a vector, and of a chunk. */
#define PLANE_BYTES_MAX (3 + WT_CHUNK_ROWS)
#define VECTOR_BYTES_MAX (1 + 2 * VARINT_BYTES + 9 * PLANE_BYTES_MAX)
#define CHUNK_BYTES_MAX                                                                            \
	(CHUNK_HEAD_BYTES +                                                                        \
	 CHUNK_SECTIONS * (VARINT_BYTES + 2 + VARINT_BYTES + 2 * VECTOR_BYTES_MAX))

static inline unsigned bit_count(uint64_t value)
{
	return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

/* What `count` values take, about, in bits: as they are, less their least. */
uint64_t wt_chunk_cost(const int64_t *values, uint32_t count);

/* `nulls`: a byte for each, or NULL. Returns the bytes it took. */
size_t wt_chunk_put_vector(struct wt_chunk_builder *builder, const int64_t *values, uint32_t count,
                           const uint8_t *nulls, uint8_t *to);

#endif /* WT_CHUNK_WRITE_H */
