/*
 * check_measured.c - can the numbers that were measured be? Each column of the tables that hold them
 * has bounds (bounds.h). See check.h.
 */
#include <stdio.h>

#include "cli/bounds.h"
#include "cli/check.h"

#define SQL_BYTES 4096
#define COLUMNS_MAX 20

/* NULL is within any. */
struct column {
	const char *name;
	double low, high;
	const char *times; /* what both are multiples of, as SQL; NULL: of nothing */
};

struct table {
	const char *name, *from, *id;
	const char *text; /* what is wrong */
	bool has_classes; /* not before version 4 */
	struct column columns[COLUMNS_MAX];
};

#define OF_GPU " JOIN main.config USING (config_id) JOIN main.gpu g USING (device_id)"
#define SMS "g.sm_count"
#define LENGTH "(t.end_ns - t.start_ns)"
/* SMs x the time that the samplers of the device were at work. */
#define SM_TIME                                                                                    \
	"(SELECT 1.1 * g.sm_count * (max(s.last_ns) - min(s.first_ns)) FROM main.sampler s WHERE " \
	"s.device_id = t.device_id)"

static const struct table tables[] = {
        {"measured",
         "main.measured t" OF_GPU,
         "config_id",
         "a number that can't be: negative, or beyond the SMs or any GPU",
         false,
         {{"active_sms", 0, WT_BOUND_SMS, SMS},
          {"active_error_sms", 0, WT_BOUND_ERRORS, SMS},
          {"underfill_sms", 0, WT_BOUND_SMS, SMS},
          {"wave_sms", 0, WT_BOUND_SMS, SMS},
          {"wave_max_sms", 0, WT_BOUND_SMS, SMS},
          {"straggle_sms", 0, WT_BOUND_SMS, SMS},
          {"ramp_sms", 0, WT_BOUND_SMS, SMS},
          {"joint_active_sms", 0, WT_BOUND_SHARE, SMS},
          {"joint_error_sms", 0, WT_BOUND_ERRORS, SMS},
          {"warps_per_sm", 0, WT_BOUND_WARPS_PER_SM, NULL},
          {"tensor_share", 0, WT_BOUND_SHARE, NULL},
          {"dram_bytes_per_ns", 0, WT_BOUND_DRAM_BYTES_PER_NS, NULL},
          {"t.sm_clock_mhz", 0, WT_BOUND_SM_CLOCK_MHZ, NULL},
          {"launches", 0, WT_BOUND_TIME_NS, NULL},
          {"time_ns", 0, WT_BOUND_TIME_NS, NULL},
          {"joint_time_ns", 0, WT_BOUND_TIME_NS, NULL}}},
        {"measured",
         "main.measured t" OF_GPU,
         "config_id",
         "a number that can't be: negative, or beyond the SMs or any GPU",
         true,
         {{"issue_share", 0, WT_BOUND_SHARE, NULL},
          {"class_wave_sms", 0, WT_BOUND_SMS, SMS},
          {"is_used", 0, 1, NULL}}},
        {"measured_profile",
         "main.measured_profile t" OF_GPU,
         "config_id",
         "a number that can't be: negative, or beyond the SMs",
         false,
         {{"bin", 0, 1e6, NULL},
          {"active_sms", 0, WT_BOUND_BIN, SMS},
          {"error_sms", 0, WT_BOUND_ERRORS, SMS}}},
        {"sm_bucket",
         "main.sm_bucket t",
         "start_ns",
         "a number that can't be: negative, or beyond its time or any GPU",
         false,
         {{"start_ns", 0, WT_BOUND_TIME_NS, NULL},
          {"end_ns - start_ns", 1, WT_BOUND_TIME_NS, NULL},
          {"sampled_ns", 0, 2, LENGTH},
          {"samples", 0, 1, LENGTH},
          {"active_avg", 0, WT_BOUND_SHARE, NULL},
          {"active_min", 0, WT_BOUND_SHARE, NULL},
          {"active_max", 0, WT_BOUND_SHARE, NULL},
          {"warps_per_sm", 0, WT_BOUND_WARPS_PER_SM, NULL},
          {"tensor_share", 0, WT_BOUND_SHARE, NULL},
          {"dram_read_bytes", 0, WT_BOUND_DRAM_BYTES_PER_NS, LENGTH},
          {"dram_write_bytes", 0, WT_BOUND_DRAM_BYTES_PER_NS, LENGTH},
          {"sm_clock_mhz", 0, WT_BOUND_SM_CLOCK_MHZ, NULL}}},
        {"sm_bucket",
         "main.sm_bucket t",
         "start_ns",
         "sums of the least and most active SM beyond the time that they are of",
         true,
         {{"busy_ns", 0, 1, "t.sampled_ns"},
          {"extremes_ns", 0, 1, "t.busy_ns"},
          {"min_share_ns", 0, WT_BOUND_SHARE, "t.extremes_ns"},
          {"max_share_ns", 0, WT_BOUND_SHARE, "t.extremes_ns"}}},
        {"fold",
         "main.fold t JOIN main.gpu g USING (device_id)",
         "device_id",
         "a number that can't be: negative, or beyond SMs x time",
         false,
         {{"offset_ns", -WT_BOUND_OFFSET_NS, WT_BOUND_OFFSET_NS, NULL},
          {"offset_error_ns", 0, WT_BOUND_OFFSET_NS, NULL},
          {"residual", 0, 2, NULL},
          {"samples_used", 0, WT_BOUND_TIME_NS, NULL},
          {"samples_skipped", 0, WT_BOUND_TIME_NS, NULL},
          {"active_sm_ns", 0, 1, SM_TIME},
          {"explained_sm_ns", 0, 1, SM_TIME}}},
};

/* Rows with a column out of its bounds, and the first of them. */
static void write_sql(const struct table *table, char sql[SQL_BYTES])
{
	size_t used = (size_t)snprintf(sql, SQL_BYTES, "SELECT count(*), min(t.%s) FROM %s WHERE ",
	                               table->id, table->from);

	for (const struct column *at = table->columns; at->name && used < SQL_BYTES; at++)
		used += (size_t)snprintf(
		        sql + used, SQL_BYTES - used, "%s%s NOT BETWEEN %.17g%s%s AND %.17g%s%s",
		        at == table->columns ? "" : " OR ", at->name, at->low,
		        at->times ? " * " : "", at->times ? at->times : "", at->high,
		        at->times ? " * " : "", at->times ? at->times : "");
}

static int check_table(struct wt_check *check, const struct table *table)
{
	char sql[SQL_BYTES];
	sqlite3_stmt *row = NULL;
	int code, err = 0;

	write_sql(table, sql);
	code = sqlite3_prepare_v2(check->db, sql, -1, &row, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_step(row);
	if (code == SQLITE_ROW && sqlite3_column_int64(row, 0))
		err = wt_check_add(check, "measured", table->name, sqlite3_column_int64(row, 0),
		                   "%s (first: %s %s)", table->text, table->id,
		                   (const char *)sqlite3_column_text(row, 1));
	sqlite3_finalize(row);
	return err ? err : wt_check_code(check, code);
}

int wt_check_bounds(struct wt_check *check)
{
	int err = 0;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && !err; i++)
		if (check->has_measured && (check->has_classes || !tables[i].has_classes))
			err = check_table(check, &tables[i]);
	return err;
}
