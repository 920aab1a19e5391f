/*
 * app_profiler.c - an application with a CUPTI profiler of its own, which goes
 * about it as PyTorch's does: in each session it registers its callbacks,
 * enables kinds, runs, flushes, reads, disables, and finalizes. Prints what
 * each session saw. Kernels run before, between and after sessions too.
 *
 *	app_profiler [--sessions N] [--launches N] [--find link|dlopen|PATH] [--early 1] [--how HOW]
 *	             [--pause-ms N] [--then link|dlopen|PATH]
 *
 * With a pause, a session lasts as long before its second half, and is left to CUPTI: no flush in
 * the middle. Like PyTorch's profiler, it asks for its records at the end only if it has a buffer
 * out; if not it is blind.
 * `link`: the calls are bound as symbols of the process, so that a preload
 * that exports them is asked first (as for libtorch); `dlopen`: by dlsym; a path: by dlsym in
 * that copy of libcupti, as Proton does. With --early they are found before the first context. The last
 * session's are found anew with --then: another profiler, with another copy.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fake/app_driver.h"

#define BUFFER_BYTES (1u << 20)

static const char profiler_ptx[] = ".version 6.0\n.target sm_60\n.address_size 64\n"
                                   ".visible .entry profiled_kernel()\n"
                                   "{\n"
                                   "ret;\n"
                                   "}\n"
                                   "// wtfake: kernel=profiled_kernel regs=16 block_ns=3000\n";

static struct {
	wtcupti_register_callbacks_fn register_callbacks;
	wtcupti_activity_kind_fn enable, disable;
	wtcupti_flush_all_fn flush;
	wtcupti_next_record_fn next_record;
	wtcupti_finalize_fn finalize;
	wtcupti_subscribe_fn subscribe;
	wtcupti_unsubscribe_fn unsubscribe;
} cupti;

static struct {
	atomic_ulong kernels, drivers, runtimes, copies, buffers, duration_ns;
} seen;

static atomic_long buffers_out;

static const int kinds[] = {WTCUPTI_KIND_CONCURRENT_KERNEL, WTCUPTI_KIND_MEMCPY,
                            WTCUPTI_KIND_RUNTIME, WTCUPTI_KIND_DRIVER,
                            WTCUPTI_KIND_EXTERNAL_CORRELATION};
#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

static void on_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*size = BUFFER_BYTES;
	*max_records = 0;
	*buffer = aligned_alloc(8, BUFFER_BYTES);
	atomic_fetch_add(&buffers_out, 1);
}

static void on_complete(wtcu_context context, uint32_t stream_id, uint8_t *buffer, size_t size,
                        size_t valid)
{
	struct wtcupti_activity *record = NULL;

	(void)context, (void)stream_id, (void)size;
	atomic_fetch_add(&seen.buffers, 1);
	atomic_fetch_sub(&buffers_out, 1);
	while (cupti.next_record(buffer, valid, &record) == WTCUPTI_SUCCESS) {
		if (record->kind == WTCUPTI_KIND_CONCURRENT_KERNEL) {
			const struct wtcupti_activity_kernel *k = (const void *)record;

			atomic_fetch_add(&seen.kernels, 1);
			atomic_fetch_add(&seen.duration_ns, k->end - k->start);
		} else if (record->kind == WTCUPTI_KIND_DRIVER) {
			atomic_fetch_add(&seen.drivers, 1);
		} else if (record->kind == WTCUPTI_KIND_RUNTIME) {
			atomic_fetch_add(&seen.runtimes, 1);
		} else if (record->kind == WTCUPTI_KIND_MEMCPY) {
			atomic_fetch_add(&seen.copies, 1);
		}
	}
	free(buffer);
}

static void cupti_check(wtcupti_result result, const char *what)
{
	if (!result)
		return;
	fprintf(stderr, "%s: CUPTI error %d\n", what, result);
	exit(1);
}
#define CUPTI_CHECK(call) cupti_check(call, #call)

static void on_callback(void *user_data, int domain, wtcupti_callback_id cbid, const void *data)
{
	(void)user_data, (void)domain, (void)cbid, (void)data;
}

static void find(const char *how)
{
	/* RTLD_DEFAULT finds what a linked program would be bound to. */
	void *handle = strchr(how, '/') ? dlopen(how, RTLD_LAZY | RTLD_LOCAL)
	                                : dlopen("libcupti.so.13", RTLD_NOW | RTLD_GLOBAL);
	void *from = !strcmp(how, "link") ? RTLD_DEFAULT : handle;

	if (!handle) {
		fprintf(stderr, "no CUPTI: %s\n", dlerror());
		exit(77);
	}
	*(void **)&cupti.register_callbacks = dlsym(from, "cuptiActivityRegisterCallbacks");
	*(void **)&cupti.enable = dlsym(from, "cuptiActivityEnable");
	*(void **)&cupti.disable = dlsym(from, "cuptiActivityDisable");
	*(void **)&cupti.flush = dlsym(from, "cuptiActivityFlushAll");
	*(void **)&cupti.next_record = dlsym(from, "cuptiActivityGetNextRecord");
	*(void **)&cupti.finalize = dlsym(from, "cuptiFinalize");
	*(void **)&cupti.subscribe = dlsym(from, "cuptiSubscribe");
	*(void **)&cupti.unsubscribe = dlsym(from, "cuptiUnsubscribe");
}

static void launch(wtcu_function f, int count)
{
	for (int i = 0; i < count; i++)
		APP_CHECK(app.launch(f, 64, 1, 1, 128, 1, 1, 0, NULL, NULL, NULL));
	APP_CHECK(app.ctx_sync());
}

static void session(wtcu_function f, int number, int launches, unsigned pause_ms)
{
	wtcupti_subscriber subscriber;

	memset(&seen, 0, sizeof(seen));
	CUPTI_CHECK(cupti.subscribe(&subscriber, on_callback, NULL));
	CUPTI_CHECK(cupti.register_callbacks(on_request, on_complete));
	for (size_t i = 0; i < KIND_COUNT; i++)
		CUPTI_CHECK(cupti.enable(kinds[i]));
	launch(f, launches / 2);
	usleep(pause_ms * 1000);
	launch(f, launches - launches / 2);
	usleep(pause_ms * 1000);
	if (!pause_ms)
		CUPTI_CHECK(cupti.flush(0));
	for (size_t i = 0; i < KIND_COUNT; i++)
		CUPTI_CHECK(cupti.disable(kinds[i]));
	if (!pause_ms || atomic_load(&buffers_out))
		CUPTI_CHECK(cupti.flush(WTCUPTI_FLUSH_FORCED));
	else
		printf("session %d: blind\n", number);
	CUPTI_CHECK(cupti.unsubscribe(subscriber));
	CUPTI_CHECK(cupti.finalize());
	printf("session %d: launches=%d kernels=%lu drivers=%lu runtimes=%lu copies=%lu "
	       "mean_ns=%lu\n",
	       number, launches, (unsigned long)seen.kernels, (unsigned long)seen.drivers,
	       (unsigned long)seen.runtimes, (unsigned long)seen.copies,
	       seen.kernels ? (unsigned long)(seen.duration_ns / seen.kernels) : 0);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int sessions = 3;
	int launches = 40;
	unsigned pause_ms = 0;
	bool is_early = false;
	const char *from = "link", *how = "getproc_v2", *then = NULL;
	wtcu_function f;
	wtcu_module module;

	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--sessions"))
			sessions = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--launches"))
			launches = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--find"))
			from = argv[i + 1];
		else if (!strcmp(argv[i], "--how"))
			how = argv[i + 1];
		else if (!strcmp(argv[i], "--pause-ms"))
			pause_ms = (unsigned)atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--then"))
			then = argv[i + 1];
		else if (!strcmp(argv[i], "--early"))
			is_early = atoi(argv[i + 1]);
	}
	app_load(how);
	if (is_early)
		find(from);
	module = app_start(0, profiler_ptx);
	APP_CHECK(app.module_function(&f, module, "profiled_kernel"));
	launch(f, 10);
	if (!is_early)
		find(from);
	for (int i = 0; i < sessions; i++) {
		if (then && i == sessions - 1)
			find(then);
		session(f, i + 1, launches + i, pause_ms);
		launch(f, 10);
	}
	printf("total launches=%d\n",
	       10 + sessions * (launches + 10) + sessions * (sessions - 1) / 2);
	return 0;
}
