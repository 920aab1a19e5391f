/*
 * compare_run.c - see compare_run.h. Single-threaded; blocks on the file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/collectives.h"
#include "cli/compare_run.h"
#include "cli/kernel_name.h"
#include "cli/ledger_lines.h"
#include "cli/report_sql.h"
#include "cli/steps.h"

const char *wt_compare_line_name(enum wt_compare_line line)
{
	static const char *const names[WT_COMPARE_LINE_MAX] = {
	        "active",
	        "underfill",
	        "wave",
	        "straggle",
	        "ramp",
	        "unjudged",
	        "comm",
	        [WT_COMPARE_GAP + WT_GAP_COPY] = "gap:copy",
	        [WT_COMPARE_GAP + WT_GAP_GRAPH] = "gap:graph",
	        [WT_COMPARE_GAP + WT_GAP_LOAD] = "gap:load",
	        [WT_COMPARE_GAP + WT_GAP_PROFILER] = "gap:profiler",
	        [WT_COMPARE_GAP + WT_GAP_SYNC] = "gap:sync",
	        [WT_COMPARE_GAP + WT_GAP_ALLOC] = "gap:alloc",
	        [WT_COMPARE_GAP + WT_GAP_HOST] = "gap:host",
	        [WT_COMPARE_GAP + WT_GAP_LAUNCH] = "gap:launch",
	        [WT_COMPARE_GAP + WT_GAP_DEPENDENCY] = "gap:dependency",
	        [WT_COMPARE_GAP + WT_GAP_TURNAROUND] = "gap:turnaround",
	        [WT_COMPARE_GAP + WT_GAP_UNKNOWN] = "gap:unknown",
	        [WT_COMPARE_GAP + WT_GAP_UNDECIDED] = "gap:undecided",
	        [WT_COMPARE_GAP + WT_GAP_STARTUP] = "gap:startup",
	        [WT_COMPARE_GAP + WT_GAP_AFTER] = "gap:after",
	};

	return line < WT_COMPARE_LINE_MAX ? names[line] : "";
}

/* ---- steps and blocks */

/* Room for the times of `count` stretches, and for what is known of blocks. */
static int make_blocks(struct wt_compare_run *run, size_t count)
{
	run->start_ns = calloc(count + 1, sizeof(*run->start_ns));
	run->end_ns = calloc(count + 1, sizeof(*run->end_ns));
	return run->start_ns && run->end_ns ? 0 : -ENOMEM;
}

static int make_series(struct wt_compare_run *run)
{
	run->step_ns_of = calloc(run->blocks + 1, sizeof(double));
	run->busy_ns_of = calloc(run->blocks + 1, sizeof(double));
	for (int i = 0; i < WT_COMPARE_LINE_MAX; i++) {
		run->line_of[i] = calloc(run->blocks + 1, sizeof(double));
		if (!run->line_of[i])
			return -ENOMEM;
	}
	return run->step_ns_of && run->busy_ns_of ? 0 : -ENOMEM;
}

/* Steps that are alike and in the window; the first ones go that make no whole block. */
static int use_steps(struct wt_compare_run *run, const struct wt_run_steps *steps, int64_t start_ns,
                     int64_t end_ns)
{
	size_t used = 0, skip;
	int rc = make_blocks(run, steps->count);

	for (size_t i = 0; !rc && i < steps->count; i++) {
		const struct wt_run_step *step = &steps->steps[i];

		if (!step->is_steady || step->start_ns < start_ns || step->end_ns > end_ns ||
		    step->end_ns <= step->start_ns)
			continue;
		run->start_ns[used] = step->start_ns;
		run->end_ns[used++] = step->end_ns;
	}
	if (rc || !used)
		return rc;
	run->steps_a_block = (used + WT_COMPARE_BLOCKS_MAX - 1) / WT_COMPARE_BLOCKS_MAX;
	skip = used % run->steps_a_block;
	memmove(run->start_ns, run->start_ns + skip, (used - skip) * sizeof(int64_t));
	memmove(run->end_ns, run->end_ns + skip, (used - skip) * sizeof(int64_t));
	run->step_count = run->steps = used - skip;
	run->blocks = run->steps / run->steps_a_block;
	run->has_steps = true;
	rc = make_series(run);
	for (size_t i = 0; !rc && i < run->steps; i++)
		run->step_ns_of[i / run->steps_a_block] +=
		        (double)(run->end_ns[i] - run->start_ns[i]) / (double)run->steps_a_block;
	return rc;
}

static int use_slices(struct wt_compare_run *run, int64_t start_ns, int64_t end_ns)
{
	int rc = make_blocks(run, WT_COMPARE_SLICES);

	run->blocks = run->step_count = WT_COMPARE_SLICES;
	run->steps_a_block = 1;
	for (int64_t i = 0; !rc && i < WT_COMPARE_SLICES; i++) {
		int64_t part_ns = (end_ns - start_ns) / WT_COMPARE_SLICES;

		run->start_ns[i] = start_ns + i * part_ns;
		run->end_ns[i] = i + 1 < WT_COMPARE_SLICES ? start_ns + (i + 1) * part_ns : end_ns;
	}
	return rc;
}

size_t wt_compare_block_of(const struct wt_compare_run *run, int64_t time_ns)
{
	size_t low = 0, high = run->step_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (run->start_ns[middle] <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || time_ns >= run->end_ns[low - 1])
		return SIZE_MAX;
	return (low - 1) / run->steps_a_block;
}

/* ---- kernels and gaps, as the ledger is loaded */

struct loading {
	struct wt_compare_run *run;
	const struct wt_select_steps *steps;
	bool is_asked; /* for steps or times */
};

static int on_begin(void *arg, sqlite3 *db, const struct wt_ledger *ledger)
{
	const struct wt_steps_query query = {-1, -1, NULL};
	struct loading *load = arg;
	struct wt_compare_run *run = load->run;
	struct wt_run_steps *steps;
	int rc = 0;

	run->wall_ns = ledger->end_ns - ledger->start_ns;
	if (!load->is_asked && !load->steps->is_found) {
		run->steps_reason =
		        load->steps->reason ? load->steps->reason : "steps were not looked for";
		return use_slices(run, ledger->start_ns, ledger->end_ns);
	}
	steps = calloc(1, sizeof(*steps));
	if (!steps)
		return -ENOMEM;
	rc = wt_run_steps_load(db, &query, steps);
	if (rc == -ENOENT)
		run->steps_reason = "no launches";
	else if (!rc && steps->found.reason != WT_STEPS_FOUND)
		run->steps_reason = wt_steps_reason_text(steps->found.reason);
	else if (!rc && !steps->is_gpu_time)
		run->steps_reason = "kernels have no times";
	else if (!rc)
		rc = use_steps(run, steps, ledger->start_ns, ledger->end_ns);
	run->confidence = steps->found.confidence;
	wt_run_steps_fini(steps);
	free(steps);
	if (rc == -ENOENT)
		rc = 0;
	if (!rc && !run->has_steps) {
		if (!run->steps_reason)
			run->steps_reason = "no steady step is in what was selected";
		free(run->start_ns);
		free(run->end_ns);
		run->start_ns = run->end_ns = NULL;
		rc = use_slices(run, ledger->start_ns, ledger->end_ns);
	}
	return rc;
}

static struct wt_compare_kernel *kernel_of(struct wt_compare_run *run, int64_t kernel_id)
{
	uint32_t at = wt_map_get(&run->kernel_at, (uint64_t)kernel_id);
	struct wt_compare_kernel *kernel;

	if (at != WT_MAP_NONE)
		return &run->kernels[at];
	kernel = wt_report_append(&run->kernels, &run->kernel_count, sizeof(*kernel));
	if (!kernel ||
	    wt_map_set(&run->kernel_at, (uint64_t)kernel_id, (uint32_t)run->kernel_count - 1))
		return NULL;
	kernel->kernel_id = kernel_id;
	kernel->first = run->seen;
	kernel->most = SIZE_MAX;
	kernel->time_ns_of = calloc(run->blocks + 1, sizeof(double));
	kernel->launches_of = calloc(run->blocks + 1, sizeof(double));
	return kernel->time_ns_of && kernel->launches_of ? kernel : NULL;
}

static struct wt_compare_config *config_of(struct wt_compare_run *run, int64_t config_id,
                                           size_t kernel)
{
	uint32_t at = wt_map_get(&run->config_at, (uint64_t)config_id);
	struct wt_compare_config *config;

	if (at != WT_MAP_NONE)
		return &run->configs[at];
	config = wt_report_append(&run->configs, &run->config_count, sizeof(*config));
	if (!config ||
	    wt_map_set(&run->config_at, (uint64_t)config_id, (uint32_t)run->config_count - 1))
		return NULL;
	config->config_id = config_id;
	config->kernel = kernel;
	config->occupancy = config->waves = -1;
	config->blocks_per_sm = config->resident_blocks = -1;
	config->time_ns_of = calloc(run->blocks + 1, sizeof(double));
	config->launches_of = calloc(run->blocks + 1, sizeof(double));
	return config->time_ns_of && config->launches_of ? config : NULL;
}

static int on_row(void *arg, const struct wt_ledger_device *device, const struct wt_ledger_row *row,
                  bool is_collective)
{
	struct loading *load = arg;
	struct wt_compare_run *run = load->run;
	size_t block = wt_compare_block_of(run, row->start_ns);
	double steps = run->has_steps ? (double)run->steps_a_block : 1;
	int64_t time_ns = row->end_ns - row->start_ns;
	struct wt_compare_kernel *kernel;
	struct wt_compare_config *config;

	(void)device;
	if (block == SIZE_MAX)
		return 0;
	kernel = kernel_of(run, row->kernel_id);
	config = kernel ? config_of(run, row->config_id, (size_t)(kernel - run->kernels)) : NULL;
	if (!config)
		return -ENOMEM;
	run->seen++;
	run->kernels_in_steps++;
	run->graph_nodes_in_steps += row->is_graph_node;
	kernel->is_collective = is_collective;
	kernel->launches++;
	kernel->in_graph += row->is_graph_node;
	wt_report_add(&kernel->time_ns, time_ns);
	config->launches++;
	wt_report_add(&config->time_ns, time_ns);
	kernel->time_ns_of[block] += (double)time_ns / steps;
	kernel->launches_of[block] += 1 / steps;
	config->time_ns_of[block] += (double)time_ns / steps;
	config->launches_of[block] += 1 / steps;
	return 0;
}

static int on_gap(void *arg, const struct wt_ledger_gap *gap)
{
	struct wt_compare_run *run = ((struct loading *)arg)->run;
	size_t block = gap->next ? wt_compare_block_of(run, gap->next->start_ns) : SIZE_MAX;

	for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++) {
		double sm_ns = (double)gap->cause_ns[cause] * (double)gap->device->sms;

		run->line_sm_ns[WT_COMPARE_GAP + cause] += sm_ns;
		if (block != SIZE_MAX && run->has_steps)
			run->line_of[WT_COMPARE_GAP + cause][block] +=
			        sm_ns / (double)run->steps_a_block;
	}
	return 0;
}

/* ---- what kernels had */

static void add_lines(struct wt_compare_run *run, const struct wt_ledger *ledger)
{
	for (size_t i = 0; i < ledger->device_count; i++) {
		const struct wt_sweep_share *share = &ledger->devices[i].share;

		run->line_sm_ns[WT_COMPARE_ACTIVE] += (double)share->active_sm_ns;
		run->line_sm_ns[WT_COMPARE_UNDERFILL] += (double)share->underfill_sm_ns;
		run->line_sm_ns[WT_COMPARE_WAVE] += (double)share->wave_sm_ns;
		run->line_sm_ns[WT_COMPARE_STRAGGLE] += (double)share->straggle_sm_ns;
		run->line_sm_ns[WT_COMPARE_RAMP] += (double)share->ramp_sm_ns;
		run->line_sm_ns[WT_COMPARE_UNJUDGED] += (double)share->unjudged_sm_ns;
		run->line_sm_ns[WT_COMPARE_COMM] += (double)share->comm_sm_ns;
	}
}

static void add_step(struct wt_compare_run *run, const struct wt_report_row *row, size_t block)
{
	double steps = (double)run->steps_a_block;

	run->line_of[WT_COMPARE_ACTIVE][block] += (double)row->active_sm_ns / steps;
	run->line_of[WT_COMPARE_UNDERFILL][block] += (double)row->underfill_sm_ns / steps;
	run->line_of[WT_COMPARE_WAVE][block] += (double)row->wave_sm_ns / steps;
	run->line_of[WT_COMPARE_STRAGGLE][block] += (double)row->straggle_sm_ns / steps;
	run->line_of[WT_COMPARE_RAMP][block] += (double)row->ramp_sm_ns / steps;
	run->line_of[WT_COMPARE_UNJUDGED][block] += (double)row->unjudged_sm_ns / steps;
	run->line_of[WT_COMPARE_COMM][block] += (double)row->comm_sm_ns / steps;
}

/* By step, from the launches; the steps of the report are those of the run, numbered from 1. */
static int load_lines(const struct wt_run_file *file, struct wt_select *select,
                      const struct wt_run_steps *steps, struct wt_compare_run *run)
{
	const struct wt_report_query query = {
	        .by = WT_REPORT_BY_TIME,
	        .group = WT_REPORT_GROUP_STEP,
	        .gaps = WT_REPORT_NOT_NEEDED,
	        .latency = WT_REPORT_NOT_NEEDED,
	        .select = select,
	};
	struct wt_report report = {0};
	int rc = wt_select_hide_kernels(select, file);

	if (rc)
		return rc > 0 ? -EIO : rc;
	rc = wt_report_load(file->db, &query, &report);
	for (size_t i = 0; !rc && i < report.row_count; i++) {
		const struct wt_report_row *row = &report.rows[i];
		size_t block;

		if (row->step < 1 || (size_t)row->step > steps->count)
			continue;
		block = wt_compare_block_of(run, steps->steps[row->step - 1].start_ns);
		if (block != SIZE_MAX)
			add_step(run, row, block);
	}
	wt_report_fini(&report);
	return rc == -ENODATA ? 0 : rc;
}

static void add_busy(struct wt_compare_run *run, const struct wt_run_steps *steps)
{
	for (size_t i = 0; i < steps->count; i++) {
		size_t block = wt_compare_block_of(run, steps->steps[i].start_ns);

		if (block != SIZE_MAX && steps->steps[i].is_steady)
			run->busy_ns_of[block] +=
			        (double)steps->steps[i].busy_ns / (double)run->steps_a_block;
	}
}

static int load_steps(const struct wt_run_file *file, struct wt_select *select,
                      struct wt_compare_run *run)
{
	const struct wt_steps_query query = {-1, -1, NULL};
	struct wt_run_steps *steps = calloc(1, sizeof(*steps));
	int rc = steps ? wt_run_steps_load(file->db, &query, steps) : -ENOMEM;

	if (!rc) {
		add_busy(run, steps);
		rc = load_lines(file, select, steps, run);
	}
	if (steps)
		wt_run_steps_fini(steps);
	free(steps);
	return rc;
}

/* ---- who was late */

static struct wt_compare_rank *rank_of(struct wt_compare_run *run,
                                       const struct wt_collective_member *member)
{
	struct wt_compare_rank *rank;

	for (size_t i = 0; i < run->rank_count; i++)
		if (run->ranks[i].process_id == member->process_id)
			return &run->ranks[i];
	rank = wt_report_append(&run->ranks, &run->rank_count, sizeof(*rank));
	if (!rank)
		return NULL;
	rank->rank = member->rank;
	rank->process_id = member->process_id;
	rank->late_ns_of = calloc(run->blocks + 1, sizeof(double));
	return rank->late_ns_of ? rank : NULL;
}

/* Of each collective what the others waited for the last one, on their mean. */
static int load_late(sqlite3 *db, const struct wt_ledger *ledger, struct wt_compare_run *run)
{
	struct wt_collectives collectives = {0};
	int rc = wt_collectives_load(db, ledger, &collectives);
	double others = (double)collectives.member_count - 1;

	for (size_t i = 0; !rc && i < collectives.member_count; i++)
		if (!rank_of(run, &collectives.members[i]))
			rc = -ENOMEM;
	run->ranks_reason = collectives.found.reason;
	for (size_t i = 0; !rc && !run->ranks_reason && i < collectives.count; i++) {
		const struct wt_wait *wait = &collectives.waits[i];
		size_t block = wt_compare_block_of(run, wait->wait_until_ns);

		if (wait->late_member == WT_WAITS_NOBODY || block == SIZE_MAX)
			continue;
		rank_of(run, &collectives.members[wait->late_member])->late_ns_of[block] +=
		        (double)(wait->wait_until_ns - wait->start_ns) / others /
		        (double)run->steps_a_block;
	}
	wt_collectives_fini(&collectives);
	return rc;
}

/* ---- the whole */

static int load_names(sqlite3 *db, struct wt_compare_run *run)
{
	for (size_t i = 0; i < run->kernel_count; i++) {
		struct wt_compare_kernel *kernel = &run->kernels[i];
		sqlite3_stmt *s;
		int rc = wt_report_prepare(db, "SELECT name FROM kernel WHERE kernel_id = ?1", &s);

		if (rc)
			return rc;
		sqlite3_bind_int64(s, 1, kernel->kernel_id);
		rc = wt_report_step(s);
		if (rc > 0)
			rc = wt_report_copy_name(s, 0, &kernel->name);
		sqlite3_finalize(s);
		if (!rc && !kernel->name)
			kernel->name = strdup("");
		if (!rc && kernel->name)
			kernel->demangled = wt_kernel_name_demangle(kernel->name);
		if (rc || !kernel->demangled)
			return rc ? rc : -ENOMEM;
	}
	return 0;
}

static int load_rest(struct wt_ledger_view *view, struct wt_select *select,
                     struct wt_compare_run *run)
{
	sqlite3 *db = view->run.db;
	int rc;

	add_lines(run, &view->ledger);
	rc = load_names(db, run);
	if (!rc)
		rc = wt_compare_load_configs(db, run);
	if (!rc)
		rc = wt_compare_load_facts(db, &view->ledger, &view->losses, run);
	if (!rc && run->has_steps && run->facts.rank_count > 1)
		rc = load_late(db, &view->ledger, run);
	/* The last, since it changes what the connection's views show. */
	if (!rc && run->has_steps)
		rc = load_steps(&view->run, select, run);
	return rc;
}

int wt_compare_run_load(const char *spec, const struct wt_select_words *words,
                        struct wt_compare_run *run)
{
	struct wt_ledger_view view = {0};
	struct wt_select select;
	struct loading load = {.run = run, .steps = &select.steps};
	const struct wt_ledger_observer observer = {
	        .begin = on_begin, .row = on_row, .gap = on_gap, .arg = &load};
	int code, rc;

	memset(run, 0, sizeof(*run));
	run->spec = strdup(spec);
	code = wt_select_parse("compare", words, &select);
	wt_select_prefer_steady(&select);
	load.is_asked = words->steps || words->from || words->to;
	if (!code && run->spec)
		code = wt_ledger_open_observed(spec, &select, &observer, &view);
	if (view.is_open) {
		snprintf(run->id, sizeof(run->id), "%s", view.run.info.id);
		snprintf(run->name, sizeof(run->name), "%s", view.run.info.name);
		snprintf(run->path, sizeof(run->path), "%s", view.run.info.path);
	}
	if (!code) {
		run->facts.startup_ns =
		        select.steps.is_found ? (double)select.steps.startup_ns : -1;
		rc = load_rest(&view, &select, run);
		if (rc) {
			wt_cli_error("%s: %s", run->path,
			             rc == -EIO ? wt_report_problem(view.run.db) : strerror(-rc));
			code = WT_EXIT_FAILED;
		}
	}
	wt_ledger_close(&view);
	wt_select_fini(&select);
	return code;
}

void wt_compare_run_fini(struct wt_compare_run *run)
{
	for (size_t i = 0; i < run->kernel_count; i++) {
		free(run->kernels[i].name);
		free(run->kernels[i].demangled);
		free(run->kernels[i].time_ns_of);
		free(run->kernels[i].launches_of);
	}
	for (size_t i = 0; i < run->config_count; i++) {
		free(run->configs[i].time_ns_of);
		free(run->configs[i].launches_of);
	}
	for (size_t i = 0; i < run->rank_count; i++)
		free(run->ranks[i].late_ns_of);
	for (int i = 0; i < WT_COMPARE_LINE_MAX; i++)
		free(run->line_of[i]);
	free(run->kernels);
	free(run->configs);
	free(run->ranks);
	free(run->step_ns_of);
	free(run->busy_ns_of);
	free(run->start_ns);
	free(run->end_ns);
	free(run->spec);
	wt_map_fini(&run->kernel_at);
	wt_map_fini(&run->config_at);
	memset(run, 0, sizeof(*run));
}
