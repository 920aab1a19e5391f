/*
 * report_loss.c - what was lost: reads the views `loss` and `process`, and says what
 * their counters mean. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/rates.h"
#include "cli/report_sql.h"
#include "schema/wt_db.h"
#include "schema/wt_rows.h"

#define FIELD(field, meaning)                                                                      \
	{                                                                                          \
		.name = #field, .offset = offsetof(struct wt_report_loss, field),                  \
		.text = (meaning)                                                                  \
	}

const struct wt_report_loss_field wt_report_loss_fields[] = {
        FIELD(launches_attempted, NULL),
        FIELD(launches_stored, NULL),
        FIELD(launches_dropped, "launch calls: ring full"),
        FIELD(launches_torn, "launch calls: process killed while writing, or records missing"),
        FIELD(launches_failed, NULL),
        FIELD(launches_captured, NULL),
        FIELD(launches_linked, NULL),
        FIELD(launches_unobserved, "kernels of launches that CUPTI did not record"),
        FIELD(launches_in_flight, NULL),
        FIELD(launches_unlinked, "kernels of launches whose record never came"),
        FIELD(graph_launches, NULL),
        FIELD(graph_launches_failed, NULL),
        FIELD(graph_launches_unobserved,
              "graph launches that CUPTI did not record, with all of their kernels"),
        FIELD(kernels, NULL),
        FIELD(kernels_graph, NULL),
        FIELD(kernels_device, NULL),
        FIELD(kernels_linked, NULL),
        FIELD(kernels_cupti_only, "launch calls of kernels that only CUPTI saw"),
        FIELD(kernels_no_time, "kernel times: not usable, so not ranked"),
        FIELD(kernels_no_time_profiled,
              "kernels without times: launches under the range profiler have none; not ranked"),
        FIELD(kernels_dropped_ring, "kernel records: ring full"),
        FIELD(kernels_dropped_cupti, "CUPTI records, not of kernels alone: dropped by CUPTI"),
        FIELD(kernels_torn,
              "kernel records: process killed before they were written, or records missing"),
        FIELD(links_dropped_ring, "launch-to-kernel links: ring full"),
        FIELD(calls_dropped, "other calls: ring full"),
        FIELD(other_dropped_ring, "copy, synchronisation and clock records: ring full"),
        FIELD(cells_torn, "ring cells: process killed while writing"),
        FIELD(cells_bad, "records: not understood by this version"),
        FIELD(cells_gap,
              "records: in a run file that is gone, or not in the recording; the launches and "
              "kernels among them are counted above"),
        FIELD(records_unknown, "CUPTI records: of an unknown kind"),
        FIELD(names_dropped, "kernel names: no room"),
        FIELD(entries_unknown, "driver entries: of a version that is not hooked"),
        FIELD(unexplained, "launches or kernels: no counter accounts for them"),
        FIELD(rows_damaged, "rows of damaged chunks: left out of what is read row by row"),
        {0},
};

static int64_t rows_damaged, kernels_damaged; /* of this program; one thread */

void wt_report_note_damage(const struct wt_rows_damage *damage)
{
	int64_t rows = damage->rows > 0 ? damage->rows : 0;

	if (__builtin_add_overflow(rows_damaged, rows, &rows_damaged))
		rows_damaged = INT64_MAX;
	if (damage->kind == WT_CHUNK_KERNEL && kernels_damaged < INT32_MAX)
		kernels_damaged += rows < INT32_MAX ? rows : INT32_MAX;
}

void wt_report_forget_damage(void)
{
	rows_damaged = kernels_damaged = 0;
}

int64_t wt_report_rows_damaged(void)
{
	return rows_damaged;
}

int64_t wt_report_loss_get(const struct wt_report_loss *loss,
                           const struct wt_report_loss_field *field)
{
	if (field->offset == offsetof(struct wt_report_loss, rows_damaged))
		return rows_damaged;
	return *(const int64_t *)((const char *)loss + field->offset);
}

int64_t wt_report_kernels_lost(const struct wt_report_loss *loss)
{
	int64_t cupti = loss->kernels_dropped_cupti, dropped;

	/* CUPTI counts records of all kinds. Where each kernel has its launch, no more than those
	 * that miss theirs were kernels. */
	if (!loss->graph_launches && !loss->kernels_cupti_only && !loss->kernels_device &&
	    loss->launches_attempted && cupti > loss->launches_unlinked)
		cupti = loss->launches_unlinked;
	dropped = loss->kernels_dropped_ring + cupti + loss->kernels_torn;

	/* A launch is unlinked because its kernel's record was dropped: not two losses. */
	if (dropped < loss->launches_unlinked)
		dropped = loss->launches_unlinked;
	return dropped + loss->launches_unobserved + loss->kernels_no_time -
	       loss->kernels_no_time_profiled + kernels_damaged;
}

/* Launches under the profiler, of which CUPTI gives no times: as many kernels without one are its doing. */
#define PROFILED_SQL                                                                               \
	"min(kernels_no_time, ifnull((SELECT c.launches FROM profile_count c WHERE c.process_id "  \
	"= loss.process_id), 0))"

/* What stands for a field in a query of the view `loss`. */
static const char *column_of(sqlite3 *db, const struct wt_report_loss_field *field)
{
	if (field->offset == offsetof(struct wt_report_loss, graph_launches_unobserved))
		return wt_db_has_table(db, "graph_unobserved")
		               ? "ifnull((SELECT g.launches FROM graph_unobserved g WHERE "
		                 "g.process_id = loss.process_id), 0)"
		               : "0";
	if (field->offset == offsetof(struct wt_report_loss, rows_damaged))
		return "0";
	if (field->offset != offsetof(struct wt_report_loss, kernels_no_time_profiled))
		return field->name;
	return wt_report_has_measured(db) ? PROFILED_SQL : "0";
}

int wt_report_read_loss(sqlite3 *db, struct wt_report *report)
{
	char sql[4096] = "SELECT ";
	size_t used = strlen(sql);
	sqlite3_stmt *s;
	int rc;

	/* What a live process has in its ring is not torn. */
	for (const struct wt_report_loss_field *f = wt_report_loss_fields; f->name; f++) {
		bool is_torn = strstr(f->name, "_torn") && strcmp(f->name, "cells_torn");

		used += (size_t)snprintf(sql + used, sizeof(sql) - used,
		                         is_torn ? "%stotal(iif(state = 'live', 0, max(0, %s)))"
		                                 : "%stotal(%s)",
		                         f == wt_report_loss_fields ? "" : ", ", column_of(db, f));
	}
	snprintf(sql + used, sizeof(sql) - used, " FROM loss");
	rc = wt_report_prepare(db, sql, &s);
	if (rc)
		return rc;
	rc = wt_report_step(s);
	for (int i = 0; rc > 0 && wt_report_loss_fields[i].name; i++)
		*(int64_t *)((char *)&report->loss + wt_report_loss_fields[i].offset) =
		        (int64_t)sqlite3_column_double(s, i);
	sqlite3_finalize(s);
	return rc < 0 ? rc : 0;
}

int wt_report_read_processes(sqlite3 *db, struct wt_report *report)
{
	static const char sum_sql[] = "SELECT count(*), total(state = 'live') FROM process";
	static const char capture_sql[] =
	        "SELECT p.capture, p.reason, count(*), min(p.pid),"
	        " total(iif(l.kernels, l.launches_unobserved, l.launches_attempted))"
	        " FROM process p JOIN loss l USING (process_id)"
	        " WHERE p.capture <> 'full' OR p.reason IS NOT NULL GROUP BY 1, 2 ORDER BY 3 DESC";
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, sum_sql, &s);

	if (rc)
		return rc;
	rc = wt_report_step(s);
	if (rc > 0) {
		report->processes = sqlite3_column_int64(s, 0);
		report->processes_live = (int64_t)sqlite3_column_double(s, 1);
	}
	sqlite3_finalize(s);
	report->has_samples_alone =
	        !report->processes && wt_db_has_table(db, "sampler") &&
	        wt_db_int(db, "SELECT total(samples_stored) > 0 FROM main.sampler", 0);
	if (rc >= 0)
		rc = wt_cost_read(db, &report->cost);
	if (!rc)
		rc = wt_report_prepare(db, capture_sql, &s);
	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		struct wt_report_capture *capture = wt_report_append(
		        &report->captures, &report->capture_count, sizeof(*capture));

		rc = capture ? wt_report_copy_text(s, 0, &capture->capture) : -ENOMEM;
		if (!rc)
			rc = wt_report_copy_text(s, 1, &capture->reason);
		if (rc)
			break;
		capture->processes = sqlite3_column_int64(s, 2);
		capture->first_pid = sqlite3_column_int64(s, 3);
		capture->launches_attempted = (int64_t)sqlite3_column_double(s, 4);
	}
	sqlite3_finalize(s);
	return rc;
}
