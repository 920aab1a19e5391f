/*
 * cupti_int.h - the inside of the simulated libcupti.so.13.
 *
 * One lock (`cupti_lock`) guards all state. It is never held across a callback
 * of the client nor across a call into libcuda; libcuda calls in here with its
 * own lock held, so the order is libcuda's lock, then ours.
 */
#ifndef FAKE_CUPTI_INT_H
#define FAKE_CUPTI_INT_H

#include <pthread.h>

#include "tests/fake/fake_tools.h"

#define FAKE_RECORD_BYTES_MAX 256

extern pthread_mutex_t cupti_lock;

/* What the client asked for (cupti_core.c). Under the lock. */
struct cupti_state {
	const struct fake_driver *driver;
	bool is_on[WTCUPTI_KIND_LIMIT]; /* kinds enabled for all contexts or for one */
	int thread_id_type;
	bool per_thread_buffers;
	bool wants_latency;
	uint32_t last_correlation;
	wtcupti_buffer_requested_fn requested;
	wtcupti_buffer_completed_fn completed;
	uint64_t dropped;
};
extern struct cupti_state cupti;

uint32_t cupti_version(void);
/* Records whose times have room in the device buffers that the client allows. Under the lock. */
uint64_t cupti_device_records(void);
bool cupti_anything_on(void);
/* CLOCK_REALTIME as this libcupti tells it: with offset, drift and step. */
uint64_t cupti_time(int64_t real_ns);
void cupti_count(const char *name);
/* Every exported call begins here; its scripted fault, or 0. */
wtcupti_result cupti_enter(const char *name);

#define CUPTI_FN(name, params, body)                                                               \
	FAKE_EXPORT wtcupti_result name params;                                                    \
	FAKE_EXPORT wtcupti_result name params                                                     \
	{                                                                                          \
		wtcupti_result refused = cupti_enter(#name);                                       \
                                                                                                   \
		return refused ? refused : (body);                                                 \
	}

/* ---- single calls (cupti_calls.c), under the lock ------------------------------ */

bool cupti_calls_any_on(void);
/* What switching a whole kind does to its calls; nothing for kinds without calls. */
void cupti_calls_switch_kind(int kind, bool on);
/* One call of WTCUPTI_KIND_DRIVER or _RUNTIME. */
wtcupti_result cupti_calls_switch(int kind, wtcupti_callback_id cbid, bool on, bool has_context);
bool cupti_call_is_recorded(int kind, int cbid);
/* A context is being made. */
void cupti_calls_note_context(void);
void cupti_calls_reset(void);

/* ---- records (cupti_record.c) ------------------------------------------------ */

/* Length of a record of a kind in the version served; 0: not a kind we write. */
size_t cupti_record_bytes(int kind);
const struct fake_tools *cupti_tools(void);
/* Moves what the device has finished into buffers; all of it if is_forced. */
void cupti_collect(bool is_forced);
void cupti_forget_pending(void);

/* ---- counters around kernels (cupti_range.c) ----------------------------------------- */

/* Called with the driver's lock held. */
int64_t cupti_replay_ns(uint32_t device);
bool cupti_wants_sms(void);
void cupti_take_sms(const struct fake_op *op, const struct fake_sms *sms);

/* ---- buffers (cupti_buffer.c) -------------------------------------------------- */

/* Appends a record; asks the client for a buffer if need be. Without the lock. */
void cupti_append(const void *record, size_t bytes, bool is_per_thread, bool is_unfinished);
/* Hands completed buffers to the client; those in use too if `all`. Without the lock. */
void cupti_deliver(bool all, bool is_forced);
/*
 * Between these a thread moves records or runs the client's callback. Waiting
 * returns once no other thread does: what they held is in buffers, and their
 * callbacks have returned. Without the lock.
 */
void cupti_move_begin(void);
void cupti_move_end(void);
void cupti_move_wait(void);
wtcupti_result cupti_next_record(uint8_t *buffer, size_t valid, struct wtcupti_activity **record);

#endif /* FAKE_CUPTI_INT_H */
