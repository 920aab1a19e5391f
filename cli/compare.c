/*
 * compare.c - see compare.h. Single-threaded; never blocks.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare_impl.h"

int wt_compare_add_text(char ***texts, size_t *count, const char *format, ...)
{
	char **more = realloc(*texts, (*count + 1) * sizeof(**texts));
	va_list ap;
	int length;

	if (!more)
		return -ENOMEM;
	*texts = more;
	va_start(ap, format);
	length = vasprintf(&more[*count], format, ap);
	va_end(ap);
	if (length < 0)
		return -ENOMEM;
	++*count;
	return 0;
}

/* ---- rows */

static int add_of_steps(struct wt_compare *compare)
{
	const enum wt_compare_kind whole[] = {WT_COMPARE_STEP, WT_COMPARE_IDLE};
	struct wt_compare_row *row;

	for (size_t i = 0; i < 2; i++) {
		row = wt_compare_add_row(compare, whole[i]);
		if (!row || wt_compare_fill(compare, row, wt_compare_line_values))
			return -ENOMEM;
		if (whole[i] == WT_COMPARE_IDLE)
			row->contrast.why = compare->idle_why;
		wt_compare_set_margin(compare, row);
	}
	for (int line = 0; line < WT_COMPARE_LINE_MAX; line++) {
		double sum = 0;

		for (size_t i = 0; i < compare->before.count; i++)
			sum += compare->before.runs[i].line_sm_ns[line];
		for (size_t i = 0; i < compare->after.count; i++)
			sum += compare->after.runs[i].line_sm_ns[line];
		if (sum <= 0)
			continue;
		row = wt_compare_add_row(compare, WT_COMPARE_OF_LINE);
		if (!row)
			return -ENOMEM;
		row->line = (enum wt_compare_line)line;
		if (wt_compare_fill(compare, row, wt_compare_line_values))
			return -ENOMEM;
		/* Gaps are as they were recorded: no evidence is in them. */
		if (line < WT_COMPARE_GAP)
			row->contrast.why = compare->idle_why;
		wt_compare_set_margin(compare, row);
	}
	return 0;
}

/* The least rank of the side's runs beyond `after` that is less than `least`; else `least`. */
static int64_t next_rank(const struct wt_compare_side *side, int64_t after, int64_t least)
{
	for (size_t i = 0; i < side->count; i++)
		for (size_t k = 0; k < side->runs[i].rank_count; k++) {
			int64_t rank = side->runs[i].ranks[k].rank;

			if (rank > after && rank < least)
				least = rank;
		}
	return least;
}

/* Why it can't be told of one of the runs how late the rank was; NULL: it can of all. */
static const char *rank_why(const struct wt_compare_side *side, int64_t rank)
{
	for (size_t i = 0; i < side->count; i++) {
		const struct wt_compare_run *run = &side->runs[i];
		bool is_there = false;

		if (run->ranks_reason)
			return run->ranks_reason;
		for (size_t k = 0; k < run->rank_count; k++)
			is_there |= run->ranks[k].rank == rank;
		if (!is_there)
			return "it has no collectives in one of the runs";
	}
	return NULL;
}

/* Those of any run, by number; processes that were given none (-1) are nobody's partners. */
static int add_ranks(struct wt_compare *compare)
{
	int64_t rank = -1;

	for (;;) {
		struct wt_compare_row *row;

		rank = next_rank(&compare->after, rank,
		                 next_rank(&compare->before, rank, INT64_MAX));
		if (rank == INT64_MAX)
			return 0;
		row = wt_compare_add_row(compare, WT_COMPARE_OF_RANK);
		if (!row)
			return -ENOMEM;
		row->rank = rank;
		if (wt_compare_fill(compare, row, wt_compare_rank_values))
			return -ENOMEM;
		row->contrast.why = rank_why(&compare->before, rank);
		if (!row->contrast.why)
			row->contrast.why = rank_why(&compare->after, rank);
		wt_compare_set_margin(compare, row);
	}
}

/* Does it run in nearly all steps, or slices, of the runs of a side? */
static bool is_steady(const struct wt_compare_side *side, const struct wt_compare_unit *unit)
{
	for (size_t i = 0; i < side->count; i++) {
		const struct wt_compare_kernel *kernel = unit->of_run[i];
		size_t with = 0, blocks = side->runs[i].blocks;

		for (size_t k = 0; kernel && k < blocks; k++)
			with += kernel->launches_of[k] > 0;
		if ((double)with < WT_COMPARE_STEADY_LEAST * (double)blocks)
			return false;
	}
	return true;
}

static void judge_kernel_why(const struct wt_compare *compare, struct wt_compare_row *row)
{
	if (wt_compare_is_new(row))
		row->contrast.why = "new";
	else if (wt_compare_is_gone(row))
		row->contrast.why = "gone";
	else if (row->match.score < WT_MATCH_SCORE_SURE)
		row->contrast.why = "it is not sure that these are one kernel";
	else if (compare->is_per_step && (!is_steady(&compare->before, row->before) ||
	                                  !is_steady(&compare->after, row->after)))
		row->contrast.why = "it does not run in every step";
}

static int fill_kernels(struct wt_compare *compare)
{
	for (size_t i = 0; i < compare->row_count; i++) {
		struct wt_compare_row *row = &compare->rows[i];

		if (row->kind != WT_COMPARE_OF_KERNEL)
			continue;
		row->launches_before = row->before ? row->before->launches : 0;
		row->launches_after = row->after ? row->after->launches : 0;
		row->weight = fmax(row->before ? row->before->time_ns : 0,
		                   row->after ? row->after->time_ns : 0);
		if (wt_compare_fill(compare, row, wt_compare_kernel_values))
			return -ENOMEM;
		judge_kernel_why(compare, row);
		wt_compare_set_margin(compare, row);
	}
	return 0;
}

/* ---- configurations in place of kernels */

static int add_config(struct wt_compare *compare, const struct wt_compare_row *of,
                      const struct wt_compare_config *before, const struct wt_compare_config *after)
{
	const struct wt_compare_row kernel = *of; /* rows may move */
	struct wt_compare_row *row = wt_compare_add_row(compare, WT_COMPARE_OF_CONFIG);

	if (!row)
		return -ENOMEM;
	row->before = kernel.before;
	row->after = kernel.after;
	row->match = kernel.match;
	row->config_before = before;
	row->config_after = after;
	row->launches_before =
	        before ? (double)before->launches / wt_compare_steps_of(&compare->before.runs[0])
	               : 0;
	row->launches_after =
	        after ? (double)after->launches / wt_compare_steps_of(&compare->after.runs[0]) : 0;
	row->weight = fmax(
	        before ? (double)before->time_ns / wt_compare_steps_of(&compare->before.runs[0])
	               : 0,
	        after ? (double)after->time_ns / wt_compare_steps_of(&compare->after.runs[0]) : 0);
	if (wt_compare_fill(compare, row, wt_compare_config_values))
		return -ENOMEM;
	judge_kernel_why(compare, row);
	wt_compare_set_margin(compare, row);
	return 0;
}

static bool is_of(const struct wt_compare_side *side, const struct wt_compare_config *config,
                  const struct wt_compare_unit *unit)
{
	return unit && &side->runs[0].kernels[config->kernel] == unit->of_run[0];
}

/* Pairs of one geometry; those alone on their side, if they are the only ones left of it, too. */
static int add_configs_of(struct wt_compare *compare, size_t at)
{
	const struct wt_compare_run *a = &compare->before.runs[0], *b = &compare->after.runs[0];
	const struct wt_compare_row of = compare->rows[at];
	const struct wt_compare_config *left[2] = {NULL, NULL};
	size_t count[2] = {0, 0};
	int rc = 0;

	for (size_t i = 0; !rc && i < a->config_count; i++) {
		const struct wt_compare_config *one = &a->configs[i];
		const struct wt_compare_config *other;

		if (!is_of(&compare->before, one, of.before))
			continue;
		other = of.after ? wt_compare_find_config(b, of.after->of_run[0], one) : NULL;
		if (other) {
			rc = add_config(compare, &of, one, other);
		} else {
			left[0] = one;
			count[0]++;
		}
	}
	for (size_t i = 0; i < b->config_count; i++)
		if (is_of(&compare->after, &b->configs[i], of.after) &&
		    !(of.before &&
		      wt_compare_find_config(a, of.before->of_run[0], &b->configs[i]))) {
			left[1] = &b->configs[i];
			count[1]++;
		}
	if (!rc && count[0] == 1 && count[1] == 1)
		return add_config(compare, &of, left[0], left[1]);
	for (size_t i = 0; !rc && count[0] && i < a->config_count; i++)
		if (is_of(&compare->before, &a->configs[i], of.before) &&
		    !(of.after && wt_compare_find_config(b, of.after->of_run[0], &a->configs[i])))
			rc = add_config(compare, &of, &a->configs[i], NULL);
	for (size_t i = 0; !rc && count[1] && i < b->config_count; i++)
		if (is_of(&compare->after, &b->configs[i], of.after) &&
		    !(of.before && wt_compare_find_config(a, of.before->of_run[0], &b->configs[i])))
			rc = add_config(compare, &of, NULL, &b->configs[i]);
	return rc;
}

static int replace_kernels(struct wt_compare *compare)
{
	size_t kernels = compare->row_count, kept = 0;
	int rc = 0;

	for (size_t i = 0; !rc && i < kernels; i++)
		if (compare->rows[i].kind == WT_COMPARE_OF_KERNEL)
			rc = add_configs_of(compare, i);
	for (size_t i = 0; i < compare->row_count; i++) {
		if (compare->rows[i].kind == WT_COMPARE_OF_KERNEL)
			free(compare->rows[i].means);
		else
			compare->rows[kept++] = compare->rows[i];
	}
	compare->row_count = kept;
	return rc;
}

/* ---- the whole */

static bool is_whole(const struct wt_compare_row *row)
{
	return row->kind == WT_COMPARE_STEP || row->kind == WT_COMPARE_IDLE;
}

/* Step time and idle are a family, what they are made of another: each has half of alpha. */
static int judge_family(struct wt_compare *compare, bool has_whole)
{
	struct wt_contrast *family = calloc(compare->row_count + 1, sizeof(*family));
	double alpha = compare->query.alpha > 0 ? compare->query.alpha : WT_CONTRAST_ALPHA;
	size_t count = 0;
	int rc;

	if (!family)
		return -ENOMEM;
	for (size_t i = 0; i < compare->row_count; i++)
		if (is_whole(&compare->rows[i]) == has_whole)
			family[count++] = compare->rows[i].contrast;
	rc = wt_contrast_judge(family, count, alpha / 2);
	count = 0;
	for (size_t i = 0; !rc && i < compare->row_count; i++)
		if (is_whole(&compare->rows[i]) == has_whole) {
			compare->judged_count += family[count].has_interval;
			compare->rows[i].contrast = family[count++];
		}
	free(family);
	return rc;
}

static int judge(struct wt_compare *compare)
{
	int rc;

	for (size_t i = 0; compare->blocked && i < compare->row_count; i++)
		compare->rows[i].contrast.why = compare->blocked;
	rc = judge_family(compare, true);
	return rc ? rc : judge_family(compare, false);
}

static void find_matched_share(struct wt_compare *compare)
{
	double all = 0, matched = 0;

	for (size_t i = 0; i < compare->row_count; i++) {
		const struct wt_compare_row *row = &compare->rows[i];

		if (row->kind != WT_COMPARE_OF_KERNEL || !row->before)
			continue;
		all += row->before->time_ns;
		if (row->after && row->match.score >= WT_MATCH_SCORE_SURE)
			matched += row->before->time_ns;
	}
	compare->matched_share = all > 0 ? matched / all : 0;
}

static bool all_have_steps(const struct wt_compare_side *side)
{
	for (size_t i = 0; i < side->count; i++)
		if (!side->runs[i].has_steps)
			return false;
	return true;
}

int wt_compare_make(const struct wt_compare_side *before, const struct wt_compare_side *after,
                    const struct wt_compare_query *query, struct wt_compare *compare)
{
	int rc;

	memset(compare, 0, sizeof(*compare));
	compare->before = *before;
	compare->after = *after;
	compare->before.units = compare->after.units = NULL;
	compare->before.unit_count = compare->after.unit_count = 0;
	compare->query = *query;
	compare->sms = (double)before->runs[0].facts.sms;
	compare->is_per_step = all_have_steps(before) && all_have_steps(after);
	rc = wt_compare_make_units(&compare->before);
	if (!rc)
		rc = wt_compare_make_units(&compare->after);
	if (!rc)
		rc = wt_compare_add_kernels(compare);
	find_matched_share(compare);
	if (!rc)
		rc = wt_compare_judge_sides(compare);
	if (!rc)
		rc = fill_kernels(compare);
	if (!rc && query->by_config)
		rc = replace_kernels(compare);
	if (!rc)
		rc = wt_compare_find_kinds(compare);
	if (!rc && compare->is_per_step)
		rc = add_of_steps(compare);
	if (!rc && compare->is_per_step)
		rc = add_ranks(compare);
	return rc ? rc : judge(compare);
}

void wt_compare_fini(struct wt_compare *compare)
{
	for (size_t i = 0; i < compare->row_count; i++) {
		free(compare->rows[i].means);
		free(compare->rows[i].kind_change);
	}
	for (size_t i = 0; i < compare->reason_count; i++)
		free(compare->reasons[i].text);
	for (size_t i = 0; i < compare->kind_count; i++)
		free(compare->kinds[i]);
	free(compare->rows);
	free(compare->reasons);
	free(compare->kinds);
	wt_compare_free_units(&compare->before);
	wt_compare_free_units(&compare->after);
	memset(compare, 0, sizeof(*compare));
}

const struct wt_compare_row *wt_compare_find(const struct wt_compare *compare,
                                             enum wt_compare_kind kind)
{
	for (size_t i = 0; i < compare->row_count; i++)
		if (compare->rows[i].kind == kind)
			return &compare->rows[i];
	return NULL;
}

bool wt_compare_is_new(const struct wt_compare_row *row)
{
	return row->kind == WT_COMPARE_OF_CONFIG ? !row->config_before && row->config_after
	                                         : !row->before && row->after;
}

bool wt_compare_is_gone(const struct wt_compare_row *row)
{
	return row->kind == WT_COMPARE_OF_CONFIG ? row->config_before && !row->config_after
	                                         : row->before && !row->after;
}

/* ---- a sum of kernels */

struct wanted {
	bool (*is_wanted)(const void *arg, const struct wt_compare_unit *unit);
	const void *arg;
};

static int sum_values(const struct wt_compare *compare, const struct wt_compare_side *side,
                      size_t at, const struct wanted *wanted, double *ret_launches,
                      struct wt_mean *ret_mean)
{
	const struct wt_compare_run *run = &side->runs[at];
	double *times = calloc(run->blocks + 1, sizeof(*times));
	double *launches = calloc(run->blocks + 1, sizeof(*launches));
	double *values = calloc(run->blocks + 1, sizeof(*values));
	bool is_any = false;

	for (size_t i = 0; times && launches && values && i < side->unit_count; i++) {
		const struct wt_compare_kernel *kernel = side->units[i].of_run[at];

		if (!wanted->is_wanted(wanted->arg, &side->units[i]) || !kernel)
			continue;
		is_any = true;
		for (size_t k = 0; k < run->blocks; k++) {
			times[k] += kernel->time_ns_of[k];
			launches[k] += kernel->launches_of[k];
		}
	}
	if (times && launches && values) {
		*ret_launches += wt_compare_mean_over(launches, run->blocks) / (double)side->count;
		*ret_mean = wt_compare_mean_of_times(compare, run, times, launches, values);
	}
	free(launches);
	free(values);
	free(times);
	return !times || !launches || !values ? -ENOMEM : is_any ? 0 : -ENOENT;
}

int wt_compare_sum(const struct wt_compare *compare,
                   bool (*is_wanted)(const void *arg, const struct wt_compare_unit *unit),
                   const void *arg, struct wt_compare_row *row)
{
	const struct wanted wanted = {is_wanted, arg};
	size_t before = compare->before.count, after = compare->after.count;
	bool is_collective = false;
	int rc = 0;

	memset(row, 0, sizeof(*row));
	row->kind = WT_COMPARE_OF_KERNEL;
	row->means = calloc(before + after + 1, sizeof(*row->means));
	if (!row->means)
		return -ENOMEM;
	row->contrast.before = (struct wt_contrast_side){row->means, before};
	row->contrast.after = (struct wt_contrast_side){row->means + before, after};
	for (size_t i = 0; !rc && i < before; i++)
		rc = sum_values(compare, &compare->before, i, &wanted, &row->launches_before,
		                &row->means[i]);
	for (size_t i = 0; !rc && i < after; i++)
		rc = sum_values(compare, &compare->after, i, &wanted, &row->launches_after,
		                &row->means[before + i]);
	if (rc)
		return rc;
	row->contrast.why = compare->blocked;
	for (size_t i = 0; i < compare->before.unit_count; i++)
		is_collective |= compare->before.units[i].is_collective &&
		                 is_wanted(arg, &compare->before.units[i]);
	wt_compare_set_kernel_margin(compare, row, is_collective);
	return wt_contrast_judge(&row->contrast, 1, compare->query.alpha);
}
