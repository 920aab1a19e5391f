/*
 * cupti_records.c - CUPTI's activity records become ours.
 *
 * Records grow at their end from one CUPTI version to the next; what a record holds is told by
 * its length (the distance to the next one), never by the headers we were built with. A field
 * the record does not reach stays 0, which means unknown.
 *
 * Records are gathered 32 at a time on the stack and claimed in the ring together. Launch links
 * are packed four to a cell; the cell takes its place when its first link comes, so a link never
 * ends up behind a kernel record that it preceded in the buffer.
 *
 * Runs in CUPTI's buffer-completed callback, on whatever thread that is. No lock, no allocation,
 * no CUPTI call. The first record of a process that has no segment yet makes one, which may block
 * for a moment; no application thread waits for it.
 */
#include "libintercept/cupti.h"

#define HAS(type, member, bytes) WTCUPTI_HAS(struct wtcupti_activity_##type, member, bytes)
#define SEGMENT_WAITS 20 /* times 1 ms, while another thread makes the segment */

void wt_batch_init(struct wt_batch *batch)
{
	struct wt_fork_page *page = wt_fork_page();

	batch->view = wt_segment_view(false);
	batch->link_idx = -1;
	batch->used = 0;
	batch->recent.count = 0;
	batch->is_injected = page && wt_load_relaxed(&page->is_injected);
}

/* The view, made now if need be: records prove that this process uses a GPU. */
static struct wt_view *batch_view(struct wt_batch *batch)
{
	struct wt_fork_page *page = wt_fork_page();

	if (batch->view)
		return batch->view;
	batch->view = wt_segment_view(true);
	for (int i = 0; !batch->view && i < SEGMENT_WAITS; i++) {
		struct timespec pause = {.tv_nsec = 1000000};

		if (!page || wt_load_relaxed(&page->segment_state) != 1)
			break;
		nanosleep(&pause, NULL);
		batch->view = wt_segment_view(false);
	}
	return batch->view;
}

/* What a refused batch held, by kind. The ring itself has counted it as a whole. */
static void count_refused(const struct wt_batch *batch)
{
	struct wt_producer *producer = batch->view->producer;

	for (uint32_t i = 0; i < batch->used; i++) {
		const struct wt_batch_cell *cell = &batch->cell[i];

		if (cell->kind == WT_KIND_KERNEL)
			wt_add_relaxed(&producer->kernels_dropped_ring, 1);
		else if (cell->kind == WT_KIND_LINK)
			wt_add_relaxed(&producer->links_dropped_ring, cell->count);
		else
			wt_add_relaxed(&producer->other_dropped_ring, 1);
	}
}

void wt_batch_flush(struct wt_batch *batch)
{
	const struct wt_ring *ring;
	uint64_t pos;

	if (batch->used && batch->view) {
		ring = &batch->view->ring[WT_RING_ACTIVITY];
		if (wt_ring_reserve(ring, batch->used, &pos)) {
			count_refused(batch);
		} else {
			for (uint32_t i = 0; i < batch->used; i++)
				wt_ring_commit(ring, pos + i, batch->cell[i].kind,
				               batch->cell[i].count, batch->cell[i].payload,
				               batch->cell[i].length);
		}
	}
	batch->used = 0;
	batch->link_idx = -1;
}

static struct wt_batch_cell *next_cell(struct wt_batch *batch, enum wt_kind kind)
{
	struct wt_batch_cell *cell;

	if (batch->used == WT_BATCH_CELLS)
		wt_batch_flush(batch);
	cell = &batch->cell[batch->used++];
	cell->kind = (uint16_t)kind;
	cell->count = 1;
	cell->length = 0;
	return cell;
}

static void put(struct wt_batch *batch, enum wt_kind kind, const void *payload, uint32_t length)
{
	struct wt_batch_cell *cell = next_cell(batch, kind);

	memcpy(cell->payload, payload, length);
	cell->length = length;
}

static void count_unknown(struct wt_batch *batch)
{
	if (batch->view)
		wt_add_relaxed(&batch->view->producer->records_unknown, 1);
}

static uint16_t narrow(int32_t value)
{
	return value > 0 && value <= UINT16_MAX ? (uint16_t)value : 0;
}

/* What only later versions of the record hold. */
static void add_kernel_tail(struct wt_kernel *to, const struct wtcupti_activity_kernel *from,
                            size_t bytes)
{
	if (HAS(kernel, shared_executed_bytes, bytes)) {
		to->smem_executed_bytes = from->shared_executed_bytes;
		to->launch_type = from->launch_type;
		to->carveout_percent = from->carveout_requested;
		if (from->is_carveout_requested)
			to->flags |= WT_KERNEL_CARVEOUT_REQUESTED;
	}
	if (HAS(kernel, graph_node_id, bytes))
		to->graph_node_id = from->graph_node_id;
	if (HAS(kernel, graph_id, bytes))
		to->graph_id = from->graph_id;
	if (HAS(kernel, channel_id, bytes))
		to->channel_id = from->channel_id;
	if (HAS(kernel, cluster_z, bytes)) {
		to->cluster[0] = (uint16_t)from->cluster_x;
		to->cluster[1] = (uint16_t)from->cluster_y;
		to->cluster[2] = (uint16_t)from->cluster_z;
	}
	if (HAS(kernel, max_active_clusters, bytes))
		to->max_active_clusters = from->max_active_clusters;
	if (HAS(kernel, is_device_launched, bytes) && from->is_device_launched)
		to->flags |= WT_KERNEL_DEVICE_LAUNCHED;
}

static void add_kernel(struct wt_batch *batch, const struct wtcupti_activity_kernel *from,
                       size_t bytes)
{
	struct wt_kernel kernel = {0};

	if (!HAS(kernel, name, bytes)) {
		count_unknown(batch);
		return;
	}
	wt_add_relaxed(&batch->view->producer->kernels_seen, 1);
	kernel.start_ns = from->start;
	kernel.end_ns = from->end;
	kernel.correlation_id = from->correlation_id;
	kernel.context_id = from->context_id;
	kernel.stream_id = from->stream_id;
	kernel.name_id = wt_name_id(batch->view, from->name);
	kernel.grid[0] = (uint32_t)from->grid_x;
	kernel.grid[1] = (uint32_t)from->grid_y;
	kernel.grid[2] = (uint32_t)from->grid_z;
	kernel.block[0] = narrow(from->block_x);
	kernel.block[1] = narrow(from->block_y);
	kernel.block[2] = narrow(from->block_z);
	kernel.static_smem_bytes = (uint32_t)from->static_shared_bytes;
	kernel.dynamic_smem_bytes = (uint32_t)from->dynamic_shared_bytes;
	kernel.local_bytes_per_thread = from->local_bytes_per_thread;
	kernel.device = (uint16_t)from->device_id;
	if (batch->is_injected)
		wt_device_used(batch->view, from->device_id);
	kernel.regs_per_thread = from->registers_per_thread;
	add_kernel_tail(&kernel, from, bytes);
	if (wt_profile_is_on())
		wt_profile_note_kernel(&batch->recent, &kernel, from->name);
	put(batch, WT_KIND_KERNEL, &kernel, sizeof(kernel));
}

static void add_memcpy(struct wt_batch *batch, const struct wtcupti_activity_memcpy *from,
                       size_t bytes)
{
	struct wt_copy copy = {0};

	if (!HAS(memcpy, correlation_id, bytes)) {
		count_unknown(batch);
		return;
	}
	copy.start_ns = from->start;
	copy.end_ns = from->end;
	copy.bytes = from->bytes;
	copy.correlation_id = from->correlation_id;
	copy.context_id = from->context_id;
	copy.stream_id = from->stream_id;
	copy.device = (uint16_t)from->device_id;
	copy.copy_kind = from->copy_kind;
	copy.src_kind = from->src_kind;
	copy.dst_kind = from->dst_kind;
	copy.flags = from->flags;
	if (HAS(memcpy, graph_node_id, bytes))
		copy.graph_node_id = from->graph_node_id;
	if (HAS(memcpy, graph_id, bytes))
		copy.graph_id = from->graph_id;
	put(batch, WT_KIND_COPY, &copy, sizeof(copy));
}

static void add_memset(struct wt_batch *batch, const struct wtcupti_activity_memset *from,
                       size_t bytes)
{
	struct wt_copy copy = {.is_memset = 1};

	if (!HAS(memset, memory_kind, bytes)) {
		count_unknown(batch);
		return;
	}
	copy.start_ns = from->start;
	copy.end_ns = from->end;
	copy.bytes = from->bytes;
	copy.correlation_id = from->correlation_id;
	copy.context_id = from->context_id;
	copy.stream_id = from->stream_id;
	copy.device = (uint16_t)from->device_id;
	copy.dst_kind = (uint8_t)from->memory_kind;
	copy.flags = (uint8_t)from->flags;
	copy.memset_value = from->value;
	if (HAS(memset, graph_node_id, bytes))
		copy.graph_node_id = from->graph_node_id;
	if (HAS(memset, graph_id, bytes))
		copy.graph_id = from->graph_id;
	put(batch, WT_KIND_COPY, &copy, sizeof(copy));
}

static void add_sync(struct wt_batch *batch, const struct wtcupti_activity_synchronization *from,
                     size_t bytes)
{
	struct wt_sync sync = {0};

	if (!HAS(synchronization, cuda_event_id, bytes)) {
		count_unknown(batch);
		return;
	}
	/* Queries that found work pending come only while the application wants all of these
	 * records; they are no waits. */
	if (HAS(synchronization, return_value, bytes) && from->return_value)
		return;
	sync.start_ns = from->start;
	sync.end_ns = from->end;
	sync.correlation_id = from->correlation_id;
	sync.context_id = from->context_id;
	sync.stream_id = from->stream_id;
	sync.event_id = from->cuda_event_id;
	sync.type = (uint32_t)from->type;
	put(batch, WT_KIND_SYNC, &sync, sizeof(sync));
}

static void add_overhead(struct wt_batch *batch, const struct wtcupti_activity_overhead *from,
                         size_t bytes)
{
	struct wt_overhead overhead = {0};

	if (!HAS(overhead, end, bytes)) {
		count_unknown(batch);
		return;
	}
	/* One for nearly every launch while the queue to the GPU is full (18,377 of 20,163 on an
	 * H200): no idle time can come of it, and it would take half of the ring. */
	if (from->overhead_kind == WTCUPTI_OVERHEAD_COMMAND_BUFFER_FULL)
		return;
	overhead.start_ns = from->start;
	overhead.end_ns = from->end;
	overhead.type = (uint32_t)from->overhead_kind;
	overhead.object = (uint32_t)from->object_kind;
	if (from->object_kind == WTCUPTI_OBJECT_THREAD)
		overhead.thread32 = from->object_id.pt.thread_id;
	if (HAS(overhead, correlation_id, bytes))
		overhead.correlation_id = from->correlation_id;
	put(batch, WT_KIND_OVERHEAD, &overhead, sizeof(overhead));
}

static void add_context(struct wt_batch *batch, const struct wtcupti_activity_context *from,
                        size_t bytes)
{
	struct wt_context context = {0};

	if (!HAS(context, null_stream_id, bytes)) {
		count_unknown(batch);
		return;
	}
	context.context_id = from->context_id;
	context.device = from->device_id;
	context.null_stream_id = from->null_stream_id;
	if (HAS(context, multiprocessor_count, bytes)) {
		context.parent_context_id = from->parent_context_id;
		context.is_green = from->is_green_context;
		context.sm_count = from->is_green_context ? from->multiprocessor_count : 0;
	}
	put(batch, WT_KIND_CONTEXT, &context, sizeof(context));
}

/* The record of a launch call: the link. Others are the application's wish, not ours. */
static void add_link(struct wt_batch *batch, const struct wtcupti_activity_api *from, size_t bytes)
{
	struct wt_batch_cell *cell;
	uint64_t end_ns;
	struct wt_link link = {0};

	if (!HAS(api, correlation_id, bytes)) {
		count_unknown(batch);
		return;
	}
	if (wt_cupti_launch_call(from->kind, from->cbid) < 0)
		return;
	wt_add_relaxed(&batch->view->producer->links_seen, 1);
	link.start_ns = from->start;
	/* A flush from inside a call of the runtime's (profile_flush.c) may meet its record: it goes on. */
	end_ns = from->end ? from->end : wt_now_ns();
	if (end_ns > link.start_ns)
		link.duration_ns = end_ns - link.start_ns < WT_LINK_DURATION_MAX_NS
		                           ? (uint32_t)(end_ns - link.start_ns)
		                           : WT_LINK_DURATION_MAX_NS;
	if (from->kind == WTCUPTI_KIND_RUNTIME)
		link.flags |= WT_LINK_RUNTIME;
	link.correlation_id = from->correlation_id;
	link.thread32 = from->thread_id;
	if (batch->link_idx < 0) {
		cell = next_cell(batch, WT_KIND_LINK);
		cell->count = 0;
		batch->link_idx = (int)(cell - batch->cell);
	}
	cell = &batch->cell[batch->link_idx];
	memcpy(cell->payload + cell->length, &link, sizeof(link));
	cell->length += (uint32_t)sizeof(link);
	if (++cell->count == WT_LINKS_PER_CELL)
		batch->link_idx = -1;
}

void wt_batch_add(struct wt_batch *batch, const struct wtcupti_activity *record, size_t bytes)
{
	const void *from = record;

	if (record->kind == WTCUPTI_KIND_DEVICE || !batch_view(batch))
		return;
	switch (record->kind) {
	case WTCUPTI_KIND_CONCURRENT_KERNEL:
	case WTCUPTI_KIND_KERNEL: /* the application asked for serialised kernels */
		add_kernel(batch, from, bytes);
		break;
	case WTCUPTI_KIND_MEMCPY:
		add_memcpy(batch, from, bytes);
		break;
	case WTCUPTI_KIND_MEMSET:
		add_memset(batch, from, bytes);
		break;
	case WTCUPTI_KIND_SYNCHRONIZATION:
		add_sync(batch, from, bytes);
		break;
	case WTCUPTI_KIND_OVERHEAD:
		add_overhead(batch, from, bytes);
		break;
	case WTCUPTI_KIND_CONTEXT:
		add_context(batch, from, bytes);
		break;
	case WTCUPTI_KIND_DRIVER:
	case WTCUPTI_KIND_RUNTIME:
		add_link(batch, from, bytes);
		break;
	default: /* of a kind that only the application enabled */
		break;
	}
}
