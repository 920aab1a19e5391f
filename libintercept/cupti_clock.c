/*
 * cupti_clock.c - the application's own CUPTI clock, and the clock records.
 *
 * We run on CLOCK_REALTIME, and so does CUPTI where it was measured (Linux, CUPTI 13.0). Should a
 * reading prove otherwise (an offset, a drift), our records are converted. A profiler may give CUPTI a clock of its own
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
#define CLOCK_SLACK_NS UINT64_C(1000) /* CUPTI rounds, and the kernel may slew between two reads */

static struct {
	pthread_mutex_t lock;
	wtcupti_timestamp_fn source; /* NULL = CLOCK_REALTIME */
	struct wt_clock_map map;
	struct wt_clock_map cupti; /* CUPTI's clock as `app`; used once cupti_is_off */
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* 1 once the application ever gave a clock: until then nothing here costs anything. */
static _Atomic uint64_t is_foreign;

/* 1 once CUPTI's clock was seen to differ from CLOCK_REALTIME. */
static _Atomic uint64_t cupti_is_off;

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

/* A time of one clock on the other: to_app from CLOCK_REALTIME, else back. 0 stays 0. */
static uint64_t translate(const struct wt_clock_map *map, bool to_app, uint64_t t)
{
	const struct wt_clock_anchor *left, *right;
	int64_t app_span, real_span, distance;
	double rate = 1;
	uint32_t i = 1;

	if (!map->count || !t)
		return t;
	while (i + 1 < map->count && (to_app ? map->anchor[i].realtime_ns : map->anchor[i].app) < t)
		i++;
	left = &map->anchor[map->count > 1 ? i - 1 : 0];
	right = &map->anchor[map->count > 1 ? i : 0];
	app_span = (int64_t)(right->app - left->app);
	real_span = (int64_t)(right->realtime_ns - left->realtime_ns);
	if (app_span > 0 && real_span > 0)
		rate = to_app ? (double)app_span / (double)real_span
		              : (double)real_span / (double)app_span;
	distance = (int64_t)(t - (to_app ? left->realtime_ns : left->app));
	/* Rounded towards zero: a tick at most, and libm stays out of the preload. */
	return (to_app ? left->app : left->realtime_ns) +
	       (uint64_t)(int64_t)((double)distance * rate);
}

#define CONVERT(type, member)                                                                      \
	do {                                                                                       \
		struct wtcupti_activity_##type *r_ = record;                                       \
		if (WTCUPTI_HAS(struct wtcupti_activity_##type, member, bytes))                    \
			r_->member = translate(map, to_app, r_->member);                           \
	} while (0)

void wt_clock_convert(const struct wt_clock_map *map, bool to_app, void *record, size_t bytes)
{
	switch (((const struct wtcupti_activity *)record)->kind) {
	case WTCUPTI_KIND_KERNEL:
	case WTCUPTI_KIND_CONCURRENT_KERNEL:
		CONVERT(kernel, start);
		CONVERT(kernel, end);
		CONVERT(kernel, completed);
		CONVERT(kernel, queued);
		CONVERT(kernel, submitted);
		break;
	case WTCUPTI_KIND_MEMCPY:
		CONVERT(memcpy, start);
		CONVERT(memcpy, end);
		break;
	case WTCUPTI_KIND_MEMSET:
		CONVERT(memset, start);
		CONVERT(memset, end);
		break;
	case WTCUPTI_KIND_SYNCHRONIZATION:
		CONVERT(synchronization, start);
		CONVERT(synchronization, end);
		break;
	case WTCUPTI_KIND_OVERHEAD:
		CONVERT(overhead, start);
		CONVERT(overhead, end);
		break;
	case WTCUPTI_KIND_DRIVER:
	case WTCUPTI_KIND_RUNTIME:
		CONVERT(api, start);
		CONVERT(api, end);
		break;
	default:
		break;
	}
}

/*
 * CUPTI's own clock is CLOCK_REALTIME where we know it (Linux, CUPTI 13.0), but not everywhere. A
 * reading that lies outside the bracket of two of ours proves that it isn't; from then on its
 * records are converted.
 */
void wt_clock_cupti_map(struct wt_clock_map *ret_map)
{
	struct wt_clock_anchor best = {0};
	uint64_t width = UINT64_MAX;
	bool is_same = false;

	ret_map->count = 0;
	if (!wt_cupti.get_timestamp || !wt_cupti_is_recording())
		return;
	for (int i = 0; i < ANCHOR_TRIES; i++) {
		uint64_t before = wt_now_ns(), now = 0, after;

		if (wt_cupti.get_timestamp(&now))
			return;
		after = wt_now_ns();
		is_same |= now + CLOCK_SLACK_NS >= before && now <= after + CLOCK_SLACK_NS;
		if (after >= before && after - before < width) {
			width = after - before;
			best.app = now;
			best.realtime_ns = before + width / 2;
		}
	}
	if (!is_same)
		wt_store_release(&cupti_is_off, 1);
	pthread_mutex_lock(&state.lock);
	add_anchor(&state.cupti, best); /* also while they are the same: where a drift began */
	if (wt_load_acquire(&cupti_is_off))
		*ret_map = state.cupti;
	pthread_mutex_unlock(&state.lock);
}

void wt_clock_sample(struct wt_clock *ret_clock)
{
	wt_clock_read(ret_clock, wt_cupti_is_recording() ? wt_cupti.get_timestamp : NULL);
}
