/*
 * fake_case.c - see fake_case.h. The parent is single-threaded.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/fake_case.h"

#define BUFFER_BYTES 65536

struct case_api api;
struct case_found *found;

static void *library(const char *name)
{
	const char *top = getenv("top_builddir");
	char path[4096];
	void *handle;

	snprintf(path, sizeof(path), "%s/tests/fake/%s", top ? top : ".", name);
	handle = dlopen(path, RTLD_NOW);
	if (!handle) {
		fprintf(stderr, "# %s\n", dlerror());
		_exit(100);
	}
	return handle;
}

static void *symbol(void *handle, const char *name)
{
	void *address = dlsym(handle, name);

	if (!address) {
		fprintf(stderr, "# no %s\n", name);
		_exit(100);
	}
	return address;
}

void *case_symbol(const char *name)
{
	const char *from = !strncmp(name, "cupti", 5)  ? "libcupti.so.13"
	                   : !strncmp(name, "nvml", 4) ? "libnvidia-ml.so.1"
	                                               : "libcuda.so.1";

	return symbol(library(from), name);
}

static void api_bind(void)
{
	void *cuda = library("libcuda.so.1");
	void *cupti = library("libcupti.so.13");

#define BIND(name) *(void **)&api.name = symbol(!strncmp(#name, "cupti", 5) ? cupti : cuda, #name)
	BIND(cuInit);
	BIND(cuDevicePrimaryCtxRetain);
	BIND(cuCtxSetCurrent);
	BIND(cuCtxSynchronize);
	BIND(cuModuleLoadData);
	BIND(cuModuleGetFunction);
	BIND(cuOccupancyMaxActiveBlocksPerMultiprocessor);
	BIND(cuFuncSetAttribute);
	BIND(cuStreamCreate);
	BIND(cuStreamBeginCapture_v2);
	BIND(cuStreamEndCapture);
	BIND(cuGraphInstantiateWithFlags);
	BIND(cuMemAlloc_v2);
	BIND(cuMemcpyHtoD_v2);
	BIND(cuMemcpyDtoH_v2);
	BIND(cuLaunchHostFunc);
	BIND(cuLaunchKernel);
	BIND(cuLaunchKernel_ptsz);
	BIND(cuLaunchKernelEx);
	BIND(cuLaunchCooperativeKernel);
	BIND(cuGraphLaunch);
	BIND(cuGetProcAddress_v2);
	BIND(cuGetProcAddress);
	BIND(cuptiActivityRegisterCallbacks);
	BIND(cuptiActivityEnable);
	BIND(cuptiActivityDisable);
	BIND(cuptiActivityEnableDriverApi);
	BIND(cuptiActivityEnableRuntimeApi);
	BIND(cuptiActivityFlushAll);
	BIND(cuptiActivityGetNextRecord);
	BIND(cuptiActivityGetNumDroppedRecords);
	BIND(cuptiActivityPushExternalCorrelationId);
	BIND(cuptiSubscribe);
	BIND(cuptiGetTimestamp);
	BIND(cuptiFinalize);
	BIND(wtfake_runtime_begin);
	BIND(wtfake_runtime_end);
#undef BIND
}

static void truth_read(const char *path)
{
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		return;
	if (read(fd, found->truth, sizeof(found->truth) - 1) < 0)
		found->truth[0] = 0;
	close(fd);
}

static void child(const char *env, void (*fn)(void), const char *truth_path)
{
	const struct rlimit no_core = {0, 0};
	char *words = strdup(env);

	setrlimit(RLIMIT_CORE, &no_core);
	setenv("WTFAKE_TRUTH", truth_path, 1);
	for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
		putenv(word);
	api_bind();
	fn();
	truth_read(truth_path);
	_exit(0);
}

int case_run(const char *env, void (*fn)(void), struct case_found *ret_found)
{
	char truth_path[] = "/tmp/wtfake-truth-XXXXXX";
	int fd = mkstemp(truth_path);
	int status = -1;
	pid_t pid;

	found = mmap(NULL, sizeof(*found), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
	             0);
	if (fd < 0 || found == MAP_FAILED)
		return -1;
	close(fd);
	fflush(stdout);
	pid = fork();
	if (!pid)
		child(env, fn, truth_path);
	waitpid(pid, &status, 0);
	unlink(truth_path);
	if (ret_found)
		*ret_found = *found;
	munmap(found, sizeof(*found));
	return status;
}

void case_must(int result, const char *what)
{
	if (!result)
		return;
	fprintf(stderr, "# %s gave %d\n", what, result);
	_exit(101);
}

wtcu_function case_start(const char *directive)
{
	char ptx[512];
	wtcu_context context;
	wtcu_module module;
	wtcu_function f;

	snprintf(ptx, sizeof(ptx),
	         ".version 6.0\n.target sm_60\n.address_size 64\n.visible .entry k() "
	         "{ ret; }\n"
	         "// wtfake: kernel=k %s\n",
	         directive);
	MUST(api.cuInit(0));
	MUST(api.cuDevicePrimaryCtxRetain(&context, 0));
	MUST(api.cuCtxSetCurrent(context));
	MUST(api.cuModuleLoadData(&module, ptx));
	MUST(api.cuModuleGetFunction(&f, module, "k"));
	return f;
}

wtcu_result case_launch(wtcu_function f, unsigned int grid, unsigned int block, wtcu_stream stream)
{
	return api.cuLaunchKernel(f, grid, 1, 1, block, 1, 1, 0, stream, NULL, NULL);
}

/* ---- reading records ----------------------------------------------------------------- */

static void on_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*buffer = aligned_alloc(8, BUFFER_BYTES);
	*size = BUFFER_BYTES;
	*max_records = 0;
}

static void kernel_take(const struct wtcupti_activity_kernel *k, size_t bytes)
{
	struct case_kernel *to = &found->kernel[found->kernel_count];

	if (found->kernel_count == CASE_KERNELS_MAX)
		return;
	to->correlation = k->correlation_id;
	to->stream_id = k->stream_id;
	to->graph_id = k->graph_id;
	to->node_id = k->graph_node_id;
	to->start_ns = (int64_t)k->start;
	to->end_ns = (int64_t)k->end;
	to->bytes = (uint32_t)bytes;
	found->kernel_count++;
}

static void record_take(const struct wtcupti_activity *record, size_t bytes)
{
	const struct wtcupti_activity_api *call = (const void *)record;

	switch (record->kind) {
	case WTCUPTI_KIND_CONCURRENT_KERNEL:
		kernel_take((const void *)record, bytes);
		break;
	case WTCUPTI_KIND_DRIVER:
		if (found->call_count < 64) {
			found->call_correlation[found->call_count] = call->correlation_id;
			found->call_result[found->call_count++] = (int32_t)call->return_value;
		}
		break;
	case WTCUPTI_KIND_RUNTIME:
		found->runtime = *call;
		found->runtime_count++;
		break;
	case WTCUPTI_KIND_EXTERNAL_CORRELATION:
		found->external_count++;
		break;
	case WTCUPTI_KIND_MEMCPY:
		found->memcpy_count++;
		break;
	case WTCUPTI_KIND_SYNCHRONIZATION:
		found->sync_count++;
		break;
	case WTCUPTI_KIND_CONTEXT:
		found->context_count++;
		break;
	}
}

static void on_complete(wtcu_context context, uint32_t stream_id, uint8_t *buffer, size_t size,
                        size_t valid)
{
	struct wtcupti_activity *record = NULL;
	struct wtcupti_activity *next = NULL;

	(void)context, (void)stream_id, (void)size;
	if (api.cuptiActivityGetNextRecord(buffer, valid, &record))
		record = NULL;
	while (record) {
		uint8_t *end = buffer + valid;

		next = record;
		if (!api.cuptiActivityGetNextRecord(buffer, valid, &next))
			end = (uint8_t *)next;
		else
			next = NULL;
		record_take(record, (size_t)(end - (uint8_t *)record));
		record = next;
	}
	free(buffer);
}

void case_watch(const int *kinds, int count)
{
	MUST(api.cuptiActivityRegisterCallbacks(on_request, on_complete));
	for (int i = 0; i < count; i++)
		MUST(api.cuptiActivityEnable(kinds[i]));
}

void case_flush(uint32_t flag)
{
	MUST(api.cuptiActivityFlushAll(flag));
}
