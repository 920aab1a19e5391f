/*
 * capture.c - which streams are being captured into graphs, from the calls we saw.
 *
 * A launch on a stream in capture is recorded by the driver, not executed; asking the driver
 * would break the capture, so we keep our own list. Streams that join a capture through an
 * event are not on it: a launch there is marked "possibly captured", and CUPTI's records decide.
 *
 * The list lives in the fork page. Any thread, lock-free.
 */
#include <pthread.h>

#include "libintercept/hooks.h"

#define SLOT_COUNT (sizeof(((struct wt_fork_page *)0)->capture_stream) / sizeof(uint64_t))

/*
 * What stands in a slot: the handle + 1. The per-thread default stream has one handle for all
 * threads, so there the thread stands in: its address + 2, which no handle + 1 equals.
 */
static uint64_t slot_key(uint64_t stream, bool is_per_thread)
{
	if (stream == (uintptr_t)WTCU_STREAM_PER_THREAD || (is_per_thread && !stream))
		return (uint64_t)(uintptr_t)pthread_self() + 2;
	return stream + 1;
}

uint32_t wt_capture_flags(uint64_t stream, bool is_per_thread)
{
	struct wt_fork_page *page = atomic_load_explicit(&wt_page, memory_order_acquire);
	uint64_t key;

	if (!page || WT_LIKELY(!wt_load_relaxed(&page->captures_open)))
		return 0;
	key = slot_key(stream, is_per_thread);
	for (size_t i = 0; i < SLOT_COUNT; i++)
		if (wt_load_relaxed(&page->capture_stream[i]) == key)
			return WT_FLAG_CAPTURE_OPEN | WT_FLAG_CAPTURE_STREAM;
	return WT_FLAG_CAPTURE_OPEN;
}

/* More captures at once than there are slots are still counted as open. */
static void begin(struct wt_fork_page *page, uint64_t key)
{
	wt_add_relaxed(&page->captures_open, 1);
	for (size_t i = 0; i < SLOT_COUNT; i++) {
		uint64_t expected = 0;

		if (atomic_compare_exchange_strong(&page->capture_stream[i], &expected, key))
			return;
	}
}

static void end(struct wt_fork_page *page, uint64_t key)
{
	uint64_t open = wt_load_relaxed(&page->captures_open);

	for (size_t i = 0; i < SLOT_COUNT; i++) {
		uint64_t expected = key;

		if (atomic_compare_exchange_strong(&page->capture_stream[i], &expected, 0))
			break;
	}
	/* Never below zero: the capture may have begun before we were there. */
	while (open && !wt_cas_relaxed(&page->captures_open, &open, open - 1))
		;
}

/* Did cuStreamEndCapture end the capture? Also when what was captured turned out invalid; not
 * when it was called on the wrong stream or thread. */
static bool has_ended(int result)
{
	return result == WTCU_SUCCESS || (result >= WTCU_ERROR_STREAM_CAPTURE_INVALIDATED &&
	                                  result <= WTCU_ERROR_CAPTURED_EVENT &&
	                                  result != WTCU_ERROR_STREAM_CAPTURE_UNMATCHED);
}

void wt_capture_note(enum wt_api api, uint64_t stream, bool is_per_thread, int result)
{
	bool is_end = api == WT_API_cuStreamEndCapture || api == WT_API_cuStreamEndCapture_ptsz;
	struct wt_fork_page *page = wt_fork_page();

	if (!page)
		return;
	if (is_end && has_ended(result))
		end(page, slot_key(stream, is_per_thread));
	else if (!is_end && result == WTCU_SUCCESS)
		begin(page, slot_key(stream, is_per_thread));
}
