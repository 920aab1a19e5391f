/*
 * wt_chunk_impl.h - what the encoder and the decoder of chunks share: the parts of the format. Not for
 * others. Any thread; does not block.
 *
 *   chunk   = version (1 byte), kind (1 byte), rows (u16), CRC-32 of all other bytes (u32), the length
 *             of each section (varints), the sections: the groups of the table, then its columns
 *   group   = empty, or entries (varint), which entry each row has (vector of rows)
 *   column  = mode (1 byte), what belongs to it
 *     VALUE   vector of rows
 *     STEP    vector of rows: less the end of the row before (only the column where a row begins)
 *     ENTRY   vector of entries: a row has the value of its entry
 *     BASE    vector of entries, vector of rows: their sum
 *     SCALED  shift (1 byte), vector of entries, vector of rows: (entry x duration + half) >> shift, to
 *             which the row's is added
 *   vector  = head (1 byte: planes, VECTOR_DELTA, VECTOR_NULLS), base (zigzag varint), the plane of
 *             NULLs (1 bit each, lowest first) where there are any, then the planes of bytes, the
 *             lowest first: value = base + those bytes, and with VECTOR_DELTA the value before
 *   plane   = PLANE_SAME, a byte | PLANE_RAW, bytes | PLANE_DEFLATE, length (varint), raw deflate
 *
 * The column where a row ends is stored as duration, less the column where it begins. What a NULL has
 * in the place of a value is any value. All arithmetic wraps at 64 bits.
 */
#ifndef WT_CHUNK_IMPL_H
#define WT_CHUNK_IMPL_H

#include "schema/wt_chunk.h"

#define CHUNK_VERSION 1
#define CHUNK_HEAD_BYTES 8
#define CHUNK_CRC_AT 4
#define CHUNK_GROUPS 2 /* most of a table */
#define CHUNK_SECTIONS (CHUNK_GROUPS + WT_CHUNK_COLUMNS)
#define CHUNK_ENTRIES 1024u /* most of a group */
#define CHUNK_SHIFT_MAX 62
#define VARINT_BYTES 10

enum column_mode { MODE_VALUE, MODE_STEP, MODE_ENTRY, MODE_BASE, MODE_SCALED };
enum plane_kind { PLANE_SAME, PLANE_RAW, PLANE_DEFLATE };
#define VECTOR_PLANES 0x0fu
#define VECTOR_DELTA 0x10u
#define VECTOR_NULLS 0x20u

/* How the columns of a table are stored. */
struct chunk_layout {
	struct wt_chunk_table table;
	unsigned groups;
	uint32_t group[CHUNK_GROUPS]; /* bits: columns that repeat together */
	uint32_t scaled; /* bits: columns that go with the duration, by entry of group 0 */
};

/* NULL: no such kind. */
const struct chunk_layout *wt_chunk_layout(enum wt_chunk_kind kind);

static inline uint64_t zigzag(uint64_t difference)
{
	return difference << 1 ^ (difference >> 63 ? UINT64_MAX : 0);
}

static inline uint64_t unzigzag(uint64_t code)
{
	return code >> 1 ^ (code & 1 ? UINT64_MAX : 0);
}

/* Of a column that goes with the duration: what `entry` lets expect. */
static inline uint64_t scaled_value(uint64_t entry, uint64_t duration_ns, unsigned shift)
{
	return (entry * duration_ns + ((UINT64_C(1) << shift) >> 1)) >> shift;
}

static inline size_t put_varint(uint8_t *to, uint64_t value)
{
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		to[n++] = (uint8_t)(value | 0x80);
	to[n++] = (uint8_t)value;
	return n;
}

/* How many bytes it took; 0: it makes no sense. */
static inline size_t take_varint(const uint8_t *data, size_t bytes, uint64_t *ret_value)
{
	uint64_t value = 0;

	for (size_t n = 0; n < bytes && n < VARINT_BYTES; n++) {
		if (n == VARINT_BYTES - 1 && data[n] > 1)
			return 0;
		value |= (uint64_t)(data[n] & 0x7f) << 7 * n;
		if (data[n] & 0x80)
			continue;
		*ret_value = value;
		return n + 1;
	}
	return 0;
}

#endif /* WT_CHUNK_IMPL_H */
