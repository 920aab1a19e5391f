/*
 * merge_copy.c - see merge.h: the rows of a run into the new file. Single-threaded; blocks on files.
 *
 * Each table is a line of words: which columns, and what becomes of each. What follows from other rows
 * (shares, sums) is not copied but derived again; raw samples stay behind, what was measured from them comes.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/merge.h"
#include "cli/report_sql.h"

/*
 * What becomes of a value: '=' nothing; 't' a time; 'p' 'd' 'k' 'c' 'n' the new id of the process, device,
 * kernel, configuration, name of a range; 'i' an id of this table, behind those that are there.
 */
struct table {
	const char *name, *rows; /* rows: where packed ones are, too; NULL: in the table */
	const char *columns, *codes;
	bool is_once; /* of a device that several runs have the first one's stay */
};

static const struct table tables[] = {
        {"proc", NULL,
         "process_id, uuid, pid, pid_namespace, ppid, start_ticks, uid, hostname, boot_id, "
         "executable,"
         " command, rank, local_rank, world_size, created_ns, armed_ns, finished_ns, first_ns, "
         "last_ns,"
         " state, capture, reason, reason_detail, reason_text, library_version, cupti_version, "
         "cupti_path,"
         " driver_version, calls_pos, activity_pos, link_low_seq, launches_attempted,"
         " graph_launches_attempted, launches_dropped, calls_dropped, kernels_seen, "
         "kernels_dropped_ring,"
         " links_dropped_ring, other_dropped_ring, kernels_dropped_cupti, records_unknown, "
         "names_dropped,"
         " entries_unknown, app_profiler_sessions, app_records_forwarded, flush_cpu_ns, "
         "cupti_callback_ns,"
         " cells_torn, cells_bad, cells_gap, launches_stored, launches_failed, launches_captured,"
         " launches_linked, launches_linked_by_order, launches_unobserved, launches_unlinked,"
         " graph_launches_stored, graph_launches_failed, kernels_stored, kernels_graph, "
         "kernels_device,"
         " kernels_cupti_only, kernels_no_time",
         "p=============ttttt=============================================", false},
        {"process_gpu", NULL, "process_id, ordinal, device_id", "p=d", false},
        {"context", NULL,
         "process_id, context_id, device_id, parent_context_id, sm_count, is_green",
         "p=d===", false},
        {"kernel_exec", "kernel_row",
         "exec_id, process_id, config_id, start_ns, end_ns, context_id, stream_id, correlation_id,"
         " graph_id, graph_node_id, launch_seq, link, underfill_sm_ns, wave_sm_ns, wave_max_sm_ns",
         "ipctt==========", false},
        {"launch_call", "launch_row",
         "process_id, seq, entry_ns, return_ns, api, tid, thread32, stream, function, grid_x, "
         "grid_y,"
         " grid_z, block_x, block_y, block_z, dynamic_smem_bytes, result, flags",
         "p=tt==============", false},
        {"api_call", "call_row",
         "call_id, process_id, api, seq, entry_ns, return_ns, tid, thread32, handle, other, bytes,"
         " result, flags",
         "ip==tt=======", false},
        {"api", NULL, "api, name, class", "===", true},
        {"copy", NULL,
         "copy_id, process_id, device_id, start_ns, end_ns, bytes, is_memset, copy_kind, src_kind,"
         " dst_kind, flags, context_id, stream_id, correlation_id, graph_id, graph_node_id",
         "ipdtt===========", false},
        {"sync", NULL,
         "sync_id, process_id, type, start_ns, end_ns, context_id, stream_id, event_id,"
         " correlation_id",
         "ip=tt====", false},
        {"overhead", NULL, "overhead_id, process_id, type, start_ns, end_ns, thread32",
         "ip=tt=", false},
        {"clock", NULL,
         "clock_id, process_id, realtime_ns, monotonic_ns, boot_ns, cupti_ns, bracket_ns",
         "ipt==t=", false},
        {"range_event", NULL,
         "range_id, process_id, name_id, type, tid, end_tid, start_ns, end_ns, depth",
         "ipn===tt=", false},
        {"range_count", NULL, "process_id, begun, recorded, dropped, early, untracked, unbalanced",
         "p======", false},
        {"sampler", NULL,
         "sampler_id, uuid, device_id, pid, state, reason, interval_ns, first_ns, last_ns,"
         " samples_taken, samples_stored, samples_dropped, overflows, cpu_ns, activity_pos",
         "i=d====tt======", true},
        {"sm_bucket", NULL,
         "device_id, start_ns, end_ns, sampled_ns, samples, active_avg, active_min, active_max,"
         " warps_per_sm, tensor_share, dram_read_bytes, dram_write_bytes, sm_clock_mhz, busy_ns,"
         " extremes_ns, min_share_ns, max_share_ns",
         "dtt==============", true},
        {"gpu_state", NULL,
         "device_id, time_ns, throttle_reasons, sm_clock_mhz, mem_clock_mhz, power_mw,"
         " temperature_c, foreign_processes, foreign_pid",
         "dt=======", true},
        {"fold", NULL,
         "device_id, until_ns, offset_ns, offset_error_ns, residual, samples_used, samples_skipped,"
         " active_sm_ns, explained_sm_ns, reason",
         "dt========", true},
        {"measured", NULL,
         "config_id, evidence, is_used, reason, launches, time_ns, active_sms, active_error_sms,"
         " underfill_sms, wave_sms, wave_max_sms, straggle_sms, ramp_sms, disagrees, warps_per_sm,"
         " tensor_share, dram_bytes_per_ns, sm_clock_mhz, bound, wave_form, joint_time_ns,"
         " joint_active_sms, joint_error_sms, issue_share, bound_reason, class_wave_sms",
         "c=========================", true},
        {"measured_profile", NULL, "config_id, bin, active_sms, error_sms", "c===", true},
        {"profile_launch", NULL,
         "process_id, launch_seq, device_id, start_ns, end_ns, cost_ns, passes, sms, active_sum,"
         " active_min, active_max, elapsed, warps_avg, tensor_avg, dram_bytes",
         "p=dtt==========", false},
        {"profile_count", NULL, "process_id, state, detail, launches, stored, dropped, cost_ns",
         "p======", false},
        {"own_cost", NULL,
         "process_id, launches_timed, launches_long, hook_p50_ns, hook_p99_ns, launches_timed_ns,"
         " calls_timed, calls_timed_ns, long_ns, start_ns, threads, thread_ns, cupti_callbacks,"
         " app_callback_ns, cupti_bytes, bytes_written, budget_ppm, budget_state, "
         "budget_stepped_ns,"
         " budget_cost_ppm",
         "p=================t=", false},
        {"hook_time", NULL, "process_id, low_ns, high_ns, launches", "p===", false},
        {"graph_unobserved", NULL, "process_id, launches", "p=", false},
};
#define TABLES (sizeof(tables) / sizeof(tables[0]))
#define COLUMNS_MAX 80

struct wt_merge_copy {
	sqlite3 *out;
	int64_t base[TABLES]; /* highest id of the table up to the run before */
	int64_t highest[TABLES];
	int64_t process_base, process_highest;
	/* of the run in work */
	const struct wt_align *align;
	struct wt_map devices, kernels, configs, names;
	char problem[300];
};

int wt_merge_copy_begin(sqlite3 *out, struct wt_merge_copy **ret_copy)
{
	struct wt_merge_copy *copy = calloc(1, sizeof(*copy));

	if (!copy) {
		wt_cli_error("out of memory");
		return WT_EXIT_FAILED;
	}
	copy->out = out;
	*ret_copy = copy;
	return WT_EXIT_FINE;
}

static void forget_run(struct wt_merge_copy *copy)
{
	wt_map_fini(&copy->devices);
	wt_map_fini(&copy->kernels);
	wt_map_fini(&copy->configs);
	wt_map_fini(&copy->names);
}

void wt_merge_copy_end(struct wt_merge_copy *copy)
{
	if (copy)
		forget_run(copy);
	free(copy);
}

static int note(struct wt_merge_copy *copy, sqlite3 *db, const char *table)
{
	snprintf(copy->problem, sizeof(copy->problem), "%s: %.200s", table, sqlite3_errmsg(db));
	return -EIO;
}

/* ---- things that several runs have: found by what they are, or added */

/*
 * `insert` adds one row of `read`, whose first column is the old id, or does nothing if it is there; `find` gives its
 * new id. Both take the other columns, after ids are replaced by `codes`.
 */
struct shared {
	const char *table, *read, *insert, *find;
	const char *codes; /* of the columns after the first: '=' 'd' 'k' */
	int find_columns; /* so many of them, from the first on */
};

static const struct shared shared_gpu = {
        "gpu",
        "SELECT device_id, uuid, name, cc_major, cc_minor, sm_count, warp_size, max_threads_per_sm,"
        " max_blocks_per_sm, max_threads_per_block, regs_per_sm, regs_per_block, smem_per_sm_bytes,"
        " smem_per_block_bytes, smem_per_block_optin_bytes, smem_reserved_per_block_bytes, "
        "l2_bytes,"
        " clock_khz, mem_clock_khz, mem_bus_bits, mem_total_bytes, driver_version, pci FROM "
        "main.gpu",
        "INSERT OR IGNORE INTO gpu (uuid, name, cc_major, cc_minor, sm_count, warp_size,"
        " max_threads_per_sm, max_blocks_per_sm, max_threads_per_block, regs_per_sm, "
        "regs_per_block,"
        " smem_per_sm_bytes, smem_per_block_bytes, smem_per_block_optin_bytes,"
        " smem_reserved_per_block_bytes, l2_bytes, clock_khz, mem_clock_khz, mem_bus_bits,"
        " mem_total_bytes, driver_version, pci)"
        " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        "SELECT device_id FROM gpu WHERE uuid = ?1 AND name = ?2 AND cc_major = ?3 AND cc_minor = "
        "?4"
        " AND sm_count = ?5",
        "======================",
        5,
};
static const struct shared shared_kernel = {
        "kernel",
        "SELECT kernel_id, name FROM main.kernel",
        "INSERT OR IGNORE INTO kernel (name) VALUES (?)",
        "SELECT kernel_id FROM kernel WHERE name = ?1",
        "=",
        1,
};
static const struct shared shared_range = {
        "range_name",
        "SELECT name_id, domain, name FROM main.range_name",
        /* Two that have no name are two to UNIQUE. */
        "INSERT INTO range_name (domain, name) SELECT ?1, ?2 WHERE NOT EXISTS (SELECT 1 FROM"
        " range_name WHERE domain = ?1 AND name IS ?2)",
        "SELECT name_id FROM range_name WHERE domain = ?1 AND name IS ?2",
        "==",
        2,
};
static const struct shared shared_config = {
        "config",
        "SELECT config_id, kernel_id, device_id, grid_x, grid_y, grid_z, block_x, block_y, block_z,"
        " cluster_x, cluster_y, cluster_z, regs_per_thread, static_smem_bytes, dynamic_smem_bytes,"
        " cooperative, max_active_clusters, sm_count, blocks, blocks_per_sm, resident_blocks, "
        "occupancy,"
        " limiter, waves, waves_sm, full_waves, last_wave_blocks, model_reason FROM main.config",
        "INSERT OR IGNORE INTO config (kernel_id, device_id, grid_x, grid_y, grid_z, block_x, "
        "block_y,"
        " block_z, cluster_x, cluster_y, cluster_z, regs_per_thread, static_smem_bytes,"
        " dynamic_smem_bytes, cooperative, max_active_clusters, sm_count, blocks, blocks_per_sm,"
        " resident_blocks, occupancy, limiter, waves, waves_sm, full_waves, last_wave_blocks,"
        " model_reason) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        "SELECT config_id FROM config WHERE kernel_id = ?1 AND device_id = ?2 AND grid_x = ?3 AND"
        " grid_y = ?4 AND grid_z = ?5 AND block_x = ?6 AND block_y = ?7 AND block_z = ?8 AND"
        " cluster_x = ?9 AND cluster_y = ?10 AND cluster_z = ?11 AND regs_per_thread = ?12 AND"
        " static_smem_bytes = ?13 AND dynamic_smem_bytes = ?14 AND cooperative = ?15 AND"
        " max_active_clusters = ?16 AND sm_count = ?17",
        "kd=========================",
        17,
};

static int64_t mapped(const struct wt_map *map, int64_t id)
{
	uint32_t at = wt_map_get(map, (uint64_t)id);

	return at == WT_MAP_NONE ? -1 : (int64_t)at;
}

/* false: an id of nothing. */
static bool bind_shared(struct wt_merge_copy *copy, sqlite3_stmt *to, const char *codes,
                        sqlite3_stmt *from, int count)
{
	bool is_whole = true;

	for (int i = 0; i < count; i++) {
		const struct wt_map *map = codes[i] == 'd'   ? &copy->devices
		                           : codes[i] == 'k' ? &copy->kernels
		                                             : NULL;
		int64_t id = map ? mapped(map, sqlite3_column_int64(from, i + 1)) : 0;

		if (!map)
			sqlite3_bind_value(to, i + 1, sqlite3_column_value(from, i + 1));
		else
			sqlite3_bind_int64(to, i + 1, id);
		is_whole = is_whole && id >= 0;
	}
	return is_whole;
}

static int share_row(struct wt_merge_copy *copy, const struct shared *shared, sqlite3_stmt *read,
                     sqlite3_stmt *insert, sqlite3_stmt *find, struct wt_map *map)
{
	int code, rc;

	if (!bind_shared(copy, insert, shared->codes, read, (int)strlen(shared->codes))) {
		snprintf(copy->problem, sizeof(copy->problem),
		         "%s: a row names what is not there (wavetap check)", shared->table);
		return -EIO;
	}
	sqlite3_step(insert);
	code = sqlite3_reset(insert);
	if (code != SQLITE_OK)
		return note(copy, copy->out, shared->table);
	bind_shared(copy, find, shared->codes, read, shared->find_columns);
	rc = wt_db_step(find);
	if (rc > 0)
		rc = wt_map_set(map, (uint64_t)sqlite3_column_int64(read, 0),
		                (uint32_t)sqlite3_column_int64(find, 0));
	else if (!rc)
		rc = -EEXIST;
	sqlite3_reset(find);
	if (rc == -EEXIST)
		snprintf(copy->problem, sizeof(copy->problem),
		         "%s: what another run calls the same is another one", shared->table);
	return rc;
}

static int share(struct wt_merge_copy *copy, sqlite3 *db, const struct shared *shared,
                 struct wt_map *map)
{
	sqlite3_stmt *read = NULL, *insert = NULL, *find = NULL;
	int rc = 0;

	if (!wt_db_has_table(db, shared->table))
		return 0;
	if (wt_db_prepare(db, shared->read, &read))
		rc = note(copy, db, shared->table);
	if (!rc && (wt_db_prepare(copy->out, shared->insert, &insert) ||
	            wt_db_prepare(copy->out, shared->find, &find)))
		rc = note(copy, copy->out, shared->table);
	while (!rc) {
		int step = wt_db_step(read);

		if (step < 0)
			rc = note(copy, db, shared->table);
		if (step <= 0)
			break;
		rc = share_row(copy, shared, read, insert, find, map);
	}
	sqlite3_finalize(read);
	sqlite3_finalize(insert);
	sqlite3_finalize(find);
	return rc;
}

/* ---- rows of one run alone */

/* The value as it is to be; false: it names what is not there. */
static bool bind_value(struct wt_merge_copy *copy, sqlite3_stmt *to, int at, char code,
                       size_t table, sqlite3_stmt *from)
{
	int64_t value = sqlite3_column_int64(from, at);

	if (code == '=' || sqlite3_column_type(from, at) == SQLITE_NULL) {
		sqlite3_bind_value(to, at + 1, sqlite3_column_value(from, at));
		return true;
	}
	switch (code) {
	case 't':
		if (value > 0)
			value = wt_align_time(copy->align, value);
		break;
	case 'p':
		value += copy->process_base;
		if (value > copy->process_highest)
			copy->process_highest = value;
		break;
	case 'i':
		value += copy->base[table];
		if (value > copy->highest[table])
			copy->highest[table] = value;
		break;
	case 'd':
		value = mapped(&copy->devices, value);
		break;
	case 'c':
		value = mapped(&copy->configs, value);
		break;
	default:
		value = mapped(&copy->names, value);
	}
	sqlite3_bind_int64(to, at + 1, value);
	return value >= 0;
}

static int copy_rows(struct wt_merge_copy *copy, sqlite3 *db, size_t table, sqlite3_stmt *read,
                     sqlite3_stmt *insert)
{
	const struct table *of = &tables[table];
	int step;

	while ((step = wt_db_step(read)) > 0) {
		bool is_whole = true;

		for (int i = 0; of->codes[i]; i++)
			is_whole =
			        bind_value(copy, insert, i, of->codes[i], table, read) && is_whole;
		if (!is_whole) {
			snprintf(copy->problem, sizeof(copy->problem),
			         "%s: a row names what is not there (wavetap check)", of->name);
			return -EIO;
		}
		sqlite3_step(insert);
		if (sqlite3_reset(insert) != SQLITE_OK)
			return note(copy, copy->out, of->name);
	}
	return step < 0 ? note(copy, db, of->name) : 0;
}

static int copy_table(struct wt_merge_copy *copy, sqlite3 *db, size_t table)
{
	const struct table *of = &tables[table];
	char *sql = sqlite3_mprintf("SELECT %s FROM %s%s", of->columns,
	                            of->rows ? "temp." : "main.", of->rows ? of->rows : of->name);
	sqlite3_stmt *read = NULL, *insert = NULL;
	char marks[2 * COLUMNS_MAX + 1] = "";
	int rc = sql ? 0 : -ENOMEM;

	if (!rc && wt_db_prepare(db, sql, &read))
		rc = note(copy, db, of->name);
	sqlite3_free(sql);
	for (size_t i = 1; of->codes[i]; i++)
		strcat(marks, ",?");
	sql = sqlite3_mprintf("INSERT %sINTO %s (%s) VALUES (?%s)", of->is_once ? "OR IGNORE " : "",
	                      of->name, of->columns, marks);
	if (!rc && (!sql || wt_db_prepare(copy->out, sql, &insert)))
		rc = note(copy, copy->out, of->name);
	sqlite3_free(sql);
	if (!rc)
		rc = copy_rows(copy, db, table, read, insert);
	sqlite3_finalize(read);
	sqlite3_finalize(insert);
	return rc;
}

static int copy_tables(struct wt_merge_copy *copy, sqlite3 *db, struct wt_merge_source *source)
{
	int rc = share(copy, db, &shared_gpu, &copy->devices);

	if (!rc)
		rc = share(copy, db, &shared_kernel, &copy->kernels);
	if (!rc)
		rc = share(copy, db, &shared_config, &copy->configs);
	if (!rc)
		rc = share(copy, db, &shared_range, &copy->names);
	source->first_process = copy->process_base + 1;
	for (size_t i = 0; i < TABLES && !rc; i++)
		if (wt_db_has_table(db, tables[i].name))
			rc = copy_table(copy, db, i);
	source->last_process = copy->process_highest;
	memcpy(copy->base, copy->highest, sizeof(copy->base));
	copy->process_base = copy->process_highest;
	return rc;
}

int wt_merge_copy_run(struct wt_merge_copy *copy, struct wt_merge_source *source)
{
	struct wt_run_file run;
	int code = wt_run_file_open(source->info.path, &run);
	int rc;

	if (code)
		return code;
	copy->align = &source->align;
	copy->problem[0] = '\0';
	rc = copy_tables(copy, run.db, source);
	if (rc) {
		wt_cli_error("%s: %s", source->info.path,
		             rc == -ENOMEM ? "out of memory" : copy->problem);
		code = WT_EXIT_FAILED;
	}
	forget_run(copy);
	wt_run_file_close(&run);
	return code;
}
