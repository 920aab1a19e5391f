/*
 * pack.h - rows and small chunks of a run file into chunks: pack.c, and pack_merge.c for one of them. Main thread.
 */
#ifndef WT_PACK_H
#define WT_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/batch.h"

/* Rows of one process and device, by id, that become chunks of many: plain ones, and chunks with few. */
struct wt_pack_island {
	enum wt_batch_kind kind;
	int64_t process_id, device_id; /* WT_DB_NULL: the kind has none */
	int64_t first_id, last_id; /* whole chunks, and all plain rows in between */
	int64_t plain, packed; /* rows */
};

struct wt_pack_row {
	int64_t id, process_id, device_id;
};

/* See pack.c. */
struct wt_pack {
	size_t chunk_rows; /* of a chunk, at most */
	size_t direct_rows; /* of a batch, at least */
	int64_t small_rows; /* a run with fewer of a table keeps plain rows */
	int64_t due_rows; /* to be packed, before a pass begins */
	int kind; /* of the pass; WT_BATCH_MAX: none */
	int over_kinds; /* at the end of the run: those before this one are done */
	int64_t lane, after_id; /* of launch calls the process; the window begins behind this id */
	bool is_lane_over, is_over, is_done, is_vacuuming;
	int64_t from_id[WT_BATCH_MAX]; /* where the next pass begins */
	int64_t retry_ns;
	struct wt_pack_row *rows; /* due_rows of them */
	struct wt_pack_island *islands; /* found, and to be packed from island_next on */
	size_t island_count, island_next, island_room;
};

/* For a run that was opened or made: next ids, and what is there to be packed. */
void wt_pack_load(struct wt_run *run);
void wt_pack_fini(struct wt_run *run);
/*
 * One piece of work for a run that is open. `is_over`: nothing comes any more. *ret_more: there is more to
 * do at once. What fails is left for later.
 */
void wt_pack_step(struct wt_run *run, bool is_over, int64_t now_ns, bool *ret_more);
/* Is all of a run that is over packed, or given up? */
bool wt_pack_is_done(const struct wt_run *run);

/* ---- between the two */

/*
 * One transaction. `is_over`: kernels without a link will get none. 0; -EAGAIN: it can't be done (a
 * damaged chunk, or not what was said); or -errno of the run file. The file is as it was, then.
 */
int wt_pack_merge(struct wt_run *run, const struct wt_pack_island *island, bool is_over);

/* Is a chunk as good as it gets? */
static inline bool wt_pack_is_full(const struct wt_pack *pack, int64_t rows)
{
	return 2 * rows >= (int64_t)pack->chunk_rows;
}

#endif /* WT_PACK_H */
