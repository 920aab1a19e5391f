/*
 * proto.c - see proto.h. Single-threaded; never blocks.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/proto.h"

enum { TYPE_VARINT = 0, TYPE_FIXED64 = 1, TYPE_BYTES = 2 };

#define VARINT_BYTES_MAX 10

void wt_proto_fini(struct wt_proto *proto)
{
	free(proto->bytes);
	memset(proto, 0, sizeof(*proto));
}

void wt_proto_clear(struct wt_proto *proto)
{
	proto->count = 0;
	proto->is_failed = false;
}

/* Room for `more` bytes. */
static bool has_room(struct wt_proto *proto, size_t more)
{
	size_t room = proto->room ? proto->room : 1024;
	uint8_t *grown;

	if (proto->is_failed)
		return false;
	if (proto->room - proto->count >= more)
		return true;
	while (room - proto->count < more && room <= SIZE_MAX / 4)
		room *= 2;
	grown = realloc(proto->bytes, room);
	if (!grown || room - proto->count < more) {
		proto->bytes = grown ? grown : proto->bytes;
		proto->is_failed = true;
		return false;
	}
	proto->bytes = grown;
	proto->room = room;
	return true;
}

size_t wt_proto_varint(uint8_t *bytes, uint64_t value)
{
	size_t count = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[count++] = (uint8_t)(value | 0x80);
	bytes[count++] = (uint8_t)value;
	return count;
}

static void put_varint(struct wt_proto *proto, uint64_t value)
{
	if (has_room(proto, VARINT_BYTES_MAX))
		proto->count += wt_proto_varint(proto->bytes + proto->count, value);
}

static void put_key(struct wt_proto *proto, uint32_t field, unsigned type)
{
	put_varint(proto, (uint64_t)field << 3 | type);
}

void wt_proto_uint(struct wt_proto *proto, uint32_t field, uint64_t value)
{
	put_key(proto, field, TYPE_VARINT);
	put_varint(proto, value);
}

void wt_proto_int(struct wt_proto *proto, uint32_t field, int64_t value)
{
	wt_proto_uint(proto, field, (uint64_t)value);
}

void wt_proto_fixed64(struct wt_proto *proto, uint32_t field, uint64_t value)
{
	put_key(proto, field, TYPE_FIXED64);
	if (!has_room(proto, 8))
		return;
	for (int i = 0; i < 8; i++)
		proto->bytes[proto->count++] = (uint8_t)(value >> 8 * i);
}

void wt_proto_double(struct wt_proto *proto, uint32_t field, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	wt_proto_fixed64(proto, field, bits);
}

void wt_proto_bytes(struct wt_proto *proto, uint32_t field, const void *bytes, size_t count)
{
	put_key(proto, field, TYPE_BYTES);
	put_varint(proto, count);
	wt_proto_raw(proto, bytes, count);
}

void wt_proto_raw(struct wt_proto *proto, const void *bytes, size_t count)
{
	if (!count || !has_room(proto, count))
		return;
	memcpy(proto->bytes + proto->count, bytes, count);
	proto->count += count;
}

void wt_proto_text(struct wt_proto *proto, uint32_t field, const char *text)
{
	wt_proto_bytes(proto, field, text, strlen(text));
}

/* Most are short: one byte is kept for the length, and what is longer is moved. */
size_t wt_proto_begin(struct wt_proto *proto, uint32_t field)
{
	put_key(proto, field, TYPE_BYTES);
	if (has_room(proto, 1))
		proto->count++;
	return proto->count;
}

void wt_proto_end(struct wt_proto *proto, size_t at)
{
	uint8_t length[VARINT_BYTES_MAX];
	size_t count, length_count;

	if (proto->is_failed)
		return;
	count = proto->count - at;
	length_count = wt_proto_varint(length, count);
	if (length_count > 1) {
		if (!has_room(proto, length_count - 1))
			return;
		memmove(proto->bytes + at + length_count - 1, proto->bytes + at, count);
		proto->count += length_count - 1;
	}
	memcpy(proto->bytes + at - 1, length, length_count);
}
