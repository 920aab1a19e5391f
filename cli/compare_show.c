/*
 * compare_show.c - what text, Markdown and JSON of a comparison have in common: see compare_show.h.
 * Single-threaded; never blocks.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare_show.h"
#include "cli/kernel_name.h"

const char *wt_compare_verdict(const struct wt_compare_row *row)
{
	bool is_time = row->kind == WT_COMPARE_STEP || row->kind == WT_COMPARE_OF_KERNEL ||
	               row->kind == WT_COMPARE_OF_CONFIG;

	switch (row->contrast.verdict) {
	case WT_CONTRAST_SAME:
		return "even";
	case WT_CONTRAST_MORE:
		return is_time ? "slower" : "more";
	case WT_CONTRAST_LESS:
		return is_time ? "faster" : "less";
	default:
		return NULL;
	}
}

const char *wt_compare_row_what(const struct wt_compare_row *row, char text[48])
{
	switch (row->kind) {
	case WT_COMPARE_STEP:
		return "step time";
	case WT_COMPARE_IDLE:
		return "idle";
	case WT_COMPARE_OF_LINE:
		return wt_compare_line_name(row->line);
	case WT_COMPARE_OF_RANK:
		snprintf(text, 48, "rank %lld late", (long long)row->rank);
		return text;
	default:
		return "";
	}
}

const char *wt_compare_percent(double share, char text[WT_COMPARE_PERCENT_BYTES])
{
	double percent = 100 * share;

	if (!isfinite(percent))
		return ".";
	snprintf(text, WT_COMPARE_PERCENT_BYTES, fabs(percent) < 99.95 ? "%+.1f%%" : "%+.0f%%",
	         fabs(percent) < 0.05 ? 0 : percent);
	return text;
}

double wt_compare_change(const struct wt_compare_row *row)
{
	const struct wt_contrast *contrast = &row->contrast;

	return contrast->mean_before > 0 ? contrast->change / contrast->mean_before : NAN;
}

double wt_compare_error(const struct wt_compare_row *row)
{
	const struct wt_contrast *contrast = &row->contrast;

	/* The greater side of the interval, which of a ratio is not even. */
	return contrast->has_interval && contrast->mean_before > 0
	               ? fmax(contrast->high - contrast->change, contrast->change - contrast->low) /
	                         contrast->mean_before
	               : NAN;
}

const char *wt_compare_noise_text(const struct wt_compare *compare, char text[400])
{
	double share = compare->query.between_kernels < 0 ? WT_COMPARE_BETWEEN_KERNELS
	                                                  : compare->query.between_kernels;
	size_t runs = compare->before.count + compare->after.count;

	if (runs >= 2 + WT_CONTRAST_FREEDOM_LEAST)
		snprintf(text, 400, "noise between runs is that of the %zu runs", runs);
	else
		snprintf(
		        text, 400,
		        "with fewer than three runs a side, kernels within %.2g %% and time between"
		        " kernels within a factor of two are taken for what runs differ by anyway",
		        100 * (share + compare->clock_shift));
	return text;
}

/* ---- order */

static bool is_kernel_row(const struct wt_compare_row *row)
{
	return row->kind == WT_COMPARE_OF_KERNEL || row->kind == WT_COMPARE_OF_CONFIG;
}

static bool is_shown(const struct wt_compare_row *row, const struct wt_compare_style *style)
{
	bool is_line = !is_kernel_row(row);

	if (style->by == WT_COMPARE_BY_LEDGER)
		return is_line;
	if (is_line || (style->by == WT_COMPARE_BY_OCCUPANCY && (!row->before || !row->after)))
		return false;
	return !style->kernel ||
	       (row->before && !regexec(style->kernel, row->before->demangled, 0, NULL, 0)) ||
	       (row->after && !regexec(style->kernel, row->after->demangled, 0, NULL, 0));
}

/* Judged changes, then those that changed in kind or can't be judged, then the rest and new and gone ones. */
static int class_of(const struct wt_compare_row *row)
{
	if (row->contrast.verdict == WT_CONTRAST_MORE || row->contrast.verdict == WT_CONTRAST_LESS)
		return 0;
	if (row->kind_change)
		return 1;
	return row->contrast.verdict == WT_CONTRAST_UNJUDGED && !wt_compare_is_new(row) &&
	                       !wt_compare_is_gone(row)
	               ? 1
	               : 2;
}

static int by_cost(const void *left, const void *right)
{
	const struct wt_compare_row *const *a = left, *const *b = right;
	double x = fabs((*a)->contrast.change), y = fabs((*b)->contrast.change);
	int order = class_of(*a) - class_of(*b);

	if (order)
		return order;
	if (class_of(*a) == 2) {
		x = (*a)->weight;
		y = (*b)->weight;
	}
	if (x != y)
		return x > y ? -1 : 1;
	return *a < *b ? -1 : *a > *b;
}

const struct wt_compare_row **wt_compare_order(const struct wt_compare *compare,
                                               const struct wt_compare_style *style,
                                               size_t *ret_count)
{
	const struct wt_compare_row **rows = calloc(compare->row_count + 1, sizeof(*rows));
	size_t count = 0;

	if (!rows)
		return NULL;
	for (size_t i = 0; i < compare->row_count; i++)
		if (is_shown(&compare->rows[i], style))
			rows[count++] = &compare->rows[i];
	if (style->by != WT_COMPARE_BY_LEDGER)
		qsort(rows, count, sizeof(struct wt_compare_row *), by_cost);
	*ret_count = count;
	return rows;
}

/* ---- names */

int wt_compare_name_rows(const struct wt_compare_row *const *rows, size_t count,
                         bool has_full_names, struct wt_compare_names *names)
{
	const char **raw = calloc(2 * count + 1, sizeof(*raw));
	char **shown = NULL;
	int rc = raw ? 0 : -ENOMEM;

	memset(names, 0, sizeof(*names));
	for (size_t i = 0; !rc && i < count; i++) {
		raw[i] = rows[i]->before ? rows[i]->before->name : "";
		raw[count + i] = rows[i]->after ? rows[i]->after->name : "";
	}
	if (!rc && !has_full_names)
		rc = wt_kernel_name_shorten_all(raw, 2 * count, &shown);
	names->before = calloc(count + 1, sizeof(*names->before));
	names->after = calloc(count + 1, sizeof(*names->after));
	if (!names->before || !names->after)
		rc = -ENOMEM;
	names->count = count;
	for (size_t i = 0; !rc && i < 2 * count; i++) {
		char **at = i < count ? &names->before[i] : &names->after[i - count];

		*at = has_full_names ? wt_kernel_name_demangle(raw[i]) : strdup(shown[i]);
		if (!*at)
			rc = -ENOMEM;
	}
	if (shown)
		wt_kernel_name_free_all(shown, 2 * count);
	free(raw);
	return rc;
}

void wt_compare_names_fini(struct wt_compare_names *names)
{
	for (size_t i = 0; i < names->count; i++) {
		if (names->before)
			free(names->before[i]);
		if (names->after)
			free(names->after[i]);
	}
	free(names->before);
	free(names->after);
	memset(names, 0, sizeof(*names));
}
