/*
 * cmd_sms.c - `wavetap sms`: how many SMs of a device were active, for how long. Over time as samples
 * have it, else how many could hold blocks, by the
 * ledger's sweep. Single-threaded; blocks on files.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/gpu_state.h"
#include "cli/ledger_lines.h"
#include "cli/rates.h"
#include "cli/parse_time.h"
#include "cli/phrase.h"
#include "cli/report_sql.h"
#include "cli/select.h"
#include "cli/sm_activity.h"
#include "cli/sms.h"
#include "cli/table.h"
#include "cli/top_columns.h"

#define BINS 8 /* between none and all */
#define BAR_COLUMNS 40

struct sms_values {
	const char *run, *width;
	struct wt_select_words select;
	bool is_json, is_csv;
};

static const struct wt_option sms_options[] = {
        {"width", 'w', WT_OPTION_TEXT, "T", offsetof(struct sms_values, width), NULL,
         "time of a column of samples, as 10ms (default: as many columns as fit)"},
        WT_SELECT_DEVICE_OPTIONS(struct sms_values, select),
        WT_SELECT_REFUSED_OPTION(struct sms_values, select, kernel),
        WT_SELECT_ALL_OPTION(struct sms_values, select),
        {"json", 0, WT_OPTION_FLAG, NULL, offsetof(struct sms_values, is_json), NULL,
         "one JSON object; fields in doc/json.md"},
        {"csv", 0, WT_OPTION_FLAG, NULL, offsetof(struct sms_values, is_csv), NULL,
         "time by number of SMs as CSV"},
        WT_RUN_OPTION(struct sms_values, run),
        {0},
};

/* ---- as the ledger is loaded */

/* Of the device in work: the last one. NULL: out of memory. */
static struct wt_sms_occupied *occupied_of(struct wt_sms *sms,
                                           const struct wt_ledger_device *device)
{
	struct wt_sms_occupied *last = sms->count ? &sms->devices[sms->count - 1] : NULL;

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
	struct wt_sms *sms = arg;
	struct wt_sms_occupied *occupied = occupied_of(sms, device);

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
	struct wt_sms_occupied *occupied = occupied_of(arg, gap->device);

	if (!occupied)
		return -ENOMEM;
	occupied->ns[0] += gap->facts->end_ns - gap->facts->start_ns;
	return 0;
}

static int load_measured(const struct wt_ledger_view *view, int64_t width_ns, size_t columns,
                         struct wt_sms *sms)
{
	const struct wt_ledger *ledger = &view->ledger;
	int rc = 0;

	sms->measured = calloc(ledger->device_count, sizeof(*sms->measured));
	if (!sms->measured)
		return -ENOMEM;
	for (size_t i = 0; !rc && i < ledger->device_count; i++) {
		struct wt_sms_measured *measured = &sms->measured[i];
		const struct wt_ledger_device *device = &ledger->devices[i];

		rc = wt_sms_heat_load(view->run.db, ledger, device, width_ns, columns,
		                      &measured->heat);
		if (!rc)
			rc = wt_rates_device_profiled(view->run.db, device->device_id,
			                              ledger->start_ns, ledger->end_ns,
			                              &measured->profiled);
	}
	return rc;
}

static void free_sms(struct wt_sms *sms, size_t device_count)
{
	for (size_t i = 0; sms->measured && i < device_count; i++) {
		wt_sms_heat_fini(&sms->measured[i].heat);
	}
	for (size_t i = 0; i < sms->count; i++)
		free(sms->devices[i].ns);
	free(sms->measured);
	free(sms->devices);
}

/* ---- figures */

double wt_sms_occupied_sm_ns(const struct wt_sms_occupied *occupied)
{
	double sum = 0;

	for (int64_t k = 1; k <= occupied->sms; k++)
		sum += (double)k * (double)occupied->ns[k];
	return sum;
}

/* From `low` to `high` SMs, both included. */
static int64_t time_ns(const struct wt_sms_occupied *occupied, int64_t low, int64_t high)
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
        {"busy_share", "BUSY%", WT_TABLE_RIGHT, WT_TABLE_DROP(2), 6, 0},
        {"time_ns", "TIME", WT_TABLE_RIGHT, WT_TABLE_DROP(3), 8, 0},
        {"sampled", "SAMPLED%", WT_TABLE_RIGHT, 0, 0, 0},
        {"bar", "", WT_TABLE_LEFT, WT_TABLE_TEXT_ONLY | WT_TABLE_DROP(1), 0, 0},
};
#define OTHERS 37 /* columns of a line before the bar */
#define OTHERS_SAMPLED 47
#define TEXT_COLUMNS (sizeof(text_columns) / sizeof(text_columns[0]))

/* Of the time that was sampled, with low to high SMs active, rounded. */
static void add_sampled(struct wt_table *table, const struct wt_sms_measured *measured, int64_t low,
                        int64_t high)
{
	char text[WT_TEXT_NUMBER_BYTES];
	double ns = 0;

	for (int64_t k = low; k <= high; k++)
		ns += measured->heat.by_sms[k];
	wt_table_add_string(table, wt_text_percent(text, ns, measured->heat.total.sampled_ns),
	                    NULL);
}

/* The longest bar that a line has room for. */
static int bar_columns(const struct wt_text_terminal *terminal, bool has_samples)
{
	int room = (int)terminal->width_columns - (has_samples ? OTHERS_SAMPLED : OTHERS);

	return !terminal->width_columns || room > BAR_COLUMNS ? BAR_COLUMNS : room < 9 ? 9 : room;
}

static void add_bin(struct wt_table *table, const struct wt_sms_occupied *occupied,
                    const struct wt_sms_measured *measured, int64_t wall_ns, int64_t low,
                    int64_t high, const struct wt_text_terminal *terminal)
{
	char a[WT_TEXT_NUMBER_BYTES], range[64], bar[4 * BAR_COLUMNS + 1] = "";
	int64_t ns = time_ns(occupied, low, high), busy_ns = wall_ns - occupied->ns[0];
	int most = bar_columns(terminal, wt_sms_has_samples(measured));
	int columns = busy_ns > 0 ? (int)((double)ns / (double)busy_ns * most + 0.5) : 0;

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
	add_sampled(table, measured, low, high);
	for (int i = 0; low && i < columns && i < most; i++)
		strcat(bar, terminal->is_utf8 ? "\u2588" : "#");
	wt_table_add_string(table, low ? bar : "no kernel", NULL);
}

/* None, eight ranges or fewer, all. */
static struct wt_table *bin_table(const struct wt_sms_occupied *occupied,
                                  const struct wt_sms_measured *measured, int64_t wall_ns,
                                  const struct wt_text_terminal *terminal,
                                  struct wt_table_column columns[TEXT_COLUMNS])
{
	struct wt_table *table;
	int64_t bins = occupied->sms - 1 < BINS ? occupied->sms - 1 : BINS;

	memcpy(columns, text_columns, sizeof(text_columns));
	for (size_t i = 0; i < TEXT_COLUMNS && !wt_sms_has_samples(measured); i++)
		if (!strcmp(columns[i].key, "sampled"))
			columns[i].flags |= WT_TABLE_NO_TEXT;
	table = wt_table_create(columns, TEXT_COLUMNS);
	if (!table)
		return NULL;
	add_bin(table, occupied, measured, wall_ns, 0, 0, terminal);
	for (int64_t i = 0; i < bins; i++)
		add_bin(table, occupied, measured, wall_ns, i * (occupied->sms - 1) / bins + 1,
		        (i + 1) * (occupied->sms - 1) / bins, terminal);
	add_bin(table, occupied, measured, wall_ns, occupied->sms, occupied->sms, terminal);
	return table;
}

/* What the kernels could occupy, by the model, with what was sampled beside it. */
static int print_model(const struct wt_ledger_device *device,
                       const struct wt_sms_occupied *occupied,
                       const struct wt_sms_measured *measured,
                       const struct wt_text_terminal *terminal)
{
	struct wt_table_column columns[TEXT_COLUMNS];
	struct wt_table *table = bin_table(occupied, measured, device->wall_ns, terminal, columns);
	char a[WT_TEXT_NUMBER_BYTES];
	double held = wt_sms_occupied_sm_ns(occupied), busy = (double)device->busy_ns;
	struct wt_phrase line;
	int rc = table ? 0 : -ENOMEM;

	wt_phrase_init(&line, stdout, terminal);
	if (wt_sms_has_samples(measured))
		fputc('\n', stdout);
	wt_phrase_add(&line, "SMs that the kernels running could occupy, at the most: a model");
	wt_phrase_add(&line, "BUSY%%: of the time in which a kernel ran");
	if (wt_sms_has_samples(measured))
		wt_phrase_add(&line, "SAMPLED%%: of the time sampled, with so many active");
	wt_phrase_end(&line);
	if (!rc)
		rc = wt_table_print_text(table, stdout, terminal);
	wt_table_destroy(table);
	if (rc)
		return rc;
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

static int print_device(const struct wt_ledger_view *view, const struct wt_sms *sms, size_t at,
                        const struct wt_text_terminal *terminal)
{
	const struct wt_ledger *ledger = &view->ledger;
	const struct wt_ledger_device *device = &ledger->devices[at];
	const struct wt_sms_measured *measured = &sms->measured[at];
	struct wt_sm_agreement agreement;
	struct wt_gpu_states states;
	struct wt_phrase line;
	int rc = wt_sm_activity_agree(view->run.db, ledger, device, &agreement);

	if (!rc)
		rc = wt_gpu_states_load(view->run.db, device->device_id, ledger->start_ns,
		                        ledger->end_ns, &states);

	if (rc)
		return rc;
	wt_phrase_init(&line, stdout, terminal);
	if (wt_sms_has_samples(measured)) {
		wt_sms_heat_print(stdout, terminal, &measured->heat,
		                  ledger->select && ledger->select->has_window
		                          ? ledger->select->run_start_ns
		                          : ledger->start_ns);
		wt_sm_agreement_print(&line, &agreement);
	}
	if (wt_gpu_states_say(&line, &states))
		wt_phrase_end(&line);
	if (wt_rates_say_profiled(&line, &measured->profiled))
		wt_phrase_end(&line);
	if (ledger->is_samples_alone)
		return 0;
	return print_model(device, &sms->devices[at], measured, terminal);
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

static int print_text(const struct wt_ledger_view *view, const struct wt_sms *sms,
                      const struct wt_text_terminal *terminal)
{
	bool is_sampled = true;
	struct wt_phrase line;
	int rc = 0;

	wt_ledger_print_run(stdout, terminal, &view->run, &view->ledger);
	for (size_t i = 0; !rc && i < view->ledger.device_count; i++) {
		if (view->ledger.device_count > 1)
			wt_ledger_print_device(stdout, terminal, &view->ledger.devices[i]);
		rc = print_device(view, sms, i, terminal);
		is_sampled &= wt_sms_has_samples(&sms->measured[i]);
	}
	if (!rc)
		rc = print_contexts(view->run.db, terminal);
	if (rc)
		return rc;
	wt_phrase_init(&line, stdout, terminal);
	if (!is_sampled)
		wt_phrase_add(&line, "%s", WT_SMS_NEEDS_SAMPLES);
	wt_phrase_add(&line, "%s", WT_SMS_NO_SINGLE);
	wt_phrase_end(&line);
	if (view->ledger.is_samples_alone)
		wt_ledger_print_samples_alone(stdout, terminal, &view->losses);
	else
		wt_ledger_print_losses(stdout, terminal, &view->ledger, &view->losses);
	return 0;
}

/* ---- the whole */

static int print(const struct sms_values *values, const struct wt_ledger_view *view,
                 const struct wt_sms *sms, const struct wt_text_terminal *terminal)
{
	struct wt_table *table = wt_sms_table(&view->ledger, sms);
	int rc = -ENOMEM;

	if (table)
		rc = values->is_json  ? wt_sms_print_json(view, sms, table)
		     : values->is_csv ? wt_table_print_csv(table, stdout)
		                      : print_text(view, sms, terminal);
	wt_table_destroy(table);
	return rc;
}

static int show(const struct sms_values *values, int64_t width_ns, struct wt_select *select)
{
	struct wt_ledger_view view = {0};
	struct wt_sms sms = {0};
	const struct wt_ledger_observer observer = {.gap = on_gap, .slice = on_slice, .arg = &sms};
	struct wt_text_terminal terminal = {0};
	int code;

	view.takes_samples = true;
	code = wt_ledger_open_observed(values->run, select, &observer, &view);
	if (!code) {
		int rc = sms.is_out_of_memory || (sms.count != view.ledger.device_count &&
		                                  !view.ledger.is_samples_alone)
		                 ? -ENOMEM
		                 : 0;

		if (!values->is_json && !values->is_csv)
			wt_text_terminal_probe(STDOUT_FILENO, &terminal);
		if (!rc)
			rc = load_measured(&view, width_ns, wt_sms_heat_columns(&terminal), &sms);
		if (!rc)
			rc = print(values, &view, &sms, &terminal);
		if (rc == -E2BIG) {
			wt_cli_error("--width makes more than %d columns", WT_LEDGER_BUCKETS_MAX);
			code = WT_EXIT_USAGE;
		} else {
			code = wt_sm_activity_failed(&view.run, rc);
		}
	}
	free_sms(&sms, view.ledger.device_count);
	wt_ledger_close(&view);
	return code;
}

static int run_sms(void *opaque, int operand_count, char **operands)
{
	const struct sms_values *values = opaque;
	struct wt_select select;
	int64_t width_ns = 0;
	int code;

	(void)operand_count;
	(void)operands;
	if (values->is_json && values->is_csv)
		return wt_cli_usage_error("sms", "--json and --csv exclude each other");
	if (values->width && (wt_parse_time(values->width, &width_ns) || width_ns <= 0))
		return wt_cli_usage_error("sms",
		                          "--width: \"%s\" is not a length of time, as 10ms or 1s",
		                          values->width);
	code = wt_select_parse("sms", &values->select, &select);
	wt_select_prefer_steady(&select);
	if (!code && values->select.kernel) {
		wt_cli_error("--kernel: all kernels of a device share its SMs; show and top select "
		             "kernels");
		code = WT_EXIT_NO_DATA;
	}
	if (!code)
		code = show(values, width_ns, &select);
	wt_select_fini(&select);
	return code;
}

const struct wt_command wt_cmd_sms = {
        .name = "sms",
        .summary = "how many SMs were busy over time",
        .details = "With samples, a map of the share of SMs that were active over time. "
                   "Then for how long kernels could occupy so many SMs, by their grids.",
        .example = "wavetap sms --from 100ms --to 200ms",
        .options = sms_options,
        .values_bytes = sizeof(struct sms_values),
        .run = run_sms,
};
