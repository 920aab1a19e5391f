/*
 * truth_measure.cuh - launches kernels of truth_kernels.cuh, works out the
 * truth from their block records and the closed forms from their geometry, and
 * prints both.
 *
 * Included by truth.cu alone. Host code of one thread; measure() waits for the
 * device. Any failing CUDA call ends the program with a line on stderr.
 */
#ifndef TRUTH_MEASURE_CUH
#define TRUTH_MEASURE_CUH

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <utility>
#include <vector>

#include <cuda_runtime.h>

#include "truth_kernels.cuh"

#define CHECK(call) check_cuda((call), #call, __LINE__)

static void check_cuda(cudaError_t error, const char *what, int line)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "truth: line %d: %s: %s\n", line, what, cudaGetErrorString(error));
	exit(1);
}

#define MAX_BLOCKS 65536
#define MEM_WORDS (1u << 27) /* float4: 2 GiB */

/* Those before TAIL_KINDS are measured by `tail`. */
enum kind {
	KIND_CLOCK,
	KIND_FMA,
	KIND_TENSOR,
	KIND_MEM,
	TAIL_KINDS,
	KIND_PERSISTENT = TAIL_KINDS,
	KIND_COPY,
	KIND_CHASE,
	KIND_INT,
	KIND_MAX
};

static const char *const kind_names[KIND_MAX] = {"clock",      "fma",  "tensor", "mem",
                                                 "persistent", "copy", "chase",  "int"};
/* What each is bound by, in the words of the run file; "?": or it can't be told. */
static const char *const kind_bounds[KIND_MAX] = {"latency", "compute", "compute", "memory",
                                                  "latency", "memory",  "latency", "compute?"};
static const void *const kind_functions[KIND_MAX] = {
        (const void *)truth_clock, (const void *)truth_fma,        (const void *)truth_tensor,
        (const void *)truth_mem,   (const void *)truth_persistent, (const void *)truth_copy,
        (const void *)truth_chase, (const void *)truth_int};

struct config {
	enum kind kind;
	int grid;
	int threads;
	int smem_bytes;
	long long work; /* cycles of a clock block, iterations of the others */
	int slow_every; /* 0: all blocks alike */
	int slow_factor;
	int items; /* of the queue of a persistent kernel */
};

/* What the gaps between blocks are worth where blocks are so much longer than they can tell. */
#define FILL_STEPS 20
#define FILL_STEP 25

struct truth {
	uint64_t first_ns; /* of %globaltimer */
	uint64_t dur_ns;
	int sms_used;
	uint64_t underfill_sm_ns;
	uint64_t tail_sm_ns;
	uint64_t active_sm_ns;
	uint64_t active_cycles; /* the same by the SMs' own clocks */
	uint64_t first_cycles; /* from the first of a block's warps, not its thread 0 */
	uint64_t gaps; /* between blocks of an SM that was seen to be empty, by first_cycles */
	uint64_t fill_cycles[FILL_STEPS]; /* of each gap at most (i + 1) * FILL_STEP cycles */
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
	work_queue *queue;
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
	CHECK(cudaMalloc(&state.queue, sizeof(work_queue)));
	CHECK(cudaMemset(state.queue, 0, sizeof(work_queue)));
}

static void allocate_input()
{
	CHECK(cudaMalloc(&state.input, sizeof(float4) * MEM_WORDS));
	CHECK(cudaMemset(state.input, 0, sizeof(float4) * MEM_WORDS));
}

/* In a graph's capture it is no launch of its own: the caller counts. */
static void enqueue(const config &c, block_record *records, cudaStream_t stream)
{
	int smem = c.smem_bytes, work = (int)c.work;

	switch (c.kind) {
	case KIND_CLOCK:
		truth_clock<<<c.grid, c.threads, smem, stream>>>(records, c.work, c.slow_every,
		                                                 c.slow_factor);
		break;
	case KIND_FMA:
		truth_fma<<<c.grid, c.threads, smem, stream>>>(records, work, state.sink);
		break;
	case KIND_TENSOR:
		truth_tensor<<<c.grid, c.threads, smem, stream>>>(records, work, state.sink);
		break;
	case KIND_MEM:
		truth_mem<<<c.grid, c.threads, smem, stream>>>(records, work, state.input,
		                                               MEM_WORDS - 1, state.sink);
		break;
	case KIND_COPY:
		truth_copy<<<c.grid, c.threads, smem, stream>>>(records, work, state.input,
		                                                MEM_WORDS - 1);
		break;
	case KIND_CHASE:
		truth_chase<<<c.grid, c.threads, smem, stream>>>(records, work, state.input,
		                                                 MEM_WORDS - 1, state.sink);
		break;
	case KIND_INT:
		truth_int<<<c.grid, c.threads, smem, stream>>>(records, work, 1664525u, state.sink);
		break;
	default:
		truth_persistent<<<c.grid, c.threads, smem, stream>>>(
		        records, state.queue, c.items, c.work, c.slow_every, c.slow_factor);
		break;
	}
	CHECK(cudaGetLastError());
}

static void launch(const config &c, block_record *records, cudaStream_t stream = 0)
{
	enqueue(c, records, stream);
	state.launched++;
}

static int blocks_per_sm(const config &c)
{
	int blocks = 0;

	CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kind_functions[c.kind],
	                                                    c.threads, c.smem_bytes));
	return blocks;
}

struct interval {
	uint64_t start, end;
};

/* Sorted, and those that touch joined. */
static void join_intervals(std::vector<interval> &intervals)
{
	size_t kept = 0;

	std::sort(intervals.begin(), intervals.end(),
	          [](const interval &a, const interval &b) { return a.start < b.start; });
	for (size_t i = 0; i < intervals.size(); i++)
		if (kept && intervals[i].start <= intervals[kept - 1].end)
			intervals[kept - 1].end =
			        std::max(intervals[kept - 1].end, intervals[i].end);
		else
			intervals[kept++] = intervals[i];
	intervals.resize(kept);
}

static uint64_t total_length(const std::vector<interval> &intervals)
{
	uint64_t sum = 0;

	for (auto &i : intervals)
		sum += i.end - i.start;
	return sum;
}

/* When each SM was active: of the blocks of one launch, or of several. */
struct activity {
	std::vector<std::vector<interval>> ns, cycles, first_cycles; /* per SM */

	activity() : ns(state.sms), cycles(state.sms), first_cycles(state.sms)
	{
	}
	void add(const block_record &r)
	{
		if (r.sm >= (uint32_t)state.sms || r.end_ns < r.start_ns) {
			fprintf(stderr, "truth: a block has no sane record (SM %u)\n", r.sm);
			exit(1);
		}
		ns[r.sm].push_back({r.start_ns, r.end_ns});
		cycles[r.sm].push_back({r.start_cycle, r.end_cycle});
		first_cycles[r.sm].push_back({r.first_cycle, r.end_cycle});
	}
	void join()
	{
		for (int sm = 0; sm < state.sms; sm++) {
			join_intervals(ns[sm]);
			join_intervals(cycles[sm]);
			join_intervals(first_cycles[sm]);
		}
	}
};

static void add_gaps(truth &t, const std::vector<interval> &blocks)
{
	for (size_t i = 1; i < blocks.size(); i++) {
		uint64_t gap = blocks[i].start - blocks[i - 1].end;

		t.gaps++;
		for (int step = 0; step < FILL_STEPS; step++)
			t.fill_cycles[step] += std::min<uint64_t>(gap, (step + 1) * FILL_STEP);
	}
}

static truth truth_of(const block_record *records, int grid, activity *ret_activity = NULL)
{
	activity active;
	uint64_t last_ns = 0;
	truth t = {};

	t.first_ns = t.block_min_ns = UINT64_MAX;
	for (int i = 0; i < grid; i++) {
		const block_record &r = records[i];

		active.add(r);
		t.first_ns = std::min(t.first_ns, r.start_ns);
		last_ns = std::max(last_ns, r.end_ns);
		t.block_min_ns = std::min(t.block_min_ns, r.end_ns - r.start_ns);
		t.block_max_ns = std::max(t.block_max_ns, r.end_ns - r.start_ns);
	}
	active.join();
	t.dur_ns = last_ns - t.first_ns;
	for (int sm = 0; sm < state.sms; sm++) {
		auto &blocks = active.ns[sm];

		if (blocks.empty()) {
			t.underfill_sm_ns += t.dur_ns;
			continue;
		}
		t.sms_used++;
		t.active_sm_ns += total_length(blocks);
		t.active_cycles += total_length(active.cycles[sm]);
		t.first_cycles += total_length(active.first_cycles[sm]);
		add_gaps(t, active.first_cycles[sm]);
		t.tail_sm_ns += last_ns - blocks.back().end;
	}
	if (ret_activity)
		*ret_activity = std::move(active);
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
	return truth_of(state.records.data(), c.grid);
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
		printf("#cost\tsection\tmetric\tsamples\tmin_ns\tmedian_ns\tp90_ns\t"
		       "p99_ns\tmax_ns\n");
	has_header = true;
	printf(state.is_tsv
	               ? "cost\t%s\t%s\t%zu\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\n"
	               : "%s %s: %zu samples, ns min %.0f med %.0f p90 %.0f p99 %.0f max %.0f\n",
	       section, metric, n, ns[0], ns[n / 2], ns[n * 9 / 10], ns[n * 99 / 100], ns[n - 1]);
}

/* What a complete record of this process holds. */
static void print_totals()
{
	if (state.is_tsv)
		printf("#total\tlaunched\tcaptured\tgraph_launches\tgraph_kernels\n");
	printf(state.is_tsv ? "total\t%lld\t%lld\t%lld\t%lld\n"
	                    : "total: launched %lld captured %lld graphs %lld graph kernels %lld\n",
	       state.launched, state.captured, state.graph_launches, state.graph_kernels);
}

#endif /* TRUTH_MEASURE_CUH */
