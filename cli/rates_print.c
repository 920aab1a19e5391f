/*
 * rates_print.c - see rates_print.h. Single-threaded; blocks as the FILE does.
 */
#include <inttypes.h>

#include "cli/rates_print.h"
#include "cli/plot.h"

#define LABEL_COLUMNS 9 /* "  SM 131 " */
#define STRIP_COLUMNS 80 /* where the terminal sets no limit */

static void print_spread(FILE *out, const char *what, const struct wt_rates_spread *spread)
{
	char min[WT_TEXT_NUMBER_BYTES], median[WT_TEXT_NUMBER_BYTES], max[WT_TEXT_NUMBER_BYTES];
	char percent[WT_TEXT_NUMBER_BYTES];

	fprintf(out, "  %-12s  min %s  median %s  max %s  spread %s%% of the mean\n", what,
	        wt_text_count(min, (int64_t)(spread->min + 0.5)),
	        wt_text_count(median, (int64_t)(spread->median + 0.5)),
	        wt_text_count(max, (int64_t)(spread->max + 0.5)),
	        wt_text_percent(percent, spread->max - spread->min, spread->mean));
}

/* A character an SM, from none to the most, in lines of equal length. */
static void print_strip(FILE *out, const struct wt_text_terminal *terminal,
                        const struct wt_rates_sm *sms, size_t count, double most)
{
	size_t width = terminal->width_columns ? terminal->width_columns : STRIP_COLUMNS;
	size_t room = width > LABEL_COLUMNS + 10 ? width - LABEL_COLUMNS : 10;
	size_t lines = (count + room - 1) / room, per_line = (count + lines - 1) / lines;

	for (size_t i = 0; i < count; i += per_line) {
		fprintf(out, "  SM %-3" PRId64 " ", sms[i].sm);
		for (size_t j = i; j < i + per_line && j < count; j++)
			fputs(wt_plot_level(most > 0 ? sms[j].warps / most : 0, terminal->is_utf8),
			      out);
		fputc('\n', out);
	}
}

void wt_rates_print_sms(FILE *out, const struct wt_text_terminal *terminal,
                        const struct wt_rates_sm *sms, size_t count, int64_t launches)
{
	struct wt_rates_spread warps, instructions;
	char text[WT_TEXT_NUMBER_BYTES];

	if (!count)
		return;
	wt_rates_spread(sms, count, false, &warps);
	wt_rates_spread(sms, count, true, &instructions);
	fprintf(out, "%zu physical SMs, profiled, mean of %s launch%s\n", count,
	        wt_text_count(text, launches), launches == 1 ? "" : "es");
	print_spread(out, "warps", &warps);
	print_spread(out, "instructions", &instructions);
	print_strip(out, terminal, sms, count, warps.max);
	fprintf(out, "  each: warps that began there, %s\n",
	        terminal->is_utf8 ? "a full block for the most" : "9 for the most");
}
