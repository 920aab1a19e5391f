/*
 * fold_rows.c - see fold_internal.h: from kernels to segments of time in which the same ones run, and
 * from a sample to its row: how long it saw which unknown.
 *
 * Sets of kernels that run together have a block each, found by hash. Too many kernels at once, or
 * too many sets, would each be seen too rarely to say anything: they share one block, the crowd.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/fold_internal.h"

#define CONFIGS_MAX (1u << 24)
#define MEMBERS_MAX 16 /* of a set */
#define SETS_MAX 8192

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
	double bins = duration_ns / (double)options->bin_ns + 0.5;

	if (bins >= options->bins_max)
		return options->bins_max;
	return bins < 1 ? 1 : (uint32_t)bins;
}

/* ---- blocks */

static uint32_t block_create(struct fold_blocks *blocks, uint32_t config)
{
	void *grown =
	        fold_room(blocks->all, &blocks->room, blocks->count + 1, sizeof(*blocks->all));

	if (!grown)
		return FOLD_NONE;
	blocks->all = grown;
	blocks->all[blocks->count] =
	        (struct fold_block){.config = config, .last_start_ns = INT64_MIN};
	return (uint32_t)blocks->count++;
}

int fold_blocks_init(struct fold_blocks *blocks)
{
	blocks->crowd = block_create(blocks, FOLD_NONE);
	return blocks->crowd == FOLD_NONE ? -ENOMEM : 0;
}

void fold_blocks_fini(struct fold_blocks *blocks)
{
	free(blocks->all);
	free(blocks->of_config);
	free(blocks->crowd_ns);
	free(blocks->members);
	free(blocks->sets);
}

size_t fold_blocks_bytes(const struct fold_blocks *blocks)
{
	return blocks->room * sizeof(*blocks->all) +
	       blocks->configs * (sizeof(*blocks->of_config) + sizeof(*blocks->crowd_ns)) +
	       (blocks->members_room + blocks->sets_room) * sizeof(uint32_t);
}

static int block_of_config(struct fold_blocks *blocks, uint32_t config, uint32_t *ret_block)
{
	if (config >= CONFIGS_MAX)
		return -EINVAL;
	if (config >= blocks->configs) {
		size_t configs = blocks->configs ? blocks->configs : 64;
		uint32_t *of_config;
		double *crowd_ns;

		while (configs <= config)
			configs *= 2;
		of_config = realloc(blocks->of_config, configs * sizeof(*of_config));
		if (!of_config)
			return -ENOMEM;
		blocks->of_config = of_config;
		crowd_ns = realloc(blocks->crowd_ns, configs * sizeof(*crowd_ns));
		if (!crowd_ns)
			return -ENOMEM;
		blocks->crowd_ns = crowd_ns;
		for (size_t i = blocks->configs; i < configs; i++) {
			of_config[i] = FOLD_NONE;
			crowd_ns[i] = 0;
		}
		blocks->configs = configs;
	}
	if (blocks->of_config[config] == FOLD_NONE)
		blocks->of_config[config] = block_create(blocks, config);
	*ret_block = blocks->of_config[config];
	return *ret_block == FOLD_NONE ? -ENOMEM : 0;
}

/* ---- sets */

static size_t set_place(const struct fold_blocks *blocks, const uint32_t *set, size_t count)
{
	uint64_t hash = count;
	size_t place;

	for (size_t i = 0; i < count; i++)
		hash = fold_signs(hash ^ set[i]);
	for (place = hash & (blocks->sets_room - 1); blocks->sets[place] != FOLD_NONE;
	     place = (place + 1) & (blocks->sets_room - 1)) {
		const struct fold_block *block = &blocks->all[blocks->sets[place]];

		if (block->set_count == count &&
		    !memcmp(blocks->members + block->set_pos, set, count * sizeof(*set)))
			break;
	}
	return place;
}

static int block_of_set(struct fold_blocks *blocks, const uint32_t *set, size_t count,
                        uint32_t *ret_block)
{
	size_t place;
	uint32_t *grown;

	*ret_block = blocks->crowd;
	if (count > MEMBERS_MAX)
		return 0;
	if (!blocks->sets) {
		blocks->sets_room = 2 * SETS_MAX;
		blocks->sets = malloc(blocks->sets_room * sizeof(*blocks->sets));
		if (!blocks->sets)
			return -ENOMEM;
		memset(blocks->sets, 0xff, blocks->sets_room * sizeof(*blocks->sets));
	}
	place = set_place(blocks, set, count);
	if (blocks->sets[place] != FOLD_NONE) {
		*ret_block = blocks->sets[place];
		return 0;
	}
	if (blocks->sets_count == SETS_MAX)
		return 0;
	grown = fold_room(blocks->members, &blocks->members_room, blocks->members_count + count,
	                  sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	blocks->members = grown;
	*ret_block = block_create(blocks, FOLD_NONE);
	if (*ret_block == FOLD_NONE)
		return -ENOMEM;
	memcpy(grown + blocks->members_count, set, count * sizeof(*set));
	blocks->all[*ret_block].set_pos = (uint32_t)blocks->members_count;
	blocks->all[*ret_block].set_count = (uint32_t)count;
	blocks->members_count += count;
	blocks->sets_count++;
	blocks->sets[place] = *ret_block;
	return 0;
}

/* ---- segments */

void fold_segments_fini(struct fold_segments *segments)
{
	free(segments->all);
	free(segments->kernels);
	free(segments->open);
	free(segments->set);
}

/* Removes the open kernels that ended by then. */
static size_t close_until(const struct fold_segments *segments, size_t open, int64_t time_ns)
{
	size_t left = 0;

	for (size_t i = 0; i < open; i++)
		if (segments->kernels[segments->open[i]].end_ns > time_ns)
			segments->open[left++] = segments->open[i];
	return left;
}

static int open_kernel(struct fold_segments *segments, size_t *open, size_t kernel)
{
	size_t room = segments->open_room;
	uint32_t *grown = fold_room(segments->open, &room, *open + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	segments->open = grown;
	if (room != segments->open_room) {
		grown = realloc(segments->set, room * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		segments->set = grown;
		segments->open_room = room;
	}
	segments->open[(*open)++] = (uint32_t)kernel;
	return 0;
}

/* Kernels that overlap by a little follow each other: both end in the middle. */
static void cut(struct fold_segments *segments, size_t open, struct wt_fold_kernel *kernel,
                int64_t split_ns)
{
	int64_t end_ns = kernel->start_ns, middle_ns;

	for (size_t i = 0; i < open; i++) {
		const struct wt_fold_kernel *before = &segments->kernels[segments->open[i]];

		if (before->end_ns - kernel->start_ns <= split_ns &&
		    before->end_ns < kernel->end_ns && before->end_ns > end_ns)
			end_ns = before->end_ns;
	}
	middle_ns = kernel->start_ns + (end_ns - kernel->start_ns) / 2;
	for (size_t i = 0; i < open; i++) {
		struct wt_fold_kernel *before = &segments->kernels[segments->open[i]];

		if (before->end_ns <= end_ns && before->end_ns > middle_ns)
			before->end_ns = middle_ns;
	}
	kernel->start_ns = middle_ns;
}

/* Of a kernel's ends, in which SMs are idle. */
static int64_t ramp_of(const struct wt_fold_options *options, const struct wt_fold_kernel *kernel)
{
	int64_t quarter_ns = (kernel->end_ns - kernel->start_ns) / 4;

	return options->ramp_ns / 2 < quarter_ns ? options->ramp_ns / 2 : quarter_ns;
}

int64_t fold_busy_ns(const struct wt_fold_options *options, const struct wt_fold_kernel *kernel)
{
	return kernel->end_ns - kernel->start_ns - 2 * ramp_of(options, kernel);
}

/* They are almost in order. */
static void sort_kernels(struct wt_fold_kernel *kernels, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct wt_fold_kernel kernel = kernels[i];
		size_t to = i;

		for (; to && kernels[to - 1].start_ns > kernel.start_ns; to--)
			kernels[to] = kernels[to - 1];
		kernels[to] = kernel;
	}
}

/* Copies kernels, without ramps, cut, by their new starts. */
static int take_kernels(struct fold_segments *segments, const struct wt_fold_kernel *kernels,
                        size_t count, const struct wt_fold_options *options, size_t *ret_count)
{
	struct wt_fold_kernel *taken;
	size_t left = 0, open = 0;
	int err;

	taken = fold_room(segments->kernels, &segments->kernels_room, count, sizeof(*taken));
	if (!taken)
		return -ENOMEM;
	segments->kernels = taken;
	for (size_t i = 0; i < count; i++) {
		int64_t ramp_ns = ramp_of(options, &kernels[i]);

		if (kernels[i].end_ns < kernels[i].start_ns ||
		    (i && kernels[i].start_ns < kernels[i - 1].start_ns))
			return -EINVAL;
		if (kernels[i].end_ns == kernels[i].start_ns)
			continue;
		taken[left] = kernels[i];
		taken[left].start_ns += ramp_ns;
		taken[left++].end_ns -= ramp_ns;
	}
	sort_kernels(taken, left);
	for (size_t i = 0; i < left; i++) {
		open = close_until(segments, open, taken[i].start_ns);
		cut(segments, open, &taken[i], options->split_ns);
		err = open_kernel(segments, &open, i);
		if (err)
			return err;
	}
	sort_kernels(taken, left);
	*ret_count = left;
	return 0;
}

static int compare_u32(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return a < b ? -1 : a > b;
}

static int emit(struct fold_segments *segments, struct fold_blocks *blocks, size_t open,
                int64_t start_ns, int64_t end_ns)
{
	const struct wt_fold_kernel *kernel = &segments->kernels[segments->open[0]];
	struct fold_segment segment = {
	        start_ns, end_ns,        kernel->start_ns, kernel->end_ns - kernel->start_ns,
	        0,        kernel->config};
	void *grown = fold_room(segments->all, &segments->room, segments->count + 1,
	                        sizeof(*segments->all));
	int err;

	if (!grown)
		return -ENOMEM;
	segments->all = grown;
	if (open == 1) {
		err = block_of_config(blocks, kernel->config, &segment.block);
	} else {
		for (size_t i = 0; i < open; i++)
			segments->set[i] = segments->kernels[segments->open[i]].config;
		qsort(segments->set, open, sizeof(*segments->set), compare_u32);
		segment.config = FOLD_NONE;
		segment.kernel_start_ns = start_ns;
		segment.kernel_ns = end_ns - start_ns;
		err = block_of_set(blocks, segments->set, open, &segment.block);
	}
	if (!err)
		segments->all[segments->count++] = segment;
	return err;
}

int fold_segments_build(struct fold_segments *segments, struct fold_blocks *blocks,
                        const struct wt_fold_kernel *kernels, size_t count,
                        const struct wt_fold_options *options)
{
	size_t taken, open = 0, next = 0;
	int64_t now_ns = INT64_MIN, until_ns;
	int err = take_kernels(segments, kernels, count, options, &taken);

	segments->count = 0;
	while (!err && (open || next < taken)) {
		if (!open)
			now_ns = segments->kernels[next].start_ns;
		while (!err && next < taken && segments->kernels[next].start_ns <= now_ns) {
			uint32_t block;

			/* Those that are never alone have a block as well: that counts launches. */
			err = block_of_config(blocks, segments->kernels[next].config, &block);
			if (!err)
				err = open_kernel(segments, &open, next++);
		}
		if (err)
			break;
		until_ns = next < taken ? segments->kernels[next].start_ns : INT64_MAX;
		for (size_t i = 0; i < open; i++)
			if (segments->kernels[segments->open[i]].end_ns < until_ns)
				until_ns = segments->kernels[segments->open[i]].end_ns;
		if (until_ns > now_ns)
			err = emit(segments, blocks, open, now_ns, until_ns);
		now_ns = until_ns;
		open = close_until(segments, open, now_ns);
	}
	return err;
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
                       const struct fold_place *place, int64_t start_ns, int64_t end_ns)
{
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
	if (!place->bins)
		row->is_whole = false;
	else
		add_bins(row, place, (double)(start_ns - segment->kernel_start_ns),
		         (double)(end_ns - segment->kernel_start_ns), (double)segment->kernel_ns);
	return 0;
}

int fold_row_build(struct fold_row *row, const struct fold_segments *segments,
                   const struct fold_blocks *blocks, const struct fold_place *places,
                   int64_t start_ns, int64_t end_ns, size_t *position)
{
	size_t at = *position;

	row->count = row->blocks = 0;
	row->is_whole = true;
	while (at < segments->count && segments->all[at].end_ns <= start_ns)
		at++;
	*position = at;
	for (; at < segments->count && segments->all[at].start_ns < end_ns; at++) {
		const struct fold_segment *segment = &segments->all[at];
		const struct fold_block *block = &blocks->all[segment->block];
		struct fold_place place = {block->first, block->bins};

		if (places)
			place = places[segment->block];
		if (add_segment(row, segment, &place, start_ns, end_ns))
			return -ENOMEM;
	}
	return 0;
}
