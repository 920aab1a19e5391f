/*
 * truth_kernels.cuh - the kernels of truth.cu, each bound by one thing.
 *
 * Device code only. Every block with a place to write to leaves a record of
 * where and when it ran; see truth.cu for what becomes of them.
 */
#ifndef TRUTH_KERNELS_CUH
#define TRUTH_KERNELS_CUH

#include <cstdint>

/* Tail kernels run with up to 256 threads, 8 blocks per SM: 32 registers each. */
#define TAIL_THREADS 256
#define TAIL_MIN_BLOCKS 8
#define FMA_CHAINS 8
#define MMA_TILES 4

struct block_record {
	uint64_t start_ns; /* %globaltimer */
	uint64_t end_ns;
	uint64_t start_cycle; /* of its SM, the clock that sm__cycles_active counts by */
	uint64_t end_cycle;
	uint64_t first_cycle; /* of the first of its warps, where they tell; else start_cycle */
	uint32_t sm;
	uint32_t warps;
};

/* The work queue of truth_persistent, 0 between launches. */
struct work_queue {
	unsigned next;
	unsigned finished; /* blocks that found it empty */
};

__device__ static uint64_t global_time_ns()
{
	uint64_t now_ns;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now_ns)::"memory");
	return now_ns;
}

struct block_start {
	uint64_t ns;
	uint64_t cycle;
};

/* The SM's clock first, and last at the end: reading %globaltimer takes part of the block's time. */
__device__ static block_start begin_block()
{
	uint64_t cycle = clock64();

	return {global_time_ns(), cycle};
}

#define MAX_WARPS 32

/*
 * When the first warp of the block began. Thread 0's may be far behind: instructions are fetched for
 * all warps at once, and then they stand in line for the clock. A barrier for all of them.
 */
__device__ static uint64_t first_of_warps(block_start start)
{
	__shared__ uint32_t began[MAX_WARPS];
	uint32_t lane = threadIdx.x % 32;
	int behind;

	if (lane == 0)
		began[threadIdx.x / 32] = (uint32_t)start.cycle;
	__syncthreads();
	behind = (int)(began[lane < (blockDim.x + 31) / 32 ? lane : 0] - began[0]);
	return start.cycle + (int64_t)__reduce_min_sync(0xffffffffu, behind);
}

/* The barrier makes the end that of the block's slowest warp. */
__device__ static void record_block(block_record *records, block_start start, uint64_t first_cycle)
{
	uint32_t sm;

	__syncthreads();
	if (threadIdx.x != 0 || !records)
		return;
	asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
	records[blockIdx.x] = {
	        start.ns, global_time_ns(),      start.cycle, (uint64_t)clock64(), first_cycle,
	        sm,       (blockDim.x + 31) / 32};
}

__device__ static void record_block(block_record *records, block_start start)
{
	record_block(records, start, start.cycle);
}

extern "C" __global__ void truth_empty()
{
}

/*
 * Latency-bound: blocks don't slow each other down, so that all take the same time; but every
 * slow_every-th takes longer. One thread reads the clock and the others wait at the barrier: with
 * all of them spinning, 8 blocks per SM held each other up by a third, and late ones started late.
 *
 * The record is written twice, first without any work: instructions after the end is read are then in
 * the cache. Fetched only then they kept the SM active for 280 cycles more than the block can tell.
 */
extern "C" __global__ void truth_clock(block_record *records, long long cycles, int slow_every,
                                       int slow_factor)
{
	block_start start = begin_block();
	uint64_t first_cycle = first_of_warps(start);
	long long begin = (long long)start.cycle;

	if (slow_every && blockIdx.x % slow_every == 0)
		cycles *= slow_factor;
#pragma unroll 1
	for (int pass = 0; pass < 2; pass++) {
		while (pass && threadIdx.x == 0 && clock64() - begin < cycles)
			;
		record_block(records, start, first_cycle);
	}
}

/* Bound by the FP32 pipes: one warp per scheduler fills them, so resident blocks share them. */
extern "C" __global__ void __launch_bounds__(TAIL_THREADS, TAIL_MIN_BLOCKS)
        truth_fma(block_record *records, int iterations, float *sink)
{
	block_start start = begin_block();
	float chain[FMA_CHAINS];
	float sum = 0;

	for (int i = 0; i < FMA_CHAINS; i++)
		chain[i] = threadIdx.x + i;
	for (int n = 0; n < iterations; n++) {
#pragma unroll
		for (int i = 0; i < FMA_CHAINS; i++)
			chain[i] = chain[i] * 1.0001f + 0.125f;
	}
	for (int i = 0; i < FMA_CHAINS; i++)
		sum += chain[i];
	if (sum == -1.0f) /* never; keeps the loop */
		*sink = sum;
	record_block(records, start);
}

/* Bound by the tensor pipe: bf16 m16n8k16, independent accumulators to hide its latency. */
extern "C" __global__ void __launch_bounds__(TAIL_THREADS, TAIL_MIN_BLOCKS)
        truth_tensor(block_record *records, int iterations, float *sink)
{
	block_start start = begin_block();
	const uint32_t a = 0x3c003c00u; /* two bf16 of 2^-7: the sums stay small and finite */
	float tile[MMA_TILES][4] = {};
	float sum = 0;

	for (int n = 0; n < iterations; n++) {
#pragma unroll
		for (int i = 0; i < MMA_TILES; i++)
			asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
			             "{%0, %1, %2, %3}, {%4, %4, %4, %4}, {%4, %4}, "
			             "{%0, %1, %2, %3};"
			             : "+f"(tile[i][0]), "+f"(tile[i][1]), "+f"(tile[i][2]),
			               "+f"(tile[i][3])
			             : "r"(a));
	}
	for (int i = 0; i < MMA_TILES; i++)
		sum += tile[i][0] + tile[i][1] + tile[i][2] + tile[i][3];
	if (sum == -1.0f)
		*sink = sum;
	record_block(records, start);
}

/* Bound by DRAM: each block streams from its own scattered place in 2 GiB, far beyond the L2. */
extern "C" __global__ void __launch_bounds__(TAIL_THREADS, TAIL_MIN_BLOCKS)
        truth_mem(block_record *records, int iterations, const float4 *input, uint32_t mask,
                  float *sink)
{
	block_start start = begin_block();
	uint32_t place = blockIdx.x * 2654435761u + threadIdx.x;
	float sum = 0;

	for (int n = 0; n < iterations; n++) {
		float4 value = input[(place + n * blockDim.x) & mask];

		sum += value.x + value.y + value.z + value.w;
	}
	if (sum == -1.0f)
		*sink = sum;
	record_block(records, start);
}

/* Bound by DRAM as a copy is: the lower half of the input is streamed into the upper one. */
extern "C" __global__ void __launch_bounds__(TAIL_THREADS, TAIL_MIN_BLOCKS)
        truth_copy(block_record *records, int iterations, float4 *input, uint32_t mask)
{
	block_start start = begin_block();
	uint32_t half = mask >> 1, place = blockIdx.x * iterations * blockDim.x + threadIdx.x;

	for (int n = 0; n < iterations; n++) {
		uint32_t at = (place + n * blockDim.x) & half;

		input[at + half + 1] = input[at];
	}
	record_block(records, start);
}

/*
 * Latency-bound: a lane of each warp follows addresses that depend on what was loaded last (zeros, which
 * the compiler can't know), all over 2 GiB.
 */
extern "C" __global__ void __launch_bounds__(TAIL_THREADS, TAIL_MIN_BLOCKS)
        truth_chase(block_record *records, int iterations, const float4 *input, uint32_t mask,
                    float *sink)
{
	block_start start = begin_block();
	uint32_t place = (blockIdx.x * blockDim.x + threadIdx.x) * 2654435761u;

	if (threadIdx.x % 32 == 0)
		for (int n = 0; n < iterations; n++)
			place = place * 1664525u + 1013904223u +
			        __float_as_uint(input[place >> 5 & mask].x);
	if (place == 1) /* hardly ever; keeps the loop */
		*sink = 1;
	record_block(records, start);
}

/* Bound by integer multiplication, a pipe of half rate: it leaves half of the issue slots free. */
extern "C" __global__ void __launch_bounds__(TAIL_THREADS, TAIL_MIN_BLOCKS)
        truth_int(block_record *records, int iterations, uint32_t factor, float *sink)
{
	block_start start = begin_block();
	uint32_t chain[FMA_CHAINS], sum = 0;

	for (int i = 0; i < FMA_CHAINS; i++)
		chain[i] = threadIdx.x + i;
	for (int n = 0; n < iterations; n++) {
#pragma unroll
		for (int i = 0; i < 4 * FMA_CHAINS; i++)
			chain[i % FMA_CHAINS] = chain[i % FMA_CHAINS] * factor + 12345u;
	}
	for (int i = 0; i < FMA_CHAINS; i++)
		sum += chain[i];
	if (sum == 1)
		*sink = 1;
	record_block(records, start);
}

/*
 * Blocks that stay and take work from a queue, one item after another; every slow_every-th is longer.
 * The block that is the last to find the queue empty makes it ready for the next launch.
 */
extern "C" __global__ void truth_persistent(block_record *records, work_queue *queue,
                                            unsigned items, long long cycles, int slow_every,
                                            int slow_factor)
{
	block_start start = begin_block();
	__shared__ unsigned taken;

	for (;;) {
		unsigned item;
		long long begin, wanted;

		__syncthreads();
		if (threadIdx.x == 0)
			taken = atomicAdd(&queue->next, 1);
		__syncthreads();
		item = taken;
		if (item >= items)
			break;
		wanted = slow_every && item % slow_every == 0 ? cycles * slow_factor : cycles;
		begin = clock64();
		while (threadIdx.x == 0 && clock64() - begin < wanted)
			;
	}
	if (threadIdx.x == 0 && atomicAdd(&queue->finished, 1) == gridDim.x - 1)
		queue->next = queue->finished = 0;
	record_block(records, start);
}

#endif /* TRUTH_KERNELS_CUH */
