/*
 * long_graph.cu NODES: so many nodes of empty kernels, a thousand to a graph, replayed back to back with at
 * most DEPTH replays under way. Prints each second, and at the end: seconds, nodes replayed, bytes in use on
 * the device (of all programs). Exit status: 0, 2 usage, 3 after an error of CUDA's, 77 no device.
 */
#include <cstdio>
#include <cstdlib>
#include <ctime>

#define GRAPH_NODES 1000
#define DEPTH 50

__global__ void long_node(void)
{
}

static void must(cudaError_t error, const char *what)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
	exit(error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver ? 77 : 3);
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void tell(double since_s, long nodes)
{
	size_t free_bytes, all_bytes;

	must(cudaMemGetInfo(&free_bytes, &all_bytes), "memory");
	printf("at\t%.1f\t%ld\t%zu\n", now_s() - since_s, nodes, all_bytes - free_bytes);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	long replays = argc == 2 ? atol(argv[1]) / GRAPH_NODES : 0;
	cudaEvent_t half[2];
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	cudaStream_t stream;
	double begin_s, told_s;

	if (replays <= 0) {
		fprintf(stderr, "usage: long_graph NODES (a thousand or more)\n");
		return 2;
	}
	must(cudaStreamCreate(&stream), "stream");
	for (cudaEvent_t &event : half)
		must(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "event");
	must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
	for (int i = 0; i < GRAPH_NODES; i++)
		long_node<<<1, 32, 0, stream>>>();
	must(cudaStreamEndCapture(stream, &graph), "capture");
	must(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
	begin_s = told_s = now_s();
	for (long i = 0; i < replays; i++) {
		must(cudaGraphLaunch(exec, stream), "replay");
		if (i % (DEPTH / 2) == 0) { /* the half before this one has ended, then */
			cudaEvent_t event = half[i / (DEPTH / 2) % 2];

			must(cudaEventSynchronize(event), "wait");
			must(cudaEventRecord(event, stream), "event");
		}
		if (now_s() - told_s >= 1) {
			told_s = now_s();
			tell(begin_s, (i + 1) * GRAPH_NODES);
		}
	}
	must(cudaStreamSynchronize(stream), "end");
	tell(begin_s, replays * GRAPH_NODES);
	printf("nodes=%ld seconds=%.3f\n", replays * GRAPH_NODES, now_s() - begin_s);
	return 0;
}
