/*
 * wt_run_key.h - text into a run key, the same way in the library and in `wavetap run`.
 *
 * A key is compared as bytes, travels in a line of the daemon's socket and stands in run files
 * and messages: it is valid UTF-8 without control characters and shorter than WT_RUN_KEY_BYTES.
 * A text that isn't gets a key made of what fits, with a hash of the whole behind it, so that
 * different texts stay different runs.
 *
 * Inline, libc only, no heap: the library uses it inside the application. Any thread.
 */
#ifndef WT_RUN_KEY_H
#define WT_RUN_KEY_H

#include <stdbool.h>

#include "schema/wt_paths.h"
#include "schema/wt_segment.h"

#define WT_RUN_KEY_HASH_BYTES 17 /* "~" and 16 hexadecimal digits */

/* Bytes of the character that begins at `at`; 0: none does that is valid UTF-8. */
static inline int wt_utf8_length(const unsigned char *at)
{
	int length = *at < 0x80                  ? 1
	             : *at >= 0xc2 && *at < 0xe0 ? 2
	             : *at >= 0xe0 && *at < 0xf0 ? 3
	             : *at >= 0xf0 && *at < 0xf5 ? 4
	                                         : 0;

	for (int i = 1; i < length; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	return length;
}

static inline void wt_run_key_set(char key[WT_RUN_KEY_BYTES], const char *text)
{
	const size_t room = WT_RUN_KEY_BYTES - 1, room_cut = room - WT_RUN_KEY_HASH_BYTES;
	const unsigned char *at = (const unsigned char *)text;
	size_t used = 0, used_cut = 0;
	bool is_changed = false;

	while (*at) {
		int length = wt_utf8_length(at);
		bool is_odd = !length || *at < 0x20 || *at == 0x7f;

		length = length ? length : 1;
		if (used + (size_t)length > room) {
			is_changed = true;
			break;
		}
		memcpy(key + used, at, (size_t)length);
		if (is_odd)
			key[used] = '?';
		is_changed |= is_odd;
		used += (size_t)length;
		at += length;
		if (used <= room_cut)
			used_cut = used;
	}
	key[used] = '\0';
	if (is_changed)
		snprintf(key + used_cut, WT_RUN_KEY_BYTES - used_cut, "~%016llx",
		         (unsigned long long)wt_fnv1a(text, strlen(text)));
}

#endif /* WT_RUN_KEY_H */
