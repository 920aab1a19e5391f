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
	uint64_t start_ns;
	uint64_t end_ns;
	uint32_t sm;
	uint32_t reserved;
};

__device__ static uint64_t global_time_ns()
{
	uint64_t now_ns;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now_ns)::"memory");
	return now_ns;
}

/* The barrier makes the end that of the block's slowest warp. */
__device__ static void record_block(block_record *records, uint64_t start_ns)
{
	uint32_t sm;

	__syncthreads();
	if (threadIdx.x != 0 || !records)
		return;
	asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
	records[blockIdx.x] = {start_ns, global_time_ns(), sm, 0};
}

extern "C" __global__ void truth_empty()
{
}

/*
 * Latency-bound: blocks don't slow each other down, so that all take the same time; but every
 * slow_every-th takes longer. One thread reads the clock and the others wait at the barrier: with
 * all of them spinning, 8 blocks per SM held each other up by a third, and late ones started late.
 */
extern "C" __global__ void truth_clock(block_record *records, long long cycles, int slow_every,
                                       int slow_factor)
{
	uint64_t start_ns = global_time_ns();
	long long begin = clock64();

	if (slow_every && blockIdx.x % slow_every == 0)
		cycles *= slow_factor;
	while (threadIdx.x == 0 && clock64() - begin < cycles)
		;
	record_block(records, start_ns);
}

/* Bound by the FP32 pipes: one warp per scheduler fills them, so resident blocks share them. */
extern "C" __global__ void __launch_bounds__(TAIL_THREADS, TAIL_MIN_BLOCKS)
        truth_fma(block_record *records, int iterations, float *sink)
{
	uint64_t start_ns = global_time_ns();
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
	record_block(records, start_ns);
}

/* Bound by the tensor pipe: bf16 m16n8k16, independent accumulators to hide its latency. */
extern "C" __global__ void __launch_bounds__(TAIL_THREADS, TAIL_MIN_BLOCKS)
        truth_tensor(block_record *records, int iterations, float *sink)
{
	uint64_t start_ns = global_time_ns();
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
	record_block(records, start_ns);
}

/* Bound by DRAM: each block streams from its own scattered place in 2 GiB, far beyond the L2. */
extern "C" __global__ void __launch_bounds__(TAIL_THREADS, TAIL_MIN_BLOCKS)
        truth_mem(block_record *records, int iterations, const float4 *input, uint32_t mask,
                  float *sink)
{
	uint64_t start_ns = global_time_ns();
	uint32_t place = blockIdx.x * 2654435761u + threadIdx.x;
	float sum = 0;

	for (int n = 0; n < iterations; n++) {
		float4 value = input[(place + n * blockDim.x) & mask];

		sum += value.x + value.y + value.z + value.w;
	}
	if (sum == -1.0f)
		*sink = sum;
	record_block(records, start_ns);
}

#endif /* TRUTH_KERNELS_CUH */
