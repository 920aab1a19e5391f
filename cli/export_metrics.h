/*
 * export_metrics.h - loads what metrics_run.h writes. Single-threaded; blocks on files.
 */
#ifndef WT_CLI_EXPORT_METRICS_H
#define WT_CLI_EXPORT_METRICS_H

#include <stdio.h>

#include "cli/metrics_run.h"
#include "cli/run_file.h"
#include "cli/select.h"

struct wt_metrics_query {
	const struct wt_run_file *run;
	const struct wt_select *select; /* applied (wt_select_apply) */
	size_t kernel_limit;
};

/* An enum wt_exit, after a message but for failures of `out`, which the caller tells. */
int wt_metrics_export(const struct wt_metrics_query *query, FILE *out);

#endif /* WT_CLI_EXPORT_METRICS_H */
