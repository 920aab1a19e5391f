/*
 * gpu_state.c - see gpu_state.h. Single-threaded; blocks on the file.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/gpu_state.h"
#include "cli/rates.h"
#include "cli/report_sql.h"
#include "schema/wt_db.h"

char *wt_throttle_text(char text[WT_THROTTLE_TEXT_BYTES], uint64_t reasons)
{
	/* nvml.h: nvmlClocksEventReason* */
	static const struct {
		uint64_t bit;
		const char *words;
	} known[] = {
	        {0x4, "power limit"},      {0x8, "hardware slowdown"}, {0x20, "heat (software)"},
	        {0x40, "heat (hardware)"}, {0x80, "power brake"},
	};
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (reasons & known[i].bit)
			used += (size_t)snprintf(text + used, WT_THROTTLE_TEXT_BYTES - used, "%s%s",
			                         used ? ", " : "", known[i].words);
	return text;
}

int wt_gpu_states_load(sqlite3 *db, int64_t device_id, int64_t start_ns, int64_t end_ns,
                       struct wt_gpu_states *ret_states)
{
	/* The state that the window begins with was asked for before it, at times. */
	static const char sql[] =
	        "SELECT throttle_reasons, foreign_processes, foreign_pid, sm_clock_mhz,"
	        " temperature_c, power_mw FROM gpu_state WHERE device_id = ?1 AND time_ns < ?3"
	        " AND time_ns >= ifnull((SELECT max(time_ns) FROM gpu_state WHERE device_id = ?1"
	        " AND time_ns <= ?2), ?2) ORDER BY time_ns";
	double power_mw = 0, throttled_mhz = 0;
	int64_t powers = 0, clocks = 0;
	sqlite3_stmt *s;
	int rc;

	memset(ret_states, 0, sizeof(*ret_states));
	if (!wt_db_has_table(db, "gpu_state"))
		return 0;
	rc = wt_report_prepare(db, sql, &s);
	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, device_id);
	sqlite3_bind_int64(s, 2, start_ns);
	sqlite3_bind_int64(s, 3, end_ns);
	while ((rc = wt_report_step(s)) > 0) {
		uint64_t reasons = (uint64_t)sqlite3_column_int64(s, 0) & WT_THROTTLE_MASK;
		int64_t foreign = sqlite3_column_int64(s, 1), mhz = sqlite3_column_int64(s, 3);

		ret_states->count++;
		ret_states->throttled += reasons != 0;
		ret_states->reasons |= reasons;
		ret_states->foreign_known += sqlite3_column_type(s, 1) != SQLITE_NULL;
		ret_states->foreign += foreign > 0;
		if (foreign > ret_states->foreign_max) {
			ret_states->foreign_max = foreign;
			ret_states->foreign_pid = sqlite3_column_int64(s, 2);
		}
		if (mhz > 0 && (!ret_states->clock_min_mhz || mhz < ret_states->clock_min_mhz))
			ret_states->clock_min_mhz = mhz;
		if (mhz > 0 && reasons) {
			throttled_mhz += (double)mhz;
			clocks++;
		}
		if (mhz > ret_states->clock_max_mhz)
			ret_states->clock_max_mhz = mhz;
		if (sqlite3_column_int64(s, 4) > ret_states->temperature_max_c)
			ret_states->temperature_max_c = sqlite3_column_int64(s, 4);
		if (sqlite3_column_type(s, 5) != SQLITE_NULL) {
			power_mw += sqlite3_column_double(s, 5);
			powers++;
		}
	}
	sqlite3_finalize(s);
	if (clocks)
		ret_states->throttled_mhz = throttled_mhz / (double)clocks;
	if (powers)
		ret_states->power_mean_w = power_mw / (double)powers / 1e3;
	return rc;
}

bool wt_gpu_states_say(struct wt_phrase *line, const struct wt_gpu_states *states)
{
	char text[WT_THROTTLE_TEXT_BYTES];

	if (states->throttled)
		wt_phrase_add(line,
		              "clocks held down by %s in %" PRId64 " of %" PRId64
		              " readings (SM clock %" PRId64 " to %" PRId64 " MHz)",
		              wt_throttle_text(text, states->reasons), states->throttled,
		              states->count, states->clock_min_mhz, states->clock_max_mhz);
	if (states->foreign)
		wt_phrase_add(line,
		              "other processes on the GPU in %" PRId64 " of %" PRId64
		              " readings (pid %" PRId64 ")",
		              states->foreign, states->foreign_known, states->foreign_pid);
	return states->throttled || states->foreign;
}
