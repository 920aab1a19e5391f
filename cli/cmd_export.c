/*
 * cmd_export.c - `wavetap export`: a run to keep or to read with other tools. Rows stream:
 * memory does not grow with the run. Single-threaded; blocks on files.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/anonymise.h"
#include "cli/cli.h"
#include "cli/copy_db.h"
#include "cli/expand_rows.h"
#include "cli/html/report.h"
#include "cli/export_metrics.h"
#include "cli/json.h"
#include "cli/json_run.h"
#include "cli/out_file.h"
#include "cli/progress.h"
#include "cli/report_sql.h"
#include "cli/run_file.h"
#include "cli/select.h"
#include "cli/sink.h"
#include "cli/trace_export.h"

enum export_format {
	FORMAT_BY_NAME,
	FORMAT_SQLITE,
	FORMAT_CSV,
	FORMAT_JSON,
	FORMAT_PERFETTO,
	FORMAT_HTML,
	FORMAT_OPENMETRICS,
};

struct export_values {
	const char *run, *output;
	int format;
	bool is_forced;
	bool is_anonymised, has_names_hidden;
	const char *hash_key;
	bool is_gzip;
	int64_t max_events, limit; /* -1: not given */
	struct wt_select_words select;
};

/* Indices are enum export_format. */
static const struct wt_choice format_choices[] = {
        {"auto", "by the end of FILE: .db .sqlite .csv .json .html .pftrace (default)", 0},
        {"sqlite", "the run file with plain rows, for any SQLite reader", 0},
        {"csv", "one line per kernel that ran (view launch)", 0},
        {"json", "the same as JSON", 0},
        {"perfetto", "a timeline for ui.perfetto.dev", 0},
        {"html", "a report of the run as one page, for any browser", 0},
        {"openmetrics", "sums as text for Prometheus and the like", 0},
        {0},
};

static const struct wt_option export_options[] = {
        {"output", 'o', WT_OPTION_TEXT, "FILE", offsetof(struct export_values, output), NULL,
         "where to; - is stdout (not sqlite)"},
        {"format", 'f', WT_OPTION_CHOICE, "FORMAT", offsetof(struct export_values, format),
         format_choices, "what to write"},
        {"force", 0, WT_OPTION_FLAG, NULL, offsetof(struct export_values, is_forced), NULL,
         "replace an existing FILE"},
        {"anonymise", 0, WT_OPTION_FLAG, NULL, offsetof(struct export_values, is_anonymised), NULL,
         "sqlite: without hosts, users, command lines, paths and pids"},
        {"anonymise-names", 0, WT_OPTION_FLAG, NULL,
         offsetof(struct export_values, has_names_hidden), NULL,
         "the same, and hashes for names of kernels and ranges"},
        {"hash-key", 0, WT_OPTION_TEXT, "TEXT", offsetof(struct export_values, hash_key), NULL,
         "the same TEXT gives the same hashes (default: one drawn at random)"},
        {"gzip", 'z', WT_OPTION_FLAG, NULL, offsetof(struct export_values, is_gzip), NULL,
         "perfetto: packed, as with a FILE that ends in .gz"},
        {"max-events", 0, WT_OPTION_NUMBER, "N", offsetof(struct export_values, max_events), NULL,
         "perfetto: the trace ends before it has more slices (default 1000000; 0: no limit)"},
        {"limit", 'n', WT_OPTION_NUMBER, "N", offsetof(struct export_values, limit), NULL,
         "openmetrics: so many kernels, the others in one (default 50)"},
        WT_SELECT_OPTIONS(struct export_values, select),
        {"all", 0, WT_OPTION_FLAG, NULL, offsetof(struct export_values, select.is_all), NULL,
         "html: the whole run (default: its steady steps, if steps are found)"},
        WT_RUN_OPTION(struct export_values, run),
        {0},
};

static const char launch_sql[] = "SELECT * FROM launch ORDER BY exec_id";

static bool ends_in(const char *text, const char *end)
{
	size_t text_length = strlen(text), end_length = strlen(end);

	return text_length > end_length && !strcmp(text + text_length - end_length, end);
}

static enum export_format format_of(const struct export_values *values)
{
	if (values->format != FORMAT_BY_NAME)
		return (enum export_format)values->format;
	if (ends_in(values->output, ".csv"))
		return FORMAT_CSV;
	if (ends_in(values->output, ".json"))
		return FORMAT_JSON;
	if (ends_in(values->output, ".html") || ends_in(values->output, ".htm"))
		return FORMAT_HTML;
	if (ends_in(values->output, ".pftrace") || ends_in(values->output, ".pftrace.gz") ||
	    ends_in(values->output, ".perfetto-trace") ||
	    ends_in(values->output, ".perfetto-trace.gz"))
		return FORMAT_PERFETTO;
	if (ends_in(values->output, ".db") || ends_in(values->output, ".sqlite"))
		return FORMAT_SQLITE;
	return FORMAT_BY_NAME;
}

/* ---- rows */

static void put_csv_text(FILE *out, const char *text)
{
	if (!strpbrk(text, ",\"\r\n")) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

static void put_csv_row(FILE *out, sqlite3_stmt *s, bool is_heading)
{
	for (int i = 0, n = sqlite3_column_count(s); i < n; i++) {
		const char *text = is_heading ? sqlite3_column_name(s, i)
		                              : (const char *)sqlite3_column_text(s, i);

		if (i)
			fputc(',', out);
		put_csv_text(out, text ? text : "");
	}
	fputs("\r\n", out);
}

static void put_json_row(struct wt_json *json, sqlite3_stmt *s)
{
	wt_json_object_begin(json);
	for (int i = 0, n = sqlite3_column_count(s); i < n; i++) {
		wt_json_key(json, sqlite3_column_name(s, i));
		switch (sqlite3_column_type(s, i)) {
		case SQLITE_INTEGER:
			wt_json_int(json, sqlite3_column_int64(s, i));
			break;
		case SQLITE_FLOAT:
			wt_json_double(json, sqlite3_column_double(s, i));
			break;
		case SQLITE_NULL:
			wt_json_null(json);
			break;
		default:
			wt_json_string(json, (const char *)sqlite3_column_text(s, i));
		}
	}
	wt_json_object_end(json);
}

/* What all steps of one export share. */
struct export
{
	const struct wt_html_report *report; /* html; then the others are not set */
	const struct export_values *values;
	const struct wt_run_file *run;
	const struct wt_select *select;
	enum export_format format;
	sqlite3_stmt *rows; /* at the first row */
	struct wt_progress progress;
};

/* Puts one row after the other; SQLITE_DONE, or the code that stopped it. */
static int put_all(struct export *export, FILE *out, struct wt_json *json)
{
	int code = SQLITE_ROW;

	for (int64_t done = 1; code == SQLITE_ROW; code = sqlite3_step(export->rows)) {
		if (json)
			put_json_row(json, export->rows);
		else
			put_csv_row(out, export->rows, false);
		if (json ? json->error != 0 : ferror(out))
			break;
		wt_progress_set(&export->progress, done++);
	}
	return code;
}

/* As put_all(); *ret_error is what writing failed with (-errno). */
static int put_rows(struct export *export, FILE *out, int *ret_error)
{
	struct wt_json json;
	int code;

	errno = 0;
	if (export->format == FORMAT_CSV) {
		put_csv_row(out, export->rows, true);
		code = put_all(export, out, NULL);
		if (fflush(out) || ferror(out))
			*ret_error = errno ? -errno : -EIO;
		return code;
	}
	wt_json_init(&json, out, false);
	wt_json_object_begin(&json);
	wt_json_put_run(&json, export->run);
	wt_select_put_json(&json, export->select);
	wt_json_key(&json, "launches");
	wt_json_array_begin(&json);
	code = put_all(export, out, &json);
	wt_json_array_end(&json);
	wt_json_object_end(&json);
	*ret_error = wt_json_finish(&json);
	return code;
}

static int sql_failed(const struct wt_run_file *run)
{
	wt_cli_error("%s: %s", run->info.path, wt_report_problem(run->db));
	return WT_EXIT_FAILED;
}

/* Data that comes out on the terminal is progress enough. */
static void begin_progress(struct export *export, bool is_stdout)
{
	int64_t count =
	        export->select->is_applied
	                ? export->select->launches
	                : wt_db_int(export->run->db, "SELECT sum(kernels_stored) FROM proc", 0);

	wt_progress_begin(&export->progress, "export", "launches", count);
	if (is_stdout && isatty(STDOUT_FILENO))
		wt_progress_end(&export->progress);
}

/* To stdout, or to `path` if it isn't NULL. */
static int export_rows(struct export *export, const char *path)
{
	FILE *out = path ? fopen(path, "we") : stdout;
	int error = 0;
	int code;

	if (!out) {
		wt_cli_error("%s: %s", path, strerror(errno));
		return WT_EXIT_FAILED;
	}
	begin_progress(export, !path);
	code = put_rows(export, out, &error);
	wt_progress_end(&export->progress);
	if (!path)
		return error                 ? wt_cli_output_result(error)
		       : code == SQLITE_DONE ? WT_EXIT_FINE
		                             : sql_failed(export->run);
	if (fclose(out) && !error)
		error = -errno;
	if (error) {
		wt_cli_error("%s: %s", path, strerror(-error));
		return WT_EXIT_FAILED;
	}
	return code == SQLITE_DONE ? WT_EXIT_FINE : sql_failed(export->run);
}

static int export_sqlite(struct export *export, const char *path)
{
	const struct export_values *values = export->values;
	const struct wt_anonymise how = {values->hash_key, values->has_names_hidden};
	int code = wt_copy_db(export->run, path, values->output, "export");

	if (!code)
		code = wt_expand_rows(path, values->output, "export");
	if (!code && (values->is_anonymised || values->has_names_hidden))
		code = wt_anonymise(path, values->output, &how);
	return code;
}

/* ---- a trace */

static int write_sink(struct export *export, struct wt_sink *sink)
{
	const struct wt_trace_query query = {
	        .run = export->run,
	        .select = export->select,
	        .max_events = export->values->max_events < 0    ? WT_TRACE_EVENTS_MAX
	                      : export->values->max_events == 0 ? INT64_MAX
	                                                        : export->values->max_events,
	};

	return wt_trace_export(&query, sink);
}

/* To stdout, or to `path` if it isn't NULL. */
static int export_sink(struct export *export, const char *path)
{
	struct wt_sink sink;
	int rc = wt_sink_open(&sink, path,
	                      export->values->is_gzip || ends_in(export->values->output, ".gz"));
	int code = WT_EXIT_FINE;

	if (!rc) {
		code = write_sink(export, &sink);
		rc = wt_sink_close(&sink);
	}
	if (!rc || code)
		return code;
	if (!path)
		return wt_cli_output_result(rc);
	wt_cli_error("%s: %s", path, strerror(-rc));
	return WT_EXIT_FAILED;
}

/* ---- metrics */

/* To stdout, or to `path` if it isn't NULL. */
static int export_metrics(const struct export *export, const char *path)
{
	const struct wt_metrics_query query = {
	        .run = export->run,
	        .select = export->select,
	        .kernel_limit = export->values->limit < 0 ? WT_METRICS_KERNELS
	                                                  : (size_t) export->values->limit,
	};
	FILE *out = path ? fopen(path, "we") : stdout;
	int rc = out ? 0 : -errno;
	int code = out ? wt_metrics_export(&query, out) : WT_EXIT_FINE;

	errno = 0;
	if (out && (fflush(out) || ferror(out)))
		rc = errno ? -errno : -EIO;
	if (out && path && fclose(out) && !rc)
		rc = -errno;
	if (!rc || code)
		return code;
	if (!path)
		return wt_cli_output_result(rc);
	wt_cli_error("%s: %s", path, strerror(-rc));
	return WT_EXIT_FAILED;
}

/* ---- a report */

/* To stdout, or to `path` if it isn't NULL. */
static int export_report(const struct export *export, const char *path)
{
	FILE *out = path ? fopen(path, "we") : stdout;
	int rc = out ? wt_html_write(out, export->report) : -errno;

	errno = 0;
	if (out && !rc && (fflush(out) || ferror(out)))
		rc = errno ? -errno : -EIO;
	if (out && path && fclose(out) && !rc)
		rc = -errno;
	if (!path)
		return wt_cli_output_result(rc);
	if (!rc)
		return WT_EXIT_FINE;
	wt_cli_error("%s: %s", path, strerror(-rc));
	return WT_EXIT_FAILED;
}

static int export_to_file(struct export *export)
{
	const struct export_values *values = export->values;
	struct wt_out_file file;
	int code, rc;
	const struct wt_run_file *run = export->report ? &export->report->run : export->run;

	if (wt_out_file_is_same(values->output, run->info.path))
		return wt_cli_usage_error("export", "-o %s is the run file itself", values->output);
	rc = wt_out_file_begin(&file, values->output, values->is_forced);
	if (rc == -EEXIST) {
		wt_cli_error("%s exists already (--force replaces it)", values->output);
		return WT_EXIT_FAILED;
	}
	if (rc) {
		wt_cli_error("%s: %s", values->output, strerror(-rc));
		return WT_EXIT_FAILED;
	}
	if (export->format == FORMAT_HTML)
		code = export_report(export, file.temporary);
	else if (export->format == FORMAT_SQLITE)
		code = export_sqlite(export, file.temporary);
	else if (export->format == FORMAT_PERFETTO)
		code = export_sink(export, file.temporary);
	else if (export->format == FORMAT_OPENMETRICS)
		code = export_metrics(export, file.temporary);
	else
		code = export_rows(export, file.temporary);
	if (code) {
		wt_out_file_abort(&file);
		return code;
	}
	rc = wt_out_file_commit(&file);
	if (rc) {
		wt_cli_error("%s: %s", values->output, strerror(-rc));
		return WT_EXIT_FAILED;
	}
	return WT_EXIT_FINE;
}

static int export_run(struct export *export)
{
	const struct wt_run_file *run = export->run;
	int code;

	if (export->format == FORMAT_SQLITE)
		return export_to_file(export);
	if (export->format == FORMAT_PERFETTO)
		return strcmp(export->values->output, "-") != 0 ? export_to_file(export)
		                                                : export_sink(export, NULL);
	if (export->format == FORMAT_OPENMETRICS)
		return strcmp(export->values->output, "-") != 0 ? export_to_file(export)
		                                                : export_metrics(export, NULL);
	code = sqlite3_prepare_v2(run->db, launch_sql, -1, &export->rows, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_step(export->rows);
	if (code == SQLITE_ROW) {
		code = !strcmp(export->values->output, "-") ? export_rows(export, NULL)
		                                            : export_to_file(export);
	} else if (code == SQLITE_DONE) {
		wt_cli_error("run %s has no kernel to export", run->info.id);
		code = WT_EXIT_NO_DATA;
	} else {
		code = sql_failed(run);
	}
	sqlite3_finalize(export->rows);
	return code;
}

static int check_values(const struct export_values *values)
{
	enum export_format format;

	if (!values->output || !values->output[0])
		return wt_cli_usage_error("export", "where to? -o FILE is missing");
	format = format_of(values);
	if (format == FORMAT_BY_NAME)
		return wt_cli_usage_error("export", "what does \"%s\" hold? --format is missing",
		                          values->output);
	if (format == FORMAT_SQLITE && !strcmp(values->output, "-"))
		return wt_cli_usage_error("export", "sqlite needs a file, not stdout");
	if (format != FORMAT_SQLITE && (values->is_anonymised || values->has_names_hidden))
		return wt_cli_usage_error("export", "--anonymise makes a file of sqlite; other "
		                                    "formats can be exported from that one");
	if (values->hash_key && !values->is_anonymised && !values->has_names_hidden)
		return wt_cli_usage_error("export", "--hash-key is of --anonymise");
	if (format != FORMAT_PERFETTO && (values->is_gzip || values->max_events >= 0))
		return wt_cli_usage_error("export", "--gzip and --max-events are for perfetto");
	if (format != FORMAT_OPENMETRICS && values->limit >= 0)
		return wt_cli_usage_error("export", "--limit is for openmetrics");
	if (values->limit > WT_METRICS_KERNELS_MAX)
		return wt_cli_usage_error("export", "--limit %lld: at most %d",
		                          (long long)values->limit, WT_METRICS_KERNELS_MAX);
	if (values->max_events > 0 && values->max_events < WT_TRACE_EVENTS_LEAST)
		return wt_cli_usage_error("export", "--max-events %d: at least %d",
		                          (int)values->max_events, WT_TRACE_EVENTS_LEAST);
	return WT_EXIT_FINE;
}

/* Its parts select for themselves: some are of whole devices. */
static int run_report(const struct export_values *values)
{
	const struct wt_html_request request = {values->run, &values->select};
	struct wt_html_report *report = calloc(1, sizeof(*report));
	struct export export = {.values = values, .format = FORMAT_HTML, .report = report};
	int code;

	if (!report)
		return wt_cli_output_result(-ENOMEM);
	code = wt_html_load(&request, report);
	if (!code)
		code = !strcmp(values->output, "-") ? export_report(&export, NULL)
		                                    : export_to_file(&export);
	wt_html_unload(report);
	free(report);
	return code;
}

static int run_export(void *opaque, int operand_count, char **operands)
{
	const struct export_values *values = opaque;
	struct wt_select select;
	struct wt_run_file run;
	struct export export = {.values = values, .run = &run, .select = &select};
	int code = check_values(values);

	(void)operand_count;
	(void)operands;
	if (code)
		return code;
	export.format = format_of(values);
	if (export.format == FORMAT_HTML)
		return run_report(values);
	code = wt_select_parse("export", &values->select, &select);
	/* Its sums and counts of losses would not fit a part of the rows. */
	if (!code && export.format == FORMAT_SQLITE && wt_select_is_given(&select))
		code = wt_cli_usage_error("export", "sqlite is the whole run: selections are for "
		                                    "the other formats");
	if (!code)
		code = wt_run_file_open(values->run, &run);
	if (!code) {
		select.takes_sums = export.format == FORMAT_SQLITE; /* the file as it is */
		code = wt_select_apply(&select, &run);
		if (!code)
			code = export_run(&export);
		wt_run_file_close(&run);
	}
	wt_select_fini(&select);
	return code;
}

const struct wt_command wt_cmd_export = {
        .name = "export",
        .summary = "write a run as SQLite, CSV, JSON, HTML, a trace or metrics",
        .example = "wavetap export -r gpt -o gpt.csv",
        .minor = "anonymise anonymise-names hash-key gzip max-events limit",
        .theme = WT_THEME_KEEP,
        .options = export_options,
        .values_bytes = sizeof(struct export_values),
        .run = run_export,
};
