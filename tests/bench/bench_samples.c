/*
 * bench_samples.c - what samples cost wavetapd: CPU time of a daemon that finds a whole segment of samples,
 * one of kernels, and both, whose kernels then are folded over.
 *
 * usage: bench_samples [SAMPLES [CONFIGS]]     (a power of two; default 262144, 100)
 * Kernels of CONFIGS configurations, 8 to 40 us each in random order, fill the time; a sample is 50 us.
 * Needs top_builddir, and about 500 bytes of TMPDIR or /tmp per sample.
 */
#include <sys/resource.h>
#include <sys/wait.h>

#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/synth.h"

#define SAMPLE_NS 50000
#define SMS 132
#define CYCLES 99000

static uint64_t state, first_ns;
static unsigned configs = 100;

static uint32_t draw(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 16) % below;
}

struct next {
	uint64_t start_ns, end_ns;
	uint32_t config, active;
};

/* The kernel after the one in `next`: the same for whoever asks. */
static void advance(struct next *next)
{
	next->config = draw(configs);
	next->start_ns = next->end_ns + 300;
	next->end_ns = next->start_ns + 8000 + next->config * 32000 / configs;
	next->active = 1 + next->config * 7919 % SMS;
}

static void put_kernels(uint64_t count, uint64_t room)
{
	struct synth_options options = {.cells = {room, 4 * room}};
	struct next next = {.end_ns = first_ns};
	struct synth s;
	uint32_t name;

	if (synth_create(&s, &options))
		_exit(1);
	name = synth_name(&s, "_Z5benchPf");
	state = 88172645463325252;
	for (uint64_t i = 0; i < count; i++) {
		struct synth_launch launch = {.thread32 = 1, .name_id = name};

		advance(&next);
		launch.grid = 1 + next.config;
		launch.entry_ns = next.start_ns - 5000;
		launch.duration_ns = next.end_ns - next.start_ns;
		synth_run(&s, &launch);
	}
	synth_finish(&s);
}

/* What is active in each sample while those kernels run. */
static void put_samples(uint64_t count)
{
	struct synth_options options = {.producer = WT_PRODUCER_SAMPLER, .cells = {2, count / 2}};
	struct wt_sample samples[2];
	struct next next = {.end_ns = first_ns};
	struct synth s;

	if (synth_create(&s, &options))
		_exit(1);
	state = 88172645463325252;
	advance(&next);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t at = first_ns + i * SAMPLE_NS, end = at + SAMPLE_NS;
		double active = 0;

		while (next.start_ns < end) {
			uint64_t from = next.start_ns > at ? next.start_ns : at;
			uint64_t until = next.end_ns < end ? next.end_ns : end;

			active += (double)next.active * (double)(until - from) / SAMPLE_NS / SMS;
			if (next.end_ns > end)
				break;
			advance(&next);
		}
		samples[i % 2] = (struct wt_sample){
		        .start_ns = at,
		        .duration_ns = SAMPLE_NS,
		        .elapsed_cycles = CYCLES,
		        .active_avg = (float)(active * CYCLES),
		        .active_max = CYCLES,
		        .warps = (float)(active * CYCLES * 8),
		        .tensor = WT_SAMPLE_UNKNOWN,
		        .dram_read_bytes = WT_SAMPLE_UNKNOWN,
		        .dram_write_bytes = WT_SAMPLE_UNKNOWN,
		};
		if (i % 2)
			synth_samples(&s, samples, 2);
	}
	wt_store_relaxed(&s.producer->sampler_state, WT_SAMPLER_ENDED);
	synth_finish(&s);
}

/* So many of them cover the samples. */
static uint64_t count_kernels(uint64_t samples)
{
	struct next next = {.end_ns = first_ns};
	uint64_t count = 0;

	state = 88172645463325252;
	for (; next.end_ns < first_ns + (samples + 10) * SAMPLE_NS; count++)
		advance(&next);
	return count;
}

/* CPU seconds of a daemon that drains what there is. */
static double measure(uint64_t samples, uint64_t kernels, int64_t *ret_bytes)
{
	char folder[512], file[1024];
	struct rusage before, after;
	uint64_t room = 1;
	pid_t pid;

	while (room < kernels)
		room *= 2;
	synth_folder(folder);
	pid = fork();
	if (!pid) {
		if (kernels)
			put_kernels(kernels, room);
		if (samples)
			put_samples(samples);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	getrusage(RUSAGE_CHILDREN, &before);
	synth_daemon_wait(synth_daemon(folder, "0.2"));
	getrusage(RUSAGE_CHILDREN, &after);
	if (synth_run_file(folder, file)) {
		*ret_bytes =
		        synth_query(file, "SELECT ifnull(sum(length(data)), 0) FROM sample_chunk");
		if (samples && kernels)
			printf("%lld of %u configurations measured, residual %lld ppm, offset %lld "
			       "ns\n",
			       (long long)synth_query(file, "SELECT count(*) FROM measured WHERE "
			                                    "reason IS NULL"),
			       configs,
			       (long long)synth_query(
			               file, "SELECT CAST(1e6 * residual AS INTEGER) FROM fold"),
			       (long long)synth_query(
			               file, "SELECT CAST(offset_ns AS INTEGER) FROM fold"));
	}
	synth_folder_remove(folder);
#define SECONDS(u)                                                                                 \
	((double)((u).ru_utime.tv_sec + (u).ru_stime.tv_sec) +                                     \
	 (double)((u).ru_utime.tv_usec + (u).ru_stime.tv_usec) / 1e6)
	return SECONDS(after) - SECONDS(before);
}

int main(int argc, char **argv)
{
	uint64_t samples = argc > 1 ? strtoull(argv[1], NULL, 10) : 262144, kernels;
	double alone_s, kernels_s, both_s;
	int64_t bytes = 0, ignored = 0;

	if (argc > 2)
		configs = (unsigned)strtoul(argv[2], NULL, 10);
	if (samples < 4096 || samples > (1u << 22) || samples & (samples - 1) || !configs) {
		fprintf(stderr, "usage: bench_samples [SAMPLES [CONFIGS]], a power of two\n");
		return 2;
	}
	first_ns = synth_now_ns() - samples * SAMPLE_NS;
	kernels = count_kernels(samples);
	alone_s = measure(samples, 0, &bytes);
	kernels_s = measure(0, kernels, &ignored);
	both_s = measure(samples, kernels, &ignored);
	printf("%llu samples: %.2f us each to drain, %.1f bytes; %llu kernels: %.2f us each to "
	       "drain\n",
	       (unsigned long long)samples, 1e6 * alone_s / (double)samples,
	       (double)bytes / (double)samples, (unsigned long long)kernels,
	       1e6 * kernels_s / (double)kernels);
	printf("folding: %.3f s, %.2f us a sample\n", both_s - alone_s - kernels_s,
	       1e6 * (both_s - alone_s - kernels_s) / (double)samples);
	return 0;
}
