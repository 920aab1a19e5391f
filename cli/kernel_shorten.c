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

enum {
	DEPTH_MAX = 48,
	PARTS_MAX = 32,      /* of one path; a::b::c has three */
	BRIEF_ARGS_MAX = 4,  /* template arguments in brief */
	TRAITS_NUMBERS = 3,  /* head size and tile of flash attention's traits */
};

struct span {
	size_t from, to;
};

struct shortener {
	const char *s;
	uint32_t *match; /* of an opening bracket: where it closes; otherwise 0 */
	char *out;
	size_t used, size;
	enum wt_kernel_name_detail detail;
	unsigned depth;  /* of recursion */
	unsigned nesting; /* of shown argument lists */
};

struct path {
	struct span parts[PARTS_MAX];
	size_t count;
};

static void put_bytes(struct shortener *k, const char *p, size_t n)
{
	if (n > k->size - k->used)
		n = k->size - k->used;
	memcpy(k->out + k->used, p, n);
	k->used += n;
}

static void put(struct shortener *k, const char *text)
{
	put_bytes(k, text, strlen(text));
}

static bool span_is(const struct shortener *k, struct span a, const char *text)
{
	size_t n = strlen(text);

	return a.to - a.from == n && !memcmp(k->s + a.from, text, n);
}

static bool span_starts(const struct shortener *k, struct span a, const char *text)
{
	size_t n = strlen(text);

	return a.to - a.from >= n && !memcmp(k->s + a.from, text, n);
}

static bool span_ends(const struct shortener *k, struct span a, const char *text)
{
	size_t n = strlen(text);

	return a.to - a.from >= n && !memcmp(k->s + a.to - n, text, n);
}

static bool span_is_any(const struct shortener *k, struct span a, const char *const *texts)
{
	for (; *texts; texts++)
		if (span_is(k, a, *texts))
			return true;
	return false;
}

static struct span trim(const struct shortener *k, struct span a)
{
	while (a.from < a.to && k->s[a.from] == ' ')
		a.from++;
	while (a.to > a.from && k->s[a.to - 1] == ' ')
		a.to--;
	return a;
}

/* The next position at the same level: past the bracket pair that opens at `i`, if one does. */
static size_t step(const struct shortener *k, size_t i)
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
static void pair_brackets(struct shortener *k, size_t n, uint32_t *stack)
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
		if ((c != ')' && c != '>' && c != ']' && c != '}') || (c == '>' && i && k->s[i - 1] == '-'))
			continue;
		open = c == ')' ? '(' : c == '>' ? '<' : c == ']' ? '[' : '{';
		while (c != '>' && top && k->s[stack[top - 1]] == '<' && open != '<')
			top--; /* a less-than sign in an expression */
		if (top && k->s[stack[top - 1]] == open)
			k->match[stack[--top]] = (uint32_t)i;
	}
}

static bool is_anonymous(const struct shortener *k, struct span a)
{
	return span_starts(k, a, "(anonymous") || span_is(k, a, "<unnamed>") ||
	       span_starts(k, a, "_GLOBAL__N_");
}

/* Splits at "::". Of a path with too many parts the middle ones are left out. */
static struct path split_path(const struct shortener *k, struct span a)
{
	struct path p = {.count = 0};
	size_t start = a.from;

	for (size_t i = a.from; i <= a.to;) {
		bool is_end = i >= a.to;

		if (!is_end && !(k->s[i] == ':' && i + 1 < a.to && k->s[i + 1] == ':')) {
			i = step(k, i);
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
static struct span part_name(const struct shortener *k, struct span part, size_t *ret_args)
{
	size_t i = part.from, skip = operator_length(k->s, part.from, part.to);

	*ret_args = 0;
	for (i += skip; i < part.to && !(k->match[i] && i > part.from); i++)
		;
	if (i < part.to && k->s[i] == '<')
		*ret_args = i;
	return trim(k, (struct span){part.from, i});
}

static bool part_has_params(const struct shortener *k, struct span part)
{
	for (size_t i = part.from; i < part.to; i = step(k, i))
		if (i > part.from && k->s[i] == '(' && k->match[i])
			return true;
	return false;
}

/* Next template argument after *at, which starts at the '<' and ends at its '>'. */
static bool next_arg(const struct shortener *k, size_t list, size_t *at, struct span *ret)
{
	size_t end = k->match[list], i;

	if (*at >= end)
		return false;
	for (i = *at + 1; i < end && k->s[i] != ',';)
		i = step(k, i);
	if (i > end)
		i = end;
	*ret = trim(k, (struct span){*at + 1, i});
	*at = i;
	return true;
}

static bool is_number(const struct shortener *k, struct span a)
{
	if (a.from < a.to && k->s[a.from] == '-')
		a.from++;
	return a.from < a.to && isdigit((unsigned char)k->s[a.from]);
}

static void put_number(struct shortener *k, struct span a)
{
	while (a.to > a.from && strchr("ul", k->s[a.to - 1]))
		a.to--;
	put_bytes(k, k->s + a.from, a.to - a.from);
}

static const char *data_type(const struct shortener *k, struct span a)
{
	static const char *const types[][2] = {
		{"float", "float"},           {"double", "double"},       {"c10::BFloat16", "bf16"},
		{"__nv_bfloat16", "bf16"},    {"c10::Half", "half"},      {"__half", "half"},
		{"half", "half"},             {"bool", "bool"},           {"char", "char"},
		{"signed char", "int8"},      {"unsigned char", "uint8"}, {"short", "short"},
		{"cutlass::half_t", "half"},  {"cutlass::tfloat32_t", "tf32"},
		{"cutlass::bfloat16_t", "bf16"}, {"c10::complex<float>", "complex<float>"},
		{"c10::complex<double>", "complex<double>"},
		{"cutlass::float_e4m3_t", "e4m3"}, {"cutlass::float_e5m2_t", "e5m2"},
		{"c10::Float8_e4m3fn", "e4m3"},    {"c10::Float8_e5m2", "e5m2"},
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (span_is(k, a, types[i][0]))
			return types[i][1];
	return NULL;
}

static const char *index_type(const struct shortener *k, struct span a)
{
	static const char *const types[][2] = {
		{"int", "int"},
		{"long", "long"},
		{"long long", "llong"},
		{"unsigned int", "uint"},
		{"unsigned long", "ulong"},
		{"unsigned long long", "ullong"},
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (span_is(k, a, types[i][0]))
			return types[i][1];
	return NULL;
}

/* The last named part of a type's path, without arguments. */
static struct span last_name(const struct shortener *k, struct span a, size_t *ret_args)
{
	struct path p = split_path(k, a);

	*ret_args = 0;
	return p.count ? part_name(k, p.parts[p.count - 1], ret_args) : a;
}

/* Arguments that say how a kernel is built rather than what it does. */
static bool is_boring(const struct shortener *k, struct span a)
{
	static const char *const names[] = {
		"true", "false", "array", "TrivialOffsetCalculator", "OffsetCalculator",
		"LoadWithCast", "StoreWithCast", "LoadWithoutCast", "StoreWithoutCast",
		"identity_decomposer_t", "ScanTileState", "ReduceByKeyScanTileState",
		"TensorListMetadata", "TensorListScalarListMetadata", "FusedOptimizerTensorListMetadata",
		"VSMemHelper", "InputValue", "counting_iterator", "use_default", "integral_constant",
		"IndexType", "result_type", "Arch", "GridDependencyControl", NULL};
	size_t args;
	struct span name = last_name(k, a, &args);

	return a.from == a.to || k->s[a.from] == '(' || k->s[a.to - 1] == '*' ||
	       index_type(k, a) || span_is_any(k, name, names) ||
	       span_starts(k, name, "Policy") || span_starts(k, name, "policy_hub");
}

/* Templates that only carry another one. */
static bool is_wrapper(const struct shortener *k, struct span name)
{
	static const char *const names[] = {
		"ReduceOp", "func_wrapper_t", "gpu_kernel_impl", "gpu_kernel_impl_nocast", "Kernel",
		"Kernel2", "device_kernel", "enable_sm80_to_sm89", "enable_sm90", "enable_sm90_or_later",
		"enable_sm100_or_later", "GemmUniversalAdapter", NULL};

	return span_is_any(k, name, names);
}

static void put_type(struct shortener *k, struct span a);
static void put_path(struct shortener *k, struct span a, bool is_function);

/* cute's C<128> -> 128 */
static struct span constant_value(const struct shortener *k, struct span a)
{
	size_t args;
	struct span name = last_name(k, a, &args), value = a;

	if (args && span_is(k, name, "C")) {
		size_t at = args;

		next_arg(k, args, &at, &value);
	}
	return value;
}

/* A tuple of three or more numbers, such as a tile: written 128x128x64. */
static bool is_shape(const struct shortener *k, struct span a)
{
	size_t args, at, count = 0;
	struct span name = last_name(k, a, &args), arg;

	if (!args || !span_is(k, name, "tuple"))
		return false;
	for (at = args; next_arg(k, args, &at, &arg); count++)
		if (!is_number(k, constant_value(k, arg)))
			return false;
	return count >= 3;
}

static void put_shape(struct shortener *k, struct span a)
{
	size_t args, at;
	struct span arg;

	last_name(k, a, &args);
	for (at = args; next_arg(k, args, &at, &arg);) {
		if (k->s[at] == ',' || at != k->match[args] || arg.from > args + 1)
			put(k, arg.from > args + 1 ? "x" : "");
		put_number(k, constant_value(k, arg));
	}
}

/* The argument that a wrapper carries: the first that is neither number nor plain type. */
static bool carried(const struct shortener *k, size_t list, struct span *ret)
{
	struct span arg;

	for (size_t at = list; next_arg(k, list, &at, &arg);)
		if (!is_number(k, arg) && !data_type(k, arg) && !is_boring(k, arg) && !is_shape(k, arg)) {
			*ret = arg;
			return true;
		}
	return false;
}

/* Whether an argument is shown; `shown` are those before it. */
static bool is_kept(const struct shortener *k, struct span arg, const struct span *shown,
                    size_t shown_count)
{
	if (k->detail >= WT_KERNEL_NAME_NESTED || (k->detail == WT_KERNEL_NAME_ARGUMENTS && k->nesting == 0))
		return true;
	if (shown_count == BRIEF_ARGS_MAX || is_boring(k, arg))
		return false;
	if (is_number(k, arg))
		return k->nesting == 0;
	if (k->nesting > 1)
		return data_type(k, arg) || is_shape(k, arg);
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

	while (next_arg(k, list, &at, &arg)) {
		if (!is_kept(k, arg, shown, shown_count))
			continue;
		put(k, has_any ? "," : "<");
		has_any = true;
		if (shown_count < BRIEF_ARGS_MAX)
			shown[shown_count++] = arg;
		k->nesting++;
		put_type(k, arg);
		k->nesting--;
	}
	if (has_any)
		put(k, ">");
}

/* Flash attention's traits: only the leading numbers, in place of the traits. */
static void put_traits(struct shortener *k, size_t list)
{
	struct span arg;
	size_t at = list;

	for (unsigned i = 0; i < TRAITS_NUMBERS && next_arg(k, list, &at, &arg) && is_number(k, arg); i++) {
		put(k, i ? "," : "");
		put_number(k, arg);
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
		put(k, "..");
		return;
	}
	k->depth++;
	for (size_t i = 0; marks[i];)
		if (span_ends(k, base, marks[i])) {
			base.to -= strlen(marks[i]);
			i = 0;
		} else {
			i++;
		}
	known = data_type(k, base) ? data_type(k, base) : index_type(k, base);
	name = last_name(k, base, &args);
	if (known)
		put(k, known);
	else if (is_number(k, base))
		put_number(k, base);
	else if (base.from < base.to && k->s[base.from] == '(' && k->match[base.from] && // a cast enum
	         is_number(k, (struct span){k->match[base.from] + 1, base.to}))
		put_number(k, (struct span){k->match[base.from] + 1, base.to});
	else if (is_shape(k, base))
		put_shape(k, base);
	else if (args && span_ends(k, name, "_kernel_traits") && k->detail < WT_KERNEL_NAME_NESTED)
		put_traits(k, args);
	else
		put_path(k, base, false);
	for (size_t i = base.to; i < a.to; i++)
		if (k->detail >= WT_KERNEL_NAME_NESTED || k->s[i] == '*' || k->s[i] == '&') {
			put_bytes(k, k->s + i, 1);
		} else if (k->s[i] == ' ') {
			while (i + 1 < a.to && isalpha((unsigned char)k->s[i + 1]))
				i++;
		}
	k->depth--;
}

/* What only says "this is a kernel" at the end of a name; most of the name must remain. */
static struct span without_suffix(const struct shortener *k, struct span name)
{
	static const char *const suffixes[] = {
		"_loop_seqk_parallel_kernel", "CUDAKernelTemplate", "CUDAKernelImpl", "KernelTemplate",
		"KernelImpl", "_kernel_cuda", "_cuda_kernel", "_kernel_impl", "_kernel", "Kernel", NULL};

	for (size_t i = 0; suffixes[i]; i++)
		if (span_ends(k, name, suffixes[i]) && name.to - name.from >= strlen(suffixes[i]) + 3) {
			name.to -= strlen(suffixes[i]);
			break;
		}
	return name;
}

static void put_part(struct shortener *k, struct span part, bool is_stripped)
{
	size_t args;
	struct span name = part_name(k, part, &args), inner;

	if (args && k->detail < WT_KERNEL_NAME_NESTED && is_wrapper(k, name) && carried(k, args, &inner)) {
		put_path(k, inner, true);
		return;
	}
	if (is_stripped)
		name = without_suffix(k, name);
	put_bytes(k, k->s + name.from, name.to - name.from);
	if (args)
		put_args(k, args);
}

/* Libraries whose inner namespaces tell a user nothing. */
static bool is_known_root(const struct shortener *k, const struct path *p)
{
	static const char *const roots[] = {
		"at", "c10", "std", "cub", "thrust", "cuda", "cutlass", "cute", "at_cuda_detail",
		"flash", "pytorch_flash", "nv", "libcudacxx", NULL};
	size_t i = 0;

	while (i + 1 < p->count && is_anonymous(k, p->parts[i]))
		i++;
	return i + 1 < p->count && span_is_any(k, p->parts[i], roots);
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
	put(k, "(");
	for (at = open; next_arg(k, open, &at, &arg);) {
		put_type(k, arg);
		put(k, k->s[at] == ',' ? "," : "");
	}
	put(k, ")");
}

/*
 * A lambda reads as the function it stands in, plus what it takes. Lambdas in
 * lambdas are one per data type and level of dispatch: their numbers are kept
 * in nested detail only.
 */
static void put_lambda(struct shortener *k, const struct path *p, size_t core)
{
	size_t args;
	bool is_function = part_has_params(k, p->parts[core]);
	struct span name = part_name(k, p->parts[core], &args);

	put_part(k, p->parts[core], is_function);
	if (k->detail >= WT_KERNEL_NAME_NESTED) {
		for (size_t i = core + 1; i < p->count; i++)
			for (size_t j = p->parts[i].to; is_lambda(k, p->parts[i]) && j-- > p->parts[i].from;)
				if (k->s[j] == '#') {
					put_bytes(k, k->s + j, p->parts[i].to - 1 - j);
					break;
				}
	}
	if (is_function && !is_wrapper(k, name))
		put_lambda_params(k, p->parts[p->count - 1]);
}

/* A path with parts worth keeping: a user's namespaces, or the class around a type. */
static void put_plain_path(struct shortener *k, const struct path *p, bool is_function)
{
	bool is_known = is_known_root(k, p);

	for (size_t i = 0; i + 1 < p->count; i++) {
		size_t args;

		part_name(k, p->parts[i], &args);
		if (is_anonymous(k, p->parts[i]) || (is_known && !args && !part_has_params(k, p->parts[i])))
			continue;
		put_part(k, p->parts[i], false);
		put(k, "::");
	}
	put_part(k, p->parts[p->count - 1], is_function && is_known);
}

static void put_path(struct shortener *k, struct span a, bool is_function)
{
	struct path p = split_path(k, a);
	size_t lambda, core;

	if (k->depth >= DEPTH_MAX) {
		put(k, "..");
		return;
	}
	k->depth++;
	for (lambda = 0; lambda < p.count && !is_lambda(k, p.parts[lambda]); lambda++)
		;
	for (core = lambda; core > 0 && span_starts(k, p.parts[core - 1], "operator()"); core--)
		;
	if (!p.count)
		put_bytes(k, k->s + a.from, a.to - a.from);
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
		if (span_starts(k, (struct span){i, end}, words[w])) {
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

	for (size_t i = a.from; i < a.to; i = step(k, i)) {
		char c = k->s[i];

		if (c == ' ' && span_starts(k, (struct span){i, a.to}, " [clone "))
			a.to = i;
		else if (c == '(' && i > a.from && k->match[i] && k->s[i - 1] != ' ' &&
		         k->s[i - 1] != ':' && is_only_qualifiers(k, k->match[i] + 1, a.to))
			a.to = i;
		else if (c == ' ' && !span_starts(k, (struct span){i, a.to}, " const") &&
		         !span_starts(k, (struct span){i, a.to}, " volatile") &&
		         !(i >= a.from + 8 && !memcmp(k->s + i - 8, "operator", 8)))
			space = i + 1;
	}
	if (space > a.from && space < a.to)
		a.from = space;
	return a;
}

/* nvjet_sm90_tst_128x256_64x4_2x1_v_bz_coopA_NNT -> nvjet tst 128x256x64 2x1 coopA NNT */
static bool put_nvjet(struct shortener *k)
{
	unsigned field = 0;
	const char *p = k->s;

	if (strncmp(p, "nvjet_sm", 8) != 0)
		return false;
	for (const char *end; *p; p = end + (*end == '_'), field++) {
		size_t n;

		end = strchrnul(p, '_');
		n = (size_t)(end - p);
		if (field == 3 || field == 4 || field == 5) {
			size_t digits = strspn(p, "0123456789");

			if (!digits || p[digits] != 'x' || strspn(p + digits + 1, "0123456789") != n - digits - 1) {
				k->used = 0;
				return false;
			}
			put(k, field == 4 ? "x" : " ");
			put_bytes(k, p, field == 4 ? digits : n); /* the other is the pipeline's depth */
		} else if (field != 1 && !(field > 5 && n == 1) && !(n == 2 && !memcmp(p, "bz", 2))) {
			put(k, field ? " " : "");
			put_bytes(k, p, n);
		}
	}
	return field > 5;
}

/* cudnn_generated_fort_native_sdpa_.._knob_26_.._kernel0_0 -> cudnn sdpa_.. */
static bool put_cudnn(struct shortener *k)
{
	static const char prefix[] = "cudnn_generated_fort_native_";
	const char *p = k->s, *end, *knob;

	if (strncmp(p, prefix, strlen(prefix)) != 0)
		return false;
	p += strlen(prefix);
	end = strstr(p, "_kernel");
	end = end ? end : p + strlen(p);
	knob = strstr(p, "_knob_");
	put(k, "cudnn ");
	if (knob && knob < end) {
		put_bytes(k, p, (size_t)(knob - p));
		p = knob + 6 + strspn(knob + 6, "0123456789");
	}
	put_bytes(k, p, (size_t)(end - p));
	return true;
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
	pair_brackets(&k, n, stack);
	if (looks_like_cpp(&k, n))
		put_path(&k, function_path(&k, trim(&k, (struct span){0, n})), true);
	else if (detail != WT_KERNEL_NAME_BRIEF || (!put_nvjet(&k) && !put_cudnn(&k)))
		k.used = 0;
	if (!k.used) /* nothing to say about it, so leave it as it is */
		put_bytes(&k, demangled, n);
	k.out[k.used] = '\0';
out:
	free(k.match);
	free(stack);
	return k.out;
}
