/*
 * wt_chunk_vector.c - vectors of chunks, the writing half: see wt_chunk_impl.h. Any thread; does not
 * block.
 */
#include <string.h>

#include "schema/wt_chunk_write.h"

/* As planes of deflate only where that is less than the bytes themselves. */
static size_t put_plane(struct wt_chunk_builder *b, const uint8_t *plane, uint32_t count,
                        uint8_t *to)
{
	z_stream *stream = &b->deflate;

	if (count == 1 || !memcmp(plane, plane + 1, count - 1)) {
		to[0] = PLANE_SAME;
		to[1] = plane[0];
		return 2;
	}
	deflateReset(stream);
	stream->next_in = (uint8_t *)plane;
	stream->avail_in = count;
	stream->next_out = to + 3;
	stream->avail_out = count;
	if (deflate(stream, Z_FINISH) == Z_STREAM_END && stream->total_out + 2 < count) {
		to[0] = PLANE_DEFLATE;
		to[1] = (uint8_t)stream->total_out;
		to[2] = (uint8_t)(stream->total_out >> 8);
		return 3 + stream->total_out;
	}
	to[0] = PLANE_RAW;
	memcpy(to + 1, plane, count);
	return 1 + (size_t)count;
}

static size_t put_nulls(struct wt_chunk_builder *b, const uint8_t *nulls, uint32_t count,
                        uint8_t *to)
{
	uint32_t bytes = (count + 7) / 8;

	memset(b->plane, 0, bytes);
	for (uint32_t i = 0; i < count; i++)
		b->plane[i / 8] |= (uint8_t)(nulls[i] << i % 8);
	return put_plane(b, b->plane, bytes, to);
}

uint64_t wt_chunk_cost(const int64_t *values, uint32_t count)
{
	int64_t least = values[0];
	uint64_t bits = 0;

	for (uint32_t i = 1; i < count; i++)
		least = values[i] < least ? values[i] : least;
	for (uint32_t i = 0; i < count; i++)
		bits += bit_count((uint64_t)values[i] - (uint64_t)least);
	return bits;
}

static uint64_t cost_of_steps(const int64_t *values, uint32_t count)
{
	uint64_t bits = 0;

	for (uint32_t i = 1; i < count; i++)
		bits += bit_count(zigzag((uint64_t)values[i] - (uint64_t)values[i - 1]));
	return bits;
}

/* What is left of the values, never below 0; returns the base. */
static int64_t make_residual(struct wt_chunk_builder *b, const int64_t *values, uint32_t count,
                             bool is_delta)
{
	int64_t least = INT64_MAX;

	for (uint32_t i = is_delta; i < count; i++) {
		uint64_t before = is_delta ? (uint64_t)values[i - 1] : 0;
		int64_t rest = (int64_t)((uint64_t)values[i] - before);

		b->residual[i] = (uint64_t)rest;
		least = rest < least ? rest : least;
	}
	for (uint32_t i = is_delta; i < count; i++)
		b->residual[i] -= (uint64_t)least;
	if (is_delta)
		b->residual[0] = count > 1 ? b->residual[1] : 0;
	return least;
}

size_t wt_chunk_put_vector(struct wt_chunk_builder *b, const int64_t *values, uint32_t count,
                           const uint8_t *nulls, uint8_t *to)
{
	bool is_delta = count > 1 && cost_of_steps(values, count) < wt_chunk_cost(values, count);
	int64_t base = make_residual(b, values, count, is_delta);
	uint64_t all = 0;
	unsigned planes;
	size_t n = 1;

	for (uint32_t i = 0; i < count; i++)
		all |= b->residual[i];
	planes = (bit_count(all) + 7) / 8;
	to[0] = (uint8_t)(planes | (is_delta ? VECTOR_DELTA : 0) | (nulls ? VECTOR_NULLS : 0));
	n += put_varint(to + n, zigzag((uint64_t)base));
	if (is_delta)
		n += put_varint(to + n, zigzag((uint64_t)values[0]));
	if (nulls)
		n += put_nulls(b, nulls, count, to + n);
	for (unsigned p = 0; p < planes; p++) {
		for (uint32_t i = 0; i < count; i++)
			b->plane[i] = (uint8_t)(b->residual[i] >> 8 * p);
		n += put_plane(b, b->plane, count, to + n);
	}
	return n;
}
