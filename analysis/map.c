/*
 * map.c - see map.h. Pure: no I/O, no clock, no globals.
 */
#include "analysis/map.h"

#include <errno.h>
#include <stdlib.h>

#define MAP_SLOTS_FIRST 64

/* Spreads keys that differ in few bits, such as counters and aligned addresses. */
static size_t spread(uint64_t key)
{
	key ^= key >> 33;
	key *= UINT64_C(0xff51afd7ed558ccd);
	key ^= key >> 33;
	return (size_t)key;
}

void wt_map_fini(struct wt_map *map)
{
	free(map->slots);
	map->slots = NULL;
	map->mask = map->count = 0;
}

/* The slot of a key, or the free one where it belongs. */
static struct wt_map_slot *find(const struct wt_map *map, uint64_t key)
{
	size_t at = spread(key) & map->mask;

	while (map->slots[at].is_used && map->slots[at].key != key)
		at = (at + 1) & map->mask;
	return &map->slots[at];
}

uint32_t wt_map_get(const struct wt_map *map, uint64_t key)
{
	const struct wt_map_slot *slot;

	if (!map->slots)
		return WT_MAP_NONE;
	slot = find(map, key);
	return slot->is_used ? slot->value : WT_MAP_NONE;
}

static int grow(struct wt_map *map)
{
	size_t slots_count = map->slots ? 2 * (map->mask + 1) : MAP_SLOTS_FIRST;
	struct wt_map bigger = {
	        .slots = calloc(slots_count, sizeof(*bigger.slots)),
	        .mask = slots_count - 1,
	        .count = map->count,
	};

	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; map->slots && i <= map->mask; i++)
		if (map->slots[i].is_used)
			*find(&bigger, map->slots[i].key) = map->slots[i];
	free(map->slots);
	*map = bigger;
	return 0;
}

int wt_map_set(struct wt_map *map, uint64_t key, uint32_t value)
{
	struct wt_map_slot *slot;

	if (!map->slots || 3 * (map->count + 1) > 2 * (map->mask + 1)) {
		int err = grow(map);

		if (err)
			return err;
	}
	slot = find(map, key);
	map->count += !slot->is_used;
	*slot = (struct wt_map_slot){.key = key, .value = value, .is_used = 1};
	return 0;
}

void wt_map_remove(struct wt_map *map, uint64_t key)
{
	struct wt_map_slot *slot;
	size_t hole, at;

	if (!map->slots)
		return;
	slot = find(map, key);
	if (!slot->is_used)
		return;
	hole = at = (size_t)(slot - map->slots);
	map->count--;
	for (;;) {
		size_t home;

		at = (at + 1) & map->mask;
		if (!map->slots[at].is_used)
			break;
		/* A follower may fill the hole unless its home lies after the hole. */
		home = spread(map->slots[at].key) & map->mask;
		if (((at - home) & map->mask) >= ((at - hole) & map->mask)) {
			map->slots[hole] = map->slots[at];
			hole = at;
		}
	}
	map->slots[hole].is_used = 0;
}
