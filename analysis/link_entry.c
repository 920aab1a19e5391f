/*
 * link_entry.c - entries: what a correlation id is known to be. Those of one id form a chain.
 * See link.h. Pure, one thread.
 */
#include "analysis/link_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Takes an entry out of its chain and frees the place. */
int wt_link_forget(struct wt_linker *linker, uint32_t at)
{
	struct link_entry *entry = &linker->entries[at];
	uint32_t before = wt_map_get(&linker->entry_of, entry->correlation_id);
	int err = 0;

	if (entry->is_saved)
		err = linker->output.forget(linker->output.arg, entry->correlation_id, entry->seq,
		                            entry->kind == LINK_GRAPH);
	if (before != at) {
		while (linker->entries[before].next != at)
			before = linker->entries[before].next;
		linker->entries[before].next = entry->next;
	} else if (entry->next == WT_MAP_NONE) {
		wt_map_remove(&linker->entry_of, entry->correlation_id);
	} else {
		wt_map_set(&linker->entry_of, entry->correlation_id, entry->next);
	}
	linker->unmatched_count -= entry->kind == LINK_UNMATCHED;
	memset(entry, 0, sizeof(*entry));
	entry->next = linker->free_entry;
	linker->free_entry = at;
	linker->entries_used--;
	return err;
}

static int add_unsaved(struct wt_linker *linker, uint32_t at)
{
	if (linker->unsaved_count == linker->unsaved_room) {
		size_t room = linker->unsaved_room ? 2 * linker->unsaved_room : 256;
		uint32_t *more = realloc(linker->unsaved, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		linker->unsaved = more;
		linker->unsaved_room = room;
	}
	linker->unsaved[linker->unsaved_count++] = at;
	return 0;
}

/* An id that came round again: what it was before is over. */
int wt_link_forget_old(struct wt_linker *linker, uint32_t id, int64_t now_ns)
{
	uint32_t at = wt_map_get(&linker->entry_of, id);
	int err = 0;

	while (at != WT_MAP_NONE && !err && now_ns - linker->entries[at].at_ns > WT_LINK_AGE_NS) {
		err = wt_link_forget(linker, at);
		at = wt_map_get(&linker->entry_of, id);
	}
	return err;
}

static int make_entry_room(struct wt_linker *linker)
{
	size_t room = linker->entries_room ? 2 * linker->entries_room : 256;
	struct link_entry *more;

	if (linker->free_entry != WT_MAP_NONE || linker->entries_count < linker->entries_room)
		return 0;
	more = realloc(linker->entries, room * sizeof(*more));
	if (!more)
		return -ENOMEM;
	linker->entries = more;
	linker->entries_room = room;
	return 0;
}

/* Adds an entry at the end of the chain of its correlation id. */
int wt_link_add_entry(struct wt_linker *linker, const struct link_entry *entry, uint32_t *ret_at)
{
	uint32_t at = linker->free_entry, last;
	int err = make_entry_room(linker);

	if (err)
		return err;
	if (at != WT_MAP_NONE)
		linker->free_entry = linker->entries[at].next;
	else
		at = (uint32_t)linker->entries_count++;
	linker->entries[at] = *entry;
	linker->entries[at].next = WT_MAP_NONE;
	linker->entries_used++;
	linker->unmatched_count += entry->kind == LINK_UNMATCHED;
	last = wt_map_get(&linker->entry_of, entry->correlation_id);
	if (last == WT_MAP_NONE) {
		err = wt_map_set(&linker->entry_of, entry->correlation_id, at);
	} else {
		while (linker->entries[last].next != WT_MAP_NONE)
			last = linker->entries[last].next;
		linker->entries[last].next = at;
	}
	if (!err && !entry->is_saved && entry->kind != LINK_UNMATCHED)
		err = add_unsaved(linker, at);
	*ret_at = at;
	return err;
}

/*
 * The entry that answers a kernel. Of several launch calls under one id (see link_match.c) the first
 * with the kernel's geometry, else the first.
 */
uint32_t wt_link_entry_for(const struct wt_linker *linker, const struct wt_linker_kernel *kernel)
{
	uint32_t at = wt_map_get(&linker->entry_of, kernel->correlation_id);
	uint32_t first = WT_MAP_NONE, graph = WT_MAP_NONE;

	for (; at != WT_MAP_NONE; at = linker->entries[at].next) {
		const struct link_entry *entry = &linker->entries[at];

		if (entry->kind == LINK_GRAPH && graph == WT_MAP_NONE)
			graph = at;
		if (entry->kind != LINK_LAUNCH || kernel->is_graph_node)
			continue;
		if (entry->geometry == kernel->geometry)
			return at;
		if (first == WT_MAP_NONE)
			first = at;
	}
	return first != WT_MAP_NONE ? first : graph;
}

int wt_link_save_new(struct wt_linker *linker)
{
	int err = 0;

	for (size_t i = 0; i < linker->unsaved_count && !err; i++) {
		struct link_entry *entry = &linker->entries[linker->unsaved[i]];

		if (entry->kind != LINK_LAUNCH && entry->kind != LINK_GRAPH)
			continue;
		if (entry->is_saved)
			continue;
		err = linker->output.save(linker->output.arg, entry->correlation_id, entry->seq,
		                          entry->kind == LINK_GRAPH);
		entry->is_saved = true;
	}
	linker->unsaved_count = 0;
	return err;
}
