/*
 * ledger_gaps.c - see ledger_gaps.h. Single-threaded, pure but for memory.
 */
#include "daemon/ledger_gaps.h"

#include <errno.h>
#include <stdlib.h>

/* Two 64-bit numbers in one key of a map; a collision would only blur a dependency. */
static uint64_t stream_key(int64_t process_id, uint64_t stream)
{
	return (stream ^ ((uint64_t)process_id << 48)) * 0x9e3779b97f4a7c15u;
}

void wt_gap_source_forget(struct wt_gap_source *source)
{
	wt_map_fini(&source->stream_at);
	source->stream_count = 0;
}

void wt_gap_source_fini(struct wt_gap_source *source)
{
	wt_gap_source_forget(source);
	free(source->streams);
	source->streams = NULL;
	source->stream_room = 0;
}

struct wt_gap_stream *wt_gap_source_stream(struct wt_gap_source *source, int64_t process_id,
                                           uint64_t key)
{
	uint64_t both = stream_key(process_id, key);
	uint32_t at = wt_map_get(&source->stream_at, both);

	if (at != WT_MAP_NONE)
		return &source->streams[at];
	if (source->stream_count == source->stream_room) {
		size_t room = source->stream_room ? 2 * source->stream_room : 64;
		struct wt_gap_stream *grown = reallocarray(source->streams, room, sizeof(*grown));

		if (!grown)
			return NULL;
		source->streams = grown;
		source->stream_room = room;
	}
	if (wt_map_set(&source->stream_at, both, (uint32_t)source->stream_count))
		return NULL;
	source->streams[source->stream_count] =
	        (struct wt_gap_stream){process_id, key, INT64_MIN, INT64_MAX};
	return &source->streams[source->stream_count++];
}

int wt_gap_source_note(struct wt_gap_source *source, const struct wt_ledger_row *row)
{
	struct wt_gap_stream *stream = wt_gap_source_stream(
	        source, row->process_id, wt_fact_stream_key(row->call.stream, row->call.thread32));

	if (!stream)
		return -ENOMEM;
	if (row->call.entry_ns > stream->since_ns) {
		stream->since_ns = row->call.entry_ns;
		stream->wait_ns = INT64_MAX; /* it was for this kernel, or for one before */
	}
	return 0;
}

uint64_t wt_ledger_graph_tag(const struct wt_ledger_row *row)
{
	if (!row->is_graph_node || !row->has_call)
		return 0;
	return ((uint64_t)row->process_id << 48 ^ (uint64_t)row->launch_seq) + 1;
}

/*
 * Was a wait or host function put into K's stream since the kernel before it there? On a default
 * stream of a process with several devices it can't be told for which of them.
 */
static bool has_dependency(const struct wt_gap_source *source, const struct wt_ledger_row *row)
{
	uint64_t key = wt_fact_stream_key(row->call.stream, row->call.thread32);
	struct wt_intervals set =
	        wt_facts_find(source->facts, WT_FACT_DEPEND, row->process_id, key);
	struct wt_intervals lost =
	        wt_facts_find(source->facts, WT_FACT_LOST_CALL, row->process_id, key);
	uint32_t at = wt_map_get(&source->stream_at, stream_key(row->process_id, key));
	int64_t since_ns = at == WT_MAP_NONE ? INT64_MIN : source->streams[at].since_ns;
	int64_t wait_ns = at == WT_MAP_NONE ? INT64_MAX : source->streams[at].wait_ns;
	size_t first = wt_intervals_after(&lost, row->call.entry_ns);

	/* What was waited for by a launch whose kernel is lost is not waited for again. */
	if (first > 0 && lost.at[first - 1].start_ns > since_ns) {
		since_ns = lost.at[first - 1].start_ns;
		wait_ns = INT64_MAX;
	}
	if (row->call.stream <= 2 && wt_facts_has_devices(source->facts, row->process_id))
		return false;
	first = wt_intervals_after(&set, since_ns);
	return wait_ns < row->call.entry_ns ||
	       (first < set.count && set.at[first].start_ns < row->call.entry_ns);
}

struct wt_gap_facts wt_gap_source_facts(const struct wt_gap_source *source,
                                        const struct wt_gap_place *place)
{
	const struct wt_ledger_row *next = place->next;
	struct wt_gap_facts facts = {
	        .start_ns = place->start_ns,
	        .end_ns = place->end_ns,
	        .began_ns = place->start_ns,
	        .clock_error_ns = source->clock_error_ns,
	        .has_kernel_before = place->has_before,
	        .has_kernel_after = next != NULL,
	        .first_launch_ns = INT64_MIN,
	        .copies = wt_facts_find(source->facts, WT_FACT_COPY, 0, (uint64_t)place->device_id),
	        .lost = wt_facts_find(source->facts, WT_FACT_LOST, 0, 0),
	};

	if (next) {
		facts.loads = wt_facts_find(source->facts, WT_FACT_LOAD, next->process_id, 0);
		facts.first_launch_ns = wt_facts_first_launch_ns(source->facts, next->process_id);
		facts.has_call = next->has_call;
	}
	if (facts.has_call) {
		uint64_t tag = wt_ledger_graph_tag(next);
		uint32_t thread = next->call.thread32;

		facts.entry_ns = next->call.entry_ns;
		facts.return_ns = next->call.return_ns;
		facts.is_same_graph_launch = tag != 0 && place->before_tag == tag;
		facts.has_dependency = has_dependency(source, next);
		facts.profiler =
		        wt_facts_find(source->facts, WT_FACT_PROFILER, next->process_id, thread);
		facts.syncs = wt_facts_find(source->facts, WT_FACT_SYNC, next->process_id, thread);
		facts.allocs =
		        wt_facts_find(source->facts, WT_FACT_ALLOC, next->process_id, thread);
	}
	return facts;
}
