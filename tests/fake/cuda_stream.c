/*
 * cuda_stream.c - streams, events, synchronisation.
 *
 * Under the driver's lock (cuda_int.h). Synchronising calls sleep until the
 * time at which the simulated work ends.
 */
#include <pthread.h>
#include <stdlib.h>

#include "tests/fake/cuda_int.h"

#define MAGIC_EVENT 0x45766e74
#define STREAM_NON_BLOCKING 1u

struct fake_event {
	uint32_t magic;
	uint32_t id;
	bool is_recorded;
	int64_t when_ns;
	struct fake_capture *capture; /* recorded in a capture: belongs to its graph */
	int capture_node;
	struct fake_stream *stream;
};

static uint32_t stream_last_id = 12; /* the first stream an application makes is 13 */
static uint32_t event_last_id;

/* ---- streams -------------------------------------------------------------------- */

static struct fake_stream *stream_new(struct fake_ctx *ctx, unsigned int flags, int priority,
                                      uint64_t owner_thread)
{
	struct fake_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		abort();
	stream->ctx = ctx;
	stream->id = ++stream_last_id;
	stream->flags = flags;
	stream->priority = priority;
	stream->owner_thread = owner_thread;
	stream->capture_last = -1;
	stream->next = ctx->streams;
	ctx->streams = stream;
	return stream;
}

static struct fake_stream *per_thread_stream(struct fake_ctx *ctx)
{
	uint64_t self = (uint64_t)pthread_self();

	for (struct fake_stream *s = ctx->streams; s; s = s->next)
		if (s->owner_thread == self)
			return s;
	return stream_new(ctx, 0, 0, self);
}

struct fake_stream *fake_stream_by_handle(struct fake_ctx *ctx, wtcu_stream handle, bool per_thread)
{
	if (handle == WTCU_STREAM_PER_THREAD || (!handle && per_thread))
		return per_thread_stream(ctx);
	if (handle == WTCU_STREAM_LEGACY || !handle)
		return &ctx->legacy;
	for (struct fake_ctx *any = fake_contexts; any; any = any->next)
		for (struct fake_stream *s = any->streams; s; s = s->next)
			if (s == (struct fake_stream *)handle)
				return s;
	return NULL;
}

struct fake_stream *fake_stream_of(const struct fake_call *c, wtcu_stream handle,
                                   wtcu_result *ret_error)
{
	struct fake_ctx *ctx = fake_current_ctx();
	struct fake_stream *stream = NULL;

	*ret_error = ctx ? WTCU_ERROR_CONTEXT_IS_DESTROYED : WTCU_ERROR_INVALID_CONTEXT;
	if (!ctx || !ctx->is_alive)
		return NULL;
	stream = fake_stream_by_handle(ctx, handle, c->per_thread);
	*ret_error = stream ? WTCU_SUCCESS : WTCU_ERROR_INVALID_HANDLE;
	return stream;
}

int64_t fake_stream_ready_ns(struct fake_stream *stream)
{
	struct fake_ctx *ctx = stream->ctx;
	int64_t ready_ns = stream->tail_ns;

	if (stream == &ctx->legacy) {
		for (struct fake_stream *s = ctx->streams; s; s = s->next)
			if (!(s->flags & STREAM_NON_BLOCKING) && s->tail_ns > ready_ns)
				ready_ns = s->tail_ns;
	} else if (!(stream->flags & STREAM_NON_BLOCKING) && ctx->legacy.tail_ns > ready_ns) {
		ready_ns = ctx->legacy.tail_ns;
	}
	return ready_ns;
}

enum fake_wait fake_stream_ready_by(struct fake_stream *stream)
{
	return fake_stream_ready_ns(stream) > stream->tail_ns ? FAKE_WAIT_DEFAULT : stream->tail_by;
}

void fake_stream_advance(struct fake_stream *stream, int64_t end_ns, enum fake_wait by)
{
	if (end_ns <= stream->tail_ns)
		return;
	stream->tail_ns = end_ns;
	stream->tail_by = by;
}

int64_t fake_ctx_tail_ns(struct fake_ctx *ctx)
{
	int64_t tail_ns = ctx->legacy.tail_ns;

	for (struct fake_stream *s = ctx->streams; s; s = s->next)
		if (s->tail_ns > tail_ns)
			tail_ns = s->tail_ns;
	return tail_ns;
}

static int host_fns_pending(struct fake_ctx *ctx, struct fake_stream *stream)
{
	int pending = stream ? stream->pending_host_fns : ctx->legacy.pending_host_fns;

	for (struct fake_stream *s = stream ? NULL : ctx->streams; s; s = s->next)
		pending += s->pending_host_fns;
	return pending;
}

/* Waits for all work of a stream, or of the context where it is NULL. */
void fake_stream_drain(struct fake_ctx *ctx, struct fake_stream *stream)
{
	fake_wait_until(stream ? fake_stream_ready_ns(stream) : fake_ctx_tail_ns(ctx));
	while (host_fns_pending(ctx, stream))
		fake_wait_announced();
}

wtcu_stream fake_stream_new(struct fake_ctx *ctx, unsigned int flags, int priority)
{
	return (wtcu_stream)stream_new(ctx, flags, priority, 0);
}

void fake_streams_forget(struct fake_ctx *ctx)
{
	while (ctx->streams) {
		struct fake_stream *next = ctx->streams->next;

		free(ctx->streams);
		ctx->streams = next;
	}
}

static void tell_sync(const struct fake_call *c, int type, struct fake_ctx *ctx,
                      const struct fake_stream *stream, const struct fake_event *event)
{
	struct fake_sync sync = {
	        .type = type,
	        .correlation = c->correlation,
	        .context_id = ctx->id,
	        .stream_id = stream ? stream->id : UINT32_MAX,
	        .event_id = event ? event->id : UINT32_MAX,
	        .start_ns = c->enter_ns,
	        .end_ns = fake_now_ns(),
	};

	if (fake_tools)
		fake_tools->sync(&sync);
}

static wtcu_result stream_create(wtcu_stream *handle, unsigned int flags, int priority)
{
	struct fake_ctx *ctx = fake_current_ctx();

	if (!handle || flags > STREAM_NON_BLOCKING)
		return WTCU_ERROR_INVALID_VALUE;
	if (!ctx)
		return WTCU_ERROR_INVALID_CONTEXT;
	*handle = (wtcu_stream)stream_new(ctx, flags, priority, 0);
	return WTCU_SUCCESS;
}

/* The driver lets pending work finish; its times are known, so nothing is left to keep. */
static wtcu_result stream_destroy(const struct fake_call *c, wtcu_stream handle)
{
	wtcu_result error;
	struct fake_stream *stream = fake_stream_of(c, handle, &error);

	if (!stream)
		return error;
	if (stream == &stream->ctx->legacy || stream->owner_thread)
		return WTCU_ERROR_INVALID_HANDLE;
	while (stream->pending_host_fns)
		fake_wait_announced();
	/* Work of a destroyed stream still counts for the context. */
	fake_stream_advance(&stream->ctx->legacy, stream->tail_ns, FAKE_WAIT_DEFAULT);
	for (struct fake_stream **at = &stream->ctx->streams; *at; at = &(*at)->next) {
		if (*at == stream) {
			*at = stream->next;
			break;
		}
	}
	free(stream);
	return WTCU_SUCCESS;
}

static wtcu_result stream_sync(const struct fake_call *c, wtcu_stream handle)
{
	wtcu_result error;
	struct fake_stream *stream = fake_stream_of(c, handle, &error);

	if (!stream)
		return error;
	error = fake_capture_forbids();
	if (error)
		return error;
	fake_stream_drain(stream->ctx, stream);
	tell_sync(c, WTCUPTI_SYNC_STREAM_SYNCHRONIZE, stream->ctx, stream, NULL);
	return WTCU_SUCCESS;
}

static wtcu_result ctx_sync(const struct fake_call *c)
{
	struct fake_ctx *ctx = fake_current_ctx();
	wtcu_result error = fake_capture_forbids();

	if (!ctx || error)
		return ctx ? error : WTCU_ERROR_INVALID_CONTEXT;
	fake_stream_drain(ctx, NULL);
	tell_sync(c, WTCUPTI_SYNC_CONTEXT_SYNCHRONIZE, ctx, NULL, NULL);
	return WTCU_SUCCESS;
}

static wtcu_result stream_query(const struct fake_call *c, wtcu_stream handle)
{
	wtcu_result error;
	struct fake_stream *stream = fake_stream_of(c, handle, &error);

	if (!stream)
		return error;
	error = fake_capture_forbids();
	if (error)
		return error;
	return fake_stream_ready_ns(stream) > fake_now_ns() || stream->pending_host_fns
	               ? WTCU_ERROR_NOT_READY
	               : WTCU_SUCCESS;
}

static wtcu_result stream_value(const struct fake_call *c, wtcu_stream handle, int *value,
                                bool want_priority)
{
	wtcu_result error;
	struct fake_stream *stream = fake_stream_of(c, handle, &error);

	if (!stream || !value)
		return stream ? WTCU_ERROR_INVALID_VALUE : error;
	*value = want_priority ? stream->priority : (int)stream->flags;
	return WTCU_SUCCESS;
}

static wtcu_result stream_ctx(const struct fake_call *c, wtcu_stream handle, wtcu_context *context)
{
	wtcu_result error;
	struct fake_stream *stream = fake_stream_of(c, handle, &error);

	if (!stream || !context)
		return stream ? WTCU_ERROR_INVALID_VALUE : error;
	*context = (wtcu_context)stream->ctx;
	return WTCU_SUCCESS;
}

/* ---- events ----------------------------------------------------------------------- */

static struct fake_event *event_of(wtcu_event handle)
{
	struct fake_event *event = (struct fake_event *)handle;

	return event && event->magic == MAGIC_EVENT ? event : NULL;
}

static wtcu_result event_create(wtcu_event *handle)
{
	struct fake_event *event;

	if (!handle)
		return WTCU_ERROR_INVALID_VALUE;
	if (!fake_current_ctx())
		return WTCU_ERROR_INVALID_CONTEXT;
	event = calloc(1, sizeof(*event));
	if (!event)
		abort();
	event->magic = MAGIC_EVENT;
	event->id = ++event_last_id;
	*handle = (wtcu_event)event;
	return WTCU_SUCCESS;
}

static wtcu_result event_destroy(wtcu_event handle)
{
	struct fake_event *event = event_of(handle);

	if (!event)
		return WTCU_ERROR_INVALID_HANDLE;
	event->magic = 0;
	free(event);
	return WTCU_SUCCESS;
}

static wtcu_result event_record(const struct fake_call *c, wtcu_event handle, wtcu_stream on)
{
	struct fake_event *event = event_of(handle);
	wtcu_result error;
	struct fake_stream *stream = fake_stream_of(c, on, &error);

	if (!event || !stream)
		return stream ? WTCU_ERROR_INVALID_HANDLE : error;
	event->capture = stream->capture;
	event->capture_node = stream->capture_last;
	event->is_recorded = true;
	event->stream = stream;
	event->when_ns = fake_stream_ready_ns(stream);
	if (event->when_ns < c->enter_ns)
		event->when_ns = c->enter_ns;
	return WTCU_SUCCESS;
}

static wtcu_result event_sync(const struct fake_call *c, wtcu_event handle)
{
	struct fake_event *event = event_of(handle);
	wtcu_result error = fake_capture_forbids();

	if (!event || error)
		return event ? error : WTCU_ERROR_INVALID_HANDLE;
	if (event->capture)
		return WTCU_ERROR_CAPTURED_EVENT;
	if (event->is_recorded)
		fake_wait_until(event->when_ns);
	if (fake_current_ctx())
		tell_sync(c, WTCUPTI_SYNC_EVENT_SYNCHRONIZE, fake_current_ctx(), NULL, event);
	return WTCU_SUCCESS;
}

static wtcu_result event_query(wtcu_event handle)
{
	struct fake_event *event = event_of(handle);

	if (!event)
		return WTCU_ERROR_INVALID_HANDLE;
	if (event->capture)
		return WTCU_ERROR_CAPTURED_EVENT;
	return event->is_recorded && event->when_ns > fake_now_ns() ? WTCU_ERROR_NOT_READY
	                                                            : WTCU_SUCCESS;
}

static wtcu_result event_elapsed(float *ms, wtcu_event from, wtcu_event to)
{
	struct fake_event *first = event_of(from);
	struct fake_event *last = event_of(to);

	if (!ms)
		return WTCU_ERROR_INVALID_VALUE;
	if (!first || !last || !first->is_recorded || !last->is_recorded)
		return WTCU_ERROR_INVALID_HANDLE;
	if (last->when_ns > fake_now_ns() || first->when_ns > fake_now_ns())
		return WTCU_ERROR_NOT_READY;
	*ms = (float)((double)(last->when_ns - first->when_ns) / 1e6);
	return WTCU_SUCCESS;
}

/* Waiting for an event of a capture brings the waiting stream into that capture. */
static wtcu_result stream_wait_captured(struct fake_stream *stream, struct fake_event *event)
{
	struct fake_node join = {.kind = FAKE_NODE_EMPTY, .dep_count = 1};

	if (event->capture->has_ended)
		return WTCU_ERROR_CAPTURED_EVENT;
	if (stream->capture && stream->capture != event->capture)
		return WTCU_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (event->capture_node < 0 && stream->capture)
		return WTCU_SUCCESS;
	stream->capture = event->capture;
	if (stream->capture_last < 0) {
		stream->capture_last = event->capture_node;
		return WTCU_SUCCESS;
	}
	join.deps[0] = event->capture_node;
	return fake_capture_add(stream, &join);
}

static wtcu_result stream_wait(const struct fake_call *c, wtcu_stream handle, wtcu_event on)
{
	struct fake_event *event = event_of(on);
	wtcu_result error;
	struct fake_stream *stream = fake_stream_of(c, handle, &error);

	if (!stream || !event)
		return stream ? WTCU_ERROR_INVALID_HANDLE : error;
	if (event->capture)
		return stream_wait_captured(stream, event);
	if (stream->capture)
		return WTCU_SUCCESS; /* an event from outside: already done when the graph runs */
	stream->was_told = true;
	if (event->is_recorded)
		fake_stream_advance(stream, event->when_ns, FAKE_WAIT_EVENT);
	tell_sync(c, WTCUPTI_SYNC_STREAM_WAIT_EVENT, stream->ctx, stream, event);
	return WTCU_SUCCESS;
}

FAKE_FN(cuStreamCreate, (wtcu_stream * stream, unsigned int flags), stream_create(stream, flags, 0))
FAKE_FN(cuStreamCreateWithPriority, (wtcu_stream * stream, unsigned int flags, int priority),
        stream_create(stream, flags, priority))
FAKE_FN(cuStreamDestroy_v2, (wtcu_stream stream), stream_destroy(c, stream))
FAKE_FN_PTSZ(cuStreamSynchronize, (wtcu_stream stream), stream_sync(c, stream))
FAKE_FN(cuCtxSynchronize, (void), ctx_sync(c))
FAKE_FN_PTSZ(cuStreamQuery, (wtcu_stream stream), stream_query(c, stream))
FAKE_FN_PTSZ(cuStreamGetPriority, (wtcu_stream stream, int *priority),
             stream_value(c, stream, priority, true))
FAKE_FN_PTSZ(cuStreamGetFlags, (wtcu_stream stream, unsigned int *flags),
             stream_value(c, stream, (int *)flags, false))
FAKE_FN_PTSZ(cuStreamGetCtx, (wtcu_stream stream, wtcu_context *context),
             stream_ctx(c, stream, context))
FAKE_FN_PTSZ(cuStreamWaitEvent, (wtcu_stream stream, wtcu_event event, unsigned int flags),
             ((void)flags, stream_wait(c, stream, event)))
FAKE_FN(cuEventCreate, (wtcu_event * event, unsigned int flags), ((void)flags, event_create(event)))
FAKE_FN(cuEventDestroy_v2, (wtcu_event event), event_destroy(event))
FAKE_FN_PTSZ(cuEventRecord, (wtcu_event event, wtcu_stream stream), event_record(c, event, stream))
FAKE_FN_PTSZ(cuEventRecordWithFlags, (wtcu_event event, wtcu_stream stream, unsigned int flags),
             ((void)flags, event_record(c, event, stream)))
FAKE_FN(cuEventSynchronize, (wtcu_event event), event_sync(c, event))
FAKE_FN(cuEventQuery, (wtcu_event event), event_query(event))
FAKE_FN(cuEventElapsedTime, (float *ms, wtcu_event from, wtcu_event to),
        event_elapsed(ms, from, to))
