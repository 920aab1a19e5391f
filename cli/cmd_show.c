/*
 * cmd_show.c - `wavetap show KERNEL`: one kernel in full. Single-threaded; blocks on files.
 *
 * KERNEL is a row of `top` (its default ranking), "id:N" (kernel_id), or part of a name.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/kernel_name.h"
#include "cli/run_file.h"
#include "cli/select.h"
#include "cli/show_print.h"

#define CANDIDATES_SHOWN 10

struct show_values {
	const char *run;
	struct wt_select_words select;
	bool is_ncu, is_json;
};

static const struct wt_option show_options[] = {
        {"ncu", 0, WT_OPTION_FLAG, NULL, offsetof(struct show_values, is_ncu), NULL,
         "only the ncu command that profiles one launch"},
        {"json", 0, WT_OPTION_FLAG, NULL, offsetof(struct show_values, is_json), NULL,
         "one JSON object; fields in doc/json.md"},
        WT_SELECT_OPTIONS(struct show_values, select),
        WT_SELECT_ALL_OPTION(struct show_values, select),
        WT_RUN_OPTION(struct show_values, run),
        {0},
};

/* ---- which kernel */

/* The whole of `text` is a number of at least 1. */
static bool parse_number(const char *text, int64_t *ret_number)
{
	char *end;

	errno = 0;
	*ret_number = strtoll(text, &end, 10);
	return text[0] >= '0' && text[0] <= '9' && !*end && !errno && *ret_number > 0;
}

static bool has_name(const struct wt_report_row *row, const char *part, bool is_whole)
{
	char *full = wt_kernel_name_demangle(row->kernel);
	bool is_match;

	if (is_whole)
		is_match = !strcmp(row->kernel_shown, part) || !strcmp(row->kernel, part) ||
		           (full && !strcmp(full, part));
	else
		is_match = strstr(row->kernel_shown, part) || (full && strstr(full, part));
	free(full);
	return is_match;
}

/* The one kernel with that name or part of one. An enum wt_exit, after a message. */
static int find_by_name(const struct wt_report *report, const char *part, int64_t *ret_id)
{
	for (int is_whole = 1; is_whole >= 0; is_whole--) {
		size_t found = 0;

		for (size_t i = 0; i < report->row_count; i++)
			if (has_name(&report->rows[i], part, is_whole) && found++ == 0)
				*ret_id = report->rows[i].kernel_id;
		if (found == 1)
			return WT_EXIT_FINE;
		if (found == 0)
			continue;
		wt_cli_error("\"%s\" is part of %zu kernel names; which one?", part, found);
		found = 0;
		for (size_t i = 0; i < report->row_count && found < CANDIDATES_SHOWN; i++)
			if (has_name(&report->rows[i], part, is_whole) && ++found)
				wt_cli_error("  %zu  id:%" PRId64 "  %s", i + 1,
				             report->rows[i].kernel_id,
				             report->rows[i].kernel_shown);
		return WT_EXIT_USAGE;
	}
	wt_cli_error("no kernel of this run has \"%s\" in its name", part);
	return WT_EXIT_NO_DATA;
}

static int find_kernel(const struct wt_report *report, const char *spec, int64_t *ret_id)
{
	int64_t number;

	if (parse_number(spec, &number)) {
		if ((uint64_t)number > report->row_count) {
			wt_cli_error("there is no row %" PRId64 ": top has %zu", number,
			             report->row_count);
			return WT_EXIT_NO_DATA;
		}
		*ret_id = report->rows[number - 1].kernel_id;
		return WT_EXIT_FINE;
	}
	if (!strncmp(spec, "id:", 3) && parse_number(spec + 3, &number)) {
		*ret_id = number;
		return WT_EXIT_FINE;
	}
	if (!*spec)
		return wt_cli_usage_error("show", "the name of a kernel is empty");
	return find_by_name(report, spec, ret_id);
}

static int find_in_run(const struct wt_run_file *run, const struct wt_select *select,
                       const char *spec, int64_t *ret_id)
{
	const struct wt_report_query query = {.select = select};
	struct wt_report report;
	int rc = wt_report_load(run->db, &query, &report);
	int code;

	if (rc) {
		wt_cli_error("%s: %s", run->info.path, rc == -EIO ? report.problem : strerror(-rc));
		code = WT_EXIT_FAILED;
	} else if (!report.row_count) {
		char why[400];

		wt_report_why_empty(&report, why, sizeof(why));
		wt_cli_error("run %s has no kernel to show: %s", run->info.id, why);
		code = WT_EXIT_NO_DATA;
	} else {
		code = find_kernel(&report, spec, ret_id);
	}
	wt_report_fini(&report);
	return code;
}

/* ---- the command */

static int print_ncu(const struct wt_run_file *run, const struct wt_show *show)
{
	if (show->is_collective) {
		wt_cli_error("a collective can't be profiled like that: ncu replays it, and each "
		             "replay waits for the other ranks");
		return WT_EXIT_NO_DATA;
	}
	if (!show->ncu && wt_dropped_kept_ns(run->db) != INT64_MIN) {
		wt_cli_error("which launch ncu would count to is not known: rows of run %s were "
		             "dropped (WAVETAP_KEEP_ROWS)",
		             run->info.id);
		return WT_EXIT_NO_DATA;
	}
	if (!show->ncu) {
		wt_cli_error("no launch with a known time: nothing to point ncu at");
		return WT_EXIT_NO_DATA;
	}
	puts(show->ncu);
	return WT_EXIT_FINE;
}

static int show_kernel(const struct show_values *values, const struct wt_select *select,
                       const struct wt_run_file *run, int64_t kernel_id)
{
	struct wt_show show;
	int rc = wt_show_load(run->db, select, kernel_id, &show);
	int code = WT_EXIT_FAILED;

	if (rc == -ENOENT) {
		wt_cli_error("run %s has no launch of kernel id:%" PRId64 "%s", run->info.id,
		             kernel_id, select->is_applied ? " in the selection" : "");
		code = WT_EXIT_NO_DATA;
	} else if (rc) {
		wt_cli_error("%s: %s", run->info.path, rc == -EIO ? show.problem : strerror(-rc));
	} else if (values->is_ncu) {
		code = print_ncu(run, &show);
	} else if (values->is_json) {
		code = wt_cli_output_result(wt_show_print_json(stdout, run, &show));
	} else {
		struct wt_text_terminal terminal;
		char *option = wt_run_option(run, values->run);

		wt_text_terminal_probe(STDOUT_FILENO, &terminal);
		code = wt_cli_output_result(
		        option ? wt_show_print(stdout, &terminal, run, &show, option) : -ENOMEM);
		free(option);
	}
	wt_show_fini(&show);
	return code;
}

static int run_show(void *opaque, int operand_count, char **operands)
{
	const struct show_values *values = opaque;
	int64_t kernel_id = 0;
	struct wt_select select;
	struct wt_run_file run;
	int code;

	(void)operand_count;
	if (values->is_ncu && values->is_json)
		return wt_cli_usage_error("show", "--ncu and --json exclude each other");
	code = wt_select_parse("show", &values->select, &select);
	wt_select_prefer_steady(&select);
	if (!code)
		code = wt_run_file_open(values->run, &run);
	if (!code) {
		code = wt_select_apply(&select, &run);
		if (!code)
			code = find_in_run(&run, &select, operands[0], &kernel_id);
		if (!code)
			code = show_kernel(values, &select, &run, kernel_id);
		wt_run_file_close(&run);
	}
	wt_select_fini(&select);
	return code;
}

const struct wt_command wt_cmd_show = {
        .name = "show",
        .operands = "KERNEL",
        .summary = "one kernel: configurations, limiter, times, what it could win",
        .details = "KERNEL is the number of a row of `wavetap top`, id:N, or part of a "
                   "name.",
        .example = "wavetap show 1",
        .options = show_options,
        .operand_count_min = 1,
        .operand_count_max = 1,
        .values_bytes = sizeof(struct show_values),
        .run = run_show,
};
