/*
 * shares.c - what kernels had of their device where they overlap, with those of all processes of a
 * run. Main thread; may block on the disk.
 *
 * A kernel is stored as if it had the device to itself, and counted so in the rollups. Once nothing
 * that starts before its end can come any more it is settled: where its share differs, a row of
 * kernel_share says so, and the rollup of its process moves by the difference, in the transaction of
 * whatever batch comes to that. Where kernels don't overlap nothing is written.
 *
 * WATERMARK. Per process, what the library delivered last: its stamp of all clocks, once a second,
 * less SLACK_NS for what CUPTI had not finished. Not beyond the entry of a launch whose kernel is
 * missing: the linker gives up on it after a minute. The run goes by its slowest process; before all
 * is settled, at the end, the daemon looks for processes that it does not know yet. A kernel
 * that comes later still is counted as late: a node of a graph that ran for longer; or one of a process
 * that made its segment, some 10 ms after its first launch, when all others had just ended.
 *
 * RESTART. Table `sweep` says how far it was, and from which row on kernels matter.
 */
#include "daemon/daemon.h"

#include <errno.h>

#define SLACK_NS (2 * WT_SECOND)
#define HELD_MAX 262144u /* kernels of a device, 64 bytes each; then it goes on without waiting */

/* ---- what a settled kernel changes */

static struct wt_process *find_loaded(const struct wt_run *run, int64_t process_id)
{
	struct wt_process *process = run->loaded;

	while (process && process->process_id != process_id)
		process = process->next_loaded;
	return process;
}

/* The rollup of a process that is not here any more. */
static int adjust_row(struct wt_run *run, const struct wt_overlap_kernel *kernel,
                      const struct wt_idle *more, const struct wt_beside *beside)
{
	bool in_graph = kernel->is_tagged;
	int err = 0;

	/* Of a graph whose launch became known later, the row may be the other one: rederive.h. */
	for (int i = 0; i < 2 && !err; i++, in_graph = !in_graph) {
		err = wt_store_run(run, WT_SQL_STAT_ADJUST, "iiiiiiiiiiiiii", kernel->owner,
		                   run->configs[kernel->tag].config_id, (int64_t)in_graph,
		                   more->underfill_sm_ns, more->wave_sm_ns, more->wave_max_sm_ns,
		                   more->unjudged_sm_ns, more->comm_sm_ns, beside->time_ns,
		                   beside->active_sm_ns, beside->underfill_sm_ns,
		                   beside->wave_sm_ns, beside->wave_max_sm_ns,
		                   beside->unjudged_sm_ns);
		if (sqlite3_changes(run->db) > 0)
			break;
	}
	return err;
}

/* For a reader, which has no process and writes nothing. */
static int tell_share(void *arg, const struct wt_overlap_kernel *kernel,
                      const struct wt_sweep_share *share)
{
	const struct wt_device_sweep *sweep = arg;
	const struct wt_config *config = &sweep->run->configs[kernel->tag];
	struct wt_beside beside;
	struct wt_idle idle, more;

	if (!share)
		return -ERANGE;
	if (!wt_derive_share(&config->sweep, kernel, share, &idle, &more, &beside))
		return 0;
	return sweep->run->tell_share(sweep->run->tell_share_arg, config->config_id, &more,
	                              &beside);
}

static int on_share(void *arg, const struct wt_overlap_kernel *kernel,
                    const struct wt_sweep_share *share)
{
	struct wt_device_sweep *sweep = arg;
	struct wt_run *run = sweep->run;
	struct wt_beside beside;
	struct wt_idle idle, more;
	struct wt_process *process;
	int err;

	if (!share) {
		sweep->kernels_refused++;
		return 0;
	}
	if (!wt_derive_share(&run->configs[kernel->tag].sweep, kernel, share, &idle, &more,
	                     &beside))
		return 0;
	err = wt_batch_add(run, WT_BATCH_SHARE,
	                   (const int64_t[]){kernel->id, idle.underfill_sm_ns, idle.wave_sm_ns,
	                                     idle.wave_max_sm_ns, idle.unjudged_sm_ns,
	                                     idle.comm_sm_ns, share->alone_ns, share->active_sm_ns,
	                                     kernel->owner, sweep->device_id});
	if (err)
		return err;
	process = find_loaded(run, kernel->owner);
	if (process && process->is_stat_loaded)
		return wt_process_stat_adjust(process, kernel->tag, kernel->is_tagged, &more,
		                              &beside);
	return adjust_row(run, kernel, &more, &beside);
}

/* ---- devices */

static int get_sweep(struct wt_run *run, int64_t device_id, struct wt_device_sweep **ret_sweep)
{
	struct wt_device_sweep *sweep = run->sweeps;
	int64_t sms = wt_configs_device_of(run, device_id)->sm_count;
	int err;

	while (sweep && sweep->device_id != device_id)
		sweep = sweep->next;
	if (!sweep) {
		sweep = calloc(1, sizeof(*sweep));
		if (!sweep)
			return -ENOMEM;
		err = wt_overlap_create((uint32_t)sms, run->tell_share ? tell_share : on_share,
		                        sweep, &sweep->overlap);
		if (err) {
			free(sweep);
			return err;
		}
		sweep->run = run;
		sweep->device_id = device_id;
		sweep->next = run->sweeps;
		run->sweeps = sweep;
	}
	*ret_sweep = sweep;
	return 0;
}

void wt_shares_fini(struct wt_run *run)
{
	while (run->sweeps) {
		struct wt_device_sweep *sweep = run->sweeps;

		run->sweeps = sweep->next;
		wt_overlap_destroy(sweep->overlap);
		free(sweep);
	}
}

static struct wt_overlap_kernel kernel_of(const struct wt_config *config, uint32_t config_idx,
                                          int64_t start_ns, int64_t end_ns)
{
	return (struct wt_overlap_kernel){.start_ns = start_ns,
	                                  .end_ns = end_ns,
	                                  .tag = config_idx,
	                                  .sms = (uint16_t)config->sweep.sms,
	                                  .blocks = config->sweep.blocks,
	                                  .blocks_per_sm = config->sweep.blocks_per_sm,
	                                  .is_collective = config->sweep.is_collective};
}

int wt_shares_add(struct wt_process *process, uint32_t config_idx, bool in_graph, int64_t exec_id,
                  int64_t start_ns, int64_t end_ns, const struct wt_wave_result *wave)
{
	struct wt_run *run = process->run;
	const struct wt_config *config = &run->configs[config_idx];
	struct wt_overlap_kernel kernel = kernel_of(config, config_idx, start_ns, end_ns);
	struct wt_device_sweep *sweep;
	int err;

	if (end_ns <= start_ns || !config->sweep.sms)
		return 0; /* no time, or a device of which nothing is known */
	kernel.id = exec_id;
	kernel.owner = process->process_id;
	kernel.is_tagged = in_graph;
	kernel.is_judged = wave->is_judged;
	if (wave->is_judged) {
		kernel.wave_sm_ns = wave->wave_sm_ns;
		kernel.wave_max_sm_ns = wave->wave_max_sm_ns;
	}
	err = get_sweep(run, config->key.device_id, &sweep);
	if (!err)
		err = wt_overlap_add(sweep->overlap, &kernel);
	if (err != -ERANGE)
		return err;
	sweep->kernels_late++;
	return 0;
}

/* ---- settling */

/* Up to when all kernels of a process have come; INT64_MAX: all of them. */
static int64_t complete_ns(const struct wt_process *process)
{
	uint64_t capture = process->counters.capture, open_ns;
	int64_t until_ns = (int64_t)process->counters.armed_ns;

	if (process->is_done || process->is_complete || process->is_lost || !process->linker)
		return INT64_MAX;
	if (capture == WT_CAPTURE_NONE) /* not armed yet */
		return (int64_t)process->mapped.header.created_realtime_ns;
	/* Never, or no longer: what is in the ring comes yet. */
	if (capture != WT_CAPTURE_FULL && capture != WT_CAPTURE_KERNELS_ONLY &&
	    (!until_ns || process->cursor[WT_RING_ACTIVITY] == process->tails[WT_RING_ACTIVITY]))
		return INT64_MAX;
	if (process->clock_ns - SLACK_NS > until_ns)
		until_ns = process->clock_ns - SLACK_NS;
	open_ns = wt_linker_open_entry_ns(process->linker);
	return open_ns && (int64_t)open_ns < until_ns ? (int64_t)open_ns : until_ns;
}

static bool is_complete(const struct wt_run *run)
{
	for (const struct wt_process *at = run->loaded; at; at = at->next_loaded)
		if (complete_ns(at) != INT64_MAX)
			return false;
	return true;
}

static int64_t watermark_ns(const struct wt_run *run)
{
	int64_t until_ns = INT64_MAX;
	int loaded = 0;

	/* One that began before these ended may not be attached yet. */
	if (run->daemon && run->daemon->find_processes && is_complete(run))
		run->daemon->find_processes(run->daemon);

	for (const struct wt_process *at = run->loaded; at; at = at->next_loaded) {
		int64_t at_ns = complete_ns(at);

		loaded++;
		if (at_ns < until_ns)
			until_ns = at_ns;
	}
	return loaded < run->process_count ? INT64_MIN : until_ns;
}

static int save(struct wt_run *run, struct wt_device_sweep *sweep)
{
	int64_t settled_ns = wt_overlap_settled_ns(sweep->overlap);

	return wt_store_run(run, WT_SQL_SWEEP, "iniiii", sweep->device_id,
	                    settled_ns == INT64_MIN ? WT_DB_NULL : settled_ns,
	                    wt_overlap_low_id(sweep->overlap),
	                    (int64_t)wt_overlap_waiting(sweep->overlap), sweep->kernels_late,
	                    sweep->kernels_refused);
}

int wt_shares_settle(struct wt_run *run)
{
	int64_t until_ns = watermark_ns(run);
	int err = 0;

	run->watermark_ns = until_ns;
	for (struct wt_device_sweep *sweep = run->sweeps; sweep && !err; sweep = sweep->next) {
		int64_t forced_ns = INT64_MIN;

		if (wt_overlap_held(sweep->overlap) > HELD_MAX)
			forced_ns = wt_overlap_until_held(sweep->overlap, HELD_MAX / 2);
		err = wt_overlap_settle(sweep->overlap,
		                        forced_ns > until_ns ? forced_ns : until_ns);
		if (!err)
			err = wt_overlap_mark(sweep->overlap, run->next_exec_id);
		if (!err)
			err = save(run, sweep);
	}
	if (!err)
		err = wt_batch_write(run, WT_BATCH_SHARE);
	for (struct wt_process *at = run->loaded; at && !err; at = at->next_loaded)
		err = wt_process_stat_flush(at);
	return err;
}

/* ---- restart */

/* Kernels from low_exec on: those that are not settled, and those that ran beside them. */
static int restore_kernels(struct wt_run *run, struct wt_device_sweep *sweep, int64_t settled_ns,
                           int64_t low_exec)
{
	static const char sql[] =
	        "SELECT e.exec_id, e.process_id, e.config_id, e.graph_id IS NOT NULL, e.start_ns, "
	        "e.end_ns, e.wave_sm_ns, e.wave_max_sm_ns FROM kernel_row e JOIN config c "
	        "USING (config_id) WHERE e.exec_id >= ?1 AND c.device_id = ?2 "
	        "AND e.end_ns > e.start_ns ORDER BY e.exec_id";
	struct wt_map config_of = {0};
	sqlite3_stmt *query = NULL;
	int code = sqlite3_prepare_v2(run->db, sql, -1, &query, NULL);
	int err = 0;

	for (size_t i = 0; i < run->configs_count && !err; i++)
		err = wt_map_set(&config_of, (uint64_t)run->configs[i].config_id, (uint32_t)i);
	if (code == SQLITE_OK)
		code = wt_db_bind(query, "ii", low_exec, sweep->device_id);
	while (code == SQLITE_OK && !err && (code = sqlite3_step(query)) == SQLITE_ROW) {
		uint32_t idx = wt_map_get(&config_of, (uint64_t)sqlite3_column_int64(query, 2));
		struct wt_overlap_kernel kernel;

		code = SQLITE_OK;
		if (idx == WT_MAP_NONE || !run->configs[idx].sweep.sms)
			continue;
		kernel = kernel_of(&run->configs[idx], idx, sqlite3_column_int64(query, 4),
		                   sqlite3_column_int64(query, 5));
		kernel.id = sqlite3_column_int64(query, 0);
		kernel.owner = sqlite3_column_int64(query, 1);
		kernel.is_tagged = sqlite3_column_int(query, 3) != 0;
		kernel.is_judged = sqlite3_column_type(query, 6) != SQLITE_NULL;
		kernel.wave_sm_ns = sqlite3_column_int64(query, 6);
		kernel.wave_max_sm_ns = sqlite3_column_int64(query, 7);
		err = wt_overlap_restore(sweep->overlap, &kernel, settled_ns);
	}
	sqlite3_finalize(query);
	wt_map_fini(&config_of);
	if (!err)
		err = wt_store_check(run, code);
	return err ? err : wt_overlap_restore_end(sweep->overlap, settled_ns, low_exec);
}

int wt_shares_load(struct wt_run *run)
{
	sqlite3_stmt *query = NULL;
	int code = sqlite3_prepare_v2(run->db,
	                              "SELECT device_id, settled_ns, low_exec, kernels_late, "
	                              "kernels_refused FROM sweep",
	                              -1, &query, NULL);
	int err = 0;

	while (code == SQLITE_OK && !err && (code = sqlite3_step(query)) == SQLITE_ROW) {
		struct wt_device_sweep *sweep;

		code = SQLITE_OK;
		err = get_sweep(run, sqlite3_column_int64(query, 0), &sweep);
		if (err == -EINVAL) { /* a damaged file: it has no such device */
			err = 0;
			continue;
		}
		if (err)
			break;
		sweep->kernels_late = sqlite3_column_int64(query, 3);
		sweep->kernels_refused = sqlite3_column_int64(query, 4);
		err = restore_kernels(run, sweep,
		                      sqlite3_column_type(query, 1) == SQLITE_NULL
		                              ? INT64_MIN
		                              : sqlite3_column_int64(query, 1),
		                      sqlite3_column_int64(query, 2));
	}
	sqlite3_finalize(query);
	return err ? err : wt_store_check(run, code);
}

int wt_shares_rest(sqlite3 *db, wt_shares_tell *tell, void *arg)
{
	struct wt_run *run = calloc(1, sizeof(*run));
	int err;

	if (!run)
		return -ENOMEM;
	run->db = db;
	run->tell_share = tell;
	run->tell_share_arg = arg;
	err = wt_configs_load(run);
	if (!err)
		err = wt_shares_load(run);
	for (struct wt_device_sweep *sweep = run->sweeps; sweep && !err; sweep = sweep->next)
		err = wt_overlap_settle(sweep->overlap, INT64_MAX);
	wt_shares_fini(run);
	wt_configs_fini(run);
	free(run);
	return err;
}
