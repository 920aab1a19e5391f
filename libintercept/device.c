/*
 * device.c - reads the limits of each device once, after a context was created on it.
 *
 * The driver calls (device_read.c) are made on the application's thread inside its own context
 * creation, never on the launch path and never while a stream is being captured.
 *
 * What was read is kept in this process and copied into the segment once that exists. A
 * forked child keeps the copy: the ordinals are the same.
 */
#include <string.h>

#include "libintercept/hooks.h"

static struct wt_device known[WT_DEVICES_MAX];
static _Atomic uint64_t whole; /* bit per ordinal: known[ordinal] may be read */
static _Atomic uint64_t
        used; /* bit per ordinal: a record named it; only where no hook is in force */
_Static_assert(WT_DEVICES_MAX == 64, "a bit per ordinal");

void wt_device_read(int ordinal)
{
	struct wt_fork_page *page = wt_fork_page();
	struct wt_device device;
	struct wt_view *view;
	uint64_t bit;

	if (!page || ordinal < 0 || ordinal >= WT_DEVICES_MAX)
		return;
	bit = UINT64_C(1) << ordinal;
	if (wt_load_relaxed(&page->captures_open) ||
	    atomic_fetch_or(&page->devices_claimed, bit) & bit)
		return;
	if (!(wt_load_acquire(&whole) & bit)) {
		if (!wt_device_limits(&device, ordinal)) {
			atomic_fetch_and(&page->devices_claimed,
			                 ~bit); /* the next context tries again */
			return;
		}
		known[ordinal] = device;
		atomic_fetch_or(&whole, bit);
	}
	/* Either we see the view, or whoever publishes it sees the bit: see publish_all. */
	view = atomic_load(&page->view);
	if (view)
		wt_device_publish(view);
}

/* ---- into the segment */

static bool is_published(const struct wt_producer *producer, uint64_t count, int ordinal)
{
	for (uint64_t i = 0; i < count; i++)
		if (producer->device[i].ordinal == ordinal)
			return true;
	return false;
}

static void publish_all(struct wt_producer *producer, bool is_injected)
{
	uint64_t ready = atomic_load(&whole) & (is_injected ? atomic_load(&used) : UINT64_MAX);
	uint64_t count = wt_load_relaxed(&producer->device_count);

	for (int ordinal = 0; ordinal < WT_DEVICES_MAX; ordinal++) {
		if (!(ready >> ordinal & 1) || is_published(producer, count, ordinal))
			continue;
		producer->device[count] = known[ordinal];
		wt_store_relaxed(&producer->driver_version,
		                 (uint64_t)known[ordinal].driver_version);
		wt_store_release(&producer->device_count, ++count);
	}
}

/* The first to come publishes for all who come meanwhile, so nobody waits and nothing is missed. */
void wt_device_publish(struct wt_view *view)
{
	struct wt_fork_page *page = wt_fork_page();
	uint64_t served;

	if (!page || atomic_fetch_add(&page->device_requests, 1))
		return;
	do {
		served = atomic_load(&page->device_requests);
		publish_all(view->producer, wt_load_relaxed(&page->is_injected));
	} while (!atomic_compare_exchange_strong(&page->device_requests, &served, 0));
}

/* ---- without hooks */

/* On our own thread. These calls need no context, and no capture forbids them. */
bool wt_device_read_all(struct wt_view *view)
{
	wtcu_device_get_count_fn get_count =
	        (wtcu_device_get_count_fn)wt_driver_entry("cuDeviceGetCount");
	int count;

	if (!get_count || get_count(&count) != WTCU_SUCCESS)
		return false;
	for (int ordinal = 0; ordinal < count && ordinal < WT_DEVICES_MAX; ordinal++)
		if (wt_device_limits(&known[ordinal], ordinal))
			atomic_fetch_or(&whole, UINT64_C(1) << ordinal);
	wt_device_publish(view);
	return true;
}

/* In CUPTI's callback. Either the device has been read, or whoever reads it sees the bit. */
void wt_device_used(struct wt_view *view, uint32_t ordinal)
{
	uint64_t bit = ordinal < WT_DEVICES_MAX ? UINT64_C(1) << ordinal : 0;

	if (!(wt_load_relaxed(&used) & bit) && !(atomic_fetch_or(&used, bit) & bit))
		wt_device_publish(view);
}
