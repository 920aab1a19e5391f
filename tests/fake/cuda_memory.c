/*
 * cuda_memory.c - memory, copies and sets of the simulated driver.
 *
 * Device memory is host memory that nobody has touched yet, so that copies
 * really copy. The bytes move when the call is made; the time the device needs
 * for it is simulated on the stream. Under the driver's lock.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/fake/cuda_int.h"

/* Time of a transfer: a fixed cost and bytes over bandwidth (bytes per ns = GB/s). */
#define TRANSFER_NS 1500
#define LINK_BYTES_PER_NS 50
#define MEMORY_BYTES_PER_NS 2000

struct range {
	struct range *next;
	uint8_t *start;
	size_t bytes;
	int kind; /* WTCUPTI_MEMORY_* */
	struct fake_device *device;
};

static struct range *ranges;

static struct range *range_of(const void *at)
{
	struct range *r = ranges;

	while (r && ((const uint8_t *)at < r->start || (const uint8_t *)at >= r->start + r->bytes))
		r = r->next;
	return r;
}

static uint8_t memory_kind(const void *at)
{
	struct range *r = range_of(at);

	return (uint8_t)(r ? r->kind : WTCUPTI_MEMORY_PAGEABLE);
}

static wtcu_result memory_alloc(void **ret_start, size_t bytes, int kind, bool is_async)
{
	struct fake_ctx *ctx = fake_current_ctx();
	struct range *r;
	wtcu_result error = is_async ? WTCU_SUCCESS : fake_capture_forbids();

	if (!ret_start || !bytes)
		return WTCU_ERROR_INVALID_VALUE;
	if (!ctx || error)
		return ctx ? error : WTCU_ERROR_INVALID_CONTEXT;
	if (kind == WTCUPTI_MEMORY_DEVICE &&
	    ctx->device->used_bytes + bytes > ctx->device->memory_bytes)
		return WTCU_ERROR_OUT_OF_MEMORY;
	r = calloc(1, sizeof(*r));
	if (!r)
		return WTCU_ERROR_OUT_OF_MEMORY;
	r->start = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (r->start == MAP_FAILED) {
		free(r);
		return WTCU_ERROR_OUT_OF_MEMORY;
	}
	r->bytes = bytes;
	r->kind = kind;
	r->device = ctx->device;
	if (kind == WTCUPTI_MEMORY_DEVICE)
		r->device->used_bytes += bytes;
	r->next = ranges;
	ranges = r;
	*ret_start = r->start;
	return WTCU_SUCCESS;
}

static wtcu_result memory_free(const void *start, bool is_async)
{
	wtcu_result error = is_async ? WTCU_SUCCESS : fake_capture_forbids();

	if (!start || error)
		return error;
	for (struct range **at = &ranges; *at; at = &(*at)->next) {
		struct range *r = *at;

		if (r->start != start)
			continue;
		*at = r->next;
		if (r->kind == WTCUPTI_MEMORY_DEVICE)
			r->device->used_bytes -= r->bytes;
		munmap(r->start, r->bytes);
		free(r);
		return WTCU_SUCCESS;
	}
	return WTCU_ERROR_INVALID_VALUE;
}

static wtcu_result memory_info(size_t *free_bytes, size_t *total)
{
	struct fake_ctx *ctx = fake_current_ctx();

	if (!ctx || !free_bytes || !total)
		return ctx ? WTCU_ERROR_INVALID_VALUE : WTCU_ERROR_INVALID_CONTEXT;
	*total = ctx->device->memory_bytes;
	*free_bytes = ctx->device->memory_bytes - ctx->device->used_bytes;
	return WTCU_SUCCESS;
}

/* ---- transfers ------------------------------------------------------------------- */

void fake_transfer_run(const struct fake_call *c, struct fake_stream *stream, struct fake_op op,
                       const struct fake_ready *ready, int64_t *ret_end_ns)
{
	bool is_on_device = op.kind == FAKE_OP_MEMSET || op.copy_kind == WTCUPTI_MEMCPY_DTOD;
	int64_t rate = is_on_device ? MEMORY_BYTES_PER_NS
	                            : fake_env_i64("WTFAKE_COPY_BYTES_PER_NS", LINK_BYTES_PER_NS);

	op.device = stream->ctx->device->ordinal;
	op.context_id = stream->ctx->id;
	op.stream_id = stream->id;
	op.correlation = c->correlation;
	op.queued_ns = c->enter_ns;
	op.submitted_ns = fake_now_ns();
	op.start_ns = ready->at_ns;
	op.end_ns = ready->at_ns + TRANSFER_NS + (int64_t)op.bytes / rate;
	fake_truth_copy(&op, ready);
	if (fake_tools)
		fake_tools->op(&op);
	*ret_end_ns = op.end_ns;
}

wtcu_result fake_transfer(const struct fake_call *c, struct fake_stream *stream, struct fake_op *op,
                          bool is_blocking)
{
	struct fake_node node = {.kind = FAKE_NODE_TRANSFER, .transfer = *op};
	struct fake_ready ready = {.at_ns = fake_stream_ready_ns(stream),
	                           .arrive_ns = c->enter_ns,
	                           .wait = fake_stream_ready_by(stream)};
	int64_t end_ns;

	if (is_blocking) {
		wtcu_result error = fake_capture_forbids();

		if (error)
			return error;
	} else if (stream->capture) {
		return fake_capture_add(stream, &node);
	}
	if (ready.at_ns < c->enter_ns) {
		ready.at_ns = c->enter_ns;
		ready.wait = FAKE_WAIT_CALL;
	}
	fake_transfer_run(c, stream, *op, &ready, &end_ns);
	fake_stream_advance(stream, end_ns, FAKE_WAIT_COPY);
	if (is_blocking)
		fake_stream_drain(stream->ctx, stream);
	return WTCU_SUCCESS;
}

static uint8_t copy_kind(uint8_t from, uint8_t to)
{
	bool from_device = from == WTCUPTI_MEMORY_DEVICE || from == WTCUPTI_MEMORY_MANAGED;
	bool to_device = to == WTCUPTI_MEMORY_DEVICE || to == WTCUPTI_MEMORY_MANAGED;

	if (from_device)
		return to_device ? WTCUPTI_MEMCPY_DTOD : WTCUPTI_MEMCPY_DTOH;
	return to_device ? WTCUPTI_MEMCPY_HTOD : WTCUPTI_MEMCPY_HTOH;
}

static wtcu_result copy(const struct fake_call *c, void *to, const void *from, size_t bytes,
                        wtcu_stream handle, bool is_blocking)
{
	wtcu_result error;
	struct fake_stream *stream = fake_stream_of(c, handle, &error);
	struct fake_op op = {.kind = FAKE_OP_MEMCPY, .bytes = bytes, .is_async = !is_blocking};

	if (!stream)
		return error;
	if (!bytes)
		return WTCU_SUCCESS;
	if (!to || !from)
		return WTCU_ERROR_INVALID_VALUE;
	op.src_kind = memory_kind(from);
	op.dst_kind = memory_kind(to);
	op.copy_kind = copy_kind(op.src_kind, op.dst_kind);
	error = fake_transfer(c, stream, &op, is_blocking);
	if (!error)
		memmove(to, from, bytes);
	return error;
}

static wtcu_result set(const struct fake_call *c, void *to, uint32_t value, size_t width,
                       size_t count, wtcu_stream handle)
{
	wtcu_result error;
	struct fake_stream *stream = fake_stream_of(c, handle, &error);
	struct fake_op op = {
	        .kind = FAKE_OP_MEMSET, .value = value, .bytes = width * count, .is_async = 1};

	if (!stream)
		return error;
	if (!to)
		return WTCU_ERROR_INVALID_VALUE;
	op.dst_kind = memory_kind(to);
	error = fake_transfer(c, stream, &op, false);
	if (error)
		return error;
	if (width == 1)
		memset(to, (int)value, count);
	else
		for (size_t i = 0; i < count; i++)
			memcpy((uint8_t *)to + 4 * i, &value, 4);
	return WTCU_SUCCESS;
}

#define PTR(device_pointer) ((void *)(uintptr_t)(device_pointer))

FAKE_FN(cuMemAlloc_v2, (wtcu_deviceptr * at, size_t bytes),
        memory_alloc((void **)at, bytes, WTCUPTI_MEMORY_DEVICE, false))
FAKE_FN(cuMemFree_v2, (wtcu_deviceptr at), memory_free(PTR(at), false))
FAKE_FN_PTSZ(cuMemAllocAsync, (wtcu_deviceptr * at, size_t bytes, wtcu_stream stream),
             ((void)stream, memory_alloc((void **)at, bytes, WTCUPTI_MEMORY_DEVICE, true)))
FAKE_FN_PTSZ(cuMemFreeAsync, (wtcu_deviceptr at, wtcu_stream stream),
             ((void)stream, memory_free(PTR(at), true)))
FAKE_FN(cuMemAllocHost_v2, (void **at, size_t bytes),
        memory_alloc(at, bytes, WTCUPTI_MEMORY_PINNED, false))
FAKE_FN(cuMemHostAlloc, (void **at, size_t bytes, unsigned int flags),
        ((void)flags, memory_alloc(at, bytes, WTCUPTI_MEMORY_PINNED, false)))
FAKE_FN(cuMemFreeHost, (void *at), memory_free(at, false))
FAKE_FN(cuMemAllocManaged, (wtcu_deviceptr * at, size_t bytes, unsigned int flags),
        ((void)flags, memory_alloc((void **)at, bytes, WTCUPTI_MEMORY_MANAGED, false)))
FAKE_FN(cuMemGetInfo_v2, (size_t * free_bytes, size_t *total), memory_info(free_bytes, total))

FAKE_FN_PTDS(cuMemcpyHtoD_v2, (wtcu_deviceptr to, const void *from, size_t bytes),
             copy(c, PTR(to), from, bytes, NULL, true))
FAKE_FN_PTDS(cuMemcpyDtoH_v2, (void *to, wtcu_deviceptr from, size_t bytes),
             copy(c, to, PTR(from), bytes, NULL, true))
FAKE_FN_PTDS(cuMemcpyDtoD_v2, (wtcu_deviceptr to, wtcu_deviceptr from, size_t bytes),
             copy(c, PTR(to), PTR(from), bytes, NULL, true))
FAKE_FN_PTDS(cuMemcpy, (wtcu_deviceptr to, wtcu_deviceptr from, size_t bytes),
             copy(c, PTR(to), PTR(from), bytes, NULL, true))
FAKE_FN_PTSZ(cuMemcpyAsync,
             (wtcu_deviceptr to, wtcu_deviceptr from, size_t bytes, wtcu_stream stream),
             copy(c, PTR(to), PTR(from), bytes, stream, false))
FAKE_FN_PTSZ(cuMemcpyHtoDAsync_v2,
             (wtcu_deviceptr to, const void *from, size_t bytes, wtcu_stream stream),
             copy(c, PTR(to), from, bytes, stream, false))
FAKE_FN_PTSZ(cuMemcpyDtoHAsync_v2,
             (void *to, wtcu_deviceptr from, size_t bytes, wtcu_stream stream),
             copy(c, to, PTR(from), bytes, stream, false))
FAKE_FN_PTSZ(cuMemcpyDtoDAsync_v2,
             (wtcu_deviceptr to, wtcu_deviceptr from, size_t bytes, wtcu_stream stream),
             copy(c, PTR(to), PTR(from), bytes, stream, false))
FAKE_FN_PTDS(cuMemsetD8_v2, (wtcu_deviceptr to, unsigned char value, size_t count),
             set(c, PTR(to), value, 1, count, NULL))
FAKE_FN_PTDS(cuMemsetD32_v2, (wtcu_deviceptr to, unsigned int value, size_t count),
             set(c, PTR(to), value, 4, count, NULL))
FAKE_FN_PTSZ(cuMemsetD8Async,
             (wtcu_deviceptr to, unsigned char value, size_t count, wtcu_stream stream),
             set(c, PTR(to), value, 1, count, stream))
FAKE_FN_PTSZ(cuMemsetD32Async,
             (wtcu_deviceptr to, unsigned int value, size_t count, wtcu_stream stream),
             set(c, PTR(to), value, 4, count, stream))
