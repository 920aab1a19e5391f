/*
 * cmd_ranges.c - `wavetap ranges`: the named ranges (NVTX) of a run, by name: how long they took on
 * the host, which kernels were launched inside and what these left idle. Single-threaded; blocks on
 * files.
 *
 * A kernel counts once for a name, also where ranges of that name nest. It may run after the range
 * that launched it; GAPS are of the range itself: while it was open, no kernel of its process ran.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/dropped.h"
#include "cli/json_run.h"
#include "cli/phrase.h"
#include "cli/ranges_sum.h"
#include "cli/report_sql.h"
#include "cli/run_file.h"
#include "cli/table.h"

#define DEFAULT_LIMIT 20

enum ranges_by { BY_TIME, BY_COUNT, BY_KERNELS, BY_IDLE, BY_GAP };

struct ranges_values {
	const char *run;
	int by;
	int64_t limit;
	bool is_any_thread, is_json, is_csv;
};

static const struct wt_choice by_choices[] = {
        {"time", "summed length (default)", 0},
        {"count", "how many there were", 0},
        {"kernels", "time of the kernels launched inside", 0},
        {"idle", "SM-time that these kernels left idle", 0},
        {"gap", "time without a kernel while it was open", 0},
        {0},
};

static const struct wt_option ranges_options[] = {
        {"by", 'b', WT_OPTION_CHOICE, "WHAT", offsetof(struct ranges_values, by), by_choices,
         "what to rank by"},
        {"limit", 'n', WT_OPTION_NUMBER, "N", offsetof(struct ranges_values, limit), NULL,
         "rows, 0 for all (default: 20; in JSON and CSV all)"},
        {"any-thread", 0, WT_OPTION_FLAG, NULL, offsetof(struct ranges_values, is_any_thread), NULL,
         "count what other threads launched meanwhile as inside, too"},
        {"json", 0, WT_OPTION_FLAG, NULL, offsetof(struct ranges_values, is_json), NULL,
         "one JSON object; fields in doc/json.md"},
        {"csv", 0, WT_OPTION_FLAG, NULL, offsetof(struct ranges_values, is_csv), NULL,
         "rows as CSV"},
        WT_RUN_OPTION(struct ranges_values, run),
        {0},
};

struct view {
	const struct wt_run_file *run;
	struct wt_range_sums sums;
	struct wt_report losses;
};

/* ---- output */

static const struct wt_table_column columns[] = {
        {"domain", "", WT_TABLE_LEFT, WT_TABLE_NO_TEXT, 0, 0},
        {"name", "", WT_TABLE_LEFT, WT_TABLE_NO_TEXT, 0, 0},
        {"kind", "", WT_TABLE_LEFT, WT_TABLE_NO_TEXT, 0, 0},
        {"count", "N", WT_TABLE_RIGHT, WT_TABLE_DROP(5), 0, 0},
        {"open", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"time_ns", "TIME", WT_TABLE_RIGHT, 0, 0, 0},
        {"mean_ns", "MEAN", WT_TABLE_RIGHT, WT_TABLE_DROP(3), 0, 0},
        {"min_ns", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"max_ns", "MAX", WT_TABLE_RIGHT, WT_TABLE_DROP(1), 0, 0},
        {"gap_ns", "GAPS", WT_TABLE_RIGHT, WT_TABLE_DROP(6), 0, 0},
        {"kernels", "KERNELS", WT_TABLE_RIGHT, WT_TABLE_DROP(4), 0, 0},
        {"kernels_of_others", "OTHERS", WT_TABLE_RIGHT, WT_TABLE_DROP(2), 0, 0},
        {"kernel_time_ns", "RAN", WT_TABLE_RIGHT, 0, 0, 0},
        {"kernel_sm_ns", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"idle_sm_ns", "LOST", WT_TABLE_RIGHT, 0, 0, 0},
        {"unjudged_sm_ns", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"kernels_without_time", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {NULL, "RANGE", WT_TABLE_LEFT, WT_TABLE_TEXT_ONLY | WT_TABLE_FLEXIBLE, 12, 0},
};

static double key_of(const struct wt_range_row *row, int by)
{
	switch (by) {
	case BY_COUNT:
		return (double)row->count;
	case BY_KERNELS:
		return (double)row->kernel_time_ns;
	case BY_IDLE:
		return row->idle_gpu_ns;
	case BY_GAP:
		return (double)row->gap_ns;
	default:
		return (double)row->time_ns;
	}
}

static int compare(const void *left, const void *right, void *by)
{
	const struct wt_range_row *a = left, *b = right;
	double x = key_of(a, *(const int *)by), y = key_of(b, *(const int *)by);

	if (x != y)
		return x > y ? -1 : 1;
	if (a->name != b->name)
		return a->name < b->name ? -1 : 1;
	return a->type - b->type;
}

static void add_row(struct wt_table *table, const struct view *view, const struct wt_range_row *row)
{
	const struct wt_run_range_name *name = &view->sums.ranges.names[row->name];
	int64_t ended = row->count - row->open;
	bool is_judged =
	        row->kernels > row->without_time && row->unjudged_sm_ns < row->kernel_sm_ns;
	char a[WT_TEXT_NUMBER_BYTES], lost[WT_TEXT_NUMBER_BYTES + 1], shown[300];

	wt_table_row(table, 0);
	wt_table_add_string(table, name->domain, NULL);
	wt_table_add_string(table, name->name, NULL);
	wt_table_add_string(table, row->type == WT_RUN_RANGE_PUSH ? "push" : "start", NULL);
	wt_table_add_int(table, row->count, wt_text_count(a, row->count));
	wt_table_add_int(table, row->open, NULL);
	if (ended) {
		wt_table_add_int(table, row->time_ns, wt_text_ns(a, row->time_ns));
		wt_table_add_int(table, row->time_ns / ended, wt_text_ns(a, row->time_ns / ended));
		wt_table_add_int(table, row->min_ns, NULL);
		wt_table_add_int(table, row->max_ns, wt_text_ns(a, row->max_ns));
		wt_table_add_int(table, row->gap_ns, wt_text_ns(a, row->gap_ns));
	} else {
		for (int i = 0; i < 5; i++)
			wt_table_add_null(table);
	}
	wt_table_add_int(table, row->kernels, wt_text_count(a, row->kernels));
	wt_table_add_int(table, row->kernels_any - row->kernels,
	                 wt_text_count(a, row->kernels_any - row->kernels));
	wt_table_add_int(table, row->kernel_time_ns, wt_text_ns(a, row->kernel_time_ns));
	wt_table_add_int(table, row->kernel_sm_ns, NULL);
	if (is_judged || !row->kernels) {
		snprintf(lost, sizeof(lost), "%s%s", row->idle_gpu_ns > 0 ? "~" : "",
		         wt_text_ns(a, (int64_t)row->idle_gpu_ns));
		wt_table_add_int(table, row->idle_sm_ns, lost);
	} else {
		wt_table_add_null(table);
	}
	wt_table_add_int(table, row->unjudged_sm_ns, NULL);
	wt_table_add_int(table, row->without_time, NULL);
	snprintf(shown, sizeof(shown), "%s%s%s%s", name->domain, name->domain[0] ? "/" : "",
	         name->name ? name->name : "(no name)",
	         row->type == WT_RUN_RANGE_START ? " (started)" : "");
	wt_table_add_string(table, shown, shown);
}

static void put_counts(struct wt_json *json, const struct view *view)
{
	const struct wt_range_counts *c = &view->sums.counts;
	const struct {
		const char *key;
		int64_t value;
	} members[] = {
	        {"begun", c->begun},         {"recorded", c->recorded},
	        {"dropped", c->dropped},     {"early", c->early},
	        {"untracked", c->untracked}, {"unbalanced", c->unbalanced},
	        {"lost", c->lost},           {"kernels_unlinked", view->sums.kernels_unlinked}};

	wt_json_key(json, "ranges");
	wt_json_object_begin(json);
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		wt_json_key(json, members[i].key);
		wt_json_int(json, members[i].value);
	}
	wt_json_object_end(json);
}

static int print_json(const struct view *view, struct wt_table *table)
{
	struct wt_json json;

	wt_json_init(&json, stdout, true);
	wt_json_object_begin(&json);
	wt_json_put_run(&json, view->run);
	wt_json_key(&json, "loss");
	wt_json_put_loss(&json, &view->losses.loss);
	wt_json_put_incomplete(&json, &view->losses);
	put_counts(&json, view);
	wt_json_key(&json, "rows");
	(void)wt_table_print_json(table, &json);
	wt_json_object_end(&json);
	return wt_json_finish(&json);
}

static void print_losses(struct wt_phrase *line, const struct view *view)
{
	const struct wt_range_counts *c = &view->sums.counts;
	char a[WT_TEXT_NUMBER_BYTES];

	if (c->dropped)
		wt_phrase_add(line, "%s ranges lost: ring full", wt_text_count(a, c->dropped));
	if (c->lost)
		wt_phrase_add(line, "%s lost: open when their process was killed",
		              wt_text_count(a, c->lost));
	if (c->untracked)
		wt_phrase_add(line, "%s not followed: too deep, or too many at once",
		              wt_text_count(a, c->untracked));
	if (c->early)
		wt_phrase_add(line, "%s before the first launch, not kept",
		              wt_text_count(a, c->early));
	if (c->unbalanced)
		wt_phrase_add(line, "%s ends without a beginning", wt_text_count(a, c->unbalanced));
	if (view->sums.kernels_unlinked)
		wt_phrase_add(line, "%s kernels in no range, since their call is not known",
		              wt_text_count(a, view->sums.kernels_unlinked));
	wt_phrase_end(line);
}

static int print_text(const struct view *view, struct wt_table *table, size_t more)
{
	struct wt_text_terminal terminal;
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];
	struct wt_phrase line;
	int rc;

	wt_text_terminal_probe(STDOUT_FILENO, &terminal);
	wt_phrase_init(&line, stdout, &terminal);
	wt_phrase_add(&line, "run %s", view->run->info.id);
	if (view->run->info.name[0])
		wt_phrase_add(&line, "%s", view->run->info.name);
	wt_phrase_add(&line, "%s ranges", wt_text_count(a, (int64_t)view->sums.ranges.count));
	wt_phrase_add(&line, "%s names", wt_text_count(b, (int64_t)view->sums.ranges.name_count));
	wt_phrase_end(&line);
	wt_phrase_line(stdout, &terminal,
	               "TIME to GAPS: of the host; GAPS: no kernel ran meanwhile; KERNELS to LOST: "
	               "of launches made inside; OTHERS: by other threads meanwhile");
	rc = wt_table_print_text(table, stdout, &terminal);
	if (rc)
		return rc;
	wt_phrase_add(&line, "LOST: of the whole GPU, model only");
	if (more)
		wt_phrase_add(&line, "%s names more: --limit 0", wt_text_count(a, (int64_t)more));
	wt_phrase_end(&line);
	print_losses(&line, view);
	return 0;
}

static int print_ranges(const struct ranges_values *values, struct view *view)
{
	struct wt_table *table = wt_table_create(columns, sizeof(columns) / sizeof(columns[0]));
	int64_t limit = values->limit >= 0                  ? values->limit
	                : values->is_json || values->is_csv ? 0
	                                                    : DEFAULT_LIMIT;
	size_t count = 0, shown;
	int by = values->by, rc = -ENOMEM;

	for (size_t i = 0; i < view->sums.row_count; i++)
		if (view->sums.rows[i].count)
			view->sums.rows[count++] = view->sums.rows[i];
	qsort_r(view->sums.rows, count, sizeof(*view->sums.rows), compare, &by);
	shown = limit && (uint64_t)limit < count ? (size_t)limit : count;
	for (size_t i = 0; table && i < shown; i++)
		add_row(table, view, &view->sums.rows[i]);
	if (table && values->is_json)
		rc = print_json(view, table);
	else if (table && values->is_csv)
		rc = wt_table_print_csv(table, stdout);
	else if (table)
		rc = count ? print_text(view, table, count - shown) : 0;
	wt_table_destroy(table);
	return wt_cli_output_result(rc);
}

/* No rows: what may be the reason. */
static int explain_none(const struct view *view)
{
	const struct wt_range_counts *c = &view->sums.counts;
	char a[WT_TEXT_NUMBER_BYTES];

	if (!wt_run_has_ranges(view->run->db))
		wt_cli_error("run %s was recorded by a wavetap that kept no named ranges",
		             view->run->info.id);
	else if (c->begun)
		wt_cli_error("run %s has no named range with a launch in its time: %s were begun",
		             view->run->info.id, wt_text_count(a, c->begun));
	else
		wt_cli_error("run %s has no named ranges: nothing in it used NVTX, another tool "
		             "had it (NVTX_INJECTION64_PATH), or WAVETAP_NVTX=0",
		             view->run->info.id);
	return WT_EXIT_NO_DATA;
}

static int show(const struct ranges_values *values, struct view *view)
{
	sqlite3 *db = view->run->db;
	int rc = wt_report_note(db, sqlite3_exec(db, "SAVEPOINT ranges", NULL, NULL, NULL));
	int code = WT_EXIT_FAILED;

	if (!rc)
		rc = wt_range_sums_load(db, values->is_any_thread, &view->sums);
	if (!rc)
		rc = wt_report_load_losses(db, &view->losses);
	if (rc)
		wt_cli_error("%s: %s", view->run->info.path,
		             rc == -EIO ? wt_report_problem(db) : strerror(-rc));
	else
		code = print_ranges(values, view);
	sqlite3_exec(db, "RELEASE ranges", NULL, NULL, NULL);
	if (!code && !view->sums.ranges.count)
		code = explain_none(view);
	return code;
}

static int run_ranges(void *opaque, int operand_count, char **operands)
{
	struct ranges_values *values = opaque;
	struct wt_run_file run;
	struct view view = {.run = &run};
	int code;

	(void)operand_count;
	(void)operands;
	if (values->is_json && values->is_csv)
		return wt_cli_usage_error("ranges", "--json and --csv exclude each other");
	code = wt_run_file_open(values->run, &run);
	if (code)
		return code;
	wt_dropped_tell(run.db, run.info.id);
	code = show(values, &view);
	wt_range_sums_fini(&view.sums);
	wt_report_fini(&view.losses);
	wt_run_file_close(&run);
	return code;
}

const struct wt_command wt_cmd_ranges = {
        .name = "ranges",
        .summary = "named ranges (NVTX): how long, and what their kernels left idle",
        .details = "A kernel is in a range if its launch was called in it. OTHERS: "
                   "kernels that other threads launched meanwhile, as autograd does.",
        .example = "wavetap ranges --by idle",
        .options = ranges_options,
        .values_bytes = sizeof(struct ranges_values),
        .run = run_ranges,
};
