/*
 * sampler_like.c - wavetap-sampler in the surroundings of the program that it samples for.
 *
 * Which libcuda and libcupti are found, and what they need beside them, is decided by the
 * environment of that program, not by the daemon's. So the sampler reads that environment and starts
 * itself anew with it. The daemon leaves it to the sampler because the read may wait for the program.
 *
 * Main thread, before anything else. Blocks on /proc at most; the watchdog is not there yet.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/sampler.h"
#include "schema/wt_paths.h"

#define ENVIRON_BYTES_MAX ((size_t)4 << 20)
#define OWN_MAX 4 /* variables that are ours */
#define DONE "WAVETAP_SAMPLER_LIKE"

/* Not taken over: what loads others' code into us, hides devices, or is told by our options. */
static bool is_left_out(const char *variable)
{
	static const char *const names[] = {
	        "LD_PRELOAD=",
	        "LD_AUDIT=",
	        "CUDA_VISIBLE_DEVICES=",
	        "CUDA_INJECTION64_PATH=",
	        "NVTX_INJECTION64_PATH=",
	        "WAVETAP_DIR=",
	        "WAVETAP_SHM_DIR=",
	        "WAVETAP_RUN=",
	        "WAVETAP_SAMPLE=",
	        "WAVETAP_PROFILE=",
	        (DONE "="),
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(variable, names[i], strlen(names[i])))
			return true;
	return false;
}

/* All of it, with two NULs behind; NULL: it can't be read. */
static char *read_environ(const char *pid, size_t *ret_bytes)
{
	char path[64], *text = malloc(ENVIRON_BYTES_MAX + 2);
	size_t used = 0;
	ssize_t n = 1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%.20s/environ", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (text && fd >= 0 && n > 0 && used < ENVIRON_BYTES_MAX) {
		n = read(fd, text + used, ENVIRON_BYTES_MAX - used);
		used += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		close(fd);
	if (!used) {
		free(text);
		return NULL;
	}
	text[used] = text[used + 1] = '\0';
	*ret_bytes = used;
	return text;
}

/* NAME=VALUE on the heap, if there is such a variable here. */
static void add_own(char **envp, size_t *count, const char *name, const char *value)
{
	char *entry;

	if (value && asprintf(&entry, "%s=%s", name, value) >= 0)
		envp[(*count)++] = entry;
}

void wt_sampler_become_like(const char *pid, char **argv)
{
	const char *done = getenv(DONE);
	char exe[WT_PATH_BYTES];
	size_t bytes = 0, count = 0, room = OWN_MAX + 1;
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *text, **envp;

	if (n <= 0 || (done && !strcmp(done, pid)))
		return;
	exe[n] = '\0';
	text = read_environ(pid, &bytes);
	if (!text)
		return;
	for (size_t at = 0; at < bytes; at += strlen(text + at) + 1)
		room++;
	envp = calloc(room, sizeof(*envp));
	if (!envp) {
		free(text);
		return;
	}
	for (size_t at = 0; at < bytes; at += strlen(text + at) + 1)
		if (text[at] && !is_left_out(text + at))
			envp[count++] = text + at;
	add_own(envp, &count, "WAVETAP_DIR", getenv("WAVETAP_DIR"));
	add_own(envp, &count, "WAVETAP_SHM_DIR", getenv("WAVETAP_SHM_DIR"));
	add_own(envp, &count, DONE, pid);
	execve(exe, argv, envp);
	/* With what we have, then. */
	free(text);
	free(envp);
}
