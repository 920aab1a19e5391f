/*
 * test_ring.c - the ring, one thread: order, full, batches, laps, holes, losses.
 */
#include "schema/wt_ring.h"
#include "tests/tap.h"

#define CELLS 16

static struct wt_ring_control control;
static _Atomic uint64_t head;
static struct wt_cell cells[CELLS];
static const struct wt_ring ring = {&control, &head, cells, CELLS - 1};

static void reset(void)
{
	memset(&control, 0, sizeof(control));
	memset(cells, 0, sizeof(cells));
	head = 0;
}

static int put(uint64_t value)
{
	return wt_ring_put(&ring, 1, 1, &value, sizeof(value));
}

/* The value at a position, or -1 if it is not whole. */
static int64_t peek(uint64_t pos)
{
	struct wt_cell cell;
	int64_t value;

	if (wt_ring_peek(&ring, pos, &cell))
		return -1;
	memcpy(&value, cell.payload, sizeof(value));
	return value;
}

static void test_fill(void)
{
	uint64_t pos;

	reset();
	for (uint64_t i = 0; i < CELLS; i++)
		put(100 + i);
	is_i64(put(1), -ENOBUFS, "a full ring refuses");
	is_i64(control.dropped_full, 1, "and counts");
	is_i64(wt_ring_reserve(&ring, 3, &pos), -ENOBUFS, "a batch too");
	is_i64(control.dropped_full, 4, "with all of its records");
	is_i64(peek(0), 100, "the oldest record is untouched");
	wt_ring_release(&ring, 2);
	is_i64(put(200), 0, "room after a release");
	is_i64(wt_ring_reserve(&ring, 2, &pos), -ENOBUFS, "one cell is no room for two");
	is_i64(put(201), 0, "but for one");
	is_i64(put(202), -ENOBUFS, "then it is full again");
	is_i64(wt_ring_tail(&ring), CELLS + 2, "tail counts what was claimed");
	is_i64(peek(CELLS), 200, "second lap, first cell");
	is_i64(peek(0), -1, "the record that was there is gone");
}

static void test_hole(void)
{
	uint64_t hole, value = 7;
	bool is_good = true;

	reset();
	put(1);
	wt_ring_reserve(&ring, 1, &hole);
	for (uint64_t i = 2; i < CELLS; i++)
		put(i);
	is_i64(peek(hole), -1, "a claimed cell is not whole");
	for (uint64_t i = 2; i < CELLS; i++)
		is_good = is_good && peek(i) == (int64_t)i;
	ok(is_good, "those behind it are");
	wt_ring_commit(&ring, hole, 1, 1, &value, sizeof(value));
	is_i64(peek(hole), 7, "until it is committed");
}

/* A second lap with two holes: the stamps of the first lap must not pass for whole cells. */
static void test_stale_lap(void)
{
	uint64_t hole[2], delivered = 0;

	reset();
	for (uint64_t i = 0; i < CELLS; i++)
		put(i);
	wt_ring_release(&ring, CELLS);
	for (uint64_t i = 0; i < CELLS; i++) {
		if (i == 3 || i == 9)
			wt_ring_reserve(&ring, 1, &hole[i == 9]);
		else
			put(1000 + i);
	}
	for (uint64_t pos = CELLS; pos < 2 * CELLS; pos++)
		delivered += peek(pos) == (int64_t)(1000 + pos - CELLS);
	is_i64(delivered, CELLS - 2, "all but the holes are delivered");
	is_i64(peek(hole[0]), -1, "a stamp of the lap before is none");
	is_i64(peek(hole[1]), -1, "twice");
	is_i64(put(1), -ENOBUFS, "full, with the holes");
}

static void test_batch(void)
{
	uint64_t pos, value = 5;

	reset();
	is_i64(wt_ring_reserve(&ring, 4, &pos), 0, "a batch of four");
	wt_ring_commit(&ring, pos + 2, 9, 3, &value, sizeof(value));
	is_i64(peek(pos), -1, "committed one by one");
	is_i64(peek(pos + 2), 5, "in any order");
	is_i64(cells[2].kind, 9, "kind");
	is_i64(cells[2].count, 3, "count");
	is_i64(cells[2].length, 8, "length");
	is_i64(wt_ring_reserve(&ring, CELLS, &pos), -ENOBUFS, "not more than there are free");
	reset();
	is_i64(wt_ring_reserve(&ring, CELLS, &pos), 0, "but all of an empty ring");
}

/* A head seen long ago must not keep records out, nor let them in. */
static void test_head_cache(void)
{
	reset();
	for (uint64_t lap = 0; lap < 1000; lap++) {
		put(lap);
		wt_ring_release(&ring, lap + 1);
	}
	is_i64(control.dropped_full, 0, "nothing dropped in 1000 records through 16 cells");
	is_i64(wt_ring_tail(&ring), 1000, "all claimed");
}

int main(void)
{
	test_fill();
	test_hole();
	test_stale_lap();
	test_batch();
	test_head_cache();
	return tap_done();
}
