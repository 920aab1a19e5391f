/*
 * kernel_match.c - see kernel_match.h. Pure but for memory; any thread.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/kernel_match.h"

#define NAME_WEIGHT 0.5
#define GEOMETRY_WEIGHT 0.2
#define ORDER_WEIGHT 0.2
#define LAUNCHES_WEIGHT 0.1
#define ANCHORS_LEAST 3
#define ORDER_FAR 0.25 /* of the step: no more likeness */
#define HASH_DIGITS_LEAST 6

/* ---- names */

/* What stands in pairs of < > and ( ) goes; "operator<" and the like are rare in kernels and lose a tail. */
static size_t drop_arguments(const char *name, char *text, size_t text_bytes)
{
	size_t used = 0, depth = 0;

	for (const char *p = name; *p && used + 1 < text_bytes; p++) {
		if (*p == '(' && !strncmp(p, "(anonymous namespace)", 21)) {
			p += 20;
			continue;
		}
		if (*p == '<' || *p == '(')
			depth++;
		else if ((*p == '>' || *p == ')') && depth)
			depth--;
		else if (!depth)
			text[used++] = *p;
	}
	text[used] = '\0';
	return used;
}

/* Does the word, up to `end`, look like a hash: hexadecimal, with a digit and long enough? */
static bool is_hash(const char *word, const char *end)
{
	bool has_digit = false;

	if (end - word < HASH_DIGITS_LEAST)
		return false;
	for (; word < end; word++) {
		if (!isxdigit((unsigned char)*word))
			return false;
		has_digit |= isdigit((unsigned char)*word) != 0;
	}
	return has_digit;
}

/* 128x64, 128x64x32: numbers with x between them. */
static bool is_tile(const char *word, const char *end)
{
	bool has_x = false, was_digit = false;

	for (; word < end; word++) {
		if (*word == 'x' && was_digit) {
			has_x = true;
			was_digit = false;
		} else if (isdigit((unsigned char)*word)) {
			was_digit = true;
		} else {
			return false;
		}
	}
	return has_x && was_digit;
}

static bool is_number(const char *word, const char *end)
{
	for (; word < end; word++)
		if (!isdigit((unsigned char)*word))
			return false;
	return true;
}

void wt_match_plain_name(const char *name, char plain[WT_MATCH_NAME_BYTES])
{
	char text[4 * WT_MATCH_NAME_BYTES] = "";
	size_t used = 0;

	drop_arguments(name, text, sizeof(text));
	for (const char *p = text; *p && used + 1 < WT_MATCH_NAME_BYTES;) {
		const char *end = p;

		while (isalnum((unsigned char)*end))
			end++;
		if (end == p) {
			plain[used++] = *p++;
			continue;
		}
		if (is_tile(p, end) || is_hash(p, end) || is_number(p, end)) {
			plain[used++] = '#';
			p = end;
			continue;
		}
		while (p < end && used + 1 < WT_MATCH_NAME_BYTES)
			plain[used++] = *p++;
		p = end;
	}
	/* "add_7", "add_7d" and "add" are one: numbers at the end are the compiler's. */
	while (used > 1 &&
	       (plain[used - 1] == '#' || plain[used - 1] == '_' || plain[used - 1] == ' '))
		used--;
	plain[used] = '\0';
}

static double edit_likeness(const char *a, const char *b)
{
	size_t la = strlen(a), lb = strlen(b), row[WT_MATCH_NAME_BYTES];

	if (!la || !lb)
		return 0;
	for (size_t k = 0; k <= lb; k++)
		row[k] = k;
	for (size_t i = 1; i <= la; i++) {
		size_t corner = row[0];

		row[0] = i;
		for (size_t k = 1; k <= lb; k++) {
			size_t other = corner + (a[i - 1] != b[k - 1]);

			corner = row[k];
			if (row[k] + 1 < other)
				other = row[k] + 1;
			if (row[k - 1] + 1 < other)
				other = row[k - 1] + 1;
			row[k] = other;
		}
	}
	return 1 - (double)row[lb] / (double)(la > lb ? la : lb);
}

/* ---- the same names */

struct named {
	const char *name;
	size_t at;
};

static int by_name(const void *left, const void *right)
{
	const struct named *a = left, *b = right;
	int order = strcmp(a->name, b->name);

	return order ? order : a->at < b->at ? -1 : a->at > b->at;
}

static void pair(struct wt_match_kernel *before, size_t i, struct wt_match_kernel *after, size_t k,
                 const struct wt_match_kernel *scores)
{
	struct wt_match_kernel *two[] = {&before[i], &after[k]};

	for (int side = 0; side < 2; side++) {
		two[side]->how = scores->how;
		two[side]->score = scores->score;
		two[side]->name_score = scores->name_score;
		two[side]->geometry_score = scores->geometry_score;
		two[side]->order_score = scores->order_score;
	}
	before[i].partner = k;
	after[k].partner = i;
}

static struct named *sort_names(const struct wt_match_kernel *kernels, size_t count)
{
	struct named *names = calloc(count + 1, sizeof(*names));

	if (!names)
		return NULL;
	for (size_t i = 0; i < count; i++)
		names[i] = (struct named){kernels[i].name, i};
	qsort(names, count, sizeof(*names), by_name);
	return names;
}

static int match_names(struct wt_match_kernel *before, size_t before_count,
                       struct wt_match_kernel *after, size_t after_count)
{
	static const struct wt_match_kernel same = {
	        .how = WT_MATCH_NAME,
	        .score = 1,
	        .name_score = 1,
	        .geometry_score = 1,
	        .order_score = 1,
	};
	struct named *a = sort_names(before, before_count), *b = sort_names(after, after_count);

	for (size_t i = 0, k = 0; a && b && i < before_count && k < after_count;) {
		int order = strcmp(a[i].name, b[k].name);

		if (!order)
			pair(before, a[i].at, after, b[k].at, &same);
		i += order <= 0;
		k += order >= 0;
	}
	free(a);
	free(b);
	return a && b ? 0 : -ENOMEM;
}

/* ---- others */

struct candidate {
	size_t at; /* of the kernel in its side */
	char plain[WT_MATCH_NAME_BYTES];
	double order; /* 0 to 1 */
};

struct candidates {
	struct candidate *at;
	size_t count;
};

static int by_weight(const void *left, const void *right, void *context)
{
	const struct wt_match_kernel *kernels = context;
	const struct candidate *a = left, *b = right;
	double x = kernels[a->at].weight, y = kernels[b->at].weight;

	if (x != y)
		return x > y ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

/* Where it comes among those that have their name in common, and how many these are. */
static double order_of(const struct wt_match_kernel *kernels, size_t count, double place)
{
	size_t anchors = 0, earlier = 0;

	for (size_t i = 0; i < count; i++) {
		if (kernels[i].how != WT_MATCH_NAME)
			continue;
		anchors++;
		earlier += kernels[i].place < place;
	}
	return anchors < ANCHORS_LEAST ? place : (double)earlier / (double)anchors;
}

static int gather(const struct wt_match_kernel *kernels, size_t count, struct candidates *ret)
{
	struct candidates found = {calloc(count + 1, sizeof(*found.at)), 0};

	if (!found.at)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (kernels[i].how == WT_MATCH_NONE)
			found.at[found.count++].at = i;
	qsort_r(found.at, found.count, sizeof(*found.at), by_weight, (void *)kernels);
	if (found.count > WT_MATCH_MOST)
		found.count = WT_MATCH_MOST;
	for (size_t i = 0; i < found.count; i++) {
		const struct wt_match_kernel *kernel = &kernels[found.at[i].at];

		wt_match_plain_name(kernel->name, found.at[i].plain);
		found.at[i].order = order_of(kernels, count, kernel->place);
	}
	*ret = found;
	return 0;
}

/* 1 for equal ones, 0 from `times` times as many on. */
static double ratio_likeness(double a, double b, double times)
{
	double apart;

	if (a <= 0 || b <= 0)
		return a == b;
	apart = fabs(log(a / b)) / log(times);
	return apart < 1 ? 1 - apart : 0;
}

static struct wt_match_kernel score(const struct wt_match_kernel *a, const struct candidate *one,
                                    const struct wt_match_kernel *b, const struct candidate *other)
{
	double apart = fabs(one->order - other->order) / ORDER_FAR;
	struct wt_match_kernel scores = {
	        .how = strcmp(one->plain, other->plain) ? WT_MATCH_ALIKE : WT_MATCH_RENAMED,
	        .name_score = edit_likeness(one->plain, other->plain),
	        .geometry_score = 0.5 * ratio_likeness(a->threads, b->threads, 4) +
	                          0.5 * ratio_likeness(a->blocks, b->blocks, 16),
	        .order_score = apart < 1 ? 1 - apart : 0,
	};

	scores.score = NAME_WEIGHT * scores.name_score + GEOMETRY_WEIGHT * scores.geometry_score +
	               ORDER_WEIGHT * scores.order_score +
	               LAUNCHES_WEIGHT * ratio_likeness(a->launches, b->launches, 4);
	if (scores.name_score < WT_MATCH_NAME_LEAST || scores.score < WT_MATCH_SCORE_LEAST)
		scores.score = 0;
	return scores;
}

/* ---- the same name but for what a compiler chooses, in order */

struct sorting {
	const struct wt_match_kernel *kernels;
};

static int by_plain(const void *left, const void *right, void *context)
{
	const struct sorting *sorting = context;
	const struct candidate *a = left, *b = right;
	double x = sorting->kernels[a->at].place, y = sorting->kernels[b->at].place;
	int order = strcmp(a->plain, b->plain);

	if (order)
		return order;
	if (x != y)
		return x < y ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

/* How many from `first` on have its name. */
static size_t same_plain(const struct candidates *side, size_t first)
{
	size_t count = 1;

	while (first + count < side->count &&
	       !strcmp(side->at[first].plain, side->at[first + count].plain))
		count++;
	return count;
}

/* The n of one name on each side: all pairs, or none. */
static void pair_in_order(struct wt_match_kernel *before, struct wt_match_kernel *after,
                          const struct candidate *a, const struct candidate *b, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct wt_match_kernel one = score(&before[a[i].at], &a[i], &after[b[i].at], &b[i]);

		if (one.score <= 0 || one.geometry_score < WT_MATCH_GEOMETRY_LEAST)
			return;
	}
	for (size_t i = 0; i < n; i++) {
		struct wt_match_kernel one = score(&before[a[i].at], &a[i], &after[b[i].at], &b[i]);

		pair(before, a[i].at, after, b[i].at, &one);
	}
}

static void match_renamed(struct wt_match_kernel *before, struct wt_match_kernel *after,
                          struct candidates *a, struct candidates *b)
{
	struct sorting of_a = {before}, of_b = {after};

	qsort_r(a->at, a->count, sizeof(*a->at), by_plain, &of_a);
	qsort_r(b->at, b->count, sizeof(*b->at), by_plain, &of_b);
	for (size_t i = 0, k = 0; i < a->count && k < b->count;) {
		int order = strcmp(a->at[i].plain, b->at[k].plain);
		size_t in_a = same_plain(a, i), in_b = same_plain(b, k);

		if (!order && in_a == in_b)
			pair_in_order(before, after, &a->at[i], &b->at[k], in_a);
		i += order <= 0 ? in_a : 0;
		k += order >= 0 ? in_b : 0;
	}
}

/* ---- whatever is alike */

struct scored {
	size_t i, k; /* candidates */
	struct wt_match_kernel scores;
};

static int by_score(const void *left, const void *right)
{
	const struct scored *a = left, *b = right;

	if (a->scores.score != b->scores.score)
		return a->scores.score > b->scores.score ? -1 : 1;
	if (a->i != b->i)
		return a->i < b->i ? -1 : 1;
	return a->k < b->k ? -1 : a->k > b->k;
}

/* Is another pair with one of the two as good, both of its kernels being free? */
static bool has_rival(const struct scored *pairs, size_t count, size_t at,
                      const struct wt_match_kernel *before, const struct wt_match_kernel *after,
                      const struct candidates *a, const struct candidates *b)
{
	const struct scored *one = &pairs[at];

	for (size_t i = 0; i < count; i++) {
		const struct scored *other = &pairs[i];

		if (one->scores.score - other->scores.score > WT_MATCH_APART)
			break;
		if (i == at || (other->i != one->i && other->k != one->k))
			continue;
		if (before[a->at[other->i].at].how != WT_MATCH_NONE ||
		    after[b->at[other->k].at].how != WT_MATCH_NONE)
			continue;
		return true;
	}
	return false;
}

static int match_others(struct wt_match_kernel *before, struct wt_match_kernel *after,
                        const struct candidates *a, const struct candidates *b)
{
	struct scored *pairs = calloc(a->count * b->count + 1, sizeof(*pairs));
	size_t count = 0;

	if (!pairs)
		return -ENOMEM;
	for (size_t i = 0; i < a->count; i++)
		for (size_t k = 0; k < b->count; k++) {
			if (before[a->at[i].at].how != WT_MATCH_NONE ||
			    after[b->at[k].at].how != WT_MATCH_NONE)
				continue;
			pairs[count] = (struct scored){i, k,
			                               score(&before[a->at[i].at], &a->at[i],
			                                     &after[b->at[k].at], &b->at[k])};
			count += pairs[count].scores.score > 0;
		}
	qsort(pairs, count, sizeof(*pairs), by_score);
	for (size_t i = 0; i < count; i++) {
		size_t one = a->at[pairs[i].i].at, other = b->at[pairs[i].k].at;

		if (before[one].how != WT_MATCH_NONE || after[other].how != WT_MATCH_NONE ||
		    has_rival(pairs, count, i, before, after, a, b))
			continue;
		pair(before, one, after, other, &pairs[i].scores);
	}
	free(pairs);
	return 0;
}

static void begin(struct wt_match_kernel *kernels, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		kernels[i].partner = SIZE_MAX;
		kernels[i].how = WT_MATCH_NONE;
		kernels[i].score = kernels[i].name_score = 0;
		kernels[i].geometry_score = kernels[i].order_score = 0;
	}
}

int wt_kernel_match(struct wt_match_kernel *before, size_t before_count,
                    struct wt_match_kernel *after, size_t after_count)
{
	struct candidates a = {0}, b = {0};
	int rc;

	begin(before, before_count);
	begin(after, after_count);
	rc = match_names(before, before_count, after, after_count);
	if (!rc)
		rc = gather(before, before_count, &a);
	if (!rc)
		rc = gather(after, after_count, &b);
	if (!rc && a.count && b.count) {
		match_renamed(before, after, &a, &b);
		rc = match_others(before, after, &a, &b);
	}
	free(a.at);
	free(b.at);
	return rc;
}
