/*
 * plot.h - plots made of characters: bars over an axis, heat maps. Single-threaded; blocks as the FILE
 * does.
 */
#ifndef WT_CLI_PLOT_H
#define WT_CLI_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/text.h"

#define WT_PLOT_COLUMNS 80 /* at most */
#define WT_PLOT_ROWS 10
#define WT_PLOT_LABEL_COLUMNS 6 /* "100% |" */
#define WT_PLOT_VALUES_MAX (WT_PLOT_COLUMNS - WT_PLOT_LABEL_COLUMNS)

/* Of the height, 0 to 1: solid up to `least`, light up to `greatest`. NAN: nothing. */
struct wt_plot_bar {
	double least, greatest;
};

struct wt_plot_axes {
	const char *top, *middle; /* at most 4 columns each */
	const char *first, *last; /* below, left and right */
};

/* Columns that `count` values take: each up to 4, or several values in one. */
size_t wt_plot_columns(const struct wt_text_terminal *terminal, size_t count);

/* `count` may be more or fewer than columns. */
void wt_plot_bars(FILE *out, const struct wt_text_terminal *terminal,
                  const struct wt_plot_axes *axes, const struct wt_plot_bar *bars, size_t count);

/* The line under a plot of `columns`, with `first` and `last` under its ends. */
void wt_plot_axis(FILE *out, size_t columns, const char *first, const char *last);

/* One cell by intensity: blank for 0, four shades up to 0.1, 0.25, 0.5 and 1. */
const char *wt_plot_shade(double intensity, bool is_utf8);

/* One cell by height 0 to 1: eighths of a block, or a digit 0 to 9. */
const char *wt_plot_level(double height, bool is_utf8);

#define WT_PLOT_BAR_COLUMNS 40 /* at most */

/*
 * A blank and a bar for `value` of at most `most`, in the rest of a line whose first `used` columns are
 * taken; nothing for 0.
 */
void wt_plot_bar(FILE *out, const struct wt_text_terminal *terminal, int used, int64_t value,
                 int64_t most);

#endif /* WT_CLI_PLOT_H */
