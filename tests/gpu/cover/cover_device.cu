/*
 * cover_device.cu - launches made by kernels: dynamic parallelism, and graphs launched from the
 * device. No host call stands behind those, and CUPTI may have no record of them: the suite shows
 * what it does have. The host's own launches must be complete all the same.
 *
 * Build: nvcc -O2 -arch=sm_90 -rdc=true -o cover_device cover_device.cu -lcudadevrt
 * Usage: cover_device dynamic | device-graph
 * Exit:  0 done, 1 a CUDA call failed, 2 usage, 77 not possible here
 */
#include <cstring>

#include "cover.h"

#define PARENTS 50
#define CHILDREN 4

extern "C" __global__ void cover_child(int *ran)
{
	atomicAdd(ran, 1);
}

extern "C" __global__ void cover_parent(int *ran)
{
	for (int i = 0; i < CHILDREN; i++)
		cover_child<<<1, 1>>>(ran);
}

extern "C" __global__ void cover_launcher(cudaGraphExec_t exec)
{
	cudaGraphLaunch(exec, cudaStreamGraphFireAndForget);
}

static int *make_counter()
{
	int *ran;

	CHECK(cudaMalloc(&ran, sizeof(*ran)));
	CHECK(cudaMemset(ran, 0, sizeof(*ran)));
	return ran;
}

static int finish_with(int *ran, int wanted)
{
	char note[128];
	int value;

	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemcpy(&value, ran, sizeof(value), cudaMemcpyDeviceToHost));
	if (value != wanted) {
		fprintf(stderr, "%d kernels were launched by kernels, %d were wanted\n", value,
		        wanted);
		return 1;
	}
	snprintf(note, sizeof(note), ", \"device_kernels\": %d", value);
	return finish(note);
}

static int run_dynamic()
{
	int *ran = make_counter();

	for (int i = 0; i < PARENTS; i++) {
		cover_parent<<<1, 1>>>(ran);
		launched();
	}
	return finish_with(ran, PARENTS * CHILDREN);
}

/* A graph of one kernel that launches, from the device, a graph of one kernel. */
static int run_device_graph()
{
	cudaStream_t stream;
	cudaGraphExec_t inner, outer;
	cudaGraph_t graph;
	int *ran = make_counter();

	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	cover_child<<<1, 1, 0, stream>>>(ran);
	launched_into_capture();
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&inner, graph, cudaGraphInstantiateFlagDeviceLaunch));
	CHECK(cudaGraphUpload(inner, stream));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	cover_launcher<<<1, 1, 0, stream>>>(inner);
	launched_into_capture();
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&outer, graph, 0));
	for (int i = 0; i < PARENTS; i++) {
		replay(outer, stream, 1);
		CHECK(cudaStreamSynchronize(stream)); /* not twice at once */
	}
	return finish_with(ran, PARENTS);
}

int main(int argc, char **argv)
{
	if (argc == 2)
		need_device();
	if (argc == 2 && !strcmp(argv[1], "dynamic"))
		return run_dynamic();
	if (argc == 2 && !strcmp(argv[1], "device-graph"))
		return run_device_graph();
	fprintf(stderr, "usage: cover_device dynamic | device-graph\n");
	return 2;
}
