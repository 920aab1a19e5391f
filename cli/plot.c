/*
 * plot.c - see plot.h. Single-threaded; blocks as the FILE does.
 */
#include <math.h>
#include <string.h>

#include "cli/plot.h"

static const char *const eighths[] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                      "\u2585", "\u2586", "\u2587", "\u2588"};

/* Gathers `count` bars in `columns`: several in one, or one in several. */
static void gather(const struct wt_plot_bar *bars, size_t count, struct wt_plot_bar *columns,
                   size_t column_count)
{
	for (size_t c = 0; c < column_count; c++) {
		size_t first = c * count / column_count;
		size_t end = (c + 1) * count / column_count;

		columns[c] = (struct wt_plot_bar){NAN, NAN};
		if (end == first)
			end++;
		for (size_t i = first; i < end; i++) {
			columns[c].least = fmin(columns[c].least, bars[i].least);
			columns[c].greatest = fmax(columns[c].greatest, bars[i].greatest);
		}
	}
}

/* One cell of a bar; `level` 0 is the lowest row. */
static const char *bar_cell(const struct wt_plot_bar *column, int level, bool is_utf8)
{
	double solid = column->least * WT_PLOT_ROWS - level;
	double light = column->greatest * WT_PLOT_ROWS - level;

	if (isnan(column->least))
		return " ";
	if (!is_utf8)
		return solid >= 0.5 ? "#" : light >= 0.5 ? ":" : " ";
	if (solid >= 1)
		return eighths[8];
	if (column->greatest - column->least > 0.5 / WT_PLOT_ROWS)
		return solid >= 0.5 ? eighths[8] : light >= 0.5 ? "\u2591" : " ";
	return eighths[solid > 0 ? lround(solid * 8) : 0];
}

/* Ends nothing in a blank. */
static void put_bar_row(FILE *out, const struct wt_plot_axes *axes,
                        const struct wt_plot_bar *columns, size_t column_count, int level,
                        bool is_utf8)
{
	size_t shown = column_count;

	while (shown > 0 && *bar_cell(&columns[shown - 1], level, is_utf8) == ' ')
		shown--;
	fprintf(out, "%4s |",
	        level + 1 == WT_PLOT_ROWS       ? axes->top
	        : level + 1 == WT_PLOT_ROWS / 2 ? axes->middle
	                                        : "");
	for (size_t c = 0; c < shown; c++)
		fputs(bar_cell(&columns[c], level, is_utf8), out);
	fputc('\n', out);
}

size_t wt_plot_columns(const struct wt_text_terminal *terminal, size_t count)
{
	size_t width = terminal->width_columns ? terminal->width_columns : WT_PLOT_COLUMNS;
	size_t most, per_value;

	if (width > WT_PLOT_COLUMNS)
		width = WT_PLOT_COLUMNS;
	most = width > WT_PLOT_LABEL_COLUMNS + 10 ? width - WT_PLOT_LABEL_COLUMNS : 10;
	if (!count || count >= most)
		return most;
	per_value = most / count;
	return count * (per_value < 4 ? per_value : 4); /* broader bars say no more */
}

void wt_plot_axis(FILE *out, size_t columns, const char *first, const char *last)
{
	int room = (int)columns - (int)strlen(first);

	fputs("     +", out);
	for (size_t c = 0; c < columns; c++)
		fputc('-', out);
	if (room > (int)strlen(last))
		fprintf(out, "\n      %s%*s\n", first, room, last);
	else
		fprintf(out, "\n      %s to %s\n", first, last);
}

void wt_plot_bars(FILE *out, const struct wt_text_terminal *terminal,
                  const struct wt_plot_axes *axes, const struct wt_plot_bar *bars, size_t count)
{
	struct wt_plot_bar columns[WT_PLOT_VALUES_MAX];
	size_t column_count = wt_plot_columns(terminal, count);

	if (!count)
		return;
	gather(bars, count, columns, column_count);
	for (int level = WT_PLOT_ROWS - 1; level >= 0; level--)
		put_bar_row(out, axes, columns, column_count, level, terminal->is_utf8);
	wt_plot_axis(out, column_count, axes->first, axes->last);
}

const char *wt_plot_shade(double intensity, bool is_utf8)
{
	static const char *const shades[2][5] = {{" ", ".", "-", "+", "#"},
	                                         {" ", "\u2591", "\u2592", "\u2593", "\u2588"}};
	static const double above[5] = {-1, 0, 0.1, 0.25, 0.5};
	int at = 4;

	while (at > 0 && !(intensity > above[at]))
		at--;
	return shades[is_utf8][at];
}

const char *wt_plot_level(double height, bool is_utf8)
{
	static const char *const digits[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};

	if (!(height > 0))
		return is_utf8 ? " " : "0";
	if (!is_utf8)
		return digits[lround(fmin(height, 1) * 9)];
	/* What there is at all shows. */
	return eighths[(int)fmax(1, (double)lround(fmin(height, 1) * 8))];
}

void wt_plot_bar(FILE *out, const struct wt_text_terminal *terminal, int used, int64_t value,
                 int64_t most)
{
	int room =
	        terminal->width_columns ? (int)terminal->width_columns - used : WT_PLOT_BAR_COLUMNS;
	int longest = room > WT_PLOT_BAR_COLUMNS ? WT_PLOT_BAR_COLUMNS : room < 10 ? 10 : room;
	int columns = most > 0 ? (int)((double)value / (double)most * longest + 0.5) : 0;

	if (value > 0 && columns == 0)
		columns = 1;
	if (columns) /* nothing ends in a blank */
		fputc(' ', out);
	for (int i = 0; i < columns; i++)
		fputs(terminal->is_utf8 ? "\u2588" : "#", out);
}
