/*
 * test_profile_rounds.c - WAVETAP_PROFILE: which launches are taken, how much of the time, and that CUPTI's
 * buffers come home after each. As test_profile.c, over the same CUPTI.
 */
#include <stdio.h>
#include <stdlib.h>

#include "libintercept/hooks.h"
#include "tests/tap.h"
#include "tests/unit/mock_profiler.h"

#define MS UINT64_C(1000000)

/* Configurations by their function; the counters tell them apart. */
static const struct mock_spec a = {.function = 0x100, .grid = 267, .block = 1024};
static const struct mock_spec b = {.function = 0x200, .grid = 267, .block = 1024};
static const struct mock_spec c = {.function = 0x300, .grid = 267, .block = 1024};

static void start(uint32_t wish)
{
	mock_reset(wish);
	wt_profile_start(&mock_view);
}

static void launches(const struct mock_spec *spec, int count, uint64_t gap_ns)
{
	for (int i = 0; i < count; i++) {
		mock_pass(gap_ns);
		mock_launch(spec, NULL);
	}
}

static void is_clean(const char *what)
{
	ok(!mock.errors, "%s: CUPTI was called as it wants", what);
	if (mock.errors)
		printf("# %d times, first: %s\n", mock.errors, mock.error);
}

/* "abab": the configurations of the profiled launches, in order. */
static const char *taken(void)
{
	static char text[256];
	struct wt_profile record;
	size_t at = 0;

	for (int i = 0; at + 1 < sizeof(text) && mock_record(WT_KIND_PROFILE, i, &record); i++)
		text[at++] = record.active_sum == mock_active_sum(&a)   ? 'a'
		             : record.active_sum == mock_active_sum(&b) ? 'b'
		                                                        : 'c';
	text[at] = '\0';
	return text;
}

/* ---- rounds */

static void test_rounds(void)
{
	start(3);
	for (int i = 0; i < 60; i++) {
		launches(&a, 1, 8 * MS);
		launches(&b, 1, 8 * MS);
	}
	is_str(taken(), "", "warm");
	for (int i = 0; i < 6; i++) {
		launches(&a, 5, 10 * MS);
		launches(&b, 1, 10 * MS);
	}
	is_str(taken(), "ababab", "who comes often waits for who does not");
	is_clean("rounds");

	start(3);
	launches(&c, 60, 8 * MS);
	launches(&a, 60, 8 * MS);
	launches(&b, 1, MS);
	launches(&a, 80, 10 * MS);
	is_str(taken(), "aaa", "one that is gone, or not common yet, holds nobody up");
	start(2);
	launches(&c, 60, MS);
	launches(&a, 60, MS);
	launches(&c, 1, 870 * MS);
	launches(&a, 20, 10 * MS);
	is_str(taken(), "a", "one that was there a moment ago does");
	launches(&a, 100, 10 * MS);
	is_str(taken(), "aa", "... for a second");
	is_clean("gone");
}

/* ---- share */

static uint64_t mean_pause(uint64_t cost_ns, uint32_t share)
{
	uint64_t sum = 0;

	for (uint64_t i = 1; i <= 2000; i++)
		sum += wt_profile_pause_ns(cost_ns, share, i);
	return sum / 2000;
}

static void test_share(void)
{
	uint64_t least = UINT64_MAX, most = 0, mean = mean_pause(20 * MS, 50);

	for (uint64_t i = 1; i <= 2000; i++) {
		uint64_t ns = wt_profile_pause_ns(20 * MS, 50, i);

		least = ns < least ? ns : least;
		most = ns > most ? ns : most;
	}
	ok(least >= 10 * MS && most <= 30 * MS && most - least > 19 * MS,
	   "half the time: pauses of 10 to 30 ms after 20");
	ok(mean > 19 * MS && mean < 21 * MS, "... 20 on average");
	mean = mean_pause(21 * MS, 75);
	ok(mean * 10 > 66 * MS && mean * 10 < 74 * MS, "three quarters: a third of the cost");
	ok(mean_pause(20 * MS, 100) == 0, "all of it: none");
	ok(mean_pause(9000 * MS, 50) < 1100 * MS, "no longer than a second");

	mock_reset(3);
	setenv("WAVETAP_PROFILE_SHARE", "1", 1);
	wt_profile_start(&mock_view);
	launches(&a, 100, 10 * MS);
	is_str(taken(), "a", "one launch");
	mock_launch(&a, NULL);
	mock_launch(&a, NULL);
	is_str(taken(), "a", "... and a pause");
	launches(&a, 1, 200000 * MS);
	is_str(taken(), "aa", "... that ends");
	for (int i = 0; i < 5; i++) {
		static const char *const nonsense[] = {"0", "101", "half", "50x", ""};

		mock_reset(3);
		setenv("WAVETAP_PROFILE_SHARE", nonsense[i], 1);
		wt_profile_start(&mock_view);
		ok(wt_profile_run_now()->share == 75, "a share of \"%s\": the default",
		   nonsense[i]);
	}
	is_clean("share");
}

/* ---- CUPTI's buffers */

static void launch_beside(void)
{
	struct mock_spec other = b;

	mock_launch(&other, NULL);
}

static void test_flush(void)
{
	uint64_t held_ns;

	start(3);
	launches(&a, 99, 10 * MS);
	is_i64(mock.flushes, 0, "nothing profiled, nothing flushed");
	launches(&a, 5, 10 * MS);
	ok(mock.flushes == 3 && !mock.is_holding, "a forced flush after each profiled launch");
	is_i64((int64_t)wt_profile_flush_due(true), 0, "none is due");
	is_clean("flushes");

	start(3);
	launches(&a, 99, 10 * MS);
	mock.inside = launch_beside;
	launches(&a, 1, 10 * MS);
	ok(mock.flushes == 0 && mock.is_holding, "beside a launch of another thread: none");
	is_i64((int64_t)wt_profile_flush_due(false), 0, "it can wait");
	held_ns = wt_profile_flush_due(true);
	ok(held_ns, "... unless buffers run out");
	mock_pass(2500 * MS);
	ok(wt_profile_flush_due(false) == held_ns, "... or time does");
	mock.is_app_profiling = true;
	ok(!wt_profile_flush_due(false) && wt_profile_flush_due(true) == held_ns,
	   "... but for the application's profiler");
	mock.is_app_profiling = false;
	wt_profile_flushed(held_ns - 1);
	ok(wt_profile_flush_due(true), "a flush before that launch was none");
	wt_profile_flushed(held_ns);
	ok(!wt_profile_flush_due(true), "a later one was");
	is_clean("not alone");

	start(3);
	launches(&a, 99, 10 * MS);
	mock.flush_result = WTCUPTI_ERROR_UNKNOWN;
	launches(&a, 1, 10 * MS);
	ok(mock.flushes == 1 && wt_profile_flush_due(true) && mock_state() == WT_PROFILE_ON,
	   "a flush that fails ends nothing");
	mock.flush_result = 0;
	launches(&a, 1, 10 * MS);
	ok(!wt_profile_flush_due(true) && !mock.is_holding, "the next one makes up for it");
	mock.launch_result_profiled = WTCU_ERROR_NOT_SUPPORTED;
	launches(&a, 1, 10 * MS);
	is_i64(mock.flushes, 2, "a launch that was none holds nothing");
	is_clean("failing flushes");
}

int main(void)
{
	test_rounds();
	test_share();
	test_flush();
	return tap_done();
}
