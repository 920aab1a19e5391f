/*
 * start.c - everything before the daemon's loop: options, the settings of a daemon that was
 * started from inside somebody else's program, the lock, the way to the background.
 *
 * One thread. May block on the disk, and LOCK_WAIT_MS on a daemon that is being killed.
 */
#include "config.h"
#include "daemon/daemon.h"
#include "schema/wt_ident.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#define IDLE_SECONDS_MAX 1000000
#define DESCRIPTORS_MIN 64
#define LOCK_WAIT_MS 3000 /* a killed daemon can take that long to let go, on a slow disk */
#define LOCK_RETRY_MS 20

WT_IDENT("wavetapd");

static const char usage[] =
        "usage: wavetapd [--foreground] [--dir DIR] [--idle SECONDS]\n"
        "Stores what processes that preload libwavetap.so record of the GPU in run files.\n"
        "Usually the first of them starts it; it ends when the last has gone.\n"
        "\n"
        "      --foreground    stay attached to the terminal, messages on stderr\n"
        "      --dir DIR       data directory (default: $WAVETAP_DIR, else\n"
        "                      $XDG_DATA_HOME/wavetap, else ~/.local/share/wavetap)\n"
        "      --idle SECONDS  end after so long without a live process (default: 2)\n"
        "  -h, --help          this text\n"
        "  -V, --version       the version\n"
        "\n"
        "more: man wavetapd\n";

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

	while ((option = getopt_long(argc, argv, "hV", options, NULL)) != -1) {
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
			fprintf(stderr, "try: wavetapd --help\n");
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

/*
 * A sandbox's filter of system calls is inherited as well, and can't be left. 0, or the error if
 * what a store needs is refused as such: then, too, the place is better left to another daemon.
 * A full or read-only disk is not that.
 */
static int try_store(const struct wt_daemon *daemon)
{
	char path[WT_PATH_BYTES + 32];
	int fd, err = 0;

	snprintf(path, sizeof(path), "%s/.try-%d", daemon->data_dir, (int)getpid());
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno == ENOSYS ? -ENOSYS : 0;
	if (pwrite(fd, "", 1, 0) < 0 || fsync(fd) || ftruncate(fd, 0))
		err = errno;
	/* SQLite uses the one, we the other. */
	if (unlinkat(AT_FDCWD, path, 0))
		err = errno;
	if (unlink(path) && errno != ENOENT)
		err = errno;
	close(fd);
	return err == EPERM || err == ENOSYS ? -err : 0;
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
	snprintf(daemon->dirhash, sizeof(daemon->dirhash), "-%016llx-",
	         (unsigned long long)wt_fnv1a(daemon->data_dir, strlen(daemon->data_dir)));
	return err;
}

static void open_log(const struct wt_daemon *daemon)
{
	char path[WT_PATH_BYTES + 16];

	snprintf(path, sizeof(path), "%s/wavetapd.log", daemon->data_dir);
	wt_log_open(path);
}

/*
 * A daemon that was killed holds the lock until the kernel has taken it apart. Whoever started us
 * saw nobody at work and won't try again, so a spawned daemon waits that long before it gives way.
 */
static int take_lock(struct wt_daemon *daemon)
{
	const struct timespec pause = {.tv_nsec = LOCK_RETRY_MS * WT_MS};
	int tries = daemon->is_spawned ? LOCK_WAIT_MS / LOCK_RETRY_MS : 1;
	int err;

	for (;;) {
		err = wt_lock_take(daemon->lock_path, &daemon->lock_fd);
		if (err != -EWOULDBLOCK || --tries == 0)
			return err;
		nanosleep(&pause, NULL);
	}
}

/* Takes the lock and goes to the background if told to. 0: go on; else exit code plus one. */
static int take_place(struct wt_daemon *daemon)
{
	int err = take_lock(daemon);
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

int wt_start(int argc, char **argv, struct wt_daemon *daemon)
{
	int code = parse_options(argc, argv, daemon);
	int err;

	if (code)
		return code;
	err = set_paths(daemon);
	if (err) {
		fprintf(stderr, "wavetapd: no data directory: %s (set WAVETAP_DIR)\n",
		        strerror(-err));
		return 2;
	}
	if (daemon->is_spawned)
		leave_parent(true);
	umask(077);
	err = wt_path_make_folders(daemon->data_dir);
	if (daemon->is_spawned)
		open_log(daemon);
	if (err) {
		wt_log_line("%s: %s", daemon->data_dir, strerror(-err));
		return 2;
	}
	wt_run_set_place(daemon);
	err = raise_limits();
	if (err) {
		wt_log_line("limits: %s", strerror(-err));
		return 2;
	}
	err = daemon->is_spawned ? try_store(daemon) : 0;
	if (err) {
		wt_log_line("%s: the program that started this daemon has a filter of system calls "
		            "under which nothing can be stored: %s",
		            daemon->data_dir, strerror(-err));
		return 2;
	}
	code = take_place(daemon);
	if (code)
		return code;
	if (chdir("/"))
		wt_log_line("/: %s", strerror(errno));
	return 0;
}
