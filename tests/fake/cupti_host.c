/*
 * cupti_host.c - the profiler as a whole, and its host side: metrics by name,
 * configurations, values from counter data.
 *
 * Any thread; under prof_lock. Blocks only where WTFAKE_PM_HANG has it hang.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/fake/cupti_prof.h"

#define OBJECT_MAGIC 0x74736f68

pthread_mutex_t prof_lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_initialized;
static bool was_deinitialized;

struct wtcupti_host_object {
	uint32_t magic;
	int profiler_type;
	prof_set set;
	struct wtcupti_host_object *next;
};
static struct wtcupti_host_object *objects;

/* ---- metrics ---------------------------------------------------------------------- */

static const struct {
	const char *name;
	enum prof_counter counter;
	bool has_average; /* else only .sum */
} metrics[] = {
        {"sm__cycles_active", PROF_CYCLES_ACTIVE, true},
        {"sm__cycles_elapsed", PROF_CYCLES_ELAPSED, true},
        {"sm__warps_active", PROF_WARPS_ACTIVE, true},
        {"sm__pipe_tensor_cycles_active", PROF_TENSOR_ACTIVE, true},
        {"dram__bytes_read", PROF_DRAM_READ, false},
        {"dram__bytes_write", PROF_DRAM_WRITE, false},
        {"TPC.TriageCompute.sm__inst_executed_realtime", PROF_INSTRUCTIONS, true},
        {"gpc__cycles_elapsed", PROF_GPC_ELAPSED, true},
        {"sm__issue_active", PROF_ISSUE_ACTIVE, true},
        {"sm__inst_executed_pipe_tensor", PROF_TENSOR_INSTRUCTIONS, true},
};
#define METRIC_COUNT (sizeof(metrics) / sizeof(metrics[0]))

/* WTFAKE_NO_METRICS=NAME,...: counters that this device lacks. */
static bool is_missing(const char *name)
{
	const char *list = getenv("WTFAKE_NO_METRICS");
	size_t length = strlen(name);

	for (; list && *list; list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL)
		if (!strncmp(list, name, length) && (!list[length] || list[length] == ','))
			return true;
	return false;
}

bool prof_metric(const char *name, enum prof_counter *ret_counter, enum prof_rollup *ret_rollup)
{
	static const char *const rollups[PROF_ROLLUPS] = {".avg", ".min", ".max", ".sum",
	                                                  ".avg.pct_of_peak_sustained_elapsed"};

	for (size_t i = 0; name && i < METRIC_COUNT; i++) {
		size_t length = strlen(metrics[i].name);

		if (strncmp(name, metrics[i].name, length) || is_missing(metrics[i].name))
			continue;
		for (int k = 0; k < PROF_ROLLUPS; k++) {
			if (strcmp(name + length, rollups[k]) ||
			    (!metrics[i].has_average && k != PROF_SUM) ||
			    (k == PROF_OF_PEAK && metrics[i].counter != PROF_TENSOR_ACTIVE))
				continue;
			*ret_counter = metrics[i].counter;
			*ret_rollup = (enum prof_rollup)k;
			return true;
		}
	}
	return false;
}

static bool set_has(prof_set set, enum prof_counter counter)
{
	return set >> (counter * PROF_ROLLUPS) & ((1 << PROF_ROLLUPS) - 1);
}

size_t prof_passes(prof_set set)
{
	size_t room = (size_t)fake_env_i64("WTFAKE_PASS_COUNTERS", 7);
	size_t counters = 0, least = 1;

	for (int i = 0; i < PROF_COUNTERS; i++)
		counters += set_has(set, (enum prof_counter)i);
	if (set_has(set, PROF_TENSOR_INSTRUCTIONS))
		least = 3;
	else if (set_has(set, PROF_ISSUE_ACTIVE))
		least = 2;
	return counters > room * least ? (counters + room - 1) / room : least;
}

prof_set prof_set_of(const char *call, const char *const *names, size_t count)
{
	prof_set set = 0;
	enum prof_counter counter;
	enum prof_rollup rollup;

	if (!names || !count)
		prof_die("%s: no metrics", call);
	for (size_t i = 0; i < count; i++) {
		if (!prof_metric(names[i], &counter, &rollup))
			prof_die("%s: no metric %s", call, names[i] ? names[i] : "(null)");
		else
			set |= PROF_BIT(counter, rollup);
	}
	return set;
}

/* ---- images ------------------------------------------------------------------------- */

const struct prof_config *prof_config_of(const char *call, const uint8_t *image, size_t bytes,
                                         int profiler_type)
{
	const struct prof_config *config = (const void *)image;

	if (!image || bytes != sizeof(*config) || config->magic != PROF_CONFIG_MAGIC)
		prof_die("%s: not a configuration image of %zu bytes", call, bytes);
	if (profiler_type >= 0 && config->profiler_type != profiler_type)
		prof_die("%s: a configuration for another kind of profiler", call);
	return config;
}

struct prof_data *prof_data_of(const char *call, const uint8_t *image, size_t bytes,
                               int profiler_type)
{
	struct prof_data *data = (void *)(uintptr_t)image;

	if (!image || bytes < sizeof(*data) || data->magic != PROF_DATA_MAGIC)
		prof_die("%s: counter data that was not initialised", call);
	if (data->bytes != bytes)
		prof_die("%s: counter data of %llu bytes called %zu", call,
		         (unsigned long long)data->bytes, bytes);
	if (data->profiler_type != profiler_type)
		prof_die("%s: counter data of another kind of profiler", call);
	return data;
}

void prof_row_add(struct prof_row *row, enum prof_counter counter, double value, bool is_first)
{
	double *v = row->value[counter];

	v[PROF_SUM] += value;
	if (is_first || value < v[PROF_MIN])
		v[PROF_MIN] = value;
	if (is_first || value > v[PROF_MAX])
		v[PROF_MAX] = value;
}

void prof_row_finish(struct prof_row *row, int sms)
{
	double peak = row->value[PROF_CYCLES_ELAPSED][PROF_SUM] * PROF_TENSOR_PER_CYCLE;

	for (int counter = 0; counter < PROF_COUNTERS; counter++)
		row->value[counter][PROF_AVG] = row->value[counter][PROF_SUM] / sms;
	if (peak > 0)
		row->value[PROF_TENSOR_ACTIVE][PROF_OF_PEAK] =
		        row->value[PROF_TENSOR_ACTIVE][PROF_SUM] * 100 / peak;
}

void prof_data_init(uint8_t *image, size_t bytes, int profiler_type, uint32_t owner, prof_set set)
{
	struct prof_data *data = (void *)image;

	memset(image, 0, bytes);
	data->magic = PROF_DATA_MAGIC;
	data->bytes = bytes;
	data->profiler_type = profiler_type;
	data->owner = owner;
	data->capacity = (uint32_t)((bytes - sizeof(*data)) / sizeof(struct prof_row));
	data->set = set;
}

/* ---- the profiler --------------------------------------------------------------------- */

void prof_die(const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fake_die("%s", text);
	abort();
}

void prof_check_params(const char *call, const void *params, size_t want_bytes)
{
	const struct wtcupti_profiler_initialize *p = params; /* how all of them begin */

	if (!p)
		prof_die("%s: no parameters", call);
	else if (p->struct_size != want_bytes)
		prof_die("%s: struct_size is %zu, not %zu", call, p->struct_size, want_bytes);
	else if (p->priv)
		prof_die("%s: priv is not NULL", call);
}

void prof_check_initialized(const char *call)
{
	if (!is_initialized)
		prof_die("%s before cuptiProfilerInitialize", call);
}

static wtcupti_result initialize(void)
{
	is_initialized = true;
	return WTCUPTI_SUCCESS;
}

/* A second one crashes the real library (pytorch/pytorch#188849). */
static wtcupti_result deinitialize(const char *call)
{
	if (!is_initialized && was_deinitialized)
		prof_die("%s: a second time", call);
	prof_check_initialized(call);
	for (const struct wtcupti_host_object *o = objects; o; o = o->next)
		if (o->magic)
			prof_die("%s: a host object is left", call);
	is_initialized = false;
	was_deinitialized = true;
	return WTCUPTI_SUCCESS;
}

static wtcupti_result chip_name(const char *call, struct wtcupti_device_get_chip_name *p)
{
	static char name[32];
	const char *set = getenv("WTFAKE_CHIP");
	struct fake_device_facts facts;

	prof_check_initialized(call);
	if (!cupti.driver->device((uint32_t)p->device_index, &facts))
		return WTCUPTI_ERROR_INVALID_DEVICE;
	strncpy(name, set ? set : "GH100", sizeof(name) - 1);
	p->chip_name = name;
	return WTCUPTI_SUCCESS;
}

/* WTFAKE_UNSUPPORTED=NAME: what keeps profiling from working. No flag tells of MIG. */
static const struct {
	const char *name;
	wtcupti_result result;
	size_t flag; /* offset, or 0 */
} obstacles[] = {
#define FLAG(member) offsetof(struct wtcupti_profiler_device_supported, member)
        {"architecture", WTCUPTI_ERROR_NOT_SUPPORTED, FLAG(architecture)},
        {"sli", WTCUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED, FLAG(sli)},
        {"vgpu", WTCUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED, FLAG(vgpu)},
        {"cc", WTCUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED, FLAG(confidential_compute)},
        {"cmp", WTCUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED, FLAG(cmp)},
        {"wsl", WTCUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED, FLAG(wsl)},
        {"mig", WTCUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED, 0},
#undef FLAG
};
#define OBSTACLE_COUNT (sizeof(obstacles) / sizeof(obstacles[0]))

wtcupti_result prof_unsupported(void)
{
	const char *why = getenv("WTFAKE_UNSUPPORTED");

	for (size_t i = 0; why && i < OBSTACLE_COUNT; i++)
		if (!strcmp(why, obstacles[i].name))
			return obstacles[i].result;
	return WTCUPTI_SUCCESS;
}

static wtcupti_result device_supported(struct wtcupti_profiler_device_supported *p)
{
	wtcupti_result unsupported = prof_unsupported();
	struct fake_device_facts facts;

	if (!cupti.driver->device((uint32_t)p->device, &facts))
		return WTCUPTI_ERROR_INVALID_DEVICE;
	p->is_supported = unsupported || (p->api == WTCUPTI_API_PM_SAMPLING && !prof_has_pm())
	                          ? WTCUPTI_SUPPORT_NONE
	                          : WTCUPTI_SUPPORT_YES;
	for (size_t i = 0; i < OBSTACLE_COUNT; i++) {
		int32_t level = obstacles[i].result == unsupported ? WTCUPTI_SUPPORT_NONE
		                                                   : WTCUPTI_SUPPORT_YES;

		if (obstacles[i].flag)
			memcpy((char *)p + obstacles[i].flag, &level, sizeof(level));
	}
	return WTCUPTI_SUCCESS;
}

static wtcupti_result availability(const char *call, wtcu_context context, size_t *bytes,
                                   uint8_t *image)
{
	const size_t want = 512;
	struct fake_device_facts facts;
	uint32_t id, device;

	prof_check_initialized(call);
	if (!cupti.driver->context_id(context, &id, &device) ||
	    !cupti.driver->device(device, &facts))
		return WTCUPTI_ERROR_INVALID_CONTEXT;
	if (prof_device_is_taken(&facts))
		return WTCUPTI_ERROR_HARDWARE_BUSY;
	if (image && *bytes < want)
		prof_die("%s: %zu bytes are less than the size told", call, *bytes);
	*bytes = want;
	if (image)
		memset(image, 0xa1, want);
	return WTCUPTI_SUCCESS;
}

/* ---- the host side ----------------------------------------------------------------------- */

static struct wtcupti_host_object *object_of(const char *call, struct wtcupti_host_object *o)
{
	struct wtcupti_host_object *at = objects;

	while (at && at != o)
		at = at->next;
	if (!at || at->magic != OBJECT_MAGIC)
		prof_die("%s: not a host object", call);
	return o;
}

static wtcupti_result host_initialize(const char *call, struct wtcupti_host_initialize *p)
{
	struct wtcupti_host_object *o;

	prof_check_initialized(call);
	if (!p->chip_name || !p->availability_image)
		prof_die("%s: no chip or no availability image", call);
	if (p->profiler_type != WTCUPTI_PROFILER_RANGE &&
	    p->profiler_type != WTCUPTI_PROFILER_PM_SAMPLING)
		return WTCUPTI_ERROR_INVALID_PARAMETER;
	if (strncmp(p->chip_name, "GH", 2) && strncmp(p->chip_name, "GA", 2) &&
	    strncmp(p->chip_name, "GB", 2))
		return WTCUPTI_ERROR_INVALID_CHIP_NAME;
	o = calloc(1, sizeof(*o));
	if (!o)
		return WTCUPTI_ERROR_OUT_OF_MEMORY;
	o->magic = OBJECT_MAGIC;
	o->profiler_type = p->profiler_type;
	o->next = objects;
	objects = o; /* never freed: a stale handle is told from a good one */
	p->object = o;
	return WTCUPTI_SUCCESS;
}

/*
 * PM sampling and counters of the GPC or the front end: on the real device a
 * set-up with such a list hung for minutes. WTFAKE_PM_HANG_S: how long here.
 */
static void hang(void)
{
	int64_t until_ns = fake_now_ns() + fake_env_i64("WTFAKE_PM_HANG_S", 600) * 1000000000;

	pthread_mutex_unlock(&prof_lock);
	fake_sleep_until_ns(until_ns);
	pthread_mutex_lock(&prof_lock);
}

static wtcupti_result add_metrics(const char *call, struct wtcupti_host_config_add_metrics *p)
{
	struct wtcupti_host_object *o = object_of(call, p->object);
	enum prof_counter counter;
	enum prof_rollup rollup;

	if (!p->names || !p->count)
		return WTCUPTI_ERROR_INVALID_PARAMETER;
	for (size_t i = 0; i < p->count; i++)
		if (!prof_metric(p->names[i], &counter, &rollup))
			return WTCUPTI_ERROR_INVALID_METRIC_NAME;
	o->set |= prof_set_of(call, p->names, p->count);
	if (o->profiler_type == WTCUPTI_PROFILER_PM_SAMPLING && set_has(o->set, PROF_GPC_ELAPSED))
		hang();
	return WTCUPTI_SUCCESS;
}

static wtcupti_result config_size(const char *call, struct wtcupti_host_get_config_image_size *p)
{
	if (!object_of(call, p->object)->set)
		prof_die("%s: no metrics were added", call);
	p->image_bytes = sizeof(struct prof_config);
	return WTCUPTI_SUCCESS;
}

static wtcupti_result config_image(const char *call, struct wtcupti_host_get_config_image *p)
{
	const struct wtcupti_host_object *o = object_of(call, p->object);
	struct prof_config *config = (void *)p->image;

	if (!o->set)
		prof_die("%s: no metrics were added", call);
	if (!config || p->image_bytes != sizeof(*config))
		prof_die("%s: %zu bytes are not the size told", call, p->image_bytes);
	memset(config, 0, sizeof(*config));
	config->magic = PROF_CONFIG_MAGIC;
	config->profiler_type = o->profiler_type;
	config->set = o->set;
	config->passes = (int32_t)prof_passes(o->set);
	return WTCUPTI_SUCCESS;
}

static wtcupti_result passes(const char *call, struct wtcupti_host_get_num_of_passes *p)
{
	p->passes = (size_t)prof_config_of(call, p->image, p->image_bytes, -1)->passes;
	return WTCUPTI_SUCCESS;
}

/* WTFAKE_EVALUATE_NS: CPU time that an evaluation takes (5 to 20 us on an H200). */
static void take_cpu(int64_t ns)
{
	struct timespec now;
	int64_t end_ns = 0;

	while (ns > 0) {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
		if (!end_ns)
			end_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec + ns;
		ns = end_ns - (now.tv_sec * INT64_C(1000000000) + now.tv_nsec);
	}
}

static wtcupti_result evaluate(const char *call, struct wtcupti_host_evaluate_to_gpu_values *p)
{
	const struct wtcupti_host_object *o = object_of(call, p->object);
	struct prof_data *data = prof_data_of(call, p->image, p->image_bytes, o->profiler_type);
	enum prof_counter counter;
	enum prof_rollup rollup;

	if (p->index >= data->count)
		prof_die("%s: row %zu of %u", call, p->index, data->count);
	if (!p->names || !p->count || !p->values)
		prof_die("%s: no metrics, or nowhere to put them", call);
	for (size_t i = 0; i < p->count; i++) {
		if (!prof_metric(p->names[i], &counter, &rollup))
			return WTCUPTI_ERROR_INVALID_METRIC_NAME;
		if (!(data->set & o->set & PROF_BIT(counter, rollup)))
			prof_die("%s: %s was not configured", call, p->names[i]);
		p->values[i] = prof_rows(data)[p->index].value[counter][rollup];
	}
	take_cpu(fake_env_i64("WTFAKE_EVALUATE_NS", 0));
	return WTCUPTI_SUCCESS;
}

static wtcupti_result base_metrics(const char *call, struct wtcupti_host_get_base_metrics *p)
{
	static const char *names[METRIC_COUNT];

	object_of(call, p->object);
	p->count = 0;
	for (size_t i = 0; p->metric_type == WTCUPTI_METRIC_COUNTER && i < METRIC_COUNT; i++)
		if (!is_missing(metrics[i].name))
			names[p->count++] = metrics[i].name;
	p->names = names;
	return WTCUPTI_SUCCESS;
}

static wtcupti_result sub_metrics(const char *call, struct wtcupti_host_get_sub_metrics *p)
{
	static const char *names[] = {".avg", ".min", ".max", ".sum",
	                              ".avg.pct_of_peak_sustained_elapsed"};

	object_of(call, p->object);
	for (size_t i = 0; p->name && i < METRIC_COUNT; i++) {
		if (strcmp(p->name, metrics[i].name) || is_missing(metrics[i].name))
			continue;
		p->names = metrics[i].has_average ? names : names + PROF_SUM;
		p->count = metrics[i].has_average ? PROF_ROLLUPS : 1;
		return WTCUPTI_SUCCESS;
	}
	return WTCUPTI_ERROR_INVALID_METRIC_NAME;
}

static wtcupti_result metric_properties(const char *call,
                                        struct wtcupti_host_get_metric_properties *p)
{
	enum prof_counter counter;
	enum prof_rollup rollup;

	object_of(call, p->object);
	if (!prof_metric(p->name, &counter, &rollup))
		return WTCUPTI_ERROR_INVALID_METRIC_NAME;
	p->description = "simulated";
	p->hardware_unit = strncmp(p->name, "sm__", 4) ? "dram" : "sm";
	p->dimension = counter == PROF_DRAM_READ || counter == PROF_DRAM_WRITE ? "bytes" : "cycles";
	p->metric_type = WTCUPTI_METRIC_COUNTER;
	return WTCUPTI_SUCCESS;
}

static wtcupti_result host_deinitialize(const char *call, struct wtcupti_host_deinitialize *p)
{
	object_of(call, p->object)->magic = 0;
	return WTCUPTI_SUCCESS;
}

PROF_FN(cuptiProfilerInitialize, profiler_initialize, WTCUPTI_PROFILER_INITIALIZE_BYTES,
        initialize())
PROF_FN(cuptiProfilerDeInitialize, profiler_deinitialize, WTCUPTI_PROFILER_DEINITIALIZE_BYTES,
        deinitialize(call))
PROF_FN(cuptiDeviceGetChipName, device_get_chip_name, WTCUPTI_DEVICE_GET_CHIP_NAME_BYTES,
        chip_name(call, p))
PROF_FN(cuptiProfilerDeviceSupported, profiler_device_supported,
        WTCUPTI_PROFILER_DEVICE_SUPPORTED_BYTES, device_supported(p))
PROF_FN(cuptiProfilerGetCounterAvailability, profiler_get_counter_availability,
        WTCUPTI_PROFILER_GET_COUNTER_AVAILABILITY_BYTES,
        availability(call, p->context, &p->image_bytes, p->image))
PROF_FN(cuptiProfilerHostInitialize, host_initialize, WTCUPTI_HOST_INITIALIZE_BYTES,
        host_initialize(call, p))
PROF_FN(cuptiProfilerHostDeinitialize, host_deinitialize, WTCUPTI_HOST_DEINITIALIZE_BYTES,
        host_deinitialize(call, p))
PROF_FN(cuptiProfilerHostConfigAddMetrics, host_config_add_metrics,
        WTCUPTI_HOST_CONFIG_ADD_METRICS_BYTES, add_metrics(call, p))
PROF_FN(cuptiProfilerHostGetConfigImageSize, host_get_config_image_size,
        WTCUPTI_HOST_GET_CONFIG_IMAGE_SIZE_BYTES, config_size(call, p))
PROF_FN(cuptiProfilerHostGetConfigImage, host_get_config_image, WTCUPTI_HOST_GET_CONFIG_IMAGE_BYTES,
        config_image(call, p))
PROF_FN(cuptiProfilerHostGetNumOfPasses, host_get_num_of_passes,
        WTCUPTI_HOST_GET_NUM_OF_PASSES_BYTES, passes(call, p))
PROF_FN(cuptiProfilerHostEvaluateToGpuValues, host_evaluate_to_gpu_values,
        WTCUPTI_HOST_EVALUATE_TO_GPU_VALUES_BYTES, evaluate(call, p))
PROF_FN(cuptiProfilerHostGetBaseMetrics, host_get_base_metrics, WTCUPTI_HOST_GET_BASE_METRICS_BYTES,
        base_metrics(call, p))
PROF_FN(cuptiProfilerHostGetSubMetrics, host_get_sub_metrics, WTCUPTI_HOST_GET_SUB_METRICS_BYTES,
        sub_metrics(call, p))
PROF_FN(cuptiProfilerHostGetMetricProperties, host_get_metric_properties,
        WTCUPTI_HOST_GET_METRIC_PROPERTIES_BYTES, metric_properties(call, p))
