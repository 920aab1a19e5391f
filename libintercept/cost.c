/*
 * cost.c - the timed hooks: see cost.h. Any thread, inside a hook; nothing blocks.
 */
#include "libintercept/cost.h"
#include "libintercept/hooks.h"

__thread struct wt_cost_thread wt_cost __attribute__((tls_model("initial-exec")));

/* xorshift: how many calls pass until the next timed one. The mean of it + 1 is the period. */
static uint16_t next_skip(void)
{
	uint16_t x = wt_cost.random;

	x ^= (uint16_t)(x << 7);
	x ^= x >> 9;
	x ^= (uint16_t)(x << 8);
	wt_cost.random = x;
	return x % (2 * WT_COST_PERIOD - 1);
}

/* Before there is a segment nothing is timed: making it is told apart. */
__attribute__((noinline, cold)) uint64_t wt_cost_start_launch(void)
{
	wt_cost.is_next = 0;
	return wt_view_now() ? wt_now_ns() : 0;
}

/* A thread's first call only throws the dice, or first calls, which find nothing in the caches, would be
 * timed more often than others. */
__attribute__((noinline, cold)) uint64_t wt_cost_start_call(void)
{
	bool is_first = !wt_cost.random;

	if (is_first)
		wt_cost.random = (uint16_t)(((uintptr_t)&wt_cost >> 4 ^ wt_now_ns()) | 1);
	wt_cost.skip = next_skip();
	return !is_first && wt_view_now() ? wt_now_ns() : 0;
}

static void add_thread_time(struct wt_producer *producer, uint64_t now_ns)
{
	struct wt_fork_page *page = atomic_load_explicit(&wt_page, memory_order_acquire);
	uint32_t epoch = page ? (uint32_t)wt_load_relaxed(&page->marker) & INT32_MAX : 0;

	if (epoch != wt_cost.epoch)
		wt_add_relaxed(&producer->launching_threads, 1);
	else if (now_ns > wt_cost.last_ns) /* the clock may have been set back */
		wt_add_relaxed(&producer->launching_thread_ns, now_ns - wt_cost.last_ns);
	wt_cost.epoch = epoch;
	wt_cost.last_ns = now_ns;
}

__attribute__((noinline, cold)) void wt_cost_stop(enum wt_cost_kind kind, uint64_t began_ns,
                                                  uint64_t entry_ns, uint64_t return_ns)
{
	uint64_t ended_ns = wt_now_ns(), ns;
	struct wt_view *view = wt_view_now();

	if (!view)
		return;
	if (kind == WT_COST_LAUNCH)
		add_thread_time(view->producer, ended_ns);
	/* A clock that was set meanwhile tells nothing. */
	if (entry_ns < began_ns || return_ns < entry_ns || ended_ns < return_ns)
		return;
	ns = entry_ns - began_ns + (ended_ns - return_ns);
	if (kind == WT_COST_LAUNCH)
		wt_add_relaxed(&view->producer->hook_time[wt_cost_bucket(ns)], 1);
	if (ns >= WT_COST_LONG_NS) {
		wt_add_relaxed(&view->producer->hook_long_ns, ns);
	} else if (kind == WT_COST_LAUNCH) {
		wt_add_relaxed(&view->producer->hook_launch_ns, ns);
	} else {
		wt_add_relaxed(&view->producer->hook_calls_timed, 1);
		wt_add_relaxed(&view->producer->hook_calls_ns, ns);
	}
}
