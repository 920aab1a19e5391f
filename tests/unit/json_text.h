/*
 * json_text.h - JSON texts as trees, for tests: strict (RFC 8259, no key twice in an object).
 * Single-threaded; never blocks.
 */
#ifndef WT_TESTS_JSON_TEXT_H
#define WT_TESTS_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_type {
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT
};

struct json_value {
	enum json_type type;
	bool is_integer; /* of a number: neither point nor exponent, and it fits 64 bits */
	bool is_seen; /* the user's */
	double number;
	int64_t integer;
	char *text; /* of a string, or a number as written; without escapes */
	char *key; /* as a member of an object */
	struct json_value *first, *next; /* elements or members; the next of the parent's */
};

/* NULL: not JSON; `problem` (of problem_bytes) says why and where. Free with json_free(). */
struct json_value *json_parse(const char *text, char *problem, size_t problem_bytes);
void json_free(struct json_value *value);

/* The member of an object; NULL: none, or no object. */
struct json_value *json_member(const struct json_value *object, const char *key);

bool json_is_equal(const struct json_value *a, const struct json_value *b);

#endif /* WT_TESTS_JSON_TEXT_H */
