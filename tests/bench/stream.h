/*
 * stream.h - what a training program would make libwavetap.so write, without a GPU: launch calls, links, kernels, syncs,
 * allocations, copies and clock readings, in the order and with the jitter of a recorded one.
 *
 * A step is 24 layers forward and backward (two kinds of them in turn), an optimizer, a copy to the host and
 * a wait: 1,099 launches of 100 kernels, in three sizes that change every 50 steps: 300 configurations. Kernels
 * run on two streams; the second one has a collective for each layer backward, beside the other's kernels.
 * Times are those of a virtual clock. Spread of calls, of what lies between them and of durations, and the
 * 32 ns that CUPTI's durations are multiples of, are as in tests/data/h200-train-eager.wtrec; the host is
 * faster than there, so that the device is busy for two thirds of the time: a launch every 27 us.
 *
 * The threads of a process make pieces of a few launches in turn and write them at once, each to the rings by
 * itself. A piece is whole before the clock goes on, so that calls of a process do not overlap.
 */
#ifndef WT_BENCH_STREAM_H
#define WT_BENCH_STREAM_H

#include "tests/unit/synth.h"

#define STREAM_PROCESSES_MAX 16
#define STREAM_THREADS_MAX 64
#define STREAM_LAUNCH_NS 27000 /* about: from one launch of a process to the next */

/* What was made, and what the rings refused: the truth that run files are held against. */
struct stream_counts {
	_Atomic uint64_t launches, graph_launches, kernels, calls, copies, syncs;
	_Atomic uint64_t kernel_ns; /* durations, summed */
	_Atomic uint64_t launches_refused, calls_refused, kernels_refused, links_refused,
	        others_refused;
};

/* In memory that all processes share. */
struct stream_shared {
	struct stream_counts counts[STREAM_PROCESSES_MAX];
	_Atomic uint64_t
	        clock_ns[STREAM_PROCESSES_MAX]; /* virtual, from 0; UINT64_MAX: at its end */
	_Atomic uint64_t failed; /* processes that could not begin */
};

struct stream_options {
	struct stream_shared *shared;
	uint64_t launches; /* of this process; with `nodes`: kernels */
	uint64_t begin_ns; /* of the virtual clock, by CLOCK_REALTIME */
	uint64_t cells[WT_RING_MAX]; /* 0: what libwavetap.so makes */
	unsigned process, processes, threads;
	unsigned hands; /* with one thread: what it writes is of so many in turn; 0: of itself */
	unsigned nodes; /* of a graph launch; 0: plain launches */
	bool is_paced; /* waits for room in the rings, and for the other processes; else what finds no room is dropped */
	const char *record_dir;
};

/* The whole life of a process, to be called in a forked child. Does not return. */
_Noreturn void stream_process(const struct stream_options *options);

#endif /* WT_BENCH_STREAM_H */
