/*
 * drain.c - from the rings to rows: one transaction per process and round.
 *
 * ORDER. Death is polled first, then ring 1's tail is read, then ring 0's; ring 0 is drained
 * to its tail before ring 1 to its own, so that a launch is known before its kernel. Within a
 * piece of ring 1, links and contexts go before kernels.
 *
 * HOLES. A claimed cell without its stamp is waited for while the process lives, and counted
 * as torn once it is dead. Behind a hole in ring 0 ring 1 waits too, for a while.
 *
 * The cursor moves in memory with every cell that was dealt with, in the file with the commit,
 * and in the segment (head) only after the commit.
 */
#include "daemon/daemon.h"

#include <errno.h>

#define DUE_NS                                                                                     \
	(400 * WT_MS) /* less than a quarter of a ring waits so long, for larger transactions */
#define NEWS_NS WT_SECOND /* counters alone; samples */
#define SAMPLER_DUE_CELLS 10000u
/* Of a transaction: as much as rings of the usual size hold. More of the calls would be more than the
 * linker keeps of a thread before it sees CUPTI's records of them. */
#define BUDGET_CALLS (2u * WT_BATCH_CELLS)
#define BUDGET_ACTIVITIES (4u * WT_BATCH_CELLS)
#define HOLE_PATIENCE_NS WT_SECOND /* then ring 1 goes on without ring 0 */
#define AHEAD_MAX_NS (UINT64_C(60) * WT_SECOND)
#define STALLED_NS (5 * WT_SECOND)
#define DEVICE_PATIENCE_NS WT_SECOND

static bool is_gone(struct wt_process *process)
{
	enum wt_life life = wt_liveness_poll(&process->liveness);

	/* Whose life can't be seen is taken at its word: finished, with nothing left half done. */
	return life == WT_LIFE_DEAD || process->is_superseded ||
	       (life == WT_LIFE_UNKNOWN && process->counters.finished_ns);
}

/* What kernels of the same piece may refer to. */
static bool goes_first(const struct wt_cell *cell)
{
	return cell->kind == WT_KIND_LINK || cell->kind == WT_KIND_CONTEXT;
}

/* Did it begin after the last call that is known? Then its own comes yet, if its time is one. */
static bool is_ahead(const struct wt_process *process, const struct wt_cell *cell)
{
	uint64_t until_ns = process->calls_until_ns, start_ns = 0;
	struct wt_kernel kernel;
	struct wt_link link;

	if (!until_ns)
		return false;
	if (cell->kind == WT_KIND_KERNEL) {
		memcpy(&kernel, cell->payload, sizeof(kernel));
		start_ns = kernel.start_ns;
	} else if (cell->kind == WT_KIND_LINK) {
		memcpy(&link, cell->payload, sizeof(link));
		start_ns = link.start_ns;
	}
	return start_ns > until_ns && start_ns - until_ns < AHEAD_MAX_NS;
}

/*
 * How many cells can be dealt with now: all, or those before one that is ahead of its call, or before a
 * kernel whose device is not in the table yet. That is waited for a moment, not for ever.
 */
static size_t count_ready(struct wt_process *process, const struct wt_cell *cells, size_t count,
                          int64_t now_ns, bool is_dead)
{
	for (size_t i = 0; i < count; i++) {
		struct wt_kernel kernel;

		if (is_ahead(process, &cells[i]))
			return i;
		if (cells[i].kind != WT_KIND_KERNEL)
			continue;
		memcpy(&kernel, cells[i].payload, sizeof(kernel));
		if (kernel.device >= WT_DEVICES_MAX ||
		    process->gpu_of[kernel.device] != WT_MAP_NONE)
			continue;
		if (!process->device_since_ns)
			process->device_since_ns = now_ns;
		if (!is_dead && now_ns - process->device_since_ns < DEVICE_PATIENCE_NS)
			return i;
	}
	return count;
}

/* Deals with `count` whole cells at the cursor. */
static int drain_piece(struct wt_process *process, enum wt_ring_index ring, struct wt_cell *cells,
                       size_t count, int64_t now_ns)
{
	int err = 0;

	for (size_t i = 0; i < count && !err && ring == WT_RING_ACTIVITY; i++)
		if (goes_first(&cells[i]) && wt_drain_is_sound(process, ring, &cells[i]))
			err = wt_drain_cell(process, &cells[i], now_ns);
	for (size_t i = 0; i < count && !err; i++) {
		if (!wt_drain_is_sound(process, ring, &cells[i]))
			process->tally.cells_bad++;
		else if (!goes_first(&cells[i]))
			err = wt_drain_cell(process, &cells[i], now_ns);
		if (!err)
			process->cursor[ring]++;
	}
	return err;
}

/* A recording's block was one transaction, and is one again. */
static uint64_t budget(const struct wt_process *process, enum wt_ring_index ring)
{
	if (!process->run->daemon)
		return UINT32_MAX;
	return ring == WT_RING_CALLS ? BUDGET_CALLS : BUDGET_ACTIVITIES;
}

/* One ring up to `tail`; *ret_hole: stopped at a cell that is not whole yet. */
static int drain_ring(struct wt_process *process, enum wt_ring_index ring, uint64_t tail,
                      struct wt_cell *cells, int64_t now_ns, bool is_dead, bool *ret_hole)
{
	uint64_t end = process->cursor[ring] + budget(process, ring);
	int err = 0;

	*ret_hole = false;
	if (end > tail)
		end = tail;
	while (!err && process->cursor[ring] < end) {
		uint64_t left = end - process->cursor[ring], before;
		size_t want = left < WT_BATCH_CELLS ? (size_t)left : WT_BATCH_CELLS, got, ready;

		err = wt_segment_cells(&process->mapped, ring, process->cursor[ring], want, cells,
		                       &got);
		if (err)
			break;
		ready = count_ready(process, cells, got, now_ns, is_dead);
		before = process->cursor[ring];
		err = drain_piece(process, ring, cells, ready, now_ns);
		wt_record_cells(process, ring, before, cells,
		                (size_t)(process->cursor[ring] - before));
		if (err || ready < got)
			break;
		if (got < want && is_dead) {
			process->tally.cells_torn++;
			wt_record_torn(process, ring, process->cursor[ring]++);
		} else if (got < want) {
			*ret_hole = true;
			break;
		}
	}
	return err;
}

/* Keeps book of how long a hole in ring 0 has been there; true: do not wait for it. */
static bool is_hole_old(struct wt_process *process, bool is_hole, int64_t now_ns)
{
	uint64_t pos = process->cursor[WT_RING_CALLS];

	if (!is_hole) {
		process->hole_since_ns = 0;
		process->is_stalled = false;
		return true;
	}
	if (!process->hole_since_ns || process->hole_pos != pos) {
		process->hole_since_ns = now_ns;
		process->hole_pos = pos;
	}
	process->is_stalled = now_ns - process->hole_since_ns > STALLED_NS;
	return now_ns - process->hole_since_ns > HOLE_PATIENCE_NS;
}

/* Where calls are left for the next transaction, the entry of the last one that is known; else 0. */
static uint64_t calls_until_ns(const struct wt_process *process, bool is_hole)
{
	bool is_left = process->cursor[WT_RING_CALLS] != process->tails[WT_RING_CALLS];

	return is_left && !is_hole && process->run->daemon ? process->last_entry_ns : 0;
}

static int drain_rings(struct wt_process *process, struct wt_cell *cells, int64_t now_ns,
                       bool is_dead)
{
	bool is_hole, is_hole_1;
	int err = wt_process_is_sampler(process) ? wt_sampled_read_device(process)
	                                         : wt_process_read_devices(process);

	if (!err)
		err = drain_ring(process, WT_RING_CALLS, process->tails[WT_RING_CALLS], cells,
		                 now_ns, is_dead, &is_hole);
	if (err)
		return err;
	process->has_work = true;
	process->calls_until_ns = calls_until_ns(process, is_hole);
	if (is_hole_old(process, is_hole, now_ns))
		err = drain_ring(process, WT_RING_ACTIVITY, process->tails[WT_RING_ACTIVITY], cells,
		                 now_ns, is_dead, &is_hole_1);
	if (process->cursor[WT_RING_ACTIVITY] == process->tails[WT_RING_ACTIVITY])
		process->device_since_ns = 0;
	return err || !process->linker ? err : wt_linker_settle(process->linker, now_ns);
}

static bool is_drained(const struct wt_process *process)
{
	return process->cursor[0] == process->tails[0] && process->cursor[1] == process->tails[1];
}

static void lose(struct wt_process *process, const char *why)
{
	process->is_lost = true;
	snprintf(process->lost_why, sizeof(process->lost_why), "%s", why);
	wt_log_line("%s: %s; nothing more is read from it", process->name, why);
}

/* Positions that can't be: somebody wrote over the segment. */
static bool are_tails_sound(const struct wt_process *process)
{
	for (int i = 0; i < WT_RING_MAX; i++)
		if (process->tails[i] < process->cursor[i] ||
		    process->tails[i] - process->cursor[i] > process->mapped.ring[i].mask + 1)
			return false;
	return true;
}

/* The transaction. A fault of the segment ends it with what was read before. */
static int drain_batch(struct wt_process *process, struct wt_cell *cells, int64_t now_ns,
                       bool is_dead)
{
	const char *state = "live";
	bool is_over = false;
	int err;

	wt_record_begin(process);
	err = process->is_lost ? 0 : drain_rings(process, cells, now_ns, is_dead);
	if (err == -EFAULT) {
		lose(process, "the segment was cut short");
		err = 0;
	}
	if (!err && is_dead && !process->is_lost && !process->has_more && is_drained(process)) {
		if (process->linker)
			err = wt_linker_end(process->linker, process->counters.finished_ns, now_ns);
		is_over = true;
	}
	/* Nothing more will be read of it: no link is waited for. What has no kernel stays open, for
	 * its record may lie in what is lost. */
	if (!err && process->is_lost && process->linker)
		err = wt_linker_end(process->linker, 0, now_ns);
	/* Said it is finished: it may take us along when it goes, then this is the last word. */
	if (is_over || process->is_lost || (process->counters.finished_ns && is_drained(process)))
		state = wt_process_end_state(process);
	process->is_complete = is_over || (process->counters.finished_ns && is_drained(process));
	if (!err)
		err = wt_batch_write_all(process->run);
	if (!err)
		err = wt_shares_settle(process->run);
	if (!err)
		err = process->sampled ? wt_sampled_save(process, is_over)
		                       : wt_process_save(process, state);
	if (!err)
		err = wt_drop_note(process, is_over || process->is_lost, now_ns);
	if (!err)
		err = wt_record_commit(process, now_ns, is_dead, is_over);
	if (!err)
		err = wt_store_run(process->run, WT_SQL_COMMIT, "");
	if (err)
		return err;
	process->saved_counters = process->counters;
	process->run->batches++;
	process->is_done = is_over;
	process->is_lost_saved = process->is_lost;
	return 0;
}

/* Reads what the producer says of itself; a fault or nonsense makes the segment lost. */
static void look(struct wt_process *process)
{
	if (wt_segment_tails(&process->mapped, process->tails) ||
	    wt_segment_counters(&process->mapped, &process->counters))
		lose(process, "the segment was cut short");
	else if (!are_tails_sound(process))
		lose(process, "the segment is corrupt: impossible positions");
}

/* Is there a batch at once, not after a pause? Those of samplers are chunks of samples. */
static bool is_due(const struct wt_process *process)
{
	bool is_sampler = wt_process_is_sampler(process);

	for (int i = 0; i < WT_RING_MAX; i++) {
		uint64_t due = (process->mapped.ring[i].mask + 1) / 4;

		if (is_sampler && due > SAMPLER_DUE_CELLS)
			due = SAMPLER_DUE_CELLS;
		if (process->tails[i] - process->cursor[i] >= due)
			return true;
	}
	return false;
}

int wt_drain(struct wt_process *process, struct wt_cell *cells, int64_t now_ns, bool is_last)
{
	bool is_dead, has_news, is_leaving, due;
	int64_t pause_ns;
	uint64_t left;
	int err;

	process->has_work = false;
	if (process->is_done)
		return 0;
	is_dead = is_gone(process);
	if (process->is_lost_saved) {
		process->is_done = is_dead; /* its file is removed when it is gone */
		return 0;
	}
	if (!process->is_lost)
		look(process);
	left = process->is_lost ? 0
	                        : process->tails[0] - process->cursor[0] + process->tails[1] -
	                                  process->cursor[1];
	has_news = left || memcmp(&process->counters, &process->saved_counters,
	                          sizeof(process->counters)) != 0;
	if (left)
		process->active_ns = now_ns;
	pause_ns = left && !wt_process_is_sampler(process) ? DUE_NS : NEWS_NS;
	due = !process->is_lost && is_due(process);
	is_leaving = process->counters.finished_ns && !process->saved_counters.finished_ns;
	if (!process->is_lost && !is_dead && !is_last && !is_leaving && !due &&
	    (!has_news || now_ns - process->drained_ns < pause_ns))
		return 0;
	process->drained_ns = now_ns;
	err = wt_store_run(process->run, WT_SQL_BEGIN, "");
	if (err == -EBUSY)
		return 0; /* nothing has been touched: next time */
	if (!err)
		err = drain_batch(process, cells, now_ns, is_dead);
	if (err)
		return err;
	if (!process->is_lost)
		wt_segment_release(&process->mapped, process->cursor,
		                   process->saved_counters.finished_ns, now_ns);
	process->has_work = is_dead ? !process->is_done : due;
	return 0;
}
