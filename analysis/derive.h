/*
 * derive.h - what a run file says about a configuration, a kernel that ran and many of them,
 * derived from what was recorded. One place for wavetapd, which derives as records come,
 * and `wavetap analyze`, which derives again from the rows: equal input, equal bits.
 *
 * Pure: no I/O, no clock, no state; any thread; never blocks.
 */
#ifndef WT_DERIVE_H
#define WT_DERIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/overlap.h"
#include "analysis/wave.h"
#include "schema/wt_device.h"

/* Kept in a run file as meta.analysis_version; raised when equal input gives other numbers. */
#define WT_ANALYSIS_VERSION 3

/* Launch configuration: compared and hashed as bytes. */
struct wt_config_key {
	int64_t kernel_id, device_id;
	uint32_t grid[3], block[3], cluster[3];
	uint32_t regs_per_thread, static_smem_bytes, dynamic_smem_bytes;
	uint32_t is_cooperative, max_active_clusters;
	int32_t sm_count;
	uint32_t pad;
};

/* The derived columns of the table `config`; what is not known is not to be read. */
struct wt_config_values {
	int64_t blocks;
	bool has_occupancy, has_waves, has_waves_sm;
	int64_t blocks_per_sm; /* with has_occupancy, like the next two */
	double occupancy;
	char limiter[64]; /* "" = none */
	int64_t resident_blocks; /* 0 = not known */
	double waves, waves_sm;
	int64_t full_waves, last_wave_blocks; /* with has_waves */
	const char *model_reason; /* static text, or NULL */
};

/*
 * Occupancy and waves of a configuration. `ret_launch` is what wt_derive_exec() takes;
 * ret_values may be NULL.
 */
void wt_derive_config(const struct wt_device *device, const struct wt_config_key *key,
                      struct wt_wave_launch *ret_launch, struct wt_config_values *ret_values);

/* The derived columns of `kernel_exec`, for a kernel with a usable time. */
struct wt_exec_values {
	bool is_underfill_known; /* it needs only the grid and the SMs, the wave more */
	struct wt_wave_result wave; /* its is_judged tells whether the wave is known */
};

void wt_derive_exec(const struct wt_wave_launch *launch, int64_t start_ns, int64_t end_ns,
                    struct wt_exec_values *ret_values);

/* ---- where kernels overlap */

/* What kernels of a configuration are to the sweep of their device; per ns of one by itself. */
struct wt_sweep_facts {
	int64_t underfill_sms, unjudged_sms;
	uint32_t device_sms; /* 0: not known, like the next one */
	uint32_t sms; /* it can occupy; 0: the device's SMs are not known */
	uint32_t blocks, blocks_per_sm; /* as in wt_sweep_kernel */
	bool is_collective;
};

void wt_derive_sweep(const struct wt_wave_launch *launch, int64_t device_sms,
                     const char *kernel_name, struct wt_sweep_facts *ret_facts);

/* The numbers of a kernel that a share may change: the columns of `kernel_share`. */
struct wt_idle {
	int64_t underfill_sm_ns, wave_sm_ns, wave_max_sm_ns, unjudged_sm_ns, comm_sm_ns;
};

/* What others beside it changed, or may have: that no measurement of it by itself stands for. */
struct wt_beside {
	int64_t time_ns;
	int64_t active_sm_ns, underfill_sm_ns, wave_sm_ns, wave_max_sm_ns, unjudged_sm_ns;
};

/* Of a kernel that was swept: what it had, less what it had by itself. */
void wt_derive_beside(const struct wt_sweep_facts *facts, bool is_judged, int64_t time_ns,
                      const struct wt_sweep_share *share, struct wt_beside *ret_beside);

/* Does a kernel's share differ from what it has by itself? Then by *ret_more. */
bool wt_derive_share(const struct wt_sweep_facts *facts, const struct wt_overlap_kernel *kernel,
                     const struct wt_sweep_share *share, struct wt_idle *ret_share,
                     struct wt_idle *ret_more, struct wt_beside *ret_beside);

/* A row of `config_stat`: kernels of one process and configuration, inside graphs or not. */
struct wt_stat {
	int64_t config_id;
	uint32_t in_graph, is_dirty;
	int64_t launches, time_ns, min_ns, max_ns;
	double mean_ns; /* time_ns / launches; not stored */
	double m2_ns2;
	int64_t underfill_sm_ns, wave_sm_ns, wave_max_sm_ns, unjudged_sm_ns, first_ns, last_ns;
	int64_t comm_sm_ns;
	struct wt_beside beside; /* part of the above */
};

void wt_stat_init(struct wt_stat *ret_stat, int64_t config_id, bool in_graph);

/*
 * One more kernel. The result depends on the rows and their order alone, also where a stat
 * was stored and read back in between: mean_ns follows from the integers.
 */
void wt_stat_add(struct wt_stat *stat, int64_t start_ns, int64_t end_ns,
                 const struct wt_wave_result *wave);

/* A kernel that was added has that much more. A sum that is saturated stays. */
void wt_stat_adjust(struct wt_stat *stat, const struct wt_idle *more,
                    const struct wt_beside *beside);

#endif /* WT_DERIVE_H */
