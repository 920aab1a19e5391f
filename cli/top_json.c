/*
 * top_json.c - see top_json.h. Single-threaded; blocks as the FILE does.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/json_run.h"
#include "cli/kernel_name.h"
#include "cli/measured.h"
#include "cli/table.h"
#include "cli/select.h"
#include "cli/top_json.h"

static const char needs_measurement[] = "needs a measurement: geometry can't tell";
static const char needs_launches[] = "over 250,000 launches are read only to rank by it";
_Static_assert(WT_REPORT_LAUNCHES_CHEAP == 250000, "as the text says");

enum field_type { FIELD_INT, FIELD_DOUBLE, FIELD_NAME, FIELD_TEXT };

/* When a field is null. */
enum field_null {
	NULL_NEVER,
	NULL_NOT_MEASURED, /* nothing of the row is */
	NULL_NO_COUNTER, /* no measurement has it */
	NULL_NO_ACTIVE, /* the file does not know it */
	NULL_NO_WAVE,
	NULL_NO_IDLE,
	NULL_NO_WAVES,
	NULL_NOT_CONFIG, /* the row sums several configurations, or they were not asked for */
	NULL_NOT_KERNEL, /* the row sums several kernels */
	NULL_UNKNOWN, /* below 0, or no text: the group has none, or several */
	NULL_NO_GAPS, /* the ledger was not loaded */
	NULL_NO_LATENCY, /* launches were not read, or none has a call of its own */
	NULL_NO_QUEUED, /* or kernels are left out that may have been waited for */
	NULL_ONE_LAUNCH, /* nothing to vary */
};

/* What a number rests on: a number of SM-time has evidence of its own. */
enum field_evidence {
	EVIDENCE_NONE = -1,
	EVIDENCE_MODEL = -2,
	EVIDENCE_IDLE = -3,
	EVIDENCE_TAIL = -4,
};
#define SHARE(field) ((int)offsetof(struct wt_sweep_share, field))

#define FIELD(key, kind, null, evidence)                                                           \
	{                                                                                          \
#key, FIELD_##kind, null, evidence, offsetof(struct wt_report_row, key)            \
	}

/* In the order of output. */
static const struct field {
	const char *key;
	enum field_type type;
	enum field_null null;
	int evidence; /* offset in struct wt_sweep_share, or one of enum field_evidence */
	size_t offset;
} fields[] = {
        FIELD(kernel_id, INT, NULL_NOT_KERNEL, EVIDENCE_NONE),
        {"config_id", FIELD_INT, NULL_NOT_CONFIG, EVIDENCE_NONE,
         offsetof(struct wt_report_row, config_id)},
        {"kernel", FIELD_NAME, NULL_NOT_KERNEL, EVIDENCE_NONE,
         offsetof(struct wt_report_row, kernel)},
        {"kernel_short", FIELD_TEXT, NULL_NOT_KERNEL, EVIDENCE_NONE,
         offsetof(struct wt_report_row, kernel_shown)},
        FIELD(launches, INT, NULL_NEVER, EVIDENCE_NONE),
        FIELD(launches_in_graph, INT, NULL_NEVER, EVIDENCE_NONE),
        FIELD(time_ns, INT, NULL_NEVER, EVIDENCE_NONE),
        FIELD(min_ns, INT, NULL_NEVER, EVIDENCE_NONE),
        FIELD(max_ns, INT, NULL_NEVER, EVIDENCE_NONE),
        FIELD(configs, INT, NULL_NEVER, EVIDENCE_NONE),
        FIELD(waves, DOUBLE, NULL_NO_WAVES, EVIDENCE_NONE),
        FIELD(active_sm_ns, INT, NULL_NO_ACTIVE, SHARE(active_sm_ns)),
        FIELD(underfill_sm_ns, INT, NULL_NO_IDLE, SHARE(underfill_sm_ns)),
        FIELD(wave_sm_ns, INT, NULL_NO_WAVE, SHARE(wave_sm_ns)),
        FIELD(wave_max_sm_ns, INT, NULL_NO_WAVE, SHARE(wave_max_sm_ns)),
        FIELD(straggle_sm_ns, INT, NULL_NOT_MEASURED, SHARE(straggle_sm_ns)),
        FIELD(ramp_sm_ns, INT, NULL_NOT_MEASURED, SHARE(ramp_sm_ns)),
        FIELD(tail_idle_sm_ns, INT, NULL_NO_WAVE, EVIDENCE_TAIL),
        FIELD(idle_sm_ns, INT, NULL_NO_IDLE, EVIDENCE_IDLE),
        FIELD(gap_before_sm_ns, INT, NULL_NO_GAPS, EVIDENCE_MODEL),
        FIELD(unjudged_sm_ns, INT, NULL_NEVER, SHARE(unjudged_sm_ns)),
        FIELD(comm_sm_ns, INT, NULL_NEVER, SHARE(comm_sm_ns)),
        FIELD(idle_gpu_ns, DOUBLE, NULL_NO_IDLE, EVIDENCE_NONE),
        FIELD(error_sm_ns, INT, NULL_NOT_MEASURED, EVIDENCE_NONE),
        FIELD(warps_per_sm, DOUBLE, NULL_NO_COUNTER, EVIDENCE_NONE),
        FIELD(warps_share, DOUBLE, NULL_NO_COUNTER, EVIDENCE_NONE),
        FIELD(tensor_share, DOUBLE, NULL_NO_COUNTER, EVIDENCE_NONE),
        FIELD(dram_share, DOUBLE, NULL_NO_COUNTER, EVIDENCE_NONE),
        FIELD(issue_share, DOUBLE, NULL_NO_COUNTER, EVIDENCE_NONE),
        FIELD(cv, DOUBLE, NULL_ONE_LAUNCH, EVIDENCE_NONE),
        FIELD(latency_launches, INT, NULL_NO_LATENCY, EVIDENCE_NONE),
        FIELD(latency_mean_ns, DOUBLE, NULL_NO_LATENCY, EVIDENCE_NONE),
        FIELD(call_mean_ns, DOUBLE, NULL_NO_LATENCY, EVIDENCE_NONE),
        FIELD(queued_launches, INT, NULL_NO_QUEUED, EVIDENCE_NONE),
};
#define FIELD_COUNT (sizeof(fields) / sizeof(fields[0]))

/* Fields of one configuration, behind the others. */
static const struct field config_fields[] = {
        FIELD(device_id, INT, NULL_UNKNOWN, EVIDENCE_NONE),
        {"grid_x", FIELD_INT, NULL_NOT_CONFIG, EVIDENCE_NONE,
         offsetof(struct wt_report_row, grid[0])},
        {"grid_y", FIELD_INT, NULL_NOT_CONFIG, EVIDENCE_NONE,
         offsetof(struct wt_report_row, grid[1])},
        {"grid_z", FIELD_INT, NULL_NOT_CONFIG, EVIDENCE_NONE,
         offsetof(struct wt_report_row, grid[2])},
        {"block_x", FIELD_INT, NULL_NOT_CONFIG, EVIDENCE_NONE,
         offsetof(struct wt_report_row, block[0])},
        {"block_y", FIELD_INT, NULL_NOT_CONFIG, EVIDENCE_NONE,
         offsetof(struct wt_report_row, block[1])},
        {"block_z", FIELD_INT, NULL_NOT_CONFIG, EVIDENCE_NONE,
         offsetof(struct wt_report_row, block[2])},
        FIELD(regs_per_thread, INT, NULL_NOT_CONFIG, EVIDENCE_NONE),
        FIELD(smem_bytes, INT, NULL_NOT_CONFIG, EVIDENCE_NONE),
};
#define CONFIG_FIELD_COUNT (sizeof(config_fields) / sizeof(config_fields[0]))

/* What a row that sums several kernels is about. */
static const struct field group_fields[] = {
        {"label", FIELD_TEXT, NULL_UNKNOWN, EVIDENCE_NONE,
         offsetof(struct wt_report_row, kernel_shown)},
        FIELD(kernels, INT, NULL_NEVER, EVIDENCE_NONE),
        FIELD(devices, INT, NULL_NEVER, EVIDENCE_NONE),
        FIELD(processes, INT, NULL_NEVER, EVIDENCE_NONE),
        FIELD(device, TEXT, NULL_UNKNOWN, EVIDENCE_NONE),
        FIELD(device_uuid, TEXT, NULL_UNKNOWN, EVIDENCE_NONE),
        FIELD(sms, INT, NULL_UNKNOWN, EVIDENCE_NONE),
        FIELD(process_id, INT, NULL_UNKNOWN, EVIDENCE_NONE),
        FIELD(pid, INT, NULL_UNKNOWN, EVIDENCE_NONE),
        FIELD(process, TEXT, NULL_UNKNOWN, EVIDENCE_NONE),
        FIELD(hostname, TEXT, NULL_UNKNOWN, EVIDENCE_NONE),
        FIELD(rank, INT, NULL_UNKNOWN, EVIDENCE_NONE),
        FIELD(local_rank, INT, NULL_UNKNOWN, EVIDENCE_NONE),
        FIELD(world_size, INT, NULL_UNKNOWN, EVIDENCE_NONE),
};
#define GROUP_FIELD_COUNT (sizeof(group_fields) / sizeof(group_fields[0]))

/* Fields of one grouping each. */
static const struct special_field {
	enum wt_report_group group;
	struct field field;
} special_fields[] = {
        {WT_REPORT_GROUP_STREAM, FIELD(context_id, INT, NULL_UNKNOWN, EVIDENCE_NONE)},
        {WT_REPORT_GROUP_STREAM, FIELD(stream_id, INT, NULL_UNKNOWN, EVIDENCE_NONE)},
        {WT_REPORT_GROUP_GRAPH, FIELD(graph_id, INT, NULL_UNKNOWN, EVIDENCE_NONE)},
        {WT_REPORT_GROUP_STEP, FIELD(step, INT, NULL_UNKNOWN, EVIDENCE_NONE)},
        {WT_REPORT_GROUP_STEP,
         {"step_ns", FIELD_INT, NULL_UNKNOWN, EVIDENCE_NONE,
          offsetof(struct wt_report_row, high_ns)}},
        {WT_REPORT_GROUP_DURATION, FIELD(low_ns, INT, NULL_UNKNOWN, EVIDENCE_NONE)},
        {WT_REPORT_GROUP_DURATION, FIELD(high_ns, INT, NULL_UNKNOWN, EVIDENCE_NONE)},
        {WT_REPORT_GROUP_RANGE,
         {"range", FIELD_TEXT, NULL_UNKNOWN, EVIDENCE_NONE, offsetof(struct wt_report_row, part)}},
        {WT_REPORT_GROUP_PHASE,
         {"phase", FIELD_TEXT, NULL_UNKNOWN, EVIDENCE_NONE, offsetof(struct wt_report_row, part)}},
        {WT_REPORT_GROUP_CLASS,
         {"class", FIELD_TEXT, NULL_UNKNOWN, EVIDENCE_NONE, offsetof(struct wt_report_row, part)}},
};
#define SPECIAL_FIELD_COUNT (sizeof(special_fields) / sizeof(special_fields[0]))

static const void *field_at(const struct field *field, const struct wt_report_row *row)
{
	return (const char *)row + field->offset;
}

/* Why the field is null in this row; NULL: it isn't. */
static const char *null_reason(const struct field *field, const struct wt_report *report,
                               const struct wt_report_row *row)
{
	const char *unjudged = row->model_reason ? row->model_reason : "not judged by the model";

	switch (field->null) {
	case NULL_NEVER:
		return NULL;
	case NULL_NOT_MEASURED:
		return row->has_measured ? NULL : needs_measurement;
	case NULL_NO_COUNTER:
		return *(const double *)field_at(field, row) >= 0 ? NULL : "no counter measured it";
	case NULL_NO_ACTIVE:
		return report->has_active ? NULL
		                          : "recorded before wavetap kept it: wavetap analyze";
	case NULL_NO_GAPS:
		return report->has_gaps ? NULL : needs_launches;
	case NULL_NO_LATENCY:
	case NULL_NO_QUEUED:
		if (!report->has_latency)
			return needs_launches;
		if (field->null == NULL_NO_QUEUED && !report->has_queued)
			return "kernels of the same streams are left out";
		return row->latency_launches || field->type == FIELD_INT
		               ? NULL
		               : "no launch has a call of its own that is known";
	case NULL_ONE_LAUNCH:
		return row->cv >= 0 ? NULL : "fewer than two launches that took time";
	case NULL_NO_WAVE:
		return row->has_wave ? NULL : unjudged;
	case NULL_NO_IDLE:
		return row->has_wave || row->underfill_sm_ns || row->has_measured ? NULL : unjudged;
	case NULL_NO_WAVES:
		if (row->has_waves)
			return NULL;
		if (wt_report_is_sum(row->group))
			return "not of one kernel";
		return row->configs > 1 ? "several configurations" : unjudged;
	case NULL_NOT_CONFIG:
		return row->config_id >= 0 ? NULL : "grouped by kernel";
	case NULL_NOT_KERNEL:
		return wt_report_is_sum(row->group) ? "not of one kernel" : NULL;
	case NULL_UNKNOWN:
		return (field->type == FIELD_INT ? *(const int64_t *)field_at(field, row) >= 0
		                                 : *(char *const *)field_at(field, row) != NULL)
		               ? NULL
		               : "none, or several";
	}
	return NULL;
}

/* A text field; *ret_heap is to be freed. */
static const char *field_text(const struct field *field, const struct wt_report_row *row,
                              char **ret_heap)
{
	const char *text = *(char *const *)field_at(field, row);

	*ret_heap = field->type == FIELD_NAME ? wt_kernel_name_demangle(text) : NULL;
	return *ret_heap ? *ret_heap : text;
}

/* ---- JSON */

static void put_field(struct wt_json *json, const struct field *field,
                      const struct wt_report *report, const struct wt_report_row *row)
{
	char *heap;

	wt_json_key(json, field->key);
	if (null_reason(field, report, row)) {
		wt_json_null(json);
	} else if (field->type == FIELD_INT) {
		wt_json_int(json, *(const int64_t *)field_at(field, row));
	} else if (field->type == FIELD_DOUBLE) {
		wt_json_double(json, *(const double *)field_at(field, row));
	} else {
		wt_json_string(json, field_text(field, row, &heap));
		free(heap);
	}
}

/* NULL: the number is not known, or is none of SM-time. */
static const char *evidence_of(const struct field *field, const struct wt_report *report,
                               const struct wt_report_row *row)
{
	if (null_reason(field, report, row))
		return NULL;
	switch (field->evidence) {
	case EVIDENCE_MODEL:
		return "model";
	case EVIDENCE_IDLE:
	case EVIDENCE_TAIL:
		return wt_report_row_idle_evidence(row, field->evidence == EVIDENCE_TAIL);
	default:
		return wt_report_row_evidence(row, *(const int64_t *)field_at(field, row),
		                              (size_t)field->evidence);
	}
}

/* What each number rests on, and why each null is one. */
static void put_evidence(struct wt_json *json, const struct wt_report *report,
                         const struct wt_report_row *row)
{
	wt_json_key(json, "evidence");
	wt_json_object_begin(json);
	for (size_t i = 0; i < FIELD_COUNT; i++) {
		if (fields[i].evidence == EVIDENCE_NONE)
			continue;
		wt_json_key(json, fields[i].key);
		wt_json_string(json, evidence_of(&fields[i], report, row));
	}
	wt_json_object_end(json);
	wt_json_key(json, "reason");
	wt_json_object_begin(json);
	for (size_t i = 0; i < FIELD_COUNT; i++) {
		const char *reason = null_reason(&fields[i], report, row);

		if (!reason || fields[i].null == NULL_NOT_CONFIG ||
		    fields[i].null == NULL_NOT_KERNEL)
			continue;
		wt_json_key(json, fields[i].key);
		wt_json_string(json, reason);
	}
	if (!row->bound) {
		wt_json_key(json, "bound");
		wt_json_string(json,
		               row->bound_reason[0] ? row->bound_reason : "no counter measured it");
	}
	if (row->unjudged_sm_ns) {
		wt_json_key(json, "unjudged_sm_ns");
		wt_json_string(json, row->model_reason ? row->model_reason
		                                       : "shared SMs with other kernels");
	}
	wt_json_object_end(json);
}

/* How much of its SM-time is measured, and what that says beside numbers. */
static void put_measured(struct wt_json *json, const struct wt_report_row *row)
{
	int64_t parts_sm_ns[WT_EVIDENCE_MAX];

	wt_report_row_sm_ns(row, parts_sm_ns);
	wt_json_key(json, "measured_sm_ns");
	wt_json_int(json, parts_sm_ns[WT_EVIDENCE_SAMPLED] + parts_sm_ns[WT_EVIDENCE_PROFILED]);
	wt_json_key(json, "bound");
	wt_json_string(json, wt_bound_name(row->bound));
	wt_json_key(json, "disagrees");
	if (row->has_measured)
		wt_json_bool(json, row->disagrees);
	else
		wt_json_null(json);
}

/* Fields of another grouping are left out, not null. */
static void put_row(struct wt_json *json, const struct wt_report *report,
                    const struct wt_report_row *row)
{
	bool is_config = row->config_id >= 0, is_sum = wt_report_is_sum(row->group);

	wt_json_object_begin(json);
	for (size_t i = 0; i < FIELD_COUNT; i++)
		if ((is_config || fields[i].null != NULL_NOT_CONFIG) &&
		    (!is_sum || fields[i].null != NULL_NOT_KERNEL))
			put_field(json, &fields[i], report, row);
	for (size_t i = 0; is_config && i < CONFIG_FIELD_COUNT; i++)
		put_field(json, &config_fields[i], report, row);
	if (is_sum)
		put_field(json, &config_fields[0], report, row); /* device_id */
	for (size_t i = 0; is_sum && i < GROUP_FIELD_COUNT; i++)
		put_field(json, &group_fields[i], report, row);
	for (size_t i = 0; i < SPECIAL_FIELD_COUNT; i++)
		if (special_fields[i].group == row->group)
			put_field(json, &special_fields[i].field, report, row);
	put_measured(json, row);
	put_evidence(json, report, row);
	wt_json_object_end(json);
}

/* The sum of all rows, also of those that --limit left out. */
static void put_total(struct wt_json *json, const struct wt_report *report)
{
	const struct wt_report_row *total = &report->total;
	static const char *const keys[] = {"launches", "launches_in_graph", "time_ns"};

	wt_json_key(json, "total");
	wt_json_object_begin(json);
	for (size_t i = 0; i < FIELD_COUNT; i++) {
		bool is_count = false;

		for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
			is_count |= !strcmp(fields[i].key, keys[k]);
		if (is_count || fields[i].evidence != EVIDENCE_NONE ||
		    !strcmp(fields[i].key, "idle_gpu_ns"))
			put_field(json, &fields[i], report, total);
	}
	wt_json_object_end(json);
}

static void put_window(struct wt_json *json, const struct wt_report *report)
{
	wt_json_key(json, "window");
	if (report->has_window) {
		wt_json_object_begin(json);
		wt_json_key(json, "start_ns");
		wt_json_int(json, report->start_ns);
		wt_json_key(json, "end_ns");
		wt_json_int(json, report->end_ns);
		wt_json_key(json, "wall_ns");
		wt_json_int(json, report->end_ns - report->start_ns);
		wt_json_object_end(json);
	} else {
		wt_json_null(json);
	}
	wt_select_put_steps(json, report->steps);
	wt_cost_put(json, &report->cost);
}

/* Do the rows sum to the ledger, and if not, why? */
static void put_shares(struct wt_json *json, const struct wt_report *report)
{
	const struct wt_report_shares *shares = &report->shares;

	wt_json_key(json, "shares");
	wt_json_object_begin(json);
	wt_json_key(json, "is_exact");
	wt_json_bool(json, shares->is_exact);
	wt_json_key(json, "reason");
	wt_json_string(json, wt_report_shares_reason(report));
	wt_json_key(json, "kernels_waiting");
	wt_json_int(json, shares->kernels_waiting);
	wt_json_key(json, "kernels_late");
	wt_json_int(json, shares->kernels_late);
	wt_json_key(json, "kernels_refused");
	wt_json_int(json, shares->kernels_refused);
	wt_json_object_end(json);
}

static void put_devices(struct wt_json *json, const struct wt_report *report)
{
	wt_json_key(json, "devices");
	wt_json_array_begin(json);
	for (size_t i = 0; i < report->device_count; i++) {
		const struct wt_report_device *device = &report->devices[i];

		wt_json_object_begin(json);
		wt_json_key(json, "device_id");
		wt_json_int(json, device->device_id);
		wt_json_key(json, "name");
		wt_json_string(json, device->name);
		wt_json_key(json, "uuid");
		wt_json_string(json, device->uuid);
		wt_json_key(json, "sms");
		wt_json_int(json, device->sm_count);
		wt_json_key(json, "launches");
		wt_json_int(json, device->launches);
		wt_json_key(json, "time_ns");
		wt_json_int(json, device->time_ns);
		wt_json_key(json, "busy_ns");
		if (device->busy_ns < 0)
			wt_json_null(json);
		else
			wt_json_int(json, device->busy_ns);
		wt_json_object_end(json);
	}
	wt_json_array_end(json);
}

int wt_top_print_json(FILE *out, const struct wt_run_file *run, const struct wt_report *report,
                      size_t limit)
{
	struct wt_json json;

	wt_json_init(&json, out, true);
	wt_json_object_begin(&json);
	wt_json_put_run(&json, run);
	wt_select_put_json(&json, report->select);
	put_window(&json, report);
	wt_json_key(&json, "loss");
	wt_json_put_loss(&json, &report->loss);
	wt_json_put_incomplete(&json, report);
	put_shares(&json, report);
	put_devices(&json, report);
	wt_json_key(&json, "rows");
	wt_json_array_begin(&json);
	for (size_t i = 0; i < report->row_count && i < limit; i++)
		put_row(&json, report, &report->rows[i]);
	wt_json_array_end(&json);
	put_total(&json, report);
	wt_json_object_end(&json);
	return wt_cli_output_result(wt_json_finish(&json));
}

/* ---- CSV */

/* One word for a row. */
static const char *row_word(const struct wt_report_row *row)
{
	int64_t parts_sm_ns[WT_EVIDENCE_MAX], sm_ns = wt_report_row_sm_ns(row, parts_sm_ns);

	return wt_measured_word(sm_ns, parts_sm_ns);
}

static void add_cell(struct wt_table *table, const struct field *field,
                     const struct wt_report *report, const struct wt_report_row *row)
{
	char *heap;

	if (null_reason(field, report, row)) {
		wt_table_add_null(table);
	} else if (field->type == FIELD_INT) {
		wt_table_add_int(table, *(const int64_t *)field_at(field, row), NULL);
	} else if (field->type == FIELD_DOUBLE) {
		wt_table_add_double(table, *(const double *)field_at(field, row), 6, NULL);
	} else {
		wt_table_add_string(table, field_text(field, row, &heap), NULL);
		free(heap);
	}
}

int wt_top_print_csv(FILE *out, const struct wt_report *report, size_t limit)
{
	struct wt_table_column columns[FIELD_COUNT + CONFIG_FIELD_COUNT + GROUP_FIELD_COUNT +
	                               SPECIAL_FIELD_COUNT + 1] = {0};
	struct wt_table *table;
	size_t count = 0;
	int rc;

	for (size_t i = 0; i < FIELD_COUNT; i++)
		columns[count++].key = fields[i].key;
	for (size_t i = 0; i < CONFIG_FIELD_COUNT; i++)
		columns[count++].key = config_fields[i].key;
	for (size_t i = 0; i < GROUP_FIELD_COUNT; i++)
		columns[count++].key = group_fields[i].key;
	for (size_t i = 0; i < SPECIAL_FIELD_COUNT; i++)
		columns[count++].key = special_fields[i].field.key;
	columns[count++].key = "evidence";
	table = wt_table_create(columns, count);
	for (size_t r = 0; table && r < report->row_count && r < limit; r++) {
		const struct wt_report_row *row = &report->rows[r];

		wt_table_row(table, 0);
		for (size_t i = 0; i < FIELD_COUNT; i++)
			add_cell(table, &fields[i], report, row);
		for (size_t i = 0; i < CONFIG_FIELD_COUNT; i++)
			add_cell(table, &config_fields[i], report, row);
		for (size_t i = 0; i < GROUP_FIELD_COUNT; i++) {
			if (wt_report_is_sum(row->group))
				add_cell(table, &group_fields[i], report, row);
			else
				wt_table_add_null(table);
		}
		for (size_t i = 0; i < SPECIAL_FIELD_COUNT; i++) {
			if (special_fields[i].group == row->group)
				add_cell(table, &special_fields[i].field, report, row);
			else
				wt_table_add_null(table);
		}
		wt_table_add_string(table, row_word(row), NULL);
	}
	rc = table ? wt_table_print_csv(table, out) : -ENOMEM;
	wt_table_destroy(table);
	return wt_cli_output_result(rc);
}
