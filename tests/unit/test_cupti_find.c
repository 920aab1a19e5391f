/*
 * test_cupti_find.c - which libcupti is taken, over copies of the simulated one in folders laid out
 * like the wheels. Each case is a process of its own, since nothing is ever unloaded.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/tap.h"

#include "libintercept/cupti.h"

/* ---- what cupti_find.c stands on */

static int driver_version;

static int get_driver_version(int *version)
{
	*version = driver_version;
	return 0;
}

void *wt_driver_entry(const char *symbol)
{
	return driver_version && !strcmp(symbol, "cuDriverGetVersion") ? (void *)get_driver_version
	                                                               : NULL;
}

void *wt_real_dlsym(void *handle, const char *symbol)
{
	return dlsym(handle, symbol);
}

/* ---- folders */

static char root[] = "/tmp/wt-find-XXXXXX";
static const char *fake_dir, *cuda;

static void make_dirs(const char *path)
{
	char part[PATH_MAX];

	for (size_t i = 1; path[i]; i++) {
		if (path[i] != '/')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		mkdir(part, 0700);
	}
}

static const char *place(const char *library, const char *as)
{
	static char to[8][PATH_MAX];
	static int next;
	char *path = to[next++ % 8], command[3 * PATH_MAX];

	snprintf(path, PATH_MAX, "%s/%s", root, as);
	make_dirs(path);
	snprintf(command, sizeof(command), "cp '%s/%s' '%s'", fake_dir, library, path);
	if (system(command))
		printf("Bail out! %s\n", command);
	return path;
}

/* ---- one search in a child; its answer comes back through a pipe */

struct answer {
	enum wt_reason reason;
	uint32_t version;
	char path[WT_TEXT_BYTES];
};

static struct answer search(int driver, const char *load, const char *given)
{
	struct answer answer = {0};
	int ends[2], status;
	pid_t pid;

	if (pipe(ends))
		return answer;
	pid = fork();
	if (!pid) {
		struct wt_cupti_api api = {0};

		driver_version = driver;
		if (given)
			setenv("WAVETAP_CUPTI", given, 1);
		else
			unsetenv("WAVETAP_CUPTI");
		/* The simulated libcupti answers only beside its libcuda. */
		if (!load || strstr(load, "libcupti"))
			dlopen(cuda, RTLD_NOW | RTLD_GLOBAL);
		if (load && !dlopen(load, RTLD_NOW | RTLD_LOCAL))
			_exit(2);
		answer.reason = wt_cupti_find(0, &api);
		answer.version = api.version;
		memcpy(answer.path, api.path, sizeof(answer.path));
		_exit(write(ends[1], &answer, sizeof(answer)) != sizeof(answer));
	}
	close(ends[1]);
	if (read(ends[0], &answer, sizeof(answer)) != sizeof(answer))
		answer.reason = WT_REASON_MAX;
	close(ends[0]);
	waitpid(pid, &status, 0);
	return answer;
}

static void remove_root(void)
{
	char command[PATH_MAX];

	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	if (system(command))
		printf("# %s failed\n", command);
}

int main(void)
{
	const char *build = getenv("top_builddir");
	const char *loaded, *other, *beside, *neighbour;
	static char dir[PATH_MAX];
	struct answer answer;

	snprintf(dir, sizeof(dir), "%s/tests/fake", build ? build : ".");
	fake_dir = dir;
	if (!mkdtemp(root))
		return 1;
	atexit(remove_root);
	cuda = place("libcuda.so.1", "driver/libcuda.so.1");
	loaded = place("libcupti.so.13", "app/libcupti.so.13");
	other = place("libcupti.so.13", "other/libcupti.so.13");

	answer = search(13000, loaded, other);
	is_i64(answer.reason, WT_REASON_NONE, "a loaded one is found");
	is_str(answer.path, loaded, "and goes before WAVETAP_CUPTI");
	is_i64(answer.version, WTCUPTI_API_VERSION_CUDA_13_0_U1, "its version");

	answer = search(13000, NULL, other);
	is_str(answer.path, other, "WAVETAP_CUPTI");
	answer = search(13000, NULL, "/nowhere/libcupti.so.13");
	is_i64(answer.reason, WT_REASON_CUPTI_NOT_FOUND, "WAVETAP_CUPTI that is not there");

	answer = search(12080, loaded, NULL);
	is_i64(answer.reason, WT_REASON_CUPTI_NEWER_THAN_DRIVER, "newer than the driver");
	answer = search(0, loaded, NULL);
	is_i64(answer.reason, WT_REASON_NONE, "an unknown driver version is no reason to refuse");

	beside = place("libcupti.so.13", "site-packages/nvidia/cu13/lib/libcupti.so.13");
	neighbour = place("libcuda.so.1", "site-packages/nvidia/cuda_runtime/lib/libcudart.so.13");
	answer = search(13000, neighbour, NULL);
	is_i64(answer.reason, WT_REASON_NONE, "beside a wheel's library");
	ok(strstr(answer.path, "nvidia/") && strstr(answer.path, "cu13/lib/libcupti.so.13"),
	   "it is that one (%s, %s)", answer.path, beside);
	return tap_done();
}
