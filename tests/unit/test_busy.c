/*
 * test_busy.c - the union of intervals against a bitmap, for random input in any order and
 * nearly in order, with small capacities; and that latecomers are noticed.
 */
#include "cli/busy.h"
#include "tests/tap.h"

#define SPAN 2000

static uint64_t seed = 20261129;

static int64_t pick(int64_t below)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (int64_t)((seed >> 33) % (uint64_t)below);
}

/* One round; *ret_is_late as the module says. True if it is right or says that it can't be. */
static bool check_round(size_t capacity, int64_t disorder, bool *ret_is_late)
{
	bool is_busy[SPAN + 64] = {false};
	int64_t want = 0;
	struct wt_busy busy;
	bool is_right;

	if (wt_busy_init(&busy, capacity))
		return false;
	for (int64_t at = 0; at < SPAN - disorder - 1; at += 1 + pick(12)) {
		int64_t start = at + pick(disorder + 1);
		int64_t end = start + pick(20);

		wt_busy_add(&busy, start, end);
		for (int64_t i = start; i < end; i++)
			is_busy[i] = true;
	}
	for (int i = 0; i < SPAN + 64; i++)
		want += is_busy[i];
	is_right = wt_busy_ns(&busy) == want;
	*ret_is_late = busy.is_late;
	is_right = is_right || busy.is_late;
	wt_busy_fini(&busy);
	return is_right;
}

static void test_rounds(size_t capacity, int64_t disorder, bool may_be_late)
{
	int wrong = 0, late = 0;

	for (int i = 0; i < 500; i++) {
		bool is_late = false;

		wrong += !check_round(capacity, disorder, &is_late);
		late += is_late;
	}
	is_i64(wrong, 0, "500 rounds equal the bitmap");
	ok(may_be_late || late == 0, "capacity %zu, disorder %lld: late in %d", capacity,
	   (long long)disorder, late);
}

static void test_by_hand(void)
{
	struct wt_busy busy;

	ok(wt_busy_init(&busy, 2) == 0, "init");
	is_i64(wt_busy_ns(&busy), 0, "nothing yet");
	wt_busy_add(&busy, 10, 10);
	wt_busy_add(&busy, 10, 5);
	is_i64(wt_busy_ns(&busy), 0, "empty and reversed count as nothing");
	wt_busy_add(&busy, 10, 20);
	wt_busy_add(&busy, 20, 30);
	is_i64((int64_t)busy.count, 1, "touching ones become one");
	wt_busy_add(&busy, 5, 40);
	is_i64(wt_busy_ns(&busy), 35, "one around it");
	wt_busy_add(&busy, 50, 60);
	wt_busy_add(&busy, 70, 80);
	is_i64(wt_busy_ns(&busy), 55, "older ones are summed up");
	ok(!busy.is_late, "in order so far");
	wt_busy_add(&busy, 1, 3);
	ok(busy.is_late, "a latecomer is noticed");
	wt_busy_fini(&busy);
}

int main(void)
{
	test_by_hand();
	test_rounds(4096, 0, false);
	test_rounds(4096, 1000, false);
	test_rounds(64, 30, false);
	test_rounds(4, 0, false);
	test_rounds(2, 3, true);
	test_rounds(8, 500, true);
	return tap_done();
}
