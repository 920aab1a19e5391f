/*
 * cuda_launch.c - the launch family: checking a launch, running it, telling
 * truth and tools.
 *
 * Under the driver's lock. A launch waits only where the device has
 * FAKE_QUEUE_DEPTH kernels in flight, as a real one does.
 */
#include <string.h>

#include "tests/fake/cuda_int.h"

/* From the call to the first block on an idle device, and between kernels of a stream. */
#define LAUNCH_LATENCY_NS 4000
#define KERNEL_GAP_NS 1000
/* CUPTI's interval exceeds first block to last block by this much. */
#define RAMP_NS 650

static uint64_t node_of_launch(uint32_t graph_id, uint64_t node_id)
{
	return graph_id ? node_id : 0;
}

/* The time of a block may be one of the kernel's parameters: see `param` in README.md. */
bool fake_launch_read_params(struct fake_launch *launch, const struct fake_device *device,
                             void **params, void **extra)
{
	const struct fake_function *f = launch->function;
	double ns = (double)f->block_ns;

	if (f->has_params && !params && !extra)
		return false;
	if (f->counts_down && params)
		memcpy(&launch->conditional, params[0], sizeof(launch->conditional));
	if (f->param_idx >= 0 && params) {
		uint64_t value;

		memcpy(&value, params[f->param_idx], sizeof(value));
		ns = (double)value * (f->param_ns > 0
		                              ? f->param_ns
		                              : 1e6 / device->attribute[WTCU_DEVICE_CLOCK_RATE]);
	}
	ns /= fake_env_double("WTFAKE_SPEED", 1);
	launch->block_ns = ns < 1 ? 1 : (int64_t)ns;
	return true;
}

wtcu_result fake_launch_check(const struct fake_ctx *ctx, const struct fake_launch *launch)
{
	const int *limit = ctx->device->attribute;
	const struct fake_function *f = launch->function;
	uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
	uint64_t cluster = (uint64_t)launch->cluster[0] * launch->cluster[1] * launch->cluster[2];
	int sm_count = ctx->sm_count ? ctx->sm_count : ctx->device->sm_count;
	int per_sm;

	if (!fake_block_count(launch->grid) || !threads || launch->grid[1] > 65535 ||
	    launch->grid[2] > 65535 || launch->grid[0] > INT32_MAX || launch->block[2] > 64 ||
	    threads > (uint64_t)limit[WTCU_DEVICE_MAX_THREADS_PER_BLOCK])
		return WTCU_ERROR_INVALID_VALUE;
	if (launch->dynamic_shared > (uint32_t)f->max_dynamic_shared)
		return WTCU_ERROR_INVALID_VALUE;
	if (cluster > 1 &&
	    (cluster > 16 || launch->grid[0] % launch->cluster[0] ||
	     launch->grid[1] % launch->cluster[1] || launch->grid[2] % launch->cluster[2]))
		return WTCU_ERROR_INVALID_CLUSTER_SIZE;
	per_sm = fake_occupancy(ctx->device, f, (int)threads, launch->dynamic_shared);
	if (per_sm < 1)
		return WTCU_ERROR_LAUNCH_OUT_OF_RESOURCES;
	if (launch->launch_type != WTCUPTI_LAUNCH_REGULAR &&
	    fake_block_count(launch->grid) > (uint64_t)per_sm * (uint64_t)sm_count)
		return WTCU_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
	return WTCU_SUCCESS;
}

static void op_fill(struct fake_op *op, const struct fake_call *c, const struct fake_device *device,
                    const struct fake_stream *stream, const struct fake_launch *launch,
                    const struct fake_ran *ran)
{
	const struct fake_function *f = launch->function;
	int64_t ramp_ns = fake_env_i64("WTFAKE_RAMP_NS", RAMP_NS);
	uint32_t cluster = launch->cluster[0] * launch->cluster[1] * launch->cluster[2];

	op->kind = FAKE_OP_KERNEL;
	op->device = device->ordinal;
	op->context_id = stream->ctx->id;
	op->stream_id = stream->id;
	op->correlation = c->correlation;
	op->queued_ns = c->enter_ns;
	op->submitted_ns = fake_now_ns();
	op->start_ns = ran->start_ns - ramp_ns / 2;
	op->end_ns = ran->end_ns + ramp_ns - ramp_ns / 2;
	op->name = f->name;
	memcpy(op->grid, launch->grid, sizeof(op->grid));
	memcpy(op->block, launch->block, sizeof(op->block));
	if (cluster) {
		memcpy(op->cluster, launch->cluster, sizeof(op->cluster));
		op->max_active_clusters = (uint32_t)fake_max_active_clusters(
		        device, ran->blocks_per_sm, (int)cluster);
		op->max_cluster_size = 8;
	}
	op->registers = (uint32_t)f->registers;
	op->static_shared = (uint32_t)f->static_shared;
	op->dynamic_shared = launch->dynamic_shared;
	op->shared_executed =
	        (uint32_t)device->attribute[WTCU_DEVICE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR];
	op->launch_type = launch->launch_type;
}

void fake_launch_run(const struct fake_call *c, struct fake_stream *stream,
                     const struct fake_launch *launch, const struct fake_ready *ready,
                     uint32_t graph_id, uint64_t graph_node_id, int64_t *ret_end_ns)
{
	struct fake_device *device = stream->ctx->device;
	struct fake_device view, *seen = fake_ctx_device(stream->ctx, &view);
	struct fake_function *f = launch->function;
	struct fake_op op = {.graph_id = graph_id,
	                     .graph_node_id = node_of_launch(graph_id, graph_node_id)};
	struct fake_detail *detail = fake_detail_new(seen->sm_count);
	struct fake_ran ran;

	if (!f->is_loaded) {
		int64_t loaded_ns = fake_now_ns();

		f->is_loaded = true;
		fake_truth_overhead(WTCUPTI_OVERHEAD_LAZY_FUNCTION_LOADING, c->enter_ns, loaded_ns);
		if (fake_tools)
			fake_tools->overhead(WTCUPTI_OVERHEAD_LAZY_FUNCTION_LOADING, c->enter_ns,
			                     loaded_ns, c->correlation);
	}
	fake_schedule(seen, launch, ready->at_ns, detail, &ran);
	device->busy_until_ns = seen->busy_until_ns; /* never less than before */
	op_fill(&op, c, seen, stream, launch, &ran);
	op.is_profiled = fake_tools && fake_tools->replay_ns(device->ordinal) >= 0;
	device->in_flight_end_ns[device->kernel_count++ % FAKE_QUEUE_DEPTH] = op.end_ns;
	fake_count(FAKE_KERNELS);
	if (graph_id)
		fake_count(FAKE_NODE_KERNELS);
	fake_truth_kernel(seen, &op, &ran, ready, stream->was_told);
	fake_detail_tell(detail, stream, launch, &ran, &op);
	stream->was_told = false;
	stream->last_start_ns = ran.start_ns;
	*ret_end_ns = op.end_ns;
	if (fake_tools && fake_body_record(&op))
		fake_tools->op(&op);
}

/* Room in the queue, then the earliest time for the first block. */
static struct fake_ready launch_ready(const struct fake_call *c, struct fake_stream *stream,
                                      bool is_programmatic)
{
	struct fake_device *device = stream->ctx->device;
	int64_t from_call_ns;
	int64_t from_stream_ns;

	fake_wait_until(device->in_flight_end_ns[device->kernel_count % FAKE_QUEUE_DEPTH]);
	if (fake_tools && fake_tools->replay_ns(device->ordinal) >= 0) {
		/* Alone on the device: nothing else may run, and it is slow. */
		fake_wait_until(device->busy_until_ns);
		fake_wait_until(fake_now_ns() + fake_tools->replay_ns(device->ordinal));
	}
	from_call_ns = (c->enter_ns > fake_now_ns() ? c->enter_ns : fake_now_ns()) +
	               fake_env_i64("WTFAKE_LAUNCH_LATENCY_NS", LAUNCH_LATENCY_NS);
	from_stream_ns =
	        fake_stream_ready_ns(stream) + fake_env_i64("WTFAKE_GAP_NS", KERNEL_GAP_NS);
	/* A programmatic launch may begin while the kernel before it drains, but not before that began. */
	if (is_programmatic && fake_stream_ready_by(stream) == FAKE_WAIT_KERNEL) {
		from_stream_ns -= 2 * fake_env_i64("WTFAKE_GAP_NS", KERNEL_GAP_NS);
		if (from_stream_ns <= stream->last_start_ns)
			from_stream_ns = stream->last_start_ns + 1;
	}
	if (from_call_ns >= from_stream_ns)
		return (struct fake_ready){from_call_ns, from_call_ns, FAKE_WAIT_CALL};
	return (struct fake_ready){from_stream_ns, from_call_ns, fake_stream_ready_by(stream)};
}

static wtcu_result launch(const struct fake_call *c, wtcu_function function, wtcu_stream handle,
                          struct fake_launch *l, void **params, void **extra)
{
	wtcu_result error;
	struct fake_stream *stream = fake_stream_of(c, handle, &error);
	struct fake_ready ready;
	int64_t end_ns;

	if (!stream)
		return error;
	error = fake_function_of(function, &l->function);
	if (!error)
		error = fake_launch_check(stream->ctx, l);
	if (error)
		return error;
	if (!fake_launch_read_params(l, stream->ctx->device, params, extra))
		return WTCU_ERROR_INVALID_VALUE;
	if (stream->capture) {
		struct fake_node node = {.kind = FAKE_NODE_KERNEL, .launch = *l};

		error = fake_capture_add(stream, &node);
		if (!error)
			fake_count(FAKE_LAUNCH_CAPTURED);
		return error;
	}
	ready = launch_ready(c, stream, l->is_programmatic);
	fake_launch_run(c, stream, l, &ready, 0, 0, &end_ns);
	fake_stream_advance(stream, end_ns, FAKE_WAIT_KERNEL);
	return WTCU_SUCCESS;
}

static wtcu_result launch_ex(const struct fake_call *c, const struct wtcu_launch_config *config,
                             wtcu_function function, void **params, void **extra)
{
	struct fake_launch l = {0};

	if (!config || (config->attr_count && !config->attrs))
		return WTCU_ERROR_INVALID_VALUE;
	l.grid[0] = config->grid_x, l.grid[1] = config->grid_y, l.grid[2] = config->grid_z;
	l.block[0] = config->block_x, l.block[1] = config->block_y, l.block[2] = config->block_z;
	l.dynamic_shared = config->shared_bytes;
	for (unsigned int i = 0; i < config->attr_count; i++) {
		const struct wtcu_launch_attribute *a = &config->attrs[i];

		if (a->id == WTCU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
			l.cluster[0] = a->value.cluster_dim.x;
			l.cluster[1] = a->value.cluster_dim.y;
			l.cluster[2] = a->value.cluster_dim.z;
		} else if (a->id == WTCU_LAUNCH_ATTRIBUTE_COOPERATIVE && a->value.cooperative) {
			l.launch_type = WTCUPTI_LAUNCH_COOPERATIVE_SINGLE_DEVICE;
		} else if (a->id == WTCU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) {
			l.is_programmatic = a->value.programmatic_stream_serialization_allowed != 0;
		}
	}
	return launch(c, function, config->stream, &l, params, extra);
}

static wtcu_result launch_plain(const struct fake_call *c, wtcu_function function,
                                const uint32_t dims[6], unsigned int shared_bytes,
                                wtcu_stream stream, void **params, void **extra, int type)
{
	struct fake_launch l = {
	        .grid = {dims[0], dims[1], dims[2]},
	        .block = {dims[3], dims[4], dims[5]},
	        .dynamic_shared = shared_bytes,
	        .launch_type = type,
	};

	return launch(c, function, stream, &l, params, extra);
}

static wtcu_result launch_multi(const struct fake_call *c, const struct wtcu_launch_params *list,
                                unsigned int count)
{
	if (!list || !count)
		return WTCU_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < count; i++) {
		const struct wtcu_launch_params *p = &list[i];
		uint32_t dims[6] = {p->grid_x,  p->grid_y,  p->grid_z,
		                    p->block_x, p->block_y, p->block_z};
		wtcu_result result = launch_plain(c, p->function, dims, p->shared_bytes, p->stream,
		                                  p->kernel_params, NULL,
		                                  WTCUPTI_LAUNCH_COOPERATIVE_MULTI_DEVICE);

		if (result)
			return result;
	}
	return WTCU_SUCCESS;
}

#define DIMS(gx, gy, gz, bx, by, bz)                                                               \
	(const uint32_t[6])                                                                        \
	{                                                                                          \
		gx, gy, gz, bx, by, bz                                                             \
	}

FAKE_FN_PTSZ(cuLaunchKernel,
             (wtcu_function function, unsigned int gx, unsigned int gy, unsigned int gz,
              unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared_bytes,
              wtcu_stream stream, void **params, void **extra),
             launch_plain(c, function, DIMS(gx, gy, gz, bx, by, bz), shared_bytes, stream, params,
                          extra, WTCUPTI_LAUNCH_REGULAR))
FAKE_FN_PTSZ(cuLaunchKernelEx,
             (const struct wtcu_launch_config *config, wtcu_function function, void **params,
              void **extra),
             launch_ex(c, config, function, params, extra))
FAKE_FN_PTSZ(cuLaunchCooperativeKernel,
             (wtcu_function function, unsigned int gx, unsigned int gy, unsigned int gz,
              unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared_bytes,
              wtcu_stream stream, void **params),
             launch_plain(c, function, DIMS(gx, gy, gz, bx, by, bz), shared_bytes, stream, params,
                          NULL, WTCUPTI_LAUNCH_COOPERATIVE_SINGLE_DEVICE))
FAKE_FN(cuLaunchCooperativeKernelMultiDevice,
        (struct wtcu_launch_params * list, unsigned int count, unsigned int flags),
        ((void)flags, launch_multi(c, list, count)))
