/*
 * ledger_gaps.h - what is known of a gap: for the pass over all rows that a report makes, and for the sums that
 * wavetapd keeps (ledger_sums.h).
 *
 * Besides the facts it takes what kernels were launched before, stream by stream: a wait was for the first kernel
 * behind it. Memory: 48 bytes a stream. Single-threaded; never blocks.
 */
#ifndef WT_LEDGER_GAPS_H
#define WT_LEDGER_GAPS_H

#include "analysis/gap.h"
#include "analysis/map.h"
#include "daemon/ledger_facts.h"

/* A kernel that ran, with the call that launched it. */
struct wt_ledger_row {
	int64_t exec_id, process_id, kernel_id, config_id;
	int64_t start_ns, end_ns;
	int64_t wave_sm_ns, wave_max_sm_ns;
	int64_t blocks, resident_blocks, config_sms;
	int64_t context_id, stream_id; /* CUPTI's */
	int64_t graph_id; /* -1: not a graph node */
	int64_t launch_seq;
	struct wt_fact_call call;
	bool is_judged, is_graph_node, has_call;
};

struct wt_gap_stream {
	int64_t process_id;
	uint64_t key; /* wt_fact_stream_key() */
	int64_t since_ns; /* entry of the latest launch into it; INT64_MIN: none */
	int64_t wait_ns; /* begin of the first wait after that which the facts don't have; INT64_MAX: none */
};

/* All zero but for facts and clock error: no kernel yet. */
struct wt_gap_source {
	const struct wt_facts *facts;
	int64_t clock_error_ns;
	struct wt_gap_stream *streams;
	size_t stream_count, stream_room;
	struct wt_map stream_at;
};

void wt_gap_source_fini(struct wt_gap_source *source);
void wt_gap_source_forget(struct wt_gap_source *source); /* all streams */
/* The stream, added if it is new; NULL: no memory. */
struct wt_gap_stream *wt_gap_source_stream(struct wt_gap_source *source, int64_t process_id,
                                           uint64_t key);
/* A kernel that has a call was launched into its stream. 0 or -ENOMEM. */
int wt_gap_source_note(struct wt_gap_source *source, const struct wt_ledger_row *row);

/* Equal for the nodes of one graph launch only; 0: not a node. */
uint64_t wt_ledger_graph_tag(const struct wt_ledger_row *row);

struct wt_gap_place {
	int64_t device_id, start_ns, end_ns;
	bool has_before;
	uint64_t before_tag; /* of the kernel that ended last */
	const struct wt_ledger_row *next; /* NULL: none came any more */
};

struct wt_gap_facts wt_gap_source_facts(const struct wt_gap_source *source,
                                        const struct wt_gap_place *place);

#endif /* WT_LEDGER_GAPS_H */
