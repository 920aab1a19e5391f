/*
 * pm_case.h - PM sampling over the simulated CUPTI, for tests of it: the calls
 * bound, and a session from set-up to samples. In a case's child (fake_case.h),
 * one thread.
 */
#ifndef PM_CASE_H
#define PM_CASE_H

#include "libintercept/cupti_profiler_abi.h"
#include "tests/unit/fake_case.h"

struct pm_api {
	wtcupti_profiler_initialize_fn cuptiProfilerInitialize;
	wtcupti_profiler_deinitialize_fn cuptiProfilerDeInitialize;
	wtcupti_device_get_chip_name_fn cuptiDeviceGetChipName;
	wtcupti_profiler_device_supported_fn cuptiProfilerDeviceSupported;
	wtcupti_host_initialize_fn cuptiProfilerHostInitialize;
	wtcupti_host_deinitialize_fn cuptiProfilerHostDeinitialize;
	wtcupti_host_config_add_metrics_fn cuptiProfilerHostConfigAddMetrics;
	wtcupti_host_get_config_image_size_fn cuptiProfilerHostGetConfigImageSize;
	wtcupti_host_get_config_image_fn cuptiProfilerHostGetConfigImage;
	wtcupti_host_get_num_of_passes_fn cuptiProfilerHostGetNumOfPasses;
	wtcupti_host_evaluate_to_gpu_values_fn cuptiProfilerHostEvaluateToGpuValues;
	wtcupti_pm_enable_fn cuptiPmSamplingEnable;
	wtcupti_pm_disable_fn cuptiPmSamplingDisable;
	wtcupti_pm_set_config_fn cuptiPmSamplingSetConfig;
	wtcupti_pm_start_fn cuptiPmSamplingStart;
	wtcupti_pm_stop_fn cuptiPmSamplingStop;
	wtcupti_pm_decode_data_fn cuptiPmSamplingDecodeData;
	wtcupti_pm_get_counter_availability_fn cuptiPmSamplingGetCounterAvailability;
	wtcupti_pm_get_counter_data_size_fn cuptiPmSamplingGetCounterDataSize;
	wtcupti_pm_counter_data_image_initialize_fn cuptiPmSamplingCounterDataImageInitialize;
	wtcupti_pm_get_counter_data_info_fn cuptiPmSamplingGetCounterDataInfo;
	wtcupti_pm_get_sample_info_fn cuptiPmSamplingCounterDataGetSampleInfo;
};
extern struct pm_api pm;

#define PM_METRICS_MAX 16
struct pm_session {
	size_t device_index;
	char *words; /* where the names are */
	const char *names[PM_METRICS_MAX];
	size_t name_count;
	struct wtcupti_host_object *host;
	struct wtcupti_pm_object *object;
	uint8_t *config, *image;
	size_t config_bytes, image_bytes;
	uint32_t max_samples;
};

void pm_bind(void);
/* The steps, in their order; each ends the child if a call fails. */
void pm_host(struct pm_session *s, const char *names); /* separated by commas */
void pm_enable(struct pm_session *s);
wtcupti_result pm_set_config(struct pm_session *s, uint64_t interval_ns);
void pm_image(struct pm_session *s, uint32_t max_samples);
void pm_start(struct pm_session *s);
void pm_stop(struct pm_session *s);
void pm_disable(struct pm_session *s);
/* All of the above up to the start. */
void pm_begin(struct pm_session *s, const char *names, uint64_t interval_ns, uint32_t max_samples);

typedef void (*pm_sample_fn)(void *data, uint64_t start_ns, uint64_t end_ns, const double *values);
/*
 * Decodes, a few images at most: on a slow machine new samples come as fast as old ones go. The
 * number of samples, or -1 if the hardware buffer overflowed.
 */
int pm_drain(struct pm_session *s, pm_sample_fn fn, void *data);

#endif /* PM_CASE_H */
