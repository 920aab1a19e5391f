/*
 * check_ledger.c - do the sums of the ledger agree with the rows that they are of? All kernels are read again.
 * Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <inttypes.h>

#include "cli/check.h"
#include "cli/ledger.h"

static int differs(struct wt_check *check, const char *table, const struct wt_ledger_device *device,
                   const char *what, int64_t have, int64_t want)
{
	if (have == want)
		return 0;
	return wt_check_add(check, "rollups", table, 1,
	                    "device_id %" PRId64 ": %s is %" PRId64 ", the rows give %" PRId64,
	                    device->device_id, what, have, want);
}

static int compare(struct wt_check *check, const struct wt_ledger *sums,
                   const struct wt_ledger *rows)
{
	int err = 0;

	for (size_t i = 0; i < rows->device_count && i < sums->device_count && !err; i++) {
		const struct wt_ledger_device *have = &sums->devices[i], *want = &rows->devices[i];

		err = differs(check, "ledger_device", want, "kernels", have->kernels,
		              want->kernels);
		if (!err)
			err = differs(check, "ledger_device", want, "kernels_refused",
			              have->kernels_refused, want->kernels_refused);
		if (!err)
			err = differs(check, "ledger_mark", want, "clock_error_ns",
			              sums->clock_error_ns, rows->clock_error_ns);
		if (!err)
			err = differs(check, "ledger_row", want, "gaps", have->gaps, want->gaps);
		for (int cause = 0; cause < WT_GAP_CAUSE_MAX && !err; cause++)
			err = differs(check, "ledger_cause", want,
			              wt_gap_cause_name((enum wt_gap_cause)cause),
			              have->gap_ns[cause], want->gap_ns[cause]);
	}
	return err;
}

int wt_check_ledger(struct wt_check *check)
{
	struct wt_ledger sums, rows;
	int rc;

	if (!check->has_shares || check->has_drops)
		return 0; /* they are of rows that are not there */
	rc = wt_ledger_load_summed(check->db, NULL, &sums);
	if (rc > 0) {
		rc = wt_ledger_load(check->db, NULL, &rows);
		if (!rc)
			rc = compare(check, &sums, &rows);
		wt_ledger_fini(&rows);
	}
	wt_ledger_fini(&sums);
	/* Of a damaged file there may be no ledger: others say why. */
	return rc == -ENOMEM || rc == -EINTR ? rc : 0;
}
