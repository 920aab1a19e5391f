/*
 * steps.h - where do the steps of a training or inference loop begin and end, judged by nothing but
 * the order of launches?
 *
 * An item is one launch of one process: a kernel (its signature: which kernel, whatever the
 * configuration, so that another sequence length is the same kernel) or a whole graph (which
 * graph). In order of launch.
 *
 * 1. Anchors: runs of 1, 2, 4 or 8 signatures, and beginnings of bursts of one, that come back at
 *    nearly the same distance.
 * 2. A level is an anchor whose segments are alike: as long as the typical one (within a quarter),
 *    and of the same signatures (6 of 10). A program has several: layers within steps, steps within
 *    "ten steps and a log line".
 * 3. From the outermost level inwards: is the next level inside a step of its own, or the body of a
 *    loop inside the step? What speaks for which, in points, is in steps_judge.c: kernels of
 *    optimizers, a gap of the host at each of its boundaries, loops within it, against kernels that
 *    only the outer one has. 32 equal layers have other kernels around them that layers lack, no gap
 *    between them and no loop inside. Where the points do not decide, no steps are found.
 * 4. The launches must come in the same order from step to step (4 of 10, in runs of four): the same
 *    ones in any order are no loop.
 *
 * A step begins after the kernels of the optimizer, if it has such; else at its largest gap, if
 * that one is at the same place in 7 of 10 steps and at least twice as long as the next; else at
 * the anchor, which is some place that recurs.
 *
 * Pure: no I/O, no clock; any thread. Time O(n log n). Memory while it works: about 80 bytes an
 * item and 12 MB; and 24 bytes a step of the result.
 */
#ifndef WT_STEPS_H
#define WT_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WT_STEPS_LEAST 4 /* alike ones; fewer are no loop */

enum wt_step_item_flags {
	WT_STEP_ITEM_GRAPH = 1, /* a graph launch */
	WT_STEP_ITEM_UPDATE = 2, /* a kernel known to update parameters, which ends a step */
};

struct wt_step_item {
	uint64_t signature;
	int64_t time_ns; /* when the launch was called */
	uint32_t flags; /* WT_STEP_ITEM_* */
};

enum wt_steps_reason {
	WT_STEPS_FOUND,
	WT_STEPS_TOO_FEW, /* launches: fewer than any loop has */
	WT_STEPS_NO_LOOP, /* nothing comes back regularly for most of the run */
	WT_STEPS_ONE_KERNEL, /* one kernel over and over: nothing tells where a step begins */
	WT_STEPS_AMBIGUOUS, /* a loop, which may be the steps or one inside a step */
	WT_STEPS_BAD_TIMES, /* launches are centuries apart */
	WT_STEPS_UNSURE, /* a loop, but too irregular */
};

struct wt_step {
	size_t first, end; /* items [first, end) */
	bool is_alike; /* to the typical one */
	bool is_steady; /* alike, and not of the start-up */
};

struct wt_steps {
	enum wt_steps_reason reason;
	/*
	 * 0 to 1; at least 0.5 where found. Product of the share of items in steps that are alike,
	 * from the first such to the last (of time, if there are graphs); of alike steps / 8, at
	 * most 1; of the share of them that are within 2 % of the period / 0.9, at most 1 (below
	 * 0.6 of them: 0); and of the points: 1 for four or more (no doubt what a step is), 0.9 for
	 * three, 0.75 for two.
	 */
	double confidence;
	size_t period_items; /* median of alike steps; also the candidate's where not found, or 0 */
	size_t outer_items; /* period of a loop around it; 0: none */
	struct wt_step *steps; /* back to back, in order; not those cut off by the ends of data */
	size_t count;
	size_t steady_count;
	/* Steps [steady_first, steady_end) are the steady window: odd ones may be among them. */
	size_t steady_first, steady_end;
	size_t searched_from; /* item; not 0: only what follows has a loop */
	bool is_at_update, is_at_gap; /* how the beginning was chosen; neither: anchor or mark */
};

/*
 * 0 or -ENOMEM; none found is 0 as well. wt_steps_fini() in either case. Looks at all items; where they
 * have no loop, at their last half, then at their last quarter.
 */
int wt_steps_find(const struct wt_step_item *items, size_t count, struct wt_steps *ret_steps);

/*
 * Steps that begin where the caller says: `marks` are indices of items, ascending. What follows the
 * last mark is a step if it is alike. Not found with fewer than two marks. Confidence is the share
 * of items in alike steps.
 */
int wt_steps_from_marks(const struct wt_step_item *items, size_t count, const uint32_t *marks,
                        size_t mark_count, struct wt_steps *ret_steps);

void wt_steps_fini(struct wt_steps *steps);

/* Why none were found, as a clause. Static text; NULL where found. */
const char *wt_steps_reason_text(enum wt_steps_reason reason);

#endif /* WT_STEPS_H */
