/*
 * cupti_range.c - the range profiler of the simulated CUPTI: each kernel a
 * range (auto range), replayed as a whole, in the application's process.
 *
 * Calls: any thread, under prof_lock. Kernels come with the driver's lock held,
 * so what both touch is under cupti_lock, which is never held across a call of
 * the driver. A call out of order is fatal.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fake/cupti_prof.h"
#include "tests/fake/pm_file.h"

#define REPLAY_US 2000 /* a real launch takes 13 ms more */
#define PAD_NS 1400 /* the counters run that much longer than the kernel */

struct wtcupti_range_object {
	struct wtcupti_range_object *next;
	uint32_t number;
	bool is_enabled, is_configured, is_started, has_stopped;
	wtcu_context context;
	uint32_t context_id, device;
	struct fake_device_facts facts;
	prof_set set, data_set;
	size_t data_bytes;
	struct prof_data *data;
	size_t data_given_bytes;
	size_t max_ranges;
	/* under cupti_lock */
	struct prof_row *row;
	size_t row_count, row_capacity;
	size_t unkept; /* ranges beyond max_ranges */
};
static struct wtcupti_range_object *objects; /* never freed */
static struct wtcupti_range_object *started; /* the one that is; under cupti_lock */

/* ---- kernels -------------------------------------------------------------------------- */

static bool is_started_on(uint32_t device)
{
	bool is;

	pthread_mutex_lock(&cupti_lock);
	is = started && started->device == device;
	pthread_mutex_unlock(&cupti_lock);
	return is;
}

int64_t cupti_replay_ns(uint32_t device)
{
	return is_started_on(device) ? fake_env_i64("WTFAKE_REPLAY_US", REPLAY_US) * 1000 : -1;
}

bool cupti_wants_sms(void)
{
	bool is;

	pthread_mutex_lock(&cupti_lock);
	is = started != NULL;
	pthread_mutex_unlock(&cupti_lock);
	return is;
}

/* Spans of one kernel on one SM do not overlap. */
static void row_fill(struct prof_row *row, const struct fake_device_facts *facts,
                     const struct fake_sms *sms)
{
	const struct fake_pm_kernel *kernel = sms->kernel;
	const double ghz = prof_clock_ghz(facts);
	const double ns = (double)(kernel->end_ns - kernel->start_ns);
	const double elapsed = (ns + (double)fake_env_i64("WTFAKE_RANGE_PAD_NS", PAD_NS)) * ghz;

	memset(row, 0, sizeof(*row));
	row->start_ns = kernel->start_ns;
	row->end_ns = kernel->end_ns;
	for (int sm = 0; sm < facts->sm_count; sm++) {
		double active = 0, warps = 0;

		for (uint32_t i = 0; i < kernel->span_count; i++) {
			const struct fake_pm_span *span = &sms->span[i];
			double span_ns = (double)(span->end_ns - span->start_ns);

			if (sm < span->first_sm || sm >= span->first_sm + span->sm_count)
				continue;
			active += span_ns * ghz;
			warps += span_ns * ghz * span->blocks * kernel->warps_per_block;
		}
		prof_row_add(row, PROF_CYCLES_ACTIVE, active, !sm);
		prof_row_add(row, PROF_CYCLES_ELAPSED, elapsed, !sm);
		prof_row_add(row, PROF_WARPS_ACTIVE, warps, !sm);
		prof_row_add(row, PROF_TENSOR_ACTIVE,
		             active * kernel->tensor * PROF_TENSOR_PER_CYCLE, !sm);
		prof_row_add(row, PROF_INSTRUCTIONS, active * kernel->issue * PROF_ISSUE_PER_CYCLE,
		             !sm);
		prof_row_add(row, PROF_GPC_ELAPSED, elapsed, !sm);
	}
	prof_row_finish(row, facts->sm_count);
	row->value[PROF_DRAM_READ][PROF_SUM] = ns * kernel->dram_read_bytes_per_ns;
	row->value[PROF_DRAM_WRITE][PROF_SUM] = ns * kernel->dram_write_bytes_per_ns;
}

static void range_add(struct wtcupti_range_object *o, const struct fake_sms *sms)
{
	if (o->row_count == o->max_ranges) {
		o->unkept++;
		return;
	}
	if (o->row_count == o->row_capacity) {
		o->row_capacity = o->row_capacity ? 2 * o->row_capacity : 16;
		o->row = realloc(o->row, o->row_capacity * sizeof(*o->row));
		if (!o->row)
			abort();
	}
	row_fill(&o->row[o->row_count++], &o->facts, sms);
}

void cupti_take_sms(const struct fake_op *op, const struct fake_sms *sms)
{
	pthread_mutex_lock(&cupti_lock);
	if (started && started->context_id == op->context_id)
		range_add(started, sms);
	pthread_mutex_unlock(&cupti_lock);
}

/* ---- sessions ----------------------------------------------------------------------------- */

static struct wtcupti_range_object *object_of(const char *call, struct wtcupti_range_object *o)
{
	struct wtcupti_range_object *at = objects;

	while (at && at != o)
		at = at->next;
	if (!at || !at->is_enabled)
		prof_die("%s: the range profiler is not enabled", call);
	return o;
}

static bool is_enabled_on(uint32_t device)
{
	for (const struct wtcupti_range_object *o = objects; o; o = o->next)
		if (o->is_enabled && o->device == device)
			return true;
	return false;
}

static wtcupti_result enable(const char *call, struct wtcupti_range_enable *p)
{
	struct wtcupti_range_object *o;
	struct fake_device_facts facts;
	uint32_t id, device;
	wtcupti_result result;

	prof_check_initialized(call);
	if (!cupti.driver->context_id(p->context, &id, &device) ||
	    !cupti.driver->device(device, &facts))
		return WTCUPTI_ERROR_INVALID_CONTEXT;
	if (prof_unsupported())
		return prof_unsupported();
	if (is_enabled_on(device))
		return WTCUPTI_ERROR_INVALID_OPERATION;
	if (!cupti.driver->attach(cupti_tools()))
		return WTCUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	result = prof_device_take(&facts);
	if (result)
		return result;
	o = calloc(1, sizeof(*o));
	if (!o)
		abort();
	o->number = objects ? objects->number + 1 : 1;
	o->is_enabled = true;
	o->context = p->context;
	o->context_id = id;
	o->device = device;
	o->facts = facts;
	o->next = objects;
	objects = o;
	p->object = o;
	return WTCUPTI_SUCCESS;
}

static wtcupti_result disable(const char *call, struct wtcupti_range_disable *p)
{
	struct wtcupti_range_object *o = object_of(call, p->object);

	if (o->is_started)
		prof_die("%s: the session has not been stopped", call);
	free(o->row);
	o->row = NULL;
	o->is_enabled = false;
	prof_device_give(&o->facts);
	return WTCUPTI_SUCCESS;
}

static wtcupti_result set_config(const char *call, struct wtcupti_range_set_config *p)
{
	struct wtcupti_range_object *o = object_of(call, p->object);
	const struct prof_config *config =
	        prof_config_of(call, p->config, p->config_bytes, WTCUPTI_PROFILER_RANGE);
	struct prof_data *data =
	        prof_data_of(call, p->image, p->image_bytes, WTCUPTI_PROFILER_RANGE);

	if (o->is_started)
		prof_die("%s: in a session", call);
	if (data->owner != o->number || data->set & ~config->set)
		prof_die("%s: counter data of another object or for other metrics", call);
	if (config->passes > 1 || p->range_mode != WTCUPTI_RANGE_AUTO ||
	    p->replay_mode != WTCUPTI_REPLAY_KERNEL)
		return WTCUPTI_ERROR_NOT_SUPPORTED;
	if (p->nesting_levels != 1 || !p->max_ranges_per_pass)
		return WTCUPTI_ERROR_INVALID_PARAMETER;
	o->set = config->set;
	o->data = data;
	o->data_given_bytes = p->image_bytes;
	o->max_ranges = p->max_ranges_per_pass;
	o->is_configured = true;
	return WTCUPTI_SUCCESS;
}

static wtcupti_result start(const char *call, struct wtcupti_range_start *p)
{
	struct wtcupti_range_object *o = object_of(call, p->object);

	if (!o->is_configured)
		prof_die("%s before cuptiRangeProfilerSetConfig", call);
	if (o->is_started)
		prof_die("%s: a second time", call);
	pthread_mutex_lock(&cupti_lock);
	if (started)
		prof_die("%s: on two devices at once is not simulated", call);
	o->row_count = o->unkept = 0;
	o->is_started = true;
	o->has_stopped = false;
	started = o;
	pthread_mutex_unlock(&cupti_lock);
	return WTCUPTI_SUCCESS;
}

static wtcupti_result stop(const char *call, struct wtcupti_range_stop *p)
{
	struct wtcupti_range_object *o = object_of(call, p->object);

	if (!o->is_started)
		prof_die("%s: not started", call);
	if (!cupti.driver->is_idle(o->context))
		prof_die("%s: with work that has not ended: synchronise first", call);
	pthread_mutex_lock(&cupti_lock);
	started = NULL;
	o->is_started = false;
	o->has_stopped = true;
	pthread_mutex_unlock(&cupti_lock);
	p->pass_index = 0;
	p->target_nesting_level = 1;
	p->all_passes_submitted = 1;
	return WTCUPTI_SUCCESS;
}

/* Ranges of user code: not with auto range. */
static wtcupti_result user_range(const char *call, struct wtcupti_range_object *object)
{
	object_of(call, object);
	prof_die("%s: with auto range", call);
}

static wtcupti_result decode(const char *call, struct wtcupti_range_decode_data *p)
{
	struct wtcupti_range_object *o = object_of(call, p->object);
	struct prof_data *data;

	if (o->is_started || !o->has_stopped)
		prof_die("%s before cuptiRangeProfilerStop", call);
	data = prof_data_of(call, (uint8_t *)o->data, o->data_given_bytes, WTCUPTI_PROFILER_RANGE);
	pthread_mutex_lock(&cupti_lock);
	p->dropped_ranges = o->unkept;
	for (size_t i = 0; i < o->row_count; i++) {
		if (data->count == data->capacity)
			p->dropped_ranges++;
		else
			prof_rows(data)[data->count++] = o->row[i];
	}
	o->row_count = o->unkept = 0;
	pthread_mutex_unlock(&cupti_lock);
	return WTCUPTI_SUCCESS;
}

/* ---- counter data --------------------------------------------------------------------------- */

static wtcupti_result data_size(const char *call, struct wtcupti_range_get_counter_data_size *p)
{
	struct wtcupti_range_object *o = object_of(call, p->object);

	o->data_set = prof_set_of(call, p->names, p->count);
	if (!p->max_ranges || p->max_tree_nodes < p->max_ranges)
		return WTCUPTI_ERROR_INVALID_PARAMETER;
	p->image_bytes = o->data_bytes = prof_data_bytes(p->max_ranges);
	return WTCUPTI_SUCCESS;
}

static wtcupti_result data_init(const char *call,
                                struct wtcupti_range_counter_data_image_initialize *p)
{
	const struct wtcupti_range_object *o = object_of(call, p->object);

	if (!o->data_bytes)
		prof_die("%s before cuptiRangeProfilerGetCounterDataSize", call);
	if (!p->image || p->image_bytes != o->data_bytes)
		prof_die("%s: %zu bytes are not the %zu told", call, p->image_bytes, o->data_bytes);
	prof_data_init(p->image, p->image_bytes, WTCUPTI_PROFILER_RANGE, o->number, o->data_set);
	return WTCUPTI_SUCCESS;
}

static wtcupti_result data_info(const char *call, struct wtcupti_range_get_counter_data_info *p)
{
	p->total_ranges =
	        prof_data_of(call, p->image, p->image_bytes, WTCUPTI_PROFILER_RANGE)->count;
	return WTCUPTI_SUCCESS;
}

/* Ranges of kernels are called by their number. */
static wtcupti_result range_info(const char *call, struct wtcupti_range_get_range_info *p)
{
	const struct prof_data *data =
	        prof_data_of(call, p->image, p->image_bytes, WTCUPTI_PROFILER_RANGE);
	char name[24];

	if (p->index >= data->count)
		prof_die("%s: range %zu of %u", call, p->index, data->count);
	snprintf(name, sizeof(name), "%zu", p->index);
	p->name = strdup(name);
	return p->name ? WTCUPTI_SUCCESS : WTCUPTI_ERROR_OUT_OF_MEMORY;
}

__attribute__((destructor)) static void tell_left(void)
{
	for (const struct wtcupti_range_object *o = objects; o; o = o->next)
		if (o->is_enabled)
			cupti_count(o->is_started ? "range_left_started" : "range_left_enabled");
}

PROF_FN(cuptiRangeProfilerEnable, range_enable, WTCUPTI_RANGE_ENABLE_BYTES, enable(call, p))
PROF_FN(cuptiRangeProfilerDisable, range_disable, WTCUPTI_RANGE_DISABLE_BYTES, disable(call, p))
PROF_FN(cuptiRangeProfilerSetConfig, range_set_config, WTCUPTI_RANGE_SET_CONFIG_BYTES,
        set_config(call, p))
PROF_FN(cuptiRangeProfilerStart, range_start, WTCUPTI_RANGE_START_BYTES, start(call, p))
PROF_FN(cuptiRangeProfilerStop, range_stop, WTCUPTI_RANGE_STOP_BYTES, stop(call, p))
PROF_FN(cuptiRangeProfilerPushRange, range_push, WTCUPTI_RANGE_PUSH_BYTES,
        user_range(call, p->object))
PROF_FN(cuptiRangeProfilerPopRange, range_pop, WTCUPTI_RANGE_POP_BYTES, user_range(call, p->object))
PROF_FN(cuptiRangeProfilerDecodeData, range_decode_data, WTCUPTI_RANGE_DECODE_DATA_BYTES,
        decode(call, p))
PROF_FN(cuptiRangeProfilerGetCounterDataSize, range_get_counter_data_size,
        WTCUPTI_RANGE_GET_COUNTER_DATA_SIZE_BYTES, data_size(call, p))
PROF_FN(cuptiRangeProfilerCounterDataImageInitialize, range_counter_data_image_initialize,
        WTCUPTI_RANGE_COUNTER_DATA_IMAGE_INITIALIZE_BYTES, data_init(call, p))
PROF_FN(cuptiRangeProfilerGetCounterDataInfo, range_get_counter_data_info,
        WTCUPTI_RANGE_GET_COUNTER_DATA_INFO_BYTES, data_info(call, p))
PROF_FN(cuptiRangeProfilerCounterDataGetRangeInfo, range_get_range_info,
        WTCUPTI_RANGE_GET_RANGE_INFO_BYTES, range_info(call, p))
