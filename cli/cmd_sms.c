/*
 * cmd_sms.c - `wavetap sms`: how many SMs of a device could hold blocks, for how long. By the
 * ledger's sweep; what each SM did is not known without a measurement. Single-threaded; blocks on
 * files.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/ledger_lines.h"
#include "cli/phrase.h"
#include "cli/report_sql.h"
#include "cli/select.h"
#include "cli/table.h"
#include "cli/top_columns.h"

#define BINS 8 /* between none and all */
#define BAR_COLUMNS 40

static const char needs_measurement[] =
        "which SM ran what, and when its blocks ended, needs sampling or profiling";

struct sms_values {
	const char *run;
	struct wt_select_words select;
	bool is_json, is_csv;
};

static const struct wt_option sms_options[] = {
        WT_SELECT_OPTIONS(struct sms_values, select),
        WT_SELECT_ALL_OPTION(struct sms_values, select),
        {"json", 0, WT_OPTION_FLAG, NULL, offsetof(struct sms_values, is_json), NULL,
         "one JSON object; fields in doc/json.md"},
        {"csv", 0, WT_OPTION_FLAG, NULL, offsetof(struct sms_values, is_csv), NULL,
         "time by number of SMs as CSV"},
        WT_RUN_OPTION(struct sms_values, run),
        {0},
};

/* ---- as the ledger is loaded */

struct occupied {
	int64_t device_id;
	int64_t *ns; /* by the number of SMs that could be occupied, 0 to sms */
	int64_t sms;
	int64_t shared_ns; /* kernels wanted more SMs than there are */
};

struct sms {
	struct occupied *devices;
	size_t count;
	bool is_out_of_memory;
};

/* Of the device in work: the last one. NULL: out of memory. */
static struct occupied *occupied_of(struct sms *sms, const struct wt_ledger_device *device)
{
	struct occupied *last = sms->count ? &sms->devices[sms->count - 1] : NULL;

	if (last && last->device_id == device->device_id)
		return last->ns ? last : NULL;
	last = wt_report_append(&sms->devices, &sms->count, sizeof(*last));
	if (!last)
		return NULL;
	last->device_id = device->device_id;
	last->sms = device->sms;
	last->ns = calloc((size_t)device->sms + 1, sizeof(*last->ns));
	return last->ns ? last : NULL;
}

static void on_slice(void *arg, const struct wt_ledger_device *device, int64_t length_ns,
                     uint64_t sms_wanted)
{
	struct sms *sms = arg;
	struct occupied *occupied = occupied_of(sms, device);

	if (!occupied) {
		sms->is_out_of_memory = true;
		return;
	}
	if (sms_wanted > (uint64_t)device->sms) {
		occupied->shared_ns += length_ns;
		sms_wanted = (uint64_t)device->sms;
	}
	occupied->ns[sms_wanted] += length_ns;
}

static int on_gap(void *arg, const struct wt_ledger_gap *gap)
{
	struct occupied *occupied = occupied_of(arg, gap->device);

	if (!occupied)
		return -ENOMEM;
	occupied->ns[0] += gap->facts->end_ns - gap->facts->start_ns;
	return 0;
}

/* ---- figures */

/* SMs x time in which they could be occupied. */
static double occupied_sm_ns(const struct occupied *occupied)
{
	double sum = 0;

	for (int64_t k = 1; k <= occupied->sms; k++)
		sum += (double)k * (double)occupied->ns[k];
	return sum;
}

/* From `low` to `high` SMs, both included. */
static int64_t time_ns(const struct occupied *occupied, int64_t low, int64_t high)
{
	int64_t sum_ns = 0;

	for (int64_t k = low; k <= high && k <= occupied->sms; k++)
		sum_ns += occupied->ns[k];
	return sum_ns;
}

/* ---- for people */

static const struct wt_table_column text_columns[] = {
        {"sms", "SMS", WT_TABLE_RIGHT, 0, 9, 0},
        {"share", "ALL%", WT_TABLE_RIGHT, 0, 6, 0},
        {"busy_share", "BUSY%", WT_TABLE_RIGHT, 0, 6, 0},
        {"time_ns", "TIME", WT_TABLE_RIGHT, 0, 8, 0},
        {"", "", WT_TABLE_LEFT, WT_TABLE_TEXT_ONLY, 0, 0},
};

static void add_bin(struct wt_table *table, const struct occupied *occupied, int64_t wall_ns,
                    int64_t low, int64_t high, const struct wt_text_terminal *terminal)
{
	char a[WT_TEXT_NUMBER_BYTES], range[64], bar[4 * BAR_COLUMNS + 1] = "";
	int64_t ns = time_ns(occupied, low, high), busy_ns = wall_ns - occupied->ns[0];
	int columns = busy_ns > 0 ? (int)((double)ns / (double)busy_ns * BAR_COLUMNS + 0.5) : 0;

	if (low == high)
		snprintf(range, sizeof(range), "%" PRId64, low);
	else
		snprintf(range, sizeof(range), "%" PRId64 "-%" PRId64, low, high);
	wt_table_row(table, 0);
	wt_table_add_string(table, range, NULL);
	wt_table_add_string(table, wt_text_percent(a, (double)ns, (double)wall_ns), NULL);
	if (low)
		wt_table_add_string(table, wt_text_percent(a, (double)ns, (double)busy_ns), NULL);
	else
		wt_table_add_string(table, "", NULL);
	wt_table_add_string(table, wt_text_ns(a, ns), NULL);
	for (int i = 0; low && i < columns && i < BAR_COLUMNS; i++)
		strcat(bar, terminal->is_utf8 ? "\u2588" : "#");
	wt_table_add_string(table, low ? bar : "no kernel", NULL);
}

/* None, eight ranges or fewer, all. */
static struct wt_table *bin_table(const struct occupied *occupied, int64_t wall_ns,
                                  const struct wt_text_terminal *terminal)
{
	struct wt_table *table =
	        wt_table_create(text_columns, sizeof(text_columns) / sizeof(text_columns[0]));
	int64_t bins = occupied->sms - 1 < BINS ? occupied->sms - 1 : BINS;

	if (!table)
		return NULL;
	add_bin(table, occupied, wall_ns, 0, 0, terminal);
	for (int64_t i = 0; i < bins; i++)
		add_bin(table, occupied, wall_ns, i * (occupied->sms - 1) / bins + 1,
		        (i + 1) * (occupied->sms - 1) / bins, terminal);
	add_bin(table, occupied, wall_ns, occupied->sms, occupied->sms, terminal);
	return table;
}

static int print_device(const struct wt_ledger_device *device, const struct occupied *occupied,
                        const struct wt_text_terminal *terminal)
{
	struct wt_table *table = bin_table(occupied, device->wall_ns, terminal);
	char a[WT_TEXT_NUMBER_BYTES];
	double held = occupied_sm_ns(occupied), busy = (double)device->busy_ns;
	struct wt_phrase line;
	int rc = table ? wt_table_print_text(table, stdout, terminal) : -ENOMEM;

	wt_table_destroy(table);
	if (rc)
		return rc;
	wt_phrase_init(&line, stdout, terminal);
	wt_phrase_add(&line, "mean of %" PRId64 ": %.1f SMs over all time", device->sms,
	              held / (double)device->wall_ns);
	if (device->busy_ns)
		wt_phrase_add(&line, "%.1f while a kernel ran", held / busy);
	if (occupied->shared_ns)
		wt_phrase_add(
		        &line, "kernels shared SMs %s%% of the time, counted as all of them",
		        wt_text_percent(a, (double)occupied->shared_ns, (double)device->wall_ns));
	wt_phrase_end(&line);
	return 0;
}

/* Contexts that may use a part of a device only. */
static int print_contexts(sqlite3 *db, const struct wt_text_terminal *terminal)
{
	struct wt_phrase line;
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db,
	                           "SELECT c.context_id, p.pid, c.device_id, c.sm_count, c.is_green"
	                           " FROM context c JOIN main.proc p USING (process_id)"
	                           " JOIN device d USING (device_id)"
	                           " WHERE c.is_green OR c.sm_count < d.sm_count ORDER BY 2, 1",
	                           &s);

	if (rc)
		return rc;
	wt_phrase_init(&line, stdout, terminal);
	while ((rc = wt_report_step(s)) > 0) {
		wt_phrase_add(&line, "%scontext %" PRId64 " of pid %" PRId64 ", device %" PRId64,
		              sqlite3_column_int(s, 4) ? "green " : "",
		              (int64_t)sqlite3_column_int64(s, 0),
		              (int64_t)sqlite3_column_int64(s, 1),
		              (int64_t)sqlite3_column_int64(s, 2));
		if (sqlite3_column_type(s, 3) == SQLITE_NULL)
			wt_phrase_add(&line, "number of SMs not known");
		else
			wt_phrase_add(&line, "%" PRId64 " SMs",
			              (int64_t)sqlite3_column_int64(s, 3));
		wt_phrase_end(&line);
	}
	sqlite3_finalize(s);
	return rc;
}

static int print_text(const struct wt_ledger_view *view, const struct sms *sms)
{
	struct wt_text_terminal terminal;
	struct wt_phrase line;
	int rc = 0;

	wt_text_terminal_probe(STDOUT_FILENO, &terminal);
	wt_ledger_print_run(stdout, &terminal, &view->run, &view->ledger);
	wt_phrase_init(&line, stdout, &terminal);
	wt_phrase_add(&line, "SMs that the kernels running could occupy, at the most");
	wt_phrase_add(&line, "BUSY%%: of the time in which a kernel ran");
	wt_phrase_end(&line);
	for (size_t i = 0; !rc && i < view->ledger.device_count; i++) {
		const struct wt_ledger_device *device = &view->ledger.devices[i];

		if (view->ledger.device_count > 1)
			wt_ledger_print_device(stdout, &terminal, device);
		rc = print_device(device, &sms->devices[i], &terminal);
	}
	if (!rc)
		rc = print_contexts(view->run.db, &terminal);
	if (rc)
		return rc;
	wt_phrase_add(&line, "%s, which no run has yet", needs_measurement);
	wt_phrase_end(&line);
	wt_ledger_print_losses(stdout, &terminal, &view->ledger, &view->losses);
	return 0;
}

/* ---- for programs */

static const struct wt_table_column columns[] = {
        {"device_id", NULL, WT_TABLE_RIGHT, 0, 0, 0}, {"sms", NULL, WT_TABLE_RIGHT, 0, 0, 0},
        {"time_ns", NULL, WT_TABLE_RIGHT, 0, 0, 0},   {"share", NULL, WT_TABLE_RIGHT, 0, 0, 0},
        {"evidence", NULL, WT_TABLE_LEFT, 0, 0, 0},
};

/* Numbers of SMs that came up, and none. */
static struct wt_table *make_table(const struct wt_ledger *ledger, const struct sms *sms)
{
	struct wt_table *table = wt_table_create(columns, sizeof(columns) / sizeof(columns[0]));

	for (size_t i = 0; table && i < ledger->device_count; i++) {
		const struct occupied *occupied = &sms->devices[i];

		for (int64_t k = 0; k <= occupied->sms; k++) {
			if (k && !occupied->ns[k])
				continue;
			wt_table_row(table, 0);
			wt_table_add_int(table, occupied->device_id, NULL);
			wt_table_add_int(table, k, NULL);
			wt_table_add_int(table, occupied->ns[k], NULL);
			wt_table_add_double(
			        table, (double)occupied->ns[k] / (double)ledger->devices[i].wall_ns,
			        9, NULL);
			wt_table_add_string(table, "model", NULL);
		}
	}
	return table;
}

static void put_int(struct wt_json *json, const char *key, int64_t value)
{
	wt_json_key(json, key);
	wt_json_int(json, value);
}

static void put_device(struct wt_json *json, const struct wt_ledger_device *device,
                       const struct occupied *occupied)
{
	double held = occupied_sm_ns(occupied);

	wt_json_object_begin(json);
	put_int(json, "device_id", device->device_id);
	wt_json_key(json, "name");
	wt_json_string(json, device->name);
	wt_json_key(json, "uuid");
	wt_json_string(json, device->uuid);
	put_int(json, "sms", device->sms);
	put_int(json, "wall_ns", device->wall_ns);
	put_int(json, "busy_ns", device->busy_ns);
	put_int(json, "shared_ns", occupied->shared_ns);
	wt_json_key(json, "mean_sms");
	wt_json_double(json, held / (double)device->wall_ns);
	wt_json_key(json, "mean_busy_sms");
	if (device->busy_ns)
		wt_json_double(json, held / (double)device->busy_ns);
	else
		wt_json_null(json);
	wt_json_key(json, "per_sm");
	wt_json_null(json);
	wt_json_key(json, "evidence");
	wt_json_string(json, "model");
	wt_json_key(json, "reason");
	wt_json_object_begin(json);
	wt_json_key(json, "per_sm");
	wt_json_string(json, needs_measurement);
	wt_json_object_end(json);
	wt_json_object_end(json);
}

static int put_contexts(struct wt_json *json, sqlite3 *db)
{
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db,
	                           "SELECT c.process_id, c.context_id, c.device_id, c.sm_count,"
	                           " c.is_green FROM context c JOIN device d USING (device_id)"
	                           " ORDER BY 1, 2",
	                           &s);

	if (rc)
		return rc;
	wt_json_key(json, "contexts");
	wt_json_array_begin(json);
	while ((rc = wt_report_step(s)) > 0) {
		wt_json_object_begin(json);
		put_int(json, "process_id", sqlite3_column_int64(s, 0));
		put_int(json, "context_id", sqlite3_column_int64(s, 1));
		put_int(json, "device_id", sqlite3_column_int64(s, 2));
		wt_json_key(json, "sm_count");
		if (sqlite3_column_type(s, 3) == SQLITE_NULL)
			wt_json_null(json);
		else
			wt_json_int(json, sqlite3_column_int64(s, 3));
		wt_json_key(json, "is_green");
		wt_json_bool(json, sqlite3_column_int(s, 4) != 0);
		wt_json_object_end(json);
	}
	wt_json_array_end(json);
	sqlite3_finalize(s);
	return rc;
}

static int print_json(const struct wt_ledger_view *view, const struct sms *sms,
                      struct wt_table *table)
{
	struct wt_json json;
	int rc;

	wt_json_init(&json, stdout, true);
	wt_json_object_begin(&json);
	wt_ledger_json_head(&json, &view->run, &view->ledger, &view->losses);
	wt_json_key(&json, "devices");
	wt_json_array_begin(&json);
	for (size_t i = 0; i < view->ledger.device_count; i++)
		put_device(&json, &view->ledger.devices[i], &sms->devices[i]);
	wt_json_array_end(&json);
	rc = put_contexts(&json, view->run.db);
	wt_json_key(&json, "rows");
	(void)wt_table_print_json(table, &json);
	wt_json_object_end(&json);
	return rc ? rc : wt_json_finish(&json);
}

/* ---- the whole */

static int show(const struct sms_values *values, struct wt_select *select)
{
	struct wt_ledger_view view = {0};
	struct sms sms = {0};
	const struct wt_ledger_observer observer = {.gap = on_gap, .slice = on_slice, .arg = &sms};
	int code = wt_ledger_open_observed(values->run, select, &observer, &view);
	struct wt_table *table = NULL;

	if (!code) {
		int rc = -ENOMEM;

		if (!sms.is_out_of_memory && sms.count == view.ledger.device_count)
			table = make_table(&view.ledger, &sms);
		if (table)
			rc = values->is_json  ? print_json(&view, &sms, table)
			     : values->is_csv ? wt_table_print_csv(table, stdout)
			                      : print_text(&view, &sms);
		if (rc == -EIO && sqlite3_errcode(view.run.db) != SQLITE_OK &&
		    sqlite3_errcode(view.run.db) != SQLITE_DONE) {
			wt_cli_error("%s: %s", view.run.info.path, sqlite3_errmsg(view.run.db));
			code = WT_EXIT_FAILED;
		} else {
			code = wt_cli_output_result(rc);
		}
	}
	wt_table_destroy(table);
	for (size_t i = 0; i < sms.count; i++)
		free(sms.devices[i].ns);
	free(sms.devices);
	wt_ledger_close(&view);
	return code;
}

static int run_sms(void *opaque, int operand_count, char **operands)
{
	const struct sms_values *values = opaque;
	struct wt_select select;
	int code;

	(void)operand_count;
	(void)operands;
	if (values->is_json && values->is_csv)
		return wt_cli_usage_error("sms", "--json and --csv exclude each other");
	code = wt_select_parse("sms", &values->select, &select);
	wt_select_prefer_steady(&select);
	if (!code && values->select.kernel) {
		wt_cli_error("--kernel: all kernels of a device share its SMs; show and top select "
		             "kernels");
		code = WT_EXIT_NO_DATA;
	}
	if (!code)
		code = show(values, &select);
	wt_select_fini(&select);
	return code;
}

const struct wt_command wt_cmd_sms = {
        .name = "sms",
        .summary = "how many SMs could be busy, for how long",
        .details =
                "For each device, the share of the time in which its kernels could occupy so many\n"
                "SMs: by their grids and limits, at the most. What each SM did needs sampling or\n"
                "profiling, which no run has yet.\n",
        .options = sms_options,
        .values_bytes = sizeof(struct sms_values),
        .run = run_sms,
};
