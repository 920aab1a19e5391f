/*
 * rollup.h - many rows of config_stat, found by what they sum: process, configuration, and
 * whether inside a graph.
 *
 * Pure but for memory; not thread-safe; never blocks.
 */
#ifndef WT_ROLLUP_H
#define WT_ROLLUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/derive.h"
#include "analysis/map.h"

struct wt_rollup {
	int64_t process_id;
	struct wt_stat stat;
	uint32_t next; /* same hash */
};

/* All zero is empty. */
struct wt_rollups {
	struct wt_rollup *rows; /* in the order in which they were first met */
	size_t count, room;
	struct wt_map first_of;
};

/* The row, made empty where it is new; valid until the next call. NULL: no memory. */
struct wt_stat *wt_rollups_get(struct wt_rollups *rollups, int64_t process_id, int64_t config_id,
                               bool in_graph);

bool wt_rollups_has(const struct wt_rollups *rollups, int64_t process_id, int64_t config_id,
                    bool in_graph);

void wt_rollups_fini(struct wt_rollups *rollups);

#endif /* WT_ROLLUP_H */
