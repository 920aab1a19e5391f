/*
 * test_occupancy.c - the occupancy calculator against values worked out by hand
 * and against a reference that places blocks on an SM one at a time.
 */
#include <errno.h>

#include "analysis/occupancy.h"
#include "tests/tap.h"

#define KIB 1024u

static const struct wt_device h200 = {.cc_major = 9,
                                      .sm_count = 132,
                                      .warp_size = 32,
                                      .max_threads_per_sm = 2048,
                                      .max_blocks_per_sm = 32,
                                      .max_threads_per_block = 1024,
                                      .regs_per_sm = 65536,
                                      .regs_per_block = 65536,
                                      .smem_per_sm_bytes = 233472,
                                      .smem_per_block_bytes = 49152,
                                      .smem_per_block_optin_bytes = 232448,
                                      .smem_reserved_per_block_bytes = 1024};

static struct wt_device make_device(int32_t major, int32_t minor, int32_t threads, int32_t blocks,
                                    uint32_t smem_sm_bytes, uint32_t reserved_bytes)
{
	struct wt_device device = h200;

	device.cc_major = major;
	device.cc_minor = minor;
	device.max_threads_per_sm = threads;
	device.max_blocks_per_sm = blocks;
	device.smem_per_sm_bytes = (int32_t)smem_sm_bytes;
	device.smem_reserved_per_block_bytes = (int32_t)reserved_bytes;
	device.smem_per_block_optin_bytes = (int32_t)(smem_sm_bytes - reserved_bytes);
	return device;
}

static struct wt_occupancy_launch make_launch(uint32_t threads, uint32_t regs, uint32_t smem_bytes)
{
	return (struct wt_occupancy_launch){.block = {threads, 1, 1},
	                                    .registers_per_thread = regs,
	                                    .smem_dynamic_bytes = smem_bytes};
}

struct expectation {
	const char *what;
	uint32_t threads, regs, smem_bytes;
	int32_t blocks;
	uint32_t limiters;
};

#define W WT_OCCUPANCY_BIT(WT_OCCUPANCY_WARPS)
#define B WT_OCCUPANCY_BIT(WT_OCCUPANCY_BLOCKS)
#define R WT_OCCUPANCY_BIT(WT_OCCUPANCY_REGISTERS)
#define M WT_OCCUPANCY_BIT(WT_OCCUPANCY_SMEM)

static void check_expectations(const char *name, const struct wt_device *device,
                               const struct expectation *expected, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct expectation *e = &expected[i];
		struct wt_occupancy_launch launch = make_launch(e->threads, e->regs, e->smem_bytes);
		struct wt_occupancy got = {.blocks_per_sm = -1};
		int rc = wt_occupancy_compute(device, &launch, &got);

		ok(rc == 0 && got.blocks_per_sm == e->blocks && got.limiters == e->limiters,
		   "%s, %s: %d blocks (got %d), limiters %#x (got %#x)", name, e->what, e->blocks,
		   got.blocks_per_sm, e->limiters, got.limiters);
	}
}

static void test_h200(void)
{
	static const struct expectation expected[] = {
	        {"full blocks", 1024, 32, 0, 2, W | R},
	        {"24 registers leave room for 2.6", 1024, 24, 0, 2, W | R},
	        {"16 registers leave room for 4", 1024, 16, 0, 2, W},
	        {"256 threads of 32 registers", 256, 32, 0, 8, W | R},
	        {"one warp", 32, 16, 0, 32, B},
	        {"one thread takes a warp", 1, 16, 0, 32, B},
	        {"33 threads take two warps", 33, 16, 0, 32, W | B},
	        {"255 registers round to 256", 256, 255, 0, 1, R},
	        {"17 warps in partitions of 12: two, although registers last for three", 544, 40, 0,
	         2, R},
	        {"65 registers, full block: can't run", 1024, 65, 0, 0, R},
	        {"25 warps are charged as 28", 800, 80, 0, 0, R},
	        {"more registers than a thread can name", 32, 257, 0, 0, R},
	        {"more threads than a block can have", 1025, 16, 0, 0, W},
	        {"all shared memory", 128, 32, 232448, 1, M},
	        {"a byte too much", 128, 32, 232449, 0, M},
	        {"half, with the reserved KiB", 128, 32, 115712, 2, M},
	        {"a byte over half", 128, 32, 115713, 1, M},
	        {"no registers at all", 1024, 0, 0, 2, W},
	};

	check_expectations("H200", &h200, expected, sizeof(expected) / sizeof(expected[0]));
}

static void test_other_devices(void)
{
	const struct wt_device v100 = make_device(7, 0, 2048, 32, 96 * KIB, 0);
	const struct wt_device t4 = make_device(7, 5, 1024, 16, 64 * KIB, 0);
	const struct wt_device a100 = make_device(8, 0, 2048, 32, 164 * KIB, KIB);
	const struct wt_device rtx4090 = make_device(8, 9, 1536, 24, 100 * KIB, KIB);
	const struct wt_device b200 = make_device(10, 0, 2048, 32, 228 * KIB, KIB);
	static const struct expectation on_v100[] = {
	        {"96 KiB", 128, 32, 96 * KIB, 1, M},
	        {"seven blocks", 128, 32, 13824, 7, M},
	        {"a byte more costs a unit of 256", 128, 32, 13825, 6, M},
	        {"no shared memory, no limit", 64, 16, 0, 32, W | B},
	};
	static const struct expectation on_t4[] = {{"64 threads", 64, 32, 0, 16, W | B}};
	static const struct expectation on_a100[] = {
	        {"five blocks", 128, 32, 32512, 5, M},
	        {"a byte more costs a unit of 128", 128, 32, 32513, 4, M},
	        {"81 KiB with the reserved one, twice", 128, 32, 81 * KIB, 2, M}};
	static const struct expectation on_rtx4090[] = {{"256 threads", 256, 40, 0, 6, W | R},
	                                                {"small blocks", 32, 32, 0, 24, B}};
	static const struct expectation on_b200[] = {{"two of 113 KiB", 128, 32, 113 * KIB, 2, M}};

	check_expectations("V100", &v100, on_v100, sizeof(on_v100) / sizeof(on_v100[0]));
	check_expectations("T4", &t4, on_t4, sizeof(on_t4) / sizeof(on_t4[0]));
	check_expectations("A100", &a100, on_a100, sizeof(on_a100) / sizeof(on_a100[0]));
	check_expectations("RTX 4090", &rtx4090, on_rtx4090,
	                   sizeof(on_rtx4090) / sizeof(on_rtx4090[0]));
	check_expectations("B200", &b200, on_b200, sizeof(on_b200) / sizeof(on_b200[0]));
}

static void test_details(void)
{
	struct wt_occupancy_launch launch = {.block = {16, 8, 3},
	                                     .registers_per_thread = 50,
	                                     .smem_static_bytes = 1000,
	                                     .smem_dynamic_bytes = 30000};
	struct wt_occupancy got;

	is_i64(wt_occupancy_compute(&h200, &launch, &got), 0, "three-dimensional block");
	is_i64(got.warps_per_block, 12, "its warps");
	is_i64(got.regs_per_block, 12 * 1792, "its registers, as allocated");
	is_i64(got.smem_per_block_bytes, 32128, "its shared memory, as allocated");
	is_i64(got.limit_blocks[WT_OCCUPANCY_WARPS], 5, "limit of warps");
	is_i64(got.limit_blocks[WT_OCCUPANCY_BLOCKS], 32, "limit of blocks");
	is_i64(got.limit_blocks[WT_OCCUPANCY_REGISTERS], 3, "limit of registers");
	is_i64(got.limit_blocks[WT_OCCUPANCY_SMEM], 7, "limit of shared memory");
	is_i64(got.warps_per_sm, 36, "resident warps");
	is_near(got.occupancy, 36.0 / 64, 1e-12, "occupancy");

	launch.smem_config_bytes = 64 * KIB;
	wt_occupancy_compute(&h200, &launch, &got);
	is_i64(got.blocks_per_sm, 2, "an SM set up with 64 KiB holds two of them");
	launch.smem_config_bytes = 8 * KIB;
	wt_occupancy_compute(&h200, &launch, &got);
	is_i64(got.blocks_per_sm, 3, "a set-up that holds none is disbelieved");
	is_str(wt_occupancy_limit_name(WT_OCCUPANCY_SMEM), "shared memory", "limits have names");
}

static void test_unknown(void)
{
	const struct wt_occupancy_launch launch = make_launch(128, 32, 0);
	const struct wt_occupancy_launch empty = make_launch(0, 32, 0);
	const struct wt_occupancy_launch vast = {.block = {UINT32_MAX, UINT32_MAX, UINT32_MAX},
	                                         .registers_per_thread = UINT32_MAX,
	                                         .smem_static_bytes = UINT32_MAX,
	                                         .smem_dynamic_bytes = UINT32_MAX};
	struct wt_occupancy got = {.blocks_per_sm = 77};
	struct wt_device device = h200;
	int32_t *const limits[] = {&device.warp_size,
	                           &device.max_threads_per_sm,
	                           &device.max_blocks_per_sm,
	                           &device.max_threads_per_block,
	                           &device.regs_per_sm,
	                           &device.regs_per_block,
	                           &device.smem_per_sm_bytes,
	                           &device.smem_per_block_optin_bytes,
	                           &device.smem_reserved_per_block_bytes};
	int refused_count = 0;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		int32_t saved = *limits[i];

		*limits[i] = 0;
		refused_count += wt_occupancy_compute(&device, &launch, &got) == -ERANGE;
		*limits[i] = saved;
	}
	is_i64(refused_count, 9, "each missing limit is -ERANGE");
	device.cc_major = 6;
	is_i64(wt_occupancy_compute(&device, &launch, &got), -ENOTSUP, "capability too old");
	device.cc_major = 13;
	is_i64(wt_occupancy_compute(&device, &launch, &got), -ENOTSUP, "capability not known yet");
	is_i64(wt_occupancy_compute(&h200, &empty, &got), -EINVAL, "a block without threads");
	is_i64(got.blocks_per_sm, 77, "failures leave the result alone");
	is_i64(wt_occupancy_compute(&h200, &vast, &got), 0, "a block of 2^96 threads");
	is_i64(got.blocks_per_sm, 0, "doesn't fit");
}

/*
 * Puts blocks on an SM until one finds no room: each warp goes to the partition
 * with the most registers free. Knows the resources, none of the formulas.
 */
static int32_t place_blocks(const struct wt_device *device, int threads, int regs, int smem_bytes)
{
	int free_regs[4], free_warps = device->max_threads_per_sm / 32;
	int free_smem = device->smem_per_sm_bytes;
	int32_t blocks = 0;

	for (int p = 0; p < 4; p++)
		free_regs[p] = device->regs_per_sm / 4;
	while (blocks < device->max_blocks_per_sm) {
		for (int left = threads; left > 0; left -= 32) {
			int best = 0, need = 0;

			while (need < regs * 32)
				need += 256;
			for (int p = 1; p < 4; p++)
				if (free_regs[p] > free_regs[best])
					best = p;
			if (free_warps-- == 0 || (free_regs[best] -= need) < 0)
				return blocks;
		}
		for (int left = smem_bytes + device->smem_reserved_per_block_bytes; left > 0;
		     left -= 128)
			free_smem -= 128;
		if (free_smem < 0)
			return blocks;
		blocks++;
	}
	return blocks;
}

static bool is_consistent(const struct wt_device *device, const struct wt_occupancy *o)
{
	return o->warps_per_sm <= o->max_warps_per_sm && o->limiters != 0 &&
	       o->blocks_per_sm * o->regs_per_block <= device->regs_per_sm &&
	       o->blocks_per_sm * o->smem_per_block_bytes <= device->smem_per_sm_bytes &&
	       o->blocks_per_sm <= device->max_blocks_per_sm;
}

static void test_against_placement(void)
{
	int compared_count = 0, differ_count = 0, inconsistent_count = 0, rising_count = 0;

	for (int threads = 1; threads <= 1024; threads += 31)
		for (int smem_bytes = 0; smem_bytes <= 232448; smem_bytes += 2531) {
			int32_t blocks_before = INT32_MAX;

			for (int regs = 8; regs <= 255; regs += 13) {
				struct wt_occupancy_launch launch = make_launch(
				        (uint32_t)threads, (uint32_t)regs, (uint32_t)smem_bytes);
				struct wt_occupancy got;
				int32_t placed = place_blocks(&h200, threads, regs, smem_bytes);

				if (wt_occupancy_compute(&h200, &launch, &got) != 0)
					got.blocks_per_sm = -1;
				/* What the launch check refuses, placement might find room for. */
				if (got.limit_blocks[WT_OCCUPANCY_REGISTERS] != 0)
					differ_count += got.blocks_per_sm != placed;
				inconsistent_count += !is_consistent(&h200, &got);
				rising_count += got.blocks_per_sm > blocks_before;
				blocks_before = got.blocks_per_sm;
				compared_count++;
			}
		}
	ok(compared_count > 50000, "%d configurations", compared_count);
	is_i64(differ_count, 0, "as many blocks as can be placed one by one");
	is_i64(inconsistent_count, 0, "never more than the SM has");
	is_i64(rising_count, 0, "more registers never give more blocks");
}

int main(void)
{
	test_h200();
	test_other_devices();
	test_details();
	test_unknown();
	test_against_placement();
	return tap_done();
}
