/*
 * inject_rude.c - a library for CUDA_INJECTION64_PATH that does what none may do: it calls the driver
 * from inside cuInit. The simulated driver must not survive it.
 */
#include <dlfcn.h>

#include "libintercept/cuda_abi.h"
#include "tests/fake/fake_common.h"

FAKE_EXPORT int InitializeInjection(void);

int InitializeInjection(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	wtcu_device_get_count_fn get_count;
	int count;

	*(void **)&get_count = driver ? dlsym(driver, "cuDeviceGetCount") : NULL;
	return get_count && get_count(&count) == WTCU_SUCCESS;
}
