/*
 * ledger_sums_impl.h - between the files of ledger_sums.h. Errors are as there: 0 or -errno.
 */
#ifndef WT_LEDGER_SUMS_IMPL_H
#define WT_LEDGER_SUMS_IMPL_H

#include "daemon/ledger_sums.h"

struct wt_ledger_shape {
	int64_t config_id, kernel_id, device_id, sms, blocks, resident_blocks;
	bool has_kernel; /* else: a damaged file */
};

struct wt_ledger_held {
	struct wt_ledger_row row;
	bool is_context; /* taken before; it runs beyond */
};

struct wt_ledger_place *wt_ledger_sums_place(struct wt_ledger_sums *sums, int64_t device_id);
/* NULL: no memory. */
struct wt_ledger_owner *wt_ledger_sums_owner(struct wt_ledger_sums *sums, int64_t device_id,
                                             int64_t process_id, int64_t config_id);
/* Why a run can't have sums, whatever is in them: static text, or NULL. */
const char *wt_ledger_sums_obstacle(const struct wt_ledger_sums *sums);
/* Sets has_drops: were rows dropped? And why sums can't go on, or NULL. */
const char *wt_ledger_sums_find_drops(struct wt_ledger_sums *sums, int64_t from_ns);
void wt_ledger_sums_reset(struct wt_ledger_sums *sums);
/* Rows from mark.low_exec on, each device's in order, through take(). */
int wt_ledger_sums_read(struct wt_ledger_sums *sums, int64_t until_ns,
                        int (*take)(struct wt_ledger_sums *sums,
                                    const struct wt_ledger_held *held));

/* ---- ledger_sums_basis.c */

/* Readings of the clocks that came since: their error into the mark. */
int wt_ledger_sums_read_clock(struct wt_ledger_sums *sums);
int64_t wt_ledger_sums_clock_error(const struct wt_ledger_mark *mark);
/* What all sums depend on; never 0. */
int64_t wt_ledger_sums_basis(const struct wt_ledger_sums *sums, int64_t from_ns,
                             int64_t clock_error_ns);
int wt_ledger_sums_load_facts(struct wt_ledger_sums *sums);
/* Which devices have rows that are not taken yet, or run on. */
int wt_ledger_sums_find_work(struct wt_ledger_sums *sums);
/* New facts of a time that is summed: those of the thread that launched come before its launch. */
int wt_ledger_sums_find_late(struct wt_ledger_sums *sums);

/* ---- ledger_sums_marks.c */

int wt_ledger_sums_leave_behind(struct wt_ledger_sums *sums, int64_t until_ns);

#endif /* WT_LEDGER_SUMS_IMPL_H */
