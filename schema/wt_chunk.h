/*
 * wt_chunk.h - rows of run files as compressed columns: `chunk.data`. Written by wavetapd, read by
 * whoever wants the rows (schema/wt_rows.h makes tables of them). Lossless for any rows.
 *
 * A chunk has 1 to WT_CHUNK_ROWS rows of one table and one process, ids ascending. Rows are arrays of
 * int64_t in the order of the SQL table's columns; of a NULL the column's bit is set in `nulls`. The
 * format, to the byte: doc/run-file.md, *chunk*; its parts: wt_chunk_impl.h.
 *
 * Hostile bytes are refused: nothing is read or written out of bounds, memory is bounded, loops end.
 * Any thread, each object on one at a time; does not block.
 */
#ifndef WT_CHUNK_H
#define WT_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wt_chunk_kind {
	WT_CHUNK_KERNEL = 1, /* kernel_exec: id is exec_id */
	WT_CHUNK_LAUNCH, /* launch_call: seq */
	WT_CHUNK_CALL, /* api_call: call_id */
	WT_CHUNK_SHARE, /* kernel_share: exec_id */
	WT_CHUNK_KIND_MAX,
};

#define WT_CHUNK_ROWS 4096u /* most rows of a chunk */
#define WT_CHUNK_COLUMNS 18u /* most columns of a table */

/* ---- writing */

struct wt_chunk_builder; /* one table's rows; allocates once */

struct wt_chunk_meta {
	enum wt_chunk_kind kind;
	int64_t process_id; /* of shares 0: the caller knows */
	int64_t device_id; /* always 0: the caller knows */
	int64_t first_id, last_id;
	uint32_t rows;
	/* The least and the greatest of all their times. For kernels that is start_ns and end_ns, for
	 * calls entry_ns and return_ns; reversed ones count as well. */
	bool has_times;
	int64_t start_ns, end_ns;
};

/* 0, -EINVAL or -ENOMEM. */
int wt_chunk_builder_new(enum wt_chunk_kind kind, struct wt_chunk_builder **ret_builder);
void wt_chunk_builder_free(struct wt_chunk_builder *builder);

/*
 * Takes a row. 0; -ENOSPC: full, encode it first; -EINVAL: id not above the last one's, another
 * process, or NULL in either.
 */
int wt_chunk_add(struct wt_chunk_builder *builder, const int64_t *row, uint32_t nulls);
uint32_t wt_chunk_rows(const struct wt_chunk_builder *builder);

/*
 * The rows so far as a blob, which stays the builder's until its next call; then it is empty.
 * *ret_configs is NULL where not said (not kernels, or too many). 0; -EINVAL: no rows; -ENOMEM: the
 * rows stay.
 */
int wt_chunk_encode(struct wt_chunk_builder *builder, struct wt_chunk_meta *ret_meta,
                    const void **ret_data, size_t *ret_bytes, const void **ret_configs,
                    size_t *ret_configs_bytes);

/* ---- reading */

struct wt_chunk; /* a blob, and those of its columns that somebody asked for */

/*
 * A copy of `data`, its checksum and directory checked. 0; -EBADMSG: damaged, or not of that kind;
 * -ENOTSUP: of a newer version; -ENOMEM.
 */
int wt_chunk_open(enum wt_chunk_kind kind, const void *data, size_t bytes,
                  struct wt_chunk **ret_chunk);
void wt_chunk_close(struct wt_chunk *chunk);
uint32_t wt_chunk_row_count(const struct wt_chunk *chunk);

/*
 * A column's values, one for each row, decoded when first asked for; they stay until the chunk is
 * closed. *ret_nulls: a byte for each row, 1: NULL (the value says nothing then); NULL: none is.
 * Ids are checked to ascend. 0; -EBADMSG; -EINVAL: no such column; -ENOMEM.
 */
int wt_chunk_column(struct wt_chunk *chunk, unsigned column, const int64_t **ret_values,
                    const uint8_t **ret_nulls);

/* Has it the rows that the file says? 0; -EBADMSG: others; or as wt_chunk_column(). */
int wt_chunk_check_ids(struct wt_chunk *chunk, enum wt_chunk_kind kind, int64_t first_id,
                       int64_t last_id, int64_t rows);

/* Of all columns: wt_chunk_column() of each. 0 or the first error. */
int wt_chunk_decode_all(struct wt_chunk *chunk);

/* `chunk.configs`: is config_id in it? Damaged ones say yes, as NULL does. */
bool wt_chunk_has_config(const void *configs, size_t bytes, int64_t config_id);

/* ---- tables */

struct wt_chunk_table {
	const char *name; /* of the SQL table */
	const char *const *columns;
	unsigned column_count;
	unsigned id; /* columns: the id, */
	int process; /* process_id, -1: has none, */
	int start, end; /* and when a row begins and ends; -1: has none */
	int config; /* -1: has none */
};

/* NULL: no such kind. */
const struct wt_chunk_table *wt_chunk_table(enum wt_chunk_kind kind);

#endif /* WT_CHUNK_H */
