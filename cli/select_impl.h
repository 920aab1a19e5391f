/*
 * select_impl.h - between select_apply.c, select_find.c and select_window.c; nobody else's.
 *
 * Functions return 0, an enum wt_exit after a message, or -errno.
 */
#ifndef WT_CLI_SELECT_IMPL_H
#define WT_CLI_SELECT_IMPL_H

#include "cli/select.h"

/* Statements made with sqlite3_vmprintf(). 0 or -errno. */
int wt_select_execute(sqlite3 *db, const char *format, ...);

/*
 * select_find.c. The first takes what is not meant out of temp.wt_device (device_id), the second makes
 * temp.wt_kernel (kernel_id), the third temp.wt_rank (rank); where nothing is asked for they
 * do nothing.
 */
int wt_select_device(const struct wt_select *select, const struct wt_run_file *run);
int wt_select_kernels(const struct wt_select *select, const struct wt_run_file *run);
int wt_select_ranks(const struct wt_select *select, const struct wt_run_file *run);
/* After the others: takes devices of other ranks out of temp.wt_device. */
int wt_select_rank_devices(const struct wt_select *select, const struct wt_run_file *run);

/* select_range.c: makes temp.wt_range_exec (exec_id), if a range is asked for. */
int wt_select_range(const struct wt_select *select, const struct wt_run_file *run);

/* select_window.c: fills temp.config_stat; `condition` says which rows of kernel_exec. 0 or -errno. */
int wt_select_sum_window(const struct wt_select *select, const char *condition, sqlite3 *db);

#endif /* WT_CLI_SELECT_IMPL_H */
