/*
 * rates.c - see rates.h. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bounds.h"
#include "cli/rates.h"
#include "cli/report_sql.h"
#include "schema/wt_db.h"

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

/* Not known, or something that can be. */
static bool is_within(double value, double max)
{
	return isnan(value) || (value >= 0 && value <= max);
}

static bool is_row_sound(const struct wt_rates_row *row, double sms)
{
	const double of_sms[] = {row->active_sms,   row->underfill_sms, row->wave_sms,
	                         row->wave_max_sms, row->straggle_sms,  row->ramp_sms};
	double sum = 0;

	for (size_t i = 0; i < sizeof(of_sms) / sizeof(of_sms[0]); i++) {
		if (!is_within(of_sms[i], sms * WT_BOUND_SMS))
			return false;
		sum += i == 3 ? 0 : of_sms[i]; /* all but the greatest wave */
	}
	return (isnan(sum) || fabs(sum - sms) <= 1e-6 * sms) &&
	       is_within(row->error_sms, sms * WT_BOUND_ERRORS) &&
	       is_within(row->warps_per_sm, WT_BOUND_WARPS_PER_SM) &&
	       is_within(row->tensor_share, WT_BOUND_SHARE) &&
	       is_within(row->issue_share, WT_BOUND_SHARE) &&
	       is_within(row->dram_bytes_per_ns, WT_BOUND_DRAM_BYTES_PER_NS) &&
	       is_within(row->sm_clock_mhz, WT_BOUND_SM_CLOCK_MHZ) &&
	       is_within(row->joint_active_sms, sms * WT_BOUND_SHARE) &&
	       is_within(row->joint_error_sms, sms * WT_BOUND_ERRORS) && row->launches >= 0 &&
	       is_within((double)row->time_ns, WT_BOUND_TIME_NS) &&
	       is_within((double)row->joint_time_ns, WT_BOUND_TIME_NS);
}

/* Nothing of it is to be believed. */
static void take_for_damaged(struct wt_rates_row *row)
{
	row->is_used = row->disagrees = false;
	snprintf(row->reason, sizeof(row->reason),
	         "damaged: numbers that can't be (wavetap check)");
	row->launches = row->time_ns = row->joint_time_ns = 0;
	row->active_sms = row->error_sms = row->underfill_sms = row->wave_sms = NAN;
	row->wave_max_sms = row->straggle_sms = row->ramp_sms = row->warps_per_sm = NAN;
	row->tensor_share = row->dram_bytes_per_ns = row->sm_clock_mhz = NAN;
	row->joint_active_sms = row->joint_error_sms = NAN;
	row->issue_share = row->class_wave_sms = NAN;
	row->bound[0] = row->wave_form[0] = row->bound_reason[0] = '\0';
}

/* The SMs of its device; 0: not known. */
static double sms_of(sqlite3 *db, int64_t config_id)
{
	sqlite3_stmt *s;
	double sms = 0;

	if (wt_report_prepare(db,
	                      "SELECT gpu.sm_count FROM main.config JOIN main.gpu USING (device_id)"
	                      " WHERE config_id = ?1",
	                      &s))
		return 0;
	sqlite3_bind_int64(s, 1, config_id);
	if (wt_report_step(s) > 0)
		sms = sqlite3_column_double(s, 0);
	sqlite3_finalize(s);
	return sms;
}

static int load_rates(sqlite3 *db, int64_t config_id, double sms, struct wt_rates *config)
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
	while ((rc = wt_report_step(s)) > 0 && config->count < 2) {
		struct wt_rates_row *row = &config->at[config->count++];

		read_row(s, row);
		if (!is_row_sound(row, sms))
			take_for_damaged(row);
	}
	sqlite3_finalize(s);
	return rc < 0 ? rc : 0;
}

/* All of it or nothing: a profile with a bin that can't be is none. */
static bool is_profile_sound(const struct wt_rates *config, double sms)
{
	for (size_t i = 0; i < config->bin_count; i++) {
		const struct wt_rates_bin *bin = &config->bins[i];

		if (!(bin->active_sms >= 0 && bin->active_sms <= sms * WT_BOUND_BIN) ||
		    !(bin->error_sms >= 0 && bin->error_sms <= sms * WT_BOUND_ERRORS))
			return false;
	}
	return true;
}

static int load_profile(sqlite3 *db, int64_t config_id, double sms, struct wt_rates *config)
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
	if (!is_profile_sound(config, sms))
		config->bin_count = 0;
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
	        " SELECT e.config_id, e.process_id, e.launch_seq FROM kernel_row e"
	        " CROSS JOIN main.profile_launch p USING (process_id, launch_seq)"
	        " WHERE e.graph_id IS NULL";
	int rc;

	if (!wt_db_has_table(db, "profile_launch") ||
	    !wt_db_int(db, "SELECT EXISTS (SELECT 1 FROM main.profile_launch)", 0))
		return 1;
	sqlite3_exec(db, "PRAGMA query_only = OFF", NULL, NULL, NULL);
	rc = wt_report_note(db, sqlite3_exec(db, sql, NULL, NULL, NULL));
	sqlite3_exec(db, "PRAGMA query_only = ON", NULL, NULL, NULL);
	return rc;
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
	if (!wt_db_has_table(db, "profile_launch"))
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
	double sms = sms_of(db, config_id);
	int rc = 0;

	memset(config, 0, sizeof(*config));
	if (wt_db_has_table(db, "measured"))
		rc = load_rates(db, config_id, sms, config);
	if (!rc && wt_db_has_table(db, "measured_profile"))
		rc = load_profile(db, config_id, sms, config);
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
