/*
 * compare_facts.c - what of a run tells whether it can be compared: see compare_run.h.
 * Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare_run.h"
#include "cli/gpu_state.h"
#include "cli/ledger_lines.h"
#include "cli/report_sql.h"
#include "schema/wt_db.h"
#include "schema/wt_recording.h"

/* ---- devices */

static void read_devices(const struct wt_ledger *ledger, struct wt_compare_facts *facts)
{
	bool is_one_kind = true;

	for (size_t i = 0; i < ledger->device_count; i++) {
		facts->devices++;
		facts->sms += ledger->devices[i].sms;
		is_one_kind &= !strcmp(ledger->devices[i].name, ledger->devices[0].name) &&
		               ledger->devices[i].sms == ledger->devices[0].sms;
	}
	if (is_one_kind && ledger->device_count) {
		snprintf(facts->gpu, sizeof(facts->gpu), "%zux %.90s", ledger->device_count,
		         ledger->devices[0].name);
		return;
	}
	for (size_t i = 0, used = 0; i < ledger->device_count && used < sizeof(facts->gpu); i++)
		used += (size_t)snprintf(facts->gpu + used, sizeof(facts->gpu) - used, "%s%.60s",
		                         i ? ", " : "", ledger->devices[i].name);
}

static void read_evidence(const struct wt_ledger *ledger, struct wt_compare_facts *facts)
{
	double whole = 0, measured = 0;

	for (size_t i = 0; i < ledger->device_count; i++) {
		int64_t parts[WT_EVIDENCE_MAX];

		whole += (double)wt_ledger_measured(&ledger->devices[i], parts);
		measured +=
		        (double)parts[WT_EVIDENCE_SAMPLED] + (double)parts[WT_EVIDENCE_PROFILED];
	}
	facts->measured_share = whole > 0 ? measured / whole : 0;
}

/* Mean over what was sampled, of all devices; else what NVML said, if that was one clock. */
static int read_clock(sqlite3 *db, const struct wt_ledger *ledger, struct wt_compare_facts *facts)
{
	static const char sql[] = "SELECT total(sm_clock_mhz * sampled_ns), total(sampled_ns) FROM"
	                          " sm_bucket WHERE sm_clock_mhz IS NOT NULL AND start_ns < ?2"
	                          " AND end_ns > ?1";
	uint64_t reasons = 0;
	sqlite3_stmt *s;
	int rc = 0;

	if (wt_db_has_table(db, "sm_bucket")) {
		rc = wt_report_prepare(db, sql, &s);
		if (rc)
			return rc;
		sqlite3_bind_int64(s, 1, ledger->start_ns);
		sqlite3_bind_int64(s, 2, ledger->end_ns);
		rc = wt_report_step(s);
		if (rc > 0 && sqlite3_column_double(s, 1) > 0)
			facts->clock_mhz =
			        sqlite3_column_double(s, 0) / sqlite3_column_double(s, 1);
		sqlite3_finalize(s);
		if (rc < 0)
			return rc;
	}
	for (size_t i = 0; i < ledger->device_count; i++) {
		struct wt_gpu_states states;

		rc = wt_gpu_states_load(db, ledger->devices[i].device_id, ledger->start_ns,
		                        ledger->end_ns, &states);
		if (rc)
			return rc;
		if (states.throttled)
			reasons |= states.reasons & WT_THROTTLE_MASK;
		if (facts->clock_mhz <= 0 && states.clock_max_mhz > 0 &&
		    states.clock_min_mhz == states.clock_max_mhz)
			facts->clock_mhz = (double)states.clock_max_mhz;
	}
	wt_throttle_text(facts->throttle, reasons);
	return 0;
}

/* ---- processes */

static int read_processes(sqlite3 *db, struct wt_compare_facts *facts)
{
	sqlite3_stmt *s;
	size_t used = 0;
	int rc = wt_report_prepare(db,
	                           "SELECT rank, world_size, state, driver_version, cupti_version"
	                           " FROM main.proc WHERE launches_stored + graph_launches_stored"
	                           " + kernels_stored > 0 ORDER BY rank, process_id",
	                           &s);

	if (rc)
		return rc;
	facts->first_ns = wt_db_int(db, "SELECT min(first_ns) FROM main.config_stat", 0);
	while ((rc = wt_report_step(s)) > 0) {
		const char *state = (const char *)sqlite3_column_text(s, 2);

		facts->processes++;
		facts->processes_live += state && !strcmp(state, "live");
		facts->processes_cut +=
		        state && (!strcmp(state, "killed") || !strcmp(state, "lost"));
		if (sqlite3_column_int64(s, 1) > facts->world_size)
			facts->world_size = sqlite3_column_int64(s, 1);
		if (sqlite3_column_int64(s, 3) > facts->driver)
			facts->driver = sqlite3_column_int64(s, 3);
		if (sqlite3_column_int64(s, 4) > facts->cupti)
			facts->cupti = sqlite3_column_int64(s, 4);
		if (sqlite3_column_type(s, 0) == SQLITE_NULL)
			continue;
		facts->rank_count++;
		if (used < sizeof(facts->ranks))
			used += (size_t)snprintf(facts->ranks + used, sizeof(facts->ranks) - used,
			                         "%s%" PRId64, used ? "," : "",
			                         (int64_t)sqlite3_column_int64(s, 0));
	}
	sqlite3_finalize(s);
	return rc;
}

static void read_losses(const struct wt_report *losses, struct wt_compare_facts *facts)
{
	size_t used = 0;

	facts->kernels = losses->loss.kernels;
	facts->kernels_lost = wt_report_kernels_lost(&losses->loss);
	facts->kernels_unobserved = losses->loss.graph_launches_unobserved;
	for (size_t i = 0; i < losses->capture_count && used < sizeof(facts->incomplete); i++) {
		const struct wt_report_capture *capture = &losses->captures[i];

		if (!capture->capture ||
		    (!strcmp(capture->capture, "full") &&
		     !(capture->reason && strstr(capture->reason, WT_RECORDING_NOT_WHOLE))))
			continue;
		used += (size_t)snprintf(facts->incomplete + used, sizeof(facts->incomplete) - used,
		                         "%s%s%s%.100s", used ? "; " : "", capture->capture,
		                         capture->reason ? ": " : "",
		                         capture->reason ? capture->reason : "");
	}
}

/* ---- what the host did in the time of the steps that are used: odd ones lie between them */

/* `sql` between the start of the first and the end of the last one. 0 or -errno. */
static int prepare_between(sqlite3 *db, const char *sql, const struct wt_compare_run *run,
                           sqlite3_stmt **ret_statement)
{
	int rc = wt_report_prepare(db, sql, ret_statement);

	if (rc)
		return rc;
	sqlite3_bind_int64(*ret_statement, 1, run->start_ns[0]);
	sqlite3_bind_int64(*ret_statement, 2, run->end_ns[run->step_count - 1]);
	return 0;
}

static void take_call(struct wt_compare_facts *facts, int64_t api)
{
	if (api < 0 || api >= WT_API_MAX)
		return;
	if (wt_api_class_of((unsigned)api) == WT_API_CLASS_SYNC) {
		facts->sync_of[api]++;
		facts->syncs++;
	} else if (wt_api_class_of((unsigned)api) == WT_API_CLASS_GRAPH) {
		facts->graph_launches++;
	}
}

static int count_calls(sqlite3 *db, struct wt_compare_run *run)
{
	static const char calls[] = "SELECT entry_ns, api FROM call_row WHERE entry_ns >= ?1 AND"
	                            " entry_ns < ?2";
	static const char copies[] = "SELECT start_ns FROM copy WHERE start_ns >= ?1 AND"
	                             " start_ns < ?2";
	sqlite3_stmt *s;
	int rc = prepare_between(db, calls, run, &s);

	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0)
		if (wt_compare_block_of(run, sqlite3_column_int64(s, 0)) != SIZE_MAX)
			take_call(&run->facts, sqlite3_column_int64(s, 1));
	sqlite3_finalize(s);
	if (!rc)
		rc = prepare_between(db, copies, run, &s);
	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0)
		run->facts.copies +=
		        wt_compare_block_of(run, sqlite3_column_int64(s, 0)) != SIZE_MAX;
	sqlite3_finalize(s);
	return rc;
}

int wt_compare_load_facts(sqlite3 *db, const struct wt_ledger *ledger,
                          const struct wt_report *losses, struct wt_compare_run *run)
{
	struct wt_compare_facts *facts = &run->facts;
	int rc;

	read_devices(ledger, facts);
	read_evidence(ledger, facts);
	read_losses(losses, facts);
	rc = read_clock(db, ledger, facts);
	if (!rc)
		rc = read_processes(db, facts);
	if (!rc && run->step_count)
		rc = count_calls(db, run);
	return rc;
}

/* ---- configurations */

static int64_t or_none(sqlite3_stmt *s, int column)
{
	return sqlite3_column_type(s, column) == SQLITE_NULL ? -1 : sqlite3_column_int64(s, column);
}

static void read_config(sqlite3_stmt *s, struct wt_compare_config *config)
{
	const char *limiter = (const char *)sqlite3_column_text(s, 15);

	config->device_id = sqlite3_column_int64(s, 0);
	for (int i = 0; i < 3; i++) {
		config->grid[i] = sqlite3_column_int64(s, 1 + i);
		config->block[i] = sqlite3_column_int64(s, 4 + i);
	}
	config->threads = (int64_t)((double)config->block[0] * (double)config->block[1] *
	                            (double)config->block[2]);
	config->regs = sqlite3_column_int64(s, 7);
	config->smem_bytes = sqlite3_column_int64(s, 8) + sqlite3_column_int64(s, 9);
	config->sms = sqlite3_column_int64(s, 10);
	config->blocks = sqlite3_column_int64(s, 11);
	config->blocks_per_sm = or_none(s, 12);
	config->resident_blocks = or_none(s, 13);
	if (sqlite3_column_type(s, 14) != SQLITE_NULL)
		config->occupancy = sqlite3_column_double(s, 14);
	if (sqlite3_column_type(s, 16) != SQLITE_NULL)
		config->waves = sqlite3_column_double(s, 16);
	snprintf(config->limiter, sizeof(config->limiter), "%s", limiter ? limiter : "");
	config->cluster = sqlite3_column_int64(s, 17);
}

int wt_compare_load_configs(sqlite3 *db, struct wt_compare_run *run)
{
	static const char sql[] =
	        "SELECT device_id, grid_x, grid_y, grid_z, block_x, block_y, block_z,"
	        " regs_per_thread, static_smem_bytes, dynamic_smem_bytes, sm_count, blocks,"
	        " blocks_per_sm, resident_blocks, occupancy, limiter, waves,"
	        " cluster_x * cluster_y * cluster_z FROM main.config WHERE config_id = ?1";
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, sql, &s);

	for (size_t i = 0; !rc && i < run->config_count; i++) {
		struct wt_compare_config *config = &run->configs[i];
		struct wt_compare_kernel *kernel = &run->kernels[config->kernel];

		sqlite3_reset(s);
		sqlite3_bind_int64(s, 1, config->config_id);
		rc = wt_report_step(s);
		if (rc > 0)
			read_config(s, config);
		rc = rc < 0 ? rc : 0;
		if (kernel->most == SIZE_MAX ||
		    config->time_ns > run->configs[kernel->most].time_ns)
			kernel->most = i;
	}
	sqlite3_finalize(s);
	return rc;
}
