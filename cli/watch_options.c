/*
 * watch_options.c - see watch_options.h.
 */
#include <errno.h>

#include "cli/cli.h"
#include "cli/parse_time.h"
#include "cli/watch_options.h"
#include "cli/watch_pace.h"

int wt_watch_parse(const char *command, bool is_watched, const char *interval, bool has_no_colour,
                   int64_t *ret_interval_ns)
{
	int rc;

	*ret_interval_ns = WT_WATCH_INTERVAL_NS;
	if (!is_watched && (interval || has_no_colour))
		return wt_cli_usage_error(command, "--%s needs --watch",
		                          interval ? "interval" : "no-color");
	if (!interval)
		return WT_EXIT_FINE;
	rc = wt_parse_time(interval, ret_interval_ns);
	if (rc == -EDOM)
		return wt_cli_usage_error(
		        command, "--interval: \"%s\" needs a unit: " WT_PARSE_TIME_UNITS, interval);
	if (rc && rc != -ERANGE)
		return wt_cli_usage_error(command,
		                          "--interval: \"%s\" is not a time: a number and a unit, "
		                          "such as 2s or 500ms",
		                          interval);
	if (rc || *ret_interval_ns < WT_WATCH_INTERVAL_MIN_NS ||
	    *ret_interval_ns > WT_WATCH_INTERVAL_MAX_NS)
		return wt_cli_usage_error(command, "--interval: \"%s\" is not from 100ms to 1h",
		                          interval);
	return WT_EXIT_FINE;
}
