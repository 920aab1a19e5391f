/*
 * simulate.h - what the files behind `wavetap simulate` share: the options, what they mean,
 * and the rows that come out.
 *
 * A row is one machine with one grid. Ranges give many: the product of all SM counts,
 * blocks per SM, and grids or tiles, in that order. Times are ticks, as schedule.h
 * counts them; `scale` says what the user wrote.
 *
 * Single-threaded; reading a file of times and printing block.
 */
#ifndef WT_CLI_SIMULATE_H
#define WT_CLI_SIMULATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/schedule.h"
#include "cli/text.h"

struct wt_sim_values {
	const char *sms, *blocks_per_sm, *grid, *block_time, *times, *setup;
	const char *gemm, *tile, *cluster, *gpc;
	const char *run, *block; /* of the GPU of a run */
	int64_t device, regs, smem;
	int64_t split_k, workers, seed, limit;
	int persistent, gantt;
	bool is_shared, is_packed, is_stream_k, is_json, is_csv;
};

/* ---- times */

/* A tick is one unit / 10^digits. */
struct wt_sim_scale {
	int digits;
	char unit[8]; /* as written; empty: none */
};

#define WT_SIM_DIGITS_MAX 9

/*
 * Widens `scale` so that it holds the time in text[0..length-1]: "12", "0.5", "100us".
 * 0; -EINVAL: no such number or unit; -EDOM: another unit than those before.
 */
int wt_sim_scale_widen(struct wt_sim_scale *scale, const char *text, size_t length);

/* The same text as ticks. 0, -EINVAL or -ERANGE. */
int wt_sim_time_read(const struct wt_sim_scale *scale, const char *text, size_t length,
                     int64_t *ret_ticks);

/* "1,234.5us" for people, exact; returns buf. */
char *wt_sim_time_text(char buf[WT_TEXT_NUMBER_BYTES], const struct wt_sim_scale *scale,
                       int64_t ticks);

/* ---- GPU of a recorded run */

struct wt_sim_gpu {
	char sms[16], blocks_per_sm[16]; /* as options; empty if they were given */
	char text[256]; /* "NVIDIA H200 of run 1a2b3c4d"; empty: none was asked for */
};

/*
 * Where the options name a run or a kernel's needs: fills values->sms and blocks_per_sm, which
 * then point into `ret_gpu`. 0 or an enum wt_exit after a message.
 */
int wt_sim_use_gpu(struct wt_sim_values *values, struct wt_sim_gpu *ret_gpu);

/* ---- what the options mean */

struct wt_sim_list {
	uint64_t *values;
	size_t count;
	bool is_range; /* written as several, even if it is one */
};

struct wt_sim_tile {
	uint32_t m, n, k; /* k 0: not given */
};

#define WT_SIM_TILES_MAX 64

struct wt_sim {
	struct wt_sim_list sms, blocks_per_sm, grids, gpcs;
	struct wt_sim_tile tiles[WT_SIM_TILES_MAX];
	size_t tile_count; /* 0: no GEMM, grids has them */
	uint64_t gemm[3]; /* M, N, K */
	uint64_t split_k; /* parts of K; 1 */
	uint32_t cluster[3];
	uint32_t cluster_blocks; /* 1: no clusters */
	bool is_shared, is_packed, is_stream_k;
	enum wt_schedule_deal deal;
	uint64_t workers; /* 0: as many as fit */
	struct wt_sim_scale scale;
	struct wt_schedule_times times; /* of a GEMM without --block-time: by the tile */
	bool has_times_of_tile;
	int64_t *time_list;
	size_t time_count;
	int64_t setup;
	bool is_sweep; /* some option was a range or a list */
	const char *gpu_text; /* NULL or from wt_sim_gpu, whose owner keeps it */
};

/* An enum wt_exit after a message, or 0. Free with wt_sim_fini() in any case. */
int wt_sim_parse(const struct wt_sim_values *values, struct wt_sim *sim);
void wt_sim_fini(struct wt_sim *sim);

/* The part of it for options that name times. */
int wt_sim_parse_times(const struct wt_sim_values *values, struct wt_sim *sim);

/* "1:9:2,12" or, with products, "128x4" as 512. 0 or an enum wt_exit after a message. */
int wt_sim_parse_list(const char *option, const char *text, bool has_products, uint64_t most,
                      struct wt_sim_list *ret_list);

/* "128x64x32": numbers above 0. Returns how many, at most 3, or -1. */
int wt_sim_parse_product(const char *text, size_t length, uint64_t parts[3]);

/* ---- rows */

enum wt_sim_axis { WT_SIM_SMS, WT_SIM_BLOCKS_PER_SM, WT_SIM_GRID, WT_SIM_TILE, WT_SIM_AXES };

#define WT_SIM_ROWS_MAX 100000

struct wt_sim_row {
	uint32_t sms, blocks_per_sm;
	const struct wt_sim_tile *tile; /* NULL: no GEMM */
	uint64_t tiles_m, tiles_n;
	uint64_t items; /* as asked for: blocks, or items of a persistent grid */
	int error; /* what wt_schedule_compute() gave; then there is no result */
	struct wt_schedule_result result;
};

size_t wt_sim_axis_count(const struct wt_sim *sim, enum wt_sim_axis axis);

/* Blocks, or items of a persistent grid, that row `row_idx` has. */
uint64_t wt_sim_items(const struct wt_sim *sim, size_t row_idx);

/*
 * Computes row `row_idx` of the product. `sm_active` has room for WT_SCHEDULE_SMS_MAX. 0, or an
 * enum wt_exit after a message for what no row can mend; what belongs to this row
 * alone is row->error.
 */
int wt_sim_compute(const struct wt_sim *sim, size_t row_idx, wt_schedule_observer *observer,
                   void *context, int64_t *sm_active, struct wt_sim_row *row);

/* Why a row has no result: static text. */
const char *wt_sim_error_text(int error);

/* Share of the GEMM's multiply-adds in those that the tiles do, padding included; 1 without. */
double wt_sim_useful_share(const struct wt_sim *sim, const struct wt_sim_row *row);

/* ---- output: 0 or -errno */

int wt_sim_print_text(FILE *out, const struct wt_text_terminal *terminal, const struct wt_sim *sim,
                      const struct wt_sim_row *row);
int wt_sim_print_sweep(FILE *out, const struct wt_text_terminal *terminal, const struct wt_sim *sim,
                       const struct wt_sim_row *rows, size_t row_count, size_t limit);
int wt_sim_print_csv(FILE *out, const struct wt_sim *sim, const struct wt_sim_row *rows,
                     size_t row_count);
int wt_sim_print_json(FILE *out, const struct wt_sim *sim, const struct wt_sim_row *rows,
                      size_t row_count, const int64_t *sm_active);

/* The parts of a first line that are not numbers. */
struct wt_phrase;
void wt_sim_add_rules(struct wt_phrase *line, const struct wt_sim *sim);
const char *wt_sim_plural(uint64_t count); /* "" or "s" */

/* ---- drawing */

/* Collects blocks while they run; wt_sim_gantt_note is a wt_schedule_observer. */
struct wt_sim_gantt {
	struct wt_schedule_block *blocks;
	size_t count, capacity;
	bool is_full; /* a block was left out: out of memory */
};

#define WT_SIM_GANTT_ROWS_MAX 40
#define WT_SIM_GANTT_BLOCKS_MAX 4000

void wt_sim_gantt_note(void *context, const struct wt_schedule_block *block);
void wt_sim_gantt_print(FILE *out, const struct wt_text_terminal *terminal,
                        const struct wt_sim *sim, const struct wt_sim_row *row,
                        const struct wt_sim_gantt *gantt);

/* Active SMs over time. */
void wt_sim_profile_print(FILE *out, const struct wt_text_terminal *terminal,
                          const struct wt_sim *sim, const struct wt_sim_row *row,
                          const int64_t *sm_active);

/*
 * Bars of `count` values between 0 and 1, NAN where there is none, in at most 80
 * columns; where several share a column, it is solid to the least and light to the greatest.
 * `first` and `last` label the ends of the axis.
 */
void wt_sim_plot(FILE *out, const struct wt_text_terminal *terminal, const double *values,
                 size_t count, const char *title, const char *first, const char *last);

#endif /* WT_CLI_SIMULATE_H */
