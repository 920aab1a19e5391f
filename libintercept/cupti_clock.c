/*
 * cupti_clock.c - CUPTI's clock against CLOCK_REALTIME.
 *
 * By default they are the same. An application's profiler may give CUPTI a clock of its own
 * (cuptiActivityRegisterTimestampCallback): torch.profiler registers the time-stamp counter,
 * in ticks, for every session and never takes it back. It must have it, or its own trace is
 * wrong; so from then on we convert. A record may carry either clock, whichever CUPTI used
 * when it made the time: both are told apart by which one puts the record near the present.
 * What fits neither (CUPTI interpolated across the change) has no time: 0.
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
#define PLAUSIBLE_NS INT64_C(3600000000000) /* a record is at most this far from now */

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

bool wt_clock_is_source(wtcupti_timestamp_fn source)
{
	bool is_source;

	pthread_mutex_lock(&state.lock);
	is_source = state.source == source;
	pthread_mutex_unlock(&state.lock);
	return is_source;
}

void wt_clock_map_now(struct wt_clock_map *ret_map)
{
	wtcupti_timestamp_fn source;

	ret_map->count = 0;
	ret_map->now_ns = wt_now_ns();
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
	ret_map->now_ns = wt_now_ns();
}

static bool is_near(const struct wt_clock_map *map, uint64_t t)
{
	int64_t distance = (int64_t)(t - map->now_ns);

	return distance > -PLAUSIBLE_NS && distance < PLAUSIBLE_NS;
}

uint64_t wt_clock_realtime(const struct wt_clock_map *map, uint64_t t)
{
	const struct wt_clock_anchor *left, *right;
	double slope = 1;
	uint64_t converted;
	uint32_t i = 1;

	if (!map->count || !t || is_near(map, t))
		return t;
	while (i + 1 < map->count && map->anchor[i].app < t)
		i++;
	left = &map->anchor[map->count > 1 ? i - 1 : 0];
	right = &map->anchor[map->count > 1 ? i : 0];
	if (right->app > left->app && right->realtime_ns > left->realtime_ns)
		slope = (double)(right->realtime_ns - left->realtime_ns) /
		        (double)(right->app - left->app);
	converted =
	        left->realtime_ns + (uint64_t)(int64_t)((double)(int64_t)(t - left->app) * slope);
	return is_near(map, converted) ? converted : 0;
}

void wt_clock_sample(struct wt_clock *ret_clock)
{
	bool has_cupti = wt_cupti_is_recording() && wt_cupti.get_timestamp;
	struct wt_clock best = {.bracket_ns = UINT32_MAX};
	struct wt_clock_map map;

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
	wt_clock_map_now(&map);
	best.cupti_ns = wt_clock_realtime(&map, best.cupti_ns);
	*ret_clock = best;
}
