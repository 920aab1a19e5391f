/*
 * cmd_copies.c - `wavetap copies`: copies and memsets by direction, and how much of them kernels
 * hid. Single-threaded; blocks on files.
 *
 * A copy is exposed where it runs and no kernel of its device does. Rows sum their copies; the
 * total counts time once in which several run, so it may be less.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/interval.h"
#include "cli/cli.h"
#include "cli/copy_names.h"
#include "cli/json_run.h"
#include "cli/phrase.h"
#include "cli/report_sql.h"
#include "cli/run_file.h"
#include "cli/select.h"
#include "cli/table.h"
#include "cli/top_columns.h"
#include "cli/top_text.h"

enum copies_by { BY_EXPOSED, BY_BYTES };

struct copies_values {
	const char *run;
	int by;
	struct wt_select_words select;
	bool is_json, is_csv;
};

static const struct wt_choice by_choices[] = {
        {"exposed", "time in which they ran and no kernel did (default)", 0},
        {"bytes", "bytes moved", 0},
        {0},
};

static const struct wt_option copies_options[] = {
        {"by", 'b', WT_OPTION_CHOICE, "WHAT", offsetof(struct copies_values, by), by_choices,
         "what to rank by"},
        WT_SELECT_DEVICE_OPTIONS(struct copies_values, select),
        WT_SELECT_REFUSED_OPTION(struct copies_values, select, kernel),
        {"json", 0, WT_OPTION_FLAG, NULL, offsetof(struct copies_values, is_json), NULL,
         "one JSON object; fields in doc/json.md"},
        {"csv", 0, WT_OPTION_FLAG, NULL, offsetof(struct copies_values, is_csv), NULL,
         "rows as CSV"},
        WT_SELECT_ALL_OPTION(struct copies_values, select),
        WT_RUN_OPTION(struct copies_values, run),
        {0},
};

/* Copies of one direction between two kinds of memory, on one device. */
struct group {
	int64_t device_id;
	int kind; /* CUPTI's copy kind; 0: memset */
	int src_kind, dst_kind; /* CUPTI's memory kinds */
	int64_t count, bytes, time_ns, exposed_ns;
};

struct copies {
	const struct wt_select *select; /* what it is of; NULL: all of the run */
	const struct wt_select_steps *steps; /* the default window; NULL: not looked for */
	int64_t start_ns, end_ns; /* copies count with their part in between */
	struct group *groups;
	size_t group_count;
	int64_t total_time_ns, total_exposed_ns; /* of unions */
	int64_t count, bytes, without_time;
	char problem[200];
};

/* ---- reading */

struct interval_list {
	struct wt_interval *at;
	size_t count;
};

/* ?1 is the device, ?2 and ?3 (if they are there) the window. */
static int read_intervals(sqlite3 *db, const char *sql, int64_t device_id,
                          const struct copies *copies, struct interval_list *list)
{
	size_t capacity = 0;
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, sql, &s);

	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, device_id);
	sqlite3_bind_int64(s, 2, copies->start_ns);
	sqlite3_bind_int64(s, 3, copies->end_ns);
	while ((rc = wt_report_step(s)) > 0) {
		if (list->count == capacity) {
			struct wt_interval *grown;

			capacity = capacity ? 2 * capacity : 1024;
			grown = reallocarray(list->at, capacity, sizeof(*grown));
			if (!grown) {
				rc = -ENOMEM;
				break;
			}
			list->at = grown;
		}
		list->at[list->count++] = (struct wt_interval){sqlite3_column_int64(s, 0),
		                                               sqlite3_column_int64(s, 1)};
	}
	sqlite3_finalize(s);
	if (!rc)
		list->count = wt_intervals_unite(list->at, list->count);
	return rc;
}

static struct group *find_group(struct copies *copies, const struct group *like)
{
	struct group *group;

	for (size_t i = 0; i < copies->group_count; i++) {
		group = &copies->groups[i];
		if (group->device_id == like->device_id && group->kind == like->kind &&
		    group->src_kind == like->src_kind && group->dst_kind == like->dst_kind)
			return group;
	}
	group = wt_report_append(&copies->groups, &copies->group_count, sizeof(*group));
	if (group)
		*group = *like;
	return group;
}

/* All copies of a device, with the time in which its kernels ran. */
static int read_groups(sqlite3 *db, int64_t device_id, const struct wt_intervals *kernels,
                       struct copies *copies)
{
	static const char sql[] = "SELECT CASE WHEN is_memset THEN 0 ELSE copy_kind END,"
	                          " CASE WHEN is_memset THEN 0 ELSE src_kind END, dst_kind,"
	                          " bytes, start_ns, end_ns FROM copy WHERE device_id = ?1"
	                          " AND (?2 OR start_ns < ?4 AND (end_ns > ?3 OR"
	                          " start_ns = end_ns AND start_ns >= ?3))";
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db, sql, &s);

	if (rc)
		return rc;
	sqlite3_bind_int64(s, 1, device_id);
	sqlite3_bind_int(s, 2, !copies->select || !copies->select->has_window);
	sqlite3_bind_int64(s, 3, copies->start_ns);
	sqlite3_bind_int64(s, 4, copies->end_ns);
	while ((rc = wt_report_step(s)) > 0) {
		struct group like = {.device_id = device_id,
		                     .kind = sqlite3_column_int(s, 0),
		                     .src_kind = sqlite3_column_int(s, 1),
		                     .dst_kind = sqlite3_column_int(s, 2)};
		struct group *group = find_group(copies, &like);
		int64_t start_ns = sqlite3_column_int64(s, 4);
		int64_t end_ns = sqlite3_column_int64(s, 5), whole_ns, part_ns, sum_ns;

		if (!group) {
			rc = -ENOMEM;
			break;
		}
		group->count++;
		/* Before 1970 is damage, and would not fit. */
		if (sqlite3_column_type(s, 4) == SQLITE_NULL || start_ns < 0 || end_ns < start_ns) {
			group->bytes += sqlite3_column_int64(s, 3);
			copies->without_time++;
			continue;
		}
		whole_ns = end_ns - start_ns;
		start_ns = start_ns > copies->start_ns ? start_ns : copies->start_ns;
		end_ns = end_ns < copies->end_ns ? end_ns : copies->end_ns;
		group->bytes +=
		        wt_select_part(sqlite3_column_int64(s, 3), end_ns - start_ns, whole_ns);
		part_ns = end_ns - start_ns;
		/* A damaged file's times may sum beyond 64 bits: they are left out, and said so. */
		if (__builtin_add_overflow(group->time_ns, part_ns, &sum_ns)) {
			copies->without_time++;
			continue;
		}
		group->time_ns = sum_ns;
		group->exposed_ns += part_ns - wt_intervals_overlap_ns(kernels, start_ns, end_ns);
	}
	sqlite3_finalize(s);
	return rc;
}

static int read_device(sqlite3 *db, int64_t device_id, struct copies *copies)
{
	static const char kernels_sql[] =
	        "SELECT e.start_ns, e.end_ns FROM kernel_exec e JOIN config c USING (config_id)"
	        " WHERE c.device_id = ?1 AND e.start_ns >= 0 AND e.end_ns > e.start_ns ORDER BY "
	        "e.start_ns";
	static const char copies_sql[] = "SELECT max(start_ns, ?2), min(end_ns, ?3) FROM copy"
	                                 " WHERE device_id = ?1 AND start_ns >= 0 AND end_ns > "
	                                 "start_ns AND start_ns < ?3 AND end_ns > ?2";
	struct interval_list kernels = {0}, ran = {0};
	int rc = read_intervals(db, kernels_sql, device_id, copies, &kernels);

	if (!rc)
		rc = read_intervals(db, copies_sql, device_id, copies, &ran);
	if (!rc) {
		struct wt_intervals set = {kernels.at, kernels.count};

		for (size_t i = 0; i < ran.count; i++) {
			int64_t length_ns = ran.at[i].end_ns - ran.at[i].start_ns;

			copies->total_time_ns += length_ns;
			copies->total_exposed_ns +=
			        length_ns -
			        wt_intervals_overlap_ns(&set, ran.at[i].start_ns, ran.at[i].end_ns);
		}
		rc = read_groups(db, device_id, &set, copies);
	}
	free(kernels.at);
	free(ran.at);
	return rc;
}

static int read_devices(sqlite3 *db, struct copies *copies)
{
	sqlite3_stmt *s;
	int rc = wt_report_prepare(db,
	                           "SELECT DISTINCT device_id FROM copy WHERE device_id IS NOT NULL"
	                           " AND (?1 OR device_id IN (SELECT device_id FROM device))"
	                           " ORDER BY device_id",
	                           &s);

	if (rc)
		return rc;
	sqlite3_bind_int(s, 1, !copies->select);
	while ((rc = wt_report_step(s)) > 0) {
		rc = read_device(db, sqlite3_column_int64(s, 0), copies);
		if (rc)
			break;
	}
	sqlite3_finalize(s);
	for (size_t i = 0; i < copies->group_count; i++) {
		copies->count += copies->groups[i].count;
		copies->bytes += copies->groups[i].bytes;
	}
	return rc;
}

/* In one read transaction, or that of the selection. 0 or -errno. */
static int load(sqlite3 *db, struct copies *copies)
{
	int rc = wt_report_note(db, sqlite3_exec(db, "SAVEPOINT copies", NULL, NULL, NULL));

	if (!rc)
		rc = read_devices(db, copies);
	if (rc == -EIO)
		snprintf(copies->problem, sizeof(copies->problem), "%s", wt_report_problem(db));
	sqlite3_exec(db, "RELEASE copies", NULL, NULL, NULL);
	return rc;
}

/* ---- output */

static const struct wt_table_column columns[] = {
        {"device_id", "DEV", WT_TABLE_RIGHT, WT_TABLE_DROP(3), 0, 0},
        {"direction", "WHAT", WT_TABLE_LEFT, 0, 6, 0},
        {"memory", "MEMORY", WT_TABLE_LEFT, WT_TABLE_FLEXIBLE, 8, 0},
        {"copies", "N", WT_TABLE_RIGHT, WT_TABLE_DROP(5), 0, 0},
        {"bytes", "BYTES", WT_TABLE_RIGHT, 0, 0, 0},
        {"time_ns", "TIME", WT_TABLE_RIGHT, WT_TABLE_DROP(4), 0, 0},
        {"bytes_per_second", "GB/S", WT_TABLE_RIGHT, WT_TABLE_DROP(2), 0, 0},
        {"exposed_ns", "EXPOSED", WT_TABLE_RIGHT, 0, 0, 0},
        {"hidden", "HIDDEN%", WT_TABLE_RIGHT, WT_TABLE_DROP(1), 0, 0},
};

static int compare(const void *left, const void *right, void *context)
{
	const struct group *a = left, *b = right;
	bool is_bytes = *(const int *)context == BY_BYTES;
	int64_t x = is_bytes ? a->bytes : a->exposed_ns, y = is_bytes ? b->bytes : b->exposed_ns;

	if (x != y)
		return x > y ? -1 : 1;
	return a->time_ns > b->time_ns ? -1 : a->time_ns < b->time_ns;
}

static void add_row(struct wt_table *table, const struct group *group)
{
	char memory[64], bytes[WT_TEXT_NUMBER_BYTES], time[WT_TEXT_NUMBER_BYTES];
	char rate_text[WT_TEXT_NUMBER_BYTES], exposed[WT_TEXT_NUMBER_BYTES];
	char hidden[WT_TEXT_NUMBER_BYTES], count[WT_TEXT_NUMBER_BYTES];
	double rate = group->time_ns ? (double)group->bytes * 1e9 / (double)group->time_ns : NAN;
	double hidden_ns = (double)(group->time_ns - group->exposed_ns);

	if (group->kind)
		snprintf(memory, sizeof(memory), "%s to %s", wt_copy_memory_name(group->src_kind),
		         wt_copy_memory_name(group->dst_kind));
	else
		snprintf(memory, sizeof(memory), "%s", wt_copy_memory_name(group->dst_kind));
	snprintf(rate_text, sizeof(rate_text), "%.1f", rate / 1e9);
	wt_table_row(table, 0);
	wt_table_add_int(table, group->device_id, NULL);
	wt_table_add_string(table, wt_copy_direction_name(group->kind), NULL);
	wt_table_add_string(table, memory, NULL);
	wt_table_add_int(table, group->count, wt_text_count(count, group->count));
	wt_table_add_int(table, group->bytes, wt_text_bytes(bytes, (uint64_t)group->bytes));
	wt_table_add_int(table, group->time_ns, wt_text_ns(time, group->time_ns));
	wt_table_add_double(table, rate, 0, group->time_ns ? rate_text : ".");
	wt_table_add_int(table, group->exposed_ns, wt_text_ns(exposed, group->exposed_ns));
	wt_table_add_double(table, group->time_ns ? hidden_ns / (double)group->time_ns : NAN, 6,
	                    wt_text_percent(hidden, hidden_ns, (double)group->time_ns));
}

static void put_totals(struct wt_json *json, const struct copies *copies)
{
	wt_json_key(json, "total");
	wt_json_object_begin(json);
	wt_json_key(json, "copies");
	wt_json_int(json, copies->count);
	wt_json_key(json, "bytes");
	wt_json_int(json, copies->bytes);
	wt_json_key(json, "time_ns");
	wt_json_int(json, copies->total_time_ns);
	wt_json_key(json, "exposed_ns");
	wt_json_int(json, copies->total_exposed_ns);
	wt_json_key(json, "without_time");
	wt_json_int(json, copies->without_time);
	wt_json_object_end(json);
}

static int print_json(const struct wt_run_file *run, const struct copies *copies,
                      const struct wt_report *losses, struct wt_table *table)
{
	struct wt_json json;

	wt_json_init(&json, stdout, true);
	wt_json_object_begin(&json);
	wt_json_put_run(&json, run);
	wt_select_put_json(&json, copies->select);
	wt_select_put_steps(&json, copies->steps);
	wt_json_key(&json, "loss");
	wt_json_put_loss(&json, &losses->loss);
	wt_json_put_incomplete(&json, losses);
	put_totals(&json, copies);
	wt_json_key(&json, "rows");
	(void)wt_table_print_json(table, &json);
	wt_json_object_end(&json);
	return wt_json_finish(&json);
}

static int print_text(const struct wt_run_file *run, const struct copies *copies,
                      const struct wt_report *losses, struct wt_table *table)
{
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES], c[WT_TEXT_NUMBER_BYTES];
	double hidden_ns = (double)(copies->total_time_ns - copies->total_exposed_ns);
	struct wt_text_terminal terminal;
	struct wt_phrase line;
	int rc;

	wt_text_terminal_probe(STDOUT_FILENO, &terminal);
	wt_phrase_init(&line, stdout, &terminal);
	wt_phrase_add(&line, "run %s", run->info.id);
	if (run->info.name[0])
		wt_phrase_add(&line, "%s", run->info.name);
	if (copies->select && copies->select->has_window)
		wt_top_print_window(&line, copies->select, copies->steps, 0);
	wt_phrase_add(&line, "%s copies and memsets", wt_text_count(a, copies->count));
	wt_phrase_add(&line, "%s", wt_text_bytes(a, (uint64_t)copies->bytes));
	wt_phrase_add(&line, "some ran %s, %s%% of it beside kernels, %s exposed",
	              wt_text_ns(a, copies->total_time_ns),
	              wt_text_percent(b, hidden_ns, (double)copies->total_time_ns),
	              wt_text_ns(c, copies->total_exposed_ns));
	if (copies->without_time)
		wt_phrase_add(&line, "%s without a usable time",
		              wt_text_count(a, copies->without_time));
	wt_phrase_end(&line);
	wt_top_print_selection(&line, copies->select);
	wt_top_print_apart(&line, copies->steps);
	rc = wt_table_print_text(table, stdout, &terminal);
	if (!rc) {
		wt_phrase_add(&line, "evidence: CUPTI's records");
		wt_phrase_add(&line, "lost %s records of copies and other activity",
		              wt_text_count(a, losses->loss.other_dropped_ring));
		wt_phrase_end(&line);
	}
	return rc;
}

static int print_copies(const struct copies_values *values, const struct wt_run_file *run,
                        struct copies *copies, const struct wt_report *losses)
{
	struct wt_table *table = wt_table_create(columns, sizeof(columns) / sizeof(columns[0]));
	int by = values->by;
	int rc = -ENOMEM;

	if (copies->group_count)
		qsort_r(copies->groups, copies->group_count, sizeof(*copies->groups), compare, &by);
	for (size_t i = 0; table && i < copies->group_count; i++)
		add_row(table, &copies->groups[i]);
	if (table && values->is_json)
		rc = print_json(run, copies, losses, table);
	else if (table && values->is_csv)
		rc = wt_table_print_csv(table, stdout);
	else if (table)
		rc = copies->count ? print_text(run, copies, losses, table) : 0;
	wt_table_destroy(table);
	return wt_cli_output_result(rc);
}

static int show(const struct copies_values *values, const struct wt_select *select,
                const struct wt_run_file *run)
{
	struct wt_report losses = {0};
	struct copies copies = {.start_ns = INT64_MIN, .end_ns = INT64_MAX};
	int code = WT_EXIT_FAILED;
	int rc;

	if (select->is_applied)
		copies.select = select;
	copies.steps = select->steps.is_looked_for ? &select->steps : NULL;
	if (select->is_applied && select->has_window) {
		copies.start_ns = select->start_ns;
		copies.end_ns = select->end_ns;
	}
	rc = load(run->db, &copies);
	if (!rc)
		rc = wt_report_load_losses(run->db, &losses);
	if (rc)
		wt_cli_error("%s: %s", run->info.path,
		             rc != -EIO          ? strerror(-rc)
		             : copies.problem[0] ? copies.problem
		                                 : losses.problem);
	else
		code = print_copies(values, run, &copies, &losses);
	if (!code && !copies.count) {
		if (losses.capture_count && losses.captures[0].reason && !losses.loss.kernels)
			wt_cli_error("run %s: copies were not recorded: %s: %s", run->info.id,
			             losses.captures[0].capture, losses.captures[0].reason);
		else
			wt_cli_error("run %s has no copies%s", run->info.id,
			             copies.steps && copies.steps->is_found
			                     ? " in its steady steps (--all: the whole run)"
			             : copies.select ? " in the selection"
			                             : "");
		code = WT_EXIT_NO_DATA;
	}
	free(copies.groups);
	wt_report_fini(&losses);
	return code;
}

static int run_copies(void *opaque, int operand_count, char **operands)
{
	const struct copies_values *values = opaque;
	struct wt_select select;
	struct wt_run_file run;
	int code;

	(void)operand_count;
	(void)operands;
	if (values->is_json && values->is_csv)
		return wt_cli_usage_error("copies", "--json and --csv exclude each other");
	code = wt_select_parse("copies", &values->select, &select);
	wt_select_prefer_steady(&select);
	if (!code && values->select.kernel) {
		wt_cli_error("--kernel: a copy is no kernel's");
		code = WT_EXIT_NO_DATA;
	}
	if (!code)
		code = wt_run_file_open(values->run, &run);
	if (!code) {
		code = wt_select_apply_devices(&select, &run);
		/* A run without kernels has no start that times could count from. */
		if (!code && wt_select_is_given(&select) && !select.is_applied) {
			wt_cli_error("run %s has no kernels, so nothing of it can be selected",
			             run.info.id);
			code = WT_EXIT_NO_DATA;
		}
		if (!code)
			code = show(values, &select, &run);
		wt_run_file_close(&run);
	}
	wt_select_fini(&select);
	return code;
}

const struct wt_command wt_cmd_copies = {
        .name = "copies",
        .summary = "copies and memsets, and how much of them kernels hid",
        .details = "A copy is exposed where it runs and no kernel of its device does.",
        .example = "wavetap copies --by bytes",
        .options = copies_options,
        .values_bytes = sizeof(struct copies_values),
        .run = run_copies,
};
