/*
 * parse_time.c - see parse_time.h.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "cli/parse_time.h"

#define DIGITS_MAX 18 /* fit int64 */

/* Digits around one point at most as an integer and how many of them are behind the point. */
static int take_number(const char **text, int64_t *ret_digits, int *ret_behind)
{
	int64_t digits = 0;
	int count = 0, behind = 0;
	bool has_point = false, has_digit = false;

	for (;; ++*text) {
		if (**text == '.' && !has_point) {
			has_point = true;
			continue;
		}
		if (**text < '0' || **text > '9')
			break;
		has_digit = true;
		if (count == DIGITS_MAX) {
			if (!has_point)
				return -ERANGE;
			continue; /* below what is kept */
		}
		digits = digits * 10 + (**text - '0');
		count += digits > 0; /* not the leading zeros */
		behind += has_point;
	}
	if (!has_digit)
		return -EINVAL;
	*ret_digits = digits;
	*ret_behind = behind;
	return 0;
}

int wt_parse_time(const char *text, int64_t *ret_ns)
{
	static const struct {
		const char *name;
		int64_t ns;
	} units[] = {
	        {"ns", 1},
	        {"us", 1000},
	        {"\xc2\xb5s", 1000}, /* micro sign */
	        {"\xce\xbcs", 1000}, /* Greek mu */
	        {"ms", 1000000},
	        {"s", 1000000000},
	        {"min", INT64_C(60) * 1000000000},
	        {"h", INT64_C(3600) * 1000000000},
	};
	int64_t digits;
	int behind;
	int rc = take_number(&text, &digits, &behind);

	if (rc)
		return rc;
	if (!*text)
		return -EDOM;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		__int128 ns = (__int128)digits * units[i].ns, scale = 1;

		if (strcmp(text, units[i].name))
			continue;
		/* Beyond 30 zeros nothing of 18 digits and an hour is left. */
		for (int k = 0; k < behind && k < 36; k++)
			scale *= 10;
		ns = behind > 36 ? 0 : (ns + scale / 2) / scale;
		if (ns > INT64_MAX)
			return -ERANGE;
		*ret_ns = (int64_t)ns;
		return 0;
	}
	return -EINVAL;
}
