/*
 * compare.c - see compare.h. Single-threaded; never blocks.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare.h"

#define GAPS_WHY "what the time between kernels goes to differs from run to run: give three a side"

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

/* ---- the kernels of a side */

static struct wt_compare_unit *find_unit(struct wt_compare_side *side, const char *name)
{
	for (size_t i = 0; i < side->unit_count; i++)
		if (!strcmp(side->units[i].name, name))
			return &side->units[i];
	return NULL;
}

static double steps_of(const struct wt_compare_run *run)
{
	return run->has_steps ? (double)run->steps : 1;
}

/* Sums over its runs become means: a run that lacks the kernel has none of it. */
static void finish_unit(const struct wt_compare_side *side, struct wt_compare_unit *unit)
{
	double launches = 0, in_graph = 0, n = (double)side->count;

	for (size_t i = 0; i < side->count; i++) {
		const struct wt_compare_run *run = &side->runs[i];
		const struct wt_compare_kernel *kernel = unit->of_run[i];

		if (!kernel)
			continue;
		launches += (double)kernel->launches;
		in_graph += (double)kernel->in_graph;
		unit->launches += (double)kernel->launches / steps_of(run) / n;
		unit->time_ns += (double)kernel->time_ns / steps_of(run) / n;
		if (unit->most)
			continue;
		if (kernel->most != SIZE_MAX)
			unit->most = &run->configs[kernel->most];
		unit->place = (double)kernel->first * steps_of(run) /
		              (double)(run->kernels_in_steps ? run->kernels_in_steps : 1);
		unit->place = unit->place < 1 ? unit->place : 1;
	}
	unit->in_graph = launches > 0 ? in_graph / launches : 0;
}

static int make_units(struct wt_compare_side *side)
{
	size_t most = 0;

	for (size_t i = 0; i < side->count; i++)
		most += side->runs[i].kernel_count;
	side->units = calloc(most + 1, sizeof(*side->units));
	if (!side->units)
		return -ENOMEM;
	for (size_t i = 0; i < side->count; i++) {
		const struct wt_compare_run *run = &side->runs[i];

		for (size_t k = 0; k < run->kernel_count; k++) {
			const struct wt_compare_kernel *kernel = &run->kernels[k];
			struct wt_compare_unit *unit = i ? find_unit(side, kernel->name) : NULL;

			if (!unit) {
				unit = &side->units[side->unit_count];
				unit->of_run = calloc(side->count, sizeof(*unit->of_run));
				if (!unit->of_run)
					return -ENOMEM;
				side->unit_count++;
				unit->name = kernel->name;
				unit->demangled = kernel->demangled;
			}
			unit->of_run[i] = kernel;
			unit->is_collective |= kernel->is_collective;
		}
	}
	for (size_t i = 0; i < side->unit_count; i++)
		finish_unit(side, &side->units[i]);
	return 0;
}

static void free_units(struct wt_compare_side *side)
{
	for (size_t i = 0; i < side->unit_count; i++)
		free(side->units[i].of_run);
	free(side->units);
	side->units = NULL;
	side->unit_count = 0;
}

/* ---- matching */

static struct wt_match_kernel *to_match(const struct wt_compare_side *side)
{
	struct wt_match_kernel *match = calloc(side->unit_count + 1, sizeof(*match));

	for (size_t i = 0; match && i < side->unit_count; i++) {
		const struct wt_compare_unit *unit = &side->units[i];

		match[i].name = unit->demangled;
		match[i].blocks = unit->most ? (double)unit->most->blocks : 0;
		match[i].threads = unit->most ? (double)unit->most->threads : 0;
		match[i].place = unit->place;
		match[i].launches = unit->launches;
		match[i].weight = unit->time_ns;
	}
	return match;
}

static struct wt_compare_row *add_row(struct wt_compare *compare, enum wt_compare_kind kind)
{
	struct wt_compare_row *more =
	        realloc(compare->rows, (compare->row_count + 1) * sizeof(*more));
	struct wt_compare_row *row;

	if (!more)
		return NULL;
	compare->rows = more;
	row = &more[compare->row_count++];
	memset(row, 0, sizeof(*row));
	row->kind = kind;
	row->means = calloc(compare->before.count + compare->after.count + 1, sizeof(*row->means));
	return row->means ? row : NULL;
}

static int add_kernels(struct wt_compare *compare)
{
	const struct wt_compare_side *a = &compare->before, *b = &compare->after;
	struct wt_match_kernel *before = to_match(a), *after = to_match(b);
	int rc = before && after ? wt_kernel_match(before, a->unit_count, after, b->unit_count)
	                         : -ENOMEM;

	for (size_t i = 0; !rc && i < a->unit_count; i++) {
		struct wt_compare_row *row = add_row(compare, WT_COMPARE_OF_KERNEL);

		if (!row) {
			rc = -ENOMEM;
			break;
		}
		row->before = &a->units[i];
		row->match = before[i];
		if (before[i].how != WT_MATCH_NONE)
			row->after = &b->units[before[i].partner];
	}
	for (size_t i = 0; !rc && i < b->unit_count; i++) {
		struct wt_compare_row *row;

		if (after[i].how != WT_MATCH_NONE)
			continue;
		row = add_row(compare, WT_COMPARE_OF_KERNEL);
		if (row)
			row->after = &b->units[i];
		else
			rc = -ENOMEM;
	}
	free(before);
	free(after);
	return rc;
}

/* ---- values of a run */

/* Time of each launch where a slice has some; else time a step. Room for all blocks in `values`. */
static struct wt_mean mean_of_times(const struct wt_compare *compare,
                                    const struct wt_compare_run *run, const double *times,
                                    const double *launches, double *values)
{
	size_t count = 0;

	if (compare->is_per_step)
		return wt_noise_mean(times, run->blocks);
	for (size_t i = 0; i < run->blocks; i++)
		if (launches[i] > 0)
			values[count++] = times[i] / launches[i];
	return wt_noise_mean(values, count);
}

/* A run in which it did not happen: 0, and that is sure. */
static struct wt_mean nothing(const struct wt_compare_run *run)
{
	return (struct wt_mean){
	        .freedom = (double)run->blocks - 1, .count = run->blocks, .batch = 1};
}

/* Of a row's quantity in one run of a side. 0 or -ENOMEM. */
typedef int values_fn(const struct wt_compare *compare, const struct wt_compare_side *side,
                      size_t at, const struct wt_compare_row *row, struct wt_mean *ret_mean);

static void set_sides(struct wt_compare *compare, struct wt_compare_row *row)
{
	row->contrast.before = (struct wt_contrast_side){row->means, compare->before.count};
	row->contrast.after =
	        (struct wt_contrast_side){row->means + compare->before.count, compare->after.count};
}

static int fill(struct wt_compare *compare, struct wt_compare_row *row, values_fn *values)
{
	int rc = 0;

	set_sides(compare, row);
	for (size_t i = 0; !rc && i < compare->before.count; i++)
		rc = values(compare, &compare->before, i, row, &row->means[i]);
	for (size_t i = 0; !rc && i < compare->after.count; i++)
		rc = values(compare, &compare->after, i, row,
		            &row->means[compare->before.count + i]);
	return rc;
}

static int kernel_values(const struct wt_compare *compare, const struct wt_compare_side *side,
                         size_t at, const struct wt_compare_row *row, struct wt_mean *ret_mean)
{
	const struct wt_compare_run *run = &side->runs[at];
	const struct wt_compare_unit *unit = side == &compare->before ? row->before : row->after;
	const struct wt_compare_kernel *kernel = unit ? unit->of_run[at] : NULL;
	double *values = calloc(run->blocks + 1, sizeof(*values));

	if (!values)
		return -ENOMEM;
	*ret_mean = kernel ? mean_of_times(compare, run, kernel->time_ns_of, kernel->launches_of,
	                                   values)
	                   : nothing(run);
	free(values);
	return 0;
}

/* The configuration of another run that is the same: all of its geometry. */
static const struct wt_compare_config *find_config(const struct wt_compare_run *run,
                                                   const struct wt_compare_kernel *kernel,
                                                   const struct wt_compare_config *like)
{
	for (size_t i = 0; kernel && i < run->config_count; i++) {
		const struct wt_compare_config *one = &run->configs[i];

		if (&run->kernels[one->kernel] == kernel && one->device_id == like->device_id &&
		    !memcmp(one->grid, like->grid, sizeof(one->grid)) &&
		    !memcmp(one->block, like->block, sizeof(one->block)) &&
		    one->regs == like->regs && one->smem_bytes == like->smem_bytes &&
		    one->cluster == like->cluster && one->sms == like->sms)
			return one;
	}
	return NULL;
}

static int config_values(const struct wt_compare *compare, const struct wt_compare_side *side,
                         size_t at, const struct wt_compare_row *row, struct wt_mean *ret_mean)
{
	const struct wt_compare_run *run = &side->runs[at];
	bool is_before = side == &compare->before;
	const struct wt_compare_unit *unit = is_before ? row->before : row->after;
	const struct wt_compare_config *like = is_before ? row->config_before : row->config_after;
	const struct wt_compare_config *config =
	        like ? find_config(run, unit->of_run[at], like) : NULL;
	double *values = calloc(run->blocks + 1, sizeof(*values));

	if (!values)
		return -ENOMEM;
	*ret_mean = config ? mean_of_times(compare, run, config->time_ns_of, config->launches_of,
	                                   values)
	                   : nothing(run);
	free(values);
	return 0;
}

static double idle_of(const struct wt_compare_run *run, size_t block)
{
	double idle = 0;

	for (int line = 0; line < WT_COMPARE_LINE_MAX; line++)
		if (line != WT_COMPARE_ACTIVE && line != WT_COMPARE_UNJUDGED)
			idle += run->line_of[line][block];
	return idle;
}

static int line_values(const struct wt_compare *compare, const struct wt_compare_side *side,
                       size_t at, const struct wt_compare_row *row, struct wt_mean *ret_mean)
{
	const struct wt_compare_run *run = &side->runs[at];
	double *values = calloc(run->blocks + 1, sizeof(*values));

	(void)compare;
	if (!values)
		return -ENOMEM;
	for (size_t i = 0; i < run->blocks; i++)
		values[i] = row->kind == WT_COMPARE_STEP   ? run->step_ns_of[i]
		            : row->kind == WT_COMPARE_IDLE ? idle_of(run, i)
		                                           : run->line_of[row->line][i];
	*ret_mean = wt_noise_mean(values, run->blocks);
	free(values);
	return 0;
}

static int rank_values(const struct wt_compare *compare, const struct wt_compare_side *side,
                       size_t at, const struct wt_compare_row *row, struct wt_mean *ret_mean)
{
	const struct wt_compare_run *run = &side->runs[at];

	(void)compare;
	*ret_mean = nothing(run);
	for (size_t i = 0; i < run->rank_count; i++)
		if (run->ranks[i].rank == row->rank)
			*ret_mean = wt_noise_mean(run->ranks[i].late_ns_of, run->blocks);
	return 0;
}

/* ---- margins: what runs of the same program differ by */

static double mean_over(const double *values, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += values[i];
	return count ? sum / (double)count : 0;
}

static double busy_ns(const struct wt_compare_run *run)
{
	return mean_over(run->busy_ns_of, run->blocks);
}

static double gap_sm_ns(const struct wt_compare_run *run)
{
	double sum = 0;

	for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++)
		sum += mean_over(run->line_of[WT_COMPARE_GAP + cause], run->blocks);
	return sum;
}

static double kernel_share(const struct wt_compare *compare)
{
	double share = compare->query.between_kernels;

	return (share < 0 ? WT_COMPARE_BETWEEN_KERNELS : share) + compare->clock_shift;
}

/* By which factor the quantity of a run could be another, of its kernels and gaps. */
static double factor_of(const struct wt_compare *compare, const struct wt_compare_row *row,
                        const struct wt_compare_run *run, double mean)
{
	double share = kernel_share(compare), busy = busy_ns(run), gap;

	if (!(mean > 0))
		return 1;
	if (row->kind == WT_COMPARE_STEP) {
		gap = mean - busy;
	} else {
		gap = gap_sm_ns(run);
		busy *= compare->sms;
	}
	return 1 + (share * busy + (WT_COMPARE_BETWEEN_GAPS - 1) * gap) / mean;
}

/* Of step time and idle: the greatest of the runs. */
static double whole_margin(const struct wt_compare *compare, const struct wt_compare_row *row)
{
	double most = 1;

	for (size_t i = 0; i < compare->before.count; i++)
		most = fmax(most,
		            factor_of(compare, row, &compare->before.runs[i], row->means[i].mean));
	for (size_t i = 0; i < compare->after.count; i++)
		most = fmax(most, factor_of(compare, row, &compare->after.runs[i],
		                            row->means[compare->before.count + i].mean));
	return log(most);
}

/* Least and greatest mean of the runs. */
static void range_of(const struct wt_compare *compare, const struct wt_compare_row *row,
                     double *ret_least, double *ret_most)
{
	*ret_least = *ret_most = row->means[0].mean;
	for (size_t i = 1; i < compare->before.count + compare->after.count; i++) {
		*ret_least = fmin(*ret_least, row->means[i].mean);
		*ret_most = fmax(*ret_most, row->means[i].mean);
	}
}

static double greatest_busy_ns(const struct wt_compare *compare)
{
	double most = 0;

	for (size_t i = 0; i < compare->before.count; i++)
		most = fmax(most, busy_ns(&compare->before.runs[i]));
	for (size_t i = 0; i < compare->after.count; i++)
		most = fmax(most, busy_ns(&compare->after.runs[i]));
	return most;
}

static void set_kernel_margin(const struct wt_compare *compare, struct wt_compare_row *row,
                              bool is_collective)
{
	struct wt_contrast *contrast = &row->contrast;
	double least, most, launches = fmax(row->launches_before, row->launches_after);

	contrast->is_ratio = true;
	/* Ranks wait in collectives for what the hosts of others do. */
	contrast->margin =
	        is_collective ? log(WT_COMPARE_BETWEEN_GAPS) : log1p(kernel_share(compare));
	range_of(compare, row, &least, &most);
	if (least > 0)
		contrast->resolution = log1p(WT_COMPARE_RESOLUTION_NS *
		                             (compare->is_per_step ? launches : 1) / least);
}

static void set_line_margin(const struct wt_compare *compare, struct wt_compare_row *row)
{
	struct wt_contrast *contrast = &row->contrast;
	double share = kernel_share(compare), least, most;
	bool is_repeated =
	        compare->before.count + compare->after.count >= 2 + WT_CONTRAST_FREEDOM_LEAST;

	range_of(compare, row, &least, &most);
	contrast->margin = share * greatest_busy_ns(compare);
	if (row->kind == WT_COMPARE_OF_RANK) {
		contrast->margin += most * (1 - 1 / WT_COMPARE_BETWEEN_GAPS);
		return;
	}
	contrast->margin *= compare->sms;
	if (row->line >= WT_COMPARE_GAP && !is_repeated && !contrast->why)
		contrast->why = GAPS_WHY;
}

static void set_margin(const struct wt_compare *compare, struct wt_compare_row *row)
{
	switch (row->kind) {
	case WT_COMPARE_OF_KERNEL:
	case WT_COMPARE_OF_CONFIG:
		set_kernel_margin(compare, row,
		                  (row->before && row->before->is_collective) ||
		                          (row->after && row->after->is_collective));
		return;
	case WT_COMPARE_STEP:
	case WT_COMPARE_IDLE:
		row->contrast.is_ratio = true;
		row->contrast.margin = whole_margin(compare, row);
		return;
	default:
		set_line_margin(compare, row);
	}
}

/* ---- rows */

static int add_of_steps(struct wt_compare *compare)
{
	const enum wt_compare_kind whole[] = {WT_COMPARE_STEP, WT_COMPARE_IDLE};
	struct wt_compare_row *row;

	for (size_t i = 0; i < 2; i++) {
		row = add_row(compare, whole[i]);
		if (!row || fill(compare, row, line_values))
			return -ENOMEM;
		if (whole[i] == WT_COMPARE_IDLE)
			row->contrast.why = compare->idle_why;
		set_margin(compare, row);
	}
	for (int line = 0; line < WT_COMPARE_LINE_MAX; line++) {
		double sum = 0;

		for (size_t i = 0; i < compare->before.count; i++)
			sum += compare->before.runs[i].line_sm_ns[line];
		for (size_t i = 0; i < compare->after.count; i++)
			sum += compare->after.runs[i].line_sm_ns[line];
		if (sum <= 0)
			continue;
		row = add_row(compare, WT_COMPARE_OF_LINE);
		if (!row)
			return -ENOMEM;
		row->line = (enum wt_compare_line)line;
		if (fill(compare, row, line_values))
			return -ENOMEM;
		/* Gaps are as they were recorded: no evidence is in them. */
		if (line < WT_COMPARE_GAP)
			row->contrast.why = compare->idle_why;
		set_margin(compare, row);
	}
	return 0;
}

static int add_ranks(struct wt_compare *compare)
{
	for (size_t i = 0; i < compare->before.runs[0].rank_count; i++) {
		struct wt_compare_row *row = add_row(compare, WT_COMPARE_OF_RANK);

		if (!row)
			return -ENOMEM;
		row->rank = compare->before.runs[0].ranks[i].rank;
		if (fill(compare, row, rank_values))
			return -ENOMEM;
		set_margin(compare, row);
	}
	return 0;
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
	if (!row->before || (row->kind == WT_COMPARE_OF_CONFIG && !row->config_before))
		row->contrast.why = "new";
	else if (!row->after || (row->kind == WT_COMPARE_OF_CONFIG && !row->config_after))
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
		if (fill(compare, row, kernel_values))
			return -ENOMEM;
		judge_kernel_why(compare, row);
		set_margin(compare, row);
	}
	return 0;
}

/* ---- configurations in place of kernels */

static int add_config(struct wt_compare *compare, const struct wt_compare_row *of,
                      const struct wt_compare_config *before, const struct wt_compare_config *after)
{
	const struct wt_compare_row kernel = *of; /* rows may move */
	struct wt_compare_row *row = add_row(compare, WT_COMPARE_OF_CONFIG);

	if (!row)
		return -ENOMEM;
	row->before = kernel.before;
	row->after = kernel.after;
	row->match = kernel.match;
	row->config_before = before;
	row->config_after = after;
	row->launches_before =
	        before ? (double)before->launches / steps_of(&compare->before.runs[0]) : 0;
	row->launches_after =
	        after ? (double)after->launches / steps_of(&compare->after.runs[0]) : 0;
	row->weight =
	        fmax(before ? (double)before->time_ns / steps_of(&compare->before.runs[0]) : 0,
	             after ? (double)after->time_ns / steps_of(&compare->after.runs[0]) : 0);
	if (fill(compare, row, config_values))
		return -ENOMEM;
	judge_kernel_why(compare, row);
	set_margin(compare, row);
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
		other = of.after ? find_config(b, of.after->of_run[0], one) : NULL;
		if (other) {
			rc = add_config(compare, &of, one, other);
		} else {
			left[0] = one;
			count[0]++;
		}
	}
	for (size_t i = 0; i < b->config_count; i++)
		if (is_of(&compare->after, &b->configs[i], of.after) &&
		    !(of.before && find_config(a, of.before->of_run[0], &b->configs[i]))) {
			left[1] = &b->configs[i];
			count[1]++;
		}
	if (!rc && count[0] == 1 && count[1] == 1)
		return add_config(compare, &of, left[0], left[1]);
	for (size_t i = 0; !rc && count[0] && i < a->config_count; i++)
		if (is_of(&compare->before, &a->configs[i], of.before) &&
		    !(of.after && find_config(b, of.after->of_run[0], &a->configs[i])))
			rc = add_config(compare, &of, &a->configs[i], NULL);
	for (size_t i = 0; !rc && count[1] && i < b->config_count; i++)
		if (is_of(&compare->after, &b->configs[i], of.after) &&
		    !(of.before && find_config(a, of.before->of_run[0], &b->configs[i])))
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
	rc = make_units(&compare->before);
	if (!rc)
		rc = make_units(&compare->after);
	if (!rc)
		rc = add_kernels(compare);
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
	free_units(&compare->before);
	free_units(&compare->after);
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
		*ret_launches += mean_over(launches, run->blocks) / (double)side->count;
		*ret_mean = mean_of_times(compare, run, times, launches, values);
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
	set_kernel_margin(compare, row, is_collective);
	return wt_contrast_judge(&row->contrast, 1, compare->query.alpha);
}
