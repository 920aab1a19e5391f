/*
 * bench_daemon.c - how fast wavetapd turns records into rows: a synthetic segment is filled
 * before the daemon starts, so that the producer takes no part.
 *
 * usage: bench_daemon [LAUNCHES [KERNEL_NS [NODES]]]   (power of two; default 262144; 3 records each)
 * A launch is made every 5 us, more or less, and takes about 0.8. Kernels run for 10 us if not said
 * otherwise, and up to a tenth less, so that each overlaps others; for 4000 ns none does. With NODES kernels are those of graph launches with so many nodes
 * each, one after the other: one record a kernel, and LAUNCHES counts kernels.
 * Prints the daemon's CPU time and how long it ran, launches per second of the former, and bytes per
 * launch; with WAVETAP_RECORD set to a folder, of a daemon that writes a recording there as well. Needs
 * top_builddir, and about 384 bytes of TMPDIR or /tmp per launch.
 */
#include <sys/resource.h>
#include <sys/wait.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tests/unit/synth.h"

static double seconds_of(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

/* Times of a real program are not even. */
static uint64_t jitter(uint64_t *state, uint64_t most)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state % (most + 1);
}

static void fill(struct synth *s, uint64_t count, uint64_t kernel_ns, uint64_t nodes)
{
	uint64_t clock_ns = synth_now_ns(), each_ns = nodes ? nodes * (kernel_ns + 100) : 5000;
	uint64_t random = 88172645463325252;
	uint32_t names[32];

	for (int i = 0; i < 32; i++) {
		char name[64];

		snprintf(name, sizeof(name), "_Z9kernel_%03dPfS_i", i);
		names[i] = synth_name(s, name);
	}
	for (uint32_t i = 0; i < (nodes ? count / nodes : count); i++) {
		struct synth_launch launch = {
		        .thread32 = 1 + i % 4,
		        .grid = 50 + i % 100,
		        .name_id = names[i % 32],
		        .duration_ns = kernel_ns - jitter(&random, kernel_ns / 10),
		        .node_ns = kernel_ns + 100,
		        .takes_ns = 600 + jitter(&random, 400),
		        .entry_ns = clock_ns + i * each_ns + jitter(&random, 900)};

		launch.lag_ns = 5000 + jitter(&random, 99);
		if (nodes)
			synth_graph(s, &launch, (unsigned)nodes);
		else
			synth_run(s, &launch);
	}
}

int main(int argc, char **argv)
{
	uint64_t nodes = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
	uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 262144;
	uint64_t kernel_ns = argc > 2 ? strtoull(argv[2], NULL, 10) : 10000;
	struct synth_options options = {.cells = {count, 2 * count},
	                                .record_dir = getenv("WAVETAP_RECORD")};
	char folder[512], file[1024];
	struct rusage usage;
	struct stat status;
	uint64_t began_ns;
	double cpu_s, wall_s;
	pid_t pid;

	if (count < 1024 || count > (1u << 21) || count & (count - 1)) {
		fprintf(stderr,
		        "usage: bench_daemon [LAUNCHES [KERNEL_NS [NODES]]], a power of two "
		        "from 1024 to 2097152\n");
		return 2;
	}
	synth_folder(folder);
	pid = fork();
	if (!pid) {
		struct synth s;

		if (synth_create(&s, &options))
			_exit(1);
		fill(&s, count, kernel_ns, nodes);
		synth_finish(&s);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	began_ns = synth_now_ns();
	pid = synth_daemon(folder, "0");
	if (wait4(pid, NULL, 0, &usage) != pid || !synth_run_file(folder, file) ||
	    stat(file, &status)) {
		fprintf(stderr, "the daemon left no run file\n");
		return 1;
	}
	wall_s = (double)(synth_now_ns() - began_ns) / 1e9;
	cpu_s = seconds_of(&usage.ru_utime) + seconds_of(&usage.ru_stime);
	printf("launches %llu stored %lld linked %lld unexplained %lld\n",
	       (unsigned long long)count,
	       (long long)synth_query(file, "SELECT launches_stored FROM loss"),
	       (long long)synth_query(file, "SELECT launches_linked FROM loss"),
	       (long long)synth_query(file, "SELECT unexplained FROM loss"));
	printf("daemon CPU %.3f s of %.3f s, %.0f launches/s, %.1f bytes per launch, %ld MiB "
	       "resident\n",
	       cpu_s, wall_s, (double)count / cpu_s, (double)status.st_size / (double)count,
	       usage.ru_maxrss / 1024);
	synth_folder_remove(folder);
	return 0;
}
