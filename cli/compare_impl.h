/*
 * compare_impl.h - what the parts of compare.h share: compare_kernels.c, compare_values.c, compare_margin.c, compare.c.
 * Single-threaded; nothing blocks.
 */
#ifndef WT_CLI_COMPARE_IMPL_H
#define WT_CLI_COMPARE_IMPL_H

#include "cli/compare.h"

/* ---- compare_kernels.c */

/* What sums are divided by: 1 without steps. */
double wt_compare_steps_of(const struct wt_compare_run *run);
/* The kernels of a side's runs by name. 0 or -ENOMEM; free them in either case. */
int wt_compare_make_units(struct wt_compare_side *side);
void wt_compare_free_units(struct wt_compare_side *side);
/* NULL: no memory. */
struct wt_compare_row *wt_compare_add_row(struct wt_compare *compare, enum wt_compare_kind kind);
/* A row for each pair, and for each that has none. 0 or -ENOMEM. */
int wt_compare_add_kernels(struct wt_compare *compare);

/* ---- compare_values.c */

/* Of a row's quantity in one run of a side. 0 or -ENOMEM. */
typedef int wt_compare_values_fn(const struct wt_compare *compare,
                                 const struct wt_compare_side *side, size_t at,
                                 const struct wt_compare_row *row, struct wt_mean *ret_mean);

/* All runs of both sides. 0 or what `values` gives. */
int wt_compare_fill(struct wt_compare *compare, struct wt_compare_row *row,
                    wt_compare_values_fn *values);
wt_compare_values_fn wt_compare_kernel_values, wt_compare_config_values, wt_compare_line_values,
        wt_compare_rank_values;
/* Time of each launch where a slice has some; else time a step. Room for all blocks in `values`. */
struct wt_mean wt_compare_mean_of_times(const struct wt_compare *compare,
                                        const struct wt_compare_run *run, const double *times,
                                        const double *launches, double *values);
/* NULL: the run has none such. */
const struct wt_compare_config *wt_compare_find_config(const struct wt_compare_run *run,
                                                       const struct wt_compare_kernel *kernel,
                                                       const struct wt_compare_config *like);

/* ---- compare_margin.c */

/* 0 of none. */
double wt_compare_mean_over(const double *values, size_t count);
/* The margin of what a row is of; a row that can't be judged for it gets the reason. */
void wt_compare_set_margin(const struct wt_compare *compare, struct wt_compare_row *row);
void wt_compare_set_kernel_margin(const struct wt_compare *compare, struct wt_compare_row *row,
                                  bool is_collective);

#endif /* WT_CLI_COMPARE_IMPL_H */
