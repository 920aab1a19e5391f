/*
 * ledger_sums.h - the time without a kernel, by cause, summed up in the run file: what `ledger` and `top` need of
 * a whole run without reading its launches again.
 *
 *   ledger_sums.c       the pass: rows from where it stood up to a time, and the gaps between them
 *   ledger_sums_basis.c what sums rest on: clocks, facts, losses; what came too late
 *   ledger_sums_marks.c where the next pass begins: what it must still know of the rows before
 *   ledger_sums_rows.c  reading rows; their order
 *   ledger_sums_file.c  tables ledger_mark, ledger_device, ledger_row, ledger_cause, ledger_stream, ledger_graph
 *   ledger_sums_task.c  when wavetapd makes them, on a thread beside the drain
 *
 * The pass goes by device in the order of (start, exec_id), as the report's own over all rows (cli/ledger.c), with
 * the same sweep and the same causes: sums are equal to the nanosecond. It stops at a time up to which nothing is
 * missing, and what it must know to go on is in the file: the position of each device, kernels that ran beyond it
 * (read again), the last launch into each stream, graph launches with nodes to come, and from which ids on other
 * rows matter. So a round of wavetapd, a restarted wavetapd and a report that adds what came since all begin alike.
 *
 * What would change sums made before makes them unusable, and is told: something was lost or profiled, a record
 * came later than the time that is summed, or the BASIS is another: the clock error, the begin of the window, or
 * when a process launched first and on how many devices. Then all is summed again from the beginning, or read.
 *
 * Where rows were dropped (drop.h) nothing can be summed again: then sums go on with the new basis, and what was summed
 * stays as it was known then. Where rows went that were not summed there are none.
 *
 * Memory: the facts from the marks on, HOLD_MAX rows a device, one entry for each process and configuration.
 * Single-threaded; blocks on the file.
 */
#ifndef WT_LEDGER_SUMS_H
#define WT_LEDGER_SUMS_H

#include <sqlite3.h>

#include "analysis/sweep.h"
#include "daemon/ledger_gaps.h"

/* why_not, where that can't be mended by summing anew. */
#define WT_LEDGER_TOO_LATE "records came too late"
#define WT_LEDGER_DROPPED "rows were dropped whose gaps were not summed"

#define WT_LEDGER_MENDED "gaps_mended" /* key of meta: how often `mended` */
#define WT_LEDGER_CLOCK_LEAST_NS 1000 /* what CUPTI's conversion may be off: see cli/ledger.c */

/*
 * Shorter gaps look like a program that launches all the time, only slower than the kernels run;
 * longer ones like a program that does something else. Eager PyTorch on the measured machine: half
 * of the gaps between kernels were above 31 us, two in a thousand above 1 ms (tests/data).
 */
#define WT_LEDGER_SHORT_GAP_NS 1000000

/* Gaps before kernels of a process and configuration; config_id 0: those that no kernel ended. */
struct wt_ledger_owner {
	int64_t device_id, process_id, config_id;
	int64_t gaps, short_gaps; /* short: at most WT_LEDGER_SHORT_GAP_NS */
	int64_t last_ns; /* end of the last one */
	int64_t ns[WT_GAP_CAUSE_MAX], short_ns[WT_GAP_CAUSE_MAX];
	uint32_t next; /* of the same hash */
	bool is_dirty;
};

struct wt_ledger_held; /* a row that waits for its turn */
struct wt_ledger_shape;

struct wt_ledger_place {
	int64_t device_id, sms; /* sms 0: not known */
	int64_t position_ns, position_exec; /* last row that is in the sums; INT64_MIN: none */
	int64_t until_ns; /* rows that start before were taken */
	int64_t last_end_ns; /* when the last kernel ended; INT64_MIN: none did, or some run on beyond until_ns */
	uint64_t last_tag;
	int64_t kernels, kernels_refused;
	struct wt_facts_from from; /* what is before does not matter here any more; no capture_id */
	/* of the pass */
	int64_t loaded_ns, loaded_exec, loaded_until_ns; /* position and time as they were loaded */
	bool has_rows, is_begun, is_dirty;
	struct wt_sweep sweep;
	struct wt_ledger_held *held;
	size_t held_count, held_room;
};

/* Columns of ledger_mark. */
struct wt_ledger_mark {
	int64_t from_ns; /* begin of the window; INT64_MIN: nothing is summed */
	int64_t end_ns; /* up to which the last gaps are in it; INT64_MIN: they are not */
	int64_t basis, is_late;
	int64_t low_exec; /* rows before are not read again */
	int64_t seen_exec, seen_call, seen_copy, seen_overhead; /* highest ids that were there */
	int64_t clock_id, clock_error_ns; /* of readings before that one */
	int64_t lead_ns; /* by which a kernel started before its launch, at most */
	int64_t copy_end_ns; /* of copies up to seen_copy */
	int64_t capture_id; /* of the first capture that is open */
};

struct wt_ledger_sums {
	sqlite3 *db;
	struct wt_ledger_mark mark;
	struct wt_ledger_place *places;
	size_t place_count;
	struct wt_ledger_owner *owners;
	size_t owner_count, owner_room;
	struct wt_map owner_of;
	struct wt_fact_graph_launch *graphs; /* with nodes to come, by process and seq */
	size_t graph_count;
	struct wt_gap_source source;
	int64_t clock_error_ns; /* of the whole run */
	const char *why_not; /* they are of no use; static text, NULL: they are */
	bool is_anew; /* the file's are to go */
	bool has_drops; /* rows that are summed are not there any more */
	int64_t mended; /* how often the basis changed, or something came late, after that */
	/* of the pass */
	struct wt_facts *facts;
	struct wt_ledger_shape *configs;
	size_t config_count, config_room;
	struct wt_map config_at;
	struct wt_ledger_place *place; /* in work */
	const struct wt_ledger_row *next;
	int64_t left_exec; /* first row that is not taken, or runs on */
	int64_t low_entry_ns; /* of launches whose kernels are not taken yet */
};

/*
 * What the file has, in the caller's read transaction, on a connection with wt_rows_attach(). Where it has none, or of no use, from nothing on. 0 or
 * -errno; -EIO: sqlite3_errmsg() says what. Free it in either case.
 */
int wt_ledger_sums_load(sqlite3 *db, struct wt_ledger_sums **ret_sums);
void wt_ledger_sums_free(struct wt_ledger_sums *sums); /* NULL is fine */

/* Is it of the whole run, as the file is now? */
bool wt_ledger_sums_are_final(const struct wt_ledger_sums *sums);

/*
 * Takes in all kernels that start before until_ns, before which none is missing, in the same read transaction.
 * INT64_MAX: all, and the gaps after the last one. Once.
 */
int wt_ledger_sums_advance(struct wt_ledger_sums *sums, int64_t until_ns);

/* Into the file, whose other connection it may be, in the caller's transaction; its statements are not kept. */
int wt_ledger_sums_save(const struct wt_ledger_sums *sums, sqlite3 *db);

/* The window of a run: 1, 0: no kernel ran, or -EIO. Not by reading all copies, where there are sums. */
int wt_ledger_span(sqlite3 *db, int64_t *ret_start_ns, int64_t *ret_end_ns);

/* All of a file, from the beginning: for `import` and `analyze`. In a transaction; 0 or -errno. */
int wt_ledger_sums_make(sqlite3 *db, bool is_anew);

#endif /* WT_LEDGER_SUMS_H */
