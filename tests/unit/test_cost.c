/*
 * test_cost.c - the histogram of hooks and its quantiles against sorted values, sums of all launches from
 * those that were timed, and how a limit is spelt.
 */
#include <stdlib.h>

#include "analysis/cost.h"
#include "tests/tap.h"

#define VALUES 20000

static uint64_t state = 88172645463325252ULL;

static uint64_t dice(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* ---- buckets */

static void test_buckets(void)
{
	int wrong = 0;

	is_i64(WT_COST_BUCKETS, 62, "so many buckets: their number is in recordings");
	is_i64(wt_cost_bucket(0), 0, "nothing");
	is_i64(wt_cost_bucket(31), 0, "under the first octave");
	is_i64(wt_cost_bucket(32), 1, "its beginning");
	is_i64(wt_cost_bucket(WT_COST_LONG_NS - 1), WT_COST_BUCKETS - 2,
	       "the last that is not long");
	is_i64(wt_cost_bucket(WT_COST_LONG_NS), WT_COST_BUCKETS - 1, "the first that is long");
	is_i64(wt_cost_bucket(UINT64_MAX), WT_COST_BUCKETS - 1, "the longest");
	for (uint64_t ns = 0; ns < WT_COST_LONG_NS; ns += 1 + ns / 1000) {
		unsigned bucket = wt_cost_bucket(ns);

		wrong += ns < wt_cost_bucket_low_ns(bucket) ||
		         ns >= wt_cost_bucket_low_ns(bucket + 1);
	}
	is_i64(wrong, 0, "every time lies in its bucket");
	for (unsigned i = 1; i + 2 < WT_COST_BUCKETS; i++)
		wrong += (wt_cost_bucket_low_ns(i + 1) - wt_cost_bucket_low_ns(i)) * 4 >
		         wt_cost_bucket_low_ns(i);
	is_i64(wrong, 0, "none is wider than a quarter of its least");
}

/* ---- quantiles */

/* The least value that so many percent don't exceed. */
static double truth(const uint64_t *sorted, int count, unsigned percent)
{
	int rank = (int)(((int64_t)count * percent + 99) / 100);

	return (double)sorted[rank ? rank - 1 : 0];
}

static void test_shape(const char *name, uint64_t (*draw)(void))
{
	static const unsigned percents[] = {1, 10, 50, 90, 99};
	static uint64_t values[VALUES];
	uint64_t hook_time[WT_COST_BUCKETS] = {0}, sum = 0;
	double worst = 0;

	for (int i = 0; i < VALUES; i++) {
		values[i] = draw();
		sum += values[i];
		hook_time[wt_cost_bucket(values[i])]++;
	}
	qsort(values, VALUES, sizeof(*values), compare);
	for (size_t i = 0; i < sizeof(percents) / sizeof(*percents); i++) {
		double want = truth(values, VALUES, percents[i]);
		double got = (double)wt_cost_quantile_ns(hook_time, percents[i], 1);
		double off = got > want ? got / want - 1 : want / got - 1;

		worst = off > worst ? off : worst;
	}
	ok(worst <= 0.25, "%s: quantiles within a bucket of sorted values (worst %.1f %%)", name,
	   100 * worst);
	ok(wt_cost_timed(hook_time) == VALUES, "%s: all are counted", name);
	ok(wt_cost_launches_ns(hook_time, sum, VALUES) == (int64_t)sum,
	   "%s: where all were timed, the sum is the sum", name);
	ok(wt_cost_launches_ns(hook_time, sum, 3ULL * VALUES) == 3 * (int64_t)sum,
	   "%s: three times as many, three times the sum", name);
}

static uint64_t draw_even(void)
{
	return 40 + dice() % 400;
}

static uint64_t draw_wide(void)
{
	return UINT64_C(33) << dice() % 14;
}

/* Mostly one value, and a tail. */
static uint64_t draw_tail(void)
{
	return dice() % 50 ? 100 + dice() % 10 : 2000 + dice() % 9000;
}

static void test_edges(void)
{
	uint64_t hook_time[WT_COST_BUCKETS] = {0};

	is_i64(wt_cost_quantile_ns(hook_time, 50, 0), WT_COST_UNKNOWN, "of nothing: not known");
	is_i64(wt_cost_launches_ns(hook_time, 0, 1000), WT_COST_UNKNOWN, "nor their sum");
	hook_time[wt_cost_bucket(100)] = 99;
	is_i64(wt_cost_quantile_ns(hook_time, 99, WT_COST_P99_LEAST), WT_COST_UNKNOWN,
	       "99 tell nothing of one in a hundred");
	ok(wt_cost_quantile_ns(hook_time, 50, WT_COST_P50_LEAST) >= 96 &&
	           wt_cost_quantile_ns(hook_time, 50, WT_COST_P50_LEAST) < 112,
	   "but of the half");
	hook_time[WT_COST_BUCKETS - 1] = 2;
	is_i64(wt_cost_quantile_ns(hook_time, 99, WT_COST_P99_LEAST), WT_COST_LONG_NS,
	       "beyond the last bucket: its least");
	is_i64(wt_cost_launches_ns(hook_time, 9900, 1010), 101000,
	       "long ones stand for no others: 100 ns for each of 1,010");
	hook_time[wt_cost_bucket(100)] = 0;
	is_i64(wt_cost_launches_ns(hook_time, 0, 1000), WT_COST_UNKNOWN,
	       "only long ones: not known");
	hook_time[1] = 1;
	is_i64(wt_cost_launches_ns(hook_time, UINT64_MAX, UINT64_MAX), INT64_MAX,
	       "absurd counts stay within int64");
	is_i64(wt_cost_calls_ns(UINT64_MAX), INT64_MAX, "of calls, too");
	is_i64(wt_cost_calls_ns(10), 2560, "one call in 256");
}

/* ---- WAVETAP_BUDGET */

static void test_budget(void)
{
	static const struct {
		const char *text;
		int64_t ppm; /* -1: refused */
	} cases[] = {
	        {"2", 20000},
	        {"2%", 20000},
	        {"0.5", 5000},
	        {"0.0001", 1},
	        {"100", 1000000},
	        {"off", 0},
	        {"0", 0},
	        {"", 0},
	        {"12.3456", 123456},
	        {"5.", 50000},
	        {".5", 5000},
	        {"101", -1},
	        {"100.0001", -1},
	        {"-1", -1},
	        {"2 %", -1},
	        {"2%%", -1},
	        {"%", -1},
	        {".", -1},
	        {"two", -1},
	        {"1e2", -1},
	        {"0.00001", -1},
	        {"1.2.3", -1},
	        {"99999999999", -1},
	        {" 2", -1},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint64_t ppm = 77;
		int rc = wt_budget_parse(cases[i].text, &ppm);

		if (cases[i].ppm < 0)
			ok(rc && ppm == 77, "\"%s\" is refused", cases[i].text);
		else
			ok(!rc && (int64_t)ppm == cases[i].ppm, "\"%s\"", cases[i].text);
	}
	for (unsigned i = 0; i < WT_BUDGET_MAX; i++)
		ok(wt_budget_text(i) != NULL, "state %u has a text", i);
	ok(!wt_budget_text(WT_BUDGET_MAX), "none beyond");
}

int main(void)
{
	test_buckets();
	test_shape("even", draw_even);
	test_shape("wide", draw_wide);
	test_shape("tail", draw_tail);
	test_edges();
	test_budget();
	return tap_done();
}
