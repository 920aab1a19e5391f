/*
 * profile_table.c - launch configurations, and what is to become of their next launch.
 *
 * A configuration is a function, geometry and dynamic shared memory; not a stream. It is known by a
 * hash of 64 bits alone: two of 8,192 that share one come once in 5e11 programs, and then one of them
 * goes unmeasured. A handle that a new function gets after a module was unloaded counts as the old
 * one, with the same effect: nothing is attributed by this table, for a record names its launch.
 *
 * Any thread, lock-free. Nothing is ever removed. Looking through it takes some 20 us.
 */
#include "libintercept/profile.h"

#define PROBES 64u

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

static uint64_t hash_of(const struct wt_launch *launch)
{
	uint64_t hash = mix(UINT64_C(0x243f6a8885a308d3), launch->function);

	hash = mix(hash, (uint64_t)launch->grid[0] << 32 | launch->grid[1]);
	hash = mix(hash, (uint64_t)launch->grid[2] << 32 | launch->block[0]);
	hash = mix(hash, (uint64_t)launch->block[1] << 32 | launch->block[2]);
	hash = mix(hash, (uint64_t)launch->dynamic_smem_bytes << 32 | launch->cluster[0]);
	hash = mix(hash, (uint64_t)launch->cluster[1] << 32 | launch->cluster[2]);
	return hash ? hash : 1;
}

struct wt_profile_config *wt_profile_find(struct wt_profile_table *table,
                                          const struct wt_launch *launch, uint32_t launches_wanted,
                                          uint64_t now_ns)
{
	uint64_t hash = hash_of(launch);

	for (uint64_t i = 0; i < PROBES; i++) {
		struct wt_profile_config *config =
		        &table->config[(hash + i) & (WT_PROFILE_CONFIGS - 1)];
		uint64_t seen = wt_load_acquire(&config->hash);

		if (!seen && atomic_compare_exchange_strong(&config->hash, &seen, hash)) {
			/* Results may be thrown away: as many again, and some. */
			wt_store_relaxed(&config->tries_left, 2 * (uint64_t)launches_wanted + 8);
			wt_store_relaxed(&table->new_ns, now_ns);
			return config;
		}
		if (seen == hash)
			return config;
	}
	return NULL;
}

/* Does it want a launch, and is it time for that? */
static bool is_waiting(const struct wt_profile_table *table, const struct wt_profile_config *config,
                       uint32_t launches_wanted, uint64_t now_ns)
{
	uint64_t new_ns = wt_load_relaxed(&table->new_ns);

	if (!wt_load_relaxed(&config->tries_left) ||
	    wt_load_relaxed(&config->profiled) >= launches_wanted)
		return false;
	return wt_load_relaxed(&config->launches) >= WT_PROFILE_COMMON_LAUNCHES ||
	       (now_ns >= new_ns && now_ns - new_ns >= WT_PROFILE_SETTLED_NS);
}

/* The fewest results of any that waits and is about. Two threads may look at once, and find the same. */
static uint64_t find_level(struct wt_profile_table *table, uint32_t launches_wanted,
                           uint64_t now_ns)
{
	uint64_t level = UINT64_MAX;

	for (uint32_t i = 0; i < WT_PROFILE_CONFIGS; i++) {
		const struct wt_profile_config *config = &table->config[i];
		uint64_t last_ns, profiled;

		if (!wt_load_acquire(&config->hash))
			continue;
		last_ns = wt_load_relaxed(&config->last_ns);
		profiled = wt_load_relaxed(&config->profiled);
		if (profiled < level && now_ns < last_ns + WT_PROFILE_ABOUT_NS &&
		    is_waiting(table, config, launches_wanted, now_ns))
			level = profiled;
	}
	wt_store_relaxed(&table->level, level);
	wt_store_relaxed(&table->level_ns, now_ns);
	return level;
}

enum wt_profile_role wt_profile_choose(struct wt_profile_table *table,
                                       const struct wt_profile_config *config,
                                       uint32_t launches_wanted, uint64_t now_ns)
{
	uint64_t profiled = wt_load_relaxed(&config->profiled);
	uint64_t level = wt_load_relaxed(&table->level);

	if (!is_waiting(table, config, launches_wanted, now_ns))
		return WT_PROFILE_COUNTED;
	if (profiled > level && now_ns - wt_load_relaxed(&table->level_ns) >= WT_PROFILE_LEVEL_NS)
		level = find_level(table, launches_wanted, now_ns);
	return profiled <= level ? WT_PROFILE_PROFILED : WT_PROFILE_COUNTED;
}

uint64_t wt_profile_pause_ns(uint64_t cost_ns, uint32_t share, uint64_t turns)
{
	uint64_t ns = cost_ns < WT_PROFILE_PAUSE_MAX_NS ? cost_ns : WT_PROFILE_PAUSE_MAX_NS;

	ns = ns * (100 - share) / share;
	return ns / 2 + (ns * (mix(0, turns) >> 56) >> 8); /* half to one and a half */
}
