/*
 * rederive.c - see rederive.h. Single-threaded; blocks on the file. Memory grows with the
 * number of configurations, not of kernels.
 *
 * Kernels are taken in the order of their ids, which is the order in which the daemon saw
 * them: sums of doubles come out bit for bit. A row is written only where it differs.
 */
#include "config.h"
#include "daemon/rederive_impl.h"
#include "analysis/rollup.h"
#include "daemon/folds.h"
#include "daemon/ledger_sums.h"
#include "schema/wt_rows.h"

#include <errno.h>

#define BATCH 4096

struct rederive {
	struct wt_run run; /* its configurations and devices */
	struct wt_map config_of; /* config id -> index in run.configs */
	struct wt_rollups rollups;
	sqlite3_stmt *read, *write_exec, *write_share;
	int64_t refused; /* kernels of the device in work */
	bool is_packed; /* some that changed are in chunks */
	struct wt_rederived result;
};

/* The columns of kernel_exec that matter here. */
struct exec {
	int64_t exec_id, process_id, config_id, start_ns, end_ns;
	int64_t underfill_sm_ns, wave_sm_ns, wave_max_sm_ns; /* as stored; WT_DB_NULL */
	bool is_timed, in_graph;
};

static int check(struct rederive *r, int code)
{
	return wt_store_check(&r->run, code);
}

static int prepare(struct rederive *r, const char *sql, sqlite3_stmt **ret_statement)
{
	return check(r, sqlite3_prepare_v2(r->run.db, sql, -1, ret_statement, NULL));
}

/* ---- configurations */

static int rederive_configs(struct rederive *r)
{
	static const char sql[] =
	        "UPDATE config SET blocks=?2, blocks_per_sm=?3, resident_blocks=?4, occupancy=?5, "
	        "limiter=?6, waves=?7, waves_sm=?8, full_waves=?9, last_wave_blocks=?10, "
	        "model_reason=?11 WHERE config_id=?1 AND (blocks, blocks_per_sm, resident_blocks, "
	        "occupancy, limiter, waves, waves_sm, full_waves, last_wave_blocks, model_reason) "
	        "IS NOT (?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
	sqlite3_stmt *update = NULL;
	int err = prepare(r, sql, &update);

	for (size_t i = 0; i < r->run.configs_count && !err; i++) {
		const struct wt_config *config = &r->run.configs[i];
		struct wt_config_values values;
		struct wt_wave_launch launch;
		int code;

		wt_derive_config(wt_configs_device_of(&r->run, config->key.device_id), &config->key,
		                 &launch, &values);
		code = sqlite3_bind_int64(update, 1, config->config_id);
		if (code == SQLITE_OK)
			code = wt_configs_bind(update, 2, &values);
		if (code == SQLITE_OK) {
			sqlite3_step(update);
			code = sqlite3_reset(update);
		}
		err = check(r, code);
		if (!err)
			err = wt_map_set(&r->config_of, (uint64_t)config->config_id, (uint32_t)i);
		r->result.configs.changed += err ? 0 : sqlite3_changes(r->run.db);
	}
	sqlite3_finalize(update);
	r->result.configs.rows = (int64_t)r->run.configs_count;
	return err;
}

/* ---- kernels */

static bool is_timed(int64_t start_ns, int64_t end_ns)
{
	return start_ns > 0 && end_ns >= start_ns;
}

void wt_rederive_exec_columns(const struct wt_config *config, int64_t start_ns, int64_t end_ns,
                              int64_t ret_columns[3])
{
	struct wt_exec_values values = {0};

	if (is_timed(start_ns, end_ns))
		wt_derive_exec(&config->launch, start_ns, end_ns, &values);
	ret_columns[0] = values.is_underfill_known ? values.wave.underfill_sm_ns : WT_DB_NULL;
	ret_columns[1] = values.wave.is_judged ? values.wave.wave_sm_ns : WT_DB_NULL;
	ret_columns[2] = values.wave.is_judged ? values.wave.wave_max_sm_ns : WT_DB_NULL;
}

static int rederive_exec(struct rederive *r, const struct exec *exec)
{
	uint32_t config = wt_map_get(&r->config_of, (uint64_t)exec->config_id);
	struct wt_exec_values values = {0};
	int64_t columns[3];
	struct wt_stat *stat;
	int err;

	if (config == WT_MAP_NONE) {
		snprintf(r->run.error, sizeof(r->run.error),
		         "kernel_exec %lld names configuration %lld, which the file does not have",
		         (long long)exec->exec_id, (long long)exec->config_id);
		return -EBADMSG;
	}
	if (exec->is_timed) {
		wt_derive_exec(&r->run.configs[config].launch, exec->start_ns, exec->end_ns,
		               &values);
		stat = wt_rollups_get(&r->rollups, exec->process_id, exec->config_id,
		                      exec->in_graph);
		if (!stat)
			return -ENOMEM;
		wt_stat_add(stat, exec->start_ns, exec->end_ns, &values.wave);
	}
	wt_rederive_exec_columns(&r->run.configs[config], exec->start_ns, exec->end_ns, columns);
	if (columns[0] == exec->underfill_sm_ns && columns[1] == exec->wave_sm_ns &&
	    columns[2] == exec->wave_max_sm_ns)
		return 0;
	r->result.kernels.changed++;
	err = check(r, wt_db_run(r->write_exec, "innn", exec->exec_id, columns[0], columns[1],
	                         columns[2]));
	r->is_packed |= !err && sqlite3_changes(r->run.db) == 0;
	return err;
}

static int64_t column(sqlite3_stmt *s, int at)
{
	return sqlite3_column_type(s, at) == SQLITE_NULL ? WT_DB_NULL : sqlite3_column_int64(s, at);
}

/* The next rows behind `after`, so that none is read while its table is written. */
static int read_batch(struct rederive *r, int64_t after, struct exec *batch, size_t *ret_count)
{
	sqlite3_stmt *s = r->read;
	size_t count = 0;
	int code = wt_db_bind(s, "ii", after, (int64_t)BATCH);

	while (code == SQLITE_OK && (code = sqlite3_step(s)) == SQLITE_ROW) {
		struct exec *exec = &batch[count++];

		code = SQLITE_OK;
		*exec = (struct exec){
		        .exec_id = sqlite3_column_int64(s, 0),
		        .process_id = sqlite3_column_int64(s, 1),
		        .config_id = sqlite3_column_int64(s, 2),
		        .start_ns = column(s, 3),
		        .end_ns = column(s, 4),
		        .in_graph = sqlite3_column_int(s, 5) != 0,
		        .underfill_sm_ns = column(s, 6),
		        .wave_sm_ns = column(s, 7),
		        .wave_max_sm_ns = column(s, 8),
		};
		exec->is_timed = is_timed(exec->start_ns, exec->end_ns);
	}
	*ret_count = count;
	code = code == SQLITE_DONE ? sqlite3_reset(s) : code;
	return check(r, code);
}

static int rederive_kernels(struct rederive *r, wt_rederive_progress progress, void *arg)
{
	struct exec *batch = malloc(BATCH * sizeof(*batch));
	int64_t after = INT64_MIN;
	size_t count = BATCH;
	int err = batch ? 0 : -ENOMEM;

	if (!err)
		err = prepare(r,
		              "SELECT exec_id, process_id, config_id, start_ns, end_ns, "
		              "graph_id IS NOT NULL, underfill_sm_ns, wave_sm_ns, wave_max_sm_ns "
		              "FROM kernel_row WHERE exec_id > ?1 ORDER BY exec_id LIMIT ?2",
		              &r->read);
	if (!err)
		err = prepare(r,
		              "UPDATE main.kernel_exec SET underfill_sm_ns=?2, wave_sm_ns=?3, "
		              "wave_max_sm_ns=?4 WHERE exec_id=?1",
		              &r->write_exec);
	while (!err && count == BATCH) {
		err = read_batch(r, after, batch, &count);
		for (size_t i = 0; i < count && !err; i++)
			err = rederive_exec(r, &batch[i]);
		r->result.kernels.rows += (int64_t)count;
		if (!err && count)
			after = batch[count - 1].exec_id;
		if (!err && progress)
			err = progress(arg, r->result.kernels.rows);
	}
	free(batch);
	return err || !r->is_packed ? err : wt_rederive_chunks(&r->run, &r->config_of);
}

/* ---- kernels that overlap, in the order of their starts */

static int on_share(void *arg, const struct wt_overlap_kernel *kernel,
                    const struct wt_sweep_share *share)
{
	struct rederive *r = arg;
	const struct wt_config *config = &r->run.configs[kernel->tag];
	struct wt_beside beside;
	struct wt_idle idle, more;
	struct wt_stat *stat;

	if (!share) {
		r->refused++;
		return 0;
	}
	if (!wt_derive_share(&config->sweep, kernel, share, &idle, &more, &beside))
		return 0;
	stat = wt_rollups_get(&r->rollups, kernel->owner, config->config_id, kernel->is_tagged);
	if (!stat)
		return -ENOMEM;
	wt_stat_adjust(stat, &more, &beside);
	r->result.shares.rows++;
	return check(r, wt_db_run(r->write_share, "iiiiiiii", kernel->id, idle.underfill_sm_ns,
	                          idle.wave_sm_ns, idle.wave_max_sm_ns, idle.unjudged_sm_ns,
	                          idle.comm_sm_ns, share->alone_ns, share->active_sm_ns));
}

static int sweep_rows(struct rederive *r, sqlite3_stmt *s, struct wt_overlap *overlap,
                      wt_rederive_progress progress, void *arg)
{
	int64_t rows = 0;
	int err = 0, code = SQLITE_ROW;

	while (!err && (code = sqlite3_step(s)) == SQLITE_ROW) {
		uint32_t idx = wt_map_get(&r->config_of, (uint64_t)sqlite3_column_int64(s, 2));
		const struct wt_config *config = &r->run.configs[idx];
		struct wt_overlap_kernel kernel = {
		        .id = sqlite3_column_int64(s, 0),
		        .owner = sqlite3_column_int64(s, 1),
		        .tag = idx,
		        .is_tagged = sqlite3_column_int(s, 3) != 0,
		        .start_ns = sqlite3_column_int64(s, 4),
		        .end_ns = sqlite3_column_int64(s, 5),
		        .is_judged = sqlite3_column_type(s, 6) != SQLITE_NULL,
		        .wave_sm_ns = sqlite3_column_int64(s, 6),
		        .wave_max_sm_ns = sqlite3_column_int64(s, 7),
		        .sms = (uint16_t)config->sweep.sms,
		        .blocks = config->sweep.blocks,
		        .blocks_per_sm = config->sweep.blocks_per_sm,
		        .is_collective = config->sweep.is_collective,
		};

		err = wt_overlap_add(overlap, &kernel);
		if (!err && ++rows % BATCH == 0)
			err = wt_overlap_settle(overlap, kernel.start_ns);
		if (!err && progress && rows % BATCH == 0)
			err = progress(arg, r->result.kernels.rows);
	}
	return err ? err : check(r, code);
}

static int sweep_device(struct rederive *r, const struct wt_gpu *gpu, sqlite3_stmt *read,
                        wt_rederive_progress progress, void *arg)
{
	static const char sql[] = "INSERT OR REPLACE INTO sweep VALUES (?1, ?2, ?4, 0, 0, ?3)";
	struct wt_overlap *overlap = NULL;
	sqlite3_stmt *note = NULL;
	int err = wt_overlap_create((uint32_t)gpu->device.sm_count, on_share, r, &overlap);

	r->refused = 0;
	if (!err)
		err = check(r, wt_db_bind(read, "i", gpu->device_id));
	if (!err)
		err = sweep_rows(r, read, overlap, progress, arg);
	sqlite3_reset(read);
	if (!err)
		err = wt_overlap_settle(overlap, INT64_MAX);
	if (!err)
		err = prepare(r, sql, &note);
	if (!err && wt_overlap_settled_ns(overlap) != INT64_MIN)
		err = check(r,
		            wt_db_run(note, "iiii", gpu->device_id, wt_overlap_settled_ns(overlap),
		                      r->refused, r->run.next_exec_id));
	sqlite3_finalize(note);
	wt_overlap_destroy(overlap);
	return err;
}

/* Into a table of their own first, so that only what differs is written. */
static int write_shares(struct rederive *r)
{
	/* A row that is to be another is replaced below: it counts there. */
	static const char strangers[] = "DELETE FROM main.kernel_share WHERE exec_id NOT IN "
	                                "(SELECT exec_id FROM temp.wt_share)";
	/* share_row is not read while its table is written. */
	static const char differing[] =
	        "CREATE TEMP TABLE wt_other AS SELECT t.* FROM temp.wt_share t LEFT JOIN share_row "
	        "s "
	        "USING (exec_id) WHERE (t.underfill_sm_ns, t.wave_sm_ns, "
	        "t.wave_max_sm_ns, t.unjudged_sm_ns, t.comm_sm_ns, t.alone_ns, t.active_sm_ns) IS "
	        "NOT (s.underfill_sm_ns, s.wave_sm_ns, s.wave_max_sm_ns, s.unjudged_sm_ns, "
	        "s.comm_sm_ns, s.alone_ns, s.active_sm_ns)";
	int err = wt_rederive_unpack_shares(&r->run);

	if (!err)
		err = check(r, sqlite3_exec(r->run.db, strangers, NULL, NULL, NULL));
	r->result.shares.changed += err ? 0 : sqlite3_changes(r->run.db);
	if (!err)
		err = check(r, sqlite3_exec(r->run.db, differing, NULL, NULL, NULL));
	if (!err)
		err = check(r, sqlite3_exec(r->run.db,
		                            "INSERT OR REPLACE INTO main.kernel_share SELECT * "
		                            "FROM temp.wt_other",
		                            NULL, NULL, NULL));
	r->result.shares.changed += err ? 0 : sqlite3_changes(r->run.db);
	return err ? err
	           : check(r, sqlite3_exec(r->run.db,
	                                   "DROP TABLE temp.wt_other; DROP TABLE temp.wt_share",
	                                   NULL, NULL, NULL));
}

static int rederive_shares(struct rederive *r, wt_rederive_progress progress, void *arg)
{
	static const char read_sql[] =
	        "SELECT e.exec_id, e.process_id, e.config_id, e.graph_id IS NOT NULL, e.start_ns, "
	        "e.end_ns, e.wave_sm_ns, e.wave_max_sm_ns FROM kernel_row e JOIN config c "
	        "USING (config_id) WHERE c.device_id = ?1 AND e.end_ns > e.start_ns "
	        "ORDER BY e.start_ns, e.exec_id";
	sqlite3_stmt *read = NULL;
	int err = check(
	        r, sqlite3_exec(r->run.db,
	                        "CREATE TEMP TABLE wt_share AS SELECT * FROM main.kernel_share "
	                        "WHERE 0; CREATE UNIQUE INDEX temp.wt_share_id ON wt_share "
	                        "(exec_id); DELETE FROM sweep",
	                        NULL, NULL, NULL));

	if (!err)
		err = prepare(r, read_sql, &read);
	if (!err)
		err = prepare(r, "INSERT INTO temp.wt_share VALUES (?,?,?,?,?,?,?,?)",
		              &r->write_share);
	for (size_t i = 0; i < r->run.gpus_count && !err; i++)
		if (r->run.gpus[i].device.sm_count > 0 &&
		    r->run.gpus[i].device.sm_count <= WT_SWEEP_SMS_MAX)
			err = sweep_device(r, &r->run.gpus[i], read, progress, arg);
	sqlite3_finalize(read);
	sqlite3_finalize(r->write_share);
	r->write_share = NULL;
	return err ? err : write_shares(r);
}

/* ---- rollups */

static int write_rollups(struct rederive *r)
{
#define VALUES                                                                                     \
	"launches, time_ns, min_ns, max_ns, m2_ns2, underfill_sm_ns, wave_sm_ns, "                 \
	"wave_max_sm_ns, unjudged_sm_ns, first_ns, last_ns, comm_sm_ns, beside_ns, "               \
	"beside_active_sm_ns, beside_underfill_sm_ns, beside_wave_sm_ns, beside_wave_max_sm_ns, "  \
	"beside_unjudged_sm_ns"
#define PLACES "?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21"
	static const char sql[] =
	        "INSERT INTO config_stat (process_id, config_id, in_graph, " VALUES ") "
	        "VALUES (?1,?2,?3," PLACES ") "
	        "ON CONFLICT DO UPDATE SET (" VALUES ") = (" PLACES ") "
	        "WHERE (" VALUES ") IS NOT (" PLACES ")";
#undef PLACES
#undef VALUES
	sqlite3_stmt *insert = NULL;
	int err = prepare(r, sql, &insert);

	for (size_t i = 0; i < r->rollups.count && !err; i++) {
		const struct wt_stat *s = &r->rollups.rows[i].stat;

		err = check(r,
		            wt_db_run(insert, "iiiiiiiriiiiiiiiiiiii",
		                      r->rollups.rows[i].process_id, s->config_id,
		                      (int64_t)s->in_graph, s->launches, s->time_ns, s->min_ns,
		                      s->max_ns, s->m2_ns2, s->underfill_sm_ns, s->wave_sm_ns,
		                      s->wave_max_sm_ns, s->unjudged_sm_ns, s->first_ns, s->last_ns,
		                      s->comm_sm_ns, s->beside.time_ns, s->beside.active_sm_ns,
		                      s->beside.underfill_sm_ns, s->beside.wave_sm_ns,
		                      s->beside.wave_max_sm_ns, s->beside.unjudged_sm_ns));
		r->result.rollups.changed += err ? 0 : sqlite3_changes(r->run.db);
	}
	sqlite3_finalize(insert);
	r->result.rollups.rows = (int64_t)r->rollups.count;
	return err;
}

static int remove_strangers(struct rederive *r)
{
	sqlite3_stmt *read = NULL, *delete = NULL;
	int64_t key[3] = {INT64_MIN, INT64_MIN, INT64_MIN};
	int err =
	        prepare(r,
	                "SELECT process_id, config_id, in_graph FROM config_stat WHERE "
	                "(process_id, config_id, in_graph) > (?1, ?2, ?3) ORDER BY 1, 2, 3 LIMIT 1",
	                &read);

	if (!err)
		err = prepare(r,
		              "DELETE FROM config_stat WHERE process_id=?1 AND config_id=?2 AND "
		              "in_graph=?3",
		              &delete);
	while (!err) {
		int code = wt_db_bind(read, "iii", key[0], key[1], key[2]);

		if (code == SQLITE_OK)
			code = sqlite3_step(read);
		for (int i = 0; i < 3 && code == SQLITE_ROW; i++)
			key[i] = sqlite3_column_int64(read, i);
		sqlite3_reset(read);
		if (code != SQLITE_ROW) {
			err = check(r, code);
			break;
		}
		if ((key[2] == 0 || key[2] == 1) &&
		    wt_rollups_has(&r->rollups, key[0], key[1], key[2] != 0))
			continue;
		err = check(r, wt_db_run(delete, "iii", key[0], key[1], key[2]));
		r->result.rollups.changed++;
	}
	sqlite3_finalize(read);
	sqlite3_finalize(delete);
	return err;
}

/* ---- what was measured */

static int fold_all(struct rederive *r, wt_rederive_progress progress, void *arg)
{
	bool has_more = true;
	int err = 0;

	while (has_more && !err) {
		err = wt_folds_step(&r->run, true, wt_clock_ns(CLOCK_MONOTONIC), &has_more);
		if (!err && progress)
			err = progress(arg, r->result.kernels.rows);
	}
	return err;
}

static int rederive_measured(struct rederive *r, wt_rederive_progress progress, void *arg)
{
	static const char before_sql[] = "CREATE TEMP TABLE wt_measured AS SELECT * FROM measured";
	static const char changed_sql[] = "SELECT count(*) FROM (SELECT * FROM measured EXCEPT "
	                                  "SELECT * FROM temp.wt_measured)";
	sqlite3 *db = r->run.db;
	int err;

	r->result.measured.rows = wt_db_int(db, "SELECT count(*) FROM measured", 0);
	if (!wt_db_int(db,
	               "SELECT EXISTS (SELECT 1 FROM sampler) OR EXISTS (SELECT 1 FROM "
	               "profile_launch)",
	               0))
		return 0;
	r->result.is_measured_kept =
	        wt_db_int(db, "SELECT count(*) FROM meta WHERE key = 'samples_removed'", 0) != 0;
	if (r->result.is_measured_kept)
		return 0;
	err = check(r, sqlite3_exec(db, before_sql, NULL, NULL, NULL));
	if (!err)
		err = wt_store_prepare(&r->run);
	r->run.is_measured = true;
	if (!err)
		err = fold_all(r, progress, arg);
	wt_folds_fini(&r->run);
	wt_store_finalize(&r->run);
	if (err)
		return err;
	r->result.measured.rows = wt_db_int(db, "SELECT count(*) FROM measured", 0);
	r->result.measured.changed = wt_db_int(db, changed_sql, 0);
	return check(r, sqlite3_exec(db, "DROP TABLE temp.wt_measured", NULL, NULL, NULL));
}

/* ---- the whole */

static int set_meta(struct rederive *r, const char *key, const char *value)
{
	sqlite3_stmt *statement = NULL;
	int err = prepare(r, "INSERT OR REPLACE INTO meta VALUES (?1, ?2)", &statement);

	if (!err)
		err = check(r, wt_db_run(statement, "tt", key, value));
	sqlite3_finalize(statement);
	return err;
}

/* Which model, when and by whom. */
static int sign(struct rederive *r)
{
	char number[32];
	int err;

	snprintf(number, sizeof(number), "%d", WT_ANALYSIS_VERSION);
	err = set_meta(r, "analysis_version", number);
	snprintf(number, sizeof(number), "%lld", (long long)wt_clock_ns(CLOCK_REALTIME));
	if (!err)
		err = set_meta(r, "analyzed_ns", number);
	return err ? err : set_meta(r, "analyzed_by", WT_VERSION_TEXT);
}

int wt_rederive(sqlite3 *db, wt_rederive_progress progress, void *arg,
                struct wt_rederived *ret_rederived, char error[WT_DB_ERROR_BYTES])
{
	struct rederive *r = calloc(1, sizeof(*r)); /* too large for the stack */
	int err = r ? 0 : -ENOMEM;

	if (!err) {
		r->run.db = db;
		wt_pack_load(&r->run);
		err = check(r, wt_rows_attach(db, NULL, NULL));
	}
	if (!err)
		err = check(r, wt_rows_hide(db));
	if (!err)
		err = wt_configs_load(&r->run);
	if (!err)
		err = rederive_configs(r);
	if (!err)
		err = rederive_kernels(r, progress, arg);
	if (!err)
		err = rederive_shares(r, progress, arg);
	if (!err)
		err = write_rollups(r);
	if (!err)
		err = remove_strangers(r);
	if (!err)
		err = rederive_measured(r, progress, arg);
	if (!err && wt_ledger_sums_make(db, true)) {
		snprintf(r->run.error, sizeof(r->run.error), "%s", sqlite3_errmsg(db));
		err = -EIO;
	}
	if (!err)
		err = sign(r);
	if (!err)
		*ret_rederived = r->result;
	else
		snprintf(error, WT_DB_ERROR_BYTES, "%s",
		         r && r->run.error[0] ? r->run.error : strerror(-err));
	if (r) {
		sqlite3_finalize(r->read);
		sqlite3_finalize(r->write_exec);
		sqlite3_finalize(r->write_share);
		wt_configs_fini(&r->run);
		wt_pack_fini(&r->run);
		wt_map_fini(&r->config_of);
		wt_rollups_fini(&r->rollups);
		free(r);
	}
	return err;
}
