/*
 * wide_lines.c - prints what standard input has that a terminal of so many columns has no room for, for
 * test_width.sh: lines too long, by the C library's own widths; lines that end in a blank.
 *
 *   wide_lines COLUMNS
 *
 * A line with a path that is itself too long to stand among other words is none: paths are left whole.
 * Needs a locale: UTF-8 as the environment says, else a byte is a column. Exits with 1 if there were any.
 */
#define _XOPEN_SOURCE 700
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

static long width_of(const char *text, size_t bytes)
{
	mbstate_t state;
	long columns = 0;

	memset(&state, 0, sizeof(state));
	while (bytes) {
		wchar_t c;
		size_t n = mbrtowc(&c, text, bytes, &state);
		int width;

		if (n == (size_t)-1 || n == (size_t)-2 || n == 0) {
			memset(&state, 0, sizeof(state));
			n = 1;
			width = 1;
		} else {
			width = wcwidth(c);
		}
		columns += width < 0 ? 1 : width;
		text += n;
		bytes -= n;
	}
	return columns;
}

/* Has it a word with a slash that takes more than half of the line? */
static int has_long_path(const char *line, long most)
{
	while (*line) {
		size_t bytes = strcspn(line, " ");

		if (memchr(line, '/', bytes) && width_of(line, bytes) > most / 2)
			return 1;
		line += bytes + strspn(line + bytes, " ");
	}
	return 0;
}

int main(int argc, char **argv)
{
	long most = argc > 1 ? atol(argv[1]) : 80;
	char *line = NULL;
	size_t room = 0;
	ssize_t bytes;
	int found = 0;

	setlocale(LC_ALL, "");
	while ((bytes = getline(&line, &room, stdin)) >= 0) {
		long columns;

		if (bytes && line[bytes - 1] == '\n')
			line[--bytes] = '\0';
		columns = width_of(line, (size_t)bytes);
		if ((columns > most && !has_long_path(line, most)) ||
		    (bytes && line[bytes - 1] == ' ')) {
			printf("%ld: %.200s%s\n", columns, line, line[bytes - 1] == ' ' ? "|" : "");
			found = 1;
		}
	}
	free(line);
	return found;
}
