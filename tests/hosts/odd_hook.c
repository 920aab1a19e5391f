/*
 * odd_hook.c - another interposer of the launch: counts, and goes on with the next one, which it
 * finds as interposers do; with ODD_ROUND by the driver's handle, which is answered with wavetap's hook
 * where that is loaded before it, so that each launch comes there twice.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include "tests/hosts/odd.h"

#define EXPORT __attribute__((visibility("default")))

static _Atomic uint64_t count;

EXPORT int cuLaunchKernel(LAUNCH_PARAMS);
EXPORT uint64_t odd_hook_count(void);

EXPORT int cuLaunchKernel(LAUNCH_PARAMS)
{
	static int (*_Atomic next)(LAUNCH_PARAMS);
	int (*real)(LAUNCH_PARAMS) = atomic_load(&next);

	if (!real) {
		void *from = getenv("ODD_ROUND") ? dlopen("libcuda.so.1", RTLD_NOW) : RTLD_NEXT;

		*(void **)&real = dlsym(from, "cuLaunchKernel");
		atomic_store(&next, real);
	}
	atomic_fetch_add(&count, 1);
	return real ? real(LAUNCH_ARGS) : 500;
}

EXPORT uint64_t odd_hook_count(void)
{
	return atomic_load(&count);
}
