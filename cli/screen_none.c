/*
 * screen_none.c - see screen.h: of a wavetap that was built without ncurses. Never blocks.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/screen.h"

int wt_screen_check(char *why, size_t why_bytes)
{
	snprintf(why, why_bytes,
	         "this wavetap was built without ncurses (Debian: install libncurses-dev, then "
	         "build it "
	         "again)");
	return -ENOSYS;
}

int wt_screen_open(bool wants_colour, char *why, size_t why_bytes)
{
	(void)wants_colour;
	return wt_screen_check(why, why_bytes);
}

void wt_screen_close(void)
{
}

void wt_screen_end_as_told(void)
{
}

unsigned wt_screen_rows(void)
{
	return 0;
}

unsigned wt_screen_columns(void)
{
	return 0;
}

bool wt_screen_is_utf8(void)
{
	return false;
}

bool wt_screen_has_colour(void)
{
	return false;
}

void wt_screen_clear(void)
{
}

unsigned wt_screen_put(unsigned row, unsigned column, enum wt_screen_style style, const char *text)
{
	(void)row;
	(void)style;
	(void)text;
	return column;
}

void wt_screen_put_row(unsigned row, enum wt_screen_style style, const char *text)
{
	(void)row;
	(void)style;
	(void)text;
}

void wt_screen_cursor(unsigned row, unsigned column)
{
	(void)row;
	(void)column;
}

void wt_screen_show(void)
{
}

enum wt_screen_event wt_screen_wait(int timeout_ms, int *ret_key)
{
	(void)timeout_ms;
	(void)ret_key;
	return WT_SCREEN_CLOSED;
}

bool wt_screen_is_called(void)
{
	return false;
}

void wt_screen_repaint(void)
{
}
