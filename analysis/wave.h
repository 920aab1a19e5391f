/*
 * wave.h - waves of a launch, and the SM-time that its geometry leaves idle.
 *
 * Pure: no I/O, no clock, no state; any thread; never blocks. One call judges
 * one launch. All results are proportional to the duration, so a caller may
 * also give the total duration of launches of one configuration.
 *
 * Symbols (SM-ns: nanoseconds of one SM):
 *
 *   T  duration        S  SMs the context may use      G  blocks of the grid
 *   b  resident blocks per SM (occupancy.h)            C  resident blocks in all
 *   C = S * b; for clusters, C = clusters that fit at the same time, as the
 *   kernel record says, times blocks per cluster
 *   waves = G / C      n = ceil(G / C)                 r = G - (n - 1) * C, 1..C
 *   waves_sm = G / S: waves of one block per SM
 *
 * Underfill, G < S: T * (S - G). Blocks are dealt to empty SMs first, so S - G
 * of them never get one. Clusters can also leave SMs out for as long as the
 * kernel runs, when C < S: T * (S - min(G, C)). Below, U = min(S, C) are the SMs
 * in reach, which is S for all other launches. Nothing in underfill is counted
 * again as wave.
 *
 * Wave, G > U: the last wave is partial and SMs wait for it. How long depends on
 * whether the blocks of an SM slow each other down and on how evenly they end,
 * which the geometry doesn't tell. Four closed forms bound it:
 *
 *   independent   (T / n) * max(0, U - r), n > 1; 0 for n = 1
 *                 Equal blocks that take the same time however many share the
 *                 SM, the last wave spread over as many SMs as it has blocks.
 *   grouped       (T / n) * max(0, U - ceil(r / b)), n > 1; 0 for n = 1
 *                 The same blocks, but the slots of an SM come free together, so
 *                 the last wave fills one SM after the other.
 *   shared        T * (U - G / ceil(G / U)), any n
 *                 Blocks of an SM share its throughput: an SM is busy for as
 *                 long as its number of blocks says, b plays no part, and the
 *                 fullest SM has ceil(G / U).
 *   jitter        (T / n) * U * (1 - r / C)^b, n > 1; 0 for n = 1
 *                 Blocks end at uneven times, so the last r land on random
 *                 slots; an SM is idle if none of its b slots got one.
 *
 * All are 0 where the waves are whole (G a multiple of C, and C one of U, which
 * only clusters can break).
 *
 * Measured on an H200 (132 SMs; each block noted its SM and its times;
 * tests/gpu/RESULTS.md): underfill exact to 0.2 %. FMA- and tensor-bound blocks, 1
 * to 16 per SM, 0.6 to 3.3 waves: shared, within 0.4 points of S * T. Blocks that wait
 * on the clock: grouped, within 2 points, as long as they end together (2 per SM, 1.5
 * waves: 0.235 of S * T, grouped 0.250, the others at most 0.125), and towards
 * independent as their ends drift apart. Memory-bound blocks: all forms agree at 1 per
 * SM; with more they lie anywhere in the range, and at times above it by a few points;
 * in less than one wave about 0.03, far below shared. So the range is what the geometry
 * knows, not a guarantee, and idle SMs are not time lost while DRAM is saturated. For
 * clusters underfill is a lower bound, since blocks of one cluster may share an SM
 * while others are empty.
 *
 * Not judged: cooperative and persistent launches, whose blocks don't come in
 * waves; launches whose C isn't known, unless G <= S settles it. What isn't
 * judged is in unjudged_sm_ns and must be shown: it is not active time.
 *
 * Arithmetic: SM-ns are rounded to the nearest. T is cut off where T * S would
 * exceed INT64_MAX. As rounding keeps order,
 *   0 <= wave <= wave_max,  underfill + wave_max + unjudged <= T * S
 * hold exactly.
 */
#ifndef WT_WAVE_H
#define WT_WAVE_H

#include <stdbool.h>
#include <stdint.h>

/* Why waves or wave are unknown. Values are stored in run files: append only. */
enum wt_wave_reason {
	WT_WAVE_JUDGED = 0,
	WT_WAVE_NO_SMS, /* the number of SMs isn't known */
	WT_WAVE_BAD_GRID, /* a grid without blocks, or beyond what CUDA can launch */
	WT_WAVE_NO_TIME, /* no valid duration: zero, or the end before the start */
	WT_WAVE_COOPERATIVE, /* all blocks are resident and wait for each other */
	WT_WAVE_PERSISTENT, /* blocks fetch their work themselves */
	WT_WAVE_NO_CLUSTER_MAX, /* the record doesn't say how many clusters fit */
	WT_WAVE_NO_CAPABILITY, /* allocation units of this compute capability aren't known */
	WT_WAVE_NO_LIMITS, /* the driver gave no value for a limit of the device */
	WT_WAVE_NO_FIT, /* by our count not one block fits, and yet it ran */
	WT_WAVE_REASON_MAX
};

enum wt_wave_form {
	WT_WAVE_INDEPENDENT,
	WT_WAVE_SHARED,
	WT_WAVE_JITTER,
	WT_WAVE_GROUPED,
	WT_WAVE_FORM_MAX
};

struct wt_wave_launch {
	int64_t duration_ns;
	uint32_t grid[3]; /* blocks in x, y, z */
	uint32_t cluster[3]; /* blocks of a cluster in x, y, z; product 0 or 1: no clusters */
	uint32_t max_active_clusters; /* kernel record; 0 = not known. Read with clusters only */
	int32_t sm_count; /* SMs the context may use; 0 = not known */
	int32_t blocks_per_sm; /* wt_occupancy.blocks_per_sm; 0 = not known or no fit */
	int occupancy_error; /* what wt_occupancy_compute returned */
	bool is_cooperative;
	bool is_persistent; /* known from elsewhere: geometry can't tell */
};

struct wt_wave_result {
	uint64_t grid_blocks; /* G; UINT64_MAX if it is more than that */
	int64_t resident_blocks; /* C; 0 = not known */
	double waves; /* valid if has_waves */
	double waves_sm; /* valid if sm_count > 0 and the grid is valid */
	uint64_t full_waves; /* floor(waves), valid if has_waves */
	int64_t last_wave_blocks; /* r, valid if has_waves */
	int64_t underfill_sm_ns;
	int64_t wave_sm_ns; /* the least of the forms; valid if is_judged, like the next two */
	int64_t wave_max_sm_ns; /* the greatest */
	int64_t form_sm_ns[WT_WAVE_FORM_MAX]; /* each form, for kernels whose class is known */
	int64_t unjudged_sm_ns; /* all that isn't underfill, if the wave isn't judged */
	enum wt_wave_reason reason;
	bool has_waves;
	bool is_judged; /* true also where G <= S settles the wave (0) without C */
};

void wt_wave_judge(const struct wt_wave_launch *launch, struct wt_wave_result *ret_result);

/* Blocks of a grid: the product, or UINT64_MAX where 64 bits don't hold it. */
uint64_t wt_wave_grid_blocks(const uint32_t grid[3]);

/* For people and JSON, such as "cooperative launch": static text; NULL for WT_WAVE_JUDGED. */
const char *wt_wave_reason_text(enum wt_wave_reason reason);

#endif /* WT_WAVE_H */
