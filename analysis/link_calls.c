/*
 * link_calls.c - the launch calls of a process: by seq, and by thread and time.
 * See link.h. Pure, one thread.
 */
#include "analysis/link_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_FIRST 1024u
#define THREAD_CALLS_MAX 65536u /* a flush period of 300,000 launches per second */
#define OVERLAP_MAX 8 /* calls of threads whose low 32 bits of pthread_self() agree */

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
	for (uint64_t at = linker->base; at < linker->end; at++)
		bigger[at & (room - 1)] = linker->slots[at & linker->slots_mask];
	free(linker->slots);
	linker->slots = bigger;
	linker->slots_mask = room - 1;
	return 0;
}

/* ---- calls of a thread */

void wt_link_threads_fini(struct wt_linker *linker)
{
	for (size_t i = 0; i < linker->threads_count; i++)
		free(linker->threads[i].calls);
	free(linker->threads);
	wt_map_fini(&linker->thread_of);
}

static struct link_thread *find_thread(struct wt_linker *linker, uint32_t thread32)
{
	uint32_t at = wt_map_get(&linker->thread_of, thread32);
	struct link_thread *more;

	if (at != WT_MAP_NONE)
		return &linker->threads[at];
	if (linker->threads_count == linker->threads_room) {
		size_t room = linker->threads_room ? 2 * linker->threads_room : 16;

		more = realloc(linker->threads, room * sizeof(*more));
		if (!more)
			return NULL;
		linker->threads = more;
		linker->threads_room = room;
	}
	at = (uint32_t)linker->threads_count;
	if (wt_map_set(&linker->thread_of, thread32, at))
		return NULL;
	linker->threads[at] = (struct link_thread){.thread32 = thread32};
	linker->threads_count++;
	return &linker->threads[at];
}

static int make_thread_room(struct link_thread *thread)
{
	struct link_call *more;
	size_t room;

	if (thread->first + thread->count < thread->room)
		return 0;
	if (thread->first >= thread->room / 2 && thread->first) {
		memmove(thread->calls, thread->calls + thread->first,
		        thread->count * sizeof(*thread->calls));
		thread->first = 0;
		return 0;
	}
	room = thread->room ? 2 * thread->room : 32;
	more = realloc(thread->calls, room * sizeof(*more));
	if (!more)
		return -ENOMEM;
	thread->calls = more;
	thread->room = room;
	return 0;
}

static int add_thread_call(struct wt_linker *linker, const struct wt_linker_call *call)
{
	struct link_thread *thread = find_thread(linker, call->thread32);
	struct link_call *at;

	if (!thread)
		return -ENOMEM;
	if (thread->count == THREAD_CALLS_MAX) {
		thread->first++;
		thread->count--;
	}
	if (make_thread_room(thread))
		return -ENOMEM;
	at = thread->calls + thread->first + thread->count++;
	/* Nearly always the last already; not when two threads share their low 32 bits. */
	for (; at > thread->calls + thread->first && at[-1].entry_ns > call->entry_ns; at--)
		at[0] = at[-1];
	*at = (struct link_call){
	        .entry_ns = call->entry_ns,
	        .return_ns = call->return_ns,
	        .seq = call->seq,
	        .flags = call->flags,
	        .is_graph = call->is_graph,
	        .is_without_kernel = call->result != 0 || (call->flags & WT_FLAG_CAPTURE_STREAM) ||
	                             call->is_before_arming,
	};
	linker->has_new_calls = true;
	return 0;
}

/* The one unmatched call around `start_ns`, give or take `slack_ns`; NULL: none, or several. */
static struct link_call *find_call(const struct link_thread *thread, uint64_t start_ns,
                                   uint64_t slack_ns)
{
	struct link_call *calls = thread->calls + thread->first, *found = NULL;
	size_t low = 0, high = thread->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (calls[middle].entry_ns <= start_ns + slack_ns)
			low = middle + 1;
		else
			high = middle;
	}
	for (int tries = 0; low-- > 0 && tries < OVERLAP_MAX; tries++) {
		struct link_call *call = &calls[low];

		if (call->is_matched || call->return_ns + slack_ns < start_ns)
			continue;
		if (found)
			return NULL;
		found = call;
	}
	return found;
}

/* Drops matched calls from the front of a thread's list. */
static void trim_thread(struct link_thread *thread)
{
	while (thread->count && thread->calls[thread->first].is_matched) {
		thread->first++;
		thread->count--;
	}
	if (!thread->count)
		thread->first = 0;
}

/*
 * Finds the call a link belongs to, and takes it. True if there is one; entry->kind stays
 * UNMATCHED where that call can't have a kernel.
 */
bool wt_link_match_call(struct wt_linker *linker, struct link_entry *entry)
{
	uint32_t at = wt_map_get(&linker->thread_of, entry->thread32);
	struct link_thread *thread;
	struct link_call *call;
	struct link_slot *slot;

	if (at == WT_MAP_NONE)
		return false;
	thread = &linker->threads[at];
	call = find_call(thread, entry->start_ns, 0);
	if (!call)
		call = find_call(thread, entry->start_ns, WT_LINK_SLACK_NS);
	if (!call)
		return false;
	call->is_matched = 1;
	if (!call->is_without_kernel) {
		slot = call->is_graph ? NULL : wt_link_slot(linker, call->seq);
		if (slot)
			slot->has_link = 1;
		/* One that was linked by order already needs nothing more. */
		if (!slot || slot->state != LINK_SLOT_LINKED) {
			entry->kind = call->is_graph ? LINK_GRAPH : LINK_LAUNCH;
			entry->seq = call->seq;
			entry->flags = call->flags;
		}
	}
	trim_thread(thread);
	return true;
}

/* ---- arrival and departure */

int wt_linker_call(struct wt_linker *linker, const struct wt_linker_call *call, int64_t now_ns)
{
	enum wt_launch_class class = WT_LAUNCH_WAITING;
	struct link_slot *slot;
	int err = add_thread_call(linker, call);

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
	slot = wt_link_slot(linker, call->seq);
	*slot = (struct link_slot){
	        .entry_ns = call->entry_ns,
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
	struct link_thread *thread;
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
	/* Its link has come before: the thread's list must not offer it again. */
	thread = find_thread(linker, call->thread32);
	for (size_t i = thread ? thread->count : 0; has_kernel && i-- > 0;) {
		struct link_call *at = &thread->calls[thread->first + i];

		if (at->seq == call->seq && at->is_graph == call->is_graph) {
			at->is_matched = 1;
			break;
		}
	}
	return 0;
}

/* Front calls that waited too long; and threads whose calls are all old. */
void wt_link_age_calls(struct wt_linker *linker, int64_t now_ns)
{
	uint64_t newest_ns = 0;

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
	for (size_t i = 0; i < linker->threads_count; i++) {
		const struct link_thread *thread = &linker->threads[i];

		if (thread->count &&
		    thread->calls[thread->first + thread->count - 1].entry_ns > newest_ns)
			newest_ns = thread->calls[thread->first + thread->count - 1].entry_ns;
	}
	for (size_t i = linker->threads_count; i-- > 0;) {
		struct link_thread *thread = &linker->threads[i];

		while (thread->count &&
		       thread->calls[thread->first].entry_ns + (uint64_t)WT_LINK_AGE_NS <
		               newest_ns) {
			thread->first++;
			thread->count--;
		}
		trim_thread(thread);
		if (thread->count)
			continue;
		free(thread->calls);
		wt_map_remove(&linker->thread_of, thread->thread32);
		*thread = linker->threads[--linker->threads_count];
		if (i < linker->threads_count)
			wt_map_set(&linker->thread_of, thread->thread32, (uint32_t)i);
	}
}

void wt_link_decide_rest(struct wt_linker *linker, bool is_orderly)
{
	for (uint64_t seq = linker->base; seq < linker->end; seq++) {
		struct link_slot *slot = &linker->slots[seq & linker->slots_mask];

		if (is_orderly || (slot->flags & WT_FLAG_UNARMED))
			decide(linker, slot);
	}
}
