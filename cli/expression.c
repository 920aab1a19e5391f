/*
 * expression.c - see expression.h.
 */
#include "cli/expression.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_MAX 1000
#define DEPTH_MAX 20
#define NODES_MAX 20000u /* after expansion: 2 MiB or so of the C library's nodes */

/* A reader of one expression: `at` moves on, `problem` stays NULL while all is well. */
struct reader {
	const char *at;
	const char *problem;
	int depth;
};

/* Behind a bracket expression; `at` is behind its '['. The library judges what is wrong in it. */
static void skip_bracket(struct reader *r)
{
	r->at += *r->at == '^';
	r->at += *r->at == ']';
	while (*r->at && *r->at != ']') {
		char kind = r->at[1];

		if (*r->at == '[' && (kind == ':' || kind == '.' || kind == '=')) {
			const char end[] = {kind, ']', '\0'};
			const char *close = strstr(r->at + 2, end);

			r->at = close ? close + 1 : r->at;
		}
		r->at++;
	}
	r->at += *r->at == ']';
}

/* "{A,B}": how often it copies what stands before. `at` is behind the '{'. */
static size_t read_bound(struct reader *r)
{
	char *end;
	unsigned long least = strtoul(r->at, &end, 10), most = least;

	if (*end == ',')
		most = strtoul(end + 1, &end, 10);
	r->at = end + (*end == '}');
	most = most > least ? most : least;
	return most < NODES_MAX ? most + 1 : NODES_MAX;
}

static size_t add(struct reader *r, size_t a, size_t b)
{
	if (a + b > NODES_MAX && !r->problem)
		r->problem = "its repetitions multiply to more than 20,000 parts";
	return r->problem ? NODES_MAX : a + b;
}

/* What stands before, with the repetitions behind it: x+ becomes xx*, so that each doubles it. */
static size_t read_repeats(struct reader *r, size_t nodes)
{
	while (!r->problem && *r->at && strchr("*+?{", *r->at)) {
		char kind = *r->at++;
		size_t times = kind == '+' ? 2 : kind == '{' ? read_bound(r) : 1;

		nodes = add(r, nodes * times, 1); /* NODES_MAX squared fits */
	}
	return nodes;
}

/* Nodes of what is at `at`, up to its end or the parenthesis that closes it. */
static size_t count_nodes(struct reader *r)
{
	size_t nodes = 0;

	while (*r->at && !r->problem) {
		char what = *r->at++;
		size_t atom = 1;

		if (what == ')' && r->depth)
			break;
		if (what == '(') {
			if (++r->depth > DEPTH_MAX)
				r->problem = "more than 20 parentheses deep";
			atom = r->problem ? 1 : 1 + count_nodes(r);
			r->depth--;
		} else if (what == '[') {
			skip_bracket(r);
		} else if (what == '\\' && *r->at) {
			if (*r->at >= '1' && *r->at <= '9')
				r->problem = "back-references are not part of extended expressions";
			r->at++;
		}
		nodes = add(r, nodes, read_repeats(r, atom));
	}
	return nodes;
}

int wt_expression_compile(regex_t *ret_regex, const char *word, char *why, size_t why_bytes)
{
	struct reader reader = {.at = word};
	int rc;

	if (strlen(word) > BYTES_MAX)
		reader.problem = "longer than 1,000 characters";
	else
		count_nodes(&reader);
	if (reader.problem) {
		snprintf(why, why_bytes, "%s", reader.problem);
		return -EINVAL;
	}
	rc = regcomp(ret_regex, word, REG_EXTENDED | REG_NOSUB);
	if (rc)
		regerror(rc, ret_regex, why, why_bytes);
	return rc ? -EINVAL : 0;
}
