/* preload_case.c - see preload_case.h. One thread. */
#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/preload_case.h"

#define CASE_MARK "WT_PRELOAD_CASE"

static void set_paths(const char *folder)
{
	const char *top = getenv("top_builddir");
	char text[PATH_MAX];

	top = top ? top : ".";
	snprintf(text, sizeof(text), "%s/libwavetap.so", top);
	if (access(text, R_OK)) {
		printf("1..0 # SKIP no %s\n", text);
		exit(0);
	}
	setenv("LD_PRELOAD", text, 1);
	snprintf(text, sizeof(text), "%s/tests/fake", top);
	setenv("LD_LIBRARY_PATH", text, 1);
	setenv("WAVETAP_SHM_DIR", folder, 1);
	setenv("WAVETAP_DIR", folder, 1);
	setenv("WAVETAP_SPAWN", "0", 1);
	setenv("WAVETAP_CUPTI", "0", 1);
	setenv("WAVETAP_SHM_BYTES", "2097152", 1);
	setenv("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0", 1);
	setenv("TSAN_OPTIONS", "die_after_fork=0", 1);
	setenv(CASE_MARK, "1", 1);
}

/* This program once more. A program of another processor can't start itself: its emulator can. */
static void start_again(char **argv)
{
	const char *emulator = getenv("WT_EMULATOR");
	char words[PATH_MAX], self[PATH_MAX], *list[24], *save = NULL;
	ssize_t length;
	int count = 0;

	if (!emulator || !emulator[0]) {
		execv("/proc/self/exe", argv);
		return;
	}
	length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (length < 0)
		return;
	self[length] = '\0';
	snprintf(words, sizeof(words), "%s", emulator);
	for (char *word = strtok_r(words, " ", &save); word && count < 22;
	     word = strtok_r(NULL, " ", &save))
		list[count++] = word;
	list[count++] = self;
	list[count] = NULL;
	execvp(list[0], list);
}

static int remove_folder(const char *folder)
{
	char pattern[PATH_MAX];
	glob_t files;

	snprintf(pattern, sizeof(pattern), "%s/*", folder);
	if (!glob(pattern, 0, NULL, &files)) {
		for (size_t i = 0; i < files.gl_pathc; i++)
			unlink(files.gl_pathv[i]);
		globfree(&files);
	}
	return rmdir(folder);
}

void preload_case_start(char **argv, const char *const *settings)
{
	char folder[] = "/dev/shm/wt-test-XXXXXX";
	int status = 0;
	pid_t pid;

	if (getenv(CASE_MARK))
		return;
	if (!mkdtemp(folder)) {
		printf("1..0 # SKIP no folder in /dev/shm\n");
		exit(0);
	}
	pid = fork();
	if (!pid) {
		set_paths(folder);
		for (int i = 0; settings && settings[i]; i++)
			putenv(strdup(settings[i]));
		start_again(argv);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	if (remove_folder(folder))
		printf("# %s was not empty\n", folder);
	if (WIFSIGNALED(status))
		printf("Bail out! killed by signal %d\n", WTERMSIG(status));
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

/* ---- segments */

static bool find_segments(glob_t *ret_files)
{
	char pattern[PATH_MAX];

	snprintf(pattern, sizeof(pattern), "%s/*.seg", getenv("WAVETAP_SHM_DIR"));
	return !glob(pattern, 0, NULL, ret_files);
}

int case_segment_count(void)
{
	glob_t files;
	int count;

	if (!find_segments(&files))
		return 0;
	count = (int)files.gl_pathc;
	globfree(&files);
	return count;
}

static bool map_one(const char *path, struct case_segment *ret_segment)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	uint8_t *map;

	if (fd < 0)
		return false;
	map = fstat(fd, &st) ? MAP_FAILED
	                     : mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return false;
	ret_segment->header = (const void *)map;
	ret_segment->producer = (const void *)(map + WT_PRODUCER_OFFSET);
	ret_segment->cells = (const void *)(map + ret_segment->header->cells_offset[WT_RING_CALLS]);
	ret_segment->tail = wt_load_acquire(&ret_segment->producer->ring[WT_RING_CALLS].tail);
	return true;
}

bool case_segment_map(int pid, struct case_segment *ret_segment)
{
	bool found = false;
	glob_t files;

	if (!find_segments(&files))
		return false;
	for (size_t i = 0; i < files.gl_pathc && !found; i++)
		found = map_one(files.gl_pathv[i], ret_segment) && ret_segment->header->pid == pid;
	globfree(&files);
	return found;
}

int case_launch_count(const struct case_segment *segment, unsigned api)
{
	int count = 0;

	for (uint64_t pos = 0; pos < segment->tail; pos++) {
		const struct wt_cell *cell = &segment->cells[pos];
		const struct wt_launch *launch = (const void *)cell->payload;

		if (wt_load_acquire(&cell->stamp) == pos + 1 && cell->kind == WT_KIND_LAUNCH &&
		    (!api || launch->api == api))
			count++;
	}
	return count;
}

/* ---- the simulated GPU */

const char *case_module_of(const void *address)
{
	const char *slash;
	Dl_info info;

	if (!address || !dladdr(address, &info) || !info.dli_fname)
		return "";
	slash = strrchr(info.dli_fname, '/');
	return slash ? slash + 1 : info.dli_fname;
}

void case_gpu_open(struct case_gpu *ret_gpu)
{
	static const char ptx[] = ".version 6.0\n.target sm_60\n.address_size 64\n"
	                          ".visible .entry empty()\n{\nret;\n}\n";
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	void *module;
	struct case_gpu gpu = {.library = library};

	if (!library) {
		printf("Bail out! %s\n", dlerror());
		exit(1);
	}
	((int (*)(unsigned))dlsym(library, "cuInit"))(0);
	((int (*)(void **, int))dlsym(library, "cuDevicePrimaryCtxRetain"))(&gpu.context, 0);
	*(void **)&gpu.set_current = dlsym(library, "cuCtxSetCurrent");
	gpu.set_current(gpu.context);
	((int (*)(void **, const void *))dlsym(library, "cuModuleLoadData"))(&module, ptx);
	((int (*)(void **, void *, const char *))dlsym(library, "cuModuleGetFunction"))(
	        &gpu.function, module, "empty");
	*(void **)&gpu.launch = dlsym(library, "cuLaunchKernel");
	*(void **)&gpu.synchronize = dlsym(library, "cuCtxSynchronize");
	*ret_gpu = gpu;
}

int case_gpu_launch(const struct case_gpu *gpu)
{
	return gpu->launch(gpu->function, 1, 1, 1, 32, 1, 1, 0, gpu->stream, NULL, NULL);
}
