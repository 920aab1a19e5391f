/*
 * liveness.c - is the process behind a segment still there?
 *
 * A pidfd answers exactly: it becomes readable when the last thread is gone. kill(pid, 0)
 * would still find a corpse that nobody reaped, and another process under a reused pid;
 * against the latter the start time is compared, after the pidfd was opened.
 *
 * A pid recorded in another pid namespace means nothing here. If that namespace lies below ours,
 * /proc shows the process with both pids (NSpid). If it doesn't, or /proc is not for us to see, the
 * segment itself tells: the kernel grants a write lease on a file only while nobody else has it
 * open or mapped, whatever namespace they are in. Where there are no leases the life is unknown:
 * records are delivered, but nothing is skipped or unlinked until the process says that it has
 * finished.
 */
#include "daemon/daemon.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define LEASE_NS WT_SECOND /* how often it is asked for */

static ssize_t read_small(const char *path, char *buffer, size_t bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, buffer, bytes - 1);
	if (n < 0)
		n = -errno;
	else
		buffer[n] = '\0';
	close(fd);
	return n;
}

int wt_proc_stat(int32_t pid, int32_t *ret_ppid, uint64_t *ret_start_ticks, char *ret_state)
{
	char path[64], buffer[1024], *at;
	unsigned long long start;
	ssize_t n;
	char state;
	int ppid;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	n = read_small(path, buffer, sizeof(buffer));
	if (n < 0)
		return (int)n;
	/* The command may hold anything, parentheses too: the last one ends it. */
	at = strrchr(buffer, ')');
	if (!at || sscanf(at + 1,
	                  " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
	                  "%*d %llu",
	                  &state, &ppid, &start) != 3)
		return -EBADMSG;
	*ret_ppid = ppid;
	*ret_start_ticks = start;
	*ret_state = state;
	return 0;
}

static uint64_t namespace_of(const char *proc_entry)
{
	char path[300], link[64];
	unsigned long long ino = 0;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%.200s/ns/pid", proc_entry);
	n = readlink(path, link, sizeof(link) - 1);
	if (n < 0)
		return 0;
	link[n] = '\0';
	return sscanf(link, "pid:[%llu]", &ino) == 1 ? ino : 0;
}

/*
 * True if /proc/ENTRY is that process: its innermost pid, namespace and start time agree. The
 * namespace may be hidden from us; the other two are hardly ever those of somebody else.
 */
static bool is_that_process(const char *entry, uint64_t pid_namespace, int32_t pid,
                            uint64_t start_ticks)
{
	char path[300], buffer[4096], state, *at, *end;
	uint64_t start, namespace;
	int32_t ppid;
	long inner = 0;

	snprintf(path, sizeof(path), "/proc/%.200s/status", entry);
	if (read_small(path, buffer, sizeof(buffer)) < 0)
		return false;
	at = strstr(buffer, "\nNSpid:");
	if (!at)
		return false;
	end = strchr(at + 1, '\n');
	for (at += 7; at && at < end;) {
		char *after;
		long value = strtol(at, &after, 10);

		if (after == at)
			break;
		inner = value;
		at = after;
	}
	if (inner != pid)
		return false;
	namespace = namespace_of(entry);
	return (!namespace || namespace == pid_namespace) &&
	       wt_proc_stat(atoi(entry), &ppid, &start, &state) == 0 && start == start_ticks;
}

/* The pid here of a process of another namespace, or 0. */
static int32_t find_across(uint64_t pid_namespace, int32_t pid, uint64_t start_ticks)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int32_t found = 0;

	while (proc && !found && (entry = readdir(proc)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    is_that_process(entry->d_name, pid_namespace, pid, start_ticks))
			found = atoi(entry->d_name);
	if (proc)
		closedir(proc);
	return found;
}

uint64_t wt_liveness_namespace(void)
{
	return namespace_of("self");
}

bool wt_liveness_is_here(uint64_t pid_namespace)
{
	return pid_namespace && pid_namespace == wt_liveness_namespace();
}

int32_t wt_liveness_find(uint64_t pid_namespace, int32_t pid, uint64_t start_ticks)
{
	uint64_t start;
	int32_t ppid;
	char state;

	if (pid <= 0)
		return 0;
	if (!wt_liveness_is_here(pid_namespace))
		return find_across(pid_namespace, pid, start_ticks);
	return wt_proc_stat(pid, &ppid, &start, &state) == 0 && start == start_ticks ? pid : 0;
}

enum wt_life wt_liveness_by_file(int fd)
{
	if (fcntl(fd, F_SETLEASE, F_WRLCK))
		return errno == EAGAIN ? WT_LIFE_ALIVE : WT_LIFE_UNKNOWN;
	fcntl(fd, F_SETLEASE, F_UNLCK);
	return WT_LIFE_DEAD;
}

void wt_liveness_open(struct wt_liveness *liveness, uint64_t pid_namespace, int32_t pid,
                      uint64_t start_ticks, int fd)
{
	uint64_t start;
	int32_t ppid;
	char state;

	*liveness = (struct wt_liveness){.pidfd = -1, .start_ticks = start_ticks, .file_fd = -1};
	if (!start_ticks)
		pid = 0; /* it had no /proc to know itself by: a pid alone is nothing */
	if (pid > 0 && !wt_liveness_is_here(pid_namespace))
		pid = find_across(pid_namespace, pid, start_ticks);
	if (pid <= 0) {
		liveness->file_fd = fd;
		liveness->life = fd < 0 ? WT_LIFE_UNKNOWN : wt_liveness_by_file(fd);
		return;
	}
	liveness->pid = pid;
	liveness->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (liveness->pidfd < 0 && errno == ESRCH) {
		liveness->life = WT_LIFE_DEAD;
		return;
	}
	if (wt_proc_stat(pid, &ppid, &start, &state) == 0 && start != start_ticks) {
		if (liveness->pidfd >= 0)
			close(liveness->pidfd);
		liveness->pidfd = -1;
		liveness->life = WT_LIFE_DEAD; /* the pid belongs to somebody else now */
	}
}

enum wt_life wt_liveness_poll(struct wt_liveness *liveness)
{
	struct pollfd poll_fd = {.fd = liveness->pidfd, .events = POLLIN};
	uint64_t start;
	int32_t ppid;
	char state;
	int err;

	if (liveness->file_fd >= 0 && liveness->life == WT_LIFE_ALIVE) {
		int64_t now_ns = wt_clock_ns(CLOCK_MONOTONIC);

		if (now_ns - liveness->asked_ns >= LEASE_NS) {
			liveness->asked_ns = now_ns;
			liveness->life = wt_liveness_by_file(liveness->file_fd);
		}
		return liveness->life;
	}
	if (liveness->life != WT_LIFE_ALIVE)
		return liveness->life;
	if (liveness->pidfd >= 0) {
		if (poll(&poll_fd, 1, 0) > 0)
			liveness->life = WT_LIFE_DEAD;
		return liveness->life;
	}
	/* No pidfd (an old kernel, or a sandbox): the start time, and not a corpse. */
	err = wt_proc_stat(liveness->pid, &ppid, &start, &state);
	if (err == -ENOENT || err == -ESRCH ||
	    (!err && (start != liveness->start_ticks || state == 'X')))
		liveness->life = WT_LIFE_DEAD;
	return liveness->life;
}

void wt_liveness_close(struct wt_liveness *liveness)
{
	if (liveness->pidfd >= 0)
		close(liveness->pidfd);
	liveness->pidfd = -1;
}
