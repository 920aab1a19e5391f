/*
 * link_order.c - the fallback of link.h: the k-th kernel of a geometry, by correlation id,
 * belongs to the k-th call of that geometry, by entry: ids are given as calls enter the driver, while
 * seqs are given as they return. Pure, one thread.
 */
#include "analysis/link_internal.h"

#include <errno.h>
#include <stdlib.h>

/* Calls of one geometry form a list through `next`. */
struct order_call {
	uint64_t seq;
	uint64_t entry_ns;
	uint64_t geometry;
	uint32_t next;
};

struct order_kernel {
	uint32_t correlation_id;
	uint32_t at;
};

/* The id is 32 bits wide and wraps; those waiting at one time lie close together. */
static int by_correlation(const void *left, const void *right)
{
	const struct order_kernel *a = left, *b = right;
	int32_t distance = (int32_t)(a->correlation_id - b->correlation_id);

	return distance < 0 ? -1 : distance > 0;
}

/* Kernels that came before `until_ns` and whose link will not come. */
static size_t collect_kernels(const struct wt_linker *linker, int64_t until_ns,
                              struct order_kernel *kernels)
{
	size_t count = 0;

	for (uint32_t at = 0; at < linker->waiting_count; at++) {
		const struct link_waiting *waiting = &linker->waiting[at];

		if (!waiting->is_used || waiting->kernel.is_graph_node || waiting->at_ns > until_ns)
			continue;
		/* A link that fits no call says: launched where no hook was. */
		if (wt_map_get(&linker->entry_of, waiting->kernel.correlation_id) != WT_MAP_NONE)
			continue;
		kernels[count++] = (struct order_kernel){waiting->kernel.correlation_id, at};
	}
	if (count)
		qsort(kernels, count, sizeof(*kernels), by_correlation);
	return count;
}

static int latest_first(const void *left, const void *right)
{
	const struct order_call *a = left, *b = right;

	if (a->entry_ns != b->entry_ns)
		return a->entry_ns > b->entry_ns ? -1 : 1;
	return a->seq > b->seq ? -1 : a->seq < b->seq;
}

/* Lists of calls by geometry, oldest first: built from the back. */
static int collect_calls(const struct wt_linker *linker, struct order_call *calls,
                         struct wt_map *first_of)
{
	uint32_t count = 0;
	bool is_in_order = true;
	int err = 0;

	for (uint64_t seq = linker->end; seq-- > linker->base;) {
		const struct link_slot *slot = &linker->slots[seq & linker->slots_mask];

		if (slot->state != LINK_SLOT_WAITING || slot->has_link || !slot->geometry)
			continue;
		calls[count] = (struct order_call){
		        .seq = seq, .entry_ns = slot->entry_ns, .geometry = slot->geometry};
		is_in_order = is_in_order &&
		              (!count || latest_first(&calls[count - 1], &calls[count]) < 0);
		count++;
	}
	if (!is_in_order)
		qsort(calls, count, sizeof(*calls), latest_first);
	for (uint32_t i = 0; i < count && !err; i++) {
		calls[i].next = wt_map_get(first_of, calls[i].geometry);
		err = wt_map_set(first_of, calls[i].geometry, i);
	}
	return err;
}

static int join(struct wt_linker *linker, uint32_t waiting_at, const struct order_call *calls,
                struct wt_map *first_of)
{
	const struct wt_linker_kernel kernel = linker->waiting[waiting_at].kernel;
	uint32_t first = wt_map_get(first_of, kernel.geometry);
	const struct link_slot *slot;
	uint64_t seq;
	int err;

	if (first == WT_MAP_NONE)
		return 0;
	seq = calls[first].seq;
	slot = wt_link_slot(linker, seq);
	if (kernel.start_ns && slot->entry_ns > kernel.start_ns + WT_LINK_SLACK_NS)
		return 0; /* it ran before that call was made */
	err = wt_map_set(first_of, kernel.geometry, calls[first].next);
	if (!err)
		err = wt_link_drop_waiting(linker, waiting_at);
	if (!err)
		err = linker->output.kernel(linker->output.arg, &kernel, WT_LINK_ORDER, seq, false);
	if (!err)
		wt_link_launch_has_kernel(linker, seq, slot->flags, WT_LAUNCH_LINKED_BY_ORDER);
	return err;
}

int wt_link_by_order(struct wt_linker *linker, int64_t until_ns)
{
	struct order_kernel *kernels = malloc((linker->waiting_used + 1) * sizeof(*kernels));
	struct order_call *calls = calloc(linker->end - linker->base + 1, sizeof(*calls));
	struct wt_map first_of = {0};
	size_t count = 0;
	int err = kernels && calls ? 0 : -ENOMEM;

	if (!err)
		count = collect_kernels(linker, until_ns, kernels);
	if (count)
		err = collect_calls(linker, calls, &first_of);
	for (size_t i = 0; i < count && !err; i++)
		err = join(linker, kernels[i].at, calls, &first_of);
	wt_map_fini(&first_of);
	free(calls);
	free(kernels);
	return err;
}
