/*
 * test_ring_threads.c - four producers (one in batches) and a consumer, through a small ring:
 * every record comes once, whole, in the order of its thread; refused ones are counted.
 * Meant for ThreadSanitizer too.
 */
#include <pthread.h>
#include <sched.h>

#include "schema/wt_ring.h"
#include "tests/tap.h"

#define CELLS 256
#define THREADS 4
#define RECORDS 20000
#define BATCH 8

struct record {
	uint64_t thread, number, check[12];
};

static struct wt_ring_control control;
static _Atomic uint64_t head;
static struct wt_cell cells[CELLS];
static const struct wt_ring ring = {&control, &head, cells, CELLS - 1};
static _Atomic uint64_t refused, running = THREADS;

static struct record make(uint64_t thread, uint64_t number)
{
	struct record record = {.thread = thread, .number = number};

	for (int i = 0; i < 12; i++)
		record.check[i] = thread * 1000003 + number * 31 + (uint64_t)i;
	return record;
}

static void *produce(void *arg)
{
	uint64_t thread = (uint64_t)(uintptr_t)arg, batch = thread == 0 ? BATCH : 1, pos;

	for (uint64_t n = 0; n < RECORDS; n += batch) {
		if (wt_ring_reserve(&ring, (uint32_t)batch, &pos)) {
			atomic_fetch_add(&refused, batch);
			sched_yield();
			continue;
		}
		for (uint64_t i = 0; i < batch; i++) {
			struct record record = make(thread, n + i);

			wt_ring_commit(&ring, pos + i, 1, 1, &record, sizeof(record));
		}
	}
	atomic_fetch_sub(&running, 1);
	return NULL;
}

int main(void)
{
	uint64_t next[THREADS] = {0}, pos = 0, seen = 0;
	bool is_whole = true, is_ordered = true;
	pthread_t threads[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, produce, (void *)i);
	for (;;) {
		bool is_last = atomic_load(&running) == 0; /* first: then the tail is final */
		uint64_t tail = wt_ring_tail(&ring);
		struct wt_cell cell;

		while (pos < tail && wt_ring_peek(&ring, pos, &cell) == 0) {
			struct record got, want;

			memcpy(&got, cell.payload, sizeof(got));
			want = make(got.thread, got.number);
			is_whole = is_whole && got.thread < THREADS &&
			           !memcmp(&got, &want, sizeof(got));
			if (got.thread < THREADS) {
				is_ordered = is_ordered && got.number >= next[got.thread];
				next[got.thread] = got.number + 1;
			}
			seen++;
			pos++;
		}
		wt_ring_release(&ring, pos);
		if (is_last && pos == tail)
			break;
		sched_yield();
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	ok(is_whole, "every record is whole");
	ok(is_ordered, "records of a thread keep their order");
	is_i64(seen + atomic_load(&refused), THREADS * RECORDS, "delivered + refused = all");
	is_i64(control.dropped_full + control.dropped_busy, atomic_load(&refused),
	       "the ring counted what it refused");
	is_i64(wt_ring_tail(&ring), seen, "nothing was claimed beyond");
	printf("# %llu refused\n", (unsigned long long)atomic_load(&refused));
	return tap_done();
}
