/*
 * sass_probe.cu - are the warps per SM that SASS metrics count those that ran there?
 *
 * Every warp of a launch adds one to the count of its %smid: the truth, by its own hand. SASS metrics
 * count the executions of each instruction per SM; those of a function's first instruction are the
 * warps that began there. Both are compared for one, two, ... launches after patching, grids of one
 * wave and a little more, 32 to 1,024 threads, and three ways to enable the metrics.
 *
 * A line per launch: both totals, on how many SMs they differ and by how much; then those SMs, as
 * SM:SASS/%smid. Also compared: the function's last instruction, and which other functions were seen.
 *
 * Build: nvcc -O2 -arch=sm_90 -o sass_probe sass_probe.cu -lcupti -lcuda, or tests/gpu/build.sh
 * Usage: sass_probe [WAY GRID THREADS], WAY 0 to 3: in a fresh process the first launch counts
 * Exit:  0 all equal, 1 a call failed or some differ, 77 no device
 */
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include <cuda.h>
#include <cuda_runtime.h>
#include <cupti_profiler_target.h>
#include <cupti_result.h>
#include <cupti_sass_metrics.h>
#include <cupti_target.h>

#include "cupti_check.cuh"

#define KERNEL "sass_count"
#define DIFFERENCES_SHOWN 16

extern "C" __global__ void sass_count(unsigned *warps, float *sink, int iterations)
{
	float x = threadIdx.x;
	unsigned sm;

	asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
	if (threadIdx.x % 32 == 0)
		atomicAdd(&warps[sm], 1);
	for (int i = 0; i < iterations; i++)
		x = x * 1.0001f + 0.5f;
	if (x == -1.0f) /* never; keeps the loop */
		*sink = x;
}

enum way { WAY_ONCE, WAY_EACH, WAY_EACH_EAGER, WAY_CYCLE, WAYS };
static const char *const way_names[WAYS] = {"enabled once, lazy", "enabled per launch, lazy",
                                            "enabled per launch, eager", "configured per launch"};

static struct {
	CUcontext context;
	int sms;
	unsigned *warps; /* on the device, per %smid */
	float *sink;
	std::vector<unsigned> truth;
} state;

struct counts {
	std::vector<uint64_t> first, last; /* per instance: of the first and the last instruction */
	uint64_t instructions;
	size_t records, instances;
	std::string others; /* functions beside ours */
};

static double now_us()
{
	timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static void sass_configure()
{
	PARAMS(Profiler_Initialize, init);
	PARAMS(Device_GetChipName, chip);
	PARAMS(SassMetrics_GetProperties, properties);
	PARAMS(SassMetricsSetConfig, set);
	CUpti_SassMetrics_Config config = {};

	CHECK_CUPTI(cuptiProfilerInitialize(&init));
	CHECK_CUPTI(cuptiDeviceGetChipName(&chip));
	properties.pChipName = chip.pChipName;
	properties.pMetricName = "smsp__sass_inst_executed";
	CHECK_CUPTI(cuptiSassMetricsGetProperties(&properties));
	config.metricId = properties.metric.metricId;
	config.outputGranularity = CUPTI_SASS_METRICS_OUTPUT_GRANULARITY_SM;
	set.numOfMetricConfig = 1;
	set.pConfigs = &config;
	CHECK_CUPTI(cuptiSassMetricsSetConfig(&set));
}

static void sass_enable(bool is_lazy)
{
	PARAMS(SassMetricsEnable, enable);

	enable.ctx = state.context;
	enable.enableLazyPatching = is_lazy;
	CHECK_CUPTI(cuptiSassMetricsEnable(&enable));
}

static size_t sass_disable()
{
	PARAMS(SassMetricsDisable, disable);

	disable.ctx = state.context;
	CHECK_CUPTI(cuptiSassMetricsDisable(&disable));
	return disable.numOfDroppedRecords;
}

static void sass_unset()
{
	PARAMS(SassMetricsUnsetConfig, unset);

	CHECK_CUPTI(cuptiSassMetricsUnsetConfig(&unset));
}

/* What was counted since enabling or the last flush. */
static counts sass_flush()
{
	PARAMS(SassMetricsGetDataProperties, properties);
	PARAMS(SassMetricsFlushData, flush);
	std::vector<CUpti_SassMetrics_Data> data;
	std::vector<CUpti_SassMetrics_InstanceValue> values;
	const CUpti_SassMetrics_Data *first = NULL, *last = NULL;
	counts result = {};

	properties.ctx = flush.ctx = state.context;
	CHECK_CUPTI(cuptiSassMetricsGetDataProperties(&properties));
	result.records = properties.numOfPatchedInstructionRecords;
	result.instances = properties.numOfInstances;
	if (!result.records)
		return result;
	data.resize(result.records);
	values.resize(result.records * result.instances);
	for (size_t i = 0; i < data.size(); i++) {
		data[i].structSize =
		        CUpti_SassMetricsFlushData_Params_STRUCT_SIZE; /* says its header */
		data[i].pInstanceValues = &values[i * result.instances];
	}
	flush.numOfPatchedInstructionRecords = result.records;
	flush.numOfInstances = result.instances;
	flush.pMetricsData = data.data();
	CHECK_CUPTI(cuptiSassMetricsFlushData(&flush));

	for (auto &record : data) {
		if (strcmp(record.functionName, KERNEL)) {
			if (result.others.find(record.functionName) == std::string::npos)
				result.others += std::string(" ") + record.functionName;
			continue;
		}
		uint64_t sum = 0;
		for (size_t k = 0; k < result.instances; k++)
			sum += record.pInstanceValues[k].value;
		result.instructions += sum;
		if (!first || record.pcOffset < first->pcOffset)
			first = &record;
		if (sum && (!last || record.pcOffset > last->pcOffset))
			last = &record; /* not the padding after EXIT */
	}
	for (size_t k = 0; first && last && k < result.instances; k++) {
		result.first.push_back(first->pInstanceValues[k].value);
		result.last.push_back(last->pInstanceValues[k].value);
	}
	return result;
}

/* How many SMs differ; *ret_text: the first of them. */
static int compare(const std::vector<uint64_t> &counted, uint64_t *ret_total, std::string *ret_text)
{
	int different = 0;

	*ret_total = 0;
	for (int k = 0; k < (int)counted.size(); k++) {
		unsigned truth = k < state.sms ? state.truth[k] : 0;

		*ret_total += counted[k];
		if (counted[k] == truth)
			continue;
		if (different++ < DIFFERENCES_SHOWN) {
			char text[64];

			snprintf(text, sizeof(text), " %d:%llu/%u", k,
			         (unsigned long long)counted[k], truth);
			*ret_text += text;
		}
	}
	return different;
}

/* One launch, counted both ways. Returns the SMs that differ. */
static int probe(enum way way, int launch, int grid, int threads)
{
	std::string first_text, last_text;
	uint64_t first_total, last_total, truth_total = 0;
	size_t dropped = 0;
	double begin_us, launched_us, flushed_us;
	int first, last;
	counts counted;

	CHECK(cudaMemset(state.warps, 0, sizeof(*state.warps) * 1024));
	CHECK(cudaDeviceSynchronize());
	begin_us = now_us();
	if (way == WAY_CYCLE)
		sass_configure();
	if (way != WAY_ONCE)
		sass_enable(way != WAY_EACH_EAGER);
	sass_count<<<grid, threads>>>(state.warps, state.sink, 2000);
	CHECK(cudaDeviceSynchronize());
	launched_us = now_us();
	counted = sass_flush();
	if (way != WAY_ONCE)
		dropped = sass_disable();
	if (way == WAY_CYCLE)
		sass_unset();
	flushed_us = now_us();
	CHECK(cudaMemcpy(state.truth.data(), state.warps, sizeof(unsigned) * state.truth.size(),
	                 cudaMemcpyDeviceToHost));
	for (unsigned warps : state.truth)
		truth_total += warps;
	first = compare(counted.first, &first_total, &first_text);
	last = compare(counted.last, &last_total, &last_text);
	if (counted.first.empty())
		first = last = state.sms;
	printf("%-26s launch %d grid %4d x %4d: warps SASS first %llu last %llu, %%smid %llu (made "
	       "%d); SMs that differ %d, by the last %d; instructions %llu, records %zu x %zu, "
	       "dropped %zu; ms launch %.2f flush %.2f%s%s\n",
	       way_names[way], launch, grid, threads, (unsigned long long)first_total,
	       (unsigned long long)last_total, (unsigned long long)truth_total,
	       grid * ((threads + 31) / 32), first, last, (unsigned long long)counted.instructions,
	       counted.records, counted.instances, dropped, (launched_us - begin_us) / 1e3,
	       (flushed_us - launched_us) / 1e3, counted.others.empty() ? "" : "; also",
	       counted.others.c_str());
	if (first)
		printf("    first:%s\n", first_text.c_str());
	if (last && last_text != first_text)
		printf("    last:%s\n", last_text.c_str());
	fflush(stdout);
	return first;
}

int main(int argc, char **argv)
{
	static const int all_grids[] = {264, 267, 396};
	static const int all_threads[] = {1024, 32, 96, 256, 512};
	std::vector<int> grids(all_grids, all_grids + 3),
	        thread_counts(all_threads, all_threads + 5);
	int devices = 0, different = 0, launches = 0;

	if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
		fprintf(stderr, "sass_probe: no CUDA device\n");
		return 77;
	}
	CHECK(cudaFree(0));
	cuCtxGetCurrent(&state.context);
	CHECK(cudaDeviceGetAttribute(&state.sms, cudaDevAttrMultiProcessorCount, 0));
	CHECK(cudaMalloc(&state.warps, sizeof(*state.warps) * 1024));
	CHECK(cudaMalloc(&state.sink, sizeof(*state.sink)));
	state.truth.resize(state.sms);
	sass_count<<<264, 1024>>>(state.warps, state.sink, 2000); /* loaded */
	CHECK(cudaDeviceSynchronize());
	if (argc == 4) {
		grids.assign(1, atoi(argv[2]));
		thread_counts.assign(1, atoi(argv[3]));
	}
	for (int way = 0; way < WAYS; way++) {
		if (argc == 4 && way != atoi(argv[1]))
			continue;
		if (way != WAY_CYCLE)
			sass_configure();
		if (way == WAY_ONCE)
			sass_enable(true);
		for (int threads : thread_counts)
			for (int grid : grids)
				for (int launch = 1; launch <= 3; launch++, launches++)
					different +=
					        probe((enum way)way, launch, grid, threads) > 0;
		if (way == WAY_ONCE)
			sass_disable();
		if (way != WAY_CYCLE)
			sass_unset();
	}
	printf("sass_probe: of %d launches %d differ from %%smid\n", launches, different);
	return different > 0;
}
