/*
 * derive.c - see derive.h. Pure computation: any thread, never blocks.
 */
#include <stddef.h>
#include <stdio.h>

#include "analysis/collective.h"
#include "analysis/derive.h"
#include "analysis/occupancy.h"

/* ---- configurations */

static void name_limiters(uint32_t limiters, char *text, size_t text_bytes)
{
	size_t at = 0;

	text[0] = '\0';
	for (int i = 0; i < WT_OCCUPANCY_LIMIT_MAX; i++)
		if ((limiters & WT_OCCUPANCY_BIT(i)) && at < text_bytes)
			at += (size_t)snprintf(text + at, text_bytes - at, "%s%s", at ? "+" : "",
			                       wt_occupancy_limit_name((enum wt_occupancy_limit)i));
}

static void fill_values(const struct wt_wave_launch *config_launch,
                        const struct wt_occupancy *occupancy, struct wt_config_values *values)
{
	struct wt_wave_launch launch = *config_launch;
	struct wt_wave_result wave;

	launch.duration_ns = 1; /* the time plays no part in the waves */
	wt_wave_judge(&launch, &wave);
	*values = (struct wt_config_values){
	        .blocks = wave.grid_blocks > INT64_MAX ? INT64_MAX : (int64_t)wave.grid_blocks,
	        .has_occupancy = !launch.occupancy_error,
	        .blocks_per_sm = occupancy->blocks_per_sm,
	        .occupancy = occupancy->occupancy,
	        .resident_blocks = wave.resident_blocks,
	        .has_waves = wave.has_waves,
	        .waves = wave.waves,
	        .has_waves_sm = launch.sm_count > 0 && wave.waves_sm > 0,
	        .waves_sm = wave.waves_sm,
	        .last_wave_blocks = wave.last_wave_blocks,
	        .model_reason = wt_wave_reason_text(wave.reason),
	};
	name_limiters(launch.occupancy_error ? 0 : occupancy->limiters, values->limiter,
	              sizeof(values->limiter));
	/* The partial or whole last wave is not among them: ceil(G / C) - 1. */
	if (wave.has_waves)
		values->full_waves = (values->blocks - 1) / wave.resident_blocks;
}

void wt_derive_config(const struct wt_device *device, const struct wt_config_key *key,
                      struct wt_wave_launch *ret_launch, struct wt_config_values *ret_values)
{
	/* Shared memory as the driver's calculator assumes it: the most the SM can set up. */
	const struct wt_occupancy_launch launch = {
	        .block = {key->block[0], key->block[1], key->block[2]},
	        .registers_per_thread = key->regs_per_thread,
	        .smem_static_bytes = key->static_smem_bytes,
	        .smem_dynamic_bytes = key->dynamic_smem_bytes,
	};
	struct wt_occupancy occupancy = {0};
	int err = wt_occupancy_compute(device, &launch, &occupancy);

	*ret_launch = (struct wt_wave_launch){
	        .grid = {key->grid[0], key->grid[1], key->grid[2]},
	        .cluster = {key->cluster[0], key->cluster[1], key->cluster[2]},
	        .max_active_clusters = key->max_active_clusters,
	        .sm_count = key->sm_count,
	        .blocks_per_sm = err ? 0 : occupancy.blocks_per_sm,
	        .occupancy_error = err,
	        .is_cooperative = key->is_cooperative != 0,
	};
	if (ret_values)
		fill_values(ret_launch, &occupancy, ret_values);
}

/* ---- kernels that ran */

void wt_derive_exec(const struct wt_wave_launch *config_launch, int64_t start_ns, int64_t end_ns,
                    struct wt_exec_values *ret_values)
{
	struct wt_wave_launch launch = *config_launch;
	struct wt_wave_result wave;

	launch.duration_ns = end_ns - start_ns;
	wt_wave_judge(&launch, &wave);
	*ret_values = (struct wt_exec_values){
	        .is_underfill_known = wave.reason != WT_WAVE_NO_SMS &&
	                              wave.reason != WT_WAVE_BAD_GRID &&
	                              wave.reason != WT_WAVE_NO_TIME,
	        .wave = wave,
	};
}

/* ---- where kernels overlap */

void wt_derive_sweep(const struct wt_wave_launch *config_launch, int64_t device_sms,
                     const char *kernel_name, struct wt_sweep_facts *ret_facts)
{
	struct wt_wave_launch launch = *config_launch;
	struct wt_wave_result wave;

	*ret_facts = (struct wt_sweep_facts){0};
	if (device_sms <= 0 || device_sms > WT_SWEEP_SMS_MAX)
		return;
	launch.duration_ns = 1;
	wt_wave_judge(&launch, &wave);
	*ret_facts = (struct wt_sweep_facts){
	        .underfill_sms = wave.underfill_sm_ns,
	        .unjudged_sms = wave.unjudged_sm_ns,
	        .device_sms = (uint32_t)device_sms,
	        .sms = wt_sweep_occupied_sms(
	                launch.sm_count, device_sms, wave.resident_blocks,
	                wave.grid_blocks > INT64_MAX ? INT64_MAX : (int64_t)wave.grid_blocks),
	        .blocks = wave.grid_blocks > INT32_MAX ? 0 : (uint32_t)wave.grid_blocks,
	        .blocks_per_sm =
	                wt_sweep_blocks_per_sm(launch.sm_count, device_sms, wave.resident_blocks),
	        .is_collective = wt_is_collective_kernel(kernel_name),
	};
}

/* time_ns * sms, or the greatest integer: a damaged file may have any number of SMs. */
static int64_t sm_time(int64_t time_ns, int64_t sms)
{
	int64_t sm_ns;

	return __builtin_mul_overflow(time_ns, sms, &sm_ns) ? INT64_MAX : sm_ns;
}

void wt_derive_beside(const struct wt_sweep_facts *facts, bool is_judged, int64_t time_ns,
                      const struct wt_sweep_share *share, struct wt_beside *ret_beside)
{
	int64_t own_sm_ns = sm_time(share->alone_ns, facts->sms);
	int64_t rest_sm_ns = sm_time(share->alone_ns, (int64_t)facts->device_sms - facts->sms);

	*ret_beside = (struct wt_beside){
	        .time_ns = time_ns - share->alone_ns,
	        .active_sm_ns =
	                share->active_sm_ns - (is_judged ? own_sm_ns - share->alone_wave_sm_ns : 0),
	        .underfill_sm_ns = share->underfill_sm_ns - rest_sm_ns,
	        .wave_sm_ns = share->wave_sm_ns - share->alone_wave_sm_ns,
	        .wave_max_sm_ns = share->wave_max_sm_ns - share->alone_wave_max_sm_ns,
	        .unjudged_sm_ns = share->unjudged_sm_ns - (is_judged ? 0 : own_sm_ns),
	};
}

bool wt_derive_share(const struct wt_sweep_facts *facts, const struct wt_overlap_kernel *kernel,
                     const struct wt_sweep_share *share, struct wt_idle *ret_share,
                     struct wt_idle *ret_more, struct wt_beside *ret_beside)
{
	int64_t time_ns = kernel->end_ns - kernel->start_ns;

	*ret_share =
	        (struct wt_idle){share->underfill_sm_ns, share->wave_sm_ns, share->wave_max_sm_ns,
	                         share->unjudged_sm_ns, share->comm_sm_ns};
	*ret_more = (struct wt_idle){
	        share->underfill_sm_ns - sm_time(time_ns, facts->underfill_sms),
	        share->wave_sm_ns - kernel->wave_sm_ns,
	        share->wave_max_sm_ns - kernel->wave_max_sm_ns,
	        share->unjudged_sm_ns -
	                (kernel->is_judged ? 0 : sm_time(time_ns, facts->unjudged_sms)),
	        share->comm_sm_ns,
	};
	wt_derive_beside(facts, kernel->is_judged, time_ns, share, ret_beside);
	return ret_beside->time_ns || ret_more->underfill_sm_ns || ret_more->wave_sm_ns ||
	       ret_more->wave_max_sm_ns || ret_more->unjudged_sm_ns || ret_more->comm_sm_ns;
}

/* ---- rollups */

void wt_stat_init(struct wt_stat *ret_stat, int64_t config_id, bool in_graph)
{
	*ret_stat = (struct wt_stat){
	        .config_id = config_id,
	        .in_graph = in_graph,
	        .min_ns = INT64_MAX,
	        .first_ns = INT64_MAX,
	};
}

/* A sum that stays at the greatest integer instead of wrapping. */
static int64_t add_saturated(int64_t sum, int64_t value)
{
	int64_t result;

	return __builtin_add_overflow(sum, value, &result) ? INT64_MAX : result;
}

void wt_stat_add(struct wt_stat *stat, int64_t start_ns, int64_t end_ns,
                 const struct wt_wave_result *wave)
{
	int64_t time_ns = end_ns - start_ns;
	double delta = (double)time_ns - stat->mean_ns;

	/* Welford; the mean from the integers, not from the mean before: see the header. */
	stat->launches++;
	stat->time_ns = add_saturated(stat->time_ns, time_ns);
	stat->mean_ns = (double)stat->time_ns / (double)stat->launches;
	stat->m2_ns2 += delta * ((double)time_ns - stat->mean_ns);
	if (time_ns < stat->min_ns)
		stat->min_ns = time_ns;
	if (time_ns > stat->max_ns)
		stat->max_ns = time_ns;
	stat->underfill_sm_ns = add_saturated(stat->underfill_sm_ns, wave->underfill_sm_ns);
	if (wave->is_judged) {
		stat->wave_sm_ns = add_saturated(stat->wave_sm_ns, wave->wave_sm_ns);
		stat->wave_max_sm_ns = add_saturated(stat->wave_max_sm_ns, wave->wave_max_sm_ns);
	}
	stat->unjudged_sm_ns = add_saturated(stat->unjudged_sm_ns, wave->unjudged_sm_ns);
	if (start_ns < stat->first_ns)
		stat->first_ns = start_ns;
	if (end_ns > stat->last_ns)
		stat->last_ns = end_ns;
}

static void adjust(int64_t *sum, int64_t more)
{
	if (*sum != INT64_MAX)
		*sum = add_saturated(*sum, more);
}

void wt_stat_adjust(struct wt_stat *stat, const struct wt_idle *more,
                    const struct wt_beside *beside)
{
	adjust(&stat->underfill_sm_ns, more->underfill_sm_ns);
	adjust(&stat->wave_sm_ns, more->wave_sm_ns);
	adjust(&stat->wave_max_sm_ns, more->wave_max_sm_ns);
	adjust(&stat->unjudged_sm_ns, more->unjudged_sm_ns);
	adjust(&stat->comm_sm_ns, more->comm_sm_ns);
	adjust(&stat->beside.time_ns, beside->time_ns);
	adjust(&stat->beside.active_sm_ns, beside->active_sm_ns);
	adjust(&stat->beside.underfill_sm_ns, beside->underfill_sm_ns);
	adjust(&stat->beside.wave_sm_ns, beside->wave_sm_ns);
	adjust(&stat->beside.wave_max_sm_ns, beside->wave_max_sm_ns);
	adjust(&stat->beside.unjudged_sm_ns, beside->unjudged_sm_ns);
}
