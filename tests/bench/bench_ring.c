/*
 * bench_ring.c - what a record costs its producer: CPU time of threads that put records into one ring (the
 * calls' ring of a process, 4 MiB) while a consumer takes them out, and looks at each.
 *
 * CPU time, since with more threads than processors the rest is waiting for a turn. Two ways: with waits for
 * room between the batches that are timed, where nothing may be refused; and flat out, where the ring refuses
 * what it must and counts it. In both what came and what was refused have to be all there were, each once,
 * whole, and in the order of its thread. Producers as said, and a consumer.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/bench.h"

#define CELLS 32768u
#define BATCH 1024u
#define THREADS_MAX 8
#define GOAL_NS 70

struct ring_bench {
	struct wt_ring_control *control;
	_Atomic uint64_t head;
	struct wt_ring ring;
	_Atomic uint64_t running, refused;
	uint64_t batches;
	bool is_paced;
	/* by the consumer */
	uint64_t next[THREADS_MAX], seen, bad;
};

struct producer {
	pthread_t id;
	struct ring_bench *r;
	uint64_t number;
	double *batch_ns;
};

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint64_t check_of(uint64_t thread, uint64_t number)
{
	return (thread + 1) * 1000003 ^ number * 0x9e3779b97f4a7c15u;
}

static bool has_room(struct ring_bench *r)
{
	return r->ring.mask + 1 - (wt_ring_tail(&r->ring) - wt_load_acquire(&r->head)) >= CELLS / 2;
}

static void *produce(void *arg)
{
	struct producer *p = arg;
	struct ring_bench *r = p->r;
	struct wt_launch record = {.grid = {1000, 1, 1}, .block = {256, 1, 1}, .api = 1};

	record.thread32 = (uint32_t)p->number;
	for (uint64_t b = 0; b < r->batches; b++) {
		double begun_ns;
		uint64_t refused = 0;

		while (r->is_paced && !has_room(r))
			usleep(50);
		begun_ns = cpu_ns();
		for (uint64_t i = 0; i < BATCH; i++) {
			record.seq = b * BATCH + i;
			record.function = check_of(p->number, record.seq);
			refused += wt_ring_put(&r->ring, WT_KIND_LAUNCH, 1, &record,
			                       sizeof(record)) != 0;
		}
		p->batch_ns[b] = (cpu_ns() - begun_ns) / BATCH;
		atomic_fetch_add(&r->refused, refused);
	}
	atomic_fetch_sub(&r->running, 1);
	return NULL;
}

static void take(struct ring_bench *r, const struct wt_cell *cell)
{
	struct wt_launch got;

	memcpy(&got, cell->payload, sizeof(got));
	if (got.thread32 >= THREADS_MAX || got.function != check_of(got.thread32, got.seq) ||
	    got.seq < r->next[got.thread32])
		r->bad++;
	else
		r->next[got.thread32] = got.seq + 1;
	r->seen++;
}

static void *consume(void *arg)
{
	struct ring_bench *r = arg;
	uint64_t pos = 0;

	for (;;) {
		bool is_last = atomic_load(&r->running) == 0; /* first: then the tail is final */
		uint64_t tail = wt_ring_tail(&r->ring), from = pos;
		struct wt_cell cell;

		while (pos < tail && pos - from < BATCH && !wt_ring_peek(&r->ring, pos, &cell)) {
			take(r, &cell);
			pos++;
		}
		wt_ring_release(&r->ring, pos);
		if (is_last && pos == tail)
			return NULL;
		if (pos == from)
			sched_yield();
	}
}

/* Median ns of a record; NAN: out of memory. */
static double run(struct bench *b, unsigned threads, bool is_paced, uint64_t batches,
                  double *ret_refused_share)
{
	struct ring_bench *r = calloc(1, sizeof(*r));
	struct wt_cell *cells = aligned_alloc(4096, CELLS * sizeof(*cells));
	struct wt_ring_control *control = aligned_alloc(128, sizeof(*control));
	double *batch_ns = calloc(threads * batches, sizeof(*batch_ns)), median;
	struct producer producers[THREADS_MAX];
	pthread_t consumer;
	uint64_t all = threads * batches * BATCH;

	if (!r || !cells || !control || !batch_ns)
		abort();
	memset(cells, 0, CELLS * sizeof(*cells));
	memset(control, 0, sizeof(*control));
	r->control = control;
	r->ring = (struct wt_ring){control, &r->head, cells, CELLS - 1};
	r->running = threads;
	r->batches = batches;
	r->is_paced = is_paced;
	pthread_create(&consumer, NULL, consume, r);
	for (unsigned i = 0; i < threads; i++) {
		producers[i] =
		        (struct producer){.r = r, .number = i, .batch_ns = batch_ns + i * batches};
		pthread_create(&producers[i].id, NULL, produce, &producers[i]);
	}
	for (unsigned i = 0; i < threads; i++)
		pthread_join(producers[i].id, NULL);
	pthread_join(consumer, NULL);
	if (r->bad || r->seen + r->refused != all ||
	    control->dropped_full + control->dropped_busy != r->refused ||
	    (is_paced && control->dropped_full))
		bench_fail(b, "ring, %u threads: %llu records, %llu came, %llu refused, %llu bad",
		           threads, (unsigned long long)all, (unsigned long long)r->seen,
		           (unsigned long long)r->refused, (unsigned long long)r->bad);
	*ret_refused_share = 100 * (double)r->refused / (double)all;
	median = bench_quantile(batch_ns, threads * batches, 0.5);
	free(r);
	free(cells);
	free(control);
	free(batch_ns);
	return median;
}

void bench_ring(struct bench *b)
{
	uint64_t records = b->size == BENCH_SMOKE ? UINT64_C(1) << 14 : UINT64_C(1) << 20;

	for (unsigned round = 0; round < b->rounds; round++) {
		for (unsigned threads = 1; threads <= THREADS_MAX; threads *= 2) {
			uint64_t batches = records / BATCH / threads;
			struct bench_row *row = bench_row(b, "ring", "ns", "%u thread%s", threads,
			                                  threads > 1 ? "s" : "");
			double refused;

			bench_goal(row, BENCH_AT_MOST, GOAL_NS);
			bench_add(row, 0, run(b, threads, true, batches, &refused));
			run(b, threads, false, batches, &refused);
			if (threads == 1 || threads == THREADS_MAX)
				bench_add(bench_row(b, "ring", "%", "%u thread%s, refused", threads,
				                    threads > 1 ? "s" : ""),
				          0, refused);
		}
	}
	bench_note(
	        b,
	        "ring: CPU time to put a record, beside a consumer; what is refused at full rate. "
	        "What came and what was refused is all there was, each once, whole, in order.");
}
