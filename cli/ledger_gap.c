/*
 * ledger_gap.c - the causes of a gap, from what the run file knows about the time before a kernel.
 * Single-threaded, pure on what was loaded.
 */
#include "cli/ledger_impl.h"

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
	const struct wt_gap_place place = {
	        load->device->device_id, start_ns, end_ns, has_before, before_tag, load->next};

	return wt_gap_source_facts(&load->source, &place);
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
