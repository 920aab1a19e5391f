/*
 * sim_draw.c - schedules and sweeps drawn with characters: Gantt, bars. See simulate.h.
 *
 * Single-threaded; blocks as the FILE does.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/plot.h"
#include "cli/simulate.h"

void wt_sim_plot(FILE *out, const struct wt_text_terminal *terminal, const double *values,
                 size_t count, const char *title, const char *first, const char *last)
{
	const struct wt_plot_axes axes = {"100%", "50%", first, last};
	struct wt_plot_bar *bars = calloc(count + 1, sizeof(*bars));

	fprintf(out, "%s\n", title);
	for (size_t i = 0; bars && i < count; i++)
		bars[i] = (struct wt_plot_bar){values[i], values[i]};
	if (bars)
		wt_plot_bars(out, terminal, &axes, bars, count);
	free(bars);
}

/* Share of the SMs active in each of `count` equal parts of the makespan. */
static void fill_profile(const struct wt_sim_row *row, const int64_t *sm_active, double *values,
                         size_t count)
{
	double part = (double)row->result.makespan / (double)count;

	for (size_t c = 0; c < count; c++) {
		double start = part * (double)c;
		double sum = 0;

		for (uint32_t i = 0; i < row->sms; i++)
			sum += fmin(fmax((double)sm_active[i] - start, 0), part);
		values[c] = sum / part / row->sms;
	}
}

void wt_sim_profile_print(FILE *out, const struct wt_text_terminal *terminal,
                          const struct wt_sim *sim, const struct wt_sim_row *row,
                          const int64_t *sm_active)
{
	double values[WT_PLOT_VALUES_MAX];
	char end[WT_TEXT_NUMBER_BYTES];
	size_t count = wt_plot_columns(terminal, WT_PLOT_VALUES_MAX);

	fill_profile(row, sm_active, values, count);
	wt_sim_plot(out, terminal, values, count, "SMs active over time", "0",
	            wt_sim_time_text(end, &sim->scale, row->result.makespan));
}

/* ---- Gantt */

void wt_sim_gantt_note(void *context, const struct wt_schedule_block *block)
{
	struct wt_sim_gantt *gantt = context;
	struct wt_schedule_block *blocks;
	size_t capacity;

	if (gantt->count == gantt->capacity) {
		capacity = gantt->capacity ? gantt->capacity * 2 : 64;
		blocks = reallocarray(gantt->blocks, capacity, sizeof(*blocks));
		if (!blocks) {
			gantt->is_full = true;
			return;
		}
		gantt->blocks = blocks;
		gantt->capacity = capacity;
	}
	gantt->blocks[gantt->count++] = *block;
}

#define GANTT_COLUMNS_MAX 400

struct gantt_line {
	const char *cells[GANTT_COLUMNS_MAX]; /* one character each */
	size_t columns;
	int64_t end;
	unsigned block_count;
};

static const char *const digit_cells[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};

/* The block's index, where it fits and something of the bar is left. */
static void put_index(struct gantt_line *line, size_t from, size_t to, uint64_t index)
{
	char text[24];
	int digits = snprintf(text, sizeof(text), "%llu", (unsigned long long)index);

	if ((size_t)digits + 1 > to - from)
		return;
	for (int i = 0; i < digits; i++)
		line->cells[from + (size_t)i] = digit_cells[text[i] - '0'];
}

static void put_block(struct gantt_line *line, const struct wt_schedule_block *block,
                      int64_t makespan, bool is_utf8)
{
	static const char *const bars[2][2] = {{"=", "-"}, {"\u2588", "\u2592"}};
	double scale = (double)line->columns / (double)makespan;
	size_t from = (size_t)((double)block->start * scale);
	size_t to = (size_t)((double)block->end * scale);

	if (to > line->columns)
		to = line->columns;
	if (to == from && from < line->columns)
		to++; /* short, but there */
	for (size_t c = from; c < to; c++)
		line->cells[c] = bars[is_utf8][line->block_count % 2];
	put_index(line, from, to, block->index);
	line->block_count++;
	if (block->end > line->end)
		line->end = block->end;
}

/* One line of the chart: a slot. */
static void draw_slot(FILE *out, const struct wt_sim *sim, const struct wt_sim_row *row,
                      const struct wt_sim_gantt *gantt, uint32_t slot, size_t columns, bool is_utf8)
{
	struct gantt_line line = {.columns = columns};
	uint32_t sm_idx = slot / row->blocks_per_sm, slot_idx = slot % row->blocks_per_sm;
	char end[WT_TEXT_NUMBER_BYTES];

	for (size_t c = 0; c < columns; c++)
		line.cells[c] = is_utf8 ? "\u00b7" : ".";
	/* They are in the order of their ends, so each slot's are from left to right. */
	for (size_t i = 0; i < gantt->count; i++)
		if (gantt->blocks[i].sm_idx == sm_idx && gantt->blocks[i].slot_idx == slot_idx)
			put_block(&line, &gantt->blocks[i], row->result.makespan, is_utf8);
	if (slot_idx == 0)
		fprintf(out, "SM %-3u ", sm_idx);
	else
		fputs("       ", out);
	for (size_t c = 0; c < columns; c++)
		fputs(line.cells[c], out);
	if (line.block_count)
		fprintf(out, " %s", wt_sim_time_text(end, &sim->scale, line.end));
	fputc('\n', out);
}

void wt_sim_gantt_print(FILE *out, const struct wt_text_terminal *terminal,
                        const struct wt_sim *sim, const struct wt_sim_row *row,
                        const struct wt_sim_gantt *gantt)
{
	char end[WT_TEXT_NUMBER_BYTES];
	size_t width = terminal->width_columns ? terminal->width_columns : WT_PLOT_COLUMNS;
	size_t taken, columns;

	wt_sim_time_text(end, &sim->scale, row->result.makespan);
	taken = 7 + 1 + wt_text_width(end);
	columns = width > taken + 10 ? width - taken : 10;
	if (columns > GANTT_COLUMNS_MAX)
		columns = GANTT_COLUMNS_MAX;
	for (uint32_t slot = 0; slot < row->sms * row->blocks_per_sm; slot++)
		draw_slot(out, sim, row, gantt, slot, columns, terminal->is_utf8);
}
