/*
 * test_watch.c - what views are made of, without a terminal: bars sum to their width whatever their parts, lines
 * of a printed text, how often a view is read. Single-threaded.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text.h"
#include "cli/text_lines.h"
#include "cli/watch_bar.h"
#include "cli/watch_pace.h"
#include "tests/tap.h"

static unsigned sum_of(const unsigned *columns, size_t count)
{
	unsigned sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += columns[i];
	return sum;
}

/* Columns of one example, by hand. */
static void test_example(void)
{
	const struct wt_bar_part parts[] = {{50, "active", WT_BAR_FULL, 'A'},
	                                    {0, "underfill", WT_BAR_DARK, 'U'},
	                                    {0.1, "wave", WT_BAR_DARK, 'W'},
	                                    {37.4, "host", WT_BAR_LIGHT, 'h'},
	                                    {12.5, "launch", WT_BAR_LIGHT, 'l'}};
	unsigned columns[5];
	char text[WT_BAR_TEXT_BYTES];

	wt_bar_layout(parts, 5, 40, columns);
	ok(columns[0] == 20 && !columns[1] && !columns[2] && columns[3] == 15 && columns[4] == 5,
	   "50, 0, 0.1, 37.4 and 12.5%% of 40 columns: %u %u %u %u %u", columns[0], columns[1],
	   columns[2], columns[3], columns[4]);
	ok(!strcmp(wt_bar_text(&parts[3], 8, false, text), "host hhh"), "ASCII with a name: %s",
	   text);
	ok(!strcmp(wt_bar_text(&parts[3], 5, false, text), "hhhhh"), "ASCII, no room for it: %s",
	   text);
	ok(!strcmp(wt_bar_text(&parts[3], 7, true, text), "host\u2591\u2591\u2591"),
	   "UTF-8 with a name: %s", text);
	ok(!strcmp(wt_bar_text(&parts[3], 3, true, text), "h\u2591\u2591"), "with a letter: %s",
	   text);
	ok(!strcmp(wt_bar_text(&parts[0], 3, true, text), "\u2588\u2588\u2588"), "solid: %s", text);
	ok(!strcmp(wt_bar_text(&parts[0], 8, false, text), "active A"), "solid in ASCII: %s", text);
	ok(!strcmp(wt_bar_text(&parts[3], 0, true, text), ""), "no columns: no text");
}

/* Random parts, some 0, below 0, no numbers, tiny and huge. */
static double random_value(void)
{
	switch (rand() % 8) {
	case 0:
		return 0;
	case 1:
		return -1e9;
	case 2:
		return NAN;
	case 3:
		return 1e-9;
	case 4:
		return (double)rand() * 1e12;
	default:
		return (double)(rand() % 1000);
	}
}

static void test_random(void)
{
	struct wt_bar_part parts[WT_BAR_PARTS_MAX];
	unsigned columns[WT_BAR_PARTS_MAX];
	int wrong_sum = 0, wrong_share = 0, wrong_text = 0;
	char text[WT_BAR_TEXT_BYTES];

	srand(8);
	for (int round = 0; round < 20000; round++) {
		size_t count = (size_t)(rand() % WT_BAR_PARTS_MAX) + 1;
		unsigned width = (unsigned)(rand() % 251);
		double whole = 0;

		for (size_t i = 0; i < count; i++) {
			parts[i] = (struct wt_bar_part){random_value(), "a name",
			                                (enum wt_bar_shade)(i % 3),
			                                (char)('a' + i % 26)};
			whole += parts[i].value > 0 ? parts[i].value : 0;
		}
		wt_bar_layout(parts, count, width, columns);
		wrong_sum += sum_of(columns, count) != (whole > 0 ? width : 0);
		for (size_t i = 0; i < count && whole > 0; i++) {
			double share = parts[i].value > 0 ? parts[i].value / whole * width : 0;

			wrong_share += fabs(share - columns[i]) >= 1.000001;
		}
		if (round % 20)
			continue;
		for (size_t i = 0; i < count; i++)
			for (int is_utf8 = 0; is_utf8 < 2; is_utf8++)
				wrong_text +=
				        wt_text_width(wt_bar_text(&parts[i], columns[i], is_utf8,
				                                  text)) != columns[i];
	}
	ok(!wrong_sum, "20,000 bars: columns sum to the width (%d do not)", wrong_sum);
	ok(!wrong_share, "each part within a column of its share (%d not)", wrong_share);
	ok(!wrong_text, "and its text is as wide (%d not)", wrong_text);
}

static void test_bounds(void)
{
	struct wt_bar_part parts[WT_BAR_PARTS_MAX + 1];
	unsigned columns[WT_BAR_PARTS_MAX + 1];
	char text[WT_BAR_TEXT_BYTES];

	for (size_t i = 0; i <= WT_BAR_PARTS_MAX; i++)
		parts[i] = (struct wt_bar_part){1, "x", WT_BAR_LIGHT, 'x'};
	wt_bar_layout(parts, WT_BAR_PARTS_MAX + 1, 10, columns);
	ok(!sum_of(columns, WT_BAR_PARTS_MAX + 1), "too many parts: none");
	wt_bar_layout(parts, 2, WT_BAR_COLUMNS_MAX + 1, columns);
	ok(!sum_of(columns, 2), "too wide: none");
	wt_bar_layout(parts, 1, WT_BAR_COLUMNS_MAX, columns);
	ok(columns[0] == WT_BAR_COLUMNS_MAX &&
	           wt_text_width(wt_bar_text(&parts[0], columns[0], true, text)) ==
	                   WT_BAR_COLUMNS_MAX,
	   "as wide as can be");
	ok(!*wt_bar_text(&parts[0], WT_BAR_COLUMNS_MAX + 1, true, text), "text too wide: none");
}

static void test_lines(void)
{
	struct wt_lines lines = {0};
	FILE *out = wt_lines_begin(&lines);

	fputs("one\n\nthree\nno end", out);
	ok(!wt_lines_end(&lines) && lines.count == 4 && !strcmp(lines.line[0], "one") &&
	           !*lines.line[1] && !strcmp(lines.line[3], "no end"),
	   "lines, an empty one and one without end");
	out = wt_lines_begin(&lines);
	ok(out && !wt_lines_end(&lines) && !lines.count, "again, with nothing");
	wt_lines_fini(&lines);
	wt_lines_fini(&lines);
	ok(!lines.count, "freed twice");
}

static void test_pace(void)
{
	struct wt_watch_pace pace = {.interval_ns = 1000000000};

	ok(wt_watch_pace_ns(&pace) == 1000000000 && !wt_watch_pace_is_slowed(&pace),
	   "nothing read yet: as asked for");
	pace.took_ns = 200000000;
	ok(wt_watch_pace_ns(&pace) == 1000000000 && !wt_watch_pace_is_slowed(&pace),
	   "a fifth of it: as asked for");
	pace.took_ns = 800000000;
	ok(wt_watch_pace_ns(&pace) == 4000000000 && wt_watch_pace_is_slowed(&pace),
	   "more: five times what it takes");
	pace.took_ns = INT64_MAX / 2;
	ok(wt_watch_pace_ns(&pace) == INT64_MAX, "for ever: no overflow");
}

int main(void)
{
	test_example();
	test_random();
	test_bounds();
	test_lines();
	test_pace();
	return tap_done();
}
