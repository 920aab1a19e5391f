/*
 * test_schedule.c - schedules by hand where a hand can, against the closed forms of wave.h, in
 * the large, with bad input, and the block times that are drawn. test_schedule_ticks.c has the
 * random ones.
 */
#include <errno.h>

#include "analysis/schedule.h"
#include "analysis/wave.h"
#include "tests/tap.h"

/* ---- closed forms of wave.h ---- */

static void test_against_form(bool is_shared, bool is_packed, enum wt_wave_form form,
                              const char *what)
{
	int compared_count = 0, differ_count = 0;

	for (uint32_t sms = 1; sms <= 10; sms++)
		for (uint32_t slots = 1; slots <= 5; slots++)
			for (uint32_t grid = 1; grid <= 4 * sms * slots + 2; grid++) {
				struct wt_schedule_machine machine = {.sm_count = sms,
				                                      .blocks_per_sm = slots,
				                                      .is_shared = is_shared,
				                                      .is_packed = is_packed};
				/* Divisible by every n and ceil(G / S), so that the form is exact. */
				struct wt_schedule_work work = {.grid = grid, .times = {.a = 5040}};
				struct wt_wave_launch launch = {.grid = {grid, 1, 1},
				                                .sm_count = (int32_t)sms,
				                                .blocks_per_sm = (int32_t)slots};
				struct wt_schedule_result r;
				struct wt_wave_result wave;
				int64_t sm_active[10];
				int rc = wt_schedule_compute(&machine, &work, NULL, NULL, sm_active,
				                             &r);

				launch.duration_ns = r.makespan;
				wt_wave_judge(&launch, &wave);
				compared_count++;
				differ_count +=
				        rc || wave.underfill_sm_ns != r.underfill_idle ||
				        (grid > sms && wave.form_sm_ns[form] != r.wave_idle) ||
				        r.straggle_idle != 0 || wave.waves != r.waves ||
				        wave.waves_sm != r.waves_sm ||
				        wave.full_waves != r.full_waves ||
				        wave.last_wave_blocks != (int64_t)r.last_wave_blocks;
			}
	ok(compared_count > 3000 && differ_count == 0, "%s: %d grids, %d differ from wave.h", what,
	   compared_count, differ_count);
}

/* Clusters with one block per SM: those that fit are what a kernel record says. */
static void test_against_cluster_form(void)
{
	static const uint32_t gpcs[] = {5, 7, 4, 7};
	int compared_count = 0, differ_count = 0;

	for (uint32_t size = 2; size <= 7; size++)
		for (uint32_t clusters = 1; clusters <= 60; clusters++) {
			struct wt_schedule_machine machine = {.sm_count = 23,
			                                      .blocks_per_sm = 1,
			                                      .cluster_blocks = size,
			                                      .group_sms = gpcs,
			                                      .group_count = 4};
			struct wt_schedule_work work = {.grid = size * clusters,
			                                .times = {.a = 12}};
			struct wt_wave_launch launch = {.grid = {size * clusters, 1, 1},
			                                .cluster = {size, 1, 1},
			                                .sm_count = 23,
			                                .blocks_per_sm = 1};
			struct wt_schedule_result r;
			struct wt_wave_result wave;
			int64_t sm_active[23];
			int rc = wt_schedule_compute(&machine, &work, NULL, NULL, sm_active, &r);

			for (int g = 0; g < 4; g++)
				launch.max_active_clusters += gpcs[g] / size;
			launch.duration_ns = r.makespan;
			wt_wave_judge(&launch, &wave);
			compared_count++;
			differ_count += rc || wave.underfill_sm_ns != r.underfill_idle ||
			                wave.form_sm_ns[WT_WAVE_INDEPENDENT] != r.wave_idle ||
			                wave.resident_blocks != (int64_t)r.resident_blocks ||
			                r.straggle_idle != 0;
		}
	ok(compared_count == 360 && differ_count == 0, "clusters: %d grids, %d differ from wave.h",
	   compared_count, differ_count);
}

/* Ends that hardly vary put the last blocks on random slots: the mean over seeds is the form. */
static void test_against_jitter(void)
{
	static const uint32_t grids[] = {300, 420, 520, 700};
	enum { SEEDS = 60, TIME = 1000000 };

	for (size_t g = 0; g < sizeof(grids) / sizeof(grids[0]); g++) {
		struct wt_schedule_machine machine = {.sm_count = 132, .blocks_per_sm = 2};
		struct wt_wave_launch launch = {
		        .grid = {grids[g], 1, 1}, .sm_count = 132, .blocks_per_sm = 2};
		double idle_share = 0, form_share;
		struct wt_wave_result wave;

		for (uint64_t seed = 0; seed < SEEDS; seed++) {
			struct wt_schedule_work work = {.grid = grids[g],
			                                .times = {.kind = WT_SCHEDULE_NORMAL,
			                                          .a = TIME,
			                                          .b = TIME / 1000,
			                                          .seed = seed}};
			struct wt_schedule_result r;
			int64_t sm_active[132];

			wt_schedule_compute(&machine, &work, NULL, NULL, sm_active, &r);
			idle_share += (double)r.tail_idle / (double)r.total / SEEDS;
		}
		launch.duration_ns = (int64_t)((grids[g] + 263) / 264) * TIME;
		wt_wave_judge(&launch, &wave);
		form_share = (double)wave.form_sm_ns[WT_WAVE_JITTER] /
		             (double)(132 * launch.duration_ns);
		is_near(idle_share, form_share, 0.01, "jittered ends: mean over seeds is the form");
	}
}

/* ---- by hand ---- */

struct gantt {
	struct wt_schedule_block blocks[64];
	int count;
};

static void note_block(void *context, const struct wt_schedule_block *block)
{
	struct gantt *gantt = context;

	gantt->blocks[gantt->count++] = *block;
}

static void test_worked_example(void)
{
	static const int64_t times[] = {70, 70, 70, 130, 70, 70, 70, 70};
	struct wt_schedule_machine machine = {.sm_count = 4, .blocks_per_sm = 1};
	struct wt_schedule_work work = {.grid = 8,
	                                .times = {.kind = WT_SCHEDULE_LIST, .list = times}};
	struct gantt gantt = {.count = 0};
	struct wt_schedule_result r;
	int64_t sm_active[4];

	is_i64(wt_schedule_compute(&machine, &work, note_block, &gantt, sm_active, &r), 0,
	       "worked example");
	is_i64(r.makespan, 200, "worked example: makespan");
	is_i64(r.active, 620, "worked example: active");
	is_i64(r.total, 800, "worked example: of");
	is_i64(r.tail_idle, 180, "worked example: tail idle");
	is_i64(r.wave_idle, 0, "worked example: wave");
	is_i64(r.straggle_idle, 180, "worked example: straggle");
	is_i64(r.underfill_idle, 0, "worked example: underfill");
	ok(r.has_tail && r.tail_time == 60 && r.tail_active == 60,
	   "worked example: a quarter of 4 SMs active in the last 60");
	ok(sm_active[0] == 140 && sm_active[1] == 140 && sm_active[2] == 140 && sm_active[3] == 200,
	   "worked example: SMs 1 to 3 end at 140, SM 4 at 200");
	is_i64(gantt.count, 8, "worked example: blocks seen");
	ok(gantt.blocks[7].index == 7 && gantt.blocks[7].sm_idx == 3 &&
	           gantt.blocks[7].start == 130 && gantt.blocks[7].end == 200,
	   "worked example: the last block runs on SM 4 from 130 to 200");
	is_near(r.waves, 2.0, 0, "worked example: waves");
	is_i64((int64_t)r.last_wave_blocks, 4, "worked example: last wave");
}

static void test_wave_and_straggle(void)
{
	static const int64_t longer_last[] = {1, 1, 100};
	static const int64_t balanced[] = {2, 1, 1};
	struct wt_schedule_machine machine = {.sm_count = 2, .blocks_per_sm = 1};
	struct wt_schedule_work work = {.grid = 3,
	                                .times = {.kind = WT_SCHEDULE_LIST, .list = longer_last}};
	struct wt_schedule_result r;
	int64_t sm_active[2];

	/* 102 in 3 equal blocks of 34: one SM would idle for 34. */
	wt_schedule_compute(&machine, &work, NULL, NULL, sm_active, &r);
	ok(r.tail_idle == 100 && r.wave_idle == 34 && r.straggle_idle == 66,
	   "1, 1, 100 on two SMs: wave 34, straggle 66");
	work.times.list = balanced;
	wt_schedule_compute(&machine, &work, NULL, NULL, sm_active, &r);
	ok(r.makespan == 2 && r.tail_idle == 0 && r.wave_idle == 0,
	   "2, 1, 1 on two SMs: nothing idle, so no wave");
}

static void test_shared(void)
{
	/* 10 and 4 share an SM: 4 ends at 8, then 6 alone, until a third would join at 8. */
	static const int64_t times[] = {10, 4, 5};
	struct wt_schedule_machine machine = {.sm_count = 1, .blocks_per_sm = 2, .is_shared = true};
	struct wt_schedule_work work = {.grid = 3,
	                                .times = {.kind = WT_SCHEDULE_LIST, .list = times}};
	struct gantt gantt = {.count = 0};
	struct wt_schedule_result r;
	int64_t sm_active[1];

	wt_schedule_compute(&machine, &work, note_block, &gantt, sm_active, &r);
	ok(gantt.blocks[0].end == 8 && gantt.blocks[1].index == 2 && gantt.blocks[1].start == 8 &&
	           gantt.blocks[1].end == 18 && gantt.blocks[2].end == 19,
	   "blocks of 10, 4 and 5 that share an SM end at 19, 8 and 18");
	is_i64(r.makespan, 19, "an SM is busy for the sum of its blocks");
}

static void test_clusters(void)
{
	static const uint32_t gpcs[] = {3, 3};
	struct wt_schedule_machine machine = {.sm_count = 6,
	                                      .blocks_per_sm = 1,
	                                      .cluster_blocks = 2,
	                                      .group_sms = gpcs,
	                                      .group_count = 2};
	struct wt_schedule_work work = {.grid = 6, .times = {.a = 10}};
	struct wt_schedule_result r;
	int64_t sm_active[6];

	is_i64((int64_t)wt_schedule_resident(&machine), 4, "pairs in GPCs of 3: 4 of 6 SMs");
	wt_schedule_compute(&machine, &work, NULL, NULL, sm_active, &r);
	ok(r.makespan == 20 && r.underfill_idle == 40 && r.wave_idle == 20 && r.straggle_idle == 0,
	   "3 pairs: two SMs never used, two idle in the second wave");
	machine.cluster_blocks = 4;
	work.grid = 8;
	is_i64(wt_schedule_compute(&machine, &work, NULL, NULL, sm_active, &r), -ENOSPC,
	       "a cluster of 4 fits into no GPC of 3");
	machine.cluster_blocks = 2;
	work.grid = 7;
	is_i64(wt_schedule_compute(&machine, &work, NULL, NULL, sm_active, &r), -EDOM,
	       "7 blocks aren't pairs");
	machine.is_shared = true;
	machine.blocks_per_sm = 2;
	is_i64(wt_schedule_compute(&machine, &work, NULL, NULL, sm_active, &r), -ENOTSUP,
	       "clusters whose blocks share throughput");
}

/*
 * H200, %smid and %globaltimer of every block (tests/gpu/RESULTS.md): 792 clock-bound blocks,
 * 2 per SM, every 97th six times longer, left 57.92 % of the SM-time idle.
 */
static void test_measured_slow_blocks(void)
{
	struct wt_schedule_machine machine = {.sm_count = 132, .blocks_per_sm = 2};
	struct wt_schedule_work work = {.grid = 792, .times = {.kind = WT_SCHEDULE_LIST}};
	struct wt_schedule_result r = {.total = 1};
	int64_t times[792], sm_active[132];

	for (int i = 0; i < 792; i++)
		times[i] = i % 97 == 0 ? 600 : 100;
	work.times.list = times;
	wt_schedule_compute(&machine, &work, NULL, NULL, sm_active, &r);
	is_near(100.0 * (double)r.tail_idle / (double)r.total, 57.92, 1.0,
	        "slow blocks: idle within a point of what was measured");
	is_i64(r.wave_idle, 0, "slow blocks: 3 whole waves, so all of it is straggle");
}

/* ---- large, and wrong ---- */

static void test_large(void)
{
	struct wt_schedule_machine machine = {.sm_count = 132, .blocks_per_sm = 2};
	struct wt_schedule_work work = {.grid = (uint64_t)1 << 31, .times = {.a = 7}};
	struct wt_schedule_result r;
	int64_t sm_active[132];

	/* 2^31 = 8134407 * 264 + 200: 8134408 waves. */
	is_i64(wt_schedule_compute(&machine, &work, NULL, NULL, sm_active, &r), 0, "2^31 blocks");
	is_i64(r.makespan, 8134408 * 7, "2^31 blocks: makespan");
	is_i64((int64_t)r.last_wave_blocks, 200, "2^31 blocks: last wave");
	is_i64(r.tail_idle, 0, "2^31 blocks: 200 blocks are on all SMs");
	machine.is_shared = true;
	wt_schedule_compute(&machine, &work, NULL, NULL, sm_active, &r);
	/* 2^31 = 16268815 * 132 + 68 */
	is_i64(r.makespan, (int64_t)16268816 * 7, "2^31 that share: makespan");
	is_i64(r.wave_idle, (132 - 68) * 7, "2^31 that share: wave");
	work.grid = (uint64_t)INT64_MAX;
	is_i64(wt_schedule_compute(&machine, &work, NULL, NULL, sm_active, &r), -EOVERFLOW,
	       "2^63 - 1 blocks of 7: beyond 64 bits");
	work.grid = UINT64_MAX;
	is_i64(wt_schedule_compute(&machine, &work, NULL, NULL, sm_active, &r), -EOVERFLOW,
	       "2^64 - 1 blocks");
	work.grid = 1000;
	work.times.a = INT64_MAX / 100;
	is_i64(wt_schedule_compute(&machine, &work, NULL, NULL, sm_active, &r), -EOVERFLOW,
	       "long blocks: beyond 64 bits");
	work.times = (struct wt_schedule_times){.kind = WT_SCHEDULE_UNIFORM, .a = 1, .b = 2};
	work.grid = WT_SCHEDULE_BLOCKS_MAX + (uint64_t)1;
	is_i64(wt_schedule_compute(&machine, &work, NULL, NULL, sm_active, &r), -E2BIG,
	       "more unequal blocks than anybody waits for");
}

static int compute(uint32_t sms, uint32_t slots, uint64_t grid, int64_t time)
{
	struct wt_schedule_machine machine = {.sm_count = sms, .blocks_per_sm = slots};
	struct wt_schedule_work work = {.grid = grid, .times = {.a = time}};
	struct wt_schedule_result r;
	static int64_t sm_active[WT_SCHEDULE_SMS_MAX];

	return wt_schedule_compute(&machine, &work, NULL, NULL, sm_active, &r);
}

static void test_wrong(void)
{
	struct wt_schedule_machine machine = {.sm_count = 2, .blocks_per_sm = 2};
	struct wt_schedule_work work = {
	        .deal = WT_SCHEDULE_QUEUE, .grid = 5, .item_count = 9, .times = {.a = 1}};
	struct wt_schedule_result r = {.makespan = -7};
	int64_t sm_active[2];

	is_i64(compute(0, 1, 1, 1), -EINVAL, "no SMs");
	is_i64(compute(1, 0, 1, 1), -EINVAL, "no slots");
	is_i64(compute(1, 1, 0, 1), -EINVAL, "no blocks");
	is_i64(compute(1, 1, 1, -1), -EINVAL, "a negative time");
	is_i64(compute(WT_SCHEDULE_SMS_MAX + 1, 1, 1, 1), -E2BIG, "too many SMs");
	is_i64(compute(WT_SCHEDULE_SMS_MAX, 64, 1, 1), -E2BIG, "too many slots");
	is_i64(compute(UINT32_MAX, UINT32_MAX, 1, 1), -E2BIG, "far too many");
	is_i64(compute(WT_SCHEDULE_SMS_MAX, 16, 1, 1), 0, "as many as there may be");
	is_i64(compute(3, 1, 5, 0), 0, "blocks that take no time");
	is_i64(wt_schedule_compute(&machine, &work, NULL, NULL, sm_active, &r), -EINVAL,
	       "5 persistent blocks in 4 slots");
	is_i64(r.makespan, -7, "a failure leaves the result alone");
}

/* ---- draws ---- */

static void test_draws(void)
{
	struct wt_schedule_times normal = {
	        .kind = WT_SCHEDULE_NORMAL, .a = 1000000, .b = 50000, .seed = 7};
	struct wt_schedule_times uniform = {.kind = WT_SCHEDULE_UNIFORM, .a = 10, .b = 13};
	struct wt_schedule_times wide = {.kind = WT_SCHEDULE_NORMAL, .a = 1, .b = INT64_MAX};
	double sum = 0, squares = 0;
	int within = 0, counts[4] = {0}, wrong = 0;
	enum { DRAWS = 100000 };

	/* Computed apart. A seed gives the same schedule on every machine and in every version. */
	is_i64(wt_schedule_time(&normal, 0), 1027475, "the first normal draw of seed 7");
	is_i64(wt_schedule_time(&normal, 1000000007), 1015830, "a later one");
	for (uint64_t i = 0; i < DRAWS; i++) {
		double d = (double)wt_schedule_time(&normal, i) - 1e6;
		int64_t u = wt_schedule_time(&uniform, i);

		sum += d;
		squares += d * d;
		within += fabs(d) < 50000;
		if (u < 10 || u > 13)
			wrong++;
		else
			counts[u - 10]++;
		wrong += wt_schedule_time(&wide, i) < 1;
	}
	is_near(sum / DRAWS, 0, 500, "normal: mean");
	is_near(sqrt(squares / DRAWS), 50000, 500, "normal: deviation");
	is_near((double)within / DRAWS, 0.6827, 0.01, "normal: share within one deviation");
	is_i64(wrong, 0, "uniform: within its bounds; a wide normal stays positive");
	for (int i = 0; i < 4; i++)
		is_near((double)counts[i] / DRAWS, 0.25, 0.01, "uniform: each value as often");
}

int main(void)
{
	test_worked_example();
	test_wave_and_straggle();
	test_shared();
	test_clusters();
	test_measured_slow_blocks();
	test_against_form(false, false, WT_WAVE_INDEPENDENT, "independent");
	test_against_form(false, true, WT_WAVE_GROUPED, "grouped");
	test_against_form(true, false, WT_WAVE_SHARED, "shared");
	test_against_cluster_form();
	test_against_jitter();
	test_large();
	test_wrong();
	test_draws();
	return tap_done();
}
