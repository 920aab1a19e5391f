/*
 * profile_flush.c - CUPTI's activity buffers after a profiled launch: see profile.h.
 *
 * The kernel record of such a launch has no times, ever, and until a forced flush CUPTI gives back
 * neither its buffer nor a later one. Each profiled launch is followed by one, while nothing runs. What
 * another thread launches in that very moment may lose its times, as may what runs when the flush thread
 * has to do it: those are counted (kernels_no_time).
 *
 * The thread of the profiled launch, which blocks in CUPTI; and the flush thread.
 */
#include "libintercept/cupti.h"
#include "libintercept/profile.h"

#define HELD_NS_MAX UINT64_C(2000000000)

bool wt_profile_was_alone(const struct wt_profile_run *run)
{
	return atomic_load(&run->begun) == run->turn.begun;
}

void wt_profile_flush(struct wt_profile_run *run)
{
	wtcupti_result result;
	bool is_held;

	if (!wt_load_relaxed(&run->held_ns))
		wt_store_relaxed(&run->held_ns, wt_profile_clock_ns());
	if (!wt_cupti_is_recording() || !wt_profile_was_alone(run))
		return;
	result = wt_cupti_flush(WTCUPTI_FLUSH_FORCED, &is_held);
	if (result)
		wt_log("profile: a forced flush gave %d", result);
	else if (is_held)
		wt_store_relaxed(&run->held_ns, 0);
}

/* Beside the application's own profiler only if its records would be lost, too. */
uint64_t wt_profile_flush_due(bool is_short)
{
	struct wt_profile_run *run = wt_profile_run_now();
	uint64_t held_ns = run ? wt_load_relaxed(&run->held_ns) : 0;

	if (!held_ns || is_short)
		return held_ns;
	return wt_profile_clock_ns() - held_ns > HELD_NS_MAX && !wt_share_any_open() ? held_ns : 0;
}

void wt_profile_flushed(uint64_t held_ns)
{
	struct wt_profile_run *run = wt_profile_run_now();

	if (run) /* unless a launch was profiled meanwhile */
		atomic_compare_exchange_strong(&run->held_ns, &held_ns, 0);
}
