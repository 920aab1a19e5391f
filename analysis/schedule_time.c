/*
 * schedule_time.c - block times, given or drawn, see schedule.h.
 *
 * Pure: any thread, never blocks. Draws are a hash of seed and index (the mixer of
 * splitmix64), so they need no state, no memory, and no floating point.
 */
#include "analysis/schedule.h"

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 uwide;

#define GOLDEN 0x9e3779b97f4a7c15u
#define HALF 0x80000000u /* of 2^32 */

static uint64_t mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* Start of the draws of one block: neighbours in index or seed have nothing in common. */
static uint64_t stream_of(uint64_t seed, uint64_t index)
{
	return mix(mix(seed + GOLDEN) ^ mix(index * GOLDEN + 1));
}

static int64_t draw_uniform(const struct wt_schedule_times *times, uint64_t stream)
{
	uint64_t span = (uint64_t)(times->b - times->a) + 1;

	return times->a + (int64_t)(((uwide)mix(stream + GOLDEN) * span) >> 64);
}

/*
 * The sum of 12 even numbers of [0, 1) has deviation 1 and is close to normal. Here
 * they have 32 bits, and the sum is an integer.
 */
static int64_t draw_normal(const struct wt_schedule_times *times, uint64_t stream)
{
	int64_t sum = -6 * (int64_t)UINT32_MAX;
	uwide distance;
	wide time;

	for (int i = 0; i < 6; i++) {
		uint64_t bits = mix(stream += GOLDEN);

		sum += (int64_t)(bits >> 32) + (int64_t)(uint32_t)bits;
	}
	distance = ((uwide)(sum < 0 ? -sum : sum) * (uint64_t)times->b + HALF) >> 32;
	time = sum < 0 ? times->a - (wide)distance : times->a + (wide)distance;
	if (time < 1)
		return 1;
	return time > INT64_MAX ? INT64_MAX : (int64_t)time;
}

int64_t wt_schedule_time(const struct wt_schedule_times *times, uint64_t index)
{
	switch (times->kind) {
	case WT_SCHEDULE_LIST:
		return times->list[index];
	case WT_SCHEDULE_NORMAL:
		return draw_normal(times, stream_of(times->seed, index));
	case WT_SCHEDULE_UNIFORM:
		return draw_uniform(times, stream_of(times->seed, index));
	default:
		return times->a;
	}
}
