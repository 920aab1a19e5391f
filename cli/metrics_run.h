/*
 * metrics_run.h - the metrics of a run: what `export --format openmetrics` writes. Made of what was loaded
 * already, so that the figures are those of `top --json` and `ledger --json` of the same window, and whoever
 * keeps such reports may serve them. Pure but for the FILE.
 */
#ifndef WT_CLI_METRICS_RUN_H
#define WT_CLI_METRICS_RUN_H

#include "cli/openmetrics.h"
#include "cli/report.h"
#include "cli/sm_activity.h"
#include "schema/wt_db.h"

#define WT_METRICS_KERNELS                                                                         \
	50 /* of so many, those that leave most SM-time idle, there are samples */
#define WT_METRICS_KERNELS_MAX 10000

struct wt_metrics_run {
	const struct wt_db_run_file *info;
	const char *version; /* that recorded it; NULL: not known */
	const struct wt_report *kernels; /* by kernel, with its ledger where there are kernels */
	const struct wt_report *ranks; /* by rank; NULL: there are none */
	const struct wt_sm_agreement *activity; /* of each device of the ledger; NULL: none */
	size_t kernel_limit;
};

/* All families, and the end. */
void wt_metrics_put_run(struct wt_metrics *metrics, const struct wt_metrics_run *run);

#endif /* WT_CLI_METRICS_RUN_H */
