/*
 * compare_kernels.c - the kernels of a side, and which of them is which on the other. Single-threaded; never blocks.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare_impl.h"

/* ---- the kernels of a side */

static struct wt_compare_unit *find_unit(struct wt_compare_side *side, const char *name)
{
	for (size_t i = 0; i < side->unit_count; i++)
		if (!strcmp(side->units[i].name, name))
			return &side->units[i];
	return NULL;
}

double wt_compare_steps_of(const struct wt_compare_run *run)
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
		unit->launches += (double)kernel->launches / wt_compare_steps_of(run) / n;
		unit->time_ns += (double)kernel->time_ns / wt_compare_steps_of(run) / n;
		if (unit->most)
			continue;
		if (kernel->most != SIZE_MAX)
			unit->most = &run->configs[kernel->most];
		unit->place = (double)kernel->first * wt_compare_steps_of(run) /
		              (double)(run->kernels_in_steps ? run->kernels_in_steps : 1);
		unit->place = unit->place < 1 ? unit->place : 1;
	}
	unit->in_graph = launches > 0 ? in_graph / launches : 0;
}

int wt_compare_make_units(struct wt_compare_side *side)
{
	size_t most = 0;

	for (size_t i = 0; i < side->count; i++)
		most += side->runs[i].kernel_count;
	side->units = calloc(most + 1, sizeof(*side->units));
	side->unit_count = 0;
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

void wt_compare_free_units(struct wt_compare_side *side)
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

struct wt_compare_row *wt_compare_add_row(struct wt_compare *compare, enum wt_compare_kind kind)
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

int wt_compare_add_kernels(struct wt_compare *compare)
{
	const struct wt_compare_side *a = &compare->before, *b = &compare->after;
	struct wt_match_kernel *before = to_match(a), *after = to_match(b);
	int rc = before && after ? wt_kernel_match(before, a->unit_count, after, b->unit_count)
	                         : -ENOMEM;

	for (size_t i = 0; !rc && i < a->unit_count; i++) {
		struct wt_compare_row *row = wt_compare_add_row(compare, WT_COMPARE_OF_KERNEL);

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
		row = wt_compare_add_row(compare, WT_COMPARE_OF_KERNEL);
		if (row)
			row->after = &b->units[i];
		else
			rc = -ENOMEM;
	}
	free(before);
	free(after);
	return rc;
}
