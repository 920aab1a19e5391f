/*
 * test_rollup.c - sums over kernels against sums by hand and a two-pass variance; that a stat
 * stored and read back goes on to the same bits; and many rollups against a plain table.
 */
#include "analysis/rollup.h"
#include "tests/tap.h"

static uint64_t seed = 20261129;

static int64_t pick(int64_t below)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (int64_t)((seed >> 33) % (uint64_t)below);
}

static void test_sums(void)
{
	const struct wt_wave_result judged = {
	        .underfill_sm_ns = 5, .wave_sm_ns = 7, .wave_max_sm_ns = 9, .is_judged = true};
	const struct wt_wave_result unjudged = {.underfill_sm_ns = 1,
	                                        .wave_sm_ns = 100,
	                                        .wave_max_sm_ns = 100,
	                                        .unjudged_sm_ns = 3};
	struct wt_stat stat;

	wt_stat_init(&stat, 4711, true);
	wt_stat_add(&stat, 1000, 1010, &judged);
	wt_stat_add(&stat, 900, 930, &unjudged);
	wt_stat_add(&stat, 2000, 2020, &judged);
	is_i64(stat.config_id, 4711, "configuration");
	is_i64(stat.in_graph, 1, "in a graph");
	is_i64(stat.launches, 3, "launches");
	is_i64(stat.time_ns, 60, "time: 10 + 30 + 20");
	is_i64(stat.min_ns, 10, "shortest");
	is_i64(stat.max_ns, 30, "longest");
	is_i64(stat.underfill_sm_ns, 11, "underfill: 5 + 1 + 5");
	is_i64(stat.wave_sm_ns, 14, "wave: of those judged");
	is_i64(stat.wave_max_sm_ns, 18, "and at most");
	is_i64(stat.unjudged_sm_ns, 3, "unjudged");
	is_i64(stat.first_ns, 900, "first start");
	is_i64(stat.last_ns, 2020, "last end");
	ok(fabs(stat.m2_ns2 - 200) < 1e-9, "squares: 100 + 100 + 0 around 20");
	wt_stat_init(&stat, 1, false);
	wt_stat_add(&stat, 0, INT64_MAX - 1, &judged);
	wt_stat_add(&stat, 0, INT64_MAX - 1, &judged);
	is_i64(stat.time_ns, INT64_MAX, "a sum stays at the greatest integer");
}

/* As the daemon reads one back: the mean isn't stored. */
static void store_and_load(struct wt_stat *stat)
{
	struct wt_stat loaded = *stat;

	loaded.mean_ns = loaded.launches ? (double)loaded.time_ns / (double)loaded.launches : 0;
	*stat = loaded;
}

static void test_bits(void)
{
	const struct wt_wave_result wave = {.is_judged = true};
	int differ = 0, wrong = 0;

	for (int round = 0; round < 200; round++) {
		struct wt_stat straight, interrupted;
		int64_t lengths[300];
		double mean = 0, squares = 0;

		wt_stat_init(&straight, 1, false);
		wt_stat_init(&interrupted, 1, false);
		for (int i = 0; i < 300; i++) {
			lengths[i] = 1 + pick(round < 100 ? 5000 : INT64_C(2000000000));
			mean += (double)lengths[i] / 300;
			wt_stat_add(&straight, 0, lengths[i], &wave);
			wt_stat_add(&interrupted, 0, lengths[i], &wave);
			if (pick(10) == 0)
				store_and_load(&interrupted);
		}
		for (int i = 0; i < 300; i++)
			squares += ((double)lengths[i] - mean) * ((double)lengths[i] - mean);
		differ += memcmp(&straight.m2_ns2, &interrupted.m2_ns2, sizeof(double)) != 0;
		wrong += fabs(straight.m2_ns2 - squares) > 1e-9 * squares;
	}
	is_i64(differ, 0, "stored and read back in between: the same bits");
	is_i64(wrong, 0, "the variance in two passes, to 9 digits");
}

#define PROCESSES 5
#define CONFIGS 700

static void test_rollups(void)
{
	static int64_t want[PROCESSES][CONFIGS][2];
	const struct wt_wave_result wave = {0};
	struct wt_rollups rollups = {0};
	int64_t wrong = 0, rows = 0;

	for (int i = 0; i < 20000; i++) {
		int64_t p = pick(PROCESSES), c = pick(CONFIGS - 1), g = pick(2);
		struct wt_stat *stat = wt_rollups_get(&rollups, p - 2, c * 1000003, g != 0);

		if (stat)
			wt_stat_add(stat, 0, 1 + i, &wave);
		want[p][c][g] += 1 + i;
	}
	for (size_t i = 0; i < rollups.count; i++) {
		const struct wt_rollup *row = &rollups.rows[i];

		wrong += row->stat.time_ns !=
		         want[row->process_id + 2][row->stat.config_id / 1000003]
		             [row->stat.in_graph];
	}
	is_i64(wrong, 0, "each sums its own");
	wrong = 0;
	for (int p = 0; p < PROCESSES; p++)
		for (int c = 0; c < CONFIGS; c++)
			for (int g = 0; g < 2; g++) {
				rows += want[p][c][g] > 0;
				wrong += wt_rollups_has(&rollups, p - 2, c * 1000003L, g != 0) !=
				         (want[p][c][g] > 0);
			}
	is_i64((int64_t)rollups.count, rows, "none twice");
	is_i64(wrong, 0, "found if there, and only then");
	wt_rollups_fini(&rollups);
	ok(!wt_rollups_has(&rollups, 0, 0, false), "empty again");
}

/* 10 SMs, 4 of them in reach of a context; 3 blocks. By themselves: 1 SM of underfill of the four. */
static void test_shares(void)
{
	const struct wt_wave_launch launch = {
	        .grid = {3, 1, 1}, .cluster = {0}, .sm_count = 4, .blocks_per_sm = 2};
	struct wt_overlap_kernel kernel = {.start_ns = 100, .end_ns = 200, .is_judged = true};
	struct wt_sweep_share share = {
	        .alone_ns = 100, .active_sm_ns = 300, .underfill_sm_ns = 100};
	struct wt_sweep_facts facts;
	struct wt_beside beside;
	struct wt_idle idle, more;
	struct wt_stat stat;

	wt_derive_sweep(&launch, 10, "ncclDevKernel_AllReduce", &facts);
	ok(facts.is_collective, "a collective");
	wt_derive_sweep(&launch, 0, "gemm", &facts);
	is_i64(facts.sms, 0, "a device of which nothing is known");
	wt_derive_sweep(&launch, 10, "gemm", &facts);
	is_i64(facts.sms, 3, "SMs that it can occupy");
	is_i64(facts.underfill_sms, 1, "and leave, of its context");
	ok(!facts.is_collective, "no collective");
	ok(!wt_derive_share(&facts, &kernel, &share, &idle, &more, &beside),
	   "a share as it has by itself");
	share.alone_ns = 90;
	ok(wt_derive_share(&facts, &kernel, &share, &idle, &more, &beside) && beside.time_ns == 10,
	   "the same, but beside another for a while");
	is_i64(beside.active_sm_ns, 30, "active meanwhile");
	share.alone_ns = 100;
	share.underfill_sm_ns = 700;
	ok(wt_derive_share(&facts, &kernel, &share, &idle, &more, &beside),
	   "one with the SMs of the device");
	is_i64(idle.underfill_sm_ns, 700, "its share");
	is_i64(more.underfill_sm_ns, 600, "that much more");
	is_i64(beside.time_ns, 0, "by itself");
	is_i64(beside.underfill_sm_ns, 0, "all of it");
	kernel.wave_sm_ns = 40;
	kernel.wave_max_sm_ns = 60;
	share = (struct wt_sweep_share){
	        .wave_sm_ns = 10, .wave_max_sm_ns = 20, .unjudged_sm_ns = 250, .comm_sm_ns = 5};
	ok(wt_derive_share(&facts, &kernel, &share, &idle, &more, &beside), "one that shares");
	is_i64(beside.time_ns, 100, "all of its time");
	is_i64(beside.unjudged_sm_ns, 250, "unjudged beside others");
	wt_stat_init(&stat, 1, false);
	stat.underfill_sm_ns = 100;
	stat.wave_sm_ns = 40;
	stat.wave_max_sm_ns = INT64_MAX;
	wt_stat_adjust(&stat, &more, &beside);
	is_i64(stat.underfill_sm_ns, 0, "less underfill");
	is_i64(stat.wave_sm_ns, 10, "less wave");
	is_i64(stat.wave_max_sm_ns, INT64_MAX, "a saturated sum stays");
	is_i64(stat.unjudged_sm_ns, 250, "unjudged");
	is_i64(stat.comm_sm_ns, 5, "idle beside collectives");
	is_i64(stat.beside.time_ns, 100, "time beside others");
}

int main(void)
{
	test_shares();
	test_sums();
	test_bits();
	test_rollups();
	return tap_done();
}
