/*
 * clock_read.c - one instant on all clocks: for libwavetap.so and for wavetap-sampler.
 *
 * Any thread; never blocks.
 */
#include "libintercept/cupti.h"

#define CLOCK_TRIES 8

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t))
		return 0;
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

void wt_clock_read(struct wt_clock *ret_clock, wtcupti_get_timestamp_fn get_timestamp)
{
	struct wt_clock best = {.bracket_ns = UINT32_MAX};

	for (int i = 0; i < CLOCK_TRIES; i++) {
		struct wt_clock now = {0};
		uint64_t before = clock_ns(CLOCK_REALTIME), after;

		now.monotonic_ns = clock_ns(CLOCK_MONOTONIC);
		now.boot_ns = clock_ns(CLOCK_BOOTTIME);
		if (get_timestamp && get_timestamp(&now.cupti_ns))
			now.cupti_ns = 0;
		after = clock_ns(CLOCK_REALTIME);
		if (after < before || after - before >= best.bracket_ns)
			continue;
		now.realtime_ns = before + (after - before) / 2;
		now.bracket_ns = (uint32_t)(after - before);
		best = now;
	}
	*ret_clock = best;
}
