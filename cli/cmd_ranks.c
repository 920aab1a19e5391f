/*
 * cmd_ranks.c - `wavetap ranks`: the processes of a run side by side, on each of their devices.
 * Single-threaded; blocks on files.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/ledger_lines.h"
#include "cli/phrase.h"
#include "cli/ranks.h"
#include "cli/report_sql.h"
#include "cli/select.h"
#include "cli/table.h"

#define CAUSES_NAMED 3

struct ranks_values {
	const char *run;
	struct wt_select_words select;
	bool is_json, is_csv;
};

static const struct wt_option ranks_options[] = {
        WT_SELECT_DEVICE_OPTIONS(struct ranks_values, select),
        WT_SELECT_REFUSED_OPTION(struct ranks_values, select, kernel),
        WT_SELECT_ALL_OPTION(struct ranks_values, select),
        {"json", 0, WT_OPTION_FLAG, NULL, offsetof(struct ranks_values, is_json), NULL,
         "one JSON object; fields in doc/json.md"},
        {"csv", 0, WT_OPTION_FLAG, NULL, offsetof(struct ranks_values, is_csv), NULL,
         "rows as CSV"},
        WT_RUN_OPTION(struct ranks_values, run),
        {0},
};

static const struct wt_table_column columns[] = {
        {"rank", "RANK", WT_TABLE_RIGHT, 0, 0, 0},
        {"local_rank", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"world_size", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"process_id", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"pid", "PID", WT_TABLE_RIGHT, WT_TABLE_DROP(10), 0, 0},
        {"device_id", "DEV", WT_TABLE_RIGHT, WT_TABLE_DROP(9), 0, 0},
        {"kernels", "KERNELS", WT_TABLE_RIGHT, WT_TABLE_DROP(3), 0, 0},
        {"time_ns", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"busy_ns", "BUSY%", WT_TABLE_RIGHT, 0, 0, 0},
        {"active_sm_ns", "ACT%", WT_TABLE_RIGHT, WT_TABLE_DROP(5), 0, 0},
        {"idle_sm_ns", "IDLE%", WT_TABLE_RIGHT, WT_TABLE_DROP(4), 0, 0},
        {"underfill_sm_ns", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"wave_sm_ns", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"wave_max_sm_ns", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"unjudged_sm_ns", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"comm_sm_ns", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"gap_sm_ns", "GAPS%", WT_TABLE_RIGHT, 0, 0, 0},
        {"gaps", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"main_cause", "MOSTLY", WT_TABLE_LEFT, WT_TABLE_DROP(8), 0, 0},
        WT_GAP_CAUSE_COLUMNS,
        {"comm_ns", "COMM%", WT_TABLE_RIGHT, WT_TABLE_DROP(7), 0, 0},
        {"comm_exposed_ns", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"wait_ns", "WAIT", WT_TABLE_RIGHT, 0, 0, 0},
        {"wait_exposed_ns", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"transfer_ns", "XFER", WT_TABLE_RIGHT, WT_TABLE_DROP(7), 0, 0},
        {"late_ns", "LATE", WT_TABLE_RIGHT, 0, 0, 0},
        {"late_steps", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"late_longest_steps", "", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"late_cause", "BECAUSE", WT_TABLE_LEFT, 0, 0, 0},
        {"steps", "STEPS", WT_TABLE_RIGHT, WT_TABLE_DROP(2), 0, 0},
        {"step_ns", "STEP", WT_TABLE_RIGHT, WT_TABLE_DROP(6), 0, 0},
        {"hostname", "", WT_TABLE_LEFT, WT_TABLE_NO_TEXT, 0, 0},
        {"process", "PROCESS", WT_TABLE_LEFT, WT_TABLE_FLEXIBLE | WT_TABLE_DROP(1), 8, 0},
};

static void add_known(struct wt_table *table, int64_t value)
{
	if (value < 0)
		wt_table_add_null(table);
	else
		wt_table_add_int(table, value, NULL);
}

static void add_percent(struct wt_table *table, int64_t part, double whole)
{
	char text[WT_TEXT_NUMBER_BYTES];

	wt_table_add_int(table, part, wt_text_percent(text, (double)part, whole));
}

static void add_gaps(struct wt_table *table, const struct wt_rank_row *row, double total_sm_ns)
{
	int64_t sm_ns = 0;
	int most = 0;

	for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++) {
		sm_ns += row->gap_sm_ns[cause];
		if (row->gap_sm_ns[cause] > row->gap_sm_ns[most])
			most = cause;
	}
	add_percent(table, sm_ns, total_sm_ns);
	wt_table_add_int(table, row->gaps, NULL);
	wt_table_add_string(table, sm_ns ? wt_gap_cause_name((enum wt_gap_cause)most) : NULL, NULL);
	for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++)
		wt_table_add_int(table, row->gap_sm_ns[cause], NULL);
}

static void add_waits(struct wt_table *table, const struct wt_ranks *ranks,
                      const struct wt_rank_row *row)
{
	const int64_t ns[] = {row->wait_ns, row->wait_exposed_ns, row->transfer_ns, row->late_ns};
	char text[WT_TEXT_NUMBER_BYTES];
	bool is_known = !ranks->late_reason;

	for (size_t i = 0; i < sizeof(ns) / sizeof(ns[0]); i++) {
		if (ns[i] < 0)
			wt_table_add_null(table);
		else
			wt_table_add_int(table, ns[i], wt_text_ns(text, ns[i]));
	}
	add_known(table, is_known && ranks->has_steps ? row->late.steps : -1);
	add_known(table, is_known && ranks->has_steps ? row->late.longest_steps : -1);
	wt_table_add_string(table,
	                    is_known && row->late.cause >= 0 ? wt_late_name(row->late.cause) : NULL,
	                    NULL);
}

static void add_row(struct wt_table *table, const struct wt_ranks *ranks,
                    const struct wt_rank_row *row)
{
	int64_t wall_ns = ranks->ledger->end_ns - ranks->ledger->start_ns;
	const struct wt_sweep_share *share = &row->share;
	double wall = (double)wall_ns, total = wall * (double)row->sms;
	char text[WT_TEXT_NUMBER_BYTES];

	wt_table_row(table, 0);
	add_known(table, row->rank);
	add_known(table, row->local_rank);
	add_known(table, row->world_size);
	wt_table_add_int(table, row->process_id, NULL);
	add_known(table, row->pid);
	wt_table_add_int(table, row->device_id, NULL);
	wt_table_add_int(table, row->kernels, wt_text_count(text, row->kernels));
	wt_table_add_int(table, row->time_ns, NULL);
	add_percent(table, row->busy.ns, wall);
	add_percent(table, share->active_sm_ns, total);
	add_percent(table,
	            share->underfill_sm_ns + share->wave_sm_ns + share->straggle_sm_ns +
	                    share->ramp_sm_ns,
	            total);
	wt_table_add_int(table, share->underfill_sm_ns, NULL);
	wt_table_add_int(table, share->wave_sm_ns, NULL);
	wt_table_add_int(table, share->wave_max_sm_ns, NULL);
	wt_table_add_int(table, share->unjudged_sm_ns, NULL);
	wt_table_add_int(table, share->comm_sm_ns, NULL);
	add_gaps(table, row, total);
	add_percent(table, row->comm.ns, wall);
	wt_table_add_int(table, row->busy.ns - row->compute.ns, NULL);
	add_waits(table, ranks, row);
	if (row->has_steps) {
		wt_table_add_int(table, row->steps, wt_text_count(text, row->steps));
		wt_table_add_int(table, row->step_ns, wt_text_ns(text, row->step_ns));
	} else {
		wt_table_add_null(table);
		wt_table_add_null(table);
	}
	wt_table_add_string(table, row->hostname, NULL);
	wt_table_add_string(table, row->command, NULL);
}

static struct wt_table *make_table(const struct wt_ranks *ranks)
{
	struct wt_table *table = wt_table_create(columns, sizeof(columns) / sizeof(columns[0]));

	for (size_t i = 0; table && i < ranks->count; i++)
		add_row(table, ranks, &ranks->rows[i]);
	return table;
}

/* ---- output */

static const struct wt_rank_row *row_of(const struct wt_ranks *ranks,
                                        const struct wt_collective_member *member)
{
	for (size_t i = 0; i < ranks->count; i++)
		if (ranks->rows[i].process_id == member->process_id &&
		    ranks->rows[i].device_id == member->device_id)
			return &ranks->rows[i];
	return NULL;
}

/* "kernels 1.98ms, most in spin_kernel": what it had more of, the greatest first. */
static void print_excess(struct wt_phrase *line, const struct wt_rank_row *row)
{
	const struct wt_late *late = &row->late;
	bool is_told[WT_LATE_MAX] = {false};
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];

	for (int i = 0; i < CAUSES_NAMED; i++) {
		const char *name;
		int64_t error_ns;
		int most = -1;

		for (int k = 0; k < WT_LATE_MAX; k++)
			if (!is_told[k] && late->excess_ns[k] > 0 &&
			    late->excess_ns[k] > late->error_ns[k] && /* within it there is none */
			    (most < 0 || late->excess_ns[k] > late->excess_ns[most]))
				most = k;
		if (most < 0 ||
		    (late->cause >= 0 && late->excess_ns[most] < late->excess_ns[late->cause] / 20))
			return;
		is_told[most] = true;
		name = most == WT_LATE_KERNELS ? row->late_kernel : NULL;
		error_ns = late->error_ns[most];
		wt_phrase_add(line, "%s %s%s%s%s%s",
		              most == WT_LATE_COPY_PAGEABLE ? "copy (pageable)"
		                                            : wt_late_name(most),
		              wt_text_ns(a, late->excess_ns[most] / late->steps),
		              error_ns < 0 ? "" : " +- ",
		              error_ns < 0 ? "" : wt_text_ns(b, error_ns / late->steps),
		              name ? ", most in " : "", name ? name : "");
	}
}

static void print_why(struct wt_phrase *line, const struct wt_ranks *ranks,
                      const struct wt_rank_row *row)
{
	const struct wt_late *late = &row->late;
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES], c[WT_TEXT_NUMBER_BYTES];

	if (ranks->late_reason)
		wt_phrase_add(line, "why is not known: %s", ranks->late_reason);
	else if (ranks->has_steps)
		wt_phrase_add(line, "the latest in %s of %s steps, %s of them in a row",
		              wt_text_count(a, late->steps),
		              wt_text_count(b, (int64_t)ranks->step_count),
		              wt_text_count(c, late->longest_steps));
	wt_phrase_end(line);
	if (ranks->late_reason || late->steps == 0)
		return;
	wt_phrase_add(line, "  it had more than the others%s:",
	              ranks->has_steps ? " of, in such a step" : " of");
	if (late->cause < 0)
		wt_phrase_add(line, "nothing that stands out of what differs from step to step");
	print_excess(line, row);
	wt_phrase_end(line);
}

static void print_waits(struct wt_phrase *line, const struct wt_ranks *ranks)
{
	const struct wt_waits *found = &ranks->collectives.found;
	const struct wt_collective_member *member = wt_collectives_latest(&ranks->collectives);
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES], of[WT_TEXT_NUMBER_BYTES];
	const struct wt_rank_row *row = member ? row_of(ranks, member) : NULL;
	/* Those apart are told as what they are, and are in no other number. */
	int64_t together = found->collectives - found->apart;

	if (ranks->wait_reason) {
		wt_phrase_add(line, "who waited for whom is not known: %s", ranks->wait_reason);
		wt_phrase_end(line);
		return;
	}
	if (!member)
		wt_phrase_add(line,
		              "nobody was late by more than the clocks' error, %s, in %s"
		              " collectives",
		              wt_text_ns(a, found->error_ns), wt_text_count(b, together));
	else if (member->rank >= 0)
		wt_phrase_add(line, "late: rank %" PRId64, member->rank);
	else
		wt_phrase_add(line, "late: pid %" PRId64, member->pid);
	if (member)
		wt_phrase_add(line, "the others waited %s for it, in %s of %s collectives",
		              wt_text_ns(a, member->late_ns), wt_text_count(b, member->last),
		              wt_text_count(of, together));
	if (found->apart)
		wt_phrase_add(line, "%s more left out: not at the same time",
		              wt_text_count(a, found->apart));
	if (row)
		print_why(line, ranks, row);
	else
		wt_phrase_end(line);
}

static int print_text(const struct wt_ledger_view *view, const struct wt_ranks *ranks,
                      struct wt_table *table)
{
	struct wt_text_terminal terminal;
	struct wt_phrase line;
	int rc;

	wt_text_terminal_probe(STDOUT_FILENO, &terminal);
	wt_ledger_print_run(stdout, &terminal, &view->run, &view->ledger);
	wt_phrase_init(&line, stdout, &terminal);
	wt_phrase_add(&line,
	              "a row: a process on a device, in percent of the time, or of SMs x time");
	wt_phrase_add(&line, "gaps: before its kernels");
	wt_phrase_end(&line);
	rc = wt_table_print_text(table, stdout, &terminal);
	if (rc)
		return rc;
	if (ranks->count == 1)
		wt_phrase_add(&line,
		              "one process on one device: there is nothing to set beside it");
	else
		print_waits(&line, ranks);
	if (ranks->count == 1)
		wt_phrase_end(&line);
	wt_ledger_print_losses(stdout, &terminal, &view->ledger, &view->losses);
	return 0;
}

static void put_known(struct wt_json *json, const char *key, bool is_known, int64_t value)
{
	wt_json_key(json, key);
	if (is_known)
		wt_json_int(json, value);
	else
		wt_json_null(json);
}

static void put_late(struct wt_json *json, const struct wt_ranks *ranks)
{
	wt_json_key(json, "late");
	wt_json_array_begin(json);
	for (size_t i = 0; !ranks->late_reason && i < ranks->count; i++) {
		const struct wt_rank_row *row = &ranks->rows[i];

		if (!row->late.steps)
			continue;
		wt_json_object_begin(json);
		put_known(json, "rank", row->rank >= 0, row->rank);
		put_known(json, "process_id", true, row->process_id);
		put_known(json, "device_id", true, row->device_id);
		put_known(json, "steps", ranks->has_steps, row->late.steps);
		put_known(json, "waited_ns", true, row->late.late_ns);
		wt_json_key(json, "cause");
		wt_json_string(json, row->late.cause < 0 ? NULL : wt_late_name(row->late.cause));
		wt_json_key(json, "excess_ns");
		wt_json_object_begin(json);
		for (int k = 0; k < WT_LATE_MAX; k++)
			put_known(json, wt_late_name(k), true, row->late.excess_ns[k]);
		wt_json_object_end(json);
		wt_json_key(json, "excess_error_ns");
		wt_json_object_begin(json);
		for (int k = 0; k < WT_LATE_MAX; k++)
			put_known(json, wt_late_name(k), row->late.error_ns[k] >= 0,
			          row->late.error_ns[k]);
		wt_json_object_end(json);
		put_known(json, "kernel_id", row->late_kernel_id >= 0, row->late_kernel_id);
		wt_json_key(json, "kernel");
		wt_json_string(json, row->late_kernel);
		put_known(json, "kernel_excess_ns", row->late_kernel_id >= 0, row->late_kernel_ns);
		wt_json_object_end(json);
	}
	wt_json_array_end(json);
}

static void put_reason(struct wt_json *json, const struct wt_ranks *ranks)
{
	wt_json_key(json, "reason");
	wt_json_object_begin(json);
	if (ranks->wait_reason) {
		wt_json_key(json, "wait_ns");
		wt_json_string(json, ranks->wait_reason);
	}
	if (ranks->late_reason) {
		wt_json_key(json, "late");
		wt_json_string(json, ranks->late_reason);
	}
	wt_json_object_end(json);
}

static int print_json(const struct wt_ledger_view *view, const struct wt_ranks *ranks,
                      struct wt_table *table)
{
	const struct wt_waits *found = &ranks->collectives.found;
	const struct wt_collective_member *member = wt_collectives_latest(&ranks->collectives);
	bool is_known = !ranks->wait_reason;
	struct wt_json json;

	wt_json_init(&json, stdout, true);
	wt_json_object_begin(&json);
	wt_ledger_json_head(&json, &view->run, &view->ledger, &view->losses);
	put_known(&json, "processes", true, ranks->processes);
	put_known(&json, "collectives", is_known, found->collectives);
	put_known(&json, "collectives_apart", is_known, found->apart);
	put_known(&json, "collectives_error_ns", is_known, found->error_ns);
	put_known(&json, "collectives_ends_apart_ns", is_known, found->ends_apart_ns);
	put_known(&json, "slowest_process_id", is_known && member, member ? member->process_id : 0);
	put_known(&json, "late_of_steps", ranks->has_steps, (int64_t)ranks->step_count);
	wt_json_key(&json, "evidence");
	wt_json_string(&json, "model");
	put_reason(&json, ranks);
	put_late(&json, ranks);
	wt_json_key(&json, "rows");
	(void)wt_table_print_json(table, &json);
	wt_json_object_end(&json);
	return wt_json_finish(&json);
}

static int show(const struct ranks_values *values, struct wt_select *select)
{
	struct wt_ledger_view view = {0};
	struct wt_ranks ranks = {0};
	const struct wt_ledger_observer observer = wt_ranks_observer(&ranks);
	int code = wt_ledger_open_observed(values->run, select, &observer, &view);
	struct wt_table *table = NULL;
	int rc = 0;

	if (!code)
		rc = wt_ranks_finish(&ranks, view.run.db);
	if (rc) {
		wt_cli_error("%s: %s", view.run.info.path,
		             rc == -EIO ? wt_report_problem(view.run.db) : strerror(-rc));
		code = WT_EXIT_FAILED;
	}
	if (!code) {
		table = make_table(&ranks);
		rc = !table            ? -ENOMEM
		     : values->is_json ? print_json(&view, &ranks, table)
		     : values->is_csv  ? wt_table_print_csv(table, stdout)
		                       : print_text(&view, &ranks, table);
		code = wt_cli_output_result(rc);
	}
	wt_table_destroy(table);
	wt_ranks_fini(&ranks);
	wt_ledger_close(&view);
	return code;
}

static int run_ranks(void *opaque, int operand_count, char **operands)
{
	const struct ranks_values *values = opaque;
	struct wt_select select;
	int code;

	(void)operand_count;
	(void)operands;
	if (values->is_json && values->is_csv)
		return wt_cli_usage_error("ranks", "--json and --csv exclude each other");
	code = wt_select_parse("ranks", &values->select, &select);
	wt_select_prefer_steady(&select);
	if (!code && values->select.kernel) {
		wt_cli_error("--kernel: all kernels of a device share its SMs; top --group rank and"
		             " gaps select kernels");
		code = WT_EXIT_NO_DATA;
	}
	if (!code)
		code = show(values, &select);
	wt_select_fini(&select);
	return code;
}

const struct wt_command wt_cmd_ranks = {
        .name = "ranks",
        .summary = "the processes of a run side by side, and who waits for whom",
        .details = "WAIT: in collectives before the last process came. LATE: how long "
                   "the others were there for this one. BECAUSE: what it had more of "
                   "than they.",
        .example = "wavetap ranks",
        .options = ranks_options,
        .values_bytes = sizeof(struct ranks_values),
        .run = run_ranks,
};
