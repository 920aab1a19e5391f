/*
 * names.c - kernel names in the segment's arena, each once.
 *
 * CUPTI gives a pointer with every kernel record. Pointers are no key: a module that is
 * unloaded and another loaded may put a different name at the same address. So the text is
 * hashed, eight bytes at a time, and compared with the arena's copy.
 *
 * The table from hash to id is private memory beside the view, so a forked child has none. Slots
 * go from empty to filled once. Two threads that add the same name at once may both write it:
 * the arena then holds it twice and one id is used from then on.
 *
 * On CUPTI's callback threads. Lock-free, no allocation.
 */
#include <string.h>

#include "libintercept/hooks.h"
#include "schema/wt_paths.h"

#define SLOT_COUNT 16384u
#define PROBES_MAX 64u
#define ID_NO_ROOM UINT32_MAX /* in a slot: seen, and there was no room for it */
#define HASH_TEXT_BYTES 17 /* "#" and 16 digits at the end of a name that was cut */

/* A slot is the low half of the hash and the id; 0 = empty, since no id is 0. */
struct wt_name_table {
	_Atomic uint64_t slot[SLOT_COUNT];
};

size_t wt_name_table_bytes(void)
{
	return sizeof(struct wt_name_table);
}

static uint64_t hash_text(const char *text, size_t length)
{
	uint64_t hash = length * UINT64_C(0x9e3779b97f4a7c15);
	uint64_t word;

	for (; length >= sizeof(word); length -= sizeof(word), text += sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
		hash ^= hash >> 32;
	}
	word = 0;
	memcpy(&word, text, length);
	hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
	return hash ^ hash >> 29;
}

static uint64_t slot_value(uint64_t hash, uint32_t id)
{
	return hash << 32 | id;
}

/* Is the arena's name `id` this one? For a cut name its end tells. */
static bool is_same(const struct wt_view *view, uint32_t id, const char *name, size_t length)
{
	const struct wt_name_entry *entry = (const void *)(view->arena + (uint64_t)id * 8);

	return entry->length == length && !memcmp(entry + 1, name, length);
}

/* Claims room for an entry; its offset, or 0 if there is none. */
static uint64_t claim(const struct wt_view *view, uint64_t bytes)
{
	_Atomic uint64_t *used = &view->producer->arena_used_bytes;
	uint64_t at = wt_load_relaxed(used);

	do {
		if (bytes > view->arena_bytes || at > view->arena_bytes - bytes)
			return 0;
	} while (!wt_cas_relaxed(used, &at, at + bytes));
	return at;
}

static uint32_t add(struct wt_view *view, const char *name, size_t length)
{
	uint64_t bytes = (sizeof(struct wt_name_entry) + length + 7) / 8 * 8;
	uint64_t at = claim(view, bytes);
	struct wt_name_entry *entry = (void *)(view->arena + at);

	if (!at) {
		wt_add_relaxed(&view->producer->names_dropped, 1);
		return ID_NO_ROOM;
	}
	memcpy(entry + 1, name, length);
	entry->hash = (uint32_t)wt_fnv1a(name, length);
	entry->length = (uint32_t)length;
	return (uint32_t)(at / 8);
}

static uint32_t find_or_add(struct wt_view *view, const char *name, size_t length)
{
	uint64_t hash = hash_text(name, length);
	uint32_t id = 0;

	for (uint32_t i = 0; i < PROBES_MAX; i++) {
		_Atomic uint64_t *slot = &view->names->slot[(hash >> 32 ^ (hash + i)) % SLOT_COUNT];
		uint64_t value = wt_load_acquire(slot);

		if (!value) {
			if (!id)
				id = add(view, name, length);
			if (atomic_compare_exchange_strong(slot, &value, slot_value(hash, id)))
				return id;
			/* another thread was first: perhaps with this very name */
		}
		if (value >> 32 != (hash & UINT32_MAX))
			continue;
		if ((uint32_t)value == ID_NO_ROOM || is_same(view, (uint32_t)value, name, length))
			return (uint32_t)value;
	}
	if (!id)
		wt_add_relaxed(&view->producer->names_dropped, 1);
	return id ? id : ID_NO_ROOM;
}

/* A name beyond the limit is cut, with a hash of the whole at its end: two long ones stay two.
 * Such names are not met in practice; the copy lives in the arena alone, so no stack is needed. */
static uint32_t add_cut(struct wt_view *view, const char *name, size_t length)
{
	size_t kept = WT_NAME_BYTES_MAX - HASH_TEXT_BYTES;
	uint64_t hash = wt_fnv1a(name, length);
	uint32_t id = ID_NO_ROOM;
	char *text;

	for (uint32_t i = 0; i < PROBES_MAX; i++) {
		_Atomic uint64_t *slot = &view->names->slot[(hash >> 32 ^ (hash + i)) % SLOT_COUNT];
		uint64_t value = wt_load_acquire(slot);

		if (value && value >> 32 == (hash & UINT32_MAX))
			return (uint32_t)value;
		if (value)
			continue;
		id = add(view, name, WT_NAME_BYTES_MAX);
		if (id != ID_NO_ROOM) {
			struct wt_name_entry *entry = (void *)(view->arena + (uint64_t)id * 8);

			text = (char *)(entry + 1) + kept;
			*text++ = '#';
			for (int shift = 60; shift >= 0; shift -= 4)
				*text++ = "0123456789abcdef"[hash >> shift & 15];
			entry->hash = (uint32_t)wt_fnv1a(entry + 1, entry->length);
		}
		atomic_compare_exchange_strong(slot, &value, slot_value(hash, id));
		break;
	}
	return id;
}

uint32_t wt_name_id(struct wt_view *view, const char *name)
{
	size_t length = name ? strlen(name) : 0;
	uint32_t id;

	if (!length)
		return 0;
	id = length > WT_NAME_BYTES_MAX ? add_cut(view, name, length)
	                                : find_or_add(view, name, length);
	return id == ID_NO_ROOM ? 0 : id;
}
