/*
 * cover.cu - the ways in which programs launch through the CUDA runtime, one per argument.
 *
 * Each prints how many launches it made and how many kernels must have run; the suite compares
 * that with what wavetap hooked and what CUPTI recorded (README.md, section `coverage`). Built
 * three times: with the static runtime, the shared one, and for the per-thread default stream.
 *
 * Build: nvcc -O2 -arch=sm_90 [-cudart shared] [--default-stream per-thread] -o cover cover.cu
 * Usage: cover launch | streams | threads | cooperative | cluster | capture | explicit | child |
 *        if | while | params | update | contexts
 * Exit:  0 done, 1 a CUDA call failed, 2 usage, 77 not possible here
 */
#include <cstring>
#include <thread>
#include <vector>

#include <cooperative_groups.h>

#include "cover.h"

#define THREADS_AT_ONCE 8

__device__ int ran;

extern "C" __global__ void cover_plain()
{
	if (!threadIdx.x && !blockIdx.x)
		atomicAdd(&ran, 1);
}

extern "C" __global__ void cover_other(int units)
{
	for (int i = 0; i < units; i++)
		__nanosleep(200);
}

extern "C" __global__ void cover_grid_sync()
{
	cooperative_groups::this_grid().sync();
}

extern "C" __global__ void cover_set(cudaGraphConditionalHandle handle, unsigned int value)
{
	cudaGraphSetConditional(handle, value);
}

/* True for `limit` times, then false. */
extern "C" __global__ void cover_count(cudaGraphConditionalHandle handle, int *count, int limit)
{
	*count += 1;
	cudaGraphSetConditional(handle, *count % limit != 0);
}

/* ---- streams and threads */

static void run_launch()
{
	cudaStream_t streams[2];

	for (auto &stream : streams)
		CHECK(cudaStreamCreate(&stream));
	for (int i = 0; i < 600; i++) {
		cover_plain<<<1 + i % 300, 64 + 32 * (i % 3)>>>();
		launched();
		cover_other<<<132, 128, 1024, streams[i % 2]>>>(i % 4);
		launched();
	}
}

static void run_streams()
{
	for (int i = 0; i < 400; i++) {
		cudaStream_t stream;

		CHECK(cudaStreamCreateWithFlags(&stream,
		                                i % 2 ? cudaStreamNonBlocking : cudaStreamDefault));
		for (int k = 0; k < 3; k++) {
			cover_other<<<33, 64, 0, stream>>>(k);
			launched();
		}
		CHECK(cudaStreamDestroy(stream));
	}
}

static void run_threads()
{
	for (int i = 0; i < 1000; i += THREADS_AT_ONCE) {
		std::vector<std::thread> threads;

		for (int k = 0; k < THREADS_AT_ONCE; k++)
			threads.emplace_back([] {
				for (int n = 0; n < 3; n++) {
					cover_plain<<<20, 64>>>();
					launched();
				}
			});
		for (auto &thread : threads)
			thread.join();
	}
}

/* Contexts through the runtime: the primary one of each device, reset and made anew. */
static void run_contexts()
{
	int devices;

	CHECK(cudaGetDeviceCount(&devices));
	for (int round = 0; round < 3; round++) {
		for (int device = 0; device < devices; device++) {
			CHECK(cudaSetDevice(device));
			for (int i = 0; i < 50; i++) {
				cover_plain<<<10 + i, 64>>>();
				launched();
			}
			CHECK(cudaDeviceSynchronize());
			CHECK(cudaDeviceReset());
		}
	}
	CHECK(cudaSetDevice(0));
}

/* ---- special launches */

static void run_cooperative()
{
	int sms;

	CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
	for (int i = 0; i < 100; i++) {
		CHECK(cudaLaunchCooperativeKernel((const void *)cover_grid_sync,
		                                  dim3(i % 2 ? sms : sms / 2), dim3(128), nullptr,
		                                  0, 0));
		launched();
	}
}

/* Clusters of 2 to 8, every other launch with programmatic stream serialisation. */
static void run_cluster()
{
	for (int i = 0; i < 200; i++) {
		cudaLaunchAttribute attributes[2] = {};
		cudaLaunchConfig_t config = {};

		attributes[0].id = cudaLaunchAttributeClusterDimension;
		attributes[0].val.clusterDim.x = 2u << (i % 3);
		attributes[0].val.clusterDim.y = attributes[0].val.clusterDim.z = 1;
		attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
		attributes[1].val.programmaticStreamSerializationAllowed = 1;
		config.gridDim = dim3(64 + 8 * (i % 10));
		config.blockDim = dim3(256);
		config.attrs = attributes;
		config.numAttrs = 1 + i % 2;
		CHECK(cudaLaunchKernelEx(&config, cover_other, i % 3));
		launched();
	}
}

/* ---- graphs */

static cudaGraphExec_t instantiate(cudaGraph_t graph)
{
	cudaGraphExec_t exec;

	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	return exec;
}

static void run_capture()
{
	cudaStream_t stream, side;
	cudaEvent_t fork, join;
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaStreamCreate(&side));
	CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
	CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	CHECK(cudaEventRecord(fork, stream));
	CHECK(cudaStreamWaitEvent(side, fork, 0));
	for (int i = 0; i < 10; i++) {
		cover_plain<<<10 + i, 64, 0, stream>>>();
		launched_into_capture();
		cover_other<<<20 + i, 64, 0, side>>>(1); /* joined the capture by the event */
		launched_into_capture();
	}
	CHECK(cudaEventRecord(join, side));
	CHECK(cudaStreamWaitEvent(stream, join, 0));
	CHECK(cudaStreamEndCapture(stream, &graph));
	exec = instantiate(graph);
	for (int i = 0; i < 100; i++)
		replay(exec, stream, 20);
	CHECK(cudaStreamSynchronize(stream));
	cover_plain<<<132, 64>>>(); /* the same kernel, on its own */
	launched();
}

static cudaGraphNode_t add_kernel(cudaGraph_t graph, const cudaGraphNode_t *after,
                                  const void *function, int grid, void **params)
{
	cudaKernelNodeParams node = {};
	cudaGraphNode_t added;

	node.func = (void *)function;
	node.gridDim = dim3(grid);
	node.blockDim = dim3(64);
	node.kernelParams = params;
	CHECK(cudaGraphAddKernelNode(&added, graph, after, after ? 1 : 0, &node));
	return added;
}

/* A chain of plain kernels on grids of `grid`, `grid` + 1, ... */
static cudaGraph_t chain(int count, int grid, cudaGraphNode_t *nodes)
{
	cudaGraphNode_t last = nullptr;
	cudaGraph_t graph;

	CHECK(cudaGraphCreate(&graph, 0));
	for (int i = 0; i < count; i++) {
		last = add_kernel(graph, last ? &last : nullptr, (const void *)cover_plain,
		                  grid + i, nullptr);
		if (nodes)
			nodes[i] = last;
	}
	return graph;
}

static void run_explicit()
{
	cudaGraphExec_t exec = instantiate(chain(25, 30, nullptr));

	for (int i = 0; i < 100; i++)
		replay(exec, 0, 25);
}

static void run_child()
{
	cudaGraph_t inner = chain(4, 10, nullptr), middle = chain(2, 100, nullptr),
	            outer = chain(3, 200, nullptr);
	cudaGraphNode_t node;
	cudaGraphExec_t exec;

	CHECK(cudaGraphAddChildGraphNode(&node, middle, nullptr, 0, inner));
	CHECK(cudaGraphAddChildGraphNode(&node, outer, nullptr, 0, middle));
	CHECK(cudaGraphAddChildGraphNode(&node, outer, &node, 1, middle));
	exec = instantiate(outer);
	for (int i = 0; i < 50; i++)
		replay(exec, 0, 3 + 2 * (2 + 4));
}

/* A conditional node after `after`; its body. */
static cudaGraph_t add_conditional(cudaGraph_t graph, cudaGraphNode_t after,
                                   cudaGraphConditionalHandle handle,
                                   cudaGraphConditionalNodeType type)
{
	cudaGraphNodeParams params = {};
	cudaGraphNode_t node;

	params.type = cudaGraphNodeTypeConditional;
	params.conditional.handle = handle;
	params.conditional.type = type;
	params.conditional.size = 1;
#if CUDART_VERSION >= 13000
	CHECK(cudaGraphAddNode(&node, graph, after ? &after : nullptr, nullptr, after ? 1 : 0,
	                       &params));
#else
	CHECK(cudaGraphAddNode(&node, graph, after ? &after : nullptr, after ? 1 : 0, &params));
#endif
	return params.conditional.phGraph_out[0];
}

/* A kernel that says 0 or 1, then a body of two kernels. */
static void run_if()
{
	for (unsigned int value = 0; value < 2; value++) {
		cudaGraphConditionalHandle handle;
		cudaGraphExec_t exec;
		cudaGraph_t graph, body;
		cudaGraphNode_t set, first;
		void *params[] = {&handle, &value};

		CHECK(cudaGraphCreate(&graph, 0));
		CHECK(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0));
		set = add_kernel(graph, nullptr, (const void *)cover_set, 1, params);
		body = add_conditional(graph, set, handle, cudaGraphCondTypeIf);
		first = add_kernel(body, nullptr, (const void *)cover_plain, 11, nullptr);
		add_kernel(body, &first, (const void *)cover_plain, 12, nullptr);
		exec = instantiate(graph);
		for (int i = 0; i < 40; i++)
			replay(exec, 0, 1 + 2 * value);
		CHECK(cudaDeviceSynchronize());
	}
}

/* Seven times round: a kernel, and the one that counts. */
static void run_while()
{
	const int limit = 7;
	cudaGraphConditionalHandle handle;
	cudaGraphExec_t exec;
	cudaGraph_t graph, body;
	cudaGraphNode_t first;
	int *count, limit_value = limit;
	void *params[] = {&handle, &count, &limit_value};

	CHECK(cudaMalloc(&count, sizeof(*count)));
	CHECK(cudaMemset(count, 0, sizeof(*count)));
	CHECK(cudaGraphCreate(&graph, 0));
	CHECK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
	body = add_conditional(graph, nullptr, handle, cudaGraphCondTypeWhile);
	first = add_kernel(body, nullptr, (const void *)cover_plain, 15, nullptr);
	add_kernel(body, &first, (const void *)cover_count, 1, params);
	exec = instantiate(graph);
	for (int i = 0; i < 40; i++)
		replay(exec, 0, 2 * limit);
}

/* The geometry of single nodes changes between replays. */
static void run_params()
{
	cudaGraphNode_t nodes[4];
	cudaGraphExec_t exec = instantiate(chain(4, 50, nodes));

	for (int i = 0; i < 60; i++) {
		cudaKernelNodeParams node = {};

		node.func = (void *)cover_plain;
		node.gridDim = dim3(500 + i);
		node.blockDim = dim3(32 + 32 * (i % 4));
		CHECK(cudaGraphExecKernelNodeSetParams(exec, nodes[i % 4], &node));
		replay(exec, 0, 4);
	}
}

static void run_update()
{
	cudaGraphExec_t exec = instantiate(chain(4, 50, nullptr));

	for (int i = 0; i < 60; i++) {
		cudaGraphExecUpdateResultInfo result;
		cudaGraph_t changed = chain(4, 1000 + 10 * i, nullptr);

		CHECK(cudaGraphExecUpdate(exec, changed, &result));
		CHECK(cudaGraphDestroy(changed));
		replay(exec, 0, 4);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)();
	} commands[] = {
	        {"launch", run_launch},
	        {"streams", run_streams},
	        {"threads", run_threads},
	        {"contexts", run_contexts},
	        {"cooperative", run_cooperative},
	        {"cluster", run_cluster},
	        {"capture", run_capture},
	        {"explicit", run_explicit},
	        {"child", run_child},
	        {"if", run_if},
	        {"while", run_while},
	        {"params", run_params},
	        {"update", run_update},
	};

	for (auto &command : commands) {
		if (argc != 2 || strcmp(argv[1], command.name))
			continue;
		need_device();
		command.run();
		return finish();
	}
	fprintf(stderr,
	        "usage: cover launch | streams | threads | cooperative | cluster | capture | "
	        "explicit | child | if | while | params | update | contexts\n");
	return 2;
}
