/*
 * link_match.c - which calls does a record of CUPTI's belong to? By thread and time.
 *
 * The calls of a thread are disjoint in time, and so are CUPTI's records of them, so that the one
 * whose interval nests is the one: a driver record lies in its call, a runtime record encloses it.
 * A record never goes to a call that it does not even touch: with calls missing (a full ring) that
 * would hand the record of one call to the next, and shift all that follow.
 *
 * One record can belong to several calls: a cooperative launch on several devices is one call of
 * the driver and a launch record per kernel, with the same stamps; and whatever else one call of
 * cudart launches carries that call's correlation id too. All of them are candidates for kernels
 * with that id (link.c picks by geometry, then in order).
 *
 * See link.h. Pure, one thread.
 */
#include "analysis/link_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define THREAD_CALLS_MAX 65536u /* a flush period of 300,000 launches per second */
#define THREAD_CALLS_KEPT 64 /* matched ones, to know a second record of the same call */
#define ROOM_KEPT 1024 /* calls of a thread */
#define OVERLAP_MAX 8 /* calls of threads whose low 32 bits of pthread_self() agree */
#define TIDS_MAX 4096 /* remembered, beyond those of the threads held */

void wt_link_threads_fini(struct wt_linker *linker)
{
	for (size_t i = 0; i < linker->threads_count; i++)
		free(linker->threads[i].calls);
	free(linker->threads);
	wt_map_fini(&linker->thread_of);
	wt_map_fini(&linker->thread32_of);
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

int wt_link_add_thread_call(struct wt_linker *linker, const struct wt_linker_call *call)
{
	struct link_thread *thread = find_thread(linker, call->thread32);
	struct link_call *at;

	if (!thread)
		return -ENOMEM;
	if (call->tid && thread->tid != call->tid) {
		if (wt_map_set(&linker->thread32_of, call->tid, call->thread32))
			return -ENOMEM;
		thread->tid = call->tid;
	}
	if (thread->count == THREAD_CALLS_MAX) {
		thread->first++;
		thread->count--;
	}
	if (make_thread_room(thread))
		return -ENOMEM;
	at = thread->calls + thread->first + thread->count++;
	if (thread->count > thread->most)
		thread->most = thread->count;
	/* Nearly always the last already; not when two threads share their low 32 bits. */
	for (; at > thread->calls + thread->first && at[-1].entry_ns > call->entry_ns; at--)
		at[0] = at[-1];
	*at = (struct link_call){
	        .entry_ns = call->entry_ns,
	        .return_ns = call->return_ns,
	        .seq = call->seq,
	        .geometry = call->geometry,
	        .flags = call->flags,
	        .is_graph = call->is_graph,
	        .is_without_kernel = call->result != 0 || (call->flags & WT_FLAG_CAPTURE_STREAM) ||
	                             call->is_before_arming,
	};
	linker->has_new_calls = true;
	return 0;
}

/* The calls of the thread that a record names: by pthread_self(), or by the kernel's thread id
 * where no thread has such a pthread_self(). */
static struct link_thread *thread_of_record(struct wt_linker *linker, uint32_t thread32)
{
	uint32_t at = wt_map_get(&linker->thread_of, thread32);

	if (at == WT_MAP_NONE) {
		thread32 = wt_map_get(&linker->thread32_of, thread32);
		if (thread32 != WT_MAP_NONE)
			at = wt_map_get(&linker->thread_of, thread32);
	}
	return at == WT_MAP_NONE ? NULL : &linker->threads[at];
}

static bool is_nested(const struct link_entry *record, const struct link_call *call,
                      uint64_t slack_ns)
{
	if (record->is_runtime)
		return record->start_ns <= call->entry_ns + slack_ns &&
		       call->return_ns <= record->end_ns + slack_ns;
	return call->entry_ns <= record->start_ns + slack_ns &&
	       record->end_ns <= call->return_ns + slack_ns;
}

/* The calls that a record touches, oldest first. */
static size_t find_touching(const struct link_thread *thread, const struct link_entry *record,
                            struct link_call *found[LINK_GROUP_MAX])
{
	struct link_call *calls = thread->calls + thread->first;
	size_t low = 0, high = thread->count, count = 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (calls[middle].entry_ns <= record->end_ns)
			low = middle + 1;
		else
			high = middle;
	}
	for (int misses = 0; low-- > 0 && misses < OVERLAP_MAX && count < LINK_GROUP_MAX;) {
		if (calls[low].return_ns < record->start_ns)
			misses++;
		else
			found[count++] = &calls[low];
	}
	for (size_t i = 0; i < count / 2; i++) {
		struct link_call *other = found[count - 1 - i];

		found[count - 1 - i] = found[i];
		found[i] = other;
	}
	return count;
}

static bool are_of_one_call(struct link_call *const *calls, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (calls[i]->entry_ns != calls[0]->entry_ns ||
		    calls[i]->return_ns != calls[0]->return_ns)
			return false;
	return true;
}

/* Keeps those that nest; 0 also where that is ambiguous. */
static size_t keep_nested(const struct link_entry *record, uint64_t slack_ns,
                          struct link_call **calls, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		if (is_nested(record, calls[i], slack_ns))
			calls[kept++] = calls[i];
	/* Whose end is not known encloses everything after it: only the first is surely its own. */
	if (kept && record->end_ns == UINT64_MAX)
		while (!are_of_one_call(calls, kept))
			kept--;
	/* All that a runtime call encloses is its own; a driver record is of one call. */
	if (are_of_one_call(calls, kept) || (record->is_runtime && !slack_ns))
		return kept;
	/* Two threads whose low 32 bits agree: what has its record already is not it. */
	count = kept;
	kept = 0;
	for (size_t i = 0; i < count; i++)
		if (!calls[i]->is_matched)
			calls[kept++] = calls[i];
	return are_of_one_call(calls, kept) ? kept : 0;
}

/* Drops matched calls from the front of a thread's list, but for the newest. */
static void trim_thread(struct link_thread *thread)
{
	while (thread->count > THREAD_CALLS_KEPT && thread->calls[thread->first].is_matched) {
		thread->first++;
		thread->count--;
	}
	if (!thread->count)
		thread->first = 0;
}

bool wt_link_match(struct wt_linker *linker, const struct link_entry *record,
                   struct link_match *match)
{
	struct link_thread *thread = thread_of_record(linker, record->thread32);
	struct link_call *touching[LINK_GROUP_MAX];
	size_t count, touched;

	match->count = 0;
	if (!thread)
		return false;
	touched = find_touching(thread, record, match->calls);
	memcpy(touching, match->calls, touched * sizeof(touching[0]));
	count = keep_nested(record, 0, match->calls, touched);
	if (!count) {
		memcpy(match->calls, touching, touched * sizeof(touching[0]));
		count = keep_nested(record, WT_LINK_SLACK_NS, match->calls, touched);
	}
	for (size_t i = 0; i < count; i++) {
		struct link_call *call = match->calls[i];
		struct link_slot *slot = call->is_graph ? NULL : wt_link_slot(linker, call->seq);
		bool is_open = !call->is_matched && !call->is_without_kernel;

		call->is_matched = 1;
		if (slot)
			slot->has_link = 1;
		/* One that was linked by order already needs nothing more. */
		if (is_open && (!slot || slot->state != LINK_SLOT_LINKED))
			match->calls[match->count++] = call;
	}
	trim_thread(thread);
	return count != 0;
}

/* After a restart: its record has come before, the thread's list must not offer it again. */
void wt_link_mark_matched(struct wt_linker *linker, const struct wt_linker_call *call)
{
	struct link_thread *thread = find_thread(linker, call->thread32);

	for (size_t i = thread ? thread->count : 0; i-- > 0;) {
		struct link_call *at = &thread->calls[thread->first + i];

		if (at->seq == call->seq && at->is_graph == call->is_graph) {
			at->is_matched = 1;
			break;
		}
	}
}

/* A burst of one thread makes room that it does not need again: half of it goes, where a quarter would do. */
static void give_room_back(struct link_thread *thread)
{
	struct link_call *less;

	if (thread->room > ROOM_KEPT && thread->most < thread->room / 4) {
		memmove(thread->calls, thread->calls + thread->first,
		        thread->count * sizeof(*thread->calls));
		thread->first = 0;
		less = realloc(thread->calls, thread->room / 2 * sizeof(*less));
		if (less) {
			thread->calls = less;
			thread->room /= 2;
		}
	}
	thread->most = thread->count;
}

/* Lets go of calls, of room, and of threads all of whose calls are old. */
void wt_link_age_threads(struct wt_linker *linker)
{
	uint64_t newest_ns = 0;

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
		give_room_back(thread);
		if (thread->count)
			continue;
		free(thread->calls);
		wt_map_remove(&linker->thread_of, thread->thread32);
		*thread = linker->threads[--linker->threads_count];
		if (i < linker->threads_count)
			wt_map_set(&linker->thread_of, thread->thread32, (uint32_t)i);
	}
	if (linker->thread32_of.count <= linker->threads_count + TIDS_MAX)
		return;
	/* Threads that came and went: forget all, those that live say so again. */
	wt_map_fini(&linker->thread32_of);
	for (size_t i = 0; i < linker->threads_count; i++)
		linker->threads[i].tid = 0;
}
