/*
 * cupti_rest.c - gives kernel records up while everything goes on, and keeps CUPTI: for WAVETAP_BUDGET.
 *
 * CUPTI's callbacks stay ours. Unregistering is not possible, and another client's would get buffers
 * of our pool. So what is left is to switch all kinds off; from then on launches say that CUPTI was not
 * recording (WT_FLAG_UNARMED), and share.c passes on what the application's profiler asks for.
 *
 * ORDER. The state becomes STEPPING first, then there is a pause: a launch that found us recording is
 * in the driver by its end, so that its kernel is recorded, and a thread that began a capture or a
 * session of the profiler meanwhile is seen. Only then are the kinds switched off, kernels first; it is
 * told before from when on, so that whoever reads a launch that returned later knows. After another
 * pause the records of launch calls go: what was in the driver with a kernel recorded gets its own. Calls of
 * the application's profiler wait while it lasts (share.c), and so do calls that begin a capture.
 *
 * wt_cupti_rest: the flush thread; blocks for the pauses and in CUPTI. wt_cupti_hold_captures: the
 * application's threads, around calls that begin or end a capture, never around launches.
 */
#include <errno.h>

#include "libintercept/cupti.h"

#define STEP_PAUSE_MS 20
#define CAPTURE_WAIT_MS 2000

/* Nothing that our stepping down would harm. */
static bool is_at_rest(struct wt_fork_page *page)
{
	struct wt_profile_run *run = wt_profile_run_now();

	return !atomic_load(&page->captures_open) && !atomic_load(&page->captures_begun) &&
	       !wt_share_any_open() && !(run && atomic_load(&run->busy));
}

/* The application switched some on just now, when they were still on for us. */
static void give_to_application(void)
{
	for (int kind = 1; kind < WT_SHARE_KINDS; kind++)
		if (wt_share_is_open(kind) && wt_cupti_owned(kind))
			wt_cupti.enable(kind);
	for (int idx = 0; idx < WT_LAUNCH_CALLS; idx++)
		if (wt_share_is_open(WT_SHARE_KINDS + idx)) {
			wt_cupti_switch_launch_calls(1);
			break;
		}
}

bool wt_cupti_rest(enum wt_reason reason, uint64_t detail, _Atomic uint64_t *ret_since_ns)
{
	struct timespec pause = {.tv_nsec = STEP_PAUSE_MS * 1000000L};
	struct wt_fork_page *page = wt_fork_page();
	uint64_t expected = WT_CUPTI_ARMED;

	/* Partner of both loads in it: wt_cupti_hold_captures. */
	if (!page || !is_at_rest(page) ||
	    !atomic_compare_exchange_strong(&page->cupti_state, &expected, WT_CUPTI_STEPPING))
		return false;
	nanosleep(&pause, NULL);
	if (!is_at_rest(page)) {
		wt_store_release(&page->cupti_state, WT_CUPTI_ARMED);
		return false;
	}
	wt_store_release(ret_since_ns, wt_now_ns());
	wt_cupti_disable_kinds();
	nanosleep(&pause, NULL);
	wt_cupti_switch_launch_calls(0);
	give_to_application();
	wt_store_release(&page->cupti_state, WT_CUPTI_RESTING);
	wt_segment_set_capture(WT_CAPTURE_HOOKS_ONLY, reason, detail);
	wt_log("cupti: resting: %s", wt_reason_text(reason));
	return true;
}

void wt_cupti_hold_captures(void)
{
	struct timespec pause = {.tv_nsec = 1000000};
	struct wt_fork_page *page = wt_fork_page();
	int saved_errno = errno;

	if (!page)
		return;
	atomic_fetch_add(&page->captures_begun, 1);
	for (int i = 0; i < CAPTURE_WAIT_MS && atomic_load(&page->cupti_state) == WT_CUPTI_STEPPING;
	     i++)
		nanosleep(&pause, NULL);
	errno = saved_errno;
}

void wt_cupti_unhold_captures(void)
{
	struct wt_fork_page *page = wt_fork_page();
	uint64_t begun = page ? atomic_load(&page->captures_begun) : 0;

	/* Never below zero: the page may be a forked child's. */
	while (begun && !atomic_compare_exchange_weak(&page->captures_begun, &begun, begun - 1))
		;
}
