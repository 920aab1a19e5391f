/*
 * bench_child.c - programs under the clock, and what /proc says of one. Single-threaded; waits for children.
 *
 * The peak of a process' memory that wait4() gives is never below what its parent had when it forked. So a
 * program is run by a fresh copy of this one, which has nothing yet, and which tells what it saw.
 */
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/bench.h"

#define MEASURE "--run-under-the-clock"
#define REPORT_FD 3
#define MEMORY_MAX_BYTES (UINT64_C(4) << 30) /* others want some, too; sanitizers take more */

static volatile sig_atomic_t measured_pid, is_late;

double bench_now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

bool bench_is_sanitized(void)
{
	const char *flags = getenv("WT_SANITIZED");

	return flags && flags[0];
}

static double seconds_of(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

static struct bench_use use_of(int status, const struct rusage *usage, double wall_s)
{
	return (struct bench_use){
	        .wall_s = wall_s,
	        .cpu_s = seconds_of(&usage->ru_utime) + seconds_of(&usage->ru_stime),
	        .peak_bytes = (uint64_t)usage->ru_maxrss * 1024,
	        .status = status,
	};
}

static void kill_late(int signal)
{
	(void)signal;
	is_late = 1;
	kill((pid_t)measured_pid, SIGKILL);
}

/* argv: us, MEASURE, seconds, library to preload or "", program, its arguments. */
void bench_child_main(int argc, char **argv)
{
	const struct rlimit limit = {MEMORY_MAX_BYTES, MEMORY_MAX_BYTES};
	struct bench_use use;
	struct rusage usage;
	double begun_s;
	int status;

	if (argc < 5 || strcmp(argv[1], MEASURE) != 0)
		return;
	fcntl(REPORT_FD, F_SETFD, FD_CLOEXEC);
	begun_s = bench_now_s();
	measured_pid = fork();
	if (measured_pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!bench_is_sanitized())
			setrlimit(RLIMIT_DATA, &limit);
		if (argv[3][0])
			setenv("LD_PRELOAD", argv[3], 1);
		execv(argv[4], argv + 4);
		_exit(127);
	}
	signal(SIGALRM, kill_late);
	alarm((unsigned)strtoul(argv[2], NULL, 10));
	while (wait4((pid_t)measured_pid, &status, 0, &usage) < 0)
		if (errno != EINTR)
			_exit(1);
	use = use_of(is_late ? -1 : status, &usage, bench_now_s() - begun_s);
	_exit(write(REPORT_FD, &use, sizeof(use)) == (ssize_t)sizeof(use) ? 0 : 1);
}

struct bench_use bench_run(const char *library, const char *const argv[], const char *output,
                           unsigned limit_s)
{
	struct bench_use use = {.status = 127 << 8};
	const char *args[32] = {"bench", MEASURE, NULL};
	char limit[16];
	int ends[2];
	pid_t pid;

	snprintf(limit, sizeof(limit), "%u", limit_s);
	args[2] = limit;
	args[3] = library ? library : "";
	for (int i = 0; argv[i] && i + 5 < 32; i++)
		args[i + 4] = argv[i];
	if (pipe2(ends, O_CLOEXEC))
		return use;
	pid = fork();
	if (pid == 0) {
		int out = open(output ? output : "/dev/null", O_WRONLY | O_CREAT | O_TRUNC, 0600);

		if (out < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(out, STDERR_FILENO) < 0 ||
		    dup2(ends[1], REPORT_FD) < 0)
			_exit(127);
		if (ends[1] == REPORT_FD)
			fcntl(REPORT_FD, F_SETFD, 0);
		execv("/proc/self/exe", (char *const *)args);
		_exit(127);
	}
	close(ends[1]);
	if (pid > 0 && read(ends[0], &use, sizeof(use)) != (ssize_t)sizeof(use))
		use.status = 127 << 8;
	close(ends[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return use;
}

void bench_use_build(const struct bench *b, int build)
{
	setenv("top_builddir", b->build[build], 1);
}

const char *bench_program(char path[1024], const char *name)
{
	snprintf(path, 1024, "%s/%s", getenv("top_builddir"), name);
	return path;
}

int64_t bench_json_int(const char *path, const char *expression)
{
	FILE *file = fopen(path, "re");
	sqlite3_stmt *query = NULL;
	sqlite3 *db = NULL;
	int64_t value = -1;
	char *text = NULL;
	size_t room = 0;

	if (file && getdelim(&text, &room, '\0', file) > 0 &&
	    sqlite3_open(":memory:", &db) == SQLITE_OK &&
	    sqlite3_prepare_v2(db, "SELECT ifnull(json_extract(?1, ?2), -1)", -1, &query, NULL) ==
	            SQLITE_OK) {
		sqlite3_bind_text(query, 1, text, -1, SQLITE_STATIC);
		sqlite3_bind_text(query, 2, expression, -1, SQLITE_STATIC);
		if (sqlite3_step(query) == SQLITE_ROW)
			value = sqlite3_column_int64(query, 0);
	}
	sqlite3_finalize(query);
	sqlite3_close(db);
	free(text);
	if (file)
		fclose(file);
	return value;
}

bool bench_memory_of(pid_t pid, struct bench_memory *ret_memory)
{
	struct bench_memory m = {0};
	char path[64], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		uint64_t kib = 0;
		char *colon = strchr(line, ':');

		if (!colon)
			continue;
		*colon = '\0';
		kib = strtoull(colon + 1, NULL, 10);
		if (!strcmp(line, "VmRSS"))
			m.resident_bytes = kib * 1024;
		else if (!strcmp(line, "RssAnon"))
			m.own_bytes = kib * 1024;
		else if (!strcmp(line, "RssShmem"))
			m.shared_bytes = kib * 1024;
	}
	fclose(file);
	if (!m.resident_bytes) /* a zombie */
		return false;
	*ret_memory = m;
	return true;
}
