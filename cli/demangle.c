/*
 * demangle.c - see demangle.h. A recursive descent over the Itanium C++ ABI's
 * <mangled-name>; each production returns its text at once, so that a
 * substitution is a look-up and no tree is built.
 *
 * Not known, and refused: expressions (X..E) beyond a parameter or a literal,
 * decltype, pointers to members, vendor qualifiers, special names (vtables,
 * guards). No kernel is named by the last; for the others kernel_name.c asks
 * the C++ runtime.
 *
 * All text lives in one arena of fixed size. A name whose substitutions double
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

enum {
	ARENA_BYTES = 4 << 20,
	DEPTH_MAX = 200,
	SUBST_MAX = 4096,
	ARGS_MAX = 256, /* template arguments of one list */
};

struct str {
	const char *p;
	size_t n;
};

/* A type is text before and after the place of a declarator: "void (*" ")(int)". */
struct type {
	struct str left, right;
	bool needs_parens; /* a function or array, should a pointer to it follow */
};

struct name {
	struct type text;
	bool is_template;     /* its last part carries template arguments: a return type follows */
	bool has_no_return;   /* constructor, destructor */
	const char *suffix;   /* " const" of a member function, after its parameters */
};

struct demangler {
	const char *at;
	char *arena;
	size_t used;
	int error;
	unsigned depth;
	bool name_only;
	size_t subst_count, arg_count;
	struct type subst[SUBST_MAX];
	struct type args[ARGS_MAX]; /* what T_, T0_ ... mean in the present encoding */
};

static struct type parse_type(struct demangler *d);
static struct name parse_name(struct demangler *d, bool is_encoding);
static struct str parse_encoding(struct demangler *d, bool is_local);

static void fail(struct demangler *d, int error)
{
	if (!d->error)
		d->error = error;
	d->at = ""; /* every loop below ends at the end of the text */
}

static struct str lit(const char *text)
{
	return (struct str){text, strlen(text)};
}

static struct str join(struct demangler *d, const struct str *parts, size_t count)
{
	struct str all = {d->arena + d->used, 0};

	for (size_t i = 0; i < count; i++) {
		if (parts[i].n > ARENA_BYTES - d->used) {
			fail(d, -E2BIG);
			return lit("");
		}
		if (parts[i].n)
			memcpy(d->arena + d->used, parts[i].p, parts[i].n);
		d->used += parts[i].n;
		all.n += parts[i].n;
	}
	return all;
}

#define JOIN(d, ...) \
	join((d), (const struct str[]){__VA_ARGS__}, \
	     sizeof((const struct str[]){__VA_ARGS__}) / sizeof(struct str))

static bool take(struct demangler *d, char c)
{
	if (*d->at != c)
		return false;
	d->at++;
	return true;
}

static void want(struct demangler *d, char c)
{
	if (!take(d, c))
		fail(d, -EINVAL);
}

static bool enter(struct demangler *d)
{
	if (d->depth >= DEPTH_MAX)
		fail(d, -E2BIG);
	else
		d->depth++;
	return !d->error;
}

static struct type plain(struct str text)
{
	return (struct type){text, {"", 0}, false};
}

static struct str whole(struct demangler *d, struct type t)
{
	return t.right.n ? JOIN(d, t.left, t.right) : t.left;
}

static void remember(struct demangler *d, struct type t)
{
	if (d->subst_count < SUBST_MAX)
		d->subst[d->subst_count++] = t;
	else
		fail(d, -E2BIG);
}

static size_t parse_number(struct demangler *d)
{
	size_t n = 0;

	if (!isdigit((unsigned char)*d->at))
		fail(d, -EINVAL);
	for (; isdigit((unsigned char)*d->at); d->at++) {
		n = n * 10 + (size_t)(*d->at - '0');
		if (n > ARENA_BYTES)
			fail(d, -E2BIG);
	}
	return n;
}

/* "_" is 0, "0_" is 1, ...: for lambdas and T_. Substitutions count in base 36. */
static size_t parse_seq(struct demangler *d, unsigned base)
{
	size_t n = 0;

	if (take(d, '_'))
		return 0;
	for (; isdigit((unsigned char)*d->at) || (base == 36 && isupper((unsigned char)*d->at)); d->at++) {
		n = n * base + (size_t)(*d->at <= '9' ? *d->at - '0' : *d->at - 'A' + 10);
		if (n > ARENA_BYTES)
			fail(d, -E2BIG);
	}
	want(d, '_');
	return n + 1;
}

static struct str parse_source_name(struct demangler *d)
{
	size_t n = parse_number(d);
	struct str s = {d->at, n};

	if (n == 0 || strnlen(d->at, n) < n) {
		fail(d, -EINVAL);
		return lit("");
	}
	d->at += n;
	if (n >= 10 && !memcmp(s.p, "_GLOBAL__N", 10))
		return lit("(anonymous namespace)");
	return s;
}

static struct type parse_template_param(struct demangler *d)
{
	size_t i;

	want(d, 'T');
	i = parse_seq(d, 10);
	if (i < d->arg_count)
		return d->args[i];
	if (!d->error && i < 64) { /* a generic lambda's own parameter */
		char text[16];

		return plain(JOIN(d, {text, (size_t)snprintf(text, sizeof(text), "auto:%zu", i + 1)}));
	}
	fail(d, -EINVAL);
	return plain(lit(""));
}

static struct type parse_substitution(struct demangler *d)
{
	static const struct {
		char code;
		const char *text;
	} known[] = {{'a', "std::allocator"}, {'b', "std::basic_string"}, {'s', "std::string"},
	             {'i', "std::istream"},   {'o', "std::ostream"},      {'d', "std::iostream"}};
	size_t i;

	want(d, 'S');
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (take(d, known[i].code))
			return plain(lit(known[i].text));
	i = parse_seq(d, 36);
	if (i < d->subst_count)
		return d->subst[i];
	fail(d, -EINVAL);
	return plain(lit(""));
}

/* Types up to (not including) 'E' or the end, as "int, float"; a lone void is nothing. */
static struct str parse_type_list(struct demangler *d)
{
	struct str all = lit("");

	if (d->at[0] == 'v' && (d->at[1] == 'E' || d->at[1] == '\0' || d->at[1] == '.')) {
		d->at++;
		return all;
	}
	for (bool is_first = true; !d->error && *d->at && *d->at != 'E' && *d->at != '.'; is_first = false) {
		struct str one = whole(d, parse_type(d));

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
		return parse_encoding(d, true);
	}
	t = parse_type(d);
	if (take(d, 'n'))
		sign = lit("-");
	value = (struct str){d->at, strspn(d->at, "0123456789abcdef_")};
	d->at += value.n;
	if (is_builtin && code == 'b' && value.n == 1)
		return lit(*value.p == '1' ? "true" : "false");
	for (size_t i = 0; is_builtin && i < sizeof(suffixes) / sizeof(suffixes[0]); i++)
		if (suffixes[i].code == code)
			return JOIN(d, sign, value, lit(suffixes[i].suffix));
	return JOIN(d, lit("("), whole(d, t), lit(")"), sign, value);
}

static struct type parse_template_arg(struct demangler *d)
{
	struct str all = lit("");

	if (take(d, 'L')) {
		struct str s = parse_literal(d);

		want(d, 'E');
		return plain(s);
	}
	if (take(d, 'X')) { /* an expression: of these, only N or 5 by itself */
		struct str s = lit("");

		if (d->at[0] == 'T')
			s = whole(d, parse_template_param(d));
		else if (take(d, 'L'))
			s = parse_literal(d), want(d, 'E');
		want(d, 'E');
		return plain(s);
	}
	if (!take(d, 'J'))
		return parse_type(d);
	if (!enter(d))
		return plain(all);
	while (!d->error && !take(d, 'E')) {
		struct str one;

		if (!*d->at)
			fail(d, -EINVAL);
		one = whole(d, parse_template_arg(d));
		all = all.n ? JOIN(d, all, lit(", "), one) : one;
	}
	d->depth--;
	return plain(all);
}

/* The 'I' is already taken. `is_encoding`: these are what T_ will mean from here on. */
static struct str parse_template_args(struct demangler *d, bool is_encoding)
{
	struct str all = lit("");
	struct type *args = calloc(ARGS_MAX, sizeof(*args));
	size_t count = 0;

	if (!args || !enter(d)) {
		fail(d, -ENOMEM);
		free(args);
		return all;
	}
	while (!d->error && !take(d, 'E')) {
		struct type t;
		struct str s;

		if (!*d->at || count == ARGS_MAX) {
			fail(d, *d->at ? -E2BIG : -EINVAL);
			break;
		}
		t = parse_template_arg(d);
		s = whole(d, t);
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
	fail(d, -EINVAL);
	return lit("");
}

/* {lambda(float)#1} and {unnamed type#1} */
static struct str parse_unnamed(struct demangler *d)
{
	bool is_lambda = d->at[1] == 'l';
	struct str params = lit("");
	char text[32];

	d->at += 2;
	if (is_lambda) {
		params = parse_type_list(d);
		want(d, 'E');
		params = JOIN(d, lit("lambda("), params, lit(")"));
	} else {
		params = lit("unnamed type");
	}
	snprintf(text, sizeof(text), "#%zu}", parse_seq(d, 10) + 1);
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
	char c = d->at[0], next = c ? d->at[1] : '\0';
	struct str s;

	take(d, 'L'); /* internal linkage: not shown */
	if (isdigit((unsigned char)*d->at)) {
		s = parse_source_name(d);
	} else if (c == 'U' && (next == 'l' || next == 't')) {
		s = parse_unnamed(d);
	} else if ((c == 'C' || c == 'D') && isdigit((unsigned char)next)) {
		d->at += 2;
		s = JOIN(d, lit(c == 'D' ? "~" : ""), last_part(scope));
		*ret_no_return = true;
	} else {
		s = parse_operator(d);
	}
	while (take(d, 'B')) {
		struct str tag = parse_source_name(d);

		s = JOIN(d, s, lit("[abi:"), tag, lit("]"));
	}
	return s;
}

static const char *parse_member_suffix(struct demangler *d)
{
	const char *suffix = "";

	take(d, 'r');
	if (take(d, 'V'))
		suffix = " volatile";
	if (take(d, 'K'))
		suffix = *suffix ? " const volatile" : " const";
	if (take(d, 'R'))
		suffix = *suffix ? " const &" : " &";
	else if (take(d, 'O'))
		suffix = *suffix ? " const &&" : " &&";
	return suffix;
}

/* The 'N' is already taken. Each prefix can be substituted later, the whole only as a type. */
static struct name parse_nested(struct demangler *d, bool is_encoding)
{
	struct name n = {.text = plain(lit("")), .suffix = parse_member_suffix(d)};
	bool is_known; /* came from the table: not to be remembered again */

	while (!d->error && !take(d, 'E')) {
		is_known = false;
		n.is_template = false;
		if (take(d, 'I')) {
			struct str args = parse_template_args(d, is_encoding);

			n.text.left = JOIN(d, n.text.left, args);
			n.is_template = true;
		} else if (d->at[0] == 'S' && d->at[1] == 't') {
			d->at += 2;
			n.text = plain(lit("std"));
			is_known = true;
		} else if (d->at[0] == 'S') {
			n.text = parse_substitution(d);
			is_known = true;
		} else if (d->at[0] == 'T') {
			n.text = parse_template_param(d);
		} else if (*d->at) {
			struct str part = parse_unqualified(d, n.text.left, &n.has_no_return);

			n.text.left = n.text.left.n ? JOIN(d, n.text.left, lit("::"), part) : part;
		} else {
			fail(d, -EINVAL);
		}
		if (!is_known && *d->at != 'E')
			remember(d, n.text);
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
		fail(d, -ENOMEM);
		return n;
	}
	memcpy(saved, d->args, sizeof(d->args));
	function = parse_encoding(d, true);
	want(d, 'E');
	if (take(d, 's')) {
		n.text = plain(lit("string literal"));
	} else {
		if (take(d, 'd'))
			parse_seq(d, 10);
		n = parse_name(d, is_encoding);
	}
	if (take(d, '_')) { /* discriminator: not shown */
		bool is_long = take(d, '_');

		parse_number(d);
		if (is_long)
			want(d, '_');
	}
	n.text.left = JOIN(d, function, lit("::"), n.text.left);
	if (!(is_encoding && n.is_template)) {
		memcpy(d->args, saved, sizeof(d->args));
		d->arg_count = saved_count;
	}
	free(saved);
	return n;
}

static struct name parse_name(struct demangler *d, bool is_encoding)
{
	struct name n = {.text = plain(lit("")), .suffix = ""};
	bool is_known = false;

	if (!enter(d))
		return n;
	if (take(d, 'N')) {
		n = parse_nested(d, is_encoding);
	} else if (take(d, 'Z')) {
		n = parse_local(d, is_encoding);
	} else {
		if (d->at[0] == 'S' && d->at[1] != 't') {
			n.text = parse_substitution(d);
			is_known = true;
		} else {
			bool is_std = d->at[0] == 'S';
			struct str part;

			if (is_std)
				d->at += 2;
			part = parse_unqualified(d, lit(""), &n.has_no_return);
			n.text = plain(is_std ? JOIN(d, lit("std::"), part) : part);
		}
		if (take(d, 'I')) {
			struct str args;

			if (!is_known)
				remember(d, n.text);
			args = parse_template_args(d, is_encoding);
			n.text.left = JOIN(d, n.text.left, args);
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
static struct str parse_encoding(struct demangler *d, bool is_local)
{
	struct name n;
	struct str ret = lit(""), params;

	if (!enter(d))
		return ret;
	d->arg_count = 0;
	n = parse_name(d, true);
	d->depth--;
	if (d->name_only && !is_local) {
		d->at += strlen(d->at);
		return n.text.left;
	}
	if (d->error || !*d->at || *d->at == 'E' || *d->at == '.')
		return n.text.left; /* a variable, or extern "C" */
	if (n.is_template && !n.has_no_return) {
		struct type t = parse_type(d);

		if (!is_local)
			ret = JOIN(d, whole(d, t), lit(" "));
	}
	params = parse_type_list(d);
	return JOIN(d, ret, n.text.left, lit("("), params, lit(")"), lit(n.suffix));
}

static struct type parse_builtin(struct demangler *d)
{
	static const char *const names[26] = {
		"signed char", "bool",  "char",  "double",         "long double",
		"float",       "__float128", "unsigned char", "int", "unsigned int",
		NULL,          "long",  "unsigned long", "__int128", "unsigned __int128",
		NULL,          NULL,    NULL,    "short",          "unsigned short",
		NULL,          "void",  "wchar_t", "long long",    "unsigned long long", "..."};
	static const char *const d_names[][2] = {
		{"Dn", "decltype(nullptr)"}, {"Dh", "half"},      {"Di", "char32_t"},
		{"Ds", "char16_t"},          {"Du", "char8_t"},   {"Da", "auto"},
		{"DF16_", "_Float16"},       {"DF16b", "std::bfloat16_t"}};

	for (size_t i = 0; i < sizeof(d_names) / sizeof(d_names[0]); i++)
		if (!strncmp(d->at, d_names[i][0], strlen(d_names[i][0]))) {
			d->at += strlen(d_names[i][0]);
			return plain(lit(d_names[i][1]));
		}
	if (islower((unsigned char)*d->at) && names[*d->at - 'a'])
		return plain(lit(names[*d->at++ - 'a']));
	fail(d, -EINVAL);
	return plain(lit(""));
}

/* Function and array types: what follows a declarator is kept apart in `right`. */
static struct type parse_function_type(struct demangler *d)
{
	struct type ret;
	struct str params;

	take(d, 'Y');
	ret = parse_type(d);
	params = parse_type_list(d);
	want(d, 'E');
	return (struct type){JOIN(d, ret.left, lit(" ")), JOIN(d, lit("("), params, lit(")"), ret.right),
	                     true};
}

static struct type parse_array_type(struct demangler *d)
{
	struct str bound = {d->at, strspn(d->at, "0123456789")};
	struct type t;

	d->at += bound.n;
	want(d, '_');
	t = parse_type(d);
	return (struct type){t.needs_parens ? t.left : JOIN(d, t.left, lit(" ")),
	                     JOIN(d, lit("["), bound, lit("]"), t.right), true};
}

static struct type parse_pointer(struct demangler *d, const char *mark)
{
	struct type t = parse_type(d);

	if (t.needs_parens)
		return (struct type){JOIN(d, t.left, lit("("), lit(mark)), JOIN(d, lit(")"), t.right), false};
	t.left = JOIN(d, t.left, lit(mark));
	return t;
}

static struct type parse_qualified(struct demangler *d)
{
	const char *suffix = "";
	struct type t;

	take(d, 'r');
	if (take(d, 'V'))
		suffix = " volatile";
	if (take(d, 'K'))
		suffix = *suffix ? " const volatile" : " const";
	t = parse_type(d);
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
		return parse_template_param(d);
	case 'u':
		d->at++;
		return plain(parse_source_name(d));
	case 'D': /* only a pack expansion comes here */
		d->at += 2;
		return parse_type(d);
	default:
		return parse_name(d, false).text;
	}
}

static struct type parse_type(struct demangler *d)
{
	struct type t = plain(lit(""));
	char c = *d->at, next = c ? d->at[1] : '\0';

	if (!enter(d))
		return t;
	if ((islower((unsigned char)c) && c != 'r' && c != 'u') || (c == 'D' && next != 'p')) {
		t = parse_builtin(d);
	} else if (c == 'S' && next != 't') {
		t = parse_substitution(d);
		if (take(d, 'I')) {
			struct str args = parse_template_args(d, false);

			t.left = JOIN(d, t.left, args);
			remember(d, t);
		}
	} else {
		t = parse_compound(d);
		remember(d, t);
		if (c == 'T' && take(d, 'I')) {
			struct str args = parse_template_args(d, false);

			t.left = JOIN(d, t.left, args);
			remember(d, t);
		}
	}
	d->depth--;
	return t;
}

int wt_demangle(const char *mangled, bool name_only, char **ret_text)
{
	struct demangler *d;
	struct str text;
	char *copy = NULL;
	int error;

	if (strncmp(mangled, "_Z", 2) != 0)
		return -EINVAL;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->at = mangled + 2;
	d->name_only = name_only;
	d->arena = malloc(ARENA_BYTES);
	if (!d->arena)
		fail(d, -ENOMEM);
	text = d->error ? lit("") : parse_encoding(d, false);
	if (*d->at == '.') /* a copy that the compiler made: name.part.0 */
		text = JOIN(d, text, lit(" [clone "), lit(d->at), lit("]"));
	else if (*d->at)
		fail(d, -EINVAL);
	if (!d->error && !text.n)
		fail(d, -EINVAL);
	if (!d->error && !(copy = strndup(text.p, text.n)))
		fail(d, -ENOMEM);
	error = d->error;
	if (!error)
		*ret_text = copy;
	free(d->arena);
	free(d);
	return error;
}
