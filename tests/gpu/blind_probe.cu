/*
 * blind_probe.cu - what of an SM's active time can no block see, and what does it depend on?
 *
 * range_probe showed how much longer an SM is active than its blocks can tell. This takes it apart: blocks of
 * 64 to 1,024 threads, 1 to 32 of them on an SM, 1 to 4 after each other, each with
 *
 *   clock  truth's kernel: thread 0 of a block writes down when it began and ended
 *   warps  every warp of a block does, so that the first and the last of an SM are known
 *   empty  nothing but to begin and to end
 *
 * counted by the range profiler, one launch by itself and a row of launches (with `traced`, while CUPTI
 * records kernels). What is left beyond `warps` is launch and exit proper; what `clock` misses beyond that is
 * where thread 0 stood in its block; what `empty` takes is both, without any clock being read.
 * `graph`: sequences of kernels as a graph, as a row of launches and one by one: what the first node costs, and
 * whether that goes with its code (another function, one block alone before it) or with the graph.
 * `mix`: the same of truth's twelve shapes: the first one, the first two, and so on, so that each one's cycles are
 * the difference of two lines.
 *
 * A line `blind` a measurement, TSV. FILE gets the blocks of one launch of each, as struct raw_block; a line says
 * from which one on.
 *
 * Build: tests/gpu/build.sh
 * Usage: blind_probe blocks FILE | blocks-traced FILE | graph | graph-traced | mix | mix-traced
 * Exit:  0 done, 1 a call failed, 2 usage, 77 no device
 */
#include <string>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include "range_cupti.cuh"
#include "truth_kernels.cuh"

#define ROW 20 /* launches one after the other */
#define SINGLE 3
#define MAX_BLOCKS ((size_t)state.sms * 32 * 4 + 1000)
#define SM_BYTES (228 << 10)
#define RESERVED_BYTES 1024

struct warp_record {
	uint32_t start_cycle, end_cycle; /* the lower half */
};

/* Blocks of a launch in FILE: cycles since the first of their SM. */
struct raw_block {
	uint16_t sm, warps;
	int32_t start, end; /* of thread 0 */
	int32_t first, last; /* of its warps; `clock`: the last is thread 0's */
};

/* truth_clock, but that each warp writes down its own times, too. */
extern "C" __global__ void probe_warps(block_record *records, warp_record *warps, long long cycles)
{
	block_start start = begin_block();
	uint32_t warp = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;

#pragma unroll 1
	for (int pass = 0; pass < 2; pass++) {
		while (pass && threadIdx.x == 0 && clock64() - (long long)start.cycle < cycles)
			;
		record_block(records, start);
		if (threadIdx.x % 32 == 0)
			warps[warp] = {(uint32_t)start.cycle, (uint32_t)clock64()};
	}
}

/* The same code as truth_clock at another place. */
extern "C" __global__ void probe_other(block_record *records, long long cycles, int slow_every,
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

enum kernel { CLOCK, WARPS, EMPTY, KERNELS };
static const char *const kernel_names[KERNELS] = {"clock", "warps", "empty"};

struct shape {
	enum kernel kernel;
	int threads, at_once, grid, smem_bytes;
	long long cycles;
};

static struct {
	int sms;
	block_record *records;
	warp_record *warps;
	FILE *raw;
	long long raw_count;
} state;

static void launch(const shape &s, int times)
{
	for (int i = 0; i < times; i++) {
		block_record *records = state.records + (size_t)i * s.grid;
		warp_record *warps = state.warps + (size_t)i * s.grid * (s.threads / 32);

		if (s.kernel == CLOCK)
			truth_clock<<<s.grid, s.threads, s.smem_bytes>>>(records, s.cycles, 0, 0);
		else if (s.kernel == WARPS)
			probe_warps<<<s.grid, s.threads, s.smem_bytes>>>(records, warps, s.cycles);
		else
			truth_empty<<<s.grid, s.threads, s.smem_bytes>>>();
	}
	CHECK(cudaGetLastError());
}

/* What blocks saw, summed over SMs and launches. */
struct seen {
	double active, gaps, gap_cycles; /* by thread 0 */
	double warp_active, warp_gaps, warp_gap_cycles; /* by the first and the last of its warps */
	double filled[2]; /* of the gaps of warps, at most FILL[] cycles of each */
	double warp_sum; /* over warps */
	double first_off; /* cycles of thread 0 after the first warp, of the block that begins an SM */
	long long sms;
};

struct span {
	int64_t start, end;
};

/* How much of a gap an SM is active: without and with CUPTI's records (check_measured.py). */
static const double FILL[2] = {112, 280};

/* filled: NULL is fine. */
static void join(std::vector<span> &spans, double *active, double *gaps, double *gap_cycles,
                 double *filled)
{
	int64_t end;

	std::sort(spans.begin(), spans.end(),
	          [](const span &a, const span &b) { return a.start < b.start; });
	end = spans[0].start;
	for (auto &s : spans) {
		if (s.start > end) {
			*gaps += 1;
			*gap_cycles += (double)(s.start - end);
			for (int i = 0; filled && i < 2; i++)
				filled[i] += std::min((double)(s.start - end), FILL[i]);
		}
		*active += (double)std::max<int64_t>(0, s.end - std::max(s.start, end));
		end = std::max(end, s.end);
	}
}

/* The blocks of one SM in one launch. */
static void add_sm(seen &sum, const std::vector<raw_block> &blocks)
{
	std::vector<span> own, all;
	const raw_block *first = &blocks[0];

	for (auto &b : blocks) {
		own.push_back({b.start, b.end});
		all.push_back({b.first, b.last});
		if (b.start < first->start)
			first = &b;
	}
	join(own, &sum.active, &sum.gaps, &sum.gap_cycles, NULL);
	join(all, &sum.warp_active, &sum.warp_gaps, &sum.warp_gap_cycles, sum.filled);
	sum.first_off += first->start -
	                 std::min_element(all.begin(), all.end(), [](const span &a, const span &b) {
		                 return a.start < b.start;
	                 })->start;
	sum.sms++;
}

/* All of one launch, by SM; written to FILE if asked for. */
static void add_launch(seen &sum, const shape &s, const block_record *records,
                       const warp_record *warps, bool is_written)
{
	std::vector<std::vector<raw_block>> by_sm(state.sms);
	std::vector<uint64_t> origin(state.sms, UINT64_MAX);
	int per_block = s.threads / 32;

	for (int b = 0; b < s.grid; b++)
		origin[records[b].sm] = std::min(origin[records[b].sm], records[b].start_cycle);
	for (int b = 0; b < s.grid; b++) {
		const block_record &r = records[b];
		raw_block raw = {(uint16_t)r.sm, (uint16_t)per_block};

		raw.start = (int32_t)(r.start_cycle - origin[r.sm]);
		raw.first = (int32_t)(r.first_cycle - origin[r.sm]);
		raw.end = raw.last = (int32_t)(r.end_cycle - origin[r.sm]);
		for (int w = 0; w < per_block && s.kernel == WARPS; w++) {
			const warp_record &warp = warps[(size_t)b * per_block + w];

			raw.first = std::min(raw.first,
			                     (int32_t)(warp.start_cycle - (uint32_t)origin[r.sm]));
			raw.last = std::max(raw.last,
			                    (int32_t)(warp.end_cycle - (uint32_t)origin[r.sm]));
			sum.warp_sum += warp.end_cycle - warp.start_cycle;
		}
		by_sm[r.sm].push_back(raw);
	}
	for (auto &blocks : by_sm)
		if (!blocks.empty())
			add_sm(sum, blocks);
	for (auto &blocks : by_sm)
		if (is_written && !blocks.empty()) {
			state.raw_count +=
			        fwrite(&blocks[0], sizeof(raw_block), blocks.size(), state.raw);
		}
}

static seen fetch(const shape &s, int times, bool is_written)
{
	int per_block = s.threads / 32;
	std::vector<block_record> records((size_t)s.grid * times);
	std::vector<warp_record> warps(s.kernel == WARPS ? records.size() * per_block : 0);
	seen sum = {};

	if (s.kernel == EMPTY) {
		sum.sms = (long long)std::min(s.grid, state.sms) * times;
		return sum;
	}
	CHECK(cudaMemcpy(records.data(), state.records, records.size() * sizeof(records[0]),
	                 cudaMemcpyDeviceToHost));
	CHECK(cudaMemcpy(warps.data(), state.warps, warps.size() * sizeof(warp_record),
	                 cudaMemcpyDeviceToHost));
	for (int i = 0; i < times; i++)
		add_launch(sum, s, &records[(size_t)i * s.grid],
		           warps.empty() ? NULL : &warps[(size_t)i * s.grid * per_block],
		           is_written && i == times - 1);
	return sum;
}

static void measure(const shape &s, int times, bool is_written)
{
	long long at = state.raw_count;
	std::vector<double> v = range_count(times > 1, [&] { launch(s, times); });
	seen b = fetch(s, times, is_written);

	printf("blind\t%s\t%s\t%d\t%d\t%d\t%d\t%lld\t%d\t%lld", times > 1 ? "row" : "single",
	       kernel_names[s.kernel], s.threads, s.at_once, s.grid, s.smem_bytes, s.cycles, times,
	       b.sms);
	for (double value : v)
		printf("\t%.1f", value);
	printf("\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%lld\t%lld\t%+.1f\t%+.1f\n",
	       b.active, b.gaps, b.gap_cycles, b.warp_active, b.warp_gaps, b.warp_gap_cycles,
	       b.warp_sum, b.first_off, at, state.raw_count - at, (v[0] - b.active) / (double)b.sms,
	       (v[0] - b.warp_active) / (double)b.sms);
}

/* As many on an SM as asked for, by their shared memory where threads alone allow for more. */
static shape make_shape(enum kernel kernel, int threads, int at_once, double waves,
                        long long cycles)
{
	shape s = {kernel, threads, at_once, (int)(waves * at_once * state.sms + 0.5), 0, cycles};
	int blocks = 0, reserved;
	cudaFuncAttributes attributes;
	const void *function = kernel == CLOCK   ? (const void *)truth_clock
	                       : kernel == WARPS ? (const void *)probe_warps
	                                         : (const void *)truth_empty;

	CHECK(cudaFuncGetAttributes(&attributes, function));
	reserved = RESERVED_BYTES + (int)(attributes.sharedSizeBytes + 127) / 128 * 128;
	if (at_once * threads < 2048 && at_once < 32)
		s.smem_bytes = SM_BYTES / at_once / 128 * 128 - reserved;
	CHECK(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
	                           SM_BYTES - reserved));
	CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, threads,
	                                                    s.smem_bytes));
	s.at_once = blocks;
	return s;
}

static std::vector<shape> all_shapes()
{
	static const struct {
		int threads, at_once[4];
	} sizes[] = {{64, {1, 4, 16, 32}},
	             {128, {1, 4, 16, 0}},
	             {256, {1, 2, 4, 8}},
	             {512, {1, 2, 4, 0}},
	             {1024, {1, 2, 0, 0}}};
	std::vector<shape> shapes;

	for (int k = 0; k < KERNELS; k++)
		for (auto &size : sizes)
			for (int at_once : size.at_once)
				for (double waves : {1.0, 1.25, 2.0, 4.0}) {
					if (!at_once || (k == EMPTY && waves > 1))
						continue;
					shapes.push_back(make_shape((enum kernel)k, size.threads,
					                            at_once, waves, 8000));
				}
	/* As the shapes that truth is judged by: no shared memory, whatever of threads fits. */
	for (enum kernel k : {CLOCK, WARPS})
		for (int threads : {128, 256, 512, 1024}) {
			for (int grid : {13, 66, 132})
				shapes.push_back({k, threads, 2048 / threads, grid, 0, 12000});
			shapes.push_back(
			        {k, threads, 2048 / threads, 2048 / threads * state.sms, 0, 50000});
			shapes.push_back({k, threads, 2048 / threads,
			                  2048 / threads * state.sms * 3, 0, 5000});
		}
	return shapes;
}

static void run_blocks(bool is_traced)
{
	std::vector<shape> shapes = all_shapes();

	printf("#blind\tway\tkernel\tthreads\tat_once\tgrid\tsmem_bytes\tcycles\ttimes\tsms");
	for (const char *metric : range.metrics)
		printf("\t%s", metric);
	printf("\tactive\tgaps\tgap_cycles\twarp_active\twarp_gaps\twarp_gap_cycles\twarp_"
	       "sum\tfirst_off\traw_at\traw_count\t"
	       "beyond\tbeyond_warps\n");
	for (bool is_row : {false, true}) {
		if (is_traced && !is_row)
			continue;
		range_enable(is_row);
		for (auto &s : shapes) {
			launch(s, 2);
			CHECK(cudaDeviceSynchronize());
			for (int i = 0; i < (is_row ? 1 : SINGLE); i++)
				measure(s, is_row ? ROW : 1, i == 0 && s.kernel != EMPTY);
		}
		range_disable();
	}
}

/* ---- sequences */

#define CLOCK_GRID 264
#define REPLAYS 40

/* The shapes of truth's mix, without the longer blocks of two of them; steps '0', '1', ... */
static const shape mix_shapes[] = {
        {CLOCK, 1024, 2, 267, 0, 8000},  {CLOCK, 1024, 2, 264, 0, 8000},
        {CLOCK, 1024, 2, 66, 0, 9000},   {CLOCK, 1024, 2, 290, 0, 12000},
        {CLOCK, 256, 8, 1057, 0, 10000}, {CLOCK, 256, 8, 1400, 0, 6000},
        {CLOCK, 1024, 2, 40, 0, 30000},  {CLOCK, 1024, 2, 528, 0, 12000},
        {CLOCK, 512, 4, 700, 0, 16000},  {CLOCK, 512, 4, 530, 0, 50000},
        {CLOCK, 1024, 2, 13, 0, 60000},  {CLOCK, 256, 8, 2113, 0, 20000},
};
#define MIX_STEPS "0123456789:;"
#define STEP_BLOCKS 2200 /* room of each */

static const shape *mix_shape(char step)
{
	return step >= '0' && step <= ';' ? &mix_shapes[step - '0'] : NULL;
}

static void enqueue_step(char step, block_record *records, cudaStream_t stream)
{
	const shape *s = mix_shape(step);

	if (s)
		truth_clock<<<s->grid, s->threads, 0, stream>>>(records, s->cycles, 0, 0);
	switch (step) {
	case 'A':
		truth_clock<<<CLOCK_GRID, 1024, 0, stream>>>(records, 8000, 0, 0);
		break;
	case 'B':
		probe_other<<<CLOCK_GRID, 1024, 0, stream>>>(records, 8000, 0, 0);
		break;
	case 'a': /* the code of A, on one SM */
		truth_clock<<<1, 32, 0, stream>>>(records, 100, 0, 0);
		break;
	case 'e':
		truth_empty<<<1, 32, 0, stream>>>();
		break;
	case 'E':
		truth_empty<<<CLOCK_GRID, 1024, 0, stream>>>();
		break;
	case 'm':
		CHECK(cudaMemsetAsync(state.warps, 0, 4096, stream));
		break;
	}
	CHECK(cudaGetLastError());
}

/*
 * Of the steps that have records, in the last round: cycles by thread 0, on how many SMs, cycles from the first
 * warp, and what of gaps is filled without and with records.
 */
static void fetch_steps(const char *steps)
{
	std::vector<block_record> records(STEP_BLOCKS);

	for (size_t i = 0; steps[i]; i++) {
		shape s = {CLOCK, 1024, 2, steps[i] == 'a' ? 1 : CLOCK_GRID, 0, 8000};
		seen sum = {};

		if (mix_shape(steps[i]))
			s = *mix_shape(steps[i]);
		else if (!strchr("ABa", steps[i]))
			continue;
		CHECK(cudaMemcpy(records.data(), state.records + i * STEP_BLOCKS,
		                 s.grid * sizeof(block_record), cudaMemcpyDeviceToHost));
		add_launch(sum, s, records.data(), NULL, false);
		printf("\t%c:%.0f/%lld/%.0f/%.0f/%.0f", steps[i], sum.active, sum.sms,
		       sum.warp_active, sum.filled[0], sum.filled[1]);
	}
}

static void measure_steps(const char *way, const char *steps)
{
	bool is_graph = !strncmp(way, "graph", 5), is_apart = strstr(way, "apart") != NULL;
	cudaGraphExec_t executable = NULL;
	cudaStream_t stream;
	cudaGraph_t graph;
	std::vector<double> v;

	CHECK(cudaStreamCreate(&stream));
	if (is_graph) {
		CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
		for (size_t i = 0; steps[i]; i++)
			enqueue_step(steps[i], state.records + i * STEP_BLOCKS, stream);
		CHECK(cudaStreamEndCapture(stream, &graph));
		CHECK(cudaGraphInstantiate(&executable, graph, 0));
	}
	auto once = [&] {
		timespec pause = {0, 200000};

		if (is_graph)
			CHECK(cudaGraphLaunch(executable, stream));
		for (size_t i = 0; steps[i] && !is_graph; i++)
			enqueue_step(steps[i], state.records + i * STEP_BLOCKS, stream);
		if (is_apart) {
			CHECK(cudaStreamSynchronize(stream));
			nanosleep(&pause, NULL);
		}
	};
	once();
	once();
	CHECK(cudaStreamSynchronize(stream));
	for (int i = 0; i < 2; i++) {
		v = range_count(true, [&] {
			for (int n = 0; n < REPLAYS; n++)
				once();
		});
		printf("steps\t%s\t%s\t%d\t%.1f", way, steps, REPLAYS, v[0] / REPLAYS);
		fetch_steps(steps);
		printf("\n");
	}
	if (executable)
		CHECK(cudaGraphExecDestroy(executable));
	CHECK(cudaStreamDestroy(stream));
}

static void run_graph()
{
	printf("#steps\tway\tsteps\ttimes\tactive_cycles\tblocks...\n");
	range_enable(true);
	for (const char *way : {"row", "row-apart", "graph", "graph-apart"})
		for (const char *steps :
		     {"A", "AA", "AAAA", "E", "EE", "e", "EA", "EEA", "eA", "aA", "mA", "BA", "BBA",
		      "AB", "ABAB", "AE", "Ae", "Am"}) {
			measure_steps(way, steps);
			fflush(stdout);
		}
	range_disable();
}

static void run_mix()
{
	char steps[sizeof(MIX_STEPS)] = "";

	printf("#steps\tway\tsteps\ttimes\tactive_cycles\tblocks...\n");
	range_enable(true);
	for (const char *way : {"row", "graph", "graph-apart"})
		for (size_t count = 1; count < sizeof(steps); count++) {
			snprintf(steps, count + 1, "%s", MIX_STEPS);
			measure_steps(way, steps);
			fflush(stdout);
		}
	/* An empty one first, as truth graphlead. */
	for (const char *lead : {"E", "E0", "E01", "E" MIX_STEPS})
		measure_steps("graph", lead);
	range_disable();
}

int main(int argc, char **argv)
{
	bool is_blocks = argc == 3 && !strncmp(argv[1], "blocks", 6),
	     is_graph = argc == 2 && !strncmp(argv[1], "graph", 5),
	     is_mix = argc == 2 && !strncmp(argv[1], "mix", 3);
	bool is_traced = argc > 1 && strstr(argv[1], "-traced") != NULL;
	int devices = 0;

	if (!is_blocks && !is_graph && !is_mix) {
		fprintf(stderr, "usage: blind_probe blocks FILE | blocks-traced FILE | graph | "
		                "graph-traced | mix | mix-traced\n");
		return 2;
	}
	if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
		fprintf(stderr, "blind_probe: no CUDA device\n");
		return 77;
	}
	if (is_traced)
		trace_kernels();
	CHECK(cudaFree(0));
	CHECK(cudaDeviceGetAttribute(&state.sms, cudaDevAttrMultiProcessorCount, 0));
	CHECK(cudaMalloc(&state.records, sizeof(block_record) * MAX_BLOCKS * ROW));
	CHECK(cudaMalloc(&state.warps,
	                 sizeof(warp_record) * (size_t)state.sms * 64 * 4 * ROW + 4096));
	range.metrics = {"sm__cycles_active.sum", "sm__cycles_elapsed.max", "sm__cycles_active.min",
	                 "sm__cycles_active.max", "sm__warps_active.avg"};
	range_config();
	if (is_graph || is_mix) {
		is_graph ? run_graph() : run_mix();
		return 0;
	}
	state.raw = fopen(argv[2], "wb");
	if (!state.raw) {
		perror(argv[2]);
		return 1;
	}
	run_blocks(is_traced);
	return fclose(state.raw) ? 1 : 0;
}
