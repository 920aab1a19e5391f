/*
 * stream_step.c - the records of a training program: see stream.h. Any thread, under the stream's mutex.
 */
#include <math.h>
#include <stdio.h>

#include "schema/wt_api.h"
#include "tests/bench/stream_impl.h"

#define LAYERS 24
#define SIZE_STEPS 50
#define OPTIMIZER_KERNEL 84
#define OTHER_KERNEL 96
#define COLLECTIVE_KERNEL 99
#define CLOCK_EVERY_NS UINT64_C(1000000000)

/* ---- chance */

static uint64_t draw(struct stream *s)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	s->random ^= s->random << 17;
	return s->random;
}

/* A log-logistic distribution by its quantiles: a median, and a long tail. */
static void make_quantiles(double *table, double median, double shape)
{
	for (int i = 0; i <= DRAWS; i++) {
		double p = (i + 0.5) / (DRAWS + 1);

		table[i] = median * pow(p / (1 - p), shape);
	}
}

static uint64_t draw_from(struct stream *s, const double *table)
{
	uint64_t bits = draw(s);
	unsigned i = (unsigned)(bits >> 20) % DRAWS;

	return (uint64_t)(table[i] + (table[i + 1] - table[i]) * (double)(bits >> 40) / (1 << 24));
}

/* As CUPTI's: multiples of 32 ns, give or take one. Of four uniform draws: nearly normal, 2 %. */
static uint64_t duration_of(struct stream *s, uint32_t mean_ns)
{
	uint64_t bits = draw(s), more = draw(s);
	double sum = (double)((bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) +
	                      (bits >> 48)) /
	             65536;
	double ns = mean_ns * (1 + 0.035 * (sum - 2));

	if (more % 64 == 0)
		ns *= 1.3;
	return (uint64_t)(ns / 32) * 32 + 32 + (more >> 8) % 6 / 5 - (more >> 16) % 12 / 11;
}

/* ---- what runs */

static void make_name(char *name, size_t bytes, unsigned kernel)
{
	static const char *const kinds[] = {"gemm_bf16_128x128", "elementwise_kernel",
	                                    "reduce_kernel",     "layer_norm_forward",
	                                    "softmax_warp",      "vectorized_copy"};
	char plain[64];

	if (kernel == COLLECTIVE_KERNEL) {
		snprintf(name, bytes,
		         "_Z40ncclDevKernel_AllReduce_Sum_bf16_RING_"
		         "LL24ncclDevKernelArgsStorageILm4096EE");
		return;
	}
	snprintf(plain, sizeof(plain), "%s_%02u",
	         kernel >= OPTIMIZER_KERNEL && kernel < OTHER_KERNEL
	                 ? "multi_tensor_apply_adamw"
	                 : kinds[kernel % (sizeof(kinds) / sizeof(kinds[0]))],
	         kernel);
	snprintf(name, bytes, "_Z%zu%sPfPKfi", strlen(plain), plain);
}

static void make_configs(struct stream *s)
{
	static const uint16_t regs[] = {32, 40, 64, 96, 128, 168};
	static const uint32_t blocks[] = {128, 256, 256, 512}, smem[] = {0, 0, 16384, 49152, 98304};
	uint64_t z = 0x9e3779b97f4a7c15u;

	for (unsigned k = 0; k < KERNELS; k++) {
		char name[128];

		make_name(name, sizeof(name), k);
		s->names[k] = synth_name(&s->synth, name);
		for (unsigned i = 0; i < SIZES; i++) {
			static const double factor[SIZES] = {1, 1.5, 0.75};
			unsigned at = k == COLLECTIVE_KERNEL ? 3 : (unsigned)(z >> 33) % 1000;

			s->configs[k][i] = (struct config){
			        .grid = 1 + (uint32_t)(pow(1.0083, at) * factor[i]),
			        .block = blocks[k * 7 % 4],
			        .regs = regs[k * 5 % 6],
			        .smem_bytes = smem[k * 3 % 5],
			        .mean_ns = (uint32_t)((2000 + 230 * pow(1.006, at)) * factor[i]),
			};
			if (k == COLLECTIVE_KERNEL)
				s->configs[k][i].mean_ns = (uint32_t)(60000 * factor[i]);
		}
		z = z * 6364136223846793005u + 1442695040888963407u;
	}
}

void stream_prepare(struct stream *s)
{
	make_configs(s);
	make_quantiles(s->call_ns, 4300, 0.33);
	make_quantiles(s->gap_ns, 9000, 0.6);
	s->clock_ns = s->tail_ns[0] = s->tail_ns[1] = s->options->begin_ns;
	s->random = 88172645463325252u + 1000003 * (uint64_t)s->options->process;
	s->correlation = 100;
}

/* ---- records */

static struct wt_cell *next_cell(struct wt_cell *cells, unsigned *count, enum wt_kind kind,
                                 const void *payload, uint32_t bytes)
{
	struct wt_cell *cell = &cells[(*count)++];

	cell->kind = (uint16_t)kind;
	cell->count = 1;
	cell->length = bytes;
	memcpy(cell->payload, payload, bytes);
	return cell;
}

static void add_activity(struct piece *p, enum wt_kind kind, const void *payload, uint32_t bytes)
{
	next_cell(p->activities, &p->activity_count, kind, payload, bytes);
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* What CUPTI says of a call that launches. */
static void add_link(struct stream *s, struct piece *p, uint64_t entry_ns, uint64_t return_ns,
                     uint32_t thread32)
{
	uint64_t bits = draw(s), before = 200 + bits % 256, took = return_ns - entry_ns;

	p->links[p->link_count++] = (struct wt_link){
	        .start_ns = entry_ns + before,
	        .duration_ns = (uint32_t)(took - before - (bits >> 32) % (took / 8)),
	        .correlation_id = s->correlation,
	        .thread32 = thread32,
	};
}

static void add_kernel(struct stream *s, struct piece *p, unsigned kernel, unsigned stream,
                       uint64_t arrival_ns, uint64_t node)
{
	const struct config *c = &s->configs[kernel][s->step / SIZE_STEPS % SIZES];
	uint64_t start_ns = later(arrival_ns, s->tail_ns[stream] + 700 + draw(s) % 512);
	struct wt_kernel record = {
	        .start_ns = start_ns,
	        .end_ns = start_ns + duration_of(s, c->mean_ns),
	        .graph_node_id = node,
	        .correlation_id = s->correlation,
	        .context_id = 1,
	        .stream_id = 7 + 6 * stream,
	        .name_id = s->names[kernel],
	        .grid = {c->grid, 1, 1},
	        .block = {(uint16_t)c->block, 1, 1},
	        .dynamic_smem_bytes = c->smem_bytes,
	        .smem_executed_bytes = c->smem_bytes + 1024,
	        .graph_id = node ? 3 : 0,
	        .regs_per_thread = c->regs,
	        .channel_id = 8 + stream,
	};

	s->tail_ns[stream] = record.end_ns;
	wt_add_relaxed(&s->counts->kernel_ns, record.end_ns - record.start_ns);
	add_activity(p, WT_KIND_KERNEL, &record, sizeof(record));
}

/* The times of the next call; the clock goes on to its end. */
static void next_call(struct stream *s, uint64_t *ret_entry_ns, uint64_t *ret_return_ns)
{
	*ret_entry_ns = s->clock_ns + 1500 + draw_from(s, s->gap_ns);
	*ret_return_ns = s->clock_ns = *ret_entry_ns + 2500 + draw_from(s, s->call_ns);
}

static void launch(struct stream *s, struct piece *p, const struct maker *m, unsigned kernel,
                   unsigned stream)
{
	const struct config *c = &s->configs[kernel][s->step / SIZE_STEPS % SIZES];
	struct wt_launch record = {
	        .stream = stream ? 0x55d0c0de2000 : 0x55d0c0de1000,
	        .function = 0x7f1200000000 + 0x140 * (uint64_t)kernel,
	        .grid = {c->grid, 1, 1},
	        .block = {c->block, 1, 1},
	        .dynamic_smem_bytes = c->smem_bytes,
	        .tid = m->tid,
	        .thread32 = m->thread32,
	        .api = WT_API_cuLaunchKernel,
	};

	if (!s->left)
		return;
	s->left--;
	s->correlation += 1 + (uint32_t)(draw(s) % 3);
	next_call(s, &record.entry_ns, &record.return_ns);
	record.seq = wt_add_relaxed(&s->synth.producer->launch_attempted, 1);
	next_cell(p->calls, &p->call_count, WT_KIND_LAUNCH, &record, sizeof(record));
	add_link(s, p, record.entry_ns, record.return_ns, m->thread32);
	add_kernel(s, p, kernel, stream, record.return_ns - 1000 + draw(s) % 1024, 0);
	wt_add_relaxed(&s->counts->launches, 1);
	wt_add_relaxed(&s->counts->kernels, 1);
}

/* `until_ns`: what the call waits for; 0: nothing. */
static void call(struct stream *s, struct piece *p, const struct maker *m, enum wt_api api,
                 uint64_t handle, uint64_t bytes, uint64_t until_ns)
{
	struct wt_call record = {.handle = handle,
	                         .bytes = bytes,
	                         .tid = m->tid,
	                         .thread32 = m->thread32,
	                         .api = (uint16_t)api};

	next_call(s, &record.entry_ns, &record.return_ns);
	if (until_ns + 1500 > record.return_ns)
		s->clock_ns = record.return_ns = until_ns + 1500 + draw(s) % 1024;
	next_cell(p->calls, &p->call_count, WT_KIND_CALL, &record, sizeof(record));
	wt_add_relaxed(&s->counts->calls, 1);
	if (until_ns) {
		struct wt_sync sync = {.start_ns = record.entry_ns + 300,
		                       .end_ns = record.return_ns - 200,
		                       .correlation_id = ++s->correlation,
		                       .context_id = 1,
		                       .stream_id = 7,
		                       .type = 3};

		add_activity(p, WT_KIND_SYNC, &sync, sizeof(sync));
		wt_add_relaxed(&s->counts->syncs, 1);
	}
}

static void copy(struct stream *s, struct piece *p, uint64_t bytes, unsigned kind)
{
	struct wt_copy record = {.start_ns = later(s->clock_ns, s->tail_ns[0] + 800),
	                         .bytes = bytes,
	                         .correlation_id = ++s->correlation,
	                         .context_id = 1,
	                         .stream_id = 7,
	                         .copy_kind = (uint8_t)kind,
	                         .src_kind = kind == 1 ? 2 : 3,
	                         .dst_kind = kind == 1 ? 3 : 1,
	                         .flags = 1};

	record.end_ns = s->tail_ns[0] = record.start_ns + 1000 + bytes / 25 + draw(s) % 256;
	add_activity(p, WT_KIND_COPY, &record, sizeof(record));
	wt_add_relaxed(&s->counts->copies, 1);
}

/* ---- a step, in pieces: input, layers forward, loss, layers backward, optimizer, end */

#define PIECES (1 + LAYERS + 1 + LAYERS + 4 + 1)

static void layer_forward(struct stream *s, struct piece *p, const struct maker *m, unsigned layer)
{
	if (layer % 6 == 0)
		call(s, p, m, WT_API_cuMemAllocAsync, 0x55d0c0de1000, 1 << (20 + layer % 4), 0);
	for (unsigned i = 0; i < 14; i++)
		launch(s, p, m, layer % 2 * 14 + i, 0);
}

static void layer_backward(struct stream *s, struct piece *p, const struct maker *m, unsigned layer)
{
	for (unsigned i = 0; i < 28; i++)
		launch(s, p, m, 28 + layer % 2 * 28 + i, 0);
	call(s, p, m, WT_API_cuStreamWaitEvent, 0x55d0c0de2000, 0, 0);
	s->tail_ns[1] = later(s->tail_ns[1], s->tail_ns[0]);
	launch(s, p, m, COLLECTIVE_KERNEL, 1);
	if (layer % 6 == 5)
		call(s, p, m, WT_API_cuMemFreeAsync, 0x7f3300000000 + layer * 0x200000, 0, 0);
}

static void end_step(struct stream *s, struct piece *p, const struct maker *m)
{
	copy(s, p, 4, 2);
	call(s, p, m, WT_API_cuStreamSynchronize, 0x55d0c0de1000, 0,
	     later(s->tail_ns[0], s->tail_ns[1]));
	s->clock_ns += 20000 + draw_from(s, s->gap_ns) * 4; /* what the program does by itself */
}

static void fill_piece(struct stream *s, struct piece *p, const struct maker *m, unsigned at)
{
	if (at == 0) {
		copy(s, p, 1 << 20, 1);
		for (unsigned i = 0; i < 3; i++)
			launch(s, p, m, OTHER_KERNEL + i, 0);
	} else if (at <= LAYERS) {
		layer_forward(s, p, m, at - 1);
	} else if (at == LAYERS + 1) {
		for (unsigned i = 0; i < 4; i++)
			launch(s, p, m, OTHER_KERNEL + i % 3, 0);
	} else if (at <= 2 * LAYERS + 1) {
		layer_backward(s, p, m, 2 * LAYERS + 1 - at);
	} else if (at < PIECES - 1) {
		if (at == 2 * LAYERS + 2) { /* the optimizer waits for the gradients */
			call(s, p, m, WT_API_cuStreamWaitEvent, 0x55d0c0de1000, 0, 0);
			s->tail_ns[0] = later(s->tail_ns[0], s->tail_ns[1]);
		}
		for (unsigned i = 0; i < 15; i++)
			launch(s, p, m, OPTIMIZER_KERNEL + (at + i) % 12, 0);
	} else {
		end_step(s, p, m);
	}
	s->clock_ns += draw_from(s, s->gap_ns); /* another thread goes on */
}

/* A graph launch, and a wait where the host is far ahead. */
static void fill_graph(struct stream *s, struct piece *p, const struct maker *m)
{
	unsigned nodes = s->options->nodes;
	struct wt_call record = {.handle = 0x55d0c0de1000,
	                         .other = 0x55d0abcd0000,
	                         .tid = m->tid,
	                         .thread32 = m->thread32,
	                         .api = WT_API_cuGraphLaunch};

	if (nodes > s->left)
		nodes = (unsigned)s->left;
	if (s->tail_ns[0] > s->clock_ns + 50 * UINT64_C(1000000))
		call(s, p, m, WT_API_cuStreamSynchronize, record.handle, 0, s->tail_ns[0]);
	s->correlation++;
	next_call(s, &record.entry_ns, &record.return_ns);
	record.seq = wt_add_relaxed(&s->synth.producer->graph_launch_attempted, 1);
	next_cell(p->calls, &p->call_count, WT_KIND_CALL, &record, sizeof(record));
	add_link(s, p, record.entry_ns, record.return_ns, m->thread32);
	for (unsigned i = 0; i < nodes; i++)
		add_kernel(s, p, i % COLLECTIVE_KERNEL, 0, record.return_ns, 100 + i);
	s->left -= nodes;
	wt_add_relaxed(&s->counts->graph_launches, 1);
	wt_add_relaxed(&s->counts->calls, 1);
	wt_add_relaxed(&s->counts->kernels, nodes);
}

void stream_add_clock(struct stream *s, struct piece *p)
{
	struct wt_clock record = {.realtime_ns = s->clock_ns,
	                          .monotonic_ns = s->clock_ns - 1000000007,
	                          .cupti_ns = s->clock_ns,
	                          .boot_ns = s->clock_ns - 1000000007,
	                          .bracket_ns = 60};

	add_activity(p, WT_KIND_CLOCK, &record, sizeof(record));
	s->next_clock_ns = s->clock_ns + CLOCK_EVERY_NS;
}

void stream_fill(struct stream *s, struct piece *p, const struct maker *m)
{
	if (s->clock_ns >= s->next_clock_ns)
		stream_add_clock(s, p);
	if (s->options->nodes) {
		fill_graph(s, p, m);
		return;
	}
	fill_piece(s, p, m, s->at);
	s->at = (s->at + 1) % PIECES;
	s->step += s->at == 0;
}
