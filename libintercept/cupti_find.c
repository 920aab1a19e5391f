/*
 * cupti_find.c - which libcupti to use.
 *
 * Several copies are normal: the PyTorch wheel brings one, Triton another, the toolkit a
 * third. Records go to the copy that armed, so the copy the application's own profiler uses
 * is the right one. Order:
 *
 *   1. one that is loaded already: the caller's hint, what libtorch_cpu was linked with, the
 *      driver's major version, any
 *   2. WAVETAP_CUPTI=path
 *   3. beside libraries that are loaded (wheel and toolkit layouts)
 *   4. by soname, hence LD_LIBRARY_PATH and ld.so.cache
 *   5. /usr/local/cuda and its versioned siblings
 *
 * A copy with a newer major version than the driver's is refused: its first call would fail,
 * and some callers crash on that. Nothing is ever unloaded.
 *
 * Runs on the thread that creates the first context or that calls an exported CUPTI function.
 * May block in the dynamic loader; never on the launch path.
 */
#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libintercept/cupti.h"
#include "libintercept/libc.h"

#define LOADED_MAX 6
#define DIRS_MAX 48
#define OLDEST_MAJOR 11

struct object_info {
	uintptr_t start;
	uintptr_t end;
	char path[PATH_MAX];
	char soname[WT_SONAME_BYTES];
	char needs[WT_SONAME_BYTES]; /* the libcupti it was linked with */
};

static void copy_text(char *to, size_t bytes, const char *from)
{
	size_t length = strnlen(from, bytes - 1);

	memcpy(to, from, length);
	to[length] = '\0';
}

static bool is_cupti_name(const char *name)
{
	const char *slash = strrchr(name, '/');

	return !strncmp(slash ? slash + 1 : name, "libcupti.so", strlen("libcupti.so"));
}

/* Soname and the libcupti among the needed libraries. glibc relocates DT_STRTAB in place
 * except in read-only dynamic sections such as the vDSO's. */
static void read_dynamic(const struct dl_phdr_info *info, const ElfW(Dyn) * dynamic,
                         struct object_info *object)
{
	const char *strings = NULL;

	for (const ElfW(Dyn) *at = dynamic; at->d_tag != DT_NULL; at++) {
		if (at->d_tag == DT_STRTAB) {
			uintptr_t address = at->d_un.d_ptr;

			strings =
			        (const char *)(address < info->dlpi_addr ? address + info->dlpi_addr
			                                                 : address);
		}
	}
	if (!strings)
		return;
	for (const ElfW(Dyn) *at = dynamic; at->d_tag != DT_NULL; at++) {
		const char *name = strings + at->d_un.d_val;

		if (at->d_tag == DT_SONAME)
			copy_text(object->soname, sizeof(object->soname), name);
		else if (at->d_tag == DT_NEEDED && is_cupti_name(name))
			copy_text(object->needs, sizeof(object->needs), name);
	}
}

/* Where the object lies; and its dynamic section, NULL if it has none. */
static const ElfW(Dyn) * read_range(const struct dl_phdr_info *info, struct object_info *object)
{
	const ElfW(Dyn) *dynamic = NULL;

	object->start = UINTPTR_MAX;
	object->end = 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type == PT_LOAD) {
			if (start < object->start)
				object->start = start;
			if (start + segment->p_memsz > object->end)
				object->end = start + segment->p_memsz;
		} else if (segment->p_type == PT_DYNAMIC) {
			dynamic = (const ElfW(Dyn) *)start;
		}
	}
	return dynamic;
}

static void read_names(const struct dl_phdr_info *info, const ElfW(Dyn) * dynamic,
                       struct object_info *object)
{
	object->soname[0] = object->needs[0] = '\0';
	copy_text(object->path, sizeof(object->path), info->dlpi_name ? info->dlpi_name : "");
	if (dynamic)
		read_dynamic(info, dynamic, object);
}

static bool is_cupti(const struct object_info *object)
{
	return is_cupti_name(object->soname) || is_cupti_name(object->path);
}

/* ---- one object, by address or name */

struct lookup {
	uintptr_t address; /* 0 = any */
	const char *soname; /* NULL = any */
	bool cupti_only;
	bool is_found;
	struct object_info object;
};

static int match_object(struct dl_phdr_info *info, size_t size, void *data)
{
	struct lookup *lookup = data;
	const ElfW(Dyn) *dynamic = read_range(info, &lookup->object);

	(void)size;
	if (lookup->address &&
	    (lookup->address < lookup->object.start || lookup->address >= lookup->object.end))
		return 0;
	read_names(info, dynamic, &lookup->object);
	if (lookup->cupti_only && !is_cupti(&lookup->object))
		return 0;
	if (lookup->soname && strcmp(lookup->soname, lookup->object.soname))
		return 0;
	lookup->is_found = true;
	return 1;
}

static bool find_object(struct lookup *lookup)
{
	dl_iterate_phdr(match_object, lookup);
	return lookup->is_found;
}

void wt_cupti_linked_soname(uintptr_t address, char soname[WT_SONAME_BYTES])
{
	struct lookup lookup = {.address = address};

	soname[0] = '\0';
	if (address && find_object(&lookup))
		memcpy(soname, lookup.object.needs, WT_SONAME_BYTES);
}

uintptr_t wt_cupti_base_of(uintptr_t address)
{
	struct lookup lookup = {.address = address, .cupti_only = true};

	return address && find_object(&lookup) ? lookup.object.start : 0;
}

uintptr_t wt_cupti_address_of(const char *soname)
{
	struct lookup lookup = {.soname = soname, .cupti_only = true};

	return find_object(&lookup) ? lookup.object.start : 0;
}

void *wt_cupti_loaded(const char *soname, uintptr_t hint)
{
	struct lookup by_hint = {.address = hint, .cupti_only = true};
	struct lookup by_name = {.soname = soname[0] ? soname : NULL, .cupti_only = true};

	if (hint && find_object(&by_hint))
		return wt_libc_dlopen(by_hint.object.path, RTLD_NOW | RTLD_NOLOAD);
	if (find_object(&by_name))
		return wt_libc_dlopen(by_name.object.path, RTLD_NOW | RTLD_NOLOAD);
	return NULL;
}

/* ---- versions */

/* CUDA major version of a CUPTI API version. */
static int cuda_major(uint32_t api_version)
{
	if (api_version >= 100000)
		return (int)(api_version / 10000);
	return api_version >= WTCUPTI_API_VERSION_CUDA_12_0 ? 12 : 11;
}

/* Of libcupti.so.13; 0 if the name does not tell. */
static int soname_major(const char *soname)
{
	const char *so = strstr(soname, ".so.");

	return so ? (int)wt_libc_strtol(so + 4, NULL, 10) : 0;
}

static int driver_major(void)
{
	int (*get_version)(int *) = (int (*)(int *))wt_driver_entry("cuDriverGetVersion");
	int version = 0;

	return get_version && !get_version(&version) ? version / 1000 : 0;
}

/* ---- loading one */

static bool resolve(void *handle, struct wt_cupti_api *api)
{
#define NEED(field, name, type)                                                                    \
	do {                                                                                       \
		api->field = (type)wt_real_dlsym(handle, name);                                    \
		if (!api->field)                                                                   \
			return false;                                                              \
	} while (0)
#define MAY(field, name, type) api->field = (type)wt_real_dlsym(handle, name)

	NEED(get_version, "cuptiGetVersion", wtcupti_get_version_fn);
	NEED(register_callbacks, "cuptiActivityRegisterCallbacks", wtcupti_register_callbacks_fn);
	NEED(enable, "cuptiActivityEnable", wtcupti_activity_kind_fn);
	NEED(disable, "cuptiActivityDisable", wtcupti_activity_kind_fn);
	NEED(flush_all, "cuptiActivityFlushAll", wtcupti_flush_all_fn);
	NEED(next_record, "cuptiActivityGetNextRecord", wtcupti_next_record_fn);
	MAY(dropped_records, "cuptiActivityGetNumDroppedRecords", wtcupti_dropped_records_fn);
	MAY(get_timestamp, "cuptiGetTimestamp", wtcupti_get_timestamp_fn);
	MAY(set_attribute, "cuptiActivitySetAttribute", wtcupti_attribute_fn);
	MAY(get_attribute, "cuptiActivityGetAttribute", wtcupti_attribute_fn);
	MAY(enable_driver_api, "cuptiActivityEnableDriverApi", wtcupti_enable_api_fn);
	MAY(enable_runtime_api, "cuptiActivityEnableRuntimeApi", wtcupti_enable_api_fn);
	MAY(enable_all_sync, "cuptiActivityEnableAllSyncRecords", wtcupti_enable_fn);
	MAY(enable_and_dump, "cuptiActivityEnableAndDump", wtcupti_activity_kind_fn);
	MAY(get_context_id, "cuptiGetContextId", wtcupti_get_context_id_fn);
#undef NEED
#undef MAY
	return true;
}

/* WT_REASON_NONE and *ret_api filled, or why this copy won't do. */
static enum wt_reason try_library(const char *path, int mode, int driver,
                                  struct wt_cupti_api *ret_api)
{
	struct wt_cupti_api api = {0};
	struct lookup lookup = {.cupti_only = false};

	api.handle = wt_libc_dlopen(path, mode);
	if (!api.handle || !resolve(api.handle, &api) || api.get_version(&api.version))
		return WT_REASON_CUPTI_NOT_FOUND;
	if (api.version < WTCUPTI_API_VERSION_CUDA_11_8)
		return WT_REASON_CUPTI_TOO_OLD;
	if (driver && cuda_major(api.version) > driver)
		return WT_REASON_CUPTI_NEWER_THAN_DRIVER;
	lookup.address = (uintptr_t)api.enable;
	if (find_object(&lookup)) {
		api.base = lookup.object.start;
		api.end = lookup.object.end;
		copy_text(api.soname, sizeof(api.soname), lookup.object.soname);
		copy_text(api.path, sizeof(api.path), lookup.object.path);
	}
	*ret_api = api;
	return WT_REASON_NONE;
}

/* ---- what is loaded */

struct survey {
	struct object_info loaded[LOADED_MAX]; /* copies of libcupti */
	int loaded_count;
	char torch_needs[WT_SONAME_BYTES];
	char dir[DIRS_MAX][PATH_MAX]; /* where CUDA libraries were loaded from */
	int dir_count;
};

/* One per process and too large for a stack; used under the arming state alone. */
static struct survey survey;
static struct object_info scratch;

static void note_dir(const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t length = slash ? (size_t)(slash - path) : 0;
	char *dir = survey.dir[survey.dir_count < DIRS_MAX ? survey.dir_count : 0];

	if (!length || path[0] != '/' || survey.dir_count >= DIRS_MAX ||
	    (!strstr(path, "nvidia") && !strstr(path, "torch") && !strstr(path, "cud")))
		return;
	for (int i = 0; i < survey.dir_count; i++)
		if (!strncmp(survey.dir[i], path, length) && !survey.dir[i][length])
			return;
	memcpy(dir, path, length);
	dir[length] = '\0';
	survey.dir_count++;
}

static int survey_object(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)size;
	(void)data;
	read_names(info, read_range(info, &scratch), &scratch);
	if (is_cupti(&scratch) && survey.loaded_count < LOADED_MAX)
		survey.loaded[survey.loaded_count++] = scratch;
	if (strstr(scratch.path, "libtorch_cpu.so") && scratch.needs[0])
		memcpy(survey.torch_needs, scratch.needs, sizeof(survey.torch_needs));
	note_dir(scratch.path);
	return 0;
}

static int rank_loaded(const struct object_info *object, uintptr_t hint, int driver)
{
	if (hint >= object->start && hint < object->end)
		return 3;
	if (survey.torch_needs[0] && !strcmp(object->soname, survey.torch_needs))
		return 2;
	return driver && soname_major(object->soname) == driver;
}

/* The best of the loaded copies that this driver can use. */
static enum wt_reason find_loaded(uintptr_t hint, int driver, struct wt_cupti_api *ret_api)
{
	enum wt_reason first = WT_REASON_CUPTI_NOT_FOUND;

	for (int rank = 3; rank >= 0; rank--) {
		for (int i = 0; i < survey.loaded_count; i++) {
			enum wt_reason reason;

			if (rank_loaded(&survey.loaded[i], hint, driver) != rank)
				continue;
			reason = try_library(survey.loaded[i].path, RTLD_NOW | RTLD_NOLOAD, driver,
			                     ret_api);
			if (reason == WT_REASON_NONE)
				return reason;
			if (first == WT_REASON_CUPTI_NOT_FOUND)
				first = reason;
		}
	}
	return first;
}

/* ---- what is not loaded yet */

/* Tries <dir>/<sub>/libcupti.so.<major> if it exists. */
static bool try_dir(const char *dir, const char *sub, int major, int driver,
                    enum wt_reason *inout_reason, struct wt_cupti_api *ret_api)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s%s%s/libcupti.so.%d", dir, sub[0] ? "/" : "", sub,
	                 major);
	enum wt_reason reason;

	if (n < 0 || n >= (int)sizeof(path) || access(path, R_OK))
		return false;
	reason = try_library(path, RTLD_NOW | RTLD_LOCAL, driver, ret_api);
	if (reason != WT_REASON_CUPTI_NOT_FOUND)
		*inout_reason = reason;
	return reason == WT_REASON_NONE;
}

/* Relative to a folder with CUDA libraries: wheels from CUDA 13 (nvidia/cu13/lib) and before
 * (nvidia/<component>/lib), torch/lib, and the toolkit's lib64 and targets/<arch>/lib. */
static bool try_beside(int major, int driver, enum wt_reason *inout_reason,
                       struct wt_cupti_api *ret_api)
{
	static const char *const beside[] = {
	        "",
	        "../../cuda_cupti/lib",
	        "../../cu13/lib",
	        "../../nvidia/cuda_cupti/lib",
	        "../../nvidia/cu13/lib",
	        "../extras/CUPTI/lib64",
	        "../../../extras/CUPTI/lib64",
	};

	for (int i = 0; i < survey.dir_count; i++)
		for (size_t k = 0; k < sizeof(beside) / sizeof(beside[0]); k++)
			if (try_dir(survey.dir[i], beside[k], major, driver, inout_reason, ret_api))
				return true;
	return false;
}

static bool try_system(int major, int driver, enum wt_reason *inout_reason,
                       struct wt_cupti_api *ret_api)
{
	static const char *const sub[] = {"lib64", "extras/CUPTI/lib64"};
	char pattern[64];
	glob_t found;
	bool is_found = false;

	for (size_t k = 0; k < 2; k++)
		if (try_dir("/usr/local/cuda", sub[k], major, driver, inout_reason, ret_api))
			return true;
	snprintf(pattern, sizeof(pattern), "/usr/local/cuda-%d.*", major);
	if (wt_libc_glob(pattern, 0, NULL, &found))
		return false;
	for (size_t i = found.gl_pathc; i-- > 0 && !is_found;) /* the newest minor first */
		for (size_t k = 0; k < 2 && !is_found; k++)
			is_found = try_dir(found.gl_pathv[i], sub[k], major, driver, inout_reason,
			                   ret_api);
	globfree(&found);
	return is_found;
}

static bool try_soname(int major, int driver, enum wt_reason *inout_reason,
                       struct wt_cupti_api *ret_api)
{
	char soname[32];
	enum wt_reason reason;

	snprintf(soname, sizeof(soname), "libcupti.so.%d", major);
	reason = try_library(soname, RTLD_NOW | RTLD_LOCAL, driver, ret_api);
	if (reason != WT_REASON_CUPTI_NOT_FOUND)
		*inout_reason = reason;
	return reason == WT_REASON_NONE;
}

enum wt_reason wt_cupti_find(uintptr_t hint, struct wt_cupti_api *ret_api)
{
	const char *given = secure_getenv("WAVETAP_CUPTI");
	int driver = driver_major();
	enum wt_reason reason;

	dl_iterate_phdr(survey_object, NULL);
	/* A second copy beside a loaded one would split the records between two sets of buffers. */
	if (survey.loaded_count)
		return find_loaded(hint, driver, ret_api);
	if (given && given[0])
		return try_library(given, RTLD_NOW | RTLD_LOCAL, driver, ret_api);
	reason = WT_REASON_CUPTI_NOT_FOUND;
	for (int major = driver ? driver : 13; major >= OLDEST_MAJOR; major--)
		if (try_beside(major, driver, &reason, ret_api) ||
		    try_soname(major, driver, &reason, ret_api) ||
		    try_system(major, driver, &reason, ret_api))
			return WT_REASON_NONE;
	return reason;
}
