/*
 * story.c - see story.h: what the lines are made of. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/report_sql.h"
#include "cli/sm_activity.h"
#include "cli/story.h"

#define LIMIT_VARIABLE "WAVETAP_SUMMARY_MS"
#define LIMIT_MS 1000
#define BUSY_TIMES 3
#define LIMIT_MS_MAX 3600000
#define STEPS_BETWEEN_LOOKS 20000 /* of SQLite's machine: a millisecond and less */

static int64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

int64_t wt_story_limit_ns(void)
{
	const char *given = getenv(LIMIT_VARIABLE);
	int64_t ms = LIMIT_MS;
	char *end;

	if (given && given[0] >= '0' && given[0] <= '9') {
		long long value = strtoll(given, &end, 10);

		if (!*end)
			ms = value < LIMIT_MS_MAX ? value : LIMIT_MS_MAX;
	}
	return ms * 1000000;
}

/* On a busy machine most of the time may be others': then it is worth a little more. */
static bool is_time_up(const struct wt_story *story)
{
	int64_t wall_ns = now_ns(CLOCK_MONOTONIC) - story->started_ns;
	int64_t cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID) - story->started_cpu_ns;

	return wall_ns >= BUSY_TIMES * story->limit_ns ||
	       (wall_ns >= story->limit_ns && cpu_ns >= story->limit_ns / 2);
}

/* SQLite asks now and then; anything but 0 ends the statement. */
static int ask_time(void *arg)
{
	return is_time_up(arg);
}

/* The devices' lines, where the run's file has their sums. */
static void load_summed(struct wt_story *story)
{
	int rc = wt_ledger_load_summed(story->run->db, &story->select, &story->ledger);

	story->has_ledger = rc > 0;
	if (rc <= 0)
		wt_ledger_fini(&story->ledger);
}

static int find(struct wt_story *story, struct wt_ledger *ledger, struct wt_gaps *gaps)
{
	const struct wt_diagnose_limits limits = {
	        .threshold = WT_DIAGNOSE_THRESHOLD_PERCENT / 100,
	        .overlap = WT_DIAGNOSE_OVERLAP_PERCENT / 100,
	        .graph_gap_ns = WT_DIAGNOSE_GRAPH_GAP_NS,
	};
	struct wt_diagnosis *diagnosis = calloc(1, sizeof(*diagnosis));
	int rc =
	        diagnosis ? wt_diagnose(story->run->db, ledger, gaps, &limits, diagnosis) : -ENOMEM;

	if (!rc) {
		story->diagnosis = diagnosis;
		return 0;
	}
	if (rc == -EIO)
		snprintf(story->problem, sizeof(story->problem), "%s", diagnosis->problem);
	free(diagnosis);
	return rc;
}

/* All launches are read for it; the ledger that comes of it is taken if there is no other. */
static int load_findings(struct wt_story *story)
{
	struct wt_ledger ledger = {0};
	struct wt_ledger_observer observer;
	struct wt_gaps gaps;
	int rc;

	wt_gaps_init(&gaps, WT_DIAGNOSE_GRAPH_GAP_NS);
	wt_gaps_observe(&gaps, &observer);
	rc = wt_ledger_load_observed(story->run->db, &story->select, &observer, &ledger);
	if (rc == -EIO)
		snprintf(story->problem, sizeof(story->problem), "%s", ledger.problem);
	if (!rc && !story->has_ledger) {
		story->ledger = ledger;
		story->has_ledger = true;
		memset(&ledger, 0, sizeof(ledger));
	}
	if (!rc)
		rc = find(story, ledger.devices ? &ledger : &story->ledger, &gaps);
	wt_gaps_fini(&gaps);
	wt_ledger_fini(&ledger);
	return rc;
}

/* By the counters, whatever program it was; at most WT_SM_SAMPLES_FOR_MEANS are read. */
static void load_sampled(struct wt_story *story)
{
	const struct wt_ledger *ledger = &story->ledger;
	double *shares = calloc(ledger->device_count + 1, sizeof(*shares));
	size_t known = 0;

	for (size_t i = 0; shares && i < ledger->device_count; i++) {
		struct wt_sm_agreement agreement;

		if (wt_sm_activity_agree(story->run->db, ledger, &ledger->devices[i], &agreement) ||
		    !agreement.has_samples)
			break;
		shares[known++] = agreement.sampled_share;
	}
	if (known && known == ledger->device_count)
		story->sampled_shares = shares;
	else
		free(shares);
}

/* What time allows. */
static void load_rest(struct wt_story *story)
{
	int rc = 0;

	story->started_ns = now_ns(CLOCK_MONOTONIC);
	story->started_cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	load_summed(story);
	if (story->report.is_of_sums) {
		snprintf(story->problem, sizeof(story->problem),
		         "the oldest rows were dropped; wavetap diagnose is of those left");
	} else if (!is_time_up(story)) {
		sqlite3_progress_handler(story->run->db, STEPS_BETWEEN_LOOKS, ask_time, story);
		rc = load_findings(story);
		sqlite3_progress_handler(story->run->db, 0, NULL, NULL);
	}
	if (story->has_ledger)
		load_sampled(story);
	story->is_late = !story->diagnosis && is_time_up(story);
	if (story->is_late)
		story->problem[0] = '\0';
	else if (rc && rc != -EIO)
		snprintf(story->problem, sizeof(story->problem), "%s",
		         rc == -ERANGE ? "times or SMs of a device are beyond what can be"
		                       : strerror(-rc));
}

int wt_story_load(const struct wt_run_file *run, const char *word, int64_t limit_ns,
                  struct wt_story *story)
{
	const struct wt_select_words all = {0};
	const struct wt_report_query query = {.select = &story->select};
	int rc;

	*story = (struct wt_story){.run = run, .word = word, .limit_ns = limit_ns};
	(void)wt_select_parse("run", &all, &story->select);
	wt_select_prefer_steady(&story->select);
	story->select.takes_sums = wt_ledger_has_sums(run->db);
	if (wt_select_apply(&story->select, run)) {
		/* said why; all of it, then */
		wt_select_fini(&story->select);
		(void)wt_select_parse("run", &all, &story->select);
	}
	rc = wt_report_load(run->db, &query, &story->report);
	story->killed =
	        wt_db_int(run->db, "SELECT count(*) FROM main.proc WHERE state = 'killed'", 0);
	if (!rc && story->report.row_count)
		load_rest(story);
	return rc;
}

void wt_story_fini(struct wt_story *story)
{
	if (story->has_ledger)
		wt_ledger_fini(&story->ledger);
	free(story->diagnosis);
	free(story->sampled_shares);
	wt_report_fini(&story->report);
	wt_select_fini(&story->select);
}
