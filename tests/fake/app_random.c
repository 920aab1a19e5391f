/*
 * app_random.c - a random program over the driver API: streams, events, graphs, copies between pinned and
 * pageable memory and the device, host functions, delays, waits, allocation, modules, several devices,
 * threads and processes. For tests that compare what a profiler says of it with what the device knows.
 *
 *	app_random --seed N [--steps N] [--threads N] [--devices N] [--processes N]
 *
 * The calls of each thread and their order follow from the seed, on any machine; their times do not. What
 * is not given is drawn. Every stream belongs to one thread, since the order of two threads' calls on one
 * stream can't be told from outside. Prints "launches= graph_launches= copies= waits=" of all threads, a
 * line per process.
 *
 * Threads share the driver, the module and the default stream (which only the first uses).
 */
#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/fake/app_demo_ptx.h"
#include "tests/fake/app_driver.h"

#define THREADS_MAX 4
#define DEVICES_MAX 2
#define STREAMS_MAX 4
#define EVENTS 4
#define GRAPHS 3
#define BUFFER_BYTES (256u << 10)
#define DYNAMIC_SHARED_MAX 40000

/* clang-format off */
/* Rows differ in registers, when simulated. */
#define KERNEL(row, at) SPIN_KERNEL("random_" #row #at, "") " regs=" #row "4\n"
#define NAMES_OF(row) KERNEL(row, 0) KERNEL(row, 1) KERNEL(row, 2) KERNEL(row, 3)
static const char random_ptx[] = ".version 6.0\n.target sm_60\n.address_size 64\n"
	NAMES_OF(1) NAMES_OF(2) NAMES_OF(3) NAMES_OF(4) NAMES_OF(5) NAMES_OF(6)
	SPIN_KERNEL("ncclDevKernel_random", "") "\n";
/* clang-format on */
#define ROWS 6
#define NAMES_PER_ROW 4
#define NAMES (ROWS * NAMES_PER_ROW + 1)

static struct {
	uint64_t seed;
	int steps, threads, devices, processes;
} opt;

/* Entries that are not in the list of app_driver.h. */
static struct {
	wtcu_result (*device_count)(int *);
	wtcu_result (*event_create)(wtcu_event *, unsigned int);
	wtcu_result (*event_record)(wtcu_event, wtcu_stream);
	wtcu_result (*event_sync)(wtcu_event);
	wtcu_result (*wait_event)(wtcu_stream, wtcu_event, unsigned int);
	wtcu_result (*host_fn)(wtcu_stream, wtcu_host_fn, void *);
	wtcu_result (*mem_free)(wtcu_deviceptr);
	wtcu_result (*free_host)(void *);
	wtcu_result (*copy_to_now)(wtcu_deviceptr, const void *, size_t);
	wtcu_result (*copy_from_now)(void *, wtcu_deviceptr, size_t);
	wtcu_result (*exec_destroy)(wtcu_graph_exec);
} more;

struct device {
	wtcu_context context;
	wtcu_module module;
	wtcu_function functions[NAMES];
	wtcu_deviceptr memory;
	int sms;
	double cycles_per_ns;
};

/* A stream and what is used on it alone. */
struct lane {
	wtcu_stream stream;
	struct device *device;
	wtcu_graph_exec graphs[GRAPHS];
};

struct thread {
	pthread_t pthread;
	uint64_t random;
	struct lane lanes[STREAMS_MAX];
	int idx, lane_count;
	wtcu_event events[DEVICES_MAX][EVENTS];
	void *pinned, *pageable;
	unsigned long launches, graph_launches, copies, waits;
};

static _Atomic int *begun; /* processes that have, in memory that they share */
static struct device devices[DEVICES_MAX];
static struct thread threads[THREADS_MAX];

static uint64_t draw(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static int between(uint64_t *state, int least, int most)
{
	return least + (int)(draw(state) % (uint64_t)(most - least + 1));
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Short delays are spent, long ones slept. */
static void delay(int64_t ns)
{
	struct timespec left = {.tv_nsec = ns};
	int64_t until_ns = now_ns() + ns;

	if (ns > 50000)
		nanosleep(&left, NULL);
	else
		while (now_ns() < until_ns)
			;
}

static void load(void)
{
	app_load("getproc_v2");
	*(void **)&more.device_count = app_symbol("cuDeviceGetCount");
	*(void **)&more.event_create = app_symbol("cuEventCreate");
	*(void **)&more.event_record = app_symbol("cuEventRecord");
	*(void **)&more.event_sync = app_symbol("cuEventSynchronize");
	*(void **)&more.wait_event = app_symbol("cuStreamWaitEvent");
	*(void **)&more.host_fn = app_symbol("cuLaunchHostFunc");
	*(void **)&more.mem_free = app_symbol("cuMemFree_v2");
	*(void **)&more.free_host = app_symbol("cuMemFreeHost");
	*(void **)&more.copy_to_now = app_symbol("cuMemcpyHtoD_v2");
	*(void **)&more.copy_from_now = app_symbol("cuMemcpyDtoH_v2");
	*(void **)&more.exec_destroy = app_symbol("cuGraphExecDestroy");
}

/* ---- launches */

static void launch(struct thread *t, const struct lane *lane)
{
	struct device *device = lane->device;
	/* The last, a collective's, is rare. */
	int name = between(&t->random, 0, 15) ? between(&t->random, 0, NAMES - 2) : NAMES - 1;
	wtcu_function f = device->functions[name];
	int us_kind = between(&t->random, 0, 9);
	int us = us_kind < 6 ? between(&t->random, 1, 10) : between(&t->random, 10, us_kind * 12);
	uint64_t cycles = (uint64_t)(us * 1000 * device->cycles_per_ns);
	unsigned int blocks = (unsigned int)between(&t->random, 1, 3 * device->sms);
	unsigned int block = 32u << between(&t->random, 0, 5);
	unsigned int shared = (unsigned int)between(&t->random, 0, 3) * (DYNAMIC_SHARED_MAX / 3);
	struct wtcu_launch_attribute attribute = {
	        .id = WTCU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION};
	struct wtcu_launch_config config = {.grid_x = blocks,
	                                    .grid_y = 1,
	                                    .grid_z = 1,
	                                    .block_x = block,
	                                    .block_y = 1,
	                                    .block_z = 1,
	                                    .shared_bytes = shared,
	                                    .stream = lane->stream,
	                                    .attrs = &attribute,
	                                    .attr_count = 1};
	void *params[] = {&cycles};

	t->launches++;
	switch (between(&t->random, 0, 9)) {
	case 0: /* may begin while the one before it drains */
		attribute.value.programmatic_stream_serialization_allowed = 1;
		APP_CHECK(app.launch_ex(&config, f, params, NULL));
		break;
	case 1:
		blocks = blocks % (unsigned int)device->sms + 1; /* all must fit at a time */
		APP_CHECK(app.launch_cooperative(f, blocks, 1, 1, block, 1, 1, shared, lane->stream,
		                                 params));
		break;
	case 2:
		config.attr_count = 0;
		APP_CHECK(app.launch_ex(&config, f, params, NULL));
		break;
	default:
		APP_CHECK(app.launch(f, blocks, 1, 1, block, 1, 1, shared, lane->stream, params,
		                     NULL));
	}
	/* Some fail: a block that no device takes. */
	if (!between(&t->random, 0, 19) &&
	    !app.launch(f, 1, 1, 1, 4096, 1, 1, 0, lane->stream, params, NULL))
		exit(1);
}

/* A few launches become a graph; at times half of them on another stream, beside the rest. */
static void build_graph(struct thread *t, struct lane *lane, int which)
{
	struct lane *beside = &t->lanes[between(&t->random, 0, t->lane_count - 1)];
	wtcu_event *events = t->events[lane->device - devices];
	int nodes = between(&t->random, 1, 5);
	bool has_branch = beside != lane && beside->stream && beside->device == lane->device;
	wtcu_graph graph;

	APP_CHECK(app.begin_capture(lane->stream, WTCU_CAPTURE_MODE_THREAD_LOCAL));
	launch(t, lane);
	if (has_branch) {
		APP_CHECK(more.event_record(events[0], lane->stream));
		APP_CHECK(more.wait_event(beside->stream, events[0], 0));
	}
	for (int i = 0; i < nodes; i++)
		launch(t, has_branch && i % 2 ? beside : lane);
	if (has_branch) {
		APP_CHECK(more.event_record(events[1], beside->stream));
		APP_CHECK(more.wait_event(lane->stream, events[1], 0));
	}
	APP_CHECK(app.end_capture(lane->stream, &graph));
	/* What the captured events meant is over. */
	APP_CHECK(more.event_create(&events[0], 0));
	APP_CHECK(more.event_create(&events[1], 0));
	APP_CHECK(app.instantiate(&lane->graphs[which], graph, 0));
	APP_CHECK(app.graph_destroy(graph));
}

static void graph(struct thread *t, struct lane *lane)
{
	int which = between(&t->random, 0, GRAPHS - 1);

	/* The default stream can't be captured. */
	if (!lane->stream && !lane->graphs[which])
		return;
	if (!lane->graphs[which])
		build_graph(t, lane, which);
	for (int n = between(&t->random, 1, 3); n > 0; n--) {
		APP_CHECK(app.graph_launch(lane->graphs[which], lane->stream));
		t->graph_launches++;
	}
}

/* ---- the rest */

static void copy(struct thread *t, const struct lane *lane)
{
	void *host = between(&t->random, 0, 1) ? t->pinned : t->pageable;
	size_t bytes = (size_t)between(&t->random, 1, BUFFER_BYTES);
	wtcu_deviceptr memory = lane->device->memory;

	t->copies++;
	switch (between(&t->random, 0, 5)) {
	case 0:
		APP_CHECK(more.copy_to_now(memory, host, bytes));
		break;
	case 1:
		APP_CHECK(more.copy_from_now(host, memory, bytes));
		break;
	case 2:
		APP_CHECK(app.set_d32(memory, 7, bytes / 4 + 1, lane->stream));
		break;
	case 3:
		APP_CHECK(app.copy_from(host, memory, bytes, lane->stream));
		break;
	default:
		APP_CHECK(app.copy_to(memory, host, bytes, lane->stream));
	}
}

static void sleeps(void *unused)
{
	(void)unused;
	delay(5000);
}

static void depend(struct thread *t, const struct lane *lane)
{
	const struct lane *other = &t->lanes[between(&t->random, 0, t->lane_count - 1)];
	wtcu_event event = t->events[other->device - devices][between(&t->random, 0, EVENTS - 1)];

	if (!between(&t->random, 0, 4)) {
		APP_CHECK(more.host_fn(lane->stream, sleeps, NULL));
		return;
	}
	APP_CHECK(app.ctx_set(other->device->context));
	APP_CHECK(more.event_record(event, other->stream));
	APP_CHECK(app.ctx_set(lane->device->context));
	APP_CHECK(more.wait_event(lane->stream, event, 0));
}

static void synchronise(struct thread *t, const struct lane *lane)
{
	wtcu_event event = t->events[lane->device - devices][between(&t->random, 0, EVENTS - 1)];

	t->waits++;
	switch (between(&t->random, 0, 3)) {
	case 0:
		APP_CHECK(app.ctx_sync());
		break;
	case 1:
		APP_CHECK(more.event_record(event, lane->stream));
		APP_CHECK(more.event_sync(event));
		break;
	default:
		APP_CHECK(app.stream_sync(lane->stream));
	}
}

static void allocate(struct thread *t)
{
	wtcu_deviceptr memory;
	void *pinned;

	if (between(&t->random, 0, 1)) {
		APP_CHECK(app.mem_alloc(&memory, 1u << between(&t->random, 12, 24)));
		APP_CHECK(more.mem_free(memory));
	} else {
		APP_CHECK(app.mem_alloc_host(&pinned, 1u << between(&t->random, 12, 20)));
		APP_CHECK(more.free_host(pinned));
	}
}

static void load_module(struct thread *t, const struct lane *lane)
{
	wtcu_module module;
	wtcu_function f;

	(void)t;
	APP_CHECK(app.module_load(&module, random_ptx));
	APP_CHECK(app.module_function(&f, module, "random_10"));
	(void)lane;
}

static void step(struct thread *t)
{
	struct lane *lane = &t->lanes[between(&t->random, 0, t->lane_count - 1)];

	APP_CHECK(app.ctx_set(lane->device->context));
	switch (between(&t->random, 0, 20)) {
	case 0:
	case 1:
		delay((int64_t)between(&t->random, 1, 200) * 1000);
		break;
	case 2:
	case 3:
		synchronise(t, lane);
		break;
	case 4:
		allocate(t);
		break;
	case 5:
		if (!between(&t->random, 0, 4))
			load_module(t, lane);
		break;
	case 6:
	case 7:
		copy(t, lane);
		break;
	case 8:
	case 9:
		depend(t, lane);
		break;
	case 10:
	case 11:
		graph(t, lane);
		break;
	default:
		for (int n = between(&t->random, 1, 4); n > 0; n--)
			launch(t, lane);
	}
}

static void *work(void *arg)
{
	struct thread *t = arg;

	for (int i = 0; i < opt.steps; i++)
		step(t);
	return NULL;
}

/* ---- making it */

static void open_device(int ordinal)
{
	struct device *device = &devices[ordinal];
	int khz = 0;

	device->module = app_start(ordinal, random_ptx);
	APP_CHECK(app.primary_retain(&device->context, ordinal));
	APP_CHECK(app.device_attribute(&device->sms, WTCU_DEVICE_MULTIPROCESSOR_COUNT, ordinal));
	APP_CHECK(app.device_attribute(&khz, WTCU_DEVICE_CLOCK_RATE, ordinal));
	device->cycles_per_ns = khz / 1e6;
	APP_CHECK(app.mem_alloc(&device->memory, 2 * BUFFER_BYTES));
	for (int i = 0; i < NAMES; i++) {
		char name[32];

		snprintf(name, sizeof(name), "random_%d%d", i / NAMES_PER_ROW + 1,
		         i % NAMES_PER_ROW);
		APP_CHECK(app.module_function(&device->functions[i], device->module,
		                              i == NAMES - 1 ? "ncclDevKernel_random" : name));
	}
}

static void open_thread(struct thread *t, int idx)
{
	t->idx = idx;
	t->random = opt.seed * 1000003u + (uint64_t)idx;
	t->lane_count = between(&t->random, 1, STREAMS_MAX);
	for (int i = 0; i < t->lane_count; i++) {
		struct lane *lane = &t->lanes[i];

		lane->device = &devices[between(&t->random, 0, opt.devices - 1)];
		APP_CHECK(app.ctx_set(lane->device->context));
		/* The default stream: of one thread, where there is one device. */
		if (idx != 0 || i != 0 || opt.devices > 1 || between(&t->random, 0, 1))
			APP_CHECK(app.stream_create(&lane->stream,
			                            (unsigned int)between(&t->random, 0, 1)));
	}
	for (int d = 0; d < opt.devices; d++) {
		APP_CHECK(app.ctx_set(devices[d].context));
		for (int i = 0; i < EVENTS; i++)
			APP_CHECK(more.event_create(&t->events[d][i], 0));
	}
	APP_CHECK(app.mem_alloc_host(&t->pinned, 2 * BUFFER_BYTES));
	t->pageable = calloc(1, 2 * BUFFER_BYTES);
	if (!t->pageable)
		exit(1);
}

/* The first launch begins the record of a process: what comes after is seen whole. */
static void begin(void)
{
	uint64_t cycles = 1000;
	void *params[] = {&cycles};

	APP_CHECK(app.ctx_set(devices[0].context));
	APP_CHECK(app.launch(devices[0].functions[0], 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	APP_CHECK(app.ctx_sync());
	/* The others take their time: what comes now is to be side by side. */
	atomic_fetch_add(begun, 1);
	for (int i = 0; i < 200 && atomic_load(begun) < opt.processes; i++)
		delay(1000000);
}

static int run_process(void)
{
	unsigned long launches = 1, graph_launches = 0, copies = 0, waits = 1;

	load();
	for (int i = 0; i < opt.devices; i++)
		open_device(i);
	begin();
	for (int i = 0; i < opt.threads; i++)
		open_thread(&threads[i], i);
	for (int i = 1; i < opt.threads; i++)
		if (pthread_create(&threads[i].pthread, NULL, work, &threads[i]))
			exit(1);
	work(&threads[0]);
	for (int i = 1; i < opt.threads; i++)
		pthread_join(threads[i].pthread, NULL);
	for (int i = 0; i < opt.devices; i++) {
		APP_CHECK(app.ctx_set(devices[i].context));
		APP_CHECK(app.ctx_sync());
	}
	for (int i = 0; i < opt.threads; i++) {
		launches += threads[i].launches;
		graph_launches += threads[i].graph_launches;
		copies += threads[i].copies;
		waits += threads[i].waits;
	}
	printf("launches=%lu graph_launches=%lu copies=%lu waits=%lu\n", launches, graph_launches,
	       copies, waits);
	fflush(stdout);
	return 0;
}

static void read_options(int argc, char **argv)
{
	static const struct option options[] = {{"seed", required_argument, NULL, 's'},
	                                        {"steps", required_argument, NULL, 'n'},
	                                        {"threads", required_argument, NULL, 't'},
	                                        {"devices", required_argument, NULL, 'd'},
	                                        {"processes", required_argument, NULL, 'p'},
	                                        {0}};
	uint64_t random;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 's')
			opt.seed = strtoull(optarg, NULL, 10);
		else if (c == 'n')
			opt.steps = atoi(optarg);
		else if (c == 't')
			opt.threads = atoi(optarg);
		else if (c == 'd')
			opt.devices = atoi(optarg);
		else if (c == 'p')
			opt.processes = atoi(optarg);
		else
			exit(2);
	}
	random = opt.seed;
	opt.steps = opt.steps ? opt.steps : between(&random, 10, 60);
	opt.threads = opt.threads ? opt.threads : between(&random, 1, 3);
	opt.devices = opt.devices ? opt.devices : between(&random, 1, DEVICES_MAX);
	opt.processes = opt.processes ? opt.processes : between(&random, 1, 2);
	if (opt.threads > THREADS_MAX || opt.devices > DEVICES_MAX) {
		fprintf(stderr, "at most %d threads and %d devices\n", THREADS_MAX, DEVICES_MAX);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	int failed = 0, status;

	read_options(argc, argv);
	begun = mmap(NULL, sizeof(*begun), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
	             0);
	if (begun == MAP_FAILED)
		return 1;
	for (int i = 1; i < opt.processes; i++) {
		if (fork() == 0) {
			opt.seed += (uint64_t)i * 1000;
			return run_process();
		}
	}
	failed = run_process();
	while (wait(&status) > 0)
		failed |= !WIFEXITED(status) || WEXITSTATUS(status);
	return failed ? 1 : 0;
}
