/*
 * spawn.c - starts wavetapd without the host noticing.
 *
 * The host must never see a child it didn't make: no SIGCHLD, nothing that wait() returns, no
 * descriptor. So a helper is made by clone with CLONE_VM|CLONE_VFORK and exit signal 0: no
 * page tables are copied, no atfork handler runs, and plain wait calls don't see it. The
 * helper clones the daemon in the same way and ends; the daemon, now an orphan, goes to init.
 * We reap the helper with __WCLONE, and the host's waiting threads can't take it from us.
 *
 *   host thread   all signals blocked, stacks and arguments ready, clone; waits for the helper
 *   helper        clone; waits for the exec; exits
 *   daemon        own session, no signal handlers, no descriptors, exec
 *
 * Helper and daemon run in the host's memory, with the host thread's TLS, until the exec. They
 * make system calls and write their own stacks and the struct below, nothing else.
 *
 * `wavetapd --spawned` does the rest itself: affinity, signal mask, umask, directory, niceness.
 *
 * Once per process, while the segment is made. Takes about a millisecond.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libintercept/hooks.h"
#include "libintercept/libc.h"
#include "schema/wt_paths.h"

#define STACK_BYTES (32u * 1024u)
#define ENV_BYTES 8192
#define ENV_MAX 64
#define START_NS UINT64_C(1000000000) /* so long a daemon may take until it has its lock */

/* Everything the helper and the daemon need; one anonymous mapping, stacks included. */
struct spawn {
	_Alignas(64) uint8_t helper_stack[STACK_BYTES];
	_Alignas(64) uint8_t daemon_stack[STACK_BYTES];
	char path[WT_PATH_BYTES];
	char *argv[3];
	char *envp[ENV_MAX + 1];
	char env_text[ENV_BYTES];
	size_t env_used_bytes;
	int env_count;
	int exec_errno; /* why the exec failed; 0 = it did not */
};

/* ---- what the daemon gets */

static void add_env(struct spawn *spawn, const char *name, const char *value)
{
	size_t room = sizeof(spawn->env_text) - spawn->env_used_bytes;
	char *text = spawn->env_text + spawn->env_used_bytes;
	int n = snprintf(text, room, "%s=%s", name, value);

	if (n < 0 || (size_t)n >= room || spawn->env_count == ENV_MAX)
		return;
	spawn->env_used_bytes += (size_t)n + 1;
	spawn->envp[spawn->env_count++] = text;
}

/* A whitelist: above all not LD_PRELOAD, which would load us into the daemon. */
static void fill_env(struct spawn *spawn, const char *data_dir)
{
	static const char *const names[] = {"HOME", "XDG_DATA_HOME", "PATH", "LANG", "TMPDIR"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = secure_getenv(names[i]);

		if (value)
			add_env(spawn, names[i], value);
	}
	for (char **entry = environ; entry && *entry; entry++) {
		const char *end = strchr(*entry, '=');
		char name[64];

		if (strncmp(*entry, "WAVETAP_", 8) || !end ||
		    end - *entry >= (ptrdiff_t)sizeof(name))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)(end - *entry), *entry);
		if (strcmp(name, "WAVETAP_DIR"))
			add_env(spawn, name, end + 1);
	}
	/* absolute, since the daemon works elsewhere */
	add_env(spawn, "WAVETAP_DIR", data_dir);
}

static bool try_path(struct spawn *spawn, const char *dir, int dir_length, const char *file)
{
	int n = snprintf(spawn->path, sizeof(spawn->path), "%.*s%s", dir_length, dir, file);

	return n > 0 && (size_t)n < sizeof(spawn->path) && !access(spawn->path, X_OK);
}

/* WAVETAP_DAEMON and nothing else; or beside the library, in the bin beside its folder, or where
 * make install puts it. */
static bool find_daemon(struct spawn *spawn)
{
	const char *own = secure_getenv("WAVETAP_DAEMON");
	char own_path[PATH_MAX];
	const char *slash;

	if (own && own[0])
		return try_path(spawn, own, (int)strlen(own), "");
	if (wt_libc_own_path(own_path)) {
		slash = strrchr(own_path, '/');
		if (slash) {
			int length = (int)(slash - own_path);

			if (try_path(spawn, own_path, length, "/wavetapd") ||
			    try_path(spawn, own_path, length, "/../bin/wavetapd"))
				return true;
		}
	}
	return try_path(spawn, WT_BINDIR, (int)strlen(WT_BINDIR), "/wavetapd");
}

/*
 * Is a daemon at work? Its lock file is locked then. A free lock is held here for a moment,
 * shared; a daemon that starts just then and finds it taken gives up, but then we start one.
 */
static bool is_running(const char *data_dir)
{
	char path[WT_PATH_BYTES];
	bool is_locked;
	int fd;

	if (wt_path_shm(path, data_dir, ".lock"))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return false;
	is_locked = flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;
	close(fd);
	return is_locked;
}

static _Atomic uint64_t started_ns; /* 0: not by us */

bool wt_daemon_is_expected(const char *data_dir)
{
	uint64_t start_ns = wt_load_relaxed(&started_ns);

	return is_running(data_dir) || (start_ns && wt_now_ns() - start_ns < START_NS);
}

/* ---- in the host's memory, but not the host */

/* Standard streams to /dev/null, everything else closed. */
static void close_descriptors(void)
{
	int null = open("/dev/null", O_RDWR);

	for (int fd = 0; fd < 3; fd++)
		if (null != fd && (null < 0 || dup2(null, fd) < 0))
			close(fd);
#ifdef SYS_close_range
	if (!syscall(SYS_close_range, 3u, ~0u, 0u))
		return;
#endif
	/* before Linux 5.9: this table is ours alone, and the daemon closes what lies beyond */
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
}

static int run_daemon(void *arg)
{
	struct spawn *spawn = arg;
	const uint64_t fresh[4] = {0}; /* the kernel's struct sigaction, all default */
	sigset_t none;

	setsid();
	/* The handlers are the host's code: gone before any signal can be let in. sigaction() would
	 * skip the thread library's own signals, and posix_spawn leaves one of them ignored. */
	for (int signal = 1; signal < NSIG; signal++)
		syscall(SYS_rt_sigaction, signal, fresh, NULL, NSIG / 8);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	close_descriptors();
	execve(spawn->path, spawn->argv, spawn->envp);
	spawn->exec_errno = errno;
	_exit(127);
}

static int run_helper(void *arg)
{
	struct spawn *spawn = arg;

	if (clone(run_daemon, spawn->daemon_stack + STACK_BYTES, CLONE_VM | CLONE_VFORK, spawn) < 0)
		spawn->exec_errno = errno;
	_exit(0);
}

/* ---- the host's side */

static void start(struct spawn *spawn)
{
	sigset_t all, saved;
	int status;
	pid_t pid;

	/* Even the signals of the thread library: a handler in the helper would run on our memory. */
	memset(&all, 0xff, sizeof(all));
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &saved, NSIG / 8);
	pid = clone(run_helper, spawn->helper_stack + STACK_BYTES, CLONE_VM | CLONE_VFORK, spawn);
	if (pid < 0)
		spawn->exec_errno = errno;
	else
		while (waitpid(pid, &status, __WCLONE) < 0 && errno == EINTR)
			;
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &saved, NULL, NSIG / 8);
}

void wt_spawn_daemon(const char *data_dir)
{
	const char *setting = secure_getenv("WAVETAP_SPAWN");
	int saved_errno = errno;
	struct spawn *spawn;

	if ((setting && !strcmp(setting, "0")) || getauxval(AT_SECURE) || is_running(data_dir))
		return;
	spawn = mmap(NULL, sizeof(*spawn), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
	             0);
	if (spawn == MAP_FAILED)
		return;
	if (find_daemon(spawn)) {
		static char name[] = "wavetapd", option[] = "--spawned";

		spawn->argv[0] = name;
		spawn->argv[1] = option;
		fill_env(spawn, data_dir);
		start(spawn);
		if (!spawn->exec_errno)
			wt_store_relaxed(&started_ns, wt_now_ns());
		wt_log("daemon %s: %s (%d)", spawn->path,
		       spawn->exec_errno ? "not started" : "started", spawn->exec_errno);
	} else {
		wt_log("no wavetapd found");
	}
	munmap(spawn, sizeof(*spawn));
	errno = saved_errno;
}
