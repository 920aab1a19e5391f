/*
 * profiled.c - what libwavetap.so measured of single launches (WAVETAP_PROFILE): rows of
 * `profile_launch` and `profile_count`. Main thread; may block on the disk.
 */
#include "daemon/daemon.h"

#include <math.h>

static int64_t device_id_of(const struct wt_process *process, uint16_t ordinal)
{
	if (ordinal >= WT_DEVICES_MAX || process->gpu_of[ordinal] == WT_MAP_NONE)
		return WT_DB_NULL;
	return process->run->gpus[process->gpu_of[ordinal]].device_id;
}

static bool is_count(double value)
{
	return isfinite(value) && value >= 0;
}

static int bind_known(sqlite3_stmt *statement, int at, double value)
{
	return value < 0 ? sqlite3_bind_null(statement, at)
	                 : sqlite3_bind_double(statement, at, value);
}

static int drain_launch(struct wt_process *process, const struct wt_profile *r)
{
	sqlite3_stmt *s = process->run->statement[WT_SQL_PROFILE];
	int code;

	if (r->launch_seq >= process->counters.launch_attempted || !r->start_ns ||
	    r->start_ns > INT64_MAX / 2 || r->end_ns < r->start_ns || r->end_ns > INT64_MAX / 2 ||
	    r->cost_ns > INT64_MAX || !is_count(r->active_sum) || !is_count(r->active_min) ||
	    !is_count(r->active_max) || !is_count(r->elapsed) || !is_count(r->warps) ||
	    !isfinite(r->tensor) || !isfinite(r->dram_bytes) || !r->sm_count) {
		process->tally.cells_bad++;
		return 0;
	}
	code = wt_db_bind(s, "iiniiiiirrrrr", process->process_id, (int64_t)r->launch_seq,
	                  device_id_of(process, r->device), (int64_t)r->start_ns,
	                  (int64_t)r->end_ns, (int64_t)r->cost_ns, (int64_t)r->passes,
	                  (int64_t)r->sm_count, r->active_sum, r->active_min, r->active_max,
	                  r->elapsed, r->warps);
	if (code == SQLITE_OK)
		code = bind_known(s, 14, r->tensor);
	if (code == SQLITE_OK)
		code = bind_known(s, 15, r->dram_bytes);
	if (code == SQLITE_OK) {
		sqlite3_step(s);
		code = sqlite3_reset(s);
	}
	if (wt_db_errno(code))
		return wt_store_check(process->run, code);
	process->run->is_measured = true;
	if (sqlite3_changes(process->run->db))
		process->tally.profiles_stored++;
	else
		process->tally.cells_bad++; /* that launch was there already */
	return 0;
}

uint32_t wt_profiled_least_length(const struct wt_cell *cell)
{
	return cell->kind == WT_KIND_PROFILE ? offsetof(struct wt_profile, reserved) : 0;
}

int wt_profiled_drain(struct wt_process *process, const struct wt_cell *cell)
{
	struct wt_profile launch;

	memcpy(&launch, cell->payload, sizeof(launch));
	return drain_launch(process, &launch);
}

/* ---- counters */

int wt_profiled_save_count(struct wt_process *process)
{
	const struct wt_counters *c = &process->counters;

	if (!c->profile_state && !c->profiled_launches && !process->tally.profiles_stored)
		return 0;
	return wt_store_run(process->run, WT_SQL_PROFILE_COUNT, "iiiiiii", process->process_id,
	                    (int64_t)c->profile_state, (int64_t)c->profile_detail,
	                    (int64_t)c->profiled_launches, process->tally.profiles_stored,
	                    (int64_t)c->profile_dropped, (int64_t)c->profile_cost_ns);
}

int wt_profiled_load_count(struct wt_process *process)
{
	sqlite3_stmt *query = NULL;
	int code = sqlite3_prepare_v2(process->run->db,
	                              "SELECT stored FROM profile_count WHERE process_id = ?1", -1,
	                              &query, NULL);

	if (code == SQLITE_OK)
		code = wt_db_bind(query, "i", process->process_id);
	if (code == SQLITE_OK && (code = sqlite3_step(query)) == SQLITE_ROW)
		process->tally.profiles_stored = sqlite3_column_int64(query, 0);
	sqlite3_finalize(query);
	return wt_store_check(process->run, code);
}
