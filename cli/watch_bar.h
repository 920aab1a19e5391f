/*
 * watch_bar.h - a whole as a bar of its parts, for a terminal.
 *
 * Each part that has a column begins with its letter or, where there is room, its name, so that
 * colours say nothing that the text does not. A part too small for a column has none: the bar is
 * never wider for it. Pure; any thread.
 */
#ifndef WT_CLI_WATCH_BAR_H
#define WT_CLI_WATCH_BAR_H

#include <stdbool.h>
#include <stddef.h>

/* More columns than any terminal has. */
#define WT_BAR_COLUMNS_MAX 1000
#define WT_BAR_PARTS_MAX 32
/* Room for the text of a part: a character takes three bytes at most. */
#define WT_BAR_TEXT_BYTES (3 * WT_BAR_COLUMNS_MAX + 1)

enum wt_bar_shade {
	WT_BAR_FULL, /* "active": solid, and nothing is written on it */
	WT_BAR_DARK,
	WT_BAR_LIGHT,
};

struct wt_bar_part {
	double value; /* below 0 and what is no number: none */
	const char *name; /* ASCII */
	enum wt_bar_shade shade;
	char letter;
};

/*
 * The columns of each part: they sum to `width` if any part is above 0, and to 0 if none is. Each is within
 * one column of its share (the largest remainders are rounded up). At most WT_BAR_PARTS_MAX parts and
 * WT_BAR_COLUMNS_MAX columns; of more there is none.
 */
void wt_bar_layout(const struct wt_bar_part *parts, size_t count, unsigned width,
                   unsigned *ret_columns);

/*
 * A part in that many columns: "h", "hhhh" or "host" in ASCII with blanks around a name's letters filled by the
 * letter ("host hhh"); with is_utf8 by a block of its shade ("host" and then light blocks). Returns text.
 */
char *wt_bar_text(const struct wt_bar_part *part, unsigned columns, bool is_utf8,
                  char text[WT_BAR_TEXT_BYTES]);

#endif /* WT_CLI_WATCH_BAR_H */
