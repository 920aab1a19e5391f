/*
 * merge_source.c - see merge.h: what a run is, before it is merged. Single-threaded; blocks on files.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/collective.h"
#include "cli/cli.h"
#include "cli/merge.h"
#include "cli/report_sql.h"
#include "schema/wt_rows.h"

#define LAUNCHES_MAX 65536 /* that clocks are aligned on, where there are no collectives */

/* ---- processes */

static int read_processes(sqlite3 *db, struct wt_merge_source *source)
{
	static const char sql[] = "SELECT process_id, ifnull(rank, -1), ifnull(world_size, -1), "
	                          "hex(uuid) FROM main.proc"
	                          " WHERE kernels_stored > 0 ORDER BY process_id";
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, sql, &s);

	while (!rc && (rc = wt_report_step(s)) > 0) {
		struct wt_merge_process *process = wt_report_append(
		        &source->processes, &source->process_count, sizeof(*process));

		rc = process ? 0 : -ENOMEM;
		if (rc)
			break;
		process->process_id = sqlite3_column_int64(s, 0);
		process->rank = sqlite3_column_int64(s, 1);
		process->world_size = sqlite3_column_int64(s, 2);
		snprintf(process->uuid, sizeof(process->uuid), "%s",
		         (const char *)sqlite3_column_text(s, 3));
	}
	sqlite3_finalize(s);
	return rc;
}

/* One text of one row, or "". */
static int read_text(sqlite3 *db, const char *sql, char **ret_text)
{
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, sql, &s);

	*ret_text = NULL;
	if (!rc && (rc = wt_report_step(s)) > 0)
		rc = wt_report_copy_name(s, 0, ret_text);
	sqlite3_finalize(s);
	return rc;
}

static int read_host(sqlite3 *db, struct wt_merge_source *source)
{
	char *boot = NULL;
	int rc = read_text(
	        db, "SELECT iif(count(DISTINCT boot_id) = 1, min(boot_id), '') FROM main.proc",
	        &boot);

	if (!rc && boot)
		snprintf(source->boot, sizeof(source->boot), "%s", boot);
	free(boot);
	if (!rc)
		rc = read_text(
		        db,
		        "SELECT group_concat(n || 'x ' || name, ', ') FROM (SELECT count(*) AS n,"
		        " name FROM main.gpu WHERE device_id IN (SELECT device_id FROM"
		        " main.config) GROUP BY name, sm_count)",
		        &source->gpus);
	return rc;
}

/* ---- events */

static uint64_t hash_of(const char *name)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * UINT64_C(0x100000001b3);
	return hash;
}

static uint32_t number_of(struct wt_merge *merge, const char *name)
{
	uint64_t hash = hash_of(name ? name : "");
	uint32_t at = wt_map_get(&merge->names, hash);

	if (at != WT_MAP_NONE)
		return at;
	if (wt_map_set(&merge->names, hash, merge->name_count))
		return WT_MAP_NONE;
	return merge->name_count++;
}

struct member_event {
	struct wt_align_event event;
	int64_t process_id, device_id;
};

struct reading {
	struct wt_merge *merge;
	sqlite3 *db;
	struct member_event *events;
	size_t count;
};

static int read_config(struct reading *reading, int64_t config_id, int64_t device_id, uint32_t name)
{
	sqlite3_stmt *s;
	int rc = wt_report_prepare(reading->db,
	                           "SELECT process_id, start_ns, end_ns FROM kernel_row WHERE"
	                           " config_id = ?1 AND start_ns > 0 AND end_ns > start_ns",
	                           &s);

	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, config_id);
	while ((rc = wt_report_step(s)) > 0) {
		struct member_event *one =
		        wt_report_append(&reading->events, &reading->count, sizeof(*one));

		if (!one) {
			rc = -ENOMEM;
			break;
		}
		*one = (struct member_event){
		        .event = {sqlite3_column_int64(s, 1), sqlite3_column_int64(s, 2), name},
		        .process_id = sqlite3_column_int64(s, 0),
		        .device_id = device_id};
	}
	sqlite3_finalize(s);
	return rc;
}

static int read_collectives(struct reading *reading)
{
	sqlite3_stmt *s;
	int rc = wt_report_prepare(reading->db,
	                           "SELECT config_id, device_id, name FROM main.config JOIN"
	                           " main.kernel USING (kernel_id)",
	                           &s);

	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		const char *name = (const char *)sqlite3_column_text(s, 2);
		uint32_t number;

		if (!wt_is_collective_kernel(name))
			continue;
		number = number_of(reading->merge, name);
		rc = number == WT_MAP_NONE ? -ENOMEM
		                           : read_config(reading, sqlite3_column_int64(s, 0),
		                                         sqlite3_column_int64(s, 1), number);
		if (rc)
			break;
	}
	sqlite3_finalize(s);
	return rc;
}

/* Kernels of the process with most, as instants: their starts. */
static int read_launches(struct reading *reading)
{
	static const char sql[] =
	        "SELECT e.process_id, c.device_id, e.start_ns, k.name FROM kernel_row e"
	        " JOIN main.config c USING (config_id) JOIN main.kernel k USING (kernel_id)"
	        " WHERE e.process_id = (SELECT process_id FROM main.proc ORDER BY kernels_stored "
	        "DESC,"
	        " process_id LIMIT 1) AND start_ns > 0 LIMIT ?1";
	sqlite3_stmt *s;
	int rc = wt_report_prepare(reading->db, sql, &s);

	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, LAUNCHES_MAX);
	while ((rc = wt_report_step(s)) > 0) {
		struct member_event *one =
		        wt_report_append(&reading->events, &reading->count, sizeof(*one));
		int64_t start_ns = sqlite3_column_int64(s, 2);
		uint32_t number =
		        number_of(reading->merge, (const char *)sqlite3_column_text(s, 3));

		if (!one || number == WT_MAP_NONE) {
			rc = -ENOMEM;
			break;
		}
		*one = (struct member_event){.event = {start_ns, start_ns, number},
		                             .process_id = sqlite3_column_int64(s, 0),
		                             .device_id = sqlite3_column_int64(s, 1)};
	}
	sqlite3_finalize(s);
	return rc;
}

static int by_member(const void *left, const void *right)
{
	const struct member_event *a = left, *b = right;
	const int64_t keys[][2] = {{a->process_id, b->process_id},
	                           {a->device_id, b->device_id},
	                           {a->event.start_ns, b->event.start_ns},
	                           {a->event.end_ns, b->event.end_ns}};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i][0] != keys[i][1])
			return keys[i][0] < keys[i][1] ? -1 : 1;
	return 0;
}

/* Those of the member with most; the first of several. */
static int keep_one_member(const struct reading *reading, struct wt_merge_source *source)
{
	size_t best = 0, best_count = 0;

	if (!reading->count)
		return 0;
	qsort(reading->events, reading->count, sizeof(*reading->events), by_member);
	for (size_t i = 0, first = 0; i <= reading->count; i++) {
		const struct member_event *begin = &reading->events[first];

		if (i < reading->count && reading->events[i].process_id == begin->process_id &&
		    reading->events[i].device_id == begin->device_id)
			continue;
		if (i - first > best_count) {
			best = first;
			best_count = i - first;
		}
		first = i;
	}
	source->events = calloc(best_count, sizeof(*source->events));
	if (!source->events)
		return -ENOMEM;
	for (size_t i = 0; i < best_count; i++)
		source->events[i] = reading->events[best + i].event;
	source->event_count = best_count;
	return 0;
}

static int read_events(struct wt_merge *merge, sqlite3 *db, bool is_by_launches,
                       struct wt_merge_source *source)
{
	struct reading reading = {.merge = merge, .db = db};
	int rc = is_by_launches ? read_launches(&reading) : read_collectives(&reading);

	if (!rc)
		rc = keep_one_member(&reading, source);
	source->is_by_launches = is_by_launches;
	free(reading.events);
	return rc;
}

int wt_merge_read(struct wt_merge *merge, const char *path, bool is_by_launches,
                  struct wt_merge_source *source)
{
	struct wt_run_file run;
	int code = wt_run_file_open(path, &run);
	int64_t version;
	int rc;

	memset(source, 0, sizeof(*source));
	if (code)
		return code;
	source->info = run.info;
	version = wt_db_int(run.db, "PRAGMA user_version", 0);
	if (version != WT_DB_VERSION) {
		wt_cli_error("%s: a file of version %" PRId64
		             "; wavetap analyze makes it version %d",
		             run.info.path, version, WT_DB_VERSION);
		code = WT_EXIT_FAILED;
	} else if (run.info.processes_live) {
		wt_cli_error("%s: run %s is still being recorded", run.info.path, run.info.id);
		code = WT_EXIT_FAILED;
	} else {
		rc = read_processes(run.db, source);
		if (!rc)
			rc = read_host(run.db, source);
		if (!rc)
			rc = read_events(merge, run.db, is_by_launches, source);
		if (rc) {
			wt_cli_error("%s: %s", run.info.path,
			             rc == -ENOMEM ? "out of memory" : wt_report_problem(run.db));
			code = WT_EXIT_FAILED;
		}
	}
	wt_run_file_close(&run);
	return code;
}

void wt_merge_source_fini(struct wt_merge_source *source)
{
	free(source->processes);
	free(source->gpus);
	free(source->events);
	memset(source, 0, sizeof(*source));
}

/* ---- one job, each once */

static int by_uuid(const void *left, const void *right)
{
	const struct wt_merge_process *const *a = left, *const *b = right;

	return strcmp((*a)->uuid, (*b)->uuid);
}

static int by_rank(const void *left, const void *right)
{
	const struct wt_merge_process *const *a = left, *const *b = right;

	return (*a)->rank < (*b)->rank ? -1 : (*a)->rank > (*b)->rank;
}

static const char *path_of(const struct wt_merge *merge, const struct wt_merge_process *process)
{
	for (size_t i = 0; i < merge->count; i++) {
		const struct wt_merge_source *source = &merge->sources[i];

		if (process >= source->processes &&
		    process < source->processes + source->process_count)
			return source->info.path;
	}
	return "?";
}

/* "3, 5-7", as far as there is room. Ranks ascend. */
static void find_missing(struct wt_merge *merge, const struct wt_merge_process *const *all,
                         size_t count)
{
	int64_t next = 0;
	size_t used = 0;

	for (size_t i = 0; i <= count; i++) {
		int64_t rank = i < count ? all[i]->rank : merge->world_size;

		if (rank < next)
			continue;
		if (rank > next && used + 48 < sizeof(merge->missing)) {
			used += (size_t)snprintf(merge->missing + used,
			                         sizeof(merge->missing) - used, "%s%" PRId64,
			                         used ? ", " : "", next);
			if (rank - 1 > next)
				used += (size_t)snprintf(merge->missing + used,
				                         sizeof(merge->missing) - used, "-%" PRId64,
				                         rank - 1);
		}
		next = rank + 1;
	}
}

static int judge_ranks(struct wt_merge *merge, const struct wt_merge_process **all, size_t count)
{
	size_t first = 0;

	qsort(all, count, sizeof(*all), by_rank);
	while (first < count && all[first]->rank < 0)
		first++;
	for (size_t i = first; i < count; i++) {
		if (i > first && all[i]->rank == all[i - 1]->rank &&
		    strcmp(path_of(merge, all[i]), path_of(merge, all[i - 1])) != 0) {
			wt_cli_error("rank %" PRId64 " is in %s and in %s: they are of two jobs",
			             all[i]->rank, path_of(merge, all[i - 1]),
			             path_of(merge, all[i]));
			return WT_EXIT_NO_DATA;
		}
		if (all[i]->world_size > 0 && merge->world_size > 0 &&
		    all[i]->world_size != merge->world_size) {
			wt_cli_error("%s is of a job of %" PRId64 " ranks, others are of %" PRId64,
			             path_of(merge, all[i]), all[i]->world_size, merge->world_size);
			return WT_EXIT_NO_DATA;
		}
		if (all[i]->world_size > 0)
			merge->world_size = all[i]->world_size;
		merge->ranks += i == first || all[i]->rank != all[i - 1]->rank;
	}
	if (merge->world_size > 0)
		find_missing(merge, all + first, count - first);
	return WT_EXIT_FINE;
}

int wt_merge_judge(struct wt_merge *merge)
{
	const struct wt_merge_process **all;
	size_t count = 0, at = 0;
	int code = WT_EXIT_FINE;

	for (size_t i = 0; i < merge->count; i++)
		count += merge->sources[i].process_count;
	all = calloc(count + 1, sizeof(const struct wt_merge_process *));
	if (!all) {
		wt_cli_error("out of memory");
		return WT_EXIT_FAILED;
	}
	for (size_t i = 0; i < merge->count; i++)
		for (size_t k = 0; k < merge->sources[i].process_count; k++)
			all[at++] = &merge->sources[i].processes[k];
	merge->world_size = -1;
	qsort(all, count, sizeof(*all), by_uuid);
	for (size_t i = 1; i < count && !code; i++) {
		if (strcmp(all[i]->uuid, all[i - 1]->uuid) != 0)
			continue;
		wt_cli_error("%s and %s hold the same process: a run can be in it once",
		             path_of(merge, all[i - 1]), path_of(merge, all[i]));
		code = WT_EXIT_NO_DATA;
	}
	if (!code)
		code = judge_ranks(merge, all, count);
	free(all);
	return code;
}
