/*
 * report_gap.c - the time without a kernel before those of each row of a report, by the ledger:
 * a gap belongs to the kernel that ended it. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <stdlib.h>

#include "cli/ledger.h"
#include "cli/report_key.h"
#include "cli/report_sql.h"
#include "cli/select.h"
#include "schema/wt_db.h"

struct gaps {
	struct wt_report *report;
	struct wt_report_key *key;
	int64_t kernels; /* so far */
	/* What is selected; the ledger sees all kernels of the devices. */
	bool has_configs, has_processes;
	struct wt_map configs, processes;
};

static int load_set(sqlite3 *db, const char *sql, struct wt_map *set)
{
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, sql, &s);

	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		rc = wt_map_set(set, (uint64_t)sqlite3_column_int64(s, 0), 1);
		if (rc)
			break;
	}
	sqlite3_finalize(s);
	return rc;
}

static int load_selected(sqlite3 *db, const struct wt_select *select, struct gaps *gaps)
{
	int rc = 0;

	if (!select || !select->is_applied)
		return 0;
	gaps->has_configs = select->words.kernel != NULL;
	gaps->has_processes = select->words.rank != NULL;
	if (gaps->has_configs)
		rc = load_set(db, "SELECT config_id FROM temp.wt_config", &gaps->configs);
	if (!rc && gaps->has_processes)
		rc = load_set(db,
		              "SELECT process_id FROM main.proc WHERE rank IN"
		              " (SELECT rank FROM temp.wt_rank)",
		              &gaps->processes);
	return rc;
}

static bool is_selected(const struct gaps *gaps, const struct wt_ledger_row *row)
{
	return (!gaps->has_configs ||
	        wt_map_get(&gaps->configs, (uint64_t)row->config_id) != WT_MAP_NONE) &&
	       (!gaps->has_processes ||
	        wt_map_get(&gaps->processes, (uint64_t)row->process_id) != WT_MAP_NONE);
}

static int on_row(void *arg, const struct wt_ledger_device *device, const struct wt_ledger_row *row,
                  bool is_collective)
{
	struct gaps *gaps = arg;

	(void)device;
	(void)row;
	(void)is_collective;
	gaps->kernels++;
	return 0;
}

static int on_gap(void *arg, const struct wt_ledger_gap *gap)
{
	struct gaps *gaps = arg;
	const struct wt_ledger_row *next = gap->next;
	int64_t length_ns = gap->facts->end_ns - gap->facts->start_ns;
	struct wt_report_row *row;
	size_t at;
	int rc;

	if (!next || !is_selected(gaps, next))
		return 0;
	rc = wt_report_key_find(gaps->key,
	                        &(struct wt_report_exec){
	                                .exec_id = next->exec_id,
	                                .process_id = next->process_id,
	                                .config_id = next->config_id,
	                                .context_id = next->context_id,
	                                .stream_id = next->stream_id,
	                                .graph_id = next->graph_id,
	                                .start_ns = next->start_ns,
	                                .end_ns = next->end_ns,
	                        },
	                        NULL, &at);
	if (rc)
		return rc == -ENOENT ? 0 : rc; /* the kernel behind the window has no row */
	row = &gaps->report->rows[at];
	wt_report_add(&row->gap_before_sm_ns, length_ns * gap->device->sms);
	row->gap_before_gpu_ns += (double)length_ns;
	return 0;
}

/* A gap's kernel is known by process and configuration: enough for rows that sum those. */
static int add_sums(struct wt_report_key *key, struct wt_report *report)
{
	const struct wt_ledger_sums *sums = report->ledger->sums;

	for (size_t i = 0; i < sums->owner_count; i++) {
		const struct wt_ledger_owner *owner = &sums->owners[i];
		int64_t length_ns = 0, sms = 0;
		size_t at;
		int rc;

		if (!owner->config_id)
			continue;
		rc = wt_report_key_find(key,
		                        &(struct wt_report_exec){.process_id = owner->process_id,
		                                                 .config_id = owner->config_id},
		                        NULL, &at);
		if (rc == -ENOENT)
			continue;
		if (rc)
			return rc;
		for (size_t k = 0; k < report->ledger->device_count; k++)
			if (report->ledger->devices[k].device_id == owner->device_id)
				sms = report->ledger->devices[k].sms;
		for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++)
			length_ns += owner->ns[cause];
		wt_report_add(&report->rows[at].gap_before_sm_ns, length_ns * sms);
		report->rows[at].gap_before_gpu_ns += (double)length_ns;
	}
	return 0;
}

static void drop_ledger(struct wt_report *report)
{
	wt_ledger_fini(report->ledger);
	free(report->ledger);
	report->ledger = NULL;
}

static void finish(struct wt_report *report)
{
	for (size_t i = 0; i < report->row_count; i++) {
		wt_report_add(&report->total.gap_before_sm_ns, report->rows[i].gap_before_sm_ns);
		report->total.gap_before_gpu_ns += report->rows[i].gap_before_gpu_ns;
	}
	report->has_gaps = true;
}

int wt_report_sum_gaps(sqlite3 *db, const struct wt_select *select, struct wt_report_key *key,
                       struct wt_report *report)
{
	int rc;

	if (wt_report_key_is_of_launches(key->group))
		return 0;
	report->ledger = calloc(1, sizeof(*report->ledger));
	if (!report->ledger)
		return -ENOMEM;
	rc = wt_ledger_load_summed(db, select, report->ledger);
	if (rc > 0) {
		int added = add_sums(key, report);

		rc = added ? added : rc;
	}
	if (rc > 0)
		finish(report);
	else
		drop_ledger(report);
	return rc;
}

int wt_report_load_gaps(sqlite3 *db, const struct wt_select *select, struct wt_report_key *key,
                        struct wt_report *report)
{
	struct gaps gaps = {.report = report, .key = key};
	const struct wt_ledger_observer observer = {.row = on_row, .gap = on_gap, .arg = &gaps};
	int rc = load_selected(db, select, &gaps);

	report->ledger = calloc(1, sizeof(*report->ledger));
	if (!rc && !report->ledger)
		rc = -ENOMEM;
	if (!rc)
		rc = wt_ledger_load_observed(db, select, &observer, report->ledger);
	if (rc && report->ledger)
		drop_ledger(report);
	for (size_t i = 0; rc && i < report->row_count; i++)
		report->rows[i].gap_before_sm_ns = 0;
	if (!rc) {
		finish(report);
		report->launches_read += gaps.kernels;
	}
	wt_map_fini(&gaps.configs);
	wt_map_fini(&gaps.processes);
	return rc;
}
