/*
 * fold_rows.c - see fold_internal.h: from a sample to its row: how long it saw which unknown.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/fold_internal.h"

void *fold_room(void *items, size_t *room, size_t need, size_t size)
{
	size_t more = *room ? *room : 16;
	void *grown;

	if (items &&
	    need <= *room) /* NULL says that there is no memory, not that nothing is needed */
		return items;
	while (more < need)
		more += more / 2;
	grown = realloc(items, more * size);
	if (grown)
		*room = more;
	return grown;
}

uint64_t fold_signs(uint64_t seed)
{
	uint64_t z = seed * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

uint32_t fold_bins(const struct wt_fold_options *options, double duration_ns)
{
	double bins = duration_ns / (double)options->bin_ns;

	bins = options->is_nearest ? floor(bins + 0.5) : ceil(bins);
	if (bins >= options->bins_max)
		return options->bins_max;
	return bins < 1 ? 1 : (uint32_t)bins;
}

/* ---- rows */

void fold_row_fini(struct fold_row *row)
{
	free(row->column);
	free(row->ns);
	free(row->block);
	free(row->block_ns);
}

/* Both arrays grow together. */
static int room_for_two(uint32_t **numbers, double **values, size_t *room, size_t need)
{
	size_t first = *room, second = *room;
	void *grown = fold_room(*numbers, &first, need, sizeof(**numbers));

	if (!grown)
		return -ENOMEM;
	*numbers = grown;
	grown = fold_room(*values, &second, need, sizeof(**values));
	if (!grown)
		return -ENOMEM;
	*values = grown;
	*room = first;
	return 0;
}

/* [start, end) of the kernel's course, from its start. */
static void add_bins(struct fold_row *row, const struct fold_place *place, double start_ns,
                     double end_ns, double kernel_ns)
{
	double bin_ns = kernel_ns / place->bins;
	uint32_t bin = (uint32_t)(start_ns / bin_ns);

	if (bin >= place->bins)
		bin = place->bins - 1;
	for (; bin < place->bins && bin * bin_ns < end_ns; bin++) {
		double from_ns = bin * bin_ns > start_ns ? bin * bin_ns : start_ns;
		double to_ns = (bin + 1) * bin_ns;

		if (to_ns > end_ns || bin + 1 == place->bins)
			to_ns = end_ns;
		if (to_ns <= from_ns)
			continue;
		row->column[row->count] = place->first + bin;
		row->ns[row->count++] = to_ns - from_ns;
	}
}

static int add_segment(struct fold_row *row, const struct fold_segment *segment,
                       const struct fold_block *block, const struct fold_place *place,
                       int64_t start_ns, int64_t end_ns)
{
	double span_ns = (double)segment->kernel_ns, from_ns, to_ns;

	if (segment->start_ns > start_ns)
		start_ns = segment->start_ns;
	if (segment->end_ns < end_ns)
		end_ns = segment->end_ns;
	if (end_ns <= start_ns)
		return 0;
	if (room_for_two(&row->block, &row->block_ns, &row->blocks_room, row->blocks + 1) ||
	    room_for_two(&row->column, &row->ns, &row->room, row->count + place->bins + 1))
		return -ENOMEM;
	row->block[row->blocks] = segment->block;
	row->block_ns[row->blocks++] = (double)(end_ns - start_ns);
	row->is_alone &= segment->is_alone;
	if (!place->bins) {
		row->is_whole = false;
		return 0;
	}
	if (!segment->kernel_ns)
		span_ns = fold_block_span_ns(block);
	if (!(span_ns > 0))
		span_ns = 1; /* all of it in the last bin */
	from_ns = (double)(start_ns - segment->origin_ns);
	to_ns = (double)(end_ns - segment->origin_ns);
	if (segment->is_alone && !segment->is_first)
		add_bins(row, place, -to_ns, -from_ns, span_ns);
	else
		add_bins(row, place, from_ns, to_ns, span_ns);
	return 0;
}

int fold_row_build(struct fold_row *row, const struct fold_segments *segments,
                   const struct fold_blocks *blocks, const struct fold_place *places,
                   int64_t start_ns, int64_t end_ns, size_t *position)
{
	size_t at = *position;

	row->count = row->blocks = 0;
	row->is_whole = row->is_alone = true;
	while (at < segments->count && segments->all[at].end_ns <= start_ns)
		at++;
	*position = at;
	for (; at < segments->count && segments->all[at].start_ns < end_ns; at++) {
		const struct fold_segment *segment = &segments->all[at];
		const struct fold_block *block = &blocks->all[segment->block];
		struct fold_place place = {block->first, block->bins};

		if (places)
			place = places[segment->block];
		if (add_segment(row, segment, block, &place, start_ns, end_ns))
			return -ENOMEM;
	}
	return 0;
}
