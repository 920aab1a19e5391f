/*
 * wave.c - waves, underfill and the range of the tail, see wave.h for the forms.
 *
 * Pure computation: any thread, never blocks.
 *
 * Magnitudes: T is cut off so that T * S fits int64 (2.2 years of 132 SMs), once,
 * at the start. Every SM-time here is a part of T * S, so none can overflow, and
 * the parts still sum up where the whole saturates.
 */
#include <errno.h>
#include <math.h>
#include <stddef.h>

#include "analysis/wave.h"

/* Grid and SMs of a launch whose numbers are all valid. */
struct geometry {
	uint64_t duration_ns; /* T */
	uint64_t sms; /* S */
	uint64_t usable_sms; /* U */
	uint64_t blocks; /* G */
	uint64_t resident; /* C; 0 = not known */
	uint64_t wave_count; /* n */
	uint64_t last_blocks; /* r */
};

/* value < 2^63, so adding half the divisor can't wrap. */
static int64_t divide_rounded(uint64_t value, uint64_t divisor)
{
	return (int64_t)((value + divisor / 2) / divisor);
}

static uint64_t divide_up(uint64_t value, uint64_t divisor)
{
	return value / divisor + (value % divisor != 0);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t wt_wave_grid_blocks(const uint32_t grid[3])
{
	uint64_t blocks = (uint64_t)grid[0] * grid[1]; /* 64 bits hold this one */

	if (__builtin_mul_overflow(blocks, (uint64_t)grid[2], &blocks))
		return UINT64_MAX;
	return blocks;
}

/* C of a plain launch, or 0 and why. */
static uint64_t count_resident_plain(const struct wt_wave_launch *launch,
                                     enum wt_wave_reason *ret_reason)
{
	if (launch->occupancy_error == 0 && launch->blocks_per_sm > 0)
		return (uint64_t)launch->sm_count * (uint64_t)launch->blocks_per_sm;
	if (launch->occupancy_error == -ENOTSUP)
		*ret_reason = WT_WAVE_NO_CAPABILITY;
	else if (launch->occupancy_error != 0)
		*ret_reason = WT_WAVE_NO_LIMITS;
	else
		*ret_reason = WT_WAVE_NO_FIT;
	return 0;
}

/*
 * C of a cluster launch, or 0 and why. The record's count is for the whole
 * device; under a context with fewer SMs it can't exceed what those hold.
 */
static uint64_t count_resident_clusters(const struct wt_wave_launch *launch,
                                        uint64_t cluster_blocks, enum wt_wave_reason *ret_reason)
{
	enum wt_wave_reason no_occupancy;
	uint64_t resident, resident_plain;

	if (launch->max_active_clusters == 0 ||
	    __builtin_mul_overflow(cluster_blocks, (uint64_t)launch->max_active_clusters,
	                           &resident)) {
		*ret_reason = WT_WAVE_NO_CLUSTER_MAX;
		return 0;
	}
	resident_plain = count_resident_plain(launch, &no_occupancy);
	if (resident_plain > 0)
		resident = least(resident, resident_plain);
	return least(resident, INT64_MAX);
}

static void set_waves(struct wt_wave_result *result, struct geometry *geometry)
{
	geometry->wave_count = divide_up(geometry->blocks, geometry->resident);
	geometry->last_blocks = geometry->blocks - (geometry->wave_count - 1) * geometry->resident;
	result->has_waves = true;
	result->resident_blocks = (int64_t)geometry->resident;
	result->waves = (double)geometry->blocks / (double)geometry->resident;
	result->full_waves = geometry->blocks / geometry->resident;
	result->last_wave_blocks = (int64_t)geometry->last_blocks;
}

/* A single wave has r = G > U, so it comes out as 0. */
static int64_t form_independent(const struct geometry *g)
{
	if (g->last_blocks >= g->usable_sms)
		return 0;
	return divide_rounded(g->duration_ns * (g->usable_sms - g->last_blocks), g->wave_count);
}

/* U - G/k = (U*k - G) / k, whose numerator is below U since k is rounded up. */
static int64_t form_shared(const struct geometry *g)
{
	uint64_t blocks_of_fullest = divide_up(g->blocks, g->usable_sms);
	uint64_t numerator = g->usable_sms * blocks_of_fullest - g->blocks;

	return divide_rounded(numerator * g->duration_ns, blocks_of_fullest);
}

/* Slots of an SM come free together: r blocks fill ceil(r / b) SMs. Clusters may leave b without a
 * whole number; it is rounded down then. For n > 1. */
static int64_t form_grouped(const struct geometry *g)
{
	uint64_t blocks_per_sm = g->resident / g->usable_sms;
	uint64_t used_sms = least(divide_up(g->last_blocks, blocks_per_sm), g->usable_sms);

	return divide_rounded(g->duration_ns * (g->usable_sms - used_sms), g->wave_count);
}

/*
 * The only form that isn't rational: in double, so right to about 1e-15 of S*T.
 * b is C/U, which clusters may leave without a whole number.
 */
static int64_t form_jitter(const struct geometry *g)
{
	double usable = (double)g->usable_sms;
	double resident = (double)g->resident;
	double slots_free = 1.0 - (double)g->last_blocks / resident;
	double idle_share = pow(slots_free, resident / usable) / (double)g->wave_count;

	/* n > 1, so this is at most half of U * T: no overflow, nothing left to clamp. */
	return (int64_t)nearbyint((double)g->duration_ns * usable * idle_share);
}

static void set_wave(struct wt_wave_result *result, const struct geometry *geometry)
{
	int64_t *form_sm_ns = result->form_sm_ns;

	form_sm_ns[WT_WAVE_INDEPENDENT] = form_independent(geometry);
	form_sm_ns[WT_WAVE_SHARED] = form_shared(geometry);
	/* One wave has nothing before it that could end unevenly. */
	form_sm_ns[WT_WAVE_JITTER] = geometry->wave_count > 1 ? form_jitter(geometry) : 0;
	form_sm_ns[WT_WAVE_GROUPED] = geometry->wave_count > 1 ? form_grouped(geometry) : 0;
	result->wave_sm_ns = form_sm_ns[0];
	result->wave_max_sm_ns = form_sm_ns[0];
	for (int i = 1; i < WT_WAVE_FORM_MAX; i++) {
		if (form_sm_ns[i] < result->wave_sm_ns)
			result->wave_sm_ns = form_sm_ns[i];
		if (form_sm_ns[i] > result->wave_max_sm_ns)
			result->wave_max_sm_ns = form_sm_ns[i];
	}
}

/*
 * With every block on an SM of its own there is no last wave, whatever b is; a
 * cluster launch needs C for that, since fewer than its blocks may fit.
 */
static bool is_settled_without_waves(const struct geometry *geometry, bool has_clusters)
{
	if (geometry->resident == 0 && has_clusters)
		return false;
	return geometry->blocks <= geometry->usable_sms;
}

/* Splits T * S into underfill, wave and what isn't judged; the model takes the rest for active. */
static void split_sm_time(struct wt_wave_result *result, const struct geometry *geometry,
                          bool runs_in_waves, bool has_clusters)
{
	uint64_t used_sms = least(geometry->blocks, geometry->usable_sms);

	result->underfill_sm_ns = (int64_t)(geometry->duration_ns * (geometry->sms - used_sms));
	result->is_judged = true;
	if (runs_in_waves && is_settled_without_waves(geometry, has_clusters))
		return;
	if (runs_in_waves && geometry->resident > 0) {
		set_wave(result, geometry);
		return;
	}
	result->is_judged = false;
	result->unjudged_sm_ns = (int64_t)(geometry->duration_ns * used_sms);
}

/* A launch of at least one block on at least one SM. */
static void judge_valid(const struct wt_wave_launch *launch, struct geometry *geometry,
                        struct wt_wave_result *result)
{
	uint64_t cluster_blocks = wt_wave_grid_blocks(launch->cluster);
	bool has_clusters = cluster_blocks > 1;

	if (has_clusters)
		geometry->resident =
		        count_resident_clusters(launch, cluster_blocks, &result->reason);
	else
		geometry->resident = count_resident_plain(launch, &result->reason);
	geometry->usable_sms = geometry->sms;
	if (geometry->resident > 0) {
		set_waves(result, geometry);
		geometry->usable_sms = least(geometry->sms, geometry->resident);
	}
	result->waves_sm = (double)geometry->blocks / (double)geometry->sms;

	if (launch->is_cooperative)
		result->reason = WT_WAVE_COOPERATIVE;
	else if (launch->is_persistent)
		result->reason = WT_WAVE_PERSISTENT;
	if (geometry->duration_ns > 0)
		split_sm_time(result, geometry, !launch->is_cooperative && !launch->is_persistent,
		              has_clusters);
	else
		result->reason = WT_WAVE_NO_TIME;
}

void wt_wave_judge(const struct wt_wave_launch *launch, struct wt_wave_result *ret_result)
{
	struct wt_wave_result result = {.reason = WT_WAVE_JUDGED};
	struct geometry geometry = {0};

	result.grid_blocks = wt_wave_grid_blocks(launch->grid);
	geometry.blocks = result.grid_blocks;
	if (launch->sm_count > 0) {
		geometry.sms = (uint64_t)launch->sm_count;
		if (launch->duration_ns > 0)
			geometry.duration_ns =
			        least((uint64_t)launch->duration_ns, INT64_MAX / geometry.sms);
	}
	if (geometry.sms == 0) {
		result.reason = WT_WAVE_NO_SMS;
	} else if (geometry.blocks == 0 || geometry.blocks > INT64_MAX) {
		result.reason = WT_WAVE_BAD_GRID;
		result.unjudged_sm_ns = (int64_t)(geometry.duration_ns * geometry.sms);
	} else {
		judge_valid(launch, &geometry, &result);
	}
	*ret_result = result;
}

const char *wt_wave_reason_text(enum wt_wave_reason reason)
{
	static const char *const texts[WT_WAVE_REASON_MAX] = {
	        [WT_WAVE_NO_SMS] = "number of SMs unknown",
	        [WT_WAVE_BAD_GRID] = "invalid grid",
	        [WT_WAVE_NO_TIME] = "no valid duration",
	        [WT_WAVE_COOPERATIVE] = "cooperative launch",
	        [WT_WAVE_PERSISTENT] = "persistent kernel",
	        [WT_WAVE_NO_CLUSTER_MAX] = "number of clusters that fit unknown",
	        [WT_WAVE_NO_CAPABILITY] = "occupancy rules of this compute capability unknown",
	        [WT_WAVE_NO_LIMITS] = "a device or launch limit is unknown",
	        [WT_WAVE_NO_FIT] = "computed occupancy is 0",
	};

	return reason < WT_WAVE_REASON_MAX ? texts[reason] : "unknown";
}
