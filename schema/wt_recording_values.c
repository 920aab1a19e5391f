/*
 * wt_recording_values.c - bytes and numbers of a recording's columns: see wt_recording_codec.c.
 * Any thread, one at a time per codec; does not block.
 */
#include <stdlib.h>

#include "schema/wt_recording_impl.h"

/* ---- bytes */

int wt_bytes_put(struct wt_bytes *bytes, const void *from, size_t length)
{
	if (length > bytes->room - bytes->length) {
		size_t room = bytes->room ? bytes->room : 256;
		uint8_t *more;

		while (room - bytes->length < length)
			room *= 2;
		more = realloc(bytes->at, room);
		if (!more)
			return -ENOMEM;
		bytes->at = more;
		bytes->room = room;
	}
	if (length)
		memcpy(bytes->at + bytes->length, from, length);
	bytes->length += length;
	return 0;
}

int wt_bytes_put_varint(struct wt_bytes *bytes, uint64_t value)
{
	uint8_t text[10];
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		text[n++] = (uint8_t)(value | 0x80);
	text[n++] = (uint8_t)value;
	return wt_bytes_put(bytes, text, n);
}

int wt_bytes_take_varint(struct wt_bytes *bytes, uint64_t *ret_value)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64 && bytes->read < bytes->length; shift += 7) {
		uint8_t byte = bytes->at[bytes->read++];

		if (shift == 63 && byte > 1)
			return -EBADMSG;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret_value = value;
			return 0;
		}
	}
	return -EBADMSG;
}

/* ---- values */

static uint64_t zigzag(uint64_t difference)
{
	return difference << 1 ^ (difference >> 63 ? UINT64_MAX : 0);
}

static uint64_t unzigzag(uint64_t code)
{
	return code >> 1 ^ (code & 1 ? UINT64_MAX : 0);
}

void wt_codec_keep_error(struct wt_recording_codec *codec, int err)
{
	if (err && !codec->error)
		codec->error = err;
}

void wt_codec_plain(struct wt_recording_codec *codec, int column, uint64_t *value)
{
	int err = codec->is_reading ? wt_bytes_take_varint(&codec->column[column], value)
	                            : wt_bytes_put_varint(&codec->column[column], *value);

	wt_codec_keep_error(codec, err);
}

void wt_codec_value(struct wt_recording_codec *codec, int column, uint64_t *value,
                    uint64_t predicted)
{
	uint64_t code = codec->is_reading ? 0 : zigzag(*value - predicted);

	wt_codec_plain(codec, column, &code);
	if (codec->is_reading)
		*value = predicted + unzigzag(code);
}

/* Times: their lowest byte is noise that would spoil the packing of the rest, so it has a column
 * of its own. */
void wt_codec_time(struct wt_recording_codec *codec, int column, uint64_t *value,
                   uint64_t predicted)
{
	struct wt_bytes *low = &codec->column[column];
	uint64_t code = codec->is_reading ? 0 : zigzag(*value - predicted);
	uint64_t rest = code >> 8;
	uint8_t byte = (uint8_t)code;

	if (!codec->is_reading)
		wt_codec_keep_error(codec, wt_bytes_put(low, &byte, 1));
	else if (low->read < low->length)
		byte = low->at[low->read++];
	else
		wt_codec_keep_error(codec, -EBADMSG);
	wt_codec_plain(codec, column + 1, &rest);
	if (rest >> 56)
		wt_codec_keep_error(codec, -EBADMSG);
	if (codec->is_reading)
		*value = predicted + unzigzag(rest << 8 | byte);
}

void wt_codec_u32(struct wt_recording_codec *codec, int column, uint32_t *value, uint32_t predicted)
{
	/* As a signed difference of 32 bits: ids wrap. */
	uint64_t wide = (uint64_t)(int64_t)(int32_t)(*value - predicted);

	wt_codec_value(codec, column, &wide, 0);
	if (codec->is_reading)
		*value = predicted + (uint32_t)wide;
}

void wt_codec_bytes(struct wt_recording_codec *codec, int column, uint32_t *value)
{
	uint32_t read = 0;

	for (int i = 0; i < 4; i++) {
		struct wt_bytes *plane = &codec->column[column + i];
		uint8_t byte = (uint8_t)(*value >> 8 * i);

		if (!codec->is_reading)
			wt_codec_keep_error(codec, wt_bytes_put(plane, &byte, 1));
		else if (plane->read < plane->length)
			read |= (uint32_t)plane->at[plane->read++] << 8 * i;
		else
			wt_codec_keep_error(codec, -EBADMSG);
	}
	if (codec->is_reading)
		*value = read;
}

/* 0 stays 0; other values follow `last`. */
void wt_codec_ordinal(struct wt_recording_codec *codec, int column, uint64_t *value, uint64_t *last)
{
	uint64_t code = codec->is_reading ? 0 : *value ? zigzag(*value - *last - 1) : 0;
	bool is_zero = !codec->is_reading && *value == 0;

	/* 0 = nothing, else one more than the difference; the greatest difference needs a mark. */
	if (!codec->is_reading) {
		uint64_t shifted = is_zero ? 0 : code == UINT64_MAX ? UINT64_MAX : code + 1;

		wt_codec_plain(codec, column, &shifted);
		if (shifted == UINT64_MAX) {
			uint64_t which = code == UINT64_MAX;

			wt_codec_plain(codec, column, &which);
		}
	} else {
		uint64_t shifted = 0, which = 0;

		wt_codec_plain(codec, column, &shifted);
		if (shifted == UINT64_MAX)
			wt_codec_plain(codec, column, &which);
		code = which ? UINT64_MAX : shifted - 1;
		*value = shifted ? *last + 1 + unzigzag(code) : 0;
	}
	if (*value)
		*last = *value;
}
