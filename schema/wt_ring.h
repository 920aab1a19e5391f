/*
 * wt_ring.h - the ring through which records leave the application.
 *
 * DESIGN
 *
 * A bounded queue of fixed 128-byte cells in shared memory: many producers (the
 * threads of one process), one consumer (the daemon). Producers never wait and
 * make no system call; the consumer may die and come back; the producing process
 * may be killed at any instruction.
 *
 *      head (consumer)                      tail (producers)
 *        v                                    v
 *   ...  | cell | cell | hole | cell | cell | free ...      index = pos & (count - 1)
 *          stamp  stamp    0    stamp  stamp
 *          =p+1   =p+2          =p+4   =p+5
 *
 * Positions are 64-bit, start at 0 and never wrap. A producer claims positions by
 * moving `tail` with compare-and-swap, copies its record, and stores the cell's
 * stamp = pos + 1. A stamp equal to pos + 1 means "the record at pos is whole";
 * zeroed memory and the stamp of an earlier lap can never equal it, so nobody
 * ever has to erase a cell. `head` is moved by the consumer alone, and only after
 * the records before it are durable.
 *
 * All producers of a ring live in one process, so they die together, and the
 * kernel says when (pidfd). A claimed but unstamped cell (a hole) under a living
 * process is waited for; under a dead one it is counted as torn and skipped.
 * That is the whole recovery: no owner ids, no time-outs, no locks.
 *
 * MEMORY ORDER (everything not named here is relaxed)
 *
 *   stamp   release in wt_ring_commit   -> acquire in wt_ring_peek:
 *           the payload is visible.
 *   head    release in wt_ring_release  -> acquire in wt_ring_reserve:
 *           the consumer has finished reading a cell before it is reused.
 *   head_cache release -> acquire, both in wt_ring_reserve: carries the latter to
 *           producers that did not read head themselves.
 *   tail    orders nothing.
 *
 * WHAT EACH DEATH LEAVES
 *
 *   producer before the CAS        nothing
 *   producer between CAS and stamp one unstamped cell (n for a batch): torn
 *   producer after the stamp       a whole record: delivered
 *   producer before counting a drop: the counter is short by one per thread at most
 *   consumer before its COMMIT     rolled back, read again by the next one
 *   consumer after COMMIT, before head: the stored cursor is ahead of head and wins
 *
 * The functions are inline and call nothing: on the launch path there is no other
 * memory access between claim and commit than the copy of the record.
 */
#ifndef WT_RING_H
#define WT_RING_H

#include <errno.h>
#include <string.h>

#include "schema/wt_atomic.h"
#include "schema/wt_testpoint.h"

#define WT_CELL_BYTES 128
#define WT_CELL_PAYLOAD_BYTES 112
#define WT_RING_RESERVE_TRIES 64 /* CAS attempts before a record is dropped as busy */

struct wt_cell {
	_Atomic uint64_t stamp; /* pos + 1 once the record is whole */
	uint16_t kind; /* enum wt_kind */
	uint16_t count; /* entries in the payload, for kinds that pack several; else 1 */
	uint32_t length; /* bytes of payload that carry meaning */
	uint8_t payload[WT_CELL_PAYLOAD_BYTES];
};
_Static_assert(sizeof(struct wt_cell) == WT_CELL_BYTES, "a cell is 128 bytes");

/* Producer side, in shared memory. Two 128-byte lines: claims and losses apart. */
struct wt_ring_control {
	_Alignas(128) _Atomic uint64_t tail; /* next position to claim; producers, CAS */
	_Atomic uint64_t head_cache; /* a head seen by some producer; producers */
	uint64_t reserved_0[14];
	_Alignas(128) _Atomic uint64_t dropped_full; /* records refused: the consumer is behind */
	_Atomic uint64_t dropped_busy; /* records refused: 64 lost CAS races */
	uint64_t reserved_1[14];
};
_Static_assert(sizeof(struct wt_ring_control) == 256, "a ring control block is 256 bytes");

/* One process's view of a ring: pointers into its own mapping, never shared. */
struct wt_ring {
	struct wt_ring_control *control; /* writable for producers only */
	_Atomic uint64_t *head; /* writable for the consumer only */
	struct wt_cell *cells;
	uint64_t mask; /* cell count - 1; the count is a power of two */
};

/*
 * Claims `n` consecutive cells (1 <= n <= cell count). Returns 0 and the first
 * position, or -ENOBUFS (full) or -EBUSY (contended): both are counted by n in
 * the ring itself. Any thread of the producing process; never blocks.
 */
static inline int wt_ring_reserve(const struct wt_ring *ring, uint32_t n, uint64_t *ret_pos)
{
	struct wt_ring_control *control = ring->control;
	uint64_t tail = wt_load_relaxed(&control->tail);

	for (int tries = 0; tries < WT_RING_RESERVE_TRIES; tries++) {
		uint64_t head = wt_load_acquire(&control->head_cache);

		if (tail + n - head > ring->mask + 1) {
			head = wt_load_acquire(ring->head);
			wt_store_release(&control->head_cache, head);
			if (tail + n - head > ring->mask + 1) {
				uint64_t tail_now = wt_load_relaxed(&control->tail);

				/* A stale tail looks like a full ring: look again first. */
				if (tail_now != tail) {
					tail = tail_now;
					continue;
				}
				wt_add_relaxed(&control->dropped_full, n);
				return -ENOBUFS;
			}
		}
		WT_TESTPOINT("ring-before-claim");
		if (wt_cas_relaxed(&control->tail, &tail, tail + n)) {
			WT_TESTPOINT("ring-claimed");
			*ret_pos = tail;
			return 0;
		}
	}
	wt_add_relaxed(&control->dropped_busy, n);
	return -EBUSY;
}

/* The cell of a position. */
static inline struct wt_cell *wt_ring_cell(const struct wt_ring *ring, uint64_t pos)
{
	return &ring->cells[pos & ring->mask];
}

/*
 * Fills the claimed cell at `pos` and makes it visible. `length` must not exceed
 * WT_CELL_PAYLOAD_BYTES; the record is copied from the caller's stack.
 */
static inline void wt_ring_commit(const struct wt_ring *ring, uint64_t pos, uint16_t kind,
                                  uint16_t count, const void *payload, uint32_t length)
{
	struct wt_cell *cell = wt_ring_cell(ring, pos);

	cell->kind = kind;
	cell->count = count;
	cell->length = length;
	memcpy(cell->payload, payload, length);
	WT_TESTPOINT("ring-copied");
	wt_store_release(&cell->stamp, pos + 1); /* partner: wt_ring_peek */
	WT_TESTPOINT("ring-committed");
}

/* Claim, fill and commit one record. 0, -ENOBUFS or -EBUSY (counted). */
static inline int wt_ring_put(const struct wt_ring *ring, uint16_t kind, uint16_t count,
                              const void *payload, uint32_t length)
{
	uint64_t pos;
	int err = wt_ring_reserve(ring, 1, &pos);

	if (err)
		return err;
	wt_ring_commit(ring, pos, kind, count, payload, length);
	return 0;
}

/*
 * Consumer: the number of claimed positions. Read it after the producer's death
 * was polled for, never before: then "dead" and "tail" describe the same moment.
 */
static inline uint64_t wt_ring_tail(const struct wt_ring *ring)
{
	return wt_load_acquire(&ring->control->tail);
}

/*
 * Consumer: copies the record at `pos` (below tail) into *ret_cell. Returns 0, or
 * -EAGAIN if it is not whole yet: under a living producer stop there, under a dead
 * one count it as torn and go on. The caller validates everything it copied.
 */
static inline int wt_ring_peek(const struct wt_ring *ring, uint64_t pos, struct wt_cell *ret_cell)
{
	const struct wt_cell *cell = wt_ring_cell(ring, pos);

	if (wt_load_acquire(&cell->stamp) != pos + 1) /* partner: wt_ring_commit */
		return -EAGAIN;
	memcpy(ret_cell, cell, sizeof(*ret_cell));
	return 0;
}

/* Consumer: everything before `pos` is durable and may be overwritten. */
static inline void wt_ring_release(const struct wt_ring *ring, uint64_t pos)
{
	wt_store_release(ring->head, pos); /* partner: wt_ring_reserve */
}

#endif /* WT_RING_H */
