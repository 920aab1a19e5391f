/*
 * fold_streams.c - see fold_streams.h: a simulation by events, which are ends of blocks and kernels that may
 * start. Blocks are given out in the order of kernels, each to the SM with the most free threads; an SM is
 * active while it has a block.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/fold_streams.h"

#define SMS 132
#define SM_THREADS 2048
#define STREAMS 2
#define ENDS_MAX (SMS * 16)
#define STEP_NS 50 /* of what samples see */
#define GAP_NS 1100

struct block_end {
	double ns;
	int sm, stream;
};

struct stream {
	bool is_busy, has_started;
	int config, left, running; /* blocks to start, and on SMs */
	double ready_ns, start_ns;
	double order; /* of its kernel among all */
};

struct device {
	struct fold_sim *sim;
	struct streams_truth *truth;
	struct stream streams[STREAMS];
	struct block_end ends[ENDS_MAX]; /* a heap */
	int end_count;
	int free_threads[SMS], active, next_sm;
	double now_ns, step_start_ns, step_sm_ns;
	int launches;
};

/* ---- ends of blocks, the earliest first */

static void push_end(struct device *device, struct block_end end)
{
	int at = device->end_count++;

	for (; at && device->ends[(at - 1) / 2].ns > end.ns; at = (at - 1) / 2)
		device->ends[at] = device->ends[(at - 1) / 2];
	device->ends[at] = end;
}

static struct block_end pop_end(struct device *device)
{
	struct block_end first = device->ends[0], last = device->ends[--device->end_count];
	int at = 0;

	for (;;) {
		int child = 2 * at + 1;

		if (child + 1 < device->end_count &&
		    device->ends[child + 1].ns < device->ends[child].ns)
			child++;
		if (child >= device->end_count || device->ends[child].ns >= last.ns)
			break;
		device->ends[at] = device->ends[child];
		at = child;
	}
	device->ends[at] = last;
	return first;
}

/* ---- time */

static void see_until(struct device *device, double ns)
{
	while (device->now_ns < ns) {
		double step_end_ns = device->step_start_ns + STEP_NS;
		double to_ns = fmin(ns, step_end_ns);

		device->step_sm_ns += device->active * (to_ns - device->now_ns);
		device->now_ns = to_ns;
		if (to_ns < step_end_ns)
			continue;
		if (device->step_sm_ns > 0)
			sim_foreign(device->sim, device->step_start_ns, step_end_ns,
			            device->step_sm_ns / STEP_NS);
		device->step_start_ns = step_end_ns;
		device->step_sm_ns = 0;
	}
}

static void advance(struct device *device, double ns)
{
	double time_ns = ns - device->now_ns, sm_ns = device->active * time_ns;
	bool is_joint = device->streams[0].has_started && device->streams[1].has_started;

	device->truth->active_sm_ns += sm_ns;
	for (int i = 0; i < STREAMS; i++) {
		struct streams_config *config = &device->truth->configs[device->streams[i].config];

		if (!device->streams[i].has_started)
			continue;
		*(is_joint ? &config->joint_ns : &config->alone_ns) += time_ns;
		*(is_joint ? &config->joint_sm_ns : &config->alone_sm_ns) += sm_ns;
	}
	see_until(device, ns);
}

/* ---- kernels */

static void record(struct device *device, const struct stream *stream)
{
	struct fold_sim *sim = device->sim;
	double noise_ns = sim->record_noise_ns;
	struct wt_fold_kernel kernel = {.config = (uint32_t)stream->config};

	kernel.start_ns = (int64_t)(stream->start_ns - sim->ramp_ns / 2 +
	                            noise_ns * (sim_uniform(sim) - 0.5));
	kernel.end_ns =
	        (int64_t)(device->now_ns + sim->ramp_ns / 2 + noise_ns * (sim_uniform(sim) - 0.5));
	sim_record(sim, &kernel);
	device->truth->configs[stream->config].launches++;
}

static void queue(struct device *device, int which, double ready_ns)
{
	struct stream *stream = &device->streams[which];
	int first = which ? STREAMS_FIRST : 0;
	int count = which ? STREAMS_CONFIGS - STREAMS_FIRST : STREAMS_FIRST;

	stream->config = first + (int)(sim_uniform(device->sim) * count);
	stream->left = device->truth->configs[stream->config].blocks;
	stream->ready_ns = ready_ns;
	stream->is_busy = true;
	stream->order = ready_ns;
}

/* The first stream goes on; with every third of its kernels begins one of the second, a little later. */
static void finish(struct device *device, int which)
{
	struct stream *stream = &device->streams[which], *second = &device->streams[1];

	record(device, stream);
	stream->is_busy = stream->has_started = false;
	if (which)
		return;
	device->launches++;
	queue(device, 0, device->now_ns + GAP_NS + 150 * sim_uniform(device->sim));
	if (device->launches % 3 == 0 && !second->is_busy)
		queue(device, 1, device->now_ns + 3000 + 5000 * sim_uniform(device->sim));
}

static int find_sm(struct device *device, int threads)
{
	int best = -1;

	for (int i = 0; i < SMS; i++) {
		int sm = (device->next_sm + i) % SMS;

		if (device->free_threads[sm] >= threads &&
		    (best < 0 || device->free_threads[sm] > device->free_threads[best]))
			best = sm;
		if (best >= 0 && device->free_threads[best] == SM_THREADS)
			break;
	}
	return best;
}

/* Starts what blocks of it have a place; false: some have none. */
static bool place(struct device *device, int which)
{
	struct stream *stream = &device->streams[which];
	const struct streams_config *config = &device->truth->configs[stream->config];

	while (stream->left) {
		int sm = find_sm(device, config->threads);
		double noise = 0.004 * sim_normal(device->sim);

		if (sm < 0)
			return false;
		if (!stream->has_started)
			stream->start_ns = device->now_ns;
		stream->has_started = true;
		device->active += device->free_threads[sm] == SM_THREADS;
		device->free_threads[sm] -= config->threads;
		device->next_sm = (sm + 1) % SMS;
		stream->left--;
		stream->running++;
		push_end(device, (struct block_end){device->now_ns + config->block_ns * (1 + noise),
		                                    sm, which});
	}
	return true;
}

static void place_all(struct device *device)
{
	int first =
	        device->streams[1].is_busy && device->streams[1].order < device->streams[0].order;

	for (int i = 0; i < STREAMS; i++) {
		struct stream *stream = &device->streams[i ? !first : first];

		if (stream->is_busy && stream->ready_ns <= device->now_ns &&
		    !place(device, (int)(stream - device->streams)))
			return;
	}
}

static double next_ns(const struct device *device)
{
	double next = device->end_count ? device->ends[0].ns : INFINITY;

	for (int i = 0; i < STREAMS; i++) {
		const struct stream *stream = &device->streams[i];

		if (stream->is_busy && stream->ready_ns > device->now_ns)
			next = fmin(next, stream->ready_ns);
	}
	return next;
}

void streams_run(struct fold_sim *sim, double end_ns, struct streams_truth *ret_truth)
{
	static const struct streams_config configs[STREAMS_CONFIGS] = {
	        {.blocks = 267, .threads = 1024, .block_ns = 4300},
	        {.blocks = 40, .threads = 1024, .block_ns = 15300},
	        {.blocks = 700, .threads = 512, .block_ns = 8400},
	        {.blocks = 528, .threads = 1024, .block_ns = 15600},
	        {.blocks = 1056, .threads = 256, .block_ns = 9800},
	};
	struct device device = {.sim = sim, .truth = ret_truth};

	*ret_truth = (struct streams_truth){0};
	memcpy(ret_truth->configs, configs, sizeof(configs));
	for (int i = 0; i < SMS; i++)
		device.free_threads[i] = SM_THREADS;
	queue(&device, 0, 100000);
	while (device.now_ns < end_ns) {
		advance(&device, next_ns(&device));
		while (device.end_count && device.ends[0].ns <= device.now_ns) {
			struct block_end end = pop_end(&device);
			struct stream *stream = &device.streams[end.stream];

			device.free_threads[end.sm] += ret_truth->configs[stream->config].threads;
			device.active -= device.free_threads[end.sm] == SM_THREADS;
			if (!--stream->running && !stream->left)
				finish(&device, end.stream);
		}
		place_all(&device);
	}
}
