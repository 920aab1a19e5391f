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

void *app_symbol(const char *symbol)
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
#define APP_FN(field, symbol, name, version, params) *(void **)&app.field = app_symbol(#symbol);
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
		*(void **)&v2 = app_symbol("cuGetProcAddress_v2");
		app_check(v2("cuGetProcAddress", (void **)&v2, 12000, flags, &status),
		          "cuGetProcAddress of itself");
	} else {
		*(void **)&v1 = app_symbol("cuGetProcAddress");
		app_check(v1("cuGetProcAddress", (void **)&v1, 11030, flags),
		          "cuGetProcAddress of itself");
	}
	app_check(v1 || v2 ? WTCU_SUCCESS : WTCU_ERROR_NOT_FOUND, "cuGetProcAddress");
#define APP_FN(field, symbol, name, version, params)                                               \
	app_check(v2 ? v2(name, (void **)&app.field, version, flags, &status)                      \
	             : v1(name, (void **)&app.field, version, flags),                              \
	          name);                                                                           \
	app_check(status || !app.field ? WTCU_ERROR_NOT_FOUND : WTCU_SUCCESS, name);
	APP_FUNCTIONS
#undef APP_FN
}

/* ---- as cudart does: each launch is a call of the runtime, as CUPTI sees it ------------- */

/* CUPTI's numbers of the runtime's launch calls. */
enum {
	CBID_cudaLaunchKernel_v7000 = 211,
	CBID_cudaLaunchCooperativeKernel_v9000 = 269,
	CBID_cudaGraphLaunch_v10000 = 311,
	CBID_cudaLaunchKernelExC_v11060 = 430,
};

static struct app_driver driver; /* what is called inside */
static void (*runtime_begin)(int cbid);
static void (*runtime_end)(int cbid, wtcu_result result);

static wtcu_result in_runtime(int cbid, wtcu_result result)
{
	runtime_end(cbid, result);
	return result;
}
#define IN_RUNTIME(cbid, call) (runtime_begin(cbid), in_runtime(cbid, call))

static wtcu_result runtime_launch(wtcu_function f, unsigned int gx, unsigned int gy,
                                  unsigned int gz, unsigned int bx, unsigned int by,
                                  unsigned int bz, unsigned int shared_bytes, wtcu_stream stream,
                                  void **params, void **extra)
{
	return IN_RUNTIME(
	        CBID_cudaLaunchKernel_v7000,
	        driver.launch(f, gx, gy, gz, bx, by, bz, shared_bytes, stream, params, extra));
}

static wtcu_result runtime_launch_ex(const struct wtcu_launch_config *config, wtcu_function f,
                                     void **params, void **extra)
{
	return IN_RUNTIME(CBID_cudaLaunchKernelExC_v11060,
	                  driver.launch_ex(config, f, params, extra));
}

static wtcu_result runtime_launch_cooperative(wtcu_function f, unsigned int gx, unsigned int gy,
                                              unsigned int gz, unsigned int bx, unsigned int by,
                                              unsigned int bz, unsigned int shared_bytes,
                                              wtcu_stream stream, void **params)
{
	return IN_RUNTIME(
	        CBID_cudaLaunchCooperativeKernel_v9000,
	        driver.launch_cooperative(f, gx, gy, gz, bx, by, bz, shared_bytes, stream, params));
}

static wtcu_result runtime_graph_launch(wtcu_graph_exec exec, wtcu_stream stream)
{
	return IN_RUNTIME(CBID_cudaGraphLaunch_v10000, driver.graph_launch(exec, stream));
}

static void load_cudart(void)
{
	*(void **)&runtime_begin = dlsym(libcuda(), "wtfake_runtime_begin");
	*(void **)&runtime_end = dlsym(libcuda(), "wtfake_runtime_end");
	if (!runtime_begin || !runtime_end) {
		fprintf(stderr, "--how cudart needs the simulated GPU; a real one has the real "
		                "cudart\n");
		exit(EXIT_NO_DRIVER);
	}
	load_getproc(true, WTCU_GET_PROC_DEFAULT);
	driver = app;
	app.launch = runtime_launch;
	app.launch_ex = runtime_launch_ex;
	app.launch_cooperative = runtime_launch_cooperative;
	app.graph_launch = runtime_graph_launch;
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
	} else if (!strcmp(how, "cudart")) {
		load_cudart();
	} else {
		fprintf(stderr, "--how: link, dlsym, getproc, getproc_v2, ptsz or cudart\n");
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
