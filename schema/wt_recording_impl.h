/*
 * wt_recording_impl.h - inside of a recording's block: its columns, and the state that writer and
 * reader carry from block to block. Only for wt_recording_*.c.
 */
#ifndef WT_RECORDING_IMPL_H
#define WT_RECORDING_IMPL_H

#include "schema/wt_recording.h"

#define WT_RECORDING_SAMPLE_VALUES 10 /* of 32 bits, after the start; 9 before version 4 */

/* In the order of the file. A change is a new WT_RECORDING_VERSION. */
enum wt_recording_column {
	WT_COLUMN_FACTS, /* varints: now_ns - the last one, count, counters - the last ones */
	WT_COLUMN_PROCESS, /* RESET: struct wt_recording_process */
	WT_COLUMN_CUPTI_PATH, /* when it changed */
	WT_COLUMN_WHY, /* LOST */
	WT_COLUMN_DEVICES, /* struct wt_device each */
	WT_COLUMN_NAMES, /* varint id, varint length, bytes */
	WT_COLUMN_NEW_SHAPES, /* struct wt_recording_shape_key each, in order of first use */
	WT_COLUMN_TORN, /* 0, 1: varints, cells before each torn one since the last */
	WT_COLUMN_SHAPE = WT_COLUMN_TORN + 2, /* 0, 1: a varint per cell; the table's size: new */
	WT_COLUMN_SEQ = WT_COLUMN_SHAPE + 2, /* launches */
	WT_COLUMN_GRAPH_SEQ, /* other calls: 0, or an ordinal */
	WT_COLUMN_ENTRY, /* this and the following two: low byte, rest */
	WT_COLUMN_RETURN = WT_COLUMN_ENTRY + 2,
	WT_COLUMN_HANDLE = WT_COLUMN_RETURN + 2, /* other calls */
	WT_COLUMN_OTHER,
	WT_COLUMN_BYTES, /* also of copies */
	WT_COLUMN_START, /* kernels, copies, syncs, overheads */
	WT_COLUMN_END = WT_COLUMN_START + 2 * 4,
	WT_COLUMN_CORRELATION = WT_COLUMN_END + 2 * 4, /* of the same, each its own */
	WT_COLUMN_NODE = WT_COLUMN_CORRELATION + 4,
	WT_COLUMN_EVENT, /* syncs */
	WT_COLUMN_LINK_START,
	WT_COLUMN_LINK_TIME = WT_COLUMN_LINK_START + 2,
	WT_COLUMN_LINK_CORRELATION = WT_COLUMN_LINK_TIME + 2,
	WT_COLUMN_CLOCK, /* five values of each clock record */
	WT_COLUMN_SAMPLE_START, /* since version 3; blocks made before end here, or 4 before the end */
	WT_COLUMN_SAMPLE = WT_COLUMN_SAMPLE_START + 2, /* each value as four columns of bytes */
	WT_COLUMN_MAX = WT_COLUMN_SAMPLE + 4 * WT_RECORDING_SAMPLE_VALUES
};
#define WT_COLUMNS_V2 WT_COLUMN_SAMPLE_START

/* All of a cell that does not vary: fields that do are zero. */
struct wt_recording_shape_key {
	uint16_t kind, count;
	uint32_t length;
	uint8_t payload[WT_CELL_PAYLOAD_BYTES];
};
_Static_assert(sizeof(struct wt_recording_shape_key) == 120, "a shape is a cell without its stamp");

struct wt_recording_shape {
	struct wt_recording_shape_key key;
	uint64_t time_ns; /* predictions: of the last cell of this shape */
	uint64_t handle, other, bytes;
	uint32_t next; /* writer: same hash */
};

struct wt_bytes {
	uint8_t *at;
	size_t length, room;
	size_t read; /* reader: taken so far */
};

#define WT_RECORDING_RECENT 32768u /* calls remembered to predict links, a power of two */

struct wt_recording_codec {
	struct wt_bytes column[WT_COLUMN_MAX];
	bool is_reading;
	int error; /* 0, -ENOMEM or -EBADMSG: the first one */

	struct wt_recording_shape *shapes;
	uint32_t shape_count, shape_room;
	uint32_t *shape_of; /* writer: hash -> index + 1 */

	/* what the next value is predicted from */
	int64_t now_ns;
	uint64_t counters[WT_RECORDING_COUNTER_MAX];
	uint64_t hook_time[WT_COST_BUCKETS];
	uint64_t launch_seq, graph_seq, call_end_ns;
	uint64_t start_end_ns[4], node_id;
	uint32_t correlation_id[4], event_id, link_correlation_id;
	uint64_t link_time_ns, link_offset_ns, latency_ns, clock[4], clock_bracket_ns;
	uint64_t sample_end_ns;
	uint32_t sample_duration_ns, sample_elapsed;
	uint64_t *recent; /* entries of the last calls that may have a link */
	uint64_t recent_count, recent_pos;
	struct wt_recent_link {
		uint64_t start_ns;
		uint32_t correlation_id;
	} * links; /* by correlation id, modulo */
};

int wt_codec_init(struct wt_recording_codec *codec, bool is_reading);
void wt_codec_fini(struct wt_recording_codec *codec);
/* Forgets everything but its memory. */
void wt_codec_reset(struct wt_recording_codec *codec);
void wt_codec_clear_columns(struct wt_recording_codec *codec);

/* A cell to or from the columns; errors are kept in codec->error. */
void wt_codec_cell(struct wt_recording_codec *codec, enum wt_ring_index ring, struct wt_cell *cell);
void wt_codec_facts(struct wt_recording_codec *codec, struct wt_recording_facts *facts);

/* ---- wt_recording_records.c: one record to or from its columns */

union wt_codec_record {
	uint8_t bytes[WT_CELL_PAYLOAD_BYTES];
	struct wt_launch launch;
	struct wt_call call;
	struct wt_range range;
	struct wt_kernel kernel;
	struct wt_copy copy;
	struct wt_sync sync;
	struct wt_overhead overhead;
	struct wt_clock clock;
	struct wt_link link[WT_LINKS_PER_CELL];
	struct wt_sample sample[WT_SAMPLES_PER_CELL];
};

/* Zeroes what varies: the rest is the shape. */
void wt_codec_clear_varying(const struct wt_recording_shape_key *key, union wt_codec_record *r);
void wt_codec_record(struct wt_recording_codec *codec, struct wt_recording_shape *shape,
                     union wt_codec_record *r);

/* ---- wt_recording_values.c: one value to or from its column */

/* The first error stays. */
void wt_codec_keep_error(struct wt_recording_codec *codec, int err);
/* As it is. */
void wt_codec_plain(struct wt_recording_codec *codec, int column, uint64_t *value);
/* As its difference from `predicted`. */
void wt_codec_value(struct wt_recording_codec *codec, int column, uint64_t *value,
                    uint64_t predicted);
void wt_codec_u32(struct wt_recording_codec *codec, int column, uint32_t *value,
                  uint32_t predicted);
/* The same in two columns, the lowest byte apart. */
void wt_codec_time(struct wt_recording_codec *codec, int column, uint64_t *value,
                   uint64_t predicted);
/* As it is, its four bytes in a column each: for values that are mostly noise. */
void wt_codec_bytes(struct wt_recording_codec *codec, int column, uint32_t *value);
/* 0 stays 0; other values follow `last`. */
void wt_codec_ordinal(struct wt_recording_codec *codec, int column, uint64_t *value,
                      uint64_t *last);

/* Plain pieces of a column. */
int wt_bytes_put(struct wt_bytes *bytes, const void *from, size_t length);
int wt_bytes_put_varint(struct wt_bytes *bytes, uint64_t value);
int wt_bytes_take_varint(struct wt_bytes *bytes, uint64_t *ret_value);
static inline size_t wt_bytes_left(const struct wt_bytes *bytes)
{
	return bytes->length - bytes->read;
}

/* ---- wt_recording_head.c */

/* `err`, and the words into `why`. */
int wt_recording_say(char *why, size_t why_bytes, int err, const char *format, ...)
        __attribute__((format(printf, 4, 5)));
int wt_recording_read_head(wt_recording_read_fn read, void *arg, struct wt_recording_head *ret_head,
                           char *why, size_t why_bytes);
/* The next head and its packed bytes. 1, 0 at the end, -EBADMSG with `why`, or another -errno. */
int wt_recording_read_block(wt_recording_read_fn read, void *arg,
                            struct wt_recording_block_head *head, struct wt_bytes *packed,
                            char *why, size_t why_bytes);
uint32_t wt_recording_block_crc(const struct wt_recording_block_head *head, const uint8_t *packed);
uint32_t wt_recording_head_crc(const struct wt_recording_head *head);

#endif /* WT_RECORDING_IMPL_H */
