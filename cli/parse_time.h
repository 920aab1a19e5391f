/*
 * parse_time.h - lengths of time as people type them: "10s", "1.5ms", "100us", "2min".
 *
 * Pure; any thread; never blocks.
 */
#ifndef WT_CLI_PARSE_TIME_H
#define WT_CLI_PARSE_TIME_H

#include <stdbool.h>
#include <stdint.h>

/* For messages. */
#define WT_PARSE_TIME_UNITS "ns, us, ms, s, min or h"

/*
 * Digits, perhaps with a point, and a unit; nothing else. A sign is not a length's: -EINVAL.
 * 0, -EINVAL: not of that form, -EDOM: the unit is missing, -ERANGE: over 292 years. Exact
 * for up to 18 digits, rounded to whole nanoseconds.
 */
int wt_parse_time(const char *text, int64_t *ret_ns);

#endif /* WT_CLI_PARSE_TIME_H */
