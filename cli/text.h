/*
 * text.h - what the commands need to write for people: the terminal's abilities,
 * untrusted text made harmless, widths in columns, numbers with units.
 *
 * Nothing here calls setlocale(), and the number formats rely on the program not
 * having set LC_NUMERIC: the decimal sign is a point.
 *
 * Threads: any; functions write only to what the caller gives them. Never block.
 */
#ifndef WT_CLI_TEXT_H
#define WT_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wt_text_terminal {
	bool is_tty;
	bool has_colour;
	bool is_utf8;
	unsigned width_columns; /* 0: no limit */
};

/*
 * What can be written to `fd`. Colour: WAVETAP_COLOR=always|never decides, else
 * it needs a terminal, no NO_COLOR (set and not empty) and a TERM other than
 * "dumb" or nothing. Width: the terminal's own, else COLUMNS, else 80; in a pipe
 * or file COLUMNS, else no limit. UTF-8: by LC_ALL, LC_CTYPE, LANG, the first set.
 */
void wt_text_terminal_probe(int fd, struct wt_text_terminal *ret_terminal);

/*
 * Decodes one character at `text` of `bytes` length (at least 1). Returns its
 * length in bytes and its code in *ret_code, or 1 and UINT32_MAX where the bytes
 * are no UTF-8 (overlong forms, surrogates and beyond U+10FFFF included).
 */
size_t wt_text_decode(const char *text, size_t bytes, uint32_t *ret_code);

/*
 * A copy of `text` that can't command a terminal: control characters (C0, DEL,
 * C1), direction marks, line and paragraph separators and bytes that are no
 * UTF-8 become visible, as \x1b or \u202e. With is_utf8 false everything beyond
 * ASCII does. A backslash stays as it is. malloc'd, the caller frees it; NULL
 * when out of memory.
 */
char *wt_text_escape(const char *text, bool is_utf8);

/*
 * Columns that `text` takes: 2 for East Asian wide characters and emoji, 0 for
 * combining marks, 1 for any other character or stray byte.
 */
size_t wt_text_width(const char *text);

/*
 * A copy of `text` in at most `width_columns`: what is too long loses its middle
 * to an ellipsis (".." where is_utf8 is false). malloc'd, the caller frees it;
 * NULL when out of memory.
 */
char *wt_text_fit(const char *text, size_t width_columns, bool is_utf8);

/*
 * A copy of `word` that a shell takes for that one word: quoted where it must be; what is not printable
 * ASCII by its bytes, for bash and the like. malloc'd, the caller frees
 * it; NULL when out of memory.
 */
char *wt_text_shell_word(const char *word);

/* Room for any number formatted below. */
enum { WT_TEXT_NUMBER_BYTES = 48 };

/*
 * Each writes to buf[WT_TEXT_NUMBER_BYTES] and returns buf.
 *   ns      950ns 46.9us 234.0us 1.20ms 3.45s 1,234.5s
 *   sm_ns   the same with "SM-" before the unit: 1.20 SM-ms
 *   count   885,600
 *   bytes   512 B, 1.50 KiB, 14.0 MiB
 *   percent part of whole as "12.3"; "." if whole is not above 0
 * Three or four digits are shown, and rounding never shows 1000.0us for 1.00ms.
 */
char *wt_text_ns(char buf[WT_TEXT_NUMBER_BYTES], int64_t ns);
char *wt_text_sm_ns(char buf[WT_TEXT_NUMBER_BYTES], int64_t sm_ns);
char *wt_text_count(char buf[WT_TEXT_NUMBER_BYTES], int64_t count);
char *wt_text_bytes(char buf[WT_TEXT_NUMBER_BYTES], uint64_t bytes);
char *wt_text_percent(char buf[WT_TEXT_NUMBER_BYTES], double part, double whole);

#endif /* WT_CLI_TEXT_H */
