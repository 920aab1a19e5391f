/*
 * test_schedule_ticks.c - random schedules against a simulator that moves one tick at a time, and
 * what must hold for any of them.
 */
#include <limits.h>

#include "analysis/schedule.h"
#include "tests/tap.h"

#define SMS_MAX 12
#define SLOTS_MAX 4
#define ITEMS_MAX 64
#define FINE 12 /* a tick of progress, divisible by 1 to SLOTS_MAX */

/* Deterministic numbers (splitmix64); n > 0. */
static uint64_t random_below(uint64_t *state, uint64_t n)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (z ^ (z >> 31)) % n;
}

/* ---- one tick at a time ---- */

struct naive_sm {
	int64_t left[SLOTS_MAX]; /* FINE per tick; -1: free */
	bool was_used[SLOTS_MAX];
	int capacity, group;
	int64_t active;
	bool has_run;
};

struct naive {
	const struct wt_schedule_machine *machine;
	struct naive_sm sms[SMS_MAX];
	int64_t times[ITEMS_MAX];
	int count, started;
	int64_t queue_setup; /* of a slot's first item */
	int64_t now;
};

static int naive_load(const struct naive_sm *sm)
{
	int load = 0;

	for (int k = 0; k < sm->capacity; k++)
		load += sm->left[k] >= 0;
	return load;
}

static bool naive_spreads(const struct naive *n)
{
	return !n->machine->is_packed || n->now == 0;
}

static void naive_start(struct naive *n, int group)
{
	struct naive_sm *best = NULL;
	int k = 0;

	for (uint32_t i = 0; i < n->machine->sm_count; i++) {
		struct naive_sm *sm = &n->sms[i];

		if ((group >= 0 && sm->group != group) || naive_load(sm) == sm->capacity)
			continue;
		if (!best || (naive_spreads(n) && naive_load(sm) < naive_load(best)))
			best = sm;
	}
	while (best->left[k] >= 0)
		k++;
	best->left[k] = FINE * (n->times[n->started++] + (best->was_used[k] ? 0 : n->queue_setup));
	best->was_used[k] = best->has_run = true;
}

/* The group that the next cluster goes to, or -1. */
static int naive_choose_group(const struct naive *n, int size)
{
	int best = -1, best_free = 0;

	for (uint32_t g = 0; g < n->machine->group_count; g++) {
		int free_slots = 0;

		for (uint32_t i = 0; i < n->machine->sm_count; i++)
			if (n->sms[i].group == (int)g)
				free_slots += n->sms[i].capacity - naive_load(&n->sms[i]);
		if (free_slots < size)
			continue;
		if (best < 0 || (naive_spreads(n) && free_slots > best_free)) {
			best = (int)g;
			best_free = free_slots;
		}
	}
	return best;
}

static void naive_fill(struct naive *n)
{
	int size = n->machine->cluster_blocks > 1 ? (int)n->machine->cluster_blocks : 1;

	while (n->started < n->count) {
		int group = 0;

		if (n->machine->group_sms && size > 1) {
			group = naive_choose_group(n, size);
			if (group < 0)
				return;
		} else {
			int free_slots = 0;

			for (uint32_t i = 0; i < n->machine->sm_count; i++)
				free_slots += n->sms[i].capacity - naive_load(&n->sms[i]);
			if (free_slots < size)
				return;
			group = -1;
		}
		for (int i = 0; i < size; i++)
			naive_start(n, group);
	}
}

static bool naive_end(struct naive *n)
{
	bool any = false;

	for (uint32_t i = 0; i < n->machine->sm_count; i++)
		for (int k = 0; k < n->sms[i].capacity; k++)
			if (n->sms[i].left[k] == 0) {
				n->sms[i].left[k] = -1;
				any = true;
			}
	return any;
}

/* False when nothing runs any more. */
static bool naive_tick(struct naive *n)
{
	bool is_busy = false;

	naive_fill(n);
	while (naive_end(n))
		naive_fill(n);
	for (uint32_t i = 0; i < n->machine->sm_count; i++) {
		struct naive_sm *sm = &n->sms[i];
		int load = naive_load(sm);

		if (load == 0)
			continue;
		is_busy = true;
		sm->active++;
		for (int k = 0; k < sm->capacity; k++)
			if (sm->left[k] >= 0)
				sm->left[k] -= n->machine->is_shared ? FINE / load : FINE;
	}
	n->now += is_busy;
	return is_busy;
}

static void naive_init(struct naive *n, const struct wt_schedule_machine *machine)
{
	int group = 0, left = machine->group_sms ? (int)machine->group_sms[0] : INT_MAX;

	*n = (struct naive){.machine = machine};
	for (uint32_t i = 0; i < machine->sm_count; i++) {
		if (left-- == 0)
			left = (int)machine->group_sms[++group] - 1;
		n->sms[i].group = group;
		n->sms[i].capacity = (int)machine->blocks_per_sm;
		for (int k = 0; k < SLOTS_MAX; k++)
			n->sms[i].left[k] = -1;
	}
}

static int64_t naive_idle(const struct naive *n)
{
	int64_t idle = 0;

	for (uint32_t i = 0; i < n->machine->sm_count; i++)
		idle += n->now - n->sms[i].active;
	return idle;
}

static bool is_same(const struct naive *n, const struct wt_schedule_result *r,
                    const int64_t *sm_active)
{
	bool is_equal = r->makespan == n->now && r->idle == naive_idle(n);
	int64_t underfill = 0;

	for (uint32_t i = 0; i < n->machine->sm_count; i++) {
		is_equal = is_equal && sm_active[i] == n->sms[i].active;
		underfill += n->sms[i].has_run ? 0 : n->now;
	}
	return is_equal && r->underfill_idle == underfill;
}

/* ---- random machines and work ---- */

struct random_case {
	struct wt_schedule_machine machine;
	struct wt_schedule_work work;
	int64_t list[ITEMS_MAX];
	uint32_t groups[SMS_MAX];
};

static void random_groups(uint64_t *state, struct random_case *c)
{
	uint32_t left = c->machine.sm_count;

	c->machine.group_count = 0;
	while (left > 0) {
		uint32_t size = 1 + (uint32_t)random_below(state, left);

		c->groups[c->machine.group_count++] = size;
		left -= size;
	}
	c->machine.group_sms = c->groups;
}

static void random_machine(uint64_t *state, struct random_case *c)
{
	c->machine = (struct wt_schedule_machine){
	        .sm_count = 1 + (uint32_t)random_below(state, SMS_MAX),
	        .blocks_per_sm = 1 + (uint32_t)random_below(state, SLOTS_MAX),
	        .is_shared = random_below(state, 2),
	        .is_packed = random_below(state, 3) == 0};
	if (random_below(state, 3) == 0) {
		c->machine.cluster_blocks = 1 + (uint32_t)random_below(state, 5);
		c->machine.is_shared = false;
		if (random_below(state, 2))
			random_groups(state, c);
	}
}

/* Equal, or a few lengths, so that many ends coincide. */
static void random_work(uint64_t *state, struct random_case *c)
{
	uint64_t cluster = c->machine.cluster_blocks > 1 ? c->machine.cluster_blocks : 1;
	bool is_equal = random_below(state, 3) == 0;
	uint64_t span = 1 + random_below(state, 12);

	c->work = (struct wt_schedule_work){.setup = (int64_t)random_below(state, 4)};
	c->work.grid = (1 + random_below(state, ITEMS_MAX / cluster)) * cluster;
	c->work.item_count = c->work.grid;
	c->work.times.kind = is_equal ? WT_SCHEDULE_EQUAL : WT_SCHEDULE_LIST;
	c->work.times.a = 5;
	c->work.times.list = c->list;
	for (int i = 0; i < ITEMS_MAX; i++)
		c->list[i] = is_equal ? 5 : (int64_t)random_below(state, span);
}

static void test_against_ticks(void)
{
	int compared_count = 0, differ_count = 0, clustered_count = 0, sum_count = 0;
	uint64_t state = 1;

	while (compared_count < 20000) {
		struct random_case c;
		struct wt_schedule_result r;
		int64_t sm_active[SMS_MAX];
		struct naive naive;

		random_machine(&state, &c);
		random_work(&state, &c);
		if (wt_schedule_compute(&c.machine, &c.work, NULL, NULL, sm_active, &r))
			continue; /* a cluster that doesn't fit */
		naive_init(&naive, &c.machine);
		naive.count = (int)c.work.grid;
		for (int i = 0; i < naive.count; i++)
			naive.times[i] = c.list[i] + c.work.setup;
		while (naive_tick(&naive))
			;
		compared_count++;
		clustered_count += c.machine.cluster_blocks > 1;
		differ_count += !is_same(&naive, &r, sm_active);
		sum_count += r.active + r.underfill_idle + r.wave_idle + r.straggle_idle ==
		                     c.machine.sm_count * r.makespan &&
		             r.total == c.machine.sm_count * r.makespan && r.wave_idle >= 0 &&
		             r.straggle_idle >= 0 && r.underfill_idle >= 0;
	}
	ok(differ_count == 0 && clustered_count > 2000,
	   "%d schedules (%d with clusters) tick by tick: %d differ", compared_count,
	   clustered_count, differ_count);
	is_i64(sum_count, compared_count, "all of them sum up to S * makespan");
}

/* The same for persistent grids: the three ways in which blocks get items. */
static void set_shares(struct naive *n, const struct random_case *c)
{
	uint64_t grid = c->work.grid, items = c->work.item_count;

	n->count = (int)grid;
	for (uint64_t w = 0; w < grid; w++)
		n->times[w] = c->work.setup;
	for (uint64_t i = 0, w = 0; i < items; i++) {
		if (c->work.deal == WT_SCHEDULE_STRIDE) {
			n->times[i % grid] += c->list[i];
			continue;
		}
		/* Block w ends where the first w + 1 shares do. */
		while (i ==
		       (w + 1) * (items / grid) + (w + 1 < items % grid ? w + 1 : items % grid))
			w++;
		n->times[w] += c->list[i];
	}
}

static void set_queue(struct naive *n, const struct random_case *c)
{
	/* Residents, dealt round; each then takes items like a slot. */
	for (uint32_t i = 0; i < c->machine.sm_count; i++)
		n->sms[i].capacity = (int)(c->work.grid / c->machine.sm_count +
		                           (i < c->work.grid % c->machine.sm_count));
	n->count = (int)c->work.item_count;
	n->queue_setup = c->work.setup;
	memcpy(n->times, c->list, sizeof(n->times));
}

static void test_persistent_against_ticks(void)
{
	int differ_count[4] = {0}, sum_count = 0;
	uint64_t state = 2;

	for (int i = 0; i < 12000; i++) {
		struct random_case c;
		struct wt_schedule_result r;
		int64_t sm_active[SMS_MAX];
		struct naive naive;
		uint64_t resident;

		random_machine(&state, &c);
		c.machine.cluster_blocks = 0;
		random_work(&state, &c);
		c.work.deal = WT_SCHEDULE_QUEUE + (enum wt_schedule_deal)(i % 3);
		resident = wt_schedule_resident(&c.machine);
		c.work.grid = 1 + random_below(&state, resident);
		if (c.work.grid > c.work.item_count)
			c.work.grid = c.work.item_count;
		naive_init(&naive, &c.machine);
		if (c.work.deal == WT_SCHEDULE_QUEUE)
			set_queue(&naive, &c);
		else
			set_shares(&naive, &c);
		while (naive_tick(&naive))
			;
		if (wt_schedule_compute(&c.machine, &c.work, NULL, NULL, sm_active, &r) ||
		    !is_same(&naive, &r, sm_active))
			differ_count[c.work.deal]++;
		sum_count += r.active + r.underfill_idle + r.wave_idle + r.straggle_idle ==
		             c.machine.sm_count * r.makespan;
	}
	is_i64(differ_count[WT_SCHEDULE_QUEUE], 0, "persistent, queue: tick by tick");
	is_i64(differ_count[WT_SCHEDULE_STRIDE], 0, "persistent, in turn: tick by tick");
	is_i64(differ_count[WT_SCHEDULE_SPLIT], 0, "persistent, split: tick by tick");
	is_i64(sum_count, 12000, "and they sum up");
}

/* ---- what must hold ---- */

static void test_bounds(void)
{
	int broken_count = 0;
	uint64_t state = 3;

	for (int i = 0; i < 4000; i++) {
		struct random_case c;
		struct wt_schedule_result r, more, longer;
		int64_t sm_active[SMS_MAX + 1];
		int64_t longest = 0, sum = 0;

		random_machine(&state, &c);
		c.machine.cluster_blocks = 0;
		random_work(&state, &c);
		for (uint64_t k = 0; k < c.work.grid; k++) {
			sum += c.list[k] + c.work.setup;
			if (c.list[k] + c.work.setup > longest)
				longest = c.list[k] + c.work.setup;
		}
		wt_schedule_compute(&c.machine, &c.work, NULL, NULL, sm_active, &r);
		broken_count += r.work != sum || r.time_max != longest;
		broken_count += r.makespan < longest || r.active > sum;
		broken_count += r.makespan * c.machine.sm_count *
		                        (c.machine.is_shared ? 1 : c.machine.blocks_per_sm) <
		                sum;
		/* Graham: no more than twice the best. */
		if (!c.machine.is_shared)
			broken_count += r.makespan > longest + sum / (c.machine.sm_count *
			                                              c.machine.blocks_per_sm);
		if (c.work.times.kind != WT_SCHEDULE_EQUAL || c.work.grid == ITEMS_MAX)
			continue;
		c.work.grid++;
		wt_schedule_compute(&c.machine, &c.work, NULL, NULL, sm_active, &more);
		c.work.times.a++;
		wt_schedule_compute(&c.machine, &c.work, NULL, NULL, sm_active, &longer);
		broken_count += more.makespan < r.makespan || longer.makespan <= more.makespan;
	}
	is_i64(broken_count, 0, "bounds and monotony over 4,000 schedules");
}

int main(void)
{
	test_against_ticks();
	test_persistent_against_ticks();
	test_bounds();
	return tap_done();
}
