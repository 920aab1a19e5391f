/*
 * sm_agreement.c - does the ledger's active SM-time agree with the samples' SM activity (see
 * sm_activity.h), and if not, why, likely. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/gpu_state.h"
#include "cli/rates.h"
#include "cli/report_sql.h"
#include "cli/sm_activity.h"
#include "schema/wt_db.h"

#define COVERAGE_WHOLE 0.99

static void say(struct wt_sm_agreement *agreement, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
static void say(struct wt_sm_agreement *agreement, const char *format, ...)
{
	size_t used = strlen(agreement->reason), bytes = sizeof(agreement->reason);
	va_list ap;

	if (used)
		used += (size_t)snprintf(agreement->reason + used, bytes - used, "; ");
	va_start(ap, format);
	if (used < bytes)
		vsnprintf(agreement->reason + used, bytes - used, format, ap);
	va_end(ap);
}

/*
 * By how much the ledger would have more active if configurations that profiled launches stand for had
 * what was sampled of them: a share of the total. Of the whole run: of a window, about.
 */
static double profiled_less(sqlite3 *db, const struct wt_ledger_device *device)
{
	static const char sql[] =
	        "SELECT total((s.active_sms - p.active_sms) * t.time_ns) / total(t.time_ns)"
	        " FROM (SELECT config_id, sum(time_ns) AS time_ns FROM main.config_stat GROUP BY "
	        "1) t"
	        " JOIN config c USING (config_id) LEFT JOIN measured p ON p.config_id = c.config_id"
	        " AND p.evidence = 'profiled' AND p.is_used LEFT JOIN measured s"
	        " ON s.config_id = c.config_id AND s.evidence = 'sampled' AND s.active_sms NOT NULL"
	        " WHERE c.device_id = ?1";
	sqlite3_stmt *s;
	double sms = 0;

	if (!wt_db_has_table(db, "measured") || wt_report_prepare(db, sql, &s))
		return 0;
	sqlite3_bind_int64(s, 1, device->device_id);
	if (wt_report_step(s) > 0)
		sms = sqlite3_column_double(s, 0);
	sqlite3_finalize(s);
	return sms * (double)device->busy_ns / (double)device->total_sm_ns;
}

double wt_sm_unexplained_share(sqlite3 *db, int64_t device_id)
{
	sqlite3_stmt *s;
	double share = 0;

	if (!wt_db_has_table(db, "fold") ||
	    wt_report_prepare(db,
	                      "SELECT 1.0 * (active_sm_ns - explained_sm_ns) / active_sm_ns"
	                      " FROM main.fold WHERE device_id = ?1 AND active_sm_ns > 0",
	                      &s))
		return 0;
	sqlite3_bind_int64(s, 1, device_id);
	if (wt_report_step(s) > 0)
		share = sqlite3_column_double(s, 0);
	sqlite3_finalize(s);
	return share > 0 && share <= 1 ? share : 0; /* else a damaged file */
}

/* Somebody else's kernels: as folding and NVML have it. */
static void find_others(sqlite3 *db, const struct wt_ledger_device *device,
                        const struct wt_gpu_states *states, struct wt_sm_agreement *agreement)
{
	double more = wt_sm_unexplained_share(db, device->device_id) * agreement->sampled_share;
	char a[WT_TEXT_NUMBER_BYTES],
	        who[80] = "another program or run used the GPU, or kernels have no records";

	if (states->foreign)
		snprintf(who, sizeof(who), "another process used the GPU (pid %" PRId64 ")",
		         states->foreign_pid);
	if (more >= WT_SM_AGREEMENT_POINTS / 4)
		say(agreement, "%s%% no kernel of this run explains: %s",
		    wt_text_percent(a, more, 1), who);
	else if (states->foreign)
		say(agreement, "%s", who);
}

/* What could make them differ, and did happen in this window. */
static void find_reasons(sqlite3 *db, const struct wt_ledger_device *device,
                         const struct wt_gpu_states *states, struct wt_sm_agreement *agreement)
{
	double total = (double)device->total_sm_ns, more;
	bool is_ledger_less = agreement->ledger_share < agreement->sampled_share;
	char a[WT_TEXT_NUMBER_BYTES];

	if (is_ledger_less)
		find_others(db, device, states, agreement);
	if (agreement->coverage < COVERAGE_WHOLE)
		say(agreement, "samples cover %s%% of the window",
		    wt_text_percent(a, agreement->coverage, 1));
	more = profiled_less(db, device) * (is_ledger_less ? 1 : -1);
	if (more >= WT_SM_AGREEMENT_POINTS / 4)
		say(agreement, "launches that were profiled had %s%% %s than sampled ones",
		    wt_text_percent(a, more, 1), is_ledger_less ? "less" : "more");
	more = (double)device->share.unjudged_sm_ns / total;
	if (is_ledger_less && more >= WT_SM_AGREEMENT_POINTS / 4)
		say(agreement, "%s%% is unjudged, which can be active",
		    wt_text_percent(a, more, 1));
	if (is_ledger_less && device->kernels_refused)
		say(agreement, "kernels are missing in the ledger");
	more = (double)(device->share.wave_max_sm_ns - device->share.wave_sm_ns) / total;
	if (!is_ledger_less && more >= WT_SM_AGREEMENT_POINTS / 4)
		say(agreement, "partial waves may take %s%% more", wt_text_percent(a, more, 1));
	if (!agreement->reason[0])
		say(agreement, "%s",
		    is_ledger_less ? "kernels that the run has no records of"
		                   : "unequal blocks and launching, which a model doesn't know");
}

int wt_sm_activity_agree(sqlite3 *db, const struct wt_ledger *ledger,
                         const struct wt_ledger_device *device, struct wt_sm_agreement *ret)
{
	struct wt_gpu_states states;
	struct wt_sm_sum sum = {0};
	int rc;

	memset(ret, 0, sizeof(*ret));
	rc = wt_sm_activity_buckets(db, device->device_id, ledger->start_ns, ledger->end_ns,
	                            ledger->end_ns - ledger->start_ns, 1, &sum);
	if (rc || sum.sampled_ns <= 0 || device->total_sm_ns <= 0 || device->wall_ns <= 0)
		return rc;
	ret->has_samples = true;
	ret->sampled_share = sum.active_ns / sum.sampled_ns;
	ret->coverage = fmin(1, sum.sampled_ns / (double)device->wall_ns);
	ret->has_ledger = !ledger->is_samples_alone;
	if (!ret->has_ledger)
		return 0;
	ret->ledger_share = (double)device->share.active_sm_ns / (double)device->total_sm_ns;
	if (fabs(ret->ledger_share - ret->sampled_share) <= WT_SM_AGREEMENT_POINTS)
		return 0;
	rc = wt_gpu_states_load(db, device->device_id, ledger->start_ns, ledger->end_ns, &states);
	if (!rc)
		find_reasons(db, device, &states, ret);
	return rc;
}

/* ---- output */

void wt_sm_agreement_print(struct wt_phrase *line, const struct wt_sm_agreement *agreement)
{
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];
	double points = 100 * (agreement->ledger_share - agreement->sampled_share);

	if (!agreement->has_samples)
		return;
	if (!agreement->has_ledger) {
		wt_phrase_add(line, "SM activity, as DCGM has it: %s%% sampled",
		              wt_text_percent(a, agreement->sampled_share, 1));
		wt_phrase_add(line, "samples cover %s%% of the window",
		              wt_text_percent(b, agreement->coverage, 1));
		wt_phrase_end(line);
		return;
	}
	wt_phrase_add(line, "SM activity, as DCGM has it: %s%% sampled, %s%% by the ledger",
	              wt_text_percent(a, agreement->sampled_share, 1),
	              wt_text_percent(b, agreement->ledger_share, 1));
	if (!agreement->reason[0])
		wt_phrase_add(line, "they agree within a point");
	else
		wt_phrase_words(line, 2, "%.1f points %s: %s", fabs(points),
		                points < 0 ? "less" : "more", agreement->reason);
	wt_phrase_end(line);
}

int wt_sm_activity_print(FILE *out, const struct wt_text_terminal *terminal, sqlite3 *db,
                         const struct wt_ledger *ledger)
{
	struct wt_phrase line;

	wt_phrase_init(&line, out, terminal);
	for (size_t i = 0; i < ledger->device_count; i++) {
		const struct wt_ledger_device *device = &ledger->devices[i];
		struct wt_sm_agreement agreement;
		int rc = wt_sm_activity_agree(db, ledger, device, &agreement);

		if (rc)
			return rc;
		if (ledger->device_count > 1 && agreement.has_samples)
			wt_phrase_add(&line, "device %" PRId64, device->device_id);
		wt_sm_agreement_print(&line, &agreement);
	}
	return 0;
}

int wt_sm_activity_put_json(struct wt_json *json, sqlite3 *db, const struct wt_ledger *ledger,
                            const struct wt_ledger_device *device)
{
	struct wt_sm_agreement agreement;
	int rc = wt_sm_activity_agree(db, ledger, device, &agreement);

	wt_json_key(json, "sm_activity");
	if (rc || !agreement.has_samples) {
		wt_json_null(json);
		return rc;
	}
	wt_json_object_begin(json);
	wt_json_key(json, "sampled");
	wt_json_double(json, agreement.sampled_share);
	wt_json_key(json, "ledger");
	wt_json_double(json, agreement.has_ledger ? agreement.ledger_share : NAN);
	wt_json_key(json, "coverage");
	wt_json_double(json, agreement.coverage);
	wt_json_key(json, "reason");
	wt_json_string(json, agreement.reason[0] ? agreement.reason : NULL);
	wt_json_object_end(json);
	return 0;
}
