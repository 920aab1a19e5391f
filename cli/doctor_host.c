/*
 * doctor_host.c - processor, libc, clock, limits, /proc. See doctor.h.
 */
#include <errno.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "cli/text.h"
#include "schema/wt_segment.h"

#define GROUP "host"
#define DESCRIPTORS_MIN 64 /* daemon/start.c */
#define CLOCK_READS 2000
#define CLOCK_SLOW_NS 1000

bool wt_doctor_read_line(const char *path, char *line, size_t line_bytes)
{
	FILE *in = fopen(path, "re");
	bool is_read = in && fgets(line, (int)line_bytes, in);

	if (in)
		fclose(in);
	if (is_read)
		line[strcspn(line, "\n")] = '\0';
	return is_read;
}

static void check_processor(struct wt_doctor *doctor)
{
	struct utsname name;
	int major = 0, minor = 0;

	uname(&name);
	if (sscanf(name.release, "%d.%d", &major, &minor) == 2 &&
	    (major < 4 || (major == 4 && minor < 14)))
		wt_doctor_add(doctor, WT_DOCTOR_FAIL, GROUP, "kernel",
		              "update it: wavetap needs Linux 4.14",
		              "Linux %s has no MADV_WIPEONFORK", name.release);
#if defined(__x86_64__)
	wt_doctor_add(doctor, WT_DOCTOR_OK, GROUP, "processor", NULL, "x86-64, %s %s, glibc %s",
	              name.sysname, name.release, gnu_get_libc_version());
#else
	wt_doctor_add(doctor, WT_DOCTOR_WARN, GROUP, "processor", NULL,
	              "%s, %s %s, glibc %s: wavetap has been run on hardware on x86-64 only",
	              name.machine, name.sysname, name.release, gnu_get_libc_version());
#endif
}

static int64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Two stamps a launch: a clock that is a system call away is felt. */
static void check_clock(struct wt_doctor *doctor)
{
	static const char path[] =
	        "/sys/devices/system/clocksource/clocksource0/current_clocksource";
	char source[64] = "unknown";
	int64_t best_ns = INT64_MAX;
	int64_t last_ns = 0;
	bool has_gone_back = false;

	wt_doctor_read_line(path, source, sizeof(source));
	for (int round = 0; round < 5; round++) {
		int64_t began_ns = clock_ns(CLOCK_MONOTONIC), took_ns;

		for (int i = 0; i < CLOCK_READS; i++) {
			int64_t now_ns = clock_ns(CLOCK_REALTIME);

			has_gone_back |= now_ns < last_ns;
			last_ns = now_ns;
		}
		took_ns = (clock_ns(CLOCK_MONOTONIC) - began_ns) / CLOCK_READS;
		best_ns = took_ns < best_ns ? took_ns : best_ns;
	}
	if (has_gone_back)
		wt_doctor_add(doctor, WT_DOCTOR_WARN, GROUP, "clock",
		              "let the time service slew the clock instead of stepping it",
		              "CLOCK_REALTIME went back while it was read (source %s)", source);
	else if (best_ns > CLOCK_SLOW_NS)
		wt_doctor_add(doctor, WT_DOCTOR_WARN, GROUP, "clock",
		              "boot with clocksource=tsc if the processor's is reliable",
		              "source %s: reading it takes %d ns, twice a launch", source,
		              (int)best_ns);
	else
		wt_doctor_add(doctor, WT_DOCTOR_OK, GROUP, "clock", NULL,
		              "CLOCK_REALTIME, source %s, %d ns a reading", source, (int)best_ns);
}

static const char *limit_text(rlim_t value, bool is_bytes, char text[WT_TEXT_NUMBER_BYTES])
{
	if (value == RLIM_INFINITY)
		snprintf(text, WT_TEXT_NUMBER_BYTES, "unlimited");
	else if (is_bytes)
		wt_text_bytes(text, value);
	else
		snprintf(text, WT_TEXT_NUMBER_BYTES, "%llu", (unsigned long long)value);
	return text;
}

static void check_limits(struct wt_doctor *doctor)
{
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES], c[WT_TEXT_NUMBER_BYTES];
	struct rlimit files = {0}, size = {0}, locked = {0}, space = {0};

	getrlimit(RLIMIT_NOFILE, &files);
	getrlimit(RLIMIT_FSIZE, &size);
	getrlimit(RLIMIT_MEMLOCK, &locked);
	getrlimit(RLIMIT_AS, &space);
	if (files.rlim_max < DESCRIPTORS_MIN)
		wt_doctor_add(doctor, WT_DOCTOR_FAIL, GROUP, "open files",
		              "raise the hard limit (ulimit -Hn 1024)",
		              "at most %s: wavetapd needs %d", limit_text(files.rlim_max, false, a),
		              DESCRIPTORS_MIN);
	if (size.rlim_cur < WT_SEGMENT_BYTES_MIN)
		wt_doctor_add(doctor, WT_DOCTOR_FAIL, GROUP, "file size",
		              "raise it (ulimit -f unlimited): 1 MiB at least",
		              "at most %s: no room for a segment, nothing is recorded",
		              limit_text(size.rlim_cur, true, a));
	else if (size.rlim_cur < WT_SEGMENT_BYTES_DEFAULT)
		wt_doctor_add(doctor, WT_DOCTOR_WARN, GROUP, "file size",
		              "raise it (ulimit -f unlimited)",
		              "at most %s: segments get smaller, bursts may be lost",
		              limit_text(size.rlim_cur, true, a));
	if (size.rlim_max < 64u * WT_SEGMENT_BYTES_MIN)
		wt_doctor_add(doctor, WT_DOCTOR_WARN, GROUP, "run files",
		              "raise the hard limit (ulimit -Hf unlimited)",
		              "files may not exceed %s: wavetapd can't store more of a run",
		              limit_text(size.rlim_max, true, a));
	if (space.rlim_cur != RLIM_INFINITY)
		wt_doctor_add(doctor, WT_DOCTOR_WARN, GROUP, "address space",
		              "ulimit -v unlimited: CUDA reserves far more than it uses",
		              "limited to %s", limit_text(space.rlim_cur, true, a));
	wt_doctor_add(doctor, WT_DOCTOR_OK, GROUP, "limits", NULL,
	              "open files %s, file size %s, locked memory %s (wavetap locks none)",
	              limit_text(files.rlim_max, false, a), limit_text(size.rlim_cur, true, b),
	              limit_text(locked.rlim_cur, true, c));
}

/* Of the mount of /proc; false: not mounted. */
static bool read_proc_mount(char *options, size_t bytes)
{
	char line[1024], dir[256], type[64], opts[512];
	FILE *in = fopen("/proc/self/mounts", "re");
	bool is_found = false;

	while (in && fgets(line, sizeof(line), in)) {
		if (sscanf(line, "%*s %255s %63s %511s", dir, type, opts) != 3 ||
		    strcmp(dir, "/proc") != 0 || strcmp(type, "proc") != 0)
			continue;
		snprintf(options, bytes, "%s", opts);
		is_found = true;
	}
	if (in)
		fclose(in);
	return is_found;
}

static void check_proc(struct wt_doctor *doctor)
{
	char options[512] = "", link[64] = "";
	const char *hidden;
	ssize_t n = readlink("/proc/self/ns/pid", link, sizeof(link) - 1);

	if (n < 0 || !read_proc_mount(options, sizeof(options))) {
		wt_doctor_add(doctor, WT_DOCTOR_WARN, GROUP, "/proc", "mount it",
		              "not mounted: ends of processes are noticed late, and each process "
		              "is a run of its own");
		return;
	}
	hidden = strstr(options, "hidepid=");
	if (hidden && hidden[8] != '0' && strncmp(hidden + 8, "off", 3) != 0)
		wt_doctor_add(doctor, WT_DOCTOR_OK, GROUP, "/proc", NULL,
		              "%.*s: other users' processes are hidden, your own are not",
		              (int)strcspn(hidden, ","), hidden);
	else
		wt_doctor_add(doctor, WT_DOCTOR_OK, GROUP, "/proc", NULL, "mounted, %s",
		              strcmp(link, "pid:[4026531836]") != 0
		                      ? "in a pid namespace of its own (a container): ends of "
		                        "processes outside of it can't be seen"
		                      : "of the host's pid namespace");
}

void wt_doctor_host(struct wt_doctor *doctor)
{
	check_processor(doctor);
	check_clock(doctor);
	check_limits(doctor);
	check_proc(doctor);
}
