/*
 * html_check.c - is an HTML report what it claims? For tests; knows nothing of how it was written.
 *
 *	html_check FILE           exit code 0: well-formed, self-contained and accessible as told below; else
 *	                          a line for each fault, exit code 1
 *	html_check --cells FILE   also prints each figure: table, row ("kernel=3"), key of the column,
 *	                          value, with tabs between
 *
 * Well-formed: UTF-8 without controls, elements closed in order, attributes in quotes and none twice,
 * references that HTML knows. Self-contained: no address but "#part" of an id that exists, no style or
 * event attributes, one style and one script that runs, a policy that names hashes. Accessible: one h1,
 * captions, heads with a scope, as many cells as heads, names for drawings and labels, ids once.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 64
#define ATTRIBUTES_MAX 24
#define NAMES_MAX 8192
#define COLUMNS_MAX 64

struct span {
	const char *at;
	size_t length;
};

struct attribute {
	struct span name, value;
};

struct tag {
	struct span name;
	struct attribute attributes[ATTRIBUTES_MAX];
	size_t count;
	bool is_end;
};

static const char *text, *at;
static int faults;
static bool has_cells;
static struct span open_tags[DEPTH_MAX];
static size_t depth;
static struct span ids[NAMES_MAX], wanted[NAMES_MAX];
static size_t id_count, wanted_count;
static int h1_count, style_count, script_count, policy_count, main_count;
/* of the table in work */
static struct span table_id, row_name, row_value, keys[COLUMNS_MAX];
static size_t column_count, cell_at;
static bool is_head, has_caption, is_after_svg;

static void fault(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void fault(const char *format, ...)
{
	size_t line = 1;
	va_list ap;

	for (const char *c = text; c < at; c++)
		line += *c == '\n';
	printf("%zu: ", line);
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	putchar('\n');
	if (++faults > 20)
		exit(1);
}

static bool is(struct span span, const char *word)
{
	return span.length == strlen(word) && !memcmp(span.at, word, span.length);
}

static bool begins(struct span span, const char *word)
{
	return span.length >= strlen(word) && !memcmp(span.at, word, strlen(word));
}

static bool is_same(struct span a, struct span b)
{
	return a.length == b.length && !memcmp(a.at, b.at, a.length);
}

static const struct span *find(const struct tag *tag, const char *name)
{
	for (size_t i = 0; i < tag->count; i++)
		if (is(tag->attributes[i].name, name))
			return &tag->attributes[i].value;
	return NULL;
}

/* ---- characters */

/* Bytes of the character at `c`; 0: it is none, or one that must not be there. */
static size_t character(const unsigned char *c)
{
	unsigned code;

	if (*c < 0x80)
		return *c == '\n' || (*c >= 0x20 && *c != 0x7f);
	if ((*c & 0xe0) == 0xc0) {
		code = (*c & 0x1fu) << 6 | (c[1] & 0x3fu);
		return (c[1] & 0xc0) == 0x80 && code >= 0xa0 ? 2 : 0;
	}
	if ((*c & 0xf0) == 0xe0) {
		code = (*c & 0xfu) << 12 | (c[1] & 0x3fu) << 6 | (c[2] & 0x3fu);
		return (c[1] & 0xc0) == 0x80 && (c[2] & 0xc0) == 0x80 && code >= 0x800 &&
		                       (code < 0xd800 || code > 0xdfff) &&
		                       (code < 0x2028 || code > 0x202e) &&
		                       (code < 0x2066 || code > 0x2069)
		               ? 3
		               : 0;
	}
	return (*c & 0xf8) == 0xf0 && *c < 0xf5 && (c[1] & 0xc0) == 0x80 && (c[2] & 0xc0) == 0x80 &&
	                       (c[3] & 0xc0) == 0x80
	               ? 4
	               : 0;
}

static void check_characters(void)
{
	for (at = text; *at;) {
		size_t bytes = character((const unsigned char *)at);

		if (!bytes)
			fault("byte %02x: no UTF-8, or a control", (unsigned char)*at);
		at += bytes ? bytes : 1;
	}
}

static void check_references(struct span span)
{
	static const char *const known[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#"};
	const char *end = span.at + span.length;

	for (const char *c = span.at; c < end; c++) {
		bool is_known = *c != '&';

		for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			is_known |= !strncmp(c, known[i], strlen(known[i]));
		if (!is_known)
			fault("a bare &");
	}
}

/* ---- tags */

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-';
}

static struct span read_name(void)
{
	struct span name = {at, 0};

	while (is_name(*at))
		at++;
	name.length = (size_t)(at - name.at);
	return name;
}

/* At the '<' of a tag; leaves behind its '>'. */
static void read_tag(struct tag *tag)
{
	memset(tag, 0, sizeof(*tag));
	at++;
	tag->is_end = *at == '/';
	at += tag->is_end;
	tag->name = read_name();
	if (!tag->name.length)
		fault("no name in a tag");
	for (;;) {
		struct attribute *attribute = &tag->attributes[tag->count];

		while (*at == ' ' || *at == '\n')
			at++;
		if (*at == '>' || !*at)
			break;
		attribute->name = read_name();
		if (!attribute->name.length || at[0] != '=' || at[1] != '"') {
			fault("an attribute without quotes");
			exit(1);
		}
		at += 2;
		attribute->value.at = at;
		at += strcspn(at, "\"");
		attribute->value.length = (size_t)(at - attribute->value.at);
		at++;
		check_references(attribute->value);
		if (memchr(attribute->value.at, '<', attribute->value.length))
			fault("a < in an attribute");
		for (size_t i = 0; i < tag->count; i++)
			if (is_same(tag->attributes[i].name, attribute->name))
				fault("an attribute twice");
		if (++tag->count == ATTRIBUTES_MAX) {
			fault("too many attributes");
			exit(1);
		}
	}
	at += *at == '>';
}

static void want(struct span name)
{
	if (wanted_count < NAMES_MAX)
		wanted[wanted_count++] = name;
}

static void check_attributes(const struct tag *tag)
{
	for (size_t i = 0; i < tag->count; i++) {
		struct span name = tag->attributes[i].name, value = tag->attributes[i].value;

		if (begins(name, "on") || is(name, "style") || is(name, "src") ||
		    is(name, "srcset") || is(name, "action") || is(name, "data"))
			fault("attribute %.*s", (int)name.length, name.at);
		if (is(name, "href") && !begins(value, "#"))
			fault("an address");
		else if (is(name, "href"))
			want((struct span){value.at + 1, value.length - 1});
		if (is(name, "aria-labelledby") || is(name, "for"))
			want(value);
		if (is(name, "id")) {
			for (size_t k = 0; k < id_count; k++)
				if (is_same(ids[k], value))
					fault("id %.*s twice", (int)value.length, value.at);
			if (id_count < NAMES_MAX)
				ids[id_count++] = value;
		}
	}
}

/* ---- tables */

static void put_cell(const struct tag *tag)
{
	const struct span *value = find(tag, "data-v"), *span = find(tag, "colspan");

	if (cell_at >= COLUMNS_MAX || span)
		fault("a cell beyond what is checked");
	else if (has_cells && value && keys[cell_at].length)
		printf("%.*s\t%.*s=%.*s\t%.*s\t%.*s\n", (int)table_id.length, table_id.at,
		       (int)row_name.length, row_name.at, (int)row_value.length, row_value.at,
		       (int)keys[cell_at].length, keys[cell_at].at, (int)value->length, value->at);
	cell_at++;
}

static void begin_row(const struct tag *tag)
{
	cell_at = 0;
	row_name = row_value = (struct span){"", 0};
	for (size_t i = 0; i < tag->count; i++) {
		struct span name = tag->attributes[i].name;

		if (begins(name, "data-"))
			row_name = (struct span){name.at + 5, name.length - 5};
		else if (is(name, "id"))
			row_name = name;
		else
			continue;
		row_value = tag->attributes[i].value;
	}
}

static void begin_table_part(const struct tag *tag)
{
	const struct span *id = find(tag, "id"), *key = find(tag, "data-k");

	if (is(tag->name, "table")) {
		table_id = id ? *id : (struct span){"", 0};
		column_count = 0;
		has_caption = false;
		if (!id)
			fault("a table without an id");
	} else if (is(tag->name, "caption")) {
		has_caption = true;
	} else if (is(tag->name, "thead")) {
		is_head = true;
	} else if (is(tag->name, "tr")) {
		begin_row(tag);
	} else if (is(tag->name, "th") && is_head) {
		if (!find(tag, "scope"))
			fault("a head without scope");
		if (column_count < COLUMNS_MAX)
			keys[column_count++] = key ? *key : (struct span){"", 0};
	} else if (is(tag->name, "th") || is(tag->name, "td")) {
		if (is(tag->name, "th") && !find(tag, "scope"))
			fault("a head without scope");
		put_cell(tag);
	}
}

static void end_table_part(const struct tag *tag)
{
	if (is(tag->name, "thead"))
		is_head = false;
	else if (is(tag->name, "tr") && !is_head && cell_at != column_count)
		fault("%zu cells under %zu heads of %.*s", cell_at, column_count,
		      (int)table_id.length, table_id.at);
	else if (is(tag->name, "table") && !has_caption)
		fault("a table without a caption");
}

/* ---- the whole */

static void check_policy(const struct tag *tag)
{
	const struct span *kind = find(tag, "http-equiv"), *content = find(tag, "content");
	char policy[1000];

	if (!kind || !content || !is(*kind, "Content-Security-Policy"))
		return;
	policy_count++;
	snprintf(policy, sizeof(policy), "%.*s", (int)content->length, content->at);
	if (style_count || !begins(*content, "default-src 'none'; ") || strstr(policy, "unsafe") ||
	    strchr(policy, '*') || !strstr(policy, "style-src 'sha256-") ||
	    !strstr(policy, "script-src 'sha256-"))
		fault("a weak policy: %s", policy);
}

/* A named part that a reader can jump to, or a drawing with a name. */
static void check_names(const struct tag *tag)
{
	bool is_label = find(tag, "aria-label") || find(tag, "aria-labelledby");
	bool is_section = is(tag->name, "section") || is(tag->name, "nav");

	if (is_section && !is_label)
		fault("a part without a name");
	if (is_after_svg && !is(tag->name, "title"))
		fault("a drawing without a title");
	is_after_svg = is(tag->name, "svg") && !find(tag, "aria-hidden");
	if (is_after_svg && !find(tag, "role"))
		fault("a drawing without a role");
	h1_count += is(tag->name, "h1");
	main_count += is(tag->name, "main");
}

/* Content of a script or style, up to its end. */
static void skip_raw(const struct tag *tag)
{
	char end[20];
	const char *found;

	snprintf(end, sizeof(end), "</%.*s", (int)tag->name.length, tag->name.at);
	found = strstr(at, end);
	if (!found) {
		fault("no %s", end);
		exit(1);
	}
	at = found;
}

static void on_tag(const struct tag *tag)
{
	static const char *const voids[] = {"meta", "br", "hr", "input", "img", "link", "base"};
	const struct span *type = find(tag, "type");

	if (tag->is_end) {
		if (!depth || !is_same(open_tags[depth - 1], tag->name)) {
			fault("</%.*s> closes nothing", (int)tag->name.length, tag->name.at);
			exit(1);
		}
		depth--;
		end_table_part(tag);
		return;
	}
	check_attributes(tag);
	check_policy(tag);
	check_names(tag);
	begin_table_part(tag);
	if (is(tag->name, "link") || is(tag->name, "base") || is(tag->name, "iframe") ||
	    is(tag->name, "object") || is(tag->name, "img") || is(tag->name, "form"))
		fault("element %.*s", (int)tag->name.length, tag->name.at);
	style_count += is(tag->name, "style");
	if (is(tag->name, "script") && (!type || !is(*type, "application/json")))
		script_count++;
	for (size_t i = 0; i < sizeof(voids) / sizeof(voids[0]); i++)
		if (is(tag->name, voids[i]))
			return;
	if (depth == DEPTH_MAX) {
		fault("too deep");
		exit(1);
	}
	open_tags[depth++] = tag->name;
	if (is(tag->name, "script") || is(tag->name, "style"))
		skip_raw(tag);
}

static void check_document(void)
{
	static const char doctype[] = "<!DOCTYPE html>\n";

	at = text;
	if (strncmp(at, doctype, strlen(doctype)) != 0)
		fault("no doctype");
	else
		at += strlen(doctype);
	while (*at) {
		struct span words = {at, strcspn(at, "<")};
		struct tag tag;

		check_references(words);
		if (memchr(words.at, '>', words.length))
			fault("a bare >");
		at += words.length;
		if (!*at)
			break;
		read_tag(&tag);
		on_tag(&tag);
	}
	if (depth)
		fault("%.*s is not closed", (int)open_tags[depth - 1].length,
		      open_tags[depth - 1].at);
	if (h1_count != 1 || main_count != 1)
		fault("%d h1, %d main", h1_count, main_count);
	if (style_count != 1 || script_count != 1 || policy_count != 1)
		fault("%d styles, %d scripts, %d policies", style_count, script_count,
		      policy_count);
}

static void check_wanted(void)
{
	for (size_t i = 0; i < wanted_count; i++) {
		bool is_found = false;

		for (size_t k = 0; k < id_count && !is_found; k++)
			is_found = is_same(ids[k], wanted[i]);
		if (!is_found)
			fault("#%.*s is nowhere", (int)wanted[i].length, wanted[i].at);
	}
}

static char *read_file(const char *path)
{
	FILE *in = fopen(path, "rb");
	char *all = NULL;
	size_t bytes = 0, got;

	if (!in)
		return NULL;
	do {
		char *more = realloc(all, bytes + 65537);

		if (!more) {
			free(all);
			fclose(in);
			return NULL;
		}
		all = more;
		got = fread(all + bytes, 1, 65536, in);
		bytes += got;
		all[bytes] = '\0';
	} while (got);
	fclose(in);
	if (strlen(all) == bytes)
		return all;
	free(all);
	return NULL;
}

int main(int argc, char **argv)
{
	char *all;

	has_cells = argc == 3 && !strcmp(argv[1], "--cells");
	all = argc == 2 || has_cells ? read_file(argv[argc - 1]) : NULL;
	if (!all) {
		fputs("html_check [--cells] FILE: can't be read, or holds a 0\n", stderr);
		return 2;
	}
	text = all;
	check_characters();
	check_document();
	check_wanted();
	free(all);
	return faults ? 1 : 0;
}
