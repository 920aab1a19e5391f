/*
 * proto.h - a writer of protocol buffers' wire format: one message at a time into memory that is used
 * again. Only what is written here is needed: varints, fixed 64 bits, bytes, messages within messages.
 *
 *	wt_proto_clear(&proto);
 *	wt_proto_uint(&proto, 8, time_ns);
 *	at = wt_proto_begin(&proto, 11);
 *	wt_proto_text(&proto, 23, "name");
 *	wt_proto_end(&proto, at);
 *
 * The first failure (no memory) stays: write without checks and look at is_failed once. Field numbers are
 * the caller's. Single-threaded; never blocks.
 */
#ifndef WT_CLI_PROTO_H
#define WT_CLI_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wt_proto {
	uint8_t *bytes;
	size_t count, room;
	bool is_failed;
};

void wt_proto_fini(struct wt_proto *proto);
void wt_proto_clear(struct wt_proto *proto); /* the failure, too */

void wt_proto_uint(struct wt_proto *proto, uint32_t field, uint64_t value);
/* int64, as ten bytes where it is negative. */
void wt_proto_int(struct wt_proto *proto, uint32_t field, int64_t value);
void wt_proto_fixed64(struct wt_proto *proto, uint32_t field, uint64_t value);
void wt_proto_double(struct wt_proto *proto, uint32_t field, double value);
void wt_proto_bytes(struct wt_proto *proto, uint32_t field, const void *bytes, size_t count);
/* Without a field: more of the one that is open. */
void wt_proto_raw(struct wt_proto *proto, const void *bytes, size_t count);
void wt_proto_text(struct wt_proto *proto, uint32_t field, const char *text);

/* A message within: what is written up to the end is its. Ends go by what they began with. */
size_t wt_proto_begin(struct wt_proto *proto, uint32_t field);
void wt_proto_end(struct wt_proto *proto, size_t at);

/* The varint of `value` into `bytes`, at least 10 of them; its length. */
size_t wt_proto_varint(uint8_t *bytes, uint64_t value);

#endif /* WT_CLI_PROTO_H */
