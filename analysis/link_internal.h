/*
 * link_internal.h - what the files link*.c share.
 */
#ifndef WT_LINK_INTERNAL_H
#define WT_LINK_INTERNAL_H

#include <stddef.h>

#include "analysis/link.h"
#include "analysis/map.h"

enum link_slot_state {
	LINK_SLOT_EMPTY = 0, /* not arrived: under way, or dropped */
	LINK_SLOT_WAITING,
	LINK_SLOT_LINKED,
	LINK_SLOT_DECIDED,
};

/* A launch call, found by its seq. */
struct link_slot {
	uint64_t entry_ns, return_ns;
	uint64_t geometry;
	int64_t at_ns;
	uint32_t flags;
	uint8_t state; /* enum link_slot_state */
	uint8_t has_link;
};

/* A call among those of its thread. */
struct link_call {
	uint64_t entry_ns;
	uint64_t return_ns;
	uint64_t seq;
	uint64_t geometry;
	uint32_t flags;
	uint8_t is_graph;
	uint8_t is_without_kernel;
	uint8_t is_matched;
};

#define LINK_GROUP_MAX 72 /* calls that one record can belong to */

/* What a record was found to belong to: those of the calls that can have a kernel. Valid until the
 * next call is added. */
struct link_match {
	struct link_call *calls[LINK_GROUP_MAX];
	size_t count;
};

struct link_thread {
	struct link_call *calls; /* in entry order, from `first` on */
	size_t first, count, room;
	size_t most; /* of `count`, lately */
	uint32_t thread32;
	uint32_t tid; /* of the last call, 0 = not known */
};

enum link_kind { LINK_FREE = 0, LINK_LAUNCH, LINK_GRAPH, LINK_UNMATCHED };

/* What a correlation id is known to be. Several of one id form a chain, in order of the calls. */
struct link_entry {
	uint64_t seq;
	uint64_t geometry; /* of the call */
	uint64_t start_ns; /* of the record */
	uint64_t end_ns; /* UINT64_MAX: too long to be told */
	int64_t at_ns; /* when it came; graph: when last used */
	uint32_t correlation_id;
	uint32_t thread32;
	uint32_t flags; /* of the call */
	uint32_t next; /* same correlation id, or the next free place */
	uint8_t kind; /* enum link_kind */
	uint8_t is_runtime;
	uint8_t is_saved;
};

/* A kernel without an answer; or nodes of one graph launch that came one after the other, since a lost
 * link may stand for thousands of them. */
struct link_waiting {
	struct wt_linker_kernel kernel; /* the first */
	int64_t at_ns; /* when the last came */
	uint32_t more; /* nodes with the exec ids that follow */
	uint32_t next; /* same correlation id, or the next free place */
	bool is_used;
};

struct wt_linker {
	struct wt_linker_output output;

	struct link_slot *slots; /* ring by seq */
	uint64_t slots_mask;
	uint64_t base, end; /* seqs held: base <= seq < end */
	uint64_t open_at; /* calls before this have their kernel, or need not get one */

	struct link_thread *threads;
	size_t threads_count, threads_room;
	struct wt_map thread_of; /* thread32 -> thread */
	struct wt_map thread32_of; /* tid -> thread32 */

	struct link_entry *entries;
	size_t entries_count, entries_room, entries_used;
	struct wt_map entry_of;
	struct wt_map restored_of; /* only while restoring: 2 * seq + is_graph -> entry */
	uint32_t free_entry;
	size_t unmatched_count;

	struct link_waiting *waiting;
	size_t waiting_count, waiting_room, waiting_used;
	struct wt_map waiting_of;
	uint32_t free_waiting;

	uint32_t *unsaved; /* entries made in this batch */
	size_t unsaved_count, unsaved_room;

	int64_t ordered_ns, aged_ns;
	bool has_links;
	bool has_new_calls;
};

/* link_calls.c */
enum wt_launch_class wt_link_final_class(uint32_t flags);
struct link_slot *wt_link_slot(struct wt_linker *linker, uint64_t seq);
void wt_link_advance(struct wt_linker *linker);
void wt_link_age_calls(struct wt_linker *linker, int64_t now_ns);
void wt_link_decide_rest(struct wt_linker *linker, uint64_t finished_ns);

/* link_entry.c */
int wt_link_add_entry(struct wt_linker *linker, const struct link_entry *entry, uint32_t *ret_at);
int wt_link_forget(struct wt_linker *linker, uint32_t at);
int wt_link_forget_old(struct wt_linker *linker, uint32_t id, int64_t now_ns);
uint32_t wt_link_entry_for(const struct wt_linker *linker, const struct wt_linker_kernel *kernel);
int wt_link_save_new(struct wt_linker *linker);

/* link_match.c */
void wt_link_threads_fini(struct wt_linker *linker);
int wt_link_add_thread_call(struct wt_linker *linker, const struct wt_linker_call *call);
/* True: the calls of this record are known, and now taken. */
bool wt_link_match(struct wt_linker *linker, const struct link_entry *record,
                   struct link_match *match);
void wt_link_mark_matched(struct wt_linker *linker, const struct wt_linker_call *call);
void wt_link_age_threads(struct wt_linker *linker);

/* link_order.c */
int wt_link_by_order(struct wt_linker *linker, int64_t until_ns);

/* link.c */
int wt_link_add_waiting(struct wt_linker *linker, const struct wt_linker_kernel *kernel,
                        int64_t now_ns);
int wt_link_drop_waiting(struct wt_linker *linker, uint32_t at);
void wt_link_launch_has_kernel(struct wt_linker *linker, uint64_t seq, uint32_t flags,
                               enum wt_launch_class after);

#endif /* WT_LINK_INTERNAL_H */
