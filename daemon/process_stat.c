/*
 * process_stat.c - rollups of one process: per configuration, and whether inside a graph.
 * Kept in memory, rows that changed are written with each batch. Main thread.
 */
#include "daemon/daemon.h"

#include <errno.h>

static int find_stat(struct wt_process *process, uint32_t config_idx, bool in_graph,
                     uint32_t *ret_at)
{
	uint64_t key = 2 * (uint64_t)config_idx + in_graph;
	uint32_t at = wt_map_get(&process->stat_of, key);

	if (at != WT_MAP_NONE) {
		*ret_at = at;
		return 0;
	}
	if (process->stats_count == process->stats_room) {
		size_t room = process->stats_room ? 2 * process->stats_room : 64;
		struct wt_stat *more = realloc(process->stats, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		process->stats = more;
		process->stats_room = room;
	}
	*ret_at = (uint32_t)process->stats_count++;
	wt_stat_init(&process->stats[*ret_at], process->run->configs[config_idx].config_id,
	             in_graph);
	return wt_map_set(&process->stat_of, key, *ret_at);
}

static int mark_dirty(struct wt_process *process, uint32_t at)
{
	if (process->stats[at].is_dirty)
		return 0;
	if (process->dirty_count == process->dirty_room) {
		size_t room = process->dirty_room ? 2 * process->dirty_room : 64;
		uint32_t *more = realloc(process->dirty, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		process->dirty = more;
		process->dirty_room = room;
	}
	process->stats[at].is_dirty = 1;
	process->dirty[process->dirty_count++] = at;
	return 0;
}

int wt_process_stat_add(struct wt_process *process, uint32_t config_idx, bool in_graph,
                        int64_t start_ns, int64_t end_ns, const struct wt_wave_result *wave)
{
	uint32_t at;
	int err = find_stat(process, config_idx, in_graph, &at);

	if (err)
		return err;
	wt_stat_add(&process->stats[at], start_ns, end_ns, wave);
	return mark_dirty(process, at);
}

int wt_process_stat_adjust(struct wt_process *process, uint32_t config_idx, bool in_graph,
                           const struct wt_idle *more, const struct wt_beside *beside)
{
	uint64_t key = 2 * (uint64_t)config_idx + in_graph;
	uint32_t at = wt_map_get(&process->stat_of, key);

	/* Of a graph whose launch became known later it may be the other one: rederive.h. */
	if (at == WT_MAP_NONE)
		at = wt_map_get(&process->stat_of, key ^ 1);
	if (at == WT_MAP_NONE)
		return 0; /* a damaged file */
	wt_stat_adjust(&process->stats[at], more, beside);
	return mark_dirty(process, at);
}

int wt_process_stat_flush(struct wt_process *process)
{
	int err = 0;

	for (size_t i = 0; i < process->dirty_count && !err; i++) {
		struct wt_stat *s = &process->stats[process->dirty[i]];

		err = wt_store_run(
		        process->run, WT_SQL_STAT, "iiiiiiiriiiiiiiiiiiii", process->process_id,
		        s->config_id, (int64_t)s->in_graph, s->launches, s->time_ns, s->min_ns,
		        s->max_ns, s->m2_ns2, s->underfill_sm_ns, s->wave_sm_ns, s->wave_max_sm_ns,
		        s->unjudged_sm_ns, s->first_ns, s->last_ns, s->comm_sm_ns,
		        s->beside.time_ns, s->beside.active_sm_ns, s->beside.underfill_sm_ns,
		        s->beside.wave_sm_ns, s->beside.wave_max_sm_ns, s->beside.unjudged_sm_ns);
		s->is_dirty = 0;
	}
	process->dirty_count = 0;
	return err;
}

int wt_process_stat_load(struct wt_process *process)
{
	static const char sql[] =
	        "SELECT config_id, in_graph, launches, time_ns, min_ns, max_ns, m2_ns2, "
	        "underfill_sm_ns, wave_sm_ns, wave_max_sm_ns, unjudged_sm_ns, first_ns, last_ns, "
	        "comm_sm_ns, beside_ns, beside_active_sm_ns, beside_underfill_sm_ns, "
	        "beside_wave_sm_ns, beside_wave_max_sm_ns, beside_unjudged_sm_ns FROM config_stat "
	        "WHERE process_id = ?1";
	struct wt_run *run = process->run;
	struct wt_map config_of = {0};
	sqlite3_stmt *query = NULL;
	int code = sqlite3_prepare_v2(run->db, sql, -1, &query, NULL);
	int err = 0;

	for (size_t i = 0; i < run->configs_count && !err; i++)
		err = wt_map_set(&config_of, (uint64_t)run->configs[i].config_id, (uint32_t)i);
	if (code == SQLITE_OK)
		code = wt_db_bind(query, "i", process->process_id);
	while (code == SQLITE_OK && !err && (code = sqlite3_step(query)) == SQLITE_ROW) {
		uint32_t at, idx;
		struct wt_stat *s;

		code = SQLITE_OK;
		idx = wt_map_get(&config_of, (uint64_t)sqlite3_column_int64(query, 0));
		if (idx == WT_MAP_NONE)
			continue;
		err = find_stat(process, idx, sqlite3_column_int(query, 1) != 0, &at);
		if (err)
			break;
		s = &process->stats[at];
		s->launches = sqlite3_column_int64(query, 2);
		s->time_ns = sqlite3_column_int64(query, 3);
		s->min_ns = sqlite3_column_int64(query, 4);
		s->max_ns = sqlite3_column_int64(query, 5);
		s->m2_ns2 = sqlite3_column_double(query, 6);
		s->mean_ns = s->launches ? (double)s->time_ns / (double)s->launches : 0;
		s->underfill_sm_ns = sqlite3_column_int64(query, 7);
		s->wave_sm_ns = sqlite3_column_int64(query, 8);
		s->wave_max_sm_ns = sqlite3_column_int64(query, 9);
		s->unjudged_sm_ns = sqlite3_column_int64(query, 10);
		s->first_ns = sqlite3_column_int64(query, 11);
		s->last_ns = sqlite3_column_int64(query, 12);
		s->comm_sm_ns = sqlite3_column_int64(query, 13);
		s->beside = (struct wt_beside){
		        .time_ns = sqlite3_column_int64(query, 14),
		        .active_sm_ns = sqlite3_column_int64(query, 15),
		        .underfill_sm_ns = sqlite3_column_int64(query, 16),
		        .wave_sm_ns = sqlite3_column_int64(query, 17),
		        .wave_max_sm_ns = sqlite3_column_int64(query, 18),
		        .unjudged_sm_ns = sqlite3_column_int64(query, 19),
		};
	}
	sqlite3_finalize(query);
	wt_map_fini(&config_of);
	return err ? err : wt_store_check(run, code);
}
