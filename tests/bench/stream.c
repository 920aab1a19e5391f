/*
 * stream.c - see stream.h. Threads as the options say; they block on one mutex, and where they are paced.
 */
#include <stdlib.h>
#include <unistd.h>

#include "tests/bench/stream_impl.h"

#define NODES_MAX 4096
#define BATCH_CELLS 32u /* that CUPTI's records are claimed by */
#define LEAD_NS UINT64_C(500000000) /* of one process before the slowest */

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* One more piece; false: all is made. */
static bool make_piece(struct stream *s, struct piece *p, const struct maker *m)
{
	const struct stream_options *o = s->options;
	bool is_more;

	p->call_count = p->activity_count = p->link_count = 0;
	pthread_mutex_lock(&s->mutex);
	is_more = s->left > 0;
	if (is_more) {
		stream_fill(s, p, m);
		wt_store_relaxed(&o->shared->clock_ns[o->process],
		                 s->left ? s->clock_ns - o->begin_ns : UINT64_MAX);
	}
	pthread_mutex_unlock(&s->mutex);
	return is_more;
}

/* ---- to the rings */

static uint64_t room(const struct wt_ring *ring)
{
	return ring->mask + 1 - (wt_ring_tail(ring) - wt_load_acquire(ring->head));
}

/* Has every thread room for a piece, and is nobody far behind? */
static bool may_go_on(struct stream *s)
{
	const struct stream_options *o = s->options;
	uint64_t own = wt_load_relaxed(&o->shared->clock_ns[o->process]);

	if (room(&s->synth.ring[WT_RING_CALLS]) < (uint64_t)PIECE_CALLS * o->threads ||
	    room(&s->synth.ring[WT_RING_ACTIVITY]) <
	            (uint64_t)(PIECE_ACTIVITIES + o->nodes) * o->threads)
		return false;
	for (unsigned i = 0; i < o->processes; i++)
		if (own != UINT64_MAX && own > LEAD_NS &&
		    wt_load_relaxed(&o->shared->clock_ns[i]) < own - LEAD_NS)
			return false;
	return true;
}

static void count_refused(struct stream *s, const struct wt_cell *cells, unsigned count)
{
	struct wt_producer *producer = s->synth.producer;
	struct stream_counts *c = s->counts;

	for (unsigned i = 0; i < count; i++) {
		uint64_t n = cells[i].count;

		switch (cells[i].kind) {
		case WT_KIND_LAUNCH:
			wt_add_relaxed(&producer->launch_dropped, n);
			wt_add_relaxed(&c->launches_refused, n);
			break;
		case WT_KIND_CALL:
			wt_add_relaxed(&producer->call_dropped, n);
			wt_add_relaxed(&c->calls_refused, n);
			break;
		case WT_KIND_KERNEL:
			wt_add_relaxed(&producer->kernels_dropped_ring, n);
			wt_add_relaxed(&c->kernels_refused, n);
			break;
		case WT_KIND_LINK:
			wt_add_relaxed(&producer->links_dropped_ring, n);
			wt_add_relaxed(&c->links_refused, n);
			break;
		default:
			wt_add_relaxed(&producer->other_dropped_ring, n);
			wt_add_relaxed(&c->others_refused, n);
		}
	}
}

static void put(struct stream *s, enum wt_ring_index index, const struct wt_cell *cells,
                unsigned count)
{
	const struct wt_ring *ring = &s->synth.ring[index];
	uint64_t pos;

	if (wt_ring_reserve(ring, count, &pos)) {
		count_refused(s, cells, count);
		return;
	}
	for (unsigned i = 0; i < count; i++)
		wt_ring_commit(ring, pos + i, cells[i].kind, cells[i].count, cells[i].payload,
		               cells[i].length);
}

/* Calls one by one, as hooks do; links four to a cell, then the rest in batches, as CUPTI's records come. */
static void write_piece(struct stream *s, const struct piece *p)
{
	for (unsigned i = 0; i < p->call_count; i++)
		put(s, WT_RING_CALLS, &p->calls[i], 1);
	for (unsigned i = 0; i < p->link_count; i += WT_LINKS_PER_CELL) {
		unsigned some = p->link_count - i < WT_LINKS_PER_CELL ? p->link_count - i
		                                                      : WT_LINKS_PER_CELL;
		struct wt_cell cell = {.kind = WT_KIND_LINK,
		                       .count = (uint16_t)some,
		                       .length = some * (uint32_t)sizeof(struct wt_link)};

		memcpy(cell.payload, &p->links[i], cell.length);
		wt_add_relaxed(&s->synth.producer->links_seen, some);
		put(s, WT_RING_ACTIVITY, &cell, 1);
	}
	for (unsigned i = 0; i < p->activity_count; i++)
		if (p->activities[i].kind == WT_KIND_KERNEL)
			wt_add_relaxed(&s->synth.producer->kernels_seen, 1);
	for (unsigned i = 0; i < p->activity_count; i += BATCH_CELLS) {
		unsigned some = p->activity_count - i;

		put(s, WT_RING_ACTIVITY, &p->activities[i],
		    some < BATCH_CELLS ? some : BATCH_CELLS);
	}
}

struct thread {
	pthread_t id;
	struct stream *stream;
	unsigned number;
};

static struct maker maker_of(unsigned number)
{
	return (struct maker){.thread32 = 0x7000 + 0x1000 * number,
	                      .tid = (uint32_t)getpid() + number};
}

static void *run_thread(void *arg)
{
	const struct thread *thread = arg;
	struct stream *s = thread->stream;
	struct maker m = maker_of(thread->number);
	struct piece *p = calloc(1, sizeof(*p));

	if (p)
		p->activities =
		        calloc(PIECE_ACTIVITIES + s->options->nodes, sizeof(*p->activities));
	if (!p || !p->activities)
		abort();
	for (unsigned i = 0;; i++) {
		while (s->options->is_paced && !may_go_on(s))
			usleep(500);
		if (s->options->hands)
			m = maker_of(i % s->options->hands);
		if (!make_piece(s, p, &m))
			break;
		write_piece(s, p);
	}
	free(p->activities);
	free(p);
	return NULL;
}

/* ---- a process */

/* A device each, and ranks of one job, if there are several. */
static int begin(struct stream *s)
{
	const struct stream_options *o = s->options;
	struct synth_options options = {
	        .run_key = "bench", .record_dir = o->record_dir, .is_unmade = true};
	struct wt_segment_header *h;
	int err;

	/* What libwavetap.so makes of its 14 MiB. */
	options.cells[WT_RING_CALLS] = o->cells[WT_RING_CALLS] ? o->cells[WT_RING_CALLS] : 32768;
	options.cells[WT_RING_ACTIVITY] =
	        o->cells[WT_RING_ACTIVITY] ? o->cells[WT_RING_ACTIVITY] : 65536;
	err = synth_create(&s->synth, &options);
	if (err)
		return err;
	h = s->synth.header;
	h->created_realtime_ns = o->begin_ns - 2000000;
	h->created_monotonic_ns = h->created_realtime_ns - 1000000007;
	if (o->processes > 1) {
		h->rank = h->local_rank = (int32_t)o->process;
		h->world_size = (int32_t)o->processes;
	}
	s->synth.producer->device[0].uuid[15] = (uint8_t)o->process;
	wt_store_relaxed(&s->synth.producer->armed_ns, o->begin_ns - 1000000);
	stream_prepare(s);
	s->left = o->launches;
	pthread_mutex_init(&s->mutex, NULL);
	wt_store_release(&h->magic, WT_SEGMENT_MAGIC);
	return 0;
}

static void end(struct stream *s)
{
	struct piece p = {.activities = (struct wt_cell[2]){{0}}};

	s->clock_ns = later(s->clock_ns, later(s->tail_ns[0], s->tail_ns[1])) + 100000;
	stream_add_clock(s, &p);
	while (s->options->is_paced && room(&s->synth.ring[WT_RING_ACTIVITY]) < 2)
		usleep(500);
	write_piece(s, &p);
	wt_store_release(&s->synth.producer->finished_ns, later(s->clock_ns, synth_now_ns()));
}

_Noreturn void stream_process(const struct stream_options *options)
{
	static struct thread threads[STREAM_THREADS_MAX];
	static struct stream s;

	s.options = options;
	s.counts = &options->shared->counts[options->process];
	if (options->nodes > NODES_MAX || options->threads > STREAM_THREADS_MAX ||
	    options->process >= STREAM_PROCESSES_MAX || begin(&s)) {
		wt_store_relaxed(&options->shared->clock_ns[options->process], UINT64_MAX);
		wt_add_relaxed(&options->shared->failed, 1);
		_exit(1);
	}
	for (unsigned i = 0; i < options->threads; i++) {
		threads[i].stream = &s;
		threads[i].number = i;
		if (pthread_create(&threads[i].id, NULL, run_thread, &threads[i]))
			abort();
	}
	for (unsigned i = 0; i < options->threads; i++)
		pthread_join(threads[i].id, NULL);
	end(&s);
	_exit(0);
}
