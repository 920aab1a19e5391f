/*
 * cupti_clock.c - the application's own CUPTI clock, and the clock records.
 *
 * CUPTI runs on CLOCK_REALTIME, and so do we. A profiler may give CUPTI a clock of its own
 * (cuptiActivityRegisterTimestampCallback): torch.profiler registers the time-stamp counter, in
 * ticks, for every session. CUPTI never gets to see it: it would rescale our records, and times that
 * CUPTI holds at the moment of a change are spoilt (measured, CUPTI 13.0). Instead the copies made
 * for that profiler are converted, which is all it can see.
 *
 * Anchors are pairs (application's clock, CLOCK_REALTIME) taken by calling the application's
 * clock between two reads of ours. Times between two anchors are interpolated, so that a clock
 * of unknown rate is right to the width of a bracket, well under a microsecond.
 *
 * Any thread. Blocks at most for a short mutex that is never held across a call.
 */
#include "libintercept/cupti.h"

#define ANCHOR_SPACING_NS UINT64_C(50000000)
#define ANCHOR_TRIES 4
#define CLOCK_TRIES 8

static struct {
	pthread_mutex_t lock;
	wtcupti_timestamp_fn source; /* NULL = CLOCK_REALTIME */
	struct wt_clock_map map;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* 1 once the application ever gave a clock: until then nothing here costs anything. */
static _Atomic uint64_t is_foreign;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t))
		return 0;
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

static struct wt_clock_anchor take_anchor(wtcupti_timestamp_fn source)
{
	struct wt_clock_anchor best = {0};
	uint64_t width = UINT64_MAX;

	for (int i = 0; i < ANCHOR_TRIES; i++) {
		uint64_t before = wt_now_ns();
		uint64_t app = source();
		uint64_t after = wt_now_ns();

		if (after >= before && after - before < width) {
			width = after - before;
			best.app = app;
			best.realtime_ns = before + width / 2;
		}
	}
	return best;
}

/* Keeps anchors at least ANCHOR_SPACING_NS apart; the newest one moves until it is. */
static void add_anchor(struct wt_clock_map *map, struct wt_clock_anchor anchor)
{
	uint32_t n = map->count;

	if (!anchor.realtime_ns)
		return;
	if (n >= 2 && anchor.realtime_ns - map->anchor[n - 2].realtime_ns < ANCHOR_SPACING_NS) {
		map->anchor[n - 1] = anchor;
		return;
	}
	if (n == WT_CLOCK_ANCHORS) {
		memmove(&map->anchor[0], &map->anchor[1], (n - 1) * sizeof(map->anchor[0]));
		n--;
	}
	map->anchor[n] = anchor;
	map->count = n + 1;
}

void wt_clock_set_source(wtcupti_timestamp_fn source)
{
	struct wt_clock_anchor anchor = {0};

	if (source)
		anchor = take_anchor(source);
	pthread_mutex_lock(&state.lock);
	if (source && source != state.source)
		state.map.count = 0;
	state.source = source;
	add_anchor(&state.map, anchor);
	pthread_mutex_unlock(&state.lock);
	wt_store_release(&is_foreign, 1);
}

void wt_clock_map_now(struct wt_clock_map *ret_map)
{
	wtcupti_timestamp_fn source;

	ret_map->count = 0;
	/* Not in a forked child, which may have inherited the lock in a locked state. */
	if (!wt_load_acquire(&is_foreign) || !wt_cupti_is_recording())
		return;
	pthread_mutex_lock(&state.lock);
	source = state.source;
	pthread_mutex_unlock(&state.lock);
	if (source) {
		struct wt_clock_anchor anchor = take_anchor(source);

		pthread_mutex_lock(&state.lock);
		if (source == state.source)
			add_anchor(&state.map, anchor);
		pthread_mutex_unlock(&state.lock);
	}
	pthread_mutex_lock(&state.lock);
	*ret_map = state.map;
	pthread_mutex_unlock(&state.lock);
}

uint64_t wt_clock_to_app(const struct wt_clock_map *map, uint64_t realtime_ns)
{
	const struct wt_clock_anchor *left, *right;
	double rate = 1;
	uint32_t i = 1;

	if (!map->count || !realtime_ns)
		return realtime_ns;
	while (i + 1 < map->count && map->anchor[i].realtime_ns < realtime_ns)
		i++;
	left = &map->anchor[map->count > 1 ? i - 1 : 0];
	right = &map->anchor[map->count > 1 ? i : 0];
	if (right->app > left->app && right->realtime_ns > left->realtime_ns)
		rate = (double)(right->app - left->app) /
		       (double)(right->realtime_ns - left->realtime_ns);
	/* Rounded towards zero: a tick at most, and libm stays out of the preload. */
	return left->app +
	       (uint64_t)(int64_t)((double)(int64_t)(realtime_ns - left->realtime_ns) * rate);
}

void wt_clock_sample(struct wt_clock *ret_clock)
{
	bool has_cupti = wt_cupti_is_recording() && wt_cupti.get_timestamp;
	struct wt_clock best = {.bracket_ns = UINT32_MAX};

	for (int i = 0; i < CLOCK_TRIES; i++) {
		struct wt_clock now = {0};
		uint64_t before = clock_ns(CLOCK_REALTIME), after;

		now.monotonic_ns = clock_ns(CLOCK_MONOTONIC);
		now.boot_ns = clock_ns(CLOCK_BOOTTIME);
		if (has_cupti && wt_cupti.get_timestamp(&now.cupti_ns))
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
