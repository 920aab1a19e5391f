/*
 * cmd_timeline.c - `wavetap timeline`: the ledger by stretches of time. Single-threaded; blocks on
 * files.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/gpu_state.h"
#include "cli/ledger_lines.h"
#include "cli/parse_time.h"
#include "cli/phrase.h"
#include "cli/select.h"
#include "cli/sm_activity.h"
#include "cli/table.h"

#define DEFAULT_BUCKETS 40
#define BAR_COLUMNS 40 /* at most */
#define BAR_COLUMNS_LEAST 10

struct timeline_values {
	const char *run, *width;
	struct wt_select_words select;
	bool is_json, is_csv;
};

static const struct wt_option timeline_options[] = {
        {"width", 'w', WT_OPTION_TEXT, "T", offsetof(struct timeline_values, width), NULL,
         "length of a row, as 10ms (default: a fortieth of the window)"},
        WT_SELECT_DEVICE_OPTIONS(struct timeline_values, select),
        WT_SELECT_REFUSED_OPTION(struct timeline_values, select, kernel),
        {"json", 0, WT_OPTION_FLAG, NULL, offsetof(struct timeline_values, is_json), NULL,
         "one JSON object; fields in doc/json.md"},
        {"csv", 0, WT_OPTION_FLAG, NULL, offsetof(struct timeline_values, is_csv), NULL,
         "rows as CSV"},
        WT_SELECT_ALL_OPTION(struct timeline_values, select),
        WT_RUN_OPTION(struct timeline_values, run),
        {0},
};

/* Beyond those of the table: wanted where the device has samples, or NVML had something to say. */
#define SAMPLED (1u << 16)
#define STATES (1u << 17)

/* The causes in the order of enum wt_gap_cause. */
static const struct wt_table_column columns[] = {
        {"device_id", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"start_ns", "FROM", WT_TABLE_RIGHT, 0, 8, 0},
        {"end_ns", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"total_sm_ns", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"active_sm_ns", "ACT%", WT_TABLE_RIGHT, 0, 5, 0},
        {"underfill_sm_ns", "UNDER", WT_TABLE_RIGHT, WT_TABLE_DROP(10), 5, 0},
        {"wave_sm_ns", "WAVE", WT_TABLE_RIGHT, WT_TABLE_DROP(9), 5, 0},
        {"wave_max_sm_ns", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"unjudged_sm_ns", "UNJ", WT_TABLE_RIGHT, WT_TABLE_DROP(4), 5, 0},
        {"comm_sm_ns", "COMM", WT_TABLE_RIGHT, WT_TABLE_DROP(7), 5,
         0}, /* in text only where there is some */
        {"gap_sm_ns", "GAPS", WT_TABLE_RIGHT, 0, 5, 0},
        WT_GAP_CAUSE_COLUMNS,
        {"main_cause", "MOSTLY", WT_TABLE_LEFT, WT_TABLE_DROP(8), 10, 0},
        /* in text only where something was sampled */
        {"sampled_ns", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"sampled_active_share", "SM%", WT_TABLE_RIGHT, SAMPLED, 5, 0},
        {"sampled_warps_per_sm", "WARPS", WT_TABLE_RIGHT, SAMPLED | WT_TABLE_DROP(3), 5, 0},
        {"sampled_tensor_share", "TENS%", WT_TABLE_RIGHT, SAMPLED | WT_TABLE_DROP(2), 5, 0},
        {"sampled_dram_bytes_per_ns", "GB/S", WT_TABLE_RIGHT, SAMPLED | WT_TABLE_DROP(6), 4, 0},
        {"sampled_sm_clock_mhz", "MHZ", WT_TABLE_RIGHT, SAMPLED | WT_TABLE_DROP(5), 4, 0},
        {"throttled", "!", WT_TABLE_LEFT, STATES, 2, 0},
        {"", "BAR", WT_TABLE_LEFT, WT_TABLE_TEXT_ONLY | WT_TABLE_DROP(1), BAR_COLUMNS_LEAST, 0},
};

#define COLUMNS (sizeof(columns) / sizeof(columns[0]))
#define BAR_COLUMN (COLUMNS - 1)
#define LEDGER_FIRST 4 /* active_sm_ns, and so on to main_cause: of kernels */
#define LEDGER_COLUMNS (7 + WT_GAP_CAUSE_MAX + 1)

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
static void draw_bar(char *text, size_t text_bytes, double active, double gaps, int bar_columns,
                     bool is_utf8)
{
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

/* What was measured of a device, by the ledger's buckets. */
struct measured {
	struct wt_sm_sum *sums;
	struct wt_gpu_states *states;
	bool has_samples, has_states; /* at all; states: one that is worth a mark */
	struct wt_sm_sum total;
};

static void free_measured(struct measured *measured, size_t devices)
{
	for (size_t i = 0; measured && i < devices; i++) {
		free(measured[i].sums);
		free(measured[i].states);
	}
	free(measured);
}

static int64_t bucket_end_ns(const struct wt_ledger *ledger, size_t at)
{
	int64_t end_ns = ledger->start_ns + (int64_t)(at + 1) * ledger->bucket_ns;

	return end_ns < ledger->end_ns ? end_ns : ledger->end_ns;
}

static int load_measured(sqlite3 *db, const struct wt_ledger *ledger, int64_t device_id,
                         struct measured *measured)
{
	size_t count = ledger->bucket_count;
	int rc;

	measured->sums = calloc(count, sizeof(*measured->sums));
	measured->states = calloc(count, sizeof(*measured->states));
	if (!measured->sums || !measured->states)
		return -ENOMEM;
	rc = wt_sm_activity_buckets(db, device_id, ledger->start_ns, ledger->end_ns,
	                            ledger->bucket_ns, count, measured->sums);
	for (size_t at = 0; !rc && at < count; at++) {
		struct wt_gpu_states *states = &measured->states[at];

		rc = wt_gpu_states_load(db, device_id,
		                        ledger->start_ns + (int64_t)at * ledger->bucket_ns,
		                        bucket_end_ns(ledger, at), states);
		measured->has_samples |= measured->sums[at].sampled_ns > 0;
		measured->total.warps_known_ns += measured->sums[at].warps_known_ns;
		measured->total.tensor_known_ns += measured->sums[at].tensor_known_ns;
		measured->total.dram_known_ns += measured->sums[at].dram_known_ns;
		measured->has_states |= states->throttled || states->foreign;
	}
	return rc;
}

/* Of all devices. 0 or -errno. */
static int load_all(const struct wt_ledger_view *view, struct measured **ret_measured)
{
	const struct wt_ledger *ledger = &view->ledger;
	struct measured *measured = calloc(ledger->device_count, sizeof(*measured));
	int rc = measured ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < ledger->device_count; i++)
		rc = load_measured(view->run.db, ledger, ledger->devices[i].device_id,
		                   &measured[i]);
	*ret_measured = measured;
	return rc;
}

/* "." for people where it is not known, null for programs. */
static void add_measured(struct wt_table *table, const struct measured *measured, size_t at)
{
	const struct wt_sm_sum *sum = &measured->sums[at];
	const struct wt_gpu_states *states = &measured->states[at];
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES], reasons[WT_THROTTLE_TEXT_BYTES];
	char marks[16];
	struct wt_sm_piece mean;

	wt_sm_sum_mean(sum, &mean);
	wt_table_add_int(table, (int64_t)mean.sampled_ns, NULL);
	wt_table_add_double(table, mean.active_avg, 9, wt_text_percent(a, mean.active_avg, 1));
	wt_table_add_double(table, mean.warps_per_sm, 1, NULL);
	wt_table_add_double(table, mean.tensor_share, 9, wt_text_percent(b, mean.tensor_share, 1));
	/* Bytes per ns are GB per s. */
	wt_table_add_double(table, mean.dram_bytes / sum->dram_known_ns, 0, NULL);
	wt_table_add_double(table, mean.sm_clock_mhz, 0, NULL);
	wt_throttle_text(reasons, states->reasons);
	snprintf(marks, sizeof(marks), "%s%s", states->throttled ? "T" : "",
	         states->foreign ? "P" : "");
	wt_table_add_string(table, reasons[0] ? reasons : NULL, marks);
}

static void add_row(struct wt_table *table, const struct wt_ledger *ledger,
                    const struct wt_ledger_device *device, const struct measured *measured,
                    size_t at, int bar_columns, bool is_utf8)
{
	const struct wt_ledger_bucket *bucket = &device->buckets[at];
	int64_t start_ns = ledger->start_ns + (int64_t)at * ledger->bucket_ns;
	int64_t end_ns = bucket_end_ns(ledger, at);
	/* As --from counts. */
	int64_t origin_ns = ledger->select && ledger->select->has_window
	                            ? ledger->select->run_start_ns
	                            : ledger->start_ns;
	char from[WT_TEXT_NUMBER_BYTES], bar[4 * BAR_COLUMNS + 1] = "";
	enum wt_gap_cause most;
	int64_t gap_sm_ns = gap_sum_ns(bucket, &most) * device->sms;
	double total;

	total = (double)(end_ns - start_ns) * (double)device->sms;
	wt_table_row(table, 0);
	wt_table_add_int(table, device->device_id, NULL);
	wt_table_add_int(table, start_ns, wt_text_ns(from, start_ns - origin_ns));
	wt_table_add_int(table, end_ns, NULL);
	wt_table_add_int(table, (end_ns - start_ns) * device->sms, NULL);
	if (ledger->is_samples_alone) {
		for (int i = 0; i < LEDGER_COLUMNS; i++)
			wt_table_add_null(table);
		add_measured(table, measured, at);
		wt_table_add_null(table);
		return;
	}
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
	add_measured(table, measured, at);
	draw_bar(bar, sizeof(bar), (double)bucket->share.active_sm_ns / total,
	         (double)gap_sm_ns / total, bar_columns, is_utf8);
	wt_table_add_string(table, bar, NULL);
}

/* What the other columns leave for the bar; 0: it has no room. */
static int bar_columns_of(const struct wt_table_column chosen[COLUMNS],
                          const struct wt_text_terminal *terminal)
{
	int room = (int)terminal->width_columns;

	if (!terminal->width_columns)
		return BAR_COLUMNS;
	for (size_t i = 0; i < BAR_COLUMN; i++) {
		int title = (int)strlen(chosen[i].title), least = (int)chosen[i].min_width;

		if (!(chosen[i].flags & WT_TABLE_NO_TEXT))
			room -= (title > least ? title : least) + 2;
	}
	return room < BAR_COLUMNS_LEAST ? 0 : room < BAR_COLUMNS ? room : BAR_COLUMNS;
}

/* Columns without anything in them are for programs only. */
static void choose_columns(const struct wt_ledger *ledger, const struct measured *measured,
                           size_t first, size_t count, const struct wt_text_terminal *terminal,
                           struct wt_table_column chosen[COLUMNS], int *ret_bar_columns)
{
	bool has_comm = false, has_samples = false, has_states = false;
	bool has_warps = false, has_tensor = false, has_dram = false;

	memcpy(chosen, columns, sizeof(columns));
	for (size_t i = first; i < first + count; i++) {
		has_comm |= ledger->devices[i].share.comm_sm_ns != 0;
		has_samples |= measured[i].has_samples;
		has_states |= measured[i].has_states;
		has_warps |= measured[i].total.warps_known_ns > 0;
		has_tensor |= measured[i].total.tensor_known_ns > 0;
		has_dram |= measured[i].total.dram_known_ns > 0;
	}
	for (size_t i = 0; i < COLUMNS; i++) {
		unsigned flags = chosen[i].flags;
		const char *key = chosen[i].key;

		chosen[i].flags &= ~(SAMPLED | STATES);
		if ((!strcmp(key, "comm_sm_ns") && !has_comm) ||
		    (!strcmp(key, "sampled_warps_per_sm") && !has_warps) ||
		    (!strcmp(key, "sampled_tensor_share") && !has_tensor) ||
		    (!strcmp(key, "sampled_dram_bytes_per_ns") && !has_dram) ||
		    ((flags & SAMPLED) && !has_samples) || ((flags & STATES) && !has_states) ||
		    (ledger->is_samples_alone &&
		     ((i >= LEDGER_FIRST && i < LEDGER_FIRST + LEDGER_COLUMNS) || i == BAR_COLUMN)))
			chosen[i].flags |= WT_TABLE_NO_TEXT;
	}
	*ret_bar_columns = bar_columns_of(chosen, terminal);
}

static struct wt_table *make_table(const struct wt_ledger *ledger, const struct measured *measured,
                                   size_t first, size_t count,
                                   const struct wt_text_terminal *terminal)
{
	/* The table keeps a pointer to them. */
	static struct wt_table_column chosen[COLUMNS];
	struct wt_table *table;
	int bar_columns;

	choose_columns(ledger, measured, first, count, terminal, chosen, &bar_columns);
	table = wt_table_create(chosen, COLUMNS);
	for (size_t i = first; table && i < first + count; i++)
		for (size_t at = 0; at < ledger->bucket_count; at++)
			add_row(table, ledger, &ledger->devices[i], &measured[i], at, bar_columns,
			        terminal->is_utf8);
	return table;
}

/* What SM% and the marks mean, and what NVML said. */
static int print_states(const struct wt_ledger_view *view, int64_t device_id,
                        const struct measured *measured, const struct wt_text_terminal *terminal)
{
	struct wt_gpu_states states;
	struct wt_phrase line;
	int rc = wt_gpu_states_load(view->run.db, device_id, view->ledger.start_ns,
	                            view->ledger.end_ns, &states);

	wt_phrase_init(&line, stdout, terminal);
	if (measured->has_samples)
		wt_phrase_add(&line, "SM%% to MHZ: sampled");
	if (!rc && measured->has_states)
		wt_phrase_add(&line, "T throttled, P other process");
	if (!rc)
		wt_gpu_states_say(&line, &states);
	if (measured->has_samples || (!rc && measured->has_states))
		wt_phrase_end(&line);
	return rc;
}

static int print_text(const struct wt_ledger_view *view, const struct measured *measured)
{
	struct wt_text_terminal terminal;
	char width[WT_TEXT_NUMBER_BYTES];
	struct wt_table_column chosen[COLUMNS];
	bool has_bar = false;
	int rc = 0, bar_columns;

	wt_text_terminal_probe(STDOUT_FILENO, &terminal);
	wt_ledger_print_run(stdout, &terminal, &view->run, &view->ledger);
	for (size_t i = 0; i < view->ledger.device_count && !view->ledger.is_samples_alone; i++) {
		choose_columns(&view->ledger, measured, i, 1, &terminal, chosen, &bar_columns);
		has_bar |= bar_columns > 0;
	}
	wt_phrase_line(stdout, &terminal, "a row: %s of SMs x time, in percent%s",
	               wt_text_ns(width, view->ledger.bucket_ns),
	               has_bar ? "; the bar: active, idle in kernels, gaps" : "");
	for (size_t i = 0; i < view->ledger.device_count && !rc; i++) {
		const struct wt_ledger_device *device = &view->ledger.devices[i];
		struct wt_table *table = make_table(&view->ledger, measured, i, 1, &terminal);

		if (!table)
			return wt_cli_output_result(-ENOMEM);
		if (view->ledger.device_count > 1)
			wt_ledger_print_device(stdout, &terminal, device);
		rc = wt_table_print_text(table, stdout, &terminal);
		wt_table_destroy(table);
		if (!rc)
			rc = print_states(view, device->device_id, &measured[i], &terminal);
	}
	if (!rc && view->ledger.is_samples_alone)
		wt_ledger_print_samples_alone(stdout, &terminal, &view->losses);
	else if (!rc)
		wt_ledger_print_losses(stdout, &terminal, &view->ledger, &view->losses);
	return wt_cli_output_result(rc);
}

static int print_data(const struct timeline_values *values, const struct wt_ledger_view *view,
                      const struct measured *measured)
{
	const struct wt_text_terminal none = {0};
	struct wt_table *table =
	        make_table(&view->ledger, measured, 0, view->ledger.device_count, &none);
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

static int show(const struct timeline_values *values, const struct wt_ledger_view *view)
{
	struct measured *measured = NULL;
	int rc = load_all(view, &measured);
	int code = rc                                  ? wt_sm_activity_failed(&view->run, rc)
	           : values->is_json || values->is_csv ? print_data(values, view, measured)
	                                               : print_text(view, measured);

	free_measured(measured, view->ledger.device_count);
	return code;
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
	view.takes_samples = true;
	if (!code)
		code = wt_ledger_open_buckets(values->run, &select, bucket_ns, &view);
	if (!code)
		code = show(values, &view);
	wt_ledger_close(&view);
	wt_select_fini(&select);
	return code;
}

const struct wt_command wt_cmd_timeline = {
        .name = "timeline",
        .summary = "the ledger by stretches of time",
        .details = "Each row is a stretch of time: SMs active, idle in kernels, no "
                   "kernel; the rows sum to the ledger. With samples also what was "
                   "measured.",
        .example = "wavetap timeline --all --width 10ms",
        .options = timeline_options,
        .values_bytes = sizeof(struct timeline_values),
        .run = run_timeline,
};
