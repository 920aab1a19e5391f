// link_cost.cu - what each way of linking a launch call to its kernel record costs, and whether
// its records come at all. One process, the ways toggled round by round and interleaved, since
// CPU-side times differ by tens of percent from one process to the next.
//
//   kernel      CONCURRENT_KERNEL alone (the base that wavetap can't do without)
//   driver      + driver records of the launch calls (cuptiActivityEnableDriverApi)
//   external    + external correlation ids, without driver records
//   both        + external correlation ids and driver records
//
// Prints ns per launch (median and spread of the rounds) and records per launch.
// Build: nvcc -O2 -arch=sm_90 link_cost.cu -o link_cost -lcupti -lcuda
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <cuda_runtime.h>
#include <cupti.h>
#include <mutex>
#include <time.h>
#include <vector>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		int result_ = (int)(call);                                                         \
		if (result_) {                                                                     \
			fprintf(stderr, "%s:%d: %s gave %d\n", __FILE__, __LINE__, #call,          \
			        result_);                                                          \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static const int LAUNCHES = 20000;
static const int ROUNDS = 9;
static std::mutex counts_lock;
static long kernel_records, driver_records, external_records;

__global__ void empty_kernel()
{
}

static double now_ns()
{
	timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void CUPTIAPI buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*size = 1 << 20;
	*buffer = (uint8_t *)aligned_alloc(8, *size);
	*max_records = 0;
}

static void CUPTIAPI buffer_completed(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t valid)
{
	std::lock_guard<std::mutex> guard(counts_lock);
	CUpti_Activity *record = nullptr;
	while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
		kernel_records += record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
		driver_records += record->kind == CUPTI_ACTIVITY_KIND_DRIVER;
		external_records += record->kind == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
	}
	free(buffer);
}

struct Way {
	const char *name;
	bool driver, external;
	std::vector<double> ns;
	long kernels, drivers, externals;
};

static void run_round(Way &way, CUfunction function, bool counted)
{
	CHECK(cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, way.driver));
	{
		std::lock_guard<std::mutex> guard(counts_lock);
		kernel_records = driver_records = external_records = 0;
	}
	double start = now_ns();
	for (int i = 0; i < LAUNCHES; i++) {
		uint64_t popped;
		if (way.external)
			cuptiActivityPushExternalCorrelationId(
			        CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2, i + 1);
		CHECK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, 0, nullptr, nullptr));
		if (way.external)
			cuptiActivityPopExternalCorrelationId(
			        CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2, &popped);
	}
	double elapsed = now_ns() - start;
	CHECK(cuCtxSynchronize());
	CHECK(cuptiActivityFlushAll(0));
	if (!counted)
		return;
	std::lock_guard<std::mutex> guard(counts_lock);
	way.ns.push_back(elapsed / LAUNCHES);
	way.kernels += kernel_records;
	way.drivers += driver_records;
	way.externals += external_records;
}

int main()
{
	CHECK(cuInit(0));
	CHECK(cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed));
	CHECK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
	CHECK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION));
	CHECK(cudaSetDevice(0));
	cudaFunction_t function;
	CHECK(cudaGetFuncBySymbol(&function, (const void *)empty_kernel));

	Way ways[] = {{"kernel", false, false, {}, 0, 0, 0},
	              {"driver", true, false, {}, 0, 0, 0},
	              {"external", false, true, {}, 0, 0, 0},
	              {"both", true, true, {}, 0, 0, 0}};
	for (Way &way : ways)
		run_round(way, (CUfunction)function, false);
	for (int round = 0; round < ROUNDS; round++)
		for (Way &way : ways)
			run_round(way, (CUfunction)function, true);

	double base = 0;
	for (Way &way : ways) {
		std::sort(way.ns.begin(), way.ns.end());
		double median = way.ns[ROUNDS / 2], launches = (double)LAUNCHES * ROUNDS;
		if (&way == ways)
			base = median;
		printf("LINK %-9s ns/launch median %.0f (%.0f..%.0f) added %.0f; per launch: "
		       "kernel %.3f "
		       "driver %.3f external %.3f\n",
		       way.name, median, way.ns.front(), way.ns.back(), median - base,
		       way.kernels / launches, way.drivers / launches, way.externals / launches);
	}
	return 0;
}
