/*
 * show_model.c - the model's figures of a configuration as rates of SMs, to stand beside measured ones.
 * Single-threaded; blocks on the file.
 */
#include <string.h>

#include "analysis/evidence.h"
#include "analysis/wave.h"
#include "cli/report_sql.h"
#include "cli/show.h"

static void fill_rates(const struct wt_wave_launch *launch, int32_t device_sms,
                       struct wt_show_model *model)
{
	struct wt_evidence_rates rates;
	struct wt_wave_result wave;

	wt_wave_judge(launch, &wave);
	wt_evidence_split(&wave, launch->duration_ns, device_sms, 0, NULL, &rates);
	model->is_judged = wave.is_judged;
	model->active_sms = rates.active_sms;
	model->underfill_sms = rates.underfill_sms;
	model->wave_sms = rates.wave_sms;
	model->wave_max_sms = rates.wave_max_sms;
}

static int load_model(sqlite3 *db, struct wt_show_config *config)
{
	static const char sql[] =
	        "SELECT c.grid_x, c.grid_y, c.grid_z, c.cluster_x, c.cluster_y, c.cluster_z,"
	        " c.max_active_clusters, c.sm_count, ifnull(c.blocks_per_sm, 0), c.cooperative,"
	        " c.occupancy, g.sm_count, g.max_threads_per_sm, g.warp_size, g.mem_clock_khz,"
	        " g.mem_bus_bits FROM config c JOIN gpu g USING (device_id) WHERE config_id = ?1";
	struct wt_show_model *model = &config->model;
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, sql, &s);

	memset(model, 0, sizeof(*model));
	model->occupancy_warps = -1;
	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, config->row.config_id);
	rc = wt_report_step(s);
	if (rc > 0) {
		struct wt_wave_launch launch = {.duration_ns =
		                                        config->row.time_ns / config->row.launches};

		for (int i = 0; i < 3; i++) {
			launch.grid[i] = (uint32_t)sqlite3_column_int64(s, i);
			launch.cluster[i] = (uint32_t)sqlite3_column_int64(s, 3 + i);
		}
		launch.max_active_clusters = (uint32_t)sqlite3_column_int64(s, 6);
		launch.sm_count = sqlite3_column_int(s, 7);
		launch.blocks_per_sm = sqlite3_column_int(s, 8);
		launch.is_cooperative = sqlite3_column_int(s, 9) != 0;
		fill_rates(&launch, sqlite3_column_int(s, 11), model);
		if (sqlite3_column_int64(s, 13) > 0)
			model->max_warps = (double)sqlite3_column_int64(s, 12) /
			                   (double)sqlite3_column_int64(s, 13);
		if (sqlite3_column_type(s, 10) != SQLITE_NULL && model->max_warps > 0)
			model->occupancy_warps = sqlite3_column_double(s, 10) * model->max_warps;
		model->dram_peak_bytes_per_ns = wt_evidence_dram_peak(sqlite3_column_int64(s, 14),
		                                                      sqlite3_column_int64(s, 15));
	}
	sqlite3_finalize(s);
	return rc < 0 ? rc : 0;
}

int wt_show_measure(sqlite3 *db, struct wt_show_config *config)
{
	int rc = load_model(db, config);

	return rc ? rc : wt_rates_load(db, config->row.config_id, &config->measured);
}
