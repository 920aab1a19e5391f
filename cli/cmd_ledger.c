/*
 * cmd_ledger.c - `wavetap ledger`: where SMs x wall went. Single-threaded; blocks on files.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/ledger_lines.h"
#include "cli/measured.h"
#include "cli/phrase.h"
#include "cli/select.h"
#include "cli/sm_activity.h"
#include "cli/table.h"
#include "cli/top_columns.h"

struct ledger_values {
	const char *run;
	struct wt_select_words select;
	bool is_json, is_csv;
};

static const struct wt_option ledger_options[] = {
        WT_SELECT_DEVICE_OPTIONS(struct ledger_values, select),
        WT_SELECT_REFUSED_OPTION(struct ledger_values, select, kernel),
        {"json", 0, WT_OPTION_FLAG, NULL, offsetof(struct ledger_values, is_json), NULL,
         "one JSON object; fields in doc/json.md"},
        {"csv", 0, WT_OPTION_FLAG, NULL, offsetof(struct ledger_values, is_csv), NULL,
         "lines as CSV"},
        WT_SELECT_ALL_OPTION(struct ledger_values, select),
        WT_RUN_OPTION(struct ledger_values, run),
        {0},
};

/* Without a measurement there is no evidence to tell apart, and the column is for programs alone. */
/* What a line means, or why it is not known: whole, in as many lines as it takes. */
#define MEANING (WT_TABLE_FLEXIBLE | WT_TABLE_WRAPS | WT_TABLE_DROP(1))
#define COLUMNS(evidence_flags)                                                                    \
	{                                                                                          \
		{"device_id", "DEV", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},                      \
		        {"line", "WHERE", WT_TABLE_LEFT, 0, 14, 0},                                \
		        {"share", "ALL%", WT_TABLE_RIGHT, 0, 6, 0},                                \
		        {"sm_ns", "TIME", WT_TABLE_RIGHT, 0, 8, 0},                                \
		        {"max_sm_ns", "AT MOST", WT_TABLE_RIGHT, WT_TABLE_DROP(2), 0, 0},          \
		        {"is_part", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},                   \
		        {"evidence", "EVIDENCE", WT_TABLE_LEFT, evidence_flags, 0, 0},             \
		        {"meaning", "", WT_TABLE_LEFT, MEANING, 16, 0},                            \
	}
static const struct wt_table_column columns[] = COLUMNS(WT_TABLE_NO_TEXT);
static const struct wt_table_column measured_columns[] = COLUMNS(0);
#undef COLUMNS
#undef MEANING

static struct wt_table *create_table(const struct wt_ledger_device *device)
{
	int64_t parts_sm_ns[WT_EVIDENCE_MAX], whole_sm_ns = wt_ledger_measured(device, parts_sm_ns);
	bool is_model = !strcmp(wt_measured_word(whole_sm_ns, parts_sm_ns), "model");

	return wt_table_create(is_model ? columns : measured_columns,
	                       sizeof(columns) / sizeof(columns[0]));
}

/* People are told of lines that a measurement could say something of. */
static void add_evidence(struct wt_table *table, const struct wt_ledger_line *line)
{
	char text[WT_MEASURED_TEXT_BYTES];
	const char *evidence = wt_measured_text(text, line->sm_ns, line->parts_sm_ns);
	bool is_told = line->sm_ns && line->key && strcmp(line->name, "residual") != 0;

	if (line->reason)
		evidence = NULL;
	wt_table_add_string(table, evidence, is_told || !evidence ? NULL : "");
}

static void add_line(struct wt_table *table, const struct wt_ledger_device *device,
                     const struct wt_top_unit *unit, const struct wt_ledger_line *line)
{
	char name[40], percent[WT_TEXT_NUMBER_BYTES], time[WT_TEXT_NUMBER_BYTES];
	double share = (double)line->sm_ns / (double)device->total_sm_ns;
	double sms = (double)device->sms;

	wt_table_row(table, 0);
	wt_table_add_int(table, device->device_id, NULL);
	snprintf(name, sizeof(name), "%s%s", line->is_part ? "  " : "", line->name);
	wt_table_add_string(table, line->name, name);
	if (line->reason) {
		wt_table_add_null(table);
		wt_table_add_null(table);
		wt_table_add_null(table);
	} else {
		wt_table_add_double(
		        table, share, 9,
		        wt_text_percent(percent, (double)line->sm_ns, (double)device->total_sm_ns));
		wt_table_add_int(table, line->sm_ns,
		                 wt_top_format(time, unit, (double)line->sm_ns / sms));
		if (line->max_sm_ns >= 0)
			wt_table_add_int(table, line->max_sm_ns,
			                 wt_top_format(time, unit, (double)line->max_sm_ns / sms));
		else
			wt_table_add_string(table, NULL, "");
	}
	wt_table_add_int(table, line->is_part, NULL);
	add_evidence(table, line);
	wt_table_add_string(table, line->reason ? line->reason : line->meaning, NULL);
}

/* Of a run with samples and no program the whole is known, and no line of it. */
static size_t make_lines(const struct wt_ledger *ledger, const struct wt_ledger_device *device,
                         struct wt_ledger_line lines[WT_LEDGER_LINES_MAX])
{
	size_t count = wt_ledger_lines(device, lines);

	for (size_t i = 0; i < count && ledger->is_samples_alone; i++)
		lines[i].reason = "no program was recorded";
	return count;
}

/* The lines of one device, and what they sum to. */
static void add_device(struct wt_table *table, const struct wt_ledger *ledger,
                       const struct wt_ledger_device *device, const struct wt_top_unit *unit)
{
	struct wt_ledger_line lines[WT_LEDGER_LINES_MAX];
	size_t count = make_lines(ledger, device, lines);
	char time[WT_TEXT_NUMBER_BYTES];

	for (size_t i = 0; i < count; i++)
		add_line(table, device, unit, &lines[i]);
	wt_table_row(table, 0);
	wt_table_add_int(table, device->device_id, NULL);
	wt_table_add_string(table, "total", "SMs x wall");
	wt_table_add_double(table, 1, 9, "100.0");
	wt_table_add_int(table, device->total_sm_ns,
	                 wt_top_format(time, unit, (double)device->wall_ns));
	wt_table_add_string(table, NULL, "");
	wt_table_add_int(table, 0, NULL);
	wt_table_add_string(table, NULL, "");
	wt_table_add_string(table, NULL, "");
}

/* Lines without kernels would read as idle; SM activity needs none. */
static int print_samples_alone(const struct wt_ledger_view *view)
{
	struct wt_text_terminal terminal;
	int rc;

	wt_text_terminal_probe(STDOUT_FILENO, &terminal);
	wt_ledger_print_run(stdout, &terminal, &view->run, &view->ledger);
	rc = wt_sm_activity_print(stdout, &terminal, view->run.db, &view->ledger);
	if (!rc)
		wt_ledger_print_samples_alone(stdout, &terminal, &view->losses);
	return wt_cli_output_result(rc);
}

static int print_text(const struct wt_ledger_view *view)
{
	struct wt_top_unit unit =
	        wt_top_choose_unit((double)(view->ledger.end_ns - view->ledger.start_ns));
	struct wt_text_terminal terminal;
	int rc = 0;

	wt_text_terminal_probe(STDOUT_FILENO, &terminal);
	wt_ledger_print_run(stdout, &terminal, &view->run, &view->ledger);
	wt_phrase_line(stdout, &terminal, "TIME: %s of the whole GPU: SM-time / SMs", unit.name);
	for (size_t i = 0; i < view->ledger.device_count && !rc; i++) {
		const struct wt_ledger_device *device = &view->ledger.devices[i];
		struct wt_table *table = create_table(device);

		if (!table)
			return wt_cli_output_result(-ENOMEM);
		if (view->ledger.device_count > 1)
			wt_ledger_print_device(stdout, &terminal, device);
		add_device(table, &view->ledger, device, &unit);
		rc = wt_table_print_text(table, stdout, &terminal);
		wt_table_destroy(table);
	}
	if (!rc)
		rc = wt_sm_activity_print(stdout, &terminal, view->run.db, &view->ledger);
	if (!rc)
		wt_ledger_print_losses(stdout, &terminal, &view->ledger, &view->losses);
	return wt_cli_output_result(rc);
}

static int print_csv(const struct wt_ledger_view *view)
{
	struct wt_table *table = wt_table_create(columns, sizeof(columns) / sizeof(columns[0]));
	struct wt_top_unit unit = {"us", 1e3};
	int rc;

	if (!table)
		return wt_cli_output_result(-ENOMEM);
	for (size_t i = 0; i < view->ledger.device_count; i++)
		add_device(table, &view->ledger, &view->ledger.devices[i], &unit);
	rc = wt_table_print_csv(table, stdout);
	wt_table_destroy(table);
	return wt_cli_output_result(rc);
}

static void put_int(struct wt_json *json, const char *key, int64_t value)
{
	wt_json_key(json, key);
	wt_json_int(json, value);
}

static void put_known(struct wt_json *json, const char *key, bool is_known, int64_t value)
{
	if (is_known) {
		put_int(json, key, value);
		return;
	}
	wt_json_key(json, key);
	wt_json_null(json);
}

static void put_causes(struct wt_json *json, bool is_known, const struct wt_ledger_device *device)
{
	wt_json_key(json, "gap_by_cause_sm_ns");
	wt_json_object_begin(json);
	for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++)
		put_known(json, wt_gap_cause_name((enum wt_gap_cause)cause), is_known,
		          device->gap_ns[cause] * device->sms);
	wt_json_object_end(json);
}

/* A line of 0 rests on what all of them do. NULL: it is not known. */
static const char *evidence_word(const struct wt_ledger_device *device,
                                 const struct wt_ledger_line *line)
{
	int64_t parts_sm_ns[WT_EVIDENCE_MAX], whole_sm_ns = wt_ledger_measured(device, parts_sm_ns);

	if (line->reason)
		return NULL;
	return line->sm_ns ? wt_measured_word(line->sm_ns, line->parts_sm_ns)
	                   : wt_measured_word(whole_sm_ns, parts_sm_ns);
}

/* Of each number what it rests on, and how much of it is measured. */
static void put_evidence(struct wt_json *json, const struct wt_ledger *ledger,
                         const struct wt_ledger_device *device, const struct wt_ledger_line *lines,
                         size_t count)
{
	wt_json_key(json, "evidence");
	wt_json_object_begin(json);
	for (size_t i = 0; i < count; i++) {
		if (!lines[i].key)
			continue;
		wt_json_key(json, lines[i].key);
		wt_json_string(json, evidence_word(device, &lines[i]));
	}
	wt_json_object_end(json);
	wt_json_key(json, "measured_sm_ns");
	wt_json_object_begin(json);
	for (size_t i = 0; i < count && !ledger->is_samples_alone; i++)
		if (lines[i].key)
			put_int(json, lines[i].key,
			        lines[i].parts_sm_ns[WT_EVIDENCE_SAMPLED] +
			                lines[i].parts_sm_ns[WT_EVIDENCE_PROFILED]);
	wt_json_object_end(json);
}

static int put_device(struct wt_json *json, const struct wt_ledger_view *view,
                      const struct wt_ledger_device *device)
{
	struct wt_ledger_line lines[WT_LEDGER_LINES_MAX];
	size_t count = make_lines(&view->ledger, device, lines);
	bool is_known = !view->ledger.is_samples_alone;
	int rc;

	wt_json_object_begin(json);
	put_int(json, "device_id", device->device_id);
	wt_json_key(json, "name");
	wt_json_string(json, device->name);
	wt_json_key(json, "uuid");
	wt_json_string(json, device->uuid);
	put_int(json, "sms", device->sms);
	put_int(json, "wall_ns", device->wall_ns);
	put_known(json, "busy_ns", is_known, device->busy_ns);
	put_known(json, "kernels", is_known, device->kernels);
	put_known(json, "kernels_refused", is_known, device->kernels_refused);
	put_known(json, "gaps", is_known, device->gaps);
	put_int(json, "total_sm_ns", device->total_sm_ns);
	for (size_t i = 0; i < count; i++) {
		if (!lines[i].key)
			continue;
		wt_json_key(json, lines[i].key);
		if (lines[i].reason)
			wt_json_null(json);
		else
			wt_json_int(json, lines[i].sm_ns);
	}
	put_known(json, "wave_max_sm_ns", is_known, device->share.wave_max_sm_ns);
	put_causes(json, is_known, device);
	rc = wt_sm_activity_put_json(json, view->run.db, &view->ledger, device);
	put_evidence(json, &view->ledger, device, lines, count);
	wt_json_key(json, "reason");
	wt_json_object_begin(json);
	for (size_t i = 0; i < count; i++)
		if (lines[i].key && lines[i].reason) {
			wt_json_key(json, lines[i].key);
			wt_json_string(json, lines[i].reason);
		}
	wt_json_object_end(json);
	wt_json_object_end(json);
	return rc;
}

static int print_json(const struct wt_ledger_view *view)
{
	struct wt_json json;
	int rc = 0;

	wt_json_init(&json, stdout, true);
	wt_json_object_begin(&json);
	wt_ledger_json_head(&json, &view->run, &view->ledger, &view->losses);
	wt_json_key(&json, "devices");
	wt_json_array_begin(&json);
	for (size_t i = 0; i < view->ledger.device_count && !rc; i++)
		rc = put_device(&json, view, &view->ledger.devices[i]);
	wt_json_array_end(&json);
	wt_json_object_end(&json);
	return wt_cli_output_result(rc ? rc : wt_json_finish(&json));
}

static int run_ledger(void *opaque, int operand_count, char **operands)
{
	const struct ledger_values *values = opaque;
	struct wt_ledger_view view = {0};
	struct wt_select select;
	int code;

	(void)operand_count;
	(void)operands;
	if (values->is_json && values->is_csv)
		return wt_cli_usage_error("ledger", "--json and --csv exclude each other");
	code = wt_select_parse("ledger", &values->select, &select);
	wt_select_prefer_steady(&select);
	if (!code && values->select.kernel) {
		wt_cli_error("--kernel: all kernels of a device share its SMs, one alone has no "
		             "ledger; gaps and top select kernels");
		code = WT_EXIT_NO_DATA;
	}
	view.takes_samples = true;
	if (!code)
		code = wt_ledger_open_devices(values->run, &select, &view);
	if (!code)
		code = values->is_json                ? print_json(&view)
		       : values->is_csv               ? print_csv(&view)
		       : view.ledger.is_samples_alone ? print_samples_alone(&view)
		                                      : print_text(&view);
	wt_ledger_close(&view);
	wt_select_fini(&select);
	return code;
}

const struct wt_command wt_cmd_ledger = {
        .name = "ledger",
        .summary = "where the SM-time went, to the last nanosecond",
        .details = "Splits SMs x wall of each device: active, idle inside kernels, and "
                   "the time without a kernel by cause. The lines sum to the whole.",
        .example = "wavetap ledger --steps 5:9",
        .options = ledger_options,
        .values_bytes = sizeof(struct ledger_values),
        .run = run_ledger,
};
