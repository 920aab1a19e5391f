/*
 * range_case.c - see range_case.h.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/range_case.h"

struct range_api rp;

void range_bind(void)
{
#define BIND(name) *(void **)&rp.name = case_symbol(#name)
	BIND(cuptiProfilerInitialize);
	BIND(cuptiDeviceGetChipName);
	BIND(cuptiProfilerGetCounterAvailability);
	BIND(cuptiProfilerHostInitialize);
	BIND(cuptiProfilerHostConfigAddMetrics);
	BIND(cuptiProfilerHostGetConfigImageSize);
	BIND(cuptiProfilerHostGetConfigImage);
	BIND(cuptiProfilerHostEvaluateToGpuValues);
	BIND(cuptiRangeProfilerEnable);
	BIND(cuptiRangeProfilerDisable);
	BIND(cuptiRangeProfilerSetConfig);
	BIND(cuptiRangeProfilerStart);
	BIND(cuptiRangeProfilerStop);
	BIND(cuptiRangeProfilerPushRange);
	BIND(cuptiRangeProfilerDecodeData);
	BIND(cuptiRangeProfilerGetCounterDataSize);
	BIND(cuptiRangeProfilerCounterDataImageInitialize);
	BIND(cuptiRangeProfilerGetCounterDataInfo);
	BIND(cuptiRangeProfilerCounterDataGetRangeInfo);
#undef BIND
}

static void *room(size_t bytes)
{
	void *memory = calloc(1, bytes);

	if (!memory)
		abort();
	return memory;
}

void range_host(struct range_session *s, const char *names)
{
	struct wtcupti_profiler_initialize init = {WTCUPTI_PROFILER_INITIALIZE_BYTES, NULL};
	struct wtcupti_device_get_chip_name chip = {.struct_size =
	                                                    WTCUPTI_DEVICE_GET_CHIP_NAME_BYTES};
	struct wtcupti_profiler_get_counter_availability available = {
	        .struct_size = WTCUPTI_PROFILER_GET_COUNTER_AVAILABILITY_BYTES};
	struct wtcupti_host_initialize host = {.struct_size = WTCUPTI_HOST_INITIALIZE_BYTES,
	                                       .profiler_type = WTCUPTI_PROFILER_RANGE};
	struct wtcupti_host_config_add_metrics add = {
	        .struct_size = WTCUPTI_HOST_CONFIG_ADD_METRICS_BYTES, .names = s->names};
	struct wtcupti_host_get_config_image_size size = {
	        .struct_size = WTCUPTI_HOST_GET_CONFIG_IMAGE_SIZE_BYTES};
	struct wtcupti_host_get_config_image image = {.struct_size =
	                                                      WTCUPTI_HOST_GET_CONFIG_IMAGE_BYTES};

	s->words = strdup(names);
	for (char *name = strtok(s->words, ","); name; name = strtok(NULL, ","))
		s->names[s->name_count++] = name;
	MUST(rp.cuptiProfilerInitialize(&init));
	MUST(rp.cuptiDeviceGetChipName(&chip));
	MUST(rp.cuptiProfilerGetCounterAvailability(&available));
	available.image = room(available.image_bytes);
	MUST(rp.cuptiProfilerGetCounterAvailability(&available));
	host.chip_name = chip.chip_name;
	host.availability_image = available.image;
	MUST(rp.cuptiProfilerHostInitialize(&host));
	s->host = add.object = size.object = image.object = host.object;
	add.count = s->name_count;
	MUST(rp.cuptiProfilerHostConfigAddMetrics(&add));
	MUST(rp.cuptiProfilerHostGetConfigImageSize(&size));
	s->config_bytes = image.image_bytes = size.image_bytes;
	s->config = image.image = room(size.image_bytes);
	MUST(rp.cuptiProfilerHostGetConfigImage(&image));
}

wtcupti_result range_enable(struct range_session *s)
{
	struct wtcupti_range_enable enable = {.struct_size = WTCUPTI_RANGE_ENABLE_BYTES};
	wtcupti_result result = rp.cuptiRangeProfilerEnable(&enable);

	s->object = enable.object;
	return result;
}

static void image_init(struct range_session *s)
{
	struct wtcupti_range_counter_data_image_initialize init = {
	        .struct_size = WTCUPTI_RANGE_COUNTER_DATA_IMAGE_INITIALIZE_BYTES,
	        .object = s->object,
	        .image_bytes = s->image_bytes,
	        .image = s->image,
	};

	MUST(rp.cuptiRangeProfilerCounterDataImageInitialize(&init));
}

void range_image(struct range_session *s, size_t max_ranges)
{
	struct wtcupti_range_get_counter_data_size size = {
	        .struct_size = WTCUPTI_RANGE_GET_COUNTER_DATA_SIZE_BYTES,
	        .object = s->object,
	        .names = s->names,
	        .count = s->name_count,
	        .max_ranges = max_ranges,
	        .max_tree_nodes = (uint32_t)max_ranges,
	};

	MUST(rp.cuptiRangeProfilerGetCounterDataSize(&size));
	s->image_bytes = size.image_bytes;
	s->image = room(size.image_bytes);
	image_init(s);
}

wtcupti_result range_set_config(struct range_session *s, size_t max_ranges_per_pass)
{
	struct wtcupti_range_set_config set = {
	        .struct_size = WTCUPTI_RANGE_SET_CONFIG_BYTES,
	        .object = s->object,
	        .config_bytes = s->config_bytes,
	        .config = s->config,
	        .image_bytes = s->image_bytes,
	        .image = s->image,
	        .range_mode = WTCUPTI_RANGE_AUTO,
	        .replay_mode = WTCUPTI_REPLAY_KERNEL,
	        .max_ranges_per_pass = max_ranges_per_pass,
	        .nesting_levels = 1,
	        .min_nesting_level = 1,
	};

	return rp.cuptiRangeProfilerSetConfig(&set);
}

void range_start(struct range_session *s)
{
	struct wtcupti_range_start start = {.struct_size = WTCUPTI_RANGE_START_BYTES,
	                                    .object = s->object};

	MUST(rp.cuptiRangeProfilerStart(&start));
}

void range_stop(struct range_session *s)
{
	struct wtcupti_range_stop stop = {.struct_size = WTCUPTI_RANGE_STOP_BYTES,
	                                  .object = s->object};

	MUST(rp.cuptiRangeProfilerStop(&stop));
	case_must(!stop.all_passes_submitted, "all passes");
}

void range_disable(struct range_session *s)
{
	struct wtcupti_range_disable disable = {.struct_size = WTCUPTI_RANGE_DISABLE_BYTES,
	                                        .object = s->object};

	MUST(rp.cuptiRangeProfilerDisable(&disable));
}

void range_begin(struct range_session *s, const char *names, size_t max_ranges)
{
	range_bind();
	range_host(s, names);
	MUST(range_enable(s));
	range_image(s, max_ranges);
	MUST(range_set_config(s, max_ranges));
}

size_t range_decode(struct range_session *s, size_t *ret_dropped)
{
	struct wtcupti_range_decode_data decode = {.struct_size = WTCUPTI_RANGE_DECODE_DATA_BYTES,
	                                           .object = s->object};
	struct wtcupti_range_get_counter_data_info info = {
	        .struct_size = WTCUPTI_RANGE_GET_COUNTER_DATA_INFO_BYTES,
	        .image = s->image,
	        .image_bytes = s->image_bytes,
	};

	MUST(rp.cuptiRangeProfilerDecodeData(&decode));
	MUST(rp.cuptiRangeProfilerGetCounterDataInfo(&info));
	if (ret_dropped)
		*ret_dropped = decode.dropped_ranges;
	return info.total_ranges;
}

void range_values(struct range_session *s, size_t index, double *values)
{
	struct wtcupti_host_evaluate_to_gpu_values evaluate = {
	        .struct_size = WTCUPTI_HOST_EVALUATE_TO_GPU_VALUES_BYTES,
	        .object = s->host,
	        .image = s->image,
	        .image_bytes = s->image_bytes,
	        .index = index,
	        .names = s->names,
	        .count = s->name_count,
	        .values = values,
	};

	MUST(rp.cuptiProfilerHostEvaluateToGpuValues(&evaluate));
}
