/*
 * diagnose_copies.c - copies that no kernel hides: pageable memory apart. Single-threaded; blocks on
 * the file.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "cli/diagnose_impl.h"
#include "cli/report_sql.h"
#include "cli/select.h"

#define KINDS_NAMED 3

/* Time in the window in which copies of a device ran, several at a time counted once. */
static int busy_ns(struct wt_diagnosing *work, int64_t device_id, bool is_pageable, int64_t *ret_ns)
{
	static const char sql[] =
	        "SELECT max(start_ns, ?3), min(end_ns, ?4) FROM copy WHERE device_id = ?1"
	        " AND end_ns > start_ns AND start_ns < ?4 AND end_ns > ?3"
	        " AND (" WT_COPY_IS_PAGEABLE ") = ?2";
	struct wt_interval *at = NULL;
	size_t count = 0;
	sqlite3_stmt *s;
	int rc = wt_report_prepare(work->db, sql, &s);

	*ret_ns = 0;
	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, device_id);
	sqlite3_bind_int(s, 2, is_pageable);
	sqlite3_bind_int64(s, 3, work->ledger->start_ns);
	sqlite3_bind_int64(s, 4, work->ledger->end_ns);
	while ((rc = wt_report_step(s)) > 0) {
		struct wt_interval *one = wt_report_append(&at, &count, sizeof(*one));

		if (!one) {
			rc = -ENOMEM;
			break;
		}
		*one = (struct wt_interval){sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1)};
	}
	sqlite3_finalize(s);
	count = at ? wt_intervals_unite(at, count) : 0;
	for (size_t i = 0; i < count; i++)
		*ret_ns += at[i].end_ns - at[i].start_ns;
	free(at);
	return rc;
}

/* "; HtoD pageable to device 12 times, 96.0 MiB, 9.60ms": most time first. */
static int name_copies(struct wt_diagnosing *work, bool is_pageable, struct wt_finding *finding)
{
	static const char sql[] =
	        "SELECT CASE WHEN is_memset THEN 0 ELSE copy_kind END, src_kind, dst_kind, "
	        "count(*), total(bytes), total(min(end_ns, ?3) - max(start_ns, ?2)) FROM copy"
	        " WHERE end_ns > start_ns AND start_ns < ?3 AND end_ns > ?2"
	        " AND (" WT_COPY_IS_PAGEABLE ") = ?1"
	        " GROUP BY 1, iif(is_memset, 0, src_kind), dst_kind ORDER BY 6 DESC LIMIT ?4";
	sqlite3_stmt *s;
	int rc = wt_report_prepare(work->db, sql, &s);

	if (rc)
		return rc;
	sqlite3_bind_int(s, 1, is_pageable);
	sqlite3_bind_int64(s, 2, work->ledger->start_ns);
	sqlite3_bind_int64(s, 3, work->ledger->end_ns);
	sqlite3_bind_int(s, 4, KINDS_NAMED);
	while ((rc = wt_report_step(s)) > 0) {
		char count[WT_TEXT_NUMBER_BYTES], bytes[WT_TEXT_NUMBER_BYTES];
		char time[WT_TEXT_NUMBER_BYTES];
		int kind = sqlite3_column_int(s, 0);

		WT_EVIDENCE(finding, "; %s ", wt_copy_direction_name(kind));
		if (kind)
			WT_EVIDENCE(finding, "%s to ",
			            wt_copy_memory_name(sqlite3_column_int(s, 1)));
		WT_EVIDENCE(finding, "%s %s, %s, %s", wt_copy_memory_name(sqlite3_column_int(s, 2)),
		            wt_finding_times(count, sqlite3_column_int64(s, 3)),
		            wt_text_bytes(bytes, (uint64_t)fmax(0, fmin(sqlite3_column_double(s, 4),
		                                                        1.8e19))),
		            wt_text_ns(time, (int64_t)fmin(sqlite3_column_double(s, 5), 9e18)));
	}
	sqlite3_finalize(s);
	return rc;
}

static int find_copies(struct wt_diagnosing *work, enum wt_family family, const char *kind,
                       struct wt_finding **ret_finding)
{
	const struct wt_family_share *sm_ns = &work->gaps->sum[family].sm_ns;
	bool is_pageable = family == WT_FAMILY_COPY_PAGEABLE;
	double all_sm_ns = 0, hidden;
	char percent[WT_TEXT_NUMBER_BYTES];
	struct wt_finding *finding;

	*ret_finding = NULL;
	for (size_t i = 0; i < work->ledger->device_count; i++) {
		const struct wt_ledger_device *device = &work->ledger->devices[i];
		int64_t ns;
		int rc = busy_ns(work, device->device_id, is_pageable, &ns);

		if (rc)
			return rc;
		all_sm_ns += (double)ns * (double)device->sms;
	}
	hidden = all_sm_ns > sm_ns->least ? all_sm_ns - sm_ns->least : 0;
	if (all_sm_ns <= 0 || hidden >= work->limits->overlap * all_sm_ns)
		return 0;
	finding = wt_finding_add(work, kind, sm_ns->least, sm_ns->most);
	if (!finding)
		return 0;
	WT_EVIDENCE(finding, "kernels ran during %s%% of their time",
	            wt_text_percent(percent, hidden, all_sm_ns));
	*ret_finding = finding;
	return name_copies(work, is_pageable, finding);
}

int wt_diagnose_copies(struct wt_diagnosing *work)
{
	struct wt_finding *finding;
	int rc = find_copies(work, WT_FAMILY_COPY_PAGEABLE, "copy-pageable", &finding);

	if (finding) {
		WT_TITLE(finding, "copies of pageable memory that no kernel hides");
		finding->explanation =
		        "The driver copies pageable memory piece by piece through a buffer of its "
		        "own, slower, and the thread that asked waits for it.";
		finding->advice =
		        "Pinned memory (pin_memory=True, cudaHostAlloc), then non_blocking copies "
		        "on a stream of their own.";
	}
	if (rc)
		return rc;
	rc = find_copies(work, WT_FAMILY_COPY, "copy-exposed", &finding);
	if (finding) {
		WT_TITLE(finding, "copies that no kernel hides");
		finding->explanation =
		        "The GPU copies and computes at the same time if both are in flight.";
		finding->advice =
		        "Copies from pinned memory on a stream of their own, those for the next "
		        "step during this one; memsets: fewer, or fused into kernels. All of them: "
		        "wavetap copies.";
	}
	return rc;
}
