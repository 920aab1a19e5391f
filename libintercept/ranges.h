/*
 * ranges.h - open ranges of this process, and the records that they become: between nvtx.c,
 * ranges.c and the life of the segment.
 *
 * All but wt_ranges_begin() run on the threads of the application: lock-free, no system call, no
 * allocation, no wait.
 */
#ifndef WT_RANGES_H
#define WT_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/wt_segment.h"

struct wt_view;

/* How a text is given; the numbers are NVTX's message types. */
enum wt_range_text {
	WT_RANGE_TEXT_NONE = 0,
	WT_RANGE_TEXT_ASCII = 1, /* const char *, UTF-8 */
	WT_RANGE_TEXT_UNICODE = 2, /* const wchar_t * */
	WT_RANGE_TEXT_KEPT = 3, /* what wt_range_keep_text() gave */
};

/* A text as records have it. */
struct wt_range_copy {
	uint8_t length;
	uint8_t is_cut;
	char bytes[WT_RANGE_TEXT_BYTES];
};

/* Maps what ranges need, once; false: no memory, and none will be recorded. */
bool wt_ranges_begin(void);

/*
 * Ranges nest within a thread and a domain; NULL is the default domain. The level from 0 of the
 * range that begins or ends; -1 for a pop without its push, or where nothing is recorded.
 */
int wt_range_push(const void *domain, enum wt_range_text how, const void *text);
int wt_range_pop(const void *domain);

/* The id to end it with, from any thread; never 0. */
uint64_t wt_range_start(const void *domain, enum wt_range_text how, const void *text);
void wt_range_end(uint64_t id);

/* A copy of a text, each text once, that stays valid also in a forked child. Never NULL. */
const void *wt_range_keep_text(enum wt_range_text how, const void *text);

/* ---- between ranges.c and range_text.c */

void wt_range_take(struct wt_range_copy *text, enum wt_range_text how, const void *from);
/* Cuts before a character that would not be whole. */
void wt_range_cut(struct wt_range_copy *text);
bool wt_range_texts_begin(void);
/* Zeroed private memory, which fork wipes or not; NULL: none. */
void *wt_ranges_map(size_t bytes, bool is_wiped);

/* ---- the life of the segment */

/* Once the segment exists, and again before the process says that it has finished: counts what was
 * counted before there was a segment. */
void wt_ranges_move_early(struct wt_view *view);

/* At exit: what is still open becomes records without an end. */
void wt_ranges_finish(struct wt_view *view);

#endif /* WT_RANGES_H */
