/* mock_cupti.c - see mock_cupti.h. */
#include "tests/unit/mock_cupti.h"

struct mock mock = {.lock = PTHREAD_MUTEX_INITIALIZER};
struct wt_fork_page mock_page;
struct wt_view mock_view;
uint64_t mock_capture, mock_reason, mock_detail;
uint32_t mock_version = WTCUPTI_API_VERSION_CUDA_13_0_U1;
int mock_find_calls;

/* ---- the library's core */

static struct wt_producer producer;
static _Atomic uint64_t ring_head;
static struct wt_cell cells[MOCK_RING_CELLS];
static uint64_t drained[WT_KIND_MAX];
static _Thread_local int depth;

struct wt_fork_page *wt_fork_page(void)
{
	return &mock_page;
}

bool wt_is_active(void)
{
	return true;
}

bool wt_enter(void)
{
	if (depth)
		return false;
	depth = 1;
	return true;
}

void wt_leave(void)
{
	depth = 0;
}

static void make_view(void)
{
	mock_view.producer = &producer;
	mock_view.ring[WT_RING_ACTIVITY] =
	        (struct wt_ring){.control = &producer.ring[WT_RING_ACTIVITY],
	                         .head = &ring_head,
	                         .cells = cells,
	                         .mask = MOCK_RING_CELLS - 1};
}

struct wt_view *wt_segment_view(bool may_create)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)may_create;
	pthread_once(&once, make_view);
	return &mock_view;
}

void wt_segment_set_capture(enum wt_capture capture, enum wt_reason reason, uint64_t detail)
{
	mock_capture = capture;
	mock_reason = reason;
	mock_detail = detail;
}

void wt_emit_activity(struct wt_view *view, enum wt_kind kind, uint16_t count, const void *payload,
                      uint32_t length)
{
	wt_ring_put(&view->ring[WT_RING_ACTIVITY], (uint16_t)kind, count, payload, length);
}

uint32_t wt_name_id(struct wt_view *view, const char *name)
{
	(void)view;
	return name ? 1 : 0;
}

void *wt_driver_entry(const char *symbol)
{
	(void)symbol;
	return NULL;
}

bool wt_device_read_all(struct wt_view *view)
{
	(void)view;
	return true;
}

void wt_device_used(struct wt_view *view, uint32_t ordinal)
{
	(void)view;
	(void)ordinal;
}

_Atomic uint64_t wt_profile_on; /* no profiling in this test */

struct wt_profile_run *wt_profile_run_now(void)
{
	return NULL;
}

uint64_t wt_profile_flush_due(bool is_short)
{
	(void)is_short;
	return 0;
}

void wt_profile_flushed(uint64_t held_ns)
{
	(void)held_ns;
}

void wt_profile_note_kernel(struct wt_profile_recent *recent, const struct wt_kernel *kernel,
                            const char *name)
{
	(void)recent;
	(void)kernel;
	(void)name;
}

void wt_log(const char *format, ...)
{
	(void)format;
}

void mock_ring_drain(void)
{
	struct wt_ring *ring = &mock_view.ring[WT_RING_ACTIVITY];
	uint64_t pos = wt_load_relaxed(&ring_head);
	struct wt_cell cell;

	for (; pos < wt_ring_tail(ring) && !wt_ring_peek(ring, pos, &cell); pos++)
		drained[cell.kind] += cell.kind == WT_KIND_LINK ? cell.count : 1;
	wt_ring_release(ring, pos);
}

uint64_t mock_ring_count(enum wt_kind kind)
{
	mock_ring_drain();
	return drained[kind];
}

bool mock_ring_last(enum wt_kind kind, void *payload)
{
	struct wt_ring *ring = &mock_view.ring[WT_RING_ACTIVITY];
	uint64_t pos = wt_ring_tail(ring),
	         oldest = pos > MOCK_RING_CELLS ? pos - MOCK_RING_CELLS : 0;

	while (pos-- > oldest) {
		const struct wt_cell *cell = wt_ring_cell(ring, pos);

		if (cell->kind == kind) {
			memcpy(payload, cell->payload, WT_CELL_PAYLOAD_BYTES);
			return true;
		}
	}
	return false;
}

/* ---- making records */

static void give_back_buffer(void)
{
	uint8_t *buffer = mock.buffer;
	size_t size = mock.size, used = mock.used;

	mock.buffer = NULL;
	pthread_mutex_unlock(&mock.lock);
	mock.completed(NULL, 0, buffer, size, used);
	pthread_mutex_lock(&mock.lock);
}

static void emit(const void *record, size_t bytes)
{
	size_t max_records;

	pthread_mutex_lock(&mock.lock);
	if (mock.buffer && mock.size - mock.used < bytes)
		give_back_buffer();
	if (!mock.buffer && mock.requested) {
		mock.requested(&mock.buffer, &mock.size, &max_records);
		mock.used = 0;
	}
	if (mock.buffer && mock.size >= bytes) {
		memcpy(mock.buffer + mock.used, record, bytes);
		mock.used += bytes;
	} else {
		mock.dropped++;
	}
	pthread_mutex_unlock(&mock.lock);
}

static bool is_on(int kind)
{
	bool on;

	pthread_mutex_lock(&mock.lock);
	on = mock.kinds >> kind & 1;
	pthread_mutex_unlock(&mock.lock);
	return on;
}

void mock_kernel(uint64_t start_ns, uint32_t context_id)
{
	struct wtcupti_activity_kernel kernel = {.kind = WTCUPTI_KIND_CONCURRENT_KERNEL,
	                                         .start = start_ns,
	                                         .end = start_ns ? start_ns + 1000 : 0,
	                                         .context_id = context_id,
	                                         .grid_x = 7,
	                                         .grid_y = 2,
	                                         .grid_z = 1,
	                                         .block_x = 256,
	                                         .block_y = 1,
	                                         .block_z = 1,
	                                         .max_active_clusters = 66,
	                                         .graph_node_id = 5,
	                                         .correlation_id = ++mock.correlation_id,
	                                         .name = "mock"};

	if (is_on(WTCUPTI_KIND_CONCURRENT_KERNEL))
		emit(&kernel, mock_version >= WTCUPTI_API_VERSION_CUDA_13_0
		                      ? sizeof(kernel)
		                      : WTCUPTI_KERNEL_BYTES_CUDA_11_8);
}

void mock_driver(uint32_t cbid, uint64_t start_ns)
{
	struct wtcupti_activity_api api = {.kind = WTCUPTI_KIND_DRIVER,
	                                   .cbid = cbid,
	                                   .start = start_ns,
	                                   .end = start_ns + 10,
	                                   .correlation_id = mock.correlation_id,
	                                   .thread_id = 77};

	if (is_on(WTCUPTI_KIND_DRIVER) || mock.cbid_on[cbid])
		emit(&api, sizeof(api));
}

void mock_runtime(uint32_t cbid, uint64_t start_ns, uint64_t end_ns)
{
	struct wtcupti_activity_api api = {
	        .kind = WTCUPTI_KIND_RUNTIME,
	        .cbid = cbid,
	        .start = start_ns,
	        .end = end_ns,
	        .correlation_id = mock.correlation_id,
	        .thread_id = 78,
	};

	if (is_on(WTCUPTI_KIND_RUNTIME) || mock.runtime_on[cbid])
		emit(&api, sizeof(api));
}

void mock_memcpy(uint64_t start_ns)
{
	struct wtcupti_activity_memcpy copy = {.kind = WTCUPTI_KIND_MEMCPY,
	                                       .bytes = 4096,
	                                       .start = start_ns,
	                                       .end = start_ns + 1000,
	                                       .copy_kind = 1};

	if (is_on(WTCUPTI_KIND_MEMCPY))
		emit(&copy, sizeof(copy));
}

void mock_kind(int kind, uint64_t start_ns)
{
	struct wtcupti_activity_api record = {.kind = kind, .start = start_ns};

	if (is_on(kind))
		emit(&record, sizeof(record));
}

void mock_lend_foreign(uint8_t *buffer, size_t size)
{
	mock.buffer = buffer;
	mock.size = size;
	mock.used = 0;
}

/* ---- CUPTI's functions */

static wtcupti_result mock_get_version(uint32_t *version)
{
	*version = mock_version;
	return WTCUPTI_SUCCESS;
}

static wtcupti_result mock_register(wtcupti_buffer_requested_fn requested,
                                    wtcupti_buffer_completed_fn completed)
{
	mock.requested = requested;
	mock.completed = completed;
	return WTCUPTI_SUCCESS;
}

static wtcupti_result mock_enable(int kind)
{
	if (kind == mock.fail_kind)
		return mock.fail_code;
	pthread_mutex_lock(&mock.lock);
	mock.kinds |= UINT64_C(1) << kind;
	pthread_mutex_unlock(&mock.lock);
	if (kind == WTCUPTI_KIND_DRIVER)
		for (size_t i = 0; i < MOCK_CBIDS; i++)
			mock.cbid_on[i] = 1;
	return WTCUPTI_SUCCESS;
}

static wtcupti_result mock_disable(int kind)
{
	pthread_mutex_lock(&mock.lock);
	mock.kinds &= ~(UINT64_C(1) << kind);
	pthread_mutex_unlock(&mock.lock);
	if (kind == WTCUPTI_KIND_DRIVER) { /* as CUPTI 13.0 does: single calls are off for good */
		for (size_t i = 0; i < MOCK_CBIDS; i++)
			mock.cbid_on[i] = 0;
		mock.cbids_dead = true;
	}
	return WTCUPTI_SUCCESS;
}

wtcupti_result mock_flush_all(uint32_t flag)
{
	(void)flag;
	pthread_mutex_lock(&mock.lock);
	if (mock.buffer && mock.used)
		give_back_buffer();
	pthread_mutex_unlock(&mock.lock);
	return WTCUPTI_SUCCESS;
}

static wtcupti_result mock_next(uint8_t *buffer, size_t valid, struct wtcupti_activity **record)
{
	uint8_t *at = *record ? (uint8_t *)*record : buffer;
	size_t bytes = 0;

	if (*record) {
		switch ((*record)->kind) {
		case WTCUPTI_KIND_CONCURRENT_KERNEL:
			bytes = mock_version >= WTCUPTI_API_VERSION_CUDA_13_0
			                ? sizeof(struct wtcupti_activity_kernel)
			                : WTCUPTI_KERNEL_BYTES_CUDA_11_8;
			break;
		case WTCUPTI_KIND_MEMCPY:
			bytes = sizeof(struct wtcupti_activity_memcpy);
			break;
		default:
			bytes = sizeof(struct wtcupti_activity_api);
		}
	}
	if (at + bytes >= buffer + valid)
		return WTCUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (struct wtcupti_activity *)(at + bytes);
	return WTCUPTI_SUCCESS;
}

static wtcupti_result mock_dropped(wtcu_context context, uint32_t stream, size_t *ret)
{
	(void)context;
	(void)stream;
	*ret = atomic_exchange(&mock.dropped, 0);
	return WTCUPTI_SUCCESS;
}

static wtcupti_result mock_timestamp(uint64_t *ret)
{
	*ret = mock.timestamp ? mock.timestamp() : wt_now_ns();
	return WTCUPTI_SUCCESS;
}

static wtcupti_result mock_register_timestamp(wtcupti_timestamp_fn fn)
{
	mock.timestamp = fn;
	return WTCUPTI_SUCCESS;
}

static wtcupti_result mock_driver_api(wtcupti_callback_id cbid, uint8_t enable)
{
	if (!cbid || cbid >= MOCK_CBIDS)
		return WTCUPTI_ERROR_INVALID_PARAMETER;
	if (!mock.cbids_dead)
		mock.cbid_on[cbid] = enable;
	return WTCUPTI_SUCCESS;
}

static wtcupti_result mock_runtime_api(wtcupti_callback_id cbid, uint8_t enable)
{
	if (!cbid || cbid >= MOCK_CBIDS)
		return WTCUPTI_ERROR_INVALID_PARAMETER;
	mock.runtime_on[cbid] = enable;
	return WTCUPTI_SUCCESS;
}

static wtcupti_result mock_enable_all_sync(uint8_t enable)
{
	mock.all_sync = enable;
	return WTCUPTI_SUCCESS;
}

static wtcupti_result mock_context_id(wtcu_context context, uint32_t *ret)
{
	*ret = (uint32_t)(uintptr_t)context;
	return WTCUPTI_SUCCESS;
}

static wtcupti_result mock_subscribe(wtcupti_subscriber *subscriber, wtcupti_callback_fn fn,
                                     void *data)
{
	(void)data;
	if (mock.seat)
		return WTCUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	mock.seat = (wtcupti_subscriber)(uintptr_t)fn;
	*subscriber = mock.seat;
	return WTCUPTI_SUCCESS;
}

static wtcupti_result mock_subscribe_v2(wtcupti_subscriber *subscriber, wtcupti_callback_fn fn,
                                        void *data, void *params)
{
	(void)params;
	if (mock.fail_subscribe_v2 && mock.kinds)
		return mock.fail_subscribe_v2;
	return mock_subscribe(subscriber, fn, data);
}

static wtcupti_result mock_unsubscribe(wtcupti_subscriber subscriber)
{
	if (subscriber != mock.seat)
		return WTCUPTI_ERROR_INVALID_PARAMETER;
	mock.seat = NULL;
	mock.unsubscribed++;
	return WTCUPTI_SUCCESS;
}

static wtcupti_result mock_domains(uint32_t enable, wtcupti_subscriber subscriber)
{
	(void)enable;
	(void)subscriber;
	mock.domains_off++;
	return WTCUPTI_SUCCESS;
}

static wtcupti_result mock_attribute(int attribute, size_t *size, void *value)
{
	if (attribute == WTCUPTI_ATTR_DEVICE_BUFFER_POOL_LIMIT && *size == sizeof(size_t) &&
	    !mock.fail_attribute) {
		if (mock.kinds)
			mock.attribute_late++;
		memcpy(&mock.device_buffers, value, sizeof(size_t));
	}
	return mock.fail_attribute;
}

static wtcupti_result mock_get_attribute(int attribute, size_t *size, void *value)
{
	if (attribute == WTCUPTI_ATTR_DEVICE_BUFFER_POOL_LIMIT && *size == sizeof(size_t))
		memcpy(value, &mock.device_buffers, sizeof(size_t));
	return mock.fail_attribute;
}

void *wt_real_dlsym(void *handle, const char *symbol)
{
	static const struct {
		const char *symbol;
		void *entry;
	} table[] = {
	        {"cuptiActivityEnable", (void *)mock_enable},
	        {"cuptiActivityDisable", (void *)mock_disable},
	        {"cuptiActivityRegisterCallbacks", (void *)mock_register},
	        {"cuptiActivityFlushAll", (void *)mock_flush_all},
	        {"cuptiActivityEnableDriverApi", (void *)mock_driver_api},
	        {"cuptiActivityGetNumDroppedRecords", (void *)mock_dropped},
	        {"cuptiActivityRegisterTimestampCallback", (void *)mock_register_timestamp},
	        {"cuptiActivityGetAttribute", (void *)mock_get_attribute},
	        {"cuptiActivitySetAttribute", (void *)mock_attribute},
	        {"cuptiSubscribe", (void *)mock_subscribe},
	        {"cuptiSubscribe_v2", (void *)mock_subscribe_v2},
	        {"cuptiUnsubscribe", (void *)mock_unsubscribe},
	        {"cuptiEnableAllDomains", (void *)mock_domains},
	};

	(void)handle;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(symbol, table[i].symbol))
			return table[i].entry;
	return NULL;
}

/* ---- in place of cupti_find.c */

enum wt_reason wt_cupti_find(uintptr_t hint, struct wt_cupti_api *api)
{
	(void)hint;
	mock_find_calls++;
	*api = (struct wt_cupti_api){
	        .handle = &mock,
	        .version = mock_version,
	        .soname = "libcupti.so.13",
	        .path = "/mock/libcupti.so.13",
	        .get_version = mock_get_version,
	        .register_callbacks = mock_register,
	        .enable = mock_enable,
	        .disable = mock_disable,
	        .flush_all = mock_flush_all,
	        .next_record = mock_next,
	        .dropped_records = mock_dropped,
	        .get_timestamp = mock_timestamp,
	        .set_attribute = mock_attribute,
	        .get_attribute = mock_get_attribute,
	        .enable_driver_api = mock_driver_api,
	        .enable_runtime_api = mock_runtime_api,
	        .enable_all_sync = mock_enable_all_sync,
	        .get_context_id = mock_context_id,
	};
	return WT_REASON_NONE;
}

void wt_cupti_linked_soname(uintptr_t address, char soname[WT_SONAME_BYTES])
{
	(void)address;
	soname[0] = '\0';
}

uintptr_t wt_cupti_address_of(const char *soname)
{
	(void)soname;
	return 0;
}

uintptr_t wt_cupti_base_of(uintptr_t address)
{
	(void)address;
	return 0;
}

void *wt_cupti_loaded(const char *soname, uintptr_t hint)
{
	(void)soname;
	(void)hint;
	return &mock;
}
