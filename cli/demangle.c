/*
 * demangle.c - see demangle.h: names and the entry. A recursive descent over the Itanium C++ ABI's
 * <mangled-name>; each production returns its text at once, so that a
 * substitution is a look-up and no tree is built.
 *
 * Not known, and refused: expressions (X..E) beyond a parameter or a literal,
 * decltype, pointers to members, vendor qualifiers, special names (vtables,
 * guards). No kernel is named by the last; for the others kernel_name.c asks
 * the C++ runtime.
 *
 * All text lives in one arena, sized by the name's length. A name whose substitutions double
 * their text again and again runs out of it and fails with -E2BIG.
 *
 * Threads: any, no state. Never blocks.
 */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/demangle.h"
#include "cli/demangle_impl.h"

static struct str parse_operator(struct demangler *d)
{
	static const char table[][2][4] = {
	        {"cl", "()"}, {"ix", "[]"}, {"eq", "=="}, {"ne", "!="}, {"lt", "<"},  {"gt", ">"},
	        {"le", "<="}, {"ge", ">="}, {"pl", "+"},  {"mi", "-"},  {"ml", "*"},  {"dv", "/"},
	        {"rm", "%"},  {"an", "&"},  {"or", "|"},  {"eo", "^"},  {"co", "~"},  {"ls", "<<"},
	        {"rs", ">>"}, {"aS", "="},  {"pL", "+="}, {"mI", "-="}, {"mL", "*="}, {"dV", "/="},
	        {"nt", "!"},  {"aa", "&&"}, {"oo", "||"}, {"pp", "++"}, {"mm", "--"}, {"pt", "->"},
	        {"ng", "-"},  {"ps", "+"},  {"ad", "&"},  {"de", "*"},  {"cm", ","},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strncmp(d->at, table[i][0], 2)) {
			d->at += 2;
			return JOIN(d, lit("operator"), lit(table[i][1]));
		}
	wt_dm_fail(d, -EINVAL);
	return lit("");
}

/* {lambda(float)#1} and {unnamed type#1} */
static struct str parse_unnamed(struct demangler *d)
{
	bool is_lambda = d->at[1] == 'l';
	struct str params;
	char text[32];

	d->at += 2;
	if (is_lambda) {
		params = wt_dm_parse_type_list(d);
		wt_dm_want(d, 'E');
		params = JOIN(d, lit("lambda("), params, lit(")"));
	} else {
		params = lit("unnamed type");
	}
	snprintf(text, sizeof(text), "#%zu}", wt_dm_parse_seq(d, 10) + 1);
	return JOIN(d, lit("{"), params, lit(text));
}

/* The last plain part of "a::b<c>", for constructors. */
static struct str last_part(struct str path)
{
	size_t start = 0, end = path.n, angle = 0;

	for (size_t i = 0; i < path.n; i++) {
		if (path.p[i] == '<' && angle++ == 0)
			end = i;
		else if (path.p[i] == '>' && angle)
			angle--;
		else if (path.p[i] == ':' && angle == 0)
			start = i + 1, end = path.n;
	}
	return (struct str){path.p + start, end > start ? end - start : 0};
}

static struct str parse_unqualified(struct demangler *d, struct str scope, bool *ret_no_return)
{
	char c = d->at[0], next = (char)(c ? d->at[1] : '\0');
	struct str s;

	wt_dm_take(d, 'L'); /* internal linkage: not shown */
	if (isdigit((unsigned char)*d->at)) {
		s = wt_dm_parse_source_name(d);
	} else if (c == 'U' && (next == 'l' || next == 't')) {
		s = parse_unnamed(d);
	} else if ((c == 'C' || c == 'D') && isdigit((unsigned char)next)) {
		d->at += 2;
		s = JOIN(d, lit(c == 'D' ? "~" : ""), last_part(scope));
		*ret_no_return = true;
	} else {
		s = parse_operator(d);
	}
	while (wt_dm_take(d, 'B')) {
		struct str tag = wt_dm_parse_source_name(d);

		s = JOIN(d, s, lit("[abi:"), tag, lit("]"));
	}
	return s;
}

static const char *parse_member_suffix(struct demangler *d)
{
	const char *suffix = "";

	wt_dm_take(d, 'r');
	if (wt_dm_take(d, 'V'))
		suffix = " volatile";
	if (wt_dm_take(d, 'K'))
		suffix = *suffix ? " const volatile" : " const";
	if (wt_dm_take(d, 'R'))
		suffix = *suffix ? " const &" : " &";
	else if (wt_dm_take(d, 'O'))
		suffix = *suffix ? " const &&" : " &&";
	return suffix;
}

/* The 'N' is already taken. Each prefix can be substituted later, the whole only as a type. */
static struct name parse_nested(struct demangler *d, bool is_encoding)
{
	struct name n = {.text = plain(lit("")), .suffix = parse_member_suffix(d)};
	bool is_known; /* came from the table: not to be remembered again */

	while (!d->error && !wt_dm_take(d, 'E')) {
		is_known = false;
		n.is_template = false;
		if (wt_dm_take(d, 'I')) {
			struct str args = wt_dm_parse_template_args(d, is_encoding);

			n.text.left = wt_dm_with_args(d, n.text.left, args);
			n.is_template = true;
		} else if (d->at[0] == 'S' && d->at[1] == 't') {
			d->at += 2;
			n.text = plain(lit("std"));
			is_known = true;
		} else if (d->at[0] == 'S') {
			n.text = wt_dm_parse_substitution(d);
			is_known = true;
		} else if (d->at[0] == 'T') {
			n.text = wt_dm_parse_template_param(d);
		} else if (*d->at) {
			struct str part = parse_unqualified(d, n.text.left, &n.has_no_return);

			n.text.left = n.text.left.n ? JOIN(d, n.text.left, lit("::"), part) : part;
		} else {
			wt_dm_fail(d, -EINVAL);
		}
		if (!is_known && *d->at != 'E')
			wt_dm_remember(d, n.text);
	}
	return n;
}

/* The 'Z' is already taken: something inside a function. */
static struct name parse_local(struct demangler *d, bool is_encoding)
{
	struct type *saved = malloc(sizeof(d->args));
	size_t saved_count = d->arg_count;
	struct name n = {.text = plain(lit("")), .suffix = ""};
	struct str function;

	if (!saved) {
		wt_dm_fail(d, -ENOMEM);
		return n;
	}
	memcpy(saved, d->args, sizeof(d->args));
	function = wt_dm_parse_encoding(d, true);
	wt_dm_want(d, 'E');
	if (wt_dm_take(d, 's')) {
		n.text = plain(lit("string literal"));
	} else {
		if (wt_dm_take(d, 'd'))
			wt_dm_parse_seq(d, 10);
		n = wt_dm_parse_name(d, is_encoding);
	}
	if (wt_dm_take(d, '_')) { /* discriminator: not shown */
		bool is_long = wt_dm_take(d, '_');

		wt_dm_parse_number(d);
		if (is_long)
			wt_dm_want(d, '_');
	}
	n.text.left = JOIN(d, function, lit("::"), n.text.left);
	if (!(is_encoding && n.is_template)) {
		memcpy(d->args, saved, sizeof(d->args));
		d->arg_count = saved_count;
	}
	free(saved);
	return n;
}

struct name wt_dm_parse_name(struct demangler *d, bool is_encoding)
{
	struct name n = {.text = plain(lit("")), .suffix = ""};
	bool is_known = false;

	if (!wt_dm_enter(d))
		return n;
	if (wt_dm_take(d, 'N')) {
		n = parse_nested(d, is_encoding);
	} else if (wt_dm_take(d, 'Z')) {
		n = parse_local(d, is_encoding);
	} else {
		if (d->at[0] == 'S' && d->at[1] != 't') {
			n.text = wt_dm_parse_substitution(d);
			is_known = true;
		} else {
			bool is_std = d->at[0] == 'S';
			struct str part;

			if (is_std)
				d->at += 2;
			part = parse_unqualified(d, lit(""), &n.has_no_return);
			n.text = plain(is_std ? JOIN(d, lit("std::"), part) : part);
		}
		if (wt_dm_take(d, 'I')) {
			struct str args;

			if (!is_known)
				wt_dm_remember(d, n.text);
			args = wt_dm_parse_template_args(d, is_encoding);
			n.text.left = wt_dm_with_args(d, n.text.left, args);
			n.is_template = true;
		}
	}
	d->depth--;
	return n;
}

/*
 * `is_local`: inside another name, where the return type is not shown. At the
 * top with `name_only`, nothing after the name is looked at.
 */
struct str wt_dm_parse_encoding(struct demangler *d, bool is_local)
{
	struct name n;
	struct str ret = lit(""), params;

	if (!wt_dm_enter(d))
		return ret;
	d->arg_count = 0;
	n = wt_dm_parse_name(d, true);
	d->depth--;
	if (d->name_only && !is_local) {
		d->at += strlen(d->at);
		return n.text.left;
	}
	if (d->error || !*d->at || *d->at == 'E' || *d->at == '.')
		return n.text.left; /* a variable, or extern "C" */
	if (n.is_template && !n.has_no_return) {
		struct type t = wt_dm_parse_type(d);

		if (!is_local)
			ret = JOIN(d, wt_dm_whole(d, t), lit(" "));
	}
	params = wt_dm_parse_type_list(d);
	return JOIN(d, ret, n.text.left, lit("("), params, lit(")"), lit(n.suffix));
}

static struct demangler *create(const char *mangled, bool name_only)
{
	struct demangler *d = calloc(1, sizeof(*d));
	size_t bytes = strlen(mangled);

	if (!d)
		return NULL;
	d->at = mangled + 2;
	d->name_only = name_only;
	d->size = ARENA_MAX_BYTES;
	if (bytes < (ARENA_MAX_BYTES - ARENA_MIN_BYTES) / ARENA_GROWTH)
		d->size = ARENA_MIN_BYTES + bytes * ARENA_GROWTH;
	/* Each of them takes a character at least. */
	d->subst_capacity = bytes < SUBST_MAX ? bytes : SUBST_MAX;
	d->arena = malloc(d->size);
	d->subst = malloc(d->subst_capacity * sizeof(*d->subst));
	if (!d->arena || !d->subst)
		wt_dm_fail(d, -ENOMEM);
	return d;
}

int wt_demangle(const char *mangled, bool name_only, char **ret_text)
{
	struct demangler *d;
	struct str text = lit("");
	char *copy = NULL;
	int error;

	if (strncmp(mangled, "_Z", 2) != 0)
		return -EINVAL;
	d = create(mangled, name_only);
	if (!d)
		return -ENOMEM;
	if (!d->error)
		text = wt_dm_parse_encoding(d, false);
	if (*d->at == '.') /* a copy that the compiler made: name.part.0 */
		text = JOIN(d, text, lit(" [clone "), lit(d->at), lit("]"));
	else if (*d->at)
		wt_dm_fail(d, -EINVAL);
	if (!d->error && !text.n)
		wt_dm_fail(d, -EINVAL);
	if (!d->error && !(copy = strndup(text.p, text.n)))
		wt_dm_fail(d, -ENOMEM);
	error = d->error;
	if (!error)
		*ret_text = copy;
	free(d->arena);
	free(d->subst);
	free(d);
	return error;
}
