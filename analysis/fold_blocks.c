/*
 * fold_blocks.c - see fold_internal.h: whose time is whose. A configuration has a block of unknowns for its
 * course, another for what is left of launches that others disturbed; each set of configurations that run
 * together has one as well, found by hash. Too many kernels at once, or too many sets, would each be seen too
 * rarely to say anything: they share one block, the crowd.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/fold_internal.h"

#define CONFIGS_MAX (1u << 24)
#define MEMBERS_MAX 16 /* of a set */
#define SETS_MAX 8192
#define CLASSES 12 /* of how far the older of two was when the newer one began */
#define CLASSES_AFTER 128 /* times that the two met */
#define CLASSES_SETS (SETS_MAX / 2)

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
	free(blocks->of_rest);
	free(blocks->members);
	free(blocks->sets);
}

size_t fold_blocks_bytes(const struct fold_blocks *blocks)
{
	return blocks->room * sizeof(*blocks->all) +
	       blocks->configs * 2 * sizeof(*blocks->of_config) +
	       (blocks->members_room + blocks->sets_room) * sizeof(uint32_t);
}

static int grow_configs(struct fold_blocks *blocks, uint32_t config)
{
	size_t configs = blocks->configs ? blocks->configs : 64;
	uint32_t *of_config, *of_rest;

	while (configs <= config)
		configs *= 2;
	of_config = realloc(blocks->of_config, configs * sizeof(*of_config));
	if (!of_config)
		return -ENOMEM;
	blocks->of_config = of_config;
	of_rest = realloc(blocks->of_rest, configs * sizeof(*of_rest));
	if (!of_rest)
		return -ENOMEM;
	blocks->of_rest = of_rest;
	for (size_t i = blocks->configs; i < configs; i++)
		of_config[i] = of_rest[i] = FOLD_NONE;
	blocks->configs = configs;
	return 0;
}

int fold_block_of_config(struct fold_blocks *blocks, uint32_t config, bool is_rest,
                         uint32_t *ret_block)
{
	uint32_t *of;

	if (config >= CONFIGS_MAX)
		return -EINVAL;
	if (config >= blocks->configs && grow_configs(blocks, config))
		return -ENOMEM;
	of = is_rest ? blocks->of_rest : blocks->of_config;
	if (of[config] == FOLD_NONE) {
		of[config] = block_create(blocks, config);
		if (of[config] != FOLD_NONE)
			blocks->all[of[config]].is_rest = is_rest;
	}
	*ret_block = of[config];
	return *ret_block == FOLD_NONE ? -ENOMEM : 0;
}

void fold_block_saw(struct fold_block *block, double phase_ns)
{
	if (!block->bins && phase_ns > block->span_ns)
		block->span_ns = phase_ns;
}

double fold_block_span_ns(const struct fold_block *block)
{
	if (!fold_block_is_course(block))
		return block->span_ns;
	if (block->alones)
		return block->alone_busy_ns / (double)block->alones;
	return block->durations ? block->duration_ns / (double)block->durations : 0;
}

static double shared_ns(const struct fold_block *block)
{
	if (!fold_block_is_course(block))
		return block->span_ns;
	if (block->alones)
		return block->alone_ns / (double)block->alones;
	return block->durations ? block->duration_ns / (double)block->durations : 0;
}

uint32_t fold_block_bins(const struct wt_fold_options *options, const struct fold_block *block)
{
	return fold_bins(options, shared_ns(block));
}

uint32_t fold_block_search_bins(const struct wt_fold_options *options,
                                const struct fold_block *block, double width)
{
	double bin_ns = (double)options->bin_ns;

	return fold_bins(options, bin_ns * floor(shared_ns(block) / width / bin_ns + 0.5));
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

int fold_block_of_set(struct fold_blocks *blocks, const uint32_t *set, size_t count,
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

/*
 * Two that run together: who was first, and how far it was when the other one began, or how far from its end
 * if it had been disturbed before. For what they do together depends on it: what blocks the first one still
 * has to run, and where the second one's have to wait for a place.
 */
int fold_block_of_two(struct fold_blocks *blocks, const struct fold_pair *pair, double bin_ns,
                      uint32_t *ret_block)
{
	uint32_t set[3] = {pair->older->config, pair->newer->config, CONFIGS_MAX};
	double older_ns = (double)(pair->older->end_ns - pair->older->start_ns);
	double class_ns = fmax(bin_ns, older_ns / CLASSES), at;
	struct fold_block *block;
	int err = fold_block_of_set(blocks, set, 3, ret_block);

	if (err || *ret_block == blocks->crowd)
		return err;
	block = &blocks->all[*ret_block];
	if (block->meetings++ < CLASSES_AFTER || blocks->sets_count >= CLASSES_SETS)
		return 0;
	at = (double)(pair->is_disturbed ? pair->older->end_ns - pair->start_ns
	                                 : pair->start_ns - pair->older->start_ns);
	set[2] += 1 + (uint32_t)fmin(at / class_ns, CLASSES - 1);
	if (pair->is_disturbed)
		set[2] += CLASSES;
	return fold_block_of_set(blocks, set, 3, ret_block);
}
