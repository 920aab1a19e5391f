/*
 * app_demo.c - a program to watch with wavetap: kernels that leave SMs idle in
 * different ways, a graph, copies, and a storm of tiny launches.
 *
 * Plain C on the CUDA driver API, no nvcc: the kernels are PTX text. Runs on a
 * real GPU, or on the simulated one of this folder. One thread.
 *
 *	app_demo [--seconds S] [--device N] [--how dlsym|getproc|getproc_v2|ptsz]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/fake/app_demo_ptx.h"
#include "tests/fake/app_driver.h"

#define COPY_BYTES (4u << 20)
#define TINY_PER_STEP 40
#define GRAPH_PAIRS 8

struct demo {
	int sm_count;
	double cycles_per_us;
	wtcu_stream stream;
	wtcu_function full, over, under, uneven, tiny, wide, narrow, arithmetic;
	wtcu_graph_exec graph;
	wtcu_deviceptr device_memory;
	void *host_memory;
	unsigned long launches, graph_launches, copies, steps;
};

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void spin(struct demo *d, wtcu_function f, unsigned int blocks, unsigned int threads,
                 double us)
{
	uint64_t cycles = (uint64_t)(us * d->cycles_per_us);
	void *params[] = {&cycles};

	APP_CHECK(app.launch(f, blocks, 1, 1, threads, 1, 1, 0, d->stream, params, NULL));
	d->launches++;
}

static void arithmetic(struct demo *d, unsigned int blocks, uint64_t iterations)
{
	uint64_t result = d->device_memory;
	void *params[] = {&iterations, &result};

	APP_CHECK(app.launch(d->arithmetic, blocks, 1, 1, 256, 1, 1, 0, d->stream, params, NULL));
	d->launches++;
}

static unsigned int wave_of(struct demo *d, wtcu_function f, int threads)
{
	int per_sm = 0;

	APP_CHECK(app.occupancy(&per_sm, f, threads, 0));
	return (unsigned int)(per_sm * d->sm_count);
}

/* What one iteration of a training loop might look like to the GPU. */
static void step(struct demo *d)
{
	unsigned int wave = wave_of(d, d->full, 512);
	unsigned int sms = (unsigned int)d->sm_count;

	APP_CHECK(app.copy_to(d->device_memory, d->host_memory, COPY_BYTES, d->stream));
	spin(d, d->full, 3 * wave, 512, 60);
	spin(d, d->over, wave + wave / 50 + 1, 512, 90);
	spin(d, d->under, (sms + 3) / 4, 256, 120);
	spin(d, d->uneven, 6 * sms, 1024, 25);
	arithmetic(d, 2 * sms + sms / 4, 4000);
	for (int i = 0; i < TINY_PER_STEP; i++)
		spin(d, d->tiny, 8, 64, 1);
	APP_CHECK(app.graph_launch(d->graph, d->stream));
	d->graph_launches++;
	APP_CHECK(app.copy_from(d->host_memory, d->device_memory, COPY_BYTES / 4, d->stream));
	d->copies += 2;
	APP_CHECK(app.stream_sync(d->stream));
	d->steps++;
}

static void graph_make(struct demo *d)
{
	unsigned int sms = (unsigned int)d->sm_count;
	unsigned long captured = d->launches;
	wtcu_graph graph;

	APP_CHECK(app.begin_capture(d->stream, WTCU_CAPTURE_MODE_THREAD_LOCAL));
	for (int i = 0; i < GRAPH_PAIRS; i++) {
		spin(d, d->wide, 2 * sms, 256, 15);
		spin(d, d->narrow, sms / 8 + 1, 256, 10);
	}
	APP_CHECK(app.end_capture(d->stream, &graph));
	APP_CHECK(app.instantiate(&d->graph, graph, 0));
	APP_CHECK(app.graph_destroy(graph));
	d->launches = captured; /* captured launches are recorded, not run */
}

static void setup(struct demo *d, int device)
{
	const struct {
		wtcu_function *function;
		const char *name;
	} functions[] = {
	        {&d->full, "demo_full_waves"},     {&d->over, "demo_just_over_a_wave"},
	        {&d->under, "demo_underfilled"},   {&d->uneven, "demo_uneven_blocks"},
	        {&d->tiny, "demo_tiny"},           {&d->wide, "demo_graph_wide"},
	        {&d->narrow, "demo_graph_narrow"}, {&d->arithmetic, "demo_arithmetic"},
	};
	wtcu_module module = app_start(device, demo_ptx);
	int clock_khz = 0;

	APP_CHECK(app.device_attribute(&d->sm_count, WTCU_DEVICE_MULTIPROCESSOR_COUNT, device));
	APP_CHECK(app.device_attribute(&clock_khz, WTCU_DEVICE_CLOCK_RATE, device));
	d->cycles_per_us = clock_khz / 1e3;
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		APP_CHECK(app.module_function(functions[i].function, module, functions[i].name));
	APP_CHECK(app.stream_create(&d->stream, 0));
	APP_CHECK(app.mem_alloc(&d->device_memory, COPY_BYTES));
	APP_CHECK(app.mem_alloc_host(&d->host_memory, COPY_BYTES));
	memset(d->host_memory, 1, COPY_BYTES);
	graph_make(d);
}

int main(int argc, char **argv)
{
	struct demo d = {0};
	const char *how = "dlsym";
	double seconds = 3;
	int device = 0;
	char name[96] = "";
	double end_s;

	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--seconds"))
			seconds = atof(argv[i + 1]);
		else if (!strcmp(argv[i], "--device"))
			device = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--how"))
			how = argv[i + 1];
	}
	if (argc % 2 == 0) {
		fprintf(stderr, "usage: app_demo [--seconds S] [--device N] [--how HOW]\n");
		return 2;
	}
	app_load(how);
	setup(&d, device);
	APP_CHECK(app.device_name(name, sizeof(name), device));
	for (end_s = now_s() + seconds; now_s() < end_s;)
		step(&d);
	APP_CHECK(app.ctx_sync());
	printf("demo on %s, %d SMs: %lu steps, %lu kernel launches, %lu graph launches of %d "
	       "kernels, %lu copies\n",
	       name, d.sm_count, d.steps, d.launches, d.graph_launches, 2 * GRAPH_PAIRS, d.copies);
	return 0;
}
