/*
 * cuda_sched.c - where and when the blocks of a kernel run.
 *
 * Blocks are dispatched in order of block index, kernels in order of enqueue
 * (one hardware queue): a block goes to the SM that can take it first, among
 * equals to the one with most room, then to the lowest number. An SM takes
 * blocks as long as their shares (1/b each, b = blocks per SM of their kernel)
 * fit. Block times are fixed (independent), or stretch with the number of
 * blocks resident on the same SM (sharing).
 *
 * Pure computation under the driver's lock.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/fake/cuda_int.h"

/* Beyond this, equal blocks are scheduled as whole waves plus a remainder. */
#define WAVES_SIMULATED 4

static int64_t round_up(int64_t value, int64_t to)
{
	return (value + to - 1) / to * to;
}

int fake_occupancy(const struct fake_device *device, const struct fake_function *f, int threads,
                   int64_t dynamic_shared)
{
	const int *a = device->attribute;
	int64_t warps = (threads + 31) / 32;
	int64_t blocks = a[WTCU_DEVICE_MAX_BLOCKS_PER_MULTIPROCESSOR];
	int64_t by_warps = a[WTCU_DEVICE_MAX_THREADS_PER_MULTIPROCESSOR] / 32 / warps;
	/* Registers belong to one of four partitions, and are given in units of 256 to a warp. */
	int64_t warp_registers = round_up((int64_t)f->registers * 32, 256);
	int64_t partition_registers = a[WTCU_DEVICE_MAX_REGISTERS_PER_MULTIPROCESSOR] / 4;
	int64_t by_registers = partition_registers / warp_registers * 4 / warps;
	int64_t shared = round_up(f->static_shared + dynamic_shared +
	                                  a[WTCU_DEVICE_RESERVED_SHARED_MEMORY_PER_BLOCK],
	                          128);

	if (by_warps < blocks)
		blocks = by_warps;
	if (by_registers < blocks)
		blocks = by_registers;
	if (shared && a[WTCU_DEVICE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR] / shared < blocks)
		blocks = a[WTCU_DEVICE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR] / shared;
	return (int)blocks;
}

/* A cluster stays within one group of SMs: groups of 18 and 16, as 132 = 6 * 16 + 2 * 18. */
int fake_max_active_clusters(const struct fake_device *device, int blocks_per_sm, int cluster_size)
{
	int left = device->sm_count;
	int clusters = 0;

	while (left > 0) {
		int group = left % 16 && left >= 18 ? 18 : left < 16 ? left : 16;

		clusters += group * blocks_per_sm / cluster_size;
		left -= group;
	}
	return clusters;
}

uint64_t fake_block_count(const uint32_t grid[3])
{
	return (uint64_t)grid[0] * grid[1] * grid[2];
}

static int64_t block_time_ns(const struct fake_launch *launch, uint64_t block)
{
	const struct fake_function *f = launch->function;
	double ns = (double)launch->block_ns;

	if (f->jitter > 0) {
		uint64_t hash = (block + 1) * 0x9E3779B97F4A7C15ull;

		hash ^= hash >> 29;
		ns *= 1 + f->jitter * ((double)(hash % 20001) / 10000 - 1);
	}
	if ((f->slow_every && block % f->slow_every == f->slow_every - 1) ||
	    (f->slow_at >= 0 && block == (uint64_t)f->slow_at))
		ns *= f->slow_factor;
	return ns < 1 ? 1 : (int64_t)ns;
}

static bool blocks_are_equal(const struct fake_function *f)
{
	return f->jitter <= 0 && !f->slow_every && f->slow_at < 0;
}

/* ---- the SMs as a heap, the one that can act first on top ------------------------ */

struct slot {
	int64_t when_ns; /* the next block could start, or (sharing) a block will end */
	int used; /* shares taken, to fill breadth first */
	int sm;
};

static bool slot_before(const struct slot *a, const struct slot *b)
{
	if (a->when_ns != b->when_ns)
		return a->when_ns < b->when_ns;
	return a->used != b->used ? a->used < b->used : a->sm < b->sm;
}

static void heap_sink(struct slot *heap, int count, int at)
{
	for (;;) {
		int child = 2 * at + 1;
		struct slot moved = heap[at];

		if (child >= count)
			return;
		if (child + 1 < count && slot_before(&heap[child + 1], &heap[child]))
			child++;
		if (!slot_before(&heap[child], &moved))
			return;
		heap[at] = heap[child];
		heap[child] = moved;
		at = child;
	}
}

static void heap_make(struct slot *heap, int count)
{
	for (int i = count / 2 - 1; i >= 0; i--)
		heap_sink(heap, count, i);
}

/* ---- one SM ------------------------------------------------------------------------ */

static void sm_expire(struct fake_sm *sm, int64_t now_ns)
{
	for (int i = 0; i < sm->resident_count;) {
		if (sm->resident[i].end_ns <= now_ns)
			sm->resident[i] = sm->resident[--sm->resident_count];
		else
			i++;
	}
}

/* The first time from `earliest_ns` at which the SM has room for the share. */
static int64_t sm_free_at(struct fake_sm *sm, int64_t earliest_ns, int share, int *ret_used)
{
	int64_t when_ns = earliest_ns > sm->last_start_ns ? earliest_ns : sm->last_start_ns;

	for (;;) {
		int used = 0;
		int64_t first_end_ns = INT64_MAX;

		sm_expire(sm, when_ns);
		for (int i = 0; i < sm->resident_count; i++) {
			used += sm->resident[i].share;
			if (sm->resident[i].end_ns < first_end_ns)
				first_end_ns = sm->resident[i].end_ns;
		}
		if (used + share <= FAKE_SM_SHARES && sm->resident_count < FAKE_RESIDENT_MAX) {
			*ret_used = used;
			return when_ns;
		}
		when_ns = first_end_ns;
	}
}

/* This kernel on one SM. */
struct lane {
	int64_t first_ns, last_ns; /* first start and last end; first < 0: never used */
	int64_t busy_ns;
	/* sharing */
	int resident_count;
	double done[FAKE_RESIDENT_MAX]; /* work at which each resident block ends */
	double work; /* work done per resident block so far */
	int64_t updated_ns;
};

static void lane_cover(struct lane *lane, int64_t start_ns, int64_t end_ns)
{
	if (lane->first_ns < 0) {
		lane->first_ns = start_ns;
		lane->last_ns = start_ns;
	}
	/* Blocks of a lane start in order, so what is not yet covered is at the end. */
	if (end_ns > lane->last_ns) {
		lane->busy_ns += end_ns - (start_ns > lane->last_ns ? start_ns : lane->last_ns);
		lane->last_ns = end_ns;
	}
}

static void run_independent(struct fake_device *device, const struct fake_launch *launch,
                            uint64_t first_block, int64_t earliest_ns, int share,
                            struct lane *lanes, struct slot *heap, struct fake_detail *detail)
{
	uint64_t blocks = fake_block_count(launch->grid);

	for (int i = 0; i < device->sm_count; i++) {
		heap[i].sm = i;
		heap[i].when_ns = sm_free_at(&device->sm[i], earliest_ns, share, &heap[i].used);
	}
	heap_make(heap, device->sm_count);
	for (uint64_t block = first_block; block < blocks; block++) {
		struct slot *top = &heap[0];
		struct fake_sm *sm = &device->sm[top->sm];
		int64_t end_ns = top->when_ns + block_time_ns(launch, block);

		sm->resident[sm->resident_count].end_ns = end_ns;
		sm->resident[sm->resident_count++].share = share;
		sm->last_start_ns = top->when_ns;
		lane_cover(&lanes[top->sm], top->when_ns, end_ns);
		fake_detail_block(detail, top->sm, top->when_ns, end_ns);
		top->when_ns = sm_free_at(sm, earliest_ns, share, &top->used);
		heap_sink(heap, device->sm_count, 0);
	}
}

/* ---- blocks that share their SM's throughput ------------------------------------------ */

static void lane_progress(struct lane *lane, int64_t now_ns)
{
	if (lane->resident_count)
		lane->work += (double)(now_ns - lane->updated_ns) / lane->resident_count;
	lane->updated_ns = now_ns;
}

static int lane_first_done(const struct lane *lane)
{
	int first = 0;

	for (int i = 1; i < lane->resident_count; i++)
		if (lane->done[i] < lane->done[first])
			first = i;
	return first;
}

static int64_t lane_next_end_ns(const struct lane *lane)
{
	double left;

	if (!lane->resident_count)
		return INT64_MAX;
	left = lane->done[lane_first_done(lane)] - lane->work;
	return lane->updated_ns + (left > 0 ? (int64_t)(left * lane->resident_count + 0.5) : 0);
}

static void run_sharing(struct fake_device *device, const struct fake_launch *launch,
                        uint64_t first_block, int64_t earliest_ns, int per_sm, struct lane *lanes,
                        struct slot *heap, struct fake_detail *detail)
{
	uint64_t blocks = fake_block_count(launch->grid);
	uint64_t next = first_block;

	/* Each SM starts once what other kernels left on it is done. */
	for (int k = 0; k < per_sm; k++) {
		for (int i = 0; i < device->sm_count && next < blocks; i++) {
			struct lane *lane = &lanes[i];
			int64_t busy_ns = device->sm[i].busy_until_ns;

			lane->updated_ns = busy_ns > earliest_ns ? busy_ns : earliest_ns;
			lane->done[lane->resident_count++] = (double)block_time_ns(launch, next++);
			if (lane->first_ns < 0)
				lane->first_ns = lane->last_ns = lane->updated_ns;
		}
	}
	for (int i = 0; i < device->sm_count; i++)
		heap[i] = (struct slot){.when_ns = lane_next_end_ns(&lanes[i]), .sm = i};
	heap_make(heap, device->sm_count);
	while (heap[0].when_ns != INT64_MAX) {
		struct lane *lane = &lanes[heap[0].sm];

		fake_detail_span(detail, heap[0].sm, lane->updated_ns, heap[0].when_ns,
		                 lane->resident_count);
		lane_progress(lane, heap[0].when_ns);
		lane_cover(lane, lane->last_ns, heap[0].when_ns);
		lane->done[lane_first_done(lane)] = lane->done[lane->resident_count - 1];
		lane->resident_count--;
		if (next < blocks)
			lane->done[lane->resident_count++] =
			        lane->work + (double)block_time_ns(launch, next++);
		heap[0].when_ns = lane_next_end_ns(lane);
		heap_sink(heap, device->sm_count, 0);
	}
	for (int i = 0; i < device->sm_count; i++) {
		struct fake_sm *sm = &device->sm[i];

		if (lanes[i].first_ns < 0)
			continue;
		/* For kernels that come after, the SM is taken as a whole until then. */
		sm->resident_count = 1;
		sm->resident[0].end_ns = lanes[i].last_ns;
		sm->resident[0].share = FAKE_SM_SHARES;
		sm->last_start_ns = lanes[i].first_ns;
	}
}

/* Skips whole waves of equal blocks on an idle device; returns the blocks skipped. */
static uint64_t skip_full_waves(struct fake_device *device, const struct fake_launch *launch,
                                int per_sm, int64_t *earliest_ns, struct lane *lanes,
                                struct fake_detail *detail)
{
	uint64_t wave = (uint64_t)device->sm_count * (uint64_t)per_sm;
	uint64_t waves = fake_block_count(launch->grid) / wave;
	int64_t wave_ns = launch->block_ns * (launch->function->is_sharing ? per_sm : 1);
	int64_t until_ns;

	if (waves <= WAVES_SIMULATED || !blocks_are_equal(launch->function) ||
	    device->busy_until_ns > *earliest_ns)
		return 0;
	waves -= WAVES_SIMULATED;
	until_ns = *earliest_ns + (int64_t)waves * wave_ns;
	for (int i = 0; i < device->sm_count; i++) {
		lane_cover(&lanes[i], *earliest_ns, until_ns);
		fake_detail_span(detail, i, *earliest_ns, until_ns, per_sm);
	}
	*earliest_ns = until_ns;
	return waves * wave;
}

void fake_schedule(struct fake_device *device, const struct fake_launch *launch,
                   int64_t earliest_ns, struct fake_detail *detail, struct fake_ran *ret_ran)
{
	const struct fake_function *f = launch->function;
	int threads = (int)(launch->block[0] * launch->block[1] * launch->block[2]);
	int per_sm = fake_occupancy(device, f, threads, launch->dynamic_shared);
	struct lane *lanes = calloc((size_t)device->sm_count, sizeof(*lanes));
	struct slot *heap = calloc((size_t)device->sm_count, sizeof(*heap));
	struct fake_ran ran = {.start_ns = INT64_MAX, .blocks_per_sm = per_sm};
	uint64_t skipped;

	if (!lanes || !heap)
		abort();
	for (int i = 0; i < device->sm_count; i++)
		lanes[i].first_ns = -1;
	skipped = skip_full_waves(device, launch, per_sm, &earliest_ns, lanes, detail);
	if (f->is_sharing)
		run_sharing(device, launch, skipped, earliest_ns, per_sm, lanes, heap, detail);
	else
		run_independent(device, launch, skipped, earliest_ns, FAKE_SM_SHARES / per_sm,
		                lanes, heap, detail);
	for (int i = 0; i < device->sm_count; i++) {
		if (lanes[i].first_ns < 0)
			continue;
		ran.used_sm_count++;
		ran.busy_sm_ns += lanes[i].busy_ns;
		if (lanes[i].first_ns < ran.start_ns)
			ran.start_ns = lanes[i].first_ns;
		if (lanes[i].last_ns > ran.end_ns)
			ran.end_ns = lanes[i].last_ns;
		if (lanes[i].last_ns > device->sm[i].busy_until_ns)
			device->sm[i].busy_until_ns = lanes[i].last_ns;
	}
	for (int i = 0; i < device->sm_count; i++)
		if (lanes[i].first_ns >= 0)
			ran.tail_sm_ns += ran.end_ns - lanes[i].last_ns;
	if (ran.end_ns > device->busy_until_ns)
		device->busy_until_ns = ran.end_ns;
	free(heap);
	free(lanes);
	*ret_ran = ran;
}
