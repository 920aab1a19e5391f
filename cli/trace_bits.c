/*
 * trace_bits.c - see trace_impl.h: sets of launches, a bit each. Pure but for memory; single-threaded.
 */
#include <errno.h>
#include <stdlib.h>

#include "cli/report_sql.h"
#include "cli/trace_impl.h"

#define PAGE_BITS 12 /* 64 words */
#define PROCESS_SHIFT 44
#define NUMBER_MAX (INT64_C(1) << 40) /* of a set, and of a flow */

static bool is_sound(size_t process_at, int64_t number)
{
	return number >= 0 && number < NUMBER_MAX && process_at < (1u << 20);
}

static uint64_t page_key(size_t process_at, int64_t number)
{
	return (uint64_t)process_at << PROCESS_SHIFT | (uint64_t)number >> PAGE_BITS;
}

bool wt_trace_bits_get(const struct wt_trace_bits *bits, size_t process_at, int64_t number)
{
	uint32_t page;

	if (!is_sound(process_at, number))
		return false;
	page = wt_map_get(&bits->page_at, page_key(process_at, number));
	return page != WT_MAP_NONE && bits->pages[page][number >> 6 & 63] >> (number & 63) & 1;
}

int wt_trace_bits_set(struct wt_trace_bits *bits, size_t process_at, int64_t number)
{
	uint64_t key = page_key(process_at, number);
	uint32_t page;

	if (!is_sound(process_at, number))
		return 0;
	page = wt_map_get(&bits->page_at, key);
	if (page == WT_MAP_NONE) {
		page = (uint32_t)bits->page_count;
		if (!wt_report_append(&bits->pages, &bits->page_count, sizeof(*bits->pages)) ||
		    wt_map_set(&bits->page_at, key, page))
			return -ENOMEM;
	}
	bits->pages[page][number >> 6 & 63] |= UINT64_C(1) << (number & 63);
	return 0;
}

void wt_trace_bits_fini(struct wt_trace_bits *bits)
{
	free(bits->pages);
	wt_map_fini(&bits->page_at);
	*bits = (struct wt_trace_bits){0};
}

uint64_t wt_trace_flow(size_t process_at, int64_t seq, bool is_graph)
{
	if (!is_sound(process_at, seq))
		return 0;
	return ((uint64_t)process_at + 1) << 42 | (uint64_t)seq << 1 | is_graph;
}
