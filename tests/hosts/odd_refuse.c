/*
 * odd_refuse.c - runs a program in which one system call is refused, as a sandbox's filter does.
 *
 *	odd_refuse list                          the names it knows
 *	odd_refuse NAME ERRNO|kill PROGRAM [ARGUMENT...]
 *
 * 77: no filter can be set here, or there is no such call on this processor.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	const char *name;
	unsigned number;
	unsigned argument; /* refused only with one of `bits` in it */
	unsigned bits; /* 0: always */
} calls[] = {
        {"fallocate", SYS_fallocate, 0, 0},
        {"create", SYS_openat, 2, O_CREAT},
        {"ftruncate", SYS_ftruncate, 0, 0},
        {"fchmod", SYS_fchmod, 0, 0},
        {"statfs", SYS_statfs, 0, 0},
        {"fstatfs", SYS_fstatfs, 0, 0},
        {"madvise", SYS_madvise, 0, 0},
        {"prlimit64", SYS_prlimit64, 0, 0},
        {"getrandom", SYS_getrandom, 0, 0},
        {"readlinkat", SYS_readlinkat, 0, 0},
        {"uname", SYS_uname, 0, 0},
        {"unlinkat", SYS_unlinkat, 0, 0},
        {"gettid", SYS_gettid, 0, 0},
        {"getuid", SYS_getuid, 0, 0},
        {"prctl", SYS_prctl, 0, 0},
        {"get_robust_list", SYS_get_robust_list, 0, 0},
        {"rt_sigprocmask", SYS_rt_sigprocmask, 0, 0},
        {"clock_nanosleep", SYS_clock_nanosleep, 0, 0},
        {"flock", SYS_flock, 0, 0},
        {"wait4", SYS_wait4, 0, 0},
        {"clone3", SYS_clone3, 0, 0},
#ifdef SYS_readlink
        {"readlink", SYS_readlink, 0, 0},
        {"unlink", SYS_unlink, 0, 0},
        {"access", SYS_access, 0, 0},
        {"fork", SYS_fork, 0, 0},
        {"vfork", SYS_vfork, 0, 0},
#endif
};

#if defined(__x86_64__)
#define PROCESSOR AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define PROCESSOR AUDIT_ARCH_AARCH64
#else
#define PROCESSOR 0
#endif

static int refuse(unsigned number, unsigned argument, unsigned bits, unsigned answer)
{
	const unsigned at = offsetof(struct seccomp_data, args) + 8 * argument;
	struct sock_filter filter[] = {
	        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
	        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROCESSOR, 0, 5),
	        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 3),
	        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at),
	        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, bits ? 1 : 0),
	        BPF_STMT(BPF_RET | BPF_K, answer),
	        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof(filter) / sizeof(filter[0]), .filter = filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
	const char *preload = getenv("ODD_PRELOAD");
	unsigned answer;

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (argc == 2 && !strcmp(argv[1], "list")) {
			puts(calls[i].name);
			continue;
		}
		if (argc < 4 || strcmp(argv[1], calls[i].name) != 0)
			continue;
		if (preload)
			setenv("LD_PRELOAD", preload, 1);
		answer = strcmp(argv[2], "kill") ? SECCOMP_RET_ERRNO | (unsigned)atoi(argv[2])
		                                 : SECCOMP_RET_KILL_PROCESS;
		if (!PROCESSOR || refuse(calls[i].number, calls[i].argument, calls[i].bits, answer))
			return 77;
		execv(argv[3], argv + 3);
		return 76;
	}
	return argc == 2 ? 0 : 77;
}
