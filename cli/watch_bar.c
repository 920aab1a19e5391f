/*
 * watch_bar.c - see watch_bar.h. Pure; any thread.
 */
#include <string.h>

#include "cli/watch_bar.h"

static double value_of(const struct wt_bar_part *part)
{
	return part->value > 0 && part->value < 1e300 ? part->value : 0;
}

void wt_bar_layout(const struct wt_bar_part *parts, size_t count, unsigned width,
                   unsigned *ret_columns)
{
	double rest[WT_BAR_PARTS_MAX], whole = 0;
	unsigned used = 0;

	memset(ret_columns, 0, count * sizeof(*ret_columns));
	if (count > WT_BAR_PARTS_MAX || width > WT_BAR_COLUMNS_MAX)
		return;
	for (size_t i = 0; i < count; i++)
		whole += value_of(&parts[i]);
	if (whole <= 0)
		return;
	for (size_t i = 0; i < count; i++) {
		double share = value_of(&parts[i]) / whole * width;

		ret_columns[i] = (unsigned)share;
		rest[i] = share - ret_columns[i];
		used += ret_columns[i];
	}
	/* A rounding up too many can only come from sums that are not exact. */
	for (size_t i = count; i-- > 0 && used > width;)
		if (ret_columns[i] && rest[i] <= 0) {
			ret_columns[i]--;
			used--;
		}
	while (used < width) {
		size_t most = 0;

		for (size_t i = 1; i < count; i++)
			if (rest[i] > rest[most])
				most = i;
		ret_columns[most]++;
		rest[most] = -1;
		used++;
	}
}

char *wt_bar_text(const struct wt_bar_part *part, unsigned columns, bool is_utf8,
                  char text[WT_BAR_TEXT_BYTES])
{
	static const char *const shades[] = {
	        [WT_BAR_FULL] = "\u2588", [WT_BAR_DARK] = "\u2593", [WT_BAR_LIGHT] = "\u2591"};
	const char letter[] = {part->letter, '\0'};
	const char *fill = is_utf8 ? shades[part->shade] : letter;
	size_t length = strlen(part->name);
	char *at = text;
	unsigned i = 0;

	*at = '\0';
	if (columns > WT_BAR_COLUMNS_MAX)
		return text;
	if (part->shade == WT_BAR_FULL && is_utf8)
		length = 0;
	/* The name, and a column at least that shows how the rest is filled. */
	if (length && length + 2 <= columns) {
		at = stpcpy(at, part->name);
		i = (unsigned)length;
		if (!is_utf8) {
			at = stpcpy(at, " ");
			i++;
		}
	} else if (length && columns) {
		at = stpcpy(at, letter);
		i = 1;
	}
	for (; i < columns; i++)
		at = stpcpy(at, fill);
	return text;
}
