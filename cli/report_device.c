/*
 * report_device.c - the devices of a report, and when some kernel ran on them. Single-threaded;
 * blocks on the file.
 */
#include <errno.h>
#include <stdio.h>

#include "cli/busy.h"
#include "cli/ledger.h"
#include "cli/report_sql.h"

/* All on which kernels of the run ran, also where none of them is selected. */
static int load_devices(sqlite3 *db, struct wt_report *report)
{
	static const char format[] =
	        "SELECT d.device_id, d.name, d.uuid, d.sm_count, sum(i.launches), sum(i.time_ns),"
	        " sum(i.underfill_sm_ns), sum(i.wave_sm_ns), sum(i.wave_max_sm_ns),"
	        " sum(i.unjudged_sm_ns)%s FROM device d LEFT JOIN config_idle i USING (device_id)"
	        " WHERE device_id IN (SELECT device_id FROM main.config_idle)"
	        " GROUP BY device_id ORDER BY device_id";
	char sql[sizeof(format) + 128];
	sqlite3_stmt *s;
	int rc;

	snprintf(sql, sizeof(sql), format,
	         wt_report_has_measured(db) ? ", sum(i.straggle_sm_ns), sum(i.ramp_sm_ns), "
	                                      "sum(i.kernel_sm_ns), sum(i.measured_sm_ns)"
	                                    : ", 0, 0, 0, 0");
	rc = wt_report_prepare(db, sql, &s);
	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		struct wt_report_device *device =
		        wt_report_append(&report->devices, &report->device_count, sizeof(*device));

		if (!device) {
			rc = -ENOMEM;
			break;
		}
		device->device_id = sqlite3_column_int64(s, 0);
		device->sm_count = sqlite3_column_int64(s, 3);
		device->launches = sqlite3_column_int64(s, 4);
		device->time_ns = sqlite3_column_int64(s, 5);
		device->underfill_sm_ns = sqlite3_column_int64(s, 6);
		device->wave_sm_ns = sqlite3_column_int64(s, 7);
		device->wave_max_sm_ns = sqlite3_column_int64(s, 8);
		device->unjudged_sm_ns = sqlite3_column_int64(s, 9);
		device->straggle_sm_ns = sqlite3_column_int64(s, 10);
		device->ramp_sm_ns = sqlite3_column_int64(s, 11);
		device->kernel_sm_ns = sqlite3_column_int64(s, 12);
		device->measured_sm_ns = sqlite3_column_int64(s, 13);
		rc = wt_report_copy_name(s, 1, &device->name);
		if (!rc)
			rc = wt_report_copy_text(s, 2, &device->uuid);
		if (rc)
			break;
	}
	sqlite3_finalize(s);
	return rc;
}

/* How long some kernel ran on a device. 0, -ERANGE: rows must be sorted, or -errno. */
static int sweep_device(sqlite3 *db, const char *sql, const struct wt_report *report,
                        struct wt_report_device *device)
{
	struct wt_busy busy;
	sqlite3_stmt *s;
	int rc = wt_busy_init(&busy, WT_BUSY_CAPACITY);

	if (!rc)
		rc = wt_report_prepare(db, sql, &s);
	if (rc) {
		wt_busy_fini(&busy);
		return rc;
	}
	sqlite3_bind_int64(s, 1, device->device_id);
	while ((rc = wt_report_step(s)) > 0 && !busy.is_late) {
		int64_t start_ns = sqlite3_column_int64(s, 0), end_ns = sqlite3_column_int64(s, 1);

		wt_busy_add(&busy, start_ns > report->start_ns ? start_ns : report->start_ns,
		            end_ns < report->end_ns ? end_ns : report->end_ns);
	}
	sqlite3_finalize(s);
	if (rc >= 0 && busy.is_late)
		rc = -ERANGE;
	if (!rc)
		device->busy_ns = wt_busy_ns(&busy);
	wt_busy_fini(&busy);
	return rc;
}

/*
 * In the order in which they were stored, or, if that isn't near enough to time, sorted.
 * CROSS JOIN: SQLite keeps that order of the tables.
 */
static int sweep_devices(sqlite3 *db, struct wt_report *report)
{
#define KERNEL_TIMES                                                                               \
	"SELECT e.start_ns, e.end_ns FROM kernel_exec e CROSS JOIN config c USING (config_id)"     \
	" WHERE c.device_id = ?1 AND e.start_ns IS NOT NULL AND e.end_ns IS NOT NULL"
	int rc = 0;

	for (size_t i = 0; !rc && i < report->device_count; i++) {
		rc = sweep_device(db, KERNEL_TIMES " ORDER BY e.exec_id", report,
		                  &report->devices[i]);
		if (rc == -ERANGE)
			rc = sweep_device(db, KERNEL_TIMES " ORDER BY e.start_ns", report,
			                  &report->devices[i]);
	}
#undef KERNEL_TIMES
	return rc;
}

/* The window without the gaps, where these are summed up: 1, 0: they are not, or -errno. */
static int sum_devices(sqlite3 *db, struct wt_report *report)
{
	struct wt_ledger_sums *own = NULL;
	const struct wt_ledger_sums *sums = report->ledger ? report->ledger->sums : NULL;
	int rc = 1;

	if (!sums) {
		rc = report->has_window ? wt_ledger_load_sums(db, report->select, &own) : 0;
		sums = own;
	}
	for (size_t i = 0; rc > 0 && i < report->device_count; i++) {
		struct wt_report_device *device = &report->devices[i];

		if (device->sm_count <= 0 || device->sm_count > WT_SWEEP_SMS_MAX)
			rc = 0; /* nobody has swept it */
		device->busy_ns = report->end_ns - report->start_ns;
		for (size_t k = 0; k < sums->owner_count; k++)
			for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++)
				if (sums->owners[k].device_id == device->device_id)
					device->busy_ns -= sums->owners[k].ns[cause];
	}
	wt_ledger_sums_free(own);
	return rc;
}

int wt_report_load_devices(sqlite3 *db, struct wt_report *report)
{
	int rc = load_devices(db, report);

	if (!rc)
		rc = sum_devices(db, report);
	for (size_t i = 0; !rc && report->is_of_sums && i < report->device_count; i++)
		report->devices[i].busy_ns = -1; /* of rows that are gone it is not known */
	if (!rc && report->is_of_sums)
		return 0;
	return rc > 0 ? 0 : rc ? rc : sweep_devices(db, report);
}
