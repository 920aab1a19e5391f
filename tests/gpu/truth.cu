/*
 * truth.cu - CUDA workloads whose idle SM-time is known without any profiler.
 *
 * Every block of a measured launch writes down the SM it ran on (%smid) and
 * when it began and ended (%globaltimer). From those the program computes, per
 * launch and on its own, what wavetap infers from geometry and duration:
 *
 *   underfill  SMs that never got a block, times the launch's duration
 *   tail       on each other SM, from its last block's end to the launch's end
 *   active     union of the block intervals of each SM
 *
 * "Duration" here is first block start to last block end. CUPTI's duration is
 * longer by the launch and drain of the grid, 0.6 to 0.7 us on an H200.
 *
 * Beside the truth it prints the closed forms of the partial last wave, worked
 * out here from cudaOccupancyMaxActiveBlocksPerMultiprocessor and not shared
 * with wavetap's analysis. check_truth.py compares all of it with a run file.
 *
 * Every kernel launch counts: `ordinal` is the 0-based number of the launch in
 * this process, warm-up launches included, so the k-th launch of the run file,
 * by start time, is ordinal k. Kernels are extern "C": their names need no
 * demangling.
 *
 * One host thread, one stream; waits for the device after each measured launch.
 *
 * Build: nvcc -O2 -arch=sm_90 -o truth truth.cu
 * Usage: truth [--tsv] device | waves | tail | mix [N] | empty [N] | graph
 * Exit:  0 done, 1 a CUDA call failed, 2 usage, 77 no device
 */
#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call) check_cuda((call), #call, __LINE__)

static void check_cuda(cudaError_t error, const char *what, int line)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "truth: line %d: %s: %s\n", line, what, cudaGetErrorString(error));
	exit(1);
}

/* ---- device side ---- */

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

/* Latency-bound: blocks don't slow each other down. Every slow_every-th takes slow_factor times as
 * long. */
extern "C" __global__ void truth_clock(block_record *records, long long cycles, int slow_every,
                                       int slow_factor)
{
	uint64_t start_ns = global_time_ns();
	long long begin = clock64();

	if (slow_every && blockIdx.x % slow_every == 0)
		cycles *= slow_factor;
	while (clock64() - begin < cycles)
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

/* ---- launching and measuring ---- */

#define MAX_BLOCKS 65536
#define MEM_WORDS (1u << 27) /* float4: 2 GiB */

enum kind { KIND_CLOCK, KIND_FMA, KIND_TENSOR, KIND_MEM, KIND_MAX };

static const char *const kind_names[KIND_MAX] = {"clock", "fma", "tensor", "mem"};
static const void *const kind_functions[KIND_MAX] = {
        (const void *)truth_clock, (const void *)truth_fma, (const void *)truth_tensor,
        (const void *)truth_mem};

struct config {
	enum kind kind;
	int grid;
	int threads;
	int smem_bytes;
	long long work; /* cycles of a clock block, iterations of the others */
	int slow_every; /* 0: all blocks alike */
	int slow_factor;
};

struct truth {
	uint64_t first_ns; /* of %globaltimer */
	uint64_t dur_ns;
	int sms_used;
	uint64_t underfill_sm_ns;
	uint64_t tail_sm_ns;
	uint64_t active_sm_ns;
	uint64_t block_min_ns;
	uint64_t block_max_ns;
};

/* Shares of SMs x duration that the partial last wave leaves idle, underfill not among them. */
struct forms {
	double independent; /* equal blocks that don't slow each other down */
	double shared; /* blocks that share their SM's throughput */
	double jitter; /* slots free one by one, in random order */
	double grouped; /* all slots of an SM free together */
};

static struct {
	bool is_tsv;
	int sms;
	long long launched; /* kernels launched directly: the next ordinal */
	long long captured; /* launch calls that became graph nodes */
	long long graph_launches;
	long long graph_kernels;
	block_record *device_records;
	std::vector<block_record> records;
	float4 *input;
	float *sink;
} state;

static double now_ns()
{
	timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e9 + now.tv_nsec;
}

static void pause_ns(long ns)
{
	timespec duration = {0, ns};

	nanosleep(&duration, NULL);
}

static void busy_wait_ns(double ns)
{
	double begin = now_ns();

	while (now_ns() - begin < ns)
		;
}

static void allocate_records()
{
	state.records.resize(MAX_BLOCKS);
	CHECK(cudaMalloc(&state.device_records, sizeof(block_record) * MAX_BLOCKS));
	CHECK(cudaMalloc(&state.sink, sizeof(float)));
}

static void launch(const config &c, block_record *records)
{
	switch (c.kind) {
	case KIND_CLOCK:
		truth_clock<<<c.grid, c.threads, c.smem_bytes>>>(records, c.work, c.slow_every,
		                                                 c.slow_factor);
		break;
	case KIND_FMA:
		truth_fma<<<c.grid, c.threads, c.smem_bytes>>>(records, (int)c.work, state.sink);
		break;
	case KIND_TENSOR:
		truth_tensor<<<c.grid, c.threads, c.smem_bytes>>>(records, (int)c.work, state.sink);
		break;
	default:
		truth_mem<<<c.grid, c.threads, c.smem_bytes>>>(records, (int)c.work, state.input,
		                                               MEM_WORDS - 1, state.sink);
		break;
	}
	CHECK(cudaGetLastError());
	state.launched++;
}

static int blocks_per_sm(const config &c)
{
	int blocks = 0;

	CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kind_functions[c.kind],
	                                                    c.threads, c.smem_bytes));
	return blocks;
}

static truth truth_of(const std::vector<block_record> &records, int grid)
{
	std::vector<std::vector<std::pair<uint64_t, uint64_t>>> per_sm(state.sms);
	uint64_t last_ns = 0;
	truth t = {};

	t.first_ns = t.block_min_ns = UINT64_MAX;
	for (int i = 0; i < grid; i++) {
		const block_record &r = records[i];

		if (r.sm >= (uint32_t)state.sms || r.end_ns < r.start_ns) {
			fprintf(stderr, "truth: block %d has no sane record (SM %u)\n", i, r.sm);
			exit(1);
		}
		per_sm[r.sm].push_back({r.start_ns, r.end_ns});
		t.first_ns = std::min(t.first_ns, r.start_ns);
		last_ns = std::max(last_ns, r.end_ns);
		t.block_min_ns = std::min(t.block_min_ns, r.end_ns - r.start_ns);
		t.block_max_ns = std::max(t.block_max_ns, r.end_ns - r.start_ns);
	}
	t.dur_ns = last_ns - t.first_ns;
	for (auto &blocks : per_sm) {
		uint64_t covered_ns = t.first_ns;

		if (blocks.empty()) {
			t.underfill_sm_ns += t.dur_ns;
			continue;
		}
		t.sms_used++;
		std::sort(blocks.begin(), blocks.end());
		for (auto &block : blocks) {
			if (block.second <= covered_ns)
				continue;
			t.active_sm_ns += block.second - std::max(block.first, covered_ns);
			covered_ns = block.second;
		}
		t.tail_sm_ns += last_ns - covered_ns;
	}
	return t;
}

static forms forms_of(int grid, int blocks)
{
	double sms = state.sms;
	double capacity = sms * blocks;
	double waves = ceil(grid / capacity);
	double last = grid - (waves - 1) * capacity;
	forms f = {};

	if (grid < state.sms)
		return f; /* all of it is underfill */
	f.shared = 1 - grid / sms / ceil(grid / sms);
	if (waves > 1) {
		f.independent = std::max(0.0, sms - last) / (sms * waves);
		f.jitter = pow(1 - last / capacity, blocks) / waves;
		f.grouped = (sms - ceil(last / blocks)) / (sms * waves);
	}
	return f;
}

/* Launches without recording first, so that lazy loading and clocks are out of the way. */
static truth measure(const config &c, int warm_ups)
{
	if (c.grid > MAX_BLOCKS) {
		fprintf(stderr, "truth: a grid of %d blocks is too large here\n", c.grid);
		exit(1);
	}
	for (int i = 0; i < warm_ups; i++)
		launch(c, state.device_records);
	CHECK(cudaDeviceSynchronize());
	pause_ns(500000); /* an idle GPU before and after: nothing overlaps the measured launch */
	launch(c, state.device_records);
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemcpy(state.records.data(), state.device_records, sizeof(block_record) * c.grid,
	                 cudaMemcpyDeviceToHost));
	return truth_of(state.records, c.grid);
}

/* ---- output ---- */

static void print_launch_header()
{
	if (state.is_tsv)
		printf("#launch\tordinal\tsection\tkind\tkernel\teven\tgrid\tblock\tsmem_bytes\t"
		       "blocks_per_sm\twaves\tsms\tsms_used\tfirst_ns\tdur_ns\tunderfill_sm_ns\t"
		       "tail_sm_ns\tactive_sm_ns\tblock_min_ns\tblock_max_ns\tindependent\tshared\t"
		       "jitter\tgrouped\n");
}

/* Prints the launch that measure() made last. */
static void print_launch(const char *section, const config &c, const truth &t)
{
	int blocks = blocks_per_sm(c);
	double waves = (double)c.grid / ((double)blocks * state.sms);
	forms f = forms_of(c.grid, blocks);
	const char *name = kind_names[c.kind];

	if (state.is_tsv) {
		printf("launch\t%lld\t%s\t%s\ttruth_%s\t%d\t%d\t%d\t%d\t%d\t%.9f\t%d\t%d\t%llu\t"
		       "%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%.9f\t%.9f\t%.9f\t%.9f\n",
		       state.launched - 1, section, name, name, c.slow_every == 0, c.grid,
		       c.threads, c.smem_bytes, blocks, waves, state.sms, t.sms_used,
		       (unsigned long long)t.first_ns, (unsigned long long)t.dur_ns,
		       (unsigned long long)t.underfill_sm_ns, (unsigned long long)t.tail_sm_ns,
		       (unsigned long long)t.active_sm_ns, (unsigned long long)t.block_min_ns,
		       (unsigned long long)t.block_max_ns, f.independent, f.shared, f.jitter,
		       f.grouped);
		return;
	}
	printf("%-5s %-6s%s b %2d grid %5d block %4d waves %6.3f dur_us %7.2f underfill_sm_us "
	       "%8.1f "
	       "tail_sm_us %8.1f tail_share %.4f | independent %.4f shared %.4f jitter %.4f "
	       "grouped %.4f | active %.4f sms %d blocks_us %.2f-%.2f launch %lld\n",
	       section, name, c.slow_every ? "*" : " ", blocks, c.grid, c.threads, waves,
	       t.dur_ns / 1e3, t.underfill_sm_ns / 1e3, t.tail_sm_ns / 1e3,
	       (double)t.tail_sm_ns / ((double)t.dur_ns * state.sms), f.independent, f.shared,
	       f.jitter, f.grouped, (double)t.active_sm_ns / ((double)t.dur_ns * state.sms),
	       t.sms_used, t.block_min_ns / 1e3, t.block_max_ns / 1e3, state.launched - 1);
}

/* One line of CPU-side times; the first call prints the header. */
static void print_cost(const char *section, const char *metric, std::vector<double> ns)
{
	static bool has_header;
	size_t n = ns.size();

	std::sort(ns.begin(), ns.end());
	if (state.is_tsv && !has_header)
		printf("#cost\tsection\tmetric\tsamples\tmin_ns\tmedian_ns\tp90_ns\tp99_ns\tmax_"
		       "ns\n");
	has_header = true;
	printf(state.is_tsv
	               ? "cost\t%s\t%s\t%zu\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\n"
	               : "%s %s samples %zu ns: min %.0f median %.0f p90 %.0f p99 %.0f max %.0f\n",
	       section, metric, n, ns[0], ns[n / 2], ns[n * 9 / 10], ns[n * 99 / 100], ns[n - 1]);
}

/* What a complete record of this process holds. */
static void print_totals()
{
	if (state.is_tsv)
		printf("#total\tlaunched\tcaptured\tgraph_launches\tgraph_kernels\ntotal\t");
	printf(state.is_tsv ? "%lld\t%lld\t%lld\t%lld\n"
	                    : "total launched %lld captured %lld graph_launches %lld graph_kernels "
	                      "%lld\n",
	       state.launched, state.captured, state.graph_launches, state.graph_kernels);
}

/* ---- sub-commands ---- */

static void run_device(int)
{
	cudaDeviceProp properties;
	int driver = 0;

	CHECK(cudaGetDeviceProperties(&properties, 0));
	CHECK(cudaDriverGetVersion(&driver));
	printf("device %s, %d SMs, compute capability %d.%d, driver API %d, runtime %d\n",
	       properties.name, properties.multiProcessorCount, properties.major, properties.minor,
	       driver, CUDART_VERSION);
}

/* Spinning blocks on nine grids: full and partial waves, underfill, slow blocks, short kernels. */
static void run_waves(int)
{
	static const struct {
		int threads;
		double waves;
		long long cycles;
		int slow_every;
		int slow_factor;
	} grids[] = {
	        {1024, 1.0, 100000, 0, 0}, {1024, 1.01, 100000, 0, 0}, {1024, 1.5, 100000, 0, 0},
	        {1024, 2.1, 100000, 0, 0}, {1024, 0.25, 100000, 0, 0}, {256, 4.3, 50000, 0, 0},
	        {1024, 3.0, 50000, 97, 6}, {1024, 1.1, 20000, 0, 0},   {1024, 1.1, 8000, 0, 0},
	};

	allocate_records();
	print_launch_header();
	for (auto &g : grids) {
		config c = {KIND_CLOCK, 0, g.threads, 0, g.cycles, g.slow_every, g.slow_factor};

		c.grid = std::max(1, (int)(g.waves * blocks_per_sm(c) * state.sms + 0.5));
		print_launch("waves", c, measure(c, 2));
	}
}

/*
 * Block size and dynamic shared memory that make exactly `blocks` of them fit on an SM: shared
 * memory is the tighter limit, so that none of the kernels' registers matter.
 */
static config tail_config(enum kind kind, int blocks)
{
	/* Work of one wave, split over the blocks that share an SM; 150 us or so on an H200. */
	static const long long work[KIND_MAX] = {300000, 19000, 5000, 1200};
	int sm_bytes, sm_threads, optin_bytes, reserved_bytes;
	config c = {};

	CHECK(cudaDeviceGetAttribute(&sm_bytes, cudaDevAttrMaxSharedMemoryPerMultiprocessor, 0));
	CHECK(cudaDeviceGetAttribute(&optin_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
	CHECK(cudaDeviceGetAttribute(&reserved_bytes, cudaDevAttrReservedSharedMemoryPerBlock, 0));
	CHECK(cudaDeviceGetAttribute(&sm_threads, cudaDevAttrMaxThreadsPerMultiProcessor, 0));

	c.kind = kind;
	c.threads = TAIL_THREADS;
	while (c.threads * blocks > sm_threads)
		c.threads /= 2;
	c.smem_bytes = std::min(sm_bytes / blocks / 128 * 128 - reserved_bytes, optin_bytes);
	c.work = kind == KIND_CLOCK ? work[kind] : work[kind] * TAIL_THREADS / (c.threads * blocks);
	CHECK(cudaFuncSetAttribute(kind_functions[kind],
	                           cudaFuncAttributeMaxDynamicSharedMemorySize, optin_bytes));
	CHECK(cudaFuncSetAttribute(kind_functions[kind],
	                           cudaFuncAttributePreferredSharedMemoryCarveout,
	                           cudaSharedmemCarveoutMaxShared));
	if (blocks_per_sm(c) != blocks) {
		fprintf(stderr,
		        "truth: %s: %d blocks per SM wanted, %d threads and %d bytes give %d\n",
		        kind_names[kind], blocks, c.threads, c.smem_bytes, blocks_per_sm(c));
		exit(1);
	}
	return c;
}

static void run_tail(int)
{
	static const int residencies[] = {1, 2, 4, 8, 16};
	static const double wave_counts[] = {0.6, 1.02, 1.25, 1.5, 1.9, 2.05, 3.3};
	config warm_up = {KIND_CLOCK, state.sms, TAIL_THREADS, 0, 2000000, 0, 0};

	allocate_records();
	CHECK(cudaMalloc(&state.input, sizeof(float4) * MEM_WORDS));
	CHECK(cudaMemset(state.input, 0, sizeof(float4) * MEM_WORDS));
	for (int i = 0; i < 50; i++) /* 50 ms: the SM clock has settled */
		launch(warm_up, NULL);
	CHECK(cudaDeviceSynchronize());

	print_launch_header();
	for (int blocks : residencies)
		for (double waves : wave_counts)
			for (int kind = 0; kind < KIND_MAX; kind++) {
				config c = tail_config((enum kind)kind, blocks);

				c.grid = (int)(waves * blocks * state.sms + 0.5);
				print_launch("tail", c, measure(c, 1));
			}
}

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed;
}

/* Twelve shapes of 5 to 78 us: 20 measured launches each, then N of each in random order. */
static void run_mix(int repeats)
{
	static const config shapes[] = {
	        {KIND_CLOCK, 267, 1024, 0, 8000, 0, 0},  {KIND_CLOCK, 264, 1024, 0, 8000, 0, 0},
	        {KIND_CLOCK, 66, 1024, 0, 9000, 0, 0},   {KIND_CLOCK, 290, 1024, 0, 12000, 0, 0},
	        {KIND_CLOCK, 1057, 256, 0, 10000, 0, 0}, {KIND_CLOCK, 1400, 256, 0, 6000, 0, 0},
	        {KIND_CLOCK, 40, 1024, 0, 30000, 0, 0},  {KIND_CLOCK, 528, 1024, 0, 12000, 97, 4},
	        {KIND_CLOCK, 700, 512, 0, 16000, 0, 0},  {KIND_CLOCK, 530, 512, 0, 50000, 0, 0},
	        {KIND_CLOCK, 13, 1024, 0, 60000, 0, 0},  {KIND_CLOCK, 2113, 256, 0, 20000, 131, 5},
	};
	const int measured = 20, in_flight = 64;
	std::vector<const config *> order;
	uint32_t seed = 12345;

	allocate_records();
	print_launch_header();
	for (auto &shape : shapes) {
		for (int i = 0; i < measured; i++)
			print_launch("mix", shape, measure(shape, i == 0 ? 2 : 0));
		order.insert(order.end(), repeats, &shape);
	}
	for (size_t i = order.size(); i > 1; i--)
		std::swap(order[i - 1], order[next_random(&seed) % i]);
	pause_ns(50000000); /* the silence that tells the measured part from the mixed one */
	for (size_t i = 0; i < order.size(); i++) {
		launch(*order[i], NULL);
		if (i % in_flight != in_flight - 1)
			continue;
		/* Pauses of random length: no fixed phase against a sampling interval. */
		CHECK(cudaDeviceSynchronize());
		busy_wait_ns((next_random(&seed) >> 16) % 60000);
	}
	CHECK(cudaDeviceSynchronize());
}

/* Launch storm back to back, then launches 5 us apart: what one call costs the host. */
static void run_empty(int count)
{
	const int samples = 7, paced_count = 20000;
	std::vector<double> submit_ns, total_ns, paced_ns;

	truth_empty<<<1, 32>>>();
	CHECK(cudaDeviceSynchronize());
	for (int k = 0; k < samples; k++) {
		double begin = now_ns(), submitted;

		for (int i = 0; i < count; i++)
			truth_empty<<<1, 32>>>();
		submitted = now_ns();
		CHECK(cudaDeviceSynchronize());
		submit_ns.push_back((submitted - begin) / count);
		total_ns.push_back((now_ns() - begin) / count);
	}
	for (int i = 0; i < paced_count; i++) {
		double begin;

		busy_wait_ns(5000);
		begin = now_ns();
		truth_empty<<<1, 32>>>();
		paced_ns.push_back(now_ns() - begin);
	}
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaGetLastError());
	state.launched += 1 + (long long)samples * count + paced_count;
	print_cost("empty", "submit_per_launch", submit_ns);
	print_cost("empty", "total_per_launch", total_ns);
	print_cost("empty", "paced_launch_call", paced_ns);
}

/* A graph of 100 empty kernels, replayed 9 x 1000 times after one warm-up. */
static void run_graph(int)
{
	const int nodes = 100, samples = 9, replays = 1000;
	std::vector<double> per_node_ns;
	cudaGraphExec_t executable;
	cudaStream_t stream;
	cudaGraph_t graph;

	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	for (int i = 0; i < nodes; i++)
		truth_empty<<<1, 32, 0, stream>>>();
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&executable, graph, 0));
	CHECK(cudaGraphLaunch(executable, stream));
	CHECK(cudaStreamSynchronize(stream));
	for (int k = 0; k < samples; k++) {
		double begin = now_ns();

		for (int i = 0; i < replays; i++)
			CHECK(cudaGraphLaunch(executable, stream));
		CHECK(cudaStreamSynchronize(stream));
		per_node_ns.push_back((now_ns() - begin) / ((double)replays * nodes));
	}
	state.captured += nodes;
	state.graph_launches += 1 + samples * replays;
	state.graph_kernels += (1 + (long long)samples * replays) * nodes;
	print_cost("graph", "per_node", per_node_ns);
}

static const struct {
	const char *name;
	void (*run)(int count);
	int default_count; /* 0: takes no number */
	bool is_counted; /* launches kernels, so ends with totals */
} commands[] = {
        {"device", run_device, 0, false},   {"waves", run_waves, 0, true},
        {"tail", run_tail, 0, true},        {"mix", run_mix, 2000, true},
        {"empty", run_empty, 100000, true}, {"graph", run_graph, 0, true},
};

static int usage()
{
	fprintf(stderr,
	        "usage: truth [--tsv] device | waves | tail | mix [N] | empty [N] | graph\n");
	return 2;
}

static bool parse_count(const char *text, int *ret_count)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (end == text || *end || value < 1 || value > 10000000)
		return false;
	*ret_count = (int)value;
	return true;
}

int main(int argc, char **argv)
{
	int devices = 0, at = 1;

	if (at < argc && !strcmp(argv[at], "--tsv")) {
		state.is_tsv = true;
		at++;
	}
	for (auto &command : commands) {
		int count = command.default_count;

		if (at >= argc || strcmp(argv[at], command.name))
			continue;
		if (argc - at > (count ? 2 : 1) ||
		    (argc - at == 2 && !parse_count(argv[at + 1], &count)))
			return usage();
		if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
			fprintf(stderr, "truth: no CUDA device\n");
			return 77;
		}
		CHECK(cudaDeviceGetAttribute(&state.sms, cudaDevAttrMultiProcessorCount, 0));
		command.run(count);
		if (command.is_counted)
			print_totals();
		return fflush(stdout) ? 1 : 0;
	}
	return usage();
}
