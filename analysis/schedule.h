/*
 * schedule.h - list scheduling of blocks onto SMs, and where their SM-time goes.
 *
 * Pure: no I/O, no clock, no globals; any thread. Memory: the slots of the machine.
 * Equal blocks cost two waves whatever the grid is; others O(log S + b) each.
 *
 * Times are integers ("ticks") of whatever unit the caller counts in, and all
 * results are exact.
 *
 * The machine: S SMs with b slots each. Blocks start in the order of their index,
 * each as soon as a slot is free anywhere. Where several SMs have a free slot at the
 * same moment, the one with the fewest resident blocks gets the next block, and
 * among these the lowest index: so the first S blocks land on S SMs, as on
 * hardware. With is_packed that holds at time 0 only; later the lowest SM with a
 * free slot is filled first, as when the slots of an SM come free together (measured
 * on an H200 for equal blocks, see wave.h).
 *
 * How fast: a block that takes T runs T, whoever shares its SM (independent). With
 * is_shared T is what it takes alone, and each of k resident blocks proceeds
 * at 1/k: an SM is busy for as long as the sum of its blocks.
 *
 * Clusters: the next `cluster_blocks` blocks start at the same moment, on SMs of one
 * group (GPC), when that has as many free slots; the group with the most free slots
 * gets them. Blocks of one cluster may share an SM, and each frees its slot when
 * it ends. A cluster that fits nowhere holds up those behind it. Not modelled: SMs
 * that clusters can't use for other reasons, distributed shared memory, placement by
 * TPC. Without clusters the groups play no part.
 *
 * Persistent grids: all `grid` blocks are resident and work through `item_count`
 * items: from a queue (a block that finished one takes the next), dealt in
 * turn (block w has items w, w + grid, w + 2 grid, ...) or split (block w has a
 * contiguous share, the shares differ by one item: Stream-K). Fetching costs nothing.
 * `setup` is added once per block, so once per item without persistence. With
 * clusters, blocks start together but fetch from the queue one by one.
 *
 * Where the SM-time S * makespan goes (an SM is active while a block is resident):
 *
 *   active      sum over the SMs
 *   underfill   makespan * SMs that never got a block
 *   tail idle   all other idle time: after an SM's last block or, with clusters, between
 *   wave        of the tail idle, what `grid` equal blocks of the same total
 *               time would lose on the same machine, at most all of it
 *   straggle    the rest of the tail idle: it comes from unequal blocks
 *
 *   active + underfill + wave + straggle = S * makespan, exactly
 *
 * For equal blocks wave is the tail idle, and equal to wave.h's closed form of the rule:
 * independent (grouped with is_packed), or shared. For blocks of jittered
 * length wave + straggle is on average wave.h's form jitter plus the jitter itself.
 * The blocks of a persistent grid come in one wave, so what they lose when some had
 * more items than others is straggle; wave.h doesn't judge them at all.
 */
#ifndef WT_SCHEDULE_H
#define WT_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	WT_SCHEDULE_SMS_MAX = 1 << 16,
	WT_SCHEDULE_SLOTS_MAX = 1 << 20, /* S * b */
	WT_SCHEDULE_BLOCKS_MAX = 100000000, /* unequal ones: about 20 s */
};

struct wt_schedule_machine {
	uint32_t sm_count; /* S */
	uint32_t blocks_per_sm; /* b */
	bool is_shared, is_packed;
	uint32_t cluster_blocks; /* 0 or 1: no clusters */
	const uint32_t *group_sms; /* SMs of each group, sm_count in all; NULL: one group */
	uint32_t group_count;
};

enum wt_schedule_time_kind {
	WT_SCHEDULE_EQUAL, /* a */
	WT_SCHEDULE_LIST, /* list[index] */
	WT_SCHEDULE_NORMAL, /* mean a, deviation b, cut off below 1 and beyond 6 deviations */
	WT_SCHEDULE_UNIFORM, /* a to b, both included */
};

/* A function of the index and the seed alone, in integers: equal on every machine. */
struct wt_schedule_times {
	enum wt_schedule_time_kind kind;
	int64_t a, b; /* a, b >= 0; UNIFORM: a <= b < INT64_MAX */
	const int64_t *list;
	uint64_t seed;
};

enum wt_schedule_deal {
	WT_SCHEDULE_BLOCKS, /* not persistent: each block is one item */
	WT_SCHEDULE_QUEUE,
	WT_SCHEDULE_STRIDE,
	WT_SCHEDULE_SPLIT,
};

struct wt_schedule_work {
	uint64_t grid; /* blocks; 0 of a persistent grid: as many as fit and have an item */
	uint64_t item_count; /* of a persistent grid */
	enum wt_schedule_deal deal;
	struct wt_schedule_times times; /* of the blocks; of the items of a persistent grid */
	int64_t setup;
};

/* A block that ran, or one item of a persistent block with a queue. */
struct wt_schedule_block {
	uint64_t index;
	uint32_t sm_idx, slot_idx;
	int64_t start, end;
};

/* Called for each in the order of their ends. */
typedef void wt_schedule_observer(void *context, const struct wt_schedule_block *block);

struct wt_schedule_result {
	uint64_t grid, item_count; /* equal unless the grid is persistent */
	uint64_t resident_blocks; /* C: the most that run at the same time */
	double waves, waves_sm; /* grid / C, grid / S */
	uint64_t full_waves, last_wave_blocks; /* floor(waves); 1 to C */
	uint32_t sms_used; /* SMs that got a block */
	int64_t makespan, total; /* total = S * makespan */
	int64_t work; /* sum of the blocks' times */
	int64_t time_min, time_max; /* of blocks or items, setup included */
	int64_t active, idle, underfill_idle, tail_idle, wave_idle, straggle_idle;
	/*
	 * From the first moment at which an SM has no block left for it to the end; the
	 * SM-time active in it. Valid if has_tail: not if SMs were idle between blocks.
	 */
	int64_t tail_time, tail_active;
	bool has_tail;
};

/*
 * `sm_active`: sm_count values, the active time of each SM. `observer` may be NULL;
 * with one, equal blocks are scheduled one by one too.
 *
 * 0; -EINVAL: no SMs, slots, blocks or items, negative times, groups that don't sum up,
 * a persistent grid that isn't resident; -EDOM: the grid isn't a multiple of the
 * cluster; -ENOSPC: a cluster fits in no group; -ENOTSUP: clusters whose blocks share
 * throughput with b > 1 (their ends aren't integers); -E2BIG: more than the
 * maxima above; -EOVERFLOW: times beyond 64 bits; -ENOMEM.
 */
int wt_schedule_compute(const struct wt_schedule_machine *machine,
                        const struct wt_schedule_work *work, wt_schedule_observer *observer,
                        void *context, int64_t *sm_active, struct wt_schedule_result *ret_result);

/* Blocks that the machine holds at once (C), 0 if it is invalid or a cluster doesn't fit. */
uint64_t wt_schedule_resident(const struct wt_schedule_machine *machine);

/* Time of one block or item, without setup. */
int64_t wt_schedule_time(const struct wt_schedule_times *times, uint64_t index);

#endif /* WT_SCHEDULE_H */
