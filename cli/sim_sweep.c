/*
 * sim_sweep.c - `wavetap simulate` over ranges, for people: a plot and a table. See simulate.h.
 *
 * Single-threaded; blocks as the FILE does.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/phrase.h"
#include "cli/simulate.h"
#include "cli/table.h"

/* ---- table */

enum sweep_column {
	COLUMN_SMS,
	COLUMN_BLOCKS_PER_SM,
	COLUMN_TILE,
	COLUMN_GRID,
	COLUMN_ITEMS,
	COLUMN_WAVES,
	COLUMN_MAKESPAN,
	COLUMN_ACTIVE,
	COLUMN_UNDERFILL,
	COLUMN_WAVE,
	COLUMN_STRAGGLE,
	COLUMN_USEFUL,
	COLUMN_REASON,
	COLUMN_COUNT
};

static const struct wt_table_column sweep_columns[COLUMN_COUNT] = {
        [COLUMN_SMS] = {"sms", "SMS", WT_TABLE_RIGHT, 0, 0, 0},
        [COLUMN_BLOCKS_PER_SM] = {"blocks_per_sm", "B", WT_TABLE_RIGHT, 0, 0, 0},
        [COLUMN_TILE] = {"tile", "TILE", WT_TABLE_RIGHT, 0, 0, 0},
        [COLUMN_GRID] = {"grid", "GRID", WT_TABLE_RIGHT, 0, 0, 0},
        [COLUMN_ITEMS] = {"items", "ITEMS", WT_TABLE_RIGHT, 0, 0, 0},
        [COLUMN_WAVES] = {"waves", "WAVES", WT_TABLE_RIGHT, 0, 0, 0},
        [COLUMN_MAKESPAN] = {"makespan", "MAKESPAN", WT_TABLE_RIGHT, 0, 0, 0},
        [COLUMN_ACTIVE] = {"active", "ACTIVE%", WT_TABLE_RIGHT, 0, 0, 0},
        [COLUMN_UNDERFILL] = {"underfill", "UNDER%", WT_TABLE_RIGHT, 0, 0, 0},
        [COLUMN_WAVE] = {"wave", "WAVE%", WT_TABLE_RIGHT, 0, 0, 0},
        [COLUMN_STRAGGLE] = {"straggle", "STRAG%", WT_TABLE_RIGHT, 0, 0, 0},
        [COLUMN_USEFUL] = {"useful", "USEFUL%", WT_TABLE_RIGHT, 0, 0, 0},
        [COLUMN_REASON] = {"reason", "", WT_TABLE_LEFT, WT_TABLE_FLEXIBLE, 0, 0},
};

static void add_percent(struct wt_table *table, double part, double whole)
{
	char text[WT_TEXT_NUMBER_BYTES];

	wt_table_add_string(table, wt_text_percent(text, part, whole), NULL);
}

static void add_results(struct wt_table *table, const struct wt_sim *sim,
                        const struct wt_sim_row *row)
{
	const struct wt_schedule_result *r = &row->result;
	double total = (double)r->total;
	char text[WT_TEXT_NUMBER_BYTES];

	wt_table_add_double(table, r->waves, 2, NULL);
	wt_table_add_string(table, wt_sim_time_text(text, &sim->scale, r->makespan), NULL);
	add_percent(table, (double)r->active, total);
	add_percent(table, (double)r->underfill_idle, total);
	add_percent(table, (double)r->wave_idle, total);
	add_percent(table, (double)r->straggle_idle, total);
	add_percent(table, wt_sim_useful_share(sim, row), 1);
}

static void add_row(struct wt_table *table, const struct wt_sim *sim, const struct wt_sim_row *row)
{
	char text[WT_TEXT_NUMBER_BYTES];
	bool is_persistent = sim->deal != WT_SCHEDULE_BLOCKS;
	uint64_t grid = !row->error ? row->result.grid : is_persistent ? sim->workers : row->items;

	wt_table_row(table, 0);
	wt_table_add_int(table, row->sms, NULL);
	wt_table_add_int(table, row->blocks_per_sm, NULL);
	snprintf(text, sizeof(text), row->tile && row->tile->k ? "%ux%ux%u" : "%ux%u",
	         row->tile ? row->tile->m : 0, row->tile ? row->tile->n : 0,
	         row->tile ? row->tile->k : 0);
	wt_table_add_string(table, text, NULL);
	wt_table_add_string(table, wt_text_count(text, (int64_t)grid), NULL);
	wt_table_add_string(table, wt_text_count(text, (int64_t)row->items), NULL);
	if (!row->error) {
		add_results(table, sim, row);
		wt_table_add_string(table, "", NULL);
		return;
	}
	for (int i = COLUMN_WAVES; i < COLUMN_REASON; i++)
		wt_table_add_null(table);
	wt_table_add_string(table, wt_sim_error_text(row->error), NULL);
}

/* Of what is the same in all rows the head tells. */
static void hide_columns(const struct wt_sim *sim, const struct wt_sim_row *rows, size_t row_count,
                         struct wt_table_column *columns)
{
	bool is_hidden[COLUMN_COUNT] = {
	        [COLUMN_SMS] = sim->sms.count == 1,
	        [COLUMN_BLOCKS_PER_SM] = sim->blocks_per_sm.count == 1,
	        [COLUMN_TILE] = sim->tile_count == 0,
	        [COLUMN_USEFUL] = sim->tile_count == 0,
	        [COLUMN_ITEMS] = sim->deal == WT_SCHEDULE_BLOCKS,
	        [COLUMN_STRAGGLE] = true,
	        [COLUMN_REASON] = true,
	};

	for (size_t i = 0; i < row_count; i++) {
		if (rows[i].error)
			is_hidden[COLUMN_REASON] = false;
		else if (rows[i].result.straggle_idle)
			is_hidden[COLUMN_STRAGGLE] = false;
	}
	memcpy(columns, sweep_columns, sizeof(sweep_columns));
	for (int i = 0; i < COLUMN_COUNT; i++)
		if (is_hidden[i])
			columns[i].flags |= WT_TABLE_NO_TEXT;
}

static int print_rows(FILE *out, const struct wt_text_terminal *terminal, const struct wt_sim *sim,
                      const struct wt_sim_row *rows, size_t row_count, const bool *is_shown)
{
	struct wt_table_column columns[COLUMN_COUNT];
	struct wt_table *table;
	int rc;

	hide_columns(sim, rows, row_count, columns);
	table = wt_table_create(columns, COLUMN_COUNT);
	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < row_count; i++)
		if (is_shown[i])
			add_row(table, sim, &rows[i]);
	rc = wt_table_print_text(table, out, terminal);
	wt_table_destroy(table);
	return rc;
}

/* ---- which rows */

static double active_share(const struct wt_sim_row *row)
{
	if (row->error || row->result.total == 0)
		return NAN;
	return (double)row->result.active / (double)row->result.total;
}

#define SMALLEST_TOOTH 0.1 /* of the greatest */

struct edge {
	double jump; /* of the active share, to the next row */
	size_t row_idx;
};

static int compare_edges(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->jump != y->jump)
		return x->jump > y->jump ? -1 : 1;
	return x->row_idx < y->row_idx ? -1 : 1;
}

/* The rows before and after the teeth of the saw, the greatest first, up to `limit` rows. */
static size_t show_edges(const struct wt_sim_row *rows, size_t row_count, size_t limit,
                         struct edge *edges, bool *is_shown)
{
	size_t edge_count = 0, shown = 0;

	for (size_t i = 0; i + 1 < row_count; i++) {
		double jump = fabs(active_share(&rows[i]) - active_share(&rows[i + 1]));

		if (jump > 0) /* not NAN */
			edges[edge_count++] = (struct edge){jump, i};
	}
	qsort(edges, edge_count, sizeof(*edges), compare_edges);
	for (size_t i = 0; i < edge_count && shown + 2 <= limit; i++) {
		if (edges[i].jump < edges[0].jump * SMALLEST_TOOTH)
			break;
		for (size_t k = 0; k < 2; k++) {
			shown += !is_shown[edges[i].row_idx + k];
			is_shown[edges[i].row_idx + k] = true;
		}
	}
	return shown;
}

static int print_some_rows(FILE *out, const struct wt_text_terminal *terminal,
                           const struct wt_sim *sim, const struct wt_sim_row *rows,
                           size_t row_count, size_t limit, bool is_saw)
{
	bool *is_shown = calloc(row_count, sizeof(*is_shown));
	struct edge *edges = calloc(row_count, sizeof(*edges));
	int rc = is_shown && edges ? 0 : -ENOMEM;
	bool has_edges = false;
	struct wt_phrase line;
	size_t shown = 0;

	if (!rc && row_count > limit && is_saw)
		shown = show_edges(rows, row_count, limit, edges, is_shown);
	has_edges = shown > 0;
	for (size_t i = 0; !rc && !has_edges && i < row_count && shown < limit; i++, shown++)
		is_shown[i] = true;
	if (!rc)
		rc = print_rows(out, terminal, sim, rows, row_count, is_shown);
	if (!rc && shown < row_count) {
		wt_phrase_init(&line, out, terminal);
		wt_phrase_add(&line, "%zu of %zu rows%s", shown, row_count,
		              has_edges ? ": where the share of active SMs jumps" : "");
		wt_phrase_add(&line, "--limit 0 shows all");
		wt_phrase_end(&line);
	}
	free(edges);
	free(is_shown);
	return rc;
}

/* ---- head and plot */

/* The one axis with several values, or WT_SIM_AXES. */
static enum wt_sim_axis only_axis(const struct wt_sim *sim)
{
	enum wt_sim_axis found = WT_SIM_AXES;

	for (int axis = 0; axis < WT_SIM_AXES; axis++) {
		if (wt_sim_axis_count(sim, (enum wt_sim_axis)axis) < 2)
			continue;
		if (found != WT_SIM_AXES)
			return WT_SIM_AXES;
		found = (enum wt_sim_axis)axis;
	}
	return found;
}

/* "grid 264": what a row is called where one axis varies. */
static char *axis_text(char *buf, size_t bytes, const struct wt_sim *sim, enum wt_sim_axis axis,
                       const struct wt_sim_row *row)
{
	switch (axis) {
	case WT_SIM_SMS:
		snprintf(buf, bytes, "%u SM%s", row->sms, wt_sim_plural(row->sms));
		break;
	case WT_SIM_BLOCKS_PER_SM:
		snprintf(buf, bytes, "%u block%s per SM", row->blocks_per_sm,
		         wt_sim_plural(row->blocks_per_sm));
		break;
	case WT_SIM_TILE:
		snprintf(buf, bytes, "tile %ux%u", row->tile->m, row->tile->n);
		break;
	default:
		snprintf(buf, bytes, sim->deal == WT_SCHEDULE_BLOCKS ? "grid %llu" : "%llu items",
		         (unsigned long long)row->items);
	}
	return buf;
}

static void add_extremes(struct wt_phrase *line, const struct wt_sim *sim, enum wt_sim_axis axis,
                         const struct wt_sim_row *rows, size_t row_count)
{
	const struct wt_sim_row *best = NULL, *worst = NULL;
	char name[64], percent[WT_TEXT_NUMBER_BYTES];

	for (size_t i = 0; i < row_count; i++) {
		if (isnan(active_share(&rows[i])))
			continue;
		if (!best || active_share(&rows[i]) > active_share(best))
			best = &rows[i];
		if (!worst || active_share(&rows[i]) < active_share(worst))
			worst = &rows[i];
	}
	if (!best)
		return;
	wt_phrase_add(line, "SMs active: most %s%% with %s",
	              wt_text_percent(percent, active_share(best), 1),
	              axis_text(name, sizeof(name), sim, axis, best));
	wt_phrase_add(line, "least %s%% with %s", wt_text_percent(percent, active_share(worst), 1),
	              axis_text(name, sizeof(name), sim, axis, worst));
	wt_phrase_end(line);
}

/* Tiles differ in the work that they do: what counts is when all is done. */
static void add_fastest(struct wt_phrase *line, const struct wt_sim *sim,
                        const struct wt_sim_row *rows, size_t row_count)
{
	const struct wt_sim_row *best = NULL;
	char name[64], time[WT_TEXT_NUMBER_BYTES];

	for (size_t i = 0; i < row_count; i++)
		if (!rows[i].error && (!best || rows[i].result.makespan < best->result.makespan))
			best = &rows[i];
	if (!best)
		return;
	wt_phrase_add(line, "least makespan %s with %s",
	              wt_sim_time_text(time, &sim->scale, best->result.makespan),
	              axis_text(name, sizeof(name), sim, WT_SIM_TILE, best));
	wt_phrase_add(line, "if all tiles reach the same speed");
	wt_phrase_end(line);
}

static void print_sweep_head(struct wt_phrase *line, const struct wt_sim *sim,
                             const struct wt_sim_row *rows)
{
	char number[WT_TEXT_NUMBER_BYTES];

	if (sim->sms.count == 1)
		wt_phrase_add(line, "%u SM%s", rows->sms, wt_sim_plural(rows->sms));
	if (sim->blocks_per_sm.count == 1)
		wt_phrase_add(line, "%u block%s per SM", rows->blocks_per_sm,
		              wt_sim_plural(rows->blocks_per_sm));
	if (sim->tile_count)
		wt_phrase_add(line, "GEMM %llu x %llu x %llu", (unsigned long long)sim->gemm[0],
		              (unsigned long long)sim->gemm[1], (unsigned long long)sim->gemm[2]);
	if (sim->times.kind == WT_SCHEDULE_EQUAL && !sim->has_times_of_tile)
		wt_phrase_add(line, "block time %s",
		              wt_sim_time_text(number, &sim->scale, sim->times.a));
	wt_sim_add_rules(line, sim);
	wt_phrase_end(line);
}

static int plot(FILE *out, const struct wt_text_terminal *terminal, const struct wt_sim *sim,
                enum wt_sim_axis axis, const struct wt_sim_row *rows, size_t row_count)
{
	double *values = calloc(row_count, sizeof(*values));
	char first[64], last[64];

	if (!values)
		return -ENOMEM;
	for (size_t i = 0; i < row_count; i++)
		values[i] = active_share(&rows[i]);
	wt_sim_plot(out, terminal, values, row_count, "SMs active, share of SMs x makespan",
	            axis_text(first, sizeof(first), sim, axis, rows),
	            axis_text(last, sizeof(last), sim, axis, &rows[row_count - 1]));
	free(values);
	return 0;
}

int wt_sim_print_sweep(FILE *out, const struct wt_text_terminal *terminal, const struct wt_sim *sim,
                       const struct wt_sim_row *rows, size_t row_count, size_t limit)
{
	enum wt_sim_axis axis = only_axis(sim);
	struct wt_phrase line;
	int rc = 0;

	wt_phrase_init(&line, out, terminal);
	print_sweep_head(&line, sim, rows);
	if (axis == WT_SIM_TILE && sim->has_times_of_tile) {
		add_fastest(&line, sim, rows, row_count);
	} else if (axis != WT_SIM_AXES) {
		add_extremes(&line, sim, axis, rows, row_count);
		rc = plot(out, terminal, sim, axis, rows, row_count);
	}
	if (rc)
		return rc;
	return print_some_rows(out, terminal, sim, rows, row_count, limit,
	                       axis == WT_SIM_GRID || axis == WT_SIM_SMS);
}
