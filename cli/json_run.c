/*
 * json_run.c - see json_run.h. Single-threaded; blocks as the FILE does.
 */
#include "cli/json_run.h"

#include "cli/dropped.h"

void wt_json_put_run(struct wt_json *json, const struct wt_run_file *run)
{
	wt_json_key(json, "schema");
	wt_json_int(json, WT_JSON_SCHEMA);
	wt_json_key(json, "run");
	wt_json_object_begin(json);
	wt_json_key(json, "id");
	wt_json_string(json, run->info.id);
	wt_json_key(json, "name");
	wt_json_string(json, run->info.name[0] ? run->info.name : NULL);
	wt_json_key(json, "file");
	wt_json_string(json, run->info.path);
	wt_json_key(json, "hostname");
	wt_json_string(json, run->info.hostname);
	wt_json_key(json, "created_ns");
	wt_json_int(json, run->info.created_ns);
	wt_dropped_put_json(json, run->db);
	wt_json_object_end(json);
}

void wt_json_put_loss(struct wt_json *json, const struct wt_report_loss *loss)
{
	wt_json_object_begin(json);
	for (const struct wt_report_loss_field *f = wt_report_loss_fields; f->name; f++) {
		wt_json_key(json, f->name);
		wt_json_int(json, wt_report_loss_get(loss, f));
	}
	wt_json_object_end(json);
}

void wt_json_put_incomplete(struct wt_json *json, const struct wt_report *report)
{
	wt_json_key(json, "incomplete");
	wt_json_array_begin(json);
	for (size_t i = 0; i < report->capture_count; i++) {
		const struct wt_report_capture *c = &report->captures[i];

		wt_json_object_begin(json);
		wt_json_key(json, "capture");
		wt_json_string(json, c->capture);
		wt_json_key(json, "reason");
		wt_json_string(json, c->reason);
		wt_json_key(json, "processes");
		wt_json_int(json, c->processes);
		wt_json_key(json, "first_pid");
		wt_json_int(json, c->first_pid);
		wt_json_key(json, "launches_attempted");
		wt_json_int(json, c->launches_attempted);
		wt_json_object_end(json);
	}
	wt_json_array_end(json);
}
