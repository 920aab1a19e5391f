/*
 * share.c - the CUPTI functions that the application's own profiler calls, and we answer.
 *
 * CUPTI serves one client per process. torch.profiler, Proton, JAX and others expect to be
 * it, and so do we. The exports below stand between: calls that would take CUPTI away from us
 * are remembered and emulated (share_feed.c delivers the records), the rest are passed on.
 *
 *   register callbacks   remembered; ours stay with CUPTI. In a process that has not armed
 *                        CUPTI yet we arm first, with the caller's libcupti: registering
 *                        later would pull the callbacks from under a running session, and
 *                        buffers already lent would come back to the wrong party
 *   enable, disable      of kinds we need: a time window; of others: passed on. DRIVER and RUNTIME never
 *                        reach CUPTI as kinds: switching it off once takes our launch
 *                        records away for good (CUPTI 13.0: no call brings single ones
 *                        back). They become all their calls, one by one, which cost
 *                        the same and can be taken back without ours
 *   flush                passed on first, then the borrowed buffer goes back empty
 *   dropped records      from our own count, for CUPTI's counter resets on reading
 *   time-stamp callback  kept from CUPTI: its copies of the records are converted (cupti_clock.c)
 *   attributes           per-thread and pre-zeroed buffers describe the caller's buffers, not
 *                        ours: remembered; others are passed on
 *   subscribe            passed on: we don't use the seat. A refused subscribe_v2 may be our
 *                        fault (it does not mix with the global API): then we give up CUPTI
 *   finalize             ends the application's session, success; CUPTI stays
 *
 * WHOSE CALL. A caller linked with another libcupti than the one armed gets its own, and so
 * do libcupti's own calls. If the driver refuses that other one because of ours, we give CUPTI up.
 * Who looks functions up, in whichever copy: share_copy.c. Without an armed CUPTI (also in a forked
 * child) everything is passed on.
 *
 * THREADS. Any thread of the application, also from within its callbacks. May block as the
 * real functions do; no lock of ours is held across them. Not on the launch path.
 */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "libintercept/share.h"

#define ARMING_WAIT_MS 500
#define SETTLE_MS 1000

/* Kinds that are on for the application alone; bit per kind. */
static _Atomic uint64_t passed_kinds;

/* What the application said of all-sync records: 0 = nothing, 1 = off, 2 = on. */
static _Atomic uint64_t all_sync_wish;

/* ---- who calls, and whom do they mean */

/* Armed, or resting: after a thread that is arming, or our own that gives our records up. */
static bool is_settled(void)
{
	struct timespec pause = {.tv_nsec = 1000000};
	enum wt_cupti_state state = wt_cupti_state_now();

	for (int i = 0;
	     (state == WT_CUPTI_ARMING || state == WT_CUPTI_STEPPING) && i < ARMING_WAIT_MS; i++) {
		nanosleep(&pause, NULL);
		state = wt_cupti_state_now();
	}
	return wt_cupti_is_held();
}

struct wt_share_target wt_share_find_target(uintptr_t caller, bool may_arm)
{
	char soname[WT_SONAME_BYTES];
	struct wt_share_target target = {0};
	uintptr_t own = wt_cupti_base_of(caller);
	uintptr_t hint = wt_share_hint();

	if (own) { /* libcupti calling itself through the symbol table */
		target.handle = wt_cupti_loaded("", own);
		return target;
	}
	wt_cupti_linked_soname(caller, soname);
	if (may_arm && wt_cupti_state_now() == WT_CUPTI_NONE)
		wt_cupti_arm_with(false, soname[0] ? wt_cupti_address_of(soname) : hint);
	if (!is_settled()) {
		target.handle = wt_cupti_loaded(soname, soname[0] ? 0 : hint);
		return target;
	}
	if (soname[0] && strcmp(soname, wt_cupti.soname)) {
		target.handle = wt_cupti_loaded(soname, 0);
		if (target.handle)
			return target;
	}
	target.handle = wt_cupti.handle;
	target.is_shared = true;
	return target;
}

void *wt_share_real(const struct wt_share_target *target, const char *symbol)
{
	return target->handle ? wt_real_dlsym(target->handle, symbol) : NULL;
}

/* A moment on the clock of CUPTI's records. */
static uint64_t session_now_ns(void)
{
	uint64_t now_ns = 0;

	if (!wt_cupti.get_timestamp || wt_cupti.get_timestamp(&now_ns) || !now_ns)
		return wt_now_ns();
	return now_ns;
}

/* ---- kinds */

static bool is_kind(int kind)
{
	return kind > 0 && kind < WT_SHARE_KINDS;
}

static void note_passed(int kind, bool is_on)
{
	uint64_t bit = is_kind(kind) ? UINT64_C(1) << kind : 0;

	if (is_on)
		atomic_fetch_or(&passed_kinds, bit);
	else
		atomic_fetch_and(&passed_kinds, ~bit);
}

/* Queries among the synchronisation records: as the application wants while it has them on,
 * CUPTI's default being all; off when they are ours alone. */
static void apply_all_sync(void)
{
	bool on = wt_share_is_open(WTCUPTI_KIND_SYNCHRONIZATION) &&
	          wt_load_acquire(&all_sync_wish) != 1;

	if (wt_cupti.enable_all_sync)
		wt_cupti.enable_all_sync(on);
}

static bool is_call_kind(int kind)
{
	return kind == WTCUPTI_KIND_DRIVER || kind == WTCUPTI_KIND_RUNTIME;
}

static void open_launch_slots(int kind, uint64_t now_ns)
{
	for (uint32_t cbid = 1; cbid < WT_CBIDS_MAX; cbid++)
		if (wt_cupti_launch_call(kind, cbid) >= 0)
			wt_share_open(WT_SHARE_KINDS + wt_cupti_launch_call(kind, cbid), 0, now_ns);
}

static void close_launch_slots(int kind, uint64_t now_ns)
{
	for (uint32_t cbid = 1; cbid < WT_CBIDS_MAX; cbid++)
		if (wt_cupti_launch_call(kind, cbid) >= 0)
			wt_share_close(WT_SHARE_KINDS + wt_cupti_launch_call(kind, cbid), 0,
			               now_ns);
}

/* The real call for a kind that is not ours. */
static wtcupti_result switch_real(const struct wt_share_target *target, const char *symbol,
                                  int kind, bool is_on)
{
	if (wt_cupti_call_switch(kind)) {
		if (!wt_cupti_is_recording()) /* ours are not on */
			wt_cupti_switch_launch_calls_of(kind, is_on);
		return wt_cupti_switch_other_calls(kind, is_on);
	}
	return REAL(target, symbol, wtcupti_activity_kind_fn, (kind));
}

static wtcupti_result enable_shared(const struct wt_share_target *target, const char *symbol,
                                    int kind, bool is_dump)
{
	wtcupti_result result = WTCUPTI_SUCCESS;
	bool needs_real = !wt_cupti_owns(kind) || is_dump;

	if (!needs_real && (kind == WTCUPTI_KIND_CONTEXT || kind == WTCUPTI_KIND_DEVICE) &&
	    !wt_share_is_open(kind)) {
		/* These records come when a kind is switched on: let CUPTI do what it would do. */
		wt_cupti.disable(kind);
		needs_real = true;
	}
	if (is_kind(kind)) {
		wt_share_open(kind, 0, session_now_ns());
		if (is_call_kind(kind))
			open_launch_slots(kind, session_now_ns());
		wt_share_borrow();
	}
	if (needs_real)
		result = switch_real(target, symbol, kind, true);
	if (result) {
		if (is_kind(kind))
			wt_share_close(kind, 0, session_now_ns());
		if (is_call_kind(kind))
			close_launch_slots(kind, session_now_ns());
		if (wt_cupti_owns(kind))
			wt_cupti.enable(kind);
		return result;
	}
	if (!wt_cupti_owns(kind))
		note_passed(kind, true);
	if (kind == WTCUPTI_KIND_SYNCHRONIZATION)
		apply_all_sync();
	return WTCUPTI_SUCCESS;
}

static wtcupti_result disable_shared(const struct wt_share_target *target, int kind)
{
	wtcupti_result result = WTCUPTI_SUCCESS;
	uint64_t now_ns = session_now_ns();

	if (!wt_cupti_owns(kind)) {
		result = switch_real(target, "cuptiActivityDisable", kind, false);
		note_passed(kind, false);
	}
	if (is_kind(kind))
		wt_share_close(kind, 0, now_ns);
	if (is_call_kind(kind))
		close_launch_slots(kind, now_ns);
	if (kind == WTCUPTI_KIND_KERNEL &&
	    wt_cupti_owns(
	            WTCUPTI_KIND_CONCURRENT_KERNEL)) /* switches between the two kinds of kernel records */
		wt_cupti.enable(WTCUPTI_KIND_CONCURRENT_KERNEL);
	if (kind == WTCUPTI_KIND_SYNCHRONIZATION)
		apply_all_sync();
	return result;
}

wtcupti_result cuptiActivityEnable(int kind)
{
	struct wt_share_target target = wt_share_find_target(CALLER, true);
	wtcupti_result result;

	if (target.is_shared)
		return enable_shared(&target, "cuptiActivityEnable", kind, false);
	result = REAL(&target, "cuptiActivityEnable", wtcupti_activity_kind_fn, (kind));
	if (wt_share_give_way(CALLER, result))
		result = REAL(&target, "cuptiActivityEnable", wtcupti_activity_kind_fn, (kind));
	return result;
}

wtcupti_result cuptiActivityEnableAndDump(int kind)
{
	struct wt_share_target target = wt_share_find_target(CALLER, true);

	if (!target.is_shared)
		return REAL(&target, "cuptiActivityEnableAndDump", wtcupti_activity_kind_fn,
		            (kind));
	return enable_shared(&target, "cuptiActivityEnableAndDump", kind, true);
}

wtcupti_result cuptiActivityDisable(int kind)
{
	struct wt_share_target target;

	/* Nothing is on yet, and the real call would spoil our launch records before we begin. */
	if (is_call_kind(kind) && wt_cupti_state_now() == WT_CUPTI_NONE)
		return WTCUPTI_SUCCESS;
	target = wt_share_find_target(CALLER, false);
	if (!target.is_shared)
		return REAL(&target, "cuptiActivityDisable", wtcupti_activity_kind_fn, (kind));
	return disable_shared(&target, kind);
}

/* Per context: the global setting is ours and must stay, so these become windows of one context. */
static wtcupti_result context_shared(const struct wt_share_target *target, const char *symbol,
                                     wtcu_context context, int kind, bool is_on)
{
	uint32_t context_id = 0;

	if (!wt_cupti_owns(kind))
		return REAL(target, symbol, wtcupti_activity_context_kind_fn, (context, kind));
	if (!wt_cupti.get_context_id || wt_cupti.get_context_id(context, &context_id) ||
	    !context_id)
		return WTCUPTI_ERROR_INVALID_CONTEXT;
	if (!is_on) {
		wt_share_close(kind, context_id, session_now_ns());
		return WTCUPTI_SUCCESS;
	}
	wt_share_open(kind, context_id, session_now_ns());
	wt_share_borrow();
	return WTCUPTI_SUCCESS;
}

wtcupti_result cuptiActivityEnableContext(wtcu_context context, int kind)
{
	static const char symbol[] = "cuptiActivityEnableContext";
	struct wt_share_target target = wt_share_find_target(CALLER, true);

	if (!target.is_shared)
		return REAL(&target, symbol, wtcupti_activity_context_kind_fn, (context, kind));
	return context_shared(&target, symbol, context, kind, true);
}

wtcupti_result cuptiActivityDisableContext(wtcu_context context, int kind)
{
	static const char symbol[] = "cuptiActivityDisableContext";
	struct wt_share_target target = wt_share_find_target(CALLER, false);

	if (!target.is_shared)
		return REAL(&target, symbol, wtcupti_activity_context_kind_fn, (context, kind));
	return context_shared(&target, symbol, context, kind, false);
}

/* One call of the driver or the runtime: ours stay on, and become a window. */
static wtcupti_result call_shared(const struct wt_share_target *target, const char *symbol,
                                  int kind, wtcupti_callback_id cbid, uint8_t enable)
{
	int idx = wt_cupti_launch_call(kind, cbid);

	if (target->is_shared && enable)
		wt_share_borrow();
	if (!target->is_shared || idx < 0 || !wt_cupti_call_switch(kind))
		return REAL(target, symbol, wtcupti_enable_api_fn, (cbid, enable));
	if (enable)
		wt_share_open(WT_SHARE_KINDS + idx, 0, session_now_ns());
	else
		wt_share_close(WT_SHARE_KINDS + idx, 0, session_now_ns());
	if (!wt_cupti_is_recording()) /* ours are not on */
		return REAL(target, symbol, wtcupti_enable_api_fn, (cbid, enable));
	return WTCUPTI_SUCCESS;
}

wtcupti_result cuptiActivityEnableDriverApi(wtcupti_callback_id cbid, uint8_t enable)
{
	struct wt_share_target target = wt_share_find_target(CALLER, true);

	return call_shared(&target, "cuptiActivityEnableDriverApi", WTCUPTI_KIND_DRIVER, cbid,
	                   enable);
}

wtcupti_result cuptiActivityEnableRuntimeApi(wtcupti_callback_id cbid, uint8_t enable)
{
	struct wt_share_target target = wt_share_find_target(CALLER, true);

	return call_shared(&target, "cuptiActivityEnableRuntimeApi", WTCUPTI_KIND_RUNTIME, cbid,
	                   enable);
}

wtcupti_result cuptiActivityEnableAllSyncRecords(uint8_t enable)
{
	struct wt_share_target target = wt_share_find_target(CALLER, false);

	if (!target.is_shared || !wt_cupti.enable_all_sync)
		return REAL(&target, "cuptiActivityEnableAllSyncRecords", wtcupti_enable_fn,
		            (enable));
	wt_store_release(&all_sync_wish, enable ? 2 : 1);
	apply_all_sync();
	return WTCUPTI_SUCCESS;
}

/* ---- buffers */

wtcupti_result cuptiActivityRegisterCallbacks(wtcupti_buffer_requested_fn requested,
                                              wtcupti_buffer_completed_fn completed)
{
	struct wt_share_target target = wt_share_find_target(CALLER, true);

	if (!target.is_shared) {
		if (wt_cupti_is_recording() && !wt_cupti_base_of(CALLER))
			wt_segment_set_capture(WT_CAPTURE_FULL, WT_REASON_OTHER_LIBCUPTI, 0);
		return REAL(&target, "cuptiActivityRegisterCallbacks",
		            wtcupti_register_callbacks_fn, (requested, completed));
	}
	if (!requested || !completed)
		return WTCUPTI_ERROR_INVALID_PARAMETER;
	wt_share_set_callbacks(requested, completed);
	return WTCUPTI_SUCCESS;
}

static void after_flush(void)
{
	wt_cupti_settle(SETTLE_MS); /* a buffer that our own flush got may still be on its way */
	wt_share_give_back();
	if (wt_share_any_open())
		wt_share_borrow(); /* or the application's next flush would not come */
}

wtcupti_result cuptiActivityFlushAll(uint32_t flag)
{
	struct wt_share_target target = wt_share_find_target(CALLER, false);
	wtcupti_result result;

	if (!target.is_shared)
		return REAL(&target, "cuptiActivityFlushAll", wtcupti_flush_all_fn, (flag));
	result = wt_cupti.flush_all(flag);
	after_flush();
	return result;
}

wtcupti_result cuptiActivityGetNumDroppedRecords(wtcu_context context, uint32_t stream_id,
                                                 size_t *ret_dropped)
{
	struct wt_share_target target = wt_share_find_target(CALLER, false);

	if (!target.is_shared)
		return REAL(&target, "cuptiActivityGetNumDroppedRecords",
		            wtcupti_dropped_records_fn, (context, stream_id, ret_dropped));
	if (!ret_dropped)
		return WTCUPTI_ERROR_INVALID_PARAMETER;
	*ret_dropped = wt_share_take_dropped();
	return WTCUPTI_SUCCESS;
}

void wt_share_end_session(const struct wt_share_target *target)
{
	uint64_t passed = wt_load_acquire(&passed_kinds);

	for (int kind = 1; kind < WT_SHARE_KINDS; kind++)
		if (passed >> kind & 1 || wt_share_is_open(kind))
			disable_shared(target, kind);
	close_launch_slots(WTCUPTI_KIND_DRIVER, session_now_ns());
	close_launch_slots(WTCUPTI_KIND_RUNTIME, session_now_ns());
	wt_share_give_back();
}
