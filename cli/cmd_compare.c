/*
 * cmd_compare.c - `wavetap compare`: what changed from one run to another, beyond noise, and a gate for CI.
 * Single-threaded; blocks on files.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/baseline.h"
#include "cli/cli.h"
#include "cli/compare_show.h"
#include "cli/json_run.h"
#include "cli/text.h"
#include "schema/wt_paths.h"

#define DEFAULT_LIMIT 10
#define ALLOWED_MOST 1000.0 /* percent */

struct compare_values {
	struct wt_select_words select;
	const char *gate, *on, *kernel, *between;
	int by;
	int64_t limit;
	bool is_markdown, is_json, is_csv, has_full_names, is_quiet;
};

static const struct wt_choice by_choices[] = {
        {"kernel", "time of each kernel (default)", 0},
        {"config", "time of each launch configuration", 0},
        {"ledger", "lines of the ledger: SM-time active, and idle by cause", 0},
        {"occupancy", "occupancy, what limits it, registers and waves of each kernel", 0},
        {0},
};

static const struct wt_option compare_options[] = {
        {"by", 'b', WT_OPTION_CHOICE, "WHAT", offsetof(struct compare_values, by), by_choices,
         "what the table has rows of"},
        {"gate", 0, WT_OPTION_TEXT, "PCT", offsetof(struct compare_values, gate), NULL,
         "exit 0: no worse by PCT %, 4: worse by more, 3: can't be judged"},
        {"on", 0, WT_OPTION_TEXT, "step-time|idle|kernel:RE", offsetof(struct compare_values, on),
         NULL, "what the gate is on (default: step-time)"},
        {"markdown", 0, WT_OPTION_FLAG, NULL, offsetof(struct compare_values, is_markdown), NULL,
         "a summary in Markdown, for a comment"},
        {"quiet", 'q', WT_OPTION_FLAG, NULL, offsetof(struct compare_values, is_quiet), NULL,
         "with --gate: its line alone"},
        {"between", 0, WT_OPTION_TEXT, "PCT", offsetof(struct compare_values, between), NULL,
         "kernels of two runs of one program are taken to differ by up to PCT % (default: 2), "
         "with fewer than three runs a side"},
        {"kernel", 0, WT_OPTION_TEXT, "RE", offsetof(struct compare_values, kernel), NULL,
         "show only kernels whose name matches; all are judged"},
        {"limit", 'n', WT_OPTION_NUMBER, "N", offsetof(struct compare_values, limit), NULL,
         "rows to show, 0 for all (default: 10, all with --json and --csv)"},
        {"full-names", 0, WT_OPTION_FLAG, NULL, offsetof(struct compare_values, has_full_names),
         NULL, "whole kernel names"},
        {"json", 0, WT_OPTION_FLAG, NULL, offsetof(struct compare_values, is_json), NULL,
         "one JSON object; fields in doc/json.md"},
        {"csv", 0, WT_OPTION_FLAG, NULL, offsetof(struct compare_values, is_csv), NULL,
         "rows as CSV"},
        WT_SELECT_DEVICE_OPTIONS(struct compare_values, select),
        WT_SELECT_ALL_OPTION(struct compare_values, select),
        {0},
};

/* ---- sides */

static int add_file(struct wt_baseline_files *files, const char *word, size_t length)
{
	char **more = realloc(files->paths, (files->count + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	files->paths = more;
	more[files->count] = strndup(word, length);
	if (!more[files->count])
		return -ENOMEM;
	files->count++;
	return 0;
}

/* A baseline, or runs with commas between them. 0 or -errno. */
static int find_runs(const char *word, struct wt_baseline_files *files)
{
	int rc = wt_baseline_files(word, files);

	if (rc != -ENOENT && rc != -ENOTDIR)
		return rc;
	for (const char *at = word;; at++) {
		size_t length = strcspn(at, ",");

		if (length) {
			rc = add_file(files, at, length);
			if (rc)
				return rc;
		}
		at += length;
		if (!*at)
			return files->count ? 0 : add_file(files, word, strlen(word));
	}
}

static void close_side(struct wt_compare_side *side)
{
	for (size_t i = 0; side->runs && i < side->count; i++)
		wt_compare_run_fini(&side->runs[i]);
	free(side->runs);
	memset(side, 0, sizeof(*side));
}

static int open_side(const char *word, const struct wt_select_words *words,
                     struct wt_compare_side *side)
{
	struct wt_baseline_files files = {0};
	int rc = find_runs(word, &files), code = WT_EXIT_FINE;

	if (!rc)
		side->runs = calloc(files.count + 1, sizeof(*side->runs));
	if (rc || !side->runs) {
		wt_cli_error("%s: %s", word, strerror(rc ? -rc : ENOMEM));
		code = WT_EXIT_FAILED;
	}
	for (size_t i = 0; !code && i < files.count; i++) {
		side->count++;
		code = wt_compare_run_load(files.paths[i], words, &side->runs[i]);
	}
	wt_baseline_files_fini(&files);
	return code;
}

/* ---- what was asked for */

struct asked {
	const struct compare_values *values;
	struct wt_compare_query query;
	struct wt_compare_style style;
	double allowed; /* share; < 0: no gate */
	const char *on;
	regex_t kernel;
	bool has_kernel;
};

/* A percentage into a share; above 0, or at least 0. False: it is none. */
static bool read_percent(const char *text, bool is_positive, double *ret_share)
{
	char *end;
	double percent = strtod(text, &end);

	if (end == text || !isfinite(percent) || percent < 0 || percent > ALLOWED_MOST ||
	    (is_positive && percent == 0) || (*end && strcmp(end, "%") != 0))
		return false;
	*ret_share = percent / 100;
	return true;
}

static int read_gate(const struct compare_values *values, struct asked *asked)
{
	const char *problem;

	asked->allowed = -1;
	asked->on = values->on ? values->on : "step-time";
	if (!values->gate && values->on)
		return wt_cli_usage_error("compare", "--on is of --gate PCT");
	if (!values->gate && values->is_quiet)
		return wt_cli_usage_error("compare", "--quiet is of --gate PCT");
	problem = wt_compare_gate_check(asked->on);
	if (problem)
		return wt_cli_usage_error("compare", "--on %s: %s", asked->on, problem);
	if (values->gate && !read_percent(values->gate, true, &asked->allowed))
		return wt_cli_usage_error(
		        "compare",
		        "--gate %s: a percentage above 0, by which it may be worse; that nothing"
		        " changed at all can never be shown",
		        values->gate);
	return WT_EXIT_FINE;
}

static int read_values(const struct compare_values *values, struct asked *asked)
{
	bool is_text = !values->is_json && !values->is_csv;
	int code;

	*asked = (struct asked){.values = values};
	if (values->is_json + values->is_csv + values->is_markdown + values->is_quiet > 1)
		return wt_cli_usage_error(
		        "compare", "--json, --csv, --markdown and --quiet exclude each other");
	code = read_gate(values, asked);
	if (code)
		return code;
	asked->query.between_kernels = -1;
	if (values->between && !read_percent(values->between, false, &asked->query.between_kernels))
		return wt_cli_usage_error("compare", "--between %s: a percentage", values->between);
	asked->query.by_config = values->by == WT_COMPARE_BY_CONFIG;
	asked->style.by = (enum wt_compare_by)values->by;
	asked->style.has_full_names = values->has_full_names;
	asked->style.limit = values->limit > 0 ? (size_t)values->limit
	                     : values->limit < 0 && is_text && values->by != WT_COMPARE_BY_LEDGER
	                             ? DEFAULT_LIMIT
	                             : SIZE_MAX;
	if (!values->kernel)
		return WT_EXIT_FINE;
	if (regcomp(&asked->kernel, values->kernel, REG_EXTENDED | REG_NOSUB))
		return wt_cli_usage_error("compare", "--kernel %s: no extended regular expression",
		                          values->kernel);
	asked->has_kernel = true;
	asked->style.kernel = &asked->kernel;
	return WT_EXIT_FINE;
}

/* ---- one pair */

struct output {
	struct wt_json json;
	bool is_begun;
};

static void put_ids(FILE *out, const struct wt_compare_side *side)
{
	for (size_t i = 0; i < side->count; i++)
		fprintf(out, "%s%s", i ? "," : "", side->runs[i].id);
}

/* One line however narrow the terminal is: scripts read it. Which runs a name stood for is in it, and words of theirs. */
static int print_gate(const struct wt_compare *compare, const struct wt_compare_gate *gate)
{
	struct wt_text_terminal terminal;
	char *verdict = wt_compare_gate_line(gate), *line = NULL, *safe = NULL;
	size_t bytes;
	FILE *out = verdict ? open_memstream(&line, &bytes) : NULL;

	wt_text_terminal_probe(STDOUT_FILENO, &terminal);
	if (out) {
		fprintf(out, "%s; run ", verdict);
		put_ids(out, &compare->after);
		fputs(" by ", out);
		put_ids(out, &compare->before);
	}
	free(verdict);
	if (out && !fclose(out))
		safe = wt_text_escape(line, terminal.is_utf8);
	if (safe)
		puts(safe);
	free(line);
	free(safe);
	return safe ? 0 : -ENOMEM;
}

static int show(const struct asked *asked, const struct wt_compare *compare,
                const struct wt_compare_gate *gate, struct output *output)
{
	const struct compare_values *values = asked->values;

	if (values->is_json)
		return wt_compare_put_json(&output->json, compare, &asked->style, gate);
	if (values->is_csv)
		return wt_compare_print_csv(compare, &asked->style);
	if (!values->is_quiet && output->is_begun)
		putchar('\n');
	output->is_begun = true;
	if (values->is_markdown)
		return wt_compare_print_markdown(compare, &asked->style, gate);
	if (!values->is_quiet)
		return wt_compare_print_text(compare, &asked->style, gate);
	return print_gate(compare, gate);
}

static int compare_pair(const struct asked *asked, const struct wt_compare_side *before,
                        const struct wt_compare_side *after, struct output *output)
{
	struct wt_compare_gate gate = {.code = WT_EXIT_NO_DATA};
	struct wt_compare compare;
	int rc = wt_compare_make(before, after, &asked->query, &compare);
	int code = WT_EXIT_FINE;

	if (!rc && asked->allowed >= 0)
		rc = wt_compare_gate_judge(&compare, asked->allowed, asked->on, &gate);
	if (!rc)
		rc = show(asked, &compare, asked->allowed >= 0 ? &gate : NULL, output);
	if (!rc && asked->allowed >= 0)
		code = gate.code;
	else if (!rc && compare.blocked)
		code = WT_EXIT_NO_DATA;
	wt_compare_fini(&compare);
	return rc ? wt_cli_output_result(rc) : code;
}

/* What went wrong, then worse, then what can't be judged. */
static int worse_of(int a, int b)
{
	static const int order[] = {WT_EXIT_FAILED, WT_EXIT_USAGE, WT_EXIT_WORSE, WT_EXIT_NO_DATA};

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (a == order[i] || b == order[i])
			return order[i];
	return WT_EXIT_FINE;
}

static void begin_json(struct wt_json *json)
{
	wt_json_init(json, stdout, true);
	wt_json_object_begin(json);
	wt_json_key(json, "schema");
	wt_json_int(json, WT_JSON_SCHEMA);
	wt_json_key(json, "comparisons");
	wt_json_array_begin(json);
}

static int end_json(struct wt_json *json, int code)
{
	int rc;

	wt_json_array_end(json);
	wt_json_object_end(json);
	rc = wt_json_finish(json);
	return rc ? wt_cli_output_result(rc) : code;
}

/* Each word but the first one against the first. */
static int compare_all(const struct asked *asked, int count, char **words)
{
	struct wt_compare_side before = {0};
	struct output output = {0};
	int code = open_side(words[0], &asked->values->select, &before);

	if (!code && asked->values->is_json)
		begin_json(&output.json);
	for (int i = 1; before.count && i < count && (i == 1 ? !code : code != WT_EXIT_FAILED);
	     i++) {
		struct wt_compare_side after = {0};
		int one = open_side(words[i], &asked->values->select, &after);

		if (!one)
			one = compare_pair(asked, &before, &after, &output);
		code = worse_of(code, one);
		close_side(&after);
	}
	close_side(&before);
	return output.json.out ? end_json(&output.json, code) : code;
}

static int run_compare(void *opaque, int operand_count, char **operands)
{
	struct asked asked;
	int code = read_values(opaque, &asked);

	if (!code) {
		/* All comparisons are one family. */
		asked.query.alpha = WT_CONTRAST_ALPHA / (operand_count - 1);
		code = compare_all(&asked, operand_count, operands);
	}
	if (asked.has_kernel)
		regfree(&asked.kernel);
	return code;
}

const struct wt_command wt_cmd_compare = {
        .name = "compare",
        .operands = "A B...",
        .summary = "what changed from one run to another, beyond noise; a gate for CI",
        .details =
                "A side is a run, several of one program with commas between them, or a baseline. "
                "With three or more on each side noise between runs is measured, with fewer "
                "assumed.",
        .example = "wavetap compare latest~1 latest",
        .minor = "between full-names kernel limit quiet csv",
        .theme = WT_THEME_PLAN,
        .options = compare_options,
        .operand_count_min = 2,
        .operand_count_max = -1,
        .values_bytes = sizeof(struct compare_values),
        .run = run_compare,
};
