/*
 * raw_cupti.c - the least that a client of CUPTI's activity API can be, for comparing: kernel records on,
 * buffers counted and handed back. No hooks, no subscriber, no daemon. And, for field_parts.py, a switch of kinds.
 *
 * The driver loads it in cuInit where CUDA_INJECTION64_PATH names it, and calls InitializeInjection.
 *
 *   RAW_CUPTI_OUT=FILE     a line with what came, appended at exit
 *   RAW_CUPTI_KINDS=WORDS  what is on, words with commas: kernel (the default), memcpy, memset, sync, overhead,
 *                          context, device, driver and runtime (records of the launch calls alone), all (all of
 *                          these: what wavetap has on; less some: all,-driver), every-driver and every-runtime (of all calls); walk; and,
 *                          at the start only, shared (one buffer for all threads, as wavetap has it),
 *                          pool (64 buffers on the device), flush=MS (a thread that flushes)
 *   RAW_CUPTI_WALK=1       the same as `walk`: records are looked at one by one and counted, not by bytes alone
 *   RAW_CUPTI_LIBRARY      this libcupti; else one that is loaded, or the loader finds, or the toolkit has
 *
 * raw_cupti_switch(WORDS) switches kinds to these in a running process, also in one where wavetap has CUPTI:
 * then CUPTI is called around wavetap. raw_cupti_counts tells what came since the last time.
 *
 * Graphs are recorded node by node, as CUPTI does unless told otherwise. Buffers are as large as
 * wavetap's and made once, so that no page fault falls on a launch; CUPTI's attributes are left alone.
 *
 * THREADS: set-up in the thread that calls cuInit, which may block; buffer_requested on the launch path, without a
 * system call; buffer_completed on CUPTI's thread; the switch in any one thread; the rest at exit. No lock.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "libintercept/cuda_abi.h"

#define BUFFER_BYTES (1024u * 1024u)
#define BUFFERS 64
#define FLUSH_FORCED WTCUPTI_FLUSH_FORCED
#define CBIDS 1024u
#define IDS (1u << 22) /* correlation ids are kept modulo this */
#define POOL_LIMIT 64

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

/* Words for what can be switched. */
static const struct part {
	const char *word;
	int kind;
	bool is_in_all;
	bool is_calls; /* the launch calls of that kind alone */
} parts[] = {
        {"kernel", WTCUPTI_KIND_CONCURRENT_KERNEL, true, false},
        {"memcpy", WTCUPTI_KIND_MEMCPY, true, false},
        {"memset", WTCUPTI_KIND_MEMSET, true, false},
        {"sync", WTCUPTI_KIND_SYNCHRONIZATION, true, false},
        {"overhead", WTCUPTI_KIND_OVERHEAD, true, false},
        {"context", WTCUPTI_KIND_CONTEXT, true, false},
        {"device", WTCUPTI_KIND_DEVICE, true, false},
        {"driver", WTCUPTI_KIND_DRIVER, true, true},
        {"runtime", WTCUPTI_KIND_RUNTIME, true, true},
        {"every-driver", WTCUPTI_KIND_DRIVER, false, false},
        {"every-runtime", WTCUPTI_KIND_RUNTIME, false, false},
};
#define PARTS (sizeof(parts) / sizeof(parts[0]))

static struct {
	wtcupti_register_callbacks_fn register_callbacks;
	wtcupti_activity_kind_fn enable, disable;
	wtcupti_enable_api_fn enable_driver_api, enable_runtime_api;
	wtcupti_enable_fn enable_all_sync;
	wtcupti_attribute_fn set_attribute;
	wtcupti_flush_all_fn flush_all;
	wtcupti_next_record_fn next_record;
	wtcupti_dropped_records_fn dropped_records;
	wtcupti_get_version_fn get_version;
} cupti;

struct ids {
	_Atomic uint64_t bit[IDS / 64];
};

/* Since the last raw_cupti_counts. */
static struct {
	_Atomic uint64_t kind[WTCUPTI_KIND_LIMIT];
	_Atomic uint64_t call[2][CBIDS]; /* driver, runtime */
	struct ids kernels, calls[2];
} seen;

static uint8_t *memory;
static _Atomic uint64_t free_buffers = UINT64_MAX;
static _Atomic uint64_t buffers, bytes, kernels, others, dropped, refused;
static _Atomic bool is_walking;
static bool is_started, is_found;
static uint32_t parts_on; /* a bit each */
static uint64_t flush_ns;
static char library_path[4096];

#define EXPORT __attribute__((visibility("default")))
EXPORT int InitializeInjection(void);
EXPORT int raw_cupti_switch(const char *words);
EXPORT int raw_cupti_counts(char *text, size_t text_bytes);

/* ---- buffers */

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

static void mark(struct ids *ids, uint32_t id)
{
	atomic_fetch_or_explicit(&ids->bit[id % IDS / 64], UINT64_C(1) << (id % 64),
	                         memory_order_relaxed);
}

static void look_at(const struct wtcupti_activity *record)
{
	const struct wtcupti_activity_kernel *kernel = (const void *)record;
	const struct wtcupti_activity_api *call = (const void *)record;
	bool is_runtime = record->kind == WTCUPTI_KIND_RUNTIME;

	if (record->kind < WTCUPTI_KIND_LIMIT)
		atomic_fetch_add_explicit(&seen.kind[record->kind], 1, memory_order_relaxed);
	if (record->kind == WTCUPTI_KIND_CONCURRENT_KERNEL)
		mark(&seen.kernels, kernel->correlation_id);
	if (!is_runtime && record->kind != WTCUPTI_KIND_DRIVER)
		return;
	mark(&seen.calls[is_runtime], call->correlation_id);
	if (call->cbid < CBIDS)
		atomic_fetch_add_explicit(&seen.call[is_runtime][call->cbid], 1,
		                          memory_order_relaxed);
}

static void walk(uint8_t *buffer, size_t valid_size)
{
	struct wtcupti_activity *record = NULL;
	uint64_t kernel_count = 0, other_count = 0;

	while (!cupti.next_record(buffer, valid_size, &record)) {
		kernel_count += record->kind == WTCUPTI_KIND_CONCURRENT_KERNEL;
		other_count += record->kind != WTCUPTI_KIND_CONCURRENT_KERNEL;
		look_at(record);
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

/* ---- the library */

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

typedef void *(*dlsym_fn)(void *handle, const char *name);

/* libc's own dlsym: wavetap's answers with functions of wavetap's. */
static dlsym_fn real_dlsym(void)
{
	static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
	static const char *const names[] = {"libc.so.6", "libdl.so.2"};
	dlsym_fn function = NULL;

	for (size_t i = 0; i < 6 && !function; i++) {
		void *library = dlopen(names[i % 2], RTLD_NOW | RTLD_NOLOAD);
		void *found = library ? dlvsym(library, "dlsym", versions[i / 2]) : NULL;

		memcpy(&function, &found, sizeof(found));
	}
	return function;
}

/* A function of the library, as whatever pointer it is kept in. */
static bool find(void *library, const char *name, void *ret_function)
{
	dlsym_fn look_up = real_dlsym();
	void *found = look_up ? look_up(library, name) : dlsym(library, name);

	memcpy(ret_function, &found, sizeof(found));
	return found;
}

static bool find_all(void *library)
{
	Dl_info info;
	void *address = NULL;

	if (find(library, "cuptiActivityEnable", &address) && dladdr(address, &info) &&
	    info.dli_fname)
		snprintf(library_path, sizeof(library_path), "%s", info.dli_fname);
	find(library, "cuptiActivityEnableDriverApi", &cupti.enable_driver_api);
	find(library, "cuptiActivityEnableRuntimeApi", &cupti.enable_runtime_api);
	find(library, "cuptiActivityEnableAllSyncRecords", &cupti.enable_all_sync);
	find(library, "cuptiActivitySetAttribute", &cupti.set_attribute);
	return find(library, "cuptiActivityRegisterCallbacks", &cupti.register_callbacks) &&
	       find(library, "cuptiActivityEnable", &cupti.enable) &&
	       find(library, "cuptiActivityDisable", &cupti.disable) &&
	       find(library, "cuptiActivityFlushAll", &cupti.flush_all) &&
	       find(library, "cuptiActivityGetNextRecord", &cupti.next_record) &&
	       find(library, "cuptiActivityGetNumDroppedRecords", &cupti.dropped_records) &&
	       find(library, "cuptiGetVersion", &cupti.get_version);
}

/* ---- words */

/* Is this one of the words? With `ret_rest` it may go on, and the rest is given. */
static bool has_word(const char *words, const char *word, const char **ret_rest)
{
	size_t length = strlen(word);

	for (const char *at = words; at; at = strchr(at, ','), at = at ? at + 1 : NULL) {
		if (strncmp(at, word, length) || (!ret_rest && at[length] && at[length] != ','))
			continue;
		if (ret_rest)
			*ret_rest = at + length;
		return true;
	}
	return false;
}

static uint32_t parts_of(const char *words)
{
	bool is_all = has_word(words, "all", NULL);
	uint32_t found = 0;
	char without[32];

	for (size_t i = 0; i < PARTS; i++) {
		snprintf(without, sizeof(without), "-%s", parts[i].word);
		if (has_word(words, parts[i].word, NULL) ||
		    (is_all && parts[i].is_in_all && !has_word(words, without, NULL)))
			found |= 1u << i;
	}
	return found;
}

static wtcupti_result switch_part(const struct part *part, bool is_on)
{
	wtcupti_enable_api_fn enable_call = part->kind == WTCUPTI_KIND_DRIVER
	                                            ? cupti.enable_driver_api
	                                            : cupti.enable_runtime_api;

	if (!part->is_calls)
		return is_on ? cupti.enable(part->kind) : cupti.disable(part->kind);
	for (size_t i = 0; enable_call && i < sizeof(launch_calls) / sizeof(launch_calls[0]); i++)
		if (launch_calls[i].kind == part->kind)
			enable_call(launch_calls[i].cbid, is_on); /* an old one knows fewer */
	return WTCUPTI_SUCCESS;
}

/* Off what is not wanted, then on. Of all kinds only that of kernels must not be refused. */
static wtcupti_result switch_to(uint32_t wanted)
{
	wtcupti_result result = WTCUPTI_SUCCESS;

	for (size_t i = 0; i < PARTS; i++)
		if (parts_on >> i & ~wanted >> i & 1)
			switch_part(&parts[i], false);
	for (size_t i = 0; i < PARTS; i++)
		if (wanted >> i & ~parts_on >> i & 1 && switch_part(&parts[i], true) && !i)
			result = WTCUPTI_ERROR_INVALID_KIND;
	parts_on = wanted;
	return result;
}

int raw_cupti_switch(const char *words)
{
	if (!is_started && !is_found) {
		void *library = open_library();

		if (!library || !find_all(library))
			return -1;
		is_found = true;
		parts_on = parts_of("all"); /* wavetap's */
	}
	is_walking = has_word(words, "walk", NULL);
	return switch_to(parts_of(words));
}

static uint64_t take_both(struct ids *some, struct ids *more)
{
	uint64_t count = 0;

	for (size_t i = 0; i < IDS / 64; i++)
		count += (unsigned)__builtin_popcountll(some->bit[i] & more->bit[i]);
	memset((void *)more, 0, sizeof(*more));
	return count;
}

static size_t add_count(char *text, size_t text_bytes, size_t at, const char *what, size_t number,
                        uint64_t count)
{
	int length = 0;

	if (count && at < text_bytes)
		length = snprintf(text + at, text_bytes - at, "%s %zu %llu\n", what, number,
		                  (unsigned long long)count);
	return at + (length > 0 ? (size_t)length : 0);
}

/* Lines `kind K N`, `driver CBID N`, `runtime CBID N`; `linked 0 N` kernels whose number a driver record has, and 1
 * a runtime record. Only while walking. For a quiet moment: the caller's device is idle. */
int raw_cupti_counts(char *text, size_t text_bytes)
{
	size_t at = 0;

	if (!text_bytes || !is_started)
		return -1;
	text[0] = '\0';
	cupti.flush_all(FLUSH_FORCED);
	for (size_t i = 0; i < WTCUPTI_KIND_LIMIT; i++)
		at = add_count(text, text_bytes, at, "kind", i, atomic_exchange(&seen.kind[i], 0));
	for (size_t i = 0; i < (size_t)2 * CBIDS; i++)
		at = add_count(text, text_bytes, at, i < CBIDS ? "driver" : "runtime", i % CBIDS,
		               atomic_exchange(&seen.call[i / CBIDS][i % CBIDS], 0));
	for (size_t i = 0; i < 2; i++)
		at = add_count(text, text_bytes, at, "linked", i,
		               take_both(&seen.kernels, &seen.calls[i]));
	memset((void *)&seen.kernels, 0, sizeof(seen.kernels));
	return 0;
}

/* ---- from cuInit to the end */

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

static void *flush_main(void *argument)
{
	struct timespec pause = {.tv_sec = (time_t)(flush_ns / UINT64_C(1000000000)),
	                         .tv_nsec = (long)(flush_ns % UINT64_C(1000000000))};

	(void)argument;
	for (;;) {
		nanosleep(&pause, NULL);
		cupti.flush_all(0);
	}
	return NULL;
}

/* What can be said at the start alone. */
static void set_up(const char *words)
{
	uint8_t off = 0;
	size_t limit = POOL_LIMIT, bytes_off = sizeof(off), bytes_limit = sizeof(limit);
	const char *period = NULL;
	pthread_t thread;

	if (has_word(words, "shared", NULL) && cupti.set_attribute)
		cupti.set_attribute(WTCUPTI_ATTR_PER_THREAD_ACTIVITY_BUFFER, &bytes_off, &off);
	if (has_word(words, "pool", NULL) && cupti.set_attribute)
		cupti.set_attribute(WTCUPTI_ATTR_DEVICE_BUFFER_POOL_LIMIT, &bytes_limit, &limit);
	if (parts_of(words) & parts_of("sync") && cupti.enable_all_sync)
		cupti.enable_all_sync(0);
	if (has_word(words, "flush=", &period))
		flush_ns = strtoull(period, NULL, 10) * UINT64_C(1000000);
	if (flush_ns && !pthread_create(&thread, NULL, flush_main, NULL))
		pthread_detach(thread);
}

int InitializeInjection(void)
{
	const char *given = getenv("RAW_CUPTI_KINDS"), *walking = getenv("RAW_CUPTI_WALK");
	const char *words = given && parts_of(given) ? given : "kernel";
	void *library = open_library();
	wtcupti_result result;

	if (!library || !find_all(library))
		return failed("no libcupti", 0);
	is_walking = has_word(words, "walk", NULL) || (walking && !strcmp(walking, "1"));
	memory = mmap(NULL, (size_t)BUFFERS * BUFFER_BYTES, PROT_READ | PROT_WRITE,
	              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (memory == MAP_FAILED)
		return failed("no memory", 0);
	set_up(words);
	result = cupti.register_callbacks(buffer_requested, buffer_completed);
	if (result)
		return failed("cuptiActivityRegisterCallbacks", result);
	result = switch_to(parts_of(words));
	if (result)
		return failed("cuptiActivityEnable", result);
	is_started = true;
	atexit(finish);
	return 1;
}
