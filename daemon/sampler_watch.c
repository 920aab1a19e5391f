/*
 * sampler_watch.c - the thread that sees to it that wavetap-sampler ends.
 *
 * It ends for a signal, the end of its standard input (the daemon holds the other end), another
 * parent than the one that started it, or for something in the driver that takes too long. The main thread is
 * asked to give the counters back in order; where it is stuck, the process just ends, and the
 * driver takes back what it held.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "daemon/sampler.h"

#define TICK_MS 100
#define MS UINT64_C(1000000)

static struct {
	struct wt_sampler_segment *segment;
	int signal_fd, stdin_fd; /* -1: not watched */
	int over_fd; /* readable once it is over */
	pid_t parent;
	_Atomic uint64_t is_over;
	_Atomic uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0 = none */
	_Atomic uint64_t may_leave;
} watch = {.signal_fd = -1, .stdin_fd = -1, .over_fd = -1};

/* Our last words: the main thread is in the driver and does not come back in time. */
static void leave(enum wt_sampler_state state, int code)
{
	wt_sampler_segment_finish(watch.segment, state, 0);
	_exit(code);
}

static bool is_stdin_over(bool is_ready)
{
	char bytes[64];

	/* what comes through it means nothing */
	return is_ready && read(watch.stdin_fd, bytes, sizeof(bytes)) <= 0 && errno != EINTR &&
	       errno != EAGAIN;
}

static void look(bool is_signal, bool is_stdin_ready)
{
	uint64_t now_ns = wt_sampler_clock_ns(CLOCK_MONOTONIC);
	uint64_t deadline_ns = wt_load_acquire(&watch.deadline_ns), one = 1;

	errno = 0;
	if (!wt_load_relaxed(&watch.is_over) && (is_signal || is_stdin_over(is_stdin_ready) ||
	                                         (watch.parent && getppid() != watch.parent))) {
		wt_store_release(&watch.is_over, 1);
		if (write(watch.over_fd, &one, sizeof(one)) < 0)
			leave(WT_SAMPLER_ENDED, 0);
	}
	if (wt_load_relaxed(&watch.is_over) && wt_load_acquire(&watch.may_leave))
		leave(WT_SAMPLER_ENDED, 0);
	if (deadline_ns && now_ns > deadline_ns) {
		wt_sampler_say("%s", wt_sampler_text(WT_SAMPLER_TIMEOUT));
		leave(WT_SAMPLER_TIMEOUT, WT_SAMPLER_TIMEOUT);
	}
}

static void *watch_main(void *unused)
{
	(void)unused;
	for (;;) {
		struct pollfd fds[2] = {{.fd = watch.signal_fd, .events = POLLIN},
		                        {.fd = watch.stdin_fd, .events = POLLIN}};
		struct signalfd_siginfo info;
		bool is_signal = false;

		if (wt_load_relaxed(&watch.is_over))
			fds[1].fd = -1; /* readable for ever */
		poll(fds, 2, TICK_MS);
		while (read(watch.signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
			is_signal = true;
		look(is_signal, fds[1].fd >= 0 && fds[1].revents);
	}
	return NULL;
}

int wt_sampler_watch_start(struct wt_sampler_segment *segment, bool until_eof, pid_t parent)
{
	pthread_t thread;
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &signals, NULL); /* the driver's threads inherit it */
	watch.segment = segment;
	watch.parent = parent;
	watch.signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	watch.over_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (watch.signal_fd < 0 || watch.over_fd < 0)
		return -errno;
	if (until_eof) {
		watch.stdin_fd = STDIN_FILENO;
		fcntl(STDIN_FILENO, F_SETFL, fcntl(STDIN_FILENO, F_GETFL) | O_NONBLOCK);
	}
	return -pthread_create(&thread, NULL, watch_main, NULL);
}

void wt_sampler_watch_arm(uint64_t timeout_ms, bool may_leave)
{
	uint64_t deadline_ns =
	        timeout_ms ? wt_sampler_clock_ns(CLOCK_MONOTONIC) + timeout_ms * MS : 0;

	wt_store_release(&watch.may_leave, may_leave);
	wt_store_release(&watch.deadline_ns, deadline_ns);
}

bool wt_sampler_watch_is_over(void)
{
	return wt_load_acquire(&watch.is_over);
}

bool wt_sampler_watch_wait(uint64_t timeout_ms)
{
	struct pollfd fd = {.fd = watch.over_fd, .events = POLLIN};

	if (!wt_sampler_watch_is_over())
		poll(&fd, 1, (int)timeout_ms);
	return wt_sampler_watch_is_over();
}
