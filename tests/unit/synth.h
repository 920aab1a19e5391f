/*
 * synth.h - a synthetic producer: writes a real segment through the headers in schema/, as
 * libwavetap.so would, without any CUDA. For tests of the daemon and for benchmarks.
 *
 * One segment belongs to one process: for one that ends or is killed, make it in a forked
 * child. The functions for records may be called from several threads.
 */
#ifndef WT_TESTS_SYNTH_H
#define WT_TESTS_SYNTH_H

#include <stdbool.h>
#include <sys/types.h>

#include "schema/wt_paths.h"
#include "schema/wt_segment.h"

struct synth {
	struct wt_segment_header *header;
	struct wt_producer *producer;
	struct wt_consumer *consumer;
	struct wt_ring ring[WT_RING_MAX];
	uint8_t *arena;
	uint64_t file_bytes;
	char path[WT_PATH_BYTES + 128];
	_Atomic uint32_t next_correlation;
	_Atomic uint64_t last_entry_ns;
};

struct synth_options {
	const char *run_key; /* NULL: "synth" */
	const char *run_name, *run_tags;
	const char *record_dir; /* NULL: no recording */
	uint64_t cells[WT_RING_MAX]; /* 0: 4096 */
	int32_t pid; /* 0: this process */
	uint64_t start_ticks; /* 0: of this process */
	uint64_t pid_namespace; /* 0: of this process */
	bool is_unmade; /* leave the magic out */
	uint32_t producer; /* enum wt_producer_type */
};

/* Makes a segment in WAVETAP_SHM_DIR for WAVETAP_DIR, with one device of 132 SMs (H200
 * limits) and capture FULL. 0 or -errno. */
int synth_create(struct synth *synth, const struct synth_options *options);
void synth_unmap(struct synth *synth);

uint32_t synth_name(struct synth *synth, const char *name);

/* What a launch consists of; zero fields get usual values (grid 1000, block 256). */
struct synth_launch {
	uint32_t grid, block, smem_bytes;
	uint32_t flags;
	int32_t result;
	uint32_t thread32;
	uint32_t name_id;
	uint64_t entry_ns; /* 0: now */
	uint64_t duration_ns; /* 0: 10 us */
	uint64_t takes_ns; /* of the call; 0: 800 ns */
	uint64_t lag_ns; /* from its entry to the kernel's start; 0: 5 us */
	uint64_t node_ns; /* graphs: a node starts so long after the one before; 0: at once */
	bool without_link, without_kernel, without_call;
	bool without_time; /* the kernel's record: as under the range profiler */
};

/* Launch call, link, kernel. The correlation id of it. */
uint32_t synth_run(struct synth *synth, const struct synth_launch *given);

/* Pieces, with the return value of wt_ring_put. */
int synth_call_record(struct synth *synth, const struct synth_launch *launch, uint64_t *ret_seq);
int synth_link_record(struct synth *synth, uint32_t correlation_id, uint32_t thread32,
                      uint64_t start_ns);
int synth_kernel_record(struct synth *synth, const struct synth_launch *launch,
                        uint32_t correlation_id);

/* A graph launch with `nodes` kernels. */
void synth_graph(struct synth *synth, const struct synth_launch *given, unsigned nodes);

/* One call of cudart that launches on `count` devices: a launch record each with the same stamps,
 * one runtime record, a kernel each with the same id and a grid one larger than the one before. */
void synth_multi(struct synth *synth, const struct synth_launch *given, unsigned count);

/* Samples of a sampler, two to a cell, counted as it does; what finds no room is dropped. */
void synth_samples(struct synth *synth, const struct wt_sample *samples, size_t count);

/* Orderly end: what the library's exit handler does last. */
void synth_finish(struct synth *synth);

uint64_t synth_now_ns(void);

/* ---- around the daemon */

/* A private folder; sets WAVETAP_DIR and WAVETAP_SHM_DIR into it. Exits on failure. */
void synth_folder(char folder[512]);
void synth_folder_remove(const char *folder);

/* Starts $top_builddir/wavetapd --foreground --idle `idle`; its pid. Messages go to
 * <folder>/daemon.out. */
pid_t synth_daemon(const char *folder, const char *idle);
/* Waits until it ends by itself; its exit status, or -1 after 30 s (then it is killed). */
int synth_daemon_wait(pid_t pid);

/* The path of the only run file; false if there is not exactly one. */
bool synth_run_file(const char *folder, char path[1024]);
/* One integer out of it; INT64_MIN on any error. */
int64_t synth_query(const char *path, const char *sql);
/* Polls for at most 30 s: until the query over the only run file gives `want`; until the reply to
 * a request holds `text`. The last value, and whether the text came. */
int64_t synth_query_until(const char *folder, const char *sql, int64_t want);
bool synth_request_until(const char *request, const char *text, char *reply, size_t reply_bytes);
/* Number of segments left in the shared-memory folder. */
int synth_segments_left(const char *folder);

/* Sends one request to the daemon's socket; the reply without newline. 0 or -errno. */
int synth_request(const char *request, char *reply, size_t reply_bytes);

#endif /* WT_TESTS_SYNTH_H */
