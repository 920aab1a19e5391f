/*
 * profile_gate.c - what forbids profiling, as the hooks and CUPTI's records see it.
 *
 * Profiling makes launches wait for the GPU, one by one. That is harmless where kernels follow each
 * other, and a hang or a lie where they need each other at once. So it ends for good, with the
 * reason, as soon as there is seen, from the first launch on:
 *
 *   collective    a kernel record with a name of NCCL's or NVSHMEM's
 *   cooperative   a cooperative launch, or a record of one
 *   host function its wait may need what the launching thread holds (a lock, Python's)
 *   concurrent    a launch on another stream than the one before it, unless it is known to follow
 *                 it; or two kernel records of one device that overlap, from different streams
 *
 * A launch on another stream is known to follow if meanwhile the context or the last stream was
 * synchronised, if the stream was told to wait for an event and nothing was launched since, or if one
 * of both streams is the default stream and the other waits for that by its kind. This can call ordered
 * what is not (an event from before the last launch): then the records tell, within a second.
 *
 * Any thread of the application, and CUPTI's; lock-free. Only wt_profile_hold waits, for a launch that
 * is being profiled, HOLD_LIMIT_NS at most.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "libintercept/hooks.h"
#include "libintercept/profile.h"

#define ALL_STREAMS UINT64_MAX
#define OVERLAP_NS UINT64_C(1000) /* 160 ns were seen between kernels of one stream (H200) */
#define HOLD_LIMIT_NS UINT64_C(2000000000)
#define HOLD_POLL_NS 100000
#define NON_BLOCKING 1u /* CU_STREAM_NON_BLOCKING */

typedef wtcu_result (*stream_get_flags_fn)(wtcu_stream stream, unsigned *flags);

/* ---- the order of launches */

static bool is_per_thread(unsigned api)
{
	switch (api) {
	case WT_API_cuLaunchKernel_ptsz:
	case WT_API_cuLaunchKernelEx_ptsz:
	case WT_API_cuLaunchCooperativeKernel_ptsz:
	case WT_API_cuGraphLaunch_ptsz:
	case WT_API_cuStreamSynchronize_ptsz:
	case WT_API_cuStreamWaitEvent_ptsz:
		return true;
	default:
		return false;
	}
}

#define DEFAULT_STREAM 1 /* its key */

/* Handle + 1; the per-thread default stream by its thread: see slot_key in capture.c. Never 0. */
static uint64_t stream_key(unsigned api, uint64_t stream)
{
	if (stream == (uintptr_t)WTCU_STREAM_PER_THREAD || (is_per_thread(api) && !stream))
		return (uint64_t)(uintptr_t)pthread_self() + 2;
	return stream == (uintptr_t)WTCU_STREAM_LEGACY ? DEFAULT_STREAM : stream + 1;
}

/* Does the stream of this key wait for the default stream, and that for it? By its flags; asks the
 * driver, which is not done while anything is being captured. */
static bool is_blocking(uint64_t key)
{
	struct wt_fork_page *page = wt_fork_page();
	stream_get_flags_fn get = (stream_get_flags_fn)wt_driver_entry("cuStreamGetFlags");
	unsigned flags = NON_BLOCKING;

	if (!get || !page || wt_load_relaxed(&page->captures_open) ||
	    key == (uint64_t)(uintptr_t)pthread_self() + 2)
		return false;
	return get((wtcu_stream)(uintptr_t)(key - 1), &flags) == WTCU_SUCCESS &&
	       !(flags & NON_BLOCKING);
}

static bool is_by_default_stream(uint64_t last, uint64_t key)
{
	if (last != DEFAULT_STREAM && key != DEFAULT_STREAM)
		return false;
	return is_blocking(key == DEFAULT_STREAM ? last : key);
}

void wt_profile_gate_launch(struct wt_profile_run *run, unsigned api, uint64_t stream)
{
	uint64_t key = stream_key(api, stream);
	uint64_t last = atomic_exchange(&run->last_stream, key);
	uint64_t ordered = atomic_exchange(&run->ordered_stream, 0);

	if (last && last != key && ordered != ALL_STREAMS && ordered != key &&
	    !is_by_default_stream(last, key))
		wt_profile_stop(run, WT_PROFILE_CONCURRENT, 0);
}

/* ---- other calls */

void wt_profile_note_call(const struct wt_call *call)
{
	struct wt_profile_run *run = wt_profile_run_now();

	if (!run || call->result != WTCU_SUCCESS)
		return;
	switch (call->api) {
	case WT_API_cuCtxSynchronize:
	case WT_API_cuCtxSynchronize_v2:
		atomic_store(&run->ordered_stream, ALL_STREAMS);
		break;
	case WT_API_cuStreamSynchronize:
	case WT_API_cuStreamSynchronize_ptsz:
		/* All launches before the last one are done by then, each following the one before. */
		if (stream_key(call->api, call->handle) == atomic_load(&run->last_stream))
			atomic_store(&run->ordered_stream, ALL_STREAMS);
		break;
	case WT_API_cuStreamWaitEvent:
	case WT_API_cuStreamWaitEvent_ptsz:
		if (atomic_load(&run->ordered_stream) != ALL_STREAMS)
			atomic_store(&run->ordered_stream, stream_key(call->api, call->handle));
		break;
	case WT_API_cuLaunchHostFunc:
	case WT_API_cuLaunchHostFunc_ptsz:
		wt_profile_stop(run, WT_PROFILE_HOST_FUNCTION, 0);
		break;
	default:
		break;
	}
}

bool wt_profile_graph_begin(void)
{
	struct wt_profile_run *run = wt_profile_is_on() ? wt_profile_run_now() : NULL;

	if (run)
		atomic_fetch_add(&run->begun, 1);
	return run != NULL;
}

void wt_profile_graph_end(const struct wt_call *call)
{
	struct wt_profile_run *run = wt_profile_run_now();

	if (!run)
		return;
	if (!(call->flags & WT_FLAG_CAPTURE_STREAM))
		wt_profile_gate_launch(run, call->api, call->handle);
	atomic_fetch_add(&run->ended, 1);
}

/* ---- captures: synchronising beside one ends it */

void wt_profile_hold(void)
{
	struct timespec pause = {.tv_nsec = HOLD_POLL_NS};
	struct wt_profile_run *run = wt_profile_run_now();
	uint64_t limit_ns;
	int saved_errno = errno;

	if (!run)
		return;
	limit_ns = wt_profile_clock_ns() + HOLD_LIMIT_NS;
	atomic_fetch_add(&run->holds, 1); /* partner: is_free in profile.c */
	while (atomic_load(&run->busy) && wt_profile_is_on() && wt_profile_clock_ns() < limit_ns)
		nanosleep(&pause, NULL);
	errno = saved_errno;
}

void wt_profile_unhold(void)
{
	struct wt_profile_run *run = wt_profile_run_now();
	uint64_t holds = run ? atomic_load(&run->holds) : 0;

	/* Never below zero: profiling may have begun in the midst of the call. */
	while (holds && !atomic_compare_exchange_weak(&run->holds, &holds, holds - 1))
		;
}

/* ---- what ran */

/* As analysis/collective.c, which the library can't link. */
static bool is_collective(const char *name)
{
	static const char *const marks[] = {"ncclDevKernel", "ncclKernel_", "nvshmemi_",
	                                    "nvshmem_"};

	for (size_t i = 0; name && i < sizeof(marks) / sizeof(marks[0]); i++)
		if (strstr(name, marks[i]))
			return true;
	return false;
}

/* Two nodes of graphs don't count: graphs are left alone, whatever goes on in them. */
static bool is_beside(const struct wt_kernel *a, const struct wt_kernel *b)
{
	uint64_t start_ns = a->start_ns > b->start_ns ? a->start_ns : b->start_ns;
	uint64_t end_ns = a->end_ns < b->end_ns ? a->end_ns : b->end_ns;

	return a->device == b->device &&
	       (a->stream_id != b->stream_id || a->context_id != b->context_id) &&
	       (!a->graph_node_id || !b->graph_node_id) && end_ns > start_ns &&
	       end_ns - start_ns > OVERLAP_NS;
}

void wt_profile_note_kernel(struct wt_profile_recent *recent, const struct wt_kernel *kernel,
                            const char *name)
{
	struct wt_profile_run *run = wt_profile_run_now();

	if (!run || wt_load_relaxed(&run->stop))
		return;
	if (is_collective(name))
		wt_profile_stop(run, WT_PROFILE_COLLECTIVE, 0);
	if (kernel->launch_type)
		wt_profile_stop(run, WT_PROFILE_COOPERATIVE, 0);
	if (!kernel->start_ns || kernel->end_ns <= kernel->start_ns)
		return;
	for (uint32_t i = 0; i < recent->count && i < WT_PROFILE_RECENT; i++)
		if (is_beside(&recent->kernel[i], kernel))
			wt_profile_stop(run, WT_PROFILE_CONCURRENT, 0);
	recent->kernel[recent->count++ % WT_PROFILE_RECENT] = *kernel;
}
