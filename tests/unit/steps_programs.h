/*
 * steps_programs.h - simulated programs for test_steps: launches as a program would make them, and
 * beside each the step it is of. They share nothing with the finder but the struct of an item.
 */
#ifndef WT_STEPS_PROGRAMS_H
#define WT_STEPS_PROGRAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/steps.h"

struct body {
	uint64_t at[600];
	int count;
};

struct program {
	/* shape */
	struct body embed, layer, head, back_head, back_layer, back_embed, update, log, prefill;
	int layers, steps, micro, log_every, eval_every, eval_batches, warm_items;
	int noise_per_mille;
	int variants; /* of kernels by length of the sequence; 1: none */
	bool has_hint, has_gap, has_micro_gap, is_graph, is_training;
	int gap_us;
	/* output */
	struct wt_step_item *items;
	int *step; /* by item: its step */
	int *other; /* that of another thread's loop */
	size_t count, capacity;
	int64_t now_ns;
	int variant;
};

/* What comes next is the same for the same seed, on every machine. */
void steps_seed(uint64_t seed);

/* Each makes a program of its kind into *p, which is all zero; the caller frees items, step, other. */
void steps_plain_training(struct program *p);
void steps_tuned_first(struct program *p);
void steps_logging(struct program *p);
void steps_evaluation(struct program *p);
void steps_accumulation(struct program *p);
void steps_decoding(struct program *p);
void steps_requests(struct program *p);
void steps_graphs(struct program *p);
void steps_bare_layers(struct program *p);
void steps_small_loop(struct program *p);
void steps_hole(struct program *p);
void steps_no_loop(struct program *p);
void steps_disorder(struct program *p);
void steps_two_threads(struct program *p);

#endif /* WT_STEPS_PROGRAMS_H */
