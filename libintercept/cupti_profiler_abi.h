/*
 * cupti_profiler_abi.h - wavetap's declarations of CUPTI's counter interfaces:
 * PM sampling, the range profiler, and the profiler's host side.
 *
 * See cuda_abi.h for why, and for the naming: struct wtcupti_X is the vendor's
 * ..._Params of the call named above it, and wtcupti_X_fn the call. Every call
 * takes one structure, zero but for its inputs, and checks struct_size, for
 * which there is WTCUPTI_X_BYTES: up to the end of the last field, without the
 * padding after it, so not sizeof. Layouts are those of CUDA 13.0. All calls
 * but the profiler's own (cuptiProfiler...) begin with CUDA 12.6.
 * Declarations only: no code, no threads, no I/O.
 */
#ifndef WT_CUPTI_PROFILER_ABI_H
#define WT_CUPTI_PROFILER_ABI_H

#include "libintercept/cupti_abi.h"

/* Bytes of a structure up to and with a member. */
#define WTCUPTI_UPTO(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))

/* Results that only these calls give; see cupti_abi.h for the others. */
enum {
	WTCUPTI_ERROR_INVALID_METRIC_NAME = 17,
	WTCUPTI_ERROR_INVALID_CHIP_NAME = 46,
};

/* ---- the device, and the profiler as a whole --------------------------- */

/* cuptiProfilerDeviceSupported: how far a thing is supported. */
enum {
	WTCUPTI_SUPPORT_UNKNOWN = 0,
	WTCUPTI_SUPPORT_NONE = 1,
	WTCUPTI_SUPPORT_DISABLED = 2,
	WTCUPTI_SUPPORT_YES = 3,
};

/* ... and for which interface it is asked. */
enum {
	WTCUPTI_API_RANGE_PROFILING = 0,
	WTCUPTI_API_PC_SAMPLING = 1,
	WTCUPTI_API_SASS_METRICS = 2,
	WTCUPTI_API_PM_SAMPLING = 3,
};

/* cuptiDeviceGetChipName */
struct wtcupti_device_get_chip_name {
	size_t struct_size;
	void *priv;
	size_t device_index;
	const char *chip_name; /* out; belongs to CUPTI */
};
#define WTCUPTI_DEVICE_GET_CHIP_NAME_BYTES                                                         \
	WTCUPTI_UPTO(struct wtcupti_device_get_chip_name, chip_name)
typedef wtcupti_result (*wtcupti_device_get_chip_name_fn)(
        struct wtcupti_device_get_chip_name *params);

/* cuptiProfilerInitialize */
struct wtcupti_profiler_initialize {
	size_t struct_size;
	void *priv;
};
#define WTCUPTI_PROFILER_INITIALIZE_BYTES WTCUPTI_UPTO(struct wtcupti_profiler_initialize, priv)
typedef wtcupti_result (*wtcupti_profiler_initialize_fn)(
        struct wtcupti_profiler_initialize *params);

/* cuptiProfilerDeInitialize */
struct wtcupti_profiler_deinitialize {
	size_t struct_size;
	void *priv;
};
#define WTCUPTI_PROFILER_DEINITIALIZE_BYTES WTCUPTI_UPTO(struct wtcupti_profiler_deinitialize, priv)
typedef wtcupti_result (*wtcupti_profiler_deinitialize_fn)(
        struct wtcupti_profiler_deinitialize *params);

/* cuptiProfilerGetCounterAvailability */
struct wtcupti_profiler_get_counter_availability {
	size_t struct_size;
	void *priv;
	wtcu_context context; /* NULL: the current one */
	size_t image_bytes; /* in and out; out alone while image is NULL */
	uint8_t *image; /* out */
};
#define WTCUPTI_PROFILER_GET_COUNTER_AVAILABILITY_BYTES                                            \
	WTCUPTI_UPTO(struct wtcupti_profiler_get_counter_availability, image)
typedef wtcupti_result (*wtcupti_profiler_get_counter_availability_fn)(
        struct wtcupti_profiler_get_counter_availability *params);

/* cuptiProfilerDeviceSupported. All but the device and api are answers, WTCUPTI_SUPPORT_*. */
struct wtcupti_profiler_device_supported {
	size_t struct_size;
	void *priv;
	wtcu_device device;
	int32_t is_supported;
	int32_t architecture;
	int32_t sli;
	int32_t vgpu;
	int32_t confidential_compute;
	int32_t cmp;
	int32_t wsl;
	int32_t api; /* WTCUPTI_API_* */
};
#define WTCUPTI_PROFILER_DEVICE_SUPPORTED_BYTES                                                    \
	WTCUPTI_UPTO(struct wtcupti_profiler_device_supported, api)
typedef wtcupti_result (*wtcupti_profiler_device_supported_fn)(
        struct wtcupti_profiler_device_supported *params);

/* ---- the host side: metrics by name, their configuration and values ---- */

enum {
	WTCUPTI_PROFILER_RANGE = 0,
	WTCUPTI_PROFILER_PM_SAMPLING = 1,
};

enum {
	WTCUPTI_METRIC_COUNTER = 0,
	WTCUPTI_METRIC_RATIO = 1,
	WTCUPTI_METRIC_THROUGHPUT = 2,
};

struct wtcupti_host_object;

/* cuptiProfilerHostInitialize */
struct wtcupti_host_initialize {
	size_t struct_size;
	void *priv;
	int32_t profiler_type; /* WTCUPTI_PROFILER_* */
	const char *chip_name;
	const uint8_t *availability_image;
	struct wtcupti_host_object *object; /* out */
};
#define WTCUPTI_HOST_INITIALIZE_BYTES WTCUPTI_UPTO(struct wtcupti_host_initialize, object)
typedef wtcupti_result (*wtcupti_host_initialize_fn)(struct wtcupti_host_initialize *params);

/* cuptiProfilerHostDeinitialize */
struct wtcupti_host_deinitialize {
	size_t struct_size;
	void *priv;
	struct wtcupti_host_object *object;
};
#define WTCUPTI_HOST_DEINITIALIZE_BYTES WTCUPTI_UPTO(struct wtcupti_host_deinitialize, object)
typedef wtcupti_result (*wtcupti_host_deinitialize_fn)(struct wtcupti_host_deinitialize *params);

/* cuptiProfilerHostGetBaseMetrics */
struct wtcupti_host_get_base_metrics {
	size_t struct_size;
	void *priv;
	struct wtcupti_host_object *object;
	int32_t metric_type; /* WTCUPTI_METRIC_* */
	const char **names; /* out; belongs to CUPTI */
	size_t count; /* out */
};
#define WTCUPTI_HOST_GET_BASE_METRICS_BYTES                                                        \
	WTCUPTI_UPTO(struct wtcupti_host_get_base_metrics, count)
typedef wtcupti_result (*wtcupti_host_get_base_metrics_fn)(
        struct wtcupti_host_get_base_metrics *params);

/* cuptiProfilerHostGetSubMetrics */
struct wtcupti_host_get_sub_metrics {
	size_t struct_size;
	void *priv;
	struct wtcupti_host_object *object;
	int32_t metric_type; /* WTCUPTI_METRIC_* */
	const char *name;
	size_t count; /* out */
	const char **names; /* out; belongs to CUPTI */
};
#define WTCUPTI_HOST_GET_SUB_METRICS_BYTES WTCUPTI_UPTO(struct wtcupti_host_get_sub_metrics, names)
typedef wtcupti_result (*wtcupti_host_get_sub_metrics_fn)(
        struct wtcupti_host_get_sub_metrics *params);

/* cuptiProfilerHostGetMetricProperties. All but object and name are answers. */
struct wtcupti_host_get_metric_properties {
	size_t struct_size;
	void *priv;
	struct wtcupti_host_object *object;
	const char *name;
	const char *description;
	const char *hardware_unit;
	const char *dimension;
	int32_t metric_type; /* WTCUPTI_METRIC_* */
};
#define WTCUPTI_HOST_GET_METRIC_PROPERTIES_BYTES                                                   \
	WTCUPTI_UPTO(struct wtcupti_host_get_metric_properties, metric_type)
typedef wtcupti_result (*wtcupti_host_get_metric_properties_fn)(
        struct wtcupti_host_get_metric_properties *params);

/* cuptiProfilerHostConfigAddMetrics */
struct wtcupti_host_config_add_metrics {
	size_t struct_size;
	void *priv;
	struct wtcupti_host_object *object;
	const char **names;
	size_t count;
};
#define WTCUPTI_HOST_CONFIG_ADD_METRICS_BYTES                                                      \
	WTCUPTI_UPTO(struct wtcupti_host_config_add_metrics, count)
typedef wtcupti_result (*wtcupti_host_config_add_metrics_fn)(
        struct wtcupti_host_config_add_metrics *params);

/* cuptiProfilerHostGetConfigImageSize */
struct wtcupti_host_get_config_image_size {
	size_t struct_size;
	void *priv;
	struct wtcupti_host_object *object;
	size_t image_bytes; /* out */
};
#define WTCUPTI_HOST_GET_CONFIG_IMAGE_SIZE_BYTES                                                   \
	WTCUPTI_UPTO(struct wtcupti_host_get_config_image_size, image_bytes)
typedef wtcupti_result (*wtcupti_host_get_config_image_size_fn)(
        struct wtcupti_host_get_config_image_size *params);

/* cuptiProfilerHostGetConfigImage */
struct wtcupti_host_get_config_image {
	size_t struct_size;
	void *priv;
	struct wtcupti_host_object *object;
	size_t image_bytes;
	uint8_t *image; /* out */
};
#define WTCUPTI_HOST_GET_CONFIG_IMAGE_BYTES                                                        \
	WTCUPTI_UPTO(struct wtcupti_host_get_config_image, image)
typedef wtcupti_result (*wtcupti_host_get_config_image_fn)(
        struct wtcupti_host_get_config_image *params);

/* cuptiProfilerHostGetNumOfPasses */
struct wtcupti_host_get_num_of_passes {
	size_t struct_size;
	void *priv;
	size_t image_bytes;
	uint8_t *image;
	size_t passes; /* out */
};
#define WTCUPTI_HOST_GET_NUM_OF_PASSES_BYTES                                                       \
	WTCUPTI_UPTO(struct wtcupti_host_get_num_of_passes, passes)
typedef wtcupti_result (*wtcupti_host_get_num_of_passes_fn)(
        struct wtcupti_host_get_num_of_passes *params);

/* cuptiProfilerHostEvaluateToGpuValues */
struct wtcupti_host_evaluate_to_gpu_values {
	size_t struct_size;
	void *priv;
	struct wtcupti_host_object *object;
	const uint8_t *image; /* counter data */
	size_t image_bytes;
	size_t index; /* of a sample or range */
	const char **names;
	size_t count;
	double *values; /* out */
};
#define WTCUPTI_HOST_EVALUATE_TO_GPU_VALUES_BYTES                                                  \
	WTCUPTI_UPTO(struct wtcupti_host_evaluate_to_gpu_values, values)
typedef wtcupti_result (*wtcupti_host_evaluate_to_gpu_values_fn)(
        struct wtcupti_host_evaluate_to_gpu_values *params);

/* ---- PM sampling ------------------------------------------------------- */

enum {
	WTCUPTI_PM_TRIGGER_SYSCLK = 0,
	WTCUPTI_PM_TRIGGER_TIME = 1,
};

enum {
	WTCUPTI_PM_STOP_OTHER = 0,
	WTCUPTI_PM_STOP_IMAGE_FULL = 1,
	WTCUPTI_PM_STOP_END = 2,
};

enum {
	WTCUPTI_PM_KEEP_OLDEST = 0,
	WTCUPTI_PM_KEEP_LATEST = 1,
};

struct wtcupti_pm_object;

/* cuptiPmSamplingEnable */
struct wtcupti_pm_enable {
	size_t struct_size;
	void *priv;
	size_t device_index;
	struct wtcupti_pm_object *object; /* out */
};
#define WTCUPTI_PM_ENABLE_BYTES WTCUPTI_UPTO(struct wtcupti_pm_enable, object)
typedef wtcupti_result (*wtcupti_pm_enable_fn)(struct wtcupti_pm_enable *params);

/* cuptiPmSamplingDisable */
struct wtcupti_pm_disable {
	size_t struct_size;
	void *priv;
	struct wtcupti_pm_object *object;
};
#define WTCUPTI_PM_DISABLE_BYTES WTCUPTI_UPTO(struct wtcupti_pm_disable, object)
typedef wtcupti_result (*wtcupti_pm_disable_fn)(struct wtcupti_pm_disable *params);

/* cuptiPmSamplingSetConfig */
struct wtcupti_pm_set_config {
	size_t struct_size;
	void *priv;
	struct wtcupti_pm_object *object;
	size_t config_bytes;
	const uint8_t *config;
	size_t hardware_buffer_bytes;
	uint64_t interval; /* ns, or cycles: by trigger_mode */
	int32_t trigger_mode; /* WTCUPTI_PM_TRIGGER_* */
	int32_t append_mode; /* WTCUPTI_PM_KEEP_* */
};
#define WTCUPTI_PM_SET_CONFIG_BYTES WTCUPTI_UPTO(struct wtcupti_pm_set_config, append_mode)
/* Without append_mode, which came with CUDA 12.8. */
#define WTCUPTI_PM_SET_CONFIG_BYTES_CUDA_12_6                                                      \
	WTCUPTI_UPTO(struct wtcupti_pm_set_config, trigger_mode)
typedef wtcupti_result (*wtcupti_pm_set_config_fn)(struct wtcupti_pm_set_config *params);

/* cuptiPmSamplingStart */
struct wtcupti_pm_start {
	size_t struct_size;
	void *priv;
	struct wtcupti_pm_object *object;
};
#define WTCUPTI_PM_START_BYTES WTCUPTI_UPTO(struct wtcupti_pm_start, object)
typedef wtcupti_result (*wtcupti_pm_start_fn)(struct wtcupti_pm_start *params);

/* cuptiPmSamplingStop */
struct wtcupti_pm_stop {
	size_t struct_size;
	void *priv;
	struct wtcupti_pm_object *object;
};
#define WTCUPTI_PM_STOP_BYTES WTCUPTI_UPTO(struct wtcupti_pm_stop, object)
typedef wtcupti_result (*wtcupti_pm_stop_fn)(struct wtcupti_pm_stop *params);

/* cuptiPmSamplingDecodeData. Adds to the image what the hardware buffer holds. */
struct wtcupti_pm_decode_data {
	size_t struct_size;
	void *priv;
	struct wtcupti_pm_object *object;
	uint8_t *image;
	size_t image_bytes;
	int32_t stop_reason; /* out: WTCUPTI_PM_STOP_* */
	uint8_t overflow; /* out */
};
#define WTCUPTI_PM_DECODE_DATA_BYTES WTCUPTI_UPTO(struct wtcupti_pm_decode_data, overflow)
typedef wtcupti_result (*wtcupti_pm_decode_data_fn)(struct wtcupti_pm_decode_data *params);

/* cuptiPmSamplingGetCounterAvailability */
struct wtcupti_pm_get_counter_availability {
	size_t struct_size;
	void *priv;
	size_t device_index;
	size_t image_bytes; /* in and out; out alone while image is NULL */
	uint8_t *image; /* out */
};
#define WTCUPTI_PM_GET_COUNTER_AVAILABILITY_BYTES                                                  \
	WTCUPTI_UPTO(struct wtcupti_pm_get_counter_availability, image)
typedef wtcupti_result (*wtcupti_pm_get_counter_availability_fn)(
        struct wtcupti_pm_get_counter_availability *params);

/* cuptiPmSamplingGetCounterDataSize */
struct wtcupti_pm_get_counter_data_size {
	size_t struct_size;
	void *priv;
	struct wtcupti_pm_object *object;
	const char **names;
	size_t count;
	uint32_t max_samples;
	size_t image_bytes; /* out */
};
#define WTCUPTI_PM_GET_COUNTER_DATA_SIZE_BYTES                                                     \
	WTCUPTI_UPTO(struct wtcupti_pm_get_counter_data_size, image_bytes)
typedef wtcupti_result (*wtcupti_pm_get_counter_data_size_fn)(
        struct wtcupti_pm_get_counter_data_size *params);

/* cuptiPmSamplingCounterDataImageInitialize */
struct wtcupti_pm_counter_data_image_initialize {
	size_t struct_size;
	void *priv;
	struct wtcupti_pm_object *object;
	size_t image_bytes;
	uint8_t *image;
};
#define WTCUPTI_PM_COUNTER_DATA_IMAGE_INITIALIZE_BYTES                                             \
	WTCUPTI_UPTO(struct wtcupti_pm_counter_data_image_initialize, image)
typedef wtcupti_result (*wtcupti_pm_counter_data_image_initialize_fn)(
        struct wtcupti_pm_counter_data_image_initialize *params);

/* cuptiPmSamplingGetCounterDataInfo */
struct wtcupti_pm_get_counter_data_info {
	size_t struct_size;
	void *priv;
	const uint8_t *image;
	size_t image_bytes;
	size_t total_samples; /* out, all three */
	size_t populated_samples;
	size_t completed_samples;
};
#define WTCUPTI_PM_GET_COUNTER_DATA_INFO_BYTES                                                     \
	WTCUPTI_UPTO(struct wtcupti_pm_get_counter_data_info, completed_samples)
typedef wtcupti_result (*wtcupti_pm_get_counter_data_info_fn)(
        struct wtcupti_pm_get_counter_data_info *params);

/* cuptiPmSamplingCounterDataGetSampleInfo */
struct wtcupti_pm_get_sample_info {
	size_t struct_size;
	void *priv;
	struct wtcupti_pm_object *object;
	const uint8_t *image;
	size_t image_bytes;
	size_t index;
	uint64_t start; /* out, ns */
	uint64_t end; /* out, ns */
};
#define WTCUPTI_PM_GET_SAMPLE_INFO_BYTES WTCUPTI_UPTO(struct wtcupti_pm_get_sample_info, end)
typedef wtcupti_result (*wtcupti_pm_get_sample_info_fn)(struct wtcupti_pm_get_sample_info *params);

/* ---- the range profiler ------------------------------------------------ */

enum {
	WTCUPTI_RANGE_AUTO = 1,
	WTCUPTI_RANGE_USER = 2,
};

enum {
	WTCUPTI_REPLAY_APPLICATION = 1,
	WTCUPTI_REPLAY_KERNEL = 2,
	WTCUPTI_REPLAY_USER = 3,
};

struct wtcupti_range_object;

/* cuptiRangeProfilerEnable */
struct wtcupti_range_enable {
	size_t struct_size;
	void *priv;
	wtcu_context context;
	struct wtcupti_range_object *object; /* out */
};
#define WTCUPTI_RANGE_ENABLE_BYTES WTCUPTI_UPTO(struct wtcupti_range_enable, object)
typedef wtcupti_result (*wtcupti_range_enable_fn)(struct wtcupti_range_enable *params);

/* cuptiRangeProfilerDisable */
struct wtcupti_range_disable {
	size_t struct_size;
	void *priv;
	struct wtcupti_range_object *object;
};
#define WTCUPTI_RANGE_DISABLE_BYTES WTCUPTI_UPTO(struct wtcupti_range_disable, object)
typedef wtcupti_result (*wtcupti_range_disable_fn)(struct wtcupti_range_disable *params);

/* cuptiRangeProfilerSetConfig. The image stays in use until the next configuration or the end. */
struct wtcupti_range_set_config {
	size_t struct_size;
	void *priv;
	struct wtcupti_range_object *object;
	size_t config_bytes;
	const uint8_t *config;
	size_t image_bytes;
	uint8_t *image; /* counter data */
	int32_t range_mode; /* WTCUPTI_RANGE_* */
	int32_t replay_mode; /* WTCUPTI_REPLAY_* */
	size_t max_ranges_per_pass;
	uint16_t nesting_levels; /* 1 with WTCUPTI_RANGE_AUTO */
	uint16_t min_nesting_level;
	size_t pass_index;
	uint16_t target_nesting_level;
};
#define WTCUPTI_RANGE_SET_CONFIG_BYTES                                                             \
	WTCUPTI_UPTO(struct wtcupti_range_set_config, target_nesting_level)
typedef wtcupti_result (*wtcupti_range_set_config_fn)(struct wtcupti_range_set_config *params);

/* cuptiRangeProfilerStart */
struct wtcupti_range_start {
	size_t struct_size;
	void *priv;
	struct wtcupti_range_object *object;
};
#define WTCUPTI_RANGE_START_BYTES WTCUPTI_UPTO(struct wtcupti_range_start, object)
typedef wtcupti_result (*wtcupti_range_start_fn)(struct wtcupti_range_start *params);

/* cuptiRangeProfilerStop */
struct wtcupti_range_stop {
	size_t struct_size;
	void *priv;
	struct wtcupti_range_object *object;
	size_t pass_index; /* out */
	size_t target_nesting_level; /* out */
	uint8_t all_passes_submitted; /* out */
};
#define WTCUPTI_RANGE_STOP_BYTES WTCUPTI_UPTO(struct wtcupti_range_stop, all_passes_submitted)
typedef wtcupti_result (*wtcupti_range_stop_fn)(struct wtcupti_range_stop *params);

/* cuptiRangeProfilerPushRange */
struct wtcupti_range_push {
	size_t struct_size;
	void *priv;
	struct wtcupti_range_object *object;
	const char *name;
};
#define WTCUPTI_RANGE_PUSH_BYTES WTCUPTI_UPTO(struct wtcupti_range_push, name)
typedef wtcupti_result (*wtcupti_range_push_fn)(struct wtcupti_range_push *params);

/* cuptiRangeProfilerPopRange */
struct wtcupti_range_pop {
	size_t struct_size;
	void *priv;
	struct wtcupti_range_object *object;
};
#define WTCUPTI_RANGE_POP_BYTES WTCUPTI_UPTO(struct wtcupti_range_pop, object)
typedef wtcupti_result (*wtcupti_range_pop_fn)(struct wtcupti_range_pop *params);

/* cuptiRangeProfilerDecodeData */
struct wtcupti_range_decode_data {
	size_t struct_size;
	void *priv;
	struct wtcupti_range_object *object;
	size_t dropped_ranges; /* out */
};
#define WTCUPTI_RANGE_DECODE_DATA_BYTES                                                            \
	WTCUPTI_UPTO(struct wtcupti_range_decode_data, dropped_ranges)
typedef wtcupti_result (*wtcupti_range_decode_data_fn)(struct wtcupti_range_decode_data *params);

/* cuptiRangeProfilerGetCounterDataSize */
struct wtcupti_range_get_counter_data_size {
	size_t struct_size;
	void *priv;
	struct wtcupti_range_object *object;
	const char **names;
	size_t count;
	size_t max_ranges;
	uint32_t max_tree_nodes; /* at least max_ranges */
	size_t image_bytes; /* out */
};
#define WTCUPTI_RANGE_GET_COUNTER_DATA_SIZE_BYTES                                                  \
	WTCUPTI_UPTO(struct wtcupti_range_get_counter_data_size, image_bytes)
typedef wtcupti_result (*wtcupti_range_get_counter_data_size_fn)(
        struct wtcupti_range_get_counter_data_size *params);

/* cuptiRangeProfilerCounterDataImageInitialize */
struct wtcupti_range_counter_data_image_initialize {
	size_t struct_size;
	void *priv;
	struct wtcupti_range_object *object;
	size_t image_bytes;
	uint8_t *image;
};
#define WTCUPTI_RANGE_COUNTER_DATA_IMAGE_INITIALIZE_BYTES                                          \
	WTCUPTI_UPTO(struct wtcupti_range_counter_data_image_initialize, image)
typedef wtcupti_result (*wtcupti_range_counter_data_image_initialize_fn)(
        struct wtcupti_range_counter_data_image_initialize *params);

/* cuptiRangeProfilerGetCounterDataInfo */
struct wtcupti_range_get_counter_data_info {
	size_t struct_size;
	void *priv;
	const uint8_t *image;
	size_t image_bytes;
	size_t total_ranges; /* out */
};
#define WTCUPTI_RANGE_GET_COUNTER_DATA_INFO_BYTES                                                  \
	WTCUPTI_UPTO(struct wtcupti_range_get_counter_data_info, total_ranges)
typedef wtcupti_result (*wtcupti_range_get_counter_data_info_fn)(
        struct wtcupti_range_get_counter_data_info *params);

/* cuptiRangeProfilerCounterDataGetRangeInfo */
struct wtcupti_range_get_range_info {
	size_t struct_size;
	void *priv;
	const uint8_t *image;
	size_t image_bytes;
	size_t index;
	const char *delimiter;
	const char *name; /* out */
};
#define WTCUPTI_RANGE_GET_RANGE_INFO_BYTES WTCUPTI_UPTO(struct wtcupti_range_get_range_info, name)
typedef wtcupti_result (*wtcupti_range_get_range_info_fn)(
        struct wtcupti_range_get_range_info *params);

#endif /* WT_CUPTI_PROFILER_ABI_H */
