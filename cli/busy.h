/*
 * busy.h - how long at least one of many intervals lasted (their union), in one pass.
 *
 * Intervals come nearly in the order of their starts: the daemon stores what each process
 * did in batches. The last `capacity` disjoint ones are kept and merged with what comes;
 * older ones are summed up and forgotten. Whoever comes too late for that is noticed, and
 * then the caller must sort. Memory is bounded, time is linear for such input.
 *
 * Pure; one thread.
 */
#ifndef WT_CLI_BUSY_H
#define WT_CLI_BUSY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wt_busy_interval {
	int64_t start_ns, end_ns;
};

struct wt_busy {
	struct wt_busy_interval *kept; /* disjoint, in order */
	size_t count, capacity;
	int64_t forgotten_ns; /* summed length of those that were let go */
	int64_t forgotten_end; /* nothing before may change any more */
	bool is_late; /* an interval began before forgotten_end: the sum is not to be trusted */
};

#define WT_BUSY_CAPACITY 65536u

/* 0 or -ENOMEM. `capacity` is at least 2. */
int wt_busy_init(struct wt_busy *busy, size_t capacity);
void wt_busy_fini(struct wt_busy *busy);

/* Empty intervals and those that end before they start count as nothing. */
void wt_busy_add(struct wt_busy *busy, int64_t start_ns, int64_t end_ns);

/* The length of the union so far. */
int64_t wt_busy_ns(const struct wt_busy *busy);

#endif /* WT_CLI_BUSY_H */
