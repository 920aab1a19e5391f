/*
 * main.c - wavetapd: drains the segments of one user and data directory into run files.
 *
 * Options, the settings of a daemon that was started from inside somebody else's program,
 * and the loop: scan, drain, answer, wait. One thread; only the disk may block it. It ends
 * by itself when no live segment has been left for a while.
 */
#include "config.h"
#include "daemon/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define POLL_MS 10 /* while records come */
#define POLL_SLOW_MS 50 /* nothing came for a second: a ring takes longer to fill */
#define POLL_EMPTY_MS 100
#define SCAN_NS WT_SECOND
#define SCAN_BLIND_NS (100 * WT_MS) /* without inotify */
#define UNKNOWN_NS (60 * WT_SECOND) /* silence of a process whose life can't be seen */
#define IDLE_SECONDS_MAX 1000000
#define DESCRIPTORS_MIN 64

static const char usage[] =
        "usage: wavetapd [--foreground] [--dir DIR] [--idle SECONDS]\n"
        "Drains GPU launch records of processes that preload libwavetap.so into run files.\n"
        "Usually started by the first of them; ends when the last has gone.\n"
        "\n"
        "  --foreground    stay attached to the terminal, messages on stderr\n"
        "  --dir DIR       data directory (default: $WAVETAP_DIR, else\n"
        "                  $XDG_DATA_HOME/wavetap, else ~/.local/share/wavetap)\n"
        "  --idle SECONDS  end after so long without a live process (default 2)\n"
        "  --version       print the version\n"
        "  --help          print this text\n";

/* ---- start */

/* 0: go on; else the exit code plus one. */
static int parse_options(int argc, char **argv, struct wt_daemon *daemon)
{
	static const struct option options[] = {{"foreground", no_argument, NULL, 'f'},
	                                        {"spawned", no_argument, NULL, 's'},
	                                        {"dir", required_argument, NULL, 'd'},
	                                        {"idle", required_argument, NULL, 'i'},
	                                        {"version", no_argument, NULL, 'V'},
	                                        {"help", no_argument, NULL, 'h'},
	                                        {NULL, 0, NULL, 0}};
	double seconds = 2;
	char *end;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'f':
			daemon->is_foreground = true;
			break;
		case 's':
			daemon->is_spawned = true;
			break;
		case 'd':
			setenv("WAVETAP_DIR", optarg, 1);
			break;
		case 'i':
			seconds = strtod(optarg, &end);
			if (end == optarg || *end ||
			    !(seconds >= 0 && seconds <= IDLE_SECONDS_MAX)) {
				fprintf(stderr, "wavetapd: --idle: not a number of seconds: %s\n",
				        optarg);
				return 3;
			}
			break;
		case 'V':
			puts("wavetapd " PACKAGE_VERSION);
			return 1;
		case 'h':
			fputs(usage, stdout);
			return 1;
		default:
			fprintf(stderr, "Try: wavetapd --help\n");
			return 3;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "wavetapd: unexpected argument: %s\n", argv[optind]);
		return 3;
	}
	daemon->idle_ns = (int64_t)(seconds * 1e9);
	return 0;
}

static int make_folders(char *path)
{
	for (char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	return mkdir(path, 0700) && errno != EEXIST ? -errno : 0;
}

/* Nothing of the program that started us stays: descriptors, signals, CPUs, priority. */
static void leave_parent(bool is_spawned)
{
	sigset_t none;
	cpu_set_t all;
	int null_fd;

	setsid();
	if (is_spawned) {
		if (syscall(SYS_close_range, 0u, ~0u, 0u))
			for (int fd = (int)sysconf(_SC_OPEN_MAX) - 1; fd >= 0; fd--)
				close(fd);
		for (int number = 1; number < NSIG; number++)
			signal(number, SIG_DFL);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		memset(&all, 0xff, sizeof(all));
		sched_setaffinity(0, sizeof(all), &all);
		setpriority(PRIO_PROCESS, 0, 0);
	}
	null_fd = open("/dev/null", O_RDWR);
	for (int fd = 0; fd <= 2; fd++)
		if (null_fd >= 0 && null_fd != fd)
			dup2(null_fd, fd);
	if (null_fd > 2)
		close(null_fd);
}

/*
 * Limits are inherited from whatever program started us, but we serve the others too: take what
 * there is. 0, or -EMFILE with too few descriptors to serve anybody: then the lock is better left
 * to a daemon that another program starts.
 */
static int raise_limits(void)
{
	static const int resources[] = {RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_DATA, RLIMIT_AS,
	                                RLIMIT_NOFILE};
	struct rlimit limit = {0};

	for (size_t i = 0; i < sizeof(resources) / sizeof(resources[0]); i++) {
		if (getrlimit(resources[i], &limit))
			return -errno;
		limit.rlim_cur = limit.rlim_max;
		if (setrlimit(resources[i], &limit))
			return -errno;
	}
	return limit.rlim_max < DESCRIPTORS_MIN ? -EMFILE : 0;
}

static int set_paths(struct wt_daemon *daemon)
{
	char seg[WT_PATH_BYTES];
	int err = wt_path_data_dir(daemon->data_dir);

	if (!err)
		err = wt_path_shm(daemon->lock_path, daemon->data_dir, ".lock");
	if (!err)
		err = wt_path_shm(daemon->sock_path, daemon->data_dir, ".sock");
	if (!err)
		err = wt_path_shm(seg, daemon->data_dir, "-");
	if (!err)
		snprintf(daemon->prefix, sizeof(daemon->prefix), "%s", strrchr(seg, '/') + 1);
	return err;
}

static void open_log(const struct wt_daemon *daemon)
{
	char path[WT_PATH_BYTES + 16];

	snprintf(path, sizeof(path), "%s/wavetapd.log", daemon->data_dir);
	wt_log_open(path);
}

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

/* ---- the loop */

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
			           (event->len &&
			            !strncmp(event->name, daemon->prefix, strlen(daemon->prefix)));
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

bool wt_daemon_round(struct wt_daemon *daemon, int64_t now_ns, bool is_last)
{
	bool has_work = false;

	for (struct wt_process *process = daemon->processes; process; process = process->next) {
		int err = serve(daemon, process, now_ns, is_last);

		if (err) {
			if (err == -ENOMEM)
				snprintf(process->run->error, sizeof(process->run->error),
				         "out of memory");
			wt_run_fail(daemon, process->run, err, now_ns);
		}
		has_work |= process->has_work || process->is_done;
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
	if (--run->process_count == 0)
		drop_run(daemon, run);
}

/* Everything of them is committed: their files may go. */
static void reap(struct wt_daemon *daemon)
{
	struct wt_process *next;

	for (struct wt_process *process = daemon->processes; process; process = next) {
		next = process->next;
		if (!process->is_done)
			continue;
		wt_scan_unlink(daemon, process);
		detach(daemon, process);
	}
}

/* Is there anything to stay for? A dead process counts until it is drained. */
static bool is_needed(const struct wt_daemon *daemon, int64_t now_ns)
{
	for (const struct wt_process *process = daemon->processes; process; process = process->next)
		if (process->liveness.life != WT_LIFE_UNKNOWN ||
		    now_ns - process->active_ns < UNKNOWN_NS)
			return true;
	for (struct wt_refused *refused = daemon->refused; refused; refused = refused->next)
		if (refused->is_making && wt_liveness_poll(&refused->liveness) == WT_LIFE_ALIVE)
			return true;
	return daemon->clients != NULL;
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
		reap(daemon);
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
	while (daemon->processes)
		detach(daemon, daemon->processes);
	wt_control_close(daemon);
	wt_scan_fini(daemon);
	free(daemon->cells);
	if (daemon->lock_fd >= 0)
		wt_lock_drop(daemon->lock_path, daemon->lock_fd);
}

/* Takes the lock and goes to the background if told to. 0: go on; else exit code plus one. */
static int take_place(struct wt_daemon *daemon)
{
	int err = wt_lock_take(daemon->lock_path, &daemon->lock_fd);
	pid_t pid;

	if (err == -EWOULDBLOCK) {
		if (daemon->is_spawned)
			return 1;
		fprintf(stderr, "wavetapd: another wavetapd serves %s already\n", daemon->data_dir);
		return 2;
	}
	if (err) {
		wt_log_line("%s: %s", daemon->lock_path, strerror(-err));
		return 2;
	}
	if (daemon->is_foreground || daemon->is_spawned)
		return 0;
	pid = fork(); /* the lock goes along */
	if (pid < 0) {
		perror("wavetapd: fork");
		return 2;
	}
	if (pid > 0)
		_exit(0);
	leave_parent(false);
	open_log(daemon);
	return 0;
}

int main(int argc, char **argv)
{
	struct wt_daemon daemon = {.dir_fd = -1,
	                           .lock_fd = -1,
	                           .epoll_fd = -1,
	                           .signal_fd = -1,
	                           .inotify_fd = -1,
	                           .listen_fd = -1};
	int code = parse_options(argc, argv, &daemon);
	int err;

	if (code)
		return code - 1;
	err = set_paths(&daemon);
	if (err) {
		fprintf(stderr, "wavetapd: no data directory: %s (set WAVETAP_DIR)\n",
		        strerror(-err));
		return 1;
	}
	if (daemon.is_spawned)
		leave_parent(true);
	umask(077);
	err = make_folders(daemon.data_dir);
	if (daemon.is_spawned)
		open_log(&daemon);
	if (err) {
		wt_log_line("%s: %s", daemon.data_dir, strerror(-err));
		return 1;
	}
	err = raise_limits();
	if (err) {
		wt_log_line("limits: %s", strerror(-err));
		return 1;
	}
	code = take_place(&daemon);
	if (code)
		return code - 1;
	if (chdir("/"))
		wt_log_line("/: %s", strerror(errno));
	wt_segment_guard_install();
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
