/*
 * steps_internal.h - the parts of the step finder (steps.h): anchors, levels, judgement.
 */
#ifndef WT_STEPS_INTERNAL_H
#define WT_STEPS_INTERNAL_H

#include "analysis/steps.h"

/* Signatures are counted by class: each has its own if there are no more than these. */
#define WT_STEPS_CLASSES_MAX 4096u
#define WT_STEPS_LEVELS_MAX 64u

/* The items, and what is found about them once. */
struct wt_step_data {
	const struct wt_step_item *items;
	size_t count;
	uint16_t *classes; /* by item */
	size_t class_count;
	bool has_graphs;
};

/* Something that comes back at nearly the same distance. */
struct wt_step_anchor {
	uint32_t *at; /* items, ascending */
	size_t count;
	size_t period; /* median distance */
	double score; /* 0 to 1 */
	unsigned width; /* signatures it consists of */
};

/* The segments between anchors. Segment i is [at[i], at[i + 1]). */
struct wt_step_level {
	struct wt_step_anchor anchor;
	/* Items by class of signature, over a sample of segments of regular length: */
	uint32_t *typical; /* the median */
	uint32_t *often; /* as many or more in six of ten */
	uint32_t *
	        constant; /* the number, where it varies by at most an eighth in eight of ten; else 0 */
	uint8_t *is_alike; /* by segment */
	size_t segments;
	/* The region: the stretch [first_alike, last_alike] in which most segments are alike. */
	size_t first_alike, last_alike;
	size_t alike; /* such segments in it; 0: there is none */
	size_t in_a_row; /* of these, right after another one */
	size_t exact; /* of these, within 2 % of the period */
	size_t region_items;
	int64_t alike_weight, region_weight; /* items or ns */
	size_t update_items; /* in the typical segment */
	bool has_graph;
	size_t graph_repeats; /* launches of the graph that it launches most often */
	bool has_gap; /* the longest gap is clear and at the same place in most */
	uint64_t gap_place;
	int64_t gap_ns;
};

static inline uint64_t wt_steps_mix(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdu;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53u;
	return x ^ x >> 33;
}

/* A place between two launches, by what is launched before and after. */
static inline uint64_t wt_steps_place(const struct wt_step_item *items, size_t i)
{
	return wt_steps_mix(items[i - 1].signature) * 3 + wt_steps_mix(items[i].signature);
}

static inline int64_t wt_steps_gap_ns(const struct wt_step_item *items, size_t i)
{
	return i > 0 && items[i].time_ns > items[i - 1].time_ns
	               ? items[i].time_ns - items[i - 1].time_ns
	               : 0;
}

static inline bool wt_steps_is_near(uint64_t length, uint64_t period, unsigned part)
{
	uint64_t slack = period / part;

	return length + slack >= period && length <= period + slack;
}

/*
 * steps_anchor.c: the best anchor of each period, longest first, at most WT_STEPS_LEVELS_MAX.
 * 0 or -ENOMEM.
 */
int wt_steps_anchors(const struct wt_step_data *data, struct wt_step_anchor **ret_anchors,
                     size_t *ret_count);

/* steps_level.c. Takes the anchor over. 0 or -ENOMEM; wt_step_level_fini() in either case. */
int wt_step_level_init(struct wt_step_level *level, const struct wt_step_data *data,
                       struct wt_step_anchor *anchor);
void wt_step_level_fini(struct wt_step_level *level);

/* The share of launches in alike segments that come in the same order as in the one before. */
double wt_step_level_order(const struct wt_step_level *level, const struct wt_step_data *data);

/*
 * steps_judge.c: what speaks for `inner` (of `all`, sorted by period, longest first) being the
 * step, in points: 2 and more it is, -3 and less it isn't. `outer`: the level around it, or NULL.
 */
int wt_steps_points(const struct wt_step_data *data, const struct wt_step_level *inner,
                    const struct wt_step_level *outer, const struct wt_step_level *all,
                    size_t all_count);

#endif /* WT_STEPS_INTERNAL_H */
