/*
 * test_fake_strict.c - what the simulated CUPTI does not let a client do. Each
 * case is a child process (fake_case.h) that must die of it; checks are made
 * here, from one thread.
 */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"
#include "tests/unit/fake_case.h"

static const int kernels_only[] = {WTCUPTI_KIND_CONCURRENT_KERNEL};

static void dies(const char *env, void (*fn)(void), const char *what)
{
	int status = case_run(env, fn, NULL);

	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "%s is fatal", what);
}

static uint8_t shared_buffer[65536] __attribute__((aligned(8)));

static void give_same(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*buffer = shared_buffer;
	*size = sizeof(shared_buffer);
	*max_records = 0;
}

static void give_odd(uint8_t **buffer, size_t *size, size_t *max_records)
{
	give_same(buffer, size, max_records);
	*buffer += 4;
	*size -= 8;
}

static void give_own_lock(uint8_t **buffer, size_t *size, size_t *max_records)
{
	give_same(buffer, size, max_records);
	MUST(api.cuCtxSynchronize());
}

static void ignore(wtcu_context context, uint32_t stream_id, uint8_t *buffer, size_t size,
                   size_t valid)
{
	(void)context, (void)stream_id, (void)buffer, (void)size, (void)valid;
}

static void watch_with(wtcupti_buffer_requested_fn give)
{
	wtcu_function f = case_start("block_ns=1000");

	MUST(api.cuptiActivityRegisterCallbacks(give, ignore));
	MUST(api.cuptiActivityEnable(WTCUPTI_KIND_CONCURRENT_KERNEL));
	for (int i = 0; i < 400; i++)
		MUST(case_launch(f, 1, 32, NULL));
	MUST(api.cuCtxSynchronize());
}

static void case_same_buffer(void)
{
	watch_with(give_same); /* 400 records are more than the buffer holds */
	case_flush(0);
}

static void case_odd_buffer(void)
{
	watch_with(give_odd);
	case_flush(0);
}

/* What no client may do: a data race, so ThreadSanitizer must not see it. */
__attribute__((no_sanitize("thread"))) static void scribble(volatile uint8_t *to, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		to[i] = 0xdd;
}

static void case_touched_buffer(void)
{
	wtcu_function f = case_start("block_ns=1000");

	MUST(api.cuptiActivityRegisterCallbacks(give_same, ignore));
	MUST(api.cuptiActivityEnable(WTCUPTI_KIND_CONCURRENT_KERNEL));
	MUST(case_launch(f, 1, 32, NULL));
	MUST(api.cuCtxSynchronize());
	usleep(50000); /* the worker has written the record by then */
	scribble(shared_buffer, sizeof(shared_buffer));
	case_flush(0);
}

static void case_call_inside(void)
{
	static const int kinds[] = {WTCUPTI_KIND_CONCURRENT_KERNEL, WTCUPTI_KIND_SYNCHRONIZATION};

	case_start("block_ns=1000");
	MUST(api.cuptiActivityRegisterCallbacks(give_own_lock, ignore));
	for (int i = 0; i < 2; i++)
		MUST(api.cuptiActivityEnable(kinds[i]));
	MUST(api.cuCtxSynchronize());
}

static void case_serial_kind(void)
{
	static const int kinds[] = {WTCUPTI_KIND_KERNEL};

	case_start("block_ns=1000");
	case_watch(kinds, 1);
}

static void case_finalize(void)
{
	MUST(api.cuptiFinalize());
}

static void case_register_late(void)
{
	case_start("block_ns=1000");
	case_watch(kernels_only, 1);
	case_watch(kernels_only, 1);
}

static void case_second_subscriber(void)
{
	wtcupti_subscriber first, second;

	MUST(api.cuptiSubscribe(&first, NULL, NULL));
	found->value[0] = api.cuptiSubscribe(&second, NULL, NULL);
}

int main(void)
{
	static struct case_found got;
	int status;

	dies("X=", case_same_buffer, "giving a buffer that CUPTI has");
	dies("X=", case_odd_buffer, "a misaligned buffer");
	dies("X=", case_touched_buffer, "writing into a buffer that CUPTI has");
	dies("X=", case_call_inside, "a driver call from a buffer callback");
	dies("X=", case_serial_kind, "the kind that serialises kernels");
	dies("X=", case_finalize, "cuptiFinalize");
	dies("X=", case_register_late, "replacing callbacks in use");
	status = case_run("X=", case_second_subscriber, &got);
	is_i64(status, 0, "subscribing twice is survived");
	is_i64(got.value[0], WTCUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, "is refused");
	return tap_done();
}
