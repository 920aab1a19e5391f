/* mock_profiler.c - see mock_profiler.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libintercept/hooks.h"
#include "tests/unit/mock_profiler.h"

#define FIRST_NS UINT64_C(1000000000000)

struct mock_profile mock = {.lock = PTHREAD_MUTEX_INITIALIZER};
struct wt_view mock_view;
struct wt_fork_page mock_page;
struct wt_cupti_api wt_cupti;
_Atomic(struct wt_fork_page *) wt_page = &mock_page;

static struct wt_producer producer;
static struct wt_segment_header header;
static _Atomic uint64_t ring_head;
static struct wt_cell cells[MOCK_RING_CELLS];

/* ---- the library's core */

struct wt_fork_page *wt_fork_page(void)
{
	return &mock_page;
}

uint32_t wt_thread32(void)
{
	return (uint32_t)(uintptr_t)pthread_self();
}

void wt_log(const char *format, ...)
{
	(void)format;
}

void wt_emit_activity(struct wt_view *view, enum wt_kind kind, uint16_t count, const void *payload,
                      uint32_t length)
{
	wt_ring_put(&view->ring[WT_RING_ACTIVITY], (uint16_t)kind, count, payload, length);
}

bool wt_cupti_is_recording(void)
{
	return mock.is_recording;
}

wtcupti_result wt_cupti_flush(uint32_t flag, bool *ret_is_held)
{
	*ret_is_held = wt_cupti_is_recording();
	return *ret_is_held ? wt_cupti.flush_all(flag) : WTCUPTI_SUCCESS;
}

bool wt_share_any_open(void)
{
	return mock.is_app_profiling;
}

/* In place of libc's: time passes when the test says so. */
int clock_gettime(clockid_t clock_id, struct timespec *tp)
{
	uint64_t now_ns = __atomic_load_n(&mock.clock_ns, __ATOMIC_RELAXED);

	if (clock_id != CLOCK_MONOTONIC_COARSE)
		return (int)syscall(SYS_clock_gettime, clock_id, tp);
	tp->tv_sec = (time_t)(now_ns / UINT64_C(1000000000));
	tp->tv_nsec = (long)(now_ns % UINT64_C(1000000000));
	return 0;
}

void mock_pass(uint64_t ns)
{
	__atomic_fetch_add(&mock.clock_ns, ns, __ATOMIC_RELAXED);
}

static void wrong(const char *format, ...)
{
	va_list args;

	if (!mock.errors++) {
		va_start(args, format);
		vsnprintf(mock.error, sizeof(mock.error), format, args);
		va_end(args);
	}
}

/* ---- what a kernel does */

double mock_active_sum(const struct mock_spec *spec)
{
	return 1000.0 * spec->grid + (double)spec->function;
}

/* ---- the driver */

static wtcu_result get_current(wtcu_context *context)
{
	*context = mock.context;
	return WTCU_SUCCESS;
}

static wtcu_result get_device(wtcu_device *device)
{
	*device = mock.device;
	return WTCU_SUCCESS;
}

static wtcu_result get_attribute(int *value, int attribute, wtcu_device device)
{
	(void)device;
	*value = attribute == WTCU_DEVICE_MULTIPROCESSOR_COUNT ? MOCK_SMS : 0;
	return WTCU_SUCCESS;
}

static wtcu_result synchronize(void)
{
	pthread_mutex_lock(&mock.lock);
	if (wt_load_relaxed(&mock_page.captures_open))
		wrong("synchronised beside a capture");
	mock.pending = 0;
	pthread_mutex_unlock(&mock.lock);
	return mock.sync_result;
}

static wtcu_result get_stream_flags(wtcu_stream stream, unsigned *flags)
{
	(void)stream;
	*flags = mock.stream_flags;
	return WTCU_SUCCESS;
}

void *wt_driver_entry(const char *symbol)
{
	static const struct {
		const char *symbol;
		void *entry;
	} table[] = {
	        {"cuCtxGetCurrent", (void *)get_current},
	        {"cuCtxGetDevice", (void *)get_device},
	        {"cuDeviceGetAttribute", (void *)get_attribute},
	        {"cuCtxSynchronize", (void *)synchronize},
	        {"cuStreamGetFlags", (void *)get_stream_flags},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(symbol, table[i].symbol))
			return table[i].entry;
	return NULL;
}

static int real_launch(const struct mock_spec *spec)
{
	bool is_profiled;
	int result;
	void (*inside)(void) = NULL;

	pthread_mutex_lock(&mock.lock);
	is_profiled = mock.is_started;
	result = is_profiled && mock.launch_result_profiled ? mock.launch_result_profiled
	                                                    : mock.launch_result;
	mock.real_calls++;
	if (!result) {
		mock.executed++;
		mock.pending++;
		if (mock.ran_count < 64)
			mock.ran[mock.ran_count++] = *spec;
		if (is_profiled) {
			mock.is_holding = true;
			inside = mock.inside;
			mock.inside = NULL;
		}
	}
	pthread_mutex_unlock(&mock.lock);
	if (inside)
		inside();
	return result;
}

int mock_launch(const struct mock_spec *spec, uint64_t *ret_seq)
{
	struct wt_launch launch = {
	        .function = spec->function,
	        .stream = spec->stream,
	        .grid = {spec->grid, 1, 1},
	        .block = {spec->block, 1, 1},
	        .api = (uint16_t)(spec->api ? spec->api : WT_API_cuLaunchKernel),
	        .flags = spec->flags,
	};
	enum wt_profile_role role = WT_PROFILE_NOT;
	int result;

	if (wt_profile_is_on())
		role = wt_profile_begin(&launch);
	do {
		launch.entry_ns = wt_now_ns();
		result = real_launch(spec);
	} while (role && wt_profile_again(&role, result));
	launch.return_ns = wt_now_ns();
	launch.result = result;
	launch.seq = wt_add_relaxed(&producer.launch_attempted, 1);
	if (role)
		wt_profile_end(role, &launch);
	if (ret_seq)
		*ret_seq = launch.seq;
	return result;
}

/* ---- CUPTI's profiler */

static struct wtcupti_host_object *const host = (void *)0x10;
static struct wtcupti_range_object *const range = (void *)0x20;

static int step(const char *name, size_t got, size_t want)
{
	int code = 0;

	pthread_mutex_lock(&mock.lock);
	if (got != want)
		wrong("%s: %zu bytes, not %zu", name, got, want);
	if (strcmp(name, "initialize") && strcmp(name, "chip") && !mock.is_initialized)
		wrong("%s before cuptiProfilerInitialize", name);
	if (++mock.calls == mock.fail_at) {
		mock.failed = name;
		code = mock.fail_code;
	}
	pthread_mutex_unlock(&mock.lock);
	return code;
}

#define STEP(name, bytes)                                                                          \
	do {                                                                                       \
		int code_ = step(name, p->struct_size, bytes);                                     \
		if (code_)                                                                         \
			return code_;                                                              \
	} while (0)
#define NEED(condition)                                                                            \
	do {                                                                                       \
		if (!(condition))                                                                  \
			wrong("%s: %s", __func__, #condition);                                     \
	} while (0)

static wtcupti_result m_initialize(struct wtcupti_profiler_initialize *p)
{
	STEP("initialize", WTCUPTI_PROFILER_INITIALIZE_BYTES);
	mock.is_initialized = true;
	return 0;
}

static wtcupti_result m_chip(struct wtcupti_device_get_chip_name *p)
{
	STEP("chip", WTCUPTI_DEVICE_GET_CHIP_NAME_BYTES);
	NEED(p->device_index == (size_t)mock.device);
	p->chip_name = "MOCK";
	return 0;
}

static wtcupti_result m_availability(struct wtcupti_profiler_get_counter_availability *p)
{
	STEP("availability", WTCUPTI_PROFILER_GET_COUNTER_AVAILABILITY_BYTES);
	NEED(p->context == mock.context && !mock.enabled);
	if (p->image)
		NEED(p->image_bytes == 77);
	p->image_bytes = 77;
	return 0;
}

static wtcupti_result m_host(struct wtcupti_host_initialize *p)
{
	STEP("host", WTCUPTI_HOST_INITIALIZE_BYTES);
	NEED(!mock.is_host && p->profiler_type == WTCUPTI_PROFILER_RANGE);
	NEED(!strcmp(p->chip_name, "MOCK") && p->availability_image);
	mock.is_host = true;
	p->object = host;
	return 0;
}

static wtcupti_result m_host_end(struct wtcupti_host_deinitialize *p)
{
	STEP("host end", WTCUPTI_HOST_DEINITIALIZE_BYTES);
	NEED(mock.is_host && p->object == host);
	mock.is_host = false;
	return 0;
}

static int added;

static wtcupti_result m_add(struct wtcupti_host_config_add_metrics *p)
{
	STEP("add", WTCUPTI_HOST_CONFIG_ADD_METRICS_BYTES);
	NEED(mock.is_host && p->object == host);
	if ((int)p->count > mock.metrics_max)
		return WTCUPTI_ERROR_INVALID_METRIC_NAME;
	added = (int)p->count;
	return 0;
}

static wtcupti_result m_config_size(struct wtcupti_host_get_config_image_size *p)
{
	STEP("config size", WTCUPTI_HOST_GET_CONFIG_IMAGE_SIZE_BYTES);
	p->image_bytes = 333;
	return 0;
}

static wtcupti_result m_config(struct wtcupti_host_get_config_image *p)
{
	STEP("config", WTCUPTI_HOST_GET_CONFIG_IMAGE_BYTES);
	NEED(p->image_bytes == 333 && p->image);
	memset(p->image, 0x5a, p->image_bytes);
	return 0;
}

static wtcupti_result m_passes(struct wtcupti_host_get_num_of_passes *p)
{
	STEP("passes", WTCUPTI_HOST_GET_NUM_OF_PASSES_BYTES);
	NEED(p->image && p->image[332] == 0x5a);
	p->passes = added > mock.passes_metrics ? 2 : 1;
	return 0;
}

static wtcupti_result m_enable(struct wtcupti_range_enable *p)
{
	STEP("enable", WTCUPTI_RANGE_ENABLE_BYTES);
	NEED(!mock.enabled && p->context == mock.context);
	mock.enabled = p->context;
	mock.enables++;
	p->object = range;
	return 0;
}

static wtcupti_result m_disable(struct wtcupti_range_disable *p)
{
	STEP("disable", WTCUPTI_RANGE_DISABLE_BYTES);
	NEED(mock.enabled && !mock.is_started && p->object == range);
	mock.enabled = NULL;
	mock.is_started = mock.is_config_set = false;
	return 0;
}

static wtcupti_result m_data_size(struct wtcupti_range_get_counter_data_size *p)
{
	STEP("data size", WTCUPTI_RANGE_GET_COUNTER_DATA_SIZE_BYTES);
	NEED(mock.enabled && p->count == (size_t)added && p->max_tree_nodes >= p->max_ranges);
	p->image_bytes = 512;
	return 0;
}

static wtcupti_result m_data_init(struct wtcupti_range_counter_data_image_initialize *p)
{
	STEP("data init", WTCUPTI_RANGE_COUNTER_DATA_IMAGE_INITIALIZE_BYTES);
	NEED(mock.enabled && !mock.is_started && p->image_bytes == 512);
	memset(p->image, 1, p->image_bytes);
	mock.is_decoded = false;
	return 0;
}

static wtcupti_result m_set_config(struct wtcupti_range_set_config *p)
{
	STEP("set config", WTCUPTI_RANGE_SET_CONFIG_BYTES);
	NEED(mock.enabled && p->config_bytes == 333 && p->config[0] == 0x5a && p->image[0] == 1);
	NEED(p->range_mode == WTCUPTI_RANGE_AUTO && p->replay_mode == WTCUPTI_REPLAY_KERNEL);
	NEED(p->nesting_levels == 1 && p->min_nesting_level == 1);
	mock.is_config_set = true;
	return 0;
}

static wtcupti_result m_start(struct wtcupti_range_start *p)
{
	STEP("start", WTCUPTI_RANGE_START_BYTES);
	pthread_mutex_lock(&mock.lock);
	NEED(mock.is_config_set && !mock.is_started && !mock.pending);
	mock.is_started = true;
	mock.ran_count = 0;
	pthread_mutex_unlock(&mock.lock);
	return 0;
}

static wtcupti_result m_stop(struct wtcupti_range_stop *p)
{
	STEP("stop", WTCUPTI_RANGE_STOP_BYTES);
	pthread_mutex_lock(&mock.lock);
	NEED(mock.is_started);
	mock.is_started = false;
	pthread_mutex_unlock(&mock.lock);
	return 0;
}

static wtcupti_result m_decode(struct wtcupti_range_decode_data *p)
{
	STEP("decode", WTCUPTI_RANGE_DECODE_DATA_BYTES);
	NEED(!mock.is_started);
	mock.is_decoded = true;
	return 0;
}

static wtcupti_result m_info(struct wtcupti_range_get_counter_data_info *p)
{
	STEP("info", WTCUPTI_RANGE_GET_COUNTER_DATA_INFO_BYTES);
	NEED(mock.is_decoded);
	p->total_ranges = (size_t)mock.ran_count;
	return 0;
}

static wtcupti_result m_evaluate(struct wtcupti_host_evaluate_to_gpu_values *p)
{
	static const char *const core[] = {"sm__cycles_active.sum", "sm__cycles_active.min",
	                                   "sm__cycles_active.max", "sm__cycles_elapsed.max",
	                                   "sm__warps_active.avg"};
	double sum = mock_active_sum(&mock.ran[0]);

	STEP("evaluate", WTCUPTI_HOST_EVALUATE_TO_GPU_VALUES_BYTES);
	NEED(mock.is_host && mock.is_decoded && p->count == (size_t)added && p->index == 0);
	for (size_t i = 0; i < 5; i++)
		NEED(!strcmp(p->names[i], core[i]));
	NEED(p->count == 5 || strstr(p->names[5], ".avg.pct_of_peak_sustained_elapsed"));
	p->values[0] = mock.bad_value != 0 ? mock.bad_value : sum;
	p->values[1] = 0.5 * sum / MOCK_SMS;
	p->values[2] = 1.5 * sum / MOCK_SMS;
	p->values[3] = 2.0 * sum / MOCK_SMS;
	p->values[4] = 7;
	for (size_t i = 5; i < p->count; i++)
		p->values[i] = 100.0 * (double)i;
	return 0;
}

void *wt_real_dlsym(void *handle, const char *symbol)
{
	static const struct {
		const char *symbol;
		void *entry;
	} table[] = {
	        {"cuptiDeviceGetChipName", (void *)m_chip},
	        {"cuptiProfilerInitialize", (void *)m_initialize},
	        {"cuptiProfilerGetCounterAvailability", (void *)m_availability},
	        {"cuptiProfilerHostInitialize", (void *)m_host},
	        {"cuptiProfilerHostDeinitialize", (void *)m_host_end},
	        {"cuptiProfilerHostConfigAddMetrics", (void *)m_add},
	        {"cuptiProfilerHostGetConfigImageSize", (void *)m_config_size},
	        {"cuptiProfilerHostGetConfigImage", (void *)m_config},
	        {"cuptiProfilerHostGetNumOfPasses", (void *)m_passes},
	        {"cuptiProfilerHostEvaluateToGpuValues", (void *)m_evaluate},
	        {"cuptiRangeProfilerEnable", (void *)m_enable},
	        {"cuptiRangeProfilerDisable", (void *)m_disable},
	        {"cuptiRangeProfilerGetCounterDataSize", (void *)m_data_size},
	        {"cuptiRangeProfilerCounterDataImageInitialize", (void *)m_data_init},
	        {"cuptiRangeProfilerSetConfig", (void *)m_set_config},
	        {"cuptiRangeProfilerStart", (void *)m_start},
	        {"cuptiRangeProfilerStop", (void *)m_stop},
	        {"cuptiRangeProfilerDecodeData", (void *)m_decode},
	        {"cuptiRangeProfilerGetCounterDataInfo", (void *)m_info},
	};

	if (handle != &mock || (mock.has_no_range && strstr(symbol, "RangeProfilerStart")))
		return NULL;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(symbol, table[i].symbol))
			return table[i].entry;
	return NULL;
}

static wtcupti_result context_id(wtcu_context context, uint32_t *ret_id)
{
	if (context != mock.context)
		return WTCUPTI_ERROR_INVALID_CONTEXT;
	*ret_id = mock.context_id;
	return 0;
}

/* What runs at a forced flush loses its times. */
static wtcupti_result flush_all(uint32_t flag)
{
	pthread_mutex_lock(&mock.lock);
	if (mock.pending || flag != WTCUPTI_FLUSH_FORCED)
		wrong("flushed with %d kernels under way", mock.pending);
	mock.flushes++;
	mock.is_holding = mock.is_holding && mock.flush_result;
	pthread_mutex_unlock(&mock.lock);
	return mock.flush_result;
}

/* ---- for the test */

void mock_reset(uint32_t wish)
{
	mock = (struct mock_profile){.lock = PTHREAD_MUTEX_INITIALIZER,
	                             .clock_ns = FIRST_NS,
	                             .context = (wtcu_context)0x1000,
	                             .context_id = 1,
	                             .is_recording = true,
	                             .metrics_max = WT_PROFILE_METRICS,
	                             .passes_metrics = WT_PROFILE_METRICS};
	added = 0;
	memset((void *)&mock_page, 0, sizeof(mock_page));
	memset((void *)&producer, 0, sizeof(producer));
	memset((void *)&header, 0, sizeof(header));
	memset((void *)cells, 0, sizeof(cells));
	ring_head = 0;
	header.profile_launches = wish;
	header.world_size = -1;
	wt_cupti = (struct wt_cupti_api){
	        .handle = &mock, .get_context_id = context_id, .flush_all = flush_all};
	mock_view = (struct wt_view){.header = &header, .producer = &producer};
	mock_view.ring[WT_RING_ACTIVITY] =
	        (struct wt_ring){.control = &producer.ring[WT_RING_ACTIVITY],
	                         .head = &ring_head,
	                         .cells = cells,
	                         .mask = MOCK_RING_CELLS - 1};
	atomic_store(&mock_page.view, &mock_view);
	wt_profile_on = 0;
	setenv("WAVETAP_PROFILE_SHARE", "100", 1); /* clocks of the mock and of turns differ */
}

bool mock_record(enum wt_kind kind, int idx, void *payload)
{
	struct wt_ring *ring = &mock_view.ring[WT_RING_ACTIVITY];
	struct wt_cell cell;

	for (uint64_t pos = 0; pos < wt_ring_tail(ring) && !wt_ring_peek(ring, pos, &cell); pos++)
		if (cell.kind == kind && !idx--) {
			memcpy(payload, cell.payload, WT_CELL_PAYLOAD_BYTES);
			return true;
		}
	return false;
}

int mock_records(enum wt_kind kind)
{
	struct wt_ring *ring = &mock_view.ring[WT_RING_ACTIVITY];
	struct wt_cell cell;
	int count = 0;

	for (uint64_t pos = 0; pos < wt_ring_tail(ring) && !wt_ring_peek(ring, pos, &cell); pos++)
		count += cell.kind == kind;
	return count;
}

/* A consumer that is nowhere near, as long as it is full. */
void mock_fill_ring(bool is_full)
{
	mock_view.ring[WT_RING_ACTIVITY].mask = is_full ? 0 : MOCK_RING_CELLS - 1;
}

enum wt_profile_state mock_state(void)
{
	return (enum wt_profile_state)wt_load_acquire(&producer.profile_state);
}

uint64_t mock_detail(void)
{
	return wt_load_acquire(&producer.profile_detail);
}
