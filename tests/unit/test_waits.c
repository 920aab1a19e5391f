/*
 * test_waits.c - who waits for whom, and why: cases by hand, and random jobs of two to six members against a
 * count that shares nothing with it.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/waits.h"
#include "tests/tap.h"

#define US INT64_C(1000)
#define MEMBERS_MAX 6
#define ONES_MAX 40

static struct wt_wait one(int64_t kernel_id, uint32_t member, int64_t start_us, int64_t end_us)
{
	return (struct wt_wait){.kernel_id = kernel_id,
	                        .member = member,
	                        .start_ns = start_us * US,
	                        .end_ns = end_us * US};
}

static int64_t waited_us(const struct wt_wait *waits, size_t count, uint32_t member)
{
	int64_t ns = 0;

	for (size_t i = 0; i < count; i++)
		if (waits[i].member == member)
			ns += waits[i].wait_until_ns - waits[i].start_ns;
	return ns / US;
}

static int64_t late_us(const struct wt_wait *waits, size_t count, uint32_t member)
{
	int64_t ns = 0;

	for (size_t i = 0; i < count; i++)
		if (waits[i].late_member == member)
			ns += waits[i].wait_until_ns - waits[i].start_ns;
	return ns / US;
}

static void test_two(void)
{
	/* 50 us for member 1, 30 us for member 0; ends 1 us apart. */
	struct wt_wait waits[] = {one(7, 0, 100, 200), one(7, 1, 150, 201), one(7, 1, 300, 400),
	                          one(7, 0, 330, 401)};
	struct wt_waits found;

	is_i64(wt_waits_find(waits, 4, 2, 0, 1000 * US, 2 * US, &found), 0, "two members");
	ok(!found.reason && found.collectives == 2 && found.apart == 0, "two collectives");
	is_i64(waited_us(waits, 4, 0), 50, "the first to come waits for the last");
	is_i64(waited_us(waits, 4, 1), 30, "each for the other");
	is_i64(late_us(waits, 4, 1), 50, "which is charged to the last");
	is_i64(found.ends_apart_ns, US, "their ends");
	is_i64(found.error_ns, 2 * US, "few ends: the error is what is given");

	is_i64(wt_waits_find(waits, 4, 2, 200 * US, 1000 * US, 2 * US, &found), 0, "a window");
	is_i64(waited_us(waits, 4, 0), 0, "what it lacks waits for nobody");
	is_i64(waited_us(waits, 4, 1), 30, "the other as before");

	is_i64(wt_waits_find(waits, 4, 2, 0, 1000 * US, 40 * US, &found), 0, "a coarse clock");
	is_i64(late_us(waits, 4, 0), 0, "nobody is late within the error");
	is_i64(waited_us(waits, 4, 1), 30, "though one has waited");
	is_i64(late_us(waits, 4, 1), 50, "and is beyond it");
}

static void test_refused(void)
{
	struct wt_wait odd[] = {one(7, 0, 0, 10), one(7, 1, 0, 10), one(7, 0, 20, 30)};
	struct wt_wait others[] = {one(7, 0, 0, 10), one(8, 1, 0, 10)};
	struct wt_wait apart[] = {one(7, 0, 0, 10), one(7, 1, 10, 20)};
	struct wt_waits found;

	is_i64(wt_waits_find(odd, 3, 2, 0, 1000 * US, 0, &found), 0, "a lost one");
	is_str(found.reason, "not all ran the same number of collectives", "is said");
	is_i64(wt_waits_find(others, 2, 2, 0, 1000 * US, 0, &found), 0, "different ones");
	is_str(found.reason, "not all ran the same number of collectives", "are said");
	is_i64(wt_waits_find(apart, 2, 2, 0, 1000 * US, 0, &found), 0, "one after the other");
	is_str(found.reason, "their collectives are not at the same time: of several groups?",
	       "is no collective");
	is_i64(waited_us(apart, 2, 0), 0, "nobody waits then");
	is_i64(wt_waits_find(apart, 1, 1, 0, 1000 * US, 0, &found), 0, "one member");
	is_str(found.reason, "not all ran collectives (NCCL, NVSHMEM)", "has nobody to wait for");
	is_i64(wt_waits_find(NULL, 0, 0, 0, 1000 * US, 0, &found), 0, "none at all");
	is_str(found.reason, "not all ran collectives (NCCL, NVSHMEM)", "the same");
}

static void test_late(void)
{
	/* Two members, three steps: member 1 is late twice by its host, once by its kernels; member 0 in the last. */
	int64_t late_ns[2 * 4] = {0, 0, 10, 900, 500, 700, 800, 0};
	int64_t spent_ns[2 * 4][WT_LATE_MAX] = {{0}};
	const struct wt_late_query query = {2, 4, late_ns, (const int64_t(*)[WT_LATE_MAX])spent_ns};
	struct wt_late late;

	for (int step = 0; step < 4; step++) {
		spent_ns[step][WT_LATE_KERNELS] = 1000;
		spent_ns[4 + step][WT_LATE_KERNELS] = step == 2 ? 1800 : 1000;
		spent_ns[4 + step][WT_GAP_HOST] = step == 0 ? 500 : step == 1 ? 700 : 0;
		spent_ns[step][WT_GAP_DEPENDENCY] = 800;
	}
	spent_ns[3][WT_LATE_COPY_PAGEABLE] = 900;
	wt_late_judge(&query, 1, &late);
	ok(late.steps == 3 && late.late_ns == 2000, "the latest in three of four steps");
	is_str(wt_late_name(late.cause), "host", "its host");
	ok(late.excess_ns[WT_GAP_HOST] == 1200 && late.excess_ns[WT_LATE_KERNELS] == 800,
	   "and its kernels");
	is_i64(late.excess_ns[WT_GAP_DEPENDENCY], -2400, "less of what the other waits in");
	wt_late_judge(&query, 0, &late);
	ok(late.steps == 1 && late.late_ns == 900 && late.cause == WT_LATE_COPY_PAGEABLE,
	   "the other in the fourth, by copies");
	is_str(wt_late_name(late.cause), "copy_pageable", "from pageable memory");
	memset(late_ns, 0, sizeof(late_ns));
	wt_late_judge(&query, 1, &late);
	ok(late.steps == 0 && late.cause == -1, "nobody is late: no cause");
}

/* Twelve steps, all late; host and copies have more on the mean, but only one of them steadily. */
static void test_late_error(void)
{
	int64_t late_ns[2 * 12] = {0};
	int64_t spent_ns[2 * 12][WT_LATE_MAX] = {{0}};
	const struct wt_late_query query = {2, 12, late_ns,
	                                    (const int64_t(*)[WT_LATE_MAX])spent_ns};
	struct wt_late late;

	for (int step = 0; step < 12; step++) {
		late_ns[12 + step] = 100;
		spent_ns[12 + step][WT_GAP_HOST] = step % 2 ? 5000 : 0;
		spent_ns[step][WT_GAP_HOST] = step % 2 ? 0 : 4000;
		spent_ns[12 + step][WT_LATE_COPY_PAGEABLE] = 300 + step % 2;
	}
	wt_late_judge(&query, 1, &late);
	/* Host +5000 and -4000 in turn: sum 6000, deviation 4700, twice the error 2 * 4700 * sqrt(12) = 32563. */
	is_i64(late.excess_ns[WT_GAP_HOST], 6000, "host: more, altogether");
	is_i64(late.error_ns[WT_GAP_HOST], 32563, "but now more, now less");
	is_i64(late.excess_ns[WT_LATE_COPY_PAGEABLE], 3606, "copies: less of it, but always");
	ok(late.cause == WT_LATE_COPY_PAGEABLE, "they are the cause");
	memset(spent_ns, 0, sizeof(spent_ns));
	for (int step = 0; step < 12; step++)
		spent_ns[12 + step][WT_GAP_HOST] = step == 5 ? 900 : 0;
	wt_late_judge(&query, 1, &late);
	ok(late.excess_ns[WT_GAP_HOST] == 900 && late.cause == -1,
	   "once in twelve steps: no cause");
}

static int64_t below(int64_t n)
{
	return rand() % n;
}

/* A job whose collectives are one after the other; the list is shuffled. */
static bool random_job(unsigned int seed)
{
	uint32_t members;
	int64_t starts_us[ONES_MAX][MEMBERS_MAX], want_wait[MEMBERS_MAX] = {0};
	int64_t want_late[MEMBERS_MAX] = {0}, now_us = 0;
	struct wt_wait waits[ONES_MAX * MEMBERS_MAX];
	struct wt_waits found;
	size_t count = 0, ones;
	bool is_right;

	srand(seed);
	members = (uint32_t)(2 + below(MEMBERS_MAX - 1));
	ones = (size_t)(1 + below(ONES_MAX));
	for (size_t i = 0; i < ones; i++) {
		int64_t kernel_id = 1 + below(3), first_us = INT64_MAX, last_us = 0;
		uint32_t last = 0;

		for (uint32_t m = 0; m < members; m++) {
			starts_us[i][m] = now_us + below(100) * MEMBERS_MAX + m; /* no ties */
			if (starts_us[i][m] > last_us) {
				last_us = starts_us[i][m];
				last = m;
			}
			if (starts_us[i][m] < first_us)
				first_us = starts_us[i][m];
		}
		now_us = last_us + 1 + below(50);
		for (uint32_t m = 0; m < members; m++) {
			waits[count++] = one(kernel_id, m, starts_us[i][m], now_us);
			want_wait[m] += last_us - starts_us[i][m];
			if (last_us - first_us > 2)
				want_late[last] += last_us - starts_us[i][m];
		}
	}
	for (size_t i = count; i > 1; i--) {
		size_t k = (size_t)below((int64_t)i);
		struct wt_wait kept = waits[i - 1];

		waits[i - 1] = waits[k];
		waits[k] = kept;
	}
	is_right = wt_waits_find(waits, count, members, 0, now_us * US, 2 * US, &found) == 0 &&
	           !found.reason && (size_t)found.collectives == ones && found.apart == 0;
	for (uint32_t m = 0; m < members; m++)
		is_right = is_right && waited_us(waits, count, m) == want_wait[m] &&
		           late_us(waits, count, m) == want_late[m];
	return is_right;
}

int main(void)
{
	int wrong = 0;

	test_two();
	test_refused();
	test_late();
	test_late_error();
	for (unsigned int seed = 1; seed <= 2000; seed++)
		wrong += !random_job(seed);
	is_i64(wrong, 0, "2000 random jobs");
	return tap_done();
}
