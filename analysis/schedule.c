/*
 * schedule.c - a grid's schedule and the split of its SM-time, see schedule.h.
 *
 * Equal blocks run in waves that all begin with an empty machine at one moment.
 * So one full wave and the rest are simulated, and the full ones are multiplied.
 *
 * Pure: any thread, never blocks; allocates while it runs.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/schedule_run.h"

__extension__ typedef unsigned __int128 uwide;

/* ---- is it valid */

static int check_groups(const struct wt_schedule_machine *machine)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < machine->group_count; i++) {
		if (machine->group_sms[i] == 0)
			return -EINVAL;
		sum += machine->group_sms[i];
	}
	return sum == machine->sm_count ? 0 : -EINVAL;
}

static int check_machine(const struct wt_schedule_machine *machine)
{
	if (machine->sm_count == 0 || machine->blocks_per_sm == 0)
		return -EINVAL;
	if (machine->sm_count > WT_SCHEDULE_SMS_MAX ||
	    (uint64_t)machine->sm_count * machine->blocks_per_sm > WT_SCHEDULE_SLOTS_MAX)
		return -E2BIG;
	if (machine->cluster_blocks <= 1)
		return 0;
	if (machine->is_shared && machine->blocks_per_sm > 1)
		return -ENOTSUP;
	return machine->group_sms ? check_groups(machine) : 0;
}

static int check_times(const struct wt_schedule_work *work)
{
	const struct wt_schedule_times *times = &work->times;

	if (work->setup < 0)
		return -EINVAL;
	if (times->kind != WT_SCHEDULE_LIST) {
		if (times->a < 0 || times->b < 0)
			return -EINVAL;
		return times->kind == WT_SCHEDULE_UNIFORM &&
		                       (times->b < times->a || times->b == INT64_MAX)
		               ? -EINVAL
		               : 0;
	}
	for (uint64_t i = 0; i < work->item_count; i++)
		if (times->list[i] < 0)
			return -EINVAL;
	return 0;
}

uint64_t wt_schedule_resident(const struct wt_schedule_machine *machine)
{
	uint64_t cluster = machine->cluster_blocks > 1 ? machine->cluster_blocks : 1;
	uint64_t resident = 0;

	if (check_machine(machine))
		return 0;
	if (cluster == 1 || !machine->group_sms)
		return (uint64_t)machine->sm_count * machine->blocks_per_sm / cluster * cluster;
	for (uint32_t i = 0; i < machine->group_count; i++)
		resident += (uint64_t)machine->group_sms[i] * machine->blocks_per_sm / cluster;
	return resident * cluster;
}

/* Completes the work: blocks of a persistent grid, items of another. */
static int settle_work(const struct wt_schedule_machine *machine, uint64_t resident,
                       struct wt_schedule_work *work)
{
	uint64_t cluster = machine->cluster_blocks > 1 ? machine->cluster_blocks : 1;

	if (work->deal == WT_SCHEDULE_BLOCKS) {
		work->item_count = work->grid;
	} else {
		if (work->grid == 0) {
			uint64_t wanted = work->item_count + cluster - 1;

			work->grid = resident;
			if (wanted / cluster * cluster < resident)
				work->grid = wanted / cluster * cluster;
		}
		if (work->grid > resident)
			return -EINVAL;
	}
	if (work->grid == 0 || work->item_count == 0)
		return -EINVAL;
	return work->grid % cluster ? -EDOM : 0;
}

/* ---- run */

struct plan {
	const struct wt_schedule_machine *machine;
	const struct wt_schedule_work *work;
	const uint32_t *capacity; /* NULL unless items are fetched from a queue */
	uint64_t resident;
	wt_schedule_observer *observer;
	void *context;
};

/* What a schedule comes to, and per SM. */
struct sums {
	int64_t makespan, work, time_min, time_max;
	struct wt_schedule_sm *sms;
};

static uint64_t resident_items(const struct plan *plan)
{
	return plan->capacity ? plan->work->grid : plan->resident;
}

/* Do all waves begin with an empty machine? */
static bool is_wavy(const struct plan *plan)
{
	bool is_shared = plan->machine->is_shared && plan->machine->blocks_per_sm > 1;

	if (plan->observer || plan->work->times.kind != WT_SCHEDULE_EQUAL)
		return false;
	if (plan->work->deal == WT_SCHEDULE_QUEUE)
		return !is_shared || plan->work->grid % plan->machine->sm_count == 0;
	return plan->work->deal == WT_SCHEDULE_BLOCKS;
}

static int run_part(const struct plan *plan, uint64_t count, bool is_later, struct sums *sums)
{
	struct wt_schedule_run run = {.machine = plan->machine,
	                              .work = plan->work,
	                              .count = count,
	                              .capacity = plan->capacity,
	                              .is_later = is_later,
	                              .observer = plan->observer,
	                              .context = plan->context};
	int rc = wt_schedule_run(&run, sums->sms);

	sums->makespan = run.makespan;
	sums->work = run.work_sum;
	sums->time_min = run.time_min;
	sums->time_max = run.time_max;
	return rc;
}

/* sum += count times part, which comes behind it. */
static int append(struct sums *sum, const struct sums *part, uint64_t count, uint32_t sm_count)
{
	int64_t before = sum->makespan, last_start, value;

	if (count == 0)
		return 0;
	if (count > INT64_MAX || __builtin_mul_overflow(part->work, (int64_t)count, &value) ||
	    __builtin_add_overflow(sum->work, value, &sum->work))
		return -EOVERFLOW;
	/* No makespan and no active time is longer than the work. */
	last_start = before + part->makespan * (int64_t)(count - 1);
	sum->makespan = last_start + part->makespan;
	for (uint32_t i = 0; i < sm_count; i++) {
		if (!part->sms[i].blocks)
			continue;
		sum->sms[i].active += part->sms[i].active * (int64_t)count;
		sum->sms[i].blocks += part->sms[i].blocks * count;
		sum->sms[i].end = last_start + part->sms[i].end;
	}
	if (part->time_min < sum->time_min)
		sum->time_min = part->time_min;
	if (part->time_max > sum->time_max)
		sum->time_max = part->time_max;
	return 0;
}

/* Equal blocks: the first wave, the full ones after it, the rest. */
static int run_waves(const struct plan *plan, struct sums *sums)
{
	uint64_t wave_items = resident_items(plan), items = plan->work->item_count;
	uint64_t full_count = items / wave_items, rest = items % wave_items;
	struct sums part = {0};
	int rc;

	if (full_count < 2)
		return run_part(plan, items, false, sums);
	part.sms = calloc(plan->machine->sm_count, sizeof(*part.sms));
	if (!part.sms)
		return -ENOMEM;
	/* They differ in a queue's setup. */
	rc = run_part(plan, wave_items, true, &part);
	if (!rc)
		rc = run_part(plan, wave_items, false, sums);
	if (!rc)
		rc = append(sums, &part, full_count - 1, plan->machine->sm_count);
	if (!rc && rest) {
		rc = run_part(plan, rest, true, &part);
		if (!rc)
			rc = append(sums, &part, 1, plan->machine->sm_count);
	}
	free(part.sms);
	return rc;
}

static int run_plan(const struct plan *plan, struct sums *sums)
{
	bool has_shares =
	        plan->work->deal == WT_SCHEDULE_STRIDE || plan->work->deal == WT_SCHEDULE_SPLIT;

	if (is_wavy(plan))
		return run_waves(plan, sums);
	if (!(has_shares && plan->work->times.kind == WT_SCHEDULE_EQUAL) &&
	    plan->work->item_count > WT_SCHEDULE_BLOCKS_MAX)
		return -E2BIG;
	return run_part(plan, has_shares ? plan->work->grid : plan->work->item_count, false, sums);
}

/* Persistent blocks with a queue: how many of them each SM holds. */
static int place_blocks(const struct plan *plan, struct wt_schedule_sm *sms, uint32_t *capacity)
{
	struct wt_schedule_work work = {.grid = plan->work->grid,
	                                .item_count = plan->work->grid,
	                                .times = {.kind = WT_SCHEDULE_EQUAL, .a = 1}};
	struct wt_schedule_run run = {.machine = plan->machine, .work = &work, .count = work.grid};
	int rc = wt_schedule_run(&run, sms);

	for (uint32_t i = 0; i < plan->machine->sm_count && !rc; i++)
		capacity[i] = sms[i].first_load;
	return rc;
}

static int run_all(struct plan *plan, struct sums *sums)
{
	uint32_t *capacity;
	int rc;

	if (plan->work->deal != WT_SCHEDULE_QUEUE)
		return run_plan(plan, sums);
	capacity = calloc(plan->machine->sm_count, sizeof(*capacity));
	if (!capacity)
		return -ENOMEM;
	rc = place_blocks(plan, sums->sms, capacity);
	plan->capacity = capacity;
	if (!rc)
		rc = run_plan(plan, sums);
	plan->capacity = NULL;
	free(capacity);
	return rc;
}

/* ---- split */

static int64_t sum_active(const struct sums *sums, uint32_t sm_count)
{
	int64_t active = 0;

	for (uint32_t i = 0; i < sm_count; i++)
		active += sums->sms[i].active;
	return active;
}

static uint32_t count_used(const struct sums *sums, uint32_t sm_count)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < sm_count; i++)
		used += sums->sms[i].blocks > 0;
	return used;
}

/* Tail idle of `grid` blocks of time 1: it times their mean is the wave. */
static int unit_tail(const struct plan *plan, struct wt_schedule_sm *sms, int64_t *ret_tail)
{
	struct wt_schedule_work work = {.grid = plan->work->grid,
	                                .item_count = plan->work->grid,
	                                .times = {.kind = WT_SCHEDULE_EQUAL, .a = 1}};
	struct plan unit = {.machine = plan->machine, .work = &work, .resident = plan->resident};
	struct sums sums = {.sms = sms};
	uint32_t sm_count = plan->machine->sm_count;
	int64_t total;
	int rc = run_plan(&unit, &sums);

	if (rc)
		return rc;
	if (__builtin_mul_overflow(sums.makespan, count_used(&sums, sm_count), &total))
		return -EOVERFLOW;
	*ret_tail = total - sum_active(&sums, sm_count);
	return 0;
}

static int set_wave(const struct plan *plan, struct wt_schedule_sm *sms,
                    struct wt_schedule_result *result)
{
	int64_t unit = 0;
	uwide wave;
	bool is_equal =
	        plan->work->deal == WT_SCHEDULE_BLOCKS && result->time_min == result->time_max;
	int rc = 0;

	if (is_equal) {
		result->wave_idle = result->tail_idle;
		return 0;
	}
	if (result->tail_idle > 0)
		rc = unit_tail(plan, sms, &unit);
	wave = ((uwide)result->work * (uint64_t)unit + result->grid / 2) / result->grid;
	result->wave_idle = wave < (uint64_t)result->tail_idle ? (int64_t)wave : result->tail_idle;
	result->straggle_idle = result->tail_idle - result->wave_idle;
	return rc;
}

static void set_tail(const struct sums *sums, uint32_t sm_count, struct wt_schedule_result *result)
{
	int64_t first_end = sums->makespan;

	result->has_tail = true;
	for (uint32_t i = 0; i < sm_count; i++) {
		if (!sums->sms[i].blocks)
			continue;
		if (sums->sms[i].active != sums->sms[i].end)
			result->has_tail = false;
		if (sums->sms[i].end < first_end)
			first_end = sums->sms[i].end;
	}
	result->tail_time = sums->makespan - first_end;
	for (uint32_t i = 0; i < sm_count; i++)
		if (sums->sms[i].blocks)
			result->tail_active += sums->sms[i].end - first_end;
}

static int split(const struct plan *plan, struct sums *sums, struct wt_schedule_result *result)
{
	uint32_t sm_count = plan->machine->sm_count;

	if (__builtin_mul_overflow(sums->makespan, sm_count, &result->total))
		return -EOVERFLOW;
	result->makespan = sums->makespan;
	result->work = sums->work;
	result->time_min = sums->time_min;
	result->time_max = sums->time_max;
	result->active = sum_active(sums, sm_count);
	result->sms_used = count_used(sums, sm_count);
	result->idle = result->total - result->active;
	result->underfill_idle = sums->makespan * (sm_count - result->sms_used);
	result->tail_idle = result->idle - result->underfill_idle;
	set_tail(sums, sm_count, result);
	return set_wave(plan, sums->sms, result);
}

static void set_counts(const struct plan *plan, struct wt_schedule_result *result)
{
	uint64_t grid = plan->work->grid, resident = plan->resident;

	result->grid = grid;
	result->item_count = plan->work->item_count;
	result->resident_blocks = resident;
	result->waves = (double)grid / (double)resident;
	result->waves_sm = (double)grid / plan->machine->sm_count;
	result->full_waves = grid / resident;
	result->last_wave_blocks = grid % resident ? grid % resident : resident;
}

int wt_schedule_compute(const struct wt_schedule_machine *machine,
                        const struct wt_schedule_work *work, wt_schedule_observer *observer,
                        void *context, int64_t *sm_active, struct wt_schedule_result *ret_result)
{
	struct wt_schedule_work settled = *work;
	struct wt_schedule_result result = {0};
	struct plan plan = {
	        .machine = machine, .work = &settled, .observer = observer, .context = context};
	struct sums sums = {0};
	int rc = check_machine(machine);

	if (rc)
		return rc;
	plan.resident = wt_schedule_resident(machine);
	if (plan.resident == 0)
		return -ENOSPC;
	rc = settle_work(machine, plan.resident, &settled);
	if (!rc)
		rc = check_times(&settled);
	if (rc)
		return rc;
	sums.sms = calloc(machine->sm_count, sizeof(*sums.sms));
	if (!sums.sms)
		return -ENOMEM;
	rc = run_all(&plan, &sums);
	for (uint32_t i = 0; i < machine->sm_count && !rc; i++)
		sm_active[i] = sums.sms[i].active;
	set_counts(&plan, &result);
	if (!rc)
		rc = split(&plan, &sums, &result); /* overwrites sums.sms */
	free(sums.sms);
	if (!rc)
		*ret_result = result;
	return rc;
}
