/*
 * app_ranks.c - one rank of a job whose ranks meet in a collective each step, and one is late.
 *
 *	RANK=R WORLD_SIZE=N app_ranks --meet FILE [--steps S] [--late RANK] [--by none|host|kernel|copy] [--us U]
 *		[--span MS]
 *
 * FILE, empty at first, is shared by the ranks. In each step they begin together; then a few kernels and
 * the collective, which ends for all of them MS (60) after the step began, and an optimizer's kernel after it. The late rank first sleeps for U microseconds, or its first kernel takes
 * that much longer, or it copies from pageable memory what takes that long at 2 bytes per ns. On the simulated GPU only. Prints
 * "rank R late_ns NS": what was planted, by its own clock or as asked for. One thread.
 *
 * Exit status: 3 if a rank came after the collective should have ended (a busy machine): run it again, with more.
 */
#include <fcntl.h>
#include <getopt.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tests/fake/app_driver.h"

#define WORK_NS 300000
#define LEAST_NS 1000000 /* of the collective, for the last to come */
#define COPY_BYTES_PER_NS 2
#define WORKS 4

#define RANKS_KERNEL(name)                                                                         \
	".visible .entry " name "(.param .u64 ns)\n{\nret;\n}\n// wtfake: kernel=" name            \
	" regs=32 param=0 param_ns=1\n"
static const char ranks_ptx[] = ".version 6.0\n.target sm_60\n.address_size 64\n"
        /* clang-format off */
	RANKS_KERNEL("ranks_load")
	RANKS_KERNEL("ranks_forward")
	RANKS_KERNEL("ranks_loss")
	RANKS_KERNEL("ranks_backward")
	RANKS_KERNEL("multi_tensor_apply_PointwiseOp")
	RANKS_KERNEL("ncclDevKernel_AllReduce_Sum_f32_RING_LL");
/* clang-format on */

struct meeting {
	_Atomic int64_t arrived;
	_Atomic int64_t base_ns; /* of the step, as rank 0 says */
};

static struct {
	const char *meet, *by;
	int steps, late, rank, size;
	int64_t late_ns, step_ns;
} opt = {.by = "none", .steps = 12, .late = -1, .late_ns = 5000000, .step_ns = 60000000};

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void sleep_ns(int64_t ns)
{
	struct timespec left = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};

	while (nanosleep(&left, &left))
		;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static struct meeting *meet_at(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *at;

	if (fd < 0 || ftruncate(fd, sizeof(struct meeting)) < 0)
		die(path);
	at = mmap(NULL, sizeof(struct meeting), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		die(path);
	close(fd);
	return at;
}

/* All have come for the time-th time. */
static void meet(struct meeting *meeting, int64_t *times)
{
	atomic_fetch_add(&meeting->arrived, 1);
	++*times;
	while (atomic_load(&meeting->arrived) < *times * opt.size)
		sleep_ns(50000);
}

static void run(wtcu_function f, unsigned int blocks, int64_t ns)
{
	uint64_t param = (uint64_t)ns;
	void *params[] = {&param};

	APP_CHECK(app.launch(f, blocks, 1, 1, 128, 1, 1, 0, NULL, params, NULL));
}

/* What the late rank does before the rest; returns how much longer its first kernel is to take. */
static int64_t be_late(wtcu_deviceptr device, const void *host, int64_t *planted_ns)
{
	int64_t from_ns = now_ns();

	if (opt.rank != opt.late)
		return 0;
	if (!strcmp(opt.by, "host")) {
		sleep_ns(opt.late_ns);
		*planted_ns += now_ns() - from_ns;
	} else if (!strcmp(opt.by, "copy")) {
		APP_CHECK(app.copy_to(device, host, (size_t)opt.late_ns * COPY_BYTES_PER_NS, NULL));
		*planted_ns += opt.late_ns;
	} else if (!strcmp(opt.by, "kernel")) {
		*planted_ns += opt.late_ns;
		return opt.late_ns;
	}
	return 0;
}

static void read_options(int argc, char **argv)
{
	static const struct option options[] = {{"meet", required_argument, NULL, 'm'},
	                                        {"steps", required_argument, NULL, 's'},
	                                        {"late", required_argument, NULL, 'l'},
	                                        {"by", required_argument, NULL, 'b'},
	                                        {"us", required_argument, NULL, 'u'},
	                                        {"span", required_argument, NULL, 'p'},
	                                        {0}};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'm':
			opt.meet = optarg;
			break;
		case 's':
			opt.steps = atoi(optarg);
			break;
		case 'l':
			opt.late = atoi(optarg);
			break;
		case 'b':
			opt.by = optarg;
			break;
		case 'u':
			opt.late_ns = atoll(optarg) * 1000;
			break;
		case 'p':
			opt.step_ns = atoll(optarg) * 1000000;
			break;
		default:
			exit(2);
		}
	}
	opt.rank = atoi(getenv("RANK") ? getenv("RANK") : "0");
	opt.size = atoi(getenv("WORLD_SIZE") ? getenv("WORLD_SIZE") : "1");
	if (!opt.meet || opt.size < 1) {
		fprintf(stderr, "app_ranks: --meet FILE, RANK and WORLD_SIZE are needed\n");
		exit(2);
	}
}

int main(int argc, char **argv)
{
	static const char *const works[WORKS] = {"ranks_load", "ranks_forward", "ranks_loss",
	                                         "ranks_backward"};
	wtcu_function work[WORKS], update, collective;
	int64_t times = 0, planted_ns = 0;
	struct meeting *meeting;
	wtcu_deviceptr device;
	wtcu_module module;
	int too_late = 0;
	void *host;

	read_options(argc, argv);
	app_load("dlsym");
	module = app_start(opt.rank, ranks_ptx);
	for (int i = 0; i < WORKS; i++)
		APP_CHECK(app.module_function(&work[i], module, works[i]));
	APP_CHECK(app.module_function(&update, module, "multi_tensor_apply_PointwiseOp"));
	APP_CHECK(app.module_function(&collective, module,
	                              "ncclDevKernel_AllReduce_Sum_f32_RING_LL"));
	host = calloc(1, (size_t)opt.late_ns * COPY_BYTES_PER_NS);
	if (!host)
		die("calloc");
	APP_CHECK(app.mem_alloc(&device, (size_t)opt.late_ns * COPY_BYTES_PER_NS));
	meeting = meet_at(opt.meet);
	for (int step = 0; step < opt.steps; step++) {
		int64_t longer_ns, left_ns;

		if (opt.rank == 0)
			atomic_store(&meeting->base_ns, now_ns());
		meet(meeting, &times);
		longer_ns = be_late(device, host, &planted_ns);
		for (int i = 0; i < WORKS; i++)
			run(work[i], 264, WORK_NS + (i ? 0 : longer_ns));
		APP_CHECK(app.ctx_sync());
		left_ns = atomic_load(&meeting->base_ns) + opt.step_ns - now_ns();
		too_late += left_ns < LEAST_NS;
		run(collective, 24, left_ns < LEAST_NS ? LEAST_NS : left_ns);
		run(update, 132, WORK_NS);
		APP_CHECK(app.ctx_sync());
		meet(meeting, &times); /* nobody reads the old base */
	}
	printf("rank %d late_ns %lld\n", opt.rank, (long long)planted_ns);
	free(host);
	return too_late ? 3 : 0;
}
