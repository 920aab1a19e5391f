/*
 * run_summary.c - see run_summary.h. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/ledger_lines.h"
#include "cli/report_sql.h"
#include "cli/run_summary.h"
#include "cli/select.h"
#include "cli/steps.h"
#include "cli/steps_times.h"

#define INTERVAL_STEPS_MIN 6 /* of fewer not even the extremes are a 95 % interval of the median */

/* ---- steps */

static int by_value(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return a < b ? -1 : a > b;
}

/* By order statistics: the binomial's normal form, its ranks outwards. */
static int find_interval(const struct wt_run_steps *steps, struct wt_run_summary *summary)
{
	int64_t *values = calloc(steps->count + 1, sizeof(*values));
	size_t n = 0, below;

	if (!values)
		return -ENOMEM;
	for (size_t i = 0; i < steps->count; i++)
		if (steps->steps[i].is_steady)
			values[n++] = steps->steps[i].end_ns - steps->steps[i].start_ns;
	qsort(values, n, sizeof(*values), by_value);
	if (n >= INTERVAL_STEPS_MIN) {
		double rank = ((double)n - 1.96 * sqrt((double)n)) / 2;

		below = rank > 0 ? (size_t)rank : 0;
		summary->step_low_ns = values[below];
		summary->step_high_ns = values[n - 1 - below];
	}
	free(values);
	return 0;
}

static int load_steps(sqlite3 *db, struct wt_run_summary *summary)
{
	const struct wt_steps_query query = {.process_id = -1, .marker_kernel_id = -1};
	struct wt_run_steps *steps = calloc(1, sizeof(*steps));
	struct wt_step_times times = {0};
	int rc = steps ? wt_run_steps_load(db, &query, steps) : -ENOMEM;

	if (!rc)
		rc = wt_step_times_compute(steps, &times);
	if (!rc && times.count) {
		summary->steps = times.count;
		summary->step_ns = times.median_ns;
		summary->launches_per_step = times.median_launches;
		rc = find_interval(steps, summary);
	}
	if (steps)
		wt_run_steps_fini(steps);
	free(steps);
	return rc == -ENOENT ? 0 : rc;
}

/* ---- SM-time */

static void add_device(struct wt_run_summary *summary, const struct wt_ledger_device *device)
{
	const struct wt_sweep_share *share = &device->share;
	int64_t parts_sm_ns[WT_EVIDENCE_MAX], measured_sm_ns = 0;
	const struct {
		int64_t *sum, sm_ns;
	} terms[] = {
	        {&summary->total_sm_us, device->total_sm_ns},
	        {&summary->active_sm_us, share->active_sm_ns},
	        {&summary->underfill_sm_us, share->underfill_sm_ns},
	        {&summary->wave_sm_us, share->wave_sm_ns},
	        {&summary->straggle_sm_us, share->straggle_sm_ns},
	        {&summary->ramp_sm_us, share->ramp_sm_ns},
	        {&summary->unjudged_sm_us, share->unjudged_sm_ns},
	        {&summary->comm_sm_us, share->comm_sm_ns},
	};

	(void)wt_ledger_measured(device, parts_sm_ns);
	for (int i = 0; i < WT_EVIDENCE_MAX; i++)
		measured_sm_ns += parts_sm_ns[i];
	wt_report_add(&summary->measured_sm_us, measured_sm_ns / 1000);
	for (size_t i = 0; i < sizeof(terms) / sizeof(terms[0]); i++)
		wt_report_add(terms[i].sum, terms[i].sm_ns / 1000);
	for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++)
		wt_report_add(&summary->gap_sm_us[cause],
		              device->gap_ns[cause] / 1000 * device->sms);
	wt_report_add(&summary->busy_ns, device->busy_ns);
	wt_report_add(&summary->wall_ns, device->wall_ns);
}

/* "2x NVIDIA H200 132 SMs", or "3 GPUs" of several kinds. */
static int name_gpus(const struct wt_ledger *ledger, struct wt_run_summary *summary)
{
	const struct wt_ledger_device *first = ledger->devices;
	bool is_one = ledger->device_count > 0;

	for (size_t i = 1; i < ledger->device_count; i++)
		is_one = is_one && first->sms == ledger->devices[i].sms && first->name &&
		         ledger->devices[i].name && !strcmp(first->name, ledger->devices[i].name);
	if (is_one ? asprintf(&summary->gpus, "%zux %s %lld SMs", ledger->device_count,
	                      first->name ? first->name : "?", (long long)first->sms) < 0
	           : asprintf(&summary->gpus, "%zu GPUs", ledger->device_count) < 0) {
		summary->gpus = NULL;
		return -ENOMEM;
	}
	return 0;
}

static int load_tags(sqlite3 *db, struct wt_run_summary *summary)
{
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, "SELECT key, value FROM main.tag ORDER BY key", &s);

	while (!rc && summary->tag_count < WT_RUN_TAGS_MAX && wt_report_step(s) > 0) {
		struct wt_run_tag *tag = &summary->tags[summary->tag_count++];

		rc = wt_report_copy_name(s, 0, &tag->key);
		if (!rc)
			rc = wt_report_copy_name(s, 1, &tag->value);
	}
	sqlite3_finalize(s);
	return rc;
}

static int load_occupancy(sqlite3 *db, struct wt_run_summary *summary)
{
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db,
	                           "SELECT sum(occupancy * time_ns) / sum(time_ns) FROM"
	                           " main.config_stat JOIN main.config USING (config_id)"
	                           " WHERE occupancy IS NOT NULL",
	                           &s);

	if (!rc && wt_report_step(s) > 0 && sqlite3_column_type(s, 0) != SQLITE_NULL)
		summary->occupancy = sqlite3_column_double(s, 0);
	sqlite3_finalize(s);
	return rc;
}

static int fill(struct wt_ledger_view *view, struct wt_run_summary *summary)
{
	const struct wt_ledger *ledger = &view->ledger;
	int rc = load_tags(view->run.db, summary);

	summary->info = view->run.info;
	summary->is_live = view->run.info.processes_live > 0;
	summary->window_ns = ledger->end_ns - ledger->start_ns;
	summary->kernels_lost = wt_report_kernels_lost(&view->losses.loss);
	for (size_t i = 0; i < ledger->device_count; i++)
		add_device(summary, &ledger->devices[i]);
	if (!rc)
		rc = name_gpus(ledger, summary);
	if (!rc)
		rc = load_occupancy(view->run.db, summary);
	if (ledger->steps && !ledger->steps->is_found)
		summary->reason = ledger->steps->reason;
	if (!rc && !summary->reason)
		rc = load_steps(view->run.db, summary);
	return rc;
}

int wt_run_summary_load(const char *spec, struct wt_run_summary *summary)
{
	const struct wt_select_words words = {0};
	struct wt_ledger_view view = {0};
	struct wt_select select;
	int code, rc;

	memset(summary, 0, sizeof(*summary));
	summary->steps = summary->step_ns = summary->launches_per_step = -1;
	summary->step_low_ns = summary->step_high_ns = -1;
	summary->occupancy = -1;
	code = wt_select_parse("sweep", &words, &select);
	wt_select_prefer_steady(&select);
	if (!code)
		code = wt_ledger_open_devices(spec, &select, &view);
	if (!code) {
		rc = fill(&view, summary);
		if (rc) {
			wt_cli_error("%s: %s", view.run.info.path,
			             rc == -ENOMEM ? "out of memory"
			                           : wt_report_problem(view.run.db));
			code = WT_EXIT_FAILED;
		}
	}
	wt_ledger_close(&view);
	wt_select_fini(&select);
	return code;
}

void wt_run_summary_fini(struct wt_run_summary *summary)
{
	for (size_t i = 0; i < summary->tag_count; i++) {
		free(summary->tags[i].key);
		free(summary->tags[i].value);
	}
	free(summary->gpus);
	summary->gpus = NULL;
	summary->tag_count = 0;
}

/* ---- what follows */

int64_t wt_run_summary_gap_sm_us(const struct wt_run_summary *summary)
{
	int64_t sum = 0;

	for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++)
		wt_report_add(&sum, summary->gap_sm_us[cause]);
	return sum;
}

int64_t wt_run_summary_idle_sm_us(const struct wt_run_summary *summary)
{
	int64_t sum = wt_run_summary_gap_sm_us(summary);

	wt_report_add(&sum, summary->underfill_sm_us);
	wt_report_add(&sum, summary->wave_sm_us);
	wt_report_add(&sum, summary->straggle_sm_us);
	wt_report_add(&sum, summary->ramp_sm_us);
	wt_report_add(&sum, summary->comm_sm_us);
	return sum;
}

const char *wt_run_summary_main_cause(const struct wt_run_summary *summary)
{
	int most = 0;

	for (int cause = 1; cause < WT_GAP_CAUSE_MAX; cause++)
		if (summary->gap_sm_us[cause] > summary->gap_sm_us[most])
			most = cause;
	return summary->gap_sm_us[most] > 0 ? wt_gap_cause_name((enum wt_gap_cause)most) : NULL;
}

const char *wt_run_summary_tag(const struct wt_run_summary *summary, const char *key)
{
	for (size_t i = 0; i < summary->tag_count; i++)
		if (!strcmp(summary->tags[i].key, key))
			return summary->tags[i].value;
	return NULL;
}
