/*
 * random_run.c - see random_run.h. Single-threaded.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/random_run.h"

#define BEGIN_NS INT64_C(1000000000)

struct thread {
	int process;
	int64_t now_ns;
};

struct maker {
	struct random_run *run;
	uint64_t random;
	struct thread threads[RR_THREADS_MAX];
	int64_t launches[RR_PROCESSES_MAX], graphs[RR_PROCESSES_MAX];
	int launch_count;
	int stretch; /* how long host and device take, 0 .. 3 */
};

uint64_t rr_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* least .. most, all alike. */
static int64_t between(struct maker *m, int64_t least, int64_t most)
{
	return least + (int64_t)(rr_random(&m->random) % (uint64_t)(most - least + 1));
}

static bool one_in(struct maker *m, int n)
{
	return between(m, 1, n) == 1;
}

/* Short more often than long. */
static int64_t span_ns(struct maker *m, int64_t least, int64_t most)
{
	int64_t high = least;

	while (high < most && !one_in(m, 3))
		high = 2 * high + 1;
	return between(m, least, high > most ? most : high);
}

/* The next element of an array that doubles where its count is a power of two. */
static void *append(void *array_at, size_t *count, size_t element_bytes)
{
	void **array = array_at;

	if ((*count & (*count - 1)) == 0) {
		*array = realloc(*array, (*count ? 2 * *count : 1) * element_bytes);
		if (!*array)
			abort();
	}
	memset((char *)*array + *count * element_bytes, 0, element_bytes);
	return (char *)*array + (*count)++ * element_bytes;
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* ---- calls: each advances its thread */

static struct rr_call *call(struct maker *m, int thread, enum rr_call_kind kind, int64_t took_ns)
{
	struct rr_call *c = append(&m->run->calls, &m->run->call_count, sizeof(*c));

	*c = (struct rr_call){.kind = kind,
	                      .process = m->threads[thread].process,
	                      .thread = thread,
	                      .entry_ns = m->threads[thread].now_ns,
	                      .return_ns = m->threads[thread].now_ns + took_ns};
	m->threads[thread].now_ns = c->return_ns;
	return c;
}

static struct rr_call *wait_call(struct maker *m, int thread, enum rr_call_kind kind,
                                 int64_t until_ns)
{
	int64_t now_ns = m->threads[thread].now_ns;

	return call(m, thread, kind, later(until_ns - now_ns, 0) + between(m, 300, 3000));
}

static struct rr_call *launch_call(struct maker *m, struct rr_stream *s, enum rr_call_kind kind)
{
	struct rr_call *c = call(m, s->thread, kind, span_ns(m, 300, 20000));
	int64_t *seq = kind == RR_CALL_GRAPH ? m->graphs : m->launches;

	c->stream = s->handle;
	c->seq = seq[s->process]++;
	c->launch = ++m->launch_count;
	c->was_told = s->was_told;
	c->is_lost = m->run->has_losses && one_in(m, 6);
	return c;
}

/* A kernel of the last call that starts then; it runs for some time. */
static struct rr_kernel *run_kernel(struct maker *m, const struct rr_stream *s, int64_t start_ns,
                                    enum account_wait wait)
{
	const struct rr_call *c = &m->run->calls[m->run->call_count - 1];
	int sms = m->run->sms[s->device];
	int64_t duration_ns = span_ns(m, 200, 30000 << m->stretch);
	struct rr_kernel *k =
	        append(&m->run->kernels, &m->run->kernel_count, sizeof(*m->run->kernels));

	k->device = s->device;
	k->call = m->run->call_count - 1;
	k->is_node = c->kind == RR_CALL_GRAPH;
	k->is_lost = c->is_lost;
	k->order = rr_random(&m->random) >> 1;
	k->blocks = between(m, 1, 3 * sms);
	k->resident_blocks = one_in(m, 8) ? 0 : between(m, 1, 4) * sms;
	k->a = (struct account_kernel){.name = (int)between(m, 0, RR_NAMES - 1),
	                               .process = s->process,
	                               .thread = s->thread,
	                               .launch = c->launch,
	                               .start_ns = start_ns,
	                               .end_ns = start_ns + duration_ns,
	                               .entry_ns = c->entry_ns,
	                               .return_ns = c->return_ns,
	                               .wait = wait,
	                               .has_call = true,
	                               .is_judged = !one_in(m, 8)};
	k->a.is_collective = k->a.name >= RR_NAMES - 2;
	k->a.sms = (uint32_t)(k->blocks < sms ? k->blocks : sms);
	k->a.blocks = (uint32_t)k->blocks;
	k->a.blocks_per_sm = (uint32_t)(k->resident_blocks / sms);
	if (k->a.is_judged) {
		k->a.wave_max_sm_ns = between(m, 0, duration_ns * k->a.sms);
		k->a.wave_sm_ns = between(m, 0, k->a.wave_max_sm_ns);
	}
	return k;
}

/* When the next work of a stream can start, and what it is that comes last. */
static int64_t next_start(struct maker *m, const struct rr_stream *s, bool is_programmatic,
                          enum account_wait *ret_wait)
{
	const struct rr_call *c = &m->run->calls[m->run->call_count - 1];
	int64_t start_ns = c->entry_ns + span_ns(m, 1200, 12000);
	int64_t stream_ns = s->tail_ns + between(m, 0, 2000) - (is_programmatic ? 3000 : 0);

	*ret_wait = ACCOUNT_WAIT_LATENCY;
	if (s->tail_ns && stream_ns > start_ns) {
		start_ns = stream_ns;
		*ret_wait = ACCOUNT_WAIT_STREAM;
	}
	if (s->held_until_ns > start_ns) {
		start_ns = s->held_until_ns;
		*ret_wait = ACCOUNT_WAIT_DEPENDENCY;
	}
	return later(start_ns, s->last_start_ns + 1);
}

static void stream_took(struct rr_stream *s, int64_t start_ns, int64_t end_ns)
{
	s->tail_ns = later(s->tail_ns, end_ns);
	s->last_start_ns = start_ns;
	s->was_told = false;
}

static void launch(struct maker *m, struct rr_stream *s)
{
	enum account_wait wait;
	struct rr_kernel *k;
	int64_t start_ns;

	launch_call(m, s, RR_CALL_LAUNCH);
	start_ns = next_start(m, s, one_in(m, 6), &wait);
	k = run_kernel(m, s, start_ns, wait);
	stream_took(s, k->a.start_ns, k->a.end_ns);
}

/* Nodes in a row, each after the one before it or beside it. */
static void graph_launch(struct maker *m, struct rr_stream *s)
{
	int nodes = (int)between(m, 1, 6);
	enum account_wait wait;
	int64_t start_ns, end_ns = 0, first_ns;

	launch_call(m, s, RR_CALL_GRAPH);
	first_ns = start_ns = next_start(m, s, false, &wait);
	for (int i = 0; i < nodes; i++) {
		struct rr_kernel *k = run_kernel(m, s, start_ns, wait);

		end_ns = later(end_ns, k->a.end_ns);
		if (!one_in(m, 3)) {
			start_ns = k->a.end_ns + between(m, 1, 1500);
			wait = ACCOUNT_WAIT_NODE;
		}
	}
	stream_took(s, first_ns, end_ns);
}

static void copy(struct maker *m, struct rr_stream *s)
{
	struct rr_copy *c = append(&m->run->copies, &m->run->copy_count, sizeof(*c));
	bool is_blocking = one_in(m, 2);
	int64_t now_ns = m->threads[s->thread].now_ns;

	c->process = s->process;
	c->device = s->device;
	c->start_ns = later(later(now_ns + span_ns(m, 500, 5000), s->tail_ns), s->held_until_ns);
	c->end_ns = c->start_ns + span_ns(m, 300, 50000);
	s->tail_ns = c->end_ns;
	if (is_blocking)
		wait_call(m, s->thread, RR_CALL_SYNC_COPY, c->end_ns);
	else
		m->threads[s->thread].now_ns +=
		        span_ns(m, 300, 3000); /* not a call that is hooked */
}

/* A wait for another stream's work, or a host function in this one. */
static void depend(struct maker *m, struct rr_stream *s)
{
	const struct rr_stream *other = &m->run->streams[between(m, 0, m->run->stream_count - 1)];
	struct rr_call *c = call(m, s->thread, RR_CALL_DEPEND, span_ns(m, 200, 2000));
	int64_t until_ns = other->tail_ns;

	if (one_in(m, 3) || other->process != s->process)
		until_ns = later(s->tail_ns, c->entry_ns) + span_ns(m, 100, 50000);
	c->stream = s->handle;
	s->held_until_ns = later(s->held_until_ns, until_ns);
	s->was_told = true;
}

/* All work of a process on a device. */
static int64_t context_tail_ns(const struct maker *m, int process, int device)
{
	int64_t tail_ns = 0;

	for (int i = 0; i < m->run->stream_count; i++)
		if (m->run->streams[i].process == process && m->run->streams[i].device == device)
			tail_ns = later(tail_ns, m->run->streams[i].tail_ns);
	return tail_ns;
}

static void overhead(struct maker *m, int thread)
{
	static const int types[] = {1, 4 << 16, 5 << 16, 1 << 16, 2 << 16, 3 << 16, 7 << 16};
	struct rr_overhead *o = append(&m->run->overheads, &m->run->overhead_count, sizeof(*o));

	o->process = m->threads[thread].process;
	o->thread = thread;
	o->type = types[between(m, 0, 6)];
	o->start_ns = m->threads[thread].now_ns;
	o->end_ns = o->start_ns + span_ns(m, 100, 8000);
	if (one_in(m, 2)) /* else beside what the thread does next */
		m->threads[thread].now_ns = o->end_ns;
}

static void step(struct maker *m, int thread)
{
	struct rr_stream *s = NULL;

	while (!s || s->thread != thread)
		s = &m->run->streams[between(m, 0, m->run->stream_count - 1)];
	switch (between(m, 0, 15)) {
	case 0:
		m->threads[thread].now_ns += span_ns(m, 100, 100000 << m->stretch);
		break;
	case 1:
		wait_call(m, thread, RR_CALL_SYNC_STREAM, later(s->tail_ns, s->held_until_ns))
		        ->stream = s->handle;
		break;
	case 2:
		wait_call(m, thread, RR_CALL_SYNC_CONTEXT,
		          context_tail_ns(m, s->process, s->device));
		break;
	case 3:
		call(m, thread, one_in(m, 3) ? RR_CALL_BUILD : RR_CALL_ALLOC,
		     span_ns(m, 200, 30000));
		break;
	case 4:
		if (one_in(m, 3))
			call(m, thread, RR_CALL_MODULE, span_ns(m, 500, 60000));
		break;
	case 5:
		copy(m, s);
		break;
	case 6:
	case 7:
		depend(m, s);
		break;
	case 8:
	case 9:
		graph_launch(m, s);
		break;
	case 10:
		if (one_in(m, 2))
			overhead(m, thread);
		break;
	default:
		launch(m, s);
	}
	m->threads[thread].now_ns += span_ns(m, 1, 3000);
}

static void set_up(struct maker *m)
{
	struct random_run *run = m->run;

	run->process_count = (int)between(m, 1, RR_PROCESSES_MAX);
	run->thread_count = (int)between(m, run->process_count, RR_THREADS_MAX);
	run->stream_count = (int)between(m, run->thread_count, RR_STREAMS_MAX);
	run->device_count = (int)between(m, 1, RR_DEVICES_MAX);
	run->has_losses = one_in(m, 5);
	run->clock_error_ns = one_in(m, 3) ? between(m, 1000, 5000) : 1000;
	/* No kernel may seem to start before its call, or the error is taken as larger. */
	run->clock_shift_ns = between(m, -run->clock_error_ns, 1000);
	m->stretch = (int)between(m, 0, 3);
	for (int i = 0; i < run->device_count; i++)
		run->sms[i] = (int)between(m, 1, 24);
	for (int i = 0; i < run->thread_count; i++) {
		m->threads[i].process = i % run->process_count;
		m->threads[i].now_ns = BEGIN_NS + span_ns(m, 1, 200000);
	}
	for (int i = 0; i < run->process_count; i++)
		run->armed_ns[i] = BEGIN_NS - 100000;
	for (int i = 0; i < run->stream_count; i++) {
		struct rr_stream *s = &m->run->streams[i];

		s->thread = i % run->thread_count;
		s->process = m->threads[s->thread].process;
		s->device = (int)between(m, 0, run->device_count - 1);
		s->handle = (uint64_t)(i + 1) << 12;
	}
}

static int by_start(const void *left, const void *right)
{
	const struct rr_kernel *a = left, *b = right;

	if (a->a.start_ns != b->a.start_ns)
		return a->a.start_ns < b->a.start_ns ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* What a stream was told to wait for holds the first kernel of the next launch. */
static void tell_first(struct random_run *run)
{
	qsort(run->kernels, run->kernel_count, sizeof(*run->kernels), by_start);
	for (size_t i = 0; i < run->kernel_count; i++) {
		struct rr_call *c = &run->calls[run->kernels[i].call];

		run->kernels[i].a.has_dependency = c->was_told;
		c->was_told = false;
	}
}

void random_run_make(struct random_run *run, uint64_t seed)
{
	struct maker *m = calloc(1, sizeof(*m));
	int steps;

	if (!m)
		abort();
	memset(run, 0, sizeof(*run));
	m->run = run;
	m->random = seed * 0x9e3779b97f4a7c15u + 1;
	set_up(m);
	steps = (int)span_ns(m, 4, 120);
	for (int i = 0; i < steps; i++) {
		int first = 0;

		for (int k = 1; k < run->thread_count; k++)
			if (m->threads[k].now_ns < m->threads[first].now_ns)
				first = k;
		step(m, first);
	}
	if (run->kernel_count)
		tell_first(run);
	free(m);
}

void random_run_fini(struct random_run *run)
{
	free(run->calls);
	free(run->kernels);
	free(run->copies);
	free(run->overheads);
	memset(run, 0, sizeof(*run));
}
