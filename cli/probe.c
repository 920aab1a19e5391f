/*
 * probe.c - see probe.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/probe.h"

#define REAP_MS 500 /* a child that the driver holds in the kernel can't be waited for */
#define POLL_MS 2

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

struct job {
	void (*work)(const void *arg, int fd);
	const void *arg;
	const char *const *argv;
	const char *preload;
};

/* In the child: does not return. */
static void do_job(const struct job *job, int fd)
{
	const struct rlimit no_core = {0, 0};
	int null_fd = open("/dev/null", O_RDWR);

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setrlimit(RLIMIT_CORE, &no_core);
	dup2(null_fd, 0);
	dup2(job->argv ? fd : null_fd, 1);
	dup2(job->argv ? fd : null_fd, 2);
	if (!job->argv) {
		if (job->work)
			job->work(job->arg, fd);
		_exit(0); /* no exit handlers: those of a driver may hang */
	}
	if (job->preload)
		setenv("LD_PRELOAD", job->preload, 1);
	else
		unsetenv("LD_PRELOAD");
	execv(job->argv[0], (char *const *)job->argv);
	_exit(127);
}

/* Reads until the child has closed the pipe or its time is over. */
static int read_text(int fd, int64_t deadline_ms, char text[WT_PROBE_TEXT_BYTES])
{
	size_t used = 0;
	char rest[4096];

	for (;;) {
		int64_t left_ms = deadline_ms - now_ms();
		struct pollfd ready = {.fd = fd, .events = POLLIN};
		bool has_room = used + 1 < WT_PROBE_TEXT_BYTES;
		ssize_t n = poll(&ready, 1, left_ms > 0 ? (int)left_ms : 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			return -ETIMEDOUT;
		n = has_room ? read(fd, text + used, WT_PROBE_TEXT_BYTES - 1 - used)
		             : read(fd, rest, sizeof(rest));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return 0;
		if (has_room)
			used += (size_t)n;
		text[used] = '\0';
	}
}

/* Waits for the child; true: it has ended. */
static bool reap(pid_t child, int64_t deadline_ms, int *ret_status)
{
	const struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};

	for (;;) {
		pid_t pid = waitpid(child, ret_status, WNOHANG);

		if (pid == child || (pid < 0 && errno != EINTR))
			return true;
		if (now_ms() >= deadline_ms)
			return false;
		nanosleep(&pause, NULL);
	}
}

static void probe(const struct job *job, int timeout_ms, struct wt_probe_result *ret)
{
	int64_t deadline_ms = now_ms() + timeout_ms;
	int fds[2];
	pid_t child;

	ret->error = ret->status = 0;
	ret->text[0] = '\0';
	if (pipe2(fds, O_CLOEXEC)) {
		ret->error = -errno;
		return;
	}
	fflush(NULL);
	child = fork();
	if (child == 0)
		do_job(job, fds[1]);
	ret->error = child < 0 ? -errno : 0;
	close(fds[1]);
	if (child > 0) {
		setpgid(child, child);
		ret->error = read_text(fds[0], deadline_ms, ret->text);
		if (!ret->error && !reap(child, deadline_ms, &ret->status))
			ret->error = -ETIMEDOUT;
		if (ret->error) {
			kill(-child, SIGKILL);
			reap(child, now_ms() + REAP_MS, &ret->status);
		}
	}
	close(fds[0]);
}

void wt_probe_call(void (*work)(const void *arg, int fd), const void *arg, int timeout_ms,
                   struct wt_probe_result *ret)
{
	const struct job job = {.work = work, .arg = arg};

	probe(&job, timeout_ms, ret);
}

void wt_probe_run(const char *const *argv, const char *preload, int timeout_ms,
                  struct wt_probe_result *ret)
{
	const struct job job = {.argv = argv, .preload = preload};

	probe(&job, timeout_ms, ret);
}

const char *wt_probe_problem(const struct wt_probe_result *result)
{
	static char text[100];

	text[0] = '\0';
	if (result->error == -ETIMEDOUT)
		snprintf(text, sizeof(text), "did not answer in time");
	else if (result->error)
		snprintf(text, sizeof(text), "can't be tried: %s", strerror(-result->error));
	else if (WIFSIGNALED(result->status))
		snprintf(text, sizeof(text), "crashed with signal %d", WTERMSIG(result->status));
	else if (WIFEXITED(result->status) && WEXITSTATUS(result->status))
		snprintf(text, sizeof(text), "ended with exit code %d",
		         WEXITSTATUS(result->status));
	return text;
}
