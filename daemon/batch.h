/*
 * batch.h - rows of the tables that grow with the launches, on their way from a batch into the run file: batch.c.
 * Main thread.
 */
#ifndef WT_BATCH_H
#define WT_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/link.h"
#include "schema/wt_chunk.h"

struct wt_run;

/* A statement costs as much as the row that it writes: plain rows go in groups. */
#define WT_ROWS_AT_ONCE 16

enum wt_batch_kind { WT_BATCH_LAUNCH, WT_BATCH_EXEC, WT_BATCH_CALL, WT_BATCH_SHARE, WT_BATCH_MAX };

/* Rows of a batch that are not in the file yet: see batch.c. */
struct wt_batch {
	int64_t *values;
	size_t count, room; /* rows */
	int64_t seen; /* in the file, as far as it matters */
	struct wt_chunk_builder *builder;
};

/*
 * One more row: all columns of the table, and of a kernel its device, of a share its process and device. It
 * is in the file after wt_batch_write(), which comes before the commit and before anything that reads or
 * changes such rows; memory is bounded, so it may be there before.
 */
int wt_batch_add(struct wt_run *run, enum wt_batch_kind kind, const int64_t *values);
int wt_batch_write(struct wt_run *run, enum wt_batch_kind kind);
int wt_batch_write_all(struct wt_run *run);
/* A kernel that waited got its answer. False: it is in the file, the caller writes it there. */
bool wt_batch_link(struct wt_run *run, int64_t exec_id, int64_t seq, enum wt_link_how how,
                   bool is_graph_call);
/* After a failure: what the builder holds. */
void wt_batch_forget(struct wt_run *run, enum wt_batch_kind kind);
enum wt_chunk_kind wt_batch_chunk(enum wt_batch_kind kind);
/* Is that launch call in a chunk? 0 or -errno. */
int wt_batch_has_launch(struct wt_run *run, int64_t process_id, int64_t seq, bool *ret_has);
void wt_batch_fini(struct wt_run *run);
/* For pack.c: the builder of a kind, and its rows into a chunk. */
int wt_batch_build(struct wt_run *run, enum wt_batch_kind kind,
                   struct wt_chunk_builder **ret_builder);
int wt_batch_insert(struct wt_run *run, struct wt_chunk_builder *builder, int64_t process_id,
                    int64_t device_id);

#endif /* WT_BATCH_H */
