/*
 * test_lookup.c - what dlsym and cuGetProcAddress answer with the library preloaded: our entry
 * exactly for the driver's entries on the list, the real answer for everything else, and
 * RTLD_NEXT as if we were not there.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "libintercept/cuda_abi.h"
#include "schema/wt_api.h"
#include "tests/tap.h"
#include "tests/unit/preload_case.h"

static const char *const hooked[] = {
#define WT_HOOK(id, symbol, class, params, args, handle, other, bytes) #symbol,
#include "schema/wt_hooks.def"
};
#define HOOKED_COUNT (sizeof(hooked) / sizeof(hooked[0]))

static bool is_ours(const void *address)
{
	return !strcmp(case_module_of(address), "libwavetap.so");
}

static bool is_drivers(const void *address)
{
	return !strcmp(case_module_of(address), "libcuda.so.1");
}

static void *open_beside(const char *name)
{
	const char *top = getenv("top_builddir");
	char path[4096];
	void *library;

	snprintf(path, sizeof(path), "%s/tests/unit/%s", top ? top : ".", name);
	library = dlopen(path, RTLD_NOW);
	if (!library)
		printf("# %s\n", dlerror());
	return library;
}

/* ---- dlsym without a driver */

static void *look_often(void *library)
{
	int (*chain_next)(void) = (int (*)(void))dlsym(library, "chain_next");
	intptr_t wrong = 0;

	for (int i = 0; i < 1000; i++)
		wrong += chain_next() != 21;
	return (void *)wrong;
}

static void test_next(void *a)
{
	int (*chain_next)(void) = (int (*)(void))dlsym(a, "chain_next");
	pthread_t thread[8];
	intptr_t wrong = 0;

	is_i64(chain_next(), 21, "RTLD_NEXT finds the next one, not the caller's own");
	for (int i = 0; i < 8; i++)
		pthread_create(&thread[i], NULL, look_often, a);
	for (int i = 0; i < 8; i++) {
		void *result;

		pthread_join(thread[i], &result);
		wrong += (intptr_t)result;
	}
	is_i64(wrong, 0, "... each of 8,000 times, in 8 threads");
}

static void test_without_driver(void *a)
{
	const char *error;

	ok(!dlsym(RTLD_DEFAULT, "cuLaunchKernel"),
	   "no driver: RTLD_DEFAULT finds no cuLaunchKernel");
	error = dlerror();
	ok(error && strstr(error, "cuLaunchKernel"), "... and dlerror says so");
	ok(!dlsym(dlopen(NULL, RTLD_NOW), "cuGetProcAddress"), "nor does the program's own handle");
	dlerror();
	ok(!dlsym(a, "cuNoSuchFunction"), "an unlisted name that is missing");
	error = dlerror();
	ok(error && strstr(error, "cuNoSuchFunction"), "... leaves its error");
	ok(!dlsym(a, "cuLaunchKernel"), "a listed name that is missing in a library");
	error = dlerror();
	ok(error && strstr(error, "cuLaunchKernel"), "... leaves its error");
	ok(dlsym(a, "cudnnCreate") && !dlerror(), "no error after a success");
}

/* ---- dlsym with the driver */

static void test_handles(void *cuda, void *a)
{
	void *(*lookup)(void *, const char *) =
	        (void *(*)(void *, const char *))dlsym(a, "chain_lookup");
	int (*own)(void) = (int (*)(void))dlsym(a, "cuMemFree_v2");
	int (*cudnn)(void) = (int (*)(void))dlsym(a, "cudnnCreate");
	int swapped = 0, wrong = 0;

	for (size_t i = 0; i < HOOKED_COUNT; i++) {
		void *address = dlsym(cuda, hooked[i]);

		if (address && !is_ours(address))
			wrong++, printf("# %s is in %s\n", hooked[i], case_module_of(address));
		swapped += address != NULL;
	}
	ok(swapped > 40, "%d entries of the driver are on the list", swapped);
	is_i64(wrong, 0, "dlsym on the driver's handle answers with ours for each");
	ok(is_drivers(dlsym(cuda, "cuDeviceGetName")), "an unlisted entry stays the driver's");
	is_i64(own(), 201, "a library's own function of a listed name stays its own");
	is_i64(cudnn(), 101, "a name with the driver's prefix is left alone");
	ok(is_ours(lookup(cuda, "cuLaunchKernel")), "any library gets our entry");
	ok(dlsym(cuda, "cuLaunchKernel") != dlsym(cuda, "cuLaunchKernel_ptsz"),
	   "the twin for per-thread streams is another entry");
	ok(is_ours(dlsym(RTLD_DEFAULT, "cuLaunchKernel")),
	   "RTLD_DEFAULT finds ours once it is loaded");
}

/* ---- cuGetProcAddress */

static void test_arities(void *cuda)
{
	wtcu_get_proc_address_v2_fn v2;
	wtcu_get_proc_address_fn v1;
	void *first = NULL, *second = NULL, *third = NULL;
	int status = 77;

	*(void **)&v1 = dlsym(cuda, "cuGetProcAddress");
	*(void **)&v2 = dlsym(cuda, "cuGetProcAddress_v2");
	ok(is_ours((void *)v1) && is_ours((void *)v2) && (void *)v1 != (void *)v2,
	   "both forms of cuGetProcAddress are hooked");
	ok(!v2("cuGetProcAddress", &first, 11030, 0, &status) && first == (void *)v1,
	   "below version 12000 it names the form with four parameters");
	is_i64(status, WTCU_PROC_FOUND, "... and the driver's status arrives");
	ok(!v2("cuGetProcAddress", &second, 12000, 0, NULL) && second == (void *)v2,
	   "from 12000 on the one with five; the status may be NULL");
	ok(!v1("cuGetProcAddress", &third, 13000, 0) && third == (void *)v2,
	   "asked through the old form too");
}

static void test_versions(void *cuda)
{
	static const struct {
		const char *name;
		int version;
		uint64_t flags;
		const char *entry;
	} want[] = {
	        {"cuLaunchKernel", 13000, 0, "cuLaunchKernel"},
	        {"cuLaunchKernel", 13000, WTCU_GET_PROC_LEGACY_STREAM, "cuLaunchKernel"},
	        {"cuLaunchKernel", 13000, WTCU_GET_PROC_PER_THREAD_DEFAULT_STREAM,
	         "cuLaunchKernel_ptsz"},
	        {"cuGraphLaunch", 12000, WTCU_GET_PROC_PER_THREAD_DEFAULT_STREAM,
	         "cuGraphLaunch_ptsz"},
	        {"cuCtxCreate", 2000, 0, "cuCtxCreate"},
	        {"cuCtxCreate", 3020, 0, "cuCtxCreate_v2"},
	        {"cuCtxCreate", 11040, 0, "cuCtxCreate_v3"},
	        {"cuCtxCreate", 13000, 0, "cuCtxCreate_v4"},
	        {"cuMemAlloc", 13000, 0, "cuMemAlloc_v2"},
	};
	wtcu_get_proc_address_v2_fn get;

	*(void **)&get = dlsym(cuda, "cuGetProcAddress_v2");
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		void *got = NULL, *entry = dlsym(cuda, want[i].entry);

		get(want[i].name, &got, want[i].version, want[i].flags, NULL);
		ok(got && got == entry && is_ours(got), "%s at %d, flags %d: our %s", want[i].name,
		   want[i].version, (int)want[i].flags, want[i].entry);
	}
}

static void test_refusals(void *cuda)
{
	wtcu_get_proc_address_v2_fn get;
	void *untouched = &get, *found = NULL;
	int status = 77;

	*(void **)&get = dlsym(cuda, "cuGetProcAddress_v2");
	errno = 55;
	ok(get("cuNoSuchFunction", &untouched, 13000, 0, &status) != 0 || !untouched,
	   "a name the driver doesn't know");
	is_i64(status, WTCU_PROC_NOT_FOUND, "... has the driver's status");
	ok(get("cuLaunchKernel", NULL, 13000, 0, NULL) != 0,
	   "a NULL result is the driver's to refuse");
	ok(get(NULL, &found, 13000, 0, NULL) != 0, "so is a NULL name");
	found = &get;
	is_i64(get("cuLaunchKernel", &found, 99000, 0, NULL), WTCU_ERROR_INVALID_VALUE,
	       "so is a version above the driver's");
	status = 77;
	found = &get;
	ok(!get("cuLaunchKernelEx", &found, 10000, 0, &status) && !found,
	   "too old a version: a success with NULL");
	is_i64(status, WTCU_PROC_VERSION_NOT_SUFFICIENT, "... and the driver's status");
	ok(!get("cuDeviceGetName", &found, 13000, 0, NULL) && is_drivers(found),
	   "an unlisted entry stays the driver's");
	is_i64(errno, 55, "errno is kept");
}

/* ---- every entry is the one it says */

static void test_records(const struct case_gpu *gpu)
{
	struct wtcu_launch_config config = {
	        .grid_x = 3, .grid_y = 2, .grid_z = 1, .block_x = 64, .block_y = 1, .block_z = 1};
	int (*ptsz)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
	            void *, void **, void **);
	int (*ex)(const void *, void *, void **, void **);
	struct case_segment segment;
	const struct wt_launch *last;

	*(void **)&ptsz = dlsym(gpu->library, "cuLaunchKernel_ptsz");
	*(void **)&ex = dlsym(gpu->library, "cuLaunchKernelEx");
	errno = 66;
	is_i64(case_gpu_launch(gpu), 0, "a launch");
	is_i64(errno, 66, "errno is kept by the launch that makes the segment");
	ptsz(gpu->function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
	ok(ex(NULL, gpu->function, NULL, NULL) != 0,
	   "a NULL configuration is the driver's to refuse");
	is_i64(ex(&config, gpu->function, NULL, NULL), 0, "cuLaunchKernelEx without attributes");
	if (!ok(case_segment_map(getpid(), &segment), "the process has a segment"))
		return;
	is_i64(case_launch_count(&segment, WT_API_cuLaunchKernel), 1, "one by cuLaunchKernel");
	is_i64(case_launch_count(&segment, WT_API_cuLaunchKernel_ptsz), 1, "one by its twin");
	is_i64(case_launch_count(&segment, WT_API_cuLaunchKernelEx), 2, "two by cuLaunchKernelEx");
	is_i64(wt_load_relaxed(&segment.producer->launch_attempted), 4, "four attempted");
	last = (const void *)segment.cells[segment.tail - 1].payload;
	ok(last->grid[0] == 3 && last->grid[1] == 2 && last->block[0] == 64 && !last->result,
	   "geometry and result are the call's");
	ok(last->entry_ns && last->return_ns >= last->entry_ns, "entry before return");
	last = (const void *)segment.cells[segment.tail - 2].payload;
	ok(last->flags & WT_FLAG_NULL_CONFIG && last->result, "the refused one is marked");
}

int main(int argc, char **argv)
{
	struct case_gpu gpu;
	void *a, *b;

	(void)argc;
	preload_case_start(argv, NULL);
	b = open_beside("lookup_chain_b.so"); /* which the first one needs */
	a = open_beside("lookup_chain_a.so");
	if (!ok(a && b, "the libraries of the test load"))
		return tap_done();
	test_next(a);
	test_without_driver(a);
	case_gpu_open(&gpu);
	test_handles(gpu.library, a);
	test_arities(gpu.library);
	test_versions(gpu.library);
	test_refusals(gpu.library);
	test_records(&gpu);
	return tap_done();
}
