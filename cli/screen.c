/*
 * screen.c - see screen.h: over ncurses. Single-threaded; blocks on the terminal.
 *
 * No signal handler: signals are blocked and read from a descriptor, beside the keys.
 */
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <curses.h>

#include "cli/progress.h"
#include "cli/screen.h"
#include "cli/text.h"

#define ESCAPE_MS 50 /* a key that begins with ESC has come by then, over a slow line too */

static const int end_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static const int other_signals[] = {SIGTSTP, SIGCONT, SIGWINCH};

/* The one terminal. */
static struct {
	SCREEN *screen;
	bool has_colour, is_utf8;
	int signal_fd; /* with `screen` */
	int stderr_copy; /* -1: stderr is no terminal, and left alone */
	sigset_t former;
	int ended_by; /* a signal; 0: none */
	unsigned cursor_row, cursor_column;
} the;

/* ---- opening */

/* UTF-8 where the environment asks for it and the C library can: ncurses goes by the latter. */
static bool choose_locale(void)
{
	struct wt_text_terminal terminal;

	wt_text_terminal_probe(STDOUT_FILENO, &terminal);
	(void)setlocale(LC_CTYPE, "");
	if (!terminal.is_utf8)
		return false;
	if (!strcmp(nl_langinfo(CODESET), "UTF-8"))
		return true;
	return setlocale(LC_CTYPE, "C.UTF-8") && !strcmp(nl_langinfo(CODESET), "UTF-8");
}

/* Those that nobody chose to ignore. */
static void add_signals(sigset_t *set, const int *signals, size_t count)
{
	struct sigaction action;

	for (size_t i = 0; i < count; i++)
		if (!sigaction(signals[i], NULL, &action) && action.sa_handler != SIG_IGN)
			sigaddset(set, signals[i]);
}

static int take_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	add_signals(&set, end_signals, sizeof(end_signals) / sizeof(end_signals[0]));
	add_signals(&set, other_signals, sizeof(other_signals) / sizeof(other_signals[0]));
	if (sigprocmask(SIG_BLOCK, &set, &the.former))
		return -errno;
	the.signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (the.signal_fd < 0) {
		int rc = -errno;

		sigprocmask(SIG_SETMASK, &the.former, NULL);
		return rc;
	}
	return 0;
}

static void give_signals_back(void)
{
	close(the.signal_fd);
	/* ncurses put handlers of its own there, for which nothing is left to do. */
	for (size_t i = 0; i < sizeof(end_signals) / sizeof(end_signals[0]); i++)
		if (!sigismember(&the.former, end_signals[i])) {
			struct sigaction action;

			if (!sigaction(end_signals[i], NULL, &action) &&
			    action.sa_handler != SIG_IGN)
				signal(end_signals[i], SIG_DFL);
		}
	signal(SIGTSTP, SIG_DFL);
	signal(SIGWINCH, SIG_DFL);
	sigprocmask(SIG_SETMASK, &the.former, NULL);
}

/* Messages of libraries would land in the middle of the picture. */
static void silence_stderr(void)
{
	int null;

	the.stderr_copy = -1;
	if (isatty(STDERR_FILENO) != 1)
		return;
	null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (null < 0)
		return;
	the.stderr_copy = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (the.stderr_copy >= 0)
		(void)dup2(null, STDERR_FILENO);
	close(null);
}

static void restore_stderr(void)
{
	if (the.stderr_copy < 0)
		return;
	fflush(stderr);
	(void)dup2(the.stderr_copy, STDERR_FILENO);
	close(the.stderr_copy);
	the.stderr_copy = -1;
}

static void choose_colours(bool wants_colour)
{
	static const short colours[WT_SCREEN_STYLES] = {
	        [WT_SCREEN_WARNING] = COLOR_YELLOW, [WT_SCREEN_ACTIVE] = COLOR_GREEN,
	        [WT_SCREEN_IDLE] = COLOR_YELLOW,    [WT_SCREEN_UNJUDGED] = COLOR_WHITE,
	        [WT_SCREEN_GAP_HOST] = COLOR_RED,   [WT_SCREEN_GAP_QUEUE] = COLOR_MAGENTA,
	        [WT_SCREEN_GAP_WAIT] = COLOR_CYAN,  [WT_SCREEN_GAP_OTHER] = COLOR_BLUE,
	};

	the.has_colour = wants_colour && has_colors() && start_color() == OK;
	if (!the.has_colour)
		return;
	(void)use_default_colors();
	for (int i = WT_SCREEN_WARNING; i < WT_SCREEN_STYLES; i++)
		(void)init_pair((short)i, colours[i], -1);
}

/* What can't place the cursor can't show a screen. */
static bool can_place_cursor(void)
{
	const char *text = tigetstr("cup");

	return text && text != (const char *)-1;
}

int wt_screen_check(char *why, size_t why_bytes)
{
	if (isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1)
		return 0;
	snprintf(why, why_bytes, "needs a terminal as input and output");
	return -ENOTTY;
}

int wt_screen_open(bool wants_colour, char *why, size_t why_bytes)
{
	const char *type = getenv("TERM");
	int rc = wt_screen_check(why, why_bytes);

	if (rc)
		return rc;
	the.is_utf8 = choose_locale();
	rc = take_signals();
	if (rc) {
		snprintf(why, why_bytes, "signals: %s", strerror(-rc));
		return rc;
	}
	wt_progress_forbid();
	the.screen = newterm(NULL, stdout, stdin);
	if (!the.screen || !can_place_cursor()) {
		if (the.screen) {
			endwin();
			delscreen(the.screen);
		}
		the.screen = NULL;
		give_signals_back();
		snprintf(why, why_bytes, "a terminal of type \"%s\" (TERM) can't show it",
		         type ? type : "");
		return -ENODEV;
	}
	silence_stderr();
	cbreak();
	noecho();
	nonl();
	intrflush(stdscr, FALSE);
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(ESCAPE_MS);
	choose_colours(wants_colour);
	the.ended_by = 0;
	wt_screen_cursor(0, WT_SCREEN_NO_CURSOR);
	return 0;
}

void wt_screen_close(void)
{
	if (!the.screen)
		return;
	endwin();
	delscreen(the.screen);
	the.screen = NULL;
	restore_stderr();
	give_signals_back();
}

void wt_screen_end_as_told(void)
{
	if (the.ended_by)
		raise(the.ended_by);
}

unsigned wt_screen_rows(void)
{
	return LINES > 0 ? (unsigned)LINES : 0;
}

unsigned wt_screen_columns(void)
{
	return COLS > 0 ? (unsigned)COLS : 0;
}

bool wt_screen_is_utf8(void)
{
	return the.is_utf8;
}

bool wt_screen_has_colour(void)
{
	return the.has_colour;
}

/* ---- drawing */

static attr_t attribute_of(enum wt_screen_style style)
{
	attr_t attribute = A_NORMAL;

	if (style == WT_SCREEN_STRONG || style == WT_SCREEN_WARNING)
		attribute = A_BOLD;
	else if (style == WT_SCREEN_BAR || style == WT_SCREEN_SELECTED)
		attribute = A_REVERSE;
	if (the.has_colour && style >= WT_SCREEN_WARNING)
		attribute |= (attr_t)COLOR_PAIR(style);
	return attribute;
}

void wt_screen_clear(void)
{
	erase();
}

/* The bytes of `text` that fit into `room` columns; what they take. */
static size_t cut(const char *text, unsigned room, unsigned *ret_columns)
{
	size_t bytes = strlen(text), at = 0;
	unsigned used = 0;

	while (at < bytes) {
		char one[8] = {0};
		uint32_t code;
		size_t length = wt_text_decode(text + at, bytes - at, &code);
		unsigned width;

		memcpy(one, text + at, length);
		width = (unsigned)wt_text_width(one);
		if (used + width > room)
			break;
		used += width;
		at += length;
	}
	*ret_columns = used;
	return at;
}

unsigned wt_screen_put(unsigned row, unsigned column, enum wt_screen_style style, const char *text)
{
	unsigned used = 0;
	char *safe;

	if (row >= wt_screen_rows() || column >= wt_screen_columns())
		return column;
	safe = wt_text_escape(text, the.is_utf8);
	if (safe) {
		size_t length = cut(safe, wt_screen_columns() - column, &used);

		attrset(attribute_of(style));
		(void)mvaddnstr((int)row, (int)column, safe, (int)length);
		attrset(A_NORMAL);
	}
	free(safe);
	return column + used;
}

void wt_screen_put_row(unsigned row, enum wt_screen_style style, const char *text)
{
	unsigned column = wt_screen_put(row, 0, style, text);

	attrset(attribute_of(style));
	for (; row < wt_screen_rows() && column < wt_screen_columns(); column++)
		(void)mvaddch((int)row, (int)column, ' ');
	attrset(A_NORMAL);
}

void wt_screen_cursor(unsigned row, unsigned column)
{
	the.cursor_row = row;
	the.cursor_column = column;
}

void wt_screen_show(void)
{
	bool is_shown = the.cursor_column < wt_screen_columns();

	(void)curs_set(is_shown);
	if (is_shown)
		(void)move((int)the.cursor_row, (int)the.cursor_column);
	refresh();
}

void wt_screen_repaint(void)
{
	clearok(curscr, TRUE);
}

/* ---- events */

static void take_size(void)
{
	struct winsize size;

	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_row && size.ws_col)
		(void)resizeterm(size.ws_row, size.ws_col);
}

/* As ^Z or kill -TSTP want it; goes on here when somebody continues us. */
static void stop(void)
{
	sigset_t set;

	endwin();
	signal(SIGTSTP, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

/* Another program may have had the terminal: its modes and all of the picture again. */
static void take_back(void)
{
	endwin();
	take_size();
	clearok(curscr, TRUE);
	refresh();
}

static enum wt_screen_event take_signal(void)
{
	struct signalfd_siginfo info;

	if (read(the.signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return WT_SCREEN_TIMEOUT;
	switch ((int)info.ssi_signo) {
	case SIGWINCH:
		take_size();
		break;
	case SIGTSTP:
		stop();
		take_back();
		break;
	case SIGCONT:
		take_back();
		break;
	default:
		the.ended_by = (int)info.ssi_signo;
		return WT_SCREEN_CLOSED;
	}
	return WT_SCREEN_REDRAW;
}

static int key_of(int code)
{
	static const struct {
		int code, key;
	} keys[] = {
	        {KEY_UP, WT_KEY_UP},         {KEY_DOWN, WT_KEY_DOWN},
	        {KEY_LEFT, WT_KEY_LEFT},     {KEY_RIGHT, WT_KEY_RIGHT},
	        {KEY_HOME, WT_KEY_HOME},     {KEY_END, WT_KEY_END},
	        {KEY_PPAGE, WT_KEY_PAGE_UP}, {KEY_NPAGE, WT_KEY_PAGE_DOWN},
	        {KEY_ENTER, WT_KEY_ENTER},   {'\r', WT_KEY_ENTER},
	        {'\n', WT_KEY_ENTER},        {KEY_BACKSPACE, WT_KEY_BACKSPACE},
	        {0x7f, WT_KEY_BACKSPACE},    {'\b', WT_KEY_BACKSPACE},
	        {0x1b, WT_KEY_ESCAPE},
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].code == code)
			return keys[i].key;
	return code < 256 ? code : WT_KEY_OTHER;
}

static enum wt_screen_event take_key(int *ret_key)
{
	int code = getch();

	if (code == ERR)
		return WT_SCREEN_TIMEOUT;
	if (code == KEY_RESIZE)
		return WT_SCREEN_REDRAW;
	*ret_key = key_of(code);
	return WT_SCREEN_KEY;
}

static int poll_both(struct pollfd fds[2], int timeout_ms)
{
	fds[0] = (struct pollfd){.fd = the.signal_fd, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
	return poll(fds, 2, timeout_ms);
}

enum wt_screen_event wt_screen_wait(int timeout_ms, int *ret_key)
{
	enum wt_screen_event event;
	struct pollfd fds[2];

	/* Keys that ncurses has read already. */
	event = take_key(ret_key);
	if (event != WT_SCREEN_TIMEOUT)
		return event;
	if (poll_both(fds, timeout_ms) <= 0)
		return WT_SCREEN_TIMEOUT;
	if (fds[0].revents)
		return take_signal();
	event = take_key(ret_key);
	/* Nothing to read, and ready: the other side is closed. */
	if (event == WT_SCREEN_TIMEOUT && fds[1].revents & (POLLHUP | POLLERR | POLLNVAL))
		event = WT_SCREEN_CLOSED;
	return event;
}

bool wt_screen_is_called(void)
{
	struct pollfd fds[2];

	return the.screen && poll_both(fds, 0) > 0;
}
