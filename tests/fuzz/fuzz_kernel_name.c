/*
 * fuzz_kernel_name.c - kernel names come from the recorded program: any bytes, any length.
 *
 * The input is a list of names, a line each. Each is demangled, shortened at every level, and
 * made ready for a terminal; then all together. Different names must stay different.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/demangle.h"
#include "cli/kernel_name.h"
#include "cli/text.h"
#include "tests/fuzz/fuzz.h"

#define NAMES_MAX 16

static void try_terminal(const char *text)
{
	for (int utf8 = 0; utf8 < 2; utf8++) {
		char *safe = wt_text_escape(text, utf8), *fit;

		for (const char *at = safe; *at; at++)
			fuzz_check((unsigned char)*at >= 0x20 && *at != 0x7f,
			           "no control character");
		for (size_t width = 0; width < 40; width += 13) {
			fit = wt_text_fit(safe, width, utf8);
			fuzz_check(wt_text_width(fit) <= width, "text fits");
			free(fit);
		}
		free(safe);
	}
}

static void try_name(const char *name)
{
	char *own = NULL, *text = wt_kernel_name_demangle(name);

	if (!wt_demangle(name, true, &own))
		free(own);
	for (int detail = WT_KERNEL_NAME_BRIEF; detail <= WT_KERNEL_NAME_FULL; detail++) {
		char *brief = wt_kernel_name_shorten(text, (enum wt_kernel_name_detail)detail);

		fuzz_check(brief && (brief[0] || !text[0]), "a name never becomes nothing");
		try_terminal(brief);
		free(brief);
	}
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *at = text, **shown;
	const char *names[NAMES_MAX] = {NULL};
	size_t count = 0;

	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	while (at && count < NAMES_MAX) {
		names[count++] = at;
		at = strchr(at, '\n');
		if (at)
			*at++ = '\0';
	}
	for (size_t i = 0; i < count; i++)
		try_name(names[i]);
	fuzz_check(wt_kernel_name_shorten_all(names, count, &shown) == 0, "all can be shortened");
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++)
			fuzz_check(!strcmp(names[i], names[j]) == !strcmp(shown[i], shown[j]),
			           "different names differ, equal ones do not");
	wt_kernel_name_free_all(shown, count);
	free(text);
	return 0;
}
