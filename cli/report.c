/*
 * report.c - see report.h. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/kernel_class.h"
#include "cli/kernel_name.h"
#include "cli/ledger.h"
#include "cli/report.h"
#include "cli/report_key.h"
#include "cli/report_measured.h"
#include "cli/report_sql.h"
#include "cli/select.h"

/* ---- rows */

/*
 * One statement for both groupings: how the model's columns are called (in version 3, where the others
 * have what is measured in them, `model_`), idle time beside collectives, which old files have not,
 * and the grouping key are put in. Columns that only make sense for one configuration are taken bare.
 */
static const char rows_sql[] =
        "SELECT i.kernel_id, i.config_id, i.kernel, count(*), sum(i.launches),"
        " sum(i.launches_in_graph), sum(i.time_ns), min(i.min_ns), max(i.max_ns),"
        " sum(i.%1$sunderfill_sm_ns), sum(i.%1$swave_sm_ns), sum(i.%1$swave_max_sm_ns),"
        " sum(i.%1$sunjudged_sm_ns),"
        " total(1.0 * i.%1$sunderfill_sm_ns / nullif(d.sm_count, 0)),"
        " total(1.0 * i.%1$swave_sm_ns / nullif(d.sm_count, 0)),"
        " total(1.0 * i.%1$swave_max_sm_ns / nullif(d.sm_count, 0)),"
        " total(1.0 * i.%1$sunjudged_sm_ns / nullif(d.sm_count, 0)),"
        " max(i.%1$sunjudged_sm_ns = 0 OR i.model_reason IS NULL),"
        " CASE WHEN min(i.waves) = max(i.waves) AND count(i.waves) = count(*) THEN min(i.waves) "
        "END,"
        " max(i.model_reason), i.device_id, i.grid_x, i.grid_y, i.grid_z, i.block_x, i.block_y,"
        " i.block_z, i.cluster_x, i.cluster_y, i.cluster_z, i.regs_per_thread,"
        " i.static_smem_bytes + i.dynamic_smem_bytes, i.blocks_per_sm, i.occupancy, i.limiter,"
        " %2$s"
        " FROM config_idle i JOIN device d USING (device_id)"
        " GROUP BY %3$s";

static int read_row_texts(sqlite3_stmt *s, struct wt_report_row *row)
{
	int rc = wt_report_copy_name(s, 2, &row->kernel);

	if (!rc)
		rc = wt_report_copy_text(s, 19, &row->model_reason);
	if (!rc)
		rc = wt_report_copy_text(s, 34, &row->limiter);
	return rc;
}

static int read_row(sqlite3_stmt *s, bool is_config, struct wt_report_row *row)
{
	wt_report_row_init(row, is_config ? WT_REPORT_GROUP_CONFIG : WT_REPORT_GROUP_KERNEL);
	row->kernel_id = sqlite3_column_int64(s, 0);
	row->config_id = is_config ? sqlite3_column_int64(s, 1) : -1;
	row->configs = sqlite3_column_int64(s, 3);
	row->launches = sqlite3_column_int64(s, 4);
	row->launches_in_graph = sqlite3_column_int64(s, 5);
	row->time_ns = sqlite3_column_int64(s, 6);
	row->min_ns = sqlite3_column_int64(s, 7);
	row->max_ns = sqlite3_column_int64(s, 8);
	row->underfill_sm_ns = sqlite3_column_int64(s, 9);
	row->wave_sm_ns = sqlite3_column_int64(s, 10);
	row->wave_max_sm_ns = sqlite3_column_int64(s, 11);
	row->unjudged_sm_ns = sqlite3_column_int64(s, 12);
	row->comm_sm_ns = sqlite3_column_int64(s, 35);
	row->underfill_gpu_ns = sqlite3_column_double(s, 13);
	row->wave_gpu_ns = sqlite3_column_double(s, 14);
	row->wave_max_gpu_ns = sqlite3_column_double(s, 15);
	row->unjudged_gpu_ns = sqlite3_column_double(s, 16);
	row->has_wave = sqlite3_column_int(s, 17);
	row->has_waves = sqlite3_column_type(s, 18) != SQLITE_NULL;
	row->waves = sqlite3_column_double(s, 18);
	if (is_config)
		row->device_id = sqlite3_column_int64(s, 20);
	for (int i = 0; i < 3; i++) {
		row->grid[i] = sqlite3_column_int64(s, 21 + i);
		row->block[i] = sqlite3_column_int64(s, 24 + i);
		row->cluster[i] = sqlite3_column_int64(s, 27 + i);
	}
	row->regs_per_thread = sqlite3_column_int64(s, 30);
	row->smem_bytes = sqlite3_column_int64(s, 31);
	row->blocks_per_sm = sqlite3_column_int64(s, 32);
	row->has_occupancy = sqlite3_column_type(s, 33) != SQLITE_NULL;
	row->occupancy = sqlite3_column_double(s, 33);
	row->is_persistent = wt_is_persistent_kernel((const char *)sqlite3_column_text(s, 2));
	return read_row_texts(s, row);
}

void wt_report_add(int64_t *sum, int64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = value < 0 ? INT64_MIN : INT64_MAX;
}

/* The sum of squared deviations of two sets together (Chan). */
static double joint_m2(const struct wt_report_row *a, const struct wt_report_row *b)
{
	double x = (double)a->launches, y = (double)b->launches, delta;

	if (!a->launches || !b->launches)
		return a->m2_ns2 + b->m2_ns2;
	delta = (double)a->time_ns / x - (double)b->time_ns / y;
	return a->m2_ns2 + b->m2_ns2 + delta * delta * x * y / (x + y);
}

/* What follows from the sums of a row. */
static void finish_row(struct wt_report_row *row)
{
	double n = (double)row->launches, timed = (double)row->latency_launches;

	wt_report_measure_finish(row);
	row->cv = -1;
	if (row->launches > 1 && row->time_ns > 0)
		row->cv =
		        sqrt((row->m2_ns2 > 0 ? row->m2_ns2 : 0) / n) / ((double)row->time_ns / n);
	if (row->latency_launches) {
		row->latency_mean_ns = (double)row->latency_ns / timed;
		row->call_mean_ns = (double)row->call_ns / timed;
	}
}

void wt_report_row_add(struct wt_report_row *sum, const struct wt_report_row *row)
{
	sum->m2_ns2 = joint_m2(sum, row);
	if (!sum->launches || row->min_ns < sum->min_ns)
		sum->min_ns = row->min_ns;
	if (row->max_ns > sum->max_ns)
		sum->max_ns = row->max_ns;
	wt_report_add(&sum->configs, row->configs);
	wt_report_add(&sum->launches, row->launches);
	wt_report_add(&sum->launches_in_graph, row->launches_in_graph);
	wt_report_add(&sum->time_ns, row->time_ns);
	wt_report_add(&sum->underfill_sm_ns, row->underfill_sm_ns);
	wt_report_add(&sum->wave_sm_ns, row->wave_sm_ns);
	wt_report_add(&sum->wave_max_sm_ns, row->wave_max_sm_ns);
	wt_report_add(&sum->unjudged_sm_ns, row->unjudged_sm_ns);
	wt_report_measure_sum(sum, row);
	wt_report_add(&sum->idle_sm_ns, row->idle_sm_ns);
	wt_report_add(&sum->tail_idle_sm_ns, row->tail_idle_sm_ns);
	wt_report_add(&sum->comm_sm_ns, row->comm_sm_ns);
	sum->underfill_gpu_ns += row->underfill_gpu_ns;
	sum->wave_gpu_ns += row->wave_gpu_ns;
	sum->wave_max_gpu_ns += row->wave_max_gpu_ns;
	sum->unjudged_gpu_ns += row->unjudged_gpu_ns;
	sum->idle_gpu_ns += row->idle_gpu_ns;
	sum->has_wave = sum->has_wave || row->has_wave;
	wt_report_add(&sum->gap_before_sm_ns, row->gap_before_sm_ns);
	sum->gap_before_gpu_ns += row->gap_before_gpu_ns;
	wt_report_add(&sum->latency_launches, row->latency_launches);
	wt_report_add(&sum->latency_ns, row->latency_ns);
	wt_report_add(&sum->call_ns, row->call_ns);
	wt_report_add(&sum->queued_launches, row->queued_launches);
}

static int load_rows(sqlite3 *db, const struct wt_report_query *query, struct wt_report *report)
{
	bool is_config = query->group == WT_REPORT_GROUP_CONFIG;
	char sql[sizeof(rows_sql) + 64];
	sqlite3_stmt *statement;
	int rc;

	report->total.config_id = -1;
	if (wt_report_key_is_of_launches(query->group))
		return 0;
	if (wt_report_is_sum(query->group))
		return wt_report_load_groups(db, query, report);
	snprintf(sql, sizeof(sql), rows_sql, wt_report_has_measured(db) ? "model_" : "",
	         wt_report_has_shares(db) ? "sum(i.comm_sm_ns)" : "0",
	         is_config ? "i.config_id" : "i.kernel_id");
	rc = wt_report_prepare(db, sql, &statement);
	if (rc)
		return rc;
	while ((rc = wt_report_step(statement)) > 0) {
		struct wt_report_row *row =
		        wt_report_append(&report->rows, &report->row_count, sizeof(*row));

		rc = row ? read_row(statement, is_config, row) : -ENOMEM;
		if (rc)
			break;
		wt_report_row_add(&report->total, row);
	}
	sqlite3_finalize(statement);
	return rc;
}

/*
 * How far the durations of each row vary: the file has that of every process and configuration.
 * Rows of single launches have it already.
 */
static int load_deviations(sqlite3 *db, struct wt_report_key *key, struct wt_report *report)
{
	struct wt_report_row *sums;
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db,
	                           "SELECT process_id, config_id, launches, time_ns, m2_ns2"
	                           " FROM config_stat WHERE launches > 0",
	                           &s);

	if (rc)
		return rc;
	sums = calloc(report->row_count + 1, sizeof(*sums));
	rc = sums ? 1 : -ENOMEM;
	while (rc >= 0 && (rc = wt_report_step(s)) > 0) {
		const struct wt_report_exec exec = {.process_id = sqlite3_column_int64(s, 0),
		                                    .config_id = sqlite3_column_int64(s, 1)};
		const struct wt_report_row part = {.launches = sqlite3_column_int64(s, 2),
		                                   .time_ns = sqlite3_column_int64(s, 3),
		                                   .m2_ns2 = sqlite3_column_double(s, 4)};
		size_t at;
		int found = wt_report_key_find(key, &exec, NULL, &at);

		if (!found)
			wt_report_row_add(&sums[at], &part);
		else if (found != -ENOENT)
			rc = found;
	}
	sqlite3_finalize(s);
	for (size_t i = 0; !rc && i < report->row_count; i++) {
		report->rows[i].m2_ns2 = sums[i].m2_ns2;
		wt_report_row_add(&sums[report->row_count], &sums[i]);
	}
	if (!rc)
		report->total.m2_ns2 = sums[report->row_count].m2_ns2;
	free(sums);
	return rc;
}

/* A quotient to rank by, in billionths of it. */
static int64_t scaled(double value)
{
	return value < 0 ? -1 : value < 9e9 ? (int64_t)(value * 1e9) : INT64_MAX;
}

/* What `by` ranks; unknown is below 0. */
static int64_t rank_value(const struct wt_report_row *row, enum wt_report_by by)
{
	switch (by) {
	case WT_REPORT_BY_IDLE:
		return row->has_wave || row->underfill_sm_ns || row->has_measured ? row->idle_sm_ns
		                                                                  : -1;
	case WT_REPORT_BY_TAIL_IDLE:
		return row->has_wave || row->has_measured ? row->tail_idle_sm_ns : -1;
	case WT_REPORT_BY_WAVE:
		return row->has_wave ? row->wave_sm_ns : -1;
	case WT_REPORT_BY_UNDERFILL:
		return row->underfill_sm_ns;
	case WT_REPORT_BY_TIME:
		return row->time_ns;
	case WT_REPORT_BY_LAUNCHES:
		return row->launches;
	case WT_REPORT_BY_GAP:
		return row->gap_before_sm_ns;
	case WT_REPORT_BY_LATENCY:
		if (!row->latency_launches)
			return INT64_MIN;
		return (int64_t)(row->latency_mean_ns * 1000);
	case WT_REPORT_BY_CV:
		return scaled(row->cv);
	case WT_REPORT_BY_STRAGGLE:
		return row->has_measured ? row->straggle_sm_ns : -1;
	}
	return 0;
}

/* Largest first; equal ones by what they could lose at most, time, then age: a fixed order. */
static int compare_rows(const void *a, const void *b, void *context)
{
	const struct wt_report_row *x = a, *y = b;
	enum wt_report_by by = *(const enum wt_report_by *)context;
	const int64_t keys[][2] = {
	        {rank_value(x, by), rank_value(y, by)},
	        {x->wave_max_sm_ns + x->unjudged_sm_ns, y->wave_max_sm_ns + y->unjudged_sm_ns},
	        {x->time_ns, y->time_ns},
	        {y->kernel_id, x->kernel_id},
	        {y->config_id, x->config_id},
	        {y->group_id, x->group_id},
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i][0] != keys[i][1])
			return keys[i][0] > keys[i][1] ? -1 : 1;
	return 0;
}

void wt_report_sort(struct wt_report *report, enum wt_report_by by)
{
	if (report->row_count)
		qsort_r(report->rows, report->row_count, sizeof(*report->rows), compare_rows, &by);
}

/* Names for people. Short ones are made together, so that different kernels look different. */
static int name_rows(struct wt_report *report, bool has_full_names)
{
	const char **names;
	char **shown = NULL;
	int rc;

	if (report->row_count && wt_report_is_sum(report->rows[0].group))
		return 0; /* they have their words already */
	names = calloc(report->row_count + 1, sizeof(*names));
	rc = names ? 0 : -ENOMEM;
	for (size_t i = 0; !rc && i < report->row_count; i++)
		names[i] = report->rows[i].kernel;
	if (!rc && !has_full_names)
		rc = wt_kernel_name_shorten_all(names, report->row_count, &shown);
	for (size_t i = 0; !rc && i < report->row_count; i++) {
		struct wt_report_row *row = &report->rows[i];

		row->kernel_shown =
		        has_full_names ? wt_kernel_name_demangle(row->kernel) : strdup(shown[i]);
		if (!row->kernel_shown)
			rc = -ENOMEM;
	}
	wt_kernel_name_free_all(shown, report->row_count);
	free(names);
	return rc;
}

/* ---- the window */

int wt_report_read_window(sqlite3 *db, const struct wt_select *select, struct wt_report *report)
{
	int rc = 1;

	report->steps = select && select->steps.is_looked_for ? &select->steps : NULL;
	if (select && select->is_applied) {
		report->select = select;
		report->start_ns = select->start_ns;
		report->end_ns = select->end_ns;
	} else {
		rc = wt_select_span(db, &report->start_ns, &report->end_ns);
	}
	if (rc > 0)
		report->has_window = report->end_ns > report->start_ns;
	return rc < 0 ? rc : 0;
}

/* ---- what the sweep says of itself */

static int read_shares(sqlite3 *db, struct wt_report *report)
{
	/* Devices with kernels of which it does not know: nobody has swept them. */
	static const char sql[] =
	        "SELECT total(kernels_waiting), total(kernels_late), total(kernels_refused),"
	        " (SELECT count(*) FROM main.config_stat JOIN config c USING (config_id)"
	        "  JOIN gpu g USING (device_id) WHERE g.sm_count > 0 AND max_ns > 0"
	        "  AND device_id NOT IN (SELECT device_id FROM sweep)) FROM sweep";
	struct wt_report_shares *shares = &report->shares;
	sqlite3_stmt *s;
	int rc;

	shares->is_exact = report->select && report->select->has_window;
	shares->is_swept = wt_report_has_shares(db);
	if (!shares->is_swept)
		return 0;
	rc = wt_report_prepare(db, sql, &s);
	if (rc)
		return rc;
	rc = wt_report_step(s);
	if (rc > 0) {
		shares->kernels_waiting = sqlite3_column_int64(s, 0);
		shares->kernels_late = sqlite3_column_int64(s, 1);
		shares->kernels_refused = sqlite3_column_int64(s, 2);
		shares->is_swept = sqlite3_column_int64(s, 3) == 0;
		if (shares->is_swept && !shares->kernels_waiting && !shares->kernels_late &&
		    !shares->kernels_refused)
			shares->is_exact = true;
	}
	sqlite3_finalize(s);
	return rc < 0 ? rc : 0;
}

const char *wt_report_shares_reason(const struct wt_report *report)
{
	const struct wt_report_shares *shares = &report->shares;

	if (shares->is_estimated)
		return "parts of kernels beside others are taken in proportion to their time";
	if (shares->is_exact)
		return NULL;
	if (!shares->is_swept)
		return "recorded before wavetap told them apart: wavetap analyze";
	if (shares->kernels_late)
		return "some records came late: wavetap analyze";
	if (shares->kernels_waiting)
		return report->processes_live ? "the last seconds are still open"
		                              : "the daemon ended before it was done: wavetap "
		                                "analyze";
	return "kernels with impossible times are left out of the ledger";
}

/* ---- the whole */

/* What the rollups don't have. */
static int load_launches(sqlite3 *db, const struct wt_report_query *query,
                         struct wt_report_key *key, struct wt_report_measure *measure,
                         struct wt_report *report)
{
	bool is_cheap = wt_db_int(db, "SELECT sum(launches) FROM main.config_stat", 0) <=
	                WT_REPORT_LAUNCHES_CHEAP;
	bool has_latency;
	int rc = 0;

	is_cheap = is_cheap && !report->is_of_sums;
	has_latency = query->latency == WT_REPORT_NEEDED ||
	              (query->latency == WT_REPORT_IF_CHEAP && is_cheap);

	for (size_t i = 0; !rc && i < report->row_count; i++)
		rc = wt_report_key_note(key, &report->rows[i], i);
	if (!rc)
		rc = wt_report_scan(db, query->select, has_latency, key, measure, report);
	if (!rc && !wt_report_key_is_of_launches(query->group))
		rc = load_deviations(db, key, report);
	if (!rc && !wt_report_key_is_of_launches(query->group))
		rc = wt_report_measure_rollups(measure, db, key);
	if (!rc)
		wt_report_measure_apply(measure, report);
	if (rc || query->gaps == WT_REPORT_NOT_NEEDED || !report->has_window)
		return rc;
	rc = wt_report_sum_gaps(db, query->select, key, report);
	if (rc)
		return rc < 0 && query->gaps == WT_REPORT_NEEDED ? rc : 0;
	if (query->gaps == WT_REPORT_NEEDED)
		return wt_report_load_gaps(db, query->select, key, report);
	if (is_cheap)
		(void)wt_report_load_gaps(db, query->select, key, report); /* or do without */
	return 0;
}

/* Files that an earlier wavetap began know it of kernels beside others only after an analysis. */
#define ACTIVE_SQL "SELECT CAST(value AS INTEGER) FROM main.meta WHERE key = 'analysis_version'"
#define ACTIVE_ANALYSIS_VERSION 3

static int load_rows_with_keys(sqlite3 *db, const struct wt_report_query *query,
                               struct wt_report *report)
{
	struct wt_report_measure measure = {0};
	struct wt_report_key key;
	int rc = wt_report_key_init(&key, db, query->group, report->problem,
	                            sizeof(report->problem));

	if (!rc)
		rc = wt_dropped_load(db, &report->dropped);
	report->is_of_sums =
	        report->dropped.is_any && !(query->select && query->select->has_window);
	if (!rc)
		rc = load_rows(db, query, report);
	if (!rc)
		rc = wt_report_read_window(db, query->select, report);
	if (!rc)
		rc = wt_report_measure_init(&measure, db);
	if (!rc)
		rc = load_launches(db, query, &key, &measure, report);
	if (!rc)
		report->has_active =
		        measure.is_known && wt_db_int(db, ACTIVE_SQL, 0) >= ACTIVE_ANALYSIS_VERSION;
	wt_report_measure_fini(&measure);
	wt_report_key_fini(&key);
	return rc;
}

static int load_parts(sqlite3 *db, const struct wt_report_query *query, struct wt_report *report)
{
	int rc = load_rows_with_keys(db, query, report);

	if (!rc)
		rc = wt_report_load_devices(db, report);
	if (!rc)
		rc = wt_report_read_loss(db, report);
	if (!rc)
		rc = wt_report_read_processes(db, report);
	if (!rc)
		rc = read_shares(db, report);
	if (rc)
		return rc;
	for (size_t i = 0; i < report->row_count; i++)
		finish_row(&report->rows[i]);
	finish_row(&report->total);
	wt_report_sort(report, query->by);
	return name_rows(report, query->has_full_names);
}

/* Runs `load` within one read transaction. */
static int load_at_once(sqlite3 *db, const struct wt_report_query *query, struct wt_report *report,
                        int (*load)(sqlite3 *, const struct wt_report_query *, struct wt_report *))
{
	/* Of a transaction of its own, or of the one in which a selection was applied. */
	int rc = wt_report_note(db, sqlite3_exec(db, "SAVEPOINT report", NULL, NULL, NULL));

	memset(report, 0, sizeof(*report));
	if (!rc)
		rc = load(db, query, report);
	if (rc == -EIO)
		snprintf(report->problem, sizeof(report->problem), "%s", wt_report_problem(db));
	sqlite3_exec(db, "RELEASE report", NULL, NULL, NULL);
	return rc;
}

bool wt_report_takes_sums(sqlite3 *db, const struct wt_report_query *query)
{
	if (query->latency == WT_REPORT_NEEDED || (query->select && query->select->words.range) ||
	    wt_report_key_is_of_launches(query->group))
		return false;
	return query->gaps != WT_REPORT_NEEDED || wt_ledger_has_sums(db);
}

int wt_report_load(sqlite3 *db, const struct wt_report_query *query, struct wt_report *report)
{
	return load_at_once(db, query, report, load_parts);
}

static int load_losses(sqlite3 *db, const struct wt_report_query *query, struct wt_report *report)
{
	int rc = wt_report_read_loss(db, report);

	(void)query;
	if (!rc)
		rc = wt_dropped_load(db, &report->dropped);
	return rc ? rc : wt_report_read_processes(db, report);
}

int wt_report_load_losses(sqlite3 *db, struct wt_report *report)
{
	return load_at_once(db, NULL, report, load_losses);
}

void wt_report_fini(struct wt_report *report)
{
	for (size_t i = 0; i < report->row_count; i++) {
		free(report->rows[i].kernel);
		free(report->rows[i].kernel_shown);
		free(report->rows[i].model_reason);
		free(report->rows[i].limiter);
		free(report->rows[i].device);
		free(report->rows[i].device_uuid);
		free(report->rows[i].process);
		free(report->rows[i].hostname);
		free(report->rows[i].part);
	}
	for (size_t i = 0; i < report->device_count; i++) {
		free(report->devices[i].name);
		free(report->devices[i].uuid);
	}
	for (size_t i = 0; i < report->capture_count; i++) {
		free(report->captures[i].capture);
		free(report->captures[i].reason);
	}
	wt_cost_fini(&report->cost);
	if (report->ledger)
		wt_ledger_fini(report->ledger);
	free(report->ledger);
	free(report->rows);
	free(report->devices);
	free(report->captures);
	memset(report, 0, sizeof(*report));
}

void wt_report_why_empty(const struct wt_report *report, char *text, size_t text_bytes)
{
	const struct wt_report_capture *first = report->captures;

	if (report->has_samples_alone)
		snprintf(text, text_bytes,
		         "it has samples of a device and no program (sms, timeline and ledger show "
		         "what they can)");
	else if (!report->processes)
		snprintf(text, text_bytes, "no process launched a kernel");
	else if (report->capture_count && first->reason)
		snprintf(text, text_bytes, "%s, %lld launches without kernel times: %s",
		         first->capture, (long long)first->launches_attempted, first->reason);
	else if (report->processes_live)
		snprintf(text, text_bytes, "no kernel has been reported yet, the run is going on");
	else
		snprintf(text, text_bytes, "%lld launches, but no kernel record with a usable time",
		         (long long)report->loss.launches_attempted);
}
