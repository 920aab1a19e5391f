/*
 * sim_text.c - `wavetap simulate` for people: one schedule, or a table of many. See simulate.h.
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

/* ---- heads */

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

static void add_rules(struct wt_phrase *line, const struct wt_sim *sim)
{
	if (sim->is_shared)
		wt_phrase_add(line, "blocks share their SM's throughput");
	if (sim->is_packed)
		wt_phrase_add(line, "later waves fill one SM after the other");
	if (sim->cluster_blocks > 1)
		wt_phrase_add(line, "clusters of %u", sim->cluster_blocks);
	if (sim->deal == WT_SCHEDULE_QUEUE)
		wt_phrase_add(line, "persistent, items from a queue");
	if (sim->deal == WT_SCHEDULE_STRIDE)
		wt_phrase_add(line, "persistent, items in turn");
	if (sim->deal == WT_SCHEDULE_SPLIT)
		wt_phrase_add(line, "Stream-K");
	if (sim->has_times_of_tile)
		wt_phrase_add(line, "time in multiply-adds of an SM");
}

static void print_gemm_line(struct wt_phrase *line, const struct wt_sim *sim,
                            const struct wt_sim_row *row)
{
	char percent[WT_TEXT_NUMBER_BYTES];

	wt_phrase_add(line, "GEMM %llu x %llu x %llu", (unsigned long long)sim->gemm[0],
	              (unsigned long long)sim->gemm[1], (unsigned long long)sim->gemm[2]);
	wt_phrase_add(line, "%llu x %llu tiles of %ux%u", (unsigned long long)row->tiles_m,
	              (unsigned long long)row->tiles_n, row->tile->m, row->tile->n);
	if (sim->split_k > 1)
		wt_phrase_add(line, "K in %llu parts", (unsigned long long)sim->split_k);
	wt_phrase_add(line, "%s%% of their work is the GEMM's, the rest padding",
	              wt_text_percent(percent, wt_sim_useful_share(sim, row), 1));
	wt_phrase_end(line);
}

static void print_grid_line(struct wt_phrase *line, const struct wt_sim *sim,
                            const struct wt_sim_row *row)
{
	const struct wt_schedule_result *r = &row->result;
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];
	const char *what = sim->deal == WT_SCHEDULE_QUEUE ? "items" : "blocks";

	wt_phrase_add(line, "%u SM%s x %u block%s", row->sms, plural(row->sms), row->blocks_per_sm,
	              plural(row->blocks_per_sm));
	wt_phrase_add(line, "grid %s", wt_text_count(a, (int64_t)r->grid));
	if (r->item_count != r->grid)
		wt_phrase_add(line, "%s items", wt_text_count(a, (int64_t)r->item_count));
	if (r->time_min == r->time_max)
		wt_phrase_add(line, "%s of %s", what,
		              wt_sim_time_text(a, &sim->scale, r->time_min));
	else
		wt_phrase_add(line, "%s of %s to %s", what,
		              wt_sim_time_text(a, &sim->scale, r->time_min),
		              wt_sim_time_text(b, &sim->scale, r->time_max));
	add_rules(line, sim);
	wt_phrase_end(line);
}

static void print_wave_line(struct wt_phrase *line, const struct wt_sim *sim,
                            const struct wt_sim_row *row)
{
	const struct wt_schedule_result *r = &row->result;
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];

	wt_phrase_add(line, "makespan %s", wt_sim_time_text(a, &sim->scale, r->makespan));
	wt_phrase_add(line, "waves %.2f", r->waves);
	wt_phrase_add(line, "last wave %s of %s blocks",
	              wt_text_count(a, (int64_t)r->last_wave_blocks),
	              wt_text_count(b, (int64_t)r->resident_blocks));
	wt_phrase_add(line, "grid / SMs %.2f", r->waves_sm);
	wt_phrase_end(line);
}

/* ---- one schedule */

static const struct wt_table_column split_columns[] = {
        {"what", "", WT_TABLE_LEFT, 0, 0, 0},
        {"sm_time", "SM-TIME", WT_TABLE_RIGHT, 0, 0, 0},
        {"percent", "%", WT_TABLE_RIGHT, 0, 0, 0},
        {"meaning", "", WT_TABLE_LEFT, 0, 0, 0},
};

static void add_part(struct wt_table *table, const struct wt_sim *sim, const char *what,
                     int64_t ticks, int64_t total, const char *meaning)
{
	char text[WT_TEXT_NUMBER_BYTES];

	wt_table_row(table, 0);
	wt_table_add_string(table, what, NULL);
	wt_table_add_string(table, wt_sim_time_text(text, &sim->scale, ticks), NULL);
	wt_table_add_string(table, wt_text_percent(text, (double)ticks, (double)total), NULL);
	wt_table_add_string(table, meaning, NULL);
}

static int print_split(FILE *out, const struct wt_text_terminal *terminal, const struct wt_sim *sim,
                       const struct wt_schedule_result *r)
{
	struct wt_table *table = wt_table_create(split_columns, 4);
	int rc;

	if (!table)
		return -ENOMEM;
	add_part(table, sim, "active", r->active, r->total, "a block is resident");
	add_part(table, sim, "underfill", r->underfill_idle, r->total, "SMs without any block");
	add_part(table, sim, "wave", r->wave_idle, r->total, "partial last wave");
	add_part(table, sim, "straggle", r->straggle_idle, r->total, "unequal blocks");
	add_part(table, sim, "sum", r->total, r->total, "SMs x makespan");
	rc = wt_table_print_text(table, out, terminal);
	wt_table_destroy(table);
	return rc;
}

static void print_tail_line(struct wt_phrase *line, const struct wt_sim *sim,
                            const struct wt_sim_row *row)
{
	const struct wt_schedule_result *r = &row->result;
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];

	wt_phrase_add(line, "tail idle %s", wt_sim_time_text(a, &sim->scale, r->tail_idle));
	if (r->has_tail && r->tail_time > 0)
		wt_phrase_add(
		        line, "%s%% of the SMs active in the last %s",
		        wt_text_percent(b, (double)r->tail_active, (double)r->tail_time * row->sms),
		        wt_sim_time_text(a, &sim->scale, r->tail_time));
	wt_phrase_end(line);
}

int wt_sim_print_text(FILE *out, const struct wt_text_terminal *terminal, const struct wt_sim *sim,
                      const struct wt_sim_row *row)
{
	struct wt_phrase line;
	int rc;

	wt_phrase_init(&line, out, terminal);
	if (row->tile)
		print_gemm_line(&line, sim, row);
	print_grid_line(&line, sim, row);
	print_wave_line(&line, sim, row);
	rc = print_split(out, terminal, sim, &row->result);
	if (rc)
		return rc;
	print_tail_line(&line, sim, row);
	return 0;
}

/* ---- many */

enum sweep_column {
	COLUMN_SMS,
	COLUMN_BLOCKS_PER_SM,
	COLUMN_TILE,
	COLUMN_GRID,
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
	uint64_t grid = row->error ? row->items : row->result.grid;

	wt_table_row(table, 0);
	wt_table_add_int(table, row->sms, NULL);
	wt_table_add_int(table, row->blocks_per_sm, NULL);
	snprintf(text, sizeof(text), row->tile && row->tile->k ? "%ux%ux%u" : "%ux%u",
	         row->tile ? row->tile->m : 0, row->tile ? row->tile->n : 0,
	         row->tile ? row->tile->k : 0);
	wt_table_add_string(table, text, NULL);
	wt_table_add_string(table, wt_text_count(text, (int64_t)grid), NULL);
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
                      const struct wt_sim_row *rows, size_t row_count, size_t limit)
{
	struct wt_table_column columns[COLUMN_COUNT];
	size_t shown = row_count < limit ? row_count : limit;
	struct wt_table *table;
	int rc;

	hide_columns(sim, rows, shown, columns);
	table = wt_table_create(columns, COLUMN_COUNT);
	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < shown; i++)
		add_row(table, sim, &rows[i]);
	rc = wt_table_print_text(table, out, terminal);
	wt_table_destroy(table);
	if (!rc && shown < row_count)
		fprintf(out, "%zu more rows: --limit 0 shows all, --csv and --json have all\n",
		        row_count - shown);
	return rc;
}

/* ---- many: head and plot */

static double active_share(const struct wt_sim_row *row)
{
	if (row->error || row->result.total == 0)
		return NAN;
	return (double)row->result.active / (double)row->result.total;
}

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
static char *axis_text(char *buf, size_t bytes, enum wt_sim_axis axis, const struct wt_sim_row *row)
{
	switch (axis) {
	case WT_SIM_SMS:
		snprintf(buf, bytes, "%u SM%s", row->sms, plural(row->sms));
		break;
	case WT_SIM_BLOCKS_PER_SM:
		snprintf(buf, bytes, "%u block%s per SM", row->blocks_per_sm,
		         plural(row->blocks_per_sm));
		break;
	case WT_SIM_TILE:
		snprintf(buf, bytes, "tile %ux%u", row->tile->m, row->tile->n);
		break;
	default:
		snprintf(buf, bytes, "grid %llu", (unsigned long long)row->items);
	}
	return buf;
}

static void add_extremes(struct wt_phrase *line, enum wt_sim_axis axis,
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
	              axis_text(name, sizeof(name), axis, best));
	wt_phrase_add(line, "least %s%% with %s", wt_text_percent(percent, active_share(worst), 1),
	              axis_text(name, sizeof(name), axis, worst));
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
	              axis_text(name, sizeof(name), WT_SIM_TILE, best));
	wt_phrase_add(line, "if all tiles reach the same speed");
	wt_phrase_end(line);
}

static void print_sweep_head(struct wt_phrase *line, const struct wt_sim *sim,
                             const struct wt_sim_row *rows)
{
	char number[WT_TEXT_NUMBER_BYTES];

	if (sim->sms.count == 1)
		wt_phrase_add(line, "%u SM%s", rows->sms, plural(rows->sms));
	if (sim->blocks_per_sm.count == 1)
		wt_phrase_add(line, "%u block%s per SM", rows->blocks_per_sm,
		              plural(rows->blocks_per_sm));
	if (sim->tile_count)
		wt_phrase_add(line, "GEMM %llu x %llu x %llu", (unsigned long long)sim->gemm[0],
		              (unsigned long long)sim->gemm[1], (unsigned long long)sim->gemm[2]);
	if (sim->times.kind == WT_SCHEDULE_EQUAL && !sim->has_times_of_tile)
		wt_phrase_add(line, "block time %s",
		              wt_sim_time_text(number, &sim->scale, sim->times.a));
	add_rules(line, sim);
	wt_phrase_end(line);
}

static int plot(FILE *out, const struct wt_text_terminal *terminal, enum wt_sim_axis axis,
                const struct wt_sim_row *rows, size_t row_count)
{
	double *values = calloc(row_count, sizeof(*values));
	char first[64], last[64];

	if (!values)
		return -ENOMEM;
	for (size_t i = 0; i < row_count; i++)
		values[i] = active_share(&rows[i]);
	wt_sim_plot(out, terminal, values, row_count, "SMs active, share of SMs x makespan",
	            axis_text(first, sizeof(first), axis, rows),
	            axis_text(last, sizeof(last), axis, &rows[row_count - 1]));
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
		add_extremes(&line, axis, rows, row_count);
		rc = plot(out, terminal, axis, rows, row_count);
	}
	return rc ? rc : print_rows(out, terminal, sim, rows, row_count, limit);
}
