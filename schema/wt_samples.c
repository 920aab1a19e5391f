/*
 * wt_samples.c - see wt_samples.h. Any thread; does not block.
 */
#include "schema/wt_samples.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define VERSION 2
#define COLUMNS 11
#define COLUMNS_V1 10 /* without instructions */
#define HEAD_BYTES_MAX (1 + 5 + 5 + COLUMNS)
#define SCALE_MAX 65536u
#define START_PLANES 8
#define PLANES 4
#define SAMPLE_BYTES(columns) (START_PLANES + ((size_t)(columns)-1) * PLANES)

enum mode { MODE_BITS, MODE_WHOLE, MODE_SCALED, MODE_ELAPSED, MODE_STEP, MODE_MAX };

/* Where each 32-bit column lies in a sample; the first column is start_ns. */
static const size_t offset_of[COLUMNS] = {
        offsetof(struct wt_sample, start_ns),        offsetof(struct wt_sample, duration_ns),
        offsetof(struct wt_sample, elapsed_cycles),  offsetof(struct wt_sample, active_avg),
        offsetof(struct wt_sample, active_min),      offsetof(struct wt_sample, active_max),
        offsetof(struct wt_sample, warps),           offsetof(struct wt_sample, tensor),
        offsetof(struct wt_sample, dram_read_bytes), offsetof(struct wt_sample, dram_write_bytes),
        offsetof(struct wt_sample, instructions),
};
#define INSTRUCTIONS (COLUMNS - 1)
#define FIRST_FLOAT 3

static uint32_t bits_at(const struct wt_sample *sample, int column)
{
	float unknown = WT_SAMPLE_UNKNOWN;
	uint32_t bits;

	memcpy(&bits, (const uint8_t *)sample + offset_of[column], sizeof(bits));
	if (column == INSTRUCTIONS && !(sample->flags & WT_SAMPLE_INSTRUCTIONS))
		memcpy(&bits, &unknown, sizeof(bits));
	return bits;
}

static bool float_to_integer(uint32_t bits, uint32_t scale, uint32_t *ret_value)
{
	double scaled;
	float value;

	memcpy(&value, &bits, sizeof(value));
	scaled = (double)value * scale;
	if (!(scaled >= 0) || scaled >= 4294967295.0 || bits >> 31)
		return false;
	*ret_value = (uint32_t)(scaled + 0.5);
	return (float)(*ret_value / (double)scale) == value;
}

static uint32_t integer_to_float(uint32_t value, uint32_t scale)
{
	float as_float = (float)(value / (double)scale);
	uint32_t bits;

	memcpy(&bits, &as_float, sizeof(bits));
	return bits;
}

static uint32_t zigzag(uint32_t difference)
{
	return difference << 1 ^ (difference >> 31 ? UINT32_MAX : 0);
}

static uint32_t unzigzag(uint32_t code)
{
	return code >> 1 ^ (code & 1 ? UINT32_MAX : 0);
}

static uint64_t zigzag64(uint64_t difference)
{
	return difference << 1 ^ (difference >> 63 ? UINT64_MAX : 0);
}

static uint64_t unzigzag64(uint64_t code)
{
	return code >> 1 ^ (code & 1 ? UINT64_MAX : 0);
}

/* ---- writing */

static unsigned bit_count(uint32_t value)
{
	return value ? 32 - (unsigned)__builtin_clz(value) : 0;
}

/* The mode with the fewest bits. */
static enum mode choose_mode(const struct wt_sample *samples, size_t count, int column,
                             uint32_t scale)
{
	uint64_t whole_bits = 0, elapsed_bits = 0;
	bool is_whole = true, is_scaled = scale > 1;
	uint32_t value;

	if (column < FIRST_FLOAT)
		return MODE_STEP;
	for (size_t i = 0; i < count && (is_whole || is_scaled); i++) {
		uint32_t bits = bits_at(&samples[i], column);

		is_scaled = is_scaled && float_to_integer(bits, scale, &value);
		is_whole = is_whole && float_to_integer(bits, 1, &value);
		if (!is_whole)
			continue;
		whole_bits += bit_count(value);
		elapsed_bits += bit_count(zigzag(value - samples[i].elapsed_cycles));
	}
	if (is_whole)
		return elapsed_bits < whole_bits ? MODE_ELAPSED : MODE_WHOLE;
	return is_scaled ? MODE_SCALED : MODE_BITS;
}

static void put_starts(const struct wt_sample *samples, size_t count, uint8_t *planes)
{
	uint64_t predicted = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t code = zigzag64(samples[i].start_ns - predicted);

		for (int plane = 0; plane < START_PLANES; plane++)
			planes[(size_t)plane * count + i] = (uint8_t)(code >> 8 * plane);
		predicted = samples[i].start_ns + samples[i].duration_ns;
	}
}

static void put_column(const struct wt_sample *samples, size_t count, int column, enum mode mode,
                       uint32_t scale, uint8_t *planes)
{
	uint32_t before = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t value = bits_at(&samples[i], column), code = value;

		if (mode == MODE_STEP) {
			code = zigzag(value - before);
			before = value;
		} else if (mode != MODE_BITS) {
			float_to_integer(value, mode == MODE_SCALED ? scale : 1, &code);
			if (mode == MODE_ELAPSED)
				code = zigzag(code - samples[i].elapsed_cycles);
		}
		for (int plane = 0; plane < PLANES; plane++)
			planes[(size_t)plane * count + i] = (uint8_t)(code >> 8 * plane);
	}
}

/* Planes are either zeros or noise: runs and single bytes are all there is to gain. */
static int pack(const uint8_t *raw, size_t raw_bytes, uint8_t *to, size_t room, size_t *ret_bytes)
{
	z_stream stream = {.next_in = (uint8_t *)raw,
	                   .avail_in = (uInt)raw_bytes,
	                   .next_out = to,
	                   .avail_out = (uInt)room};
	int code = deflateInit2(&stream, 6, Z_DEFLATED, 15, 8, Z_RLE);

	if (code != Z_OK)
		return -ENOMEM;
	code = deflate(&stream, Z_FINISH);
	*ret_bytes = stream.total_out;
	deflateEnd(&stream);
	return code == Z_STREAM_END ? 0 : -ENOMEM;
}

static size_t put_varint(uint8_t *to, uint32_t value)
{
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		to[n++] = (uint8_t)(value | 0x80);
	to[n++] = (uint8_t)value;
	return n;
}

int wt_samples_encode(const struct wt_sample *samples, size_t count, uint32_t sm_count,
                      uint8_t **ret_data, size_t *ret_bytes)
{
	uint32_t scale = sm_count && sm_count <= SCALE_MAX ? sm_count : 1;
	size_t raw_bytes = count * SAMPLE_BYTES(COLUMNS), room, used, packed = 0;
	uint8_t *raw, *data;
	int err;

	if (count < 1 || count > WT_SAMPLES_MAX)
		return -EINVAL;
	room = HEAD_BYTES_MAX + compressBound((uLong)raw_bytes) + 64;
	raw = malloc(raw_bytes);
	data = malloc(room);
	if (!raw || !data) {
		free(raw);
		free(data);
		return -ENOMEM;
	}
	data[0] = VERSION;
	used = 1 + put_varint(data + 1, (uint32_t)count);
	used += put_varint(data + used, scale);
	put_starts(samples, count, raw);
	data[used++] = MODE_STEP;
	for (int column = 1; column < COLUMNS; column++) {
		enum mode mode = choose_mode(samples, count, column, scale);
		size_t before = START_PLANES + (size_t)(column - 1) * PLANES;

		put_column(samples, count, column, mode, scale, raw + before * count);
		data[used++] = (uint8_t)mode;
	}
	err = pack(raw, raw_bytes, data + used, room - used, &packed);
	free(raw);
	if (err) {
		free(data);
		return err;
	}
	*ret_data = data;
	*ret_bytes = used + packed;
	return 0;
}

/* ---- reading */

struct head {
	uint32_t count, scale;
	int columns;
	const uint8_t *modes;
	size_t bytes; /* of the head itself */
};

/* How many bytes it took; 0: it makes no sense. */
static size_t take_varint(const uint8_t *data, size_t bytes, uint32_t *ret_value)
{
	uint64_t value = 0;

	for (size_t n = 0; n < bytes && n < 5; n++) {
		value |= (uint64_t)(data[n] & 0x7f) << 7 * n;
		if (data[n] & 0x80)
			continue;
		*ret_value = (uint32_t)value;
		return value <= UINT32_MAX ? n + 1 : 0;
	}
	return 0;
}

static bool take_head(const uint8_t *data, size_t bytes, struct head *head)
{
	size_t n = 1, more = take_varint(data + n, bytes - n, &head->count);

	head->columns = data[0] == 1 ? COLUMNS_V1 : COLUMNS;
	n += more;
	if (more)
		more = take_varint(data + n, bytes - n, &head->scale);
	n += more;
	if (!more || head->count < 1 || head->count > WT_SAMPLES_MAX || head->scale < 1 ||
	    head->scale > SCALE_MAX || bytes - n < (size_t)head->columns)
		return false;
	head->modes = data + n;
	head->bytes = n + (size_t)head->columns;
	for (int column = 0; column < head->columns; column++)
		if (head->modes[column] >= MODE_MAX ||
		    (column < FIRST_FLOAT) != (head->modes[column] == MODE_STEP))
			return false;
	return true;
}

/* Exactly raw_bytes must come out of exactly `bytes`. */
static int unpack(const uint8_t *data, size_t bytes, uint8_t *raw, size_t raw_bytes)
{
	z_stream stream = {.next_in = (uint8_t *)data,
	                   .avail_in = (uInt)bytes,
	                   .next_out = raw,
	                   .avail_out = (uInt)raw_bytes};
	int code = inflateInit(&stream);

	if (code != Z_OK)
		return -ENOMEM;
	code = inflate(&stream, Z_FINISH);
	inflateEnd(&stream);
	if (code == Z_MEM_ERROR)
		return -ENOMEM;
	return code == Z_STREAM_END && !stream.avail_in && !stream.avail_out ? 0 : -EBADMSG;
}

static void take_starts(const uint8_t *planes, size_t count, struct wt_sample *samples)
{
	uint64_t predicted = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t code = 0;

		for (int plane = 0; plane < START_PLANES; plane++)
			code |= (uint64_t)planes[(size_t)plane * count + i] << 8 * plane;
		samples[i].start_ns = predicted + unzigzag64(code);
		predicted = samples[i].start_ns + samples[i].duration_ns;
	}
}

static void take_column(const uint8_t *planes, const struct head *head, int column,
                        struct wt_sample *samples)
{
	enum mode mode = (enum mode)head->modes[column];
	uint32_t before = 0;

	for (size_t i = 0; i < head->count; i++) {
		uint32_t code = 0;

		for (int plane = 0; plane < PLANES; plane++)
			code |= (uint32_t)planes[(size_t)plane * head->count + i] << 8 * plane;
		if (mode == MODE_STEP)
			before = code = before + unzigzag(code);
		else if (mode == MODE_ELAPSED)
			code = integer_to_float(samples[i].elapsed_cycles + unzigzag(code), 1);
		else if (mode != MODE_BITS)
			code = integer_to_float(code, mode == MODE_SCALED ? head->scale : 1);
		memcpy((uint8_t *)&samples[i] + offset_of[column], &code, sizeof(code));
	}
}

/* What is known has its flag; the rest is 0, as samplers leave it. */
static void take_instructions(struct wt_sample *samples, size_t count, bool has_column)
{
	for (size_t i = 0; i < count && has_column; i++)
		if (samples[i].instructions == WT_SAMPLE_UNKNOWN)
			samples[i].instructions = 0;
		else
			samples[i].flags = WT_SAMPLE_INSTRUCTIONS;
}

int wt_samples_decode(const void *data, size_t bytes, struct wt_sample *samples, size_t room,
                      size_t *ret_count)
{
	const uint8_t *at = data;
	struct head head;
	size_t raw_bytes;
	uint8_t *raw;
	int err;

	if (bytes < 1)
		return -EBADMSG;
	if (at[0] < 1 || at[0] > VERSION)
		return at[0] > VERSION ? -ENOTSUP : -EBADMSG;
	if (!take_head(at, bytes, &head) || head.count > room || bytes - head.bytes > UINT32_MAX)
		return -EBADMSG;
	raw_bytes = head.count * SAMPLE_BYTES(head.columns);
	raw = malloc(raw_bytes);
	if (!raw)
		return -ENOMEM;
	err = unpack(at + head.bytes, bytes - head.bytes, raw, raw_bytes);
	if (!err) {
		memset(samples, 0, head.count * sizeof(*samples));
		for (int column = 1; column < head.columns; column++)
			take_column(raw + (START_PLANES + (size_t)(column - 1) * PLANES) *
			                            head.count,
			            &head, column, samples);
		take_starts(raw, head.count, samples);
		take_instructions(samples, head.count, head.columns > INSTRUCTIONS);
		*ret_count = head.count;
	}
	free(raw);
	return err;
}
