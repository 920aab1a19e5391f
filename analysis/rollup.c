/*
 * rollup.c - see rollup.h.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/rollup.h"

static uint64_t hash_of(int64_t process_id, int64_t config_id, bool in_graph)
{
	uint64_t hash = (uint64_t)process_id * UINT64_C(0x9e3779b97f4a7c15);

	hash ^= 2 * (uint64_t)config_id + in_graph;
	return hash * UINT64_C(0xff51afd7ed558ccd);
}

static uint32_t find(const struct wt_rollups *rollups, uint64_t hash, int64_t process_id,
                     int64_t config_id, bool in_graph)
{
	uint32_t at = wt_map_get(&rollups->first_of, hash);

	while (at != WT_MAP_NONE && (rollups->rows[at].process_id != process_id ||
	                             rollups->rows[at].stat.config_id != config_id ||
	                             (rollups->rows[at].stat.in_graph != 0) != in_graph))
		at = rollups->rows[at].next;
	return at;
}

struct wt_stat *wt_rollups_get(struct wt_rollups *rollups, int64_t process_id, int64_t config_id,
                               bool in_graph)
{
	uint64_t hash = hash_of(process_id, config_id, in_graph);
	uint32_t at = find(rollups, hash, process_id, config_id, in_graph);
	struct wt_rollup *row;

	if (at != WT_MAP_NONE)
		return &rollups->rows[at].stat;
	if (rollups->count == rollups->room) {
		size_t room = rollups->room ? 2 * rollups->room : 64;
		struct wt_rollup *more = realloc(rollups->rows, room * sizeof(*more));

		if (!more)
			return NULL;
		rollups->rows = more;
		rollups->room = room;
	}
	row = &rollups->rows[rollups->count];
	row->process_id = process_id;
	row->next = wt_map_get(&rollups->first_of, hash);
	wt_stat_init(&row->stat, config_id, in_graph);
	if (wt_map_set(&rollups->first_of, hash, (uint32_t)rollups->count))
		return NULL;
	rollups->count++;
	return &row->stat;
}

bool wt_rollups_has(const struct wt_rollups *rollups, int64_t process_id, int64_t config_id,
                    bool in_graph)
{
	return find(rollups, hash_of(process_id, config_id, in_graph), process_id, config_id,
	            in_graph) != WT_MAP_NONE;
}

void wt_rollups_fini(struct wt_rollups *rollups)
{
	free(rollups->rows);
	wt_map_fini(&rollups->first_of);
	memset(rollups, 0, sizeof(*rollups));
}
