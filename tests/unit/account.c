/*
 * account.c - see account.h. Pure but for allocation; any thread.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/wave.h"
#include "tests/unit/account.h"

const char *const account_cause_names[ACCOUNT_CAUSE_MAX] = {
#define X(name) #name,
        ACCOUNT_CAUSES(X)
#undef X
};

const char *const account_wait_names[ACCOUNT_WAIT_MAX] = {
        "not told", "latency", "stream", "dependency", "node", "sms",
};

__extension__ typedef __int128 wide;

/* ---- points of time at which something changes */

struct points {
	int64_t *at;
	size_t count, capacity;
};

static void points_add(struct points *points, int64_t t_ns)
{
	if (points->count == points->capacity) {
		points->capacity = points->capacity ? 2 * points->capacity : 256;
		points->at = realloc(points->at, points->capacity * sizeof(*points->at));
		if (!points->at)
			abort();
	}
	points->at[points->count++] = t_ns;
}

static int by_value(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return a < b ? -1 : a > b;
}

static void points_sort(struct points *points)
{
	qsort(points->at, points->count, sizeof(*points->at), by_value);
}

/* ---- one gap */

struct gap {
	const struct account *account;
	const struct account_kernel *next; /* NULL: none */
	const struct account_kernel *before; /* ended last; NULL: none */
	int64_t start_ns, end_ns;
	struct account_span *near; /* those that could matter here */
	size_t near_count;
	struct points cpu; /* where a cause of the CPU's may change */
	struct points all;
};

static bool is_in(const struct gap *gap, enum account_span_kind kind, int64_t t_ns)
{
	for (size_t i = 0; i < gap->near_count; i++)
		if (gap->near[i].kind == kind && gap->near[i].start_ns <= t_ns &&
		    t_ns < gap->near[i].end_ns)
			return true;
	return false;
}

/* After the call has returned. */
static enum account_cause cause_queued(const struct gap *gap)
{
	const struct account_kernel *k = gap->next;
	int64_t c = gap->account->clock_error_ns;

	if (k->has_dependency)
		return ACCOUNT_dependency;
	if (!gap->before || k->entry_ns - c >= gap->start_ns)
		return ACCOUNT_launch;
	return k->entry_ns + c < gap->start_ns ? ACCOUNT_turnaround : ACCOUNT_undecided;
}

/* The CPU's clock says t. */
static enum account_cause cause_of_cpu(const struct gap *gap, int64_t t_ns)
{
	const struct account_kernel *k = gap->next;

	if (is_in(gap, ACCOUNT_SPAN_LOAD, t_ns))
		return ACCOUNT_load;
	if (is_in(gap, ACCOUNT_SPAN_PROFILER, t_ns))
		return ACCOUNT_profiler;
	if (!k->has_call)
		return ACCOUNT_unknown;
	if (t_ns >= k->entry_ns)
		return t_ns < k->return_ns ? ACCOUNT_launch : cause_queued(gap);
	if (is_in(gap, ACCOUNT_SPAN_SYNC, t_ns))
		return ACCOUNT_sync;
	return is_in(gap, ACCOUNT_SPAN_ALLOC, t_ns) ? ACCOUNT_alloc : ACCOUNT_host;
}

static enum account_cause cause_of(const struct gap *gap, int64_t t_ns)
{
	int64_t c = gap->account->clock_error_ns, first_ns;
	enum account_cause cause;

	if (is_in(gap, ACCOUNT_SPAN_COPY, t_ns))
		return ACCOUNT_copy;
	if (is_in(gap, ACCOUNT_SPAN_LOST, t_ns))
		return ACCOUNT_unknown;
	if (gap->next && gap->before && gap->next->launch &&
	    gap->next->launch == gap->before->launch)
		return ACCOUNT_graph;
	if (!gap->next)
		return ACCOUNT_after;
	first_ns = gap->account->first_launch_ns[gap->next->process];
	if (t_ns < first_ns + c)
		return t_ns < first_ns - c ? ACCOUNT_startup : ACCOUNT_undecided;
	/* Every cause that the CPU's stamps would give if they were off by up to c. */
	cause = cause_of_cpu(gap, t_ns - c);
	for (size_t i = 0; i < gap->cpu.count; i++) {
		int64_t at_ns = gap->cpu.at[i];

		if (at_ns > t_ns - c && at_ns <= t_ns + c && cause_of_cpu(gap, at_ns) != cause)
			return ACCOUNT_undecided;
	}
	return cause;
}

static bool concerns(const struct gap *gap, const struct account_span *span)
{
	const struct account_kernel *k = gap->next;

	if (span->kind == ACCOUNT_SPAN_COPY || span->kind == ACCOUNT_SPAN_LOST)
		return true;
	if (!k || span->process != k->process)
		return false;
	return span->kind == ACCOUNT_SPAN_LOAD || (k->has_call && span->thread == k->thread);
}

static void cpu_edge(struct gap *gap, int64_t t_ns)
{
	int64_t c = gap->account->clock_error_ns;

	points_add(&gap->cpu, t_ns);
	points_add(&gap->all, t_ns);
	points_add(&gap->all, t_ns - c);
	points_add(&gap->all, t_ns + c);
}

static void collect(struct gap *gap)
{
	int64_t c = gap->account->clock_error_ns;

	gap->near_count = gap->cpu.count = gap->all.count = 0;
	points_add(&gap->all, gap->start_ns);
	points_add(&gap->all, gap->end_ns);
	for (size_t i = 0; i < gap->account->span_count; i++) {
		const struct account_span *span = &gap->account->spans[i];

		if (span->end_ns < gap->start_ns - c || span->start_ns > gap->end_ns + c ||
		    !concerns(gap, span))
			continue;
		gap->near[gap->near_count++] = *span;
		if (span->kind == ACCOUNT_SPAN_COPY || span->kind == ACCOUNT_SPAN_LOST) {
			points_add(&gap->all, span->start_ns);
			points_add(&gap->all, span->end_ns);
		} else {
			cpu_edge(gap, span->start_ns);
			cpu_edge(gap, span->end_ns);
		}
	}
	if (gap->next) {
		int64_t first_ns = gap->account->first_launch_ns[gap->next->process];

		points_add(&gap->all, first_ns - c);
		points_add(&gap->all, first_ns + c);
		if (gap->next->has_call) {
			cpu_edge(gap, gap->next->entry_ns);
			cpu_edge(gap, gap->next->return_ns);
		}
	}
	points_sort(&gap->all);
}

static void account_gap(struct gap *gap, struct account_result *result)
{
	int name = gap->next ? gap->next->name : gap->account->name_count;
	struct account_name *owner = &result->names[name];

	collect(gap);
	owner->gaps++;
	result->gap_ns += gap->end_ns - gap->start_ns;
	for (size_t i = 0; i + 1 < gap->all.count; i++) {
		int64_t from_ns = gap->all.at[i], dt_ns = gap->all.at[i + 1] - from_ns;
		enum account_cause cause;

		if (dt_ns == 0 || from_ns < gap->start_ns || from_ns >= gap->end_ns)
			continue;
		cause = cause_of(gap, from_ns);
		owner->cause_ns[cause] += dt_ns;
		result->cause_ns[cause] += dt_ns;
		if (gap->next && gap->next->has_call && from_ns >= gap->next->return_ns)
			result->wait_ns[gap->next->wait][cause] += dt_ns;
	}
}

/* ---- kernels */

struct lane {
	int64_t own_sm_ns; /* of a kernel that has its SMs to itself */
	int64_t judged_ns;
	int64_t left_sms,
	        left_ns; /* beside collectives: SMs that they left last, and for how long */
	int64_t wave_sm_ns, wave_max_sm_ns; /* with other numbers before that */
};

/* The closed forms on left_sms SMs, of left_ns of its time. */
static void account_left(const struct account_kernel *k, struct lane *lane)
{
	const struct wt_wave_launch launch = {.duration_ns = k->end_ns - k->start_ns,
	                                      .grid = {k->blocks, 1, 1},
	                                      .sm_count = (int32_t)lane->left_sms,
	                                      .blocks_per_sm = (int32_t)k->blocks_per_sm};
	struct wt_wave_result wave;

	if (!lane->left_ns)
		return;
	wt_wave_judge(&launch, &wave);
	lane->wave_sm_ns += (int64_t)((wide)wave.wave_sm_ns * lane->left_ns / launch.duration_ns);
	lane->wave_max_sm_ns +=
	        (int64_t)((wide)wave.wave_max_sm_ns * lane->left_ns / launch.duration_ns);
	lane->left_ns = 0;
}

/* Kernels [first, ...) are those that may run in a slice that begins at from_ns. */
static void account_slice(const struct account *a, size_t first, int64_t from_ns, int64_t dt_ns,
                          struct lane *lanes, struct account_result *result)
{
	int64_t wanted = 0, taken = 0, others = 0;
	bool has_compute = false, is_known = true;

#define FOR_RESIDENT(k)                                                                            \
	for (const struct account_kernel *k = a->kernels + first;                                  \
	     k < a->kernels + a->kernel_count && k->start_ns <= from_ns; k++)                      \
		if (k->end_ns > from_ns)

	FOR_RESIDENT(k)
	{
		wanted += k->sms;
		has_compute |= !k->is_collective;
		taken += k->is_collective ? k->sms : 0;
		others += !k->is_collective;
		is_known &= k->is_collective || (k->is_judged && k->blocks && k->blocks_per_sm);
	}
	if (wanted > a->sms && others == 1 && is_known && taken > 0 && taken < a->sms) {
		FOR_RESIDENT(k)
		{
			struct lane *lane = &lanes[k - a->kernels];

			if (k->is_collective && !k->is_judged) {
				result->unjudged_sm_ns += k->sms * dt_ns;
			} else if (k->is_collective) {
				lane->own_sm_ns += k->sms * dt_ns;
				lane->judged_ns += dt_ns;
			} else {
				if (lane->left_sms != a->sms - taken)
					account_left(k, lane);
				lane->left_sms = a->sms - taken;
				lane->left_ns += dt_ns;
				lane->own_sm_ns += lane->left_sms * dt_ns;
			}
		}
		return;
	}
	if (wanted > a->sms) {
		result->unjudged_sm_ns += a->sms * dt_ns;
		return;
	}
	FOR_RESIDENT(k)
	{
		if (k->is_judged) {
			lanes[k - a->kernels].own_sm_ns += k->sms * dt_ns;
			lanes[k - a->kernels].judged_ns += dt_ns;
		} else {
			result->unjudged_sm_ns += k->sms * dt_ns;
		}
	}
#undef FOR_RESIDENT
	if (has_compute)
		result->underfill_sm_ns += (a->sms - wanted) * dt_ns;
	else
		result->comm_sm_ns += (a->sms - wanted) * dt_ns;
}

static void account_waves(const struct account *a, struct lane *lanes,
                          struct account_result *result)
{
	for (size_t i = 0; i < a->kernel_count; i++) {
		const struct account_kernel *k = &a->kernels[i];
		int64_t wave = (int64_t)((wide)k->wave_sm_ns * lanes[i].judged_ns /
		                         (k->end_ns - k->start_ns));

		account_left(k, &lanes[i]);
		wave += lanes[i].wave_sm_ns;
		result->active_sm_ns += lanes[i].own_sm_ns - wave;
		result->wave_sm_ns += wave;
		result->wave_max_sm_ns += lanes[i].wave_max_sm_ns;
		result->wave_max_sm_ns += (int64_t)((wide)k->wave_max_sm_ns * lanes[i].judged_ns /
		                                    (k->end_ns - k->start_ns));
	}
}

/* The kernel that ended last by t_ns; of several the one that stands last. */
static const struct account_kernel *ended_last(const struct account *a, size_t count)
{
	const struct account_kernel *last = NULL;

	for (size_t i = 0; i < count; i++)
		if (!last || a->kernels[i].end_ns >= last->end_ns)
			last = &a->kernels[i];
	return last;
}

void account_compute(const struct account *a, struct account_result *ret_result)
{
	struct lane *lanes = calloc(a->kernel_count + 1, sizeof(*lanes));
	struct gap gap = {.account = a, .near = calloc(a->span_count + 1, sizeof(*gap.near))};
	struct points points = {0};
	size_t first = 0, next = 0;

	memset(ret_result, 0, sizeof(*ret_result));
	ret_result->names = calloc((size_t)a->name_count + 1, sizeof(*ret_result->names));
	if (!lanes || !gap.near || !ret_result->names)
		abort();
	points_add(&points, a->start_ns);
	points_add(&points, a->end_ns);
	for (size_t i = 0; i < a->kernel_count; i++) {
		points_add(&points, a->kernels[i].start_ns);
		points_add(&points, a->kernels[i].end_ns);
	}
	points_sort(&points);
	for (size_t i = 0; i + 1 < points.count; i++) {
		int64_t from_ns = points.at[i], dt_ns = points.at[i + 1] - from_ns;
		bool is_gap = true;

		if (dt_ns == 0)
			continue;
		while (next < a->kernel_count && a->kernels[next].start_ns <= from_ns)
			next++;
		while (first < next && a->kernels[first].end_ns <= from_ns)
			first++;
		for (size_t k = first; k < next; k++)
			is_gap &= a->kernels[k].end_ns <= from_ns;
		if (!is_gap) {
			account_slice(a, first, from_ns, dt_ns, lanes, ret_result);
			continue;
		}
		gap.start_ns = from_ns;
		gap.end_ns = from_ns + dt_ns;
		gap.before = ended_last(a, next);
		gap.next = next < a->kernel_count ? &a->kernels[next] : NULL;
		account_gap(&gap, ret_result);
	}
	account_waves(a, lanes, ret_result);
	free(points.at);
	free(gap.all.at);
	free(gap.cpu.at);
	free(gap.near);
	free(lanes);
}

void account_result_fini(struct account_result *result)
{
	free(result->names);
	memset(result, 0, sizeof(*result));
}
