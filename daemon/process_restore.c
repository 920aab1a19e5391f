/*
 * process_restore.c - what a restarted daemon reads back for linking: see process.c.
 * Main thread; may block on the disk, for a moment per million rows.
 */
#include "daemon/daemon.h"

#include <errno.h>

#define GRAPH_CALLS_BACK 100000 /* api_call rows searched for graph launches without a link */

static int prepare(struct wt_run *run, const char *sql, sqlite3_stmt **ret_query)
{
	return wt_store_check(run, sqlite3_prepare_v2(run->db, sql, -1, ret_query, NULL));
}

/* Grid, block and dynamic shared memory, from `column` on. */
static uint64_t read_geometry(sqlite3_stmt *query, int column)
{
	uint32_t values[7];

	for (int i = 0; i < 7; i++)
		values[i] = (uint32_t)sqlite3_column_int64(query, column + i);
	return wt_linker_geometry(values, values + 3, values[6]);
}

/* Links whose kernel had not come. */
static int restore_links(struct wt_process *process, int64_t now_ns)
{
	static const char sql[] =
	        "SELECT p.correlation_id, p.seq, p.is_graph, ifnull(l.flags, 0), "
	        "ifnull(l.grid_x, 0), ifnull(l.grid_y, 0), ifnull(l.grid_z, 0), "
	        "ifnull(l.block_x, 0), ifnull(l.block_y, 0), ifnull(l.block_z, 0), "
	        "ifnull(l.dynamic_smem_bytes, 0) "
	        "FROM pending_link p LEFT JOIN launch_row l ON NOT p.is_graph AND "
	        "l.process_id = p.process_id AND l.seq = p.seq WHERE p.process_id = ?1 "
	        "ORDER BY p.correlation_id, p.seq";
	sqlite3_stmt *query = NULL;
	int err = prepare(process->run, sql, &query);
	int code = err ? SQLITE_ERROR : wt_db_bind(query, "i", process->process_id);

	while (!err && code == SQLITE_OK && (code = sqlite3_step(query)) == SQLITE_ROW) {
		code = SQLITE_OK;
		err = wt_linker_restore_link(
		        process->linker, (uint32_t)sqlite3_column_int64(query, 0),
		        (uint64_t)sqlite3_column_int64(query, 1), sqlite3_column_int(query, 2) != 0,
		        read_geometry(query, 4), (uint32_t)sqlite3_column_int64(query, 3), now_ns);
	}
	sqlite3_finalize(query);
	return err ? err : wt_store_check(process->run, code);
}

/* The launches from low_seq on that have their kernel, as a map from seq. */
static int read_linked(struct wt_process *process, uint64_t low_seq, struct wt_map *linked)
{
	static const char sql[] = "SELECT launch_seq FROM kernel_row WHERE exec_id >= ?1 "
	                          "AND process_id = ?2 AND launch_seq >= ?3 AND graph_id IS NULL";
	int64_t low_exec = process->marks_count ? process->marks[0].exec_id : 0;
	sqlite3_stmt *query = NULL;
	int err = prepare(process->run, sql, &query);
	int code = err ? SQLITE_ERROR
	               : wt_db_bind(query, "iii", low_exec, process->process_id, (int64_t)low_seq);

	while (!err && code == SQLITE_OK && (code = sqlite3_step(query)) == SQLITE_ROW) {
		code = SQLITE_OK;
		err = wt_map_set(linked, (uint64_t)sqlite3_column_int64(query, 0), 1);
	}
	sqlite3_finalize(query);
	return err ? err : wt_store_check(process->run, code);
}

static int restore_launches(struct wt_process *process, int64_t now_ns)
{
	static const char sql[] =
	        "SELECT seq, entry_ns, return_ns, thread32, flags, result, grid_x, grid_y, grid_z, "
	        "block_x, block_y, block_z, dynamic_smem_bytes, tid FROM launch_row "
	        "WHERE process_id = ?1 AND seq >= ?2 ORDER BY seq";
	uint64_t low_seq = wt_linker_low_seq(process->linker);
	uint64_t armed_ns = process->counters.armed_ns;
	struct wt_map linked = {0};
	sqlite3_stmt *query = NULL;
	int err = read_linked(process, low_seq, &linked);
	int code = SQLITE_OK;

	if (!err)
		err = prepare(process->run, sql, &query);
	if (!err)
		code = wt_db_bind(query, "ii", process->process_id, (int64_t)low_seq);
	while (!err && code == SQLITE_OK && (code = sqlite3_step(query)) == SQLITE_ROW) {
		struct wt_linker_call call = {
		        .seq = (uint64_t)sqlite3_column_int64(query, 0),
		        .entry_ns = (uint64_t)sqlite3_column_int64(query, 1),
		        .return_ns = (uint64_t)sqlite3_column_int64(query, 2),
		        .thread32 = (uint32_t)sqlite3_column_int64(query, 3),
		        .flags = (uint32_t)sqlite3_column_int64(query, 4),
		        .result = sqlite3_column_int(query, 5),
		        .geometry = sqlite3_column_int64(query, 6) ? read_geometry(query, 6) : 0,
		        .tid = (uint32_t)sqlite3_column_int64(query, 13),
		};

		code = SQLITE_OK;
		call.is_before_arming =
		        (call.flags & WT_FLAG_UNARMED) && (!armed_ns || call.return_ns < armed_ns);
		if (call.seq >= process->seq_end)
			process->seq_end = call.seq + 1;
		err = wt_linker_restore_call(process->linker, &call,
		                             wt_map_get(&linked, call.seq) != WT_MAP_NONE, now_ns);
	}
	sqlite3_finalize(query);
	wt_map_fini(&linked);
	return err ? err : wt_store_check(process->run, code);
}

/* Recent graph launches, for links that come yet. */
static int restore_graph_launches(struct wt_process *process, int64_t now_ns)
{
	static const char sql[] =
	        "SELECT seq, entry_ns, return_ns, thread32, flags, result, tid FROM call_row "
	        "WHERE call_id >= ?1 AND process_id = ?2 "
	        "AND seq IS NOT NULL ORDER BY call_id";
	sqlite3_stmt *query = NULL;
	int err = prepare(process->run, sql, &query);
	int code = err ? SQLITE_ERROR
	               : wt_db_bind(query, "ii", process->run->next_call_id - GRAPH_CALLS_BACK,
	                            process->process_id);

	while (!err && code == SQLITE_OK && (code = sqlite3_step(query)) == SQLITE_ROW) {
		struct wt_linker_call call = {
		        .seq = (uint64_t)sqlite3_column_int64(query, 0),
		        .entry_ns = (uint64_t)sqlite3_column_int64(query, 1),
		        .return_ns = (uint64_t)sqlite3_column_int64(query, 2),
		        .thread32 = (uint32_t)sqlite3_column_int64(query, 3),
		        .flags = (uint32_t)sqlite3_column_int64(query, 4),
		        .result = sqlite3_column_int(query, 5),
		        .tid = (uint32_t)sqlite3_column_int64(query, 6),
		        .is_graph = true,
		};

		code = SQLITE_OK;
		err = wt_linker_restore_call(process->linker, &call, false, now_ns);
	}
	sqlite3_finalize(query);
	return err ? err : wt_store_check(process->run, code);
}

static int restore_kernels(struct wt_process *process, int64_t now_ns)
{
	static const char sql[] =
	        "SELECT e.exec_id, ifnull(e.start_ns, 0), e.correlation_id, "
	        "e.graph_node_id IS NOT NULL OR e.graph_id IS NOT NULL, c.grid_x, c.grid_y, "
	        "c.grid_z, c.block_x, c.block_y, c.block_z, c.dynamic_smem_bytes "
	        "FROM main.kernel_exec e JOIN config c USING (config_id) "
	        "WHERE e.process_id = ?1 AND e.link = 0";
	sqlite3_stmt *query = NULL;
	int err = prepare(process->run, sql, &query);
	int code = err ? SQLITE_ERROR : wt_db_bind(query, "i", process->process_id);

	while (!err && code == SQLITE_OK && (code = sqlite3_step(query)) == SQLITE_ROW) {
		struct wt_linker_kernel kernel = {
		        .exec_id = sqlite3_column_int64(query, 0),
		        .start_ns = (uint64_t)sqlite3_column_int64(query, 1),
		        .correlation_id = (uint32_t)sqlite3_column_int64(query, 2),
		        .is_graph_node = sqlite3_column_int(query, 3) != 0,
		        .geometry = read_geometry(query, 4),
		};

		code = SQLITE_OK;
		err = wt_linker_restore_kernel(process->linker, &kernel, now_ns);
	}
	sqlite3_finalize(query);
	return err ? err : wt_store_check(process->run, code);
}

int wt_process_restore_links(struct wt_process *process, int64_t now_ns)
{
	int err = restore_links(process, now_ns);

	if (!err)
		err = restore_launches(process, now_ns);
	if (!err)
		err = restore_graph_launches(process, now_ns);
	return err ? err : restore_kernels(process, now_ns);
}
