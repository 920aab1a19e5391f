/*
 * sim_time.c - times as the user of `wavetap simulate` writes them, as integers. See simulate.h.
 *
 * Threads: any, no state. Never blocks.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/simulate.h"

struct number {
	size_t whole_digits, fraction_digits;
	const char *unit;
	size_t unit_bytes;
};

static size_t count_digits(const char *text, size_t length)
{
	size_t count = 0;

	while (count < length && text[count] >= '0' && text[count] <= '9')
		count++;
	return count;
}

static bool is_unit(const char *text, size_t length)
{
	static const char *const units[] = {"ns", "us", "\u00b5s", "\u03bcs", "ms",
	                                    "s",  "cy", "cycles",  "clk"};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strlen(units[i]) == length && !memcmp(units[i], text, length))
			return true;
	return false;
}

static bool split(const char *text, size_t length, struct number *number)
{
	size_t at = count_digits(text, length);

	number->whole_digits = at;
	number->fraction_digits = 0;
	if (at < length && text[at] == '.') {
		number->fraction_digits = count_digits(text + at + 1, length - at - 1);
		if (number->fraction_digits == 0)
			return false;
		at += 1 + number->fraction_digits;
	}
	number->unit = text + at;
	number->unit_bytes = length - at;
	return number->whole_digits > 0 && number->fraction_digits <= WT_SIM_DIGITS_MAX &&
	       (number->unit_bytes == 0 || is_unit(number->unit, number->unit_bytes));
}

int wt_sim_scale_widen(struct wt_sim_scale *scale, const char *text, size_t length)
{
	struct number number;

	if (!split(text, length, &number))
		return -EINVAL;
	if (number.unit_bytes && scale->unit[0] &&
	    (strlen(scale->unit) != number.unit_bytes ||
	     memcmp(scale->unit, number.unit, number.unit_bytes) != 0))
		return -EDOM;
	if (number.unit_bytes) {
		memcpy(scale->unit, number.unit, number.unit_bytes);
		scale->unit[number.unit_bytes] = '\0';
	}
	if ((int)number.fraction_digits > scale->digits)
		scale->digits = (int)number.fraction_digits;
	return 0;
}

/* ticks = 10 * ticks + digit */
static bool push_digit(int64_t *ticks, int digit)
{
	return !__builtin_mul_overflow(*ticks, (int64_t)10, ticks) &&
	       !__builtin_add_overflow(*ticks, (int64_t)digit, ticks);
}

int wt_sim_time_read(const struct wt_sim_scale *scale, const char *text, size_t length,
                     int64_t *ret_ticks)
{
	struct number number;
	int64_t ticks = 0;

	if (!split(text, length, &number) || (int)number.fraction_digits > scale->digits)
		return -EINVAL;
	for (size_t i = 0; i < number.whole_digits; i++)
		if (!push_digit(&ticks, text[i] - '0'))
			return -ERANGE;
	for (int i = 0; i < scale->digits; i++) {
		size_t at = number.whole_digits + 1 + (size_t)i;

		if (!push_digit(&ticks, i < (int)number.fraction_digits ? text[at] - '0' : 0))
			return -ERANGE;
	}
	*ret_ticks = ticks;
	return 0;
}

char *wt_sim_time_text(char buf[WT_TEXT_NUMBER_BYTES], const struct wt_sim_scale *scale,
                       int64_t ticks)
{
	int64_t one = 1;
	size_t used;

	for (int i = 0; i < scale->digits; i++)
		one *= 10;
	wt_text_count(buf, ticks / one);
	used = strlen(buf);
	if (ticks % one) {
		snprintf(buf + used, WT_TEXT_NUMBER_BYTES - used, ".%0*lld", scale->digits,
		         (long long)(ticks % one));
		used = strlen(buf);
		while (buf[used - 1] == '0')
			buf[--used] = '\0';
	}
	snprintf(buf + used, WT_TEXT_NUMBER_BYTES - used, "%s", scale->unit);
	return buf;
}
