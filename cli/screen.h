/*
 * screen.h - a terminal as a whole: rows of text, keys, its size and its signals. The one place that
 * knows of ncurses (screen.c); a wavetap built without has screen_none.c, which can't be opened.
 *
 * Nothing that is put can command the terminal: all text is escaped (wt_text_escape) and cut at the
 * right edge. While the screen is open, signals that end or stop a program or tell of a new size are blocked
 * and come as events, and what others write to a stderr that is a terminal goes nowhere. One screen a process;
 * single-threaded; wt_screen_wait() blocks, and drawing as the terminal does.
 */
#ifndef WT_CLI_SCREEN_H
#define WT_CLI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wt_screen_style {
	WT_SCREEN_PLAIN,
	WT_SCREEN_STRONG,
	WT_SCREEN_BAR, /* title, headings: reverse */
	WT_SCREEN_SELECTED,
	WT_SCREEN_WARNING,
	WT_SCREEN_ACTIVE, /* from here on: plain without colours */
	WT_SCREEN_IDLE,
	WT_SCREEN_UNJUDGED,
	WT_SCREEN_GAP_HOST,
	WT_SCREEN_GAP_QUEUE,
	WT_SCREEN_GAP_WAIT,
	WT_SCREEN_GAP_OTHER,
	WT_SCREEN_STYLES
};

/* Keys that are no byte. */
enum wt_screen_key {
	WT_KEY_UP = 1000,
	WT_KEY_DOWN,
	WT_KEY_LEFT,
	WT_KEY_RIGHT,
	WT_KEY_PAGE_UP,
	WT_KEY_PAGE_DOWN,
	WT_KEY_HOME,
	WT_KEY_END,
	WT_KEY_ENTER,
	WT_KEY_BACKSPACE,
	WT_KEY_ESCAPE,
	WT_KEY_OTHER,
};

enum wt_screen_event {
	WT_SCREEN_TIMEOUT,
	WT_SCREEN_KEY,
	WT_SCREEN_REDRAW, /* the size changed, or somebody else may have written */
	WT_SCREEN_CLOSED, /* by a signal, or the terminal went away */
};

/* Can it be opened, as far as is known beforehand? As wt_screen_open(). */
int wt_screen_check(char *why, size_t why_bytes);

/* 0, or -errno and why in words: -ENOTTY: no terminal, -ENOSYS: built without, -ENODEV: one that can't do it. */
int wt_screen_open(bool wants_colour, char *why, size_t why_bytes);

/* As before it was opened. */
void wt_screen_close(void);

/* After wt_screen_close(), and when all is tidy: ends the process by the signal that ended the view, if one did. */
void wt_screen_end_as_told(void);

unsigned wt_screen_rows(void);
unsigned wt_screen_columns(void);
bool wt_screen_is_utf8(void);
bool wt_screen_has_colour(void);

/* Drawing: nothing is seen before wt_screen_show(). `put` returns the column behind the text. */
void wt_screen_clear(void);
unsigned wt_screen_put(unsigned row, unsigned column, enum wt_screen_style style, const char *text);
/* A whole row: the text, and blanks of the same style up to the edge. */
void wt_screen_put_row(unsigned row, enum wt_screen_style style, const char *text);
/* Where the cursor stands; column WT_SCREEN_NO_CURSOR: it is not shown. */
#define WT_SCREEN_NO_CURSOR (~0u)
void wt_screen_cursor(unsigned row, unsigned column);
void wt_screen_show(void);
/* The next one draws all of it, whatever is believed to stand there. */
void wt_screen_repaint(void);

/* Waits for at most timeout_ms (< 0: for ever). Keys: a byte, or enum wt_screen_key. */
enum wt_screen_event wt_screen_wait(int timeout_ms, int *ret_key);

/* Is there something that wt_screen_wait() would return at once? For long work. */
bool wt_screen_is_called(void);

#endif /* WT_CLI_SCREEN_H */
