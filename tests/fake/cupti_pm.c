/*
 * cupti_pm.c - PM sampling of the simulated CUPTI: the calls, in the order in
 * which they must come, and a hardware buffer that overflows.
 *
 * Any thread; under prof_lock. Samples are made when they are decoded, from
 * what the device did. A call out of order is fatal where the real one would
 * refuse it: a client that does its work does not make it.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/fake/cupti_prof.h"

#define HARDWARE_BYTES_PER_SAMPLE 768 /* 512 MiB were full within a second at 1-2 us */

struct wtcupti_pm_object {
	struct wtcupti_pm_object *next;
	uint32_t number;
	bool is_enabled, is_configured, is_started, has_started;
	bool has_overflowed; /* as long as it is enabled: nothing works any more */
	bool is_spoilt; /* by a second set of metrics: no sample comes, no image is made anew */
	struct fake_device_facts facts;
	struct prof_gpu *gpu;
	prof_set set; /* configured */
	prof_set data_set; /* that counter data was asked for, */
	size_t data_bytes; /* ... and its size */
	int64_t interval_ns;
	int64_t buffer_samples;
	bool keeps_latest;
	int64_t started_ns, stopped_ns;
	int64_t first_ns; /* when the first sample of this stretch begins */
	int64_t sample; /* the next one of this stretch */
};
static struct wtcupti_pm_object *objects; /* never freed: stale ones are told from good ones */

static struct wtcupti_pm_object *object_of(const char *call, struct wtcupti_pm_object *o)
{
	struct wtcupti_pm_object *at = objects;

	while (at && at != o)
		at = at->next;
	if (!at || !at->is_enabled)
		prof_die("%s: PM sampling is not enabled", call);
	return o;
}

/* The clock of the counters: CUPTI's, and how far it is off that. */
static uint64_t pm_time(const struct wtcupti_pm_object *o, int64_t real_ns)
{
	double since_ns = (double)(real_ns - o->started_ns);

	return cupti_time(real_ns) + (uint64_t)fake_env_i64("WTFAKE_PM_OFFSET_NS", 0) +
	       (uint64_t)(int64_t)(since_ns * fake_env_double("WTFAKE_PM_DRIFT_PPM", 0) / 1e6);
}

static wtcupti_result enable(const char *call, struct wtcupti_pm_enable *p)
{
	struct wtcupti_pm_object *o;
	struct fake_device_facts facts;
	wtcupti_result result;

	prof_check_initialized(call);
	if (!cupti.driver->device((uint32_t)p->device_index, &facts))
		return WTCUPTI_ERROR_INVALID_DEVICE;
	if (prof_unsupported())
		return prof_unsupported();
	if (!prof_has_pm())
		return WTCUPTI_ERROR_NOT_SUPPORTED;
	for (o = objects; o; o = o->next)
		if (o->is_enabled && o->facts.place == facts.place)
			return WTCUPTI_ERROR_INVALID_OPERATION;
	result = prof_device_take(&facts);
	if (result)
		return result;
	o = calloc(1, sizeof(*o));
	if (!o)
		abort();
	o->number = objects ? objects->number + 1 : 1;
	o->is_enabled = true;
	o->facts = facts;
	o->stopped_ns = fake_now_ns();
	o->gpu = prof_gpu_open(&facts);
	o->next = objects;
	objects = o;
	p->object = o;
	return WTCUPTI_SUCCESS;
}

static wtcupti_result disable(const char *call, struct wtcupti_pm_disable *p)
{
	struct wtcupti_pm_object *o = object_of(call, p->object);

	if (o->is_started)
		prof_die("%s: sampling has not been stopped", call);
	prof_gpu_close(o->gpu);
	o->gpu = NULL;
	o->is_enabled = false;
	prof_device_give(&o->facts);
	return WTCUPTI_SUCCESS;
}

/* append_mode came with CUDA 12.8. */
static size_t set_config_bytes(const struct wtcupti_pm_set_config *p)
{
	bool is_old = cupti_version() < WTCUPTI_API_VERSION_CUDA_12_8;

	return is_old || (p && p->struct_size == WTCUPTI_PM_SET_CONFIG_BYTES_CUDA_12_6)
	               ? WTCUPTI_PM_SET_CONFIG_BYTES_CUDA_12_6
	               : WTCUPTI_PM_SET_CONFIG_BYTES;
}

static wtcupti_result set_config(const char *call, struct wtcupti_pm_set_config *p)
{
	struct wtcupti_pm_object *o = object_of(call, p->object);
	const struct prof_config *config =
	        prof_config_of(call, p->config, p->config_bytes, WTCUPTI_PROFILER_PM_SAMPLING);

	if (o->is_started)
		prof_die("%s: while sampling", call);
	if (!p->interval || !p->hardware_buffer_bytes)
		return WTCUPTI_ERROR_INVALID_PARAMETER;
	if (config->passes > 1 || p->trigger_mode != WTCUPTI_PM_TRIGGER_TIME)
		return WTCUPTI_ERROR_NOT_SUPPORTED;
	if (o->has_overflowed)
		return WTCUPTI_ERROR_UNKNOWN;
	o->is_spoilt |= o->set && o->set != config->set;
	o->set = config->set;
	o->interval_ns = (int64_t)p->interval;
	o->keeps_latest = p->struct_size == WTCUPTI_PM_SET_CONFIG_BYTES &&
	                  p->append_mode == WTCUPTI_PM_KEEP_LATEST;
	o->buffer_samples =
	        fake_env_i64("WTFAKE_PM_BUFFER_SAMPLES",
	                     (int64_t)(p->hardware_buffer_bytes / HARDWARE_BYTES_PER_SAMPLE));
	o->is_configured = true;
	return WTCUPTI_SUCCESS;
}

static wtcupti_result start(const char *call, struct wtcupti_pm_start *p)
{
	struct wtcupti_pm_object *o = object_of(call, p->object);

	if (!o->is_configured)
		prof_die("%s before cuptiPmSamplingSetConfig", call);
	if (o->is_started)
		prof_die("%s: a second time", call);
	if (o->has_overflowed)
		return WTCUPTI_ERROR_UNKNOWN;
	o->is_started = o->has_started = true;
	o->first_ns = o->stopped_ns;
	o->started_ns = fake_now_ns();
	o->sample = 0;
	return WTCUPTI_SUCCESS;
}

static wtcupti_result stop(const char *call, struct wtcupti_pm_stop *p)
{
	struct wtcupti_pm_object *o = object_of(call, p->object);

	if (!o->is_started)
		prof_die("%s: not started", call);
	o->is_started = false;
	o->stopped_ns = fake_now_ns();
	return WTCUPTI_SUCCESS;
}

/* ---- samples --------------------------------------------------------------------------- */

/*
 * When a sample begins: the first when sampling was enabled or stopped, so it is as long as the time
 * before the start. WTFAKE_PM_JITTER_NS: up to so much later than it should.
 */
static int64_t sample_start_ns(const struct wtcupti_pm_object *o, int64_t sample)
{
	int64_t jitter_ns = fake_env_i64("WTFAKE_PM_JITTER_NS", 0);
	uint64_t hash = (uint64_t)(sample + 1) * 0x9E3779B97F4A7C15ull >> 33;

	if (!sample)
		return o->first_ns;
	return o->started_ns + sample * o->interval_ns +
	       (jitter_ns > 0 ? (int64_t)(hash % (uint64_t)jitter_ns) : 0);
}

/* Up to when all is known that the hardware buffer has. */
static int64_t known_ns(struct wtcupti_pm_object *o)
{
	int64_t want_ns = o->stopped_ns;
	int64_t got_ns;

	if (o->is_started)
		return prof_gpu_read(o->gpu,
		                     fake_now_ns() - fake_env_i64("WTFAKE_PM_LAG_US", 2000) * 1000);
	/* After the stop there is no later: what a process is about to enqueue is waited for. */
	for (int i = 0; (got_ns = prof_gpu_read(o->gpu, want_ns)) < want_ns && i < 3000; i++)
		fake_sleep_until_ns(fake_now_ns() + 1000000);
	return got_ns;
}

/* More samples than the buffer holds: the oldest are gone, or all that come. */
static void buffer_check(struct wtcupti_pm_object *o)
{
	int64_t until_ns = o->is_started ? fake_now_ns() : o->stopped_ns;
	int64_t held = (until_ns - o->started_ns) / o->interval_ns - o->sample;

	if (held <= o->buffer_samples || o->has_overflowed)
		return;
	cupti_count("pm_overflows");
	if (o->keeps_latest)
		o->sample += held - o->buffer_samples;
	else
		o->has_overflowed = true;
}

static void sample_make(struct wtcupti_pm_object *o, struct prof_data *data)
{
	struct prof_row *row = &prof_rows(data)[data->count++];
	int64_t start_ns = sample_start_ns(o, o->sample);
	int64_t end_ns = sample_start_ns(o, o->sample + 1);

	prof_gpu_window(o->gpu, start_ns, end_ns, row);
	row->start_ns = (int64_t)pm_time(o, start_ns);
	row->end_ns = (int64_t)pm_time(o, end_ns);
	o->sample++;
}

static wtcupti_result decode(const char *call, struct wtcupti_pm_decode_data *p)
{
	struct wtcupti_pm_object *o = object_of(call, p->object);
	struct prof_data *data =
	        prof_data_of(call, p->image, p->image_bytes, WTCUPTI_PROFILER_PM_SAMPLING);
	uint64_t drop_every = (uint64_t)fake_env_i64("WTFAKE_PM_DROP_EVERY", 0);
	int64_t anew = fake_env_i64("WTFAKE_PM_ANEW", 0);
	int64_t until_ns;

	if (!o->has_started)
		prof_die("%s before cuptiPmSamplingStart", call);
	if (data->owner != o->number)
		prof_die("%s: counter data of another object", call);
	if (data->set & ~o->set)
		prof_die("%s: counter data for metrics that are not configured", call);
	if (anew) {
		int64_t again = anew - 1 < (int64_t)data->count ? anew - 1 : (int64_t)data->count;

		o->sample -= again < o->sample ? again : o->sample;
		data->count = 0;
	}
	until_ns = known_ns(o);
	buffer_check(o);
	p->overflow = o->has_overflowed;
	p->stop_reason = WTCUPTI_PM_STOP_OTHER;
	if (o->has_overflowed)
		return WTCUPTI_ERROR_OUT_OF_MEMORY;
	while (!o->is_spoilt && sample_start_ns(o, o->sample + 1) <= until_ns &&
	       data->count < data->capacity) {
		if (drop_every && (uint64_t)o->sample % drop_every == drop_every - 1)
			o->sample++;
		else
			sample_make(o, data);
	}
	p->stop_reason =
	        data->count == data->capacity ? WTCUPTI_PM_STOP_IMAGE_FULL : WTCUPTI_PM_STOP_END;
	return WTCUPTI_SUCCESS;
}

/* ---- counter data -------------------------------------------------------------------------- */

static wtcupti_result data_size(const char *call, struct wtcupti_pm_get_counter_data_size *p)
{
	struct wtcupti_pm_object *o = object_of(call, p->object);

	o->data_set = prof_set_of(call, p->names, p->count);
	if (!p->max_samples)
		return WTCUPTI_ERROR_INVALID_PARAMETER;
	p->image_bytes = o->data_bytes = prof_data_bytes(p->max_samples);
	return WTCUPTI_SUCCESS;
}

static wtcupti_result data_init(const char *call,
                                struct wtcupti_pm_counter_data_image_initialize *p)
{
	const struct wtcupti_pm_object *o = object_of(call, p->object);

	if (!o->data_bytes)
		prof_die("%s before cuptiPmSamplingGetCounterDataSize", call);
	if (o->is_spoilt && o->is_started)
		return WTCUPTI_ERROR_UNKNOWN;
	if (!p->image || p->image_bytes != o->data_bytes)
		prof_die("%s: %zu bytes are not the %zu told", call, p->image_bytes, o->data_bytes);
	prof_data_init(p->image, p->image_bytes, WTCUPTI_PROFILER_PM_SAMPLING, o->number,
	               o->data_set);
	return WTCUPTI_SUCCESS;
}

static wtcupti_result data_info(const char *call, struct wtcupti_pm_get_counter_data_info *p)
{
	const struct prof_data *data =
	        prof_data_of(call, p->image, p->image_bytes, WTCUPTI_PROFILER_PM_SAMPLING);

	p->total_samples = data->capacity;
	p->populated_samples = p->completed_samples = data->count;
	return WTCUPTI_SUCCESS;
}

static wtcupti_result sample_info(const char *call, struct wtcupti_pm_get_sample_info *p)
{
	const struct wtcupti_pm_object *o = object_of(call, p->object);
	struct prof_data *data =
	        prof_data_of(call, p->image, p->image_bytes, WTCUPTI_PROFILER_PM_SAMPLING);

	if (data->owner != o->number)
		prof_die("%s: counter data of another object", call);
	if (p->index >= data->count)
		prof_die("%s: sample %zu of %u", call, p->index, data->count);
	p->start = (uint64_t)prof_rows(data)[p->index].start_ns;
	p->end = (uint64_t)prof_rows(data)[p->index].end_ns;
	return WTCUPTI_SUCCESS;
}

static wtcupti_result availability(const char *call, struct wtcupti_pm_get_counter_availability *p)
{
	const size_t want = 512;
	struct fake_device_facts facts;

	prof_check_initialized(call);
	if (!cupti.driver->device((uint32_t)p->device_index, &facts))
		return WTCUPTI_ERROR_INVALID_DEVICE;
	if (!prof_has_pm())
		return WTCUPTI_ERROR_NOT_SUPPORTED;
	if (prof_device_is_taken(&facts))
		return WTCUPTI_ERROR_HARDWARE_BUSY;
	if (p->image && p->image_bytes < want)
		prof_die("%s: %zu bytes are less than the size told", call, p->image_bytes);
	if (p->image)
		memset(p->image, 0xa1, want);
	p->image_bytes = want;
	return WTCUPTI_SUCCESS;
}

/* The process ends: what it holds is told. Nothing else runs any more. */
__attribute__((destructor)) static void tell_left(void)
{
	for (const struct wtcupti_pm_object *o = objects; o; o = o->next)
		if (o->is_enabled)
			cupti_count(o->is_started ? "pm_left_started" : "pm_left_enabled");
}

PROF_FN(cuptiPmSamplingEnable, pm_enable, WTCUPTI_PM_ENABLE_BYTES, enable(call, p))
PROF_FN(cuptiPmSamplingDisable, pm_disable, WTCUPTI_PM_DISABLE_BYTES, disable(call, p))
PROF_FN(cuptiPmSamplingSetConfig, pm_set_config, set_config_bytes(p), set_config(call, p))
PROF_FN(cuptiPmSamplingStart, pm_start, WTCUPTI_PM_START_BYTES, start(call, p))
PROF_FN(cuptiPmSamplingStop, pm_stop, WTCUPTI_PM_STOP_BYTES, stop(call, p))
PROF_FN(cuptiPmSamplingDecodeData, pm_decode_data, WTCUPTI_PM_DECODE_DATA_BYTES, decode(call, p))
PROF_FN(cuptiPmSamplingGetCounterAvailability, pm_get_counter_availability,
        WTCUPTI_PM_GET_COUNTER_AVAILABILITY_BYTES, availability(call, p))
PROF_FN(cuptiPmSamplingGetCounterDataSize, pm_get_counter_data_size,
        WTCUPTI_PM_GET_COUNTER_DATA_SIZE_BYTES, data_size(call, p))
PROF_FN(cuptiPmSamplingCounterDataImageInitialize, pm_counter_data_image_initialize,
        WTCUPTI_PM_COUNTER_DATA_IMAGE_INITIALIZE_BYTES, data_init(call, p))
PROF_FN(cuptiPmSamplingGetCounterDataInfo, pm_get_counter_data_info,
        WTCUPTI_PM_GET_COUNTER_DATA_INFO_BYTES, data_info(call, p))
PROF_FN(cuptiPmSamplingCounterDataGetSampleInfo, pm_get_sample_info,
        WTCUPTI_PM_GET_SAMPLE_INFO_BYTES, sample_info(call, p))
