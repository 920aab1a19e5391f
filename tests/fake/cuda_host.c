/*
 * cuda_host.c - host functions of streams: one thread, started by the first of
 * them, calls each when its time has come.
 *
 * The queue has a lock of its own, taken under the driver's; the thread holds
 * neither while it sleeps or calls.
 */
#include <pthread.h>
#include <stdlib.h>

#include "tests/fake/cuda_int.h"

struct host_fn {
	struct host_fn *next;
	struct fake_stream *stream;
	int64_t when_ns;
	wtcu_host_fn fn;
	void *data;
};

static struct host_fn *host_queue;
static pthread_mutex_t host_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t host_wake = PTHREAD_COND_INITIALIZER;
static bool host_thread_runs;

static void *host_thread(void *unused)
{
	pthread_mutex_lock(&host_lock);
	for (;;) {
		struct host_fn *first;

		while (!host_queue)
			pthread_cond_wait(&host_wake, &host_lock);
		first = host_queue;
		host_queue = first->next;
		pthread_mutex_unlock(&host_lock);
		fake_sleep_until_ns(first->when_ns);
		first->fn(first->data);
		fake_host_fn_done(first->stream);
		free(first);
		pthread_mutex_lock(&host_lock);
	}
	return unused;
}

void fake_host_fn_add(struct fake_stream *stream, int64_t when_ns, wtcu_host_fn fn, void *data)
{
	struct host_fn *added = malloc(sizeof(*added));
	struct host_fn **at = &host_queue;
	pthread_t thread;

	if (!added)
		abort();
	*added = (struct host_fn){.stream = stream, .when_ns = when_ns, .fn = fn, .data = data};
	stream->pending_host_fns++;
	pthread_mutex_lock(&host_lock);
	if (!host_thread_runs && !pthread_create(&thread, NULL, host_thread, NULL)) {
		pthread_detach(thread);
		host_thread_runs = true;
	}
	while (*at && (*at)->when_ns <= when_ns)
		at = &(*at)->next;
	added->next = *at;
	*at = added;
	pthread_cond_signal(&host_wake);
	pthread_mutex_unlock(&host_lock);
}

static wtcu_result launch_host_fn(const struct fake_call *c, wtcu_stream handle, wtcu_host_fn fn,
                                  void *data)
{
	struct fake_node node = {.kind = FAKE_NODE_HOST, .host_fn = fn, .host_data = data};
	wtcu_result error;
	struct fake_stream *stream = fake_stream_of(c, handle, &error);
	int64_t when_ns;

	if (!stream || !fn)
		return stream ? WTCU_ERROR_INVALID_VALUE : error;
	if (stream->capture)
		return fake_capture_add(stream, &node);
	when_ns = fake_stream_ready_ns(stream);
	if (when_ns < c->enter_ns)
		when_ns = c->enter_ns;
	stream->was_told = true;
	fake_stream_advance(stream, when_ns, FAKE_WAIT_HOST);
	fake_host_fn_add(stream, when_ns, fn, data);
	return WTCU_SUCCESS;
}

FAKE_FN_PTSZ(cuLaunchHostFunc, (wtcu_stream stream, wtcu_host_fn fn, void *data),
             launch_host_fn(c, stream, fn, data))
