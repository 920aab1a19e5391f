/*
 * gap_calls.h - gaps by what the launching thread was doing: the call that it sat in, or none,
 * and the call that launched the kernel behind the gap.
 *
 * A gap is cut wherever that thread enters or leaves a call that is hooked; each part keeps its
 * causes, so that rows sum to the ledger. Memory: 40 bytes for each call and launch, and a few
 * words for each row and kernel behind one. Single-threaded; blocks on the file.
 */
#ifndef WT_CLI_GAP_CALLS_H
#define WT_CLI_GAP_CALLS_H

#include <sqlite3.h>
#include <stdint.h>

#include "analysis/map.h"
#include "cli/ledger.h"
#include "cli/select.h"

/* Where the thread was; a call of its own or the launch itself is WT_GAP_IN_CALL. */
enum wt_gap_where {
	WT_GAP_IN_CALL,
	WT_GAP_IN_OWN_CODE, /* had not asked for the kernel, and was in no call */
	WT_GAP_IN_NONE, /* had asked for it: the kernel waited, not the thread */
	WT_GAP_IN_UNKNOWN, /* the call that launched it is not known */
	WT_GAP_IN_END, /* no kernel came any more */
};

/* "own-code", ...: static text, for programs. */
const char *wt_gap_where_name(enum wt_gap_where where);

struct wt_gap_call {
	enum wt_gap_where where;
	int32_t api, launch_api; /* api.api; 0: none */
	int64_t process_id, pid, tid; /* -1: not known, or several of that number */
	int64_t stream_id; /* CUPTI's, of the kernels behind; -1: several */
	int64_t gaps; /* with a part here */
	int64_t gap_sm_ns; /* all causes */
	int64_t cause_sm_ns[WT_GAP_CAUSE_MAX];
	int64_t kernel_id; /* the one behind most of it; -1: none */
	int64_t kernel_sm_ns;
	const char *api_name, *launch_api_name; /* NULL: none, or not known; of wt_gap_calls */
};

struct wt_gap_calls {
	const struct wt_select *select; /* --kernel: only gaps before these; set before loading */
	struct wt_gap_call *rows; /* most time first */
	size_t count;
	struct wt_gap_threads *threads; /* private from here on */
	struct wt_map row_at[2], kernel_at, selected;
	struct wt_gap_before *before;
	size_t before_count;
	int64_t gap_number;
	int64_t *last_gap; /* of each row */
	size_t last_gap_count;
};

/* What to load a ledger with: fills `calls`, which is all zero but for `select`. */
struct wt_ledger_observer wt_gap_calls_observer(struct wt_gap_calls *calls);

/* After the ledger is loaded: names, order. 0 or -errno. */
int wt_gap_calls_finish(struct wt_gap_calls *calls, sqlite3 *db);
void wt_gap_calls_fini(struct wt_gap_calls *calls);

#endif /* WT_CLI_GAP_CALLS_H */
