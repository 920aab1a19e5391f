/*
 * shorten_span.c - see shorten_impl.h: pieces of a C++ name: brackets, paths, arguments.
 *
 * Threads: any, no state. Never blocks.
 */
#include <ctype.h>
#include <string.h>

#include "cli/shorten_impl.h"

void wt_ks_put_bytes(struct shortener *k, const char *p, size_t n)
{
	if (n > k->size - k->used)
		n = k->size - k->used;
	memcpy(k->out + k->used, p, n);
	k->used += n;
}

void wt_ks_put(struct shortener *k, const char *text)
{
	wt_ks_put_bytes(k, text, strlen(text));
}

bool wt_ks_span_is(const struct shortener *k, struct span a, const char *text)
{
	size_t n = strlen(text);

	return a.to - a.from == n && !memcmp(k->s + a.from, text, n);
}

bool wt_ks_span_starts(const struct shortener *k, struct span a, const char *text)
{
	size_t n = strlen(text);

	return a.to - a.from >= n && !memcmp(k->s + a.from, text, n);
}

bool wt_ks_span_ends(const struct shortener *k, struct span a, const char *text)
{
	size_t n = strlen(text);

	return a.to - a.from >= n && !memcmp(k->s + a.to - n, text, n);
}

bool wt_ks_span_is_any(const struct shortener *k, struct span a, const char *const *texts)
{
	for (; *texts; texts++)
		if (wt_ks_span_is(k, a, *texts))
			return true;
	return false;
}

struct span wt_ks_trim(const struct shortener *k, struct span a)
{
	while (a.from < a.to && k->s[a.from] == ' ')
		a.from++;
	while (a.to > a.from && k->s[a.to - 1] == ' ')
		a.to--;
	return a;
}

/* The next position at the same level: past the bracket pair that opens at `i`, if one does. */
size_t wt_ks_step(const struct shortener *k, size_t i)
{
	return k->match[i] ? (size_t)k->match[i] + 1 : i + 1;
}

/* Length of "operator()" and the like at `i`, whose brackets pair with nothing; else 0. */
static size_t operator_length(const char *s, size_t i, size_t n)
{
	size_t end = i + 8;

	if (n - i < 9 || memcmp(s + i, "operator", 8) != 0)
		return 0;
	if (n - end >= 2 && (!memcmp(s + end, "()", 2) || !memcmp(s + end, "[]", 2)))
		return 10;
	while (end < n && strchr("<>=-+*/%!&|^~", s[end]) && s[end])
		end++;
	return end - i;
}

/* Pairs brackets. A closing one that fits no open one, or only across others, stays plain. */
void wt_ks_pair_brackets(struct shortener *k, size_t n, uint32_t *stack)
{
	size_t top = 0;

	for (size_t i = 0; i < n; i++) {
		char c = k->s[i], open;
		size_t skip = c == 'o' ? operator_length(k->s, i, n) : 0;

		if (skip > 8) {
			i += skip - 1;
			continue;
		}
		if (c == '(' || c == '<' || c == '[' || c == '{') {
			stack[top++] = (uint32_t)i;
			continue;
		}
		if ((c != ')' && c != '>' && c != ']' && c != '}') ||
		    (c == '>' && i && k->s[i - 1] == '-'))
			continue;
		open = (char)(c == ')' ? '(' : c == '>' ? '<' : c == ']' ? '[' : '{');
		while (c != '>' && top && k->s[stack[top - 1]] == '<' && open != '<')
			top--; /* a less-than sign in an expression */
		if (top && k->s[stack[top - 1]] == open)
			k->match[stack[--top]] = (uint32_t)i;
	}
}

bool wt_ks_is_anonymous(const struct shortener *k, struct span a)
{
	return wt_ks_span_starts(k, a, "(anonymous") || wt_ks_span_is(k, a, "<unnamed>") ||
	       wt_ks_span_starts(k, a, "_GLOBAL__N_");
}

/* Splits at "::". Of a path with too many parts the middle ones are left out. */
struct path wt_ks_split_path(const struct shortener *k, struct span a)
{
	struct path p = {.count = 0};
	size_t start = a.from;

	for (size_t i = a.from; i <= a.to;) {
		bool is_end = i >= a.to;

		if (!is_end && !(k->s[i] == ':' && i + 1 < a.to && k->s[i + 1] == ':')) {
			i = wt_ks_step(k, i);
			continue;
		}
		if (i > start) {
			if (p.count == PARTS_MAX)
				p.count--;
			p.parts[p.count++] = (struct span){start, is_end ? a.to : i};
		}
		i += 2;
		start = i;
	}
	return p;
}

/* "name<args>(params) const" -> the name alone, and where its argument list opens (0: none). */
struct span wt_ks_part_name(const struct shortener *k, struct span part, size_t *ret_args)
{
	size_t i = part.from, skip = operator_length(k->s, part.from, part.to);

	*ret_args = 0;
	for (i += skip; i < part.to && !(k->match[i] && i > part.from); i++)
		;
	if (i < part.to && k->s[i] == '<')
		*ret_args = i;
	return wt_ks_trim(k, (struct span){part.from, i});
}

bool wt_ks_part_has_params(const struct shortener *k, struct span part)
{
	for (size_t i = part.from; i < part.to; i = wt_ks_step(k, i))
		if (i > part.from && k->s[i] == '(' && k->match[i])
			return true;
	return false;
}

/* Next template argument after *at, which starts at the '<' and ends at its '>'. */
bool wt_ks_next_arg(const struct shortener *k, size_t list, size_t *at, struct span *ret)
{
	size_t end = k->match[list], i;

	if (*at >= end)
		return false;
	for (i = *at + 1; i < end && k->s[i] != ',';)
		i = wt_ks_step(k, i);
	if (i > end)
		i = end;
	*ret = wt_ks_trim(k, (struct span){*at + 1, i});
	*at = i;
	return true;
}

bool wt_ks_is_number(const struct shortener *k, struct span a)
{
	if (a.from < a.to && k->s[a.from] == '-')
		a.from++;
	return a.from < a.to && isdigit((unsigned char)k->s[a.from]);
}

void wt_ks_put_number(struct shortener *k, struct span a)
{
	while (a.to > a.from && strchr("ul", k->s[a.to - 1]))
		a.to--;
	wt_ks_put_bytes(k, k->s + a.from, a.to - a.from);
}

/* The last named part of a type's path, without arguments. */
struct span wt_ks_last_name(const struct shortener *k, struct span a, size_t *ret_args)
{
	struct path p = wt_ks_split_path(k, a);

	*ret_args = 0;
	return p.count ? wt_ks_part_name(k, p.parts[p.count - 1], ret_args) : a;
}

/* The 0 of "(ns::Enum)0". */
struct span wt_ks_after_cast(const struct shortener *k, struct span a)
{
	if (a.from < a.to && k->s[a.from] == '(' && k->match[a.from])
		a.from = (size_t)k->match[a.from] + 1;
	return a;
}
