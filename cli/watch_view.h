/*
 * watch_view.h - what the views that are watched share: lines to scroll through, and a choice.
 * Single-threaded; blocks as the terminal does.
 */
#ifndef WT_CLI_WATCH_VIEW_H
#define WT_CLI_WATCH_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/screen.h"
#include "cli/text.h"
#include "cli/text_lines.h"

/* What both views need; less is told. */
#define WT_WATCH_COLUMNS_MIN 50
#define WT_WATCH_ROWS_MIN 12

/* False, and the screen says so: it is too small for any view. */
bool wt_watch_has_room(void);

/* For text of this screen's width. */
void wt_watch_terminal(struct wt_text_terminal *ret_terminal, unsigned columns);

int64_t wt_watch_now_ns(void); /* CLOCK_MONOTONIC */
/* "11:20:33" */
char *wt_watch_clock(char text[WT_TEXT_NUMBER_BYTES], int64_t realtime_s);

/* A title in the first row: `left`, and `right` at the edge if there is room. */
void wt_watch_title(const char *left, const char *right);

struct wt_pager {
	struct wt_lines lines;
	size_t first; /* that is shown */
};

/* True: the key was one to scroll by. */
bool wt_pager_key(struct wt_pager *pager, int key, size_t rows);
/* From `row` on, in so many rows. */
void wt_pager_draw(struct wt_pager *pager, unsigned row, size_t rows);
/* "lines 1-20 of 42", or "" if all are shown. */
char *wt_pager_where(const struct wt_pager *pager, size_t rows, char text[WT_TEXT_NUMBER_BYTES]);

struct wt_menu_item {
	const char *word, *help;
};

#define WT_MENU_ITEMS_MAX 72

struct wt_menu {
	const char *title;
	struct wt_menu_item items[WT_MENU_ITEMS_MAX];
	size_t count, selected;
};

enum wt_menu_end { WT_MENU_OPEN, WT_MENU_CHOSEN, WT_MENU_LEFT };

enum wt_menu_end wt_menu_key(struct wt_menu *menu, int key);
void wt_menu_draw(const struct wt_menu *menu, unsigned row, size_t rows);

#endif /* WT_CLI_WATCH_VIEW_H */
