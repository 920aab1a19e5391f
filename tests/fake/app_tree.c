/*
 * app_tree.c - a family of processes that use no CUDA: fork, vfork,
 * posix_spawn, system, popen, and a raw clone. A preload must not be noticed
 * here: same output, same codes, no child but our own. One thread.
 *
 *	app_tree [ROUNDS]
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int code_of(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int by_fork(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(11);
	return code_of(pid);
}

/* A grandchild that ends before its parent does. */
static int by_two_forks(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(by_fork() + 1);
	return code_of(pid);
}

static int by_vfork(void)
{
	pid_t pid = vfork();

	if (!pid) {
		execl("/bin/sh", "sh", "-c", "exit 13", (char *)NULL);
		_exit(127);
	}
	return code_of(pid);
}

static int by_spawn(void)
{
	char *const argv[] = {(char *)(uintptr_t) "sh", (char *)(uintptr_t) "-c",
	                      (char *)(uintptr_t) "exit 14", NULL};
	pid_t pid;

	if (posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ))
		return -1;
	return code_of(pid);
}

static int by_system(void)
{
	int status = system("exit 15");

	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int by_popen(void)
{
	char line[32] = "";
	FILE *pipe = popen("echo 16", "r");

	if (!pipe || !fgets(line, sizeof(line), pipe))
		return -1;
	return pclose(pipe) ? -1 : atoi(line);
}

static int by_clone(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);

	if (!pid)
		_exit(17);
	return code_of(pid);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;

	for (int i = 0; i < rounds; i++) {
		printf("fork %d, fork fork %d, vfork %d, spawn %d, system %d, popen %d, clone %d\n",
		       by_fork(), by_two_forks(), by_vfork(), by_spawn(), by_system(), by_popen(),
		       by_clone());
		fflush(stdout);
	}
	/* Nobody else's child may be ours to wait for. */
	if (waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD) {
		printf("a stranger among the children\n");
		return 1;
	}
	return 0;
}
