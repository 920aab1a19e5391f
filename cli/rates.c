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
	        &row->joint_error_sms};
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
}

static int load_rates(sqlite3 *db, int64_t config_id, struct wt_rates *config)
{
	static const char sql[] =
	        "SELECT evidence, is_used, disagrees, reason, launches, time_ns, bound, wave_form,"
	        " joint_time_ns, active_sms, active_error_sms, underfill_sms, wave_sms,"
	        " wave_max_sms, straggle_sms, ramp_sms, warps_per_sm, tensor_share,"
	        " dram_bytes_per_ns, sm_clock_mhz, joint_active_sms, joint_error_sms"
	        " FROM measured WHERE config_id = ?1 ORDER BY is_used DESC, evidence DESC";
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, sql, &s);

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

/* ---- physical SMs */

/* Columns: SM, launches, warps, instructions. */
static int read_sms(sqlite3_stmt *s, struct wt_rates_sm **sms, size_t *count, int64_t *ret_launches)
{
	int rc;

	while ((rc = wt_report_step(s)) > 0) {
		struct wt_rates_sm *sm = wt_report_append(sms, count, sizeof(*sm));

		if (!sm)
			return -ENOMEM;
		sm->sm = sqlite3_column_int64(s, 0);
		sm->launches = sqlite3_column_int64(s, 1);
		sm->warps = sqlite3_column_double(s, 2);
		sm->instructions = sqlite3_column_double(s, 3);
		if (sm->launches > *ret_launches)
			*ret_launches = sm->launches;
	}
	return rc;
}

/* Launches whose SMs were counted, with their kernels: one pass, kept for the connection. 1: none. */
static int find_counted(sqlite3 *db)
{
	static const char sql[] =
	        "CREATE TEMP TABLE IF NOT EXISTS wt_counted AS"
	        " SELECT e.config_id, e.start_ns, e.process_id, e.launch_seq"
	        " FROM (SELECT DISTINCT process_id, launch_seq FROM main.profile_sm) p"
	        " CROSS JOIN main.kernel_exec e USING (process_id, launch_seq)"
	        " WHERE e.graph_id IS NULL AND e.start_ns IS NOT NULL";
	int code;

	if (!wt_db_int(db, "SELECT EXISTS (SELECT 1 FROM main.profile_sm)", 0))
		return 1;
	sqlite3_exec(db, "PRAGMA query_only = OFF", NULL, NULL, NULL);
	code = sqlite3_exec(db, sql, NULL, NULL, NULL);
	sqlite3_exec(db, "PRAGMA query_only = ON", NULL, NULL, NULL);
	return code == SQLITE_OK ? 0 : -EIO;
}

static int load_sms(sqlite3 *db, int64_t config_id, struct wt_rates *config)
{
	static const char sql[] = "SELECT p.sm, count(*), avg(p.warps), avg(p.instructions)"
	                          " FROM temp.wt_counted JOIN main.profile_sm p"
	                          " USING (process_id, launch_seq) WHERE config_id = ?1"
	                          " GROUP BY 1 ORDER BY 1";
	sqlite3_stmt *s;
	int rc = find_counted(db);

	if (rc)
		return rc < 0 ? rc : 0;
	rc = wt_report_prepare(db, sql, &s);
	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, config_id);
	rc = read_sms(s, &config->sms, &config->sm_count, &config->sm_launches);
	sqlite3_finalize(s);
	return rc;
}

int wt_rates_device_sms(sqlite3 *db, int64_t device_id, int64_t start_ns, int64_t end_ns,
                        struct wt_rates_sm **ret_sms, size_t *ret_count, int64_t *ret_launches)
{
	static const char sql[] = "SELECT p.sm, count(*), avg(p.warps), avg(p.instructions)"
	                          " FROM temp.wt_counted c JOIN main.profile_sm p"
	                          " USING (process_id, launch_seq) WHERE p.device_id = ?1"
	                          " AND c.start_ns >= ?2 AND c.start_ns < ?3"
	                          " GROUP BY 1 ORDER BY 1";
	sqlite3_stmt *s;
	int rc;

	*ret_sms = NULL;
	*ret_count = 0;
	*ret_launches = 0;
	rc = wt_run_has_table(db, "profile_sm") ? find_counted(db) : 1;
	if (rc)
		return rc < 0 ? rc : 0;
	rc = wt_report_prepare(db, sql, &s);
	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, device_id);
	sqlite3_bind_int64(s, 2, start_ns);
	sqlite3_bind_int64(s, 3, end_ns);
	rc = read_sms(s, ret_sms, ret_count, ret_launches);
	sqlite3_finalize(s);
	return rc;
}

static double value_of(const struct wt_rates_sm *sm, bool is_instructions)
{
	return is_instructions ? sm->instructions : sm->warps;
}

static int compare_double(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return a < b ? -1 : a > b;
}

void wt_rates_spread(const struct wt_rates_sm *sms, size_t count, bool is_instructions,
                     struct wt_rates_spread *ret_spread)
{
	double *sorted = calloc(count + 1, sizeof(*sorted)), sum = 0;

	*ret_spread = (struct wt_rates_spread){0};
	if (!sorted || !count) {
		free(sorted);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		sorted[i] = value_of(&sms[i], is_instructions);
		sum += sorted[i];
	}
	qsort(sorted, count, sizeof(*sorted), compare_double);
	ret_spread->min = sorted[0];
	ret_spread->median = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
	ret_spread->max = sorted[count - 1];
	ret_spread->mean = sum / (double)count;
	free(sorted);
}

static void put_double(struct wt_json *json, const char *key, double value)
{
	wt_json_key(json, key);
	wt_json_double(json, value);
}

static void put_spread(struct wt_json *json, const char *key, const struct wt_rates_spread *spread)
{
	wt_json_key(json, key);
	wt_json_object_begin(json);
	put_double(json, "min", spread->min);
	put_double(json, "median", spread->median);
	put_double(json, "max", spread->max);
	put_double(json, "mean", spread->mean);
	wt_json_object_end(json);
}

void wt_rates_put_sms(struct wt_json *json, const struct wt_rates_sm *sms, size_t count,
                      int64_t launches)
{
	struct wt_rates_spread warps, instructions;

	wt_json_key(json, "per_sm");
	if (!count) {
		wt_json_null(json);
		return;
	}
	wt_rates_spread(sms, count, false, &warps);
	wt_rates_spread(sms, count, true, &instructions);
	wt_json_object_begin(json);
	wt_json_key(json, "launches");
	wt_json_int(json, launches);
	wt_json_key(json, "evidence");
	wt_json_string(json, "profiled");
	put_spread(json, "warps", &warps);
	put_spread(json, "instructions", &instructions);
	wt_json_key(json, "sms");
	wt_json_array_begin(json);
	for (size_t i = 0; i < count; i++) {
		wt_json_object_begin(json);
		wt_json_key(json, "sm");
		wt_json_int(json, sms[i].sm);
		put_double(json, "warps", sms[i].warps);
		put_double(json, "instructions", sms[i].instructions);
		wt_json_object_end(json);
	}
	wt_json_array_end(json);
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
	if (!rc && wt_run_has_table(db, "profile_sm"))
		rc = load_sms(db, config_id, config);
	return rc;
}

void wt_rates_fini(struct wt_rates *config)
{
	free(config->bins);
	free(config->sms);
	memset(config, 0, sizeof(*config));
}

const struct wt_rates_row *wt_rates_used(const struct wt_rates *config)
{
	return config->count && config->at[0].is_used && !config->at[0].reason[0] ? &config->at[0]
	                                                                          : NULL;
}
