/*
 * select.c - see select.h: the words, what is wrong with them, and how a selection is shown.
 * Single-threaded, never blocks but for messages.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/expression.h"
#include "cli/parse_time.h"
#include "cli/select.h"
#include "cli/text.h"

/* ---- parsing */

/* A usage error about one option. */
#define REFUSE(command, option, ...) wt_cli_usage_error((command), "--" option ": " __VA_ARGS__)

static int parse_time(const char *command, const char *option, const char *word,
                      struct wt_select_time *ret_time)
{
	struct wt_select_time time = {.is_given = word != NULL};

	if (!word)
		return WT_EXIT_FINE;
	time.is_from_end = word[0] == '-';
	switch (wt_parse_time(word + time.is_from_end, &time.ns)) {
	case 0:
		*ret_time = time;
		return WT_EXIT_FINE;
	case -EDOM:
		return wt_cli_usage_error(
		        command, "--%s: \"%s\" needs a unit: " WT_PARSE_TIME_UNITS, option, word);
	case -ERANGE:
		return wt_cli_usage_error(command, "--%s: \"%s\" is too long a time", option, word);
	default:
		return wt_cli_usage_error(
		        command,
		        "--%s: \"%s\" is not a time: a number and a unit, such as "
		        "10s or 1.5ms",
		        option, word);
	}
}

static int parse_times(const char *command, struct wt_select *select)
{
	const struct wt_select_time *from = &select->from, *to = &select->to;
	int code = parse_time(command, "from", select->words.from, &select->from);

	if (!code)
		code = parse_time(command, "to", select->words.to, &select->to);
	if (code || !from->is_given || !to->is_given || from->is_from_end != to->is_from_end)
		return code;
	/* Counted from the same side, so the run need not be known. */
	if (from->is_from_end ? from->ns <= to->ns : from->ns >= to->ns)
		return wt_cli_usage_error(command, "--from %s is not before --to %s",
		                          select->words.from, select->words.to);
	return WT_EXIT_FINE;
}

/* A whole number at *at, which moves on; false if there is none. */
static bool take_whole(const char **at, int64_t *ret_number)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	*ret_number = strtoll(*at, &end, 10);
	*at = end;
	return !errno;
}

static int parse_ranks(const char *command, struct wt_select *select)
{
	const char *word = select->words.rank, *at = word;

	if (!word)
		return WT_EXIT_FINE;
	for (;;) {
		struct wt_select_ranks *ranks = &select->ranks[select->rank_count];

		if (select->rank_count == WT_SELECT_RANKS_MAX)
			return REFUSE(command, "rank", "more than %d parts", WT_SELECT_RANKS_MAX);
		if (!take_whole(&at, &ranks->low))
			break;
		ranks->high = ranks->low;
		if (*at == '-') {
			at++;
			if (!take_whole(&at, &ranks->high))
				break;
		}
		if (ranks->high < ranks->low)
			return REFUSE(command, "rank", "%" PRId64 "-%" PRId64 " runs backwards",
			              ranks->low, ranks->high);
		select->rank_count++;
		if (!*at)
			return WT_EXIT_FINE;
		if (*at++ != ',')
			break;
	}
	return REFUSE(command, "rank", "\"%s\" is not of the form N or A-B, with commas between",
	              word);
}

static int parse_kernel(const char *command, struct wt_select *select)
{
	const char *word = select->words.kernel;
	char why[200];

	if (!word)
		return WT_EXIT_FINE;
	if (!word[0])
		return REFUSE(command, "kernel", "the expression is empty");
	if (wt_expression_compile(&select->regex, word, why, sizeof(why)))
		return REFUSE(command, "kernel", "\"%.60s%s\": %s", word,
		              strlen(word) > 60 ? "..." : "", why);
	select->has_regex = true;
	return WT_EXIT_FINE;
}

static int parse_device(const char *command, const struct wt_select *select)
{
	if (select->words.device && !select->words.device[0])
		return REFUSE(command, "device", "an id or the beginning of a UUID is missing");
	return WT_EXIT_FINE;
}

/* "A:B", each side a whole number or nothing, but not both nothing. */
static int parse_steps(const char *command, struct wt_select *select)
{
	const char *word = select->words.steps, *at = word;
	int64_t first = 0, last = INT64_MAX;
	bool is_good;

	if (!word)
		return WT_EXIT_FINE;
	is_good = *at == ':' || take_whole(&at, &first);
	is_good = is_good && *at++ == ':' && (at - word > 1 || *at);
	is_good = is_good && (!*at || take_whole(&at, &last)) && !*at;
	if (!is_good)
		return REFUSE(command, "steps", "\"%s\" is not of the form A:B", word);
	if (last < first)
		return REFUSE(command, "steps", "%s runs backwards", word);
	if (last == 0)
		return REFUSE(command, "steps", "steps are numbered from 1");
	select->step_first = first ? first : 1;
	select->step_last = last;
	return WT_EXIT_FINE;
}

static int parse_range(const char *command, const struct wt_select *select)
{
	if (select->words.range && !select->words.range[0])
		return REFUSE(command, "range", "the name is empty");
	return WT_EXIT_FINE;
}

int wt_select_parse(const char *command, const struct wt_select_words *words,
                    struct wt_select *ret_select)
{
	int code;

	memset(ret_select, 0, sizeof(*ret_select));
	ret_select->words = *words;
	code = parse_times(command, ret_select);
	if (!code)
		code = parse_ranks(command, ret_select);
	if (!code)
		code = parse_device(command, ret_select);
	if (!code)
		code = parse_kernel(command, ret_select);
	if (!code)
		code = parse_steps(command, ret_select);
	if (!code)
		code = parse_range(command, ret_select);
	if (!code && words->is_all && words->steps)
		code = wt_cli_usage_error(command, "--all and --steps exclude each other");
	return code;
}

void wt_select_fini(struct wt_select *select)
{
	if (select->has_regex)
		regfree(&select->regex);
	select->has_regex = false;
}

bool wt_select_is_given(const struct wt_select *select)
{
	const struct wt_select_words *w = &select->words;

	return w->from || w->to || w->steps || w->rank || w->device || w->kernel || w->range;
}

void wt_select_prefer_steady(struct wt_select *select)
{
	const struct wt_select_words *w = &select->words;

	select->steps.is_looked_for = !w->is_all && !w->from && !w->to && !w->steps && !w->range;
}

bool wt_select_is_partial(const struct wt_select *select)
{
	return select->words.rank || select->words.kernel || select->words.range;
}

/* ---- showing */

void wt_select_describe(const struct wt_select *select, char *text, size_t text_bytes)
{
	const struct wt_select_words *w = &select->words;
	const struct {
		const char *what, *word;
	} parts[] = {{"steps", w->steps},
	             {"device", w->device},
	             {"rank", w->rank},
	             {"kernel", w->kernel},
	             {"range", w->range}};
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && used < text_bytes; i++)
		if (parts[i].word)
			used += (size_t)snprintf(text + used, text_bytes - used, "%s%s %s",
			                         used ? "  " : "", parts[i].what, parts[i].word);
}

static void put_known(struct wt_json *json, const char *key, bool is_known, int64_t value)
{
	wt_json_key(json, key);
	if (is_known)
		wt_json_int(json, value);
	else
		wt_json_null(json);
}

void wt_select_put_json(struct wt_json *json, const struct wt_select *select)
{
	wt_json_key(json, "selection");
	if (!select || !select->is_applied || !wt_select_is_given(select)) {
		wt_json_null(json);
		return;
	}
	wt_json_object_begin(json);
	put_known(json, "from_ns", select->from.is_given, select->start_ns - select->run_start_ns);
	put_known(json, "to_ns", select->to.is_given, select->end_ns - select->run_start_ns);
	wt_json_key(json, "steps");
	wt_json_string(json, select->words.steps);
	wt_json_key(json, "rank");
	wt_json_string(json, select->words.rank);
	wt_json_key(json, "device");
	wt_json_string(json, select->words.device);
	wt_json_key(json, "kernel");
	wt_json_string(json, select->words.kernel);
	wt_json_key(json, "range");
	wt_json_string(json, select->words.range);
	put_known(json, "launches", select->launches >= 0, select->launches);
	wt_json_key(json, "run_launches");
	wt_json_int(json, select->run_launches);
	wt_json_object_end(json);
}

void wt_select_put_steps(struct wt_json *json, const struct wt_select_steps *steps)
{
	bool is_found = steps && steps->is_found;

	wt_json_key(json, "steps");
	if (!steps || !steps->is_looked_for) {
		wt_json_null(json);
		return;
	}
	wt_json_object_begin(json);
	wt_json_key(json, "is_found");
	wt_json_bool(json, is_found);
	wt_json_key(json, "reason");
	wt_json_string(json, steps->reason);
	wt_json_key(json, "confidence");
	if (is_found)
		wt_json_fixed(json, steps->confidence, 3);
	else
		wt_json_null(json);
	put_known(json, "count", is_found, steps->count);
	put_known(json, "first_step", is_found, steps->first_step);
	put_known(json, "last_step", is_found, steps->last_step);
	put_known(json, "startup_ns", is_found, steps->startup_ns);
	put_known(json, "after_ns", is_found, steps->after_ns);
	wt_json_key(json, "unobserved_ns");
	wt_json_int(json, steps->unobserved_ns);
	wt_json_object_end(json);
}
