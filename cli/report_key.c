/*
 * report_key.c - see report_key.h. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/kernel_class.h"
#include "cli/report_key.h"
#include "cli/report_sql.h"
#include "cli/text.h"
#include "schema/wt_db.h"

#define DURATION_FIRST_NS 1000 /* the first bucket ends here; each goes ten times as far */
#define DURATION_BUCKETS 9 /* the last: 10 s and more */

bool wt_report_key_is_of_launches(enum wt_report_group group)
{
	switch (group) {
	case WT_REPORT_GROUP_STEP:
	case WT_REPORT_GROUP_RANGE:
	case WT_REPORT_GROUP_STREAM:
	case WT_REPORT_GROUP_GRAPH:
	case WT_REPORT_GROUP_PHASE:
	case WT_REPORT_GROUP_DURATION:
		return true;
	default:
		return false;
	}
}

/* ---- what the file says once */

static int load_configs(struct wt_report_key *key)
{
	sqlite3_stmt *s;
	int rc = wt_report_prepare(key->db,
	                           "SELECT c.config_id, c.kernel_id, c.device_id, c.sm_count,"
	                           " g.sm_count, c.resident_blocks, c.blocks"
	                           " FROM config c JOIN gpu g USING (device_id)",
	                           &s);

	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		struct wt_report_config *config =
		        wt_report_append(&key->configs, &key->config_count, sizeof(*config));

		if (!config) {
			rc = -ENOMEM;
			break;
		}
		*config = (struct wt_report_config){
		        .config_id = sqlite3_column_int64(s, 0),
		        .kernel_id = sqlite3_column_int64(s, 1),
		        .device_id = sqlite3_column_int64(s, 2),
		        .sms = sqlite3_column_int64(s, 3),
		        .device_sms = sqlite3_column_int64(s, 4),
		};
		if (config->device_sms > 0 && config->device_sms <= WT_SWEEP_SMS_MAX)
			config->occupied_sms = wt_sweep_occupied_sms(
			        config->sms, config->device_sms, sqlite3_column_int64(s, 5),
			        sqlite3_column_int64(s, 6));
		rc = wt_map_set(&key->config_at, (uint64_t)config->config_id,
		                (uint32_t)key->config_count - 1);
		if (rc)
			break;
	}
	sqlite3_finalize(s);
	return rc;
}

/* One number for each id of a table, as `value` makes it of the second column. */
static int load_map(sqlite3 *db, const char *sql, struct wt_map *map,
                    uint32_t (*value)(sqlite3_stmt *s))
{
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, sql, &s);

	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		rc = wt_map_set(map, (uint64_t)sqlite3_column_int64(s, 0), value(s));
		if (rc)
			break;
	}
	sqlite3_finalize(s);
	return rc;
}

static uint32_t rank_value(sqlite3_stmt *s)
{
	return sqlite3_column_type(s, 1) == SQLITE_NULL ? 0
	                                                : (uint32_t)sqlite3_column_int64(s, 1) + 1;
}

static uint32_t class_value(sqlite3_stmt *s)
{
	return (uint32_t)wt_kernel_class((const char *)sqlite3_column_text(s, 1));
}

static int load_steps(struct wt_report_key *key, char *problem, size_t problem_bytes)
{
	const struct wt_steps_query query = {.process_id = -1, .marker_kernel_id = -1};
	int rc = wt_run_steps_load(key->db, &query, &key->steps);

	if (rc && rc != -ENOENT)
		return rc;
	if (!rc && key->steps.found.reason == WT_STEPS_FOUND && key->steps.count &&
	    key->steps.is_gpu_time)
		return 0;
	snprintf(problem, problem_bytes, "no steps that could be found: %s",
	         rc ? "no launches"
	         : key->steps.found.reason != WT_STEPS_FOUND
	                 ? wt_steps_reason_text(key->steps.found.reason)
	                 : "its kernels have no times");
	return -ENODATA;
}

static int load_parts(struct wt_report_key *key, char *problem, size_t problem_bytes)
{
	bool is_range = key->group == WT_REPORT_GROUP_RANGE;
	int rc = is_range ? wt_report_parts_load_ranges(key->db, &key->parts)
	                  : wt_report_parts_load_phases(key->db, &key->parts);

	if (rc || key->parts.part_of.count)
		return rc;
	snprintf(problem, problem_bytes, "%s",
	         !is_range          ? "no phases that could be told: by ranges, kernels or threads"
	         : key->parts.count ? "ranges, but no kernel was launched in one"
	                            : "no ranges: none were recorded");
	return -ENODATA;
}

int wt_report_key_init(struct wt_report_key *key, sqlite3 *db, enum wt_report_group group,
                       char *problem, size_t problem_bytes)
{
	memset(key, 0, sizeof(*key));
	key->db = db;
	key->group = group;
	if (group == WT_REPORT_GROUP_RANGE || group == WT_REPORT_GROUP_PHASE) {
		int rc = load_parts(key, problem, problem_bytes);

		if (rc)
			return rc;
	}
	if (group == WT_REPORT_GROUP_STEP) {
		int rc = load_steps(key, problem, problem_bytes);

		if (rc)
			return rc;
	}
	if (group == WT_REPORT_GROUP_RANK) {
		int rc = load_map(db, "SELECT process_id, rank FROM main.proc", &key->rank_of,
		                  rank_value);

		if (rc)
			return rc;
	}
	if (group == WT_REPORT_GROUP_CLASS) {
		int rc = load_map(db, "SELECT kernel_id, name FROM kernel", &key->class_of,
		                  class_value);

		if (rc)
			return rc;
	}
	return load_configs(key);
}

void wt_report_key_fini(struct wt_report_key *key)
{
	free(key->configs);
	wt_map_fini(&key->config_at);
	wt_map_fini(&key->rank_of);
	wt_map_fini(&key->class_of);
	wt_map_fini(&key->place_at);
	wt_map_fini(&key->row_at);
	wt_report_parts_fini(&key->parts);
	if (key->group == WT_REPORT_GROUP_STEP)
		wt_run_steps_fini(&key->steps);
	memset(key, 0, sizeof(*key));
}

const struct wt_report_config *wt_report_key_config(const struct wt_report_key *key,
                                                    int64_t config_id)
{
	uint32_t at = wt_map_get(&key->config_at, (uint64_t)config_id);

	return at == WT_MAP_NONE ? NULL : &key->configs[at];
}

/* ---- keys */

static unsigned duration_bucket(int64_t duration_ns)
{
	unsigned bucket = 0;

	for (int64_t end_ns = DURATION_FIRST_NS;
	     bucket + 1 < DURATION_BUCKETS && duration_ns >= end_ns; end_ns *= 10)
		bucket++;
	return bucket;
}

/* Of the step in which it starts, from 1; 0: before the first, count + 1: after the last. */
static size_t step_number(const struct wt_run_steps *steps, int64_t start_ns)
{
	size_t low = 0, high = steps->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (steps->steps[middle].start_ns <= start_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == steps->count && low && start_ns >= steps->steps[low - 1].end_ns)
		return low + 1;
	return low;
}

/* A number for process and context, which are too wide for one key with the stream. */
static int place_of(struct wt_report_key *key, const struct wt_report_exec *exec,
                    uint64_t *ret_place)
{
	uint64_t both = (uint64_t)exec->process_id << 32 | (uint32_t)exec->context_id;
	uint32_t at = wt_map_get(&key->place_at, both);

	if (at == WT_MAP_NONE) {
		at = (uint32_t)key->place_at.count;
		if (wt_map_set(&key->place_at, both, at))
			return -ENOMEM;
	}
	*ret_place = at;
	return 0;
}

static uint64_t graph_key(const struct wt_report_exec *exec)
{
	return (uint64_t)exec->process_id << 33 | (uint64_t)(exec->graph_id >= 0) << 32 |
	       (exec->graph_id >= 0 ? (uint32_t)exec->graph_id : 0);
}

static uint64_t map_value(const struct wt_map *map, int64_t id)
{
	return wt_map_get(map, (uint64_t)id);
}

/* From 1; 0: of none. */
static uint32_t part_number(const struct wt_report_key *key, int64_t exec_id)
{
	uint32_t number = wt_map_get(&key->parts.part_of, (uint64_t)exec_id);

	return number == WT_MAP_NONE || number > key->parts.count ? 0 : number;
}

static int key_of(struct wt_report_key *key, const struct wt_report_exec *exec, uint64_t *ret_key)
{
	const struct wt_report_config *config = wt_report_key_config(key, exec->config_id);
	uint64_t place;

	if (!config)
		return -ENOENT;
	switch (key->group) {
	case WT_REPORT_GROUP_KERNEL:
		*ret_key = (uint64_t)config->kernel_id;
		return 0;
	case WT_REPORT_GROUP_CONFIG:
		*ret_key = (uint64_t)exec->config_id;
		return 0;
	case WT_REPORT_GROUP_DEVICE:
		*ret_key = (uint64_t)config->device_id;
		return 0;
	case WT_REPORT_GROUP_PROCESS:
		*ret_key = (uint64_t)exec->process_id;
		return 0;
	case WT_REPORT_GROUP_RANK:
		*ret_key = map_value(&key->rank_of, exec->process_id);
		return 0;
	case WT_REPORT_GROUP_CLASS:
		*ret_key = map_value(&key->class_of, config->kernel_id);
		return 0;
	case WT_REPORT_GROUP_STEP:
		*ret_key = step_number(&key->steps, exec->start_ns);
		return 0;
	case WT_REPORT_GROUP_DURATION:
		*ret_key = duration_bucket(exec->end_ns - exec->start_ns);
		return 0;
	case WT_REPORT_GROUP_GRAPH:
		*ret_key = graph_key(exec);
		return 0;
	case WT_REPORT_GROUP_STREAM:
		if (place_of(key, exec, &place))
			return -ENOMEM;
		*ret_key = place << 32 | (uint32_t)exec->stream_id;
		return 0;
	case WT_REPORT_GROUP_RANGE:
	case WT_REPORT_GROUP_PHASE:
		*ret_key = part_number(key, exec->exec_id);
		return 0;
	}
	return -ENOENT;
}

int wt_report_key_note(struct wt_report_key *key, const struct wt_report_row *row, size_t at)
{
	uint64_t value;

	switch (key->group) {
	case WT_REPORT_GROUP_KERNEL:
		value = (uint64_t)row->kernel_id;
		break;
	case WT_REPORT_GROUP_CONFIG:
		value = (uint64_t)row->config_id;
		break;
	case WT_REPORT_GROUP_RANK:
		value = (uint64_t)(row->group_id + 1);
		break;
	default:
		value = (uint64_t)row->group_id;
	}
	return wt_map_set(&key->row_at, value, (uint32_t)at);
}

int wt_report_key_find(struct wt_report_key *key, const struct wt_report_exec *exec, size_t *count,
                       size_t *ret_at)
{
	uint64_t value;
	uint32_t at;
	int rc = key_of(key, exec, &value);

	if (rc)
		return rc;
	at = wt_map_get(&key->row_at, value);
	if (at == WT_MAP_NONE) {
		if (!count)
			return -ENOENT;
		at = (uint32_t)*count;
		rc = wt_map_set(&key->row_at, value, at);
		if (rc)
			return rc;
		++*count;
	}
	*ret_at = at;
	return 0;
}

/* ---- what a row is about */

void wt_report_key_describe(const struct wt_report_key *key, const struct wt_report_exec *exec,
                            struct wt_report_row *row)
{
	unsigned bucket;
	size_t step;

	switch (key->group) {
	case WT_REPORT_GROUP_STREAM:
		row->context_id = exec->context_id;
		row->stream_id = exec->stream_id;
		row->group_id = exec->stream_id;
		return;
	case WT_REPORT_GROUP_GRAPH:
		row->graph_id = exec->graph_id;
		row->group_id = exec->graph_id;
		return;
	case WT_REPORT_GROUP_DURATION:
		bucket = duration_bucket(exec->end_ns - exec->start_ns);
		row->group_id = bucket;
		row->low_ns = bucket ? DURATION_FIRST_NS : 0;
		for (unsigned i = 1; i < bucket; i++)
			row->low_ns *= 10;
		if (bucket + 1 < DURATION_BUCKETS)
			row->high_ns = bucket ? row->low_ns * 10 : DURATION_FIRST_NS;
		return;
	case WT_REPORT_GROUP_RANGE:
	case WT_REPORT_GROUP_PHASE:
		row->group_id = part_number(key, exec->exec_id);
		return;
	case WT_REPORT_GROUP_STEP:
		step = step_number(&key->steps, exec->start_ns);
		row->group_id = (int64_t)step;
		if (step == 0 || step > key->steps.count)
			return;
		row->step = (int64_t)step;
		row->low_ns = 0;
		row->high_ns =
		        key->steps.steps[step - 1].end_ns - key->steps.steps[step - 1].start_ns;
		return;
	default:
		return;
	}
}

/* "pid 42", "2 processes", or nothing where the run has one. */
static void put_process(const struct wt_report_row *row, int64_t processes, char text[48])
{
	text[0] = '\0';
	if (row->processes > 1)
		snprintf(text, 48, "  %" PRId64 " processes", row->processes);
	else if (processes > 1)
		snprintf(text, 48, "  pid %" PRId64, row->pid);
}

static int label_step(const struct wt_report_key *key, struct wt_report_row *row)
{
	char length[WT_TEXT_NUMBER_BYTES];

	if (row->step < 0)
		return asprintf(&row->kernel_shown, "%s",
		                row->group_id ? "after the last step" : "before the first step");
	return asprintf(&row->kernel_shown, "step %" PRId64 "  %s  %s", row->step,
	                wt_text_ns(length, row->high_ns),
	                wt_run_step_kind(&key->steps, (size_t)row->step - 1));
}

static int label_part(const struct wt_report_key *key, struct wt_report_row *row)
{
	const char *none =
	        key->group == WT_REPORT_GROUP_RANGE ? "in no range" : "nothing tells the phase";

	if (row->group_id) {
		row->part = strdup(key->parts.names[row->group_id - 1]);
		if (!row->part)
			return -1;
	}
	return asprintf(&row->kernel_shown, "%s", row->part ? row->part : none);
}

static int label_duration(struct wt_report_row *row)
{
	char low[WT_TEXT_NUMBER_BYTES], high[WT_TEXT_NUMBER_BYTES];

	if (!row->low_ns)
		return asprintf(&row->kernel_shown, "under 1 us");
	if (row->high_ns < 0)
		return asprintf(&row->kernel_shown, "10 s and more");
	/* Powers of ten read best without digits behind the point. */
	snprintf(low, sizeof(low), "%" PRId64 " %s",
	         row->low_ns / (row->low_ns < 1000000      ? 1000
	                        : row->low_ns < 1000000000 ? 1000000
	                                                   : 1000000000),
	         row->low_ns < 1000000      ? "us"
	         : row->low_ns < 1000000000 ? "ms"
	                                    : "s");
	snprintf(high, sizeof(high), "%" PRId64 " %s",
	         row->high_ns / (row->high_ns < 1000000      ? 1000
	                         : row->high_ns < 1000000000 ? 1000000
	                                                     : 1000000000),
	         row->high_ns < 1000000      ? "us"
	         : row->high_ns < 1000000000 ? "ms"
	                                     : "s");
	return asprintf(&row->kernel_shown, "%s to %s", low, high);
}

int wt_report_key_label(const struct wt_report_key *key, struct wt_report_row *row)
{
	int64_t processes = wt_db_int(key->db, "SELECT count(*) FROM main.proc", 0);
	char who[48];
	int n = 0;

	put_process(row, processes, who);
	switch (key->group) {
	case WT_REPORT_GROUP_STREAM:
		n = asprintf(&row->kernel_shown,
		             "stream %" PRId64 "  context %" PRId64 "  device %" PRId64 "%s",
		             row->stream_id, row->context_id, row->device_id, who);
		break;
	case WT_REPORT_GROUP_GRAPH:
		if (row->graph_id < 0)
			n = asprintf(&row->kernel_shown, "in no graph%s", who);
		else if (!row->graph_id)
			n = asprintf(&row->kernel_shown, "a graph without a name%s", who);
		else
			n = asprintf(&row->kernel_shown, "graph %" PRId64 "%s", row->graph_id, who);
		break;
	case WT_REPORT_GROUP_DURATION:
		n = label_duration(row);
		break;
	case WT_REPORT_GROUP_STEP:
		n = label_step(key, row);
		break;
	case WT_REPORT_GROUP_RANGE:
	case WT_REPORT_GROUP_PHASE:
		n = label_part(key, row);
		break;
	default:
		row->kernel_shown = strdup("");
		n = row->kernel_shown ? 0 : -1;
	}
	if (n < 0)
		row->kernel_shown = NULL;
	return n < 0 ? -ENOMEM : 0;
}
