/*
 * nvml_abi.h - wavetap's declarations of NVML (libnvidia-ml.so.1): clocks, why
 * they are held down, power, temperature, and who computes on a device.
 *
 * As cuda_abi.h: own declarations, since the product builds without NVIDIA's
 * files and opens the library by dlopen. struct wtnvml_process is
 * nvmlProcessInfo_t as the _v3 calls have it. nvmlDeviceGetCurrentClocksEventReasons
 * is the name since CUDA 12.2, ...ThrottleReasons the one before; newer
 * libraries have both. Declarations only: no code, no threads, no I/O.
 */
#ifndef WT_NVML_ABI_H
#define WT_NVML_ABI_H

#include <stdint.h>

typedef int wtnvml_result;
typedef struct wtnvml_device_opaque *wtnvml_device;

enum {
	WTNVML_SUCCESS = 0,
	WTNVML_ERROR_UNINITIALIZED = 1,
	WTNVML_ERROR_INVALID_ARGUMENT = 2,
	WTNVML_ERROR_NOT_SUPPORTED = 3,
	WTNVML_ERROR_NO_PERMISSION = 4,
	WTNVML_ERROR_NOT_FOUND = 6,
	WTNVML_ERROR_INSUFFICIENT_SIZE = 7,
	WTNVML_ERROR_DRIVER_NOT_LOADED = 9,
	WTNVML_ERROR_GPU_IS_LOST = 15,
	WTNVML_ERROR_UNKNOWN = 999,
};

enum {
	WTNVML_CLOCK_GRAPHICS = 0,
	WTNVML_CLOCK_SM = 1,
	WTNVML_CLOCK_MEM = 2,
};

#define WTNVML_TEMPERATURE_GPU 0

/* Why clocks are not higher: bits. */
enum {
	WTNVML_REASON_IDLE = 0x1,
	WTNVML_REASON_APPLICATION_CLOCKS = 0x2, /* somebody set them */
	WTNVML_REASON_SW_POWER_CAP = 0x4,
	WTNVML_REASON_HW_SLOWDOWN = 0x8,
	WTNVML_REASON_SYNC_BOOST = 0x10,
	WTNVML_REASON_SW_THERMAL = 0x20,
	WTNVML_REASON_HW_THERMAL = 0x40,
	WTNVML_REASON_HW_POWER_BRAKE = 0x80,
	WTNVML_REASON_DISPLAY = 0x100,
};

struct wtnvml_process {
	uint32_t pid; /* in the caller's pid namespace, as far as the driver can tell */
	uint64_t used_bytes; /* all ones: not known */
	uint32_t gpu_instance; /* of MIG, else all ones */
	uint32_t compute_instance;
};

/* nvmlInit_v2, nvmlShutdown */
typedef wtnvml_result (*wtnvml_plain_fn)(void);
/* nvmlDeviceGetHandleByUUID: "GPU-" and 8-4-4-4-12 hexadecimal digits */
typedef wtnvml_result (*wtnvml_handle_by_uuid_fn)(const char *uuid, wtnvml_device *ret_device);
/* nvmlDeviceGetClockInfo: MHz */
typedef wtnvml_result (*wtnvml_clock_info_fn)(wtnvml_device device, int clock, uint32_t *ret_mhz);
/* nvmlDeviceGetCurrentClocksEventReasons, nvmlDeviceGetCurrentClocksThrottleReasons */
typedef wtnvml_result (*wtnvml_clock_reasons_fn)(wtnvml_device device,
                                                 unsigned long long *ret_bits);
/* nvmlDeviceGetPowerUsage: mW */
typedef wtnvml_result (*wtnvml_power_usage_fn)(wtnvml_device device, uint32_t *ret_mw);
/* nvmlDeviceGetTemperature: degrees Celsius */
typedef wtnvml_result (*wtnvml_temperature_fn)(wtnvml_device device, int sensor,
                                               uint32_t *ret_celsius);
/*
 * nvmlDeviceGetComputeRunningProcesses_v3: `count` is the room in, the number
 * out; WTNVML_ERROR_INSUFFICIENT_SIZE where there are more.
 */
typedef wtnvml_result (*wtnvml_processes_fn)(wtnvml_device device, uint32_t *count,
                                             struct wtnvml_process *ret_processes);

#endif /* WT_NVML_ABI_H */
