/*
 * cuda_driver_abi.h - wavetap's declarations of the CUDA driver API.
 *
 * See cuda_abi.h, which includes this, for why and for the naming.
 * Declarations only: no code, no threads, no I/O.
 */
#ifndef WT_CUDA_DRIVER_ABI_H
#define WT_CUDA_DRIVER_ABI_H

#include <stddef.h>
#include <stdint.h>

/* ---- handles ---------------------------------------------------- */

typedef int wtcu_result;
typedef int wtcu_device;
typedef uint64_t wtcu_deviceptr;
typedef struct wtcu_context_opaque *wtcu_context;
typedef struct wtcu_module_opaque *wtcu_module;
typedef struct wtcu_library_opaque *wtcu_library;
typedef struct wtcu_function_opaque *wtcu_function; /* may also hold a wtcu_kernel */
typedef struct wtcu_kernel_opaque *wtcu_kernel;
typedef struct wtcu_stream_opaque *wtcu_stream;
typedef struct wtcu_event_opaque *wtcu_event;
typedef struct wtcu_graph_opaque *wtcu_graph;
typedef struct wtcu_graph_node_opaque *wtcu_graph_node;
typedef struct wtcu_graph_exec_opaque *wtcu_graph_exec;
typedef struct wtcu_green_context_opaque *wtcu_green_context;
typedef struct wtcu_resource_desc_opaque *wtcu_resource_desc;
typedef uint64_t wtcu_conditional_handle;
typedef void (*wtcu_host_fn)(void *user_data);

struct wtcu_uuid {
	unsigned char bytes[16];
};

/* Values of a stream handle that are not pointers. */
#define WTCU_STREAM_LEGACY ((wtcu_stream)0x1)
#define WTCU_STREAM_PER_THREAD ((wtcu_stream)0x2)

enum {
	WTCU_SUCCESS = 0,
	WTCU_ERROR_INVALID_VALUE = 1,
	WTCU_ERROR_OUT_OF_MEMORY = 2,
	WTCU_ERROR_NOT_INITIALIZED = 3,
	WTCU_ERROR_DEINITIALIZED = 4,
	WTCU_ERROR_NO_DEVICE = 100,
	WTCU_ERROR_INVALID_DEVICE = 101,
	WTCU_ERROR_INVALID_IMAGE = 200,
	WTCU_ERROR_INVALID_CONTEXT = 201,
	WTCU_ERROR_INVALID_PTX = 218,
	WTCU_ERROR_INVALID_HANDLE = 400,
	WTCU_ERROR_NOT_FOUND = 500,
	WTCU_ERROR_NOT_READY = 600,
	WTCU_ERROR_ILLEGAL_ADDRESS = 700,
	WTCU_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
	WTCU_ERROR_CONTEXT_IS_DESTROYED = 709,
	WTCU_ERROR_LAUNCH_FAILED = 719,
	WTCU_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE = 720,
	WTCU_ERROR_NOT_PERMITTED = 800,
	WTCU_ERROR_NOT_SUPPORTED = 801,
	WTCU_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
	WTCU_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
	WTCU_ERROR_STREAM_CAPTURE_UNMATCHED = 903,
	WTCU_ERROR_STREAM_CAPTURE_IMPLICIT = 906,
	WTCU_ERROR_CAPTURED_EVENT = 907,
	WTCU_ERROR_STREAM_CAPTURE_WRONG_THREAD = 908,
	WTCU_ERROR_GRAPH_EXEC_UPDATE_FAILURE = 910,
	WTCU_ERROR_INVALID_CLUSTER_SIZE = 912,
	WTCU_ERROR_UNKNOWN = 999,
};

/* cuDeviceGetAttribute; see struct wt_device for what each is for. */
enum wtcu_device_attribute {
	WTCU_DEVICE_MAX_THREADS_PER_BLOCK = 1,
	WTCU_DEVICE_MAX_BLOCK_DIM_X = 2,
	WTCU_DEVICE_MAX_BLOCK_DIM_Y = 3,
	WTCU_DEVICE_MAX_BLOCK_DIM_Z = 4,
	WTCU_DEVICE_MAX_GRID_DIM_X = 5,
	WTCU_DEVICE_MAX_GRID_DIM_Y = 6,
	WTCU_DEVICE_MAX_GRID_DIM_Z = 7,
	WTCU_DEVICE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
	WTCU_DEVICE_TOTAL_CONSTANT_MEMORY = 9,
	WTCU_DEVICE_WARP_SIZE = 10,
	WTCU_DEVICE_MAX_REGISTERS_PER_BLOCK = 12,
	WTCU_DEVICE_CLOCK_RATE = 13,
	WTCU_DEVICE_MULTIPROCESSOR_COUNT = 16,
	WTCU_DEVICE_CONCURRENT_KERNELS = 31,
	WTCU_DEVICE_ECC_ENABLED = 32,
	WTCU_DEVICE_PCI_BUS_ID = 33,
	WTCU_DEVICE_PCI_DEVICE_ID = 34,
	WTCU_DEVICE_MEMORY_CLOCK_RATE = 36,
	WTCU_DEVICE_GLOBAL_MEMORY_BUS_WIDTH = 37,
	WTCU_DEVICE_L2_CACHE_SIZE = 38,
	WTCU_DEVICE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
	WTCU_DEVICE_ASYNC_ENGINE_COUNT = 40,
	WTCU_DEVICE_UNIFIED_ADDRESSING = 41,
	WTCU_DEVICE_PCI_DOMAIN_ID = 50,
	WTCU_DEVICE_COMPUTE_CAPABILITY_MAJOR = 75,
	WTCU_DEVICE_COMPUTE_CAPABILITY_MINOR = 76,
	WTCU_DEVICE_STREAM_PRIORITIES_SUPPORTED = 78,
	WTCU_DEVICE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
	WTCU_DEVICE_MAX_REGISTERS_PER_MULTIPROCESSOR = 82,
	WTCU_DEVICE_MANAGED_MEMORY = 83,
	WTCU_DEVICE_COOPERATIVE_LAUNCH = 95,
	WTCU_DEVICE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
	WTCU_DEVICE_MAX_BLOCKS_PER_MULTIPROCESSOR = 106,
	WTCU_DEVICE_RESERVED_SHARED_MEMORY_PER_BLOCK = 111,
	WTCU_DEVICE_MEMORY_POOLS_SUPPORTED = 115,
	WTCU_DEVICE_CLUSTER_LAUNCH = 120,
};

enum wtcu_function_attribute {
	WTCU_FUNC_MAX_THREADS_PER_BLOCK = 0,
	WTCU_FUNC_SHARED_SIZE_BYTES = 1,
	WTCU_FUNC_CONST_SIZE_BYTES = 2,
	WTCU_FUNC_LOCAL_SIZE_BYTES = 3,
	WTCU_FUNC_NUM_REGS = 4,
	WTCU_FUNC_PTX_VERSION = 5,
	WTCU_FUNC_BINARY_VERSION = 6,
	WTCU_FUNC_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
	WTCU_FUNC_PREFERRED_SHARED_MEMORY_CARVEOUT = 9,
};

/* cuGetProcAddress: the `flags` argument and what comes back in symbolStatus. */
enum {
	WTCU_GET_PROC_DEFAULT = 0,
	WTCU_GET_PROC_LEGACY_STREAM = 1,
	WTCU_GET_PROC_PER_THREAD_DEFAULT_STREAM = 2,
};
enum {
	WTCU_PROC_FOUND = 0,
	WTCU_PROC_NOT_FOUND = 1,
	WTCU_PROC_VERSION_NOT_SUFFICIENT = 2,
};

enum {
	WTCU_CAPTURE_STATUS_NONE = 0,
	WTCU_CAPTURE_STATUS_ACTIVE = 1,
	WTCU_CAPTURE_STATUS_INVALIDATED = 2,
};
enum {
	WTCU_CAPTURE_MODE_GLOBAL = 0,
	WTCU_CAPTURE_MODE_THREAD_LOCAL = 1,
	WTCU_CAPTURE_MODE_RELAXED = 2,
};

/* ---- launches ---------------------------------------------------- */

enum wtcu_launch_attribute_id {
	WTCU_LAUNCH_ATTRIBUTE_IGNORE = 0,
	WTCU_LAUNCH_ATTRIBUTE_COOPERATIVE = 2,
	WTCU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4,
	WTCU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION = 6,
	WTCU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT = 7,
	WTCU_LAUNCH_ATTRIBUTE_PRIORITY = 8,
	WTCU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION = 11,
	WTCU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT = 12,
};

/* Only the members of the attributes above; the rest is padding to full size. */
union wtcu_launch_attribute_value {
	char pad[64];
	int cooperative;
	struct {
		unsigned int x, y, z;
	} cluster_dim;
	int programmatic_stream_serialization_allowed;
	int priority;
};

struct wtcu_launch_attribute {
	int id; /* enum wtcu_launch_attribute_id, or one we don't know */
	char pad[4];
	union wtcu_launch_attribute_value value;
};

struct wtcu_launch_config {
	unsigned int grid_x, grid_y, grid_z;
	unsigned int block_x, block_y, block_z;
	unsigned int shared_bytes; /* dynamic shared memory per block */
	wtcu_stream stream;
	struct wtcu_launch_attribute *attrs; /* may be NULL if attr_count is 0 */
	unsigned int attr_count;
};

/* One device's part of cuLaunchCooperativeKernelMultiDevice. */
struct wtcu_launch_params {
	wtcu_function function;
	unsigned int grid_x, grid_y, grid_z;
	unsigned int block_x, block_y, block_z;
	unsigned int shared_bytes;
	wtcu_stream stream;
	void **kernel_params;
};

/* ---- graphs ------------------------------------------------------ */

struct wtcu_kernel_node_params { /* the first 56 bytes are CUDA_KERNEL_NODE_PARAMS_v1 */
	wtcu_function function;
	unsigned int grid_x, grid_y, grid_z;
	unsigned int block_x, block_y, block_z;
	unsigned int shared_bytes;
	void **kernel_params;
	void **extra;
	wtcu_kernel kernel; /* v2: used if function is NULL */
	wtcu_context context;
};

/* cuGraphAddNode: `type`, and for which it is used here. */
enum {
	WTCU_NODE_KERNEL = 0,
	WTCU_NODE_CONDITIONAL = 13,
};
enum {
	WTCU_CONDITIONAL_IF = 0,
	WTCU_CONDITIONAL_WHILE = 1,
};
#define WTCU_CONDITIONAL_ASSIGN_DEFAULT 1u

struct wtcu_conditional_params {
	wtcu_conditional_handle handle;
	int type;
	unsigned int size; /* bodies */
	wtcu_graph *bodies; /* filled in by the driver */
	wtcu_context context;
};

struct wtcu_node_params {
	int type;
	int reserved_0[3];
	union {
		long long pad[29];
		struct wtcu_kernel_node_params kernel;
		struct wtcu_conditional_params conditional;
	} value;
	long long reserved_1;
};

struct wtcu_graph_instantiate_params {
	uint64_t flags;
	wtcu_stream upload_stream;
	wtcu_graph_node error_node;
	int result;
};

struct wtcu_graph_exec_update_result {
	int result;
	wtcu_graph_node error_node;
	wtcu_graph_node error_from_node;
};

/* ---- green contexts ----------------------------------------------- */

#define WTCU_RESOURCE_SM 1
#define WTCU_GREEN_DEFAULT_STREAM 1u

struct wtcu_resource {
	int type;
	unsigned char pad[92];
	union {
		struct {
			unsigned int sm_count, least_sm_count, alignment;
		} sm;
		unsigned char pad[48];
	} value;
};

/* ---- function types ---------------------------------------------- */

typedef wtcu_result (*wtcu_launch_kernel_fn)(wtcu_function f, unsigned int grid_x,
                                             unsigned int grid_y, unsigned int grid_z,
                                             unsigned int block_x, unsigned int block_y,
                                             unsigned int block_z, unsigned int shared_bytes,
                                             wtcu_stream stream, void **params, void **extra);
typedef wtcu_result (*wtcu_launch_kernel_ex_fn)(const struct wtcu_launch_config *config,
                                                wtcu_function f, void **params, void **extra);
typedef wtcu_result (*wtcu_launch_cooperative_fn)(wtcu_function f, unsigned int grid_x,
                                                  unsigned int grid_y, unsigned int grid_z,
                                                  unsigned int block_x, unsigned int block_y,
                                                  unsigned int block_z, unsigned int shared_bytes,
                                                  wtcu_stream stream, void **params);
typedef wtcu_result (*wtcu_launch_cooperative_multi_fn)(struct wtcu_launch_params *list,
                                                        unsigned int device_count,
                                                        unsigned int flags);
typedef wtcu_result (*wtcu_launch_host_func_fn)(wtcu_stream stream, wtcu_host_fn fn, void *data);
typedef wtcu_result (*wtcu_graph_launch_fn)(wtcu_graph_exec exec, wtcu_stream stream);
/* Asked for at a version below 12000, "cuGetProcAddress" has four arguments, else five. */
typedef wtcu_result (*wtcu_get_proc_address_fn)(const char *symbol, void **pfn, int cuda_version,
                                                uint64_t flags);
typedef wtcu_result (*wtcu_get_proc_address_v2_fn)(const char *symbol, void **pfn, int cuda_version,
                                                   uint64_t flags, int *symbol_status);
typedef wtcu_result (*wtcu_driver_get_version_fn)(int *version);
typedef wtcu_result (*wtcu_device_get_fn)(wtcu_device *device, int ordinal);
typedef wtcu_result (*wtcu_device_get_count_fn)(int *count);
typedef wtcu_result (*wtcu_device_get_name_fn)(char *name, int len, wtcu_device device);
typedef wtcu_result (*wtcu_device_get_uuid_fn)(struct wtcu_uuid *uuid, wtcu_device device);
typedef wtcu_result (*wtcu_device_get_attribute_fn)(int *value, int attribute, wtcu_device device);
typedef wtcu_result (*wtcu_device_total_mem_fn)(size_t *bytes, wtcu_device device);
typedef wtcu_result (*wtcu_ctx_get_device_fn)(wtcu_device *device);
typedef wtcu_result (*wtcu_ctx_get_current_fn)(wtcu_context *context);

#endif /* WT_CUDA_DRIVER_ABI_H */
