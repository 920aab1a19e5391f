/*
 * sampler_pm.c - CUPTI's PM sampling of one device: takes the counters, starts and stops, decodes.
 *
 * The hardware writes records into a buffer of the driver's; decoding turns them into samples of a
 * counter data image, and each sample is evaluated by itself. Emptying the image costs as much as it
 * is large, so that is done when it is half full; should decoding not add to what is there but begin
 * anew, the first sample's time tells, and the image is emptied every time.
 *
 * Main thread. May block in the driver: the watchdog is armed around everything here.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sampler.h"
#include "libintercept/internal.h"

#define HARDWARE_BYTES ((size_t)256 << 20) /* about two seconds at 50 us */
#define HARDWARE_BYTES_MIN ((size_t)16 << 20)
#define IMAGE_BYTES ((size_t)16 << 20) /* about */
#define IMAGE_SAMPLES 1024u /* at most */
#define ROUNDS_MAX 8 /* full images at a time, while more samples come: a stretch has to end */
#define MIN_MAX_EVERY 4u /* samples */

/* ---- failing */

static enum wt_sampler_state state_of(wtcupti_result result)
{
	switch (result) {
	case WTCUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
		return WT_SAMPLER_NO_PERMISSION;
	case WTCUPTI_ERROR_HARDWARE_BUSY:
	case WTCUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
		return WT_SAMPLER_BUSY;
	case WTCUPTI_ERROR_API_NOT_IMPLEMENTED:
	case WTCUPTI_ERROR_NOT_COMPATIBLE:
	case WTCUPTI_ERROR_NOT_SUPPORTED:
	case WTCUPTI_ERROR_INVALID_CHIP_NAME:
	case WTCUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
	case WTCUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
	case WTCUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
	case WTCUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED:
	case WTCUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED:
	case WTCUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED:
	case WTCUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED:
		return WT_SAMPLER_UNSUPPORTED;
	default:
		return WT_SAMPLER_FAILED;
	}
}

/* Remembers what failed; WT_SAMPLER_STARTING if it did not. */
static enum wt_sampler_state note(struct wt_pm *pm, const char *call, wtcupti_result result)
{
	if (!result)
		return WT_SAMPLER_STARTING;
	pm->result = result;
	pm->call = call;
	return state_of(result);
}

/* ---- taking the counters */

/* libcupti loads its libnvperf by name alone. Beside it is the right one; loaded, it is found. */
static bool load_nvperf(const char *cupti_path)
{
	static const char *const names[] = {"libnvperf_target.so", "libnvperf_host.so"};
	const char *slash = strrchr(cupti_path, '/');
	int dir_length = slash ? (int)(slash - cupti_path) + 1 : 0;
	char path[WT_TEXT_BYTES + 32];
	void *library = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%.*s%s", dir_length, cupti_path, names[i]);
		library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		if (!library)
			library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	}
	return library != NULL;
}

enum wt_sampler_state wt_pm_find(struct wt_pm *pm)
{
	if (wt_cupti_find(0, &pm->cupti) != WT_REASON_NONE)
		return WT_SAMPLER_NO_CUPTI;
	pm->has_nvperf = load_nvperf(pm->cupti.path);
#define RESOLVE(name, symbol)                                                                      \
	pm->calls.name = (wtcupti_##name##_fn)wt_real_dlsym(pm->cupti.handle, symbol);             \
	if (!pm->calls.name)                                                                       \
		return WT_SAMPLER_NO_CUPTI;
	WT_PM_CALLS(RESOLVE)
#undef RESOLVE
	return WT_SAMPLER_STARTING;
}

static enum wt_sampler_state choose_metrics(struct wt_pm *pm, int ordinal)
{
	struct wtcupti_device_get_chip_name chip = {
	        .struct_size = WTCUPTI_DEVICE_GET_CHIP_NAME_BYTES, .device_index = (size_t)ordinal};
	struct wtcupti_pm_get_counter_availability available = {
	        .struct_size = WTCUPTI_PM_GET_COUNTER_AVAILABILITY_BYTES,
	        .device_index = (size_t)ordinal};
	enum wt_sampler_state state =
	        note(pm, "cuptiDeviceGetChipName", pm->calls.device_get_chip_name(&chip));

	if (!state)
		state = note(pm, "cuptiPmSamplingGetCounterAvailability",
		             pm->calls.pm_get_counter_availability(&available));
	if (state)
		return state;
	available.image = calloc(1, available.image_bytes);
	if (!available.image)
		return note(pm, "calloc", WTCUPTI_ERROR_OUT_OF_MEMORY);
	state = note(pm, "cuptiPmSamplingGetCounterAvailability",
	             pm->calls.pm_get_counter_availability(&available));
	if (!state)
		state = note(pm, "cuptiProfilerHostConfigAddMetrics",
		             wt_pm_metrics_plain(&pm->calls, chip.chip_name, available.image,
		                                 &pm->plain));
	if (!state)
		pm->has_rich =
		        !wt_pm_metrics_rich(&pm->calls, chip.chip_name, available.image, &pm->rich);
	free(available.image);
	return state;
}

static enum wt_sampler_state empty_image(struct wt_pm *pm)
{
	struct wtcupti_pm_counter_data_image_initialize params = {
	        .struct_size = WTCUPTI_PM_COUNTER_DATA_IMAGE_INITIALIZE_BYTES,
	        .object = pm->object,
	        .image = pm->image,
	        .image_bytes = pm->image_bytes};

	pm->image_read = 0;
	return note(pm, "cuptiPmSamplingCounterDataImageInitialize",
	            pm->calls.pm_counter_data_image_initialize(&params));
}

/* For so many samples as fit, about: those of large sets take up to 33 KB each. */
static enum wt_sampler_state make_image(struct wt_pm *pm)
{
	struct wtcupti_pm_get_counter_data_size size = {
	        .struct_size = WTCUPTI_PM_GET_COUNTER_DATA_SIZE_BYTES,
	        .object = pm->object,
	        .names = (const char **)pm->metrics->name,
	        .count = pm->metrics->count,
	        .max_samples = IMAGE_SAMPLES};
	enum wt_sampler_state state;

	for (;;) {
		state = note(pm, "cuptiPmSamplingGetCounterDataSize",
		             pm->calls.pm_get_counter_data_size(&size));
		if (state)
			return state;
		if (size.image_bytes <= IMAGE_BYTES || size.max_samples <= IMAGE_SAMPLES / 8)
			break;
		size.max_samples /= 2;
	}
	free(pm->image);
	pm->image = calloc(1, size.image_bytes);
	pm->image_bytes = size.image_bytes;
	pm->image_samples = size.max_samples;
	return pm->image ? WT_SAMPLER_STARTING : note(pm, "calloc", WTCUPTI_ERROR_OUT_OF_MEMORY);
}

/* How often it samples from the next start on. The buffer is as large as the driver gives. */
static enum wt_sampler_state set_interval(struct wt_pm *pm, uint64_t interval_ns)
{
	struct wtcupti_pm_set_config params = {.struct_size = WTCUPTI_PM_SET_CONFIG_BYTES,
	                                       .object = pm->object,
	                                       .config = pm->metrics->config,
	                                       .config_bytes = pm->metrics->config_bytes,
	                                       .interval = interval_ns,
	                                       .trigger_mode = WTCUPTI_PM_TRIGGER_TIME,
	                                       .append_mode = WTCUPTI_PM_KEEP_OLDEST};
	wtcupti_result result;

	for (;;) {
		params.hardware_buffer_bytes = pm->hardware_bytes;
		result = pm->calls.pm_set_config(&params);
		if (result == WTCUPTI_ERROR_INVALID_PARAMETER &&
		    params.struct_size == WTCUPTI_PM_SET_CONFIG_BYTES) {
			/* that of CUDA 12.6 knows no append mode; oldest is what it does */
			params.struct_size = WTCUPTI_PM_SET_CONFIG_BYTES_CUDA_12_6;
			continue;
		}
		if (result != WTCUPTI_ERROR_OUT_OF_MEMORY ||
		    pm->hardware_bytes <= HARDWARE_BYTES_MIN)
			return note(pm, "cuptiPmSamplingSetConfig", result);
		pm->hardware_bytes /= 2;
	}
}

/* Takes the counters for one set of metrics: another one, and a buffer that ran over, want a new
 * object. A tenth of a second. */
static enum wt_sampler_state enable(struct wt_pm *pm, const struct wt_pm_metrics *metrics)
{
	struct wtcupti_pm_enable params = {.struct_size = WTCUPTI_PM_ENABLE_BYTES,
	                                   .device_index = (size_t)pm->ordinal};
	enum wt_sampler_state state =
	        note(pm, "cuptiPmSamplingEnable", pm->calls.pm_enable(&params));

	if (state)
		return state;
	pm->object = params.object;
	pm->metrics = metrics;
	pm->is_overflown = false;
	return make_image(pm);
}

static void disable(struct wt_pm *pm)
{
	struct wtcupti_pm_disable params = {.struct_size = WTCUPTI_PM_DISABLE_BYTES,
	                                    .object = pm->object};

	if (pm->object)
		(void)pm->calls.pm_disable(&params);
	pm->object = NULL;
}

enum wt_sampler_state wt_pm_open(struct wt_pm *pm, int ordinal)
{
	struct wtcupti_profiler_initialize initialize = {.struct_size =
	                                                         WTCUPTI_PROFILER_INITIALIZE_BYTES};
	enum wt_sampler_state state =
	        note(pm, "cuptiProfilerInitialize", pm->calls.profiler_initialize(&initialize));

	pm->ordinal = ordinal;
	pm->hardware_bytes = HARDWARE_BYTES;
	if (!state)
		state = choose_metrics(pm, ordinal);
	if (state == WT_SAMPLER_FAILED && !pm->has_nvperf &&
	    (pm->result == WTCUPTI_ERROR_NOT_INITIALIZED || pm->result == WTCUPTI_ERROR_UNKNOWN))
		state = WT_SAMPLER_NO_CUPTI; /* a part of it is missing */
	return state ? state : enable(pm, &pm->plain);
}

void wt_pm_close(struct wt_pm *pm)
{
	if (pm->is_running)
		(void)wt_pm_stop(pm);
	disable(pm);
	wt_pm_metrics_fini(&pm->calls, &pm->plain);
	wt_pm_metrics_fini(&pm->calls, &pm->rich);
	free(pm->image);
	pm->image = NULL;
}

/* ---- stretches */

/* With the object that there is. */
static enum wt_sampler_state start(struct wt_pm *pm, uint64_t interval_ns)
{
	struct wtcupti_pm_start params = {.struct_size = WTCUPTI_PM_START_BYTES,
	                                  .object = pm->object};
	enum wt_sampler_state state = set_interval(pm, interval_ns);

	if (!state)
		state = empty_image(pm);
	if (!state)
		state = note(pm, "cuptiPmSamplingStart", pm->calls.pm_start(&params));
	return state;
}

/* One that was used before and does not start may have run over after the last look: again with a new
 * one, and what that says counts. */
enum wt_sampler_state wt_pm_start(struct wt_pm *pm, uint64_t interval_ns, bool is_rich)
{
	const struct wt_pm_metrics *metrics = is_rich && pm->has_rich ? &pm->rich : &pm->plain;
	bool is_usable = pm->object && pm->metrics == metrics && !pm->is_overflown;
	enum wt_sampler_state state = is_usable ? start(pm, interval_ns) : WT_SAMPLER_FAILED;

	if (state == WT_SAMPLER_FAILED) {
		disable(pm);
		pm->result = 0;
		state = enable(pm, metrics);
		if (!state)
			state = start(pm, interval_ns);
	}
	pm->is_running = !state;
	pm->is_first = true;
	return state;
}

enum wt_sampler_state wt_pm_stop(struct wt_pm *pm)
{
	struct wtcupti_pm_stop stop = {.struct_size = WTCUPTI_PM_STOP_BYTES, .object = pm->object};

	pm->is_running = false;
	return note(pm, "cuptiPmSamplingStop", pm->calls.pm_stop(&stop));
}

/* ---- samples */

/* What CUPTI gives for a count; not a number is not known, and no count is negative. */
static float count_of(double value)
{
	return isfinite(value) && value >= 0 ? (float)value : WT_SAMPLE_UNKNOWN;
}

static void fill(struct wt_sample *sample, enum wt_pm_column column, double value)
{
	switch (column) {
	case WT_PM_ACTIVE_AVG:
		sample->active_avg = count_of(value);
		break;
	case WT_PM_ACTIVE_MIN:
		sample->active_min = count_of(value);
		break;
	case WT_PM_ACTIVE_MAX:
		sample->active_max = count_of(value);
		break;
	case WT_PM_ELAPSED:
		sample->elapsed_cycles = isfinite(value) && value >= 0 && value < UINT32_MAX
		                                 ? (uint32_t)(value + 0.5)
		                                 : 0;
		break;
	case WT_PM_WARPS:
		sample->warps = count_of(value);
		break;
	case WT_PM_TENSOR:
		/* percent of its peak; elapsed cycles came before it */
		if (sample->elapsed_cycles)
			sample->tensor = count_of(value / 100.0 * sample->elapsed_cycles);
		break;
	case WT_PM_DRAM_READ:
		sample->dram_read_bytes = count_of(value);
		break;
	case WT_PM_DRAM_WRITE:
		sample->dram_write_bytes = count_of(value);
		break;
	case WT_PM_INSTRUCTIONS:
		sample->instructions = count_of(value);
		sample->flags = sample->instructions >= 0 ? WT_SAMPLE_INSTRUCTIONS : 0;
		break;
	default:
		break;
	}
}

static enum wt_sampler_state evaluate(struct wt_pm *pm, size_t index, size_t from, size_t to,
                                      struct wt_sample *sample)
{
	double values[WT_PM_COLUMNS] = {0};
	struct wtcupti_host_evaluate_to_gpu_values params = {
	        .struct_size = WTCUPTI_HOST_EVALUATE_TO_GPU_VALUES_BYTES,
	        .object = pm->metrics->host,
	        .image = pm->image,
	        .image_bytes = pm->image_bytes,
	        .index = index,
	        .names = (const char **)pm->metrics->name + from,
	        .count = to - from,
	        .values = values};
	enum wt_sampler_state state = note(pm, "cuptiProfilerHostEvaluateToGpuValues",
	                                   pm->calls.host_evaluate_to_gpu_values(&params));

	for (size_t i = from; i < to && !state; i++)
		fill(sample, pm->metrics->column[i], values[i - from]);
	return state;
}

/* The SMs with least and most: of every fourth sample, since it costs; of an idle device for nothing. */
static enum wt_sampler_state read_min_max(struct wt_pm *pm, size_t index, struct wt_sample *sample)
{
	const struct wt_pm_metrics *metrics = pm->metrics;

	if (sample->active_avg == 0) {
		sample->active_min = sample->active_max = 0;
		return WT_SAMPLER_STARTING;
	}
	if (pm->sequence % MIN_MAX_EVERY)
		return WT_SAMPLER_STARTING;
	return evaluate(pm, index, metrics->always_count, metrics->count, sample);
}

/* One sample of the image. One without its time or its first value is none: its duration is 0. */
static enum wt_sampler_state read_sample(struct wt_pm *pm, size_t index,
                                         struct wt_sample *ret_sample)
{
	struct wtcupti_pm_get_sample_info info = {.struct_size = WTCUPTI_PM_GET_SAMPLE_INFO_BYTES,
	                                          .object = pm->object,
	                                          .image = pm->image,
	                                          .image_bytes = pm->image_bytes,
	                                          .index = index};
	struct wt_sample sample = {.active_avg = WT_SAMPLE_UNKNOWN,
	                           .active_min = WT_SAMPLE_UNKNOWN,
	                           .active_max = WT_SAMPLE_UNKNOWN,
	                           .warps = WT_SAMPLE_UNKNOWN,
	                           .tensor = WT_SAMPLE_UNKNOWN,
	                           .dram_read_bytes = WT_SAMPLE_UNKNOWN,
	                           .dram_write_bytes = WT_SAMPLE_UNKNOWN};
	enum wt_sampler_state state = note(pm, "cuptiPmSamplingCounterDataGetSampleInfo",
	                                   pm->calls.pm_get_sample_info(&info));

	if (!state)
		state = evaluate(pm, index, 0, pm->metrics->always_count, &sample);
	if (!state)
		state = read_min_max(pm, index, &sample);
	if (state)
		return state;
	pm->sequence++;
	sample.start_ns = info.start;
	if (info.end > info.start && info.end - info.start <= UINT32_MAX && sample.active_avg >= 0)
		sample.duration_ns = (uint32_t)(info.end - info.start);
	*ret_sample = sample;
	return WT_SAMPLER_STARTING;
}

/* Is the first sample still the one that was read? */
static enum wt_sampler_state check_first(struct wt_pm *pm)
{
	struct wtcupti_pm_get_sample_info info = {.struct_size = WTCUPTI_PM_GET_SAMPLE_INFO_BYTES,
	                                          .object = pm->object,
	                                          .image = pm->image,
	                                          .image_bytes = pm->image_bytes};
	enum wt_sampler_state state = note(pm, "cuptiPmSamplingCounterDataGetSampleInfo",
	                                   pm->calls.pm_get_sample_info(&info));

	if (state || (pm->image_read && info.start == pm->image_first_ns))
		return state;
	pm->is_overwriting |= pm->image_read > 0;
	pm->image_read = 0;
	pm->image_first_ns = info.start;
	return state;
}

/*
 * Samples go on in order, each once. An image that is written over is read from its start again, and
 * holds some that were there before.
 */
static void pass_on(struct wt_pm *pm, const struct wt_sample *sample,
                    void (*deliver)(void *opaque, const struct wt_sample *sample), void *opaque)
{
	if (sample->start_ns <= pm->last_start_ns) {
		pm->repeated++;
		return;
	}
	pm->last_start_ns = sample->start_ns;
	deliver(opaque, sample);
}

/* Delivers the samples of the image that are new. */
static enum wt_sampler_state
read_image(struct wt_pm *pm, void (*deliver)(void *opaque, const struct wt_sample *sample),
           void *opaque)
{
	struct wtcupti_pm_get_counter_data_info info = {
	        .struct_size = WTCUPTI_PM_GET_COUNTER_DATA_INFO_BYTES,
	        .image = pm->image,
	        .image_bytes = pm->image_bytes};
	enum wt_sampler_state state = note(pm, "cuptiPmSamplingGetCounterDataInfo",
	                                   pm->calls.pm_get_counter_data_info(&info));

	if (!state && info.completed_samples)
		state = check_first(pm);
	while (!state && pm->image_read < info.completed_samples) {
		struct wt_sample sample;

		state = read_sample(pm, pm->image_read++, &sample);
		/* The first is as long as the time before the start, and means nothing. */
		if (!state && sample.duration_ns && !pm->is_first)
			pass_on(pm, &sample, deliver, opaque);
		pm->is_first = false;
	}
	return state;
}

enum wt_sampler_state wt_pm_decode(struct wt_pm *pm,
                                   void (*deliver)(void *opaque, const struct wt_sample *sample),
                                   void *opaque)
{
	bool is_overflow = false, is_full;
	int rounds = 0;

	do {
		struct wtcupti_pm_decode_data decode = {.struct_size = WTCUPTI_PM_DECODE_DATA_BYTES,
		                                        .object = pm->object,
		                                        .image = pm->image,
		                                        .image_bytes = pm->image_bytes};
		wtcupti_result result = pm->calls.pm_decode_data(&decode);
		enum wt_sampler_state state;

		/* that is what it says of its buffer, not of memory */
		is_overflow |= decode.overflow || result == WTCUPTI_ERROR_OUT_OF_MEMORY;
		if (result && result != WTCUPTI_ERROR_OUT_OF_MEMORY)
			return note(pm, "cuptiPmSamplingDecodeData", result);
		state = read_image(pm, deliver, opaque);
		/* full of nothing that is complete: not to be tried for ever */
		is_full = !result && decode.stop_reason == WTCUPTI_PM_STOP_IMAGE_FULL &&
		          pm->image_read;
		if (!state && (is_full || pm->image_read >= pm->image_samples / 2 ||
		               (pm->is_overwriting && pm->image_read)))
			state = empty_image(pm);
		if (state)
			return state;
	} while (is_full && (!pm->is_running || ++rounds < ROUNDS_MAX));
	pm->is_overflown |= is_overflow;
	return is_overflow ? WT_SAMPLER_OVERFLOW : WT_SAMPLER_SAMPLING;
}
