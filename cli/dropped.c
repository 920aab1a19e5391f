/*
 * dropped.c - see dropped.h. Single-threaded; blocks on the file.
 */
#include "cli/dropped.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/report_sql.h"
#include "cli/text.h"
#include "daemon/ledger_sums.h"
#include "schema/wt_db.h"

/* Shares go with their kernels, and have no times. */
static const char sums_sql[] =
        "SELECT count(*), max(last_ns), min(first_ns), total(iif(kind = 1, row_count, 0)), "
        "total(iif(kind = 2, row_count, 0)), total(iif(kind = 3, row_count, 0)), total(bytes), "
        "max(dropped_ns) FROM main.dropped";

int wt_dropped_load(sqlite3 *db, struct wt_dropped *ret_dropped)
{
	int64_t start_ns = 0, end_ns = 0;
	char mended[32];
	sqlite3_stmt *s;
	int rc;

	memset(ret_dropped, 0, sizeof(*ret_dropped));
	if (!wt_db_has_table(db, "dropped"))
		return 0;
	rc = wt_report_prepare(db, sums_sql, &s);
	if (rc)
		return rc;
	rc = wt_report_step(s);
	if (rc > 0 && sqlite3_column_int64(s, 0)) {
		ret_dropped->is_any = true;
		ret_dropped->kept_ns = sqlite3_column_int64(s, 1);
		ret_dropped->first_ns = sqlite3_column_int64(s, 2);
		ret_dropped->kernels = (int64_t)sqlite3_column_double(s, 3);
		ret_dropped->launches = (int64_t)sqlite3_column_double(s, 4);
		ret_dropped->calls = (int64_t)sqlite3_column_double(s, 5);
		ret_dropped->bytes = (int64_t)sqlite3_column_double(s, 6);
		ret_dropped->dropped_ns = sqlite3_column_int64(s, 7);
	}
	sqlite3_finalize(s);
	if (rc < 0 || !ret_dropped->is_any)
		return rc < 0 ? rc : 0;
	ret_dropped->after_ns = -1;
	if (wt_ledger_span(db, &start_ns, &end_ns) > 0 && ret_dropped->kept_ns >= start_ns)
		ret_dropped->after_ns = ret_dropped->kept_ns - start_ns;
	if (wt_db_meta(db, WT_LEDGER_MENDED, mended, sizeof(mended)))
		(void)sscanf(mended, "%lld", (long long *)&ret_dropped->gaps_mended);
	return 0;
}

int64_t wt_dropped_kept_ns(sqlite3 *db)
{
	return wt_db_has_table(db, "dropped")
	               ? wt_db_int(db, "SELECT max(last_ns) FROM main.dropped", INT64_MIN)
	               : INT64_MIN;
}

void wt_dropped_text(const struct wt_dropped *dropped, char text[WT_DROPPED_TEXT_BYTES])
{
	char count[WT_TEXT_NUMBER_BYTES], length[WT_TEXT_NUMBER_BYTES], when[32] = "?",
	                                                                after[80] = "";
	time_t seconds = (time_t)(dropped->kept_ns / 1000000000);
	time_t now = time(NULL);
	struct tm local, today;
	bool is_today = localtime_r(&seconds, &local) && localtime_r(&now, &today) &&
	                local.tm_yday == today.tm_yday && local.tm_year == today.tm_year;

	strftime(when, sizeof(when), is_today ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S", &local);
	if (dropped->after_ns >= 0)
		snprintf(after, sizeof(after), "%s after the first launch; ",
		         wt_text_ns(length, dropped->after_ns));
	snprintf(text, WT_DROPPED_TEXT_BYTES,
	         "rows before %s (%s%s %s) were dropped: WAVETAP_KEEP_ROWS", when, after,
	         wt_text_count(count, dropped->kernels ? dropped->kernels : dropped->launches),
	         dropped->kernels ? "kernels" : "launches");
}

void wt_dropped_tell(sqlite3 *db, const char *run_id)
{
	char text[WT_DROPPED_TEXT_BYTES];
	struct wt_dropped dropped;

	if (wt_dropped_load(db, &dropped) || !dropped.is_any)
		return;
	wt_dropped_text(&dropped, text);
	wt_cli_error("run %s: %s; this is of what is left", run_id, text);
}

static void put(struct wt_json *json, const char *key, int64_t value)
{
	wt_json_key(json, key);
	wt_json_int(json, value);
}

void wt_dropped_put_json(struct wt_json *json, sqlite3 *db)
{
	struct wt_dropped dropped = {0};

	wt_json_key(json, "dropped");
	if (!db || wt_dropped_load(db, &dropped) || !dropped.is_any) {
		wt_json_null(json);
		return;
	}
	wt_json_object_begin(json);
	put(json, "first_ns", dropped.first_ns);
	put(json, "kept_ns", dropped.kept_ns);
	put(json, "kernels", dropped.kernels);
	put(json, "launches", dropped.launches);
	put(json, "calls", dropped.calls);
	put(json, "bytes", dropped.bytes);
	put(json, "dropped_ns", dropped.dropped_ns);
	put(json, "gaps_mended", dropped.gaps_mended);
	wt_json_object_end(json);
}
