/*
 * test_abi.c - our CUDA and CUPTI declarations against the vendor's headers.
 *
 * Every comparison is a static assertion, so a difference stops the build and
 * names the line; when the program runs, all of them held. Compiled with
 * WT_NO_CUDA_HEADERS where configure found no headers: the test then says that
 * nothing was compared. Single-threaded.
 */
#include "tests/tap.h"

#ifdef WT_NO_CUDA_HEADERS

int main(void)
{
	tap_skip_all("configure found no CUDA headers (--with-cuda-include=DIR) to compare with");
}

#else

#include <cuda.h>
#include <cupti.h>
#include <cupti_activity_deprecated.h>

#include "libintercept/cuda_abi.h"

/* The layouts below are those of CUPTI 13.0; other headers have other "newest" records. */
#if CUPTI_API_VERSION >= WTCUPTI_API_VERSION_CUDA_13_0

#define SAME_SIZE(ours, theirs) _Static_assert(sizeof(ours) == sizeof(theirs), #theirs)
#define SAME_FIELD(ours, member, theirs, their_member)                                             \
	_Static_assert(offsetof(ours, member) == offsetof(theirs, their_member) &&                 \
	                       sizeof(((ours *)0)->member) == sizeof(((theirs *)0)->their_member), \
	               #theirs "." #their_member)
#define SAME_VALUE(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
/* An older record is a prefix of the newest: `last` is its last member. */
#define PREFIX(bytes, theirs, last, their_last)                                                    \
	_Static_assert((bytes) == sizeof(theirs) &&                                                \
	                       offsetof(struct wtcupti_activity_kernel, last) ==                   \
	                               offsetof(theirs, their_last) &&                             \
	                       WTCUPTI_HAS(struct wtcupti_activity_kernel, last, bytes),           \
	               #theirs)

/* ---- structures ---- */
SAME_SIZE(struct wtcupti_activity_kernel, CUpti_ActivityKernel10);
SAME_FIELD(struct wtcupti_activity_kernel, kind, CUpti_ActivityKernel10, kind);
SAME_FIELD(struct wtcupti_activity_kernel, cache_config, CUpti_ActivityKernel10, cacheConfig);
SAME_FIELD(struct wtcupti_activity_kernel, shared_memory_config, CUpti_ActivityKernel10,
           sharedMemoryConfig);
SAME_FIELD(struct wtcupti_activity_kernel, registers_per_thread, CUpti_ActivityKernel10,
           registersPerThread);
SAME_FIELD(struct wtcupti_activity_kernel, partitioned_cache_requested, CUpti_ActivityKernel10,
           partitionedGlobalCacheRequested);
SAME_FIELD(struct wtcupti_activity_kernel, partitioned_cache_executed, CUpti_ActivityKernel10,
           partitionedGlobalCacheExecuted);
SAME_FIELD(struct wtcupti_activity_kernel, start, CUpti_ActivityKernel10, start);
SAME_FIELD(struct wtcupti_activity_kernel, end, CUpti_ActivityKernel10, end);
SAME_FIELD(struct wtcupti_activity_kernel, completed, CUpti_ActivityKernel10, completed);
SAME_FIELD(struct wtcupti_activity_kernel, device_id, CUpti_ActivityKernel10, deviceId);
SAME_FIELD(struct wtcupti_activity_kernel, context_id, CUpti_ActivityKernel10, contextId);
SAME_FIELD(struct wtcupti_activity_kernel, stream_id, CUpti_ActivityKernel10, streamId);
SAME_FIELD(struct wtcupti_activity_kernel, grid_x, CUpti_ActivityKernel10, gridX);
SAME_FIELD(struct wtcupti_activity_kernel, grid_y, CUpti_ActivityKernel10, gridY);
SAME_FIELD(struct wtcupti_activity_kernel, grid_z, CUpti_ActivityKernel10, gridZ);
SAME_FIELD(struct wtcupti_activity_kernel, block_x, CUpti_ActivityKernel10, blockX);
SAME_FIELD(struct wtcupti_activity_kernel, block_y, CUpti_ActivityKernel10, blockY);
SAME_FIELD(struct wtcupti_activity_kernel, block_z, CUpti_ActivityKernel10, blockZ);
SAME_FIELD(struct wtcupti_activity_kernel, static_shared_bytes, CUpti_ActivityKernel10,
           staticSharedMemory);
SAME_FIELD(struct wtcupti_activity_kernel, dynamic_shared_bytes, CUpti_ActivityKernel10,
           dynamicSharedMemory);
SAME_FIELD(struct wtcupti_activity_kernel, local_bytes_per_thread, CUpti_ActivityKernel10,
           localMemoryPerThread);
SAME_FIELD(struct wtcupti_activity_kernel, local_total_bytes, CUpti_ActivityKernel10,
           localMemoryTotal);
SAME_FIELD(struct wtcupti_activity_kernel, correlation_id, CUpti_ActivityKernel10, correlationId);
SAME_FIELD(struct wtcupti_activity_kernel, grid_id, CUpti_ActivityKernel10, gridId);
SAME_FIELD(struct wtcupti_activity_kernel, name, CUpti_ActivityKernel10, name);
SAME_FIELD(struct wtcupti_activity_kernel, queued, CUpti_ActivityKernel10, queued);
SAME_FIELD(struct wtcupti_activity_kernel, submitted, CUpti_ActivityKernel10, submitted);
SAME_FIELD(struct wtcupti_activity_kernel, launch_type, CUpti_ActivityKernel10, launchType);
SAME_FIELD(struct wtcupti_activity_kernel, is_carveout_requested, CUpti_ActivityKernel10,
           isSharedMemoryCarveoutRequested);
SAME_FIELD(struct wtcupti_activity_kernel, carveout_requested, CUpti_ActivityKernel10,
           sharedMemoryCarveoutRequested);
SAME_FIELD(struct wtcupti_activity_kernel, shared_executed_bytes, CUpti_ActivityKernel10,
           sharedMemoryExecuted);
SAME_FIELD(struct wtcupti_activity_kernel, graph_node_id, CUpti_ActivityKernel10, graphNodeId);
SAME_FIELD(struct wtcupti_activity_kernel, shmem_limit_config, CUpti_ActivityKernel10,
           shmemLimitConfig);
SAME_FIELD(struct wtcupti_activity_kernel, graph_id, CUpti_ActivityKernel10, graphId);
SAME_FIELD(struct wtcupti_activity_kernel, access_policy_window, CUpti_ActivityKernel10,
           pAccessPolicyWindow);
SAME_FIELD(struct wtcupti_activity_kernel, channel_id, CUpti_ActivityKernel10, channelID);
SAME_FIELD(struct wtcupti_activity_kernel, channel_type, CUpti_ActivityKernel10, channelType);
SAME_FIELD(struct wtcupti_activity_kernel, cluster_x, CUpti_ActivityKernel10, clusterX);
SAME_FIELD(struct wtcupti_activity_kernel, cluster_y, CUpti_ActivityKernel10, clusterY);
SAME_FIELD(struct wtcupti_activity_kernel, cluster_z, CUpti_ActivityKernel10, clusterZ);
SAME_FIELD(struct wtcupti_activity_kernel, cluster_scheduling_policy, CUpti_ActivityKernel10,
           clusterSchedulingPolicy);
SAME_FIELD(struct wtcupti_activity_kernel, local_total_v2_bytes, CUpti_ActivityKernel10,
           localMemoryTotal_v2);
SAME_FIELD(struct wtcupti_activity_kernel, max_potential_cluster_size, CUpti_ActivityKernel10,
           maxPotentialClusterSize);
SAME_FIELD(struct wtcupti_activity_kernel, max_active_clusters, CUpti_ActivityKernel10,
           maxActiveClusters);
SAME_FIELD(struct wtcupti_activity_kernel, is_device_launched, CUpti_ActivityKernel10,
           isDeviceLaunched);
SAME_SIZE(struct wtcupti_activity_memcpy, CUpti_ActivityMemcpy6);
SAME_FIELD(struct wtcupti_activity_memcpy, kind, CUpti_ActivityMemcpy6, kind);
SAME_FIELD(struct wtcupti_activity_memcpy, copy_kind, CUpti_ActivityMemcpy6, copyKind);
SAME_FIELD(struct wtcupti_activity_memcpy, src_kind, CUpti_ActivityMemcpy6, srcKind);
SAME_FIELD(struct wtcupti_activity_memcpy, dst_kind, CUpti_ActivityMemcpy6, dstKind);
SAME_FIELD(struct wtcupti_activity_memcpy, flags, CUpti_ActivityMemcpy6, flags);
SAME_FIELD(struct wtcupti_activity_memcpy, bytes, CUpti_ActivityMemcpy6, bytes);
SAME_FIELD(struct wtcupti_activity_memcpy, start, CUpti_ActivityMemcpy6, start);
SAME_FIELD(struct wtcupti_activity_memcpy, end, CUpti_ActivityMemcpy6, end);
SAME_FIELD(struct wtcupti_activity_memcpy, device_id, CUpti_ActivityMemcpy6, deviceId);
SAME_FIELD(struct wtcupti_activity_memcpy, context_id, CUpti_ActivityMemcpy6, contextId);
SAME_FIELD(struct wtcupti_activity_memcpy, stream_id, CUpti_ActivityMemcpy6, streamId);
SAME_FIELD(struct wtcupti_activity_memcpy, correlation_id, CUpti_ActivityMemcpy6, correlationId);
SAME_FIELD(struct wtcupti_activity_memcpy, runtime_correlation_id, CUpti_ActivityMemcpy6,
           runtimeCorrelationId);
SAME_FIELD(struct wtcupti_activity_memcpy, graph_node_id, CUpti_ActivityMemcpy6, graphNodeId);
SAME_FIELD(struct wtcupti_activity_memcpy, graph_id, CUpti_ActivityMemcpy6, graphId);
SAME_FIELD(struct wtcupti_activity_memcpy, channel_id, CUpti_ActivityMemcpy6, channelID);
SAME_FIELD(struct wtcupti_activity_memcpy, channel_type, CUpti_ActivityMemcpy6, channelType);
SAME_FIELD(struct wtcupti_activity_memcpy, is_device_launched, CUpti_ActivityMemcpy6,
           isDeviceLaunched);
SAME_FIELD(struct wtcupti_activity_memcpy, copy_count, CUpti_ActivityMemcpy6, copyCount);
SAME_SIZE(struct wtcupti_activity_memset, CUpti_ActivityMemset4);
SAME_FIELD(struct wtcupti_activity_memset, kind, CUpti_ActivityMemset4, kind);
SAME_FIELD(struct wtcupti_activity_memset, value, CUpti_ActivityMemset4, value);
SAME_FIELD(struct wtcupti_activity_memset, bytes, CUpti_ActivityMemset4, bytes);
SAME_FIELD(struct wtcupti_activity_memset, start, CUpti_ActivityMemset4, start);
SAME_FIELD(struct wtcupti_activity_memset, end, CUpti_ActivityMemset4, end);
SAME_FIELD(struct wtcupti_activity_memset, device_id, CUpti_ActivityMemset4, deviceId);
SAME_FIELD(struct wtcupti_activity_memset, context_id, CUpti_ActivityMemset4, contextId);
SAME_FIELD(struct wtcupti_activity_memset, stream_id, CUpti_ActivityMemset4, streamId);
SAME_FIELD(struct wtcupti_activity_memset, correlation_id, CUpti_ActivityMemset4, correlationId);
SAME_FIELD(struct wtcupti_activity_memset, flags, CUpti_ActivityMemset4, flags);
SAME_FIELD(struct wtcupti_activity_memset, memory_kind, CUpti_ActivityMemset4, memoryKind);
SAME_FIELD(struct wtcupti_activity_memset, graph_node_id, CUpti_ActivityMemset4, graphNodeId);
SAME_FIELD(struct wtcupti_activity_memset, graph_id, CUpti_ActivityMemset4, graphId);
SAME_FIELD(struct wtcupti_activity_memset, channel_id, CUpti_ActivityMemset4, channelID);
SAME_FIELD(struct wtcupti_activity_memset, channel_type, CUpti_ActivityMemset4, channelType);
SAME_FIELD(struct wtcupti_activity_memset, is_device_launched, CUpti_ActivityMemset4,
           isDeviceLaunched);
SAME_SIZE(struct wtcupti_activity_api, CUpti_ActivityAPI);
SAME_FIELD(struct wtcupti_activity_api, kind, CUpti_ActivityAPI, kind);
SAME_FIELD(struct wtcupti_activity_api, cbid, CUpti_ActivityAPI, cbid);
SAME_FIELD(struct wtcupti_activity_api, start, CUpti_ActivityAPI, start);
SAME_FIELD(struct wtcupti_activity_api, end, CUpti_ActivityAPI, end);
SAME_FIELD(struct wtcupti_activity_api, process_id, CUpti_ActivityAPI, processId);
SAME_FIELD(struct wtcupti_activity_api, thread_id, CUpti_ActivityAPI, threadId);
SAME_FIELD(struct wtcupti_activity_api, correlation_id, CUpti_ActivityAPI, correlationId);
SAME_FIELD(struct wtcupti_activity_api, return_value, CUpti_ActivityAPI, returnValue);
SAME_SIZE(struct wtcupti_activity_external_correlation, CUpti_ActivityExternalCorrelation);
SAME_FIELD(struct wtcupti_activity_external_correlation, kind, CUpti_ActivityExternalCorrelation,
           kind);
SAME_FIELD(struct wtcupti_activity_external_correlation, external_kind,
           CUpti_ActivityExternalCorrelation, externalKind);
SAME_FIELD(struct wtcupti_activity_external_correlation, external_id,
           CUpti_ActivityExternalCorrelation, externalId);
SAME_FIELD(struct wtcupti_activity_external_correlation, correlation_id,
           CUpti_ActivityExternalCorrelation, correlationId);
SAME_SIZE(struct wtcupti_activity_synchronization, CUpti_ActivitySynchronization2);
SAME_FIELD(struct wtcupti_activity_synchronization, kind, CUpti_ActivitySynchronization2, kind);
SAME_FIELD(struct wtcupti_activity_synchronization, type, CUpti_ActivitySynchronization2, type);
SAME_FIELD(struct wtcupti_activity_synchronization, start, CUpti_ActivitySynchronization2, start);
SAME_FIELD(struct wtcupti_activity_synchronization, end, CUpti_ActivitySynchronization2, end);
SAME_FIELD(struct wtcupti_activity_synchronization, correlation_id, CUpti_ActivitySynchronization2,
           correlationId);
SAME_FIELD(struct wtcupti_activity_synchronization, context_id, CUpti_ActivitySynchronization2,
           contextId);
SAME_FIELD(struct wtcupti_activity_synchronization, stream_id, CUpti_ActivitySynchronization2,
           streamId);
SAME_FIELD(struct wtcupti_activity_synchronization, cuda_event_id, CUpti_ActivitySynchronization2,
           cudaEventId);
SAME_FIELD(struct wtcupti_activity_synchronization, cuda_event_sync_id,
           CUpti_ActivitySynchronization2, cudaEventSyncId);
SAME_FIELD(struct wtcupti_activity_synchronization, return_value, CUpti_ActivitySynchronization2,
           returnValue);
SAME_SIZE(struct wtcupti_activity_overhead, CUpti_ActivityOverhead3);
SAME_FIELD(struct wtcupti_activity_overhead, kind, CUpti_ActivityOverhead3, kind);
SAME_FIELD(struct wtcupti_activity_overhead, overhead_kind, CUpti_ActivityOverhead3, overheadKind);
SAME_FIELD(struct wtcupti_activity_overhead, object_kind, CUpti_ActivityOverhead3, objectKind);
SAME_FIELD(struct wtcupti_activity_overhead, object_id, CUpti_ActivityOverhead3, objectId);
SAME_FIELD(struct wtcupti_activity_overhead, start, CUpti_ActivityOverhead3, start);
SAME_FIELD(struct wtcupti_activity_overhead, end, CUpti_ActivityOverhead3, end);
SAME_FIELD(struct wtcupti_activity_overhead, correlation_id, CUpti_ActivityOverhead3,
           correlationId);
SAME_FIELD(struct wtcupti_activity_overhead, overhead_data, CUpti_ActivityOverhead3, overheadData);
SAME_SIZE(struct wtcupti_activity_context, CUpti_ActivityContext3);
SAME_FIELD(struct wtcupti_activity_context, kind, CUpti_ActivityContext3, kind);
SAME_FIELD(struct wtcupti_activity_context, context_id, CUpti_ActivityContext3, contextId);
SAME_FIELD(struct wtcupti_activity_context, device_id, CUpti_ActivityContext3, deviceId);
SAME_FIELD(struct wtcupti_activity_context, compute_api_kind, CUpti_ActivityContext3,
           computeApiKind);
SAME_FIELD(struct wtcupti_activity_context, null_stream_id, CUpti_ActivityContext3, nullStreamId);
SAME_FIELD(struct wtcupti_activity_context, parent_context_id, CUpti_ActivityContext3,
           parentContextId);
SAME_FIELD(struct wtcupti_activity_context, is_green_context, CUpti_ActivityContext3,
           isGreenContext);
SAME_FIELD(struct wtcupti_activity_context, multiprocessor_count, CUpti_ActivityContext3,
           numMultiprocessors);
SAME_FIELD(struct wtcupti_activity_context, cig_mode, CUpti_ActivityContext3, cigMode);
SAME_SIZE(struct wtcupti_activity_device, CUpti_ActivityDevice5);
SAME_FIELD(struct wtcupti_activity_device, kind, CUpti_ActivityDevice5, kind);
SAME_FIELD(struct wtcupti_activity_device, flags, CUpti_ActivityDevice5, flags);
SAME_FIELD(struct wtcupti_activity_device, global_memory_bandwidth, CUpti_ActivityDevice5,
           globalMemoryBandwidth);
SAME_FIELD(struct wtcupti_activity_device, global_memory_bytes, CUpti_ActivityDevice5,
           globalMemorySize);
SAME_FIELD(struct wtcupti_activity_device, constant_memory_bytes, CUpti_ActivityDevice5,
           constantMemorySize);
SAME_FIELD(struct wtcupti_activity_device, l2_bytes, CUpti_ActivityDevice5, l2CacheSize);
SAME_FIELD(struct wtcupti_activity_device, warp_size, CUpti_ActivityDevice5, numThreadsPerWarp);
SAME_FIELD(struct wtcupti_activity_device, core_clock_khz, CUpti_ActivityDevice5, coreClockRate);
SAME_FIELD(struct wtcupti_activity_device, memcpy_engine_count, CUpti_ActivityDevice5,
           numMemcpyEngines);
SAME_FIELD(struct wtcupti_activity_device, multiprocessor_count, CUpti_ActivityDevice5,
           numMultiprocessors);
SAME_FIELD(struct wtcupti_activity_device, max_ipc, CUpti_ActivityDevice5, maxIPC);
SAME_FIELD(struct wtcupti_activity_device, max_warps_per_sm, CUpti_ActivityDevice5,
           maxWarpsPerMultiprocessor);
SAME_FIELD(struct wtcupti_activity_device, max_blocks_per_sm, CUpti_ActivityDevice5,
           maxBlocksPerMultiprocessor);
SAME_FIELD(struct wtcupti_activity_device, max_shared_per_sm_bytes, CUpti_ActivityDevice5,
           maxSharedMemoryPerMultiprocessor);
SAME_FIELD(struct wtcupti_activity_device, max_registers_per_sm, CUpti_ActivityDevice5,
           maxRegistersPerMultiprocessor);
SAME_FIELD(struct wtcupti_activity_device, max_registers_per_block, CUpti_ActivityDevice5,
           maxRegistersPerBlock);
SAME_FIELD(struct wtcupti_activity_device, max_shared_per_block_bytes, CUpti_ActivityDevice5,
           maxSharedMemoryPerBlock);
SAME_FIELD(struct wtcupti_activity_device, max_threads_per_block, CUpti_ActivityDevice5,
           maxThreadsPerBlock);
SAME_FIELD(struct wtcupti_activity_device, max_block_dim_x, CUpti_ActivityDevice5, maxBlockDimX);
SAME_FIELD(struct wtcupti_activity_device, max_block_dim_y, CUpti_ActivityDevice5, maxBlockDimY);
SAME_FIELD(struct wtcupti_activity_device, max_block_dim_z, CUpti_ActivityDevice5, maxBlockDimZ);
SAME_FIELD(struct wtcupti_activity_device, max_grid_dim_x, CUpti_ActivityDevice5, maxGridDimX);
SAME_FIELD(struct wtcupti_activity_device, max_grid_dim_y, CUpti_ActivityDevice5, maxGridDimY);
SAME_FIELD(struct wtcupti_activity_device, max_grid_dim_z, CUpti_ActivityDevice5, maxGridDimZ);
SAME_FIELD(struct wtcupti_activity_device, cc_major, CUpti_ActivityDevice5, computeCapabilityMajor);
SAME_FIELD(struct wtcupti_activity_device, cc_minor, CUpti_ActivityDevice5, computeCapabilityMinor);
SAME_FIELD(struct wtcupti_activity_device, id, CUpti_ActivityDevice5, id);
SAME_FIELD(struct wtcupti_activity_device, ecc_enabled, CUpti_ActivityDevice5, eccEnabled);
SAME_FIELD(struct wtcupti_activity_device, uuid, CUpti_ActivityDevice5, uuid);
SAME_FIELD(struct wtcupti_activity_device, name, CUpti_ActivityDevice5, name);
SAME_FIELD(struct wtcupti_activity_device, is_cuda_visible, CUpti_ActivityDevice5, isCudaVisible);
SAME_FIELD(struct wtcupti_activity_device, is_mig_enabled, CUpti_ActivityDevice5, isMigEnabled);
SAME_FIELD(struct wtcupti_activity_device, gpu_instance_id, CUpti_ActivityDevice5, gpuInstanceId);
SAME_FIELD(struct wtcupti_activity_device, compute_instance_id, CUpti_ActivityDevice5,
           computeInstanceId);
SAME_FIELD(struct wtcupti_activity_device, mig_uuid, CUpti_ActivityDevice5, migUuid);
SAME_FIELD(struct wtcupti_activity_device, is_numa_node, CUpti_ActivityDevice5, isNumaNode);
SAME_FIELD(struct wtcupti_activity_device, numa_id, CUpti_ActivityDevice5, numaId);
SAME_SIZE(struct wtcu_launch_config, CUlaunchConfig);
SAME_FIELD(struct wtcu_launch_config, grid_x, CUlaunchConfig, gridDimX);
SAME_FIELD(struct wtcu_launch_config, grid_y, CUlaunchConfig, gridDimY);
SAME_FIELD(struct wtcu_launch_config, grid_z, CUlaunchConfig, gridDimZ);
SAME_FIELD(struct wtcu_launch_config, block_x, CUlaunchConfig, blockDimX);
SAME_FIELD(struct wtcu_launch_config, block_y, CUlaunchConfig, blockDimY);
SAME_FIELD(struct wtcu_launch_config, block_z, CUlaunchConfig, blockDimZ);
SAME_FIELD(struct wtcu_launch_config, shared_bytes, CUlaunchConfig, sharedMemBytes);
SAME_FIELD(struct wtcu_launch_config, stream, CUlaunchConfig, hStream);
SAME_FIELD(struct wtcu_launch_config, attrs, CUlaunchConfig, attrs);
SAME_FIELD(struct wtcu_launch_config, attr_count, CUlaunchConfig, numAttrs);
SAME_SIZE(struct wtcu_launch_params, CUDA_LAUNCH_PARAMS);
SAME_FIELD(struct wtcu_launch_params, function, CUDA_LAUNCH_PARAMS, function);
SAME_FIELD(struct wtcu_launch_params, grid_x, CUDA_LAUNCH_PARAMS, gridDimX);
SAME_FIELD(struct wtcu_launch_params, grid_y, CUDA_LAUNCH_PARAMS, gridDimY);
SAME_FIELD(struct wtcu_launch_params, grid_z, CUDA_LAUNCH_PARAMS, gridDimZ);
SAME_FIELD(struct wtcu_launch_params, block_x, CUDA_LAUNCH_PARAMS, blockDimX);
SAME_FIELD(struct wtcu_launch_params, block_y, CUDA_LAUNCH_PARAMS, blockDimY);
SAME_FIELD(struct wtcu_launch_params, block_z, CUDA_LAUNCH_PARAMS, blockDimZ);
SAME_FIELD(struct wtcu_launch_params, shared_bytes, CUDA_LAUNCH_PARAMS, sharedMemBytes);
SAME_FIELD(struct wtcu_launch_params, stream, CUDA_LAUNCH_PARAMS, hStream);
SAME_FIELD(struct wtcu_launch_params, kernel_params, CUDA_LAUNCH_PARAMS, kernelParams);
SAME_SIZE(struct wtcu_launch_attribute, CUlaunchAttribute);
SAME_FIELD(struct wtcu_launch_attribute, id, CUlaunchAttribute, id);
SAME_FIELD(struct wtcu_launch_attribute, value, CUlaunchAttribute, value);
SAME_SIZE(struct wtcu_kernel_node_params, CUDA_KERNEL_NODE_PARAMS);
SAME_FIELD(struct wtcu_kernel_node_params, function, CUDA_KERNEL_NODE_PARAMS, func);
SAME_FIELD(struct wtcu_kernel_node_params, grid_x, CUDA_KERNEL_NODE_PARAMS, gridDimX);
SAME_FIELD(struct wtcu_kernel_node_params, grid_y, CUDA_KERNEL_NODE_PARAMS, gridDimY);
SAME_FIELD(struct wtcu_kernel_node_params, grid_z, CUDA_KERNEL_NODE_PARAMS, gridDimZ);
SAME_FIELD(struct wtcu_kernel_node_params, block_x, CUDA_KERNEL_NODE_PARAMS, blockDimX);
SAME_FIELD(struct wtcu_kernel_node_params, block_y, CUDA_KERNEL_NODE_PARAMS, blockDimY);
SAME_FIELD(struct wtcu_kernel_node_params, block_z, CUDA_KERNEL_NODE_PARAMS, blockDimZ);
SAME_FIELD(struct wtcu_kernel_node_params, shared_bytes, CUDA_KERNEL_NODE_PARAMS, sharedMemBytes);
SAME_FIELD(struct wtcu_kernel_node_params, kernel_params, CUDA_KERNEL_NODE_PARAMS, kernelParams);
SAME_FIELD(struct wtcu_kernel_node_params, extra, CUDA_KERNEL_NODE_PARAMS, extra);
SAME_FIELD(struct wtcu_kernel_node_params, kernel, CUDA_KERNEL_NODE_PARAMS, kern);
SAME_FIELD(struct wtcu_kernel_node_params, context, CUDA_KERNEL_NODE_PARAMS, ctx);
SAME_SIZE(struct wtcu_graph_instantiate_params, CUDA_GRAPH_INSTANTIATE_PARAMS);
SAME_FIELD(struct wtcu_graph_instantiate_params, flags, CUDA_GRAPH_INSTANTIATE_PARAMS, flags);
SAME_FIELD(struct wtcu_graph_instantiate_params, upload_stream, CUDA_GRAPH_INSTANTIATE_PARAMS,
           hUploadStream);
SAME_FIELD(struct wtcu_graph_instantiate_params, error_node, CUDA_GRAPH_INSTANTIATE_PARAMS,
           hErrNode_out);
SAME_FIELD(struct wtcu_graph_instantiate_params, result, CUDA_GRAPH_INSTANTIATE_PARAMS, result_out);
SAME_SIZE(struct wtcu_graph_exec_update_result, CUgraphExecUpdateResultInfo);
SAME_FIELD(struct wtcu_graph_exec_update_result, result, CUgraphExecUpdateResultInfo, result);
SAME_FIELD(struct wtcu_graph_exec_update_result, error_node, CUgraphExecUpdateResultInfo,
           errorNode);
SAME_FIELD(struct wtcu_graph_exec_update_result, error_from_node, CUgraphExecUpdateResultInfo,
           errorFromNode);
SAME_SIZE(struct wtcu_uuid, CUuuid);
#if CUDA_VERSION >= 12040 /* conditional nodes and green contexts */
SAME_SIZE(struct wtcu_node_params, CUgraphNodeParams);
SAME_FIELD(struct wtcu_node_params, type, CUgraphNodeParams, type);
SAME_FIELD(struct wtcu_node_params, value.kernel, CUgraphNodeParams, kernel);
SAME_FIELD(struct wtcu_conditional_params, handle, CUDA_CONDITIONAL_NODE_PARAMS, handle);
SAME_FIELD(struct wtcu_conditional_params, type, CUDA_CONDITIONAL_NODE_PARAMS, type);
SAME_FIELD(struct wtcu_conditional_params, size, CUDA_CONDITIONAL_NODE_PARAMS, size);
SAME_FIELD(struct wtcu_conditional_params, bodies, CUDA_CONDITIONAL_NODE_PARAMS, phGraph_out);
SAME_FIELD(struct wtcu_conditional_params, context, CUDA_CONDITIONAL_NODE_PARAMS, ctx);
SAME_VALUE(WTCU_NODE_KERNEL, CU_GRAPH_NODE_TYPE_KERNEL);
SAME_VALUE(WTCU_NODE_CONDITIONAL, CU_GRAPH_NODE_TYPE_CONDITIONAL);
SAME_VALUE(WTCU_CONDITIONAL_IF, CU_GRAPH_COND_TYPE_IF);
SAME_VALUE(WTCU_CONDITIONAL_WHILE, CU_GRAPH_COND_TYPE_WHILE);
SAME_VALUE(WTCU_CONDITIONAL_ASSIGN_DEFAULT, CU_GRAPH_COND_ASSIGN_DEFAULT);
SAME_SIZE(struct wtcu_resource, CUdevResource);
SAME_FIELD(struct wtcu_resource, value.sm, CUdevResource, sm);
SAME_VALUE(WTCU_RESOURCE_SM, CU_DEV_RESOURCE_TYPE_SM);
SAME_VALUE(WTCU_GREEN_DEFAULT_STREAM, CU_GREEN_CTX_DEFAULT_STREAM);
#endif
SAME_FIELD(struct wtcu_uuid, bytes, CUuuid, bytes);

SAME_SIZE(union wtcu_launch_attribute_value, CUlaunchAttributeValue);
SAME_FIELD(union wtcu_launch_attribute_value, cluster_dim, CUlaunchAttributeValue, clusterDim);
SAME_FIELD(union wtcu_launch_attribute_value, cooperative, CUlaunchAttributeValue, cooperative);
SAME_FIELD(union wtcu_launch_attribute_value, programmatic_stream_serialization_allowed,
           CUlaunchAttributeValue, programmaticStreamSerializationAllowed);
SAME_FIELD(union wtcu_launch_attribute_value, priority, CUlaunchAttributeValue, priority);
SAME_SIZE(union wtcupti_object_id, CUpti_ActivityObjectKindId);
SAME_FIELD(union wtcupti_object_id, dcs.stream_id, CUpti_ActivityObjectKindId, dcs.streamId);
SAME_FIELD(struct wtcupti_activity, kind, CUpti_Activity, kind);
SAME_SIZE(struct wtcupti_activity, CUpti_Activity);
SAME_SIZE(wtcu_result, CUresult);
SAME_SIZE(wtcu_device, CUdevice);
SAME_SIZE(wtcu_deviceptr, CUdeviceptr);
SAME_SIZE(wtcupti_result, CUptiResult);
SAME_SIZE(wtcupti_callback_id, CUpti_CallbackId);

PREFIX(WTCUPTI_KERNEL_BYTES_CUDA_11_0, CUpti_ActivityKernel5, graph_id, graphId);
PREFIX(WTCUPTI_KERNEL_BYTES_CUDA_11_2, CUpti_ActivityKernel6, access_policy_window,
       pAccessPolicyWindow);
PREFIX(WTCUPTI_KERNEL_BYTES_CUDA_11_6, CUpti_ActivityKernel7, channel_type, channelType);
PREFIX(WTCUPTI_KERNEL_BYTES_CUDA_11_8, CUpti_ActivityKernel8, local_total_v2_bytes,
       localMemoryTotal_v2);
PREFIX(WTCUPTI_KERNEL_BYTES_CUDA_12_0, CUpti_ActivityKernel9, max_active_clusters,
       maxActiveClusters);
_Static_assert(sizeof(CUpti_ActivityMemcpy4) == 80 && sizeof(CUpti_ActivityMemcpy5) == 88 &&
                       offsetof(CUpti_ActivityMemcpy4, graphId) ==
                               offsetof(struct wtcupti_activity_memcpy, graph_id),
               "older memcpy records");
_Static_assert(sizeof(CUpti_ActivityMemset3) == 80 &&
                       offsetof(CUpti_ActivityMemset3, graphId) ==
                               offsetof(struct wtcupti_activity_memset, graph_id),
               "older memset record");
_Static_assert(sizeof(CUpti_ActivitySynchronization) == 40 &&
                       offsetof(CUpti_ActivitySynchronization, cudaEventId) ==
                               offsetof(struct wtcupti_activity_synchronization, cuda_event_id),
               "older synchronization record");
_Static_assert(sizeof(CUpti_ActivityOverhead) == 40 && sizeof(CUpti_ActivityOverhead2) == 48,
               "older overhead records");
_Static_assert(sizeof(CUpti_ActivityContext) == 16 && sizeof(CUpti_ActivityContext2) == 24,
               "older context records");
_Static_assert(sizeof(CUpti_ActivityDevice4) == 176, "older device record");

/* ---- values ---- */
#include "tests/unit/abi_values.h"
_Static_assert((int)CUPTI_ACTIVITY_KIND_COUNT <= (int)WTCUPTI_KIND_LIMIT,
               "every kind is below our limit");
_Static_assert((uintptr_t)CU_STREAM_LEGACY == 1 && (uintptr_t)CU_STREAM_PER_THREAD == 2,
               "values of a stream handle that are not pointers");

#define COMPARED 1
#else
#define COMPARED 0
#endif

int main(void)
{
	if (!COMPARED)
		tap_skip_all("these CUDA headers are older than 13.0, whose layouts we declare");
	ok(true, "sizes, offsets and values equal those of CUPTI %d", CUPTI_API_VERSION);
	return tap_done();
}

#endif
