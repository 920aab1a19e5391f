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

/* Least length of the fields that carry meaning; 0: not a kind of this ring. */
static uint32_t least_length(const struct wt_process *process, enum wt_ring_index ring,
                             const struct wt_cell *cell)
{
	if (wt_process_is_sampler(process))
		return ring == WT_RING_ACTIVITY ? wt_sampled_least_length(cell) : 0;
	if (ring == WT_RING_CALLS) {
		if (cell->kind == WT_KIND_LAUNCH)
			return offsetof(struct wt_launch, reserved);
		if (cell->kind == WT_KIND_RANGE)
			return sizeof(struct wt_range);
		return cell->kind == WT_KIND_CALL ? offsetof(struct wt_call, reserved) : 0;
	}
	switch (cell->kind) {
	case WT_KIND_KERNEL:
		return offsetof(struct wt_kernel, reserved);
	case WT_KIND_COPY:
		return offsetof(struct wt_copy, reserved);
	case WT_KIND_SYNC:
		return offsetof(struct wt_sync, reserved);
	case WT_KIND_OVERHEAD:
		return offsetof(struct wt_overhead, reserved);
	case WT_KIND_CONTEXT:
		return offsetof(struct wt_context, reserved);
	case WT_KIND_CLOCK:
		return offsetof(struct wt_clock, reserved);
	case WT_KIND_LINK:
		return cell->count >= 1 && cell->count <= WT_LINKS_PER_CELL
		               ? cell->count * (uint32_t)sizeof(struct wt_link)
		               : 0;
	default:
		return wt_profiled_least_length(cell);
	}
}

static bool is_sound(const struct wt_process *process, enum wt_ring_index ring,
                     struct wt_cell *cell)
{
	uint32_t least = least_length(process, ring, cell);

	if (!least || cell->length < least || cell->length > WT_CELL_PAYLOAD_BYTES)
		return false;
	memset(cell->payload + cell->length, 0, WT_CELL_PAYLOAD_BYTES - cell->length);
	return true;
}

#define I(value) (int64_t)(value)

/* *ret_is_new: false for a launch that is stored already. */
static int store_launch(struct wt_process *process, const struct wt_launch *r, bool *ret_is_new)
{
	struct wt_run *run = process->run;
	const int64_t row[] = {
	        process->process_id,
	        I(r->seq),
	        I(r->entry_ns),
	        I(r->return_ns),
	        r->api,
	        r->tid,
	        r->thread32,
	        I(r->stream),
	        I(r->function),
	        r->grid[0],
	        r->grid[1],
	        r->grid[2],
	        r->block[0],
	        r->block[1],
	        r->block[2],
	        r->dynamic_smem_bytes,
	        r->result,
	        r->flags,
	};
	bool has_it;
	int err;

	*ret_is_new = wt_linker_is_new(process->linker, r->seq);
	if (*ret_is_new)
		return wt_batch_add(run, WT_BATCH_LAUNCH, row);
	/* Very late, or a second one: the file knows. */
	err = wt_batch_write(run, WT_BATCH_LAUNCH);
	if (err)
		return err;
	err = wt_batch_has_launch(run, row[0], row[1], &has_it);
	if (err || has_it)
		return err;
	err = wt_store_run(run, WT_SQL_LAUNCH, "iiiiiiiiiiiiiiiiii", row[0], row[1], row[2], row[3],
	                   row[4], row[5], row[6], row[7], row[8], row[9], row[10], row[11],
	                   row[12], row[13], row[14], row[15], row[16], row[17]);
	*ret_is_new = sqlite3_changes(run->db) != 0;
	return err;
}

static int drain_launch(struct wt_process *process, const struct wt_launch *r, int64_t now_ns)
{
	const struct wt_linker_call call = {
	        .seq = r->seq,
	        .entry_ns = r->entry_ns,
	        .return_ns = r->return_ns,
	        .geometry = r->grid[0]
	                            ? wt_linker_geometry(r->grid, r->block, r->dynamic_smem_bytes)
	                            : 0,
	        .thread32 = r->thread32,
	        .tid = r->tid,
	        .flags = r->flags,
	        .result = r->result,
	        .is_before_arming =
	                (r->flags & WT_FLAG_UNARMED) &&
	                (!process->counters.armed_ns || r->return_ns < process->counters.armed_ns),
	};
	bool is_new;
	int err;

	if (r->seq >= process->counters.launch_attempted) {
		process->tally.cells_bad++;
		return 0;
	}
	err = store_launch(process, r, &is_new);
	if (err)
		return err;
	if (!is_new) {
		process->tally.cells_bad++;
		return 0;
	}
	process->tally.launches_stored++;
	process->last_entry_ns = r->entry_ns;
	if (r->seq >= process->seq_end)
		process->seq_end = r->seq + 1;
	wt_process_span(process, r->entry_ns, r->return_ns);
	return wt_linker_call(process->linker, &call, now_ns);
}

static int drain_call(struct wt_process *process, const struct wt_call *r, int64_t now_ns)
{
	bool is_unobserved = wt_process_is_graph_unobserved(process, r);
	const struct wt_linker_call call = {
	        .seq = r->seq,
	        .entry_ns = r->entry_ns,
	        .return_ns = r->return_ns,
	        .thread32 = r->thread32,
	        .tid = r->tid,
	        .flags = (r->flags & ~WT_FLAG_UNARMED) | (is_unobserved ? WT_FLAG_UNARMED : 0),
	        .result = r->result,
	        .is_graph = true,
	};
	bool is_graph = wt_api_class_of(r->api) == WT_API_CLASS_GRAPH;
	int err = wt_batch_add(process->run, WT_BATCH_CALL,
	                       (const int64_t[]){process->run->next_call_id++, process->process_id,
	                                         r->api, is_graph ? I(r->seq) : WT_DB_NULL,
	                                         I(r->entry_ns), I(r->return_ns), r->tid,
	                                         r->thread32, I(r->handle), I(r->other),
	                                         I(r->bytes), r->result, r->flags});

	if (err || !is_graph)
		return err;
	process->last_entry_ns = r->entry_ns;
	process->tally.graph_launches_stored++;
	process->tally.graph_launches_failed += r->result != 0;
	process->tally.graph_launches_unobserved += is_unobserved;
	wt_process_span(process, r->entry_ns, r->return_ns);
	return wt_linker_call(process->linker, &call, now_ns);
}

/* Id of a device by its ordinal in the process, or NULL. */
static int64_t device_id_of(const struct wt_process *process, uint32_t ordinal)
{
	if (ordinal >= WT_DEVICES_MAX || process->gpu_of[ordinal] == WT_MAP_NONE)
		return WT_DB_NULL;
	return process->run->gpus[process->gpu_of[ordinal]].device_id;
}

static int drain_context(struct wt_process *process, const struct wt_context *r)
{
	int err = wt_process_add_context(process, r->context_id, (int32_t)r->sm_count);

	if (err)
		return err;
	return wt_store_run(process->run, WT_SQL_CONTEXT, "iinnni", process->process_id,
	                    I(r->context_id), device_id_of(process, r->device),
	                    r->parent_context_id ? I(r->parent_context_id) : WT_DB_NULL,
	                    r->sm_count ? I(r->sm_count) : WT_DB_NULL, I(r->is_green != 0));
}

static int drain_copy(struct wt_process *process, const struct wt_copy *r)
{
	bool is_timed = wt_process_is_time(process, r->start_ns, r->end_ns);

	if (is_timed)
		wt_process_span(process, r->start_ns, r->end_ns);
	return wt_store_run(
	        process->run, WT_SQL_COPY, "innniiiiiiiiinn", process->process_id,
	        device_id_of(process, r->device), is_timed ? I(r->start_ns) : WT_DB_NULL,
	        is_timed ? I(r->end_ns) : WT_DB_NULL, I(r->bytes), I(r->is_memset), I(r->copy_kind),
	        I(r->src_kind), I(r->dst_kind), I(r->flags), I(r->context_id), I(r->stream_id),
	        I(r->correlation_id), r->graph_id || r->graph_node_id ? I(r->graph_id) : WT_DB_NULL,
	        r->graph_node_id ? I(r->graph_node_id) : WT_DB_NULL);
}

static int drain_sync(struct wt_process *process, const struct wt_sync *r)
{
	return wt_store_run(process->run, WT_SQL_SYNC, "iiiiiiii", process->process_id, I(r->type),
	                    I(r->start_ns), I(r->end_ns), I(r->context_id), I(r->stream_id),
	                    I(r->event_id), I(r->correlation_id));
}

static int drain_overhead(struct wt_process *process, const struct wt_overhead *r)
{
	return wt_store_run(process->run, WT_SQL_OVERHEAD, "iiiii", process->process_id, I(r->type),
	                    I(r->start_ns), I(r->end_ns), I(r->thread32));
}

static int drain_clock(struct wt_process *process, const struct wt_clock *r)
{
	if (r->realtime_ns <= INT64_MAX / 2)
		process->clock_ns = I(r->realtime_ns);
	return wt_store_run(process->run, WT_SQL_CLOCK, "iiiini", process->process_id,
	                    I(r->realtime_ns), I(r->monotonic_ns), I(r->boot_ns),
	                    r->cupti_ns ? I(r->cupti_ns) : WT_DB_NULL, I(r->bracket_ns));
}

#undef I

static int drain_links(struct wt_process *process, const struct wt_cell *cell, int64_t now_ns)
{
	struct wt_link links[WT_LINKS_PER_CELL];
	int err = 0;

	if (wt_process_is_unhooked(process))
		return 0;
	memcpy(links, cell->payload, sizeof(links));
	for (int i = 0; i < cell->count && !err; i++)
		err = wt_linker_link(process->linker, &links[i], now_ns);
	return err;
}

/* What kernels of the same piece may refer to. */
static bool goes_first(const struct wt_cell *cell)
{
	return cell->kind == WT_KIND_LINK || cell->kind == WT_KIND_CONTEXT;
}

static int drain_cell(struct wt_process *process, const struct wt_cell *cell, int64_t now_ns)
{
	union {
		struct wt_launch launch;
		struct wt_call call;
		struct wt_range range;
		struct wt_kernel kernel;
		struct wt_copy copy;
		struct wt_sync sync;
		struct wt_overhead overhead;
		struct wt_context context;
		struct wt_clock clock;
	} record;

	if (wt_process_is_sampler(process))
		return wt_sampled_drain(process, cell);
	memcpy(&record, cell->payload, sizeof(record));
	switch (cell->kind) {
	case WT_KIND_LAUNCH:
		record.launch.flags = wt_process_call_flags(process, record.launch.flags,
		                                            record.launch.return_ns);
		return drain_launch(process, &record.launch, now_ns);
	case WT_KIND_CALL:
		record.call.flags =
		        wt_process_call_flags(process, record.call.flags, record.call.return_ns);
		return drain_call(process, &record.call, now_ns);
	case WT_KIND_RANGE:
		return wt_ranges_drain(process, &record.range);
	case WT_KIND_KERNEL:
		return wt_drain_kernel(process, &record.kernel, now_ns);
	case WT_KIND_COPY:
		return drain_copy(process, &record.copy);
	case WT_KIND_SYNC:
		return drain_sync(process, &record.sync);
	case WT_KIND_OVERHEAD:
		return drain_overhead(process, &record.overhead);
	case WT_KIND_CONTEXT:
		return drain_context(process, &record.context);
	case WT_KIND_CLOCK:
		return drain_clock(process, &record.clock);
	case WT_KIND_PROFILE:
		return wt_profiled_drain(process, cell);
	default:
		return drain_links(process, cell, now_ns);
	}
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
		if (goes_first(&cells[i]) && is_sound(process, ring, &cells[i]))
			err = drain_cell(process, &cells[i], now_ns);
	for (size_t i = 0; i < count && !err; i++) {
		if (!is_sound(process, ring, &cells[i]))
			process->tally.cells_bad++;
		else if (!goes_first(&cells[i]))
			err = drain_cell(process, &cells[i], now_ns);
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
