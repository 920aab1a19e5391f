/*
 * demangle_text.c - see demangle_impl.h: the arena and the scanner.
 *
 * Threads: any, no state. Never blocks.
 */
#include <ctype.h>
#include <errno.h>

#include "cli/demangle_impl.h"

void wt_dm_fail(struct demangler *d, int error)
{
	if (!d->error)
		d->error = error;
	d->at = ""; /* every loop below ends at the end of the text */
}

struct str wt_dm_join(struct demangler *d, const struct str *parts, size_t count)
{
	struct str all = {d->arena + d->used, 0};

	for (size_t i = 0; i < count; i++) {
		if (parts[i].n > d->size - d->used) {
			wt_dm_fail(d, -E2BIG);
			return lit("");
		}
		if (parts[i].n)
			memcpy(d->arena + d->used, parts[i].p, parts[i].n);
		d->used += parts[i].n;
		all.n += parts[i].n;
	}
	return all;
}

bool wt_dm_take(struct demangler *d, char c)
{
	if (*d->at != c)
		return false;
	d->at++;
	return true;
}

void wt_dm_want(struct demangler *d, char c)
{
	if (!wt_dm_take(d, c))
		wt_dm_fail(d, -EINVAL);
}

bool wt_dm_enter(struct demangler *d)
{
	if (d->depth >= DEPTH_MAX)
		wt_dm_fail(d, -E2BIG);
	else
		d->depth++;
	return !d->error;
}

struct str wt_dm_whole(struct demangler *d, struct type t)
{
	return t.right.n ? JOIN(d, t.left, t.right) : t.left;
}

void wt_dm_remember(struct demangler *d, struct type t)
{
	if (d->subst_count < d->subst_capacity)
		d->subst[d->subst_count++] = t;
	else
		wt_dm_fail(d, -E2BIG);
}

size_t wt_dm_parse_number(struct demangler *d)
{
	size_t n = 0;

	if (!isdigit((unsigned char)*d->at))
		wt_dm_fail(d, -EINVAL);
	for (; isdigit((unsigned char)*d->at); d->at++) {
		n = n * 10 + (size_t)(*d->at - '0');
		if (n > ARENA_MAX_BYTES) {
			wt_dm_fail(d, -E2BIG);
			return 0; /* d->at must not move on from the empty text */
		}
	}
	return n;
}

/* "_" is 0, "0_" is 1, ...: for lambdas and T_. Substitutions count in base 36. */
size_t wt_dm_parse_seq(struct demangler *d, unsigned base)
{
	size_t n = 0;

	if (wt_dm_take(d, '_'))
		return 0;
	for (; isdigit((unsigned char)*d->at) || (base == 36 && isupper((unsigned char)*d->at));
	     d->at++) {
		n = n * base + (size_t)(*d->at <= '9' ? *d->at - '0' : *d->at - 'A' + 10);
		if (n > ARENA_MAX_BYTES) {
			wt_dm_fail(d, -E2BIG);
			return 0; /* d->at must not move on from the empty text */
		}
	}
	wt_dm_want(d, '_');
	return n + 1;
}

struct str wt_dm_parse_source_name(struct demangler *d)
{
	size_t n = wt_dm_parse_number(d);
	struct str s = {d->at, n};

	if (n == 0 || strnlen(d->at, n) < n) {
		wt_dm_fail(d, -EINVAL);
		return lit("");
	}
	d->at += n;
	if (n >= 10 && !memcmp(s.p, "_GLOBAL__N", 10))
		return lit("(anonymous namespace)");
	return s;
}
