/*
 * bench_hook.c - what our hooks add to a launch: a driver that does nothing (tests/hosts), under one
 * libwavetap.so, under none, and under another one if given, in turn.
 *
 * usage: bench_hook DRIVER LIBRARY [OTHER_LIBRARY [PAIRS]]
 *
 * DRIVER is the libcuda.so.1 of tests/hosts. No CUPTI, no daemon: the ring has room for all. Each round
 * runs a process with each library, the order turning; a process takes the median of 60 batches of 5,000
 * launches. Prints medians over the rounds, and of the ratios of pairs with their quartiles. Figures,
 * no verdict.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/hosts/odd.h"

#define BATCHES 60
#define BATCH 5000
#define PAIRS_MAX 1000

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double quantile(double *values, int count, double q)
{
	qsort(values, (size_t)count, sizeof(*values), compare);
	return values[(int)(q * (count - 1) + 0.5)];
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* In the process with the library: ns a launch. */
static int child(const char *driver)
{
	void *handle = dlopen(driver, RTLD_NOW);
	int (*init)(unsigned), (*launch)(LAUNCH_PARAMS);
	static double batch_ns[BATCHES];

	if (!handle)
		return 1;
	*(void **)&init = dlsym(handle, "cuInit");
	*(void **)&launch = dlsym(handle, "cuLaunchKernel");
	if (!init || !launch || init(0))
		return 1;
	for (int i = 0; i < BATCH; i++) /* makes the segment */
		launch(handle, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
	for (int b = 0; b < BATCHES; b++) {
		double begun_ns = now_ns();

		for (int i = 0; i < BATCH; i++)
			launch(handle, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
		batch_ns[b] = (now_ns() - begun_ns) / BATCH;
	}
	printf("%.3f\n", quantile(batch_ns, BATCHES, 0.5));
	return 0;
}

/* Nobody drains them, and several would fill the memory of a small machine. */
static void remove_segments(void)
{
	const char *folder = getenv("WAVETAP_SHM_DIR");
	DIR *dir = folder ? opendir(folder) : NULL;
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (strstr(entry->d_name, ".seg"))
			unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
}

/* ns a launch in a process of its own; 0: it failed. */
static double measure(char **argv, const char *library)
{
	double ns = 0;
	int ends[2];
	char text[64] = "";
	FILE *from;
	pid_t pid;

	if (pipe(ends))
		return 0;
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		setenv("BENCH_HOOK_CHILD", "1", 1);
		setenv("WAVETAP_SPAWN", "0", 1);
		setenv("WAVETAP_CUPTI", "0", 1);
		setenv("WAVETAP_SHM_BYTES", "134217728", 1);
		if (library)
			setenv("LD_PRELOAD", library, 1);
		execv(argv[0], argv);
		_exit(127);
	}
	close(ends[1]);
	from = fdopen(ends[0], "r");
	if (from && fgets(text, sizeof(text), from))
		ns = strtod(text, NULL);
	if (from)
		fclose(from);
	waitpid(pid, NULL, 0);
	remove_segments();
	return ns;
}

int main(int argc, char **argv)
{
	static double bare[PAIRS_MAX], one[PAIRS_MAX], other[PAIRS_MAX], ratio[PAIRS_MAX];
	const char *other_library = argc > 3 && argv[3][0] ? argv[3] : NULL;
	int pairs = argc > 4 ? atoi(argv[4]) : 7;

	if (argc < 3 || pairs < 1 || pairs > PAIRS_MAX) {
		fprintf(stderr, "usage: bench_hook DRIVER LIBRARY [OTHER_LIBRARY [PAIRS]]\n");
		return 2;
	}
	if (getenv("BENCH_HOOK_CHILD"))
		return child(argv[1]);
	for (int i = 0; i < pairs; i++) {
		bare[i] = measure(argv, NULL);
		if (i % 2)
			one[i] = measure(argv, argv[2]);
		if (other_library)
			other[i] = measure(argv, other_library);
		if (!(i % 2))
			one[i] = measure(argv, argv[2]);
		if (!bare[i] || !one[i] || (other_library && !other[i])) {
			fprintf(stderr, "bench_hook: a process failed\n");
			return 1;
		}
		ratio[i] = other_library ? one[i] / other[i] : one[i] / bare[i];
	}
	printf("hook: %.1f ns a launch, %.1f without: %.1f added\n", quantile(one, pairs, 0.5),
	       quantile(bare, pairs, 0.5), quantile(one, pairs, 0.5) - quantile(bare, pairs, 0.5));
	if (other_library)
		printf("other library: %.1f ns a launch; ratio of %d pairs %.4f (%.4f to %.4f)\n",
		       quantile(other, pairs, 0.5), pairs, quantile(ratio, pairs, 0.5),
		       quantile(ratio, pairs, 0.25), quantile(ratio, pairs, 0.75));
	return 0;
}
