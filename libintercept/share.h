/*
 * share.h - private to share.c, share_calls.c, share_copy.c and share_feed.c: whom a caller of an exported CUPTI function means.
 *
 * Any thread; may block in the dynamic loader.
 */
#ifndef WT_SHARE_H
#define WT_SHARE_H

#include "libintercept/cupti.h"

struct wt_share_target {
	void *handle; /* the libcupti that the caller means */
	bool is_shared; /* it is the one we armed: emulate */
};

/* For the code at `caller`. With `may_arm`, a process that has not armed CUPTI arms it now. */
struct wt_share_target wt_share_find_target(uintptr_t caller, bool may_arm);

/* The function of the library meant, NULL if there is none. */
void *wt_share_real(const struct wt_share_target *target, const char *symbol);

/* Ends the application's session: its kinds off, its buffer back. CUPTI and ours stay. */
void wt_share_end_session(const struct wt_share_target *target);
/* Whether the application called cuptiFinalize, and used CUPTI no more: kept for when we give it up. */
void wt_share_note_finalize(bool is_done);

/* If `result` of another copy of libcupti says that ours is in its way: gives CUPTI up, and true. The
 * call is worth a second try then. `caller` is not libcupti itself. */
bool wt_share_give_way(uintptr_t caller, wtcupti_result result);

/* Exported in CUPTI's name. */
WT_EXPORT wtcupti_result cuptiActivityEnable(int kind);
WT_EXPORT wtcupti_result cuptiActivityEnableAndDump(int kind);
WT_EXPORT wtcupti_result cuptiActivityDisable(int kind);
WT_EXPORT wtcupti_result cuptiActivityEnableContext(wtcu_context context, int kind);
WT_EXPORT wtcupti_result cuptiActivityDisableContext(wtcu_context context, int kind);
WT_EXPORT wtcupti_result cuptiActivityEnableDriverApi(wtcupti_callback_id cbid, uint8_t enable);
WT_EXPORT wtcupti_result cuptiActivityEnableAllSyncRecords(uint8_t enable);
WT_EXPORT wtcupti_result cuptiActivityRegisterCallbacks(wtcupti_buffer_requested_fn requested,
                                                        wtcupti_buffer_completed_fn completed);
WT_EXPORT wtcupti_result cuptiActivityFlushAll(uint32_t flag);
WT_EXPORT wtcupti_result cuptiActivityGetNumDroppedRecords(wtcu_context context, uint32_t stream_id,
                                                           size_t *ret_dropped);

WT_EXPORT wtcupti_result cuptiActivityEnableRuntimeApi(wtcupti_callback_id cbid, uint8_t enable);
WT_EXPORT wtcupti_result cuptiActivityEnableLatencyTimestamps(uint8_t enable);
WT_EXPORT wtcupti_result cuptiActivityEnableHWTrace(uint8_t enable);
WT_EXPORT wtcupti_result cuptiActivityFlushPeriod(uint32_t period_ms);
WT_EXPORT wtcupti_result cuptiActivitySetAttribute(int attribute, size_t *value_size, void *value);
WT_EXPORT wtcupti_result cuptiActivityGetAttribute(int attribute, size_t *value_size, void *value);
WT_EXPORT wtcupti_result cuptiActivityRegisterTimestampCallback(wtcupti_timestamp_fn timestamp);
WT_EXPORT wtcupti_result cuptiSubscribe(wtcupti_subscriber *subscriber,
                                        wtcupti_callback_fn callback, void *user_data);
WT_EXPORT wtcupti_result cuptiSubscribe_v2(wtcupti_subscriber *subscriber,
                                           wtcupti_callback_fn callback, void *user_data,
                                           void *params);
WT_EXPORT wtcupti_result cuptiUnsubscribe(wtcupti_subscriber subscriber);
WT_EXPORT wtcupti_result cuptiFinalize(void);

#define CALLER ((uintptr_t)__builtin_return_address(0))

/* Calls the real function, or says that CUPTI is not there. */
#define REAL(target, symbol, type, args)                                                           \
	({                                                                                         \
		type real_ = (type)wt_share_real(target, symbol);                                  \
		real_ ? real_ args : WTCUPTI_ERROR_NOT_INITIALIZED;                                \
	})

#endif /* WT_SHARE_H */
