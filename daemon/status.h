/*
 * status.h - the daemon's state as one JSON object; the shape is described in status.c.
 */
#ifndef WT_STATUS_H
#define WT_STATUS_H

#include <stdint.h>

struct wt_daemon;

/* On the heap, or NULL: no memory. */
char *wt_status_json(const struct wt_daemon *daemon, int64_t now_ns);

#endif /* WT_STATUS_H */
