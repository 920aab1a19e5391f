/*
 * doctor_cupti.c - which libcupti a program would be recorded with. See doctor.h.
 *
 * The order is that of libintercept/cupti_find.c. What a program has loaded already goes first
 * there, and can't be known here: for Python, the wheels that its packages bring are looked at,
 * since that is what PyTorch, JAX and Triton load.
 */
#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "cli/probe.h"
#include "cli/program.h"
#include "libintercept/cupti_abi.h"

#define GROUP "cupti"
#define NEWEST_MAJOR 13
#define OLDEST_MAJOR 11
#define CANDIDATES_MAX 24

struct candidate {
	char path[WT_PATH_BYTES];
	const char *how; /* static */
	unsigned version; /* 0 = does not say */
	char problem[200]; /* "" = usable */
};

struct search {
	struct wt_doctor *doctor;
	struct candidate found[CANDIDATES_MAX];
	int count;
	struct wt_probe_result probe;
};

/* ---- versions */

/* CUDA version of a CUPTI API version, as text. */
static const char *cuda_name(unsigned version, char text[32])
{
	static const char *const counted[] = {"11.8", "12.0", "12.2",         "12.3",
	                                      "12.4", "12.5", "12.6",         "12.6",
	                                      "12.8", "12.9", "12.9 Update 1"};
	unsigned first = WTCUPTI_API_VERSION_CUDA_11_8;

	if (version >= 100000 && version % 100)
		snprintf(text, 32, "%u.%u Update %u", version / 10000, version / 100 % 100,
		         version % 100);
	else if (version >= 100000)
		snprintf(text, 32, "%u.%u", version / 10000, version / 100 % 100);
	else if (version >= first && version - first < sizeof(counted) / sizeof(counted[0]))
		snprintf(text, 32, "%s", counted[version - first]);
	else
		snprintf(text, 32, "%s", version < first ? "before 11.8" : "12.x");
	return text;
}

static int cuda_major(unsigned version)
{
	if (version >= 100000)
		return (int)(version / 10000);
	return version >= WTCUPTI_API_VERSION_CUDA_12_0 ? 12 : 11;
}

/* In a child. */
static void ask_version(const void *arg, int fd)
{
	void *cupti = dlopen(arg, RTLD_NOW | RTLD_LOCAL);
	int (*get_version)(uint32_t *);
	uint32_t version = 0;

	if (!cupti) {
		dprintf(fd, "error %s\n", dlerror());
		return;
	}
	get_version = (int (*)(uint32_t *))dlsym(cupti, "cuptiGetVersion");
	if (!get_version || !dlsym(cupti, "cuptiActivityEnable") || get_version(&version))
		dprintf(fd, "error it is no libcupti\n");
	else
		dprintf(fd, "version %u\n", version);
}

static void judge(struct search *search, struct candidate *candidate)
{
	int driver = search->doctor->driver_version / 1000;
	struct wt_probe_result *probe = &search->probe;
	char name[32];

	wt_probe_call(ask_version, candidate->path, search->doctor->timeout_ms, probe);
	probe->text[strcspn(probe->text, "\n")] = '\0';
	if (sscanf(probe->text, "version %u", &candidate->version) != 1)
		snprintf(candidate->problem, sizeof(candidate->problem), "%.190s",
		         probe->text[0] ? probe->text + strlen("error ") : wt_probe_problem(probe));
	else if (candidate->version < WTCUPTI_API_VERSION_CUDA_11_8)
		snprintf(candidate->problem, sizeof(candidate->problem),
		         "too old: wavetap needs that of CUDA 11.8 or newer");
	else if (driver && cuda_major(candidate->version) > driver)
		snprintf(candidate->problem, sizeof(candidate->problem),
		         "too new: of CUDA %s, the driver is for CUDA %d.%d",
		         cuda_name(candidate->version, name), driver,
		         search->doctor->driver_version % 1000 / 10);
}

/* ---- where */

static void add(struct search *search, const char *path, const char *how)
{
	char real[PATH_MAX];
	struct candidate *candidate;

	if (!realpath(path, real) || strlen(real) >= WT_PATH_BYTES)
		return;
	for (int i = 0; i < search->count; i++)
		if (!strcmp(search->found[i].path, real))
			return;
	if (search->count == CANDIDATES_MAX)
		return;
	candidate = &search->found[search->count++];
	*candidate = (struct candidate){.how = how};
	snprintf(candidate->path, sizeof(candidate->path), "%s", real);
	judge(search, candidate);
}

static void add_in(struct search *search, const char *dir, const char *sub, int major,
                   const char *how)
{
	char path[2 * WT_PATH_BYTES];

	snprintf(path, sizeof(path), "%s/%s/libcupti.so.%d", dir, sub, major);
	if (!access(path, R_OK))
		add(search, path, how);
}

/* Folders of packages: wheels from CUDA 13 and before, torch, Triton. */
static void add_packages(struct search *search, const char *dir)
{
	static const char *const subs[] = {
	        "nvidia/cu13/lib",
	        "nvidia/cuda_cupti/lib",
	        "nvidia/cu12/lib",
	        "torch/lib",
	        "triton/backends/nvidia/lib/cupti",
	        "cuda/lib",
	};

	for (size_t k = 0; k < sizeof(subs) / sizeof(subs[0]); k++)
		for (int major = NEWEST_MAJOR; major >= OLDEST_MAJOR; major--)
			add_in(search, dir, subs[k], major, "a package of Python");
}

static void add_python(struct search *search, const char *python)
{
	static const char code[] = "import sys; print('\\n'.join(p for p in sys.path if p))";
	char *save = NULL;
	char text[WT_PROBE_TEXT_BYTES];

	wt_probe_run((const char *const[]){python, "-c", code, NULL}, NULL,
	             search->doctor->timeout_ms, &search->probe);
	if (wt_probe_problem(&search->probe)[0]) {
		wt_doctor_add(search->doctor, WT_DOCTOR_WARN, GROUP, "python",
		              "run it by hand: does it start?", "%s %s", python,
		              wt_probe_problem(&search->probe));
		return;
	}
	memcpy(text, search->probe.text, sizeof(text)); /* the next probe overwrites it */
	for (char *dir = strtok_r(text, "\n", &save); dir; dir = strtok_r(NULL, "\n", &save))
		if (dir[0] == '/')
			add_packages(search, dir);
}

static void add_beside_driver(struct search *search, int major)
{
	static const char *const subs[] = {".", "../../cuda_cupti/lib", "../../cu13/lib",
	                                   "../extras/CUPTI/lib64", "../../../extras/CUPTI/lib64"};
	char dir[WT_PATH_BYTES];
	char *slash;

	snprintf(dir, sizeof(dir), "%s", search->doctor->driver_path);
	slash = strrchr(dir, '/');
	if (!slash || (!strstr(dir, "nvidia") && !strstr(dir, "cud")))
		return;
	*slash = '\0';
	for (size_t k = 0; k < sizeof(subs) / sizeof(subs[0]); k++)
		add_in(search, dir, subs[k], major, "beside the driver");
}

/* In a child: what the loader finds by that name. */
static void ask_loader(const void *arg, int fd)
{
	void *cupti = dlopen(arg, RTLD_LAZY | RTLD_LOCAL);
	struct link_map *map = NULL;

	if (cupti && !dlinfo(cupti, RTLD_DI_LINKMAP, &map) && map)
		dprintf(fd, "%s\n", map->l_name);
}

static void add_soname(struct search *search, int major)
{
	char soname[32], path[WT_PATH_BYTES];

	snprintf(soname, sizeof(soname), "libcupti.so.%d", major);
	wt_probe_call(ask_loader, soname, search->doctor->timeout_ms, &search->probe);
	if (!search->probe.text[0])
		return;
	snprintf(path, sizeof(path), "%.*s", (int)strcspn(search->probe.text, "\n"),
	         search->probe.text);
	add(search, path, "found by the loader");
}

static void add_system(struct search *search, int major)
{
	static const char *const subs[] = {"lib64", "extras/CUPTI/lib64"};
	char pattern[64];
	glob_t found;

	for (size_t k = 0; k < 2; k++)
		add_in(search, "/usr/local/cuda", subs[k], major, "of the CUDA toolkit");
	snprintf(pattern, sizeof(pattern), "/usr/local/cuda-%d.*", major);
	if (glob(pattern, 0, NULL, &found))
		return;
	for (size_t i = found.gl_pathc; i-- > 0;) /* the newest first */
		for (size_t k = 0; k < 2; k++)
			add_in(search, found.gl_pathv[i], subs[k], major, "of the CUDA toolkit");
	globfree(&found);
}

/* ---- what is said */

static void tell(struct search *search, bool is_python)
{
	struct wt_doctor *doctor = search->doctor;
	bool has_usable = false;
	char name[32];

	for (int i = 0; i < search->count; i++) {
		const struct candidate *c = &search->found[i];

		if (c->problem[0])
			wt_doctor_add(doctor, WT_DOCTOR_WARN, GROUP, "not usable", NULL,
			              "%s (%s): %s", c->path, c->how, c->problem);
		else
			wt_doctor_add(doctor, WT_DOCTOR_OK, GROUP,
			              has_usable ? "also there" : "libcupti", NULL,
			              "%s of CUDA %s, %s", c->path, cuda_name(c->version, name),
			              c->how);
		if (!c->problem[0] && !has_usable)
			snprintf(doctor->cupti_path, sizeof(doctor->cupti_path), "%s", c->path);
		has_usable = has_usable || !c->problem[0];
	}
	if (has_usable)
		return;
	wt_doctor_add(doctor, doctor->device_count ? WT_DOCTOR_FAIL : WT_DOCTOR_NA, GROUP,
	              "libcupti",
	              is_python ? "install the CUPTI package that belongs to your framework, or "
	                          "set WAVETAP_CUPTI to its path"
	                        : "install the CUDA toolkit's CUPTI, or set WAVETAP_CUPTI to its "
	                          "path; a program that brings its own needs neither",
	              "%s: launches would be recorded without kernel times",
	              search->count ? "none of them can be used" : "none was found");
}

static bool check_setting(struct search *search)
{
	const char *given = getenv("WAVETAP_CUPTI");

	if (!given || !given[0])
		return false;
	if (!strcmp(given, "0")) {
		wt_doctor_add(search->doctor, WT_DOCTOR_WARN, GROUP, "WAVETAP_CUPTI", "unset it",
		              "WAVETAP_CUPTI=0: launches are recorded without kernel times");
		return true;
	}
	if (access(given, R_OK))
		wt_doctor_add(search->doctor, WT_DOCTOR_FAIL, GROUP, "WAVETAP_CUPTI",
		              "unset it, or make it the path of a libcupti", "WAVETAP_CUPTI=%s: %s",
		              given, strerror(errno));
	else
		add(search, given, "WAVETAP_CUPTI");
	return true;
}

void wt_doctor_cupti(struct wt_doctor *doctor, const char *python)
{
	struct search *search = calloc(1, sizeof(*search));
	int newest = doctor->driver_version ? doctor->driver_version / 1000 : NEWEST_MAJOR;

	if (!search) {
		doctor->is_out_of_memory = true;
		return;
	}
	search->doctor = doctor;
	if (python)
		add_python(search, python);
	if (check_setting(search)) {
		if (search->count)
			tell(search, python != NULL);
		free(search);
		return;
	}
	for (int major = newest; major >= OLDEST_MAJOR; major--) {
		add_beside_driver(search, major);
		add_soname(search, major);
		add_system(search, major);
	}
	/* Newer than the driver: never used, but worth a word. */
	for (int major = newest + 1; major <= NEWEST_MAJOR; major++)
		add_soname(search, major);
	tell(search, python != NULL);
	free(search);
}
