/*
 * profile_range.c - CUPTI's range profiler around one launch.
 *
 * Every kernel is a range of its own (auto range), and all metrics are taken in one pass: what more
 * than one would take replays the kernel, which a program may notice that talks to its kernels. So
 * metrics that a single pass does not hold are left out, and without the needed ones there is no
 * profiling.
 *
 * The thread of the launch that is profiled. CUPTI loads libraries at the first call, and setting
 * up takes up to a second; after that a launch costs about 13 ms (measured, H200).
 */
#include "libintercept/profile.h"

/* Not the plain count: that goes up to four a cycle, one of each sub-core. */
#define OF_PEAK ".avg.pct_of_peak_sustained_elapsed"
#define RANGES_MAX 16 /* our launch is one; more mean that somebody else launched */

static const char *const metric_names[WT_PROFILE_METRICS] = {
        [WT_PROFILE_ACTIVE_SUM] = "sm__cycles_active.sum",
        [WT_PROFILE_ACTIVE_MIN] = "sm__cycles_active.min",
        [WT_PROFILE_ACTIVE_MAX] = "sm__cycles_active.max",
        [WT_PROFILE_ELAPSED] = "sm__cycles_elapsed.max",
        [WT_PROFILE_WARPS] = "sm__warps_active.avg",
        [WT_PROFILE_DRAM_READ] = "dram__bytes_read.sum",
        [WT_PROFILE_DRAM_WRITE] = "dram__bytes_write.sum",
};

static void drop_host(struct wt_profile_session *session)
{
	struct wtcupti_host_deinitialize deinitialize = {
	        .struct_size = WTCUPTI_HOST_DEINITIALIZE_BYTES,
	        .object = session->range.host,
	};

	if (session->range.host)
		session->api.host_deinitialize(&deinitialize);
	session->range.host = NULL;
}

/* ---- once for a kind of chip */

static int get_availability(struct wt_profile_session *session, struct wt_profile_bytes *image)
{
	struct wtcupti_profiler_get_counter_availability get = {
	        .struct_size = WTCUPTI_PROFILER_GET_COUNTER_AVAILABILITY_BYTES,
	        .context = session->context,
	};
	int code = session->api.get_availability(&get);

	if (code)
		return code;
	if (!wt_profile_map(image, get.image_bytes))
		return WTCUPTI_ERROR_OUT_OF_MEMORY;
	get.image = image->memory;
	return session->api.get_availability(&get);
}

/* The configuration of the host object, and how many passes it takes. */
static int get_config(struct wt_profile_session *session)
{
	struct wt_profile_range *range = &session->range;
	struct wtcupti_host_get_config_image_size size = {
	        .struct_size = WTCUPTI_HOST_GET_CONFIG_IMAGE_SIZE_BYTES,
	        .object = range->host,
	};
	struct wtcupti_host_get_config_image get = {
	        .struct_size = WTCUPTI_HOST_GET_CONFIG_IMAGE_BYTES,
	        .object = range->host,
	};
	struct wtcupti_host_get_num_of_passes passes = {
	        .struct_size = WTCUPTI_HOST_GET_NUM_OF_PASSES_BYTES,
	};
	int code = session->api.host_config_size(&size);

	if (code)
		return code;
	if (!wt_profile_map(&range->config, size.image_bytes))
		return WTCUPTI_ERROR_OUT_OF_MEMORY;
	get.image = passes.image = range->config.memory;
	get.image_bytes = passes.image_bytes = size.image_bytes;
	code = session->api.host_config(&get);
	if (!code)
		code = session->api.host_passes(&passes);
	range->passes = (uint32_t)passes.passes;
	return code;
}

/* What to try, the best first: how many metrics, and what the tensor pipe is called. */
struct choice {
	uint32_t metrics;
	const char *tensor;
};

static int make_host(struct wt_profile_session *session, const char *chip_name,
                     const uint8_t *availability, const struct choice *choice)
{
	struct wt_profile_range *range = &session->range;
	struct wtcupti_host_initialize initialize = {
	        .struct_size = WTCUPTI_HOST_INITIALIZE_BYTES,
	        .profiler_type = WTCUPTI_PROFILER_RANGE,
	        .chip_name = chip_name,
	        .availability_image = availability,
	};
	struct wtcupti_host_config_add_metrics add = {
	        .struct_size = WTCUPTI_HOST_CONFIG_ADD_METRICS_BYTES,
	        .names = range->names,
	        .count = choice->metrics,
	};
	int code = session->api.host_initialize(&initialize);

	if (code)
		return code;
	range->host = add.object = initialize.object;
	range->metrics = choice->metrics;
	for (int i = 0; i < WT_PROFILE_METRICS; i++)
		range->names[i] = i == WT_PROFILE_TENSOR ? choice->tensor : metric_names[i];
	code = session->api.host_add_metrics(&add);
	if (!code)
		code = get_config(session);
	if (!code && range->passes != 1)
		code = WTCUPTI_ERROR_NOT_SUPPORTED;
	if (code)
		drop_host(session);
	return code;
}

static int choose_metrics(struct wt_profile_session *session)
{
	static const char tensor[] = "sm__pipe_tensor_cycles_active" OF_PEAK;
	static const char hmma[] = "sm__pipe_tensor_op_hmma_cycles_active" OF_PEAK;
	static const struct choice choices[] = {{WT_PROFILE_METRICS, tensor},
	                                        {WT_PROFILE_METRICS, hmma},
	                                        {WT_PROFILE_TENSOR + 1, tensor},
	                                        {WT_PROFILE_TENSOR + 1, hmma},
	                                        {WT_PROFILE_METRICS_NEEDED, tensor}};
	struct wtcupti_device_get_chip_name chip = {
	        .struct_size = WTCUPTI_DEVICE_GET_CHIP_NAME_BYTES,
	        .device_index = (size_t)session->device,
	};
	struct wt_profile_bytes availability = {0};
	int code = session->api.get_chip_name(&chip);

	if (!code)
		code = get_availability(session, &availability);
	if (!code) {
		code = WTCUPTI_ERROR_NOT_SUPPORTED;
		for (size_t i = 0; code && i < sizeof(choices) / sizeof(choices[0]); i++)
			code = make_host(session, chip.chip_name, availability.memory, &choices[i]);
	}
	wt_profile_unmap(&availability);
	if (!code)
		session->host_device = session->device;
	return code;
}

/* ---- for a context */

static int init_image(struct wt_profile_session *session)
{
	struct wtcupti_range_counter_data_image_initialize init = {
	        .struct_size = WTCUPTI_RANGE_COUNTER_DATA_IMAGE_INITIALIZE_BYTES,
	        .object = session->range.object,
	        .image_bytes = session->range.image.bytes,
	        .image = session->range.image.memory,
	};

	return session->api.range_data_init(&init);
}

static int make_image(struct wt_profile_session *session)
{
	struct wtcupti_range_get_counter_data_size size = {
	        .struct_size = WTCUPTI_RANGE_GET_COUNTER_DATA_SIZE_BYTES,
	        .object = session->range.object,
	        .names = session->range.names,
	        .count = session->range.metrics,
	        .max_ranges = RANGES_MAX,
	        .max_tree_nodes = RANGES_MAX,
	};
	int code = session->api.range_data_size(&size);

	if (code)
		return code;
	if (!wt_profile_map(&session->range.image, size.image_bytes))
		return WTCUPTI_ERROR_OUT_OF_MEMORY;
	return init_image(session);
}

static int set_config(struct wt_profile_session *session)
{
	struct wtcupti_range_set_config set = {
	        .struct_size = WTCUPTI_RANGE_SET_CONFIG_BYTES,
	        .object = session->range.object,
	        .config_bytes = session->range.config.bytes,
	        .config = session->range.config.memory,
	        .image_bytes = session->range.image.bytes,
	        .image = session->range.image.memory,
	        .range_mode = WTCUPTI_RANGE_AUTO,
	        .replay_mode = WTCUPTI_REPLAY_KERNEL,
	        .max_ranges_per_pass = RANGES_MAX,
	        .nesting_levels = 1,
	        .min_nesting_level = 1,
	};

	return session->api.range_set_config(&set);
}

int wt_profile_range_open(struct wt_profile_session *session)
{
	struct wtcupti_range_enable enable = {
	        .struct_size = WTCUPTI_RANGE_ENABLE_BYTES,
	        .context = session->context,
	};
	int code = 0;

	if (session->range.host && session->host_device != session->device)
		drop_host(session);
	if (!session->range.host)
		code = choose_metrics(session);
	if (code)
		return code;
	code = session->api.range_enable(&enable);
	if (code)
		return code;
	session->range.object = enable.object;
	code = make_image(session);
	if (!code)
		code = set_config(session);
	if (code)
		wt_profile_range_close(session);
	return code;
}

static int stop(struct wt_profile_session *session)
{
	struct wtcupti_range_stop stop = {
	        .struct_size = WTCUPTI_RANGE_STOP_BYTES,
	        .object = session->range.object,
	};
	int code = session->api.range_stop(&stop);

	session->range.is_started = code != 0;
	return code;
}

/* A stop that failed is tried again: running, it goes on to serialise all launches. */
int wt_profile_range_close(struct wt_profile_session *session)
{
	struct wtcupti_range_disable disable = {
	        .struct_size = WTCUPTI_RANGE_DISABLE_BYTES,
	        .object = session->range.object,
	};
	int code = 0, stop_code = session->range.is_started ? stop(session) : 0;

	if (session->range.object && !stop_code)
		code = session->api.range_disable(&disable);
	if (stop_code || code) { /* CUPTI may still use the image */
		wt_profile_session_abandon(session);
		return stop_code ? stop_code : code;
	}
	session->range.object = NULL;
	wt_profile_unmap(&session->range.image);
	return 0;
}

/* ---- around a launch */

int wt_profile_range_start(struct wt_profile_session *session)
{
	struct wtcupti_range_start start = {
	        .struct_size = WTCUPTI_RANGE_START_BYTES,
	        .object = session->range.object,
	};
	int code = init_image(session);

	if (!code)
		code = session->api.range_start(&start);
	session->range.is_started = !code;
	return code;
}

static int evaluate(struct wt_profile_session *session, double *values)
{
	struct wtcupti_host_evaluate_to_gpu_values evaluate = {
	        .struct_size = WTCUPTI_HOST_EVALUATE_TO_GPU_VALUES_BYTES,
	        .object = session->range.host,
	        .image = session->range.image.memory,
	        .image_bytes = session->range.image.bytes,
	        .names = session->range.names,
	        .count = session->range.metrics,
	        .values = values,
	};

	for (int i = 0; i < WT_PROFILE_METRICS; i++)
		values[i] = -1;
	return session->api.host_evaluate(&evaluate);
}

int wt_profile_range_stop(struct wt_profile_session *session, double values[WT_PROFILE_METRICS],
                          size_t *ret_ranges)
{
	struct wtcupti_range_decode_data decode = {
	        .struct_size = WTCUPTI_RANGE_DECODE_DATA_BYTES,
	        .object = session->range.object,
	};
	struct wtcupti_range_get_counter_data_info info = {
	        .struct_size = WTCUPTI_RANGE_GET_COUNTER_DATA_INFO_BYTES,
	        .image = session->range.image.memory,
	        .image_bytes = session->range.image.bytes,
	};
	int code = stop(session);

	*ret_ranges = 0;
	if (!code)
		code = session->api.range_decode(&decode);
	if (!code)
		code = session->api.range_info(&info);
	if (code)
		return code;
	*ret_ranges = info.total_ranges + decode.dropped_ranges;
	return *ret_ranges == 1 ? evaluate(session, values) : 0;
}
