/*
 * app_launch.c - a launcher for tests: so many launches, threads and streams,
 * by this or that way to the driver, with graphs, captures, failures, forks,
 * and ends of every kind. Prints what it did as NAME=COUNT words.
 *
 * Launching threads share nothing but the driver; counts are added at the end.
 */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/fake/app_driver.h"

#define STREAMS_MAX 64
#define THREADS_MAX 256
/* A block no device takes: the launch fails. */
#define THREADS_TOO_MANY 4096

static const char launch_ptx[] =
        ".version 6.0\n.target sm_60\n.address_size 64\n"
        ".visible .entry launch_spin(.param .u64 cycles)\n"
        "{\n"
        ".reg .u64 %rd<5>;\n"
        ".reg .pred %p<2>;\n"
        "ld.param.u64 %rd1, [cycles];\n"
        "mov.u64 %rd2, %clock64;\n"
        "SPIN:\n"
        "mov.u64 %rd3, %clock64;\n"
        "sub.u64 %rd4, %rd3, %rd2;\n"
        "setp.lt.u64 %p1, %rd4, %rd1;\n"
        "@%p1 bra SPIN;\n"
        "ret;\n"
        "}\n"
        "// wtfake: kernel=launch_spin regs=16 param=0 tensor=0.25\n"
        ".visible .entry launch_other(.param .u64 cycles)\n"
        "{\n"
        "ret;\n"
        "}\n"
        "// wtfake: kernel=launch_other regs=40 block_ns=2000 tensor=0.25\n";

enum option_id {
	OPT_LAUNCHES = 256,
	OPT_THREADS,
	OPT_STREAMS,
	OPT_HOW,
	OPT_KIND,
	OPT_GRID,
	OPT_BLOCK,
	OPT_US,
	OPT_GRAPH,
	OPT_CAPTURE,
	OPT_FAIL_EVERY,
	OPT_FORK,
	OPT_EXIT,
	OPT_NO_SYNC,
	OPT_RATE,
	OPT_DEVICE,
};

static struct {
	unsigned long launches; /* per thread */
	int threads, streams;
	const char *how, *kind, *fork_mode, *exit_mode;
	unsigned int grid, block;
	double us;
	int graph_nodes; /* every 8th launch is one of a graph of so many nodes */
	unsigned long fail_every;
	bool wants_capture, no_sync;
	double rate; /* launches per second and thread, 0: as fast as they go */
	int device;
} opt = {.launches = 1000,
         .threads = 1,
         .streams = 1,
         .how = "dlsym",
         .kind = "plain",
         .fork_mode = "none",
         .exit_mode = "return",
         .grid = 132,
         .block = 256,
         .us = 2};

struct counts {
	unsigned long attempted, ok, failed, captured, graph_launches, node_kernels;
};

struct worker {
	pthread_t thread;
	int idx;
	struct counts counts;
};

static wtcu_context context;
static wtcu_function spin_function, other_function;
static wtcu_stream streams[STREAMS_MAX];
static uint64_t spin_cycles;

static void count(struct counts *counts, wtcu_result result)
{
	counts->attempted++;
	if (result)
		counts->failed++;
	else
		counts->ok++;
}

static wtcu_result launch_by(const char *kind, unsigned long number, unsigned int block,
                             wtcu_stream stream)
{
	void *params[] = {&spin_cycles};
	wtcu_function f = number % 5 == 4 ? other_function : spin_function;
	struct wtcu_launch_attribute cluster = {
	        .id = WTCU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
	        .value.cluster_dim = {1, 1, 1},
	};
	struct wtcu_launch_config config = {
	        .grid_x = opt.grid,
	        .grid_y = 1,
	        .grid_z = 1,
	        .block_x = block,
	        .block_y = 1,
	        .block_z = 1,
	        .stream = stream,
	        .attrs = &cluster,
	        .attr_count = number % 2 ? 1 : 0,
	};

	if (!strcmp(kind, "mix"))
		kind = number % 3 == 0 ? "plain" : number % 3 == 1 ? "ex" : "coop";
	if (!strcmp(kind, "ex"))
		return app.launch_ex(&config, f, params, NULL);
	if (!strcmp(kind, "coop"))
		return app.launch_cooperative(f, opt.grid, 1, 1, block, 1, 1, 0, stream, params);
	return app.launch(f, opt.grid, 1, 1, block, 1, 1, 0, stream, params, NULL);
}

/* Captures `nodes` launches; the graph, ready to run, or NULL where only capturing was asked. */
static wtcu_graph_exec capture(struct counts *counts, int nodes, bool wants_exec)
{
	wtcu_graph_exec exec = NULL;
	wtcu_stream stream;
	wtcu_graph graph;

	APP_CHECK(app.stream_create(&stream, 1));
	APP_CHECK(app.begin_capture(stream, WTCU_CAPTURE_MODE_THREAD_LOCAL));
	for (int i = 0; i < nodes; i++) {
		count(counts, launch_by("plain", (unsigned long)i, opt.block, stream));
		counts->captured++;
	}
	APP_CHECK(app.end_capture(stream, &graph));
	if (wants_exec)
		APP_CHECK(app.instantiate(&exec, graph, 0));
	APP_CHECK(app.graph_destroy(graph));
	return exec;
}

static void pace(const struct timespec *start, unsigned long number)
{
	double due_s = (double)number / opt.rate;
	struct timespec when = *start;

	when.tv_sec += (time_t)due_s;
	when.tv_nsec += (long)((due_s - (double)(time_t)due_s) * 1e9);
	if (when.tv_nsec >= 1000000000) {
		when.tv_sec++;
		when.tv_nsec -= 1000000000;
	}
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL) == EINTR)
		;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct counts *counts = &w->counts;
	wtcu_graph_exec exec = NULL;
	struct timespec start;

	APP_CHECK(app.ctx_set(context));
	if (opt.graph_nodes)
		exec = capture(counts, opt.graph_nodes, true);
	if (opt.wants_capture)
		capture(counts, 10, false);
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (unsigned long i = 0; i < opt.launches; i++) {
		int at = (int)((i + (unsigned long)w->idx) % (unsigned long)opt.streams);
		bool fails = opt.fail_every && (i + 1) % opt.fail_every == 0;

		if (opt.rate > 0)
			pace(&start, i);
		if (exec && i % 8 == 7) {
			count(counts, app.graph_launch(exec, streams[at]));
			counts->graph_launches++;
			counts->node_kernels += (unsigned long)opt.graph_nodes;
		} else {
			count(counts, launch_by(opt.kind, i, fails ? THREADS_TOO_MANY : opt.block,
			                        streams[at]));
		}
	}
	return NULL;
}

static void start(void)
{
	wtcu_module module;
	int clock_khz = 0;

	app_load(opt.how);
	module = app_start(opt.device, launch_ptx);
	APP_CHECK(app.primary_retain(&context, opt.device));
	APP_CHECK(app.device_attribute(&clock_khz, WTCU_DEVICE_CLOCK_RATE, opt.device));
	spin_cycles = (uint64_t)(opt.us * clock_khz / 1e3);
	APP_CHECK(app.module_function(&spin_function, module, "launch_spin"));
	APP_CHECK(app.module_function(&other_function, module, "launch_other"));
	for (int i = 1; i < opt.streams; i++) /* the first is the default stream */
		APP_CHECK(app.stream_create(&streams[i], 1));
}

static void launch_all(const char *who)
{
	static struct worker workers[THREADS_MAX];
	struct counts sum = {0};

	for (int i = 0; i < opt.threads; i++) {
		workers[i] = (struct worker){.idx = i};
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			app_check(WTCU_ERROR_UNKNOWN, "pthread_create");
	}
	for (int i = 0; i < opt.threads; i++) {
		pthread_join(workers[i].thread, NULL);
		sum.attempted += workers[i].counts.attempted;
		sum.ok += workers[i].counts.ok;
		sum.failed += workers[i].counts.failed;
		sum.captured += workers[i].counts.captured;
		sum.graph_launches += workers[i].counts.graph_launches;
		sum.node_kernels += workers[i].counts.node_kernels;
	}
	if (!opt.no_sync)
		APP_CHECK(app.ctx_sync());
	printf("%s pid=%d attempted=%lu ok=%lu failed=%lu captured=%lu graph_launches=%lu "
	       "node_kernels=%lu kernels=%lu\n",
	       who, (int)getpid(), sum.attempted, sum.ok, sum.failed, sum.captured,
	       sum.graph_launches, sum.node_kernels,
	       sum.ok - sum.captured - sum.graph_launches + sum.node_kernels);
	fflush(stdout);
}

/* A child of a process that uses CUDA can't use it: its launch must fail, and nothing else. */
static void child_of_user(void)
{
	wtcu_result result = launch_by("plain", 0, opt.block, NULL);

	printf("child pid=%d launch=%s\n", (int)getpid(), result ? "refused" : "accepted");
	fflush(stdout);
	_exit(result ? 0 : 1);
}

static int wait_for(pid_t pid)
{
	int status = 0;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Runs the launches among the forks asked for; the exit code. */
static int run(void)
{
	int code = 0;
	pid_t pid = -1;

	if (!strcmp(opt.fork_mode, "before")) {
		pid = fork();
		start();
		launch_all(pid ? "parent" : "child");
		return pid ? wait_for(pid) : 0;
	}
	start();
	launch_all("parent");
	if (!strcmp(opt.fork_mode, "after")) {
		pid = fork();
		if (!pid)
			child_of_user();
		code = wait_for(pid);
		launch_all("again");
	} else if (!strcmp(opt.fork_mode, "exec")) {
		pid = fork();
		if (!pid) {
			execlp("true", "true", (char *)NULL);
			_exit(127);
		}
		code = wait_for(pid);
		launch_all("again");
	}
	return code;
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
	        {"launches", 1, NULL, OPT_LAUNCHES},
	        {"threads", 1, NULL, OPT_THREADS},
	        {"streams", 1, NULL, OPT_STREAMS},
	        {"how", 1, NULL, OPT_HOW},
	        {"kind", 1, NULL, OPT_KIND},
	        {"grid", 1, NULL, OPT_GRID},
	        {"block", 1, NULL, OPT_BLOCK},
	        {"us", 1, NULL, OPT_US},
	        {"graph", 1, NULL, OPT_GRAPH},
	        {"capture", 0, NULL, OPT_CAPTURE},
	        {"fail-every", 1, NULL, OPT_FAIL_EVERY},
	        {"fork", 1, NULL, OPT_FORK},
	        {"exit", 1, NULL, OPT_EXIT},
	        {"no-sync", 0, NULL, OPT_NO_SYNC},
	        {"rate", 1, NULL, OPT_RATE},
	        {"device", 1, NULL, OPT_DEVICE},
	        {NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case OPT_LAUNCHES:
			opt.launches = strtoul(optarg, NULL, 10);
			break;
		case OPT_THREADS:
			opt.threads = atoi(optarg);
			break;
		case OPT_STREAMS:
			opt.streams = atoi(optarg);
			break;
		case OPT_HOW:
			opt.how = optarg;
			break;
		case OPT_KIND:
			opt.kind = optarg;
			break;
		case OPT_GRID:
			opt.grid = (unsigned int)strtoul(optarg, NULL, 10);
			break;
		case OPT_BLOCK:
			opt.block = (unsigned int)strtoul(optarg, NULL, 10);
			break;
		case OPT_US:
			opt.us = atof(optarg);
			break;
		case OPT_GRAPH:
			opt.graph_nodes = atoi(optarg);
			break;
		case OPT_CAPTURE:
			opt.wants_capture = true;
			break;
		case OPT_FAIL_EVERY:
			opt.fail_every = strtoul(optarg, NULL, 10);
			break;
		case OPT_FORK:
			opt.fork_mode = optarg;
			break;
		case OPT_EXIT:
			opt.exit_mode = optarg;
			break;
		case OPT_NO_SYNC:
			opt.no_sync = true;
			break;
		case OPT_RATE:
			opt.rate = atof(optarg);
			break;
		case OPT_DEVICE:
			opt.device = atoi(optarg);
			break;
		default:
			exit(2);
		}
	}
	if (opt.threads < 1 || opt.threads > THREADS_MAX || opt.streams < 1 ||
	    opt.streams > STREAMS_MAX) {
		fprintf(stderr, "app_launch: up to %d threads and %d streams\n", THREADS_MAX,
		        STREAMS_MAX);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	int code;

	parse(argc, argv);
	code = run();
	if (!strcmp(opt.exit_mode, "_exit"))
		_exit(code);
	if (!strcmp(opt.exit_mode, "abort"))
		abort();
	if (!strcmp(opt.exit_mode, "kill"))
		raise(SIGKILL);
	return code;
}
