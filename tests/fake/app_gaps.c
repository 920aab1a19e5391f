/*
 * app_gaps.c - plants time in which no kernel runs, cause by cause, and prints how much.
 *
 * Each cause has a kernel of its own name; before each of its launches the GPU is idle because the
 * program sleeps, waits, allocates, loads or copies. What it prints, "planted CAUSE KERNEL NS",
 * is measured with its own clock around just that; a profiler must find it before that kernel.
 * The launch storm plants nothing by itself: all of its time without a kernel is launching.
 *
 * Nor do three more phases: a wait after every launch, graphs with work of the host between their
 * launches, kernels of half the SMs.
 *
 * After each phase also "CAUSES {json}": when it began and ended, and the kind of finding that
 * `wavetap diagnose` must show first of that time (tests/gpu/causes_check.py).
 *
 * Plain C on the driver API, PTX text: runs on a real GPU and on the simulated one. One thread.
 *
 *	app_gaps [--repeat N] [--dependency] [--copy-mib M]
 *
 * --dependency: also a stream that waits for a host function on another, which the simulated GPU
 * does not hold work back for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/fake/app_demo_ptx.h"
#include "tests/fake/app_driver.h"

#define SLEEP_NS 3000000
#define KERNEL_US 50
#define STORM_PER_REPEAT 100
#define EACH_PER_REPEAT 20
#define GRAPHS_PER_REPEAT 5
#define GRAPH_NODES 10
#define HOST_WORK_NS 300000

static const char gaps_ptx[] = ".version 6.0\n.target sm_60\n.address_size 64\n"
        /* clang-format off */
	SPIN_KERNEL("gap_edge", "") "\n"
	SPIN_KERNEL("gap_host", "") "\n"
	SPIN_KERNEL("gap_sync", "") "\n"
	SPIN_KERNEL("gap_alloc", "") "\n"
	SPIN_KERNEL("gap_load", "") "\n"
	SPIN_KERNEL("gap_copy", "") "\n"
	SPIN_KERNEL("gap_dependency", "") "\n"
	SPIN_KERNEL("gap_each", "") "\n"
	SPIN_KERNEL("gap_graph", "") "\n"
	SPIN_KERNEL("gap_half", "") "\n"
	SPIN_KERNEL("gap_storm", "") "\n";
/* clang-format on */

struct gaps {
	wtcu_module module;
	wtcu_stream stream, other;
	unsigned int blocks;
	uint64_t cycles, storm_cycles;
	int repeat;
	int64_t edge_ns; /* CLOCK_REALTIME */
	size_t copy_bytes;
	wtcu_deviceptr device_memory;
	void *host_memory;
};

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static void sleep_ns(int64_t ns)
{
	struct timespec left = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};

	while (nanosleep(&left, &left))
		;
}

static wtcu_function function(struct gaps *g, const char *name)
{
	wtcu_function f;

	APP_CHECK(app.module_function(&f, g->module, name));
	return f;
}

static void run(struct gaps *g, wtcu_function f, wtcu_stream stream, uint64_t cycles)
{
	void *params[] = {&cycles};

	APP_CHECK(app.launch(f, g->blocks, 1, 1, 128, 1, 1, 0, stream, params, NULL));
}

/* What went before is over, and the gap to it is not this phase's. */
static void edge(struct gaps *g)
{
	run(g, function(g, "gap_edge"), g->stream, g->cycles);
	APP_CHECK(app.ctx_sync());
	g->edge_ns = clock_ns(CLOCK_REALTIME);
}

static void told_finding(const struct gaps *g, const char *phase, const char *kind)
{
	printf("CAUSES {\"part\": \"gap_%s\", \"from_ns\": %lld, \"to_ns\": %lld, "
	       "\"expect\": [\"%s\"]}\n",
	       phase, (long long)g->edge_ns, (long long)clock_ns(CLOCK_REALTIME), kind);
	fflush(stdout);
}

static void told(const struct gaps *g, const char *cause, const char *kind, int64_t planted_ns)
{
	printf("planted %s gap_%s %lld\n", cause, cause, (long long)planted_ns);
	told_finding(g, cause, kind);
}

static void plant_host(struct gaps *g)
{
	wtcu_function f = function(g, "gap_host");
	int64_t sum_ns = 0;

	edge(g);
	for (int i = 0; i < g->repeat; i++) {
		int64_t from_ns = now_ns();

		sleep_ns(SLEEP_NS);
		sum_ns += now_ns() - from_ns;
		run(g, f, g->stream, g->cycles);
		APP_CHECK(app.stream_sync(g->stream));
	}
	told(g, "host", "host", sum_ns);
}

static void sleep_and_add(void *sum)
{
	int64_t from_ns = now_ns();

	sleep_ns(SLEEP_NS);
	*(int64_t *)sum += now_ns() - from_ns;
}

/* The thread waits for a stream in which a host function sleeps. */
static void plant_sync(struct gaps *g)
{
	wtcu_result (*launch_host)(wtcu_stream, void (*)(void *), void *);
	wtcu_function f = function(g, "gap_sync");
	int64_t sum_ns = 0;

	*(void **)&launch_host = app_symbol("cuLaunchHostFunc");
	edge(g);
	for (int i = 0; i < g->repeat; i++) {
		APP_CHECK(launch_host(g->stream, sleep_and_add, &sum_ns));
		APP_CHECK(app.stream_sync(g->stream));
		run(g, f, g->stream, g->cycles);
		APP_CHECK(app.stream_sync(g->stream));
	}
	told(g, "sync", "sync", sum_ns);
}

static void plant_alloc(struct gaps *g)
{
	wtcu_result (*mem_free)(wtcu_deviceptr);
	wtcu_function f = function(g, "gap_alloc");
	int64_t sum_ns = 0;

	*(void **)&mem_free = app_symbol("cuMemFree_v2");
	edge(g);
	for (int i = 0; i < g->repeat; i++) {
		for (int j = 0; j < 4; j++) {
			wtcu_deviceptr memory;
			int64_t from_ns = now_ns();

			APP_CHECK(app.mem_alloc(&memory, 64u << 20));
			APP_CHECK(mem_free(memory));
			sum_ns += now_ns() - from_ns;
		}
		run(g, f, g->stream, g->cycles);
		APP_CHECK(app.stream_sync(g->stream));
	}
	told(g, "alloc", "alloc", sum_ns);
}

/* A module of another text each time, so that no cache has it. */
static void plant_load(struct gaps *g)
{
	wtcu_function f = function(g, "gap_load");
	size_t bytes = sizeof(gaps_ptx) + 64;
	char *text = malloc(bytes);
	int64_t sum_ns = 0;

	if (!text)
		exit(1);
	edge(g);
	for (int i = 0; i < g->repeat; i++) {
		wtcu_module module;
		int64_t from_ns;

		snprintf(text, bytes, "%s// %lld\n", gaps_ptx, (long long)now_ns());
		from_ns = now_ns();
		APP_CHECK(app.module_load(&module, text));
		sum_ns += now_ns() - from_ns;
		run(g, f, g->stream, g->cycles);
		APP_CHECK(app.stream_sync(g->stream));
	}
	free(text);
	told(g, "load", "load", sum_ns);
}

static void plant_copy(struct gaps *g)
{
	wtcu_function f = function(g, "gap_copy");
	int64_t sum_ns = 0;

	edge(g);
	for (int i = 0; i < g->repeat; i++) {
		int64_t from_ns = now_ns();

		APP_CHECK(app.copy_to(g->device_memory, g->host_memory, g->copy_bytes, g->stream));
		APP_CHECK(app.stream_sync(g->stream));
		sum_ns += now_ns() - from_ns;
		run(g, f, g->stream, g->cycles);
		APP_CHECK(app.stream_sync(g->stream));
	}
	told(g, "copy", "copy-exposed", sum_ns);
}

/* The kernel is launched at once, behind an event that a sleeping host function holds back. */
static void plant_dependency(struct gaps *g)
{
	wtcu_result (*launch_host)(wtcu_stream, void (*)(void *), void *);
	wtcu_result (*event_create)(void **, unsigned int);
	wtcu_result (*event_record)(void *, wtcu_stream);
	wtcu_result (*wait_event)(wtcu_stream, void *, unsigned int);
	wtcu_function f = function(g, "gap_dependency");
	int64_t sum_ns = 0;
	void *event;

	*(void **)&launch_host = app_symbol("cuLaunchHostFunc");
	*(void **)&event_create = app_symbol("cuEventCreate");
	*(void **)&event_record = app_symbol("cuEventRecord");
	*(void **)&wait_event = app_symbol("cuStreamWaitEvent");
	APP_CHECK(event_create(&event, 2));
	edge(g);
	for (int i = 0; i < g->repeat; i++) {
		APP_CHECK(launch_host(g->other, sleep_and_add, &sum_ns));
		APP_CHECK(event_record(event, g->other));
		APP_CHECK(wait_event(g->stream, event, 0));
		run(g, f, g->stream, g->cycles);
		APP_CHECK(app.stream_sync(g->stream));
	}
	told(g, "dependency", "dependency", sum_ns);
}

static void plant_storm(struct gaps *g)
{
	wtcu_function f = function(g, "gap_storm");

	edge(g);
	for (int i = 0; i < g->repeat * STORM_PER_REPEAT; i++)
		run(g, f, g->stream, g->storm_cycles);
	APP_CHECK(app.stream_sync(g->stream));
	printf("storm launch gap_storm 0\n");
	/* By what the driver and the GPU take for a launch. */
	told_finding(g, "storm", "small-kernels\", \"launch-bound\", \"turnaround");
}

/* Kernels of a microsecond, each waited for. */
static void plant_each(struct gaps *g)
{
	wtcu_function f = function(g, "gap_each");

	run(g, f, g->stream, g->storm_cycles);
	edge(g);
	for (int i = 0; i < g->repeat * EACH_PER_REPEAT; i++) {
		run(g, f, g->stream, g->storm_cycles);
		APP_CHECK(app.stream_sync(g->stream));
	}
	told_finding(g, "each", "sync-each-launch");
}

/* The host works, without a call, for longer than a graph runs. */
static void plant_graph(struct gaps *g)
{
	wtcu_function f = function(g, "gap_graph");
	wtcu_graph graph;
	wtcu_graph_exec exec;

	run(g, f, g->stream, g->storm_cycles);
	APP_CHECK(app.begin_capture(g->stream, WTCU_CAPTURE_MODE_THREAD_LOCAL));
	for (int i = 0; i < GRAPH_NODES; i++)
		run(g, f, g->stream, g->storm_cycles);
	APP_CHECK(app.end_capture(g->stream, &graph));
	APP_CHECK(app.instantiate(&exec, graph, 0));
	APP_CHECK(app.graph_launch(exec, g->stream));
	edge(g);
	for (int i = 0; i < g->repeat * GRAPHS_PER_REPEAT; i++) {
		int64_t until_ns = now_ns() + HOST_WORK_NS;

		APP_CHECK(app.graph_launch(exec, g->stream));
		while (now_ns() < until_ns)
			;
	}
	APP_CHECK(app.stream_sync(g->stream));
	told_finding(g, "graph", "graph-break");
}

static void plant_half(struct gaps *g)
{
	wtcu_function f = function(g, "gap_half");
	unsigned int blocks = g->blocks;

	g->blocks = blocks / 2;
	run(g, f, g->stream, g->cycles);
	edge(g);
	for (int i = 0; i < g->repeat * EACH_PER_REPEAT; i++)
		run(g, f, g->stream, g->cycles);
	APP_CHECK(app.stream_sync(g->stream));
	g->blocks = blocks;
	told_finding(g, "half", "small-grid");
}

static void setup(struct gaps *g)
{
	int sms = 0, clock_khz = 0;

	g->module = app_start(0, gaps_ptx);
	APP_CHECK(app.device_attribute(&sms, WTCU_DEVICE_MULTIPROCESSOR_COUNT, 0));
	APP_CHECK(app.device_attribute(&clock_khz, WTCU_DEVICE_CLOCK_RATE, 0));
	g->blocks = (unsigned int)sms;
	g->cycles = (uint64_t)(KERNEL_US * (clock_khz / 1e3));
	g->storm_cycles = (uint64_t)(clock_khz / 1e3);
	APP_CHECK(app.stream_create(&g->stream, 1));
	APP_CHECK(app.stream_create(&g->other, 1));
	APP_CHECK(app.mem_alloc(&g->device_memory, g->copy_bytes));
	APP_CHECK(app.mem_alloc_host(&g->host_memory, g->copy_bytes));
	memset(g->host_memory, 1, g->copy_bytes);
}

int main(int argc, char **argv)
{
	struct gaps g = {.repeat = 20, .copy_bytes = 256u << 20};
	bool has_dependency = false;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--repeat") && i + 1 < argc) {
			g.repeat = atoi(argv[++i]);
		} else if (!strcmp(argv[i], "--copy-mib") && i + 1 < argc) {
			g.copy_bytes = (size_t)atoi(argv[++i]) << 20;
		} else if (!strcmp(argv[i], "--dependency")) {
			has_dependency = true;
		} else {
			fprintf(stderr,
			        "usage: app_gaps [--repeat N] [--dependency] [--copy-mib M]\n");
			return 2;
		}
	}
	app_load("dlsym");
	setup(&g);
	edge(&g); /* whatever comes with the first launch is over */
	edge(&g);
	plant_host(&g);
	plant_sync(&g);
	plant_alloc(&g);
	plant_load(&g);
	plant_copy(&g);
	if (has_dependency)
		plant_dependency(&g);
	plant_storm(&g);
	plant_each(&g);
	plant_graph(&g);
	plant_half(&g);
	APP_CHECK(app.ctx_sync());
	return 0;
}
