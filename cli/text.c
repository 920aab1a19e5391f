/*
 * text.c - see text.h: terminal, characters and widths. Numbers are in
 * text_number.c.
 *
 * Threads: any, no state. Never blocks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/text.h"

static const char *environment(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static bool locale_is_utf8(void)
{
	const char *locale = environment("LC_ALL");

	if (!locale)
		locale = environment("LC_CTYPE");
	if (!locale)
		locale = environment("LANG");
	return locale && (strcasestr(locale, "UTF-8") || strcasestr(locale, "UTF8"));
}

static bool wants_colour(bool is_tty)
{
	const char *own = environment("WAVETAP_COLOR"), *term = environment("TERM");

	if (own && !strcmp(own, "always"))
		return true;
	if (own && !strcmp(own, "never"))
		return false;
	return is_tty && !environment("NO_COLOR") && term && strcmp(term, "dumb") != 0;
}

static unsigned find_width(int fd, bool is_tty)
{
	struct winsize size = {0};
	const char *columns = environment("COLUMNS");
	char *end;
	unsigned long n;

	if (is_tty && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	if (columns) {
		n = strtoul(columns, &end, 10);
		if (*columns != '-' && *end == '\0' && n >= 1 && n <= 100000)
			return (unsigned)n;
	}
	return is_tty ? 80 : 0;
}

void wt_text_terminal_probe(int fd, struct wt_text_terminal *ret_terminal)
{
	bool is_tty = isatty(fd) == 1;

	*ret_terminal = (struct wt_text_terminal){
	        .is_tty = is_tty,
	        .has_colour = wants_colour(is_tty),
	        .is_utf8 = locale_is_utf8(),
	        .width_columns = find_width(fd, is_tty),
	};
}

size_t wt_text_decode(const char *text, size_t bytes, uint32_t *ret_code)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *p = (const unsigned char *)text;
	size_t n = p[0] < 0x80   ? 1
	           : p[0] < 0xc2 ? 0
	           : p[0] < 0xe0 ? 2
	           : p[0] < 0xf0 ? 3
	           : p[0] < 0xf5 ? 4
	                         : 0;
	uint32_t code;

	*ret_code = UINT32_MAX;
	if (n == 0 || n > bytes)
		return 1;
	code = n == 1 ? p[0] : p[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 1;
		code = code << 6 | (p[i] & 0x3f);
	}
	if (code < least[n] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 1;
	*ret_code = code;
	return n;
}

struct range {
	uint32_t first, last;
};

static bool is_in(const struct range *ranges, size_t count, uint32_t code)
{
	for (size_t i = 0; i < count; i++)
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	return false;
}

/* Controls, and characters that reorder or hide the text around them. */
static bool is_unsafe(uint32_t code)
{
	static const struct range unsafe[] = {{0, 0x1f},          {0x7f, 0x9f},
	                                      {0x61c, 0x61c},     {0x200b, 0x200f},
	                                      {0x2028, 0x202e},   {0x2060, 0x206f},
	                                      {0xfeff, 0xfeff},   {0xfff9, 0xfffb},
	                                      {0xe0000, 0xe007f}, {UINT32_MAX, UINT32_MAX}};

	return is_in(unsafe, sizeof(unsafe) / sizeof(unsafe[0]), code);
}

static size_t char_width(uint32_t code)
{
	static const struct range combining[] = {
	        {0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},   {0x610, 0x61a},
	        {0x64b, 0x65f},   {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200f},
	        {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};
	static const struct range wide[] = {
	        {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},   {0xac00, 0xd7a3},
	        {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
	        {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};

	if (code < 0x300)
		return 1;
	if (is_in(combining, sizeof(combining) / sizeof(combining[0]), code))
		return 0;
	return is_in(wide, sizeof(wide) / sizeof(wide[0]), code) ? 2 : 1;
}

char *wt_text_escape(const char *text, bool is_utf8)
{
	size_t bytes = strlen(text), used = 0, n;
	char *out = malloc(bytes * 4 + 16); /* \xNN for a byte; 10 for one of at least 3 */

	for (size_t i = 0; out && i < bytes; i += n) {
		uint32_t code;

		n = wt_text_decode(text + i, bytes - i, &code);
		if (!is_unsafe(code) && (is_utf8 || code < 0x80)) {
			memcpy(out + used, text + i, n);
			used += n;
		} else if (code == UINT32_MAX || code < 0x80) {
			used += (size_t)sprintf(out + used, "\\x%02x", (unsigned char)text[i]);
		} else {
			used += (size_t)sprintf(out + used, code > 0xffff ? "\\U%08x" : "\\u%04x",
			                        code);
		}
	}
	if (out)
		out[used] = '\0';
	return out;
}

size_t wt_text_width(const char *text)
{
	size_t bytes = strlen(text), width = 0;

	for (size_t i = 0; i < bytes;) {
		uint32_t code;

		i += wt_text_decode(text + i, bytes - i, &code);
		width += char_width(code);
	}
	return width;
}

/* Bytes of the longest beginning of `text` in `width` columns, combining marks included. */
static size_t head_bytes(const char *text, size_t bytes, size_t width)
{
	size_t i = 0;

	while (i < bytes) {
		uint32_t code;
		size_t n = wt_text_decode(text + i, bytes - i, &code), w = char_width(code);

		if (w > width)
			break;
		width -= w;
		i += n;
	}
	return i;
}

/* Where the longest ending in `width` columns begins. */
static size_t tail_start(const char *text, size_t bytes, size_t total_width, size_t width)
{
	size_t i = 0;

	while (i < bytes && total_width > width) {
		uint32_t code;

		i += wt_text_decode(text + i, bytes - i, &code);
		total_width -= char_width(code);
	}
	while (i < bytes) { /* a mark without the character it sits on */
		uint32_t code;
		size_t n = wt_text_decode(text + i, bytes - i, &code);

		if (char_width(code))
			break;
		i += n;
	}
	return i;
}

char *wt_text_fit(const char *text, size_t width_columns, bool is_utf8)
{
	const char *ellipsis = is_utf8 ? "\u2026" : "..";
	size_t ellipsis_width = is_utf8 ? 1 : 2;
	size_t bytes = strlen(text), width = wt_text_width(text), head, tail;
	char *out;

	if (width <= width_columns)
		return strdup(text);
	if (width_columns < ellipsis_width + 2)
		return strndup(text, head_bytes(text, bytes, width_columns));
	width_columns -= ellipsis_width;
	head = head_bytes(text, bytes, width_columns - width_columns / 2);
	tail = tail_start(text, bytes, width, width_columns / 2);
	if (asprintf(&out, "%.*s%s%s", (int)head, text, ellipsis, text + tail) < 0)
		return NULL;
	return out;
}

char *wt_text_shell_word(const char *word)
{
	/* Each byte takes four at most, and "$'" and "'" stand around them. */
	char *out = malloc(4 * strlen(word) + 4), *at = out;
	bool is_ascii = true;

	if (!out)
		return NULL;
	if (*word && word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	                               "0123456789_-./=:,+@%")] == '\0')
		return strcpy(out, word);
	for (const char *c = word; *c; c++)
		is_ascii = is_ascii && *c >= ' ' && *c <= '~';
	at = stpcpy(at, is_ascii ? "'" : "$'");
	for (; *word; word++) {
		if (is_ascii && *word == '\'')
			at = stpcpy(at, "'\\''");
		else if (!is_ascii &&
		         (*word < ' ' || *word > '~' || *word == '\'' || *word == '\\'))
			at += sprintf(at, "\\x%02x", (unsigned char)*word);
		else
			*at++ = *word;
	}
	*at++ = '\'';
	*at = '\0';
	return out;
}
