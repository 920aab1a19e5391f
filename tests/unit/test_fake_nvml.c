/*
 * test_fake_nvml.c - the simulated NVML tells what its environment says, of the
 * devices that the simulated driver has. Each case is a child process
 * (fake_case.h); checks are made here, from one thread.
 */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libintercept/nvml_abi.h"
#include "tests/tap.h"
#include "tests/unit/fake_case.h"

static wtnvml_plain_fn nvml_init, nvml_shutdown;
static wtnvml_handle_by_uuid_fn by_uuid;
static wtnvml_clock_info_fn clock_info;
static wtnvml_clock_reasons_fn reasons, reasons_old;
static wtnvml_power_usage_fn power;
static wtnvml_temperature_fn temperature;
static wtnvml_processes_fn processes;

static void bind(void)
{
	*(void **)&nvml_init = case_symbol("nvmlInit_v2");
	*(void **)&nvml_shutdown = case_symbol("nvmlShutdown");
	*(void **)&by_uuid = case_symbol("nvmlDeviceGetHandleByUUID");
	*(void **)&clock_info = case_symbol("nvmlDeviceGetClockInfo");
	*(void **)&reasons = case_symbol("nvmlDeviceGetCurrentClocksEventReasons");
	*(void **)&reasons_old = case_symbol("nvmlDeviceGetCurrentClocksThrottleReasons");
	*(void **)&power = case_symbol("nvmlDeviceGetPowerUsage");
	*(void **)&temperature = case_symbol("nvmlDeviceGetTemperature");
	*(void **)&processes = case_symbol("nvmlDeviceGetComputeRunningProcesses_v3");
}

/* As the driver names a device, as NVML wants it. */
static wtnvml_device device_of(wtcu_device ordinal)
{
	wtcu_result (*get_uuid)(struct wtcu_uuid *, wtcu_device);
	struct wtcu_uuid uuid;
	char text[64] = "GPU-";
	wtnvml_device device;
	size_t length = 4;

	*(void **)&get_uuid = case_symbol("cuDeviceGetUuid_v2");
	MUST(get_uuid(&uuid, ordinal));
	for (int i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			text[length++] = '-';
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%02x",
		                           (unsigned char)uuid.bytes[i]);
	}
	MUST(by_uuid(text, &device));
	return device;
}

static void case_all(void)
{
	struct wtnvml_process list[4];
	unsigned long long bits;
	wtnvml_device device, other;
	uint32_t value;

	bind();
	MUST(api.cuInit(0));
	MUST(nvml_init());
	device = device_of(0);
	other = device_of(1);
	found->value[0] = device != other;
	found->value[1] = by_uuid("GPU-00000000-0000-0000-0000-000000000000", &other);
	MUST(clock_info(device, WTNVML_CLOCK_SM, &value));
	found->value[2] = value;
	MUST(clock_info(device, WTNVML_CLOCK_MEM, &value));
	found->value[3] = value;
	MUST(reasons(device, &bits));
	found->value[4] = (int64_t)bits;
	MUST(power(device, &value));
	found->value[5] = value;
	MUST(temperature(device, WTNVML_TEMPERATURE_GPU, &value));
	found->value[6] = value;
	value = 1;
	found->value[7] = processes(device, &value, list);
	found->value[8] = value;
	value = 4;
	MUST(processes(device, &value, list));
	found->value[9] = list[1].pid;
	usleep(60000);
	MUST(reasons_old(device, &bits));
	found->value[10] = (int64_t)bits;
	MUST(nvml_shutdown());
}

static void case_uninitialised(void)
{
	wtnvml_device device;

	bind();
	by_uuid("GPU-", &device);
}

static void case_not_permitted(void)
{
	bind();
	found->value[0] = nvml_init();
}

int main(void)
{
	struct case_found got = {0};
	int status;

	is_i64(case_run("WTFAKE_DEVICES=2 WTFAKE_SM_CLOCK_MHZ=1200 WTFAKE_NVML_REASONS=0,50:0x44 "
	                "WTFAKE_NVML_PROCESSES=71,72",
	                case_all, &got),
	       0, "all that is asked is told");
	ok(got.value[0], "devices by their UUID");
	is_i64(got.value[1], WTNVML_ERROR_NOT_FOUND, "not one that is not there");
	is_i64(got.value[2], 1200, "the SM clock");
	is_i64(got.value[3], 3201, "the memory clock");
	ok(got.value[4] == 0 || got.value[4] == 0x44, "reasons at first");
	is_i64(got.value[10], WTNVML_REASON_SW_POWER_CAP | WTNVML_REASON_HW_THERMAL,
	       "and after a while, by the older name");
	is_i64(got.value[5], 350000, "power");
	is_i64(got.value[6], 45, "temperature");
	is_i64(got.value[7], WTNVML_ERROR_INSUFFICIENT_SIZE, "too little room for processes");
	is_i64(got.value[8], 2, "their number");
	is_i64(got.value[9], 72, "and with room, all of them");
	status = case_run("X=", case_uninitialised, NULL);
	ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "use before nvmlInit_v2 is fatal");
	is_i64(case_run("WTFAKE_FAIL=nvmlInit_v2:*:9", case_not_permitted, &got), 0, "a fault");
	is_i64(got.value[0], WTNVML_ERROR_DRIVER_NOT_LOADED, "is told");
	return tap_done();
}
