/*
 * rates.c - see rates.h. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/rates.h"
#include "cli/report_sql.h"
#include "schema/wt_db.h"

bool wt_run_has_table(sqlite3 *db, const char *name)
{
	sqlite3_stmt *s;
	bool has = false;

	if (wt_report_prepare(db, "SELECT 1 FROM main.sqlite_schema WHERE name = ?1", &s))
		return false;
	sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
	has = wt_report_step(s) > 0;
	sqlite3_finalize(s);
	return has;
}

static double number(sqlite3_stmt *s, int column)
{
	return sqlite3_column_type(s, column) == SQLITE_NULL ? NAN
	                                                     : sqlite3_column_double(s, column);
}

static void text(sqlite3_stmt *s, int column, char *buf, size_t bytes)
{
	const char *value = (const char *)sqlite3_column_text(s, column);

	snprintf(buf, bytes, "%s", value ? value : "");
}

/* ---- rates */

static void read_row(sqlite3_stmt *s, struct wt_rates_row *row)
{
	double *const numbers[] = {
	        &row->active_sms,        &row->error_sms,    &row->underfill_sms,
	        &row->wave_sms,          &row->wave_max_sms, &row->straggle_sms,
	        &row->ramp_sms,          &row->warps_per_sm, &row->tensor_share,
	        &row->dram_bytes_per_ns, &row->sm_clock_mhz, &row->joint_active_sms,
	        &row->joint_error_sms,   &row->issue_share,  &row->class_wave_sms};
	int at = 9;

	text(s, 0, row->evidence, sizeof(row->evidence));
	row->is_used = sqlite3_column_int(s, 1) != 0;
	row->disagrees = sqlite3_column_int(s, 2) != 0;
	text(s, 3, row->reason, sizeof(row->reason));
	row->launches = sqlite3_column_int64(s, 4);
	row->time_ns = sqlite3_column_int64(s, 5);
	text(s, 6, row->bound, sizeof(row->bound));
	text(s, 7, row->wave_form, sizeof(row->wave_form));
	row->joint_time_ns = sqlite3_column_int64(s, 8);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		*numbers[i] = number(s, at++);
	text(s, at, row->bound_reason, sizeof(row->bound_reason));
}

static int load_rates(sqlite3 *db, int64_t config_id, struct wt_rates *config)
{
	static const char sql[] =
	        "SELECT evidence, is_used, disagrees, reason, launches, time_ns, bound, wave_form,"
	        " joint_time_ns, active_sms, active_error_sms, underfill_sms, wave_sms,"
	        " wave_max_sms, straggle_sms, ramp_sms, warps_per_sm, tensor_share,"
	        " dram_bytes_per_ns, sm_clock_mhz, joint_active_sms, joint_error_sms, %s"
	        " FROM measured WHERE config_id = ?1 ORDER BY is_used DESC, evidence DESC";
	static const char class_sql[] = "issue_share, class_wave_sms, bound_reason";
	char whole[sizeof(sql) + sizeof(class_sql)];
	sqlite3_stmt *s;
	int rc;

	snprintf(whole, sizeof(whole), sql,
	         wt_report_has_classes(db) ? class_sql : "NULL, NULL, NULL");
	rc = wt_report_prepare(db, whole, &s);

	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, config_id);
	while ((rc = wt_report_step(s)) > 0 && config->count < 2)
		read_row(s, &config->at[config->count++]);
	sqlite3_finalize(s);
	return rc < 0 ? rc : 0;
}

static int load_profile(sqlite3 *db, int64_t config_id, struct wt_rates *config)
{
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db,
	                           "SELECT active_sms, error_sms FROM measured_profile"
	                           " WHERE config_id = ?1 ORDER BY bin",
	                           &s);

	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, config_id);
	while ((rc = wt_report_step(s)) > 0) {
		struct wt_rates_bin *bin =
		        wt_report_append(&config->bins, &config->bin_count, sizeof(*bin));

		if (!bin) {
			rc = -ENOMEM;
			break;
		}
		bin->active_sms = sqlite3_column_double(s, 0);
		bin->error_sms = sqlite3_column_double(s, 1);
	}
	sqlite3_finalize(s);
	return rc;
}

/* ---- the profiler */

#define PROFILED_SQL(condition)                                                                    \
	"SELECT count(*), avg(p.active_min / p.active_max),"                                       \
	" avg(p.active_sum / p.sms / p.active_max), sum(p.cost_ns) FROM " condition                \
	" AND p.sms > 0 AND p.active_max > 0"

static int read_profiled(sqlite3_stmt *s, struct wt_rates_profiled *profiled)
{
	int rc = wt_report_step(s);

	if (rc > 0)
		*profiled = (struct wt_rates_profiled){
		        sqlite3_column_int64(s, 0), sqlite3_column_double(s, 1),
		        sqlite3_column_double(s, 2), sqlite3_column_int64(s, 3)};
	return rc < 0 ? rc : 0;
}

/* Profiled launches with their configurations: one pass, kept for the connection. 1: none. */
static int find_profiled(sqlite3 *db)
{
	static const char sql[] =
	        "CREATE TEMP TABLE IF NOT EXISTS wt_profiled AS"
	        " SELECT e.config_id, e.process_id, e.launch_seq FROM main.profile_launch p"
	        " CROSS JOIN main.kernel_exec e USING (process_id, launch_seq)"
	        " WHERE e.graph_id IS NULL";
	int code;

	if (!wt_run_has_table(db, "profile_launch") ||
	    !wt_db_int(db, "SELECT EXISTS (SELECT 1 FROM main.profile_launch)", 0))
		return 1;
	sqlite3_exec(db, "PRAGMA query_only = OFF", NULL, NULL, NULL);
	code = sqlite3_exec(db, sql, NULL, NULL, NULL);
	sqlite3_exec(db, "PRAGMA query_only = ON", NULL, NULL, NULL);
	return code == SQLITE_OK ? 0 : -EIO;
}

static int load_profiled(sqlite3 *db, int64_t config_id, struct wt_rates_profiled *profiled)
{
	sqlite3_stmt *s;
	int rc = find_profiled(db);

	if (rc)
		return rc < 0 ? rc : 0;
	rc = wt_report_prepare(db,
	                       PROFILED_SQL("temp.wt_profiled JOIN main.profile_launch p USING"
	                                    " (process_id, launch_seq) WHERE config_id = ?1"),
	                       &s);
	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, config_id);
	rc = read_profiled(s, profiled);
	sqlite3_finalize(s);
	return rc;
}

int wt_rates_device_profiled(sqlite3 *db, int64_t device_id, int64_t start_ns, int64_t end_ns,
                             struct wt_rates_profiled *ret_profiled)
{
	sqlite3_stmt *s;
	int rc;

	*ret_profiled = (struct wt_rates_profiled){0};
	if (!wt_run_has_table(db, "profile_launch"))
		return 0;
	rc = wt_report_prepare(db,
	                       PROFILED_SQL("main.profile_launch p WHERE p.device_id = ?1"
	                                    " AND p.start_ns >= ?2 AND p.start_ns < ?3"),
	                       &s);
	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, device_id);
	sqlite3_bind_int64(s, 2, start_ns);
	sqlite3_bind_int64(s, 3, end_ns);
	rc = read_profiled(s, ret_profiled);
	sqlite3_finalize(s);
	return rc;
}

bool wt_rates_say_profiled(struct wt_phrase *line, const struct wt_rates_profiled *profiled)
{
	char count[WT_TEXT_NUMBER_BYTES], least[WT_TEXT_NUMBER_BYTES], mean[WT_TEXT_NUMBER_BYTES];
	char cost[WT_TEXT_NUMBER_BYTES];

	if (!profiled->launches)
		return false;
	wt_phrase_add(line, "%s launch%s profiled", wt_text_count(count, profiled->launches),
	              profiled->launches == 1 ? "" : "es");
	wt_phrase_words(
	        line, 2,
	        "the least active SM had warps for %s%% of the time of the most active one, "
	        "the mean for %s%%",
	        wt_text_percent(least, profiled->least_share, 1),
	        wt_text_percent(mean, profiled->mean_share, 1));
	if (profiled->cost_ns > 0)
		wt_phrase_add(line, "the program waited %s for %s",
		              wt_text_ns(cost, profiled->cost_ns),
		              profiled->launches == 1 ? "it" : "them");
	return true;
}

void wt_rates_put_profiled(struct wt_json *json, const struct wt_rates_profiled *profiled)
{
	wt_json_key(json, "profiled_launches");
	if (!profiled->launches) {
		wt_json_null(json);
		return;
	}
	wt_json_object_begin(json);
	wt_json_key(json, "launches");
	wt_json_int(json, profiled->launches);
	wt_json_key(json, "least_share");
	wt_json_double(json, profiled->least_share);
	wt_json_key(json, "mean_share");
	wt_json_double(json, profiled->mean_share);
	wt_json_key(json, "cost_ns");
	wt_json_int(json, profiled->cost_ns);
	wt_json_object_end(json);
}

/* ---- the whole */

int wt_rates_load(sqlite3 *db, int64_t config_id, struct wt_rates *config)
{
	int rc = 0;

	memset(config, 0, sizeof(*config));
	if (wt_run_has_table(db, "measured"))
		rc = load_rates(db, config_id, config);
	if (!rc && wt_run_has_table(db, "measured_profile"))
		rc = load_profile(db, config_id, config);
	if (!rc)
		rc = load_profiled(db, config_id, &config->profiled);
	return rc;
}

void wt_rates_fini(struct wt_rates *config)
{
	free(config->bins);
	memset(config, 0, sizeof(*config));
}

const struct wt_rates_row *wt_rates_used(const struct wt_rates *config)
{
	return config->count && config->at[0].is_used && !config->at[0].reason[0] ? &config->at[0]
	                                                                          : NULL;
}
