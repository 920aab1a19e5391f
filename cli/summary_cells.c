/*
 * summary_cells.c - see summary_cells.h. Single-threaded; never blocks.
 */
#include <time.h>

#include "cli/summary_cells.h"

static void add_ns(struct wt_table *table, int64_t ns)
{
	char text[WT_TEXT_NUMBER_BYTES];

	if (ns < 0)
		wt_table_add_null(table);
	else
		wt_table_add_int(table, ns, wt_text_ns(text, ns));
}

static void add_count(struct wt_table *table, int64_t count)
{
	char text[WT_TEXT_NUMBER_BYTES];

	if (count < 0)
		wt_table_add_null(table);
	else
		wt_table_add_int(table, count, wt_text_count(text, count));
}

static void add_share(struct wt_table *table, int64_t part, int64_t whole)
{
	char text[WT_TEXT_NUMBER_BYTES];

	if (whole <= 0)
		wt_table_add_null(table);
	else
		wt_table_add_double(table, (double)part / (double)whole, 6,
		                    wt_text_percent(text, (double)part, (double)whole));
}

double wt_summary_idle_share(const struct wt_run_summary *summary)
{
	return summary->total_sm_us > 0
	               ? (double)wt_run_summary_idle_sm_us(summary) / (double)summary->total_sm_us
	               : -1;
}

static void add_sm_time(struct wt_table *table, const struct wt_run_summary *summary)
{
	wt_table_add_int(table, summary->window_ns, NULL);
	wt_table_add_int(table, summary->total_sm_us, NULL);
	wt_table_add_int(table, summary->active_sm_us, NULL);
	wt_table_add_int(table, wt_run_summary_idle_sm_us(summary), NULL);
	wt_table_add_int(table, summary->unjudged_sm_us, NULL);
	wt_table_add_int(table, summary->comm_sm_us, NULL);
	for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++)
		wt_table_add_int(table, summary->gap_sm_us[cause], NULL);
	wt_table_add_int(table, summary->measured_sm_us, NULL);
}

void wt_summary_add(struct wt_table *table, const struct wt_run_summary *summary)
{
	char text[WT_TEXT_NUMBER_BYTES];
	int64_t total = summary->total_sm_us;

	add_count(table, summary->steps);
	add_ns(table, summary->step_ns);
	add_ns(table, summary->step_low_ns);
	add_ns(table, summary->step_high_ns);
	add_count(table, summary->launches_per_step);
	add_share(table, wt_run_summary_idle_sm_us(summary), total);
	add_share(table, summary->underfill_sm_us, total);
	add_share(table, summary->wave_sm_us, total);
	/* Only measurement knows it. */
	add_share(table, summary->straggle_sm_us, summary->measured_sm_us > 0 ? total : 0);
	add_share(table, summary->comm_sm_us, total);
	add_share(table, wt_run_summary_gap_sm_us(summary), total);
	wt_table_add_string(table, wt_run_summary_main_cause(summary), NULL);
	if (summary->occupancy < 0)
		wt_table_add_null(table);
	else
		wt_table_add_double(table, summary->occupancy, 6,
		                    wt_text_percent(text, summary->occupancy, 1));
	add_sm_time(table, summary);
	wt_table_add_int(table, summary->kernels_lost, NULL);
	wt_table_add_string(table, summary->gpus, NULL);
	wt_table_add_string(table, summary->reason, NULL);
}

void wt_summary_add_when(struct wt_table *table, int64_t created_ns)
{
	time_t seconds = (time_t)(created_ns / 1000000000);
	char text[32] = "";
	struct tm local;

	if (localtime_r(&seconds, &local))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &local);
	wt_table_add_int(table, created_ns, text);
}
