/*
 * replay_lay.c - lays blocks of a recording into a private segment, as the library once laid them
 * into shared memory: see replay.h. One thread; does not block.
 */
#include <sys/mman.h>

#include "daemon/replay_impl.h"

void wt_replay_header(const struct wt_replay_file *source, struct wt_segment_header *header)
{
	const struct wt_recording_process *from = wt_recording_process_of(source->reader);

	memset(header, 0, sizeof(*header));
	memcpy(header->uuid, wt_recording_head_of(source->reader)->uuid, sizeof(header->uuid));
	header->header_bytes = sizeof(*header);
	for (int i = 0; i < WT_RING_MAX; i++)
		header->cell_count[i] = WT_RECORDING_CELLS_MAX;
	header->arena_bytes = from->arena_bytes;
	header->pid_namespace = from->pid_namespace;
	header->start_ticks = from->start_ticks;
	header->created_realtime_ns = from->created_realtime_ns;
	header->created_monotonic_ns = from->created_monotonic_ns;
	header->pid = from->pid;
	header->ppid = from->ppid;
	header->uid = from->uid;
	header->rank = from->rank;
	header->local_rank = from->local_rank;
	header->world_size = from->world_size;
	header->producer = from->producer;
	header->profile_launches = from->profile_launches;
	header->sample_interval_ns = from->sample_interval_ns;
#define COPY(field)                                                                                \
	do {                                                                                       \
		snprintf(header->field, sizeof(header->field), "%s", from->field);                 \
		wt_text_mend(header->field);                                                       \
	} while (0)
	COPY(boot_id);
	COPY(hostname);
	COPY(library_version);
	COPY(run_key);
	COPY(run_name);
	COPY(run_tags);
	COPY(executable);
	COPY(command);
#undef COPY
}

static struct wt_producer *producer_of(const struct wt_process *process)
{
	return (struct wt_producer *)process->mapped.producer; /* ours, hence writable */
}

static void *zeroed(size_t alignment, size_t bytes)
{
	void *at = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);

	if (at)
		memset(at, 0, bytes);
	return at;
}

int wt_replay_attach(struct wt_replay *replay, struct wt_replay_file *source)
{
	struct wt_process *process = calloc(1, sizeof(*process));
	struct wt_mapped *mapped;
	void *arena;

	if (!process)
		return -ENOMEM;
	source->process = process;
	process->run = replay->run;
	process->liveness.pidfd = -1;
	snprintf(process->name, sizeof(process->name), "recording of pid %d", source->said.pid);
	mapped = &process->mapped;
	mapped->fd = -1;
	wt_replay_header(source, &mapped->header);
	mapped->producer = zeroed(4096, sizeof(struct wt_producer));
	mapped->consumer = zeroed(128, sizeof(struct wt_consumer));
	/* Only pages that names are written to take memory. */
	arena = mmap(NULL, mapped->header.arena_bytes, PROT_READ | PROT_WRITE,
	             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	mapped->arena = arena == MAP_FAILED ? NULL : arena;
	if (!mapped->producer || !mapped->consumer || !mapped->arena)
		return -ENOMEM;
	for (int i = 0; i < WT_RING_MAX; i++) {
		mapped->ring[i] = (struct wt_ring){.control = &producer_of(process)->ring[i],
		                                   .head = &mapped->consumer->head[i],
		                                   .cells = replay->ring[i],
		                                   .mask = WT_RECORDING_CELLS_MAX - 1};
		wt_store_relaxed(&mapped->consumer->head[i], source->block.facts.start_pos[i]);
	}
	return 0;
}

static void lay_names(struct wt_process *process, const struct wt_recording_block *block)
{
	uint8_t *arena = (uint8_t *)process->mapped.arena;

	for (size_t i = 0; i < block->name_count; i++) {
		const struct wt_recording_name *name = &block->names[i];
		struct wt_name_entry entry = {name->length,
		                              (uint32_t)wt_fnv1a(name->name, name->length)};
		uint8_t *at = arena + (size_t)name->id * 8; /* the reader has checked the end */

		memcpy(at, &entry, sizeof(entry));
		memcpy(at + sizeof(entry), name->name, name->length);
	}
}

static void lay_producer(struct wt_process *process, const struct wt_recording_block *block)
{
	const struct wt_recording_facts *facts = &block->facts;
	struct wt_producer *producer = producer_of(process);
	uint64_t told = (uint64_t)block->device_first + block->device_count;

	if (block->device_count)
		memcpy(&producer->device[block->device_first], block->devices,
		       block->device_count * sizeof(*block->devices));
#define X(name) wt_store_relaxed(&producer->name, facts->counters[WT_RECORDING_COUNTER_##name]);
	WT_RECORDING_COUNTERS(X)
#undef X
	for (unsigned i = 0; i < WT_COST_BUCKETS; i++)
		wt_store_relaxed(&producer->hook_time[i], facts->hook_time[i]);
	if (facts->counters[WT_RECORDING_COUNTER_device_count] > told)
		wt_store_relaxed(&producer->device_count, told);
	snprintf(producer->cupti_path, sizeof(producer->cupti_path), "%s", facts->cupti_path);
	wt_text_mend(producer->cupti_path);
}

/* Cells into the ring; whatever lies at a torn position must not look whole. */
static void lay_cells(struct wt_replay *replay, struct wt_replay_file *source, int ring)
{
	const struct wt_recording_block *block = &source->block;
	const struct wt_cell *cell = block->cells[ring], *end = cell + block->cell_count[ring];
	struct wt_process *process = source->process;

	for (uint64_t pos = block->facts.start_pos[ring]; pos < block->facts.end_pos[ring]; pos++) {
		struct wt_cell *to = &replay->ring[ring][pos & (WT_RECORDING_CELLS_MAX - 1)];

		if (cell < end && wt_load_relaxed((_Atomic uint64_t *)&cell->stamp) == pos + 1) {
			memcpy(to, cell++, sizeof(*to));
			source->said.cells++;
			source->said.launches += to->kind == WT_KIND_LAUNCH;
			source->said.kernels += to->kind == WT_KIND_KERNEL;
		} else {
			wt_store_relaxed(&to->stamp, 0);
			source->said.cells_torn++;
		}
	}
	wt_store_relaxed(&producer_of(process)->ring[ring].tail, block->facts.end_pos[ring]);
}

void wt_replay_lay(struct wt_replay *replay, struct wt_replay_file *source)
{
	lay_producer(source->process, &source->block);
	lay_names(source->process, &source->block);
	for (int i = 0; i < WT_RING_MAX; i++)
		lay_cells(replay, source, i);
}

void wt_replay_detach(struct wt_replay_file *source)
{
	struct wt_process *process = source->process;

	if (!process)
		return;
	wt_process_unload(process);
	free((void *)process->mapped.producer);
	free(process->mapped.consumer);
	if (process->mapped.arena)
		munmap((void *)process->mapped.arena, process->mapped.header.arena_bytes);
	free(process);
	source->process = NULL;
}
