/*
 * program.c - see program.h.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/program.h"
#include "schema/wt_paths.h"

/* ---- running */

static volatile sig_atomic_t child_pid;

/* What the kernel sends (a hang-up of the terminal) reaches the whole group without us. */
static void pass_on(int number, siginfo_t *info, void *context)
{
	int saved_errno = errno;

	(void)context;
	if (info->si_code != SI_KERNEL)
		kill((pid_t)child_pid, number);
	errno = saved_errno;
}

static const int handled[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
#define HANDLED_COUNT (sizeof(handled) / sizeof(handled[0]))

/* Our dispositions while the program runs; the former ones into `former`. */
static void set_signals(struct sigaction former[HANDLED_COUNT])
{
	for (size_t i = 0; i < HANDLED_COUNT; i++) {
		struct sigaction action = {.sa_flags = SA_RESTART};
		bool is_passed_on = handled[i] == SIGTERM || handled[i] == SIGHUP;

		sigemptyset(&action.sa_mask);
		sigaction(handled[i], NULL, &former[i]);
		if (is_passed_on) {
			action.sa_flags |= SA_SIGINFO;
			action.sa_sigaction = pass_on;
		} else {
			action.sa_handler = SIG_IGN;
		}
		/* nohup: what was ignored stays so. */
		if (former[i].sa_handler != SIG_IGN)
			sigaction(handled[i], &action, NULL);
	}
}

static void restore_signals(const struct sigaction former[HANDLED_COUNT])
{
	for (size_t i = 0; i < HANDLED_COUNT; i++)
		sigaction(handled[i], &former[i], NULL);
}

/* In the child: does not return. Its errno goes through `report_fd` if exec fails. */
static void exec_program(char *const *argv, const char *const (*environment)[2], int report_fd)
{
	int error;

	for (; (*environment)[0]; environment++)
		if (setenv((*environment)[0], (*environment)[1], 1))
			break;
	if (!(*environment)[0])
		execvp(argv[0], argv);
	error = errno;
	while (write(report_fd, &error, sizeof(error)) < 0 && errno == EINTR)
		;
	_exit(WT_EXIT_NOT_EXECUTABLE);
}

/* Waits for the end of the child; the handler must not hit a pid that was reaped already. */
static int wait_for_end(pid_t child, const sigset_t *blocked, const sigset_t *mask)
{
	siginfo_t info;
	int status = 0;

	sigprocmask(SIG_SETMASK, mask, NULL);
	while (waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		;
	sigprocmask(SIG_BLOCK, blocked, NULL);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

int wt_program_run(char *const *argv, const char *const (*environment)[2], int *ret_status)
{
	struct sigaction former[HANDLED_COUNT];
	sigset_t blocked, mask;
	int report[2];
	int error = 0;
	int status;
	pid_t child;

	if (pipe2(report, O_CLOEXEC))
		return -errno;
	sigemptyset(&blocked);
	for (size_t i = 0; i < HANDLED_COUNT; i++)
		sigaddset(&blocked, handled[i]);
	sigprocmask(SIG_BLOCK, &blocked, &mask);
	set_signals(former);
	child = fork();
	if (child == 0) {
		restore_signals(former);
		sigprocmask(SIG_SETMASK, &mask, NULL);
		exec_program(argv, environment, report[1]);
	}
	error = child < 0 ? errno : 0;
	close(report[1]);
	child_pid = child;
	if (child > 0) {
		ssize_t n;

		while ((n = read(report[0], &error, sizeof(error))) < 0 && errno == EINTR)
			;
		status = wait_for_end(child, &blocked, &mask);
		if (n == 0)
			*ret_status = status;
	}
	close(report[0]);
	restore_signals(former);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	return -error;
}

int wt_program_end_like(int status)
{
	const struct rlimit no_core = {0, 0};
	sigset_t set;
	int number;

	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	number = WTERMSIG(status);
	/* The program left its core, if it was to; a second one would be ours and of no use. A
	 * core pipe ignores the limit but not this flag. */
	setrlimit(RLIMIT_CORE, &no_core);
	prctl(PR_SET_DUMPABLE, 0);
	signal(number, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(number);
	return 128 + number; /* not a signal that kills */
}

/* ---- looking at the file */

int wt_program_find(const char *command, char *path)
{
	const char *at = getenv("PATH");

	if (strchr(command, '/'))
		return snprintf(path, WT_PATH_BYTES, "%s", command) < WT_PATH_BYTES ? 0 : -ENOENT;
	while (at && *at) {
		size_t length = strcspn(at, ":");
		int n = snprintf(path, WT_PATH_BYTES, "%.*s%s%s", (int)length, at,
		                 length ? "/" : "", command);

		if (n < WT_PATH_BYTES && !access(path, X_OK))
			return 0;
		at += length + (at[length] == ':');
	}
	return -ENOENT;
}

/* An ELF executable without an interpreter is loaded by the kernel alone. */
static bool is_static_elf(int fd)
{
	Elf64_Ehdr header;
	Elf64_Phdr segment;

	if (pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
		return false;
	for (unsigned i = 0; i < header.e_phnum; i++) {
		off_t offset = (off_t)(header.e_phoff + (Elf64_Off)i * header.e_phentsize);

		if (pread(fd, &segment, sizeof(segment), offset) != sizeof(segment) ||
		    segment.p_type == PT_INTERP)
			return false;
	}
	return true;
}

const char *wt_program_preload_obstacle(const char *command)
{
	const char *obstacle = NULL;
	char path[WT_PATH_BYTES];
	struct stat st;
	int fd;

	if (wt_program_find(command, path))
		return NULL;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st)) {
		bool is_raised =
		        ((st.st_mode & S_ISUID) && st.st_uid != geteuid()) ||
		        ((st.st_mode & S_ISGID) && st.st_gid != getegid()) ||
		        (geteuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0);

		if (is_raised)
			obstacle =
			        "it runs with raised privileges, so the loader ignores LD_PRELOAD";
		else if (is_static_elf(fd))
			obstacle = "it is statically linked, so nothing can be preloaded "
			           "(see wavetap help preload)";
	}
	close(fd);
	return obstacle;
}
