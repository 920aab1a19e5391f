/*
 * test_keep.c - limits on what is kept: what a text means, and which runs go.
 */
#include <stdlib.h>
#include <string.h>

#include "schema/wt_keep.h"
#include "tests/tap.h"

#define DAY (INT64_C(86400) * 1000000000)
#define MIB (INT64_C(1) << 20)

static void parses(const char *text, int64_t runs, int64_t bytes, int64_t age_ns)
{
	struct wt_keep keep = WT_KEEP_ALL;
	char error[WT_DB_ERROR_BYTES] = "";

	ok(wt_keep_parse(text, &keep, error) == 0, "\"%s\" is a limit", text);
	is_i64(keep.runs, runs, "its runs");
	is_i64(keep.bytes, bytes, "its bytes");
	is_i64(keep.age_ns, age_ns, "its age");
}

static void refused(const char *text, const char *words)
{
	struct wt_keep keep = {7, 8, 9};
	char error[WT_DB_ERROR_BYTES] = "";

	ok(wt_keep_parse(text, &keep, error) < 0 && strstr(error, words), "\"%s\": %s", text,
	   error);
	ok(keep.runs == 7 && keep.bytes == 8 && keep.age_ns == 9, "and nothing has changed");
}

static void test_parse(void)
{
	int64_t ns = 0;

	parses("20", 20, -1, -1);
	parses("0", 0, -1, -1);
	parses("2GiB", -1, 2048 * MIB, -1);
	parses("1.5MiB", -1, 3 * MIB / 2, -1);
	parses("500MB", -1, 500000000, -1);
	parses("10B", -1, 10, -1);
	parses("30d", -1, -1, 30 * DAY);
	parses("36h", -1, -1, DAY + DAY / 2);
	parses("2w", -1, -1, 14 * DAY);
	parses("90min", -1, -1, DAY / 16);
	parses("99999999TiB", -1, INT64_MAX, -1);
	parses("20,2GiB,30d", 20, 2048 * MIB, 30 * DAY);
	parses("20,5,10", 5, -1, -1);
	refused("", "no number of runs");
	refused("20,", "no number of runs");
	refused("-1", "no number of runs");
	refused("1.5", "no number of runs");
	refused("3x", "no number of runs");
	refused("1e3", "no number of runs");
	refused(" 3", "no number of runs");
	refused("GiB", "no number of runs");
	refused(".5d", "no number of runs");
	refused("30m", "minutes are min");
	refused("5,nonsense", "nonsense");
	ok(wt_keep_parse_time("1.5s", &ns) == 0 && ns == 1500000000, "1.5s");
	ok(wt_keep_parse_time("5", &ns) < 0, "a time has a unit");
	ok(wt_keep_parse_time("5GiB", &ns) < 0, "and not that of a size");
}

/* Seven runs, a day and a MiB each; run 2 is unreadable, 3 live, 5 is `latest`, 6 the newest. */
static const char *choice(struct wt_keep keep)
{
	struct wt_db_run_file *runs = calloc(7, sizeof(*runs));
	bool is_protected[7] = {[3] = true}, is_removed[7];
	static char text[8];

	for (int i = 0; i < 7; i++) {
		runs[i].created_ns = (i + 1) * DAY;
		runs[i].last_ns = runs[i].created_ns + 1;
		runs[i].file_bytes = MIB;
		runs[i].kernel_ns = i == 6 ? WT_DB_LATEST_KERNEL_NS - 1 : WT_DB_LATEST_KERNEL_NS;
	}
	runs[2].error = -1;
	wt_keep_choose(&keep, runs, 7, is_protected, 8 * DAY, is_removed);
	for (int i = 0; i < 7; i++)
		text[i] = is_removed[i] ? 'x' : '.';
	free(runs);
	return text;
}

static void chooses(int64_t runs, int64_t bytes, int64_t age_ns, const char *want)
{
	const char *got = choice((struct wt_keep){runs, bytes, age_ns});

	ok(!strcmp(got, want), "%lld runs, %lld bytes, %lld ns: %s (got %s)", (long long)runs,
	   (long long)bytes, (long long)age_ns, want, got);
}

static void test_choose(void)
{
	chooses(-1, -1, -1, ".......");
	chooses(6, -1, -1, ".......");
	chooses(5, -1, -1, "x......");
	chooses(4, -1, -1, "xx.....");
	chooses(3, -1, -1, "xx..x..");
	chooses(0, -1, -1, "xx..x..");
	chooses(-1, 6 * MIB, -1, ".......");
	chooses(-1, 6 * MIB - 1, -1, "x......");
	chooses(-1, 0, -1, "xx..x..");
	chooses(-1, -1, 100 * DAY, ".......");
	chooses(-1, -1, 6 * DAY, "x......");
	chooses(-1, -1, 5 * DAY, "xx.....");
	chooses(-1, -1, 0, "xx..x..");
	chooses(5, 4 * MIB, 100 * DAY, "xx.....");
}

/* -1: no limit. */
static void keeps_rows(const char *text, int rc, int64_t bytes, int64_t age_ns)
{
	struct wt_keep keep = {7, 8, 9};
	char error[WT_DB_ERROR_BYTES] = "";

	is_i64(wt_keep_rows_parse(text, &keep, error) ? -1 : 0, rc, text);
	ok(keep.runs == -1 && keep.bytes == bytes && keep.age_ns == age_ns, "rows: \"%s\": %s",
	   text, error);
	ok(!rc == !error[0], "with a word or without");
}

static void test_rows(void)
{
	keeps_rows("", 0, 8192 * MIB, -1);
	keeps_rows("all", 0, -1, -1);
	keeps_rows("2GiB", 0, 2048 * MIB, -1);
	keeps_rows("1d", 0, -1, DAY);
	keeps_rows("1d,2GiB", 0, 2048 * MIB, DAY);
	/* What is none leaves the usual limit. */
	keeps_rows("20", -1, 8192 * MIB, -1);
	keeps_rows("2GiB,20", -1, 8192 * MIB, -1);
	keeps_rows("0", -1, 8192 * MIB, -1);
	keeps_rows("0MiB", -1, 8192 * MIB, -1);
	keeps_rows("0s", -1, 8192 * MIB, -1);
	keeps_rows("none", -1, 8192 * MIB, -1);
	keeps_rows("2GiB,", -1, 8192 * MIB, -1);
	keeps_rows("?", -1, 8192 * MIB, -1);
}

int main(void)
{
	test_parse();
	test_rows();
	test_choose();
	return tap_done();
}
