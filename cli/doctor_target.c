/*
 * doctor_target.c - can this program be recorded? Nothing of it is run. See doctor.h.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "cli/program.h"

#define GROUP "target"
#define SCRIPT_DEPTH_MAX 4

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#else
#define OUR_MACHINE EM_NONE
#endif

/* Programs that start another one in surroundings of its own. */
struct wrapper {
	const char *name, *what, *remedy;
};

static const struct wrapper wrappers[] = {
        {"sudo", "it clears the environment", "put wavetap run behind it: sudo wavetap run -- ..."},
        {"su", "it starts a login of its own", "call wavetap run inside"},
        {"doas", "it clears the environment", "put wavetap run behind it"},
        {"docker", "the program runs in a container", "call wavetap run inside the container"},
        {"podman", "the program runs in a container", "call wavetap run inside the container"},
        {"apptainer", "the program runs in a container", "call wavetap run inside the container"},
        {"singularity", "the program runs in a container", "call wavetap run inside the container"},
        {"kubectl", "the program runs on another host", "call wavetap run inside the container"},
        {"ssh", "the program runs on another host", "call wavetap run there"},
        {"flatpak", "the program runs in a sandbox", "run the program outside of it"},
        {"snap", "the program runs in a sandbox", "run the program outside of it"},
        {"srun", "the program may run on other hosts", "srun wavetap run -- ... on each of them"},
        {"sbatch", "the program runs later, in a job", "call wavetap run in the job script"},
        {"nsys", "it holds CUPTI: launches would have no times", "run the program without it"},
        {"ncu", "it holds CUPTI: launches would have no times", "run the program without it"},
        {"compute-sanitizer", "it holds CUPTI: launches would have no times",
         "run the program without it"},
        {"cuda-gdb", "it holds CUPTI: launches would have no times", "run the program without it"},
};

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const struct wrapper *find_wrapper(const char *path)
{
	char real[PATH_MAX];

	if (strstr(path, "/snap/bin/") || strstr(path, "/flatpak/exports/bin/"))
		return find_wrapper(strstr(path, "/snap/") ? "snap" : "flatpak");
	for (size_t i = 0; i < sizeof(wrappers) / sizeof(wrappers[0]); i++)
		if (!strcmp(base_of(path), wrappers[i].name))
			return &wrappers[i];
	if (realpath(path, real) && !strcmp(base_of(real), "snap"))
		return find_wrapper("snap");
	return NULL;
}

/* "#!/usr/bin/env -S python3 -u": the program, into `path`. False: no script. */
static bool read_interpreter(const char *script, char path[WT_PATH_BYTES])
{
	char line[512] = "", *save = NULL, *word;
	int fd = open(script, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);

	if (fd >= 0)
		close(fd);
	if (n < 3 || line[0] != '#' || line[1] != '!')
		return false;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	word = strtok_r(line + 2, " \t", &save);
	if (!word)
		return false;
	if (!strcmp(base_of(word), "env"))
		do {
			word = strtok_r(NULL, " \t", &save);
		} while (word && (word[0] == '-' || strchr(word, '=')));
	return word && !wt_program_find(word, path);
}

/* The executable behind scripts, into `path`. How many scripts were gone through, or -1. */
static int follow_scripts(const char *command, char path[WT_PATH_BYTES])
{
	char next[WT_PATH_BYTES];
	int depth = 0;

	if (wt_program_find(command, path))
		return -1;
	while (depth < SCRIPT_DEPTH_MAX && read_interpreter(path, next)) {
		snprintf(path, WT_PATH_BYTES, "%s", next);
		depth++;
	}
	return depth;
}

bool wt_doctor_find_python(const char *command, char *path)
{
	return follow_scripts(command, path) >= 0 && !access(path, X_OK) &&
	       (!strncmp(base_of(path), "python", 6) || !strncmp(base_of(path), "pypy", 4));
}

/* ---- the executable */

/* The dynamic loader that it asks for; "" if none. */
static void read_loader(int fd, const Elf64_Ehdr *header, char loader[128])
{
	loader[0] = '\0';
	for (unsigned i = 0; i < header->e_phnum; i++) {
		Elf64_Phdr segment;
		off_t at = (off_t)(header->e_phoff + (Elf64_Off)i * header->e_phentsize);
		ssize_t n;

		if (pread(fd, &segment, sizeof(segment), at) != (ssize_t)sizeof(segment))
			return;
		if (segment.p_type != PT_INTERP)
			continue;
		n = pread(fd, loader, 127, (off_t)segment.p_offset);
		loader[n < 0 ? 0 : n] = '\0';
		return;
	}
}

/* What speaks against the file as such; false: nothing. */
static bool check_elf(struct wt_doctor *doctor, const char *path, bool *ret_is_elf)
{
	Elf64_Ehdr header = {0};
	char loader[128] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : pread(fd, &header, sizeof(header), 0);
	const char *problem = NULL, *remedy = NULL;

	*ret_is_elf = n >= EI_NIDENT && !memcmp(header.e_ident, ELFMAG, SELFMAG);
	if (*ret_is_elf && header.e_ident[EI_CLASS] != ELFCLASS64) {
		problem = "it is a 32-bit program, the library is not: the loader leaves it out";
		remedy = "CUDA has no 32-bit programs any more: build it for 64 bits";
	} else if (*ret_is_elf && header.e_machine != OUR_MACHINE) {
		problem = "it is for another processor than the library";
		remedy = "build wavetap for that processor";
	} else if (*ret_is_elf) {
		read_loader(fd, &header, loader);
		if (strstr(loader, "musl")) {
			problem = "it uses musl, for which there is no CUDA: it runs as ever, and "
			          "nothing is recorded";
			remedy = "use a glibc build of the program";
		}
	}
	if (fd >= 0)
		close(fd);
	if (problem)
		wt_doctor_add(doctor, WT_DOCTOR_FAIL, GROUP, "program", remedy, "%s: %s", path,
		              problem);
	return problem != NULL;
}

static void check_executable(struct wt_doctor *doctor, const char *command, const char *path,
                             int scripts)
{
	const char *obstacle = wt_program_preload_obstacle(path);
	bool is_elf;

	if (access(path, X_OK)) {
		wt_doctor_add(doctor, WT_DOCTOR_FAIL, GROUP, "program", "chmod +x it?", "%s: %s",
		              path, strerror(errno));
		return;
	}
	if (check_elf(doctor, path, &is_elf))
		return;
	if (obstacle)
		wt_doctor_add(doctor, WT_DOCTOR_FAIL, GROUP, "program",
		              strstr(obstacle, "static")
		                      ? "link it dynamically"
		                      : "run it as the user it becomes, without the privilege",
		              "%s can't be preloaded: %s", path, obstacle);
	else if (!is_elf)
		wt_doctor_add(doctor, WT_DOCTOR_WARN, GROUP, "program",
		              "give a script a first line such as #!/bin/sh",
		              "%s is neither a program nor a script that says what runs it", path);
	else if (scripts)
		wt_doctor_add(doctor, WT_DOCTOR_OK, GROUP, "program", NULL,
		              "%s is a script that %s runs: can be preloaded", command, path);
	else
		wt_doctor_add(doctor, WT_DOCTOR_OK, GROUP, "program", NULL, "%s can be preloaded",
		              path);
}

void wt_doctor_target(struct wt_doctor *doctor)
{
	const char *command = doctor->command[0];
	const struct wrapper *wrapper;
	char path[WT_PATH_BYTES], first[WT_PATH_BYTES];
	struct stat status;
	int scripts = follow_scripts(command, path);

	if (scripts < 0 || wt_program_find(command, first) || stat(first, &status)) {
		wt_doctor_add(doctor, WT_DOCTOR_FAIL, GROUP, "program", "see PATH", "%s: not found",
		              command);
		return;
	}
	if (!S_ISREG(status.st_mode)) {
		wt_doctor_add(doctor, WT_DOCTOR_FAIL, GROUP, "program", "name a program",
		              "%s is not a file", first);
		return;
	}
	if (scripts && access(first, X_OK)) {
		wt_doctor_add(doctor, WT_DOCTOR_FAIL, GROUP, "program", "chmod +x it?", "%s: %s",
		              first, strerror(errno));
		return;
	}
	wrapper = find_wrapper(first);
	if (wrapper)
		wt_doctor_add(doctor, WT_DOCTOR_WARN, GROUP, "wrapper", wrapper->remedy, "%s: %s",
		              command, wrapper->what);
	check_executable(doctor, command, path, scripts);
}
