/*
 * cmd_timeline.c - `wavetap timeline`: the ledger by stretches of time. Single-threaded; blocks on
 * files.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/ledger_lines.h"
#include "cli/parse_time.h"
#include "cli/phrase.h"
#include "cli/select.h"
#include "cli/table.h"

#define DEFAULT_BUCKETS 40
#define BAR_COLUMNS 40 /* at most */
#define BAR_COLUMNS_LEAST 10
#define OTHER_COLUMNS 57 /* of a row, without the bar */

struct timeline_values {
	const char *run, *width;
	struct wt_select_words select;
	bool is_json, is_csv;
};

static const struct wt_option timeline_options[] = {
        {"width", 'w', WT_OPTION_TEXT, "T", offsetof(struct timeline_values, width), NULL,
         "length of a row, as 10ms (default: a fortieth of the window)"},
        WT_SELECT_OPTIONS(struct timeline_values, select),
        {"json", 0, WT_OPTION_FLAG, NULL, offsetof(struct timeline_values, is_json), NULL,
         "one JSON object; fields in doc/json.md"},
        {"csv", 0, WT_OPTION_FLAG, NULL, offsetof(struct timeline_values, is_csv), NULL,
         "rows as CSV"},
        WT_SELECT_ALL_OPTION(struct timeline_values, select),
        WT_RUN_OPTION(struct timeline_values, run),
        {0},
};

/* The causes in the order of enum wt_gap_cause. */
static const struct wt_table_column columns[] = {
        {"device_id", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"start_ns", "FROM", WT_TABLE_RIGHT, 0, 8, 0},
        {"end_ns", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"total_sm_ns", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"active_sm_ns", "ACT%", WT_TABLE_RIGHT, 0, 5, 0},
        {"underfill_sm_ns", "UNDER", WT_TABLE_RIGHT, 0, 5, 0},
        {"wave_sm_ns", "WAVE", WT_TABLE_RIGHT, 0, 5, 0},
        {"wave_max_sm_ns", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"unjudged_sm_ns", "UNJ", WT_TABLE_RIGHT, 0, 5, 0},
        {"comm_sm_ns", "COMM", WT_TABLE_RIGHT, 0, 5, 0}, /* in text only where there is some */
        {"gap_sm_ns", "GAPS", WT_TABLE_RIGHT, 0, 5, 0},
        WT_GAP_CAUSE_COLUMNS,
        {"main_cause", "MOSTLY", WT_TABLE_LEFT, 0, 10, 0},
        {"", "bar", WT_TABLE_LEFT, WT_TABLE_TEXT_ONLY, 0, 0},
};

static int64_t gap_sum_ns(const struct wt_ledger_bucket *bucket, enum wt_gap_cause *ret_most)
{
	int64_t sum_ns = 0;

	*ret_most = WT_GAP_COPY;
	for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++) {
		sum_ns += bucket->gap_ns[cause];
		if (bucket->gap_ns[cause] > bucket->gap_ns[*ret_most])
			*ret_most = (enum wt_gap_cause)cause;
	}
	return sum_ns;
}

/* Full blocks: active; shaded: idle or unjudged in kernels; dots: no kernel. */
static void draw_bar(char *text, size_t text_bytes, double active, double gaps,
                     const struct wt_text_terminal *terminal)
{
	bool is_utf8 = terminal->is_utf8;
	int room = terminal->width_columns ? (int)terminal->width_columns - OTHER_COLUMNS
	                                   : BAR_COLUMNS;
	int bar_columns = room > BAR_COLUMNS         ? BAR_COLUMNS
	                  : room < BAR_COLUMNS_LEAST ? BAR_COLUMNS_LEAST
	                                             : room;
	int active_columns = (int)(active * bar_columns + 0.5);
	int gap_columns = (int)(gaps * bar_columns + 0.5);
	size_t used = 0;

	for (int i = 0; i < bar_columns && used < text_bytes; i++) {
		const char *mark = i < active_columns               ? (is_utf8 ? "\u2588" : "#")
		                   : i >= bar_columns - gap_columns ? (is_utf8 ? "\u00b7" : ".")
		                                                    : (is_utf8 ? "\u2592" : "-");

		used += (size_t)snprintf(text + used, text_bytes - used, "%s", mark);
	}
}

static void add_share(struct wt_table *table, int64_t sm_ns, double total)
{
	char text[WT_TEXT_NUMBER_BYTES];

	wt_table_add_int(table, sm_ns, wt_text_percent(text, (double)sm_ns, total));
}

static void add_row(struct wt_table *table, const struct wt_ledger *ledger,
                    const struct wt_ledger_device *device, size_t at,
                    const struct wt_text_terminal *terminal)
{
	const struct wt_ledger_bucket *bucket = &device->buckets[at];
	int64_t start_ns = ledger->start_ns + (int64_t)at * ledger->bucket_ns;
	int64_t end_ns = start_ns + ledger->bucket_ns;
	/* As --from counts. */
	int64_t origin_ns = ledger->select && ledger->select->has_window
	                            ? ledger->select->run_start_ns
	                            : ledger->start_ns;
	char from[WT_TEXT_NUMBER_BYTES], bar[4 * BAR_COLUMNS + 1] = "";
	enum wt_gap_cause most;
	int64_t gap_sm_ns = gap_sum_ns(bucket, &most) * device->sms;
	double total;

	if (end_ns > ledger->end_ns)
		end_ns = ledger->end_ns;
	total = (double)(end_ns - start_ns) * (double)device->sms;
	wt_table_row(table, 0);
	wt_table_add_int(table, device->device_id, NULL);
	wt_table_add_int(table, start_ns, wt_text_ns(from, start_ns - origin_ns));
	wt_table_add_int(table, end_ns, NULL);
	wt_table_add_int(table, (end_ns - start_ns) * device->sms, NULL);
	add_share(table, bucket->share.active_sm_ns, total);
	add_share(table, bucket->share.underfill_sm_ns, total);
	add_share(table, bucket->share.wave_sm_ns, total);
	wt_table_add_int(table, bucket->share.wave_max_sm_ns, NULL);
	add_share(table, bucket->share.unjudged_sm_ns, total);
	add_share(table, bucket->share.comm_sm_ns, total);
	add_share(table, gap_sm_ns, total);
	for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++)
		wt_table_add_int(table, bucket->gap_ns[cause] * device->sms, NULL);
	wt_table_add_string(table, gap_sm_ns ? wt_gap_cause_name(most) : NULL, NULL);
	draw_bar(bar, sizeof(bar), (double)bucket->share.active_sm_ns / total,
	         (double)gap_sm_ns / total, terminal);
	wt_table_add_string(table, bar, NULL);
}

static struct wt_table *make_table(const struct wt_ledger *ledger, size_t first, size_t count,
                                   const struct wt_text_terminal *terminal)
{
	/* The table keeps a pointer to them. */
	static struct wt_table_column chosen[sizeof(columns) / sizeof(columns[0])];
	struct wt_table *table;
	int64_t comm_sm_ns = 0;

	memcpy(chosen, columns, sizeof(columns));
	for (size_t i = first; i < first + count; i++)
		comm_sm_ns |= ledger->devices[i].share.comm_sm_ns;
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]) && !comm_sm_ns; i++)
		if (!strcmp(chosen[i].key, "comm_sm_ns"))
			chosen[i].flags |= WT_TABLE_NO_TEXT;
	table = wt_table_create(chosen, sizeof(columns) / sizeof(columns[0]));

	for (size_t i = first; table && i < first + count; i++)
		for (size_t at = 0; at < ledger->bucket_count; at++)
			add_row(table, ledger, &ledger->devices[i], at, terminal);
	return table;
}

static int print_text(const struct wt_ledger_view *view)
{
	struct wt_text_terminal terminal;
	char width[WT_TEXT_NUMBER_BYTES];
	int rc = 0;

	wt_text_terminal_probe(STDOUT_FILENO, &terminal);
	wt_ledger_print_run(stdout, &terminal, &view->run, &view->ledger);
	printf("a row: %s of SMs x time, in percent; the bar: active, idle in kernels, gaps\n",
	       wt_text_ns(width, view->ledger.bucket_ns));
	for (size_t i = 0; i < view->ledger.device_count && !rc; i++) {
		const struct wt_ledger_device *device = &view->ledger.devices[i];
		struct wt_table *table = make_table(&view->ledger, i, 1, &terminal);

		if (!table)
			return wt_cli_output_result(-ENOMEM);
		if (view->ledger.device_count > 1)
			wt_ledger_print_device(stdout, &terminal, device);
		rc = wt_table_print_text(table, stdout, &terminal);
		wt_table_destroy(table);
	}
	if (!rc)
		wt_ledger_print_losses(stdout, &terminal, &view->ledger, &view->losses);
	return wt_cli_output_result(rc);
}

static int print_data(const struct timeline_values *values, const struct wt_ledger_view *view)
{
	const struct wt_text_terminal none = {0};
	struct wt_table *table = make_table(&view->ledger, 0, view->ledger.device_count, &none);
	struct wt_json json;
	int rc = -ENOMEM;

	if (table && values->is_csv) {
		rc = wt_table_print_csv(table, stdout);
	} else if (table) {
		wt_json_init(&json, stdout, true);
		wt_json_object_begin(&json);
		wt_ledger_json_head(&json, &view->run, &view->ledger, &view->losses);
		wt_json_key(&json, "bucket_ns");
		wt_json_int(&json, view->ledger.bucket_ns);
		wt_json_key(&json, "rows");
		(void)wt_table_print_json(table, &json);
		wt_json_object_end(&json);
		rc = wt_json_finish(&json);
	}
	wt_table_destroy(table);
	return wt_cli_output_result(rc);
}

/* WT_EXIT_FINE, or a usage error after a message. */
static int parse_width(const char *text, int64_t *ret_ns)
{
	*ret_ns = -DEFAULT_BUCKETS;
	if (!text)
		return WT_EXIT_FINE;
	if (wt_parse_time(text, ret_ns) || *ret_ns <= 0)
		return wt_cli_usage_error(
		        "timeline", "--width: \"%s\" is not a length of time, as 10ms or 1s", text);
	return WT_EXIT_FINE;
}

static int run_timeline(void *opaque, int operand_count, char **operands)
{
	const struct timeline_values *values = opaque;
	struct wt_ledger_view view = {0};
	struct wt_select select;
	int64_t bucket_ns;
	int code = parse_width(values->width, &bucket_ns);

	(void)operand_count;
	(void)operands;
	if (code)
		return code;
	if (values->is_json && values->is_csv)
		return wt_cli_usage_error("timeline", "--json and --csv exclude each other");
	code = wt_select_parse("timeline", &values->select, &select);
	wt_select_prefer_steady(&select);
	if (!code && values->select.kernel) {
		wt_cli_error("--kernel: all kernels of a device share its SMs, one alone has no "
		             "timeline; gaps and top select kernels");
		code = WT_EXIT_NO_DATA;
	}
	if (!code)
		code = wt_ledger_open_buckets(values->run, &select, bucket_ns, &view);
	if (!code)
		code = values->is_json || values->is_csv ? print_data(values, &view)
		                                         : print_text(&view);
	wt_ledger_close(&view);
	wt_select_fini(&select);
	return code;
}

const struct wt_command wt_cmd_timeline = {
        .name = "timeline",
        .summary = "the ledger by stretches of time",
        .details = "Each row is a stretch: SMs active, idle inside kernels, and without a kernel.\n"
                   "Rows sum to the ledger. In the bar: active, idle in kernels, gaps.\n",
        .options = timeline_options,
        .values_bytes = sizeof(struct timeline_values),
        .run = run_timeline,
};
