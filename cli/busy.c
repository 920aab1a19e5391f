/*
 * busy.c - see busy.h. Pure; one thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/busy.h"

int wt_busy_init(struct wt_busy *busy, size_t capacity)
{
	memset(busy, 0, sizeof(*busy));
	busy->kept = calloc(capacity, sizeof(*busy->kept));
	busy->capacity = capacity;
	busy->forgotten_end = INT64_MIN;
	return busy->kept ? 0 : -ENOMEM;
}

void wt_busy_fini(struct wt_busy *busy)
{
	free(busy->kept);
	busy->kept = NULL;
}

/* Makes room by summing up the older half. */
static void forget_half(struct wt_busy *busy)
{
	size_t half = busy->count / 2;

	for (size_t i = 0; i < half; i++)
		busy->forgotten_ns += busy->kept[i].end_ns - busy->kept[i].start_ns;
	busy->forgotten_end = busy->kept[half - 1].end_ns;
	busy->count -= half;
	memmove(busy->kept, busy->kept + half, busy->count * sizeof(*busy->kept));
}

/* The first kept interval that ends at `ns` or later: from the end, where it nearly always is. */
static size_t find_end(const struct wt_busy *busy, int64_t ns)
{
	size_t low = 0, high = busy->count;
	size_t step = 1;

	while (high > 0 && busy->kept[high - 1].end_ns >= ns) {
		if (step > high)
			step = high;
		if (busy->kept[high - step].end_ns < ns) {
			low = high - step;
			break;
		}
		high -= step;
		step *= 2;
	}
	if (high == 0 || busy->kept[high - 1].end_ns < ns)
		return high;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (busy->kept[middle].end_ns < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void wt_busy_add(struct wt_busy *busy, int64_t start_ns, int64_t end_ns)
{
	struct wt_busy_interval new = {start_ns, end_ns};
	size_t from, to;

	if (end_ns <= start_ns)
		return;
	if (start_ns < busy->forgotten_end) {
		busy->is_late = true;
		return;
	}
	if (busy->count == busy->capacity) {
		forget_half(busy);
		if (start_ns < busy->forgotten_end) {
			busy->is_late = true;
			return;
		}
	}
	/* [from, to) touch the new one and become part of it. */
	from = find_end(busy, start_ns);
	for (to = from; to < busy->count && busy->kept[to].start_ns <= end_ns; to++) {
		if (busy->kept[to].start_ns < new.start_ns)
			new.start_ns = busy->kept[to].start_ns;
		if (busy->kept[to].end_ns > new.end_ns)
			new.end_ns = busy->kept[to].end_ns;
	}
	memmove(busy->kept + from + 1, busy->kept + to, (busy->count - to) * sizeof(*busy->kept));
	busy->kept[from] = new;
	busy->count += 1 + from;
	busy->count -= to;
}

int64_t wt_busy_ns(const struct wt_busy *busy)
{
	int64_t sum_ns = busy->forgotten_ns;

	for (size_t i = 0; i < busy->count; i++)
		sum_ns += busy->kept[i].end_ns - busy->kept[i].start_ns;
	return sum_ns;
}
