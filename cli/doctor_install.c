/*
 * doctor_install.c - are our own files there, of one version, and can the library be preloaded?
 * See doctor.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/client.h"
#include "cli/doctor.h"
#include "cli/probe.h"
#include "cli/program.h"
#include "config.h"
#include "schema/wt_ident.h"
#include "schema/wt_keep.h"
#include "schema/wt_sampling.h"
#include "schema/wt_setting.h"

#define GROUP "wavetap"

/* Version and layout of one of our binaries. 0, -ENODATA (it does not say), or -errno. */
static int read_ident(const char *path, char version[32], unsigned *ret_layout)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	const char *map = MAP_FAILED, *at = NULL;
	char text[128];
	int err = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &status))
		err = -errno;
	else if (status.st_size > 0)
		map = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return err ? err : -ENODATA;
	at = memmem(map, (size_t)status.st_size, WT_IDENT_MARK, strlen(WT_IDENT_MARK));
	if (at) {
		size_t left = (size_t)(map + status.st_size - at);

		snprintf(text, sizeof(text), "%.*s", (int)(left < 120 ? left : 120), at);
	}
	munmap((void *)map, (size_t)status.st_size);
	if (!at ||
	    sscanf(text + strlen(WT_IDENT_MARK), "%*31s %31s layout %u", version, ret_layout) != 2)
		return -ENODATA;
	return 0;
}

/* One finding on a file of ours: is it of this version? */
static void check_version(struct wt_doctor *doctor, const char *name, const char *path)
{
	char version[32] = "";
	unsigned layout = 0;
	int err = read_ident(path, version, &layout);

	if (err == -ENODATA)
		wt_doctor_add(doctor, WT_DOCTOR_WARN, GROUP, name,
		              "install all of wavetap again, from one version",
		              "%s does not say its version", path);
	else if (err)
		wt_doctor_add(doctor, WT_DOCTOR_FAIL, GROUP, name, "make it readable", "%s: %s",
		              path, strerror(-err));
	else if (layout != WT_SEGMENT_ABI)
		wt_doctor_add(doctor, WT_DOCTOR_FAIL, GROUP, name,
		              "install all of wavetap again, from one version",
		              "%s is version %s, layout %u; this program is %s, layout %u", path,
		              version, layout, PACKAGE_VERSION, WT_SEGMENT_ABI);
	else if (strcmp(version, PACKAGE_VERSION) != 0)
		wt_doctor_add(doctor, WT_DOCTOR_WARN, GROUP, name,
		              "install all of wavetap again, from one version",
		              "%s is version %s; this program is %s (same layout: it works)", path,
		              version, PACKAGE_VERSION);
	else
		wt_doctor_add(doctor, WT_DOCTOR_OK, GROUP, name, NULL, "%s %s", path, version);
}

static void check_daemon(struct wt_doctor *doctor)
{
	const char *given = getenv("WAVETAP_DAEMON");
	struct wt_probe_result *probe;
	char path[WT_PATH_BYTES];

	if (wt_client_find_daemon(path)) {
		if (given && given[0])
			wt_doctor_add(doctor, WT_DOCTOR_FAIL, GROUP, "wavetapd",
			              "unset WAVETAP_DAEMON, or make it the path of wavetapd",
			              "WAVETAP_DAEMON=%s can't be executed", given);
		else
			wt_doctor_add(doctor, WT_DOCTOR_FAIL, GROUP, "wavetapd",
			              "install it, or set WAVETAP_DAEMON to its path",
			              "wavetapd is neither beside this program nor in " WT_BINDIR);
		return;
	}
	probe = calloc(1, sizeof(*probe));
	if (!probe)
		return;
	wt_probe_run((const char *const[]){path, "--version", NULL}, NULL, doctor->timeout_ms,
	             probe);
	probe->text[strcspn(probe->text, "\n")] = '\0';
	if (wt_probe_problem(probe)[0])
		wt_doctor_add(doctor, WT_DOCTOR_FAIL, GROUP, "wavetapd",
		              "install it again; is its file system mounted noexec?", "%s %s%s%s",
		              path, wt_probe_problem(probe), probe->text[0] ? ": " : "",
		              probe->text);
	else
		check_version(doctor, "wavetapd", path);
	free(probe);
}

/* Not found: doctor_sampler.c says so. */
static void check_sampler(struct wt_doctor *doctor)
{
	char path[WT_PATH_BYTES];

	if (!wt_client_find_sampler(path))
		check_version(doctor, "wavetap-sampler", path);
}

/* ---- preloading */

/* Preloads `library` into a program that does nothing, and gives what the loader said. */
static bool is_loadable(struct wt_doctor *doctor, const char *library,
                        struct wt_probe_result *probe)
{
	const char *nothing = access("/bin/true", X_OK) ? "/usr/bin/true" : "/bin/true";
	char own[WT_PATH_BYTES];
	const char *argv[] = {nothing, NULL, NULL};
	ssize_t n;

	/* Without a usable `true`, this program itself. */
	if (access(nothing, X_OK) || wt_program_preload_obstacle(nothing)) {
		n = readlink("/proc/self/exe", own, sizeof(own) - 1);
		own[n < 0 ? 0 : n] = '\0';
		argv[0] = own;
		argv[1] = "--version";
	}
	wt_probe_run(argv, library, doctor->timeout_ms, probe);
	if (argv[1] && !strncmp(probe->text, "wavetap ", 8))
		probe->text[0] = '\0';
	return !wt_probe_problem(probe)[0] && !probe->text[0];
}

static const char *load_remedy(const char *text)
{
	if (strstr(text, "GLIBC_"))
		return "build wavetap on this host: its glibc is older than the one it was built "
		       "for";
	if (strstr(text, "wrong ELF class") || strstr(text, "ELF header"))
		return "build wavetap on this host: the library is for another processor";
	if (strstr(text, "failed to map") || strstr(text, "not permitted"))
		return "move it to a file system that is not mounted noexec";
	return "see the loader's message; build or install wavetap again";
}

static void check_preload(struct wt_doctor *doctor)
{
	struct wt_probe_result *probe = calloc(1, sizeof(*probe));
	const char *library = doctor->library;

	if (!probe)
		return;
	if (strpbrk(library, " :\t\n")) {
		wt_doctor_add(doctor, WT_DOCTOR_FAIL, GROUP, "preload",
		              "move or link it to a path without blanks and colons",
		              "%s can't be preloaded: LD_PRELOAD is split at blanks and colons",
		              library);
	} else if (!is_loadable(doctor, library, probe)) {
		probe->text[strcspn(probe->text, "\n")] = '\0';
		wt_doctor_add(doctor, WT_DOCTOR_FAIL, GROUP, "preload", load_remedy(probe->text),
		              "the loader does not take the library: %s%s%s", probe->text,
		              probe->text[0] ? " " : "", wt_probe_problem(probe));
	} else {
		wt_doctor_add(doctor, WT_DOCTOR_OK, GROUP, "preload", NULL,
		              "type: LD_PRELOAD=%s COMMAND", library);
		if (is_loadable(doctor, "libwavetap.so", probe))
			wt_doctor_add(doctor, WT_DOCTOR_OK, GROUP, "short name", NULL,
			              "LD_PRELOAD=libwavetap.so works too");
		else
			wt_doctor_add(doctor, WT_DOCTOR_OK, GROUP, "short name", NULL,
			              "LD_PRELOAD=libwavetap.so does not work here: the loader "
			              "does not search that folder (ldconfig, after make install)");
	}
	free(probe);
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_ino == y.st_ino && x.st_dev == y.st_dev;
}

static void check_environment_entry(struct wt_doctor *doctor, const char *entry, int *inout_ours)
{
	const char *slash = strrchr(entry, '/');
	const char *name = slash ? slash + 1 : entry;

	if (!strncmp(name, "libwavetap", strlen("libwavetap"))) {
		++*inout_ours;
		if (slash && access(entry, R_OK))
			wt_doctor_add(doctor, WT_DOCTOR_FAIL, GROUP, "LD_PRELOAD",
			              "set it to what `wavetap preload` prints",
			              "it names %s, which can't be read: %s", entry,
			              strerror(errno));
		else if (slash && !is_same_file(entry, doctor->library))
			wt_doctor_add(doctor, WT_DOCTOR_WARN, GROUP, "LD_PRELOAD",
			              "set it to what `wavetap preload` prints",
			              "it names another copy of the library: %s", entry);
		else
			wt_doctor_add(doctor, WT_DOCTOR_OK, GROUP, "LD_PRELOAD", NULL,
			              "it names the library already");
	} else if (slash && access(entry, R_OK)) {
		wt_doctor_add(doctor, WT_DOCTOR_WARN, GROUP, "LD_PRELOAD", "take it out",
		              "it names %s, which can't be read: the loader complains each time",
		              entry);
	} else {
		wt_doctor_add(doctor, WT_DOCTOR_OK, GROUP, "LD_PRELOAD", NULL,
		              "it also names %s, which keeps its precedence", entry);
	}
}

static void check_environment(struct wt_doctor *doctor)
{
	const char *preload = getenv("LD_PRELOAD");
	char *copy, *save = NULL;
	int ours = 0;

	if (!preload || !preload[0]) {
		wt_doctor_add(doctor, WT_DOCTOR_OK, GROUP, "LD_PRELOAD", NULL,
		              "not set in this shell");
		return;
	}
	copy = strdup(preload);
	for (char *entry = copy ? strtok_r(copy, " :", &save) : NULL; entry;
	     entry = strtok_r(NULL, " :", &save))
		check_environment_entry(doctor, entry, &ours);
	free(copy);
	if (ours > 1)
		wt_doctor_add(doctor, WT_DOCTOR_WARN, GROUP, "LD_PRELOAD",
		              "name it once: only one copy records", "it names libwavetap %d times",
		              ours);
}

/* ---- settings */

/* What makes no sense there counts as not set, which is worth a word. */
static void check_numbers(struct wt_doctor *doctor)
{
	for (int i = 0; i < WT_SETTING_MAX; i++) {
		const struct wt_setting *setting = wt_setting((enum wt_setting_id)i);
		const char *given = getenv(setting->name);
		uint32_t value;

		if (given && !wt_setting_parse(setting, given, &value))
			wt_doctor_add(doctor, WT_DOCTOR_WARN, GROUP, setting->name,
			              "unset it, or give such a number",
			              "\"%s\" is none from %u to %u: it is %u", given,
			              setting->least, setting->most, value);
	}
}

static void check_settings(struct wt_doctor *doctor)
{
	const char *all = getenv("WAVETAP"), *spawn = getenv("WAVETAP_SPAWN");
	const char *nvtx = getenv("WAVETAP_NVTX");
	const char *sample = getenv("WAVETAP_SAMPLE"), *profile = getenv("WAVETAP_PROFILE");
	const char *keep_rows = getenv("WAVETAP_KEEP_ROWS");
	const char *keep = getenv("WAVETAP_KEEP"), *bytes = getenv("WAVETAP_SHM_BYTES");
	struct wt_keep limits = WT_KEEP_ALL;
	uint32_t launches;
	uint64_t interval_ns;
	char error[WT_DB_ERROR_BYTES];

	if (all && !strcmp(all, "0"))
		wt_doctor_add(doctor, WT_DOCTOR_FAIL, GROUP, "WAVETAP", "unset WAVETAP",
		              "WAVETAP=0 in the environment switches the recording off");
	if (spawn && !strcmp(spawn, "0"))
		wt_doctor_add(doctor, WT_DOCTOR_WARN, GROUP, "WAVETAP_SPAWN",
		              "unset it, or start wavetapd yourself",
		              "WAVETAP_SPAWN=0: programs don't start wavetapd");
	if (nvtx && !strcmp(nvtx, "0"))
		wt_doctor_add(doctor, WT_DOCTOR_WARN, GROUP, "WAVETAP_NVTX",
		              "unset it to record named ranges",
		              "WAVETAP_NVTX=0: named ranges are not recorded");
	if (keep && keep[0] && wt_keep_parse(keep, &limits, error))
		wt_doctor_add(doctor, WT_DOCTOR_WARN, GROUP, "WAVETAP_KEEP",
		              "a number of runs, a size or an age: 20,2GiB,30d",
		              "%s; every run is kept", error);
	if (keep_rows && wt_keep_rows_parse(keep_rows, &limits, error))
		wt_doctor_add(doctor, WT_DOCTOR_WARN, GROUP, "WAVETAP_KEEP_ROWS", WT_KEEP_ROWS_FORM,
		              "%s; it will be " WT_KEEP_ROWS_DEFAULT, error);
	if (sample && wt_sampling_parse(sample, &interval_ns))
		wt_doctor_add(doctor, WT_DOCTOR_WARN, GROUP, "WAVETAP_SAMPLE", WT_SAMPLING_FORM,
		              "WAVETAP_SAMPLE=%s makes no sense: SM activity is not measured",
		              sample);
	if (profile && wt_profile_parse(profile, &launches))
		wt_doctor_add(doctor, WT_DOCTOR_WARN, GROUP, "WAVETAP_PROFILE",
		              "a number of launches up to 1000",
		              "WAVETAP_PROFILE=%s makes no sense: nothing is profiled", profile);
	check_numbers(doctor);
	if (bytes && bytes[0] && strtoull(bytes, NULL, 10) < WT_SEGMENT_BYTES_MIN)
		wt_doctor_add(doctor, WT_DOCTOR_FAIL, GROUP, "WAVETAP_SHM_BYTES",
		              "unset it, or give at least 1048576",
		              "WAVETAP_SHM_BYTES=%s: less than 1 MiB switches the recording off",
		              bytes);
}

void wt_doctor_install(struct wt_doctor *doctor)
{
	if (wt_client_find_library(doctor->library)) {
		doctor->library[0] = '\0';
		wt_doctor_add(doctor, WT_DOCTOR_FAIL, GROUP, "library",
		              "install wavetap, or run the wavetap of its build folder",
		              "libwavetap.so is neither beside this program nor in " WT_LIBDIR);
	} else {
		check_version(doctor, "library", doctor->library);
	}
	check_daemon(doctor);
	check_sampler(doctor);
	if (doctor->library[0])
		check_preload(doctor);
	check_environment(doctor);
	check_settings(doctor);
}
