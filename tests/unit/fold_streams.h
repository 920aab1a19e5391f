/*
 * fold_streams.h - two streams on a device with a block scheduler, for tests of folding: kernels whose blocks
 * compete for places on SMs. An account of its own of what was active, and beside whom.
 */
#ifndef WT_TEST_FOLD_STREAMS_H
#define WT_TEST_FOLD_STREAMS_H

#include "tests/unit/fold_sim.h"

#define STREAMS_CONFIGS 5
#define STREAMS_FIRST 3 /* of them, those of the first stream */

struct streams_config {
	int blocks, threads;
	double block_ns;
	/* truth, from first to last block of its launches */
	double launches, alone_ns, alone_sm_ns, joint_ns, joint_sm_ns;
};

struct streams_truth {
	struct streams_config configs[STREAMS_CONFIGS];
	double active_sm_ns;
};

/*
 * Kernels of the first stream follow each other in random order; with every third goes one of the second,
 * some time after the one before. Records are ramp_ns longer than first to last block. Adds kernels and
 * activity to the sim, until end_ns.
 */
void streams_run(struct fold_sim *sim, double end_ns, struct streams_truth *ret_truth);

#endif /* WT_TEST_FOLD_STREAMS_H */
