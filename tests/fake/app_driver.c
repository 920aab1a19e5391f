/*
 * app_driver.c - see app_driver.h. Single-threaded.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fake/app_driver.h"

#define EXIT_NO_DRIVER 77

struct app_driver app;

static void *libcuda(void)
{
	void *handle = dlopen("libcuda.so.1", RTLD_NOW);

	if (!handle) {
		fprintf(stderr, "no CUDA driver: %s\n", dlerror());
		exit(EXIT_NO_DRIVER);
	}
	return handle;
}

static void *symbol_needed(const char *symbol)
{
	void *address = dlsym(libcuda(), symbol);

	if (!address) {
		fprintf(stderr, "the CUDA driver lacks %s\n", symbol);
		exit(1);
	}
	return address;
}

#ifdef APP_LINKED
#define APP_FN(field, symbol, name, version, params) extern wtcu_result symbol params;
APP_FUNCTIONS
#undef APP_FN

static void load_linked(void)
{
#define APP_FN(field, symbol, name, version, params) app.field = symbol;
	APP_FUNCTIONS
#undef APP_FN
}
#else
static void load_linked(void)
{
	fprintf(stderr, "--how link: use the program built with the driver linked in\n");
	exit(2);
}
#endif

static void load_dlsym(void)
{
#define APP_FN(field, symbol, name, version, params) *(void **)&app.field = symbol_needed(#symbol);
	APP_FUNCTIONS
#undef APP_FN
}

/* As cudart does it: cuGetProcAddress is asked for by dlsym, and for itself once more. */
static void load_getproc(bool is_v2, uint64_t flags)
{
	wtcu_get_proc_address_v2_fn v2 = NULL;
	wtcu_get_proc_address_fn v1 = NULL;
	int status = 0;

	if (is_v2) {
		*(void **)&v2 = symbol_needed("cuGetProcAddress_v2");
		app_check(v2("cuGetProcAddress", (void **)&v2, 12000, flags, &status),
		          "cuGetProcAddress of itself");
	} else {
		*(void **)&v1 = symbol_needed("cuGetProcAddress");
		app_check(v1("cuGetProcAddress", (void **)&v1, 11030, flags),
		          "cuGetProcAddress of itself");
	}
#define APP_FN(field, symbol, name, version, params)                                               \
	app_check(v2 ? v2(name, (void **)&app.field, version, flags, &status)                      \
	             : v1(name, (void **)&app.field, version, flags),                              \
	          name);                                                                           \
	app_check(status || !app.field ? WTCU_ERROR_NOT_FOUND : WTCU_SUCCESS, name);
	APP_FUNCTIONS
#undef APP_FN
}

void app_load(const char *how)
{
	if (!strcmp(how, "link")) {
		load_linked();
	} else if (!strcmp(how, "dlsym")) {
		load_dlsym();
	} else if (!strcmp(how, "getproc")) {
		load_getproc(false, WTCU_GET_PROC_DEFAULT);
	} else if (!strcmp(how, "getproc_v2")) {
		load_getproc(true, WTCU_GET_PROC_DEFAULT);
	} else if (!strcmp(how, "ptsz")) {
		load_getproc(true, WTCU_GET_PROC_PER_THREAD_DEFAULT_STREAM);
	} else {
		fprintf(stderr, "--how: link, dlsym, getproc, getproc_v2 or ptsz\n");
		exit(2);
	}
}

void app_check(wtcu_result result, const char *what)
{
	if (!result)
		return;
	fprintf(stderr, "%s: CUDA error %d\n", what, result);
	exit(result == WTCU_ERROR_NO_DEVICE ? EXIT_NO_DRIVER : 1);
}

wtcu_module app_start(int device, const char *ptx)
{
	wtcu_context context;
	wtcu_device handle;
	wtcu_module module;

	APP_CHECK(app.init(0));
	APP_CHECK(app.device_get(&handle, device));
	APP_CHECK(app.primary_retain(&context, handle));
	APP_CHECK(app.ctx_set(context));
	APP_CHECK(app.module_load(&module, ptx));
	return module;
}
