/*
 * budget.c - WAVETAP_BUDGET: when what we measure of our own cost exceeds it, kernel records are given
 * up, once, and launches alone are recorded from then on.
 *
 * What counts: the hooks, as those that are timed tell of all, and the time in CUPTI's buffer
 * callbacks, over wall time of the same window. Not what CUPTI takes inside the driver: from in
 * here that can't be told from the driver's own time.
 *
 * Judged on our flush thread, window by window (1 s; WAVETAP_BUDGET_WINDOW_MS), each made longer until it
 * has LEAST_EVENTS launches and kernels; after WINDOWS_LONGEST times that it tells nothing. A window over the limit counts, one below four
 * fifths of it forgets what was counted, one between does neither; at WINDOWS_OVER it is exceeded. Then
 * wt_cupti_rest() is tried, now and at each look, until it can be done.
 *
 * The flush thread alone, but wt_budget_start. Nothing here blocks; wt_cupti_rest may.
 */
#include <stdlib.h>

#include "libintercept/cupti.h"
#include "schema/wt_setting.h"

#define LEAST_EVENTS 1000
#define LEAST_TIMED 8 /* of fewer in a window, their mean is that of all so far */
#define WINDOWS_OVER 3
#define WINDOWS_LONGEST 10

struct sums {
	uint64_t at_ns; /* CLOCK_MONOTONIC */
	uint64_t launches, kernels, timed, launch_ns, calls_timed, calls_ns, callback_ns;
};

/* Of a child that was forked: begun anew by the start of its own segment. */
static struct {
	struct sums begun;
	uint64_t window_ns;
	uint64_t exceeded_ppm; /* 0 = it is not */
	int windows_over;
} watch;

static uint64_t window_ns(void)
{
	const struct wt_setting *setting = wt_setting(WT_SETTING_BUDGET_WINDOW_MS);
	uint32_t ms;

	wt_setting_parse(setting, secure_getenv(setting->name), &ms);
	return ms * UINT64_C(1000000);
}

void wt_budget_start(struct wt_view *view)
{
	const char *given = secure_getenv("WAVETAP_BUDGET");
	uint64_t ppm = 0, state = WT_BUDGET_OFF;

	if (given && wt_budget_parse(given, &ppm))
		state = WT_BUDGET_BAD_VALUE;
	else if (ppm)
		state = WT_BUDGET_WATCHING;
	watch.begun = (struct sums){0};
	watch.window_ns = window_ns();
	watch.exceeded_ppm = 0;
	watch.windows_over = 0;
	wt_store_relaxed(&view->producer->budget_ppm, ppm);
	wt_store_relaxed(&view->producer->budget_state, state);
}

void wt_budget_no_thread(struct wt_view *view)
{
	if (wt_load_relaxed(&view->producer->budget_state) == WT_BUDGET_WATCHING)
		wt_store_relaxed(&view->producer->budget_state, WT_BUDGET_NO_THREAD);
}

static void take_sums(const struct wt_producer *producer, uint64_t now_ns, struct sums *sums)
{
	*sums = (struct sums){
	        .at_ns = now_ns,
	        .launches = wt_load_relaxed(&producer->launch_attempted) +
	                    wt_load_relaxed(&producer->graph_launch_attempted),
	        .kernels = wt_load_relaxed(&producer->kernels_seen),
	        .launch_ns = wt_load_relaxed(&producer->hook_launch_ns),
	        .calls_timed = wt_load_relaxed(&producer->hook_calls_timed),
	        .calls_ns = wt_load_relaxed(&producer->hook_calls_ns),
	        .callback_ns = wt_load_relaxed(&producer->cupti_callback_ns),
	};
	for (unsigned i = 0; i + 1 < WT_COST_BUCKETS; i++) /* long ones are none of ours */
		sums->timed += wt_load_relaxed(&producer->hook_time[i]);
}

/* Own cost of a window in millionths of it. */
static uint64_t cost_ppm(const struct sums *from, const struct sums *to)
{
	double timed = (double)(to->timed - from->timed);
	double timed_ns = (double)(to->launch_ns - from->launch_ns);
	double ns = (double)(to->callback_ns - from->callback_ns);

	if (timed < LEAST_TIMED) {
		timed = (double)to->timed;
		timed_ns = (double)to->launch_ns;
	}
	if (timed > 0)
		ns += timed_ns / timed * (double)(to->launches - from->launches);
	if (to->calls_timed)
		ns += (double)to->calls_ns / (double)to->calls_timed *
		      (double)(to->calls_timed - from->calls_timed) * WT_COST_PERIOD;
	return (uint64_t)(ns * 1e6 / (double)(to->at_ns - from->at_ns));
}

static void judge(const struct wt_producer *producer, uint64_t now_ns)
{
	uint64_t limit_ppm = wt_load_relaxed(&producer->budget_ppm), ppm;
	uint64_t since_ns = now_ns - watch.begun.at_ns, events;
	struct sums now;

	if (watch.begun.at_ns && since_ns < watch.window_ns)
		return;
	take_sums(producer, now_ns, &now);
	events = now.launches - watch.begun.launches + now.kernels - watch.begun.kernels;
	if (watch.begun.at_ns && events < LEAST_EVENTS &&
	    since_ns < WINDOWS_LONGEST * watch.window_ns)
		return;
	if (watch.begun.at_ns && events >= LEAST_EVENTS) {
		ppm = cost_ppm(&watch.begun, &now);
		if (ppm > limit_ppm)
			watch.windows_over++;
		else if (ppm < limit_ppm * 4 / 5)
			watch.windows_over = 0;
		if (ppm > limit_ppm && watch.windows_over >= WINDOWS_OVER)
			watch.exceeded_ppm = ppm;
	}
	watch.begun = now;
}

void wt_budget_look(struct wt_view *view, uint64_t now_ns)
{
	struct wt_producer *producer = view->producer;
	uint64_t state = wt_load_relaxed(&producer->budget_state);

	if ((state != WT_BUDGET_WATCHING && state != WT_BUDGET_WAITING) || !wt_cupti_is_recording())
		return;
	if (!watch.exceeded_ppm)
		judge(producer, now_ns);
	if (!watch.exceeded_ppm)
		return;
	if (!wt_cupti_rest(WT_REASON_BUDGET, watch.exceeded_ppm, &producer->budget_stepped_ns)) {
		wt_store_relaxed(&producer->budget_state, WT_BUDGET_WAITING);
		return;
	}
	wt_store_relaxed(&producer->budget_cost_ppm, watch.exceeded_ppm);
	wt_store_release(&producer->budget_state, WT_BUDGET_STEPPED_DOWN);
}
