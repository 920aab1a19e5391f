/*
 * link_calls.c - the launch calls of a process by seq: arrival, decision, departure.
 * See link.h. Pure, one thread.
 */
#include "analysis/link_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_FIRST 1024u

/* What a call without a kernel was, as far as its own flags tell. */
enum wt_launch_class wt_link_final_class(uint32_t flags)
{
	if (flags & WT_FLAG_UNARMED)
		return WT_LAUNCH_UNOBSERVED;
	if (flags & WT_FLAG_CAPTURE_OPEN)
		return WT_LAUNCH_CAPTURED;
	return WT_LAUNCH_UNLINKED;
}

struct link_slot *wt_link_slot(struct wt_linker *linker, uint64_t seq)
{
	if (seq < linker->base || seq >= linker->end)
		return NULL;
	return &linker->slots[seq & linker->slots_mask];
}

static void decide(struct wt_linker *linker, struct link_slot *slot)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): there are slots if base < end */
	if (slot->state == LINK_SLOT_WAITING)
		linker->output.launch(linker->output.arg, WT_LAUNCH_WAITING,
		                      wt_link_final_class(slot->flags));
	slot->state = LINK_SLOT_DECIDED;
}

static void pop_front(struct wt_linker *linker)
{
	memset(&linker->slots[linker->base & linker->slots_mask], 0, sizeof(*linker->slots));
	linker->base++;
}

/* Calls at the front that are decided need not be kept. */
void wt_link_advance(struct wt_linker *linker)
{
	while (linker->base < linker->end) {
		uint8_t state = linker->slots[linker->base & linker->slots_mask].state;

		if (state != LINK_SLOT_LINKED && state != LINK_SLOT_DECIDED)
			break;
		pop_front(linker);
	}
}

uint64_t wt_linker_low_seq(const struct wt_linker *linker)
{
	return linker->base;
}

bool wt_linker_is_settled(const struct wt_linker *linker, uint64_t seq, uint64_t graph_seq)
{
	if (linker->base < seq)
		return false;
	for (size_t i = 0; i < linker->entries_count; i++)
		if (linker->entries[i].kind == LINK_GRAPH && linker->entries[i].seq < graph_seq)
			return false;
	for (size_t t = 0; t < linker->threads_count; t++) {
		const struct link_thread *thread = &linker->threads[t];

		for (size_t i = thread->first; i < thread->first + thread->count; i++)
			if (thread->calls[i].is_graph && !thread->calls[i].is_matched &&
			    !thread->calls[i].is_without_kernel && thread->calls[i].seq < graph_seq)
				return false;
	}
	return true;
}

bool wt_linker_is_new(const struct wt_linker *linker, uint64_t seq)
{
	return seq >= linker->base &&
	       (seq >= linker->end ||
	        linker->slots[seq & linker->slots_mask].state == LINK_SLOT_EMPTY);
}

uint64_t wt_linker_open_entry_ns(struct wt_linker *linker)
{
	if (linker->open_at < linker->base)
		linker->open_at = linker->base;
	for (; linker->open_at < linker->end; linker->open_at++) {
		const struct link_slot *slot = wt_link_slot(linker, linker->open_at);

		if (slot && slot->state == LINK_SLOT_WAITING &&
		    wt_link_final_class(slot->flags) == WT_LAUNCH_UNLINKED)
			return slot->entry_ns;
	}
	return 0;
}

/* Makes seqs base..seq addressable; older ones are decided if there are too many. */
static int make_room(struct wt_linker *linker, uint64_t seq)
{
	struct link_slot *bigger;
	uint64_t room = linker->slots ? linker->slots_mask + 1 : SLOTS_FIRST;

	while (linker->base < linker->end && seq - linker->base >= WT_LINK_PENDING_MAX) {
		decide(linker, &linker->slots[linker->base & linker->slots_mask]);
		pop_front(linker);
	}
	if (linker->base == linker->end && seq - linker->base >= WT_LINK_PENDING_MAX)
		linker->base = linker->end = seq - WT_LINK_PENDING_MAX + 1;
	while (room <= seq - linker->base)
		room *= 2;
	if (linker->slots && room == linker->slots_mask + 1)
		return 0;
	bigger = calloc(room, sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	for (uint64_t at = linker->base; at < linker->end && linker->slots; at++)
		bigger[at & (room - 1)] = linker->slots[at & linker->slots_mask];
	free(linker->slots);
	linker->slots = bigger;
	linker->slots_mask = room - 1;
	return 0;
}

/* ---- arrival and departure */

int wt_linker_call(struct wt_linker *linker, const struct wt_linker_call *call, int64_t now_ns)
{
	enum wt_launch_class class = WT_LAUNCH_WAITING;
	struct link_slot *slot;
	int err = wt_link_add_thread_call(linker, call);

	if (err || call->is_graph)
		return err;
	if (call->result != 0)
		class = WT_LAUNCH_FAILED;
	else if (call->flags & WT_FLAG_CAPTURE_STREAM)
		class = WT_LAUNCH_CAPTURED;
	else if (call->is_before_arming)
		class = WT_LAUNCH_UNOBSERVED;
	else if (call->seq < linker->base)
		class = wt_link_final_class(call->flags);
	if (class != WT_LAUNCH_WAITING)
		linker->output.launch(linker->output.arg, WT_LAUNCH_WAITING, class);
	if (call->seq < linker->base)
		return 0;
	err = make_room(linker, call->seq);
	if (err)
		return err;
	if (call->seq >= linker->end)
		linker->end = call->seq + 1;
	if (call->seq < linker->open_at)
		linker->open_at = call->seq;
	slot = wt_link_slot(linker, call->seq);
	*slot = (struct link_slot){
	        .entry_ns = call->entry_ns,
	        .return_ns = call->return_ns,
	        .geometry = call->geometry,
	        .at_ns = now_ns,
	        .flags = call->flags,
	        .state = class == WT_LAUNCH_WAITING ? LINK_SLOT_WAITING : LINK_SLOT_DECIDED,
	};
	return 0;
}

int wt_linker_restore_start(struct wt_linker *linker, uint64_t low_seq)
{
	linker->base = linker->end = low_seq;
	return 0;
}

static void restore_ignore(void *arg, enum wt_launch_class before, enum wt_launch_class after)
{
	(void)arg;
	(void)before;
	(void)after;
}

int wt_linker_restore_call(struct wt_linker *linker, const struct wt_linker_call *call,
                           bool has_kernel, int64_t now_ns)
{
	void (*report)(void *, enum wt_launch_class, enum wt_launch_class) = linker->output.launch;
	struct link_slot *slot;
	int err;

	linker->output.launch = restore_ignore;
	err = wt_linker_call(linker, call, now_ns);
	linker->output.launch = report;
	if (err)
		return err;
	slot = call->is_graph ? NULL : wt_link_slot(linker, call->seq);
	if (slot && has_kernel)
		slot->state = LINK_SLOT_LINKED;
	if (!has_kernel &&
	    wt_map_get(&linker->restored_of, 2 * call->seq + call->is_graph) != WT_MAP_NONE) {
		has_kernel = true;
		if (slot)
			slot->has_link = 1;
	}
	if (has_kernel)
		wt_link_mark_matched(linker, call);
	return 0;
}

/* Front calls that waited too long. */
void wt_link_age_calls(struct wt_linker *linker, int64_t now_ns)
{
	while (linker->base < linker->end) {
		uint64_t at = linker->base;

		/* A gap is as old as the first call behind it. */
		while (at < linker->end &&
		       linker->slots[at & linker->slots_mask].state == LINK_SLOT_EMPTY)
			at++;
		if (at == linker->end ||
		    now_ns - linker->slots[at & linker->slots_mask].at_ns < WT_LINK_AGE_NS)
			break;
		while (linker->base < at)
			pop_front(linker);
		decide(linker, &linker->slots[at & linker->slots_mask]);
		pop_front(linker);
		wt_link_advance(linker);
	}
}

/* A call that returned after CUPTI was last asked is in flight: nobody was there for its record. */
void wt_link_decide_rest(struct wt_linker *linker, uint64_t finished_ns)
{
	for (uint64_t seq = linker->base; seq < linker->end; seq++) {
		struct link_slot *slot = &linker->slots[seq & linker->slots_mask];

		if (slot->return_ns < finished_ns || (slot->flags & WT_FLAG_UNARMED))
			decide(linker, slot);
	}
}
