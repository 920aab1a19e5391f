/*
 * demangle_type.c - see demangle_impl.h: types, literals, template arguments.
 *
 * Threads: any, no state. Never blocks.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/demangle_impl.h"

struct type wt_dm_parse_template_param(struct demangler *d)
{
	size_t i;

	wt_dm_want(d, 'T');
	i = wt_dm_parse_seq(d, 10);
	if (i < d->arg_count)
		return d->args[i];
	if (!d->error && i < 64) { /* a generic lambda's own parameter */
		char text[16];

		return plain(
		        JOIN(d, {text, (size_t)snprintf(text, sizeof(text), "auto:%zu", i + 1)}));
	}
	wt_dm_fail(d, -EINVAL);
	return plain(lit(""));
}

struct type wt_dm_parse_substitution(struct demangler *d)
{
	static const struct {
		char code;
		const char *text;
	} known[] = {{'a', "std::allocator"}, {'b', "std::basic_string"}, {'s', "std::string"},
	             {'i', "std::istream"},   {'o', "std::ostream"},      {'d', "std::iostream"}};
	size_t i;

	wt_dm_want(d, 'S');
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (wt_dm_take(d, known[i].code))
			return plain(lit(known[i].text));
	i = wt_dm_parse_seq(d, 36);
	if (i < d->subst_count)
		return d->subst[i];
	wt_dm_fail(d, -EINVAL);
	return plain(lit(""));
}

/* Types up to (not including) 'E' or the end, as "int, float"; a lone void is nothing. */
struct str wt_dm_parse_type_list(struct demangler *d)
{
	struct str all = lit("");

	if (d->at[0] == 'v' && (d->at[1] == 'E' || d->at[1] == '\0' || d->at[1] == '.')) {
		d->at++;
		return all;
	}
	for (bool is_first = true; !d->error && *d->at && *d->at != 'E' && *d->at != '.';
	     is_first = false) {
		struct str one = wt_dm_whole(d, wt_dm_parse_type(d));

		if (is_first)
			all = one;
		else if (one.n) /* an empty pack leaves no trace */
			all = JOIN(d, all, lit(", "), one);
	}
	return all;
}

static struct str parse_literal(struct demangler *d)
{
	static const struct {
		char code;
		const char *suffix;
	} suffixes[] = {{'i', ""}, {'j', "u"}, {'l', "l"}, {'m', "ul"}, {'x', "ll"}, {'y', "ull"}};
	struct str value, sign = lit("");
	char code = d->at[0];
	bool is_builtin = islower((unsigned char)code);
	struct type t;

	if (code == '_' && d->at[1] == 'Z') {
		d->at += 2;
		return wt_dm_parse_encoding(d, true);
	}
	t = wt_dm_parse_type(d);
	if (wt_dm_take(d, 'n'))
		sign = lit("-");
	value = (struct str){d->at, strspn(d->at, "0123456789abcdef_")};
	d->at += value.n;
	if (is_builtin && code == 'b' && value.n == 1)
		return lit(*value.p == '1' ? "true" : "false");
	for (size_t i = 0; is_builtin && i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		if (suffixes[i].code == code)
			return JOIN(d, sign, value, lit(suffixes[i].suffix));
	return JOIN(d, lit("("), wt_dm_whole(d, t), lit(")"), sign, value);
}

static struct type parse_template_arg(struct demangler *d)
{
	struct str all = lit("");

	if (wt_dm_take(d, 'L')) {
		struct str s = parse_literal(d);

		wt_dm_want(d, 'E');
		return plain(s);
	}
	if (wt_dm_take(d, 'X')) { /* an expression: of these, only N or 5 by itself */
		struct str s = lit("");

		if (d->at[0] == 'T')
			s = wt_dm_whole(d, wt_dm_parse_template_param(d));
		else if (wt_dm_take(d, 'L'))
			s = parse_literal(d), wt_dm_want(d, 'E');
		wt_dm_want(d, 'E');
		return plain(s);
	}
	if (!wt_dm_take(d, 'J'))
		return wt_dm_parse_type(d);
	if (!wt_dm_enter(d))
		return plain(all);
	while (!d->error && !wt_dm_take(d, 'E')) {
		struct str one;

		if (!*d->at)
			wt_dm_fail(d, -EINVAL);
		one = wt_dm_whole(d, parse_template_arg(d));
		all = all.n ? JOIN(d, all, lit(", "), one) : one;
	}
	d->depth--;
	return plain(all);
}

/* The 'I' is already taken. `is_encoding`: these are what T_ will mean from here on. */
struct str wt_dm_parse_template_args(struct demangler *d, bool is_encoding)
{
	struct str all = lit("");
	struct type *args = calloc(ARGS_MAX, sizeof(*args));
	size_t count = 0;

	if (!args || !wt_dm_enter(d)) {
		wt_dm_fail(d, -ENOMEM);
		free(args);
		return all;
	}
	while (!d->error && !wt_dm_take(d, 'E')) {
		struct type t;
		struct str s;

		if (!*d->at || count == ARGS_MAX) {
			wt_dm_fail(d, *d->at ? -E2BIG : -EINVAL);
			break;
		}
		t = parse_template_arg(d);
		s = wt_dm_whole(d, t);
		args[count++] = t;
		all = all.n && s.n ? JOIN(d, all, lit(", "), s) : all.n ? all : s;
	}
	if (is_encoding && !d->error) {
		memcpy(d->args, args, count * sizeof(*args));
		d->arg_count = count;
	}
	free(args);
	d->depth--;
	return JOIN(d, lit("<"), all, lit(all.n && all.p[all.n - 1] == '>' ? " >" : ">"));
}

/* name + "<...>", kept apart from the sign of operator<. */
struct str wt_dm_with_args(struct demangler *d, struct str name, struct str args)
{
	bool is_less = name.n && name.p[name.n - 1] == '<';

	return JOIN(d, name, lit(is_less ? " " : ""), args);
}

static struct type parse_builtin(struct demangler *d)
{
	static const char *const names[26] = {"signed char",
	                                      "bool",
	                                      "char",
	                                      "double",
	                                      "long double",
	                                      "float",
	                                      "__float128",
	                                      "unsigned char",
	                                      "int",
	                                      "unsigned int",
	                                      NULL,
	                                      "long",
	                                      "unsigned long",
	                                      "__int128",
	                                      "unsigned __int128",
	                                      NULL,
	                                      NULL,
	                                      NULL,
	                                      "short",
	                                      "unsigned short",
	                                      NULL,
	                                      "void",
	                                      "wchar_t",
	                                      "long long",
	                                      "unsigned long long",
	                                      "..."};
	static const char *const d_names[][2] = {
	        {"Dn", "decltype(nullptr)"}, {"Dh", "half"},
	        {"Di", "char32_t"},          {"Ds", "char16_t"},
	        {"Du", "char8_t"},           {"Da", "auto"},
	        {"DF16_", "_Float16"},       {"DF16b", "std::bfloat16_t"}};

	for (size_t i = 0; i < sizeof(d_names) / sizeof(d_names[0]); i++)
		if (!strncmp(d->at, d_names[i][0], strlen(d_names[i][0]))) {
			d->at += strlen(d_names[i][0]);
			return plain(lit(d_names[i][1]));
		}
	if (islower((unsigned char)*d->at) && names[*d->at - 'a'])
		return plain(lit(names[*d->at++ - 'a']));
	wt_dm_fail(d, -EINVAL);
	return plain(lit(""));
}

/* Function and array types: what follows a declarator is kept apart in `right`. */
static struct type parse_function_type(struct demangler *d)
{
	struct type ret;
	struct str params;

	wt_dm_take(d, 'Y');
	ret = wt_dm_parse_type(d);
	params = wt_dm_parse_type_list(d);
	wt_dm_want(d, 'E');
	return (struct type){JOIN(d, ret.left, lit(" ")),
	                     JOIN(d, lit("("), params, lit(")"), ret.right), true};
}

static struct type parse_array_type(struct demangler *d)
{
	struct str bound = {d->at, strspn(d->at, "0123456789")};
	struct type t;

	d->at += bound.n;
	wt_dm_want(d, '_');
	t = wt_dm_parse_type(d);
	return (struct type){t.needs_parens ? t.left : JOIN(d, t.left, lit(" ")),
	                     JOIN(d, lit("["), bound, lit("]"), t.right), true};
}

static struct type parse_pointer(struct demangler *d, const char *mark)
{
	struct type t = wt_dm_parse_type(d);

	if (t.needs_parens) {
		const char *close = t.right.n && *t.right.p == '[' ? ") " : ")";

		return (struct type){JOIN(d, t.left, lit("("), lit(mark)),
		                     JOIN(d, lit(close), t.right), false};
	}
	t.left = JOIN(d, t.left, lit(mark));
	return t;
}

static struct type parse_qualified(struct demangler *d)
{
	const char *suffix = "";
	struct type t;

	wt_dm_take(d, 'r');
	if (wt_dm_take(d, 'V'))
		suffix = " volatile";
	if (wt_dm_take(d, 'K'))
		suffix = *suffix ? " const volatile" : " const";
	t = wt_dm_parse_type(d);
	t.left = JOIN(d, t.left, lit(suffix));
	return t;
}

/* Types that can be named again by a substitution. */
static struct type parse_compound(struct demangler *d)
{
	switch (*d->at) {
	case 'P':
		d->at++;
		return parse_pointer(d, "*");
	case 'R':
		d->at++;
		return parse_pointer(d, "&");
	case 'O':
		d->at++;
		return parse_pointer(d, "&&");
	case 'r':
	case 'V':
	case 'K':
		return parse_qualified(d);
	case 'F':
		d->at++;
		return parse_function_type(d);
	case 'A':
		d->at++;
		return parse_array_type(d);
	case 'T':
		return wt_dm_parse_template_param(d);
	case 'u':
		d->at++;
		return plain(wt_dm_parse_source_name(d));
	case 'D': /* only a pack expansion comes here */
		d->at += 2;
		return wt_dm_parse_type(d);
	default:
		return wt_dm_parse_name(d, false).text;
	}
}

struct type wt_dm_parse_type(struct demangler *d)
{
	struct type t = plain(lit(""));
	char c = *d->at, next = (char)(c ? d->at[1] : '\0');

	if (!wt_dm_enter(d))
		return t;
	if ((islower((unsigned char)c) && c != 'r' && c != 'u') || (c == 'D' && next != 'p')) {
		t = parse_builtin(d);
	} else if (c == 'S' && next != 't') {
		t = wt_dm_parse_substitution(d);
		if (wt_dm_take(d, 'I')) {
			struct str args = wt_dm_parse_template_args(d, false);

			t.left = JOIN(d, t.left, args);
			wt_dm_remember(d, t);
		}
	} else {
		t = parse_compound(d);
		wt_dm_remember(d, t);
		if (c == 'T' && wt_dm_take(d, 'I')) {
			struct str args = wt_dm_parse_template_args(d, false);

			t.left = JOIN(d, t.left, args);
			wt_dm_remember(d, t);
		}
	}
	d->depth--;
	return t;
}
