/*
 * ledger_whole.c - the ledger of a whole run from sums in its file: gaps from those of wavetapd
 * (daemon/ledger_sums.h), what kernels had from config_stat. Of a run that goes on what came since is
 * read and added. No kernel has lines of its own here, but for the gaps before it.
 * Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/collective.h"
#include "analysis/measure.h"
#include "cli/dropped.h"
#include "cli/ledger_impl.h"
#include "cli/report_sql.h"
#include "cli/select.h"
#include "daemon/daemon.h"
#include "schema/wt_db.h"

/* For tests: "rows" reads all rows, "sums" fails where there are no sums to use. */
#define VARIABLE "WAVETAP_LEDGER"

/* Does what the rollups have sum to what the sweep would give, but for kernels that wait? */
static bool are_rollups_swept(sqlite3 *db)
{
	return wt_db_int(db,
	                 "SELECT (SELECT total(kernels_late + kernels_refused) "
	                 "FROM sweep)"
	                 " + (SELECT count(*) FROM config_stat JOIN config c USING (config_id)"
	                 "  JOIN gpu g USING (device_id) WHERE g.sm_count > 0 AND max_ns > 0"
	                 "  AND device_id NOT IN (SELECT device_id FROM sweep))",
	                 1) == 0;
}

/* The model's shares of all kernels of a configuration: columns of config_sql. */
static struct wt_sweep_share share_of(sqlite3_stmt *s, const struct wt_idle *more,
                                      const struct wt_beside *beside, int64_t device_sms,
                                      bool is_collective)
{
	struct wt_sweep_share share = {
	        .alone_ns = sqlite3_column_int64(s, 3) - beside->time_ns,
	        .underfill_sm_ns = sqlite3_column_int64(s, 4) + more->underfill_sm_ns,
	        .wave_sm_ns = sqlite3_column_int64(s, 5) + more->wave_sm_ns,
	        .wave_max_sm_ns = sqlite3_column_int64(s, 6) + more->wave_max_sm_ns,
	        .unjudged_sm_ns = sqlite3_column_int64(s, 7) + more->unjudged_sm_ns,
	        .comm_sm_ns = sqlite3_column_int64(s, 8) + more->comm_sm_ns,
	};

	share.alone_wave_sm_ns = share.wave_sm_ns - beside->wave_sm_ns;
	share.alone_wave_max_sm_ns = share.wave_max_sm_ns - beside->wave_max_sm_ns;
	share.active_sm_ns = device_sms * share.alone_ns -
	                     (share.underfill_sm_ns - beside->underfill_sm_ns) -
	                     share.alone_wave_sm_ns -
	                     (share.unjudged_sm_ns - beside->unjudged_sm_ns) + beside->active_sm_ns;
	if (is_collective)
		share.active_comm_sm_ns = share.active_sm_ns;
	return share;
}

static struct wt_ledger_device *device_of(struct wt_ledger *ledger, int64_t device_id)
{
	for (size_t i = 0; i < ledger->device_count; i++)
		if (ledger->devices[i].device_id == device_id)
			return &ledger->devices[i];
	return NULL;
}

/* What kernels that are not settled have otherwise than the rollups say, by configuration. */
struct rest {
	struct wt_idle more;
	struct wt_beside beside;
};

struct rests {
	struct rest *at;
	size_t count;
	struct wt_map of; /* by config_id */
};

static int on_rest(void *arg, int64_t config_id, const struct wt_idle *more,
                   const struct wt_beside *beside)
{
	struct rests *rests = arg;
	uint32_t at = wt_map_get(&rests->of, (uint64_t)config_id);
	struct rest *rest = at == WT_MAP_NONE
	                            ? wt_report_append(&rests->at, &rests->count, sizeof(*rest))
	                            : &rests->at[at];

	if (!rest || (at == WT_MAP_NONE &&
	              wt_map_set(&rests->of, (uint64_t)config_id, (uint32_t)rests->count - 1)))
		return -ENOMEM;
	rest->more.underfill_sm_ns += more->underfill_sm_ns;
	rest->more.wave_sm_ns += more->wave_sm_ns;
	rest->more.wave_max_sm_ns += more->wave_max_sm_ns;
	rest->more.unjudged_sm_ns += more->unjudged_sm_ns;
	rest->more.comm_sm_ns += more->comm_sm_ns;
	rest->beside.time_ns += beside->time_ns;
	rest->beside.active_sm_ns += beside->active_sm_ns;
	rest->beside.underfill_sm_ns += beside->underfill_sm_ns;
	rest->beside.wave_sm_ns += beside->wave_sm_ns;
	rest->beside.wave_max_sm_ns += beside->wave_max_sm_ns;
	rest->beside.unjudged_sm_ns += beside->unjudged_sm_ns;
	return 0;
}

static void add_config(struct wt_ledger_loading *load, const struct rests *rests, sqlite3_stmt *s)
{
	struct wt_ledger_device *device = device_of(load->ledger, sqlite3_column_int64(s, 0));
	struct wt_measured_config *measured =
	        wt_measured_find(&load->measured, sqlite3_column_int64(s, 1));
	uint32_t at = wt_map_get(&rests->of, (uint64_t)sqlite3_column_int64(s, 1));
	static const struct rest none;
	const struct rest rest = rests->at && at < rests->count ? rests->at[at] : none;
	const struct wt_beside beside = {
	        .time_ns = sqlite3_column_int64(s, 9) + rest.beside.time_ns,
	        .active_sm_ns = sqlite3_column_int64(s, 10) + rest.beside.active_sm_ns,
	        .underfill_sm_ns = sqlite3_column_int64(s, 11) + rest.beside.underfill_sm_ns,
	        .wave_sm_ns = sqlite3_column_int64(s, 12) + rest.beside.wave_sm_ns,
	        .wave_max_sm_ns = sqlite3_column_int64(s, 13) + rest.beside.wave_max_sm_ns,
	        .unjudged_sm_ns = sqlite3_column_int64(s, 14) + rest.beside.unjudged_sm_ns,
	};
	struct wt_sweep_share share, parts[WT_EVIDENCE_MAX];

	if (!device)
		return;
	share = share_of(s, &rest.more, &beside, device->sms,
	                 wt_is_collective_kernel((const char *)sqlite3_column_text(s, 2)));
	if (measured) {
		wt_measure_apply(&measured->measure, &beside, &share, parts);
		for (int i = 0; i < WT_EVIDENCE_MAX; i++)
			wt_sweep_share_add(&device->measured[i], &parts[i]);
	}
	wt_sweep_share_add(&device->share, &share);
}

static int add_configs(struct wt_ledger_loading *load, const struct rests *rests)
{
	static const char config_sql[] =
	        "SELECT c.device_id, config_id, k.name, sum(time_ns), sum(underfill_sm_ns),"
	        " sum(wave_sm_ns), sum(wave_max_sm_ns), sum(unjudged_sm_ns), sum(comm_sm_ns),"
	        " sum(beside_ns), sum(beside_active_sm_ns), sum(beside_underfill_sm_ns),"
	        " sum(beside_wave_sm_ns), sum(beside_wave_max_sm_ns), sum(beside_unjudged_sm_ns)"
	        " FROM main.config_stat JOIN config c USING (config_id) JOIN kernel k USING "
	        "(kernel_id)"
	        " GROUP BY config_id";
	sqlite3_stmt *s;
	int rc = wt_report_prepare(load->db, config_sql, &s);

	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0)
		add_config(load, rests, s);
	sqlite3_finalize(s);
	return rc;
}

/* A gap's owner: to its device. */
static void add_owner(struct wt_ledger *ledger, const struct wt_ledger_owner *owner)
{
	struct wt_ledger_device *device = device_of(ledger, owner->device_id);

	if (!device)
		return;
	device->gaps += owner->gaps;
	device->short_gaps += owner->short_gaps;
	for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++) {
		device->gap_ns[cause] += owner->ns[cause];
		device->short_gap_ns[cause] += owner->short_ns[cause];
	}
}

static int sum_devices(struct wt_ledger_loading *load, const struct wt_ledger_sums *sums)
{
	struct wt_ledger *ledger = load->ledger;
	struct rests rests = {0};
	int rc = 0;

	if (wt_db_int(load->db, "SELECT total(kernels_waiting) > 0 FROM sweep", 1))
		rc = wt_shares_rest(load->db, on_rest, &rests);
	if (!rc)
		rc = add_configs(load, &rests);
	free(rests.at);
	wt_map_fini(&rests.of);
	if (rc)
		return rc;

	for (size_t i = 0; i < sums->owner_count; i++)
		add_owner(ledger, &sums->owners[i]);
	for (size_t i = 0; i < sums->place_count; i++) {
		struct wt_ledger_device *device = device_of(ledger, sums->places[i].device_id);

		if (!device)
			continue;
		device->kernels = sums->places[i].kernels;
		device->kernels_refused = sums->places[i].kernels_refused;
	}
	for (size_t i = 0; i < ledger->device_count; i++) {
		struct wt_ledger_device *device = &ledger->devices[i];
		int64_t gap_ns = 0;

		for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++)
			gap_ns += device->gap_ns[cause];
		device->wall_ns = ledger->end_ns - ledger->start_ns;
		device->busy_ns = device->wall_ns - gap_ns;
		device->total_sm_ns = device->wall_ns * device->sms;
		device->residual_sm_ns = device->total_sm_ns - wt_measure_sm_ns(&device->share) -
		                         gap_ns * device->sms;
	}
	return rc;
}

int wt_ledger_load_sums(sqlite3 *db, const struct wt_select *select,
                        struct wt_ledger_sums **ret_sums)
{
	const char *how = getenv(VARIABLE);
	bool is_forced = how && !strcmp(how, "sums");
	int64_t damaged = wt_report_rows_damaged();
	struct wt_ledger_sums *sums;
	int rc;

	*ret_sums = NULL;
	if ((select && select->is_applied) || (how && !strcmp(how, "rows")) ||
	    !wt_db_has_table(db, "ledger_mark") || !are_rollups_swept(db))
		return is_forced ? -ENODATA : 0;
	rc = wt_ledger_sums_load(db, &sums);
	if (!rc && !wt_ledger_sums_are_final(sums))
		rc = wt_ledger_sums_advance(sums, INT64_MAX);
	/* Rollups have the kernels of damaged chunks, what is summed here has not. */
	if (!rc && !sums->why_not && sums->mark.end_ns != INT64_MIN &&
	    wt_report_rows_damaged() == damaged) {
		*ret_sums = sums;
		return 1;
	}
	wt_ledger_sums_free(sums);
	if (rc < 0)
		return rc;
	return is_forced ? -ENODATA : 0;
}

bool wt_ledger_has_sums(sqlite3 *db)
{
	struct wt_ledger_sums *sums = NULL;
	bool is_there =
	        wt_dropped_kept_ns(db) != INT64_MIN && wt_ledger_load_sums(db, NULL, &sums) > 0;

	wt_ledger_sums_free(sums);
	return is_there;
}

int wt_ledger_sum_whole(struct wt_ledger_loading *load)
{
	struct wt_ledger_sums *sums;
	int rc = wt_ledger_load_sums(load->db, load->ledger->select, &sums);

	if (rc <= 0)
		return rc;
	load->ledger->clock_error_ns = sums->clock_error_ns;
	rc = sum_devices(load, sums);
	if (rc) {
		wt_ledger_sums_free(sums);
		return rc == -ERANGE ? 0 : rc; /* impossible times among the last: all are read */
	}
	load->ledger->sums = sums;
	return 1;
}
