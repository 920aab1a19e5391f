/*
 * cupti_record.c - from what libcuda tells to activity records.
 *
 * Device work waits in a heap until its end has passed, so records appear in
 * the order of completion; calls are written at once. Scripted faults (drops,
 * zeroed times, delay, disorder) happen here. Entered with libcuda's lock held,
 * except cupti_collect() and call().
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/syscall.h>

#include "tests/fake/cupti_int.h"

#define EXTERNAL_DEPTH 64

static __thread struct {
	int depth;
	uint64_t id[EXTERNAL_DEPTH];
} external[WTCUPTI_EXTERNAL_SIZE];

static struct fake_op *pending; /* a heap by end_ns */
static size_t pending_count, pending_capacity;
static uint64_t device_records; /* whose times lie in device buffers */
static uint64_t kernel_record_count;
static uint64_t last_grid_id;

/* ---- lengths by version --------------------------------------------------------- */

static const struct {
	int kind;
	size_t bytes[4]; /* API version below 19, below 26, below 130000, and later */
} lengths[] = {
        {WTCUPTI_KIND_CONCURRENT_KERNEL, {200, 208, 208, 216}},
        {WTCUPTI_KIND_MEMCPY, {88, 88, 96, 96}},
        {WTCUPTI_KIND_MEMSET, {88, 88, 88, 88}},
        {WTCUPTI_KIND_DRIVER, {40, 40, 40, 40}},
        {WTCUPTI_KIND_RUNTIME, {40, 40, 40, 40}},
        {WTCUPTI_KIND_EXTERNAL_CORRELATION, {24, 24, 24, 24}},
        {WTCUPTI_KIND_SYNCHRONIZATION, {40, 40, 56, 56}},
        {WTCUPTI_KIND_OVERHEAD, {40, 48, 56, 56}},
        {WTCUPTI_KIND_CONTEXT, {16, 24, 32, 32}},
};

size_t cupti_record_bytes(int kind)
{
	uint32_t version = cupti_version();
	int column = version < 19 ? 0 : version < 26 ? 1 : version < 130000 ? 2 : 3;

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		if (lengths[i].kind == kind)
			return lengths[i].bytes[column];
	return 0;
}

static void append(int kind, const void *record, bool is_per_thread)
{
	cupti_append(record, cupti_record_bytes(kind), is_per_thread, false);
}

/* ---- device work ------------------------------------------------------------------ */

static bool op_before(const struct fake_op *a, const struct fake_op *b)
{
	return a->end_ns < b->end_ns;
}

static void pending_push(const struct fake_op *op)
{
	size_t at = pending_count;

	if (pending_count == pending_capacity) {
		pending_capacity = pending_capacity ? 2 * pending_capacity : 1024;
		pending = realloc(pending, pending_capacity * sizeof(*pending));
		if (!pending)
			abort();
	}
	pending_count++;
	while (at && op_before(op, &pending[(at - 1) / 2])) {
		pending[at] = pending[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	pending[at] = *op;
}

static void pending_pop(struct fake_op *ret_op)
{
	struct fake_op last = pending[--pending_count];
	size_t at = 0;

	*ret_op = pending[0];
	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= pending_count)
			break;
		if (child + 1 < pending_count && op_before(&pending[child + 1], &pending[child]))
			child++;
		if (!op_before(&pending[child], &last))
			break;
		pending[at] = pending[child];
		at = child;
	}
	if (pending_count)
		pending[at] = last;
}

void cupti_forget_pending(void)
{
	pending_count = 0;
	device_records = 0;
}

/* A place for the times of some work, until its record is read; WTFAKE_LEAK_NODES: of a node of a
 * graph, for ever. Under the lock. */
static void device_take(struct fake_op *op)
{
	op->is_timeless = device_records >= cupti_device_records();
	device_records += !op->is_timeless;
}

static void device_give(const struct fake_op *op)
{
	bool is_kept = op->graph_id && fake_env_i64("WTFAKE_LEAK_NODES", 0);

	device_records -= !op->is_timeless && !is_kept;
}

static void write_kernel(const struct fake_op *op, bool is_unfinished)
{
	uint64_t number;
	int64_t drop_every = fake_env_i64("WTFAKE_DROP_EVERY", 0);
	int64_t zero_every = fake_env_i64("WTFAKE_ZERO_EVERY", 0);
	struct wtcupti_activity_kernel r = {.kind = WTCUPTI_KIND_CONCURRENT_KERNEL};

	pthread_mutex_lock(&cupti_lock);
	number = ++kernel_record_count;
	r.grid_id = (int64_t)++last_grid_id;
	if (drop_every && number % (uint64_t)drop_every == 0) {
		cupti.dropped++;
		pthread_mutex_unlock(&cupti_lock);
		return;
	}
	if (cupti.wants_latency) {
		r.queued = cupti_time(op->queued_ns);
		r.submitted = cupti_time(op->submitted_ns);
	}
	pthread_mutex_unlock(&cupti_lock);
	if (!is_unfinished && !op->is_profiled && !op->is_timeless &&
	    !(zero_every && number % (uint64_t)zero_every == 0)) {
		r.start = cupti_time(op->start_ns);
		r.end = cupti_time(op->end_ns);
	}
	r.completed = r.end;
	r.registers_per_thread = (uint16_t)op->registers;
	r.device_id = op->device;
	r.context_id = op->context_id;
	r.stream_id = op->stream_id;
	r.grid_x = (int32_t)op->grid[0], r.grid_y = (int32_t)op->grid[1];
	r.grid_z = (int32_t)op->grid[2];
	r.block_x = (int32_t)op->block[0], r.block_y = (int32_t)op->block[1];
	r.block_z = (int32_t)op->block[2];
	r.static_shared_bytes = (int32_t)op->static_shared;
	r.dynamic_shared_bytes = (int32_t)op->dynamic_shared;
	r.shared_executed_bytes = op->shared_executed;
	r.correlation_id = op->correlation;
	r.name = op->name;
	r.launch_type = (uint8_t)op->launch_type;
	r.graph_id = op->graph_id;
	r.graph_node_id = op->graph_node_id;
	r.channel_type = WTCUPTI_CHANNEL_COMPUTE;
	r.cluster_x = op->cluster[0], r.cluster_y = op->cluster[1], r.cluster_z = op->cluster[2];
	r.max_active_clusters = op->max_active_clusters;
	r.max_potential_cluster_size = op->max_cluster_size;
	cupti_count("cupti_kernel_records");
	cupti_append(&r, cupti_record_bytes(r.kind), false,
	             op->is_profiled && fake_env_i64("WTFAKE_PROFILED_HOLD", 1));
}

static void write_memcpy(const struct fake_op *op)
{
	struct wtcupti_activity_memcpy r = {
	        .kind = WTCUPTI_KIND_MEMCPY,
	        .copy_kind = op->copy_kind,
	        .src_kind = op->src_kind,
	        .dst_kind = op->dst_kind,
	        .flags = op->is_async,
	        .bytes = op->bytes,
	        .start = op->is_timeless ? 0 : cupti_time(op->start_ns),
	        .end = op->is_timeless ? 0 : cupti_time(op->end_ns),
	        .device_id = op->device,
	        .context_id = op->context_id,
	        .stream_id = op->stream_id,
	        .correlation_id = op->correlation,
	        .graph_id = op->graph_id,
	        .graph_node_id = op->graph_node_id,
	        .channel_type = WTCUPTI_CHANNEL_ASYNC_MEMCPY,
	        .copy_count = 1,
	};

	append(WTCUPTI_KIND_MEMCPY, &r, false);
}

static void write_memset(const struct fake_op *op)
{
	struct wtcupti_activity_memset r = {
	        .kind = WTCUPTI_KIND_MEMSET,
	        .value = op->value,
	        .bytes = op->bytes,
	        .start = op->is_timeless ? 0 : cupti_time(op->start_ns),
	        .end = op->is_timeless ? 0 : cupti_time(op->end_ns),
	        .device_id = op->device,
	        .context_id = op->context_id,
	        .stream_id = op->stream_id,
	        .correlation_id = op->correlation,
	        .memory_kind = op->dst_kind,
	        .graph_id = op->graph_id,
	        .graph_node_id = op->graph_node_id,
	        .channel_type = WTCUPTI_CHANNEL_COMPUTE,
	};

	append(WTCUPTI_KIND_MEMSET, &r, false);
}

static void write_op(const struct fake_op *op, bool is_unfinished)
{
	if (op->kind == FAKE_OP_KERNEL)
		write_kernel(op, is_unfinished);
	else if (op->kind == FAKE_OP_MEMCPY)
		write_memcpy(op);
	else
		write_memset(op);
}

/* Disorder, if asked for: pairs of neighbours change places. */
static void write_batch(struct fake_op *batch, size_t count, const bool *is_unfinished)
{
	bool is_unordered = fake_env_i64("WTFAKE_UNORDERED", 0) != 0;

	for (size_t i = 0; i < count; i++) {
		size_t at = is_unordered ? ((i ^ 1) < count ? i ^ 1 : i) : i;

		write_op(&batch[at], is_unfinished[at]);
	}
}

static void collect(bool is_forced)
{
	int64_t delay_ns = fake_env_i64("WTFAKE_DELAY_MS", 0) * 1000000;

	for (;;) {
		struct fake_op batch[32];
		bool is_unfinished[32];
		size_t count = 0;
		int64_t now_ns = fake_now_ns();

		pthread_mutex_lock(&cupti_lock);
		while (count < 32 && pending_count &&
		       (is_forced || pending[0].end_ns + delay_ns <= now_ns)) {
			is_unfinished[count] = pending[0].end_ns > now_ns;
			pending_pop(&batch[count]);
			device_give(&batch[count++]);
		}
		pthread_mutex_unlock(&cupti_lock);
		write_batch(batch, count, is_unfinished);
		if (count < 32)
			return;
	}
}

void cupti_collect(bool is_forced)
{
	cupti_move_begin();
	collect(is_forced);
	cupti_move_end();
}

/* ---- called by libcuda ---------------------------------------------------------------- */

static bool all_calls_count(void)
{
	return cupti.is_on[WTCUPTI_KIND_MEMCPY] || cupti.is_on[WTCUPTI_KIND_MEMSET] ||
	       cupti.is_on[WTCUPTI_KIND_SYNCHRONIZATION] || cupti.is_on[WTCUPTI_KIND_DRIVER] ||
	       cupti.is_on[WTCUPTI_KIND_RUNTIME];
}

/* 32 bits: it comes round. WTFAKE_CORRELATION_START: where it begins. 0 means "none". */
static uint32_t next_correlation(void)
{
	static bool has_started;

	if (!has_started)
		cupti.last_correlation = (uint32_t)fake_env_i64("WTFAKE_CORRELATION_START", 0);
	has_started = true;
	if (!++cupti.last_correlation)
		cupti.last_correlation = 1;
	return cupti.last_correlation;
}

static uint32_t tool_correlate(int kind, int cbid, bool is_launch)
{
	uint32_t id = 0;

	pthread_mutex_lock(&cupti_lock);
	if (all_calls_count() || cupti_call_is_recorded(kind, cbid) ||
	    (is_launch && cupti.is_on[WTCUPTI_KIND_CONCURRENT_KERNEL]))
		id = next_correlation();
	pthread_mutex_unlock(&cupti_lock);
	return id;
}

/* Ids pushed by this thread go with the record of a call, failed or not. */
static void write_external(uint32_t correlation)
{
	for (int kind = 1; kind < WTCUPTI_EXTERNAL_SIZE; kind++) {
		struct wtcupti_activity_external_correlation r = {
		        .kind = WTCUPTI_KIND_EXTERNAL_CORRELATION,
		        .external_kind = kind,
		        .correlation_id = correlation,
		};

		if (!external[kind].depth)
			continue;
		r.external_id = external[kind].id[external[kind].depth - 1];
		append(WTCUPTI_KIND_EXTERNAL_CORRELATION, &r, true);
	}
}

static void tool_call(int kind, int cbid, uint32_t correlation, int64_t start_ns, int64_t end_ns,
                      int result)
{
	struct wtcupti_activity_api r = {
	        .kind = kind,
	        .cbid = (wtcupti_callback_id)cbid,
	        .start = cupti_time(start_ns),
	        .end = cupti_time(end_ns),
	        .process_id = (uint32_t)getpid(),
	        .correlation_id = correlation,
	        .return_value = (uint32_t)result,
	};
	bool is_wanted, wants_external;

	pthread_mutex_lock(&cupti_lock);
	is_wanted = cupti_call_is_recorded(kind, cbid);
	wants_external = cupti.is_on[WTCUPTI_KIND_EXTERNAL_CORRELATION];
	r.thread_id = cupti.thread_id_type == WTCUPTI_THREAD_ID_SYSTEM
	                      ? (uint32_t)syscall(SYS_gettid)
	                      : (uint32_t)(uintptr_t)pthread_self();
	pthread_mutex_unlock(&cupti_lock);
	if (!is_wanted)
		return;
	if (wants_external)
		write_external(correlation);
	append(kind, &r, true);
}

static void tool_op(const struct fake_op *op)
{
	static const int kind_of[] = {[FAKE_OP_KERNEL] = WTCUPTI_KIND_CONCURRENT_KERNEL,
	                              [FAKE_OP_MEMCPY] = WTCUPTI_KIND_MEMCPY,
	                              [FAKE_OP_MEMSET] = WTCUPTI_KIND_MEMSET};
	struct fake_op taken = *op;

	pthread_mutex_lock(&cupti_lock);
	if (cupti.is_on[kind_of[op->kind]]) {
		device_take(&taken);
		pending_push(&taken);
	}
	pthread_mutex_unlock(&cupti_lock);
}

static bool is_on(int kind)
{
	bool on;

	pthread_mutex_lock(&cupti_lock);
	on = cupti.is_on[kind];
	pthread_mutex_unlock(&cupti_lock);
	return on;
}

static void tool_sync(const struct fake_sync *sync)
{
	struct wtcupti_activity_synchronization r = {
	        .kind = WTCUPTI_KIND_SYNCHRONIZATION,
	        .type = sync->type,
	        .start = cupti_time(sync->start_ns),
	        .end = cupti_time(sync->end_ns),
	        .correlation_id = sync->correlation,
	        .context_id = sync->context_id,
	        .stream_id = sync->stream_id,
	        .cuda_event_id = sync->event_id,
	        .return_value = (uint32_t)sync->result,
	};

	if (is_on(WTCUPTI_KIND_SYNCHRONIZATION))
		append(WTCUPTI_KIND_SYNCHRONIZATION, &r, true);
}

static void write_context(uint32_t device, uint32_t context_id, uint32_t null_stream_id,
                          uint32_t sm_count, uint32_t parent_id)
{
	struct wtcupti_activity_context r = {
	        .kind = WTCUPTI_KIND_CONTEXT,
	        .context_id = context_id,
	        .device_id = device,
	        .compute_api_kind = 1,
	        .null_stream_id = (uint16_t)null_stream_id,
	        .parent_context_id = parent_id,
	        .is_green_context = sm_count != 0,
	        .multiprocessor_count = (uint16_t)sm_count,
	};

	append(WTCUPTI_KIND_CONTEXT, &r, true);
}

static void tool_context(uint32_t device, uint32_t context_id, uint32_t null_stream_id,
                         uint32_t sm_count, uint32_t parent_id)
{
	pthread_mutex_lock(&cupti_lock);
	cupti_calls_note_context();
	pthread_mutex_unlock(&cupti_lock);
	if (is_on(WTCUPTI_KIND_CONTEXT))
		write_context(device, context_id, null_stream_id, sm_count, parent_id);
}

static void tool_overhead(int kind, int64_t start_ns, int64_t end_ns, uint32_t correlation)
{
	struct wtcupti_activity_overhead r = {
	        .kind = WTCUPTI_KIND_OVERHEAD,
	        .overhead_kind = kind,
	        .object_kind = WTCUPTI_OBJECT_THREAD,
	        .start = cupti_time(start_ns),
	        .end = cupti_time(end_ns),
	        .correlation_id = correlation,
	};

	r.object_id.pt.process_id = (uint32_t)getpid();
	r.object_id.pt.thread_id = (uint32_t)(uintptr_t)pthread_self();
	if (is_on(WTCUPTI_KIND_OVERHEAD))
		append(WTCUPTI_KIND_OVERHEAD, &r, true);
}

const struct fake_tools *cupti_tools(void)
{
	static const struct fake_tools tools = {
	        .correlate = tool_correlate,
	        .call = tool_call,
	        .op = tool_op,
	        .sync = tool_sync,
	        .context = tool_context,
	        .overhead = tool_overhead,
	        .replay_ns = cupti_replay_ns,
	        .wants_sms = cupti_wants_sms,
	        .sms = cupti_take_sms,
	};

	return &tools;
}

/* ---- external correlation ids ------------------------------------------------------------ */

FAKE_EXPORT wtcupti_result cuptiActivityPushExternalCorrelationId(int kind, uint64_t id);
FAKE_EXPORT wtcupti_result cuptiActivityPopExternalCorrelationId(int kind, uint64_t *last_id);

wtcupti_result cuptiActivityPushExternalCorrelationId(int kind, uint64_t id)
{
	if (kind <= 0 || kind >= WTCUPTI_EXTERNAL_SIZE || external[kind].depth == EXTERNAL_DEPTH)
		return WTCUPTI_ERROR_INVALID_PARAMETER;
	external[kind].id[external[kind].depth++] = id;
	return WTCUPTI_SUCCESS;
}

wtcupti_result cuptiActivityPopExternalCorrelationId(int kind, uint64_t *last_id)
{
	if (kind <= 0 || kind >= WTCUPTI_EXTERNAL_SIZE)
		return WTCUPTI_ERROR_INVALID_PARAMETER;
	if (!external[kind].depth)
		return WTCUPTI_ERROR_QUEUE_EMPTY;
	external[kind].depth--;
	if (last_id)
		*last_id = external[kind].id[external[kind].depth];
	return WTCUPTI_SUCCESS;
}
