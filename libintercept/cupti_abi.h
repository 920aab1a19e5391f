/*
 * cupti_abi.h - wavetap's declarations of CUPTI's activity API.
 *
 * See cuda_abi.h, which includes this, for why, for the naming, and for how to
 * read records whose length depends on the libcupti that wrote them.
 * Declarations only: no code, no threads, no I/O.
 */
#ifndef WT_CUPTI_ABI_H
#define WT_CUPTI_ABI_H

#include "libintercept/cuda_driver_abi.h"

/* ---- versions and results ----------------------------------------- */

/*
 * cuptiGetVersion: counted up to 28 (18 = CUDA 11.8, 19 = 12.0, 20 = 12.2,
 * 22 = 12.4, 24 = 12.6, 26 = 12.8, 27 = 12.9, 28 = 12.9 Update 1), then
 * xxyyzz: 130000 = CUDA 13.0, 130001 = 13.0 Update 1.
 */
#define WTCUPTI_API_VERSION_CUDA_11_8 18
#define WTCUPTI_API_VERSION_CUDA_12_0 19
#define WTCUPTI_API_VERSION_CUDA_12_8 26
#define WTCUPTI_API_VERSION_CUDA_13_0 130000
#define WTCUPTI_API_VERSION_CUDA_13_0_U1 130001

typedef int wtcupti_result;
typedef uint32_t wtcupti_callback_id;
typedef struct wtcupti_subscriber_opaque *wtcupti_subscriber;

enum {
	WTCUPTI_SUCCESS = 0,
	WTCUPTI_ERROR_INVALID_PARAMETER = 1,
	WTCUPTI_ERROR_INVALID_DEVICE = 2,
	WTCUPTI_ERROR_INVALID_CONTEXT = 3,
	WTCUPTI_ERROR_INVALID_OPERATION = 7,
	WTCUPTI_ERROR_OUT_OF_MEMORY = 8,
	WTCUPTI_ERROR_HARDWARE = 9,
	WTCUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT = 10,
	WTCUPTI_ERROR_API_NOT_IMPLEMENTED = 11,
	WTCUPTI_ERROR_MAX_LIMIT_REACHED = 12,
	WTCUPTI_ERROR_NOT_READY = 13,
	WTCUPTI_ERROR_NOT_COMPATIBLE = 14,
	WTCUPTI_ERROR_NOT_INITIALIZED = 15,
	WTCUPTI_ERROR_QUEUE_EMPTY = 18,
	WTCUPTI_ERROR_INVALID_STREAM = 20,
	WTCUPTI_ERROR_INVALID_KIND = 21,
	WTCUPTI_ERROR_HARDWARE_BUSY = 26,
	WTCUPTI_ERROR_NOT_SUPPORTED = 27,
	WTCUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED = 33,
	WTCUPTI_ERROR_INSUFFICIENT_PRIVILEGES = 35,
	WTCUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED = 39,
	WTCUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES = 40,
	WTCUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED = 41,
	WTCUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED = 42,
	WTCUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED = 43,
	WTCUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED = 44,
	WTCUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED = 45,
	WTCUPTI_ERROR_UNKNOWN = 999,
};

/* ---- kinds, flags, attributes ------------------------------------- */

enum wtcupti_activity_kind {
	WTCUPTI_KIND_INVALID = 0,
	WTCUPTI_KIND_MEMCPY = 1,
	WTCUPTI_KIND_MEMSET = 2,
	WTCUPTI_KIND_KERNEL = 3, /* serialises kernels: never enabled by us */
	WTCUPTI_KIND_DRIVER = 4,
	WTCUPTI_KIND_RUNTIME = 5,
	WTCUPTI_KIND_DEVICE = 8,
	WTCUPTI_KIND_CONTEXT = 9,
	WTCUPTI_KIND_CONCURRENT_KERNEL = 10,
	WTCUPTI_KIND_NAME = 11,
	WTCUPTI_KIND_MARKER = 12,
	WTCUPTI_KIND_OVERHEAD = 17,
	WTCUPTI_KIND_MEMCPY2 = 22,
	WTCUPTI_KIND_DEVICE_ATTRIBUTE = 28,
	WTCUPTI_KIND_CUDA_EVENT = 36,
	WTCUPTI_KIND_STREAM = 37,
	WTCUPTI_KIND_SYNCHRONIZATION = 38,
	WTCUPTI_KIND_EXTERNAL_CORRELATION = 39,
	WTCUPTI_KIND_INTERNAL_LAUNCH_API = 48,
	WTCUPTI_KIND_MEMORY2 = 49,
	WTCUPTI_KIND_GRAPH_TRACE = 51,
	WTCUPTI_KIND_JIT = 52,
	WTCUPTI_KIND_LIMIT = 64, /* kinds in use are below this */
};

#define WTCUPTI_FLUSH_FORCED 1u

enum wtcupti_activity_attribute {
	WTCUPTI_ATTR_DEVICE_BUFFER_SIZE = 0,
	WTCUPTI_ATTR_DEVICE_BUFFER_SIZE_CDP = 1,
	WTCUPTI_ATTR_DEVICE_BUFFER_POOL_LIMIT = 2,
	WTCUPTI_ATTR_PROFILING_SEMAPHORE_POOL_SIZE = 3,
	WTCUPTI_ATTR_PROFILING_SEMAPHORE_POOL_LIMIT = 4,
	WTCUPTI_ATTR_ZEROED_OUT_ACTIVITY_BUFFER = 5,
	WTCUPTI_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE = 6,
	WTCUPTI_ATTR_PROFILING_SEMAPHORE_PRE_ALLOCATE_VALUE = 7,
	WTCUPTI_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED = 8,
	WTCUPTI_ATTR_PER_THREAD_ACTIVITY_BUFFER = 9,
	WTCUPTI_ATTR_DEVICE_BUFFER_SIZE_DEVICE_GRAPHS = 10,
};

enum {
	WTCUPTI_SYNC_EVENT_SYNCHRONIZE = 1,
	WTCUPTI_SYNC_STREAM_WAIT_EVENT = 2,
	WTCUPTI_SYNC_STREAM_SYNCHRONIZE = 3,
	WTCUPTI_SYNC_CONTEXT_SYNCHRONIZE = 4,
};

enum {
	WTCUPTI_OVERHEAD_DRIVER_COMPILER = 1,
	WTCUPTI_OVERHEAD_BUFFER_FLUSH = 1 << 16,
	WTCUPTI_OVERHEAD_INSTRUMENTATION = 2 << 16,
	WTCUPTI_OVERHEAD_RESOURCE = 3 << 16,
	WTCUPTI_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING = 4 << 16,
	WTCUPTI_OVERHEAD_LAZY_FUNCTION_LOADING = 5 << 16,
	WTCUPTI_OVERHEAD_COMMAND_BUFFER_FULL = 6 << 16,
	WTCUPTI_OVERHEAD_ACTIVITY_BUFFER_REQUEST = 7 << 16,
	WTCUPTI_OVERHEAD_UVM_ACTIVITY_INIT = 8 << 16,
};

enum {
	WTCUPTI_OBJECT_PROCESS = 1,
	WTCUPTI_OBJECT_THREAD = 2,
	WTCUPTI_OBJECT_DEVICE = 3,
	WTCUPTI_OBJECT_CONTEXT = 4,
	WTCUPTI_OBJECT_STREAM = 5,
};

enum {
	WTCUPTI_MEMCPY_HTOD = 1,
	WTCUPTI_MEMCPY_DTOH = 2,
	WTCUPTI_MEMCPY_DTOD = 8,
	WTCUPTI_MEMCPY_HTOH = 9,
	WTCUPTI_MEMCPY_PTOP = 10,
};

enum {
	WTCUPTI_MEMORY_PAGEABLE = 1,
	WTCUPTI_MEMORY_PINNED = 2,
	WTCUPTI_MEMORY_DEVICE = 3,
	WTCUPTI_MEMORY_MANAGED = 5,
};

enum {
	WTCUPTI_LAUNCH_REGULAR = 0,
	WTCUPTI_LAUNCH_COOPERATIVE_SINGLE_DEVICE = 1,
	WTCUPTI_LAUNCH_COOPERATIVE_MULTI_DEVICE = 2,
};

enum {
	WTCUPTI_CHANNEL_COMPUTE = 1,
	WTCUPTI_CHANNEL_ASYNC_MEMCPY = 2,
};

enum {
	WTCUPTI_EXTERNAL_UNKNOWN = 1,
	WTCUPTI_EXTERNAL_CUSTOM0 = 3,
	WTCUPTI_EXTERNAL_CUSTOM1 = 4,
	WTCUPTI_EXTERNAL_CUSTOM2 = 5,
	WTCUPTI_EXTERNAL_SIZE = 6,
};

/* cuptiSetThreadIdType: what threadId of API records holds. */
enum {
	WTCUPTI_THREAD_ID_DEFAULT = 0, /* the low 32 bits of pthread_self() */
	WTCUPTI_THREAD_ID_SYSTEM = 1, /* gettid() */
};

/* Driver callback ids: cbid of driver records, and of cuptiActivityEnableDriverApi. */
enum wtcupti_driver_cbid {
	WTCUPTI_CBID_cuCtxSynchronize = 17,
	WTCUPTI_CBID_cuLaunch = 115,
	WTCUPTI_CBID_cuLaunchGrid = 116,
	WTCUPTI_CBID_cuLaunchGridAsync = 117,
	WTCUPTI_CBID_cuEventSynchronize = 121,
	WTCUPTI_CBID_cuStreamSynchronize = 126,
	WTCUPTI_CBID_cuLaunchKernel = 307,
	WTCUPTI_CBID_cuStreamSynchronize_ptsz = 440,
	WTCUPTI_CBID_cuLaunchKernel_ptsz = 442,
	WTCUPTI_CBID_cuLaunchCooperativeKernel = 477,
	WTCUPTI_CBID_cuLaunchCooperativeKernel_ptsz = 478,
	WTCUPTI_CBID_cuLaunchCooperativeKernelMultiDevice = 480,
	WTCUPTI_CBID_cuGraphLaunch = 514,
	WTCUPTI_CBID_cuGraphLaunch_ptsz = 515,
	WTCUPTI_CBID_cuLaunchKernelEx = 652,
	WTCUPTI_CBID_cuLaunchKernelEx_ptsz = 653,
};

/* ---- records ------------------------------------------------------ */

#define WTCUPTI_PACKED __attribute__((packed, aligned(8)))

/* True if a record of `bytes` bytes holds the member. */
#define WTCUPTI_HAS(type, member, bytes)                                                           \
	(offsetof(type, member) + sizeof(((type *)0)->member) <= (size_t)(bytes))

/* How every record begins. */
struct wtcupti_activity {
	int32_t kind;
} WTCUPTI_PACKED;

/*
 * A kernel execution. Length by libcupti: 160 bytes up to CUDA 11.1 (Kernel5),
 * 168 from 11.2 (+ access_policy_window), 176 from 11.6 (+ channel), 200 from
 * 11.8 (+ cluster, local_total_v2), 208 from 12.0 (+ max_*_cluster*), 216 in
 * 13.0 (+ is_device_launched).
 */
struct wtcupti_activity_kernel {
	int32_t kind;
	uint8_t cache_config; /* requested:4, executed:4 */
	uint8_t shared_memory_config;
	uint16_t registers_per_thread;
	int32_t partitioned_cache_requested;
	int32_t partitioned_cache_executed;
	uint64_t start; /* ns; 0 together with end: no time was collected */
	uint64_t end;
	uint64_t completed;
	uint32_t device_id;
	uint32_t context_id;
	uint32_t stream_id;
	int32_t grid_x, grid_y, grid_z;
	int32_t block_x, block_y, block_z;
	int32_t static_shared_bytes;
	int32_t dynamic_shared_bytes;
	uint32_t local_bytes_per_thread;
	uint32_t local_total_bytes;
	uint32_t correlation_id; /* of the call; nodes of a graph carry their cuGraphLaunch's */
	int64_t grid_id;
	const char *name;
	void *reserved0;
	uint64_t queued; /* 0 unless latency time stamps are on */
	uint64_t submitted; /* likewise */
	uint8_t launch_type;
	uint8_t is_carveout_requested;
	uint8_t carveout_requested;
	uint8_t padding;
	uint32_t shared_executed_bytes;
	uint64_t graph_node_id;
	int32_t shmem_limit_config;
	uint32_t graph_id; /* 0: not from a graph */
	void *access_policy_window;
	uint32_t channel_id;
	int32_t channel_type;
	uint32_t cluster_x, cluster_y, cluster_z;
	uint32_t cluster_scheduling_policy;
	uint64_t local_total_v2_bytes;
	uint32_t max_potential_cluster_size;
	uint32_t max_active_clusters;
	uint8_t is_device_launched;
	uint8_t padding3[7];
} WTCUPTI_PACKED;

#define WTCUPTI_KERNEL_BYTES_CUDA_11_0 160
#define WTCUPTI_KERNEL_BYTES_CUDA_11_2 168
#define WTCUPTI_KERNEL_BYTES_CUDA_11_6 176
#define WTCUPTI_KERNEL_BYTES_CUDA_11_8 200
#define WTCUPTI_KERNEL_BYTES_CUDA_12_0 208
#define WTCUPTI_KERNEL_BYTES_CUDA_13_0 216

_Static_assert(sizeof(struct wtcupti_activity_kernel) == WTCUPTI_KERNEL_BYTES_CUDA_13_0,
               "CUpti_ActivityKernel10");

/* 80 bytes from CUDA 11.1, 88 from 11.6 (+ channel), 96 from 12.8 (+ copy_count). */
struct wtcupti_activity_memcpy {
	int32_t kind;
	uint8_t copy_kind; /* WTCUPTI_MEMCPY_* */
	uint8_t src_kind; /* WTCUPTI_MEMORY_* */
	uint8_t dst_kind;
	uint8_t flags; /* 1: asynchronous */
	uint64_t bytes;
	uint64_t start;
	uint64_t end;
	uint32_t device_id;
	uint32_t context_id;
	uint32_t stream_id;
	uint32_t correlation_id;
	uint32_t runtime_correlation_id;
	uint32_t pad;
	void *reserved0;
	uint64_t graph_node_id;
	uint32_t graph_id;
	uint32_t channel_id;
	int32_t channel_type;
	uint8_t is_device_launched;
	uint8_t pad2[3];
	uint64_t copy_count;
} WTCUPTI_PACKED;

/* 80 bytes from CUDA 11.1, 88 from 11.6 (+ channel). */
struct wtcupti_activity_memset {
	int32_t kind;
	uint32_t value;
	uint64_t bytes;
	uint64_t start;
	uint64_t end;
	uint32_t device_id;
	uint32_t context_id;
	uint32_t stream_id;
	uint32_t correlation_id;
	uint16_t flags;
	uint16_t memory_kind;
	uint32_t pad;
	void *reserved0;
	uint64_t graph_node_id;
	uint32_t graph_id;
	uint32_t channel_id;
	int32_t channel_type;
	uint8_t is_device_launched;
	uint8_t pad2[3];
} WTCUPTI_PACKED;

/* A driver or runtime call (kinds 4 and 5). */
struct wtcupti_activity_api {
	int32_t kind;
	wtcupti_callback_id cbid;
	uint64_t start;
	uint64_t end;
	uint32_t process_id;
	uint32_t thread_id; /* see WTCUPTI_THREAD_ID_* */
	uint32_t correlation_id;
	uint32_t return_value;
} WTCUPTI_PACKED;

struct wtcupti_activity_external_correlation {
	int32_t kind;
	int32_t external_kind;
	uint64_t external_id;
	uint32_t correlation_id;
	uint32_t reserved;
} WTCUPTI_PACKED;

/* 40 bytes, 56 from CUDA 12.8 (+ cuda_event_sync_id, return_value). */
struct wtcupti_activity_synchronization {
	int32_t kind;
	int32_t type; /* WTCUPTI_SYNC_* */
	uint64_t start;
	uint64_t end;
	uint32_t correlation_id;
	uint32_t context_id;
	uint32_t stream_id; /* all ones where it does not apply */
	uint32_t cuda_event_id;
	uint64_t cuda_event_sync_id;
	uint32_t return_value;
	uint32_t pad;
} WTCUPTI_PACKED;

union wtcupti_object_id {
	struct {
		uint32_t process_id;
		uint32_t thread_id;
	} pt;
	struct {
		uint32_t device_id;
		uint32_t context_id;
		uint32_t stream_id;
	} dcs;
};

/* Grew from 40 bytes to 48 (+ correlation_id) to 56 (+ overhead_data). */
struct wtcupti_activity_overhead {
	int32_t kind;
	int32_t overhead_kind; /* WTCUPTI_OVERHEAD_* */
	int32_t object_kind; /* WTCUPTI_OBJECT_*: which part of object_id holds */
	union wtcupti_object_id object_id;
	uint64_t start;
	uint64_t end;
	uint32_t correlation_id;
	uint32_t reserved0;
	void *overhead_data;
} WTCUPTI_PACKED;

/* Grew from 16 bytes to 24 (+ green contexts) to 32 (+ cig_mode). */
struct wtcupti_activity_context {
	int32_t kind;
	uint32_t context_id;
	uint32_t device_id;
	uint16_t compute_api_kind;
	uint16_t null_stream_id;
	uint32_t parent_context_id;
	uint8_t is_green_context;
	uint8_t padding;
	uint16_t multiprocessor_count; /* of a green context */
	int32_t cig_mode;
	uint32_t padding2;
} WTCUPTI_PACKED;

struct wtcupti_activity_device {
	int32_t kind;
	int32_t flags;
	uint64_t global_memory_bandwidth;
	uint64_t global_memory_bytes;
	uint32_t constant_memory_bytes;
	uint32_t l2_bytes;
	uint32_t warp_size;
	uint32_t core_clock_khz;
	uint32_t memcpy_engine_count;
	uint32_t multiprocessor_count;
	uint32_t max_ipc;
	uint32_t max_warps_per_sm;
	uint32_t max_blocks_per_sm;
	uint32_t max_shared_per_sm_bytes;
	uint32_t max_registers_per_sm;
	uint32_t max_registers_per_block;
	uint32_t max_shared_per_block_bytes;
	uint32_t max_threads_per_block;
	uint32_t max_block_dim_x, max_block_dim_y, max_block_dim_z;
	uint32_t max_grid_dim_x, max_grid_dim_y, max_grid_dim_z;
	uint32_t cc_major;
	uint32_t cc_minor;
	uint32_t id;
	uint32_t ecc_enabled;
	struct wtcu_uuid uuid;
	const char *name;
	uint8_t is_cuda_visible;
	uint8_t is_mig_enabled;
	uint8_t reserved[6];
	uint32_t gpu_instance_id;
	uint32_t compute_instance_id;
	struct wtcu_uuid mig_uuid;
	uint32_t is_numa_node;
	uint32_t numa_id;
} WTCUPTI_PACKED;

/* ---- function types ----------------------------------------------- */

typedef void (*wtcupti_buffer_requested_fn)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*wtcupti_buffer_completed_fn)(wtcu_context context, uint32_t stream_id,
                                            uint8_t *buffer, size_t size, size_t valid_size);
typedef uint64_t (*wtcupti_timestamp_fn)(void);
typedef void (*wtcupti_callback_fn)(void *user_data, int domain, wtcupti_callback_id cbid,
                                    const void *data);

typedef wtcupti_result (*wtcupti_get_version_fn)(uint32_t *version);
typedef wtcupti_result (*wtcupti_get_timestamp_fn)(uint64_t *timestamp);
typedef wtcupti_result (*wtcupti_get_result_string_fn)(wtcupti_result result, const char **str);
typedef wtcupti_result (*wtcupti_get_context_id_fn)(wtcu_context context, uint32_t *context_id);
typedef wtcupti_result (*wtcupti_get_device_id_fn)(wtcu_context context, uint32_t *device_id);
typedef wtcupti_result (*wtcupti_get_stream_id_fn)(wtcu_context context, wtcu_stream stream,
                                                   uint32_t *stream_id);
typedef wtcupti_result (*wtcupti_get_stream_id_ex_fn)(wtcu_context context, wtcu_stream stream,
                                                      uint8_t per_thread_stream,
                                                      uint32_t *stream_id);
typedef wtcupti_result (*wtcupti_set_thread_id_type_fn)(int type);
typedef wtcupti_result (*wtcupti_register_callbacks_fn)(wtcupti_buffer_requested_fn requested,
                                                        wtcupti_buffer_completed_fn completed);
typedef wtcupti_result (*wtcupti_register_timestamp_fn)(wtcupti_timestamp_fn timestamp);
/* cuptiActivityEnable, cuptiActivityDisable */
typedef wtcupti_result (*wtcupti_activity_kind_fn)(int kind);
/* cuptiActivityEnableContext, cuptiActivityDisableContext */
typedef wtcupti_result (*wtcupti_activity_context_kind_fn)(wtcu_context context, int kind);
/* cuptiActivityEnableDriverApi, cuptiActivityEnableRuntimeApi */
typedef wtcupti_result (*wtcupti_enable_api_fn)(wtcupti_callback_id cbid, uint8_t enable);
/* cuptiActivityEnableLatencyTimestamps, ...HWTrace, ...AllSyncRecords, ...LaunchAttributes */
typedef wtcupti_result (*wtcupti_enable_fn)(uint8_t enable);
typedef wtcupti_result (*wtcupti_flush_all_fn)(uint32_t flag);
typedef wtcupti_result (*wtcupti_flush_period_fn)(uint32_t period_ms);
typedef wtcupti_result (*wtcupti_next_record_fn)(uint8_t *buffer, size_t valid_size,
                                                 struct wtcupti_activity **record);
typedef wtcupti_result (*wtcupti_dropped_records_fn)(wtcu_context context, uint32_t stream_id,
                                                     size_t *dropped);
/* cuptiActivityGetAttribute, cuptiActivitySetAttribute */
typedef wtcupti_result (*wtcupti_attribute_fn)(int attribute, size_t *value_size, void *value);
typedef wtcupti_result (*wtcupti_push_external_id_fn)(int kind, uint64_t id);
typedef wtcupti_result (*wtcupti_pop_external_id_fn)(int kind, uint64_t *last_id);
typedef wtcupti_result (*wtcupti_subscribe_fn)(wtcupti_subscriber *subscriber,
                                               wtcupti_callback_fn callback, void *user_data);
typedef wtcupti_result (*wtcupti_subscribe_v2_fn)(wtcupti_subscriber *subscriber,
                                                  wtcupti_callback_fn callback, void *user_data,
                                                  void *params);
typedef wtcupti_result (*wtcupti_unsubscribe_fn)(wtcupti_subscriber subscriber);
typedef wtcupti_result (*wtcupti_finalize_fn)(void);

#endif /* WT_CUPTI_ABI_H */
