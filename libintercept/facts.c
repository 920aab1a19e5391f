/*
 * facts.c - who and where this process is, for the header of its segment.
 *
 * Runs once per process, while the segment is made. Reads the environment and a few files of
 * /proc; no heap, no stdio streams; nothing stays open. What can't be found out stays 0 or "".
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "config.h"
#include "libintercept/hooks.h"
#include "libintercept/libc.h"
#include "schema/wt_paths.h"
#include "schema/wt_sampling.h"

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

/* Parent and start time from a /proc/PID/stat. */
static bool read_stat(const char *path, int32_t *ret_ppid, uint64_t *ret_start_ticks)
{
	char stat_text[1024];
	const char *at;

	if (!read_file(path, stat_text, sizeof(stat_text)))
		return false;
	/* The second field may hold spaces and brackets; the third begins after its last one. */
	at = strrchr(stat_text, ')');
	for (int field = 2; at && field < 22; field++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
		if (at && field == 3)
			*ret_ppid = (int32_t)wt_libc_strtol(at, NULL, 10);
	}
	if (at)
		*ret_start_ticks = wt_libc_strtoull(at, NULL, 10);
	return at != NULL;
}

uint64_t wt_facts_start_ticks(void)
{
	uint64_t start_ticks = 0;
	int32_t ppid;

	(void)read_stat("/proc/self/stat", &ppid, &start_ticks);
	return start_ticks;
}

/*
 * Those between us and a script may be gone before the daemon looks; then nobody could tell who
 * started us. What the ancestors have in their environment is for the daemon to read: that read
 * may wait for them, this one doesn't.
 */
static void fill_ancestors(struct wt_segment_header *header)
{
	uint64_t below = header->start_ticks;
	int32_t pid = header->ppid, ppid;

	header->ancestor_count = 0;
	while (pid > 0 && header->ancestor_count < WT_ANCESTORS_MAX) {
		struct wt_ancestor *ancestor = &header->ancestor[header->ancestor_count];
		char path[32];

		snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
		if (!read_stat(path, &ppid, &ancestor->start_ticks) ||
		    ancestor->start_ticks > below)
			return;
		ancestor->pid = pid;
		header->ancestor_count++;
		below = ancestor->start_ticks;
		pid = ppid;
	}
}

uint64_t wt_facts_pid_namespace(void)
{
	struct stat st;

	return wt_libc_stat("/proc/self/ns/pid", &st) ? 0 : (uint64_t)st.st_ino;
}

void wt_facts_random(void *bytes, size_t length)
{
	static _Atomic uint64_t counter;
	uint64_t seed[3] = {0};

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
	const char *value = secure_getenv(variable);

	snprintf(text, bytes, "%s", value ? value : "");
}

/* WAVETAP_RECORD: absolute, since the daemon works elsewhere. Cut, it would be another folder. */
static void fill_record_dir(char *text, size_t bytes)
{
	const char *value = secure_getenv("WAVETAP_RECORD");
	size_t used = 0;

	text[0] = '\0';
	if (!value || !value[0])
		return;
	if (value[0] != '/') {
		if (!getcwd(text, bytes - 1))
			text[0] = '\0';
		used = strlen(text);
		if (used)
			text[used++] = '/';
	}
	if ((value[0] != '/' && !used) || strlen(value) >= bytes - used)
		snprintf(text, bytes, "?");
	else
		strcpy(text + used, value);
}

/* Cut, it would be another limit. */
static void fill_keep_rows(char *text, size_t bytes)
{
	const char *value = secure_getenv("WAVETAP_KEEP_ROWS");

	snprintf(text, bytes, "%s", !value ? "" : strlen(value) < bytes ? value : "?");
}

/* A library in the process that isn't ours, and most likely counts: ncu, nsys and the like. */
static bool is_other_tool(void)
{
	const char *path = secure_getenv("CUDA_INJECTION64_PATH");
	const char *slash = path ? strrchr(path, '/') : NULL;
	const char *name = slash ? slash + 1 : path;

	return name && name[0] && strcmp(name, "libwavetap.so");
}

/* WAVETAP_SAMPLE and WAVETAP_PROFILE; what makes no sense is as if it weren't there. */
static void fill_measurements(struct wt_segment_header *header)
{
	const char *sample = secure_getenv("WAVETAP_SAMPLE");
	const char *profile = secure_getenv("WAVETAP_PROFILE");

	if (!sample || wt_sampling_parse(sample, &header->sample_interval_ns))
		header->sample_interval_ns = 0;
	/* A device's counters are for one. Who was told an interval was told so by the user. */
	if (header->sample_interval_ns == WT_SAMPLE_AUTO && is_other_tool())
		header->sample_interval_ns = 0;
	if (!profile || wt_profile_parse(profile, &header->profile_launches))
		header->profile_launches = 0;
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
	fill_ancestors(header);
	read_file("/proc/sys/kernel/random/boot_id", header->boot_id, sizeof(header->boot_id));
	newline = strchr(header->boot_id, '\n');
	if (newline)
		*newline = '\0';
	gethostname(header->hostname, sizeof(header->hostname) - 1);
	snprintf(header->library_version, sizeof(header->library_version), "%s", PACKAGE_VERSION);
	wt_launcher_rank(header);
	wt_launcher_run_key(header->run_key);
	fill_text(header->run_name, sizeof(header->run_name), "WAVETAP_NAME");
	fill_text(header->run_tags, sizeof(header->run_tags), "WAVETAP_TAGS");
	fill_record_dir(header->record_dir, sizeof(header->record_dir));
	fill_keep_rows(header->keep_rows, sizeof(header->keep_rows));
	fill_measurements(header);
	fill_command(header);
}
