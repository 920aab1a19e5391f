/*
 * occupancy.c - resident blocks per SM, see occupancy.h for the rules.
 *
 * Pure computation: any thread, never blocks.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "analysis/occupancy.h"

/*
 * What no device attribute tells. The units are the same for all parts of one
 * major version; a new major version is unknown until somebody has compared it
 * with the driver's answers.
 */
struct granularity {
	int32_t cc_major;
	int64_t regs_per_warp_unit;
	int64_t partition_count;
	int64_t smem_unit_bytes;
};

static const struct granularity granularities[] = {
        {7, 256, 4, 256},  {8, 256, 4, 128},  {9, 256, 4, 128},
        {10, 256, 4, 128}, {11, 256, 4, 128}, {12, 256, 4, 128},
};

/* 255 is the most a kernel can name; the driver's own check is one laxer. */
#define MAX_REGS_PER_THREAD 256

/* From this major version on the system keeps shared memory in every block. */
#define CC_MAJOR_RESERVES_SMEM 8

static const struct granularity *find_granularity(int32_t cc_major)
{
	for (size_t i = 0; i < sizeof(granularities) / sizeof(granularities[0]); i++)
		if (granularities[i].cc_major == cc_major)
			return &granularities[i];
	return NULL;
}

static bool has_all_limits(const struct wt_device *device)
{
	if (device->smem_reserved_per_block_bytes < 0)
		return false;
	if (device->cc_major >= CC_MAJOR_RESERVES_SMEM &&
	    device->smem_reserved_per_block_bytes == 0)
		return false;
	return device->warp_size > 0 && device->max_threads_per_sm >= device->warp_size &&
	       device->max_blocks_per_sm > 0 && device->max_threads_per_block > 0 &&
	       device->regs_per_sm > 0 && device->regs_per_block > 0 &&
	       device->smem_per_sm_bytes > 0 && device->smem_per_block_optin_bytes > 0;
}

static int64_t round_up(int64_t value, int64_t unit)
{
	return (value + unit - 1) / unit * unit;
}

/* Threads of a block; more than any device allows is all the same. */
static int64_t count_threads(const uint32_t block[3])
{
	uint64_t threads = block[0];

	for (int i = 1; i < 3; i++)
		if (__builtin_mul_overflow(threads, (uint64_t)block[i], &threads))
			return INT32_MAX;
	return threads > INT32_MAX ? INT32_MAX : (int64_t)threads;
}

static int32_t limit_by_warps(const struct wt_device *device, int64_t threads,
                              const struct wt_occupancy *occupancy)
{
	if (threads > device->max_threads_per_block)
		return 0;
	return occupancy->max_warps_per_sm / occupancy->warps_per_block;
}

static int32_t limit_by_registers(const struct wt_device *device,
                                  const struct granularity *granularity, int64_t regs_per_thread,
                                  struct wt_occupancy *occupancy)
{
	int64_t warps = occupancy->warps_per_block;
	int64_t regs_per_warp, warps_per_partition;

	if (regs_per_thread == 0)
		return WT_OCCUPANCY_UNLIMITED;
	if (regs_per_thread > MAX_REGS_PER_THREAD)
		return 0;
	regs_per_warp =
	        round_up(regs_per_thread * device->warp_size, granularity->regs_per_warp_unit);
	occupancy->regs_per_block = regs_per_warp * warps;
	if (regs_per_warp * round_up(warps, granularity->partition_count) > device->regs_per_block)
		return 0;
	warps_per_partition = device->regs_per_sm / granularity->partition_count / regs_per_warp;
	return (int32_t)(warps_per_partition * granularity->partition_count / warps);
}

static int32_t limit_by_smem(const struct wt_device *device, const struct granularity *granularity,
                             const struct wt_occupancy_launch *launch,
                             struct wt_occupancy *occupancy)
{
	int64_t reserved_bytes = device->smem_reserved_per_block_bytes;
	int64_t block_bytes = round_up((int64_t)launch->smem_static_bytes +
	                                       launch->smem_dynamic_bytes + reserved_bytes,
	                               granularity->smem_unit_bytes);
	int64_t sm_bytes = device->smem_per_sm_bytes;

	if (block_bytes == 0)
		return WT_OCCUPANCY_UNLIMITED;
	occupancy->smem_per_block_bytes = block_bytes;
	if (block_bytes > device->smem_per_block_optin_bytes + reserved_bytes)
		return 0;
	if (launch->smem_config_bytes >= block_bytes && launch->smem_config_bytes < sm_bytes)
		sm_bytes = launch->smem_config_bytes;
	return (int32_t)(sm_bytes / block_bytes);
}

/* The least limit decides, and every limit equal to it is a limiter. */
static void apply_limits(struct wt_occupancy *occupancy)
{
	int32_t blocks = WT_OCCUPANCY_UNLIMITED;

	for (int i = 0; i < WT_OCCUPANCY_LIMIT_MAX; i++)
		if (occupancy->limit_blocks[i] < blocks)
			blocks = occupancy->limit_blocks[i];
	for (int i = 0; i < WT_OCCUPANCY_LIMIT_MAX; i++)
		if (occupancy->limit_blocks[i] == blocks)
			occupancy->limiters |= WT_OCCUPANCY_BIT(i);
	occupancy->blocks_per_sm = blocks;
	occupancy->warps_per_sm = blocks * occupancy->warps_per_block;
	occupancy->occupancy = (double)occupancy->warps_per_sm / occupancy->max_warps_per_sm;
}

int wt_occupancy_compute(const struct wt_device *device, const struct wt_occupancy_launch *launch,
                         struct wt_occupancy *ret_occupancy)
{
	const struct granularity *granularity = find_granularity(device->cc_major);
	struct wt_occupancy occupancy = {0};
	int64_t threads = count_threads(launch->block);

	if (!granularity)
		return -ENOTSUP;
	if (!has_all_limits(device))
		return -ERANGE;
	if (threads == 0)
		return -EINVAL;

	occupancy.warps_per_block =
	        (int32_t)((threads + device->warp_size - 1) / device->warp_size);
	occupancy.max_warps_per_sm = device->max_threads_per_sm / device->warp_size;
	occupancy.limit_blocks[WT_OCCUPANCY_WARPS] = limit_by_warps(device, threads, &occupancy);
	occupancy.limit_blocks[WT_OCCUPANCY_BLOCKS] = device->max_blocks_per_sm;
	occupancy.limit_blocks[WT_OCCUPANCY_REGISTERS] =
	        limit_by_registers(device, granularity, launch->registers_per_thread, &occupancy);
	occupancy.limit_blocks[WT_OCCUPANCY_SMEM] =
	        limit_by_smem(device, granularity, launch, &occupancy);
	apply_limits(&occupancy);
	*ret_occupancy = occupancy;
	return 0;
}

const char *wt_occupancy_limit_name(enum wt_occupancy_limit limit)
{
	static const char *const names[WT_OCCUPANCY_LIMIT_MAX] = {
	        [WT_OCCUPANCY_WARPS] = "warps",
	        [WT_OCCUPANCY_BLOCKS] = "blocks",
	        [WT_OCCUPANCY_REGISTERS] = "registers",
	        [WT_OCCUPANCY_SMEM] = "shared memory",
	};

	return limit < WT_OCCUPANCY_LIMIT_MAX ? names[limit] : "unknown";
}
