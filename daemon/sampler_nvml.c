/*
 * sampler_nvml.c - what NVML says of the sampled device: clocks, what holds them down, power,
 * temperature, and who else has a context there.
 *
 * Main thread. May block in the driver, for milliseconds. Nothing here is needed: without NVML, or
 * without one of its calls, that much is not known.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/sampler.h"
#include "libintercept/hooks.h"
#include "libintercept/nvml_abi.h"
#include "schema/wt_paths.h"

#define PROCESSES_MAX 256
#define OURS_MAX 256
#define FIRST_NAMESPACE UINT64_C(0xeffffffc) /* of pids: the one that the host begins with */

struct wt_sampler_nvml {
	wtnvml_device device;
	wtnvml_clock_info_fn clock_info;
	wtnvml_clock_reasons_fn clock_reasons;
	wtnvml_power_usage_fn power_usage;
	wtnvml_temperature_fn temperature;
	wtnvml_processes_fn processes;
	uint64_t pid_namespace;
};

struct wt_sampler_nvml *wt_sampler_nvml_open(const struct wt_device *device)
{
	static struct wt_sampler_nvml nvml; /* one device a process */
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	wtnvml_handle_by_uuid_fn by_uuid;
	wtnvml_plain_fn init;
	char uuid[WT_UUID_TEXT_BYTES];

	if (!library)
		return NULL;
	init = (wtnvml_plain_fn)dlsym(library, "nvmlInit_v2");
	by_uuid = (wtnvml_handle_by_uuid_fn)dlsym(library, "nvmlDeviceGetHandleByUUID");
	(void)wt_device_uuid_text(uuid, device->uuid);
	if (!init || !by_uuid || init() != WTNVML_SUCCESS ||
	    by_uuid(uuid, &nvml.device) != WTNVML_SUCCESS)
		return NULL;
	nvml.clock_info = (wtnvml_clock_info_fn)dlsym(library, "nvmlDeviceGetClockInfo");
	nvml.clock_reasons =
	        (wtnvml_clock_reasons_fn)dlsym(library, "nvmlDeviceGetCurrentClocksEventReasons");
	if (!nvml.clock_reasons)
		nvml.clock_reasons = (wtnvml_clock_reasons_fn)dlsym(
		        library, "nvmlDeviceGetCurrentClocksThrottleReasons");
	nvml.power_usage = (wtnvml_power_usage_fn)dlsym(library, "nvmlDeviceGetPowerUsage");
	nvml.temperature = (wtnvml_temperature_fn)dlsym(library, "nvmlDeviceGetTemperature");
	nvml.processes =
	        (wtnvml_processes_fn)dlsym(library, "nvmlDeviceGetComputeRunningProcesses_v3");
	nvml.pid_namespace = wt_facts_pid_namespace();
	return &nvml;
}

/* ---- who is ours: whoever has a segment, and we */

/* Pids of this user's observed processes in our pid namespace; the segments' names tell. */
static int find_ours(const struct wt_sampler_nvml *nvml, uint32_t ours[OURS_MAX])
{
	DIR *dir = opendir(wt_path_shm_dir());
	char prefix[32];
	struct dirent *entry;
	int count = 0;

	snprintf(prefix, sizeof(prefix), "wavetap-%u-", (unsigned)geteuid());
	while (dir && count < OURS_MAX && (entry = readdir(dir))) {
		uint64_t namespace;
		int pid;

		if (strncmp(entry->d_name, prefix, strlen(prefix)))
			continue;
		if (sscanf(entry->d_name + strlen(prefix), "%*16[0-9a-f]-%" SCNu64 "-%d-",
		           &namespace, &pid) == 2 &&
		    namespace == nvml->pid_namespace && pid > 0)
			ours[count++] = (uint32_t)pid;
	}
	if (dir)
		closedir(dir);
	return count;
}

/*
 * NVML's pids may be of another namespace. They are comparable in the host's first one, and where
 * one of ours is among them.
 */
static void read_processes(const struct wt_sampler_nvml *nvml, struct wt_gpu_state *state)
{
	struct wtnvml_process processes[PROCESSES_MAX] = {0};
	uint32_t count = PROCESSES_MAX, ours[OURS_MAX], foreign = 0, foreign_pid = 0;
	bool is_known = nvml->pid_namespace == FIRST_NAMESPACE;
	int ours_count;

	if (!nvml->processes ||
	    nvml->processes(nvml->device, &count, processes) != WTNVML_SUCCESS ||
	    count > PROCESSES_MAX)
		return;
	ours_count = find_ours(nvml, ours);
	for (uint32_t i = 0; i < count; i++) {
		bool is_ours = processes[i].pid == (uint32_t)getpid();

		for (int j = 0; j < ours_count && !is_ours; j++) {
			is_ours = ours[j] == processes[i].pid;
			is_known |= is_ours;
		}
		if (!is_ours) {
			foreign++;
			foreign_pid = processes[i].pid;
		}
	}
	if (!is_known)
		return;
	state->foreign_processes = foreign;
	state->foreign_pid = foreign_pid;
	state->flags = 1;
}

void wt_sampler_nvml_read(struct wt_sampler_nvml *nvml, struct wt_gpu_state *ret_state)
{
	struct wt_gpu_state state = {.time_ns = wt_sampler_clock_ns(CLOCK_REALTIME)};
	unsigned long long reasons = 0;

	if (nvml->clock_info) {
		(void)nvml->clock_info(nvml->device, WTNVML_CLOCK_SM, &state.sm_clock_mhz);
		(void)nvml->clock_info(nvml->device, WTNVML_CLOCK_MEM, &state.mem_clock_mhz);
	}
	if (nvml->clock_reasons && nvml->clock_reasons(nvml->device, &reasons) == WTNVML_SUCCESS)
		state.throttle_reasons = reasons;
	if (nvml->power_usage)
		(void)nvml->power_usage(nvml->device, &state.power_mw);
	if (nvml->temperature)
		(void)nvml->temperature(nvml->device, WTNVML_TEMPERATURE_GPU, &state.temperature_c);
	read_processes(nvml, &state);
	*ret_state = state;
}
