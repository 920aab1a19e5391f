/*
 * watch_pace.c - see watch_pace.h. Pure; any thread.
 */
#include "cli/watch_pace.h"

int64_t wt_watch_pace_ns(const struct wt_watch_pace *pace)
{
	int64_t least_ns;

	if (__builtin_mul_overflow(pace->took_ns, WT_WATCH_DUTY, &least_ns))
		least_ns = INT64_MAX;
	return least_ns > pace->interval_ns ? least_ns : pace->interval_ns;
}

bool wt_watch_pace_is_slowed(const struct wt_watch_pace *pace)
{
	return wt_watch_pace_ns(pace) > pace->interval_ns;
}
