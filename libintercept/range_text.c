/*
 * range_text.c - texts of ranges, domains and registered strings: see ranges.h.
 *
 * What the application registers is kept in a mapping of its own, which a forked child inherits,
 * since it holds the addresses. It only grows; each text is there once, and a handle that we did not
 * give out is no text.
 *
 * On the threads of the application: lock-free, no allocation, no wait.
 */
#include <string.h>
#include <sys/mman.h>
#include <wchar.h>

#include "libintercept/hooks.h"
#include "libintercept/ranges.h"

#define TEXTS_BYTES (256u * 1024u)

static _Atomic(uint8_t *) the_texts;
static _Atomic uint64_t texts_used;

bool wt_range_texts_begin(void)
{
	uint8_t *none = NULL, *texts;

	if (atomic_load(&the_texts))
		return true;
	texts = wt_ranges_map(TEXTS_BYTES, false);
	if (texts && !atomic_compare_exchange_strong(&the_texts, &none, texts))
		munmap(texts, TEXTS_BYTES);
	return atomic_load(&the_texts) != NULL;
}

void wt_range_cut(struct wt_range_copy *text)
{
	text->is_cut = 1;
	while (text->length && ((uint8_t)text->bytes[text->length] & 0xc0) == 0x80)
		text->length--;
}

static void take_ascii(struct wt_range_copy *text, const char *from)
{
	size_t length = strnlen(from, WT_RANGE_TEXT_BYTES + 1);

	text->length = (uint8_t)(length < WT_RANGE_TEXT_BYTES ? length : WT_RANGE_TEXT_BYTES - 1);
	memcpy(text->bytes, from, length < WT_RANGE_TEXT_BYTES ? length : WT_RANGE_TEXT_BYTES);
	if (length >= WT_RANGE_TEXT_BYTES)
		wt_range_cut(text);
}

static size_t utf8(uint32_t c, char out[4])
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		c = 0xfffd;
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

static void take_unicode(struct wt_range_copy *text, const wchar_t *from)
{
	char bytes[4];

	for (; *from; from++) {
		size_t count = utf8((uint32_t)*from, bytes);

		if (text->length + count >= WT_RANGE_TEXT_BYTES) {
			text->is_cut = 1;
			return;
		}
		memcpy(text->bytes + text->length, bytes, count);
		text->length = (uint8_t)(text->length + count);
	}
}

/* Is it surely one of the texts that we gave out? */
static bool is_kept(const void *text)
{
	const uint8_t *texts = atomic_load_explicit(&the_texts, memory_order_acquire);
	uintptr_t offset = (uintptr_t)text - (uintptr_t)texts;

	return texts && offset < TEXTS_BYTES && offset % sizeof(struct wt_range_copy) == 0 &&
	       offset + sizeof(struct wt_range_copy) <= wt_load_acquire(&texts_used);
}

void wt_range_take(struct wt_range_copy *text, enum wt_range_text how, const void *from)
{
	text->length = text->is_cut = 0;
	if (!from)
		return;
	if (how == WT_RANGE_TEXT_ASCII)
		take_ascii(text, from);
	else if (how == WT_RANGE_TEXT_UNICODE)
		take_unicode(text, from);
	else if (how == WT_RANGE_TEXT_KEPT && is_kept(from))
		memcpy(text, from, sizeof(*text));
}

/* Given out when there is no room: no text. Not among the kept ones. */
static const struct wt_range_copy no_text;

const void *wt_range_keep_text(enum wt_range_text how, const void *text)
{
	uint8_t *texts = atomic_load_explicit(&the_texts, memory_order_acquire);
	struct wt_range_copy copy = {0};
	uint64_t used;

	wt_range_take(&copy, how, text);
	if (!texts || !copy.length)
		return &no_text;
	used = wt_load_acquire(&texts_used);
	do {
		/* Slots before `used` may still be in the making: then a text is there twice. */
		for (uint64_t at = 0; at < used; at += sizeof(copy))
			if (!memcmp(texts + at, &copy, sizeof(copy)))
				return texts + at;
		if (used + sizeof(copy) > TEXTS_BYTES)
			return &no_text;
	} while (!atomic_compare_exchange_strong(&texts_used, &used, used + sizeof(copy)));
	memcpy(texts + used, &copy, sizeof(copy));
	return texts + used;
}
