/*
 * test_fork.c - processes that come from one another: each that launches gets a segment of its
 * own, none writes into another's, and the host sees no child it didn't make.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"
#include "tests/unit/preload_case.h"

#define LAUNCHES 200
#define CHILDREN 100

static _Atomic int sigchld_count;
static int child_count; /* that the parent has waited for since it counts SIGCHLD */
static _Atomic bool stop;

static void on_sigchld(int signal)
{
	(void)signal;
	sigchld_count++;
}

static int wait_for(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	child_count++;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static uint64_t attempted(pid_t pid)
{
	struct case_segment segment;

	return case_segment_map(pid, &segment)
	               ? wt_load_relaxed(&segment.producer->launch_attempted)
	               : UINT64_MAX;
}

/* A child that begins with CUDA itself; the parent has not touched it yet. */
static void test_before(void)
{
	struct case_gpu gpu;
	pid_t pid = fork();

	if (!pid) {
		case_gpu_open(&gpu);
		for (int i = 0; i < LAUNCHES; i++)
			case_gpu_launch(&gpu);
		exit(7);
	}
	is_i64(wait_for(pid), 7, "a child forked before CUDA ends as it wants");
	is_i64(attempted(pid), LAUNCHES, "... with a segment of its own");
	is_i64(case_segment_count(), 1, "... and the parent has none");
}

/*
 * Does a child find pages under MADV_WIPEONFORK zeroed? Linux says yes since 4.14. qemu-user takes
 * the call, returns 0 and does nothing: there the library takes the child for its parent.
 */
static bool fork_wipes(void)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	if (page == MAP_FAILED || madvise(page, 4096, MADV_WIPEONFORK))
		return true;
	page[0] = 1;
	pid = fork();
	if (!pid)
		_exit(page[0]);
	return wait_for(pid) == 0;
}

/* ---- after the parent's CUDA has begun */

static void *launch_on(void *arg)
{
	const struct case_gpu *gpu = arg;
	intptr_t count = 0;

	gpu->set_current(gpu->context);
	while (!stop) {
		count += case_gpu_launch(gpu) == 0;
		usleep(50);
	}
	return (void *)count;
}

/* CUDA can't be used in such a child; its attempts must leave no trace. */
static void child_after(const struct case_gpu *gpu, bool by_exit)
{
	int code = case_gpu_launch(gpu) ? 3 : 4;

	gpu->synchronize();
	if (by_exit)
		exit(code);
	_exit(code);
}

static void test_after(const struct case_gpu *gpu)
{
	uint64_t before = attempted(getpid());
	struct case_segment segment;
	int wrong = 0;
	pid_t pid;

	for (int i = 0; i < 20; i++) {
		pid = fork();
		if (!pid)
			child_after(gpu, i % 2);
		wrong += wait_for(pid) != 3;
	}
	is_i64(wrong, 0, "20 children forked after CUDA began fail as they would without us");
	is_i64(attempted(getpid()), before, "... and write nothing into the parent's segment");
	is_i64(case_segment_count(), 2, "... nor make one");
	ok(case_segment_map(getpid(), &segment) && !wt_load_relaxed(&segment.producer->finished_ns),
	   "... and their exit doesn't finish the parent's");
}

/* No atfork handler runs here, so the simulated driver takes the child for its parent and launches:
 * what a driver really would do doesn't matter, whose segment it goes to does. */
static void test_raw_clone(const struct case_gpu *gpu)
{
	uint64_t before = attempted(getpid());
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);

	if (!pid) {
		for (int i = 0; i < LAUNCHES; i++)
			case_gpu_launch(gpu);
		_exit(5);
	}
	is_i64(wait_for(pid), 5, "a child of a raw clone launches");
	is_i64(attempted(pid), LAUNCHES, "... into a segment of its own");
	is_i64(attempted(getpid()), before, "... not into its parent's");
}

/* vfork children share the parent's memory: the parent's state must survive them. */
static void test_storm(struct case_gpu *gpu)
{
	uint64_t before = attempted(getpid());
	int segments = case_segment_count();
	pthread_t thread[4];
	uint64_t launched = 0;
	int wrong = 0;

	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, launch_on, gpu);
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = i % 2 ? vfork() : fork();

		if (!pid) {
			if (i % 2)
				execl("/bin/true", "true", (char *)NULL);
			_exit(i % 2 ? 127 : 0);
		}
		wrong += wait_for(pid) != 0;
	}
	stop = true;
	for (int i = 0; i < 4; i++) {
		void *count;

		pthread_join(thread[i], &count);
		launched += (uint64_t)(intptr_t)count;
	}
	is_i64(wrong, 0, "a storm of fork and vfork while four threads launch");
	ok(launched > 0, "%" PRIu64 " launches meanwhile", launched);
	is_i64(attempted(getpid()) - before, launched, "... all counted, no more");
	is_i64(case_segment_count(), segments, "... in one segment");
}

static void test_strangers(void)
{
	int count = sigchld_count;

	ok(waitpid(-1, NULL, WNOHANG | __WALL) < 0 && errno == ECHILD,
	   "the host has no child it didn't make");
	is_i64(count, child_count, "and got one SIGCHLD for each of its own");
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_sigchld};
	struct case_segment segment;
	struct case_gpu gpu;

	(void)argc;
	preload_case_start(argv, NULL);
	test_before();
	child_count = 0;
	sigaction(SIGCHLD, &action, NULL);

	case_gpu_open(&gpu);
	is_i64(case_segment_count(), 1, "a context alone makes no segment");
	(void)dlsym(gpu.library, "no_such_symbol");
	is_i64(case_gpu_launch(&gpu), 0, "the parent's first launch");
	ok(dlerror() != NULL, "... keeps a pending dlerror");
	is_i64(attempted(getpid()), 1, "... makes its segment");
	if (fork_wipes()) {
		test_after(&gpu);
		test_raw_clone(&gpu);
	} else {
		ok(true,
		   "children that fork after CUDA began # SKIP MADV_WIPEONFORK does nothing here");
	}
	test_storm(&gpu);
	test_strangers();
	ok(case_segment_map(getpid(), &segment) && segment.header->magic == WT_SEGMENT_MAGIC &&
	           segment.header->start_ticks && segment.header->pid_namespace &&
	           segment.header->boot_id[0] && segment.header->executable[0] == '/',
	   "the header says who this process is");
	is_i64(wt_load_relaxed(&segment.producer->device_count), 1, "one device was read");
	ok(segment.producer->device[0].sm_count > 0, "... with its SMs");
	return tap_done();
}
