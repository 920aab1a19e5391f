/*
 * rederive.h - all derived columns of a run file again, from its own rows: what
 * `wavetap analyze` does. The code that derives is the daemon's (analysis/derive.h).
 *
 * Derived are the model's columns of `config` and `kernel_exec`, and the tables `kernel_share`,
 * `sweep` and `config_stat`, and the sums of the ledger (ledger_sums.h). No kernel is late here: all are swept in order.
 * Not touched: what was recorded; the links, since CUPTI's records of launch calls, from which
 * they follow, are not kept; and the counters of `proc`, which are the evidence for what was
 * lost and must not be made to agree with the rows.
 *
 * `fold`, `measured` and `measured_profile` come from raw samples. Where these were removed (too many:
 * WAVETAP_SAMPLE_KEEP), what was measured stays as it is. `sm_bucket` is never touched.
 *
 * One thing comes out otherwise than in wavetapd: a kernel whose graph launch became known only
 * after it was stored (CUPTI named no graph) is in the daemon's sums outside graphs, in these inside.
 *
 * Single-threaded; blocks on the file. SQLite sorts the kernels, in memory or a temporary file.
 */
#ifndef WT_REDERIVE_H
#define WT_REDERIVE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "schema/wt_db.h"

struct wt_rederive_count {
	int64_t rows; /* afterwards */
	int64_t changed; /* written because they differed; with those added and removed */
};

struct wt_rederived {
	struct wt_rederive_count configs, kernels, shares, rollups, measured;
	bool is_measured_kept; /* raw samples are gone: what was measured is as it was */
};

/* How far: kernels done. Not 0: stop, and wt_rederive() returns that. */
typedef int (*wt_rederive_progress)(void *arg, int64_t kernels_done);

/*
 * Inside the caller's transaction on a connection that may write. 0, or -errno with one line
 * in `error`; then the caller rolls back. -EBADMSG: a kernel whose configuration is not in
 * the file.
 */
int wt_rederive(sqlite3 *db, wt_rederive_progress progress, void *arg,
                struct wt_rederived *ret_rederived, char error[WT_DB_ERROR_BYTES]);

/*
 * Afterwards, on the same connection and outside of a transaction: packs what wt_rederive() has unpacked, as
 * at the end of a run. Nobody else writes to the file. What can't be packed stays. 0 or -errno.
 */
int wt_pack_file(sqlite3 *db, char error[WT_DB_ERROR_BYTES]);

#endif /* WT_REDERIVE_H */
