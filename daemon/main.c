/*
 * main.c - wavetapd: drains the segments of one user and data directory into run files.
 *
 * The loop: scan, drain, answer, wait. One thread; only the disk may block it. It ends by itself
 * when no live segment has been left for a while. Options and everything before the loop: start.c.
 */
#include "daemon/folds.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>

#define POLL_MS 10 /* while records come */
#define POLL_SLOW_MS 50 /* nothing came for a second: a ring takes longer to fill */
#define POLL_EMPTY_MS 100
#define SCAN_NS WT_SECOND
#define SCAN_BLIND_NS (100 * WT_MS) /* without inotify */
#define UNKNOWN_NS (60 * WT_SECOND) /* silence of a process whose life can't be seen */

/* Descriptors of the loop. 0 or -errno. */
static int open_loop(struct wt_daemon *daemon)
{
	struct epoll_event event = {.events = EPOLLIN};
	sigset_t signals;

	daemon->dir_fd = open(wt_path_shm_dir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (daemon->dir_fd < 0)
		return -errno;
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGIO,
	       SIG_IGN); /* somebody opens a file of which we have a lease, for microseconds */
	signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is an error like a full disk */
	daemon->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	daemon->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (daemon->epoll_fd < 0 || daemon->signal_fd < 0)
		return -errno;
	event.data.fd = daemon->signal_fd;
	epoll_ctl(daemon->epoll_fd, EPOLL_CTL_ADD, daemon->signal_fd, &event);
	/* Only a hint that spares time: without it the folder is read more often. */
	daemon->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (daemon->inotify_fd >= 0 &&
	    inotify_add_watch(daemon->inotify_fd, wt_path_shm_dir(), IN_CREATE | IN_MOVED_TO) < 0) {
		close(daemon->inotify_fd);
		daemon->inotify_fd = -1;
	}
	if (daemon->inotify_fd >= 0) {
		event.data.fd = daemon->inotify_fd;
		epoll_ctl(daemon->epoll_fd, EPOLL_CTL_ADD, daemon->inotify_fd, &event);
	}
	daemon->cells = malloc(WT_BATCH_CELLS * sizeof(*daemon->cells));
	return daemon->cells ? 0 : -ENOMEM;
}

static void find_processes(struct wt_daemon *daemon)
{
	wt_scan(daemon, wt_clock_ns(CLOCK_MONOTONIC), true);
}

static bool is_segment_news(const struct wt_daemon *daemon)
{
	_Alignas(struct inotify_event) char events[4096];
	bool is_ours = false;
	ssize_t n;

	while (daemon->inotify_fd >= 0 &&
	       (n = read(daemon->inotify_fd, events, sizeof(events))) > 0)
		for (char *at = events; at < events + n;) {
			const struct inotify_event *event = (const struct inotify_event *)at;

			is_ours |= event->mask & IN_Q_OVERFLOW ||
			           (event->len && wt_scan_is_segment_name(daemon, event->name));
			at += sizeof(*event) + event->len;
		}
	return is_ours;
}

static void read_signals(struct wt_daemon *daemon)
{
	struct signalfd_siginfo info;

	while (read(daemon->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		if (info.ssi_signo != SIGHUP || daemon->is_foreground)
			daemon->is_stopping = true;
}

/* Loads what is not loaded, and drains. 0 or what stopped the run. */
static int serve(struct wt_daemon *daemon, struct wt_process *process, int64_t now_ns, bool is_last)
{
	int err = 0;

	if (!process->is_loaded) {
		err = wt_run_open(daemon, process->run, &process->mapped.header, now_ns);
		if (err)
			return 0; /* said so already; tried again later */
		err = wt_process_load(process, now_ns);
	}
	return err ? err : wt_drain(process, daemon->cells, now_ns, is_last);
}

static void fail(struct wt_daemon *daemon, struct wt_run *run, int err, int64_t now_ns)
{
	if (err == -ENOMEM)
		snprintf(run->error, sizeof(run->error), "out of memory");
	wt_run_fail(daemon, run, err, now_ns);
}

/* Nothing comes any more, of its samplers neither. */
static bool is_run_over(const struct wt_daemon *daemon, const struct wt_run *run)
{
	for (const struct wt_process *process = daemon->processes; process; process = process->next)
		if (process->run == run && !process->is_done)
			return false;
	return true;
}

/* The last one of a run stays until what was measured is folded, gaps are summed, and rows are packed and within
 * their limit: with it the run would go. */
static bool is_held(const struct wt_process *process)
{
	return process->run->process_count == 1 &&
	       (!wt_folds_are_done(process->run) || !wt_ledger_work_is_done(process->run) ||
	        !wt_drop_is_done(process->run) || !wt_pack_is_done(process->run));
}

bool wt_daemon_round(struct wt_daemon *daemon, int64_t now_ns, bool is_last)
{
	bool has_work = false;

	for (struct wt_process *process = daemon->processes; process; process = process->next) {
		int err = serve(daemon, process, now_ns, is_last);

		if (err)
			fail(daemon, process->run, err, now_ns);
		has_work |= process->has_work || (process->is_done && !is_held(process));
	}
	for (struct wt_run *run = daemon->runs; run; run = run->next) {
		bool has_more = false, is_over = is_run_over(daemon, run);
		int err = run->db ? wt_folds_step(run, is_over, now_ns, &has_more) : 0;

		if (!err && run->db)
			err = wt_ledger_work_step(run, is_over, now_ns);
		if (err)
			fail(daemon, run, err, now_ns);
		/* Records go first; but a limit holds while they come without a pause, too. */
		if (!has_more && !err && run->db)
			wt_drop_step(run, is_over, now_ns, &has_more);
		if (!has_work && !has_more && !err)
			wt_pack_step(run, is_over, now_ns, &has_more);
		has_work |= has_more;
	}
	return has_work;
}

static void drop_run(struct wt_daemon *daemon, struct wt_run *gone)
{
	struct wt_run **at = &daemon->runs;

	while (*at != gone)
		at = &(*at)->next;
	*at = gone->next;
	wt_run_destroy(gone);
}

/* Lets go of a process; its run too if it was the last of it. */
static void detach(struct wt_daemon *daemon, struct wt_process *process)
{
	struct wt_process **at = &daemon->processes;
	struct wt_run *run = process->run;

	while (*at != process)
		at = &(*at)->next;
	*at = process->next;
	wt_process_destroy(process);
	if (--run->process_count == 0) {
		wt_keep_due(daemon, run->path);
		drop_run(daemon, run);
	}
}

/* Everything of them is committed: their files may go. */
static void reap(struct wt_daemon *daemon)
{
	struct wt_process *next;

	for (struct wt_process *process = daemon->processes; process; process = next) {
		next = process->next;
		if (!process->is_done || is_held(process))
			continue;
		wt_scan_unlink(daemon, process);
		detach(daemon, process);
	}
}

/* Is there anything to stay for? A dead process counts until it is drained. */
static bool is_needed(const struct wt_daemon *daemon, int64_t now_ns)
{
	/* A sampler is not what it is all for: one that hangs is not waited for. */
	for (const struct wt_process *process = daemon->processes; process; process = process->next)
		if ((process->liveness.life != WT_LIFE_UNKNOWN &&
		     !(wt_process_is_sampler(process) &&
		       process->liveness.life == WT_LIFE_ALIVE)) ||
		    now_ns - process->active_ns < UNKNOWN_NS)
			return true;
	for (struct wt_refused *refused = daemon->refused; refused; refused = refused->next)
		if ((refused->is_making && wt_liveness_poll(&refused->liveness) != WT_LIFE_DEAD &&
		     now_ns - refused->first_ns < UNKNOWN_NS) ||
		    (refused->is_foreign && now_ns - refused->first_ns < 2 * WT_FOREIGN_NS))
			return true;
	return daemon->clients || daemon->keeper.is_due;
}

/*
 * Gives the lock up, and looks once more: a process that made its segment before that saw the
 * lock held and started no daemon. True: end. False: it was taken back.
 */
static bool is_end(struct wt_daemon *daemon, int64_t now_ns)
{
	wt_control_close(daemon);
	wt_lock_drop(daemon->lock_path, daemon->lock_fd);
	daemon->lock_fd = -1;
	wt_scan(daemon, now_ns, true);
	if (!is_needed(daemon, now_ns))
		return true;
	if (wt_lock_take(daemon->lock_path, &daemon->lock_fd))
		return true; /* somebody else serves them */
	wt_control_open(daemon);
	return false;
}

static int pause_ms(const struct wt_daemon *daemon, bool has_work, int64_t quiet_ns)
{
	if (has_work)
		return 0;
	if (daemon->is_scan_wanted)
		return 1;
	if (daemon->clients)
		return POLL_MS;
	if (!daemon->processes)
		return POLL_EMPTY_MS;
	return quiet_ns < WT_SECOND ? POLL_MS : POLL_SLOW_MS;
}

static void loop(struct wt_daemon *daemon)
{
	int64_t now_ns = wt_clock_ns(CLOCK_MONOTONIC), needed_ns = now_ns, active_ns = now_ns;
	struct epoll_event events[16];

	for (;;) {
		bool has_work;

		if (daemon->is_scan_wanted ||
		    now_ns - daemon->scanned_ns >
		            (daemon->inotify_fd >= 0 ? SCAN_NS : SCAN_BLIND_NS))
			wt_scan(daemon, now_ns, false);
		has_work = wt_daemon_round(daemon, now_ns, daemon->is_stopping);
		wt_samplers_step(daemon, now_ns);
		reap(daemon);
		has_work |= wt_keep_step(daemon);
		wt_control_poll(daemon, now_ns);
		if (daemon->is_stopping)
			return;
		for (struct wt_process *at = daemon->processes; at; at = at->next)
			if (at->active_ns > active_ns)
				active_ns = at->active_ns;
		if (is_needed(daemon, now_ns))
			needed_ns = now_ns;
		else if (now_ns - needed_ns >= daemon->idle_ns) {
			if (is_end(daemon, now_ns))
				return;
			needed_ns = now_ns;
		}
		epoll_wait(daemon->epoll_fd, events, 16,
		           pause_ms(daemon, has_work, now_ns - active_ns));
		now_ns = wt_clock_ns(CLOCK_MONOTONIC);
		read_signals(daemon);
		daemon->is_scan_wanted |= is_segment_news(daemon);
	}
}

static void close_all(struct wt_daemon *daemon)
{
	const int fds[] = {daemon->inotify_fd, daemon->signal_fd, daemon->epoll_fd, daemon->dir_fd};

	while (daemon->processes)
		detach(daemon, daemon->processes);
	wt_samplers_close(daemon);
	wt_control_close(daemon);
	wt_keep_close(daemon);
	wt_scan_fini(daemon);
	free(daemon->cells);
	if (daemon->lock_fd >= 0)
		wt_lock_drop(daemon->lock_path, daemon->lock_fd);
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

int main(int argc, char **argv)
{
	struct wt_daemon daemon = {.dir_fd = -1,
	                           .lock_fd = -1,
	                           .epoll_fd = -1,
	                           .signal_fd = -1,
	                           .inotify_fd = -1,
	                           .listen_fd = -1};
	int code = wt_start(argc, argv, &daemon);
	int err;

	if (code)
		return code - 1;
	wt_segment_guard_install();
	wt_keep_open(&daemon);
	daemon.find_processes = find_processes;
	daemon.started_ns = wt_clock_ns(CLOCK_MONOTONIC);
	daemon.is_scan_wanted = true;
	err = open_loop(&daemon);
	if (!err)
		err = wt_control_open(&daemon);
	if (err)
		wt_log_line("can't start: %s", strerror(-err));
	else
		loop(&daemon);
	close_all(&daemon);
	return err ? 1 : 0;
}
