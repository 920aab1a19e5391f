/*
 * raw_cupti.c - the least that a client of CUPTI's activity API can be, for comparing: kernel records on,
 * buffers counted and handed back. No hooks, no subscriber, no daemon.
 *
 * The driver loads it in cuInit where CUDA_INJECTION64_PATH names it, and calls InitializeInjection.
 *
 *   RAW_CUPTI_OUT=FILE    a line with what came, appended at exit
 *   RAW_CUPTI_KINDS=all   all that wavetap has on, not kernels alone: copies, sets, synchronisation, overhead,
 *                         contexts, devices, and records of the launch calls
 *   RAW_CUPTI_WALK=1      records are looked at one by one and counted by kind, not by bytes alone
 *   RAW_CUPTI_LIBRARY     this libcupti; else one that is loaded, or the loader finds, or the toolkit has
 *
 * Graphs are recorded node by node, as CUPTI does unless told otherwise. Buffers are as large as
 * wavetap's and made once, so that no page fault falls on a launch; CUPTI's attributes are left alone.
 *
 * THREADS: set-up in the thread that calls cuInit, which may block; buffer_requested on the launch path, without a
 * system call; buffer_completed on CUPTI's thread; the rest at exit. No lock.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "libintercept/cuda_abi.h"

#define BUFFER_BYTES (1024u * 1024u)
#define BUFFERS 64
#define FLUSH_FORCED WTCUPTI_FLUSH_FORCED

/* Runtime callback ids of launches; the driver's are in cupti_abi.h. */
static const struct launch_call {
	int kind;
	uint32_t cbid;
} launch_calls[] = {
        {WTCUPTI_KIND_DRIVER, WTCUPTI_CBID_cuLaunchKernel},
        {WTCUPTI_KIND_DRIVER, WTCUPTI_CBID_cuLaunchKernelEx},
        {WTCUPTI_KIND_DRIVER, WTCUPTI_CBID_cuGraphLaunch},
        {WTCUPTI_KIND_RUNTIME, 211}, /* cudaLaunchKernel */
        {WTCUPTI_KIND_RUNTIME, 311}, /* cudaGraphLaunch */
        {WTCUPTI_KIND_RUNTIME, 430}, /* cudaLaunchKernelExC */
        {WTCUPTI_KIND_RUNTIME, 505}, /* __cudaLaunchKernel of CUDA 13 */
};

static struct {
	wtcupti_register_callbacks_fn register_callbacks;
	wtcupti_activity_kind_fn enable;
	wtcupti_enable_api_fn enable_driver_api, enable_runtime_api;
	wtcupti_enable_fn enable_all_sync;
	wtcupti_flush_all_fn flush_all;
	wtcupti_next_record_fn next_record;
	wtcupti_dropped_records_fn dropped_records;
	wtcupti_get_version_fn get_version;
} cupti;

static uint8_t *memory;
static _Atomic uint64_t free_buffers = UINT64_MAX;
static _Atomic uint64_t buffers, bytes, kernels, others, dropped, refused;
static bool is_walking;
static char library_path[4096];

__attribute__((visibility("default"))) int InitializeInjection(void);

static void buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
	uint64_t free_now = atomic_load_explicit(&free_buffers, memory_order_acquire);

	*max_records = 0;
	*buffer = NULL;
	*size = 0;
	while (free_now) {
		unsigned idx = (unsigned)__builtin_ctzll(free_now);

		if (!atomic_compare_exchange_weak(&free_buffers, &free_now,
		                                  free_now & ~(UINT64_C(1) << idx)))
			continue;
		*buffer = memory + (size_t)idx * BUFFER_BYTES;
		*size = BUFFER_BYTES;
		return;
	}
	atomic_fetch_add(&refused, 1);
}

static void walk(uint8_t *buffer, size_t valid_size)
{
	struct wtcupti_activity *record = NULL;
	uint64_t kernel_count = 0, other_count = 0;

	while (!cupti.next_record(buffer, valid_size, &record)) {
		kernel_count += record->kind == WTCUPTI_KIND_CONCURRENT_KERNEL;
		other_count += record->kind != WTCUPTI_KIND_CONCURRENT_KERNEL;
	}
	atomic_fetch_add(&kernels, kernel_count);
	atomic_fetch_add(&others, other_count);
}

static void buffer_completed(wtcu_context context, uint32_t stream_id, uint8_t *buffer, size_t size,
                             size_t valid_size)
{
	size_t lost = 0;

	(void)size;
	atomic_fetch_add(&buffers, 1);
	atomic_fetch_add(&bytes, valid_size);
	if (is_walking && valid_size)
		walk(buffer, valid_size);
	if (!cupti.dropped_records(context, stream_id, &lost))
		atomic_fetch_add(&dropped, lost);
	if (buffer)
		atomic_fetch_or(&free_buffers,
		                UINT64_C(1) << ((size_t)(buffer - memory) / BUFFER_BYTES));
}

static void *open_library(void)
{
	static const char *const names[] = {
	        "libcupti.so.13",
	        "libcupti.so.12",
	        "/usr/local/cuda/lib64/libcupti.so",
	        "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
	};
	const char *given = getenv("RAW_CUPTI_LIBRARY");
	void *library = NULL;

	for (size_t i = 0; i < 2 && !library; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_NOLOAD);
	if (!library && given && given[0])
		return dlopen(given, RTLD_NOW);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !library; i++)
		library = dlopen(names[i], RTLD_NOW);
	return library;
}

/* A function of the library, as whatever pointer it is kept in. */
static bool find(void *library, const char *name, void *ret_function)
{
	void *found = dlsym(library, name);

	memcpy(ret_function, &found, sizeof(found));
	return found;
}

static bool find_all(void *library)
{
	Dl_info info;
	void *address = dlsym(library, "cuptiActivityEnable");

	if (address && dladdr(address, &info) && info.dli_fname)
		snprintf(library_path, sizeof(library_path), "%s", info.dli_fname);
	find(library, "cuptiActivityEnableDriverApi", &cupti.enable_driver_api);
	find(library, "cuptiActivityEnableRuntimeApi", &cupti.enable_runtime_api);
	find(library, "cuptiActivityEnableAllSyncRecords", &cupti.enable_all_sync);
	return find(library, "cuptiActivityRegisterCallbacks", &cupti.register_callbacks) &&
	       find(library, "cuptiActivityEnable", &cupti.enable) &&
	       find(library, "cuptiActivityFlushAll", &cupti.flush_all) &&
	       find(library, "cuptiActivityGetNextRecord", &cupti.next_record) &&
	       find(library, "cuptiActivityGetNumDroppedRecords", &cupti.dropped_records) &&
	       find(library, "cuptiGetVersion", &cupti.get_version);
}

/* Those that wavetap enables beside kernels; any may be refused. */
static void enable_others(void)
{
	static const int kinds[] = {WTCUPTI_KIND_MEMCPY,          WTCUPTI_KIND_MEMSET,
	                            WTCUPTI_KIND_SYNCHRONIZATION, WTCUPTI_KIND_OVERHEAD,
	                            WTCUPTI_KIND_CONTEXT,         WTCUPTI_KIND_DEVICE};

	if (cupti.enable_all_sync)
		cupti.enable_all_sync(0);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		cupti.enable(kinds[i]);
	for (size_t i = 0; i < sizeof(launch_calls) / sizeof(launch_calls[0]); i++) {
		wtcupti_enable_api_fn enable = launch_calls[i].kind == WTCUPTI_KIND_DRIVER
		                                       ? cupti.enable_driver_api
		                                       : cupti.enable_runtime_api;

		if (enable)
			enable(launch_calls[i].cbid, 1);
	}
}

static void finish(void)
{
	const char *path = getenv("RAW_CUPTI_OUT");
	uint32_t version = 0;
	FILE *out;

	cupti.flush_all(FLUSH_FORCED);
	cupti.get_version(&version);
	out = path ? fopen(path, "a") : NULL;
	if (!out)
		return;
	fprintf(out, "raw\tbuffers=%llu\tbytes=%llu\tdropped=%llu\trefused=%llu\tversion=%u",
	        (unsigned long long)buffers, (unsigned long long)bytes, (unsigned long long)dropped,
	        (unsigned long long)refused, version);
	if (is_walking)
		fprintf(out, "\tkernels=%llu\tothers=%llu", (unsigned long long)kernels,
		        (unsigned long long)others);
	fprintf(out, "\tlibrary=%s\n", library_path);
	fclose(out);
}

/* 0 and a line on stderr: nothing is recorded. */
static int failed(const char *what, int result)
{
	fprintf(stderr, "raw_cupti: %s: %d\n", what, result);
	return 0;
}

int InitializeInjection(void)
{
	const char *which = getenv("RAW_CUPTI_KINDS"), *walking = getenv("RAW_CUPTI_WALK");
	void *library = open_library();
	wtcupti_result result;

	if (!library || !find_all(library))
		return failed("no libcupti", 0);
	is_walking = walking && !strcmp(walking, "1");
	memory = mmap(NULL, (size_t)BUFFERS * BUFFER_BYTES, PROT_READ | PROT_WRITE,
	              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (memory == MAP_FAILED)
		return failed("no memory", 0);
	result = cupti.register_callbacks(buffer_requested, buffer_completed);
	if (result)
		return failed("cuptiActivityRegisterCallbacks", result);
	result = cupti.enable(WTCUPTI_KIND_CONCURRENT_KERNEL);
	if (result)
		return failed("cuptiActivityEnable", result);
	if (which && !strcmp(which, "all"))
		enable_others();
	atexit(finish);
	return 1;
}
