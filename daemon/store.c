/*
 * store.c - the statements of a run file. May block on the disk.
 */
#include "daemon/daemon.h"
#include "schema/wt_rows.h"

#include <errno.h>

/* A sum that is saturated stays: as wt_stat_adjust(). */
#define ADD(column, more)                                                                          \
	column "=iif(" column "=9223372036854775807," column "," column "+" more ")"

/* Two parts of a bucket. Where one of them does not know it, the bucket doesn't. */
#define MEAN(column)                                                                               \
	column "=(" column "*sampled_ns+excluded." column                                          \
	       "*excluded.sampled_ns)/(sampled_ns+excluded.sampled_ns)"
#define SUM(column) column "=" column "+excluded." column

/* The second part of a bucket is added to the first. */
/* clang-format off */
#define BUCKET_SQL                                                                                 \
	"INSERT INTO sm_bucket VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) "                        \
	"ON CONFLICT DO UPDATE SET "                                                               \
	MEAN("active_avg") "," MEAN("warps_per_sm") "," MEAN("tensor_share") ","                   \
	MEAN("sm_clock_mhz") ", active_min=min(active_min, excluded.active_min), "                 \
	"active_max=max(active_max, excluded.active_max), "                                        \
	SUM("dram_read_bytes") "," SUM("dram_write_bytes") "," SUM("samples") ","                  \
	SUM("sampled_ns") "," SUM("busy_ns") "," SUM("extremes_ns") ","                            \
	SUM("min_share_ns") "," SUM("max_share_ns")
/* clang-format on */

#define LAUNCH "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
#define EXEC "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
#define SHARE "(?,?,?,?,?,?,?,?)"
#define CALL "(?,?,?,?,?,?,?,?,?,?,?,?,?)"
#define FOUR(row) row "," row "," row "," row
#define SIXTEEN(row) FOUR(row) "," FOUR(row) "," FOUR(row) "," FOUR(row)
_Static_assert(WT_ROWS_AT_ONCE == 16, "as many");

static const char *const statement_sql[WT_SQL_MAX] = {
        [WT_SQL_BEGIN] = "BEGIN IMMEDIATE",
        [WT_SQL_COMMIT] = "COMMIT",
        [WT_SQL_ROLLBACK] = "ROLLBACK",
        [WT_SQL_PROC_NEW] =
                "INSERT INTO proc (uuid, pid, pid_namespace, ppid, start_ticks, uid, hostname, "
                "boot_id, executable, command, rank, local_rank, world_size, created_ns, "
                "library_version, state, capture, reason, reason_detail) "
                "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,'live',0,0,0)",
        [WT_SQL_PROC_UPDATE] =
                "UPDATE proc SET state=?2, armed_ns=?3, finished_ns=?4, first_ns=?5, last_ns=?6, "
                "capture=?7, reason=?8, reason_detail=?9, reason_text=?10, cupti_version=?11, "
                "cupti_path=?12, driver_version=?13, calls_pos=?14, activity_pos=?15, "
                "link_low_seq=?16, link_low_exec=?17, launches_attempted=?18, "
                "graph_launches_attempted=?19, launches_dropped=?20, calls_dropped=?21, "
                "kernels_seen=?22, kernels_dropped_ring=?23, links_dropped_ring=?24, "
                "other_dropped_ring=?25, kernels_dropped_cupti=?26, records_unknown=?27, "
                "names_dropped=?28, entries_unknown=?29, app_profiler_sessions=?30, "
                "app_records_forwarded=?31, flush_cpu_ns=?32, cupti_callback_ns=?33, "
                "cells_torn=?34, cells_bad=?35, cells_gap=?36, launches_stored=?37, "
                "launches_failed=?38, launches_captured=?39, launches_linked=?40, "
                "launches_linked_by_order=?41, launches_unobserved=?42, launches_unlinked=?43, "
                "graph_launches_stored=?44, graph_launches_failed=?45, kernels_stored=?46, "
                "kernels_graph=?47, kernels_device=?48, kernels_cupti_only=?49, "
                "kernels_no_time=?50 WHERE process_id=?1",
        [WT_SQL_LAUNCH] = "INSERT OR IGNORE INTO main.launch_call VALUES " LAUNCH,
        [WT_SQL_LAUNCHES] = "INSERT OR IGNORE INTO main.launch_call VALUES " SIXTEEN(LAUNCH),
        [WT_SQL_EXEC] = "INSERT INTO main.kernel_exec VALUES " EXEC,
        /* FAIL: no way back to before the statement is kept, for an error undoes the transaction. */
        [WT_SQL_EXECS] = "INSERT OR FAIL INTO main.kernel_exec VALUES " SIXTEEN(EXEC),
        [WT_SQL_EXEC_LINK] = "UPDATE main.kernel_exec SET launch_seq=?2, link=?3, "
                             "graph_id=iif(?4, ifnull(graph_id, 0), graph_id) WHERE exec_id=?1",
        [WT_SQL_CALL] = "INSERT INTO main.api_call VALUES " CALL,
        [WT_SQL_CALLS] = "INSERT OR FAIL INTO main.api_call VALUES " SIXTEEN(CALL),
        [WT_SQL_PACKED] = "INSERT INTO chunk (kind, process_id, device_id, first_id, last_id, "
                          "row_count, start_ns, end_ns, configs, data) "
                          "VALUES (?,?,?,?,?,?,?,?,?,?)",
        [WT_SQL_PACKED_END] = "SELECT last_id FROM chunk WHERE kind=? AND process_id=? AND "
                              "device_id IS ? ORDER BY first_id DESC LIMIT 1",
        [WT_SQL_PACKED_FIND] = "SELECT data FROM chunk WHERE kind=? AND process_id=? AND "
                               "device_id IS NULL AND first_id <= ? ORDER BY first_id DESC LIMIT 1",
        [WT_SQL_COPY] =
                "INSERT INTO copy (process_id, device_id, start_ns, end_ns, bytes, is_memset, "
                "copy_kind, src_kind, dst_kind, flags, context_id, stream_id, correlation_id, "
                "graph_id, graph_node_id) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        [WT_SQL_SYNC] = "INSERT INTO sync (process_id, type, start_ns, end_ns, context_id, "
                        "stream_id, event_id, correlation_id) VALUES (?,?,?,?,?,?,?,?)",
        [WT_SQL_OVERHEAD] = "INSERT INTO overhead (process_id, type, start_ns, end_ns, thread32) "
                            "VALUES (?,?,?,?,?)",
        [WT_SQL_CLOCK] = "INSERT INTO clock (process_id, realtime_ns, monotonic_ns, boot_ns, "
                         "cupti_ns, bracket_ns) VALUES (?,?,?,?,?,?)",
        [WT_SQL_CONTEXT] = "INSERT OR REPLACE INTO context (process_id, context_id, device_id, "
                           "parent_context_id, sm_count, is_green) VALUES (?,?,?,?,?,?)",
        [WT_SQL_GPU] =
                "INSERT INTO gpu (uuid, name, cc_major, cc_minor, sm_count, warp_size, "
                "max_threads_per_sm, max_blocks_per_sm, max_threads_per_block, regs_per_sm, "
                "regs_per_block, smem_per_sm_bytes, smem_per_block_bytes, "
                "smem_per_block_optin_bytes, smem_reserved_per_block_bytes, l2_bytes, clock_khz, "
                "mem_clock_khz, mem_bus_bits, mem_total_bytes, driver_version, pci) "
                "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        [WT_SQL_PROCESS_GPU] = "INSERT OR REPLACE INTO process_gpu VALUES (?,?,?)",
        [WT_SQL_KERNEL] = "INSERT INTO kernel (name) VALUES (?)",
        [WT_SQL_CONFIG] =
                "INSERT INTO config (kernel_id, device_id, grid_x, grid_y, grid_z, block_x, "
                "block_y, block_z, cluster_x, cluster_y, cluster_z, regs_per_thread, "
                "static_smem_bytes, dynamic_smem_bytes, cooperative, max_active_clusters, "
                "sm_count, blocks, blocks_per_sm, resident_blocks, occupancy, limiter, waves, "
                "waves_sm, full_waves, last_wave_blocks, model_reason) "
                "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        [WT_SQL_STAT] = "INSERT OR REPLACE INTO config_stat "
                        "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        [WT_SQL_STAT_ADJUST] =
                "UPDATE config_stat SET " ADD("underfill_sm_ns", "?4") "," ADD("wave_sm_ns", "?5") "," ADD("wave_max_sm_ns", "?6") "," ADD(
                        "unjudged_sm_ns",
                        "?7") "," ADD("comm_sm_ns",
                                      "?8") "," ADD("beside_ns",
                                                    "?9") "," ADD("beside_active_sm_ns",
                                                                  "?10") "," ADD("beside_underfill_"
                                                                                 "sm_ns",
                                                                                 "?11") "," ADD("be"
                                                                                                "si"
                                                                                                "de"
                                                                                                "_w"
                                                                                                "av"
                                                                                                "e_"
                                                                                                "sm"
                                                                                                "_n"
                                                                                                "s",
                                                                                                "?1"
                                                                                                "2") "," ADD("beside_wave_max_sm_ns",
                                                                                                             "?13") "," ADD("beside_unjudged_sm_ns",
                                                                                                                            "?14") " WHERE process_id=?1 AND config_id=?2 AND in_graph=?3",
        [WT_SQL_SHARE] = "INSERT OR IGNORE INTO main.kernel_share VALUES " SHARE,
        [WT_SQL_SHARES] = "INSERT OR IGNORE INTO main.kernel_share VALUES " SIXTEEN(SHARE),
        [WT_SQL_SWEEP] = "INSERT OR REPLACE INTO sweep VALUES (?,?,?,?,?,?)",
        [WT_SQL_LINK_SAVE] = "INSERT OR REPLACE INTO pending_link VALUES (?,?,?,?)",
        [WT_SQL_LINK_FORGET] = "DELETE FROM pending_link WHERE process_id=? AND correlation_id=? "
                               "AND seq=? AND is_graph=?",
        [WT_SQL_RANGE] = "INSERT INTO range_event (process_id, name_id, type, tid, end_tid, "
                         "start_ns, end_ns, depth) VALUES (?,?,?,?,?,?,?,?)",
        [WT_SQL_RANGE_NAME] = "INSERT INTO range_name (domain, name) VALUES (?,?)",
        [WT_SQL_RANGE_COUNT] = "INSERT OR REPLACE INTO range_count VALUES (?,?,?,?,?,?,?)",
        [WT_SQL_SAMPLER_NEW] = "INSERT INTO sampler (uuid, pid, state, interval_ns, samples_taken, "
                               "samples_stored, samples_dropped, overflows, cpu_ns, activity_pos) "
                               "VALUES (?1,?2,0,?3,0,0,0,0,0,0)",
        [WT_SQL_SAMPLER] =
                "UPDATE sampler SET device_id=?2, state=?3, reason=?4, first_ns=?5, last_ns=?6, "
                "samples_taken=?7, samples_stored=?8, samples_dropped=?9, overflows=?10, "
                "cpu_ns=?11, activity_pos=?12 WHERE sampler_id=?1",
        [WT_SQL_CHUNK] = "INSERT INTO sample_chunk (sampler_id, start_ns, end_ns, samples, data) "
                         "VALUES (?,?,?,?,?)",
        [WT_SQL_CHUNK_REMOVE] = "DELETE FROM sample_chunk WHERE chunk_id=?1",
        [WT_SQL_FOLD] = "INSERT INTO fold VALUES (?,?,?,?,?,?,?,?,?,?)",
        [WT_SQL_MEASURED] = "INSERT INTO measured VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,"
                            "?,?,?,?,?,?)",
        [WT_SQL_MEASURED_PROFILE] = "INSERT INTO measured_profile VALUES (?,?,?,?)",
        [WT_SQL_BUCKET] = BUCKET_SQL,
        [WT_SQL_GPU_STATE] = "INSERT OR REPLACE INTO gpu_state VALUES (?,?,?,?,?,?,?,?,?)",
        [WT_SQL_PROFILE] = "INSERT OR IGNORE INTO profile_launch "
                           "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        [WT_SQL_PROFILE_COUNT] = "INSERT OR REPLACE INTO profile_count VALUES (?,?,?,?,?,?,?)",
        [WT_SQL_OWN_COST] = "INSERT OR REPLACE INTO own_cost VALUES "
                            "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        [WT_SQL_HOOK_TIME] = "INSERT OR REPLACE INTO hook_time VALUES (?,?,?,?)",
        [WT_SQL_GRAPH_UNOBSERVED] = "INSERT OR REPLACE INTO graph_unobserved VALUES (?,?)",
        [WT_SQL_DROP_MARK] = "INSERT OR IGNORE INTO drop_mark VALUES (?,?,?,?)",
};

int wt_store_check(struct wt_run *run, int sqlite_code)
{
	int err = wt_db_errno(sqlite_code);

	if (err)
		snprintf(run->error, sizeof(run->error), "%s", sqlite3_errmsg(run->db));
	return err;
}

/* What else is in the file goes on; `wavetap check` tells the same. */
static void on_damage(void *arg, const struct wt_rows_damage *damage)
{
	struct wt_run *run = arg;
	char text[WT_ROWS_TEXT_BYTES];

	run->has_damage = true;
	wt_rows_describe(damage, text);
	wt_log_line("%s: %s", run->path, text);
}

int wt_store_open_rows(struct wt_run *run)
{
	int code = wt_rows_attach(run->db, on_damage, run);

	return wt_store_check(run, code == SQLITE_OK ? wt_rows_hide(run->db) : code);
}

int wt_store_prepare(struct wt_run *run)
{
	for (int i = 0; i < WT_SQL_MAX; i++) {
		int code = sqlite3_prepare_v3(run->db, statement_sql[i], -1,
		                              SQLITE_PREPARE_PERSISTENT, &run->statement[i], NULL);
		int err = wt_store_check(run, code);

		/* A table or column is missing: as useless as a page that is. */
		if (code == SQLITE_ERROR)
			return -EBADMSG;
		if (err)
			return err;
	}
	return 0;
}

void wt_store_finalize(struct wt_run *run)
{
	for (int i = 0; i < WT_SQL_MAX; i++) {
		sqlite3_finalize(run->statement[i]);
		run->statement[i] = NULL;
	}
	wt_batch_fini(run);
}
