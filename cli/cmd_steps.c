/*
 * cmd_steps.c - `wavetap steps`: the steps of a run, how long they take, which are slow and why.
 * Single-threaded; blocks on files.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/dropped.h"
#include "cli/json_run.h"
#include "cli/phrase.h"
#include "cli/report_sql.h"
#include "cli/run_file.h"
#include "cli/steps.h"
#include "cli/steps_times.h"
#include "cli/table.h"

#define SLOWEST_DEFAULT 5

struct steps_values {
	const char *run, *marker;
	int64_t slowest, process;
	bool is_json, is_csv;
};

static const struct wt_option steps_options[] = {
        {"slowest", 'n', WT_OPTION_NUMBER, "N", offsetof(struct steps_values, slowest), NULL,
         "show the slowest N steps, 0 for all (default: 5; with --json and --csv all, in order)"},
        {"step-marker", 'm', WT_OPTION_TEXT, "KERNEL|RANGE", offsetof(struct steps_values, marker),
         NULL,
         "a step begins at each launch of KERNEL (part of its name, a regular expression, id:N) or "
         "in each RANGE (its whole name; range:GLOB)"},
        {"process", 0, WT_OPTION_NUMBER, "ID", offsetof(struct steps_values, process), NULL,
         "the process with that id (default: the one with most launches)"},
        {"json", 0, WT_OPTION_FLAG, NULL, offsetof(struct steps_values, is_json), NULL,
         "one JSON object; fields in doc/json.md"},
        {"csv", 0, WT_OPTION_FLAG, NULL, offsetof(struct steps_values, is_csv), NULL,
         "comma-separated values with a heading"},
        WT_RUN_OPTION(struct steps_values, run),
        {0},
};

/* ---- rows */

static const struct wt_table_column columns[] = {
        {"step", "STEP", WT_TABLE_RIGHT, 0, 0, 0},
        {"kind", "KIND", WT_TABLE_LEFT, WT_TABLE_DROP(3), 0, 0},
        {"start_ns", "START", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"end_ns", "END", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"time_ns", "TIME", WT_TABLE_RIGHT, 0, 0, 0},
        {"launches", "LAUNCHES", WT_TABLE_RIGHT, WT_TABLE_DROP(2), 0, 0},
        {"busy_ns", "KERNELS", WT_TABLE_RIGHT, WT_TABLE_DROP(4), 0, 0},
        {"gap_ns", "GAPS", WT_TABLE_RIGHT, WT_TABLE_DROP(5), 0, 0},
        {"more_ns", "MORE", WT_TABLE_RIGHT, 0, 0, 0},
        {"more_busy_ns", "IN KERNELS", WT_TABLE_RIGHT, 0, 0, 0},
        {"more_gap_ns", "IN GAPS", WT_TABLE_RIGHT, 0, 0, 0},
        {"profiled_launches", "PROFILED", WT_TABLE_RIGHT, WT_TABLE_DROP(1), 0,
         0}, /* no text where there are none */
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

/* When launches under the range profiler were called, in order: each waits for milliseconds. */
struct profiled {
	int64_t *entry_ns;
	size_t count;
};

static int load_profiled(sqlite3 *db, int64_t process_id, struct profiled *profiled)
{
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db,
	                           "SELECT entry_ns FROM launch_row WHERE process_id = ?1"
	                           " AND flags & 128 ORDER BY 1",
	                           &s);

	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, process_id);
	while ((rc = wt_report_step(s)) > 0) {
		int64_t *entry_ns =
		        wt_report_append(&profiled->entry_ns, &profiled->count, sizeof(*entry_ns));

		if (!entry_ns) {
			rc = -ENOMEM;
			break;
		}
		*entry_ns = sqlite3_column_int64(s, 0);
	}
	sqlite3_finalize(s);
	return rc;
}

/* How many of them were before t_ns. */
static size_t profiled_before(const struct profiled *profiled, int64_t t_ns)
{
	size_t low = 0, high = profiled->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (profiled->entry_ns[middle] < t_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int64_t profiled_in(const struct profiled *profiled, const struct wt_run_step *step)
{
	return (int64_t)(profiled_before(profiled, step->end_ns) -
	                 profiled_before(profiled, step->start_ns));
}

static int64_t time_of(const struct wt_run_step *step)
{
	return step->end_ns - step->start_ns;
}

static void add_signed(struct wt_table *table, int64_t ns)
{
	char number[WT_TEXT_NUMBER_BYTES], text[WT_TEXT_NUMBER_BYTES + 1];

	snprintf(text, sizeof(text), "%s%s",
	         ns > 0   ? "+"
	         : ns < 0 ? "-"
	                  : "",
	         wt_text_ns(number, ns < 0 ? -ns : ns));
	wt_table_add_int(table, ns, text);
}

static void add_row(struct wt_table *table, const struct wt_run_steps *steps, size_t i,
                    const struct wt_step_times *times, const struct profiled *profiled)
{
	const struct wt_run_step *step = &steps->steps[i];
	int64_t time_ns = time_of(step), more_ns = time_ns - times->median_ns;
	int64_t more_busy_ns = step->busy_ns - times->median_busy_ns;
	char a[WT_TEXT_NUMBER_BYTES];

	wt_table_row(table, 0);
	wt_table_add_int(table, (int64_t)i + 1, NULL);
	wt_table_add_string(table, wt_run_step_kind(steps, i), NULL);
	wt_table_add_int(table, step->start_ns, NULL);
	wt_table_add_int(table, step->end_ns, NULL);
	wt_table_add_int(table, time_ns, wt_text_ns(a, time_ns));
	wt_table_add_int(table, step->launches, wt_text_count(a, step->launches));
	if (steps->is_gpu_time) {
		wt_table_add_int(table, step->busy_ns, wt_text_ns(a, step->busy_ns));
		wt_table_add_int(table, time_ns - step->busy_ns,
		                 wt_text_ns(a, time_ns - step->busy_ns));
	} else {
		wt_table_add_null(table);
		wt_table_add_null(table);
	}
	add_signed(table, more_ns);
	if (steps->is_gpu_time) {
		add_signed(table, more_busy_ns);
		add_signed(table, more_ns - more_busy_ns);
	} else {
		wt_table_add_null(table);
		wt_table_add_null(table);
	}
	wt_table_add_int(table, profiled_in(profiled, step), NULL);
}

static int by_slowness(const void *left, const void *right, void *context)
{
	const struct wt_run_step *steps = context;
	size_t a = *(const size_t *)left, b = *(const size_t *)right;
	int64_t x = time_of(&steps[a]), y = time_of(&steps[b]);

	if (x != y)
		return x > y ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* The slowest `limit` steps, slowest first; limit < 0: all, in order. NULL: out of memory. `shown` must
 * outlive the table. */
static struct wt_table *make_table(const struct wt_run_steps *steps,
                                   const struct wt_step_times *times,
                                   const struct profiled *profiled, int64_t limit,
                                   struct wt_table_column shown[COLUMNS])
{
	struct wt_table *table;
	size_t *order = calloc(steps->count + 1, sizeof(*order));
	size_t count = steps->count;

	memcpy(shown, columns, sizeof(columns));
	if (!profiled->count)
		shown[COLUMNS - 1].flags |= WT_TABLE_NO_TEXT;
	table = wt_table_create(shown, COLUMNS);
	if (!table || !order) {
		wt_table_destroy(table);
		free(order);
		return NULL;
	}
	for (size_t i = 0; i < count; i++)
		order[i] = i;
	if (limit >= 0 && count)
		qsort_r(order, count, sizeof(*order), by_slowness, steps->steps);
	if (limit > 0 && (uint64_t)limit < count)
		count = (size_t)limit;
	for (size_t i = 0; i < count; i++)
		add_row(table, steps, order[i], times, profiled);
	free(order);
	return table;
}

/* ---- output */

struct view {
	const struct wt_run_file *run;
	const struct wt_run_steps *steps;
	const struct wt_report *losses;
	struct wt_step_times times;
	struct profiled profiled;
};

/* Rows of its beginning are gone: steps count from the first that is left. */
static bool is_cut(const struct view *view)
{
	return wt_dropped_kept_ns(view->run->db) != INT64_MIN;
}

static const char *beginning_of(const struct wt_run_steps *steps)
{
	if (steps->is_marked)
		return "marker";
	if (steps->found.is_at_update)
		return "optimizer";
	return steps->found.is_at_gap ? "gap" : "anchor";
}

static void put_number(struct wt_json *json, const char *key, int64_t value, bool is_known)
{
	wt_json_key(json, key);
	if (is_known)
		wt_json_int(json, value);
	else
		wt_json_null(json);
}

static void put_steady(struct wt_json *json, const struct view *view)
{
	const struct wt_run_steps *steps = view->steps;
	const struct wt_step_times *times = &view->times;

	wt_json_key(json, "steady");
	if (!times->count) {
		wt_json_null(json);
		return;
	}
	wt_json_object_begin(json);
	put_number(json, "first_step", (int64_t)steps->found.steady_first + 1, true);
	put_number(json, "last_step", (int64_t)steps->found.steady_end, true);
	put_number(json, "steps", times->count, true);
	put_number(json, "start_ns", steps->steady_start_ns, true);
	put_number(json, "end_ns", steps->steady_end_ns, true);
	put_number(json, "min_ns", times->min_ns, true);
	wt_json_key(json, "mean_ns");
	wt_json_double(json, times->mean_ns);
	put_number(json, "median_ns", times->median_ns, true);
	put_number(json, "max_ns", times->max_ns, true);
	wt_json_key(json, "deviation_ns");
	wt_json_double(json, times->deviation_ns);
	put_number(json, "median_busy_ns", times->median_busy_ns, steps->is_gpu_time);
	put_number(json, "median_launches", times->median_launches, true);
	wt_json_object_end(json);
}

static void put_found(struct wt_json *json, const struct view *view)
{
	const struct wt_run_steps *steps = view->steps;
	bool is_found = steps->found.reason == WT_STEPS_FOUND;

	wt_json_key(json, "steps");
	wt_json_object_begin(json);
	wt_json_key(json, "is_found");
	wt_json_bool(json, is_found);
	wt_json_key(json, "reason");
	wt_json_string(json, wt_steps_reason_text(steps->found.reason));
	wt_json_key(json, "confidence");
	wt_json_fixed(json, steps->found.confidence, 3);
	put_number(json, "count", (int64_t)steps->count, is_found);
	put_number(json, "period_launches", (int64_t)steps->found.period_items,
	           steps->found.period_items > 0);
	put_number(json, "outer_period_launches", (int64_t)steps->found.outer_items,
	           steps->found.outer_items > 0);
	wt_json_key(json, "begins_at");
	wt_json_string(json, is_found ? beginning_of(steps) : NULL);
	wt_json_key(json, "clock");
	wt_json_string(json, steps->is_gpu_time ? "gpu" : "calls");
	put_number(json, "process_id", steps->process_id, true);
	put_number(json, "launches", steps->launches, true);
	wt_json_key(json, "is_one_thread");
	wt_json_bool(json, steps->is_of_thread);
	/* What was before the first kept row is not start-up. */
	put_number(json, "startup_ns", is_found ? steps->steady_start_ns - steps->first_ns : 0,
	           view->times.count > 0 && !is_cut(view));
	put_number(json, "after_ns", is_found ? steps->last_ns - steps->steady_end_ns : 0,
	           view->times.count > 0);
	put_steady(json, view);
	wt_json_object_end(json);
}

static int print_json(const struct view *view, struct wt_table *table)
{
	struct wt_json json;

	wt_json_init(&json, stdout, true);
	wt_json_object_begin(&json);
	wt_json_put_run(&json, view->run);
	wt_json_key(&json, "loss");
	wt_json_put_loss(&json, &view->losses->loss);
	wt_json_put_incomplete(&json, view->losses);
	put_found(&json, view);
	wt_json_key(&json, "rows");
	(void)wt_table_print_json(table, &json);
	wt_json_object_end(&json);
	return wt_json_finish(&json);
}

static void print_head(struct wt_phrase *line, const struct view *view)
{
	const struct wt_run_steps *steps = view->steps;
	char a[WT_TEXT_NUMBER_BYTES];

	wt_phrase_add(line, "run %s", view->run->info.id);
	if (view->run->info.name[0])
		wt_phrase_add(line, "%s", view->run->info.name);
	if (steps->processes > 1)
		wt_phrase_add(line, "process %" PRId64 " (pid %" PRId64 ") of %" PRId64,
		              steps->process_id, steps->pid, steps->processes);
	if (steps->is_marked)
		wt_phrase_add(line, "%s steps, as marked", wt_text_count(a, (int64_t)steps->count));
	else
		wt_phrase_add(line, "%s steps found, confidence %.2f",
		              wt_text_count(a, (int64_t)steps->count), steps->found.confidence);
	wt_phrase_add(line, "%s launches each",
	              wt_text_count(a, (int64_t)steps->found.period_items));
	if (steps->found.is_at_update)
		wt_phrase_add(line, "beginning after the optimizer");
	else if (!steps->is_marked)
		wt_phrase_add(line, "beginning at %s",
		              steps->found.is_at_gap ? "a gap of the host"
		                                     : "some place that recurs");
	if (steps->is_of_thread)
		wt_phrase_add(line, "of one thread: all together have none");
	wt_phrase_end(line);
}

static void print_steady(struct wt_phrase *line, const struct view *view)
{
	const struct wt_run_steps *steps = view->steps;
	const struct wt_step_times *times = &view->times;
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];

	if (!times->count) {
		wt_phrase_add(line, "none is steady");
		wt_phrase_end(line);
		return;
	}
	wt_phrase_add(line, "steady: %s of steps %zu to %zu", wt_text_count(a, times->count),
	              steps->found.steady_first + 1, steps->found.steady_end);
	wt_phrase_add(line, "start-up %s",
	              is_cut(view) ? "." : wt_text_ns(a, steps->steady_start_ns - steps->first_ns));
	wt_phrase_add(line, "after them %s", wt_text_ns(a, steps->last_ns - steps->steady_end_ns));
	wt_phrase_end(line);
	wt_phrase_add(line, "a steady step: mean %s", wt_text_ns(a, (int64_t)times->mean_ns));
	wt_phrase_add(line, "median %s", wt_text_ns(a, times->median_ns));
	wt_phrase_add(line, "min %s", wt_text_ns(a, times->min_ns));
	wt_phrase_add(line, "max %s", wt_text_ns(a, times->max_ns));
	wt_phrase_add(line, "deviation %s", wt_text_ns(a, (int64_t)times->deviation_ns));
	if (steps->is_gpu_time)
		wt_phrase_add(line, "median in kernels %s (%s%%)",
		              wt_text_ns(a, times->median_busy_ns),
		              wt_text_percent(b, (double)times->median_busy_ns,
		                              (double)times->median_ns));
	else
		wt_phrase_add(line, "from call to call: kernels have no times");
	wt_phrase_end(line);
}

static int print_text(const struct view *view, struct wt_table *table)
{
	struct wt_text_terminal terminal;
	struct wt_phrase line;
	int rc;

	wt_text_terminal_probe(STDOUT_FILENO, &terminal);
	wt_phrase_init(&line, stdout, &terminal);
	print_head(&line, view);
	print_steady(&line, view);
	wt_phrase_line(stdout, &terminal, "slowest; MORE: than the median of the steady ones");
	rc = wt_table_print_text(table, stdout, &terminal);
	if (!rc && view->profiled.count) {
		size_t steps = 0;

		for (size_t i = 0; i < view->steps->count; i++)
			steps += profiled_in(&view->profiled, &view->steps->steps[i]) > 0;
		wt_phrase_add(&line,
		              "PROFILED: launches under the range profiler, in %zu of %zu steps",
		              steps, view->steps->count);
		wt_phrase_add(&line,
		              "each waits for milliseconds: such steps say nothing of the program");
		wt_phrase_end(&line);
	}
	if (!rc && wt_report_kernels_lost(&view->losses->loss)) {
		char a[WT_TEXT_NUMBER_BYTES];

		wt_phrase_add(&line, "lost %s kernels: steps may have had more",
		              wt_text_count(a, wt_report_kernels_lost(&view->losses->loss)));
		wt_phrase_end(&line);
	}
	return rc;
}

/* What to do when there are none, on stderr. */
static void explain_none(const struct view *view)
{
	const struct wt_run_steps *steps = view->steps;
	const struct wt_steps *found = &steps->found;

	if (steps->is_marked) {
		wt_cli_error("run %s has no steps: the marker was launched less than twice",
		             view->run->info.id);
		return;
	}
	wt_cli_error("no steps found in run %s: %s", view->run->info.id,
	             wt_steps_reason_text(found->reason));
	if (found->reason == WT_STEPS_AMBIGUOUS && found->outer_items)
		wt_cli_error("every %zu launches, within a loop of %zu", found->period_items,
		             found->outer_items);
	else if (found->reason == WT_STEPS_AMBIGUOUS || found->reason == WT_STEPS_UNSURE)
		wt_cli_error("every %zu launches, confidence %.2f", found->period_items,
		             found->confidence);
	wt_cli_error("if a kernel is launched once a step, or a range (NVTX) is around each, name "
	             "it: --step-marker KERNEL|RANGE");
}

static int print_steps(const struct steps_values *values, struct view *view)
{
	bool is_found = view->steps->found.reason == WT_STEPS_FOUND;
	int64_t limit = values->slowest;
	struct wt_table_column shown[COLUMNS];
	struct wt_table *table;
	int rc = wt_step_times_compute(view->steps, &view->times);

	if (rc)
		return wt_cli_output_result(rc);
	if (limit < 0 && !values->is_json && !values->is_csv)
		limit = SLOWEST_DEFAULT;
	table = make_table(view->steps, &view->times, &view->profiled, limit, shown);
	rc = -ENOMEM;
	if (table && values->is_json)
		rc = print_json(view, table);
	else if (table && values->is_csv)
		rc = wt_table_print_csv(table, stdout);
	else if (table)
		rc = is_found ? print_text(view, table) : 0;
	wt_table_destroy(table);
	if (!rc && !is_found) {
		explain_none(view);
		return WT_EXIT_NO_DATA;
	}
	return wt_cli_output_result(rc);
}

static int show(const struct steps_values *values, const struct wt_run_file *run)
{
	struct wt_steps_query query = {values->process, -1, NULL};
	struct wt_run_steps steps = {0};
	struct wt_report losses = {0};
	struct view view = {run, &steps, &losses, {0}, {0}};
	int code =
	        values->marker ? wt_steps_find_marker(run, values->marker, &query) : WT_EXIT_FINE;
	int rc;

	if (code)
		return code;
	rc = wt_run_steps_load(run->db, &query, &steps);
	if (!rc)
		rc = wt_report_load_losses(run->db, &losses);
	if (!rc)
		rc = load_profiled(run->db, steps.process_id, &view.profiled);
	if (rc == -ENOENT) {
		wt_cli_error("run %s has no launches%s", run->info.id,
		             values->process >= 0 ? " of a process with that id" : "");
		code = WT_EXIT_NO_DATA;
	} else if (rc) {
		wt_cli_error("%s: %s", run->info.path,
		             rc != -EIO         ? strerror(-rc)
		             : steps.problem[0] ? steps.problem
		                                : losses.problem);
		code = WT_EXIT_FAILED;
	} else {
		code = print_steps(values, &view);
	}
	free(view.profiled.entry_ns);
	wt_run_steps_fini(&steps);
	wt_report_fini(&losses);
	return code;
}

static int run_steps(void *opaque, int operand_count, char **operands)
{
	const struct steps_values *values = opaque;
	struct wt_run_file run;
	int code;

	(void)operand_count;
	(void)operands;
	if (values->is_json && values->is_csv)
		return wt_cli_usage_error("steps", "--json and --csv exclude each other");
	code = wt_run_file_open(values->run, &run);
	if (code)
		return code;
	wt_dropped_tell(run.db, run.info.id); /* steps count from there */
	code = show(values, &run);
	wt_run_file_close(&run);
	return code;
}

const struct wt_command wt_cmd_steps = {
        .name = "steps",
        .summary = "the steps of a loop, found from what is launched, and the slowest",
        .details = "Found from launches that recur. Where it can't be told what is a "
                   "step, none are found (exit code 3): then name a kernel or range that "
                   "comes once a step.",
        .example = "wavetap steps --slowest 3",
        .options = steps_options,
        .values_bytes = sizeof(struct steps_values),
        .run = run_steps,
};
