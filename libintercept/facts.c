/*
 * facts.c - who and where this process is, for the header of its segment.
 *
 * Runs once per process, while the segment is made. Reads the environment and a few files of
 * /proc; no heap, no stdio streams; nothing stays open. What can't be found out stays 0 or "".
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "config.h"
#include "libintercept/hooks.h"
#include "libintercept/libc.h"
#include "schema/wt_ident.h"
#include "schema/wt_paths.h"

WT_IDENT("libwavetap");

/* Reads the beginning of a small file into `text`, NUL-terminated; its length, 0 on failure. */
static size_t read_file(const char *path, char *text, size_t text_bytes)
{
	size_t used = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		while (used < text_bytes - 1) {
			ssize_t n = read(fd, text + used, text_bytes - 1 - used);

			if (n < 0 && errno == EINTR)
				continue;
			if (n <= 0)
				break;
			used += (size_t)n;
		}
		close(fd);
	}
	text[used] = '\0';
	return used;
}

uint64_t wt_facts_start_ticks(void)
{
	char stat_text[1024];
	const char *at;

	if (!read_file("/proc/self/stat", stat_text, sizeof(stat_text)))
		return 0;
	/* The second field may hold spaces and brackets; the third begins after its last one. */
	at = strrchr(stat_text, ')');
	for (int field = 2; at && field < 22; field++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	return at ? wt_libc_strtoull(at, NULL, 10) : 0;
}

uint64_t wt_facts_pid_namespace(void)
{
	struct stat st;

	return wt_libc_stat("/proc/self/ns/pid", &st) ? 0 : (uint64_t)st.st_ino;
}

void wt_facts_random(void *bytes, size_t length)
{
	static _Atomic uint64_t counter;
	uint64_t seed[3];

	/* by number: libc has had a function for it since 2.25 only */
	if (syscall(SYS_getrandom, bytes, length, GRND_NONBLOCK) == (long)length)
		return;
	/* Early boot or a sandbox: unique on this host is enough. */
	for (size_t at = 0; at < length; at += sizeof(uint64_t)) {
		size_t part = length - at < sizeof(uint64_t) ? length - at : sizeof(uint64_t);
		uint64_t word;

		seed[0] = wt_now_ns();
		seed[1] = (uint64_t)wt_libc_pid();
		seed[2] = wt_add_relaxed(&counter, 1);
		word = wt_fnv1a(seed, sizeof(seed));
		memcpy((uint8_t *)bytes + at, &word, part);
	}
}

/* ---- launchers */

static const char *env(const char *name)
{
	const char *value = secure_getenv(name);

	return value && value[0] ? value : NULL;
}

static int32_t env_number(const char *name)
{
	const char *value = name ? env(name) : NULL;
	char *end;
	long number;

	if (!value)
		return -1;
	number = wt_libc_strtol(value, &end, 10);
	return *end || number < 0 || number > INT32_MAX ? -1 : (int32_t)number;
}

/* The three variables of one launcher, never mixed: an outer launcher's count says nothing
 * about an inner one's rank. */
static void fill_rank(struct wt_segment_header *header)
{
	static const struct {
		const char *rank, *local_rank, *world_size;
	} launcher[] = {
	        {"RANK", "LOCAL_RANK", "WORLD_SIZE"},
	        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE"},
	        {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_SIZE"},
	        {"PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE"},
	        {"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS"},
	        {"PMIX_RANK", NULL, NULL},
	};

	header->rank = header->local_rank = header->world_size = -1;
	for (size_t i = 0; i < sizeof(launcher) / sizeof(launcher[0]); i++) {
		int32_t rank = env_number(launcher[i].rank);

		if (rank < 0)
			continue;
		header->rank = rank;
		header->local_rank = env_number(launcher[i].local_rank);
		header->world_size = env_number(launcher[i].world_size);
		return;
	}
}

/* What the processes of one job on this host have in common, "" if no launcher tells. */
static void fill_run_key(char *key, size_t bytes)
{
	const char *own = env("WAVETAP_RUN");
	const char *torch = env("TORCHELASTIC_RUN_ID");
	const char *address = env("MASTER_ADDR"), *port = env("MASTER_PORT");
	const char *slurm_job = env("SLURM_JOB_ID"), *slurm_step = env("SLURM_STEP_ID");
	const char *mpi = env("OMPI_MCA_ess_base_jobid");

	mpi = mpi ? mpi : env("PMIX_NAMESPACE");
	mpi = mpi ? mpi : env("PMI_JOBID");
	if (own)
		snprintf(key, bytes, "%s", own);
	else if (torch && strcmp(torch, "none"))
		snprintf(key, bytes, "torchrun:%s@%s:%s", torch, address ? address : "",
		         port ? port : "");
	else if (slurm_job && slurm_step)
		snprintf(key, bytes, "slurm:%s.%s", slurm_job, slurm_step);
	else if (mpi)
		snprintf(key, bytes, "mpi:%s", mpi);
	else
		key[0] = '\0';
}

/* ---- the header */

static void fill_command(struct wt_segment_header *header)
{
	size_t length = read_file("/proc/self/cmdline", header->command, sizeof(header->command));
	ssize_t n = readlink("/proc/self/exe", header->executable, sizeof(header->executable) - 1);

	header->executable[n > 0 ? n : 0] = '\0';
	for (size_t i = 0; i + 1 < length; i++)
		if (!header->command[i])
			header->command[i] = ' ';
}

static void fill_text(char *text, size_t bytes, const char *variable)
{
	const char *value = env(variable);

	snprintf(text, bytes, "%s", value ? value : "");
}

void wt_facts_fill(struct wt_segment_header *header)
{
	struct timespec monotonic;
	char *newline;

	wt_facts_random(header->uuid, sizeof(header->uuid));
	header->pid_namespace = wt_facts_pid_namespace();
	header->start_ticks = wt_facts_start_ticks();
	clock_gettime(CLOCK_MONOTONIC, &monotonic);
	header->created_realtime_ns = wt_now_ns();
	header->created_monotonic_ns =
	        (uint64_t)monotonic.tv_sec * UINT64_C(1000000000) + (uint64_t)monotonic.tv_nsec;
	header->pid = wt_libc_pid();
	header->ppid = getppid();
	header->uid = geteuid();
	read_file("/proc/sys/kernel/random/boot_id", header->boot_id, sizeof(header->boot_id));
	newline = strchr(header->boot_id, '\n');
	if (newline)
		*newline = '\0';
	gethostname(header->hostname, sizeof(header->hostname) - 1);
	snprintf(header->library_version, sizeof(header->library_version), "%s", PACKAGE_VERSION);
	fill_rank(header);
	fill_run_key(header->run_key, sizeof(header->run_key));
	fill_text(header->run_name, sizeof(header->run_name), "WAVETAP_NAME");
	fill_text(header->run_tags, sizeof(header->run_tags), "WAVETAP_TAGS");
	fill_command(header);
}
