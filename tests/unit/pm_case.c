/*
 * pm_case.c - see pm_case.h.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/pm_case.h"

#define IMAGES_MAX 20

struct pm_api pm;

void pm_bind(void)
{
#define BIND(name) *(void **)&pm.name = case_symbol(#name)
	BIND(cuptiProfilerInitialize);
	BIND(cuptiProfilerDeInitialize);
	BIND(cuptiDeviceGetChipName);
	BIND(cuptiProfilerDeviceSupported);
	BIND(cuptiProfilerHostInitialize);
	BIND(cuptiProfilerHostDeinitialize);
	BIND(cuptiProfilerHostConfigAddMetrics);
	BIND(cuptiProfilerHostGetConfigImageSize);
	BIND(cuptiProfilerHostGetConfigImage);
	BIND(cuptiProfilerHostGetNumOfPasses);
	BIND(cuptiProfilerHostEvaluateToGpuValues);
	BIND(cuptiPmSamplingEnable);
	BIND(cuptiPmSamplingDisable);
	BIND(cuptiPmSamplingSetConfig);
	BIND(cuptiPmSamplingStart);
	BIND(cuptiPmSamplingStop);
	BIND(cuptiPmSamplingDecodeData);
	BIND(cuptiPmSamplingGetCounterAvailability);
	BIND(cuptiPmSamplingGetCounterDataSize);
	BIND(cuptiPmSamplingCounterDataImageInitialize);
	BIND(cuptiPmSamplingGetCounterDataInfo);
	BIND(cuptiPmSamplingCounterDataGetSampleInfo);
#undef BIND
}

static void *room(size_t bytes)
{
	void *memory = calloc(1, bytes);

	if (!memory)
		abort();
	return memory;
}

void pm_host(struct pm_session *s, const char *names)
{
	struct wtcupti_profiler_initialize init = {WTCUPTI_PROFILER_INITIALIZE_BYTES, NULL};
	struct wtcupti_device_get_chip_name chip = {.struct_size =
	                                                    WTCUPTI_DEVICE_GET_CHIP_NAME_BYTES};
	struct wtcupti_pm_get_counter_availability available = {
	        .struct_size = WTCUPTI_PM_GET_COUNTER_AVAILABILITY_BYTES};
	struct wtcupti_host_initialize host = {.struct_size = WTCUPTI_HOST_INITIALIZE_BYTES,
	                                       .profiler_type = WTCUPTI_PROFILER_PM_SAMPLING};
	struct wtcupti_host_config_add_metrics add = {
	        .struct_size = WTCUPTI_HOST_CONFIG_ADD_METRICS_BYTES, .names = s->names};
	struct wtcupti_host_get_config_image_size size = {
	        .struct_size = WTCUPTI_HOST_GET_CONFIG_IMAGE_SIZE_BYTES};
	struct wtcupti_host_get_config_image image = {.struct_size =
	                                                      WTCUPTI_HOST_GET_CONFIG_IMAGE_BYTES};

	s->words = strdup(names);
	for (char *name = strtok(s->words, ","); name; name = strtok(NULL, ","))
		s->names[s->name_count++] = name;
	MUST(api.cuInit(0));
	MUST(pm.cuptiProfilerInitialize(&init));
	MUST(pm.cuptiDeviceGetChipName(&chip));
	MUST(pm.cuptiPmSamplingGetCounterAvailability(&available));
	available.image = room(available.image_bytes);
	MUST(pm.cuptiPmSamplingGetCounterAvailability(&available));
	host.chip_name = chip.chip_name;
	host.availability_image = available.image;
	MUST(pm.cuptiProfilerHostInitialize(&host));
	s->host = add.object = size.object = image.object = host.object;
	add.count = s->name_count;
	MUST(pm.cuptiProfilerHostConfigAddMetrics(&add));
	MUST(pm.cuptiProfilerHostGetConfigImageSize(&size));
	s->config_bytes = image.image_bytes = size.image_bytes;
	s->config = image.image = room(size.image_bytes);
	MUST(pm.cuptiProfilerHostGetConfigImage(&image));
	free(available.image);
}

void pm_enable(struct pm_session *s)
{
	struct wtcupti_pm_enable enable = {.struct_size = WTCUPTI_PM_ENABLE_BYTES,
	                                   .device_index = s->device_index};

	MUST(pm.cuptiPmSamplingEnable(&enable));
	s->object = enable.object;
}

wtcupti_result pm_set_config(struct pm_session *s, uint64_t interval_ns)
{
	struct wtcupti_pm_set_config set = {
	        .struct_size = WTCUPTI_PM_SET_CONFIG_BYTES,
	        .object = s->object,
	        .config_bytes = s->config_bytes,
	        .config = s->config,
	        .hardware_buffer_bytes = 512u << 20,
	        .interval = interval_ns,
	        .trigger_mode = WTCUPTI_PM_TRIGGER_TIME,
	        .append_mode = WTCUPTI_PM_KEEP_OLDEST,
	};

	return pm.cuptiPmSamplingSetConfig(&set);
}

static void image_init(struct pm_session *s)
{
	struct wtcupti_pm_counter_data_image_initialize init = {
	        .struct_size = WTCUPTI_PM_COUNTER_DATA_IMAGE_INITIALIZE_BYTES,
	        .object = s->object,
	        .image_bytes = s->image_bytes,
	        .image = s->image,
	};

	MUST(pm.cuptiPmSamplingCounterDataImageInitialize(&init));
}

void pm_image(struct pm_session *s, uint32_t max_samples)
{
	struct wtcupti_pm_get_counter_data_size size = {
	        .struct_size = WTCUPTI_PM_GET_COUNTER_DATA_SIZE_BYTES,
	        .object = s->object,
	        .names = s->names,
	        .count = s->name_count,
	        .max_samples = max_samples,
	};

	MUST(pm.cuptiPmSamplingGetCounterDataSize(&size));
	s->max_samples = max_samples;
	s->image_bytes = size.image_bytes;
	s->image = room(size.image_bytes);
	image_init(s);
}

void pm_start(struct pm_session *s)
{
	struct wtcupti_pm_start start = {.struct_size = WTCUPTI_PM_START_BYTES,
	                                 .object = s->object};

	MUST(pm.cuptiPmSamplingStart(&start));
}

void pm_stop(struct pm_session *s)
{
	struct wtcupti_pm_stop stop = {.struct_size = WTCUPTI_PM_STOP_BYTES, .object = s->object};

	MUST(pm.cuptiPmSamplingStop(&stop));
}

void pm_disable(struct pm_session *s)
{
	struct wtcupti_pm_disable disable = {.struct_size = WTCUPTI_PM_DISABLE_BYTES,
	                                     .object = s->object};

	MUST(pm.cuptiPmSamplingDisable(&disable));
}

void pm_begin(struct pm_session *s, const char *names, uint64_t interval_ns, uint32_t max_samples)
{
	pm_host(s, names);
	pm_enable(s);
	MUST(pm_set_config(s, interval_ns));
	pm_image(s, max_samples);
	pm_start(s);
}

static void sample_take(struct pm_session *s, size_t index, pm_sample_fn fn, void *data)
{
	double values[PM_METRICS_MAX];
	struct wtcupti_pm_get_sample_info info = {
	        .struct_size = WTCUPTI_PM_GET_SAMPLE_INFO_BYTES,
	        .object = s->object,
	        .image = s->image,
	        .image_bytes = s->image_bytes,
	        .index = index,
	};
	struct wtcupti_host_evaluate_to_gpu_values values_of = {
	        .struct_size = WTCUPTI_HOST_EVALUATE_TO_GPU_VALUES_BYTES,
	        .object = s->host,
	        .image = s->image,
	        .image_bytes = s->image_bytes,
	        .index = index,
	        .names = s->names,
	        .count = s->name_count,
	        .values = values,
	};

	MUST(pm.cuptiPmSamplingCounterDataGetSampleInfo(&info));
	MUST(pm.cuptiProfilerHostEvaluateToGpuValues(&values_of));
	fn(data, info.start, info.end, values);
}

int pm_drain(struct pm_session *s, pm_sample_fn fn, void *data)
{
	int count = 0;

	for (int images = 0;; images++) {
		struct wtcupti_pm_decode_data decode = {
		        .struct_size = WTCUPTI_PM_DECODE_DATA_BYTES,
		        .object = s->object,
		        .image = s->image,
		        .image_bytes = s->image_bytes,
		};
		struct wtcupti_pm_get_counter_data_info info = {
		        .struct_size = WTCUPTI_PM_GET_COUNTER_DATA_INFO_BYTES,
		        .image = s->image,
		        .image_bytes = s->image_bytes,
		};

		if (pm.cuptiPmSamplingDecodeData(&decode))
			return -1;
		MUST(pm.cuptiPmSamplingGetCounterDataInfo(&info));
		for (size_t i = 0; fn && i < info.completed_samples; i++)
			sample_take(s, i, fn, data);
		count += (int)info.completed_samples;
		image_init(s);
		if (decode.stop_reason != WTCUPTI_PM_STOP_IMAGE_FULL || images == IMAGES_MAX)
			return count;
	}
}
