/*
 * range_cupti.cuh - CUPTI's range profiler for the probes of this folder: counters of one launch (auto
 * range, kernel replay) or of all between two points (user range, one pass), and kernel records meanwhile.
 *
 * Included by one source of each program. One host thread; buffers come back on CUPTI's. Any call that
 * fails ends the program with a line on stderr.
 */
#ifndef RANGE_CUPTI_CUH
#define RANGE_CUPTI_CUH

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda.h>
#include <cuda_runtime.h>
#include <cupti_activity.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_result.h>
#include <cupti_target.h>

#include "cupti_check.cuh"

/* Which counters; set before range_config(). */
static struct {
	std::vector<const char *> metrics;
	CUcontext context;
	CUpti_Profiler_Host_Object *host;
	CUpti_RangeProfiler_Object *profiler;
	std::vector<uint8_t> config, image;
} range;

static void range_config()
{
	PARAMS(Profiler_Initialize, init);
	PARAMS(Device_GetChipName, chip);
	PARAMS(Profiler_GetCounterAvailability, available);
	PARAMS(Profiler_Host_Initialize, host);
	PARAMS(Profiler_Host_ConfigAddMetrics, add);
	PARAMS(Profiler_Host_GetConfigImageSize, size);
	PARAMS(Profiler_Host_GetConfigImage, get);
	std::vector<uint8_t> availability;

	cuCtxGetCurrent(&range.context);
	CHECK_CUPTI(cuptiProfilerInitialize(&init));
	CHECK_CUPTI(cuptiDeviceGetChipName(&chip));
	available.ctx = range.context;
	CHECK_CUPTI(cuptiProfilerGetCounterAvailability(&available));
	availability.resize(available.counterAvailabilityImageSize);
	available.pCounterAvailabilityImage = availability.data();
	CHECK_CUPTI(cuptiProfilerGetCounterAvailability(&available));
	host.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
	host.pChipName = chip.pChipName;
	host.pCounterAvailabilityImage = availability.data();
	CHECK_CUPTI(cuptiProfilerHostInitialize(&host));
	range.host = add.pHostObject = size.pHostObject = get.pHostObject = host.pHostObject;
	add.ppMetricNames = range.metrics.data();
	add.numMetrics = range.metrics.size();
	CHECK_CUPTI(cuptiProfilerHostConfigAddMetrics(&add));
	CHECK_CUPTI(cuptiProfilerHostGetConfigImageSize(&size));
	range.config.resize(size.configImageSize);
	get.configImageSize = range.config.size();
	get.pConfigImage = range.config.data();
	CHECK_CUPTI(cuptiProfilerHostGetConfigImage(&get));
}

static void range_empty_image()
{
	PARAMS(RangeProfiler_CounterDataImage_Initialize, init);

	init.pRangeProfilerObject = range.profiler;
	init.counterDataSize = range.image.size();
	init.pCounterData = range.image.data();
	CHECK_CUPTI(cuptiRangeProfilerCounterDataImageInitialize(&init));
}

/* A new profiler for each way of making ranges. */
static void range_enable(bool is_row)
{
	PARAMS(RangeProfiler_Enable, enable);
	PARAMS(RangeProfiler_GetCounterDataSize, size);
	PARAMS(RangeProfiler_SetConfig, set);

	enable.ctx = range.context;
	CHECK_CUPTI(cuptiRangeProfilerEnable(&enable));
	range.profiler = size.pRangeProfilerObject = set.pRangeProfilerObject =
	        enable.pRangeProfilerObject;
	size.pMetricNames = range.metrics.data();
	size.numMetrics = range.metrics.size();
	size.maxNumOfRanges = size.maxNumRangeTreeNodes = 4;
	CHECK_CUPTI(cuptiRangeProfilerGetCounterDataSize(&size));
	range.image.assign(size.counterDataSize, 0);
	range_empty_image();
	set.configSize = range.config.size();
	set.pConfig = range.config.data();
	set.counterDataImageSize = range.image.size();
	set.pCounterDataImage = range.image.data();
	set.range = is_row ? CUPTI_UserRange : CUPTI_AutoRange;
	set.replayMode = is_row ? CUPTI_UserReplay : CUPTI_KernelReplay;
	set.maxRangesPerPass = 4;
	set.numNestingLevels = set.minNestingLevel = 1;
	set.passIndex = 0;
	set.targetNestingLevel = is_row ? 1 : 0;
	CHECK_CUPTI(cuptiRangeProfilerSetConfig(&set));
}

static void range_disable()
{
	PARAMS(RangeProfiler_Disable, disable);

	disable.pRangeProfilerObject = range.profiler;
	CHECK_CUPTI(cuptiRangeProfilerDisable(&disable));
}

/* Values of the counters over what `work` launches, in the order of range.metrics. */
template <class Work> static std::vector<double> range_count(bool is_row, Work work)
{
	PARAMS(RangeProfiler_Start, start);
	PARAMS(RangeProfiler_Stop, stop);
	PARAMS(RangeProfiler_PushRange, push);
	PARAMS(RangeProfiler_PopRange, pop);
	PARAMS(RangeProfiler_DecodeData, decode);
	PARAMS(Profiler_Host_EvaluateToGpuValues, evaluate);
	std::vector<double> values(range.metrics.size());

	start.pRangeProfilerObject = stop.pRangeProfilerObject = push.pRangeProfilerObject =
	        pop.pRangeProfilerObject = decode.pRangeProfilerObject = range.profiler;
	push.pRangeName = "row";
	CHECK_CUPTI(cuptiRangeProfilerStart(&start));
	if (is_row)
		CHECK_CUPTI(cuptiRangeProfilerPushRange(&push));
	work();
	CHECK(cudaDeviceSynchronize());
	if (is_row)
		CHECK_CUPTI(cuptiRangeProfilerPopRange(&pop));
	CHECK_CUPTI(cuptiRangeProfilerStop(&stop));
	CHECK_CUPTI(cuptiRangeProfilerDecodeData(&decode));
	evaluate.pHostObject = range.host;
	evaluate.pCounterDataImage = range.image.data();
	evaluate.counterDataImageSize = range.image.size();
	evaluate.ppMetricNames = range.metrics.data();
	evaluate.numMetrics = range.metrics.size();
	evaluate.pMetricValues = values.data();
	CHECK_CUPTI(cuptiProfilerHostEvaluateToGpuValues(&evaluate));
	range_empty_image();
	return values;
}

/* ---- kernel records, as a profiler has them made */

static std::atomic<int> buffers_back, kernels_back, kernels_without_times;

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *bytes, size_t *records)
{
	*bytes = 1 << 20;
	*buffer = (uint8_t *)aligned_alloc(8, *bytes);
	*records = 0;
}

static void CUPTIAPI take_buffer(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t used)
{
	CUpti_Activity *record = NULL;

	buffers_back++;
	while (used && cuptiActivityGetNextRecord(buffer, used, &record) == CUPTI_SUCCESS)
		if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
			kernels_back++;
			kernels_without_times += !((const CUpti_ActivityKernel9 *)record)->end;
		}
	free(buffer);
}

/* Before the first CUDA call. */
static void trace_kernels()
{
	CHECK_CUPTI(cuptiActivityRegisterCallbacks(give_buffer, take_buffer));
	CHECK_CUPTI(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
}

#endif /* RANGE_CUPTI_CUH */
