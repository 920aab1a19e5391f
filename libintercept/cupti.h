/*
 * cupti.h - private to the CUPTI side of libwavetap.so: cupti_find.c, cupti.c,
 * cupti_calls.c, cupti_limit.c, cupti_flush.c, cupti_clock.c, cupti_records.c, cupti_rest.c,
 * share.c, share_calls.c, share_feed.c.
 *
 * HOW THE PARTS WORK TOGETHER
 *
 *   hook of context creation -> wt_cupti_arm -> wt_cupti_find
 *   CUPTI (any thread)  -> buffer requested: a buffer of the pool
 *   CUPTI (its thread)  -> buffer completed: every record -> wt_batch_add -> ring 1
 *                                            and, in an application's own profiling
 *                                            session, -> wt_feed_add -> its buffers
 *   application         -> cuptiActivity* exported by share.c: remembered, passed on
 *                          only as far as our own records survive it
 *
 * THREADS. Everything here may run on any thread, also concurrently. The two short mutexes
 * (clock, application state) are leaves: nothing is called with one held, neither CUPTI
 * nor the application. They are taken only in a process that armed CUPTI itself, so a
 * forked child can't meet one that was locked at the fork.
 */
#ifndef WT_CUPTI_H
#define WT_CUPTI_H

#include <pthread.h>
#include <stddef.h>

#include "libintercept/cuda_abi.h"
#include "libintercept/internal.h"
#include "libintercept/profile.h"

#define WT_CUPTI_API_NULL_BUFFER 28 /* from CUDA 12.9 U1 a NULL buffer is a legal answer */
#define WT_SONAME_BYTES 64

/* The functions of the armed libcupti. Written before cupti_state becomes ARMED. */
struct wt_cupti_api {
	void *handle;
	uintptr_t base; /* where the library lies, for telling it from another one */
	uintptr_t end;
	uint32_t version; /* cuptiGetVersion */
	char soname[WT_SONAME_BYTES];
	char path[WT_TEXT_BYTES];

	wtcupti_get_version_fn get_version;
	wtcupti_register_callbacks_fn register_callbacks;
	wtcupti_activity_kind_fn enable;
	wtcupti_activity_kind_fn disable;
	wtcupti_flush_all_fn flush_all;
	wtcupti_next_record_fn next_record;
	/* NULL where this libcupti has none */
	wtcupti_dropped_records_fn dropped_records;
	wtcupti_get_timestamp_fn get_timestamp;
	wtcupti_attribute_fn set_attribute;
	wtcupti_attribute_fn get_attribute;
	wtcupti_enable_api_fn enable_driver_api;
	wtcupti_enable_api_fn enable_runtime_api;
	wtcupti_enable_fn enable_all_sync;
	wtcupti_activity_kind_fn enable_and_dump;
	wtcupti_get_context_id_fn get_context_id;
};
extern struct wt_cupti_api wt_cupti;

/* ---- cupti_find.c */

/*
 * Finds, loads and checks a libcupti. `hint` is an address inside the one to prefer (0 = none).
 * WT_REASON_NONE and *ret_api filled, or the reason why there is none.
 */
enum wt_reason wt_cupti_find(uintptr_t hint, struct wt_cupti_api *ret_api);

/* The soname of the libcupti that the object holding `address` was linked with, "" if none. */
void wt_cupti_linked_soname(uintptr_t address, char soname[WT_SONAME_BYTES]);

/* A handle of an already loaded libcupti: by soname ("" = any), and one that holds `hint` first.
 * NULL if none is loaded. */
void *wt_cupti_loaded(const char *soname, uintptr_t hint);

/* Where the loaded libcupti of that soname starts, 0 if it is not loaded. */
uintptr_t wt_cupti_address_of(const char *soname);

/* The start of the loaded libcupti that holds `address`, 0 if it lies elsewhere. */
uintptr_t wt_cupti_base_of(uintptr_t address);

/* ---- cupti.c */

/* wt_cupti_arm with a libcupti to prefer. */
void wt_cupti_arm_with(bool is_late, uintptr_t hint);

enum wt_cupti_state wt_cupti_state_now(void);

/* True if our own records of this kind are on, so that the application may not switch it off; or if
 * they ever were. */
bool wt_cupti_owns(int kind);
bool wt_cupti_owned(int kind);

/* All kinds and calls that are on for us: off. */
void wt_cupti_disable_all(void);
void wt_cupti_disable_kinds(void); /* all but the records of launch calls */

/* Gives CUPTI up for good in this process, for somebody who can't share it: hooks-only. Any thread of the
 * application; blocks as a forced flush does, and while wt_cupti_rest is at work. */
void wt_cupti_step_back(enum wt_reason reason, uint64_t detail);

/* A flush of ours, if CUPTI is: *ret_is_held. Of the flush thread and of profiled launches; blocks. */
wtcupti_result wt_cupti_flush(uint32_t flag, bool *ret_is_held);

/* CUPTI was given up, and no flush of ours is in it any more; waits for that, at most `limit_ms`. */
bool wt_cupti_is_left(unsigned limit_ms);

/* Are CUPTI's buffer callbacks ours: armed, or resting? */
bool wt_cupti_is_held(void);

/* Path, version and time of arming into the segment, once there is one. */
void wt_cupti_publish(struct wt_view *view);

/* Waits, at most `limit_ms`, for the completed-buffer callbacks that run now. */
void wt_cupti_settle(unsigned limit_ms);

/* After the forced flush: waits until the buffers that CUPTI held are back and read, since it may
 * deliver them on a thread of its own. False after `limit_ms`. On the thread that flushed. */
bool wt_cupti_collect(unsigned limit_ms);

/* More than half of the buffers are with CUPTI. */
bool wt_cupti_is_short(void);

/* ---- cupti_rest.c */

/*
 * Nothing is recorded for us any more; CUPTI's callbacks stay ours, so that no buffer of ours comes
 * back to somebody else, and the application's profiler is served as before. Not while a stream is
 * being captured, a launch profiled, or a session of the application's profiler open: then false,
 * and all is as it was. What had been launched until then is still delivered. On the flush thread;
 * blocks for some 40 ms.
 */
bool wt_cupti_rest(enum wt_reason reason, uint64_t detail, _Atomic uint64_t *ret_since_ns);

/* ---- cupti_calls.c */

/*
 * The launch calls we record, driver and runtime: CUPTI makes no record of a driver call that the
 * runtime makes (measured: PyTorch's launches have runtime records alone), so both are needed for a
 * link of every launch, and each launch has one.
 */
#define WT_LAUNCH_CALLS 25

/* Index of a record of kind DRIVER or RUNTIME among them, -1 if it is not one. */
int wt_cupti_launch_call(int kind, uint32_t cbid);

/* The function that switches single calls of kind DRIVER or RUNTIME; NULL for another kind, or if
 * this libcupti has none. */
wtcupti_enable_api_fn wt_cupti_call_switch(int kind);

/* All calls of kind DRIVER or RUNTIME but our launch calls, on or off. */
#define WT_CBIDS_MAX 2048 /* CUDA 13.0 has 806 in the driver, 522 in the runtime */
wtcupti_result wt_cupti_switch_other_calls(int kind, uint8_t enable);

/* Our launch calls, on or off: all, or those of one kind. */
void wt_cupti_switch_launch_calls(uint8_t enable);
void wt_cupti_switch_launch_calls_of(int kind, uint8_t enable);

/* The same from the start, which is another matter where a context is there already. */
void wt_cupti_begin_launch_calls(bool is_late);

/* The whole kind on and then all calls but ours off: for a process that has a context already. */
void wt_cupti_switch_kind_down(int kind);

/* ---- cupti_limit.c */

/* Tells CUPTI how much memory it may take; before anything is enabled. */
void wt_cupti_limit(void);

/* ---- cupti_clock.c */

#define WT_CLOCK_ANCHORS 16

/*
 * The clock that the application's profiler gave CUPTI (torch.profiler: the time-stamp counter), as
 * pairs with CLOCK_REALTIME, which CUPTI itself stays on.
 */
struct wt_clock_map {
	uint32_t count; /* 0 = the application gave none: CLOCK_REALTIME */
	struct wt_clock_anchor {
		uint64_t app;
		uint64_t realtime_ns;
	} anchor[WT_CLOCK_ANCHORS];
};

/* The application's clock from now on. Calls it. */
void wt_clock_set_source(wtcupti_timestamp_fn source);

/* Takes a fresh anchor if needed and copies the map. Calls the application's clock. */
void wt_clock_map_now(struct wt_clock_map *ret_map);

/* How CUPTI's own clock lies to CLOCK_REALTIME; count 0: they are the same. Calls CUPTI. */
void wt_clock_cupti_map(struct wt_clock_map *ret_map);

/* The times of a record of `bytes` bytes, in place, from CLOCK_REALTIME to the map's other clock
 * (to_app) or back; 0 stays 0. Kinds without a case keep theirs. */
void wt_clock_convert(const struct wt_clock_map *map, bool to_app, void *record, size_t bytes);

/* The WT_KIND_CLOCK record: the same instant on all clocks, the narrowest of several tries. */
void wt_clock_sample(struct wt_clock *ret_clock);

/* clock_read.c: the best of some readings; `get_timestamp` is CUPTI's, NULL: without. */
void wt_clock_read(struct wt_clock *ret_clock, wtcupti_get_timestamp_fn get_timestamp);

/* ---- cupti_records.c */

#define WT_BATCH_CELLS 32

/* Records on their way into ring 1; on the stack of one completed-buffer callback. */
struct wt_batch {
	struct wt_view *view; /* NULL until a record needs it */
	int link_idx; /* cell that takes links, -1 = none open */
	bool is_injected;
	uint32_t used;
	struct wt_profile_recent recent; /* filled while there is profiling */
	struct wt_batch_cell {
		uint16_t kind;
		uint16_t count;
		uint32_t length;
		uint8_t payload[WT_CELL_PAYLOAD_BYTES];
	} cell[WT_BATCH_CELLS];
};

void wt_batch_init(struct wt_batch *batch);
void wt_batch_add(struct wt_batch *batch, const struct wtcupti_activity *record, size_t bytes);
void wt_batch_flush(struct wt_batch *batch);

/* ---- share_feed.c: what the application's profiler is to get */

#define WT_SHARE_KINDS 64
#define WT_SHARE_SLOTS (WT_SHARE_KINDS + WT_LAUNCH_CALLS) /* kinds, then launch calls */
#define WT_SHARE_WINDOWS 4

/* When the application had a kind of record on (or, `is_deny`, a context excepted from it). */
struct wt_window {
	uint64_t on_ns;
	uint64_t off_ns; /* 0 = still on */
	uint32_t context_id; /* 0 = all */
	uint8_t is_used;
	uint8_t is_deny;
};

/* A copy of the application's wishes; one per completed buffer, so that no lock is held. */
struct wt_wishes {
	wtcupti_buffer_requested_fn requested;
	wtcupti_buffer_completed_fn completed;
	struct wt_window window[WT_SHARE_SLOTS][WT_SHARE_WINDOWS];
};

/* Records on their way to the application's profiler. */
struct wt_feed {
	bool is_on;
	const struct wt_clock_map *clock;
	wtcu_context context;
	uint32_t stream_id;
	uint8_t *out; /* the application's buffer, being filled */
	size_t out_bytes;
	size_t out_records_max; /* 0 = no limit */
	size_t used_bytes;
	size_t records;
	uint64_t forwarded;
	uint64_t lost; /* the application had no buffer for them */
	uint64_t app_ns; /* spent in the application's callbacks */
	struct wt_wishes wishes;
};

void wt_feed_init(struct wt_feed *feed, const struct wt_clock_map *clock, wtcu_context context,
                  uint32_t stream_id);
void wt_feed_add(struct wt_feed *feed, const struct wtcupti_activity *record, size_t bytes);
void wt_feed_finish(struct wt_feed *feed, uint64_t dropped_by_cupti);

/* A buffer completed that is not of our pool: the application gave it to CUPTI before we armed. */
void wt_feed_foreign(wtcu_context context, uint32_t stream_id, uint8_t *buffer, size_t size,
                     size_t valid_size);

/* ---- share_feed.c: the application's state, for share.c */

/* The application's buffer callbacks; false if it has registered none. */
void wt_share_set_callbacks(wtcupti_buffer_requested_fn requested,
                            wtcupti_buffer_completed_fn completed);
bool wt_share_get_callbacks(wtcupti_buffer_requested_fn *ret_requested,
                            wtcupti_buffer_completed_fn *ret_completed);
void wt_share_open(int slot, uint32_t context_id, uint64_t now_ns);
void wt_share_close(int slot, uint32_t context_id, uint64_t now_ns);
bool wt_share_is_open(int slot);
bool wt_share_any_open(void);

/* Borrows one buffer from the application, unless one is held; gives it back unused. */
void wt_share_borrow(void);
void wt_share_give_back(void);

/* Records the application lost since it last asked. */
uint64_t wt_share_take_dropped(void);

/* At exit: no more forwarding, unless the application is in the midst of a session. */
void wt_share_wind_down(void);

/* ---- share_copy.c */

/* An address in the libcupti whose functions the application looked up, 0 if it did not. */
uintptr_t wt_share_hint(void);

#endif /* WT_CUPTI_H */
