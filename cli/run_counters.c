/*
 * run_counters.c - see run_counters.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/run_counters.h"
#include "cli/text.h"
#include "schema/wt_db.h"
#include "schema/wt_segment.h"

#define CPU_SHARE_NS INT64_C(1000000000) /* of less, its set-up is the most: time, not a share */

/*
 * How often it sampled, from buckets of samples: seven of ten samples came as often or more. The few
 * with all metrics come less often; buckets that hold less than ten samples tell nothing.
 */
static const char interval_sql[] =
        "WITH bucket AS (SELECT sampled_ns / samples AS every_ns, samples FROM sm_bucket"
        " WHERE samples >= 10), upto AS (SELECT every_ns, sum(samples) OVER (ORDER BY every_ns)"
        " AS samples FROM bucket) SELECT min(every_ns) FROM upto"
        " WHERE 10 * samples >= 7 * (SELECT sum(samples) FROM bucket)";

static const char sql[] =
        "SELECT count(DISTINCT ifnull(device_id, -sampler_id)),"
        " count(DISTINCT device_id) FILTER (WHERE samples_stored > 0),"
        " min(interval_ns) FILTER (WHERE samples_stored > 0),"
        " max(last_ns) - min(first_ns), sum(cpu_ns), sum(samples_dropped), sum(overflows),"
        " group_concat(DISTINCT reason) FROM sampler";

/* What to add to the line. */
static void append(char *line, size_t line_bytes, const char *before, const char *text,
                   const char *after)
{
	size_t used = strlen(line);

	snprintf(line + used, line_bytes - used, "%s%s%s", before, text, after);
}

/* That of auto changes with what a sample costs: `begun_ns`, unless samples came less often. */
static int64_t interval_of(sqlite3 *db, int64_t begun_ns)
{
	sqlite3_stmt *s = NULL;
	int64_t every_ns = 0;

	if (sqlite3_prepare_v2(db, interval_sql, -1, &s, NULL) == SQLITE_OK &&
	    sqlite3_step(s) == SQLITE_ROW)
		every_ns = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	/* near enough is a bucket's rounding */
	return every_ns * 100 > begun_ns * 112 ? (every_ns + 500) / 1000 * 1000 : begun_ns;
}

/* A file of a run whose sampler was killed may know more: who did it, and why. */
static const char *reason_of(sqlite3 *db, const char *reasons, char *problem, size_t problem_bytes)
{
	bool is_killed = reasons && !strcmp(reasons, "it was killed");

	return is_killed && wt_db_meta(db, "sampler_problem", problem, problem_bytes) ? problem
	                                                                              : reasons;
}

/* Some samples are there: how often, what it cost, what is missing. */
static void tell_sampled(sqlite3 *db, sqlite3_stmt *s, char *line, size_t line_bytes)
{
	char problem[400];
	const char *reasons =
	        reason_of(db, (const char *)sqlite3_column_text(s, 7), problem, sizeof(problem));
	int64_t all = sqlite3_column_int64(s, 0), sampled = sqlite3_column_int64(s, 1);
	int64_t wall_ns = sqlite3_column_int64(s, 3), dropped = sqlite3_column_int64(s, 5);
	char number[WT_TEXT_NUMBER_BYTES];

	snprintf(line, line_bytes, "counters every %s (wavetap-sampler",
	         wt_text_ns(number, interval_of(db, sqlite3_column_int64(s, 2))));
	if (all > 1) {
		snprintf(number, sizeof(number), "%" PRId64 " of %" PRId64, sampled, all);
		append(line, line_bytes, " on ", number, " devices");
	}
	if (wall_ns >= CPU_SHARE_NS) {
		snprintf(number, sizeof(number), "%.2f",
		         (double)sqlite3_column_int64(s, 4) / (double)wall_ns);
		append(line, line_bytes, ", ", number, " of a core");
	} else if (sqlite3_column_int64(s, 4) > 0) {
		append(line, line_bytes, ", ", wt_text_ns(number, sqlite3_column_int64(s, 4)),
		       " of CPU");
	}
	append(line, line_bytes, ")", "", "");
	if (dropped)
		append(line, line_bytes, "  ", wt_text_count(number, dropped), " samples dropped");
	if (sqlite3_column_int64(s, 6))
		append(line, line_bytes, "  ", wt_text_count(number, sqlite3_column_int64(s, 6)),
		       " holes by overflow");
	if (reasons)
		append(line, line_bytes, "  ", reasons, "");
}

void wt_run_counters(sqlite3 *db, bool is_asked, char *line, size_t line_bytes)
{
	char problem[400] = "";
	sqlite3_stmt *s = NULL;
	const char *reasons;

	snprintf(line, line_bytes, "counters: off (--sample off)");
	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) == SQLITE_OK &&
	    sqlite3_step(s) == SQLITE_ROW) {
		reasons = (const char *)sqlite3_column_text(s, 7);
		if (sqlite3_column_int64(s, 1))
			tell_sampled(db, s, line, line_bytes);
		else if (reasons)
			snprintf(line, line_bytes, "counters: off, because %s", reasons);
		else if (sqlite3_column_int64(s, 0) || is_asked)
			snprintf(line, line_bytes, "counters: off, because %s",
			         wt_db_meta(db, "sampler_problem", problem, sizeof(problem))
			                 ? problem
			                 : "the program ended before they were set up, "
			                   "or another tool is in it (CUDA_INJECTION64_PATH)");
	}
	sqlite3_finalize(s);
}

/* Of several processes the reason of one that was refused, if there is one. */
static const char profile_sql[] =
        "SELECT sum(stored), sum(cost_ns), max(state), detail, count(*),"
        " (SELECT count(DISTINCT config_id) FROM main.profile_launch JOIN kernel_row"
        "  USING (process_id, launch_seq)) FROM profile_count WHERE state > 0";

static void tell_profiled(sqlite3_stmt *s, char *line, size_t line_bytes)
{
	unsigned state = (unsigned)sqlite3_column_int(s, 2);
	const char *words = wt_profile_text(state);
	int64_t launches = sqlite3_column_int64(s, 0), detail = sqlite3_column_int64(s, 3);
	char number[WT_TEXT_NUMBER_BYTES];

	snprintf(line, line_bytes, "profiled ");
	append(line, line_bytes, launches ? wt_text_count(number, launches) : "nothing",
	       launches == 1  ? " launch"
	       : launches > 1 ? " launches"
	                      : "",
	       "");
	if (launches) {
		append(line, line_bytes, " of ", wt_text_count(number, sqlite3_column_int64(s, 5)),
		       sqlite3_column_int64(s, 5) == 1 ? " configuration" : " configurations");
		append(line, line_bytes, ", ", wt_text_ns(number, sqlite3_column_int64(s, 1)),
		       " of waiting");
	}
	if (state == WT_PROFILE_ON || state == WT_PROFILE_DONE)
		return;
	append(line, line_bytes, ": ",
	       words ? words : "for a reason that this version does not know", "");
	if (detail) {
		snprintf(number, sizeof(number), "%" PRId64, detail);
		append(line, line_bytes, " (code ", number, ")");
	}
}

bool wt_run_profiled(sqlite3 *db, char *line, size_t line_bytes)
{
	sqlite3_stmt *s = NULL;
	bool is_any = sqlite3_prepare_v2(db, profile_sql, -1, &s, NULL) == SQLITE_OK &&
	              sqlite3_step(s) == SQLITE_ROW && sqlite3_column_int64(s, 4);

	if (is_any)
		tell_profiled(s, line, line_bytes);
	sqlite3_finalize(s);
	return is_any;
}
