/*
 * share_calls.c - the rest of the CUPTI functions that the application's profiler calls: attributes,
 * the clock, the subscriber's seat, finalize. See share.c for the whole picture and for the rules of
 * threads and blocking, which are the same here.
 */
#include "libintercept/share.h"

#define SUBSCRIBERS_MAX 4

/* Attributes that we answer ourselves: 0 = never set, else value + 1. */
static _Atomic uint64_t per_thread_buffer, zeroed_buffer;

/* The application's subscribers, for a finalize that must end them; `ended` ones are unsubscribed
 * at the next subscribe, when surely none of their callbacks runs. */
static _Atomic(wtcupti_subscriber) subscribers[SUBSCRIBERS_MAX];
static _Atomic uint64_t subscribers_ended;

/* ---- attributes */

/* The word that answers for an attribute of the caller's buffers; NULL for all others. */
static _Atomic uint64_t *shadow_of(int attribute)
{
	if (attribute == WTCUPTI_ATTR_PER_THREAD_ACTIVITY_BUFFER)
		return &per_thread_buffer;
	return attribute == WTCUPTI_ATTR_ZEROED_OUT_ACTIVITY_BUFFER ? &zeroed_buffer : NULL;
}

wtcupti_result cuptiActivitySetAttribute(int attribute, size_t *value_size, void *value)
{
	struct wt_share_target target = wt_share_find_target(CALLER, false);
	_Atomic uint64_t *shadow = target.is_shared ? shadow_of(attribute) : NULL;

	if (!shadow)
		return REAL(&target, "cuptiActivitySetAttribute", wtcupti_attribute_fn,
		            (attribute, value_size, value));
	if (!value_size || !value)
		return WTCUPTI_ERROR_INVALID_PARAMETER;
	if (*value_size < 1)
		return WTCUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
	wt_store_release(shadow, *(const uint8_t *)value + UINT64_C(1));
	return WTCUPTI_SUCCESS;
}

wtcupti_result cuptiActivityGetAttribute(int attribute, size_t *value_size, void *value)
{
	struct wt_share_target target = wt_share_find_target(CALLER, false);
	_Atomic uint64_t *shadow = target.is_shared ? shadow_of(attribute) : NULL;
	wtcupti_result result = REAL(&target, "cuptiActivityGetAttribute", wtcupti_attribute_fn,
	                             (attribute, value_size, value));

	if (!result && shadow && wt_load_acquire(shadow))
		*(uint8_t *)value = (uint8_t)(wt_load_acquire(shadow) - 1);
	return result;
}

/* ---- the clock */

wtcupti_result cuptiActivityRegisterTimestampCallback(wtcupti_timestamp_fn timestamp)
{
	struct wt_share_target target = wt_share_find_target(CALLER, true);

	if (!target.is_shared)
		return REAL(&target, "cuptiActivityRegisterTimestampCallback",
		            wtcupti_register_timestamp_fn, (timestamp));
	if (!timestamp)
		return WTCUPTI_ERROR_INVALID_PARAMETER;
	wt_clock_set_source(timestamp);
	return WTCUPTI_SUCCESS;
}

/* ---- the seat */

static void end_subscribers(const struct wt_share_target *target)
{
	wtcupti_unsubscribe_fn unsubscribe =
	        (wtcupti_unsubscribe_fn)wt_share_real(target, "cuptiUnsubscribe");

	if (!atomic_exchange(&subscribers_ended, 0))
		return;
	for (int i = 0; i < SUBSCRIBERS_MAX; i++) {
		wtcupti_subscriber subscriber = atomic_exchange(&subscribers[i], NULL);

		if (subscriber && unsubscribe)
			unsubscribe(subscriber);
	}
}

static void note_subscriber(wtcupti_subscriber from, wtcupti_subscriber to)
{
	if (to)
		wt_share_note_finalize(false);
	for (int i = 0; i < SUBSCRIBERS_MAX; i++) {
		wtcupti_subscriber expected = from;

		if (atomic_compare_exchange_strong(&subscribers[i], &expected, to))
			return;
	}
}

wtcupti_result cuptiSubscribe(wtcupti_subscriber *subscriber, wtcupti_callback_fn callback,
                              void *user_data)
{
	struct wt_share_target target = wt_share_find_target(CALLER, false);
	wtcupti_result result;

	if (target.is_shared)
		end_subscribers(&target);
	result = REAL(&target, "cuptiSubscribe", wtcupti_subscribe_fn,
	              (subscriber, callback, user_data));
	if (!target.is_shared && wt_share_give_way(CALLER, result))
		result = REAL(&target, "cuptiSubscribe", wtcupti_subscribe_fn,
		              (subscriber, callback, user_data));
	if (!result && subscriber)
		note_subscriber(NULL, *subscriber);
	return result;
}

wtcupti_result cuptiSubscribe_v2(wtcupti_subscriber *subscriber, wtcupti_callback_fn callback,
                                 void *user_data, void *params)
{
	static const char symbol[] = "cuptiSubscribe_v2";
	struct wt_share_target target = wt_share_find_target(CALLER, false);
	wtcupti_result result;

	if (target.is_shared)
		end_subscribers(&target);
	result = REAL(&target, symbol, wtcupti_subscribe_v2_fn,
	              (subscriber, callback, user_data, params));
	if (target.is_shared && result == WTCUPTI_ERROR_NOT_COMPATIBLE) {
		wt_share_give_back();
		wt_cupti_step_back(WT_REASON_CUPTI_IN_USE, (uint64_t)result);
		result = REAL(&target, symbol, wtcupti_subscribe_v2_fn,
		              (subscriber, callback, user_data, params));
	} else if (!target.is_shared && wt_share_give_way(CALLER, result)) {
		result = REAL(&target, symbol, wtcupti_subscribe_v2_fn,
		              (subscriber, callback, user_data, params));
	}
	if (!result && subscriber)
		note_subscriber(NULL, *subscriber);
	return result;
}

wtcupti_result cuptiUnsubscribe(wtcupti_subscriber subscriber)
{
	struct wt_share_target target = wt_share_find_target(CALLER, false);

	if (subscriber)
		note_subscriber(subscriber, NULL);
	return REAL(&target, "cuptiUnsubscribe", wtcupti_unsubscribe_fn, (subscriber));
}

/* The application's session ends as with the real function; CUPTI and our records go on. */
static void end_session(const struct wt_share_target *target)
{
	wtcupti_result (*domains)(uint32_t, wtcupti_subscriber) = (wtcupti_result(*)(
	        uint32_t, wtcupti_subscriber))wt_share_real(target, "cuptiEnableAllDomains");

	for (int i = 0; i < SUBSCRIBERS_MAX; i++) {
		wtcupti_subscriber subscriber = atomic_load(&subscribers[i]);

		if (!subscriber)
			continue;
		if (domains)
			domains(0, subscriber);
		wt_store_release(&subscribers_ended, 1);
	}
	wt_share_end_session(target);
	wt_share_note_finalize(true);
}

wtcupti_result cuptiFinalize(void)
{
	struct wt_share_target target = wt_share_find_target(CALLER, false);

	if (!target.is_shared)
		return REAL(&target, "cuptiFinalize", wtcupti_finalize_fn, ());
	end_session(&target);
	return WTCUPTI_SUCCESS;
}

/* ---- passed on, but worth a line in the log: they change the cost or the make of our records */

wtcupti_result cuptiActivityEnableLatencyTimestamps(uint8_t enable)
{
	struct wt_share_target target = wt_share_find_target(CALLER, false);

	wt_log("the application sets latency time stamps to %u", enable);
	return REAL(&target, "cuptiActivityEnableLatencyTimestamps", wtcupti_enable_fn, (enable));
}

wtcupti_result cuptiActivityEnableHWTrace(uint8_t enable)
{
	struct wt_share_target target = wt_share_find_target(CALLER, false);

	wt_log("the application sets hardware trace to %u", enable);
	return REAL(&target, "cuptiActivityEnableHWTrace", wtcupti_enable_fn, (enable));
}

wtcupti_result cuptiActivityFlushPeriod(uint32_t period_ms)
{
	struct wt_share_target target = wt_share_find_target(CALLER, false);

	wt_log("the application sets a flush period of %u ms", period_ms);
	return REAL(&target, "cuptiActivityFlushPeriod", wtcupti_flush_period_fn, (period_ms));
}
