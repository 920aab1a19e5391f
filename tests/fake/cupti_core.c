/*
 * cupti_core.c - the exported CUPTI calls of the simulation, its state, and
 * its worker thread.
 *
 * Any thread. Flushing calls the client's callbacks on the calling thread, the
 * worker does so for full buffers. Every call is counted in WTFAKE_COUNTERS
 * and can be made to fail by WTFAKE_FAIL. What no client may do is fatal.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/fake/cupti_int.h"

#define WORKER_PERIOD_NS 2000000
#define TIMES_BYTES 32 /* 100,000 records in 3.2 MB, says the header */

pthread_mutex_t cupti_lock = PTHREAD_MUTEX_INITIALIZER;
struct cupti_state cupti = {.per_thread_buffers = true};

static bool has_worker;
static int64_t base_ns; /* clock faults are relative to the first call */
static struct wtcupti_subscriber_opaque {
	int is_taken;
} seat;

/* Values of attributes, and the bytes each has. */
static struct {
	size_t bytes;
	uint64_t value;
} attributes[] = {
        [WTCUPTI_ATTR_DEVICE_BUFFER_SIZE] = {8, 3200000},
        [WTCUPTI_ATTR_DEVICE_BUFFER_SIZE_CDP] = {8, 8388608},
        [WTCUPTI_ATTR_DEVICE_BUFFER_POOL_LIMIT] = {8, 250},
        [WTCUPTI_ATTR_PROFILING_SEMAPHORE_POOL_SIZE] = {8, 25000},
        [WTCUPTI_ATTR_PROFILING_SEMAPHORE_POOL_LIMIT] = {8, 250},
        [WTCUPTI_ATTR_ZEROED_OUT_ACTIVITY_BUFFER] = {1, 0},
        [WTCUPTI_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE] = {8, 3},
        [WTCUPTI_ATTR_PROFILING_SEMAPHORE_PRE_ALLOCATE_VALUE] = {8, 3},
        [WTCUPTI_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED] = {1, 0},
        [WTCUPTI_ATTR_PER_THREAD_ACTIVITY_BUFFER] = {1, 1},
        [WTCUPTI_ATTR_DEVICE_BUFFER_SIZE_DEVICE_GRAPHS] = {8, 16777216},
};

/* WTFAKE_CUPTI_COPY=FOLDER:VERSION is for the copy in that folder. */
static bool copy_version(uint32_t *ret_version)
{
	const char *given = getenv("WTFAKE_CUPTI_COPY");
	const char *colon = given ? strrchr(given, ':') : NULL;
	size_t length = colon ? (size_t)(colon - given) : 0;
	Dl_info info;

	if (!length || !dladdr((const void *)copy_version, &info) || !info.dli_fname ||
	    strncmp(info.dli_fname, given, length) || info.dli_fname[length] != '/')
		return false;
	*ret_version = (uint32_t)strtoul(colon + 1, NULL, 10);
	return true;
}

uint32_t cupti_version(void)
{
	uint32_t version;

	if (copy_version(&version))
		return version;
	return (uint32_t)fake_env_i64("WTFAKE_CUPTI_VERSION", WTCUPTI_API_VERSION_CUDA_13_0_U1);
}

/* Attributes are changed under the lock, too. */
uint64_t cupti_device_records(void)
{
	uint64_t per_buffer = attributes[WTCUPTI_ATTR_DEVICE_BUFFER_SIZE].value / TIMES_BYTES;
	int64_t scripted = fake_env_i64("WTFAKE_BUFFER_RECORDS", 0);

	if (scripted > 0)
		per_buffer = (uint64_t)scripted;
	return per_buffer * attributes[WTCUPTI_ATTR_DEVICE_BUFFER_POOL_LIMIT].value;
}

uint64_t cupti_time(int64_t real_ns)
{
	const char *step = getenv("WTFAKE_CUPTI_STEP"); /* AT_MS:NS */
	const char *step_ns = step ? strchr(step, ':') : NULL;
	int64_t since_ns = real_ns - base_ns;
	int64_t told_ns = real_ns + fake_env_i64("WTFAKE_CUPTI_OFFSET_NS", 0);

	told_ns += (int64_t)((double)since_ns * fake_env_double("WTFAKE_CUPTI_DRIFT_PPM", 0) / 1e6);
	if (step_ns && since_ns >= strtoll(step, NULL, 10) * 1000000)
		told_ns += strtoll(step_ns + 1, NULL, 10);
	return (uint64_t)told_ns;
}

void cupti_count(const char *name)
{
	if (cupti.driver)
		atomic_fetch_add(cupti.driver->counter(name), 1);
}

bool cupti_anything_on(void)
{
	for (int kind = 0; kind < WTCUPTI_KIND_LIMIT; kind++)
		if (cupti.is_on[kind])
			return true;
	return cupti_calls_any_on();
}

wtcupti_result cupti_enter(const char *name)
{
	static __thread bool is_inside;
	void *libcuda;
	const struct fake_driver *(*driver)(void);
	int64_t delay_ns = fake_scripted_delay_ns(name);
	uint64_t number = 1;

	if (is_inside)
		return WTCUPTI_SUCCESS;
	if (delay_ns)
		fake_sleep_until_ns(fake_now_ns() + delay_ns);
	is_inside = true;
	if (!cupti.driver) {
		libcuda = dlopen("libcuda.so.1", RTLD_NOW);
		*(void **)&driver = libcuda ? dlsym(libcuda, "wtfake_driver") : NULL;
		base_ns = fake_now_ns();
		if (driver)
			cupti.driver = driver();
	}
	is_inside = false;
	if (!cupti.driver)
		return WTCUPTI_ERROR_NOT_INITIALIZED;
	number += atomic_fetch_add(cupti.driver->counter(name), 1);
	return fake_scripted_fault(name, number);
}

/* ---- the worker --------------------------------------------------------------------- */

static void *worker(void *unused)
{
	const struct timespec period = {.tv_nsec = WORKER_PERIOD_NS};

	for (;;) {
		nanosleep(&period, NULL);
		cupti_collect(false);
		cupti_deliver(false, false);
	}
	return unused;
}

static void worker_start(void)
{
	pthread_t thread;
	sigset_t all, old;

	if (has_worker)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (!pthread_create(&thread, NULL, worker, NULL)) {
		pthread_detach(thread);
		has_worker = true;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* ---- the driver's one place ------------------------------------------------------------ */

/* Seen on an H200: while one copy of libcupti has kinds on, with no subscriber of its own, another
 * copy's subscribe gives 39. */
static bool take_driver(void)
{
	return cupti.driver->attach(cupti_tools());
}

/* Whether it is given back before cuptiFinalize is not known: only with WTFAKE_PLACE_FREED=1. */
static void perhaps_leave_driver(void)
{
	if (fake_env_i64("WTFAKE_PLACE_FREED", 0) && !seat.is_taken && !cupti_anything_on())
		cupti.driver->detach(cupti_tools());
}

/* ---- enabling ------------------------------------------------------------------------- */

static void enable_update(int kind, bool on)
{
	pthread_mutex_lock(&cupti_lock);
	cupti.is_on[kind] = on;
	cupti_calls_switch_kind(kind, on);
	pthread_mutex_unlock(&cupti_lock);
}

static wtcupti_result enable(int kind)
{
	if (kind <= 0 || kind >= WTCUPTI_KIND_LIMIT)
		return WTCUPTI_ERROR_INVALID_KIND;
	if (kind == WTCUPTI_KIND_KERNEL)
		fake_die("CUPTI_ACTIVITY_KIND_KERNEL enabled: it serialises the application");
	if (!cupti.requested || !cupti.completed)
		fake_die("activity kind %d enabled before buffer callbacks were registered", kind);
	if (!take_driver())
		return WTCUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	worker_start();
	enable_update(kind, true);
	return WTCUPTI_SUCCESS;
}

static wtcupti_result disable(int kind)
{
	if (kind <= 0 || kind >= WTCUPTI_KIND_LIMIT)
		return WTCUPTI_ERROR_INVALID_KIND;
	enable_update(kind, false);
	perhaps_leave_driver();
	return WTCUPTI_SUCCESS;
}

static wtcupti_result enable_in(wtcu_context context, int kind, bool on)
{
	uint32_t id, device;

	if (!context || !cupti.driver->context_id(context, &id, &device))
		return WTCUPTI_ERROR_INVALID_CONTEXT;
	return on ? enable(kind) : disable(kind);
}

static wtcupti_result enable_call(int kind, wtcupti_callback_id cbid, uint8_t on)
{
	bool has_context = cupti.driver->has_context();
	wtcupti_result result;

	if (!take_driver())
		return WTCUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	worker_start();
	pthread_mutex_lock(&cupti_lock);
	result = cupti_calls_switch(kind, cbid, on != 0, has_context);
	pthread_mutex_unlock(&cupti_lock);
	return result;
}

static wtcupti_result enable_latency(uint8_t on)
{
	pthread_mutex_lock(&cupti_lock);
	cupti.wants_latency = on != 0;
	pthread_mutex_unlock(&cupti_lock);
	return WTCUPTI_SUCCESS;
}

static wtcupti_result register_callbacks(wtcupti_buffer_requested_fn requested,
                                         wtcupti_buffer_completed_fn completed)
{
	if (!requested || !completed)
		return WTCUPTI_ERROR_INVALID_PARAMETER;
	if (cupti_anything_on())
		fake_die("buffer callbacks registered while activities are enabled");
	pthread_mutex_lock(&cupti_lock);
	cupti.requested = requested;
	cupti.completed = completed;
	pthread_mutex_unlock(&cupti_lock);
	return WTCUPTI_SUCCESS;
}

/* A time-stamp callback is for all users of CUPTI in the process. */
static wtcupti_result register_timestamp(void)
{
	if (cupti_anything_on())
		fake_die("time-stamp callback registered while activities are enabled");
	return WTCUPTI_ERROR_NOT_SUPPORTED;
}

/* Blocks: on return the client has all that had ended, and none of its callbacks still runs. */
static wtcupti_result flush(uint32_t flag)
{
	int64_t start_ns = fake_now_ns();

	bool is_forced = (flag & WTCUPTI_FLUSH_FORCED) != 0;

	cupti_collect(is_forced);
	cupti_move_wait(); /* the worker may have taken records that it has not written yet */
	if (cupti.is_on[WTCUPTI_KIND_OVERHEAD])
		cupti_tools()->overhead(WTCUPTI_OVERHEAD_BUFFER_FLUSH, start_ns, fake_now_ns(), 0);
	cupti_deliver(true, is_forced);
	cupti_move_wait();
	return WTCUPTI_SUCCESS;
}

static wtcupti_result dropped(size_t *ret_dropped)
{
	if (!ret_dropped)
		return WTCUPTI_ERROR_INVALID_PARAMETER;
	pthread_mutex_lock(&cupti_lock);
	*ret_dropped = cupti.dropped;
	cupti.dropped = 0;
	pthread_mutex_unlock(&cupti_lock);
	return WTCUPTI_SUCCESS;
}

static wtcupti_result attribute(int number, size_t *bytes, void *value, bool is_set)
{
	if (!bytes || !value || number < 0 ||
	    (size_t)number >= sizeof(attributes) / sizeof(attributes[0]))
		return WTCUPTI_ERROR_INVALID_PARAMETER;
	if (*bytes < attributes[number].bytes)
		return WTCUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
	if (!is_set) {
		memcpy(value, &attributes[number].value, attributes[number].bytes);
		*bytes = attributes[number].bytes;
		return WTCUPTI_SUCCESS;
	}
	if (number == WTCUPTI_ATTR_PER_THREAD_ACTIVITY_BUFFER && cupti_anything_on())
		fake_die("per-thread buffers changed while activities are enabled");
	pthread_mutex_lock(&cupti_lock);
	attributes[number].value = 0;
	memcpy(&attributes[number].value, value, attributes[number].bytes);
	if (number == WTCUPTI_ATTR_PER_THREAD_ACTIVITY_BUFFER)
		cupti.per_thread_buffers = attributes[number].value != 0;
	pthread_mutex_unlock(&cupti_lock);
	return WTCUPTI_SUCCESS;
}

/* ---- the seat ---------------------------------------------------------------------------- */

static wtcupti_result subscribe(wtcupti_subscriber *subscriber)
{
	if (!subscriber)
		return WTCUPTI_ERROR_INVALID_PARAMETER;
	if (seat.is_taken || fake_env_i64("WTFAKE_SEAT_TAKEN", 0) || !take_driver())
		return WTCUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	seat.is_taken = 1;
	*subscriber = &seat;
	return WTCUPTI_SUCCESS;
}

static wtcupti_result unsubscribe(wtcupti_subscriber subscriber)
{
	if (subscriber != &seat || !seat.is_taken)
		return WTCUPTI_ERROR_INVALID_PARAMETER;
	seat.is_taken = 0;
	perhaps_leave_driver();
	return WTCUPTI_SUCCESS;
}

/* Only the application that uses CUPTI alone may end it: WTFAKE_FINALIZE=1. */
static wtcupti_result finalize(void)
{
	if (!fake_env_i64("WTFAKE_FINALIZE", 0))
		fake_die("cuptiFinalize reached libcupti");
	cupti.driver->detach(cupti_tools());
	flush(WTCUPTI_FLUSH_FORCED);
	pthread_mutex_lock(&cupti_lock);
	memset(cupti.is_on, 0, sizeof(cupti.is_on));
	cupti_calls_reset();
	cupti_forget_pending();
	seat.is_taken = 0;
	pthread_mutex_unlock(&cupti_lock);
	return WTCUPTI_SUCCESS;
}

/* ---- questions ----------------------------------------------------------------------------- */

static wtcupti_result get_version(uint32_t *version)
{
	if (!version)
		return WTCUPTI_ERROR_INVALID_PARAMETER;
	*version = cupti_version();
	return WTCUPTI_SUCCESS;
}

static wtcupti_result get_timestamp(uint64_t *timestamp)
{
	if (!timestamp)
		return WTCUPTI_ERROR_INVALID_PARAMETER;
	*timestamp = cupti_time(fake_now_ns());
	return WTCUPTI_SUCCESS;
}

static wtcupti_result get_context(wtcu_context context, uint32_t *ret_id, bool want_device)
{
	uint32_t id, device;

	if (!ret_id)
		return WTCUPTI_ERROR_INVALID_PARAMETER;
	if (!cupti.driver->context_id(context, &id, &device))
		return WTCUPTI_ERROR_INVALID_CONTEXT;
	*ret_id = want_device ? device : id;
	return WTCUPTI_SUCCESS;
}

static wtcupti_result get_stream(wtcu_context context, wtcu_stream stream, bool per_thread,
                                 uint32_t *ret_id)
{
	if (!ret_id)
		return WTCUPTI_ERROR_INVALID_PARAMETER;
	return cupti.driver->stream_id(context, stream, per_thread, ret_id)
	               ? WTCUPTI_SUCCESS
	               : WTCUPTI_ERROR_INVALID_STREAM;
}

static wtcupti_result set_thread_id_type(int type)
{
	if (type != WTCUPTI_THREAD_ID_DEFAULT && type != WTCUPTI_THREAD_ID_SYSTEM)
		return WTCUPTI_ERROR_INVALID_PARAMETER;
	cupti.thread_id_type = type;
	return WTCUPTI_SUCCESS;
}

static wtcupti_result result_string(wtcupti_result result, const char **text)
{
	if (!text)
		return WTCUPTI_ERROR_INVALID_PARAMETER;
	*text = result ? "CUPTI_ERROR_SIMULATED" : "CUPTI_SUCCESS";
	return WTCUPTI_SUCCESS;
}

CUPTI_FN(cuptiGetVersion, (uint32_t * version), get_version(version))
CUPTI_FN(cuptiGetTimestamp, (uint64_t * timestamp), get_timestamp(timestamp))
CUPTI_FN(cuptiGetResultString, (wtcupti_result result, const char **text),
         result_string(result, text))
CUPTI_FN(cuptiGetContextId, (wtcu_context context, uint32_t *id), get_context(context, id, false))
CUPTI_FN(cuptiGetDeviceId, (wtcu_context context, uint32_t *id), get_context(context, id, true))
CUPTI_FN(cuptiGetStreamId, (wtcu_context context, wtcu_stream stream, uint32_t *id),
         get_stream(context, stream, false, id))
CUPTI_FN(cuptiGetStreamIdEx,
         (wtcu_context context, wtcu_stream stream, uint8_t per_thread, uint32_t *id),
         get_stream(context, stream, per_thread != 0, id))
CUPTI_FN(cuptiSetThreadIdType, (int type), set_thread_id_type(type))
CUPTI_FN(cuptiActivityRegisterCallbacks,
         (wtcupti_buffer_requested_fn requested, wtcupti_buffer_completed_fn completed),
         register_callbacks(requested, completed))
CUPTI_FN(cuptiActivityRegisterTimestampCallback, (wtcupti_timestamp_fn timestamp),
         ((void)timestamp, register_timestamp()))
CUPTI_FN(cuptiActivityEnable, (int kind), enable(kind))
CUPTI_FN(cuptiActivityDisable, (int kind), disable(kind))
CUPTI_FN(cuptiActivityEnableContext, (wtcu_context context, int kind),
         enable_in(context, kind, true))
CUPTI_FN(cuptiActivityDisableContext, (wtcu_context context, int kind),
         enable_in(context, kind, false))
CUPTI_FN(cuptiActivityEnableDriverApi, (wtcupti_callback_id cbid, uint8_t on),
         enable_call(WTCUPTI_KIND_DRIVER, cbid, on))
CUPTI_FN(cuptiActivityEnableRuntimeApi, (wtcupti_callback_id cbid, uint8_t on),
         enable_call(WTCUPTI_KIND_RUNTIME, cbid, on))
CUPTI_FN(cuptiActivityEnableLatencyTimestamps, (uint8_t on), enable_latency(on))
CUPTI_FN(cuptiActivityEnableLaunchAttributes, (uint8_t on), ((void)on, WTCUPTI_SUCCESS))
CUPTI_FN(cuptiActivityEnableAllSyncRecords, (uint8_t on), ((void)on, WTCUPTI_SUCCESS))
CUPTI_FN(cuptiActivityEnableHWTrace, (uint8_t on),
         ((void)on, WTCUPTI_ERROR_NOT_SUPPORTED)) /* an H200 has none */
CUPTI_FN(cuptiActivityFlushAll, (uint32_t flag), flush(flag))
CUPTI_FN(cuptiActivityFlush, (wtcu_context context, uint32_t stream_id, uint32_t flag),
         ((void)context, (void)stream_id, flush(flag)))
CUPTI_FN(cuptiActivityFlushPeriod, (uint32_t period_ms), ((void)period_ms, WTCUPTI_SUCCESS))
CUPTI_FN(cuptiActivityGetNumDroppedRecords,
         (wtcu_context context, uint32_t stream_id, size_t *count),
         ((void)context, (void)stream_id, dropped(count)))
CUPTI_FN(cuptiActivityGetAttribute, (int number, size_t *bytes, void *value),
         attribute(number, bytes, value, false))
CUPTI_FN(cuptiActivitySetAttribute, (int number, size_t *bytes, void *value),
         attribute(number, bytes, value, true))
CUPTI_FN(cuptiSubscribe, (wtcupti_subscriber * subscriber, wtcupti_callback_fn fn, void *data),
         ((void)fn, (void)data, subscribe(subscriber)))
CUPTI_FN(cuptiSubscribe_v2,
         (wtcupti_subscriber * subscriber, wtcupti_callback_fn fn, void *data, void *params),
         ((void)fn, (void)data, (void)params, subscribe(subscriber)))
CUPTI_FN(cuptiUnsubscribe, (wtcupti_subscriber subscriber), unsubscribe(subscriber))
CUPTI_FN(cuptiEnableDomain, (uint32_t on, wtcupti_subscriber subscriber, int domain),
         ((void)on, (void)domain,
          subscriber == &seat ? WTCUPTI_SUCCESS : WTCUPTI_ERROR_INVALID_PARAMETER))
CUPTI_FN(cuptiEnableCallback,
         (uint32_t on, wtcupti_subscriber subscriber, int domain, wtcupti_callback_id cbid),
         ((void)on, (void)domain, (void)cbid,
          subscriber == &seat ? WTCUPTI_SUCCESS : WTCUPTI_ERROR_INVALID_PARAMETER))
CUPTI_FN(cuptiFinalize, (void), finalize())

/* Not counted and never failing: called once per record. */
FAKE_EXPORT wtcupti_result cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid,
                                                      struct wtcupti_activity **record);

wtcupti_result cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid,
                                          struct wtcupti_activity **record)
{
	static _Atomic int64_t slow_ns = -1;
	int64_t until_ns;

	if (slow_ns < 0)
		slow_ns = fake_env_i64("WTFAKE_NEXT_RECORD_NS", 0);
	until_ns = slow_ns ? fake_now_ns() + slow_ns : 0;
	while (slow_ns && fake_now_ns() < until_ns)
		;
	return cupti_next_record(buffer, valid, record);
}
