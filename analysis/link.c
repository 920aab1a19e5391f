/*
 * link.c - see link.h: calls, CUPTI's records of them and kernels of one process, joined.
 *
 * Held in memory, each bounded by age and number:
 *   slots     launch calls by seq, from the oldest undecided one on (link_calls.c)
 *   threads   per thread, its calls in entry order, to find those a link belongs to (link_match.c)
 *   entries   links: matched to a call and waiting for the kernel, or not matched yet
 *   waiting   kernels without an answer
 */
#include "analysis/link_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint64_t wt_linker_geometry(const uint32_t grid[3], const uint32_t block[3],
                            uint32_t dynamic_smem_bytes)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	const uint32_t words[7] = {grid[0],  grid[1],  grid[2],           block[0],
	                           block[1], block[2], dynamic_smem_bytes};

	for (int i = 0; i < 7; i++)
		hash = ((hash ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15)) ^ (hash >> 29);
	return hash ? hash : 1; /* 0 means "not known" */
}

struct wt_linker *wt_linker_create(const struct wt_linker_output *output)
{
	struct wt_linker *linker = calloc(1, sizeof(*linker));

	if (linker) {
		linker->output = *output;
		linker->free_entry = linker->free_waiting = WT_MAP_NONE;
	}
	return linker;
}

void wt_linker_destroy(struct wt_linker *linker)
{
	if (!linker)
		return;
	wt_link_threads_fini(linker);
	wt_map_fini(&linker->entry_of);
	wt_map_fini(&linker->restored_of);
	wt_map_fini(&linker->waiting_of);
	free(linker->slots);
	free(linker->entries);
	free(linker->waiting);
	free(linker->unsaved);
	free(linker);
}

uint64_t wt_linker_held(const struct wt_linker *linker)
{
	return linker->end - linker->base + linker->entries_used + linker->waiting_used;
}

/* ---- kernels that wait */

/* Is it the next node of the graph launch whose nodes came last under this id? */
static bool joins_waiting(struct wt_linker *linker, const struct wt_linker_kernel *kernel,
                          int64_t now_ns)
{
	uint32_t at = kernel->is_graph_node
	                      ? wt_map_get(&linker->waiting_of, kernel->correlation_id)
	                      : WT_MAP_NONE;
	struct link_waiting *last = at == WT_MAP_NONE ? NULL : &linker->waiting[at];

	if (!last || !last->kernel.is_graph_node || last->more == UINT32_MAX ||
	    kernel->exec_id != last->kernel.exec_id + last->more + 1)
		return false;
	last->more++;
	last->at_ns = now_ns;
	return true;
}

int wt_link_add_waiting(struct wt_linker *linker, const struct wt_linker_kernel *kernel,
                        int64_t now_ns)
{
	uint32_t at = linker->free_waiting;

	if (joins_waiting(linker, kernel, now_ns))
		return 0;
	if (at != WT_MAP_NONE) {
		linker->free_waiting = linker->waiting[at].next;
	} else {
		if (linker->waiting_count == linker->waiting_room) {
			size_t room = linker->waiting_room ? 2 * linker->waiting_room : 256;
			struct link_waiting *more =
			        realloc(linker->waiting, room * sizeof(*linker->waiting));

			if (!more)
				return -ENOMEM;
			linker->waiting = more;
			linker->waiting_room = room;
		}
		at = (uint32_t)linker->waiting_count++;
	}
	linker->waiting[at] = (struct link_waiting){
	        .kernel = *kernel,
	        .at_ns = now_ns,
	        .is_used = true,
	        .next = wt_map_get(&linker->waiting_of, kernel->correlation_id),
	};
	linker->waiting_used++;
	return wt_map_set(&linker->waiting_of, kernel->correlation_id, at);
}

/* Takes a kernel out of its chain and frees the place. */
int wt_link_drop_waiting(struct wt_linker *linker, uint32_t at)
{
	uint32_t id = linker->waiting[at].kernel.correlation_id;
	uint32_t first = wt_map_get(&linker->waiting_of, id);
	int err = 0;

	if (first == at) {
		if (linker->waiting[at].next == WT_MAP_NONE)
			wt_map_remove(&linker->waiting_of, id);
		else
			err = wt_map_set(&linker->waiting_of, id, linker->waiting[at].next);
	} else {
		while (linker->waiting[first].next != at)
			first = linker->waiting[first].next;
		linker->waiting[first].next = linker->waiting[at].next;
	}
	memset(&linker->waiting[at], 0, sizeof(linker->waiting[at]));
	linker->waiting[at].next = linker->free_waiting;
	linker->free_waiting = at;
	linker->waiting_used--;
	return err;
}

/* A launch call got its kernel: decide it, or amend what was decided without it. */
void wt_link_launch_has_kernel(struct wt_linker *linker, uint64_t seq, uint32_t flags,
                               enum wt_launch_class after)
{
	enum wt_launch_class before = wt_link_final_class(flags);
	struct link_slot *slot = wt_link_slot(linker, seq);

	if (slot) {
		if (slot->state == LINK_SLOT_WAITING)
			before = WT_LAUNCH_WAITING;
		slot->state = LINK_SLOT_LINKED;
	}
	linker->output.launch(linker->output.arg, before, after);
}

/* Kernels that wait were put in front of each other: the first to come is to be served first. */
static int reverse_waiting(struct wt_linker *linker, uint32_t id)
{
	uint32_t at = wt_map_get(&linker->waiting_of, id), done = WT_MAP_NONE;

	while (at != WT_MAP_NONE) {
		uint32_t next = linker->waiting[at].next;

		linker->waiting[at].next = done;
		done = at;
		at = next;
	}
	return done == WT_MAP_NONE ? 0 : wt_map_set(&linker->waiting_of, id, done);
}

/* A kernel took its call: the entry of a launch has served, that of a graph serves more. */
static int use_entry(struct wt_linker *linker, uint32_t at)
{
	struct link_entry *entry = &linker->entries[at];

	if (entry->kind == LINK_GRAPH) {
		if ((entry->flags & WT_FLAG_UNARMED) && linker->output.graph_observed)
			linker->output.graph_observed(linker->output.arg);
		entry->flags &= ~WT_FLAG_UNARMED;
		return 0;
	}
	wt_link_launch_has_kernel(linker, entry->seq, entry->flags, WT_LAUNCH_LINKED);
	return wt_link_forget(linker, at);
}

/* Gives the kernels that wait for this correlation id their answer. */
static int wake(struct wt_linker *linker, uint32_t id)
{
	int err = reverse_waiting(linker, id);
	uint32_t at = wt_map_get(&linker->waiting_of, id);

	while (at != WT_MAP_NONE && !err) {
		struct wt_linker_kernel kernel = linker->waiting[at].kernel;
		uint32_t next = linker->waiting[at].next, more = linker->waiting[at].more,
		         entry_at = wt_link_entry_for(linker, &kernel);

		if (entry_at != WT_MAP_NONE) {
			err = wt_link_drop_waiting(linker, at);
			for (uint32_t i = 0; i <= more && !err; i++, kernel.exec_id++)
				err = linker->output.kernel(
				        linker->output.arg, &kernel, WT_LINK_EXACT,
				        linker->entries[entry_at].seq,
				        linker->entries[entry_at].kind == LINK_GRAPH);
			if (!err)
				err = use_entry(linker, entry_at);
		}
		at = next;
	}
	return err;
}

int wt_linker_kernel(struct wt_linker *linker, const struct wt_linker_kernel *kernel,
                     int64_t now_ns, enum wt_link_how *ret_how, uint64_t *ret_seq,
                     bool *ret_is_graph_call)
{
	uint32_t at = wt_link_entry_for(linker, kernel);

	*ret_is_graph_call = false;
	if (at != WT_MAP_NONE) {
		struct link_entry *entry = &linker->entries[at];

		*ret_how = WT_LINK_EXACT;
		*ret_seq = entry->seq;
		*ret_is_graph_call = entry->kind == LINK_GRAPH;
		if (entry->kind == LINK_GRAPH)
			entry->at_ns = now_ns;
		return use_entry(linker, at);
	}
	*ret_how = WT_LINK_WAITING;
	if (joins_waiting(linker, kernel, now_ns))
		return 0;
	if (linker->waiting_used >= WT_LINK_PENDING_MAX) {
		*ret_how = kernel->is_graph_node ? WT_LINK_WAITING : WT_LINK_NO_CALL;
		return 0;
	}
	return wt_link_add_waiting(linker, kernel, now_ns);
}

/* ---- links */

/* One entry for each call that the record belongs to; then the kernels that wait for it. */
static int add_matched(struct wt_linker *linker, const struct link_entry *record,
                       const struct link_match *match)
{
	struct link_entry entry = *record;
	uint32_t at;
	int err = 0;

	for (size_t i = 0; i < match->count && !err; i++) {
		const struct link_call *call = match->calls[i];

		entry.kind = call->is_graph ? LINK_GRAPH : LINK_LAUNCH;
		entry.seq = call->seq;
		entry.geometry = call->geometry;
		entry.flags = call->flags;
		err = wt_link_add_entry(linker, &entry, &at);
	}
	return err || !match->count ? err : wake(linker, record->correlation_id);
}

int wt_linker_link(struct wt_linker *linker, const struct wt_link *link, int64_t now_ns)
{
	const struct link_entry record = {
	        .start_ns = link->start_ns,
	        .end_ns = link->duration_ns == WT_LINK_DURATION_MAX_NS
	                          ? UINT64_MAX
	                          : link->start_ns + link->duration_ns,
	        .at_ns = now_ns,
	        .correlation_id = link->correlation_id,
	        .thread32 = link->thread32,
	        .kind = LINK_UNMATCHED,
	        .is_runtime = (link->flags & WT_LINK_RUNTIME) != 0,
	};
	struct link_match match;
	uint32_t at;
	int err;

	linker->has_links = true;
	err = wt_link_forget_old(linker, record.correlation_id, now_ns);
	if (err)
		return err;
	if (wt_link_match(linker, &record, &match))
		return add_matched(linker, &record, &match);
	/* A second record of a call that has one already says nothing new. */
	if (wt_map_get(&linker->entry_of, record.correlation_id) != WT_MAP_NONE)
		return 0;
	return wt_link_add_entry(linker, &record, &at);
}

/* Links that came before their call, because a slower thread held the ring up. */
static int retry_unmatched(struct wt_linker *linker)
{
	size_t end = linker->entries_count;
	int err = 0;

	for (uint32_t at = 0; at < end && linker->unmatched_count && !err; at++) {
		const struct link_entry record = linker->entries[at];
		struct link_match match;

		if (record.kind != LINK_UNMATCHED || !wt_link_match(linker, &record, &match))
			continue;
		err = wt_link_forget(linker, at);
		if (!err)
			err = add_matched(linker, &record, &match);
	}
	return err;
}

/* ---- the end of a batch */

/* Entries whose kernel will hardly come any more. */
static int age_entries(struct wt_linker *linker, int64_t now_ns)
{
	bool is_crowded = linker->entries_used > WT_LINK_PENDING_MAX;

	for (uint32_t at = 0; at < linker->entries_count; at++) {
		const struct link_entry *entry = &linker->entries[at];
		int64_t age_ns = now_ns - entry->at_ns;
		bool is_over = false;
		int err;

		if (entry->kind == LINK_UNMATCHED)
			is_over = age_ns > (is_crowded ? WT_LINK_ORDER_NS : WT_LINK_AGE_NS);
		else if (entry->kind == LINK_GRAPH)
			is_over = age_ns > (is_crowded ? WT_LINK_AGE_NS : 10 * WT_LINK_AGE_NS);
		else if (entry->kind == LINK_LAUNCH)
			is_over = entry->seq < linker->base &&
			          (is_crowded || (entry->flags & WT_FLAG_CAPTURE_OPEN));
		if (is_over) {
			err = wt_link_forget(linker, at);
			if (err)
				return err;
		}
	}
	return 0;
}

/* Kernels of nobody: `limit_ns` old or older. */
static int give_up_waiting(struct wt_linker *linker, int64_t now_ns, int64_t limit_ns)
{
	for (uint32_t at = 0; at < linker->waiting_count; at++) {
		const struct wt_linker_kernel kernel = linker->waiting[at].kernel;
		int err;

		if (!linker->waiting[at].is_used || now_ns - linker->waiting[at].at_ns < limit_ns)
			continue;
		err = wt_link_drop_waiting(linker, at);
		if (!err && !kernel.is_graph_node)
			err = linker->output.kernel(linker->output.arg, &kernel, WT_LINK_NO_CALL, 0,
			                            false);
		if (err)
			return err;
	}
	return 0;
}

int wt_linker_settle(struct wt_linker *linker, int64_t now_ns)
{
	int64_t order_ns = linker->has_links ? WT_LINK_ORDER_LATE_NS : WT_LINK_ORDER_NS;
	int err = 0;

	wt_map_fini(&linker->restored_of);
	if (linker->unmatched_count && linker->has_new_calls)
		err = retry_unmatched(linker);
	linker->has_new_calls = false;
	if (!err && linker->waiting_used && now_ns - linker->ordered_ns > order_ns / 4) {
		linker->ordered_ns = now_ns;
		err = wt_link_by_order(linker, now_ns - order_ns);
	}
	if (!err && now_ns - linker->aged_ns > WT_LINK_AGE_NS / 60) {
		linker->aged_ns = now_ns;
		wt_link_age_calls(linker, now_ns);
		wt_link_age_threads(linker);
		err = age_entries(linker, now_ns);
		if (!err)
			err = give_up_waiting(linker, now_ns, WT_LINK_AGE_NS);
	}
	wt_link_advance(linker);
	return err ? err : wt_link_save_new(linker);
}

int wt_linker_end(struct wt_linker *linker, uint64_t finished_ns, int64_t now_ns)
{
	int err = linker->unmatched_count ? retry_unmatched(linker) : 0;

	if (!err && linker->waiting_used)
		err = wt_link_by_order(linker, INT64_MAX);
	if (!err)
		err = give_up_waiting(linker, now_ns, INT64_MIN);
	wt_link_decide_rest(linker, finished_ns);
	for (uint32_t at = 0; at < linker->entries_count && !err; at++)
		if (linker->entries[at].kind != LINK_FREE)
			err = wt_link_forget(linker, at);
	linker->unsaved_count = 0;
	return err;
}

/* ---- restart */

int wt_linker_restore_link(struct wt_linker *linker, uint32_t correlation_id, uint64_t seq,
                           bool is_graph, uint64_t geometry, uint32_t flags, int64_t now_ns)
{
	const struct link_entry entry = {
	        .seq = seq,
	        .geometry = geometry,
	        .at_ns = now_ns,
	        .correlation_id = correlation_id,
	        .flags = flags,
	        .kind = is_graph ? LINK_GRAPH : LINK_LAUNCH,
	        .is_saved = true,
	};
	uint32_t at;
	int err;

	linker->has_links = true;
	err = wt_link_add_entry(linker, &entry, &at);
	return err ? err : wt_map_set(&linker->restored_of, 2 * seq + is_graph, at);
}

int wt_linker_restore_kernel(struct wt_linker *linker, const struct wt_linker_kernel *kernel,
                             int64_t now_ns)
{
	return wt_link_add_waiting(linker, kernel, now_ns);
}
