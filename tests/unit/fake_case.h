/*
 * fake_case.h - running a case of test_fake.c on a simulated GPU of its own.
 *
 * The simulation reads its environment when it starts, so each case is a child
 * process; what it found comes back in shared memory, and the parent judges.
 */
#ifndef FAKE_CASE_H
#define FAKE_CASE_H

#include <stdbool.h>

#include "libintercept/cuda_abi.h"

#define CASE_KERNELS_MAX 256

struct case_kernel {
	uint32_t correlation, stream_id, graph_id;
	uint64_t node_id;
	int64_t start_ns, end_ns;
	uint32_t bytes; /* length of the record */
};

/* What a case found. In shared memory. */
struct case_found {
	int64_t value[32];
	struct case_kernel kernel[CASE_KERNELS_MAX];
	int kernel_count;
	int call_count, runtime_count; /* driver and runtime records */
	uint32_t call_correlation[64];
	int32_t call_result[64];
	struct wtcupti_activity_api runtime; /* the last of the runtime's */
	int external_count, memcpy_count, sync_count, context_count;
	char truth[16384]; /* what WTFAKE_TRUTH holds */
};

/* The simulated driver and CUPTI, bound in the child. */
struct case_api {
	wtcu_result (*cuInit)(unsigned int);
	wtcu_result (*cuDevicePrimaryCtxRetain)(wtcu_context *, wtcu_device);
	wtcu_result (*cuCtxSetCurrent)(wtcu_context);
	wtcu_result (*cuCtxSynchronize)(void);
	wtcu_result (*cuModuleLoadData)(wtcu_module *, const void *);
	wtcu_result (*cuModuleGetFunction)(wtcu_function *, wtcu_module, const char *);
	wtcu_result (*cuOccupancyMaxActiveBlocksPerMultiprocessor)(int *, wtcu_function, int,
	                                                           size_t);
	wtcu_result (*cuFuncSetAttribute)(wtcu_function, int, int);
	wtcu_result (*cuStreamCreate)(wtcu_stream *, unsigned int);
	wtcu_result (*cuStreamBeginCapture_v2)(wtcu_stream, int);
	wtcu_result (*cuStreamEndCapture)(wtcu_stream, wtcu_graph *);
	wtcu_result (*cuGraphInstantiateWithFlags)(wtcu_graph_exec *, wtcu_graph,
	                                           unsigned long long);
	wtcu_result (*cuMemAlloc_v2)(wtcu_deviceptr *, size_t);
	wtcu_result (*cuMemcpyHtoD_v2)(wtcu_deviceptr, const void *, size_t);
	wtcu_result (*cuMemcpyDtoH_v2)(void *, wtcu_deviceptr, size_t);
	wtcu_result (*cuLaunchHostFunc)(wtcu_stream, wtcu_host_fn, void *);
	wtcu_launch_kernel_fn cuLaunchKernel, cuLaunchKernel_ptsz;
	wtcu_launch_kernel_ex_fn cuLaunchKernelEx;
	wtcu_launch_cooperative_fn cuLaunchCooperativeKernel;
	wtcu_graph_launch_fn cuGraphLaunch;
	wtcu_get_proc_address_v2_fn cuGetProcAddress_v2;
	wtcu_get_proc_address_fn cuGetProcAddress;
	wtcupti_register_callbacks_fn cuptiActivityRegisterCallbacks;
	wtcupti_activity_kind_fn cuptiActivityEnable, cuptiActivityDisable;
	wtcupti_enable_api_fn cuptiActivityEnableDriverApi, cuptiActivityEnableRuntimeApi;
	wtcupti_flush_all_fn cuptiActivityFlushAll;
	wtcupti_next_record_fn cuptiActivityGetNextRecord;
	wtcupti_dropped_records_fn cuptiActivityGetNumDroppedRecords;
	wtcupti_push_external_id_fn cuptiActivityPushExternalCorrelationId;
	wtcupti_subscribe_fn cuptiSubscribe;
	wtcupti_get_timestamp_fn cuptiGetTimestamp;
	wtcupti_finalize_fn cuptiFinalize;
	void (*wtfake_runtime_begin)(int cbid);
	void (*wtfake_runtime_end)(int cbid, wtcu_result result);
};
extern struct case_api api;

/* Only in the child: what is found goes here. */
extern struct case_found *found;

/* Runs `fn` in a child with NAME=VALUE words added to its environment; its wait status. */
int case_run(const char *env, void (*fn)(void), struct case_found *ret_found);

/* For the child. Each ends the child if a call fails that may not. */
wtcu_function case_start(const char *directive);
wtcu_result case_launch(wtcu_function f, unsigned int grid, unsigned int block, wtcu_stream stream);
void case_watch(const int *kinds, int count); /* registers callbacks, enables kinds */
void case_flush(uint32_t flag);
void case_must(int result, const char *what);
/* A function of the simulated driver, CUPTI or NVML that is not in `api`. */
void *case_symbol(const char *name);
#define MUST(call) case_must(call, #call)

#endif /* FAKE_CASE_H */
