/*
 * map.h - a hash map from 64-bit keys to 32-bit values, usually indices of an array.
 *
 * Open addressing with linear probing; deleting moves the followers back, so that
 * there are no tombstones and a map that lives for days does not degrade. Not
 * thread-safe, never blocks, allocates only when it grows.
 */
#ifndef WT_MAP_H
#define WT_MAP_H

#include <stddef.h>
#include <stdint.h>

#define WT_MAP_NONE UINT32_MAX /* not a value: "no such key" */

struct wt_map {
	struct wt_map_slot *slots;
	size_t mask; /* slots - 1; 0 with slots == NULL */
	size_t count;
};

struct wt_map_slot {
	uint64_t key;
	uint32_t value;
	uint32_t is_used;
};

/* An all-zero struct is an empty map. Frees what the map allocated and empties it. */
void wt_map_fini(struct wt_map *map);

/* The value of a key, or WT_MAP_NONE. */
uint32_t wt_map_get(const struct wt_map *map, uint64_t key);

/* Adds or replaces. 0 or -ENOMEM. */
int wt_map_set(struct wt_map *map, uint64_t key, uint32_t value);

/* Removes a key if it is there. */
void wt_map_remove(struct wt_map *map, uint64_t key);

#endif /* WT_MAP_H */
