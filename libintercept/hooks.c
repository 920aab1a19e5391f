/*
 * hooks.c - the wrappers of every hooked call but kernel launches and lookups.
 *
 * All are made from wt_hooks.def by one macro: stamp, call the real entry once, stamp, append a
 * record. Three classes do a little more around it: context creation arms CUPTI and reads the
 * device, graph launches are numbered, captures keep the list of streams in capture.
 *
 * On the threads of the application. No system call, lock, allocation or driver call, except
 * around context creation, which takes milliseconds anyway.
 */
#include <errno.h>

#include "libintercept/cost.h"
#include "libintercept/hooks.h"
#include "libintercept/profile.h"

/* ---- what the classes do before the real call */

/* Arming initialises CUDA if the application hasn't; then it would be us who did. */
static bool is_cuda_initialised(void)
{
	wtcu_device_get_count_fn get_count =
	        (wtcu_device_get_count_fn)wt_driver_entry("cuDeviceGetCount");
	int count;

	return get_count && get_count(&count) == WTCU_SUCCESS;
}

static void before_context(struct wt_call *call)
{
	struct wt_fork_page *page = wt_fork_page();
	int saved_errno = errno;

	(void)call;
	if (!page || wt_load_relaxed(&page->cupti_state) != WT_CUPTI_NONE)
		return;
	if (wt_load_relaxed(&page->forked_late))
		wt_segment_set_capture(WT_CAPTURE_HOOKS_ONLY, WT_REASON_FORKED, 0);
	else if (is_cuda_initialised())
		wt_cupti_arm(false);
	errno = saved_errno;
}

static void before_call(struct wt_call *call)
{
	(void)call;
}

/* `reserved_0` is zero again before the record is written. */
static void before_graph(struct wt_call *call)
{
	if (wt_profile_is_on())
		call->reserved_0 = wt_profile_graph_begin();
}

static void before_capture(struct wt_call *call)
{
	(void)call;
	wt_cupti_hold_captures();
	if (wt_profile_is_on())
		wt_profile_hold();
}

/* ---- and after it */

static void after_context(const struct wt_call *call)
{
	int saved_errno = errno;

	if (call->result != WTCU_SUCCESS)
		return;
	wt_note_cuda_used();
	wt_device_read((int)call->handle);
	errno = saved_errno;
}

static void after_call(const struct wt_call *call)
{
	if (wt_profile_is_on())
		wt_profile_note_call(call);
}

static void after_graph(struct wt_call *call)
{
	if (call->reserved_0)
		wt_profile_graph_end(call);
	call->reserved_0 = 0;
}

static void append(struct wt_call *call, bool is_graph_launch)
{
	struct wt_view *view = wt_view_now();

	/* A process may well launch nothing but graphs: they make the segment too. */
	if (!view && is_graph_launch)
		view = wt_segment_view(call->result == WTCU_SUCCESS);
	if (!view && !is_graph_launch)
		return;
	call->tid = wt_tid();
	call->thread32 = wt_thread32();
	if (view)
		wt_put_call(view, call, is_graph_launch);
	else
		wt_early_keep_graph_launch(call);
}

/* ---- the wrappers */

#define WT_DEFINE(symbol, params, args, handle_, other_, bytes_, before, after, cost)              \
	int wt_hook_##symbol params                                                                \
	{                                                                                          \
		int(*real) params;                                                                 \
		struct wt_call call = {.api = WT_API_##symbol};                                    \
		uint64_t began_ns;                                                                 \
                                                                                                   \
		if (!wt_enter()) {                                                                 \
			real = wt_entry_forward(WT_API_##symbol);                                  \
			return real ? real args : WT_NO_ENTRY;                                     \
		}                                                                                  \
		before(&call);                                                                     \
		began_ns = wt_cost_begin_call(cost);                                               \
		call.handle = (uint64_t)(uintptr_t)(handle_);                                      \
		call.other = (uint64_t)(uintptr_t)(other_);                                        \
		call.bytes = (uint64_t)(bytes_);                                                   \
		call.flags = wt_capture_flags(call.handle, WT_IS_PER_THREAD(symbol));              \
		if (!wt_cupti_is_recording())                                                      \
			call.flags |= WT_FLAG_UNARMED;                                             \
		real = wt_entry_next(WT_API_##symbol);                                             \
		call.entry_ns = wt_now_ns();                                                       \
		call.result = real ? real args : WT_NO_ENTRY;                                      \
		call.return_ns = wt_now_ns();                                                      \
		after(&call);                                                                      \
		append(&call, (cost) == WT_COST_LAUNCH);                                           \
		wt_cost_end_call(cost, began_ns, &call);                                           \
		wt_leave();                                                                        \
		return call.result;                                                                \
	}                                                                                          \
	WT_EXPORT_HOOK(symbol);

#define WT_DEFINE_SYNC(...) WT_DEFINE(__VA_ARGS__, before_call, after_call, WT_COST_CALL)
#define WT_DEFINE_DEPEND(...) WT_DEFINE(__VA_ARGS__, before_call, after_call, WT_COST_CALL)
#define WT_DEFINE_ALLOC(...) WT_DEFINE(__VA_ARGS__, before_call, after_call, WT_COST_CALL)
#define WT_DEFINE_MODULE(...) WT_DEFINE(__VA_ARGS__, before_call, after_call, WT_COST_CALL)
#define WT_DEFINE_GRAPH(...) WT_DEFINE(__VA_ARGS__, before_graph, after_graph, WT_COST_LAUNCH)
#define WT_DEFINE_CONTEXT(...) WT_DEFINE(__VA_ARGS__, before_context, after_context, WT_COST_NONE)
#define WT_DEFINE_LAUNCH(...) /* launch.c */
#define WT_DEFINE_LOOKUP(...) /* lookup.c */

static bool is_per_thread(unsigned api)
{
	return api == WT_API_cuStreamBeginCapture_ptsz ||
	       api == WT_API_cuStreamBeginCapture_v2_ptsz ||
	       api == WT_API_cuStreamBeginCaptureToGraph_ptsz ||
	       api == WT_API_cuStreamEndCapture_ptsz;
}

static void after_capture(const struct wt_call *call)
{
	wt_capture_note((enum wt_api)call->api, call->handle, is_per_thread(call->api),
	                call->result);
	if (wt_profile_is_on())
		wt_profile_unhold();
	wt_cupti_unhold_captures();
}

#define WT_DEFINE_CAPTURE(...) WT_DEFINE(__VA_ARGS__, before_capture, after_capture, WT_COST_NONE)

#define WT_HOOK(id, symbol, class, params, args, handle, other, bytes)                             \
	WT_DEFINE_##class(symbol, params, args, handle, other, bytes)
#include "schema/wt_hooks.def"
