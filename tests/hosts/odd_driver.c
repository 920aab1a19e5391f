/*
 * odd_driver.c - a libcuda.so.1 of a few lines that launches nothing and forgives nothing. Beside
 * it tests/fake is a GPU; this one is about who calls what, and when:
 *
 *   - no lock and no heap: a launch may come from a signal handler, and what allocates is not it
 *   - cuInit looks itself up, as shims of the driver do, and must find itself
 *   - after odd_seal() any call but a launch waits for ever, as calls behind the context's lock do
 *     while a kernel spins
 *   - once its exit handler ran, any call ends the process
 *   - from version 14000 on "cuLaunchKernel" is another entry, that no list has
 *   - cuGetExportTable gives a table whose entry launches, as the runtime's private ones do
 *
 * Any thread.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/hosts/odd.h"

#define EXPORT __attribute__((visibility("default")))
#define SUCCESS 0
#define ERROR_INVALID_VALUE 1
#define ERROR_NOT_FOUND 500

static _Atomic uint64_t launches, others;
static _Atomic int is_sealed, is_over;

static void die(const char *why)
{
	if (write(STDERR_FILENO, "odd driver: ", 12) < 0 ||
	    write(STDERR_FILENO, why, strlen(why)) < 0 || write(STDERR_FILENO, "\n", 1) < 0)
		_exit(98);
	_exit(97);
}

/* Before any call; it may not come back. */
static void enter(int is_launch)
{
	if (atomic_load(&is_over))
		die("called after its end");
	while (!is_launch && atomic_load(&is_sealed))
		pause();
	atomic_fetch_add(is_launch ? &launches : &others, 1);
}

static void end(void)
{
	atomic_store(&is_over, 1);
}

EXPORT int cuLaunchKernel(LAUNCH_PARAMS);
EXPORT int cuLaunchKernel(LAUNCH_PARAMS)
{
	(void)bx, (void)by, (void)bz, (void)smem, (void)stream, (void)params, (void)extra;
	enter(1);
	return f && gx && gy && gz ? SUCCESS : ERROR_INVALID_VALUE;
}

/* Exported by no name. */
static int launch_newer(LAUNCH_PARAMS)
{
	(void)bx, (void)by, (void)bz, (void)smem, (void)stream, (void)params, (void)extra;
	enter(1);
	return f && gx && gy && gz ? SUCCESS : ERROR_INVALID_VALUE;
}

static void look_itself_up(void)
{
	void *self = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	int (*volatile found)(LAUNCH_PARAMS);

	if (!self)
		return;
	*(void **)&found = dlsym(self, "cuLaunchKernel");
	if (found != cuLaunchKernel)
		die("finds somebody else for itself");
	dlclose(self);
}

EXPORT int cuInit(unsigned flags);
EXPORT int cuInit(unsigned flags)
{
	static _Atomic int is_up;

	(void)flags;
	enter(0);
	if (atomic_exchange(&is_up, 1))
		return SUCCESS;
	look_itself_up();
	return atexit(end);
}

EXPORT int cuDriverGetVersion(int *version);
EXPORT int cuDriverGetVersion(int *version)
{
	*version = 13000;
	return SUCCESS;
}

EXPORT int cuDeviceGetCount(int *count);
EXPORT int cuDeviceGetCount(int *count)
{
	enter(0);
	*count = 1;
	return SUCCESS;
}

EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device);
EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	enter(0);
	*value = attribute == 16 ? 114 : 0; /* SMs */
	return device ? ERROR_INVALID_VALUE : SUCCESS;
}

EXPORT int cuDeviceGetName(char *name, int bytes, int device);
EXPORT int cuDeviceGetName(char *name, int bytes, int device)
{
	enter(0);
	snprintf(name, (size_t)bytes, "odd");
	return device ? ERROR_INVALID_VALUE : SUCCESS;
}

EXPORT int cuDeviceGetUuid_v2(void *uuid, int device);
EXPORT int cuDeviceGetUuid_v2(void *uuid, int device)
{
	enter(0);
	memset(uuid, 0x0d, 16);
	return device ? ERROR_INVALID_VALUE : SUCCESS;
}

EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device);
EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
	enter(0);
	*bytes = 1 << 20;
	return device ? ERROR_INVALID_VALUE : SUCCESS;
}

EXPORT int cuDevicePrimaryCtxRetain(void **context, int device);
EXPORT int cuDevicePrimaryCtxRetain(void **context, int device)
{
	static int one;

	enter(0);
	*context = &one;
	return device ? ERROR_INVALID_VALUE : SUCCESS;
}

EXPORT int cuCtxGetDevice(int *device);
EXPORT int cuCtxGetDevice(int *device)
{
	enter(0);
	*device = 0;
	return SUCCESS;
}

EXPORT int cuCtxSynchronize(void);
EXPORT int cuCtxSynchronize(void)
{
	enter(0);
	return SUCCESS;
}

EXPORT int cuGetProcAddress(const char *symbol, void **pfn, int version, unsigned long long flags);
EXPORT int cuGetProcAddress_v2(const char *symbol, void **pfn, int version,
                               unsigned long long flags, int *status);

EXPORT int cuGetProcAddress_v2(const char *symbol, void **pfn, int version,
                               unsigned long long flags, int *status)
{
	(void)flags;
	enter(0);
	if (!symbol || !pfn)
		return ERROR_INVALID_VALUE;
	*pfn = NULL;
	if (!strcmp(symbol, "cuLaunchKernel"))
		*pfn = version >= 14000 ? (void *)launch_newer : (void *)cuLaunchKernel;
	else if (!strcmp(symbol, "cuCtxSynchronize"))
		*pfn = (void *)cuCtxSynchronize;
	if (status)
		*status = *pfn ? 0 : 1;
	/* The latter says "no such entry" by a success, as the real one does where a status is asked for. */
	return *pfn || status ? SUCCESS : ERROR_NOT_FOUND;
}

EXPORT int cuGetProcAddress(const char *symbol, void **pfn, int version, unsigned long long flags)
{
	return cuGetProcAddress_v2(symbol, pfn, version, flags, NULL);
}

EXPORT int cuGetExportTable(const void **table, const void *id);
EXPORT int cuGetExportTable(const void **table, const void *id)
{
	static const void *const entries[2] = {(void *)sizeof(entries), (void *)launch_newer};

	(void)id;
	enter(0);
	*table = entries;
	return SUCCESS;
}

/* ---- for the hosts; nothing of a driver's */

EXPORT uint64_t odd_launches(void)
{
	return atomic_load(&launches);
}

EXPORT uint64_t odd_others(void)
{
	return atomic_load(&others);
}

EXPORT void odd_seal(void)
{
	atomic_store(&is_sealed, 1);
}
