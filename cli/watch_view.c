/*
 * watch_view.c - see watch_view.h. Single-threaded; blocks as the terminal does.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/watch_view.h"

#define TEXT_BYTES 600

bool wt_watch_has_room(void)
{
	char text[TEXT_BYTES];

	if (wt_screen_columns() >= WT_WATCH_COLUMNS_MIN && wt_screen_rows() >= WT_WATCH_ROWS_MIN)
		return true;
	wt_screen_clear();
	wt_screen_cursor(0, WT_SCREEN_NO_CURSOR);
	wt_screen_put(0, 0, WT_SCREEN_STRONG, "terminal too small");
	snprintf(text, sizeof(text), "it has %ux%u, and needs %dx%d", wt_screen_columns(),
	         wt_screen_rows(), WT_WATCH_COLUMNS_MIN, WT_WATCH_ROWS_MIN);
	wt_screen_put(1, 0, WT_SCREEN_PLAIN, text);
	wt_screen_put(2, 0, WT_SCREEN_PLAIN, "q quit");
	wt_screen_show();
	return false;
}

void wt_watch_terminal(struct wt_text_terminal *ret_terminal, unsigned columns)
{
	*ret_terminal = (struct wt_text_terminal){
	        .is_tty = true, .is_utf8 = wt_screen_is_utf8(), .width_columns = columns};
}

int64_t wt_watch_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

char *wt_watch_clock(char text[WT_TEXT_NUMBER_BYTES], int64_t realtime_s)
{
	time_t at = (time_t)realtime_s;
	struct tm tm;

	if (!localtime_r(&at, &tm) || !strftime(text, WT_TEXT_NUMBER_BYTES, "%H:%M:%S", &tm))
		text[0] = '\0';
	return text;
}

void wt_watch_title(const char *left, const char *right)
{
	unsigned columns = wt_screen_columns();
	size_t width = wt_text_width(right), room = columns;
	char *safe = wt_text_escape(left, wt_screen_is_utf8()), *fit = NULL;

	wt_screen_put_row(0, WT_SCREEN_BAR, "");
	if (width + 3 < columns)
		room = columns - width - 3;
	if (safe)
		fit = wt_text_fit(safe, room, wt_screen_is_utf8());
	wt_screen_put(0, 0, WT_SCREEN_BAR, fit ? fit : "");
	if (room < columns)
		wt_screen_put(0, columns - (unsigned)width - 1, WT_SCREEN_BAR, right);
	free(fit);
	free(safe);
}

/* ---- lines */

static size_t last_first(const struct wt_pager *pager, size_t rows)
{
	return pager->lines.count > rows ? pager->lines.count - rows : 0;
}

bool wt_pager_key(struct wt_pager *pager, int key, size_t rows)
{
	size_t last = last_first(pager, rows), page = rows > 1 ? rows - 1 : 1;

	switch (key) {
	case WT_KEY_UP:
	case 'k':
		pager->first -= pager->first > 0;
		break;
	case WT_KEY_DOWN:
	case 'j':
		pager->first++;
		break;
	case WT_KEY_PAGE_UP:
		pager->first -= pager->first < page ? pager->first : page;
		break;
	case WT_KEY_PAGE_DOWN:
		pager->first += page;
		break;
	case WT_KEY_HOME:
		pager->first = 0;
		break;
	case WT_KEY_END:
		pager->first = last;
		break;
	default:
		return false;
	}
	if (pager->first > last)
		pager->first = last;
	return true;
}

void wt_pager_draw(struct wt_pager *pager, unsigned row, size_t rows)
{
	size_t last = last_first(pager, rows);

	if (pager->first > last)
		pager->first = last; /* there are fewer lines now, or more room */
	for (size_t i = 0; i < rows && pager->first + i < pager->lines.count; i++)
		wt_screen_put(row + (unsigned)i, 0, WT_SCREEN_PLAIN,
		              pager->lines.line[pager->first + i]);
}

char *wt_pager_where(const struct wt_pager *pager, size_t rows, char text[WT_TEXT_NUMBER_BYTES])
{
	size_t count = pager->lines.count, end = pager->first + rows;

	text[0] = '\0';
	if (count > rows)
		snprintf(text, WT_TEXT_NUMBER_BYTES, "lines %zu-%zu of %zu", pager->first + 1,
		         end < count ? end : count, count);
	return text;
}

/* ---- a choice */

enum wt_menu_end wt_menu_key(struct wt_menu *menu, int key)
{
	switch (key) {
	case WT_KEY_UP:
	case 'k':
		menu->selected -= menu->selected > 0;
		break;
	case WT_KEY_DOWN:
	case 'j':
		menu->selected += menu->selected + 1 < menu->count;
		break;
	case WT_KEY_HOME:
	case WT_KEY_PAGE_UP:
		menu->selected = 0;
		break;
	case WT_KEY_END:
	case WT_KEY_PAGE_DOWN:
		menu->selected = menu->count - 1;
		break;
	case WT_KEY_ENTER:
	case ' ':
		return WT_MENU_CHOSEN;
	case WT_KEY_ESCAPE:
	case 'q':
		return WT_MENU_LEFT;
	default:
		break;
	}
	return WT_MENU_OPEN;
}

void wt_menu_draw(const struct wt_menu *menu, unsigned row, size_t rows)
{
	size_t width = 0, shown = rows > 1 ? rows - 1 : 0;
	size_t first = menu->selected >= shown && shown ? menu->selected - shown + 1 : 0;
	char text[TEXT_BYTES];

	for (size_t i = 0; i < menu->count; i++)
		if (strlen(menu->items[i].word) > width)
			width = strlen(menu->items[i].word);
	wt_screen_put_row(row, WT_SCREEN_BAR, menu->title);
	for (size_t i = 0; i < shown; i++) {
		size_t at = first + i;
		bool is_selected = at == menu->selected;

		text[0] = '\0';
		if (at < menu->count)
			snprintf(text, sizeof(text), "%s %-*s  %s", is_selected ? ">" : " ",
			         (int)width, menu->items[at].word, menu->items[at].help);
		wt_screen_put_row(row + 1 + (unsigned)i,
		                  at < menu->count && is_selected ? WT_SCREEN_SELECTED
		                                                  : WT_SCREEN_PLAIN,
		                  text);
	}
}
