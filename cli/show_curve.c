/*
 * show_curve.c - time against grid, for `wavetap show`. Single-threaded; blocks as the FILE does.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/phrase.h"
#include "cli/plot.h"
#include "cli/show_print.h"

#define GRIDS_MIN 3 /* fewer make no curve */
#define CURVE_COLUMNS 32 /* before the bar of a grid */

static bool is_same_curve(const struct wt_report_row *a, const struct wt_report_row *b)
{
	return a->device_id == b->device_id && a->regs_per_thread == b->regs_per_thread &&
	       a->smem_bytes == b->smem_bytes && !memcmp(a->block, b->block, sizeof(a->block)) &&
	       !memcmp(a->cluster, b->cluster, sizeof(a->cluster));
}

static int by_blocks(const void *left, const void *right)
{
	const struct wt_show_config *const *a = left, *const *b = right;

	return (*a)->blocks < (*b)->blocks ? -1 : (*a)->blocks > (*b)->blocks;
}

static void print_curve(FILE *out, const struct wt_text_terminal *terminal,
                        const struct wt_show_config *const *points, size_t count)
{
	bool is_narrow = terminal->width_columns && terminal->width_columns < 80;
	int64_t most_ns = 0, waves_before = 0;

	fputc('\n', out);
	wt_phrase_line(out, terminal,
	               "time against grid (blocks of %" PRId64
	               " threads; a line for each further wave)",
	               points[0]->row.block[0] * points[0]->row.block[1] * points[0]->row.block[2]);
	for (size_t i = 0; i < count; i++) {
		int64_t mean_ns = points[i]->row.time_ns / points[i]->row.launches;

		if (mean_ns > most_ns)
			most_ns = mean_ns;
	}
	for (size_t i = 0; i < count; i++) {
		int64_t mean_ns = points[i]->row.time_ns / points[i]->row.launches;
		int64_t resident = points[i]->resident_blocks;
		int64_t waves = resident > 0 ? (points[i]->blocks + resident - 1) / resident : 0;
		char mean[WT_TEXT_NUMBER_BYTES];

		if (i > 0 && waves > waves_before)
			fprintf(out, "%*s -- %" PRId64 " waves from %" PRId64 " blocks on\n",
			        is_narrow ? 12 : CURVE_COLUMNS, "", waves,
			        (waves - 1) * resident + 1);
		waves_before = waves;
		fprintf(out, "%12" PRId64 " %8.2f %9s", points[i]->blocks, points[i]->row.waves,
		        wt_text_ns(mean, mean_ns));
		wt_plot_bar(out, terminal, CURVE_COLUMNS, mean_ns, most_ns);
		fputc('\n', out);
	}
}

size_t wt_show_take_curve(const struct wt_show *show, size_t first, bool *is_done,
                          const struct wt_show_config **points)
{
	size_t count = 0;

	for (size_t i = first; i < show->config_count; i++) {
		if (is_done[i] || !is_same_curve(&show->configs[first].row, &show->configs[i].row))
			continue;
		is_done[i] = true;
		points[count++] = &show->configs[i];
	}
	if (count < GRIDS_MIN)
		return 0;
	qsort(points, count, sizeof(*points), by_blocks);
	return count;
}

int wt_show_print_curves(FILE *out, const struct wt_text_terminal *terminal,
                         const struct wt_show *show, const struct wt_show_config **points)
{
	bool *is_done = calloc(show->config_count, sizeof(*is_done));

	if (!is_done)
		return -ENOMEM;
	for (size_t i = 0; i < show->config_count; i++) {
		size_t count = wt_show_take_curve(show, i, is_done, points);

		if (count)
			print_curve(out, terminal, points, count);
	}
	free(is_done);
	return 0;
}
