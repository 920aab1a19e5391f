/*
 * range_probe.cu - for how much longer is an SM active than its blocks can tell, one launch by itself and
 * launches one after the other?
 *
 * A block notes when it began and ended by its SM's clock. It can't see the time before its first
 * instruction and after its last one, in which the SM has a warp resident all the same. The range
 * profiler counts sm__cycles_active over one launch (auto range, alone on the device) and over a row of
 * launches (user range, one pass, nothing between them). Both are compared with the union of the
 * blocks' times on each SM: a difference per launch and SM is a limit to what such a truth can judge.
 *
 * range_probe hold: what becomes of CUPTI's kernel records beside the range profiler, and what its steps
 * cost. Kernels with and without a profiled launch before them, then a flush, then a forced one.
 *
 * Build: nvcc -O2 -arch=sm_90 -o range_probe range_probe.cu -lcupti -lcuda, or tests/gpu/build.sh
 * Usage: range_probe [traced | hold]   traced: CUPTI records the kernels meanwhile
 * Exit:  0 done, 1 a call failed, 77 no device
 */
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "range_cupti.cuh"
#include "truth_kernels.cuh"

#define ROW 200 /* launches one after the other */
#define SINGLE 8

struct shape {
	int grid, threads;
	long long cycles;
};

static struct {
	int sms;
	block_record *records;
} state;

static void launch(const shape &s, int times)
{
	for (int i = 0; i < times; i++)
		truth_clock<<<s.grid, s.threads>>>(state.records + (size_t)i * s.grid, s.cycles, 0,
		                                   0);
	CHECK(cudaGetLastError());
}

/* Cycles with a warp on any SM over the launches, by the counters. */
static double count(const shape &s, int times, bool is_row)
{
	return range_count(is_row, [&] { launch(s, times); })[0];
}

struct truth {
	double cycles, ns;
	int sms; /* SMs with a block, summed over the launches */
};

/* Union of the blocks of each SM, launch by launch. */
static truth sum_blocks(const shape &s, int times)
{
	std::vector<block_record> records((size_t)s.grid * times);
	truth sum = {0, 0, 0};

	CHECK(cudaMemcpy(records.data(), state.records, records.size() * sizeof(records[0]),
	                 cudaMemcpyDeviceToHost));
	for (int i = 0; i < times; i++) {
		auto begin = records.begin() + (size_t)i * s.grid, end = begin + s.grid;

		std::sort(begin, end, [](const block_record &a, const block_record &b) {
			return a.sm != b.sm ? a.sm < b.sm : a.start_cycle < b.start_cycle;
		});
		for (auto at = begin; at != end; sum.sms++) {
			uint64_t first = at->start_cycle, last = at->end_cycle;
			uint64_t first_ns = at->start_ns, last_ns = at->end_ns;
			uint32_t sm = at->sm;

			for (at++; at != end && at->sm == sm; at++) {
				if (at->start_cycle > last) { /* nobody was there in between */
					sum.cycles += (double)(last - first);
					sum.ns += (double)(last_ns - first_ns);
					first = at->start_cycle;
					first_ns = at->start_ns;
				}
				last = std::max(last, at->end_cycle);
				last_ns = std::max(last_ns, at->end_ns);
			}
			sum.cycles += (double)(last - first);
			sum.ns += (double)(last_ns - first_ns);
		}
	}
	return sum;
}

static double now_us()
{
	return std::chrono::duration<double, std::micro>(
	               std::chrono::steady_clock::now().time_since_epoch())
	        .count();
}

/* A flush, and what came back by it. */
static void flush(const char *after, uint32_t flag)
{
	double start_us = now_us(), end_us;

	buffers_back = kernels_back = kernels_without_times = 0;
	CHECK_CUPTI(cuptiActivityFlushAll(flag));
	end_us = now_us();
	printf("%-58s %-6s %3d kernels back, %d of them without times, in %d buffers; %.0f us\n",
	       after, flag ? "forced" : "plain", kernels_back.load(), kernels_without_times.load(),
	       buffers_back.load(), end_us - start_us);
}

static void launch_100(const shape &s)
{
	launch(s, 100);
	CHECK(cudaDeviceSynchronize());
}

static double median(std::vector<double> values)
{
	std::sort(values.begin(), values.end());
	return values[values.size() / 2];
}

static void steps_cost(const shape &s)
{
	std::vector<double> enables, disables, profiles, flushes, offs, ons;

	for (int i = 0; i < 3; i++) {
		double at_us = now_us(), then_us;

		range_enable(false);
		enables.push_back((then_us = now_us()) - at_us);
		for (int j = 0; j < 10; j++) {
			at_us = now_us();
			count(s, 1, false);
			then_us = now_us();
			profiles.push_back(then_us - at_us);
			CHECK_CUPTI(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
			flushes.push_back(now_us() - then_us);
		}
		for (int j = 0; j < 3; j++) {
			at_us = now_us();
			CHECK_CUPTI(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
			then_us = now_us();
			offs.push_back(then_us - at_us);
			count(s, 1, false);
			at_us = now_us();
			CHECK_CUPTI(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
			ons.push_back(now_us() - at_us);
		}
		if (!i) {
			launch_100(s);
			flush("100 after launches profiled with kernel records off", 0);
			flush("... the same", CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
		}
		at_us = now_us();
		range_disable();
		disables.push_back(now_us() - at_us);
	}
	printf("median us: enable %.0f, disable %.0f, a profiled launch %.0f, forced flush after "
	       "it %.0f, "
	       "kernel records off %.0f, on %.0f\n",
	       median(enables), median(disables), median(profiles), median(flushes), median(offs),
	       median(ons));
}

static void hold()
{
	const shape s = {264, 1024, 8000};

	launch_100(s);
	flush("100, before the profiler is enabled", 0);
	range_enable(false);
	launch_100(s);
	flush("100, enabled", 0);
	count(s, 1, false);
	launch_100(s);
	flush("1 profiled, 100 after it", 0);
	flush("... again", 0);
	flush("...", CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	launch_100(s);
	flush("100 after that", 0);
	count(s, 1, false);
	flush("1 profiled", CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	launch_100(s);
	flush("100 after that", 0);
	count(s, 1, false);
	range_disable();
	launch_100(s);
	flush("1 profiled, disabled, 100 after it", 0);
	flush("...", CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	launch_100(s);
	flush("100 after that", 0);
	steps_cost(s);
}

int main(int argc, char **argv)
{
	static const shape shapes[] = {{264, 1024, 8000},  {66, 1024, 9000},  {1056, 256, 10000},
	                               {528, 512, 16000},  {40, 1024, 30000}, {528, 1024, 12000},
	                               {264, 1024, 100000}};
	int devices = 0;

	if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
		fprintf(stderr, "range_probe: no CUDA device\n");
		return 77;
	}
	if (argc > 1)
		trace_kernels();
	CHECK(cudaFree(0));
	CHECK(cudaDeviceGetAttribute(&state.sms, cudaDevAttrMultiProcessorCount, 0));
	CHECK(cudaMalloc(&state.records, sizeof(block_record) * 1056 * ROW));
	range.metrics = {"sm__cycles_active.sum", "sm__cycles_elapsed.max"};
	range_config();
	if (argc > 1 && !strcmp(argv[1], "hold")) {
		hold();
		return 0;
	}
	for (bool is_row : {false, true}) {
		range_enable(is_row);
		for (auto &s : shapes) {
			int times = is_row ? ROW : 1;

			launch(s, 1);
			CHECK(cudaDeviceSynchronize());
			for (int i = 0; i < (is_row ? 2 : SINGLE); i++) {
				double cycles = count(s, times, is_row);
				truth blocks = sum_blocks(s, times);

				printf("%s grid %4d x %4d, %6.2f us on an SM: active %.0f cycles, "
				       "blocks %.0f (%.3f "
				       "GHz): %+.2f %%, %+.0f cycles per SM and launch\n",
				       is_row ? "row of 200" : "by itself ", s.grid, s.threads,
				       blocks.ns / blocks.sms / 1e3, cycles / times,
				       blocks.cycles / times, blocks.cycles / blocks.ns,
				       100 * (cycles / blocks.cycles - 1),
				       (cycles - blocks.cycles) / blocks.sms);
			}
		}
		range_disable();
	}
	return 0;
}
