/*
 * trace_names.c - see trace_impl.h: processes and devices with their tracks, names of kernels, and launch
 * configurations as they come up. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/kernel_name.h"
#include "cli/report_sql.h"
#include "cli/trace_impl.h"
#include "schema/wt_db.h"

#define SHOWN_PID_LEAST 2000000000 /* beyond what Linux gives */

/* ---- processes */

const char *wt_trace_process_condition(const struct wt_trace_work *work)
{
	return work->select.is_applied && work->select.words.rank
	               ? "process_id IN (SELECT process_id FROM main.proc WHERE rank IN"
	                 " (SELECT rank FROM temp.wt_rank))"
	               : "1";
}

size_t wt_trace_process_at(const struct wt_trace_work *work, int64_t process_id)
{
	uint32_t at = wt_map_get(&work->process_at, (uint64_t)process_id);

	return at == WT_MAP_NONE ? SIZE_MAX : at;
}

static int name_process(struct wt_trace_process *process, const char *executable)
{
	const char *base = strrchr(executable, '/');
	int length;

	base = base && base[1] ? base + 1 : executable;
	length = process->rank < 0
	                 ? asprintf(&process->name, "%s (pid %" PRId64 ")", base, process->pid)
	                 : asprintf(&process->name, "%s rank %" PRId64 " (pid %" PRId64 ")", base,
	                            process->rank, process->pid);
	if (length < 0)
		process->name = NULL;
	return process->name ? 0 : -ENOMEM;
}

/*
 * Processes of a run may have the same pid, each in its own namespace or one after the other, but those of a
 * trace must not: a later one gets a number that no process has. Its name tells the pid.
 */
static void choose_shown_pid(const struct wt_trace_work *work, struct wt_trace_process *process)
{
	process->shown_pid = process->pid;
	for (size_t i = 0; &work->processes[i] != process; i++)
		if (work->processes[i].pid == process->pid)
			process->shown_pid = SHOWN_PID_LEAST + (int64_t)i;
}

static void add_process_track(struct wt_trace_work *work, struct wt_trace_process *process)
{
	const struct wt_trace_track track = {.is_process = true,
	                                     .pid = process->shown_pid,
	                                     .name = process->name,
	                                     .process_name = process->name,
	                                     .command = process->command,
	                                     .rank = 100};

	process->track = wt_trace_track(&work->trace, &track);
}

static int load_processes(struct wt_trace_work *work)
{
	char sql[400];
	sqlite3_stmt *s;
	int rc;

	snprintf(sql, sizeof(sql),
	         "SELECT process_id, pid, ifnull(rank, -1), executable, command"
	         " FROM main.process WHERE %s ORDER BY rank, process_id",
	         wt_trace_process_condition(work));
	rc = wt_report_prepare(work->db, sql, &s);
	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		struct wt_trace_process *process =
		        wt_report_append(&work->processes, &work->process_count, sizeof(*process));
		char *executable = NULL;

		if (!process) {
			rc = -ENOMEM;
			break;
		}
		process->process_id = sqlite3_column_int64(s, 0);
		process->pid = sqlite3_column_int64(s, 1);
		process->rank = sqlite3_column_int64(s, 2);
		rc = wt_report_copy_name(s, 3, &executable);
		if (!rc)
			rc = name_process(process, executable);
		free(executable);
		if (!rc)
			rc = wt_report_copy_name(s, 4, &process->command);
		if (!rc)
			rc = wt_map_set(&work->process_at, (uint64_t)process->process_id,
			                (uint32_t)work->process_count - 1);
		if (rc)
			break;
		choose_shown_pid(work, process);
		add_process_track(work, process);
	}
	sqlite3_finalize(s);
	return rc;
}

/* ---- devices */

size_t wt_trace_device_at(const struct wt_trace_work *work, int64_t device_id)
{
	uint32_t at = wt_map_get(&work->device_at, (uint64_t)device_id);

	return at == WT_MAP_NONE ? SIZE_MAX : at;
}

static void add_device_track(struct wt_trace_work *work, struct wt_trace_device *device)
{
	char name[200], text[200];
	const struct wt_trace_track track = {
	        .name = name, .description = text, .rank = 10 + (int)work->device_count};

	snprintf(name, sizeof(name), "GPU %" PRId64 "  %.80s  %" PRId64 " SMs", device->device_id,
	         device->name, device->sms);
	snprintf(text, sizeof(text), "device %" PRId64 " of the run, UUID %.40s", device->device_id,
	         device->uuid);
	device->track = wt_trace_track(&work->trace, &track);
}

static int load_devices(struct wt_trace_work *work)
{
	sqlite3_stmt *s;
	int rc = wt_report_prepare(
	        work->db, "SELECT device_id, sm_count, name, uuid FROM device ORDER BY device_id",
	        &s);

	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		struct wt_trace_device *device =
		        wt_report_append(&work->devices, &work->device_count, sizeof(*device));

		rc = device ? wt_report_copy_name(s, 2, &device->name) : -ENOMEM;
		if (!rc)
			rc = wt_report_copy_name(s, 3, &device->uuid);
		if (rc)
			break;
		device->device_id = sqlite3_column_int64(s, 0);
		device->sms = sqlite3_column_int64(s, 1);
		rc = wt_map_set(&work->device_at, (uint64_t)device->device_id,
		                (uint32_t)work->device_count - 1);
		if (rc)
			break;
		add_device_track(work, device);
	}
	sqlite3_finalize(s);
	return rc;
}

/* ---- kernels */

static int load_kernels(struct wt_trace_work *work)
{
	sqlite3_stmt *s;
	size_t count = 0;
	int rc = wt_report_prepare(
	        work->db, "SELECT kernel_id, name FROM main.kernel ORDER BY kernel_id", &s);

	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		char **name = wt_report_append(&work->raw_names, &count, sizeof(*name));

		work->kernel_count = count;
		rc = name ? wt_report_copy_name(s, 1, name) : -ENOMEM;
		if (!rc)
			rc = wt_map_set(&work->kernel_at, (uint64_t)sqlite3_column_int64(s, 0),
			                (uint32_t)count - 1);
		if (rc)
			break;
	}
	sqlite3_finalize(s);
	return rc ? rc
	          : wt_kernel_name_shorten_all((const char *const *)work->raw_names, count,
	                                       &work->names);
}

/* ---- configurations */

static const char config_sql[] =
        "SELECT kernel_id, device_id, grid_x, grid_y, grid_z, block_x, block_y, block_z,"
        " cluster_x, cluster_y, cluster_z, regs_per_thread, static_smem_bytes +"
        " dynamic_smem_bytes, blocks_per_sm, occupancy, limiter, waves, model_reason"
        " FROM main.config WHERE config_id = ?1";
static const char measured_sql[] =
        "SELECT active_sms, evidence FROM main.measured WHERE config_id = ?1 AND is_used = 1"
        " AND active_sms IS NOT NULL";

static uint64_t text_of(struct wt_trace_work *work, const char *text)
{
	return text ? wt_trace_text(&work->trace, WT_TRACE_TEXT, text) : 0;
}

static uint64_t dim_of(struct wt_trace_work *work, sqlite3_stmt *s, int column)
{
	char text[80];

	snprintf(text, sizeof(text), "%lldx%lldx%lld", sqlite3_column_int64(s, column),
	         sqlite3_column_int64(s, column + 1), sqlite3_column_int64(s, column + 2));
	return text_of(work, text);
}

static double known(sqlite3_stmt *s, int column)
{
	return sqlite3_column_type(s, column) == SQLITE_NULL ? -1
	                                                     : sqlite3_column_double(s, column);
}

static int name_config(struct wt_trace_work *work, struct wt_trace_config *config)
{
	uint32_t at = wt_map_get(&work->kernel_at, (uint64_t)config->kernel_id);
	char *full;

	if (at == WT_MAP_NONE) { /* a damaged file */
		config->name = wt_trace_text(&work->trace, WT_TRACE_NAME, "(unknown kernel)");
		return 0;
	}
	full = wt_kernel_name_demangle(work->raw_names[at]);
	if (!full)
		return -ENOMEM;
	config->name = wt_trace_text(&work->trace, WT_TRACE_NAME, work->names[at]);
	config->full_name = text_of(work, full);
	free(full);
	return 0;
}

static int read_config(struct wt_trace_work *work, struct wt_trace_config *config)
{
	sqlite3_stmt *s = work->find_config;

	config->kernel_id = sqlite3_column_int64(s, 0);
	config->device_at = (int64_t)wt_trace_device_at(work, sqlite3_column_int64(s, 1));
	config->grid = dim_of(work, s, 2);
	config->block = dim_of(work, s, 5);
	if (sqlite3_column_int64(s, 8))
		config->cluster = dim_of(work, s, 8);
	config->regs = sqlite3_column_int64(s, 11);
	config->smem_bytes = sqlite3_column_int64(s, 12);
	config->blocks_per_sm =
	        sqlite3_column_type(s, 13) == SQLITE_NULL ? -1 : sqlite3_column_int64(s, 13);
	config->occupancy = known(s, 14);
	config->limiter = text_of(work, (const char *)sqlite3_column_text(s, 15));
	config->waves = known(s, 16);
	config->reason = text_of(work, (const char *)sqlite3_column_text(s, 17));
	config->active_sms = -1;
	return name_config(work, config);
}

static int read_measured(struct wt_trace_work *work, struct wt_trace_config *config)
{
	sqlite3_stmt *s = work->find_measured;
	int rc;

	if (!s)
		return 0;
	sqlite3_bind_int64(s, 1, config->config_id);
	rc = wt_report_step(s);
	if (rc > 0) {
		config->active_sms = known(s, 0);
		config->evidence = text_of(work, (const char *)sqlite3_column_text(s, 1));
	}
	sqlite3_reset(s);
	return rc < 0 ? rc : 0;
}

const struct wt_trace_config *wt_trace_config(struct wt_trace_work *work, int64_t config_id)
{
	uint32_t at = wt_map_get(&work->config_at, (uint64_t)config_id);
	struct wt_trace_config config = {.config_id = config_id}, *added;
	int rc;

	if (at != WT_MAP_NONE)
		return &work->configs[at];
	sqlite3_bind_int64(work->find_config, 1, config_id);
	rc = wt_report_step(work->find_config);
	if (rc > 0)
		rc = read_config(work, &config);
	else
		rc = rc ? rc : -ENOENT;
	sqlite3_reset(work->find_config);
	if (!rc)
		rc = read_measured(work, &config);
	if (rc)
		goto failed;
	at = (uint32_t)work->config_count;
	added = wt_report_append(&work->configs, &work->config_count, sizeof(*added));
	rc = added ? wt_map_set(&work->config_at, (uint64_t)config_id, at) : -ENOMEM;
	if (rc)
		goto failed;
	*added = config;
	return added;
failed:
	if (rc != -ENOENT && !work->trace.error)
		work->trace.error = rc;
	return NULL;
}

/* ---- all */

int wt_trace_load(struct wt_trace_work *work)
{
	int rc = load_devices(work);

	if (!rc)
		rc = load_processes(work);
	if (!rc)
		rc = load_kernels(work);
	if (!rc)
		rc = wt_report_prepare(work->db, config_sql, &work->find_config);
	if (!rc && wt_report_has_measured(work->db))
		rc = wt_report_prepare(work->db, measured_sql, &work->find_measured);
	return rc;
}

void wt_trace_unload(struct wt_trace_work *work)
{
	for (size_t i = 0; i < work->process_count; i++) {
		free(work->processes[i].name);
		free(work->processes[i].command);
	}
	for (size_t i = 0; i < work->device_count; i++) {
		free(work->devices[i].name);
		free(work->devices[i].uuid);
	}
	free(work->processes);
	free(work->devices);
	free(work->configs);
	wt_kernel_name_free_all(work->names, work->kernel_count);
	wt_kernel_name_free_all(work->raw_names, work->kernel_count);
	wt_map_fini(&work->process_at);
	wt_map_fini(&work->device_at);
	wt_map_fini(&work->config_at);
	wt_map_fini(&work->kernel_at);
	wt_trace_bits_fini(&work->launched);
	wt_trace_bits_fini(&work->graph_called);
	wt_trace_bits_fini(&work->graph_launched);
	sqlite3_finalize(work->find_config);
	sqlite3_finalize(work->find_measured);
}
