/*
 * schedule_run.c - the event simulation, see schedule_run.h.
 *
 * Three kinds of heap, all of a fixed set of members whose keys change: SMs by the
 * time of their next end; the SMs of a group by resident blocks; groups by free slots.
 * Smallest key first, then lowest index.
 *
 * Time on an SM: `progress` is what a block that is there since time 0 would have done. It
 * advances as time does, or at 1/k when k blocks share. A block ends when progress
 * reaches its `end_progress`. Without clusters, blocks only join an SM at an end on the same SM,
 * when progress is an integer, and k * (an integer) later is the next end.
 *
 * Pure: any thread, never blocks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/schedule_run.h"

#define NEVER UINT64_MAX

struct heap {
	uint64_t *keys; /* of member */
	uint32_t *members; /* by place; the smallest is at 0 */
	uint32_t *places; /* of member */
	uint32_t count;
};

struct slot {
	uint64_t index; /* of its block */
	int64_t start, end_progress;
	bool is_taken, was_used;
};

struct sm {
	int64_t time; /* of `progress` */
	int64_t progress;
	int64_t busy_since;
	int64_t next_end_progress; /* INT64_MAX if empty */
	uint32_t load, capacity;
	uint32_t group_idx;
};

struct group {
	struct heap sms; /* members are counted from first_sm */
	uint32_t first_sm, free_slots;
};

struct sim {
	struct wt_schedule_run *run;
	struct wt_schedule_sm *results;
	struct sm *sms;
	struct slot *slots; /* blocks_per_sm of each SM */
	struct group *groups;
	struct heap ends, group_order;
	uint32_t sm_count, slots_per_sm, group_count, cluster_blocks;
	uint64_t started;
	int64_t now;
	int error;
};

/* ---- heap */

static int heap_init(struct heap *heap, uint32_t count)
{
	heap->count = count;
	heap->keys = calloc(count, sizeof(*heap->keys));
	heap->members = calloc(count, sizeof(*heap->members));
	heap->places = calloc(count, sizeof(*heap->places));
	if (!heap->keys || !heap->members || !heap->places)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		heap->members[i] = heap->places[i] = i;
	return 0;
}

static void heap_fini(struct heap *heap)
{
	free(heap->keys);
	free(heap->members);
	free(heap->places);
}

static bool is_before(const struct heap *heap, uint32_t a, uint32_t b)
{
	if (heap->keys[a] != heap->keys[b])
		return heap->keys[a] < heap->keys[b];
	return a < b;
}

static void heap_put(struct heap *heap, uint32_t place, uint32_t member)
{
	heap->members[place] = member;
	heap->places[member] = place;
}

static void heap_update(struct heap *heap, uint32_t member, uint64_t key)
{
	uint32_t place = heap->places[member];

	heap->keys[member] = key;
	while (place > 0 && is_before(heap, member, heap->members[(place - 1) / 2])) {
		heap_put(heap, place, heap->members[(place - 1) / 2]);
		place = (place - 1) / 2;
	}
	for (;;) {
		uint32_t child = 2 * place + 1;

		if (child >= heap->count)
			break;
		if (child + 1 < heap->count &&
		    is_before(heap, heap->members[child + 1], heap->members[child]))
			child++;
		if (is_before(heap, member, heap->members[child]))
			break;
		heap_put(heap, place, heap->members[child]);
		place = child;
	}
	heap_put(heap, place, member);
}

/* ---- where the next block goes */

static bool is_spread(const struct sim *sim)
{
	return !sim->run->machine->is_packed || (sim->now == 0 && !sim->run->is_later);
}

static void set_order(struct sim *sim, uint32_t sm_idx)
{
	const struct sm *sm = &sim->sms[sm_idx];
	struct group *group = &sim->groups[sm->group_idx];
	uint64_t key = is_spread(sim) ? sm->load : 0;

	if (sm->load == sm->capacity)
		key = NEVER;
	heap_update(&group->sms, sm_idx - group->first_sm, key);
}

static void set_group_order(struct sim *sim, uint32_t group_idx)
{
	uint32_t free_slots = sim->groups[group_idx].free_slots;
	uint64_t key = NEVER;

	if (free_slots >= sim->cluster_blocks)
		key = is_spread(sim) ? UINT32_MAX - free_slots : 0;
	heap_update(&sim->group_order, group_idx, key);
}

/* After time 0 a packed machine orders differently. */
static void reorder(struct sim *sim)
{
	for (uint32_t i = 0; i < sim->sm_count; i++)
		set_order(sim, i);
	for (uint32_t i = 0; i < sim->group_count; i++)
		set_group_order(sim, i);
}

/* ---- blocks start and end */

static void advance(struct sim *sim, struct sm *sm)
{
	int64_t passed = sim->now - sm->time;

	if (sim->run->machine->is_shared && sm->load > 1)
		passed /= sm->load; /* without remainder, see above */
	sm->progress += passed;
	sm->time = sim->now;
}

/* No end can be later than the sum of all times, which fits. */
static void set_next_end(struct sim *sim, uint32_t sm_idx)
{
	const struct sm *sm = &sim->sms[sm_idx];
	int64_t left;

	if (!sm->load) {
		heap_update(&sim->ends, sm_idx, NEVER);
		return;
	}
	left = sm->next_end_progress - sm->progress;
	if (sim->run->machine->is_shared)
		left *= sm->load;
	heap_update(&sim->ends, sm_idx, (uint64_t)(sm->time + left));
}

static uint32_t find_free_slot(const struct sim *sim, uint32_t sm_idx)
{
	const struct slot *slots = &sim->slots[(size_t)sm_idx * sim->slots_per_sm];
	uint32_t slot_idx = 0;

	while (slots[slot_idx].is_taken)
		slot_idx++;
	return slot_idx;
}

/* A grid whose blocks are dealt their items beforehand, as one time for each block. */
static int64_t time_of_share(struct sim *sim, uint64_t block)
{
	const struct wt_schedule_work *work = sim->run->work;
	uint64_t least = work->item_count / work->grid, more = work->item_count % work->grid;
	uint64_t count = least + (block < more);
	uint64_t step = work->deal == WT_SCHEDULE_STRIDE ? work->grid : 1;
	uint64_t item = block;
	int64_t sum = 0, time;

	if (work->times.kind == WT_SCHEDULE_EQUAL) {
		if (count > INT64_MAX ||
		    __builtin_mul_overflow(work->times.a, (int64_t)count, &sum))
			sim->error = -EOVERFLOW;
		return sum;
	}
	if (work->deal == WT_SCHEDULE_SPLIT)
		item = block * least + (block < more ? block : more);
	for (; count > 0; count--, item += step) {
		time = wt_schedule_time(&work->times, item);
		if (__builtin_add_overflow(sum, time, &sum))
			sim->error = -EOVERFLOW;
	}
	return sum;
}

static int64_t time_of(struct sim *sim, uint64_t index, bool is_first_of_slot)
{
	const struct wt_schedule_work *work = sim->run->work;
	bool is_queue = work->deal == WT_SCHEDULE_QUEUE;
	bool has_setup = !is_queue || (is_first_of_slot && !sim->run->is_later);
	int64_t time = work->deal == WT_SCHEDULE_BLOCKS || is_queue
	                       ? wt_schedule_time(&work->times, index)
	                       : time_of_share(sim, index);

	if (has_setup && __builtin_add_overflow(time, work->setup, &time))
		sim->error = -EOVERFLOW;
	if (__builtin_add_overflow(sim->run->work_sum, time, &sim->run->work_sum))
		sim->error = -EOVERFLOW;
	if (time < sim->run->time_min)
		sim->run->time_min = time;
	if (time > sim->run->time_max)
		sim->run->time_max = time;
	return time;
}

static void start_block(struct sim *sim, uint32_t sm_idx)
{
	struct sm *sm = &sim->sms[sm_idx];
	uint32_t slot_idx = find_free_slot(sim, sm_idx);
	struct slot *slot = &sim->slots[(size_t)sm_idx * sim->slots_per_sm + slot_idx];
	uint64_t index = sim->run->first_idx + sim->started++;
	int64_t time = time_of(sim, index, !slot->was_used);

	if (sim->error)
		return;
	advance(sim, sm);
	if (!sm->load++)
		sm->busy_since = sim->now;
	*slot = (struct slot){.index = index,
	                      .start = sim->now,
	                      .end_progress = sm->progress + time,
	                      .is_taken = true,
	                      .was_used = true};
	if (slot->end_progress < sm->next_end_progress)
		sm->next_end_progress = slot->end_progress;
	sim->results[sm_idx].blocks++;
	sim->groups[sm->group_idx].free_slots--;
	set_next_end(sim, sm_idx);
	set_order(sim, sm_idx);
	set_group_order(sim, sm->group_idx);
}

/* Starts what fits now. */
static void fill(struct sim *sim)
{
	while (sim->started < sim->run->count && !sim->error) {
		uint32_t group_idx = sim->group_order.members[0];
		struct group *group = &sim->groups[group_idx];

		if (sim->group_order.keys[group_idx] == NEVER)
			break;
		for (uint32_t i = 0; i < sim->cluster_blocks && !sim->error; i++)
			start_block(sim, group->first_sm + group->sms.members[0]);
	}
}

static void end_block(struct sim *sim, uint32_t sm_idx, uint32_t slot_idx)
{
	struct slot *slot = &sim->slots[(size_t)sm_idx * sim->slots_per_sm + slot_idx];
	struct wt_schedule_block block = {.index = slot->index,
	                                  .sm_idx = sm_idx,
	                                  .slot_idx = slot_idx,
	                                  .start = slot->start,
	                                  .end = sim->now};

	slot->is_taken = false;
	if (sim->run->observer)
		sim->run->observer(sim->run->context, &block);
}

/* All blocks of an SM that end now. */
static void end_blocks(struct sim *sim, uint32_t sm_idx)
{
	struct sm *sm = &sim->sms[sm_idx];
	const struct slot *slots = &sim->slots[(size_t)sm_idx * sim->slots_per_sm];
	int64_t next_end = INT64_MAX;
	uint32_t ended = 0;

	advance(sim, sm);
	for (uint32_t i = 0; i < sim->slots_per_sm; i++) {
		if (!slots[i].is_taken)
			continue;
		if (slots[i].end_progress == sm->progress) {
			end_block(sim, sm_idx, i);
			ended++;
		} else if (slots[i].end_progress < next_end) {
			next_end = slots[i].end_progress;
		}
	}
	sm->next_end_progress = next_end;
	sm->load -= ended;
	if (!sm->load)
		sim->results[sm_idx].active += sim->now - sm->busy_since;
	sim->results[sm_idx].end = sim->now;
	sim->groups[sm->group_idx].free_slots += ended;
	set_next_end(sim, sm_idx);
	set_order(sim, sm_idx);
	set_group_order(sim, sm->group_idx);
}

/* ---- whole */

static int init_groups(struct sim *sim)
{
	const struct wt_schedule_machine *machine = sim->run->machine;
	uint32_t first_sm = 0;
	int rc = heap_init(&sim->group_order, sim->group_count);

	for (uint32_t g = 0; g < sim->group_count && !rc; g++) {
		uint32_t count = machine->group_sms && sim->group_count > 1 ? machine->group_sms[g]
		                                                            : sim->sm_count;

		rc = heap_init(&sim->groups[g].sms, count);
		sim->groups[g].first_sm = first_sm;
		for (uint32_t i = 0; i < count; i++) {
			sim->sms[first_sm + i].group_idx = g;
			sim->groups[g].free_slots += sim->sms[first_sm + i].capacity;
		}
		first_sm += count;
	}
	return rc;
}

static int init(struct sim *sim, struct wt_schedule_run *run, struct wt_schedule_sm *results)
{
	const struct wt_schedule_machine *machine = run->machine;
	bool has_clusters = machine->cluster_blocks > 1 && !run->capacity;

	*sim = (struct sim){.run = run,
	                    .results = results,
	                    .sm_count = machine->sm_count,
	                    .slots_per_sm = machine->blocks_per_sm,
	                    .cluster_blocks = has_clusters ? machine->cluster_blocks : 1,
	                    .group_count = 1};
	if (has_clusters && machine->group_sms)
		sim->group_count = machine->group_count;
	run->work_sum = run->time_max = run->makespan = 0;
	run->time_min = INT64_MAX;
	memset(results, 0, sim->sm_count * sizeof(*results));
	sim->sms = calloc(sim->sm_count, sizeof(*sim->sms));
	sim->slots = calloc((size_t)sim->sm_count * sim->slots_per_sm, sizeof(*sim->slots));
	sim->groups = calloc(sim->group_count, sizeof(*sim->groups));
	if (!sim->sms || !sim->slots || !sim->groups || heap_init(&sim->ends, sim->sm_count))
		return -ENOMEM;
	for (uint32_t i = 0; i < sim->sm_count; i++) {
		sim->sms[i].capacity = run->capacity ? run->capacity[i] : sim->slots_per_sm;
		sim->sms[i].next_end_progress = INT64_MAX;
	}
	if (init_groups(sim))
		return -ENOMEM;
	for (uint32_t i = 0; i < sim->sm_count; i++)
		set_next_end(sim, i);
	reorder(sim);
	return 0;
}

static void fini(struct sim *sim)
{
	heap_fini(&sim->ends);
	heap_fini(&sim->group_order);
	for (uint32_t g = 0; sim->groups && g < sim->group_count; g++)
		heap_fini(&sim->groups[g].sms);
	free(sim->groups);
	free(sim->slots);
	free(sim->sms);
}

static void run_to_end(struct sim *sim)
{
	const struct heap *ends = &sim->ends;

	fill(sim);
	sim->run->first_fill = sim->started;
	for (uint32_t i = 0; i < sim->sm_count; i++)
		sim->results[i].first_load = sim->sms[i].load;
	while (ends->keys[ends->members[0]] != NEVER && !sim->error) {
		bool is_start = sim->now == 0;

		sim->now = (int64_t)ends->keys[ends->members[0]];
		if (is_start && sim->now > 0 && sim->run->machine->is_packed)
			reorder(sim);
		while (ends->keys[ends->members[0]] == (uint64_t)sim->now)
			end_blocks(sim, ends->members[0]);
		fill(sim);
	}
	sim->run->makespan = sim->now;
}

int wt_schedule_run(struct wt_schedule_run *run, struct wt_schedule_sm *sms)
{
	struct sim sim;
	int rc = init(&sim, run, sms);

	if (!rc) {
		run_to_end(&sim);
		rc = sim.error;
	}
	fini(&sim);
	return rc;
}
