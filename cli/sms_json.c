/*
 * sms_json.c - see sms.h: JSON and the rows of CSV. Single-threaded; blocks as the FILE does.
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "cli/report_sql.h"
#include "cli/sm_activity.h"
#include "cli/sms.h"

static const struct wt_table_column columns[] = {
        {"device_id", NULL, WT_TABLE_RIGHT, 0, 0, 0}, {"sms", NULL, WT_TABLE_RIGHT, 0, 0, 0},
        {"time_ns", NULL, WT_TABLE_RIGHT, 0, 0, 0},   {"share", NULL, WT_TABLE_RIGHT, 0, 0, 0},
        {"evidence", NULL, WT_TABLE_LEFT, 0, 0, 0},
};

static void add_row(struct wt_table *table, int64_t device_id, int64_t sms, int64_t ns,
                    double whole_ns, const char *evidence)
{
	wt_table_row(table, 0);
	wt_table_add_int(table, device_id, NULL);
	wt_table_add_int(table, sms, NULL);
	wt_table_add_int(table, ns, NULL);
	wt_table_add_double(table, (double)ns / whole_ns, 9, NULL);
	wt_table_add_string(table, evidence, NULL);
}

/* Numbers of SMs that came up, and none: could be occupied, and were active. */
struct wt_table *wt_sms_table(const struct wt_ledger *ledger, const struct wt_sms *sms)
{
	struct wt_table *table = wt_table_create(columns, sizeof(columns) / sizeof(columns[0]));

	for (size_t i = 0; table && i < ledger->device_count; i++) {
		const struct wt_ledger_device *device = &ledger->devices[i];
		const struct wt_sms_heat *heat = &sms->measured[i].heat;

		for (int64_t k = 0; !ledger->is_samples_alone && k <= device->sms; k++)
			if (!k || sms->devices[i].ns[k])
				add_row(table, device->device_id, k, sms->devices[i].ns[k],
				        (double)device->wall_ns, "model");
		for (int64_t k = 0; wt_sms_has_samples(&sms->measured[i]) && k <= device->sms; k++)
			if (!k || heat->by_sms[k] >= 0.5)
				add_row(table, device->device_id, k, llround(heat->by_sms[k]),
				        heat->total.sampled_ns, "sampled");
	}
	return table;
}

static void put_int(struct wt_json *json, const char *key, int64_t value)
{
	wt_json_key(json, key);
	wt_json_int(json, value);
}

/* What kernels could occupy; NULL: there are none, which is no 0. */
static void put_occupied(struct wt_json *json, const struct wt_ledger_device *device,
                         const struct wt_sms_occupied *occupied)
{
	double held = occupied ? wt_sms_occupied_sm_ns(occupied) : 0;

	wt_json_key(json, "busy_ns");
	if (occupied)
		wt_json_int(json, device->busy_ns);
	else
		wt_json_null(json);
	wt_json_key(json, "shared_ns");
	if (occupied)
		wt_json_int(json, occupied->shared_ns);
	else
		wt_json_null(json);
	wt_json_key(json, "mean_sms");
	wt_json_double(json, occupied ? held / (double)device->wall_ns : NAN);
	wt_json_key(json, "mean_busy_sms");
	wt_json_double(json, device->busy_ns ? held / (double)device->busy_ns : NAN);
	wt_json_key(json, "evidence");
	wt_json_string(json, occupied ? "model" : NULL);
}

static int put_device(struct wt_json *json, const struct wt_ledger_view *view,
                      const struct wt_sms *sms, size_t at)
{
	const struct wt_ledger_device *device = &view->ledger.devices[at];
	const struct wt_sms_measured *measured = &sms->measured[at];
	int rc;

	wt_json_object_begin(json);
	put_int(json, "device_id", device->device_id);
	wt_json_key(json, "name");
	wt_json_string(json, device->name);
	wt_json_key(json, "uuid");
	wt_json_string(json, device->uuid);
	put_int(json, "sms", device->sms);
	put_int(json, "wall_ns", device->wall_ns);
	put_occupied(json, device, view->ledger.is_samples_alone ? NULL : &sms->devices[at]);
	rc = wt_sm_activity_put_json(json, view->run.db, &view->ledger, device);
	wt_sms_heat_put_json(json, &measured->heat);
	wt_rates_put_profiled(json, &measured->profiled);
	wt_json_key(json, "per_sm");
	wt_json_null(json);
	wt_json_key(json, "reason");
	wt_json_object_begin(json);
	if (!wt_sms_has_samples(measured)) {
		wt_json_key(json, "samples");
		wt_json_string(json, WT_SMS_NEEDS_SAMPLES);
	}
	wt_json_key(json, "per_sm");
	wt_json_string(json, WT_SMS_NO_SINGLE);
	wt_json_object_end(json);
	wt_json_object_end(json);
	return rc;
}

static int put_contexts(struct wt_json *json, sqlite3 *db)
{
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db,
	                           "SELECT c.process_id, c.context_id, c.device_id, c.sm_count,"
	                           " c.is_green FROM context c JOIN device d USING (device_id)"
	                           " ORDER BY 1, 2",
	                           &s);

	if (rc)
		return rc;
	wt_json_key(json, "contexts");
	wt_json_array_begin(json);
	while ((rc = wt_report_step(s)) > 0) {
		wt_json_object_begin(json);
		put_int(json, "process_id", sqlite3_column_int64(s, 0));
		put_int(json, "context_id", sqlite3_column_int64(s, 1));
		put_int(json, "device_id", sqlite3_column_int64(s, 2));
		wt_json_key(json, "sm_count");
		if (sqlite3_column_type(s, 3) == SQLITE_NULL)
			wt_json_null(json);
		else
			wt_json_int(json, sqlite3_column_int64(s, 3));
		wt_json_key(json, "is_green");
		wt_json_bool(json, sqlite3_column_int(s, 4) != 0);
		wt_json_object_end(json);
	}
	wt_json_array_end(json);
	sqlite3_finalize(s);
	return rc;
}

int wt_sms_print_json(const struct wt_ledger_view *view, const struct wt_sms *sms,
                      struct wt_table *table)
{
	struct wt_json json;
	int rc = 0;

	wt_json_init(&json, stdout, true);
	wt_json_object_begin(&json);
	wt_ledger_json_head(&json, &view->run, &view->ledger, &view->losses);
	wt_json_key(&json, "devices");
	wt_json_array_begin(&json);
	for (size_t i = 0; i < view->ledger.device_count && !rc; i++)
		rc = put_device(&json, view, sms, i);
	wt_json_array_end(&json);
	if (!rc)
		rc = put_contexts(&json, view->run.db);
	wt_json_key(&json, "rows");
	(void)wt_table_print_json(table, &json);
	wt_json_object_end(&json);
	return rc ? rc : wt_json_finish(&json);
}
