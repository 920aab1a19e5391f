/*
 * report_group.c - rows of `top` that sum a device, a process, a rank or a class of kernels.
 * Single-threaded; blocks on the file.
 *
 * The rollup has one row per process and configuration, and a configuration belongs to one
 * device: each of its rows falls into exactly one group, so the groups add up to the total.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/kernel_class.h"
#include "cli/report_sql.h"

/* Idle time beside collectives, which old files have not, and the grouping key are put in. */
static const char groups_sql[] =
        "SELECT sum(s.launches), sum(iif(s.in_graph, s.launches, 0)), sum(s.time_ns),"
        " min(s.min_ns), max(s.max_ns), sum(s.underfill_sm_ns), sum(s.wave_sm_ns),"
        " sum(s.wave_max_sm_ns), sum(s.unjudged_sm_ns),"
        " total(1.0 * s.underfill_sm_ns / nullif(d.sm_count, 0)),"
        " total(1.0 * s.wave_sm_ns / nullif(d.sm_count, 0)),"
        " total(1.0 * s.wave_max_sm_ns / nullif(d.sm_count, 0)),"
        " total(1.0 * s.unjudged_sm_ns / nullif(d.sm_count, 0)), max(s.unjudged_sm_ns = 0 OR "
        "c.model_reason IS NULL),"
        " count(DISTINCT c.config_id), count(DISTINCT c.kernel_id),"
        /* Of one device, process or rank there is one value; of several, none. */
        " count(DISTINCT c.device_id), min(c.device_id), min(d.sm_count),"
        " count(DISTINCT s.process_id), min(s.process_id), min(p.pid),"
        " iif(min(p.rank) = max(p.rank) AND count(p.rank) = count(*), min(p.rank), -1),"
        " iif(min(p.local_rank) = max(p.local_rank) AND count(p.local_rank) = count(*),"
        "     min(p.local_rank), -1),"
        " iif(min(p.world_size) = max(p.world_size), min(p.world_size), -1),"
        " min(d.name), min(d.uuid), min(p.command), min(p.hostname), max(c.model_reason),"
        " min(k.name), %s"
        " FROM config_stat s JOIN config c USING (config_id) JOIN device d USING (device_id)"
        " JOIN process p USING (process_id) JOIN kernel k USING (kernel_id)"
        " WHERE s.launches > 0 GROUP BY %s";

static const char *group_key(enum wt_report_group group)
{
	switch (group) {
	case WT_REPORT_GROUP_DEVICE:
		return "c.device_id";
	case WT_REPORT_GROUP_PROCESS:
		return "s.process_id";
	case WT_REPORT_GROUP_CLASS:
		return "wt_kernel_class(k.name)";
	default:
		return "p.rank";
	}
}

/* wt_kernel_class(NAME): a number, in SQL. */
static void sql_kernel_class(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	(void)argc;
	sqlite3_result_int(context, wt_kernel_class((const char *)sqlite3_value_text(argv[0])));
}

void wt_report_row_init(struct wt_report_row *row, enum wt_report_group group)
{
	row->group = group;
	row->kernel_id = row->config_id = row->device_id = -1;
	row->process_id = row->pid = row->sms = -1;
	row->rank = row->local_rank = row->world_size = -1;
	row->context_id = row->stream_id = row->graph_id = row->step = -1;
	row->low_ns = row->high_ns = -1;
}

static void read_sums(sqlite3_stmt *s, struct wt_report_row *row)
{
	row->launches = sqlite3_column_int64(s, 0);
	row->launches_in_graph = sqlite3_column_int64(s, 1);
	row->time_ns = sqlite3_column_int64(s, 2);
	row->min_ns = sqlite3_column_int64(s, 3);
	row->max_ns = sqlite3_column_int64(s, 4);
	row->underfill_sm_ns = sqlite3_column_int64(s, 5);
	row->wave_sm_ns = sqlite3_column_int64(s, 6);
	row->wave_max_sm_ns = sqlite3_column_int64(s, 7);
	row->unjudged_sm_ns = sqlite3_column_int64(s, 8);
	row->comm_sm_ns = sqlite3_column_int64(s, 31);
	row->underfill_gpu_ns = sqlite3_column_double(s, 9);
	row->wave_gpu_ns = sqlite3_column_double(s, 10);
	row->wave_max_gpu_ns = sqlite3_column_double(s, 11);
	row->unjudged_gpu_ns = sqlite3_column_double(s, 12);
	row->has_wave = sqlite3_column_int(s, 13);
	row->configs = sqlite3_column_int64(s, 14);
	row->kernels = sqlite3_column_int64(s, 15);
}

/* Who the row is about; what it is not about, or has several of, is -1 or NULL. */
static int read_identity(sqlite3_stmt *s, enum wt_report_group group, struct wt_report_row *row)
{
	int rc = 0;

	row->devices = sqlite3_column_int64(s, 16);
	row->processes = sqlite3_column_int64(s, 19);
	if (row->devices == 1) {
		row->device_id = sqlite3_column_int64(s, 17);
		row->sms = sqlite3_column_int64(s, 18);
		rc = wt_report_copy_text(s, 25, &row->device);
		if (!rc)
			rc = wt_report_copy_text(s, 26, &row->device_uuid);
	}
	if (row->processes == 1) {
		row->process_id = sqlite3_column_int64(s, 20);
		row->pid = sqlite3_column_int64(s, 21);
		if (!rc)
			rc = wt_report_copy_text(s, 27, &row->process);
		if (!rc)
			rc = wt_report_copy_text(s, 28, &row->hostname);
	}
	row->rank = sqlite3_column_int64(s, 22);
	row->local_rank = sqlite3_column_int64(s, 23);
	row->world_size = sqlite3_column_int64(s, 24);
	row->group_id = row->rank;
	if (group == WT_REPORT_GROUP_DEVICE)
		row->group_id = row->device_id;
	if (group == WT_REPORT_GROUP_PROCESS)
		row->group_id = row->process_id;
	if (group == WT_REPORT_GROUP_CLASS) {
		const char *name = (const char *)sqlite3_column_text(s, 30);
		enum wt_kernel_class kernel_class = wt_kernel_class(name);

		row->group_id = kernel_class;
		row->part = strdup(wt_kernel_class_name(kernel_class));
		if (!rc && !row->part)
			rc = -ENOMEM;
	}
	return rc ? rc : wt_report_copy_text(s, 29, &row->model_reason);
}

/* 1122334455... as 11223344-5566-7788-99aa-bbccddeeff00, the form of nvidia-smi. */
static void format_uuid(const char *hex, char text[40])
{
	if (hex && strlen(hex) == 32)
		snprintf(text, 40, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16,
		         hex + 20);
	else
		snprintf(text, 40, "%.36s", hex ? hex : "");
}

/* What stands in the last column for people. */
static int label(enum wt_report_group group, struct wt_report_row *row)
{
	char where[64] = "", uuid[40], rank[64] = "";
	int n;

	if (row->devices == 1)
		snprintf(where, sizeof(where), "device %" PRId64, row->device_id);
	else
		snprintf(where, sizeof(where), "%" PRId64 " devices", row->devices);
	if (row->rank >= 0 && row->world_size >= 0)
		snprintf(rank, sizeof(rank), "rank %" PRId64 " of %" PRId64, row->rank,
		         row->world_size);
	else if (row->rank >= 0)
		snprintf(rank, sizeof(rank), "rank %" PRId64, row->rank);
	format_uuid(row->device_uuid, uuid);
	if (group == WT_REPORT_GROUP_CLASS)
		n = asprintf(&row->kernel_shown, "%s", row->part);
	else if (group == WT_REPORT_GROUP_DEVICE)
		n = asprintf(&row->kernel_shown, "%s  %" PRId64 " SMs  %s  %s", where, row->sms,
		             row->device, uuid);
	else if (group == WT_REPORT_GROUP_PROCESS)
		n = asprintf(&row->kernel_shown, "pid %" PRId64 "  %s%s%s  %s", row->pid, rank,
		             rank[0] ? "  " : "", where, row->process);
	else
		n = asprintf(&row->kernel_shown, "%s  %" PRId64 " process%s  %s",
		             rank[0] ? rank : "no rank", row->processes,
		             row->processes == 1 ? "" : "es", where);
	if (n < 0)
		row->kernel_shown = NULL;
	return n < 0 ? -ENOMEM : 0;
}

int wt_report_load_groups(sqlite3 *db, const struct wt_report_query *query,
                          struct wt_report *report)
{
	char sql[sizeof(groups_sql) + 64];
	sqlite3_stmt *s;
	int rc;

	if (query->group == WT_REPORT_GROUP_CLASS &&
	    sqlite3_create_function(db, "wt_kernel_class", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
	                            NULL, sql_kernel_class, NULL, NULL) != SQLITE_OK)
		return -EIO;
	snprintf(sql, sizeof(sql), groups_sql, wt_report_has_shares(db) ? "sum(s.comm_sm_ns)" : "0",
	         group_key(query->group));
	rc = wt_report_prepare(db, sql, &s);
	if (rc)
		return rc;
	report->total.config_id = -1;
	while ((rc = wt_report_step(s)) > 0) {
		struct wt_report_row *row =
		        wt_report_append(&report->rows, &report->row_count, sizeof(*row));

		if (!row) {
			rc = -ENOMEM;
			break;
		}
		wt_report_row_init(row, query->group);
		read_sums(s, row);
		rc = read_identity(s, query->group, row);
		if (!rc)
			rc = label(query->group, row);
		if (rc)
			break;
		wt_report_row_add(&report->total, row);
	}
	sqlite3_finalize(s);
	return rc;
}

int wt_report_identify(sqlite3 *db, struct wt_report_row *row, int64_t process_id,
                       int64_t device_id)
{
	static const char process_sql[] =
	        "SELECT pid, ifnull(rank, -1), ifnull(local_rank, -1), ifnull(world_size, -1),"
	        " command, hostname FROM main.process WHERE process_id = ?1";
	static const char device_sql[] =
	        "SELECT name, uuid, sm_count FROM main.device WHERE device_id = ?1";
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, process_sql, &s);

	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, process_id);
	rc = row->processes == 1 ? wt_report_step(s) : 0;
	if (rc > 0) {
		row->process_id = process_id;
		row->pid = sqlite3_column_int64(s, 0);
		row->rank = sqlite3_column_int64(s, 1);
		row->local_rank = sqlite3_column_int64(s, 2);
		row->world_size = sqlite3_column_int64(s, 3);
		rc = wt_report_copy_text(s, 4, &row->process);
		if (!rc)
			rc = wt_report_copy_text(s, 5, &row->hostname);
	}
	sqlite3_finalize(s);
	if (!rc)
		rc = wt_report_prepare(db, device_sql, &s);
	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, device_id);
	rc = row->devices == 1 ? wt_report_step(s) : 0;
	if (rc > 0) {
		row->device_id = device_id;
		row->sms = sqlite3_column_int64(s, 2);
		rc = wt_report_copy_text(s, 0, &row->device);
		if (!rc)
			rc = wt_report_copy_text(s, 1, &row->device_uuid);
	}
	sqlite3_finalize(s);
	return rc;
}
