/*
 * occupancy.h - how many blocks of a kernel fit on one SM at the same time.
 *
 * The answer of cuOccupancyMaxActiveBlocksPerMultiprocessor, computed from a
 * kernel record and the limits of its device, so that the daemon needs no GPU
 * and old runs can be read again. Pure: no I/O, no clock, no state; any thread;
 * never blocks.
 *
 * A block is placed on an SM whole, or not at all. What it takes:
 *
 *   warp slots      ceil(threads / warp size), of max threads per SM / warp size
 *   block slots     one, of max blocks per SM
 *   registers       per warp: registers per thread * warp size, rounded up to
 *                   256. An SM has four partitions with a quarter of its
 *                   registers each, and a warp lives in one of them, so
 *                   4 * floor(registers per SM / 4 / registers per warp) warps
 *                   find registers. The launch check also charges the block as
 *                   if its warps were a multiple of four: if that exceeds the
 *                   registers a block may have, it can't run at all.
 *   shared memory   static + dynamic + what the system reserves in each block
 *                   (1 KiB from 8.0 on), rounded up to 256 bytes on 7.x and 128
 *                   bytes from 8.0 on
 *
 * blocks_per_sm is the least quotient. Every limit comes from the device's
 * attributes; only the allocation units and the partitions, which no driver
 * call gives, are tabled, by compute capability (7.x to 12.x). A device outside
 * that table, or one whose driver didn't give a limit, has no answer here, and
 * the caller shows "unknown": a guess would look exactly like a measurement.
 *
 * Not in a kernel record and so not counted: named barriers. From 9.0 on, a
 * kernel that uses many of them (16 is the most) may fit fewer times than this
 * says. Clusters are placed by other rules, see wave.h.
 *
 * tests/gpu/occupancy_matrix.c compares with the driver on a real device.
 */
#ifndef WT_OCCUPANCY_H
#define WT_OCCUPANCY_H

#include <stdint.h>

#include "schema/wt_device.h"

/* What may keep a further block off an SM; as bits, since several may at once. */
enum wt_occupancy_limit {
	WT_OCCUPANCY_WARPS,
	WT_OCCUPANCY_BLOCKS,
	WT_OCCUPANCY_REGISTERS,
	WT_OCCUPANCY_SMEM,
	WT_OCCUPANCY_LIMIT_MAX
};

#define WT_OCCUPANCY_BIT(limit) (1u << (limit))

/* The limit of a resource that the kernel doesn't use. */
#define WT_OCCUPANCY_UNLIMITED INT32_MAX

struct wt_occupancy_launch {
	uint32_t block[3]; /* threads in x, y, z */
	uint32_t registers_per_thread;
	uint32_t smem_static_bytes;
	uint32_t smem_dynamic_bytes;
	/*
	 * Shared memory that the SM was set up with when the kernel ran, out of
	 * the memory it splits with L1 (`sharedMemoryExecuted` of the record). 0 =
	 * not known: the most that the device can set up, which is also what the
	 * driver's calculator takes unless the application asked for a split. A
	 * value that can't hold even one block contradicts the launch: taken as
	 * not known.
	 */
	uint32_t smem_config_bytes;
};

struct wt_occupancy {
	int32_t blocks_per_sm; /* 0 = this launch doesn't fit the device */
	uint32_t limiters; /* WT_OCCUPANCY_BIT of each limit equal to blocks_per_sm */
	int32_t warps_per_block;
	int32_t warps_per_sm; /* of blocks_per_sm blocks */
	int32_t max_warps_per_sm; /* of the device */
	double occupancy; /* warps_per_sm / max_warps_per_sm */
	int64_t regs_per_block; /* as allocated */
	int64_t smem_per_block_bytes;
	int32_t limit_blocks[WT_OCCUPANCY_LIMIT_MAX]; /* blocks per SM if only this limit held */
};

/*
 * 0; -ENOTSUP: compute capability whose allocation units aren't known;
 * -ERANGE: a limit of the device isn't known (0); -EINVAL: no threads.
 * A launch too large for the device is an answer: 0, blocks_per_sm = 0, and the
 * limiters say what it exceeds.
 */
int wt_occupancy_compute(const struct wt_device *device, const struct wt_occupancy_launch *launch,
                         struct wt_occupancy *ret_occupancy);

/* "warps", "blocks", "registers", "shared memory": static text. */
const char *wt_occupancy_limit_name(enum wt_occupancy_limit limit);

#endif /* WT_OCCUPANCY_H */
