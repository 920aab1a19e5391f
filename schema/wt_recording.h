/*
 * wt_recording.h - recordings: everything that wavetapd drained from one process, in a file.
 *
 * A recording holds what the daemon saw, not what it made of it: the facts of the process, its
 * devices, kernel names, counters, and every cell of both rings with its position. Fed to the
 * daemon's own code again (`wavetap import`) it gives the same run file. Dictionary for people:
 * doc/recording.md.
 *
 *   file  = struct wt_recording_head, block, block, ...
 *   block = struct wt_recording_block_head, packed_bytes of a deflate stream
 *
 * One block is one transaction of the daemon. It is written before the transaction is committed
 * and checked by a CRC, so that a daemon killed at any moment leaves whole blocks and at most one
 * torn one at the end. POSITIONS never come twice: a daemon that drains again what a killed one
 * had written reads where the file ends and leaves it out. A gap between the positions of two
 * blocks is loss, and is counted by whoever imports.
 *
 * The deflate stream goes on from block to block (each ends with a sync flush), and so do the
 * predictions of the columns, except that a block with WT_RECORDING_RESET starts both afresh and
 * tells process, devices and names again: the first one, and the first of a restarted daemon.
 *
 * INSIDE A BLOCK are columns, each a varint of its length and then its bytes: enum
 * wt_recording_column in wt_recording_impl.h. A cell is split into a shape (kind, count, length
 * and all fields that repeat: geometry, stream, function, ...; a number in a table that both
 * sides grow alike) and the fields that vary (times, ordinals, correlation ids), each as its
 * difference from a prediction. wt_recording_codec.c has one walk for both directions.
 *
 * All numbers are little-endian. The reader trusts nothing: every length, count, position and
 * reference is checked, and memory is bounded by WT_RECORDING_*_MAX whatever the file says.
 *
 * Any thread, one at a time per object. Writing and reading call back for input, and block as
 * that does; memory comes from the heap.
 */
#ifndef WT_RECORDING_H
#define WT_RECORDING_H

#include <stdbool.h>

#include "schema/wt_segment.h"

#define WT_RECORDING_SUFFIX ".wtrec"
#define WT_RECORDING_NOT_WHOLE                                                                     \
	"the recording is not whole" /* begins proc.reason of one whose end is missing */
#define WT_RECORDING_MAGIC UINT64_C(0x0a0d434552545789) /* 0x89 "WTREC" CR LF */
#define WT_RECORDING_VERSION 4u
#define WT_RECORDING_ENDIAN 0x01020304u
#define WT_RECORDING_BLOCK_MAGIC 0x4b4c4257u /* "WBLK" */

#define WT_RECORDING_CELLS_MAX 262144u /* per ring and block */
#define WT_RECORDING_NAMES_MAX WT_RECORDING_CELLS_MAX /* a block: each is of one of its kernels */
#define WT_RECORDING_RAW_BYTES_MAX (128u << 20) /* of a block, unpacked */
#define WT_RECORDING_PACKED_BYTES_MAX (160u << 20)
#define WT_RECORDING_SHAPES_MAX 65536u /* then the table starts afresh */

struct wt_recording_head {
	uint64_t magic; /* WT_RECORDING_MAGIC */
	uint32_t version; /* WT_RECORDING_VERSION; a reader refuses greater ones */
	uint32_t endian; /* WT_RECORDING_ENDIAN */
	uint32_t head_bytes; /* sizeof(struct wt_recording_head) */
	uint32_t block_head_bytes; /* sizeof(struct wt_recording_block_head) */
	uint8_t uuid[16]; /* of the segment: the identity of the process */
	uint64_t created_ns; /* CLOCK_REALTIME of the first block */
	uint32_t reserved[3];
	uint32_t crc; /* CRC-32 of all before */
};
_Static_assert(sizeof(struct wt_recording_head) == 64, "recording head");
_Static_assert(offsetof(struct wt_recording_head, crc) == 60, "recording head");

#define WT_RECORDING_RESET 0x01u /* nothing before this block is needed to read it */
#define WT_RECORDING_DEAD 0x02u /* the process was gone: holes are torn cells */
#define WT_RECORDING_OVER 0x04u /* the last block: everything of the process is there */
#define WT_RECORDING_LOST 0x08u /* the last block: the segment could not be read any more */
#define WT_RECORDING_REPLACED 0x10u /* the process went on by exec */
#define WT_RECORDING_FLAGS 0x1fu

struct wt_recording_block_head {
	uint32_t magic; /* WT_RECORDING_BLOCK_MAGIC */
	uint32_t flags; /* WT_RECORDING_* */
	uint32_t packed_bytes;
	uint32_t raw_bytes;
	uint64_t start_pos[WT_RING_MAX]; /* the cells of this block: start_pos .. end_pos - 1 */
	uint64_t end_pos[WT_RING_MAX];
	uint32_t block_idx; /* from 0 */
	uint32_t crc; /* CRC-32 of this head, with crc 0, and of the packed bytes */
};
_Static_assert(sizeof(struct wt_recording_block_head) == 56, "recording block head");

/* Who was recorded. */
struct wt_recording_process {
	uint64_t pid_namespace, start_ticks, created_realtime_ns, created_monotonic_ns;
	uint64_t arena_bytes; /* name ids are below arena_bytes / 8 */
	int32_t pid, ppid;
	uint32_t uid;
	int32_t rank, local_rank, world_size; /* -1 = none */
	char boot_id[40];
	char hostname[72];
	char library_version[24];
	char run_key[WT_RUN_KEY_BYTES]; /* as the daemon settled it */
	char run_name[WT_RUN_KEY_BYTES];
	char run_tags[WT_TEXT_BYTES];
	char executable[WT_TEXT_BYTES];
	char command[WT_TEXT_BYTES];
	/* since version 3; before, all zero */
	uint32_t producer; /* enum wt_producer_type */
	uint32_t profile_launches;
	uint64_t sample_interval_ns;
};
#define WT_RECORDING_PROCESS_BYTES_V2 (64u + 136 + 512 + 3072)
_Static_assert(sizeof(struct wt_recording_process) == WT_RECORDING_PROCESS_BYTES_V2 + 16,
               "recorded process");

/* The producer's counters, in the order of the file: only ever append. */
#define WT_RECORDING_COUNTERS(X)                                                                   \
	X(launch_attempted)                                                                        \
	X(graph_launch_attempted)                                                                  \
	X(launch_dropped)                                                                          \
	X(call_dropped)                                                                            \
	X(kernels_dropped_ring)                                                                    \
	X(links_dropped_ring)                                                                      \
	X(other_dropped_ring)                                                                      \
	X(capture)                                                                                 \
	X(reason)                                                                                  \
	X(detail)                                                                                  \
	X(armed_ns)                                                                                \
	X(finished_ns)                                                                             \
	X(cupti_version)                                                                           \
	X(driver_version)                                                                          \
	X(kernels_seen)                                                                            \
	X(kernels_dropped_cupti)                                                                   \
	X(records_unknown)                                                                         \
	X(names_dropped)                                                                           \
	X(entries_unknown)                                                                         \
	X(flush_cpu_ns)                                                                            \
	X(cupti_callback_ns)                                                                       \
	X(app_profiler_sessions)                                                                   \
	X(app_records_forwarded)                                                                   \
	X(arena_used_bytes)                                                                        \
	X(device_count)                                                                            \
	X(ranges_begun)                                                                            \
	X(ranges_dropped)                                                                          \
	X(ranges_early)                                                                            \
	X(ranges_untracked)                                                                        \
	X(ranges_unbalanced)                                                                       \
	X(samples_taken)                                                                           \
	X(samples_dropped)                                                                         \
	X(sample_overflows)                                                                        \
	X(sample_interval_ns)                                                                      \
	X(sampler_state)                                                                           \
	X(sampler_detail)                                                                          \
	X(sampler_cpu_ns)                                                                          \
	X(profiled_launches)                                                                       \
	X(profile_dropped)                                                                         \
	X(profile_cost_ns)                                                                         \
	X(profile_state)                                                                           \
	X(profile_detail)                                                                          \
	X(hook_launch_ns)                                                                          \
	X(hook_calls_timed)                                                                        \
	X(hook_calls_ns)                                                                           \
	X(hook_long_ns)                                                                            \
	X(launching_threads)                                                                       \
	X(launching_thread_ns)                                                                     \
	X(hook_start_ns)                                                                           \
	X(cupti_callbacks)                                                                         \
	X(cupti_bytes)                                                                             \
	X(app_callback_ns)                                                                         \
	X(budget_ppm)                                                                              \
	X(budget_state)                                                                            \
	X(budget_stepped_ns)                                                                       \
	X(budget_cost_ppm)

#define WT_RECORDING_COUNTERS_V1 25u /* so many of them in blocks of version 1 */
#define WT_RECORDING_COUNTERS_V2 30u
#define WT_RECORDING_COUNTERS_V3 42u /* from version 4 on the histogram of hooks follows */

enum wt_recording_counter {
#define X(name) WT_RECORDING_COUNTER_##name,
	WT_RECORDING_COUNTERS(X)
#undef X
	        WT_RECORDING_COUNTER_MAX
};

/* ---- writing */

struct wt_recording_writer;

/* NULL: no memory. The first block, and the first after wt_recording_writer_reset(), is a RESET. */
struct wt_recording_writer *wt_recording_writer_create(void);
void wt_recording_writer_destroy(struct wt_recording_writer *writer);

/* Throws away what was added since the last block, and starts afresh. */
void wt_recording_writer_reset(struct wt_recording_writer *writer);

/*
 * What goes into the next block: the cells of ring 0 before those of ring 1, each ring in the
 * order of positions, with the torn places between them told. 0 or -ENOMEM.
 */
int wt_recording_add_cells(struct wt_recording_writer *writer, enum wt_ring_index ring,
                           const struct wt_cell *cells, size_t count);
int wt_recording_add_torn(struct wt_recording_writer *writer, enum wt_ring_index ring,
                          uint64_t pos);
int wt_recording_add_name(struct wt_recording_writer *writer, uint32_t id, const char *name,
                          size_t length);
int wt_recording_add_device(struct wt_recording_writer *writer, const struct wt_device *device);
/* Must the name be told (again)? The writer remembers which were, since the last reset. */
bool wt_recording_needs_name(const struct wt_recording_writer *writer, uint32_t id);
/* How many devices were told since the last reset. */
uint32_t wt_recording_devices_told(const struct wt_recording_writer *writer);

/* The rest of a block. */
struct wt_recording_facts {
	uint32_t flags; /* WT_RECORDING_*, without RESET */
	int64_t now_ns; /* CLOCK_MONOTONIC of the daemon's round: the linker's time */
	uint64_t start_pos[WT_RING_MAX], end_pos[WT_RING_MAX];
	uint64_t counters[WT_RECORDING_COUNTER_MAX];
	uint64_t hook_time[WT_COST_BUCKETS];
	char cupti_path[WT_TEXT_BYTES]; /* "" = not known yet */
	char why[80]; /* LOST: the reason */
};

/*
 * Makes the block out of what was added. *ret_bytes belongs to the writer until its next call.
 * After an error only reset makes sense: 0, -ENOMEM, or -E2BIG (a block over the limits).
 */
int wt_recording_make_block(struct wt_recording_writer *writer,
                            const struct wt_recording_process *process,
                            const struct wt_recording_facts *facts, const uint8_t **ret_bytes,
                            size_t *ret_length);
void wt_recording_make_head(struct wt_recording_head *head, const uint8_t uuid[16],
                            uint64_t created_ns);

/* ---- reading */

/* Up to `want` bytes, fewer only at the end: 0 or -errno. */
typedef int (*wt_recording_read_fn)(void *arg, void *bytes, size_t want, size_t *ret_got);

struct wt_recording_name {
	uint32_t id;
	uint32_t length;
	const char *name; /* not terminated */
};

/* What one block says; valid until the next call. */
struct wt_recording_block {
	uint32_t block_idx;
	struct wt_recording_facts facts; /* texts are terminated; flags with RESET */
	const struct wt_cell *cells[WT_RING_MAX]; /* stamp = pos + 1; torn ones are left out */
	size_t cell_count[WT_RING_MAX];
	const struct wt_recording_name *names;
	size_t name_count;
	const struct wt_device *devices; /* those told in this block, */
	uint32_t device_first, device_count; /* from this index of the table on */
};

struct wt_recording_reader;

/*
 * Reads and checks the head. 0, or with one line in `why`:
 *   -EBADMSG  not a recording, or damaged at its very beginning
 *   -ENOTSUP  of a newer version, or of a machine of other endianness
 *   other     -errno of reading, -ENOMEM
 */
int wt_recording_reader_create(wt_recording_read_fn read, void *arg,
                               struct wt_recording_reader **ret_reader, char *why,
                               size_t why_bytes);
void wt_recording_reader_destroy(struct wt_recording_reader *reader);

/*
 * The next block. 1: *ret_block; 0: the end, between two blocks; -EBADMSG: cut or damaged here,
 * and `why` says how (all blocks before are good, none after can be read); other -errno.
 * Cells at positions that were told already are left out.
 */
int wt_recording_next(struct wt_recording_reader *reader, struct wt_recording_block *ret_block,
                      char *why, size_t why_bytes);

/* From the first RESET block; all zero before. Texts are terminated. */
const struct wt_recording_process *
wt_recording_process_of(const struct wt_recording_reader *reader);
const struct wt_recording_head *wt_recording_head_of(const struct wt_recording_reader *reader);
/* Bytes of the file up to the end of the last good block. */
uint64_t wt_recording_good_bytes(const struct wt_recording_reader *reader);

/*
 * For a writer that goes on with a file: checks heads and CRCs alone, without unpacking.
 * *ret_last is the last whole block (block_idx UINT32_MAX: none), *ret_bytes where it ends.
 * 0, or as wt_recording_reader_create.
 */
int wt_recording_scan(wt_recording_read_fn read, void *arg, struct wt_recording_head *ret_head,
                      struct wt_recording_block_head *ret_last, uint64_t *ret_bytes, char *why,
                      size_t why_bytes);

/* How the block after `last` is numbered. */
void wt_recording_continue(struct wt_recording_writer *writer, uint32_t next_block_idx);

#endif /* WT_RECORDING_H */
