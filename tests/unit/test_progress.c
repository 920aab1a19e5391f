/*
 * test_progress.c - the line that says how far work has come: its text against lines written
 * by hand, and on a terminal of our own that it comes, is shortened and leaves nothing.
 */
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/progress.h"
#include "tests/tap.h"

#define S INT64_C(1000000000)

static void check_text(const char *unit, int64_t done, int64_t total, int64_t elapsed_ns,
                       const char *want)
{
	struct wt_progress progress = {
	        .what = "analyze", .unit = unit, .total = total, .done = done};
	char text[WT_PROGRESS_BYTES];

	wt_progress_format(&progress, elapsed_ns, text);
	is_str(text, want, want);
}

static void test_text(void)
{
	check_text("launches", 1215000, 2700000, 10 * S,
	           "analyze 45% 1.2 M of 2.7 M launches, 122 k/s, 12 s left");
	check_text("launches", 0, 2700000, 10 * S, "analyze 0% 0 of 2.7 M launches");
	check_text("files", 5, 10, 200 * S, "analyze 50% 5 of 10 files, 3 min left");
	check_text("files", 1, 1000, 20 * S, "analyze 0% 1 of 1.0 k files, 6 h left");
	check_text("launches", 999, 1000, S, "analyze 99% 999 of 1.0 k launches, 999/s, 1 s left");
	check_text("launches", 1000, 1000, S, "analyze 100% 1.0 k of 1.0 k launches, 1.0 k/s");
	check_text("launches", 2000, 1000, S, "analyze 2.0 k launches, 2.0 k/s");
	check_text("launches", 999499, 0, S, "analyze 999 k launches, 999 k/s");
	check_text("launches", 999500, 0, S, "analyze 1.0 M launches, 1.0 M/s");
	check_text("launches", INT64_MAX, 0, S, "analyze 9223372 T launches");
	check_text("bytes", 1536, 3072, 2 * S,
	           "analyze 50% 1.50 KiB of 3.00 KiB, 768 B/s, 2 s left");
	check_text("bytes", 7, 0, 2 * S, "analyze 7 B, 3 B/s");
	check_text("launches", 0, 0, S, "analyze 0 launches");
}

/* Everything that comes out of `fd` until its other side is closed. */
static size_t read_all(int fd, char *text, size_t text_bytes)
{
	size_t used = 0;

	for (;;) {
		ssize_t got = read(fd, text + used, text_bytes - 1 - used);

		if (got <= 0)
			break; /* a terminal without its other side: EIO */
		used += (size_t)got;
	}
	text[used] = '\0';
	return used;
}

/* What a child writes to the terminal whose other side `master` is; `columns` wide. */
static void in_terminal(int columns, void (*child_does)(int), char *text, size_t text_bytes)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY);
	struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)columns};
	pid_t child;

	text[0] = '\0';
	if (master < 0 || grantpt(master) || unlockpt(master) || ioctl(master, TIOCSWINSZ, &size))
		return;
	child = fork();
	if (child == 0) {
		int slave;

		setsid(); /* the first terminal it opens is its own then */
		slave = open(ptsname(master), O_RDWR);
		close(master);
		child_does(slave);
		_exit(0);
	}
	read_all(master, text, text_bytes);
	close(master);
	waitpid(child, NULL, 0);
}

static void work(int fd, bool is_late)
{
	struct wt_progress progress = {.what = "import", .unit = "launches", .total = 1000};

	wt_progress_begin_on(&progress, fd, is_late ? 3600 * S : 0);
	wt_progress_set(&progress, 250);
	wt_progress_hide();
	progress.next_ns = is_late ? progress.next_ns : 0;
	wt_progress_set(&progress, 500);
	progress.next_ns = is_late ? progress.next_ns : 0;
	progress.total = 0;
	wt_progress_set(&progress, 7); /* shorter: the rest is wiped */
	wt_progress_end(&progress);
	wt_progress_end(&progress);
	wt_progress_set(&progress, 8); /* after the end: nothing */
}

static void work_now(int fd)
{
	work(fd, false);
}

static void work_late(int fd)
{
	work(fd, true);
}

/* What a terminal shows at the end: \r goes back, all else overwrites. */
static void show(const char *text, char *screen, size_t screen_bytes)
{
	size_t at = 0, end = 0;

	memset(screen, ' ', screen_bytes);
	for (; *text; text++) {
		if (*text == '\r') {
			at = 0;
		} else if (at + 1 < screen_bytes) {
			screen[at++] = *text;
			end = at > end ? at : end;
		}
	}
	while (end && screen[end - 1] == ' ')
		end--;
	screen[end] = '\0';
}

static void test_terminal(void)
{
	char text[4096], screen[256], *last;

	in_terminal(80, work_now, text, sizeof(text));
	ok(strstr(text, "\rimport 25% 250 of 1.0 k launches") != NULL, "a terminal gets the line");
	ok(strstr(text, "\rimport 50% 500 of 1.0 k launches") != NULL, "and the next one");
	last = strstr(text, "import 7 launches");
	ok(last != NULL, "and one that is shorter");
	ok(strstr(text, "import 8") == NULL, "but none after the end");
	show(text, screen, sizeof(screen));
	is_str(screen, "", "nothing is left at the end");
	if (last) {
		size_t line = strcspn(last, "\r");

		last[line] = '\0';
		show(text, screen, sizeof(screen));
		is_str(screen, "import 7 launches", "a shorter line leaves nothing of the longer");
	}
	in_terminal(20, work_now, text, sizeof(text));
	ok(strstr(text, "\rimport 25% 250 of 1\r") != NULL, "cut off before the last column");
	in_terminal(80, work_late, text, sizeof(text));
	is_str(text, "", "nothing before its time");
}

static void test_no_terminal(void)
{
	struct wt_progress progress = {.what = "import", .unit = "launches", .total = 1000};
	char text[64] = "";
	int ends[2];

	if (pipe(ends))
		return;
	wt_progress_begin_on(&progress, ends[1], 0);
	wt_progress_set(&progress, 250);
	wt_progress_hide();
	wt_progress_end(&progress);
	close(ends[1]);
	read_all(ends[0], text, sizeof(text));
	is_str(text, "", "a pipe gets nothing");
	close(ends[0]);
}

/* The inner one is silent, and the outer one goes on. */
static void inside(int fd)
{
	struct wt_progress outer = {.what = "outer", .unit = "rows"};
	struct wt_progress inner = {.what = "inner", .unit = "rows"};

	wt_progress_begin_on(&outer, fd, 0);
	wt_progress_set(&outer, 1);
	wt_progress_begin_on(&inner, fd, 0);
	wt_progress_set(&inner, 2);
	wt_progress_end(&inner);
	outer.next_ns = 0;
	wt_progress_set(&outer, 3);
	wt_progress_end(&outer);
	wt_progress_begin_on(&inner, fd, 0);
	wt_progress_set(&inner, 4);
	wt_progress_end(&inner);
	wt_progress_forbid();
	wt_progress_begin_on(&inner, fd, 0);
	wt_progress_set(&inner, 5);
	wt_progress_end(&inner);
}

static void test_inside(void)
{
	char text[4096];

	in_terminal(80, inside, text, sizeof(text));
	ok(strstr(text, "outer 1 rows") && strstr(text, "outer 3 rows"), "the outer one is shown");
	ok(!strstr(text, "inner 2"), "one within it is not");
	ok(strstr(text, "inner 4 rows") != NULL, "after it, the next one is");
	ok(!strstr(text, "inner 5"), "none where somebody draws the screen");
}

int main(void)
{
	unsetenv("COLUMNS");
	alarm(120);
	test_text();
	test_terminal();
	test_no_terminal();
	test_inside();
	return tap_done();
}
