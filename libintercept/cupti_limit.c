/*
 * cupti_limit.c - how much memory CUPTI may take: on the device, and per launching thread.
 *
 * CUPTI writes the times of kernels, copies and memsets into buffers on the device, 3.2 MB each,
 * enough for 100,000 of them, and reads them when the work has ended. A context may get 250
 * (800 MB), which a program that fills its device has no room for. Once there are no more, records
 * come with times of 0. We allow 64 (wt_setting.h): 205 MB, 6.4 million records that have not been read,
 * which is four seconds of the fastest replay seen (0.5 us a node), twenty times as long as the flush
 * thread waits. Few programs ever have more than the three that CUPTI makes at the start.
 *
 * WAVETAP_CUPTI_BUFFERS=N: so many (4 at least, since CUPTI wants more than it makes at the start);
 * 0: whatever CUPTI does. A limit that the program has set itself stays, unless N is given.
 *
 * Runs once, while arming, before anything is enabled; calls CUPTI; does not block otherwise.
 */
#include <stdlib.h>

#include "libintercept/cupti.h"
#include "schema/wt_setting.h"

#define DEVICE_BUFFERS_MIN 4
#define CUPTI_DEVICE_BUFFERS 250 /* CUPTI's own, up to 13.0 */

static void limit_device_buffers(void)
{
	const struct wt_setting *setting = wt_setting(WT_SETTING_CUPTI_BUFFERS);
	size_t now = 0, limit, bytes = sizeof(now);
	wtcupti_result result;
	uint32_t wanted;
	bool is_given = wt_setting_parse(setting, secure_getenv(setting->name), &wanted);

	if (!wanted)
		return;
	limit = wanted < DEVICE_BUFFERS_MIN ? DEVICE_BUFFERS_MIN : wanted;
	if (!is_given &&
	    (!wt_cupti.get_attribute ||
	     wt_cupti.get_attribute(WTCUPTI_ATTR_DEVICE_BUFFER_POOL_LIMIT, &bytes, &now) ||
	     now != CUPTI_DEVICE_BUFFERS))
		return;
	bytes = sizeof(limit);
	result = wt_cupti.set_attribute(WTCUPTI_ATTR_DEVICE_BUFFER_POOL_LIMIT, &bytes, &limit);
	wt_log("cupti: %zu buffers on a device at most: %d", limit, result);
}

void wt_cupti_limit(void)
{
	uint8_t off = 0;
	size_t off_bytes = sizeof(off);

	if (!wt_cupti.set_attribute)
		return;
	/* One buffer per launching thread would let the thread count decide the memory we take. An
	 * older CUPTI does not know the attribute and has one set of buffers anyway. */
	wt_cupti.set_attribute(WTCUPTI_ATTR_PER_THREAD_ACTIVITY_BUFFER, &off_bytes, &off);
	limit_device_buffers();
}
