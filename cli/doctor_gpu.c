/*
 * doctor_gpu.c - the driver, its devices, the right to counters, other tools. See doctor.h.
 *
 * libcuda and NVML are loaded in a child each: a broken driver may hang or crash there. cuInit is
 * called, no context is made.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "cli/probe.h"

#define GROUP "gpu"
#define DEVICES_MAX 64
#define ATTRIBUTE_SMS 16
#define ATTRIBUTE_CC_MAJOR 75
#define ATTRIBUTE_CC_MINOR 76
#define OLDEST_DRIVER 11000 /* CUPTI of CUDA 11.8 runs on it by minor-version compatibility */
#define MODULE_VERSION "/proc/driver/nvidia/version"
#define MODULE_PARAMS "/proc/driver/nvidia/params"

/* ---- in the child: lines "what value" */

static void put_path(void *handle, int fd)
{
	struct link_map *map = NULL;

	if (!dlinfo(handle, RTLD_DI_LINKMAP, &map) && map && map->l_name)
		dprintf(fd, "path %s\n", map->l_name);
}

static void put_devices(void *cuda, int fd)
{
	int (*get)(int *, int) = (int (*)(int *, int))dlsym(cuda, "cuDeviceGet");
	int (*get_name)(char *, int, int) =
	        (int (*)(char *, int, int))dlsym(cuda, "cuDeviceGetName");
	int (*attribute)(int *, int, int) =
	        (int (*)(int *, int, int))dlsym(cuda, "cuDeviceGetAttribute");
	int (*get_count)(int *) = (int (*)(int *))dlsym(cuda, "cuDeviceGetCount");
	int count = 0, code;

	if (!get || !get_name || !attribute || !get_count)
		return;
	code = get_count(&count);
	dprintf(fd, "count %d %d\n", code, count);
	for (int i = 0; i < count && i < DEVICES_MAX; i++) {
		int device = 0, sms = 0, major = 0, minor = 0;
		char name[128] = "";

		if (get(&device, i))
			continue;
		get_name(name, sizeof(name), device);
		attribute(&sms, ATTRIBUTE_SMS, device);
		attribute(&major, ATTRIBUTE_CC_MAJOR, device);
		attribute(&minor, ATTRIBUTE_CC_MINOR, device);
		dprintf(fd, "device %d %d %d %s\n", sms, major, minor, name);
	}
}

static void ask_driver(const void *arg, int fd)
{
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
	int (*get_version)(int *), (*init)(unsigned);
	int version = 0, code;

	(void)arg;
	if (!cuda) {
		dprintf(fd, "missing %s\n", dlerror());
		return;
	}
	put_path(cuda, fd);
	get_version = (int (*)(int *))dlsym(cuda, "cuDriverGetVersion");
	init = (int (*)(unsigned))dlsym(cuda, "cuInit");
	if (!get_version || !init)
		return;
	code = get_version(&version);
	dprintf(fd, "version %d %d\n", code, version);
	code = init(0);
	dprintf(fd, "init %d\n", code);
	if (!code)
		put_devices(cuda, fd);
}

static void ask_nvml(const void *arg, int fd)
{
	void *nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
	int (*init)(void), (*get_count)(unsigned *), (*get)(unsigned, void **);
	int (*mig)(void *, unsigned *, unsigned *);
	unsigned count = 0;

	(void)arg;
	if (!nvml)
		return;
	init = (int (*)(void))dlsym(nvml, "nvmlInit_v2");
	get_count = (int (*)(unsigned *))dlsym(nvml, "nvmlDeviceGetCount_v2");
	get = (int (*)(unsigned, void **))dlsym(nvml, "nvmlDeviceGetHandleByIndex_v2");
	mig = (int (*)(void *, unsigned *, unsigned *))dlsym(nvml, "nvmlDeviceGetMigMode");
	if (!init || !get_count || !get || !mig || init() || get_count(&count))
		return;
	for (unsigned i = 0; i < count; i++) {
		unsigned current = 0, pending = 0;
		void *device = NULL;

		if (!get(i, &device) && !mig(device, &current, &pending))
			dprintf(fd, "mig %u %u %u\n", i, current, pending);
	}
}

/* ---- what the child said */

/* The rest of the line that begins with `word` and a blank; NULL: there is none. */
static const char *find_line(const char *text, const char *word)
{
	size_t length = strlen(word);

	while (text && *text) {
		if (!strncmp(text, word, length) && text[length] == ' ')
			return text + length + 1;
		text = strchr(text, '\n');
		text += text != NULL;
	}
	return NULL;
}

static void copy_line(char *to, size_t bytes, const char *from)
{
	snprintf(to, bytes, "%.*s", (int)strcspn(from, "\n"), from);
}

static const char *init_remedy(int code)
{
	switch (code) {
	case 3:
		return "the driver did not start: see dmesg, reload the nvidia module or reboot";
	case 100:
		return "is CUDA_VISIBLE_DEVICES empty, or a container started without --gpus?";
	case 802:
		return "start nvidia-fabricmanager (NVSwitch systems need it)";
	case 803:
		return "libcuda and the kernel module are of different versions: reboot after the "
		       "update";
	case 804:
		return "take the compat libcuda out of LD_LIBRARY_PATH: this GPU does not support "
		       "it";
	default:
		return "see `nvidia-smi` and dmesg";
	}
}

static void tell_devices(struct wt_doctor *doctor, const char *text)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");

	for (const char *at = find_line(text, "device"); at; at = find_line(at, "device")) {
		int sms = 0, major = 0, minor = 0, length = 0;
		char name[128];

		if (sscanf(at, "%d %d %d %n", &sms, &major, &minor, &length) != 3)
			break;
		copy_line(name, sizeof(name), at + length);
		wt_doctor_add(doctor, WT_DOCTOR_OK, GROUP, "device", NULL,
		              "%d: %s, %d SMs, compute capability %d.%d%s", doctor->device_count++,
		              name, sms, major, minor,
		              strstr(name, "MIG") ? ", a MIG instance: its own SMs count" : "");
	}
	if (visible)
		wt_doctor_add(doctor, WT_DOCTOR_OK, GROUP, "visible", NULL,
		              "CUDA_VISIBLE_DEVICES=%s selects them", visible);
}

static void tell_driver(struct wt_doctor *doctor, const struct wt_probe_result *probe)
{
	const char *path = find_line(probe->text, "path");
	const char *version = find_line(probe->text, "version");
	const char *init = find_line(probe->text, "init");
	char real[PATH_MAX];
	int code = 0;

	if (path) {
		copy_line(doctor->driver_path, sizeof(doctor->driver_path), path);
		if (realpath(doctor->driver_path, real) && strlen(real) < WT_PATH_BYTES)
			strcpy(doctor->driver_path, real);
	}
	if (version)
		sscanf(version, "%d %d", &code, &doctor->driver_version);
	if (!init) {
		wt_doctor_add(
		        doctor, WT_DOCTOR_FAIL, GROUP, "driver",
		        "see `nvidia-smi` and dmesg; a broken driver stops every CUDA program",
		        "%s: the driver %s", doctor->driver_path,
		        wt_probe_problem(probe)[0] ? wt_probe_problem(probe)
		                                   : "lacks entries that CUDA needs");
		return;
	}
	if (doctor->driver_version < OLDEST_DRIVER)
		wt_doctor_add(doctor, WT_DOCTOR_FAIL, GROUP, "driver",
		              "update the driver: wavetap needs one of CUDA 11.8 or newer",
		              "%s is for CUDA %d.%d", doctor->driver_path,
		              doctor->driver_version / 1000, doctor->driver_version % 1000 / 10);
	else
		wt_doctor_add(doctor, WT_DOCTOR_OK, GROUP, "driver", NULL, "%s, for CUDA %d.%d",
		              doctor->driver_path, doctor->driver_version / 1000,
		              doctor->driver_version % 1000 / 10);
	code = atoi(init);
	if (code)
		wt_doctor_add(doctor, code == 100 ? WT_DOCTOR_NA : WT_DOCTOR_FAIL, GROUP, "device",
		              init_remedy(code), "cuInit refuses with %d%s", code,
		              code == 100 ? ": no device" : "");
	else if (wt_probe_problem(probe)[0])
		wt_doctor_add(doctor, WT_DOCTOR_FAIL, GROUP, "device", "see `nvidia-smi` and dmesg",
		              "after cuInit the driver %s", wt_probe_problem(probe));
	tell_devices(doctor, probe->text);
}

static void tell_no_driver(struct wt_doctor *doctor, const char *why)
{
	char line[300], reason[300];

	copy_line(reason, sizeof(reason), why);
	if (wt_doctor_read_line(MODULE_VERSION, line, sizeof(line)))
		wt_doctor_add(doctor, WT_DOCTOR_FAIL, GROUP, "driver",
		              "in a container: start it with --gpus all, or "
		              "NVIDIA_DRIVER_CAPABILITIES with compute,utility",
		              "the kernel module is loaded, but libcuda.so.1 is not found (%s)",
		              line);
	else
		wt_doctor_add(doctor, WT_DOCTOR_NA, GROUP, "driver",
		              "on a GPU host: install the NVIDIA driver",
		              "no NVIDIA driver on this host: %s", reason);
}

static void check_mig(struct wt_doctor *doctor, struct wt_probe_result *probe)
{
	const char *at;
	int on = 0, known = 0;

	wt_probe_call(ask_nvml, NULL, doctor->timeout_ms, probe);
	for (at = find_line(probe->text, "mig"); at; at = find_line(at, "mig")) {
		unsigned index, current, pending;

		if (sscanf(at, "%u %u %u", &index, &current, &pending) != 3)
			break;
		known++;
		on += current == 1;
	}
	if (known)
		wt_doctor_add(doctor, WT_DOCTOR_OK, GROUP, "MIG", NULL,
		              on ? "on for %d of %d GPUs: figures are of the instance"
		                 : "off (%d of %d GPUs have it on)",
		              on, known);
	else
		wt_doctor_add(doctor, WT_DOCTOR_NA, GROUP, "MIG", NULL,
		              "not known: NVML does not tell%s%s",
		              wt_probe_problem(probe)[0] ? ", it " : "", wt_probe_problem(probe));
}

/* ---- counters and other tools */

/* Bits of CapEff in /proc/self/status. */
static bool has_capability(unsigned bit)
{
	unsigned long long set = 0;
	char line[256];
	FILE *in = fopen("/proc/self/status", "re");

	while (in && fgets(line, sizeof(line), in))
		if (sscanf(line, "CapEff: %llx", &set) == 1)
			break;
	if (in)
		fclose(in);
	return set >> bit & 1;
}

static void check_counters(struct wt_doctor *doctor)
{
	const unsigned sys_admin = 21, perfmon = 38;
	char line[256];
	int admin_only = -1;
	FILE *in = fopen(MODULE_PARAMS, "re");

	while (in && fgets(line, sizeof(line), in))
		sscanf(line, "RmProfilingAdminOnly: %d", &admin_only);
	if (in)
		fclose(in);
	doctor->is_reserved =
	        admin_only > 0 && !has_capability(sys_admin) && !has_capability(perfmon);
	if (admin_only < 0)
		wt_doctor_add(doctor, WT_DOCTOR_NA, GROUP, "counters", NULL,
		              "not known who may use them (no " MODULE_PARAMS "); launch records "
		              "need none");
	else if (!doctor->is_reserved)
		wt_doctor_add(doctor, WT_DOCTOR_OK, GROUP, "counters", NULL,
		              "permitted; launch records need none");
	else
		wt_doctor_add(doctor, WT_DOCTOR_WARN, GROUP, "counters",
		              "run as root or with CAP_SYS_ADMIN, or load the nvidia module with "
		              "NVreg_RestrictProfilingToAdminUsers=0",
		              "reserved to root (RmProfilingAdminOnly: 1): SM activity is not "
		              "measured; launch records need none");
}

static void check_tools(struct wt_doctor *doctor)
{
	static const char *const injections[] = {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH",
	                                         "CUDA_INJECTION32_PATH", "QUADD_INJECTION_PROXY"};
	static const char *const sessions[] = {
	        "NSYS_PROFILING_SESSION_ID", "NV_NSIGHT_INJECTION_PORT_BASE",
	        "NV_COMPUTE_PROFILER_PERFWORKS_DIR", "NV_NSIGHT_INJECTION_TRANSPORT_TYPE"};
	bool is_alone = true;

	for (size_t i = 0; i < sizeof(injections) / sizeof(injections[0]); i++) {
		/* Not getenv: preloaded, libwavetap.so answers the second one itself. */
		const char *value = secure_getenv(injections[i]);

		if (!value || !value[0])
			continue;
		is_alone = false;
		if (strstr(value, "libwavetap"))
			wt_doctor_add(doctor, WT_DOCTOR_OK, GROUP, "other tools", NULL,
			              "%s names wavetap itself", injections[i]);
		else
			wt_doctor_add(doctor, WT_DOCTOR_WARN, GROUP, "other tools",
			              "unset it to record kernel times with wavetap",
			              "%s=%s: that tool may hold CUPTI, then launches have no "
			              "times%s",
			              injections[i], value,
			              !strncmp(injections[i], "NVTX", 4)
			                      ? "; named ranges are its own"
			                      : "");
	}
	for (size_t i = 0; i < sizeof(sessions) / sizeof(sessions[0]); i++) {
		if (!getenv(sessions[i]))
			continue;
		is_alone = false;
		wt_doctor_add(doctor, WT_DOCTOR_WARN, GROUP, "other tools",
		              "run it outside nsys and ncu to record kernel times",
		              "%s is set: this shell runs under an NVIDIA profiler, which holds "
		              "CUPTI",
		              sessions[i]);
	}
	if (is_alone)
		wt_doctor_add(doctor, WT_DOCTOR_OK, GROUP, "other tools", NULL,
		              "none in this environment");
}

/* Where MPS shares the device: its control pipe is there, or its setting. */
static void check_mps(struct wt_doctor *doctor)
{
	const char *share = getenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
	const char *dir = getenv("CUDA_MPS_PIPE_DIRECTORY");
	char pipe[WT_PATH_BYTES];

	snprintf(pipe, sizeof(pipe), "%s/control", dir && dir[0] ? dir : "/tmp/nvidia-mps");
	if (!(share && share[0]) && access(pipe, F_OK))
		return;
	wt_doctor_add(doctor, WT_DOCTOR_WARN, GROUP, "MPS",
	              "read idle SM-time as this program's alone, or run it without MPS",
	              "%s%s: kernels of other MPS clients are not seen, and SMs may be capped",
	              share && share[0] ? "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=" : pipe,
	              share && share[0] ? share : " is there");
}

void wt_doctor_gpu(struct wt_doctor *doctor)
{
	struct wt_probe_result *probe = calloc(1, sizeof(*probe));
	const char *missing;

	if (!probe) {
		doctor->is_out_of_memory = true;
		return;
	}
	wt_probe_call(ask_driver, NULL, doctor->timeout_ms, probe);
	missing = find_line(probe->text, "missing");
	if (missing)
		tell_no_driver(doctor, missing);
	else
		tell_driver(doctor, probe);
	if (doctor->device_count)
		check_mig(doctor, probe);
	if (!missing)
		check_counters(doctor);
	if (!missing)
		check_mps(doctor);
	check_tools(doctor);
	free(probe);
}
