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
 * `mix` and the commands after it are for measurement by sampling: thousands of launches that nobody
 * waits for, and the truth of each configuration (truth_phase.cuh). Always as TSV.
 *
 * One host thread; one stream but for `streams`.
 *
 * Build: nvcc -O2 -arch=sm_90 -o truth truth.cu
 * Usage: truth [--tsv] device | waves | tail | empty [N] | graph [N] | cost [N [REPLAYS]] |
 *        mix [N] [fixed] | many [N [C]] [fixed] | unequal [N] | persistent [N] | bound [N] | classes [N] |
 *        long [N] | streams [N] | graphmix [N] | graphlead [N] | smid [N]
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
#include "truth_phase.cuh"

#define COST_PAUSE_NS 300000000

/* What a command was given. */
struct arguments {
	int count;
	int more;
	bool is_fixed;
};

#include "truth_modes.cuh"
#include "truth_streams.cuh"
#include "truth_storm.cuh"

static void run_device(const arguments &)
{
	cudaDeviceProp properties;
	int driver = 0;

	CHECK(cudaGetDeviceProperties(&properties, 0));
	CHECK(cudaDriverGetVersion(&driver));
	printf("device %s, %d SMs, compute capability %d.%d, driver API %d, runtime %d\n",
	       properties.name, properties.multiProcessorCount, properties.major, properties.minor,
	       driver, CUDART_VERSION);
}

/* Which it is that the lines below are of; for programs alone. */
static void print_device()
{
	cudaDeviceProp properties;

	if (!state.is_tsv)
		return;
	CHECK(cudaGetDeviceProperties(&properties, 0));
	printf("#device\tuuid\ndevice\t");
	for (unsigned char byte : properties.uuid.bytes)
		printf("%02x", byte);
	printf("\n");
}

/* Spinning blocks on nine grids: full and partial waves, underfill, slow blocks, short kernels. */
static void run_waves(const arguments &)
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
	static const long long work[TAIL_KINDS] = {300000, 19000, 5000, 1200};
	int sm_bytes, sm_threads, optin_bytes, reserved_bytes;
	cudaFuncAttributes attributes;
	config c = {};

	CHECK(cudaDeviceGetAttribute(&sm_bytes, cudaDevAttrMaxSharedMemoryPerMultiprocessor, 0));
	CHECK(cudaDeviceGetAttribute(&optin_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
	CHECK(cudaDeviceGetAttribute(&reserved_bytes, cudaDevAttrReservedSharedMemoryPerBlock, 0));
	CHECK(cudaDeviceGetAttribute(&sm_threads, cudaDevAttrMaxThreadsPerMultiProcessor, 0));

	c.kind = kind;
	c.threads = TAIL_THREADS;
	while (c.threads * blocks > sm_threads)
		c.threads /= 2;
	CHECK(cudaFuncGetAttributes(&attributes, kind_functions[kind]));
	reserved_bytes += (int)(attributes.sharedSizeBytes + 127) / 128 * 128;
	optin_bytes -= (int)attributes.sharedSizeBytes;
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

static void run_tail(const arguments &)
{
	static const int residencies[] = {1, 2, 4, 8, 16};
	static const double wave_counts[] = {0.6, 1.02, 1.25, 1.5, 1.9, 2.05, 3.3};
	config warm_up = {KIND_CLOCK, state.sms, TAIL_THREADS, 0, 2000000, 0, 0};

	allocate_records();
	allocate_input();
	for (int i = 0; i < 50; i++) /* 50 ms: the SM clock has settled */
		launch(warm_up, NULL);
	CHECK(cudaDeviceSynchronize());

	print_launch_header();
	for (int blocks : residencies)
		for (double waves : wave_counts)
			for (int kind = 0; kind < TAIL_KINDS; kind++) {
				config c = tail_config((enum kind)kind, blocks);

				c.grid = (int)(waves * blocks * state.sms + 0.5);
				print_launch("tail", c, measure(c, 1));
			}
}

/* Launch storm back to back, then launches 5 us apart: what one call costs the host. */
static void run_empty(const arguments &a)
{
	const int count = a.count;
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

/* A graph of 100 empty kernels, replayed 9 x N times after one warm-up. */
static void run_graph(const arguments &a)
{
	const int nodes = 100, samples = 9, replays = a.count;
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

/* Both in one process, with a moment between them for whoever stores what is recorded. */
static void run_cost(const arguments &a)
{
	arguments replays = {a.more};

	run_empty(a);
	pause_ns(COST_PAUSE_NS);
	run_graph(replays);
}

static const struct {
	const char *name;
	void (*run)(const arguments &);
	int default_count; /* 0: takes no number */
	int default_more; /* 0: takes no second one */
	bool takes_fixed;
} commands[] = {
        {"device", run_device, 0, 0, false},
        {"waves", run_waves, 0, 0, false},
        {"tail", run_tail, 0, 0, false},
        {"empty", run_empty, 100000, 0, false},
        {"graph", run_graph, 1000, 0, false},
        {"cost", run_cost, 20000, 300, false},
        {"storm", run_storm, 0, 0, false},
        {"mix", run_mix, 2000, 0, true},
        {"many", run_many, 2000, 300, true},
        {"unequal", run_unequal, 2000, 0, false},
        {"persistent", run_persistent, 2000, 0, false},
        {"bound", run_bound, 1000, 0, false},
        {"classes", run_classes, 8000, 0, false},
        {"long", run_long, 20, 0, false},
        {"streams", run_streams, 2000, 10, false},
        {"graphmix", run_graphmix, 2000, 0, false},
        {"graphlead", run_graphlead, 2000, 0, false},
        {"smid", run_smid, 1500, 0, false},
};

static int usage()
{
	fprintf(stderr, "usage: truth [--tsv] COMMAND [NUMBER [NUMBER]] [fixed]\n"
	                "device | waves | tail | empty [N] | graph [N] | cost [N [REPLAYS]]\n"
	                "| mix [N] [fixed] | many [N [C]] [fixed]\n"
	                "| unequal [N] | persistent [N] | bound [N] | classes [N] | long [N] | "
	                "streams [N [SECONDS]]\n"
	                "| graphmix [N] | graphlead [N] | smid [N] | storm\n");
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
		arguments a = {command.default_count, command.default_more, false};

		if (at >= argc || strcmp(argv[at], command.name))
			continue;
		at++;
		if (a.count && at < argc && parse_count(argv[at], &a.count))
			at++;
		if (a.more && at < argc && parse_count(argv[at], &a.more))
			at++;
		if (command.takes_fixed && at < argc && !strcmp(argv[at], "fixed")) {
			a.is_fixed = true;
			at++;
		}
		if (at < argc)
			return usage();
		error = cudaGetDeviceCount(&devices);
		if (error != cudaSuccess || devices == 0) {
			fprintf(stderr, "truth: no CUDA device: %s\n", cudaGetErrorString(error));
			return 77;
		}
		CHECK(cudaDeviceGetAttribute(&state.sms, cudaDevAttrMultiProcessorCount, 0));
		print_device();
		command.run(a);
		if (state.launched + state.graph_launches > 0)
			print_totals();
		return fflush(stdout) ? 1 : 0;
	}
	return usage();
}
