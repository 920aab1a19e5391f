/*
 * load.c - what an HTML report is made of. Single-threaded; blocks on the run file.
 *
 * Two connections: the ledger, gaps and findings are of whole devices, kernels of what is selected,
 * and a selection hides what it leaves out from all of a connection.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/html/report.h"
#include "cli/rates.h"
#include "cli/report_sql.h"

static int fail(const struct wt_run_file *run, int rc, const char *problem)
{
	wt_cli_error("%s: %s", run->info.path,
	             rc == -EIO ? (problem && problem[0] ? problem : wt_report_problem(run->db))
	                        : strerror(-rc));
	return WT_EXIT_FAILED;
}

/* ---- devices */

/* Of each bucket what samples say, and the map of SM activity. */
static int load_samples(struct wt_html_report *report)
{
	const struct wt_ledger *ledger = &report->view.ledger, *time = &report->time;
	sqlite3 *db = report->view.run.db;
	int rc = 0;

	report->samples = calloc(report->device_count + 1, sizeof(*report->samples));
	if (!report->samples)
		return -ENOMEM;
	for (size_t i = 0; !rc && i < report->device_count; i++) {
		struct wt_html_samples *samples = &report->samples[i];
		const struct wt_ledger_device *device = &ledger->devices[i];

		samples->sums = calloc(time->bucket_count + 1, sizeof(*samples->sums));
		if (!samples->sums)
			return -ENOMEM;
		rc = wt_sm_activity_buckets(db, device->device_id, time->start_ns, time->end_ns,
		                            time->bucket_ns, time->bucket_count, samples->sums);
		for (size_t at = 0; !rc && at < time->bucket_count; at++)
			samples->has_any |= samples->sums[at].sampled_ns > 0;
		if (!rc)
			rc = wt_sms_heat_load(db, ledger, device, 0, wt_html_columns(report),
			                      &samples->measured.heat);
		if (!rc)
			rc = wt_rates_device_profiled(db, device->device_id, ledger->start_ns,
			                              ledger->end_ns, &samples->measured.profiled);
	}
	return rc;
}

static int load_time(struct wt_html_report *report)
{
	size_t each = WT_HTML_BUCKETS_ALL / (report->device_count ? report->device_count : 1);

	if (each > WT_HTML_BUCKETS)
		each = WT_HTML_BUCKETS;
	return wt_ledger_load_buckets(report->view.run.db, &report->device_select, -(int64_t)each,
	                              &report->time);
}

/* As `wavetap steps` finds them: of the whole run. */
static int load_steps(struct wt_html_report *report)
{
	const struct wt_steps_query query = {-1, -1, NULL};
	sqlite3 *db = report->view.run.db;
	int64_t launches = wt_db_int(db, "SELECT sum(launches) FROM main.config_stat", 0);
	int rc;

	if (launches > WT_SELECT_STEADY_LAUNCHES_MAX && !report->select.words.steps) {
		report->steps_reason = "over 250,000 launches are searched only for wavetap steps "
		                       "and --steps";
		return 0;
	}
	rc = wt_run_steps_load(db, &query, &report->steps);
	if (rc == -ENOENT) {
		report->steps_reason = "no launches";
		return 0;
	}
	if (rc)
		return rc;
	report->steps_reason = report->steps.found.reason == WT_STEPS_FOUND
	                               ? NULL
	                               : wt_steps_reason_text(report->steps.found.reason);
	return wt_step_times_compute(&report->steps, &report->step_times);
}

static int load_findings(struct wt_html_report *report)
{
	const struct wt_diagnose_limits limits = {.threshold = WT_DIAGNOSE_THRESHOLD_PERCENT / 100,
	                                          .overlap = WT_DIAGNOSE_OVERLAP_PERCENT / 100,
	                                          .graph_gap_ns = WT_DIAGNOSE_GRAPH_GAP_NS};
	int code = wt_select_hide_kernels(&report->device_select, &report->view.run);
	int rc;

	if (code)
		return code;
	report->diagnosis = calloc(1, sizeof(*report->diagnosis));
	rc = report->diagnosis ? wt_diagnose(report->view.run.db, &report->view.ledger,
	                                     &report->gaps, &limits, report->diagnosis)
	                       : -ENOMEM;
	return rc ? fail(&report->view.run, rc,
	                 report->diagnosis ? report->diagnosis->problem : NULL)
	          : WT_EXIT_FINE;
}

/* In this order: findings want what is selected to be all there is. */
static int load_devices(struct wt_html_report *report)
{
	const struct wt_ledger *ledger = &report->view.ledger;
	int code = WT_EXIT_FINE, rc;

	report->has_ledger = true;
	report->device_count =
	        ledger->device_count < WT_HTML_DEVICES ? ledger->device_count : WT_HTML_DEVICES;
	rc = load_time(report);
	if (!rc)
		rc = load_samples(report);
	if (!rc)
		rc = load_steps(report);
	if (rc)
		return fail(&report->view.run, rc,
		            report->time.problem[0] ? report->time.problem : report->steps.problem);
	if (!ledger->is_samples_alone)
		code = load_findings(report);
	return code;
}

static int open_devices(const struct wt_html_request *request, struct wt_html_report *report)
{
	struct wt_select_words words = *request->select;
	struct wt_ledger_observer observer;
	int code;

	/* All kernels share the SMs: those of some have no ledger. */
	words.kernel = words.range = NULL;
	wt_gaps_init(&report->gaps, WT_DIAGNOSE_GRAPH_GAP_NS);
	wt_gaps_observe(&report->gaps, &observer);
	code = wt_select_parse("export", &words, &report->device_select);
	/* Ranges are of the whole run, and so is what stands beside them. */
	if (!request->select->range)
		wt_select_prefer_steady(&report->device_select);
	report->view.takes_samples = true;
	if (!code)
		code = wt_ledger_open_observed(request->run, &report->device_select, &observer,
		                               &report->view);
	return code;
}

/* ---- kernels */

static int load_kernels(struct wt_html_report *report)
{
	const struct wt_report_query query = {.by = WT_REPORT_BY_IDLE,
	                                      .group = WT_REPORT_GROUP_KERNEL,
	                                      .select = &report->select,
	                                      .latency = WT_REPORT_NOT_NEEDED};
	int code = wt_run_file_open(report->view.run.info.path, &report->run);
	int rc;

	if (code)
		return code;
	report->has_kernels = true;
	code = wt_select_apply(&report->select, &report->run);
	if (code)
		return code;
	rc = wt_report_load(report->run.db, &query, &report->kernels);
	return rc ? fail(&report->run, rc, report->kernels.problem) : WT_EXIT_FINE;
}

/* Ranks that share their devices with others have kernels, but no ledger: a message was given. */
static bool can_do_without(const struct wt_html_request *request,
                           const struct wt_html_report *report, int code)
{
	return code == WT_EXIT_NO_DATA && request->select->rank && report->view.is_open &&
	       !report->view.ledger.device_count;
}

int wt_html_load(const struct wt_html_request *request, struct wt_html_report *report)
{
	int code;

	memset(report, 0, sizeof(*report));
	code = wt_select_parse("export", request->select, &report->select);
	wt_select_prefer_steady(&report->select);
	if (!code) {
		code = open_devices(request, report);
		if (!code)
			code = load_devices(report);
		else if (can_do_without(request, report, code))
			code = WT_EXIT_FINE;
	}
	if (!code && !report->view.ledger.is_samples_alone)
		code = load_kernels(report);
	if (!code) {
		report->run_option = wt_run_option(
		        &report->view.run, request->run ? request->run : report->view.run.info.id);
		if (!report->run_option)
			code = fail(&report->view.run, -ENOMEM, NULL);
	}
	return code;
}

void wt_html_unload(struct wt_html_report *report)
{
	for (size_t i = 0; report->samples && i < report->device_count; i++) {
		free(report->samples[i].sums);
		wt_sms_heat_fini(&report->samples[i].measured.heat);
	}
	free(report->samples);
	free(report->diagnosis);
	free(report->run_option);
	wt_gaps_fini(&report->gaps);
	wt_ledger_fini(&report->time);
	wt_run_steps_fini(&report->steps);
	if (report->has_kernels) {
		wt_report_fini(&report->kernels);
		wt_run_file_close(&report->run);
	}
	wt_ledger_close(&report->view);
	wt_select_fini(&report->device_select);
	wt_select_fini(&report->select);
}

size_t wt_html_details_count(const struct wt_html_report *report)
{
	size_t most = report->kernels.total.launches > WT_HTML_LAUNCHES_LARGE
	                      ? WT_HTML_KERNELS_SHOWN_LARGE
	                      : WT_HTML_KERNELS_SHOWN;

	return report->kernels.row_count < most ? report->kernels.row_count : most;
}

size_t wt_html_columns(const struct wt_html_report *report)
{
	return report->device_count > WT_HTML_DEVICES_MANY ? WT_HTML_COLUMNS / 2 : WT_HTML_COLUMNS;
}

int64_t wt_html_origin_ns(const struct wt_html_report *report)
{
	const struct wt_ledger *ledger = &report->view.ledger;

	return ledger->select && ledger->select->has_window ? ledger->select->run_start_ns
	                                                    : ledger->start_ns;
}

const char *wt_html_gpu_time(char text[WT_TEXT_NUMBER_BYTES], int64_t sm_ns, int64_t sms)
{
	return wt_text_ns(text, sms > 0 ? sm_ns / sms : sm_ns);
}
