/*
 * watch_pace.h - when a view is read again: at its interval, or more seldom where reading takes long.
 *
 * A view takes a fifth of one processor at the most, whatever the run's length. Pure; any thread.
 */
#ifndef WT_CLI_WATCH_PACE_H
#define WT_CLI_WATCH_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define WT_WATCH_INTERVAL_NS INT64_C(1000000000) /* the default */
#define WT_WATCH_INTERVAL_MIN_NS INT64_C(100000000)
#define WT_WATCH_INTERVAL_MAX_NS INT64_C(3600000000000)
#define WT_WATCH_DUTY 5 /* reading takes one part in so many */

struct wt_watch_pace {
	int64_t interval_ns; /* as asked for */
	int64_t took_ns; /* the last reading; 0: none yet */
};

/* The time from one reading to the next. */
int64_t wt_watch_pace_ns(const struct wt_watch_pace *pace);

/* Is that more than was asked for? */
bool wt_watch_pace_is_slowed(const struct wt_watch_pace *pace);

#endif /* WT_CLI_WATCH_PACE_H */
