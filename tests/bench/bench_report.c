/*
 * bench_report.c - rows of figures, as a table of 80 columns and as JSON. Single-threaded.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli/table.h"
#include "cli/wrap.h"
#include "config.h"
#include "tests/bench/bench.h"

static const struct wt_text_terminal terminal = {.width_columns = 80};

static const char *const size_names[] = {"smoke", "usual", "full", "day"};

/* ---- collecting */

struct bench_row *bench_row(struct bench *b, const char *part, const char *unit, const char *format,
                            ...)
{
	struct bench_row *row;
	char what[sizeof(row->what)];
	va_list ap;

	va_start(ap, format);
	vsnprintf(what, sizeof(what), format, ap);
	va_end(ap);
	for (size_t i = 0; i < b->row_count; i++)
		if (!strcmp(b->rows[i].part, part) && !strcmp(b->rows[i].what, what) &&
		    !strcmp(b->rows[i].unit, unit))
			return &b->rows[i];
	if (b->row_count == BENCH_ROWS_MAX)
		abort();
	row = &b->rows[b->row_count++];
	snprintf(row->part, sizeof(row->part), "%s", part);
	snprintf(row->unit, sizeof(row->unit), "%s", unit);
	strcpy(row->what, what);
	return row;
}

void bench_goal(struct bench_row *row, enum bench_goal goal_is, double goal)
{
	row->goal_is = goal_is;
	row->goal = goal;
}

void bench_add(struct bench_row *row, int build, double value)
{
	if (row->count[build] == row->room[build]) {
		size_t room = row->room[build] ? 2 * row->room[build] : 8;
		double *more = realloc(row->values[build], room * sizeof(*more));

		if (!more)
			abort();
		row->values[build] = more;
		row->room[build] = room;
	}
	row->values[build][row->count[build]++] = value;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double bench_quantile(double *values, size_t count, double q)
{
	double at = q * (double)(count - 1);
	size_t low = (size_t)at;

	if (!count)
		return NAN;
	qsort(values, count, sizeof(*values), compare);
	if (low + 1 >= count)
		return values[count - 1];
	return values[low] + (values[low + 1] - values[low]) * (at - (double)low);
}

const char *bench_count(char text[32], uint64_t count)
{
	uint64_t power = 10000;
	int digits = 4;

	for (; power < count && digits < 18; digits++)
		power *= 10;
	if (power == count)
		snprintf(text, 32, "10^%d", digits);
	else if (count >= 1000000)
		snprintf(text, 32, "%.3g M", (double)count / 1e6);
	else
		snprintf(text, 32, "%" PRIu64, count);
	return text;
}

static void append_line(char **text, const char *format, va_list ap)
{
	size_t used = *text ? strlen(*text) : 0;
	char line[512], *more;

	vsnprintf(line, sizeof(line), format, ap);
	more = realloc(*text, used + strlen(line) + 2);
	if (!more)
		abort();
	sprintf(more + used, "%s\n", line);
	*text = more;
}

void bench_note(struct bench *b, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	append_line(&b->notes, format, ap);
	va_end(ap);
}

void bench_fail(struct bench *b, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	append_line(&b->failures, format, ap);
	va_end(ap);
}

void bench_say(const struct bench *b, const char *format, ...)
{
	va_list ap;

	if (b->size == BENCH_SMOKE)
		return;
	fputs("bench: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
}

/* ---- a copy, sorted */

struct spread {
	double median, low, high;
	size_t count;
};

static struct spread spread_of(const double *values, size_t count)
{
	double *sorted = malloc((count ? count : 1) * sizeof(*sorted));
	struct spread s = {.count = count};

	if (!sorted)
		abort();
	if (count)
		memcpy(sorted, values, count * sizeof(*sorted));
	s.median = bench_quantile(sorted, count, 0.5);
	s.low = bench_quantile(sorted, count, 0.25);
	s.high = bench_quantile(sorted, count, 0.75);
	free(sorted);
	return s;
}

/* Of pairs: this build by the other one. */
static struct spread ratio_of(const struct bench_row *row)
{
	size_t pairs = row->count[0] < row->count[1] ? row->count[0] : row->count[1];
	double *ratios = malloc((pairs ? pairs : 1) * sizeof(*ratios));
	struct spread s;

	if (!ratios)
		abort();
	for (size_t i = 0; i < pairs; i++)
		ratios[i] = row->values[0][i] / row->values[1][i];
	s = spread_of(ratios, pairs);
	free(ratios);
	return s;
}

/* ---- the table */

/* Three digits or more; from 10,000 on in k, M or G. */
static const char *figure(char text[WT_TEXT_NUMBER_BYTES], double value)
{
	double size = fabs(value);

	if (isnan(value))
		return strcpy(text, ".");
	if (size >= 9999.5) {
		static const struct {
			double unit;
			const char *name;
		} units[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
		int i = 0;

		while (size < 0.9995 * units[i].unit)
			i++;
		figure(text, value / units[i].unit);
		return strcat(strcat(text, " "), units[i].name);
	}
	if (size >= 999.5)
		return wt_text_count(text, (int64_t)llround(value));
	snprintf(text, WT_TEXT_NUMBER_BYTES, "%.*f",
	         value == 0 || size >= 99.95 ? 0
	         : size >= 9.995             ? 1
	         : size >= 0.9995            ? 2
	                                     : 3,
	         value);
	return text;
}

static void add_figure(struct wt_table *table, double value)
{
	char text[WT_TEXT_NUMBER_BYTES];

	if (isnan(value))
		wt_table_add_null(table);
	else
		wt_table_add_double(table, value, 6, figure(text, value));
}

static void add_goal(struct wt_table *table, const struct bench_row *row, double median)
{
	char text[64];
	bool is_met = row->goal_is == BENCH_AT_MOST ? median <= row->goal : median >= row->goal;

	if (row->goal_is == BENCH_NO_GOAL) {
		wt_table_add_string(table, "", "");
		return;
	}
	snprintf(text, sizeof(text), "%s %g%s %s", row->goal_is == BENCH_AT_MOST ? "<=" : ">=",
	         row->goal >= 1e6 ? row->goal / 1e6 : row->goal, row->goal >= 1e6 ? " M" : "",
	         is_met ? "met" : "not");
	wt_table_add_string(table, text, NULL);
}

static const struct wt_table_column figure_columns[] = {
        {"what", "", WT_TABLE_LEFT, WT_TABLE_FLEXIBLE, 31, 0},
        {"unit", "UNIT", WT_TABLE_LEFT, 0, 0, 0},
        {"median", "MEDIAN", WT_TABLE_RIGHT, 0, 0, 0},
        {"q25", "25 %", WT_TABLE_RIGHT, 0, 0, 0},
        {"q75", "75 %", WT_TABLE_RIGHT, 0, 0, 0},
        {"count", "N", WT_TABLE_RIGHT, 0, 0, 0},
        {"goal", "GOAL", WT_TABLE_LEFT, 0, 0, 0},
};

static const struct wt_table_column pair_columns[] = {
        {"what", "", WT_TABLE_LEFT, WT_TABLE_FLEXIBLE, 31, 0},
        {"unit", "UNIT", WT_TABLE_LEFT, 0, 0, 0},
        {"this", "THIS", WT_TABLE_RIGHT, 0, 0, 0},
        {"other", "OTHER", WT_TABLE_RIGHT, 0, 0, 0},
        {"ratio", "RATIO", WT_TABLE_RIGHT, 0, 0, 0},
        {"q25", "25 %", WT_TABLE_RIGHT, 0, 0, 0},
        {"q75", "75 %", WT_TABLE_RIGHT, 0, 0, 0},
        {"count", "N", WT_TABLE_RIGHT, 0, 0, 0},
};

static int print_table(const struct bench *b, bool is_pairs)
{
	struct wt_table *table =
	        is_pairs ? wt_table_create(pair_columns,
	                                   sizeof(pair_columns) / sizeof(pair_columns[0]))
	                 : wt_table_create(figure_columns,
	                                   sizeof(figure_columns) / sizeof(figure_columns[0]));
	int err;

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < b->row_count; i++) {
		const struct bench_row *row = &b->rows[i];
		struct spread s = spread_of(row->values[0], row->count[0]);
		char what[80];

		if (row->is_hidden || (is_pairs && !row->count[1]))
			continue;
		snprintf(what, sizeof(what), "%s: %s", row->part, row->what);
		wt_table_row(table, 0);
		wt_table_add_string(table, what, NULL);
		wt_table_add_string(table, row->unit, NULL);
		add_figure(table, s.median);
		if (is_pairs) {
			add_figure(table, spread_of(row->values[1], row->count[1]).median);
			s = ratio_of(row);
			add_figure(table, s.median);
		}
		/* One measurement has no spread. */
		add_figure(table, s.count > 1 ? s.low : NAN);
		add_figure(table, s.count > 1 ? s.high : NAN);
		wt_table_add_int(table, (int64_t)s.count, NULL);
		if (!is_pairs)
			add_goal(table, row, s.median);
	}
	err = wt_table_print_text(table, stdout, &terminal);
	wt_table_destroy(table);
	return err;
}

/* ---- JSON */

static double load_of(void)
{
	double load = NAN;

	return getloadavg(&load, 1) == 1 ? load : NAN;
}

static void put_spread(struct wt_json *json, const char *key, const double *values, size_t count)
{
	struct spread s = spread_of(values, count);

	wt_json_key(json, key);
	wt_json_object_begin(json);
	wt_json_key(json, "median");
	wt_json_double(json, s.median);
	wt_json_key(json, "q25");
	wt_json_double(json, s.low);
	wt_json_key(json, "q75");
	wt_json_double(json, s.high);
	wt_json_key(json, "values");
	wt_json_array_begin(json);
	for (size_t i = 0; i < count; i++)
		wt_json_double(json, values[i]);
	wt_json_array_end(json);
	wt_json_object_end(json);
}

static void put_row(struct wt_json *json, const struct bench_row *row)
{
	wt_json_object_begin(json);
	wt_json_key(json, "part");
	wt_json_string(json, row->part);
	wt_json_key(json, "what");
	wt_json_string(json, row->what);
	wt_json_key(json, "unit");
	wt_json_string(json, row->unit);
	if (row->goal_is != BENCH_NO_GOAL) {
		wt_json_key(json, row->goal_is == BENCH_AT_MOST ? "at_most" : "at_least");
		wt_json_double(json, row->goal);
	}
	put_spread(json, "this", row->values[0], row->count[0]);
	if (row->count[1]) {
		struct spread ratio = ratio_of(row);

		put_spread(json, "other", row->values[1], row->count[1]);
		wt_json_key(json, "ratio");
		wt_json_double(json, ratio.median);
		wt_json_key(json, "ratio_q25");
		wt_json_double(json, ratio.low);
		wt_json_key(json, "ratio_q75");
		wt_json_double(json, ratio.high);
	}
	wt_json_object_end(json);
}

static void put_lines(struct wt_json *json, const char *key, const char *lines)
{
	char *copy = strdup(lines ? lines : ""), *rest = copy, *line;

	wt_json_key(json, key);
	wt_json_array_begin(json);
	while (copy && (line = strtok_r(rest, "\n", &rest)))
		wt_json_string(json, line);
	wt_json_array_end(json);
	free(copy);
}

static int print_json(const struct bench *b)
{
	struct utsname host;
	struct wt_json json;

	wt_json_init(&json, stdout, true);
	wt_json_object_begin(&json);
	wt_json_key(&json, "format");
	wt_json_string(&json, "wavetap-bench");
	wt_json_key(&json, "format_version");
	wt_json_int(&json, 1);
	wt_json_key(&json, "size");
	wt_json_string(&json, size_names[b->size]);
	wt_json_key(&json, "wavetap_version");
	wt_json_string(&json, PACKAGE_VERSION);
	wt_json_key(&json, "machine");
	wt_json_string(&json, uname(&host) ? NULL : host.machine);
	wt_json_key(&json, "processors");
	wt_json_int(&json, sysconf(_SC_NPROCESSORS_ONLN));
	wt_json_key(&json, "load");
	wt_json_double(&json, load_of());
	wt_json_key(&json, "rows");
	wt_json_array_begin(&json);
	for (size_t i = 0; i < b->row_count; i++)
		put_row(&json, &b->rows[i]);
	wt_json_array_end(&json);
	put_lines(&json, "notes", b->notes);
	put_lines(&json, "failures", b->failures);
	wt_json_object_end(&json);
	return wt_json_finish(&json);
}

/* ---- both */

static void print_notes(const char *notes)
{
	char *copy = strdup(notes), *rest = copy, *line;

	putchar('\n');
	while (copy && (line = strtok_r(rest, "\n", &rest)))
		wt_wrap_print(stdout, line, 0, &terminal);
	free(copy);
}

static int print_text(const struct bench *b)
{
	double load = load_of();
	int err;

	printf("make bench (%s), wavetap %s: %ld processors, load %.1f; medians, quartiles\n\n",
	       size_names[b->size], PACKAGE_VERSION, sysconf(_SC_NPROCESSORS_ONLN), load);
	err = print_table(b, false);
	if (!err && b->builds > 1) {
		printf("\nThis build by the other one (%s), in pairs:\n\n", b->build[1]);
		err = print_table(b, true);
	}
	if (b->notes)
		print_notes(b->notes);
	if (b->failures)
		printf("\nFAILED\n%s", b->failures);
	return err;
}

int bench_report(struct bench *b)
{
	int err = b->is_json ? print_json(b) : print_text(b);

	if (err)
		fprintf(stderr, "bench: can't write: %s\n", strerror(-err));
	if (b->is_json && b->failures)
		fprintf(stderr, "bench: FAILED\n%s", b->failures);
	return err || b->failures ? 1 : 0;
}

void bench_fini(struct bench *b)
{
	for (size_t i = 0; i < b->row_count; i++)
		for (int k = 0; k < BENCH_BUILDS; k++)
			free(b->rows[i].values[k]);
	free(b->notes);
	free(b->failures);
}
