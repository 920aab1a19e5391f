/*
 * wt_chunk_table.c - the tables whose rows can lie in chunks. Any thread; does not block.
 */
#include <errno.h>

#include "schema/wt_chunk_impl.h"

#define BIT(column) (UINT32_C(1) << (column))

static const char *const kernel_columns[] = {
        "exec_id",    "process_id", "config_id",       "start_ns",   "end_ns",
        "context_id", "stream_id",  "correlation_id",  "graph_id",   "graph_node_id",
        "launch_seq", "link",       "underfill_sm_ns", "wave_sm_ns", "wave_max_sm_ns",
};
static const char *const launch_columns[] = {
        "process_id", "seq",     "entry_ns", "return_ns",
        "api",        "tid",     "thread32", "stream",
        "function",   "grid_x",  "grid_y",   "grid_z",
        "block_x",    "block_y", "block_z",  "dynamic_smem_bytes",
        "result",     "flags",
};
static const char *const call_columns[] = {
        "call_id",  "process_id", "api",   "seq",   "entry_ns", "return_ns", "tid",
        "thread32", "handle",     "other", "bytes", "result",   "flags",
};
static const char *const share_columns[] = {
        "exec_id",        "underfill_sm_ns", "wave_sm_ns", "wave_max_sm_ns",
        "unjudged_sm_ns", "comm_sm_ns",      "alone_ns",   "active_sm_ns",
};

#define COLUMNS(names) (names), (unsigned)(sizeof(names) / sizeof((names)[0]))

static const struct chunk_layout layouts[WT_CHUNK_KIND_MAX] = {
        [WT_CHUNK_KERNEL] = {{"kernel_exec", COLUMNS(kernel_columns), 0, 1, 3, 4, 2},
                             1,
                             {BIT(2) | BIT(5) | BIT(6) | BIT(8) | BIT(9) | BIT(11)},
                             BIT(12) | BIT(13) | BIT(14)},
        [WT_CHUNK_LAUNCH] = {{"launch_call", COLUMNS(launch_columns), 1, 0, 2, 3, -1},
                             2,
                             {BIT(4) | BIT(8) | BIT(9) | BIT(10) | BIT(11) | BIT(12) | BIT(13) |
                                      BIT(14) | BIT(15) | BIT(16) | BIT(17),
                              BIT(5) | BIT(6) | BIT(7)},
                             0},
        [WT_CHUNK_CALL] = {{"api_call", COLUMNS(call_columns), 0, 1, 4, 5, -1},
                           2,
                           {BIT(2) | BIT(8) | BIT(9) | BIT(10) | BIT(11) | BIT(12),
                            BIT(6) | BIT(7)},
                           0},
        [WT_CHUNK_SHARE] = {{"kernel_share", COLUMNS(share_columns), 0, -1, -1, -1, -1}, 0, {0}, 0},
};

const struct chunk_layout *wt_chunk_layout(enum wt_chunk_kind kind)
{
	return kind >= WT_CHUNK_KERNEL && kind < WT_CHUNK_KIND_MAX ? &layouts[kind] : NULL;
}

const struct wt_chunk_table *wt_chunk_table(enum wt_chunk_kind kind)
{
	const struct chunk_layout *layout = wt_chunk_layout(kind);

	return layout ? &layout->table : NULL;
}

int wt_chunk_check_ids(struct wt_chunk *chunk, enum wt_chunk_kind kind, int64_t first_id,
                       int64_t last_id, int64_t rows)
{
	uint32_t count = wt_chunk_row_count(chunk);
	const uint8_t *nulls;
	const int64_t *ids;
	int err = wt_chunk_column(chunk, wt_chunk_table(kind)->id, &ids, &nulls);

	if (err)
		return err;
	return count == rows && ids[0] == first_id && ids[count - 1] == last_id ? 0 : -EBADMSG;
}
