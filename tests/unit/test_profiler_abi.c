/*
 * test_profiler_abi.c - our declarations of CUPTI's counter interfaces, and of
 * NVML, against the vendor's headers.
 *
 * As test_abi.c: every comparison is a static assertion, so a difference stops
 * the build and names the line. cupti_profiler_host.h wants C++'s <string>, of
 * which it uses nothing: tests/unit/abi_include has an empty one. NVML is
 * compared where nvml.h lies beside the CUDA headers. Single-threaded.
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

#include "libintercept/cupti_profiler_abi.h"
#include "libintercept/nvml_abi.h"

#if __has_include(<nvml.h>)
#include <nvml.h>
#define HAVE_NVML 1
#else
#define HAVE_NVML 0
#endif

#if CUPTI_API_VERSION >= WTCUPTI_API_VERSION_CUDA_13_0
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#define SAME_SIZE(ours, theirs) _Static_assert(sizeof(ours) == sizeof(theirs), #theirs)
/* What the vendor's macro gives for struct_size. */
#define SAME_BYTES(ours, theirs)                                                                   \
	_Static_assert((ours) == theirs##_STRUCT_SIZE, #theirs "_STRUCT_SIZE")
#define SAME_FIELD(ours, member, theirs, their_member)                                             \
	_Static_assert(offsetof(ours, member) == offsetof(theirs, their_member) &&                 \
	                       sizeof(((ours *)0)->member) == sizeof(((theirs *)0)->their_member), \
	               #theirs "." #their_member)
#define SAME_VALUE(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
/* The call exists, by that name. */
#define SAME_CALL(ours, theirs) _Static_assert(sizeof(ours) == sizeof(&theirs), #theirs)

SAME_SIZE(struct wtcupti_device_get_chip_name, CUpti_Device_GetChipName_Params);
SAME_BYTES(WTCUPTI_DEVICE_GET_CHIP_NAME_BYTES, CUpti_Device_GetChipName_Params);
SAME_CALL(wtcupti_device_get_chip_name_fn, cuptiDeviceGetChipName);
SAME_FIELD(struct wtcupti_device_get_chip_name, struct_size, CUpti_Device_GetChipName_Params,
           structSize);
SAME_FIELD(struct wtcupti_device_get_chip_name, priv, CUpti_Device_GetChipName_Params, pPriv);
SAME_FIELD(struct wtcupti_device_get_chip_name, device_index, CUpti_Device_GetChipName_Params,
           deviceIndex);
SAME_FIELD(struct wtcupti_device_get_chip_name, chip_name, CUpti_Device_GetChipName_Params,
           pChipName);
SAME_SIZE(struct wtcupti_profiler_initialize, CUpti_Profiler_Initialize_Params);
SAME_BYTES(WTCUPTI_PROFILER_INITIALIZE_BYTES, CUpti_Profiler_Initialize_Params);
SAME_CALL(wtcupti_profiler_initialize_fn, cuptiProfilerInitialize);
SAME_FIELD(struct wtcupti_profiler_initialize, struct_size, CUpti_Profiler_Initialize_Params,
           structSize);
SAME_FIELD(struct wtcupti_profiler_initialize, priv, CUpti_Profiler_Initialize_Params, pPriv);
SAME_SIZE(struct wtcupti_profiler_deinitialize, CUpti_Profiler_DeInitialize_Params);
SAME_BYTES(WTCUPTI_PROFILER_DEINITIALIZE_BYTES, CUpti_Profiler_DeInitialize_Params);
SAME_CALL(wtcupti_profiler_deinitialize_fn, cuptiProfilerDeInitialize);
SAME_FIELD(struct wtcupti_profiler_deinitialize, struct_size, CUpti_Profiler_DeInitialize_Params,
           structSize);
SAME_FIELD(struct wtcupti_profiler_deinitialize, priv, CUpti_Profiler_DeInitialize_Params, pPriv);
SAME_SIZE(struct wtcupti_profiler_get_counter_availability,
          CUpti_Profiler_GetCounterAvailability_Params);
SAME_BYTES(WTCUPTI_PROFILER_GET_COUNTER_AVAILABILITY_BYTES,
           CUpti_Profiler_GetCounterAvailability_Params);
SAME_CALL(wtcupti_profiler_get_counter_availability_fn, cuptiProfilerGetCounterAvailability);
SAME_FIELD(struct wtcupti_profiler_get_counter_availability, struct_size,
           CUpti_Profiler_GetCounterAvailability_Params, structSize);
SAME_FIELD(struct wtcupti_profiler_get_counter_availability, priv,
           CUpti_Profiler_GetCounterAvailability_Params, pPriv);
SAME_FIELD(struct wtcupti_profiler_get_counter_availability, context,
           CUpti_Profiler_GetCounterAvailability_Params, ctx);
SAME_FIELD(struct wtcupti_profiler_get_counter_availability, image_bytes,
           CUpti_Profiler_GetCounterAvailability_Params, counterAvailabilityImageSize);
SAME_FIELD(struct wtcupti_profiler_get_counter_availability, image,
           CUpti_Profiler_GetCounterAvailability_Params, pCounterAvailabilityImage);
SAME_SIZE(struct wtcupti_profiler_device_supported, CUpti_Profiler_DeviceSupported_Params);
SAME_BYTES(WTCUPTI_PROFILER_DEVICE_SUPPORTED_BYTES, CUpti_Profiler_DeviceSupported_Params);
SAME_CALL(wtcupti_profiler_device_supported_fn, cuptiProfilerDeviceSupported);
SAME_FIELD(struct wtcupti_profiler_device_supported, struct_size,
           CUpti_Profiler_DeviceSupported_Params, structSize);
SAME_FIELD(struct wtcupti_profiler_device_supported, priv, CUpti_Profiler_DeviceSupported_Params,
           pPriv);
SAME_FIELD(struct wtcupti_profiler_device_supported, device, CUpti_Profiler_DeviceSupported_Params,
           cuDevice);
SAME_FIELD(struct wtcupti_profiler_device_supported, is_supported,
           CUpti_Profiler_DeviceSupported_Params, isSupported);
SAME_FIELD(struct wtcupti_profiler_device_supported, architecture,
           CUpti_Profiler_DeviceSupported_Params, architecture);
SAME_FIELD(struct wtcupti_profiler_device_supported, sli, CUpti_Profiler_DeviceSupported_Params,
           sli);
SAME_FIELD(struct wtcupti_profiler_device_supported, vgpu, CUpti_Profiler_DeviceSupported_Params,
           vGpu);
SAME_FIELD(struct wtcupti_profiler_device_supported, confidential_compute,
           CUpti_Profiler_DeviceSupported_Params, confidentialCompute);
SAME_FIELD(struct wtcupti_profiler_device_supported, cmp, CUpti_Profiler_DeviceSupported_Params,
           cmp);
SAME_FIELD(struct wtcupti_profiler_device_supported, wsl, CUpti_Profiler_DeviceSupported_Params,
           wsl);
SAME_FIELD(struct wtcupti_profiler_device_supported, api, CUpti_Profiler_DeviceSupported_Params,
           api);
SAME_SIZE(struct wtcupti_host_initialize, CUpti_Profiler_Host_Initialize_Params);
SAME_BYTES(WTCUPTI_HOST_INITIALIZE_BYTES, CUpti_Profiler_Host_Initialize_Params);
SAME_CALL(wtcupti_host_initialize_fn, cuptiProfilerHostInitialize);
SAME_FIELD(struct wtcupti_host_initialize, struct_size, CUpti_Profiler_Host_Initialize_Params,
           structSize);
SAME_FIELD(struct wtcupti_host_initialize, priv, CUpti_Profiler_Host_Initialize_Params, pPriv);
SAME_FIELD(struct wtcupti_host_initialize, profiler_type, CUpti_Profiler_Host_Initialize_Params,
           profilerType);
SAME_FIELD(struct wtcupti_host_initialize, chip_name, CUpti_Profiler_Host_Initialize_Params,
           pChipName);
SAME_FIELD(struct wtcupti_host_initialize, availability_image,
           CUpti_Profiler_Host_Initialize_Params, pCounterAvailabilityImage);
SAME_FIELD(struct wtcupti_host_initialize, object, CUpti_Profiler_Host_Initialize_Params,
           pHostObject);
SAME_SIZE(struct wtcupti_host_deinitialize, CUpti_Profiler_Host_Deinitialize_Params);
SAME_BYTES(WTCUPTI_HOST_DEINITIALIZE_BYTES, CUpti_Profiler_Host_Deinitialize_Params);
SAME_CALL(wtcupti_host_deinitialize_fn, cuptiProfilerHostDeinitialize);
SAME_FIELD(struct wtcupti_host_deinitialize, struct_size, CUpti_Profiler_Host_Deinitialize_Params,
           structSize);
SAME_FIELD(struct wtcupti_host_deinitialize, priv, CUpti_Profiler_Host_Deinitialize_Params, pPriv);
SAME_FIELD(struct wtcupti_host_deinitialize, object, CUpti_Profiler_Host_Deinitialize_Params,
           pHostObject);
SAME_SIZE(struct wtcupti_host_get_base_metrics, CUpti_Profiler_Host_GetBaseMetrics_Params);
SAME_BYTES(WTCUPTI_HOST_GET_BASE_METRICS_BYTES, CUpti_Profiler_Host_GetBaseMetrics_Params);
SAME_CALL(wtcupti_host_get_base_metrics_fn, cuptiProfilerHostGetBaseMetrics);
SAME_FIELD(struct wtcupti_host_get_base_metrics, struct_size,
           CUpti_Profiler_Host_GetBaseMetrics_Params, structSize);
SAME_FIELD(struct wtcupti_host_get_base_metrics, priv, CUpti_Profiler_Host_GetBaseMetrics_Params,
           pPriv);
SAME_FIELD(struct wtcupti_host_get_base_metrics, object, CUpti_Profiler_Host_GetBaseMetrics_Params,
           pHostObject);
SAME_FIELD(struct wtcupti_host_get_base_metrics, metric_type,
           CUpti_Profiler_Host_GetBaseMetrics_Params, metricType);
SAME_FIELD(struct wtcupti_host_get_base_metrics, names, CUpti_Profiler_Host_GetBaseMetrics_Params,
           ppMetricNames);
SAME_FIELD(struct wtcupti_host_get_base_metrics, count, CUpti_Profiler_Host_GetBaseMetrics_Params,
           numMetrics);
SAME_SIZE(struct wtcupti_host_get_sub_metrics, CUpti_Profiler_Host_GetSubMetrics_Params);
SAME_BYTES(WTCUPTI_HOST_GET_SUB_METRICS_BYTES, CUpti_Profiler_Host_GetSubMetrics_Params);
SAME_CALL(wtcupti_host_get_sub_metrics_fn, cuptiProfilerHostGetSubMetrics);
SAME_FIELD(struct wtcupti_host_get_sub_metrics, struct_size,
           CUpti_Profiler_Host_GetSubMetrics_Params, structSize);
SAME_FIELD(struct wtcupti_host_get_sub_metrics, priv, CUpti_Profiler_Host_GetSubMetrics_Params,
           pPriv);
SAME_FIELD(struct wtcupti_host_get_sub_metrics, object, CUpti_Profiler_Host_GetSubMetrics_Params,
           pHostObject);
SAME_FIELD(struct wtcupti_host_get_sub_metrics, metric_type,
           CUpti_Profiler_Host_GetSubMetrics_Params, metricType);
SAME_FIELD(struct wtcupti_host_get_sub_metrics, name, CUpti_Profiler_Host_GetSubMetrics_Params,
           pMetricName);
SAME_FIELD(struct wtcupti_host_get_sub_metrics, count, CUpti_Profiler_Host_GetSubMetrics_Params,
           numOfSubmetrics);
SAME_FIELD(struct wtcupti_host_get_sub_metrics, names, CUpti_Profiler_Host_GetSubMetrics_Params,
           ppSubMetrics);
SAME_SIZE(struct wtcupti_host_get_metric_properties,
          CUpti_Profiler_Host_GetMetricProperties_Params);
SAME_BYTES(WTCUPTI_HOST_GET_METRIC_PROPERTIES_BYTES,
           CUpti_Profiler_Host_GetMetricProperties_Params);
SAME_CALL(wtcupti_host_get_metric_properties_fn, cuptiProfilerHostGetMetricProperties);
SAME_FIELD(struct wtcupti_host_get_metric_properties, struct_size,
           CUpti_Profiler_Host_GetMetricProperties_Params, structSize);
SAME_FIELD(struct wtcupti_host_get_metric_properties, priv,
           CUpti_Profiler_Host_GetMetricProperties_Params, pPriv);
SAME_FIELD(struct wtcupti_host_get_metric_properties, object,
           CUpti_Profiler_Host_GetMetricProperties_Params, pHostObject);
SAME_FIELD(struct wtcupti_host_get_metric_properties, name,
           CUpti_Profiler_Host_GetMetricProperties_Params, pMetricName);
SAME_FIELD(struct wtcupti_host_get_metric_properties, description,
           CUpti_Profiler_Host_GetMetricProperties_Params, pDescription);
SAME_FIELD(struct wtcupti_host_get_metric_properties, hardware_unit,
           CUpti_Profiler_Host_GetMetricProperties_Params, pHwUnit);
SAME_FIELD(struct wtcupti_host_get_metric_properties, dimension,
           CUpti_Profiler_Host_GetMetricProperties_Params, pDimUnit);
SAME_FIELD(struct wtcupti_host_get_metric_properties, metric_type,
           CUpti_Profiler_Host_GetMetricProperties_Params, metricType);
SAME_SIZE(struct wtcupti_host_config_add_metrics, CUpti_Profiler_Host_ConfigAddMetrics_Params);
SAME_BYTES(WTCUPTI_HOST_CONFIG_ADD_METRICS_BYTES, CUpti_Profiler_Host_ConfigAddMetrics_Params);
SAME_CALL(wtcupti_host_config_add_metrics_fn, cuptiProfilerHostConfigAddMetrics);
SAME_FIELD(struct wtcupti_host_config_add_metrics, struct_size,
           CUpti_Profiler_Host_ConfigAddMetrics_Params, structSize);
SAME_FIELD(struct wtcupti_host_config_add_metrics, priv,
           CUpti_Profiler_Host_ConfigAddMetrics_Params, pPriv);
SAME_FIELD(struct wtcupti_host_config_add_metrics, object,
           CUpti_Profiler_Host_ConfigAddMetrics_Params, pHostObject);
SAME_FIELD(struct wtcupti_host_config_add_metrics, names,
           CUpti_Profiler_Host_ConfigAddMetrics_Params, ppMetricNames);
SAME_FIELD(struct wtcupti_host_config_add_metrics, count,
           CUpti_Profiler_Host_ConfigAddMetrics_Params, numMetrics);
SAME_SIZE(struct wtcupti_host_get_config_image_size, CUpti_Profiler_Host_GetConfigImageSize_Params);
SAME_BYTES(WTCUPTI_HOST_GET_CONFIG_IMAGE_SIZE_BYTES, CUpti_Profiler_Host_GetConfigImageSize_Params);
SAME_CALL(wtcupti_host_get_config_image_size_fn, cuptiProfilerHostGetConfigImageSize);
SAME_FIELD(struct wtcupti_host_get_config_image_size, struct_size,
           CUpti_Profiler_Host_GetConfigImageSize_Params, structSize);
SAME_FIELD(struct wtcupti_host_get_config_image_size, priv,
           CUpti_Profiler_Host_GetConfigImageSize_Params, pPriv);
SAME_FIELD(struct wtcupti_host_get_config_image_size, object,
           CUpti_Profiler_Host_GetConfigImageSize_Params, pHostObject);
SAME_FIELD(struct wtcupti_host_get_config_image_size, image_bytes,
           CUpti_Profiler_Host_GetConfigImageSize_Params, configImageSize);
SAME_SIZE(struct wtcupti_host_get_config_image, CUpti_Profiler_Host_GetConfigImage_Params);
SAME_BYTES(WTCUPTI_HOST_GET_CONFIG_IMAGE_BYTES, CUpti_Profiler_Host_GetConfigImage_Params);
SAME_CALL(wtcupti_host_get_config_image_fn, cuptiProfilerHostGetConfigImage);
SAME_FIELD(struct wtcupti_host_get_config_image, struct_size,
           CUpti_Profiler_Host_GetConfigImage_Params, structSize);
SAME_FIELD(struct wtcupti_host_get_config_image, priv, CUpti_Profiler_Host_GetConfigImage_Params,
           pPriv);
SAME_FIELD(struct wtcupti_host_get_config_image, object, CUpti_Profiler_Host_GetConfigImage_Params,
           pHostObject);
SAME_FIELD(struct wtcupti_host_get_config_image, image_bytes,
           CUpti_Profiler_Host_GetConfigImage_Params, configImageSize);
SAME_FIELD(struct wtcupti_host_get_config_image, image, CUpti_Profiler_Host_GetConfigImage_Params,
           pConfigImage);
SAME_SIZE(struct wtcupti_host_get_num_of_passes, CUpti_Profiler_Host_GetNumOfPasses_Params);
SAME_BYTES(WTCUPTI_HOST_GET_NUM_OF_PASSES_BYTES, CUpti_Profiler_Host_GetNumOfPasses_Params);
SAME_CALL(wtcupti_host_get_num_of_passes_fn, cuptiProfilerHostGetNumOfPasses);
SAME_FIELD(struct wtcupti_host_get_num_of_passes, struct_size,
           CUpti_Profiler_Host_GetNumOfPasses_Params, structSize);
SAME_FIELD(struct wtcupti_host_get_num_of_passes, priv, CUpti_Profiler_Host_GetNumOfPasses_Params,
           pPriv);
SAME_FIELD(struct wtcupti_host_get_num_of_passes, image_bytes,
           CUpti_Profiler_Host_GetNumOfPasses_Params, configImageSize);
SAME_FIELD(struct wtcupti_host_get_num_of_passes, image, CUpti_Profiler_Host_GetNumOfPasses_Params,
           pConfigImage);
SAME_FIELD(struct wtcupti_host_get_num_of_passes, passes, CUpti_Profiler_Host_GetNumOfPasses_Params,
           numOfPasses);
SAME_SIZE(struct wtcupti_host_evaluate_to_gpu_values,
          CUpti_Profiler_Host_EvaluateToGpuValues_Params);
SAME_BYTES(WTCUPTI_HOST_EVALUATE_TO_GPU_VALUES_BYTES,
           CUpti_Profiler_Host_EvaluateToGpuValues_Params);
SAME_CALL(wtcupti_host_evaluate_to_gpu_values_fn, cuptiProfilerHostEvaluateToGpuValues);
SAME_FIELD(struct wtcupti_host_evaluate_to_gpu_values, struct_size,
           CUpti_Profiler_Host_EvaluateToGpuValues_Params, structSize);
SAME_FIELD(struct wtcupti_host_evaluate_to_gpu_values, priv,
           CUpti_Profiler_Host_EvaluateToGpuValues_Params, pPriv);
SAME_FIELD(struct wtcupti_host_evaluate_to_gpu_values, object,
           CUpti_Profiler_Host_EvaluateToGpuValues_Params, pHostObject);
SAME_FIELD(struct wtcupti_host_evaluate_to_gpu_values, image,
           CUpti_Profiler_Host_EvaluateToGpuValues_Params, pCounterDataImage);
SAME_FIELD(struct wtcupti_host_evaluate_to_gpu_values, image_bytes,
           CUpti_Profiler_Host_EvaluateToGpuValues_Params, counterDataImageSize);
SAME_FIELD(struct wtcupti_host_evaluate_to_gpu_values, index,
           CUpti_Profiler_Host_EvaluateToGpuValues_Params, rangeIndex);
SAME_FIELD(struct wtcupti_host_evaluate_to_gpu_values, names,
           CUpti_Profiler_Host_EvaluateToGpuValues_Params, ppMetricNames);
SAME_FIELD(struct wtcupti_host_evaluate_to_gpu_values, count,
           CUpti_Profiler_Host_EvaluateToGpuValues_Params, numMetrics);
SAME_FIELD(struct wtcupti_host_evaluate_to_gpu_values, values,
           CUpti_Profiler_Host_EvaluateToGpuValues_Params, pMetricValues);
SAME_SIZE(struct wtcupti_pm_enable, CUpti_PmSampling_Enable_Params);
SAME_BYTES(WTCUPTI_PM_ENABLE_BYTES, CUpti_PmSampling_Enable_Params);
SAME_CALL(wtcupti_pm_enable_fn, cuptiPmSamplingEnable);
SAME_FIELD(struct wtcupti_pm_enable, struct_size, CUpti_PmSampling_Enable_Params, structSize);
SAME_FIELD(struct wtcupti_pm_enable, priv, CUpti_PmSampling_Enable_Params, pPriv);
SAME_FIELD(struct wtcupti_pm_enable, device_index, CUpti_PmSampling_Enable_Params, deviceIndex);
SAME_FIELD(struct wtcupti_pm_enable, object, CUpti_PmSampling_Enable_Params, pPmSamplingObject);
SAME_SIZE(struct wtcupti_pm_disable, CUpti_PmSampling_Disable_Params);
SAME_BYTES(WTCUPTI_PM_DISABLE_BYTES, CUpti_PmSampling_Disable_Params);
SAME_CALL(wtcupti_pm_disable_fn, cuptiPmSamplingDisable);
SAME_FIELD(struct wtcupti_pm_disable, struct_size, CUpti_PmSampling_Disable_Params, structSize);
SAME_FIELD(struct wtcupti_pm_disable, priv, CUpti_PmSampling_Disable_Params, pPriv);
SAME_FIELD(struct wtcupti_pm_disable, object, CUpti_PmSampling_Disable_Params, pPmSamplingObject);
SAME_SIZE(struct wtcupti_pm_set_config, CUpti_PmSampling_SetConfig_Params);
SAME_BYTES(WTCUPTI_PM_SET_CONFIG_BYTES, CUpti_PmSampling_SetConfig_Params);
SAME_CALL(wtcupti_pm_set_config_fn, cuptiPmSamplingSetConfig);
SAME_FIELD(struct wtcupti_pm_set_config, struct_size, CUpti_PmSampling_SetConfig_Params,
           structSize);
SAME_FIELD(struct wtcupti_pm_set_config, priv, CUpti_PmSampling_SetConfig_Params, pPriv);
SAME_FIELD(struct wtcupti_pm_set_config, object, CUpti_PmSampling_SetConfig_Params,
           pPmSamplingObject);
SAME_FIELD(struct wtcupti_pm_set_config, config_bytes, CUpti_PmSampling_SetConfig_Params,
           configSize);
SAME_FIELD(struct wtcupti_pm_set_config, config, CUpti_PmSampling_SetConfig_Params, pConfig);
SAME_FIELD(struct wtcupti_pm_set_config, hardware_buffer_bytes, CUpti_PmSampling_SetConfig_Params,
           hardwareBufferSize);
SAME_FIELD(struct wtcupti_pm_set_config, interval, CUpti_PmSampling_SetConfig_Params,
           samplingInterval);
SAME_FIELD(struct wtcupti_pm_set_config, trigger_mode, CUpti_PmSampling_SetConfig_Params,
           triggerMode);
SAME_FIELD(struct wtcupti_pm_set_config, append_mode, CUpti_PmSampling_SetConfig_Params,
           hwBufferAppendMode);
SAME_SIZE(struct wtcupti_pm_start, CUpti_PmSampling_Start_Params);
SAME_BYTES(WTCUPTI_PM_START_BYTES, CUpti_PmSampling_Start_Params);
SAME_CALL(wtcupti_pm_start_fn, cuptiPmSamplingStart);
SAME_FIELD(struct wtcupti_pm_start, struct_size, CUpti_PmSampling_Start_Params, structSize);
SAME_FIELD(struct wtcupti_pm_start, priv, CUpti_PmSampling_Start_Params, pPriv);
SAME_FIELD(struct wtcupti_pm_start, object, CUpti_PmSampling_Start_Params, pPmSamplingObject);
SAME_SIZE(struct wtcupti_pm_stop, CUpti_PmSampling_Stop_Params);
SAME_BYTES(WTCUPTI_PM_STOP_BYTES, CUpti_PmSampling_Stop_Params);
SAME_CALL(wtcupti_pm_stop_fn, cuptiPmSamplingStop);
SAME_FIELD(struct wtcupti_pm_stop, struct_size, CUpti_PmSampling_Stop_Params, structSize);
SAME_FIELD(struct wtcupti_pm_stop, priv, CUpti_PmSampling_Stop_Params, pPriv);
SAME_FIELD(struct wtcupti_pm_stop, object, CUpti_PmSampling_Stop_Params, pPmSamplingObject);
SAME_SIZE(struct wtcupti_pm_decode_data, CUpti_PmSampling_DecodeData_Params);
SAME_BYTES(WTCUPTI_PM_DECODE_DATA_BYTES, CUpti_PmSampling_DecodeData_Params);
SAME_CALL(wtcupti_pm_decode_data_fn, cuptiPmSamplingDecodeData);
SAME_FIELD(struct wtcupti_pm_decode_data, struct_size, CUpti_PmSampling_DecodeData_Params,
           structSize);
SAME_FIELD(struct wtcupti_pm_decode_data, priv, CUpti_PmSampling_DecodeData_Params, pPriv);
SAME_FIELD(struct wtcupti_pm_decode_data, object, CUpti_PmSampling_DecodeData_Params,
           pPmSamplingObject);
SAME_FIELD(struct wtcupti_pm_decode_data, image, CUpti_PmSampling_DecodeData_Params,
           pCounterDataImage);
SAME_FIELD(struct wtcupti_pm_decode_data, image_bytes, CUpti_PmSampling_DecodeData_Params,
           counterDataImageSize);
SAME_FIELD(struct wtcupti_pm_decode_data, stop_reason, CUpti_PmSampling_DecodeData_Params,
           decodeStopReason);
SAME_FIELD(struct wtcupti_pm_decode_data, overflow, CUpti_PmSampling_DecodeData_Params, overflow);
SAME_SIZE(struct wtcupti_pm_get_counter_availability,
          CUpti_PmSampling_GetCounterAvailability_Params);
SAME_BYTES(WTCUPTI_PM_GET_COUNTER_AVAILABILITY_BYTES,
           CUpti_PmSampling_GetCounterAvailability_Params);
SAME_CALL(wtcupti_pm_get_counter_availability_fn, cuptiPmSamplingGetCounterAvailability);
SAME_FIELD(struct wtcupti_pm_get_counter_availability, struct_size,
           CUpti_PmSampling_GetCounterAvailability_Params, structSize);
SAME_FIELD(struct wtcupti_pm_get_counter_availability, priv,
           CUpti_PmSampling_GetCounterAvailability_Params, pPriv);
SAME_FIELD(struct wtcupti_pm_get_counter_availability, device_index,
           CUpti_PmSampling_GetCounterAvailability_Params, deviceIndex);
SAME_FIELD(struct wtcupti_pm_get_counter_availability, image_bytes,
           CUpti_PmSampling_GetCounterAvailability_Params, counterAvailabilityImageSize);
SAME_FIELD(struct wtcupti_pm_get_counter_availability, image,
           CUpti_PmSampling_GetCounterAvailability_Params, pCounterAvailabilityImage);
SAME_SIZE(struct wtcupti_pm_get_counter_data_size, CUpti_PmSampling_GetCounterDataSize_Params);
SAME_BYTES(WTCUPTI_PM_GET_COUNTER_DATA_SIZE_BYTES, CUpti_PmSampling_GetCounterDataSize_Params);
SAME_CALL(wtcupti_pm_get_counter_data_size_fn, cuptiPmSamplingGetCounterDataSize);
SAME_FIELD(struct wtcupti_pm_get_counter_data_size, struct_size,
           CUpti_PmSampling_GetCounterDataSize_Params, structSize);
SAME_FIELD(struct wtcupti_pm_get_counter_data_size, priv,
           CUpti_PmSampling_GetCounterDataSize_Params, pPriv);
SAME_FIELD(struct wtcupti_pm_get_counter_data_size, object,
           CUpti_PmSampling_GetCounterDataSize_Params, pPmSamplingObject);
SAME_FIELD(struct wtcupti_pm_get_counter_data_size, names,
           CUpti_PmSampling_GetCounterDataSize_Params, pMetricNames);
SAME_FIELD(struct wtcupti_pm_get_counter_data_size, count,
           CUpti_PmSampling_GetCounterDataSize_Params, numMetrics);
SAME_FIELD(struct wtcupti_pm_get_counter_data_size, max_samples,
           CUpti_PmSampling_GetCounterDataSize_Params, maxSamples);
SAME_FIELD(struct wtcupti_pm_get_counter_data_size, image_bytes,
           CUpti_PmSampling_GetCounterDataSize_Params, counterDataSize);
SAME_SIZE(struct wtcupti_pm_counter_data_image_initialize,
          CUpti_PmSampling_CounterDataImage_Initialize_Params);
SAME_BYTES(WTCUPTI_PM_COUNTER_DATA_IMAGE_INITIALIZE_BYTES,
           CUpti_PmSampling_CounterDataImage_Initialize_Params);
SAME_CALL(wtcupti_pm_counter_data_image_initialize_fn, cuptiPmSamplingCounterDataImageInitialize);
SAME_FIELD(struct wtcupti_pm_counter_data_image_initialize, struct_size,
           CUpti_PmSampling_CounterDataImage_Initialize_Params, structSize);
SAME_FIELD(struct wtcupti_pm_counter_data_image_initialize, priv,
           CUpti_PmSampling_CounterDataImage_Initialize_Params, pPriv);
SAME_FIELD(struct wtcupti_pm_counter_data_image_initialize, object,
           CUpti_PmSampling_CounterDataImage_Initialize_Params, pPmSamplingObject);
SAME_FIELD(struct wtcupti_pm_counter_data_image_initialize, image_bytes,
           CUpti_PmSampling_CounterDataImage_Initialize_Params, counterDataSize);
SAME_FIELD(struct wtcupti_pm_counter_data_image_initialize, image,
           CUpti_PmSampling_CounterDataImage_Initialize_Params, pCounterData);
SAME_SIZE(struct wtcupti_pm_get_counter_data_info, CUpti_PmSampling_GetCounterDataInfo_Params);
SAME_BYTES(WTCUPTI_PM_GET_COUNTER_DATA_INFO_BYTES, CUpti_PmSampling_GetCounterDataInfo_Params);
SAME_CALL(wtcupti_pm_get_counter_data_info_fn, cuptiPmSamplingGetCounterDataInfo);
SAME_FIELD(struct wtcupti_pm_get_counter_data_info, struct_size,
           CUpti_PmSampling_GetCounterDataInfo_Params, structSize);
SAME_FIELD(struct wtcupti_pm_get_counter_data_info, priv,
           CUpti_PmSampling_GetCounterDataInfo_Params, pPriv);
SAME_FIELD(struct wtcupti_pm_get_counter_data_info, image,
           CUpti_PmSampling_GetCounterDataInfo_Params, pCounterDataImage);
SAME_FIELD(struct wtcupti_pm_get_counter_data_info, image_bytes,
           CUpti_PmSampling_GetCounterDataInfo_Params, counterDataImageSize);
SAME_FIELD(struct wtcupti_pm_get_counter_data_info, total_samples,
           CUpti_PmSampling_GetCounterDataInfo_Params, numTotalSamples);
SAME_FIELD(struct wtcupti_pm_get_counter_data_info, populated_samples,
           CUpti_PmSampling_GetCounterDataInfo_Params, numPopulatedSamples);
SAME_FIELD(struct wtcupti_pm_get_counter_data_info, completed_samples,
           CUpti_PmSampling_GetCounterDataInfo_Params, numCompletedSamples);
SAME_SIZE(struct wtcupti_pm_get_sample_info, CUpti_PmSampling_CounterData_GetSampleInfo_Params);
SAME_BYTES(WTCUPTI_PM_GET_SAMPLE_INFO_BYTES, CUpti_PmSampling_CounterData_GetSampleInfo_Params);
SAME_CALL(wtcupti_pm_get_sample_info_fn, cuptiPmSamplingCounterDataGetSampleInfo);
SAME_FIELD(struct wtcupti_pm_get_sample_info, struct_size,
           CUpti_PmSampling_CounterData_GetSampleInfo_Params, structSize);
SAME_FIELD(struct wtcupti_pm_get_sample_info, priv,
           CUpti_PmSampling_CounterData_GetSampleInfo_Params, pPriv);
SAME_FIELD(struct wtcupti_pm_get_sample_info, object,
           CUpti_PmSampling_CounterData_GetSampleInfo_Params, pPmSamplingObject);
SAME_FIELD(struct wtcupti_pm_get_sample_info, image,
           CUpti_PmSampling_CounterData_GetSampleInfo_Params, pCounterDataImage);
SAME_FIELD(struct wtcupti_pm_get_sample_info, image_bytes,
           CUpti_PmSampling_CounterData_GetSampleInfo_Params, counterDataImageSize);
SAME_FIELD(struct wtcupti_pm_get_sample_info, index,
           CUpti_PmSampling_CounterData_GetSampleInfo_Params, sampleIndex);
SAME_FIELD(struct wtcupti_pm_get_sample_info, start,
           CUpti_PmSampling_CounterData_GetSampleInfo_Params, startTimestamp);
SAME_FIELD(struct wtcupti_pm_get_sample_info, end,
           CUpti_PmSampling_CounterData_GetSampleInfo_Params, endTimestamp);
SAME_SIZE(struct wtcupti_range_enable, CUpti_RangeProfiler_Enable_Params);
SAME_BYTES(WTCUPTI_RANGE_ENABLE_BYTES, CUpti_RangeProfiler_Enable_Params);
SAME_CALL(wtcupti_range_enable_fn, cuptiRangeProfilerEnable);
SAME_FIELD(struct wtcupti_range_enable, struct_size, CUpti_RangeProfiler_Enable_Params, structSize);
SAME_FIELD(struct wtcupti_range_enable, priv, CUpti_RangeProfiler_Enable_Params, pPriv);
SAME_FIELD(struct wtcupti_range_enable, context, CUpti_RangeProfiler_Enable_Params, ctx);
SAME_FIELD(struct wtcupti_range_enable, object, CUpti_RangeProfiler_Enable_Params,
           pRangeProfilerObject);
SAME_SIZE(struct wtcupti_range_disable, CUpti_RangeProfiler_Disable_Params);
SAME_BYTES(WTCUPTI_RANGE_DISABLE_BYTES, CUpti_RangeProfiler_Disable_Params);
SAME_CALL(wtcupti_range_disable_fn, cuptiRangeProfilerDisable);
SAME_FIELD(struct wtcupti_range_disable, struct_size, CUpti_RangeProfiler_Disable_Params,
           structSize);
SAME_FIELD(struct wtcupti_range_disable, priv, CUpti_RangeProfiler_Disable_Params, pPriv);
SAME_FIELD(struct wtcupti_range_disable, object, CUpti_RangeProfiler_Disable_Params,
           pRangeProfilerObject);
SAME_SIZE(struct wtcupti_range_set_config, CUpti_RangeProfiler_SetConfig_Params);
SAME_BYTES(WTCUPTI_RANGE_SET_CONFIG_BYTES, CUpti_RangeProfiler_SetConfig_Params);
SAME_CALL(wtcupti_range_set_config_fn, cuptiRangeProfilerSetConfig);
SAME_FIELD(struct wtcupti_range_set_config, struct_size, CUpti_RangeProfiler_SetConfig_Params,
           structSize);
SAME_FIELD(struct wtcupti_range_set_config, priv, CUpti_RangeProfiler_SetConfig_Params, pPriv);
SAME_FIELD(struct wtcupti_range_set_config, object, CUpti_RangeProfiler_SetConfig_Params,
           pRangeProfilerObject);
SAME_FIELD(struct wtcupti_range_set_config, config_bytes, CUpti_RangeProfiler_SetConfig_Params,
           configSize);
SAME_FIELD(struct wtcupti_range_set_config, config, CUpti_RangeProfiler_SetConfig_Params, pConfig);
SAME_FIELD(struct wtcupti_range_set_config, image_bytes, CUpti_RangeProfiler_SetConfig_Params,
           counterDataImageSize);
SAME_FIELD(struct wtcupti_range_set_config, image, CUpti_RangeProfiler_SetConfig_Params,
           pCounterDataImage);
SAME_FIELD(struct wtcupti_range_set_config, range_mode, CUpti_RangeProfiler_SetConfig_Params,
           range);
SAME_FIELD(struct wtcupti_range_set_config, replay_mode, CUpti_RangeProfiler_SetConfig_Params,
           replayMode);
SAME_FIELD(struct wtcupti_range_set_config, max_ranges_per_pass,
           CUpti_RangeProfiler_SetConfig_Params, maxRangesPerPass);
SAME_FIELD(struct wtcupti_range_set_config, nesting_levels, CUpti_RangeProfiler_SetConfig_Params,
           numNestingLevels);
SAME_FIELD(struct wtcupti_range_set_config, min_nesting_level, CUpti_RangeProfiler_SetConfig_Params,
           minNestingLevel);
SAME_FIELD(struct wtcupti_range_set_config, pass_index, CUpti_RangeProfiler_SetConfig_Params,
           passIndex);
SAME_FIELD(struct wtcupti_range_set_config, target_nesting_level,
           CUpti_RangeProfiler_SetConfig_Params, targetNestingLevel);
SAME_SIZE(struct wtcupti_range_start, CUpti_RangeProfiler_Start_Params);
SAME_BYTES(WTCUPTI_RANGE_START_BYTES, CUpti_RangeProfiler_Start_Params);
SAME_CALL(wtcupti_range_start_fn, cuptiRangeProfilerStart);
SAME_FIELD(struct wtcupti_range_start, struct_size, CUpti_RangeProfiler_Start_Params, structSize);
SAME_FIELD(struct wtcupti_range_start, priv, CUpti_RangeProfiler_Start_Params, pPriv);
SAME_FIELD(struct wtcupti_range_start, object, CUpti_RangeProfiler_Start_Params,
           pRangeProfilerObject);
SAME_SIZE(struct wtcupti_range_stop, CUpti_RangeProfiler_Stop_Params);
SAME_BYTES(WTCUPTI_RANGE_STOP_BYTES, CUpti_RangeProfiler_Stop_Params);
SAME_CALL(wtcupti_range_stop_fn, cuptiRangeProfilerStop);
SAME_FIELD(struct wtcupti_range_stop, struct_size, CUpti_RangeProfiler_Stop_Params, structSize);
SAME_FIELD(struct wtcupti_range_stop, priv, CUpti_RangeProfiler_Stop_Params, pPriv);
SAME_FIELD(struct wtcupti_range_stop, object, CUpti_RangeProfiler_Stop_Params,
           pRangeProfilerObject);
SAME_FIELD(struct wtcupti_range_stop, pass_index, CUpti_RangeProfiler_Stop_Params, passIndex);
SAME_FIELD(struct wtcupti_range_stop, target_nesting_level, CUpti_RangeProfiler_Stop_Params,
           targetNestingLevel);
SAME_FIELD(struct wtcupti_range_stop, all_passes_submitted, CUpti_RangeProfiler_Stop_Params,
           isAllPassSubmitted);
SAME_SIZE(struct wtcupti_range_push, CUpti_RangeProfiler_PushRange_Params);
SAME_BYTES(WTCUPTI_RANGE_PUSH_BYTES, CUpti_RangeProfiler_PushRange_Params);
SAME_CALL(wtcupti_range_push_fn, cuptiRangeProfilerPushRange);
SAME_FIELD(struct wtcupti_range_push, struct_size, CUpti_RangeProfiler_PushRange_Params,
           structSize);
SAME_FIELD(struct wtcupti_range_push, priv, CUpti_RangeProfiler_PushRange_Params, pPriv);
SAME_FIELD(struct wtcupti_range_push, object, CUpti_RangeProfiler_PushRange_Params,
           pRangeProfilerObject);
SAME_FIELD(struct wtcupti_range_push, name, CUpti_RangeProfiler_PushRange_Params, pRangeName);
SAME_SIZE(struct wtcupti_range_pop, CUpti_RangeProfiler_PopRange_Params);
SAME_BYTES(WTCUPTI_RANGE_POP_BYTES, CUpti_RangeProfiler_PopRange_Params);
SAME_CALL(wtcupti_range_pop_fn, cuptiRangeProfilerPopRange);
SAME_FIELD(struct wtcupti_range_pop, struct_size, CUpti_RangeProfiler_PopRange_Params, structSize);
SAME_FIELD(struct wtcupti_range_pop, priv, CUpti_RangeProfiler_PopRange_Params, pPriv);
SAME_FIELD(struct wtcupti_range_pop, object, CUpti_RangeProfiler_PopRange_Params,
           pRangeProfilerObject);
SAME_SIZE(struct wtcupti_range_decode_data, CUpti_RangeProfiler_DecodeData_Params);
SAME_BYTES(WTCUPTI_RANGE_DECODE_DATA_BYTES, CUpti_RangeProfiler_DecodeData_Params);
SAME_CALL(wtcupti_range_decode_data_fn, cuptiRangeProfilerDecodeData);
SAME_FIELD(struct wtcupti_range_decode_data, struct_size, CUpti_RangeProfiler_DecodeData_Params,
           structSize);
SAME_FIELD(struct wtcupti_range_decode_data, priv, CUpti_RangeProfiler_DecodeData_Params, pPriv);
SAME_FIELD(struct wtcupti_range_decode_data, object, CUpti_RangeProfiler_DecodeData_Params,
           pRangeProfilerObject);
SAME_FIELD(struct wtcupti_range_decode_data, dropped_ranges, CUpti_RangeProfiler_DecodeData_Params,
           numOfRangeDropped);
SAME_SIZE(struct wtcupti_range_get_counter_data_size,
          CUpti_RangeProfiler_GetCounterDataSize_Params);
SAME_BYTES(WTCUPTI_RANGE_GET_COUNTER_DATA_SIZE_BYTES,
           CUpti_RangeProfiler_GetCounterDataSize_Params);
SAME_CALL(wtcupti_range_get_counter_data_size_fn, cuptiRangeProfilerGetCounterDataSize);
SAME_FIELD(struct wtcupti_range_get_counter_data_size, struct_size,
           CUpti_RangeProfiler_GetCounterDataSize_Params, structSize);
SAME_FIELD(struct wtcupti_range_get_counter_data_size, priv,
           CUpti_RangeProfiler_GetCounterDataSize_Params, pPriv);
SAME_FIELD(struct wtcupti_range_get_counter_data_size, object,
           CUpti_RangeProfiler_GetCounterDataSize_Params, pRangeProfilerObject);
SAME_FIELD(struct wtcupti_range_get_counter_data_size, names,
           CUpti_RangeProfiler_GetCounterDataSize_Params, pMetricNames);
SAME_FIELD(struct wtcupti_range_get_counter_data_size, count,
           CUpti_RangeProfiler_GetCounterDataSize_Params, numMetrics);
SAME_FIELD(struct wtcupti_range_get_counter_data_size, max_ranges,
           CUpti_RangeProfiler_GetCounterDataSize_Params, maxNumOfRanges);
SAME_FIELD(struct wtcupti_range_get_counter_data_size, max_tree_nodes,
           CUpti_RangeProfiler_GetCounterDataSize_Params, maxNumRangeTreeNodes);
SAME_FIELD(struct wtcupti_range_get_counter_data_size, image_bytes,
           CUpti_RangeProfiler_GetCounterDataSize_Params, counterDataSize);
SAME_SIZE(struct wtcupti_range_counter_data_image_initialize,
          CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
SAME_BYTES(WTCUPTI_RANGE_COUNTER_DATA_IMAGE_INITIALIZE_BYTES,
           CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
SAME_CALL(wtcupti_range_counter_data_image_initialize_fn,
          cuptiRangeProfilerCounterDataImageInitialize);
SAME_FIELD(struct wtcupti_range_counter_data_image_initialize, struct_size,
           CUpti_RangeProfiler_CounterDataImage_Initialize_Params, structSize);
SAME_FIELD(struct wtcupti_range_counter_data_image_initialize, priv,
           CUpti_RangeProfiler_CounterDataImage_Initialize_Params, pPriv);
SAME_FIELD(struct wtcupti_range_counter_data_image_initialize, object,
           CUpti_RangeProfiler_CounterDataImage_Initialize_Params, pRangeProfilerObject);
SAME_FIELD(struct wtcupti_range_counter_data_image_initialize, image_bytes,
           CUpti_RangeProfiler_CounterDataImage_Initialize_Params, counterDataSize);
SAME_FIELD(struct wtcupti_range_counter_data_image_initialize, image,
           CUpti_RangeProfiler_CounterDataImage_Initialize_Params, pCounterData);
SAME_SIZE(struct wtcupti_range_get_counter_data_info,
          CUpti_RangeProfiler_GetCounterDataInfo_Params);
SAME_BYTES(WTCUPTI_RANGE_GET_COUNTER_DATA_INFO_BYTES,
           CUpti_RangeProfiler_GetCounterDataInfo_Params);
SAME_CALL(wtcupti_range_get_counter_data_info_fn, cuptiRangeProfilerGetCounterDataInfo);
SAME_FIELD(struct wtcupti_range_get_counter_data_info, struct_size,
           CUpti_RangeProfiler_GetCounterDataInfo_Params, structSize);
SAME_FIELD(struct wtcupti_range_get_counter_data_info, priv,
           CUpti_RangeProfiler_GetCounterDataInfo_Params, pPriv);
SAME_FIELD(struct wtcupti_range_get_counter_data_info, image,
           CUpti_RangeProfiler_GetCounterDataInfo_Params, pCounterDataImage);
SAME_FIELD(struct wtcupti_range_get_counter_data_info, image_bytes,
           CUpti_RangeProfiler_GetCounterDataInfo_Params, counterDataImageSize);
SAME_FIELD(struct wtcupti_range_get_counter_data_info, total_ranges,
           CUpti_RangeProfiler_GetCounterDataInfo_Params, numTotalRanges);
SAME_SIZE(struct wtcupti_range_get_range_info, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params);
SAME_BYTES(WTCUPTI_RANGE_GET_RANGE_INFO_BYTES, CUpti_RangeProfiler_CounterData_GetRangeInfo_Params);
SAME_CALL(wtcupti_range_get_range_info_fn, cuptiRangeProfilerCounterDataGetRangeInfo);
SAME_FIELD(struct wtcupti_range_get_range_info, struct_size,
           CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, structSize);
SAME_FIELD(struct wtcupti_range_get_range_info, priv,
           CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, pPriv);
SAME_FIELD(struct wtcupti_range_get_range_info, image,
           CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, pCounterDataImage);
SAME_FIELD(struct wtcupti_range_get_range_info, image_bytes,
           CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, counterDataImageSize);
SAME_FIELD(struct wtcupti_range_get_range_info, index,
           CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, rangeIndex);
SAME_FIELD(struct wtcupti_range_get_range_info, delimiter,
           CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, rangeDelimiter);
SAME_FIELD(struct wtcupti_range_get_range_info, name,
           CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, rangeName);

/* ---- values ---- */
SAME_VALUE(WTCUPTI_SUPPORT_UNKNOWN, CUPTI_PROFILER_CONFIGURATION_UNKNOWN);
SAME_VALUE(WTCUPTI_SUPPORT_NONE, CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED);
SAME_VALUE(WTCUPTI_SUPPORT_DISABLED, CUPTI_PROFILER_CONFIGURATION_DISABLED);
SAME_VALUE(WTCUPTI_SUPPORT_YES, CUPTI_PROFILER_CONFIGURATION_SUPPORTED);
SAME_VALUE(WTCUPTI_API_RANGE_PROFILING, CUPTI_PROFILER_RANGE_PROFILING);
SAME_VALUE(WTCUPTI_API_PC_SAMPLING, CUPTI_PROFILER_PC_SAMPLING);
SAME_VALUE(WTCUPTI_API_PM_SAMPLING, CUPTI_PROFILER_PM_SAMPLING);
SAME_VALUE(WTCUPTI_PROFILER_RANGE, CUPTI_PROFILER_TYPE_RANGE_PROFILER);
SAME_VALUE(WTCUPTI_PROFILER_PM_SAMPLING, CUPTI_PROFILER_TYPE_PM_SAMPLING);
SAME_VALUE(WTCUPTI_METRIC_COUNTER, CUPTI_METRIC_TYPE_COUNTER);
SAME_VALUE(WTCUPTI_METRIC_RATIO, CUPTI_METRIC_TYPE_RATIO);
SAME_VALUE(WTCUPTI_METRIC_THROUGHPUT, CUPTI_METRIC_TYPE_THROUGHPUT);
SAME_VALUE(WTCUPTI_PM_TRIGGER_SYSCLK, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL);
SAME_VALUE(WTCUPTI_PM_TRIGGER_TIME, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL);
SAME_VALUE(WTCUPTI_PM_STOP_OTHER, CUPTI_PM_SAMPLING_DECODE_STOP_REASON_OTHER);
SAME_VALUE(WTCUPTI_PM_STOP_IMAGE_FULL, CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL);
SAME_VALUE(WTCUPTI_PM_STOP_END, CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS);
SAME_VALUE(WTCUPTI_PM_KEEP_OLDEST, CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST);
SAME_VALUE(WTCUPTI_PM_KEEP_LATEST, CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_LATEST);
SAME_VALUE(WTCUPTI_RANGE_AUTO, CUPTI_AutoRange);
SAME_VALUE(WTCUPTI_RANGE_USER, CUPTI_UserRange);
SAME_VALUE(WTCUPTI_REPLAY_APPLICATION, CUPTI_ApplicationReplay);
SAME_VALUE(WTCUPTI_REPLAY_KERNEL, CUPTI_KernelReplay);
SAME_VALUE(WTCUPTI_REPLAY_USER, CUPTI_UserReplay);
SAME_VALUE(WTCUPTI_ERROR_INVALID_METRIC_NAME, CUPTI_ERROR_INVALID_METRIC_NAME);
SAME_VALUE(WTCUPTI_ERROR_INVALID_CHIP_NAME, CUPTI_ERROR_INVALID_CHIP_NAME);

#define COMPARED 1
#else
#define COMPARED 0
#endif

#if HAVE_NVML && COMPARED
#include "tests/unit/nvml_values.h"
#endif

int main(void)
{
	if (!COMPARED)
		tap_skip_all("these CUDA headers are older than 13.0, whose layouts we declare");
	ok(true, "counter interfaces: sizes, offsets and values equal those of CUPTI %d",
	   CUPTI_API_VERSION);
	ok(true, HAVE_NVML ? "NVML's equal those of nvml.h" : "NVML # SKIP no nvml.h");
	return tap_done();
}

#endif
