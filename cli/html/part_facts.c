/*
 * part_facts.c - which run it is, on which devices, of which processes. Single-threaded; blocks on the run
 * file.
 */
#include <inttypes.h>
#include <time.h>

#include "cli/html/report.h"
#include "cli/report_sql.h"
#include "config.h"
#include "schema/wt_db.h"

static void put_fact(FILE *out, const char *name, const char *text)
{
	if (!text || !text[0])
		return;
	fputs("<dt>", out);
	wt_html_text(out, name, 100);
	fputs("</dt><dd>", out);
	wt_html_text(out, text, WT_HTML_FULL_NAME_BYTES);
	fputs("</dd>\n", out);
}

static int put_run(FILE *out, const struct wt_run_file *run)
{
	time_t seconds = (time_t)(run->info.created_ns / 1000000000);
	char made[64] = "";
	sqlite3_stmt *s;
	struct tm tm;
	int rc;

	if (gmtime_r(&seconds, &tm))
		strftime(made, sizeof(made), "%Y-%m-%d %H:%M:%S UTC", &tm);
	fputs("<dl class=\"facts-list\">\n", out);
	put_fact(out, "run", run->info.id);
	put_fact(out, "name", run->info.name);
	put_fact(out, "host", run->info.hostname);
	put_fact(out, "begun", made);
	put_fact(out, "file", run->info.path);
	put_fact(out, "read by", "wavetap " PACKAGE_VERSION);
	rc = wt_report_prepare(run->db, "SELECT key, value FROM main.tag ORDER BY key LIMIT 64",
	                       &s);
	while (!rc && (rc = wt_report_step(s)) > 0) {
		put_fact(out, (const char *)sqlite3_column_text(s, 0),
		         (const char *)sqlite3_column_text(s, 1));
		rc = 0;
	}
	sqlite3_finalize(s);
	fputs("</dl>\n", out);
	return rc;
}

static void put_device(FILE *out, sqlite3_stmt *s)
{
	char a[WT_TEXT_NUMBER_BYTES], text[64];

	wt_html_row_begin(out, "device", sqlite3_column_int64(s, 0), NULL);
	wt_html_int(out, sqlite3_column_int64(s, 0), NULL);
	wt_html_words(out, (const char *)sqlite3_column_text(s, 1));
	wt_html_words(out, (const char *)sqlite3_column_text(s, 2));
	snprintf(text, sizeof(text), "%d.%d", sqlite3_column_int(s, 3), sqlite3_column_int(s, 4));
	wt_html_words(out, text);
	for (int i = 5; i < 9; i++)
		wt_html_int(out, sqlite3_column_int64(s, i), NULL);
	for (int i = 9; i < 12; i++)
		wt_html_int(out, sqlite3_column_int64(s, i),
		            wt_text_bytes(a, (uint64_t)sqlite3_column_int64(s, i)));
	snprintf(text, sizeof(text), "%" PRId64 " MHz",
	         (int64_t)sqlite3_column_int64(s, 12) / 1000);
	wt_html_int(out, sqlite3_column_int64(s, 12), text);
	wt_html_words(out, (const char *)sqlite3_column_text(s, 13));
	wt_html_row_end(out);
}

static int put_devices(FILE *out, sqlite3 *db)
{
	static const struct wt_html_column columns[] = {
	        {"device_id", "Id", NULL, false},
	        {NULL, "Device", NULL, true},
	        {NULL, "UUID", NULL, true},
	        {NULL, "CC", "compute capability", true},
	        {"sms", "SMs", NULL, false},
	        {"max_threads_per_sm", "Threads/SM", NULL, false},
	        {"max_blocks_per_sm", "Blocks/SM", NULL, false},
	        {"regs_per_sm", "Registers/SM", NULL, false},
	        {"smem_per_sm_bytes", "Shared memory/SM", NULL, false},
	        {"l2_bytes", "L2", NULL, false},
	        {"mem_total_bytes", "Memory", NULL, false},
	        {"clock_khz", "Clock", NULL, false},
	        {NULL, "PCI", NULL, true}};
	sqlite3_stmt *s;
	int rc = wt_report_prepare(
	        db,
	        "SELECT device_id, name, lower(hex(uuid)), cc_major, cc_minor, sm_count,"
	        " max_threads_per_sm, max_blocks_per_sm, regs_per_sm, smem_per_sm_bytes, l2_bytes,"
	        " mem_total_bytes, clock_khz, pci FROM main.gpu ORDER BY 1 LIMIT 64",
	        &s);

	if (rc)
		return rc;
	wt_html_table_begin(out, "devices", "Devices of the run", columns,
	                    sizeof(columns) / sizeof(columns[0]), 0);
	while ((rc = wt_report_step(s)) > 0)
		put_device(out, s);
	sqlite3_finalize(s);
	wt_html_table_end(out);
	return rc;
}

static int put_processes(FILE *out, sqlite3 *db)
{
	static const struct wt_html_column columns[] = {
	        {"pid", "PID", NULL, false},
	        {"rank", "Rank", NULL, false},
	        {NULL, "Command", NULL, true},
	        {NULL, "Host", NULL, true},
	        {NULL, "State", NULL, true},
	        {NULL, "Recorded", "full, hooks-only, kernels-only, off", true},
	        {NULL, "Reason", "why not in full", true},
	        {"kernels", "Kernels", NULL, false}};
	int64_t count = wt_db_int(db, "SELECT count(*) FROM main.proc", 0);
	sqlite3_stmt *s;
	int rc = wt_report_prepare(
	        db,
	        "SELECT p.process_id, p.pid, p.rank, p.command, p.hostname, p.state, p.capture,"
	        " p.reason, m.kernels_stored FROM main.process p JOIN main.proc m USING "
	        "(process_id)"
	        " ORDER BY ifnull(p.rank, 1e9), 1 LIMIT 64",
	        &s);

	if (rc)
		return rc;
	wt_html_table_begin(out, "processes", "Processes of the run", columns,
	                    sizeof(columns) / sizeof(columns[0]), WT_HTML_SORTABLE);
	while ((rc = wt_report_step(s)) > 0) {
		wt_html_row_begin(out, "process", sqlite3_column_int64(s, 0), NULL);
		wt_html_int(out, sqlite3_column_int64(s, 1),
		            (const char *)sqlite3_column_text(s, 1));
		if (sqlite3_column_type(s, 2) == SQLITE_NULL)
			wt_html_unknown(out, "no launcher gave one");
		else
			wt_html_int(out, sqlite3_column_int64(s, 2), NULL);
		fputs("<td class=\"t name\">", out);
		wt_html_text(out, (const char *)sqlite3_column_text(s, 3), WT_HTML_NAME_BYTES * 2);
		fputs("</td>", out);
		for (int i = 4; i < 7; i++)
			wt_html_words(out, (const char *)sqlite3_column_text(s, i));
		wt_html_words(out, sqlite3_column_type(s, 7) == SQLITE_NULL
		                           ? ""
		                           : (const char *)sqlite3_column_text(s, 7));
		wt_html_int(out, sqlite3_column_int64(s, 8), NULL);
		wt_html_row_end(out);
	}
	sqlite3_finalize(s);
	wt_html_table_end(out);
	if (count > WT_HTML_PROCESSES)
		fprintf(out, "<p class=\"limit\">The first %d of %" PRId64 " processes.</p>\n",
		        WT_HTML_PROCESSES, count);
	return rc;
}

int wt_html_put_facts(FILE *out, const struct wt_html_report *report)
{
	const struct wt_run_file *run = &report->view.run;
	int rc = put_run(out, run);

	if (!rc)
		rc = put_devices(out, run->db);
	return rc ? rc : put_processes(out, run->db);
}
