/*
 * cost.c - see cost.h.
 */
#include "cli/cost.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "cli/bounds.h"
#include "cli/json.h"
#include "cli/phrase.h"
#include "cli/report_sql.h"
#include "cli/text.h"
#include "schema/wt_db.h"

#define NOT_MEASURED                                                                               \
	"what CUPTI takes inside the driver's calls and on its threads; hooks of named ranges "    \
	"and symbol lookups; wavetapd"

static const char *const budget_states[WT_BUDGET_MAX] = {
        [WT_BUDGET_OFF] = "off",
        [WT_BUDGET_WATCHING] = "watching",
        [WT_BUDGET_STEPPED_DOWN] = "stepped-down",
        [WT_BUDGET_BAD_VALUE] = "bad-value",
        [WT_BUDGET_NO_THREAD] = "no-thread",
        [WT_BUDGET_WAITING] = "waiting",
};

/* ---- reading */

static const char old_sums_sql[] =
        "SELECT 0, total(launches_attempted + graph_launches_attempted), 0, 0,"
        " total(cupti_callback_ns), total(flush_cpu_ns), total(last_ns - first_ns) FROM proc";
static const char sums_sql[] =
        "SELECT count(c.process_id), total(p.launches_attempted + p.graph_launches_attempted),"
        " total(c.launches_timed_ns), total(c.calls_timed_ns), total(p.cupti_callback_ns),"
        " total(p.flush_cpu_ns), total(p.last_ns - p.first_ns), total(c.start_ns),"
        " total(c.threads), total(c.thread_ns), total(c.app_callback_ns), total(c.cupti_callbacks),"
        " total(c.cupti_bytes), total(c.bytes_written), count(*) - count(c.process_id)"
        " FROM main.proc p LEFT JOIN main.own_cost c USING (process_id)";
static const char times_sql[] =
        "SELECT low_ns, sum(launches) FROM main.hook_time WHERE process_id IN (SELECT process_id "
        "FROM main.own_cost) GROUP BY 1";
static const char damaged_sql[] =
        "SELECT EXISTS (SELECT 1 FROM main.own_cost c JOIN main.proc p USING (process_id) "
        "WHERE " WT_BOUND_NO_OWN_COST
        ") OR EXISTS (SELECT 1 FROM main.hook_time h WHERE " WT_BOUND_NO_HOOK_TIME
        ") OR EXISTS (SELECT 1 FROM main.own_cost c LEFT JOIN (SELECT process_id, "
        "total(launches) AS n FROM main.hook_time GROUP BY 1) USING (process_id) WHERE "
        "ifnull(n, 0) <> c.launches_timed)";
static const char budgets_sql[] =
        "SELECT p.process_id, p.pid, c.budget_state, c.budget_ppm / 1e4, c.budget_cost_ppm / 1e4,"
        " ifnull(c.budget_stepped_ns, 0), c.budget_stepped_ns - (SELECT min(first_ns) FROM "
        "main.proc), p.last_ns - c.budget_stepped_ns FROM main.own_cost c JOIN main.proc p USING "
        "(process_id) WHERE c.budget_state > 1 AND NOT ifnull(" WT_BOUND_NO_OWN_COST
        ", 0) ORDER BY p.process_id";

/* Sums of counters, which may be anything in a damaged file. */
static int64_t sum_of(sqlite3_stmt *s, int column)
{
	double value = sqlite3_column_double(s, column);

	return value < 0 ? 0 : value < 9e18 ? (int64_t)value : INT64_MAX;
}

static int read_sums(sqlite3 *db, bool is_known, struct wt_cost *cost)
{
	int64_t timed_ns, calls_timed_ns;
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, is_known ? sums_sql : old_sums_sql, &s);

	if (rc)
		return rc;
	rc = wt_report_step(s);
	if (rc > 0) {
		cost->launches = sum_of(s, 1);
		timed_ns = sum_of(s, 2);
		calls_timed_ns = sum_of(s, 3);
		cost->callback_ns = sum_of(s, 4);
		cost->flush_cpu_ns = sum_of(s, 5);
		cost->wall_ns = sum_of(s, 6);
		cost->start_ns = sum_of(s, 7);
		cost->threads = sum_of(s, 8);
		cost->thread_ns = sum_of(s, 9);
		cost->app_callback_ns = sum_of(s, 10);
		cost->cupti_callbacks = sum_of(s, 11);
		cost->cupti_bytes = sum_of(s, 12);
		cost->bytes_written = sum_of(s, 13);
		cost->launches_ns = wt_cost_launches_ns(cost->hook_time, (uint64_t)timed_ns,
		                                        (uint64_t)cost->launches);
		cost->calls_ns = wt_cost_calls_ns((uint64_t)calls_timed_ns);
		if (cost->is_damaged) {
			cost->callback_ns = cost->flush_cpu_ns = 0;
			cost->reason = "damaged: numbers that can't be";
		}
		/* A recording of before has the counters, but all of them 0. */
		else if (!sqlite3_column_int64(s, 0) ||
		         (cost->callback_ns && !cost->cupti_callbacks))
			cost->reason = "by a version that did not time hooks";
		else if (sqlite3_column_int64(s, 14))
			cost->reason = "some processes were recorded by a version that did not "
			               "time its hooks";
		else if (cost->launches_ns == WT_COST_UNKNOWN)
			cost->reason = "too few launches: one in 256 is timed";
	}
	sqlite3_finalize(s);
	return rc < 0 ? rc : 0;
}

static int read_times(sqlite3 *db, struct wt_cost *cost)
{
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, times_sql, &s);

	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		int64_t low_ns = sqlite3_column_int64(s, 0), count = sqlite3_column_int64(s, 1);

		if (low_ns >= 0 && count > 0)
			cost->hook_time[wt_cost_bucket((uint64_t)low_ns)] += (uint64_t)count;
	}
	sqlite3_finalize(s);
	return rc;
}

static int read_budgets(sqlite3 *db, struct wt_cost *cost)
{
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, budgets_sql, &s);

	if (rc)
		return rc;
	while ((rc = wt_report_step(s)) > 0) {
		struct wt_cost_budget *budget =
		        wt_report_append(&cost->budgets, &cost->budget_count, sizeof(*budget));

		if (!budget) {
			rc = -ENOMEM;
			break;
		}
		budget->process_id = sqlite3_column_int64(s, 0);
		budget->pid = sqlite3_column_int64(s, 1);
		budget->state = sqlite3_column_int64(s, 2);
		budget->limit_pct = sqlite3_column_double(s, 3);
		budget->cost_pct = sqlite3_column_double(s, 4);
		budget->stepped_ns = sqlite3_column_int64(s, 5);
		budget->after_ns = sum_of(s, 6);
		budget->unobserved_ns = sum_of(s, 7);
	}
	sqlite3_finalize(s);
	return rc;
}

static int is_damaged(sqlite3 *db, bool *ret_is)
{
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, damaged_sql, &s);

	if (rc)
		return rc;
	rc = wt_report_step(s);
	*ret_is = rc > 0 && sqlite3_column_int(s, 0);
	sqlite3_finalize(s);
	return rc < 0 ? rc : 0;
}

int wt_cost_read(sqlite3 *db, struct wt_cost *ret_cost)
{
	bool is_known = wt_db_int(db,
	                          "SELECT count(*) = 2 FROM main.sqlite_schema WHERE name IN "
	                          "('own_cost', 'hook_time')",
	                          0);
	bool has_tables = is_known;
	int rc = 0;

	*ret_cost = (struct wt_cost){.launches_ns = WT_COST_UNKNOWN, .calls_ns = WT_COST_UNKNOWN};
	if (has_tables)
		rc = is_damaged(db, &ret_cost->is_damaged);
	is_known = !rc && is_known && !ret_cost->is_damaged;
	if (is_known)
		rc = read_times(db, ret_cost);
	if (!rc)
		rc = read_sums(db, is_known, ret_cost);
	/* One impossible number does not hide from when on kernels are unobserved. */
	if (!rc && has_tables)
		rc = read_budgets(db, ret_cost);
	ret_cost->p50_ns = wt_cost_quantile_ns(ret_cost->hook_time, 50, WT_COST_P50_LEAST);
	ret_cost->p99_ns = wt_cost_quantile_ns(ret_cost->hook_time, 99, WT_COST_P99_LEAST);
	return rc;
}

void wt_cost_fini(struct wt_cost *cost)
{
	free(cost->budgets);
	cost->budgets = NULL;
	cost->budget_count = 0;
}

int64_t wt_cost_own_ns(const struct wt_cost *cost)
{
	double sum = (double)cost->launches_ns + (double)cost->calls_ns + (double)cost->callback_ns;

	if (cost->reason)
		return WT_COST_UNKNOWN;
	return sum < 9e18 ? cost->launches_ns + cost->calls_ns + cost->callback_ns : INT64_MAX;
}

/* ---- text */

static void add_hooks(struct wt_phrase *line, const struct wt_cost *cost)
{
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES], c[WT_TEXT_NUMBER_BYTES];
	double hooks_ns = (double)cost->launches_ns + (double)cost->calls_ns;

	wt_text_ns(a, hooks_ns < 9e18 ? (int64_t)hooks_ns : INT64_MAX);
	if (cost->p99_ns != WT_COST_UNKNOWN)
		wt_phrase_add(line, "hooks %s (a launch %s, 1%% over %s)", a,
		              wt_text_ns(b, cost->p50_ns), wt_text_ns(c, cost->p99_ns));
	else if (cost->p50_ns != WT_COST_UNKNOWN)
		wt_phrase_add(line, "hooks %s (a launch %s)", a, wt_text_ns(b, cost->p50_ns));
	else
		wt_phrase_add(line, "hooks %s", a);
	if (cost->thread_ns > 0)
		wt_phrase_add(
		        line, "%s%% of the launching threads' time",
		        wt_text_percent(a, (double)cost->launches_ns, (double)cost->thread_ns));
}

void wt_cost_add(struct wt_phrase *line, const struct wt_cost *cost, const char *whole)
{
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];
	int64_t own_ns = wt_cost_own_ns(cost);

	if (own_ns == WT_COST_UNKNOWN) {
		if (cost->is_damaged) {
			wt_phrase_add(line, "own cost%s: . (%s)", whole, cost->reason);
		} else if (cost->callback_ns) {
			wt_phrase_add(line, "own cost%s: callbacks %s", whole,
			              wt_text_ns(a, cost->callback_ns));
			wt_phrase_add(line, "hooks . (%s)", cost->reason);
		}
		return;
	}
	if (cost->wall_ns > 0)
		wt_phrase_add(line, "own cost %s, %s%% of wall time%s", wt_text_ns(a, own_ns),
		              wt_text_percent(b, (double)own_ns, (double)cost->wall_ns), whole);
	else
		wt_phrase_add(line, "own cost %s%s", wt_text_ns(a, own_ns), whole);
	add_hooks(line, cost);
	wt_phrase_add(line, "callbacks %s (CUPTI inside the driver can't be told)",
	              wt_text_ns(a, cost->callback_ns));
}

void wt_cost_print_budgets(struct wt_phrase *line, const struct wt_cost *cost)
{
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];

	for (size_t i = 0; i < cost->budget_count; i++) {
		const struct wt_cost_budget *budget = &cost->budgets[i];
		const char *text = budget->state < WT_BUDGET_MAX
		                           ? wt_budget_text((unsigned)budget->state)
		                           : NULL;

		if (budget->state == WT_BUDGET_STEPPED_DOWN)
			wt_phrase_add(line,
			              "unobserved: the last %s, from %s on, of process %" PRId64,
			              wt_text_ns(a, budget->unobserved_ns),
			              wt_text_ns(b, budget->after_ns), budget->pid);
		else
			wt_phrase_add(line, "process %" PRId64 ": %s", budget->pid,
			              text ? text : "a limit of an unknown kind");
		if (budget->state == WT_BUDGET_STEPPED_DOWN)
			wt_phrase_add(line, "own cost of %.3g%% exceeded WAVETAP_BUDGET of %.4g%%",
			              budget->cost_pct, budget->limit_pct);
		wt_phrase_end(line);
	}
}

/* ---- JSON */

static void put_known(struct wt_json *json, const char *key, bool is_known, int64_t value)
{
	wt_json_key(json, key);
	if (is_known)
		wt_json_int(json, value);
	else
		wt_json_null(json);
}

static void put_share(struct wt_json *json, const char *key, int64_t part_ns, int64_t whole_ns)
{
	wt_json_key(json, key);
	if (part_ns >= 0 && whole_ns > 0)
		wt_json_fixed(json, (double)part_ns / (double)whole_ns, 6);
	else
		wt_json_null(json);
}

static void put_budget(struct wt_json *json, const struct wt_cost_budget *budget)
{
	bool is_down = budget->state == WT_BUDGET_STEPPED_DOWN;
	bool is_state = budget->state >= 0 && budget->state < WT_BUDGET_MAX;

	wt_json_object_begin(json);
	wt_json_key(json, "process_id");
	wt_json_int(json, budget->process_id);
	wt_json_key(json, "pid");
	wt_json_int(json, budget->pid);
	wt_json_key(json, "state");
	wt_json_string(json, is_state ? budget_states[budget->state] : NULL);
	wt_json_key(json, "limit_pct");
	if (budget->limit_pct > 0)
		wt_json_fixed(json, budget->limit_pct, 4);
	else
		wt_json_null(json);
	wt_json_key(json, "cost_pct");
	if (is_down)
		wt_json_fixed(json, budget->cost_pct, 4);
	else
		wt_json_null(json);
	put_known(json, "unobserved_from_ns", is_down, budget->stepped_ns);
	put_known(json, "unobserved_ns", is_down, budget->unobserved_ns);
	wt_json_object_end(json);
}

void wt_cost_put(struct wt_json *json, const struct wt_cost *cost)
{
	uint64_t timed = wt_cost_timed(cost->hook_time);
	int64_t own_ns = wt_cost_own_ns(cost);
	bool is_known = !cost->reason;

	wt_json_key(json, "cost");
	wt_json_object_begin(json);
	put_known(json, "flush_cpu_ns", !cost->is_damaged, cost->flush_cpu_ns);
	put_known(json, "cupti_callback_ns", !cost->is_damaged, cost->callback_ns);
	put_known(json, "own_ns", own_ns != WT_COST_UNKNOWN, own_ns);
	put_share(json, "share_of_wall", own_ns, cost->wall_ns);
	put_known(json, "hook_launches_ns", is_known, cost->launches_ns);
	put_known(json, "hook_calls_ns", is_known, cost->calls_ns);
	put_known(json, "hook_p50_ns", cost->p50_ns != WT_COST_UNKNOWN, cost->p50_ns);
	put_known(json, "hook_p99_ns", cost->p99_ns != WT_COST_UNKNOWN, cost->p99_ns);
	put_share(json, "share_of_launching_threads", is_known ? cost->launches_ns : -1,
	          cost->thread_ns);
	wt_json_key(json, "launches");
	wt_json_int(json, cost->launches);
	put_known(json, "launches_timed", !cost->is_damaged, (int64_t)timed);
	put_known(json, "start_ns", is_known, cost->start_ns);
	put_known(json, "wall_ns", cost->wall_ns > 0, cost->wall_ns);
	put_known(json, "cupti_callbacks", is_known, cost->cupti_callbacks);
	put_known(json, "app_callback_ns", is_known, cost->app_callback_ns);
	put_known(json, "cupti_bytes", is_known, cost->cupti_bytes);
	put_known(json, "bytes_written", is_known, cost->bytes_written);
	wt_json_key(json, "reason");
	wt_json_string(json, cost->reason);
	wt_json_key(json, "not_measured");
	wt_json_string(json, NOT_MEASURED);
	wt_json_key(json, "budgets");
	wt_json_array_begin(json);
	for (size_t i = 0; i < cost->budget_count; i++)
		put_budget(json, &cost->budgets[i]);
	wt_json_array_end(json);
	wt_json_object_end(json);
}
