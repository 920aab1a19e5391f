/*
 * range_case.h - the range profiler over the simulated CUPTI, for tests of it:
 * the calls bound, and a session. In a case's child (fake_case.h), one thread.
 */
#ifndef RANGE_CASE_H
#define RANGE_CASE_H

#include "libintercept/cupti_profiler_abi.h"
#include "tests/unit/fake_case.h"

struct range_api {
	wtcupti_profiler_initialize_fn cuptiProfilerInitialize;
	wtcupti_device_get_chip_name_fn cuptiDeviceGetChipName;
	wtcupti_profiler_get_counter_availability_fn cuptiProfilerGetCounterAvailability;
	wtcupti_host_initialize_fn cuptiProfilerHostInitialize;
	wtcupti_host_config_add_metrics_fn cuptiProfilerHostConfigAddMetrics;
	wtcupti_host_get_config_image_size_fn cuptiProfilerHostGetConfigImageSize;
	wtcupti_host_get_config_image_fn cuptiProfilerHostGetConfigImage;
	wtcupti_host_evaluate_to_gpu_values_fn cuptiProfilerHostEvaluateToGpuValues;
	wtcupti_range_enable_fn cuptiRangeProfilerEnable;
	wtcupti_range_disable_fn cuptiRangeProfilerDisable;
	wtcupti_range_set_config_fn cuptiRangeProfilerSetConfig;
	wtcupti_range_start_fn cuptiRangeProfilerStart;
	wtcupti_range_stop_fn cuptiRangeProfilerStop;
	wtcupti_range_push_fn cuptiRangeProfilerPushRange;
	wtcupti_range_decode_data_fn cuptiRangeProfilerDecodeData;
	wtcupti_range_get_counter_data_size_fn cuptiRangeProfilerGetCounterDataSize;
	wtcupti_range_counter_data_image_initialize_fn cuptiRangeProfilerCounterDataImageInitialize;
	wtcupti_range_get_counter_data_info_fn cuptiRangeProfilerGetCounterDataInfo;
	wtcupti_range_get_range_info_fn cuptiRangeProfilerCounterDataGetRangeInfo;
};
extern struct range_api rp;

#define RANGE_METRICS_MAX 16
struct range_session {
	char *words; /* where the names are */
	const char *names[RANGE_METRICS_MAX];
	size_t name_count;
	struct wtcupti_host_object *host;
	struct wtcupti_range_object *object;
	uint8_t *config, *image;
	size_t config_bytes, image_bytes;
};

void range_bind(void);
/* The steps, in their order; each ends the child if a call fails. The context is the current one. */
void range_host(struct range_session *s, const char *names); /* separated by commas */
wtcupti_result range_enable(struct range_session *s);
void range_image(struct range_session *s, size_t max_ranges);
wtcupti_result range_set_config(struct range_session *s, size_t max_ranges_per_pass);
void range_start(struct range_session *s);
void range_stop(struct range_session *s);
void range_disable(struct range_session *s);
/* All of the above but the start. */
void range_begin(struct range_session *s, const char *names, size_t max_ranges);
/* Decodes; the number of ranges. */
size_t range_decode(struct range_session *s, size_t *ret_dropped);
void range_values(struct range_session *s, size_t index, double *values);

#endif /* RANGE_CASE_H */
