/*
 * cmd_top.c - `wavetap top`: which kernels leave SMs idle. Single-threaded; blocks on files.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/json.h"
#include "cli/kernel_name.h"
#include "cli/report.h"
#include "cli/run_file.h"
#include "cli/select.h"
#include "cli/top_columns.h"
#include "cli/top_json.h"
#include "cli/top_text.h"
#include "cli/watch_options.h"
#include "cli/watch_top.h"

#define DEFAULT_LIMIT 20

struct top_values {
	const char *run, *columns;
	int by, group;
	int64_t limit;
	bool has_full_names, is_json, is_csv;
	struct wt_select_words select;
	bool is_watched, has_no_colour;
	const char *interval;
};

/* Indices are enum wt_report_by. */
static const struct wt_choice by_choices[] = {
        {"idle", "idle inside kernels: underfill + wave + straggle + ramp (default)", 0},
        {"tail-idle", "idle at the end of kernels: wave + straggle", 0},
        {"underfill", "SMs that never got a block", 0},
        {"wave", "partial last waves", 0},
        {"time", "summed durations", 0},
        {"launches", "number of launches", 0},
        {"straggle", "unequal blocks, where the run has measured them", 0},
        {"gap", "time without a kernel before those of the row", 0},
        {"latency", "mean time from launch call to start of the kernel", 0},
        {"cv", "deviation of the durations by their mean", 0},
        {0},
};

/* Indices are enum wt_report_group. */
static const struct wt_choice group_choices[] = {
        {"kernel", "one row per kernel (default)", 0},
        {"config", "one row per launch configuration", 0},
        {"device", "one row per device", 0},
        {"process", "one row per process", 0},
        {"rank", "one row per rank of the job", 0},
        {"step", "one row per step, if steps are found", 0},
        {"range", "one row per range that the program marked", 0},
        {"stream", "one row per stream", 0},
        {"graph", "one row per CUDA graph", 0},
        {"phase", "one row per phase of the steps", 0},
        {"duration", "kernels under 1 us, 1 to 10 us, ...", 0},
        {"class", "one row per kind of kernel, by words in its name", 0},
        {0},
};

static const struct wt_option top_options[] = {
        {"by", 'b', WT_OPTION_CHOICE, "WHAT", offsetof(struct top_values, by), by_choices,
         "what to rank by"},
        {"group", 'g', WT_OPTION_CHOICE, "WHAT", offsetof(struct top_values, group), group_choices,
         "what a row is"},
        {"columns", 'c', WT_OPTION_TEXT, "LIST", offsetof(struct top_values, columns), NULL,
         "columns to show, with commas; \"help\" lists them"},
        {"limit", 'n', WT_OPTION_NUMBER, "N", offsetof(struct top_values, limit), NULL,
         "rows, 0 for all (default: 20; in JSON and CSV all)"},
        {"full-names", 0, WT_OPTION_FLAG, NULL, offsetof(struct top_values, has_full_names), NULL,
         "whole kernel names"},
        WT_SELECT_OPTIONS(struct top_values, select),
        WT_WATCH_OPTIONS(struct top_values, is_watched, interval, has_no_colour),
        {"json", 0, WT_OPTION_FLAG, NULL, offsetof(struct top_values, is_json), NULL,
         "one JSON object; fields in doc/json.md"},
        {"csv", 0, WT_OPTION_FLAG, NULL, offsetof(struct top_values, is_csv), NULL, "rows as CSV"},
        WT_SELECT_ALL_OPTION(struct top_values, select),
        WT_RUN_OPTION(struct top_values, run),
        {0},
};

static int check_values(const struct top_values *values)
{
	if (values->is_watched && (values->is_json || values->is_csv))
		return wt_cli_usage_error("top", "--watch is for people: not with --json or --csv");
	if (values->is_json && values->is_csv)
		return wt_cli_usage_error("top", "--json and --csv exclude each other");
	if (values->columns && (values->is_json || values->is_csv))
		return wt_cli_usage_error("top",
		                          "--columns shapes the table; --json and --csv have all");
	return WT_EXIT_FINE;
}

/* Says on stderr why there are no rows. */
static int explain_empty(const struct wt_run_file *run, const struct wt_report *report)
{
	char why[400];

	wt_report_why_empty(report, why, sizeof(why));
	wt_cli_error("run %s has nothing to rank: %s", run->info.id, why);
	return WT_EXIT_NO_DATA;
}

/* What to type next, about the same run: malloc'd, the second or both may be NULL. */
static void next_commands(const struct top_values *values, const struct wt_run_file *run,
                          const struct wt_report *report, char *next[2])
{
	char *option = wt_run_option(run, values->run);
	int length = 0;

	next[0] = next[1] = NULL;
	if (!option)
		return;
	if (values->by == WT_REPORT_BY_GAP) {
		length = asprintf(&next[0], "wavetap gaps%s --by call", option);
	} else if (wt_report_is_sum((enum wt_report_group)values->group)) {
		length = asprintf(&next[0], "wavetap top%s --group kernel", option);
	} else {
		length = asprintf(&next[0], "wavetap show%s id:%" PRId64, option,
		                  report->rows[0].kernel_id);
		if (asprintf(&next[1], "wavetap diagnose%s", option) < 0)
			next[1] = NULL;
	}
	if (length < 0)
		next[0] = NULL;
	free(option);
}

static int print_text(const struct top_values *values, const struct wt_run_file *run,
                      const struct wt_report *report)
{
	struct wt_text_terminal terminal;
	struct wt_top_style style = {
	        .by = (enum wt_report_by)values->by,
	        .group = (enum wt_report_group)values->group,
	        .columns = values->columns,
	        .limit = values->limit < 0 ? DEFAULT_LIMIT : values->limit,
	        .problem = wt_kernel_name_problem(),
	};
	char *next[2];
	int rc;

	next_commands(values, run, report, next);
	style.next = next[0];
	style.then = next[1];
	wt_text_terminal_probe(STDOUT_FILENO, &terminal);
	rc = wt_top_print(stdout, &terminal, run, report, &style);
	free(next[0]);
	free(next[1]);
	return rc == -EINVAL ? WT_EXIT_USAGE : wt_cli_output_result(rc);
}

static int print_report(const struct top_values *values, const struct wt_run_file *run,
                        const struct wt_report *report)
{
	size_t limit = values->limit > 0 ? (size_t)values->limit : SIZE_MAX;
	int code = WT_EXIT_FINE;

	/* An empty envelope still says what was lost: for programs it comes first. */
	if (values->is_json)
		code = wt_top_print_json(stdout, run, report, limit);
	else if (values->is_csv)
		code = wt_top_print_csv(stdout, report, limit);
	else if (report->row_count)
		code = print_text(values, run, report);
	if (!code && !report->row_count)
		code = explain_empty(run, report);
	return code;
}

static int top_of(const struct top_values *values, struct wt_select *select,
                  const struct wt_run_file *run)
{
	struct wt_report_query query = {
	        .by = (enum wt_report_by)values->by,
	        .group = (enum wt_report_group)values->group,
	        .select = select,
	        .has_full_names = values->has_full_names,
	};
	const struct wt_top_style style = {
	        .by = query.by, .group = query.group, .columns = values->columns};
	struct wt_report report;
	int code, rc;

	wt_top_needs(&style, &query.gaps, &query.latency);
	select->takes_sums = wt_report_takes_sums(run->db, &query);
	code = wt_select_apply(select, run);
	if (code)
		return code;
	if ((values->is_json || values->is_csv) && query.latency == WT_REPORT_NOT_NEEDED)
		query.latency = WT_REPORT_IF_CHEAP;
	rc = wt_report_load(run->db, &query, &report);
	if (rc == -ENODATA) {
		wt_cli_error("--group %s: run %s has %s", group_choices[values->group].word,
		             run->info.id, report.problem);
		code = WT_EXIT_NO_DATA;
	} else if (rc) {
		wt_cli_error("%s: %s", run->info.path, rc == -EIO ? report.problem : strerror(-rc));
		code = WT_EXIT_FAILED;
	} else if (query.by == WT_REPORT_BY_STRAGGLE && report.row_count &&
	           !report.total.has_measured) {
		wt_cli_error("--by straggle: blocks of unequal length need a measurement, and run "
		             "%s has none; --by tail-idle ranks what the model knows",
		             run->info.id);
		code = WT_EXIT_NO_DATA;
	} else if (query.by == WT_REPORT_BY_LATENCY && report.row_count &&
	           !report.total.latency_launches) {
		wt_cli_error("--by latency: no launch %s has a call of its own that is known",
		             report.select ? "selected" : "of the run");
		code = WT_EXIT_NO_DATA;
	} else {
		code = print_report(values, run, &report);
	}
	wt_report_fini(&report);
	return code;
}

/* The whole screen; what is wrong with the options is known already. */
static int watch(const struct top_values *values, int64_t interval_ns)
{
	const struct wt_watch_options options = {
	        .run = values->run,
	        .columns = values->columns,
	        .by = (enum wt_report_by)values->by,
	        .group = (enum wt_report_group)values->group,
	        .limit = values->limit,
	        .interval_ns = interval_ns,
	        .has_full_names = values->has_full_names,
	        .has_no_colour = values->has_no_colour,
	        .select = values->select,
	        .by_choices = by_choices,
	        .group_choices = group_choices,
	};

	return wt_watch_top(&options);
}

static int run_top(void *opaque, int operand_count, char **operands)
{
	const struct top_values *values = opaque;
	struct wt_select select;
	struct wt_run_file run;
	int64_t interval_ns;
	int code = check_values(values);

	(void)operand_count;
	(void)operands;
	if (values->columns && !strcmp(values->columns, "help")) {
		wt_top_list_columns(stdout);
		return WT_EXIT_FINE;
	}
	if (code)
		return code;
	code = wt_select_parse("top", &values->select, &select);
	wt_select_prefer_steady(&select);
	if (!code && values->columns) {
		const struct wt_top_style style = {.group = (enum wt_report_group)values->group,
		                                   .columns = values->columns};

		if (wt_top_check_columns(&style))
			code = WT_EXIT_USAGE;
	}
	if (!code)
		code = wt_watch_parse("top", values->is_watched, values->interval,
		                      values->has_no_colour, &interval_ns);
	if (!code && values->is_watched) {
		wt_select_fini(&select);
		return watch(values, interval_ns);
	}
	if (!code)
		code = wt_run_file_open(values->run, &run);
	if (!code) {
		code = top_of(values, &select, &run);
		wt_run_file_close(&run);
	}
	wt_select_fini(&select);
	return code;
}

const struct wt_command wt_cmd_top = {
        .name = "top",
        .summary = "which kernels leave SMs idle",
        .details = "LOST, UNDER, WAVE, STRAG, RAMP and TIME are times of the whole GPU: "
                   "SM-time by SMs. ~ marks what the model alone says.",
        .example = "wavetap top --by tail-idle",
        .minor = "full-names interval no-color",
        .options = top_options,
        .values_bytes = sizeof(struct top_values),
        .run = run_top,
};
