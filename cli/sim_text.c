/*
 * sim_text.c - `wavetap simulate` for people: one schedule. See simulate.h.
 *
 * Single-threaded; blocks as the FILE does.
 */
#include <errno.h>

#include "cli/phrase.h"
#include "cli/simulate.h"
#include "cli/table.h"

/* ---- heads */

const char *wt_sim_plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

void wt_sim_add_rules(struct wt_phrase *line, const struct wt_sim *sim)
{
	if (sim->gpu_text)
		wt_phrase_add(line, "%s", sim->gpu_text);
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
	wt_phrase_add(line, "padding %s%% of the work",
	              wt_text_percent(percent, 1 - wt_sim_useful_share(sim, row), 1));
	wt_phrase_end(line);
}

static void print_grid_line(struct wt_phrase *line, const struct wt_sim *sim,
                            const struct wt_sim_row *row)
{
	const struct wt_schedule_result *r = &row->result;
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];
	const char *what = sim->deal == WT_SCHEDULE_QUEUE ? "items" : "blocks";

	wt_phrase_add(line, "%u SM%s x %u block%s", row->sms, wt_sim_plural(row->sms),
	              row->blocks_per_sm, wt_sim_plural(row->blocks_per_sm));
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
	wt_sim_add_rules(line, sim);
	wt_phrase_end(line);
}

static void print_wave_line(struct wt_phrase *line, const struct wt_sim *sim,
                            const struct wt_sim_row *row)
{
	const struct wt_schedule_result *r = &row->result;
	char a[WT_TEXT_NUMBER_BYTES], b[WT_TEXT_NUMBER_BYTES];

	wt_phrase_add(line, "makespan %s", wt_sim_time_text(a, &sim->scale, r->makespan));
	wt_phrase_add(line, r->waves < 1e9 ? "waves %.2f" : "waves %.3g", r->waves);
	wt_phrase_add(line, "last wave %s of %s blocks",
	              wt_text_count(a, (int64_t)r->last_wave_blocks),
	              wt_text_count(b, (int64_t)r->resident_blocks));
	wt_phrase_add(line, r->waves_sm < 1e9 ? "grid / SMs %.2f" : "grid / SMs %.3g", r->waves_sm);
	wt_phrase_end(line);
}

/* ---- one schedule */

static const struct wt_table_column split_columns[] = {
        {"what", "", WT_TABLE_LEFT, 0, 0, 0},
        {"sm_time", "SM-TIME", WT_TABLE_RIGHT, 0, 0, 0},
        {"percent", "%", WT_TABLE_RIGHT, 0, 0, 0},
        {"meaning", "", WT_TABLE_LEFT, WT_TABLE_FLEXIBLE | WT_TABLE_WRAPS | WT_TABLE_DROP(1), 16,
         0},
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
