/*
 * ledger_impl.h - what ledger.c and ledger_gap.c share, for one ledger being loaded.
 */
#ifndef WT_CLI_LEDGER_IMPL_H
#define WT_CLI_LEDGER_IMPL_H

#include "analysis/map.h"
#include "cli/ledger.h"
#include "cli/ledger_facts.h"

/* What the loading of one ledger holds. */
struct wt_ledger_loading {
	sqlite3 *db;
	struct wt_ledger *ledger;
	const struct wt_ledger_observer *observer; /* NULL: nobody */
	struct wt_facts *facts;
	bool *is_collective; /* of ledger->kernels */
	struct wt_map kernel_at; /* kernel_id -> index in ledger->kernels */
	struct wt_map stream_at; /* process and stream -> index in stream_entry_ns */
	int64_t *stream_entry_ns; /* when a kernel was last launched into it */
	size_t stream_count, stream_capacity;
	/* of the device in work */
	struct wt_ledger_device *device;
	struct wt_sweep sweep;
	const struct wt_ledger_row *next; /* the kernel after the gap; NULL: none */
	size_t next_at; /* its kernel's index */
	size_t bucket_at; /* the first that is not closed */
	struct wt_sweep_share bucket_total; /* up to its start */
};

/* ledger_gap.c: output of the sweep; `arg` is the loading. */
int wt_ledger_on_gap(void *arg, const struct wt_sweep_gap *gap);

/* ledger_buckets.c: buckets that end by until_ns get what the sweep had. 0 or -errno. */
int wt_ledger_make_buckets(struct wt_ledger *ledger, int64_t bucket_ns);
int wt_ledger_close_buckets(struct wt_ledger_loading *load, int64_t until_ns);
/* The part of [start_ns, end_ns) in bucket `at` ends here. */
int64_t wt_ledger_bucket_end(const struct wt_ledger *ledger, size_t at);

/* A kernel was launched into its stream. 0 or -ENOMEM. */
int wt_ledger_note_stream(struct wt_ledger_loading *load, const struct wt_ledger_row *row);

/* Equal for the nodes of one graph launch only; 0: not a node. */
uint64_t wt_ledger_graph_tag(const struct wt_ledger_row *row);

#endif /* WT_CLI_LEDGER_IMPL_H */
