/*
 * cmd_gaps.c - `wavetap gaps`: why no kernel ran, by cause or by the kernel that came after.
 * Single-threaded; blocks on files.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/gap_calls.h"
#include "cli/gap_calls_table.h"
#include "cli/kernel_name.h"
#include "cli/ledger_lines.h"
#include "cli/phrase.h"
#include "cli/report_sql.h"
#include "cli/select.h"
#include "cli/table.h"
#include "cli/top_columns.h"

#define DEFAULT_LIMIT 20

enum gaps_by { BY_CAUSE, BY_KERNEL, BY_CALL };

struct gaps_values {
	const char *run;
	int by;
	int64_t limit;
	struct wt_select_words select;
	bool has_full_names, is_json, is_csv;
};

/* Indices are enum gaps_by. */
static const struct wt_choice by_choices[] = {
        {"cause", "one row per cause (default)", 0},
        {"kernel", "one row per kernel that ended a gap", 0},
        {"call", "one row per call that the launching thread sat in, or none", 0},
        {0},
};

static const struct wt_option gaps_options[] = {
        {"by", 'b', WT_OPTION_CHOICE, "WHAT", offsetof(struct gaps_values, by), by_choices,
         "what a row is"},
        {"limit", 'n', WT_OPTION_NUMBER, "N", offsetof(struct gaps_values, limit), NULL,
         "rows, 0 for all (default: 20; in JSON and CSV all)"},
        {"full-names", 0, WT_OPTION_FLAG, NULL, offsetof(struct gaps_values, has_full_names), NULL,
         "whole kernel names"},
        {"json", 0, WT_OPTION_FLAG, NULL, offsetof(struct gaps_values, is_json), NULL,
         "one JSON object; fields in doc/json.md"},
        {"csv", 0, WT_OPTION_FLAG, NULL, offsetof(struct gaps_values, is_csv), NULL, "rows as CSV"},
        WT_SELECT_DEVICE_OPTIONS(struct gaps_values, select),
        WT_SELECT_KERNEL_OPTION(struct gaps_values, select,
                                "only gaps before kernels whose name, short or whole, matches"),
        WT_SELECT_ALL_OPTION(struct gaps_values, select),
        WT_RUN_OPTION(struct gaps_values, run),
        {0},
};

static const struct wt_table_column cause_columns[] = {
        {"cause", "CAUSE", WT_TABLE_LEFT, 0, 10, 0},
        {"share", "ALL%", WT_TABLE_RIGHT, 0, 6, 0},
        {"gap_share", "GAPS%", WT_TABLE_RIGHT, 0, 6, 0},
        {"gap_sm_ns", "TIME", WT_TABLE_RIGHT, 0, 8, 0},
        {"meaning", "", WT_TABLE_LEFT, WT_TABLE_FLEXIBLE | WT_TABLE_WRAPS | WT_TABLE_DROP(1), 16,
         0},
};

static const struct wt_table_column kernel_columns[] = {
        {"kernel_id", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"share", "ALL%", WT_TABLE_RIGHT, 0, 5, 0},
        {"gap_sm_ns", "TIME", WT_TABLE_RIGHT, 0, 6, 0},
        {"launches", "N", WT_TABLE_RIGHT, WT_TABLE_DROP(2), 0, 0},
        {"gaps", "GAPS", WT_TABLE_RIGHT, WT_TABLE_DROP(3), 0, 0},
        {"main_cause", "MOSTLY", WT_TABLE_LEFT, 0, 0, 0},
        {"main_cause_sm_ns", "OF IT", WT_TABLE_RIGHT, WT_TABLE_DROP(1), 0, 0},
        WT_GAP_CAUSE_COLUMNS,
        {"kernel", "BEFORE KERNEL", WT_TABLE_LEFT, WT_TABLE_FLEXIBLE | WT_TABLE_DROP(9), 16, 0},
};

/* Sums over the devices, or over the gaps before selected kernels. */
struct sums {
	int64_t gaps;
	int64_t cause_sm_ns[WT_GAP_CAUSE_MAX];
	int64_t gap_sm_ns;
	double total_sm_ns; /* of many devices it may not fit 64 bits */
	double sms; /* of a device, on the mean: times are of a whole GPU, summed over them */
};

static void sum_up(const struct wt_ledger *ledger, struct sums *sums)
{
	memset(sums, 0, sizeof(*sums));
	for (size_t i = 0; i < ledger->device_count; i++) {
		sums->total_sm_ns += (double)ledger->devices[i].total_sm_ns;
		sums->sms += (double)ledger->devices[i].sms;
	}
	if (ledger->device_count)
		sums->sms /= (double)ledger->device_count;
	/* Every gap is some kernel's, or after the last one. */
	for (size_t i = 0; i <= ledger->kernel_count; i++) {
		const struct wt_ledger_kernel *kernel =
		        i < ledger->kernel_count ? &ledger->kernels[i] : &ledger->after_last;

		sums->gaps += kernel->gaps;
		for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++) {
			sums->cause_sm_ns[cause] += kernel->gap_sm_ns[cause];
			sums->gap_sm_ns += kernel->gap_sm_ns[cause];
		}
	}
}

/* Leaves the gaps before kernels that --kernel means. 0 or -EIO. */
static int keep_selected(struct wt_ledger_view *view)
{
	struct wt_ledger *ledger = &view->ledger;
	sqlite3_stmt *s = NULL;
	size_t kept = 0;
	int rc;

	if (!ledger->select || !ledger->select->words.kernel)
		return 0;
	rc = wt_report_prepare(view->run.db, "SELECT 1 FROM temp.wt_kernel WHERE kernel_id = ?1",
	                       &s);
	for (size_t i = 0; i < ledger->kernel_count; i++) {
		if (rc >= 0) {
			sqlite3_bind_int64(s, 1, ledger->kernels[i].kernel_id);
			rc = wt_report_step(s);
			sqlite3_reset(s);
		}
		if (rc > 0)
			ledger->kernels[kept++] = ledger->kernels[i];
		else
			free(ledger->kernels[i].name);
	}
	sqlite3_finalize(s);
	ledger->kernel_count = kept;
	memset(&ledger->after_last, 0, sizeof(ledger->after_last));
	return rc < 0 ? rc : 0;
}

static int64_t kernel_gap_sm_ns(const struct wt_ledger_kernel *kernel)
{
	int64_t sum = 0;

	for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++)
		sum += kernel->gap_sm_ns[cause];
	return sum;
}

static enum wt_gap_cause main_cause(const struct wt_ledger_kernel *kernel)
{
	int most = 0;

	for (int cause = 1; cause < WT_GAP_CAUSE_MAX; cause++)
		if (kernel->gap_sm_ns[cause] > kernel->gap_sm_ns[most])
			most = cause;
	return (enum wt_gap_cause)most;
}

static int by_gap(const void *left, const void *right)
{
	const struct wt_ledger_kernel *a = left, *b = right;
	int64_t x = kernel_gap_sm_ns(a), y = kernel_gap_sm_ns(b);

	if (x != y)
		return x > y ? -1 : 1;
	return a->kernel_id < b->kernel_id ? -1 : a->kernel_id > b->kernel_id;
}

/* ---- by cause */

struct cause_order {
	enum wt_gap_cause cause;
	int64_t sm_ns;
};

static int by_time(const void *left, const void *right)
{
	const struct cause_order *a = left, *b = right;

	if (a->sm_ns != b->sm_ns)
		return a->sm_ns > b->sm_ns ? -1 : 1;
	return (int)a->cause - (int)b->cause;
}

static struct wt_table *cause_table(const struct sums *sums, const struct wt_top_unit *unit)
{
	struct wt_table *table =
	        wt_table_create(cause_columns, sizeof(cause_columns) / sizeof(cause_columns[0]));
	struct cause_order order[WT_GAP_CAUSE_MAX];
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES], c[WT_TEXT_NUMBER_BYTES];
	double gaps = (double)sums->gap_sm_ns;

	for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++)
		order[cause] =
		        (struct cause_order){(enum wt_gap_cause)cause, sums->cause_sm_ns[cause]};
	qsort(order, WT_GAP_CAUSE_MAX, sizeof(order[0]), by_time);
	for (int i = 0; table && i < WT_GAP_CAUSE_MAX; i++) {
		double sm_ns = (double)order[i].sm_ns;

		wt_table_row(table, order[i].sm_ns ? 0 : WT_TABLE_ROW_NO_TEXT);
		wt_table_add_string(table, wt_gap_cause_name(order[i].cause), NULL);
		wt_table_add_double(table, sm_ns / sums->total_sm_ns, 9,
		                    wt_text_percent(a, sm_ns, sums->total_sm_ns));
		wt_table_add_double(table, gaps > 0 ? sm_ns / gaps : NAN, 9,
		                    wt_text_percent(b, sm_ns, gaps));
		wt_table_add_int(table, order[i].sm_ns, wt_top_format(c, unit, sm_ns / sums->sms));
		wt_table_add_string(table, wt_gap_cause_meaning(order[i].cause), NULL);
	}
	return table;
}

/* ---- by kernel */

/* Names as people see them, one for each kernel of the ledger; NULL: out of memory. */
static char **name_kernels(const struct wt_ledger *ledger, bool has_full_names)
{
	const char **names = calloc(ledger->kernel_count + 1, sizeof(*names));
	char **shown = NULL;

	for (size_t i = 0; names && i < ledger->kernel_count; i++)
		names[i] = ledger->kernels[i].name;
	if (names && !has_full_names)
		(void)wt_kernel_name_shorten_all(names, ledger->kernel_count, &shown);
	else if (names)
		shown = calloc(ledger->kernel_count + 1, sizeof(*shown));
	for (size_t i = 0; shown && has_full_names && i < ledger->kernel_count; i++)
		shown[i] = wt_kernel_name_demangle(ledger->kernels[i].name);
	free(names);
	return shown;
}

static void add_kernel(struct wt_table *table, const struct wt_ledger_kernel *kernel,
                       const char *shown, const struct sums *sums, const struct wt_top_unit *unit)
{
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES], c[WT_TEXT_NUMBER_BYTES];
	char d[WT_TEXT_NUMBER_BYTES], e[WT_TEXT_NUMBER_BYTES];
	char *full = kernel->name ? wt_kernel_name_demangle(kernel->name) : NULL;
	int64_t gap_sm_ns = kernel_gap_sm_ns(kernel);
	enum wt_gap_cause cause = main_cause(kernel);

	wt_table_row(table, 0);
	if (kernel->name)
		wt_table_add_int(table, kernel->kernel_id, NULL);
	else
		wt_table_add_null(table);
	wt_table_add_double(table, (double)gap_sm_ns / sums->total_sm_ns, 9,
	                    wt_text_percent(a, (double)gap_sm_ns, sums->total_sm_ns));
	wt_table_add_int(table, gap_sm_ns, wt_top_format(b, unit, (double)gap_sm_ns / sums->sms));
	wt_table_add_int(table, kernel->launches, wt_text_count(d, kernel->launches));
	wt_table_add_int(table, kernel->gaps, wt_text_count(e, kernel->gaps));
	wt_table_add_string(table, gap_sm_ns ? wt_gap_cause_name(cause) : NULL, NULL);
	wt_table_add_int(table, kernel->gap_sm_ns[cause],
	                 wt_text_percent(c, (double)kernel->gap_sm_ns[cause], (double)gap_sm_ns));
	for (int each = 0; each < WT_GAP_CAUSE_MAX; each++)
		wt_table_add_int(table, kernel->gap_sm_ns[each], NULL);
	wt_table_add_string(table, full ? full : kernel->name, shown);
	free(full);
}

/* What the rows that are not shown sum to, for people: programs have --limit 0. */
static void add_rest(struct wt_table *table, const struct wt_ledger *ledger, size_t shown,
                     const struct sums *sums, const struct wt_top_unit *unit)
{
	char share[WT_TEXT_NUMBER_BYTES], time[WT_TEXT_NUMBER_BYTES], count[WT_TEXT_NUMBER_BYTES];
	char gap_count[WT_TEXT_NUMBER_BYTES], text[WT_TEXT_NUMBER_BYTES + 32];
	int64_t gap_sm_ns = kernel_gap_sm_ns(&ledger->after_last);
	int64_t launches = 0, gaps = ledger->after_last.gaps;

	for (size_t i = shown; i < ledger->kernel_count; i++) {
		gap_sm_ns += kernel_gap_sm_ns(&ledger->kernels[i]);
		launches += ledger->kernels[i].launches;
		gaps += ledger->kernels[i].gaps;
	}
	snprintf(text, sizeof(text), "%zu more (--limit 0)", ledger->kernel_count - shown);
	wt_table_row(table, WT_TABLE_ROW_TEXT_ONLY);
	wt_table_add_null(table);
	wt_table_add_string(table, NULL,
	                    wt_text_percent(share, (double)gap_sm_ns, sums->total_sm_ns));
	wt_table_add_string(table, NULL, wt_top_format(time, unit, (double)gap_sm_ns / sums->sms));
	wt_table_add_string(table, NULL, wt_text_count(count, launches));
	wt_table_add_string(table, NULL, wt_text_count(gap_count, gaps));
	wt_table_add_string(table, NULL, "");
	wt_table_add_string(table, NULL, "");
	for (int each = 0; each < WT_GAP_CAUSE_MAX; each++)
		wt_table_add_null(table);
	wt_table_add_string(table, NULL, text);
}

static struct wt_table *kernel_table(const struct wt_ledger *ledger, char **names, size_t limit,
                                     const struct sums *sums, const struct wt_top_unit *unit)
{
	struct wt_table *table =
	        wt_table_create(kernel_columns, sizeof(kernel_columns) / sizeof(kernel_columns[0]));

	for (size_t i = 0; table && i < ledger->kernel_count && i < limit; i++)
		add_kernel(table, &ledger->kernels[i], names[i], sums, unit);
	if (table && ledger->after_last.gaps && ledger->kernel_count < limit)
		add_kernel(table, &ledger->after_last, "(none: the run ended)", sums, unit);
	if (table && ledger->kernel_count > limit)
		add_rest(table, ledger, limit, sums, unit);
	return table;
}

/* ---- output */

static void print_head(const struct wt_ledger_view *view, const struct sums *sums,
                       const struct wt_top_unit *unit, const struct wt_text_terminal *terminal)
{
	const struct wt_select *select = view->ledger.select;
	char a[WT_TEXT_NUMBER_BYTES];
	struct wt_phrase line;

	wt_ledger_print_run(stdout, terminal, &view->run, &view->ledger);
	wt_phrase_init(&line, stdout, terminal);
	wt_phrase_add(&line, "no kernel ran %s%% of the time%s",
	              wt_text_percent(a, (double)sums->gap_sm_ns, sums->total_sm_ns),
	              select && select->words.kernel ? ", before those selected" : "");
	wt_phrase_add(&line, "%s gaps", wt_text_count(a, sums->gaps));
	wt_phrase_add(&line, "TIME: %s of %s whole GPU", unit->name,
	              view->ledger.device_count > 1 ? "a" : "the");
	wt_phrase_end(&line);
}

static int print_json(const struct wt_ledger_view *view, struct wt_table *table)
{
	struct wt_json json;

	wt_json_init(&json, stdout, true);
	wt_json_object_begin(&json);
	wt_ledger_json_head(&json, &view->run, &view->ledger, &view->losses);
	wt_json_key(&json, "rows");
	(void)wt_table_print_json(table, &json);
	wt_json_object_end(&json);
	return wt_json_finish(&json);
}

static int print_rows(const struct gaps_values *values, const struct wt_ledger_view *view,
                      struct wt_table *table, const struct sums *sums,
                      const struct wt_top_unit *unit)
{
	struct wt_text_terminal terminal;
	int rc;

	if (values->is_json)
		return print_json(view, table);
	if (values->is_csv)
		return wt_table_print_csv(table, stdout);
	wt_text_terminal_probe(STDOUT_FILENO, &terminal);
	print_head(view, sums, unit, &terminal);
	rc = wt_table_print_text(table, stdout, &terminal);
	if (!rc)
		wt_ledger_print_losses(stdout, &terminal, &view->ledger, &view->losses);
	return rc;
}

static struct wt_table *call_table(const struct wt_ledger *ledger, const struct wt_gap_calls *calls,
                                   char **names, size_t limit, const struct sums *sums,
                                   const struct wt_top_unit *unit)
{
	const struct wt_gap_calls_style style = {
	        .unit = *unit,
	        .total_sm_ns = sums->total_sm_ns,
	        .sms = sums->sms,
	        .limit = limit,
	        .names = names,
	};

	return wt_gap_calls_table(calls, ledger, &style);
}

static int print_gaps(const struct gaps_values *values, struct wt_ledger_view *view,
                      const struct wt_gap_calls *calls)
{
	bool is_text = !values->is_json && !values->is_csv;
	int64_t rows = values->limit >= 0 ? values->limit : is_text ? DEFAULT_LIMIT : 0;
	size_t limit = rows ? (size_t)rows : SIZE_MAX;
	struct wt_top_unit unit;
	struct wt_table *table = NULL;
	char **names = NULL;
	struct sums sums;
	int rc = -ENOMEM;

	sum_up(&view->ledger, &sums);
	unit = wt_top_choose_unit((double)sums.gap_sm_ns / sums.sms);
	if (values->by == BY_KERNEL)
		qsort(view->ledger.kernels, view->ledger.kernel_count,
		      sizeof(*view->ledger.kernels), by_gap);
	if (values->by != BY_CAUSE)
		names = name_kernels(&view->ledger, values->has_full_names);
	if (values->by == BY_CAUSE)
		table = cause_table(&sums, &unit);
	else if (names && values->by == BY_KERNEL)
		table = kernel_table(&view->ledger, names, limit, &sums, &unit);
	else if (names)
		table = call_table(&view->ledger, calls, names, limit, &sums, &unit);
	if (table)
		rc = print_rows(values, view, table, &sums, &unit);
	wt_table_destroy(table);
	wt_kernel_name_free_all(names, view->ledger.kernel_count);
	return wt_cli_output_result(rc);
}

static int load_and_print(const struct gaps_values *values, struct wt_select *select)
{
	struct wt_gap_calls calls = {.select = select};
	const struct wt_ledger_observer observer = wt_gap_calls_observer(&calls);
	struct wt_ledger_view view = {0};
	int code = wt_ledger_open_observed(values->run, select,
	                                   values->by == BY_CALL ? &observer : NULL, &view);
	int rc = 0;

	if (!code)
		rc = keep_selected(&view);
	if (!code && !rc)
		rc = wt_gap_calls_finish(&calls, view.run.db);
	if (rc) {
		wt_cli_error("%s: %s", view.run.info.path,
		             rc == -EIO ? wt_report_problem(view.run.db) : strerror(-rc));
		code = WT_EXIT_FAILED;
	}
	if (!code)
		code = print_gaps(values, &view, &calls);
	wt_gap_calls_fini(&calls);
	wt_ledger_close(&view);
	return code;
}

static int run_gaps(void *opaque, int operand_count, char **operands)
{
	const struct gaps_values *values = opaque;
	struct wt_select select;
	int code;

	(void)operand_count;
	(void)operands;
	if (values->is_json && values->is_csv)
		return wt_cli_usage_error("gaps", "--json and --csv exclude each other");
	code = wt_select_parse("gaps", &values->select, &select);
	wt_select_prefer_steady(&select);
	if (!code)
		code = load_and_print(values, &select);
	wt_select_fini(&select);
	return code;
}

const struct wt_command wt_cmd_gaps = {
        .name = "gaps",
        .summary = "why no kernel ran",
        .details = "The time in which a device ran no kernel, by cause, by the kernel "
                   "that ended the gap, or by what the thread that launched it did "
                   "meanwhile.",
        .example = "wavetap gaps --by call",
        .options = gaps_options,
        .values_bytes = sizeof(struct gaps_values),
        .run = run_gaps,
};
