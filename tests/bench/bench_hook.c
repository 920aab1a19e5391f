/*
 * bench_hook.c - what our hooks add to a launch, without CUPTI: a driver that does nothing (tests/hosts) is
 * entered by the hook and by another door in turn, in one process: same memory, same clock rate, same moment.
 *
 * The other door is the entry that tests/hosts/odd_driver.c gives for a version no list has, the same code
 * without a hook. The ring is that of any process, 4 MiB, and somebody takes its records out between the
 * batches, as the daemon would. The median is that of the difference of pairs of batches; the slowest
 * percent is that of single launches, each between two readings of the clock, less the median one without hook.
 *
 * With another build both libraries are measured in turn, a process each.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/bench.h"
#include "tests/hosts/odd.h"

#define BATCH 2000
#define BATCHES_MAX 1000
#define GOAL_NS 150
#define NEWER_VERSION 14000

typedef int launch_function(LAUNCH_PARAMS);

static double now_ns(void)
{
	return bench_now_s() * 1e9;
}

/* ---- in the process with the library */

/* The one segment of the folder, to empty its ring; false: there is none. */
static bool find_segment(struct wt_producer **ret_producer, struct wt_consumer **ret_consumer)
{
	const char *folder = getenv("WAVETAP_SHM_DIR");
	DIR *dir = folder ? opendir(folder) : NULL;
	struct dirent *entry;
	bool is_found = false;

	while (dir && !is_found && (entry = readdir(dir))) {
		int fd = strstr(entry->d_name, ".seg") ? openat(dirfd(dir), entry->d_name, O_RDWR)
		                                       : -1;
		uint8_t *base;

		if (fd < 0)
			continue;
		base = mmap(NULL, WT_CELLS_OFFSET, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		close(fd);
		if (base == MAP_FAILED)
			continue;
		*ret_producer = (struct wt_producer *)(base + WT_PRODUCER_OFFSET);
		*ret_consumer = (struct wt_consumer *)(base + WT_CONSUMER_OFFSET);
		is_found = true;
	}
	if (dir)
		closedir(dir);
	return is_found;
}

static void batch(launch_function *launch, void *f, int count)
{
	for (int i = 0; i < count; i++)
		launch(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
}

static double time_batch(launch_function *launch, void *f)
{
	double begun_ns = now_ns();

	batch(launch, f, BATCH);
	return (now_ns() - begun_ns) / BATCH;
}

static void time_each(launch_function *launch, void *f, double *each_ns)
{
	struct timespec from, to;

	for (int i = 0; i < BATCH; i++) {
		clock_gettime(CLOCK_MONOTONIC, &from);
		launch(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
		clock_gettime(CLOCK_MONOTONIC, &to);
		each_ns[i] = (double)(to.tv_sec - from.tv_sec) * 1e9 +
		             (double)(to.tv_nsec - from.tv_nsec);
	}
}

struct hook_run {
	launch_function *hooked, *bare;
	void *f;
	struct wt_producer *producer;
	struct wt_consumer *consumer;
};

static void empty_ring(const struct hook_run *h)
{
	wt_store_release(&h->consumer->head[WT_RING_CALLS],
	                 wt_load_relaxed(&h->producer->ring[WT_RING_CALLS].tail));
}

static bool set_up(struct hook_run *h, const char *driver)
{
	int (*init)(unsigned), (*find)(const char *, void **, int, unsigned long long, int *);
	void *handle = dlopen(driver, RTLD_NOW), *newer = NULL;
	int found = 0;

	if (!handle)
		return false;
	*(void **)&init = dlsym(handle, "cuInit");
	*(void **)&find = dlsym(handle, "cuGetProcAddress_v2");
	*(void **)&h->hooked = dlsym(handle, "cuLaunchKernel");
	if (!init || !find || !h->hooked || init(0) ||
	    find("cuLaunchKernel", &newer, NEWER_VERSION, 0, &found) || !newer)
		return false;
	*(void **)&h->bare = newer;
	h->f = handle;
	batch(h->hooked, h->f, BATCH); /* makes the segment */
	return find_segment(&h->producer, &h->consumer);
}

/* Prints: ns added (median), the slowest percent's, ns of a bare one, launches hooked, recorded, dropped. */
int bench_hook_child(const char *driver, unsigned batches)
{
	static double added_ns[BATCHES_MAX], bare_ns[BATCHES_MAX];
	static double hooked_each[BATCH * 10], bare_each[BATCH * 10];
	struct hook_run h = {0};

	if (batches < 1 || batches > BATCHES_MAX || !set_up(&h, driver))
		return 1;
	for (unsigned i = 0; i < batches; i++) {
		double hooked_ns = 0;

		empty_ring(&h);
		if (i % 2)
			hooked_ns = time_batch(h.hooked, h.f);
		bare_ns[i] = time_batch(h.bare, h.f);
		if (!(i % 2))
			hooked_ns = time_batch(h.hooked, h.f);
		added_ns[i] = hooked_ns - bare_ns[i];
	}
	for (unsigned i = 0; i < 10; i++) {
		empty_ring(&h);
		time_each(h.bare, h.f, bare_each + (size_t)i * BATCH);
		time_each(h.hooked, h.f, hooked_each + (size_t)i * BATCH);
	}
	printf("%.3f %.3f %.3f %llu %llu %llu\n", bench_quantile(added_ns, batches, 0.5),
	       bench_quantile(hooked_each, (size_t)10 * BATCH, 0.99) -
	               bench_quantile(bare_each, (size_t)10 * BATCH, 0.5),
	       bench_quantile(bare_ns, batches, 0.5), (1ULL + batches + 10) * BATCH,
	       (unsigned long long)wt_load_relaxed(&h.producer->launch_attempted),
	       (unsigned long long)wt_load_relaxed(&h.producer->launch_dropped));
	return 0;
}

/* ---- around it */

static void add_process(struct bench *b, int build)
{
	char driver[1024], library[1100], batches[16], output[600], folder[512];
	const char *const argv[] = {"/proc/self/exe", "--hook-child", driver, batches, NULL};
	unsigned long long launches = 0, attempted = 0, dropped = 0;
	double added = 0, slowest = 0, bare = 0;
	struct bench_use use;
	FILE *file;

	snprintf(driver, sizeof(driver), "%s/tests/hosts/libcuda.so.1", b->build[0]);
	snprintf(library, sizeof(library), "%s/libwavetap.so", b->build[build]);
	snprintf(batches, sizeof(batches), "%d", b->size == BENCH_SMOKE ? 4 : 120);
	bench_folder(folder);
	snprintf(output, sizeof(output), "%s/hook.out", folder);
	setenv("WAVETAP_SPAWN", "0", 1);
	setenv("WAVETAP_CUPTI", "0", 1);
	use = bench_run(library, argv, output, 120);
	unsetenv("WAVETAP_SPAWN");
	unsetenv("WAVETAP_CUPTI");
	file = fopen(output, "re");
	if (use.status || !file ||
	    fscanf(file, "%lf %lf %lf %llu %llu %llu", &added, &slowest, &bare, &launches,
	           &attempted, &dropped) != 6)
		bench_fail(b, "hook: the process with %s failed, status %d", library, use.status);
	else if (attempted != launches || dropped)
		bench_fail(b, "hook: of %llu launches %llu were recorded, %llu dropped", launches,
		           attempted, dropped);
	else {
		struct bench_row *row = bench_row(b, "hook", "ns", "added");

		bench_goal(row, BENCH_AT_MOST, GOAL_NS);
		bench_add(row, build, added);
		bench_add(bench_row(b, "hook", "ns", "added, slowest percent"), build, slowest);
		bench_add(bench_row(b, "hook", "ns", "a launch without one"), build, bare);
	}
	if (file)
		fclose(file);
	bench_folder_remove(folder);
}

void bench_hook(struct bench *b)
{
	char driver[1024];

	snprintf(driver, sizeof(driver), "%s/tests/hosts/libcuda.so.1", b->build[0]);
	if (access(driver, R_OK)) {
		bench_note(b, "skipped: hook: %s is not built", driver);
		return;
	}
	if (bench_is_sanitized()) {
		bench_note(
		        b,
		        "skipped: hook: preloading a sanitized library needs a sanitized program");
		return;
	}
	for (unsigned i = 0; i < b->rounds; i++)
		for (int k = 0; k < b->builds; k++)
			add_process(b, (int)((i + (unsigned)k) % (unsigned)b->builds));
}
