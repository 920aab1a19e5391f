/*
 * pm_cupti.h - the call sequences of CUPTI that pm_probe.c measures: PM sampling from set-up to
 * evaluation, and the range profiler as far as enabling it. Real headers: a check of what the product
 * declares by itself.
 *
 * One thread. Each step prints nothing unless it fails; the first code that is not 0 is kept with the
 * name of its step.
 */
#ifndef PM_CUPTI_H
#define PM_CUPTI_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cuda.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h> /* its <string> is an empty file of build.sh */
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_result.h>
#include <cupti_target.h>

#define PM_METRICS_MAX 16
#define PM_IMAGE_SAMPLES 2048 /* unless a part says otherwise */

struct pm_set {
	const char *name;
	const char *metrics[PM_METRICS_MAX]; /* up to the first NULL */
};

struct pm {
	const struct pm_set *set;
	size_t metric_count;
	const char *chip;
	uint8_t *availability;
	CUpti_Profiler_Host_Object *host;
	CUpti_PmSampling_Object *sampling;
	uint8_t *config;
	size_t config_bytes;
	uint8_t *image;
	size_t image_bytes;
	size_t hardware_bytes;
	size_t evaluated; /* of the metrics; 0: all */
	size_t image_samples; /* 0: PM_IMAGE_SAMPLES */
	const char *failed; /* the step, or NULL */
	int code;
};

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static const char *code_text(int code)
{
	const char *text = NULL;

	if (code == CUPTI_SUCCESS)
		return "ok";
	return cuptiGetResultString((CUptiResult)code, &text) == CUPTI_SUCCESS && text ? text : "?";
}

/* Keeps the first failure. True: go on. */
static bool step(struct pm *pm, const char *what, CUptiResult code)
{
	if (code == CUPTI_SUCCESS)
		return true;
	if (!pm->failed) {
		pm->failed = what;
		pm->code = (int)code;
	}
	return false;
}

#define PARAMS(type, name)                                                                         \
	CUpti_##type##_Params name = {.structSize = CUpti_##type##_Params_STRUCT_SIZE}

/* The driver by dlopen: this program must link where there is none. */
static void *driver_call(const char *name)
{
	static void *driver;

	if (!driver)
		driver = dlopen("libcuda.so.1", RTLD_NOW);
	return driver ? dlsym(driver, name) : NULL;
}

static bool driver_init(struct pm *pm)
{
	CUresult (*init)(unsigned) = (CUresult(*)(unsigned))driver_call("cuInit");

	if (init && init(0) == CUDA_SUCCESS)
		return true;
	return step(pm, "cuInit", CUPTI_ERROR_NOT_INITIALIZED);
}

/* The chip's name and what its counters may be used for. */
static bool pm_device(struct pm *pm)
{
	PARAMS(Profiler_Initialize, init);
	PARAMS(Device_GetChipName, chip);
	PARAMS(PmSampling_GetCounterAvailability, available);

	if (!step(pm, "ProfilerInitialize", cuptiProfilerInitialize(&init)) ||
	    !step(pm, "DeviceGetChipName", cuptiDeviceGetChipName(&chip)))
		return false;
	pm->chip = chip.pChipName;
	if (!step(pm, "PmSamplingGetCounterAvailability",
	          cuptiPmSamplingGetCounterAvailability(&available)))
		return false;
	pm->availability = calloc(1, available.counterAvailabilityImageSize);
	available.pCounterAvailabilityImage = pm->availability;
	return step(pm, "PmSamplingGetCounterAvailability",
	            cuptiPmSamplingGetCounterAvailability(&available));
}

static bool pm_host(struct pm *pm, CUpti_ProfilerType type)
{
	PARAMS(Profiler_Host_Initialize, host);

	host.profilerType = type;
	host.pChipName = pm->chip;
	host.pCounterAvailabilityImage = pm->availability;
	if (!step(pm, "ProfilerHostInitialize", cuptiProfilerHostInitialize(&host)))
		return false;
	pm->host = host.pHostObject;
	return true;
}

/* The configuration image of pm->set. */
static bool pm_configure(struct pm *pm)
{
	PARAMS(Profiler_Host_ConfigAddMetrics, add);
	PARAMS(Profiler_Host_GetConfigImageSize, size);
	PARAMS(Profiler_Host_GetConfigImage, get);

	while (pm->metric_count < PM_METRICS_MAX && pm->set->metrics[pm->metric_count])
		pm->metric_count++;
	add.pHostObject = size.pHostObject = get.pHostObject = pm->host;
	add.ppMetricNames = (const char **)pm->set->metrics;
	add.numMetrics = pm->metric_count;
	if (!step(pm, "ConfigAddMetrics", cuptiProfilerHostConfigAddMetrics(&add)) ||
	    !step(pm, "GetConfigImageSize", cuptiProfilerHostGetConfigImageSize(&size)))
		return false;
	pm->config_bytes = size.configImageSize;
	pm->config = calloc(1, pm->config_bytes);
	get.configImageSize = pm->config_bytes;
	get.pConfigImage = pm->config;
	return step(pm, "GetConfigImage", cuptiProfilerHostGetConfigImage(&get));
}

static size_t pm_passes(struct pm *pm)
{
	PARAMS(Profiler_Host_GetNumOfPasses, passes);

	passes.configImageSize = pm->config_bytes;
	passes.pConfigImage = pm->config;
	step(pm, "GetNumOfPasses", cuptiProfilerHostGetNumOfPasses(&passes));
	return passes.numOfPasses;
}

static bool pm_enable(struct pm *pm)
{
	PARAMS(PmSampling_Enable, enable);

	if (!step(pm, "PmSamplingEnable", cuptiPmSamplingEnable(&enable)))
		return false;
	pm->sampling = enable.pPmSamplingObject;
	return true;
}

static bool pm_set_config(struct pm *pm, uint64_t interval_ns)
{
	PARAMS(PmSampling_SetConfig, set);

	set.pPmSamplingObject = pm->sampling;
	set.configSize = pm->config_bytes;
	set.pConfig = pm->config;
	set.hardwareBufferSize = pm->hardware_bytes;
	set.samplingInterval = interval_ns;
	set.triggerMode = CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL;
	set.hwBufferAppendMode = CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST;
	return step(pm, "PmSamplingSetConfig", cuptiPmSamplingSetConfig(&set));
}

static bool pm_empty_image(struct pm *pm)
{
	PARAMS(PmSampling_CounterDataImage_Initialize, init);

	init.pPmSamplingObject = pm->sampling;
	init.counterDataSize = pm->image_bytes;
	init.pCounterData = pm->image;
	return step(pm, "CounterDataImageInitialize",
	            cuptiPmSamplingCounterDataImageInitialize(&init));
}

static bool pm_make_image(struct pm *pm)
{
	PARAMS(PmSampling_GetCounterDataSize, size);

	size.pPmSamplingObject = pm->sampling;
	size.pMetricNames = (const char **)pm->set->metrics;
	size.numMetrics = pm->metric_count;
	if (!pm->image_samples)
		pm->image_samples = PM_IMAGE_SAMPLES;
	size.maxSamples = pm->image_samples;
	if (!step(pm, "GetCounterDataSize", cuptiPmSamplingGetCounterDataSize(&size)))
		return false;
	pm->image_bytes = size.counterDataSize;
	pm->image = calloc(1, pm->image_bytes);
	return pm_empty_image(pm);
}

static bool pm_start(struct pm *pm)
{
	PARAMS(PmSampling_Start, start);

	start.pPmSamplingObject = pm->sampling;
	return step(pm, "PmSamplingStart", cuptiPmSamplingStart(&start));
}

static bool pm_stop(struct pm *pm)
{
	PARAMS(PmSampling_Stop, stop);

	stop.pPmSamplingObject = pm->sampling;
	return step(pm, "PmSamplingStop", cuptiPmSamplingStop(&stop));
}

static bool pm_disable(struct pm *pm)
{
	PARAMS(PmSampling_Disable, disable);

	disable.pPmSamplingObject = pm->sampling;
	return step(pm, "PmSamplingDisable", cuptiPmSamplingDisable(&disable));
}

/* From nothing to sampling. */
static bool pm_begin(struct pm *pm, uint64_t interval_ns)
{
	return driver_init(pm) && pm_device(pm) && pm_host(pm, CUPTI_PROFILER_TYPE_PM_SAMPLING) &&
	       pm_configure(pm) && pm_enable(pm) && pm_set_config(pm, interval_ns) &&
	       pm_make_image(pm) && pm_start(pm);
}

#endif /* PM_CUPTI_H */
