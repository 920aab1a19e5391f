/*
 * drain_cell.c - one cell of a ring: is it whole, and what becomes of the record in it. Kernels have a file of their
 * own, drain_kernel.c. Main thread, inside the batch's transaction.
 */
#include "daemon/daemon.h"

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

bool wt_drain_is_sound(const struct wt_process *process, enum wt_ring_index ring,
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

int wt_drain_cell(struct wt_process *process, const struct wt_cell *cell, int64_t now_ns)
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
