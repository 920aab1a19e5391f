/*
 * kernel_name.c - demangling, and keeping the names of one table distinct.
 * See kernel_name.h; the shortening itself is in kernel_shorten.c.
 *
 * Threads: one. Blocks in dlopen at most, once.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/demangle.h"
#include "cli/kernel_name.h"

typedef char *demangle_fn(const char *mangled, char *buffer, size_t *length, int *status);

enum { RUNTIME_NAME_MAX_BYTES = 4096 };

static struct {
	bool is_looked_up;
	demangle_fn *demangle;
	const char *problem;
} runtime;

static demangle_fn *runtime_demangler(void)
{
	static const char *const libraries[] = {"libstdc++.so.6", "libc++abi.so.1"};

	if (runtime.is_looked_up)
		return runtime.demangle;
	runtime.is_looked_up = true;
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]) && !runtime.demangle; i++) {
		void *handle = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);

		if (handle)
			*(void **)&runtime.demangle = dlsym(handle, "__cxa_demangle");
	}
	return runtime.demangle;
}

/*
 * The runtime's demangler has no limit on its output, and each back reference in
 * a name can double it; libc++abi's has none on its recursion either. True when
 * the result can't pass about 64 MiB and the stack holds.
 */
static bool is_bounded(const char *mangled)
{
	size_t bytes = strlen(mangled);
	const size_t limit_bytes = 64 << 20;

	if (bytes > RUNTIME_NAME_MAX_BYTES)
		return false;
	for (const char *p = mangled; *p && bytes <= limit_bytes; p++) {
		if ((*p == 'S' || *p == 'T') &&
		    (p[1] == '_' || (p[1] >= '0' && p[1] <= '9') || (p[1] >= 'A' && p[1] <= 'Z')))
			bytes *= 2;
		else if ((*p == 'D' || *p == 's') && p[1] == 'p') /* a pack repeats its pattern */
			bytes *= 64;
	}
	return bytes <= limit_bytes;
}

static char *demangle_by_runtime(const char *name)
{
	demangle_fn *demangle;
	int status = -1;
	char *text;

	if (!is_bounded(name)) {
		runtime.problem = "some kernel names are too intricate to demangle safely";
		return NULL;
	}
	demangle = runtime_demangler();
	if (!demangle) {
		runtime.problem = "some kernel names need the C++ runtime to demangle, and neither "
		                  "libstdc++.so.6 nor libc++abi.so.1 was found";
		return NULL;
	}
	text = demangle(name, NULL, NULL, &status);
	if (status == 0 && text)
		return text;
	free(text);
	runtime.problem = "some kernel names are no valid C++ names and stay mangled";
	return NULL;
}

char *wt_kernel_name_demangle(const char *name)
{
	const char *earlier_problem = runtime.problem;
	char *text = NULL;
	int error;

	if (strncmp(name, "_Z", 2) != 0)
		return strdup(name);
	error = wt_demangle(name, false, &text);
	if (!error)
		return text;
	if (error == -ENOMEM)
		return NULL;
	text = demangle_by_runtime(name);
	if (text)
		return text;
	/* Parameters in strange grammar are no loss: only full names show them. */
	error = wt_demangle(name, true, &text);
	if (!error)
		runtime.problem = earlier_problem;
	return error == -ENOMEM ? NULL : error ? strdup(name) : text;
}

const char *wt_kernel_name_problem(void)
{
	return runtime.problem;
}

/* One distinct raw name of the list. */
struct entry {
	const char *raw;
	size_t first_idx; /* where it first stood in the list */
	char *demangled, *text;
	unsigned detail;
	bool is_clashing;
};

static int compare_raw(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = strcmp(x->raw, y->raw);

	return order ? order : (x->first_idx > y->first_idx) - (x->first_idx < y->first_idx);
}

static int compare_text(const void *a, const void *b)
{
	const struct entry *x = *(struct entry *const *)a, *y = *(struct entry *const *)b;
	int order = strcmp(x->text, y->text);

	return order ? order : (x->first_idx > y->first_idx) - (x->first_idx < y->first_idx);
}

/* Sorts `by_text` and marks entries that read like another one. Returns how many. */
static size_t find_clashes(struct entry **by_text, size_t count)
{
	size_t clashing = 0;

	qsort(by_text, count, sizeof(*by_text), compare_text);
	for (size_t i = 0; i < count; i++) {
		struct entry *e = by_text[i];

		e->is_clashing = (i > 0 && !strcmp(by_text[i - 1]->text, e->text)) ||
		                 (i + 1 < count && !strcmp(by_text[i + 1]->text, e->text));
		clashing += e->is_clashing;
	}
	return clashing;
}

static int set_text(struct entry *e)
{
	char *text = wt_kernel_name_shorten(e->demangled, e->detail);

	if (!text)
		return -ENOMEM;
	free(e->text);
	e->text = text;
	return 0;
}

/* Marks the second, third ... of equal texts. `by_text` is sorted. */
static int number_clashes(struct entry **by_text, size_t count)
{
	size_t nth = 1;
	char *previous = NULL; /* the unmarked text of the present group */
	int error = 0;

	for (size_t i = 0; i < count && !error; i++) {
		struct entry *e = by_text[i];
		char *marked;

		if (!previous || strcmp(previous, e->text) != 0) {
			free(previous);
			previous = strdup(e->text);
			nth = 1;
			error = previous ? 0 : -ENOMEM;
			continue;
		}
		if (asprintf(&marked, "%s#%zu", e->text, ++nth) < 0) {
			error = -ENOMEM;
			continue;
		}
		free(e->text);
		e->text = marked;
	}
	free(previous);
	return error;
}

static int make_distinct(struct entry *entries, size_t count)
{
	struct entry **by_text = malloc((count ? count : 1) * sizeof(*by_text));
	int error = by_text ? 0 : -ENOMEM;
	size_t clashing = 0;

	for (size_t i = 0; i < count && !error; i++) {
		by_text[i] = &entries[i];
		error = set_text(&entries[i]);
	}
	for (unsigned detail = 1; detail <= WT_KERNEL_NAME_FULL && !error; detail++) {
		clashing = find_clashes(by_text, count);
		for (size_t i = 0; i < count && clashing && !error; i++)
			if (entries[i].is_clashing) {
				entries[i].detail = detail;
				error = set_text(&entries[i]);
			}
	}
	/* A mark can make a new clash only with a name that ends in #2 itself: then once more. */
	for (unsigned round = 0; round < 8 && !error && find_clashes(by_text, count); round++)
		error = number_clashes(by_text, count);
	free(by_text);
	return error;
}

/* Sorts `entries` by name and leaves one of each. Returns their number. */
static size_t keep_one_of_each(struct entry *entries, size_t count)
{
	size_t kept = 0;

	qsort(entries, count, sizeof(*entries), compare_raw);
	for (size_t i = 0; i < count; i++)
		if (!kept || strcmp(entries[kept - 1].raw, entries[i].raw) != 0)
			entries[kept++] = entries[i];
	return kept;
}

static int hand_out(const struct entry *entries, size_t entry_count, const char *const *names,
                    char **texts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t low = 0, high = entry_count;

		while (low < high) {
			size_t middle = low + (high - low) / 2;

			if (strcmp(entries[middle].raw, names[i]) < 0)
				low = middle + 1;
			else
				high = middle;
		}
		texts[i] = strdup(entries[low].text);
		if (!texts[i])
			return -ENOMEM;
	}
	return 0;
}

int wt_kernel_name_shorten_all(const char *const *names, size_t count, char ***ret_names)
{
	struct entry *entries = calloc(count ? count : 1, sizeof(*entries));
	char **texts = calloc(count ? count : 1, sizeof(*texts));
	size_t entry_count = 0;
	int error = entries && texts ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && !error; i++)
		entries[i] = (struct entry){.raw = names[i], .first_idx = i};
	if (!error)
		entry_count = keep_one_of_each(entries, count);
	for (size_t i = 0; i < entry_count && !error; i++) {
		entries[i].demangled = wt_kernel_name_demangle(entries[i].raw);
		error = entries[i].demangled ? 0 : -ENOMEM;
	}
	if (!error)
		error = make_distinct(entries, entry_count);
	if (!error)
		error = hand_out(entries, entry_count, names, texts, count);
	for (size_t i = 0; i < entry_count; i++) {
		free(entries[i].demangled);
		free(entries[i].text);
	}
	free(entries);
	if (error)
		wt_kernel_name_free_all(texts, count);
	else
		*ret_names = texts;
	return error;
}

void wt_kernel_name_free_all(char **names, size_t count)
{
	for (size_t i = 0; names && i < count; i++)
		free(names[i]);
	free(names);
}

/* Where template arguments or parameters begin. */
static size_t name_end(const char *demangled)
{
	static const char anonymous[] = "(anonymous namespace)";
	size_t at = 0;

	while (demangled[at] && demangled[at] != '<' && demangled[at] != '(') {
		at++;
		while (!strncmp(demangled + at, anonymous, sizeof(anonymous) - 1))
			at += sizeof(anonymous) - 1;
	}
	return at;
}

/* The end of the argument list that begins at `at`, its '>'; NULL: it has none. */
static const char *arguments_end(const char *at)
{
	int depth = 0;

	for (; *at; at++) {
		depth += *at == '<';
		depth -= *at == '>' && at[-1] != '-';
		if (depth == 0)
			return at;
	}
	return NULL;
}

char *wt_kernel_name_function(const char *demangled)
{
	static const char anonymous[] = "(anonymous namespace)";
	const char *from = demangled;
	size_t end, start;

	if (!strncmp(from, anonymous, sizeof(anonymous) - 1))
		from += sizeof(anonymous) - 1;
	for (;;) {
		const char *close;

		end = name_end(from);
		if (from[end] != '<')
			break;
		close = arguments_end(from + end);
		/* Arguments followed by "::" are those of what encloses the function. */
		if (!close || strncmp(close + 1, "::", 2))
			break;
		from = close + 3;
	}
	for (start = end; start > 0; start--)
		if (from[start - 1] == ':' || from[start - 1] == ' ')
			break;
	return strndup(from + start, end - start);
}
