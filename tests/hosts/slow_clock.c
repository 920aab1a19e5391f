/*
 * slow_clock.c - preloaded before libwavetap.so: reading CLOCK_REALTIME takes SLOW_CLOCK_NS of CPU time
 * longer, as where the vDSO has no clock source and each reading is a system call. The hooks read that clock.
 *
 * Any thread; spins.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *time);

static long read_ns(clockid_t clock, struct timespec *time, int *ret_result)
{
	*ret_result = (int)syscall(SYS_clock_gettime, clock, time);
	return time->tv_sec % 1000000 * 1000000000 + time->tv_nsec;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
	static _Atomic long slow_ns = -1;
	struct timespec now;
	int result, ignored;
	long begun_ns;

	if (slow_ns < 0)
		slow_ns = getenv("SLOW_CLOCK_NS") ? atol(getenv("SLOW_CLOCK_NS")) : 0;
	if (clock == CLOCK_REALTIME && slow_ns > 0) {
		begun_ns = read_ns(CLOCK_MONOTONIC, &now, &ignored);
		while (read_ns(CLOCK_MONOTONIC, &now, &ignored) - begun_ns < slow_ns)
			;
	}
	(void)read_ns(clock, time, &result);
	return result;
}
