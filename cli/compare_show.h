/*
 * compare_show.h - how a comparison is shown: text, Markdown, JSON, CSV; and the verdict of a gate.
 * Single-threaded; blocks as the FILE does.
 */
#ifndef WT_CLI_COMPARE_SHOW_H
#define WT_CLI_COMPARE_SHOW_H

#include <regex.h>
#include <stdbool.h>
#include <stdio.h>

#include "cli/compare.h"
#include "cli/json.h"

enum wt_compare_by {
	WT_COMPARE_BY_KERNEL,
	WT_COMPARE_BY_CONFIG,
	WT_COMPARE_BY_LEDGER,
	WT_COMPARE_BY_OCCUPANCY
};

/* What a gate found. */
struct wt_compare_gate {
	double allowed; /* share: 0.05 */
	const char *on; /* "step-time", "idle", "kernel:RE" */
	int code; /* WT_EXIT_FINE, WT_EXIT_WORSE, WT_EXIT_NO_DATA */
	double before, after; /* ns, of idle SM-ns; not a number: not known */
	double change, low, high; /* shares of `before` */
	char why[400]; /* one line, without what it is about */
};

struct wt_compare_style {
	enum wt_compare_by by;
	size_t limit; /* rows; SIZE_MAX: all */
	bool has_full_names;
	const regex_t *kernel; /* NULL: all */
};

/* Judges `pct` on a comparison; `on` was checked (wt_compare_gate_check). 0 or -ENOMEM. */
int wt_compare_gate_judge(const struct wt_compare *compare, double allowed, const char *on,
                          struct wt_compare_gate *gate);
/* NULL, or what is wrong with the word; static text. */
const char *wt_compare_gate_check(const char *on);
/* "gate step-time: worse: +7.1 % (+5.3 to +8.9), allowed 5 %": malloc'd; NULL: out of memory. */
char *wt_compare_gate_line(const struct wt_compare_gate *gate);

/* The rows to show, in order: changed ones first, by what they cost. malloc'd. NULL: out of memory. */
const struct wt_compare_row **wt_compare_order(const struct wt_compare *compare,
                                               const struct wt_compare_style *style,
                                               size_t *ret_count);

/* Names for people, of the row's kernels: malloc'd arrays parallel to rows. 0 or -ENOMEM. */
struct wt_compare_names {
	char **before, **after; /* per row of `rows`; "" where there is none */
	size_t count;
};
int wt_compare_name_rows(const struct wt_compare_row *const *rows, size_t count,
                         bool has_full_names, struct wt_compare_names *names);
void wt_compare_names_fini(struct wt_compare_names *names);

/* "slower", "faster", "more", "less", "even"; NULL: not judged, and the contrast's `why` says so. */
const char *wt_compare_verdict(const struct wt_compare_row *row);
/* "step time", "gap:host", "rank 1 late"; of kernels "". */
const char *wt_compare_row_what(const struct wt_compare_row *row, char text[48]);
/* What runs of one program are taken to differ by, as a sentence without its end. */
const char *wt_compare_noise_text(const struct wt_compare *compare, char text[400]);
/* "+4.4%" of a share; "." where it is not a number. */
#define WT_COMPARE_PERCENT_BYTES 24
const char *wt_compare_percent(double share, char text[WT_COMPARE_PERCENT_BYTES]);
/* The change as a share of before, and by how much it may be off at most; not numbers where they are not known. */
double wt_compare_change(const struct wt_compare_row *row);
double wt_compare_error(const struct wt_compare_row *row);

int wt_compare_print_text(const struct wt_compare *compare, const struct wt_compare_style *style,
                          const struct wt_compare_gate *gate);
int wt_compare_print_markdown(const struct wt_compare *compare,
                              const struct wt_compare_style *style,
                              const struct wt_compare_gate *gate);
/* One object; `gate` may be NULL. */
int wt_compare_put_json(struct wt_json *json, const struct wt_compare *compare,
                        const struct wt_compare_style *style, const struct wt_compare_gate *gate);
int wt_compare_print_csv(const struct wt_compare *compare, const struct wt_compare_style *style);

#endif /* WT_CLI_COMPARE_SHOW_H */
