/*
 * fold_internal.h - the parts of folding (fold.h) and what they share.
 *
 *   fold_blocks.c   blocks of unknowns: of configurations, and of sets that run together
 *   fold_segments.c kernels -> segments of time, each with a block
 *   fold_rows.c     a sample -> a row
 *   fold_normal.c   rows -> normal equations, sparse, growing
 *   fold_matrix.c   normal equations -> compressed rows, with bins merged where data are few
 *   fold_solve.c    non-negative least squares, and many right-hand sides at once
 *   fold_fit.c      what one offset between the two clocks leaves
 *   fold_align.c    the one that leaves least; bins
 *   fold_solution.c a solution and its errors
 *   fold_result.c   verdicts, what callers read
 *   fold.c          stretches, and the order of it all
 *
 * Like fold.h: pure but for memory, one thread per fold, never blocks.
 */
#ifndef WT_FOLD_INTERNAL_H
#define WT_FOLD_INTERNAL_H

#include "analysis/fold.h"

#define FOLD_SOLVED_CHANNELS 5 /* all before WT_FOLD_CLOCK */
#define FOLD_PROBES 16 /* a bit each of fold_signs() */
#define FOLD_STUDENT 2.12 /* 95 of 100, from a variance of that many probes */
#define FOLD_NOISE 2e-3 /* of a sample, before it is known: share of the SMs */
#define FOLD_NONE UINT32_MAX

/* Right-hand sides of the normal equations. */
enum {
	FOLD_RHS_SHIFT = FOLD_SOLVED_CHANNELS, /* what an offset wrong by 1 ns adds to ACTIVE */
	FOLD_RHS_PROBE, /* of random noise of variance 1 */
	FOLD_RHS_COUNT = FOLD_RHS_PROBE + FOLD_PROBES
};

/* ---- fold_blocks.c */

/*
 * Some unknowns in a row, by phase. Of a configuration: by the part of its course. Of a set that ran at the
 * same time: by the time since it is what runs. The rest of launches that others disturbed: by the time to
 * their end.
 */
struct fold_block {
	uint32_t first, bins; /* 0 bins: has no unknowns yet */
	uint32_t config; /* FOLD_NONE: joint */
	uint32_t set_pos, set_count; /* members, in fold_blocks.members; 0: the crowd, see there */
	int64_t launches, last_start_ns;
	double recorded_ns, busy_ns; /* of them, as recorded and without their ramps */
	bool is_rest;
	double span_ns; /* of a set, of the rest: longest phase, until it has unknowns */
	int64_t meetings;
	double duration_ns; /* sum over `durations` kernels, until it has unknowns */
	int64_t durations;
	double alone_ns, alone_busy_ns; /* the same, of those by themselves; without their ramps */
	int64_t alones;
	int64_t rows;
	double time_ns, clock_sum, clock_ns;
	double square_sum, square_weight; /* of residuals of samples that it was in */
};

struct fold_blocks {
	struct fold_block *all;
	size_t count, room;
	uint32_t *of_config; /* FOLD_NONE: none yet */
	uint32_t *of_rest; /* the same */
	size_t configs;
	uint32_t *members; /* of sets; a configuration as often as it runs; two: see there */
	size_t members_count, members_room;
	uint32_t *sets; /* hash of blocks; FOLD_NONE: free */
	size_t sets_count, sets_room;
	uint32_t crowd; /* block of all sets that are too large or too many */
};

/* By the part of its course: of a configuration, and not the rest of disturbed launches. */
static inline bool fold_block_is_course(const struct fold_block *block)
{
	return block->config != FOLD_NONE && !block->is_rest;
}

int fold_blocks_init(struct fold_blocks *blocks);
void fold_blocks_fini(struct fold_blocks *blocks);
size_t fold_blocks_bytes(const struct fold_blocks *blocks);
/* 0, -EINVAL (of the config) or -ENOMEM, as the next two. */
int fold_block_of_config(struct fold_blocks *blocks, uint32_t config, bool is_rest,
                         uint32_t *ret_block);
/* Three or more, sorted. */
int fold_block_of_set(struct fold_blocks *blocks, const uint32_t *set, size_t count,
                      uint32_t *ret_block);
struct fold_pair {
	const struct wt_fold_kernel *older, *newer;
	int64_t start_ns; /* of their time together */
	bool is_disturbed; /* the older one, before */
};
int fold_block_of_two(struct fold_blocks *blocks, const struct fold_pair *pair, double bin_ns,
                      uint32_t *ret_block);
void fold_block_saw(struct fold_block *block, double phase_ns);
/* What its bins share out. */
double fold_block_span_ns(const struct fold_block *block);
/* How many it should have. */
uint32_t fold_block_bins(const struct wt_fold_options *options, const struct fold_block *block);
/* In the search for the offset, where so many are nearest to the usual width x `width`. */
uint32_t fold_block_search_bins(const struct wt_fold_options *options,
                                const struct fold_block *block, double width);

/* ---- fold_segments.c */

/* Time in which the same kernels run. */
struct fold_segment {
	int64_t start_ns, end_ns;
	int64_t origin_ns; /* of phases: the kernel's start, or its end; or start_ns */
	int64_t kernel_ns; /* what phases are parts of; 0: the block's span */
	uint32_t block;
	uint32_t kernel; /* the first of them */
	bool is_alone;
	bool is_first; /* with is_alone: not the rest of a launch that others disturbed */
};

struct fold_segments {
	struct fold_segment *all;
	size_t count, room;
	struct wt_fold_kernel *kernels; /* cut */
	size_t kernels_room;
	int64_t *met_ns; /* by kernel: time beside others */
	size_t met_room;
	uint32_t *open; /* indices of kernels */
	size_t open_room;
	uint32_t *set;
};

void fold_segments_fini(struct fold_segments *segments);
/* 0, -EINVAL (not in order) or -ENOMEM. */
int fold_segments_build(struct fold_segments *segments, struct fold_blocks *blocks,
                        const struct wt_fold_kernel *kernels, size_t count,
                        const struct wt_fold_options *options);
/* The kernel's duration without its ramps. */
int64_t fold_busy_ns(const struct wt_fold_options *options, const struct wt_fold_kernel *kernel);
/* Durations of kernels whose block has no unknowns yet; in order. */
void fold_tally(struct wt_fold *fold, const struct wt_fold_kernel *kernels, size_t count);

/* ---- fold_rows.c */

struct fold_row {
	uint32_t *column;
	double *ns;
	size_t count, room;
	uint32_t *block;
	double *block_ns;
	size_t blocks, blocks_room;
	bool is_whole; /* no block in it was without unknowns */
	bool is_alone; /* nothing in it ran beside others */
};

/* Where the unknowns of a block are: in struct fold_block, or a table of its own for alignment. */
struct fold_place {
	uint32_t first, bins;
};

void fold_row_fini(struct fold_row *row);
/*
 * The row of [start_ns, end_ns), kernel clock. *position: a segment, 0 at first, kept by the caller
 * while starts grow. places: NULL for those in blocks.
 */
int fold_row_build(struct fold_row *row, const struct fold_segments *segments,
                   const struct fold_blocks *blocks, const struct fold_place *places,
                   int64_t start_ns, int64_t end_ns, size_t *position);

/* ---- fold_normal.c */

#define FOLD_TILE 4 /* unknowns */
#define FOLD_TILES_PER_CHUNK 512

struct fold_tile {
	uint32_t row, column; /* of tiles; row <= column */
	double value[FOLD_TILE][FOLD_TILE];
};

struct fold_group {
	uint32_t tile;
	double value[FOLD_TILE];
};

struct fold_normal {
	size_t unknowns, unknowns_room;
	size_t rhs_count; /* right-hand sides */
	double *rhs; /* unknowns x rhs_count */
	double *time_ns; /* by unknown */
	struct fold_tile **chunks;
	size_t tiles, chunks_room;
	uint32_t *index; /* hash of tiles; FOLD_NONE: free */
	size_t index_room;
	struct fold_group *groups; /* scratch */
	size_t groups_room;
	uint32_t *group_of; /* by tile row, scratch; FOLD_NONE */
};

int fold_normal_init(struct fold_normal *normal, size_t rhs_count);
void fold_normal_fini(struct fold_normal *normal);
void fold_normal_clear(struct fold_normal *normal); /* keeps memory */
size_t fold_normal_bytes(const struct fold_normal *normal);
/* Adds unknowns; returns the first, or FOLD_NONE: no memory. */
uint32_t fold_normal_grow(struct fold_normal *normal, size_t count);
struct fold_tile *fold_normal_tile(const struct fold_normal *normal, size_t idx);
/* Adds a row x row^T, and row x rhs[]. is_full: only to tiles that are there: else -ENOSPC. */
int fold_normal_add(struct fold_normal *normal, const struct fold_row *row, const double *rhs,
                    bool is_full);
/* Adds to one right-hand side alone. */
void fold_normal_add_rhs(struct fold_normal *normal, const struct fold_row *row, size_t which,
                         double value);
/* The unknown i becomes map[i]: `count` are left. Sums what falls together. 0 or -ENOMEM. */
int fold_normal_merge(struct fold_normal *normal, const uint32_t *map, size_t count);

/* ---- fold_matrix.c: what is solved. Symmetric, both halves. */

struct fold_matrix {
	size_t count, pairs;
	size_t *row; /* count + 1 */
	uint32_t *column;
	double *value;
	double *diagonal;
};

/* map: unknown -> row, not falling; NULL: the same. */
int fold_matrix_init(struct fold_matrix *matrix, const struct fold_normal *normal,
                     const uint32_t *map, size_t count);
void fold_matrix_fini(struct fold_matrix *matrix);
/* out = matrix x in, for `width` vectors side by side. */
void fold_matrix_times(const struct fold_matrix *matrix, const double *in, double *out,
                       size_t width);

/* ---- fold_solve.c */

/*
 * The x from 0 to upper that makes x^T M x - 2 b^T x least; *x: where to start. tolerance: of the
 * gradient, relative to b. 0 or -ENOMEM.
 */
int fold_solve_bounded(const struct fold_matrix *matrix, const double *b, double upper,
                       double tolerance, double *x);
/*
 * M X = B over the unknowns with is_free, `width` right-hand sides side by side; X: where
 * to start; 0 where not free. 0 or -ENOMEM.
 */
int fold_solve_many(const struct fold_matrix *matrix, const bool *is_free, const double *b,
                    double tolerance, size_t width, double *x);

/* ---- fold.c */

/* A stretch that waits for an offset. */
struct fold_waiting {
	struct wt_fold_kernel *kernels;
	size_t kernel_count;
	struct wt_fold_sample *samples;
	size_t sample_count;
};

struct fold_solution {
	size_t unknowns, count; /* of the fold, of the matrix */
	uint32_t *map;
	double *x[FOLD_SOLVED_CHANNELS];
	double *bounded; /* ACTIVE, at most all SMs: see fold_result.c; by it the offset is judged, too */
	double *probe; /* count x (1 + FOLD_PROBES): first the shift */
	double *own; /* count: diagonal of the matrix */
};

struct wt_fold {
	struct wt_fold_options options;
	struct wt_fold_options rows; /* the same, with ramps as rows leave them out */
	uint32_t finer; /* bins of rows for each that is told */
	struct fold_blocks blocks;
	struct fold_segments segments;
	struct fold_row row, row_before, row_after;
	struct fold_normal normal;
	/* Of samples that have it; [0], with all right-hand sides: of those that have all of `together`. */
	struct fold_normal channels[FOLD_SOLVED_CHANNELS];
	uint32_t
	        together; /* channels of the first sample that had any, a bit each: one matrix for them */
	int64_t channel_busy[FOLD_SOLVED_CHANNELS]; /* rows in them */
	struct fold_solution solution;
	uint32_t *owner; /* block of an unknown */
	size_t owner_room;
	bool is_crowded; /* bytes_max: blocks to come have one unknown */
	bool is_full; /* the same: no pair of unknowns that is new */

	struct fold_waiting *waiting;
	size_t waiting_count, waiting_room, waiting_busy, waiting_bytes, align_at;
	size_t waiting_blind; /* samples so far with warps, but without ACTIVE */
	bool is_aligned, is_ambiguous;
	bool is_aligned_alone; /* by samples without overlap: such alone tell of drift */
	int64_t offset_ns, offset_min_ns, offset_max_ns;
	double offset_sigma_ns; /* of the search */
	double moved_square_sum;
	int64_t moves;
	double check_square[3]; /* residuals before, at and after the offset */
	int64_t check_rows;

	int64_t samples, skipped, busy; /* used; of them, those with kernels */
	int64_t solve_at; /* samples */
	double square[FOLD_SOLVED_CHANNELS]; /* of y */
	double busy_square[FOLD_SOLVED_CHANNELS];
	double together_square[FOLD_SOLVED_CHANNELS]; /* of that, what channels[0] has */
	double active_sm_ns, sample_ns, cross, length_square; /* sums of y, len, y len, len^2 */
	/* of the last solution */
	double sigma[FOLD_SOLVED_CHANNELS];
	double residual, rms_share, explained_sm_ns;
	size_t pairs;
};

/* ---- fold_align.c */

/*
 * From what waits. Sets is_aligned; 0 or -ENOMEM. *ret_need: samples with activity that would do for all
 * unknowns; with fewer, it does nothing unless it must.
 */
int fold_align(struct wt_fold *fold, bool must, size_t *ret_need);
/* Adds a sample to the check of the offset: y less the row's sum, at offset - FOLD_CHECK_NS, 0, +. */
#define FOLD_CHECK_NS 250
void fold_align_check(struct wt_fold *fold, const double residuals[3]);
/* Moves the offset if the checks so far say so. */
void fold_align_move(struct wt_fold *fold);

/* ---- fold_result.c */

size_t fold_all_bytes(const struct wt_fold *fold); /* of normal equations */

/* Solves for all that is in `normal`; errors too if with_errors. 0 or -ENOMEM. */
int fold_solution_make(struct wt_fold *fold, bool with_errors);

/* The normal equations that tell a channel: those of `together`, or its own if these have more rows. */
struct fold_channel {
	const struct fold_normal *normal;
	size_t rhs; /* of each unknown's normal->rhs_count */
	int64_t busy;
	double square; /* of y */
};
struct fold_channel fold_channel_of(const struct wt_fold *fold, int channel);
void fold_solution_fini(struct fold_solution *solution);

/* How many bins a kernel of this duration has: of bin_ns at most, but for bins_max. */
uint32_t fold_bins(const struct wt_fold_options *options, double duration_ns);
/* Deterministic bits: as random as they have to be. */
uint64_t fold_signs(uint64_t seed);
/* Makes room for `need` of `size`: NULL: no memory, *items as it was. */
void *fold_room(void *items, size_t *room, size_t need, size_t size);

#endif /* WT_FOLD_INTERNAL_H */
