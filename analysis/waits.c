/*
 * waits.c - see waits.h. Pure: any thread, never blocks.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/waits.h"

/* ---- the same collective */

static int compare(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_member(const void *left, const void *right)
{
	const struct wt_wait *a = left, *b = right;

	if (a->kernel_id != b->kernel_id)
		return compare(a->kernel_id, b->kernel_id);
	if (a->member != b->member)
		return compare(a->member, b->member);
	if (a->start_ns != b->start_ns)
		return compare(a->start_ns, b->start_ns);
	return compare(a->end_ns, b->end_ns);
}

static int by_collective(const void *left, const void *right)
{
	const struct wt_wait *a = left, *b = right;

	if (a->kernel_id != b->kernel_id)
		return compare(a->kernel_id, b->kernel_id);
	if (a->ordinal != b->ordinal)
		return compare(a->ordinal, b->ordinal);
	if (a->start_ns != b->start_ns)
		return compare(a->start_ns, b->start_ns);
	return compare(a->member, b->member);
}

static void count_off(struct wt_wait *waits, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		bool is_next = i && waits[i - 1].kernel_id == waits[i].kernel_id &&
		               waits[i - 1].member == waits[i].member;

		waits[i].ordinal = is_next ? waits[i - 1].ordinal + 1 : 0;
		waits[i].wait_until_ns = waits[i].start_ns;
		waits[i].late_member = WT_WAITS_NOBODY;
	}
}

/* Sorted by collective: does every one have all members? */
static const char *why_not_same(const struct wt_wait *waits, size_t count, uint32_t member_count)
{
	if (member_count < 2 || !count)
		return "not all ran collectives (NCCL, NVSHMEM)";
	for (size_t i = 0; i < count; i++) {
		const struct wt_wait *first = &waits[i - i % member_count];

		if (waits[i].kernel_id != first->kernel_id || waits[i].ordinal != first->ordinal)
			return "not all ran the same number of collectives";
	}
	return count % member_count ? "not all ran the same number of collectives" : NULL;
}

/* ---- who waits */

/* Members of one collective, in the order of their starts. */
struct one {
	struct wt_wait *at;
	uint32_t count;
	int64_t last_ns, first_end_ns, last_end_ns;
};

static struct one one_of(struct wt_wait *at, uint32_t count)
{
	struct one one = {.at = at,
	                  .count = count,
	                  .last_ns = at[count - 1].start_ns,
	                  .first_end_ns = at[0].end_ns,
	                  .last_end_ns = at[0].end_ns};

	for (uint32_t i = 1; i < count; i++) {
		if (at[i].end_ns < one.first_end_ns)
			one.first_end_ns = at[i].end_ns;
		if (at[i].end_ns > one.last_end_ns)
			one.last_end_ns = at[i].end_ns;
	}
	return one;
}

static bool is_together(const struct one *one)
{
	return one->last_ns < one->first_end_ns;
}

static int by_ns(const void *left, const void *right)
{
	return compare(*(const int64_t *)left, *(const int64_t *)right);
}

static int64_t median(int64_t *ns, size_t count)
{
	if (!count)
		return 0;
	qsort(ns, count, sizeof(*ns), by_ns);
	return ns[(count - 1) / 2];
}

static void wait_in(const struct one *one, int64_t error_ns)
{
	struct wt_wait *last = &one->at[one->count - 1];
	bool is_late = one->last_ns - one->at[0].start_ns > error_ns;

	for (uint32_t i = 0; i + 1 < one->count; i++) {
		one->at[i].wait_until_ns = one->last_ns;
		if (is_late)
			one->at[i].late_member = last->member;
	}
}

int wt_waits_find(struct wt_wait *waits, size_t count, uint32_t member_count, int64_t start_ns,
                  int64_t end_ns, int64_t error_ns, struct wt_waits *ret_waits)
{
	struct wt_waits found = {.error_ns = error_ns};
	int64_t *ends_ns = NULL;
	size_t together = 0;

	if (count) {
		qsort(waits, count, sizeof(*waits), by_member);
		count_off(waits, count);
		qsort(waits, count, sizeof(*waits), by_collective);
	}
	found.reason = why_not_same(waits, count, member_count);
	*ret_waits = found;
	if (found.reason)
		return 0;
	ends_ns = calloc(count / member_count, sizeof(*ends_ns));
	if (!ends_ns)
		return -ENOMEM;
	for (size_t i = 0; i < count; i += member_count) {
		struct one one = one_of(&waits[i], member_count);

		if (one.last_ns < start_ns || one.last_ns >= end_ns)
			continue;
		found.collectives++;
		if (is_together(&one))
			ends_ns[together++] = one.last_end_ns - one.first_end_ns;
		else
			found.apart++;
	}
	found.ends_apart_ns = median(ends_ns, together);
	free(ends_ns);
	if (together >= WT_WAITS_ENDS_MIN && found.error_ns > WT_WAITS_ERROR_LEAST_NS)
		found.error_ns = WT_WAITS_ERROR_LEAST_NS;
	if (found.ends_apart_ns > found.error_ns)
		found.error_ns = found.ends_apart_ns;
	if (!found.collectives)
		found.reason = "no collective is in the window";
	else if (found.apart * 100 > found.collectives * WT_WAITS_APART_PERCENT_MAX)
		found.reason = "their collectives are not at the same time: of several groups?";
	for (size_t i = 0; !found.reason && i < count; i += member_count) {
		struct one one = one_of(&waits[i], member_count);

		if (one.last_ns >= start_ns && one.last_ns < end_ns && is_together(&one))
			wait_in(&one, found.error_ns);
	}
	*ret_waits = found;
	return 0;
}

/* ---- why */

/* Nobody waited more for another in this step. */
static bool is_latest(const struct wt_late_query *query, size_t member, size_t step)
{
	int64_t own_ns = query->late_ns[member * query->steps + step];

	for (size_t i = 0; i < query->members; i++) {
		int64_t ns = query->late_ns[i * query->steps + step];

		if (ns > own_ns || (ns == own_ns && i < member))
			return false;
	}
	return own_ns > 0;
}

/* Damaged times may sum beyond 64 bits: doubles until the end. */
static int64_t whole(double ns)
{
	return ns > 9e18    ? INT64_MAX
	       : ns < -9e18 ? INT64_MIN
	                    : (int64_t)(ns < 0 ? ns - 0.5 : ns + 0.5);
}

/* What a member had more of than the mean of the others in a step. */
static double excess_in(const struct wt_late_query *query, size_t member, size_t step, int class)
{
	double own_ns = 0, others_ns = 0;

	for (size_t i = 0; i < query->members; i++) {
		double ns = (double)query->spent_ns[i * query->steps + step][class];

		if (i == member)
			own_ns = ns;
		else
			others_ns += ns;
	}
	return own_ns - others_ns / ((double)query->members - 1);
}

static void judge_class(const struct wt_late_query *query, size_t member, int class,
                        struct wt_late *late)
{
	double sum_ns = 0, squares = 0, count = (double)late->steps;

	for (size_t step = 0; step < query->steps; step++) {
		double ns =
		        is_latest(query, member, step) ? excess_in(query, member, step, class) : 0;

		sum_ns += ns;
		squares += ns * ns;
	}
	late->excess_ns[class] = whole(sum_ns);
	late->error_ns[class] = -1;
	if (late->steps >= WT_LATE_ERROR_STEPS_MIN) {
		double variance = (squares - sum_ns * sum_ns / count) / (count - 1);

		late->error_ns[class] = whole(2 * sqrt(count * (variance > 0 ? variance : 0)));
	}
	if (late->excess_ns[class] > 0 && late->excess_ns[class] > late->error_ns[class] &&
	    (late->cause < 0 || late->excess_ns[class] > late->excess_ns[late->cause]))
		late->cause = class;
}

void wt_late_judge(const struct wt_late_query *query, size_t member, struct wt_late *ret_late)
{
	double late_ns = 0, others = (double)query->members - 1;
	int64_t in_a_row = 0;

	memset(ret_late, 0, sizeof(*ret_late));
	ret_late->cause = -1;
	for (size_t step = 0; query->members > 1 && step < query->steps; step++) {
		in_a_row = is_latest(query, member, step) ? in_a_row + 1 : 0;
		if (!in_a_row)
			continue;
		if (in_a_row > ret_late->longest_steps)
			ret_late->longest_steps = in_a_row;
		ret_late->steps++;
		late_ns += (double)query->late_ns[member * query->steps + step] / others;
	}
	ret_late->late_ns = whole(late_ns);
	for (int k = 0; ret_late->steps && k < WT_LATE_MAX; k++)
		judge_class(query, member, k, ret_late);
}

const char *wt_late_name(int late_class)
{
	if (late_class == WT_LATE_KERNELS)
		return "kernels";
	if (late_class == WT_LATE_COPY_PAGEABLE)
		return "copy_pageable";
	return wt_gap_cause_name((enum wt_gap_cause)late_class);
}
