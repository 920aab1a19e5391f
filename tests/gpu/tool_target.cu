/*
 * tool_target.cu [oob]: a program for debuggers and profilers to look at: 40 launches of two kernels, a
 * graph of 10 kernels replayed three times, one copy each way. Prints what it computed and how many
 * kernels ran; the names of its environment go to the file that TOOL_VARIABLES names. `oob`: one kernel writes a word behind its buffer, for memcheck to find.
 * Exit status: 0, or 3 after an error of CUDA's.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

#define COUNT 4096
#define LAUNCHES 40
#define NODES 10
#define REPLAYS 3

__global__ void tool_add(unsigned *values, int count, unsigned what)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		values[i] += what;
}

__global__ void tool_mix(unsigned *values, int count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < count)
		values[i] = values[i] * 2654435761u + 12345u;
}

static bool has_failed;

static void must(cudaError_t error, const char *what)
{
	if (error == cudaSuccess || has_failed)
		return;
	has_failed = true;
	printf("%s: %s\n", what, cudaGetErrorName(error));
}

static void launch(unsigned *values, int count, int number, cudaStream_t stream)
{
	if (number % 2)
		tool_mix<<<(count + 255) / 256, 256, 0, stream>>>(values, count);
	else
		tool_add<<<(count + 255) / 256, 256, 0, stream>>>(values, count, (unsigned)number);
	must(cudaGetLastError(), "launch");
}

static void replay(unsigned *values, cudaStream_t stream)
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
	for (int i = 0; i < NODES; i++)
		launch(values, COUNT, i, stream);
	must(cudaStreamEndCapture(stream, &graph), "capture");
	must(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
	for (int i = 0; i < REPLAYS && !has_failed; i++)
		must(cudaGraphLaunch(exec, stream), "replay");
}

/* What a tool has set: before anything else, for it may be taken away again. */
static void tell_variables(const char *path)
{
	FILE *file = path ? fopen(path, "w") : nullptr;

	if (!file)
		return;
	for (char **variable = environ; *variable; variable++)
		fprintf(file, "%.*s\n", (int)strcspn(*variable, "="), *variable);
	fclose(file);
}

int main(int argc, char **argv)
{
	static unsigned values[COUNT];
	bool is_oob = argc > 1 && !strcmp(argv[1], "oob");
	unsigned *on_device = nullptr, sum = 0;
	cudaStream_t stream;

	tell_variables(getenv("TOOL_VARIABLES"));
	must(cudaMalloc(&on_device, sizeof(values)), "malloc");
	must(cudaStreamCreate(&stream), "stream");
	must(cudaMemcpy(on_device, values, sizeof(values), cudaMemcpyHostToDevice), "copy");
	for (int i = 0; i < LAUNCHES && !has_failed; i++)
		launch(on_device, COUNT + (is_oob && i == LAUNCHES - 2), i, stream);
	must(cudaStreamSynchronize(stream), "synchronize");
	if (!has_failed)
		replay(on_device, stream);
	must(cudaStreamSynchronize(stream), "synchronize");
	must(cudaMemcpy(values, on_device, sizeof(values), cudaMemcpyDeviceToHost), "copy");
	for (unsigned value : values)
		sum += value;
	if (!has_failed)
		printf("kernels=%d sum=%u\n", LAUNCHES + NODES * REPLAYS, sum);
	return has_failed ? 3 : 0;
}
