/*
 * select_apply.c - see select.h: a selection on an open run. Single-threaded; blocks on the
 * file.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/rates.h"
#include "cli/report_sql.h"
#include "cli/select.h"
#include "cli/select_impl.h"
#include "daemon/ledger_sums.h"
#include "cli/text.h"
#include "schema/wt_db.h"

/* The file's own text says what its views are, so they are made again over what is selected. */
static const char *const views[] = {"launch", "config_idle", "kernel_idle"};

int wt_select_execute(sqlite3 *db, const char *format, ...)
{
	va_list ap;
	int code;

	va_start(ap, format);
	code = wt_db_vexecute(db, format, ap);
	va_end(ap);
	return code == SQLITE_NOMEM ? -ENOMEM : wt_report_note(db, code);
}

/* ---- times */

/* Of a run that has samples and no kernels: made by wavetap-sampler by hand. 1, 0: none, or -EIO. */
static int sampled_span(sqlite3 *db, int64_t *ret_start_ns, int64_t *ret_end_ns)
{
	sqlite3_stmt *s;
	int rc;

	if (!wt_db_has_table(db, "sm_bucket"))
		return 0;
	rc = wt_report_prepare(db, "SELECT min(first_ns), max(last_ns) FROM main.sampler", &s);
	if (rc)
		return rc;
	rc = wt_report_step(s);
	if (rc > 0 && sqlite3_column_type(s, 0) != SQLITE_NULL) {
		*ret_start_ns = sqlite3_column_int64(s, 0);
		*ret_end_ns = sqlite3_column_int64(s, 1);
	} else if (rc > 0) {
		rc = 0;
	}
	sqlite3_finalize(s);
	return rc;
}

int wt_select_span(sqlite3 *db, int64_t *ret_start_ns, int64_t *ret_end_ns)
{
	int rc = wt_ledger_span(db, ret_start_ns, ret_end_ns);

	return rc ? rc : sampled_span(db, ret_start_ns, ret_end_ns);
}

/* A sum that stays within int64. */
static int64_t add(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? (b < 0 ? INT64_MIN : INT64_MAX) : sum;
}

static int64_t resolve_time(const struct wt_select *select, const struct wt_select_time *time,
                            int64_t otherwise)
{
	if (!time->is_given)
		return otherwise;
	return time->is_from_end ? add(select->run_end_ns, -time->ns)
	                         : add(select->run_start_ns, time->ns);
}

/* Where rows are missing the window begins behind them. */
static bool is_cut(const struct wt_select *select)
{
	return select->dropped.is_any && (!select->takes_sums || select->from.is_given ||
	                                  select->to.is_given || select->words.steps);
}

static int explain_dropped(const struct wt_select *select, const struct wt_run_file *run)
{
	char text[WT_DROPPED_TEXT_BYTES];

	wt_dropped_text(&select->dropped, text);
	wt_cli_error("nothing is left of that part of run %s: %s", run->info.id, text);
	return WT_EXIT_NO_DATA;
}

/* The window, cut to the run. */
static int resolve_window(struct wt_select *select, const struct wt_run_file *run)
{
	char length[WT_TEXT_NUMBER_BYTES];
	int64_t start = resolve_time(select, &select->from, select->run_start_ns);
	int64_t end = resolve_time(select, &select->to, select->run_end_ns);
	int64_t low = select->run_start_ns, high = select->run_end_ns;
	int rc;

	if (is_cut(select) && select->dropped.kept_ns > low)
		low = select->dropped.kept_ns;
	if (is_cut(select) && (low >= high || end <= low))
		return explain_dropped(select, run);
	rc = wt_select_resolve_steps(select, run, &low, &high);
	if (rc)
		return rc;
	select->has_window = select->from.is_given || select->to.is_given || select->words.steps ||
	                     select->steps.is_found || is_cut(select);
	select->start_ns = start > low ? start : low;
	select->end_ns = end < high ? end : high;
	if (!select->has_window || select->start_ns < select->end_ns) {
		if (is_cut(select) && start < select->dropped.kept_ns)
			wt_dropped_tell(run->db, run->info.id);
		return WT_EXIT_FINE;
	}
	wt_cli_error("nothing of run %s is in%s%s%s%s%s%s: it lasted %s", run->info.id,
	             select->words.steps ? " --steps " : "",
	             select->words.steps ? select->words.steps : "",
	             select->words.from ? " --from " : "",
	             select->words.from ? select->words.from : "", select->words.to ? " --to " : "",
	             select->words.to ? select->words.to : "",
	             wt_text_ns(length, select->run_end_ns - select->run_start_ns));
	return WT_EXIT_NO_DATA;
}

/* ---- what readers see */

/* The condition on rows of kernel_exec or config_stat, without times. */
static void put_condition(const struct wt_select *select, char *sql, size_t sql_bytes)
{
	snprintf(sql, sql_bytes, "1%s%s%s",
	         select->words.device || select->words.kernel
	                 ? " AND config_id IN (SELECT config_id FROM temp.wt_config)"
	                 : "",
	         select->words.rank
	                 ? " AND process_id IN (SELECT process_id FROM main.proc WHERE rank IN "
	                   "(SELECT rank FROM temp.wt_rank))"
	                 : "",
	         select->words.range ? " AND exec_id IN (SELECT exec_id FROM temp.wt_range_exec)"
	                             : "");
}

/* config_stat from the file's rollups, with the columns that old files have not. */
static int make_stat(const char *condition, sqlite3 *db)
{
	static const char beside[] =
	        ", 0 AS beside_ns, 0 AS beside_active_sm_ns, 0 AS beside_underfill_sm_ns, "
	        "0 AS beside_wave_sm_ns, 0 AS beside_wave_max_sm_ns, 0 AS beside_unjudged_sm_ns";

	return wt_select_execute(
	        db, "CREATE TEMP TABLE config_stat AS SELECT *%s%s FROM main.config_stat WHERE %s",
	        wt_report_has_shares(db) ? "" : ", 0 AS comm_sm_ns",
	        wt_report_has_measured(db) ? "" : beside, condition);
}

/*
 * A kernel is in if a part of it is; one of no duration if it starts inside. Of those
 * config_stat sums the parts.
 */
static int make_window(const struct wt_select *select, const char *condition, sqlite3 *db)
{
	long long start = select->start_ns, end = select->end_ns;
	int rc = wt_select_execute(
	        db,
	        "DROP VIEW IF EXISTS temp.kernel_exec; "
	        "CREATE TEMP VIEW kernel_exec AS SELECT * FROM kernel_row "
	        "WHERE start_ns < %lld AND (end_ns > %lld OR start_ns = end_ns AND "
	        "start_ns >= %lld) AND %s",
	        end, start, start, condition);

	if (!rc)
		rc = make_stat("0", db); /* the columns */
	return rc ? rc : wt_select_sum_window(select, condition, db);
}

/* Runs the first statement of `sql` alone: the text comes from a file. 0 or -errno. */
static int execute_one(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, sql, &s);

	if (rc)
		return rc;
	rc = wt_report_step(s);
	sqlite3_finalize(s);
	return rc > 0 ? -EIO : rc;
}

/* The view of the file again, in temp, where its names mean what is selected. */
static int make_view(sqlite3 *db, const char *name)
{
	static const char begin[] = "CREATE VIEW ";
	char *sql = NULL, *temporary = NULL, missing[64];
	sqlite3_stmt *s;
	int rc;

	/* Is it there? Else in SQLite's words. */
	snprintf(missing, sizeof(missing), "SELECT 1 FROM main.%s", name);
	rc = wt_report_prepare(db, missing, &s);
	if (rc)
		return rc;
	sqlite3_finalize(s);
	rc = wt_report_prepare(
	        db, "SELECT sql FROM main.sqlite_master WHERE type = 'view' AND name = ?1", &s);
	if (rc)
		return rc;
	sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
	rc = wt_report_step(s);
	if (rc > 0)
		rc = wt_report_copy_text(s, 0, &sql);
	sqlite3_finalize(s);
	if (rc)
		return rc;
	/* wt_rows_hide() may have made it over all rows. */
	rc = wt_select_execute(db, "DROP VIEW IF EXISTS temp.%s", name);
	if (!rc && sql && !strncmp(sql, begin, strlen(begin)))
		temporary = sqlite3_mprintf("CREATE TEMP VIEW %s", sql + strlen(begin));
	if (!rc)
		rc = temporary ? execute_one(db, temporary) : -EIO;
	sqlite3_free(temporary);
	free(sql);
	return rc;
}

static int make_views(const struct wt_select *select, sqlite3 *db)
{
	char condition[400];
	int rc;

	put_condition(select, condition, sizeof(condition));
	/* The rollups don't know which launch was in which range. */
	if (select->has_window || select->words.range) {
		rc = make_window(select, condition, db);
	} else {
		rc = wt_select_execute(db,
		                       "DROP VIEW IF EXISTS temp.kernel_exec; "
		                       "CREATE TEMP VIEW kernel_exec AS SELECT * FROM kernel_row "
		                       "WHERE %s",
		                       condition);
		if (!rc)
			rc = make_stat(condition, db);
	}
	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]) && !rc; i++)
		rc = make_view(db, views[i]);
	return rc;
}

/* ---- the whole */

static int explain_nothing(const struct wt_select *select, const struct wt_run_file *run)
{
	const struct wt_select_words *w = &select->words;
	char number[WT_TEXT_NUMBER_BYTES], length[WT_TEXT_NUMBER_BYTES], what[300];

	wt_select_describe(select, what, sizeof(what));
	wt_cli_error(
	        "no launch of run %s is in the selection%s%s%s%s%s%s; it has %s launches in %s",
	        run->info.id, w->from ? "  from " : "", w->from ? w->from : "",
	        w->to ? "  to " : "", w->to ? w->to : "", what[0] ? "  " : "", what,
	        wt_text_count(number, select->run_launches),
	        wt_text_ns(length, select->run_end_ns - select->run_start_ns));
	return WT_EXIT_NO_DATA;
}

/* What the words mean: the window, temp.wt_device, temp.wt_kernel, temp.wt_rank. */
static int find_all(struct wt_select *select, const struct wt_run_file *run, bool *ret_is_empty)
{
	sqlite3 *db = run->db;
	int rc = wt_select_execute(db, "PRAGMA query_only = OFF%s",
	                           sqlite3_get_autocommit(db) ? "; BEGIN" : "");

	if (!rc)
		rc = wt_select_span(db, &select->run_start_ns, &select->run_end_ns);
	*ret_is_empty = rc == 0;
	if (rc <= 0)
		return rc;
	select->run_launches = wt_db_int(db, "SELECT sum(launches) FROM main.config_stat", 0);
	if (!select->run_launches && !wt_select_is_given(select)) {
		*ret_is_empty = true;
		return 0;
	}
	rc = resolve_window(select, run);
	/* No steady steps, and nothing else was asked for: all of the run, as it is. */
	*ret_is_empty = !rc && !select->has_window && !wt_select_is_given(select);
	if (*ret_is_empty)
		return 0;
	if (!rc)
		rc = wt_select_execute(db, "CREATE TEMP TABLE wt_device AS SELECT device_id FROM "
		                           "main.device; CREATE TEMP VIEW device AS SELECT * FROM "
		                           "main.device WHERE device_id IN (SELECT device_id FROM "
		                           "temp.wt_device)");
	if (!rc)
		rc = wt_select_device(select, run);
	if (!rc)
		rc = wt_select_ranks(select, run);
	if (!rc)
		rc = wt_select_kernels(select, run);
	return rc ? rc : wt_select_range(select, run);
}

static int hide_kernels(struct wt_select *select, const struct wt_run_file *run)
{
	sqlite3 *db = run->db;
	int rc;

	if (!select->is_applied)
		return 0;
	rc = wt_select_execute(
	        db,
	        "PRAGMA query_only = OFF; "
	        "CREATE TEMP TABLE wt_config (config_id INTEGER PRIMARY KEY); INSERT INTO "
	        "temp.wt_config SELECT config_id FROM main.config WHERE device_id IN (SELECT "
	        "device_id FROM temp.wt_device)%s",
	        select->words.kernel ? " AND kernel_id IN (SELECT kernel_id FROM temp.wt_kernel)"
	                             : "");
	if (!rc)
		rc = make_views(select, db);
	if (!rc)
		select->launches = wt_db_int(db, "SELECT sum(launches) FROM temp.config_stat", 0);
	return rc;
}

static int apply(struct wt_select *select, const struct wt_run_file *run)
{
	bool is_empty;
	int rc = find_all(select, run, &is_empty);

	if (rc || is_empty)
		return rc; /* the reader knows why it is empty */
	select->is_applied = true;
	/* Devices that none of these ranks used are none of their SMs. */
	if (select->words.rank)
		rc = wt_select_execute(
		        run->db,
		        "DELETE FROM temp.wt_device WHERE device_id NOT IN (SELECT c.device_id "
		        "FROM "
		        "main.config_stat s JOIN main.config c USING (config_id) JOIN main.proc p "
		        "USING (process_id) WHERE p.rank IN (SELECT rank FROM temp.wt_rank))");
	if (!rc)
		rc = hide_kernels(select, run);
	/* Kernels without a time are something for an export, as long as no times are asked for. */
	if (!rc && !select->launches &&
	    (select->has_window ||
	     !wt_db_int(run->db, "SELECT 1 FROM temp.kernel_exec LIMIT 1", 0)))
		rc = explain_nothing(select, run);
	return rc;
}

static int apply_devices(struct wt_select *select, const struct wt_run_file *run)
{
	char what[300];
	bool is_empty;
	int rc = find_all(select, run, &is_empty);

	if (rc || is_empty)
		return rc;
	select->is_applied = true;
	select->launches = -1; /* nobody asked */
	rc = wt_select_rank_devices(select, run);
	if (rc || wt_db_int(run->db, "SELECT count(*) FROM temp.wt_device", 0))
		return rc;
	wt_select_describe(select, what, sizeof(what));
	wt_cli_error("no kernel of run %s ran on the devices selected (%s)", run->info.id, what);
	return WT_EXIT_NO_DATA;
}

static int apply_with(struct wt_select *select, const struct wt_run_file *run,
                      int (*how)(struct wt_select *, const struct wt_run_file *))
{
	int rc = wt_dropped_load(run->db, &select->dropped);

	if (!rc && !wt_select_is_given(select) && !select->steps.is_looked_for && !is_cut(select))
		return WT_EXIT_FINE;
	if (!rc)
		rc = how(select, run);
	if (rc < 0) {
		wt_cli_error("%s: %s", run->info.path,
		             rc == -ENOMEM ? "out of memory" : wt_report_problem(run->db));
		rc = WT_EXIT_FAILED;
	}
	sqlite3_exec(run->db, "PRAGMA query_only = ON", NULL, NULL, NULL);
	return rc;
}

int wt_select_apply(struct wt_select *select, const struct wt_run_file *run)
{
	return apply_with(select, run, apply);
}

int wt_select_apply_devices(struct wt_select *select, const struct wt_run_file *run)
{
	/* Kernels run after the range that launched them, beside those of others. */
	if (select->words.range) {
		wt_cli_error("--range: its kernels share the devices with others; top, show and "
		             "export select them, here --from and --to select by time");
		return WT_EXIT_NO_DATA;
	}
	return apply_with(select, run, apply_devices);
}

int wt_select_hide_kernels(struct wt_select *select, const struct wt_run_file *run)
{
	return apply_with(select, run, hide_kernels);
}
