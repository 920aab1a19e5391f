/*
 * drop.h - the limit of a run's rows: the oldest go, their sums stay (drop.c, drop_rows.c, drop_mark.c). Main thread.
 */
#ifndef WT_DROP_H
#define WT_DROP_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/wt_keep.h"

struct wt_run;
struct wt_process;
struct wt_segment_header;

/* Of a run; see drop.c. */
struct wt_drop {
	struct wt_keep keep;
	int64_t looked_ns, retry_ns; /* CLOCK_MONOTONIC */
	bool is_over, is_done; /* the run is; and nothing more has to go */
	bool is_told; /* that rows went, or that nothing may go */
	bool is_renewed; /* the file's views know of rows that are gone */
};

/* Of a process: calls up to here, whose kernels may still come. */
struct wt_drop_ticket {
	bool is_open;
	int64_t began_ns, looked_ns;
	int64_t seq, graph_seq, call_id; /* those below */
	int64_t last_rows; /* kernels and launches, when the last one was made */
};

/* For a run that was opened: the limits that its first process asks for. */
void wt_drop_load(struct wt_run *run, const struct wt_segment_header *header);

/* One piece of work for a run that is open, as wt_pack_step(). */
void wt_drop_step(struct wt_run *run, bool is_over, int64_t now_ns, bool *ret_more);
/* Of a run that is over. */
bool wt_drop_is_done(const struct wt_run *run);

/* ---- drop_mark.c: in the transaction of each batch of a process. 0 or -errno */
int wt_drop_note(struct wt_process *process, bool is_over, int64_t now_ns);

/* ---- drop_rows.c: what goes, in a transaction of the caller's */

/* How far rows may go. */
struct wt_drop_until {
	int64_t exec_id; /* kernels below: nothing in wavetapd needs them any more */
	int64_t call_id; /* likewise calls */
	int64_t kernel_ns; /* kernels that ended before */
	int64_t end_ns; /* the limit of age: rows that ended before. INT64_MAX: by size */
	int64_t now_ns; /* CLOCK_REALTIME, to be noted */
};

/*
 * The oldest rows: first calls and shares of kernels that are gone, else kernels, about DROP_CHUNKS chunks of them.
 * *ret_rows: how many went; 0: none may. 0 or -errno, as wt_store_check().
 */
int wt_drop_rows(struct wt_run *run, const struct wt_drop_until *until, int64_t *ret_rows);

/* Lowest id that kernels of a process have that are there; -1: of all. INT64_MAX: none is. 0 or -errno. */
int wt_drop_low_exec(struct wt_run *run, int64_t process_id, int64_t *ret_exec_id);

#endif /* WT_DROP_H */
