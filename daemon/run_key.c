/*
 * run_key.c - which run does a process belong to, when its environment does not say?
 *
 * The topmost ancestor that preloads libwavetap.so stands for the job: its pid, start time
 * and the boot id are the key. What can't be read is skipped; at worst a process is a run
 * of its own. Reads /proc; main thread; does not block.
 */
#include "daemon/daemon.h"

#include <errno.h>
#include <fcntl.h>

#define ENVIRON_BYTES_MAX (4u * 1024 * 1024)
#define ANCESTORS_MAX 64
#define PRELOAD_VARIABLE "LD_PRELOAD="

/* Does one variable of an environment, without its end, name the library? */
static bool names_library(const char *variable, size_t length)
{
	return length > strlen(PRELOAD_VARIABLE) &&
	       !memcmp(variable, PRELOAD_VARIABLE, strlen(PRELOAD_VARIABLE)) &&
	       memmem(variable, length, "libwavetap", strlen("libwavetap"));
}

/* True if the process was started with LD_PRELOAD naming the library. */
static bool is_preloading(int32_t pid)
{
	char path[64], *environment = NULL;
	size_t room = 64 * 1024, used = 0;
	bool is_found = false;
	ssize_t n = 1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while (n > 0 && used < ENVIRON_BYTES_MAX) {
		if (!environment || used == room) {
			char *more = realloc(environment, environment ? (room *= 2) : room);

			if (!more)
				break;
			environment = more;
		}
		n = read(fd, environment + used, room - used);
		used += n > 0 ? (size_t)n : 0;
	}
	close(fd);
	for (size_t at = 0; at < used && !is_found;) {
		size_t length = strnlen(environment + at, used - at);

		is_found = names_library(environment + at, length);
		at += length + 1;
	}
	free(environment);
	return is_found;
}

void wt_run_key(const struct wt_segment_header *header, int32_t pid, char key[WT_RUN_KEY_BYTES])
{
	int32_t top_pid = header->pid, at = pid ? pid : 0, parent;
	uint64_t top_start = header->start_ticks, start, below = header->start_ticks;
	char state;

	if (header->run_key[0]) {
		snprintf(key, WT_RUN_KEY_BYTES, "%s", header->run_key);
		return;
	}
	/* Gone already? Its parent may still be there, if that is the older of the two. */
	if (at && (wt_proc_stat(at, &parent, &start, &state) || start != header->start_ticks))
		at = header->ppid;
	for (int depth = 0; at > 0 && depth < ANCESTORS_MAX; depth++) {
		if (wt_proc_stat(at, &parent, &start, &state) || start > below)
			break;
		if (is_preloading(at)) {
			top_pid = at;
			top_start = start;
		}
		below = start;
		at = parent;
	}
	snprintf(key, WT_RUN_KEY_BYTES, "pid:%d:%llu:%s", top_pid, (unsigned long long)top_start,
	         header->boot_id);
}
