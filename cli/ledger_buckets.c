/*
 * ledger_buckets.c - the ledger by stretches of time of equal length. Single-threaded, pure.
 */
#include <errno.h>
#include <stdlib.h>

#include "cli/ledger_impl.h"

int64_t wt_ledger_bucket_end(const struct wt_ledger *ledger, size_t at)
{
	if (at + 1 >= ledger->bucket_count)
		return ledger->end_ns;
	return ledger->start_ns + (int64_t)(at + 1) * ledger->bucket_ns;
}

int wt_ledger_make_buckets(struct wt_ledger *ledger, int64_t bucket_ns)
{
	int64_t wall_ns = ledger->end_ns - ledger->start_ns;

	if (bucket_ns == 0 || wall_ns <= 0)
		return 0;
	if (bucket_ns < 0)
		bucket_ns = wall_ns / -bucket_ns + (wall_ns % -bucket_ns != 0);
	if (wall_ns / bucket_ns >= WT_LEDGER_BUCKETS_MAX)
		return -E2BIG;
	ledger->bucket_ns = bucket_ns;
	ledger->bucket_count = (size_t)((wall_ns + bucket_ns - 1) / bucket_ns);
	for (size_t i = 0; i < ledger->device_count; i++) {
		struct wt_ledger_device *device = &ledger->devices[i];

		device->buckets = calloc(ledger->bucket_count, sizeof(*device->buckets));
		if (!device->buckets)
			return -ENOMEM;
	}
	return 0;
}

int wt_ledger_close_buckets(struct wt_ledger_loading *load, int64_t until_ns)
{
	const struct wt_ledger *ledger = load->ledger;

	while (load->bucket_at < ledger->bucket_count &&
	       wt_ledger_bucket_end(ledger, load->bucket_at) <= until_ns) {
		struct wt_sweep_share total;
		int rc = wt_sweep_until(&load->sweep, wt_ledger_bucket_end(ledger, load->bucket_at),
		                        &total);

		if (rc)
			return rc;
		wt_ledger_measure_until(load, &total);
		load->device->buckets[load->bucket_at++].share =
		        wt_sweep_share_difference(&total, &load->bucket_total);
		load->bucket_total = total;
	}
	return 0;
}
