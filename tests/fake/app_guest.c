/*
 * app_guest.c - a CUDA program that looks for traces of an observer in its own process.
 *
 *	app_guest [cupti] [end=SIGNAL]
 *
 * Launches kernels, then prints what must not depend on being observed: children that waitpid(-1) finds
 * and that the kernel lists, SIGCHLDs received, sleeps interrupted, signal dispositions and masks of main
 * and the alternate stack, the environment byte by byte (without LD_PRELOAD), what /proc/self/status and
 * prctl tell of rights, limits, umask, working directory, niceness, processors and errno. Then, as
 * "fd" and "thread", open descriptors and threads by name: with `cupti` it is a plain client of CUPTI, as
 * other profilers are, for comparison. `end` raises that signal as its end. One thread; blocks in the driver.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/fake/app_driver.h"

static const char ptx[] = ".version 6.0\n"
                          ".target sm_52\n"
                          ".address_size 64\n"
                          "// wtfake: kernel=guest regs=8 block_ns=2000\n"
                          ".visible .entry guest()\n"
                          "{\n"
                          "\tret;\n"
                          "}\n";

static volatile sig_atomic_t sigchld_count;

static void on_sigchld(int signal_number)
{
	(void)signal_number;
	sigchld_count++;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* What each entry of a folder of /proc says: of descriptors where they lead to, of threads their names;
 * numbers that differ from run to run are left out. */
static void print_folder(const char *what, const char *folder, const char *inside)
{
	static char lines[256][256];
	DIR *dir = opendir(folder);
	struct dirent *entry;
	size_t count = 0;
	char path[512];
	FILE *file;

	while (dir && (entry = readdir(dir)) && count < 256) {
		char *line = lines[count];
		ssize_t n;

		snprintf(path, sizeof(path), "%s/%s%s", folder, entry->d_name, inside);
		if (entry->d_name[0] == '.')
			continue;
		memset(line, 0, sizeof(lines[0]));
		if (inside[0]) {
			file = fopen(path, "r");
			n = file && fgets(line, sizeof(lines[0]), file);
			if (file)
				fclose(file);
			if (!n)
				continue;
		} else {
			n = snprintf(line, sizeof(lines[0]), "%s ", entry->d_name);
			if (readlink(path, line + n, sizeof(lines[0]) - 1 - (size_t)n) < 0 ||
			    atoi(entry->d_name) == dirfd(dir))
				continue;
		}
		line[strcspn(line, "[\n")] = '\0';
		count++;
	}
	if (dir)
		closedir(dir);
	qsort(lines, count, sizeof(lines[0]), by_text);
	for (size_t i = 0; i < count; i++)
		printf("%s %s\n", what, lines[i]);
}

static unsigned long hash_environment(int *ret_count)
{
	unsigned long hash = 5381;

	*ret_count = 0;
	for (char **entry = environ; *entry; entry++) {
		const char *value = strchr(*entry, '=');
		char name[256];

		if (!strncmp(*entry, "LD_PRELOAD=", 11))
			continue;
		for (const char *at = *entry; *at; at++)
			hash = hash * 33 + (unsigned char)*at;
		++*ret_count;
		/* What getenv says is what is there. */
		if (value && value - *entry < (ptrdiff_t)sizeof(name)) {
			snprintf(name, sizeof(name), "%.*s", (int)(value - *entry), *entry);
			if (!getenv(name) || strcmp(getenv(name), value + 1))
				printf("getenv %s differs\n", name);
		}
	}
	return hash;
}

static void print_children(const char *what, int options)
{
	pid_t pid = waitpid(-1, NULL, options);

	printf("%s: %d, %s\n", what, (int)pid, pid < 0 ? strerror(errno) : "a child");
}

/* Of the main thread. Signals 1 to 31: glibc keeps 32 and 33 for itself once a process has a second
 * thread. */
static void print_status(void)
{
	static const char *const same[] = {"Uid:",         "Gid:",        "Groups:",       "Cap",
	                                   "NoNewPrivs:",  "Seccomp",     "Cpus_allowed:", "Umask:",
	                                   "CoreDumping:", "THP_enabled:"};
	FILE *status = fopen("/proc/thread-self/status", "r");
	unsigned long long mask;
	char line[1024], name[16];

	while (status && fgets(line, sizeof(line), status)) {
		if (sscanf(line, "Sig%10[a-zA-Z]: %llx", name, &mask) == 2 && name[0] != 'Q')
			printf("Sig%s %08llx\n", name, mask & 0x7fffffff);
		for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
			if (!strncmp(line, same[i], strlen(same[i])))
				fputs(line, stdout);
	}
	if (status)
		fclose(status);
}

static void print_process(void)
{
	int subreaper = -1, death = -1;
	char directory[4096];
	struct rlimit limit;
	stack_t stack;

	prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
	prctl(PR_GET_PDEATHSIG, &death);
	sigaltstack(NULL, &stack);
	printf("directory %s, niceness %d, policy %d, slack %d, dumpable %d, subreaper %d, death "
	       "%d\n",
	       getcwd(directory, sizeof(directory)), getpriority(PRIO_PROCESS, 0),
	       sched_getscheduler(0), prctl(PR_GET_TIMERSLACK), prctl(PR_GET_DUMPABLE), subreaper,
	       death);
	printf("alternate stack %x, session %d, group %d\n", (unsigned)stack.ss_flags,
	       getsid(0) == getpid(), getpgrp() == getpid());
	for (int i = 0; i < RLIM_NLIMITS; i++)
		if (!getrlimit((__rlimit_resource_t)i, &limit))
			printf("limit %d: %llx %llx\n", i, (unsigned long long)limit.rlim_cur,
			       (unsigned long long)limit.rlim_max);
}

/* ---- a plain client of CUPTI */

static wtcupti_next_record_fn next_record;

static void on_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*size = 1u << 20;
	*max_records = 0;
	*buffer = aligned_alloc(8, *size);
}

static void on_complete(wtcu_context context, uint32_t stream_id, uint8_t *buffer, size_t size,
                        size_t valid)
{
	struct wtcupti_activity *record = NULL;

	(void)context, (void)stream_id, (void)size;
	while (next_record(buffer, valid, &record) == WTCUPTI_SUCCESS)
		;
	free(buffer);
}

static void start_client(void)
{
	void *handle = dlopen("libcupti.so.13", RTLD_NOW | RTLD_GLOBAL);
	wtcupti_register_callbacks_fn register_callbacks;
	wtcupti_activity_kind_fn enable;

	if (!handle)
		exit(77);
	*(void **)&register_callbacks = dlsym(handle, "cuptiActivityRegisterCallbacks");
	*(void **)&enable = dlsym(handle, "cuptiActivityEnable");
	*(void **)&next_record = dlsym(handle, "cuptiActivityGetNextRecord");
	if (register_callbacks(on_request, on_complete) || enable(WTCUPTI_KIND_CONCURRENT_KERNEL))
		exit(1);
}

/* Grids of all sizes, so that the order shows. */
static void launch_some(unsigned count, int is_client)
{
	wtcu_function function;
	wtcu_module module;
	wtcu_stream stream;

	app_load("dlsym");
	if (is_client)
		start_client();
	module = app_start(0, ptx);
	APP_CHECK(app.module_function(&function, module, "guest"));
	APP_CHECK(app.stream_create(&stream, 1));
	errno = 77;
	for (unsigned i = 0; i < count; i++)
		APP_CHECK(app.launch(function, 1 + i * 37 % 101, 1, 1, 32, 1, 1, 0,
		                     i % 3 ? stream : NULL, NULL, NULL));
	printf("errno %d\n", errno);
	APP_CHECK(app.ctx_sync());
}

int main(int argc, char **argv)
{
	const struct timespec pause = {.tv_nsec = 400000000};
	struct sigaction action = {.sa_handler = on_sigchld};
	int is_client = 0, end = 0, count;
	unsigned long hash;

	for (int i = 1; i < argc; i++) {
		is_client |= !strcmp(argv[i], "cupti");
		if (!strncmp(argv[i], "end=", 4))
			end = atoi(argv[i] + 4);
	}
	sigaction(SIGCHLD, &action, NULL);
	launch_some(300, is_client);
	/* The daemon is up by then, if one is. */
	printf("interrupted %d\n", nanosleep(&pause, NULL));
	print_children("waitpid", 0);
	print_children("waitpid __WALL", __WALL);
	print_folder("child", "/proc/self/task", "/children");
	printf("sigchld %d\n", (int)sigchld_count);
	hash = hash_environment(&count);
	printf("environment %lx of %d\n", hash, count);
	print_status();
	print_process();
	print_folder("fd", "/proc/self/fd", "");
	print_folder("thread", "/proc/self/task", "/comm");
	fflush(stdout);
	if (end)
		raise(end);
	return 3;
}
