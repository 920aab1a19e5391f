/*
 * rederive_impl.h - what rederive.c and rederive_chunk.c share.
 */
#ifndef WT_REDERIVE_IMPL_H
#define WT_REDERIVE_IMPL_H

#include "daemon/rederive.h"

#include "daemon/daemon.h"

/* The first chunk of a kind behind an id. */
#define WT_REDERIVE_CHUNK_SQL                                                                      \
	"SELECT chunk_id, data FROM chunk WHERE chunk_id > ?1 AND kind = ?2 ORDER BY chunk_id "    \
	"LIMIT 1"

/* underfill_sm_ns, wave_sm_ns and wave_max_sm_ns of a kernel; WT_DB_NULL where there is none. */
void wt_rederive_exec_columns(const struct wt_config *config, int64_t start_ns, int64_t end_ns,
                              int64_t ret_columns[3]);

/* Packed kernels: writes the chunks again whose derived columns are not what they are now. 0 or -errno. */
int wt_rederive_chunks(struct wt_run *run, const struct wt_map *config_of);
/* Chunks of shares that have other rows than temp.wt_share become plain rows. 0 or -errno. */
int wt_rederive_unpack_shares(struct wt_run *run);

#endif /* WT_REDERIVE_IMPL_H */
