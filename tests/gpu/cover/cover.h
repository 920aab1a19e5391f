/*
 * cover.h - what the coverage programs share: checking calls, counting what they launch, and the
 * line that says it. One host thread unless a program says otherwise; counts are atomic.
 */
#ifndef COVER_H
#define COVER_H

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>

#define EXIT_SKIP 77

/* Calls of the launch family, graph launches apart; kernels that must have run. */
static std::atomic<long long> launches, captured, graph_launches, kernels;

#define CHECK(call)                                                                                \
	do {                                                                                       \
		cudaError_t error_ = (call);                                                       \
                                                                                                   \
		if (error_ != cudaSuccess) {                                                       \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,              \
			        cudaGetErrorString(error_));                                       \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* After a <<<>>> launch that runs. */
static inline void launched(long long count = 1)
{
	CHECK(cudaGetLastError());
	launches += count;
	kernels += count;
}

static inline void launched_into_capture(long long count = 1)
{
	CHECK(cudaGetLastError());
	launches += count;
	captured += count;
}

static inline void replay(cudaGraphExec_t exec, cudaStream_t stream, long long node_kernels)
{
	CHECK(cudaGraphLaunch(exec, stream));
	graph_launches++;
	kernels += node_kernels;
}

static inline void skip(const char *why)
{
	printf("SKIP %s\n", why);
	exit(EXIT_SKIP);
}

/* `note`: a JSON object's further members, beginning with a comma, or "". */
static inline int finish(const char *note = "")
{
	CHECK(cudaDeviceSynchronize());
	printf("COVER {\"launches\": %lld, \"captured\": %lld, \"graph_launches\": %lld, "
	       "\"kernels\": %lld%s}\n",
	       launches.load(), captured.load(), graph_launches.load(), kernels.load(), note);
	return fflush(stdout) ? 1 : 0;
}

static inline void need_device()
{
	int devices = 0;

	if (cudaGetDeviceCount(&devices) != cudaSuccess || !devices)
		skip("no CUDA device");
}

#endif /* COVER_H */
