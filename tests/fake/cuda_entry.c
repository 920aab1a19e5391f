/*
 * cuda_entry.c - the door of the simulated driver: what happens at the start
 * and end of every entry, looking entries up, initialisation, error names.
 *
 * Any thread. Entries wait for the one lock; fake_wait_*() let go of it.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fake/cuda_int.h"

#define CUDA_VERSION_DEFAULT 13000

static pthread_mutex_t big_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t announced = PTHREAD_COND_INITIALIZER;
static _Atomic(pthread_t) lock_owner;
static bool is_initialised;
static bool is_forked_child; /* of an initialised parent: CUDA is dead here */

const struct fake_tools *fake_tools;
static __thread bool is_injecting; /* in the library that CUDA_INJECTION64_PATH names */

/* The runtime's call that this thread is in. */
static __thread struct {
	bool is_inside;
	uint32_t correlation;
	int64_t start_ns;
} runtime_call;

static void lock_take(int entry)
{
	if (is_injecting ? entry != E_cuDriverGetVersion
	                 : pthread_equal(lock_owner, pthread_self()))
		fake_die("%s called from inside a CUPTI callback or a simulated driver call",
		         fake_entry_name(entry));
	pthread_mutex_lock(&big_lock);
	lock_owner = pthread_self();
}

static void lock_give(void)
{
	lock_owner = 0;
	pthread_mutex_unlock(&big_lock);
}

void fake_wait_until(int64_t when_ns)
{
	bool was_held;

	if (when_ns <= fake_now_ns())
		return;
	was_held = fake_pm_release();
	lock_give();
	fake_sleep_until_ns(when_ns);
	pthread_mutex_lock(&big_lock);
	lock_owner = pthread_self();
	if (was_held)
		fake_pm_hold();
}

void fake_wait_announced(void)
{
	lock_owner = 0;
	pthread_cond_wait(&announced, &big_lock);
	lock_owner = pthread_self();
}

void fake_announce(void)
{
	pthread_cond_broadcast(&announced);
}

void fake_host_fn_done(struct fake_stream *stream)
{
	pthread_mutex_lock(&big_lock);
	stream->pending_host_fns--;
	fake_announce();
	pthread_mutex_unlock(&big_lock);
}

/* ---- the table of entries -------------------------------------------------- */

#define FAKE_ENTRY(symbol, name, version, cbid, is_launch) extern wtcu_result symbol();
#define FAKE_TWIN(symbol, twin, name, version, cbid, is_launch) extern wtcu_result twin();
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include "tests/fake/entries.def"
#pragma GCC diagnostic pop
#undef FAKE_ENTRY
#undef FAKE_TWIN

static const struct entry {
	const char *symbol;
	const char *name; /* what cuGetProcAddress calls it */
	void (*address)(void);
	int version;
	int cbid;
	bool is_twin, is_launch;
} entry_table[FAKE_ENTRY_COUNT] = {
#define FAKE_ENTRY(symbol, name, version, cbid, is_launch)                                         \
	[E_##symbol] = {#symbol, name, (void (*)(void))symbol, version, cbid, false, is_launch},
#define FAKE_TWIN(symbol, twin, name, version, cbid, is_launch)                                    \
	[E_##twin] = {#twin, name, (void (*)(void))twin, version, cbid, true, is_launch},
#include "tests/fake/entries.def"
#undef FAKE_ENTRY
#undef FAKE_TWIN
};

const char *fake_entry_name(int entry)
{
	return entry_table[entry].symbol;
}

static int cuda_version(void)
{
	return (int)fake_env_i64("WTFAKE_DRIVER_VERSION", CUDA_VERSION_DEFAULT);
}

/* ---- every call ------------------------------------------------------------- */

static bool needs_no_init(int entry)
{
	return entry == E_cuInit || entry == E_cuDriverGetVersion || entry == E_cuGetErrorName ||
	       entry == E_cuGetErrorString || entry == E_cuGetExportTable;
}

static uint32_t correlate(int kind, int cbid, bool is_launch)
{
	const struct fake_tools *tools = fake_tools;

	if (!tools || !is_initialised || is_forked_child)
		return 0;
	return tools->correlate(kind, cbid, is_launch);
}

struct fake_call fake_enter(int entry, bool per_thread)
{
	const struct entry *e = &entry_table[entry];
	struct fake_call call = {
	        .entry = entry, .per_thread = per_thread, .called_ns = fake_now_ns()};
	int64_t delay_ns = fake_scripted_delay_ns(e->symbol);
	uint64_t number;

	/* Without the driver's lock: only this thread is slow. */
	if (delay_ns)
		fake_sleep_until_ns(fake_now_ns() + delay_ns);
	lock_take(entry);
	fake_truth_init();
	number = 1 + atomic_fetch_add(fake_entry_counter(entry), 1);
	fake_count(FAKE_DRIVER_CALLS);
	if (e->is_launch) {
		fake_count(FAKE_LAUNCH_ATTEMPTED);
		fake_pm_hold();
	}
	call.enter_ns = fake_now_ns();
	if (!needs_no_init(entry) && (!is_initialised || is_forked_child))
		call.refused = WTCU_ERROR_NOT_INITIALIZED;
	else
		call.refused = fake_scripted_fault(e->symbol, number);
	call.correlation = runtime_call.is_inside
	                           ? runtime_call.correlation
	                           : correlate(WTCUPTI_KIND_DRIVER, e->cbid, e->is_launch);
	return call;
}

wtcu_result fake_leave(const struct fake_call *call, wtcu_result result)
{
	const struct entry *e = &entry_table[call->entry];
	const struct fake_tools *tools = fake_tools;

	if (e->is_launch) {
		fake_count(result ? FAKE_LAUNCH_FAILED : FAKE_LAUNCH_OK);
		fake_pm_release();
	}
	lock_give();
	fake_truth_call(call, result);
	if (tools && call->correlation && !runtime_call.is_inside)
		tools->call(WTCUPTI_KIND_DRIVER, e->cbid, call->correlation, call->enter_ns,
		            fake_now_ns(), result);
	return result;
}

FAKE_EXPORT void wtfake_runtime_begin(int cbid)
{
	runtime_call.is_inside = true;
	runtime_call.start_ns = fake_now_ns();
	runtime_call.correlation = correlate(WTCUPTI_KIND_RUNTIME, cbid, true);
}

FAKE_EXPORT void wtfake_runtime_end(int cbid, wtcu_result result)
{
	const struct fake_tools *tools = fake_tools;

	runtime_call.is_inside = false;
	if (tools && runtime_call.correlation)
		tools->call(WTCUPTI_KIND_RUNTIME, cbid, runtime_call.correlation,
		            runtime_call.start_ns, fake_now_ns(), result);
}

/* ---- looking up -------------------------------------------------------------- */

static const struct entry *entry_find(const char *name, int version, bool want_twin)
{
	const struct entry *best = NULL;

	for (const struct entry *e = entry_table; e < entry_table + FAKE_ENTRY_COUNT; e++)
		if (!strcmp(e->name, name) && e->version <= version && e->is_twin == want_twin &&
		    (!best || e->version > best->version))
			best = e;
	return best;
}

FAKE_EXPORT wtcu_result cuGetProcAddress(const char *symbol, void **pfn, int version,
                                         uint64_t flags);
FAKE_EXPORT wtcu_result cuGetProcAddress_v2(const char *symbol, void **pfn, int version,
                                            uint64_t flags, int *symbol_status);

static wtcu_result proc_address(const char *symbol, void **pfn, int version, uint64_t flags,
                                int *ret_status)
{
	const struct entry *e = NULL;
	void (*address)(void) = NULL;

	if (!symbol || !pfn || flags > 3 || version > cuda_version() || version < 2000)
		return WTCU_ERROR_INVALID_VALUE;
	if (!strcmp(symbol, "cuGetProcAddress")) {
		address = version >= 12000 ? (void (*)(void))cuGetProcAddress_v2
		                           : (void (*)(void))cuGetProcAddress;
	} else {
		if (flags & WTCU_GET_PROC_PER_THREAD_DEFAULT_STREAM)
			e = entry_find(symbol, version, true);
		if (!e)
			e = entry_find(symbol, version, false);
		if (e)
			address = e->address;
	}
	memcpy(pfn, &address, sizeof(*pfn));
	*ret_status = address                                ? WTCU_PROC_FOUND
	              : entry_find(symbol, INT32_MAX, false) ? WTCU_PROC_VERSION_NOT_SUFFICIENT
	                                                     : WTCU_PROC_NOT_FOUND;
	return WTCU_SUCCESS;
}

wtcu_result cuGetProcAddress(const char *symbol, void **pfn, int version, uint64_t flags)
{
	int status = 0;
	wtcu_result result = proc_address(symbol, pfn, version, flags, &status);

	/* Without a status to fill in, an unknown name is an error. */
	return result ? result : status ? WTCU_ERROR_NOT_FOUND : WTCU_SUCCESS;
}

wtcu_result cuGetProcAddress_v2(const char *symbol, void **pfn, int version, uint64_t flags,
                                int *symbol_status)
{
	int status = 0;
	wtcu_result result = proc_address(symbol, pfn, version, flags, &status);

	if (!result && symbol_status)
		*symbol_status = status;
	else if (!result && status)
		result = WTCU_ERROR_NOT_FOUND;
	return result;
}

/* ---- initialisation ----------------------------------------------------------- */

static void forked_child(void)
{
	/* Another thread may have held the lock; only this one is left. */
	pthread_mutex_init(&big_lock, NULL);
	lock_owner = 0;
	is_forked_child = is_initialised;
}

/*
 * CUDA_INJECTION64_PATH: the driver loads that library from inside cuInit and calls it, before it
 * is up itself. CUPTI may be used there, the driver not, but for its version: see lock_take().
 */
static void inject(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *library;
	int (*initialize)(void);

	if (!path || !*path)
		return;
	lock_give();
	is_injecting = true;
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	*(void **)&initialize = library ? dlsym(library, "InitializeInjection") : NULL;
	if (initialize)
		initialize();
	is_injecting = false;
	pthread_mutex_lock(&big_lock);
	lock_owner = pthread_self();
}

static wtcu_result init(unsigned int flags)
{
	if (flags)
		return WTCU_ERROR_INVALID_VALUE;
	if (is_forked_child)
		return WTCU_ERROR_NOT_INITIALIZED;
	if (!is_initialised) {
		fake_devices_init();
		if (!fake_device_count)
			return WTCU_ERROR_NO_DEVICE;
		inject();
		pthread_atfork(NULL, NULL, forked_child);
		is_initialised = true;
	}
	return WTCU_SUCCESS;
}

static wtcu_result driver_version(int *version)
{
	if (!version)
		return WTCU_ERROR_INVALID_VALUE;
	*version = cuda_version();
	return WTCU_SUCCESS;
}

static const struct {
	wtcu_result code;
	const char *name, *text;
} error_table[] = {
        {WTCU_SUCCESS, "CUDA_SUCCESS", "no error"},
        {WTCU_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
        {WTCU_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
        {WTCU_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
        {WTCU_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
        {WTCU_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
        {WTCU_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
        {WTCU_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
        {WTCU_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
        {WTCU_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
        {WTCU_ERROR_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
         "too many resources requested for launch"},
};

static wtcu_result error_text(wtcu_result code, const char **text, bool want_name)
{
	if (!text)
		return WTCU_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < sizeof(error_table) / sizeof(error_table[0]); i++) {
		if (error_table[i].code == code) {
			*text = want_name ? error_table[i].name : error_table[i].text;
			return WTCU_SUCCESS;
		}
	}
	*text = NULL;
	return WTCU_ERROR_INVALID_VALUE;
}

/* The tables behind this call are not part of any contract: there are none here. */
static wtcu_result export_table(const void **table)
{
	if (table)
		*table = NULL;
	return WTCU_ERROR_NOT_FOUND;
}

FAKE_FN(cuInit, (unsigned int flags), init(flags))
FAKE_FN(cuDriverGetVersion, (int *version), driver_version(version))
FAKE_FN(cuGetErrorString, (wtcu_result error, const char **text), error_text(error, text, false))
FAKE_FN(cuGetErrorName, (wtcu_result error, const char **text), error_text(error, text, true))
FAKE_FN(cuGetExportTable, (const void **table, const struct wtcu_uuid *id),
        ((void)id, export_table(table)))

/* ---- for the simulated CUPTI ---------------------------------------------------- */

/* One copy of CUPTI at a time. */
static bool attach(const struct fake_tools *tools)
{
	bool is_free;

	pthread_mutex_lock(&big_lock);
	is_free = !fake_tools || fake_tools == tools;
	if (is_free)
		fake_tools = tools;
	pthread_mutex_unlock(&big_lock);
	return is_free;
}

static void detach(const struct fake_tools *tools)
{
	pthread_mutex_lock(&big_lock);
	if (fake_tools == tools)
		fake_tools = NULL;
	pthread_mutex_unlock(&big_lock);
}

static struct fake_ctx *ctx_checked(wtcu_context context)
{
	struct fake_ctx *ctx = fake_contexts;

	while (ctx && ctx != (struct fake_ctx *)context)
		ctx = ctx->next;
	return ctx;
}

static bool context_id(wtcu_context context, uint32_t *ret_id, uint32_t *ret_device)
{
	struct fake_ctx *ctx;

	pthread_mutex_lock(&big_lock);
	ctx = context ? ctx_checked(context) : fake_current_ctx();
	if (ctx) {
		*ret_id = ctx->id;
		*ret_device = ctx->device->ordinal;
	}
	pthread_mutex_unlock(&big_lock);
	return ctx != NULL;
}

static bool stream_id(wtcu_context context, wtcu_stream handle, bool per_thread, uint32_t *ret_id)
{
	struct fake_stream *stream = NULL;
	struct fake_ctx *ctx;

	pthread_mutex_lock(&big_lock);
	ctx = context ? ctx_checked(context) : fake_current_ctx();
	if (ctx)
		stream = fake_stream_by_handle(ctx, handle, per_thread);
	if (stream)
		*ret_id = stream->id;
	pthread_mutex_unlock(&big_lock);
	return stream != NULL;
}

static bool has_context(void)
{
	bool has;

	pthread_mutex_lock(&big_lock);
	has = fake_contexts != NULL;
	pthread_mutex_unlock(&big_lock);
	return has;
}

static bool is_idle(wtcu_context context)
{
	struct fake_ctx *ctx;
	bool idle;

	pthread_mutex_lock(&big_lock);
	ctx = context ? ctx_checked(context) : fake_current_ctx();
	idle = !ctx || fake_ctx_tail_ns(ctx) <= fake_now_ns();
	pthread_mutex_unlock(&big_lock);
	return idle;
}

static bool device_facts(uint32_t ordinal, struct fake_device_facts *ret_facts)
{
	const struct fake_device *device;

	pthread_mutex_lock(&big_lock);
	device = is_initialised && !is_forked_child && ordinal < (uint32_t)fake_device_count
	                 ? &fake_device[ordinal]
	                 : NULL;
	if (device)
		*ret_facts = (struct fake_device_facts){
		        .place = device->place,
		        .sm_count = device->sm_count,
		        .clock_khz = device->attribute[WTCU_DEVICE_CLOCK_RATE],
		        .max_warps =
		                device->attribute[WTCU_DEVICE_MAX_THREADS_PER_MULTIPROCESSOR] / 32,
		};
	pthread_mutex_unlock(&big_lock);
	return device != NULL;
}

FAKE_EXPORT const struct fake_driver *wtfake_driver(void)
{
	static const struct fake_driver driver = {
	        .attach = attach,
	        .detach = detach,
	        .context_id = context_id,
	        .stream_id = stream_id,
	        .has_context = has_context,
	        .is_idle = is_idle,
	        .device = device_facts,
	        .counter = fake_counter,
	};

	return &driver;
}
