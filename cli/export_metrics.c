/*
 * export_metrics.c - see export_metrics.h. Single-threaded; blocks on files.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/export_metrics.h"
#include "cli/ledger.h"
#include "cli/report_sql.h"

struct loaded {
	struct wt_report kernels, ranks;
	bool has_ranks;
	struct wt_sm_agreement *activity;
};

/* Of all: gaps bring the ledger along. Ranks only where a process has one. */
static int load_reports(const struct wt_metrics_query *query, struct loaded *loaded)
{
	sqlite3 *db = query->run->db;
	struct wt_report_query by_kernel = {.by = WT_REPORT_BY_IDLE,
	                                    .group = WT_REPORT_GROUP_KERNEL,
	                                    .gaps = WT_REPORT_NEEDED,
	                                    .select = query->select};
	struct wt_report_query by_rank = by_kernel;
	int rc;

	by_rank.group = WT_REPORT_GROUP_RANK;
	by_rank.gaps = WT_REPORT_NOT_NEEDED;
	if (!wt_db_int(db, "SELECT EXISTS (SELECT 1 FROM config_stat WHERE launches > 0)", 0))
		by_kernel.gaps = WT_REPORT_NOT_NEEDED;
	rc = wt_report_load(db, &by_kernel, &loaded->kernels);
	if (!rc && loaded->kernels.row_count &&
	    wt_db_int(db, "SELECT EXISTS (SELECT 1 FROM main.proc WHERE rank IS NOT NULL)", 0)) {
		rc = wt_report_load(db, &by_rank, &loaded->ranks);
		loaded->has_ranks = !rc;
	}
	return rc;
}

static int load_activity(const struct wt_metrics_query *query, struct loaded *loaded)
{
	const struct wt_ledger *ledger = loaded->kernels.ledger;
	int rc = 0;

	if (!ledger || !ledger->device_count)
		return 0;
	loaded->activity = calloc(ledger->device_count, sizeof(*loaded->activity));
	if (!loaded->activity)
		return -ENOMEM;
	for (size_t i = 0; !rc && i < ledger->device_count; i++)
		rc = wt_sm_activity_agree(query->run->db, ledger, &ledger->devices[i],
		                          &loaded->activity[i]);
	return rc;
}

static int load(const struct wt_metrics_query *query, struct loaded *loaded)
{
	sqlite3 *db = query->run->db;
	int rc = wt_report_note(db, sqlite3_exec(db, "SAVEPOINT metrics", NULL, NULL, NULL));

	if (!rc)
		rc = load_reports(query, loaded);
	if (!rc)
		rc = load_activity(query, loaded);
	sqlite3_exec(db, "RELEASE metrics", NULL, NULL, NULL);
	return rc;
}

int wt_metrics_export(const struct wt_metrics_query *query, FILE *out)
{
	struct loaded *loaded = calloc(1, sizeof(*loaded));
	struct wt_metrics metrics = {.out = out};
	char version[64] = "";
	int rc = loaded ? load(query, loaded) : -ENOMEM;

	if (!rc && !loaded->kernels.processes && !loaded->kernels.row_count) {
		wt_cli_error("run %s has nothing to export", query->run->info.id);
		rc = -ENODATA;
	} else if (rc) {
		wt_cli_error("%s: %s", query->run->info.path,
		             rc == -EIO ? wt_report_problem(query->run->db) : strerror(-rc));
	} else {
		const struct wt_metrics_run run = {
		        .info = &query->run->info,
		        .version = wt_db_meta(query->run->db, "wavetap_version", version,
		                              sizeof(version))
		                           ? version
		                           : NULL,
		        .kernels = &loaded->kernels,
		        .ranks = loaded->has_ranks ? &loaded->ranks : NULL,
		        .activity = loaded->activity,
		        .kernel_limit = query->kernel_limit,
		};

		wt_metrics_put_run(&metrics, &run);
	}
	if (loaded) {
		wt_report_fini(&loaded->kernels);
		wt_report_fini(&loaded->ranks);
		free(loaded->activity);
	}
	free(loaded);
	return rc == -ENODATA ? WT_EXIT_NO_DATA : rc ? WT_EXIT_FAILED : WT_EXIT_FINE;
}
