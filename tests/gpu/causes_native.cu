/*
 * causes_native.cu - what PyTorch can't be made to do, or not fast enough, for causes_check.py: grids
 * of a chosen size alone and side by side on two streams, two streams that wait for each other after
 * every kernel, and kernels back to back with and without programmatic dependent launch (compute
 * capability 9.0 and above).
 *
 * Prints a CAUSES line for each, as causes.py does. 77: no device. One thread.
 */
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t error_ = (call);                                                       \
		if (error_ != cudaSuccess) {                                                       \
			fprintf(stderr, "causes_native: %s: %s\n", #call,                          \
			        cudaGetErrorString(error_));                                       \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

__device__ static void spin(uint64_t ns)
{
	uint64_t start, now;

	asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
	do {
		asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
	} while (now - start < ns);
}

/* One block an SM: it asks for most of the shared memory. */
__global__ void causes_half(uint64_t ns)
{
	spin(ns);
}

__global__ void causes_plain(uint64_t ns)
{
	spin(ns);
}

/* Lets the next one come at once, and then waits for the one before. */
__global__ void causes_dependent(uint64_t ns)
{
#if __CUDA_ARCH__ >= 900
	asm volatile("griddepcontrol.launch_dependents;");
	spin(ns);
	asm volatile("griddepcontrol.wait;");
#else
	spin(ns);
#endif
}

static void report(const char *part, int64_t from_ns, int64_t to_ns, const char *more)
{
	printf("CAUSES {\"part\": \"%s\", \"from_ns\": %lld, \"to_ns\": %lld, %s}\n", part,
	       (long long)from_ns, (long long)to_ns, more);
	fflush(stdout);
}

/* Kernels of half the SMs on `streams` streams at a time. */
static void run_half(const char *part, int sms, int smem_bytes, int stream_count, const char *more)
{
	cudaStream_t streams[2];
	int64_t from_ns = 0;

	CHECK(cudaFuncSetAttribute(causes_half, cudaFuncAttributeMaxDynamicSharedMemorySize,
	                           smem_bytes));
	for (int s = 0; s < stream_count; s++)
		CHECK(cudaStreamCreateWithFlags(&streams[s], cudaStreamNonBlocking));
	for (int round = 0; round < 2; round++) {
		CHECK(cudaDeviceSynchronize());
		usleep(50000);
		from_ns = now_ns();
		for (int i = 0; i < (round ? 800 : 10); i++)
			for (int s = 0; s < stream_count; s++)
				causes_half<<<sms / 2, 128, smem_bytes, streams[s]>>>(500000);
		CHECK(cudaGetLastError());
		CHECK(cudaDeviceSynchronize());
	}
	report(part, from_ns, now_ns(), more);
	for (int s = 0; s < stream_count; s++)
		CHECK(cudaStreamDestroy(streams[s]));
}

static void launch(cudaStream_t stream, int sms, int smem_bytes, bool is_dependent)
{
	cudaLaunchConfig_t config = {};
	cudaLaunchAttribute attribute = {};

	config.gridDim = dim3(sms);
	config.blockDim = dim3(128);
	config.dynamicSmemBytes = smem_bytes;
	config.stream = stream;
	attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
	attribute.val.programmaticStreamSerializationAllowed = 1;
	config.attrs = &attribute;
	config.numAttrs = is_dependent ? 1 : 0;
	CHECK(cudaLaunchKernelEx(&config, is_dependent ? causes_dependent : causes_plain,
	                         (uint64_t)20000));
}

/* Two blocks fit on an SM, so that the next kernel has room beside the one that runs. */
static void run_chain(const char *part, int sms, int smem_bytes, bool is_dependent,
                      const char *more)
{
	cudaStream_t stream;
	int64_t from_ns = 0;

	CHECK(cudaFuncSetAttribute(is_dependent ? causes_dependent : causes_plain,
	                           cudaFuncAttributeMaxDynamicSharedMemorySize, smem_bytes));
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (int round = 0; round < 2; round++) {
		CHECK(cudaDeviceSynchronize());
		usleep(50000);
		from_ns = now_ns();
		for (int i = 0; i < (round ? 30000 : 100); i++)
			launch(stream, sms, smem_bytes, is_dependent);
		CHECK(cudaDeviceSynchronize());
	}
	report(part, from_ns, now_ns(), more);
	CHECK(cudaStreamDestroy(stream));
}

/* Each kernel waits for the one before, which is on the other stream; all is launched well ahead. */
static void run_events(const char *part, int sms, int smem_bytes, const char *more)
{
	cudaStream_t streams[2];
	cudaEvent_t events[2];
	int64_t from_ns = 0;

	CHECK(cudaFuncSetAttribute(causes_plain, cudaFuncAttributeMaxDynamicSharedMemorySize,
	                           smem_bytes));
	for (int s = 0; s < 2; s++) {
		CHECK(cudaStreamCreateWithFlags(&streams[s], cudaStreamNonBlocking));
		CHECK(cudaEventCreateWithFlags(&events[s], cudaEventDisableTiming));
	}
	for (int round = 0; round < 2; round++) {
		CHECK(cudaDeviceSynchronize());
		usleep(50000);
		from_ns = now_ns();
		for (int i = 0; i < (round ? 15000 : 100); i++) {
			cudaStream_t stream = streams[i % 2];

			if (i)
				CHECK(cudaStreamWaitEvent(stream, events[(i + 1) % 2], 0));
			causes_plain<<<sms, 128, smem_bytes, stream>>>(40000);
			CHECK(cudaEventRecord(events[i % 2], stream));
		}
		CHECK(cudaGetLastError());
		CHECK(cudaDeviceSynchronize());
	}
	report(part, from_ns, now_ns(), more);
	for (int s = 0; s < 2; s++) {
		CHECK(cudaEventDestroy(events[s]));
		CHECK(cudaStreamDestroy(streams[s]));
	}
}

int main(void)
{
	int count = 0, sms, smem_bytes, major;

	if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0)
		return 77;
	CHECK(cudaSetDevice(0));
	CHECK(cudaFree(NULL));
	CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
	CHECK(cudaDeviceGetAttribute(&smem_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
	CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
	run_half("half-alone", sms, smem_bytes, 1, "\"expect\": [\"small-grid\"]");
	run_half("half-beside-half", sms, smem_bytes, 2, "\"expect\": [], \"threshold\": 3");
	run_events("events", sms, smem_bytes, "\"expect\": [\"dependency\"]");
	/* A bit less than half of an SM's: the driver keeps a KiB of each block. */
	run_chain("chain", sms, smem_bytes / 2 - 4096, false, "\"expect\": [\"turnaround\"]");
	if (major < 9) {
		printf("CAUSES {\"part\": \"chain-pdl\", \"skip\": \"compute capability under "
		       "9\"}\n");
		return 0;
	}
	run_chain("chain-pdl", sms, smem_bytes / 2 - 4096, true,
	          "\"expect\": null, \"less_gaps_than\": \"chain\"");
	return 0;
}
