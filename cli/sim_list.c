/*
 * sim_list.c - lists, ranges and products of whole numbers on the command line of
 * `wavetap simulate`. See simulate.h.
 *
 * Single-threaded: messages go to stderr.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/simulate.h"

static bool read_number(const char *text, size_t length, uint64_t *ret_value)
{
	uint64_t value = 0;

	if (length == 0)
		return false;
	for (size_t i = 0; i < length; i++) {
		if (text[i] < '0' || text[i] > '9' ||
		    __builtin_mul_overflow(value, (uint64_t)10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(text[i] - '0'), &value))
			return false;
	}
	*ret_value = value;
	return true;
}

/* Length of the first part of text[0..length-1], which `separator` ends. */
static size_t part_length(const char *text, size_t length, char separator)
{
	const char *end = memchr(text, separator, length);

	return end ? (size_t)(end - text) : length;
}

int wt_sim_parse_product(const char *text, size_t length, uint64_t parts[3])
{
	int count = 0;

	for (;;) {
		size_t part = part_length(text, length, 'x');

		if (count == 3 || !read_number(text, part, &parts[count]) || parts[count] == 0)
			return -1;
		count++;
		if (part == length)
			return count;
		text += part + 1;
		length -= part + 1;
	}
}

static bool read_product(const char *text, size_t length, uint64_t *ret_value)
{
	uint64_t parts[3] = {1, 1, 1};
	int count = wt_sim_parse_product(text, length, parts);

	return count > 0 && !__builtin_mul_overflow(parts[0], parts[1], ret_value) &&
	       !__builtin_mul_overflow(*ret_value, parts[2], ret_value);
}

struct range {
	uint64_t first, last, step;
};

/* "7", "1:9" or "1:9:2". */
static bool read_range(const char *text, size_t length, bool has_products, struct range *range)
{
	size_t first = part_length(text, length, ':');
	size_t last;

	if (first == length) {
		range->step = 1;
		if (!(has_products ? read_product(text, length, &range->first)
		                   : read_number(text, length, &range->first)))
			return false;
		range->last = range->first;
		return true;
	}
	if (!read_number(text, first, &range->first))
		return false;
	text += first + 1;
	length -= first + 1;
	last = part_length(text, length, ':');
	if (!read_number(text, last, &range->last))
		return false;
	range->step = 1;
	return last == length || read_number(text + last + 1, length - last - 1, &range->step);
}

/* False when out of memory or beyond WT_SIM_ROWS_MAX. */
static bool add_range(struct wt_sim_list *list, const struct range *range)
{
	uint64_t count = (range->last - range->first) / range->step + 1;
	uint64_t *values;

	if (count == 0 || count > WT_SIM_ROWS_MAX - list->count) {
		errno = E2BIG;
		return false;
	}
	values = reallocarray(list->values, list->count + count, sizeof(*values));
	if (!values)
		return false;
	list->values = values;
	for (uint64_t i = 0; i < count; i++)
		list->values[list->count++] = range->first + i * range->step;
	return true;
}

int wt_sim_parse_list(const char *option, const char *text, bool has_products, uint64_t most,
                      struct wt_sim_list *ret_list)
{
	const char *at = text;

	ret_list->is_range = strpbrk(text, ",:") != NULL;
	for (;;) {
		size_t length = strcspn(at, ",");
		struct range range;

		if (!read_range(at, length, has_products, &range))
			return wt_cli_usage_error(
			        "simulate",
			        "--%s: \"%.*s\" is neither a number nor a range A:B[:STEP]", option,
			        (int)length, at);
		if (range.first < 1 || range.last > most || range.first > most)
			return wt_cli_usage_error("simulate",
			                          "--%s: \"%.*s\" is not from 1 to %llu", option,
			                          (int)length, at, (unsigned long long)most);
		if (range.last < range.first || range.step == 0)
			return wt_cli_usage_error("simulate", "--%s: \"%.*s\" is empty", option,
			                          (int)length, at);
		errno = 0;
		if (!add_range(ret_list, &range)) {
			if (errno == E2BIG)
				return wt_cli_usage_error("simulate", "--%s: more than %d values",
				                          option, WT_SIM_ROWS_MAX);
			wt_cli_error("out of memory");
			return WT_EXIT_FAILED;
		}
		if (!at[length])
			return WT_EXIT_FINE;
		at += length + 1;
	}
}
