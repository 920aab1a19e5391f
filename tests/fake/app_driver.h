/*
 * app_driver.h - how the test programs reach the CUDA driver: as a linked
 * library, by dlsym, by cuGetProcAddress of either arity, or for the
 * per-thread default stream. Real or simulated, they can't tell; except for
 * `cudart`, which has the simulated CUPTI see launches made by the runtime.
 *
 * Loading is for one thread; the pointers are then read by all.
 */
#ifndef APP_DRIVER_H
#define APP_DRIVER_H

#include <stdbool.h>

#include "libintercept/cuda_abi.h"

/* APP_FN(field, exported symbol, name and version for cuGetProcAddress, parameters) */
#define APP_FUNCTIONS                                                                              \
	APP_FN(init, cuInit, "cuInit", 2000, (unsigned int))                                       \
	APP_FN(device_get, cuDeviceGet, "cuDeviceGet", 2000, (wtcu_device *, int))                 \
	APP_FN(device_name, cuDeviceGetName, "cuDeviceGetName", 2000, (char *, int, wtcu_device))  \
	APP_FN(device_attribute, cuDeviceGetAttribute, "cuDeviceGetAttribute", 2000,               \
	       (int *, int, wtcu_device))                                                          \
	APP_FN(primary_retain, cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", 7000,         \
	       (wtcu_context *, wtcu_device))                                                      \
	APP_FN(ctx_set, cuCtxSetCurrent, "cuCtxSetCurrent", 4000, (wtcu_context))                  \
	APP_FN(ctx_sync, cuCtxSynchronize, "cuCtxSynchronize", 2000, (void))                       \
	APP_FN(module_load, cuModuleLoadData, "cuModuleLoadData", 2000,                            \
	       (wtcu_module *, const void *))                                                      \
	APP_FN(module_function, cuModuleGetFunction, "cuModuleGetFunction", 2000,                  \
	       (wtcu_function *, wtcu_module, const char *))                                       \
	APP_FN(occupancy, cuOccupancyMaxActiveBlocksPerMultiprocessor,                             \
	       "cuOccupancyMaxActiveBlocksPerMultiprocessor", 6050,                                \
	       (int *, wtcu_function, int, size_t))                                                \
	APP_FN(stream_create, cuStreamCreate, "cuStreamCreate", 2000,                              \
	       (wtcu_stream *, unsigned int))                                                      \
	APP_FN(stream_sync, cuStreamSynchronize, "cuStreamSynchronize", 7000, (wtcu_stream))       \
	APP_FN(begin_capture, cuStreamBeginCapture_v2, "cuStreamBeginCapture", 10010,              \
	       (wtcu_stream, int))                                                                 \
	APP_FN(end_capture, cuStreamEndCapture, "cuStreamEndCapture", 10000,                       \
	       (wtcu_stream, wtcu_graph *))                                                        \
	APP_FN(instantiate, cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags", 11040,     \
	       (wtcu_graph_exec *, wtcu_graph, unsigned long long))                                \
	APP_FN(graph_launch, cuGraphLaunch, "cuGraphLaunch", 10000,                                \
	       (wtcu_graph_exec, wtcu_stream))                                                     \
	APP_FN(graph_destroy, cuGraphDestroy, "cuGraphDestroy", 10000, (wtcu_graph))               \
	APP_FN(mem_alloc, cuMemAlloc_v2, "cuMemAlloc", 3020, (wtcu_deviceptr *, size_t))           \
	APP_FN(mem_alloc_host, cuMemAllocHost_v2, "cuMemAllocHost", 3020, (void **, size_t))       \
	APP_FN(copy_to, cuMemcpyHtoDAsync_v2, "cuMemcpyHtoDAsync", 7000,                           \
	       (wtcu_deviceptr, const void *, size_t, wtcu_stream))                                \
	APP_FN(copy_from, cuMemcpyDtoHAsync_v2, "cuMemcpyDtoHAsync", 7000,                         \
	       (void *, wtcu_deviceptr, size_t, wtcu_stream))                                      \
	APP_FN(set_d32, cuMemsetD32Async, "cuMemsetD32Async", 7000,                                \
	       (wtcu_deviceptr, unsigned int, size_t, wtcu_stream))                                \
	APP_FN(launch, cuLaunchKernel, "cuLaunchKernel", 7000,                                     \
	       (wtcu_function, unsigned int, unsigned int, unsigned int, unsigned int,             \
	        unsigned int, unsigned int, unsigned int, wtcu_stream, void **, void **))          \
	APP_FN(launch_ex, cuLaunchKernelEx, "cuLaunchKernelEx", 11060,                             \
	       (const struct wtcu_launch_config *, wtcu_function, void **, void **))               \
	APP_FN(launch_cooperative, cuLaunchCooperativeKernel, "cuLaunchCooperativeKernel", 9000,   \
	       (wtcu_function, unsigned int, unsigned int, unsigned int, unsigned int,             \
	        unsigned int, unsigned int, unsigned int, wtcu_stream, void **))

struct app_driver {
#define APP_FN(field, symbol, name, version, params) wtcu_result(*field) params;
	APP_FUNCTIONS
#undef APP_FN
};

extern struct app_driver app;

/*
 * Fills `app`. `how`: link, dlsym, getproc, getproc_v2, ptsz, cudart. Exits on
 * failure; with 77 where there is no driver, or a real one for `cudart`.
 */
void app_load(const char *how);
/* An entry that is not in the list, by dlsym; exits where the driver lacks it. */
void *app_symbol(const char *symbol);
/* Exits with a line on stderr if a call failed. */
void app_check(wtcu_result result, const char *what);
#define APP_CHECK(call) app_check(call, #call)
/* cuInit, the device's primary context made current, the module loaded. */
wtcu_module app_start(int device, const char *ptx);

#endif /* APP_DRIVER_H */
