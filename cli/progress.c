/*
 * progress.c - see progress.h. Single-threaded; blocks as the terminal does.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/progress.h"
#include "cli/text.h"

#define SECOND_NS INT64_C(1000000000)
#define DELAY_NS SECOND_NS
#define INTERVAL_NS (SECOND_NS / 5)
#define RATE_AFTER_NS (SECOND_NS / 2) /* of less a rate says nothing */

/* What stands on the terminal, so that messages can take it away. */
static struct wt_progress *shown;
static const struct wt_progress *current; /* begun and not ended, on a terminal; compared alone */
static bool is_forbidden;

static int64_t clock_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * SECOND_NS + t.tv_nsec;
}

/* "950", "1.2 k", "12 M": as long as a bar can be; bytes as wt_text_bytes(). */
static void put_count(char text[WT_TEXT_NUMBER_BYTES], const char *unit, int64_t count)
{
	static const char *const units[] = {"", " k", " M", " G", " T"};
	double size = (double)count;
	size_t i = 0;

	if (!strcmp(unit, "bytes")) {
		wt_text_bytes(text, count < 0 ? 0 : (uint64_t)count);
		return;
	}
	for (; size >= 999.5 && i + 1 < sizeof(units) / sizeof(units[0]); i++)
		size /= 1000;
	snprintf(text, WT_TEXT_NUMBER_BYTES, "%.*f%s", i && size < 9.95 ? 1 : 0, size, units[i]);
}

static void put_left(char *text, size_t text_bytes, double left_s)
{
	if (left_s < 100)
		snprintf(text, text_bytes, ", %.0f s left", left_s < 1 ? 1 : left_s);
	else if (left_s < 100.0 * 60)
		snprintf(text, text_bytes, ", %.0f min left", left_s / 60);
	else if (left_s < 1e9)
		snprintf(text, text_bytes, ", %.0f h left", left_s / 3600);
	else
		text[0] = '\0';
}

/* ", 122 k/s": steadier than what is left. */
static void put_rate(char *text, size_t text_bytes, const struct wt_progress *progress,
                     int64_t elapsed_ns)
{
	bool is_uneven = !strcmp(progress->unit, "checks") || !strcmp(progress->unit, "files");
	double rate = elapsed_ns > 0 ? (double)progress->done * 1e9 / (double)elapsed_ns : 0;
	char number[WT_TEXT_NUMBER_BYTES];

	text[0] = '\0';
	if (is_uneven || elapsed_ns < RATE_AFTER_NS || rate < 1 || rate > 1e15)
		return;
	put_count(number, progress->unit, (int64_t)rate);
	snprintf(text, text_bytes, ", %s/s", number);
}

void wt_progress_format(const struct wt_progress *progress, int64_t elapsed_ns,
                        char text[WT_PROGRESS_BYTES])
{
	char done[WT_TEXT_NUMBER_BYTES], total[WT_TEXT_NUMBER_BYTES], left[48] = "";
	char rate[WT_TEXT_NUMBER_BYTES + 8];
	const char *unit = progress->unit;
	const char *gap = strcmp(unit, "bytes") ? " " : ""; /* KiB says what they are */
	int64_t at = progress->done;

	if (!*gap)
		unit = "";
	put_rate(rate, sizeof(rate), progress, elapsed_ns);
	/* A total that was passed was wrong. */
	if (progress->total <= 0 || at > progress->total) {
		put_count(done, progress->unit, at);
		snprintf(text, WT_PROGRESS_BYTES, "%s %s%s%s%s", progress->what, done, gap, unit,
		         rate);
		return;
	}
	put_count(done, progress->unit, at);
	put_count(total, progress->unit, progress->total);
	if (at > 0 && at < progress->total)
		put_left(left, sizeof(left),
		         (double)elapsed_ns / 1e9 * (double)(progress->total - at) / (double)at);
	/* Cut off, not rounded: 100% is when it is done. */
	snprintf(text, WT_PROGRESS_BYTES, "%s %d%% %s of %s%s%s%s%s", progress->what,
	         (int)((double)at * 100 / (double)progress->total), done, total, gap, unit, rate,
	         left);
}

/* In the background a line would land in the middle of somebody else's. */
static bool is_wanted_on(int fd)
{
	return isatty(fd) && tcgetpgrp(fd) == getpgrp();
}

static void put(const struct wt_progress *progress, const char *text)
{
	if (write(progress->fd, text, strlen(text)) < 0)
		return; /* nobody is there to tell */
}

/* Blanks rather than a control sequence: any terminal knows them. */
static void wipe(struct wt_progress *progress)
{
	char blanks[WT_PROGRESS_BYTES + 8];

	if (progress->shown_columns) {
		snprintf(blanks, sizeof(blanks), "\r%*s\r", (int)progress->shown_columns, "");
		put(progress, blanks);
	}
	progress->shown_columns = 0;
	if (shown == progress)
		shown = NULL;
}

static void draw(struct wt_progress *progress, int64_t now_ns)
{
	char text[WT_PROGRESS_BYTES], line[2 * WT_PROGRESS_BYTES];
	struct wt_text_terminal terminal;
	size_t columns;

	progress->next_ns = now_ns + INTERVAL_NS;
	if (tcgetpgrp(progress->fd) != getpgrp()) /* sent to the background since */
		return;
	wt_progress_format(progress, now_ns - progress->started_ns, text);
	/* The window may have changed. In the last column some terminals would break the line. */
	wt_text_terminal_probe(progress->fd, &terminal);
	columns = terminal.width_columns;
	if (columns && strlen(text) >= columns)
		text[columns - 1] = '\0';
	columns = strlen(text);
	/* What was longer before is overwritten by blanks. */
	snprintf(line, sizeof(line), "\r%s%*s", text,
	         progress->shown_columns > columns ? (int)(progress->shown_columns - columns) : 0,
	         "");
	put(progress, line);
	if (progress->shown_columns < columns)
		progress->shown_columns = columns;
	shown = progress;
}

void wt_progress_begin_on(struct wt_progress *progress, int fd, int64_t delay_ns)
{
	progress->done = 0;
	progress->shown_columns = 0;
	progress->fd = !is_forbidden && !current && is_wanted_on(fd) ? fd : -1;
	if (progress->fd >= 0)
		current = progress;
	progress->started_ns = clock_now_ns();
	progress->next_ns = progress->started_ns + delay_ns;
}

void wt_progress_begin(struct wt_progress *progress, const char *what, const char *unit,
                       int64_t total)
{
	*progress = (struct wt_progress){.what = what, .unit = unit, .total = total};
	wt_progress_begin_on(progress, STDERR_FILENO, DELAY_NS);
}

void wt_progress_set(struct wt_progress *progress, int64_t done)
{
	int64_t now_ns;

	progress->done = done;
	if (progress->fd < 0)
		return;
	now_ns = clock_now_ns();
	if (now_ns >= progress->next_ns)
		draw(progress, now_ns);
}

void wt_progress_start(struct wt_progress *progress)
{
	progress->started_ns = clock_now_ns();
}

void wt_progress_end(struct wt_progress *progress)
{
	if (progress->fd >= 0)
		wipe(progress);
	progress->fd = -1;
	if (current == progress)
		current = NULL;
}

void wt_progress_forbid(void)
{
	wt_progress_hide();
	is_forbidden = true;
}

void wt_progress_hide(void)
{
	if (shown)
		wipe(shown);
}
