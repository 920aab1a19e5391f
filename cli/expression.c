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
/*
 * Measured with glibc 2.36: x?+?+... takes ten times longer with each further pair, over 3 s with eight of
 * them; four repetitions of each other over 4,000 nodes stay under 0.3 s.
 */
#define TIMES_MAX 1000u
#define NODES_MAX 4000u /* after expansion */
#define LEVELS_MAX 4 /* repetitions of repetitions */

/* A part of an expression. */
struct part {
	size_t nodes;
	int levels; /* most repetitions around one another in it */
};

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
	if (most > TIMES_MAX && !r->problem)
		r->problem = "it repeats more than 1,000 times";
	return most < TIMES_MAX ? most + 1 : TIMES_MAX;
}

/* Its nodes and levels from now on, held to their limits. */
static void measure(struct reader *r, struct part *part, size_t nodes, int levels)
{
	if (nodes > NODES_MAX && !r->problem)
		r->problem = "its repetitions multiply to more than 4,000 parts";
	if (levels > LEVELS_MAX && !r->problem)
		r->problem = "repetitions of repetitions, more than four deep";
	part->nodes = nodes < NODES_MAX ? nodes : NODES_MAX;
	part->levels = levels;
}

/* The repetitions behind a part: x+ becomes xx*, so that each doubles it. */
static void read_repeats(struct reader *r, struct part *part)
{
	while (!r->problem && *r->at && strchr("*+?{", *r->at)) {
		char kind = *r->at++;
		size_t times = kind == '+' ? 2 : kind == '{' ? read_bound(r) : 1;

		measure(r, part, part->nodes * times + 1,
		        part->levels + 1); /* the square of NODES_MAX fits */
	}
}

/* What is at `at`, up to its end or the parenthesis that closes it. */
static struct part read_part(struct reader *r)
{
	struct part whole = {0};

	while (*r->at && !r->problem) {
		char what = *r->at++;
		struct part atom = {.nodes = 1};

		if (what == ')' && r->depth)
			break;
		if (what == '(') {
			if (++r->depth > DEPTH_MAX)
				r->problem = "more than 20 parentheses deep";
			else
				atom = read_part(r);
			r->depth--;
		} else if (what == '[') {
			skip_bracket(r);
		} else if (what == '\\' && *r->at) {
			if (*r->at >= '1' && *r->at <= '9')
				r->problem = "back-references are not part of extended expressions";
			r->at++;
		}
		read_repeats(r, &atom);
		measure(r, &whole, whole.nodes + atom.nodes + 1,
		        atom.levels > whole.levels ? atom.levels : whole.levels);
	}
	return whole;
}

int wt_expression_compile(regex_t *ret_regex, const char *word, char *why, size_t why_bytes)
{
	struct reader reader = {.at = word};
	int rc;

	if (strlen(word) > BYTES_MAX)
		reader.problem = "longer than 1,000 characters";
	else
		read_part(&reader);
	if (reader.problem) {
		snprintf(why, why_bytes, "%s", reader.problem);
		return -EINVAL;
	}
	rc = regcomp(ret_regex, word, REG_EXTENDED | REG_NOSUB);
	if (rc)
		regerror(rc, ret_regex, why, why_bytes);
	return rc ? -EINVAL : 0;
}
