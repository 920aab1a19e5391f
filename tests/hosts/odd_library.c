/*
 * odd_library.c - a library that a host needs, so that the loader initialises it before any preload:
 * with ODD_EARLY in the environment it launches from its constructor. And a way to launch with this
 * library as the one that looks the driver up, for a host that loads it with RTLD_DEEPBIND.
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "tests/hosts/odd.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int odd_library_launch(void *function, int count);

EXPORT int odd_library_launch(void *function, int count)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
	int (*volatile launch)(LAUNCH_PARAMS);
	int failed = 0;

	if (!cuda)
		return -1;
	*(void **)&launch = dlsym(cuda, "cuLaunchKernel");
	for (int i = 0; i < count; i++)
		failed += launch(function, 5, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) != 0;
	return failed;
}

static __attribute__((constructor)) void begin(void)
{
	void *cuda = getenv("ODD_EARLY") ? dlopen("libcuda.so.1", RTLD_NOW) : NULL;
	void *context;

	if (!cuda)
		return;
	((int (*)(unsigned))dlsym(cuda, "cuInit"))(0);
	((int (*)(void **, int))dlsym(cuda, "cuDevicePrimaryCtxRetain"))(&context, 0);
	odd_library_launch(context, 25);
}
