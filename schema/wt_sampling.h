/*
 * wt_sampling.h - what people ask of measurements, as the environment and the programs spell it.
 *
 *   WAVETAP_SAMPLE, --sample, --interval   auto, off, or an interval: 50us, 0.1ms, 20000ns
 *   WAVETAP_PROFILE, --profile             a number of launches; 0 = none
 *
 * Inline, libc only, no heap and no locale: the library uses it inside the application. Any thread.
 */
#ifndef WT_SAMPLING_H
#define WT_SAMPLING_H

#include <errno.h>
#include <string.h>

#include "schema/wt_segment.h"

#define WT_SAMPLING_FORM "auto, off, or an interval from 5us to 100ms"
#define WT_PROFILE_LAUNCHES_MAX 1000u

/* Digits, perhaps with a point, and ns, us or ms. 0, -EINVAL, or -ERANGE. */
static inline int wt_sampling_parse_interval(const char *text, uint64_t *ret_ns)
{
	uint64_t value = 0, divisor = 1, unit;
	int digits = 0, has_point = 0;
	const char *at = text;

	for (; (*at >= '0' && *at <= '9') || (*at == '.' && !has_point); at++) {
		if (*at == '.') {
			has_point = 1;
			continue;
		}
		if (++digits > 12)
			return -ERANGE;
		value = value * 10 + (uint64_t)(*at - '0');
		divisor *= has_point ? 10 : 1;
	}
	unit = !strcmp(at, "ns") ? 1 : !strcmp(at, "us") ? 1000 : !strcmp(at, "ms") ? 1000000 : 0;
	if (!digits || !unit)
		return -EINVAL;
	value = value * unit / divisor;
	if (value < WT_SAMPLE_INTERVAL_NS_MIN || value > WT_SAMPLE_INTERVAL_NS_MAX)
		return -ERANGE;
	*ret_ns = value;
	return 0;
}

/* An interval, WT_SAMPLE_AUTO, or 0 for off, into *ret_ns. 0, -EINVAL, or -ERANGE. */
static inline int wt_sampling_parse(const char *text, uint64_t *ret_ns)
{
	if (!strcmp(text, "auto"))
		*ret_ns = WT_SAMPLE_AUTO;
	else if (!strcmp(text, "off") || !strcmp(text, "0") || !text[0])
		*ret_ns = 0;
	else
		return wt_sampling_parse_interval(text, ret_ns);
	return 0;
}

/* Launches of each configuration to be profiled. 0, -EINVAL, or -ERANGE. */
static inline int wt_profile_parse(const char *text, uint32_t *ret_launches)
{
	uint32_t value = 0;

	if (!text[0])
		return -EINVAL;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return -EINVAL;
		value = value * 10 + (uint32_t)(*text - '0');
		if (value > WT_PROFILE_LAUNCHES_MAX)
			return -ERANGE;
	}
	*ret_launches = value;
	return 0;
}

#endif /* WT_SAMPLING_H */
