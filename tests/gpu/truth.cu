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
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include <cuda_runtime.h>

#include "truth_measure.cuh"

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
	cudaError_t error;
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
		error = cudaGetDeviceCount(&devices);
		if (error != cudaSuccess || devices == 0) {
			fprintf(stderr, "truth: no CUDA device: %s\n", cudaGetErrorString(error));
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
