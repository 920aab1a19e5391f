/*
 * cmd_simulate.c - `wavetap simulate`: how a grid would run on a GPU, block by block. Needs no
 * GPU, and a run only to take a GPU from. Single-threaded; blocks on output and on the file of --times.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/run_file.h"
#include "cli/simulate.h"

#define DEFAULT_LIMIT 20

enum gantt_choice { GANTT_AUTO, GANTT_ON, GANTT_OFF };

static const struct wt_choice persistent_choices[] = {
        {"off", "a block has one item (default)", 0},
        {"queue", "a block takes item after item", 0},
        {"turn", "block w has w, w + grid, ...", 0},
        {0},
};

/* Indices are enum gantt_choice. */
static const struct wt_choice gantt_choices[] = {
        {"auto", "if it has at most 40 lines", 0},
        {"on", "or an error", 0},
        {"off", "only the numbers", 0},
        {0},
};

#define OPTION(name, type, argument, member, choices, help)                                        \
	{                                                                                          \
		name, 0, type, argument, offsetof(struct wt_sim_values, member), choices, help     \
	}

static const struct wt_option simulate_options[] = {
        OPTION("sms", WT_OPTION_TEXT, "S", sms, NULL, "SMs of the GPU"),
        OPTION("blocks-per-sm", WT_OPTION_TEXT, "B", blocks_per_sm, NULL,
               "blocks that fit on an SM at the same time"),
        OPTION("block", WT_OPTION_TEXT, "THREADS", block, NULL,
               "instead: of so many threads, on the GPU of a run"),
        OPTION("regs", WT_OPTION_NUMBER, "N", regs, NULL, "with --block: registers of a thread"),
        OPTION("smem", WT_OPTION_NUMBER, "BYTES", smem, NULL,
               "with --block: shared memory of a block"),
        WT_RUN_OPTION(struct wt_sim_values, run),
        OPTION("device", WT_OPTION_NUMBER, "N", device, NULL, "the run's GPU with that id"),
        OPTION("grid", WT_OPTION_TEXT, "G", grid, NULL, "blocks; 64x16 is their product"),
        OPTION("block-time", WT_OPTION_TEXT, "T", block_time, NULL,
               "each block's: T, T~D (normal) or A..B (uniform)"),
        OPTION("times", WT_OPTION_TEXT, "LIST", times, NULL,
               "as 70,3x80 for four blocks; @FILE reads them"),
        OPTION("gemm", WT_OPTION_TEXT, "M,N,K", gemm, NULL, "a block for each tile of the product"),
        OPTION("tile", WT_OPTION_TEXT, "MxN[xK]", tile, NULL,
               "tile of a block; several with commas"),
        OPTION("split-k", WT_OPTION_NUMBER, "N", split_k, NULL, "N blocks share a tile's K"),
        OPTION("stream-k", WT_OPTION_FLAG, NULL, is_stream_k, NULL,
               "resident blocks share all steps of K"),
        OPTION("persistent", WT_OPTION_CHOICE, "HOW", persistent, persistent_choices,
               "resident blocks work through the grid's items"),
        OPTION("workers", WT_OPTION_NUMBER, "N", workers, NULL,
               "blocks of a persistent grid (default: all that fit)"),
        OPTION("setup", WT_OPTION_TEXT, "T", setup, NULL,
               "time that each block takes beside its work"),
        OPTION("share", WT_OPTION_FLAG, NULL, is_shared, NULL, "k blocks on an SM each run at 1/k"),
        OPTION("pack", WT_OPTION_FLAG, NULL, is_packed, NULL,
               "after the start fill SM after SM, not evenly"),
        OPTION("cluster", WT_OPTION_TEXT, "CxC", cluster, NULL,
               "blocks that start together; GEMM: along M x N"),
        OPTION("gpc", WT_OPTION_TEXT, "N", gpc, NULL,
               "SMs of each GPC, or of all GPCs with commas"),
        OPTION("seed", WT_OPTION_NUMBER, "N", seed, NULL, "of drawn block times (default: 0)"),
        OPTION("gantt", WT_OPTION_CHOICE, "WHEN", gantt, gantt_choices, "chart of the schedule"),
        OPTION("limit", WT_OPTION_NUMBER, "N", limit, NULL,
               "rows to show of a sweep, 0 for all (default: 20)"),
        OPTION("json", WT_OPTION_FLAG, NULL, is_json, NULL,
               "one JSON object; fields in doc/json.md"),
        OPTION("csv", WT_OPTION_FLAG, NULL, is_csv, NULL, "rows as CSV"),
        {0},
};

/* Unequal blocks cost time one by one: not more of them in a sweep than in a schedule. */
static int check_cost(const struct wt_sim *sim, size_t row_count)
{
	uint64_t blocks = 0;

	if (sim->times.kind == WT_SCHEDULE_EQUAL)
		return WT_EXIT_FINE;
	for (size_t i = 0; i < row_count; i++) {
		if (!__builtin_add_overflow(blocks, wt_sim_items(sim, i), &blocks) &&
		    blocks <= WT_SCHEDULE_BLOCKS_MAX)
			continue;
		return wt_cli_usage_error("simulate",
		                          "a sweep over more than %d unequal blocks in all",
		                          WT_SCHEDULE_BLOCKS_MAX);
	}
	return WT_EXIT_FINE;
}

static int print_sweep(const struct wt_sim_values *values, const struct wt_sim *sim,
                       const struct wt_sim_row *rows, size_t row_count)
{
	size_t limit = values->limit < 0    ? DEFAULT_LIMIT
	               : values->limit == 0 ? SIZE_MAX
	                                    : (size_t)values->limit;
	struct wt_text_terminal terminal;

	if (values->is_json)
		return wt_sim_print_json(stdout, sim, rows, row_count, NULL);
	if (values->is_csv)
		return wt_sim_print_csv(stdout, sim, rows, row_count);
	wt_text_terminal_probe(STDOUT_FILENO, &terminal);
	return wt_sim_print_sweep(stdout, &terminal, sim, rows, row_count, limit);
}

static int sweep(const struct wt_sim_values *values, const struct wt_sim *sim, int64_t *sm_active)
{
	size_t row_count = 1, failed_count = 0;
	struct wt_sim_row *rows;
	int code;

	if (values->gantt == GANTT_ON)
		return wt_cli_usage_error("simulate", "--gantt shows one schedule, not a sweep");
	for (int axis = 0; axis < WT_SIM_AXES; axis++)
		row_count *= wt_sim_axis_count(sim, (enum wt_sim_axis)axis);
	code = check_cost(sim, row_count);
	if (code)
		return code;
	rows = calloc(row_count, sizeof(*rows));
	if (!rows) {
		wt_cli_error("out of memory");
		return WT_EXIT_FAILED;
	}
	for (size_t i = 0; i < row_count && !code; i++) {
		code = wt_sim_compute(sim, i, NULL, NULL, sm_active, &rows[i]);
		failed_count += rows[i].error != 0;
	}
	if (!code)
		code = wt_cli_output_result(print_sweep(values, sim, rows, row_count));
	if (!code && failed_count == row_count) {
		wt_cli_error("nothing to show: %s", wt_sim_error_text(rows->error));
		code = WT_EXIT_NO_DATA;
	}
	free(rows);
	return code;
}

/* ---- one schedule */

static bool wants_gantt(const struct wt_sim_values *values, const struct wt_sim *sim)
{
	uint64_t slots = sim->sms.values[0] * sim->blocks_per_sm.values[0];

	if (values->is_json || values->is_csv || values->gantt == GANTT_OFF)
		return false;
	return slots <= WT_SIM_GANTT_ROWS_MAX || values->gantt == GANTT_ON;
}

static int print_chart(const struct wt_sim_values *values, const struct wt_sim *sim,
                       const struct wt_sim_row *row, const struct wt_sim_gantt *gantt,
                       const struct wt_text_terminal *terminal, const int64_t *sm_active)
{
	if (values->gantt == GANTT_OFF || row->result.makespan == 0)
		return 0;
	if (gantt && gantt->is_full)
		return -ENOMEM;
	if (gantt)
		wt_sim_gantt_print(stdout, terminal, sim, row, gantt);
	else if (row->result.has_tail)
		wt_sim_profile_print(stdout, terminal, sim, row, sm_active);
	return 0;
}

static int print_one(const struct wt_sim_values *values, const struct wt_sim *sim,
                     const struct wt_sim_row *row, const struct wt_sim_gantt *gantt,
                     const int64_t *sm_active)
{
	struct wt_text_terminal terminal;
	int rc;

	if (values->is_json)
		return wt_sim_print_json(stdout, sim, row, 1, sm_active);
	if (values->is_csv)
		return wt_sim_print_csv(stdout, sim, row, 1);
	wt_text_terminal_probe(STDOUT_FILENO, &terminal);
	rc = wt_sim_print_text(stdout, &terminal, sim, row);
	return rc ? rc : print_chart(values, sim, row, gantt, &terminal, sm_active);
}

/* Of more blocks than a chart can show the numbers alone are computed, which is faster. */
static bool is_chart_small(const struct wt_sim_row *row)
{
	return (uint64_t)row->sms * row->blocks_per_sm <= WT_SIM_GANTT_ROWS_MAX &&
	       row->result.item_count <= WT_SIM_GANTT_BLOCKS_MAX;
}

/* A schedule that there can't be: a slip of the user's, or the answer. */
static int explain_error(const struct wt_sim_values *values, const struct wt_sim *sim,
                         const struct wt_sim_row *row)
{
	int rc = 0;

	if (row->error != -ENOSPC)
		return wt_cli_usage_error("simulate", "%s", wt_sim_error_text(row->error));
	if (values->is_json)
		rc = wt_sim_print_json(stdout, sim, row, 1, NULL);
	else if (values->is_csv)
		rc = wt_sim_print_csv(stdout, sim, row, 1);
	if (rc)
		return wt_cli_output_result(rc);
	wt_cli_error("%s", wt_sim_error_text(row->error));
	return WT_EXIT_NO_DATA;
}

static int one(const struct wt_sim_values *values, const struct wt_sim *sim, int64_t *sm_active)
{
	struct wt_sim_gantt gantt = {0};
	bool has_gantt = wants_gantt(values, sim);
	struct wt_sim_row row;
	int code = wt_sim_compute(sim, 0, NULL, NULL, sm_active, &row);

	if (!code && row.error)
		return explain_error(values, sim, &row);
	if (!code && has_gantt && !is_chart_small(&row)) {
		has_gantt = false;
		if (values->gantt == GANTT_ON)
			code = wt_cli_usage_error("simulate",
			                          "--gantt: more than %d slots or %d blocks",
			                          WT_SIM_GANTT_ROWS_MAX, WT_SIM_GANTT_BLOCKS_MAX);
	}
	if (!code && has_gantt)
		code = wt_sim_compute(sim, 0, wt_sim_gantt_note, &gantt, sm_active, &row);
	if (!code)
		code = wt_cli_output_result(
		        print_one(values, sim, &row, has_gantt ? &gantt : NULL, sm_active));
	free(gantt.blocks);
	return code;
}

static int run_simulate(void *opaque, int operand_count, char **operands)
{
	struct wt_sim_values *values = opaque;
	int64_t *sm_active = calloc(WT_SCHEDULE_SMS_MAX, sizeof(*sm_active));
	struct wt_sim_gpu gpu;
	struct wt_sim sim = {0};
	int code;

	(void)operand_count;
	(void)operands;
	if (!sm_active) {
		wt_cli_error("out of memory");
		return WT_EXIT_FAILED;
	}
	code = wt_sim_use_gpu(values, &gpu);
	if (!code)
		code = wt_sim_parse(values, &sim);
	sim.gpu_text = gpu.text[0] ? gpu.text : NULL;
	if (!code)
		code = sim.is_sweep ? sweep(values, &sim, sm_active) : one(values, &sim, sm_active);
	wt_sim_fini(&sim);
	free(sm_active);
	return code;
}

const struct wt_command wt_cmd_simulate = {
        .name = "simulate",
        .summary = "how a grid would run: waves, makespan, idle SMs",
        .details = "Needs --sms and --blocks-per-sm (or a GPU: --run, --block), and "
                   "--grid, --times or --gemm. S, B and G may be ranges A:B[:STEP] and "
                   "lists: a row each.",
        .example = "wavetap simulate --sms 132 --blocks-per-sm 2 --grid 300",
        .minor = "block regs smem device split-k stream-k persistent workers setup share pack "
                 "cluster gpc "
                 "seed gantt",
        .theme = WT_THEME_PLAN,
        .options = simulate_options,
        .values_bytes = sizeof(struct wt_sim_values),
        .run = run_simulate,
};
