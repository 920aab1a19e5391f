/*
 * pack.h - what pack.c and pack_merge.c share. Main thread.
 */
#ifndef WT_PACK_H
#define WT_PACK_H

#include "daemon/daemon.h"

/* Rows of one process and device, by id, that become chunks of many: plain ones, and chunks with few. */
struct wt_pack_island {
	enum wt_batch_kind kind;
	int64_t process_id, device_id; /* WT_DB_NULL: the kind has none */
	int64_t first_id, last_id; /* whole chunks, and all plain rows in between */
	int64_t plain, packed; /* rows */
};

/*
 * One transaction. `is_over`: kernels without a link will get none. 0; -EAGAIN: it can't be done (a
 * damaged chunk, or not what was said); or -errno of the run file. The file is as it was, then.
 */
int wt_pack_merge(struct wt_run *run, const struct wt_pack_island *island, bool is_over);

/* Is a chunk as good as it gets? */
static inline bool wt_pack_is_full(const struct wt_run *run, int64_t rows)
{
	return 2 * rows >= (int64_t)run->pack.chunk_rows;
}

#endif /* WT_PACK_H */
