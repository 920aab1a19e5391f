/*
 * watch_text.c - see watch_text.h. Single-threaded; blocks on the terminal and as the text does.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/watch_pace.h"
#include "cli/watch_text.h"
#include "cli/watch_view.h"

struct view {
	const struct wt_watch_text *text;
	struct wt_pager pager;
	struct wt_watch_pace pace;
	int64_t next_ns, made_s;
	unsigned columns; /* that the lines are for */
	bool is_frozen;
	char problem[400];
};

int wt_watch_open_screen(const char *command, bool has_no_colour)
{
	struct wt_text_terminal terminal;
	char why[200];
	int rc = wt_screen_check(why, sizeof(why));

	wt_text_terminal_probe(STDOUT_FILENO, &terminal);
	if (!rc)
		rc = wt_screen_open(terminal.has_colour && !has_no_colour, why, sizeof(why));
	if (rc == -ENOTTY)
		return wt_cli_usage_error(command, "--watch %s", why);
	if (rc)
		wt_cli_error("--watch: %s", why);
	return rc ? WT_EXIT_FAILED : WT_EXIT_FINE;
}

static void make(struct view *view)
{
	struct wt_text_terminal terminal;
	int64_t began_ns = wt_watch_now_ns();
	FILE *out = wt_lines_begin(&view->pager.lines);
	int rc = -ENOMEM;

	view->columns = wt_screen_columns();
	wt_watch_terminal(&terminal, view->columns);
	wt_cli_divert_errors(view->problem, sizeof(view->problem));
	if (out)
		rc = view->text->print(view->text->arg, out, &terminal);
	wt_cli_divert_errors(NULL, 0);
	if (wt_lines_end(&view->pager.lines))
		rc = -ENOMEM;
	if (rc && !view->problem[0])
		snprintf(view->problem, sizeof(view->problem), "%s", strerror(-rc));
	view->made_s = (int64_t)time(NULL);
	view->pace.took_ns = wt_watch_now_ns() - began_ns;
	view->next_ns = began_ns + wt_watch_pace_ns(&view->pace);
}

static size_t body_rows(void)
{
	return wt_screen_rows() - 3;
}

static void draw(struct view *view)
{
	char right[160], a[WT_TEXT_NUMBER_BYTES], clock[WT_TEXT_NUMBER_BYTES];
	char where[WT_TEXT_NUMBER_BYTES];

	if (!wt_watch_has_room())
		return;
	wt_screen_clear();
	wt_screen_cursor(0, WT_SCREEN_NO_CURSOR);
	wt_pager_draw(&view->pager, 1, body_rows());
	wt_pager_where(&view->pager, body_rows(), where);
	snprintf(right, sizeof(right), "%s%s%s%s  %s", where, where[0] ? "  " : "",
	         view->is_frozen ? "FROZEN" : "every ",
	         view->is_frozen ? "" : wt_text_ns(a, wt_watch_pace_ns(&view->pace)),
	         wt_watch_clock(clock, view->made_s));
	wt_watch_title(view->text->title, right);
	wt_screen_put(wt_screen_rows() - 2, 0, WT_SCREEN_WARNING, view->problem);
	wt_screen_put_row(wt_screen_rows() - 1, WT_SCREEN_BAR,
	                  "q quit  space freeze  arrows PgUp PgDn Home End");
	wt_screen_show();
}

/* False: it ends the view. */
static bool take_key(struct view *view, int key)
{
	if (key == 'q' || key == 'Q')
		return false;
	if (!wt_watch_has_room())
		return true;
	if (key == ' ' || key == 'f') {
		view->is_frozen = !view->is_frozen;
		view->next_ns = 0;
	} else if (key == 'r' && !view->is_frozen) {
		view->next_ns = 0;
	} else if (key == 'L' - '@') {
		wt_screen_repaint();
	} else {
		(void)wt_pager_key(&view->pager, key, body_rows());
	}
	return true;
}

static int timeout_ms(const struct view *view)
{
	int64_t left_ns = view->next_ns - wt_watch_now_ns();

	if (view->is_frozen)
		return -1;
	if (left_ns <= 0)
		return 0;
	return left_ns / 1000000 < INT_MAX ? (int)(left_ns / 1000000) + 1 : INT_MAX;
}

/* One event, and the keys behind it. False: the end. */
static bool handle(struct view *view)
{
	int key = 0, wait_ms = timeout_ms(view);

	for (;; wait_ms = 0)
		switch (wt_screen_wait(wait_ms, &key)) {
		case WT_SCREEN_CLOSED:
			return false;
		case WT_SCREEN_KEY:
			if (!take_key(view, key))
				return false;
			break;
		case WT_SCREEN_REDRAW:
			break;
		case WT_SCREEN_TIMEOUT:
			return true;
		}
}

int wt_watch_text(const struct wt_watch_text *text)
{
	struct view view = {.text = text, .pace = {.interval_ns = text->interval_ns}};
	int code = wt_watch_open_screen(text->command, text->has_no_colour);

	if (code)
		return code;
	do {
		bool is_due = !view.is_frozen && wt_watch_now_ns() >= view.next_ns;

		if (is_due || view.columns != wt_screen_columns())
			make(&view);
		draw(&view);
	} while (handle(&view));
	wt_screen_close();
	wt_lines_fini(&view.pager.lines);
	wt_screen_end_as_told();
	return WT_EXIT_FINE;
}
