/*
 * app_guest.c - a CUDA program that looks for traces of an observer in its own process.
 *
 * Launches kernels, then prints what must not depend on being observed: children that
 * waitpid(-1) finds, SIGCHLDs received, open descriptors, signal dispositions and mask,
 * environment (without LD_PRELOAD and WAVETAP_*), umask, working directory, niceness.
 * One thread; blocks only in the driver.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
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

static int count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	while (dir && readdir(dir))
		count++;
	if (dir)
		closedir(dir);
	return count;
}

static unsigned long hash_environment(void)
{
	unsigned long hash = 5381;

	for (char **entry = environ; *entry; entry++) {
		if (!strncmp(*entry, "LD_PRELOAD=", 11) || !strncmp(*entry, "WAVETAP_", 8))
			continue;
		for (const char *at = *entry; *at; at++)
			hash = hash * 33 + (unsigned char)*at;
	}
	return hash;
}

static void print_children(const char *what, int options)
{
	pid_t pid = waitpid(-1, NULL, options);

	printf("%s: %d, %s\n", what, (int)pid, pid < 0 ? strerror(errno) : "a child");
}

/* Signals 1 to 31: glibc keeps 32 and 33 for itself once a process has a second thread. */
static void print_signals(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	char line[256], name[16];
	unsigned long long mask;

	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "Sig%10[a-zA-Z]: %llx", name, &mask) == 2 && name[0] != 'Q')
			printf("Sig%s %08llx\n", name, mask & 0x7fffffff);
	if (status)
		fclose(status);
}

static void launch_some(int count)
{
	wtcu_function function;
	wtcu_module module;

	app_load("dlsym");
	module = app_start(0, ptx);
	APP_CHECK(app.module_function(&function, module, "guest"));
	for (int i = 0; i < count; i++)
		APP_CHECK(app.launch(function, 8, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	APP_CHECK(app.ctx_sync());
}

int main(void)
{
	struct sigaction action = {.sa_handler = on_sigchld};
	char directory[4096];
	mode_t mask = umask(022);

	umask(mask);
	sigaction(SIGCHLD, &action, NULL);
	launch_some(100);
	usleep(300000); /* the daemon is up by now, if one is */
	print_children("waitpid", 0);
	print_children("waitpid __WALL", __WALL);
	printf("sigchld %d\n", (int)sigchld_count);
	printf("descriptors %d\n", count_descriptors());
	printf("environment %lx\n", hash_environment());
	printf("umask %o, directory %s, niceness %d\n", (unsigned)mask,
	       getcwd(directory, sizeof(directory)), getpriority(PRIO_PROCESS, 0));
	print_signals();
	return 0;
}
