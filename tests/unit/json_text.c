/*
 * json_text.c - see json_text.h. Single-threaded; never blocks.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/json_text.h"

#define DEPTH_MAX 100

struct reader {
	const char *start, *at;
	const char *problem; /* the first one */
	int depth;
};

static struct json_value *read_value(struct reader *in);

static void *fail(struct reader *in, const char *problem)
{
	if (!in->problem)
		in->problem = problem;
	return NULL;
}

static void skip_space(struct reader *in)
{
	in->at += strspn(in->at, " \t\r\n");
}

static bool take(struct reader *in, char c)
{
	skip_space(in);
	if (*in->at != c)
		return false;
	in->at++;
	return true;
}

static struct json_value *make(struct reader *in, enum json_type type)
{
	struct json_value *value = calloc(1, sizeof(*value));

	if (!value)
		return fail(in, "out of memory");
	value->type = type;
	return value;
}

static void put_utf8(char **to, unsigned code)
{
	char *at = *to;

	if (code < 0x80) {
		*at++ = (char)code;
	} else if (code < 0x800) {
		*at++ = (char)(0xc0 | code >> 6);
		*at++ = (char)(0x80 | (code & 63));
	} else {
		*at++ = (char)(0xe0 | code >> 12);
		*at++ = (char)(0x80 | (code >> 6 & 63));
		*at++ = (char)(0x80 | (code & 63));
	}
	*to = at;
}

/* Behind a backslash. Halves of a pair of surrogates stay two: good enough to compare. */
static bool read_escape(struct reader *in, char **to)
{
	static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
	const char *known = *in->at ? strchr(from, *in->at) : NULL;
	char digits[5] = "";
	char *end;

	if (known) {
		*(*to)++ = into[known - from];
		in->at++;
		return true;
	}
	if (*in->at != 'u')
		return fail(in, "an escape that is none");
	memcpy(digits, in->at + 1, strnlen(in->at + 1, 4));
	if (strspn(digits, "0123456789abcdefABCDEF") != 4)
		return fail(in, "\\u without four digits");
	put_utf8(to, (unsigned)strtoul(digits, &end, 16));
	in->at += 5;
	return true;
}

/* At the opening quote. */
static char *read_string(struct reader *in)
{
	const char *end = in->at + 1;
	char *text, *to;

	while (*end && *end != '"')
		end += end[0] == '\\' && end[1] ? 2 : 1;
	to = text = malloc((size_t)(end - in->at)); /* no escape is longer than what it means */
	if (!text)
		return fail(in, "out of memory");
	in->at++;
	while (*in->at != '"') {
		if ((unsigned char)*in->at < 0x20) {
			free(text);
			return fail(in, "a control character in a string");
		}
		if (*in->at != '\\') {
			*to++ = *in->at++;
			continue;
		}
		in->at++;
		if (!read_escape(in, &to)) {
			free(text);
			return NULL;
		}
	}
	in->at++;
	*to = '\0';
	return text;
}

static size_t digits_at(const char *at)
{
	return strspn(at, "0123456789");
}

static struct json_value *read_number(struct reader *in)
{
	const char *start = in->at, *end = start + (*start == '-');
	bool is_whole = true;
	struct json_value *value;

	if (!digits_at(end) || (*end == '0' && digits_at(end) > 1))
		return fail(in, "a value that is none");
	end += digits_at(end);
	if (*end == '.') {
		is_whole = false;
		if (!digits_at(end + 1))
			return fail(in, "a point without digits");
		end += 1 + digits_at(end + 1);
	}
	if (*end == 'e' || *end == 'E') {
		is_whole = false;
		end += 1 + (end[1] == '+' || end[1] == '-');
		if (!digits_at(end))
			return fail(in, "an exponent without digits");
		end += digits_at(end);
	}
	value = make(in, JSON_NUMBER);
	if (!value)
		return NULL;
	value->text = strndup(start, (size_t)(end - start));
	value->number = strtod(start, NULL);
	errno = 0;
	value->integer = strtoll(start, NULL, 10);
	value->is_integer = is_whole && !errno;
	in->at = end;
	return value;
}

/* A member's key and colon; NULL: not there, or there already. */
static char *read_key(struct reader *in, const struct json_value *object)
{
	char *key;

	skip_space(in);
	if (*in->at != '"')
		return fail(in, "a member without a key");
	key = read_string(in);
	if (key && json_member(object, key)) {
		free(key);
		return fail(in, "a key that is there already");
	}
	if (key && !take(in, ':')) {
		free(key);
		return fail(in, "a key without a colon");
	}
	return key;
}

/* Behind the opening bracket. */
static struct json_value *read_many(struct reader *in, enum json_type type)
{
	char close = type == JSON_OBJECT ? '}' : ']';
	struct json_value *whole = make(in, type), **to = whole ? &whole->first : NULL;

	if (!whole || take(in, close))
		return whole;
	do {
		char *key = type == JSON_OBJECT ? read_key(in, whole) : NULL;

		if (!in->problem)
			*to = read_value(in);
		if (in->problem || !*to) {
			free(key);
			json_free(whole);
			return NULL;
		}
		(*to)->key = key;
		to = &(*to)->next;
	} while (take(in, ','));
	if (take(in, close))
		return whole;
	json_free(whole);
	return fail(in, "an array or object without its end");
}

static bool take_word(struct reader *in, const char *word)
{
	if (strncmp(in->at, word, strlen(word)) != 0)
		return false;
	in->at += strlen(word);
	return true;
}

static struct json_value *read_value(struct reader *in)
{
	struct json_value *value;

	skip_space(in);
	if (*in->at == '{' || *in->at == '[') {
		enum json_type type = *in->at++ == '{' ? JSON_OBJECT : JSON_ARRAY;

		if (++in->depth > DEPTH_MAX)
			return fail(in, "too deep");
		value = read_many(in, type);
		in->depth--;
		return value;
	}
	if (*in->at == '"') {
		value = make(in, JSON_STRING);
		if (value)
			value->text = read_string(in);
		if (!value || value->text)
			return value;
		json_free(value);
		return NULL;
	}
	if (take_word(in, "null"))
		return make(in, JSON_NULL);
	if (take_word(in, "true"))
		return make(in, JSON_TRUE);
	if (take_word(in, "false"))
		return make(in, JSON_FALSE);
	return read_number(in);
}

struct json_value *json_parse(const char *text, char *problem, size_t problem_bytes)
{
	struct reader in = {.start = text, .at = text};
	struct json_value *value = read_value(&in);

	skip_space(&in);
	if (value && *in.at) {
		json_free(value);
		value = fail(&in, "something behind the value");
	}
	if (!value)
		snprintf(problem, problem_bytes, "byte %td: %s", in.at - in.start,
		         in.problem ? in.problem : "no value");
	return value;
}

void json_free(struct json_value *value)
{
	if (!value)
		return;
	for (struct json_value *at = value->first, *next; at; at = next) {
		next = at->next;
		json_free(at);
	}
	free(value->text);
	free(value->key);
	free(value);
}

struct json_value *json_member(const struct json_value *object, const char *key)
{
	if (!object || object->type != JSON_OBJECT)
		return NULL;
	for (struct json_value *at = object->first; at; at = at->next)
		if (at->key && !strcmp(at->key, key))
			return at;
	return NULL;
}

static size_t count(const struct json_value *value)
{
	size_t n = 0;

	for (const struct json_value *at = value->first; at; at = at->next)
		n++;
	return n;
}

bool json_is_equal(const struct json_value *a, const struct json_value *b)
{
	const struct json_value *y = b->first;

	if (a->type != b->type || count(a) != count(b))
		return false;
	if (a->type == JSON_NUMBER)
		return a->is_integer && b->is_integer ? a->integer == b->integer
		                                      : a->number == b->number;
	if (a->type == JSON_STRING)
		return !strcmp(a->text, b->text);
	for (const struct json_value *x = a->first; x; x = x->next, y = y ? y->next : NULL) {
		const struct json_value *other =
		        a->type == JSON_OBJECT ? json_member(b, x->key) : y;

		if (!other || !json_is_equal(x, other))
			return false;
	}
	return true;
}
