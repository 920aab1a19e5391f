/*
 * text_number.c - see text.h: numbers as people read them.
 *
 * Threads: any, no state. Never blocks.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/text.h"

/* Puts a comma between each three digits before the point, in place. */
static void group_digits(char buf[WT_TEXT_NUMBER_BYTES])
{
	char *digits = buf + (*buf == '-');
	size_t whole = strspn(digits, "0123456789");

	for (size_t i = whole; i > 3; i -= 3) {
		char *at = digits + i - 3;

		memmove(at + 1, at, strlen(at) + 1);
		*at = ',';
	}
}

/* `value` in the largest of `units` that it reaches, each `base` times the one before. */
static char *put_scaled(char buf[WT_TEXT_NUMBER_BYTES], double value, double base,
                        const char *const *units, size_t unit_count)
{
	double size = fabs(value);
	size_t unit = 0;
	int digits;

	/* 999.95 would be shown as 1000.0; of the first unit only whole ones exist. */
	while (unit + 1 < unit_count && (unit ? size >= base - 0.05 : size >= base)) {
		size /= base;
		unit++;
	}
	digits = unit == 0 ? 0 : size < 9.995 ? 2 : 1;
	snprintf(buf, WT_TEXT_NUMBER_BYTES, "%s%.*f", value < 0 ? "-" : "", digits, size);
	group_digits(buf);
	strcat(buf, units[unit]);
	return buf;
}

char *wt_text_ns(char buf[WT_TEXT_NUMBER_BYTES], int64_t ns)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};

	return put_scaled(buf, (double)ns, 1000, units, 4);
}

char *wt_text_sm_ns(char buf[WT_TEXT_NUMBER_BYTES], int64_t sm_ns)
{
	static const char *const units[] = {" SM-ns", " SM-us", " SM-ms", " SM-s"};

	return put_scaled(buf, (double)sm_ns, 1000, units, 4);
}

char *wt_text_count(char buf[WT_TEXT_NUMBER_BYTES], int64_t count)
{
	snprintf(buf, WT_TEXT_NUMBER_BYTES, "%lld", (long long)count);
	group_digits(buf);
	return buf;
}

char *wt_text_bytes(char buf[WT_TEXT_NUMBER_BYTES], uint64_t bytes)
{
	static const char *const units[] = {" B", " KiB", " MiB", " GiB", " TiB"};

	return put_scaled(buf, (double)bytes, 1024, units, 5);
}

char *wt_text_percent(char buf[WT_TEXT_NUMBER_BYTES], double part, double whole)
{
	double percent = whole > 0 ? part * 100 / whole : NAN;

	if (!isfinite(percent))
		return strcpy(buf, ".");
	if (percent < 0 && percent > -0.05)
		percent = 0; /* no "-0.0" */
	snprintf(buf, WT_TEXT_NUMBER_BYTES, fabs(percent) < 1e15 ? "%.1f" : "%.3g", percent);
	return buf;
}
