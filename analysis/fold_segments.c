/*
 * fold_segments.c - see fold_internal.h: from kernels to segments of time in which the same ones run.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/fold_internal.h"

#define DISTURBED                                                                                  \
	10 /* part of a kernel's time beside others, from which on its course is not its own */

/* ---- segments */

void fold_segments_fini(struct fold_segments *segments)
{
	free(segments->all);
	free(segments->kernels);
	free(segments->met_ns);
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

static struct fold_pair pair_of(const struct fold_segments *segments, int64_t start_ns)
{
	uint32_t older = segments->open[0], newer = segments->open[1];

	if (segments->kernels[older].start_ns > segments->kernels[newer].start_ns) {
		older = segments->open[1];
		newer = segments->open[0];
	}
	return (struct fold_pair){&segments->kernels[older], &segments->kernels[newer], start_ns,
	                          segments->met_ns[older] > 0};
}

/* The block of those that are open, and its phase: time since they are what runs. */
static int name_together(struct fold_segments *segments, struct fold_blocks *blocks, size_t open,
                         const struct wt_fold_options *options, struct fold_segment *segment)
{
	struct fold_pair pair;
	int err;

	if (open == 2) {
		pair = pair_of(segments, segment->start_ns);
		err = fold_block_of_two(blocks, &pair, (double)options->bin_ns, &segment->block);
	} else {
		for (size_t i = 0; i < open; i++)
			segments->set[i] = segments->kernels[segments->open[i]].config;
		qsort(segments->set, open, sizeof(*segments->set), compare_u32);
		err = fold_block_of_set(blocks, segments->set, open, &segment->block);
	}
	if (!err && segment->block != blocks->crowd)
		fold_block_saw(&blocks->all[segment->block],
		               (double)(segment->end_ns - segment->start_ns));
	return err;
}

static int emit(struct fold_segments *segments, struct fold_blocks *blocks, size_t open,
                int64_t start_ns, int64_t end_ns, const struct wt_fold_options *options)
{
	struct fold_segment segment = {.start_ns = start_ns,
	                               .end_ns = end_ns,
	                               .origin_ns = start_ns,
	                               .kernel = segments->open[0],
	                               .is_alone = open == 1,
	                               .is_first = !segments->met_ns[segments->open[0]]};
	void *grown = fold_room(segments->all, &segments->room, segments->count + 1,
	                        sizeof(*segments->all));
	int err = 0;

	if (!grown)
		return -ENOMEM;
	segments->all = grown;
	if (open > 1) {
		err = name_together(segments, blocks, open, options, &segment);
		for (size_t i = 0; i < open; i++)
			segments->met_ns[segments->open[i]] += end_ns - start_ns;
	}
	if (!err)
		segments->all[segments->count++] = segment;
	return err;
}

/*
 * Those by themselves. A kernel that hardly met others is like any of its configuration, from start to
 * end. One that did is, until it first met one; what is left after that may have any course, and is known
 * by the time to its end.
 */
static int name_alone(struct fold_segments *segments, struct fold_blocks *blocks)
{
	int err = 0;

	for (size_t i = 0; i < segments->count && !err; i++) {
		struct fold_segment *segment = &segments->all[i];
		const struct wt_fold_kernel *kernel = &segments->kernels[segment->kernel];
		int64_t kernel_ns = kernel->end_ns - kernel->start_ns;
		int64_t met_ns = segments->met_ns[segment->kernel];

		if (!segment->is_alone)
			continue;
		if (met_ns < kernel_ns / DISTURBED) {
			segment->kernel_ns = kernel_ns;
			segment->is_first = true;
		}
		segment->origin_ns = segment->is_first ? kernel->start_ns : kernel->end_ns;
		err = fold_block_of_config(blocks, kernel->config, !segment->is_first,
		                           &segment->block);
		if (!err && !segment->is_first)
			fold_block_saw(&blocks->all[segment->block],
			               (double)(kernel->end_ns - segment->start_ns));
	}
	return err;
}

static int clear_met(struct fold_segments *segments, size_t kernels)
{
	int64_t *grown = fold_room(segments->met_ns, &segments->met_room, kernels, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	segments->met_ns = grown;
	memset(grown, 0, kernels * sizeof(*grown));
	return 0;
}

int fold_segments_build(struct fold_segments *segments, struct fold_blocks *blocks,
                        const struct wt_fold_kernel *kernels, size_t count,
                        const struct wt_fold_options *options)
{
	size_t taken = 0, open = 0, next = 0;
	int64_t now_ns = INT64_MIN, until_ns;
	int err = take_kernels(segments, kernels, count, options, &taken);

	segments->count = 0;
	if (!err)
		err = clear_met(segments, taken);
	while (!err && (open || next < taken)) {
		if (!open)
			now_ns = segments->kernels[next].start_ns;
		while (!err && next < taken && segments->kernels[next].start_ns <= now_ns) {
			uint32_t block;

			/* Those that are never alone have a block as well: that counts launches. */
			err = fold_block_of_config(blocks, segments->kernels[next].config, false,
			                           &block);
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
			err = emit(segments, blocks, open, now_ns, until_ns, options);
		now_ns = until_ns;
		open = close_until(segments, open, now_ns);
	}
	return err ? err : name_alone(segments, blocks);
}

/* ---- how long they take */

void fold_tally(struct wt_fold *fold, const struct wt_fold_kernel *kernels, size_t count)
{
	int64_t slack_ns = fold->options.ramp_ns + fold->options.split_ns, until_ns = INT64_MIN;

	for (size_t i = 0; i < count; i++) {
		uint32_t config = kernels[i].config;
		bool is_alone =
		        until_ns <= kernels[i].start_ns + slack_ns &&
		        (i + 1 == count || kernels[i + 1].start_ns + slack_ns >= kernels[i].end_ns);
		struct fold_block *block;

		if (kernels[i].end_ns > until_ns)
			until_ns = kernels[i].end_ns;
		if (config >= fold->blocks.configs || fold->blocks.of_config[config] == FOLD_NONE)
			continue;
		block = &fold->blocks.all[fold->blocks.of_config[config]];
		if (block->bins)
			continue;
		block->duration_ns += (double)(kernels[i].end_ns - kernels[i].start_ns);
		block->durations++;
		if (!is_alone)
			continue;
		block->alone_ns += (double)(kernels[i].end_ns - kernels[i].start_ns);
		block->alone_busy_ns += (double)fold_busy_ns(&fold->rows, &kernels[i]);
		block->alones++;
	}
}
