/*
 * openmetrics.h - text as OpenMetrics 1.0 has it: families of samples, each with its type, unit and help,
 * all samples of a family together, "# EOF" at the end. Only the text; what is said is the caller's, so that
 * a command may write it to a file and a server to a socket.
 *
 *	wt_metrics_family(&metrics, &(struct wt_metrics_family){"wavetap_kernel", WT_METRICS_COUNTER,
 *	                                                         "seconds", "Time that kernels ran."});
 *	wt_metrics_ns(&metrics, labels, 2, time_ns);
 *
 * writes wavetap_kernel_seconds_total{...}: the unit and the ending of the type are part of the name. Numbers
 * are exact: ns as decimals of seconds. A family without a sample is not written at all.
 *
 * Errors stay in the FILE: ferror(). Any thread, one at a time per FILE; blocks as the FILE does.
 */
#ifndef WT_CLI_OPENMETRICS_H
#define WT_CLI_OPENMETRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum wt_metrics_type { WT_METRICS_GAUGE, WT_METRICS_COUNTER, WT_METRICS_INFO };

struct wt_metrics_family {
	const char *name; /* without unit and ending */
	enum wt_metrics_type type;
	const char *unit; /* "seconds", "bytes", "ratio"; "": none */
	const char *help; /* one line without quotes and backslashes */
};

struct wt_metrics_label {
	const char *name, *value; /* value NULL: left out */
};

struct wt_metrics {
	FILE *out;
	struct wt_metrics_family family;
	bool is_told; /* the head of the family is written */
};

void wt_metrics_family(struct wt_metrics *metrics, const struct wt_metrics_family *family);

/* A sample of the family; those of counters are not below 0, else they are left out. */
void wt_metrics_count(struct wt_metrics *metrics, const struct wt_metrics_label *labels,
                      size_t count, int64_t value);
void wt_metrics_ns(struct wt_metrics *metrics, const struct wt_metrics_label *labels, size_t count,
                   int64_t value_ns); /* in seconds */
void wt_metrics_double(struct wt_metrics *metrics, const struct wt_metrics_label *labels,
                       size_t count, double value); /* left out if not finite */

void wt_metrics_end(struct wt_metrics *metrics);

#endif /* WT_CLI_OPENMETRICS_H */
