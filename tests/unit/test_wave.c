/*
 * test_wave.c - waves and idle SM-time: the closed forms against simulations of
 * the schedules they stand for, against H200 measurements, and over random
 * launches for what must always hold.
 */
#include <errno.h>

#include "analysis/wave.h"
#include "tests/tap.h"

#define H200_SMS 132

static struct wt_wave_launch make_launch(int32_t sms, int32_t blocks_per_sm, uint32_t blocks,
                                         int64_t duration_ns)
{
	return (struct wt_wave_launch){.duration_ns = duration_ns,
	                               .grid = {blocks, 1, 1},
	                               .sm_count = sms,
	                               .blocks_per_sm = blocks_per_sm};
}

static struct wt_wave_result judge(struct wt_wave_launch launch)
{
	struct wt_wave_result result;

	wt_wave_judge(&launch, &result);
	return result;
}

static struct wt_wave_result judge_plain(int32_t sms, int32_t blocks_per_sm, uint32_t blocks,
                                         int64_t duration_ns)
{
	return judge(make_launch(sms, blocks_per_sm, blocks, duration_ns));
}

/* Deterministic numbers, all 64 bits of them (the mixer of splitmix64); n > 0. */
static uint64_t random_below(uint64_t *state, uint64_t n)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (z ^ (z >> 31)) % n;
}

/* ---- simulations ---- */

#define SIM_SMS_MAX 9
#define SIM_SLOTS_MAX 4
#define SIM_BLOCK_NS 1000000 /* one block alone on an SM */

struct sim_sm {
	double left_ns[SIM_SLOTS_MAX]; /* work left of each resident block */
	int resident_count;
	double last_end_ns;
};

/* What the closed forms assume of a schedule. */
enum sim_rule { SIM_INDEPENDENT, SIM_SHARED, SIM_GROUPED };

struct sim {
	struct sim_sm sms[SIM_SMS_MAX];
	int sm_count, slot_count, waiting_count;
	enum sim_rule rule; /* SIM_SHARED: blocks of an SM share its speed */
	double now_ns;
};

/*
 * Blocks go one by one to the SM with the fewest resident, as long as one has a slot. Grouped: once
 * the first are placed, to one SM until it is full, as when its slots come free together.
 */
static struct sim_sm *sim_choose(struct sim *sim)
{
	struct sim_sm *best = &sim->sms[0];

	for (int i = 0; i < sim->sm_count; i++) {
		struct sim_sm *sm = &sim->sms[i];

		if (sim->rule == SIM_GROUPED && sim->now_ns > 0 &&
		    sm->resident_count < sim->slot_count)
			return sm;
		if (sm->resident_count < best->resident_count)
			best = sm;
	}
	return best->resident_count < sim->slot_count ? best : NULL;
}

static void sim_place(struct sim *sim)
{
	struct sim_sm *sm;

	while (sim->waiting_count > 0 && (sm = sim_choose(sim))) {
		sm->left_ns[sm->resident_count++] = SIM_BLOCK_NS;
		sim->waiting_count--;
	}
}

static double sim_speed(const struct sim *sim, const struct sim_sm *sm)
{
	return sim->rule == SIM_SHARED ? 1.0 / sm->resident_count : 1.0;
}

/* Time until the next block ends, 0 if none runs. */
static double sim_next_end(const struct sim *sim)
{
	double next_ns = 0;

	for (int i = 0; i < sim->sm_count; i++) {
		const struct sim_sm *sm = &sim->sms[i];

		for (int k = 0; k < sm->resident_count; k++) {
			double end_ns = sm->left_ns[k] / sim_speed(sim, sm);

			if (next_ns == 0 || end_ns < next_ns)
				next_ns = end_ns;
		}
	}
	return next_ns;
}

static void sim_advance(struct sim *sim, double step_ns)
{
	sim->now_ns += step_ns;
	for (int i = 0; i < sim->sm_count; i++) {
		struct sim_sm *sm = &sim->sms[i];
		double done_ns = sm->resident_count > 0 ? step_ns * sim_speed(sim, sm) : 0;
		int kept_count = 0;

		for (int k = 0; k < sm->resident_count; k++) {
			double left_ns = sm->left_ns[k] - done_ns;

			if (left_ns > 1e-3)
				sm->left_ns[kept_count++] = left_ns;
			else
				sm->last_end_ns = sim->now_ns;
		}
		sm->resident_count = kept_count;
	}
}

/* Runs the grid; gives the makespan and the SM-time idle after each SM's last block. */
static double simulate(enum sim_rule rule, int sms, int slots, int blocks, double *ret_idle_sm_ns)
{
	struct sim sim = {
	        .sm_count = sms, .slot_count = slots, .waiting_count = blocks, .rule = rule};
	double step_ns, idle_sm_ns = 0;

	sim_place(&sim);
	while ((step_ns = sim_next_end(&sim)) > 0) {
		sim_advance(&sim, step_ns);
		sim_place(&sim);
	}
	for (int i = 0; i < sms; i++)
		idle_sm_ns += sim.now_ns - sim.sms[i].last_end_ns;
	*ret_idle_sm_ns = idle_sm_ns;
	return sim.now_ns;
}

static void test_against_schedules(enum sim_rule rule, enum wt_wave_form form, const char *what)
{
	int compared_count = 0, differ_count = 0;

	for (int sms = 1; sms <= SIM_SMS_MAX; sms++)
		for (int slots = 1; slots <= SIM_SLOTS_MAX; slots++)
			for (int blocks = 1; blocks <= 4 * sms * slots + 1; blocks++) {
				double idle_sm_ns;
				double makespan_ns =
				        simulate(rule, sms, slots, blocks, &idle_sm_ns);
				struct wt_wave_result r = judge_plain(sms, slots, (uint32_t)blocks,
				                                      llround(makespan_ns));
				int64_t got = r.underfill_sm_ns + r.form_sm_ns[form];

				compared_count++;
				differ_count += llabs(got - llround(idle_sm_ns)) > 2;
			}
	ok(compared_count > 1800 && differ_count == 0, "%s: %d schedules, %d differ", what,
	   compared_count, differ_count);
}

/* Mean number of SMs without a block when `last` blocks land on random slots. */
static double draw_empty_sms(int sms, int slots, int last)
{
	enum { DRAWS = 400 };
	uint64_t state = 42;
	int64_t empty_count = 0;

	for (int draw = 0; draw < DRAWS; draw++) {
		bool is_taken[H200_SMS * 8] = {false};
		bool has_block[H200_SMS] = {false};

		for (int placed = 0; placed < last;) {
			int slot = (int)random_below(&state, (uint64_t)(sms * slots));

			if (is_taken[slot])
				continue;
			is_taken[slot] = true;
			has_block[slot / slots] = true;
			placed++;
		}
		for (int i = 0; i < sms; i++)
			empty_count += !has_block[i];
	}
	return (double)empty_count / DRAWS;
}

static void test_jitter_against_draws(void)
{
	int compared_count = 0, differ_count = 0;

	for (int slots = 1; slots <= 8; slots *= 2)
		for (int last = 1; last <= H200_SMS * slots; last += 37) {
			struct wt_wave_result r = judge_plain(
			        H200_SMS, slots, (uint32_t)(2 * H200_SMS * slots + last), 3000000);
			double idle_share = draw_empty_sms(H200_SMS, slots, last) / H200_SMS / 3;
			double form_share =
			        (double)r.form_sm_ns[WT_WAVE_JITTER] / (3000000.0 * H200_SMS);

			/* 1 point, for the draws and for slots being finite. */
			compared_count++;
			differ_count += fabs(idle_share - form_share) > 0.01;
		}
	ok(compared_count > 50 && differ_count == 0, "jitter: %d draws of slots, %d differ",
	   compared_count, differ_count);
}

/* ---- measurements: H200, %smid and %globaltimer of every block ---- */

static void test_clock_bound_measurements(void)
{
	struct wt_wave_result r = judge_plain(H200_SMS, 2, 267, 101700);

	is_near(r.waves, 1.01136, 1e-5, "267 blocks, 2 per SM: waves");
	is_i64(r.full_waves, 1, "267 blocks: full waves");
	is_i64(r.last_wave_blocks, 3, "267 blocks: blocks of the last wave");
	is_i64(r.resident_blocks, 264, "267 blocks: resident blocks");
	is_near((double)r.form_sm_ns[WT_WAVE_INDEPENDENT], 6561e3, 4e3, "267 blocks: tail");
	is_near((double)r.form_sm_ns[WT_WAVE_INDEPENDENT], 6521e3, 65e3, "267 blocks: measured");
	r = judge_plain(H200_SMS, 2, 554, 153100);
	is_near((double)r.form_sm_ns[WT_WAVE_INDEPENDENT], 5409e3, 4e3, "554 blocks: tail");
	is_near((double)r.form_sm_ns[WT_WAVE_INDEPENDENT], 5358e3, 54e3, "554 blocks: measured");
	r = judge_plain(H200_SMS, 2, 66, 50800);
	is_near((double)r.underfill_sm_ns, 3352e3, 4e3, "66 blocks: underfill");
	is_near((double)r.underfill_sm_ns, 3357e3, 17e3, "66 blocks: measured");
	is_i64(r.wave_max_sm_ns, 0, "66 blocks: no wave besides");
	r = judge_plain(H200_SMS, 8, 200, 100000);
	is_i64(r.wave_sm_ns + r.form_sm_ns[WT_WAVE_JITTER], 0, "200 blocks, one wave: no tail");
	is_i64(r.wave_max_sm_ns, 3200000, "unless the blocks of an SM share it");
	r = judge_plain(H200_SMS, 2, 396, 100000);
	is_i64(r.form_sm_ns[WT_WAVE_INDEPENDENT], 0, "396 blocks: half a wave, no SM without");
	is_i64(r.form_sm_ns[WT_WAVE_GROUPED], 3300000, "unless its slots come free together");
	is_i64(r.wave_max_sm_ns, 3300000, "and that is the greatest");
}

/* Share of S * T idle at the end of FMA-bound kernels, and three of the forms there. */
static void test_compute_bound_measurements(void)
{
	static const struct {
		int32_t blocks_per_sm;
		uint32_t blocks;
		double truth, independent, shared, jitter;
	} rows[] = {{2, 269, 0.319, 0.481, 0.321, 0.481}, {8, 1077, 0.093, 0.421, 0.093, 0.426}};
	const double total_sm_ns = 1e6 * H200_SMS;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct wt_wave_result r =
		        judge_plain(H200_SMS, rows[i].blocks_per_sm, rows[i].blocks, 1000000);
		double shared = (double)r.form_sm_ns[WT_WAVE_SHARED] / total_sm_ns;

		is_near((double)r.form_sm_ns[WT_WAVE_INDEPENDENT] / total_sm_ns,
		        rows[i].independent, 0.0006, "FMA-bound: independent form");
		is_near(shared, rows[i].shared, 0.0006, "FMA-bound: shared form");
		is_near((double)r.form_sm_ns[WT_WAVE_JITTER] / total_sm_ns, rows[i].jitter, 0.0006,
		        "FMA-bound: jitter form");
		is_near(shared, rows[i].truth, 0.004,
		        "FMA-bound: the shared form is what happened");
		is_i64(r.wave_sm_ns, r.form_sm_ns[WT_WAVE_SHARED], "and the least");
		ok(r.wave_max_sm_ns > r.wave_sm_ns, "the greatest is another");
	}
}

/* Clock-bound blocks of equal length (to 0.4 %), 256 threads: truth tail, 2026-11-29. */
static void test_grouped_measurements(void)
{
	static const struct {
		int32_t blocks_per_sm;
		uint32_t blocks;
		double truth;
	} rows[] = {{2, 330, 0.3709}, {2, 396, 0.2351}, {2, 541, 0.3125}, {2, 871, 0.1703},
	            {4, 539, 0.4804}, {4, 660, 0.3634}, {4, 1082, 0.2921}};
	const double total_sm_ns = 1e6 * H200_SMS;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct wt_wave_result r =
		        judge_plain(H200_SMS, rows[i].blocks_per_sm, rows[i].blocks, 1000000);

		is_near((double)r.form_sm_ns[WT_WAVE_GROUPED] / total_sm_ns, rows[i].truth, 0.025,
		        "clock-bound: near the grouped form");
		ok(rows[i].truth * total_sm_ns <= (double)r.wave_max_sm_ns &&
		           rows[i].truth * total_sm_ns >= (double)r.wave_sm_ns,
		   "clock-bound: %u blocks, %d per SM: within the range", rows[i].blocks,
		   rows[i].blocks_per_sm);
	}
}

/* ---- what isn't judged ---- */

static void check_unjudged(struct wt_wave_launch launch, enum wt_wave_reason reason, bool has_waves,
                           int64_t underfill_sm_ns, int64_t unjudged_sm_ns, const char *what)
{
	struct wt_wave_result r = judge(launch);

	ok(r.reason == reason && !r.is_judged && r.has_waves == has_waves &&
	           r.underfill_sm_ns == underfill_sm_ns && r.unjudged_sm_ns == unjudged_sm_ns &&
	           r.wave_sm_ns == 0 && r.wave_max_sm_ns == 0,
	   "%s: %s", what, wt_wave_reason_text(reason));
}

static void test_unjudged(void)
{
	const struct wt_wave_launch full = make_launch(H200_SMS, 2, 300, 1000);
	const struct wt_wave_launch small = make_launch(H200_SMS, 2, 30, 1000);
	const int64_t all_sm_ns = H200_SMS * 1000;
	struct wt_wave_launch l = full;

	l.is_cooperative = true;
	check_unjudged(l, WT_WAVE_COOPERATIVE, true, 0, all_sm_ns, "300 blocks");
	l = small;
	l.is_cooperative = true;
	check_unjudged(l, WT_WAVE_COOPERATIVE, true, 102000, 30000, "30 blocks, 102 SMs empty");
	l = full;
	l.is_persistent = true;
	check_unjudged(l, WT_WAVE_PERSISTENT, true, 0, all_sm_ns, "300 blocks");
	l = full;
	l.blocks_per_sm = 0;
	check_unjudged(l, WT_WAVE_NO_FIT, false, 0, all_sm_ns, "no occupancy");
	l.occupancy_error = -ENOTSUP;
	check_unjudged(l, WT_WAVE_NO_CAPABILITY, false, 0, all_sm_ns, "-ENOTSUP");
	l.occupancy_error = -ERANGE;
	check_unjudged(l, WT_WAVE_NO_LIMITS, false, 0, all_sm_ns, "-ERANGE");
	l = full;
	l.grid[1] = 0;
	check_unjudged(l, WT_WAVE_BAD_GRID, false, 0, all_sm_ns, "empty grid");
	l.grid[0] = l.grid[1] = l.grid[2] = UINT32_MAX;
	check_unjudged(l, WT_WAVE_BAD_GRID, false, 0, all_sm_ns, "grid of 2^96 blocks");
	l = full;
	l.duration_ns = 0;
	check_unjudged(l, WT_WAVE_NO_TIME, true, 0, 0, "no time");
	l.duration_ns = -5;
	check_unjudged(l, WT_WAVE_NO_TIME, true, 0, 0, "end before start");
	l = full;
	l.sm_count = 0;
	check_unjudged(l, WT_WAVE_NO_SMS, false, 0, 0, "no SMs");
	ok(wt_wave_reason_text(WT_WAVE_JUDGED) == NULL, "a judged launch needs no reason");
	for (int i = 1; i < WT_WAVE_REASON_MAX; i++)
		ok(wt_wave_reason_text((enum wt_wave_reason)i) != NULL, "reason %d has a text", i);
}

static void test_settled_without_occupancy(void)
{
	struct wt_wave_launch l = make_launch(H200_SMS, 0, 30, 1000);
	struct wt_wave_result r;

	l.occupancy_error = -ENOTSUP;
	r = judge(l);
	ok(r.is_judged && !r.has_waves && r.reason == WT_WAVE_NO_CAPABILITY,
	   "fewer blocks than SMs: judged though waves are unknown");
	is_i64(r.underfill_sm_ns, 102000, "its underfill");
	is_i64(r.unjudged_sm_ns + r.wave_max_sm_ns, 0, "nothing else");
	is_near(r.waves_sm, 30.0 / H200_SMS, 1e-12, "waves of one block per SM are known");
}

/* ---- clusters ---- */

static struct wt_wave_launch make_cluster(uint32_t blocks, uint32_t size, uint32_t active)
{
	struct wt_wave_launch l = make_launch(H200_SMS, 1, blocks, 1000);

	l.cluster[0] = size;
	l.cluster[1] = l.cluster[2] = 1;
	l.max_active_clusters = active;
	return l;
}

static void test_clusters(void)
{
	struct wt_wave_launch l;
	struct wt_wave_result r = judge(make_cluster(132, 2, 66));

	ok(r.is_judged && r.resident_blocks == 132 && r.waves == 1.0, "66 pairs fill 132 SMs");
	is_i64(r.underfill_sm_ns + r.wave_max_sm_ns, 0, "nothing idle");
	r = judge(make_cluster(128, 4, 32));
	is_i64(r.resident_blocks, 128, "32 clusters of four: C from the record");
	is_i64(r.underfill_sm_ns, 4000, "four SMs no cluster reaches");
	is_i64(r.wave_max_sm_ns, 0, "no wave besides");
	r = judge(make_cluster(256, 4, 32));
	is_i64(r.underfill_sm_ns + r.wave_max_sm_ns, 4000, "the same in two waves");
	r = judge(make_cluster(192, 4, 32));
	is_i64(r.underfill_sm_ns, 4000, "one and a half waves: underfill");
	is_i64(r.form_sm_ns[WT_WAVE_INDEPENDENT], 32000, "half the SMs in reach for half the time");
	check_unjudged(make_cluster(256, 4, 0), WT_WAVE_NO_CLUSTER_MAX, false, 0, 132000,
	               "256 blocks");
	check_unjudged(make_cluster(64, 4, 0), WT_WAVE_NO_CLUSTER_MAX, false, 68000, 64000,
	               "64 blocks");
	l = make_cluster(256, 1, 7);
	r = judge(l);
	is_i64(r.resident_blocks, 132, "a cluster of one is a plain launch");
	l = make_cluster(256, 2, 66);
	l.sm_count = 100;
	is_i64(judge(l).resident_blocks, 100, "fewer SMs than the record's count is for");
	l = make_cluster(256, 2, 66);
	l.blocks_per_sm = 0;
	l.occupancy_error = -ENOTSUP;
	ok(judge(l).is_judged, "clusters need no occupancy");
}

/* ---- what must always hold ---- */

static struct wt_wave_launch draw_launch(uint64_t *state)
{
	static const int64_t longest_ns[] = {10, 100000, 86400000000000, INT64_MAX};
	static const uint32_t most_blocks[] = {40, 4000, 2147483647};
	struct wt_wave_launch l = {0};
	uint64_t kind = random_below(state, 8);

	l.duration_ns = 1 + (int64_t)random_below(state, (uint64_t)longest_ns[kind % 4]);
	l.sm_count = 1 + (int32_t)random_below(state, kind < 4 ? 200 : 5000);
	l.blocks_per_sm = (int32_t)random_below(state, 33);
	l.grid[0] = 1 + (uint32_t)random_below(state, most_blocks[random_below(state, 3)]);
	l.grid[1] = 1 + (uint32_t)random_below(state, kind == 7 ? 65535 : 3);
	l.grid[2] = 1 + (uint32_t)random_below(state, kind == 7 ? 65535 : 1);
	if (random_below(state, 4) == 0) {
		l.cluster[0] = 1 + (uint32_t)random_below(state, 4);
		l.cluster[1] = 1 + (uint32_t)random_below(state, 4);
		l.cluster[2] = 1;
		l.max_active_clusters = (uint32_t)random_below(state, 200);
	}
	l.is_cooperative = random_below(state, 16) == 0;
	return l;
}

static bool is_sound(const struct wt_wave_launch *l, const struct wt_wave_result *r)
{
	long double total_sm_ns = (long double)l->duration_ns * l->sm_count;
	uint64_t parts_sm_ns = (uint64_t)r->underfill_sm_ns + (uint64_t)r->wave_max_sm_ns +
	                       (uint64_t)r->unjudged_sm_ns;

	if (r->wave_sm_ns < 0 || r->wave_sm_ns > r->wave_max_sm_ns || r->underfill_sm_ns < 0 ||
	    r->unjudged_sm_ns < 0 || parts_sm_ns > INT64_MAX ||
	    (long double)parts_sm_ns > total_sm_ns)
		return false;
	if (r->grid_blocks < (uint64_t)l->sm_count && r->wave_max_sm_ns != 0 &&
	    r->resident_blocks >= l->sm_count)
		return false;
	if (r->has_waves && (uint64_t)r->last_wave_blocks + r->full_waves == 0)
		return false;
	return r->is_judged ? r->unjudged_sm_ns == 0 : r->reason != WT_WAVE_JUDGED;
}

static void test_random_launches(void)
{
	enum { LAUNCHES = 200000 };
	uint64_t state = 1;
	int unsound_count = 0, judged_count = 0;

	for (int i = 0; i < LAUNCHES; i++) {
		struct wt_wave_launch launch = draw_launch(&state);
		struct wt_wave_result r = judge(launch);

		if (!is_sound(&launch, &r) && unsound_count++ == 0)
			printf("# launch %d: T %" PRId64 " S %d b %d G %" PRIu64 "\n", i,
			       launch.duration_ns, launch.sm_count, launch.blocks_per_sm,
			       r.grid_blocks);
		judged_count += r.is_judged;
	}
	is_i64(unsound_count, 0, "random launches: parts within S * T, least <= greatest");
	ok(judged_count > LAUNCHES / 2, "most of them judged (%d)", judged_count);
}

static void test_whole_waves(void)
{
	int idle_count = 0;

	for (int32_t sms = 1; sms < 200; sms += 7)
		for (int32_t blocks_per_sm = 1; blocks_per_sm <= 32; blocks_per_sm++)
			for (uint32_t waves = 1; waves < 40; waves += 3) {
				struct wt_wave_result r = judge_plain(
				        sms, blocks_per_sm, (uint32_t)(sms * blocks_per_sm) * waves,
				        123457);

				idle_count += r.wave_max_sm_ns != 0 || r.underfill_sm_ns != 0 ||
				              r.full_waves != waves;
			}
	is_i64(idle_count, 0, "whole waves leave nothing idle, by any form");
}

static void test_orders(void)
{
	int64_t underfill_before_sm_ns = INT64_MAX;
	double waves_before = 0;
	int unordered_count = 0, unproportional_count = 0;

	for (uint32_t blocks = 1; blocks < 1500; blocks++) {
		struct wt_wave_result r = judge_plain(H200_SMS, 3, blocks, 50000);
		struct wt_wave_result twice = judge_plain(H200_SMS, 3, blocks, 100000);

		unordered_count += r.underfill_sm_ns > underfill_before_sm_ns;
		unordered_count += r.waves <= waves_before;
		unproportional_count += llabs(twice.wave_sm_ns - 2 * r.wave_sm_ns) > 1;
		unproportional_count += llabs(twice.wave_max_sm_ns - 2 * r.wave_max_sm_ns) > 1;
		unproportional_count += twice.underfill_sm_ns != 2 * r.underfill_sm_ns;
		underfill_before_sm_ns = r.underfill_sm_ns;
		waves_before = r.waves;
	}
	is_i64(unordered_count, 0, "more blocks: more waves, no more underfill");
	is_i64(unproportional_count, 0, "twice the time: twice the idle SM-time");
}

static void test_rounding(void)
{
	struct wt_wave_result r = judge_plain(2, 1, 3, 5);

	is_i64(r.form_sm_ns[WT_WAVE_INDEPENDENT], 3, "5 / 2 rounds to 3");
	r = judge_plain(3, 1, 7, 7);
	is_i64(r.form_sm_ns[WT_WAVE_SHARED], 5, "7 * 2 / 3 rounds to 5");
	r = judge_plain(5000, 1, 1, INT64_MAX);
	is_i64(r.underfill_sm_ns, INT64_MAX / 5000 * 4999, "beyond int64 the duration is cut off");
}

static void test_grid_product(void)
{
	const uint32_t largest[3] = {2147483647, 65535, 65535};
	const uint32_t beyond[3] = {UINT32_MAX, UINT32_MAX, 2};

	ok(wt_wave_grid_blocks(largest) == 9223090559730712575u, "the largest grid of CUDA");
	ok(wt_wave_grid_blocks(beyond) == UINT64_MAX, "beyond 64 bits: saturated");
}

int main(void)
{
	test_against_schedules(SIM_INDEPENDENT, WT_WAVE_INDEPENDENT, "independent blocks");
	test_against_schedules(SIM_GROUPED, WT_WAVE_GROUPED, "grouped");
	test_against_schedules(SIM_SHARED, WT_WAVE_SHARED, "blocks that share their SM");
	test_jitter_against_draws();
	test_clock_bound_measurements();
	test_compute_bound_measurements();
	test_grouped_measurements();
	test_unjudged();
	test_settled_without_occupancy();
	test_clusters();
	test_random_launches();
	test_whole_waves();
	test_orders();
	test_rounding();
	test_grid_product();
	return tap_done();
}
