/*
 * nvml.c - a simulated libnvidia-ml.so.1: clocks, why they are low, power,
 * temperature and processes of the simulated devices, as the environment has
 * them (README.md).
 *
 * Any thread; nothing blocks but for WTFAKE_SLOW. Using it before nvmlInit_v2
 * or after nvmlShutdown is fatal.
 */
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "libintercept/nvml_abi.h"
#include "tests/fake/fake_common.h"

#define DEVICE_MAX 8

static _Atomic int init_count;
static int64_t init_ns;
static char handles[DEVICE_MAX]; /* their addresses are the devices */

/* Every call begins here; its scripted fault, or 0. */
static wtnvml_result enter(const char *name, _Atomic uint64_t *calls, bool needs_init)
{
	int64_t delay_ns = fake_scripted_delay_ns(name);

	if (delay_ns)
		fake_sleep_until_ns(fake_now_ns() + delay_ns);
	if (needs_init && !init_count)
		fake_die("%s without nvmlInit_v2", name);
	return fake_scripted_fault(name, ++*calls);
}

#define NVML_FN(name, needs_init, params, body)                                                    \
	FAKE_EXPORT wtnvml_result name params;                                                     \
	FAKE_EXPORT wtnvml_result name params                                                      \
	{                                                                                          \
		static _Atomic uint64_t calls;                                                     \
		wtnvml_result refused = enter(#name, &calls, needs_init);                          \
                                                                                                   \
		return refused ? refused : (body);                                                 \
	}

static void device_check(wtnvml_device device)
{
	const char *at = (const char *)device;

	if (at < handles || at >= handles + DEVICE_MAX)
		fake_die("not a device of NVML");
}

static wtnvml_result init(void)
{
	if (!init_count++)
		init_ns = fake_now_ns();
	return WTNVML_SUCCESS;
}

static wtnvml_result shut_down(void)
{
	init_count--;
	return WTNVML_SUCCESS;
}

/* UUIDs as cuda_device.c makes them. */
static wtnvml_result by_uuid(const char *uuid, wtnvml_device *ret_device)
{
	int64_t count = fake_env_i64("WTFAKE_DEVICES", 1);
	char known[48];

	if (!uuid || !ret_device)
		return WTNVML_ERROR_INVALID_ARGUMENT;
	for (int place = 0; place < count && place < DEVICE_MAX; place++) {
		snprintf(known, sizeof(known), "GPU-77746661-6b65-2d64-6576-6963652d%02x00",
		         (unsigned int)place + 1);
		if (strcmp(uuid, known))
			continue;
		*ret_device = (wtnvml_device)&handles[place];
		return WTNVML_SUCCESS;
	}
	return WTNVML_ERROR_NOT_FOUND;
}

static wtnvml_result number(wtnvml_device device, const char *variable, int64_t fallback,
                            uint32_t *ret_value)
{
	device_check(device);
	if (!ret_value)
		return WTNVML_ERROR_INVALID_ARGUMENT;
	*ret_value = (uint32_t)fake_env_i64(variable, fallback);
	return WTNVML_SUCCESS;
}

static wtnvml_result clock_info(wtnvml_device device, int clock, uint32_t *ret_mhz)
{
	if (clock == WTNVML_CLOCK_MEM)
		return number(device, "WTFAKE_NVML_MEM_MHZ", 3201, ret_mhz);
	if (clock != WTNVML_CLOCK_SM && clock != WTNVML_CLOCK_GRAPHICS)
		return WTNVML_ERROR_INVALID_ARGUMENT;
	return number(device, "WTFAKE_SM_CLOCK_MHZ", 1980, ret_mhz);
}

/* WTFAKE_NVML_REASONS=BITS, or BITS,AT_MS:BITS,...: from so long after nvmlInit_v2 on. */
static wtnvml_result reasons(wtnvml_device device, unsigned long long *ret_bits)
{
	const char *list = getenv("WTFAKE_NVML_REASONS");
	int64_t since_ms = (fake_now_ns() - init_ns) / 1000000;

	device_check(device);
	if (!ret_bits)
		return WTNVML_ERROR_INVALID_ARGUMENT;
	*ret_bits = 0;
	while (list && *list) {
		char *end;
		unsigned long long value = strtoull(list, &end, 0);
		int64_t at_ms = 0;

		if (*end == ':') {
			at_ms = (int64_t)value;
			value = strtoull(end + 1, &end, 0);
		}
		if (since_ms >= at_ms)
			*ret_bits = value;
		list = *end == ',' ? end + 1 : NULL;
	}
	return WTNVML_SUCCESS;
}

/* WTFAKE_NVML_PROCESSES=PID,...: on every device. */
static wtnvml_result processes(wtnvml_device device, uint32_t *count, struct wtnvml_process *list)
{
	const char *text = getenv("WTFAKE_NVML_PROCESSES");
	uint32_t room, found = 0;

	device_check(device);
	if (!count)
		return WTNVML_ERROR_INVALID_ARGUMENT;
	room = list ? *count : 0;
	while (text && *text) {
		char *end;
		uint32_t pid = (uint32_t)strtoul(text, &end, 10);

		if (found < room)
			list[found] = (struct wtnvml_process){.pid = pid,
			                                      .used_bytes = 1 << 30,
			                                      .gpu_instance = UINT32_MAX,
			                                      .compute_instance = UINT32_MAX};
		found++;
		text = *end == ',' ? end + 1 : NULL;
	}
	*count = found;
	return found > room ? WTNVML_ERROR_INSUFFICIENT_SIZE : WTNVML_SUCCESS;
}

NVML_FN(nvmlInit_v2, false, (void), init())
NVML_FN(nvmlShutdown, true, (void), shut_down())
NVML_FN(nvmlDeviceGetHandleByUUID, true, (const char *uuid, wtnvml_device *device),
        by_uuid(uuid, device))
NVML_FN(nvmlDeviceGetClockInfo, true, (wtnvml_device device, int clock, uint32_t *mhz),
        clock_info(device, clock, mhz))
NVML_FN(nvmlDeviceGetCurrentClocksEventReasons, true,
        (wtnvml_device device, unsigned long long *bits), reasons(device, bits))
NVML_FN(nvmlDeviceGetCurrentClocksThrottleReasons, true,
        (wtnvml_device device, unsigned long long *bits), reasons(device, bits))
NVML_FN(nvmlDeviceGetPowerUsage, true, (wtnvml_device device, uint32_t *mw),
        number(device, "WTFAKE_NVML_POWER_MW", 350000, mw))
NVML_FN(nvmlDeviceGetTemperature, true, (wtnvml_device device, int sensor, uint32_t *celsius),
        sensor ? WTNVML_ERROR_INVALID_ARGUMENT : number(device, "WTFAKE_NVML_CELSIUS", 45, celsius))
NVML_FN(nvmlDeviceGetComputeRunningProcesses_v3, true,
        (wtnvml_device device, uint32_t *count, struct wtnvml_process *list),
        processes(device, count, list))
