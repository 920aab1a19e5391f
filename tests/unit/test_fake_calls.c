/*
 * test_fake_calls.c - the simulated CUPTI's records of driver and runtime
 * calls, switched on and off in all the ways that were measured on an H200,
 * and its flush. Each case is a child process (fake_case.h); checks are made
 * here, from one thread.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"
#include "tests/unit/fake_case.h"

#define LAUNCH WTCUPTI_CBID_cuLaunchKernel
#define SYNC WTCUPTI_CBID_cuCtxSynchronize
#define RUNTIME_LAUNCH 211 /* cudaLaunchKernel */
#define DRIVER_CALLS 807 /* the first number CUPTI 13.0 does not know */
#define RUNTIME_CALLS 523

static const int kernels_only[] = {WTCUPTI_KIND_CONCURRENT_KERNEL};
static struct case_found got;

static void run(void (*fn)(void), const char *what)
{
	int status;

	memset(&got, 0, sizeof(got));
	status = case_run("X=", fn, &got);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: runs", what);
}

static void driver_call(int cbid, uint8_t on)
{
	MUST(api.cuptiActivityEnableDriverApi((wtcupti_callback_id)cbid, on));
}

/* Driver records of one launch and one synchronisation. */
static int64_t records_of_two_calls(wtcu_function f)
{
	int before;

	case_flush(0);
	before = found->call_count;
	MUST(case_launch(f, 1, 32, NULL));
	MUST(api.cuCtxSynchronize());
	case_flush(0);
	return found->call_count - before;
}

/* ---- single calls of the driver ------------------------------------------------------ */

static void case_early(void)
{
	wtcu_function f;

	MUST(api.cuInit(0));
	case_watch(kernels_only, 1);
	driver_call(LAUNCH, 1);
	f = case_start("block_ns=1000");
	found->value[0] = records_of_two_calls(f);
	driver_call(SYNC, 1);
	found->value[1] = records_of_two_calls(f);
	driver_call(LAUNCH, 0);
	found->value[2] = records_of_two_calls(f);
	driver_call(LAUNCH, 1);
	found->value[3] = records_of_two_calls(f);
	MUST(api.cuptiActivityDisable(WTCUPTI_KIND_DRIVER));
	driver_call(LAUNCH, 1);
	found->value[4] = records_of_two_calls(f);
	MUST(api.cuptiActivityEnable(WTCUPTI_KIND_DRIVER));
	found->value[5] = records_of_two_calls(f);
}

static void test_early(void)
{
	run(case_early, "a call switched on before the context");
	is_i64(got.value[0], 1, "it alone is recorded");
	is_i64(got.value[1], 2, "another one, switched on later, too");
	is_i64(got.value[2], 1, "one switched off is not");
	is_i64(got.value[3], 2, "and is again");
	is_i64(got.value[4], 0, "none once the kind was switched off, even if switched on again");
	is_i64(got.value[5], 2, "until the kind is on");
}

static void case_early_off(void)
{
	wtcu_function f;

	MUST(api.cuInit(0));
	case_watch(kernels_only, 1);
	driver_call(LAUNCH, 1);
	driver_call(LAUNCH, 0);
	f = case_start("block_ns=1000");
	driver_call(LAUNCH, 1);
	found->value[0] = records_of_two_calls(f);
}

static void case_early_disabled(void)
{
	wtcu_function f;

	MUST(api.cuInit(0));
	case_watch(kernels_only, 1);
	MUST(api.cuptiActivityEnable(WTCUPTI_KIND_DRIVER));
	MUST(api.cuptiActivityDisable(WTCUPTI_KIND_DRIVER));
	driver_call(LAUNCH, 1);
	f = case_start("block_ns=1000");
	found->value[0] = records_of_two_calls(f);
}

static void case_late(void)
{
	wtcu_function f = case_start("block_ns=1000");

	case_watch(kernels_only, 1);
	driver_call(LAUNCH, 1);
	found->value[0] = records_of_two_calls(f);
	MUST(api.cuptiActivityEnable(WTCUPTI_KIND_DRIVER));
	found->value[1] = records_of_two_calls(f);
	for (int cbid = 1; cbid < DRIVER_CALLS; cbid++)
		if (cbid != LAUNCH)
			driver_call(cbid, 0);
	found->value[2] = records_of_two_calls(f);
	driver_call(SYNC, 1);
	found->value[3] = records_of_two_calls(f);
	found->value[4] = api.cuptiActivityEnableDriverApi(DRIVER_CALLS, 0);
	found->value[5] = api.cuptiActivityEnableRuntimeApi(RUNTIME_CALLS - 1, 0);
	found->value[6] = api.cuptiActivityEnableRuntimeApi(RUNTIME_CALLS, 0);
}

static void test_late(void)
{
	run(case_early_off, "a call switched on and off before the context");
	is_i64(got.value[0], 0, "is as if it had never been on");
	run(case_early_disabled, "the kind switched off before the context");
	is_i64(got.value[0], 0, "leaves single calls without effect");
	run(case_late, "calls switched on after the context");
	is_i64(got.value[0], 0, "no record");
	is_i64(got.value[1], 2, "all of them with the kind");
	is_i64(got.value[2], 1, "but those switched off");
	is_i64(got.value[3], 2, "which can be switched on again");
	is_i64(got.value[4], WTCUPTI_ERROR_INVALID_PARAMETER, "numbers past the list are refused");
	is_i64(got.value[5], WTCUPTI_SUCCESS, "the runtime has a list");
	is_i64(got.value[6], WTCUPTI_ERROR_INVALID_PARAMETER, "of its own");
}

/* ---- calls of the runtime ------------------------------------------------------------ */

static int64_t now_ns(void)
{
	uint64_t now = 0;

	MUST(api.cuptiGetTimestamp(&now));
	return (int64_t)now;
}

static void launch_by_runtime(wtcu_function f, unsigned int block)
{
	wtcu_result result;

	api.wtfake_runtime_begin(RUNTIME_LAUNCH);
	found->value[0] = now_ns();
	result = case_launch(f, 1, block, NULL);
	found->value[1] = now_ns();
	api.wtfake_runtime_end(RUNTIME_LAUNCH, result);
}

static void case_runtime(void)
{
	wtcu_function f;

	MUST(api.cuInit(0));
	case_watch(kernels_only, 1);
	driver_call(LAUNCH, 1);
	MUST(api.cuptiActivityEnableRuntimeApi(RUNTIME_LAUNCH, 1));
	f = case_start("block_ns=1000");
	MUST(case_launch(f, 1, 32, NULL));
	launch_by_runtime(f, 4096);
	case_flush(0);
	found->value[2] = (int64_t)found->runtime.return_value;
	launch_by_runtime(f, 32);
	MUST(api.cuCtxSynchronize());
	case_flush(0);
}

static void test_runtime(void)
{
	run(case_runtime, "launches through the runtime");
	is_i64(got.call_count, 1, "the driver's own launch has a driver record");
	is_i64(got.call_correlation[0], 1, "which is the first");
	is_i64(got.runtime_count, 2, "the runtime's have runtime records instead");
	is_i64(got.value[2], WTCU_ERROR_INVALID_VALUE, "with the result");
	is_i64(got.runtime.cbid, RUNTIME_LAUNCH, "and the number of the runtime's call");
	is_i64(got.kernel_count, 2, "kernels");
	is_i64(got.kernel[1].correlation, 3, "the failing one took an id");
	is_i64(got.runtime.correlation_id, 3, "kernel and runtime record share theirs");
	ok((int64_t)got.runtime.start <= got.value[0] && (int64_t)got.runtime.end >= got.value[1],
	   "the record encloses the driver's call");
}

static void case_runtime_off(void)
{
	wtcu_function f;

	MUST(api.cuInit(0));
	case_watch(kernels_only, 1);
	driver_call(LAUNCH, 1);
	f = case_start("block_ns=1000");
	MUST(api.cuptiActivityEnableRuntimeApi(RUNTIME_LAUNCH, 1));
	launch_by_runtime(f, 32);
	MUST(api.cuCtxSynchronize());
	case_flush(0);
}

static void test_runtime_off(void)
{
	run(case_runtime_off, "the runtime's calls switched on after the context");
	is_i64(got.runtime_count, 0, "no record, for the kinds are apart");
	is_i64(got.call_count, 0, "nor one of the driver's call inside");
	is_i64(got.kernel[0].correlation, 1, "the kernel has an id");
}

/* ---- flushing ------------------------------------------------------------------------- */

#define FLUSH_LAUNCHES 600
#define SLOW_US 300000 /* so that CUPTI's own thread is still at it when flushed */

static pthread_t flusher;
static atomic_int requesters, readers; /* callbacks on CUPTI's own thread */
static atomic_int kernels_read;

static bool is_own_thread(void)
{
	return !pthread_equal(pthread_self(), flusher);
}

static void request_small(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*size = 8192;
	*buffer = aligned_alloc(8, *size);
	*max_records = 0;
}

static void request_slowly(uint8_t **buffer, size_t *size, size_t *max_records)
{
	if (is_own_thread()) {
		atomic_fetch_add(&requesters, 1);
		usleep(SLOW_US);
	}
	request_small(buffer, size, max_records);
}

static void read_slowly(wtcu_context context, uint32_t stream_id, uint8_t *buffer, size_t size,
                        size_t valid)
{
	struct wtcupti_activity *record = NULL;

	(void)context, (void)stream_id, (void)size;
	if (is_own_thread()) {
		atomic_fetch_add(&readers, 1);
		usleep(SLOW_US);
	}
	while (!api.cuptiActivityGetNextRecord(buffer, valid, &record))
		atomic_fetch_add(&kernels_read, 1);
	free(buffer);
	if (is_own_thread())
		atomic_fetch_sub(&readers, 1);
}

/* Launches, waits until CUPTI's thread is in a callback, flushes. */
static void flush_meanwhile(int launches, wtcupti_buffer_requested_fn request, atomic_int *inside)
{
	wtcu_function f = case_start("block_ns=1000");

	flusher = pthread_self();
	MUST(api.cuptiActivityRegisterCallbacks(request, read_slowly));
	MUST(api.cuptiActivityEnable(WTCUPTI_KIND_CONCURRENT_KERNEL));
	for (int i = 0; i < launches; i++)
		MUST(case_launch(f, 1, 32, NULL));
	MUST(api.cuCtxSynchronize());
	while (!atomic_load(inside))
		usleep(100);
	case_flush(WTCUPTI_FLUSH_FORCED);
	found->value[0] = atomic_load(&readers);
	found->value[1] = atomic_load(&kernels_read);
}

static void case_flush_while_read(void)
{
	flush_meanwhile(FLUSH_LAUNCHES, request_small, &readers);
}

static void case_flush_while_written(void)
{
	flush_meanwhile(1, request_slowly, &requesters);
}

static void test_blocking_flush(void)
{
	run(case_flush_while_read, "a flush while CUPTI's thread delivers");
	is_i64(got.value[0], 0, "returns when no callback is running");
	is_i64(got.value[1], FLUSH_LAUNCHES, "and all records have been handed over");
	run(case_flush_while_written, "a flush while CUPTI's thread asks for a buffer");
	is_i64(got.value[1], 1, "gives the record that was to go there");
}

static void flush_inside(wtcu_context context, uint32_t stream_id, uint8_t *buffer, size_t size,
                         size_t valid)
{
	(void)context, (void)stream_id, (void)size, (void)valid;
	MUST(api.cuptiActivityFlushAll(0));
	found->value[0]++;
	free(buffer);
}

static void case_flush_inside(void)
{
	wtcu_function f = case_start("block_ns=1000");

	MUST(api.cuptiActivityRegisterCallbacks(request_small, flush_inside));
	MUST(api.cuptiActivityEnable(WTCUPTI_KIND_CONCURRENT_KERNEL));
	MUST(case_launch(f, 1, 32, NULL));
	MUST(api.cuCtxSynchronize());
	case_flush(0);
}

static void test_flush_inside(void)
{
	run(case_flush_inside, "a flush inside the callback of another");
	is_i64(got.value[0], 1, "does not wait for itself");
}

int main(void)
{
	test_early();
	test_late();
	test_runtime();
	test_runtime_off();
	test_blocking_flush();
	test_flush_inside();
	return tap_done();
}
