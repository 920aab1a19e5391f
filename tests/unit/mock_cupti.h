/*
 * mock_cupti.h - a CUPTI of a few lines, inside the test program, and the parts of the library that
 * the CUPTI side stands on. Records appear when the test says so; everything else follows CUPTI's
 * rules: a record is made only if its kind is on, buffers are asked for and given back through the
 * registered callbacks, the drop counter resets on reading. Not thread-safe but for emit and flush,
 * which take a lock, as CUPTI's own do.
 */
#ifndef WT_MOCK_CUPTI_H
#define WT_MOCK_CUPTI_H

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "libintercept/cupti.h"

#define MOCK_RING_CELLS 65536u
#define MOCK_CBIDS 1024u

struct mock {
	pthread_mutex_t lock;
	wtcupti_buffer_requested_fn requested;
	wtcupti_buffer_completed_fn completed;
	uint64_t kinds; /* bit per kind that is on */
	_Atomic uint8_t cbid_on[MOCK_CBIDS];
	_Atomic uint8_t runtime_on[MOCK_CBIDS];
	bool cbids_dead;
	_Atomic uint8_t all_sync;
	wtcupti_timestamp_fn timestamp;
	wtcupti_subscriber seat;
	int unsubscribed;
	int domains_off;
	_Atomic size_t dropped;
	_Atomic uint32_t correlation_id;
	uint8_t *buffer; /* lent to us, being filled */
	size_t size, used;
	int fail_kind; /* refuse to switch this kind on */
	int fail_code;
	int fail_subscribe_v2;
	int fail_attribute;
	size_t device_buffers; /* CUPTI's limit */
	int attribute_late; /* times it was set with a kind on */
};
extern struct mock mock;

/* What reached ring 1, by kind; links by entry. */
uint64_t mock_ring_count(enum wt_kind kind);
/* The last record of that kind in ring 1, into 112 bytes. */
bool mock_ring_last(enum wt_kind kind, void *payload);
void mock_ring_drain(void);

extern struct wt_fork_page mock_page;
extern struct wt_view mock_view;
extern uint64_t mock_capture, mock_reason, mock_detail;
extern uint32_t mock_version;
extern int mock_find_calls;

/* One record each, if its kind is on. Times are `start_ns` and 1000 later. */
void mock_kernel(uint64_t start_ns, uint32_t context_id);
void mock_driver(uint32_t cbid, uint64_t start_ns);
void mock_runtime(uint32_t cbid, uint64_t start_ns, uint64_t end_ns);
void mock_memcpy(uint64_t start_ns);
void mock_kind(int kind, uint64_t start_ns);
void mock_lend_foreign(uint8_t *buffer, size_t size);

wtcupti_result mock_flush_all(uint32_t flag);

#endif /* WT_MOCK_CUPTI_H */
