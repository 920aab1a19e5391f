/*
 * test_text.c - cli/text.h, cli/json.h and cli/table.h: terminal detection,
 * hostile text, widths, number formats, JSON syntax and table layouts.
 * One thread; writes to memory only, but for one failing write to /dev/full.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "cli/json.h"
#include "cli/table.h"
#include "cli/text.h"
#include "tests/tap.h"

static const struct wt_text_terminal plain = {.is_utf8 = true};

/* is_str for a malloc'd result */
#define is_made(made, want, what)                                                                  \
	do {                                                                                       \
		char *made_text = (made);                                                          \
		is_str(made_text, want, what);                                                     \
		free(made_text);                                                                   \
	} while (0)

static void test_terminal(void)
{
	struct wt_text_terminal t;
	int fd[2];

	if (pipe(fd) != 0) {
		ok(false, "a pipe");
		return;
	}
	unsetenv("COLUMNS");
	unsetenv("NO_COLOR");
	unsetenv("WAVETAP_COLOR");
	unsetenv("LC_ALL");
	unsetenv("LC_CTYPE");
	setenv("LANG", "C.UTF-8", 1);
	setenv("TERM", "xterm", 1);
	wt_text_terminal_probe(fd[1], &t);
	ok(!t.is_tty && !t.has_colour && t.is_utf8, "a pipe has no colour");
	is_i64(t.width_columns, 0, "a pipe has no width");
	setenv("COLUMNS", "100", 1);
	setenv("WAVETAP_COLOR", "always", 1);
	setenv("LC_ALL", "C", 1);
	wt_text_terminal_probe(fd[1], &t);
	ok(t.has_colour && !t.is_utf8,
	   "WAVETAP_COLOR=always forces colour, LC_ALL comes before LANG");
	is_i64(t.width_columns, 100, "COLUMNS counts in a pipe");
	setenv("COLUMNS", "-5", 1);
	wt_text_terminal_probe(fd[1], &t);
	is_i64(t.width_columns, 0, "a senseless COLUMNS is ignored");
	unsetenv("COLUMNS");
	unsetenv("WAVETAP_COLOR");
	close(fd[0]);
	close(fd[1]);
}

static void test_terminal_pty(void)
{
	struct wt_text_terminal t;
	int fd = posix_openpt(O_RDWR | O_NOCTTY);
	int end = fd >= 0 && !grantpt(fd) && !unlockpt(fd) ? open(ptsname(fd), O_RDWR | O_NOCTTY)
	                                                   : -1;

	if (end < 0) {
		ok(true, "terminal # SKIP no pseudo terminal here");
		if (fd >= 0)
			close(fd);
		return;
	}
	wt_text_terminal_probe(end, &t);
	ok(t.is_tty && t.has_colour, "a terminal has colour");
	is_i64(t.width_columns, 80, "a terminal without a size has 80 columns");
	setenv("NO_COLOR", "1", 1);
	wt_text_terminal_probe(end, &t);
	ok(!t.has_colour, "NO_COLOR");
	unsetenv("NO_COLOR");
	setenv("TERM", "dumb", 1);
	wt_text_terminal_probe(end, &t);
	ok(!t.has_colour, "TERM=dumb");
	close(end);
	close(fd);
}

static void test_escape(void)
{
	is_made(wt_text_escape("a\033[2Jb\n\t\x7f", true), "a\\x1b[2Jb\\x0a\\x09\\x7f",
	        "C0 and DEL");
	is_made(wt_text_escape("\xc2\x9b"
	                       "31m",
	                       true),
	        "\\u009b31m", "C1 in UTF-8");
	is_made(wt_text_escape("\x9b\xff\xc3", true), "\\x9b\\xff\\xc3", "stray and cut bytes");
	is_made(wt_text_escape("\xc0\xaf\xed\xa0\x80", true), "\\xc0\\xaf\\xed\\xa0\\x80",
	        "overlong form and surrogate");
	is_made(wt_text_escape("x\u202ey\U000e0041", true), "x\\u202ey\\U000e0041",
	        "marks that hide text");
	is_made(wt_text_escape("\u00e9\u6ce2", true), "\u00e9\u6ce2", "letters stay");
	is_made(wt_text_escape("\u00e9\\", false), "\\u00e9\\", "ASCII only");
	is_made(wt_text_escape("", true), "", "nothing");
}

static void test_width(void)
{
	is_i64(wt_text_width("abc"), 3, "ASCII");
	is_i64(wt_text_width("\u6ce2e\u0301"), 3, "wide and combining");
	is_made(wt_text_fit("abcdefghij", 10, true), "abcdefghij", "fits");
	is_made(wt_text_fit("abcdefghij", 7, true), "abc\u2026hij", "middle cut");
	is_made(wt_text_fit("abcdefghij", 7, false), "abc..ij", "middle cut in ASCII");
	is_made(wt_text_fit("\u6ce2\u6ce2\u6ce2\u6ce2", 6, true), "\u6ce2\u2026\u6ce2", "wide cut");
	is_made(wt_text_fit("abcdef", 2, false), "ab", "no room for an ellipsis");
	is_made(wt_text_fit("abcdef", 0, true), "", "no room at all");
}

static void test_numbers(void)
{
	char buf[WT_TEXT_NUMBER_BYTES];

	is_str(wt_text_ns(buf, 0), "0ns", "0 ns");
	is_str(wt_text_ns(buf, 999), "999ns", "999 ns");
	is_str(wt_text_ns(buf, 1000), "1.00us", "1000 ns");
	is_str(wt_text_ns(buf, 46920), "46.9us", "46.92 us");
	is_str(wt_text_ns(buf, 9996), "10.0us", "9.996 us");
	is_str(wt_text_ns(buf, 999940), "999.9us", "999.94 us");
	is_str(wt_text_ns(buf, 999960), "1.00ms", "999.96 us rounds up a unit");
	is_str(wt_text_ns(buf, 1234500000000), "1,234.5s", "thousands of seconds");
	is_str(wt_text_ns(buf, -1500), "-1.50us", "negative");
	is_str(wt_text_ns(buf, INT64_MIN), "-9,223,372,036.9s", "least");
	is_str(wt_text_sm_ns(buf, 2500000), "2.50 SM-ms", "SM-ms");
	is_str(wt_text_count(buf, 885600), "885,600", "count");
	is_str(wt_text_count(buf, 999), "999", "count below a thousand");
	is_str(wt_text_count(buf, -1000), "-1,000", "negative count");
	is_str(wt_text_count(buf, INT64_MIN), "-9,223,372,036,854,775,808", "least count");
	is_str(wt_text_bytes(buf, 512), "512 B", "bytes");
	is_str(wt_text_bytes(buf, 14 << 20), "14.0 MiB", "MiB");
	is_str(wt_text_bytes(buf, UINT64_MAX), "16,777,216.0 TiB", "most bytes");
	is_str(wt_text_percent(buf, 1, 8), "12.5", "percent");
	is_str(wt_text_percent(buf, 1, 0), ".", "percent of nothing");
	is_str(wt_text_percent(buf, -0.0001, 8), "0.0", "no negative zero");
	is_str(wt_text_percent(buf, INFINITY, 8), ".", "percent of infinity");
}

static void test_json(void)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	struct wt_json json;

	wt_json_init(&json, out, false);
	wt_json_object_begin(&json);
	wt_json_key(&json, "a\"b");
	wt_json_string(&json, "x\n\x01\\\xff\u00e9\033");
	wt_json_key(&json, "list");
	wt_json_array_begin(&json);
	wt_json_int(&json, INT64_MIN);
	wt_json_double(&json, 0.1);
	wt_json_double(&json, 1e300);
	wt_json_double(&json, NAN);
	wt_json_fixed(&json, 2.0 / 3, 3);
	wt_json_decimal(&json, -1205, 2);
	wt_json_decimal(&json, INT64_MIN, 18);
	wt_json_decimal(&json, 7, 0);
	wt_json_bool(&json, true);
	wt_json_string(&json, NULL);
	wt_json_object_begin(&json);
	wt_json_object_end(&json);
	wt_json_array_end(&json);
	wt_json_object_end(&json);
	is_i64(wt_json_finish(&json), 0, "well-formed");
	fclose(out);
	is_str(text,
	       "{\"a\\\"b\":\"x\\n\\u0001\\\\\xef\xbf\xbd\u00e9\\u001b\","
	       "\"list\":[-9223372036854775808,0.1,1e+300,null,0.667,-12.05,-9.223372036854775808,"
	       "7,true,null,{}]}\n",
	       "JSON text");
	free(text);
}

static int misuse(int which)
{
	FILE *out = fopen("/dev/null", "w");
	struct wt_json json;
	int error;

	wt_json_init(&json, out, true);
	if (which == 0)
		wt_json_key(&json, "key outside an object");
	if (which == 1)
		wt_json_object_begin(&json), wt_json_int(&json, 1), wt_json_object_end(&json);
	if (which == 2)
		wt_json_array_begin(&json), wt_json_object_end(&json);
	if (which == 3)
		wt_json_array_begin(&json);
	if (which == 4)
		wt_json_int(&json, 1), wt_json_int(&json, 2);
	if (which == 5)
		for (int i = 0; i <= WT_JSON_DEPTH_MAX; i++)
			wt_json_array_begin(&json);
	if (which == 6)
		wt_json_object_begin(&json), wt_json_key(&json, "k"), wt_json_object_end(&json);
	error = wt_json_finish(&json);
	fclose(out);
	return error;
}

static void test_json_errors(void)
{
	FILE *full = fopen("/dev/full", "w");
	struct wt_json json;

	for (int which = 0; which <= 7; which++) /* 7: nothing written */
		ok(misuse(which) == -EINVAL, "misuse %d is noticed", which);
	if (!full) {
		ok(true, "write error # SKIP no /dev/full here");
		return;
	}
	wt_json_init(&json, full, false);
	wt_json_null(&json);
	is_i64(wt_json_finish(&json), -ENOSPC, "a failed write is reported");
	fclose(full);
}

static const struct wt_table_column columns[] = {
        {"n", "#", WT_TABLE_RIGHT, 0, 2, 0},
        {"time_ns", "TIME", WT_TABLE_RIGHT, 0, 0, 0},
        {"waves", "WAVES", WT_TABLE_RIGHT, WT_TABLE_NO_TEXT, 0, 0},
        {"kernel", "KERNEL", WT_TABLE_LEFT, WT_TABLE_FLEXIBLE, 0, 0},
        {"note", "NOTE", WT_TABLE_LEFT, WT_TABLE_TEXT_ONLY, 0, 6},
};

static struct wt_table *make_table(void)
{
	struct wt_table *t = wt_table_create(columns, sizeof(columns) / sizeof(columns[0]));

	wt_table_row(t, 0);
	wt_table_add_int(t, 1, NULL);
	wt_table_add_int(t, 22460000, "22.46");
	wt_table_add_double(t, 3.875, 2, NULL);
	wt_table_add_string(t, "gemm<128,\"x\">", NULL);
	wt_table_add_string(t, "abcdefghij", NULL);
	wt_table_row(t, 0);
	wt_table_add_int(t, 2, NULL);
	wt_table_add_null(t);
	wt_table_add_double(t, NAN, 2, NULL);
	wt_table_add_string(t, "a\033b\n", NULL);
	wt_table_add_string(t, "", NULL);
	wt_table_row(t, WT_TABLE_ROW_TEXT_ONLY);
	wt_table_add_string(t, "", NULL);
	wt_table_add_string(t, "sum", NULL);
	return t;
}

static void is_text(struct wt_table *t, struct wt_text_terminal terminal, const char *want,
                    const char *what)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	is_i64(wt_table_print_text(t, out, &terminal), 0, "printed");
	fclose(out);
	is_str(text, want, what);
	free(text);
}

static void test_table_text(void)
{
	struct wt_text_terminal narrow = {.is_utf8 = true, .width_columns = 27};
	struct wt_text_terminal colour = {.is_utf8 = true, .has_colour = true};
	struct wt_table *t = make_table();

	is_text(t, plain,
	        " #   TIME  KERNEL         NOTE\n"
	        " 1  22.46  gemm<128,\"x\">  abc\u2026ij\n"
	        " 2      .  a\\x1bb\\x0a\n"
	        "      sum  .              .\n",
	        "aligned text");
	is_text(t, narrow,
	        " #   TIME  KERNEL    NOTE\n"
	        " 1  22.46  gemm\u2026x\">  abc\u2026ij\n"
	        " 2      .  a\\x1\u2026x0a\n"
	        "      sum  .         .\n",
	        "the flexible column shrinks");
	narrow.width_columns = 5;
	is_text(t, narrow,
	        " #   TIME  KERNEL  NOTE\n"
	        " 1  22.46  gem\u2026\">  abc\u2026ij\n"
	        " 2      .  a\\x\u20260a\n"
	        "      sum  .       .\n",
	        "but never below its heading");
	wt_table_destroy(t);
	t = wt_table_create(columns, 2);
	is_text(t, colour, "\033[1m #  TIME\033[0m\n", "no rows, bold heading");
	wt_table_destroy(t);
}

static void test_table_data(void)
{
	struct wt_table *t = make_table();
	struct wt_json json;
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);

	is_i64(wt_table_row_count(t), 3, "rows");
	is_i64(wt_table_print_csv(t, out), 0, "CSV printed");
	fclose(out);
	is_str(text,
	       "n,time_ns,waves,kernel\n"
	       "1,22460000,3.88,\"gemm<128,\"\"x\"\">\"\n"
	       "2,,,\"a\033b\n\"\n",
	       "CSV has raw values");
	free(text);
	out = open_memstream(&text, &bytes);
	wt_json_init(&json, out, false);
	is_i64(wt_table_print_json(t, &json), 0, "JSON printed");
	is_i64(wt_json_finish(&json), 0, "JSON finished");
	fclose(out);
	is_str(text,
	       "[{\"n\":1,\"time_ns\":22460000,\"waves\":3.88,\"kernel\":\"gemm<128,\\\"x\\\">\"},"
	       "{\"n\":2,\"time_ns\":null,\"waves\":null,\"kernel\":\"a\\u001bb\\n\"}]\n",
	       "JSON has raw values");
	free(text);
	wt_table_destroy(t);
}

static void test_table_errors(void)
{
	struct wt_table *t = wt_table_create(columns, 1);
	FILE *full = fopen("/dev/full", "w");

	wt_table_row(t, 0);
	wt_table_add_int(t, 1, NULL);
	if (full) {
		is_i64(wt_table_print_csv(t, full), -ENOSPC, "a failed write is reported");
		fclose(full);
	}
	wt_table_add_int(t, 2, NULL);
	is_i64(wt_table_print_csv(t, stderr), -EOVERFLOW,
	       "a cell too many is an error, nothing printed");
	wt_table_destroy(t);
	t = wt_table_create(columns, 5);
	for (int i = 0; i < 1000; i++) {
		wt_table_row(t, 0);
		wt_table_add_string(t, "same", "other");
	}
	is_i64(wt_table_row_count(t), 1000, "many rows");
	wt_table_destroy(t);
	wt_table_destroy(NULL);
}

int main(void)
{
	test_terminal();
	test_terminal_pty();
	test_escape();
	test_width();
	test_numbers();
	test_json();
	test_json_errors();
	test_table_text();
	test_table_data();
	test_table_errors();
	return tap_done();
}
