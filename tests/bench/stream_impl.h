/*
 * stream_impl.h - between stream.c, which has the processes, threads and rings, and stream_step.c, which makes
 * the records.
 */
#ifndef WT_BENCH_STREAM_IMPL_H
#define WT_BENCH_STREAM_IMPL_H

#include <pthread.h>

#include "tests/bench/stream.h"

#define KERNELS 100
#define SIZES 3
#define DRAWS 256
#define PIECE_CALLS 48 /* records of ring 0 in a piece, at most */
#define PIECE_ACTIVITIES 64 /* of ring 1; a graph's nodes come on top */

struct config {
	uint32_t grid, block, smem_bytes, mean_ns;
	uint16_t regs;
};

struct piece {
	struct wt_cell calls[PIECE_CALLS];
	struct wt_cell *activities;
	unsigned call_count, activity_count;
	struct wt_link links[PIECE_CALLS];
	unsigned link_count;
};

struct stream {
	const struct stream_options *options;
	struct synth synth;
	struct stream_counts *counts;
	pthread_mutex_t mutex;
	/* under the mutex */
	uint64_t random, clock_ns, next_clock_ns, tail_ns[2], left;
	uint64_t step;
	unsigned at; /* which piece of the step comes */
	uint32_t correlation;
	/* constant */
	struct config configs[KERNELS][SIZES];
	uint32_t names[KERNELS];
	double call_ns[DRAWS + 1], gap_ns[DRAWS + 1];
};

struct maker {
	uint32_t thread32, tid;
};

/* Names, configurations and chances, from the options and the process' number. */
void stream_prepare(struct stream *s);
/* Under the mutex: the next piece of the program, and a reading of the clocks where one is due. */
void stream_fill(struct stream *s, struct piece *p, const struct maker *m);
void stream_add_clock(struct stream *s, struct piece *p);

#endif /* WT_BENCH_STREAM_IMPL_H */
