/*
 * cuda_capture.c - stream capture: launches that become nodes of a graph.
 *
 * Under the driver's lock. A capture spreads to streams that wait for its
 * events (cuda_stream.c); a call it forbids is refused and spoils it.
 */
#include <pthread.h>
#include <stdlib.h>

#include "tests/fake/cuda_int.h"

#define CAPTURES_MAX 16

static struct fake_capture *captures[CAPTURES_MAX];
/* Kept, because events recorded in a capture still point to it after its end. */
static struct fake_capture *ended_captures;
static uint64_t capture_last_id;
static __thread int thread_capture_mode;

static wtcu_result capture_begin(const struct fake_call *c, wtcu_stream handle,
                                 struct fake_graph *into, int mode)
{
	wtcu_result error;
	struct fake_stream *stream = fake_stream_of(c, handle, &error);
	struct fake_capture *capture;
	int slot = 0;

	if (!stream)
		return error;
	/* The legacy stream would draw every other stream in. */
	if (stream == &stream->ctx->legacy)
		return WTCU_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (stream->capture)
		return WTCU_ERROR_NOT_PERMITTED;
	while (slot < CAPTURES_MAX && captures[slot])
		slot++;
	capture = slot < CAPTURES_MAX ? calloc(1, sizeof(*capture)) : NULL;
	if (!capture)
		return WTCU_ERROR_OUT_OF_MEMORY;
	if (!into && fake_graph_new(&capture->graph)) {
		free(capture);
		return WTCU_ERROR_OUT_OF_MEMORY;
	}
	if (into)
		capture->graph = into;
	capture->owns_graph = !into;
	capture->id = ++capture_last_id;
	capture->mode = mode;
	capture->owner_thread = (uint64_t)pthread_self();
	capture->origin = stream;
	captures[slot] = capture;
	stream->capture = capture;
	stream->capture_last = -1;
	return WTCU_SUCCESS;
}

wtcu_result fake_capture_add(struct fake_stream *stream, const struct fake_node *node)
{
	struct fake_capture *capture = stream->capture;
	struct fake_node added = *node;

	if (capture->is_invalid)
		return WTCU_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (stream->capture_last >= 0)
		added.deps[added.dep_count++] = stream->capture_last;
	if (!fake_graph_add(capture->graph, &added))
		return WTCU_ERROR_OUT_OF_MEMORY;
	stream->capture_last = capture->graph->node_count - 1;
	return WTCU_SUCCESS;
}

wtcu_result fake_capture_spoil(struct fake_stream *stream)
{
	struct fake_capture *capture = stream->capture;

	if (capture->is_invalid)
		return WTCU_ERROR_STREAM_CAPTURE_INVALIDATED;
	capture->is_invalid = true;
	return WTCU_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

wtcu_result fake_capture_forbids(void)
{
	uint64_t self = (uint64_t)pthread_self();
	wtcu_result error = WTCU_SUCCESS;

	if (thread_capture_mode == WTCU_CAPTURE_MODE_RELAXED)
		return WTCU_SUCCESS;
	for (int i = 0; i < CAPTURES_MAX; i++) {
		struct fake_capture *capture = captures[i];

		if (!capture || capture->mode == WTCU_CAPTURE_MODE_RELAXED ||
		    (capture->mode == WTCU_CAPTURE_MODE_THREAD_LOCAL &&
		     capture->owner_thread != self))
			continue;
		capture->is_invalid = true;
		error = WTCU_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	return error;
}

static void capture_close(struct fake_ctx *ctx, struct fake_capture *capture)
{
	for (struct fake_stream *s = ctx->streams; s; s = s->next) {
		if (s->capture == capture) {
			s->capture = NULL;
			s->capture_last = -1;
		}
	}
	for (int i = 0; i < CAPTURES_MAX; i++)
		if (captures[i] == capture)
			captures[i] = NULL;
	capture->has_ended = true;
	capture->next = ended_captures;
	ended_captures = capture;
}

static wtcu_result capture_end(const struct fake_call *c, wtcu_stream handle, wtcu_graph *graph)
{
	wtcu_result error;
	struct fake_stream *stream = fake_stream_of(c, handle, &error);
	struct fake_capture *capture;

	if (!stream || !graph)
		return stream ? WTCU_ERROR_INVALID_VALUE : error;
	capture = stream->capture;
	if (!capture)
		return WTCU_ERROR_NOT_PERMITTED;
	if (capture->origin != stream)
		return WTCU_ERROR_STREAM_CAPTURE_UNMATCHED;
	if (capture->mode != WTCU_CAPTURE_MODE_RELAXED &&
	    capture->owner_thread != (uint64_t)pthread_self())
		return WTCU_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	capture_close(stream->ctx, capture);
	if (capture->is_invalid) {
		*graph = NULL;
		if (capture->owns_graph)
			fake_graph_free(capture->graph);
		return WTCU_ERROR_STREAM_CAPTURE_INVALIDATED;
	}
	*graph = (wtcu_graph)capture->graph;
	return WTCU_SUCCESS;
}

static wtcu_result capture_info(const struct fake_call *c, wtcu_stream handle, int *status,
                                uint64_t *id, wtcu_graph *graph)
{
	wtcu_result error;
	struct fake_stream *stream = fake_stream_of(c, handle, &error);

	if (!stream || !status)
		return stream ? WTCU_ERROR_INVALID_VALUE : error;
	*status = !stream->capture              ? WTCU_CAPTURE_STATUS_NONE
	          : stream->capture->is_invalid ? WTCU_CAPTURE_STATUS_INVALIDATED
	                                        : WTCU_CAPTURE_STATUS_ACTIVE;
	if (id && stream->capture)
		*id = stream->capture->id;
	if (graph && stream->capture)
		*graph = (wtcu_graph)stream->capture->graph;
	return WTCU_SUCCESS;
}

static wtcu_result exchange_mode(int *mode)
{
	int old = thread_capture_mode;

	if (!mode || *mode < 0 || *mode > WTCU_CAPTURE_MODE_RELAXED)
		return WTCU_ERROR_INVALID_VALUE;
	thread_capture_mode = *mode;
	*mode = old;
	return WTCU_SUCCESS;
}

FAKE_FN_PTSZ(cuStreamBeginCapture_v2, (wtcu_stream stream, int mode),
             capture_begin(c, stream, NULL, mode))
FAKE_FN_PTSZ(cuStreamBeginCaptureToGraph,
             (wtcu_stream stream, wtcu_graph graph, const wtcu_graph_node *deps,
              const void *dep_data, size_t dep_count, int mode),
             ((void)deps, (void)dep_data, (void)dep_count,
              fake_graph_of(graph) ? capture_begin(c, stream, fake_graph_of(graph), mode)
                                   : WTCU_ERROR_INVALID_VALUE))
FAKE_FN_PTSZ(cuStreamEndCapture, (wtcu_stream stream, wtcu_graph *graph),
             capture_end(c, stream, graph))
FAKE_FN_PTSZ(cuStreamIsCapturing, (wtcu_stream stream, int *status),
             capture_info(c, stream, status, NULL, NULL))
FAKE_FN(cuStreamGetCaptureInfo_v2,
        (wtcu_stream stream, int *status, uint64_t *id, wtcu_graph *graph,
         const wtcu_graph_node **deps, size_t *dep_count),
        ((void)deps, (void)dep_count, capture_info(c, stream, status, id, graph)))
FAKE_FN(cuThreadExchangeStreamCaptureMode, (int *mode), exchange_mode(mode))
