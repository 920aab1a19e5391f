/*
 * cupti_sass.c - SASS metrics of the simulated CUPTI: executions of each
 * instruction on each physical SM, counted in the application's process.
 *
 * A simulated kernel has WTFAKE_SASS_INSTRUCTIONS (8) instructions, 16 bytes
 * each: every warp executes the first and the last once and the others, a
 * loop, ten times. Calls: any thread, under prof_lock; kernels come with the
 * driver's lock held, so counts are under cupti_lock.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fake/cupti_prof.h"
#include "tests/fake/pm_file.h"

#define METRIC_COUNT 60 /* as an H200 has */
#define METRIC_ID 0x5a550000u
#define INSTRUCTION_BYTES 16
#define LOOP_COUNT 10
#define DEVICE_MAX 8
#define PARTITIONS 4

/* Warps that began, of one function on each SM. */
struct counted {
	struct counted *next;
	const void *function;
	char *name;
	uint64_t warps[]; /* of each SM */
};

static struct config {
	bool is_set, is_enabled;
	int granularity;
	uint64_t metric_id;
	wtcu_context context;
	uint32_t context_id;
	struct fake_device_facts facts;
	struct counted *counted; /* under cupti_lock */
} configs[DEVICE_MAX];
static _Atomic int enabled_count;

static size_t instruction_count(void)
{
	return (size_t)fake_env_i64("WTFAKE_SASS_INSTRUCTIONS", 8);
}

static uint64_t executions(size_t instruction, uint64_t warps)
{
	bool is_once = !instruction || instruction == instruction_count() - 1;

	return is_once ? warps : warps * LOOP_COUNT;
}

/* ---- kernels ----------------------------------------------------------------------------- */

bool cupti_sass_wants_sms(void)
{
	return enabled_count > 0;
}

static struct counted *counted_of(struct config *config, const struct fake_op *op,
                                  const void *function)
{
	struct counted *counted = config->counted;
	size_t sms = (size_t)config->facts.sm_count;

	while (counted && counted->function != function)
		counted = counted->next;
	if (counted)
		return counted;
	counted = calloc(1, sizeof(*counted) + sms * sizeof(counted->warps[0]));
	if (!counted || !(counted->name = strdup(op->name)))
		abort();
	counted->function = function;
	counted->next = config->counted;
	config->counted = counted;
	return counted;
}

void cupti_sass_take_sms(const struct fake_op *op, const struct fake_sms *sms)
{
	struct config *config = &configs[op->device % DEVICE_MAX];
	struct counted *counted;

	pthread_mutex_lock(&cupti_lock);
	if (config->is_enabled && config->context_id == op->context_id) {
		counted = counted_of(config, op, sms->function);
		for (int i = 0; i < sms->sm_count; i++)
			counted->warps[sms->first_sm + i] +=
			        sms->blocks[i] * sms->kernel->warps_per_block;
	}
	pthread_mutex_unlock(&cupti_lock);
}

/* ---- metrics by name ------------------------------------------------------------------------ */

static const char *metric_name(size_t i)
{
	static char names[METRIC_COUNT][48];

	if (!i)
		return "smsp__sass_inst_executed";
	snprintf(names[i], sizeof(names[i]), "smsp__sass_simulated_%02zu", i);
	return names[i];
}

static void metric_fill(struct wtcupti_sass_metric *metric, size_t i)
{
	metric->id = METRIC_ID + i;
	metric->name = metric_name(i);
	metric->description = i ? "always 0" : "instructions executed, by warp";
}

static wtcupti_result get_metrics(const char *call, struct wtcupti_sass_get_metrics *p)
{
	if (!p->metrics || p->count > METRIC_COUNT)
		fake_die("%s: room for %zu metrics", call, p->count);
	for (size_t i = 0; i < p->count; i++)
		metric_fill(&p->metrics[i], i);
	return p->chip_name ? WTCUPTI_SUCCESS : WTCUPTI_ERROR_INVALID_PARAMETER;
}

static wtcupti_result get_properties(struct wtcupti_sass_get_properties *p)
{
	for (size_t i = 0; p->chip_name && p->name && i < METRIC_COUNT; i++) {
		if (strcmp(p->name, metric_name(i)))
			continue;
		metric_fill(&p->metric, i);
		return WTCUPTI_SUCCESS;
	}
	return WTCUPTI_ERROR_INVALID_PARAMETER;
}

/* ---- sessions --------------------------------------------------------------------------------- */

bool prof_sass_is_enabled(uint32_t device)
{
	return device < DEVICE_MAX && configs[device].is_enabled;
}

static wtcupti_result set_config(const char *call, struct wtcupti_sass_set_config *p)
{
	struct config *config = &configs[p->device_index % DEVICE_MAX];

	prof_check_initialized(call);
	if (!cupti.driver->has_context())
		return WTCUPTI_ERROR_INVALID_CONTEXT;
	if (!cupti.driver->device(p->device_index, &config->facts))
		return WTCUPTI_ERROR_INVALID_PARAMETER;
	if (config->is_set)
		fake_die("%s: a second time for device %u", call, p->device_index);
	if (p->count != 1 || !p->configs)
		fake_die("%s: %zu metrics: one at a time is simulated", call, p->count);
	if (p->configs->id < METRIC_ID || p->configs->id >= METRIC_ID + METRIC_COUNT ||
	    p->configs->granularity > WTCUPTI_SASS_SMSP)
		return WTCUPTI_ERROR_INVALID_PARAMETER;
	config->metric_id = p->configs->id;
	config->granularity = p->configs->granularity;
	config->is_set = true;
	return WTCUPTI_SUCCESS;
}

static wtcupti_result unset_config(const char *call, struct wtcupti_sass_unset_config *p)
{
	struct config *config = &configs[p->device_index % DEVICE_MAX];

	if (!config->is_set || config->is_enabled)
		fake_die("%s: device %u is not configured, or is still enabled", call,
		         p->device_index);
	config->is_set = false;
	return WTCUPTI_SUCCESS;
}

static struct config *config_of(const char *call, wtcu_context context, uint32_t *ret_id)
{
	uint32_t device;

	if (!cupti.driver->context_id(context, ret_id, &device))
		return NULL;
	if (!configs[device % DEVICE_MAX].is_set)
		fake_die("%s before cuptiSassMetricsSetConfig", call);
	return &configs[device % DEVICE_MAX];
}

static wtcupti_result enable(const char *call, struct wtcupti_sass_enable *p)
{
	uint32_t id;
	struct config *config = config_of(call, p->context, &id);

	if (!config)
		return WTCUPTI_ERROR_INVALID_CONTEXT;
	if (config->is_enabled)
		fake_die("%s: a second time", call);
	if (prof_range_is_enabled((uint32_t)(config - configs)))
		return WTCUPTI_ERROR_INVALID_OPERATION;
	pthread_mutex_lock(&cupti_lock);
	config->context = p->context;
	config->context_id = id;
	config->is_enabled = true;
	enabled_count++;
	pthread_mutex_unlock(&cupti_lock);
	cupti.driver->attach(cupti_tools());
	return WTCUPTI_SUCCESS;
}

/* The configuration that is enabled for a context, which has nothing left to do. */
static struct config *enabled_of(const char *call, wtcu_context context)
{
	uint32_t id;
	struct config *config = config_of(call, context, &id);

	if (!config || !config->is_enabled || config->context_id != id)
		fake_die("%s: not enabled", call);
	if (!cupti.driver->is_idle(context))
		fake_die("%s: with work that has not ended: synchronise first", call);
	return config;
}

static size_t function_count(const struct config *config)
{
	size_t count = 0;

	for (const struct counted *c = config->counted; c; c = c->next)
		count++;
	return count;
}

static size_t instance_count(const struct config *config)
{
	return config->granularity == WTCUPTI_SASS_GPU
	               ? 1
	               : (size_t)config->facts.sm_count *
	                         (config->granularity == WTCUPTI_SASS_SMSP ? PARTITIONS : 1);
}

static void forget(struct config *config)
{
	while (config->counted) {
		struct counted *next = config->counted->next;

		free(config->counted); /* its name is the client's to read on */
		config->counted = next;
	}
}

static wtcupti_result disable(const char *call, struct wtcupti_sass_disable *p)
{
	struct config *config = enabled_of(call, p->context);

	pthread_mutex_lock(&cupti_lock);
	p->dropped_records = function_count(config) * instruction_count() * instance_count(config);
	forget(config);
	config->is_enabled = false;
	enabled_count--;
	pthread_mutex_unlock(&cupti_lock);
	return WTCUPTI_SUCCESS;
}

static wtcupti_result data_properties(const char *call, struct wtcupti_sass_get_data_properties *p)
{
	struct config *config = enabled_of(call, p->context);

	pthread_mutex_lock(&cupti_lock);
	p->records = function_count(config) * instruction_count();
	p->instances = instance_count(config);
	pthread_mutex_unlock(&cupti_lock);
	return WTCUPTI_SUCCESS;
}

/* Warps of one instance: of the device, an SM, or a partition of it. */
static uint64_t instance_warps(const struct config *config, const struct counted *counted,
                               size_t instance)
{
	uint64_t warps = 0;

	if (config->granularity == WTCUPTI_SASS_SM)
		return counted->warps[instance];
	if (config->granularity == WTCUPTI_SASS_SMSP) {
		warps = counted->warps[instance / PARTITIONS];
		return (warps + PARTITIONS - 1 - instance % PARTITIONS) / PARTITIONS;
	}
	for (int i = 0; i < config->facts.sm_count; i++)
		warps += counted->warps[i];
	return warps;
}

static void data_fill(const char *call, const struct config *config, const struct counted *counted,
                      size_t function, size_t instruction, struct wtcupti_sass_data *data)
{
	if (data->struct_size != WTCUPTI_SASS_FLUSH_DATA_BYTES || data->priv || !data->values)
		fake_die("%s: a record with struct_size %zu, or priv, or no values", call,
		         data->struct_size);
	data->cubin_crc = 0xc0ffee;
	data->function_index = (uint32_t)function;
	data->function = counted->name;
	data->pc_offset = (uint32_t)(instruction * INSTRUCTION_BYTES);
	for (size_t i = 0; i < instance_count(config); i++) {
		data->values[i].id = config->metric_id;
		data->values[i].value =
		        config->metric_id != METRIC_ID
		                ? 0
		                : executions(instruction, instance_warps(config, counted, i));
	}
}

static wtcupti_result flush_data(const char *call, struct wtcupti_sass_flush_data *p)
{
	struct config *config = enabled_of(call, p->context);
	size_t instructions = instruction_count();
	size_t function = 0;

	pthread_mutex_lock(&cupti_lock);
	if (p->records != function_count(config) * instructions ||
	    p->instances != instance_count(config) || (p->records && !p->data))
		fake_die("%s: %zu records of %zu instances are not the numbers told", call,
		         p->records, p->instances);
	for (const struct counted *c = config->counted; c; c = c->next, function++)
		for (size_t i = 0; i < instructions; i++)
			data_fill(call, config, c, function, i,
			          &p->data[function * instructions + i]);
	forget(config);
	pthread_mutex_unlock(&cupti_lock);
	return WTCUPTI_SUCCESS;
}

__attribute__((destructor)) static void tell_left(void)
{
	for (int i = 0; i < DEVICE_MAX; i++)
		if (configs[i].is_enabled)
			cupti_count("sass_left_enabled");
}

PROF_FN(cuptiSassMetricsGetNumOfMetrics, sass_get_num_of_metrics,
        WTCUPTI_SASS_GET_NUM_OF_METRICS_BYTES,
        p->chip_name ? (p->count = METRIC_COUNT, WTCUPTI_SUCCESS) : WTCUPTI_ERROR_INVALID_PARAMETER)
PROF_FN(cuptiSassMetricsGetMetrics, sass_get_metrics, WTCUPTI_SASS_GET_METRICS_BYTES,
        get_metrics(call, p))
PROF_FN(cuptiSassMetricsGetProperties, sass_get_properties, WTCUPTI_SASS_GET_PROPERTIES_BYTES,
        get_properties(p))
PROF_FN(cuptiSassMetricsSetConfig, sass_set_config, WTCUPTI_SASS_SET_CONFIG_BYTES,
        set_config(call, p))
PROF_FN(cuptiSassMetricsUnsetConfig, sass_unset_config, WTCUPTI_SASS_UNSET_CONFIG_BYTES,
        unset_config(call, p))
PROF_FN(cuptiSassMetricsEnable, sass_enable, WTCUPTI_SASS_ENABLE_BYTES, enable(call, p))
PROF_FN(cuptiSassMetricsDisable, sass_disable, WTCUPTI_SASS_DISABLE_BYTES, disable(call, p))
PROF_FN(cuptiSassMetricsGetDataProperties, sass_get_data_properties,
        WTCUPTI_SASS_GET_DATA_PROPERTIES_BYTES, data_properties(call, p))
PROF_FN(cuptiSassMetricsFlushData, sass_flush_data, WTCUPTI_SASS_FLUSH_DATA_BYTES,
        flush_data(call, p))
