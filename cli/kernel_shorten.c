/*
 * kernel_shorten.c - wt_kernel_name_shorten(): what of a C++ kernel name to show.
 *
 * The name is never parsed into a tree. Brackets are paired once; after that
 * every step works on spans of the text: find the function's name, drop return
 * type and parameters, split a path at "::" and an argument list at commas, and
 * write the parts worth keeping. Unpaired brackets count as plain characters,
 * nesting beyond DEPTH_MAX is shown as "..", so any input ends in bounded time.
 *
 * Threads: any, no state. Never blocks.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/kernel_name.h"
#include "cli/shorten_impl.h"

enum {
	DEPTH_MAX = 48,
	BRIEF_ARGS_MAX = 4, /* template arguments in brief */
	TRAITS_NUMBERS = 3, /* head size and tile of flash attention's traits */
};

static void put_type(struct shortener *k, struct span a);
static void put_path(struct shortener *k, struct span a, bool is_function);

/* cute's C<128> -> 128 */
static struct span constant_value(const struct shortener *k, struct span a)
{
	size_t args;
	struct span name = wt_ks_last_name(k, a, &args), value = a;

	if (args && wt_ks_span_is(k, name, "C")) {
		size_t at = args;

		wt_ks_next_arg(k, args, &at, &value);
	}
	return value;
}

/* A tuple of three or more numbers, such as a tile: written 128x128x64. */
static bool is_shape(const struct shortener *k, struct span a)
{
	size_t args, at, count = 0;
	struct span name = wt_ks_last_name(k, a, &args), arg;

	if (!args || !wt_ks_span_is(k, name, "tuple"))
		return false;
	for (at = args; wt_ks_next_arg(k, args, &at, &arg); count++)
		if (!wt_ks_is_number(k, constant_value(k, arg)))
			return false;
	return count >= 3;
}

static void put_shape(struct shortener *k, struct span a)
{
	size_t args, at;
	struct span arg;

	wt_ks_last_name(k, a, &args);
	for (at = args; wt_ks_next_arg(k, args, &at, &arg);) {
		wt_ks_put_number(k, constant_value(k, arg));
		wt_ks_put(k, k->s[at] == ',' ? "x" : "");
	}
}

/* The argument that a wrapper carries: the first that is neither number nor plain type. */
static bool carried(const struct shortener *k, size_t list, struct span *ret)
{
	struct span arg;

	for (size_t at = list; wt_ks_next_arg(k, list, &at, &arg);)
		if (!wt_ks_is_number(k, arg) && !wt_ks_data_type(k, arg) &&
		    !wt_ks_is_boring(k, arg) && !is_shape(k, arg)) {
			*ret = arg;
			return true;
		}
	return false;
}

/* Whether an argument is shown; `shown` are those before it. */
static bool is_kept(const struct shortener *k, struct span arg, const struct span *shown,
                    size_t shown_count)
{
	if (k->detail >= WT_KERNEL_NAME_NESTED ||
	    (k->detail == WT_KERNEL_NAME_ARGUMENTS && k->nesting == 0))
		return true;
	if (shown_count == BRIEF_ARGS_MAX || wt_ks_is_boring(k, arg))
		return false;
	if (wt_ks_is_number(k, arg))
		return k->nesting == 0;
	if (k->nesting > 1)
		return wt_ks_data_type(k, arg) || is_shape(k, arg);
	for (size_t i = 0; i < shown_count; i++)
		if (shown[i].to - shown[i].from == arg.to - arg.from &&
		    !memcmp(k->s + shown[i].from, k->s + arg.from, arg.to - arg.from))
			return false;
	return true;
}

static void put_args(struct shortener *k, size_t list)
{
	struct span shown[BRIEF_ARGS_MAX], arg;
	size_t shown_count = 0, at = list;
	bool has_any = false;

	while (wt_ks_next_arg(k, list, &at, &arg)) {
		if (!is_kept(k, arg, shown, shown_count))
			continue;
		wt_ks_put(k, has_any ? "," : "<");
		has_any = true;
		if (shown_count < BRIEF_ARGS_MAX)
			shown[shown_count++] = arg;
		k->nesting++;
		put_type(k, arg);
		k->nesting--;
	}
	if (has_any)
		wt_ks_put(k, ">");
}

/* Flash attention's traits: only the leading numbers, in place of the traits. */
static void put_traits(struct shortener *k, size_t list)
{
	struct span arg;
	size_t at = list;

	for (unsigned i = 0;
	     i < TRAITS_NUMBERS && wt_ks_next_arg(k, list, &at, &arg) && wt_ks_is_number(k, arg);
	     i++) {
		wt_ks_put(k, i ? "," : "");
		wt_ks_put_number(k, arg);
	}
}

/* "float const*" is shown as "float*", and in full detail as it is. */
static void put_type(struct shortener *k, struct span a)
{
	static const char *const marks[] = {" const", " volatile", "*", "&", " ", NULL};
	struct span base = a, name;
	const char *known;
	size_t args;

	if (k->depth >= DEPTH_MAX) {
		wt_ks_put(k, "..");
		return;
	}
	k->depth++;
	for (size_t i = 0; marks[i];)
		if (wt_ks_span_ends(k, base, marks[i])) {
			base.to -= strlen(marks[i]);
			i = 0;
		} else {
			i++;
		}
	known = wt_ks_data_type(k, base) ? wt_ks_data_type(k, base) : wt_ks_index_type(k, base);
	name = wt_ks_last_name(k, base, &args);
	if (known)
		wt_ks_put(k, known);
	else if (wt_ks_is_number(k, wt_ks_after_cast(k, base)))
		wt_ks_put_number(k, wt_ks_after_cast(k, base));
	else if (is_shape(k, base))
		put_shape(k, base);
	else if (base.from < base.to && k->s[base.from] == '&') /* the address of a function */
		wt_ks_put_bytes(k, k->s + base.from, base.to - base.from);
	else if (args && wt_ks_span_ends(k, name, "_kernel_traits") &&
	         k->detail < WT_KERNEL_NAME_NESTED)
		put_traits(k, args);
	else
		put_path(k, base, false);
	for (size_t i = base.to; i < a.to; i++)
		if (k->detail >= WT_KERNEL_NAME_NESTED || k->s[i] == '*' || k->s[i] == '&') {
			wt_ks_put_bytes(k, k->s + i, 1);
		} else if (k->s[i] == ' ') {
			while (i + 1 < a.to && isalpha((unsigned char)k->s[i + 1]))
				i++;
		}
	k->depth--;
}

static void put_part(struct shortener *k, struct span part, bool is_stripped)
{
	size_t args;
	struct span name = wt_ks_part_name(k, part, &args), inner;

	if (args && k->detail < WT_KERNEL_NAME_NESTED && wt_ks_is_wrapper(k, name) &&
	    carried(k, args, &inner)) {
		put_path(k, inner, true);
		return;
	}
	if (is_stripped)
		name = wt_ks_without_suffix(k, name);
	wt_ks_put_bytes(k, k->s + name.from, name.to - name.from);
	if (args)
		put_args(k, args);
}

static bool is_lambda(const struct shortener *k, struct span part)
{
	return part.from < part.to && k->s[part.from] == '{';
}

/* "(float)" of {lambda(float)#1}: it tells the data types apart. */
static void put_lambda_params(struct shortener *k, struct span lambda)
{
	size_t open = lambda.from, at;
	struct span arg;

	while (open < lambda.to && k->s[open] != '(')
		open++;
	if (open >= lambda.to || !k->match[open] || k->match[open] == open + 1)
		return;
	wt_ks_put(k, "(");
	for (at = open; wt_ks_next_arg(k, open, &at, &arg);) {
		put_type(k, arg);
		wt_ks_put(k, k->s[at] == ',' ? "," : "");
	}
	wt_ks_put(k, ")");
}

/*
 * A lambda reads as the function it stands in, plus what it takes. Lambdas in
 * lambdas are one per data type and level of dispatch: their numbers are kept
 * in nested detail only.
 */
static void put_lambda(struct shortener *k, const struct path *p, size_t core)
{
	size_t args;
	bool is_function = wt_ks_part_has_params(k, p->parts[core]);
	struct span name = wt_ks_part_name(k, p->parts[core], &args);

	put_part(k, p->parts[core], is_function);
	if (k->detail >= WT_KERNEL_NAME_NESTED) {
		for (size_t i = core + 1; i < p->count; i++)
			for (size_t j = p->parts[i].to;
			     is_lambda(k, p->parts[i]) && j-- > p->parts[i].from;)
				if (k->s[j] == '#') {
					wt_ks_put_bytes(k, k->s + j, p->parts[i].to - 1 - j);
					break;
				}
	}
	if (is_function && !wt_ks_is_wrapper(k, name))
		put_lambda_params(k, p->parts[p->count - 1]);
}

/* A path with parts worth keeping: a user's namespaces, or the class around a type. */
static void put_plain_path(struct shortener *k, const struct path *p, bool is_function)
{
	bool is_known = wt_ks_is_known_root(k, p);

	for (size_t i = 0; i + 1 < p->count; i++) {
		size_t args;

		wt_ks_part_name(k, p->parts[i], &args);
		if (wt_ks_is_anonymous(k, p->parts[i]) ||
		    (is_known && !args && !wt_ks_part_has_params(k, p->parts[i])))
			continue;
		put_part(k, p->parts[i], false);
		wt_ks_put(k, "::");
	}
	put_part(k, p->parts[p->count - 1], is_function && is_known);
}

static void put_path(struct shortener *k, struct span a, bool is_function)
{
	struct path p = wt_ks_split_path(k, a);
	size_t lambda, core;

	if (k->depth >= DEPTH_MAX) {
		wt_ks_put(k, "..");
		return;
	}
	k->depth++;
	for (lambda = 0; lambda < p.count && !is_lambda(k, p.parts[lambda]); lambda++)
		;
	for (core = lambda; core > 0 && wt_ks_span_starts(k, p.parts[core - 1], "operator()");
	     core--)
		;
	if (!p.count)
		wt_ks_put_bytes(k, k->s + a.from, a.to - a.from);
	else if (lambda < p.count && core > 0)
		put_lambda(k, &p, core - 1);
	else
		put_plain_path(k, &p, is_function);
	k->depth--;
}

/* True if the text at `i` is only what may follow a parameter list. */
static bool is_only_qualifiers(const struct shortener *k, size_t i, size_t end)
{
	static const char *const words[] = {" const", " volatile", " &&", " &", NULL};

	for (size_t w = 0; i < end && words[w];)
		if (wt_ks_span_starts(k, (struct span){i, end}, words[w])) {
			i += strlen(words[w]);
			w = 0;
		} else {
			w++;
		}
	return i == end;
}

/* The function's own path in "void ns::f<..>(int) const [clone .x]". */
static struct span function_path(const struct shortener *k, struct span a)
{
	size_t space = 0;

	for (size_t i = a.from; i < a.to; i = wt_ks_step(k, i)) {
		char c = k->s[i];

		if (c == ' ' && wt_ks_span_starts(k, (struct span){i, a.to}, " [clone "))
			a.to = i;
		else if (c == '(' && i > a.from && k->match[i] && k->s[i - 1] != ' ' &&
		         k->s[i - 1] != ':' && is_only_qualifiers(k, k->match[i] + 1, a.to))
			a.to = i;
		else if (c == ' ' && !wt_ks_span_starts(k, (struct span){i, a.to}, " const") &&
		         !wt_ks_span_starts(k, (struct span){i, a.to}, " volatile") &&
		         !(i >= a.from + 8 && !memcmp(k->s + i - 8, "operator", 8)))
			space = i + 1;
	}
	if (space > a.from && space < a.to)
		a.from = space;
	return a;
}

static bool looks_like_cpp(const struct shortener *k, size_t n)
{
	const char *open = strchr(k->s, '(');

	return strstr(k->s, "::") || strchr(k->s, '<') ||
	       (n && k->s[n - 1] == ')' && open > k->s && open[-1] != ' ' && k->match[open - k->s]);
}

char *wt_kernel_name_shorten(const char *demangled, enum wt_kernel_name_detail detail)
{
	size_t n = strlen(demangled);
	struct shortener k = {.s = demangled, .detail = detail, .size = n + 64};
	uint32_t *stack;

	if (detail >= WT_KERNEL_NAME_FULL || n >= UINT32_MAX || !n)
		return strdup(demangled);
	k.match = calloc(n + 1, sizeof(*k.match));
	k.out = malloc(k.size + 1);
	stack = malloc((n + 1) * sizeof(*stack));
	if (!k.match || !k.out || !stack) {
		free(k.out);
		k.out = NULL;
		goto out;
	}
	wt_ks_pair_brackets(&k, n, stack);
	if (looks_like_cpp(&k, n))
		put_path(&k, function_path(&k, wt_ks_trim(&k, (struct span){0, n})), true);
	else if (detail != WT_KERNEL_NAME_BRIEF || (!wt_ks_put_nvjet(&k) && !wt_ks_put_cudnn(&k)))
		k.used = 0;
	if (!k.used) /* nothing to say about it, so leave it as it is */
		wt_ks_put_bytes(&k, demangled, n);
	k.out[k.used] = '\0';
out:
	free(k.match);
	free(stack);
	return k.out;
}
