/*
 * link_internal.h - what link.c (links, kernels) and link_calls.c (launch calls) share.
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
	uint64_t entry_ns;
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
	uint32_t flags;
	uint8_t is_graph;
	uint8_t is_without_kernel;
	uint8_t is_matched;
};

struct link_thread {
	struct link_call *calls; /* in entry order, from `first` on */
	size_t first, count, room;
	uint32_t thread32;
};

enum link_kind { LINK_FREE = 0, LINK_LAUNCH, LINK_GRAPH, LINK_UNMATCHED };

struct link_entry {
	uint64_t seq;
	uint64_t start_ns;
	int64_t at_ns; /* when it came; graph: when last used */
	uint32_t correlation_id;
	uint32_t thread32;
	uint32_t flags; /* of the call */
	uint32_t next_free;
	uint8_t kind; /* enum link_kind */
	uint8_t is_saved;
};

struct link_waiting {
	struct wt_linker_kernel kernel;
	int64_t at_ns;
	uint32_t next; /* same correlation id, or the next free place */
	bool is_used;
};

struct wt_linker {
	struct wt_linker_output output;

	struct link_slot *slots; /* ring by seq */
	uint64_t slots_mask;
	uint64_t base, end; /* seqs held: base <= seq < end */

	struct link_thread *threads;
	size_t threads_count, threads_room;
	struct wt_map thread_of;

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
bool wt_link_match_call(struct wt_linker *linker, struct link_entry *entry);
void wt_link_advance(struct wt_linker *linker);
void wt_link_age_calls(struct wt_linker *linker, int64_t now_ns);
void wt_link_decide_rest(struct wt_linker *linker, bool is_orderly);
void wt_link_threads_fini(struct wt_linker *linker);

/* link_order.c */
int wt_link_by_order(struct wt_linker *linker, int64_t until_ns);

/* link.c */
int wt_link_add_entry(struct wt_linker *linker, const struct link_entry *entry, uint32_t *ret_at);
int wt_link_forget(struct wt_linker *linker, uint32_t at);
int wt_link_wake(struct wt_linker *linker, uint32_t entry_at);
int wt_link_add_waiting(struct wt_linker *linker, const struct wt_linker_kernel *kernel,
                        int64_t now_ns);
int wt_link_drop_waiting(struct wt_linker *linker, uint32_t at);
void wt_link_launch_has_kernel(struct wt_linker *linker, uint64_t seq, uint32_t flags,
                               enum wt_launch_class after);

#endif /* WT_LINK_INTERNAL_H */
