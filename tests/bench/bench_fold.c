/*
 * bench_fold.c - what folding costs: simulated steps of CONFIGS configurations in a fixed order, sampled
 * every 50 us.
 *
 * usage: bench_fold [CONFIGS [SAMPLES]]     (default 100 and 400000)
 * Prints samples per second of CPU time once there is an offset, what the offset took, what solving
 * takes, and memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/unit/fold_sim.h"

#define INTERVAL_NS 50000.0
#define PART 20000

static double cpu_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Adds samples [first, last) with their kernels; returns seconds. */
static double add(struct wt_fold *fold, const struct fold_sim *sim, size_t first, size_t last,
                  size_t *kernel)
{
	int64_t from_ns = sim->samples[first].start_ns - 100000;
	int64_t to_ns = sim->samples[last - 1].end_ns + 100000;
	size_t end;
	double begin_s;

	while (*kernel < sim->kernel_count && sim->kernels[*kernel].end_ns < from_ns)
		++*kernel;
	for (end = *kernel; end < sim->kernel_count && sim->kernels[end].start_ns < to_ns;)
		end++;
	begin_s = cpu_s();
	if (wt_fold_add(fold, sim->kernels + *kernel, end - *kernel, sim->samples + first,
	                last - first))
		exit(1);
	return cpu_s() - begin_s;
}

int main(int argc, char **argv)
{
	size_t configs = argc > 1 ? strtoul(argv[1], NULL, 10) : 100, kernel = 0;
	size_t samples = argc > 2 ? strtoul(argv[2], NULL, 10) : 400000;
	double end_ns = (double)samples * INTERVAL_NS, now_ns = 100000, first_s, rest_s = 0,
	       begin_s;
	struct wt_fold_summary summary;
	struct wt_fold *fold;
	struct fold_sim sim;

	if (!configs || configs > 100000 || samples < 2 * PART || samples > 10000000) {
		fprintf(stderr, "usage: bench_fold [CONFIGS [SAMPLES]], at least 40000 samples\n");
		return 2;
	}
	sim_init(&sim, configs, 1);
	for (size_t i = 0; i < configs; i++)
		sim_shape(&sim, i, 4);
	for (size_t i = 0; now_ns < end_ns; i = (i + 1) % configs)
		now_ns = sim_launch(&sim, i, now_ns + 900 + 300 * sim_uniform(&sim),
		                    4000 + (double)(i * 7919 % configs) * 30000 / (double)configs);
	sim_sample(&sim, 0, end_ns - 200000, INTERVAL_NS, 0, 0);
	if (wt_fold_create(NULL, &fold))
		return 1;
	first_s = add(fold, &sim, 0, PART, &kernel);
	for (size_t i = PART; i + PART <= sim.sample_count; i += PART)
		rest_s += add(fold, &sim, i, i + PART, &kernel);
	begin_s = cpu_s();
	if (wt_fold_solve(fold))
		return 1;
	begin_s = cpu_s() - begin_s;
	wt_fold_summary(fold, &summary);
	printf("%zu configurations, %zu kernels, %zu unknowns, %zu pairs, %zu bytes, residual "
	       "%.5f\n",
	       configs, sim.kernel_count, summary.unknowns, summary.pairs, summary.bytes,
	       summary.residual);
	printf("offset and the first %d samples %.2f s; then %.0f samples/s; solving %.2f s\n",
	       PART, first_s, ((double)sim.sample_count - PART) / rest_s, begin_s);
	wt_fold_destroy(fold);
	sim_free(&sim);
	return 0;
}
