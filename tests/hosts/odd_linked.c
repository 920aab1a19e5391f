/*
 * odd_linked.c - a program that is linked with the driver, launches 1,000 times, and says what the
 * driver and another interposer (odd_hook.c), if there is one, counted.
 */
#include <dlfcn.h>
#include <stdio.h>

#include "tests/hosts/odd.h"

int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuLaunchKernel(LAUNCH_PARAMS);

int main(void)
{
	uint64_t (*hooked)(void);
	void *context;

	cuInit(0);
	cuDevicePrimaryCtxRetain(&context, 0);
	for (int i = 0; i < 1000; i++)
		cuLaunchKernel(context, 3, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL);
	*(void **)&hooked = dlsym(RTLD_DEFAULT, "odd_hook_count");
	printf("driver %llu, other interposer %llu\n", (unsigned long long)odd_launches(),
	       (unsigned long long)(hooked ? hooked() : 0));
	return 0;
}
