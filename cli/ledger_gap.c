/*
 * ledger_gap.c - the causes of a gap, from what the run file knows about the time before a kernel.
 * Single-threaded, pure on what was loaded.
 */
#include <errno.h>
#include <stdlib.h>

#include "cli/ledger_impl.h"

/* Two 64-bit numbers in one key of a map; a collision would only blur a dependency. */
static uint64_t stream_key(int64_t process_id, uint64_t stream)
{
	return (stream ^ ((uint64_t)process_id << 48)) * 0x9e3779b97f4a7c15u;
}

/*
 * Was a wait or host function put into K's stream since the kernel before it there? On a default
 * stream of a process with several devices it can't be told for which of them.
 */
static bool has_dependency(const struct wt_ledger_loading *load, const struct wt_ledger_row *row)
{
	uint64_t stream = wt_fact_stream_key(row->call.stream, row->call.thread32);
	struct wt_intervals set =
	        wt_facts_find(load->facts, WT_FACT_DEPEND, row->process_id, stream);
	uint32_t at = wt_map_get(&load->stream_at, stream_key(row->process_id, stream));
	struct wt_intervals lost =
	        wt_facts_find(load->facts, WT_FACT_LOST_CALL, row->process_id, stream);
	int64_t since_ns = at == WT_MAP_NONE ? INT64_MIN : load->stream_entry_ns[at];
	size_t first = wt_intervals_after(&lost, row->call.entry_ns);

	/* What was waited for by a launch whose kernel is lost is not waited for again. */
	if (first > 0 && lost.at[first - 1].start_ns > since_ns)
		since_ns = lost.at[first - 1].start_ns;
	first = wt_intervals_after(&set, since_ns);

	if (row->call.stream <= 2 && wt_facts_has_devices(load->facts, row->process_id))
		return false;
	return first < set.count && set.at[first].start_ns < row->call.entry_ns;
}

int wt_ledger_note_stream(struct wt_ledger_loading *load, const struct wt_ledger_row *row)
{
	uint64_t stream = wt_fact_stream_key(row->call.stream, row->call.thread32);
	uint64_t key = stream_key(row->process_id, stream);
	uint32_t at = wt_map_get(&load->stream_at, key);

	if (at != WT_MAP_NONE) {
		if (row->call.entry_ns > load->stream_entry_ns[at])
			load->stream_entry_ns[at] = row->call.entry_ns;
		return 0;
	}
	if (load->stream_count == load->stream_capacity) {
		size_t capacity = load->stream_capacity ? 2 * load->stream_capacity : 64;
		int64_t *grown = reallocarray(load->stream_entry_ns, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		load->stream_entry_ns = grown;
		load->stream_capacity = capacity;
	}
	load->stream_entry_ns[load->stream_count] = row->call.entry_ns;
	return wt_map_set(&load->stream_at, key, (uint32_t)load->stream_count++);
}

uint64_t wt_ledger_graph_tag(const struct wt_ledger_row *row)
{
	if (!row->is_graph_node || !row->has_call)
		return 0;
	return ((uint64_t)row->process_id << 48 ^ (uint64_t)row->launch_seq) + 1;
}

/* Part by part, each into its bucket, and all together. */
static void classify_by_bucket(const struct wt_ledger_loading *load,
                               const struct wt_gap_facts *facts, int64_t ret_ns[WT_GAP_CAUSE_MAX])
{
	const struct wt_ledger *ledger = load->ledger;
	size_t at = (size_t)((facts->start_ns - ledger->start_ns) / ledger->bucket_ns);
	struct wt_gap_facts part = *facts;

	for (; part.start_ns < facts->end_ns; at++, part.start_ns = part.end_ns) {
		int64_t *bucket_ns = load->device->buckets[at].gap_ns;
		int64_t ns[WT_GAP_CAUSE_MAX] = {0};

		part.end_ns = wt_ledger_bucket_end(ledger, at);
		if (part.end_ns > facts->end_ns)
			part.end_ns = facts->end_ns;
		wt_gap_classify(&part, ns);
		for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++) {
			bucket_ns[cause] += ns[cause];
			ret_ns[cause] += ns[cause];
		}
	}
}

/* What is known of the time from start_ns on before load->next started, or the window ended. */
static struct wt_gap_facts facts_of(const struct wt_ledger_loading *load, int64_t start_ns,
                                    int64_t end_ns, bool has_before, uint64_t before_tag)
{
	const struct wt_ledger_row *next = load->next;
	struct wt_gap_facts facts = {
	        .start_ns = start_ns,
	        .end_ns = end_ns,
	        .began_ns = start_ns,
	        .clock_error_ns = load->ledger->clock_error_ns,
	        .has_kernel_before = has_before,
	        .has_kernel_after = next != NULL,
	        .first_launch_ns = INT64_MIN,
	        .copies = wt_facts_find(load->facts, WT_FACT_COPY, 0,
	                                (uint64_t)load->device->device_id),
	        .lost = wt_facts_find(load->facts, WT_FACT_LOST, 0, 0),
	};

	if (next) {
		facts.loads = wt_facts_find(load->facts, WT_FACT_LOAD, next->process_id, 0);
		facts.first_launch_ns = wt_facts_first_launch_ns(load->facts, next->process_id);
		facts.has_call = next->has_call;
	}
	if (facts.has_call) {
		uint32_t thread = next->call.thread32;

		facts.entry_ns = next->call.entry_ns;
		facts.return_ns = next->call.return_ns;
		facts.is_same_graph_launch =
		        wt_ledger_graph_tag(next) != 0 && before_tag == wt_ledger_graph_tag(next);
		facts.has_dependency = has_dependency(load, next);
		facts.profiler =
		        wt_facts_find(load->facts, WT_FACT_PROFILER, next->process_id, thread);
		facts.syncs = wt_facts_find(load->facts, WT_FACT_SYNC, next->process_id, thread);
		facts.allocs = wt_facts_find(load->facts, WT_FACT_ALLOC, next->process_id, thread);
	}
	return facts;
}

int wt_ledger_compute_gap(struct wt_ledger_loading *load)
{
	const struct wt_ledger_row *row = load->next;
	int64_t end_ns = row->end_ns < load->ledger->end_ns ? row->end_ns : load->ledger->end_ns;
	int rc = 0;

	if (row->start_ns > load->compute_end_ns) {
		const struct wt_gap_facts facts =
		        facts_of(load, load->compute_end_ns, row->start_ns, load->has_compute,
		                 load->compute_tag);
		int64_t ns[WT_GAP_CAUSE_MAX] = {0};
		const struct wt_ledger_gap seen = {load->device, row, load->next_at, &facts, ns};

		wt_gap_classify(&facts, ns);
		rc = load->observer->compute_gap(load->observer->arg, &seen);
	}
	if (end_ns > load->compute_end_ns) {
		load->compute_end_ns = end_ns;
		load->compute_tag = wt_ledger_graph_tag(row);
	}
	load->has_compute = true;
	return rc;
}

int wt_ledger_on_gap(void *arg, const struct wt_sweep_gap *gap)
{
	struct wt_ledger_loading *load = arg;
	const struct wt_ledger_row *next = load->next;
	struct wt_ledger_device *device = load->device;
	struct wt_ledger_kernel *owner =
	        next ? &load->ledger->kernels[load->next_at] : &load->ledger->after_last;
	const struct wt_gap_facts facts =
	        facts_of(load, gap->start_ns, gap->end_ns, gap->before_id != WT_SWEEP_NO_KERNEL,
	                 gap->before_tag);
	bool is_short = gap->end_ns - gap->start_ns <= WT_LEDGER_SHORT_GAP_NS;
	int64_t ns[WT_GAP_CAUSE_MAX] = {0};

	if (device->buckets)
		classify_by_bucket(load, &facts, ns);
	else
		wt_gap_classify(&facts, ns);
	device->gaps++;
	owner->gaps++;
	device->short_gaps += is_short;
	for (int cause = 0; cause < WT_GAP_CAUSE_MAX; cause++) {
		device->gap_ns[cause] += ns[cause];
		if (is_short) {
			device->short_gap_ns[cause] += ns[cause];
			owner->short_gap_sm_ns[cause] += ns[cause] * device->sms;
		}
		owner->gap_sm_ns[cause] += ns[cause] * device->sms;
	}
	if (load->observer && load->observer->gap) {
		const struct wt_ledger_gap seen = {device, next, load->next_at, &facts, ns};

		return load->observer->gap(load->observer->arg, &seen);
	}
	return 0;
}
